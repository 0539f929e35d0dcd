"""A search for settings: temperature, penalty, hidden widths and cuts, judged by validation rows in three ways.

Optuna's storage keeps the heartbeats of running trials, and its callback puts a lost trial back in the queue. Two parts
are ours: Optuna records heartbeats only inside `Study.optimize`, which cannot draw trials in rounds; and a process of
this machine that has ended is noticed at once, since after a grace period other trials would have been drawn first.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pandas as pd

from lab.datasets.dataset import BinnedConcepts
from lab.runs.fold_data import FoldData, Source, all_folds, dataset_of
from lab.runs.ours import Authors, Ours, forget, with_settings
from lab.runs.plan import Step, measured, prepare_all
from lab.runs.tasks import TASKS, Protocol, Task
from lab.runs.workers import capacity, sentence, workers
from logiclens import __version__
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning, quoted, require_extra

BEAT, SILENCE = 10, 60
"""Seconds between two heartbeats of a trial, and seconds without a heartbeat after which a trial is lost."""
TRIES = 10
"""Number of attempts to open a study: if several workers create its tables at the same time, one succeeds."""
_HEADER, _READY, _REASON, _WORKER = "logiclens", "ready", "reason", "worker"


@dataclass(frozen=True)
class FinishedTrial:
    """A completed trial: its parameters and values."""

    number: int
    params: dict[str, Any]
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class OpenTrial:
    """A trial to run. `place` is its number without counting lost trials."""

    trial: Any
    place: int

    @property
    def number(self) -> int:
        """Return the number of the trial in the study."""
        return int(self.trial.number)


class SharedStudy:
    """Trials in a database that other processes and machines may share.

    Each trial is drawn from its own seed, which derives from `seed` and its place. A trial that was lost with its
    worker is repeated with the same parameters at the same place, so with one worker an interruption changes nothing.

    Args:
        url: the database, `sqlite:///file.db` or `postgresql://user@host/name`.
        name: the name of the study.
        header: settings that all trials share; a study with other settings is refused.
        directions: "maximize" or "minimize" for each value.
        seed: the random seed of the parameters.
    """

    def __init__(
        self, url: str, name: str, *, header: Mapping[str, Any], directions: Sequence[str], seed: int = 42
    ) -> None:
        """Open the study, or create it."""
        self.optuna = _optuna()
        self.seed, self.name = seed, name
        self.open: dict[int, int] = {}
        self.ended = threading.Event()
        self.states = self.optuna.trial.TrialState
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self.optuna.exceptions.ExperimentalWarning)
            self.retry = self.optuna.storages.RetryHeartbeatStaleTrialCallback()
            self.storage, self.study = self._opened(url, directions)
        self.id = self.storage.get_study_id_from_name(name)
        there = self.study.user_attrs.get(_HEADER)
        if there is None:
            self.study.set_user_attr(_HEADER, dict(header))
        for key, mine in header.items() if there is not None else ():
            if there.get(key) != mine:
                raise LogicLensError(
                    f"the study {quoted(name)} was begun with {key} {there.get(key)}, asked for was {mine}: "
                    "name another with --study, or ask for the same."
                )

    def __enter__(self) -> SharedStudy:
        """Start to send heartbeats."""
        self.beating = threading.Thread(target=self._beat, daemon=True)
        self.beating.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give unfinished trials back."""
        self.ended.set()
        self.beating.join()
        for number in list(self.open):
            self._lost(number)

    def ask(self, total: int, suggest: Callable[[Any], None]) -> OpenTrial | None:
        """Return the next trial with parameters from `suggest`, or None if `total` trials are done or running."""
        self._bury()
        if len(self._counted()) >= total:
            return None
        self._sign_next()
        with warnings.catch_warnings():
            # Optuna sends heartbeats only in its own loop; ours sends them as well.
            warnings.filterwarnings("ignore", "Heartbeat of storage")
            trial = self.study.ask()
        # Another worker may have taken the signed trial, or signed the one that is ours now.
        self.open[trial.number] = self._sign(trial.number)
        counted = sorted(one.number for one in self._counted())
        if counted.index(trial.number) >= total:
            # Another worker took the last trial at the same time.
            self._told(trial.number, state=self.states.FAIL)
            return None
        lost = sum(one.number < trial.number for one in self._trials() if self._was_lost(one))
        place = trial.number - lost
        drawn_from = int(np.random.SeedSequence([self.seed, place]).generate_state(1)[0])
        self.study.sampler = self.optuna.samplers.TPESampler(seed=drawn_from, multivariate=False)
        suggest(trial)
        trial.set_user_attr(_READY, True)
        return OpenTrial(trial, place)

    def tell(self, asked: OpenTrial, values: Sequence[float] | None, reason: str = "") -> None:
        """Record the values of a trial, or the reason why it has none."""
        if values is not None and np.isfinite(values).all():
            self._told(asked.number, values=list(values))
        else:
            asked.trial.set_user_attr(_REASON, reason if values is None else f"failed: {tuple(values)} has gaps")
            self._told(asked.number, state=self.states.FAIL)

    def n_ended(self) -> int:
        """Return the number of trials that have ended, successfully or not."""
        return sum(one.state != self.states.RUNNING for one in self._counted())

    @property
    def trouble(self) -> type[Exception]:
        """Return the exception type that means that the database does not answer."""
        return self.optuna.exceptions.StorageInternalError  # type: ignore[no-any-return]

    def tried(self) -> tuple[FinishedTrial, ...]:
        """Return the completed trials, by number."""
        return tuple(_tried(one) for one in self._trials() if one.state == self.states.COMPLETE)

    def front(self) -> tuple[FinishedTrial, ...]:
        """Return the Pareto front: the trials that no other trial dominates."""
        return tuple(_tried(one) for one in self.study.best_trials)

    def _opened(self, url: str, directions: Sequence[str]) -> tuple[Any, Any]:
        place = _hidden(url)
        for remaining in reversed(range(TRIES)):
            try:
                storage = self.optuna.storages.RDBStorage(
                    _address(url),
                    engine_kwargs={"connect_args": {"timeout": 60}} if url.startswith("sqlite") else None,
                    heartbeat_interval=BEAT,
                    grace_period=SILENCE,
                    heartbeat_stale_trial_callback=self._again,
                )
                study = self.optuna.create_study(
                    storage=storage, study_name=self.name, directions=list(directions), load_if_exists=True
                )
            except ImportError as error:
                raise LogicLensError(f"the storage {place} needs a package: {sentence(error).rstrip('.')}.") from None
            except Exception as error:
                if not remaining or not _may_pass(error):
                    raise LogicLensError(f"the storage {place} cannot be opened: {_first(error)}.") from None
                time.sleep(0.3)
            else:
                if [one.name.lower() for one in study.directions] != list(directions):
                    raise LogicLensError(
                        f"the study {quoted(self.name)} in {place} is of something else: name another."
                    )
                return storage, study
        raise AssertionError("the last try raises")

    def _trials(self) -> list[Any]:
        return list(self.study.get_trials(deepcopy=False))

    def _was_lost(self, trial: Any) -> bool:
        return trial.state == self.states.FAIL and _REASON not in trial.user_attrs

    def _counted(self) -> list[Any]:
        """Return the trials that are done or running."""
        return [one for one in self._trials() if one.state != self.states.WAITING and not self._was_lost(one)]

    def _bury(self) -> None:
        """Mark trials as lost if their worker is gone: at once on this machine, else when its heartbeat is stale."""
        for one in self._trials():
            worker = one.user_attrs.get(_WORKER)
            # A repeated trial carries the worker of the lost trial until it records its own.
            if one.state == self.states.RUNNING and worker and worker.get("trial") == one.number and _is_gone(worker):
                self._lost(one.number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self.optuna.exceptions.ExperimentalWarning)
            self.optuna.storages.fail_stale_trials(self.study)

    def _sign_next(self) -> None:
        """Write this process down in the trial that is taken next, before it runs.

        A trial that runs unsigned when its worker is killed would seem to be at work, and shift the places after it.
        """
        waiting = [one.number for one in self._trials() if one.state == self.states.WAITING]
        if not waiting:
            self.study.enqueue_trial({})
            waiting = [one.number for one in self._trials() if one.state == self.states.WAITING]
        for number in waiting[:1]:
            # Another worker may have finished it already.
            with suppress(self.optuna.exceptions.UpdateFinishedTrialError):
                self._sign(number)

    def _sign(self, number: int) -> int:
        """Send a heartbeat of a trial, write this process down as its worker, and return its id in the storage."""
        trial_id: int = self.storage.get_trial_id_from_study_id_trial_number(self.id, number)
        self.storage.record_heartbeat(trial_id)
        self.storage.set_trial_user_attr(trial_id, _WORKER, {**_this_process(), "trial": number})
        return trial_id

    def _lost(self, number: int) -> None:
        if self._told(number, state=self.states.FAIL):
            self._again(self.study, next(one for one in self._trials() if one.number == number))

    def _again(self, study: Any, trial: Any) -> None:
        """Put a lost trial back in the queue; a trial without all its parameters is drawn again instead."""
        if trial.user_attrs.get(_READY):
            self.retry(study, trial)

    def _told(self, number: int, **what: Any) -> bool:
        """Return whether the trial was still ours: after a long silence another worker may have taken it."""
        self.open.pop(number, None)
        try:
            self.study.tell(number, **what)
        except (ValueError, RuntimeError):
            return False
        return True

    def _beat(self) -> None:
        while not self.ended.wait(BEAT):
            for trial_id in list(self.open.values()):
                # A database that does not answer now may answer at the next heartbeat.
                with suppress(Exception):
                    self.storage.record_heartbeat(trial_id)


