"""Jobs in processes and on joblib backends: one that fails does not stop the others."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import joblib
import pytest

from lab.runs.workers import active_backend, capacity, run_jobs
from logiclens.errors import LogicLensError
from tests import bench_jobs


def test_every_job_is_done_once_and_gives_its_value() -> None:
    outcomes = list(run_jobs(range(25), bench_jobs.doubled, n_workers=3))
    assert Counter(outcome.job for outcome in outcomes) == Counter(range(25))
    assert all(outcome.value == 2 * outcome.job and outcome.status == "ok" for outcome in outcomes)


def test_processes_are_kept_and_no_more_than_asked_for() -> None:
    outcomes = list(run_jobs(range(12), bench_jobs.pid, n_workers=2))
    assert 1 <= len({outcome.value for outcome in outcomes}) <= 2
    assert os.getpid() not in {outcome.value for outcome in outcomes}


def test_a_job_that_crashes_hangs_or_raises_fails_alone(capfd: pytest.CaptureFixture[str]) -> None:
    jobs = ["a", "crashes", "b", "hangs", "exits", "leaves", "raises", "unpicklable", "lacks", "prints", "c"]
    found = {outcome.job: outcome for outcome in run_jobs(jobs, bench_jobs.behaves, n_workers=2, limit=3)}
    assert "pickle" in found.pop("unpicklable").status
    assert {job: outcome.status for job, outcome in found.items()} == {
        "a": "ok",
        "b": "ok",
        "c": "ok",
        "prints": "ok",
        "crashes": "failed: the process was ended by SIGSEGV",
        "exits": "failed: the process ended by itself, with code 3",
        "leaves": "failed: the process ended by itself, with code 0",
        "hangs": "stopped: after 3 s",
        "raises": "failed: RuntimeError: singular matrix",
        "lacks": "skipped: package 'nothing' is not installed.",
    }
    assert found["c"].value == "c"
    assert 3 <= found["hangs"].seconds < 30
    assert "noise" not in "".join(capfd.readouterr())


def test_jobs_that_kill_their_process_at_once_cost_no_other() -> None:
    """Pebble 5 gives up all jobs here."""
    jobs = ["crashes"] * 12 + ["a"]
    found = Counter(outcome.status for outcome in run_jobs(jobs, bench_jobs.behaves, n_workers=2))
    assert found == {"failed: the process was ended by SIGSEGV": 12, "ok": 1}


def test_closing_at_once_ends_cleanly(tmp_path: Path) -> None:
    """Also while processes are being started for the next jobs."""
    before = {child.pid for child in multiprocessing.active_children()}  # joblib keeps the processes of other tests
    outcomes = run_jobs(["a", *["hangs"] * 6], bench_jobs.behaves, n_workers=3)
    assert next(outcomes).status == "ok"
    outcomes.close()
    assert {child.pid for child in multiprocessing.active_children()} <= before


def test_a_killed_process_does_not_break_the_command_line(tmp_path: Path) -> None:
    """As the command line does; a process that was killed has closed its pipe."""
    (tmp_path / "main.py").write_text(
        "import signal\nfrom tests import bench_jobs\nfrom lab.runs.workers import run_jobs\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "    for _ in range(3):\n"
        "        outcomes = run_jobs(['a', 'crashes', 'hangs'], bench_jobs.behaves, n_workers=1)\n"
        "        print([next(outcomes).status for _ in range(2)])\n"
        "        outcomes.close()\n"
    )
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(tmp_path / "main.py")]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("SIGSEGV") == 3


def test_closing_stops_what_is_running_and_its_children(tmp_path) -> None:
    path = tmp_path / "pid"
    outcomes = run_jobs([path], bench_jobs.hangs_with_child, n_workers=1, limit=4)
    assert next(outcomes).status == "stopped: after 4 s"
    outcomes.close()
    child = int(path.read_text())
    for _ in range(50):
        if not _alive(child):
            return
        time.sleep(0.1)
    raise AssertionError("the child of a stopped job still runs")


def test_workers_end_with_the_one_who_waits_for_them(tmp_path: Path) -> None:
    """Killed outright, it has no time to stop them."""
    path = tmp_path / "beat"
    script = (
        "from pathlib import Path\nfrom tests import bench_jobs\nfrom lab.runs.workers import run_jobs\n"
        f"if __name__ == '__main__':\n    list(run_jobs([Path({str(path)!r})], bench_jobs.beats, n_workers=1))\n"
    )
    (tmp_path / "main.py").write_text(script)
    places = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    waiting = subprocess.Popen([sys.executable, str(tmp_path / "main.py")], env={**os.environ, "PYTHONPATH": places})
    for _ in range(600):
        if path.exists() or waiting.poll() is not None:
            break
        time.sleep(0.1)
    waiting.kill()
    waiting.wait()
    for _ in range(100):
        seen = path.read_text()
        time.sleep(0.5)
        if path.read_text() == seen:
            return
    raise AssertionError("a worker goes on after the bench was killed")


def test_no_jobs_need_no_processes() -> None:
    assert list(run_jobs([], bench_jobs.doubled, n_workers=4)) == []
    with joblib.parallel_config("threading", n_jobs=2):
        assert list(run_jobs([], bench_jobs.doubled)) == []


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


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
