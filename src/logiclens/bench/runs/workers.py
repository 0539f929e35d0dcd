"""Jobs of the bench: in processes of this machine, or wherever the active joblib backend sends them.

Each local process has an executor of its own, because a process that dies breaks its executor with all its jobs. Loky
and Pebble were tried for this: loky stops no single job, and Pebble loses other jobs, or waits for ever, when a process
ends at once or with code 0.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from queue import LifoQueue
from typing import Any, Generic, TypeAlias, TypeVar

import joblib
from joblib.parallel import get_active_backend

from logiclens.bench.baselines.learner import MissingPackage
from logiclens.bench.runs.results import OK
from logiclens.errors import LogicLensError

Job = TypeVar("Job")


@dataclass(frozen=True)
class Outcome(Generic[Job]):
    """What became of a job: its value where the status is "ok", and else the reason in words."""

    job: Job
    status: str
    value: Any
    seconds: float


def answered(work: Callable[[Job], Any], job: Job) -> tuple[str, Any]:
    """Do a job: "ok" and its value, or "skipped" or "failed" and the reason."""
    try:
        return OK, work(job)
    except MissingPackage as error:
        return "skipped", sentence(error)
    except Exception as error:
        return "failed", sentence(error)


def outcome_of(job: Job, answer: tuple[str, Any], seconds: float) -> Outcome[Job]:
    """The outcome of a job that gave an answer."""
    kind, value = answer
    return Outcome(job, OK, value, seconds) if kind == OK else Outcome(job, f"{kind}: {value}", None, seconds)


def sentence(error: BaseException) -> str:
    """One line: results are read in tables."""
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, MissingPackage) else f"{type(error).__name__}: {text}"


_turn = threading.Lock()
_Answer: TypeAlias = tuple[int, tuple[str, Any], float]


def active_backend() -> str | None:
    """The name of the active joblib backend; None where it is local processes, which we start ourselves.

    >>> with joblib.parallel_config("threading"):
    ...     active_backend()
    'threading'
    >>> active_backend()
    """
    backend, _ = get_active_backend()
    name = type(backend).__name__
    if name in ("LokyBackend", "MultiprocessingBackend"):
        return None
    return name.removesuffix("Backend").removesuffix("Distributed").lower()


def capacity() -> int | None:
    """How many jobs the active backend takes at a time just now; None for local processes."""
    return None if active_backend() is None else max(1, joblib.effective_n_jobs(-1))


class JoblibWorkers(AbstractContextManager["JoblibWorkers[Any]"], Generic[Job]):
    """Whoever the active joblib backend sends jobs to.

    A worker that dies is the backend's to replace: Dask gives its jobs to another. What it gives up is told as failed.
    """

    def __init__(
        self, work: Callable[[Job], Any], name: str, *, n_workers: int | None = None, limit: float | None = None
    ) -> None:
        """Begin with no job sent."""
        if limit is not None:
            raise LogicLensError(
                f"a limit of seconds for each run can be kept in local processes only, and the backend is {name}: "
                "leave out --limit, or --backend."
            )
        self.work, self.name, self.n_workers = work, name, n_workers

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome[Job]]:
        """Yield what became of each job as it ends."""
        # Not at the top: the estimator loads torch, and a process that only waits for a job needs it not.
        from logiclens.estimator.cluster import DIED

        died = []
        for place, answer, seconds in self._answers(range(len(jobs)), jobs):
            if answer == DIED:
                died.append(place)
            else:
                yield outcome_of(jobs[place], answer, seconds)
        # Who dies of a job takes those that wait beside it along: alone, each shows whether it is the one.
        for one in died:
            for place, answer, seconds in self._answers([one], jobs):
                yield outcome_of(jobs[place], answer, seconds)

    def _answers(self, places: Sequence[int], jobs: Sequence[Job]) -> Iterator[_Answer]:
        from logiclens.estimator.cluster import reporting, words

        if not places:
            return
        backend, _ = get_active_backend()
        if self.name == "dask":
            backend = reporting(backend)
        # One job a batch, so that each is written down, and lost, by itself.
        parallel = joblib.Parallel(
            n_jobs=-1,
            backend=backend,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="all" if self.n_workers is None else self.n_workers,
        )
        try:
            yield from parallel(joblib.delayed(_answer)(self.work, place, jobs[place]) for place in places)
        except Exception as error:
            raise LogicLensError(
                f"the backend {self.name} gave up: {words(error)}. What has ended is kept; start again to go on."
            ) from error

    def __exit__(self, *_: object) -> None:
        """Nothing is held: the workers are the backend's."""


