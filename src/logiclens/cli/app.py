"""`logiclens`: the commands and how they fail."""

from __future__ import annotations

import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from logiclens import __version__
from logiclens.errors import LogicLensError, LogicLensWarning


class Method(StrEnum):
    """The two methods, as the command line knows them."""

    minimal = "minimal"
    paper = "paper"


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


DATA = "A table: CSV, TSV, Parquet or JSON lines (also .gz), or - for standard input."
MODEL = "A model folder, as `logiclens explain --save` writes it."

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Rules from a table: neural networks that state their own reasons in logic.

\b
A table goes in, a rule sheet comes out:
  logiclens explain patients.csv --target died --report rules.html --save model
  logiclens predict model new_patients.csv --why -o predictions.csv
  logiclens score model next_year.csv
  logiclens export model --to sql --dialect postgres --table patients

\b
With --exact the printed rules are the model, and anyone can check that:
  logiclens explain patients.csv --target died --exact --save model
  logiclens verify model

Every command takes --json FILE (or - for standard output) for programs. What you can put right is told in one sentence,
with exit code 2. `logiclens COMMAND --help` explains a command.""",
)

Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the result for a program; - is standard output.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


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
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help=f"{DATA} Without: a bundled example.")] = None,
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column to explain.")] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Explain this value of the target against all others.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Make the rules the model, with a proof.")] = False,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write one HTML page.")] = None,
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the model in a folder.")] = None,
    json: Json = None,
    by: Annotated[str | None, typer.Option(metavar="COLUMN", help="Show the rules for each value of a column.")] = None,
    stability: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Train again on N resamples: which parts recur?")
    ] = None,
    stable: Annotated[bool, typer.Option("--stable", help="With --stability: rules made of what recurs.")] = False,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; may be repeated.")
    ] = None,
    cuts: Annotated[Cuts, typer.Option(help="Where numbers and dates are cut.")] = Cuts.supervised,
    max_literals: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most conditions a class; 9 with --exact, else 40.")
    ] = None,
    set_aside: Annotated[
        float, typer.Option(metavar="SHARE", min=0.01, max=0.9, help="Share of the rows to measure on.")
    ] = 0.25,
    folds: Annotated[
        int | None, typer.Option(metavar="N", min=2, max=20, help="Cross-validate first; 5 for the example.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(metavar="CHAR", help="Of a text file; found if not given.")] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A text that means no value; may be repeated.")
    ] = None,
    method: Annotated[Method, typer.Option(help="How formulas are chosen.")] = Method.minimal,
    seed: Annotated[int, typer.Option(min=0, help="Of the parts and the initial weights.")] = 0,
    quiet: Quiet = False,
) -> None:
    """From a table to rules.

    Numbers and dates are cut where it matters, categories and gaps become conditions; a network learns the target and
    states its reasons as one formula for each class. A quarter of the rows is set aside before anything is looked at,
    and every number printed is measured on these.

    \b
    Examples:
      logiclens explain
      logiclens explain patients.csv --target died
      logiclens explain patients.csv --target died --exact --save model --report rules.html
      logiclens explain credit.parquet --target status --positive default --by gender
      zcat visits.csv.gz | logiclens explain - --target outcome --stability 20 --json result.json
    """
    from logiclens.cli.explain import Wanted, bundled, explain_table
    from logiclens.cli.output import console
    from logiclens.cli.tables import read_problem
    from logiclens.estimators.classifier import EntropyClassifier

    _be_quiet(quiet or json == "-")
    if data is None:
        if target is not None or positive is not None:
            raise LogicLensError("a target needs a table: logiclens explain DATA --target COLUMN.")
        problem, folds = bundled(), 5 if folds is None else folds
    elif target is None:
        raise LogicLensError("which column is to be explained? Say --target COLUMN.")
    else:
        problem = read_problem(
            data, target, positive=positive, drop=drop or (), delimiter=delimiter, missing=missing or ()
        )
    model = EntropyClassifier(
        cuts.value,
        exact=exact,
        max_literals=max_literals,
        method=method.value,
        set_aside=set_aside,
        random_state=seed,
    )
    wanted = Wanted(folds or 0, stability, stable, by, save, report, json)
    explain_table(console(quiet=quiet or json == "-"), problem, model, wanted)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help=MODEL)],
    data: Annotated[str, typer.Argument(help=DATA)],
    why: Annotated[bool, typer.Option("--why", help="Add the rule behind each answer.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Let the rules decide, also where a network could.")] = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="CSV, TSV, Parquet or JSON lines, by its name.")
    ] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """The class of each row of a table.

    Columns are found by name; others are ignored. A category that the model has not seen belongs to none that it knows,
    and a missing value is above no cut: the rows are answered all the same.

    \b
    Examples:
      logiclens predict model new.csv
      logiclens predict model new.csv --why -o predictions.csv
      cat new.csv | logiclens predict model - --json -
    """
    from logiclens.cli.output import console
    from logiclens.cli.predict import predict_table

    predict_table(console(quiet=quiet), model, data, why=why, by_rules=rules, out=out, json=json)


@app.command()
def score(
    model: Annotated[Path, typer.Argument(help=MODEL)],
    data: Annotated[str, typer.Argument(help=DATA)],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Where the model does not know its name.")
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="COLUMN", help="Show the rules for each value of a column.")] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """How good a saved model and its rules are on a table with known classes.

    \b
    Examples:
      logiclens score model next_year.csv
      logiclens score model next_year.csv --by gender --json score.json
    """
    from logiclens.cli.output import console
    from logiclens.cli.predict import score_table

    score_table(console(quiet=quiet or json == "-"), model, data, target=target, by=by, json=json)


@app.command()
def verify(
    model: Annotated[Path, typer.Argument(help=f"{MODEL} It must be exact.")], json: Json = None, quiet: Quiet = False
) -> None:
    """Check that the printed rules of a saved model are the model.

    Recomputes every head on its whole domain from the weights, with code of its own and without torch. Exit code 0: the
    claim holds. 1: it does not, and the row that disagrees is named. 2: the folder cannot be used, or its files are not
    those that the certificate was made for.

    \b
    Example:
      logiclens verify model
    """
    from logiclens.cli.verify import verify_model

    raise typer.Exit(verify_model(model, json=json, quiet=quiet or json == "-"))


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help=MODEL)],
    to: Annotated[Form, typer.Option(help="The language of the rules.")] = Form.sql,
    dialect: Annotated[str, typer.Option(help="For SQL: duckdb, postgres, sqlite, …")] = "duckdb",
    table: Annotated[str, typer.Option(help="For SQL: the table to predict.")] = "rows",
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write to a file.")] = None,
    json: Json = None,
) -> None:
    """Print the rules of a saved model as SQL, Python, JSON, LaTeX, English, sympy or PMML.

    \b
    Examples:
      logiclens export model --to sql --dialect postgres --table patients
      logiclens export model --to english
      logiclens export model --to python -o rules.py
    """
    from logiclens.cli.export import export_rules

    export_rules(model, to.value, dialect=dialect, table=table, out=out, json=json)


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(help=MODEL)],
    after: Annotated[Path, typer.Argument(help=MODEL)],
    data: Annotated[str | None, typer.Option(help="Count the rows of a table that get another answer.")] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """What changed between the rules of two saved models. Exit code 0: nothing did. 1: something did.

    \b
    Examples:
      logiclens diff model_2025 model_2026
      logiclens diff model_2025 model_2026 --data patients.csv
    """
    from logiclens.cli.diff import diff_models
    from logiclens.cli.output import console

    changed = diff_models(console(quiet=quiet or json == "-"), before, after, data=data, json=json)
    raise typer.Exit(int(changed))


@app.command()
def report(
    model: Annotated[Path, typer.Argument(help=MODEL)],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The HTML file; - is standard output.")],
    quiet: Quiet = False,
) -> None:
    """Make the HTML page of a saved model again. The same folder gives the same page, byte for byte.

    \b
    Example:
      logiclens report model -o rules.html
    """
    from logiclens.cli.output import check_writable, console, write_text
    from logiclens.formula.folder import open_result
    from logiclens.report.page import render

    check_writable(out)
    write_text(render(open_result(model)), out)
    if out != "-":
        console(quiet=quiet).print(f"The report is in {out}.")


@app.command()
def toy(
    out: Annotated[Path, typer.Option(help="Folder for the four PNG files.")] = Path("toy"),
    seeds: Annotated[int, typer.Option(min=1, max=100, help="How many seeds of model C to train.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs; the paper's number is 18000.")] = 18_000,
) -> None:
    """Repeat the paper's toy comparison of the entropy loss with L1.

    Trains models A (plain layer, L1), B (entropy layer, L1) and C (entropy layer, entropy loss), draws their heat maps
    and the network C, prints C's four formulas, and counts over seeds how many recover the truth.

    \b
    Example:
      logiclens toy --out figures --seeds 5
    """
    from logiclens.cli.output import console
    from logiclens.cli.toy import run_toy

    run_toy(console(), out=out, n_seeds=seeds, epochs=epochs)


def _be_quiet(quiet: bool) -> None:
    """No bar of progress either."""
    if quiet:
        from logiclens.train.progress import silence

        silence()


def main() -> None:
    """Run a command; what the user can put right is one sentence and exit code 2."""
    # What such a warning says stands in the results that the commands print.
    warnings.simplefilter("ignore", LogicLensWarning)
    try:
        app(standalone_mode=True)
    except LogicLensError as error:
        print(f"logiclens: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        sys.stderr.close()
        sys.exit(141)
