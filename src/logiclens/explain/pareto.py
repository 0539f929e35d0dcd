"""The curve from short to true: what accuracy and F1 each number of literals buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.packed_rows import PackedRows
from logiclens.metrics.scores import macro_f1


@dataclass(frozen=True)
class ParetoPoint:
    """The best formula of a class with so many literals; no shorter one found is as true.

    `cross_validated` is the macro-F1 that formulas of the same price had in cross-validation inside the training rows,
    where the formula was searched.
    """

    name: str
    literals: int
    accuracy: float
    f1: float
    formula: DNF | Complement
    cross_validated: float | None = None

    def __str__(self) -> str:
        """One line of the curve."""
        honest = "" if self.cross_validated is None else f", cross-validated {100 * self.cross_validated:.1f}%"
        return (
            f"{self.name}: {self.literals:>2} literals, accuracy {100 * self.accuracy:.1f}%, "
            f"F1 {100 * self.f1:.1f}%{honest}   {self.formula}"
        )


def pareto(
    name: str,
    formulas: Sequence[DNF | Complement],
    rows: PackedRows,
    truth: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> tuple[ParetoPoint, ...]:
    """The formulas that no shorter one beats, the shortest first; scored on some rows."""
    points = []
    for formula in formulas:
        fires = formula.evaluate(rows)
        right = float(weight[fires == truth].sum() / weight.sum())
        points.append(ParetoPoint(name, formula.n_literals, right, macro_f1(truth, fires, weight), formula))
    points.sort(key=lambda point: (point.literals, -point.f1, -point.accuracy))
    kept: list[ParetoPoint] = []
    for point in points:
        if not any(other.f1 >= point.f1 and other.accuracy >= point.accuracy for other in kept):
            kept.append(point)
    return tuple(kept)
