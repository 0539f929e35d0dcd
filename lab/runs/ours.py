"""Our own networks as methods of the comparison; the networks of all folds or settings are trained together."""

from __future__ import annotations

import copy
import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lab.peers.black_box import plain_network
from lab.peers.learner import Learned
from lab.runs.authors import Aggregation, aggregate_as_authors, train_as_authors
from lab.runs.fold_data import HIDDEN, FoldData, prepared_inputs
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimator.classifier import EntropyClassifier
from logiclens.explain.classwise import Method, explain_all
from logiclens.explain.own_teacher import ScoreAgainst
from logiclens.explain.reading import read
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.packed_rows import PackedRows
from logiclens.nn.bottleneck import ConceptBottleneck
from logiclens.nn.encoders import device_of
from logiclens.nn.layers import EntropyNet
from logiclens.train.bottleneck import BottleneckConfig, fit_bottleneck, predict_concepts
from logiclens.train.config import TrainConfig
from logiclens.train.encoder import EncoderConfig
from logiclens.train.fit_many import fit_many

SMALL = 1 << 24
"""Folds are trained together if each has at most this many first-layer outputs."""
KEPT = 64
"""Maximum number of networks that are kept."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network, its share of the training time, and the part of that time that was spent in this run."""

    network: EntropyNet
    share: tuple[float, float]
    spent: tuple[float, float]

    @property
    def elsewhere(self) -> tuple[float, float]:
        """Return the seconds and CPU seconds to add to the measured ones."""
        return self.share[0] - self.spent[0], self.share[1] - self.spent[1]


@dataclass(frozen=True, eq=False)
class _CachedNetwork:
    network: EntropyNet
    share: tuple[float, float]
    # Keeps the tables alive, since the key contains their identity.
    fold: FoldData


_cached_networks: OrderedDict[tuple[object, ...], _CachedNetwork] = OrderedDict()


def trained(fold: FoldData, *, soft: bool = False) -> TrainedNetwork:
    """Return the network of a fold, trained as in the paper's text, on the GPU if there is one.

    With `soft` it sees the values of the encoder instead of these cut at 0.5.
    """
    spent = (0.0, 0.0)
    if _key(fold, soft) not in _cached_networks:
        together = _together(fold)
        try:
            spent = _train(together, soft)
        except LogicLensError:
            # One of them cannot be trained; if it is this one, training it alone raises.
            if len(together) == 1:
                raise
            spent = _train([fold], soft)
    found = _cached_networks[_key(fold, soft)]
    return TrainedNetwork(copy.deepcopy(found.network), found.share, spent)


def forget() -> None:
    """Forget all networks, so that the next run trains its own."""
    _cached_networks.clear()


def _key(fold: FoldData, soft: bool) -> tuple[object, ...]:
    return id(fold.train), id(fold.validation), fold.task.network, fold.seed, soft


def _together(fold: FoldData) -> Sequence[FoldData]:
    """Return the folds to train in one pass with this one: its family, if all are small."""
    settings = fold.task.network
    folds = fold.siblings()
    width = sum(settings.hidden) * len(fold.train.class_names)
    if sum(len(one.train) + len(one.validation) for one in folds) * width > SMALL:
        return [fold]
    # A fold whose rows were changed does not belong to the family of the original.
    return folds if any(_key(one, False) == _key(fold, False) for one in folds) else [fold]


def _train(folds: Sequence[FoldData], soft: bool) -> tuple[float, float]:
    """Train and keep the networks of folds; return the time that took."""
    wall, cpu = time.perf_counter(), time.process_time()
    cut: dict[int, ConceptTable] = {}

    def seen(table: ConceptTable) -> ConceptTable:
        return table if soft else cut.setdefault(id(table), table.hard())

    networks = [_fresh(fold) for fold in folds]
    configs = [
        TrainConfig(epochs=one.epochs, penalty_weight=one.penalty_weight, progress=False)
        for one in (fold.task.network for fold in folds)
    ]
    with warnings.catch_warnings():
        # A concept that is constant on the training part of a fold needs no action.
        warnings.simplefilter("ignore", LogicLensWarning)
        fit_many(
            networks,
            [seen(fold.train) for fold in folds],
            configs,
            validation=[seen(fold.validation) for fold in folds],
        )
    spent = time.perf_counter() - wall, time.process_time() - cpu
    share = spent[0] / len(folds), spent[1] / len(folds)
    for fold, network in zip(folds, networks, strict=True):
        _cached_networks[_key(fold, soft)] = _CachedNetwork(network, share, fold)
    while len(_cached_networks) > max(KEPT, len(folds)):
        _cached_networks.popitem(last=False)
    return spent


