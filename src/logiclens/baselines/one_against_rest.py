"""One class against the rest: how a learner of yes and no gives one formula for each class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.baselines.deciding import class_numbers, decide, unlearned
from logiclens.baselines.learner import Learned
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Cube, Literal

Items = tuple[int, ...]
"""Literals by number, rising: j for concept j, n + j for the negation of concept j of n."""


@dataclass(frozen=True, eq=False)
class YesNo:
    """Boolean rows `[rows, concepts]`, and which of them are of the class in question."""

    bits: NDArray[np.bool_]
    names: tuple[str, ...]
    yes: NDArray[np.bool_]

    @property
    def literals(self) -> NDArray[np.bool_]:
        """The concepts, and behind them their negations: `[rows, 2 * concepts]`."""
        return np.concatenate([self.bits, ~self.bits], axis=1)

    def cube(self, items: Iterable[int]) -> Cube:
        """The conjunction of some columns of `literals`."""
        n = len(self.names)
        return Cube(Literal(self.names[item % n], item < n) for item in items)


@dataclass(frozen=True)
class ClassRule:
    """The formula of one class, with sentences about how it came about."""

    formula: DNF
    notes: tuple[str, ...] = ()


def one_against_rest(
    learn: Callable[..., ClassRule], *tables: ConceptTable, sample: Sequence[int] | None = None
) -> Learned:
    """One formula for each class, learned on its own; two classes are two questions, like any other number.

    A class without rows gets `DNF.false`, and one that has them all `DNF.true`. Classes are predicted as `decide` says.

    Args:
        learn: learns one class; it is called with a `YesNo` for each table.
        tables: the rows to learn from, and then those to choose on, if any; concepts are cut at 0.5, and a row that
            counts n times comes n times.
        sample: the class numbers to learn, where all would take too long; formulas are given for these alone. Since no
            row is ever given another class, the accuracy of `predict` says nothing about the method then.
    """
    first, n_classes = tables[0], len(tables[0].class_names)
    wanted = _checked_sample(sample, n_classes)
    rows = [_repeated(table) for table in tables]
    formulas, notes = [DNF.false] * n_classes, [*unlearned(first)]
    for k in wanted:
        asked = [YesNo(bits, first.names, labels == k) for bits, labels in rows]
        if not asked[0].yes.any():
            continue
        found = ClassRule(DNF.true, ("every row has this class.",)) if asked[0].yes.all() else learn(*asked)
        formulas[k] = found.formula
        notes += [f"{first.class_names[k]}: {note}" for note in found.notes]
    if len(wanted) < n_classes:
        listed = ", ".join(first.class_names[k] for k in wanted)
        notes.append(f"a sample of {len(wanted)} of the {n_classes} classes was learned: {listed}.")
        asked_for = tuple(formulas[k] for k in wanted)
        return Learned(decide(formulas, first), asked_for, tuple(notes), classes=wanted)
    return Learned(decide(formulas, first), tuple(formulas), tuple(notes))


def _repeated(table: ConceptTable) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """The cut rows with their class numbers, each as often as it counts."""
    labels = class_numbers(table)
    if not (table.weight == np.round(table.weight)).all():
        raise LogicLensError("this method cannot weigh rows: give weights that are whole numbers, which repeat a row.")
    again = np.repeat(np.arange(len(table)), table.weight.astype(np.intp))
    return table.boolean()[again], labels[again]


def _checked_sample(sample: Sequence[int] | None, n_classes: int) -> tuple[int, ...]:
    if sample is None:
        return tuple(range(n_classes))
    outside = [k for k in sample if not 0 <= k < n_classes]
    if outside or not len(sample):
        got = outside[0] if outside else "none"
        raise LogicLensError(f"sample must hold class numbers from 0 to {n_classes - 1}, got {got}; None learns all.")
    return tuple(sorted(set(sample)))
