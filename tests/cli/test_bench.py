"""`logiclens bench` on the real command line: results, resuming after a kill, and wrong arguments."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from logiclens.bench.runs.methods import METHODS
from logiclens.bench.runs.tasks import TASKS
from tests.cli_runs import logiclens

COMMAND = [sys.executable, "-c", "from logiclens.cli import main; main()", "bench"]
OURS = ("LOGICLENS_DATA",)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return logiclens("bench", *arguments, cwd=cwd, without=OURS)


def run_anew(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a bench in a fresh interpreter, as a user does."""
    clean = {name: value for name, value in os.environ.items() if name not in OURS}
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, env=clean, capture_output=True, text=True, timeout=300)


def runs_in(folder: Path) -> list[tuple[str, str]]:
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["method"], row["fold"]) for row in rows if row["metric"] == "status"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A small bench that ended well."""
    folder = tmp_path_factory.mktemp("bench")
    arguments = ("iris", "--methods", "tree-2,oner", "--folds", "3", "--jobs", "1", "--out", "out")
    return folder, run_anew(*arguments, cwd=folder)


def test_a_bench_prints_means_and_keeps_every_measurement(done) -> None:
    folder, ended = done
    assert ended.returncode == 0, ended.stderr
    assert sorted(runs_in(folder / "out")) == [(m, str(k)) for m in ("oner", "tree-2") for k in range(3)]
    lines = ended.stdout.splitlines()
    assert "iris, protocol clean" in lines
    (shown,) = [line.split() for line in lines if line.startswith("  oner")]
    with (folder / "out" / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "oner" and row["metric"] == "model_accuracy"]
    assert shown[1] == f"{100 * sum(float(row['value']) for row in rows) / 3:.2f}"
    assert "logiclens bench report out" in ended.stderr


def test_help_names_every_task_and_method(tmp_path: Path) -> None:
    tasks, methods = (run(*words, "--help", cwd=tmp_path).stdout for words in ((), ("run",)))
    assert set(TASKS) <= set(re.findall(r"[\w-]+", tasks))
    listed = set(re.findall(r"[\w-]+", methods.replace("tree-2 … tree-8", " ".join(f"tree-{k}" for k in range(2, 9)))))
    assert set(METHODS) <= listed


def test_a_report_is_made_from_the_table_alone(done, tmp_path: Path) -> None:
    folder, _ = done
    shutil.copytree(folder / "out", tmp_path / "copied")
    ended = run("report", "copied", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "copied" / "report" / "report.html").exists()
    assert "copied/report/report.md" in ended.stdout


def test_folders_of_another_protocol_or_version_are_refused(done, tmp_path: Path) -> None:
    folder, _ = done
    before = (folder / "out" / "results.csv").read_bytes()
    ended = run("mimic2", "--protocol", "paper", "--folds", "3", "--out", "out", "--data", ".", cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "holds results under the protocol 'clean', asked for was 'paper'" in ended.stderr
    shutil.copytree(folder / "out", tmp_path / "old")
    content = json.loads((tmp_path / "old" / "bench.json").read_text())
    (tmp_path / "old" / "bench.json").write_text(json.dumps({**content, "version": "0.0.9"}))
    ended = run("iris", "--methods", "oner", "--folds", "3", "--out", "old", cwd=tmp_path)
    assert ended.returncode == 2
    assert "results of logiclens 0.0.9" in ended.stderr
    assert (folder / "out" / "results.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("iriss",), "there is no task 'iriss', did you mean 'iris'? There are mimic2, "),
        (("iris", "--methods", "tre"), "there is no method 'tre', did you mean 'tree'? There are minimal, "),
        (("iris", "--protocol", "dirty"), "there is no protocol 'dirty'; there are paper, clean and both."),
        (("iris", "--protocol", "paper"), "there is nothing to run"),
        (("mimic2", "--data", "nowhere"), "there is no folder nowhere: --data names the folder"),
        (("sweep", "iris", "--taus", "4;5"), "--taus takes numbers with commas between them"),
        (("encode", "iris"), "the concepts of iris are given: there is nothing to predict."),
        (("report", "nowhere"), "there is no folder nowhere"),
        (("iris", "--methods", ","), "--methods names none"),
        (("iris", "--out", "/dev/null"), "/dev/null is a file: name a folder"),
        (("encode", "vdem"), "no folder was given"),
        (("sweep", "iris", "--trials", "3"), "--trials is for a search: say --search optuna too."),
        (("sweep", "vdem", "--search", "optuna"), "no folder was given"),
        (("sweep", "iris", "--search", "optuna", "--protocol", "paper"), "the paper has no experiment 'iris'"),
        (("sweep", "iris", "--search", "optuna", "--storage", "nowhere"), "--storage takes the address of a database"),
    ],
)
def test_what_is_asked_wrongly_gets_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    ended = run(*arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert sentence in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_or_altered_file_is_named_with_its_source(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    arguments = ("mimic2", "--methods", "oner", "--data", "data", "--out", "out", "--jobs", "1")
    ended = run(*arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert "mimic2/full_cohort_data.csv.gz" in ended.stderr
    assert "PhysioNet" in ended.stderr
    (tmp_path / "data" / "mimic2").mkdir()
    (tmp_path / "data" / "mimic2" / "full_cohort_data.csv.gz").write_bytes(b"altered")
    ended = run(*arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert "sha256" in ended.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "sent", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT], ids=["kill", "ctrl-c"]
)
def test_a_bench_that_was_stopped_goes_on_where_it_was(tmp_path: Path, sent: signal.Signals) -> None:
    arguments = ("iris", "--methods", "oner,minimal", "--folds", "4", "--jobs", "1", "--out", "out")
    child = subprocess.Popen(
        [*COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    table = tmp_path / "out" / "results.csv"
    for _ in range(6_000):
        if table.exists() and table.read_text().count(",status,") >= 2:
            break
        time.sleep(0.01)
    child.send_signal(sent)
    _, said = child.communicate(timeout=60)
    assert child.returncode == (-sent if sent == signal.SIGKILL else 130)
    before = runs_in(tmp_path / "out")
    # The last run that was seen may have been taken back: it was not on disk yet.
    assert 1 <= len(before) < 8
    if sent == signal.SIGINT:
        assert b"stopped" in said
        assert b"Traceback" not in said
    ended = run(*arguments, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    after = runs_in(tmp_path / "out")
    assert after[: len(before)] == before
    assert sorted(after) == sorted((m, str(k)) for m in ("oner", "minimal") for k in range(4))
