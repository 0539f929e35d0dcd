"""One study and many workers: the guide's example as printed, and a search that is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

from lab.runs.study import SharedStudy
from tests.waiting import until

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"```sh\n(.*?)```", GUIDE, flags=re.DOTALL)
COMMAND = [sys.executable, "-c", "from logiclens.cli import main; main()", "bench"]
SEARCH = ("sweep", "wine", "--search", "optuna", "--folds", "2", "--jobs", "1", "--out", "out")
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}

pytestmark = pytest.mark.slow


def example(text: str, folder: Path) -> str:
    """Run a script of the guide as it is printed; what it prints."""
    started = subprocess.Popen(
        ["bash", "-c", "set -e\n" + text], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
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


def trials(path: Path) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
    directions = ("maximize", "maximize", "minimize")
    study = SharedStudy(f"sqlite:///{path}", "wine, clean", header={}, directions=directions)
    return [(one.params, one.values) for one in study.tried()]


def test_two_workers_share_a_study_as_the_guide_says(tmp_path: Path) -> None:
    (script,) = SCRIPTS
    said = example(script, tmp_path)
    assert "iris, protocol clean: the front of 8 trials, on validation rows" in said
    assert (tmp_path / "worker-2.txt").read_text() == said
    import optuna

    study = optuna.load_study(study_name="iris", storage=f"sqlite:///{tmp_path / 'study.db'}")
    done = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    assert len(done) == 8
    assert len({str(trial.params) for trial in done}) == 8
    assert len({trial.user_attrs["worker"]["pid"] for trial in done}) == 2


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
