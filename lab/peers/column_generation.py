"""A Boolean rule set by column generation (Dash, Günlük and Wei 2018): a linear program asks for the cubes it lacks.

The rule set with the fewest errors, among those of a bounded size, is an integer program with a column for every cube.
Its relaxation is solved over few columns; its prices then say which cube would help most, a beam search looks for such
cubes, and they are added. At last the integer program chooses among the cubes at hand.

Errors are counted as in that paper: a positive row that no cube covers is one, a negative row is one for each cube that
covers it. The size of a rule set, bounded by C, is 1 for each cube and 1 for each of its literals. No limit is a time,
so that a result does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import block_array, csr_array, eye_array

from lab.peers.learner import ClassRule, Items, Learned, YesNo, one_against_rest
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF
from logiclens.metrics.scores import macro_f1

BEAM, AT_ONCE, ACTIVE, OFFERED = 50, 20, 150, 150
"""Numbers of cubes: of one width that the search extends, that are added in one round, that the linear program keeps
after a round (the others may return when they help), and that the integer program may choose from."""
TOLERANCE = 1e-6
"""Numerical tolerance of the solvers; errors are integers."""


@dataclass(frozen=True, eq=False)
class Cubes:
    """Columns of the program: numbered literals, and the rows they cover, `[rows, cubes]`."""

    items: tuple[Items, ...]
    covers: NDArray[np.bool_]

    @classmethod
    def of(cls, items: Iterable[Items], literals: NDArray[np.bool_]) -> Cubes:
        listed = tuple(items)
        return cls(listed, np.stack([literals[:, each].all(axis=1) for each in listed], axis=1))

    @property
    def sizes(self) -> NDArray[np.intp]:
        return np.array([1 + len(items) for items in self.items], dtype=np.intp)

    def take(self, chosen: NDArray[np.intp]) -> Cubes:
        return Cubes(tuple(self.items[k] for k in chosen), self.covers[:, chosen])

    def join(self, other: Cubes) -> Cubes:
        mine = set(self.items)
        new = [k for k, items in enumerate(other.items) if items not in mine]
        return Cubes((*self.items, *(other.items[k] for k in new)), np.hstack([self.covers, other.covers[:, new]]))


@dataclass(frozen=True, eq=False)
class Prices:
    """The dual prices of a solved linear program: the cost of covering each row, and of each literal and cube.

    `least` is the value of the program.
    """

    value: NDArray[np.float64]
    size: float
    least: float

    def of(self, cubes: Cubes) -> NDArray[np.float64]:
        cost: NDArray[np.float64] = self.value @ cubes.covers + self.size * cubes.sizes
        return cost


@dataclass(frozen=True)
class ColumnGeneration:
    """A rule set by column generation, one class against the rest; its bound is chosen on the validation rows."""

    bounds: tuple[int, ...] = (5, 10, 20, 40)
    max_width: int = 5
    rounds: int = 50
    solver_nodes: int = 1_000
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        return one_against_rest(self._learn, train, validation, sample=self.sample)

    def _learn(self, rows: YesNo, judges: YesNo) -> ClassRule:
        def score(candidate: tuple[int, DNF]) -> float:
            fires = candidate[1].evaluate(judges.bits, judges.names)
            return round(macro_f1(judges.yes, fires), 12) if len(judges.yes) else 0.0

        bound, formula = max(rule_sets(rows, self), key=score)
        return ClassRule(formula, (f"size at most {bound}.",))


def rule_sets(rows: YesNo, limits: ColumnGeneration) -> Iterator[tuple[int, DNF]]:
    first, inverse = distinct(rows.bits)
    yes, no = (np.bincount(inverse[side], minlength=len(first)).astype(np.float64) for side in (rows.yes, ~rows.yes))
    literals = rows.literals[first]
    pool = Cubes.of([(), *((j,) for j in range(literals.shape[1]))], literals)
    chosen = np.zeros(0, dtype=np.intp)
    for bound in limits.bounds:
        master = Master(literals, yes, no, bound, limits)
        pool, prices = master.relaxed(pool)
        chosen = master.best_of(pool, prices, chosen)
        yield bound, DNF(rows.cube(pool.items[k]) for k in chosen)


@dataclass(frozen=True, eq=False)
class Master:
    """The program that chooses cubes: distinct rows with the number of rows of the class (`yes`) and others (`no`)."""

    literals: NDArray[np.bool_]
    yes: NDArray[np.float64]
    no: NDArray[np.float64]
    bound: int
    limits: ColumnGeneration

    def relaxed(self, pool: Cubes) -> tuple[Cubes, Prices]:
        active, least = np.arange(len(pool.items)), np.inf
        for _ in range(self.limits.rounds):
            prices = self.prices(pool.take(active))
            costs = prices.of(pool)
            if prices.least < least - TOLERANCE:
                # Only after progress, so that the same cubes cannot come and go for ever.
                active, least = active[np.argsort(costs[active], kind="stable")[:ACTIVE]], prices.least
            helpful = np.flatnonzero(costs < -TOLERANCE)
            if not len(helpful):
                more = self.search(prices)
                if not more:
                    return pool, prices
                helpful = np.arange(len(pool.items), len(pool.items) + len(more))
                pool = pool.join(Cubes.of(more, self.literals))
            active = np.union1d(active, helpful[:AT_ONCE])
        return pool, self.prices(pool)

    def search(self, prices: Prices) -> list[Items]:
        columns, n_literals = self.literals.astype(np.float64), self.literals.shape[1]
        beam: list[Items] = [()]
        covers, helpful = np.ones((1, len(columns))), dict[Items, float]()
        for width in range(1, self.limits.max_width + 1):
            costs = (covers * prices.value) @ columns + prices.size * (1 + width)
            for i, items in enumerate(beam):
                costs[i, list(items)] = np.inf
            children: dict[Items, tuple[float, int, int]] = {}
            for flat in np.argsort(costs, axis=None, kind="stable")[: BEAM * width].tolist():
                i, j = divmod(flat, n_literals)
                # The same cube is reached once from each of its literals.
                children.setdefault(tuple(sorted((*beam[i], j))), (float(costs[i, j]), i, j))
            children = dict(list(children.items())[:BEAM])
            helpful |= {items: cost for items, (cost, _, _) in children.items() if cost < -TOLERANCE}
            covers = np.stack([covers[i] * columns[:, j] for _, i, j in children.values()])
            beam = list(children)
        return sorted(helpful, key=lambda items: (helpful[items], items))[:AT_ONCE]

    def prices(self, pool: Cubes) -> Prices:
        positive = np.flatnonzero(self.yes)
        cost, matrix, room = self._program(pool, positive)
        answer = linprog(cost, A_ub=matrix, b_ub=room, method="highs")
        if answer.status != 0:
            raise LogicLensError(f"the linear program was not solved: {answer.message}")
        value = self.no.copy()
        value[positive] += answer.ineqlin.marginals[:-1]
        return Prices(value, float(-answer.ineqlin.marginals[-1]), float(answer.fun))

    def best_of(self, pool: Cubes, prices: Prices, before: NDArray[np.intp]) -> NDArray[np.intp]:
        before = min(before, self.greedy(pool), key=lambda chosen: self.errors(pool, chosen))
        # Cubes that cost more are in no rule set that is at least as good as the one before.
        costs = prices.of(pool)
        offered = np.flatnonzero(costs <= self.errors(pool, before) - prices.least + TOLERANCE)
        offered = offered[np.argsort(costs[offered], kind="stable")][:OFFERED]
        cost, matrix, room = self._program(pool.take(offered), np.flatnonzero(self.yes))
        # Among rule sets with as few errors prefer a small one: all sizes together weigh less than one error.
        cost[: len(offered)] += pool.sizes[offered] / (2 * self.bound)
        answer = milp(
            cost,
            constraints=LinearConstraint(matrix, ub=room),
            bounds=Bounds(0, 1),
            # The chosen cubes determine the uncovered rows, so only the choice must be integer.
            integrality=np.arange(len(cost)) < len(offered),
            options={"node_limit": self.limits.solver_nodes, "mip_rel_gap": 0.0},
        )
        if answer.x is None:
            return before
        chosen = offered[answer.x[: len(offered)] > 0.5]
        return chosen if self.errors(pool, chosen) <= self.errors(pool, before) else before

    def greedy(self, pool: Cubes) -> NDArray[np.intp]:
        """Build a rule set greedily: within the bound, add the cube that saves the most errors, smaller if equal."""
        chosen, room, open_rows = list[int](), self.bound, self.yes.copy()
        wrong, sizes = self.no @ pool.covers, pool.sizes
        while True:
            saved = np.where(sizes <= room, open_rows @ pool.covers - wrong - sizes / (2 * self.bound), 0)
            best = int(np.argmax(saved))
            if saved[best] <= 0:
                return np.array(chosen, dtype=np.intp)
            chosen.append(best)
            room, open_rows = room - int(sizes[best]), open_rows * ~pool.covers[:, best]

    def errors(self, pool: Cubes, chosen: NDArray[np.intp]) -> int:
        """Return the number of positive rows that no cube covers, plus negative rows once per cube that covers them."""
        covered = pool.covers[:, chosen]
        return round(float(self.yes @ ~covered.any(axis=1) + self.no @ covered.sum(axis=1)))

    def _program(
        self, pool: Cubes, positive: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], object, NDArray[np.float64]]:
        cost = np.concatenate([self.no @ pool.covers, self.yes[positive]])
        cover = csr_array(-pool.covers[positive].astype(np.float64))
        sizes = csr_array(pool.sizes[None, :].astype(np.float64))
        matrix = block_array([[cover, -eye_array(len(positive))], [sizes, None]], format="csr")
        return cost, matrix, np.concatenate([-np.ones(len(positive)), [float(self.bound)]])
