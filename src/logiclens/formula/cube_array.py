"""CubeArray: many cubes over the same concepts, as Boolean matrices that a search can compute with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.packed_rows import PackedRows

BLOCK = 8192
"""Rows per matrix product, which bounds the memory for many rows."""
BLOCK_WORDS = 1 << 17
"""Packed words per block, so that a block fits in the cache."""


@dataclass(frozen=True, eq=False)
class CubeArray:
    """Cubes over n concepts: `used[p, j]` is whether cube p mentions concept j, `value[p, j]` its polarity."""

    used: NDArray[np.bool_]
    value: NDArray[np.bool_]

    @classmethod
    def of(cls, formula: DNF, names: Sequence[str]) -> CubeArray:
        """Make an array of the cubes of a formula over the concepts `names`."""
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
        """Make an array without cubes over `n_concepts` concepts."""
        return cls(np.zeros((0, n_concepts), dtype=np.bool_), np.zeros((0, n_concepts), dtype=np.bool_))

    def __len__(self) -> int:
        """The number of cubes."""
        return len(self.used)

    @property
    def lengths(self) -> NDArray[np.intp]:
        """The number of literals of each cube."""
        lengths: NDArray[np.intp] = self.used.sum(axis=1)
        return lengths

    @property
    def negations(self) -> NDArray[np.intp]:
        """The number of negated literals of each cube."""
        negations: NDArray[np.intp] = (self.used & ~self.value).sum(axis=1)
        return negations

    def covers(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which cube is true on which row: `[rows, cubes]`."""
        wants_true = self.used & self.value
        # One product counts satisfied positive literals minus violated negative ones; small integers are exact.
        sign = (wants_true.astype(np.float32) - (self.used & ~self.value)).T
        wanted = wants_true.sum(axis=1, dtype=np.float32)
        fires = np.empty((len(rows), len(self)), dtype=np.bool_)
        for first in range(0, len(rows), BLOCK):
            block = slice(first, first + BLOCK)
            np.equal(rows[block].astype(np.float32) @ sign, wanted, out=fires[block])
        return fires

    def covers_packed(self, rows: PackedRows) -> NDArray[np.uint64]:
        """Like `covers`, packed 64 rows to a word: `[cubes, words]`. Bits after the last row are 0."""
        n_words, lengths = rows.words.shape[1], self.lengths
        cube, concept = np.nonzero(self.used)
        # `starts` is where the literals of each cube begin; `flip` inverts the column of a negated literal.
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
        """Return some of the cubes."""
        where = np.asarray(index) if len(index) else np.zeros(0, dtype=np.intp)
        return CubeArray(self.used[where], self.value[where])

    def append(self, other: CubeArray) -> CubeArray:
        """Return the cubes of both arrays, one after the other."""
        return CubeArray(np.concatenate([self.used, other.used]), np.concatenate([self.value, other.value]))

    def join(self, other: CubeArray) -> CubeArray:
        """Return the cubes of both arrays without duplicates."""
        both = self.append(other)
        used, value = both.used, both.value & both.used
        # Packing eight literals to a byte makes the comparison eight times smaller.
        keys = np.packbits(np.concatenate([used, value], axis=1), axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        first.sort()
        return CubeArray(used[first], value[first])

    def cubes(self, names: Sequence[str]) -> list[Cube]:
        """Return the cubes as values."""
        return [
            Cube(Literal(names[j], bool(value[j])) for j in np.flatnonzero(used).tolist())
            for used, value in zip(self.used, self.value, strict=True)
        ]
