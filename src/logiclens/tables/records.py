"""Readers of records: JSON lines, arrays of JSON objects, and Parquet, as tables with one value per cell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pandas as pd

from logiclens.errors import LogicLensError, quoted
from logiclens.tables.dtypes import as_floats, checked_names, kind_of, typed
from logiclens.tables.formats import BLOCK, open_text, sentence, unpacks_to_more
from logiclens.tables.streams import chunk_rows

_INDEX = "__index_level_[0-9]+__"
"""The names of unnamed indices of pandas frames."""
_SURROGATE = re.compile("[\\ud800-\\udfff]")


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, so that duplicate names are noticed."""


@dataclass
class _Cells:
    """What the cells of a JSON column are, over all rows that were seen."""

    kinds: set[type] = field(default_factory=set)
    n_known: int = 0
    least: int = 0
    largest: int = 0

    def add(self, cells: list[Any]) -> None:
        """Look at further cells; None is a missing one."""
        known = [cell for cell in cells if cell is not None]
        self.kinds |= {type(cell) for cell in known}
        self.n_known += len(known)
        if self.kinds == {int} and known:
            self.least, self.largest = min(self.least, *known), max(self.largest, *known)

    def dtype(self, n_rows: int) -> Any:
        """Return the dtype of the column in a table of so many rows; numbers among texts become texts."""
        whole = self.n_known == n_rows
        if not self.kinds:
            return np.dtype(object)
        if self.kinds == {bool}:
            return np.dtype(bool if whole else object)
        if not self.kinds <= {int, float}:
            return "str"
        if self.kinds == {int} and whole and self.least >= -(2**63) and self.largest < 2**64:
            return np.dtype(np.int64 if self.largest < 2**63 else np.uint64 if self.least >= 0 else np.float64)
        return np.dtype(np.float64)


class JsonTable:
    """JSON lines or an array of flat objects, read in chunks of `size` rows; all at once if `size` is None.

    A first pass over the file finds the names and types of the columns, so that every chunk has the same ones.
    """

    decimal_comma = False

    def __init__(self, path: Path, name: str, missing: frozenset[str], size: int | None) -> None:
        """Read the file once."""
        self._path, self._name, self._missing, self._size, self.n_rows = path, name, missing, size, 0
        found: dict[str, _Cells] = {}
        self._last: tuple[int, dict[str, list[Any]]] = (0, {})
        for n_rows, columns in self._batches():
            for key, cells in columns.items():
                found.setdefault(key, _Cells()).add(cells)
            self.n_rows += n_rows
            self._last = n_rows, columns
        checked_names(list(found), name)
        if self.n_rows and not found:
            raise LogicLensError(f"the objects of {name} have no fields.")
        self.dtypes = {key: cells.dtype(self.n_rows) for key, cells in found.items()}

    def chunks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows of some columns; the index counts the rows from 0."""
        start = 0
        # The only chunk of a small table need not be read again.
        only = self._last[0] == self.n_rows
        for n_rows, found in [self._last] if only else self._batches():
            index = pd.RangeIndex(start, start + n_rows)
            cells = {key: found.get(key, [None] * n_rows) for key in columns}
            yield pd.DataFrame({key: _column(cells[key], self.dtypes[key], index) for key in columns}, index=index)
            start += n_rows

    def _batches(self) -> Iterator[tuple[int, dict[str, list[Any]]]]:
        """Yield numbers of rows with the cells of their columns, in which a missing value is None."""
        columns: dict[str, list[Any]] = {}
        n_rows = 0
        with open_text(self._path) as text:
            for where, record in _json_records(text, self._name):
                for key, value in _checked_record(record, where):
                    cells = columns.setdefault(key, [])
                    cells.extend([None] * (n_rows - len(cells)))
                    cells.append(None if isinstance(value, str) and value in self._missing else value)
                n_rows += 1
                if n_rows == self._size:
                    yield n_rows, _padded(columns, n_rows)
                    columns, n_rows = {}, 0
        if n_rows:
            yield n_rows, _padded(columns, n_rows)


def _padded(columns: dict[str, list[Any]], n_rows: int) -> dict[str, list[Any]]:
    return {key: cells + [None] * (n_rows - len(cells)) for key, cells in columns.items()}


def _column(cells: list[Any], dtype: Any, index: pd.RangeIndex) -> pd.Series[Any]:
    if dtype == "str":
        cells = [None if cell is None else str(cell) for cell in cells]
    elif dtype == np.float64:
        return as_floats(pd.Series(cells, index=index, dtype=object))
    found: pd.Series[Any] = pd.Series(cells, index=index, dtype=dtype)
    return found


def read_json(path: Path, name: str, missing: frozenset[str]) -> pd.DataFrame:
    """Read JSON lines or an array of flat objects."""
    table = JsonTable(path, name, missing, None)
    return typed(next(table.chunks(list(table.dtypes)), pd.DataFrame()))


def _checked_record(record: Any, where: str) -> _Pairs:
    """Return the fields of a record; refuse one that is not flat, names a field twice or holds no whole characters."""
    if not isinstance(record, _Pairs):
        raise LogicLensError(f'{where} is not an object such as {{"age": 31}}.')
    if len(dict(record)) < len(record):
        checked_names([key for key, _ in record], where)
    for key, value in record:
        if isinstance(value, list):
            raise LogicLensError(
                f"the field {quoted(key)} in {where} holds a list or an object: a cell must be one value."
            )
        if _SURROGATE.search(key) or (isinstance(value, str) and _SURROGATE.search(value)):
            raise LogicLensError(
                f"the field {quoted(key)} in {where} holds half a character (a lone surrogate such as \\ud800): write "
                "the whole character, or leave it out."
            )
    return record


def _json_records(text: TextIO, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a text, each with its location for messages."""
    array = text.read(BLOCK).lstrip().startswith("[")
    text.seek(0)
    line = 1
    try:
        if array:
            for place, value in enumerate(_loaded(text.read()), 1):
                yield f"object {place} of {name}", value
            return
        for line, content in enumerate(text, 1):
            if content.strip():
                yield f"line {line} of {name}", _loaded(content)
    except RecursionError:
        raise LogicLensError(f"line {line} of {name} is nested too deeply: expected flat objects.") from None
    except json.JSONDecodeError as error:
        line = error.lineno if array else line
        raise LogicLensError(
            f"line {line} of {name} is not JSON ({error.msg}): expected one object on each line, or an array of them."
        ) from None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python reads no integers of thousands of digits; as floats they are infinite.
        return json.loads(text, object_pairs_hook=_Pairs, parse_int=_whole_number)


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) < 400 else float(digits)


