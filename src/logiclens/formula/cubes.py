"""CubeArray: many cubes over the same concepts as Boolean matrices, for searching among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.dnf import DNF, Cube, Literal


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
        wants_true = self.used & self.value
        # One product counts the concepts that are as wanted minus those that are not; small integers are exact.
        sign = wants_true.astype(np.float32) - (self.used & ~self.value)
        fires: NDArray[np.bool_] = rows.astype(np.float32) @ sign.T == wants_true.sum(axis=1, dtype=np.float32)
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
