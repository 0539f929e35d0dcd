"""Conditions as people write them, such as `age >= 80 & not smoker`, read into literals and what they mean.

A condition is a comparison of a column that the rules know. Nothing is evaluated as code. The name of a condition is
always that of its predicate, so that a saved model says what it means by its names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from numbers import Real
from typing import Any

import numpy as np

from logiclens.errors import LogicLensError, nearest, quoted, quoted_names
from logiclens.formula.column_kinds import CATEGORY, KINDS, NUMBER, ORDERS, TRUTH_VALUE, Operator, Scalar
from logiclens.formula.date_parts import PART_KINDS, DatePart
from logiclens.formula.dnf import Literal
from logiclens.formula.notation import quoted_name
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import DecisionRules

ZERO_ONE, CONCEPT = "0/1", "concept"
"""Two more kinds of columns: numbers 0 and 1, which may be named alone, and concepts, which always are."""
COLUMN_KINDS = (*KINDS, ZERO_ONE, CONCEPT)
FEW_OF_A_TEXT = 5
"""Texts are categories only if one of them is in this many rows: the smallest support of a rule by default."""
MOST_CATEGORIES = 100
"""The most categories of a column that are all remembered, so that a name which no row has is noticed."""

_OPERATOR = re.compile(r">=|<=|==|!=|≥|≤|≠|=|<|>|\bis\s+not\b|\bis\b", re.IGNORECASE)
_SIGNS = {"≥": ">=", "≤": "<=", "=": "==", "is": "==", "≠": "!=", "is not": "!="}
_NEGATION = re.compile(r"(?:[~¬]|!(?!=)|not\b)\s*", re.IGNORECASE)
_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Condition:
    """A literal, and what its concept means; a concept without a predicate is a column, true from 0.5 on."""

    literal: Literal
    predicate: Predicate | None


@dataclass(frozen=True)
class Subject:
    """What a condition is about: a column of a kind, or a number taken from dates."""

    column: str
    kind: str | None
    origin: DatePart | None = None


def read_conditions(text: str, rules: DecisionRules) -> tuple[Condition, ...]:
    """Read conditions that are joined by `&` or "and".

    Args:
        text: such as `age >= 80 & not smoker`, `unit is MICU`, `bmi is missing` or `weekday of admitted >= 6`. A
            missing value makes a comparison false and its negation true. A name with `&` or other signs stands in
            double quotes.
        rules: the rules, which know the columns.

    Raises:
        LogicLensError: in one sentence, if the text is not a conjunction of comparisons of known columns.

    >>> from logiclens.formula import RuleSet, Rule, parse
    >>> from logiclens.formula.english import TableFacts
    >>> facts = TableFacts(kinds={"age": "number", "unit": "text"}, complete=("age", "unit"))
    >>> rules = RuleSet((Rule("ill", parse("smoker"), (0.9,)),), facts=facts)
    >>> [str(one.literal) for one in read_conditions("age < 70 & unit is not MICU and smoker", rules)]
    ['~"age >= 70"', '~"unit is MICU"', 'smoker']
    """
    if not isinstance(text, str):
        raise LogicLensError(f"a condition is a text such as 'age >= 70', got {quoted(text)}.")
    found: list[Condition] = []
    for piece in _pieces(text, re.compile(r"&&?|∧")):
        found += _read_piece(piece, rules, text)
    return tuple(dict.fromkeys(found))


def read_condition(text: str, rules: DecisionRules) -> Condition:
    """Read one condition; see `read_conditions`."""
    found = read_conditions(text, rules)
    if len(found) != 1:
        raise LogicLensError(f"one condition is needed, and {quoted(text)} has {len(found)}.")
    return found[0]


def _pieces(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split a text at separators that stand in no quotes."""
    held = list(_quotes(text))
    ends = [
        found.span()
        for found in separator.finditer(text)
        if not any(start < found.end() and found.start() < end for start, end in held)
    ]
    starts = [0, *(end for _, end in ends)]
    return [
        text[start:end].strip() for start, end in zip(starts, [*(start for start, _ in ends), len(text)], strict=True)
    ]


def _quotes(text: str) -> Iterator[tuple[int, int]]:
    """Return where quoted texts are; an apostrophe in a word opens none."""
    position = 0
    while (found := _TEXT.search(text, position)) is not None:
        before = text[found.start() - 1] if found.start() else " "
        if before.isspace() or before in "=<>(~¬!&∧≥≤≠":
            yield found.span()
            position = found.end()
        else:
            position = found.start() + 1


