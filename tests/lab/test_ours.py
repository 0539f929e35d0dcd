"""What methods get of a fold: its rows, soft or hard concepts, and the questions they must answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lab.datasets.dataset import Dataset
from lab.peers.learner import Learned
from lab.runs import fold_data as fold_data_module
from lab.runs import methods as methods_module
from lab.runs import ours as networks_module
from lab.runs import ours as ours_module
from lab.runs import plan as bench_module
from lab.runs import plan as plan_module
from lab.runs.authors import ENCODER_HIDDEN, ENCODER_TEMPERATURE, encoder_as_authors, untrained
from lab.runs.fold_data import Encoding, FoldData, Source, fold_data, predicted_concepts
from lab.runs.methods import METHODS
from lab.runs.ours import Authors, Exact, Joint, Ours, trained, with_settings
from lab.runs.plan import sweep_run, work
from lab.runs.results import Run
from lab.runs.tasks import TASKS, ScriptSettings, folds_of
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.estimator.cross_validation import fires
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.text import parse
from logiclens.nn.layers import EntropyNet
from tests.encoded_problem import encoded_problem


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(None, tmp_path / "concepts", n_folds=3)


def encoded_fold(problem: Dataset, cache: Path) -> FoldData:
    """The first fold of V-Dem's task, on other rows."""
    task = TASKS["vdem"]
    rows = folds_of(task, problem, "clean", 3, 42)[0]
    how = Encoding(task, "clean", cache, 42)
    table = predicted_concepts(how, problem, rows)
    parts = (table.take(part) for part in (rows.train, rows.validation, rows.test))
    return FoldData(task, "clean", 0, rows, problem, *parts, how, 42)


def test_the_three_parts_of_a_fold_are_its_own_rows(source: Source) -> None:
    fold = fold_data(source, "wine", "clean", 1)
    table = fold.dataset.concepts(fold.rows.train)
    for part, rows in (
        (fold.train, fold.rows.train),
        (fold.validation, fold.rows.validation),
        (fold.test, fold.rows.test),
    ):
        assert (part.values == table.values[rows]).all()
        assert (part.labels == fold.dataset.labels[rows]).all()


def test_networks_trained_jointly_know_nothing_of_the_test_rows(tmp_path: Path) -> None:
    problem = encoded_problem()
    fold = encoded_fold(problem, tmp_path)
    learned = Joint()(fold)
    inputs = problem.inputs.copy()
    inputs.iloc[fold.rows.test] = 1000.0
    moved = replace(problem, inputs=inputs)
    again = Joint()(replace(fold, dataset=moved))
    weights = zip(learned.predict.network.parameters(), again.predict.network.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in weights)
    assert learned.formulas == again.formulas
    assert (again.test.values != learned.test.values).any()


def test_networks_trained_jointly_are_asked_about_the_test_rows(tmp_path: Path) -> None:
    problem = encoded_problem()
    fold = encoded_fold(problem, tmp_path)
    learned = Joint()(fold)
    truth = problem.concepts(problem.all_rows).take(fold.rows.test)
    assert (learned.test.labels == truth.labels).all()
    assert (learned.test.boolean() == truth.boolean()).mean() > 0.9
    no, yes = learned.formulas
    assert no.equivalent(parse("~a | ~b"))
    assert yes.equivalent(parse("a & b"))


def test_the_scripts_encoder_learns_from_two_halves_in_row_order() -> None:
    rng = np.random.default_rng(1)
    inputs, concepts = rng.normal(size=(5, 3)).astype(np.float32), rng.integers(0, 2, (5, 2)).astype(np.float32)
    learned = encoder_as_authors(inputs, concepts, epochs=4, seed=3)
    seeded = torch.Generator().manual_seed(3)
    twin = untrained(3, 2, ENCODER_HIDDEN, temperature=ENCODER_TEMPERATURE, generator=seeded)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=0.01, weight_decay=0.01)
    for rows in [slice(0, 3), slice(3, 5)] * 4:
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(twin(torch.tensor(inputs[rows])), torch.tensor(concepts[rows])).backward()
        optimizer.step()
    for mine, its_twin in zip(learned.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(mine, its_twin, atol=1e-5)


def test_the_scripts_cut_the_encoders_outputs_at_a_half(tmp_path: Path, monkeypatch) -> None:
    outputs = np.linspace(-1, 2, 300)[:, None] * [1.0, -1.0]
    problem = replace(encoded_problem(), inputs=pd.DataFrame(outputs, columns=["u", "v"]))
    monkeypatch.setattr(fold_data_module, "encoder_as_authors", lambda *_, **__: nn.Identity())
    monkeypatch.setattr(fold_data_module, "prepared_inputs", lambda *_: outputs)
    rows = folds_of(TASKS["vdem"], problem, "paper", 3, 42)[0]
    found = predicted_concepts(Encoding(TASKS["vdem"], "paper", tmp_path, 42), problem, rows)
    assert (found.boolean() == (outputs > 0.5)).all()


def test_the_rows_of_the_last_test_are_measured_as_such(source: Source, monkeypatch) -> None:
    fold = fold_data(source, "iris", "clean", 0)
    others = (fold.test.labels + 1) % 3
    turned = replace(fold, final=ConceptTable(fold.test.values, fold.test.names, others, fold.test.class_names))
    monkeypatch.setattr(bench_module, "fold_data", lambda *_: turned)
    found = dict(work(source, Run("iris", "clean", "tree", 0)))
    said = METHODS["tree"].learn(fold).predict(fold.test)
    assert float(found["final_model_accuracy"]) == pytest.approx((said == turned.final.labels).mean(), abs=1e-6)
    assert found["final_model_accuracy"] != found["model_accuracy"]


def test_classes_predicted_straight_are_those_of_the_rows_asked_about(tmp_path: Path, monkeypatch) -> None:
    fold = encoded_fold(encoded_problem(), tmp_path)
    final = fold.test.take([2, 0, 1])
    asked, last = np.eye(2)[fold.test.labels], np.eye(2)[1 - final.labels]
    monkeypatch.setattr(methods_module, "predicted_classes", lambda *_: fold_data_module.Predictions(asked, last))
    predict = METHODS["direct"].learn(replace(fold, final=final)).predict
    assert (predict(fold.test) == fold.test.labels).all()
    assert (predict(final) == 1 - final.labels).all()
    with pytest.raises(LogicLensError, match="the test rows only"):
        predict(fold.train)


SLOW = ("brl", "psi", "rrl")
COMPARED = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name, method in METHODS.items()
    if method.suits(TASKS["xor"]) and method.kind in ("black box", "simplest", "rules")
]


