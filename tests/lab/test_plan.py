"""A bench on small tasks: planning, running, measuring, resuming, and refusing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from lab.peers.learner import Learned
from lab.runs import plan as bench_module
from lab.runs.fold_data import Source, fold_data
from lab.runs.methods import GROUPS, METHODS, named_methods
from lab.runs.plan import (
    Pace,
    Plan,
    Step,
    bench,
    measured,
    runs_of,
    stated,
    sweep_run,
    sweep_runs,
    toy_runs,
    work,
)
from lab.runs.results import Header, Run, append_run, locked, open_results, read_results
from lab.runs.tasks import TASKS, named_tasks
from lab.runs.workers import Outcome
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.text import parse

SMALL = "iris"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(None, tmp_path / "concepts", n_folds=3)


@pytest.fixture
def _here() -> Iterator[None]:
    """Jobs run in this process: a worker takes seconds to start."""
    with joblib.parallel_config("threading", n_jobs=1):
        yield


def plan(source: Source, *methods: str, task: str = SMALL, n_workers: int = 1) -> Plan:
    runs = runs_of(named_tasks([task]), named_methods(methods), ("clean",), source.n_folds)
    return Plan(runs, source, ("clean",), n_workers)


def test_metrics_are_those_that_scikit_learn_computes() -> None:
    rng = np.random.default_rng(3)
    bits, labels, said = rng.integers(0, 2, (90, 3)), rng.integers(0, 3, 90), rng.integers(0, 3, 90)
    table = ConceptTable(bits, ("a", "b", "c"), labels, ("x", "y", "z"))
    formulas = tuple(parse(text) for text in ("a & ~b", "b | c", "False"))
    fired = np.stack([bits[:, 0] & ~bits[:, 1] & 1, bits[:, 1] | bits[:, 2], np.zeros(90, int)], axis=1)
    found = dict(measured(Learned(lambda _: said, formulas), table))
    assert float(found["model_accuracy"]) == pytest.approx(accuracy_score(labels, said), abs=1e-6)
    wanted = np.mean([f1_score(labels == k, fired[:, k], average="macro") for k in range(3)])
    assert float(found["explanation_accuracy"]) == pytest.approx(wanted, abs=1e-6)
    agreement = np.mean([accuracy_score(said == k, fired[:, k]) for k in range(3)])
    assert float(found["fidelity"]) == pytest.approx(agreement, abs=1e-6)
    assert (float(found["complexity"]), found["constant_formulas"]) == (pytest.approx(4 / 3, abs=1e-6), "1")
    told = dict(stated(Learned(lambda _: said, formulas, ("a note",)), table))
    assert told == {"formula:x": "a & ~b", "formula:y": "b | c", "formula:z": "False", "note": "a note"}


def test_fidelity_is_to_what_the_network_answers_for_each_class() -> None:
    """A network whose heads answer alone may say yes to two classes, or to none."""
    table = ConceptTable([[1, 1], [0, 0], [1, 0]], ("a", "b"), [0, 1, 0], ("x", "y"))
    formulas = parse("a"), parse("b")
    said = np.array([0, 1, 0])
    assert dict(measured(Learned(lambda _: said, formulas), table))["fidelity"] == "0.666667"
    alone = Learned(lambda _: said, formulas, answers=lambda rows: rows.boolean())
    assert dict(measured(alone, table))["fidelity"] == "1.000000"


def test_a_sample_of_the_classes_is_scored_on_these_alone() -> None:
    rng = np.random.default_rng(4)
    bits, labels = rng.integers(0, 2, (60, 2)), rng.integers(0, 3, 60)
    table = ConceptTable(bits, ("a", "b"), labels, ("x", "y", "z"))
    learned = Learned(lambda rows: np.zeros(len(rows), dtype=np.intp), (parse("a"), parse("b")), classes=(0, 2))
    found = dict(measured(learned, table))
    wanted = np.mean([f1_score(labels == k, bits[:, i], average="macro") for i, k in enumerate((0, 2))])
    assert float(found["explanation_accuracy"]) == pytest.approx(wanted, abs=1e-6)
    assert "model_accuracy" not in found
    assert "fidelity" not in found
    assert dict(stated(learned, table)) == {"formula:x": "a", "formula:z": "b"}


def test_a_black_box_has_accuracy_alone() -> None:
    table = ConceptTable([[1], [0]], ("a",), [0, 1], ("x", "y"))
    assert dict(measured(Learned(lambda _: np.array([0, 0])), table)) == {"model_accuracy": "0.500000"}


def test_a_bench_is_written_down_and_gone_on_with(source: Source, tmp_path: Path, monkeypatch) -> None:
    out = tmp_path / "out"
    steps: list[Step] = []
    first = bench(plan(source, "tree-2", "oner"), out, steps.append)
    assert [step.done for step in steps] == list(range(1, 7))
    assert all(step.total == 6 and step.status == "ok" for step in steps)
    assert steps[-1].left == 0
    assert {metrics["status"] for metrics in first.runs.values()} == {"ok"}
    assert {"model_accuracy", "explanation_accuracy", "fidelity", "complexity", "seconds", "cpu_seconds"} <= set(
        first.runs[Run(SMALL, "clean", "tree-2", 0)]
    )
    before = (out / "results.csv").read_bytes()
    # What is done is not done again: with another method added, only that one runs.
    steps.clear()
    second = bench(plan(source, "tree-2", "oner", "stump"), out, steps.append)
    assert len(steps) == 3
    assert all("stump" in step.label for step in steps)
    assert (out / "results.csv").read_bytes().startswith(before)
    assert len(second.runs) == 9


@pytest.mark.usefixtures("_here")
def test_lines_that_a_kill_cut_off_are_run_again(source: Source, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench(plan(source, "oner"), out)
    text = (out / "results.csv").read_text()
    (out / "results.csv").write_text(text[: text.rindex("status") - 30])
    assert len(read_results(out).runs) == 2
    assert len(bench(plan(source, "oner"), out).runs) == 3
    assert (out / "results.csv").read_text().count(",status,") == 3


def test_runs_are_stopped_when_the_caller_fails(source: Source, tmp_path: Path, monkeypatch) -> None:
    """At once, although the error keeps everything alive that was there."""
    stopped = []

    def outcomes(runs: list[Run], *_: object, **__: object) -> Iterator[Outcome[Run]]:
        try:
            for run in runs:
                yield Outcome(run, "ok", [], 1.0)
        finally:
            stopped.append(True)

    def fail(_step: Step) -> None:
        raise RuntimeError("no terminal")

    monkeypatch.setattr(bench_module, "run_jobs", outcomes)
    with pytest.raises(RuntimeError) as error:
        bench(plan(source, "oner"), tmp_path / "out", fail)
    # The first of them had no concepts to predict.
    assert (stopped, str(error.value)) == ([True, True], "no terminal")


@pytest.mark.usefixtures("_here")
def test_failures_stay_until_they_are_asked_for_again(source: Source, tmp_path: Path) -> None:
    out = tmp_path / "out"
    wanted = plan(source, "oner")
    open_results(out, wanted.header)
    (out / "results.csv").write_text("task,protocol,method,fold,metric,value\n")
    for run, status in zip(wanted.runs, ("failed: E: x", "stopped: after 3 s", "skipped: not installed"), strict=True):
        append_run(out, run, [], status)
    runs = bench(wanted, out).runs
    assert [runs[run]["status"] for run in wanted.runs] == ["failed: E: x", "stopped: after 3 s", "ok"]
    runs = bench(replace(wanted, retry=True), out).runs
    assert [runs[run]["status"] for run in wanted.runs] == ["ok", "ok", "ok"]


def test_a_fold_in_which_a_class_is_missing_is_run(source: Source, monkeypatch) -> None:
    fold = fold_data(source, SMALL, "clean", 0)
    kept = np.flatnonzero(fold.train.labels != 2)
    lacking = replace(fold, train=fold.train.take(kept), validation=fold.validation.take([0, 1, 2]))
    monkeypatch.setattr(bench_module, "fold_data", lambda *_: lacking)
    for name in ("minimal", "paper", "authors", "exact", "oner", "stump", "tree-4", "best-3", "tree", "psi", "ripper",
                 "column-generation", "figs", "rule-list", "rrl", "forest", "logistic", "mlp"):  # fmt: skip
        found = dict(work(source, Run(SMALL, "clean", name, 0)))
        assert 0 <= float(found["model_accuracy"]) <= 1, name
        if METHODS[name].kind != "black box":
            assert {metric for metric in found if metric.startswith("formula:")} == {
                "formula:setosa", "formula:versicolor", "formula:virginica"
            }, name  # fmt: skip


def test_folders_of_other_settings_are_refused(tmp_path: Path) -> None:
    header = Header(("clean",), 5, 42, None)
    folder = tmp_path / "r"
    open_results(folder, header)
    open_results(folder, header)
    content = json.loads((folder / "bench.json").read_text())
    assert {"schema", "version", "protocols", "folds", "seed", "machine", "versions", "started"} <= set(content)
    with pytest.raises(LogicLensError, match=r"under the protocol 'clean', asked for was 'paper'"):
        open_results(folder, replace(header, protocols=("paper",)))
    with pytest.raises(LogicLensError, match="with folds 5, asked for was 3"):
        open_results(folder, replace(header, folds=3))
    with pytest.raises(LogicLensError, match="with seed 42, asked for was 1"):
        open_results(folder, replace(header, seed=1))
    (folder / "bench.json").write_text(json.dumps({**content, "version": "9.9"}))
    with pytest.raises(LogicLensError, match=r"results of logiclens 9.9, this is .*name another folder"):
        open_results(folder, header)
    (folder / "bench.json").write_text("{")
    with pytest.raises(LogicLensError, match="is not JSON"):
        open_results(folder, header)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("precious")
    with pytest.raises(LogicLensError, match=r"is not empty and holds no bench\.json"):
        open_results(other, header)


def test_a_folder_of_both_protocols_takes_either(tmp_path: Path) -> None:
    open_results(tmp_path / "r", Header(("paper", "clean"), 5, 42, None))
    before = (tmp_path / "r" / "bench.json").read_text()
    open_results(tmp_path / "r", Header(("clean",), 5, 42, None))
    assert (tmp_path / "r" / "bench.json").read_text() == before


def test_names_are_known_or_listed() -> None:
    assert [task.name for task in named_tasks(["vdem", "mimic2", "vdem"])] == ["vdem", "mimic2"]
    with pytest.raises(
        LogicLensError, match=r"no task 'mimic', did you mean 'mimic2'\? There are mimic2, .*random-dnf"
    ):
        named_tasks(["mimic"])
    assert [method.name for method in named_methods(["tree", "minimal", "tree"])] == ["minimal", "tree"]
    assert {method.name for method in named_methods(["ours"])} == set(GROUPS["ours"])
    assert len(named_methods(["all"])) == len(METHODS)
    with pytest.raises(LogicLensError, match=r"no method 'riper', did you mean 'ripper'\? There are minimal, .*all"):
        named_methods(["riper"])


def test_only_what_a_task_and_a_protocol_have_is_planned() -> None:
    runs = runs_of(named_tasks(["mimic2", "mimic2-early", "mnist"]), named_methods(["tree", "direct", "joint"]),
                   ("paper", "clean"), 2)  # fmt: skip
    assert {(run.task, run.protocol, run.method) for run in runs} == {
        ("mimic2", "paper", "tree"), ("mimic2", "clean", "tree"), ("mimic2-early", "clean", "tree"),
        ("mnist", "paper", "tree"), ("mnist", "clean", "tree"), ("mnist", "paper", "direct"),
        ("mnist", "clean", "direct"),
    }  # fmt: skip
    assert len(runs) == 13


def test_the_time_left_rests_on_runs_alike() -> None:
    runs = [Run("t", "clean", method, fold) for method in ("a", "b") for fold in range(3)]
    pace = Pace(len(runs), n_workers=2)
    assert pace.step(Outcome(runs[0], "ok", None, 10.0), runs).left == pytest.approx((2 * 10 + 3 * 10) / 2)
    assert pace.step(Outcome(runs[3], "ok", None, 1.0), runs).left == pytest.approx((2 * 10 + 2 * 1) / 2)


def test_a_sweep_measures_validation_rows_too(source: Source) -> None:
    runs = sweep_runs(TASKS[SMALL], ("clean",), 3, (0.7, 5.0), (1e-3,))
    assert len(runs) == 6
    assert runs[0] == Run("sweep:iris", "clean", "tau=0.7 lambda=0.001", 0)
    found = dict(sweep_run(fold_data(source, SMALL, "clean", 0), runs[0].method))
    assert {"validation_accuracy", "validation_explanation_accuracy", "model_accuracy", "complexity"} <= set(found)
    with pytest.raises(LogicLensError, match="is written 'tau=5 lambda=1e-05'"):
        dict(sweep_run(fold_data(source, SMALL, "clean", 0), "fast"))


def test_the_toy_is_run_with_every_seed_for_c_alone() -> None:
    assert [(run.method, run.fold) for run in toy_runs(2)] == [("A", 0), ("B", 0), ("C", 0), ("C", 1)]


def test_learners_of_concepts_are_asked_about_cut_concepts_too(source: Source, monkeypatch) -> None:
    """What an encoder predicts lies between 0 and 1; who learned from 0 and 1 is not to be asked about 0.6."""
    fold = fold_data(source, SMALL, "clean", 0)
    softened = fold.test.with_values(np.where(fold.test.values > 0.5, 0.6, 0.4))
    monkeypatch.setattr(bench_module, "fold_data", lambda *_: replace(fold, test=softened))
    for name in ("minimal", "authors", "tree", "psi"):
        found = dict(work(source, Run(SMALL, "clean", name, 0)))
        said = METHODS[name].learn(fold).predict(fold.test)
        assert float(found["model_accuracy"]) == pytest.approx((said == fold.test.labels).mean(), abs=1e-6), name


@pytest.mark.usefixtures("_here")
def test_retry_touches_only_what_is_asked_for(source: Source, tmp_path: Path) -> None:
    out = tmp_path / "out"
    wanted = plan(source, "oner")
    open_results(out, wanted.header)
    (out / "results.csv").write_text("task,protocol,method,fold,metric,value\n")
    other = Run("cub", "clean", "brl", 0)
    append_run(out, other, [], "stopped: after 600 s")
    append_run(out, Run("cub", "clean", "ripper", 0), [], "skipped: not installed")
    runs = bench(replace(wanted, retry=True), out).runs
    assert runs[other]["status"] == "stopped: after 600 s"
    assert len(runs) == 5


@pytest.mark.usefixtures("_here")
def test_a_folder_is_kept_to_one_bench_at_a_time(source: Source, tmp_path: Path) -> None:
    wanted, out = plan(source, "oner"), tmp_path / "out"
    open_results(out, wanted.header)
    with locked(out), pytest.raises(LogicLensError, match="another bench is writing into"):
        bench(wanted, out)
    assert len(bench(wanted, out).runs) == 3
    assert not (out / ".lock").exists()


def test_a_folder_that_holds_predicted_concepts_may_be_begun(tmp_path: Path) -> None:
    (tmp_path / "out" / "concepts").mkdir(parents=True)
    open_results(tmp_path / "out", Header(("clean",), 5, 42, None))
    assert {entry.name for entry in (tmp_path / "out").iterdir()} == {"concepts", "bench.json"}


def test_bins_are_fitted_on_the_training_part_alone(source: Source) -> None:
    fold = fold_data(source, "wine", "clean", 0)
    judge = fold.dataset.concepts(fold.rows.train)
    everything = fold.dataset.concepts(fold.dataset.all_rows)
    assert (fold.train.values == judge.take(fold.rows.train).values).all()
    assert (fold.test.values == judge.take(fold.rows.test).values).all()
    assert (judge.values != everything.values).any()


@pytest.mark.usefixtures("_here")
def test_unpredictable_concepts_fail_only_their_own_runs(source: Source, tmp_path, monkeypatch) -> None:
    def fails(jobs, *_):
        yield from ((job, "failed: OSError: no disk") for job in jobs)

    monkeypatch.setattr(bench_module, "_predict", fails)
    monkeypatch.setattr(bench_module, "check", lambda *_: None)
    runs = runs_of(named_tasks(["vdem", SMALL]), named_methods(["oner"]), ("clean",), 3)
    found = bench(Plan(runs, source, ("clean",)), tmp_path / "out").runs
    wanted = "failed: concepts of vdem, clean, fold 0 could not be predicted; failed: OSError: no disk"
    assert found[Run("vdem", "clean", "oner", 0)]["status"] == wanted
    assert [found[run]["status"] for run in runs if run.task == SMALL] == ["ok"] * 3


@pytest.mark.parametrize("method", ["best-3", "minimal", pytest.param("column-generation", marks=pytest.mark.slow)])
def test_a_known_truth_is_looked_for(source: Source, method: str) -> None:
    truth = fold_data(source, "random-dnf", "clean", 0).dataset.truth
    found = dict(work(source, Run("random-dnf", "clean", method, 0)))
    said = [parse(text) for metric, text in found.items() if metric.startswith("formula:")]
    assert found["recovered"] == str(sum(one.equivalent(true) for one, true in zip(said, truth, strict=True)))


def test_the_same_run_is_not_planned_five_times() -> None:
    runs = runs_of(named_tasks(["mnist"]), named_methods(["direct"]), ("paper", "clean"), 5)
    assert [(run.protocol, run.fold) for run in runs] == [("paper", 0), *(("clean", fold) for fold in range(5))]
