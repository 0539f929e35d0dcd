"""Whether dates exist that make some predicates on dates and their parts true and others false.

A date and its parts are one value: no Saturday is a Monday, and no date before June 2021 is in its December. `flip`,
`check` and `diff` use this module.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.column_kinds import ORDERS
from logiclens.formula.date_parts import DATE, DAY, HOUR, PART_KINDS, DatePart, month_of, weekday_of
from logiclens.formula.predicate import Predicate

_FIRST_DAY, _LAST_DAY = (int(np.datetime64(day, "D").astype(np.int64)) for day in ("0001-01-01", "9999-12-31"))


def dates_exist(conditions: Sequence[tuple[Predicate, bool]], *, may_miss: Collection[str] | None = None) -> bool:
    """Return whether some dates make every predicate true or false as asked.

    The answer is exact for conditions on single dates and on days between them that form no cycle; for others it may be
    true although there are none.

    Args:
        conditions: predicates on columns of dates or their parts, and whether each must be true.
        may_miss: the columns that may have no value. Default: all.

    >>> month = DatePart("month", ("admitted",))
    >>> asked = [(Predicate(month.name, ">=", 12, month), True), (Predicate("admitted", ">=", "2021-01-01"), True)]
    >>> [dates_exist([*asked, (Predicate("admitted", "<", end), True)]) for end in ("2021-12-01", "2021-12-02")]
    [False, True]
    """
    present = _present(conditions, may_miss)
    if present is None:
        return False
    asked = [(one, holds) for one, holds in conditions if one.operator != "missing" and present.issuperset(one.sources)]
    lines = {column: _Line.of(column, asked) for column in sorted(present)}
    spans: dict[tuple[str, ...], tuple[float, float]] = {
        pair: _span([(one, holds) for one, holds in asked if one.origin is not None and one.sources == pair])
        for pair in {one.sources for one, _ in asked if len(one.sources) == 2}
    }
    if any(line.low > line.high for line in lines.values()) or any(low > high for low, high in spans.values()):
        return False
    if not _distances_fit(lines, spans):
        return False
    edges = [day for line in lines.values() for day in (line.low // DAY, line.high // DAY)]
    near = [day for day in edges if day not in (_FIRST_DAY, _LAST_DAY)]
    ends = [int(abs(end)) for span in spans.values() for end in span if math.isfinite(end)]
    # Every month has every weekday within any two years.
    reach = 800 + 2 * sum(ends)
    days = {
        column: line.days(min(near, default=10_957) - reach, max(near, default=10_957) + reach)
        for column, line in lines.items()
    }
    while all(map(len, days.values())):
        before = {column: len(some) for column, some in days.items()}
        for (start, end), (low, high) in spans.items():
            days[start] = _with_partner(days[start], days[end], low, high)
            days[end] = _with_partner(days[end], days[start], -high, -low)
        if before == {column: len(some) for column, some in days.items()}:
            return True
    return False


def _present(conditions: Sequence[tuple[Predicate, bool]], may_miss: Collection[str] | None) -> set[str] | None:
    """Return the columns that have a value; None if a column must have one and none. Others satisfy what is asked."""
    columns = {column for one, _ in conditions for column in one.sources}
    missing = {one.column for one, holds in conditions if one.operator == "missing" and holds}
    present = {one.column for one, holds in conditions if one.operator == "missing" and not holds}
    present |= {column for one, holds in conditions if one.operator != "missing" and holds for column in one.sources}
    present |= set() if may_miss is None else columns - set(may_miss)
    return None if present & missing else present


@dataclass(frozen=True)
class _Line:
    """The moments that a date may be: from `low` to `high` in microseconds, in some months, weekdays and hours."""

    low: int
    high: int
    months: NDArray[np.int64]
    weekdays: NDArray[np.int64]
    hours: NDArray[np.int64]

    @classmethod
    def of(cls, column: str, asked: Sequence[tuple[Predicate, bool]]) -> _Line:
        low, high = _FIRST_DAY * DAY, _LAST_DAY * DAY + DAY - 1
        for one, holds in asked:
            if one.origin is not None or one.column != column or one.operator not in ORDERS:
                continue
            point = int(DATE.bound(one.value).astype(np.int64))
            if (one.operator in (">=", ">")) == holds:
                low = max(low, point + (one.operator in (">", "<=")))
            else:
                high = min(high, point - (one.operator in ("<", ">=")))
        parts = {name: _left([p for p in asked if p[0].origin == DatePart(name, (column,))], name) for name in _SINGLE}
        return cls(low, high, parts["month"], parts["weekday"], parts["hour"])

    def days(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the days, counted from 1970 on, that hold such a moment, from `first` to `last`."""
        begin, end = self.low // DAY, self.high // DAY
        days = np.arange(max(begin, first), min(end, last) + 1, dtype=np.int64)
        kept = np.isin(month_of(days * DAY), self.months) & np.isin(weekday_of(days * DAY), self.weekdays)
        starts = self.hours * HOUR
        for edge in {begin, end}:
            at = edge * DAY + starts
            fits = bool(((at <= self.high) & (at + HOUR - 1 >= self.low)).any())
            kept &= (days != edge) | fits
        return days[kept] if len(self.hours) else days[:0]


