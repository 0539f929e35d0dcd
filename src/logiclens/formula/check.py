"""Whether a formula or a rule set has a property on every possible row; if not, the rows that show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, permutations
from typing import TypeAlias

import numpy as np

from logiclens.errors import LogicLensError, nearest
from logiclens.formula.column_states import State, Unit, linked, packed_row, told, units_of
from logiclens.formula.dnf import DNF, Complement, Cube, implied_by
from logiclens.formula.flip import PossibleRows
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.predicate import Scalar
from logiclens.formula.rules import DecisionRules, Rule
from logiclens.formula.text import parse


@dataclass(frozen=True)
class NeverUses:
    """No cube mentions the column, or the concept."""

    column: str

    def __str__(self) -> str:
        """As it can be written."""
        return f"never uses {self.column!r}"


@dataclass(frozen=True)
class Monotone:
    """Raising the column never turns a yes into a no; or lowering it, where not `increasing`."""

    column: str
    increasing: bool = True

    def __str__(self) -> str:
        """As it can be written."""
        return f"{'increasing' if self.increasing else 'decreasing'} in {self.column!r}"


@dataclass(frozen=True)
class Implies:
    """Where the formula holds, another one holds."""

    formula: DNF

    def __str__(self) -> str:
        """As it can be written."""
        return f"implies {self.formula}"


Property: TypeAlias = NeverUses | Monotone | Implies


def never_uses(column: str) -> NeverUses:
    """The property that no cube mentions a column, or a concept."""
    return NeverUses(column)


def monotone_in(column: str, increasing: bool = True) -> Monotone:
    """The property that a higher (or lower) value of a column never turns a yes into a no; missing values aside.

    A later date is the higher one.
    """
    return Monotone(column, increasing)


def implies(formula: DNF | str) -> Implies:
    """The property that another formula holds wherever this one does."""
    return Implies(parse(formula) if isinstance(formula, str) else formula)


_NAMED = re.compile(r"\s*(never uses|monotone in|increasing in|decreasing in)\s+(?:(['\"])(.+)\2|(\w+))\s*")
_IMPLIES = re.compile(r"\s*implies\s+(.+)", re.DOTALL)


def parse_property(text: str) -> Property:
    """The property that a text states.

    >>> parse_property("monotone in 'income'")
    Monotone(column='income', increasing=True)
    """
    if match := _NAMED.fullmatch(text):
        name = match[3] or match[4]
        return NeverUses(name) if match[1] == "never uses" else Monotone(name, match[1] != "decreasing in")
    if match := _IMPLIES.fullmatch(text):
        return implies(match[1])
    raise LogicLensError(
        f"cannot read the property {text!r}: write \"never uses 'x'\", \"monotone in 'x'\", \"increasing in 'x'\", "
        '"decreasing in \'x\'" or "implies a & ~b".'
    )


@dataclass(frozen=True)
class Counterexample:
    """What shows that a property fails: the cubes at fault and, where there are any, possible rows with their answers.

    For `never uses` and `monotone in` these are two rows that differ in that column only.
    """

    cubes: tuple[Cube, ...]
    rows: tuple[Mapping[str, bool], ...]
    answers: tuple[bool, ...]
    told: str

    def __str__(self) -> str:
        """A sentence."""
        return self.told


@dataclass(frozen=True)
class Check:
    """Whether a property holds, and why; of a rule set also class by class."""

    holds: bool
    property: Property
    reason: str
    counterexample: Counterexample | None = None
    label: Scalar | None = None
    classes: tuple[Check, ...] = ()

    def __str__(self) -> str:
        """A line, and one for each class that fails."""
        head = f"{self.property}: {'yes' if self.holds else 'no'}, {self.reason}"
        return "\n".join([head, *(f"  {part.label}: {part.reason}" for part in self.classes if not part.holds)])


def check_formula(formula: DNF, wanted: Property | str, *, groups: Groups | None = None) -> Check:
    """Whether a formula has a property on all rows that the groups allow; each concept is a column.

    >>> from logiclens.formula import parse
    >>> print(check_formula(parse("one | three"), "decreasing in 'one'"))
    decreasing in 'one': no, where three is not true: yes if one is true, no if one is not true
    """
    rules = DecisionRules((Rule("formula", formula, (0.0,) * len(formula)),), groups=groups or NO_GROUPS)
    return replace(check(rules, wanted).classes[0], label=None)


def check(rules: DecisionRules, wanted: Property | str, *, of: Scalar | None = None) -> Check:
    """Whether the formula of every class, or of the class `of`, has a property on all possible rows.

    One value of each raw column makes a possible row, and the groups of the rules allow it; where the rules ask whether
    a column is missing, it may be. A column is used when a formula mentions one of its concepts, whether or not that
    ever matters.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.predicate import Predicate
    >>> from logiclens.formula.check import monotone_in
    >>> from logiclens.formula.rule_set import Rule, RuleSet
    >>> rules = RuleSet((Rule("yes", parse("rich & ~old"), (0.9,)), Rule("no", parse("~rich"), (0.9,))),
    ...                 {"rich": Predicate("income", ">=", 50), "old": Predicate("age", ">=", 60)})
    >>> print(check(rules, monotone_in("income")))
    increasing in 'income': no, 1 of 2 classes fails
      no: yes if income is below 50, no if income is at least 50
    >>> check(rules, "never uses 'gender'").reason
    "no cube mentions 'gender'"
    """
    asked = parse_property(wanted) if isinstance(wanted, str) else wanted
    if not isinstance(asked, NeverUses | Monotone | Implies):
        raise LogicLensError(f"expected a property such as never_uses('gender'), got {type(asked).__name__}.")
    chosen = rules.rules if of is None else (rules.rule(of),)
    classes = tuple(replace(_check(rules, rule.formula, asked), label=rule.label) for rule in chosen)
    failing = [part for part in classes if not part.holds]
    if failing:
        n_fail = f"{len(failing)} of {len(classes)} classes {'fails' if len(failing) == 1 else 'fail'}"
        return Check(False, asked, n_fail, failing[0].counterexample, classes=classes)
    reasons = dict.fromkeys(part.reason for part in classes)
    reason = next(iter(reasons)) if len(reasons) == 1 else f"all {len(classes)} classes have it"
    return Check(True, asked, reason, classes=classes)


def _check(rules: DecisionRules, formula: DNF | Complement, asked: Property) -> Check:
    if isinstance(asked, Implies):
        return _check_implies(rules, formula, asked)
    question = _Question.of(rules, formula, asked.column)
    written = formula.of if isinstance(formula, Complement) else formula
    cubes = tuple(cube for cube in written if not question.about.isdisjoint(cube.concepts))
    if not cubes:
        near = nearest(asked.column, question.names)
        # A slip in the name would pass unseen otherwise.
        hint = f"; did you mean {near!r}?" if near and asked.column not in question.names else ""
        return Check(True, asked, f"no cube mentions {asked.column!r}{hint}")
    if isinstance(asked, NeverUses):
        found = question.first(question.pairs(), cubes)
        where = f"{asked.column!r} is in {' | '.join(f'({cube})' for cube in cubes)}"
        if found is None:
            never = "but never matters: no two possible rows that differ there only are answered differently"
            return Check(False, asked, f"{where}, {never}", Counterexample(cubes, (), (), f"{where}, {never}"))
        return Check(False, asked, f"{where}: {found.told}", found)
    found = question.first(question.steps(asked.increasing), cubes)
    if found is None:
        return Check(True, asked, f"no step of {asked.column!r} turns a yes into a no")
    return Check(False, asked, found.told, found)


def _check_implies(rules: DecisionRules, formula: DNF | Complement, asked: Implies) -> Check:
    if not implied_by(formula, asked.formula):
        concepts = linked(rules, (*formula.concepts, *asked.formula.concepts))
        program = PossibleRows(units_of(rules, concepts), concepts, missing=True)
        program.respect(rules.groups)
        found = _solve(program, formula, asked.formula)
        if found is not None:
            row = {c: found[c] for c in dict.fromkeys((*formula.concepts, *asked.formula.concepts))}
            own = () if isinstance(formula, Complement) else formula.cubes
            cubes = tuple(cube for cube in own if DNF([cube]).evaluate(packed_row(row))[0])
            where = _told(rules, found, formula, asked.formula)
            reason = (
                f"it fires {f'where {where}' if where else 'on every row'}, and {asked.formula} does not hold there"
            )
            return Check(False, asked, reason, Counterexample(cubes, (row,), (True,), reason))
    return Check(True, asked, "it does on every possible row")


def _allowed(rules: DecisionRules, unit: Unit, state: State) -> bool:
    return bool(rules.groups.allows(np.array([state.pattern], dtype=np.bool_), unit.concepts)[0])


def _solve(program: PossibleRows, yes: DNF | Complement, no: DNF | Complement) -> dict[str, bool] | None:
    """A possible row on which the one formula holds and the other does not, with the fewest concepts true."""
    program.ask(yes, True)
    program.ask(no, False)
    return program.solve(dict.fromkeys(program.place.values(), 1.0))


def _told(rules: DecisionRules, row: Mapping[str, bool], yes: DNF | Complement, no: DNF | Complement) -> str:
    """As much of a row as makes the one formula hold and the other not, told on the raw columns; empty for any row."""
    needed: dict[str, None] = {}
    # What a complement refers to fails where the complement holds.
    holding = [yes] if isinstance(yes, DNF) else []
    failing = [no] if isinstance(no, DNF) else []
    holding += [no.of] if isinstance(no, Complement) else []
    failing += [yes.of] if isinstance(yes, Complement) else []
    for formula in holding:
        fired = next(cube for cube in formula if all(row[literal.concept] == literal.positive for literal in cube))
        needed |= dict.fromkeys(fired.concepts)
    for cube in (cube for formula in failing for cube in formula):
        lacking = [literal.concept for literal in cube if row[literal.concept] != literal.positive]
        if not any(concept in needed for concept in lacking):
            needed[lacking[0]] = None
    return " and ".join(told(rules, tuple(needed), row))


@dataclass(frozen=True)
class _Question:
    """A formula and the column that is asked about, or the one `concept` of it.

    `names` are all that could be asked about, `rest` the concepts of other columns that have a say.
    """

    rules: DecisionRules
    formula: DNF | Complement
    names: tuple[str, ...]
    unit: Unit
    concept: str | None
    rest: tuple[str, ...]

    @classmethod
    def of(cls, rules: DecisionRules, formula: DNF | Complement, name: str) -> _Question:
        named = (*rules.concepts, *rules.predicates, *rules.groups.concepts)
        column_of = {concept: rules.predicate(concept).column for concept in dict.fromkeys(named)}
        is_column = name in column_of.values()
        column = name if is_column else column_of.get(name, name)
        counted = linked(rules, formula.concepts)
        here = tuple(concept for concept in counted if column_of[concept] == column)
        unit = units_of(rules, here)[0] if here else Unit(column, (), (), ())
        states, steps = (tuple(s for s in some if _allowed(rules, unit, s)) for some in (unit.states, unit.steps))
        unit = replace(unit, states=states, steps=steps)
        names = tuple(dict.fromkeys((*column_of.values(), *column_of)))
        rest = tuple(concept for concept in counted if concept not in here)
        return cls(rules, formula, names, unit, None if is_column else name, rest)

    @property
    def about(self) -> frozenset[str]:
        """The concepts that count as mentioning what is asked about."""
        return frozenset(self.unit.concepts if self.concept is None else [self.concept])

    def pairs(self) -> list[tuple[State, State]]:
        """Any two states of the column in which what is asked about differs."""
        pairs = list(permutations(self.unit.every, 2))
        if self.concept is None:
            return pairs
        place = self.unit.concepts.index(self.concept)
        return [(p, q) for p, q in pairs if p.pattern[place] != q.pattern[place]]

    def steps(self, increasing: bool) -> Iterable[tuple[State, State]]:
        """From which state to which a yes must not become a no."""
        if self.concept is not None:
            place = self.unit.concepts.index(self.concept)
            rising = [(p, q) for p, q in self.pairs() if q.pattern[place]]
        elif not self.unit.steps:
            raise LogicLensError(f"{self.unit.column!r} is compared with texts, which have no order: name a concept.")
        else:
            # A step can be barred by a group that allows a longer one; without groups, short steps make up all others.
            groups = (*self.rules.groups.exclusive, *self.rules.groups.implied)
            tied = any(self.about.intersection(group) and not self.about.issuperset(group) for group in groups)
            rising = list(combinations(self.unit.steps, 2) if tied else pairwise(self.unit.steps))
        return rising if increasing else [(q, p) for p, q in rising]

    def first(self, steps: Iterable[tuple[State, State]], cubes: tuple[Cube, ...]) -> Counterexample | None:
        """The first step that some possible row answers with a yes before and a no after."""
        for before, after in steps:
            patterns = [dict(zip(self.unit.concepts, state.pattern, strict=True)) for state in (before, after)]
            yes, no = (self.formula.given(pattern) for pattern in patterns)
            if implied_by(yes, no):
                continue
            program = PossibleRows(units_of(self.rules, self.rest), self.rest, missing=True)
            for pattern in patterns:
                program.respect(self.rules.groups, given=pattern)
            rest = _solve(program, yes, no)
            if rest is not None:
                context = _told(self.rules, rest, yes, no)
                words = f"where {context}: " if context else ""
                words += ", ".join(f"{a} if {self._words(p)}" for p, a in zip(patterns, ("yes", "no"), strict=True))
                return self._shown([{**rest, **pattern} for pattern in patterns], cubes, words)
        return None

    def _words(self, pattern: Mapping[str, bool]) -> str:
        """The state of the column, as far as the formula looks at it."""
        words = told(self.rules, [concept for concept in self.formula.concepts if concept in pattern], pattern)
        return words[0] if words else self.unit.column

    def _shown(self, rows: list[dict[str, bool]], cubes: tuple[Cube, ...], words: str) -> Counterexample:
        shown = tuple({concept: row[concept] for concept in self.formula.concepts} for row in rows)
        if [bool(self.formula.evaluate(packed_row(row))[0]) for row in shown] != [True, False]:
            raise RuntimeError("a counterexample does not show what it should; this is a defect of logiclens.")
        return Counterexample(cubes, shown, (True, False), words)
