"""Table files: delimited text, JSON lines and Parquet, read or written whole, or refused in one sentence."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from logiclens.errors import LogicLensError, named, nearest
from logiclens.formula.column_kinds import NUMBER, kind_of_cell
from logiclens.storage import open_whole, scratch_folder
from logiclens.tables.delimited import DelimitedTable, checked_delimiter, read_delimited
from logiclens.tables.dtypes import checked_names
from logiclens.tables.dtypes import doubtful_columns as doubtful_columns
from logiclens.tables.dtypes import mixed_columns as mixed_columns
from logiclens.tables.formats import (
    BLOCK,
    JSON,
    PARQUET,
    TEXT,
    WORKBOOK,
    WRITTEN,
    begins_a_formula,
    first_bytes,
    from_windows,
    in_utf8,
    is_workbook,
    not_utf8,
    refuse_workbook,
    sentence,
    suffix_of,
    unpacked,
)
from logiclens.tables.records import JsonTable, ParquetTable, read_json, read_parquet
from logiclens.tables.streams import MOST_ROWS, ChunkedTable, TableStream
from logiclens.tables.workbooks import sheet_to_csv, sheet_writer

NAMES = ".csv, .tsv, .jsonl (or that and .gz), .parquet or .xlsx"
"""The names of files that can be written, for messages."""


def write_table(frame: pd.DataFrame, path: str | Path, *, keep_formulas: bool = False) -> None:
    """Write a table as its suffix says: `.csv`, `.tsv` or `.jsonl`, each also with `.gz`, `.parquet` or `.xlsx`.

    The file appears when it is whole; until then an older one stays as it is. In `.csv` and `.tsv`, a text or column
    name that a spreadsheet would compute, because it begins with `=`, `+`, `-`, `@`, a tab or a line break, gets an
    apostrophe before it; with `keep_formulas` it stays as it is.
    """
    with table_writer(path, keep_formulas=keep_formulas) as write:
        write(frame)


@contextmanager
def table_writer(path: str | Path, *, keep_formulas: bool = False) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Like `write_table` for a table in chunks: give a function that writes the next one.

    All chunks must have the same columns and dtypes.
    """
    target = Path(os.path.realpath(path))
    suffix, packed = suffix_of(target), target.suffix.lower() == ".gz"
    if suffix not in WRITTEN and (packed or suffix not in (*PARQUET, ".xlsx")):
        raise LogicLensError(f"cannot write {named(path)}: its name must end in {NAMES}.")
    if target.is_dir():
        raise LogicLensError(f"cannot write {named(path)}: it is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise LogicLensError(f"cannot write {named(path)}: there is no folder {named(target.parent)}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise LogicLensError(f"cannot write {named(path)}: the file that is there may not be changed.")
    with (
        open_whole(path) as file,
        _packed(file) if packed else contextlib.nullcontext(file) as out,
        contextlib.closing(_writer(out, suffix, keep_formulas=keep_formulas)) as chunks,
    ):
        next(chunks)

        def write(frame: pd.DataFrame) -> None:
            checked_names([str(column) for column in frame.columns], f"the table for {named(path)}")
            try:
                chunks.send(frame)
            except LogicLensError:
                raise
            except (ValueError, TypeError, NotImplementedError) as error:
                # What the format cannot hold; the errors of json and pyarrow are of these kinds.
                raise LogicLensError(f"cannot write {named(path)}: {sentence(error)}.") from None

        yield write


def _packed(file: BinaryIO) -> gzip.GzipFile:
    """Compressed with no name and no time inside, so that the same table gives the same bytes."""
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


def _writer(out: Any, suffix: str, *, keep_formulas: bool) -> Generator[None, pd.DataFrame, None]:
    """Return a coroutine that writes the chunks it is sent."""
    if suffix in PARQUET:
        return _parquet_writer(out)
    if suffix == ".xlsx":
        return sheet_writer(out, keep_formulas=keep_formulas)
    if suffix in JSON:
        return _json_writer(out)
    return csv_writer(out, "\t" if suffix == ".tsv" else ",", keep_formulas=keep_formulas)


def csv_writer(out: Any, delimiter: str = ",", *, keep_formulas: bool = False) -> Generator[None, pd.DataFrame, None]:
    """Write the chunks that are sent as delimited text in UTF-8, the names of the columns first."""
    header = True
    while True:
        frame = yield
        frame = frame if keep_formulas else without_formulas(frame)
        frame.to_csv(out, sep=delimiter, index=False, header=header, mode="wb", encoding="utf-8", lineterminator="\n")
        header = False


def _json_writer(out: Any) -> Generator[None, pd.DataFrame, None]:
    while True:
        frame = yield
        for start in range(0, len(frame), 10_000):
            for record in records_of(frame.iloc[start : start + 10_000]):
                out.write(json.dumps(record, ensure_ascii=False, allow_nan=False, default=json_value).encode() + b"\n")


def _parquet_writer(out: Any) -> Generator[None, pd.DataFrame, None]:
    import pyarrow as arrow
    from pyarrow import parquet

    frame = yield
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    with parquet.ParquetWriter(out, table.schema) as writer:
        while True:
            writer.write_table(table)
            frame = yield
            table = arrow.Table.from_pandas(frame, schema=table.schema, preserve_index=False)


def records_of(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows as dictionaries; a missing value is None."""
    cells, names = frame.astype(object), [str(column) for column in frame.columns]
    for row in cells.where(cells.notna(), None).itertuples(index=False, name=None):
        yield dict(zip(names, row, strict=True))


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which no text and no name is a formula for a spreadsheet: an apostrophe stands before it.

    To read such a text back, take one apostrophe away where one or more of them stand before `=`, `+`, `-`, `@`, a tab
    or a line break. Numbers, also as texts, are no formulas.

    >>> without_formulas(pd.DataFrame({"a": ["=1+1", "'=x", "-5", "x=1"], "b": [-1, 2, -3, 4]}))
           a  b
    0  '=1+1 -1
    1   ''=x  2
    2     -5 -3
    3    x=1  4
    """
    escaped = {place: _without_formulas(frame.iloc[:, place]) for place in range(frame.shape[1])}
    names = _without_formulas(pd.Series([str(column) for column in frame.columns], dtype=object))
    return pd.DataFrame(escaped).set_axis(names.to_list(), axis=1)


def _without_formulas(column: pd.Series[Any]) -> pd.Series[Any]:
    if column.dtype.kind != "O" and not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    texts = column.astype(object)
    is_text = texts.map(lambda cell: isinstance(cell, str)).to_numpy(dtype=bool)
    found = texts[is_text].astype(str)
    found = found[found.map(begins_a_formula).to_numpy(dtype=bool)]
    if found.empty:
        return column
    texts = texts.copy()
    texts.loc[found.index] = "'" + found
    return texts


def json_value(value: Any) -> Any:
    """Return a value that json does not know, such as a date, as a text or number."""
    return (kind_of_cell(value) or NUMBER).json_cell(value)


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table and its source.

    Args:
        frame: the table.
        name: the name of the file, or "standard input".
        sha256: hash of the file as it is, before decompression.
        n_bytes: size of the file.
        notes: sentences about what was left out.
    """

    frame: pd.DataFrame
    name: str
    sha256: str
    n_bytes: int
    notes: tuple[str, ...] = ()


def read_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    sheet: str | None = None,
    stream: BinaryIO | None = None,
    name: str | None = None,
    most_bytes: int | None = None,
) -> TableFile:
    """Read a table from a file, or from standard input (`stream`) if the source is "-".

    The suffix names the format (`.csv .tsv .txt .data`, `.parquet .pq`, `.jsonl .ndjson .json`, `.xlsx`, any of them
    with `.gz`); for standard input it is detected. `delimiter` is the field delimiter of a text; detected if omitted.
    Spaces at the ends of a field are dropped. `missing` are texts that mean a missing value, in addition to those
    that pandas knows. A first column without a name that counts the rows is left out, with a note. A text is UTF-8, or
    UTF-16 with a mark; any other is read as Windows-1252, with a note. `sheet` is the name of a sheet of a workbook;
    default: the first. `name` is what messages call the file; default: its own name. `most_bytes` is how large a packed
    file (`.gz`, Parquet) may become; default: as large as it is.
    """
    with _opened(source, delimiter, missing, stream, sheet, name, most_bytes) as file:
        frame = file.frame(most_bytes)
    if "" in frame.columns:
        note = "the first column has no name and counts the rows: it is left out."
        return TableFile(frame.drop(columns=""), file.name, file.sha256, file.n_bytes, (*file.notes, note))
    return TableFile(frame, file.name, file.sha256, file.n_bytes, file.notes)


@contextmanager
def open_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    sheet: str | None = None,
    stream: BinaryIO | None = None,
    rows: int | None = None,
) -> Iterator[TableStream]:
    """Open a table whose rows are read in chunks of `rows`; see `read_table` for the other arguments.

    The file is read once to check it and to find the type of each column, and again for the rows.
    """
    with _opened(source, delimiter, missing, stream, sheet) as file:
        table = file.chunked(rows)
        if table.n_rows == 0:
            raise LogicLensError(f"{file.name} has no rows.")
        yield TableStream(table, file.name, file.sha256, tuple(key for key in table.dtypes if key), file.notes)


@dataclass(frozen=True)
class _PlainFile:
    """A decompressed file in UTF-8, and how it is to be read."""

    source: str | Path
    path: Path
    name: str
    suffix: str
    sha256: str
    n_bytes: int
    delimiter: str | None
    missing: frozenset[str]
    scratch: Path
    notes: tuple[str, ...]

    def frame(self, most_bytes: int | None = None) -> pd.DataFrame:
        """Read the table as a whole; `most_bytes` is how large a Parquet file may become."""
        with self._telling():
            if self.suffix in PARQUET:
                frame = read_parquet(self.path, self.name, self.missing, most_bytes)
            elif self.suffix in JSON:
                frame = read_json(self.path, self.name, self.missing)
            else:
                frame = read_delimited(self.path, self.name, self.delimiter, self.missing, self.scratch)
        if len(frame) == 0:
            raise LogicLensError(f"{self.name} has no rows.")
        return frame

    def chunked(self, rows: int | None) -> ChunkedTable:
        """Open the table to read it in chunks."""
        path, name, missing = self.path, self.name, self.missing
        with self._telling():
            if self.suffix in PARQUET:
                return ParquetTable(path, name, missing, rows)
            if self.suffix in JSON:
                return JsonTable(path, name, missing, rows or MOST_ROWS)
            return DelimitedTable(path, name, self.delimiter, missing, self.scratch, rows)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn another encoding, and what the system refuses, into one sentence."""
        try:
            yield
        except UnicodeDecodeError:
            raise not_utf8(self.path, self.name) from None
        except OSError as error:
            raise LogicLensError(f"cannot read {named(self.source)}: {error.strerror or error}.") from None


@contextmanager
def _opened(
    source: str | Path,
    delimiter: str | None,
    missing: Sequence[str],
    stream: BinaryIO | None,
    sheet: str | None,
    called: str | None = None,
    most_bytes: int | None = None,
) -> Iterator[_PlainFile]:
    """Open a file, or standard input, decompressed and in UTF-8; turn what goes wrong into one sentence."""
    given = None if delimiter is None else checked_delimiter(delimiter)
    # A file of UTF-8 has no lone surrogates, so a text that holds one stands for no cell.
    texts = [missing] if isinstance(missing, str) else missing
    absent = frozenset(text for text in texts if not any("\ud800" <= letter <= "\udfff" for letter in text))
    with scratch_folder() as scratch:
        path = scratch / "input" if str(source) == "-" else Path(source)
        name = called or ("standard input" if str(source) == "-" else named(path.name))
        try:
            if str(source) == "-":
                with path.open("wb") as copy:
                    shutil.copyfileobj(stream or sys.stdin.buffer, copy)
            suffix = "" if str(source) == "-" else _checked_suffix(path)
            with path.open("rb") as file:
                sha256, n_bytes = hashlib.file_digest(file, "sha256").hexdigest(), file.seek(0, os.SEEK_END)
            path = in_utf8(unpacked(path, scratch, name, most_bytes), scratch, name)
            suffix = suffix or _sniffed(path)
            if suffix not in WORKBOOK and sheet is not None:
                raise LogicLensError(f"{name} is no workbook: leave out the sheet.")
            if not first_bytes(path, BLOCK).removeprefix(codecs.BOM_UTF8).strip():
                raise LogicLensError(f"{name} is empty.")
            if suffix in WORKBOOK:
                path = _sheet(path, scratch, name, sheet)
                suffix, given = ".csv", ","
            else:
                refuse_workbook(path, name)
            notes: tuple[str, ...] = ()
            if suffix in TEXT and (text := from_windows(path, scratch)) is not None:
                path, notes = text, (f"{name} is not UTF-8: it is read as Windows-1252.",)
        except OSError as error:
            raise LogicLensError(f"cannot read {named(source)}: {error.strerror or error}.") from None
        mark = given or ("\t" if suffix == ".tsv" else None)
        yield _PlainFile(source, path, name, suffix, sha256, n_bytes, mark, absent, scratch, notes)


def _sheet(path: Path, scratch: Path, name: str, sheet: str | None) -> Path:
    """Return a sheet of a workbook as a CSV file."""
    if not is_workbook(path):
        refuse_workbook(path, name)
        raise LogicLensError(f"{name} is not an Excel workbook: give it a name that ends as its format does.")
    sheet_to_csv(path, name, sheet, scratch / "sheet.csv")
    return scratch / "sheet.csv"


def _checked_suffix(path: Path) -> str:
    """Return the suffix of an existing file of a known format; refuse other files."""
    if path.is_dir():
        raise LogicLensError(f"{path} is a folder: name a file in it.")
    if not path.exists():
        if not path.parent.is_dir():
            raise LogicLensError(f"there is no file {named(path)}, and no folder {named(path.parent)} either.")
        # File names are more alike than other names, since they share their suffix.
        near = nearest(path.name, sorted(os.listdir(path.parent)), cutoff=0.7)
        raise LogicLensError(f"there is no file {named(path)}" + (f"; did you mean {near}?" if near else "."))
    if suffix_of(path) not in TEXT + PARQUET + JSON + WORKBOOK:
        refuse_workbook(path, path.name)
        known = " ".join(TEXT + PARQUET + JSON + WORKBOOK)
        raise LogicLensError(
            f"{path.name} is of no known format: its name must end in one of {known}, or that and .gz."
        )
    return suffix_of(path)


def _sniffed(path: Path) -> str:
    """Detect the format of standard input; return its suffix."""
    head = first_bytes(path, BLOCK)
    if head.startswith(b"PAR1"):
        return ".parquet"
    if is_workbook(path):
        return ".xlsx"
    return ".json" if re.match(rb"\s*(\{|\[\s*\{)", head.removeprefix(codecs.BOM_UTF8)) else ".txt"
