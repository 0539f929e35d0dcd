"""Covering: which cubes together are true on every row answered yes, at the least cost in literals.

Which cube is true on which row is held packed, 64 rows to a word. Small questions are answered with a proof, by a
bound that no cover can pass or by an integer program; the others greedily, with nothing left over.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.bits import PackedRows, popcount
from logiclens.formula.cubes import CubeArray

PROVABLE_CELLS = 400_000
"""A cover is solved exactly when its matrix of distinct rows × cubes has at most this many cells, ..."""
PROVABLE_MARKS = 50_000
"""... or at most this many marks, a mark being a cube that is true on a row: that is what a branch costs."""
NODE_LIMIT = 1_000
"""Branches the solver may explore. A count, not seconds, so that the same table gives the same formula everywhere."""
NODE_MARKS = 250_000
"""Beyond `PROVABLE_CELLS`, branches times marks: 20 branches for 4,096 rows at random, a quarter of a minute."""
POLISH_MARKS = 30_000
"""Up to so many marks the solver is also asked where nothing can be proved, for what it finds before it branches."""
POLISH_CELLS = 20_000_000
"""Rows times cubes that are looked at for this."""
TIME_LIMIT = 60.0
"""Seconds after which the solver stops in any case; the limits above are meant to stop it sooner."""


def cheapest_cover(
    cubes: CubeArray,
    rows: PackedRows,
    *,
    provable: bool = True,
    positive: bool = False,
    polish: bool = False,
) -> tuple[NDArray[np.intp], bool]:
    """Cubes that together are true on all of `rows` at the least literals, then ties; and whether that is proved.

    Ties go to fewer cubes, with `positive` to fewer negations. A proof is tried where `provable`;
    `polish` asks the solver without a proof in view.
    """
    lengths, covers = cubes.lengths, cubes.covers_packed(rows)
    rough = greedy_cover(covers, lengths + 1, rows)
    # No best cover has more literals than this one, and so neither more negations nor more cubes (True has one): a
    # weight above that bound is never paid for by what only breaks ties.
    bound = int(lengths[rough].sum()) + 2
    cost = lengths * bound**2 + cubes.negations * bound + 1 if positive else lengths * bound + 1
    greedy = min(rough, greedy_cover(covers, cost, rows), key=lambda cover: int(cost[cover].sum()))
    polish = polish and rows.n_rows * len(cubes) <= POLISH_CELLS
    if not (provable or polish):
        return greedy, False
    distinct = np.unique(np.stack([rows.unpack(cover) for cover in covers], axis=1), axis=0)
    marks = int(np.count_nonzero(distinct))
    nodes = _branches(distinct.size, marks) if provable else int(marks <= POLISH_MARKS)
    if nodes == 0:
        return greedy, False
    if _is_least(int(cost[greedy].sum()), distinct, cost):
        return greedy, provable
    solved, proved = _solve_cover(distinct, cost, nodes)
    if solved is None or cost[solved].sum() > cost[greedy].sum():
        return greedy, False
    return solved, proved and provable


def _branches(cells: int, marks: int) -> int:
    """How many branches the solver may explore on the way to a proof; 0 where none is tried."""
    if cells <= PROVABLE_CELLS:
        return NODE_LIMIT
    return min(NODE_LIMIT, NODE_MARKS // marks) if marks <= PROVABLE_MARKS else 0


def _is_least(paid: int, covers: NDArray[np.bool_], cost: NDArray[np.intp]) -> bool:
    """Whether rows that share what their cubes cost show that no cover costs less than `paid`, a whole number.

    A row that pays the least share of any cube that is true on it pays for no cube more than it costs: all rows
    together pay no more than any cover does.
    """
    share = cost / np.maximum(covers.sum(axis=0), 1)
    together = float(np.where(covers, share, np.inf).min(axis=1, initial=np.inf).sum())
    return paid - 1 < together * (1 - 1e-9)


def price(cubes: CubeArray, positive: bool) -> tuple[int, int, int]:
    """What a formula is judged by: literals first, then cubes, or with `positive` negations and then cubes."""
    negations = int(cubes.negations.sum()) if positive else 0
    return int(cubes.lengths.sum()), negations, len(cubes)


def greedy_cover(covers: NDArray[np.uint64], cost: NDArray[np.intp], rows: PackedRows) -> NDArray[np.intp]:
    """Take the cube with the most uncovered rows per cost until all are covered; then drop what is not needed."""
    open_rows = rows.valid.copy()
    chosen: list[int] = []
    gains = np.bitwise_count(covers).sum(axis=1, dtype=np.int64)
    # A gain can only fall, so an old one is an upper bound: a cube is counted again only when it comes first.
    queue = [
        (-gain / price, cube) for cube, (gain, price) in enumerate(zip(gains.tolist(), cost.tolist(), strict=True))
    ]
    heapq.heapify(queue)
    while open_rows.any():
        if not queue or queue[0][0] >= 0:
            raise RuntimeError(
                "a row of the table is covered by none of its prime cubes; this is a defect of logiclens."
            )
        _, best = heapq.heappop(queue)
        now = (-popcount(covers[best] & open_rows) / int(cost[best]), best)
        if queue and now > queue[0]:
            heapq.heappush(queue, now)
            continue
        open_rows &= ~covers[best]
        chosen.append(best)
    times = np.zeros(rows.n_rows, dtype=np.int32)
    for cube in chosen:
        times += rows.unpack(covers[cube])
    for cube in sorted(chosen, key=lambda c: -cost[c]):
        fires = rows.unpack(covers[cube])
        if (times[fires] > 1).all():
            times -= fires
            chosen.remove(cube)
    return np.array(chosen, dtype=np.intp)


def _solve_cover(covers: NDArray[np.bool_], cost: NDArray[np.intp], nodes: int) -> tuple[NDArray[np.intp] | None, bool]:
    """The cheapest cover that integer programming finds within its limits, if any, and whether it is proved."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    result = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(csr_array(covers.astype(np.float64)), lb=1),
        options={"mip_rel_gap": 0.0, "node_limit": nodes, "time_limit": TIME_LIMIT},
    )
    if result.x is None:
        return None, False
    chosen = np.flatnonzero(result.x > 0.5)
    if not covers[:, chosen].any(axis=1).all():
        return None, False
    # Status 0 is the only one that means proved optimal.
    return chosen, result.status == 0
