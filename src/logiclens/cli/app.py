"""`logiclens`: its commands, as `--help` shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logiclens import __version__
from logiclens.cli.app_bench import bench_app
from logiclens.cli.cluster import Backend, Scheduler, cluster
from logiclens.cli.options import (
    FOLDER,
    TABLE,
    By,
    Command,
    Cuts,
    Data,
    Delimiter,
    Engine,
    Form,
    Json,
    Method,
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


@app.command(cls=Command, short_help="From a table to rules.")
def explain(
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help=f"{TABLE} Without: a bundled example.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column to explain.")] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Explain this value of the target against all others.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Make the rules the model, with a proof.")] = False,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write one HTML page.")] = None,
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the model in a folder.")] = None,
    json: Json = None,
    by: By = None,
    stability: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Train again on N resamples: which parts recur?")
    ] = None,
    stable: Annotated[bool, typer.Option("--stable", help="With --stability: rules made of what recurs.")] = False,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="With --stability: so many processes; 1 if not said.")
    ] = None,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; may be repeated.")
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How much each row counts, as in a survey.")
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let every class weigh the same, however rare it is.")
    ] = False,
    cuts: Annotated[
        Cuts, typer.Option(metavar="HOW", help="Cut numbers and dates: supervised, quantile, uniform, soft.")
    ] = Cuts.supervised,
    max_literals: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most conditions a class; 9 with --exact, else 40.")
    ] = None,
    set_aside: Annotated[
        float, typer.Option(metavar="SHARE", min=0.01, max=0.9, help="Share of the rows to measure on.")
    ] = 0.25,
    folds: Annotated[
        int | None, typer.Option(metavar="N", min=2, max=20, help="Cross-validate first; 5 for the example.")
    ] = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    method: Annotated[
        Method, typer.Option(metavar="HOW", help="Choose formulas: minimal, or as the paper does.")
    ] = Method.minimal,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the parts and the initial weights.")] = 0,
    engine: Annotated[
        Engine | None,
        typer.Option(metavar="NAME", help="Count rows where they are: duckdb (patterns, folders) or spark."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The most that DuckDB takes before it uses the disk: 4GB.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """From a table to rules.

    Numbers and dates are cut where it matters, categories and gaps become conditions; a network learns the target and
    states its reasons as one formula for each class. A quarter of the rows is set aside before anything is looked at,
    and every number printed is measured on these. Columns that name rows, such as a patient number, are left out.

    \b
    Examples:
      logiclens explain
      logiclens explain patients.csv --target died
      logiclens explain patients.csv --target died --exact --save model
      logiclens explain credit.parquet --target status --positive default --by sex
      zcat visits.csv.gz | logiclens explain - --target outcome --json result.json
      logiclens explain patients.csv --target died --stability 20 --report rules.html
      logiclens explain 'lake/2026/*.parquet' --target churned --engine duckdb --memory 4GB
    """
    from logiclens.cli.lake import open_lake
    from logiclens.cli.reading import Reading
    from logiclens.cli.tables import Asked, check_by, read_problem
    from logiclens.cli.wanted import Wanted
    from logiclens.data.names import names_several

    wanted = Wanted(folds or 0, stability, stable, by, save, report, json, jobs, backend)
    wanted.check(exact=exact, data=data)
    if weight is not None and folds:
        raise LogicLensError("cross-validation counts every row once: leave out --folds or --weight.")
    problem = lake = None
    if data is None:
        if any(given for given in (target, positive, drop, weight, delimiter, missing, engine, memory)):
            raise LogicLensError("the bundled example takes no such options: name your table, logiclens explain DATA.")
    elif target is None:
        raise LogicLensError("which column is to be explained? Say --target COLUMN.")
    elif engine is not None or names_several(data):
        refused = {"--by": by, "--weight": weight, "--folds": folds, "--delimiter": delimiter, "--missing": missing}
        if wrong := [option for option, given in refused.items() if given]:
            raise LogicLensError(f"rows that an engine counts take no {wrong[0]}.")
        lake = open_lake(
            data, target, engine="duckdb" if engine is None else engine.value, memory=memory, positive=positive,
            drop=tuple(drop or ()),
        )  # fmt: skip
    else:
        # Before anything heavy is loaded: what is wrong with a table is told at once.
        reading = Reading(data, delimiter, tuple(missing or ()))
        problem = read_problem(reading, Asked(target, positive, tuple(drop or ()), weight))
        check_by(problem, by)
    from logiclens.cli.explain import explain_lake, explain_table
    from logiclens.estimators.classifier import EntropyClassifier

    model = EntropyClassifier(
        cuts.value,
        exact=exact,
        max_literals=max_literals,
        class_weight="balanced" if balanced else None,
        method=method.value,
        set_aside=set_aside,
        random_state=seed,
    )
    with cluster(backend, scheduler, jobs):
        if lake is not None:
            explain_lake(lake, model, wanted, quiet=quiet)
        else:
            explain_table(problem, model, wanted, quiet=quiet)


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
    quiet: NoNotes = False,
) -> None:
    """The class of each row of a table, with how far it can be trusted.

    Columns are found by name; others are ignored, and one that is missing is named. A category that the model has not
    seen belongs to none that it knows, and a missing value is above no cut: such rows are answered all the same.

    \b
    Examples:
      logiclens predict model new.csv
      logiclens predict model new.csv --why --keep patient_id -o predictions.csv
      cat new.csv | logiclens predict model - --json -
    """
    from logiclens.cli.predict import predict_table
    from logiclens.cli.reading import Reading

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
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    quiet: Quiet = False,
) -> None:
    """How good a saved model and its rules are on a table with known classes.

    The numbers say how the model does on new rows only if it was not trained on these.

    \b
    Examples:
      logiclens score model next_year.csv
      logiclens score model next_year.csv --by sex --json score.json
    """
    from logiclens.cli.reading import Reading
    from logiclens.cli.score import score_table

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
