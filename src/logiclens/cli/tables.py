"""Tables that commands are given: read into memory or counted by an engine, and checked for target and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from logiclens.cli.options import TableSource
from logiclens.errors import LogicLensError, no_column, quoted
from logiclens.formula.column_kinds import kind_of_dtype
from logiclens.formula.target_cuts import MOST_CLASSES, number_text, suggested_cut
from logiclens.tables.columns import text_of
from logiclens.tables.files import TableFile, doubtful_columns, mixed_columns
from logiclens.tables.formats import DATABASES, names_several
from logiclens.words import count_with_noun

if TYPE_CHECKING:
    from logiclens.cli.options import Engines
    from logiclens.engine.lake import Engine


MOST_SUBGROUPS = 20
"""The most subgroups; with more, each has few rows."""
FEWEST_ROWS = 10
"""The fewest rows to learn from; with fewer, none can be held out."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to learn from: its columns, the target, the file, and notes about what was left out."""

    frame: pd.DataFrame
    target: pd.Series
    file: TableFile
    notes: tuple[str, ...]
    weight: pd.Series | None = None
    teacher: pd.Series | None = None
    groups: pd.Series | None = None
    watched: tuple[str, ...] = ()
    """Columns of the frame that are not learned from, only protected."""


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of the columns of a table.

    Attributes:
        target: the column to explain.
        drop: columns to leave out, as they were typed.
        weight: the column of row weights.
        teacher: the column with the answers of another model, which the rules explain.
        groups: the column of groups of rows that no split divides.
        cut: whether the target is numbers that are cut into classes.
        watched: columns that are not learned from and stay in the table, because rules are measured by their groups.
    """

    target: str
    drop: tuple[str, ...] = ()
    weight: str | None = None
    teacher: str | None = None
    groups: str | None = None
    cut: bool = False
    watched: tuple[str, ...] = ()


def read_problem(reading: TableSource, asked: ColumnRoles) -> Problem:
    """Read a table with its target. Leave out rows without a target value."""
    file, target = reading.table(), asked.target
    frame = file.frame
    named = [name for name in each_column(asked.drop, frame.columns) if name not in asked.watched]
    drop = [*named, *(name for name in (asked.weight, asked.teacher, asked.groups) if name is not None)]
    check_columns(frame, [target, *drop], file.name)
    if asked.groups is not None and asked.groups in (asked.weight, asked.teacher):
        raise LogicLensError(f"{quoted(asked.groups)} groups the rows: it cannot weigh them or teach as well.")
    if target in drop:
        raise LogicLensError(f"{quoted(target)} is the target: it cannot be left out, weigh, teach or group as well.")
    labels = frame[target]
    notes = list(file.notes)
    if labels.isna().any():
        n_gone = int(labels.isna().sum())
        if n_gone == len(labels):
            raise LogicLensError(f"the target {quoted(target)} has no value in any row.")
        notes.append(f"{n_gone:,} of {len(labels):,} rows have no value of {quoted(target)} and are left out.")
    rest = frame.drop(columns=[target, *drop])
    used = [column for column in rest.columns if column not in asked.watched]
    if not used:
        raise LogicLensError(f"{file.name} has no column beside the target {quoted(target)} to learn from.")
    check_cells(rest)
    kept = labels.notna()
    told = labels[kept]
    classes, rows = _numbers(told, target) if asked.cut else _classes(told, target), rest[kept]
    if len(rows) < FEWEST_ROWS:
        raise LogicLensError(
            f"{file.name} has {len(rows)} rows with a value of {quoted(target)}, too few to learn from: "
            "take some dozens."
        )
    if all(len(rows[column].unique()) == 1 for column in used):
        raise LogicLensError("every column has one value only: there is nothing to tell rows apart by.")
    weight = None if asked.weight is None else _weights(frame[asked.weight][kept])
    teacher = None if asked.teacher is None else frame[asked.teacher][kept]
    if teacher is not None and teacher.isna().any():
        raise LogicLensError(
            f"the teacher {quoted(asked.teacher)} has no answer in {int(teacher.isna().sum()):,} rows."
        )
    groups = None if asked.groups is None else frame[asked.groups][kept]
    if groups is not None and groups.isna().any():
        raise LogicLensError(
            f"{quoted(asked.groups)} is empty in {count_with_noun(int(groups.isna().sum()), 'row')}: --group needs a "
            "group in every row."
        )
    return Problem(rows, classes, file, tuple(notes), weight, teacher, groups, asked.watched)


def each_column(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Return the columns that are named, one by one: a text that is no column may hold several, with commas between.

    >>> each_column(["a, b", "c,d"], ["a", "b", "c,d"])
    ['a', 'b', 'c,d']
    """
    known = set(columns)
    return [part.strip() for name in names for part in ([name] if name in known else name.split(","))]


