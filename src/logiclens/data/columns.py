"""Columns: the raw table of a user, whatever holds it, as typed columns with missing values marked."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from numbers import Real
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from logiclens.errors import LogicLensError
from logiclens.formula.predicate import Predicate, Scalar, is_missing, times_of

Kind: TypeAlias = Literal["number", "boolean", "text", "date"]


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a raw table.

    Attributes:
        name: as it is printed.
        kind: what its values are.
        values: numbers (NaN where missing), truth values as 0 and 1 (NaN), points in time (NaT), or for text the place
            of each value among the categories (−1).
        categories: the distinct values of a text column, in order.
        whole: whether numbers are whole by their type, as those of an identifier are.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    categories: tuple[Scalar, ...] = ()
    whole: bool = False

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """On which rows there is no value."""
        if self.kind == "text":
            return np.asarray(self.values < 0)
        return np.asarray(np.isnat(self.values) if self.kind == "date" else np.isnan(self.values))

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers that keep their order: seconds for dates. Text has none."""
        if self.kind == "date":
            seconds = self.values.astype("datetime64[us]").astype(np.int64) / 1e6
            return np.where(self.missing, np.nan, seconds)
        return self.values

    def take(self, rows: NDArray[Any]) -> Column:
        """Some of the rows."""
        return replace(self, values=self.values[rows])

    def as_kind(self, kind: Kind) -> Column:
        """The column as the kind that it had in training; refused where its values are of another."""
        if self.kind == kind or {self.kind, kind} == {"number", "boolean"}:
            return self
        if self.missing.all():
            empty = {"text": np.full(len(self), -1), "date": np.full(len(self), "NaT", "datetime64[us]")}
            return Column(self.name, kind, empty.get(kind, np.full(len(self), np.nan)))
        if kind == "date" and self.kind == "text":
            known = times_of([None if is_missing(c) else c for c in self.categories], self.name)
            return Column(self.name, kind, np.append(known, np.datetime64("NaT"))[self.values])
        row = int(np.flatnonzero(~self.missing)[0])
        raise LogicLensError(
            f"the column {self.name!r} held {_PLURAL[kind]} in training and holds {_PLURAL[self.kind]} now "
            f"({self.shown(row)} in row {row})."
        )

    def shown(self, row: int) -> str:
        """One value as it is written."""
        value = self.categories[self.values[row]] if self.kind == "text" else self.values[row].item()
        return repr(value) if isinstance(value, str) else str(value)

    def holds(self, predicate: Predicate) -> NDArray[np.bool_]:
        """On which rows a predicate is true."""
        if predicate.operator == "missing":
            return self.missing
        if self.kind != "text":
            return predicate.holds(self.values)
        if predicate.operator != "==" or predicate.value not in self.categories:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(self.values == self.categories.index(predicate.value))


_PLURAL: dict[Kind, str] = {"number": "numbers", "boolean": "truth values", "text": "text", "date": "dates"}


def columns_of(table: Any, names: Sequence[str] | None = None) -> tuple[Column, ...]:
    """The columns of a table: a pandas, polars or Arrow frame, a dictionary of columns, or a matrix.

    Infinite numbers and columns of mixed kinds are refused. The columns of a matrix are called `names`, or x0, x1, ….
    """
    if hasattr(table, "toarray"):
        # scikit-learn's own words for sparse matrices, some of which are dictionaries.
        check_array(table)
    if isinstance(table, Mapping):
        lengths = {len(values) for values in table.values()}
        if len(lengths) > 1:
            raise LogicLensError("each column of a dictionary needs a list of values, all of one length.")
        return tuple(_of_cells(str(name), _objects(values)) for name, values in table.items())
    if hasattr(table, "columns"):
        return _of_frame(table)
    matrix = check_array(table, dtype=None, ensure_all_finite=False)
    if matrix.dtype.kind not in "biufOUMS":
        raise LogicLensError(f"a table of {matrix.dtype} cannot be read.")
    given = names if names is not None else [f"x{i}" for i in range(matrix.shape[1])]
    return tuple(_of_array(name, matrix[:, i]) for i, name in enumerate(given))


