"""The search for settings: what it measures, which settings it may change, and resuming."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("optuna")

from lab.commands import SearchOptions, front_table
from lab.runs.fold_data import FoldData, Source, all_folds
from lab.runs.ours import forget
from lab.runs.plan import work
from lab.runs.results import SWEEP, Run
from lab.runs.study import (
    FinishedTrial,
    SearchPlan,
    SearchResult,
    Setting,
    SharedStudy,
    changed,
    cuts_are_free,
    judge,
    judged,
    search,
    suggested,
)
from lab.runs.tasks import TASKS
from logiclens.errors import LogicLensError
from tests.encoded_problem import encoded_problem

QUICK = Setting(1.0, 1e-4, (10,))


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(None, tmp_path / "concepts", n_folds=2)


class Untouched:
    """Rows that nobody may look at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"test rows were asked for {name!r}")

    def __len__(self) -> int:
        raise AssertionError("test rows were counted")


@pytest.mark.parametrize("setting", [QUICK, Setting(1.0, 1e-4, (10,), "supervised", 2)], ids=["task", "cut"])
def test_test_rows_are_not_looked_at(source: Source, setting: Setting) -> None:
    folds = [changed(fold, setting) for fold in all_folds(source, "iris", "clean")]
    blind = [replace(fold, test=Untouched()) for fold in folds]
    values = judge(blind)
    assert len(values) == 3
    assert 0.5 < values[0] <= 1
    assert values[2] > 0


def test_a_setting_is_judged_as_the_grid_judges_it(source: Source) -> None:
    """The means over folds of what `sweep` writes down for the same setting."""
    network = TASKS["iris"].network
    setting = Setting(4.0, 1e-4, network.hidden)
    forget()
    found = judged(source, "iris", "clean", (0, setting))
    rows = [dict(work(source, Run(f"{SWEEP}iris", "clean", "tau=4 lambda=0.0001", fold))) for fold in range(2)]
    for value, metric in zip(found, ("validation_accuracy", "validation_explanation_accuracy"), strict=False):
        assert value == pytest.approx(np.mean([float(row[metric]) for row in rows]), abs=1e-6)
    # A formula is as long on whatever rows it is measured.
    assert found[2] == pytest.approx(np.mean([float(row["complexity"]) for row in rows]), abs=1e-6)


def test_cuts_are_found_on_training_rows(source: Source) -> None:
    setting = replace(QUICK, cuts="quantile", n_cuts=2)
    fold = all_folds(source, "iris", "clean")[0]
    made = changed(fold, setting)
    assert len(made.train.names) == 2 * 4
    assert len(changed(fold, replace(setting, n_cuts=1)).train.names) == 4
    inputs = fold.dataset.inputs
    assert isinstance(inputs, pd.DataFrame)
    moved = inputs.copy()
    others = np.concatenate([fold.rows.validation, fold.rows.test])
    moved.iloc[others] = 1000 + moved.iloc[others]
    again = changed(replace(fold, dataset=replace(fold.dataset, inputs=moved)), setting)
    assert again.train.names == made.train.names
    assert (again.train.values == made.train.values).all()
    # The concept of a cut is what its name says.
    name = made.train.names[0]
    column, least = name.split(" >= ")
    assert (made.validation.values[:, 0] == (inputs[column].iloc[fold.rows.validation] >= float(least))).all()


def test_settings_reach_the_network(source: Source) -> None:
    fold: FoldData = changed(all_folds(source, "iris", "clean")[0], Setting(0.5, 1e-6, (20, 20)))
    network = fold.task.network
    assert (network.temperature, network.penalty_weight, network.hidden) == (0.5, 1e-6, (20, 20))


def test_cuts_are_searched_where_there_are_raw_columns_only(source: Source, tmp_path: Path) -> None:
    assert cuts_are_free(source, TASKS["wine"], "clean")
    assert not cuts_are_free(source, TASKS["digits-parity"], "clean")
    assert not cuts_are_free(source, TASKS["xor"], "clean")
    seen = {True: set(), False: set()}
    for has_cuts, kinds in seen.items():
        url = f"sqlite:///{tmp_path / f'{has_cuts}.db'}"
        study = SharedStudy(url, "s", header={}, directions=("maximize",))
        for _ in range(8):
            asked = study.ask(8, lambda trial, has_cuts=has_cuts: suggested(trial, has_cuts=has_cuts))
            assert asked is not None
            setting = Setting.of(asked.trial.params)
            assert 0.3 <= setting.temperature <= 10
            assert 1e-7 <= setting.penalty_weight <= 1e-2
            assert (setting.n_cuts is None) == (setting.cuts == "task")
            kinds.add(setting.cuts)
    assert seen[False] == {"task"}
    assert len(seen[True]) > 1