@pytest.mark.parametrize("name", COMPARED)
def test_black_boxes_see_soft_concepts_and_rule_learners_hard_ones(source: Source, name: str) -> None:
    """The class is whether a concept is surer than 0.75: cut at 0.5, every row looks alike."""
    fold = fold_data(source, "xor", "clean", 0)
    rng = np.random.default_rng(0)

    def part(n: int) -> ConceptTable:
        values = rng.uniform(0.55, 0.95, (n, 2)).astype(np.float32)
        return ConceptTable(values, ("a", "b"), (values[:, 0] > 0.75).astype(np.int64), ("no", "yes"))

    soft = replace(fold, train=part(200), validation=part(60), test=part(100))
    hard = replace(soft, train=soft.train.hard(), validation=soft.validation.hard())
    method = METHODS[name]
    learned = method.learn(soft)
    right = (learned.predict(soft.test) == soft.test.labels).mean()
    assert (right > 0.9) == (method.kind == "black box")
    if method.kind != "black box":
        assert learned.formulas == method.learn(hard).formulas


def test_a_sweep_takes_each_number_for_what_it_is(source: Source, monkeypatch) -> None:
    fold = fold_data(source, "random-dnf", "clean", 0)
    seen: list[tuple[float, float]] = []

    def learn(given: FoldData) -> Learned:
        seen.append((given.task.network.temperature, given.task.network.penalty_weight))
        return METHODS["tree"].learn(given)

    monkeypatch.setattr(plan_module, "Ours", lambda *_: learn)
    found = dict(sweep_run(fold, "tau=4 lambda=1e-05"))
    assert seen == [(4.0, 1e-5)]
    predict = METHODS["tree"].learn(fold).predict
    for metric, rows in (("validation_accuracy", fold.validation), ("model_accuracy", fold.test)):
        assert float(found[metric]) == pytest.approx((predict(rows) == rows.labels).mean(), abs=1e-6)
    assert found["validation_accuracy"] != found["model_accuracy"]


def test_an_exact_network_answers_each_class_for_itself(source: Source) -> None:
    """On wine there are rows to which no class says yes, or several: the largest output would not show that."""
    fold = with_settings(fold_data(source, "wine", "clean", 0), epochs=50)
    learned = Exact()(fold)
    fired = fires(learned.formulas, PackedRows.of(fold.test.boolean(), fold.test.names))
    assert (fired == learned.answers(fold.test)).all()
    assert (fired.sum(axis=1) != 1).any()


def test_jointly_trained_networks_equal_those_trained_alone(source: Source) -> None:
    """One pass trains them all; a run alone, on folds that belong with no others, finds the same formulas."""
    folds = [fold_data(source, "wine", "clean", number) for number in range(3)]
    together = [Ours()(fold) for fold in folds]
    alone = [Ours()(replace(fold, family=None, train=fold.train.take(range(len(fold.train))))) for fold in folds]
    for one, other, fold in zip(together, alone, folds, strict=True):
        assert one.formulas == other.formulas
        assert (one.predict(fold.test) == other.predict(fold.test)).all()
    grid = ("tau=0.7 lambda=0.001", "tau=5 lambda=0.0001")
    swept, by_itself = (dict(sweep_run(folds[1], grid[1], given)) for given in (grid, ()))
    timed = ("seconds", "cpu_seconds")
    assert {k: v for k, v in swept.items() if k not in timed} == {k: v for k, v in by_itself.items() if k not in timed}


