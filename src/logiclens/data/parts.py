"""Distinct rows in an order of their own, and parts of them set apart.

What is computed from them depends on which rows there are and what they weigh, not on how they came: a row that weighs
2 is the same as a row that is there twice, one that weighs nothing is not there, and the order does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.data.columns import Column
from logiclens.errors import LogicLensError


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
    if column.kind == "text":
        # By the text and not by its place: which other texts there are must not matter.
        known = [hashlib.blake2b(repr(c).encode(), digest_size=8).digest() for c in column.categories]
        digest = np.frombuffer(b"".join([*known, bytes(8)]), dtype=np.uint64)
        return np.asarray(digest[column.values])
    if column.kind == "date":
        return column.values.astype("datetime64[us]").view(np.uint64)
    # + 0.0 makes −0.0 equal to 0.0.
    return np.where(np.isnan(column.values), np.nan, column.values + 0.0).view(np.uint64)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
