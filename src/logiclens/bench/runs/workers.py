"""Jobs in processes of their own: a job may crash, hang or be told to stop, and the others go on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeAlias, TypeVar

import joblib
from joblib.parallel import get_active_backend

from logiclens.bench.runs.results import OK
from logiclens.errors import LogicLensError, MissingPackage
from logiclens.estimator.cluster import DIED, reporting, words

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


class _Worker(Generic[Job]):
    """One process, which does job after job until it is stopped."""

    def __init__(self, work: Callable[[Job], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.begun: float | None = None
        self.ready = False

    def give(self, job: Job) -> None:
        self.job, self.begun = job, None
        self.pipe.send(job)

    def stop(self) -> None:
        # Its children (a peer in another environment) are in its process group.
        if self.process.pid is not None and self.process.is_alive():
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self.process.kill()
        self.process.join()
        self.pipe.close()


class LocalWorkers(AbstractContextManager["LocalWorkers[Any]"], Generic[Job]):
    """Processes on this machine, each with one job at a time; kept for further jobs until they are stopped."""

    def __init__(
        self,
        work: Callable[[Job], Any],
        *,
        n_workers: int | None = None,
        limit: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with no process."""
        self.work, self.n_workers, self.limit, self.clock = work, n_workers or os.cpu_count() or 1, limit, clock
        self.crew: list[_Worker[Job]] = []

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome[Job]]:
        """Yield what became of each job as it ends."""
        waiting, crew, clock = list(reversed(jobs)), self.crew, self.clock
        while waiting or any(worker.job is not None for worker in crew):
            idle = sum(worker.job is None for worker in crew)
            while len(crew) < self.n_workers and idle < len(waiting):
                crew.append(_Worker(self.work))
                idle += 1
            for worker in crew:
                if worker.job is None and waiting:
                    worker.give(waiting.pop())
            busy = [worker for worker in crew if worker.job is not None]
            heard = wait([worker.pipe for worker in busy], timeout=_patience(busy, self.limit, clock()))
            for worker in busy:
                if (job := worker.job) is None:
                    continue
                heard_of = worker.pipe in heard
                outcome = _heard(worker, job, clock) if heard_of else _overdue(worker, job, self.limit, clock())
                if outcome is not None:
                    if outcome.status != OK and not worker.process.is_alive():
                        crew.remove(worker)
                    yield outcome

    def __exit__(self, *_: object) -> None:
        """Stop everything."""
        for worker in self.crew:
            worker.stop()
        self.crew.clear()


def workers(
    work: Callable[[Job], Any],
    *,
    n_workers: int | None = None,
    limit: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> LocalWorkers[Job] | JoblibWorkers[Job]:
    """Those who do `work`: processes of this machine or, inside a `joblib.parallel_config`, what that names."""
    if (name := active_backend()) is None:
        return LocalWorkers(work, n_workers=n_workers, limit=limit, clock=clock)
    return JoblibWorkers(work, name, n_workers=n_workers, limit=limit)


def run_jobs(
    jobs: Sequence[Job],
    work: Callable[[Job], Any],
    *,
    n_workers: int | None = None,
    limit: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Outcome[Job]]:
    """Do `work` on every job, `n_workers` at a time, and yield what became of each as it ends.

    `work` and the jobs are sent to other processes, so they must be picklable. Without a number there is a process for
    each core, or as many jobs at a time as a cluster takes. The limit in seconds counts from when a process begins with
    the job, not from when that process was started. Closing the iterator stops everything.
    """
    with workers(work, n_workers=n_workers, limit=limit, clock=clock) as crew:
        yield from crew.run(jobs)


def _patience(busy: Sequence[_Worker[Job]], limit: float | None, now: float) -> float | None:
    """How long nothing can become due."""
    if limit is None:
        return None
    due = [worker.begun + limit - now for worker in busy if worker.begun is not None]
    return max(0.0, min(due)) if due else None


def _heard(worker: _Worker[Job], job: Job, clock: Callable[[], float]) -> Outcome[Job] | None:
    try:
        kind, value = worker.pipe.recv()
    except (EOFError, ConnectionError):
        worker.stop()
        return Outcome(job, f"failed: {_end(worker.process.exitcode)}", None, _since(worker, clock()))
    if kind == "begun":
        worker.begun = clock()
        return None
    worker.job = None
    return outcome_of(job, (kind, value), _since(worker, clock()))


def _overdue(worker: _Worker[Job], job: Job, limit: float | None, now: float) -> Outcome[Job] | None:
    if limit is None or worker.begun is None or now < worker.begun + limit:
        return None
    worker.stop()
    return Outcome(job, f"stopped: after {limit:g} s", None, now - worker.begun)


def _since(worker: _Worker[Job], now: float) -> float:
    return 0.0 if worker.begun is None else now - worker.begun


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended by itself, with code {code}"


def _serve(pipe: Connection, work: Callable[[Job], Any]) -> None:
    """The other side: a job comes in, what it gave goes out."""
    # A group of its own, so that a stop reaches its children; Ctrl-C is for the one who waits.
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(os.devnull, "w") as nothing:
        # What a compared library prints is no part of the results.
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(("begun", None))
        pipe.send(answered(work, job))


def _end_with_parent() -> None:
    """However the one who waits for us ends, we and our children end too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.killpg(os.getpgrp(), signal.SIGKILL)
