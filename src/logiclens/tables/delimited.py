"""Reader for delimited text: detect the delimiter, check the header and every row, and let pandas parse the cells.

`tables.files` uses it. `engine.delimited` reads the same cells in DuckDB. pyarrow.csv does not parse the cells because
it cannot skip spaces before a quoted field, so `1, "a, b"` would become three fields. DuckDB does not detect the
delimiter because DuckDB is an optional dependency and fails on blank lines above the header.
"""

from __future__ import annotations

import csv
import io
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from logiclens.errors import LogicLensError, quoted
from logiclens.tables.dtypes import CODE, checked_names, kind_of, no_name, typed
from logiclens.tables.formats import BLOCK, open_text, sentence
from logiclens.tables.streams import chunk_rows

NUMBER = r"[+-]?(([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?|(?i:inf(inity)?))"
"""What pandas takes for a number."""
SPACES = " \t\v\f\xa0"
"""Characters that are no part of a cell at its ends, in quotes or not: spaces, tabs, form feeds and no-break spaces."""
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class _Layout:
    """Delimiter and header of a delimited text file."""

    path: Path
    name: str
    delimiter: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FileHead:
    """Delimiter of a delimited text file, and the number of blank lines above its header."""

    delimiter: str
    n_blank: int


@dataclass(frozen=True)
class _Marks:
    """Result of a scan of the bytes.

    Attributes:
        n_delimiters: number of delimiters.
        quotes: whether there is a quote.
        leading_zeros: whether a field starts with 0 and a digit.
        long_numbers: whether there is a number of 19 digits or more, which may not fit into 64 bits.
    """

    n_delimiters: int
    quotes: bool
    leading_zeros: bool
    long_numbers: bool


def checked_delimiter(delimiter: str) -> str:
    """Check a delimiter and return it as one character.

    Args:
        delimiter: one character; `tab` and `\\t` stand for a tab.

    Raises:
        LogicLensError: it is not one ASCII character, or it is a letter, a digit, a quote or a line break.
    """
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in '"\r\n':
        raise LogicLensError(
            f"the delimiter must be one character such as ',' ';' '|' or a tab, got {quoted(delimiter)}."
        )
    return delimiter


_one_at_a_time = threading.RLock()
"""Reading changes settings of the whole process: the csv module's limit and the filters of warnings."""


