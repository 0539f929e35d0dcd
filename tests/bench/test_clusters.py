"""Jobs on joblib backends: threads, and a local Dask cluster whose workers die."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import joblib
import pytest

distributed = pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")

from logiclens.bench.runs.workers import active_backend, capacity, run_jobs  # noqa: E402
from logiclens.errors import LogicLensError  # noqa: E402
from logiclens.estimator import cluster as dask  # noqa: E402
from tests import bench_jobs  # noqa: E402


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    # A job is given up after two dead workers instead of four: a worker takes seconds to start.
    with (
        config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60) as started,
    ):
        yield started


def test_local_processes_are_ours_and_others_are_joblibs() -> None:
    assert (active_backend(), capacity()) == (None, None)
    with joblib.parallel_config("loky", n_jobs=2):
        assert active_backend() is None
    with joblib.parallel_config("threading", n_jobs=2):
        assert active_backend() == "threading"


def test_jobs_of_another_backend_end_in_every_way() -> None:
    jobs = ["a", "raises", "b", "lacks", "c"]
    with joblib.parallel_config("threading", n_jobs=2):
        found = {one.job: (one.status, one.value) for one in run_jobs(jobs, bench_jobs.behaves, n_workers=2)}
    assert found == {
        "a": ("ok", "a"),
        "b": ("ok", "b"),
        "c": ("ok", "c"),
        "raises": ("failed: RuntimeError: singular matrix", None),
        "lacks": ("skipped: package 'nothing' is not installed.", None),
    }


def test_an_outcome_comes_before_the_other_jobs_have_ended() -> None:
    """Else an interruption would lose more than what is running."""
    gate = threading.Event()

    def waits(job: int) -> int:
        if job:
            assert gate.wait(30)
        return job

    with joblib.parallel_config("threading", n_jobs=2):
        outcomes = run_jobs([0, 1], waits, n_workers=1)
        assert next(outcomes).value == 0
        gate.set()
        assert [one.value for one in outcomes] == [1]


def test_a_limit_is_refused_where_it_cannot_be_kept() -> None:
    with (
        joblib.parallel_config("threading", n_jobs=2),
        pytest.raises(LogicLensError, match="can be kept in local processes only, and the backend is threading"),
    ):
        list(run_jobs([1], bench_jobs.doubled, limit=3.0))


def test_jobs_are_done_by_the_cluster_found_by_its_address(cluster) -> None:
    with dask.dask_cluster(cluster.scheduler_address):
        assert active_backend() == "dask"
        pids = {one.value for one in run_jobs(range(6), bench_jobs.pid, n_workers=1)}
    workers = {worker.pid for worker in cluster.workers.values()}
    assert pids
    assert pids <= workers
    assert os.getpid() not in pids
    assert active_backend() is None


def test_a_missing_cluster_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "PATIENCE", 0.5)
    with pytest.raises(LogicLensError, match=r"^no Dask scheduler answers at tcp://127.0.0.1:9: .*[.]$"):
        enter("tcp://127.0.0.1:9")
    with pytest.raises(LogicLensError, match="needs the address of a scheduler"):
        enter(None)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", processes=False) as empty,
        pytest.raises(LogicLensError, match="has no workers: start some"),
    ):
        enter(empty.scheduler_address)


def test_workers_of_another_version_are_refused(cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "__version__", "9.9")
    with pytest.raises(LogicLensError, match=r"this is logiclens 9.9, and Dask workers have 0.1.0: install the same"):
        enter(cluster.scheduler_address)


def test_dask_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(LogicLensError, match=r"pip install 'logiclens\[distributed\]'"):
        enter("tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_job_that_kills_its_workers_fails_alone(cluster) -> None:
    """The last of this module: the cluster may take long to start its workers again."""
    jobs = ["a", "crashes", "b", "raises", "c"]
    with distributed.Client(cluster) as client, joblib.parallel_config("dask", client=client):
        found = {one.job: one.status for one in run_jobs(jobs, bench_jobs.behaves)}
    assert found == {
        "a": "ok",
        "b": "ok",
        "c": "ok",
        "crashes": "failed: each worker that was given it died; Dask gives up after a few",
        "raises": "failed: RuntimeError: singular matrix",
    }


def enter(address: str | None) -> None:
    with dask.dask_cluster(address):
        pass
