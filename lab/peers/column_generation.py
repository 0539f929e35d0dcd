"""A Boolean rule set by column generation (Dash, Günlük and Wei 2018): a linear program asks for the cubes it lacks.

The rule set with the fewest errors, among those of a bounded size, is an integer program with a column for every cube.
Its relaxation is solved over few columns; its prices then say which cube would help most, and that cube is added.

Errors are counted as in that paper: a positive row that no cube covers is one, a negative row is one for each cube that
covers it. The size of a rule set, bounded by C, is 1 for each cube and 1 for each of its literals.

What is exact: the linear program over the columns at hand; the search for cubes whenever it ends within `search_nodes`;
the integer program whenever it ends within `solver_nodes`. If all of them did, the rule set is proved the best there is
for its bound, of cubes with at most `max_width` literals, and the notes say so. Otherwise it is made of the cubes
that a beam search and the unfinished search found. No limit is a time, so that a result does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.peers.learner import ClassRule, Items, Learned, YesNo, one_against_rest
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF
from logiclens.metrics.scores import macro_f1

BEAM = 50
"""Number of cubes of one width that the quick search extends."""

HELPS = 1e-6
"""A cube that improves the linear program by less only exploits rounding errors."""


@dataclass(frozen=True, eq=False)
class Cubes:
    """Columns of the program: numbered literals, and the rows they cover, `[rows, cubes]`."""

    items: tuple[Items, ...]
    covers: NDArray[np.bool_]

    @classmethod
    def of(cls, items: Iterable[Items], literals: NDArray[np.bool_]) -> Cubes:
        """Return these cubes on rows of literals."""
        listed = tuple(items)
        covers = np.ones((len(literals), len(listed)), dtype=np.bool_)
        for k, each in enumerate(listed):
            covers[:, k] = literals[:, each].all(axis=1)
        return cls(listed, covers)

    def __len__(self) -> int:
        """Return the number of cubes."""
        return len(self.items)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Return the size of each cube: 1 plus 1 per literal."""
        return np.array([1 + len(items) for items in self.items], dtype=np.intp)

    def take(self, chosen: NDArray[np.intp]) -> Cubes:
        """Return some of the cubes."""
        return Cubes(tuple(self.items[k] for k in chosen), self.covers[:, chosen])

    def join(self, other: Cubes) -> Cubes:
        """Return these cubes, followed by the others that are not among them."""
        known = set(self.items)
        new = [k for k, items in enumerate(other.items) if items not in known]
        return Cubes((*self.items, *(other.items[k] for k in new)), np.hstack([self.covers, other.covers[:, new]]))


@dataclass(frozen=True, eq=False)
class Prices:
    """The dual prices of a solved linear program, which rate cubes that it does not have.

    Args:
        value: the cost of covering each row; negative if covering it is a gain.
        size: the cost of each cube and each literal.
        least: the value of the linear program.
    """

    value: NDArray[np.float64]
    size: float
    least: float

    def of(self, cubes: Cubes) -> NDArray[np.float64]:
        """Return the reduced cost of each cube: how much it changes the linear program at first."""
        cost: NDArray[np.float64] = self.value @ cubes.covers + self.size * cubes.sizes
        return cost


@dataclass(frozen=True)
class Search:
    """Limits of a search: the width of a cube, the cubes to extend in an exact search, and the cubes to return."""

    max_width: int
    nodes: int
    at_most: int


def best_cubes(literals: NDArray[np.bool_], prices: Prices, search: Search) -> list[Items]:
    """Find cubes that improve the linear program by a beam search: fast, but no proof if it finds none."""
    columns, n_literals = literals.astype(np.float64), literals.shape[1]
    beam: list[Items] = [()]
    covers, found = np.ones((1, len(literals))), dict[Items, float]()
    for width in range(1, search.max_width + 1):
        costs = (covers * prices.value) @ columns + prices.size * (1 + width)
        for i, items in enumerate(beam):
            costs[i, list(items)] = np.inf
        children: dict[Items, tuple[float, int, int]] = {}
        for flat in np.argsort(costs, axis=None, kind="stable")[: BEAM * width].tolist():
            i, j = divmod(flat, n_literals)
            # The same cube is reached once from each of its literals.
            children.setdefault(tuple(sorted((*beam[i], j))), (float(costs[i, j]), i, j))
        children = dict(list(children.items())[:BEAM])
        found |= {items: cost for items, (cost, _, _) in children.items() if cost < -HELPS}
        covers = np.stack([covers[i] * columns[:, j] for _, i, j in children.values()])
        beam = list(children)
    return sorted(found, key=lambda items: (found[items], items))[: search.at_most]


