"""Booleaniser: numeric columns cut at quantiles of the training rows into named concepts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.predicate import Predicate, numbers_of


class Booleaniser:
    """Cuts each numeric column at quantiles into concepts such as `age >= 72.5`.

    The cuts are fitted once, on the training part, and written as short as the training rows allow. A Boolean column is
    a concept as it is. A missing value lies above no cut.

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
        is_flag = [pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes]
        self.flags_ = frozenset(name for name, flag in zip(names, is_flag, strict=True) if flag and cuts[name])
        return self

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """One Boolean column for each cut."""
        self._check_fitted()
        missing = [name for name in self.cuts_ if name not in map(str, frame.columns)]
        if missing:
            raise LogicLensError(f"the table lacks the column {missing[0]!r} that the cuts were fitted on.")
        return cut(frame, self.predicates())

    def fit_transform(self, frame: pd.DataFrame, labels: object = None) -> pd.DataFrame:
        """Find the cuts on these rows and apply them to the same rows."""
        return self.fit(frame, labels).transform(frame)

    def _check_fitted(self) -> None:
        if not hasattr(self, "cuts_"):
            raise LogicLensError("this Booleaniser is not fitted: call fit(frame) on the training rows first.")

    def predicates(self) -> dict[str, Predicate]:
        """What each concept means on the raw table."""
        self._check_fitted()
        predicates = {}
        for name, cuts in self.cuts_.items():
            if name in self.flags_:
                # A Boolean column is a concept as it is.
                predicates[name] = Predicate(name, "==", True)
                continue
            for cut in cuts:
                predicate = Predicate(name, ">=", cut)
                predicates[str(predicate)] = predicate
        return predicates

    def implied(self) -> tuple[tuple[str, ...], ...]:
        """The concepts of each column with several cuts: each implies the one before it."""
        self._check_fitted()
        chains = ([str(Predicate(name, ">=", cut)) for cut in sorted(cuts)] for name, cuts in self.cuts_.items())
        return tuple(tuple(chain) for chain in chains if len(chain) > 1)

    def column_of(self) -> dict[str, str]:
        """The raw column behind each concept."""
        return {concept: predicate.column for concept, predicate in self.predicates().items()}


def cut(frame: pd.DataFrame, predicates: Mapping[str, Predicate]) -> pd.DataFrame:
    """One Boolean column for each predicate."""
    place = {str(column): i for i, column in enumerate(frame.columns)}
    columns = {}
    for concept, predicate in predicates.items():
        if predicate.column not in place:
            raise LogicLensError(f"the table lacks the column {predicate.column!r} that {concept!r} is about.")
        columns[concept] = predicate.holds(frame.iloc[:, place[predicate.column]])
    return pd.DataFrame(columns, index=frame.index)


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
    column = column[~np.isnan(column)]
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
    column = numbers_of(frame.iloc[:, place], name)
    if np.isinf(column).any():
        raise LogicLensError(f"the column {name!r} is infinite in row {int(np.flatnonzero(np.isinf(column))[0])}.")
    return column
