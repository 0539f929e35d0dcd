"""Which patterns of concepts one value of a raw column can make, and how a single row is read."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from logiclens.errors import LogicLensError
from logiclens.formula.english import bound_words, comparison_words, none_of
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.predicate import Predicate, Scalar, is_missing, moment, times_of

if TYPE_CHECKING:
    from logiclens.formula.rule_set import RuleSet


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

    is_date: ClassVar[bool] = False

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
            return f"{self.column} is {self.shown(self.cuts[first])}"
        told = []
        if at_first:
            told.append(self.bound(">=", self.cuts[first]))
        elif first > 0:
            told.append(self.bound(">", self.cuts[first - 1]))
        if at_last:
            told.append(self.bound("<=", self.cuts[last]))
        elif last < len(self.cuts):
            told.append(self.bound("<", self.cuts[last]))
        left_out = [self.cuts[p // 2] for p in range(pieces[0], pieces[-1]) if p % 2 and p not in pieces]
        if left_out:
            told.append(none_of([self.shown(cut) for cut in left_out]))
        return f"{self.column} is {' and '.join(told) or 'any value'}"

    def bound(self, operator: str, cut: Point) -> str:
        """A comparison with a cut, in words."""
        return bound_words(operator, self.shown(cut), is_date=self.is_date)


class Numbers(_Pieces[float]):
    """The number line.

    >>> low, high = Numbers("age", [60.0]).states([Predicate("age", ">=", 60)])[0]
    >>> low.words, high.words
    ('age is below 60', 'age is at least 60')
    """

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
    ('admitted is 2021-03-01 or earlier', 'admitted is after 2021-03-01')
    """

    is_date = True
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


@dataclass(frozen=True)
class Unit:
    """A raw column with the concepts that are about it.

    `states` are the patterns that its values make, each once. `steps` are its values from low to high, where patterns
    may come back (`dose is 5` is false, true and false again); a column of texts has no order and no steps. `missing`
    is the state of no value; it is there where the rules ask for missing values of the column, and elsewhere such rows
    are left aside.
    """

    column: str
    concepts: tuple[str, ...]
    states: tuple[State, ...]
    steps: tuple[State, ...]
    missing: State | None = None

    @property
    def every(self) -> tuple[State, ...]:
        """The patterns of values and, where no value makes the same, that of a missing one."""
        if self.missing is None or any(state.pattern == self.missing.pattern for state in self.states):
            return self.states
        return (*self.states, self.missing)

    def state(self, row: Mapping[str, bool]) -> State | None:
        """The state of a row, if some value makes it, or a missing one does."""
        pattern = tuple(row[concept] for concept in self.concepts)
        return next((state for state in self.every if state.pattern == pattern), None)


def units_of(rules: RuleSet, concepts: Sequence[str]) -> tuple[Unit, ...]:
    """The columns behind some concepts, each with its possible states.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.rule_set import Rule, RuleSet
    >>> rules = RuleSet((Rule("ill", parse("old & ~very"), (0.9,)),),
    ...                 {"old": Predicate("age", ">=", 60), "very": Predicate("age", ">", 72.5)})
    >>> for state in units_of(rules, rules.concepts)[0].states:
    ...     print(state.pattern, state.words)
    (False, False) age is below 60
    (True, False) age is at least 60 and at most 72.5
    (True, True) age is above 72.5
    """
    columns: dict[str, list[str]] = {}
    for concept in concepts:
        columns.setdefault(rules.predicate(concept).column, []).append(concept)
    return tuple(_unit(rules, column, tuple(members)) for column, members in columns.items())


def told(rules: RuleSet, concepts: Sequence[str], row: Mapping[str, bool]) -> list[str]:
    """How the columns behind some concepts stand in a row of these and other concepts."""
    whole = {unit.column: unit for unit in units_of(rules, tuple(row))}
    words = []
    for unit in units_of(rules, concepts):
        # Other concepts of the column may tell that it is missing: `bmi is below 30` would be a claim about a value.
        state = whole[unit.column].state(row)
        if state is None or state != whole[unit.column].missing:
            state = unit.state(row)
        if state is not None:
            words.append(state.words)
    return words


def linked(rules: RuleSet, concepts: Iterable[str]) -> tuple[str, ...]:
    """The concepts, and those that groups tie to their columns: two may exclude each other through a third."""
    found = dict.fromkeys(concepts)
    groups = [*rules.groups.exclusive, *rules.groups.implied]
    while True:
        columns = {rules.predicate(concept).column for concept in found}
        tied = [group for group in groups if any(rules.predicate(concept).column in columns for concept in group)]
        if not tied:
            return tuple(found)
        groups = [group for group in groups if group not in tied]
        found.update(dict.fromkeys(concept for group in tied for concept in group))