def cubes_below(literals: NDArray[np.bool_], prices: Prices, limit: float, search: Search) -> tuple[list[Items], bool]:
    """Return cubes that cost less than `limit`, and whether these are all: the search met neither of its limits.

    A literal is only added if it removes rows: otherwise the cube without it covers the same rows and is smaller, so
    every cube left out has a smaller equivalent that is found. A cube is only extended if some extension can cost less
    than the limit: at best it keeps every row worth covering and loses every other.
    """
    columns, worth = literals.astype(np.float64), np.minimum(prices.value, 0)
    found: list[Items] = [()] if float(prices.value.sum()) + prices.size < limit else []
    waiting: list[tuple[Items, NDArray[np.intp]]] = [((), np.arange(len(literals)))]
    for _ in range(search.nodes):
        if not waiting:
            return found, True
        items, covered = waiting.pop()
        # Literals in ascending order, so that every cube is visited once.
        start = items[-1] + 1 if items else 0
        part, size = columns[covered, start:], 2 + len(items)
        count, cost, at_best = part.sum(axis=0), prices.value[covered] @ part, worth[covered] @ part
        changes = (count > 0) & (count < len(covered))
        found += [(*items, start + j) for j in np.flatnonzero(changes & (cost + prices.size * size < limit)).tolist()]
        if len(found) > search.at_most:
            return found[: search.at_most], False
        if len(items) + 1 < search.max_width:
            extended = np.flatnonzero(changes & (at_best + prices.size * (size + 1) < limit))
            # The most promising is last, and so taken first.
            for j in extended[np.argsort(-at_best[extended], kind="stable")].tolist():
                waiting.append(((*items, start + j), covered[literals[covered, start + j]]))
    return found, not waiting


AT_ONCE = 20
"""Maximum number of cubes added in one round."""

ACTIVE = 150
"""Number of cubes that the linear program keeps after a round; the others may return when they help."""

OFFERED = 150
"""Maximum number of cubes in the integer program: those that cost least."""

GAP_CUBES = 5_000
"""Maximum number of cubes added at once to prove a rule set optimal."""

TOLERANCE = 1e-6
"""Numerical tolerance of the solvers; errors are integers."""


