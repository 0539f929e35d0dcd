"""From tables of concepts to a trained network, as the settings of a classifier say; also on rows drawn again."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import joblib
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from logiclens.data.concepts import ConceptTable
from logiclens.data.parts import set_apart
from logiclens.errors import LogicLensWarning
from logiclens.estimators.inputs import listed_class_weight
from logiclens.estimators.prepare import weighed_by_class
from logiclens.estimators.settings import exact_config, limits_of
from logiclens.explain.classwise import explain_all
from logiclens.explain.exact import ExactNetwork, make_exact
from logiclens.formula.dnf import DNF, written
from logiclens.nn.networks import EntropyNet
from logiclens.train.batched import fit_many
from logiclens.train.config import TrainConfig
from logiclens.train.history import TrainResult
from logiclens.train.loop import fit
from logiclens.train.progress import Progress
from logiclens.train.stacked import stackable

if TYPE_CHECKING:
    from logiclens.estimators.classifier import EntropyClassifier


LARGE = 10_000
"""With more distinct rows a network is trained on mini-batches."""
BATCH = 2_048
"""Rows of a mini-batch."""
AT_A_TIME = 20
"""Resamples whose networks are trained in one pass."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A network, how it was trained and, where it was asked for, what it became when it was made exact."""

    network: EntropyNet
    result: TrainResult
    exact: ExactNetwork | None


@dataclass(frozen=True, eq=False)
class Begun:
    """What one network is to be trained on, for a classifier with its settings."""

    model: EntropyClassifier
    classes: NDArray[np.generic]
    rows: ConceptTable
    validation: ConceptTable | None
    seed: int

    def config(self, progress: bool | None) -> TrainConfig:
        """How to train it."""
        model, rows = self.model, self.rows
        n_rows = len(rows.distinct[0]) if rows.is_boolean else len(rows)
        is_large = n_rows > LARGE
        return TrainConfig(
            # A large table teaches as much in fewer passes: about as many rows go through as for one of LARGE.
            epochs=max(2, math.ceil(model.epochs * LARGE / n_rows)) if is_large else model.epochs,
            batch_size=BATCH if is_large else None,
            learning_rate=model.learning_rate,
            penalty_weight=model.penalty_weight,
            class_weight=listed_class_weight(model.class_weight, self.classes),
            progress=progress,
        )


def train_all(begun: Sequence[Begun], *, progress: bool | None = None) -> list[Trained]:
    """Train a fresh network for each, those that can be in one pass; each comes out as if trained alone."""
    generators = [torch.Generator().manual_seed(one.seed) for one in begun]
    networks = [_fresh(one, generator) for one, generator in zip(begun, generators, strict=True)]
    configs = [one.config(progress) for one in begun]
    together = [i for i, config in enumerate(configs) if config.batch_size is None and stackable(networks[i])]
    results: dict[int, TrainResult] = {}
    found = fit_many(
        [networks[i] for i in together],
        [begun[i].rows for i in together],
        [configs[i] for i in together],
        validation=[begun[i].validation for i in together],
    )
    results.update(zip(together, found, strict=True))
    for i in set(range(len(begun))).difference(together):
        results[i] = fit(networks[i], begun[i].rows, configs[i], generators[i], validation=begun[i].validation)
    return [_settled(one, network, results[i]) for i, (one, network) in enumerate(zip(begun, networks, strict=True))]


def _fresh(begun: Begun, generator: torch.Generator) -> EntropyNet:
    model = begun.model
    return EntropyNet(
        begun.rows.n_concepts,
        len(begun.rows.class_names),
        model.hidden,
        model.shared_tail,
        temperature=model.temperature,
        generator=generator,
    )


def _settled(begun: Begun, network: EntropyNet, result: TrainResult) -> Trained:
    """The trained network, made exact where that was asked for."""
    if not begun.model.exact:
        # Single rows and whole tables then agree to the last digit that is printed.
        return Trained(network.double(), result, None)
    factors = listed_class_weight(begun.model.class_weight, begun.classes)
    weighed = weighed_by_class(begun.rows, factors)
    held = None if begun.validation is None else weighed_by_class(begun.validation, factors)
    return Trained(network, result, make_exact(network, weighed, held, exact_config(begun.model, begun.seed)))