class ParquetTable:
    """A Parquet file, read in chunks of `size` rows; each column has the plain pandas type of its values.

    A first pass over the file finds which columns have missing values, so that every chunk has the same types.
    """

    decimal_comma = False

    def __init__(self, path: Path, name: str, missing: frozenset[str], size: int | None) -> None:
        """Read the file once."""
        self._path, self._name, self._missing, self.n_rows = path, name, missing, 0
        with self._opened() as file:
            names = file.schema_arrow.names
        self._size = size or chunk_rows(len(names))
        # The unnamed index of a pandas frame is not a column of the table.
        kept = [key for key in names if not re.fullmatch(_INDEX, key)]
        checked_names(kept, name)
        self.dtypes: dict[str, Any] = {}
        for chunk in self._batches(kept):
            self.n_rows += len(chunk)
            for key, column in chunk.items():
                self.dtypes[str(key)] = _common(self.dtypes.get(str(key), column.dtype), column.dtype)
        self.dtypes = {key: self.dtypes.get(key, np.dtype(object)) for key in kept}

    def chunks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows of some columns; the index counts the rows from 0."""
        for chunk in self._batches(columns):
            yield chunk.astype({key: self.dtypes[key] for key in columns})

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow as arrow
        from pyarrow import parquet

        try:
            with self._path.open("rb") as opened:
                yield parquet.ParquetFile(opened)
        except (arrow.ArrowException, OSError) as error:
            if isinstance(error, MemoryError):
                raise
            raise LogicLensError(f"{self._name} is not a whole Parquet file: {sentence(error)}.") from None

    def _batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        import pyarrow as arrow

        start = 0
        with self._opened() as file:
            for batch in file.iter_batches(self._size, columns=list(columns)):
                index = pd.RangeIndex(start, start + batch.num_rows)
                part = arrow.table(batch).select(list(columns))
                frame = {
                    key: _arrow_column(cells, key, self._name, self._missing)
                    for key, cells in zip(columns, part.columns, strict=True)
                }
                yield pd.DataFrame(frame).set_axis(index)
                start += batch.num_rows


def _common(first: Any, second: Any) -> Any:
    """Return the dtype of a column whose chunks have two: with gaps, integers are floats and flags are objects."""
    if first == second:
        return first
    kinds = {first.kind, second.kind}
    return np.dtype(np.float64) if kinds <= set("iuf") else np.dtype(object)


def _arrow_column(cells: Any, key: str, name: str, missing: frozenset[str]) -> pd.Series[Any]:
    """Return a column of Arrow with the plain pandas type of its values."""
    import pyarrow as arrow

    try:
        plain = cells.cast(_plain_type(cells.type, arrow))
    except arrow.ArrowException as error:
        if isinstance(error, MemoryError):
            raise
        raise _no_single_value(key, name, cells.type) from None
    if arrow.types.is_string(plain.type):
        try:
            plain.validate(full=True)
        except arrow.ArrowInvalid:
            raise LogicLensError(
                f"the column {quoted(key)} of {name} holds bytes that are not UTF-8: write the text again as UTF-8."
            ) from None
    column: pd.Series[Any] = plain.to_pandas()
    if missing and kind_of(column) == "text":
        column = column.mask(column.isin(missing))
    return column


def read_parquet(path: Path, name: str, missing: frozenset[str], most_bytes: int | None = None) -> pd.DataFrame:
    """Read Parquet; each column gets the plain pandas type of its values.

    Args:
        path: the file.
        name: what messages call it.
        missing: texts that mean a missing value.
        most_bytes: how large it may become: a value that is repeated needs next to nothing in the file. Default: None,
            as large as it is.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        with path.open("rb") as file:
            opened = parquet.ParquetFile(file)
            fields = [field for field in opened.schema_arrow if not re.fullmatch(_INDEX, field.name)]
            # Before anything is read: what is refused takes no memory.
            names = checked_names([field.name for field in fields], name)
            for field in fields:
                if arrow.types.is_nested(field.type):
                    raise _no_single_value(field.name, name, field.type)
            table = opened.read() if most_bytes is None else _bounded(opened, file, name, most_bytes)
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):
            raise
        raise LogicLensError(f"{name} is not a whole Parquet file: {sentence(error)}.") from None
    # The unnamed index of a pandas frame is not a column of the table.
    table = table.select([place for place, key in enumerate(table.column_names) if not re.fullmatch(_INDEX, key)])
    columns = zip(names, table.columns, strict=True)
    return typed(pd.DataFrame({key: _arrow_column(cells, key, name, missing) for key, cells in columns}))


