"""Where a table may come from: a file by its name, with the target as one of its columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from logiclens.data.columns import column_names
from logiclens.data.names import no_column
from logiclens.errors import LogicLensError


def opened(table: Any, columns: Sequence[str] | None = None) -> Any:
    """A table that is named by its file is read; anything else stays as it is. `columns` are those wanted of a file."""
    if not isinstance(table, str | os.PathLike):
        return table
    from logiclens.data.files import read_table

    file = read_table(os.fspath(table))
    if columns is None:
        return file.frame
    for name in columns:
        if name not in file.frame.columns:
            raise no_column(name, list(file.frame.columns), file.name)
    return file.frame[list(columns)]


def parted(table: Any, target: Any) -> tuple[Any, Any]:
    """The table without its target, and the target, which may be the name of one of its columns."""
    table = opened(table)
    if not isinstance(target, str):
        return table, target
    names = column_names(table)
    if names is None:
        raise LogicLensError(f"a matrix has no column {target!r}: pass the target itself.")
    if target not in names:
        raise no_column(target, [str(name) for name in names], "the table")
    if isinstance(table, dict):
        return {name: values for name, values in table.items() if name != target}, table[target]
    frame = nw.from_native(table)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame.drop(target).to_native(), frame.get_column(target).to_pandas()
