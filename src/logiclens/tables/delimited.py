"""Reader for delimited text: detect the delimiter, check the header and every row, and let pandas parse the cells.

`tables.files` uses it. pyarrow.csv does not parse the cells because it cannot skip spaces before a quoted field, so
`1, "a, b"` would become three fields. DuckDB does not detect the delimiter because DuckDB is an optional dependency and
fails on blank lines above the header.
"""

from __future__ import annotations

import csv
import io
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from logiclens.errors import LogicLensError
from logiclens.tables.dtypes import CODE, checked_names, kind_of, no_name, typed
from logiclens.tables.formats import BLOCK, open_text, sentence

DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class _Layout:
    """Delimiter and header of a delimited text file."""

    path: Path
    name: str
    delimiter: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class _Marks:
    """Result of a scan of the bytes: number of delimiters, any quote, any field that starts with 0 and a digit."""

    n_delimiters: int
    quotes: bool
    leading_zeros: bool


def checked_delimiter(delimiter: str) -> str:
    """Check a delimiter and return it as one character.

    Args:
        delimiter: one character; `tab` and `\\t` stand for a tab.

    Raises:
        LogicLensError: it is not one ASCII character, or it is a letter, a digit, a quote or a line break.
    """
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in '"\r\n':
        raise LogicLensError(f"the delimiter must be one character such as ',' ';' '|' or a tab, got {delimiter!r}.")
    return delimiter


_one_at_a_time = threading.Lock()
"""Reading changes settings of the whole process: the csv module's limit and the filters of warnings."""


def read_delimited(path: Path, name: str, delimiter: str | None, missing: frozenset[str]) -> pd.DataFrame:
    """Read a table from an uncompressed delimited text file.

    A first column without a name is kept under the name "" if it numbers the rows; otherwise it is an error.

    Args:
        path: the file.
        name: name of the file in messages.
        delimiter: field delimiter; detected if None.
        missing: further texts that stand for a missing value.

    Raises:
        LogicLensError: the file is empty or not text, its header is invalid, or a line has a wrong number of fields.
    """
    with _one_at_a_time:
        # Raise the limit of the csv module: it rejects long cells that pandas reads.
        limit = csv.field_size_limit(2**31 - 1)
        try:
            return _read_rows(_layout(path, name, delimiter), missing)
        finally:
            csv.field_size_limit(limit)


