"""Smallest change of one row that changes the answer of a rule set, found exactly by an integer program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import is_missing
from logiclens.formula.column_states import (
    Unit,
    cells_of,
    concepts_of,
    known_in,
    linked,
    now,
    packed_row,
    shown,
    state_words,
    units_of,
)
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.packed_rows import unknown_concept
from logiclens.formula.possible_dates import dates_exist
from logiclens.formula.predicate import Predicate, Scalar
from logiclens.formula.rules import DecisionRules
from logiclens.words import for_reading

NOTHING: Mapping[str, bool] = {}


class PossibleRows:
    """An integer program over rows: one 0/1 variable per concept; each raw column must have one value.

    Add constraints, then `solve` returns the cheapest row, or None if there is none.

    >>> rows = PossibleRows([], ["a", "b"])
    >>> rows.respect(Groups([["a", "b"]]))
    >>> rows.forbid(Cube([Literal("a", False), Literal("b", False)]))
    >>> rows.solve({rows.place["a"]: 1.0})
    {'a': False, 'b': True}
    """

    def __init__(
        self,
        units: Sequence[Unit],
        concepts: Iterable[str],
        also: Mapping[str, bool] = NOTHING,
        *,
        missing: bool = False,
        may_miss: Collection[str] | None = (),
    ) -> None:
        """Start from columns and their concepts.

        `also` is a row that is allowed even if it is impossible. With `missing`, a column may have no value if the
        rules ask whether it is missing. `may_miss` are the dates that may have no value, None for all.
        """
        self.lower: list[float] = []
        self.upper: list[float] = []
        self._cells: list[tuple[int, int, float]] = []
        self._bounds: list[tuple[float, float]] = []
        self.place = {concept: self.variable() for concept in concepts}
        self._dates: list[_Dates] = []
        asked = [unit.column for unit in units if missing and unit.missing is not None]
        self.require_dates(units, also=also, may_miss=asked or may_miss)
        for unit in units:
            patterns = [state.pattern for state in (unit.every if missing else unit.states)]
            if also:
                # A missing value, or a row of concepts that no value makes, has its own pattern.
                patterns.append(tuple(also[concept] for concept in unit.concepts))
            patterns = list(dict.fromkeys(patterns))
            if len(patterns) == 2 ** len(unit.concepts):
                continue
            chosen = [self.variable() for _ in patterns]
            self.add([(state, 1.0) for state in chosen], 1, 1)
            for j, concept in enumerate(unit.concepts):
                made = [(state, 1.0) for state, pattern in zip(chosen, patterns, strict=True) if pattern[j]]
                self.add([(self.place[concept], -1.0), *made], 0, 0)

    def require_dates(
        self,
        units: Sequence[Unit],
        given: Mapping[str, bool] = NOTHING,
        also: Mapping[str, bool] = NOTHING,
        may_miss: Collection[str] | None = (),
    ) -> None:
        """Require that dates exist for the conditions on dates and their parts, together with the `given` concepts.

        A row with the same conditions as the row `also` is possible in any case. `may_miss` are the columns that may
        have no value, None for all.
        """
        dates = {
            column for unit in units for one in unit.predicates if one.origin is not None for column in one.sources
        }
        meant = {
            concept: one
            for unit in units
            for concept, one in zip(unit.concepts, unit.predicates, strict=True)
            if dates.issuperset(one.sources)
        }
        if meant:
            self._dates.append(_Dates(meant, given, also, may_miss))

    def variable(self) -> int:
        """Add a 0/1 variable and return its place."""
        self.lower.append(0.0)
        self.upper.append(1.0)
        return len(self.lower) - 1

    def add(self, terms: Iterable[tuple[int, float]], low: float = -np.inf, high: float = np.inf) -> None:
        """Require that a weighted sum of variables lies between two bounds."""
        self._cells += [(len(self._bounds), place, weight) for place, weight in terms]
        self._bounds.append((low, high))

    def fix(self, concept: str, value: bool) -> None:
        """Require that a concept has this value."""
        place = self.place[concept]
        self.lower[place] = self.upper[place] = float(value)

    def respect(
        self, groups: Groups, given: Mapping[str, bool] = NOTHING, broken_by: Mapping[str, bool] = NOTHING
    ) -> None:
        """Require that the groups allow the row together with the `given` concepts.

        If the row `broken_by` already breaks a group, the solution may break it as much, not more. Concepts that are
        neither variables nor given are ignored.
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
                # after - before <= 0, with given concepts as constants on the right side.
                sides = ((after, 1.0), (before, -1.0))
                constant = sum(sign * given[name] for name, sign in sides if name in given)
                self.add([(self.place[name], sign) for name, sign in sides if name not in given], high=-constant)

    def fires(self, cube: Cube) -> int:
        """Add a variable that is 1 exactly if the cube holds, and return its place."""
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
        """Require that a cube does not hold."""
        negative = sum(not literal.positive for literal in cube)
        terms = [(self.place[literal.concept], _sign(literal)) for literal in cube]
        self.add(terms, high=len(cube) - 1 - negative)

    def ask(self, formula: DNF | Complement, holds: bool) -> None:
        """Require that a formula holds, or that it does not."""
        if isinstance(formula, Complement):
            self.ask(formula.of, not holds)
        elif holds:
            self.add([(self.fires(cube), 1.0) for cube in formula], low=1)
        else:
            for cube in formula:
                self.forbid(cube)

    def solve(self, cost: Mapping[int, float]) -> dict[str, bool] | None:
        """Return the cheapest row, or None if no row is possible. The solver is deterministic, also for ties."""
        while True:
            found = self._solved(cost)
            impossible = [cube for dates in self._dates if found and (cube := dates.impossible(found)) is not None]
            if not impossible:
                return found
            for cube in impossible:
                self.forbid(cube)

    def _solved(self, cost: Mapping[int, float]) -> dict[str, bool] | None:
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        # One variable that is always 0, because the solver refuses an empty program.
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
        # Without limits, the solver proves a best row (status 0) or that there is none (status 2).
        if result.status not in (0, 2):
            raise RuntimeError(f"the solver gave up: {result.message} This is a defect of logiclens.")
        if result.status == 2:
            return None
        return {concept: bool(result.x[place] > 0.5) for concept, place in self.place.items()}


