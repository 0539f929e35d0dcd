"""Count the answers that each step from the network to the formula changes, and find concepts that would help.

`Explanation.gap` and `ClassExplanation.suggest_splits` use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.reading import Reading
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.packed_rows import places
from logiclens.formula.truth_table import TruthTable
from logiclens.words import for_reading

if TYPE_CHECKING:
    pass

STEPS = ("hard concepts", "relevant concepts only", "majority of the row", "formula")
"""The steps from the soft network to the formula."""


@dataclass(frozen=True)
class ClassGap:
    """What each step from the soft network to the formula changes, for one class.

    Attributes:
        name: the class.
        n_rows: number of all rows.
        changed: for each step, in order, the rows whose answer it changes. A row may change more than once.
        restored: rows whose answer changes and then changes back, so that network and formula agree.
        disagree: rows on which network and formula disagree.
        unseen: rows whose relevant concepts no explained row has, so that there is no majority. They skip that step.
    """

    name: str
    n_rows: int
    changed: dict[str, int]
    restored: int
    disagree: int
    unseen: int

    @for_reading
    def __str__(self) -> str:
        """Return one line per step, in order, then the rows that change back and those never seen."""
        lines = [
            f"{self.name}: soft network and formula disagree on {self.disagree:,} of {self.n_rows:,} rows",
            *(f"  {count:>8,}  {STEP_WORDS[step]}" for step, count in self.changed.items()),
            f"  {self.restored:>8,}  of these rows change back on the way, so that network and formula agree",
            f"  {self.unseen:>8,}  rows have relevant concepts that no explained row has",
        ]
        return "\n".join(lines)


STEP_WORDS = dict(
    zip(
        STEPS,
        (
            "change when concepts are cut to 0 and 1",
            "change when the network sees its relevant concepts only",
            "change to what most rows with the same relevant concepts got",
            "change when those answers are summed up in a short formula",
        ),
        strict=True,
    )
)


@dataclass(frozen=True)
class Gap:
    """The gap of every class."""

    classes: tuple[ClassGap, ...]

    @for_reading
    def __str__(self) -> str:
        """Return one paragraph per class."""
        return "\n".join(map(str, self.classes))


def gap(
    explained: Reading,
    tables: Sequence[TruthTable],
    formulas: Sequence[DNF | Complement],
    rows: ConceptTable,
    reading: Reading | None = None,
) -> Gap:
    """Follow each row from the network to the formula.

    Args:
        explained: the reading that the formulas were made from.
        tables: truth table of each class from that reading.
        formulas: formula of each class.
        rows: rows to follow; these may be other rows.
        reading: reading of the network on `rows`, if known. Default: computed.

    Returns:
        The counts of each class.
    """
    hard_rows = rows.hard()
    soft = reading or explained.of_rows(rows)
    hard = soft if rows.is_boolean else soft.of_rows(hard_rows)
    relevant = _of_relevant(explained, hard_rows)
    classes = []
    for head, (table, formula) in enumerate(zip(tables, formulas, strict=True)):
        majority, seen = _majority(table, rows)
        majority = np.where(seen, majority, relevant.yes[:, head])
        fires = formula.evaluate(rows.boolean(), rows.names)
        chain = np.stack([soft.yes[:, head], hard.yes[:, head], relevant.yes[:, head], majority, fires])
        classes.append(_class_gap(explained.class_names[head], chain, seen, rows.copies))
    return Gap(tuple(classes))


def _of_relevant(explained: Reading, rows: ConceptTable) -> Reading:
    """Return the reading of rows by the network if every head sees its relevant concepts only."""
    if explained.network is None:
        # Formulas read no other concepts.
        return explained.of_rows(rows)
    from logiclens.explain.forward import restricted

    return explained.of_rows(rows, restricted(explained.network, explained))


def _class_gap(name: str, chain: NDArray[np.bool_], seen: NDArray[np.bool_], copies: NDArray[np.float64]) -> ClassGap:
    def counted(rows: NDArray[np.bool_]) -> int:
        return int(copies[rows].sum())

    changes = chain[1:] != chain[:-1]
    differ = chain[0] != chain[-1]
    return ClassGap(
        name,
        n_rows=int(copies.sum()),
        changed={step: counted(change) for step, change in zip(STEPS, changes, strict=True)},
        restored=counted(changes.any(axis=0) & ~differ),
        disagree=counted(differ),
        unseen=counted(~seen),
    )


def _majority(table: TruthTable, rows: ConceptTable) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the majority answer for each row's relevant concepts, and whether any explained row has these concepts."""
    known, asked = table.rows.bits(), rows.boolean()[:, places(table.names, rows.names)]
    _, group = distinct(np.concatenate([known, asked]))
    outcome = np.zeros(group.max() + 1, dtype=np.bool_)
    has = np.zeros_like(outcome)
    outcome[group[: len(known)]], has[group[: len(known)]] = table.outcome, table.support > 0
    return outcome[group[len(known) :]], has[group[len(known) :]]


