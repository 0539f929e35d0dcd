"""What a user chooses about the columns of a table, and the problem that it makes: the studio's door for tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import kind_of_dtype
from logiclens.formula.target_cuts import MOST_CLASSES, number_text, suggested_cut
from logiclens.tables.columns import ListedColumn, guess, listed, text_of
from logiclens.tables.files import TableFile, doubtful_columns, mixed_columns
from logiclens.words import count_with_noun, percent

FEWEST_ROWS = 10
"""The fewest rows to learn from; with fewer, none can be held out."""
MOST_GROUPS = 20
"""The most groups that are compared; with more, each has few rows."""
BINS = 16
"""The number of bars of a histogram of numbers or dates."""
MOST_BARS = 10
"""The most values of a text column that get a bar."""
MOST_TEXT = 2_000
"""The most characters of a text that the page sends."""


def sent_text(sent: Mapping[str, Any], name: str, most: int = MOST_TEXT) -> str:
    """Return a text that the page sent, without spaces around it; an empty one if it sent none."""
    value = sent.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise LogicLensError(f"{quoted(name)} must be a text of at most {most:,} characters.")
    return value.strip()


@dataclass(frozen=True)
class Choices:
    """What was chosen about the columns.

    Attributes:
        target: the column to explain.
        excluded: columns that are left out.
        above: where a target of numbers is cut into two classes. Default: None, its values are the classes.
        by: the column by which groups are compared. Default: None.
        positive: the value of the target whose rules are stated. Default: None, see `EntropyClassifier`.
    """

    target: str
    excluded: tuple[str, ...] = ()
    above: float | None = None
    by: str | None = None
    positive: str | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to learn from: its columns, the classes, the groups to compare, and notes about what was left out."""

    frame: pd.DataFrame
    labels: pd.Series
    groups: pd.Series | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ColumnView:
    """A column as the page shows it: the histogram has bars with heights from 0 to 1."""

    name: str
    kind: str
    gaps: str
    values: int
    examples: str
    bars: tuple[float, ...]
    bar_words: str
    doubt: str
    cut: str
    is_group: bool


@dataclass(frozen=True)
class TableView:
    """The columns of a table, and which of them looks like the target."""

    rows: int
    columns: tuple[ColumnView, ...]
    guess: str
    reason: str


def table_view(frame: pd.DataFrame) -> TableView:
    """Describe a table: its columns with kinds, gaps and small histograms."""
    columns = listed(frame)
    found, doubts = guess(columns), column_doubts(frame)
    views = [_column_view(column, frame[column.name], doubts.get(column.name, "")) for column in columns]
    name, reason = ("", "") if found is None else (found.name, found.reason.partition(";")[0])
    return TableView(len(frame), tuple(views), name, reason)


def column_doubts(frame: pd.DataFrame) -> dict[str, str]:
    """Return what is wrong with the columns that cannot be learned from as they are, in a sentence each."""
    doubts = {
        column: f"the column {quoted(column)} {reason} (it holds {quoted(cell)})"
        for column, (cell, reason) in doubtful_columns(frame).items()
    }
    for column, (text, row) in mixed_columns(frame).items():
        doubts[column] = f"the column {quoted(column)} holds numbers and text ({quoted(text)} in row {row})"
    for name, cells in frame.items():
        column = str(name)
        if is_float_dtype(cells):
            infinite = np.flatnonzero(np.isinf(cells.to_numpy(dtype=np.float64, na_value=np.nan)))
            if len(infinite):
                doubts[str(column)] = f"the column {quoted(str(column))} is infinite in row {int(infinite[0]) + 1}"
    return doubts


def _column_view(column: ListedColumn, cells: pd.Series, doubt: str) -> ColumnView:
    known = cells.dropna()
    bars, words = _histogram(known)
    is_numbers = is_numeric_dtype(known) and not is_bool_dtype(known) and len(known) > 0
    decimals = is_numbers and is_float_dtype(known) and bool((known % 1 != 0).any())
    must_cut = is_numbers and not doubt and (decimals or column.values > MOST_CLASSES)
    return ColumnView(
        name=column.name,
        kind=column.kind,
        gaps=f"{column.gaps:,} ({percent(column.gaps / len(cells))})" if column.gaps else "none",
        values=column.values,
        examples=column.examples,
        bars=bars,
        bar_words=words,
        doubt=doubt,
        cut=number_text(suggested_cut(known)) if must_cut else "",
        is_group=2 <= column.values <= MOST_GROUPS,
    )


