"""The protocol of a compared method: its input, its result, and how formulas predict classes."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, require_extra
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.minimisation import minimise, minimise_complete, row_bits
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.truth_table import TruthTable

Bits = NDArray[np.bool_]
Predict = Callable[[ConceptTable], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a method learned from the training rows.

    Args:
        predict: returns the class number of each row of a table.
        formulas: one per class, in the order of the classes; None for a black box.
        notes: sentences that a reader of the results must know.
        classes: the class numbers of `formulas`, if a method explains only a sample of them; None: all.
        seconds: the time that counts, if it is not the elapsed time (a peer that had to be started first).
        cpu_seconds: the CPU time that counts, likewise.
        test: the test rows as the method sees them, if it predicts concepts of its own.
        answers: on which row the method says yes to which class `[rows, classes]`, if that differs from the predicted
            class: independent heads may say yes to several classes, or to none.
    """

    predict: Predict
    formulas: tuple[DNF | Complement, ...] | None = None
    notes: tuple[str, ...] = ()
    classes: tuple[int, ...] | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    test: ConceptTable | None = None
    answers: Callable[[ConceptTable], Bits] | None = None


class Learner(Protocol):
    """A method: it fits on the training rows, may choose on the validation rows, and never sees test rows."""

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned: ...


def decide(formulas: Sequence[DNF], train: ConceptTable) -> Predict:
    """Return the rule by which formulas, one per class, predict: by their precision on training rows.

    If several formulas fire, the class whose formula has the highest precision is predicted (0 if it fires on no
    training row); ties go to the formula that is right on more training rows, then to the first class. If none fires,
    the majority class of the training rows on which none fires is predicted; if there are no such rows, the majority
    class of all training rows. Rows count by their weight.

    >>> train = ConceptTable([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]], names=["a", "b"], labels=[0, 0, 1, 1, 1])
    >>> decide([Literal("a") | DNF.false, Literal("b") | DNF.false], train)(train).tolist()
    [0, 0, 1, 1, 1]
    """
    listed, of_class = tuple(formulas), class_weights_of_rows(train)
    fires = firing(listed, train)
    right, fired = (of_class * fires).sum(axis=0), train.weight @ fires
    precision = np.divide(right, fired, out=np.zeros(len(listed)), where=fired > 0)
    # lexsort is stable, and sorts by its last key first.
    order = np.lexsort((-right, -precision))
    left = of_class[~fires.any(axis=1)].sum(axis=0)
    default = int(np.argmax(left if left.sum() > 0 else of_class.sum(axis=0)))

    def predict(table: ConceptTable) -> NDArray[np.intp]:
        fires = firing(listed, table)[:, order]
        return np.where(fires.any(axis=1), order[fires.argmax(axis=1)], default)

    return predict


def firing(formulas: Sequence[DNF | Complement], table: ConceptTable) -> Bits:
    packed = PackedRows.of(table.boolean(), table.names)
    fires = np.zeros((len(table), len(formulas)), dtype=np.bool_)
    for column, formula in enumerate(formulas):
        fires[:, column] = formula.evaluate(packed)
    return fires


def answer_formulas(
    answers: Callable[[Bits], Bits], observed: ConceptTable, used: Sequence[int] | NDArray[np.intp], most: int
) -> tuple[tuple[DNF, ...], bool]:
    """Return the shortest formulas of a model that gives none, and whether they are exact.

    Args:
        answers: returns on which of the given rows the model says yes to which class, `[rows, classes]`.
        observed: rows that have been seen. If the model uses many concepts, it is asked about these only.
        used: the concepts on which the answer depends.
        most: up to this many concepts every possible row is asked about.
    """
    names = [observed.names[j] for j in used]
    if len(used) > most:
        seen = observed.boolean()
        tables = (TruthTable.of(seen[:, list(used)], names, yes) for yes in answers(seen).T)
        return tuple(minimise(table).formula for table in tables), False
    rows = np.zeros((1 << len(used), observed.n_concepts), dtype=np.bool_)
    rows[:, list(used)] = row_bits(np.arange(1 << len(used)), len(used))
    return tuple(minimise_complete(yes, names).formula for yes in answers(rows).T), True