@dataclass(frozen=True)
class SplitSuggestion:
    """A finer concept and the contradictions it would resolve.

    Attributes:
        concept: the concept to split.
        cut: additional threshold (`>=`) beside 0.5; None if the concept is not a relevant one and would help as it is.
        separated: weight of the contradicting rows that the suggestion would resolve.
        of: weight of all rows whose answer differs from the majority of their Boolean row.

    >>> suggestion = SplitSuggestion("a", 0.75, separated=8.0, of=10.0)
    >>> print(f"{suggestion.concept} >= {suggestion.cut} would resolve {suggestion.separated:g} of {suggestion.of:g}")
    a >= 0.75 would resolve 8 of 10
    """

    concept: str
    cut: float | None
    separated: float
    of: float

    @for_reading
    def __str__(self) -> str:
        """Return the suggestion as a sentence."""
        action = "take in" if self.cut is None else "split"
        where = "" if self.cut is None else f" at {self.cut:.3g} as well"
        return f"{action} {self.concept!r}{where}: settles {self.separated:g} of {self.of:g} contradicting rows"


def suggest_splits(reading: Reading, head: int, concepts: Sequence[str]) -> tuple[SplitSuggestion, ...]:
    """Return, for each concept, the extra threshold that resolves the most contradicting rows of a head.

    Args:
        reading: answers of the network on the rows.
        head: index of the head.
        concepts: the concepts that the class is explained with.

    Returns:
        The suggestions, the best first; empty if there are no contradictions.
    """
    relevant = places(concepts, reading.table.names)
    first, group = distinct(reading.bits[:, relevant])
    weight, yes = reading.table.weight, reading.yes[:, head]
    minority = _minority(group, yes, weight, len(first))
    if minority == 0:
        return ()
    found = []
    for column, name in enumerate(reading.table.names):
        if column in relevant:
            cut, left = _best_cut(reading.table.values[:, column], group, yes, weight, len(first))
        else:
            cut, left = None, _minority(2 * group + reading.bits[:, column], yes, weight, 2 * len(first))
        if left < minority:
            found.append(SplitSuggestion(name, cut, minority - left, minority))
    return tuple(sorted(found, key=lambda suggestion: -suggestion.separated))


def _minority(group: NDArray[np.intp], yes: NDArray[np.bool_], weight: NDArray[np.float64], n_groups: int) -> float:
    """Return the weight of rows whose answer differs from the majority of their group."""
    for_yes = np.bincount(group, weight * yes, minlength=n_groups)
    for_no = np.bincount(group, weight * ~yes, minlength=n_groups)
    return float(np.minimum(for_yes, for_no).sum())


def _best_cut(
    values: NDArray[np.floating[Any]],
    group: NDArray[np.intp],
    yes: NDArray[np.bool_],
    weight: NDArray[np.float64],
    n_groups: int,
    max_cuts: int = 64,
) -> tuple[float | None, float]:
    """Return the extra threshold of a concept that leaves the smallest minority, and that minority."""
    present = np.unique(values)
    middles = (present[1:] + present[:-1]) / 2
    if len(middles) > max_cuts:
        middles = np.quantile(middles, np.linspace(0, 1, max_cuts))
    best_cut, best_left = None, float("inf")
    for cut in middles:
        left = _minority(2 * group + (values >= cut), yes, weight, 2 * n_groups)
        if left < best_left:
            best_cut, best_left = float(cut), left
    return best_cut, best_left
