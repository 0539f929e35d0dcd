"""Run every method on every fold: plan the runs, run them in processes, measure, and record each run.

A sweep is a grid of temperature τ and penalty λ instead of methods.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from lab.datasets.catalogue import check
from lab.peers.learner import Learned
from lab.runs.fold_data import (
    FoldData,
    Source,
    encoded_rows,
    fold_data,
    predicted_classes,
    predicted_concepts,
)
from lab.runs.methods import METHODS, Method
from lab.runs.ours import Authors, Ours, device_name, with_settings
from lab.runs.results import (
    FORMULA,
    NOTE,
    OK,
    SWEEP,
    TOY,
    Header,
    Results,
    Run,
    append_run,
    begun,
    locked,
    open_results,
    read_results,
    write_results,
)
from lab.runs.tasks import TASKS, Protocol, Task, has_protocol
from lab.runs.toy import TOY_MODELS, toy_run
from lab.runs.workers import Outcome, capacity, run_jobs
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, quoted
from logiclens.estimator.cross_validation import fires
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.text import format_formula
from logiclens.metrics.scores import METRICS, ScoredRows, accuracy

Metrics = list[tuple[str, str]]
LAST_TEST = ("model_accuracy", "explanation_accuracy", "fidelity")
"""The metrics that are also measured on the rows of a final test."""


@dataclass(frozen=True)
class Plan:
    """What to run.

    Args:
        runs: every run, in the order of the table.
        source: where rows come from.
        protocols: the protocols of the results folder.
        n_workers: runs at a time; None: one per core, or as many as the joblib backend takes.
        limit: maximum seconds per run; default: none.
        retry: whether runs that failed, or were stopped or skipped, are run again.
    """

    runs: tuple[Run, ...]
    source: Source
    protocols: tuple[Protocol, ...]
    n_workers: int | None = 1
    limit: float | None = None
    retry: bool = False

    @property
    def grid(self) -> tuple[str, ...]:
        """Return the settings of a sweep, whose networks are trained in one pass."""
        return tuple(dict.fromkeys(run.method for run in self.runs if run.task.startswith(SWEEP)))

    @property
    def header(self) -> Header:
        """Return the settings that all results of a folder share."""
        source = self.source
        return Header(self.protocols, source.n_folds, source.seed, source.encoder_epochs)


@dataclass(frozen=True)
class Step:
    """Progress of a bench: the last run, the number of runs done, and the estimated seconds left, if known."""

    label: str
    status: str
    done: int
    total: int
    left: float | None


@dataclass(frozen=True)
class Preparation:
    """The concepts of a fold to predict or, with `classes`, the classes that an encoder predicts directly."""

    task: str
    protocol: Protocol
    fold: int
    classes: bool = False

    @property
    def label(self) -> str:
        """Return a description of this preparation."""
        return f"{'classes' if self.classes else 'concepts'} of {self.task}, {self.protocol}, fold {self.fold}"


def runs_of(
    tasks: Sequence[Task], methods: Sequence[Method], protocols: Sequence[Protocol], n_folds: int
) -> tuple[Run, ...]:
    """Return every run of these, fold by fold, without what a task or protocol does not have."""
    found = []
    for protocol, task, fold, method in product(protocols, tasks, range(n_folds), methods):
        if method.suits(task) and has_protocol(task, protocol) and not (fold and _is_one(task, protocol, method)):
            found.append(Run(task.name, protocol, method.name, fold))
    return tuple(found)


def _is_one(task: Task, protocol: Protocol, method: Method) -> bool:
    """Test whether all folds are the same run: there is one split, and one encoder for all seeds."""
    return method.name == "direct" and protocol == "paper" and task.scripts is not None and task.scripts.one_split


def toy_runs(n_seeds: int) -> tuple[Run, ...]:
    """Return the runs of the toy comparison: model C with every seed, the others with the first."""
    return tuple(
        Run(TOY, "paper", model, seed) for seed in range(n_seeds) for model in TOY_MODELS if model == "C" or not seed
    )


def bench(plan: Plan, folder: Path, tell: Callable[[Step], None] = lambda _step: None) -> Results:
    """Run what is missing and return the whole table. If the process is killed, only the current runs are lost."""
    if begun(folder):
        open_results(folder, plan.header)
    for name in dict.fromkeys(TASKS[run.task.removeprefix(SWEEP)].dataset for run in plan.runs if run.task != TOY):
        check(name, plan.source.data)
    open_results(folder, plan.header)
    with locked(folder):
        return _carry_out(plan, folder, tell)


def _carry_out(plan: Plan, folder: Path, tell: Callable[[Step], None]) -> Results:
    before = read_results(folder)
    asked = set(plan.runs)

    def stays(run: Run, status: str) -> bool:
        return run not in asked or status == OK or not (plan.retry or status.startswith("skipped"))

    kept = before.only(stays)
    # This also drops the lines of a run that was killed while writing.
    write_results(folder, kept)
    waiting = [run for run in plan.runs if run not in kept.runs]
    failed = _prepare(plan, waiting, tell)
    for run in waiting:
        if (reason := failed.get(_needs(run))) is not None:
            append_run(folder, run, (), reason)
    waiting = [run for run in waiting if _needs(run) not in failed]
    pace = Pace(len(waiting), plan.n_workers or capacity() or os.cpu_count() or 1)
    work_on = partial(work, plan.source.absolute(), grid=plan.grid)
    with closing(run_jobs(waiting, work_on, n_workers=plan.n_workers, limit=plan.limit)) as outcomes:
        for outcome in outcomes:
            append_run(folder, outcome.job, outcome.value or (), outcome.status)
            tell(pace.step(outcome, waiting))
    return read_results(folder)


def _prepare(plan: Plan, waiting: Sequence[Run], tell: Callable[[Step], None]) -> dict[Preparation | None, str]:
    """Predict concepts first, once per fold, so that the time of a run is the time of its method.

    Return the preparations that failed, with the reason.
    """
    wanted = [needed for run in waiting if (needed := _needs(run)) is not None]
    failed: dict[Preparation | None, str] = {}
    with closing(_predict(list(dict.fromkeys(wanted)), plan.source, plan.n_workers, tell)) as predicted:
        for job, status in predicted:
            if status != OK:
                failed[job] = f"failed: {job.label} could not be predicted; {status}"
    return failed


def _needs(run: Run) -> Preparation | None:
    """Return what must be predicted before a run, or None if its concepts are given."""
    name = run.task.removeprefix(SWEEP)
    if name not in TASKS or not TASKS[name].encoded:
        return None
    protocol: Protocol = "paper" if run.protocol == "paper" else "clean"
    return _preparation(TASKS[name], protocol, run.fold, classes=run.method == "direct")


def prepare_all(
    tasks: Sequence[Task],
    protocols: Sequence[Protocol],
    source: Source,
    n_workers: int | None,
    tell: Callable[[Step], None] = lambda _step: None,
    *,
    classes: bool = True,
) -> None:
    """Predict the concepts of every fold and, for images and unless `classes` is False, their classes."""
    jobs = [
        _preparation(task, protocol, fold, classes=direct)
        for task, protocol, fold, direct in product(tasks, protocols, range(source.n_folds), (False, True))
        if has_protocol(task, protocol) and (not direct or (classes and METHODS["direct"].suits(task)))
    ]
    with closing(_predict(list(dict.fromkeys(jobs)), source, n_workers, tell)) as predicted:
        for job, status in predicted:
            if status != OK:
                raise LogicLensError(f"{job.label} could not be predicted; {status}.")


def _preparation(task: Task, protocol: Protocol, fold: int, *, classes: bool) -> Preparation:
    # If the scripts have one split, one encoder serves all seeds.
    shared = protocol == "paper" and task.scripts is not None and task.scripts.one_split
    return Preparation(task.name, protocol, 0 if shared else fold, classes)


def _predict(
    jobs: Sequence[Preparation], source: Source, n_workers: int | None, tell: Callable[[Step], None]
) -> Generator[tuple[Preparation, str], None, None]:
    work_on = partial(prepare, source.absolute(), n_workers)
    with closing(run_jobs(jobs, work_on, n_workers=n_workers)) as outcomes:
        for done, outcome in enumerate(outcomes, start=1):
            tell(Step(outcome.job.label, outcome.status, done, len(jobs), None))
            yield outcome.job, outcome.status


def prepare(source: Source, n_workers: int | None, job: Preparation) -> None:
    """Predict the concepts or classes of a fold, unless they are in the cache."""
    if n_workers != 1:
        _use_one_thread()
    dataset, rows, encoding = encoded_rows(source, TASKS[job.task], job.protocol, job.fold)
    (predicted_classes if job.classes else predicted_concepts)(encoding, dataset, rows)


def work(source: Source, run: Run, grid: Sequence[str] = ()) -> Metrics:
    """Do one run: learn from the fold and measure on its test rows. `grid` are the settings of its sweep."""
    _use_one_thread()
    if run.task == TOY:
        return list(toy_run(run))
    protocol: Protocol = "paper" if run.protocol == "paper" else "clean"
    if run.task.startswith(SWEEP):
        return list(sweep_run(fold_data(source, run.task.removeprefix(SWEEP), protocol, run.fold), run.method, grid))
    fold = fold_data(source, run.task, protocol, run.fold)
    wall, cpu = time.perf_counter(), time.process_time()
    learned = METHODS[run.method].learn(fold)
    wall, cpu = time.perf_counter() - wall + learned.elsewhere[0], time.process_time() - cpu + learned.elsewhere[1]
    test = fold.test if learned.test is None else learned.test
    found = list(measured(learned, test))
    if learned.seconds is None:
        found += [("seconds", f"{wall:.4f}"), ("cpu_seconds", f"{cpu:.4f}")]
    elif math.isfinite(learned.seconds):
        found.append(("seconds", f"{learned.seconds:.4f}"))
        found += [] if learned.cpu_seconds is None else [("cpu_seconds", f"{learned.cpu_seconds:.4f}")]
    if fold.dataset.truth is not None and learned.formulas is not None:
        pairs = zip(learned.formulas, fold.dataset.truth, strict=True)
        found.append(("recovered", str(sum(formula.equivalent(truth) for formula, truth in pairs))))
    if fold.final is not None:
        found += [(f"final_{metric}", value) for metric, value in measured(learned, fold.final) if metric in LAST_TEST]
    if fold.task.encoded:
        # With joint training, concepts may drift away from the meaning of their names.
        annotated = fold.dataset.concepts(fold.rows.train).take(fold.rows.test)
        found.append(("concept_accuracy", f"{(test.boolean() == annotated.boolean()).mean():.6f}"))
    found += [("device", device_name())] if METHODS[run.method].kind == "ours" else []
    return [*found, *stated(learned, fold.test)]


def _use_one_thread() -> None:
    import torch

    # Runs in parallel share the cores; small networks gain nothing from more threads.
    torch.set_num_threads(1)


class Pace:
    """Estimates the remaining time from the duration of similar runs."""

    def __init__(self, total: int, n_workers: int) -> None:
        """Start with no run done."""
        self.total, self.n_workers = total, n_workers
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.ended: set[Run] = set()

    def step(self, outcome: Outcome[Run], runs: Sequence[Run]) -> Step:
        """Record that a run has ended."""
        run = outcome.job
        self.ended.add(run)
        self.seconds.setdefault((run.task, run.method), []).append(outcome.seconds)
        label = f"{run.task}, {run.protocol}, {run.method}, fold {run.fold}"
        return Step(label, outcome.status, len(self.ended), self.total, self.left(runs))

    def left(self, runs: Sequence[Run]) -> float:
        """Return the estimated seconds for the remaining runs, over all workers."""
        return sum(self._guess(run) for run in runs if run not in self.ended) / self.n_workers

    def _guess(self, run: Run) -> float:
        """Return the mean duration of the same method on the same task, else of the method, else of all runs."""
        alike = self.seconds.get((run.task, run.method))
        alike = alike or [s for (_, method), all_s in self.seconds.items() if method == run.method for s in all_s]
        alike = alike or [s for all_s in self.seconds.values() for s in all_s]
        return sum(alike) / len(alike)


def measured(learned: Learned, test: ConceptTable) -> Iterator[tuple[str, str]]:
    """Yield the metrics as name and text; shares are in [0, 1].

    A method that explains a sample of the classes is scored on these only, and not as a model.
    """
    if test.labels is None or test.labels.ndim != 1:
        raise LogicLensError("a method is measured on rows that have one class each.")
    said = learned.predict(test)
    if learned.classes is None:
        yield "model_accuracy", _number(accuracy(test.labels, said))
    if learned.formulas is None:
        return
    chosen = list(range(len(test.class_names))) if learned.classes is None else list(learned.classes)
    fired = fires(learned.formulas, PackedRows.of(test.boolean(), test.names))
    answers = said[:, None] == np.array(chosen) if learned.answers is None else learned.answers(test)
    rows = ScoredRows(learned.formulas, fired, test.targets()[:, chosen], answers, test.weight)
    for metric in METRICS:
        if metric.score is not None and (learned.classes is None or metric.of_samples):
            yield metric.key, _number(metric.score(rows))
    if learned.classes is not None:
        yield "classes", str(len(chosen))


def stated(learned: Learned, test: ConceptTable) -> Iterator[tuple[str, str]]:
    """Yield the formulas and notes as text."""
    names = test.class_names if learned.classes is None else [test.class_names[k] for k in learned.classes]
    for name, formula in zip(names, learned.formulas or (), strict=False):
        yield f"{FORMULA}{name}", format_formula(formula)
    if learned.notes:
        yield NOTE, " ".join(learned.notes)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6f}"


TEMPERATURES = (4.0, 5.0, 6.0)
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3)
"""The paper's grid for V-Dem."""
_SETTING = re.compile(r"tau=(\S+) lambda=(\S+)")


