"""Irredundant sums of products: cubes between a lower and an upper function given as whole truth tables.

A function of n concepts is an integer of 2^n bits; bit r is its value on row r. Splitting on the most significant
concept halves the integer, so the recursion of Minato and Morreale is a few operations on long integers per step.
S. Minato, "Fast generation of prime-irredundant covers from binary decision diagrams", IEICE 1993.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import FormulaTooLarge
from logiclens.formula.cover import Masks
from logiclens.formula.cubes import CubeArray
from logiclens.formula.dnf import MAX_CUBES

Part = tuple[tuple[Masks, ...], int]
"""Cubes, and the function they stand for."""


def isop(lower: int, upper: int, n_concepts: int, limit: int = MAX_CUBES) -> list[Masks]:
    """Prime cubes of `upper`, none superfluous, that cover `lower`; bit k of a mask is bit k of the row number.

    >>> isop(0b1110, 0b1110, 2)  # true on the rows 01, 10 and 11
    [(2, 0), (1, 0)]
    """
    cubes, _ = _Recursion(n_concepts, limit).part(lower, upper, n_concepts)
    return list(cubes)


class _Recursion:
    """One run: equal parts of the table, which structured functions have many of, are worked out once."""

    def __init__(self, n_concepts: int, limit: int) -> None:
        self.limit = limit
        self.everything = [(1 << (1 << k)) - 1 for k in range(n_concepts + 1)]
        self.known: dict[tuple[int, int, int], Part] = {}

    def part(self, lower: int, upper: int, k: int) -> Part:
        """Cubes over the lowest k concepts between two functions of them, and what they cover."""
        if not lower:
            return (), 0
        if upper == self.everything[k]:
            return ((0, 0),), upper
        key = (k, lower, upper)
        if key not in self.known:
            self.known[key] = self._split(lower, upper, k - 1)
        return self.known[key]

    def _split(self, lower: int, upper: int, k: int) -> Part:
        """Split on concept k: what only one half allows needs the literal, what is left over does without."""
        half, everything, bit = 1 << k, self.everything[k], 1 << k
        low, low_upper = lower & everything, upper & everything
        high, high_upper = lower >> half, upper >> half
        negative, in_low = self.part(low & ~high_upper, low_upper, k)
        positive, in_high = self.part(high & ~low_upper, high_upper, k)
        rest = (low & ~in_low) | (high & ~in_high)
        free, in_both = self.part(rest, low_upper & high_upper, k)
        # The cubes of a part are all among those of the whole, so a part too large is a whole too large.
        if len(negative) + len(positive) + len(free) > self.limit:
            raise FormulaTooLarge(f"the sum of products has more than {self.limit:,} cubes.")
        cubes = (*((p | bit, n) for p, n in positive), *((p, n | bit) for p, n in negative), *free)
        return cubes, (in_low | in_both) | ((in_high | in_both) << half)


def sums_of_products(yes: NDArray[np.bool_], free: NDArray[np.bool_], limit: int = MAX_CUBES) -> list[CubeArray]:
    """An irredundant sum of products for each of several orders of the concepts, without those beyond the limit.

    `yes` and `free` (don't-care) hold one entry for each of the 2^n rows; concept 0 is the most significant bit.
    """
    n = len(yes).bit_length() - 1
    found = []
    for order in _orders(yes, free, n):
        try:
            cubes = isop(_table(yes, order), _table(yes | free, order), n, limit)
        except FormulaTooLarge:
            continue
        found.append(_cube_array(cubes, order))
    return found


def essential(yes: NDArray[np.bool_]) -> list[int]:
    """The concepts that the answers depend on: turning one changes the answer of some row."""
    n = len(yes).bit_length() - 1
    return [j for j in range(n) if _flips(yes, j).any()]


def _flips(yes: NDArray[np.bool_], concept: int) -> NDArray[np.bool_]:
    """Where the answer changes when the concept turns from false to true."""
    halves = yes.reshape(1 << concept, 2, -1)
    changes: NDArray[np.bool_] = halves[:, 0] ^ halves[:, 1]
    return changes


def _orders(yes: NDArray[np.bool_], free: NDArray[np.bool_], n: int) -> Iterator[tuple[int, ...]]:
    """Orders in which to split: by how often a concept changes the answer, most or least first; as given, reversed."""
    changes = [np.count_nonzero(_flips(yes, j) & ~_any_of_pair(free, j)) for j in range(n)]
    by_influence = tuple(sorted(range(n), key=lambda j: -changes[j]))
    given = tuple(range(n))
    yield from dict.fromkeys((by_influence, by_influence[::-1], given, given[::-1]))


def _any_of_pair(free: NDArray[np.bool_], concept: int) -> NDArray[np.bool_]:
    halves = free.reshape(1 << concept, 2, -1)
    either: NDArray[np.bool_] = halves[:, 0] | halves[:, 1]
    return either


def _table(values: NDArray[np.bool_], order: tuple[int, ...]) -> int:
    """The values as one integer, the rows renumbered so that the first concept of the order is most significant."""
    turned = values.reshape((2,) * len(order)).transpose(order).reshape(-1)
    return int.from_bytes(np.packbits(turned, bitorder="little").tobytes(), "little")


def _cube_array(cubes: list[Masks], order: tuple[int, ...]) -> CubeArray:
    n = len(order)
    positive, negative = np.array(cubes, dtype=np.int64).reshape(-1, 2, 1).transpose(1, 0, 2)
    # Bit k of a mask is the concept that stands k places before the end of the order.
    shifts = np.empty(n, dtype=np.int64)
    shifts[list(order)] = np.arange(n)[::-1]
    value = (positive >> shifts & 1).astype(np.bool_)
    return CubeArray(value | (negative >> shifts & 1).astype(np.bool_), value)