@dataclass(frozen=True)
class _Dates:
    """The concepts about dates that belong together; see `PossibleRows.require_dates`."""

    predicates: Mapping[str, Predicate]
    given: Mapping[str, bool]
    also: Mapping[str, bool]
    may_miss: Collection[str] | None

    def impossible(self, row: Mapping[str, bool]) -> Cube | None:
        """Return concepts of the row, as few as possible, that no dates have together; None if dates exist."""
        here = {concept: self.given.get(concept, row.get(concept, False)) for concept in self.predicates}
        if (self.also and all(here[concept] == self.also.get(concept) for concept in here)) or self._exist(here):
            return None
        for concept in [name for name in here if name in row and name not in self.given]:
            fewer = {name: value for name, value in here.items() if name != concept}
            here = here if self._exist(fewer) else fewer
        return Cube(Literal(name, value) for name, value in here.items() if name in row and name not in self.given)

    def _exist(self, row: Mapping[str, bool]) -> bool:
        return dates_exist([(self.predicates[name], value) for name, value in row.items()], may_miss=self.may_miss)


def _sign(literal: Literal) -> float:
    return 1.0 if literal.positive else -1.0


@dataclass(frozen=True)
class Change:
    """The change of one raw column, or of 0/1 columns that exclude each other.

    `wanted` describes the value after the change, `was` the value in the row; `concepts` are the concepts that change.
    """

    columns: tuple[str, ...]
    concepts: tuple[str, ...]
    wanted: str
    was: str

    @for_reading
    def __str__(self) -> str:
        """`age below 72.5 (it is 80)`."""
        return f"{self.wanted} ({self.was})"


@dataclass(frozen=True)
class Flip:
    """A smallest change that changes the answer.

    `before` and `after` are the answers: a class, None if undecided, or with `of` whether the formula fires. If no
    change does it, `changes` is empty, `after` is `before`, `row_after` is the row itself, and `reason` says why.
    `target` is the name of what is predicted, where it has one. `of` is the class whose formula was to turn, in words.
    """

    before: Scalar | None
    after: Scalar | None
    changes: tuple[Change, ...]
    row_after: Mapping[str, bool]
    reason: str = ""
    target: str | None = None
    of: str | None = None

    @property
    def possible(self) -> bool:
        """Whether there is a change that changes the answer."""
        return bool(self.changes)

    @for_reading
    def __str__(self) -> str:
        """The answers and the changes."""
        subject = "" if self.target is None else f"{self.target}: "
        if self.of is not None:
            before, after = ("holds" if side else "does not hold" for side in (self.before, self.after))
            if not self.possible:
                return f"{self.of}: {before}, and this stays: {self.reason}"
            return f"{self.of}: {before} -> {after}, if {', and '.join(map(str, self.changes))}"
        if not self.possible:
            stays = f"{self.before} stays" if self.target is None else f"{self.target} stays {self.before}"
            return f"{stays}: {self.reason}"
        return f"{subject}{self.before} -> {self.after}, if {', and '.join(map(str, self.changes))}"


