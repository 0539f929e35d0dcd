"""Readers of records: JSON lines, arrays of JSON objects, and Parquet, as tables with one value per cell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from logiclens.errors import LogicLensError, quoted
from logiclens.tables.dtypes import checked_names, kind_of, typed
from logiclens.tables.formats import BLOCK, open_text, sentence


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, so that duplicate names are noticed."""


def read_json(path: Path, name: str, missing: frozenset[str]) -> pd.DataFrame:
    """Read JSON lines or an array of flat objects."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    with open_text(path) as text:
        for where, record in _json_records(text, name):
            if not isinstance(record, _Pairs):
                raise LogicLensError(f'{where} is not an object such as {{"age": 31}}.')
            if len(dict(record)) < len(record):
                checked_names([key for key, _ in record], where)
            for key, value in record:
                if isinstance(value, list):
                    raise LogicLensError(
                        f"the field {quoted(key)} in {where} holds a list or an object: a cell must be one value."
                    )
                cells = columns.setdefault(key, [])
                if len(cells) < n_rows:
                    cells.extend([None] * (n_rows - len(cells)))
                cells.append(value)
            n_rows += 1
    checked_names(list(columns), name)
    if n_rows and not columns:
        raise LogicLensError(f"the objects of {name} have no fields.")
    return typed(pd.DataFrame({key: _json_column(cells, n_rows, missing) for key, cells in columns.items()}))


def _json_records(text: TextIO, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a text, each with its location for messages."""
    array = text.read(BLOCK).lstrip().startswith("[")
    text.seek(0)
    line = 1
    try:
        if array:
            for place, value in enumerate(json.loads(text.read(), object_pairs_hook=_Pairs), 1):
                yield f"object {place} of {name}", value
            return
        for line, content in enumerate(text, 1):
            if content.strip():
                yield f"line {line} of {name}", json.loads(content, object_pairs_hook=_Pairs)
    except RecursionError:
        raise LogicLensError(f"line {line} of {name} is nested too deeply: expected flat objects.") from None
    except json.JSONDecodeError as error:
        line = error.lineno if array else line
        raise LogicLensError(
            f"line {line} of {name} is not JSON ({error.msg}): expected one object on each line, or an array of them."
        ) from None


def _json_column(cells: list[Any], n_rows: int, missing: frozenset[str]) -> pd.Series[Any]:
    """Return a column from JSON values; numbers among texts become texts."""
    cells = [None if isinstance(cell, str) and cell in missing else cell for cell in cells]
    cells.extend([None] * (n_rows - len(cells)))
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float}:
        column = pd.Series(cells)
        return column.astype(float) if column.dtype == object else column
    return pd.Series(cells if len(kinds) == 1 else [None if cell is None else str(cell) for cell in cells])


def read_parquet(path: Path, name: str, missing: frozenset[str]) -> pd.DataFrame:
    """Read Parquet; each column gets the plain pandas type of its values."""
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        with path.open("rb") as file:
            table = parquet.ParquetFile(file).read()
    except (arrow.ArrowException, OSError) as error:
        raise LogicLensError(f"{name} is not a whole Parquet file: {sentence(error)}.") from None
    # The unnamed index of a pandas frame is not a column of the table.
    kept = [place for place, key in enumerate(table.column_names) if not re.fullmatch("__index_level_[0-9]+__", key)]
    table = table.select(kept)
    columns = {}
    for key, cells in zip(checked_names(table.column_names, name), table.columns, strict=True):
        try:
            columns[key] = cells.cast(_plain_type(cells.type, arrow)).to_pandas()
        except arrow.ArrowException:
            raise LogicLensError(
                f"the column {quoted(key)} of {name} holds {cells.type}: a cell must be one value."
            ) from None
        if missing and kind_of(columns[key]) == "text":
            columns[key] = columns[key].mask(columns[key].isin(missing))
    return typed(pd.DataFrame(columns))


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
