"""A search for settings: temperature, penalty, hidden widths and cuts, judged by validation rows in three ways."""

from __future__ import annotations

import fcntl
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from logiclens import __version__
from logiclens.data.bins import BinnedConcepts
from logiclens.data.booleanise import Booleaniser
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.experiments.backends import capacity
from logiclens.experiments.bench import Step, prepare_all
from logiclens.experiments.folddata import FoldData, Source, all_folds, dataset_of
from logiclens.experiments.measure import measured
from logiclens.experiments.networks import forget
from logiclens.experiments.ours import Authors, Ours, with_settings
from logiclens.experiments.protocols import Protocol
from logiclens.experiments.studies import Asked, SharedStudy, Tried
from logiclens.experiments.tasks import TASKS, Task
from logiclens.experiments.workers import workers

OBJECTIVES = {"model_accuracy": "maximize", "explanation_accuracy": "maximize", "complexity": "minimize"}
"""What is searched for, on validation rows, as the mean over folds."""
TEMPERATURES = (0.3, 10.0)
PENALTIES = (1e-7, 1e-2)
HIDDEN = ("10", "20", "50", "20-20")
CUTS = ("task", "supervised", "quantile", "uniform")
"""How numbers are cut: as the task has it, or as `Booleaniser` does."""
N_CUTS = (1, 5)
POLL = 1.0
"""Seconds between looks at what other workers do."""


@dataclass(frozen=True)
class Setting:
    """One point of the space. Without `n_cuts` the concepts are those of the task."""

    temperature: float
    penalty_weight: float
    hidden: tuple[int, ...]
    cuts: Literal["task", "supervised", "quantile", "uniform"] = "task"
    n_cuts: int | None = None

    @classmethod
    def of(cls, params: dict[str, Any]) -> Setting:
        """From the parameters of a trial."""
        hidden = tuple(int(width) for width in params["hidden"].split("-"))
        return cls(params["tau"], params["lambda"], hidden, params.get("cuts", "task"), params.get("n_cuts"))


