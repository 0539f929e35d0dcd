"""Formats of table files: their suffixes, decompression, and conversion to UTF-8."""

from __future__ import annotations

import codecs
import glob
import gzip
import os
import re
import shutil
import zlib
from pathlib import Path
from typing import Any, TextIO

from logiclens.errors import LONGEST_LIST, LogicLensError, named
from logiclens.words import readable, shortened

BLOCK = 1 << 20


def unpacked(path: Path, scratch: Path, name: str, most_bytes: int | None = None) -> Path:
    """Return a file with the same content, decompressed.

    Args:
        path: the file.
        scratch: a folder to decompress into.
        name: what messages call the file.
        most_bytes: how large it may become; a few bytes can unpack to any number. Default: None, as large as it is.
    """
    if first_bytes(path) != b"\x1f\x8b":
        return path
    n_bytes = 0
    try:
        with gzip.open(path, "rb") as packed, (scratch / "plain").open("wb") as copy:
            while block := packed.read(BLOCK):
                n_bytes += len(block)
                if most_bytes is not None and n_bytes > most_bytes:
                    raise unpacks_to_more(name, most_bytes)
                copy.write(block)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise LogicLensError(f"{name} is a damaged or cut-off gz file: copy it again.") from None
    return scratch / "plain"


def unpacks_to_more(name: str, most_bytes: int) -> LogicLensError:
    """Return the error for a file that is small only while it is packed."""
    return LogicLensError(
        f"{name} unpacks to more than {most_bytes:,} bytes, the most that are read here: take fewer rows or columns."
    )


def in_utf8(path: Path, scratch: Path, name: str) -> Path:
    """Return a text of UTF-16 with a byte order mark in UTF-8; any other file as it is."""
    if first_bytes(path) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return path
    try:
        with path.open(encoding="utf-16", newline="") as wide, (scratch / "utf8").open("wb") as narrow:
            shutil.copyfileobj(wide, codecs.getwriter("utf-8")(narrow), BLOCK)
    except UnicodeError:
        raise LogicLensError(f"{name} starts as UTF-16 but cannot be decoded: save it as UTF-8.") from None
    return scratch / "utf8"


def first_bytes(path: Path, size: int = 2) -> bytes:
    """Return the first bytes of a file."""
    with path.open("rb") as file:
        return file.read(size)


def open_text(path: Path) -> TextIO:
    """Open a UTF-8 text for reading; line ends stay as they are."""
    return path.open(encoding="utf-8-sig", newline="")


def not_utf8(path: Path, name: str) -> LogicLensError:
    """Return the error for another encoding. Decodes the file again, because pandas counts bytes within a cell."""
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return LogicLensError(f"{name} is not UTF-8: byte 0x{byte:02x} at position {error.start}; save it as UTF-8.")
    return LogicLensError(f"{name} is not UTF-8: save it as UTF-8.")


TEXT, PARQUET, JSON = (".csv", ".tsv", ".txt", ".data"), (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")


WORKBOOK = (".xlsx", ".xlsm")


WRITTEN = (".csv", ".tsv", ".jsonl", ".ndjson")


DATABASES = (".sqlite", ".sqlite3", ".db")
"""The suffixes of SQLite databases."""


def names_several(path: str) -> bool:
    """Return whether a path is a folder or a pattern such as `2026/*.parquet` instead of a single file."""
    return not os.path.isfile(path) and (os.path.isdir(path) or glob.has_magic(path))


def check_single(path: str) -> None:
    """Refuse a folder or a pattern where one file is read."""
    if not names_several(path):
        return
    if not os.path.isdir(path) and not glob.glob(path, recursive=True):
        raise LogicLensError(f"no file matches {named(path)}.")
    raise LogicLensError(f"{named(path)} is a folder or a pattern: name one file, which is read here.")


def is_engine_table(table: Any) -> bool:
    """Whether a table is one of Ibis. Import nothing to find out."""
    return type(table).__module__.startswith("ibis.") and type(table).__name__ in ("Table", "CachedTable")


def is_lake(source: Any) -> bool:
    """Whether rows are to be counted where they are: a table of Ibis, a folder, or a pattern such as `2026/*.parquet`.

    A single file is read.
    """
    if is_engine_table(source):
        return True
    return isinstance(source, str | os.PathLike) and names_several(os.fspath(source))


def suffix_of(path: Path) -> str:
    """Return the suffix of a file name, ignoring `.gz`."""
    return os.path.splitext(path.name.lower().removesuffix(".gz"))[1]


def is_workbook(path: Path) -> bool:
    """Return whether a file is an Excel workbook: a zip with a folder `xl`."""
    head = first_bytes(path, BLOCK)
    # In a zip the name of a member starts 26 bytes after its signature; this also works for truncated files.
    return head.startswith(b"PK") and re.search(rb"PK\x03\x04.{26}xl/", head, re.DOTALL) is not None


def refuse_workbook(path: Path, name: str) -> None:
    """Refuse an Excel workbook of another name, and one in the older binary format."""
    if is_workbook(path):
        raise LogicLensError(
            f"{name} is an Excel workbook: give it a name that ends in .xlsx, or save it as CSV (UTF-8)."
        )
    if first_bytes(path, 4) == b"\xd0\xcf\x11\xe0":
        raise LogicLensError(
            f"{name} is an Excel workbook that is older than .xlsx, or has a password: save it as .xlsx without one."
        )


def from_windows(path: Path, scratch: Path) -> Path | None:
    """Return a text of Windows-1252 in UTF-8; None if the file is UTF-8, or no text of Windows-1252 either."""
    try:
        with path.open(encoding="utf-8", newline="") as text:
            while text.read(BLOCK):
                pass
        return None
    except UnicodeDecodeError:
        pass
    copy = scratch / "from_windows"
    try:
        with path.open(encoding="cp1252", newline="") as text, copy.open("w", encoding="utf-8", newline="") as out:
            while block := text.read(BLOCK):
                # Windows-1252 decodes nearly every byte, but a text contains no control characters.
                if _CONTROL.search(block):
                    return None
                out.write(block)
    except UnicodeDecodeError:
        return None
    return copy


_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


def sentence(error: Exception) -> str:
    """Return the first line of an error message without its full stop, for use inside a sentence; at most its start."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return shortened(readable(lines[0].rstrip(".")), LONGEST_LIST)


def begins_a_formula(text: str) -> bool:
    """Return whether a spreadsheet may compute a text; a number is none, and one with apostrophes before it may be.

    >>> [begins_a_formula(text) for text in ("=1+1", "'=x", "@SUM(A1)", "-5", "x=1")]
    [True, True, True, False, False]
    """
    return _FORMULA.match(text) is not None and _PLAIN_NUMBER.fullmatch(text) is None


_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?")
