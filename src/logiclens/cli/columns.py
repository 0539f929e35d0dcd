"""The list of the columns of a table: the answer to `explain` without a target."""

from __future__ import annotations

from logiclens.cli.output import Printer
from logiclens.errors import LogicLensError, quoted
from logiclens.tables.columns import guess, listed
from logiclens.tables.files import TableFile
from logiclens.words import percent

MOST_SHOWN = 60
"""The most columns that are listed. Of more, the last one is listed after the first ones: it often is the target."""
WIDEST = 40
"""The most characters of a name or of examples in the list."""


def list_columns(file: TableFile, *, quiet: bool) -> LogicLensError:
    """Print the columns of a table; return the error that asks for the target."""
    columns = listed(file.frame)
    found = guess(columns)
    printer = Printer(quiet=quiet)
    printer.say(f"{file.name}: {len(file.frame):,} rows, {len(columns):,} columns")
    rows = [("column", "kind", "gaps", "values", "such as")]
    left_out = len(columns) - MOST_SHOWN
    rows += [
        (
            _short(column.name),
            column.kind,
            f"{column.gaps:,} ({percent(column.gaps / len(file.frame))})" if column.gaps else "none",
            f"{column.values:,}",
            _short(column.examples),
        )
        for column in (columns if left_out < 2 else [*columns[: MOST_SHOWN - 1], columns[-1]])
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    for number, row in enumerate(rows):
        if left_out > 1 and number == MOST_SHOWN:
            printer.say(f"  … and {left_out:,} more")
        cells = [f"{cell:<{width}}" for cell, width in zip(row[:4], widths, strict=True)]
        printer.say(f"  {'  '.join([*cells, row[4]])}".rstrip())
    hint = "" if found is None else f" It may be {quoted(found.name)}, because {found.reason}."
    return LogicLensError(f"which column is to be explained? Say --target COLUMN.{hint}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 1]}…"
