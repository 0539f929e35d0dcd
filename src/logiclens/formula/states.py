"""Which patterns of concepts one value of a raw column can make, and how a single row is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from logiclens.errors import LogicLensError
from logiclens.formula.bits import PackedRows
from logiclens.formula.dnf import Literal
from logiclens.formula.predicate import Predicate, Scalar, is_missing

if TYPE_CHECKING:
    from logiclens.formula.ruleset import RuleSet


@dataclass(frozen=True)
class State:
    """Values of a column that make the same pattern of its concepts, one of these values, and how they are told."""

    pattern: tuple[bool, ...]
    value: Scalar
    words: str


@dataclass(frozen=True)
class Unit:
    """A raw column with the concepts that are about it.

    `states` are its patterns, each once. `steps` are its values from low to high, where patterns may come back
    (`dose == 5` is false, true and false again); a column of texts has no order and no steps. A missing value makes a
    pattern too, but no value does, so it is not among them.
    """

    column: str
    concepts: tuple[str, ...]
    states: tuple[State, ...]
    steps: tuple[State, ...]

    def state(self, row: Mapping[str, bool]) -> State | None:
        """The state of a row, if some value makes it."""
        pattern = tuple(row[concept] for concept in self.concepts)
        return next((state for state in self.states if state.pattern == pattern), None)


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
    return str(value)


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
    texts = list(dict.fromkeys(p.value for p in predicates if isinstance(p.value, str)))
    numbers = [p.value for p in predicates if not isinstance(p.value, str)]
    if not numbers:
        # A text that no predicate asks for.
        other = "".join(map(str, texts)) + "?"
        values = [*texts, other]
        words = [f"{column} equal to {text}" for text in texts] + [f"{column} other than {_listed(texts)}"]
        states = _states(predicates, values, words)
        return Unit(column, concepts, states, ())
    if all(isinstance(number, bool) for number in numbers) or column not in _meant(rules):
        steps = _states(predicates, [False, True], [f"{column} not true", f"{column} true"])
        return Unit(column, concepts, steps, steps)
    pieces = _Pieces(column, sorted({float(number) for number in numbers}))
    return Unit(column, concepts, *pieces.states(predicates))


def _meant(rules: RuleSet) -> set[str]:
    """The columns that predicates are about; any other is a concept itself."""
    return {predicate.column for predicate in rules.predicates.values()}


def _states(predicates: Sequence[Predicate], values: Sequence[Scalar], words: Sequence[str]) -> tuple[State, ...]:
    return tuple(
        State(tuple(bool(p.holds([value])[0]) for p in predicates), value, text)
        for value, text in zip(values, words, strict=True)
    )


@dataclass(frozen=True)
class _Pieces:
    """The number line cut at points: piece 2i lies below the i-th cut, piece 2i + 1 is that cut."""

    column: str
    cuts: list[float]

    def states(self, predicates: Sequence[Predicate]) -> tuple[tuple[State, ...], tuple[State, ...]]:
        """The patterns, each once, and the steps from low to high."""
        together: dict[tuple[bool, ...], list[int]] = {}
        steps: list[tuple[tuple[bool, ...], list[int]]] = []
        for piece in range(2 * len(self.cuts) + 1):
            value = self.value(piece)
            if value is None:
                continue
            pattern = tuple(bool(p.holds([value])[0]) for p in predicates)
            together.setdefault(pattern, []).append(piece)
            if not steps or steps[-1][0] != pattern:
                steps.append((pattern, []))
            steps[-1][1].append(piece)
        return (
            tuple(self.state(pattern, pieces) for pattern, pieces in together.items()),
            tuple(self.state(pattern, pieces) for pattern, pieces in steps),
        )

    def state(self, pattern: tuple[bool, ...], pieces: list[int]) -> State:
        # The middle one: an end of an interval is a less telling example than a value inside it.
        value = self.value(pieces[len(pieces) // 2])
        if value is None:
            raise RuntimeError("a state was made of a piece that holds no number; this is a defect of logiclens.")
        return State(pattern, value, self.words(pieces))

    def value(self, piece: int) -> float | None:
        """A number in the piece; None between two cuts that are neighbours among the numbers a machine has."""
        i, is_cut = divmod(piece, 2)
        if is_cut:
            return self.cuts[i]
        if i == 0 or i == len(self.cuts):
            near, toward = (self.cuts[0], -math.inf) if i == 0 else (self.cuts[-1], math.inf)
            far = near + math.copysign(1, toward)
            return far if far != near else math.nextafter(near, toward)
        low, high = self.cuts[i - 1], self.cuts[i]
        middle = low / 2 + high / 2
        if not low < middle < high:
            middle = math.nextafter(low, high)
        return middle if middle < high else None

    def words(self, pieces: list[int]) -> str:
        """How values in these pieces are told. Gaps are single cuts: a threshold passed is not passed back."""
        (first, at_first), (last, at_last) = divmod(pieces[0], 2), divmod(pieces[-1], 2)
        if at_first and pieces[0] == pieces[-1]:
            return f"{self.column} equal to {shown(self.cuts[first])}"
        told = []
        if at_first:
            told.append(f"at least {shown(self.cuts[first])}")
        elif first > 0:
            told.append(f"above {shown(self.cuts[first - 1])}")
        if at_last:
            told.append(f"at most {shown(self.cuts[last])}")
        elif last < len(self.cuts):
            told.append(f"below {shown(self.cuts[last])}")
        left_out = [self.cuts[p // 2] for p in range(pieces[0], pieces[-1]) if p % 2 and p not in pieces]
        if left_out:
            told.append(f"other than {_listed([shown(cut) for cut in left_out])}")
        return f"{self.column} {' and '.join(told) or 'any value'}"


def _listed(items: Sequence[Scalar]) -> str:
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last