@dataclass(frozen=True)
class ColumnGeneration:
    """A rule set by column generation, one class against the rest; its bound is chosen on the validation rows.

    Args:
        bounds: sizes C to try, ascending; the one with the highest macro-F1 on the validation rows is taken, the
            smaller of two equals.
        max_width: maximum number of literals in a cube.
        rounds: maximum number of rounds that add cubes, per bound.
        search_nodes: maximum number of cubes that one search may extend.
        solver_nodes: maximum number of nodes of one integer program.
        sample: the classes to learn; default: all (see `one_against_rest`).
    """

    bounds: tuple[int, ...] = (5, 10, 20, 40)
    max_width: int = 5
    rounds: int = 50
    search_nodes: int = 2_000
    solver_nodes: int = 1_000
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn on the training rows and choose the bound on the validation rows; nothing is random."""
        return one_against_rest(self._learn, train, validation, sample=self.sample)

    def search(self, at_most: int) -> Search:
        """Return the limits of a search for at most this many cubes."""
        return Search(self.max_width, self.search_nodes, at_most)

    def _learn(self, rows: YesNo, held: YesNo) -> ClassRule:
        best, best_score = RuleSearch(DNF.false, 0, 0, proved=False), -1.0
        for found in rule_sets(rows, self):
            score = macro_f1(held.yes, found.formula.evaluate(held.bits, held.names)) if len(held.yes) else 0.0
            if score > best_score + 1e-12:
                best, best_score = found, score
        return ClassRule(best.formula, (best.note,))


@dataclass(frozen=True)
class RuleSearch:
    """The rule set found for one bound.

    Args:
        formula: the rule set.
        bound: the maximum size C.
        errors: its errors on the training rows, as counted in this module.
        proved: whether it is proved that no rule set of this size has fewer errors.
    """

    formula: DNF
    bound: int
    errors: int
    proved: bool

    @property
    def note(self) -> str:
        """Return a sentence about how the search ended."""
        end = "proved to be the fewest" if self.proved else "not proved to be the fewest"
        return f"size at most {self.bound}: {self.errors} errors on the training rows, {end}."


def rule_sets(rows: YesNo, limits: ColumnGeneration) -> tuple[RuleSearch, ...]:
    """Return the rule set of each bound, in order; each starts with the cubes of the one before."""
    first, inverse = distinct(rows.bits)
    yes, no = (np.bincount(inverse[side], minlength=len(first)).astype(np.float64) for side in (rows.yes, ~rows.yes))
    literals = rows.literals[first]
    pool = Cubes.of([(), *((j,) for j in range(literals.shape[1]))], literals)
    chosen, found = np.zeros(0, dtype=np.intp), list[RuleSearch]()
    for bound in limits.bounds:
        master = Master(literals, yes, no, bound, limits)
        pool, prices, complete = master.relaxed(pool)
        chosen, proved = master.best_of(pool, prices, chosen)
        gap = master.errors(pool, chosen) - 1 - prices.least + TOLERANCE
        if complete and proved and gap > 0:
            # A rule set with fewer errors has no cube that costs more than the gap: with all cubes that cost less, the
            # integer program finds the optimum.
            more, ended = cubes_below(literals, prices, gap, limits.search(GAP_CUBES))
            pool = pool.join(Cubes.of(more, literals))
            chosen, proved = master.best_of(pool, prices, chosen)
            complete = ended
        formula, errors = DNF(rows.cube(pool.items[k]) for k in chosen), master.errors(pool, chosen)
        found.append(RuleSearch(formula, bound, errors, complete and proved))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Master:
    """The program that chooses cubes: distinct rows with the number of rows of the class (`yes`) and others (`no`)."""

    literals: NDArray[np.bool_]
    yes: NDArray[np.float64]
    no: NDArray[np.float64]
    bound: int
    limits: ColumnGeneration

    def relaxed(self, pool: Cubes) -> tuple[Cubes, Prices, bool]:
        """Add cubes until none helps; return the cubes, the last prices, and whether it is proved that none helps."""
        search, active, least = self.limits.search(AT_ONCE), np.arange(len(pool)), np.inf
        for _ in range(self.limits.rounds):
            prices = self.prices(pool.take(active))
            costs = prices.of(pool)
            if prices.least < least - TOLERANCE:
                # Only after progress, so that the same cubes cannot come and go for ever.
                active, least = active[np.argsort(costs[active], kind="stable")[:ACTIVE]], prices.least
            lacking = np.flatnonzero(costs < -TOLERANCE)
            if not len(lacking):
                more, ended = best_cubes(self.literals, prices, search), False
                if not more:
                    more, ended = cubes_below(self.literals, prices, -TOLERANCE, search)
                if not more:
                    return pool, prices, ended
                lacking = np.arange(len(pool), len(pool) + len(more))
                pool = pool.join(Cubes.of(more, self.literals))
            active = np.union1d(active, lacking[:AT_ONCE])
        return pool, self.prices(pool), False

    def prices(self, pool: Cubes) -> Prices:
        """Solve the linear program and return its prices."""
        from scipy.optimize import linprog

        positive = np.flatnonzero(self.yes)
        cost, matrix, room = self._program(pool, positive)
        answer = linprog(cost, A_ub=matrix, b_ub=room, method="highs")
        if answer.status != 0:
            raise LogicLensError(f"the linear program was not solved: {answer.message}")
        value = self.no.copy()
        value[positive] += answer.ineqlin.marginals[:-1]
        return Prices(value, float(-answer.ineqlin.marginals[-1]), float(answer.fun))

    def best_of(self, pool: Cubes, prices: Prices, known: NDArray[np.intp]) -> tuple[NDArray[np.intp], bool]:
        """Return the best rule set of these cubes, never worse than the known one, and whether it is proved optimal."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        known = min(known, self.greedy(pool), key=lambda chosen: self.errors(pool, chosen))
        # Cubes that cost more are in no rule set that is at least as good as the known one.
        costs = prices.of(pool)
        offered = np.flatnonzero(costs <= self.errors(pool, known) - prices.least + TOLERANCE)
        offered, all_of_them = offered[np.argsort(costs[offered], kind="stable")][:OFFERED], len(offered) <= OFFERED
        positive = np.flatnonzero(self.yes)
        cost, matrix, room = self._program(pool.take(offered), positive)
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
        # Status 1 is the node limit: there may be a solution or none. SciPy does not know all limits of the solver and
        # then returns status 4 with the limit in words.
        if answer.status not in (0, 1) and "limit reached" not in answer.message:
            raise LogicLensError(f"the integer program was not solved: {answer.message}")
        if answer.x is None:
            return known, False
        chosen = offered[answer.x[: len(offered)] > 0.5]
        better = self.errors(pool, chosen) <= self.errors(pool, known)
        return (chosen if better else known), all_of_them and answer.status == 0

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
        """Return costs, constraints and right-hand sides: cover each positive row or pay for it; keep to the bound."""
        from scipy.sparse import block_array, csr_array, eye_array

        cost = np.concatenate([self.no @ pool.covers, self.yes[positive]])
        cover = csr_array(-pool.covers[positive].astype(np.float64))
        sizes = csr_array(pool.sizes[None, :].astype(np.float64))
        matrix = block_array([[cover, -eye_array(len(positive))], [sizes, None]], format="csr")
        return cost, matrix, np.concatenate([-np.ones(len(positive)), [float(self.bound)]])