def _read_piece(piece: str, rules: DecisionRules, whole: str) -> list[Condition]:
    parts = _pieces(piece, re.compile(r"\band\b", re.IGNORECASE))
    try:
        return [_read_one(part, rules) for part in parts]
    except LogicLensError:
        if len(parts) > 1:
            # The word may be part of a name or of a text.
            try:
                return [_read_one(piece, rules)]
            except LogicLensError:
                pass
        if len(_pieces(piece, re.compile(r"\bor\b|\|\|?|∨", re.IGNORECASE))) > 1:
            raise LogicLensError(
                f"a rule joins its conditions by '&', and {quoted(whole)} has an 'or': write a second rule instead."
            ) from None
        raise


def _read_one(text: str, rules: DecisionRules) -> Condition:
    positive, body = True, text.strip()
    while True:
        if (sign := _NEGATION.match(body)) is not None and not _is_known(body, rules):
            positive, body = not positive, body[sign.end() :]
        elif body.startswith("(") and body.endswith(")") and not _is_known(body, rules):
            body = body[1:-1].strip()
        else:
            break
    if not body:
        raise LogicLensError(f"a condition such as 'age >= 70' is needed, got {quoted(text)}.")
    found = _read_plain(body, rules)
    return found if positive else replace(found, literal=found.literal.negated)


def _is_known(text: str, rules: DecisionRules) -> bool:
    return text in rules.predicates or text in rules.concepts or text in known_columns(rules)


def _read_plain(text: str, rules: DecisionRules) -> Condition:
    if (held := _TEXT.fullmatch(text)) is not None and text[0] == '"':
        return _read_plain(_unquoted(held[0]), rules)
    if text in rules.predicates or text in rules.concepts:
        return Condition(Literal(text), rules.predicates.get(text))
    # A name may hold an operator: the longest known name on the left counts.
    splits = [
        (text[: found.start()].strip(), " ".join(found[0].lower().split()), text[found.end() :].strip())
        for found in _OPERATOR.finditer(text)
    ]
    for left, sign, right in reversed(splits):
        subject = known_subject(_name(left), rules)
        if subject is not None:
            return _compared(subject, _SIGNS.get(sign, sign), right, rules)
    subject = known_subject(text, rules)
    if subject is None:
        raise _unknown(_name(splits[0][0]) if splits and splits[0][0] else text, rules)
    if subject.kind == CONCEPT:
        return Condition(Literal(subject.column), None)
    if subject.kind == TRUTH_VALUE.name:
        return named(Predicate(subject.column, "==", True), rules)
    if subject.kind == ZERO_ONE:
        return named(Predicate(subject.column, "==", 1), rules)
    raise LogicLensError(f"{quoted(text)} is a column of {_plural(subject)}: compare it, such as {_example(subject)}.")


def _name(text: str) -> str:
    return _unquoted(text) if len(text) > 1 and text[0] == '"' and _TEXT.fullmatch(text) else text


