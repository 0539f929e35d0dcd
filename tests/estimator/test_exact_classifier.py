"""The exact classifier predicts by its rules: head, rules and explanation agree."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.estimator.classifier import NotFittedError
from logiclens.formula import DNF, RuleSet, parse


@pytest.fixture(scope="module")
def patients() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 95, 400), "crp": rng.normal(10, 4, 400), "sex": rng.integers(0, 2, 400)}
    )
    risk = np.where((frame["age"] >= 60) & (frame["crp"] >= 10), "high", "low")
    return frame, risk


@pytest.fixture(scope="module")
def model(patients) -> EntropyClassifier:
    return EntropyClassifier(Booleaniser("quantile", n_cuts=3), exact=True, epochs=100).fit(*patients)


def test_an_exact_classifier_predicts_by_its_rules(model, patients):
    frame, risk = patients
    predicted = model.predict(frame)
    np.testing.assert_array_equal(predicted, model.rules_.predict(frame))
    assert (predicted == risk).mean() > 0.9
    proba = model.predict_proba(frame)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], predicted)


def test_formula_and_network_agree_on_unseen_rows_too(model):
    rng = np.random.default_rng(1)
    fresh = pd.DataFrame({"age": rng.integers(0, 200, 500), "crp": rng.normal(10, 30, 500), "sex": 0})
    explanation = model.explain(fresh)
    np.testing.assert_array_equal(explanation.fires(fresh), model.read(fresh).yes)
    # Whatever rows are explained, the rules are those that the model predicts with.
    assert explanation.rules == model.rules_
    assert all(explained.fidelity == 1.0 and explained.equals_network for explained in explanation)
    assert "↔" in str(explanation)
    assert "≈" not in str(explanation)


def test_the_network_has_the_saved_weights_bit_for_bit(model, tmp_path):
    model.save(tmp_path / "model")
    saved = load_file(tmp_path / "model" / "weights.safetensors")
    for network in (model.network_, EntropyClassifier.load(tmp_path / "model").network_):
        weights = network.state_dict()
        assert weights.keys() == saved.keys()
        assert all(weights[name].dtype == saved[name].dtype for name in saved)
        assert all(torch.equal(weights[name], saved[name]) for name in saved)


def test_outputs_are_those_of_the_network_bit_for_bit(model, patients):
    concepts = model.concepts(patients[0])
    with torch.no_grad():
        expected = model.network_(torch.tensor(concepts.to_numpy(), dtype=torch.float32)).numpy()
    reading = model.read(patients[0])
    np.testing.assert_array_equal(reading.logits, expected)
    np.testing.assert_array_equal(reading.relevance, model.network_.entropy.relevance().detach().numpy())
    np.testing.assert_array_equal(reading.uses, model.network_.entropy.keep.numpy())


WITHOUT_TORCH = """
import sys
import pandas as pd
from logiclens import EntropyClassifier
from logiclens.export import to_json, to_pmml, to_python, to_sql
from logiclens.verify import verify

