"""The one protocol: what every method of a comparison is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.formula.dnf import DNF

Predict = Callable[[ConceptTable], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a method made of the training rows.

    Args:
        predict: the class number of each row of a table.
        formulas: one for each class, in the order of the classes; None for a black box.
        notes: what a reader of the results must know, in sentences.
    """

    predict: Predict
    formulas: tuple[DNF, ...] | None = None
    notes: tuple[str, ...] = ()


class Learner(Protocol):
    """A method: it fits on the training rows, and may choose on the validation rows; test rows it never sees."""

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn from rows with one class number each."""
        ...