def read_delimited(
    path: Path, name: str, delimiter: str | None, missing: frozenset[str], scratch: Path
) -> pd.DataFrame:
    """Read a table from an uncompressed delimited text file.

    A first column without a name is kept under the name "" if it numbers the rows; otherwise it is an error.

    Args:
        path: the file.
        name: name of the file in messages.
        delimiter: field delimiter; detected if None.
        missing: further texts that stand for a missing value.
        scratch: a folder for a copy of the file.

    Raises:
        LogicLensError: the file is empty or not text, its header is invalid, or a line has a wrong number of fields.
    """
    with _long_cells():
        return _read_rows(_without_spaces(_layout(path, name, delimiter), scratch), missing)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Raise the limit of the csv module, which rejects long cells that pandas reads."""
    with _one_at_a_time:
        limit = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


@dataclass
class _Cells:
    """What pandas takes the cells of a column for, over all chunks that were seen."""

    kinds: set[str] = field(default_factory=set)
    letters: set[str] = field(default_factory=set)
    gaps: bool = False
    negative: bool = False

    def add(self, column: pd.Series[Any]) -> None:
        """Look at the column of a further chunk."""
        letter = column.dtype.kind
        kind = "flag" if letter == "b" else kind_of(column)
        gaps = letter in "fO" and bool(column.isna().any())
        self.gaps = self.gaps or gaps
        if kind == "other" or (gaps and bool(column.isna().all())):
            return
        self.kinds.add(kind)
        self.letters.add(letter)
        self.negative = self.negative or (letter == "i" and bool((column < 0).any()))

    def dtype(self) -> Any:
        """Return the dtype of the whole column; a column of several kinds is text."""
        if self.kinds == {"flag"}:
            return np.dtype(object if self.gaps else bool)
        if not self.kinds <= {"number"}:
            return "str"
        if not self.letters or self.gaps or not self.letters <= {"i", "u"} or (self.negative and "u" in self.letters):
            return np.dtype(np.float64)
        return np.dtype(np.uint64 if "u" in self.letters else np.int64)


class DelimitedTable:
    """A delimited text file, read in chunks of `size` rows.

    A first pass over the file checks it and finds the type of each column, so that every chunk has the same ones.
    """

    def __init__(
        self, path: Path, name: str, delimiter: str | None, missing: frozenset[str], scratch: Path, size: int | None
    ) -> None:
        """Read the file once; see `read_delimited` for the arguments and the errors."""
        with _long_cells():
            self._layout, self._missing = _without_spaces(_layout(path, name, delimiter), scratch), missing
            self._size = size or chunk_rows(len(self._layout.columns))
            self.decimal_comma = self._layout.delimiter == ";"
            self.n_rows, cells = self._survey()
            texts = self._codes([place for place, found in cells.items() if found.kinds <= {"number"}])
            numbers = self._long_numbers([place for place, found in cells.items() if found.dtype() == "str"])
            unnamed = not self._layout.columns[0]
            if unnamed and (0 in texts or "text" in cells[0].kinds or not _counts_rows(self._layout)):
                raise no_name(1, name)
        self.dtypes: dict[str, Any] = {}
        for place, key in enumerate(self._layout.columns):
            settled = {**dict.fromkeys(texts, "str"), **dict.fromkeys(numbers, np.dtype(np.float64))}
            self.dtypes[key] = settled.get(place, cells[place].dtype())

    def chunks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows of some columns; the index counts the rows from 0."""
        places = {key: place for place, key in enumerate(self._layout.columns)}
        # A flag has no dtype that pandas could be told, because a chunk may have a gap.
        told = {places[key]: self.dtypes[key] for key in columns if self.dtypes[key] not in (bool, object)}
        for chunk in self._parsed(self._missing, usecols=sorted(places[key] for key in columns), dtype=told):
            frame = pd.DataFrame({key: chunk[places[key]] for key in columns}, index=chunk.index)
            yield frame.astype({key: self.dtypes[key] for key in columns})

    def _survey(self) -> tuple[int, dict[int, _Cells]]:
        """Return the number of rows, and what the cells of each column are; refuse a line of another length."""
        layout, n_rows, last_has_gaps = self._layout, 0, False
        cells = {place: _Cells() for place in range(len(layout.columns))}
        with _refusing(layout):
            for chunk in self._parsed(self._missing):
                n_rows += len(chunk)
                last_has_gaps = last_has_gaps or bool(chunk.iloc[:, -1].isna().any())
                for place, found in cells.items():
                    found.add(chunk[place])
        self._marks = _marks(layout)
        _check_lengths(layout, self._marks, n_rows, last_has_gaps)
        return n_rows, cells

    def _codes(self, places: list[int]) -> set[int]:
        """Return the columns of numbers that have a cell such as 00123."""
        if not self._marks.leading_zeros or not places:
            return set()
        found: set[int] = set()
        for chunk in self._parsed(frozenset(), usecols=places, dtype=str):
            found |= {place for place in places if chunk[place].str.fullmatch(CODE.pattern).any()}
        return found

    def _long_numbers(self, places: list[int]) -> set[int]:
        """Return the columns of texts that are all numbers, some of them beyond 64 bits."""
        left = set(places) if self._marks.long_numbers else set()
        if left:
            for chunk in self._parsed(self._missing, usecols=places, dtype=str):
                left = {place for place in left if _all_numbers(chunk[place])}
        return left

    def _parsed(self, missing: frozenset[str], **options: Any) -> Iterator[pd.DataFrame]:
        """Yield the rows as pandas parses them; its warnings are errors only while it does."""
        with _parse(self._layout, missing, chunksize=self._size, **options) as chunks:
            while True:
                with _strictly():
                    chunk = next(chunks, None)
                if chunk is None:
                    return
                yield chunk


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
    delimiter, widths = _detected(sample, name, wanted)
    with open_text(path) as text:
        _, header = next(_records(text, delimiter), (0, []))
    if not any(cell.strip() for cell in header):
        raise LogicLensError(f"{name} is empty.")
    layout = _Layout(path, name, delimiter, tuple(cell.strip() for cell in header))
    if set(widths) != {len(header)}:
        _refuse_bad_line(layout)
    twice = "rename one."
    if len(set(layout.columns)) < len(layout.columns) and _may_be_a_row(layout):
        twice = "is the first line of the file a header?"
    checked_names(list(layout.columns), name, first_may_lack=True, twice=twice)
    return layout


