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
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from logiclens.errors import LogicLensError, named, nearest
from logiclens.formula.column_kinds import NUMBER, kind_of_cell
from logiclens.storage import open_whole
from logiclens.tables.delimited import DelimitedTable, checked_delimiter, read_delimited
from logiclens.tables.dtypes import checked_names
from logiclens.tables.dtypes import doubtful_columns as doubtful_columns
from logiclens.tables.dtypes import mixed_columns as mixed_columns
from logiclens.tables.formats import (
    BLOCK,
    JSON,
    PARQUET,
    TEXT,
    WRITTEN,
    first_bytes,
    not_utf8,
    plain_file,
    refuse_workbook,
    sentence,
    suffix_of,
)
from logiclens.tables.records import JsonTable, ParquetTable, read_json, read_parquet
from logiclens.tables.streams import MOST_ROWS, ChunkedTable, TableStream


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table as its suffix says: `.csv`, `.tsv` or `.jsonl`, each also with `.gz`, or `.parquet`.

    The file appears when it is whole; until then an older one stays as it is.
    """
    target = Path(os.path.realpath(path))
    suffix, packed = suffix_of(target), target.suffix.lower() == ".gz"
    if suffix not in WRITTEN and (packed or suffix not in PARQUET):
        raise LogicLensError(
            f"cannot write {path}: its name must end in .csv, .tsv, .jsonl (or that and .gz) or .parquet."
        )
    if target.is_dir():
        raise LogicLensError(f"cannot write {path}: it is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise LogicLensError(f"cannot write {path}: there is no folder {target.parent}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise LogicLensError(f"cannot write {path}: the file that is there may not be changed.")
    checked_names([str(column) for column in frame.columns], f"the table for {path}")
    try:
        with open_whole(path) as file, _packed(file) if packed else contextlib.nullcontext(file) as out:
            _write(frame, out, suffix)
    except LogicLensError:
        raise
    except (ValueError, TypeError, NotImplementedError) as error:
        # What the format cannot hold; the errors of json and pyarrow are of these kinds.
        raise LogicLensError(f"cannot write {path}: {sentence(error)}.") from None


def _packed(file: BinaryIO) -> gzip.GzipFile:
    """Compressed with no name and no time inside, so that the same table gives the same bytes."""
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


def _write(frame: pd.DataFrame, out: Any, suffix: str) -> None:
    if suffix in PARQUET:
        frame.to_parquet(out, engine="pyarrow", index=False)
    elif suffix in JSON:
        for start in range(0, len(frame), 10_000):
            part = frame.iloc[start : start + 10_000].astype(object)
            for row in part.where(part.notna(), None).itertuples(index=False, name=None):
                record = dict(zip(map(str, frame.columns), row, strict=True))
                out.write(json.dumps(record, ensure_ascii=False, allow_nan=False, default=_json_value).encode() + b"\n")
    else:
        sep = "\t" if suffix == ".tsv" else ","
        frame.to_csv(out, sep=sep, index=False, mode="wb", encoding="utf-8", lineterminator="\n")


def _json_value(value: Any) -> Any:
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
    source: str | Path, *, delimiter: str | None = None, missing: Sequence[str] = (), stream: BinaryIO | None = None
) -> TableFile:
    """Read a table from a file, or from standard input (`stream`) if the source is "-".

    The suffix names the format (`.csv .tsv .txt .data`, `.parquet .pq`, `.jsonl .ndjson .json`, any of them with
    `.gz`); for standard input it is detected. `delimiter` is the field delimiter of a text; detected if omitted. Spaces
    before a field are dropped. `missing` are texts that mean a missing value, in addition to those that pandas knows. A
    first column without a name that counts the rows is left out, with a note.
    """
    with _opened(source, delimiter, missing, stream) as file:
        frame = file.frame()
    if "" in frame.columns:
        note = "the first column has no name and counts the rows: it is left out."
        return TableFile(frame.drop(columns=""), file.name, file.sha256, file.n_bytes, (note,))
    return TableFile(frame, file.name, file.sha256, file.n_bytes)


@contextmanager
def open_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    stream: BinaryIO | None = None,
    rows: int | None = None,
) -> Iterator[TableStream]:
    """Open a table whose rows are read in chunks of `rows`; see `read_table` for the other arguments.

    The file is read once to check it and to find the type of each column, and again for the rows.
    """
    with _opened(source, delimiter, missing, stream) as file:
        table = file.chunked(rows)
        if table.n_rows == 0:
            raise LogicLensError(f"{file.name} has no rows.")
        yield TableStream(table, file.name, file.sha256, tuple(key for key in table.dtypes if key))


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

    def frame(self) -> pd.DataFrame:
        """Read the table as a whole."""
        with self._telling():
            if self.suffix in PARQUET:
                frame = read_parquet(self.path, self.name, self.missing)
            elif self.suffix in JSON:
                frame = read_json(self.path, self.name, self.missing)
            else:
                frame = read_delimited(self.path, self.name, self.delimiter, self.missing)
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
            return DelimitedTable(path, name, self.delimiter, missing, rows)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn another encoding, and what the system refuses, into one sentence."""
        try:
            yield
        except UnicodeDecodeError:
            raise _encoding_error(self.path, self.name, self.suffix) from None
        except OSError as error:
            raise LogicLensError(f"cannot read {named(self.source)}: {error.strerror or error}.") from None