def _unquoted(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code is None:
            return _LETTERS.get(found[4], found[4])
        return chr(int(code, 16)) if int(code, 16) < 0x110000 else "�"

    return _ESCAPE.sub(character, text[1:-1])


# What is known of columns --------------------------------------------------------------------------------------------


def known_columns(rules: DecisionRules) -> Mapping[str, str | None]:
    """Return the kinds of the columns that conditions can be about; None where only its gaps are asked for."""
    known: dict[str, str | None] = {}
    concepts: dict[str, str | None] = {}
    for concept in dict.fromkeys((*rules.concepts, *rules.predicates)):
        predicate = rules.predicates.get(concept)
        if predicate is None:
            concepts[concept] = CONCEPT
        elif predicate.origin is not None:
            known |= dict.fromkeys(predicate.sources, "date")
        elif predicate.operator == "missing":
            known.setdefault(predicate.column, None)
        else:
            known[predicate.column] = predicate.kind.name
    return {**known, **rules.facts.kinds, **concepts}


def known_subject(name: str, rules: DecisionRules) -> Subject | None:
    """Return what a name means as the subject of a condition: a column, or a number taken from dates; None if neither.

    Args:
        name: such as `age` or `weekday of admitted`.
        rules: the rules, which know the columns.
    """
    columns = known_columns(rules)
    if name in columns:
        return Subject(name, columns[name])
    dates = [column for column, kind in columns.items() if kind == "date"]
    for part in PART_KINDS.values():
        first, *rest = part.form.split("{}")
        if not name.startswith(first):
            continue
        for start in dates:
            if part.n_columns == 1 and name == part.form.format(start):
                return Subject(name, NUMBER.name, DatePart(part.name, (start,)))
            if part.n_columns == 2 and name.startswith(f"{first}{start}{rest[0]}"):
                end = name.removeprefix(f"{first}{start}{rest[0]}")
                if end in dates and end != start:
                    return Subject(name, NUMBER.name, DatePart(part.name, (start, end)))
    return None


def _unknown(name: str, rules: DecisionRules) -> LogicLensError:
    if name.startswith(("<", ">", "=", "!", "≥", "≤", "≠")):
        return LogicLensError(f"a condition begins with its column, such as 'age >= 70', got {quoted(name)}.")
    columns = list(known_columns(rules))
    near = nearest(name, columns)
    hint = f"did you mean {quoted(near)}?" if near is not None else f"the columns are {quoted_names(columns)}."
    return LogicLensError(f"the rules know no column {quoted(name)}; {hint}")


def _plural(subject: Subject) -> str:
    kind = NUMBER.name if subject.kind == ZERO_ONE else subject.kind
    return KINDS[str(kind)].plural if kind in KINDS else "an unknown kind"


def _example(subject: Subject) -> str:
    value = {"text": "is …", "date": ">= 2021-03-01", "timedelta": ">= 2 days"}.get(subject.kind or "", ">= 1")
    return f"'{subject.column} {value}'"


# Comparisons ---------------------------------------------------------------------------------------------------------


def _compared(subject: Subject, sign: str, value: str, rules: DecisionRules) -> Condition:
    if sign in ("==", "!=") and value.lower() == "missing":
        if subject.origin is not None or subject.kind == CONCEPT:
            raise LogicLensError(f"whether {quoted(subject.column)} is missing cannot be asked: ask its column.")
        return _signed(named(Predicate(subject.column, "missing"), rules), sign == "==")
    if subject.kind is None:
        raise LogicLensError(f"the rules do not know what {quoted(subject.column)} holds, only whether it is missing.")
    if subject.kind in (TRUTH_VALUE.name, CONCEPT):
        return _truth(subject, sign, value, rules)
    kind = NUMBER if subject.kind == ZERO_ONE else KINDS[subject.kind]
    operator: Any = "==" if sign == "!=" else sign
    if operator not in kind.operators:
        ways = "by order only, such as" if kind.operators == ORDERS else "by 'is' only, such as"
        raise LogicLensError(f"{quoted(subject.column)} holds {kind.plural}, compared {ways} {_example(subject)}.")
    meant = Predicate(subject.column, operator, value_of(subject, value, operator), subject.origin)
    check_value(meant, rules)
    is_known = any(meant == known for known in rules.predicates.values())
    if operator in ("<", "<=") and meant.column in rules.facts.complete and not is_known:
        # Without gaps the negation says the same, and rules have one name less.
        opposite: Operator = ">=" if operator == "<" else ">"
        return _signed(named(replace(meant, operator=opposite), rules), False)
    return _signed(named(meant, rules), sign != "!=")


def all_categories(counts: Mapping[str, float]) -> tuple[str, ...] | None:
    """Return all values of a column of texts; None if they are many, or so rare that they could name a row.

    Args:
        counts: in how many rows each is.

    >>> all_categories({"CCU": 7, "MICU": 9, "SICU": 5}), all_categories({"none": 16, "Jane Doe fell": 1})
    (('CCU', 'MICU', 'SICU'), None)
    """
    if not 0 < len(counts) <= MOST_CATEGORIES or min(counts.values()) < FEW_OF_A_TEXT:
        return None
    return tuple(counts)


def check_value(predicate: Predicate, rules: DecisionRules) -> None:
    """Refuse a value that no row of its column has and no rule names, where the values are known.

    These are the categories of texts, 0 and 1 of a column that has no other number, and the numbers of a part of a
    date.
    """
    column, value = predicate.column, predicate.value
    if any(predicate == known for known in rules.predicates.values()):
        return
    if predicate.origin is not None and (span := predicate.origin.range) is not None:
        low, high = span
        if not low <= float(value) <= high:
            raise LogicLensError(f"{quoted(column)} is a number from {low} to {high}, got {predicate.shown_value}.")
    if predicate.operator != "==":
        return
    if predicate.kind is not CATEGORY:
        if known_columns(rules).get(column) == ZERO_ONE and value not in (0, 1):
            raise LogicLensError(f"every value of {quoted(column)} is 0 or 1, got {predicate.shown_value}.")
        return
    categories = rules.facts.categories.get(column)
    if categories is None or value in categories:
        return
    near = nearest(str(value), categories)
    hint = f"did you mean {quoted(near)}?" if near is not None else f"its values are {quoted_names(categories)}."
    raise LogicLensError(f"no row that the rules were made from has {quoted(value)} in {quoted(column)}; {hint}")


def _truth(subject: Subject, sign: str, value: str, rules: DecisionRules) -> Condition:
    if sign not in ("==", "!=") or value.lower() not in _TRUTH:
        raise LogicLensError(
            f"{quoted(subject.column)} is true or false: write '{subject.column}' or 'not {subject.column}', "
            f"got {quoted(f'{subject.column} {sign} {value}')}."
        )
    is_true = _TRUTH[value.lower()]
    if subject.kind == CONCEPT:
        return Condition(Literal(subject.column, is_true == (sign == "==")), None)
    if is_true or subject.column in rules.facts.complete:
        return _signed(named(Predicate(subject.column, "==", True), rules), is_true == (sign == "=="))
    return _signed(named(Predicate(subject.column, "==", False), rules), sign == "==")


def _signed(condition: Condition, positive: bool) -> Condition:
    return condition if positive else replace(condition, literal=condition.literal.negated)


def value_of(subject: Subject, value: Any, operator: str) -> Scalar:
    """Return the value that a column is compared with, of its kind.

    Args:
        subject: the column.
        value: as a text or as a value.
        operator: how it is compared.

    Raises:
        LogicLensError: in one sentence, if it is of another kind.
    """
    kind = NUMBER if subject.kind in (ZERO_ONE, None) else KINDS[str(subject.kind)]
    text = _unquoted(value) if isinstance(value, str) and _TEXT.fullmatch(value) else value
    if kind is NUMBER:
        number = _number(value)
        if number is None:
            raise LogicLensError(f"{quoted(subject.column)} is compared with a number, got {quoted(value)}.")
        return int(number) if operator == "==" and number.is_integer() else number
    if kind.text_form is None:
        if not isinstance(text, str) or not text:
            raise LogicLensError(f"{quoted(subject.column)} is compared with a text, got {quoted(value)}.")
        return text
    if isinstance(text, date | timedelta | np.datetime64 | np.timedelta64):
        text = kind.given_threshold(text, subject.column)
    if not isinstance(text, str) or not kind.is_text_form(text):
        raise LogicLensError(f"{quoted(subject.column)} is compared with {kind.called}, got {quoted(value)}.")
    return text


def _number(value: Any) -> float | None:
    """Return a finite number, given as such or as a text; None if it is none. There is one zero: -0.0 is 0.0."""
    if isinstance(value, str) and not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value.strip(), re.ASCII):
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number + 0.0 if math.isfinite(number) else None


