"""Predicate: what a concept means on the raw table, such as `age >= 72.5`; and class labels as plain values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from numbers import Real
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError

Operator: TypeAlias = OneOf[">=", ">", "<=", "<", "==", "missing"]
Scalar: TypeAlias = float | int | bool | str

OPERATORS: tuple[Operator, ...] = (">=", ">", "<=", "<", "==", "missing")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)


@dataclass(frozen=True)
class Predicate:
    """A question about one raw column: a comparison with a value, or whether there is a value at all.

    A missing value makes every comparison false, and its negation true. Text compared by order is a date, as in
    `Predicate("admitted", ">=", "2021-03-01")`; `Predicate("bmi", "missing")` asks for missing values.

    >>> old = Predicate("age", ">=", 72.5)
    >>> old.holds([80, 60, None, float("nan")]).tolist()
    [True, False, False, False]
    >>> str(old), str(Predicate("unit", "==", "MICU")), str(Predicate("bmi", "missing"))
    ('age >= 72.5', 'unit is MICU', 'bmi is missing')
    """

    column: str
    operator: Operator
    value: Scalar = True

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        if not isinstance(self.column, str) or not self.column:
            raise LogicLensError(f"a predicate needs the name of a column, got {self.column!r}.")
        if self.operator not in OPERATORS:
            raise LogicLensError(f"the operator must be one of {' '.join(OPERATORS)}, got {self.operator!r}.")
        if self.operator == "missing" and self.value is not True:
            raise LogicLensError(f"whether {self.column!r} is missing takes no value, got {self.value!r}.")
        if isinstance(self.value, Real) and not isinstance(self.value, bool):
            if not _is_finite(self.value):
                raise LogicLensError(f"the predicate on {self.column!r} needs a finite value, got {self.value}.")
            # NumPy's numbers become Python's, which every export can write down.
            exact = int(self.value) if isinstance(self.value, int | np.integer) else float(self.value)
            object.__setattr__(self, "value", exact)
        elif not isinstance(self.value, bool | np.bool_ | str):
            raise LogicLensError(f"the predicate on {self.column!r} needs a number or a text, got {self.value!r}.")
        elif self.operator not in ("==", "missing") and not (isinstance(self.value, str) and _is_date(self.value)):
            raise LogicLensError(
                f"{self.value!r} can only be compared by '==' (a date such as '2021-03-01' also by order), "
                f"got {self.operator!r}."
            )
        else:
            object.__setattr__(self, "value", str(self.value) if isinstance(self.value, str) else bool(self.value))

    @property
    def is_date(self) -> bool:
        """Whether dates are compared."""
        return isinstance(self.value, str) and self.operator not in ("==", "missing")

    def holds(self, values: Any) -> NDArray[np.bool_]:
        """On which values of the column the predicate is true."""
        if self.operator == "missing":
            return missing_of(values, self.column)
        if self.is_date:
            # A comparison with NaT is false, as one with NaN.
            return self._compared(times_of(values, self.column), np.datetime64(str(self.value), "us"))
        if isinstance(self.value, str):
            cells = _column(np.asarray(values, dtype=object), self.column)
            return np.fromiter((isinstance(c, str) and c == self.value for c in cells), np.bool_, len(cells))
        # A comparison with NaN is false, which is what a missing value means.
        return self._compared(numbers_of(values, self.column), self.value)

    def _compared(self, values: NDArray[Any], bound: Any) -> NDArray[np.bool_]:
        held: NDArray[np.bool_]
        if self.operator == ">=":
            held = values >= bound
        elif self.operator == ">":
            held = values > bound
        elif self.operator == "<=":
            held = values <= bound
        else:
            held = values < bound if self.operator == "<" else values == bound
        return held

    @property
    def shown_value(self) -> str:
        """The value as it is printed: the shortest text that reads back as the same number."""
        if isinstance(self.value, float):
            texts = (f"{self.value:g}", repr(self.value))
            return min((text for text in texts if float(text) == self.value), key=len)
        return str(self.value)

    def __str__(self) -> str:
        """The comparison as it is written in a formula; `formula.english` says it in words."""
        if self.operator == "missing":
            return f"{self.column} is missing"
        if self.operator != "==":
            return f"{self.column} {self.operator} {self.shown_value}"
        quoted = isinstance(self.value, str) and _is_mistakable(self.value)
        return f"{self.column} is {repr(self.value) if quoted else self.shown_value}"


def times_of(values: Any, column: str) -> NDArray[np.datetime64]:
    """The values of a column as points in time, missing ones as NaT; with a time zone, in universal time."""
    if getattr(getattr(values, "dtype", None), "tz", None) is not None and hasattr(values, "dt"):
        # A column of pandas with a time zone would become objects, to be looked at one by one.
        values = values.dt.tz_convert(None)
    array = _column(_cells(values), column)
    if array.dtype.kind == "M":
        return array.astype("datetime64[us]")
    # Days repeat: each text is read once.
    read: dict[str, np.datetime64] = {}
    times = []
    for cell in array.tolist():
        if not isinstance(cell, str):
            times.append(_time(cell, column))
            continue
        if cell not in read:
            read[cell] = _time(cell, column)
        times.append(read[cell])
    return np.array(times, dtype="datetime64[us]")


def missing_of(values: Any, column: str) -> NDArray[np.bool_]:
    """On which rows a column has no value."""
    array = _column(_cells(values), column)
    if array.dtype.kind == "O":
        return np.fromiter(map(is_missing, array), np.bool_, len(array))
    missing: NDArray[np.bool_] = np.zeros(len(array), dtype=np.bool_)
    if array.dtype.kind in "fmM":
        # Nothing but NaN and NaT is unequal to itself.
        missing = array != array
    return missing


def moment(text: str) -> datetime:
    """The point in time that the value of a date predicate stands for.

    >>> moment("2021-03-01 12:30")
    datetime.datetime(2021, 3, 1, 12, 30)
    """
    return datetime.fromisoformat(text)


def _time(cell: Any, column: str) -> np.datetime64:
    if is_missing(cell):
        return np.datetime64("NaT")
    if isinstance(cell, str) and _is_date(cell.strip()):
        return np.datetime64(cell.strip(), "us")
    if isinstance(cell, np.datetime64):
        time: np.datetime64 = cell.astype("datetime64[us]")
        return time
    if isinstance(cell, datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(cell.isoformat(timespec="microseconds"), "us")
    if isinstance(cell, date):
        return np.datetime64(cell.isoformat(), "us")
    raise LogicLensError(f"the column {column!r} holds {cell!r} where a date such as '2021-03-01' is needed.")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        moment(text)
    except ValueError:
        return False
    return True


def _is_mistakable(text: str) -> bool:
    """Whether a text would be taken for a missing value, a truth value, a number, or a text in quotes."""
    if text in ("", "missing", "True", "False") or text[0] in "'\"" or text != text.strip() or not text.isprintable():
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


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
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, Real) and bool(value != value)


def _cells(values: Any) -> NDArray[Any]:
    """The values as an array. In a list with texts NumPy would make a text of NaN too."""
    array = np.asarray(values)
    return array if array.dtype.kind not in "US" else np.asarray(values, dtype=object)


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


def plain_label(label: Any) -> Scalar:
    """A label without NumPy: `np.int64(3)` becomes `3`.

    >>> import numpy as np
    >>> plain_label(np.float64(0.5)), plain_label(np.str_("ill"))
    (0.5, 'ill')
    """
    value = label.item() if hasattr(label, "item") else label
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str):
        return str(value)
    raise LogicLensError(f"a class that is exported must be a text, a finite number or a Boolean, got {label!r}.")


def labels_of_one_kind(labels: Sequence[Any]) -> list[Scalar]:
    """Labels for a format whose answers have one type: where texts, numbers and Booleans mix, all become texts.

    >>> labels_of_one_kind([0, 1]), labels_of_one_kind([0, "rare"])
    ([0, 1], ['0', 'rare'])
    """
    plain = [plain_label(label) for label in labels]
    kinds = {str if isinstance(label, str) else bool if isinstance(label, bool) else float for label in plain}
    return plain if len(kinds) == 1 else [str(label) for label in plain]