def sweep_runs(
    task: Task, protocols: Sequence[Protocol], n_folds: int, temperatures: Sequence[float], penalties: Sequence[float]
) -> tuple[Run, ...]:
    """Return one run per setting and fold."""
    return tuple(
        Run(f"{SWEEP}{task.name}", protocol, f"tau={tau:g} lambda={penalty:g}", fold)
        for protocol, tau, penalty, fold in product(protocols, temperatures, penalties, range(n_folds))
        if has_protocol(task, protocol)
    )


def sweep_run(fold: FoldData, setting: str, grid: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Train with a setting and measure on validation rows, which choose the setting, and on test rows.

    The first run trains the networks of all settings in `grid`, on all folds, in one pass.
    """
    changed = _set(fold, setting)
    family = partial(_family, fold, tuple(dict.fromkeys([setting, *grid])))
    begun, cpu = time.perf_counter(), time.process_time()
    learned = (Authors(top_k=10) if fold.protocol == "paper" else Ours("search"))(replace(changed, family=family))
    seconds, cpu_seconds = learned.elsewhere
    yield "seconds", f"{time.perf_counter() - begun + seconds:.4f}"
    yield "cpu_seconds", f"{time.process_time() - cpu + cpu_seconds:.4f}"
    yield from measured(learned, fold.test)
    chosen_by = dict(measured(learned, fold.validation))
    yield "validation_accuracy", chosen_by["model_accuracy"]
    yield "validation_explanation_accuracy", chosen_by["explanation_accuracy"]
    yield from stated(learned, fold.test)


def _set(fold: FoldData, setting: str) -> FoldData:
    read = _SETTING.fullmatch(setting)
    if read is None:
        raise LogicLensError(f"a setting of a sweep is written 'tau=5 lambda=1e-05', got {quoted(setting)}.")
    return with_settings(fold, temperature=float(read[1]), penalty_weight=float(read[2]))


def _family(fold: FoldData, grid: Sequence[str]) -> list[FoldData]:
    """Return every fold with every setting."""
    return [_set(one, setting) for one in fold.siblings() for setting in grid]