def head_of(sample: str, name: str, wanted: str | None) -> FileHead:
    """Return the head of a delimited text file from its first lines; see `read_delimited` for the other arguments."""
    delimiter, _ = _detected(sample, name, wanted)
    line, _ = next(_records(io.StringIO(sample, newline=""), delimiter), (1, []))
    return FileHead(delimiter, line - 1)


def _detected(sample: str, name: str, wanted: str | None) -> tuple[str, list[int]]:
    """Return the delimiter of the first lines, and the number of fields of each of them."""
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
    return delimiter, widths[delimiter]


def _without_spaces(layout: _Layout, scratch: Path) -> _Layout:
    """Return the layout of a copy without spaces at the ends of cells; of the file itself if it has none."""
    if not _has_outer_spaces(layout):
        return layout
    # Messages count the lines of the file.
    _refuse_bad_line(layout)
    copy = scratch / "cells.csv"
    with open_text(layout.path) as text, copy.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=layout.delimiter)
        for _, fields in _records(text, layout.delimiter):
            writer.writerow([field.strip(SPACES) for field in fields])
    return replace(layout, path=copy)


def _has_outer_spaces(layout: _Layout) -> bool:
    """Return whether a space stands beside a delimiter, a quote or a line end; some of these are inside cells."""
    mark = re.escape(layout.delimiter)
    # The no-break space is two bytes. A class of the others is matched faster than each alone.
    space, end = f"(?:[{SPACES[:-1].replace(layout.delimiter, '')}]|{SPACES[-1]})", f'["\\r\\n{mark}]'
    pairs = [end + space, space + end]
    if layout.delimiter in SPACES:
        # A delimiter that is a space itself is in a cell only where that is quoted.
        pairs += [f'"{mark}', f'{mark}"']
    outer, tail = re.compile("|".join(pairs).encode()), b"\n"
    with layout.path.open("rb") as file:
        while block := file.read(BLOCK):
            part = tail + block
            if any(one.encode() in part for one in SPACES) and outer.search(part):
                return True
            tail = part[-2:]
    return outer.search(tail + b"\n") is not None


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
    """Let pandas read the rows, and check what it accepts silently."""
    with _refusing(layout):
        frame: pd.DataFrame = _parse(layout, missing)
    n_columns, marks = len(layout.columns), _marks(layout)
    _check_lengths(layout, marks, len(frame), bool(frame.iloc[:, -1].isna().any()))
    kinds = [kind_of(frame[place]) for place in range(n_columns)]
    texts = {place for place, kind in enumerate(kinds) if kind == "mixed"}
    if marks.leading_zeros:
        # A column without whole numbers contains no codes, so it need not be read again.
        numbers = [place for place, kind in enumerate(kinds) if kind == "number"]
        texts |= _code_columns(layout, [n for n in numbers if missing or (frame[n] % 1 == 0).any()])
    if marks.long_numbers:
        # If a number has more than 64 bits, pandas may leave a column of text in which a gap is an empty text.
        texts |= {place for place, kind in enumerate(kinds) if kind == "text"}
    if not layout.columns[0] and (0 in texts or not _counts_rows(layout)):
        raise no_name(1, layout.name)
    if texts:
        again = _parse(layout, missing, usecols=sorted(texts), dtype=str)
        for place in texts:
            cells = again[place]
            is_number = marks.long_numbers and kinds[place] != "number" and _all_numbers(cells)
            frame[place] = cells.astype(object).astype(float) if is_number else cells
    frame.columns = pd.Index(layout.columns)
    return typed(frame, decimal_comma=layout.delimiter == ";")