def named(predicate: Predicate, rules: DecisionRules) -> Condition:
    """Return the condition of a predicate under the name that it has, or under the name that it gets."""
    for name, known in rules.predicates.items():
        if known == predicate and isinstance(known.value, bool) == isinstance(predicate.value, bool):
            return Condition(Literal(name), known)
    is_column = predicate.operator == "==" and predicate.value is True
    name = predicate.column if is_column else str(predicate)
    if name in rules.predicates or name in rules.concepts:
        name = str(predicate)
    return Condition(Literal(name), predicate)


def condition_text(literal: Literal, rules: DecisionRules) -> str:
    """Return a condition as a person would write it; `read_condition` reads it back.

    Args:
        literal: a literal of the rules.
        rules: the rules, which know what it means.

    >>> from logiclens.formula import RuleSet, Rule, parse
    >>> rules = RuleSet((Rule("ill", parse('~"age >= 60"'), (0.9,)),), {"age >= 60": Predicate("age", ">=", 60.0)})
    >>> condition_text(Literal("age >= 60", False), rules)
    'not age >= 60'
    """
    name, meant = literal.concept, rules.predicates.get(literal.concept)
    texts = [name if literal.positive else f"not {name}"]
    if meant is not None and not literal.positive and meant.operator in (">=", ">"):
        texts.insert(0, f"{meant.column} {'<' if meant.operator == '>=' else '<='} {meant.shown_value}")
    for text in texts:
        try:
            found = read_conditions(text, rules)
        except LogicLensError:
            continue
        if [one.literal for one in found] == [literal]:
            return text
    told = quoted_name(name)
    return ("" if literal.positive else "not ") + (told if told.startswith('"') else f'"{told}"')


def subject_of(predicate: Predicate, rules: DecisionRules) -> Subject:
    """Return what a predicate is about."""
    if predicate.origin is not None:
        return Subject(predicate.column, NUMBER.name, predicate.origin)
    return Subject(predicate.column, known_columns(rules).get(predicate.column))
