"""Dataset: the rows of one classification problem, and how its concepts come about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.formula.dnf import DNF

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with one class each, and concepts for all of them.

    Args:
        name: the name it is loaded by.
        title: one line that says what is asked.
        inputs: what was measured: a table, or images `[rows, channels, height, width]` of bytes.
        labels: the class number of each row.
        class_names: the classes.
        concepts: gives the concepts of all rows, with labels; what has to be fitted (means, ranges, cuts) is fitted on
            the rows it is given, and on nothing else.
        annotated: whether `concepts` are annotations that an encoder has to predict from `inputs`, for images say.
        groups: for each row, what it must not be torn from (a country, a patient); None where rows stand alone.
        truth: the true formula of each class, where the data were made from one.
        final: rows that no fold may use, kept for a last test.
        remarks: what must be said wherever figures on these rows are shown.
    """

    name: str
    title: str
    inputs: pd.DataFrame | NDArray[np.uint8]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    concepts: Callable[[Rows], ConceptTable]
    annotated: bool = False
    groups: NDArray[np.object_] | None = None
    truth: tuple[DNF, ...] | None = None
    final: Dataset | None = None
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.labels)

    @property
    def all_rows(self) -> Rows:
        """Every row number: what the paper's own experiments fitted their preprocessing on."""
        return np.arange(len(self))
