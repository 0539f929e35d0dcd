"""`logiclens`: its commands, as `--help` shows them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from logiclens import __version__
from logiclens.cli.options import (
    FOLDER,
    TABLE,
    Backend,
    By,
    Command,
    Cuts,
    Data,
    Delimiter,
    Engine,
    Form,
    Json,
    Memory,
    Method,
    Missing,
    Model,
    NoNotes,
    Quiet,
    Scheduler,
    WithDefault,
    cluster,
)
from logiclens.errors import LogicLensError


def explain(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help=f"{TABLE} Without: a bundled example.", show_default=False),
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
    stable: Annotated[bool, typer.Option("--stable", help="Rules of what recurs on bags of the rows only.")] = False,
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
    teacher_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Explain the answers of another model in this column.")
    ] = None,
    teacher_class: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The class that a numeric teacher column is the probability of.")
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let every class weigh the same, however rare it is.")
    ] = False,
    cuts: Annotated[
        Cuts, typer.Option(metavar="HOW", help="Cut numbers and dates: supervised, quantile, uniform, soft.")
    ] = Cuts.supervised,
    max_literals: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most conditions per class; cross-validation if omitted.")
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
        Method, typer.Option(metavar="HOW", help="Find formulas: search, or as the paper does.")
    ] = Method.search,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the parts and the initial weights.")] = 0,
    engine: Engine = None,
    memory: Memory = None,
    quiet: Quiet = False,
) -> None:
    """From a table to rules.

    Numbers and dates are cut where it matters, categories and gaps become conditions; a network learns the target and
    states its reasons as one formula for each class. A quarter of the rows is set aside before anything is looked at,
    and every number printed is measured on these; where an engine counts rows, cuts are found on all of them. Columns
    that name rows, such as a patient number, are left out.

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
    from logiclens.cli.engine import counting, open_lake
    from logiclens.cli.explain import Wanted
    from logiclens.cli.tables import Asked, Reading, check_by, read_problem

    wanted = Wanted(folds or 0, stability, by, save, report, json, jobs, backend)
    wanted.check(data=data)
    if weight is not None and folds:
        raise LogicLensError("cross-validation counts every row once: leave out --folds or --weight.")
    problem = lake = None
    refused = {
        "--weight": weight,
        "--folds": folds,
        "--delimiter": delimiter,
        "--missing": missing,
        "--teacher-column": teacher_column,
    }
    if teacher_class is not None and teacher_column is None:
        raise LogicLensError("--teacher-class says what the numbers of a column are: say --teacher-column COLUMN too.")
    if teacher_column is not None and folds:
        raise LogicLensError("cross-validation has no answers of a teacher: leave out --folds or --teacher-column.")
    if data is None:
        if any(given for given in (target, positive, drop, weight, teacher_column, delimiter, missing, engine, memory)):
            raise LogicLensError("the bundled example takes no such options: name your table, logiclens explain DATA.")
    elif target is None:
        raise LogicLensError("which column is to be explained? Say --target COLUMN.")
    elif (asked := counting(data, engine, memory, refused)) is not None:
        if by is not None:
            raise LogicLensError(
                "rows that an engine counts are set aside without their columns, so that --by cannot tell them apart: "
                f"save the model, and say logiclens score MODEL NEW_ROWS --by {shlex.quote(by)}."
            )
        lake = open_lake(asked, target, positive=positive, drop=tuple(drop or ()))
    else:
        # Before anything heavy is loaded: what is wrong with a table is told at once.
        reading = Reading(data, delimiter, tuple(missing or ()))
        problem = read_problem(reading, Asked(target, positive, tuple(drop or ()), weight, teacher_column))
        check_by(problem, by)
    from logiclens.cli.explain import explain_lake, explain_table, recorded_teacher
    from logiclens.estimator.classifier import EntropyClassifier

    model = EntropyClassifier(
        cuts.value,
        exact=exact,
        stable=stable,
        teacher=recorded_teacher(problem, teacher_class),
        max_literals=max_literals,
        class_weight="balanced" if balanced else None,
        method="paper" if method is Method.paper else "search",
        set_aside=set_aside,
        random_state=seed,
    )
    with cluster(backend, scheduler, jobs):
        if lake is not None:
            explain_lake(lake, model, wanted, quiet=quiet)
        else:
            explain_table(problem, model, wanted, quiet=quiet)


bench_app = typer.Typer(
    cls=WithDefault,
    rich_markup_mode=None,
    short_help="Compare methods on the paper's tasks, fold by fold.",
    help="""Compare methods on the paper's tasks, fold by fold.

\b
Run methods on tasks (`run` need not be written), then make the tables:
  logiclens bench --quick --data DATA --out quick
  logiclens bench mimic2 vdem --data DATA --methods ours,tree,brl --out results
  logiclens bench sweep vdem --data DATA --out results
  logiclens bench sweep iris --search optuna --trials 30 --out results
  logiclens bench report results

\b
Tasks:    mimic2 mimic2-early vdem vdem-given vdem-countries mnist cub, breast-cancer wine iris
          digits-parity (in scikit-learn), xor parity random-dnf (made), toy (the paper's appendix)
Methods:  the names of `logiclens bench run --help`, or ours, simplest, rules, black-box, reference, all""",
)

