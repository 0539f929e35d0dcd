"""Studies in SQLite and PostgreSQL: number of trials, reproducibility, and killed workers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

from lab.runs import study as studies
from lab.runs.study import SharedStudy
from logiclens.errors import LogicLensError
from tests import postgres
from tests.study_worker import DIRECTIONS, carry_out, opened, suggest, values

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    folder = postgres.binaries()
    if folder is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    with postgres.server(folder) as connection:
        yield connection


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    psycopg = pytest.importorskip("psycopg")
    connection = request.getfixturevalue("server")
    name = f"study_{abs(hash(str(tmp_path)))}"
    with psycopg.connect(connection, autocommit=True) as session:
        session.execute(f"create database {name}")
    (host,) = re.findall(r"host=(\S+)", connection)
    return f"postgresql://tester@/{name}?host={host}"


def found(url: str) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
    return [(one.params, one.values) for one in opened(url).tried()]


def test_more_trials_go_on_with_what_is_there(url: str) -> None:
    assert carry_out(url, 5) == 5
    assert carry_out(url, 5) == 0
    before = found(url)
    assert carry_out(url, 8) == 3
    assert len(found(url)) == 8
    assert found(url)[:5] == before
    assert all(given == values(params) for params, given in before)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study of 16 trials, none of which was killed."""
    url = f"sqlite:///{tmp_path_factory.mktemp('calm') / 'study.db'}"
    carry_out(url, 16)
    return url


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(url: str, calm: str) -> None:
    """Killed in trial 13, when what is drawn depends on the trials before."""
    command = [sys.executable, "-m", "tests.study_worker", url, "12"]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    running = [one for one in opened(url)._trials() if one.state.name == "RUNNING"]
    assert len(running) == 1
    assert carry_out(url, 16) == 4
    assert found(url) == found(calm)
    assert running[0].params == found(url)[12][0]