def _fresh(fold: FoldData) -> EntropyNet:
    settings = fold.task.network
    return EntropyNet(
        fold.train.n_concepts,
        len(fold.train.class_names),
        settings.hidden,
        temperature=settings.temperature,
        generator=torch.Generator().manual_seed(fold.seed),
    ).to(device_of(None))


@dataclass(frozen=True)
class Ours:
    """Train as in the paper's text (best validation epoch, full batch, ReLU) and choose formulas by a method.

    Args:
        method: how formulas are chosen.
        score_against: what formulas are scored against; the paper's text compares with labels.
        soft: whether the network sees the values of the encoder instead of these cut at 0.5.
    """

    method: Method = "search"
    score_against: ScoreAgainst = "network"
    soft: bool = False

    def __call__(self, fold: FoldData) -> Learned:
        """Learn from a fold."""
        train, validation = (part if self.soft else part.hard() for part in (fold.train, fold.validation))
        learned = trained(fold, soft=self.soft)
        network = learned.network
        with warnings.catch_warnings():
            # The results count the constant formulas that this warning reports.
            warnings.simplefilter("ignore", LogicLensWarning)
            # The paper chooses on validation rows; our method on all rows except the test rows.
            rows, judges = (train, validation) if self.method == "paper" else (train.append(validation), None)
            explanation = explain_all(
                network, rows, validation=judges, method=self.method, score_against=self.score_against, progress=False
            )
        reasons = (f"{one.name}: {one.reason}" for one in explanation.classes if one.reason)
        notes = (*explanation.notes, *reasons)
        answers = Answers(network, hard=not self.soft)
        return Learned(answers, explanation.formulas, notes, elsewhere=learned.elsewhere)


@dataclass(frozen=True)
class Exact:
    """Rules found by the search with a committee as teacher, compiled into a network that equals them.

    Validation rows are only used for early stopping; length and weight of the teacher are chosen by cross-validation
    within the training rows.
    """

    def __call__(self, fold: FoldData) -> Learned:
        """Learn from a fold."""
        settings = fold.task.network
        train, held = fold.train.hard(), fold.validation.hard()
        model = EntropyClassifier(
            None,
            exact=True,
            hidden=settings.hidden,
            temperature=settings.temperature,
            penalty_weight=settings.penalty_weight,
            epochs=settings.epochs,
            random_state=fold.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogicLensWarning)
            names = np.array(train.class_names)
            # A class without training rows cannot be learned, and must not influence early stopping.
            held = held.take(np.flatnonzero(np.isin(np.asarray(held.labels), np.asarray(train.labels))))
            held_out = (held, names[np.asarray(held.labels)]) if len(held) else None
            model.fit(train, names[np.asarray(train.labels)], held_out=held_out)
        # The classifier sorts its classes; the task has its own order, and may have more classes.
        place = np.array([train.class_names.index(str(label)) for label in model.classes_])
        formulas: dict[int, DNF | Complement] = dict(zip(place.tolist(), model.learned_.formulas, strict=True))

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            return place[model.rules_.predict_places(PackedRows.of(table.boolean(), table.names))]

        def answers(table: ConceptTable) -> NDArray[np.bool_]:
            said = np.zeros((len(table), len(names)), dtype=np.bool_)
            rows = ConceptTable(table.boolean(), table.names)
            said[:, place] = read(model.network_, rows, "threshold", exact=True).yes
            return said

        return Learned(predict, tuple(formulas.get(klass, DNF.false) for klass in range(len(names))), answers=answers)