@contextmanager
def _refusing(layout: _Layout) -> Iterator[None]:
    """Name the line that pandas cannot parse."""
    try:
        yield
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        if "out of memory" in str(error):
            raise MemoryError(str(error)) from None
        _refuse_bad_line(layout)
        raise LogicLensError(f"{layout.name} cannot be read: {sentence(error)}.") from None


def _check_lengths(layout: _Layout, marks: _Marks, n_rows: int, last_has_gaps: bool) -> None:
    """Refuse a short row, which pandas pads; look at each line only if the bytes or the last column require it."""
    # Without quotes, the number of delimiters shows whether there is one.
    if last_has_gaps if marks.quotes else marks.n_delimiters != (len(layout.columns) - 1) * (n_rows + 1):
        _refuse_bad_line(layout)


@contextmanager
def _strictly() -> Iterator[None]:
    """Make pandas refuse a row that is too long."""
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        warnings.simplefilter("error", pd.errors.ParserWarning)
        yield


def _parse(layout: _Layout, missing: frozenset[str], **options: Any) -> Any:
    """Parse the rows with pandas; columns are numbered because pandas would rename duplicate names."""
    options |= {"names": range(len(layout.columns)), "header": 0, "index_col": False, "na_values": sorted(missing)}
    options |= {"sep": layout.delimiter, "compression": None}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        # Before 3.1, pandas may get the last digit of a number wrong without this option; since 3.1 the option warns.
        options["float_precision"] = "round_trip"
    with _strictly():
        # Pass the path because pandas uses several threads only for a file that it opens itself.
        return pd.read_csv(layout.path, **options)


def _counts_rows(layout: _Layout) -> bool:
    """Return whether the first column is 0, 1, 2, … or 1, 2, 3, …, like a written index."""
    # Read again without missing values: if 99 stands for a missing value, row number 99 would be missing.
    cells = _parse(layout, frozenset(), usecols=[0])[0].to_numpy()
    rows = np.arange(len(cells))
    return cells.dtype.kind in "iu" and (np.array_equal(cells, rows) or np.array_equal(cells, rows + 1))


def _marks(layout: _Layout) -> _Marks:
    n_delimiters, quotes, leading_zeros, long_numbers, tail = 0, False, False, False, b"\n"
    mark = ord(layout.delimiter)
    with layout.path.open("rb") as file:
        while block := file.read(BLOCK):
            cells = np.frombuffer(tail + block, np.uint8)
            n_delimiters += int(np.count_nonzero(cells[len(tail) :] == mark))
            quotes = quotes or b'"' in block
            # A number at the end of a block has half of its digits in one of two.
            long_numbers = long_numbers or re.search(rb"[0-9]{10}\Z|[0-9]{19}|\A[0-9]{10}", block) is not None
            before, zero, digit = cells[:-2], cells[1:-1] == ord("0"), (cells[2:] - ord("0")) < 10
            leading_zeros = leading_zeros or bool((((before <= ord('"')) | (before == mark)) & zero & digit).any())
            tail = block[-2:]
    return _Marks(n_delimiters, quotes, leading_zeros, long_numbers)


def _code_columns(layout: _Layout, places: list[int]) -> set[int]:
    """Return the columns that have a cell such as 00123, which is a code because its leading zeros are significant."""
    if not places:
        return set()
    texts = _parse(layout, frozenset(), usecols=places, dtype=str)
    return {place for place in places if texts[place].str.fullmatch(CODE.pattern).any()}


def _all_numbers(texts: pd.Series[Any]) -> bool:
    """Return whether all texts are numbers, and none is a code such as 00123."""
    known = texts.dropna()
    return bool(known.str.fullmatch(NUMBER).all()) and not bool(known.str.fullmatch(CODE.pattern).any())


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