BenchData: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", envvar="LOGICLENS_DATA", help="The folder of the data files.")
]
Out: TypeAlias = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the results, begun or gone on with.")]
Protocol: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="clean (no leaks), paper (as the authors' scripts), or both.")
]
Folds: TypeAlias = Annotated[int, typer.Option(metavar="N", min=2, max=20, help="Folds, or seeds.")]
Seed: TypeAlias = Annotated[int, typer.Option(metavar="N", min=0, help="Of folds and initial weights.")]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Runs at a time; one for each core if not said.")
]
Limit: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=1, help="Stop a run after so long, and write that down.")
]
Retry: TypeAlias = Annotated[bool, typer.Option("--retry", help="Run again what failed or was stopped before.")]
Cache: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where predicted concepts are kept; OUT/concepts if not said.")
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Of image encoders, in place of their own number.")
]
OUT = Path("bench")
TAUS, LAMBDAS = "4,5,6", "1e-6,1e-5,1e-4,1e-3"
"""The paper's grid for V-Dem."""


@bench_app.command(cls=Command, short_help="Run methods on tasks.")
def run(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="[TASKS]...", show_default=False)] = None,
    methods: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Methods or groups, with commas; all if not said.")
    ] = None,
    data: BenchData = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Jobs = None,
    limit: Limit = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="MIMIC-II and V-Dem, our methods and the simplest rules.")
    ] = False,
    retry: Retry = False,
    cache: Cache = None,
    epochs: Epochs = None,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Run methods on tasks, and write every measurement into OUT/results.csv as it comes.

    A run is one method on one fold. What is in the table already is not run again, so a bench that was stopped goes on
    where it was. A method that fails, or whose package is not installed, is written down as such; the others go on.

    \b
    Methods: minimal exact labels paper authors soft joint · oner stump tree-2 … tree-8 best-3 · tree brl psi
    ripper column-generation figs rule-list rrl · torch_explain · forest logistic mlp ebm direct
    """
    from logiclens.cli.bench import Asked, run_bench

    asked = Asked(out, protocol, data, cache, folds, seed, jobs, limit, retry, epochs, backend, scheduler)
    run_bench(asked, tasks or (), methods or (), quick=quick, quiet=quiet)


@bench_app.command(cls=Command, short_help="Try a grid of temperature and penalty, or search.")
def sweep(
    task: Annotated[str, typer.Argument(metavar="TASK")] = "vdem",
    data: BenchData = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    taus: Annotated[str, typer.Option(metavar="NUMBERS", help="Temperatures, with commas.")] = TAUS,
    lambdas: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Weights of the entropy loss, with commas.")
    ] = LAMBDAS,
    search: Annotated[str | None, typer.Option(metavar="NAME", help="Search instead of a grid: optuna.")] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Of a search, in all, those done before too; 30 if not said.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of a search: sqlite:///FILE, postgresql://...; OUT/search.db if not said."),
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a search in its storage; of the task if not said.")
    ] = None,
    folds: Folds = 5,
    jobs: Jobs = None,
    limit: Limit = None,
    retry: Retry = False,
    cache: Cache = None,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Train with every temperature and penalty of a grid; the report marks the best of them.

    The best has the largest sum of model accuracy and explanation accuracy on validation rows, as in the paper; test
    rows only tell how good it is.

    With --search optuna temperature, penalty, hidden widths and cuts are searched, for model accuracy, explanation
    accuracy and few literals at once, on validation rows alone. Any number of processes may work on one study, and one
    that was stopped goes on where it was.
    """
    from logiclens.cli.bench import Asked, Wanted, numbers, run_search, run_sweep

    wanted = Wanted(search, trials, storage, study, grid=(taus, lambdas) != (TAUS, LAMBDAS), retry=retry)
    wanted.check()
    asked = Asked(out, protocol, data, cache, folds, seed, jobs, limit, retry, None, backend, scheduler)
    if search is not None:
        run_search(asked, task, wanted, quiet=quiet)
        return
    run_sweep(asked, task, numbers("--taus", taus), numbers("--lambdas", lambdas), quiet=quiet)


@bench_app.command(cls=Command, short_help="Predict the concepts of image tasks.")
def encode(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="[TASKS]...", show_default=False)] = None,
    data: BenchData = None,
    cache: Annotated[Path, typer.Option(metavar="DIR", help="Where predicted concepts are kept.")] = OUT / "concepts",
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Encoders at a time; 1 if not said.")] = None,
    epochs: Epochs = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Train the encoders from inputs to concepts (vdem, vdem-countries, mnist, cub), and keep what they predict.

    On the GPU if there is one. `bench` does this by itself where it has to; here it is done alone, for another machine.
    A run that was stopped goes on from its last epoch.
    """
    from logiclens.cli.bench import Asked, run_encode

    run_encode(Asked(cache.parent, protocol, data, cache, folds, seed, jobs, epochs=epochs), tasks or (), quiet=quiet)


@bench_app.command("report", cls=Command, short_help="Make tables and figures from results.")
def bench_report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `logiclens bench` wrote.")],
    quiet: Quiet = False,
) -> None:
    """Make the paper's tables and figures from the results in a folder, as Markdown, LaTeX and one HTML page."""
    from logiclens.cli.bench import write_report

    write_report(folder, quiet=quiet)


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
    from logiclens.cli.engine import counting
    from logiclens.cli.predict import predict_lake, predict_table
    from logiclens.cli.tables import Reading

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
    from logiclens.cli.engine import counting
    from logiclens.cli.score import score_lake, score_table
    from logiclens.cli.tables import Reading

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
    from logiclens.cli.models import verify_model

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
    from logiclens.cli.models import export_rules

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
    from logiclens.cli.models import diff_models
    from logiclens.cli.tables import Reading

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
    from logiclens.cli.models import write_report

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
    from logiclens.cli.bench import run_toy

    run_toy(out=out, n_seeds=seeds, epochs=epochs, json=json, quiet=quiet)
