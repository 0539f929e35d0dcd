"""Formats of a table: the suffixes that name them, and the libraries behind them."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

from logiclens.data.plain import BLOCK, first_bytes
from logiclens.errors import LogicLensError

TEXT, PARQUET, JSON = (".csv", ".tsv", ".txt", ".data"), (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")
WRITTEN = (".csv", ".tsv", ".jsonl", ".ndjson")


def suffix_of(path: Path) -> str:
    """What the name ends in, `.gz` left aside."""
    return os.path.splitext(path.name.lower().removesuffix(".gz"))[1]


def refuse_workbook(path: Path, name: str) -> None:
    """Raise for an Excel workbook, whatever its name: a zip with a folder xl in it, or the format before that."""
    head = first_bytes(path, BLOCK)
    # The name of a member of a zip follows 26 bytes after its mark, in a cut-off file too.
    zipped = head.startswith(b"PK") and re.search(rb"PK\x03\x04.{26}xl/", head, re.DOTALL)
    if zipped or head.startswith(b"\xd0\xcf\x11\xe0"):
        raise LogicLensError(f"{name} is an Excel workbook: save the sheet as CSV (UTF-8).")


def pyarrow_module(module: str) -> Any:
    """A module of pyarrow, which is optional."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise LogicLensError("Parquet needs pyarrow: pip install 'logiclens[parquet]'.") from None


def sentence(error: Exception) -> str:
    """What a library says, without its full stop, to stand inside a sentence of ours."""
    return str(error).strip().splitlines()[0].rstrip(".")
