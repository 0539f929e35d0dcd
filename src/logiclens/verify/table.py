"""Truth tables as arrays with one axis of length 2 for each concept.

A cube is a sub-array: an index of 0 or 1 on the axes of its concepts, everything on the others. So a formula is written
into a table, and impossible rows are struck out of one, without going through rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from .records import Cube, Domain, Formula

Booleans = NDArray[np.bool_]


def formula_table(formula: Formula, concepts: Sequence[str]) -> Booleans:
    """Where the formula is true, for every row of the concepts; the first concept is the highest bit.

    >>> formula_table(((("a", True), ("b", False)),), ["a", "b"]).tolist()
    [False, False, True, False]
    """
    return _painted(np.zeros((2,) * len(concepts), dtype=np.bool_), formula, concepts, True)


def domain_table(domain: Domain, concepts: Sequence[str]) -> Booleans:
    """Which rows of the concepts are possible.

    A group says as much of those of its concepts that are among these: at most one of a, b and c is at most one of a
    and c, and where c implies b and b implies a, c implies a.

    >>> domain_table(Domain(exclusive=(("a", "b"),)), ["a", "b"]).tolist()
    [True, True, True, False]
    >>> domain_table(Domain(implied=(("a", "b"),)), ["a", "b"]).tolist()
    [True, False, True, True]
    """
    known = frozenset(concepts)
    impossible: list[Cube] = []
    for group in domain.exclusive:
        impossible += [((a, True), (b, True)) for a, b in combinations([name for name in group if name in known], 2)]
    for chain in domain.implied:
        kept = [name for name in chain if name in known]
        impossible += [((before, False), (after, True)) for before, after in pairwise(kept)]
    return _painted(np.ones((2,) * len(concepts), dtype=np.bool_), impossible, concepts, False)


def _painted(table: Booleans, cubes: Iterable[Cube], concepts: Sequence[str], value: bool) -> Booleans:
    axes = {name: axis for axis, name in enumerate(concepts)}
    for cube in cubes:
        index: list[int | slice] = [slice(None)] * len(concepts)
        for name, wanted in cube:
            index[axes[name]] = int(wanted)
        table[tuple(index)] = value
    return table.reshape(-1)
