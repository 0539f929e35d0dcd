"""`logiclens`: its commands, as `--help` shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logiclens import __version__
from logiclens.cli.app_bench import bench_app
from logiclens.cli.app_explain import explain
from logiclens.cli.options import (
    FOLDER,
    By,
    Command,
    Data,
    Delimiter,
    Engine,
    Form,
    Json,
    Memory,
    Missing,
    Model,
    NoNotes,
    Quiet,
)
from logiclens.errors import LogicLensError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Rules from a table: neural networks that state their own reasons in logic.

\b
A table goes in, a rule sheet comes out:
  logiclens explain patients.csv --target died --report rules.html
  logiclens explain patients.csv --target died --save model

\b
A saved model is applied, measured, compared and carried elsewhere:
  logiclens predict model new_patients.csv --why -o predictions.csv
  logiclens score model next_year.csv
  logiclens diff model model_of_next_year
  logiclens export model --to sql --dialect postgres --table patients

\b
With --exact the printed rules are the model, and anyone can check that:
  logiclens explain patients.csv --target died --exact --save model
  logiclens verify model

\b
Methods are compared on the same folds:
  logiclens bench --quick --data DATA --out quick

Every command but bench, which keeps a table, takes --json FILE (or - for standard output) for programs, and `logiclens
COMMAND --help` explains it.
Results go to standard output; notes and a bar of progress, on a terminal only, to standard error.

Exit codes: 0 all is well; 1 the answer is no (verify: refuted, diff: something changed); 2 something you can put right,
told in one sentence; 130 stopped by Ctrl-C, with no half-written file left behind.""",
)


app.add_typer(bench_app, name="bench")


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"logiclens {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(cls=Command, short_help="From a table to rules.")(explain)


@app.command(cls=Command, short_help="The class of each row of a table.")
def predict(
    model: Model,
    data: Data,
    why: Annotated[bool, typer.Option("--why", help="Add the rule behind each answer.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Copy a column of the table; may be repeated.")
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Let the rules decide, also where a network could.")] = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="CSV, TSV, Parquet or JSON lines, by its name.")
    ] = None,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    engine: Engine = None,
    memory: Memory = None,
    quiet: NoNotes = False,
) -> None:
    """The class of each row of a table, with how far it can be trusted.

    Columns are found by name; others are ignored, and one that is missing is named. A category that the model has not
    seen belongs to none that it knows, and a missing value is above no cut: such rows are answered all the same.

    Files in a folder or behind a pattern are not read: the rules answer, as SQL that an engine runs, and it writes
    Parquet with all columns of the table, or those of --keep, and the class.

    \b
    Examples:
      logiclens predict model new.csv
      logiclens predict model new.csv --why --keep patient_id -o predictions.csv
      cat new.csv | logiclens predict model - --json -
      logiclens predict model 'lake/2027/*.parquet' -o answers.parquet --memory 4GB
    """
    from logiclens.cli.lake import counting
    from logiclens.cli.predict import predict_lake, predict_table
    from logiclens.cli.reading import Reading

    refused = {"--why": why, "--json": json, "--delimiter": delimiter, "--missing": missing}
    if (asked := counting(data, engine, memory, refused, what="answers")) is not None:
        predict_lake(model, asked, keep=keep or (), by_rules=rules, out=out, quiet=quiet)
        return
    reading = Reading(data, delimiter, tuple(missing or ()))
    predict_table(model, reading, why=why, keep=keep or (), by_rules=rules, out=out, json=json, quiet=quiet)


@app.command(cls=Command, short_help="How good a saved model is on a table with known classes.")
def score(
    model: Model,
    data: Data,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="If it has another name than in training.")
    ] = None,
    by: By = None,
    per_file: Annotated[bool, typer.Option("--per-file", help="Show the rules for each file of a lake.")] = False,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    engine: Engine = None,
    memory: Memory = None,
    quiet: Quiet = False,
) -> None:
    """How good a saved model and its rules are on a table with known classes.

    The numbers say how the model does on new rows only if it was not trained on these. Files in a folder or behind a
    pattern are not read but counted by an engine.

    \b
    Examples:
      logiclens score model next_year.csv
      logiclens score model next_year.csv --by sex --json score.json
      logiclens score model 'lake/2027/*.parquet' --per-file
    """
    from logiclens.cli.lake import counting
    from logiclens.cli.reading import Reading
    from logiclens.cli.score import score_lake, score_table

    asked = counting(data, engine, memory, {"--delimiter": delimiter, "--missing": missing})
    if asked is not None:
        score_lake(model, asked, target=target, by=by, per_file=per_file, json=json, quiet=quiet)
        return
    if per_file:
        raise LogicLensError("--per-file tells the files of a folder or a pattern apart: name these, or use --by.")
    reading = Reading(data, delimiter, tuple(missing or ()))
    score_table(model, reading, target=target, by=by, json=json, quiet=quiet)


