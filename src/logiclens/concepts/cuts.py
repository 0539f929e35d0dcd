"""Cuts of a column: supervised (by the target), at quantiles, or at equal steps; and the counts they are computed from.

Everything is computed from a histogram, the weight of each class at each distinct value. So the order of the rows does
not matter, and a row that is repeated equals a row of twice the weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.column_kinds import NUMBER, Kind, Scalar
from logiclens.formula.date_parts import DatePart
from logiclens.tables.frames import Column

MOST_BINS = 1024
"""The most bins of a histogram; with more distinct values, bins of about equal weight are merged."""
FEW_VALUES = 5
"""A column with at most this many values is cut between every two of them."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """The weight of each class on each distinct value of a column.

    Attributes:
        low: the smallest value of each bin, ascending; the value itself if bins were not merged.
        high: the largest value of each bin.
        counts: `[bins, tasks, classes]`; one task, or one per label if a row may have several.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of bins."""
        return len(self.low)

    @classmethod
    def of(
        cls, values: NDArray[np.float64], weight: NDArray[np.float64], classes: NDArray[np.intp], n_classes: int
    ) -> Histogram:
        """Count rows; `classes` is `[rows, tasks]`. Missing values are not counted."""
        known = ~np.isnan(values)
        values, weight, classes = values[known], weight[known], classes[known]
        distinct, place = np.unique(values, return_inverse=True)
        low = high = distinct
        if len(distinct) > MOST_BINS:
            total = np.cumsum(np.bincount(place, weight))
            # A value that fills a bin still belongs to it.
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
        """Return the share of the weight below a value; a merged bin counts if all of it is below."""
        weight = self.counts[:, 0].sum(axis=1)
        return float(weight[self.high < value].sum() / weight.sum())

    def gap(self, place: int) -> tuple[float, float]:
        """Return the two values between which a cut before the bin `place` lies."""
        return float(self.high[place - 1]), float(self.low[place])


def bins_of(before: NDArray[np.float64], weight: float) -> NDArray[np.intp]:
    """Return the merged bin of each value, given the weight `before` it and the total weight."""
    bins: NDArray[np.intp] = np.minimum((before / weight * MOST_BINS).astype(np.intp), MOST_BINS - 1)
    return bins


def supervised_cuts(histogram: Histogram, most: int) -> tuple[int, ...]:
    """Return the places of at most `most` cuts that are most informative about the target.

    A column with few values is cut between all of them. If no cut is informative enough alone, the column is cut at its
    median, because it may matter together with other columns.
    """
    if has_few_values(histogram, most):
        return tuple(range(1, len(histogram)))
    return telling_cuts(histogram, most) or quantile_cuts(histogram, 1)


def has_few_values(histogram: Histogram, most: int) -> bool:
    """Return whether a column has so few values that it is cut between all of them."""
    return len(histogram) <= min(FEW_VALUES, most + 1)


def telling_cuts(histogram: Histogram, most: int) -> tuple[int, ...]:
    """Return the places of at most `most` cuts that are worth their description length; there may be none.

    The criterion is that of Fayyad and Irani (1993): the information gain of a cut must exceed the cost of encoding it.
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
    """Return the places of cuts at equal shares of the rows; each side of a cut has rows."""
    if len(histogram) < 2:
        return ()
    weight = histogram.counts[:, 0].sum(axis=1)
    below = np.cumsum(weight)[:-1] / weight.sum()
    places = [int(np.argmin(np.abs(below - share))) + 1 for share in np.arange(1, n_cuts + 1) / (n_cuts + 1)]
    return tuple(sorted(set(places)))


def uniform_cuts(histogram: Histogram, n_cuts: int) -> tuple[int, ...]:
    """Return the places of cuts at equal steps between the smallest and the largest value."""
    if len(histogram) < 2:
        return ()
    # Halves first: the difference of two large numbers may be infinite.
    steps = 2 * np.linspace(histogram.low[0] / 2, histogram.high[-1] / 2, n_cuts + 2)[1:-1]
    places = {int(np.clip(np.searchsorted(histogram.low, step), 1, len(histogram) - 1)) for step in steps}
    return tuple(sorted(places))