def _bounded(opened: Any, file: BinaryIO, name: str, most_bytes: int) -> Any:
    """Read a Parquet file that unpacks to a number of bytes at most, where a cell takes eight or more, or its text."""
    import pyarrow as arrow
    from pyarrow import compute, parquet

    head, kinds = opened.metadata, {field.name: _storage(field.type) for field in opened.schema_arrow}
    groups = [head.row_group(place) for place in range(head.num_row_groups)]
    texts = [key for key, kind in kinds.items() if any(is_one(kind) for is_one in _of_any_length(arrow))]
    for key, used in _encodings(groups).items():
        if key in texts and "DELTA_BYTE_ARRAY" in used:
            raise LogicLensError(
                f"the column {quoted(key)} of {name} is written as DELTA_BYTE_ARRAY, of which nobody knows how large "
                "it becomes: write it as pyarrow does by default."
            )
        if key in texts and "DELTA_LENGTH_BYTE_ARRAY" in used and not any("DICTIONARY" in one for one in used):
            # Each text is there in full, and cannot be read as a dictionary.
            texts.remove(key)
    width = sum(8 if key in texts else max(8, _width(kind)) for key, kind in kinds.items())
    if max(sum(group.total_byte_size for group in groups), width * head.num_rows) > most_bytes:
        raise unpacks_to_more(name, most_bytes)
    # A text that many rows repeat is in the file once, and as a dictionary it is in memory once too.
    table = parquet.ParquetFile(file, read_dictionary=texts).read()
    n_bytes = 0
    for column in table.columns:
        for part in column.chunks if arrow.types.is_dictionary(column.type) else ():
            lengths = compute.binary_length(part.dictionary.cast(arrow.large_binary()))
            n_bytes += compute.sum(lengths.take(part.indices)).as_py() or 0
    if n_bytes > most_bytes:
        raise unpacks_to_more(name, most_bytes)
    return table


def _storage(kind: Any) -> Any:
    """Return the type in which the values of a type of Arrow are stored."""
    kind = getattr(kind, "storage_type", kind)
    return getattr(kind, "value_type", kind)


def _of_any_length(arrow: Any) -> list[Any]:
    """Return the questions whether a type of Arrow is text or bytes of any length."""
    kinds = ("string", "large_string", "binary", "large_binary", "string_view", "binary_view")
    return [getattr(arrow.types, f"is_{kind}") for kind in kinds if hasattr(arrow.types, f"is_{kind}")]


def _width(kind: Any) -> int:
    """Return how many bytes a value of a type of Arrow takes; 0 if that depends on the value."""
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0


def _encodings(groups: Sequence[Any]) -> dict[str, set[str]]:
    """Return how the values of each column are written."""
    found: dict[str, set[str]] = {}
    for group in groups:
        for place in range(group.num_columns):
            column = group.column(place)
            found.setdefault(column.path_in_schema, set()).update(column.encodings)
    return found


def _no_single_value(key: str, name: str, kind: Any) -> LogicLensError:
    return LogicLensError(f"the column {quoted(key)} of {name} holds {kind}: a cell must be one value.")


def _plain_type(kind: Any, arrow: Any) -> Any:
    """Return the plain type to which an Arrow type is cast."""
    types = arrow.types
    if types.is_dictionary(kind):
        return _plain_type(kind.value_type, arrow)
    if types.is_decimal(kind) or types.is_null(kind):
        return arrow.float64()
    if types.is_date(kind):
        return arrow.timestamp("ms")
    plain = types.is_primitive(kind) and not types.is_time(kind)
    # Older tools store text as bytes; the cast refuses anything that is not text.
    return kind if plain else arrow.string()
