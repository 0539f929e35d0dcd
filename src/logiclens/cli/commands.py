"""The commands of `logiclens` with their options and help texts. Each calls the module that does the work."""

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
    ExplainOutputs,
    Json,
    Memory,
    Method,
    Missing,
    Model,
    NoNotes,
    Quiet,
    Scheduler,
    TableSource,
    WithDefault,
    cluster,
    known_format,
)
from logiclens.errors import LogicLensError
from logiclens.export.registry import FORMATS, format_names, help_lines
from logiclens.progress import silence
from logiclens.words import enumeration


def explain(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help=f"{TABLE} Default: a bundled example table.", show_default=False),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column whose values the rules explain. Example: --target died")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE", help="Explain one value of the target against all others. Example: --positive yes"
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Make the rules the model: predictions follow the rules, with a certificate that `verify` checks.",
        ),
    ] = False,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write an HTML report. Example: --report rules.html")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Save the model in a folder, for predict, score, export and verify. Example: --save model",
        ),
    ] = None,
    json: Json = None,
    by: By = None,
    stability: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Train again on N resamples and print how often each rule recurs. Example: --stability 20",
        ),
    ] = None,
    stable: Annotated[
        bool, typer.Option("--stable", help="Use only concepts that recur in at least half of the resampled row sets.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of processes for --stability. Default: 1.")
    ] = None,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Ignore a column; may be repeated. Example: --drop patient_id"),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of row weights, as in a survey. Default: every row counts once."),
    ] = None,
    teacher_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Explain another model: column of its answers or probabilities. Example: --teacher-column p",
        ),
    ] = None,
    teacher_class: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE", help="Class whose probability a numeric teacher column holds. Example: --teacher-class yes"
        ),
    ] = None,
    balanced: Annotated[
        bool,
        typer.Option("--balanced", help="Give every class the same total weight. Default: every row counts the same."),
    ] = False,
    cuts: Annotated[
        Cuts,
        typer.Option(
            metavar="HOW", help="How to cut numbers and dates into conditions: supervised, quantile, uniform or soft."
        ),
    ] = Cuts.supervised,
    max_literals: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Most conditions per class. Default: chosen by cross-validation. Example: --max-literals 5",
        ),
    ] = None,
    set_aside: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.01,
            max=0.9,
            help="Share of rows held out to measure the rules; they are not trained on.",
        ),
    ] = 0.25,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=20,
            help="Cross-validate with N folds first. Default: none; 5 for the bundled example.",
        ),
    ] = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    method: Annotated[
        Method,
        typer.Option(
            metavar="HOW", help="How to find formulas: search, or paper (the extraction of the AAAI 2022 paper)."
        ),
    ] = Method.search,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Random seed for the splits and the weight initialisation.")
    ] = 0,
    engine: Engine = None,
    memory: Memory = None,
    quiet: Quiet = False,
) -> None:
    """Learn rules from a table and print them.

    Numbers and dates are cut into conditions, categories and missing values become conditions too. Networks learn the
    target, and a search states what they learned as one formula per class. A quarter of the rows is held out first;
    every printed number is measured on them. (An engine that counts rows finds the cuts on all rows.) Columns that
    identify rows, such as a patient number, are ignored.

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
    from logiclens.cli.tables import ColumnRoles, check_by, counting, open_lake, read_problem

    wanted = ExplainOutputs(folds or 0, stability, by, save, report, json, jobs, backend)
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
                "rows that an engine counts are held out without their columns, so that --by cannot tell them apart: "
                f"save the model, and say logiclens score MODEL NEW_ROWS --by {shlex.quote(by)}."
            )
        lake = open_lake(asked, target, positive=positive, drop=tuple(drop or ()))
    else:
        # Before anything heavy is loaded: what is wrong with a table is told at once.
        reading = TableSource(data, delimiter, tuple(missing or ()))
        problem = read_problem(reading, ColumnRoles(target, positive, tuple(drop or ()), weight, teacher_column))
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
    with cluster(backend, scheduler, jobs), silence(quiet):
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
Run methods on tasks (the word `run` may be omitted), then make the tables:
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
    Path | None,
    typer.Option(
        metavar="DIR", envvar="LOGICLENS_DATA", help="Folder that holds the data files. Example: --data ~/data"
    ),
]
Out: TypeAlias = Annotated[
    Path, typer.Option(metavar="DIR", help="Folder for the results; an existing one is continued.")
]
Protocol: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="clean (no leaks), paper (like the authors' scripts), or both.")
]
Folds: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=2, max=20, help="Number of folds, or of seeds where the protocol has one split.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=0, help="Random seed for the folds and the weight initialisation.")
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Number of runs at a time. Default: one per core.")
]
Limit: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=1,
        help="Stop a run after so many seconds and record it as stopped. Default: no limit. Example: --limit 600",
    ),
]
Retry: TypeAlias = Annotated[bool, typer.Option("--retry", help="Repeat runs that failed or were stopped.")]
Cache: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder for predicted concepts. Default: OUT/concepts.")
]
Epochs: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Training epochs of image encoders. Default: each encoder's own number."),
]
OUT = Path("bench")
TAUS, LAMBDAS = "4,5,6", "1e-6,1e-5,1e-4,1e-3"
"""The paper's grid for V-Dem."""