@contextmanager
def _opened(
    source: str | Path, delimiter: str | None, missing: Sequence[str], stream: BinaryIO | None
) -> Iterator[_PlainFile]:
    """Open a file, or standard input, decompressed and in UTF-8; turn what goes wrong into one sentence."""
    given = None if delimiter is None else checked_delimiter(delimiter)
    absent = frozenset([missing] if isinstance(missing, str) else missing)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "input" if str(source) == "-" else Path(source)
        name = "standard input" if str(source) == "-" else named(path.name)
        try:
            if str(source) == "-":
                with path.open("wb") as copy:
                    shutil.copyfileobj(stream or sys.stdin.buffer, copy)
            suffix = "" if str(source) == "-" else _checked_suffix(path)
            with path.open("rb") as file:
                sha256, n_bytes = hashlib.file_digest(file, "sha256").hexdigest(), file.seek(0, os.SEEK_END)
            path = plain_file(path, Path(scratch), name)
            suffix = suffix or _sniffed(path)
            if not first_bytes(path, BLOCK).removeprefix(codecs.BOM_UTF8).strip():
                raise LogicLensError(f"{name} is empty.")
            refuse_workbook(path, name)
        except OSError as error:
            raise LogicLensError(f"cannot read {named(source)}: {error.strerror or error}.") from None
        mark = given or ("\t" if suffix == ".tsv" else None)
        yield _PlainFile(source, path, name, suffix, sha256, n_bytes, mark, absent)


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
    if suffix_of(path) not in TEXT + PARQUET + JSON:
        refuse_workbook(path, path.name)
        known = " ".join(TEXT + PARQUET + JSON)
        raise LogicLensError(
            f"{path.name} is of no known format: its name must end in one of {known}, or that and .gz."
        )
    return suffix_of(path)


def _sniffed(path: Path) -> str:
    """Detect the format of standard input; return its suffix."""
    head = first_bytes(path, BLOCK)
    if head.startswith(b"PAR1"):
        return ".parquet"
    return ".json" if re.match(rb"\s*(\{|\[\s*\{)", head.removeprefix(codecs.BOM_UTF8)) else ".txt"


def _encoding_error(path: Path, name: str, suffix: str) -> LogicLensError:
    """Return the error for another encoding, with a hint if it looks like that of Excel on Windows."""
    error = not_utf8(path, name)
    try:
        text = path.read_bytes().decode("cp1252")
    except UnicodeDecodeError:
        return error
    # Windows-1252 decodes nearly every byte, but a text contains no control characters.
    if suffix in JSON or re.search(r"[\x00-\x08\x0e-\x1f]", text):
        return error
    return LogicLensError(f"{str(error).removesuffix('.')} (in Excel: Save as, CSV UTF-8).")
