"""What the settings of an `EntropyClassifier` mean, checked when it is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from logiclens.data.booleanise import HOW, Booleaniser
from logiclens.errors import LogicLensError
from logiclens.explain.exact import ExactConfig
from logiclens.explain.selection import Limits

if TYPE_CHECKING:
    from logiclens.estimators.classifier import EntropyClassifier


def check_settings(model: EntropyClassifier) -> None:
    """Refuse settings that no rows can mend."""
    known = model.booleanise is None or isinstance(model.booleanise, Booleaniser | Mapping)
    if not known and not (isinstance(model.booleanise, str) and model.booleanise in HOW):
        raise LogicLensError(
            f"booleanise must be one of {', '.join(HOW)}, a dictionary of cuts, a logiclens.Booleaniser, or None (the "
            f"columns are concepts in [0, 1]), got {model.booleanise!r}."
        )
    for name in ("validation", "set_aside"):
        share = getattr(model, name)
        if not isinstance(share, Real) or not 0 <= float(share) < 1:
            raise LogicLensError(f"{name} must be a share from 0 to below 1, got {share!r}.")
    if model.cuts_on not in ("train", "all"):
        raise LogicLensError(f"cuts_on must be 'train' or 'all', got {model.cuts_on!r}.")
    if not isinstance(model.max_distinct, Integral) or isinstance(model.max_distinct, bool) or model.max_distinct < 2:
        raise LogicLensError(f"max_distinct must be a whole number from 2 on, got {model.max_distinct!r}.")
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


def booleaniser_of(model: EntropyClassifier) -> Booleaniser | None:
    """What cuts raw columns, not yet fitted; None where the columns are concepts."""
    if model.booleanise is None:
        return None
    return clone(model.booleanise) if isinstance(model.booleanise, Booleaniser) else Booleaniser(model.booleanise)


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
