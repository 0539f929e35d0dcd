"""Folds under both protocols. No concept comes from an encoder that saw its row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from lab.datasets.dataset import Dataset
from lab.runs import fold_data as fold_data_module
from lab.runs.fold_data import (
    Encoding,
    concept_parts,
    final_concepts,
    predicted_classes,
    predicted_concepts,
)
from lab.runs.tasks import TASKS, Task, folds_of
from logiclens.errors import LogicLensError
from tests.encoded_problem import N, encoded_problem


@pytest.fixture
def problem() -> Dataset:
    return encoded_problem()


def encoding(task: str, protocol: str, cache: Path) -> Encoding:
    return Encoding(TASKS[task], "paper" if protocol == "paper" else "clean", cache, 7)


@pytest.mark.parametrize("task", ["vdem", "vdem-countries"])
def test_clean_concepts_come_from_encoders_blind_to_the_row(problem: Dataset, tmp_path: Path, task: str) -> None:
    for rows in folds_of(TASKS[task], problem, "clean", 5, 42):
        asked = np.zeros(N, dtype=int)
        for part in concept_parts(encoding(task, "clean", tmp_path), problem, rows):
            assert not set(part.train) & set(part.asked)
            assert not set(part.train) & set(rows.test)
            asked[part.asked] += 1
            if TASKS[task].grouped:
                assert not set(problem.groups[part.train]) & set(problem.groups[part.asked])
        assert (asked == 1).all()
        assert sorted(part.train) == sorted([*rows.train, *rows.validation])


def test_folds_by_group_tear_no_group(problem: Dataset) -> None:
    for rows in folds_of(TASKS["vdem-countries"], problem, "clean", 5, 42):
        sides = [set(problem.groups[part]) for part in (rows.train, rows.validation, rows.test)]
        assert not sides[0] & sides[1]
        assert not sides[0] & sides[2]
        assert not sides[1] & sides[2]


def test_the_scripts_have_stratified_folds_and_a_plain_inner_split(problem: Dataset) -> None:
    judge = StratifiedKFold(5, shuffle=True, random_state=42).split(problem.labels, problem.labels)
    for rows, (rest, test) in zip(folds_of(TASKS["vdem"], problem, "paper", 5, 42), judge, strict=True):
        assert (rows.test == test).all()
        assert sorted([*rows.train, *rows.validation]) == rest.tolist()
        assert len(rows.validation) == round(0.2 * len(rest))


def test_the_scripts_split_of_images_has_copies_on_both_sides(problem: Dataset) -> None:
    first, *others = folds_of(TASKS["mnist"], problem, "paper", 5, 42)
    assert all((other.test == first.test).all() for other in others)
    sizes = [len(first.train), len(first.validation), len(first.test)]
    assert sizes == [540, 30, 30]
    everything = np.concatenate([first.train, first.validation, first.test])
    assert (np.bincount(everything) == 2).all()
    assert set(first.test) & set(first.train)


def test_the_scripts_image_encoder_saw_four_fifths_or_all(problem: Dataset, tmp_path: Path) -> None:
    """CUB's was trained on a part that is not that of the test rows, MNIST's on every image."""
    for task, n_seen in (("cub", 240), ("mnist", 300)):
        rows = folds_of(TASKS[task], problem, "paper", 5, 42)[0]
        (part,) = concept_parts(encoding(task, "paper", tmp_path), problem, rows)
        assert len(part.train) == n_seen
        assert set(part.train) & set(rows.test)
        assert (part.asked == problem.all_rows).all()


def test_a_task_of_ours_has_no_paper_protocol(problem: Dataset) -> None:
    with pytest.raises(LogicLensError, match=r"no experiment 'mimic2-early'.*'clean' only"):
        folds_of(TASKS["mimic2-early"], problem, "paper", 5, 42)


def test_predicted_concepts_follow_the_inputs_and_are_kept(problem: Dataset, tmp_path: Path, monkeypatch) -> None:
    rows = folds_of(TASKS["vdem"], problem, "clean", 3, 42)[0]
    how = encoding("vdem", "clean", tmp_path / "cache")
    found = predicted_concepts(how, problem, rows)
    truth = problem.concepts(problem.all_rows)
    assert (found.boolean() == truth.boolean()).mean() > 0.9
    assert found.names == truth.names
    assert (found.labels == truth.labels).all()
    files = sorted((tmp_path / "cache").iterdir())
    assert len(files) == 6
    monkeypatch.setattr(fold_data_module, "fit_encoder", None)
    again = predicted_concepts(how, problem, rows)
    assert (again.values == found.values).all()
    other = Encoding(how.task, how.protocol, how.cache, seed=8)
    with pytest.raises(TypeError):
        predicted_concepts(other, problem, rows)


def test_the_cache_knows_other_inputs(problem: Dataset, tmp_path: Path) -> None:
    rows = folds_of(TASKS["vdem"], problem, "clean", 3, 42)[0]
    how = encoding("vdem", "clean", tmp_path)
    first = predicted_concepts(how, problem, rows)
    problem.inputs.iloc[0, 1] += 5
    moved = Dataset(**{**vars(problem), "inputs": problem.inputs.copy()})
    assert len(list(tmp_path.iterdir())) == 6
    predicted_concepts(how, moved, rows)
    assert len(list(tmp_path.iterdir())) == 12
    assert first.values.shape == (N, 2)


def test_encoding_settings_do_not_see_the_test_rows(problem: Dataset, tmp_path: Path) -> None:
    """Changing inputs of test rows moves no prediction for other rows: gaps and scales come from the training part."""
    rows = folds_of(TASKS["vdem"], problem, "clean", 3, 42)[0]
    first = predicted_concepts(encoding("vdem", "clean", tmp_path / "a"), problem, rows)
    inputs = problem.inputs.copy()
    inputs.iloc[rows.test] = 1000.0
    moved = Dataset(**{**vars(problem), "inputs": inputs})
    second = predicted_concepts(encoding("vdem", "clean", tmp_path / "b"), moved, rows)
    others = np.concatenate([rows.train, rows.validation])
    assert (first.values[others] == second.values[others]).all()
    assert (first.values[rows.test] != second.values[rows.test]).any()


def test_classes_are_predicted_straight_and_the_last_test_needs_rows(problem: Dataset, tmp_path: Path) -> None:
    rows = folds_of(TASKS["vdem"], problem, "clean", 3, 42)[0]
    how = encoding("vdem", "clean", tmp_path)
    said = predicted_classes(how, problem, rows)
    assert said.asked.shape == (len(rows.test), 2)
    assert len(said.final) == 0
    assert (said.asked.argmax(axis=1) == problem.labels[rows.test]).mean() > 0.85
    with pytest.raises(LogicLensError, match="keeps no rows"):
        final_concepts(how, problem, rows)


def test_the_encoder_of_the_rows_has_seen_the_last_test(problem: Dataset, tmp_path: Path, monkeypatch) -> None:
    asked_of: list[int] = []

    def said(_how: Encoding, dataset: Dataset, part: fold_data_module.Part, _what: str) -> fold_data_module.Predictions:
        asked_of.append(len(part.train))
        return fold_data_module.Predictions(np.zeros((len(part.asked), 2)), np.full((len(dataset.final), 2), 0.75))

    monkeypatch.setattr(fold_data_module, "_predictions", said)
    rows = folds_of(TASKS["vdem"], problem, "clean", 3, 42)[0]
    with_final = Dataset(**{**vars(problem), "final": encoded_problem(seed=1)})
    found = final_concepts(encoding("vdem", "clean", tmp_path), with_final, rows)
    assert asked_of == [len(rows.train) + len(rows.validation)]
    assert (found.values == 0.75).all()
    assert (found.labels == with_final.final.labels).all()


def test_every_task_names_a_data_set() -> None:
    from lab.datasets.catalogue import names

    assert {task.dataset for task in TASKS.values()} <= set(names())
    assert all(isinstance(task, Task) and task.name == name for name, task in TASKS.items())