def test_a_run_counts_its_share_of_joint_training(source: Source) -> None:
    fold = replace(fold_data(source, "xor", "clean", 0), family=None)
    fresh = replace(fold, train=fold.train.take(range(len(fold.train))))
    first, second = trained(fresh), trained(fresh)
    assert first.spent == first.share
    assert first.elsewhere == (0.0, 0.0)
    assert second.spent == (0.0, 0.0)
    assert second.elsewhere == first.share
    assert first.network is not second.network
    pair = [replace(fresh, seed=fold.seed + k) for k in (1, 2)]
    one = trained(replace(pair[0], family=lambda: pair))
    assert one.share[0] == pytest.approx(one.spent[0] / 2)
    assert one.elsewhere[0] == pytest.approx(-one.share[0])


def test_changed_rows_are_not_mistaken_for_the_original_ones(source: Source) -> None:
    fold = fold_data(source, "iris", "clean", 0)
    one_class_less = replace(fold, train=fold.train.take(np.flatnonzero(fold.train.labels != 2)))
    said, other = (Ours()(one).predict(fold.test) for one in (fold, one_class_less))
    assert (said == 2).any()
    assert not (other == 2).any()


def test_a_setting_that_cannot_be_trained_fails_alone(source: Source, monkeypatch) -> None:
    """In one pass one model that breaks stops all: the others are then trained by themselves."""
    fold = fold_data(source, "xor", "clean", 1)
    good, bad = (replace(fold, train=fold.train.take(range(len(fold.train))), seed=k) for k in (1, 2))
    family = [replace(one, family=lambda: family) for one in (good, bad)]
    whole = networks_module.fit_many

    def breaks(networks, data, config, *, validation):
        if any(table is family[1].train for table in data) or len(networks) > 1:
            raise LogicLensError("the loss became nan in epoch 3: lower the learning_rate.")
        return whole(networks, data, config, validation=validation)

    monkeypatch.setattr(networks_module, "fit_many", breaks)
    assert trained(family[0], soft=True).network is not None
    with pytest.raises(LogicLensError, match="the loss became nan"):
        trained(family[1], soft=True)


@pytest.mark.parametrize("scored_on", ["train", "validation"])
@pytest.mark.parametrize("halved", [True, False])
def test_the_scripts_settings_decide_batches_and_rows(
    source: Source, monkeypatch, scored_on: str, halved: bool
) -> None:
    fold = fold_data(source, "iris", "clean", 0)
    scripts = ScriptSettings(halved=halved, top_k=7, exact_only=True, scored_on=scored_on)
    seen: dict[str, object] = {}

    def train(rows: ConceptTable, **how: object) -> EntropyNet:
        seen.update(how, trained_on=len(rows))
        return EntropyNet(rows.n_concepts, 3)

    def aggregate(_network: object, local: ConceptTable, scored: ConceptTable, how: object) -> tuple[()]:
        seen.update(local=len(local), scored=len(scored), top_k=how.top_k, exact_only=how.exact_only)
        return ()

    monkeypatch.setattr(ours_module, "train_as_authors", train)
    monkeypatch.setattr(ours_module, "aggregate_as_authors", aggregate)
    with pytest.raises(ValueError, match="zip"):
        # No rules come back, so that the run ends where they would be read.
        Authors()(replace(fold, task=replace(fold.task, scripts=scripts)))
    n_rows = len(fold.train) + len(fold.validation) + len(fold.test)
    assert seen["batch_size"] == (n_rows // 2 if halved else None)
    assert seen["trained_on"] == len(fold.train)
    assert seen["local"] == len(fold.validation)
    assert seen["scored"] == len(getattr(fold, scored_on))
    assert (seen["top_k"], seen["exact_only"]) == (7, True)


def test_validation_rows_judge_the_papers_formulas_and_all_rows_ours(source: Source, monkeypatch) -> None:
    fold = fold_data(source, "iris", "clean", 0)
    seen: list[tuple[int, int | None]] = []

    def explain(_network: object, rows: ConceptTable, *, validation: ConceptTable | None, **_how: object) -> None:
        seen.append((len(rows), None if validation is None else len(validation)))
        raise InterruptedError

    monkeypatch.setattr(ours_module, "explain_all", explain)
    for method in ("paper", "minimal"):
        with pytest.raises(InterruptedError):
            Ours(method)(fold)
    assert seen == [(len(fold.train), len(fold.validation)), (len(fold.train) + len(fold.validation), None)]


def test_concepts_are_compared_with_the_annotations_of_the_test_rows(
    source: Source, tmp_path: Path, monkeypatch
) -> None:
    fold = encoded_fold(encoded_problem(), tmp_path)
    monkeypatch.setattr(bench_module, "fold_data", lambda *_: fold)
    found = dict(work(source, Run("vdem", "clean", "oner", 0)))
    truth = fold.dataset.concepts(fold.rows.train).boolean()[fold.rows.test]
    assert float(found["concept_accuracy"]) == pytest.approx((fold.test.boolean() == truth).mean(), abs=1e-6)
    assert float(found["concept_accuracy"]) > 0.9
