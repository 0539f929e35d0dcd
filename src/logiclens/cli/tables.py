"""The user's table: read, its target found, what cannot be used named."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from logiclens.data.files import TableFile, mixed_columns, read_table
from logiclens.errors import LogicLensError

MOST_CLASSES = 50
"""A target with more values is no list of classes."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to learn from: its columns, the target, where it came from, and what was left out."""

    frame: pd.DataFrame
    target: pd.Series
    file: TableFile
    notes: tuple[str, ...]


def read_problem(
    source: str,
    target: str,
    *,
    positive: str | None = None,
    drop: Sequence[str] = (),
    delimiter: str | None = None,
    missing: Sequence[str] = (),
) -> Problem:
    """A table with its target; rows without one are left out."""
    file = read_table(source, delimiter=delimiter, missing=missing)
    frame = file.frame
    check_columns(frame, [target, *drop], file.name)
    labels = frame[target]
    notes = []
    if labels.isna().any():
        n_gone = int(labels.isna().sum())
        if n_gone == len(labels):
            raise LogicLensError(f"the target {target!r} has no value in any row.")
        notes.append(f"{n_gone:,} of {len(labels):,} rows have no value of {target!r} and are left out.")
        frame, labels = frame[labels.notna()], labels[labels.notna()]
    frame = frame.drop(columns=[target, *drop])
    if frame.shape[1] == 0:
        raise LogicLensError(f"{file.name} has no column beside the target {target!r} to learn from.")
    for column, (text, row) in mixed_columns(frame).items():
        raise LogicLensError(
            f"the column {column!r} holds numbers and text ({text!r} in row {row}): mend it, say --missing {text!r} if "
            f"that means there is no value, or leave the column out with --drop {column!r}."
        )
    return Problem(frame, _classes(labels, target, positive), file, tuple(notes))


def check_columns(frame: pd.DataFrame, names: Sequence[str], file: str) -> None:
    """Refuse columns that are not there, with the nearest name that is."""
    for name in names:
        if name in frame.columns:
            continue
        near = difflib.get_close_matches(name, list(frame.columns), 1, 0.5)
        known = ", ".join(repr(column) for column in frame.columns[:8]) + (", …" if frame.shape[1] > 8 else "")
        hint = f"did you mean {near[0]!r}?" if near else f"its columns are {known}."
        if frame.shape[1] == 1:
            hint += " It has one column only: is the delimiter another one (--delimiter)?"
        raise LogicLensError(f"{file} has no column {name!r}; {hint}")


def _classes(labels: pd.Series, target: str, positive: str | None) -> pd.Series:
    """The target as classes; one against the rest where `positive` names it."""
    values = labels.unique()
    if positive is not None:
        known = {_text(value): value for value in values}
        if positive not in known:
            near = difflib.get_close_matches(positive, list(known), 1, 0.5)
            shown = ", ".join(repr(text) for text in sorted(known)[:8])
            hint = f"did you mean {near[0]!r}?" if near else f"its values are {shown}."
            raise LogicLensError(f"the target {target!r} is never {positive!r}; {hint}")
        is_positive = (labels == known[positive]).to_numpy()
        if is_positive.all():
            raise LogicLensError(f"the target {target!r} is {positive!r} in every row: there is nothing to tell apart.")
        return pd.Series(np.where(is_positive, positive, f"not {positive}"), index=labels.index, name=target)
    if len(values) == 1:
        raise LogicLensError(
            f"the target {target!r} is {_text(values[0])!r} in every row: there is nothing to tell apart."
        )
    if len(values) > MOST_CLASSES:
        kind = "numbers" if is_numeric_dtype(labels) else "values"
        raise LogicLensError(
            f"the target {target!r} has {len(values):,} different {kind}: it must be classes. Cut it into a few, or "
            "name the one to find with --positive VALUE."
        )
    if not (is_numeric_dtype(labels) or labels.dtype == bool):
        return labels.astype(str)
    return labels


def _text(value: object) -> str:
    """A value as a person would type it: 1 and not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
