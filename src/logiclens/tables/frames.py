"""Columns: a raw table (frame, array, dictionary or file) as typed columns in which missing values are marked."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, no_column
from logiclens.formula.column_kinds import (
    CATEGORY,
    KINDS,
    NUMBER,
    TRUTH_VALUE,
    ColumnKind,
    Kind,
    Scalar,
    is_missing,
    kind_of_cell,
    kind_of_dtype,
    kind_of_narwhals,
)
from logiclens.formula.predicate import Predicate


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a raw table.

    Attributes:
        name: the name of the column.
        kind: the name of its kind (see `logiclens.formula.column_kinds`).
        values: an array as its kind holds it: numbers, truth values as 0 and 1, points in time, durations; for text the
            index of each value in `categories`. Missing values are NaN, NaT, or for text −1.
        categories: the distinct values of a text column, in order; also of a column of numbers that the table declares
            to be categorical.
        whole: whether the type of the column holds whole numbers only.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    categories: tuple[Scalar, ...] = ()
    whole: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Mask of the rows without a value."""
        return KINDS[self.kind].missing(self.values)

    @property
    def is_nominal(self) -> bool:
        """Whether the values are categories without an order."""
        return KINDS[self.kind].is_nominal or bool(self.categories)

    @property
    def places(self) -> NDArray[np.intp]:
        """The index of each value in `categories`; −1 if it is missing."""
        if KINDS[self.kind].is_nominal:
            return self.values
        return np.where(self.missing, -1, np.searchsorted(np.asarray(self.categories), self.values))

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values as floats in the same order, such as seconds for dates; undefined for text."""
        return KINDS[self.kind].numbers(self.values)

    def take(self, rows: NDArray[Any]) -> Column:
        """Return some of the rows."""
        return replace(self, values=self.values[rows])

    def as_kind(self, kind: Kind) -> Column:
        """Return the column as the kind that it had in training; refuse values of another kind."""
        before, now = KINDS[kind], KINDS[self.kind]
        if before is now or now.name in before.accepts:
            return self
        if self.missing.all():
            return Column(self.name, kind, before.nothing(len(self)))
        if before.reads_text and now is CATEGORY:
            known = before.array([None if is_missing(c) else c for c in self.categories], self.name)
            return Column(self.name, kind, np.append(known, before.nothing(1))[self.values])
        row = int(np.flatnonzero(~self.missing)[0])
        raise LogicLensError(
            f"the column {self.name!r} held {before.plural} in training and holds {now.plural} now "
            f"({self.cell(row)!r} in row {row})."
        )

    def cell(self, row: int) -> Scalar:
        """Return one value, which must not be missing."""
        if KINDS[self.kind].is_nominal:
            return self.categories[int(self.values[row])]
        value = KINDS[self.kind].plain(self.values[row])
        return int(value) if self.whole else value

    def holds(self, predicate: Predicate) -> NDArray[np.bool_]:
        """Return a mask of the rows on which a predicate is true."""
        if predicate.operator == "missing":
            return self.missing
        if not KINDS[self.kind].is_nominal:
            return predicate.holds(self.values)
        if predicate.operator != "==" or predicate.value not in self.categories:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(self.values == self.categories.index(predicate.value))

    def is_among(self, values: Sequence[Scalar]) -> NDArray[np.bool_]:
        """Return a mask of the rows that hold one of the given categories or numbers."""
        if not KINDS[self.kind].is_nominal:
            return np.asarray(np.isin(self.values, np.asarray(values, dtype=np.float64)))
        among = set(values)
        # Index −1, a missing value, selects the last entry.
        return np.asarray(np.array([*(category in among for category in self.categories), False])[self.values])


def columns_of(table: Any, names: Sequence[str] | None = None) -> tuple[Column, ...]:
    """Return the columns of a table: a pandas, polars or Arrow frame, a dictionary of columns, or a matrix.

    Refuse infinite numbers and columns of mixed kinds. `names` are the column names of a matrix. Default: x0, x1, ….
    """
    # Imported here, so that commands that only apply rules start without scikit-learn.
    from sklearn.utils import check_array

    if hasattr(table, "toarray"):
        # Raises scikit-learn's own message for sparse matrices, some of which are dictionaries.
        check_array(table)
    if isinstance(table, Mapping):
        return _of_mapping(table)
    if is_frame(table):
        return _of_frame(table)
    # NumPy would turn every cell of a list of lists into text if one cell is text.
    cells = np.array(_checked_lists(table), dtype=object) if isinstance(table, list | tuple) else table
    matrix = check_array(cells, dtype=None, ensure_all_finite=False)
    given = names if names is not None else [f"x{i}" for i in range(matrix.shape[1])]
    return tuple(_of_array(name, matrix[:, i]) for i, name in enumerate(given))


def check_column_names(names: Sequence[str]) -> None:
    """Refuse duplicate column names."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise LogicLensError(f"column names must differ; {name!r} is there more than once.")


