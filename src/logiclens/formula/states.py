"""Which patterns of concepts one value of a raw column can make, and how a single row is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from logiclens.errors import LogicLensError
from logiclens.formula.bits import PackedRows
from logiclens.formula.dnf import Literal
from logiclens.formula.pieces import Dates, Numbers, State, listed, pattern_of, shown_time
from logiclens.formula.predicate import Predicate, is_missing, moment, times_of

if TYPE_CHECKING:
    from logiclens.formula.ruleset import RuleSet


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
    >>> from logiclens.formula.ruleset import Rule, RuleSet
    >>> rules = RuleSet((Rule("ill", parse("old & ~very"), (0.9,)),),
    ...                 {"old": Predicate("age", ">=", 60), "very": Predicate("age", ">", 72.5)})
    >>> for state in units_of(rules, rules.concepts)[0].states:
    ...     print(state.pattern, state.words)
    (False, False) age below 60
    (True, False) age at least 60 and at most 72.5
    (True, True) age above 72.5
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
        # Other concepts of the column may tell that it is missing: `bmi below 30` would be a claim about a value.
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


def said(rules: RuleSet, literal: Literal) -> str:
    """A literal told on the raw column."""
    if literal.concept in rules.predicates:
        return rules.predicates[literal.concept].words(literal.positive)
    return f"{literal.concept} true" if literal.positive else f"{literal.concept} not true"


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
        missing = State(tuple(p.operator == "missing" for p in predicates), None, f"{column} missing")
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
        present = _told_apart(predicates, [True], [f"{column} not missing"])
        return present, present
    if not numbers:
        # A text that no predicate asks for.
        other = "".join(texts) + "?"
        words = [*(f"{column} equal to {text}" for text in texts), f"{column} other than {listed(texts)}"]
        return _told_apart(predicates, [*texts, other], words), ()
    if all(isinstance(number, bool) for number in numbers) or column not in _meant(rules):
        steps = _told_apart(predicates, [False, True], [f"{column} not true", f"{column} true"])
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
        found.setdefault(pattern, State(pattern, text, f"{column} equal to {text}"))
    return tuple(found.values())


def _told_apart(
    predicates: Sequence[Predicate], values: Sequence[str | bool], words: Sequence[str]
) -> tuple[State, ...]:
    return tuple(State(pattern_of(predicates, value), value, text) for value, text in zip(values, words, strict=True))
