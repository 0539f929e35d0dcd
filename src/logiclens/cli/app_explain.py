"""`logiclens explain`, as `--help` shows it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from logiclens.cli.cluster import Backend, Scheduler, cluster
from logiclens.cli.options import TABLE, By, Cuts, Delimiter, Engine, Json, Memory, Method, Missing, Quiet
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
    from logiclens.cli.lake import counting, open_lake
    from logiclens.cli.reading import Reading
    from logiclens.cli.tables import Asked, check_by, read_problem
    from logiclens.cli.wanted import Wanted

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
    from logiclens.estimators.classifier import EntropyClassifier

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
