"""Training and extraction as in the authors' scripts, for comparison only.

Only rows on which label and network agree give rules. A rule drops literals while its score does not fall. The best
rules by score, not by support, are OR-ed while that improves the score. A class may end without a formula. Written
from a description of the scripts, without sympy: all scores are bit counts in packed rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from lab.peers.learner import class_numbers
from lab.runs.tasks import NetworkSettings
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.forward import read
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.minimisation import COMPLETE_CONCEPTS, minimise_complete, row_bits, simplify
from logiclens.formula.packed_rows import pack_columns
from logiclens.metrics.scores import macro_f1_of_counts
from logiclens.nn.encoders import device_of
from logiclens.nn.functional import entropy_logic_loss
from logiclens.nn.layers import EntropyNet
from logiclens.train.threads import threads_for

ENCODER: dict[str, Any] = {"hidden": (100, 50), "temperature": 5_000.0, "penalty_weight": 0.0}
"""Settings of the first network of a cascade."""


def train_as_authors(
    table: ConceptTable, settings: NetworkSettings, *, batch_size: int | None, seed: int
) -> EntropyNet:
    targets = torch.tensor(np.array(class_numbers(table)))
    return _trained(
        table.values, targets, len(table.class_names), settings.epochs, batch_size or len(table), seed,
        hidden=settings.hidden, temperature=settings.temperature, penalty_weight=settings.penalty_weight,
    )  # fmt: skip


def encoder_as_authors(
    inputs: NDArray[np.float32], concepts: NDArray[np.float32], *, epochs: int, seed: int
) -> EntropyNet:
    """Train the first network of a cascade (V-Dem), from standardised inputs to concepts, in two batches."""
    half = math.ceil(len(inputs) / 2)
    return _trained(inputs, torch.tensor(concepts), concepts.shape[1], epochs, half, seed, **ENCODER)


def untrained(n_concepts: int, n_classes: int, hidden: Sequence[int], temperature: float, seed: int) -> EntropyNet:
    """Return the authors' network before training.

    Their initialisation takes the product of the entropy layer's last two axes as fan-in, so the bound is
    1/√(width · concepts), also for the bias; later layers are initialised as usual.
    """
    generator = torch.Generator().manual_seed(seed)
    network = EntropyNet(
        n_concepts, n_classes, hidden, shared_tail=True, temperature=temperature, activation=nn.LeakyReLU,
        generator=generator,
    )  # fmt: skip
    bound = 1 / math.sqrt(n_concepts * hidden[0])
    with torch.no_grad():
        for parameter in network.entropy.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return network


def _trained(
    inputs: NDArray[Any], targets: torch.Tensor, n_outputs: int, epochs: int, at_a_time: int, seed: int,
    *, hidden: Sequence[int], temperature: float, penalty_weight: float,
) -> EntropyNet:  # fmt: skip
    network = untrained(inputs.shape[1], n_outputs, hidden, temperature, seed).to(device_of(None))
    device = network.entropy.weight.device
    pieces = (torch.split(array.to(device), at_a_time) for array in (torch.tensor(np.array(inputs)).float(), targets))
    batches = list(zip(*pieces, strict=True))
    # A matrix of targets means several concepts at once, a vector means one class.
    task_loss = F.binary_cross_entropy_with_logits if targets.ndim == 2 else F.cross_entropy
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=1e-2)
    with threads_for(at_a_time * sum(parameter.numel() for parameter in network.parameters())):
        for rows, answers in (batch for _ in range(epochs) for batch in batches):
            optimizer.zero_grad(set_to_none=True)
            loss = task_loss(network(rows), answers) + penalty_weight * entropy_logic_loss(network)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    if not math.isfinite(float(loss.detach())):
        raise LogicLensError("the loss became infinite or not a number: raise the temperature.")
    return network.cpu()


Words = NDArray[np.uint64]

CUT = 0.5
"""Concepts and relevance count if strictly above this; our own method includes equality."""
BLOCK = 2048
"""Number of minterms evaluated at a time, which bounds the memory."""


@dataclass(frozen=True)
class Aggregation:
    """How rules are found and combined; the defaults are those of the authors' scripts."""

    top_k: int = 10
    exact_only: bool = False


@dataclass(frozen=True)
class ClassRules:
    """The formula of a class; if nothing was found it is `DNF.false`, and `reason` says why.

    The authors' scripts count such a class as 0 in accuracy, fidelity and complexity, which differs from the scores of
    `False`.
    """

    formula: DNF
    reason: str = ""


def aggregate_as_authors(
    network: nn.Module, local_rows: ConceptTable, scored_rows: ConceptTable, aggregation: Aggregation | None = None
) -> tuple[ClassRules, ...]:
    aggregation = Aggregation() if aggregation is None else aggregation
    labels, scored_labels = class_numbers(local_rows), class_numbers(scored_rows)
    bits = local_rows.values > CUT
    table = ConceptTable(bits, local_rows.names, labels, local_rows.class_names)
    reading = read(network, table, "threshold", output="logits")
    scored_words = pack_columns((scored_rows.values > CUT).T)
    result = []
    for target in range(reading.n_heads):
        yes, relevance = labels == target, reading.relevance[target]
        agrees = (reading.logits[:, target] > CUT) == yes
        # The relevant concepts from the smallest attention up: in this order literals are written, and dropped.
        order = np.argsort(relevance, kind="stable")
        columns = order[relevance[order] > CUT]
        scored = _ScoredRows(scored_words, scored_labels == target)
        result.append(_rules(bits[agrees], yes[agrees], columns, scored, local_rows.names, aggregation))
    return tuple(result)


