"""Pieces: a line of numbers or of dates, cut at the values of predicates, and how what lies between is told."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Generic, TypeVar

from logiclens.formula.predicate import Predicate, Scalar

Point = TypeVar("Point", float, datetime)


@dataclass(frozen=True)
class State:
    """Values of a column that make the same pattern of its concepts, one of these values, and how they are told."""

    pattern: tuple[bool, ...]
    value: Scalar | None
    words: str


@dataclass(frozen=True)
class _Pieces(ABC, Generic[Point]):
    """A line cut at points: piece 2i lies below the i-th cut, piece 2i + 1 is that cut."""

    column: str
    cuts: Sequence[Point]

    from_, above, up_to, below = "", "", "", ""

    @abstractmethod
    def inside(self, low: Point | None, high: Point | None) -> Point | None:
        """A point between two, or beyond one of them; None where there is none."""

    @abstractmethod
    def written(self, point: Point) -> Scalar:
        """A point as a cell of the column."""

    @abstractmethod
    def shown(self, point: Point) -> str:
        """A point as it is printed."""

    def states(self, predicates: Sequence[Predicate]) -> tuple[tuple[State, ...], tuple[State, ...]]:
        """The patterns, each once, and the steps from low to high."""
        together: dict[tuple[bool, ...], list[int]] = {}
        steps: list[tuple[tuple[bool, ...], list[int]]] = []
        for piece in range(2 * len(self.cuts) + 1):
            point = self.point(piece)
            if point is None:
                continue
            pattern = pattern_of(predicates, point)
            together.setdefault(pattern, []).append(piece)
            if not steps or steps[-1][0] != pattern:
                steps.append((pattern, []))
            steps[-1][1].append(piece)
        return (
            tuple(self.state(pattern, pieces) for pattern, pieces in together.items()),
            tuple(self.state(pattern, pieces) for pattern, pieces in steps),
        )

    def state(self, pattern: tuple[bool, ...], pieces: list[int]) -> State:
        """The state that some pieces make together."""
        # The middle one: an end of an interval is a less telling example than a value inside it.
        point = self.point(pieces[len(pieces) // 2])
        if point is None:
            raise RuntimeError("a state was made of a piece that holds no value; this is a defect of logiclens.")
        return State(pattern, self.written(point), self.words(pieces))

    def point(self, piece: int) -> Point | None:
        """A point in the piece; None between two cuts that are neighbours among those a machine has."""
        i, is_cut = divmod(piece, 2)
        if is_cut:
            return self.cuts[i]
        return self.inside(self.cuts[i - 1] if i else None, self.cuts[i] if i < len(self.cuts) else None)

    def words(self, pieces: list[int]) -> str:
        """How values in these pieces are told. Gaps are single cuts: a threshold passed is not passed back."""
        (first, at_first), (last, at_last) = divmod(pieces[0], 2), divmod(pieces[-1], 2)
        if at_first and pieces[0] == pieces[-1]:
            return f"{self.column} equal to {self.shown(self.cuts[first])}"
        told = []
        if at_first:
            told.append(f"{self.from_} {self.shown(self.cuts[first])}")
        elif first > 0:
            told.append(f"{self.above} {self.shown(self.cuts[first - 1])}")
        if at_last:
            told.append(f"{self.up_to} {self.shown(self.cuts[last])}")
        elif last < len(self.cuts):
            told.append(f"{self.below} {self.shown(self.cuts[last])}")
        left_out = [self.cuts[p // 2] for p in range(pieces[0], pieces[-1]) if p % 2 and p not in pieces]
        if left_out:
            told.append(f"other than {listed([self.shown(cut) for cut in left_out])}")
        return f"{self.column} {' and '.join(told) or 'any value'}"


class Numbers(_Pieces[float]):
    """The number line.

    >>> low, high = Numbers("age", [60.0]).states([Predicate("age", ">=", 60)])[0]
    >>> low.words, high.words
    ('age below 60', 'age at least 60')
    """

    from_, above, up_to, below = "at least", "above", "at most", "below"

    def inside(self, low: float | None, high: float | None) -> float | None:
        """Halfway, or one beyond."""
        if low is None or high is None:
            near, toward = (high or 0.0, -math.inf) if low is None else (low, math.inf)
            far = near + math.copysign(1, toward)
            return far if far != near else math.nextafter(near, toward)
        middle = low / 2 + high / 2
        if not low < middle < high:
            middle = math.nextafter(low, high)
        return middle if middle < high else None

    def written(self, point: float) -> Scalar:
        """The number itself."""
        return point

    def shown(self, point: float) -> str:
        """The shortest text that reads back as the same number."""
        return Predicate(self.column, "==", point).shown_value


class Dates(_Pieces[datetime]):
    """The line of time, to the microsecond.

    >>> early, late = Dates("admitted", [datetime(2021, 3, 1)]).states([Predicate("admitted", ">", "2021-03-01")])[0]
    >>> early.words, late.words
    ('admitted up to 2021-03-01', 'admitted after 2021-03-01')
    """

    from_, above, up_to, below = "from", "after", "up to", "before"
    _DAY: ClassVar[timedelta] = timedelta(days=1)

    def inside(self, low: datetime | None, high: datetime | None) -> datetime | None:
        """Halfway, or a day beyond; time begins with the year 1 and ends with the year 9999."""
        if low is not None and high is not None:
            middle = low + (high - low) // 2
            return middle if low < middle else None
        try:
            return low + self._DAY if low is not None else high - self._DAY if high is not None else None
        except OverflowError:
            end = datetime.min if low is None else datetime.max
            return end if end not in (low, high) else None

    def written(self, point: datetime) -> Scalar:
        """The date as a text."""
        return shown_time(point)

    def shown(self, point: datetime) -> str:
        """The day, and the time where there is one."""
        return shown_time(point)


def pattern_of(predicates: Sequence[Predicate], value: Scalar | datetime) -> tuple[bool, ...]:
    """Which predicates are true of a value."""
    return tuple(bool(predicate.holds([value])[0]) for predicate in predicates)


def shown_time(point: datetime) -> str:
    """A point in time, as short as it can be written.

    >>> shown_time(datetime(2021, 3, 1)), shown_time(datetime(2021, 3, 1, 12, 30))
    ('2021-03-01', '2021-03-01 12:30')
    """
    if (point.hour, point.minute, point.second, point.microsecond) == (0, 0, 0, 0) and point.tzinfo is None:
        return point.date().isoformat()
    return point.isoformat(" ", timespec="auto" if point.second or point.microsecond else "minutes")


def listed(items: Sequence[Scalar]) -> str:
    """Items as one would say them."""
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last
