"""The one protocol: what every method of a comparison is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.formula.dnf import DNF, Complement

Predict = Callable[[ConceptTable], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a method made of the training rows.

    Args:
        predict: the class number of each row of a table.
        formulas: one for each class, in the order of the classes; None for a black box.
        notes: what a reader of the results must know, in sentences.
        classes: the class numbers that `formulas` are for, where a method explains a sample of them; None is all.
        seconds: the time that counts, where it is not all that passed (a peer that had to be started first).
        cpu_seconds: the same of the processor's time.
        elsewhere: seconds and CPU seconds to add to those that passed: the share of what was done for several at once.
        test: the test rows as the method sees them, where it predicts concepts of its own.
        answers: on which row the method says yes to which class `[rows, classes]`, where that is not simply the class
            it predicts: heads that each answer for themselves may say yes to several classes, or to none.
    """

    predict: Predict
    formulas: tuple[DNF | Complement, ...] | None = None
    notes: tuple[str, ...] = ()
    classes: tuple[int, ...] | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    elsewhere: tuple[float, float] = (0.0, 0.0)
    test: ConceptTable | None = None
    answers: Callable[[ConceptTable], NDArray[np.bool_]] | None = None


class Learner(Protocol):
    """A method: it fits on the training rows, and may choose on the validation rows; test rows it never sees."""

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn from rows with one class number each."""
        ...
