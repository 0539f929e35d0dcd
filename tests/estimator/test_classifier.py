"""EntropyClassifier on Boolean concepts: learning, seeds, weights, labels, names and messages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.exceptions import DataConversionWarning, NotFittedError

from logiclens import EntropyClassifier, LogicLensError
from logiclens.errors import LogicLensWarning
from logiclens.formula import parse

ROWS = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * 12)
XOR = np.where(ROWS[:, 0] ^ ROWS[:, 1], "other", "same")


@pytest.fixture(scope="module")
def fitted() -> EntropyClassifier:
    frame = pd.DataFrame(ROWS, columns=["left", "right", "noise"])
    return EntropyClassifier(None, epochs=300, random_state=3).fit(frame, XOR)


def test_learns_xor_and_says_so(fitted):
    frame = pd.DataFrame(ROWS, columns=["left", "right", "noise"])
    assert fitted.score(frame, XOR) == 1.0
    assert (fitted.explain()["other"].formula.evaluate(frame) == (XOR == "other")).all()
    assert fitted.classes_.tolist() == ["other", "same"]


def test_probabilities_sum_to_one_and_agree_with_predictions(fitted):
    frame = pd.DataFrame(ROWS, columns=["left", "right", "noise"])
    probability = fitted.predict_proba(frame)
    assert probability.sum(axis=1) == pytest.approx(1.0)
    assert (fitted.classes_[probability.argmax(axis=1)] == fitted.predict(frame)).all()


def test_probabilities_are_the_networks_softmax():
    soft = EntropyClassifier(None, exact=False, epochs=20).fit(ROWS, XOR)
    with torch.no_grad():
        expected = torch.softmax(soft.network_(torch.tensor(ROWS, dtype=torch.float64)), dim=1)
    assert soft.predict_proba(ROWS) == pytest.approx(expected.numpy(), abs=1e-12)


def test_columns_are_matched_by_name(fitted):
    frame = pd.DataFrame(ROWS, columns=["left", "right", "noise"])
    assert (fitted.predict(frame[["noise", "right", "left"]]) == fitted.predict(frame)).all()


def test_local_explanations_hold_on_their_rows(fitted):
    frame = pd.DataFrame(ROWS[:4], columns=["left", "right", "noise"])
    for row, local in enumerate(fitted.explain_local(frame)):
        assert local.agrees
        assert (local.reduced & parse("True")).evaluate(frame.iloc[[row]]).all()
        assert local.name == XOR[row]


def test_equal_seeds_give_equal_networks_and_others_different_ones():
    first, again, other, fresh, fresher = (
        EntropyClassifier(None, exact=False, epochs=2, random_state=seed).fit(ROWS, XOR).predict_proba(ROWS)
        for seed in (3, np.int64(3), 1, None, None)
    )
    assert (first == again).all()
    assert (first != other).any()
    assert (fresh != fresher).any()


def test_global_random_state_is_left_alone():
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    EntropyClassifier(None, exact=False, epochs=2).fit(ROWS, XOR)
    assert torch.rand(1) == expected


def test_several_labels_per_row():
    labels = pd.DataFrame({"first": ROWS[:, 0], "second": ROWS[:, 1]})
    model = EntropyClassifier(None, epochs=200).fit(ROWS, labels)
    assert (model.predict(ROWS) == labels.to_numpy()).mean() > 0.95
    explanation = model.explain()
    assert [explained.name for explained in explanation] == ["first", "second"]
    assert (explanation["first"].formula.evaluate(ROWS, ["x0", "x1", "x2"]) == ROWS[:, 0]).all()


def test_held_out_rows_choose_the_epoch_and_do_not_train():
    right, wrong = XOR[24:], np.where(XOR[24:] == "same", "other", "same")
    by_right, by_wrong = (
        EntropyClassifier(None, exact=False, epochs=3).fit(ROWS[:24], XOR[:24], held_out=(ROWS[24:], labels))
        for labels in (right, wrong)
    )
    np.testing.assert_array_equal(by_right.history_.loss, by_wrong.history_.loss)
    assert (by_right.history_.validation_loss != by_wrong.history_.validation_loss).all()
    assert by_right.train_result_.n_rows == len(np.unique(ROWS, axis=0))
    assert by_right.table_.n_counted == 24


def test_sample_weights_decide_where_labels_conflict():
    rows = np.array([[0, 1], [0, 1], [1, 0], [1, 0]] * 20)
    labels = np.array(["a", "b", "a", "b"] * 20)
    heavy = np.array([4.0, 1.0, 1.0, 4.0] * 20)
    predictions = [
        EntropyClassifier(None, epochs=100).fit(rows, labels, sample_weight=weight).predict([[0, 1], [1, 0]]).tolist()
        for weight in (heavy, 5 - heavy)
    ]
    assert predictions == [["a", "b"], ["b", "a"]]


def test_unfitted_estimator_is_both_kinds_of_error():
    for call in ("predict", "predict_proba", "explain_local"):
        with pytest.raises(NotFittedError, match="not fitted: call fit") as caught:
            getattr(EntropyClassifier(), call)(ROWS)
        assert isinstance(caught.value, LogicLensError)
    with pytest.raises(NotFittedError):
        EntropyClassifier().explain()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EntropyClassifier(booleanise="tree").fit(ROWS, XOR), "booleanise must be one of round, quantile"),
        (lambda: EntropyClassifier(None).fit(ROWS, ["same"] * len(ROWS)), "all rows have one class, 'same'"),
        (lambda: EntropyClassifier(None).fit(ROWS * 93.0, XOR), r"must lie in \[0, 1\]; column 2 reaches 93"),
        (lambda: EntropyClassifier(None).fit(ROWS, XOR[:3]), "one entry for each of the 48 rows"),
        (lambda: EntropyClassifier(None).fit(ROWS[:0], XOR[:0]), "no rows"),
        (
            lambda: EntropyClassifier(None, validation=1.5).fit(ROWS, XOR),
            "validation must be a share from 0 to below 1, got 1.5",
        ),
        (lambda: EntropyClassifier(None, set_aside=-0.1).fit(ROWS, XOR), "set_aside must be a share from 0"),
        (lambda: EntropyClassifier(None, hidden=()).fit(ROWS, XOR), "hidden must be a list of widths"),
        (lambda: EntropyClassifier(None, random_state=-1).fit(ROWS, XOR), "random_state must be a whole number"),
        (lambda: EntropyClassifier(None, class_weight={"new": 1}).fit(ROWS, XOR), "class_weight names 'new'"),
        (
            lambda: EntropyClassifier(None, class_weight=["a", "b"]).fit(ROWS, XOR),
            "class_weight must be 'balanced' or one finite number per class",
        ),
        (lambda: EntropyClassifier(None).fit(ROWS, [None, *XOR[1:]]), "label of row 0 is missing"),
        (lambda: EntropyClassifier(None).fit(ROWS, [*XOR[1:].tolist(), np.nan]), "label of row 47 is missing|one kind"),
        (lambda: EntropyClassifier(None).fit(ROWS, [1, "1"] * 24), "labels must be of one kind"),
        (lambda: EntropyClassifier(None).fit(ROWS, XOR, sample_weight=["a"] * 48), "weights must be numbers"),
        (lambda: EntropyClassifier(None).fit(None, XOR), "must be a matrix"),
        (lambda: EntropyClassifier(None, method="min").fit(ROWS, XOR), "method must be 'search' or 'paper'"),
        (lambda: EntropyClassifier(None).fit(ROWS, np.linspace(0, 1, 48)), "cut them with EntropyClassifier"),
        (lambda: EntropyClassifier(None).fit(pd.DataFrame({"sex": ["M", "F"] * 24}), XOR), "'sex' holds 'M' in row 0"),
        (lambda: EntropyClassifier(None).fit(pd.DataFrame({"a": [1, pd.NA] * 24}), XOR), "'a' is missing in row 1"),
        (lambda: EntropyClassifier(None).fit(scipy.sparse.eye(48).tocsr(), XOR), "sparse tables are not taken"),
        (lambda: EntropyClassifier(None).fit(ROWS, XOR, held_out=(ROWS[:, :2], XOR)), "trained on 3 concepts"),
        (lambda: EntropyClassifier(None).fit(ROWS, XOR, held_out=(ROWS, ["odd"] * 48)), "'odd' was not among"),
    ],
)
def test_bad_fits_say_what_is_wrong(call, message):
    with pytest.raises(LogicLensError, match=message):
        call()


def test_bad_rows_at_prediction_say_what_is_wrong(fitted):
    with pytest.raises(LogicLensError, match="trained on 3 concepts, the rows have 2"):
        fitted.predict(ROWS[:, :2])
    with pytest.raises(LogicLensError, match="lack the concept 'noise'"):
        fitted.predict(pd.DataFrame(ROWS[:, :2], columns=["left", "right"]))
    with pytest.raises(LogicLensError, match="label 'new' was not among the training labels"):
        fitted.read(ROWS[:1], ["new"])


def test_a_failed_fit_leaves_the_estimator_as_it_was(fitted):
    before = fitted.predict(ROWS)
    with pytest.raises(LogicLensError):
        fitted.fit(ROWS * 2.0, ["a", "b", "c", "d"] * 12)
    assert (fitted.predict(ROWS) == before).all()


def test_frames_with_integer_columns_are_matched_by_name():
    frame = pd.DataFrame(ROWS)
    model = EntropyClassifier(None, epochs=5).fit(frame, XOR)
    assert (model.predict(frame[[2, 1, 0]]) == model.predict(frame)).all()


def test_a_network_fitted_on_a_matrix_uses_its_own_names():
    model = EntropyClassifier(None, epochs=5).fit(ROWS, XOR)
    frame = pd.DataFrame(ROWS, columns=["x0", "x1", "x2"])
    assert (model.predict_proba(frame[["x2", "x0", "x1"]]) == model.predict_proba(ROWS)).all()
    model.fit(frame, XOR).fit(ROWS, XOR)
    assert not hasattr(model, "feature_names_in_")


def test_class_weights_may_be_scikit_learns_dictionary():
    by_name = EntropyClassifier(None, epochs=20, class_weight={"same": 3.0}).fit(ROWS, XOR)
    by_list = EntropyClassifier(None, epochs=20, class_weight=[1.0, 3.0]).fit(ROWS, XOR)
    assert (by_name.predict_proba(ROWS) == by_list.predict_proba(ROWS)).all()


def test_held_out_labels_keep_the_names_of_their_columns():
    labels = pd.DataFrame({"first": ROWS[:, 0], "second": ROWS[:, 1]})
    model = EntropyClassifier(None, epochs=2).fit(ROWS[:24], labels[:24], held_out=(ROWS[24:], labels[24:]))
    assert model.table_.class_names == ("first", "second")


@pytest.mark.parametrize("booleanise", [None, "round"])
def test_rows_that_weigh_nothing_are_not_there(booleanise):
    # Rows of a kind of their own, with a label of their own: they must neither train nor choose the epoch.
    rows, labels = np.vstack([ROWS, np.ones((5, 3), dtype=int)]), np.append(XOR, ["new"] * 5)
    weight = np.append(np.ones(48), np.zeros(5))
    weighed = EntropyClassifier(booleanise, exact=False, epochs=3).fit(rows, labels, sample_weight=weight)
    alone = EntropyClassifier(booleanise, exact=False, epochs=3).fit(ROWS, XOR)
    assert weighed.classes_.tolist() == ["other", "same"]
    np.testing.assert_array_equal(weighed.history_.validation_loss, alone.history_.validation_loss)
    np.testing.assert_array_equal(weighed.predict_proba(ROWS), alone.predict_proba(ROWS))


def test_no_rows_choose_the_epoch_where_their_share_is_nought():
    model = EntropyClassifier(None, exact=False, epochs=3)
    assert not np.isnan(model.fit(ROWS, XOR).history_.validation_loss).any()
    assert np.isnan(model.set_params(validation=0).fit(ROWS, XOR).history_.validation_loss).all()


def test_a_frame_with_one_column_of_labels_is_taken():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model = EntropyClassifier(None, epochs=2).fit(ROWS, pd.DataFrame({"y": XOR}))
    assert model.classes_.tolist() == ["other", "same"]


def test_why_not_is_answered_per_class_and_row(fitted):
    frame = pd.DataFrame(ROWS, columns=["left", "right", "noise"])
    (local,) = fitted.explain_local(frame.iloc[0], target="other")
    assert (local.name, local.holds, local.agrees) == ("other", False, True)
    assert str(local).startswith("not other (")


def test_other_rows_are_explained_by_the_formulas_that_were_fitted(fitted):
    told = fitted.explain(ROWS[[0, 3]])
    assert told.formulas == fitted.explain().formulas
    # Both rows are of one class, and every answer on them is right.
    assert (told["same"].fidelity, told["other"].fidelity) == (1.0, 1.0)


@pytest.mark.parametrize(("method", "other"), [("search", "paper"), ("paper", "search")])
def test_a_method_that_was_changed_asks_for_another_fit(method, other):
    model = EntropyClassifier(None, method=method, epochs=5).fit(ROWS, XOR).set_params(method=other)
    with pytest.raises(NotFittedError, match="method was changed after the model was fitted"):
        model.explain()
    with pytest.raises(NotFittedError, match="method was changed"):
        _ = model.rules_


def test_warnings_point_at_the_callers_line():
    model = EntropyClassifier(None, method="paper", epochs=100).fit(ROWS, XOR)
    with pytest.warns(LogicLensWarning, match="(never|always) predicts") as caught:
        model.explain(ROWS[[0]])
    assert {warning.filename for warning in caught} == {__file__}


def test_balanced_weights_choose_the_epoch_too():
    # 8 rare rows among 200: by plain accuracy the best epoch never predicts them.
    rng = np.random.default_rng(0)
    rows = (rng.random((200, 4)) < 0.5).astype(int)
    rare = np.zeros(200, dtype=bool)
    rare[np.flatnonzero(rows[:, 0] & rows[:, 1])[:8]] = True
    model = EntropyClassifier(None, exact=False, epochs=200, class_weight="balanced").fit(rows, rare)
    assert (model.predict(rows) & rare).sum() >= 6


def test_constant_concepts_are_warned_of_and_noted():
    rows = np.column_stack([ROWS, np.ones(len(ROWS))])
    with pytest.warns(LogicLensWarning, match="'x3' is constant") as caught:
        model = EntropyClassifier(None, epochs=2).fit(rows, XOR)
    assert [one.filename for one in caught if "constant" in str(one.message)] == [__file__]
    assert sum("'x3' is constant" in note for note in model.explain().notes) == 1


def test_a_model_without_a_network_has_no_history(fitted):
    with pytest.raises(LogicLensError, match="rules that are the model train no network"):
        _ = fitted.history_
