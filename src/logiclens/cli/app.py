"""`logiclens`: the commands and how they fail."""

from __future__ import annotations

import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from logiclens import __version__
from logiclens.errors import LogicLensError, LogicLensWarning


class Method(StrEnum):
    """The two methods, as the command line knows them."""

    minimal = "minimal"
    paper = "paper"


class Form(StrEnum):
    """What rules can be printed as."""

    sql = "sql"
    python = "python"
    json = "json"
    pmml = "pmml"
    latex = "latex"
    english = "english"


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Neural networks that state their own reasons in first-order logic.",
)


def _console() -> Console:
    # Formulas are never cut: a pipe gets whole lines, a terminal wraps them.
    return Console(highlight=False, markup=False, soft_wrap=True)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"logiclens {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
def explain(
    folds: Annotated[int, typer.Option(min=2, max=20, help="Folds for the metrics.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the initial weights.")] = 0,
    method: Annotated[Method, typer.Option(help="How formulas are chosen.")] = Method.minimal,
    exact: Annotated[bool, typer.Option("--exact", help="Make the network equal its formulas, with a proof.")] = False,
    max_literals: Annotated[
        int | None, typer.Option(min=1, help="Most literals a class; 9 with --exact, else 40.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Folder for the model of fold 1.")] = None,
) -> None:
    """Explain the bundled example: breast cancer, its measurements cut into named concepts.

    Prints the six metrics over folds, then for the first training part and each class the formula that the network
    gave of itself, its scores on unseen rows, the concepts it rests on, and the reasons for two single rows.

    With --exact every formula is the network, on every possible row; `logiclens verify` checks a saved model.

    Example: logiclens explain --exact --save model
    """
    from logiclens.cli.explain import explain_bundled

    explain_bundled(
        _console(), n_folds=folds, seed=seed, method=method.value, exact=exact, max_literals=max_literals, save=save
    )


@app.command()
def verify(folder: Annotated[Path, typer.Argument(help="A model folder with a certificate.")]) -> None:
    """Check that the printed rules of a saved model are the model.

    Recomputes every head on its whole domain from the weights, with code of its own and without torch. Exit code 0: the
    claim holds. 1: it does not, and the row that disagrees is named. 2: the folder cannot be used, or its files are not
    those that the certificate was made for.

    Example: logiclens verify model
    """
    from logiclens.verify.__main__ import main as check

    raise typer.Exit(check([str(folder)]))


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="A model folder.")],
    to: Annotated[Form, typer.Option(help="The language of the rules.")] = Form.sql,
    dialect: Annotated[str, typer.Option(help="For SQL: duckdb, postgres, sqlite, …")] = "duckdb",
    table: Annotated[str, typer.Option(help="For SQL: the table to predict.")] = "rows",
) -> None:
    """Print the rules of a saved model as SQL, Python, JSON, PMML, LaTeX or English.

    Example: logiclens export model --to sql --dialect postgres --table patients
    """
    from logiclens.cli.export import export_rules

    typer.echo(export_rules(folder, to.value, dialect=dialect, table=table))


@app.command()
def toy(
    out: Annotated[Path, typer.Option(help="Folder for the four PNG files.")] = Path("toy"),
    seeds: Annotated[int, typer.Option(min=1, max=100, help="How many seeds of model C to train.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs; the paper's number is 18000.")] = 18_000,
) -> None:
    """Repeat the paper's toy comparison of the entropy loss with L1.

    Trains models A (plain layer, L1), B (entropy layer, L1) and C (entropy layer, entropy loss), draws their heat maps
    and the network C, prints C's four formulas, and counts over seeds how many recover the truth.

    Example: logiclens toy --out figures --seeds 5
    """
    from logiclens.cli.toy import run_toy

    run_toy(_console(), out=out, n_seeds=seeds, epochs=epochs)


def main() -> None:
    """Run a command; what the user can put right is one sentence and exit code 2."""
    # What such a warning says stands in the results that the commands print.
    warnings.simplefilter("ignore", LogicLensWarning)
    try:
        app()
    except LogicLensError as error:
        print(f"logiclens: {error}", file=sys.stderr)
        sys.exit(2)
