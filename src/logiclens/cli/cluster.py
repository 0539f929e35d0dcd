"""Who does what can be done side by side, as the command line has it: this machine, or a cluster."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, TypeAlias

import typer

from logiclens.errors import LogicLensError

SCHEDULER = "DASK_SCHEDULER_ADDRESS"

Backend: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="Who does the work: local (processes here) or dask (a cluster).")
]
Scheduler: TypeAlias = Annotated[
    str | None, typer.Option(metavar="URL", envvar=SCHEDULER, help="The address of a Dask cluster.")
]


def cluster(backend: str, scheduler: str | None, jobs: int | None = None) -> AbstractContextManager[Any]:
    """Send what joblib is given inside to a backend; `jobs` says how much of it at a time, where joblib starts it."""
    if backend not in ("local", "dask"):
        raise LogicLensError(f"--backend must be local or dask, got {backend!r}.")
    if backend == "dask":
        from logiclens.bench.runs.workers import dask_cluster

        return dask_cluster(scheduler)
    if scheduler is not None and not os.environ.get(SCHEDULER):
        raise LogicLensError("--scheduler is the address of a Dask cluster: say --backend dask too.")
    if jobs is None:
        return nullcontext()
    import joblib

    config: AbstractContextManager[Any] = joblib.parallel_config(n_jobs=jobs)
    return config
