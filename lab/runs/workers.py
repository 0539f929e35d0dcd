"""Run jobs in processes of this machine, or where the active joblib backend sends them.

Each local process has an executor of its own, because a process that dies breaks its executor with all its jobs. Loky
3.6, as tried, does the same and cannot stop one job alone; with an executor for each process, its workers outlive a
killed parent, because their `parent_process().sentinel` is None, and a kill at once can raise a KeyError in its manager
thread. Pebble loses other jobs, or waits for ever, if a process ends at once or with code 0.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from queue import LifoQueue
from typing import Any, Generic, TypeAlias, TypeVar

import joblib
from joblib.parallel import get_active_backend

from lab.runs.results import OK
from logiclens.errors import LogicLensError, MissingPackage

Job = TypeVar("Job")


@dataclass(frozen=True)
class Outcome(Generic[Job]):
    """The outcome of a job: its value if the status is "ok"; otherwise the status contains the reason."""

    job: Job
    status: str
    value: Any
    seconds: float


def answered(work: Callable[[Job], Any], job: Job) -> tuple[str, Any]:
    """Do a job and return "ok" and its value, or "skipped" or "failed" and the reason."""
    try:
        return OK, work(job)
    except MissingPackage as error:
        return "skipped", sentence(error)
    except Exception as error:
        return "failed", sentence(error)


def outcome_of(job: Job, answer: tuple[str, Any], seconds: float) -> Outcome[Job]:
    """Return the outcome of a job from its answer."""
    kind, value = answer
    return Outcome(job, OK, value, seconds) if kind == OK else Outcome(job, f"{kind}: {value}", None, seconds)


def sentence(error: BaseException) -> str:
    """Return an error as one line, because results are read in tables."""
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, MissingPackage) else f"{type(error).__name__}: {text}"


_turn = threading.Lock()
_Answer: TypeAlias = tuple[int, tuple[str, Any], float]


def active_backend() -> str | None:
    """Return the name of the active joblib backend, or None for local processes, which we start ourselves.

    >>> with joblib.parallel_config("threading"):
    ...     active_backend()
    'threading'
    >>> active_backend()
    """
    backend, _ = get_active_backend()
    name = type(backend).__name__
    if name in ("LokyBackend", "MultiprocessingBackend"):
        return None
    return name.removesuffix("Backend").lower()


def capacity() -> int | None:
    """Return how many jobs the active backend runs at a time now, or None for local processes."""
    return None if active_backend() is None else max(1, joblib.effective_n_jobs(-1))


class JoblibWorkers(AbstractContextManager["JoblibWorkers[Any]"], Generic[Job]):
    """The workers of the active joblib backend."""

    def __init__(
        self, work: Callable[[Job], Any], name: str, *, n_workers: int | None = None, limit: float | None = None
    ) -> None:
        """Raise if there is a limit, which a backend cannot enforce."""
        if limit is not None:
            raise LogicLensError(
                f"a limit of seconds for each run can be kept in local processes only, and the backend is {name}: "
                "leave out the limit."
            )
        self.work, self.n_workers = work, n_workers

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome[Job]]:
        """Yield the outcome of each job when it ends."""
        # One job per batch, so that each is recorded, or lost, by itself.
        parallel = joblib.Parallel(
            n_jobs=-1,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="all" if self.n_workers is None else self.n_workers,
        )
        for place, answer, seconds in parallel(
            joblib.delayed(_answer)(self.work, place, job) for place, job in enumerate(jobs)
        ):
            yield outcome_of(jobs[place], answer, seconds)

    def __exit__(self, *_: object) -> None:
        """Stop nothing: the workers belong to the backend."""


def _answer(work: Callable[[Job], Any], place: int, job: Job) -> _Answer:
    """Run a job on a worker, one at a time per process, because trained networks are kept for the next job."""
    with _turn, joblib.parallel_config("sequential"):
        begun = time.monotonic()
        answer = answered(work, job)
        return place, answer, time.monotonic() - begun


class _Slot:
    """One process in an executor of its own; it starts with the first job, and is replaced after it ends."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executor: ProcessPoolExecutor | None = None
        self.process: BaseProcess | None = None
        self.closed = False

    def submit(self, work: Callable[[Job], Any], job: Job) -> Future[tuple[str, Any]]:
        """Start a job; by then the process has imported the module of `work`."""
        with self.lock:
            if self.closed:
                raise BrokenExecutor
            if self.executor is None:
                self.executor = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_alone)
                pid = self.executor.submit(_loaded, work).result()
                self.process = next(child for child in multiprocessing.active_children() if child.pid == pid)
            return self.executor.submit(answered, work, job)

    def stop(self, *, close: bool = False) -> int | None:
        """Kill the process with its children and return its exit code; `close` refuses further jobs."""
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
    """Processes on this machine that run one job at a time each, and are kept until the `with` block ends."""

    def __init__(self, work: Callable[[Job], Any], *, n_workers: int | None = None, limit: float | None = None) -> None:
        """Start no process yet."""
        self.work, self.limit = work, limit
        self.slots = [_Slot() for _ in range(n_workers or os.cpu_count() or 1)]
        self.idle: LifoQueue[_Slot] = LifoQueue()
        for slot in self.slots:
            self.idle.put(slot)
        self.threads = ThreadPoolExecutor(len(self.slots), initializer=_block_broken_pipes)

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome[Job]]:
        """Yield the outcome of each job when it ends."""
        for ended in as_completed([self.threads.submit(self._outcome, job) for job in jobs]):
            yield ended.result()

    def __exit__(self, *_: object) -> None:
        """Kill all processes, even in the middle of a job."""
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
    """Return local workers or, inside a `joblib.parallel_config`, the workers of that backend."""
    if (name := active_backend()) is None:
        return LocalWorkers(work, n_workers=n_workers, limit=limit)
    return JoblibWorkers(work, name, n_workers=n_workers, limit=limit)


def run_jobs(
    jobs: Sequence[Job],
    work: Callable[[Job], Any],
    *,
    n_workers: int | None = None,
    limit: float | None = None,
) -> Generator[Outcome[Job], None, None]:
    """Do `work` on every job, `n_workers` at a time, and yield the outcome of each when it ends.

    `work` and the jobs must be picklable. The default of `n_workers` is one process per core, or as many jobs at a time
    as the backend takes. The limit in seconds counts from the start of the job, not of the process. Close the generator
    to stop everything: until then an error in the caller's loop leaves jobs running, for which Python waits at exit.
    """
    with workers(work, n_workers=n_workers, limit=limit) as crew:
        yield from crew.run(jobs)


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended by itself, with code {code}"


def _loaded(_work: Callable[[Job], Any]) -> int:
    """Return the id of this process, which has imported the module of `work` to get here."""
    return os.getpid()


def _block_broken_pipes() -> None:
    """Block SIGPIPE in this thread and those it starts: the pipe to a killed process must not end a command line."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})


def _alone() -> None:
    """Prepare a new process: its children end with it, it ends with its parent, and it prints nothing."""
    # A kill of its process group reaches its children. Ctrl-C is handled by the parent.
    os.setpgrp()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPIPE})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(os.devnull, "w") as nothing:
        # The output of a compared library is not part of the results.
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)


def _end_with_parent() -> None:
    """Wait until the parent ends, for whatever reason, then kill this process and its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.killpg(os.getpgrp(), signal.SIGKILL)
