"""What the columns of a table are, and which of them looks like the target."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype

from logiclens.formula.column_kinds import CATEGORY, kind_of_dtype

MOST_GUESSED = 10
"""The most values of a column that is guessed to be the target."""
NAMES = re.compile(
    r"(?i)(?:.*[_\W])?(target|label|class|outcome|y|response|result|status|died|death|dead|deceased|mortality|"
    r"survived|survival|diagnosis|disease|default|churn(ed)?|fraud|approved|readmitted|relapse|event|success|failed)"
)


@dataclass(frozen=True)
class ListedColumn:
    """A column of a table: its kind, how many rows have no value, how many values there are, and some of them."""

    name: str
    kind: str
    gaps: int
    values: int
    examples: str


@dataclass(frozen=True)
class Guess:
    """The column that looks like the target, and why."""

    name: str
    reason: str


def listed(frame: pd.DataFrame) -> list[ListedColumn]:
    """Describe each column."""
    return [_described(str(name), column) for name, column in frame.items()]


def _described(name: str, column: pd.Series) -> ListedColumn:
    known = column.dropna()
    found = known.value_counts(sort=True)
    few = [text_of(value).removesuffix(" 00:00:00") for value in found.index[:3]]
    examples = ", ".join(few) + (", …" if len(found) > 3 else "")
    return ListedColumn(name, _kind(known), len(column) - len(known), len(found), examples)


def _kind(known: pd.Series) -> str:
    if known.empty:
        return "empty"
    if is_bool_dtype(known) or all(isinstance(value, bool) for value in known.unique()):
        return "true or false"
    if is_integer_dtype(known) or (is_float_dtype(known) and (known % 1 == 0).all()):
        return "whole numbers"
    return (kind_of_dtype(known.dtype.kind) or CATEGORY).plural


def guess(columns: list[ListedColumn]) -> Guess | None:
    """Return the column that looks most like a target; None if none does."""
    fit = [column for column in columns if 2 <= column.values <= MOST_GUESSED]
    for column in reversed(fit):
        if NAMES.fullmatch(column.name):
            return Guess(column.name, f"of its name and its {column.values} values")
    if fit and fit[-1] is columns[-1]:
        return Guess(fit[-1].name, f"it is the last column and has {fit[-1].values} values")
    if columns and columns[-1].kind in ("numbers", "whole numbers") and columns[-1].values > MOST_GUESSED:
        return Guess(
            columns[-1].name, "it is the last column; it holds numbers, so say --above VALUE or --quantiles 3 too"
        )
    for column in reversed(fit):
        if column.values == 2 and not column.gaps:
            return Guess(column.name, "it is the last column that has two values")
    return None


def text_of(value: object) -> str:
    """Return a value as a person would type it: 1 instead of 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
