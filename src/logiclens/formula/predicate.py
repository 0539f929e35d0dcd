"""`Predicate`, the meaning of a concept on the raw table such as `age >= 72.5`, and class labels as plain values.

Rule sets, exports and the booleaniser use predicates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import (
    NUMBER,
    ORDERS,
    ColumnKind,
    kind_of_value,
    missing_of,
    text_forms_called,
)
from logiclens.formula.column_kinds import Operator as Operator
from logiclens.formula.column_kinds import Scalar as Scalar
from logiclens.formula.date_parts import DatePart
from logiclens.formula.packed_rows import as_array, equals

OPERATORS: tuple[Operator, ...] = (*ORDERS, "==", "missing")


@dataclass(frozen=True)
class Predicate:
    """A condition on one raw column: a comparison with a value, or that the value is missing.

    A missing value makes every comparison false, and its negation true. A text that is compared by order is a value of
    a kind that is written as text, such as a date: `Predicate("admitted", ">=", "2021-03-01")`.
    `Predicate("bmi", "missing")` is true of missing values.

    Args:
        column: name of the raw column.
        operator: `>=`, `>`, `<=`, `<`, `==` or `missing`.
        value: a finite number, a text or a Boolean; True for `missing`.
        origin: the part of a date, or the days between two, that is compared instead of a column; `column` is then its
            name. Default: None.

    Raises:
        LogicLensError: the operator cannot compare such a value, or an argument is invalid.

    >>> old = Predicate("age", ">=", 72.5)
    >>> old.holds([80, 60, None, float("nan")]).tolist()
    [True, False, False, False]
    >>> str(old), str(Predicate("unit", "==", "MICU")), str(Predicate("bmi", "missing"))
    ('age >= 72.5', 'unit is MICU', 'bmi is missing')
    >>> weekday = DatePart("weekday", ("admitted",))
    >>> Predicate(weekday.name, ">=", 6, weekday).held_by({"admitted": ["2024-03-02", "2024-03-04", None]}).tolist()
    [True, False, False]
    """

    column: str
    operator: Operator
    value: Scalar = True
    origin: DatePart | None = None

    def __post_init__(self) -> None:
        """Check the arguments and convert NumPy values to Python values."""
        if not isinstance(self.column, str) or not self.column:
            raise LogicLensError(f"a predicate needs the name of a column, got {quoted(self.column)}.")
        if self.operator not in OPERATORS:
            raise LogicLensError(f"the operator must be one of {' '.join(OPERATORS)}, got {quoted(self.operator)}.")
        if self.operator == "missing" and self.value is not True:
            raise LogicLensError(f"whether {quoted(self.column)} is missing takes no value, got {quoted(self.value)}.")
        if isinstance(self.value, Real) and not isinstance(self.value, bool):
            if not _is_finite(self.value):
                raise LogicLensError(f"the predicate on {quoted(self.column)} needs a finite value, got {self.value}.")
            # Convert NumPy numbers to Python numbers, which every export can write.
            exact = int(self.value) if isinstance(self.value, int | np.integer) else float(self.value)
            object.__setattr__(self, "value", exact)
        elif not isinstance(self.value, bool | np.bool_ | str):
            raise LogicLensError(
                f"the predicate on {quoted(self.column)} needs a number or a text, got {quoted(self.value)}."
            )
        elif self.operator != "missing" and kind_of_value(self.value, self.operator) is None:
            raise LogicLensError(
                f"{quoted(self.value)} can only be compared by '==' ({text_forms_called()} also by order), "
                f"got {quoted(self.operator)}."
            )
        else:
            object.__setattr__(self, "value", str(self.value) if isinstance(self.value, str) else bool(self.value))
        if self.origin is not None:
            self._check_origin(self.origin)

    def _check_origin(self, origin: DatePart) -> None:
        if not isinstance(origin, DatePart):
            raise LogicLensError(f"the origin of a predicate is a part of a date, got {quoted(origin)}.")
        if self.column != origin.name:
            raise LogicLensError(f"a predicate on {quoted(origin.name)} has that column, got {quoted(self.column)}.")
        if self.operator == "missing" or isinstance(self.value, bool | str):
            raise LogicLensError(
                f"{quoted(origin.name)} is a number and compared with one, got {self.operator} {quoted(self.value)}."
            )

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the raw table that the predicate is about."""
        return (self.column,) if self.origin is None else self.origin.columns

    @property
    def subject(self) -> str:
        """The column that a sentence about the predicate is about."""
        return self.column if self.origin is None else self.origin.subject

    @property
    def kind(self) -> ColumnKind:
        """Kind of the column that is compared; `NUMBER` for the operator `missing`."""
        return kind_of_value(self.value, self.operator) or NUMBER

    @property
    def has_text_form(self) -> bool:
        """Whether the value is a text that is compared by order, such as a date."""
        return isinstance(self.value, str) and self.operator in ORDERS

    def holds(self, values: Any) -> NDArray[np.bool_]:
        """Return for each value of the column whether the predicate is true.

        Args:
            values: values of the column.
        """
        if self.operator == "missing":
            return missing_of(values, self.column)
        return self.compared(self.kind.array(values, self.column))

    def held_by(self, columns: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return for each row of a table whether the predicate is true.

        Args:
            columns: the columns of the table by name, with all of `sources`.
        """
        return self.holds(columns[self.column] if self.origin is None else self.origin.values(columns))

    def compared(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for each value whether the comparison is true.

        Args:
            values: an array that `kind.array` made of the column.
        """
        # A comparison with NaN or NaT is false, as it must be for a missing value.
        bound = self.kind.bound(self.value)
        held: NDArray[np.bool_]
        if self.operator == ">=":
            held = values >= bound
        elif self.operator == ">":
            held = values > bound
        elif self.operator == "<=":
            held = values <= bound
        else:
            held = values < bound if self.operator == "<" else equals(values, bound)
        return held

    @property
    def shown_value(self) -> str:
        """The value as text; for a number, the shortest text that parses to the same number."""
        return self.kind.shown(self.value)

    def __str__(self) -> str:
        """Return the comparison as it is written in a formula; see `formula.english` for words."""
        if self.operator == "missing":
            return f"{self.column} is missing"
        if self.operator != "==":
            return f"{self.column} {self.operator} {self.shown_value}"
        quoted = isinstance(self.value, str) and _is_mistakable(self.value)
        return f"{self.column} is {repr(self.value) if quoted else self.shown_value}"


_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\ud800-\uf8ff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
    "\U000f0000-\U0010ffff]"
)
"""Controls, formats, surrogates, separators but the space, private characters and those that are none.

They are listed, because `str.isprintable` changes whenever Unicode assigns characters.
"""
_NEW_DIGITS = re.compile("[\U00010000-\U0001d7cd\U0001d800-\U0010ffff]")
"""Characters among which Unicode still adds digits. In a text with one of them, no version of Python sees a number."""


