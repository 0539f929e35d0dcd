"""Relations between two predicates on one column that hold for any data, and the names of their concepts.

The checks in `consistency` use them. A predicate is true of an interval of numbers, moments or durations, of one text,
or of a missing value. A missing value makes every comparison false. Another predicate of the same column may read a
text as a number, a date or a duration.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta

from .records import ORDERS, Predicate, as_point

Point = int | float | datetime | timedelta


@dataclass(frozen=True)
class _End:
    """Endpoint of an interval, and whether the interval excludes it."""

    point: Point
    left_out: bool


@dataclass(frozen=True)
class _Span:
    """Interval of values of one kind; an endpoint is None if the interval is unbounded on that side."""

    kind: str
    low: _End | None
    high: _End | None


def implies(after: Predicate, before: Predicate) -> bool:
    """Return whether `after` implies `before`: every value that makes `after` true makes `before` true.

    Args:
        after: the stronger predicate, later in a chain.
        before: the weaker predicate, earlier in a chain.

    Returns:
        False also if the implication cannot be proved.
    """
    if after.column != before.column:
        return False
    if _missing(after) or _missing(before):
        return _missing(after) and _missing(before)
    if _text(after) is not None and _text(before) is not None:
        return after.value == before.value
    inner, outer = _span(after, before), _span(before, after)
    if _text(before) is not None or inner is None or outer is None or inner.kind != outer.kind:
        return False
    return _starts_within(inner.low, outer.low) and _ends_within(inner.high, outer.high)


def excludes(one: Predicate, other: Predicate) -> bool:
    """Return whether no value, present or missing, makes both predicates true.

    Args:
        one: a predicate.
        other: another predicate; predicates of different columns never exclude each other.
    """
    if one.column != other.column:
        return False
    if _missing(one) or _missing(other):
        return not (_missing(one) and _missing(other))
    if _text(one) is not None and _text(other) is not None:
        return one.value != other.value
    first, second = _span(one, other), _span(other, one)
    if first is None or second is None or first.kind != second.kind:
        return True
    return _apart(first.high, second.low) or _apart(second.high, first.low)


def surely_meet(one: Predicate, other: Predicate) -> bool:
    """Return whether both predicates are certainly true together.

    That is so for the value of an equality, for all very large or all very small values, or for a missing value.

    Args:
        one: a predicate.
        other: another predicate; predicates of different columns give False.
    """
    if one.column != other.column or excludes(one, other) or (_text(one) is None) != (_text(other) is None):
        return False
    # Between a lower and an upper endpoint there may be no value that the column can have.
    return not ({one.operator, other.operator} & {">=", ">"} and {one.operator, other.operator} & {"<=", "<"})


def _missing(predicate: Predicate) -> bool:
    return predicate.operator == "missing"


def _text(predicate: Predicate) -> str | None:
    """Return the text of an equality with a text; None for any other predicate."""
    return predicate.value if isinstance(predicate.value, str) and predicate.operator not in ORDERS else None


def _span(predicate: Predicate, beside: Predicate) -> _Span | None:
    """Return the interval of a comparison; None if there is none.

    A text is read as a number, a date or a duration, whichever the predicate `beside` compares with.
    """
    point: Point | None
    if _text(predicate) is not None:
        point = as_point(str(predicate.value)) if isinstance(beside.value, str) else _as_number(str(predicate.value))
    elif isinstance(predicate.value, str):
        point = as_point(predicate.value)
    else:
        point = predicate.value
    if point is None:
        return None
    end = _End(point, predicate.operator in (">", "<"))
    return _Span(
        _kind(point),
        None if predicate.operator in ("<=", "<") else end,
        None if predicate.operator in (">=", ">") else end,
    )


def _kind(point: Point) -> str:
    return "moment" if isinstance(point, datetime) else "duration" if isinstance(point, timedelta) else "number"


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# Spans are compared only if they are of one kind, so that their points can be.
def _starts_within(inner: _End | None, outer: _End | None) -> bool:
    if inner is None or outer is None:
        return outer is None
    # x >= 5 does not imply x > 5; x > 5 implies x >= 5.
    return inner.point > outer.point or (  # type: ignore[operator]
        inner.point == outer.point and (inner.left_out or not outer.left_out)
    )


def _ends_within(inner: _End | None, outer: _End | None) -> bool:
    if inner is None or outer is None:
        return outer is None
    return outer.point > inner.point or (  # type: ignore[operator]
        inner.point == outer.point and (inner.left_out or not outer.left_out)
    )


def _apart(end: _End | None, start: _End | None) -> bool:
    """Return whether an interval with this upper endpoint lies below an interval with this lower endpoint."""
    if end is None or start is None:
        return False
    return start.point > end.point or (  # type: ignore[operator]
        end.point == start.point and (end.left_out or start.left_out)
    )


def predicate_name(predicate: Predicate) -> str:
    """Return the name that logiclens gives the concept of a predicate.

    >>> predicate_name(Predicate("age", ">=", 60.0)), predicate_name(Predicate("bmi", "missing", True))
    ('age >= 60', 'bmi is missing')
    >>> predicate_name(Predicate("unit", "==", "MICU")), predicate_name(Predicate("code", "==", "2"))
    ('unit is MICU', "code is '2'")
    """
    if predicate.operator == "missing":
        return f"{predicate.column} is missing"
    value = predicate.value
    if predicate.operator in ORDERS:
        return f"{predicate.column} {predicate.operator} {value_text(value)}"
    quoted = isinstance(value, str) and _needs_quotes(value)
    return f"{predicate.column} is {repr(value) if quoted else value_text(value)}"


def value_text(value: bool | int | float | str) -> str:
    """Return a value as text; a number as the shortest text that parses to the same number."""
    if isinstance(value, float):
        return min((text for text in (f"{value:g}", repr(value)) if float(text) == value), key=len)
    return str(value)


INVISIBLE = (
    (0x00, 0x1F), (0x7F, 0xA0), (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F),
    (0x890, 0x891), (0x8E2, 0x8E2), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200F), (0x2028, 0x202F),
    (0x205F, 0x206F), (0x3000, 0x3000), (0xD800, 0xF8FF), (0xFDD0, 0xFDEF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB),
    (0xFFFE, 0xFFFF), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0001, 0xE0001), (0xE0020, 0xE007F), (0xF0000, 0x10FFFF),
)  # fmt: skip
"""First and last of the characters that a name shows quoted: controls, formats, separators, and private ones.