def _tried(trial: Any) -> FinishedTrial:
    return FinishedTrial(trial.number, dict(trial.params), tuple(trial.values))


def _optuna() -> ModuleType:
    with require_extra("tune", "--search optuna"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _address(url: str) -> str:
    """Return the address with the driver that our tests use."""
    for plain in ("postgresql://", "postgres://"):
        if url.startswith(plain):
            return f"postgresql+psycopg://{url.removeprefix(plain)}"
    return url


def _hidden(url: str) -> str:
    """Return the address without its password; raise if it is not an address."""
    from sqlalchemy.engine import make_url

    try:
        return make_url(url).render_as_string(hide_password=True)
    except Exception:
        raise LogicLensError(
            "--storage takes the address of a database, such as sqlite:///study.db or postgresql://user@host/name."
        ) from None


def _may_pass(error: Exception) -> bool:
    """Test whether another worker may be creating the same tables now."""
    text = str(error).lower()
    return any(sign in text for sign in ("already exists", "unique", "duplicate", "locked", "no such table"))


def _first(error: Exception) -> str:
    """Return the first line of an error: those of databases have many."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _this_process() -> dict[str, Any]:
    pid = os.getpid()
    return {"machine": _machine(), "pid": pid, "started": _started(pid)}


def _is_gone(worker: Mapping[str, Any]) -> bool:
    """Test whether a worker was a process of this machine that has ended; for another machine this is unknown."""
    if worker["machine"] is None or worker["machine"] != _machine():
        return False
    return bool(_started(worker["pid"]) != worker["started"])


def _machine() -> str | None:
    """Return an id of this machine since its last boot, and of the container, whose processes see each other."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _started(pid: int) -> str | None:
    """Return the start time of a process, or None if it does not exist."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
    except OSError:
        return None
    # A zombie has ended; its parent has not read its exit code yet.
    return None if fields[0] == "Z" else fields[19]


OBJECTIVES = {"model_accuracy": "maximize", "explanation_accuracy": "maximize", "complexity": "minimize"}
"""The objectives, on validation rows, as the mean over folds."""
TEMPERATURES = (0.3, 10.0)
PENALTIES = (1e-7, 1e-2)
HIDDEN = ("10", "20", "50", "20-20")
CUTS = ("task", "supervised", "quantile", "uniform")
"""How numbers are cut: as in the task, or by a method of `Booleaniser`."""
N_CUTS = (1, 5)
POLL = 1.0
"""Seconds between two checks of the trials of other workers."""


@dataclass(frozen=True)
class Setting:
    """One point of the search space. Without `n_cuts` the concepts are those of the task."""

    temperature: float
    penalty_weight: float
    hidden: tuple[int, ...]
    cuts: Literal["task", "supervised", "quantile", "uniform"] = "task"
    n_cuts: int | None = None

    @classmethod
    def of(cls, params: dict[str, Any]) -> Setting:
        """Return the setting with the parameters of a trial."""
        hidden = tuple(int(width) for width in params["hidden"].split("-"))
        return cls(params["tau"], params["lambda"], hidden, params.get("cuts", "task"), params.get("n_cuts"))


@dataclass(frozen=True)
class SearchPlan:
    """What to search, and where to store it.

    Args:
        task: the task.
        protocol: the protocol, which defines training and validation rows.
        source: where rows come from; its seed is also the seed of the search.
        trials: the total number of trials, of all workers, earlier ones included.
        storage: the address of the database.
        study: the name of the study in it.
        n_workers: trials at a time; default: one per core, or as many as the joblib backend takes.
        limit: maximum seconds per trial; default: none.
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
        """Return the settings that all trials of a study share."""
        source = self.source
        return {
            "version": __version__, "task": self.task.name, "protocol": self.protocol, "folds": source.n_folds,
            "seed": source.seed,
        }  # fmt: skip


@dataclass(frozen=True)
class SearchResult:
    """The result of a search: the number of completed and failed trials, and the Pareto front."""

    n_tried: int
    n_failed: int
    front: tuple[FinishedTrial, ...]


def search(wanted: SearchPlan, tell: Callable[[Step], None] = lambda _step: None) -> SearchResult:
    """Run the missing trials and return the front of all trials; other workers may share the study.

    Trials are drawn in rounds of `n_workers`, so that one process with the same number and seed finds the same result.
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
                    # Other workers run the last trials; if they are lost, we repeat them.
                    time.sleep(POLL)
        tried = study.tried()
        return SearchResult(len(tried), study.n_ended() - len(tried), study.front())
    except study.trouble:
        raise LogicLensError(
            "the storage of the study does not answer. What has ended is kept; start again to go on."
        ) from None


def _round(study: SharedStudy, total: int, suggest: Callable[[Any], None], size: int) -> Iterator[OpenTrial]:
    """Yield trials up to the next multiple of `size`, so that rounds are the same after an interruption."""
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
    """Test whether the concepts of a task are cuts of raw columns; those of the authors' scripts are fixed."""
    return protocol == "clean" and isinstance(dataset_of(task.dataset, source.data).concepts, BinnedConcepts)


def judged(source: Source, task_name: str, protocol: Protocol, job: tuple[int, Setting]) -> tuple[float, ...]:
    """Return the objectives of a setting: means over folds, on validation rows."""
    import torch

    # Trials in parallel share the cores; small networks gain nothing from more threads.
    torch.set_num_threads(1)
    folds = [changed(fold, job[1]) for fold in all_folds(source, TASKS[task_name].name, protocol)]
    try:
        return judge(folds)
    finally:
        # No other trial uses these networks.
        forget()


def judge(folds: Sequence[FoldData]) -> tuple[float, ...]:
    """Train the networks of all folds in one pass and measure on validation rows; test rows are not used."""
    found = []
    for fold in folds:
        learn = Authors(top_k=10) if fold.protocol == "paper" else Ours("search")
        measures = dict(measured(learn(replace(fold, family=lambda: folds)), fold.validation))
        found.append([float(measures[name]) for name in OBJECTIVES])
    return tuple(float(mean) for mean in np.mean(found, axis=0))


def changed(fold: FoldData, setting: Setting) -> FoldData:
    """Return a fold with a setting; cuts are fitted on its training rows only."""
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
