"""Predicate: what a concept means on the raw table, such as `age >= 72.5`; and class labels as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
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

OPERATORS: tuple[Operator, ...] = (*ORDERS, "==", "missing")


@dataclass(frozen=True)
class Predicate:
    """A question about one raw column: a comparison with a value, or whether there is a value at all.

    A missing value makes every comparison false, and its negation true. A text compared by order is a value of a kind
    that is written as text, such as a date: `Predicate("admitted", ">=", "2021-03-01")`. `Predicate("bmi", "missing")`
    asks for missing values.

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
        elif self.operator != "missing" and kind_of_value(self.value, self.operator) is None:
            raise LogicLensError(
                f"{self.value!r} can only be compared by '==' ({text_forms_called()} also by order), "
                f"got {self.operator!r}."
            )
        else:
            object.__setattr__(self, "value", str(self.value) if isinstance(self.value, str) else bool(self.value))

    @property
    def kind(self) -> ColumnKind:
        """The kind of column that is compared; numbers where it is only asked whether there is a value."""
        return kind_of_value(self.value, self.operator) or NUMBER

    @property
    def has_text_form(self) -> bool:
        """Whether the value is a text that is compared by order, such as a date."""
        return isinstance(self.value, str) and self.operator in ORDERS

    def holds(self, values: Any) -> NDArray[np.bool_]:
        """On which values of the column the predicate is true."""
        if self.operator == "missing":
            return missing_of(values, self.column)
        # A comparison with NaN or NaT is false, which is what a missing value means.
        return self._compared(self.kind.array(values, self.column), self.kind.bound(self.value))

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
        return self.kind.shown(self.value)

    def __str__(self) -> str:
        """The comparison as it is written in a formula; `formula.english` says it in words."""
        if self.operator == "missing":
            return f"{self.column} is missing"
        if self.operator != "==":
            return f"{self.column} {self.operator} {self.shown_value}"
        quoted = isinstance(self.value, str) and _is_mistakable(self.value)
        return f"{self.column} is {repr(self.value) if quoted else self.shown_value}"


def _is_mistakable(text: str) -> bool:
    """Whether a text would be taken for a missing value, a truth value, a number, or a text in quotes."""
    if text in ("", "missing", "True", "False") or text[0] in "'\"" or text != text.strip() or not text.isprintable():
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


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