@dataclass(frozen=True)
class _Row:
    """The row to change: its cells, the concepts that matter, and their columns.

    `parts` are the columns that count as one change; `told` are the concepts that describe a change besides those that
    it changes.
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
    """Find the change of the fewest raw columns, then of the fewest concepts, that changes the answer on a row.

    The changed row has one value per raw column and is allowed by the groups of the rules, except for groups that the
    row already breaks. 0/1 concepts of one exclusive group count as one column. No column becomes missing. `frozen`
    names columns and concepts that stay. `to` is the wanted class. `of` changes whether the formula of one class fires;
    it is required if a row can have several labels.

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
    # With `of` the answer is whether a formula fires, not a class.
    about = None if rules.multilabel or of is not None else rules.facts.target
    here = _row(rules, cells_of(row), names)
    target = _target(rules, here.concepts, to, of)
    turned = None if of is None else rules.class_words(rules.rule(of).label)
    absent = [name for unit in here.units for name in unit.sources if is_missing(here.cells.get(name))]
    program = PossibleRows(here.units, here.concepts, also=here.concepts, may_miss=absent)
    program.respect(rules.groups, broken_by=here.concepts)
    for name in names:
        for unit in here.units:
            is_frozen = unit.column == name or name in unit.sources
            for concept in unit.concepts if is_frozen else [c for c in unit.concepts if c == name]:
                program.fix(concept, here.concepts[concept])
    target.ask(program)
    found = program.solve(_cost(program, here))
    if found is None:
        where = "the columns that are not frozen" if names else "any column"
        reason = f"no change of {where} {target.goal}."
        return Flip(target.before, target.before, (), dict(here.concepts), reason, about, turned)
    if not target.reached(found):
        raise RuntimeError("the changed row does not change the answer; this is a defect of logiclens.")
    return Flip(target.before, target.answer(found), _changes(here, found), found, target=about, of=turned)


def _row(rules: DecisionRules, cells: Mapping[str, Any], frozen: Sequence[str]) -> _Row:
    """Collect the concepts that matter: those of the formulas, the frozen ones, and those linked by a group."""
    meant = [
        name
        for concept, predicate in rules.predicates.items()
        for name in (concept, predicate.column, *predicate.sources)
    ]
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
    return _Row(rules, cells, concepts_of(rules, concepts, cells), units, parts_of(rules, units), told)


def parts_of(rules: DecisionRules, units: Sequence[Unit]) -> tuple[tuple[Unit, ...], ...]:
    """Return what counts as one change: a column, the 0/1 columns of an exclusive group, or dates with their parts."""
    part = {unit.column: i for i, unit in enumerate(units)}
    for unit in units:
        if unit.column not in unit.sources:
            joined = {part[other.column] for other in units if set(other.sources) & set(unit.sources)}
            part = {column: min(joined) if i in joined else i for column, i in part.items()}
    bare = {unit.column for unit in units if _is_concept_itself(rules, unit)}
    for group in rules.groups.exclusive:
        joined = {part[concept] for concept in group if concept in bare}
        part = {column: min(joined) if i in joined else i for column, i in part.items()}
    return tuple(tuple(u for u in units if part[u.column] == i) for i in dict.fromkeys(part.values()))


def _is_concept_itself(rules: DecisionRules, unit: Unit) -> bool:
    """Return whether a column is a 0/1 concept; a predicate may still ask whether it is missing."""
    compared = [concept for concept in unit.concepts if rules.predicate(concept).operator != "missing"]
    return compared == [unit.column] and unit.column not in rules.predicates


def _cost(program: PossibleRows, row: _Row) -> dict[int, float]:
    """Return the cost of each variable: one changed part costs more than all changed concepts."""
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
        # A cut that no formula uses is not mentioned unless the change passes it: `age is below 72.5` is enough.
        described = [unit for unit in part if unit in changed or _is_found(row, unit, changed)]
        seen = [c for unit in described for c in unit.concepts if c in row.told or c in concepts]
        units = units_of(row.rules, seen)
        # That a date has a value goes without saying where its month is told.
        states = [(unit, unit.state(after)) for unit in units if not _is_implied(unit, units)]
        # Only an unchanged column can be in a state that no value makes.
        wanted = " and ".join(state_words(row.rules, unit, state) for unit, state in states if state is not None)
        columns = tuple(dict.fromkeys(column for unit in changed for column in unit.sources))
        was = [f"{name} is {shown(row.cells[name])}" for name in columns if len(changed) > 1 and name in row.cells]
        told = ", ".join(was) or now(row.rules, changed[0].concepts[0], row.cells)
        changes.append(Change(columns, concepts, wanted, told))
    return tuple(changes)


