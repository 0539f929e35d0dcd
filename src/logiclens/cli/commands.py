"""The commands of `logiclens` with their options and help texts. Each calls the module that does the work."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeAlias

import typer

from logiclens import __version__
from logiclens.cli.options import (
    CHANGE,
    FOLDER,
    MEASURING,
    OUTPUT,
    READING,
    RULES,
    TABLE,
    TARGET,
    TEACHER,
    By,
    Command,
    Cuts,
    Data,
    Delimiter,
    Engine,
    Engines,
    ExplainOutputs,
    GivenRow,
    Json,
    Missing,
    Model,
    NoNotes,
    Quiet,
    RowData,
    RowNumbers,
    Sheet,
    TableSource,
    known_format,
)
from logiclens.errors import LogicLensError
from logiclens.export.registry import FORMATS, format_names, help_lines
from logiclens.progress import silence
from logiclens.words import enumeration

if TYPE_CHECKING:
    from logiclens.cli.questions import RowSource
    from logiclens.formula.knowledge import Knowledge


def explain(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help=f"{TABLE} Default: a bundled example table.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column whose values the rules explain. Example: --target died",
            rich_help_panel=TARGET,
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="State the rules of this value of the target; with more than two, first. Example: --positive yes",
            rich_help_panel=TARGET,
        ),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Cut a target of numbers into at least VALUE and below. Example: --above 150",
            rich_help_panel=TARGET,
        ),
    ] = None,
    quantiles: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=50,
            help="Cut a target of numbers into N classes of about equal size. Example: --quantiles 3",
            rich_help_panel=TARGET,
        ),
    ] = None,
    soft: Annotated[
        bool,
        typer.Option(
            "--soft",
            help="Let a network predict, and explain it by rules. Default: the rules are the model, and `verify` "
            "proves it.",
            rich_help_panel=RULES,
        ),
    ] = False,
    network: Annotated[
        bool,
        typer.Option(
            "--network",
            help="Also train a network, and say how much accuracy the rules lose against it on the held-out rows.",
            rich_help_panel=MEASURING,
        ),
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write an HTML report. Example: --report rules.html", rich_help_panel=OUTPUT),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Save the model in a folder, for predict, score, export and verify. Example: --save model",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json: Json = None,
    by: By = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Ignore columns; may be repeated. Example: --drop patient_id,ward",
            rich_help_panel=READING,
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of row weights, as in a survey. Default: every row counts once.",
            rich_help_panel=READING,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of groups, such as patients: no split divides one, no rule uses it. Example: --group patient",
            rich_help_panel=MEASURING,
        ),
    ] = None,
    teacher_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Explain another model: column of its answers or probabilities. Example: --teacher-column p",
            rich_help_panel=TEACHER,
        ),
    ] = None,
    teacher_class: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="Class whose probability a numeric teacher column holds. Example: --teacher-class yes",
            rich_help_panel=TEACHER,
        ),
    ] = None,
    balanced: Annotated[
        bool,
        typer.Option(
            "--balanced",
            help="Give every class the same total weight. Default: every row counts the same.",
            rich_help_panel=TARGET,
        ),
    ] = False,
    cuts: Annotated[
        Cuts,
        typer.Option(
            metavar="HOW",
            help="How to cut numbers and dates into conditions: round numbers (round), quantile, uniform or soft.",
            rich_help_panel=RULES,
        ),
    ] = Cuts.round,
    max_literals: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Most conditions per class. Default: no limit. Example: --max-literals 5",
            rich_help_panel=RULES,
        ),
    ] = None,
    min_support: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Rows of its class that each rule must cover alone, at most a quarter of the class. Default: 5, or "
            "0.5% of the class. Example: --min-support 20",
            rich_help_panel=RULES,
        ),
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file of what is known: forbidden, required, directions, costs. Example: --knowledge known.toml",
            rich_help_panel=RULES,
        ),
    ] = None,
    protected: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="Measure every rule by the groups of these columns, also of dropped ones. Example: --protected "
            "sex,race",
            rich_help_panel=MEASURING,
        ),
    ] = None,
    set_aside: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.01,
            max=0.9,
            help="Share of rows held out to measure the rules; they are not trained on.",
            rich_help_panel=MEASURING,
        ),
    ] = 0.25,
    split_by_time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Hold out the latest rows by this column of dates or numbers, instead of rows drawn at random.",
            rich_help_panel=MEASURING,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=20,
            help="Cross-validate with N folds first. Default: none; 5 for the bundled example.",
            rich_help_panel=MEASURING,
        ),
    ] = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    sheet: Sheet = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Random seed for the held-out rows and the initial weights.", rich_help_panel=RULES
        ),
    ] = 0,
    engine: Engine = None,
    quiet: Quiet = False,
) -> None:
    """Learn rules from a table and print them.

    Numbers and dates are cut into conditions at round values, categories and missing values become conditions too. A
    search learns one formula per class from the target, and these rules are the model. With --soft a network predicts,
    and the rules explain it; with --teacher-column they explain the model whose answers that column holds. A quarter of
    the rows is held out first; every printed number is measured on them. (An engine that counts rows finds the cuts on
    all rows.) Columns that identify rows, such as a patient number, are ignored.

    \b
    Examples:
      logiclens explain
      logiclens explain patients.csv --target died
      logiclens explain patients.csv --target died --save model
      logiclens explain credit.parquet --target status --positive default --by sex
      zcat visits.csv.gz | logiclens explain - --target outcome --json result.json
      logiclens explain patients.csv --target died --report rules.html
      logiclens explain 'lake/2026/*.parquet' --target churned --engine duckdb
    """
    from logiclens.cli.tables import ColumnRoles, check_by, counting, open_lake, read_problem

    wanted = ExplainOutputs(folds or 0, by, save, report, json, network)
    wanted.check(data=data)
    known = _knowledge(knowledge, protected)
    if weight is not None and folds:
        raise LogicLensError("cross-validation counts every row once: leave out --folds or --weight.")
    if split_by_time is not None and folds:
        raise LogicLensError("folds are drawn at random, whatever the time: leave out --folds or --split-by-time.")
    problem = lake = None
    refused = {
        "--weight": weight,
        "--group": group,
        "--split-by-time": split_by_time,
        "--folds": folds,
        "--delimiter": delimiter,
        "--missing": missing,
        "--sheet": sheet,
        "--teacher-column": teacher_column,
        "--knowledge": knowledge,
        "--protected": protected,
        "--above": above is not None,
        "--quantiles": quantiles,
    }
    cut = above is not None or quantiles is not None
    for option, given in (("--positive", positive), ("--teacher-column", teacher_column), ("--folds", folds)):
        if cut and given:
            raise LogicLensError(f"--above and --quantiles make classes of numbers: leave them out, or {option}.")
    if above is not None and quantiles is not None:
        raise LogicLensError("--above and --quantiles are two ways to cut a target: leave out one of them.")
    if above is not None and not math.isfinite(above):
        raise LogicLensError(f"--above must be a finite number, got {above}.")
    if min_support is not None and not math.isfinite(min_support):
        raise LogicLensError(f"--min-support must be a finite number from 0 on, got {min_support}.")
    if teacher_class is not None and teacher_column is None:
        raise LogicLensError("--teacher-class says what the numbers of a column are: say --teacher-column COLUMN too.")
    for option, given in (("--soft", soft), ("--cuts soft", cuts is Cuts.soft)):
        if given and teacher_column is not None:
            raise LogicLensError(f"rules explain a network or the teacher: leave out {option} or --teacher-column.")
        if given and network:
            raise LogicLensError(f"with {option} a network predicts: leave out {option} or --network.")
    if network and teacher_column is not None:
        raise LogicLensError("rules that explain a teacher match its answers: leave out --network or --teacher-column.")
    if teacher_column is not None and folds:
        raise LogicLensError("cross-validation has no answers of a teacher: leave out --folds or --teacher-column.")
    if data is None:
        about_table = {
            "--target": target,
            "--above": above is not None,
            "--quantiles": quantiles is not None,
            "--positive": positive,
            "--drop": drop,
            "--weight": weight,
            "--group": group,
            "--split-by-time": split_by_time,
            "--teacher-column": teacher_column,
            "--delimiter": delimiter,
            "--missing": missing,
            "--sheet": sheet,
            "--engine": engine,
        }
        if named := [option for option, value in about_table.items() if value]:
            raise LogicLensError(
                f"{named[0]} is about a table, and without one the bundled example is explained: name your table, "
                f"logiclens explain DATA {named[0]} ..."
            )
    elif target is None:
        _list_columns(data, engine, refused, TableSource(data, delimiter, tuple(missing or ()), sheet, quiet), quiet)
    elif (asked := counting(data, engine, refused)) is not None:
        if by is not None:
            raise LogicLensError(
                "rows that an engine counts are held out without their columns, so that --by cannot tell them apart: "
                f"save the model, and say logiclens score MODEL NEW_ROWS --by {shlex.quote(by)}."
            )
        lake = open_lake(asked, target, drop=tuple(drop or ()))
    else:
        # Before anything heavy is loaded: what is wrong with a table is told at once.
        reading = TableSource(data, delimiter, tuple(missing or ()), sheet)
        known, watched = _watching(known, tuple(drop or ()))
        roles = ColumnRoles(target, tuple(drop or ()), weight, teacher_column, group, cut, watched)
        problem = read_problem(reading, roles)
        check_by(problem, by)
    from logiclens.cli.explain import explain_lake, explain_table, recorded_teacher
    from logiclens.estimator.classifier import EntropyClassifier

    model = EntropyClassifier(
        cuts.value,
        exact=False if soft else None,
        teacher=recorded_teacher(problem, teacher_class),
        max_literals=max_literals,
        min_support=min_support,
        class_weight="balanced" if balanced else None,
        knowledge=known,
        positive=positive,
        set_aside=set_aside,
        above=above,
        quantiles=quantiles,
        split_by_time=split_by_time,
        random_state=seed,
    )
    with silence(quiet):
        if lake is not None:
            explain_lake(lake, model, wanted, quiet=quiet)
        else:
            explain_table(problem, model, wanted, quiet=quiet)


def _watching(known: Knowledge | None, drop: tuple[str, ...]) -> tuple[Knowledge | None, tuple[str, ...]]:
    """Return knowledge that forbids dropped columns which are protected, and these: groups need them in the table."""
    from logiclens.cli.tables import each_column

    if known is None:
        return None, ()
    dropped = dict.fromkeys(each_column(drop, known.protected_columns))
    watched = tuple(column for column in dropped if column in known.protected_columns)
    forbidden = dict.fromkeys(
        (*known.forbidden_columns, *(column for column in watched if column not in known.removed))
    )
    return replace(known, forbidden_columns=tuple(forbidden)), watched


def _knowledge(file: Path | None, protected: str | None) -> Knowledge | None:
    """Return the knowledge of a file with the columns of --protected; None if neither is given."""
    from logiclens.formula.knowledge import Knowledge, read_knowledge

    if file is None and protected is None:
        return None
    known = Knowledge() if file is None else read_knowledge(file)
    named = [name.strip() for name in (protected or "").split(",") if name.strip()]
    if protected is not None and not named:
        raise LogicLensError("--protected needs the names of columns, for example --protected sex,race.")
    return replace(known, protected_columns=tuple(dict.fromkeys((*known.protected_columns, *named))))


app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Short rules from a table, and networks that state their own reasons in logic.

\b
A table goes in, a rule sheet comes out:
  logiclens explain patients.csv --target died --report rules.html
  logiclens explain patients.csv --target died --save model

\b
Or without typing, on a page in the browser:
  logiclens studio patients.csv

\b
A saved model is applied, measured, asked, compared and carried elsewhere:
  logiclens predict model new_patients.csv --why -o predictions.csv
  logiclens score model next_year.csv
  logiclens why model --row age=70,sex=man
  logiclens flip model --row age=70,sex=man --freeze age
  logiclens check model "never uses 'sex'" "increasing in 'age'" --of yes
  logiclens diff model model_of_next_year
  logiclens export model --to sql --dialect postgres --table patients

\b
The printed rules are the model, and anyone can check that:
  logiclens verify model

`logiclens COMMAND --help` explains a command. Every command takes --json FILE (- is standard output) to
write its result for other programs.
Results go to standard output. Notes go to standard error, and so does a progress bar if it is a terminal.

Exit codes: 0 success; 1 the answer is no (verify and check: refuted, diff: an answer changed); 2 an error that you
can fix, explained in one sentence; 130 stopped by Ctrl-C, with no half-written file left behind.""",
)


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
            help="Output file, whose suffix is the format: .csv, .tsv, .xlsx, .parquet, .jsonl. Default: the terminal.",
        ),
    ] = None,
    keep_formulas: Annotated[
        bool,
        typer.Option(
            "--keep-formulas",
            help="Leave texts that begin with = + - @ in CSV as they are, and write them as formulas in .xlsx. "
            "Default: an apostrophe before each in CSV, text in .xlsx, so that no spreadsheet computes them.",
        ),
    ] = False,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    sheet: Sheet = None,
    engine: Engine = None,
    quiet: NoNotes = False,
) -> None:
    """Predict the class of each row of a table, with its probability.

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
      logiclens predict model 'lake/2027/*.parquet' -o answers.parquet
    """
    from logiclens.cli.predict import predict_lake, predict_table
    from logiclens.cli.tables import counting

    refused = {
        "--why": why,
        "--json": json,
        "--delimiter": delimiter,
        "--missing": missing,
        "--sheet": sheet,
    }
    if (asked := counting(data, engine, refused, what="answers")) is not None:
        predict_lake(model, asked, keep=keep or (), by_rules=rules, out=out, quiet=quiet)
        return
    reading = TableSource(data, delimiter, tuple(missing or ()), sheet, quiet)
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
    sheet: Sheet = None,
    engine: Engine = None,
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

    asked = counting(data, engine, {"--delimiter": delimiter, "--missing": missing, "--sheet": sheet})
    if asked is not None:
        score_lake(model, asked, target=target, by=by, per_file=per_file, json=json, quiet=quiet)
        return
    if per_file:
        raise LogicLensError("--per-file tells the files of a folder or a pattern apart: name these, or use --by.")
    reading = TableSource(data, delimiter, tuple(missing or ()), sheet, quiet)
    score_table(model, reading, target=target, by=by, json=json, quiet=quiet)


