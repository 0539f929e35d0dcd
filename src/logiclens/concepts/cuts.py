"""Where to cut a column of numbers: cuts that matter for the target, quantiles, or equal steps.

Everything is computed from a histogram, the weight of each class at each distinct value, so that it depends on neither
the order of the rows nor on whether a row is repeated or weighs more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.column_kinds import NUMBER, Kind, Scalar
from logiclens.tables.frames import Column

MOST_BINS = 1024
"""A histogram with more distinct values is merged into this many parts of about equal weight."""
FEW_VALUES = 5
"""A column with at most this many values is cut between all of them."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """The weight of each class on each distinct value of a column.

    Attributes:
        low: the smallest value of each bin, ascending; where no bins were merged, the value itself.
        high: the largest value of each bin.
        counts: `[bins, tasks, classes]`; one task, or one for each label where a row may have several.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.float64]

    def __len__(self) -> int:
        """The number of bins."""
        return len(self.low)

    @classmethod
    def of(
        cls, values: NDArray[np.float64], weight: NDArray[np.float64], classes: NDArray[np.intp], n_classes: int
    ) -> Histogram:
        """Count rows; `classes` is `[rows, tasks]`. Missing values are left out."""
        known = ~np.isnan(values)
        values, weight, classes = values[known], weight[known], classes[known]
        distinct, place = np.unique(values, return_inverse=True)
        low = high = distinct
        if len(distinct) > MOST_BINS:
            total = np.cumsum(np.bincount(place, weight))
            # What ends a bin by its weight still belongs to it.
            bins = np.unique(bins_of(np.append(0.0, total[:-1]), total[-1]), return_inverse=True)[1]
            first = np.flatnonzero(np.diff(bins, prepend=-1))
            low, high = distinct[first], distinct[np.append(first[1:], len(distinct)) - 1]
            place = bins[place]
        n_tasks = classes.shape[1]
        counts = np.zeros((len(low), n_tasks, n_classes))
        for task in range(n_tasks):
            flat = np.bincount(place * n_classes + classes[:, task], weight, minlength=len(low) * n_classes)
            counts[:, task] = flat.reshape(len(low), n_classes)
        return cls(low, high, counts)

    def share_below(self, value: float) -> float:
        """The share of the weight below a value; a merged bin counts where all of it is below."""
        weight = self.counts[:, 0].sum(axis=1)
        return float(weight[self.high < value].sum() / weight.sum())

    def gap(self, place: int) -> tuple[float, float]:
        """Between which two values a cut in front of the bin `place` lies."""
        return float(self.high[place - 1]), float(self.low[place])


def bins_of(before: NDArray[np.float64], weight: float) -> NDArray[np.intp]:
    """The bin of each value when there are too many of them, by the weight of what is `before` it."""
    bins: NDArray[np.intp] = np.minimum((before / weight * MOST_BINS).astype(np.intp), MOST_BINS - 1)
    return bins


def supervised_cuts(histogram: Histogram, most: int) -> tuple[int, ...]:
    """The places of the cuts that tell most about the target, at most `most`.

    A column of few values is cut between all of them. Where no cut tells enough, the column may still matter together
    with others: it is cut at its median.
    """
    if has_few_values(histogram, most):
        return tuple(range(1, len(histogram)))
    return telling_cuts(histogram, most) or quantile_cuts(histogram, 1)


def has_few_values(histogram: Histogram, most: int) -> bool:
    """Whether a column can be cut between all of its values: a cut that tells nothing alone may tell with others."""
    return len(histogram) <= min(FEW_VALUES, most + 1)


def telling_cuts(histogram: Histogram, most: int) -> tuple[int, ...]:
    """The places of at most `most` cuts that tell more about the target than they cost; there may be none.

    They are found by the description length of Fayyad and Irani (1993): a cut is taken where what it tells is worth
    more than the cost of writing it down.
    """
    found: list[int] = []
    parts = [_best_cut(histogram.counts, 0, len(histogram))]
    while len(found) < most:
        best = max(parts, key=lambda part: part.worth)
        if best.worth <= 0:
            break
        found.append(best.place)
        parts.remove(best)
        parts += [_best_cut(histogram.counts, best.start, best.place)]
        parts += [_best_cut(histogram.counts, best.place, best.stop)]
    return tuple(sorted(found))


def quantile_cuts(histogram: Histogram, n_cuts: int) -> tuple[int, ...]:
    """The places of cuts at equal shares of the rows, never with all rows on one side."""
    if len(histogram) < 2:
        return ()
    weight = histogram.counts[:, 0].sum(axis=1)
    below = np.cumsum(weight)[:-1] / weight.sum()
    places = [int(np.argmin(np.abs(below - share))) + 1 for share in np.arange(1, n_cuts + 1) / (n_cuts + 1)]
    return tuple(sorted(set(places)))


def uniform_cuts(histogram: Histogram, n_cuts: int) -> tuple[int, ...]:
    """The places of cuts at equal steps between the smallest and the largest value."""
    if len(histogram) < 2:
        return ()
    steps = np.linspace(histogram.low[0], histogram.high[-1], n_cuts + 2)[1:-1]
    places = {int(np.clip(np.searchsorted(histogram.low, step), 1, len(histogram) - 1)) for step in steps}
    return tuple(sorted(places))


