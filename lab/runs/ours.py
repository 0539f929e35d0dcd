"""Our own networks and rules as methods of the comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lab.peers.black_box import plain_network
from lab.peers.learner import Learned, firing
from lab.runs.authors import Aggregation, aggregate_as_authors, train_as_authors
from lab.runs.fold_data import HIDDEN, FoldData, prepared_inputs
from logiclens import EntropyClassifier, explain_all
from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.forward import read
from logiclens.formula.dnf import DNF
from logiclens.nn import EntropyNet
from logiclens.nn.bottleneck import ConceptBottleneck
from logiclens.nn.encoders import device_of
from logiclens.train.bottleneck import BottleneckConfig, fit_bottleneck, predict_concepts
from logiclens.train.config import TrainConfig
from logiclens.train.encoder import EncoderConfig
from logiclens.train.loop import fit


def untrained(fold: FoldData) -> EntropyNet:
    settings = fold.task.network
    return EntropyNet(
        fold.train.n_concepts, len(fold.train.class_names), settings.hidden, temperature=settings.temperature,
        generator=torch.Generator().manual_seed(fold.seed),
    )  # fmt: skip


@dataclass(frozen=True)
class Ours:
    """Train as in the paper's text (best validation epoch, full batch, ReLU) and choose formulas by a method.

    Args:
        method: how formulas are chosen, "search" or "paper".
        score_against: what formulas are scored against; the paper's text compares with labels.
        soft: whether the network sees the values of the encoder instead of these cut at 0.5.
    """

    method: Any = "search"
    score_against: Any = "network"
    soft: bool = False

    def __call__(self, fold: FoldData) -> Learned:
        train, validation = (part if self.soft else part.hard() for part in (fold.train, fold.validation))
        network, settings = untrained(fold).to(device_of(None)), fold.task.network
        config = TrainConfig(epochs=settings.epochs, penalty_weight=settings.penalty_weight, progress=False)
        fit(network, train, config, validation=validation)
        # The paper chooses on validation rows; our method on all rows except the test rows.
        rows, judges = (train, validation) if self.method == "paper" else (train.append(validation), None)
        explanation = explain_all(
            network, rows, validation=judges, method=self.method, score_against=self.score_against, progress=False
        )
        reasons = (f"{one.name}: {one.reason}" for one in explanation.classes if one.reason)
        return Learned(Answers(network, hard=not self.soft), explanation.formulas, (*explanation.notes, *reasons))


@dataclass(frozen=True)
class Exact:
    """The rules of `EntropyClassifier(exact=True)` with its defaults: they are the network, and give its answers."""

    def __call__(self, fold: FoldData) -> Learned:
        rows = fold.train.hard().append(fold.validation.hard())
        names = np.array(rows.class_names)
        model = EntropyClassifier(None, exact=True, random_state=fold.seed)
        model.fit(rows, names[np.asarray(rows.labels)])
        stated = {str(rule.name): rule.formula for rule in model.rules_.rules}
        # A class without rows cannot be learned.
        formulas = tuple(stated.get(name, DNF.false) for name in names)
        place = {name: number for number, name in enumerate(names)}

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            answers = model.predict(ConceptTable(table.boolean(), table.names))
            return np.array([place[str(answer)] for answer in answers], dtype=np.intp)

        return Learned(predict, formulas, answers=lambda table: firing(formulas, table))


@dataclass(frozen=True)
class Authors:
    """Training and aggregation as in the authors' scripts (see `lab.runs.authors`).

    Args:
        top_k: number of local rules to aggregate; default: as in the script of the task.
    """

    top_k: int | None = None

    def __call__(self, fold: FoldData) -> Learned:
        scripts, settings = fold.task.scripts, fold.task.network
        train, validation = fold.train.hard(), fold.validation.hard()
        if scripts is None:
            # This task is not theirs: do what most of their scripts do.
            top_k, exact_only, scored, halved = 10, False, train, True
        else:
            top_k, exact_only, halved = scripts.top_k, scripts.exact_only, scripts.halved
            scored = train if scripts.scored_on == "train" else validation
        n_rows = len(train) + len(validation) + len(fold.test)
        network = train_as_authors(train, settings, batch_size=n_rows // 2 if halved else None, seed=fold.seed)
        how = Aggregation(top_k=self.top_k or top_k, exact_only=exact_only)
        rules = aggregate_as_authors(network, validation, scored, how)
        notes = tuple(
            f"no rule for {name}: {rule.reason} The scripts count such a class as 0 in every metric, here it is False."
            for name, rule in zip(train.class_names, rules, strict=True)
            if rule.reason
        )
        return Learned(Answers(network, hard=True), tuple(rule.formula for rule in rules), notes)


@dataclass(frozen=True, eq=False)
class Answers:
    """Predicts the class with the largest output for each row."""

    network: nn.Module
    hard: bool

    def __call__(self, table: ConceptTable) -> NDArray[np.intp]:
        logits = read(self.network, table.hard() if self.hard else table, "argmax").logits
        classes: NDArray[np.intp] = logits.argmax(axis=1)
        return classes


def device_name() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def with_settings(fold: FoldData, **changes: Any) -> FoldData:
    return replace(fold, task=replace(fold.task, network=replace(fold.task.network, **changes)))


@dataclass(frozen=True)
class Joint:
    """Both networks trained jointly: the loss of the classes plus that of the concepts, on concepts cut at 0.5.

    The training rows shape the concepts that explain them, as in joint concept bottlenecks; neither network sees test
    rows. (In sequential training the concepts of each row come from a network that did not see it.)
    """

    def __call__(self, fold: FoldData) -> Learned:
        inputs, rows, settings = prepared_inputs(fold.dataset, fold.rows.train), fold.rows, fold.task.network
        annotated = fold.dataset.concepts(fold.dataset.all_rows)
        encoder = plain_network(
            (inputs.shape[1], *HIDDEN, annotated.n_concepts), torch.Generator().manual_seed(fold.seed)
        )
        model = ConceptBottleneck(encoder, untrained(fold), hard=True, names=annotated.names)
        train, validation = (
            (inputs[part], annotated.values[part], fold.dataset.labels[part]) for part in (rows.train, rows.validation)
        )
        config = BottleneckConfig(
            network=TrainConfig(epochs=settings.epochs, penalty_weight=settings.penalty_weight, progress=False),
            encoder=EncoderConfig(epochs=settings.epochs, batch_size=len(rows.train), task="multilabel"),
        )
        fit_bottleneck(model, *train, config, mode="joint", seed=fold.seed, validation=validation)
        table = annotated.with_values(predict_concepts(model, inputs)).hard()
        formulas = explain_all(model.network, table.take([*rows.train, *rows.validation]), method="search").formulas
        return Learned(Answers(model.network, hard=True), formulas, test=table.take(rows.test))
