"""How true formulas are on some rows: against labels and against the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.explain.extract import Reading
from logiclens.formula.bits import PackedRows
from logiclens.formula.dnf import DNF, Complement
from logiclens.metrics.scores import Fidelity, complexity, explanation_accuracy, fidelity


@dataclass(frozen=True)
class Scores:
    """Explanation accuracy and fidelity of one explanation on some rows, with complexity."""

    explanation_accuracy: float
    fidelity: Fidelity
    complexity: float


def fires(formulas: Sequence[DNF | Complement], rows: PackedRows) -> NDArray[np.bool_]:
    """On which row which formula holds."""
    columns = [formula.evaluate(rows) for formula in formulas]
    return np.stack(columns, axis=1)


def score(formulas: Sequence[DNF | Complement], reading: Reading) -> Scores:
    """How true formulas are on the rows of a reading: against its labels and against the network."""
    fired = fires(formulas, PackedRows.of(reading.bits, reading.table.names))
    targets = reading.targets()
    return Scores(
        explanation_accuracy(fired, targets, reading.table.weight),
        fidelity(formulas, fired, reading.yes, reading.table.weight),
        complexity(formulas),
    )