@bench_app.command(cls=Command, short_help="Run methods on tasks.")
def run(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TASKS]...",
            show_default=False,
            help="Tasks of `logiclens bench --help`. Default: the tables of the paper. Example: mimic2 iris",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Methods or groups, separated by commas. Default: all. Example: --methods ours,tree"
        ),
    ] = None,
    data: BenchData = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Jobs = None,
    limit: Limit = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A short comparison: MIMIC-II and V-Dem, our methods and the simplest rules."),
    ] = False,
    retry: Retry = False,
    cache: Cache = None,
    epochs: Epochs = None,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Run methods on tasks and append every measurement to OUT/results.csv.

    A run is one method on one fold. Runs that are in the table already are not repeated, so a stopped bench continues
    where it was. A method that fails, or whose package is missing, is recorded as failed; the others continue.

    \b
    Methods: minimal exact labels paper authors soft joint · oner stump tree-2 … tree-8 best-3 · tree brl psi
    ripper column-generation figs rule-list rrl · torch_explain · forest logistic mlp ebm direct
    """
    from logiclens.cli.bench import BenchOptions, run_bench

    asked = BenchOptions(out, protocol, data, cache, folds, seed, jobs, limit, retry, epochs, backend, scheduler)
    run_bench(asked, tasks or (), methods or (), quick=quick, quiet=quiet)


@bench_app.command(cls=Command, short_help="Try a grid of temperature and penalty, or search.")
def sweep(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="Task of `logiclens bench --help`. Example: iris")
    ] = "vdem",
    data: BenchData = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    taus: Annotated[str, typer.Option(metavar="NUMBERS", help="Temperatures to try, separated by commas.")] = TAUS,
    lambdas: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Weights of the entropy loss to try, separated by commas.")
    ] = LAMBDAS,
    search: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Search the settings instead of trying a grid. Example: --search optuna"),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="With --search: total number of trials, earlier ones included. Default: 30."
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="With --search: database of the trials, sqlite:///FILE or postgresql://... Default: OUT/search.db.",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --search: name of the study in its database. Default: derived from the task."
        ),
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
    """Train with every temperature and penalty of a grid; the report marks the best pair.

    The best pair has the largest sum of model accuracy and explanation accuracy on validation rows, as in the paper.
    Test rows only measure it.

    With --search optuna, temperature, penalty, hidden widths and cuts are searched for high model accuracy, high
    explanation accuracy and few literals, on validation rows only. Several processes may share one study, and a stopped
    study continues where it was.
    """
    from logiclens.cli.bench import BenchOptions, SearchOptions, numbers, run_search, run_sweep

    wanted = SearchOptions(search, trials, storage, study, grid=(taus, lambdas) != (TAUS, LAMBDAS), retry=retry)
    wanted.check()
    asked = BenchOptions(out, protocol, data, cache, folds, seed, jobs, limit, retry, None, backend, scheduler)
    if search is not None:
        run_search(asked, task, wanted, quiet=quiet)
        return
    run_sweep(asked, task, numbers("--taus", taus), numbers("--lambdas", lambdas), quiet=quiet)


@bench_app.command(cls=Command, short_help="Predict the concepts of image tasks.")
def encode(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TASKS]...",
            show_default=False,
            help="Tasks with an encoder. Default: all of them. Example: mnist cub",
        ),
    ] = None,
    data: BenchData = None,
    cache: Annotated[Path, typer.Option(metavar="DIR", help="Folder for predicted concepts.")] = OUT / "concepts",
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of encoders trained at a time. Default: 1.")
    ] = None,
    epochs: Epochs = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Train the encoders from inputs to concepts (vdem, vdem-countries, mnist, cub) and save their predictions.

    A GPU is used if there is one. `bench` does this itself when needed; use this command to do it on another machine.
    A stopped run continues from its last epoch.
    """
    from logiclens.cli.bench import BenchOptions, run_encode

    run_encode(
        BenchOptions(cache.parent, protocol, data, cache, folds, seed, jobs, epochs=epochs), tasks or (), quiet=quiet
    )


