"""A Dask cluster that fits models and runs jobs: connect to it, check its workers, report lost jobs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib

from logiclens import __version__
from logiclens.errors import LogicLensError, require_extra

PATIENCE = 20.0
"""Seconds to wait for a scheduler and for its first worker."""


DIED = ("failed", "each worker that was given it died; Dask gives up after a few")
"""The answer of a job that the scheduler gave up."""


def reporting(backend: Any) -> Any:
    """Return joblib's Dask backend, extended: joblib's own waits forever for jobs that the scheduler gave up.

    Jobs have the arguments `(work, place, job)`; a lost job is answered as failed.
    """

    class Reporting(type(backend)):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            # With one worker joblib would run the jobs in this process; more workers may join later.
            return max(2, int(super().effective_n_jobs(n_jobs)))

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)

            def report(ended: Any) -> None:
                if (error := ended.exception()) is not None:
                    _, (_, place, _), _ = func.items[0]
                    callback([(place, ("failed", words(error)), 0.0)])

            future.add_done_callback(report)
            return future

    return Reporting(client=backend.client, wait_for_workers_timeout=PATIENCE)


def words(error: BaseException) -> str:
    """Return a message of Dask as one line."""
    match type(error).__name__:
        case "KilledWorker":
            return DIED[1]
        case "FutureCancelledError":
            return "its scheduler went away"
        case _:
            return f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}".rstrip(".")


@contextmanager
def dask_cluster(address: str | None) -> Iterator[None]:
    """Return a context in which joblib's jobs run on the workers of a Dask scheduler."""
    with require_extra("distributed", "--backend dask"):
        from distributed import Client
    # Errors become one sentence.
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if not address:
        raise LogicLensError(
            "--backend dask needs the address of a scheduler: --scheduler tcp://host:8786, or DASK_SCHEDULER_ADDRESS."
        )
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        raise LogicLensError(f"no Dask scheduler answers at {address}: {words(error)}.") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise LogicLensError(
                f"the Dask scheduler at {address} has no workers: start some, dask worker {address} --nthreads 1."
            ) from None
        _check_workers(client)
        with joblib.parallel_config("dask", client=client, wait_for_workers_timeout=PATIENCE):
            yield


def _check_workers(client: Any) -> None:
    """Refuse workers with another version, because their results would be mixed with ours."""
    try:
        versions = set(client.run(_version).values())
    except Exception as error:
        raise LogicLensError(f"a Dask worker cannot load logiclens: {words(error)}.") from None
    if others := versions - {__version__}:
        raise LogicLensError(
            f"this is logiclens {__version__}, and Dask workers have {', '.join(sorted(others))}: install the same."
        )


def _version() -> str:
    return __version__
