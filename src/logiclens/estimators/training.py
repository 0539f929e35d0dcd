"""From tables of concepts to a trained network, as the settings of a classifier say; also on rows drawn again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.data.parts import set_apart
from logiclens.errors import LogicLensWarning
from logiclens.estimators.inputs import listed_class_weight
from logiclens.estimators.prepare import weighed_by_class
from logiclens.estimators.settings import exact_config, limits_of
from logiclens.explain.classwise import explain_all
from logiclens.explain.exact import ExactNetwork, make_exact
from logiclens.formula.dnf import DNF
from logiclens.nn.networks import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.history import TrainResult
from logiclens.train.loop import fit
from logiclens.train.progress import Progress

if TYPE_CHECKING:
    from logiclens.estimators.classifier import EntropyClassifier


LARGE = 10_000
"""With more distinct rows a network is trained on mini-batches."""
BATCH = 2_048
"""Rows of a mini-batch."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A network, how it was trained and, where it was asked for, what it became when it was made exact."""

    network: EntropyNet
    result: TrainResult
    exact: ExactNetwork | None


def train(
    model: EntropyClassifier,
    classes: NDArray[np.generic],
    rows: ConceptTable,
    validation: ConceptTable | None,
    seed: int,
    *,
    progress: bool | None = None,
) -> Trained:
    """Train a fresh network."""
    generator = torch.Generator().manual_seed(seed)
    network = EntropyNet(
        rows.n_concepts,
        len(rows.class_names),
        model.hidden,
        model.shared_tail,
        temperature=model.temperature,
        generator=generator,
    )
    n_rows = len(rows.counted()) if rows.is_boolean else len(rows)
    is_large = n_rows > LARGE
    config = TrainConfig(
        # A large table teaches as much in fewer passes: about as many rows go through the network as for one of LARGE.
        epochs=max(2, math.ceil(model.epochs * LARGE / n_rows)) if is_large else model.epochs,
        batch_size=BATCH if is_large else None,
        learning_rate=model.learning_rate,
        penalty_weight=model.penalty_weight,
        class_weight=listed_class_weight(model.class_weight, classes),
        progress=progress,
    )
    result = fit(network, rows, config, generator, validation=validation)
    if not model.exact:
        # Single rows and whole tables then agree to the last digit that is printed.
        return Trained(network.double(), result, None)
    weighed = weighed_by_class(rows, config.class_weight)
    held = None if validation is None else weighed_by_class(validation, config.class_weight)
    return Trained(network, result, make_exact(network, weighed, held, exact_config(model, seed)))


def resampled_formulas(
    model: EntropyClassifier, classes: NDArray[np.generic], table: ConceptTable, n_resamples: int, seed: int
) -> Iterator[tuple[DNF, ...]]:
    """The formulas of the same model trained on rows drawn again with replacement, as often as asked for."""
    rng = np.random.default_rng(seed)
    with Progress(n_resamples, "resamples") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        for resample in range(n_resamples):
            drawn = _drawn(table, rng)
            strata = None if drawn.is_multilabel else np.asarray(drawn.labels)
            held = set_apart(strata, drawn.weight, model.validation)
            trained = train(
                model,
                classes,
                drawn.weighing(drawn.weight - held),
                drawn.weighing(held) if held.any() else None,
                int(rng.integers(2**32)),
                progress=False,
            )
            if trained.exact is not None:
                yield tuple(head.formula for head in trained.exact.heads)
            else:
                yield explain_all(
                    trained.network,
                    drawn,
                    method=model.method,
                    score_against=model.score_against,
                    limits=limits_of(model),
                ).formulas
            progress.update(resample + 1)


def _drawn(table: ConceptTable, rng: np.random.Generator) -> ConceptTable:
    """As many rows as there are, drawn with replacement; a class that is not drawn keeps one of its rows."""
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
    return table.weighing(drawn)
