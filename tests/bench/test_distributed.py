"""Real clusters on this machine: the guide's examples as printed, and workers that are killed."""

from __future__ import annotations

import csv
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

distributed = pytest.importorskip("distributed")
pytest.importorskip("optuna")

from logiclens.bench.runs.results import read_results  # noqa: E402
from logiclens.bench.runs.study import SharedStudy  # noqa: E402
from tests.waiting import until  # noqa: E402

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"```sh\n(.*?)```", GUIDE, flags=re.DOTALL)
SNIPPETS = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
COMMAND = [sys.executable, "-c", "from logiclens.cli import main; main()", "bench"]
TIMES = {"seconds", "cpu_seconds"}
SWEEP = ("sweep", "breast-cancer", "--taus", "1,3,5", "--lambdas", "1e-4,1e-3", "--folds", "3")
SEARCH = ("sweep", "wine", "--search", "optuna", "--folds", "2", "--jobs", "1", "--out", "out")
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def example(text: str, folder: Path) -> str:
    """Run a script of the guide as it is printed, but for the port; what it prints."""
    script = "set -e\n" + text.replace("8786", str(free_port()))
    started = subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        said, noted = started.communicate(timeout=240)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
    assert started.returncode == 0, noted
    return said


@contextmanager
def running(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate()


def ended_well(*arguments: str, folder: Path) -> None:
    with running(*arguments, folder=folder) as started:
        _, noted = started.communicate(timeout=300)
        assert started.returncode == 0, noted


def measurements(folder: Path) -> dict[Any, dict[str, str]]:
    """Everything but times, which are never the same."""
    return {
        run: {metric: value for metric, value in found.items() if metric not in TIMES}
        for run, found in read_results(folder).runs.items()
    }


def trials(path: Path) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
    directions = ("maximize", "maximize", "minimize")
    study = SharedStudy(f"sqlite:///{path}", "wine, clean", header={}, directions=directions)
    return [(one.params, one.values) for one in study.tried()]


def test_the_guide_has_the_examples() -> None:
    assert [len(SCRIPTS), len(SNIPPETS)] == [2, 1]


def test_the_guides_bench_and_sweep_run_on_two_dask_workers(tmp_path: Path) -> None:
    said = example(SCRIPTS[0], tmp_path)
    assert "iris, protocol clean" in said
    assert "sweep:iris, protocol clean" in said
    # The same commands of the guide, on this machine alone.
    commands = re.findall(r"^logiclens bench (.*)$", SCRIPTS[0], flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        ended_well(
            *command.replace("--backend dask", "--jobs 1").replace("on-cluster", "here").split(), folder=tmp_path
        )
    assert len(measurements(tmp_path / "on-cluster")) == 3 * 3 + 4 * 3
    assert measurements(tmp_path / "on-cluster") == measurements(tmp_path / "here")


def test_two_workers_share_a_study_as_the_guide_says(tmp_path: Path) -> None:
    said = example(SCRIPTS[1], tmp_path)
    assert "iris, protocol clean: the front of 8 trials, on validation rows" in said
    assert (tmp_path / "worker-2.txt").read_text() == said
    import optuna

    study = optuna.load_study(study_name="iris", storage=f"sqlite:///{tmp_path / 'study.db'}")
    done = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    assert len(done) == 8
    assert len({str(trial.params) for trial in done}) == 8
    assert len({trial.user_attrs["worker"]["pid"] for trial in done}) == 2


def test_the_guides_resamples_on_a_cluster_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SNIPPETS[0])
    ended = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=240
    )
    (line,) = re.findall(r"# prints: (.+)", SNIPPETS[0])
    assert line in ended.stdout.splitlines(), ended.stderr


def test_a_dask_worker_killed_during_a_sweep_loses_nothing(tmp_path: Path) -> None:
    ended_well(*SWEEP, "--jobs", "1", "--out", "calm", folder=tmp_path)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=60) as cluster,
        distributed.Client(cluster) as client,
    ):
        address = cluster.scheduler_address
        before = client.run(os.getpid)
        with running(*SWEEP, "--backend", "dask", "--scheduler", address, "--out", "hit", folder=tmp_path) as sweep:
            # The first to be at work, while it trains; and the other when the first runs have been written down.
            hit = []
            for n_written in (0, 1):
                until(lambda least=n_written: written(tmp_path / "hit") >= least)

                def busy() -> str | None:
                    # The scheduler knows; workers answer when they have time to. One that is started again has
                    # another address.
                    at_work = [name for name, keys in client.processing().items() if keys]
                    return next((name for name in at_work if name in before and name not in hit), None)

                worker = until(busy)
                os.kill(before[worker], signal.SIGKILL)
                hit.append(worker)
                assert sweep.poll() is None
            _, noted = sweep.communicate(timeout=300)
        assert sweep.returncode == 0, noted
        assert len(set(hit)) == 2
        assert not set(before.values()) & set(client.run(os.getpid).values())
    assert len(measurements(tmp_path / "calm")) == 6 * 3
    assert measurements(tmp_path / "hit") == measurements(tmp_path / "calm")
    assert {found["status"] for found in measurements(tmp_path / "hit").values()} == {"ok"}


def test_a_killed_sweep_resumes_and_equals_an_undisturbed_one(tmp_path: Path) -> None:
    ended_well(*SWEEP, "--jobs", "1", "--out", "calm", folder=tmp_path)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=60
    ) as cluster:
        arguments = (*SWEEP, "--backend", "dask", "--scheduler", cluster.scheduler_address, "--out", "hit")
        with running(*arguments, folder=tmp_path) as sweep:
            until(lambda: written(tmp_path / "hit") >= 2)
            sweep.kill()
            sweep.wait(60)
        before = measurements(tmp_path / "hit")
        assert 2 <= len(before) < 18
        ended_well(*arguments, folder=tmp_path)
    assert list(measurements(tmp_path / "hit"))[: len(before)] == list(before)
    assert measurements(tmp_path / "hit") == measurements(tmp_path / "calm")


def test_a_killed_search_goes_on_and_equals_an_undisturbed_one(tmp_path: Path) -> None:
    """Killed after the trials that are drawn at random, while one is running."""
    path = tmp_path / "out" / "search.db"
    with running(*SEARCH, "--trials", "14", folder=tmp_path) as worker:
        until(lambda: path.exists() and _n_done(path) >= 11)
        worker.kill()
        worker.wait(60)
    assert 11 <= len(trials(path)) < 14
    ended_well(*SEARCH, "--trials", "14", folder=tmp_path)
    (tmp_path / "calm").mkdir()
    ended_well(*SEARCH, "--trials", "14", folder=tmp_path / "calm")
    assert len(trials(path)) == 14
    assert trials(path) == trials(tmp_path / "calm" / "out" / "search.db")


def _n_done(path: Path) -> int:
    import sqlite3

    try:
        with sqlite3.connect(path) as session:
            return int(session.execute("select count(*) from trials where state = 'COMPLETE'").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def written(folder: Path) -> int:
    """How many runs are in the table."""
    path = folder / "results.csv"
    if not path.exists():
        return 0
    with path.open(newline="", encoding="utf-8") as file:
        return sum(row[-2:-1] == ["status"] for row in csv.reader(file))
