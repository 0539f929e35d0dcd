"""Patterns of concept values that a raw column can produce, and helpers to read a single row.

`check`, `why`, `flip` and `diff` use this module. A pattern is the tuple of truth values of the concepts of one
column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import (
    CATEGORY,
    NUMBER,
    ORDERS,
    ColumnKind,
    Scalar,
    is_missing,
    kind_of_cell,
    kind_of_dtype,
)
from logiclens.formula.date_parts import DatePart
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.english import comparison_words, conditions, none_of
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import DecisionRules


@dataclass(frozen=True)
class State:
    """Values of a column that produce the same pattern of its concepts.

    Attributes:
        pattern: truth value of each concept of the column.
        value: one of the values; None for a missing value.
        words: description of the values.
    """

    pattern: tuple[bool, ...]
    value: Scalar | None
    words: str


@dataclass(frozen=True)
class Line:
    """The ordered values of a column, divided by cuts: piece 2i lies below the i-th cut, piece 2i + 1 is that cut.

    Attributes:
        column: name of the column.
        kind: kind of the column.
        cuts: points at which predicates compare, in ascending order.

    >>> low, high = Line("age", NUMBER, [60.0]).states([Predicate("age", ">=", 60)])[0]
    >>> low.words, high.words
    ('age is below 60', 'age is at least 60')
    """

    column: str
    kind: ColumnKind
    cuts: Sequence[Any]

    def states(self, predicates: Sequence[Predicate]) -> tuple[tuple[State, ...], tuple[State, ...]]:
        """Return the distinct patterns, and the steps from low to high.

        Args:
            predicates: meanings of the concepts of the column.
        """
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
        """Return the state of some pieces that have the same pattern.

        Args:
            pattern: the pattern of the pieces.
            pieces: numbers of the pieces, in ascending order.
        """
        # Take the middle piece: a value inside an interval is a better example than an endpoint.
        point = self.point(pieces[len(pieces) // 2])
        if point is None:
            raise RuntimeError("a state was made of a piece that holds no value; this is a defect of logiclens.")
        return State(pattern, self.kind.written(point), self.words(pieces))

    def point(self, piece: int) -> Any:
        """Return a point in the piece; None if no representable value lies between its two cuts."""
        i, is_cut = divmod(piece, 2)
        if is_cut:
            return self.cuts[i]
        return self.kind.inside(self.cuts[i - 1] if i else None, self.cuts[i] if i < len(self.cuts) else None)

    def words(self, pieces: list[int]) -> str:
        """Return a description of the values in the pieces.

        Between the first and the last piece only single cuts can be left out, because a threshold is crossed once.

        Args:
            pieces: numbers of the pieces, in ascending order.
        """
        (first, at_first), (last, at_last) = divmod(pieces[0], 2), divmod(pieces[-1], 2)
        if at_first and pieces[0] == pieces[-1]:
            return f"{self.column} is {self.kind.shown_cell(self.cuts[first])}"
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
        if at_first and len(told) == 2 and not left_out:
            # As `formula.english` tells the same interval of a rule.
            cut = self.cuts[last]
            end = self.kind.shown_cell(cut) if at_last else self.bound("<", cut)
            return f"{self.column} from {self.kind.shown_cell(self.cuts[first])} to {end}"
        if left_out:
            told.append(none_of([self.kind.shown_cell(cut) for cut in left_out]))
        return f"{self.column} is {' and '.join(told) or 'any value'}"

    def bound(self, operator: str, cut: Any) -> str:
        """Return a comparison with a cut in words."""
        return self.kind.sentences[operator][0].format(self.kind.shown_cell(cut))


@dataclass(frozen=True)
class PartLine(Line):
    """The whole numbers that a part of a date can be, divided by cuts.

    Attributes:
        part: the part.
    """

    part: DatePart

    def point(self, piece: int) -> Any:
        """Return a whole number in the piece; None if there is none."""
        low, high = self.ends(piece)
        return None if low > high else float(high if math.isinf(low) else low)

    def ends(self, piece: int) -> tuple[float, float]:
        """Return the smallest and the largest whole number of the piece."""
        i, is_cut = divmod(piece, 2)
        first, last = self.part.range or (-math.inf, math.inf)
        if is_cut:
            low, high = math.ceil(self.cuts[i]), math.floor(self.cuts[i])
        else:
            low = math.floor(self.cuts[i - 1]) + 1 if i else first
            high = math.ceil(self.cuts[i]) - 1 if i < len(self.cuts) else last
        return max(low, first), min(high, last)

    def words(self, pieces: list[int]) -> str:
        """Return a description of the values in the pieces."""
        low, high = (
            None if math.isinf(end) else int(end) for end in (self.ends(pieces[0])[0], self.ends(pieces[-1])[1])
        )
        left_out = [self.cuts[p // 2] for p in range(pieces[0], pieces[-1]) if p % 2 and p not in pieces]
        but = [comparison_words(Predicate(self.column, "==", cut, self.part), False) for cut in left_out]
        return f"{self.part.subject} is {' and '.join([self.part.interval(low, high), *but])}"


def pattern_of(predicates: Sequence[Predicate], value: Any) -> tuple[bool, ...]:
    """Return for each predicate whether it is true of the value."""
    return tuple(bool(predicate.holds([value])[0]) for predicate in predicates)


@dataclass(frozen=True)
class Unit:
    """A raw column with its concepts.

    Attributes:
        column: name of the column.
        concepts: concepts of this column, in the order of the patterns. A part of a date is a column of its own here.
        states: the distinct patterns that its values produce.
        steps: states from low to high values. A pattern may recur: `dose is 5` is false, true and false again. A column
            of texts has no order and so no steps.
        missing: state of a missing value; None if no predicate of the rules asks whether the column is missing. Rows
            with a missing value are then not considered.
        predicates: meanings of the concepts.
    """

    column: str
    concepts: tuple[str, ...]
    states: tuple[State, ...]
    steps: tuple[State, ...]
    missing: State | None = None
    predicates: tuple[Predicate, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The raw columns that the concepts are about."""
        return self.predicates[0].sources if self.predicates else (self.column,)

    @property
    def every(self) -> tuple[State, ...]:
        """The states of values, and the state of a missing value if its pattern differs from all of them."""
        if self.missing is None or any(state.pattern == self.missing.pattern for state in self.states):
            return self.states
        return (*self.states, self.missing)

    def state(self, row: Mapping[str, bool]) -> State | None:
        """Return the state of a row; None if no value, present or missing, produces its pattern.

        Args:
            row: truth values of concepts, including all concepts of this column.
        """
        pattern = tuple(row[concept] for concept in self.concepts)
        return next((state for state in self.every if state.pattern == pattern), None)


