"""The smallest change of one row that changes the answer of a rule set: an integer program, solved exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from logiclens.errors import LogicLensError
from logiclens.formula.column_states import (
    Unit,
    cells_of,
    concepts_of,
    known_in,
    linked,
    now,
    packed_row,
    shown,
    units_of,
)
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.packed_rows import unknown_concept
from logiclens.formula.predicate import Scalar
from logiclens.formula.rules import DecisionRules

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


@dataclass(frozen=True)
class Change:
    """What has to become of one raw column, or of 0/1 columns that exclude each other.

    `wanted` is how its value is told after the change, `was` how it stands in the row, and `concepts` are those that
    change.
    """

    columns: tuple[str, ...]
    concepts: tuple[str, ...]
    wanted: str
    was: str

    def __str__(self) -> str:
        """`age below 72.5 (it is 80)`."""
        return f"{self.wanted} ({self.was})"


@dataclass(frozen=True)
class Flip:
    """A smallest change that changes the answer.

    `before` and `after` are the answers: a class, None where nobody decides, or whether the formula fires where one
    class was asked for. Where no change does it, `changes` is empty, `after` is `before`, `row_after` is the row as it
    is, and `reason` says why.
    """

    before: Scalar | None
    after: Scalar | None
    changes: tuple[Change, ...]
    row_after: Mapping[str, bool]
    reason: str = ""

    @property
    def possible(self) -> bool:
        """Whether some change changes the answer."""
        return bool(self.changes)

    def __str__(self) -> str:
        """The answers and the changes."""
        if not self.possible:
            return f"{self.before} stays: {self.reason}"
        return f"{self.before} -> {self.after}, if {', and '.join(map(str, self.changes))}"


@dataclass(frozen=True)
class _Row:
    """The row that is to change: its cells, the concepts that count, and the columns behind them.

    `parts` are what counts as one change, and `told` the concepts that a change is told by, besides those it changes.
    """

    rules: DecisionRules
    cells: Mapping[str, Any]
    concepts: Mapping[str, bool]
    units: tuple[Unit, ...]
    parts: tuple[tuple[Unit, ...], ...]
    told: frozenset[str]


def flip(
    rules: DecisionRules, row: Any, *, frozen: Sequence[str] = (), to: Scalar | None = None, of: Scalar | None = None
) -> Flip:
    """A change of the fewest raw columns, then of the fewest concepts, that changes the answer on a row.

    One value of each raw column must make the changed row, and the groups of the rules must allow it: what the row
    already breaks it may go on breaking. 0/1 concepts of one exclusive group count as one column. A column is never
    changed to a missing value. `to` asks for a class; `of` asks that the formula of a class fires where it does not, or
    the other way round, and is what several labels a row need.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.predicate import Predicate
    >>> from logiclens.formula.rule_set import Rule, RuleSet
    >>> rules = RuleSet((Rule("ill", parse("old & smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 72.5)}, otherwise=1)
    >>> print(flip(rules, {"age": 80, "smoker": True}, frozen=["smoker"]))
    ill -> well, if age is below 72.5 (it is 80)
    >>> print(flip(rules, {"age": 60, "smoker": False}, frozen=["age"]))
    well stays: no change of the columns that are not frozen changes the answer.
    """
    names = [frozen] if isinstance(frozen, str) else list(frozen)
    here = _row(rules, cells_of(row), names)
    target = _target(rules, here.concepts, to, of)
    program = PossibleRows(here.units, here.concepts, also=here.concepts)
    program.respect(rules.groups, broken_by=here.concepts)
    for name in names:
        for unit in here.units:
            for concept in unit.concepts if unit.column == name else [c for c in unit.concepts if c == name]:
                program.fix(concept, here.concepts[concept])
    target.ask(program)
    found = program.solve(_cost(program, here))
    if found is None:
        where = "the columns that are not frozen" if names else "any column"
        return Flip(target.before, target.before, (), dict(here.concepts), f"no change of {where} {target.goal}.")
    if not target.reached(found):
        raise RuntimeError("the changed row does not change the answer; this is a defect of logiclens.")
    return Flip(target.before, target.answer(found), _changes(here, found), found)


def _row(rules: DecisionRules, cells: Mapping[str, Any], frozen: Sequence[str]) -> _Row:
    """The concepts that count: those of the formulas, the frozen ones, and those that a group ties to them."""
    meant = [name for concept, predicate in rules.predicates.items() for name in (concept, predicate.column)]
    known = list(dict.fromkeys([*rules.columns, *rules.concepts, *meant, *rules.groups.concepts, *cells]))
    for name in frozen:
        if name not in known:
            raise unknown_concept(name, known)
    asked = dict.fromkeys([*rules.concepts, *(name for name in frozen if name in rules.predicates)])
    concepts = [name for name in linked(rules, asked) if name in asked or known_in(rules, name, cells)]
    spanning = [
        name
        for group in (*rules.groups.exclusive, *rules.groups.implied)
        if len({rules.predicate(name).column for name in group}) > 1
        for name in group
    ]
    units = units_of(rules, concepts)
    told = frozenset([*asked, *spanning])
    return _Row(rules, cells, concepts_of(rules, concepts, cells), units, _parts(rules, units), told)


def _parts(rules: DecisionRules, units: Sequence[Unit]) -> tuple[tuple[Unit, ...], ...]:
    """What counts as one change: a column, or the 0/1 columns of an exclusive group."""
    part = {unit.column: i for i, unit in enumerate(units)}
    bare = {unit.column for unit in units if _is_concept_itself(rules, unit)}
    for group in rules.groups.exclusive:
        joined = {part[concept] for concept in group if concept in bare}
        part = {column: min(joined) if i in joined else i for column, i in part.items()}
    return tuple(tuple(u for u in units if part[u.column] == i) for i in dict.fromkeys(part.values()))


def _is_concept_itself(rules: DecisionRules, unit: Unit) -> bool:
    """Whether a column is a 0/1 concept, which at most is also asked whether it is missing."""
    compared = [concept for concept in unit.concepts if rules.predicate(concept).operator != "missing"]
    return compared == [unit.column] and unit.column not in rules.predicates


def _cost(program: PossibleRows, row: _Row) -> dict[int, float]:
    """The price of each variable: one changed part outweighs all changed concepts."""
    cost: dict[int, float] = {}
    for part in row.parts:
        changed = program.variable()
        cost[changed] = len(row.concepts) + 1.0
        for concept in (concept for unit in part for concept in unit.concepts):
            place, sign = program.place[concept], -1.0 if row.concepts[concept] else 1.0
            cost[place] = sign
            # changed >= |concept - its value in the row|
            program.add([(changed, 1.0), (place, -sign)], low=float(row.concepts[concept]))
    return cost


def _changes(row: _Row, after: Mapping[str, bool]) -> tuple[Change, ...]:
    changes = []
    for part in row.parts:
        concepts = tuple(c for unit in part for c in unit.concepts if after[c] != row.concepts[c])
        if not concepts:
            continue
        changed = [unit for unit in part if any(concept in concepts for concept in unit.concepts)]
        # A cut that no formula looks at is not told, unless it is passed: `age is below 72.5` says enough.
        seen = [c for unit in changed for c in unit.concepts if c in row.told or c in concepts]
        states = [unit.state(after) for unit in units_of(row.rules, seen)]
        # Only a column that stays as it is may be in a state that no value makes.
        wanted = " and ".join(state.words for state in states if state is not None)
        was = [f"{unit.column} is {shown(row.cells[unit.column])}" for unit in changed if len(changed) > 1]
        told = ", ".join(was) or now(row.rules, changed[0].concepts[0], row.cells)
        changes.append(Change(tuple(unit.column for unit in changed), concepts, wanted, told))
    return tuple(changes)


class _Target(Protocol):
    """What the changed row is to bring about."""

    before: Scalar | None
    goal: str

    def ask(self, program: PossibleRows) -> None:
        """Add the constraints."""

    def answer(self, row: Mapping[str, bool]) -> Scalar | None:
        """What the rules say of a row."""

    def reached(self, row: Mapping[str, bool]) -> bool:
        """Whether that is what was wanted."""


def _target(rules: DecisionRules, row: Mapping[str, bool], to: Scalar | None, of: Scalar | None) -> _Target:
    if of is not None:
        if to is not None:
            raise LogicLensError("pass either to=..., the class wanted, or of=..., the class whose formula is to turn.")
        return _Formula(rules.rule(of).formula, row)
    if rules.multilabel:
        raise LogicLensError("with several labels a row each formula answers for itself: pass of=..., one of them.")
    return _Answer(rules, row, None if to is None else rules.names.index(rules.rule(to).name))


class _Formula:
    """Turn whether the formula of one class fires."""

    def __init__(self, formula: DNF | Complement, row: Mapping[str, bool]) -> None:
        self.formula = formula
        self.before: Scalar | None = self.answer(row)
        self.goal = "keeps the formula from firing" if self.before else "makes the formula fire"

    def ask(self, program: PossibleRows) -> None:
        program.ask(self.formula, not self.before)

    def answer(self, row: Mapping[str, bool]) -> Scalar | None:
        return bool(self.formula.evaluate(packed_row(row))[0])

    def reached(self, row: Mapping[str, bool]) -> bool:
        return self.answer(row) != self.before


class _Answer:
    """Change the answer of all rules together, to one class if given. Place -1: nobody decides."""

    def __init__(self, rules: DecisionRules, row: Mapping[str, bool], to: int | None) -> None:
        self.rules = rules
        self.place = self._place(row)
        self.before = self.answer(row)
        if to == self.place:
            raise LogicLensError(
                f"the answer is {self.before!r} already: ask for another class, or for any with to=None."
            )
        self.to = to
        self.wanted = {to} if to is not None else set(range(-1, len(rules.rules))) - {self.place}
        self.goal = "changes the answer" if to is None else f"makes the answer {rules.rules[to].label!r}"

    def _place(self, row: Mapping[str, bool]) -> int:
        return int(self.rules.predict_places(packed_row(row))[0])

    def answer(self, row: Mapping[str, bool]) -> Scalar | None:
        place = self._place(row)
        return self.rules.rules[place].label if place >= 0 else None

    def reached(self, row: Mapping[str, bool]) -> bool:
        return self._place(row) in self.wanted

    def ask(self, program: PossibleRows) -> None:
        if self.rules.resolve == "none":
            self._ask_for_one_formula(program)
            return
        # Some wanted cube fires before any that is not wanted, or none of these fires and `otherwise` is wanted.
        deciding: list[int] = []
        unwanted: list[int] = []
        for line in self.rules.decisions:
            fired = program.fires(line.cube)
            if line.rule not in self.wanted:
                unwanted.append(fired)
                continue
            first = program.variable()
            program.add([(first, 1.0), (fired, -1.0)], high=0)
            for earlier in unwanted:
                program.add([(first, 1.0), (earlier, 1.0)], high=1)
            deciding.append(first)
        if (-1 if self.rules.otherwise is None else self.rules.otherwise) in self.wanted:
            left_over = program.variable()
            for fired in unwanted:
                program.add([(left_over, 1.0), (fired, 1.0)], high=1)
            deciding.append(left_over)
        program.add([(variable, 1.0) for variable in deciding], low=1)

    def _ask_for_one_formula(self, program: PossibleRows) -> None:
        """The class whose formula fires alone is the answer."""
        fires = []
        for rule in self.rules.rules:
            cubes, some = [program.fires(cube) for cube in rule.cubes], program.variable()
            for cube in cubes:
                program.add([(some, 1.0), (cube, -1.0)], low=0)
            program.add([(some, 1.0), *((cube, -1.0) for cube in cubes)], high=float(rule.is_complement))
            fires.append(some)
        if any(rule.is_complement for rule in self.rules.rules):
            # Of two classes exactly one fires.
            program.add([(some, 1.0) for some in fires], low=1, high=1)
        if self.place >= 0 and self.to is None:
            # Not this formula alone: it does not fire, or another one does too.
            program.add([(some, -1.0 if i == self.place else 1.0) for i, some in enumerate(fires)], low=0)
            return
        program.add([(some, 1.0) for some in fires], low=1, high=1)
        program.add([(fires[place], 1.0) for place in sorted(self.wanted)], low=1)
