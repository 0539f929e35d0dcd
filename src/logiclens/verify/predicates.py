"""Relations between two predicates on one column that hold for any data, and the check of concept names.

The check in `claim` uses them. A predicate is true of an interval of numbers, moments or durations, of one text, or of
a missing value. A missing value makes every comparison false. Another predicate of the same column may read a text as
a number, a date or a duration.
"""

from __future__ import annotations

import re
from collections.abc import Collection
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


def _starts_within(inner: _End | None, outer: _End | None) -> bool:
    if inner is None or outer is None:
        return outer is None
    # x >= 5 does not imply x > 5; x > 5 implies x >= 5.
    return _above(inner.point, outer.point) or (inner.point == outer.point and (inner.left_out or not outer.left_out))


def _ends_within(inner: _End | None, outer: _End | None) -> bool:
    if inner is None or outer is None:
        return outer is None
    return _above(outer.point, inner.point) or (inner.point == outer.point and (inner.left_out or not outer.left_out))


def _apart(end: _End | None, start: _End | None) -> bool:
    """Return whether an interval with this upper endpoint lies below an interval with this lower endpoint."""
    if end is None or start is None:
        return False
    return _above(start.point, end.point) or (end.point == start.point and (end.left_out or start.left_out))


def _above(high: Point, low: Point) -> bool:
    if isinstance(high, datetime) or isinstance(low, datetime):
        return isinstance(high, datetime) and isinstance(low, datetime) and high > low
    if isinstance(high, timedelta) or isinstance(low, timedelta):
        return isinstance(high, timedelta) and isinstance(low, timedelta) and high > low
    return high > low


_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+)?"
_DURATION = r"-?[0-9]+ days?(?: [+]?[0-9:.]+)?"
_COMPARISON = re.compile(rf"(.+) (>=|>|<=|<) ({_NUMBER}|{_DATE}|{_DURATION})", re.DOTALL)


def misleads(name: str, predicate: Predicate, columns: Collection[str]) -> bool:
    """Return whether the name of a concept reads as a predicate other than its own.

    A name that does not read as a predicate is not misleading.

    Args:
        name: name of the concept.
        predicate: meaning of the concept.
        columns: all columns that predicates compare.

    >>> old = Predicate("age", ">=", 60)
    >>> [misleads(name, old, {"age", "unit"}) for name in ("age >= 60", "old", "age >= 65", "bmi >= 60", "unit is A")]
    [False, False, True, True, True]
    """
    if name == predicate.column and predicate.operator == "==" and predicate.value is True:
        # A Boolean column is a concept itself, whatever its name is.
        return False
    about, asks = f"{predicate.column} ", name.removeprefix(f"{predicate.column} ")
    if name.startswith(about) and _says(asks, predicate):
        return False
    reads_as_equal = any(name.startswith(f"{column} is ") for column in (predicate.column, *columns))
    return reads_as_equal or name.endswith(" is missing") or _COMPARISON.fullmatch(name) is not None


def _says(asks: str, predicate: Predicate) -> bool:
    """Return whether the words after the column name are those of the predicate."""
    if predicate.operator == "missing":
        return asks == "is missing"
    operator, _, value = asks.partition(" ")
    if operator != ("is" if predicate.operator == "==" else predicate.operator):
        return False
    if isinstance(predicate.value, bool):
        return value == str(predicate.value)
    if isinstance(predicate.value, str):
        if predicate.operator in ORDERS:
            return as_point(value) == as_point(predicate.value)
        # A text is quoted if it would be misread without quotes or if it starts with a quote.
        bare = value != "missing" and not value.startswith(("'", '"'))
        return value == repr(predicate.value) or (bare and value == predicate.value)
    return _is_number(value, predicate.value)


def _is_number(text: str, number: int | float) -> bool:
    try:
        # Compare whole numbers as int: above 2^53, two of them can be the same float.
        return (int(text) if isinstance(number, int) else float(text)) == number
    except ValueError:
        return False
