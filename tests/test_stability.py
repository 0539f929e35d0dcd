"""What recurs over resamples: frequencies counted by hand, and formulas made of what recurs."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pandas as pd
import pytest

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.estimators import EntropyClassifier
from logiclens.estimators.training import _drawn
from logiclens.explain.stability import RECURS, selection_frequencies
from logiclens.formula import DNF, parse
from tests.cli_runs import logiclens, refused

RNG = np.random.default_rng(3)
N = 400
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(60, 15, N).round(),
        "bmi": RNG.normal(27, 4, N).round(1),
        "unit": RNG.choice(["CCU", "MICU", "SICU"], N),
        "noise": RNG.normal(size=N),
    }
)
LABELS = np.where((FRAME["age"] >= 65) | (FRAME["unit"] == "MICU"), "ill", "well")


@pytest.fixture(scope="module")
def model() -> EntropyClassifier:
    return EntropyClassifier(epochs=150).fit(FRAME, LABELS)


def test_frequencies_are_counted_over_the_runs():
    runs = [[parse("a | b & c")], [parse("a")], [parse("c & ~a")], [DNF.false]]
    counted = selection_frequencies(["ill"], runs).classes[0]
    # a is in runs 1, 2, 3; c in 1, 3; b in 1. The cube a is in 1 and 2.
    assert counted.concepts == {"a": 0.75, "c": 0.5, "b": 0.25}
    assert {str(cube): share for cube, share in counted.cubes.items()} == {"a": 0.5, "b & c": 0.25, "c & ~a": 0.25}
    assert list(counted.concepts) == ["a", "c", "b"]
    assert [str(cube) for cube in counted.recurring] == ["a"]


def test_a_planted_rule_recurs_and_makes_the_stable_formula(model):
    explanation = model.explain(stability=6, stable=True)
    stability = explanation.stability
    assert stability.n_resamples == 6
    assert [counted.name for counted in stability.classes] == ["ill", "well"]
    ill = stability.classes[0]
    age = next(concept for concept in ill.concepts if concept.startswith("age"))
    assert ill.concepts[age] >= RECURS
    assert ill.concepts["unit is MICU"] >= RECURS
    assert all(not concept.startswith("noise") or share < RECURS for concept, share in ill.concepts.items())
    formula = explanation["ill"].formula
    recurring = {concept for concept, share in ill.concepts.items() if share >= RECURS}
    assert set(formula.concepts) <= recurring
    assert explanation["ill"].method == "stable"
    agree = (explanation.fires(FRAME)[:, 0] == (model.predict(FRAME) == "ill")).mean()
    # Fidelity is measured on the same rows, all of which are explained.
    assert explanation["ill"].fidelity == pytest.approx(agree)
    assert agree > 0.95


def test_the_same_seed_gives_the_same_frequencies_and_leaves_the_model_alone(model):
    before = model.predict_proba(FRAME)
    first, second = model.explain(stability=2), model.explain(stability=2)
    assert first.stability == second.stability
    assert first.formulas == model.explain().formulas
    assert (model.predict_proba(FRAME) == before).all()
    assert "chosen in how many of 2 resamples" in str(first)


def test_noise_has_no_stable_formula_but_a_reason():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(80, 12)), columns=[f"v{i}" for i in range(12)])
    model = EntropyClassifier(epochs=40).fit(rows, rng.integers(0, 2, 80))
    explanation = model.explain(stability=8, stable=True)
    for explained, counted in zip(explanation, explanation.stability.classes, strict=True):
        if max(counted.concepts.values(), default=0) < RECURS:
            assert explained.formula == DNF.false
            assert "nothing recurs in at least 50%" in explained.reason
            assert explained.remedy
        else:
            assert explained.formula != DNF.false


def test_an_exact_model_tells_frequencies_but_keeps_its_certified_formulas():
    model = EntropyClassifier(exact=True, epochs=60).fit(FRAME, LABELS)
    explanation = model.explain(stability=2)
    assert explanation.formulas == model.explain().formulas
    assert explanation.stability.n_resamples == 2
    with pytest.raises(LogicLensError, match="certified as they are: leave out stable"):
        model.explain(stability=2, stable=True)


@pytest.mark.parametrize("wrong", [1, 0, -3, 2.5, True, "many"])
def test_the_number_of_resamples_is_checked(model, wrong):
    with pytest.raises(LogicLensError, match="number of resamples from 2 on"):
        model.explain(stability=wrong)


def test_stable_needs_resamples(model):
    with pytest.raises(LogicLensError, match="stable=True needs resamples"):
        model.explain(stable=True)


def test_a_loaded_model_has_no_rows_to_draw(model, tmp_path):
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    with pytest.raises(LogicLensError, match="keeps no rows to draw again"):
        loaded.explain(FRAME, stability=2)


def test_resamples_have_as_many_rows_and_every_class():
    rng = np.random.default_rng(0)
    table = ConceptTable([[0], [1], [1]], labels=[0, 1, 2], weight=[50, 40, 1])
    for _ in range(50):
        drawn = table.weighing(_drawn(table, rng))
        # One row more where the class with a single row was not drawn.
        assert drawn.weight.sum() in (91, 92)
        assert set(drawn.labels.tolist()) == {0, 1, 2}
        assert drawn.class_names == table.class_names


def test_weights_that_are_no_counts_are_kept_in_resamples():
    rng = np.random.default_rng(0)
    table = ConceptTable([[0], [1], [1], [0]], labels=[0, 1, 0, 1], weight=[0.5, 1.5, 2.5, 0.25])
    drawn = [table.weighing(_drawn(table, rng)) for _ in range(300)]
    mean = np.mean([part.weight.sum() for part in drawn])
    assert mean == pytest.approx(table.weight.sum(), rel=0.15)
    for part in drawn:
        for value, label, weight in zip(part.values[:, 0], part.labels, part.weight, strict=True):
            [own] = table.weight[(table.values[:, 0] == value) & (table.labels == label)]
            assert (weight / own) == round(weight / own)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_resamples_explained_side_by_side_are_the_same(model, n_jobs):
    """Parts of another size are sent, and come back in order."""
    alone = model.explain(stability=7).stability
    with joblib.parallel_config("threading", n_jobs=n_jobs):
        together = model.explain(stability=7).stability
    assert together == alone
    assert together.n_resamples == 7


@pytest.mark.slow
def test_the_command_line_has_resamples_done_by_processes(tmp_path):
    frame = FRAME.assign(state=LABELS)
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = ("explain", "data.csv", "--target", "state", "--stability", "4", "--json")
    for name, options in (("alone", ()), ("together", ("--jobs", "2"))):
        run = logiclens(*arguments, name, *options, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    alone, together = (json.loads((tmp_path / name).read_text())["stability"] for name in ("alone", "together"))
    assert together == alone
    assert together["resamples"] == 4
    assert refused("explain", "data.csv", "--target", "state", "--jobs", "2", cwd=tmp_path) == (
        "--jobs and --backend are for resamples: say how many, for example --stability 20."
    )
