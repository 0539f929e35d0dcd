"""The data of the panel "Try it": fields for raw values, and the rules in the form that `page.js` decides them in.

The script evaluates predicates and rules; every word it shows is made here. Concepts, columns and cubes are referred
to by position, so no name is ever a key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logiclens.formula.column_kinds import CATEGORY, KINDS, NUMBER, TRUTH_VALUE, Scalar
from logiclens.formula.column_states import State, Unit, pattern_of, units_of
from logiclens.formula.date_parts import MONTHS, WEEKDAYS, DatePart
from logiclens.formula.flip import parts_of
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet
from logiclens.report.result import Result
from logiclens.words import enumeration, percent, readable

DATE, DURATION = KINDS["date"], KINDS["timedelta"]
OPERATORS = (">=", ">", "<=", "<", "==", "missing")
"""The operators that `page.js` evaluates; its table `OPERATORS` has the same."""


@dataclass(frozen=True)
class Choice:
    """One entry of a list: what it says, and the value it stands for; None: missing, or no text that is compared."""

    words: str
    value: Scalar | None
    is_other: bool = False


@dataclass(frozen=True)
class Field:
    """The field of one raw column, or of a part of a date, such as its weekday.

    Attributes:
        column: name of the column.
        input: `choice`, or the type of the HTML element: `number`, `date`, `datetime-local` or `text`.
        kind: how the script reads a value: `number`, `text`, `date` or `timedelta`.
        choices: the entries of a list.
        hint: where the rules cut the values.
    """

    column: str
    input: str
    kind: str
    choices: tuple[Choice, ...]
    hint: str


def panel_fields(result: Result) -> tuple[Field, ...]:
    """Return one field for each raw column, and each part of a date, that the rules use."""
    categories = {entry.column: entry.categories for entry in result.inputs}
    return tuple(_field(result.rules, unit, categories) for unit in _units(result))


def _units(result: Result) -> tuple[Unit, ...]:
    return units_of(result.rules, [concept.name for concept in result.concepts])


def _field(rules: RuleSet, unit: Unit, categories: Mapping[str, tuple[str, ...]]) -> Field:
    predicates = [rules.predicate(concept) for concept in unit.concepts]
    compared = [p for p in predicates if p.operator != "missing"]
    kinds = {p.kind for p in compared}
    missing = Choice("missing", None)
    if not compared:
        return Field(unit.column, "choice", "number", (Choice("not missing", 1), missing), "")
    if kinds == {CATEGORY}:
        texts = dict.fromkeys([*categories.get(unit.column, ()), *(str(p.value) for p in compared)])
        listed = [Choice(readable(text) or "(an empty text)", text) for text in texts]
        return Field(unit.column, "choice", "text", (*listed, Choice("another value", None, True), missing), "")
    if kinds <= {TRUTH_VALUE} or not any(unit.column == p.column for p in rules.predicates.values()):
        return Field(unit.column, "choice", "number", (Choice("true", 1), Choice("false", 0), missing), "")
    if (origin := compared[0].origin) is not None:
        return _part_field(unit.column, origin, missing)
    cuts = list(dict.fromkeys(p.shown_value for p in sorted(compared, key=lambda p: p.kind.point(p.value))))
    hint = f"The rules cut at {readable(enumeration(cuts))}."
    if kinds <= {NUMBER, TRUTH_VALUE}:
        return Field(unit.column, "number", "number", (), hint)
    if kinds == {DATE}:
        # A day says nothing about a time of that day, unless the rules cut where days begin.
        whole = all(p.operator in (">=", "<") and len(str(p.value)) == len("2021-03-01") for p in compared)
        return Field(unit.column, "date" if whole else "datetime-local", "date", (), hint)
    called = "" if kinds != {DURATION} else f" Write {DURATION.called}."
    return Field(unit.column, "text", compared[0].kind.name, (), hint + called)


def _part_field(column: str, part: DatePart, missing: Choice) -> Field:
    """Return the field of a part of a date: a list of names or hours, or a number of days."""
    if part.range is None:
        return Field(column, "number", "number", (), "Calendar days; below 0 if the order is reversed.")
    first, last = part.range
    names = {"month": MONTHS, "weekday": WEEKDAYS}.get(part.kind, tuple(f"{hour}:00" for hour in range(last + 1)))
    listed = (Choice(name, first + place) for place, name in enumerate(names))
    return Field(column, "choice", "number", (*listed, missing), "")


def panel_data(result: Result, conditions: list[list[tuple[str, list[tuple[str, bool]]]]]) -> dict[str, Any]:
    """Return the data that `page.js` reads.

    Args:
        result: the result of the page.
        conditions: for each cube, its conditions in words and the literals that make each of them.
    """
    rules = result.rules
    place = {concept.name: i for i, concept in enumerate(result.concepts)}
    units, fields = _units(result), panel_fields(result)
    at = {unit.column: i for i, unit in enumerate(units)}
    cubes = [
        (i, cube, trust)
        for i, rule in enumerate(rules.rules)
        for cube, trust in zip(rule.cubes, rule.confidence if rule.cubes else (), strict=True)
    ]
    number = {(i, cube): k for k, (i, cube, _) in enumerate(cubes)}
    return {
        "classes": [readable(entry.name) for entry in result.classes],
        "subject": "" if result.multilabel else f"{readable(result.data.target)} is ",
        "columns": [
            {
                "name": readable(unit.column),
                "kind": field.kind,
                "choices": [["other"] if c.is_other else ["value", c.value] for c in field.choices],
                "concepts": [place[name] for name in unit.concepts],
                "states": [
                    [_bits(state.pattern), readable(state.words), _example(rules, unit, state, field)]
                    for state in unit.states
                ],
            }
            for unit, field in zip(units, fields, strict=True)
        ],
        "tests": [_test(rules.predicate(concept.name), at) for concept in result.concepts],
        "parts": [[at[unit.column] for unit in part] for part in parts_of(rules, units)],
        "exclusive": [[place[name] for name in group] for group in result.exclusive],
        "implied": [[place[name] for name in chain] for chain in result.implied],
        "cubes": [
            {
                "of": i,
                "if": [[place[lit.concept], int(lit.positive)] for lit in cube],
                "conditions": [
                    [readable(words), [[place[name], int(positive)] for name, positive in literals]]
                    for words, literals in told
                ],
                "trust": percent(trust),
            }
            for (i, cube, trust), told in zip(cubes, conditions, strict=True)
        ],
        # The cubes in the order in which they decide.
        "order": [number[line.rule, line.cube] for line in rules.decisions],
        "alone": rules.resolve == "none" and not any(rule.is_complement for rule in rules.rules),
        "by_trust": rules.resolve == "confidence" and not any(rule.is_complement for rule in rules.rules),
        "otherwise": -1 if rules.otherwise is None else rules.otherwise,
        "multilabel": rules.multilabel,
        "rows": [
            [row.row, readable(row.label), row.network and readable(row.network), readable(row.rules), row.bits]
            for row in result.rows
        ],
    }


def _bits(pattern: tuple[bool, ...]) -> str:
    return "".join("1" if held else "0" for held in pattern)


def _test(predicate: Predicate, at: Mapping[str, int]) -> list[Any]:
    """Return a predicate as the script evaluates it: the place of its column, its operator, and its bound."""
    kind, value = predicate.kind, predicate.value
    bound: Any = value
    if predicate.operator == "missing":
        bound = None
    elif kind is TRUTH_VALUE:
        bound = int(value)
    elif predicate.has_text_form and kind is DATE:
        # Written in full, the later date is the larger text.
        bound = kind.point(value).isoformat(" ", timespec="microseconds")
    elif predicate.has_text_form:
        bound = str(kind.bound(value).astype(int))
    return [at[predicate.column], predicate.operator, bound]


def _example(rules: RuleSet, unit: Unit, state: State, field: Field) -> Scalar | None:
    """Return a value of a state for its field: a round number if there is one; None for a text that is not compared."""
    predicates = [rules.predicate(concept) for concept in unit.concepts]
    if isinstance(state.value, bool):
        return int(state.value)
    if isinstance(state.value, str):
        if field.kind == "text" and state.value not in {str(p.value) for p in predicates}:
            return None
        if field.kind == "date":
            day, _, clock = state.value.replace("T", " ").partition(" ")
            return day if field.input == "date" else f"{day}T{clock or '00:00'}"
    if (origin := predicates[0].origin) is not None and isinstance(state.value, float):
        first, last = origin.range or (math.floor(state.value), math.ceil(state.value))
        return next((v for v in range(first, last + 1) if pattern_of(predicates, float(v)) == state.pattern), None)
    if isinstance(state.value, float):
        rounded = (float(f"{state.value:.{digits}g}") for digits in range(1, 17))
        cuts = [float(p.value) for p in predicates if p.operator != "missing"]
        # Beyond the last cut, a value of its size: 0.15 rather than 1.14 for 0.14.
        beyond = [float(f"{share * max(cuts):.2g}") for share in (0.9, 1.1) if state.value > max(cuts)]
        beyond += [float(f"{share * min(cuts):.2g}") for share in (0.9, 1.1) if state.value < min(cuts)]
        candidates = (*beyond, float(round(state.value)), *rounded)
        return next((v for v in candidates if pattern_of(predicates, v) == state.pattern), state.value)
    return state.value
