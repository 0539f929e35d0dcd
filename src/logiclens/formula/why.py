"""Reasons for the answer on one row: which cube decided, which fired, and what each other cube lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logiclens.formula.column_kinds import Scalar, is_missing
from logiclens.formula.column_states import cells_of, concepts_of, now, packed_row
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.english import (
    TableFacts,
    category_unions,
    common_and_chosen,
    condition_groups,
    cube_words,
    literal_words,
    union_words,
)
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import DecisionRules, Rule, no_class
from logiclens.words import for_reading, percent


@dataclass(frozen=True)
class FailedLiteral:
    """A literal that the row does not satisfy, in terms of the raw column: `age is at least 72.5 (it is 60)`.

    `wanted` is the whole condition that the literal belongs to, such as an interval. `value` is the value of the raw
    column, or of the concept if the row has concepts only.
    """

    literal: Literal
    wanted: str
    column: str
    value: Any
    told: str

    @property
    def missing(self) -> bool:
        """Whether the literal fails because the row has no value."""
        return is_missing(self.value)

    @for_reading
    def __str__(self) -> str:
        """The reason code."""
        return self.told


@dataclass(frozen=True)
class CubeReason:
    """A cube and the literals that fail; a cube without any fires.

    `recurrence` is the number of bags in which the search found it again, in words; empty if unknown.
    """

    cube: Cube
    words: str
    confidence: float
    failed: tuple[FailedLiteral, ...]
    recurrence: str = ""

    @property
    def fires(self) -> bool:
        """Whether all literals hold."""
        return not self.failed

    @for_reading
    def __str__(self) -> str:
        """One line."""
        if self.fires:
            return f"fires: {self.trusted}"
        recurrence = f" ({self.recurrence})" if self.recurrence else ""
        # Both ends of an interval fail if there is no value; the interval is named once.
        lacking = dict.fromkeys(map(str, self.failed))
        return f"fails: {self.words}{recurrence}, for lack of: {'; '.join(lacking)}"

    @property
    def trusted(self) -> str:
        """The cube in words, with its trust: the lower end of the interval of how often it is right."""
        trust = [f"trust {percent(self.confidence)}", *([self.recurrence] if self.recurrence else [])]
        return f"{self.words} ({', '.join(trust)})"


@dataclass(frozen=True)
class ClassReason:
    """The cubes of one class.

    A complement has no cubes. It holds where no cube of the other class fires; `unless` are those cubes with the
    literals that fail. `said` is the statement that a row has the class, with the name of the target. `lines` are the
    cubes in words, those that differ in one category only in one line.
    """

    label: Scalar
    cubes: tuple[CubeReason, ...]
    is_complement: bool = False
    confidence: float | None = None
    unless: tuple[CubeReason, ...] = ()
    said: str = ""
    lines: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The statement that the row has the class, such as `died is yes`."""
        return self.said or str(self.label)

    @property
    def fired(self) -> tuple[CubeReason, ...]:
        """The cubes that fire."""
        return tuple(cube for cube in self.cubes if cube.fires)

    @property
    def failed(self) -> tuple[CubeReason, ...]:
        """The cubes that do not fire."""
        return tuple(cube for cube in self.cubes if not cube.fires)

    @property
    def fires(self) -> bool:
        """Whether the formula of the class holds."""
        if self.is_complement:
            return not any(cube.fires for cube in self.unless)
        return bool(self.fired)

    @for_reading
    def __str__(self) -> str:
        """A heading and a line for each cube."""
        if self.is_complement:
            trust = "" if self.confidence is None else f" (trust {percent(self.confidence)})"
            told = f"otherwise, since no rule of the other class fires{trust}" if self.fires else "otherwise"
            lines = [f"  {line}" for line in self.lines] or ["  the other formula is False: it never fires"]
            return "\n".join([f"{self.words}: {'holds' if self.fires else 'does not hold'}, {told}", *lines])
        lines = [f"  {line}" for line in self.lines] or ["  its formula is False: it never fires"]
        return "\n".join([f"{self.words}: {'holds' if self.fires else 'does not hold'}", *lines])