def units_of(rules: DecisionRules, concepts: Sequence[str]) -> tuple[Unit, ...]:
    """Return the columns of the concepts, each with its possible states.

    Args:
        rules: rules with the predicates of the concepts.
        concepts: names of concepts.

    Raises:
        LogicLensError: predicates compare one column with values of two kinds, such as dates and numbers.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.rule_set import Rule, RuleSet
    >>> rules = RuleSet((Rule("ill", parse("old & ~very"), (0.9,)),),
    ...                 {"old": Predicate("age", ">=", 60), "very": Predicate("age", ">", 72.5)})
    >>> for state in units_of(rules, rules.concepts)[0].states:
    ...     print(state.pattern, state.words)
    (False, False) age is below 60
    (True, False) age from 60 to 72.5
    (True, True) age is above 72.5
    """
    columns: dict[str, list[str]] = {}
    for concept in concepts:
        columns.setdefault(rules.predicate(concept).column, []).append(concept)
    return tuple(_unit(rules, column, tuple(members)) for column, members in columns.items())


def told(rules: DecisionRules, concepts: Sequence[str], row: Mapping[str, bool]) -> list[str]:
    """Return a description of the columns of the concepts in a row.

    Args:
        rules: rules with the predicates of the concepts.
        concepts: concepts whose columns are described.
        row: truth values of these concepts and possibly of others.
    """
    whole = {unit.column: unit for unit in units_of(rules, tuple(row))}
    words = []
    for unit in units_of(rules, concepts):
        # Other concepts of the column may show that it is missing; `bmi is below 30` would then be wrong.
        state = whole[unit.column].state(row)
        if state is not None and state == whole[unit.column].missing:
            words.append(state.words)
        elif (state := unit.state(row)) is not None:
            words.append(state_words(rules, unit, state))
    return words


