"""Columns as a file gives them: names that are there and differ, and the types that their cells show."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from logiclens.errors import LogicLensError

CODE = re.compile(r"\s*0[0-9]+\s*")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(([0-9]+,[0-9]*|,[0-9]+|0|[1-9][0-9]*)([eE][+-]?[0-9]+)?|inf)\s*")
_OFFSET = "(Z|[+-][0-9]{2}:?[0-9]{2})"
_DATE = re.compile(rf"[0-9]{{4}}(-[0-9]{{2}}){{2}}([T ][0-9]{{2}}(:[0-9]{{2}}){{1,2}}([.][0-9]{{1,9}})?{_OFFSET}?)?")


def checked_names(names: list[str], name: str) -> list[str]:
    """Names that are there and differ."""
    seen: dict[str, int] = {}
    for place, column in enumerate(names, 1):
        if not column.strip():
            raise LogicLensError(
                f"column {place} of {name} has no name: name it, or leave it out if it only counts rows."
            )
        if column in seen:
            raise LogicLensError(f"columns {seen[column]} and {place} of {name} are both named {column!r}: rename one.")
        seen[column] = place
    return names


def kind_of(column: pd.Series[Any]) -> str:
    """Whether a column holds numbers, text, flags, a mix of them, or something else."""
    if column.dtype.kind in "iuf":
        return "number"
    if column.dtype.kind != "O":
        return "other"
    kinds = {"string": "text", "boolean": "flag", "integer": "number", "floating": "number", "empty": "other"}
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    return kinds.get(inferred, "number" if inferred == "mixed-integer-float" else "mixed")


def typed(frame: pd.DataFrame, *, decimal_comma: bool = False) -> pd.DataFrame:
    """Text that is dates or, if asked for, numbers with a decimal comma throughout a column becomes that."""
    for name, column in frame.items():
        kind = kind_of(column)
        if kind == "number" and column.dtype == object:
            # Whole numbers beyond 64 bits.
            frame[name] = column.astype(float)
        elif kind == "text" and decimal_comma and _all_match(column, _DECIMAL_COMMA):
            frame[name] = pd.to_numeric(column.str.replace(",", ".", regex=False))
        elif kind == "text" and _all_match(column, _DATE):
            frame[name] = _dates(column)
    return frame


def mixed_columns(frame: pd.DataFrame) -> dict[str, tuple[str, int]]:
    """Text columns that are numbers but for some cells: the first such cell, and its row counted from 1.

    More than half of the cells that are not missing must be numbers. A column with codes such as 00123 is text on
    purpose and is not named.

    >>> mixed_columns(pd.DataFrame({"age": ["31", "about 40", "52"], "who": ["Ann", "Bo", "Cy"]}))
    {'age': ('about 40', 2)}
    """
    mixed = {}
    for name, column in frame.items():
        if kind_of(column) not in ("text", "mixed"):
            continue
        there = column.notna().to_numpy()
        number = pd.to_numeric(column, errors="coerce").notna().to_numpy()
        if not there.sum() / 2 < number.sum() < there.sum():
            continue
        if not column[number].astype(str).str.fullmatch(CODE.pattern).any():
            row = int(np.flatnonzero(there & ~number)[0])
            mixed[str(name)] = (str(column.iloc[row]), row + 1)
    return mixed


def _all_match(column: pd.Series[Any], pattern: re.Pattern[str]) -> bool:
    cells = column.dropna()
    # The first cell nearly always decides, at no cost.
    return bool(pattern.fullmatch(cells.iloc[0])) and bool(cells.str.fullmatch(pattern.pattern).all())


def _dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Dates from their ISO texts; the texts themselves where one is no day of the calendar."""
    offset = column.dropna().str.fullmatch(f".*{_OFFSET}")
    if offset.any() and not offset.all():
        return column
    try:
        return pd.to_datetime(column, format="ISO8601", utc=bool(offset.any()))
    except ValueError:
        return column
