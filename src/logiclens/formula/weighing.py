"""Weights of rows as bit planes, so that what a formula covers is weighed by counting bits.

A plane holds the rows whose weight has a certain binary digit. Whole weights, such as counts, come out exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.bits import pack_columns

BLOCK_WORDS = 1 << 18
"""Words that are worked on at a time, so that what is in work stays in the cache."""
MAX_PLANES = 24
"""Weights of more binary digits than that are multiplied instead."""


@dataclass(frozen=True, eq=False)
class PackedWeights:
    """The weights of rows: bit planes for whole numbers, the numbers themselves for others.

    >>> weights = PackedWeights.of(np.array([3.0, 1.0, 2.0]))
    >>> weights.sums(np.array([[0b111], [0b101], [0b000]], dtype=np.uint64)).tolist()
    [6.0, 5.0, 0.0]
    """

    weight: NDArray[np.float64]
    planes: NDArray[np.uint64] | None

    @classmethod
    def of(cls, weight: NDArray[np.float64]) -> PackedWeights:
        """Split the weights into planes, where they are whole and not too large."""
        weight = np.asarray(weight, dtype=np.float64)
        largest = float(weight.max(initial=0))
        if largest >= 2**MAX_PLANES or not (weight == np.round(weight)).all() or not (weight >= 0).all():
            return cls(weight, None)
        whole, n_planes = weight.astype(np.uint32), max(1, int(largest).bit_length())
        digits = (whole >> np.arange(n_planes, dtype=np.uint32)[:, None]) & np.uint32(1)
        return cls(weight, pack_columns(digits.astype(np.bool_)))

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    def sums(self, fires: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The weight of the rows in each packed row of `fires`."""
        sums = np.zeros(len(fires))
        if len(fires) == 0 or fires.shape[1] == 0:
            return sums
        at_a_time = max(1, BLOCK_WORDS // fires.shape[1])
        for first in range(0, len(fires), at_a_time):
            sums[first : first + at_a_time] = self._block(fires[first : first + at_a_time])
        return sums

    def sum(self, fires: NDArray[np.uint64]) -> float:
        """The weight of the rows in one packed column."""
        return float(self.sums(fires[None])[0])

    def _block(self, fires: NDArray[np.uint64]) -> NDArray[np.float64]:
        if self.planes is None:
            bits = np.unpackbits(fires.view(np.uint8), axis=1, bitorder="little", count=len(self.weight))
            return np.asarray(bits @ self.weight, dtype=np.float64)
        found = np.zeros(len(fires))
        for digit, (busy, plane) in enumerate(self._busy):
            some = fires if busy is None else fires[:, busy]
            found += float(1 << digit) * np.bitwise_count(some & plane).sum(axis=1, dtype=np.int64)
        return found

    @cached_property
    def _busy(self) -> list[tuple[NDArray[np.intp] | None, NDArray[np.uint64]]]:
        """The words of each plane that hold a row, where these are few, and which they are."""
        found: list[tuple[NDArray[np.intp] | None, NDArray[np.uint64]]] = []
        for plane in () if self.planes is None else self.planes:
            busy = np.flatnonzero(plane)
            found.append((busy, plane[busy]) if 2 * len(busy) < len(plane) else (None, plane))
        return found
