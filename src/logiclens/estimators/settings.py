"""What the settings of an `EntropyClassifier` mean, checked when it is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from logiclens.data.booleanise import Booleaniser
from logiclens.errors import LogicLensError
from logiclens.explain.exact import ExactConfig
from logiclens.explain.selection import Limits

if TYPE_CHECKING:
    from logiclens.estimators.classifier import EntropyClassifier


def check_settings(model: EntropyClassifier) -> None:
    """Refuse settings that no rows can mend."""
    if model.booleanise is not None and not isinstance(model.booleanise, Booleaniser):
        raise LogicLensError(
            "booleanise must be None (the columns are concepts in [0, 1]) or a logiclens.Booleaniser, "
            f"got {model.booleanise!r}."
        )
    if model.method not in ("minimal", "paper"):
        raise LogicLensError(f"method must be 'minimal' or 'paper', got {model.method!r}.")
    if model.score_against not in ("network", "labels"):
        raise LogicLensError(f"score_against must be 'network' or 'labels', got {model.score_against!r}.")
    if model.resolve not in ("confidence", "none"):
        raise LogicLensError(f"resolve must be 'confidence' or 'none', got {model.resolve!r}.")
    if not isinstance(model.exact, bool | np.bool_):
        raise LogicLensError(f"exact must be True or False, got {model.exact!r}.")
    if model.exact:
        exact_config(model, seed=0)
    limits_of(model)


def limits_of(model: EntropyClassifier) -> Limits:
    """The limits of a class formula; without a number of literals, the default of the mode."""
    default = ExactConfig.max_literals if model.exact else Limits.max_literals
    return Limits(model.max_cubes, default if model.max_literals is None else model.max_literals, model.price)


def exact_config(model: EntropyClassifier, seed: int) -> ExactConfig:
    """How the network is made exact."""
    return ExactConfig(
        model.max_concepts,
        ExactConfig.max_literals if model.max_literals is None else model.max_literals,
        model.max_cubes,
        model.price,
        # Fine-tuning after each step of pruning need not take longer than the training before it.
        epochs=min(model.epochs, ExactConfig.epochs),
        penalty_weight=model.penalty_weight,
        learning_rate=model.learning_rate,
        score_against=model.score_against,
        seed=seed,
    )