_SINGLE = tuple(kind.name for kind in PART_KINDS.values() if kind.n_columns == 1)


def _left(asked: Sequence[tuple[Predicate, bool]], kind: str) -> NDArray[np.int64]:
    """Return the values of a part that make all predicates true or false as asked."""
    first, last = PART_KINDS[kind].range or (0, 0)
    values = np.arange(first, last + 1, dtype=np.int64)
    for one, holds in asked:
        values = values[one.holds(values) == holds]
    return values


def _span(asked: Sequence[tuple[Predicate, bool]]) -> tuple[float, float]:
    """Return the smallest and the largest number of days that predicates allow; a single day left out is ignored."""
    low, high = -math.inf, math.inf
    for one, holds in asked:
        value = float(one.value)
        if one.operator == "==":
            low, high = (max(low, math.ceil(value)), min(high, math.floor(value))) if holds else (low, high)
        elif (one.operator in (">=", ">")) == holds:
            low = max(low, math.ceil(value) if one.operator in (">=", "<") else math.floor(value) + 1)
        else:
            high = min(high, (math.ceil(value) if one.operator in (">=", "<") else math.floor(value) + 1) - 1)
    return low, high


def _distances_fit(lines: Mapping[str, _Line], spans: Mapping[tuple[str, ...], tuple[float, float]]) -> bool:
    """Return whether distances and first and last days allow each other, by shortest paths."""
    # most[a, b] is the largest value of day(b) − day(a); "" stands for the first day of 1970.
    names = ["", *lines]
    most = {(a, b): 0.0 if a == b else math.inf for a in names for b in names}
    for column, line in lines.items():
        most["", column], most[column, ""] = float(line.high // DAY), float(-(line.low // DAY))
    for pair, (low, high) in spans.items():
        start, end = pair
        most[start, end], most[end, start] = min(most[start, end], high), min(most[end, start], -low)
    for by in names:
        for a, b in permutations(names, 2):
            most[a, b] = min(most[a, b], most[a, by] + most[by, b])
    return all(most[a, b] + most[b, a] >= 0 for a, b in permutations(names, 2))


def _with_partner(days: NDArray[np.int64], others: NDArray[np.int64], low: float, high: float) -> NDArray[np.int64]:
    """Return the days that have another one from `low` to `high` days later."""
    if not len(others):
        return days[:0]
    place = np.searchsorted(others, days + low)
    partner = others[np.minimum(place, len(others) - 1)]
    return days[(place < len(others)) & (partner <= days + high)]
