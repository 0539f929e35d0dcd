"""Names of concepts that read as a question about a column, such as `age >= 60`, must say what their predicate asks."""

from __future__ import annotations

import re
from collections.abc import Collection

from .records import ORDERS, Predicate, as_moment

_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+)?"
_COMPARISON = re.compile(rf"(.+) (>=|>|<=|<) ({_NUMBER}|{_DATE})", re.DOTALL)


def misleads(name: str, predicate: Predicate, columns: Collection[str]) -> bool:
    """Whether a name reads as a question that is not the predicate's; a name that reads as none says nothing.

    `columns` are all that questions can be about.

    >>> old = Predicate("age", ">=", 60)
    >>> [misleads(name, old, {"age", "unit"}) for name in ("age >= 60", "old", "age >= 65", "bmi >= 60", "unit is A")]
    [False, False, True, True, True]
    """
    if name == predicate.column and predicate.operator == "==" and predicate.value is True:
        # A column of true and false is a concept as it is, whatever it is called.
        return False
    about, asks = f"{predicate.column} ", name.removeprefix(f"{predicate.column} ")
    if name.startswith(about) and _says(asks, predicate):
        return False
    reads_as_equal = any(name.startswith(f"{column} is ") for column in (predicate.column, *columns))
    return reads_as_equal or name.endswith(" is missing") or _COMPARISON.fullmatch(name) is not None


def _says(asks: str, predicate: Predicate) -> bool:
    """Whether the words behind the name of the column are those of the predicate."""
    if predicate.operator == "missing":
        return asks == "is missing"
    operator, _, value = asks.partition(" ")
    if operator != ("is" if predicate.operator == "==" else predicate.operator):
        return False
    if isinstance(predicate.value, bool):
        return value == str(predicate.value)
    if isinstance(predicate.value, str):
        if predicate.operator in ORDERS:
            return as_moment(value) == as_moment(predicate.value)
        # A text that would be misread stands in quotes, and so does one that has quotes itself.
        bare = value != "missing" and not value.startswith(("'", '"'))
        return value == repr(predicate.value) or (bare and value == predicate.value)
    return _is_number(value, predicate.value)


def _is_number(text: str, number: int | float) -> bool:
    try:
        # Whole numbers stay whole: beyond 2^53 two of them can be one float.
        return (int(text) if isinstance(number, int) else float(text)) == number
    except ValueError:
        return False
