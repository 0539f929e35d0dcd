"""Progress: what is told of long work, to whom, and that it changes nothing."""

from __future__ import annotations

import io
import multiprocessing
import pickle
import threading

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from logiclens import EntropyClassifier, LogicLensError, ProgressState, explain_all
from logiclens import progress as module
from logiclens.concepts.concept_table import ConceptTable
from logiclens.estimator.cross_validation import cross_validate
from logiclens.nn import EntropyNet
from logiclens.progress import NotebookBar, Progress, TerminalBar, Work, silence, working
from logiclens.train import TrainConfig, fit

CLEAR = "\r\x1b[2K"
STEPS = ["training networks", "searching rules"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def table(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return rows, np.where((rows.a > 0) & (rows.b > 0), "yes", "no")


def small(**settings) -> EntropyClassifier:
    return EntropyClassifier("quantile", **settings)


def test_a_fit_names_its_steps_and_finishes_each():
    rows, labels = table()
    seen: list[ProgressState] = []
    small().fit(rows, labels, progress=seen.append)
    assert {state.step for state in seen} == {"searching rules"}
    assert seen[0].done == 0
    assert seen[-1].done == seen[-1].total > 1
    assert seen[-1].share == 1
    assert [state.done for state in seen] == sorted(state.done for state in seen)
    assert len({state.total for state in seen}) == 1
    assert [state.seconds for state in seen] == sorted(state.seconds for state in seen)
    assert seen[-1].seconds_left == 0
    # The search tells more than its beginning and its end.
    assert len({state.done for state in seen}) > 5


@pytest.mark.parametrize("settings", [{"method": "paper"}, {"exact": False}])
def test_a_fit_with_a_network_tells_its_training(settings):
    rows, labels = table()
    seen: list[ProgressState] = []
    small(epochs=20, **settings).fit(rows, labels, progress=seen.append)
    assert "training networks" in {state.step for state in seen}
    assert all(0 <= state.done <= state.total and 0 <= state.share <= 1 for state in seen)


def test_progress_changes_no_bit_of_the_model(tmp_path, monkeypatch):
    rows, labels = table()
    monkeypatch.setattr("sys.stderr", Terminal())
    models = [
        small(verbose=False).fit(rows, labels),
        small(verbose=True).fit(rows, labels),
        small(verbose=2).fit(rows, labels, progress=lambda state: np.random.default_rng().random()),
    ]
    folders = [model.save(tmp_path / str(place)) for place, model in enumerate(models)]
    contents = [{file.name: file.read_bytes() for file in sorted(folder.iterdir())} for folder in folders]
    assert contents[0] == contents[1] == contents[2]
    assert b"verbose" not in contents[0]["model.json"]
    assert EntropyClassifier.load(folders[1]).verbose is True


class Stop(Exception):
    pass


def stop_in(step: str):
    def stop(state: ProgressState) -> None:
        if state.step == step and state.done > 0:
            raise Stop

    return stop


@pytest.mark.parametrize("step", STEPS)
def test_a_function_that_raises_leaves_the_model_as_it_was(step):
    rows, labels = table()
    soft = {"exact": False, "epochs": 20}
    new = small(**soft)
    with pytest.raises(Stop):
        new.fit(rows, labels, progress=stop_in(step))
    assert vars(new) == small(**soft).get_params(deep=False)
    fitted = small(**soft).fit(rows, labels)
    before = fitted.predict(rows)
    with pytest.raises(Stop):
        fitted.fit(rows[["a"]], labels, progress=stop_in(step))
    assert fitted.n_features_in_ == 3
    assert (fitted.predict(rows) == before).all()
    # Nothing is left of the work: the next fit tells its own.
    seen: list[ProgressState] = []
    fitted.fit(rows, labels, progress=seen.append)
    assert (seen[0].step, seen[0].done) == ("searching rules", 0)


@pytest.mark.parametrize("given", [3, "bar", True])
def test_what_is_no_function_is_refused(given):
    rows, labels = table(40)
    with pytest.raises(LogicLensError, match="progress must be a function that takes one ProgressState, got"):
        small().fit(rows, labels, progress=given)


def test_explain_all_refuses_what_cannot_be_told():
    with pytest.raises(LogicLensError, match=r"progress must be a function .*, got 3"):
        explain_all(EntropyNet(2, 2), [[0.0, 1.0]], progress=3)


def test_a_function_is_no_setting_and_clones_and_pickles_stay():
    rows, labels = table(60)
    model = small(verbose=0).fit(rows, labels, progress=lambda state: None)
    assert clone(model).get_params() == model.get_params()
    assert "progress" not in model.get_params()
    assert pickle.loads(pickle.dumps(model)).predict(rows).tolist() == model.predict(rows).tolist()


def test_a_terminal_shows_a_bar_and_a_pipe_nothing(monkeypatch, capsys):
    rows, labels = table()
    monkeypatch.setattr("sys.stderr", out := Terminal())
    small().fit(rows, labels)
    assert "] searching rules " in out.getvalue()
    assert out.getvalue().endswith(CLEAR)
    shown = len(out.getvalue())
    small(verbose=False).fit(rows, labels)
    small().fit(rows, labels, progress=lambda state: None)
    with silence():
        small().fit(rows, labels)
    assert len(out.getvalue()) == shown
    monkeypatch.setattr("sys.stderr", pipe := io.StringIO())
    small().fit(rows, labels)
    assert pipe.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_a_dumb_terminal_is_left_alone(monkeypatch):
    monkeypatch.setattr("sys.stderr", out := Terminal())
    monkeypatch.setenv("TERM", "dumb")
    with working(), Progress(2, "work") as loop:
        loop.update(1)
    assert out.getvalue() == ""


def test_the_bar_is_drawn_at_most_ten_times_a_second():
    out, clock = Terminal(), Clock()
    with Work(TerminalBar(out), clock=clock), Progress(1000, "work") as loop:
        for done in range(1, 1001):
            clock.now += 0.001
            loop.update(done, "note")
    frames = out.getvalue().split(CLEAR)
    assert frames[0] == frames[-1] == ""
    frames = frames[1:-1]
    # One second: a frame for each tenth, and the last one whatever the clock says.
    assert 10 <= len(frames) <= 12
    filled = [frame.count("#") for frame in frames]
    assert filled == sorted(filled)
    assert frames[-1] == f"[{'#' * 24}] work 1,000/1,000, note"


def test_a_long_line_is_cut_to_the_terminal():
    out = Terminal()
    with Work(TerminalBar(out)), Progress(2, "work") as loop:
        loop.update(2, "x" * 500)
    assert max(map(len, out.getvalue().split(CLEAR))) == 79


def test_a_note_is_made_only_when_it_is_drawn():
    made, clock = [], Clock()
    with Work(TerminalBar(Terminal()), clock=clock), Progress(100, "work") as loop:
        for done in range(1, 100):
            loop.update(done, lambda: made.append(1) or "note")
    assert made == []
    with silence(), Progress(2, "work") as loop:
        assert not loop.shown


def test_time_left_follows_the_speed_and_the_plan():
    clock, seen = Clock(), []
    with Work(callback=seen.append, plan={"first": 1, "second": 3}, clock=clock):
        for step in ("first", "second"):
            with Progress(4, step) as loop:
                for done in range(1, 5):
                    clock.now += 2.0 if step == "first" else 5.0
                    loop.update(done)
    told = {(state.step, state.done): state.seconds_left for state in seen}
    assert told["first", 0] is None
    # Two of eight seconds have passed, and the second step usually takes three times as long as the first.
    assert told["first", 1] == pytest.approx(6 + 24)
    assert told["second", 0] == pytest.approx(24)
    assert told["second", 2] == pytest.approx(10)
    assert told["second", 4] == 0


@pytest.mark.parametrize(
    ("seconds", "left", "said"),
    [
        (1, 3.9, "work 1/4"),
        (1, 4.2, "work 1/4, 4 s left"),
        (60, 5400, "work 1/4, 1 h 30 min left"),
        (9, None, "work 1/4"),
    ],
)
def test_time_left_is_written_for_work_over_five_seconds(seconds, left, said):
    assert str(ProgressState("work", 1, 4, seconds, left)) == said


def test_a_loop_inside_a_loop_refines_the_outer_one():
    seen: list[ProgressState] = []
    with Work(callback=seen.append), Progress(1, "only"), Progress(4, "outer") as outer:
        outer.update(1)
        with Progress(2, "inner") as inner:
            inner.update(1)
    assert {state.step for state in seen} == {"outer"}
    assert [(state.done, state.share) for state in seen] == [(0, 0), (1, 0.25), (1, 0.25), (1, 0.375), (1, 0.5), (4, 1)]


def test_work_that_a_function_starts_is_its_own():
    inner: list[str] = []

    def start(state: ProgressState) -> None:
        with working(False), Progress(2, "inner") as loop:
            inner.append(state.step)
            loop.update(1)

    with Work(callback=start), Progress(2, "outer") as loop:
        loop.update(1)
    assert inner == ["outer"] * 3


def test_only_one_thread_draws_and_silence_stays_in_its_thread(monkeypatch):
    monkeypatch.setattr("sys.stderr", out := Terminal())
    both = threading.Barrier(3, timeout=30)
    names = ("one", "two", "silent")

    def draw(name: str) -> None:
        with silence(name == "silent"), working(), Progress(2, name) as loop:
            both.wait()
            loop.update(1)
            both.wait()

    threads = [threading.Thread(target=draw, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [name for name in names if f"] {name} " in out.getvalue()]
    assert len(told) == 1
    assert told != ["silent"]
    with working(), Progress(2, "later") as loop:
        loop.update(1)
    assert "] later " in out.getvalue()


def fits_in_a_worker() -> bool:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    import sys

    was, sys.stderr = sys.stderr, Screen()
    try:
        return working().is_silent
    finally:
        sys.stderr = was


def test_workers_of_other_processes_draw_nothing():
    assert joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(fits_in_a_worker)() for _ in range(2)) == [True] * 2
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(fits_in_a_worker)


def test_cross_validation_is_one_progress_over_all_folds():
    rows, labels = table()
    seen: list[ProgressState] = []
    results = list(cross_validate(rows, labels, estimator=small(verbose=0), n_folds=3, progress=seen.append))
    assert len(results) == 3
    assert {state.step for state in seen} == {"searching rules"}
    assert {state.total for state in seen} == {3}
    assert any(0 < state.share < 1 / 3 for state in seen)


def test_explain_all_tells_its_classes():
    rng = np.random.default_rng(0)
    rows = rng.random((300, 4)) > 0.5
    labels = rows[:, 0] + 2 * rows[:, 1]
    network = EntropyNet(4, 4)
    fit(network, ConceptTable(rows, labels=labels), TrainConfig(epochs=60, progress=False))
    for method in ("search", "paper"):
        seen: list[ProgressState] = []
        told = explain_all(network, rows, labels, method=method, progress=seen.append)
        assert {state.step for state in seen} == {"explaining classes"}
        assert seen[-1].done == seen[-1].total == 4
        assert told.formulas == explain_all(network, rows, labels, method=method).formulas


class Handle:
    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        self.shown.append(content)


def test_a_notebook_shows_one_bar_and_empties_it(monkeypatch):
    handle, clock = Handle(), Clock()

    def display(content, *, raw, display_id):
        handle.shown.append(content)
        return handle

    monkeypatch.setattr("IPython.display.display", display)
    with Work(NotebookBar(), clock=clock), Progress(4, "<work>") as loop:
        for done in (1, 2, 3):
            clock.now += 0.6
            loop.update(done)
    # Nothing in the first second.
    assert [content["text/plain"] for content in handle.shown] == ["<work> 2/4", "<work> 3/4", "<work> 4/4", ""]
    assert '<progress value="0.500" max="1"' in handle.shown[0]["text/html"]
    assert "&lt;work&gt; 2/4" in handle.shown[0]["text/html"]
    assert handle.shown[-1]["text/html"] == ""
    handle.shown.clear()
    with Work(NotebookBar()), Progress(4, "short") as loop:
        loop.update(1)
    assert handle.shown == []


def test_a_kernel_is_known_by_its_shell(monkeypatch):
    monkeypatch.setattr(module, "_is_notebook", lambda: True)
    assert not working().is_silent
    monkeypatch.undo()
    monkeypatch.setattr("IPython.get_ipython", lambda: type("Shell", (), {"kernel": object()})())
    assert module._is_notebook()
    monkeypatch.setattr("IPython.get_ipython", lambda: type("Shell", (), {})())
    assert not module._is_notebook()
