"""Cuts of a column, found without labels: round numbers, quantiles or equal steps; and the counts they come from.

Everything is computed from a histogram, the weight of the rows at each distinct value. So the order of the rows does
not matter, and a row that is repeated equals a row of twice the weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.column_kinds import NUMBER, ColumnKind, Kind, Scalar
from logiclens.formula.date_parts import DatePart
from logiclens.tables.frames import Column

MOST_BINS = 1024
"""The most bins of a histogram; with more distinct values, bins of about equal weight are merged."""
FEW_VALUES = 12
"""A column with at most this many values is cut between every two of them."""
PIECES = 8
"""About how many steps of the round grid lie between the 5% point and the 95% point of a column."""
ENDS = (0.05, 0.95)
"""The round grid lies between these points of a column."""
RARE = 0.02
"""Minimum share of the rows on each side of a cut of the grid."""
HEAP = 0.2
"""A value that this share of the rows has is a heap: the column is cut on both sides of it, and the grid ignores it."""
SKEWED = 50.0
"""Ratio of the ends above which positive numbers are cut at 1, 2, 5, 10, 20, 50 … instead of at equal steps."""
DAY = 86_400.0
TIMES = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, DAY)
"""Round steps of durations and times of day, in seconds."""
MONTHS = (1, 3, 6)
"""Round steps of dates below a year, in months."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """The weight of the rows at each distinct value of a column.

    Attributes:
        low: the smallest value of each bin, ascending; the value itself if bins were not merged.
        high: the largest value of each bin.
        weight: the weight of each bin.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of bins."""
        return len(self.low)

    @classmethod
    def of(cls, values: NDArray[np.float64], weight: NDArray[np.float64]) -> Histogram:
        """Count rows. Missing values are not counted."""
        there = ~np.isnan(values)
        distinct, place = np.unique(values[there], return_inverse=True)
        counts = np.bincount(place, weight[there], minlength=len(distinct)).astype(np.float64)
        if len(distinct) <= MOST_BINS:
            return cls(distinct, distinct, counts)
        total = np.cumsum(counts)
        # A value that fills a bin still belongs to it.
        bins = bins_of(np.append(0.0, total[:-1]), total[-1])
        first = np.flatnonzero(np.diff(bins, prepend=-1))
        last = np.append(first[1:], len(distinct)) - 1
        return cls(distinct[first], distinct[last], np.add.reduceat(counts, first))

    def share_below(self, value: float) -> float:
        """Return the share of the weight below a value; a merged bin counts if all of it is below."""
        return float(self.weight[self.high < value].sum() / self.weight.sum())

    def gap(self, place: int) -> tuple[float, float]:
        """Return the two values between which a cut before the bin `place` lies."""
        return float(self.high[place - 1]), float(self.low[place])

    def point(self, share: float) -> float:
        """Return the value below which a share of the rows lies."""
        below = np.cumsum(self.weight) / self.weight.sum()
        return float(self.low[min(int(np.searchsorted(below, share)), len(self) - 1)])

    def without(self, places: NDArray[np.intp]) -> Histogram:
        """Return the histogram without some bins."""
        return Histogram(*(np.delete(part, places) for part in (self.low, self.high, self.weight)))


def bins_of(before: NDArray[np.float64], weight: float) -> NDArray[np.intp]:
    """Return the merged bin of each value, given the weight `before` it and the total weight."""
    bins: NDArray[np.intp] = np.minimum((before / weight * MOST_BINS).astype(np.intp), MOST_BINS - 1)
    return bins


def round_cuts(histogram: Histogram, kind: ColumnKind) -> list[Scalar]:
    """Return the thresholds that a person would choose who sees the column but no labels.

    They are the multiples of one round step between the ends of the column, so that another sample of the rows has
    nearly the same. A column of few values is cut between all of them.
    """
    if len(histogram) <= FEW_VALUES:
        return [kind.threshold(*histogram.gap(place)) for place in range(1, len(histogram))]
    heaps = np.flatnonzero(histogram.weight >= HEAP * histogram.weight.sum())
    beside = [place for heap in heaps.tolist() for place in (heap, heap + 1) if 0 < place < len(histogram)]
    cuts = [kind.threshold(*histogram.gap(place)) for place in beside]
    others = histogram.without(heaps)
    if len(others) > 1:
        low, high = (others.point(share) for share in ENDS)
        grid = _grid(low, high, kind) if low < high else ()
        cuts += [kind.threshold(math.nextafter(cut, -math.inf), cut) for cut in grid]
    below = {cut: histogram.share_below(kind.number(cut)) for cut in cuts}
    return [cut for cut in sorted(below, key=kind.number) if RARE <= below[cut] <= 1 - RARE]


def _grid(low: float, high: float, kind: ColumnKind) -> Iterator[float]:
    """Return the round numbers of a kind between two ends."""
    step = (high - low) / PIECES
    if kind is NUMBER:
        if low > 0 and high > SKEWED * low:
            yield from _powers(low, high)
            return
        step = round_step(step)
    elif step <= DAY:
        step = float(next(time for time in TIMES if time >= step * 0.999))
    elif kind.name == "date" and step > 10 * DAY:
        yield from _months(low, high, step / DAY / 30.44)
        return
    else:
        step = DAY * round_step(step / DAY)
    digits = max(0, -math.floor(math.log10(step))) if step < 1 else 0
    for place in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield round(place * step, digits + 2)


def round_step(distance: float) -> float:
    """Return the first of 1, 2 or 5 × 10ⁿ that is not below a distance.

    >>> [round_step(distance) for distance in (0.3, 1.0, 1.1, 18.0)]
    [0.5, 1.0, 2.0, 20.0]
    """
    base = 10.0 ** math.floor(math.log10(distance))
    return next(factor * base for factor in (1, 2, 5, 10) if factor * base >= distance * 0.999)


def _powers(low: float, high: float) -> Iterator[float]:
    """Return 1, 2, 5, 10, 20, 50 … between two numbers."""
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in (1, 2, 5):
            cut = float(f"{factor}e{power}")
            if low <= cut <= high:
                yield cut


def _months(low: float, high: float, step: float) -> Iterator[float]:
    """Return the beginnings of months, quarters, half-years or years between two moments, in seconds."""
    months = next((n for n in MONTHS if n >= step * 0.999), None) or 12 * int(max(1, round_step(step / 12)))
    first, last = (np.datetime64(round(end), "s").astype("datetime64[M]").astype(int) for end in (low, high))
    for month in range(-(-int(first) // months) * months, int(last) + 1, months):
        moment = float(np.datetime64(month, "M").astype("datetime64[s]").astype(np.int64))
        if low <= moment <= high:
            yield moment


def quantile_cuts(histogram: Histogram, n_cuts: int) -> tuple[int, ...]:
    """Return the places of cuts at equal shares of the rows; each side of a cut has rows."""
    if len(histogram) < 2:
        return ()
    below = np.cumsum(histogram.weight)[:-1] / histogram.weight.sum()
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


FEW_COPIES = 1.1
"""Mean number of copies per row above which a unique-valued column is not treated as an identifier."""


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one column.

    Attributes:
        name: the name of the column.
        kind: the name of its kind.
        missing: the weight of the rows without a value.
        n_rows: the number of rows with a value.
        n_values: the number of distinct values; a lower bound if the exact number does not matter.
        histogram: the histogram of an ordered column; None for categories.
        categories: the values of a column without an order.
        counts: the weight of each category.
        whole: whether all values are whole numbers.
        loose: by how many rows the lower border of each bin may be off, if an engine could not separate all values.
        whole_days: whether all values are dates without a time of day; False if an engine did not look.
        copied: whether most rows are copies of others, so that distinct values do not indicate an identifier.
        origin: the part of a date that the column holds; None for a column of the table.
    """

    name: str
    kind: Kind
    missing: float
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
        return self.n_rows > 0 and self.missing > 0

    @classmethod
    def of(cls, column: Column, weight: NDArray[np.float64]) -> Tally:
        """Count rows in memory, each by its weight."""
        gone = column.missing
        values = column.values[~gone]
        histogram, counts = None, None
        if column.is_nominal:
            n_categories = len(column.categories)
            counts = np.bincount(column.places[~gone], weight[~gone], n_categories).astype(np.float64)
        else:
            histogram = Histogram.of(column.numbers, weight)
        # pandas stores whole numbers as floats if a value is missing.
        whole_but_for_gaps = (
            column.kind == NUMBER.name and bool(gone.any()) and bool((values == np.round(values)).all())
        )
        return cls(
            column.name,
            column.kind,
            float(weight[gone].sum()),
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
