"""Delimited text: its delimiter, its header and its rows, none of them cut short or passed over in silence."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.tables.dtypes import CODE, checked_names, kind_of, no_name, typed
from logiclens.tables.formats import BLOCK, open_text, sentence

DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class _Layout:
    """How a delimited text is laid out."""

    path: Path
    name: str
    delimiter: str
    columns: tuple[str, ...]


def checked_delimiter(delimiter: str) -> str:
    """The delimiter as one character; a tab may be written out."""
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in '"\r\n':
        raise LogicLensError(f"the delimiter must be one character such as ',' ';' '|' or a tab, got {delimiter!r}.")
    return delimiter


def read_delimited(path: Path, name: str, delimiter: str | None, missing: frozenset[str]) -> pd.DataFrame:
    """The table in a plain text; its delimiter is found if none is given.

    A first column without a name is kept, named "", if it counts the rows, and refused otherwise.
    """
    # The csv module would refuse a long text in a cell that pandas reads.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        return _read_rows(_layout(path, name, delimiter), missing)
    finally:
        csv.field_size_limit(limit)


def _shown(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else repr(delimiter)


def _records(text: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a text, each with the line it starts on; blank lines are no records."""
    reader, line = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter != " "), 1
    for fields in reader:
        if len(fields) > 1 or "".join(fields).strip(" \t"):
            yield line, fields
        line = reader.line_num + 1


def _layout(path: Path, name: str, wanted: str | None) -> _Layout:
    """Delimiter and header, from the first lines."""
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
    """Whether a cell of the first line is a number, or comes again in its column soon."""
    with open_text(layout.path) as text:
        for _, fields in islice(_records(text, layout.delimiter), 1, 101):
            if any(name and name == cell.strip() for name, cell in zip(layout.columns, fields, strict=False)):
                return True
    return bool(pd.to_numeric(pd.Series(layout.columns), errors="coerce").notna().any())


def _widths(sample: str, delimiter: str) -> list[int]:
    """How many fields the first records have."""
    widths = [len(fields) for _, fields in islice(_records(io.StringIO(sample, newline=""), delimiter), 100)]
    # The last may have been cut off.
    return (widths[:-1] if len(sample) == BLOCK and 1 < len(widths) < 100 else widths) or [1]


def _read_rows(layout: _Layout, missing: frozenset[str]) -> pd.DataFrame:
    """Let pandas read; what it would pass over in silence is looked for, line by line only if the bytes give cause."""
    try:
        frame = _parse(layout, missing)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _refuse_bad_line(layout)
        raise LogicLensError(f"{layout.name} cannot be read: {sentence(error)}.") from None
    n_columns = len(layout.columns)
    n_delimiters, quotes = _count_marks(layout)
    # A row that is too short is padded. Without quotes, the number of delimiters tells whether there is one.
    if frame.iloc[:, -1].isna().any() if quotes else n_delimiters != (n_columns - 1) * (len(frame) + 1):
        _refuse_bad_line(layout)
    kinds = [kind_of(frame[place]) for place in range(n_columns)]
    texts = {place for place, kind in enumerate(kinds) if kind == "mixed"}
    texts |= _code_columns(layout, [place for place, kind in enumerate(kinds) if kind == "number"], quotes=quotes)
    if not layout.columns[0] and (0 in texts or not _counts_rows(layout)):
        raise no_name(1, layout.name)
    if texts:
        again = _parse(layout, missing, usecols=sorted(texts), dtype=str)
        for place in texts:
            frame[place] = again[place]
    frame.columns = pd.Index(layout.columns)
    return typed(frame, decimal_comma=layout.delimiter == ";")


