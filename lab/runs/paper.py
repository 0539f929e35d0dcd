"""The comparison of the paper: every method on every fold of every task, the grid of settings, and the toy task."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from lab.datasets.catalogue import check
from lab.peers.learner import Learned, firing
from lab.runs.fold_data import FoldData, Source, fold_data, fold_rows, predicted_concepts
from lab.runs.methods import METHODS, Method
from lab.runs.ours import Authors, Ours, device_name, with_settings
from lab.runs.results import Job, Line, Results
from lab.runs.tasks import Protocol, Task, has_protocol
from lab.runs.toy import MODELS, N_SEEDS, toy_run
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.text import format_formula
from logiclens.metrics.scores import METRICS, ScoredRows, accuracy

KEYS = ("task", "protocol", "method", "fold")
TOY, SWEEP = "toy", "sweep:"
"""Names instead of a task: the toy comparison, and the prefix of a sweep."""
LAST_TEST = ("model_accuracy", "explanation_accuracy", "fidelity")
"""The metrics that are also measured on the rows of a final test."""
TEMPERATURES, PENALTIES = (4.0, 5.0, 6.0), (1e-6, 1e-5, 1e-4, 1e-3)
"""The paper's grid for V-Dem."""


def paper_results(path: Path, source: Source) -> Results:
    settings = {"folds": source.n_folds, "seed": source.seed, "encoder_epochs": source.encoder_epochs}
    return Results(path, KEYS, settings)


def task_jobs(
    tasks: Sequence[Task], methods: Sequence[Method], protocols: Sequence[Protocol], source: Source
) -> Iterator[Job]:
    for name in dict.fromkeys(task.dataset for task in tasks):
        check(name, source.data)
    for protocol, task, fold, method in product(protocols, tasks, range(source.n_folds), methods):
        one_split = protocol == "paper" and task.scripts is not None and task.scripts.one_split
        # With one split, and one encoder for all seeds, all folds of `direct` are the same run.
        repeated = method.name == "direct" and one_split and fold
        if method.suits(task) and has_protocol(task, protocol) and not repeated:
            key = dict(zip(KEYS, (task.name, protocol, method.name, fold), strict=True))
            yield key, task_run, (source, task.name, protocol, method.name, fold)


def sweep_jobs(task: Task, protocols: Sequence[Protocol], source: Source) -> Iterator[Job]:
    check(task.dataset, source.data)
    for protocol, tau, penalty, fold in product(protocols, TEMPERATURES, PENALTIES, range(source.n_folds)):
        if has_protocol(task, protocol):
            name = f"tau={tau:g} lambda={penalty:g}"
            key = dict(zip(KEYS, (f"{SWEEP}{task.name}", protocol, name, fold), strict=True))
            changes = {"temperature": tau, "penalty_weight": penalty}
            yield key, sweep_run, (source, task.name, protocol, changes, fold)


def toy_jobs(n_seeds: int = N_SEEDS, **settings: Any) -> Iterator[Job]:
    for seed, model in product(range(n_seeds), MODELS):
        if model == "C" or not seed:
            key = dict(zip(KEYS, (TOY, "paper", model, seed), strict=True))
            yield key, toy_run, (model, seed, *settings.values())


def encoder_jobs(tasks: Sequence[Task], protocols: Sequence[Protocol], source: Source) -> Iterator[Job]:
    for protocol, task, fold in product(protocols, tasks, range(source.n_folds)):
        if task.encoded and has_protocol(task, protocol):
            yield (
                {"task": task.name, "protocol": protocol, "fold": fold},
                encoder_run,
                (source, task.name, protocol, fold),
            )


def encoder_run(source: Source, task_name: str, protocol: Protocol, fold: int) -> Line:
    rows = fold_rows(source, task_name, protocol, fold)
    predicted_concepts(rows)
    if METHODS["direct"].suits(rows.task):
        rows.predicted("classes")
    return {}


def task_run(source: Source, task_name: str, protocol: Protocol, method: str, number: int) -> Line:
    fold = fold_data(source, task_name, protocol, number)
    wall, cpu = time.perf_counter(), time.process_time()
    learned = METHODS[method].learn(fold)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    test = fold.test if learned.test is None else learned.test
    line = measured(learned, test)
    if learned.seconds is None:
        line |= {"seconds": round(wall, 4), "cpu_seconds": round(cpu, 4)}
    elif math.isfinite(learned.seconds):
        line |= {"seconds": learned.seconds, "cpu_seconds": learned.cpu_seconds}
    if fold.dataset.truth is not None and learned.formulas is not None:
        pairs = zip(learned.formulas, fold.dataset.truth, strict=True)
        line["recovered"] = sum(formula.equivalent(truth) for formula, truth in pairs)
    if fold.final is not None:
        line |= {f"final_{name}": value for name, value in measured(learned, fold.final).items() if name in LAST_TEST}
    if fold.task.encoded:
        # With joint training, concepts may drift away from the meaning of their names.
        annotated = fold.dataset.concepts(fold.rows.train).take(fold.rows.test)
        line["concept_accuracy"] = round(float((test.boolean() == annotated.boolean()).mean()), 6)
    if METHODS[method].kind == "ours":
        line["device"] = device_name()
    return line | stated(learned, fold.test)


def sweep_run(source: Source, task_name: str, protocol: Protocol, changes: dict[str, float], number: int) -> Line:
    fold = with_settings(fold_data(source, task_name, protocol, number), **changes)
    begun, cpu = time.perf_counter(), time.process_time()
    learned = settled(fold)
    seconds = {"seconds": round(time.perf_counter() - begun, 4), "cpu_seconds": round(time.process_time() - cpu, 4)}
    chosen_by = measured(learned, fold.validation)
    validation = {f"validation_{name.removeprefix('model_')}": chosen_by[name] for name in LAST_TEST[:2]}
    return measured(learned, fold.test) | seconds | validation | stated(learned, fold.test)


def settled(fold: FoldData) -> Learned:
    """Learn as the grid and the search do: as the authors, ten local rules, under their protocol; else as we do."""
    return (Authors(top_k=10) if fold.protocol == "paper" else Ours())(fold)


def measured(learned: Learned, test: ConceptTable) -> Line:
    """Return the metrics of the paper; shares are in [0, 1].

    A method that explains a sample of the classes is scored on these only, and not as a model.
    """
    if test.labels is None or test.labels.ndim != 1:
        raise LogicLensError("a method is measured on rows that have one class each.")
    predicted = learned.predict(test)
    line: Line = {} if learned.classes is not None else {"model_accuracy": round(accuracy(test.labels, predicted), 6)}
    if learned.formulas is None:
        return line
    classes = list(range(len(test.class_names))) if learned.classes is None else list(learned.classes)
    fires = firing(learned.formulas, test)
    answers = predicted[:, None] == np.array(classes) if learned.answers is None else learned.answers(test)
    rows = ScoredRows(learned.formulas, fires, test.targets()[:, classes], answers, test.weight)
    for metric in METRICS:
        if metric.score is not None and (learned.classes is None or metric.of_samples):
            line[metric.key] = round(metric.score(rows), 6)
    return line if learned.classes is None else {**line, "classes": len(classes)}


def stated(learned: Learned, test: ConceptTable) -> Line:
    names = test.class_names if learned.classes is None else [test.class_names[k] for k in learned.classes]
    formulas = {name: format_formula(f) for name, f in zip(names, learned.formulas or (), strict=False)}
    return ({"formulas": formulas} if formulas else {}) | ({"note": " ".join(learned.notes)} if learned.notes else {})
