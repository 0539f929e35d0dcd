"""One way to run: results are measured as the paper says, written down, gone on with, and stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from lab.__main__ import main
from lab.datasets.catalogue import load
from lab.peers.learner import Learned
from lab.runs import paper, toy
from lab.runs.fold_data import Source, fold_data
from lab.runs.methods import METHODS
from lab.runs.paper import measured, stated
from lab.runs.results import ROOT, Results, attempt, carry_out
from lab.runs.tasks import named_tasks
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, MissingPackage
from logiclens.formula.text import parse
from logiclens.metrics.scores import metric_named

KEYS = ("task", "fold")


# The six metrics ---------------------------------------------------------------------------------------------------


def test_metrics_are_those_that_scikit_learn_computes():
    rng = np.random.default_rng(3)
    bits, labels, answers = rng.integers(0, 2, (90, 3)), rng.integers(0, 3, 90), rng.integers(0, 3, 90)
    table = ConceptTable(bits, ("a", "b", "c"), labels, ("x", "y", "z"))
    formulas = tuple(parse(text) for text in ("a & ~b", "b | c", "False"))
    fired = np.stack([bits[:, 0] & ~bits[:, 1] & 1, bits[:, 1] | bits[:, 2], np.zeros(90, int)], axis=1)
    line = measured(Learned(lambda _: answers, formulas), table)
    assert line["model_accuracy"] == pytest.approx(accuracy_score(labels, answers), abs=1e-6)
    expected = np.mean([f1_score(labels == k, fired[:, k], average="macro") for k in range(3)])
    assert line["explanation_accuracy"] == pytest.approx(expected, abs=1e-6)
    agreement = np.mean([accuracy_score(answers == k, fired[:, k]) for k in range(3)])
    assert line["fidelity"] == pytest.approx(agreement, abs=1e-6)
    assert (line["complexity"], line["constant_formulas"]) == (pytest.approx(4 / 3, abs=1e-6), 1)
    words = stated(Learned(lambda _: answers, formulas, ("a note",)), table)
    assert words == {"formulas": {"x": "a & ~b", "y": "b | c", "z": "False"}, "note": "a note"}


def test_fidelity_is_to_what_each_head_answers():
    table = ConceptTable([[1, 1], [0, 0], [1, 0]], ("a", "b"), [0, 1, 0], ("x", "y"))
    formulas, answers = (parse("a"), parse("b")), np.array([0, 1, 0])
    assert measured(Learned(lambda _: answers, formulas), table)["fidelity"] == pytest.approx(2 / 3, abs=1e-6)
    alone = Learned(lambda _: answers, formulas, answers=lambda rows: rows.boolean())
    assert measured(alone, table)["fidelity"] == 1


def test_a_sample_of_classes_is_scored_on_these_alone():
    rng = np.random.default_rng(4)
    bits, labels = rng.integers(0, 2, (60, 2)), rng.integers(0, 3, 60)
    table = ConceptTable(bits, ("a", "b"), labels, ("x", "y", "z"))
    learned = Learned(lambda rows: np.zeros(len(rows), dtype=np.intp), (parse("a"), parse("b")), classes=(0, 2))
    line = measured(learned, table)
    expected = np.mean([f1_score(labels == k, bits[:, i], average="macro") for i, k in enumerate((0, 2))])
    assert line["explanation_accuracy"] == pytest.approx(expected, abs=1e-6)
    assert not {"model_accuracy", "fidelity"} & set(line)
    assert stated(learned, table) == {"formulas": {"x": "a", "z": "b"}}


def test_a_black_box_has_accuracy_alone():
    table = ConceptTable([[1], [0]], ("a",), [0, 1], ("x", "y"))
    assert measured(Learned(lambda _: np.array([0, 0])), table) == {"model_accuracy": 0.5}


@pytest.mark.parametrize("method", ["minimal", "exact", "paper", "authors"])
def test_our_methods_learn_a_plain_table(tmp_path, method):
    line = paper.task_run(Source(None, tmp_path), "xor", "clean", method, 0)
    assert line["model_accuracy"] > 0.95
    assert line["device"] == "cpu"
    assert set(line["formulas"]) == {"no", "yes"}
    if method == "exact":
        assert (line["fidelity"], line["recovered"]) == (1, 2)


def test_validation_rows_judge_the_papers_formulas_only(tmp_path, monkeypatch):
    calls = {}
    fold = fold_data(Source(None, tmp_path), "iris", "clean", 0)

    def spy(network, rows, *, validation=None, method, **more):
        calls[method] = len(rows), None if validation is None else len(validation)
        raise InterruptedError

    monkeypatch.setattr("lab.runs.ours.explain_all", spy)
    for name in ("minimal", "paper"):
        with pytest.raises(InterruptedError):
            METHODS[name].learn(fold)
    assert calls == {
        "search": (len(fold.train) + len(fold.validation), None), "paper": (len(fold.train), len(fold.validation))
    }  # fmt: skip


def test_the_toy_table_is_the_papers():
    table = toy.table()
    rows, labels = table.values, table.labels
    assert (labels[:, 0] == (rows[:, 0] != rows[:, 1])).all()
    assert (labels[:, 2] == (rows[:, 2] + rows[:, 3] > 0)).all()
    for truth, column in zip(toy.TRUTH, labels.T, strict=True):
        assert (truth.evaluate(table.boolean(), table.names) == column).all()


def test_the_toy_networks_give_their_matrices_and_formulas():
    line = attempt({}, toy.toy_run, ("C", 0, 40))
    assert line["rows"] == list(toy.CLASSES)
    assert np.array(line["matrix"]).shape == (4, 4)
    for way, formulas in line["formulas"].items():
        pairs = zip(map(parse, formulas.values()), toy.TRUTH, strict=True)
        assert line["recovered"][way] == sum(formula.equivalent(truth) for formula, truth in pairs)
    assert np.array(toy.toy_run("A", 0, 5)["matrix"]).shape == (20, 4)


# Writing down and going on ------------------------------------------------------------------------------------------


def doubled(number: int) -> dict[str, int]:
    return {"value": 2 * number}


def broken(number: int) -> dict[str, int]:
    raise ValueError("singular\nmatrix")


def lacking(number: int) -> dict[str, int]:
    raise MissingPackage("nothing is not installed.")


def slow(number: int) -> dict[str, int]:
    try:
        time.sleep(60)
    except Exception:
        return {"value": 0}
    return {"value": 1}


def jobs(work, n: int = 3):
    return [({"task": "t", "fold": fold}, work, (fold,)) for fold in range(n)]


def test_runs_are_written_down_and_not_repeated(tmp_path):
    file = tmp_path / "deep" / "runs.jsonl"
    carry_out(Results(file, KEYS), jobs(doubled, 2))
    before = file.read_bytes()
    carry_out(Results(file, KEYS), jobs(broken, 2) + jobs(doubled, 3))
    assert file.read_bytes().startswith(before)
    assert [(line["fold"], line["value"]) for line in Results(file, KEYS)] == [(0, 0), (1, 2), (2, 4)]


def test_a_line_that_a_kill_cut_off_is_run_again(tmp_path):
    file = tmp_path / "runs.jsonl"
    carry_out(Results(file, KEYS), jobs(doubled))
    file.write_bytes(file.read_bytes()[:-10])
    results = Results(file, KEYS)
    assert [line["fold"] for line in results] == [0, 1]
    carry_out(results, jobs(doubled))
    assert len(list(Results(file, KEYS))) == 3


def test_runs_that_fail_are_recorded_and_may_be_repeated(tmp_path):
    results = Results(tmp_path / "runs.jsonl", KEYS)
    carry_out(results, [*jobs(broken, 1), *jobs(lacking, 2)[1:]])
    statuses = [line["status"] for line in results]
    assert statuses == ["failed: ValueError: singular matrix", "skipped: nothing is not installed."]
    carry_out(results, jobs(doubled, 2))
    # What was skipped for want of a package is tried again, a failure only if it is named.
    assert [line["status"].split(":")[0] for line in results] == ["failed", "ok"]
    results.drop(["failed"])
    carry_out(results, jobs(doubled, 2))
    assert {line["status"] for line in Results(tmp_path / "runs.jsonl", KEYS)} == {"ok"}


def test_a_run_is_stopped_at_its_limit():
    begun = time.monotonic()
    line = attempt({"task": "t", "fold": 0}, slow, (0,), 0.2)
    assert line == {"task": "t", "fold": 0, "status": "stopped: 0.2 s"}
    assert time.monotonic() - begun < 30


def test_results_of_other_settings_are_refused(tmp_path):
    file = tmp_path / "runs.jsonl"
    carry_out(Results(file, KEYS, {"folds": 5}), jobs(doubled, 1))
    with pytest.raises(LogicLensError, match="folds 5, this run has 3"):
        Results(file, KEYS, {"folds": 3})


def test_several_processes_give_the_same_results(tmp_path):
    lines = []
    for n_jobs in (1, 2):
        results = Results(tmp_path / f"{n_jobs}.jsonl", paper.KEYS)
        source = Source(None, tmp_path, n_folds=2)
        listed = paper.task_jobs(named_tasks(["iris"]), [METHODS["oner"], METHODS["tree"]], ("clean",), source)
        carry_out(results, listed, n_jobs=n_jobs)
        lines.append({key: {k: v for k, v in line.items() if "seconds" not in k} for key, line in results.runs.items()})
    assert lines[0] == lines[1]
    assert len(lines[0]) == 4


# The command line ---------------------------------------------------------------------------------------------------


def test_a_comparison_runs_from_the_command_line(tmp_path):
    command = [sys.executable, "-m", "lab", "paper", "iris", "sweep:iris", "--methods", "oner", "--folds", "2"]
    options = ["--file", str(tmp_path / "paper.jsonl"), "--concepts", str(tmp_path)]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "iris, clean, oner, 1: ok" in done.stderr
    lines = [json.loads(line) for line in (tmp_path / "paper.jsonl").read_text().splitlines()]
    assert lines[0]["folds"] == 2
    swept = [line for line in lines[1:] if line["task"] == "sweep:iris"]
    assert len(swept) == 2 * len(paper.TEMPERATURES) * len(paper.PENALTIES)
    assert {"validation_accuracy", "validation_explanation_accuracy"} <= set(swept[0])


@pytest.mark.parametrize(
    "words", [["paper", "irs"], ["domination", "--methods", "trees"], ["planted", "--methods", "x"]]
)
def test_a_mistake_is_one_sentence(words, capsys, monkeypatch):
    assert main(words) == 2
    message = capsys.readouterr().err
    assert message.startswith("lab: ")
    assert message.count("\n") == 1


def test_a_search_goes_on_and_uses_no_test_rows(tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    from lab.runs import search as module

    seen = []
    real = module.measured
    monkeypatch.setattr(module, "measured", lambda learned, rows: seen.append(rows) or real(learned, rows))
    source, (task,) = Source(None, tmp_path, n_folds=2), named_tasks(["iris"])
    task = replace(task, network=replace(task.network, epochs=5))
    first = module.search(task, "clean", source, 1, f"sqlite:///{tmp_path / 's.db'}").trials[0].params
    second = module.search(task, "clean", source, 2, f"sqlite:///{tmp_path / 's.db'}")
    assert second.trials[0].params == first != second.trials[1].params
    assert len(second.trials) == 2
    folds = [fold_data(source, "iris", "clean", number) for number in range(2)]
    lengths = {len(fold.validation) for fold in folds}
    assert {len(rows) for rows in seen} <= lengths
    labels = load("iris").labels
    assert all(np.array_equal(rows.labels, labels[f.rows.validation]) for rows, f in zip(seen, folds * 2, strict=True))


def test_directions_of_the_metrics_are_those_of_the_paper():
    lower = {name for name in ("complexity", "seconds") if metric_named(name).lower_is_better}
    assert lower == {"complexity", "seconds"}
    assert not metric_named("fidelity").lower_is_better


def test_the_program_says_what_it_can_do():
    done = subprocess.run([sys.executable, "-m", "lab", "-h"], cwd=ROOT, capture_output=True, text=True, check=True)
    readme = Path(ROOT, "lab", "README.md").read_text(encoding="utf-8")
    for command in ("paper", "planted", "domination", "ablation", "side-by-side", "speed", "scale", "pages", "search"):
        assert f"  {command} " in done.stdout
        assert f"python -m lab {command}" in readme