def is_frame(table: Any) -> bool:
    """Return whether a table is a frame with named columns."""
    # Look at the type: a lazy frame would have to resolve its columns first.
    return hasattr(type(table), "columns")


def column_names(table: Any) -> list[Any] | None:
    """Return the column names as the table has them; None for a matrix."""
    if isinstance(table, Mapping):
        return list(table)
    if not is_frame(table):
        return None
    try:
        frame = nw.from_native(table)
    except TypeError:
        raise LogicLensError(f"expected a table with named columns, got {type(table).__name__}.") from None
    except nw.exceptions.DuplicateError:
        return list(table.columns)
    return list(frame.collect_schema().names() if isinstance(frame, nw.LazyFrame) else frame.columns)


def as_named(table: Any) -> Any:
    """Return an empty frame with the same columns, because scikit-learn does not know every type of table."""
    names = column_names(table)
    return table if names is None else pd.DataFrame(columns=pd.Index(names, dtype=object))


def _of_mapping(table: Mapping[Any, Any]) -> tuple[Column, ...]:
    check_column_names([str(name) for name in table])
    lengths = {len(values) if hasattr(values, "__len__") else None for values in table.values()}
    if len(lengths) != 1 or None in lengths or any(isinstance(values, str) for values in table.values()):
        raise LogicLensError("each column of a dictionary needs a list of values, all of one length.")
    columns = []
    for name, values in table.items():
        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            columns.append(_of_series(str(name), series))
        elif isinstance(values, np.ndarray) and values.ndim == 1:
            columns.append(_of_array(str(name), values))
        else:
            columns.append(_of_cells(str(name), _objects(values)))
    return tuple(columns)


