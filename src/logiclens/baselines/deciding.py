"""From one formula a class to one class a row: of the formulas that fire, the most precise one decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.bits import PackedRows
from logiclens.formula.dnf import DNF


@dataclass(frozen=True, eq=False)
class MostPrecise:
    """The class of a row from formulas: of the classes whose formula fires the first in `order`, else `default`."""

    formulas: tuple[DNF, ...]
    order: tuple[int, ...]
    default: int

    def __call__(self, table: ConceptTable) -> NDArray[np.intp]:
        """The class number of each row of a table."""
        order = np.array(self.order, dtype=np.intp)
        fires = firing(self.formulas, table)[:, order]
        return np.where(fires.any(axis=1), order[fires.argmax(axis=1)], self.default)


def decide(formulas: Sequence[DNF], train: ConceptTable) -> MostPrecise:
    """How formulas, one for each class, predict: by their precision on training rows, with a class for the rest.

    Where several formulas fire, the class whose formula has the higher precision is predicted (0 where it fires on no
    training row); ties go to the formula that is right on more training rows, then to the first class. Where none
    fires, the class that most of the training rows have on which none fires; where there are no such rows, the class
    that most training rows have. Rows count by their weight.

    >>> from logiclens.formula import Literal
    >>> train = ConceptTable([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]], names=["a", "b"], labels=[0, 0, 1, 1, 1])
    >>> rule = decide([Literal("a") | DNF.false, Literal("b") | DNF.false], train)
    >>> rule(train).tolist(), rule.order, rule.default
    ([0, 0, 1, 1, 1], (0, 1), 1)
    """
    listed, of_class = tuple(formulas), class_weights_of_rows(train)
    if len(listed) != len(train.class_names):
        raise LogicLensError(
            f"{len(listed)} formulas were given for {len(train.class_names)} classes: give one for each class."
        )
    fires = firing(listed, train)
    right, fired = (of_class * fires).sum(axis=0), train.weight @ fires
    precision = np.divide(right, fired, out=np.zeros(len(listed)), where=fired > 0)
    # lexsort is stable, and sorts by its last key first.
    order = np.lexsort((-right, -precision))
    left = of_class[~fires.any(axis=1)].sum(axis=0)
    default = np.argmax(left if left.sum() > 0 else of_class.sum(axis=0))
    return MostPrecise(listed, tuple(int(i) for i in order), int(default))


def firing(formulas: Sequence[DNF], table: ConceptTable) -> NDArray[np.bool_]:
    """Which formula fires on which row, `[rows, formulas]`; concepts are cut at 0.5."""
    packed = PackedRows.of(table.boolean(), table.names)
    fires = np.zeros((len(table), len(formulas)), dtype=np.bool_)
    for column, formula in enumerate(formulas):
        fires[:, column] = formula.evaluate(packed)
    return fires


def class_numbers(table: ConceptTable) -> NDArray[np.int64]:
    """The class number of each row; tables with several labels a row, or none, are refused."""
    if table.labels is None or table.labels.ndim != 1:
        found = "no labels" if table.labels is None else "several labels a row"
        raise LogicLensError(f"a compared method needs one class number a row, got {found}: pass labels=[0, 1, ...].")
    return table.labels


def class_weights_of_rows(table: ConceptTable) -> NDArray[np.float64]:
    """What each row weighs, in the column of its class: `[rows, classes]`."""
    class_numbers(table)
    weights: NDArray[np.float64] = table.targets() * table.weight[:, None]
    return weights


def together(train: ConceptTable, validation: ConceptTable) -> ConceptTable:
    """All rows that weigh something: what a method learns from that has nothing to choose on validation rows."""
    class_numbers(train)
    class_numbers(validation)
    rows = train.append(validation)
    return rows.weighing(rows.weight)


def unlearned(table: ConceptTable) -> tuple[str, ...]:
    """A sentence on the classes without rows, whose formula is False; none where every class has rows."""
    empty = table.empty_classes()
    if not empty:
        return ()
    shown = ", ".join(repr(name) for name in empty[:5]) + (f" and {len(empty) - 5} more" if len(empty) > 5 else "")
    return (f"no row to learn from has the class {shown}: the formula is False.",)
