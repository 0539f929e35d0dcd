"""Columns: a raw table (frame, array, dictionary or file) as typed columns in which missing values are marked."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, no_column, quoted, warn
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
from logiclens.formula.date_parts import DatePart
from logiclens.formula.packed_rows import as_array, unmasked
from logiclens.formula.predicate import Predicate

MOST_FLOAT = int(np.finfo(np.float64).max)
"""The largest number that a float holds."""


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
        origin: the part of a date that the column holds; None for a column of the table.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    categories: tuple[Scalar, ...] = ()
    whole: bool = False
    origin: DatePart | None = None

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
            f"the column {quoted(self.name)} held {before.plural} in training and holds {now.plural} now "
            f"({quoted(self.cell(row))} in row {row})."
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


def part_column(part: DatePart, columns: Mapping[str, Column]) -> Column:
    """Return a part of dates as a column, given the columns of the dates by name."""
    dates = {name: columns[name].as_kind("date").values for name in part.columns}
    return Column(part.name, NUMBER.name, part.values(dates), whole=True, origin=part)


def columns_of(table: Any, names: Sequence[str] | None = None) -> tuple[Column, ...]:
    """Return the columns of a table: a pandas, polars or Arrow frame, a dictionary of columns, or a matrix.

    Refuse infinite numbers and columns of mixed kinds. `names` are the column names of a matrix. Default: x0, x1, ….
    """
    _refuse_sparse(table)
    if isinstance(table, Mapping):
        return _of_mapping(table)
    if is_frame(table):
        return _of_frame(table)
    matrix = checked_matrix(table)
    given = names if names is not None else [f"x{i}" for i in range(matrix.shape[1])]
    return tuple(_of_array(name, matrix[:, i]) for i, name in enumerate(given))


def checked_matrix(table: Any) -> NDArray[Any]:
    """Return a table without column names as a matrix `[rows, columns]` with at least one of each."""
    # Imported here, so that commands that only apply rules start without scikit-learn.
    from sklearn.utils import check_array

    if isinstance(table, list | tuple):
        # NumPy would turn every cell of a list of lists into text if one cell is text.
        cells = np.array(_checked_lists(table), dtype=object)
    else:
        cells = as_array(table) if hasattr(table, "detach") or isinstance(table, np.ma.MaskedArray) else table
    with sentences_of_sklearn():
        return np.asarray(check_array(cells, dtype=None, ensure_all_finite=False))


@contextmanager
def sentences_of_sklearn() -> Iterator[None]:
    """Turn errors of scikit-learn's validation into `LogicLensError`, without the arrays that its messages quote.

    The words stay, because its estimator checks expect them.
    """
    try:
        yield
    except LogicLensError:
        raise
    except (ValueError, TypeError) as error:
        text = re.sub(r":?\narray=.*?\.?\n(?=Reshape)", ". ", str(error), flags=re.DOTALL)
        text = text.partition("\n[")[0]
        raise LogicLensError(text if text.endswith((".", "\n")) else f"{text}.") from None


def check_column_names(names: Sequence[str]) -> None:
    """Refuse duplicate column names, blank ones and names that are not valid text."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name.strip():
            raise LogicLensError(f"every column needs a name; number {place} has {quoted(name)}.")
        if name in seen:
            raise LogicLensError(f"column names must differ; {quoted(name)} is there more than once.")
        check_unicode(name, f"the column name {quoted(name)}")
        seen.add(name)


def is_frame(table: Any) -> bool:
    """Return whether a table is a frame with named columns."""
    # Look at the type: a lazy frame would have to resolve its columns first.
    return hasattr(type(table), "columns")


def column_names(table: Any) -> list[Any] | None:
    """Return the column names as the table has them; None for a matrix."""
    _refuse_sparse(table)
    if isinstance(table, Mapping):
        return list(table)
    if not is_frame(table):
        return None
    try:
        frame = _from_native(table)
    except TypeError:
        raise LogicLensError(f"expected a table with named columns, got {type(table).__name__}.") from None
    except nw.exceptions.DuplicateError:
        return list(table.columns)
    return list(frame.collect_schema().names() if isinstance(frame, nw.LazyFrame) else frame.columns)


def _refuse_sparse(table: Any) -> None:
    if hasattr(table, "toarray"):
        # Some sparse matrices are dictionaries. scikit-learn's tests expect the first words.
        raise LogicLensError("Sparse data was passed, but dense data is required: pass table.toarray().")


def _from_native(table: Any) -> Any:
    """Return a frame of narwhals, which does not know record batches of Arrow."""
    if type(table).__name__ == "RecordBatch" and hasattr(table, "to_struct_array"):
        import pyarrow as pa

        table = pa.Table.from_batches([table])
    return nw.from_native(table)