@dataclass(frozen=True)
class Why:
    """The answer on one row and how it came about.

    `answer` is the class, None if undecided, or with several labels per row the tuple of the labels that fire.
    `decided` is the cube that decided, if one did; `because` says it in a sentence.
    """

    answer: Scalar | tuple[Scalar, ...] | None
    because: str
    decided: CubeReason | None
    classes: tuple[ClassReason, ...]

    def __getitem__(self, label: Scalar) -> ClassReason:
        """Return the reasons of one class."""
        for reason in self.classes:
            if reason.label == label or str(reason.label) == label:
                return reason
        raise no_class(label, [str(reason.label) for reason in self.classes])

    @for_reading
    def __str__(self) -> str:
        """The sentence, then every class with rules: a complement has those of the other class."""
        return "\n".join([self.because, *(str(reason) for reason in self.classes if not reason.is_complement)])


def why(rules: DecisionRules, row: Any) -> Why:
    """Explain the answer of the rules on one row of a raw table or of concepts.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.predicate import Predicate
    >>> from logiclens.formula.rule_set import Rule, RuleSet
    >>> rules = RuleSet((Rule("ill", parse("old & smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 72.5)}, otherwise=1)
    >>> print(why(rules, {"age": 60, "smoker": True}))
    well, because: age is below 72.5 (trust 80%)
    ill: does not hold
      fails: age is at least 72.5 and smoker is true, for lack of: age is at least 72.5 (it is 60)
    well: holds
      fires: age is below 72.5 (trust 80%)
    """
    cells = cells_of(row)
    holds = concepts_of(rules, rules.concepts, cells)
    classes = tuple(_class_reason(rules, rule, cells, holds) for rule in rules.rules)
    if rules.multilabel:
        return _of_several(classes)
    fired = [reason for reason in classes if reason.fires]
    place = int(rules.predict_places(packed_row(holds))[0])
    answer = rules.rules[place].label if place >= 0 else None
    said = "undecided" if answer is None else rules.class_heading(answer)
    if rules.resolve == "none":
        if place >= 0 and classes[place].is_complement:
            return Why(answer, f"{said}, because {_otherwise(classes[place])}", None, classes)
        if answer is not None:
            return Why(answer, f"{said}, because no other formula fires", _deciding(rules, classes[place]), classes)
        several = f"{' and '.join(str(reason.label) for reason in fired)} fire" if fired else "no formula fires"
        return Why(None, f"nobody decides, because {several}", None, classes)
    if place >= 0 and classes[place].is_complement:
        return Why(answer, f"{said}, because {_otherwise(classes[place])}", None, classes)
    if fired:
        decided = _deciding(rules, classes[place])
        beaten = [str(reason.label) for reason in fired if reason.label != answer]
        how = "comes before" if rules.resolve == "order" else "outweighs"
        note = f", which {how} {' and '.join(beaten)}" if beaten else ""
        return Why(answer, f"{said}, because: {decided.trusted}{note}", decided, classes)
    if answer is None:
        return Why(None, "nobody decides, because no formula fires", None, classes)
    return Why(answer, f"{said}, because no formula fires and this is the answer otherwise", None, classes)


def _deciding(rules: DecisionRules, reason: ClassReason) -> CubeReason:
    """Return the fired cube of a class that decides."""
    fired = {cube.cube: cube for cube in reason.fired}
    return next(fired[cube] for cube in rules.in_turn(rules.rule(reason.label)) if cube in fired)


def _otherwise(reason: ClassReason) -> str:
    """Say why a complement is the answer."""
    if not reason.unless:
        return "the other class has no rules"
    trust = "" if reason.confidence is None else f" (trust {percent(reason.confidence)})"
    return f"no rule of the other class fires{trust}"


def _of_several(classes: tuple[ClassReason, ...]) -> Why:
    answer = tuple(reason.label for reason in classes if reason.fires)
    told = f"{', '.join(map(str, answer))}: each formula answers for itself" if answer else "no formula fires"
    return Why(answer, told, None, classes)


def _class_reason(rules: DecisionRules, rule: Rule, cells: Mapping[str, Any], holds: Mapping[str, bool]) -> ClassReason:
    written = next(other for other in rules.rules if not other.is_complement) if rule.is_complement else rule
    wanted = {cube: _wanted(rules, cube) for cube in written.cubes}
    cubes = tuple(
        CubeReason(
            cube,
            _cube_here(rules, cube, cells, fires=all(holds[lit.concept] == lit.positive for lit in cube)),
            confidence,
            tuple(_failed(rules, lit, cells, wanted[cube][lit]) for lit in cube if holds[lit.concept] != lit.positive),
            recurrence,
        )
        for cube, confidence, recurrence in zip(written.cubes, written.confidence, written.recurrence, strict=True)
    )
    if rule.is_complement:
        reason = ClassReason(rule.label, (), is_complement=True, confidence=rule.confidence[0], unless=cubes)
    else:
        reason = ClassReason(rule.label, cubes)
    return replace(reason, said=rules.class_heading(rule.label), lines=tuple(_lines(rules, written, cubes, cells)))