@dataclass(frozen=True)
class Search:
    """What to search, and where it is kept.

    Args:
        task: the task.
        protocol: which rows train and choose.
        source: where rows come from; its seed is that of the search, too.
        trials: how many there are to be in all, whoever carries them out.
        storage: the address of the database.
        study: the name in it.
        n_workers: trials at a time; None for one on each core, or as many as a cluster takes at the start.
        limit: seconds a trial may take; None for as long as it takes.
    """

    task: Task
    protocol: Protocol
    source: Source
    trials: int
    storage: str
    study: str
    n_workers: int | None = None
    limit: float | None = None

    @property
    def header(self) -> dict[str, Any]:
        """What the trials of a study have in common."""
        source = self.source
        return {
            "version": __version__, "task": self.task.name, "protocol": self.protocol, "folds": source.n_folds,
            "seed": source.seed,
        }  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a search has come to: how many trials ended well and not, and those that none beats."""

    n_tried: int
    n_failed: int
    front: tuple[Tried, ...]


def search(wanted: Search, tell: Callable[[Step], None] = lambda _step: None) -> Found:
    """Carry out the trials that are missing and return the front of all; others may work on the same study.

    Trials are drawn in rounds of `n_workers`, so that for one process and one number the same seed finds the same.
    """
    task, source = wanted.task, wanted.source
    study = SharedStudy(
        wanted.storage, wanted.study,
        header=wanted.header, directions=tuple(OBJECTIVES.values()), seed=source.seed,
    )  # fmt: skip
    if task.encoded:
        with _one_at_a_time(source.cache):
            prepare_all([task], [wanted.protocol], source, wanted.n_workers, tell, classes=False)
    suggest = partial(suggested, has_cuts=cuts_are_free(source, task, wanted.protocol))
    work_on = partial(judged, source.absolute(), task.name, wanted.protocol)
    size = wanted.n_workers or capacity() or os.cpu_count() or 1
    try:
        with study, workers(work_on, n_workers=size, limit=wanted.limit) as crew:
            while study.n_ended() < wanted.trials:
                asked = {one.number: one for one in _round(study, wanted.trials, suggest, size)}
                jobs = [(number, Setting.of(one.trial.params)) for number, one in asked.items()]
                for outcome in crew.run(jobs):
                    number, _ = outcome.job
                    study.tell(asked[number], outcome.value, outcome.status)
                    tell(Step(f"trial {number}", outcome.status, study.n_ended(), wanted.trials, None))
                if not jobs:
                    # Others are at the last trials; should they be lost, they are ours.
                    time.sleep(POLL)
        tried = study.tried()
        return Found(len(tried), study.n_ended() - len(tried), study.front())
    except study.trouble:
        raise LogicLensError(
            "the storage of the study does not answer. What has ended is kept; start again to go on."
        ) from None


def _round(study: SharedStudy, total: int, suggest: Callable[[Any], None], size: int) -> Iterator[Asked]:
    """Trials up to the next multiple of `size`: the same rounds, wherever an earlier process was stopped."""
    while (asked := study.ask(total, suggest)) is not None:
        yield asked
        if (asked.place + 1) % size == 0:
            return


def suggested(trial: Any, *, has_cuts: bool) -> None:
    """Draw the parameters of a trial."""
    trial.suggest_float("tau", *TEMPERATURES, log=True)
    trial.suggest_float("lambda", *PENALTIES, log=True)
    trial.suggest_categorical("hidden", HIDDEN)
    if has_cuts and trial.suggest_categorical("cuts", CUTS) != "task":
        trial.suggest_int("n_cuts", *N_CUTS)


def cuts_are_free(source: Source, task: Task, protocol: Protocol) -> bool:
    """Whether the concepts of a task are cuts of raw columns; those of the scripts are as they are."""
    return protocol == "clean" and isinstance(dataset_of(task.dataset, source.data).concepts, BinnedConcepts)


def judged(source: Source, task_name: str, protocol: Protocol, job: tuple[int, Setting]) -> tuple[float, ...]:
    """The objectives of a setting: means over folds, on validation rows."""
    import torch

    # Trials side by side share the cores; small networks gain nothing from more.
    torch.set_num_threads(1)
    folds = [changed(fold, job[1]) for fold in all_folds(source, TASKS[task_name].name, protocol)]
    try:
        return judge(folds)
    finally:
        # No other trial has these networks.
        forget()


def judge(folds: Sequence[FoldData]) -> tuple[float, ...]:
    """Train on each fold, all networks in one pass, and measure on its validation rows; test rows are not looked at."""
    found = []
    for fold in folds:
        learn = Authors(top_k=10) if fold.protocol == "paper" else Ours("search")
        measures = dict(measured(learn(replace(fold, family=lambda: folds)), fold.validation))
        found.append([float(measures[name]) for name in OBJECTIVES])
    return tuple(float(mean) for mean in np.mean(found, axis=0))


def changed(fold: FoldData, setting: Setting) -> FoldData:
    """A fold with a setting; cuts are found on its training rows alone."""
    made = with_settings(
        fold, temperature=setting.temperature, penalty_weight=setting.penalty_weight, hidden=setting.hidden
    )
    if setting.cuts == "task":
        return made
    dataset, rows = fold.dataset, fold.rows
    if not isinstance(dataset.inputs, pd.DataFrame):
        raise LogicLensError(f"{dataset.name} has no raw columns to cut.")
    booleaniser = Booleaniser(setting.cuts, n_cuts=setting.n_cuts or N_CUTS[0])
    with warnings.catch_warnings():
        # A column that cannot be cut on these rows is left out.
        warnings.simplefilter("ignore", LogicLensWarning)
        booleaniser.fit(dataset.inputs.iloc[rows.train], dataset.labels[rows.train])
    groups = booleaniser.groups_
    table = ConceptTable(
        booleaniser.transform(dataset.inputs), booleaniser.cutting_.names, dataset.labels, dataset.class_names,
        groups.exclusive, implied=groups.implied, literals=booleaniser.cutting_.literals,
    )  # fmt: skip
    train, validation, test = (table.take(part) for part in (rows.train, rows.validation, rows.test))
    return replace(made, train=train, validation=validation, test=test)


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait while another process predicts concepts into the same folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