def _parse(layout: _Layout, missing: frozenset[str], **options: Any) -> pd.DataFrame:
    """What pandas makes of the rows; columns are numbered, as pandas would rename those of one name."""
    options |= {"names": range(len(layout.columns)), "header": 0, "index_col": False, "na_values": sorted(missing)}
    options |= {"sep": layout.delimiter, "skipinitialspace": layout.delimiter != " ", "compression": None}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        # Before, pandas took the last digit of a number lightly; since, it warns of this option.
        options["float_precision"] = "round_trip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        warnings.simplefilter("error", pd.errors.ParserWarning)
        # By its path, because pandas reads a file that it opened itself in several threads.
        frame: pd.DataFrame = pd.read_csv(layout.path, **options)
    return frame


def _counts_rows(layout: _Layout) -> bool:
    """Whether the first column is 0, 1, 2, … or 1, 2, 3, …, as an index is written."""
    # Read again with nothing missing: with 99 for a missing value, a row would not be counted.
    cells = _parse(layout, frozenset(), usecols=[0])[0].to_numpy()
    rows = np.arange(len(cells))
    return cells.dtype.kind in "iu" and (np.array_equal(cells, rows) or np.array_equal(cells, rows + 1))


def _count_marks(layout: _Layout) -> tuple[int, bool]:
    """How many delimiters the bytes hold, and whether there is a quote."""
    n_delimiters, quotes = 0, False
    with layout.path.open("rb") as file:
        while block := file.read(BLOCK):
            n_delimiters += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(layout.delimiter)))
            quotes = quotes or b'"' in block
    return n_delimiters, quotes


def _code_columns(layout: _Layout, places: list[int], *, quotes: bool) -> set[int]:
    """Which of some columns have a cell such as 00123: not a number, as its zeros count."""
    ends = b'[\r\n"' + re.escape(layout.delimiter).encode() + b"]"
    code = re.compile(ends + b" *0[0-9]+ *" + ends)
    codes: set[int] = set()
    if not quotes:
        for block, zeros in _leading_zeros(layout):
            columns, before = _columns_at(block, zeros, ord(layout.delimiter))
            for place in set(places).intersection(columns.tolist()) - codes:
                if any(code.match(block, start) for start in before[columns == place]):
                    codes.add(place)
    elif any(code.search(block) for block, _ in _leading_zeros(layout)):
        with open_text(layout.path) as text:
            for _, fields in islice(_records(text, layout.delimiter), 1, None):
                codes.update(place for place in places if fields[place][:1] in "0 " and CODE.fullmatch(fields[place]))
    return codes


def _leading_zeros(layout: _Layout) -> Iterator[tuple[bytes, NDArray[np.intp]]]:
    """Blocks of whole lines, and where in each a 0 before another digit follows a delimiter, a quote or a space."""
    with layout.path.open("rb") as file:
        while content := file.read(BLOCK):
            block = b"\n" + content + file.readline() + b"\n"
            cells = np.frombuffer(block, np.uint8)
            before, digit, after = cells[:-2], cells[1:-1], cells[2:]
            found = digit == ord("0")
            found &= (before <= ord('"')) | (before == ord(layout.delimiter))
            found &= (after - ord("0")) < 10
            zeros = np.flatnonzero(found) + 1
            if file.tell() == len(block) - 2:
                # The header may hold what it likes.
                header = re.search(rb"\S[^\r\n]*", block)
                zeros = zeros[zeros > (header.end() if header else 0)]
            if len(zeros):
                yield block, zeros


def _columns_at(block: bytes, places: NDArray[np.intp], mark: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """In which column of a text without quotes some bytes stand, and the last byte before their cell."""
    cells = np.frombuffer(block, np.uint8)
    ends, marks = np.flatnonzero((cells == ord("\n")) | (cells == ord("\r"))), np.flatnonzero(cells == mark)
    line = ends[np.searchsorted(ends, places) - 1]
    n_before = np.searchsorted(marks, places)
    columns = n_before - np.searchsorted(marks, line)
    return columns, np.where(columns > 0, marks[n_before - 1] if len(marks) else line, line)


def _refuse_bad_line(layout: _Layout) -> None:
    """Raise for the first line that has too many fields or too few, or whose quote stays open."""
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
