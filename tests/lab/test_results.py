"""The table of results keeps only whole runs, even if its file was cut off."""

from __future__ import annotations

import csv
import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.runs.results import COLUMNS, Results, Run, append_run, read_results, write_results
from logiclens.errors import LogicLensError

TEXT = 'say "yes", or\nno | ∨'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_results(tmp_path, Results(()))
    return tmp_path


def test_runs_come_back_as_they_went_in(folder: Path) -> None:
    first, second = Run("mimic2", "clean", "tree", 0), Run("mimic2", "clean", "tree", 1)
    append_run(folder, first, [("model_accuracy", "0.5"), ("formula:dies", TEXT)], "ok")
    append_run(folder, second, [], "failed: ValueError: no")
    assert read_results(folder).runs == {
        first: {"model_accuracy": "0.5", "formula:dies": TEXT, "status": "ok"},
        second: {"status": "failed: ValueError: no"},
    }
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["task", "protocol", "method", "fold", "metric", "value"]
    assert rows[1] == ["mimic2", "clean", "tree", "0", "model_accuracy", "0.5"]


@given(st.integers(0, 10_000))
def test_a_table_cut_off_anywhere_loses_the_last_run_only(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("cut")
    write_results(folder, Results(()))
    runs = [Run("t", "clean", "m", fold) for fold in range(3)]
    for run in runs[:2]:
        append_run(folder, run, [("formula:a", TEXT), ("note", "x")], "ok")
    whole = (folder / "results.csv").read_bytes()
    append_run(folder, runs[2], [("formula:a", TEXT), ("note", "y")], "ok")
    everything = (folder / "results.csv").read_bytes()
    end = len(whole) + cut % (len(everything) - len(whole))
    (folder / "results.csv").write_bytes(everything[:end])
    kept = read_results(folder)
    assert set(kept.runs) == set(runs[:2])
    write_results(folder, kept)
    append_run(folder, runs[2], [("note", "again")], "ok")
    assert read_results(folder).runs[runs[2]] == {"note": "again", "status": "ok"}
    assert all(metrics["formula:a"] == TEXT for run, metrics in kept.runs.items())


def test_no_table_is_no_runs_and_another_file_is_refused(tmp_path: Path) -> None:
    assert read_results(tmp_path).lines == ()
    (tmp_path / "results.csv").write_text("a,b\n1,2\n")
    with pytest.raises(LogicLensError, match=f"first line must be {','.join(COLUMNS)}"):
        read_results(tmp_path)


def test_only_keeps_whole_runs(folder: Path) -> None:
    append_run(folder, Run("t", "clean", "a", 0), [("note", "n")], "ok")
    append_run(folder, Run("t", "clean", "b", 0), [("note", "n")], "skipped: not installed")
    kept = read_results(folder).only(lambda _run, status: status == "ok")
    assert [run.method for run in kept.runs] == ["a"]
    assert len(kept.lines) == 2


def test_a_damaged_line_is_named_and_not_passed_over(folder: Path) -> None:
    append_run(folder, Run("t", "clean", "a", 0), [("fidelity", "0.5")], "ok")
    path = folder / "results.csv"
    path.write_text(path.read_text().replace("t,clean,a,0,fidelity,0.5", "garbage"))
    with pytest.raises(LogicLensError, match=r"line 2 of .*results.csv cannot be read: 'garbage'"):
        read_results(folder)


def test_a_run_that_cannot_be_appended_leaves_the_table_unchanged(tmp_path, monkeypatch):
    write_results(tmp_path, Results(()))
    append_run(tmp_path, Run("iris", "clean", "stump", 0), [("note", "x")], "ok")
    before = (tmp_path / "results.csv").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        append_run(tmp_path, Run("iris", "clean", "stump", 1), [("note", "x")], "ok")
    assert (tmp_path / "results.csv").read_bytes() == before
