"""The campaign in small: the same cases in every run, of every door, and the cases that failed once."""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from tests.fuzz import case_files
from tests.fuzz.campaign import Report, in_child, replay, run_cases
from tests.fuzz.doors import DOORS, Door
from tests.fuzz.judge import Failure, Hang, Outcome, Refused, attempt, check_sentence, judged, signature
from tests.fuzz.samples import SAMPLES, sample

PENDING: dict[str, str] = {}
"""Doors that the deterministic run leaves to the campaign, each with the defect that is to be mended first."""
SAVED = list(case_files.saved())


@pytest.fixture(scope="module", autouse=True)
def _samples():
    """The models are fitted before any case is drawn, because a fit draws random numbers too."""
    for name in SAMPLES:
        sample(name)


@pytest.mark.parametrize("name", DOORS)
def test_every_case_of_a_door_is_answered_or_refused(name, tmp_path):
    if name in PENDING:
        pytest.skip(PENDING[name])
    door, count = DOORS[name], iter(range(10**9))

    # Only the campaign shrinks, because a case of some doors takes a second.
    @settings(
        max_examples=door.examples, database=None, deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    @given(door.cases)
    def run(case):
        assert judged(door.check, case, tmp_path / str(next(count)), door.seconds) in Outcome

    run()


@pytest.mark.parametrize(("path", "name", "case"), SAVED, ids=[path.stem for path, _, _ in SAVED])
def test_a_case_that_failed_once_passes(path, name, case, tmp_path):
    if name in PENDING:
        pytest.skip(PENDING[name])
    judged(DOORS[name].check, case, tmp_path / "case", DOORS[name].seconds)


# The judge -----------------------------------------------------------------------------------------------------------


def of(check, *, case=None, seconds=5.0, tmp_path=None):
    return judged(check, case, tmp_path / "case", seconds)


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (lambda case, place: attempt(lambda: 1 / 0), "ZeroDivisionError"),
        (lambda case, place: warnings.warn("x", RuntimeWarning, stacklevel=1), "a warning leaks"),
        (lambda case, place: (place.write("a", b"1"), place.seal(), place.write("a", b"2")), "an input was changed"),
        (lambda case, place: (place.write("a", b"1"), place.seal(), place.write("b", b"2")), "an input was changed"),
        (lambda case, place: (place.root / "tmp" / "left").write_text(""), "a temporary file was left"),
        (lambda case, place: check_sentence("two\nlines."), "a message holds a control character"),
        (lambda case, place: check_sentence("\x1b[31mred."), "a message holds a control character"),
        (lambda case, place: check_sentence("x" * 501), "a message is too long"),
        (lambda case, place: check_sentence("Traceback (most recent call last)"), "a message holds a traceback"),
        (lambda case, place: time.sleep(9), "Hang"),
    ],
)
def test_the_judge_sees_what_is_not_allowed(check, reason, tmp_path):
    with pytest.raises((Failure, Hang, ZeroDivisionError)) as caught:
        of(check, seconds=0.3, tmp_path=tmp_path)
    assert signature(caught.value).startswith(reason)


def test_the_judge_allows_a_sentence_and_an_answer(tmp_path):
    def refuse():
        raise LogicLensError("the table has no rows.")

    assert of(lambda case, place: attempt(refuse), tmp_path=tmp_path) == Refused("the table has no rows.")
    assert of(lambda case, place: attempt(lambda: 3), tmp_path=tmp_path) == 3
    assert os.listdir(tmp_path) == []


# Cases as files and the campaign -------------------------------------------------------------------------------------


@given(
    st.recursive(
        st.none() | st.integers(-(2**80), 2**80) | st.binary() | st.text(st.characters()) | st.floats(allow_nan=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("$base64"), inner),
        max_leaves=6,
    )
)
def test_a_case_is_read_back_as_it_was_saved(case):
    assert case_files.from_text(case_files.to_text("files", case)) == ("files", case)


def planted(case, place):
    if case > 1000:
        raise ValueError("planted")
    return Outcome.agreed


def test_a_failing_case_is_shrunk_saved_and_replayed(tmp_path, monkeypatch):
    door = Door("planted", st.integers(0, 10**6), planted, 10)
    monkeypatch.setitem(DOORS, "planted", door)
    status = tmp_path / "case"
    status.write_text(case_files.to_text("planted", None))
    found = in_child(lambda: run_cases(door, 1, 200, (), status, tmp_path / "cases"), status)
    ((reason, (case, detail)),) = found.failing.items()
    assert (reason, case) == ("ValueError in test_fuzz.planted", 1001)
    assert "planted" in detail
    saved = case_files.save("planted", case, tmp_path / "failing")
    assert list(replay(tmp_path / "failing", tmp_path)) == [(saved.name, reason)]
    report = Report(tmp_path / "fuzz.json")
    report.add("planted", found, {reason: saved.name})
    Report(tmp_path / "fuzz.json").add("planted", found, {reason: saved.name})
    content = json.loads((tmp_path / "fuzz.json").read_text())
    assert content["cases"] == 2 * found.cases
    assert content["failing"] == [{"category": "planted", "reason": reason, "times": 2, "case": saved.name}]


@pytest.mark.parametrize(("fails", "is_kept"), [("", False), ("1", True), ("2", True), ("3", True), ("4", False)])
def test_a_failing_case_is_dropped_after_three_passes(fails, is_kept, tmp_path, monkeypatch):
    counted = tmp_path / "counted"

    def flaky(case: int, place: object) -> Outcome:
        # Counted in a file, because each replay has a process of its own.
        counted.write_text(counted.read_text() + "x" if counted.exists() else "x")
        if str(len(counted.read_text())) in fails:
            raise ValueError("now and then")
        return Outcome.agreed

    monkeypatch.setitem(DOORS, "planted", Door("planted", st.just(7), flaky, 1))
    saved = case_files.save("planted", 7, tmp_path / "failing")
    still = list(replay(tmp_path / "failing", tmp_path, mended=Path.unlink))
    assert (bool(still), saved.exists()) == (is_kept, is_kept)


def test_a_crash_of_the_process_names_its_case(tmp_path):
    def crash(case: int, place: object) -> Outcome:
        os.kill(os.getpid(), 11)
        return Outcome.agreed

    door, status = Door("planted", st.just(7), crash, 10), tmp_path / "case"
    found = in_child(lambda: run_cases(door, 1, 10, (), status, tmp_path / "cases"), status)
    assert {reason: case for reason, (case, _) in found.failing.items()} == {"the process ends (SIGSEGV)": 7}


def test_saved_cases_name_doors_that_exist():
    assert {name for _, name, _ in SAVED} <= set(DOORS)
    assert set(PENDING) <= set(DOORS)
    assert np.all([Path(path).suffix == ".json" for path, _, _ in SAVED])
