"""Two-level minimisation with don't-cares: fewest literals, then fewest cubes (or fewest negations).

Small tables are solved: every prime cube is found and the cheapest cover is proved by an integer program. Larger ones
get a cover of good prime cubes from which nothing can be dropped. Either way the formula is right on every cared row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.cubes import CubeArray
from logiclens.formula.dnf import DNF
from logiclens.formula.primes import EXACT_CONCEPTS, prime_cubes
from logiclens.formula.table import TruthTable

PROVABLE_CELLS = 400_000
"""A cover is solved exactly when its matrix of rows × prime cubes has at most this many cells."""
NODE_LIMIT = 1_000
"""Branches the solver may explore. A count, not seconds, so that the same table gives the same formula everywhere."""


@dataclass(frozen=True)
class Minimum:
    """A minimised formula, and whether it is proved that none on the cared rows has fewer literals, then fewer cubes.

    Where negations break the ties, the proof speaks of the literals.
    """

    formula: DNF
    proved: bool


def minimise(table: TruthTable, *, positive: bool = False) -> Minimum:
    """The shortest formula found that answers as the table on every cared row.

    Among formulas with the fewest literals the one with the fewest cubes is taken; with `positive` the one with the
    fewest negations, which reads better: `one | three | five` rather than `~two & ~four & ~six`.

    >>> table = TruthTable.of([[0, 0], [0, 1], [1, 0]], ["a", "b"], answers=[False, True, True])
    >>> minimise(table)
    Minimum(formula=DNF('a | b'), proved=True)
    """
    on, off = table.on, table.off
    if len(on) == 0:
        return Minimum(DNF.false, proved=True)
    if len(off) == 0:
        return Minimum(DNF.true, proved=True)
    primes, complete = prime_cubes(on, off, table.support[table.outcome & table.cared])
    return minimum_cover(table, primes, complete=complete, positive=positive)


def minimum_cover(
    table: TruthTable, primes: CubeArray, *, complete: bool, positive: bool = False, at_most: int | None = None
) -> Minimum:
    """The shortest disjunction of the prime cubes that is true on every row answered yes.

    `complete` says whether these are all prime cubes there are: only then can a minimum be proved, and is looked for.
    With `at_most` no proof is tried for a formula that is far longer than so many literals.
    """
    covers, weight = primes.covers(table.on), table.support[table.outcome & table.cared]
    chosen, proved = cheapest_cover(primes, covers, provable=complete, positive=positive, at_most=at_most)
    # The cube that explains the most samples is read first.
    order = np.argsort(-(weight @ covers[:, chosen]), kind="stable")
    return Minimum(DNF(primes.take(chosen[order]).cubes(table.names)), proved)


def simplify(formula: DNF) -> Minimum:
    """A formula of the same meaning with no literal and no cube to spare (the paper's Quine-McCluskey step).

    Up to `EXACT_CONCEPTS` concepts the whole truth table is minimised; beyond, literals and cubes are dropped one
    after another while the meaning stays.

    >>> from logiclens.formula import Literal
    >>> simplify((Literal("person") & Literal("nose")) | (~Literal("person") & Literal("nose")))
    Minimum(formula=DNF('nose'), proved=True)
    """
    concepts = formula.concepts
    if len(concepts) <= EXACT_CONCEPTS:
        grid = np.indices((2,) * len(concepts)).reshape(len(concepts), 1 << len(concepts)).T.astype(np.bool_)
        return minimise(TruthTable.of(grid, concepts, formula.evaluate(grid, concepts)))
    cubes = list(formula.cubes)
    for i, cube in enumerate(cubes):
        for literal in cube:
            shorter = cubes[i].without(literal)
            if DNF([shorter]).implies(formula):
                cubes[i] = shorter
    for cube in sorted(dict.fromkeys(cubes), key=len, reverse=True):
        rest = DNF(other for other in cubes if other != cube)
        if DNF([cube]).implies(rest):
            cubes = list(rest.cubes)
    return Minimum(DNF(cubes), proved=False)


def cheapest_cover(
    cubes: CubeArray,
    covers: NDArray[np.bool_],
    *,
    provable: bool = True,
    positive: bool = False,
    at_most: int | None = None,
) -> tuple[NDArray[np.intp], bool]:
    """Cubes that together are true on every row of `covers` at the least literals, then ties; and whether proved."""
    lengths = cubes.lengths
    rough = _greedy_cover(covers, lengths + 1)
    # No best cover has more literals than this one, and so neither more negations nor more cubes (True has one): a
    # weight above that bound is never paid for by what only breaks ties.
    bound = int(lengths[rough].sum()) + 2
    negations: NDArray[np.intp] = (cubes.used & ~cubes.value).sum(axis=1)
    cost = lengths * bound**2 + negations * bound + 1 if positive else lengths * bound + 1
    greedy = min(rough, _greedy_cover(covers, cost), key=lambda cover: int(cost[cover].sum()))
    # A greedy cover is rarely twice as long as the best one.
    if not provable or (at_most is not None and bound > 2 * at_most + 2):
        return greedy, False
    distinct = np.unique(covers, axis=0)
    if distinct.size > PROVABLE_CELLS:
        return greedy, False
    solved, proved = _solve_cover(distinct, cost)
    return (solved, proved) if solved is not None and cost[solved].sum() <= cost[greedy].sum() else (greedy, False)


def _greedy_cover(covers: NDArray[np.bool_], cost: NDArray[np.intp]) -> NDArray[np.intp]:
    """Take the cube with the most uncovered rows per literal until all are covered; then drop what is not needed."""
    open_rows = np.ones(len(covers), dtype=np.bool_)
    chosen: list[int] = []
    gains = covers.sum(axis=0).astype(np.float64)
    while open_rows.any():
        best = int(np.argmax(gains / cost))
        if gains[best] <= 0:
            raise RuntimeError(
                "a row of the table is covered by none of its prime cubes; this is a defect of logiclens."
            )
        newly = open_rows & covers[:, best]
        gains -= covers[newly].sum(axis=0)
        open_rows &= ~newly
        chosen.append(best)
    times = covers[:, chosen].sum(axis=1)
    for cube in sorted(chosen, key=lambda c: -cost[c]):
        if (times[covers[:, cube]] > 1).all():
            times -= covers[:, cube]
            chosen.remove(cube)
    return np.array(chosen, dtype=np.intp)


def _solve_cover(covers: NDArray[np.bool_], cost: NDArray[np.intp]) -> tuple[NDArray[np.intp] | None, bool]:
    """The cheapest cover that integer programming finds within its limits, if any, and whether it is proved."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    result = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(csr_array(covers.astype(np.float64)), lb=1),
        options={"mip_rel_gap": 0.0, "node_limit": NODE_LIMIT},
    )
    if result.x is None:
        return None, False
    chosen = np.flatnonzero(result.x > 0.5)
    if not covers[:, chosen].any(axis=1).all():
        return None, False
    # Status 0 is the only one that means proved optimal.
    return chosen, result.status == 0