def _list_columns(
    data: str,
    engine: Engines | None,
    refused: Mapping[str, object],
    reading: TableSource,
    quiet: bool,
) -> NoReturn:
    """Print the columns of a table whose target was not named, and ask for it."""
    from logiclens.cli.columns import list_columns
    from logiclens.cli.tables import counting

    if counting(data, engine, refused) is not None:
        raise LogicLensError("which column is to be explained? Say --target COLUMN.")
    raise list_columns(reading.table(), quiet=quiet)


def _row_source(
    row: list[str] | None,
    data: str | None,
    rows: str | None,
    delimiter: str | None,
    missing: list[str] | None,
    sheet: str | None,
    quiet: bool,
) -> RowSource:
    table = None if data is None else TableSource(data, delimiter, tuple(missing or ()), sheet, quiet)
    if table is None and (delimiter or missing or sheet):
        raise LogicLensError("--delimiter, --missing and --sheet are for a table: name it after MODEL.")
    from logiclens.cli.questions import RowSource

    return RowSource(tuple(row or ()), table, rows)


@app.command(cls=Command, short_help="Say why a row gets its class, by the rules of a saved model.")
def why(
    model: Model,
    data: RowData = None,
    row: GivenRow = None,
    rows: RowNumbers = None,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    sheet: Sheet = None,
    quiet: Quiet = False,
) -> None:
    """Say why a row gets its class: the rule that decides, those that fire too, and what each other one lacks.

    \b
    Examples:
      logiclens why model --row age=70,sex=man
      logiclens why model patients.csv --rows 12
      logiclens why model patients.csv --rows 1-5 --json reasons.json
    """
    from logiclens.cli.questions import answer_why

    answer_why(model, _row_source(row, data, rows, delimiter, missing, sheet, quiet), json=json, quiet=quiet)