def _answer(work: Callable[[Job], Any], place: int, job: Job) -> _Answer:
    """On a worker: one job at a time in a process, because networks that were trained are kept for the next one."""
    with _turn, joblib.parallel_config("sequential"):
        begun = time.monotonic()
        answer = answered(work, job)
        return place, answer, time.monotonic() - begun


class _Slot:
    """One process in an executor of its own, started when a job comes and replaced when it has ended."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executor: ProcessPoolExecutor | None = None
        self.process: BaseProcess | None = None
        self.closed = False

    def submit(self, work: Callable[[Job], Any], job: Job) -> Future[tuple[str, Any]]:
        """Begin with a job; the process has loaded what `work` needs by then."""
        with self.lock:
            if self.closed:
                raise BrokenExecutor
            if self.executor is None:
                self.executor = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_alone)
                pid = self.executor.submit(_loaded, work).result()
                self.process = next(child for child in multiprocessing.active_children() if child.pid == pid)
            return self.executor.submit(answered, work, job)

    def stop(self, *, close: bool = False) -> int | None:
        """End the process and its children, and return its exit code; with `close`, take no further job."""
        with self.lock:
            self.closed = self.closed or close
            if self.process is not None and self.process.pid is not None and self.process.is_alive():
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            if self.executor is not None:
                self.executor.shutdown()
            code = None if self.process is None else self.process.exitcode
            self.executor = self.process = None
            return code


class LocalWorkers(AbstractContextManager["LocalWorkers[Any]"], Generic[Job]):
    """Processes on this machine, each with one job at a time; they are kept for further jobs until the block ends."""

    def __init__(self, work: Callable[[Job], Any], *, n_workers: int | None = None, limit: float | None = None) -> None:
        """Start no process yet."""
        self.work, self.limit = work, limit
        self.slots = [_Slot() for _ in range(n_workers or os.cpu_count() or 1)]
        self.idle: LifoQueue[_Slot] = LifoQueue()
        for slot in self.slots:
            self.idle.put(slot)
        self.threads = ThreadPoolExecutor(len(self.slots))

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome[Job]]:
        """Yield the outcome of each job when it ends."""
        for ended in as_completed([self.threads.submit(self._outcome, job) for job in jobs]):
            yield ended.result()

    def __exit__(self, *_: object) -> None:
        """Stop every process, also in the middle of a job."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        for slot in self.slots:
            slot.stop(close=True)
        self.threads.shutdown()

    def _outcome(self, job: Job) -> Outcome[Job]:
        slot = self.idle.get()
        begun = time.monotonic()
        try:
            answer = slot.submit(self.work, job)
            begun = time.monotonic()
            return outcome_of(job, answer.result(self.limit), time.monotonic() - begun)
        except Exception as error:
            seconds, code = time.monotonic() - begun, slot.stop()
            match error:
                case TimeoutError():
                    status = f"stopped: after {self.limit:g} s"
                case BrokenExecutor():
                    status = f"failed: {_end(code)}"
                case _:
                    status = f"failed: {sentence(error)}"
            return Outcome(job, status, None, seconds)
        finally:
            self.idle.put(slot)


def workers(
    work: Callable[[Job], Any],
    *,
    n_workers: int | None = None,
    limit: float | None = None,
) -> LocalWorkers[Job] | JoblibWorkers[Job]:
    """Those who do `work`: processes of this machine or, inside a `joblib.parallel_config`, what that names."""
    if (name := active_backend()) is None:
        return LocalWorkers(work, n_workers=n_workers, limit=limit)
    return JoblibWorkers(work, name, n_workers=n_workers, limit=limit)


def run_jobs(
    jobs: Sequence[Job],
    work: Callable[[Job], Any],
    *,
    n_workers: int | None = None,
    limit: float | None = None,
) -> Iterator[Outcome[Job]]:
    """Do `work` on every job, `n_workers` at a time, and yield what became of each as it ends.

    `work` and the jobs are sent to other processes, so they must be picklable. Without a number there is a process for
    each core, or as many jobs at a time as a cluster takes. The limit in seconds counts from when a process begins with
    the job, not from when that process was started. Closing the iterator stops everything.
    """
    with workers(work, n_workers=n_workers, limit=limit) as crew:
        yield from crew.run(jobs)


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended by itself, with code {code}"


def _loaded(_work: Callable[[Job], Any]) -> int:
    """Return the id of this process; to get here it has imported the module of `work`."""
    return os.getpid()


def _alone() -> None:
    """Prepare a process for jobs: its children end with it, it ends with its parent, and it prints nothing."""
    # In a group of its own a stop reaches its children; Ctrl-C is for the parent.
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(os.devnull, "w") as nothing:
        # The output of a compared library is no part of the results.
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)


def _end_with_parent() -> None:
    """Wait for the end of the parent, however it ends, then end this process and its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.killpg(os.getpgrp(), signal.SIGKILL)