def test_the_seed_decides_what_is_tried(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        carry_out(f"sqlite:///{tmp_path / name}", 4, seed=seed)
    a, b, c = ([one.params for one in opened(f"sqlite:///{tmp_path / name}").tried()] for name in ("a", "b", "c"))
    assert a == b
    assert a != c
    assert len({params["x"] for params in a}) == 4


def test_the_front_is_what_no_other_trial_beats(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    carry_out(url, 12)
    study = opened(url)
    tried = study.tried()

    def beaten(one: studies.FinishedTrial) -> bool:
        return any(
            other.values != one.values and other.values[0] >= one.values[0] and other.values[1] <= one.values[1]
            for other in tried
        )

    assert {one.number for one in study.front()} == {one.number for one in tried if not beaten(one)}


def test_a_silent_trial_of_another_machine_counts_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    monkeypatch.setattr(studies, "SILENCE", 2)
    far = opened(url)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(studies, "_machine", lambda: "another")
        left = far.ask(1, suggest)
    assert left is not None
    # It may be alive: its one trial is being done.
    assert opened(url).ask(1, suggest) is None
    time.sleep(3.5)
    assert carry_out(url, 1) == 1
    assert found(url) == [(left.trial.params, values(left.trial.params))]
    # What the silent worker has to say after all comes too late, and changes nothing.
    far.tell(left, (99.0, 99.0))
    assert found(url) == [(left.trial.params, values(left.trial.params))]


def test_what_is_left_open_goes_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with opened(url) as study:
        asked = study.ask(1, suggest)
    assert asked is not None
    assert carry_out(url, 1) == 1
    assert found(url)[0][0] == asked.trial.params


def test_a_repeated_trial_is_not_lost_with_its_old_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = opened(f"sqlite:///{tmp_path / 'study.db'}")
    with monkeypatch.context() as gone:
        gone.setattr(studies, "_this_process", lambda: {"machine": studies._machine(), "pid": -1, "started": "1"})
        assert study.ask(1, suggest) is not None
    study._bury()
    # As a worker that has taken the trial and not noted itself yet.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.study.ask()
        study._bury()
        lost, again = study._trials()
        assert (lost.state.name, again.state.name, again.params) == ("FAIL", "RUNNING", lost.params)
        assert study.retry.retry_history(again) == [lost.number]


class Stopped(BaseException):
    """As a signal that ends the process: nothing of ours catches it."""


def stopped_at(commit: int, url: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Ask for a trial as a process that ends before its given commit; return whether it came that far."""
    from sqlalchemy import event

    study, left = opened(url), iter(range(commit, 0, -1))

    def count(_: object) -> None:
        if next(left, 0) == 1:
            raise Stopped

    with monkeypatch.context() as gone:
        gone.setattr(studies, "_this_process", lambda: {"machine": studies._machine(), "pid": -1, "started": "1"})
        event.listen(study.storage.engine, "commit", count)
        try:
            study.ask(5, suggest)
        except Stopped:
            return True
        finally:
            event.remove(study.storage.engine, "commit", count)
            # The locks of a process end with it.
            study.storage.remove_session()
            study.storage.engine.dispose()
    return False


@pytest.mark.parametrize("repeated", [False, True], ids=["new trial", "repeated trial"])
def test_a_worker_killed_before_any_commit_changes_nothing(
    repeated: bool, tmp_path: Path, calm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, begun = found(calm)[:5], tmp_path / "begun.db"
    carry_out(f"sqlite:///{begun}", 3)
    if repeated:
        assert not stopped_at(10_000, f"sqlite:///{begun}", monkeypatch)
    for commit in range(1, 200):
        url = f"sqlite:///{shutil.copyfile(begun, tmp_path / f'{commit}.db')}"
        came = stopped_at(commit, url, monkeypatch)
        carry_out(url, 5)
        assert found(url) == wanted, f"stopped before commit {commit}"
        if not came:
            break
    assert 3 < commit < 200


def test_the_last_trial_is_not_taken_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first, second = opened(url), opened(url)
    asked = first.ask(1, suggest)
    assert asked is not None
    # As if both had looked before either began.
    looks = iter([[]])
    honest = second._counted
    monkeypatch.setattr(second, "_counted", lambda: next(looks, honest()))
    assert second.ask(1, suggest) is None
    first.tell(asked, (1.0, 1.0))
    assert (second.n_ended(), len(second.tried())) == (1, 1)


def test_a_trial_that_fails_is_not_tried_for_ever(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with opened(url) as study:
        for reason, given in (("failed: no rows", None), ("ok", (float("nan"), 1.0))):
            asked = study.ask(2, suggest)
            assert asked is not None
            study.tell(asked, given, reason)
        assert study.ask(2, suggest) is None
        assert (study.n_ended(), study.tried(), study.front()) == (2, (), ())


def test_studies_are_not_mixed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    carry_out(url, 1)
    with pytest.raises(LogicLensError, match="was begun with task bowl, asked for was cup: name another with --study"):
        opened(url, header={"task": "cup"})
    with pytest.raises(LogicLensError, match="is of something else: name another"):
        SharedStudy(url, "bowl", header={}, directions=(*DIRECTIONS, "minimize"))


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("study.db", "--storage takes the address of a database, such as sqlite:///study.db"),
        ("sqlite:////nowhere/study.db", "the storage sqlite:////nowhere/study.db cannot be opened: "),
        ("nothing://here", "the storage nothing://here cannot be opened: "),
        (
            "postgresql://me:secret@127.0.0.1:9/db",
            r"the storage postgresql://me:\*\*\*@127.0.0.1:9/db cannot",
        ),
    ],
)
def test_an_unusable_storage_is_named_in_one_sentence(address: str, sentence: str) -> None:
    with pytest.raises(LogicLensError, match=sentence) as caught:
        opened(address)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_optuna_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(LogicLensError, match=r"pip install 'logiclens\[tune\]'"):
        opened("sqlite://")
