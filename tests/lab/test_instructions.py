"""The check of instruction counts: growth fails, a fall is reported, and no job is skipped."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import benchmark_script

VERSIONS = {"python": "3.11.7", "numpy": "2.0.0", "torch": "2.5.0"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return benchmark_script("instructions")


def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, baseline: Path, now: dict[str, int], *flags: str) -> int:
    """The script as it is called, with counts that are given."""
    monkeypatch.setattr(script, "counted", lambda: now)
    monkeypatch.setattr(script, "versions", lambda: VERSIONS)
    monkeypatch.setattr(script.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--baseline", str(baseline), *flags])
    return script.main()


@pytest.mark.parametrize(
    ("now", "fails"), [(1_110, True), (1_101, True), (1_100, False), (1_090, False), (1_000, False)]
)
def test_growth_of_more_than_a_tenth_fails(script: ModuleType, now: int, fails: bool) -> None:
    found = script.compared({"fit": 1_000}, {"fit": now})
    assert bool(found.failures) is fails
    assert found.remarks == ()


def test_a_job_that_grew_is_named_in_one_line(script: ModuleType) -> None:
    found = script.compared({"fit": 1_000, "count": 500}, {"fit": 1_110, "count": 500})
    assert found.failures == ("grew: 'fit' takes 1,110 instructions, 11.0% more than 1,000.",)


@pytest.mark.parametrize(("now", "told"), [(890, True), (910, False)])
def test_a_fall_of_a_tenth_is_reported_without_failing(script: ModuleType, now: int, told: bool) -> None:
    found = script.compared({"fit": 1_000}, {"fit": now})
    assert found.failures == ()
    assert bool(found.remarks) is told
    assert all("--write" in line and "'fit'" in line for line in found.remarks)


def test_a_missing_job_fails(script: ModuleType) -> None:
    found = script.compared({"fit": 1_000, "count": 500}, {"fit": 1_000})
    assert found.failures == ("missing: 'count' is in the baseline, but was not counted.",)


def test_a_new_job_is_told_and_does_not_fail(script: ModuleType) -> None:
    found = script.compared({"fit": 1_000}, {"fit": 1_000, "count": 500})
    assert found.failures == ()
    assert found.remarks == ("new: 'count' is not in the baseline: --write takes it in.",)


def test_a_renamed_job_fails_with_its_new_name(script: ModuleType) -> None:
    found = script.compared({"fit": 1_000, "count": 500}, {"fit": 1_000, "count rows": 505})
    assert len(found.failures) == 1
    assert "'count'" in found.failures[0]
    assert "'count rows' takes as many instructions: if it was renamed, --write." in found.failures[0]


def test_a_new_job_of_another_size_is_no_renamed_one(script: ModuleType) -> None:
    found = script.compared({"count": 500}, {"minimise": 900})
    assert found.failures == ("missing: 'count' is in the baseline, but was not counted.",)


def test_versions_that_differ_are_told(script: ModuleType) -> None:
    assert script.differing(VERSIONS, VERSIONS) == ()
    assert script.differing(VERSIONS, {**VERSIONS, "torch": "2.6.0"}) == (
        "differs: torch is 2.6.0, the baseline was written with 2.5.0.",
    )


def test_the_script_ends_with_1_where_a_job_grew(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "baseline.json"
    assert run(script, monkeypatch, baseline, {"fit": 1_000}, "--write") == 0
    assert json.loads(baseline.read_text()) == {"versions": VERSIONS, "instructions": {"fit": 1_000}}
    assert run(script, monkeypatch, baseline, {"fit": 1_090}) == 0
    assert "no job grew by more than 10%." in capsys.readouterr().out
    assert run(script, monkeypatch, baseline, {"fit": 1_110}) == 1
    assert "grew: 'fit'" in capsys.readouterr().out


def test_without_a_baseline_the_script_says_how_to_make_one(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(script, monkeypatch, tmp_path / "none.json", {"fit": 1_000}) == 2
    assert "python -m lab.scripts.instructions.py --write" in capsys.readouterr().err


def test_the_committed_baseline_knows_every_job_and_the_versions(script: ModuleType) -> None:
    baseline = json.loads(script.BASELINE.read_text(encoding="utf-8"))
    assert list(baseline["instructions"]) == list(script.JOBS)
    assert {"python", "numpy", "torch"} <= set(baseline["versions"])
