"""Training of the networks of a classifier and search for its formulas."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import split_groups
from logiclens.errors import collected_warnings
from logiclens.estimator.inputs import listed_class_weight
from logiclens.estimator.settings import search_config
from logiclens.explain.bounds import RuleBounds
from logiclens.explain.candidates import formula_of
from logiclens.explain.choice import SEARCHING, Choice, LearnedRules, learn_rules
from logiclens.explain.reading import read
from logiclens.formula.dnf import DNF, Complement
from logiclens.nn.layers import EntropyNet
from logiclens.nn.stacked import stackable
from logiclens.progress import Progress
from logiclens.train.committee import (
    BAG,
    Committee,
    CutRows,
    GroupedRows,
    bag_size,
    n_groups_for,
    teacher_of,
)
from logiclens.train.config import STEP, TrainConfig, TrainResult, data_notes
from logiclens.train.fit_many import fit_many
from logiclens.train.loop import fit
from logiclens.train.loss import class_factors

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier


LARGE = 10_000
"""The number of distinct rows above which a network is trained in mini-batches."""
BATCH = 2_048
"""The rows of a mini-batch."""
PATIENCE = 5
"""Epochs without improvement after which training stops, for tables so wide that bags must be small."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A network, how it was trained, and the formulas that the search found.

    Attributes:
        network: a committee, or a single network with `method="paper"`.
        result: how it was trained; for a committee, how its first member was.
        learned: the formulas; None with `method="paper"`.
    """

    network: EntropyNet | Committee
    result: TrainResult
    learned: LearnedRules | None


@dataclass(frozen=True, eq=False)
class Begun:
    """The training rows of the networks of one classifier: in groups for a committee, or as they are."""

    model: EntropyClassifier
    classes: NDArray[np.generic]
    rows: ConceptTable
    validation: ConceptTable | None
    seed: int
    grouped: GroupedRows | None = None
    taught: NDArray[np.float64] | None = None
    bounds: RuleBounds | None = None

    def networks(self) -> list[_Network]:
        """Return new networks to train, each with its rows."""
        if self.grouped is None:
            return [self._fresh(self.rows, self.validation, self.seed)]
        jobs = self.grouped.jobs()
        seeds = np.random.SeedSequence(self.seed).generate_state(len(jobs)).tolist()
        made = []
        for job, seed in zip(jobs, seeds, strict=True):
            rows, held = job.bag(self.grouped, self.model.validation)
            made.append(self._fresh(rows, held, int(seed)))
        return made

    def _fresh(self, rows: ConceptTable, validation: ConceptTable | None, seed: int) -> _Network:
        model, generator = self.model, torch.Generator().manual_seed(seed)
        network = EntropyNet(
            rows.n_concepts,
            len(rows.class_names),
            model.hidden,
            temperature=float(model.temperature),
            generator=generator,
        )
        if self.bounds is not None:
            network.entropy.keep.copy_(torch.from_numpy(self.bounds.kept(rows.names)))
        return _Network(network, rows, validation, self._config(rows), generator)

    def _config(self, rows: ConceptTable) -> TrainConfig:
        """Return the training configuration for some rows."""
        model = self.model
        n_rows = len(rows.distinct[0]) if rows.is_boolean else len(rows)
        is_large = n_rows > LARGE
        return TrainConfig(
            # A large table needs fewer passes: about as many rows pass in total as for a table of LARGE rows.
            epochs=max(2, math.ceil(model.epochs * LARGE / n_rows)) if is_large else model.epochs,
            batch_size=BATCH if is_large else None,
            learning_rate=model.learning_rate,
            penalty_weight=model.penalty_weight,
            class_weight=listed_class_weight(model.class_weight, self.classes),
            patience=PATIENCE if self.grouped is not None and bag_size(rows) < BAG else None,
            # The work that this training is part of has the bar.
            progress=False,
        )

    @property
    def is_multilabel(self) -> bool:
        """Whether each class is a separate yes/no question."""
        return self.rows.is_multilabel


@dataclass(frozen=True, eq=False)
class _Network:
    """A new network with its training rows."""

    network: EntropyNet
    rows: ConceptTable
    validation: ConceptTable | None
    config: TrainConfig
    generator: torch.Generator


def train_all(begun: Sequence[Begun]) -> list[Trained]:
    """Train the networks of all classifiers, in one pass if possible; each result is the same as if trained alone."""
    fresh = [one.networks() for one in begun]
    results = train_networks([one for own in fresh for one in own])
    trained: list[Trained] = []
    first = 0
    with Progress(len(begun), SEARCHING) as progress:
        for one, own in zip(begun, fresh, strict=True):
            trained.append(_settled(one, [made.network for made in own], results[first : first + len(own)]))
            first += len(own)
            progress.update(len(trained))
    return trained


def train_networks(networks: Sequence[_Network]) -> list[TrainResult]:
    """Train networks in place, in one pass if possible."""
    results: dict[int, TrainResult] = {}
    together = [i for i, one in enumerate(networks) if one.config.batch_size is None and stackable(one.network)]
    apart = sorted(set(range(len(networks))).difference(together))
    # A rare category is constant in some bags by nature: `fit` warns of what is constant on all training rows.
    with collected_warnings(), Progress(bool(together) + len(apart), STEP) as progress:
        found = fit_many(
            [networks[i].network for i in together],
            [networks[i].rows for i in together],
            [networks[i].config for i in together],
            validation=[networks[i].validation for i in together],
        )
        results.update(zip(together, found, strict=True))
        for done, i in enumerate(apart, start=bool(together)):
            progress.update(done)
            one = networks[i]
            results[i] = fit(one.network, one.rows, one.config, one.generator, validation=one.validation)
    return [results[i] for i in range(len(networks))]


def _settled(begun: Begun, networks: Sequence[EntropyNet], results: Sequence[TrainResult]) -> Trained:
    """Return the trained networks as one, with the formulas that the search finds."""
    # In double precision, single rows and whole tables agree in all printed digits.
    networks = [network.double() for network in networks]
    if begun.grouped is None:
        return Trained(networks[0], results[0], None)
    teacher = teacher_of(begun.grouped, begun.grouped.jobs(), networks, probabilities, begun.taught)
    committee = Committee(networks[: teacher.n_members], single=begun.is_multilabel)
    model = begun.model
    config = replace(search_config(model, begun.rows.class_names), bounds=begun.bounds)
    if begun.taught is not None:
        # The rules explain the other teacher: they match it, and fidelity to it chooses their length.
        config = replace(config, shares=(1.0,))
    learned = learn_rules(teacher, config, _factors(begun))
    return Trained(committee, replace(results[0], notes=data_notes(begun.rows)), learned)


def probabilities(network: nn.Module, rows: ConceptTable) -> NDArray[np.float64]:
    """Return the probability of each class on each row."""
    return read(network, rows, "threshold" if rows.is_multilabel else "argmax").probability


def _factors(begun: Begun) -> NDArray[np.float64] | None:
    """Return the weight of each class."""
    weights = listed_class_weight(begun.model.class_weight, begun.classes)
    return None if weights is None or begun.is_multilabel else np.asarray(class_factors(weights, begun.rows))


def stated_formulas(
    choices: Sequence[Choice], cubes: Sequence[tuple[tuple[int, ...], ...]], n_classes: int
) -> tuple[DNF | Complement, ...]:
    """Return the formulas of all classes; a class without one of its own is the complement of the other."""
    stated = {choice.klass: formula_of(own, choice.names) for choice, own in zip(choices, cubes, strict=True)}
    other = Complement(next(iter(stated.values())))
    return tuple(stated.get(klass, other) for klass in range(n_classes))


def concept_frequencies(
    model: EntropyClassifier, classes: NDArray[np.generic], table: ConceptTable, committee: int, seed: int
) -> dict[str, float]:
    """Return for each concept the share of a committee's bags in which the formula of any class uses it."""
    labels = np.asarray(table.labels)
    rarest = float(np.bincount(labels, table.copies, minlength=len(classes)).min())
    grouped = GroupedRows(
        CutRows(table), split_groups(labels, table.weight, n_groups_for(committee, rarest, len(classes)))
    )
    with collected_warnings():
        (trained,) = train_all([Begun(model, classes, table, None, seed, grouped)])
    choices = () if trained.learned is None else trained.learned.choices
    n_bags = max((len(choice.bags) for choice in choices), default=0)
    if n_bags == 0:
        return {concept: 1.0 for choice in choices for concept in choice.formula.concepts}
    used: Counter[str] = Counter()
    for bag in range(n_bags):
        used.update({choice.names[code >> 1] for choice in choices for cube in choice.bags[bag] for code in cube})
    return {concept: n / n_bags for concept, n in used.items()}