@app.command(cls=Command, short_help="Check that the printed rules of a saved model are the model.")
def verify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=f"{FOLDER} It must be exact.", show_default=False)],
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Check that the printed rules of a saved model are the model.

    Recomputes every head on its whole domain from the weights, with code of its own and without torch. Exit code 0: the
    claim holds. 1: it does not, and the row that disagrees is named. 2: the folder cannot be used, or its files are not
    those that the certificate was made for.

    \b
    Examples:
      logiclens verify model
      logiclens verify model --quiet && echo "the rules are the model"
    """
    from logiclens.cli.verify import verify_model

    raise typer.Exit(verify_model(model, json=json, quiet=quiet))


@app.command(cls=Command, short_help="Print the rules as SQL, Python, JSON, LaTeX, English, …")
def export(
    model: Model,
    to: Annotated[
        Form, typer.Option(metavar="FORM", help="sql, python, json, latex, english, sympy or pmml.")
    ] = Form.sql,
    dialect: Annotated[str, typer.Option(metavar="NAME", help="For SQL: duckdb, postgres, sqlite, …")] = "duckdb",
    table: Annotated[str, typer.Option(metavar="NAME", help="For SQL: the table to predict.")] = "rows",
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write to a file.")] = None,
    json: Json = None,
    quiet: NoNotes = False,
) -> None:
    """Print the rules of a saved model as SQL, Python, JSON, LaTeX, English, sympy or PMML.

    Each form predicts by itself, without logiclens: the class of the rule that fires and can be trusted most.

    \b
    Examples:
      logiclens export model --to sql --dialect postgres --table patients
      logiclens export model --to english
      logiclens export model --to python -o rules.py
    """
    from logiclens.cli.export import export_rules

    export_rules(model, to.value, dialect=dialect, table=table, out=out, json=json, quiet=quiet)


@app.command(cls=Command, short_help="What changed between the rules of two saved models.")
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help=FOLDER, show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help=FOLDER, show_default=False)],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Count the rows of a table that get another answer.")
    ] = None,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    quiet: Quiet = False,
) -> None:
    """What changed between the rules of two saved models. Exit code 0: nothing did. 1: something did.

    Cuts of the same column are compared as numbers: rules that are written differently and mean the same have not
    changed.

    \b
    Examples:
      logiclens diff model_2025 model_2026
      logiclens diff model_2025 model_2026 --data patients.csv
    """
    from logiclens.cli.diff import diff_models
    from logiclens.cli.reading import Reading

    reading = None if data is None else Reading(data, delimiter, tuple(missing or ()))
    raise typer.Exit(int(diff_models(before, after, reading=reading, json=json, quiet=quiet)))


@app.command(cls=Command, short_help="Make the HTML page of a saved model again.")
def report(
    model: Model,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The HTML file; - is standard output.")],
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Make the HTML page of a saved model again. The same folder gives the same page, byte for byte.

    \b
    Example:
      logiclens report model -o rules.html
    """
    from logiclens.cli.report import write_report

    write_report(model, out, json=json, quiet=quiet)


@app.command(cls=Command, short_help="Repeat the paper's toy comparison of the entropy loss with L1.")
def toy(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the four PNG files.")] = Path("toy"),
    seeds: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="How many seeds of model C to train.")] = 5,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Epochs; the paper's number is 18000.")] = 18_000,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Repeat the paper's toy comparison of the entropy loss with L1.

    Trains models A (plain layer, L1), B (entropy layer, L1) and C (entropy layer, entropy loss), draws their heat maps
    and the network C, prints C's four formulas, and counts over seeds how many recover the truth.

    \b
    Example:
      logiclens toy --out figures --seeds 5
    """
    from logiclens.cli.toy import run_toy

    run_toy(out=out, n_seeds=seeds, epochs=epochs, json=json, quiet=quiet)
