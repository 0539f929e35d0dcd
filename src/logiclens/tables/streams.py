"""Tables that are read in chunks, each with the types that the whole table would have. `files.open_table` opens one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from logiclens.tables.dtypes import is_date_or_decimal, order_of_dates, typed

CELLS, MOST_ROWS, FEWEST_ROWS = 100_000, 5_000, 500
"""About how many cells a chunk has, and the most and the fewest rows of one."""


def chunk_rows(n_columns: int) -> int:
    """Return the number of rows of a chunk of a table with so many columns."""
    return max(FEWEST_ROWS, min(MOST_ROWS, CELLS // max(n_columns, 1)))


class ChunkedTable(Protocol):
    """A file of one format that is read in chunks: `DelimitedTable`, `JsonTable` or `ParquetTable`."""

    dtypes: dict[str, Any]
    n_rows: int
    decimal_comma: bool

    def chunks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows of some columns; dates in text files are texts still."""


@dataclass(frozen=True, eq=False)
class TableStream:
    """A table and its source, like `TableFile`, whose rows are read in chunks.

    Attributes:
        table: the file.
        name: the name of the file, or "standard input".
        sha256: hash of the file as it is, before decompression.
        columns: the names of the columns.
        notes: sentences about how the file was read.
    """

    table: ChunkedTable
    name: str
    sha256: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.table.n_rows

    def chunks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the rows of some columns, each column with the type that it has in the whole table.

        The index counts the rows from 0.
        """
        # A file has rows even if no column of it is asked for.
        asked = list(dict.fromkeys(columns)) or [self.columns[0]]
        patterns = self._patterns(asked)
        for chunk in self.table.chunks(asked):
            frame = chunk
            for column, (examples, dtype) in patterns.items():
                # Read beside texts that say, for example, that the day stands before the month.
                texts = pd.concat([examples, frame[column]], ignore_index=True)
                cells = typed(texts.to_frame(), decimal_comma=self.table.decimal_comma)[column].astype(dtype)
                frame[column] = cells.iloc[len(examples) :].set_axis(frame.index)
            yield frame[list(columns)]

    def _patterns(self, columns: Sequence[str]) -> dict[str, tuple[pd.Series[Any], Any]]:
        """Return which texts are dates or decimals: a few that settle how to read the others, and the dtype."""
        found = {}
        for column in self._candidates([column for column in columns if self.table.dtypes[column] == "str"]):
            # Only the whole column shows whether each cell is a date. Columns are looked at one by one.
            texts = pd.concat([chunk[column] for chunk in self.table.chunks([column])])
            dtype = typed(texts.to_frame(), decimal_comma=self.table.decimal_comma)[column].dtype
            if dtype != texts.dtype:
                found[column] = (order_of_dates(texts), dtype)
        return found

    def _candidates(self, columns: list[str]) -> list[str]:
        """Return the columns whose first text looks like a date or a decimal."""
        candidates, waiting = [], set(columns)
        for chunk in self.table.chunks(columns) if columns else ():
            for column in sorted(waiting):
                known = chunk[column].dropna()
                if len(known):
                    waiting.remove(column)
                    if is_date_or_decimal(known.iloc[0]):
                        candidates.append(column)
            if not waiting:
                break
        return candidates