def state_words(rules: DecisionRules, unit: Unit, state: State) -> str:
    """Return a state of a column in words; an interval as the rules tell it.

    Args:
        rules: rules with the predicates of the column.
        unit: the column.
        state: one of its states.
    """
    compared = [(c, p) for c, p in zip(unit.concepts, unit.predicates, strict=True) if p.operator != "missing"]
    if (
        state == unit.missing
        or unit.column not in rules.facts.whole
        or any(p.operator not in ORDERS for _, p in compared)
    ):
        return state.words
    holds = dict(zip(unit.concepts, state.pattern, strict=True))
    cube = Cube(Literal(concept, holds[concept]) for concept, _ in compared)
    said = conditions(cube, rules.predicates, replace(rules.facts, complete=unit.sources))
    return said[0] if len(said) == 1 else state.words


def linked(rules: DecisionRules, concepts: Iterable[str]) -> tuple[str, ...]:
    """Return the concepts and all concepts that groups connect to their columns, directly or through others.

    They are needed because two concepts may exclude each other through a third.

    Args:
        rules: rules with predicates and groups.
        concepts: names of concepts.
    """
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
    """Return a cell as text, a truth value as conditions say it."""
    if is_missing(value):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    kind = kind_of_dtype(value.dtype.kind) if isinstance(value, np.generic) else kind_of_cell(value)
    return str(value) if kind is None else kind.shown_cell(value)


def now(rules: DecisionRules, concept: str, cells: Mapping[str, Any]) -> str:
    """Return the current value behind a concept in words, such as `it is 60`.

    If the row has the concept and not its raw column, the text is `it is not`, `it is missing` or `it is not missing`.

    Args:
        rules: rules with the predicate of the concept.
        concept: name of the concept.
        cells: cells of the row by name.
    """
    predicate = rules.predicate(concept)
    if predicate.origin is not None and all(column in cells for column in predicate.sources):
        [number] = predicate.origin.values({column: [cells[column]] for column in predicate.sources})
        clock = re.search(r"[ T]([0-9]{2}:[0-9]{2}(:[0-9]{2})?)", shown(cells[predicate.sources[0]]))
        if predicate.origin.kind == "hour" and clock is not None and not np.isnan(number):
            return f"it is {clock[1]}"
        return "it is missing" if np.isnan(number) else f"it is {predicate.origin.interval(int(number), int(number))}"
    if predicate.column in cells:
        value = cells[predicate.column]
        if isinstance(value, float | np.floating) and math.isfinite(value):
            # Print six digits, unless the rounded value lies on the other side of the cut.
            short = float(f"{value:.6g}")
            value = short if predicate.holds([short])[0] == predicate.holds([value])[0] else value
        return f"it is {shown(value)}"
    if predicate.operator == "missing":
        return "it is missing" if rules.holds(concept, {concept: [cells[concept]]})[0] else "it is not missing"
    return "it is missing" if is_missing(cells[concept]) else "it is not"