def told_by_each(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row of `counts` `[categories, tasks, classes]`: what knowing this category tells, in bits."""
    whole = counts.sum(axis=0)
    told: NDArray[np.float64] = (_bits(whole) - _bits(counts) - _bits(whole - counts)).max(axis=1)
    return told


@dataclass(frozen=True)
class _Part:
    """A range of bins, its best cut, and what that is worth: bits told minus bits to write it down."""

    start: int
    stop: int
    place: int
    worth: float


def _best_cut(counts: NDArray[np.float64], start: int, stop: int) -> _Part:
    """The best cut of a range of bins, over tasks."""
    if stop - start < 2:
        return _Part(start, stop, start, -math.inf)
    left = np.cumsum(counts[start:stop], axis=0)[:-1]
    whole = counts[start:stop].sum(axis=0)
    right = whole - left
    total = whole.sum(axis=-1)
    # Each in bits: weight times entropy.
    bits, bits_left, bits_right = _bits(whole), _bits(left), _bits(right)
    n, n_left, n_right = (np.maximum(part.sum(axis=-1), 1e-300) for part in (whole, left, right))
    kinds, kinds_left, kinds_right = ((part > 0).sum(axis=-1) for part in (whole, left, right))
    told = bits - bits_left - bits_right
    delta = np.log2(3.0**kinds - 2) - (
        kinds * bits / n - kinds_left * bits_left / n_left - kinds_right * bits_right / n_right
    )
    cost = np.log2(np.maximum(total - 1, 1)) + delta
    worth = (told - cost).max(axis=1)
    # Of equally good cuts the one nearest to the middle of the rows, then the first.
    near = -np.abs(left.sum(axis=(1, 2)) - right.sum(axis=(1, 2)))
    best = int(np.lexsort((np.arange(len(worth)), -near, -np.round(worth, 9)))[0])
    return _Part(start, stop, start + best + 1, float(worth[best]))


def _bits(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight times the entropy of the classes, in bits, over the last axis."""
    total = counts.sum(axis=-1)
    safe = np.where(counts > 0, counts, 1.0)
    bits: NDArray[np.float64] = total * np.log2(np.where(total > 0, total, 1.0)) - (counts * np.log2(safe)).sum(axis=-1)
    return bits


FEW_COPIES = 1.1
"""Rows that are there more often than this, on average, are no rows of their own: nothing names them."""


@dataclass(frozen=True, eq=False)
class Tally:
    """What is counted of one column.

    Attributes:
        name: of the column.
        kind: what its values are.
        missing: the weight of each class where there is no value, `[tasks, classes]`.
        n_rows: the rows with a value.
        n_values: the distinct values among them; at least so many, where nothing depends on it.
        histogram: of numbers, dates and truth values, in the order of their size.
        categories: the values that have no order, where there are any.
        counts: the weight of each class on each category, `[categories, tasks, classes]`.
        whole: whether numbers are whole.
        loose: how many rows the lower border of each bin may be off, where values are too many to be told apart.
        copied: whether most rows are copies of others, so that values that are all different are no sign of a name.
    """

    name: str
    kind: Kind
    missing: NDArray[np.float64]
    n_rows: int
    n_values: int
    histogram: Histogram | None = None
    categories: tuple[Scalar, ...] = ()
    counts: NDArray[np.float64] | None = None
    whole: bool = False
    loose: NDArray[np.float64] | None = None
    copied: bool = False

    @property
    def is_nominal(self) -> bool:
        """Whether the values are categories, without an order."""
        return self.counts is not None

    @property
    def has_missing(self) -> bool:
        """Whether some rows have a value and some have none."""
        return self.n_rows > 0 and bool(self.missing.any())

    @classmethod
    def of(cls, column: Column, classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64]) -> Tally:
        """Count rows in memory; `classes` holds class numbers `[rows, tasks]`, `weight` what each row counts for."""
        gone = column.missing
        values = column.values[~gone]
        histogram, counts = None, None
        if column.is_nominal:
            counts = _counted(column.places[~gone], classes[~gone], n_classes, weight[~gone], len(column.categories))
        else:
            histogram = Histogram.of(column.numbers, weight, classes, n_classes)
        # A gap makes whole numbers floats.
        whole_but_for_gaps = (
            column.kind == NUMBER.name and bool(gone.any()) and bool((values == np.round(values)).all())
        )
        return cls(
            column.name,
            column.kind,
            _counted(np.zeros(int(gone.sum()), dtype=np.intp), classes[gone], n_classes, weight[gone], 1)[0],
            len(values),
            len(np.unique(values)),
            histogram,
            column.categories,
            counts,
            column.whole or whole_but_for_gaps,
            copied=bool((weight == np.round(weight)).all() and weight.sum() > FEW_COPIES * len(weight)),
        )


def _counted(
    codes: NDArray[np.intp], classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64], n_codes: int
) -> NDArray[np.float64]:
    """The weight of each class on each code, `[codes, tasks, classes]`."""
    each = [
        np.bincount(codes * n_classes + classes[:, task], weight, minlength=n_codes * n_classes)
        for task in range(classes.shape[1])
    ]
    return np.stack([counts.reshape(n_codes, n_classes) for counts in each], axis=1).astype(np.float64)
