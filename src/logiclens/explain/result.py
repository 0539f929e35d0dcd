"""What an explanation is: frozen values with names, and how they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.contradictions import SplitSuggestion, suggest_splits
from logiclens.explain.extract import Reading
from logiclens.explain.selection import TraceStep
from logiclens.formula.bits import PackedRows, RowsLike, as_array, pack, places
from logiclens.formula.dnf import DNF, Cube
from logiclens.formula.table import Contradiction, TruthTable
from logiclens.formula.text import format_first_order, format_formula
from logiclens.metrics.scores import Fidelity, complexity, explanation_accuracy, fidelity


@dataclass(frozen=True, eq=False)
class ClassExplanation:
    """The formula of one class, what it rests on, and how true it is.

    Attributes:
        name: the class.
        head: which head of the network it is.
        formula: the explanation φ; `DNF.false` and `DNF.true` come with a `reason`.
        relevance: α̃ of the head's relevant concepts, the most relevant first.
        taken_in: concepts of other heads that the answer for this class depends on as well.
        table: the truth table T that the network filled.
        fidelity: how often formula and network agree on the explained rows.
        equals_network: whether they agree on every one of them, whatever it weighs.
        score: macro-F1 of the formula on the rows that chose it, against `scored_against`.
        trace: the cubes of the formula and the best supported other candidates, and why each was kept or dropped.
        proved_minimal: whether the formula equals the network on all rows and, proved, none with fewer literals does.
        idle: whether this head has no say in the network's answers.
        reason: in words, why the formula is constant, where it is.
        remedy: what to do about it.
    """

    name: str
    head: int
    formula: DNF
    relevance: dict[str, float]
    taken_in: tuple[str, ...]
    table: TruthTable = field(repr=False)
    fidelity: float
    equals_network: bool
    score: float
    scored_against: str
    method: str
    trace: tuple[TraceStep, ...] = field(repr=False)
    proved_minimal: bool
    idle: bool
    reason: str | None
    remedy: str | None
    reading: Reading = field(repr=False)

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Boolean rows that the network answers both ways, the most frequent first."""
        return self.table.contradictions

    def suggest_splits(self) -> tuple[SplitSuggestion, ...]:
        """Which concept, split finer or added, would separate the contradictions; the best first."""
        return suggest_splits(self.reading, self.head, self.table.names)

    def __str__(self) -> str:
        """The formula as a sentence; the reason where it is constant."""
        text = format_first_order(
            self.formula,
            self.name,
            fidelity=None if self.equals_network else self.fidelity,
            groups=self.reading.table.kept_groups(),
        )
        return text if self.reason is None else f"{text}\n    {self.reason} {self.remedy}"


@dataclass(frozen=True, eq=False)
class Explanation(Sequence[ClassExplanation]):
    """The explanations of all classes: a sequence, also by the name of a class."""

    classes: tuple[ClassExplanation, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        """By position, slice, or class name."""
        if not isinstance(key, str):
            return self.classes[key]
        for explained in self.classes:
            if explained.name == key:
                return explained
        known = ", ".join(repr(explained.name) for explained in self.classes[:8])
        raise LogicLensError(f"there is no class {key!r}; the classes are {known}.")

    def __iter__(self) -> Iterator[ClassExplanation]:
        """The classes in order."""
        return iter(self.classes)

    def __len__(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def formulas(self) -> tuple[DNF, ...]:
        """The formula of each class."""
        return tuple(explained.formula for explained in self.classes)

    def fires(self, rows: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """On which row the formula of which class holds: `[rows, classes]`."""
        used = tuple(dict.fromkeys(concept for formula in self.formulas for concept in formula.concepts))
        if hasattr(rows, "columns"):
            # A table with soft concepts is cut where the network's was.
            known = [str(column) for column in rows.columns]
            table = ConceptTable(as_array(rows)[:, places(used, known)], used) if used else None
            packed = PackedRows.of(table.boolean() if table else np.zeros((len(rows), 0), dtype=np.bool_), used)
        else:
            packed = pack(rows, names, only=used)
        return fires(self.formulas, packed)

    def __repr__(self) -> str:
        """What a notebook shows."""
        return str(self)

    def __str__(self) -> str:
        """One sentence a class, then the notes."""
        return "\n".join([*map(str, self.classes), *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True)
class LocalExplanation:
    """Why one row got its class, or did not get it.

    Attributes:
        name: the class explained.
        holds: whether the network answers yes for it.
        probability: the network's probability of that answer.
        cube: φ_t, the row's relevant concepts as the row has them.
        reduced: a shortest part of the row that implies the class formula (its negation where the answer is no); None
            without a formula, or where formula and network disagree on the row.
        agrees: whether class formula and network agree on the row; None without a formula.
    """

    name: str
    holds: bool
    probability: float
    cube: Cube
    reduced: Cube | None = None
    agrees: bool | None = None

    def __str__(self) -> str:
        """The class, its probability and the shortest reason there is."""
        head = f"{'' if self.holds else 'not '}{self.name} ({100 * self.probability:.1f}%)"
        row = format_formula(self.cube, "unicode")
        if self.agrees is False:
            return f"{head}: no reason found, the class formula says otherwise here   [relevant: {row}]"
        if self.reduced is not None and len(self.reduced) == 0:
            return f"{head}: no reason found, the class formula is constant   [relevant: {row}]"
        return f"{head}: {row if self.reduced is None else format_formula(self.reduced, 'unicode')}"


@dataclass(frozen=True)
class Scores:
    """Explanation accuracy and fidelity of one explanation on some rows, with complexity."""

    explanation_accuracy: float
    fidelity: Fidelity
    complexity: float


def fires(formulas: Sequence[DNF], rows: PackedRows) -> NDArray[np.bool_]:
    """On which row which formula holds."""
    columns = [formula.evaluate(rows) for formula in formulas]
    return np.stack(columns, axis=1)


def score(formulas: Sequence[DNF], reading: Reading) -> Scores:
    """How true formulas are on the rows of a reading: against its labels and against the network."""
    fired = fires(formulas, PackedRows.of(reading.bits, reading.table.names))
    targets = reading.targets()
    return Scores(
        explanation_accuracy(fired, targets, reading.table.weight),
        fidelity(formulas, fired, reading.yes, reading.table.weight),
        complexity(formulas),
    )