def is_name_of(name: str, predicate: Predicate) -> bool:
    """Return whether a concept may have this name: its predicate as text.

    A text may also be quoted where it need not be, and any character in quotes may be escaped: versions
    of Python write some characters differently.

    >>> [is_name_of(name, Predicate("code", "==", "2")) for name in ("code is '2'", "code is 2")]
    [True, False]
    """
    if name == str(predicate):
        return True
    start, value = f"{predicate.column} is ", predicate.value
    if predicate.operator != "==" or not isinstance(value, str) or not name.startswith(start):
        return False
    return name.removeprefix(start).encode("ascii", "backslashreplace").decode() == ascii(value)


def _is_mistakable(text: str) -> bool:
    """Return whether a text could be misread without quotes.

    It could if it looks like a missing value, a Boolean, a number or a quoted text, or has invisible characters. The
    answer must not depend on the version of Python, because the names of concepts in model folders do.
    """
    if text in ("", "missing", "True", "False") or text[0] in "'\"" or text != text.strip() or _INVISIBLE.search(text):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return not _NEW_DIGITS.search(text)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        # The whole number is too large for a float.
        return False


def plain_label(label: Any) -> Scalar:
    """Return a class label as a Python value: `np.int64(3)` becomes `3`.

    Args:
        label: a text, a finite number or a Boolean.

    Raises:
        LogicLensError: the label is of another type or not finite.

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
    raise LogicLensError(f"a class that is exported must be a text, a finite number or a Boolean, got {quoted(label)}.")


def label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return class labels as an array that holds each of them exactly.

    NumPy would turn whole numbers into floats, which are not equal to them, if only unsigned integers hold the largest,
    numbers among texts into texts, and drop the NULs at the end of a text.

    >>> label_array([1, 2**64 - 1]).dtype, label_array(["a", 1]).tolist()
    (dtype('uint64'), ['a', 1])
    """
    made = as_array(list(labels))
    if all(isinstance(label, int) and not isinstance(label, bool) for label in labels) and made.dtype.kind not in "iu":
        fits = min(labels) >= 0 and max(labels) < 2**64
        return np.array(labels, dtype=np.uint64 if fits else object)
    is_mixed = made.dtype.kind in "US" and not all(isinstance(label, str) for label in labels)
    return np.array(labels, dtype=object) if is_mixed else made


def labels_of_one_kind(labels: Sequence[Any]) -> list[Scalar]:
    """Return labels of one type, for formats that need it: mixed texts, numbers and Booleans all become texts.

    Args:
        labels: class labels; see `plain_label`.

    >>> labels_of_one_kind([0, 1]), labels_of_one_kind([0, "rare"])
    ([0, 1], ['0', 'rare'])
    """
    plain = [plain_label(label) for label in labels]
    kinds = {str if isinstance(label, str) else bool if isinstance(label, bool) else float for label in plain}
    return plain if len(kinds) == 1 else [str(label) for label in plain]
