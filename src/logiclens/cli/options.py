"""Options and arguments that several commands share, what they ask for, and the number of processes.

Nothing here loads pandas or torch, so that a mistake is told at once.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand

from logiclens.errors import quoted
from logiclens.export.registry import FORMATS

if TYPE_CHECKING:
    from logiclens.tables.files import TableFile
    from logiclens.tables.streams import TableStream


class Command(TyperCommand):
    """A command whose usage line follows the convention of manuals."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the pieces of the usage line without the braces that typer puts around required arguments."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options under the headings that they name as their help panel."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                usual = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(record)
        # Options without a heading come last, beside --help.
        for title in sorted(sections, key=lambda title: (title == "Options", title != "Arguments")):
            with formatter.section(title):
                formatter.write_dl(sections[title])


TARGET, RULES, MEASURING = "Target", "Rules", "Measuring"
READING, TEACHER, OUTPUT = "Reading the table", "Explaining another model", "Output"
ROWS, CHANGE = "The row", "The change"
"""Headings of options in the help."""


class Engines(StrEnum):
    """Values of --engine."""

    duckdb = "duckdb"
    spark = "spark"


class Cuts(StrEnum):
    """Values of --cuts."""

    round = "round"
    quantile = "quantile"
    uniform = "uniform"
    soft = "soft"


def known_format(name: str) -> str:
    """Return the value of --to, or refuse one that is not in the registry of formats."""
    names = [entry.name for entry in FORMATS]
    if name not in names:
        raise typer.BadParameter(f"{quoted(name)} is not one of {', '.join(map(repr, names))}")
    return name


TABLE = (
    "Table: CSV, TSV, Excel (.xlsx), Parquet or JSON lines (also .gz), or - for standard input. A folder or a "
    "pattern such as '2026/*.parquet' is counted by an engine instead of read."
)
FOLDER = "Model folder that `logiclens explain --save` wrote."

Data: TypeAlias = Annotated[str, typer.Argument(metavar="DATA", help=TABLE, show_default=False)]
Model: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help=FOLDER, show_default=False)]
RowData: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[DATA]", help="Table of the rows; see --rows.", show_default=False)
]
GivenRow: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--row",
        metavar="CELLS",
        help="A row, with the columns that the rules use; may be repeated. Example: --row age=70,sex=man; with a "
        "comma in a value: --row '\"job=a,b\",age=70'",
        rich_help_panel=ROWS,
    ),
]
RowNumbers: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rows",
        metavar="NUMBERS",
        help="Rows of the table, counted from 1. Default: the first ten. Example: --rows 1,5-7",
        rich_help_panel=ROWS,
    ),
]
Json: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the result as JSON; - is standard output. Example: --json result.json",
        rich_help_panel=OUTPUT,
    ),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
NoNotes: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result without notes.")]
By: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Show the figures for each value of a column; dates by month. Example: --by sex",
        rich_help_panel=MEASURING,
    ),
]
Delimiter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Field delimiter of a text file. Default: detected. Example: --delimiter ';'",
        rich_help_panel=READING,
    ),
]
Missing: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Text that means a missing value; may be repeated. Example: --missing unknown",
        rich_help_panel=READING,
    ),
]
Sheet: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Sheet of a workbook. Default: the first. Example: --sheet 2026", rich_help_panel=READING
    ),
]
Engine: TypeAlias = Annotated[
    Engines | None,
    typer.Option(
        metavar="NAME",
        help=f"Engine for a folder, pattern or database: {' or '.join(Engines)}. Default: duckdb.",
        rich_help_panel=READING,
    ),
]


@dataclass(frozen=True)
class TableSource:
    """A table to read: its name, its delimiter (detected if None), the texts that mean a missing value, and the sheet
    of a workbook. Unless `quiet`, `table` prints notes about how it was read; otherwise the caller has them.
    """

    source: str
    delimiter: str | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    quiet: bool = True

    def table(self) -> TableFile:
        """Read the table."""
        # Here, because a command that reads no table should not wait for pandas.
        from logiclens.cli.output import print_notes
        from logiclens.tables.files import read_table
        from logiclens.tables.formats import check_single

        check_single(self.source)
        file = read_table(self.source, delimiter=self.delimiter, missing=self.missing, sheet=self.sheet)
        print_notes(file.notes, quiet=self.quiet)
        return file

    def stream(self) -> AbstractContextManager[TableStream]:
        """Open the table to read it in chunks."""
        from logiclens.tables.files import open_table
        from logiclens.tables.formats import check_single

        check_single(self.source)
        return open_table(self.source, delimiter=self.delimiter, missing=self.missing, sheet=self.sheet)


@dataclass(frozen=True)
class ExplainOutputs:
    """Output options of `explain`."""

    folds: int = 0
    by: str | None = None
    save: Path | None = None
    report: str | None = None
    json: str | None = None
    network: bool = False

    def check(self, *, data: str | None) -> None:
        """Refuse options that do not fit together and files that cannot be written, before any work."""
        from logiclens.cli.output import check_outputs, check_page_name

        check_outputs(self.report, self.json, data=data)
        check_page_name(self.report)

    @property
    def takes_standard_output(self) -> bool:
        """Whether standard output receives the page or JSON instead of the rule sheet."""
        return "-" in (self.report, self.json)