def check_columns(frame: pd.DataFrame, names: Iterable[str], file: str, why: str = "") -> None:
    """Refuse columns that do not exist, and suggest the nearest name; `why` says what needs them."""
    check_names([str(column) for column in frame.columns], names, file, why)


def check_names(columns: Sequence[str], names: Iterable[str], file: str, why: str = "") -> None:
    """Like `check_columns`, for a table of which only the names of the columns are known."""
    known, names = set(columns), list(names)
    for name in names:
        if name in known:
            continue
        error = no_column(name, columns, file, why, needed=names)
        if len(columns) > 1:
            raise error
        raise LogicLensError(f"{error} It has one column only: is the delimiter another one (--delimiter)?")


def subgroups(problem: Problem, by: str | None) -> pd.Series | None:
    """Return the column of subgroups, which the rules need not use."""
    return None if by is None else told_apart(problem.file.frame[by]).loc[problem.frame.index]


def told_apart(column: pd.Series) -> pd.Series:
    """Return the subgroup of each row: the value of a column, or the period of a date."""
    kind = kind_of_dtype(column.dtype.kind)
    return column if kind is None or kind.period_format is None else column.dt.strftime(kind.period_format)


def check_by(problem: Problem, by: str | None) -> None:
    """Refuse a column of subgroups that does not exist or is the target."""
    if by is None:
        return
    frame = problem.file.frame
    if by == problem.target.name:
        raise LogicLensError(f"{quoted(by)} is the target: name another column to compare subgroups by.")
    check_columns(frame, [by], problem.file.name, " to compare subgroups by")
    if (n_values := told_apart(frame[by]).nunique()) > MOST_SUBGROUPS:
        raise LogicLensError(
            f"{quoted(by)} has {n_values:,} different values, too many to compare: name a column with at most "
            f"{MOST_SUBGROUPS}, such as one that cuts it into a few."
        )


def check_cells(frame: pd.DataFrame, *, of_file: bool = True) -> None:
    """Refuse columns that can be read in several ways, and number columns with a text or an infinite number.

    Cells that are not `of_file` are those of the command line, where --missing and --drop do not help.
    """
    for column, (cell, reason) in doubtful_columns(frame).items():
        leave = f", or leave the column out with --drop {quoted(column)}" if of_file else ""
        raise LogicLensError(f"the column {quoted(column)} {reason} (it holds {quoted(cell)}){leave}.")
    for column, (text, row) in mixed_columns(frame).items():
        ways = (
            f", say --missing {quoted(text)} if that means there is no value, or leave the column out with --drop "
            f"{quoted(column)}"
        )
        raise LogicLensError(
            f"the column {quoted(column)} holds numbers and text ({quoted(text)} in row {row}): mend it"
            f"{ways if of_file else ''}."
        )
    check_finite(frame)


def check_finite(frame: pd.DataFrame) -> None:
    """Refuse an infinite number; the message counts rows from 1, as in the file."""
    for name, cells in frame.items():
        if not is_float_dtype(cells):
            continue
        infinite = np.flatnonzero(np.isinf(cells.to_numpy(dtype=np.float64, na_value=np.nan)))
        if len(infinite):
            value, row = cells.iloc[infinite[0]], int(cells.index[infinite[0]]) + 1
            raise LogicLensError(
                f"the column {quoted(name)} is infinite ({value}) in row {row}: put the largest sensible number, or "
                "leave the cell empty if there is no value."
            )


def _weights(column: pd.Series) -> pd.Series:
    """Return the weight of each row."""
    if not is_numeric_dtype(column) or column.isna().any() or (column < 0).any() or not (column > 0).any():
        raise LogicLensError(f"the weights in {quoted(column.name)} must be numbers from 0 on, one in every row.")
    return column


def _classes(labels: pd.Series, target: str) -> pd.Series:
    """Return the target as classes."""
    values = labels.unique()
    if len(values) == 1:
        raise LogicLensError(
            f"the target {quoted(target)} is {quoted(text_of(values[0]))} in every row: there is nothing to tell apart."
        )
    if is_float_dtype(labels):
        decimals = [value for value in values if not float(value).is_integer()]
        if decimals:
            raise LogicLensError(
                f"the target {quoted(target)} holds numbers with decimals such as {decimals[0]}, not classes: "
                f"{_ways_out(labels)}."
            )
        # Whole numbers that became floats because a value is missing.
        labels = labels.astype(np.int64)
    if len(values) > MOST_CLASSES:
        kind = "numbers" if is_numeric_dtype(labels) else "values"
        raise LogicLensError(
            f"the target {quoted(target)} has {len(values):,} different {kind}, more than {MOST_CLASSES} classes: "
            + (_ways_out(labels) if is_numeric_dtype(labels) else "add a column that sums them up in a few")
            + "."
        )
    if is_numeric_dtype(labels) or is_bool_dtype(labels):
        return labels
    if all(isinstance(value, bool) for value in values):
        # Booleans among which values are missing.
        return labels.astype(bool)
    return labels.astype(str)


