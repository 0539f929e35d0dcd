"""Properties of formulas and rule sets on all possible rows, with a counterexample if they fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, permutations
from typing import TypeAlias

import numpy as np

from logiclens.errors import FormulaSyntaxError, LogicLensError, nearest, quoted
from logiclens.formula.column_states import State, Unit, linked, packed_row, told, units_of
from logiclens.formula.condition import read_condition
from logiclens.formula.dnf import DNF, Complement, Cube, Literal, implied_by, written
from logiclens.formula.flip import PossibleRows
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.predicate import Scalar
from logiclens.formula.rules import DecisionRules, Rule
from logiclens.formula.text import format_formula, parse
from logiclens.words import for_reading


@dataclass(frozen=True)
class NeverUses:
    """The property that no cube mentions a column or a concept."""

    column: str

    @for_reading
    def __str__(self) -> str:
        """As it can be written."""
        return f"never uses {self.column!r}"


@dataclass(frozen=True)
class Monotone:
    """The property that raising a column (or lowering it, if not `increasing`) never makes a formula fail that held."""

    column: str
    increasing: bool = True

    @for_reading
    def __str__(self) -> str:
        """As it can be written."""
        return f"{'increasing' if self.increasing else 'decreasing'} in {self.column!r}"


@dataclass(frozen=True)
class Implies:
    """The property that another formula holds wherever this one does."""

    formula: DNF | Complement

    @for_reading
    def __str__(self) -> str:
        """As it can be written."""
        return f"implies {self.formula}"


@dataclass(frozen=True)
class NeverBoth:
    """The property that no row makes the formulas of two of these classes fire; of any two if none is named."""

    classes: tuple[str, ...] = ()

    @for_reading
    def __str__(self) -> str:
        """As it can be written."""
        return f"never both {' and '.join(map(repr, self.classes))}".rstrip()


Property: TypeAlias = NeverUses | Monotone | Implies | NeverBoth


def never_uses(column: str) -> NeverUses:
    """Return the property that no cube mentions a column or a concept.

    Args:
        column: name of the column or concept.

    >>> from logiclens.formula import parse
    >>> parse("age & ~smoker").check(never_uses("smoker")).holds
    False
    """
    return NeverUses(column)


def monotone_in(column: str, increasing: bool = True) -> Monotone:
    """Return the property that a higher (or lower) value of a column never makes a formula fail that held.

    Missing values are ignored. A later date is higher.

    Args:
        column: name of the column.
        increasing: whether the formula holds for higher values. Default: True.

    >>> from logiclens.formula import parse
    >>> parse("age & ~smoker").check(monotone_in("age")).holds
    True
    """
    return Monotone(column, increasing)


def implies(formula: DNF | Complement | str) -> Implies:
    """Return the property that another formula holds wherever this one does."""
    return Implies(parse(formula) if isinstance(formula, str) else formula)


def never_both(*classes: str) -> NeverBoth:
    """Return the property that no possible row makes the formulas of two classes fire; default: of any two."""
    return NeverBoth(tuple(map(str, classes)))


_NAMED = re.compile(r"\s*(never uses|monotone in|increasing in|decreasing in)\s+(?:(['\"])(.+)\2|(\w+))\s*")
_IMPLIES = re.compile(r"\s*implies\s+(.+)", re.DOTALL)
_BOTH = re.compile(r"\s*never both(?:\s+(['\"]?)(.+)\1\s+and\s+(['\"]?)(.+)\3)?\s*")


def parse_property(text: str) -> Property:
    """Read a property from text.

    >>> parse_property("monotone in 'income'")
    Monotone(column='income', increasing=True)
    """
    if match := _NAMED.fullmatch(text):
        name = match[3] or match[4]
        return NeverUses(name) if match[1] == "never uses" else Monotone(name, match[1] != "decreasing in")
    if match := _IMPLIES.fullmatch(text):
        try:
            return implies(match[1])
        except FormulaSyntaxError as error:
            raise FormulaSyntaxError(
                f"cannot read the formula {quoted(match[1])} after 'implies': {error}", error.column
            ) from None
    if match := _BOTH.fullmatch(text):
        return NeverBoth((match[2], match[4]) if match[2] else ())
    raise LogicLensError(
        f"cannot read the property {quoted(text)}: write \"never uses 'x'\", \"monotone in 'x'\", "
        '"increasing in \'x\'", "decreasing in \'x\'", "implies a & ~b", "never both" or "never both \'a\' and \'b\'".'
    )


@dataclass(frozen=True)
class Counterexample:
    """Why a property fails: the cubes at fault and, if there are any, possible rows with their answers.

    For `never uses` and `monotone in`, these are two rows that differ in that column only.
    """

    cubes: tuple[Cube, ...]
    rows: tuple[Mapping[str, bool], ...]
    answers: tuple[bool, ...]
    told: str

    @for_reading
    def __str__(self) -> str:
        """A sentence."""
        return self.told


@dataclass(frozen=True)
class Check:
    """Whether a property holds and why; for a rule set, also for each class.

    `said` is the statement that a row has the class of `label`, with the name of the target: `died is yes`.
    """

    holds: bool
    property: Property
    reason: str
    counterexample: Counterexample | None = None
    label: Scalar | None = None
    classes: tuple[Check, ...] = ()
    said: str = ""

    @for_reading
    def __str__(self) -> str:
        """A line, and one for each class that fails."""
        head = f"{self.property}: {'yes' if self.holds else 'no'}, {self.reason}"
        return "\n".join(
            [head, *(f"  {part.said or part.label}: {part.reason}" for part in self.classes if not part.holds)]
        )


def check_formula(formula: DNF | Complement, wanted: Property | str, *, groups: Groups | None = None) -> Check:
    """Return whether a formula has a property on all rows that the groups allow; each concept is a column.

    Args:
        formula: the formula; as a method, `DNF.check`, the formula itself.
        wanted: a property, such as `"never uses 'gender'"`.
        groups: which concepts exclude or imply each other. Default: None, every row is possible.

    >>> from logiclens.formula import parse
    >>> print(check_formula(parse("one | three"), "decreasing in 'one'"))
    decreasing in 'one': no, where three is not true, it holds if one is true, and fails if one is not true
    """
    if isinstance(parse_property(wanted) if isinstance(wanted, str) else wanted, NeverBoth):
        raise LogicLensError("'never both' is a property of the rules of several classes: ask the rule set.")
    stated = written(formula)
    rules = [Rule("stated", stated, (0.0,) * len(stated))]
    if isinstance(formula, Complement):
        rules.append(Rule("otherwise", formula, (0.0,)))
    asked = DecisionRules(tuple(rules), groups=groups or NO_GROUPS, otherwise=len(rules) - 1)
    return replace(check(asked, wanted, of=rules[-1].label).classes[0], label=None, said="")


def check(rules: DecisionRules, wanted: Property | str, *, of: Scalar | None = None) -> Check:
    """Check whether the formula of every class, or of the class `of`, has a property on all possible rows.

    A row is possible if one value per raw column makes its concepts and the groups of the rules allow it. A column may
    be missing if the rules ask whether it is. A formula uses a column if it mentions one of its concepts, even if that
    never changes the answer.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.predicate import Predicate
    >>> from logiclens.formula.check import monotone_in
    >>> from logiclens.formula.rule_set import Rule, RuleSet
    >>> rules = RuleSet((Rule("yes", parse("rich & ~old"), (0.9,)), Rule("no", parse("~rich"), (0.9,))),
    ...                 {"rich": Predicate("income", ">=", 50), "old": Predicate("age", ">=", 60)})
    >>> print(check(rules, monotone_in("income")))
    increasing in 'income': no, 1 of 2 classes fails
      the class is no: it holds if income is below 50, and fails if income is at least 50
    >>> check(rules, "never uses 'gender'").reason
    "no rule mentions 'gender'"
    """
    asked = parse_property(wanted) if isinstance(wanted, str) else wanted
    if isinstance(asked, NeverBoth):
        if of is not None:
            raise LogicLensError(
                "'never both' is about two classes: name them in the property, and leave out of= (--of)."
            )
        return _check_both(rules, asked)
    if not isinstance(asked, NeverUses | Monotone | Implies):
        raise LogicLensError(f"expected a property such as never_uses('gender'), got {type(asked).__name__}.")
    if isinstance(asked, Implies):
        rules, asked = _with_conditions(rules, asked)
    chosen = rules.rules if of is None else (rules.rule(of),)
    classes = tuple(
        replace(_check(rules, rule.formula, asked), label=rule.label, said=rules.class_words(rule.label))
        for rule in chosen
    )
    failing = [part for part in classes if not part.holds]
    if failing:
        n_fail = f"{len(failing)} of {len(classes)} classes {'fails' if len(failing) == 1 else 'fail'}"
        n_fail = "the class fails" if len(classes) == 1 else n_fail
        return Check(False, asked, n_fail, failing[0].counterexample, classes=classes)
    reasons = dict.fromkeys(part.reason for part in classes)
    reason = next(iter(reasons)) if len(reasons) == 1 else f"all {len(classes)} classes have it"
    return Check(True, asked, reason, classes=classes)


def _check_both(rules: DecisionRules, asked: NeverBoth) -> Check:
    """Look for a possible row on which two formulas fire."""
    if len(asked.classes) == 1 or len(set(asked.classes)) < len(asked.classes):
        raise LogicLensError(f"two different classes can fire both, got {quoted(list(asked.classes))}.")
    chosen = [rules.rule(name) for name in asked.classes] or list(rules.rules)
    for first, second in combinations(chosen, 2):
        concepts = linked(rules, (*first.formula.concepts, *second.formula.concepts))
        program = PossibleRows(units_of(rules, concepts), concepts, missing=True)
        program.respect(rules.groups)
        program.ask(first.formula, True)
        program.ask(second.formula, True)
        found = program.solve(dict.fromkeys(program.place.values(), 1.0))
        if found is None:
            continue
        row = {c: found[c] for c in dict.fromkeys((*first.formula.concepts, *second.formula.concepts))}
        cubes = tuple(
            cube
            for rule in (first, second)
            for cube in rule.cubes
            if not len(cube) or DNF([cube]).evaluate(packed_row(row))[0]
        )
        needed = tuple(dict.fromkeys(concept for cube in cubes for concept in cube.concepts))
        where = " and ".join(told(rules, needed, found))
        fire = f"the rules of {first.name} and of {second.name} fire"
        reason = f"{fire} where {where}" if needed else f"{fire} on every row"
        return Check(False, asked, reason, Counterexample(cubes, (row,), (True,), reason))
    return Check(True, asked, "no possible row makes the rules of two of these classes fire")


def _check(rules: DecisionRules, formula: DNF | Complement, asked: NeverUses | Monotone | Implies) -> Check:
    if isinstance(asked, Implies):
        return _check_implies(rules, formula, asked)
    question = _Question.of(rules, formula, asked.column)
    stated = written(formula)
    cubes = tuple(cube for cube in stated if not question.about.isdisjoint(cube.concepts))
    if question.parts:
        return question.of_dates(asked, tuple(c for c in stated if not question.with_parts.isdisjoint(c.concepts)))
    if not cubes:
        near = nearest(asked.column, question.names)
        # Without a hint, a typing error in the name would pass unnoticed.
        hint = f"; did you mean {quoted(near)}?" if near and asked.column not in question.names else ""
        return Check(True, asked, f"no rule mentions {asked.column!r}{hint}")
    if isinstance(asked, NeverUses):
        found = question.first(question.pairs(), cubes)
        where = f"{asked.column!r} is in {' | '.join(f'({cube})' for cube in cubes)}"
        if found is None:
            never = "but never matters: no two possible rows that differ there only are answered differently"
            return Check(False, asked, f"{where}, {never}", Counterexample(cubes, (), (), f"{where}, {never}"))
        return Check(False, asked, f"{where}: {found.told}", found)
    found = question.first(question.steps(asked.increasing), cubes)
    if found is None:
        where = f"where {asked.column!r} is {'higher' if asked.increasing else 'lower'}"
        return Check(True, asked, f"where it holds, it still holds {where}")
    return Check(False, asked, found.told, found)


def _with_conditions(rules: DecisionRules, asked: Implies) -> tuple[DecisionRules, Implies]:
    """Return rules that know the concepts of the asked formula, and the formula over them.

    What the rules do not mention is read as a condition on a known column, so that no counterexample is a row with an
    age of 60 or more and below 50; a name that means nothing is refused.
    """
    known = {*rules.concepts, *rules.predicates, *rules.groups.concepts}
    read = {
        name: read_condition(format_formula(Literal(name)), rules)
        for name in asked.formula.concepts
        if name not in known
    }
    if not read:
        return rules, asked

    def meant(literal: Literal) -> Literal:
        found = read[literal.concept].literal if literal.concept in read else Literal(literal.concept)
        return found if literal.positive else found.negated

    # A cube of conditions that exclude each other never holds.
    cubes = [dict.fromkeys(map(meant, cube)) for cube in written(asked.formula)]
    possible = [Cube(cube) for cube in cubes if not any(literal.negated in cube for literal in cube)]
    new = {one.literal.concept: one.predicate for one in read.values() if one.predicate is not None}
    formula = Complement(DNF(possible)) if isinstance(asked.formula, Complement) else DNF(possible)
    return replace(rules, predicates={**rules.predicates, **new}), Implies(formula)


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
            where = " and ".join(told(rules, _needed(found, formula, asked.formula), found))
            reason = (
                f"it fires {f'where {where}' if where else 'on every row'}, and {asked.formula} does not hold there"
            )
            return Check(False, asked, reason, Counterexample(cubes, (row,), (True,), reason))
    return Check(True, asked, "it does on every possible row")


def _allowed(rules: DecisionRules, unit: Unit, state: State) -> bool:
    return bool(rules.groups.allows(np.array([state.pattern], dtype=np.bool_), unit.concepts)[0])


def _solve(program: PossibleRows, yes: DNF | Complement, no: DNF | Complement) -> dict[str, bool] | None:
    """Return a possible row on which `yes` holds and `no` does not, with the fewest true concepts."""
    program.ask(yes, True)
    program.ask(no, False)
    return program.solve(dict.fromkeys(program.place.values(), 1.0))


def _needed(row: Mapping[str, bool], yes: DNF | Complement, no: DNF | Complement) -> tuple[str, ...]:
    """Return the concepts of a row that make `yes` hold and `no` fail."""
    needed: dict[str, None] = {}
    # The formula of a complement fails where the complement holds.
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
    return tuple(needed)


@dataclass(frozen=True)
class _Question:
    """A formula and the column, or the single `concept`, that the property is about.

    `names` are all names that a property could be about; `rest` are the concepts of other columns that matter. `parts`
    are the concepts about parts of the column, if it is a date.
    """

    rules: DecisionRules
    formula: DNF | Complement
    names: tuple[str, ...]
    unit: Unit
    concept: str | None
    rest: tuple[str, ...]
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, rules: DecisionRules, formula: DNF | Complement, name: str) -> _Question:
        named = (*rules.concepts, *rules.predicates, *rules.groups.concepts)
        column_of = {concept: rules.predicate(concept).column for concept in dict.fromkeys(named)}
        sources = {source for concept in column_of for source in rules.predicate(concept).sources}
        is_column = name in column_of.values() or name in sources
        column = name if is_column else column_of.get(name, name)
        counted = linked(rules, formula.concepts)
        here = tuple(concept for concept in counted if column_of[concept] == column)
        unit = units_of(rules, here)[0] if here else Unit(column, (), (), ())
        states, steps = (tuple(s for s in some if _allowed(rules, unit, s)) for some in (unit.states, unit.steps))
        unit = replace(unit, states=states, steps=steps)
        names = tuple(dict.fromkeys((*column_of.values(), *sorted(sources), *column_of)))
        rest = tuple(concept for concept in counted if concept not in here)
        parts = [c for c in formula.concepts if c not in here and is_column and name in rules.predicate(c).sources]
        return cls(rules, formula, names, unit, None if is_column else name, rest, tuple(parts))

    @property
    def with_parts(self) -> frozenset[str]:
        """The concepts about the column and its parts."""
        return self.about.union(self.parts)

    def of_dates(self, asked: NeverUses | Monotone, cubes: tuple[Cube, ...]) -> Check:
        """Return the check of a property of a date of which the formula uses parts, such as its weekday."""
        part = self.rules.predicate(self.parts[0]).column
        if isinstance(asked, Monotone):
            raise LogicLensError(
                f"the formula uses {quoted(part)}, which does not rise with {quoted(asked.column)}: ask about "
                f"{quoted(part)} instead."
            )
        where = f"{asked.column!r} is in {' | '.join(f'({cube})' for cube in cubes)}"
        return Check(False, asked, where, Counterexample(cubes, (), (), where))

    @property
    def about(self) -> frozenset[str]:
        """The concepts that count as a mention of the column or concept."""
        return frozenset(self.unit.concepts if self.concept is None else [self.concept])

    def pairs(self) -> list[tuple[State, State]]:
        """Return all pairs of states of the column in which the column or concept differs."""
        pairs = list(permutations(self.unit.every, 2))
        if self.concept is None:
            return pairs
        place = self.unit.concepts.index(self.concept)
        return [(p, q) for p, q in pairs if p.pattern[place] != q.pattern[place]]

    def steps(self, increasing: bool) -> Iterable[tuple[State, State]]:
        """Return the pairs of states between which a formula that holds must not fail."""
        if self.concept is not None:
            place = self.unit.concepts.index(self.concept)
            rising = [(p, q) for p, q in self.pairs() if q.pattern[place]]
        elif not self.unit.steps:
            same = [name for name in self.unit.concepts if self.rules.predicate(name).operator == "=="]
            example = f"{'increasing' if increasing else 'decreasing'} in '{(same or self.unit.concepts)[0]}'"
            raise LogicLensError(
                f"{quoted(self.unit.column)} is compared with texts, which have no order: name a condition of the "
                f'rules, such as "{example}".'
            )
        else:
            # A group may forbid a short step and allow a longer one. Without groups, short steps imply all longer ones.
            groups = (*self.rules.groups.exclusive, *self.rules.groups.implied)
            tied = any(self.about.intersection(group) and not self.about.issuperset(group) for group in groups)
            rising = list(combinations(self.unit.steps, 2) if tied else pairwise(self.unit.steps))
        return rising if increasing else [(q, p) for p, q in rising]

    def first(self, steps: Iterable[tuple[State, State]], cubes: tuple[Cube, ...]) -> Counterexample | None:
        """Return a counterexample for the first step that makes the formula fail on a possible row on which it held."""
        for before, after in steps:
            patterns = [dict(zip(self.unit.concepts, state.pattern, strict=True)) for state in (before, after)]
            yes, no = (self.formula.given(pattern) for pattern in patterns)
            if implied_by(yes, no):
                continue
            units = units_of(self.rules, self.rest)
            program = PossibleRows(units, self.rest, missing=True)
            for pattern in patterns:
                program.respect(self.rules.groups, given=pattern)
                program.require_dates((*units, self.unit), given=pattern, may_miss=None)
            rest = _solve(program, yes, no)
            if rest is not None:
                needed = _needed(rest, yes, no)
                # A missing date has no month: the parts are said of the row that has the date.
                parts = [c for c in needed if self.unit.column in self.rules.predicate(c).sources]
                parts = parts if self.unit.missing in (before, after) else []
                context = " and ".join(told(self.rules, [c for c in needed if c not in parts], rest))
                holds, fails = (
                    " and ".join(
                        [self._words(pattern), *(told(self.rules, parts, rest) * (state != self.unit.missing))]
                    )
                    for state, pattern in zip((before, after), patterns, strict=True)
                )
                # A class may itself be called yes or no, so the answers are not.
                words = f"{f'where {context}, ' if context else ''}it holds if {holds}, and fails if {fails}"
                return self._shown([{**rest, **pattern} for pattern in patterns], cubes, words)
        return None

    def _words(self, pattern: Mapping[str, bool]) -> str:
        """Describe the state of the column by the concepts that the formula uses."""
        words = told(self.rules, [concept for concept in self.formula.concepts if concept in pattern], pattern)
        return words[0] if words else self.unit.column

    def _shown(self, rows: list[dict[str, bool]], cubes: tuple[Cube, ...], words: str) -> Counterexample:
        shown = tuple({concept: row[concept] for concept in self.formula.concepts} for row in rows)
        if [bool(self.formula.evaluate(packed_row(row))[0]) for row in shown] != [True, False]:
            raise RuntimeError("a counterexample does not show what it should; this is a defect of logiclens.")
        return Counterexample(cubes, shown, (True, False), words)
