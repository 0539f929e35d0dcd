"""Splits of rows: folds, groups, and distinct rows in a canonical order that are held out."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, StratifiedKFold, train_test_split

from logiclens.errors import LogicLensError
from logiclens.formula.column_kinds import KINDS
from logiclens.tables.frames import Column


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


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows of the table as it was given: where each stands, of which distinct row it is a copy, and what it weighs."""

    places: NDArray[np.intp]
    rows: NDArray[np.intp]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows that differ, shuffled by a seed.

    Attributes:
        first: where each one first stands.
        weight: what all of its copies weigh.
        places: where each row that weighs something stands.
        copy_of: of which distinct row it is a copy.
        each: what it weighs itself.
    """

    first: NDArray[np.intp]
    weight: NDArray[np.float64]
    places: NDArray[np.intp]
    copy_of: NDArray[np.intp]
    each: NDArray[np.float64]

    def __len__(self) -> int:
        """The number of distinct rows."""
        return len(self.first)

    def copies(self, part: NDArray[np.float64]) -> Copies:
        """Which copies make up a part, given by how much of each distinct row is in it: the last ones."""
        order = np.lexsort((-self.places, self.copy_of))
        group, each = self.copy_of[order], self.each[order]
        begins = np.searchsorted(group, np.arange(len(self)))
        before = np.cumsum(each) - each
        amount = np.clip(part[group] - (before - before[begins][group]), 0, each)
        # Sums of weights that are no whole numbers are not exact.
        taken = amount > 1e-9 * each
        kept = order[taken]
        # Among the distinct rows that have something in the part.
        place = np.cumsum(part > 0) - 1
        return Copies(self.places[kept], place[self.copy_of[kept]], amount[taken])


def distinct_rows(
    columns: Sequence[Column], classes: NDArray[np.intp], weight: NDArray[np.float64], *, seed: int
) -> DistinctRows:
    """The distinct rows that weigh something; rows with other classes `[rows, tasks]` differ."""
    weighs = np.flatnonzero(weight > 0)
    hashes = row_hashes([column.take(weighs) for column in columns], *classes[weighs].T, seed=seed)
    _, first, copy = np.unique(hashes, return_index=True, return_inverse=True)
    total = np.bincount(copy, weight[weighs]).astype(np.float64)
    return DistinctRows(weighs[first], total, weighs, copy, weight[weighs])


def set_apart(classes: NDArray[np.intp] | None, weight: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """How much of each row goes to a part of about this share of every class; `weight` minus this is the rest.

    Weights that are whole numbers count copies, which can stand on both sides. Other weights say how important a row
    is: it stays whole. A class keeps at least one copy in the rest.

    >>> set_apart(np.array([0, 0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 5.0, 1.0]), 0.25).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """
    if not 0 <= share < 1:
        raise LogicLensError(f"a part must be a share from 0 to below 1, got {share}.")
    counts = (weight == np.round(weight)).all()
    units = weight if counts else (weight > 0).astype(np.float64)
    taken = np.zeros(len(weight))
    classes = np.zeros(len(weight), dtype=np.intp) if classes is None else classes
    for klass in np.unique(classes):
        rows = np.flatnonzero(classes == klass)
        end = np.cumsum(units[rows])
        n_taken = min(round(share * end[-1]), round(end[-1]) - 1)
        if n_taken > 0:
            # Evenly spaced copies of the shuffled rows: how many of the points (i + 0.5) * total / n lie below an end.
            below = np.ceil(end * n_taken / end[-1] - 0.5).astype(np.int64)
            taken[rows] = np.diff(below, prepend=0)
    return taken if counts else taken * weight


def split_groups(classes: NDArray[np.intp] | None, weight: NDArray[np.float64], n_groups: int) -> NDArray[np.float64]:
    """How much of each row goes to each of some groups of about one size, class by class: `[groups, rows]`.

    Weights that are whole numbers count copies, which may go to several groups; a row with another weight stays whole.

    >>> split_groups(np.array([0, 0, 1]), np.array([1.0, 3.0, 1.0]), 2).tolist()
    [[1.0, 1.0, 1.0], [0.0, 2.0, 0.0]]
    """
    counts = bool((weight == np.round(weight)).all())
    units = weight if counts else (weight > 0).astype(np.float64)
    classes = np.zeros(len(weight), dtype=np.intp) if classes is None else classes
    order = np.argsort(classes, kind="stable")
    end = np.cumsum(units[order])
    begin = end - units[order]
    groups = np.zeros((n_groups, len(weight)))
    for group in range(n_groups):
        # Copies are numbered from 0 on; every n-th one belongs to a group.
        groups[group, order] = np.floor((end - 1 - group) / n_groups) - np.floor((begin - 1 - group) / n_groups)
    return groups if counts else groups * weight


def row_hashes(columns: Sequence[Column], *more: NDArray[Any], seed: int = 0) -> NDArray[np.uint64]:
    """A number for each row that depends on its values alone: equal rows, and in practice only these, have equal ones.

    In its order rows are shuffled, by the seed, in a way that does not depend on how they came.
    """
    n_rows = len(columns[0]) if columns else len(more[0])
    mixed = np.full(n_rows, seed, dtype=np.uint64)
    parts = [_as_bits(column) for column in columns]
    parts += [np.ascontiguousarray(part).astype(np.int64).view(np.uint64) for part in more]
    for place, part in enumerate(parts):
        # Which column a value stands in matters too.
        step = np.uint64((place + 1) * 0x9E3779B97F4A7C15 % 2**64)
        mixed = _mix(mixed ^ _mix(part + step))
    return mixed


def _as_bits(column: Column) -> NDArray[np.uint64]:
    if KINDS[column.kind].is_nominal:
        # By the text and not by its place: which other texts there are must not matter.
        known = [hashlib.blake2b(repr(c).encode(), digest_size=8).digest() for c in column.categories]
        digest = np.frombuffer(b"".join([*known, bytes(8)]), dtype=np.uint64)
        return np.asarray(digest[column.values])
    return KINDS[column.kind].bits(column.values)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