def _shown(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else repr(delimiter)


def _records(text: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a text with the line number on which each starts; skip blank lines."""
    reader, line = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter != " "), 1
    for fields in reader:
        if len(fields) > 1 or "".join(fields).strip(" \t"):
            yield line, fields
        line = reader.line_num + 1


def _layout(path: Path, name: str, wanted: str | None) -> _Layout:
    """Detect the delimiter and read the header from the first lines."""
    with open_text(path) as text:
        sample = text.read(BLOCK)
    if "\0" in sample:
        raise LogicLensError(f"{name} is not text, as it holds zero bytes: save it as UTF-8.")
    if not sample.strip():
        raise LogicLensError(f"{name} is empty.")
    widths = {mark: _widths(sample, mark) for mark in {*DELIMITERS, wanted or ","}}
    splits = [mark for mark in DELIMITERS if widths[mark][0] > 1]
    clear = [mark for mark in splits if len(set(widths[mark])) == 1]
    found = max(clear or splits, key=lambda mark: widths[mark][0], default=",")
    delimiter = wanted or found
    if widths[delimiter][0] == 1 and clear:
        raise LogicLensError(
            f"with the delimiter {_shown(delimiter)} {name} has one column, "
            f"but {_shown(found)} splits it into {widths[found][0]}: use that."
        )
    with open_text(path) as text:
        _, header = next(_records(text, delimiter), (0, []))
    if not any(cell.strip() for cell in header):
        raise LogicLensError(f"{name} is empty.")
    layout = _Layout(path, name, delimiter, tuple(cell.strip() for cell in header))
    if set(widths[delimiter]) != {len(header)}:
        _refuse_bad_line(layout)
    twice = "rename one."
    if len(set(layout.columns)) < len(layout.columns) and _may_be_a_row(layout):
        twice = "is the first line of the file a header?"
    checked_names(list(layout.columns), name, first_may_lack=True, twice=twice)
    return layout


def _may_be_a_row(layout: _Layout) -> bool:
    """Return whether a cell of the first line is a number, or recurs in the first 100 rows of its column."""
    with open_text(layout.path) as text:
        for _, fields in islice(_records(text, layout.delimiter), 1, 101):
            if any(name and name == cell.strip() for name, cell in zip(layout.columns, fields, strict=False)):
                return True
    return bool(pd.to_numeric(pd.Series(layout.columns), errors="coerce").notna().any())


def _widths(sample: str, delimiter: str) -> list[int]:
    """Return the number of fields of each of the first records."""
    widths = [len(fields) for _, fields in islice(_records(io.StringIO(sample, newline=""), delimiter), 100)]
    # The sample may end inside the last record.
    return (widths[:-1] if len(sample) == BLOCK and 1 < len(widths) < 100 else widths) or [1]


def _read_rows(layout: _Layout, missing: frozenset[str]) -> pd.DataFrame:
    """Let pandas read the rows, and check what it accepts silently; check line by line only if the bytes require it."""
    try:
        frame = _parse(layout, missing)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _refuse_bad_line(layout)
        raise LogicLensError(f"{layout.name} cannot be read: {sentence(error)}.") from None
    n_columns, marks = len(layout.columns), _marks(layout)
    # pandas pads a short row. Without quotes, the number of delimiters shows whether there is one.
    if frame.iloc[:, -1].isna().any() if marks.quotes else marks.n_delimiters != (n_columns - 1) * (len(frame) + 1):
        _refuse_bad_line(layout)
    kinds = [kind_of(frame[place]) for place in range(n_columns)]
    texts = {place for place, kind in enumerate(kinds) if kind == "mixed"}
    if marks.leading_zeros:
        # A column without whole numbers contains no codes, so it need not be read again.
        numbers = [place for place, kind in enumerate(kinds) if kind == "number"]
        texts |= _code_columns(layout, [n for n in numbers if missing or (frame[n] % 1 == 0).any()])
    if not layout.columns[0] and (0 in texts or not _counts_rows(layout)):
        raise no_name(1, layout.name)
    if texts:
        again = _parse(layout, missing, usecols=sorted(texts), dtype=str)
        for place in texts:
            frame[place] = again[place]
    frame.columns = pd.Index(layout.columns)
    return typed(frame, decimal_comma=layout.delimiter == ";")


def _parse(layout: _Layout, missing: frozenset[str], **options: Any) -> pd.DataFrame:
    """Parse the rows with pandas; columns are numbered because pandas would rename duplicate names."""
    options |= {"names": range(len(layout.columns)), "header": 0, "index_col": False, "na_values": sorted(missing)}
    options |= {"sep": layout.delimiter, "skipinitialspace": layout.delimiter != " ", "compression": None}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        # Before 3.1, pandas may get the last digit of a number wrong without this option; since 3.1 the option warns.
        options["float_precision"] = "round_trip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        warnings.simplefilter("error", pd.errors.ParserWarning)
        # Pass the path because pandas uses several threads only for a file that it opens itself.
        frame: pd.DataFrame = pd.read_csv(layout.path, **options)
    return frame


def _counts_rows(layout: _Layout) -> bool:
    """Return whether the first column is 0, 1, 2, … or 1, 2, 3, …, like a written index."""
    # Read again without missing values: if 99 stands for a missing value, row number 99 would be missing.
    cells = _parse(layout, frozenset(), usecols=[0])[0].to_numpy()
    rows = np.arange(len(cells))
    return cells.dtype.kind in "iu" and (np.array_equal(cells, rows) or np.array_equal(cells, rows + 1))


def _marks(layout: _Layout) -> _Marks:
    n_delimiters, quotes, leading_zeros, tail = 0, False, False, b"\n"
    mark = ord(layout.delimiter)
    with layout.path.open("rb") as file:
        while block := file.read(BLOCK):
            cells = np.frombuffer(tail + block, np.uint8)
            n_delimiters += int(np.count_nonzero(cells[len(tail) :] == mark))
            quotes = quotes or b'"' in block
            before, zero, digit = cells[:-2], cells[1:-1] == ord("0"), (cells[2:] - ord("0")) < 10
            leading_zeros = leading_zeros or bool((((before <= ord('"')) | (before == mark)) & zero & digit).any())
            tail = block[-2:]
    return _Marks(n_delimiters, quotes, leading_zeros)


def _code_columns(layout: _Layout, places: list[int]) -> set[int]:
    """Return the columns that have a cell such as 00123, which is a code because its leading zeros are significant."""
    if not places:
        return set()
    texts = _parse(layout, frozenset(), usecols=places, dtype=str)
    return {place for place in places if texts[place].str.fullmatch(CODE.pattern).any()}


def _refuse_bad_line(layout: _Layout) -> None:
    """Raise an error for the first line that has an unclosed quote or a wrong number of fields, if there is one."""
    with open_text(layout.path) as text:
        reader, line = csv.reader(text, delimiter=layout.delimiter, skipinitialspace=True, strict=True), 1
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise LogicLensError(f"line {line} of {layout.name} opens a quote that is never closed.") from None
    with open_text(layout.path) as text:
        for line, fields in _records(text, layout.delimiter):
            if len(fields) != len(layout.columns):
                found = f"{len(fields)} field" + "s" * (len(fields) != 1)
                hint = f": a field with {_shown(layout.delimiter)} inside must be in quotes."
                raise LogicLensError(
                    f"line {line} of {layout.name} has {found}, but the header has {len(layout.columns)}"
                    + (hint if len(fields) > len(layout.columns) else ".")
                )
