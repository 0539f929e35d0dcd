"""Splits of rows: cross-validation folds, held-out rows, groups, and distinct rows in a canonical order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    train_test_split,
)

from logiclens.constraints import is_finite, is_whole, optional, whole_number
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import KINDS
from logiclens.formula.packed_rows import as_array
from logiclens.tables.frames import Column, label_array

SEED = optional(whole_number(0, 2**32 - 1))
"""What a random seed may be."""


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the training part and of the validation part."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fold(Split):
    """A split with a test part, which is used neither for training nor for model selection."""

    test: NDArray[np.intp]


def folds(
    labels: ArrayLike,
    n_folds: int = 5,
    *,
    seed: int = 42,
    validation: float = 0.2,
    groups: ArrayLike | None = None,
) -> Iterator[Fold]:
    """Yield shuffled folds; the share `validation` of each training part is held out.

    Folds are stratified by class. With `groups`, all rows of a group are on the same side. Rows with several labels are
    shuffled without stratification.
    """
    y = label_array(labels)
    if not is_whole(n_folds) or not 2 <= n_folds <= len(y):
        raise LogicLensError(f"n_folds must be between 2 and the number of rows, {len(y)}; got {quoted(n_folds)}.")
    SEED.check("seed", seed)
    group = _checked_groups(groups, len(y))
    if group is not None:
        # Beside the tested groups at least two are needed: one to train on and one to validate on.
        least = max(n_folds, 3)
        if len(np.unique(group)) < least:
            raise LogicLensError(f"{n_folds} folds need at least {least} groups, got {len(np.unique(group))}.")
        splitter = GroupKFold(n_folds, shuffle=True, random_state=seed)
    elif y.ndim == 1 and (sizes := np.unique(y, return_counts=True)[1]).max() >= n_folds:
        # A class with fewer rows than folds is missing in some folds, of which scikit-learn would warn.
        rare = sizes.min() < n_folds
        splitter = _dealt(y, n_folds, seed) if rare else StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        splitter = KFold(n_folds, shuffle=True, random_state=seed)
    strata = y if y.ndim == 1 else np.zeros(len(y))
    for rest, test in splitter.split(np.zeros(len(y)), strata, group):
        inner = split(y[rest], validation, seed=seed, groups=None if group is None else group[rest])
        yield Fold(rest[inner.train], rest[inner.validation], test)


def _dealt(labels: NDArray[Any], n_folds: int, seed: int) -> PredefinedSplit:
    """Return folds that shuffled rows are dealt out to in turn, class by class."""
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), dtype=np.intp)
    fold[order] = np.arange(len(labels)) % n_folds
    return PredefinedSplit(fold)


def split(labels: ArrayLike, validation: float = 0.2, *, seed: int = 42, groups: ArrayLike | None = None) -> Split:
    """Hold out a validation part, stratified by class; a class with a single row stays in the training part."""
    y = label_array(labels)
    everything = np.arange(len(y))
    if not is_finite(validation) or not 0 < validation < 1:
        raise LogicLensError(f"the validation part must be a share between 0 and 1, got {quoted(validation)}.")
    SEED.check("seed", seed)
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
    # At least one row stays in the training part.
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
    array = as_array(groups)
    if array.shape != (n_rows,):
        raise LogicLensError(f"groups must have one entry for each of the {n_rows} rows, got shape {array.shape}.")
    return array


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows of the original table: their places, the distinct row that each is a copy of, and their weights."""

    places: NDArray[np.intp]
    rows: NDArray[np.intp]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows, shuffled by a seed.

    Attributes:
        first: the place of the first copy of each distinct row.
        weight: the total weight of its copies.
        places: the places of all original rows with a weight above 0.
        copy_of: for each of these, the index of its distinct row.
        each: for each of these, its own weight.
        unit: the unit that each distinct row belongs to. A split puts all rows of a unit on one side. −1: its copies
            are separate observations, which may be on both sides.
        n_divided: how many rows are copies of rows in other groups, if the groups divide copies.
    """

    first: NDArray[np.intp]
    weight: NDArray[np.float64]
    places: NDArray[np.intp]
    copy_of: NDArray[np.intp]
    each: NDArray[np.float64]
    unit: NDArray[np.intp]
    n_divided: int = 0

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return len(self.first)

    @property
    def n_copies(self) -> int:
        """How many rows are copies of others and stay on their side of a split."""
        return int((np.bincount(self.copy_of) - 1)[self.unit >= 0].sum())

    def worth(self, part: NDArray[np.float64]) -> float:
        """Return how many independent rows (Kish) a row of a part is worth, given the weight of each distinct row.

        Copies that stay together are one observation: three copies of every row are worth a third each. Weights that
        are not counts are scaled by `counting_weight` instead.
        """
        if not part.any() or not _are_counts(self.weight):
            return 1.0
        return float(part.sum() / (part * np.where(self.unit >= 0, part, 1.0)).sum())

    def copies(self, part: NDArray[np.float64]) -> Copies:
        """Return the copies that make up a part with this weight of each distinct row: the last ones."""
        order = np.lexsort((-self.places, self.copy_of))
        group, each = self.copy_of[order], self.each[order]
        begins = np.searchsorted(group, np.arange(len(self)))
        before = np.cumsum(each) - each
        amount = np.clip(part[group] - (before - before[begins][group]), 0, each)
        # Sums of fractional weights are not exact.
        taken = amount > 1e-9 * each
        kept = order[taken]
        # Indices among the distinct rows that contribute to the part.
        place = np.cumsum(part > 0) - 1
        return Copies(self.places[kept], place[self.copy_of[kept]], amount[taken])


CHANCE = 100
"""Rows are copies if their columns have more than this many times as many combinations of values as there are rows."""


def distinct_rows(
    columns: Sequence[Column],
    classes: NDArray[np.intp],
    weight: NDArray[np.float64],
    *,
    seed: int,
    strata: NDArray[np.intp] | None = None,
    groups: NDArray[np.intp] | None = None,
) -> DistinctRows:
    """Return the distinct rows of positive weight, in units that a split must not divide.

    A unit is a row with its copies, if chance cannot explain these, or a group, with all groups that hold copies of its
    rows. The numbers of the groups do not matter. A class whose rows are all equal has no units, because it could not
    be on two sides.

    Args:
        columns: the columns; their order matters.
        classes: class numbers `[rows, tasks]`; rows with different ones are distinct.
        weight: what each row counts for.
        seed: the seed of the shuffling.
        strata: the class of each row, by which splits are stratified. Default: None, no class.
        groups: the number of the group of each row; rows of different groups are distinct. Default: None.
    """
    weighs = np.flatnonzero(weight > 0)
    own = [column.take(weighs) for column in columns]
    hashes = row_hashes(own, *classes[weighs].T, seed=seed)
    _, first, content = np.unique(hashes, return_index=True, return_inverse=True)
    total = np.bincount(content, weight[weighs]).astype(np.float64)
    are_copies = _are_copies([column.take(first) for column in own], total)
    if groups is None:
        unit = np.arange(len(first)) if are_copies else np.full(len(first), -1)
        if strata is not None:
            klass = strata[weighs[first]]
            unit[np.bincount(klass)[klass] == 1] = -1
        return DistinctRows(weighs[first], total, weighs, content, weight[weighs], unit)
    joined = _joined(groups[weighs], content) if are_copies else groups[weighs]
    # Where copies hold most groups together, the groups bind alone: nothing else could be split.
    divides = are_copies and np.bincount(joined).max() > len(weighs) / 2
    group = _ranked(groups[weighs] if divides else joined, hashes, weight[weighs])
    _, first, copy = np.unique(content * (group.max(initial=0) + 1) + group, return_index=True, return_inverse=True)
    total = np.bincount(copy, weight[weighs]).astype(np.float64)
    n_divided = int((np.bincount(content[first])[content] > 1).sum()) if divides else 0
    return DistinctRows(weighs[first], total, weighs, copy, weight[weighs], group[first], n_divided)


def _joined(groups: NDArray[np.intp], content: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the groups, those that hold copies of one row under one number."""
    _, group = np.unique(groups, return_inverse=True)
    n_groups = group.max(initial=0) + 1
    n_nodes = n_groups + content.max(initial=0) + 1
    links = coo_array((np.ones(len(group)), (group, n_groups + content)), shape=(n_nodes, n_nodes))
    _, part = connected_components(links, directed=False)
    return np.asarray(part[group])