def _histogram(known: pd.Series) -> tuple[tuple[float, ...], str]:
    """Return the heights of the bars of a column without gaps, and what they show in words."""
    if known.empty:
        return (), "no values"
    kind = kind_of_dtype(known.dtype.kind)
    is_ordered = kind is not None and not is_bool_dtype(known)
    if is_ordered and known.nunique() > MOST_BARS:
        numbers = known.to_numpy()
        points = numbers.astype(np.float64) if numbers.dtype.kind in "iuf" else numbers.astype("int64").astype(float)
        points = points[np.isfinite(points)]
        if len(points) and points.min() < points.max():
            counts, _ = np.histogram(points, bins=BINS)
            return _heights(counts), f"from {text_of(known.min())} to {text_of(known.max())}"
    counted = known.astype(str).value_counts() if known.dtype == object else known.value_counts()
    shown = counted.sort_index() if is_ordered and len(counted) <= MOST_BARS else counted.iloc[:MOST_BARS]
    first = ", ".join(f"{text_of(value)} {percent(n / len(known))}" for value, n in shown.iloc[:3].items())
    more = f" and {count_with_noun(len(counted) - 3, 'more value')}" if len(counted) > 3 else ""
    return _heights(shown.to_numpy()), f"{first}{more}"


def _heights(counts: Any) -> tuple[float, ...]:
    most = max(int(np.max(counts)), 1)
    return tuple(round(float(count) / most, 3) for count in counts)


def problem_of(file: TableFile, choices: Choices) -> Problem:
    """Return the table to learn from. Refuse choices that do not fit the table, in a sentence for somebody who clicks.

    Rows without a value of the target are left out.
    """
    frame, target = file.frame, choices.target
    check_choices([str(column) for column in frame.columns], file.name, choices)
    labels, notes = frame[target], list(file.notes)
    kept = labels.notna()
    if not kept.any():
        raise LogicLensError(f"the target {quoted(target)} has no value in any row: choose another one.")
    if not kept.all():
        gone = int((~kept).sum())
        notes.append(f"{gone:,} of {len(labels):,} rows have no value of {quoted(target)} and are left out.")
    rest = frame.drop(columns=[target, *choices.excluded])
    if rest.shape[1] == 0:
        raise LogicLensError("no column is left to learn from: tick at least one beside the target.")
    for doubt in column_doubts(rest).values():
        raise LogicLensError(f"{doubt}: leave it out, or mend the file and choose it again.")
    rows, classes = rest[kept], _classes(labels[kept], target, choices.above)
    if len(rows) < FEWEST_ROWS:
        raise LogicLensError(
            f"{file.name} has {len(rows)} rows with a value of {quoted(target)}, too few to learn from: take dozens."
        )
    if all(len(rows[column].unique()) == 1 for column in rows.columns):
        raise LogicLensError("every column that is ticked has one value only: there is nothing to tell rows apart by.")
    groups = None if choices.by is None else group_column(frame[choices.by][kept])
    return Problem(rows, classes, groups, tuple(notes))


def check_choices(columns: list[str], name: str, choices: Choices) -> None:
    """Refuse choices that name no column of the table, or one column twice."""
    for column in (choices.target, *choices.excluded, *(() if choices.by is None else (choices.by,))):
        if column not in columns:
            raise LogicLensError(f"{name} has no column {quoted(column)}.")
    if choices.target in choices.excluded:
        raise LogicLensError(f"{quoted(choices.target)} is the target: it cannot be left out as well.")
    if choices.by == choices.target:
        raise LogicLensError(f"{quoted(choices.by)} is the target: compare groups by another column.")


def group_column(column: pd.Series) -> pd.Series:
    """Return the group of each row: the value of a column, or the period of a date. Refuse too many groups."""
    kind = kind_of_dtype(column.dtype.kind)
    groups = column if kind is None or kind.period_format is None else column.dt.strftime(kind.period_format)
    if (found := groups.nunique()) > MOST_GROUPS:
        raise LogicLensError(
            f"{quoted(column.name)} has {found:,} different values, too many to compare: choose a column with at most "
            f"{MOST_GROUPS}."
        )
    return groups


def _classes(labels: pd.Series, target: str, above: float | None) -> pd.Series:
    """Return the classes of a target, or its numbers if they are to be cut."""
    values = labels.unique()
    if len(values) == 1:
        raise LogicLensError(
            f"the target {quoted(target)} is {quoted(text_of(values[0]))} in every row: there is nothing to tell apart."
        )
    is_numbers = is_numeric_dtype(labels) and not is_bool_dtype(labels)
    if above is not None:
        if not is_numbers:
            raise LogicLensError(f"the target {quoted(target)} holds no numbers: leave the field “Cut at” empty.")
        return labels
    if is_float_dtype(labels) and any(not float(value).is_integer() for value in values):
        cut = number_text(suggested_cut(labels))
        raise LogicLensError(f"the target {quoted(target)} holds numbers with decimals: cut it, for example at {cut}.")
    if len(values) > MOST_CLASSES:
        way = f"cut it, for example at {number_text(suggested_cut(labels))}" if is_numbers else "choose another one"
        raise LogicLensError(
            f"the target {quoted(target)} has {len(values):,} different values, and {MOST_CLASSES} are the most: {way}."
        )
    if is_float_dtype(labels):
        return labels.astype(np.int64)
    if is_numbers or is_bool_dtype(labels):
        return labels
    if all(isinstance(value, bool) for value in values):
        # Booleans among which values are missing.
        return labels.astype(bool)
    return labels.astype(str)
