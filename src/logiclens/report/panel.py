"""The data of the panel "Try it": fields for raw values, and the rules in the form that `page.js` decides them in.

The script evaluates predicates and rules; every word it shows is made here. Concepts, columns and cubes are referred
to by position, so no name is ever a key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logiclens.formula.column_kinds import CATEGORY, KINDS, NUMBER, TRUTH_VALUE, Scalar
from logiclens.formula.column_states import State, Unit, pattern_of, state_words, units_of
from logiclens.formula.date_parts import DatePart
from logiclens.formula.english import cube_words
from logiclens.formula.flip import parts_of
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet
from logiclens.report.result import Result
from logiclens.report.rules import ReadRule
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
    """The field of one raw column.

    Attributes:
        column: name of the column.
        input: `choice`, or the type of the HTML element: `number`, `date`, `datetime-local` or `text`.
        kind: how the script reads a value: `number`, `text`, `date` or `timedelta`.
        choices: the entries of a list.
        hint: where the rules cut the values.
        day: of dates, a day to start from, if one is known.
    """

    column: str
    input: str
    kind: str
    choices: tuple[Choice, ...]
    hint: str
    day: str | None = None


def panel_fields(result: Result) -> tuple[Field, ...]:
    """Return one field for each raw column that the rules use; parts of a date are computed from its field."""
    categories = {entry.column: entry.categories for entry in result.inputs}
    days = {entry.column: entry.day for entry in result.inputs}
    fields = (_field(result.rules, column, categories.get(column, ())) for column in result.rules.columns)
    return tuple(replace(field, day=days.get(field.column)) if field.kind == DATE.name else field for field in fields)


def _units(result: Result) -> tuple[Unit, ...]:
    return units_of(result.rules, [concept.name for concept in result.concepts])


def _field(rules: RuleSet, column: str, categories: Sequence[str]) -> Field:
    asked = [one for concept in rules.concepts if column in (one := rules.predicate(concept)).sources]
    compared = [p for p in asked if p.operator != "missing" and p.origin is None]
    kinds = {p.kind for p in compared}
    missing = Choice("missing", None)
    if any(p.origin is not None for p in asked):
        return _date_field(column, compared, [p.origin for p in asked if p.origin is not None])
    if not compared:
        return Field(column, "choice", "number", (Choice("not missing", 1), missing), "")
    if kinds == {CATEGORY}:
        texts = dict.fromkeys([*categories, *(str(p.value) for p in compared)])
        listed = [Choice(readable(text) or "(an empty text)", text) for text in texts]
        return Field(column, "choice", "text", (*listed, Choice("another value", None, True), missing), "")
    if kinds <= {TRUTH_VALUE} or not any(column == p.column for p in rules.predicates.values()):
        return Field(column, "choice", "number", (Choice("true", 1), Choice("false", 0), missing), "")
    hint = f"The rules cut at {readable(enumeration(_cuts(compared)))}."
    if kinds <= {NUMBER, TRUTH_VALUE}:
        return Field(column, "number", "number", (), hint)
    if kinds == {DATE}:
        return _date_field(column, compared, ())
    called = "" if kinds != {DURATION} else f" Write {DURATION.called}."
    return Field(column, "text", compared[0].kind.name, (), hint + called)


def _cuts(compared: Sequence[Predicate]) -> list[str]:
    return list(dict.fromkeys(p.shown_value for p in sorted(compared, key=lambda p: p.kind.point(p.value))))


def _date_field(column: str, compared: Sequence[Predicate], parts: Sequence[DatePart]) -> Field:
    """Return the field of a date, with a time of day if the rules look at it."""
    # A day says nothing about a time of that day, unless the rules cut where days begin.
    whole = all(p.operator in (">=", "<") and len(str(p.value)) == len("2021-03-01") for p in compared)
    whole = whole and all(part.kind != "hour" for part in parts)
    said = [f"The rules cut at {readable(enumeration(_cuts(compared)))}."] if compared else []
    if parts:
        said.append(
            f"The rules use {readable(enumeration(list(dict.fromkeys(_part_words(p, column) for p in parts))))}."
        )
    return Field(column, "date" if whole else "datetime-local", "date", (), " ".join(said))


def _part_words(part: DatePart, column: str) -> str:
    if part.kind != "days":
        return f"its {part.kind}"
    start, end = part.columns
    return f"the days from {start} to it" if column == end else f"the days from it to {end}"


def panel_data(result: Result, read: Sequence[tuple[int, ReadRule]]) -> dict[str, Any]:
    """Return the data that `page.js` reads.

    Args:
        result: the result of the page.
        read: the rules as they are read, each with the place of its class.
    """
    rules = result.rules
    place = {concept.name: i for i, concept in enumerate(result.concepts)}
    units, fields = _units(result), panel_fields(result)
    at = {unit.column: i for i, unit in enumerate(units)}
    field_at = {field.column: i for i, field in enumerate(fields)}
    parts = [[at[unit.column] for unit in part] for part in parts_of(rules, units)]
    dates = [part for part in parts if any(units[i].column not in units[i].sources for i in part)]
    together = {i for part in dates for i in part}
    cubes = [
        (i, cube, trust)
        for i, rule in enumerate(rules.rules)
        for cube, trust in zip(rule.cubes, rule.confidence if rule.cubes else (), strict=True)
    ]
    number = {(i, cube): k for k, (i, cube, _) in enumerate(cubes)}
    return {
        "classes": [readable(entry.name) for entry in result.classes],
        "subject": "" if result.multilabel else f"{readable(result.data.target)} is ",
        "fields": [
            {
                "name": readable(field.column),
                "kind": field.kind,
                "choices": [["other"] if c.is_other else ["value", c.value] for c in field.choices],
                "day": field.day,
            }
            for field in fields
        ],
        # A raw column, or a part of dates: the fields it is taken from, its concepts, and the states of these, each
        # with a value of the field. Dates that have parts are chosen together, by the script.
        "units": [
            {
                "fields": [field_at[name] for name in unit.sources],
                "part": unit.predicates[0].origin and unit.predicates[0].origin.kind,
                "concepts": [place[name] for name in unit.concepts],
                "states": [
                    [
                        _bits(state.pattern),
                        readable(state_words(rules, unit, state)),
                        None if i in together else _example(rules, unit, state, fields[field_at[unit.column]]),
                    ]
                    for state in unit.states
                ],
            }
            for i, unit in enumerate(units)
        ],
        "tests": [_test(rules.predicate(concept.name), at) for concept in result.concepts],
        "parts": parts,
        "dates": dates,
        "exclusive": [[place[name] for name in group] for group in result.exclusive],
        "implied": [[place[name] for name in chain] for chain in result.implied],
        "cubes": [
            {
                "of": i,
                "if": [[place[lit.concept], int(lit.positive)] for lit in cube],
                "words": readable(cube_words(cube, rules.predicates, rules.facts)) if len(cube) else "",
                "trust": percent(trust),
            }
            for i, cube, trust in cubes
        ],
        # The rules as they are read. A condition holds if all literals of one of its alternatives do.
        "rules": [
            {
                "cubes": [number[i, cube] for cube in rule.cubes],
                "conditions": [
                    [readable(words), [[[place[name], int(yes)] for name, yes in one] for one in alternatives]]
                    for words, alternatives in rule.conditions
                ],
            }
            for i, rule in read
        ],
        # The cubes in the order in which they decide.
        "order": [number[turn] for turn in rules.turns],
        "alone": rules.resolve == "none" and not any(rule.is_complement for rule in rules.rules),
        "by_trust": rules.resolve == "confidence" and not any(rule.is_complement for rule in rules.rules),
        "otherwise": -1 if rules.otherwise is None else rules.otherwise,
        "multilabel": rules.multilabel,
        # The row that the panel starts from: the conditions that most rows have.
        "typical": Counter(row.bits for row in result.rows).most_common(1)[0][0] if result.rows else None,
    }


def _bits(pattern: tuple[bool, ...]) -> str:
    return "".join("1" if held else "0" for held in pattern)


def _test(predicate: Predicate, at: Mapping[str, int]) -> list[Any]:
    """Return a predicate as the script evaluates it: the place of its unit, its operator, and its bound."""
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
    """Return a value of a state for its field: a round number if there is one, a category that the field lists, or the
    day that dates start from; None for a text that is not listed.
    """
    predicates = [rules.predicate(concept) for concept in unit.concepts]
    if isinstance(state.value, bool):
        return int(state.value)
    if isinstance(state.value, str):
        if field.kind == "text":
            listed = [choice.value for choice in field.choices if choice.value is not None]
            return next((text for text in listed if pattern_of(predicates, text) == state.pattern), None)
        if field.kind == "date":
            is_typical = field.day is not None and pattern_of(predicates, field.day) == state.pattern
            value = field.day if is_typical and field.day is not None else state.value
            day, _, clock = value.replace("T", " ").partition(" ")
            return day if field.input == "date" else f"{day}T{clock or '00:00'}"
    if isinstance(state.value, float):
        rounded = (float(f"{state.value:.{digits}g}") for digits in range(1, 17))
        cuts = [float(p.value) for p in predicates if p.operator != "missing"]
        # Beyond the last cut, a value of its size: 0.15 rather than 1.14 for 0.14.
        beyond = [float(f"{share * max(cuts):.2g}") for share in (0.9, 1.1) if state.value > max(cuts)]
        beyond += [float(f"{share * min(cuts):.2g}") for share in (0.9, 1.1) if state.value < min(cuts)]
        candidates = (*beyond, float(round(state.value)), *rounded)
        return next((v for v in candidates if pattern_of(predicates, v) == state.pattern), state.value)
    return state.value