@app.command(cls=Command, short_help="Find the smallest change that gives a row another class.")
def flip(
    model: Model,
    data: RowData = None,
    row: GivenRow = None,
    rows: RowNumbers = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Class to reach. Default: any other. Example: --to no", rich_help_panel=CHANGE
        ),
    ] = None,
    freeze: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that must stay; may be repeated, or a list. Example: --freeze age,sex",
            rich_help_panel=CHANGE,
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Change whether the formula of this class fires. Example: --of yes",
            rich_help_panel=CHANGE,
        ),
    ] = None,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    sheet: Sheet = None,
    quiet: Quiet = False,
) -> None:
    """Find the smallest change that gives a row another class: the fewest columns, then the fewest conditions.

    An integer program proves that no smaller change does it, on all rows that the columns allow. No column becomes
    missing.

    \b
    Examples:
      logiclens flip model --row age=70,sex=man
      logiclens flip model --row age=70,sex=man --freeze age --to no
      logiclens flip model patients.csv --rows 1-5 --json changes.json
    """
    from logiclens.cli.questions import answer_flip

    source = _row_source(row, data, rows, delimiter, missing, sheet, quiet)
    answer_flip(model, source, to=to, of=of, freeze=freeze or (), json=json, quiet=quiet)


@app.command(cls=Command, short_help="Prove or refute a property of the rules on all possible rows.")
def check(
    model: Model,
    properties: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROPERTY",
            show_default=False,
            help="Properties to prove. Default: the knowledge of the model. Example: \"never uses 'sex'\"",
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Check the rules of this class only. Default: those of every class. Example: --of yes"
        ),
    ] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Prove that the rules have a property, or show where they do not.

    A proof covers every row that the columns can hold, not only those of a table. If died is yes where age is from 40
    to 59, a higher age can take the "yes" away:

    \b
      $ logiclens check model "never uses 'sex'" "increasing in 'age'" --of yes
      never uses 'sex': yes, no rule mentions 'sex'
      increasing in 'age': no, the class fails
        died is yes: it holds if age from 40 to 59, and fails if age is at least 60

    \b
    Properties of the class that --of names, or of every class:
      never uses 'sex'           no rule of the class has a condition on sex
      increasing in 'age'        where the rules fire, they still fire if only the age rises
      decreasing in 'age'        where the rules fire, they still fire if only the age falls
      monotone in 'age'          the same as increasing in 'age'
      implies "age >= 60"        the rules fire only where age is at least 60

    \b
    Properties of two classes, without --of:
      never both 'yes' and 'no'  on no row do rules of both classes fire
      never both                 the same for every two classes

    Where one class is all that the other leaves, what increases for one decreases for the other: name one with --of.

    Without a property, all that the model was told when it learned (--knowledge) is proved again.

    Exit code 0: all hold. 1: one does not.

    \b
    Examples:
      logiclens check model
      logiclens check model 'implies "age >= 18"' --of yes --json answers.json
      logiclens check model "never both" --quiet && echo "the rules exclude each other"
    """
    from logiclens.cli.questions import answer_check

    raise typer.Exit(answer_check(model, properties or (), of=of, json=json, quiet=quiet))


@app.command(cls=Command, short_help="Check that the printed rules of a saved model are the model.")
def verify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=f"{FOLDER} It must be exact.", show_default=False)],
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Check that the printed rules of a saved model are the model.

    The check recomputes every class from the saved weights with independent code and without torch. Exit code 0: the
    rules are the model. 1: they are not, and what differs is printed. 2: nothing is known: the folder cannot be read,
    or its files do not belong together.

    \b
    Examples:
      logiclens verify model
      logiclens verify model --quiet && echo "the rules are the model"
    """
    from logiclens.cli.models import verify_model

    raise typer.Exit(verify_model(model, json=json, quiet=quiet))


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
    sheet: Sheet = None,
    quiet: Quiet = False,
) -> None:
    """Say what changed between the rules of two saved models. Exit code 0: no answer changes. 1: one does.

    Rules are compared by meaning, on all possible rows: rules that are written differently but give every row the same
    answer have not changed. Models of different targets are refused.

    \b
    Examples:
      logiclens diff model_2025 model_2026
      logiclens diff model_2025 model_2026 --data patients.csv
    """
    from logiclens.cli.models import diff_models

    reading = None
    if data is not None:
        reading = TableSource(data, delimiter, tuple(missing or ()), sheet, quiet)
    raise typer.Exit(int(diff_models(before, after, reading=reading, json=json, quiet=quiet)))


