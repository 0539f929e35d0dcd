"""The SAT solver of the package `python-sat`, which decides what cubes cover if counting through them takes too long.

A negated disjunction of cubes is a conjunction of clauses. The cubes cover a cube exactly if no row satisfies the
clauses and the cube together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

SOLVER = "minisat22"
"""The fastest solver of the package on formulas near the limit; it counts conflicts and propagations."""


def is_installed() -> bool:
    """Return whether `python-sat` can be imported."""
    try:
        import pysat.solvers  # noqa: F401
    except ImportError:
        return False
    return True


def cover_solver(cubes: Iterable[tuple[int, int]]) -> CoverSolver | None:
    """Return a solver for cubes given as pairs of integers, as in `cover`; None if `python-sat` is not installed."""
    if not is_installed():
        return None
    from pysat.solvers import Solver

    return CoverSolver(Solver(name=SOLVER, bootstrap_with=[[-code for code in codes(cube)] for cube in cubes]))


class CoverSolver:
    """Decides whether cubes cover another cube; keeps what it learned for the next question."""

    def __init__(self, solver: Any) -> None:
        """Take a solver of `python-sat` that holds the negated cubes as clauses."""
        self._solver = solver

    def covers(self, cube: tuple[int, int], conflicts: int, propagations: int) -> bool | None:
        """Return whether the cubes cover all rows of `cube`; None if that takes more than the given work."""
        self._solver.conf_budget(max(1, conflicts))
        self._solver.prop_budget(max(1, propagations))
        found = self._solver.solve_limited(assumptions=list(codes(cube)))
        return None if found is None else not found

    def spent(self) -> tuple[int, int]:
        """Return the conflicts and propagations of all questions so far."""
        work = self._solver.accum_stats()
        return int(work["conflicts"]), int(work["propagations"])


def codes(cube: tuple[int, int]) -> Iterator[int]:
    """Yield the literals of a cube as a SAT solver numbers them: concept j is j + 1, its negation −(j + 1)."""
    for sign, mask in zip((1, -1), cube, strict=True):
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            yield sign * lowest.bit_length()