def told_by_each(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the information gain, in bits, of each category in `counts` `[categories, tasks, classes]`."""
    whole = counts.sum(axis=0)
    told: NDArray[np.float64] = (_bits(whole) - _bits(counts) - _bits(whole - counts)).max(axis=1)
    return told


@dataclass(frozen=True)
class _Part:
    """A range of bins, its best cut, and the worth of that cut: information gain minus encoding cost, in bits."""

    start: int
    stop: int
    place: int
    worth: float


def _best_cut(counts: NDArray[np.float64], start: int, stop: int) -> _Part:
    """Return the best cut of a range of bins, over all tasks."""
    if stop - start < 2:
        return _Part(start, stop, start, -math.inf)
    left = np.cumsum(counts[start:stop], axis=0)[:-1]
    whole = counts[start:stop].sum(axis=0)
    right = whole - left
    total = whole.sum(axis=-1)
    # Weight times entropy, in bits.
    bits, bits_left, bits_right = _bits(whole), _bits(left), _bits(right)
    n, n_left, n_right = (np.maximum(part.sum(axis=-1), 1e-300) for part in (whole, left, right))
    kinds, kinds_left, kinds_right = ((part > 0).sum(axis=-1) for part in (whole, left, right))
    told = bits - bits_left - bits_right
    # 3 to the power of 647 classes is beyond the largest float; long before, the 2 no longer matters.
    codes = np.where(kinds > 600, kinds * math.log2(3), np.log2(3.0 ** np.minimum(kinds, 600) - 2))
    delta = codes - (kinds * bits / n - kinds_left * bits_left / n_left - kinds_right * bits_right / n_right)
    cost = np.log2(np.maximum(total - 1, 1)) + delta
    worth = (told - cost).max(axis=1)
    # Among equally good cuts take the one nearest to the median row, then the first.
    near = -np.abs(left.sum(axis=(1, 2)) - right.sum(axis=(1, 2)))
    best = int(np.lexsort((np.arange(len(worth)), -near, -np.round(worth, 9)))[0])
    return _Part(start, stop, start + best + 1, float(worth[best]))


def _bits(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight times the entropy of the classes, in bits, over the last axis."""
    total = counts.sum(axis=-1)
    safe = np.where(counts > 0, counts, 1.0)
    bits: NDArray[np.float64] = total * np.log2(np.where(total > 0, total, 1.0)) - (counts * np.log2(safe)).sum(axis=-1)
    return bits


FEW_COPIES = 1.1
"""Mean number of copies per row above which a unique-valued column is not treated as an identifier."""


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one column.

    Attributes:
        name: the name of the column.
        kind: the name of its kind.
        missing: the weight of each class on rows without a value, `[tasks, classes]`.
        n_rows: the number of rows with a value.
        n_values: the number of distinct values; a lower bound if the exact number does not matter.
        histogram: the histogram of an ordered column; None for categories.
        categories: the values of a column without an order.
        counts: the weight of each class on each category, `[categories, tasks, classes]`.
        whole: whether all values are whole numbers.
        loose: by how many rows the lower border of each bin may be off, if an engine could not separate all values.
        whole_days: whether all values are dates without a time of day; False if an engine did not look.
        copied: whether most rows are copies of others, so that distinct values do not indicate an identifier.
        origin: the part of a date that the column holds; None for a column of the table.
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
    whole_days: bool = False
    origin: DatePart | None = None

    @property
    def is_nominal(self) -> bool:
        """Whether the values are categories without an order."""
        return self.counts is not None

    @property
    def has_missing(self) -> bool:
        """Whether some rows have a value and others have none."""
        return self.n_rows > 0 and bool(self.missing.any())

    @classmethod
    def of(cls, column: Column, classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64]) -> Tally:
        """Count rows in memory; `classes` holds class numbers `[rows, tasks]` and `weight` the weight of each row."""
        gone = column.missing
        values = column.values[~gone]
        histogram, counts = None, None
        if column.is_nominal:
            counts = _counted(column.places[~gone], classes[~gone], n_classes, weight[~gone], len(column.categories))
        else:
            histogram = Histogram.of(column.numbers, weight, classes, n_classes)
        # pandas stores whole numbers as floats if a value is missing.
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
            whole_days=column.kind == "date" and bool((values == values.astype("datetime64[D]")).all()),
            origin=column.origin,
        )


def _counted(
    codes: NDArray[np.intp], classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64], n_codes: int
) -> NDArray[np.float64]:
    """Return the weight of each class on each code, `[codes, tasks, classes]`."""
    each = [
        np.bincount(codes * n_classes + classes[:, task], weight, minlength=n_codes * n_classes)
        for task in range(classes.shape[1])
    ]
    return np.stack([counts.reshape(n_codes, n_classes) for counts in each], axis=1).astype(np.float64)
