"""Jobs in processes of their own: a job may crash, hang or be told to stop, and the others go on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection, wait
from typing import Any, Generic

from logiclens.experiments.backends import JoblibWorkers, active_backend
from logiclens.experiments.jobs import Job, Outcome, answered, outcome_of
from logiclens.experiments.results import OK


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
