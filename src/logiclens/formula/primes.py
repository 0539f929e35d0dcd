"""Prime cubes: as few literals as possible, true on some row answered yes and on no row answered no.

Every row that is neither is a don't-care. Rows are Boolean matrices; cubes travel as a `CubeArray` and become
formulas at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.bits import PackedRows, popcount
from logiclens.formula.cubes import CubeArray

EXACT_CONCEPTS = 12
"""Up to this many concepts all 3^n cubes are looked at, so every prime cube is found."""

PAIR_CONCEPTS = 40
"""Up to this many concepts every cube of two literals is a candidate."""


def prime_cubes(on: NDArray[np.bool_], off: NDArray[np.bool_], weight: NDArray[np.float64]) -> tuple[CubeArray, bool]:
    """Prime cubes for the rows `on` against the rows `off`, and whether these are all there are.

    `weight` ranks the rows of `on`: where not every row can be expanded, the heavy ones go first.
    """
    if on.shape[1] <= EXACT_CONCEPTS:
        return all_primes(on, off), True
    return expanded_primes(on, off, weight), False


def all_primes(on: NDArray[np.bool_], off: NDArray[np.bool_]) -> CubeArray:
    """Every prime cube, from a table of all 3^n cubes (each concept false, true or absent)."""
    n = on.shape[1]
    touches_off, touches_on = _cubes_touching(off), _cubes_touching(on)
    implicant = ~touches_off
    prime = implicant & touches_on
    for axis in range(n):
        shorter = np.take(implicant, [2], axis=axis)
        mentions = [slice(None)] * n
        mentions[axis] = slice(0, 2)
        prime[tuple(mentions)] &= ~shorter
    index = np.argwhere(prime)
    return CubeArray(used=index < 2, value=index == 1)


def expanded_primes(
    on: NDArray[np.bool_], off: NDArray[np.bool_], weight: NDArray[np.float64], effort: int = 20
) -> CubeArray:
    """Two good prime cubes for each row that no earlier one covers, one more for the `effort` heaviest that are."""
    expander = _Expander(on, off)
    covered = np.zeros(len(on), dtype=np.bool_)
    used, value = [], []
    for step, r in enumerate(np.argsort(-weight, kind="stable")):
        if covered[r] and step >= effort:
            continue
        choices = (False,) if covered[r] else (True, False)
        for mask, covers in expander.expand(on[r], choices):
            used.append(mask)
            value.append(on[r] & mask)
            covered |= covers
    nothing = CubeArray(np.zeros((0, on.shape[1]), dtype=np.bool_), np.zeros((0, on.shape[1]), dtype=np.bool_))
    return nothing.join(CubeArray(np.array(used), np.array(value))) if used else nothing


def short_cubes(on: NDArray[np.bool_]) -> CubeArray:
    """All cubes of one literal, and of two where there are at most 40 concepts, that are true on a row of `on`."""
    n = on.shape[1]
    used = np.repeat(np.eye(n, dtype=np.bool_), 2, axis=0)
    literals = CubeArray(used, used.copy())
    literals.value[1::2] = False
    if n <= PAIR_CONCEPTS:
        first, second = np.triu_indices(2 * n, 1)
        first, second = first[first // 2 != second // 2], second[first // 2 != second // 2]
        pairs = CubeArray(literals.used[first] | literals.used[second], literals.value[first] | literals.value[second])
        literals = literals.append(pairs)
    return literals.take(np.flatnonzero(literals.covers(on).any(axis=0)))


def _cubes_touching(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each of the 3^n cubes, indexed by 0 (false), 1 (true), 2 (absent): is it true on one of the rows?"""
    n = rows.shape[1]
    touched = np.zeros((2,) * n, dtype=np.bool_)
    touched[tuple(rows.T.astype(np.intp))] = len(rows) > 0
    for axis in range(n):
        touched = np.concatenate([touched, touched.any(axis=axis, keepdims=True)], axis=axis)
    return touched


class _Expander:
    """Drops literals of a row while no row of `off` satisfies those that are left. Rows are packed by column."""

    def __init__(self, on: NDArray[np.bool_], off: NDArray[np.bool_]) -> None:
        names = [str(j) for j in range(on.shape[1])]
        self.on, self.off = PackedRows.of(on, names), PackedRows.of(off, names)

    def expand(
        self, row: NDArray[np.bool_], choices: Iterable[bool]
    ) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Which literals of the row to keep, and which rows of `on` satisfy them: one answer for each choice."""
        flip = np.where(row, ~np.uint64(0), np.uint64(0))[:, None]
        differs = (self.off.words ^ flip) & self.off.valid
        agrees = ~(self.on.words ^ flip) & self.on.valid
        for greedy_for_rows in choices:
            kept = self._hitting_set(differs, agrees, greedy_for_rows)
            satisfied = np.bitwise_and.reduce(agrees[kept], axis=0) if kept.any() else self.on.valid
            yield kept, self.on.unpack(satisfied)

    def _hitting_set(
        self, differs: NDArray[np.uint64], agrees: NDArray[np.uint64], greedy_for_rows: bool
    ) -> NDArray[np.bool_]:
        """Each row of `off` must differ from the row on a literal that is kept: a hitting set, chosen greedily.

        With `greedy_for_rows` a literal is also judged by how many rows of `on` it leaves covered.
        """
        chosen: list[int] = []
        open_off, still_on = self.off.valid, self.on.valid
        while open_off.any():
            hits = np.bitwise_count(differs & open_off).sum(axis=1) / popcount(open_off)
            stays = np.bitwise_count(agrees & still_on).sum(axis=1) / popcount(still_on)
            score = hits * stays if greedy_for_rows else hits + 1e-3 * stays
            best = int(np.argmax(np.where(hits > 0, score, -1.0)))
            chosen.append(best)
            open_off, still_on = open_off & ~differs[best], still_on & agrees[best]
        kept = np.zeros(len(differs), dtype=np.bool_)
        kept[chosen] = True
        for literal in chosen:
            # An early choice may have become superfluous through later ones.
            rest = [other for other in chosen if kept[other] and other != literal]
            if rest and not (self.off.valid & ~np.bitwise_or.reduce(differs[rest], axis=0)).any():
                kept[literal] = False
        return kept
