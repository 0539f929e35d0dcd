"""`DatePart`: a number taken from dates, such as the weekday of one or the days from one to another.

A predicate with a part compares this number instead of the column itself. The booleaniser, rules and exports use it.
The dates of a row and all their parts must fit together: see `logiclens.formula.possible_dates`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import KINDS
from logiclens.words import count_with_noun, enumeration

DATE = KINDS["date"]
HOUR = 3_600_000_000
"""Microseconds of an hour."""
DAY = 24 * HOUR

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def month_of(microseconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the month of moments, counted from 1970 on."""
    return microseconds.view("datetime64[us]").astype("datetime64[M]").astype(np.int64) % 12 + 1


def weekday_of(microseconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weekday of moments, counted from 1970 on."""
    # The first day of 1970 was a Thursday.
    return (microseconds // DAY + 3) % 7 + 1


def _hour(microseconds: NDArray[np.int64]) -> NDArray[np.int64]:
    return microseconds // HOUR % 24


def _days(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    return end // DAY - start // DAY


@dataclass(frozen=True)
class PartKind:
    """One kind of part: its name, the form of its column name, how it is computed, and its smallest and largest value.

    `range` is None where values have no limits. `compute` takes microseconds since 1970 of each date. `span` are the
    days that dates must span: within one year, a month says nothing that the date does not.
    """

    name: str
    form: str
    compute: Callable[..., NDArray[np.int64]]
    range: tuple[int, int] | None
    span: int

    @property
    def n_columns(self) -> int:
        """How many dates the part is taken from."""
        return self.form.count("{}")


PART_KINDS: Mapping[str, PartKind] = {
    kind.name: kind
    for kind in (
        PartKind("month", "month of {}", month_of, (1, 12), 366),
        PartKind("weekday", "weekday of {}", weekday_of, (1, 7), 14),
        PartKind("hour", "hour of {}", _hour, (0, 23), 2),
        PartKind("days", "days from {} to {}", _days, None, 0),
    )
}
"""The parts of dates. A weekday is a number from 1 (Monday) to 7 (Sunday); days are days of the calendar."""


@dataclass(frozen=True)
class DatePart:
    """A whole number taken from one date, or from two.

    Args:
        kind: `"month"` (1 to 12), `"weekday"` (1, a Monday, to 7), `"hour"` (0 to 23) of one date, in universal time if
            it has a time zone; `"days"` of the calendar from one date to another, whatever their times of day.
        columns: the column of the date, or of the earlier and the later date.

    >>> part = DatePart("weekday", ("admitted",))
    >>> part.name, part.values({"admitted": ["2024-02-29", None]}).tolist()
    ('weekday of admitted', [4.0, nan])
    >>> DatePart("days", ("admitted", "discharged")).name
    'days from admitted to discharged'
    """

    kind: str
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not isinstance(self.kind, str) or self.kind not in PART_KINDS:
            raise LogicLensError(f"a part of a date is one of {', '.join(PART_KINDS)}, got {quoted(self.kind)}.")
        n_columns = PART_KINDS[self.kind].n_columns
        columns = self.columns if isinstance(self.columns, tuple | list) else (self.columns,)
        if len(columns) != n_columns or not all(isinstance(name, str) and name for name in columns):
            needed = count_with_noun(n_columns, "column")
            raise LogicLensError(f"the part {quoted(self.kind)} is taken from {needed}, got {quoted(self.columns)}.")
        if len(set(columns)) < n_columns:
            raise LogicLensError(f"days are counted between two columns, got {quoted(columns[0])} twice.")
        object.__setattr__(self, "columns", tuple(map(str, columns)))

    @property
    def name(self) -> str:
        """The name of the number, as formulas have it."""
        return PART_KINDS[self.kind].form.format(*self.columns)

    @property
    def subject(self) -> str:
        """The column that a sentence about the part is about."""
        return self.columns[-1]

    @property
    def range(self) -> tuple[int, int] | None:
        """The smallest and the largest value; None if there is none."""
        return PART_KINDS[self.kind].range

    def values(self, columns: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the number of each row; NaN where a date is missing.

        Args:
            columns: the dates by column, in any form in which a table holds them.
        """
        dates = [DATE.array(columns[name], name) for name in self.columns]
        missing = np.any([DATE.missing(array) for array in dates], axis=0)
        found = PART_KINDS[self.kind].compute(*(array.astype("datetime64[us]").view(np.int64) for array in dates))
        return np.where(missing, np.nan, found.astype(np.float64))

    def words(self, operator: str, value: float, positive: bool) -> str:
        """Return a comparison of the part, or its negation, in words, without `subject`.

        >>> part = DatePart("weekday", ("admitted",))
        >>> part.words(">=", 6, True), part.words(">=", 6, False)
        ('on a Saturday or Sunday', 'from Monday to Friday')
        """
        if operator == "==":
            return ("" if positive else "not ") + self.interval(math.ceil(value), math.floor(value))
        start = math.ceil(value) if operator in (">=", "<") else math.floor(value) + 1
        is_above = (operator in (">=", ">")) == positive
        return self.interval(start, None) if is_above else self.interval(None, start - 1)

    def interval(self, low: int | None, high: int | None) -> str:
        """Return in words that the part lies from `low` to `high`, without `subject`; None is no limit.

        >>> DatePart("month", ("admitted",)).interval(6, 8), DatePart("hour", ("admitted",)).interval(18, None)
        ('from June to August', 'at 18:00 or later')
        >>> stay = DatePart("days", ("admitted", "discharged"))
        >>> stay.interval(3, None), stay.interval(3, 6), stay.interval(None, 2)
        ('at least 3 calendar days after admitted', '3 to 6 calendar days after admitted',
         'at most 2 calendar days after admitted')
        """
        if self.kind == "days":
            return _days_in_words(low, high, self.columns[0])
        first, last = self.range or (0, 0)
        start, end = max(first, first if low is None else low), min(last, last if high is None else high)
        if start > end:
            return f"at no {self.kind}"
        if (start, end) == (first, last):
            return f"at any {self.kind}"
        if self.kind == "hour":
            if end == last:
                return f"at {start}:00 or later"
            return f"before {end + 1}:00" if start == first else f"at {start}:00 or later and before {end + 1}:00"
        names, word = (MONTHS, "in ") if self.kind == "month" else (WEEKDAYS, "on a ")
        some = names[start - 1 : end]
        return f"from {some[0]} to {some[-1]}" if len(some) > 2 else word + enumeration(some, last="or")


def _days_in_words(low: int | None, high: int | None, start: str) -> str:
    if low is not None and high is not None:
        if low > high:
            return f"at no distance from {start}"
        if low == high:
            return _distance(low, start)
        if low >= 0:
            return f"{low} to {high} calendar days after {start}"
        if high <= 0:
            return f"{-high} to {-low} calendar days before {start}"
        return f"from {_distance(low, start)} to {_distance(high, start)}"
    if low is not None:
        if low == 1:
            return f"on a later day than {start}"
        if low > 0:
            return f"at least {_distance(low, start)}"
        return f"on the day of {start} or later" if low == 0 else f"at most {_distance(low, start)}, or later"
    if high is None:
        return f"at any distance from {start}"
    if high > 0:
        return f"at most {_distance(high, start)}"
    if high == 0:
        return f"on the day of {start} or earlier"
    return f"before the day of {start}" if high == -1 else f"at least {_distance(high, start)}"


def _distance(days: int, start: str) -> str:
    if days == 0:
        return f"on the day of {start}"
    return f"{count_with_noun(abs(days), 'calendar day')} {'after' if days > 0 else 'before'} {start}"


# Which parts a table offers ------------------------------------------------------------------------------------------


def parts_of_dates(spans: Mapping[str, float], columns: Collection[str]) -> tuple[DatePart, ...]:
    """Return the parts that dates offer, in the order of the columns of dates.

    Args:
        spans: for each column of dates, from the earliest on, how many days its dates span. Days are counted from each
            column to each later one, with more than three columns from the first one only.
        columns: all columns. A part whose name is that of a column is not offered.
    """
    offered: list[DatePart] = []
    dates = list(spans)
    for place, column in enumerate(dates):
        offered += [
            DatePart(kind.name, (column,))
            for kind in PART_KINDS.values()
            if kind.n_columns == 1 and spans[column] >= kind.span
        ]
        starts = dates[:place] if len(dates) <= MOST_REFERENCES else dates[: min(place, 1)]
        offered += [DatePart("days", (start, column)) for start in starts]
    # Names of columns with the word "to" may make two parts look the same.
    by_name = {part.name: part for part in reversed(offered) if part.name not in columns}
    return tuple(part for part in offered if by_name.get(part.name) == part)


MOST_REFERENCES = 3
"""The most columns of dates that are all counted from each other."""