def _rules(
    bits: NDArray[np.bool_],
    yes: NDArray[np.bool_],
    columns: NDArray[np.intp],
    scored: _ScoredRows,
    names: Sequence[str],
    aggregation: Aggregation,
) -> ClassRules:
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    if min(n_yes, n_no) < 2:
        return ClassRules(
            DNF.false,
            f"label and network agree on {n_yes} rows of the class and on {n_no} others: both must be at least 2.",
        )
    positive = bits[yes][:, columns]
    minterms = positive[np.sort(distinct(positive)[0])]
    alone = scored.minterm_scores(minterms, columns)
    best = minterms[np.argsort(-alone, kind="stable")[: aggregation.top_k]]
    # Literals are dropped on the local rows; reducing a rule does not depend on the others.
    remaining = _ScoredRows(pack_columns(bits.T), yes).reduced(best, columns, exact_only=aggregation.exact_only)
    cubes = [
        Cube(
            Literal(names[j], bool(value)) for j, value, stays in zip(columns, minterm, literals, strict=True) if stays
        )
        for minterm, literals in zip(best, remaining, strict=True)
    ]
    return _aggregate(cubes, scored.fires(best, columns, remaining), scored)


def _aggregate(cubes: Sequence[Cube], fires: Words, scored: _ScoredRows) -> ClassRules:
    running: list[Cube] = []
    fired = np.zeros_like(scored.valid)
    formula, best = DNF.false, 0.0
    for cube, firing in zip(cubes, fires, strict=True):
        running.append(cube)
        fired = fired | firing
        if np.array_equal(fired, scored.valid) and simplified(DNF(running)) == DNF.true:
            # Nothing is removed from a constant running disjunction, so it stays constant.
            break
        score = float(scored.scores(fired[None])[0])
        if score > best:
            formula, best = simplified(DNF(running)), score
            running = list(formula.cubes)
    return (
        ClassRules(formula) if best else ClassRules(formula, "no rule is right on any scored row, or all are constant.")
    )


def simplified(formula: DNF) -> DNF:
    """Return a short formula of the same meaning; one cube, or a disjunction of single literals, is returned as it is.

    sympy's `simplify_logic` does the same: it returns `a | b | ~b` unchanged, which is then scored as a formula.
    """
    if len(formula) == 1 or all(len(cube) == 1 for cube in formula):
        return formula
    concepts = formula.concepts
    if len(concepts) > COMPLETE_CONCEPTS:
        return simplify(formula).formula
    grid = row_bits(np.arange(1 << len(concepts)), len(concepts))
    return minimise_complete(formula.evaluate(grid, concepts), concepts).formula


class _ScoredRows:
    """Packed Boolean rows with a yes or no each; evaluates and scores minterms, 64 rows per word."""

    def __init__(self, words: Words, yes: NDArray[np.bool_]) -> None:
        self.words = words
        self.n_rows, self.n_yes = len(yes), int(yes.sum())
        self.yes, self.valid = pack_columns(np.stack([yes, np.ones_like(yes)]))

    def scores(self, fires: Words) -> NDArray[np.float64]:
        said = np.bitwise_count(fires).sum(axis=-1, dtype=np.int64)
        both = np.bitwise_count(fires & self.yes).sum(axis=-1, dtype=np.int64)
        wrong, missed = said - both, self.n_yes - both
        return macro_f1_of_counts(both, missed, wrong, self.n_rows - self.n_yes - wrong)

    def minterm_scores(self, minterms: NDArray[np.bool_], columns: NDArray[np.intp]) -> NDArray[np.float64]:
        blocks = [minterms[first : first + BLOCK] for first in range(0, len(minterms), BLOCK)]
        return np.concatenate([self.scores(self.fires(block, columns)) for block in blocks])

    def fires(
        self, minterms: NDArray[np.bool_], columns: NDArray[np.intp], kept: NDArray[np.bool_] | None = None
    ) -> Words:
        fires = np.repeat(self.valid[None], len(minterms), axis=0)
        for i in range(len(columns)):
            holds = self._holds(minterms, columns, i)
            fires &= holds if kept is None else np.where(kept[:, i, None], holds, ~np.uint64(0))
        return fires

    def reduced(self, minterms: NDArray[np.bool_], columns: NDArray[np.intp], *, exact_only: bool) -> NDArray[np.bool_]:
        """Drop each literal in turn if the score does not fall, and return which remain; the last one always does."""
        n, length = minterms.shape
        # later[i]: the rows on which the literals from the i-th on hold.
        later = np.repeat(self.valid[None, None], n, axis=1).repeat(length + 1, axis=0)
        for i in reversed(range(length)):
            later[i] = later[i + 1] & self._holds(minterms, columns, i)
        before, current = later[length].copy(), self.scores(later[0])
        kept = np.ones((n, length), dtype=np.bool_)
        for i in range(length):
            without = self.scores(before & later[i + 1])
            drop = (without == 1.0 if exact_only else without >= current) & (kept.sum(axis=1) > 1)
            current = np.where(drop, without, current)
            before = np.where(drop[:, None], before, before & self._holds(minterms, columns, i))
            kept[:, i] = ~drop
        return kept

    def _holds(self, minterms: NDArray[np.bool_], columns: NDArray[np.intp], i: int) -> Words:
        flip = np.where(minterms[:, i], np.uint64(0), ~np.uint64(0))[:, None]
        holds: Words = self.words[columns[i]] ^ flip
        return holds
