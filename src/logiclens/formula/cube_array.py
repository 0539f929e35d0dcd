"""CubeArray: many cubes over the same concepts as Boolean matrices, for searching among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.packed_rows import PackedRows

BLOCK = 8192
"""Rows that are multiplied with the cubes at a time, so that many rows take no more memory than their answers."""
BLOCK_WORDS = 1 << 17
"""Packed words that are worked on at a time, so that what is in work stays in the cache."""


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

    @classmethod
    def none(cls, n_concepts: int) -> CubeArray:
        """No cube, over so many concepts."""
        return cls(np.zeros((0, n_concepts), dtype=np.bool_), np.zeros((0, n_concepts), dtype=np.bool_))

    def __len__(self) -> int:
        """The number of cubes."""
        return len(self.used)

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Literals of each cube."""
        lengths: NDArray[np.intp] = self.used.sum(axis=1)
        return lengths

    @property
    def negations(self) -> NDArray[np.intp]:
        """Negated literals of each cube."""
        negations: NDArray[np.intp] = (self.used & ~self.value).sum(axis=1)
        return negations

    def covers(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which cube is true on which row: `[rows, cubes]`."""
        wants_true = self.used & self.value
        # One product counts the concepts that are as wanted minus those that are not; small integers are exact.
        sign = (wants_true.astype(np.float32) - (self.used & ~self.value)).T
        wanted = wants_true.sum(axis=1, dtype=np.float32)
        fires = np.empty((len(rows), len(self)), dtype=np.bool_)
        for first in range(0, len(rows), BLOCK):
            block = slice(first, first + BLOCK)
            np.equal(rows[block].astype(np.float32) @ sign, wanted, out=fires[block])
        return fires

    def covers_packed(self, rows: PackedRows) -> NDArray[np.uint64]:
        """The same as `covers`, 64 rows to a word: `[cubes, words]`; bits behind the last row are 0."""
        n_words, lengths = rows.words.shape[1], self.lengths
        cube, concept = np.nonzero(self.used)
        # The literals of a cube stand together: where each cube's begin, and what turns a column into the literal.
        starts = np.cumsum(lengths) - lengths
        flip = np.where(self.value[cube, concept], np.uint64(0), ~np.uint64(0))[:, None]
        fires = np.empty((len(self), n_words), dtype=np.uint64)
        at_a_time = max(1, BLOCK_WORDS // max(1, n_words))
        for first in range(0, len(self), at_a_time):
            some = np.broadcast_to(rows.valid, (len(fires[first : first + at_a_time]), n_words)).copy()
            here = lengths[first : first + at_a_time]
            for place in range(int(here.max(initial=0))):
                longer = np.flatnonzero(here > place)
                literal = starts[first + longer] + place
                some[longer] &= rows.words[concept[literal]] ^ flip[literal]
            fires[first : first + at_a_time] = some
        return fires

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
        # Eight literals to a byte: what is compared is an eighth.
        keys = np.packbits(np.concatenate([used, value], axis=1), axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        first.sort()
        return CubeArray(used[first], value[first])

    def cubes(self, names: Sequence[str]) -> list[Cube]:
        """The cubes as values."""
        return [
            Cube(Literal(names[j], bool(value[j])) for j in np.flatnonzero(used).tolist())
            for used, value in zip(self.used, self.value, strict=True)
        ]
