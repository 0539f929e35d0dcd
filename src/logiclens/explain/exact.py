"""Exact mode: heads that are Boolean functions of a few concepts, and formulas that equal them on every possible row.

The heads learn to answer alone (one sigmoid each) on hard 0/1 concepts, lose concepts one after another through the
layer's `keep`, and are enumerated. A head whose shortest formula keeps the budget is taken as it is; where none does,
or where a shorter formula is worth more, the head is refitted to that formula on its complete table.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import torch
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.errors import FormulaTooLarge, LogicLensError, LogicLensWarning
from logiclens.explain.classwise import explain_all
from logiclens.explain.complete import CompleteTable, check_enumerable
from logiclens.explain.distil import refit
from logiclens.explain.pruning import prune
from logiclens.explain.selection import Judge, Limits, select_minimal
from logiclens.formula.dnf import DNF
from logiclens.formula.table import TruthTable
from logiclens.metrics.scores import macro_f1
from logiclens.nn.networks import EntropyNet
from logiclens.train.config import TrainConfig

MOST_SHOWN = 40
"""Formulas with more literals are no alternatives to show anybody."""
NATURAL_CONCEPTS = 12
"""A head with more concepts offers shortened formulas only: its own is rarely short, and cannot be proved shortest."""


@dataclass(frozen=True)
class ExactConfig:
    """How a network is made exact.

    Args:
        max_concepts: the most concepts a head may keep, at most 20.
        max_literals: the most literals the formula of a class should have.
        max_cubes: the most cubes.
        price: the score (macro-F1) that a literal must earn.
        epochs: passes over the data after each step of pruning.
        penalty_weight: λ of the entropy loss while fine-tuning.
        score_against: what shortened formulas are scored against, the head's answers or the labels.
        seed: of the fresh weights that a refit may start from.
    """

    max_concepts: int = 12
    max_literals: int = 9
    max_cubes: int = 10
    price: float = 0.005
    epochs: int = 200
    penalty_weight: float = 1e-3
    learning_rate: float = 1e-2
    score_against: str = "network"
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be enumerated or stated."""
        for name in ("max_concepts", "max_literals", "max_cubes"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise LogicLensError(f"{name} must be a whole number, got {value!r}.")
            if value < 1:
                raise LogicLensError(f"{name} must be at least 1, got {value}.")
        check_enumerable(self.max_concepts)

    def training(self) -> TrainConfig:
        """How heads are trained after each step."""
        return TrainConfig(
            epochs=self.epochs, learning_rate=self.learning_rate, penalty_weight=self.penalty_weight, progress=False
        )


@dataclass(frozen=True)
class Standing:
    """How true a head or a formula is on the rows that choose."""

    accuracy: float
    f1: float

    @classmethod
    def of(cls, answers: NDArray[np.bool_], truth: NDArray[np.bool_], weight: NDArray[np.float64]) -> Standing:
        """Compare answers with labels."""
        return cls(float(weight[answers == truth].sum() / weight.sum()), macro_f1(truth, answers, weight))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A formula that a head could have.

    Attributes:
        formula: what the head would equal.
        head: which head.
        kept: the concepts of `single`.
        single: the pruned head the formula comes from, or that a refit starts from.
        natural: whether the formula is the head's own, so that no refit is needed.
        proved_minimal: whether it is proved to be the shortest for that head.
        standing: how true the formula is.
        before: how true the pruned head is; None for a formula that comes from elsewhere.
    """

    formula: DNF
    head: int
    kept: tuple[int, ...]
    single: EntropyNet = field(repr=False)
    natural: bool
    proved_minimal: bool
    standing: Standing
    before: Standing | None


@dataclass(frozen=True, eq=False)
class ExactHead:
    """One head that equals its formula on a stated domain.

    Attributes:
        head: which head.
        formula: what it equals.
        table: its logits on every row of its concepts.
        proved_minimal: whether it is proved that no shorter formula equals it.
        standing: how true it is on the rows that chose it.
        refit_from: set where the head was trained to equal the formula (the rule was distilled into the network): how
            true it was before.
        note: in words, where the budget could not be kept.
        alternatives: the other formulas that were there to choose from.
    """

    head: int
    formula: DNF
    table: CompleteTable = field(repr=False)
    proved_minimal: bool
    standing: Standing
    refit_from: Standing | None
    note: str | None
    alternatives: tuple[DNF, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class ExactNetwork:
    """A network all of whose heads equal their formulas."""

    network: EntropyNet
    heads: tuple[ExactHead, ...]


def make_exact(
    network: EntropyNet, data: ConceptTable, validation: ConceptTable | None = None, config: ExactConfig | None = None
) -> ExactNetwork:
    """A copy of a trained network whose heads are stated by formulas without remainder.

    Args:
        network: trained on `data`; it is left as it is.
        data: the rows to fine-tune on, with labels.
        validation: the rows that choose the epoch and, with `data`, the formula and with it how many concepts a head
            keeps: alone they are few, and a formula of a handful of literals hardly overfits.
        config: the budget and how to train.
    """
    if not isinstance(network, EntropyNet):
        raise LogicLensError(f"exact mode needs an EntropyNet, got {type(network).__name__}.")
    config = ExactConfig() if config is None else config
    rows = data.hard().per_class()
    held = rows if validation is None else validation.hard().per_class()
    hard = network.untied()
    if hard.n_classes != len(rows.class_names):
        raise LogicLensError(
            f"exact mode needs one head for each of {len(rows.class_names)} classes, the network has {hard.n_classes}."
        )
    # Formulas are made of literals: what only the network may see is dropped first.
    hard.entropy.keep &= torch.as_tensor(rows.is_literal, device=hard.entropy.keep.device)
    judged = rows if validation is None else rows.append(held)
    pool: list[list[Candidate]] = [[] for _ in range(hard.n_classes)]
    for _ in prune(hard, rows, held, config.training(), config.max_concepts):
        for head in range(hard.n_classes):
            pool[head].extend(_candidates(hard, head, judged, config))
    told = _soft_formulas(network, data if validation is None else data.append(validation), config)
    for head, formula in enumerate(told):
        if len(formula.concepts) <= config.max_concepts:
            pool[head].append(_told(hard, head, formula, judged))
    generator = torch.Generator().manual_seed(config.seed)
    heads = tuple(_chosen(hard, candidates, rows, config, generator) for candidates in pool)
    return ExactNetwork(hard, heads)


def _candidates(hard: EntropyNet, head: int, judged: ConceptTable, config: ExactConfig) -> Iterator[Candidate]:
    """The head's own formula where it keeps the budget, and the best formula within the budget."""
    kept = tuple(torch.nonzero(hard.entropy.keep[head])[:, 0].tolist())
    names = tuple(judged.names[j] for j in kept)
    single = hard.head(head, kept)
    table = CompleteTable.of(single, names, judged.groups)
    bits = judged.boolean()[:, list(kept)]
    answers, labels = table.at(bits), judged.targets()[:, head].astype(np.bool_)
    before = Standing.of(answers, labels, judged.weight)

    def candidate(formula: DNF, natural: bool, proved: bool) -> Candidate:
        standing = Standing.of(formula.evaluate(bits, names), labels, judged.weight)
        return Candidate(formula, head, kept, single, natural, proved, standing, before)

    if len(names) <= NATURAL_CONCEPTS:
        try:
            minimum = table.minimised()
            yield candidate(minimum.formula, True, minimum.proved)
        except FormulaTooLarge:
            pass
    observed = TruthTable.of(
        bits, names, answers, weight=judged.weight, exclusive=judged.exclusive, implied=judged.groups.implied
    )
    if len(observed.on) and len(observed.off):
        truth = labels if config.score_against == "labels" else answers
        judge = Judge(TruthTable.of(bits, names, truth, weight=judged.weight).rows)
        limits = Limits(config.max_cubes, config.max_literals, config.price)
        yield candidate(select_minimal(observed, judge, limits).formula, False, False)


def _soft_formulas(network: EntropyNet, rows: ConceptTable, config: ExactConfig) -> tuple[DNF, ...]:
    """What the soft network says of itself within the budget: often a better short formula than a pruned head's."""
    limits = Limits(config.max_cubes, config.max_literals, config.price)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        return explain_all(network, rows, limits=limits).formulas


def _told(hard: EntropyNet, head: int, formula: DNF, judged: ConceptTable) -> Candidate:
    """A formula from elsewhere as a candidate for a head."""
    kept = tuple(j for j, name in enumerate(judged.names) if name in formula.concepts) or (0,)
    labels = judged.targets()[:, head].astype(np.bool_)
    standing = Standing.of(formula.evaluate(judged.boolean(), judged.names), labels, judged.weight)
    return Candidate(formula, head, kept, hard.head(head, kept), False, False, standing, None)


def _chosen(
    hard: EntropyNet,
    candidates: Sequence[Candidate],
    rows: ConceptTable,
    config: ExactConfig,
    generator: torch.Generator,
) -> ExactHead:
    """The best candidate that can be had, within the budget if possible; its head is refitted where it must be."""

    def worth(candidate: Candidate) -> tuple[bool, float, bool, int]:
        within = candidate.formula.n_literals <= config.max_literals and len(candidate.formula) <= config.max_cubes
        value = candidate.standing.f1 - config.price * candidate.formula.n_literals
        # Of equally good ones a head as it is, and the one with the fewest concepts to look at.
        return within, value if within else -candidate.formula.n_literals, candidate.natural, -len(candidate.kept)

    best = max((c.before for c in candidates if c.before is not None), key=lambda standing: standing.f1)
    shown = [candidate.formula for candidate in candidates if candidate.formula.n_literals <= MOST_SHOWN]
    alternatives = tuple(dict.fromkeys(shown))
    for candidate in sorted(candidates, key=worth, reverse=True):
        made = _made(hard, candidate, rows, generator)
        if made is None:
            continue
        single, table, kept = made
        hard.put_head(candidate.head, single, kept)
        note = None
        if not worth(candidate)[0]:
            note = (
                f"no head could be made to equal a formula of at most {config.max_literals} literals in "
                f"{config.max_cubes} cubes; this one has {candidate.formula.n_literals} in {len(candidate.formula)}."
            )
        formula, proved = _shortest(candidate, table)
        before = None if candidate.natural else candidate.before or best
        return ExactHead(candidate.head, formula, table, proved, candidate.standing, before, note, alternatives)
    raise LogicLensError("no head could be made to equal a formula: train with more epochs or a lower temperature.")


def _shortest(candidate: Candidate, table: CompleteTable) -> tuple[DNF, bool]:
    """The candidate's formula, or one with fewer literals that equals the head as well; and whether that is proved."""
    if candidate.natural:
        return candidate.formula, candidate.proved_minimal
    minimum = table.minimised()
    if minimum.formula.n_literals < candidate.formula.n_literals:
        return minimum.formula, minimum.proved
    return candidate.formula, minimum.proved and minimum.formula.n_literals == candidate.formula.n_literals


def _made(
    hard: EntropyNet, candidate: Candidate, rows: ConceptTable, generator: torch.Generator
) -> tuple[EntropyNet, CompleteTable, tuple[int, ...]] | None:
    """A head that equals the candidate's formula, safe from rounding, with the concepts it keeps."""
    if candidate.natural:
        names = tuple(rows.names[j] for j in candidate.kept)
        single = copy.deepcopy(candidate.single)
        table = CompleteTable.of(single, names, rows.groups)
        if not table.is_safe:
            with torch.no_grad():
                list(single.parameters())[-1].add_(table.middle())
            table = CompleteTable.of(single, names, rows.groups)
        return (single, table, candidate.kept) if table.is_safe else None
    # The refitted head keeps the concepts of its formula and no others; a constant keeps one.
    used = [j for j in candidate.kept if rows.names[j] in candidate.formula.concepts] or list(candidate.kept[:1])
    names = tuple(rows.names[j] for j in used)
    start = hard.like(len(used), 1)
    start.load_state_dict(candidate.single.head(0, [candidate.kept.index(j) for j in used]).state_dict())
    made = refit(start, candidate.formula, names, rows.groups, generator=generator)
    return None if made is None else (*made, tuple(used))
