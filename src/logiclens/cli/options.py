"""Options and arguments that several commands share."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from logiclens.errors import LogicLensError


class Command(TyperCommand):
    """A command whose usage line is written as manuals write it."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What the line is made of: typer puts braces around what must be there."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class WithDefault(TyperGroup):
    """A group of commands whose first one, `run`, need not be named: `bench mimic2` is `bench run mimic2`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name in where another command, or help, is not asked for."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


class Method(StrEnum):
    """The two methods, as the command line knows them."""

    search = "search"
    paper = "paper"


class Engines(StrEnum):
    """Who counts rows that are not read."""

    duckdb = "duckdb"
    spark = "spark"


class Cuts(StrEnum):
    """How numbers and dates are cut."""

    supervised = "supervised"
    quantile = "quantile"
    uniform = "uniform"
    soft = "soft"


class Form(StrEnum):
    """What rules can be printed as."""

    sql = "sql"
    python = "python"
    json = "json"
    latex = "latex"
    english = "english"
    sympy = "sympy"
    pmml = "pmml"


TABLE = (
    "A table: CSV, TSV, Parquet or JSON lines (also .gz), or - for standard input; a folder or a pattern of such files "
    "is not read but counted."
)
FOLDER = "A model folder, as `logiclens explain --save` writes it."

Data: TypeAlias = Annotated[str, typer.Argument(metavar="DATA", help=TABLE, show_default=False)]
Model: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help=FOLDER, show_default=False)]
Json: TypeAlias = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the result for a program; - is standard output.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
NoNotes: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result and no notes.")]
By: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Show the rules for each value of a column, dates by month.")
]
Delimiter: TypeAlias = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Of a text file, if it is not to be found.")
]
Missing: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="A text that means no value; may be repeated.")
]
Engine: TypeAlias = Annotated[
    Engines | None,
    typer.Option(metavar="NAME", help="Count rows where they are: duckdb (patterns, folders) or spark."),
]
Memory: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SIZE", help="The most that DuckDB takes before it uses the disk: 4GB.")
]


SCHEDULER = "DASK_SCHEDULER_ADDRESS"

Backend: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="Who does the work: local (processes here) or dask (a cluster).")
]
Scheduler: TypeAlias = Annotated[
    str | None, typer.Option(metavar="URL", envvar=SCHEDULER, help="The address of a Dask cluster.")
]


def cluster(backend: str, scheduler: str | None, jobs: int | None = None) -> AbstractContextManager[Any]:
    """Send what joblib is given inside to a backend; `jobs` says how much of it at a time, where joblib starts it."""
    if backend not in ("local", "dask"):
        raise LogicLensError(f"--backend must be local or dask, got {backend!r}.")
    if backend == "dask":
        from logiclens.estimator.cluster import dask_cluster

        return dask_cluster(scheduler)
    if scheduler is not None and not os.environ.get(SCHEDULER):
        raise LogicLensError("--scheduler is the address of a Dask cluster: say --backend dask too.")
    if jobs is None:
        return nullcontext()
    import joblib

    config: AbstractContextManager[Any] = joblib.parallel_config(n_jobs=jobs)
    return config