folder, table = sys.argv[1:]
rows = pd.read_csv(table)
labels = rows.pop("risk")
fitted = EntropyClassifier().fit(rows, labels)
fitted.save(folder)
print(fitted.explain(), fitted.explain_local(rows[:3]), fitted.rules_, file=sys.stderr)
model = EntropyClassifier.load(folder)
answers = model.predict(rows)
assert (fitted.predict(rows) == answers).all()
assert (fitted.rules_.predict(rows) == answers).all()
assert model.score(rows, labels) == (answers == labels).mean()
model.predict_proba(rows), model.relevance_, model.statistics(rows, labels)
explanation = model.explain(rows, labels)
print(explanation, explanation.gap(), model.explain_local(rows[:3]), model.why(rows.iloc[0]), file=sys.stderr)
model.flip(rows.iloc[0]), [write(model.rules_) for write in (to_json, to_pmml, to_python, to_sql)]
adopted = model.adopt(model.rules_).save(folder + "-adopted")
verify(folder), verify(adopted)
assert "torch" not in sys.modules
print(*answers)
"""


def test_an_exact_model_needs_no_torch(patients, tmp_path):
    frame, risk = patients
    frame.assign(risk=risk).to_csv(tmp_path / "rows.csv", index=False)
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "model"), str(tmp_path / "rows.csv")],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    # By default a model is exact.
    assert run.stdout.split() == EntropyClassifier(exact=True).fit(frame, risk).predict(frame).tolist()


def test_a_column_that_is_missing_lies_above_no_cut(model, patients):
    frame, _ = patients
    blank = frame.iloc[:20].copy()
    blank["age"] = np.nan
    low = frame.iloc[:20].copy()
    low["age"] = -1e9
    np.testing.assert_array_equal(model.predict(blank), model.predict(low))


def test_cuts_come_from_the_rows_that_train_alone(patients):
    frame, risk = patients
    held = frame.copy()
    held["age"] += 1_000
    model = EntropyClassifier(Booleaniser("quantile", n_cuts=3), epochs=2).fit(frame, risk, held_out=(held, risk))
    assert {c for c in model.concept_names_ if c.startswith("age")} == {
        c for c in Booleaniser("quantile", n_cuts=3).fit(frame).predicates_ if c.startswith("age")
    }
    # No row is kept from the cuts to choose an epoch.
    inner = EntropyClassifier(Booleaniser("quantile", n_cuts=3), epochs=2, validation=0.5).fit(frame, risk)
    assert inner.concept_names_ == model.concept_names_
    # What is held out is: the cuts are those of the other rows.
    whole = EntropyClassifier(Booleaniser("quantile", n_cuts=3), epochs=2, set_aside=0.5).fit(frame, risk)
    aside = {column.name: column.values for column in whole.set_aside_.columns}
    rest = pd.concat([frame, pd.DataFrame(aside)[list(frame.columns)].astype(frame.dtypes)])
    rest = rest[~rest.duplicated(keep=False)]
    assert len(rest) == whole.table_.n_counted
    assert set(whole.concept_names_) == set(Booleaniser("quantile", n_cuts=3).fit(rest).predicates_)
    assert whole.concept_names_ != model.concept_names_


def test_a_boolean_column_means_that_it_is_true():
    frame = pd.DataFrame({"flag": [True, False] * 20, "score": [0.0, 1.0] * 20})
    model = EntropyClassifier(None, epochs=5).fit(frame, ["y", "n"] * 20)
    assert str(model.schema_.predicates["flag"]) == "flag is True"
    assert "score" not in model.schema_.predicates


def test_three_classes_and_several_labels_are_exact_too():
    rng = np.random.default_rng(0)
    rows = rng.random((300, 4)) < 0.5
    three = np.where(rows[:, 0], "x", np.where(rows[:, 1], "y", "z"))
    model = EntropyClassifier(None, exact=True, epochs=100).fit(rows.astype(float), three)
    assert (model.predict(rows.astype(float)) == three).mean() == 1.0
    several = np.column_stack([rows[:, 0] & rows[:, 1], rows[:, 2]]).astype(int)
    model = EntropyClassifier(None, exact=True, epochs=100).fit(rows.astype(float), several)
    np.testing.assert_array_equal(model.predict(rows.astype(float)), several)


def test_the_weight_of_a_class_reaches_the_exact_heads():
    rng = np.random.default_rng(0)
    rows = rng.random((400, 3)) < 0.5
    rare = rows[:, 0] & (rows[:, 1] | (rng.random(400) < 0.3))
    settings = {"exact": True, "epochs": 60}
    plain = EntropyClassifier(None, **settings).fit(rows.astype(float), rare)
    heavy = EntropyClassifier(None, **settings, class_weight={False: 1.0, True: 10.0}).fit(rows.astype(float), rare)
    assert heavy.predict(rows.astype(float)).sum() > plain.predict(rows.astype(float)).sum()
    assert heavy.rules_.rule(True).formula == parse("x0")


def test_an_exact_model_reads_soft_concepts_as_hard_ones():
    rng = np.random.default_rng(0)
    soft = rng.random((100, 2))
    model = EntropyClassifier(None, exact=True, epochs=30).fit(soft, soft[:, 0] >= 0.5)
    np.testing.assert_array_equal(model.read(soft).logits, model.read((soft >= 0.5).astype(float)).logits)
    np.testing.assert_array_equal(model.explain(soft).fires(soft, model.concept_names_), model.read(soft).yes)


@pytest.fixture(scope="module")
def undecided(patients) -> tuple[EntropyClassifier, np.ndarray]:
    """Three classes, one literal for each, and nobody to decide between them."""
    frame, risk = patients
    state = np.where(frame["crp"] < 7, "well", risk)
    cuts = Booleaniser("quantile", n_cuts=3)
    return EntropyClassifier(cuts, exact=True, epochs=40, resolve="none", max_literals=1).fit(frame, state), state


def test_nobody_decides_where_resolve_is_none(patients, undecided):
    frame, (model, _) = patients[0], undecided
    predicted, fires = model.predict(frame), model.rules_.fires(frame).sum(axis=1)
    assert all((label is None) == (n != 1) for label, n in zip(predicted, fires, strict=True))
    assert len(set(fires.tolist())) > 1
    with pytest.raises(LogicLensError, match="resolve must be 'order', 'confidence' or 'none', got 'best'"):
        EntropyClassifier(None, resolve="best").fit([[0], [1]], [0, 1])


# Where head, rules and explanation must say the same -------------------------------------------------------------


def test_rules_and_head_read_scores_in_a_boolean_column_alike():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 3)) < 0.5, columns=list("abc"))
    model = EntropyClassifier(None, exact=True, epochs=40).fit(frame, frame["a"])
    scores = pd.DataFrame(np.where(frame, 0.7, 0.3), columns=list("abc"))
    np.testing.assert_array_equal(model.predict(scores), model.predict(frame))
    np.testing.assert_array_equal(model.explain(scores).fires(scores), model.read(scores).yes)


def test_a_raw_column_named_like_a_concept_stays_raw():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": np.tile([50.0, 70.0], 100), "age >= 60": rng.integers(0, 2, 200).astype(float)})
    labels = np.where(frame["age"] >= 60, "old", "young")
    model = EntropyClassifier(Booleaniser("quantile", n_cuts=1), exact=True, epochs=40).fit(frame, labels)
    assert "age >= 60" in model.concept_names_
    np.testing.assert_array_equal(model.predict(frame), labels)
    np.testing.assert_array_equal(model.rules_.predict(frame), labels)


@pytest.mark.parametrize("exact", [True, False])
def test_rows_that_break_a_group_are_told_of(exact):
    rows = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 20, dtype=float)
    table = ConceptTable(rows, ["a", "b"], exclusive=[["a", "b"]])
    model = EntropyClassifier(None, exact=exact, epochs=10).fit(table, rows[:, 0])
    assert "20 rows break the exclusive group 'a', 'b': more than one is true." in model.explain().notes
    assert not any("break" in note for note in model.explain(table.take([0, 1, 3])).notes)


def test_the_curve_takes_the_labels_of_the_model(model, patients):
    frame, risk = patients
    explanation = model.explain()
    points = explanation.pareto(frame, risk)
    assert max(point.accuracy for point in points if point.name == "high") > 0.9
    with pytest.raises(LogicLensError, match="there is no class 'medium'; the classes are 'high', 'low'"):
        explanation.pareto(frame, np.full(len(frame), "medium"))
    numbers = EntropyClassifier(None, exact=True, epochs=40).fit([[0, 1], [1, 0]] * 20, [1, 2] * 20)
    best = {p.name: p.accuracy for p in numbers.explain().pareto([[0, 1], [1, 0]], [1, 2])}
    assert best == {"1": 1.0, "2": 1.0}


def test_flip_and_check_can_ask_for_one_class(model, patients):
    explanation = model.explain()
    row = patients[0].iloc[0]
    assert explanation.flip(row, of="high").possible
    assert explanation.check("never uses 'sex'", of="high").holds


def test_a_row_that_nobody_decides_is_not_right(patients, undecided):
    frame, (model, state) = patients[0], undecided
    predicted = model.predict(frame)
    assert model.score(frame, state) == pytest.approx(np.mean([p == y for p, y in zip(predicted, state, strict=True)]))


def test_a_class_by_default_is_told_as_such():
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20, dtype=float)
    labels = np.where(rows.sum(axis=1) == 2, "x", np.where(rows.sum(axis=1) == 0, "y", "z"))
    model = EntropyClassifier(None, exact=True, epochs=60).fit(rows, labels)
    x, y, z = model.rules_.rules
    model._rules = RuleSet((x, y, replace(z, formula=DNF.false, confidence=())), otherwise=2)
    (local,) = model.explain_local(np.array([[0.0, 1.0]]))
    assert local.by_default
    assert str(local).startswith("z: no formula fires, and most such rows are z")


def test_an_exact_model_that_is_not_fitted_says_so():
    for ask in ("predict", "predict_proba", "read"):
        with pytest.raises(NotFittedError, match="is not fitted"):
            getattr(EntropyClassifier(None, exact=True), ask)([[0, 1]])
    soft = EntropyClassifier(None, exact=False, epochs=2).fit([[0, 1], [1, 0]] * 4, [0, 1] * 4).set_params(exact=True)
    with pytest.raises(NotFittedError, match="exact was changed after the model was fitted"):
        soft.predict([[0, 1]])
    with pytest.raises(LogicLensError, match="exact must be True or False, or None, got 'no'"):
        EntropyClassifier(None, exact="no").fit([[0, 1], [1, 0]] * 4, [0, 1] * 4)


def test_a_model_of_raw_columns_accepts_a_matrix_in_order(model, patients):
    frame, _ = patients
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(frame.to_numpy()), model.predict(frame))
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match="X has 7 features, but EntropyClassifier is expecting 3 features"),
    ):
        model.predict(np.zeros((2, len(model.concept_names_))))
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        model.predict(frame[["crp", "age", "sex"]])


def test_a_model_flips_rows_as_its_rules_do():
    frame = pd.DataFrame({"age": [30, 40, 60, 70] * 20, "sex": ["man", "woman"] * 40})
    model = EntropyClassifier(exact=True, epochs=50).fit(frame, ["no", "no", "yes", "yes"] * 20)
    row = {"age": 35, "sex": "man"}
    found = model.flip(row, to="yes")
    assert found == model.rules_.flip(row, to="yes")
    assert found.changes
    with pytest.raises(LogicLensError, match="age"):
        model.flip(row, frozen=["agee"])


@pytest.mark.parametrize(
    ("shift", "settings", "is_exact"),
    [(0.0, {}, True), (0.1, {}, False), (0.0, {"method": "paper"}, False), (0.0, {"exact": False}, False)],
)
def test_a_model_is_exact_where_nothing_asks_for_a_network(shift, settings, is_exact):
    rows = np.abs(np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20) - shift)
    labels = np.where(rows.min(axis=1) > 0.5, "both", "no")
    model = EntropyClassifier(None, epochs=200, **settings).fit(rows, labels)
    assert hasattr(model, "certificate_") == is_exact
    assert hasattr(model, "train_result_") != is_exact
    # The rules are the model, or match the answers of its network.
    names = list(model.concept_names_)
    np.testing.assert_array_equal(model.rules_.predict(rows, names), model.predict(rows))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"method": "paper", "exact": True}, "exact and teacher need method='search'"),
        ({"above": 3, "quantiles": 2}, "above and quantiles are two ways to cut a target"),
        ({"split_by_time": "day"}, "split_by_time says which rows are held out: say how many too"),
    ],
)
def test_settings_that_contradict_each_other_get_a_sentence(settings, sentence):
    with pytest.raises(LogicLensError, match=sentence):
        EntropyClassifier(**settings).fit(pd.DataFrame({"day": [1, 2, 3, 4]}), [0, 1, 0, 1])