def _lines(rules: DecisionRules, rule: Rule, reasons: Sequence[CubeReason], cells: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each cube, and one for cubes that differ in one category only: the one that fires, or all."""
    by_cube = {reason.cube: reason for reason in reasons}
    for union in category_unions([reason.cube for reason in reasons], rules.predicates):
        own = [by_cube[cube] for cube in union]
        fired = next((reason for reason in own if reason.fires), None)
        if fired is not None or len(union) == 1:
            yield str(fired or own[0])
            continue
        _, chosen = common_and_chosen(union)
        facts = _facts_here(rules, union[0], cells)
        wrong = {literal.literal for reason in own for literal in reason.failed}
        failed = [literal for literal in own[0].failed if literal.literal not in chosen]
        if wrong.issuperset(chosen):
            wanted = union_words([Cube([literal]) for literal in chosen], rules.predicates, facts)
            failed.append(_failed(rules, chosen[0], cells, wanted))
        words, trust = union_words(union, rules.predicates, facts), min(one.confidence for one in own)
        yield str(CubeReason(union[0], words, trust, tuple(failed), rule.recurrence_of(union)))


def _cube_here(rules: DecisionRules, cube: Cube, cells: Mapping[str, Any], *, fires: bool) -> str:
    """Describe a cube for this row: one that fires because a value is missing says so, any other is told as it is."""
    facts = _facts_here(rules, cube, cells)
    if fires and any(column not in facts.complete for column in rules.columns):
        return " and ".join(_said_here(rules, literal, cells) for literal in cube)
    return cube_words(cube, rules.predicates, facts)


def _facts_here(rules: DecisionRules, cube: Cube, cells: Mapping[str, Any]) -> TableFacts:
    """Return what is known of the columns of a cube for this row: those that have a value need no "(or missing)"."""
    predicates = {literal.concept: rules.predicate(literal.concept) for literal in cube}
    sources = {concept: _source(predicate, concept, cells) for concept, predicate in predicates.items()}
    absent = {
        column
        for concept, source in sources.items()
        if is_missing(cells[source])
        for column in ([source] if source in predicates[concept].sources else predicates[concept].sources)
    }
    return replace(rules.facts, complete=tuple(column for column in rules.columns if column not in absent))


def _known(rules: DecisionRules) -> TableFacts:
    """What is known of the table, for a row that has all values."""
    return replace(rules.facts, complete=rules.columns)


def _said_here(rules: DecisionRules, literal: Literal, cells: Mapping[str, Any]) -> str:
    """Describe a literal for this row. `age is below 72.5` would be wrong for a missing age."""
    predicate = rules.predicate(literal.concept)
    source = _source(predicate, literal.concept, cells)
    if literal.positive or predicate.operator == "missing" or not is_missing(cells[source]):
        return _said(rules, literal)
    return f"{source} is missing (so not {_said(rules, literal.negated).removeprefix(f'{predicate.subject} is ')})"


def _source(predicate: Predicate, concept: str, cells: Mapping[str, Any]) -> str:
    """Return the cell that a literal is about: its column, of several one that is missing, or the concept itself."""
    if not all(column in cells for column in predicate.sources):
        return concept
    return next((column for column in predicate.sources if is_missing(cells[column])), predicate.subject)


def _said(rules: DecisionRules, literal: Literal) -> str:
    """A literal told on the raw column of a row whose value is known."""
    return literal_words(literal, rules.predicates, _known(rules))


def _wanted(rules: DecisionRules, cube: Cube) -> dict[Literal, str]:
    """Return for each literal of a cube the condition that it belongs to: both ends of an interval have the same."""
    groups = condition_groups(cube, rules.predicates, _known(rules))
    return {literal: words for words, literals in groups for literal in literals}


def _failed(rules: DecisionRules, literal: Literal, cells: Mapping[str, Any], wanted: str) -> FailedLiteral:
    predicate = rules.predicate(literal.concept)
    column, source = predicate.subject, _source(predicate, literal.concept, cells)
    value = cells[source]
    told = now(rules, literal.concept, cells)
    if is_missing(value):
        # A part may be taken from two dates, of which the other one is missing.
        told = f"{source if source in predicate.sources and source != column else 'it'} is missing"
    return FailedLiteral(literal, wanted, column, value, f"{wanted} ({told})")
