"""Which rows the concepts of a class do not tell apart yet, and which further concept would tell the most of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SPLIT_CELLS = 1 << 21
"""Rows times concepts that are split at a time."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Rows that share their concepts with rows of the other answer; those that do not are settled and left out.

    `rows` are their places, in order of `group`; `yes` and `weight` belong to them.
    """

    rows: NDArray[np.intp]
    group: NDArray[np.intp]
    yes: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, group: NDArray[np.intp], yes: NDArray[np.bool_], weight: NDArray[np.float64]) -> Mixture:
        """The mixed ones among all rows."""
        return cls._of(np.arange(len(group)), group, weight * yes, weight)

    @classmethod
    def _of(
        cls, rows: NDArray[np.intp], group: NDArray[np.intp], yes: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> Mixture:
        for_yes, total = np.bincount(group, yes), np.bincount(group, weight)
        kept = np.flatnonzero(((for_yes > 0) & (for_yes < total))[group])
        kept = kept[np.argsort(group[kept], kind="stable")]
        # Numbered anew, or splitting would let the numbers grow beyond the rows there are.
        ordered = group[kept]
        numbers = np.cumsum(np.r_[False, ordered[1:] != ordered[:-1]]) if len(kept) else ordered
        return cls(rows[kept], numbers, yes[kept], weight[kept])

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        return np.flatnonzero(np.r_[True, self.group[1:] != self.group[:-1]]) if len(self.group) else self.group

    @cached_property
    def _sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weight of yes and of all in each group."""
        return np.add.reduceat(self.yes, self._starts), np.add.reduceat(self.weight, self._starts)

    @property
    def impurity(self) -> float:
        """The weight of rows that share a group with rows of the other answer: Σ yes · no / (yes + no)."""
        return float(_impurity(*self._sums).sum()) if len(self.group) else 0.0

    def split_by(self, bits: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The impurity that is left when a concept splits every group, for each column of all rows."""
        at_a_time = max(1, SPLIT_CELLS // len(self.rows))
        parts = [self._split(bits[:, first : first + at_a_time]) for first in range(0, bits.shape[1], at_a_time)]
        return np.concatenate(parts)

    def _split(self, bits: NDArray[np.bool_]) -> NDArray[np.float64]:
        here = bits[self.rows].astype(np.float64)
        true_yes = np.add.reduceat(here * self.yes[:, None], self._starts, axis=0)
        true_all = np.add.reduceat(here * self.weight[:, None], self._starts, axis=0)
        yes, total = (part[:, None] for part in self._sums)
        left = _impurity(true_yes, true_all).sum(axis=0) + _impurity(yes - true_yes, total - true_all).sum(axis=0)
        return np.asarray(left, dtype=np.float64)

    def refined(self, column: NDArray[np.bool_]) -> Mixture:
        """What is still mixed when a concept splits every group."""
        return self._of(self.rows, 2 * self.group + column[self.rows], self.yes, self.weight)


def _impurity(yes: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.divide(yes * (total - yes), total, out=np.zeros_like(total), where=total > 0)
    return shares