def check_column_names(names: Sequence[str]) -> None:
    """Refuse names that stand for two columns."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise LogicLensError(f"column names must differ; {name!r} is there more than once.")


def _of_frame(table: Any) -> tuple[Column, ...]:
    # Before anything looks a column up by its name.
    check_column_names([str(name) for name in table.columns])
    try:
        frame = nw.from_native(table)
    except TypeError:
        raise LogicLensError(f"expected a table with named columns, got {type(table).__name__}.") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return tuple(_of_series(str(name), frame.get_column(name)) for name in frame.columns)


def _of_series(name: str, series: Any) -> Column:
    kind = series.dtype
    if kind == nw.Boolean:
        return Column(name, "boolean", series.cast(nw.Float64).to_numpy().astype(np.float64))
    if kind.is_numeric():
        values = series.cast(nw.Float64).to_numpy().astype(np.float64)
        return _number(name, values, whole=kind.is_integer())
    if isinstance(kind, nw.Datetime) or kind in (nw.Date, nw.Datetime):
        if getattr(kind, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        cells = series.to_numpy()
        return Column(name, "date", times_of(cells, name))
    if kind == nw.String:
        return _text(name, _objects(series.to_numpy()))
    return _of_cells(name, _objects(series.to_numpy()))


def _of_array(name: str, values: NDArray[Any]) -> Column:
    if values.dtype.kind == "b":
        return Column(name, "boolean", values.astype(np.float64))
    if values.dtype.kind in "iuf":
        return _number(name, values.astype(np.float64), whole=values.dtype.kind in "iu")
    if values.dtype.kind == "M":
        return Column(name, "date", times_of(values, name))
    return _of_cells(name, _objects(values))


def _of_cells(name: str, cells: NDArray[np.object_]) -> Column:
    """A column of Python values: all of one kind, or missing."""
    known = [(row, cell) for row, cell in enumerate(cells.tolist()) if not is_missing(cell)]
    kinds: dict[Kind, int] = {}
    for row, cell in known:
        kinds.setdefault(_kind_of(name, row, cell), row)
    if kinds.keys() == {"boolean", "number"}:
        kinds.pop("boolean")
    if len(kinds) > 1:
        first, second = itertools.islice(kinds.items(), 2)
        raise LogicLensError(
            f"the column {name!r} mixes {_PLURAL[first[0]]} and {_PLURAL[second[0]]}: row {first[1]} holds "
            f"{cells[first[1]]!r}, row {second[1]} {cells[second[1]]!r}."
        )
    kind: Kind = next(iter(kinds), "number")
    if kind == "text":
        return _text(name, cells)
    if kind == "date":
        return Column(name, "date", times_of(cells, name))
    values = np.array([np.nan if is_missing(cell) else float(cell) for cell in cells.tolist()], dtype=np.float64)
    if kind == "boolean":
        return Column(name, "boolean", values)
    return _number(name, values, whole=all(isinstance(cell, int) for _, cell in known) and bool(known))


def _kind_of(name: str, row: int, cell: Any) -> Kind:
    if isinstance(cell, bool | np.bool_):
        return "boolean"
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, Real) or type(cell).__name__ == "Decimal":
        return "number"
    if isinstance(cell, date):
        return "date"
    raise LogicLensError(f"the column {name!r} holds a {type(cell).__name__} in row {row}, which cannot be compared.")


def _number(name: str, values: NDArray[np.float64], *, whole: bool) -> Column:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise LogicLensError(
            f"the column {name!r} is infinite (inf) in row {row}: put the largest sensible number or a missing value."
        )
    return Column(name, "number", values, whole=whole)


def _text(name: str, cells: NDArray[np.object_]) -> Column:
    place: dict[str, int] = {}
    codes = np.fromiter(
        (-1 if is_missing(cell) else place.setdefault(cell, len(place)) for cell in cells.tolist()), np.intp, len(cells)
    )
    categories = sorted(place)
    rank = np.empty(len(place) + 1, dtype=np.intp)
    rank[[place[category] for category in categories]] = np.arange(len(place))
    # The code −1 finds the last entry.
    rank[-1] = -1
    return Column(name, "text", rank[codes], tuple(categories))


def _objects(values: Any) -> NDArray[np.object_]:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values.tolist() if hasattr(values, "tolist") else list(values)
    return cells


def row_hashes(columns: Sequence[Column], *more: NDArray[Any], seed: int = 0) -> NDArray[np.uint64]:
    """A number for each row that depends on its values alone: equal rows, and in practice only these, have equal ones.

    In its order rows are shuffled, by the seed, in a way that does not depend on how they came.
    """
    n_rows = len(columns[0]) if columns else len(more[0])
    mixed = np.full(n_rows, seed, dtype=np.uint64)
    parts = [_as_bits(column) for column in columns]
    parts += [np.ascontiguousarray(part).astype(np.int64).view(np.uint64) for part in more]
    for place, part in enumerate(parts):
        # Which column a value stands in matters too.
        step = np.uint64((place + 1) * 0x9E3779B97F4A7C15 % 2**64)
        mixed = _mix(mixed ^ _mix(part + step))
    return mixed


def _as_bits(column: Column) -> NDArray[np.uint64]:
    if column.kind == "text":
        # By the text and not by its place: which other texts there are must not matter.
        known = [hashlib.blake2b(repr(c).encode(), digest_size=8).digest() for c in column.categories]
        digest = np.frombuffer(b"".join([*known, bytes(8)]), dtype=np.uint64)
        return np.asarray(digest[column.values])
    if column.kind == "date":
        return column.values.astype("datetime64[us]").view(np.uint64)
    # + 0.0 makes −0.0 equal to 0.0.
    return np.where(np.isnan(column.values), np.nan, column.values + 0.0).view(np.uint64)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
