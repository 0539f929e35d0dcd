"""Jobs on a cluster: what an active `joblib.parallel_config` names does them, Dask for one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeAlias

import joblib
from joblib.parallel import get_active_backend

from logiclens.errors import LogicLensError
from logiclens.experiments.dask import DIED, reporting, words
from logiclens.experiments.jobs import Job, Outcome, answered, outcome_of

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
