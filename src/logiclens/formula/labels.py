"""Labels of classes as Python's own values, which every export can write down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from logiclens.errors import LogicLensError
from logiclens.formula.predicate import Scalar


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