def _ways_out(numbers: pd.Series) -> str:
    """Say how a target of numbers is cut into classes."""
    return (
        f"cut them with --above {number_text(suggested_cut(numbers))}, or into classes of equal size with --quantiles 3"
    )


def _numbers(labels: pd.Series, target: str) -> pd.Series:
    """Return a target that is to be cut; refuse one that is not numbers."""
    if not is_numeric_dtype(labels) or is_bool_dtype(labels):
        raise LogicLensError(
            f"--above and --quantiles cut numbers, and the target {quoted(target)} holds "
            f"{quoted(text_of(labels.iloc[0]))}: leave them out."
        )
    return labels


@dataclass(frozen=True)
class Counting:
    """A table to be counted: its source and the engine."""

    source: str
    engine: Engine = "duckdb"

    def table(self, *, per_file: bool = False) -> Any:
        """Return the table as one of Ibis."""
        # Imported here, because a command that reads a table does not need an engine.
        from logiclens.engine.lake import in_engine

        return in_engine(self.source, self.engine, per_file=per_file)


def counting(
    data: str, engine: Engines | None, refused: Mapping[str, object], *, what: str = "counts"
) -> Counting | None:
    """Return how an engine counts a table; None for a table that is read.

    `refused` maps options that need rows in memory to their values; `what` says what the engine does in a message.
    """
    if engine is None and not names_several(data):
        if data.endswith(DATABASES):
            raise LogicLensError(f"{data} is a database, which is not read but counted: say --engine duckdb.")
        return None
    from logiclens.engine.lake import files_of

    # That files are not there matters more than options that do not suit them.
    files_of(data)
    if wrong := [option for option, given in refused.items() if given]:
        raise LogicLensError(f"rows that an engine {what} take no {wrong[0]}.")
    return Counting(data, "duckdb" if engine is None else engine.value)


@dataclass(frozen=True, eq=False)
class Lake:
    """A table in an engine: its name, its target, and notes about it."""

    table: Any
    name: str
    target: str
    notes: tuple[str, ...]


def open_lake(asked: Counting, target: str, *, drop: Sequence[str]) -> Lake:
    """Return the table to learn from, without dropped columns and rows without a class."""
    table, name = asked.table(), asked.source
    drop = each_column(drop, table.columns)
    for column in (target, *drop):
        check_column(table, column, name)
    if target in drop:
        raise LogicLensError(f"the target {quoted(target)} cannot be left out.")
    # A database counts its own rows, whichever engine was chosen.
    engine = table.get_backend().name.removeprefix("py")
    notes = [f"rows were counted by {engine}: cuts were found on all of them, also on the held-out ones."]
    table, n_gone = labelled(table.drop(*drop) if drop else table, target)
    table = _with_whole(table, target)
    if n_gone:
        notes.append(f"{n_gone:,} rows have no value of {quoted(target)} and are left out.")
    return Lake(table, name, target, tuple(notes))


def check_column(table: Any, column: str, name: str, why: str = "") -> None:
    """Refuse a column that does not exist, and suggest the nearest name; `why` says what needs it."""
    if column not in table.columns:
        raise no_column(column, list(table.columns), name, why)


def labelled(table: Any, target: str) -> tuple[Any, int]:
    """Return the rows that have a class, and how many have none."""
    from logiclens.engine.query import fetched, there

    known = there(table[target])
    [found] = fetched(table.agg(n=table.count(), gone=(~known).cast("int64").sum())).to_pylist()
    if not found["gone"]:
        return table, 0
    if found["gone"] == found["n"]:
        raise LogicLensError(f"the target {quoted(target)} has no value in any row.")
    return table.filter(known), int(found["gone"])


def _with_whole(table: Any, target: str) -> Any:
    """Return the table with whole-number classes as integers; missing values had made them floats."""
    from logiclens.engine.query import fetched

    labels = table[target]
    if not labels.type().is_floating():
        return table
    uneven = (labels % 1.0 != 0.0) | (labels.abs() >= 2.0**53)
    if fetched(table.agg(n=uneven.cast("int64").sum()))["n"][0].as_py():
        return table
    return table.mutate(**{target: labels.cast("int64")})
