"""Prime cubes: as few literals as possible, true on some row answered yes and on no row answered no.

Every row that is neither is a don't-care. Rows are Boolean matrices; cubes travel as a `CubeArray` and become
formulas at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.dnf import DNF, Cube, Literal

EXACT_CONCEPTS = 12
"""Up to this many concepts all 3^n cubes are looked at, so every prime cube is found."""

PAIR_CONCEPTS = 40
"""Up to this many concepts every cube of two literals is a candidate."""


@dataclass(frozen=True, eq=False)
class CubeArray:
    """Cubes over n concepts: `used[p, j]` says whether cube p mentions concept j, `value[p, j]` in which polarity."""

    used: NDArray[np.bool_]
    value: NDArray[np.bool_]

    @classmethod
    def of(cls, formula: DNF, names: Sequence[str]) -> CubeArray:
        """The cubes of a formula over the concepts `names`."""
        index = {name: j for j, name in enumerate(names)}
        used = np.zeros((len(formula), len(names)), dtype=np.bool_)
        value = np.zeros_like(used)
        for p, cube in enumerate(formula):
            for literal in cube:
                used[p, index[literal.concept]] = True
                value[p, index[literal.concept]] = literal.positive
        return cls(used, value)

    def __len__(self) -> int:
        """The number of cubes."""
        return len(self.used)

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Literals of each cube."""
        lengths: NDArray[np.intp] = self.used.sum(axis=1)
        return lengths

    def covers(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which cube is true on which row: `[rows, cubes]`."""
        wants_true = (self.used & self.value).astype(np.float32)
        wants_false = (self.used & ~self.value).astype(np.float32)
        bits = rows.astype(np.float32)
        # A product counts the literals that fail; small integers are exact in float32.
        failing: NDArray[np.float32] = bits @ wants_false.T + (1 - bits) @ wants_true.T
        fires: NDArray[np.bool_] = failing == 0
        return fires

    def any_covers(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """On which rows at least one cube is true."""
        covered: NDArray[np.bool_] = np.any(self.covers(rows), axis=1)
        return covered

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_] | Sequence[int]) -> CubeArray:
        """Some of the cubes."""
        where = np.asarray(index) if len(index) else np.zeros(0, dtype=np.intp)
        return CubeArray(self.used[where], self.value[where])

    def append(self, other: CubeArray) -> CubeArray:
        """Both lists of cubes, one after the other."""
        return CubeArray(np.concatenate([self.used, other.used]), np.concatenate([self.value, other.value]))

    def join(self, other: CubeArray) -> CubeArray:
        """Both lists of cubes, without repetitions."""
        both = self.append(other)
        used, value = both.used, both.value & both.used
        _, first = np.unique(np.concatenate([used, value], axis=1), axis=0, return_index=True)
        first.sort()
        return CubeArray(used[first], value[first])

    def cubes(self, names: Sequence[str]) -> list[Cube]:
        """The cubes as values."""
        return [
            Cube(Literal(names[j], bool(value[j])) for j in np.flatnonzero(used).tolist())
            for used, value in zip(self.used, self.value, strict=True)
        ]


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
    on: NDArray[np.bool_], off: NDArray[np.bool_], weight: NDArray[np.float64], effort: int = 400
) -> CubeArray:
    """One or two good prime cubes for each of the `effort` heaviest rows, and enough more to cover the rest."""
    n = on.shape[1]
    found = CubeArray(np.zeros((0, n), dtype=np.bool_), np.zeros((0, n), dtype=np.bool_))
    order = np.argsort(-weight, kind="stable")
    covered = np.zeros(len(on), dtype=np.bool_)
    used, value = [], []
    for step, r in enumerate(order):
        if covered[r] and step >= effort:
            continue
        for greedy_for_rows in (True, False):
            mask = _expand(on[r], on, off, greedy_for_rows)
            used.append(mask)
            value.append(on[r] & mask)
            covered |= ((on == on[r]) | ~mask).all(axis=1)
    if used:
        found = found.join(CubeArray(np.array(used), np.array(value)))
    return found


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


def _expand(
    row: NDArray[np.bool_], on: NDArray[np.bool_], off: NDArray[np.bool_], greedy_for_rows: bool
) -> NDArray[np.bool_]:
    """Which literals of a row to keep so that no row of `off` satisfies them all, and none could go.

    Each row of `off` must differ from `row` on a literal that is kept: a hitting set, chosen greedily. With
    `greedy_for_rows` a literal is also judged by how many rows of `on` it leaves covered.
    """
    differs, agrees = off != row, on == row
    kept = np.zeros(len(row), dtype=np.bool_)
    still_on = np.ones(len(on), dtype=np.bool_)
    open_off = np.ones(len(off), dtype=np.bool_)
    chosen: list[int] = []
    while open_off.any():
        hits = differs[open_off].sum(axis=0) / open_off.sum()
        stays = agrees[still_on].sum(axis=0) / still_on.sum()
        score = hits * stays if greedy_for_rows else hits + 1e-3 * stays
        best = int(np.argmax(np.where(hits > 0, score, -1.0)))
        kept[best] = True
        chosen.append(best)
        open_off &= ~differs[:, best]
        still_on &= agrees[:, best]
    # An early choice may have become superfluous through later ones.
    blocked_by = differs[:, chosen].sum(axis=1) if chosen else np.zeros(len(off))
    for literal in chosen:
        if (blocked_by - differs[:, literal] > 0).all():
            kept[literal] = False
            blocked_by = blocked_by - differs[:, literal]
    return kept