EditData: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="DATA", help="Table on which the rules are measured before and after. Example: --data t.csv"),
]
EditTarget: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of the true classes. Default: the target's name in training."),
]
Who: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who edits, for the history. Example: --who 'Dr. Weber'")
]
WithoutKnowledge: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--without-knowledge", help="Let go of the knowledge of the model: rules that it forbids are refused otherwise."
    ),
]
NewModel: TypeAlias = Annotated[
    Path, typer.Option("--out", "-o", metavar="NEW", help="Folder of the new model.", show_default=False)
]


@app.command(cls=Command, short_help="Edit the rules of a saved model by a script; the result is exact.")
def edit(
    model: Model,
    script: Annotated[
        Path, typer.Argument(metavar="SCRIPT", help="TOML file with one [[edit]] per edit.", show_default=False)
    ],
    out: NewModel,
    data: EditData = None,
    target: EditTarget = None,
    who: Who = None,
    without_knowledge: WithoutKnowledge = False,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    sheet: Sheet = None,
    quiet: Quiet = False,
) -> None:
    """Edit the rules of a saved model, measure what each edit costs, and save an exact model of the new rules.

    A script has an entry for each edit. `do` is one of without, with_rule, with_condition, without_condition,
    with_threshold, reorder, pin and unpin; `why`, `who` and `when` go into the history, which the certificate keeps.

    \b
      [[edit]]
      do = "with_threshold"
      condition = "age >= 72.5"
      value = 70
      why = "the guideline says 70"

    \b
      [[edit]]
      do = "without"
      rule = "died#2"

    \b
    Examples:
      logiclens edit model script.toml -o edited
      logiclens edit model script.toml --data patients.csv --who 'Dr. Weber' -o edited
      logiclens diff model edited --data patients.csv
    """
    from logiclens.cli.edit import EditOptions, edit_model

    reading = None if data is None else TableSource(data, delimiter, tuple(missing or ()), sheet, quiet)
    edit_model(model, script, EditOptions(reading, target, who, out, json, quiet, not without_knowledge))


