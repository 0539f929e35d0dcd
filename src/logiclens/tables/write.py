"""Written tables: a file that appears when it is whole."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from logiclens.errors import LogicLensError
from logiclens.formula.column_kinds import NUMBER, kind_of_cell
from logiclens.storage import open_whole
from logiclens.tables.dtypes import checked_names
from logiclens.tables.formats import JSON, PARQUET, WRITTEN, sentence, suffix_of


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