@bench_app.command("report", cls=Command, short_help="Make tables and figures from results.")
def bench_report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `logiclens bench` wrote. Example: results")
    ],
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

`logiclens COMMAND --help` explains a command. Every command except bench takes --json FILE (- is standard output) to
write its result for other programs.
Results go to standard output. Notes go to standard error, and so does a progress bar if it is a terminal.

Exit codes: 0 success; 1 the answer is no (verify: refuted, diff: something changed); 2 an error that you can fix,
explained in one sentence; 130 stopped by Ctrl-C, with no half-written file left behind.""",
)


app.add_typer(bench_app, name="bench")


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"logiclens {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(cls=Command, short_help="Learn rules from a table.")(explain)


@app.command(cls=Command, short_help="Predict the class of each row of a table.")
def predict(
    model: Model,
    data: Data,
    why: Annotated[bool, typer.Option("--why", help="Add a column with the rule behind each answer.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Copy a column into the output; may be repeated. Example: --keep patient_id"
        ),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Predict with the rules instead of the network.")] = False,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Output file; its suffix gives the format: .csv, .tsv, .parquet or .jsonl. Default: the terminal.",
        ),
    ] = None,
    keep_formulas: Annotated[
        bool,
        typer.Option(
            "--keep-formulas",
            help="Leave texts that begin with = + - @ in CSV as they are. Default: an apostrophe before each, so that "
            "no spreadsheet computes them.",
        ),
    ] = False,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    engine: Engine = None,
    memory: Memory = None,
    quiet: NoNotes = False,
) -> None:
    """Predict the class of each row of a table, with a confidence.

    Columns are matched by name. Extra columns are ignored; a missing column is an error that names it. A category that
    training did not have matches no category of the rules, and a missing value is above no threshold; such rows are
    predicted too.

    A folder or pattern of files is not read: an engine runs the rules as SQL and writes Parquet with the class and all
    columns of the table, or those of --keep.

    \b
    Examples:
      logiclens predict model new.csv
      logiclens predict model new.csv --why --keep patient_id -o predictions.csv
      cat new.csv | logiclens predict model - --json -
      logiclens predict model 'lake/2027/*.parquet' -o answers.parquet --memory 4GB
    """
    from logiclens.cli.predict import predict_lake, predict_table
    from logiclens.cli.tables import counting

    refused = {"--why": why, "--json": json, "--delimiter": delimiter, "--missing": missing}
    if (asked := counting(data, engine, memory, refused, what="answers")) is not None:
        predict_lake(model, asked, keep=keep or (), by_rules=rules, out=out, quiet=quiet)
        return
    reading = TableSource(data, delimiter, tuple(missing or ()))
    predict_table(
        model, reading, why=why, keep=keep or (), by_rules=rules, out=out, json=json, quiet=quiet,
        keep_formulas=keep_formulas,
    )  # fmt: skip


@app.command(cls=Command, short_help="Measure a saved model on a table with known classes.")
def score(
    model: Model,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the true classes. Default: the target's name in training."),
    ] = None,
    by: By = None,
    per_file: Annotated[
        bool, typer.Option("--per-file", help="Show the figures for each file of a folder or pattern.")
    ] = False,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    engine: Engine = None,
    memory: Memory = None,
    quiet: Quiet = False,
) -> None:
    """Measure a saved model and its rules on a table with known classes.

    Use rows that the model was not trained on, or the numbers are too good. A folder or pattern of files is counted by
    an engine instead of read.

    \b
    Examples:
      logiclens score model next_year.csv
      logiclens score model next_year.csv --by sex --json score.json
      logiclens score model 'lake/2027/*.parquet' --per-file
    """
    from logiclens.cli.score import score_lake, score_table
    from logiclens.cli.tables import counting

    asked = counting(data, engine, memory, {"--delimiter": delimiter, "--missing": missing})
    if asked is not None:
        score_lake(model, asked, target=target, by=by, per_file=per_file, json=json, quiet=quiet)
        return
    if per_file:
        raise LogicLensError("--per-file tells the files of a folder or a pattern apart: name these, or use --by.")
    reading = TableSource(data, delimiter, tuple(missing or ()))
    score_table(model, reading, target=target, by=by, json=json, quiet=quiet)


@app.command(cls=Command, short_help="Check that the printed rules of a saved model are the model.")
def verify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=f"{FOLDER} It must be exact.", show_default=False)],
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Public key of the signer; checks the signature. Example: --key public.pem"),
    ] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Check that the printed rules of a saved model are the model.

    The check recomputes every class from the saved weights with independent code and without torch. Exit code 0: the
    rules are the model. 1: they are not, and what differs is printed; or the signature is not that of the key and these
    files. 2: nothing is known: the folder or the signature cannot be read, or its files do not belong together.

    \b
    Examples:
      logiclens verify model
      logiclens verify model --key auditor.public.pem
      logiclens verify model --quiet && echo "the rules are the model"
    """
    from logiclens.cli.models import verify_model

    raise typer.Exit(verify_model(model, key=key, json=json, quiet=quiet))