def as_named(table: Any) -> Any:
    """Return an empty frame with the same columns, because scikit-learn does not know every type of table."""
    names = column_names(table)
    if names is None:
        return table
    check_column_names([str(name) for name in names])
    return pd.DataFrame(columns=pd.Index(names, dtype=object))


def _of_mapping(table: Mapping[Any, Any]) -> tuple[Column, ...]:
    check_column_names([str(name) for name in table])
    _check_lengths(table)
    columns = []
    for name, values in table.items():
        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            columns.append(_of_series(str(name), series))
        elif isinstance(values, np.ndarray) and values.ndim == 1:
            columns.append(_of_array(str(name), unmasked(values)))
        else:
            columns.append(_of_cells(str(name), _objects(values)))
    return tuple(columns)


def _check_lengths(table: Mapping[Any, Any]) -> None:
    """Refuse a dictionary of columns unless each has a list of values, all of one length."""
    lists = [
        values
        for values in table.values()
        if hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping | Set)
    ]
    if len(lists) < len(table) or len({len(values) for values in lists}) != 1:
        raise LogicLensError("each column of a dictionary needs a list of values, all of one length.")


def _of_frame(table: Any) -> tuple[Column, ...]:
    names = column_names(table) or []
    # Check before any column is looked up by name.
    check_column_names([str(name) for name in names])
    frame = _from_native(table)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not names:
        # The wording of scikit-learn, which its estimator checks expect.
        raise LogicLensError(f"Found array with 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
    return tuple(_of_series(str(name), frame.get_column(name)) for name in names)


def _of_series(name: str, series: Any) -> Column:
    kind = kind_of_narwhals(series.dtype)
    if kind is CATEGORY:
        return _text(name, _array_of(series))
    if kind is not None:
        return _ordered(name, kind, kind.series_array(series, name), whole=series.dtype.is_integer())
    column = _of_cells(name, _objects(series.to_list()))
    if column.kind == NUMBER.name and series.dtype == nw.Categorical:
        # Numbers that are codes, such as that of a hospital. (Ordered categories are an Enum.)
        known = np.unique(column.values[~column.missing])
        whole = bool((known == np.round(known)).all())
        return replace(column, whole=whole, categories=tuple((known.astype(np.int64) if whole else known).tolist()))
    return column


def _array_of(series: Any) -> NDArray[Any]:
    """Return a narwhals series as an array of one dimension; of objects where NumPy has no such type."""
    try:
        values = np.asarray(series.to_numpy())
    except NotImplementedError:
        values = as_array(series.to_native())
    except Exception:  # Each library has its own errors for types that NumPy lacks.
        values = _objects(series.to_list())
    if values.dtype.kind in "US":
        values = values.astype(object)
    return values if values.ndim == 1 else _objects(series.to_list())


def _of_array(name: str, values: NDArray[Any]) -> Column:
    if (kind := kind_of_dtype(values.dtype.kind)) is not None:
        return _ordered(name, kind, kind.array(values, name), whole=values.dtype.kind in "iu")
    if values.dtype.kind not in "OUS":
        raise LogicLensError(f"the column {quoted(name)} holds {values.dtype}, which cannot be compared.")
    return _of_cells(name, _objects(values))


def _of_cells(name: str, cells: NDArray[np.object_]) -> Column:
    """Return a column of Python values, which must all be of one kind or missing."""
    known = [(row, cell) for row, cell in enumerate(cells.tolist()) if not is_missing(cell)]
    kinds: dict[ColumnKind, int] = {}
    for row, cell in known:
        if (found := kind_of_cell(cell)) is None:
            raise LogicLensError(
                f"the column {quoted(name)} holds a {type(cell).__name__} in row {row}, which cannot be compared."
            )
        kinds.setdefault(found, row)
    if kinds.keys() == {TRUTH_VALUE, NUMBER}:
        kinds.pop(TRUTH_VALUE)
    if len(kinds) > 1:
        first, second = itertools.islice(kinds.items(), 2)
        raise LogicLensError(
            f"the column {quoted(name)} mixes {first[0].plural} and {second[0].plural}: row {first[1]} holds "
            f"{quoted(cells[first[1]])}, row {second[1]} {quoted(cells[second[1]])}."
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
            f"the column {quoted(name)} is infinite (inf) in row {row}: "
            "put the largest sensible number or a missing value."
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
    for text in found:
        if not text.isascii():
            check_unicode(text, f"the text {quoted(text)} in the column {quoted(name)}")
    return Column(name, CATEGORY.name, rank[codes], tuple(str(found[place]) for place in order))


def _checked_lists(rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows that are lists of one length; refuse others."""
    if len({len(row) if hasattr(row, "__len__") and not isinstance(row, str) else None for row in rows}) > 1:
        raise LogicLensError("the rows of a table must be lists of one length.")
    return rows


def _flat(values: Any) -> NDArray[Any]:
    """Return a column as an array of one dimension; of objects if its cells are lists."""
    try:
        array = as_array(values)
    except ValueError:
        return _objects(values)
    return array if array.ndim == 1 else _objects(values)


def _objects(values: Any) -> NDArray[np.object_]:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values.tolist() if hasattr(values, "tolist") else list(values)
    return cells


def label_array(labels: Any, n_rows: int | None = None) -> NDArray[Any]:
    """Return labels as an array after checking: one entry or row for each row, none missing, all of one kind.

    `n_rows` is the number of rows, if it is known. A table gives a matrix with one column per label.
    """
    if hasattr(labels, "toarray"):
        raise LogicLensError("sparse labels are not taken: pass labels.toarray().")
    try:
        if is_frame(labels) and not isinstance(labels, pd.DataFrame):
            labels = named_frame(labels)
        y = as_array(labels)
    except ValueError:
        raise LogicLensError("labels must be one entry for each row, or rows of one length.") from None
    if y.ndim not in (1, 2) or (n_rows is not None and len(y) != n_rows):
        rows = "each row" if n_rows is None else f"each of the {n_rows} rows"
        raise LogicLensError(f"labels must have one entry for {rows}, got shape {y.shape}.")
    if y.dtype.kind in "cV":
        raise LogicLensError(f"labels must be text, numbers or truth values, these are of type {y.dtype}.")
    cells = y.reshape(-1).tolist() if y.dtype.kind in "OU" else []
    missing = np.fromiter(map(is_missing, cells), np.bool_, len(cells)) if y.dtype.kind == "O" else pd.isna(y).ravel()
    if missing.any():
        row = int(np.flatnonzero(missing)[0]) // (y.size // len(y))
        raise LogicLensError(f"the label of row {row} is missing: leave out the rows without a label.")
    given = labels if isinstance(labels, list | tuple) and y.ndim == 1 else cells
    if len({isinstance(label, str) for label in given}) > 1:
        raise LogicLensError("labels must be of one kind; these are partly text and partly not.")
    for row, label in enumerate(cells):
        if isinstance(label, str):
            check_unicode(label, f"the label of row {row}")
        elif isinstance(label, Mapping | Set | list | tuple | np.ndarray) or (
            isinstance(label, Integral) and abs(int(label)) > MOST_FLOAT
        ):
            raise LogicLensError(f"labels must be text, numbers or truth values; row {row} holds {quoted(label)}.")
    try:
        # Classes are sorted.
        np.unique(y)
    except TypeError:
        raise LogicLensError("labels must be of one kind that can be sorted, such as text or numbers.") from None
    return y


def check_unicode(text: str, what: str) -> None:
    """Refuse a text that no file can hold; `what` names it in the message."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LogicLensError(
            f"{what} is not valid text: it holds half of a surrogate pair, {quoted(text[error.start])}."
        ) from None


def named_frame(table: Any) -> Any:
    """Return a polars or Arrow frame, or a dictionary of columns, as a pandas frame; other tables unchanged."""
    if isinstance(table, pd.DataFrame) or not (is_frame(table) or isinstance(table, Mapping)):
        return table
    names = column_names(table) or []
    check_column_names([str(name) for name in names])
    if isinstance(table, Mapping):
        _check_lengths(table)
        return pd.DataFrame({name: _flat(values) for name, values in table.items()})
    frame = _from_native(table)
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return pd.DataFrame({name: _array_of(frame.get_column(name)) for name in names})


def opened(table: Any, columns: Sequence[str] | None = None) -> Any:
    """Read a table that is given as a file name; return any other unchanged. `columns` selects columns of the file."""
    if not isinstance(table, str | os.PathLike):
        return table
    from logiclens.tables.files import read_table

    file = read_table(os.fspath(table))
    for note in file.notes:
        warn(note, stacklevel=3)
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
        raise LogicLensError(f"a matrix has no column {quoted(target)}: pass the target itself.")
    if target not in names:
        raise no_column(target, [str(name) for name in names], "the table")
    check_column_names([str(name) for name in names])
    if isinstance(table, dict):
        labels = table[target]
        if isinstance(labels, list) and not any(isinstance(label, list | tuple) for label in labels):
            # The name is remembered, so that the same table can be predicted.
            labels = pd.Series(labels, name=target, dtype=object)
        return {name: values for name, values in table.items() if name != target}, labels
    frame = _from_native(table)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame.drop(target).to_native(), frame.get_column(target).to_pandas()
