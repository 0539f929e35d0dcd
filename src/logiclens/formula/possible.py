"""PossibleRows: an integer program whose solutions are the rows that can be, for questions of "is there a row that"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.states import Unit

NOTHING: Mapping[str, bool] = {}


class PossibleRows:
    """One 0/1 variable for each concept, tied so that one value of each raw column makes the whole pattern.

    Constraints are added, then `solve` gives the cheapest row under them, or None where there is none.

    >>> rows = PossibleRows([], ["a", "b"])
    >>> rows.respect(Groups([["a", "b"]]))
    >>> rows.forbid(Cube([Literal("a", False), Literal("b", False)]))
    >>> rows.solve({rows.place["a"]: 1.0})
    {'a': False, 'b': True}
    """

    def __init__(
        self,
        units: Iterable[Unit],
        concepts: Iterable[str],
        also: Mapping[str, bool] = NOTHING,
        *,
        missing: bool = False,
    ) -> None:
        """Start from columns and their concepts.

        `also` is a row that may be left as it is, possible or not; with `missing`, a column that the rules ask about
        may have no value.
        """
        self.lower: list[float] = []
        self.upper: list[float] = []
        self._cells: list[tuple[int, int, float]] = []
        self._bounds: list[tuple[float, float]] = []
        self.place = {concept: self.variable() for concept in concepts}
        for unit in units:
            patterns = [state.pattern for state in (unit.every if missing else unit.states)]
            if also:
                # A missing value, or a row of concepts that no value makes, has a pattern of its own.
                patterns.append(tuple(also[concept] for concept in unit.concepts))
            patterns = list(dict.fromkeys(patterns))
            if len(patterns) == 2 ** len(unit.concepts):
                continue
            chosen = [self.variable() for _ in patterns]
            self.add([(state, 1.0) for state in chosen], 1, 1)
            for j, concept in enumerate(unit.concepts):
                made = [(state, 1.0) for state, pattern in zip(chosen, patterns, strict=True) if pattern[j]]
                self.add([(self.place[concept], -1.0), *made], 0, 0)

    def variable(self) -> int:
        """A new 0/1 variable, by its place."""
        self.lower.append(0.0)
        self.upper.append(1.0)
        return len(self.lower) - 1

    def add(self, terms: Iterable[tuple[int, float]], low: float = -np.inf, high: float = np.inf) -> None:
        """Ask that a weighted sum of variables lies between two bounds."""
        self._cells += [(len(self._bounds), place, weight) for place, weight in terms]
        self._bounds.append((low, high))

    def fix(self, concept: str, value: bool) -> None:
        """Ask that a concept has this value."""
        place = self.place[concept]
        self.lower[place] = self.upper[place] = float(value)

    def respect(
        self, groups: Groups, given: Mapping[str, bool] = NOTHING, broken_by: Mapping[str, bool] = NOTHING
    ) -> None:
        """Ask what the groups ask, with some further concepts `given`; a row that breaks a group may not break it more.

        Concepts that are neither variables nor given are not looked at.
        """
        here = groups.among([*self.place, *given])
        for group in here.exclusive:
            free = [(self.place[name], 1.0) for name in group if name not in given]
            taken = sum(given.get(name, False) for name in group)
            self.add(free, high=max(1, sum(broken_by.get(name, False) for name in group)) - taken)
        for chain in here.implied:
            for before, after in pairwise(chain):
                if broken_by.get(after, False) and not broken_by.get(before, True):
                    continue
                # after - before <= 0, with what is given on the other side.
                sides = ((after, 1.0), (before, -1.0))
                constant = sum(sign * given[name] for name, sign in sides if name in given)
                self.add([(self.place[name], sign) for name, sign in sides if name not in given], high=-constant)

    def fires(self, cube: Cube) -> int:
        """A variable that is 1 exactly where the cube holds."""
        fired = self.variable()
        for literal in cube:
            # fired <= literal, where a negative literal is 1 - concept.
            self.add(
                [(fired, 1.0), (self.place[literal.concept], -_sign(literal))], high=0.0 if literal.positive else 1.0
            )
        negative = sum(not literal.positive for literal in cube)
        terms = [(self.place[literal.concept], _sign(literal)) for literal in cube]
        self.add([*terms, (fired, -1.0)], high=len(cube) - 1 - negative)
        return fired

    def forbid(self, cube: Cube) -> None:
        """Ask that a cube does not hold."""
        negative = sum(not literal.positive for literal in cube)
        terms = [(self.place[literal.concept], _sign(literal)) for literal in cube]
        self.add(terms, high=len(cube) - 1 - negative)

    def ask(self, formula: DNF | Complement, holds: bool) -> None:
        """Ask that a formula holds, or that it does not."""
        if isinstance(formula, Complement):
            self.ask(formula.of, not holds)
        elif holds:
            self.add([(self.fires(cube), 1.0) for cube in formula], low=1)
        else:
            for cube in formula:
                self.forbid(cube)

    def solve(self, cost: Mapping[int, float]) -> dict[str, bool] | None:
        """The cheapest row, or None where no row is possible; ties go as the solver's fixed order has them."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        # A variable that is always 0, since the solver refuses an empty program.
        n = len(self.lower) + 1
        price = np.zeros(n)
        for place, weight in cost.items():
            price[place] = weight
        at, places, weights = zip(*self._cells, strict=True) if self._cells else ((), (), ())
        matrix = csr_array((np.array(weights, float), (at, places)), shape=(len(self._bounds), n))
        low, high = np.array(self._bounds, float).reshape(-1, 2).T
        result = milp(
            price,
            integrality=np.ones(n),
            bounds=Bounds([*self.lower, 0.0], [*self.upper, 0.0]),
            constraints=LinearConstraint(matrix, low, high) if self._bounds else None,
            options={"mip_rel_gap": 0.0},
        )
        # Without limits the solver proves a best row (0) or that there is none (2).
        if result.status not in (0, 2):
            raise RuntimeError(f"the solver gave up: {result.message} This is a defect of logiclens.")
        if result.status == 2:
            return None
        return {concept: bool(result.x[place] > 0.5) for concept, place in self.place.items()}


def _sign(literal: Literal) -> float:
    return 1.0 if literal.positive else -1.0
