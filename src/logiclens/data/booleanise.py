"""Booleaniser: numeric columns cut at quantiles of the training rows into named concepts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.errors import LogicLensError


class Booleaniser:
    """Cuts each numeric column at quantiles into concepts such as `age >= 72.5`.

    The cuts are fitted once, on the training part, and written as short as the training rows allow.

    >>> frame = pd.DataFrame({"age": [31.2, 45.9, 58.1, 77.7]})
    >>> Booleaniser(n_cuts=1).fit(frame).transform(frame)
       age >= 50
    0      False
    1      False
    2       True
    3       True
    """

    def __init__(self, n_cuts: int = 2) -> None:
        """Cut each column at `n_cuts` places, at equal shares of the training rows."""
        self.n_cuts = n_cuts

    def fit(self, frame: pd.DataFrame, labels: object = None) -> Booleaniser:
        """Find the cuts; a column with one value gets none. Labels are not looked at."""
        if self.n_cuts < 1:
            raise LogicLensError(f"n_cuts must be at least 1, got {self.n_cuts}.")
        if not hasattr(frame, "columns"):
            raise LogicLensError(f"expected a DataFrame with named columns, got {type(frame).__name__}.")
        if len(frame) == 0:
            raise LogicLensError("there are no rows to find cuts on.")
        names = [str(column) for column in frame.columns]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise LogicLensError(f"column names must differ; {name!r} is there more than once.")
        cuts = {name: _quantile_cuts(_numbers(frame, i), self.n_cuts) for i, name in enumerate(names)}
        if not any(cuts.values()):
            raise LogicLensError("every column has one value only on these rows: there is nothing to cut.")
        self.cuts_: dict[str, tuple[float, ...]] = cuts
        return self

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """One Boolean column for each cut."""
        self._check_fitted()
        place = {str(column): i for i, column in enumerate(frame.columns)}
        missing = [name for name in self.cuts_ if name not in place]
        if missing:
            raise LogicLensError(f"the table lacks the column {missing[0]!r} that the cuts were fitted on.")
        columns = {
            _concept(name, cut): _numbers(frame, place[name]) >= cut
            for name, cuts in self.cuts_.items()
            for cut in cuts
        }
        return pd.DataFrame(columns, index=frame.index)

    def fit_transform(self, frame: pd.DataFrame, labels: object = None) -> pd.DataFrame:
        """Find the cuts on these rows and apply them to the same rows."""
        return self.fit(frame, labels).transform(frame)

    def _check_fitted(self) -> None:
        if not hasattr(self, "cuts_"):
            raise LogicLensError("this Booleaniser is not fitted: call fit(frame) on the training rows first.")

    def column_of(self) -> dict[str, str]:
        """The raw column behind each concept."""
        self._check_fitted()
        return {_concept(name, cut): name for name, cuts in self.cuts_.items() for cut in cuts}


def _concept(column: str, cut: float) -> str:
    # repr, not :g : six digits would give two different cuts one name, and could name a cut that splits other rows.
    return f"{column} >= {cut:g}" if float(f"{cut:g}") == cut else f"{column} >= {cut!r}"


def short_number(low: float, high: float) -> float:
    """A number in (low, high] with as few digits as possible: what a person would write for the cut between them.

    >>> short_number(13.0425, 13.1083)
    13.1
    """
    if not low < high:
        raise LogicLensError(f"there is no number above {low} and up to {high}.")
    if low < 0 <= high:
        return 0.0
    middle = low + (high - low) / 2
    magnitude = math.floor(math.log10(max(abs(low), abs(high))))
    for digits in range(17):
        # The middle where it can be had as short, else whatever lies below the upper end.
        for target in (middle, high):
            candidate = round(target, digits - magnitude)
            if low < candidate <= high:
                return float(candidate)
    return high


def _quantile_cuts(column: NDArray[np.float64], n_cuts: int) -> tuple[float, ...]:
    values, distinct = np.sort(column), np.unique(column)
    if len(distinct) < 2:
        return ()
    cuts: list[float] = []
    for share in np.arange(1, n_cuts + 1) / (n_cuts + 1):
        quantile = values[min(len(values) - 1, math.ceil(share * len(values)))]
        # Between two values that are there, so that no cut has all rows on one side.
        above = max(1, int(np.searchsorted(distinct, quantile)))
        cuts.append(short_number(float(distinct[above - 1]), float(distinct[above])))
    return tuple(dict.fromkeys(cuts))


def _numbers(frame: pd.DataFrame, place: int) -> NDArray[np.float64]:
    name = str(frame.columns[place])
    try:
        column = np.asarray(frame.iloc[:, place], dtype=np.float64)
    except (TypeError, ValueError):
        raise LogicLensError(f"the column {name!r} is not numeric.") from None
    if not np.isfinite(column).all():
        row = int(np.flatnonzero(~np.isfinite(column))[0])
        raise LogicLensError(f"the column {name!r} is missing or infinite in row {row}.")
    return column
