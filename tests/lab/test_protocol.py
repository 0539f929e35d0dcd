"""The protocols: which rows reach what, from the bins of a column to the encoders of concepts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.datasets.catalogue import load
from lab.datasets.dataset import Dataset, GivenConcepts
from lab.runs import fold_data as module
from lab.runs.fold_data import FoldRows, Source, encoder_parts, fold_data, predicted_concepts
from lab.runs.methods import METHODS, named_methods
from lab.runs.ours import Joint
from lab.runs.tasks import TASKS, folds_of, has_protocol, named_tasks
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError

N = 300


def encoded_problem(seed: int = 0) -> Dataset:
    """Columns that show two concepts plainly; six rows belong together."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (N, 2))
    frame = pd.DataFrame(bits * 3.0 + rng.normal(0, 0.3, (N, 2)), columns=["u", "v"])
    frame.iloc[::7, 0] = np.nan
    labels = (bits[:, 0] & bits[:, 1]).astype(np.int64)
    table = ConceptTable(bits, ("a", "b"), labels, ("no", "yes"))
    groups = np.repeat(np.arange(N // 6), 6).astype(object)
    return Dataset("vdem", frame, labels, ("no", "yes"), GivenConcepts(table), annotated=True, groups=groups)


@pytest.fixture
def problem(monkeypatch) -> Dataset:
    made = encoded_problem()
    monkeypatch.setattr(module, "dataset_of", lambda name, folder: made)
    fold_data.cache_clear()
    yield made
    fold_data.cache_clear()


def rows_of(problem: Dataset, task: str, protocol: str, cache: Path, number: int = 0) -> FoldRows:
    rows = folds_of(TASKS[task], problem, protocol, 5, 42)[number]
    return FoldRows(TASKS[task], protocol, number, rows, problem, Source(None, cache))


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_test_rows_of_the_folds_are_all_rows_once(name):
    data = load(name)
    folds = folds_of(TASKS[name], data, "clean", 5, 42)
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(len(data)))
    for fold in folds:
        parts = [set(part.tolist()) for part in (fold.train, fold.validation, fold.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == len(data)


def test_cuts_do_not_depend_on_rows_outside_the_training_part():
    data = load("wine")
    train = folds_of(TASKS["wine"], data, "clean", 5, 42)[0].train
    outside = np.setdiff1d(data.all_rows, train)
    changed = data.inputs.copy()
    changed.iloc[outside] = 1e6 * np.random.default_rng(0).random((len(outside), changed.shape[1]))
    again = replace(data, concepts=replace(data.concepts, frame=changed))
    before, after = (each.concepts(train).values for each in (data, again))
    assert (before[train] == after[train]).all()
    assert (before[outside] != after[outside]).any()


@pytest.mark.parametrize("task", ["vdem", "vdem-countries"])
def test_concepts_come_from_encoders_blind_to_the_row(problem, tmp_path, task):
    fold = rows_of(problem, task, "clean", tmp_path)
    parts = list(encoder_parts(fold))
    assert sorted(np.concatenate([part.predicted for part in parts]).tolist()) == list(range(N))
    for part in parts:
        assert not set(part.train) & set(part.predicted)
        # No encoder learns from a test row, not even those of training and validation rows.
        assert not set(part.train) & set(fold.rows.test)
        if task == "vdem-countries":
            assert not set(problem.groups[part.train]) & set(problem.groups[part.predicted])


def test_encoder_inputs_are_scaled_by_its_own_training_rows(problem):
    train = np.arange(100)
    far = replace(problem, inputs=problem.inputs.assign(u=problem.inputs["u"].where(problem.inputs.index < 100, 1e9)))
    scaled = module.prepared_inputs(far, train)[train]
    assert np.allclose(scaled.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(scaled.std(axis=0), 1, atol=1e-5)


def test_the_papers_protocol_leaks_where_it_says_so(problem, tmp_path):
    (part,) = encoder_parts(rows_of(problem, "vdem", "paper", tmp_path))
    assert set(part.train) < set(part.predicted)
    one_split = folds_of(TASKS["mnist"], problem, "paper", 5, 42)
    assert all(fold is one_split[0] for fold in one_split)
    # Each image occurs twice, and copies cross the split.
    assert set(one_split[0].train) & set(one_split[0].test)


def test_predictions_are_read_from_the_cache_and_follow_inputs(problem, tmp_path):
    fold = rows_of(problem, "vdem", "clean", tmp_path)
    first = predicted_concepts(fold)
    right = first.boolean() == problem.concepts(problem.all_rows).boolean()
    assert right.mean() > 0.9
    files = sorted(file.name for file in tmp_path.iterdir())
    assert (predicted_concepts(fold).values == first.values).all()
    assert sorted(file.name for file in tmp_path.iterdir()) == files
    other = rows_of(encoded_problem(seed=1), "vdem", "clean", tmp_path)
    predicted_concepts(other)
    assert len(list(tmp_path.iterdir())) == 2 * len(files)


def test_joint_training_knows_nothing_of_the_test_rows(problem, tmp_path):
    source = Source(None, tmp_path)
    fold = replace(fold_data(source, "vdem", "clean", 0), task=replace(TASKS["vdem"], network=TASKS["iris"].network))
    first = Joint()(fold)
    other = encoded_problem()
    labels = other.labels.copy()
    labels[fold.rows.test] = 1 - labels[fold.rows.test]
    concepts = GivenConcepts(ConceptTable(other.concepts.table.values, ("a", "b"), labels, ("no", "yes")))
    again = Joint()(replace(fold, dataset=replace(other, labels=labels, concepts=concepts)))
    assert again.formulas == first.formulas
    assert (again.predict(again.test) == first.predict(first.test)).all()


@pytest.mark.parametrize("name", ["forest", "tree"])
def test_black_boxes_see_probabilities_and_rule_learners_cut_concepts(problem, tmp_path, monkeypatch, name):
    seen = []
    fold = fold_data(Source(None, tmp_path), "vdem", "clean", 0)
    kind = "lab.peers.black_box.Forest" if name == "forest" else "lab.peers.simple_rules.Tree"
    real = getattr(__import__(kind.rpartition(".")[0], fromlist=["x"]), kind.rpartition(".")[2]).__call__

    def spy(self, train, validation, *, seed):
        seen.extend((train, validation))
        return real(self, train, validation, seed=seed)

    monkeypatch.setattr(f"{kind}.__call__", spy)
    METHODS[name].learn(fold)
    is_cut = [bool(np.isin(table.values, (0, 1)).all()) for table in seen]
    assert is_cut == [name == "tree"] * 2


def test_unknown_tasks_and_methods_are_named():
    with pytest.raises(LogicLensError, match="iris"):
        named_tasks(["irs"])
    with pytest.raises(LogicLensError, match="ripper"):
        named_methods(["riper"])
    assert [method.name for method in named_methods(["tree", "ours"])][-1] == "tree"
    assert not has_protocol(TASKS["iris"], "paper")
