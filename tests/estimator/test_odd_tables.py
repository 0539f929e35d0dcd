"""Unusual tables: constant labels, folds without a cut, weights of any scale, copies with different teachers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.errors import LogicLensWarning
from logiclens.estimator.inputs import RecordedAnswers


def bits(n_rows: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.random((n_rows, 4)) < 0.5, columns=list("abcd")).astype(int)


def test_labels_that_all_rows_have_or_none():
    frame = bits()
    both = (frame["a"] & frame["b"]).to_numpy()
    often = (np.random.default_rng(1).random(len(frame)) < 0.8).astype(int)
    labels = np.column_stack([both, np.ones_like(both), np.zeros_like(both), often])
    with pytest.warns(LogicLensWarning, match="'2' is without training rows"):
        model = EntropyClassifier().fit(frame, labels)
    said = model.rules_.predict(frame)
    np.testing.assert_array_equal(said[:, :3], labels[:, :3])
    # A label that most rows have is not answered worse than by always saying yes.
    assert (said[:, 3] == often).mean() >= often.mean()


def test_a_fold_in_which_no_column_varies_has_no_rule():
    frame = pd.DataFrame({"flag": [1] + [0] * 99})
    labels = np.array([1] * 20 + [0] * 80)
    # The concept is constant in some bags, but not on the training rows: there is nothing to warn of.
    model = EntropyClassifier().fit(frame, labels)
    assert model.explain().notes == ()
    assert model.predict(frame).shape == (100,)


@pytest.mark.parametrize("scale", [1 / 300, 0.1, 2.5, 1000.5])
def test_the_scale_of_weights_changes_no_rule(scale):
    frame = bits(300)
    labels = (frame["a"] & frame["b"] | frame["c"] & frame["d"]).to_numpy()
    model = EntropyClassifier().fit(frame, labels, sample_weight=np.full(300, scale))
    np.testing.assert_array_equal(model.rules_.predict(frame), labels)


def test_copies_that_a_teacher_answers_otherwise_all_count():
    frame = bits(400)
    rng = np.random.default_rng(2)
    labels = np.where(rng.random(400) < 0.5, "n", "y")
    chance = np.where(frame["a"] == (rng.random(400) < 0.7), 0.9, 0.1)
    orders = [np.arange(400), rng.permutation(400)]
    found = []
    for order in orders:
        teacher = RecordedAnswers(chance[order], np.array(["n", "y"]), "y", "p")
        rows = frame.iloc[order].reset_index(drop=True)
        model = EntropyClassifier(teacher=teacher).fit(rows, labels[order])
        agree = model.rules_.predict(rows) == np.where(chance[order] > 0.5, "y", "n")
        assert model.teacher_fidelity_["train"] == pytest.approx(agree.mean())
        found.append(model.rules_)
    assert found[0] == found[1]
