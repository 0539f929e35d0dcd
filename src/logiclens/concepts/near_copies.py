"""Columns that say nearly the same: one of each group stands for the others, chosen without labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from logiclens.formula.column_kinds import TRUTH_VALUE
from logiclens.tables.frames import Column

ALIKE = 0.95
"""Rank correlation, of either sign, from which two columns say nearly the same."""


def near_copies(
    columns: Sequence[Column], weight: NDArray[np.float64], preferred: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Return for each column that stands for others the names of these.

    The column that is like most others comes first, so that another sample of the rows gives the same groups as far as
    possible.

    Args:
        columns: the columns.
        weight: what each row counts for.
        preferred: columns that no other column stands for.
    """
    ordered = [
        column
        for column in columns
        if not column.is_nominal and column.kind != TRUTH_VALUE.name and len(np.unique(column.values)) > 2
    ]
    if len(ordered) < 2:
        return {}
    # A gap ranks below every value.
    ranks = [rankdata(np.where(np.isnan(column.numbers), -np.inf, column.numbers)) for column in ordered]
    spread = np.cov(ranks, aweights=weight)
    size = np.sqrt(np.maximum(np.diag(spread), np.finfo(float).tiny))
    correlation = np.abs(spread) / size[:, None] / size[None]
    alike = correlation >= ALIKE
    names = [column.name for column in ordered]
    left, groups = list(range(len(names))), dict[str, tuple[str, ...]]()
    while left:
        # Correlations tell equals apart, so that the order of the columns does not matter.
        totals = {place: round(float(correlation[place].sum()), 9) for place in left}
        n_alike = {place: int(alike[place, left].sum()) for place in left}
        centre = max(left, key=lambda place: (names[place] in preferred, n_alike[place], totals[place], -place))
        others = [place for place in left if place != centre and alike[centre, place] and names[place] not in preferred]
        if others:
            groups[names[centre]] = tuple(names[place] for place in others)
        left = [place for place in left if place != centre and place not in others]
    return groups
