"""The user's table on the command line: read it, find the target, report columns that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_float_dtype, is_numeric_dtype

from logiclens.cli.options import Reading
from logiclens.errors import LogicLensError, listed, nearest, no_column
from logiclens.tables.files import TableFile, doubtful_columns, mixed_columns

if TYPE_CHECKING:
    from logiclens.tables.files import TableFile


MOST_CLASSES = 50
"""A target with more values is no list of classes."""
MOST_SUBGROUPS = 20
"""More subgroups nobody reads, and each has few rows."""
FEWEST_ROWS = 10
"""Of fewer rows none can be set aside, and nothing be told of the rest."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to learn from: its columns, the target, where it came from, and what was left out."""

    frame: pd.DataFrame
    target: pd.Series
    file: TableFile
    notes: tuple[str, ...]
    weight: pd.Series | None = None
    teacher: pd.Series | None = None


@dataclass(frozen=True)
class Asked:
    """Which columns of a table are what.

    Attributes:
        target: the column to explain.
        positive: the value of it to explain against all others.
        drop: columns to leave out.
        weight: the column that says how much each row counts.
        teacher: the column with the answers of another model, which the rules are to explain.
    """

    target: str
    positive: str | None = None
    drop: tuple[str, ...] = ()
    weight: str | None = None
    teacher: str | None = None


def read_problem(reading: Reading, asked: Asked) -> Problem:
    """A table with its target; rows without one are left out."""
    file, target = reading.table(), asked.target
    frame, drop = file.frame, [*asked.drop, *(name for name in (asked.weight, asked.teacher) if name is not None)]
    check_columns(frame, [target, *drop], file.name)
    if target in drop:
        raise LogicLensError(f"{target!r} is the target: it cannot be left out, weigh or teach as well.")
    labels = frame[target]
    notes = list(file.notes)
    if labels.isna().any():
        n_gone = int(labels.isna().sum())
        if n_gone == len(labels):
            raise LogicLensError(f"the target {target!r} has no value in any row.")
        notes.append(f"{n_gone:,} of {len(labels):,} rows have no value of {target!r} and are left out.")
    rest = frame.drop(columns=[target, *drop])
    if rest.shape[1] == 0:
        raise LogicLensError(f"{file.name} has no column beside the target {target!r} to learn from.")
    check_cells(rest)
    kept = labels.notna()
    classes, rows = _classes(labels[kept], target, asked.positive), rest[kept]
    if len(rows) < FEWEST_ROWS:
        raise LogicLensError(
            f"{file.name} has {len(rows)} rows with a value of {target!r}, too few to learn from: take some dozens."
        )
    if all(len(rows[column].unique()) == 1 for column in rows.columns):
        raise LogicLensError("every column has one value only: there is nothing to tell rows apart by.")
    weight = None if asked.weight is None else _weights(frame[asked.weight][kept])
    teacher = None if asked.teacher is None else frame[asked.teacher][kept]
    if teacher is not None and teacher.isna().any():
        raise LogicLensError(f"the teacher {asked.teacher!r} has no answer in {int(teacher.isna().sum()):,} rows.")
    return Problem(rows, classes, file, tuple(notes), weight, teacher)


def check_columns(frame: pd.DataFrame, names: Iterable[str], file: str, why: str = "") -> None:
    """Refuse columns that are not there, with the nearest name that is; `why` says who asks for them."""
    for name in names:
        if name in frame.columns:
            continue
        error = no_column(name, [str(column) for column in frame.columns], file, why)
        if frame.shape[1] > 1:
            raise error
        raise LogicLensError(f"{error} It has one column only: is the delimiter another one (--delimiter)?")


def subgroups(problem: Problem, by: str | None) -> pd.Series | None:
    """The column to compare subgroups by, which may be one that the rules do not see."""
    return None if by is None else told_apart(problem.file.frame[by]).loc[problem.frame.index]


def told_apart(column: pd.Series) -> pd.Series:
    """What subgroups are told apart by: the values of a column, the months of dates."""
    return column.dt.strftime("%Y-%m") if is_datetime64_any_dtype(column) else column


