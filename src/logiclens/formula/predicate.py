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
            if not math.isfinite(self.value):
                raise LogicLensError(f"the predicate on {self.column!r} needs a finite value, got {self.value}.")
            # NumPy's numbers become Python's, which every export can write down.
            exact = int(self.value) if isinstance(self.value, int | np.integer) else float(self.value)
            object.__setattr__(self, "value", exact)
        elif not isinstance(self.value, bool | np.bool_ | str):
            raise LogicLensError(f"the predicate on {self.column!r} needs a number or a text, got {self.value!r}.")
        elif self.operator != "==":
            raise LogicLensError(f"{self.value!r} can only be compared by '==', got {self.operator!r}.")
        elif isinstance(self.value, np.bool_):
            object.__setattr__(self, "value", bool(self.value))

    def holds(self, values: Any) -> NDArray[np.bool_]:
        """On which values of the column the predicate is true."""
        if isinstance(self.value, str):
            cells = np.asarray(values, dtype=object)
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
            return f"{self.value:g}" if float(f"{self.value:g}") == self.value else repr(self.value)
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
        if hasattr(values, "isna"):
            # pandas: its nullable columns hold a marker that NumPy cannot turn into a number.
            values = values.astype(object).where(~values.isna(), None)
        array = np.asarray(values)
        return np.array([math.nan if v is None else v for v in array] if array.dtype == object else array, np.float64)
    except (TypeError, ValueError):
        raise LogicLensError(f"the column {column!r} is not numeric.") from None