@app.command(cls=Command, name="import", short_help="Read rules that people changed in a sheet.")
def import_(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Sheet (.xlsx) that export wrote.", show_default=False),
    ],
    out: NewModel,
    model: Annotated[
        Path, typer.Option(metavar="MODEL", help="Model folder that the file was exported from.", show_default=False)
    ],
    data: EditData = None,
    target: EditTarget = None,
    who: Who = None,
    without_knowledge: WithoutKnowledge = False,
    json: Json = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    sheet: Sheet = None,
    quiet: Quiet = False,
) -> None:
    """Read back rules that were exported as a sheet and changed by people, and save an exact model of them.

    `logiclens export` writes the file. Every cell is checked; a message names it by its address. Each change becomes a
    line of the history.

    \b
    Examples:
      logiclens import rules.xlsx --model model --data patients.csv -o edited
      logiclens import rules.xlsx --model model --who 'Dr. Weber' -o edited
    """
    from logiclens.cli.edit import EditOptions, import_rules

    reading = None if data is None else TableSource(data, delimiter, tuple(missing or ()), sheet, quiet)
    import_rules(file, model, EditOptions(reading, target, who, out, json, quiet, not without_knowledge))


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


@app.command(cls=Command, short_help="Open a page in the browser to learn, look at, edit and export rules.")
def studio(
    data: Annotated[
        str | None,
        typer.Argument(metavar="[TABLE|MODEL]", help="Table or model folder to open. Default: choose on the page."),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port of 127.0.0.1. Default: a free one.")
    ] = 0,
    work: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Private folder for uploads and models. Default: in your state folder."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Open a page in the browser to learn, look at, edit and export rules. Nothing leaves this computer.

    \b
    Examples:
      logiclens studio
      logiclens studio patients.csv
      logiclens studio model
    """
    from logiclens.cli.studio import run_studio

    run_studio(data, port=port, work=work, browser=browser)