@app.command(cls=Command, name="sign", short_help="Sign a saved model, so that others know who made it.")
def sign_(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help=f"{FOLDER} It must be exact.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your private key. Example: --key auditor.private.pem")
    ] = None,
    new_key: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Make a key pair, NAME.private.pem and NAME.public.pem. Example: --new-key auditor"
        ),
    ] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Sign a saved model, so that others know who made it. Needs logiclens[sign].

    The signature covers every file of the folder. It is written into the folder, and `logiclens verify --key` checks
    it. A model is signed only if `verify` confirms it. Saving the model again removes the signature.

    \b
    Examples:
      logiclens sign --new-key auditor
      logiclens sign model --key auditor.private.pem
      logiclens verify model --key auditor.public.pem
    """
    from logiclens.cli.models import make_key, sign_model

    if new_key is not None:
        if model is not None or key is not None:
            raise LogicLensError("--new-key makes a key pair and signs nothing: leave out MODEL and --key.")
        make_key(new_key, json=json, quiet=quiet)
        return
    if model is None or key is None:
        raise LogicLensError("say which model to sign and with which key: logiclens sign MODEL --key FILE.")
    raise typer.Exit(sign_model(model, key, json=json, quiet=quiet))


_TITLES = [entry.title for entry in FORMATS]


@app.command(
    cls=Command,
    short_help=f"Print the rules as {', '.join(_TITLES[:5])}, …",
    help=f"""Print the rules of a saved model as {enumeration(_TITLES, last="or")}.

The exported rules predict the same classes as logiclens, and do not need it.

\b
Formats:
{help_lines()}

\b
Examples:
  logiclens export model --to sql --dialect postgres --table patients
  logiclens export model --to english
  logiclens export model --to python -o rules.py
""",
)
def export(
    model: Model,
    to: Annotated[str, typer.Option(metavar="FORM", callback=known_format, help=f"{format_names()}.")] = FORMATS[
        0
    ].name,
    dialect: Annotated[str, typer.Option(metavar="NAME", help="SQL dialect: duckdb, postgres, sqlite, …")] = "duckdb",
    table: Annotated[str, typer.Option(metavar="NAME", help="SQL table to predict.")] = "rows",
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write to a file. Default: the terminal. Example: -o rules.sql"
        ),
    ] = None,
    json: Json = None,
    quiet: NoNotes = False,
) -> None:
    """Print the rules of a saved model in a format of the registry."""
    from logiclens.cli.models import export_rules

    export_rules(model, to, dialect=dialect, table=table, out=out, json=json, quiet=quiet)


@app.command(cls=Command, short_help="Show what changed between the rules of two saved models.")
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help=FOLDER, show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help=FOLDER, show_default=False)],
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help="Table on which to count the rows whose answer changes. Example: --data patients.csv"
        ),
    ] = None,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    quiet: Quiet = False,
) -> None:
    """Show what changed between the rules of two saved models. Exit code 0: nothing. 1: something.

    Rules are compared by meaning: rules that are written differently but give every row the same answer have not
    changed.

    \b
    Examples:
      logiclens diff model_2025 model_2026
      logiclens diff model_2025 model_2026 --data patients.csv
    """
    from logiclens.cli.models import diff_models

    reading = None
    if data is not None:
        reading = TableSource(data, delimiter, tuple(missing or ()))
    raise typer.Exit(int(diff_models(before, after, reading=reading, json=json, quiet=quiet)))


@app.command(cls=Command, short_help="Make the HTML page of a saved model again.")
def report(
    model: Model,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="HTML file to write; - is standard output. Example: -o rules.html"
        ),
    ],
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
    seeds: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Number of random seeds for model C.")] = 5,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Training epochs; the paper uses 18000.")] = 18_000,
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
