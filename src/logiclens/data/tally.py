"""Tally: how often each value of a column goes with each class, which is all that cuts and categories depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.data.columns import Column, Kind
from logiclens.data.cuts import Histogram
from logiclens.formula.predicate import Scalar

FEW_COPIES = 1.1
"""Rows that are there more often than this, on average, are no rows of their own: nothing names them."""


@dataclass(frozen=True, eq=False)
class Tally:
    """What is counted of one column.

    Attributes:
        name: of the column.
        kind: what its values are.
        missing: the weight of each class where there is no value, `[tasks, classes]`.
        n_rows: the rows with a value.
        n_values: the distinct values among them; at least so many, where nothing depends on it.
        histogram: of numbers, dates and truth values, in the order of their size.
        categories: the values that have no order, where there are any.
        counts: the weight of each class on each category, `[categories, tasks, classes]`.
        whole: whether numbers are whole.
        loose: how many rows the lower border of each bin may be off, where values are too many to be told apart.
        copied: whether most rows are copies of others, so that values that are all different are no sign of a name.
    """

    name: str
    kind: Kind
    missing: NDArray[np.float64]
    n_rows: int
    n_values: int
    histogram: Histogram | None = None
    categories: tuple[Scalar, ...] = ()
    counts: NDArray[np.float64] | None = None
    whole: bool = False
    loose: NDArray[np.float64] | None = None
    copied: bool = False

    @property
    def is_nominal(self) -> bool:
        """Whether the values are categories, without an order."""
        return self.counts is not None

    @property
    def has_missing(self) -> bool:
        """Whether some rows have a value and some have none."""
        return self.n_rows > 0 and bool(self.missing.any())

    @classmethod
    def of(cls, column: Column, classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64]) -> Tally:
        """Count rows in memory; `classes` holds class numbers `[rows, tasks]`, `weight` what each row counts for."""
        gone = column.missing
        values = column.values[~gone]
        histogram, counts = None, None
        if column.is_nominal:
            counts = _counted(column.places[~gone], classes[~gone], n_classes, weight[~gone], len(column.categories))
        else:
            histogram = Histogram.of(column.numbers, weight, classes, n_classes)
        # A gap makes whole numbers floats.
        whole_but_for_gaps = column.kind == "number" and bool(gone.any()) and bool((values == np.round(values)).all())
        return cls(
            column.name,
            column.kind,
            _counted(np.zeros(int(gone.sum()), dtype=np.intp), classes[gone], n_classes, weight[gone], 1)[0],
            len(values),
            len(np.unique(values)),
            histogram,
            column.categories,
            counts,
            column.whole or whole_but_for_gaps,
            copied=bool((weight == np.round(weight)).all() and weight.sum() > FEW_COPIES * len(weight)),
        )


def _counted(
    codes: NDArray[np.intp], classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64], n_codes: int
) -> NDArray[np.float64]:
    """The weight of each class on each code, `[codes, tasks, classes]`."""
    each = [
        np.bincount(codes * n_classes + classes[:, task], weight, minlength=n_codes * n_classes)
        for task in range(classes.shape[1])
    ]
    return np.stack([counts.reshape(n_codes, n_classes) for counts in each], axis=1).astype(np.float64)
