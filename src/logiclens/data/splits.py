"""Folds with a validation part: stratified by class, or whole groups at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, StratifiedKFold, train_test_split

from logiclens.errors import LogicLensError


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the training part and of the validation part."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fold(Split):
    """A split with a test part that nothing is fitted or chosen on."""

    test: NDArray[np.intp]


def folds(
    labels: ArrayLike,
    n_folds: int = 5,
    *,
    seed: int = 42,
    validation: float = 0.2,
    groups: ArrayLike | None = None,
) -> Iterator[Fold]:
    """Shuffled folds, each with `validation` of its training part set aside.

    Stratified by class; with `groups`, rows of one group never stand on two sides. Rows with several labels are
    shuffled without strata.
    """
    y = np.asarray(labels)
    if not 2 <= n_folds <= len(y):
        raise LogicLensError(f"n_folds must be between 2 and the number of rows, {len(y)}; got {n_folds}.")
    group = _checked_groups(groups, len(y))
    if group is not None:
        # One group more than is tested at a time: of what is left, one part trains and one validates.
        least = max(n_folds, 3)
        if len(np.unique(group)) < least:
            raise LogicLensError(f"{n_folds} folds need at least {least} groups, got {len(np.unique(group))}.")
        splitter = GroupKFold(n_folds, shuffle=True, random_state=seed)
    elif y.ndim == 1 and np.unique(y, return_counts=True)[1].max() >= n_folds:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        splitter = KFold(n_folds, shuffle=True, random_state=seed)
    strata = y if y.ndim == 1 else np.zeros(len(y))
    with warnings.catch_warnings():
        # A class with fewer rows than folds is missing in some of them; the others stay stratified.
        warnings.filterwarnings("ignore", message="The least populated class")
        parts = list(splitter.split(np.zeros(len(y)), strata, group))
    for rest, test in parts:
        inner = split(y[rest], validation, seed=seed, groups=None if group is None else group[rest])
        yield Fold(rest[inner.train], rest[inner.validation], test)


def split(labels: ArrayLike, validation: float = 0.2, *, seed: int = 42, groups: ArrayLike | None = None) -> Split:
    """Set aside a validation part, stratified by class; a class with a single row stays in the training part."""
    y = np.asarray(labels)
    everything = np.arange(len(y))
    if not 0 < validation < 1:
        raise LogicLensError(f"the validation part must be a share between 0 and 1, got {validation}.")
    group = _checked_groups(groups, len(y))
    if group is not None:
        if len(np.unique(group)) < 2:
            raise LogicLensError("a validation part of whole groups needs at least two groups, got 1.")
        splitter = GroupShuffleSplit(1, test_size=validation, random_state=seed)
        train, held = next(splitter.split(everything, groups=group))
        return Split(np.sort(train), np.sort(held))
    single = np.zeros(len(y), dtype=np.bool_)
    if y.ndim == 1:
        _, code, size = np.unique(y, return_inverse=True, return_counts=True)
        single = size[code] < 2
    several = everything[~single]
    # However large the part, a row stays to train on.
    n_held = min(round(validation * len(several)), len(several) - 1)
    if n_held <= 0:
        return Split(everything, everything[:0])
    fits = y.ndim == 1 and len(np.unique(y[several])) <= min(n_held, len(several) - n_held)
    strata = y[several] if fits else None
    train, held = train_test_split(several, test_size=n_held, random_state=seed, stratify=strata)
    return Split(np.sort(np.concatenate([train, everything[single]])), np.sort(held))


def _checked_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[np.generic] | None:
    if groups is None:
        return None
    array = np.asarray(groups)
    if array.shape != (n_rows,):
        raise LogicLensError(f"groups must have one entry for each of the {n_rows} rows, got shape {array.shape}.")
    return array
