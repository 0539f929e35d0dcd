"""Distinct rows in an order of their own, and parts of them set apart.

What is computed from them depends on which rows there are and what they weigh, not on how they came: a row that weighs
2 is the same as a row that is there twice, one that weighs nothing is not there, and the order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.data.columns import Column, row_hashes
from logiclens.errors import LogicLensError


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows that differ, shuffled by a seed: where each one first stands, and what all of its copies weigh."""

    first: NDArray[np.intp]
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        """The number of distinct rows."""
        return len(self.first)


def distinct_rows(
    columns: Sequence[Column], classes: NDArray[np.intp], weight: NDArray[np.float64], *, seed: int
) -> DistinctRows:
    """The distinct rows that weigh something; rows with other classes `[rows, tasks]` differ."""
    weighs = np.flatnonzero(weight > 0)
    hashes = row_hashes([column.take(weighs) for column in columns], *classes[weighs].T, seed=seed)
    _, first, copy = np.unique(hashes, return_index=True, return_inverse=True)
    return DistinctRows(weighs[first], np.bincount(copy, weight[weighs]).astype(np.float64))


def set_apart(classes: NDArray[np.intp] | None, weight: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """How much of each row goes to a part of about this share of every class; `weight` minus this is the rest.

    Weights that are whole numbers count copies, which can stand on both sides. Other weights say how important a row
    is: it stays whole. A class keeps at least one copy in the rest.

    >>> set_apart(np.array([0, 0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 5.0, 1.0]), 0.25).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """
    if not 0 <= share < 1:
        raise LogicLensError(f"a part must be a share from 0 to below 1, got {share}.")
    counts = (weight == np.round(weight)).all()
    units = weight if counts else (weight > 0).astype(np.float64)
    taken = np.zeros(len(weight))
    classes = np.zeros(len(weight), dtype=np.intp) if classes is None else classes
    for klass in np.unique(classes):
        rows = np.flatnonzero(classes == klass)
        end = np.cumsum(units[rows])
        n_taken = min(round(share * end[-1]), round(end[-1]) - 1)
        if n_taken > 0:
            # Evenly spaced copies of the shuffled rows.
            points = (np.arange(n_taken) + 0.5) * end[-1] / n_taken
            taken[rows] = np.bincount(np.searchsorted(end, points, side="right"), minlength=len(rows))
    return taken if counts else taken * weight