@dataclass(frozen=True)
class Authors:
    """Training and aggregation as in the authors' scripts (see `lab.runs.authors`).

    Args:
        top_k: number of local rules to aggregate; default: as in the script of the task.
    """

    top_k: int | None = None

    def __call__(self, fold: FoldData) -> Learned:
        """Learn from a fold."""
        scripts, settings = fold.task.scripts, fold.task.network
        train, validation = fold.train.hard(), fold.validation.hard()
        if scripts is None:
            # This task is not theirs: do what most of their scripts do.
            top_k, exact_only, scored, halved = 10, False, train, True
        else:
            top_k, exact_only, halved = scripts.top_k, scripts.exact_only, scripts.halved
            scored = train if scripts.scored_on == "train" else validation
        n_rows = len(train) + len(validation) + len(fold.test)
        network = train_as_authors(
            train, hidden=settings.hidden, temperature=settings.temperature, penalty_weight=settings.penalty_weight,
            epochs=settings.epochs, batch_size=n_rows // 2 if halved else None, seed=fold.seed,
        )  # fmt: skip
        how = Aggregation(top_k=self.top_k or top_k, exact_only=exact_only)
        rules = aggregate_as_authors(network, validation, scored, how)
        notes = tuple(
            f"no rule for {name}: {rule.reason} The scripts count such a class as 0 in every metric, here it is False."
            for name, rule in zip(train.class_names, rules, strict=True)
            if not rule.found
        )
        return Learned(Answers(network, hard=True), tuple(rule.formula for rule in rules), notes)


@dataclass(frozen=True, eq=False)
class Answers:
    """Predicts the class with the largest output for each row."""

    network: nn.Module
    hard: bool

    def __call__(self, table: ConceptTable) -> NDArray[np.intp]:
        """Return the class number of each row."""
        reading = read(self.network, table.hard() if self.hard else table, "argmax")
        said: NDArray[np.intp] = reading.logits.argmax(axis=1)
        return said


def device_name() -> str:
    """Return the name of the device on which networks are trained."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def with_settings(fold: FoldData, **changes: Any) -> FoldData:
    """Return the fold with other network settings, for a grid; it belongs to no family."""
    return replace(fold, task=replace(fold.task, network=replace(fold.task.network, **changes)), family=None)


@dataclass(frozen=True)
class Joint:
    """Both networks trained jointly: the loss of the classes plus that of the concepts, on concepts cut at 0.5.

    The training rows shape the concepts that explain them, as in joint concept bottlenecks; neither network sees test
    rows. (In sequential training the concepts of each row come from a network that did not see it.)
    """

    def __call__(self, fold: FoldData) -> Learned:
        """Learn from the inputs of a fold."""
        inputs, rows, settings = prepared_inputs(fold.dataset, fold.rows.train), fold.rows, fold.task.network
        annotated = fold.dataset.concepts(fold.dataset.all_rows)
        generator = torch.Generator().manual_seed(fold.seed)
        model = ConceptBottleneck(
            plain_network((inputs.shape[1], *HIDDEN, annotated.n_concepts), generator),
            EntropyNet(
                annotated.n_concepts,
                len(annotated.class_names),
                settings.hidden,
                temperature=settings.temperature,
                generator=generator,
            ),
            hard=True,
            names=annotated.names,
        )
        train, held = (
            (inputs[part], annotated.values[part], fold.dataset.labels[part]) for part in (rows.train, rows.validation)
        )
        config = BottleneckConfig(
            network=TrainConfig(epochs=settings.epochs, penalty_weight=settings.penalty_weight, progress=False),
            encoder=EncoderConfig(epochs=settings.epochs, batch_size=len(rows.train), task="multilabel"),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogicLensWarning)
            fit_bottleneck(model, *train, config, mode="joint", seed=fold.seed, validation=held)
            table = annotated.with_values(predict_concepts(model, inputs)).hard()
            both = table.take([*rows.train, *rows.validation])
            formulas = explain_all(model.network, both, method="search").formulas
        return Learned(Answers(model.network, hard=True), formulas, test=table.take(rows.test))