def _are_counts(weight: NDArray[np.float64]) -> bool:
    return bool((weight == np.round(weight)).all())


def _are_copies(columns: Sequence[Column], weight: NDArray[np.float64]) -> bool:
    """Return whether chance cannot explain equal rows, given the distinct ones and their weights."""
    n_rows = weight.sum() if _are_counts(weight) else len(weight)
    combinations = sum(np.log(len(np.unique(_as_bits(column)))) for column in columns)
    return bool(combinations > np.log(CHANCE * n_rows))


def _ranked(groups: NDArray[np.intp], hashes: NDArray[np.uint64], weight: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the groups under numbers that depend on what they hold only; those that hold the same are in any order."""
    _, group = np.unique(groups, return_inverse=True)
    known, content = np.unique(hashes, return_inverse=True)
    pairs, place = np.unique(group * len(known) + content, return_inverse=True)
    total = np.bincount(place, weight).astype(np.int64) if _are_counts(weight) else np.zeros(len(pairs), np.int64)
    held = np.zeros(group.max(initial=0) + 1, dtype=np.uint64)
    np.add.at(held, pairs // len(known), _mix(known[pairs % len(known)] ^ total.view(np.uint64)))
    rank = np.empty(len(held), dtype=np.intp)
    rank[np.argsort(held, kind="stable")] = np.arange(len(held))
    return rank[group]


@dataclass(frozen=True, eq=False)
class Parcels:
    """What a split deals out: units, which are whole, and rows of no unit, whose copies it may divide.

    Attributes:
        of_row: the parcel of each row.
        size: how many each parcel counts for: 1 if it is whole, or its number of copies.
        klass: the class of each parcel; of a unit with rows of several classes, the rarest of these.
        is_whole: whether each row is in a whole parcel.
        weight: the weight of each row.
    """

    of_row: NDArray[np.intp]
    size: NDArray[np.float64]
    klass: NDArray[np.intp]
    is_whole: NDArray[np.bool_]
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls, classes: NDArray[np.intp] | None, weight: NDArray[np.float64], unit: NDArray[np.intp] | None = None
    ) -> Parcels:
        """Return the parcels of rows. Without units, or for −1, rows with weights that are not counts are whole."""
        n_rows = len(weight)
        unit = np.full(n_rows, -1) if unit is None else unit
        classes = np.zeros(n_rows, dtype=np.intp) if classes is None else classes
        key = np.where(unit >= 0, unit, unit.max(initial=0) + 1 + np.arange(n_rows))
        _, of_row = np.unique(key, return_inverse=True)
        is_whole = (unit >= 0) | (not _are_counts(weight))
        size = np.zeros(of_row.max(initial=-1) + 1)
        np.maximum.at(size, of_row, np.where(is_whole, weight > 0, weight))
        frequency = np.bincount(classes, weight)
        rank = np.empty(len(frequency), dtype=np.intp)
        order = np.argsort(-frequency, kind="stable")
        rank[order] = np.arange(len(frequency))
        rarest = np.zeros(len(size), dtype=np.intp)
        np.maximum.at(rarest, of_row[weight > 0], rank[classes[weight > 0]])
        return cls(of_row, size, order[rarest] if n_rows else rarest, is_whole, weight)

    def weights(self, taken: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of each row, given how many of each parcel are taken."""
        amount = taken[..., self.of_row]
        return np.where(self.is_whole, amount * self.weight, amount)

    def count(self, rows: NDArray[np.bool_]) -> float:
        """Return how many parcels hold some of these rows; the copies that may be divided are counted one by one."""
        return float(self.size[np.unique(self.of_row[rows])].sum())


def set_apart(
    classes: NDArray[np.intp] | None,
    weight: NDArray[np.float64],
    share: float,
    unit: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return the weight of each row in a part with about this share of every class; the remaining weight is the rest.

    Units are counted, whatever they weigh, and are not divided (see `DistinctRows.unit`). Of other rows whole-number
    weights count copies, which can be on both sides; with fractional weights a row is not divided. Each class keeps at
    least one unit, or one copy, in the rest.

    >>> set_apart(np.array([0, 0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 5.0, 1.0]), 0.25).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    >>> set_apart(None, np.array([1.0, 1.0, 1.0, 5.0]), 0.25, np.array([0, 0, 1, 2])).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    if not 0 <= share < 1:
        raise LogicLensError(f"a part must be a share from 0 to below 1, got {share}.")
    parcels = Parcels.of(classes, weight, unit)
    taken = np.zeros(len(parcels.size))
    for klass in np.unique(parcels.klass):
        own = np.flatnonzero(parcels.klass == klass)
        end = np.cumsum(parcels.size[own])
        n_taken = min(round(share * end[-1]), round(end[-1]) - 1)
        if n_taken > 0:
            # Take evenly spaced copies of the shuffled rows: count the points (i + 0.5) * total / n below each end.
            below = np.ceil(end * n_taken / end[-1] - 0.5).astype(np.int64)
            taken[own] = np.diff(below, prepend=0)
    return parcels.weights(taken)


@dataclass(frozen=True)
class LatestRows:
    """The weight of each row among the latest ones, and the first moment of these.

    Attributes:
        aside: the weight of each row among the latest.
        start: the smallest value of the latest rows.
        n_missing: the weight of the rows without a time, which are not among them.
    """

    aside: NDArray[np.float64]
    start: float
    n_missing: float


def latest_rows(
    times: NDArray[np.float64],
    weight: NDArray[np.float64],
    share: float,
    unit: NDArray[np.intp] | None = None,
) -> LatestRows:
    """Set the latest rows apart, about a share of them; rows of the same time stay together.

    A unit is as late as its latest row, so that all rows that are not set apart are earlier than `start`.

    >>> latest_rows(np.array([1.0, 2.0, 3.0, 3.0, np.nan]), np.ones(5), 0.25).aside.tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """
    if unit is not None and (unit >= 0).any():
        latest = np.full(unit.max() + 1, np.nan)
        np.fmax.at(latest, unit[unit >= 0], times[unit >= 0])
        times = np.where(unit >= 0, latest[unit], times)
    known = ~np.isnan(times)
    moments, place = np.unique(times[known], return_inverse=True)
    if len(moments) < 2:
        raise LogicLensError("rows cannot be split by time: they all have the same time, or none.")
    # The weight from each moment on; the first moment must train.
    later = np.cumsum(np.bincount(place, weight[known])[::-1])[::-1][1:]
    start = float(moments[1:][int(np.argmin(np.abs(later - share * weight.sum())))])
    return LatestRows(np.where(known & (times >= start), weight, 0.0), start, float(weight[~known].sum()))


def split_groups(
    classes: NDArray[np.intp] | None,
    weight: NDArray[np.float64],
    n_groups: int,
    unit: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return the weight of each row in each of `n_groups` groups of about equal size, class by class: `[groups, rows]`.

    Units, copies and fractional weights are dealt out as by `set_apart`.

    >>> split_groups(np.array([0, 0, 1]), np.array([1.0, 3.0, 1.0]), 2).tolist()
    [[1.0, 1.0, 1.0], [0.0, 2.0, 0.0]]
    """
    parcels = Parcels.of(classes, weight, unit)
    order = np.argsort(parcels.klass, kind="stable")
    end = np.cumsum(parcels.size[order])
    begin = end - parcels.size[order]
    taken = np.zeros((n_groups, len(parcels.size)))
    for group in range(n_groups):
        # Copies are numbered from 0; every n-th copy belongs to the same group.
        taken[group, order] = np.floor((end - 1 - group) / n_groups) - np.floor((begin - 1 - group) / n_groups)
    return parcels.weights(taken)


def row_hashes(columns: Sequence[Column], *more: NDArray[Any], seed: int = 0) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row, which depends on its values and the seed only.

    Sorting by it shuffles the rows in a way that does not depend on their original order.
    """
    n_rows = len(columns[0]) if columns else len(more[0])
    mixed = np.full(n_rows, seed, dtype=np.uint64)
    parts = [_as_bits(column) for column in columns]
    parts += [np.ascontiguousarray(part).astype(np.int64).view(np.uint64) for part in more]
    for place, part in enumerate(parts):
        # The same value in another column gives another hash.
        step = np.uint64((place + 1) * 0x9E3779B97F4A7C15 % 2**64)
        mixed = _mix(mixed ^ _mix(part + step))
    return mixed


def _as_bits(column: Column) -> NDArray[np.uint64]:
    if KINDS[column.kind].is_nominal:
        # Hash the text, not its place: the other texts of the column must not matter.
        known = [hashlib.blake2b(repr(c).encode(), digest_size=8).digest() for c in column.categories]
        digest = np.frombuffer(b"".join([*known, bytes(8)]), dtype=np.uint64)
        return np.asarray(digest[column.values])
    return KINDS[column.kind].bits(column.values)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of splitmix64: every input bit affects every output bit."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