def test_a_resumed_search_finds_what_one_run_finds(source: Source, tmp_path: Path) -> None:
    def wanted(name: str, trials: int) -> SearchPlan:
        return SearchPlan(TASKS["xor"], "clean", source, trials, f"sqlite:///{tmp_path / name}", "s", n_workers=1)

    steps: list[Any] = []
    with joblib.parallel_config("threading", n_jobs=1):
        search(wanted("parts.db", 2))
        parts = search(wanted("parts.db", 4), steps.append)
        whole = search(wanted("whole.db", 4))
    assert [(step.done, step.total, step.status) for step in steps] == [(3, 4, "ok"), (4, 4, "ok")]
    assert (parts.n_tried, parts.n_failed) == (4, 0)
    assert parts == whole


def test_a_trial_that_cannot_be_carried_out_is_counted(source: Source, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("lab.runs.study.judge", lambda _folds: 1 / 0)
    steps: list[Any] = []
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with joblib.parallel_config("threading", n_jobs=1):
        found = search(SearchPlan(TASKS["xor"], "clean", source, 2, url, "s", n_workers=2), steps.append)
    assert found == SearchResult(0, 2, ())
    assert {step.status for step in steps} == {"failed: ZeroDivisionError: division by zero"}


def test_the_front_is_a_table_with_the_most_accurate_first() -> None:
    few = FinishedTrial(3, {"tau": 0.7, "lambda": 1e-3, "hidden": "20"}, (0.9, 0.85, 1.5))
    many = FinishedTrial(
        5, {"tau": 5.0, "lambda": 2.5e-06, "hidden": "20-20", "cuts": "quantile", "n_cuts": 2}, (0.95, 0.9, 7)
    )
    lines = list(front_table(SearchResult(6, 0, (few, many)), "iris, protocol clean"))
    assert lines[0] == "\niris, protocol clean: the front of 6 trials, on validation rows"
    assert lines[1].split() == ["accuracy", "%", "rules", "F1", "%", "literals", "trial"]
    assert lines[2].split() == ["tau=5", "lambda=2.5e-06", "hidden=20,20", "quantile:2", "95.00", "90.00", "7.00", "5"]
    assert lines[3].split() == ["tau=0.7", "lambda=0.001", "hidden=20", "90.00", "85.00", "1.50", "3"]
    assert list(front_table(SearchResult(0, 2, ()), "iris")) == []


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (SearchOptions(None, trials=3), "--trials is for a search: say --search optuna too"),
        (SearchOptions(None, storage="sqlite:///a.db"), "--storage is for a search"),
        (SearchOptions("grid"), "--search must be optuna, got 'grid'"),
        (SearchOptions("optuna", grid=True), "--taus and --lambdas are a grid"),
        (SearchOptions("optuna", retry=True), "--retry is for a grid"),
    ],
)
def test_options_that_mean_nothing_together_are_refused(wanted: SearchOptions, sentence: str) -> None:
    with pytest.raises(LogicLensError, match=sentence):
        wanted.check()


def test_predicted_concepts_are_made_once_before_the_trials(source: Source, tmp_path: Path, monkeypatch: Any) -> None:
    problem = encoded_problem()
    for module in ("fold_data", "study"):
        monkeypatch.setattr(f"lab.runs.{module}.dataset_of", lambda _name, _folder: problem)
    steps: list[Any] = []
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with joblib.parallel_config("threading", n_jobs=1):
        found = search(SearchPlan(TASKS["vdem"], "clean", source, 1, url, "s", n_workers=1), steps.append)
    assert [step.label for step in steps] == [
        "concepts of vdem, clean, fold 0",
        "concepts of vdem, clean, fold 1",
        "trial 0",
    ]
    assert (found.n_tried, found.n_failed) == (1, 0)
    # Nothing is cut: the concepts are annotations.
    assert set(found.front[0].params) == {"tau", "lambda", "hidden"}
