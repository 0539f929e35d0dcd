"""Predicate: what a concept means on the raw table, such as `age >= 72.5`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError

Operator: TypeAlias = OneOf[">=", ">", "<=", "<", "=="]
Scalar: TypeAlias = float | int | bool | str

OPERATORS: tuple[Operator, ...] = (">=", ">", "<=", "<", "==")
_WORDS: dict[str, tuple[str, str]] = {
    ">=": ("at least", "below"),
    ">": ("above", "at most"),
    "<=": ("at most", "above"),
    "<": ("below", "at least"),
    "==": ("equal to", "other than"),
}


@dataclass(frozen=True)
class Predicate:
    """A comparison of one raw column with a value. A missing value makes it false, and its negation true.

    >>> old = Predicate("age", ">=", 72.5)
    >>> old.holds([80, 60, None, float("nan")]).tolist()
    [True, False, False, False]
    >>> str(old), old.words(), old.words(positive=False)
    ('age >= 72.5', 'age at least 72.5', 'age below 72.5')
    """

    column: str
    operator: Operator
    value: Scalar

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        if not isinstance(self.column, str) or not self.column:
            raise LogicLensError(f"a predicate needs the name of a column, got {self.column!r}.")
        if self.operator not in OPERATORS:
            raise LogicLensError(f"the operator must be one of {' '.join(OPERATORS)}, got {self.operator!r}.")
        if isinstance(self.value, Real) and not isinstance(self.value, bool):
            if not _is_finite(self.value):
                raise LogicLensError(f"the predicate on {self.column!r} needs a finite value, got {self.value}.")
            # NumPy's numbers become Python's, which every export can write down.
            exact = int(self.value) if isinstance(self.value, int | np.integer) else float(self.value)
            object.__setattr__(self, "value", exact)
        elif not isinstance(self.value, bool | np.bool_ | str):
            raise LogicLensError(f"the predicate on {self.column!r} needs a number or a text, got {self.value!r}.")
        elif self.operator != "==":
            raise LogicLensError(f"{self.value!r} can only be compared by '==', got {self.operator!r}.")
        else:
            object.__setattr__(self, "value", str(self.value) if isinstance(self.value, str) else bool(self.value))

    def holds(self, values: Any) -> NDArray[np.bool_]:
        """On which values of the column the predicate is true."""
        if isinstance(self.value, str):
            cells = _column(np.asarray(values, dtype=object), self.column)
            return np.fromiter((isinstance(c, str) and c == self.value for c in cells), np.bool_, len(cells))
        numbers, bound = numbers_of(values, self.column), self.value
        # A comparison with NaN is false, which is what a missing value means.
        if self.operator == ">=":
            return numbers >= bound
        if self.operator == ">":
            return numbers > bound
        if self.operator == "<=":
            return numbers <= bound
        return numbers < bound if self.operator == "<" else numbers == bound

    @property
    def shown_value(self) -> str:
        """The value as it is printed: the shortest text that reads back as the same number."""
        if isinstance(self.value, float):
            texts = (f"{self.value:g}", repr(self.value))
            return min((text for text in texts if float(text) == self.value), key=len)
        return str(self.value)

    def words(self, positive: bool = True) -> str:
        """The comparison, or its negation, as one would say it."""
        if self.value is True:
            return f"{self.column} true" if positive else f"{self.column} not true"
        return f"{self.column} {_WORDS[self.operator][not positive]} {self.shown_value}"

    def __str__(self) -> str:
        """The comparison as it is written."""
        return f"{self.column} {self.operator} {self.shown_value}"


def numbers_of(values: Any, column: str) -> NDArray[np.float64]:
    """The values of a column as numbers, missing ones as NaN."""
    try:
        if hasattr(values, "isna") and not isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf":
            # The nullable columns of pandas would become objects, to be looked at one by one.
            values = values.to_numpy(dtype=np.float64, na_value=math.nan)
        array = _column(np.asarray(values), column)
        if array.dtype.kind in "cmM":
            # NumPy would take a date for the count of its days, and drop the imaginary part of a complex number.
            raise TypeError
        return np.array([math.nan if is_missing(v) else v for v in array] if array.dtype == object else array, float)
    except LogicLensError:
        raise
    except (TypeError, ValueError):
        raise LogicLensError(f"the column {column!r} is not numeric.") from None


def is_missing(value: Any) -> bool:
    """Whether a single value stands for none: None, NaN, or the markers of pandas.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    # The markers of pandas are known by name, since nothing here imports it; comparing NA gives NA, not an answer.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real) and bool(value != value)


def _column(array: NDArray[Any], column: str) -> NDArray[Any]:
    if array.ndim != 1:
        raise LogicLensError(f"the column {column!r} needs a list of values, got {array.ndim} dimension(s).")
    return array


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        # A whole number that no float reaches.
        return False