def cells_of(row: Any) -> dict[str, Any]:
    """Return the cells of one row by name.

    Args:
        row: a dictionary or a Series of single values, a named tuple, or a table with one row.

    Raises:
        LogicLensError: there is more or less than one row, or the cells have no names.

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
        raise LogicLensError(f"expected one row, but {quoted(name)} has {np.size(value)} values: pass a single one.")
    return next(iter(value))


def known_in(rules: DecisionRules, concept: str, cells: Mapping[str, Any]) -> bool:
    """Return whether the row contains the concept or its raw column."""
    return all(column in cells for column in rules.predicate(concept).sources) or concept in cells


def concepts_of(rules: DecisionRules, concepts: Iterable[str], cells: Mapping[str, Any]) -> dict[str, bool]:
    """Return for each concept whether it is true in the row.

    Args:
        rules: rules with the predicates of the concepts.
        concepts: names of concepts.
        cells: cells of the row by name.
    """
    columns = {name: np.array([value], dtype=object) for name, value in cells.items()}
    return {concept: bool(rules.holds(concept, columns)[0]) for concept in concepts}


def packed_row(concepts: Mapping[str, bool]) -> PackedRows:
    """Return a row of concepts for `RuleSet.predict`.

    With plain columns, `predict` would take a concept for the raw column of the same name.
    """
    return PackedRows.of(np.array([list(concepts.values())], dtype=np.bool_), list(concepts))


def _unit(rules: DecisionRules, column: str, concepts: tuple[str, ...]) -> Unit:
    predicates = [rules.predicate(concept) for concept in concepts]
    states, steps = _states(rules, column, predicates)
    missing = None
    if any(p.column == column and p.operator == "missing" for p in rules.predicates.values()):
        missing = State(tuple(p.operator == "missing" for p in predicates), None, f"{column} is missing")
    return Unit(column, concepts, states, steps, missing, tuple(predicates))


def _states(
    rules: DecisionRules, column: str, predicates: Sequence[Predicate]
) -> tuple[tuple[State, ...], tuple[State, ...]]:
    """Return the states of the values of a column, and its steps."""
    compared = [p for p in predicates if p.operator != "missing"]
    texts = list(dict.fromkeys(str(p.value) for p in compared if p.kind is CATEGORY))
    numbers = [p.value for p in compared if not isinstance(p.value, str)]
    if compared and compared[0].origin is not None:
        return PartLine(column, NUMBER, sorted({float(number) for number in numbers}), compared[0].origin).states(
            predicates
        )
    lines = list(dict.fromkeys(p.kind for p in compared if p.has_text_form))
    if len(lines) + bool(numbers) > 1:
        both = " and with ".join(kind.plural for kind in [*lines, *([NUMBER] if numbers else [])][:2])
        raise LogicLensError(f"the column {quoted(column)} is compared with {both}: no value is both.")
    if lines:
        points = sorted({lines[0].point(p.value) for p in compared if p.has_text_form})
        states, steps = Line(column, lines[0], points).states(predicates)
        # A text that is compared as text may be written in many ways, so the steps are unknown.
        return (states, steps) if not texts else (_with_texts(states, column, predicates, texts), ())
    if not compared:
        present = _told_apart(predicates, [True], [f"{column} is not missing"])
        return present, present
    if not numbers:
        # A text that no predicate compares with.
        other = "".join(texts) + "?"
        said = [comparison_words(Predicate(column, "==", text)) for text in texts]
        words = [f"{column} is {comparison}" for comparison in (*said, none_of(said))]
        pair = rules.facts.pair(column)
        left = [value for value in pair if value not in texts]
        if len(left) == 1 and len(texts) == 1 and texts[0] in pair:
            other = left[0]
            words[-1] = f"{column} is {comparison_words(Predicate(column, '==', other))}"
        return _told_apart(predicates, [*texts, other], words), ()
    if all(isinstance(number, bool) for number in numbers) or column not in _meant(rules):
        steps = _told_apart(predicates, [False, True], [f"{column} is not true", f"{column} is true"])
        return steps, steps
    return Line(column, NUMBER, sorted({float(number) for number in numbers})).states(predicates)


def _meant(rules: DecisionRules) -> set[str]:
    """Return the columns that predicates compare; any other column is a concept itself."""
    return {predicate.column for predicate in rules.predicates.values() if predicate.operator != "missing"}


def _with_texts(
    states: tuple[State, ...], column: str, predicates: Sequence[Predicate], texts: Sequence[str]
) -> tuple[State, ...]:
    """Return the states of dates or durations, and those of texts that are such values and are compared as texts."""
    found = {state.pattern: state for state in states}
    for text in texts:
        try:
            pattern = pattern_of(predicates, text)
        except LogicLensError:
            # The text is not such a value, so the comparisons by order reject it.
            continue
        found.setdefault(pattern, State(pattern, text, f"{column} is {text}"))
    return tuple(found.values())


def _told_apart(
    predicates: Sequence[Predicate], values: Sequence[str | bool], words: Sequence[str]
) -> tuple[State, ...]:
    return tuple(State(pattern_of(predicates, value), value, text) for value, text in zip(values, words, strict=True))