A fixed list, because Python's own `isprintable` differs between versions, and a verdict must not.
"""


def has_quoted_name(name: str, predicate: Predicate) -> bool:
    """Return whether a name is that of a text in quotes, where a character may be escaped or not.

    Versions of Python quote and escape some characters differently.

    >>> has_quoted_name("a is 'b'", Predicate("a", "==", "b")), has_quoted_name("a is 'b'", Predicate("a", "==", "c"))
    (True, False)
    """
    column, value = f"{predicate.column} is ", predicate.value
    if predicate.operator != "==" or not isinstance(value, str) or not name.startswith(column):
        return False
    return name[len(column) :].encode("ascii", "backslashreplace") == ascii(value).encode()


def _needs_quotes(text: str) -> bool:
    """Return whether a text could be taken for something else: a number, a truth value, no value, or quoted text."""
    if text in ("", "missing", "True", "False") or text[0] in "'\"" or text != text.strip():
        return True
    if any(first <= ord(character) <= last for character in text for first, last in INVISIBLE):
        return True
    # Unicode still adds digits beyond the Basic Multilingual Plane; only those of mathematics count there.
    settled = all(ord(character) <= 0xFFFF or 0x1D7CE <= ord(character) <= 0x1D7FF for character in text)
    return settled and _as_number(text) is not None


def is_own_column(name: str, predicate: Predicate) -> bool:
    """Return whether a concept is a Boolean column and has its name."""
    return predicate.operator == "==" and predicate.value is True and name == predicate.column


_CONDITION = re.compile(r" (?=(?:is|>=|>|<=|<) )")
_WORDS = re.compile(r"\b(?:is|missing|in group)\b")


def has_one_reading(name: str) -> bool:
    """Return whether a name made by `predicate_name` can be split into column, operator and value in one way only.

    >>> has_one_reading("unit is MICU"), has_one_reading("unit is B is C")
    (True, False)
    """
    return len(_CONDITION.findall(name)) == 1


def reads_as_condition(name: str) -> bool:
    """Return whether a name could be taken for a condition on a column, also by its looks.

    It could if it has a symbol such as >= or ≥ or a word such as `is`, if it has invisible or doubled characters, or
    if its characters are only variants of others.

    >>> [reads_as_condition(name) for name in ("old", "in icu", "age >= 57 ", "AGE ≥ 57", "unit Is A", "o\u200bld")]
    [False, False, True, True, True, True]
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    if any(unicodedata.category(character) == "Sm" for character in folded) or _WORDS.search(folded):
        return True
    return not name.isprintable() or name != " ".join(name.split()) or name != unicodedata.normalize("NFKC", name)


def looks(name: str) -> str:
    """Return a form of a name in which names of the same looks are equal."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


_EPOCH = datetime(1970, 1, 1)


def threshold_number(predicate: Predicate) -> float | None:
    """Return the threshold of `column >= value` as the number that a rescaled column has there; None without one.

    Moments are seconds since 1970 and durations are seconds.
    """
    if predicate.operator != ">=":
        return None
    point = as_point(predicate.value) if isinstance(predicate.value, str) else predicate.value
    if isinstance(point, datetime):
        point = point - _EPOCH
    if isinstance(point, timedelta):
        return (point // timedelta(microseconds=1)) / 1e6
    return None if point is None else float(point)


def rises(one: Predicate, after: Predicate) -> bool:
    """Return whether the threshold of a comparison by order is below that of the next one of the column.

    Two comparisons with one value stand in the order of `ORDERS`.

    Args:
        one: a comparison.
        after: the next comparison of the same column.
    """
    points = [as_point(asked.value) if isinstance(asked.value, str) else asked.value for asked in (one, after)]
    if points[0] is None or points[1] is None or _kind(points[0]) != _kind(points[1]):
        return False
    if points[0] == points[1]:
        return ORDERS.index(one.operator) < ORDERS.index(after.operator)
    return points[1] > points[0]  # type: ignore[operator]


def column_kind(predicate: Predicate) -> str | None:
    """Return the kind of column that a predicate compares; None if any kind can be missing."""
    if predicate.operator == "missing":
        return None
    if isinstance(predicate.value, bool):
        return "boolean"
    if not isinstance(predicate.value, str):
        return "number"
    if predicate.operator == "==":
        return "text"
    return "date" if isinstance(as_point(predicate.value), datetime) else "timedelta"