def _of_frame(table: Any) -> tuple[Column, ...]:
    names = column_names(table) or []
    # Check before any column is looked up by name.
    check_column_names([str(name) for name in names])
    frame = nw.from_native(table)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not names:
        # The wording of scikit-learn, which its estimator checks expect.
        raise LogicLensError(f"Found array with 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
    return tuple(_of_series(str(name), frame.get_column(name)) for name in names)


def _of_series(name: str, series: Any) -> Column:
    kind = kind_of_narwhals(series.dtype)
    if kind is CATEGORY:
        return _text(name, np.asarray(series.to_numpy(), dtype=object))
    if kind is not None:
        return _ordered(name, kind, kind.series_array(series, name), whole=series.dtype.is_integer())
    column = _of_cells(name, _objects(series.to_list()))
    if column.kind == NUMBER.name and series.dtype == nw.Categorical:
        # Numbers that are codes, such as that of a hospital. (Ordered categories are an Enum.)
        known = np.unique(column.values[~column.missing])
        whole = bool((known == np.round(known)).all())
        return replace(column, whole=whole, categories=tuple((known.astype(np.int64) if whole else known).tolist()))
    return column


def _of_array(name: str, values: NDArray[Any]) -> Column:
    if (kind := kind_of_dtype(values.dtype.kind)) is not None:
        return _ordered(name, kind, kind.array(values, name), whole=values.dtype.kind in "iu")
    if values.dtype.kind not in "OUS":
        raise LogicLensError(f"the column {name!r} holds {values.dtype}, which cannot be compared.")
    return _of_cells(name, _objects(values))


def _of_cells(name: str, cells: NDArray[np.object_]) -> Column:
    """Return a column of Python values, which must all be of one kind or missing."""
    known = [(row, cell) for row, cell in enumerate(cells.tolist()) if not is_missing(cell)]
    kinds: dict[ColumnKind, int] = {}
    for row, cell in known:
        if (found := kind_of_cell(cell)) is None:
            raise LogicLensError(
                f"the column {name!r} holds a {type(cell).__name__} in row {row}, which cannot be compared."
            )
        kinds.setdefault(found, row)
    if kinds.keys() == {TRUTH_VALUE, NUMBER}:
        kinds.pop(TRUTH_VALUE)
    if len(kinds) > 1:
        first, second = itertools.islice(kinds.items(), 2)
        raise LogicLensError(
            f"the column {name!r} mixes {first[0].plural} and {second[0].plural}: row {first[1]} holds "
            f"{cells[first[1]]!r}, row {second[1]} {cells[second[1]]!r}."
        )
    kind = next(iter(kinds), NUMBER)
    if kind is CATEGORY:
        return _text(name, cells)
    whole = kind is NUMBER and all(isinstance(cell, Integral) for _, cell in known) and bool(known)
    return _ordered(name, kind, kind.array(cells, name), whole=whole)


def _ordered(name: str, kind: ColumnKind, values: NDArray[Any], *, whole: bool) -> Column:
    if values.dtype.kind == "f" and (infinite := np.isinf(values)).any():
        row = int(np.flatnonzero(infinite)[0])
        raise LogicLensError(
            f"the column {name!r} is infinite (inf) in row {row}: put the largest sensible number or a missing value."
        )
    return Column(name, kind.name, values, whole=whole)


def _text(name: str, cells: NDArray[np.object_]) -> Column:
    # pandas gives every missing value the code −1.
    codes, found = pd.factorize(cells)
    order = np.argsort(np.asarray(found, dtype=object), kind="stable")
    rank = np.empty(len(order) + 1, dtype=np.intp)
    rank[order] = np.arange(len(order))
    # Code −1 selects the last entry.
    rank[-1] = -1
    return Column(name, CATEGORY.name, rank[codes], tuple(str(found[place]) for place in order))


def _checked_lists(rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows that are lists of one length; refuse others."""
    if len({len(row) if hasattr(row, "__len__") and not isinstance(row, str) else None for row in rows}) > 1:
        raise LogicLensError("the rows of a table must be lists of one length.")
    return rows


def _objects(values: Any) -> NDArray[np.object_]:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values.tolist() if hasattr(values, "tolist") else list(values)
    return cells


def opened(table: Any, columns: Sequence[str] | None = None) -> Any:
    """Read a table that is given as a file name; return any other unchanged. `columns` selects columns of the file."""
    if not isinstance(table, str | os.PathLike):
        return table
    from logiclens.tables.files import read_table

    file = read_table(os.fspath(table))
    if columns is None:
        return file.frame
    for name in columns:
        if name not in file.frame.columns:
            raise no_column(name, list(file.frame.columns), file.name)
    return file.frame[list(columns)]


def parted(table: Any, target: Any) -> tuple[Any, Any]:
    """Return the table without its target, and the target, which may be given as the name of a column."""
    table = opened(table)
    if not isinstance(target, str):
        return table, target
    names = column_names(table)
    if names is None:
        raise LogicLensError(f"a matrix has no column {target!r}: pass the target itself.")
    if target not in names:
        raise no_column(target, [str(name) for name in names], "the table")
    if isinstance(table, dict):
        return {name: values for name, values in table.items() if name != target}, table[target]
    frame = nw.from_native(table)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame.drop(target).to_native(), frame.get_column(target).to_pandas()
