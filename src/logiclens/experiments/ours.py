"""The entropy network in its forms, as methods of a comparison: one fold in, predictions and formulas out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from logiclens.baselines.learner import Learned
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensWarning
from logiclens.estimators.classifier import EntropyClassifier
from logiclens.experiments.authors import Aggregation, aggregate_as_authors
from logiclens.experiments.authors_training import train_as_authors
from logiclens.experiments.folddata import FoldData
from logiclens.experiments.networks import trained
from logiclens.explain.classwise import Method, explain_all
from logiclens.explain.extract import read
from logiclens.explain.own_teacher import ScoreAgainst
from logiclens.formula.bits import PackedRows
from logiclens.formula.dnf import DNF, Complement


@dataclass(frozen=True)
class Ours:
    """Train as the paper's text says (best validation epoch, full batch, ReLU), and choose formulas by a method.

    Args:
        method: how formulas are chosen.
        score_against: what formulas match, or candidates are scored against; the paper's text compares with labels.
        soft: whether the network sees the values that an encoder gave, instead of these cut at 0.5.
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
            # What such a warning says, a constant formula, is counted in the results.
            warnings.simplefilter("ignore", LogicLensWarning)
            # The text lets validation rows decide; ours decides on all rows that are not for the test.
            rows, judges = (train, validation) if self.method == "paper" else (train.append(validation), None)
            explanation = explain_all(network, rows, judges, method=self.method, score_against=self.score_against)
        reasons = (f"{one.name}: {one.reason}" for one in explanation.classes if one.reason)
        notes = (*explanation.notes, *reasons)
        answers = Answers(network, hard=not self.soft)
        return Learned(answers, explanation.formulas, notes, elsewhere=learned.elsewhere)


@dataclass(frozen=True)
class Exact:
    """Rules that the search finds with a committee as teacher, compiled into a network that equals them.

    The validation rows stop the training of the networks and nothing else; length and share of the teacher are chosen
    by cross-validation inside the training rows.
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
            # A class that no training row has cannot be learned, nor choose an epoch.
            held = held.take(np.flatnonzero(np.isin(np.asarray(held.labels), np.asarray(train.labels))))
            held_out = (held, names[np.asarray(held.labels)]) if len(held) else None
            model.fit(train, names[np.asarray(train.labels)], held_out=held_out)
        # The classifier sorts its classes; the task has an order of its own, and maybe more of them.
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
    """Training and aggregation as the authors' scripts have them (see `logiclens.experiments.authors`).

    Args:
        top_k: how many local rules are aggregated, where not as the script of the task has it.
    """

    top_k: int | None = None

    def __call__(self, fold: FoldData) -> Learned:
        """Learn from a fold."""
        scripts, settings = fold.task.scripts, fold.task.network
        train, validation = fold.train.hard(), fold.validation.hard()
        if scripts is None:
            # A task of ours: what most of their scripts do.
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
    """The class with the largest output, for each row."""

    network: nn.Module
    hard: bool

    def __call__(self, table: ConceptTable) -> NDArray[np.intp]:
        """Predict."""
        reading = read(self.network, table.hard() if self.hard else table, "argmax")
        said: NDArray[np.intp] = reading.logits.argmax(axis=1)
        return said


def device_name() -> str:
    """What networks were trained on, for those who read their times."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def with_settings(fold: FoldData, **changes: Any) -> FoldData:
    """The same fold with other settings of the network, for a grid; it belongs with no others."""
    return replace(fold, task=replace(fold.task, network=replace(fold.task.network, **changes)), family=None)
