"""What the settings of an `EntropyClassifier` mean, checked when it is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from logiclens.concepts.booleaniser import HOW, Booleaniser
from logiclens.errors import LogicLensError
from logiclens.explain.length import SHARES, SearchConfig

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
    if model.method not in ("search", "paper"):
        raise LogicLensError(f"method must be 'search' or 'paper', got {model.method!r}.")
    if model.score_against not in (None, "network", "labels"):
        raise LogicLensError(
            f"score_against must be 'network', 'labels', or None to let cross-validation choose, got "
            f"{model.score_against!r}."
        )
    if model.resolve not in ("order", "confidence", "none"):
        raise LogicLensError(f"resolve must be 'order', 'confidence' or 'none', got {model.resolve!r}.")
    for name in ("exact", "stable"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise LogicLensError(f"{name} must be True or False, got {getattr(model, name)!r}.")
    if model.method == "paper" and (model.exact or model.stable or model.teacher is not None):
        raise LogicLensError("exact, stable and teacher need method='search': the paper's extraction has none of them.")
    if model.teacher is not None and model.score_against is not None:
        raise LogicLensError("rules that explain a teacher match its answers: leave out score_against.")
    _check_committee(model)
    search_config(model)


def _check_committee(model: EntropyClassifier) -> None:
    size = model.committee
    if size is None:
        return
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
        raise LogicLensError(f"committee must be a number of networks from 1 on, or None, got {size!r}.")
    if size not in (1, 2) and not any(n * (n - 1) // 2 == size for n in range(3, int(size) + 2)):
        raise LogicLensError(f"committee must be 1, 2, 3, 6, 10, 15 …, one for each pair of groups, got {size}.")
    if size in (1, 2) and (model.score_against == "network" or model.stable) and model.method != "paper":
        raise LogicLensError(f"stable and score_against='network' need bags: leave out committee={size}.")
    if model.method == "paper" and size != 1:
        raise LogicLensError(f"method='paper' explains one network: leave out committee={size}.")


def committee_of(model: EntropyClassifier) -> int | None:
    """The size of the committee that rows are split in groups for: None is the default, 0 is none."""
    return 0 if model.method == "paper" else model.committee


def booleaniser_of(model: EntropyClassifier) -> Booleaniser | None:
    """What cuts raw columns, not yet fitted; None where the columns are concepts."""
    if model.booleanise is None:
        return None
    return clone(model.booleanise) if isinstance(model.booleanise, Booleaniser) else Booleaniser(model.booleanise)


def search_config(model: EntropyClassifier) -> SearchConfig:
    """What is asked of formulas, checked."""
    shares = {None: SHARES, "network": (1.0,), "labels": (0.0,)}[model.score_against]
    return SearchConfig(model.max_literals, model.max_cubes, model.price, model.min_support, shares)
