"""The protocol of a baseline: its input, its result, and how its formulas predict classes."""

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
from logiclens.formula.packed_rows import PackedRows

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
    answers: Callable[[ConceptTable], NDArray[np.bool_]] | None = None


class Learner(Protocol):
    """A method: it fits on the training rows, may choose on the validation rows, and never sees test rows."""

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn from rows with one class number each."""
        ...


@dataclass(frozen=True, eq=False)
class MostPrecise:
    """Predicts a class from formulas: the first class in `order` whose formula fires, else `default`."""

    formulas: tuple[DNF, ...]
    order: tuple[int, ...]
    default: int

    def __call__(self, table: ConceptTable) -> NDArray[np.intp]:
        """Return the class number of each row of a table."""
        order = np.array(self.order, dtype=np.intp)
        fires = firing(self.formulas, table)[:, order]
        return np.where(fires.any(axis=1), order[fires.argmax(axis=1)], self.default)


def decide(formulas: Sequence[DNF], train: ConceptTable) -> MostPrecise:
    """Return the rule by which formulas, one per class, predict: by their precision on training rows.

    If several formulas fire, the class whose formula has the highest precision is predicted (0 if it fires on no
    training row); ties go to the formula that is right on more training rows, then to the first class. If none fires,
    the majority class of the training rows on which none fires is predicted; if there are no such rows, the majority
    class of all training rows. Rows count by their weight.

    >>> from logiclens.formula import Literal
    >>> train = ConceptTable([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]], names=["a", "b"], labels=[0, 0, 1, 1, 1])
    >>> rule = decide([Literal("a") | DNF.false, Literal("b") | DNF.false], train)
    >>> rule(train).tolist(), rule.order, rule.default
    ([0, 0, 1, 1, 1], (0, 1), 1)
    """
    listed, of_class = tuple(formulas), class_weights_of_rows(train)
    fires = firing(listed, train)
    right, fired = (of_class * fires).sum(axis=0), train.weight @ fires
    precision = np.divide(right, fired, out=np.zeros(len(listed)), where=fired > 0)
    # lexsort is stable, and sorts by its last key first.
    order = np.lexsort((-right, -precision))
    left = of_class[~fires.any(axis=1)].sum(axis=0)
    default = np.argmax(left if left.sum() > 0 else of_class.sum(axis=0))
    return MostPrecise(listed, tuple(int(i) for i in order), int(default))


def firing(formulas: Sequence[DNF | Complement], table: ConceptTable) -> NDArray[np.bool_]:
    """Return which formula fires on which row, `[rows, formulas]`; concepts are cut at 0.5."""
    packed = PackedRows.of(table.boolean(), table.names)
    fires = np.zeros((len(table), len(formulas)), dtype=np.bool_)
    for column, formula in enumerate(formulas):
        fires[:, column] = formula.evaluate(packed)
    return fires


def class_numbers(table: ConceptTable) -> NDArray[np.int64]:
    """Return the class number of each row; raise for tables with several labels per row, or none."""
    if table.labels is None or table.labels.ndim != 1:
        raise LogicLensError("a compared method needs one class number per row: pass labels=[0, 1, ...].")
    return table.labels


def class_weights_of_rows(table: ConceptTable) -> NDArray[np.float64]:
    """Return the weight of each row in the column of its class: `[rows, classes]`."""
    class_numbers(table)
    weights: NDArray[np.float64] = table.targets() * table.weight[:, None]
    return weights


def together(train: ConceptTable, validation: ConceptTable) -> ConceptTable:
    """Return all rows with a weight, for a method that chooses nothing on validation rows."""
    class_numbers(train)
    class_numbers(validation)
    rows = train.append(validation)
    return rows.weighing(rows.weight)


def unlearned(table: ConceptTable) -> tuple[str, ...]:
    """Return a sentence about classes without rows, whose formula is False; nothing if every class has rows."""
    empty = table.empty_classes()
    if not empty:
        return ()
    shown = ", ".join(repr(name) for name in empty[:5]) + (f" and {len(empty) - 5} more" if len(empty) > 5 else "")
    return (f"no row to learn from has the class {shown}: the formula is False.",)


def require(module: str) -> ModuleType:
    """Import a module, or raise `MissingPackage` with the command that installs it.

    >>> require("math").sqrt(4)
    2.0
    """
    # Importing some packages draws random numbers, too.
    with require_extra("lab", "this method"), _kept_generators():
        return importlib.import_module(module)


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed the global generators of `random` and NumPy in this block, for packages that take no other seed.

    >>> before = random.getstate()
    >>> with global_seed(0):
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    with _kept_generators():
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        yield


@contextmanager
def _kept_generators() -> Iterator[None]:
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002


Items = tuple[int, ...]
"""Literals by number, ascending: j for concept j, n + j for the negation of concept j of n."""


@dataclass(frozen=True, eq=False)
class YesNo:
    """Boolean rows `[rows, concepts]`, and which of them are in the class."""

    bits: NDArray[np.bool_]
    names: tuple[str, ...]
    yes: NDArray[np.bool_]

    @property
    def literals(self) -> NDArray[np.bool_]:
        """Return the concepts followed by their negations: `[rows, 2 * concepts]`."""
        return np.concatenate([self.bits, ~self.bits], axis=1)

    def cube(self, items: Iterable[int]) -> Cube:
        """Return the conjunction of some columns of `literals`."""
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
    rows = [_repeated(table) for table in tables]
    formulas, notes = [DNF.false] * n_classes, [*unlearned(first)]
    for k in learned:
        of_class = [YesNo(bits, first.names, labels == k) for bits, labels in rows]
        if not of_class[0].yes.any():
            continue
        rule = ClassRule(DNF.true, ("every row has this class.",)) if of_class[0].yes.all() else learn(*of_class)
        formulas[k] = rule.formula
        notes += [f"{first.class_names[k]}: {note}" for note in rule.notes]
    if len(learned) < n_classes:
        listed = ", ".join(first.class_names[k] for k in learned)
        notes.append(f"a sample of {len(learned)} of the {n_classes} classes was learned: {listed}.")
        return Learned(decide(formulas, first), tuple(formulas[k] for k in learned), tuple(notes), classes=learned)
    return Learned(decide(formulas, first), tuple(formulas), tuple(notes))


def _repeated(table: ConceptTable) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the cut rows with their class numbers, each repeated by its weight."""
    again = np.repeat(np.arange(len(table)), table.weight.astype(np.intp))
    return table.boolean()[again], class_numbers(table)[again]