def check_by(problem: Problem, by: str | None) -> None:
    """Refuse a column of subgroups that is not there, or is the target."""
    if by is None:
        return
    frame = problem.file.frame
    if by == problem.target.name:
        raise LogicLensError(f"{by!r} is the target: name another column to compare subgroups by.")
    check_columns(frame, [by], problem.file.name, " to compare subgroups by")
    if (n_values := told_apart(frame[by]).nunique()) > MOST_SUBGROUPS:
        raise LogicLensError(
            f"{by!r} has {n_values:,} different values, too many to compare: name a column with at most "
            f"{MOST_SUBGROUPS}, such as one that cuts it into a few."
        )


def check_cells(frame: pd.DataFrame) -> None:
    """Refuse columns that cannot be read one way only, and columns of numbers with a text or an infinite number."""
    for column, (cell, reason) in doubtful_columns(frame).items():
        raise LogicLensError(
            f"the column {column!r} {reason} (it holds {cell!r}), or leave the column out with --drop {column!r}."
        )
    for column, (text, row) in mixed_columns(frame).items():
        raise LogicLensError(
            f"the column {column!r} holds numbers and text ({text!r} in row {row}): mend it, say --missing {text!r} if "
            f"that means there is no value, or leave the column out with --drop {column!r}."
        )
    check_finite(frame)


def check_finite(frame: pd.DataFrame) -> None:
    """Refuse an infinite number; rows are counted from 1, as in the file."""
    for name, cells in frame.items():
        if not is_float_dtype(cells):
            continue
        infinite = np.flatnonzero(np.isinf(cells.to_numpy(dtype=np.float64, na_value=np.nan)))
        if len(infinite):
            value, row = cells.iloc[infinite[0]], infinite[0] + 1
            raise LogicLensError(
                f"the column {name!r} is infinite ({value}) in row {row}: put the largest sensible number, or leave "
                "the cell empty if there is no value."
            )


def text_of(value: object) -> str:
    """A value as a person would type it: 1 and not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _weights(column: pd.Series) -> pd.Series:
    """How much each row counts."""
    if not is_numeric_dtype(column) or column.isna().any() or (column < 0).any() or not (column > 0).any():
        raise LogicLensError(f"the weights in {column.name!r} must be numbers from 0 on, one in every row.")
    return column


def _classes(labels: pd.Series, target: str, positive: str | None) -> pd.Series:
    """The target as classes; one against the rest where `positive` names it."""
    if positive is not None:
        return _one_against_the_rest(labels, target, positive)
    values = labels.unique()
    if len(values) == 1:
        raise LogicLensError(
            f"the target {target!r} is {text_of(values[0])!r} in every row: there is nothing to tell apart."
        )
    if is_float_dtype(labels):
        decimals = [value for value in values if not float(value).is_integer()]
        if decimals:
            raise LogicLensError(
                f"the target {target!r} holds numbers with decimals such as {decimals[0]}, not classes: add a column "
                "that cuts them into a few, or name the one value to find with --positive VALUE."
            )
        # Whole numbers that a missing value made fractions.
        labels = labels.astype(np.int64)
    if len(values) > MOST_CLASSES:
        kind = "numbers" if is_numeric_dtype(labels) else "values"
        raise LogicLensError(
            f"the target {target!r} has {len(values):,} different {kind}, more than {MOST_CLASSES} classes: add a "
            "column that cuts them into a few, or name the one value to find with --positive VALUE."
        )
    if is_numeric_dtype(labels) or is_bool_dtype(labels):
        return labels
    if all(isinstance(value, bool) for value in values):
        # Truth values beside which there were gaps.
        return labels.astype(bool)
    return labels.astype(str)


def _one_against_the_rest(labels: pd.Series, target: str, positive: str) -> pd.Series:
    known = {text_of(value): value for value in labels.unique()}
    if positive not in known:
        near = nearest(positive, list(known))
        hint = f"did you mean {near!r}?" if near else f"its values are {listed(sorted(known))}."
        raise LogicLensError(f"the target {target!r} is never {positive!r}; {hint}")
    if len(known) == 1:
        raise LogicLensError(f"the target {target!r} is {positive!r} in every row: there is nothing to tell apart.")
    is_positive = (labels == known[positive]).to_numpy()
    return pd.Series(np.where(is_positive, positive, f"not {positive}"), index=labels.index, name=target)
