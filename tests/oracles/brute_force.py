"""Evaluate formulas row by row in plain Python; only their literals come from the library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product

from logiclens.formula import DNF, Complement, Cube

Row = tuple[bool, ...]


def every_row(n_concepts: int) -> list[Row]:
    """All 2^n rows, in the order of the tuples."""
    return list(product((False, True), repeat=n_concepts))


def cube_holds(cube: Cube, row: Mapping[str, bool]) -> bool:
    return all(row[literal.concept] == literal.positive for literal in cube.literals)


def holds(formula: DNF | Complement, row: Mapping[str, bool]) -> bool:
    if isinstance(formula, Complement):
        return not holds(formula.of, row)
    return any(cube_holds(cube, row) for cube in formula.cubes)


def answers(formula: DNF | Complement, names: Sequence[str], rows: Iterable[Sequence[bool]]) -> list[bool]:
    """What the formula says on each of the rows."""
    return [holds(formula, dict(zip(names, map(bool, row), strict=True))) for row in rows]


def meaning(formula: DNF | Complement, names: Sequence[str]) -> list[bool]:
    """What the formula says on all 2^n rows over `names`: two formulas mean the same when these lists are equal."""
    return answers(formula, names, every_row(len(names)))


def cheapest(
    on: Sequence[Row], off: Sequence[Row], n_concepts: int, *, count_negations: bool = False
) -> tuple[int, ...]:
    """The fewest literals, then the fewest cubes, of any formula true on `on` and false on `off`. For 4 concepts or so.

    With `count_negations`: the fewest literals, then negations, then cubes. Every set of cubes is tried that could be
    the cheapest: some cube must hold on the first row still open.
    """
    # A cube is what it demands of each concept: False, True, or None for nothing.
    cubes = [
        cube
        for cube in product((False, True, None), repeat=n_concepts)
        if not any(_satisfies(row, cube) for row in off)
    ]
    reach = [(frozenset(r for r in on if _satisfies(r, cube)), _price(cube, count_negations)) for cube in cubes]

    @cache
    def best(still_open: frozenset[Row]) -> tuple[int, ...]:
        if not still_open:
            return (0, 0, 0) if count_negations else (0, 0)
        first = min(still_open)
        return min(
            tuple(a + b for a, b in zip(price, best(still_open - covered), strict=True))
            for covered, price in reach
            if first in covered
        )

    return best(frozenset(on))


def _price(cube: tuple[bool | None, ...], count_negations: bool) -> tuple[int, ...]:
    literals = sum(wanted is not None for wanted in cube)
    negations = sum(wanted is False for wanted in cube)
    return (literals, negations, 1) if count_negations else (literals, 1)


def _satisfies(row: Row, cube: tuple[bool | None, ...]) -> bool:
    return all(wanted is None or bit == wanted for bit, wanted in zip(row, cube, strict=True))
