"""Formats of a table: the suffixes that name them, and the libraries behind them."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from logiclens.errors import LogicLensError

TEXT, PARQUET, JSON = (".csv", ".tsv", ".txt", ".data"), (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")
WRITTEN = (".csv", ".tsv", ".jsonl", ".ndjson")


def suffix_of(path: Path) -> str:
    """What the name ends in, `.gz` left aside."""
    return os.path.splitext(path.name.lower().removesuffix(".gz"))[1]


def pyarrow_module(module: str) -> Any:
    """A module of pyarrow, which is optional."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise LogicLensError("Parquet needs pyarrow: pip install 'logiclens[parquet]'.") from None


def sentence(error: Exception) -> str:
    """What a library says, without its full stop, to stand inside a sentence of ours."""
    return str(error).strip().splitlines()[0].rstrip(".")
