"""Rows that look alike and are answered differently, and which finer concept would tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.explain.extract import Reading
from logiclens.formula.counted_rows import distinct
from logiclens.formula.packed_rows import places


@dataclass(frozen=True)
class SplitSuggestion:
    """A finer concept and what it would settle.

    Attributes:
        concept: the concept to split.
        cut: split it here (`>=`) as well as at 0.5; None where the concept is not among the relevant ones and would
            help as it is.
        separated: weight of the contradicting rows that this would put right.
        of: weight of all rows that answer against the majority of their Boolean row.
    """

    concept: str
    cut: float | None
    separated: float
    of: float

    def __str__(self) -> str:
        """A sentence."""
        action = "take in" if self.cut is None else "split"
        where = "" if self.cut is None else f" at {self.cut:.3g} as well"
        return f"{action} {self.concept!r}{where}: settles {self.separated:g} of {self.of:g} contradicting rows"


def suggest_splits(reading: Reading, head: int, concepts: Sequence[str]) -> tuple[SplitSuggestion, ...]:
    """For each concept the one extra cut that settles the most contradicting rows of a head; the best first.

    `concepts` are those that the class is explained with.
    """
    relevant = places(concepts, reading.table.names)
    first, group = distinct(reading.bits[:, relevant])
    weight, yes = reading.table.weight, reading.yes[:, head]
    minority = _minority(group, yes, weight, len(first))
    if minority == 0:
        return ()
    found = []
    for column, name in enumerate(reading.table.names):
        if column in relevant:
            cut, left = _best_cut(reading.table.values[:, column], group, yes, weight, len(first))
        else:
            cut, left = None, _minority(2 * group + reading.bits[:, column], yes, weight, 2 * len(first))
        if left < minority:
            found.append(SplitSuggestion(name, cut, minority - left, minority))
    return tuple(sorted(found, key=lambda suggestion: -suggestion.separated))


def _minority(group: NDArray[np.intp], yes: NDArray[np.bool_], weight: NDArray[np.float64], n_groups: int) -> float:
    """The weight of rows that answer against the majority of their group."""
    for_yes = np.bincount(group, weight * yes, minlength=n_groups)
    for_no = np.bincount(group, weight * ~yes, minlength=n_groups)
    return float(np.minimum(for_yes, for_no).sum())


def _best_cut(
    values: NDArray[np.floating[Any]],
    group: NDArray[np.intp],
    yes: NDArray[np.bool_],
    weight: NDArray[np.float64],
    n_groups: int,
    max_cuts: int = 64,
) -> tuple[float | None, float]:
    """The extra cut of a concept that leaves the least minority, and that minority."""
    present = np.unique(values)
    middles = (present[1:] + present[:-1]) / 2
    if len(middles) > max_cuts:
        middles = np.quantile(middles, np.linspace(0, 1, max_cuts))
    best_cut, best_left = None, float("inf")
    for cut in middles:
        left = _minority(2 * group + (values >= cut), yes, weight, 2 * n_groups)
        if left < best_left:
            best_cut, best_left = float(cut), left
    return best_cut, best_left
