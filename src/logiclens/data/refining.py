"""Bins of a column with very many values, found without sorting these: by counting, again where it matters.

The range of the values is counted in parts. Only a part through which the border of two bins runs is looked at again,
in smaller parts: after a few looks the bins are those of all values in order, and only counts have travelled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.data.cuts import MOST_BINS, Histogram, bins_of

PARTS = 131_072
"""The parts of a column that are counted in one look."""
LOOKS = 16
"""How often parts are parted at most, before what is left is looked at value by value."""
FEW_VALUES = 1_048_576
"""As many values, or rows, may be looked at one by one."""


@dataclass(frozen=True, eq=False)
class Stretches:
    """Neighbouring stretches of the values of a column, none of them empty, in ascending order.

    Attributes:
        key: what the engine calls each stretch.
        low: its smallest value.
        high: its largest.
        counts: how many of its rows have each class, `[stretches, classes]`.
    """

    key: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.float64]

    def __len__(self) -> int:
        """The number of stretches."""
        return len(self.low)

    @classmethod
    def none(cls, n_classes: int) -> Stretches:
        """Of a column that has no values."""
        nothing = np.zeros(0)
        return cls(nothing.astype(np.int64), nothing, nothing, np.zeros((0, n_classes)))

    @classmethod
    def of(
        cls,
        key: NDArray[np.int64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        codes: NDArray[np.intp],
        n: NDArray[np.float64],
        n_classes: int,
    ) -> Stretches:
        """From what an engine counts: an entry for each stretch and class."""
        keys, place = np.unique(key, return_inverse=True)
        lows, highs = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
        np.minimum.at(lows, place, low)
        np.maximum.at(highs, place, high)
        counts = np.bincount(place * n_classes + codes, n, minlength=len(keys) * n_classes)
        return cls(keys, lows, highs, counts.astype(np.float64).reshape(-1, n_classes)).take(np.argsort(lows))

    @property
    def rows(self) -> NDArray[np.float64]:
        """The rows of each stretch."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def has_several(self) -> NDArray[np.bool_]:
        """Which stretches have more than one value."""
        return self.low < self.high

    @property
    def least_values(self) -> int:
        """As many values there are at least: all of them, where no stretch has several."""
        return len(self) + int(self.has_several.sum())

    def borders(self) -> NDArray[np.intp]:
        """How many borders of bins run through each stretch."""
        rows = self.rows
        before = np.cumsum(rows) - rows
        return np.where(self.has_several, bins_of(before + rows - 1, rows.sum()) - bins_of(before, rows.sum()), 0)

    def unsettled(self) -> NDArray[np.bool_]:
        """Which stretches have to be looked at again."""
        return self.borders() > 0 if self.least_values > MOST_BINS else self.has_several

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Stretches:
        """Some of the stretches."""
        return Stretches(self.key[which], self.low[which], self.high[which], self.counts[which])

    def replaced(self, which: NDArray[np.bool_], smaller: Stretches) -> Stretches:
        """With smaller stretches in the place of some."""
        kept = self.take(~which)
        both = (
            np.concatenate([getattr(one, name) for one in (kept, smaller)]) for name in ("key", "low", "high", "counts")
        )
        merged = Stretches(*both)
        return merged.take(np.argsort(merged.low, kind="stable"))

    def histogram(self) -> tuple[Histogram, NDArray[np.float64]]:
        """The bins, and how many rows the lower border of each may be off; 0 where stretches are settled."""
        rows = self.rows
        if len(self) <= MOST_BINS and not self.has_several.any():
            return Histogram(self.low, self.high, self.counts[:, None, :]), np.zeros(len(self))
        bins = bins_of(np.cumsum(rows) - rows, rows.sum())
        first = np.flatnonzero(np.diff(bins, prepend=-1))
        last = np.append(first[1:], len(self)) - 1
        unsure = np.where(self.borders() > 0, rows, 0.0)
        loose = np.append(0.0, unsure[first[1:] - 1])
        return Histogram(self.low[first], self.high[last], np.add.reduceat(self.counts, first)[:, None, :]), loose


def refined(
    first: Stretches,
    part: Callable[[Stretches, NDArray[np.int64]], Stretches],
    each_value: Callable[[Stretches], Stretches | None],
) -> Stretches:
    """Look again where it matters, until the bins are those of all values.

    Args:
        first: the parts of the whole range.
        part: counts stretches in so many parts each.
        each_value: counts stretches value by value; None where they have too many.
    """
    found = first
    for _ in range(LOOKS - 1):
        again = found.unsettled()
        opened = found.take(again)
        if opened.rows.sum() <= FEW_VALUES:
            break
        # Where more borders run, parts are smaller.
        share = np.maximum(found.borders()[again], 1)
        found = found.replaced(again, part(opened, np.maximum(2, PARTS * share // share.sum()).astype(np.int64)))
    again = found.unsettled()
    if not again.any():
        return found
    values = each_value(found.take(again))
    return found if values is None else found.replaced(again, values)