def _is_found(row: _Row, unit: Unit, changed: Sequence[Unit]) -> bool:
    """Return whether the change gives an unchanged column or part of a date a value: it does not stay as it was."""
    present = {column for other in changed for column in other.sources}
    absent = {column for column in unit.sources if _is_absent(row, column)}
    return bool(absent) and absent <= present


def _is_implied(unit: Unit, units: Sequence[Unit]) -> bool:
    """Return whether a column is only asked for a value, and a part of it is among the units."""
    is_bare = all(predicate.operator == "missing" for predicate in unit.predicates)
    return is_bare and any(unit.column in other.sources for other in units if other is not unit)


def _is_absent(row: _Row, column: str) -> bool:
    if column in row.cells:
        return is_missing(row.cells[column])
    asked = [name for name in row.concepts if row.rules.predicate(name) == Predicate(column, "missing")]
    return any(row.concepts[name] for name in asked)


def ask_answer(program: PossibleRows, rules: DecisionRules, wanted: set[int]) -> None:
    """Require that the rules give a row one of the wanted classes; place -1 means undecided.

    The rules must resolve by order or by confidence.
    """
    # Either a wanted cube fires before every unwanted one, or no unwanted cube fires and `otherwise` is wanted.
    deciding: list[int] = []
    unwanted: list[int] = []
    for line in rules.decisions:
        fired = program.fires(line.cube)
        if line.rule not in wanted:
            unwanted.append(fired)
            continue
        first = program.variable()
        program.add([(first, 1.0), (fired, -1.0)], high=0)
        for earlier in unwanted:
            program.add([(first, 1.0), (earlier, 1.0)], high=1)
        deciding.append(first)
    if (-1 if rules.otherwise is None else rules.otherwise) in wanted:
        left_over = program.variable()
        for fired in unwanted:
            program.add([(left_over, 1.0), (fired, 1.0)], high=1)
        deciding.append(left_over)
    program.add([(variable, 1.0) for variable in deciding], low=1)


class _Target(Protocol):
    """The goal of a change."""

    before: Scalar | None
    goal: str

    def ask(self, program: PossibleRows) -> None:
        """Add the constraints."""

    def answer(self, row: Mapping[str, bool]) -> Scalar | None:
        """Return the answer of the rules on a row."""

    def reached(self, row: Mapping[str, bool]) -> bool:
        """Return whether a row reaches the goal."""


def _target(rules: DecisionRules, row: Mapping[str, bool], to: Scalar | None, of: Scalar | None) -> _Target:
    if of is not None:
        if to is not None:
            raise LogicLensError("pass either to=..., the class wanted, or of=..., the class whose formula is to turn.")
        return _Formula(rules.rule(of).formula, row)
    if rules.multilabel:
        raise LogicLensError("with several labels a row each formula answers for itself: pass of=..., one of them.")
    return _Answer(rules, row, None if to is None else rules.names.index(rules.rule(to).name))


class _Formula:
    """The goal that the formula of one class fires, or no longer fires."""

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
    """The goal of another answer, or of one class if given. Place -1 means undecided."""

    def __init__(self, rules: DecisionRules, row: Mapping[str, bool], to: int | None) -> None:
        self.rules = rules
        self.place = self._place(row)
        self.before = self.answer(row)
        if to == self.place:
            raise LogicLensError(
                f"the answer is {quoted(self.before)} already: ask for another class, or for any with to=None."
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
        ask_answer(program, self.rules, self.wanted)

    def _ask_for_one_formula(self, program: PossibleRows) -> None:
        """Require that the formula of a wanted class is the only one that fires."""
        fires = []
        for rule in self.rules.rules:
            cubes, some = [program.fires(cube) for cube in rule.cubes], program.variable()
            for cube in cubes:
                program.add([(some, 1.0), (cube, -1.0)], low=0)
            program.add([(some, 1.0), *((cube, -1.0) for cube in cubes)], high=float(rule.is_complement))
            fires.append(some)
        if any(rule.is_complement for rule in self.rules.rules):
            # With a complement, exactly one of the two classes fires.
            program.add([(some, 1.0) for some in fires], low=1, high=1)
        if self.place >= 0 and self.to is None:
            # Not only this formula: it does not fire, or another one fires too.
            program.add([(some, -1.0 if i == self.place else 1.0) for i, some in enumerate(fires)], low=0)
            return
        program.add([(some, 1.0) for some in fires], low=1, high=1)
        program.add([(fires[place], 1.0) for place in sorted(self.wanted)], low=1)
