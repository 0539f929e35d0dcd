"""Training of the networks of a classifier and search for its formulas; also on resamples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import joblib
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import Parcels, set_apart, split_groups
from logiclens.errors import collected_warnings
from logiclens.estimator.inputs import listed_class_weight
from logiclens.estimator.knowledge import fitted_bounds, without_rows
from logiclens.estimator.settings import search_config
from logiclens.explain.bounds import RuleBounds
from logiclens.explain.candidates import MOST_ROWS, SearchTable
from logiclens.explain.choice import SEARCHING, Choice, LearnedRules, bag_cubes, learn_rules
from logiclens.explain.classwise import explain_all
from logiclens.explain.forward import read
from logiclens.explain.learned import stated_formulas
from logiclens.explain.length import FAR_ROWS
from logiclens.formula.dnf import DNF, Complement
from logiclens.nn.committee import Committee
from logiclens.nn.layers import EntropyNet
from logiclens.nn.stacked import stackable
from logiclens.progress import Progress
from logiclens.train.committee import (
    BAG,
    MANY_CLASSES,
    CutRows,
    GroupedRows,
    Taught,
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
AT_A_TIME = 20
"""The number of resamples whose networks are trained in one pass."""


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
            model.shared_tail,
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
    learned = learn_rules(teacher, config, _factors(begun), stable=model.stable)
    return Trained(committee, replace(results[0], notes=data_notes(begun.rows)), learned)


def probabilities(network: nn.Module, rows: ConceptTable) -> NDArray[np.float64]:
    """Return the probability of each class on each row."""
    return read(network, rows, "threshold" if rows.is_multilabel else "argmax").probability


def _factors(begun: Begun) -> NDArray[np.float64] | None:
    """Return the weight of each class."""
    weights = listed_class_weight(begun.model.class_weight, begun.classes)
    return None if weights is None or begun.is_multilabel else np.asarray(class_factors(weights, begun.rows))


@dataclass(frozen=True, eq=False)
class Draw:
    """One resample: how often each row was drawn, and the random seed of its network."""

    weight: NDArray[np.float64]
    seed: int


def resampled_formulas(
    model: EntropyClassifier,
    classes: NDArray[np.generic],
    table: ConceptTable,
    n_resamples: int,
    seed: int,
    choices: Sequence[Choice] = (),
    unit: NDArray[np.intp] | None = None,
) -> Iterator[tuple[DNF | Complement, ...]]:
    """Yield the formulas found on each of some resamples of the rows, drawn with replacement.

    A network is trained on each resample and teaches the search, with the price and share of `choices`. The rows of a
    `unit` are drawn together. The work runs in this process, or where a surrounding `joblib.parallel_config` sends it.
    """
    rng = np.random.default_rng(seed)
    draws = (Draw(_drawn(table, rng, unit), int(rng.integers(2**32))) for _ in range(n_resamples))
    n_jobs = max(1, joblib.effective_n_jobs(None))
    size = min(AT_A_TIME, math.ceil(n_resamples / n_jobs))
    # Workers need only the settings.
    settings = without_rows(model) if n_jobs > 1 else model
    parts = (list(islice(draws, size)) for _ in range(0, n_resamples, size))
    parallel = joblib.Parallel(return_as="generator")
    with Progress(n_resamples, "resamples") as progress:
        done = 0
        for formulas in parallel(
            joblib.delayed(drawn_formulas)(settings, classes, table, part, choices, unit) for part in parts
        ):
            done += len(formulas)
            progress.update(done)
            yield from formulas


def drawn_formulas(
    model: EntropyClassifier,
    classes: NDArray[np.generic],
    table: ConceptTable,
    draws: Sequence[Draw],
    choices: Sequence[Choice],
    unit: NDArray[np.intp] | None = None,
) -> list[tuple[DNF | Complement, ...]]:
    """Return the formulas of resamples whose networks are trained in one pass."""
    begun, tables, bounds = [], [], fitted_bounds(model)
    with collected_warnings():
        for draw in draws:
            drawn = table.weighing(draw.weight)
            strata = None if drawn.is_multilabel else np.asarray(drawn.labels)
            own = None if unit is None else unit[draw.weight > 0]
            held = set_apart(strata, drawn.weight, model.validation, own)
            rows, validation = drawn.weighing(drawn.weight - held), drawn.weighing(held) if held.any() else None
            begun.append(Begun(model, classes, rows, validation, draw.seed, bounds=bounds))
            tables.append(drawn)
        trained = train_all(begun)
        factors = [_factors(replace(one, rows=drawn)) for one, drawn in zip(begun, tables, strict=True)]
        return [
            _formulas(model, one, drawn, choices, own) for one, drawn, own in zip(trained, tables, factors, strict=True)
        ]


def _formulas(
    model: EntropyClassifier,
    trained: Trained,
    rows: ConceptTable,
    choices: Sequence[Choice],
    factors: NDArray[np.float64] | None,
) -> tuple[DNF | Complement, ...]:
    if not choices:
        return explain_all(trained.network, rows, method="paper").formulas
    taught = Taught(rows, rows.weight, rows.weight[:, None] * probabilities(trained.network, rows))
    table = SearchTable.of(taught, choices[0].names, factors, most=MOST_ROWS)
    far = FAR_ROWS if len(choices) > MANY_CLASSES else None
    config = replace(search_config(model, rows.class_names), bounds=fitted_bounds(model))
    cubes = [bag_cubes(choice, table, config, far) for choice in choices]
    return stated_formulas(choices, cubes, len(rows.class_names))


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


def _drawn(table: ConceptTable, rng: np.random.Generator, unit: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
    """Draw as many rows, or units, as there are, with replacement; a class that is not drawn keeps one row.

    Return the weights.
    """
    parcels = Parcels.of(None, table.weight, unit)
    size = parcels.size
    drawn = parcels.weights(rng.multinomial(int(size.sum()), size / size.sum()).astype(np.float64))
    for column in (table.targets() > 0).T:
        if column.any() and not drawn[column].any():
            row = rng.choice(np.flatnonzero(column))
            drawn[row] = table.weight[row] if parcels.is_whole[row] else 1
    return drawn