def class_numbers(table: ConceptTable) -> NDArray[np.int64]:
    if table.labels is None or table.labels.ndim != 1:
        raise LogicLensError("a compared method needs one class number per row: pass labels=[0, 1, ...].")
    return table.labels


def class_weights_of_rows(table: ConceptTable) -> NDArray[np.float64]:
    class_numbers(table)
    return np.asarray(table.targets() * table.weight[:, None], dtype=np.float64)


def together(train: ConceptTable, validation: ConceptTable) -> ConceptTable:
    rows = train.append(validation)
    return rows.weighing(rows.weight)


def unlearned(table: ConceptTable) -> tuple[str, ...]:
    """Return a sentence about classes without rows, whose formula is False; nothing if every class has rows."""
    empty = table.empty_classes()
    shown = ", ".join(repr(name) for name in empty[:5]) + (f" and {len(empty) - 5} more" if len(empty) > 5 else "")
    return (f"no row to learn from has the class {shown}: the formula is False.",) if empty else ()


def require(module: str) -> ModuleType:
    # Importing some packages draws random numbers, too.
    with require_extra("lab", "this method"), global_seed(None):
        return importlib.import_module(module)


@contextmanager
def global_seed(seed: int | None) -> Iterator[None]:
    """Seed the global generators of `random` and NumPy in this block, for packages that take no other seed.

    >>> before = random.getstate()
    >>> with global_seed(0):
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        if seed is not None:
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002


Items = tuple[int, ...]
"""Literals by number, ascending: j for concept j, n + j for the negation of concept j of n."""


@dataclass(frozen=True, eq=False)
class YesNo:
    """Boolean rows `[rows, concepts]`, and which of them are in the class."""

    bits: Bits
    names: tuple[str, ...]
    yes: Bits

    @property
    def literals(self) -> Bits:
        return np.concatenate([self.bits, ~self.bits], axis=1)

    def cube(self, items: Iterable[int]) -> Cube:
        n = len(self.names)
        return Cube(Literal(self.names[item % n], item < n) for item in items)


@dataclass(frozen=True)
class ClassRule:
    """The formula of one class, with sentences about how it was found."""

    formula: DNF
    notes: tuple[str, ...] = ()


def one_against_rest(
    learn: Callable[..., ClassRule], *tables: ConceptTable, sample: Sequence[int] | None = None
) -> Learned:
    """Learn one formula per class, each against the rest; two classes are two problems.

    A class without rows gets `DNF.false`, and one with all rows `DNF.true`. Classes are predicted by `decide`.

    Args:
        learn: learns one class; it is called with a `YesNo` for each table.
        tables: the rows to learn from, and then those to choose on, if any; concepts are cut at 0.5, and a row with
            weight n is repeated n times.
        sample: the class numbers to learn, if all would take too long; only these get formulas. Other classes are then
            never predicted, so the accuracy of `predict` says nothing about the method.
    """
    first, n_classes = tables[0], len(tables[0].class_names)
    learned = tuple(range(n_classes)) if sample is None else tuple(sorted(set(sample)))
    again = [np.repeat(np.arange(len(table)), table.weight.astype(np.intp)) for table in tables]
    rows = [(table.boolean()[place], class_numbers(table)[place]) for table, place in zip(tables, again, strict=True)]
    formulas, notes = [DNF.false] * n_classes, [*unlearned(first)]
    for k in learned:
        of_class = [YesNo(bits, first.names, labels == k) for bits, labels in rows]
        if not of_class[0].yes.any():
            continue
        rule = ClassRule(DNF.true, ("every row has this class.",)) if of_class[0].yes.all() else learn(*of_class)
        formulas[k] = rule.formula
        notes += [f"{first.class_names[k]}: {note}" for note in rule.notes]
    predict = decide(formulas, first)
    if len(learned) == n_classes:
        return Learned(predict, tuple(formulas), tuple(notes))
    listed = ", ".join(first.class_names[k] for k in learned)
    notes.append(f"a sample of {len(learned)} of the {n_classes} classes was learned: {listed}.")
    return Learned(predict, tuple(formulas[k] for k in learned), tuple(notes), classes=learned)