@dataclass(frozen=True, eq=False)
class Draw:
    """One resample: how often each row was drawn, and the seed of its network."""

    weight: NDArray[np.float64]
    seed: int


def resampled_formulas(
    model: EntropyClassifier, classes: NDArray[np.generic], table: ConceptTable, n_resamples: int, seed: int
) -> Iterator[tuple[DNF, ...]]:
    """The formulas of the same model trained on rows drawn again with replacement, as often as asked for.

    In this process or, inside a `joblib.parallel_config`, wherever that sends them.
    """
    rng = np.random.default_rng(seed)
    draws = (Draw(_drawn(table, rng), int(rng.integers(2**32))) for _ in range(n_resamples))
    n_jobs = max(1, joblib.effective_n_jobs(None))
    size = min(AT_A_TIME, math.ceil(n_resamples / n_jobs))
    # What was fitted is not needed there.
    settings = clone(model) if n_jobs > 1 else model
    parts = (list(islice(draws, size)) for _ in range(0, n_resamples, size))
    parallel = joblib.Parallel(return_as="generator")
    with Progress(n_resamples, "resamples") as progress:
        done = 0
        for formulas in parallel(joblib.delayed(drawn_formulas)(settings, classes, table, part) for part in parts):
            done += len(formulas)
            progress.update(done)
            yield from formulas


def drawn_formulas(
    model: EntropyClassifier, classes: NDArray[np.generic], table: ConceptTable, draws: Sequence[Draw]
) -> list[tuple[DNF, ...]]:
    """The formulas of resamples whose networks are trained in one pass."""
    begun, tables = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        for draw in draws:
            drawn = table.weighing(draw.weight)
            strata = None if drawn.is_multilabel else np.asarray(drawn.labels)
            held = set_apart(strata, drawn.weight, model.validation)
            rows, validation = drawn.weighing(drawn.weight - held), drawn.weighing(held) if held.any() else None
            begun.append(Begun(model, classes, rows, validation, draw.seed))
            tables.append(drawn)
        trained = train_all(begun, progress=False)
        return [_formulas(model, one, drawn) for one, drawn in zip(trained, tables, strict=True)]


def concept_frequencies(
    model: EntropyClassifier, classes: NDArray[np.generic], table: ConceptTable, n_resamples: int, seed: int
) -> dict[str, float]:
    """The share of resamples in which the formula of any class uses each concept that is used at all."""
    used: Counter[str] = Counter()
    for formulas in resampled_formulas(model, classes, table, n_resamples, seed):
        used.update({concept for formula in formulas for concept in formula.concepts})
    return {concept: n / n_resamples for concept, n in used.items()}


def _formulas(model: EntropyClassifier, trained: Trained, rows: ConceptTable) -> tuple[DNF, ...]:
    if trained.exact is not None:
        return tuple(head.formula for head in trained.exact.heads)
    explanation = explain_all(
        trained.network, rows, method=model.method, score_against=model.score_against, limits=limits_of(model)
    )
    return tuple(map(written, explanation.formulas))


def _drawn(table: ConceptTable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Weights of as many rows as there are, drawn with replacement; a class that is not drawn keeps one of its rows."""
    weight = table.weight
    whole = (weight == np.round(weight)).all()
    if whole:
        drawn = rng.multinomial(int(weight.sum()), weight / weight.sum()).astype(np.float64)
    else:
        # What a row weighs is not how often it is there.
        drawn = weight * rng.multinomial(len(weight), np.full(len(weight), 1 / len(weight)))
    for column in (table.targets() > 0).T:
        if column.any() and not drawn[column].any():
            kept = rng.choice(np.flatnonzero(column))
            drawn[kept] = 1 if whole else weight[kept]
    return drawn
