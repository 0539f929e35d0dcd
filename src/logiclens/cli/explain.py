"""`logiclens explain`: from a table to rules, a model folder, a page and a result."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from logiclens.cli.output import check_writable, write_json, write_text
from logiclens.cli.sheet import print_metrics, print_sheet
from logiclens.cli.tables import Problem
from logiclens.data.files import TableFile
from logiclens.errors import LogicLensError
from logiclens.estimators.classifier import EntropyClassifier
from logiclens.estimators.store import checked_target
from logiclens.experiments.bundled import breast_cancer
from logiclens.experiments.crossvalidate import FoldResult, cross_validate, summarise
from logiclens.formula.folder import open_result
from logiclens.report.page import render, require_report
from logiclens.report.result import Source, result_of
from logiclens.train.progress import Progress


@dataclass(frozen=True)
class Wanted:
    """What was asked for beside the rules themselves."""

    folds: int = 0
    stability: int | None = None
    stable: bool = False
    by: str | None = None
    save: Path | None = None
    report: str | None = None
    json: str | None = None

    def check(self) -> None:
        """Refuse, before any work, what could not be written or made after it."""
        if self.save is not None:
            checked_target(self.save)
        if self.report is not None:
            require_report()
        check_writable(self.report)
        check_writable(self.json)


def bundled() -> Problem:
    """The example that needs no file."""
    raw = breast_cancer()
    labels = pd.Series(raw.labels, name="diagnosis", index=raw.frame.index)
    return Problem(raw.frame, labels, TableFile(raw.frame, raw.title, "", 0), ())


def explain_table(console: Console, problem: Problem, model: EntropyClassifier, wanted: Wanted) -> None:
    """Train, explain, measure on rows that were set aside, and write what was asked for."""
    wanted.check()
    if wanted.by is not None and wanted.by not in problem.frame.columns:
        raise LogicLensError(f"there is no column {wanted.by!r} to compare subgroups by.")
    seconds = {}
    if wanted.folds:
        _cross_validate(console, problem, model, wanted.folds)
    begun = time.perf_counter()
    model.fit(problem.frame, problem.target)
    seconds["fit"] = time.perf_counter() - begun
    begun = time.perf_counter()
    explanation = model.explain(stability=wanted.stability, stable=wanted.stable)
    seconds["explain"] = time.perf_counter() - begun
    file = problem.file
    source = Source(
        file.name,
        len(problem.frame),
        problem.frame.shape[1],
        str(problem.target.name),
        file.sha256 or None,
        command_line(),
    )
    result = result_of(model, explanation, source, by=wanted.by)
    result["notes"] = [*problem.notes, *result["notes"]]
    print_sheet(console, result)
    _write(console, model, result, wanted, seconds)


def _write(
    console: Console, model: EntropyClassifier, result: dict[str, Any], wanted: Wanted, seconds: Mapping[str, float]
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = model.save(Path(scratch) / "model" if wanted.save is None else wanted.save, result)
        saved = open_result(folder)
        if wanted.save is not None:
            check = f" Check it with: logiclens verify {folder}" if model.exact else ""
            console.print(f"\nThe model is in {folder}.{check}")
        if wanted.report is not None:
            write_text(render(saved), wanted.report)
            console.print(f"The report is in {wanted.report}.")
        write_json({**saved, "seconds": dict(seconds)}, wanted.json)


def _cross_validate(console: Console, problem: Problem, model: EntropyClassifier, n_folds: int) -> None:
    """The six metrics over folds, on rows that neither trained nor chose anything."""
    results: list[FoldResult] = []
    labels = problem.target.to_numpy()
    with Progress(n_folds, "folds") as progress:
        for result in cross_validate(problem.frame, labels, estimator=model, n_folds=n_folds):
            results.append(result)
            progress.update(len(results))
    print_metrics(console, summarise(results).metrics(), n_folds)


def command_line() -> str:
    """The command that was given, without where its results go."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("--report", "--json", "--save", "-o"):
            skip = True
        elif not word.startswith(("--report=", "--json=", "--save=")) and word not in ("--quiet", "-q"):
            kept.append(word)
    return shlex.join(kept)