def shown(value: Any) -> str:
    """A cell as it is printed."""
    if is_missing(value):
        return "missing"
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return Predicate("value", "==", float(value)).shown_value
    if isinstance(value, np.datetime64):
        value = times_of([value], "value")[0].item()
    if isinstance(value, datetime):
        return shown_time(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def now(rules: RuleSet, concept: str, cells: Mapping[str, Any]) -> str:
    """How it stands with a concept in the row: `it is 60`; `it is not` where only the concept itself is known."""
    predicate = rules.predicate(concept)
    if predicate.column in cells:
        value = cells[predicate.column]
        if isinstance(value, float | np.floating) and math.isfinite(value):
            # Six digits say enough, unless they lie on the other side of the cut.
            short = float(f"{value:.6g}")
            value = short if predicate.holds([short])[0] == predicate.holds([value])[0] else value
        return f"it is {shown(value)}"
    if predicate.operator == "missing":
        return "it is missing" if rules.holds(concept, {concept: [cells[concept]]})[0] else "it is not missing"
    return "it is missing" if is_missing(cells[concept]) else "it is not"


def cells_of(row: Any) -> dict[str, Any]:
    """One row as its cells by name: a dictionary or a Series of single values, or a table with one row.

    >>> cells_of({"age": 60, "smoker": [True]})
    {'age': 60, 'smoker': True}
    """
    if hasattr(row, "_asdict"):
        row = row._asdict()
    if hasattr(row, "columns"):
        if len(row) != 1:
            raise LogicLensError(f"expected one row, got a table of {len(row)}: pass table.iloc[[0]], or one like it.")
        return {str(name): next(iter(row[name])) for name in row.columns}
    if not hasattr(row, "items"):
        raise LogicLensError(
            f"expected one row with named cells, such as {{'age': 60}} or table.iloc[0], got {type(row).__name__}."
        )
    return {str(name): _cell(str(name), value) for name, value in row.items()}


def _cell(name: str, value: Any) -> Any:
    shape = np.shape(value)
    if shape == ():
        return value.item() if isinstance(value, np.ndarray) else value
    if shape != (1,):
        raise LogicLensError(f"expected one row, but {name!r} has {np.size(value)} values: pass a single one.")
    return next(iter(value))


def known_in(rules: RuleSet, concept: str, cells: Mapping[str, Any]) -> bool:
    """Whether the row says if the concept is true."""
    return rules.predicate(concept).column in cells or concept in cells


def concepts_of(rules: RuleSet, concepts: Iterable[str], cells: Mapping[str, Any]) -> dict[str, bool]:
    """Which concepts are true in a row."""
    columns = {name: np.array([value], dtype=object) for name, value in cells.items()}
    return {concept: bool(rules.holds(concept, columns)[0]) for concept in concepts}


def packed_row(concepts: Mapping[str, bool]) -> PackedRows:
    """A row of concepts for `RuleSet.predict`, which would take a name that is also a raw column for that column."""
    return PackedRows.of(np.array([list(concepts.values())], dtype=np.bool_), list(concepts))


def _unit(rules: RuleSet, column: str, concepts: tuple[str, ...]) -> Unit:
    predicates = [rules.predicate(concept) for concept in concepts]
    states, steps = _states(rules, column, predicates)
    missing = None
    if any(p.column == column and p.operator == "missing" for p in rules.predicates.values()):
        missing = State(tuple(p.operator == "missing" for p in predicates), None, f"{column} is missing")
    return Unit(column, concepts, states, steps, missing)


def _states(
    rules: RuleSet, column: str, predicates: Sequence[Predicate]
) -> tuple[tuple[State, ...], tuple[State, ...]]:
    """The patterns that values of a column make, and its steps."""
    compared = [p for p in predicates if p.operator != "missing"]
    dates = sorted({moment(str(p.value)) for p in compared if p.is_date})
    texts = list(dict.fromkeys(str(p.value) for p in compared if isinstance(p.value, str) and not p.is_date))
    numbers = [p.value for p in compared if not isinstance(p.value, str)]
    if dates and numbers:
        raise LogicLensError(f"the column {column!r} is compared with dates and with numbers: no value is both.")
    if dates:
        states, steps = Dates(column, dates).states(predicates)
        # A text that is compared as such may be written in many ways, so that there is no telling what a step is.
        return (states, steps) if not texts else (_with_texts(states, column, predicates, texts), ())
    if not compared:
        present = _told_apart(predicates, [True], [f"{column} is not missing"])
        return present, present
    if not numbers:
        # A text that no predicate asks for.
        other = "".join(texts) + "?"
        said = [comparison_words(Predicate(column, "==", text)) for text in texts]
        words = [f"{column} is {comparison}" for comparison in (*said, none_of(said))]
        return _told_apart(predicates, [*texts, other], words), ()
    if all(isinstance(number, bool) for number in numbers) or column not in _meant(rules):
        steps = _told_apart(predicates, [False, True], [f"{column} is not true", f"{column} is true"])
        return steps, steps
    return Numbers(column, sorted({float(number) for number in numbers})).states(predicates)


def _meant(rules: RuleSet) -> set[str]:
    """The columns that predicates compare; any other is a concept itself."""
    return {predicate.column for predicate in rules.predicates.values() if predicate.operator != "missing"}


def _with_texts(
    states: tuple[State, ...], column: str, predicates: Sequence[Predicate], texts: Sequence[str]
) -> tuple[State, ...]:
    """The states of dates, and those of texts that are dates and asked for as texts."""
    found = {state.pattern: state for state in states}
    for text in texts:
        try:
            pattern = pattern_of(predicates, text)
        except LogicLensError:
            # No date: the comparisons refuse it.
            continue
        found.setdefault(pattern, State(pattern, text, f"{column} is {text}"))
    return tuple(found.values())


def _told_apart(
    predicates: Sequence[Predicate], values: Sequence[str | bool], words: Sequence[str]
) -> tuple[State, ...]:
    return tuple(State(pattern_of(predicates, value), value, text) for value, text in zip(values, words, strict=True))
