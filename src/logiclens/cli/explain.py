"""`logiclens explain`: learn rules from a table and write the model folder, page and result."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.base import clone

from logiclens.cli.options import ExplainOutputs
from logiclens.cli.output import (
    Printer,
    uninterrupted,
    write_json,
    write_text,
)
from logiclens.cli.sheet import print_metrics, print_sheet
from logiclens.cli.tables import Lake, Problem, check_by, subgroups
from logiclens.codec import to_plain
from logiclens.errors import LogicLensError, quoted
from logiclens.estimator.classifier import EntropyClassifier
from logiclens.estimator.cross_validation import CrossValidation, cross_validate, summarise
from logiclens.estimator.inputs import RecordedAnswers
from logiclens.estimator.persistence import classifier_files
from logiclens.explain.result import Explanation
from logiclens.formula.predicate import label_array
from logiclens.report.measurement import Source, result_of
from logiclens.report.page import render
from logiclens.report.result import Result
from logiclens.storage import check_model_target, sealed
from logiclens.tables.demo import breast_cancer
from logiclens.tables.files import TableFile
from logiclens.words import percent

BUNDLED_FOLDS = 5


def explain_table(problem: Problem | None, model: EntropyClassifier, wanted: ExplainOutputs, *, quiet: bool) -> None:
    """Train on a table in memory, explain, measure on held-out rows, write the outputs and print the rule sheet.

    Without a problem the bundled example is used.
    """
    n_folds = wanted.folds or (BUNDLED_FOLDS if problem is None else 0)
    if problem is None:
        problem = bundled()
        check_by(problem, wanted.by)
    _check(wanted)
    printer = Printer(quiet=quiet or wanted.takes_standard_output, notes=not quiet)
    folds = _cross_validate(problem, model, n_folds) if n_folds else None
    network = _network(model) if wanted.network else None
    if network is not None:
        network.fit(problem.frame, problem.target, problem.weight, groups=problem.groups)
    begun = time.perf_counter()
    model.fit(problem.frame, problem.target, problem.weight, groups=problem.groups)
    tell(
        model, _source(problem), wanted, printer, begun=begun, by=subgroups(problem, wanted.by), notes=problem.notes,
        folds=folds, network=network,
    )  # fmt: skip


def explain_lake(lake: Lake, model: EntropyClassifier, wanted: ExplainOutputs, *, quiet: bool) -> None:
    """Like `explain_table`, for a table whose rows an engine counts."""
    _check(wanted)
    printer = Printer(quiet=quiet or wanted.takes_standard_output, notes=not quiet)
    network = _network(model).fit(lake.table, target=lake.target) if wanted.network else None
    begun = time.perf_counter()
    model.fit(lake.table, target=lake.target)
    source = Source(lake.name, model.n_rows_, len(model.schema_.columns), lake.target, None, command_line(sys.argv))
    tell(model, source, wanted, printer, begun=begun, notes=lake.notes, network=network)


def _network(model: EntropyClassifier) -> EntropyClassifier:
    """Return a classifier of the same settings in which a network predicts."""
    network: EntropyClassifier = clone(model).set_params(exact=False)
    return network


def network_note(model: EntropyClassifier, network: EntropyClassifier) -> str:
    """Say how much accuracy rules lose against a network on the held-out rows."""
    of_network, of_rules = (_accuracy(one) for one in (network, model))
    lost = 100 * (of_network - of_rules)
    return (
        f"a network that was trained on the same rows is right on {percent(of_network, 1)} of the held-out rows: the "
        f"rules {'lose' if lost >= 0 else 'gain'} {abs(lost):.1f} points of accuracy against it."
    )


def _accuracy(model: EntropyClassifier) -> float:
    if model.set_aside_ is None:
        raise LogicLensError("no rows were held out to compare rules and network on: leave out --network.")
    table = model.set_aside_.table
    return model.score(table, model.classes_[table.labels], table.weight)


def recorded_teacher(problem: Problem | None, positive: str | None) -> RecordedAnswers | None:
    """Return the answers of another model that a column holds: labels, or probabilities of the class `positive`."""
    if problem is None or problem.teacher is None:
        return None
    column, classes = problem.teacher, np.unique(problem.target.to_numpy())
    name = f"column {quoted(column.name)}"
    by_text = {str(label): label for label in classes.tolist()}
    if positive is not None and positive not in by_text:
        raise LogicLensError(
            f"--teacher-class {quoted(positive)} is not among the classes {', '.join(map(quoted, by_text))}."
        )
    labels = column.map(lambda value: by_text.get(str(value)))
    if positive is None and not labels.isna().any():
        return RecordedAnswers(label_array(labels.tolist()), classes, name=name)
    if not is_numeric_dtype(column) or is_bool_dtype(column):
        other = column[labels.isna()].iloc[0] if labels.isna().any() else column.iloc[0]
        raise LogicLensError(f"the teacher {name} must hold probabilities or classes; it holds {quoted(other)}.")
    if positive is None:
        raise LogicLensError(f"the teacher {name} holds numbers: say --teacher-class, whose probability they are.")
    if len(classes) != 2:
        raise LogicLensError(f"probabilities of one class teach two classes, and the target has {len(classes)}.")
    return RecordedAnswers(column.to_numpy(), classes, by_text[positive], name)


def tell(
    model: EntropyClassifier,
    source: Source,
    wanted: ExplainOutputs,
    printer: Printer,
    *,
    begun: float,
    by: Any = None,
    notes: Sequence[str] = (),
    folds: CrossValidation | None = None,
    network: EntropyClassifier | None = None,
) -> None:
    """Explain a fitted model, measure it on held-out rows, write the outputs and print the rule sheet."""
    if model.set_aside_ is None:
        raise LogicLensError(
            f"of {model.n_rows_} rows the share that --set-aside asks for is none: there is nothing to measure on."
        )
    fitted = time.perf_counter()
    explanation = model.explain()
    seconds = {"fit": fitted - begun, "explain": time.perf_counter() - fitted}
    if network is not None:
        notes = (*notes, network_note(model, network))
    measured = result_of(model, explanation, source, by=by)
    result = replace(measured, notes=(*notes, *measured.notes))
    # Write before printing: the process ends when a reader closes the pipe.
    told = _write(model, explanation, result, wanted, {"seconds": seconds, "cross_validation": _metrics(folds)})
    if wanted.takes_standard_output:
        for note in result.notes:
            printer.note(f"note: {note}")
    if folds is not None:
        # Rules that are the model agree with it everywhere.
        metrics = [
            one
            for one in folds.metrics()
            if not (model._is_exact and "fidelity" in (one.metric.key, *one.metric.below))
        ]
        print_metrics(printer, metrics, wanted.folds or BUNDLED_FOLDS)
    print_sheet(printer, result)
    for line in told:
        printer.note(line)


def bundled() -> Problem:
    """Return the bundled example."""
    raw = breast_cancer()
    labels = pd.Series(raw.labels, name="diagnosis", index=raw.frame.index)
    return Problem(raw.frame, labels, TableFile(raw.frame, raw.title, "", 0), ())


def command_line(words: list[str]) -> str:
    """Return the command line without its output options."""
    name = Path(words[0]).name
    kept, skip = ["python", "-m", "logiclens"] if name == "__main__.py" else [name], False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("--report", "--json", "--save"):
            skip = True
        elif not word.startswith(("--report=", "--json=", "--save=")) and word not in ("--quiet", "-q"):
            kept.append(word)
    return shlex.join(kept)


def _check(wanted: ExplainOutputs) -> None:
    """Refuse outputs that cannot be made, before training."""
    if wanted.save is not None:
        check_model_target(wanted.save)


def _source(problem: Problem) -> Source:
    file, n_columns = problem.file, problem.frame.shape[1] - len(problem.watched)
    command = command_line(sys.argv)
    # The index counts the rows of the file, including those that were left out.
    numbers = problem.frame.index.to_numpy() + 1
    target = str(problem.target.name)
    return Source(file.name, len(problem.frame), n_columns, target, file.sha256 or None, command, numbers)


def _write(
    model: EntropyClassifier, explanation: Explanation, result: Result, wanted: ExplainOutputs, beside: dict[str, Any]
) -> list[str]:
    """Write the outputs; return the notes about them."""
    told = []
    files = classifier_files(model, result, explanation.rules, None if model._is_exact else explanation.reading)
    if wanted.save is not None:
        with uninterrupted():
            folder = files.write(wanted.save)
        check = f" Check it with: logiclens verify {shlex.quote(str(folder))}" if model._is_exact else ""
        told.append(f"The model is in {folder}.{check}")
    # The hash of model.json, whether it was saved or not.
    saved = replace(result, model_sha256=files.model_sha256)
    if wanted.report is not None:
        write_text(render(saved), wanted.report)
        if wanted.report != "-":
            told.append(f"The report is in {wanted.report}.")
    write_json({**sealed(to_plain(saved)), **beside}, wanted.json)
    return told


def _cross_validate(problem: Problem, model: EntropyClassifier, n_folds: int) -> CrossValidation:
    """Cross-validate the model: the six metrics on the test rows of each fold."""
    # Each fold is measured on its test rows, so no further rows are held out.
    estimator = clone(model).set_params(set_aside=0.0)
    return summarise(
        list(
            cross_validate(
                problem.frame, problem.target.to_numpy(), estimator=estimator, n_folds=n_folds, groups=problem.groups
            )
        )
    )


def _metrics(folds: CrossValidation | None) -> list[dict[str, Any]] | None:
    if folds is None:
        return None
    return [
        {
            "name": metric.name,
            "mean": metric.mean,
            "standard_error": metric.standard_error if np.isfinite(metric.standard_error) else None,
            "unit": metric.unit,
        }
        for metric in folds.metrics()
    ]
