"""Plain files: uncompressed and, where they are text, in UTF-8, whatever they were."""

from __future__ import annotations

import codecs
import gzip
import shutil
import zlib
from pathlib import Path
from typing import TextIO

from logiclens.errors import LogicLensError

BLOCK = 1 << 20


def plain_file(path: Path, scratch: Path, name: str) -> Path:
    """The same table uncompressed and, if it is text, in UTF-8, so that all that follows has one case."""
    if first_bytes(path) == b"\x1f\x8b":
        try:
            with gzip.open(path, "rb") as packed, (scratch / "plain").open("wb") as copy:
                shutil.copyfileobj(packed, copy, BLOCK)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise LogicLensError(f"{name} is a damaged or cut-off gz file: copy it again.") from None
        path = scratch / "plain"
    if first_bytes(path) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return path
    try:
        with path.open(encoding="utf-16", newline="") as wide, (scratch / "utf8").open("wb") as narrow:
            shutil.copyfileobj(wide, codecs.getwriter("utf-8")(narrow), BLOCK)
    except UnicodeError:
        raise LogicLensError(f"{name} starts as UTF-16 but cannot be decoded: save it as UTF-8.") from None
    return scratch / "utf8"


def first_bytes(path: Path, size: int = 2) -> bytes:
    """How a file begins."""
    with path.open("rb") as file:
        return file.read(size)


def open_text(path: Path) -> TextIO:
    """A plain text from its start, line ends as they are."""
    return path.open(encoding="utf-8-sig", newline="")


def not_utf8(path: Path, name: str) -> LogicLensError:
    """The error for another encoding. The whole is decoded again, because pandas counts from the start of a cell."""
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return LogicLensError(f"{name} is not UTF-8: byte 0x{byte:02x} at position {error.start}; save it as UTF-8.")
    return LogicLensError(f"{name} is not UTF-8: save it as UTF-8.")
