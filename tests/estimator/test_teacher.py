"""Teachers: the rules explain another model faithfully, and its answers are validated."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from logiclens import EntropyClassifier
from logiclens.errors import LogicLensError
from logiclens.estimator.inputs import RecordedAnswers
from tests.cli_runs import logiclens, refused


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((400, 6)) < 0.5, columns=list("abcdef")).astype(int)
    return frame, np.where(frame["a"] & frame["b"], "ill", "well")


class Rule:
    """A black box whose reason is known: c and not d, whatever the labels say."""

    classes_ = np.array(["ill", "well"])

    def predict_proba(self, rows):
        ill = ((rows["c"] == 1) & (rows["d"] == 0)).to_numpy()
        return np.column_stack([0.2 + 0.6 * ill, 0.8 - 0.6 * ill])


def test_rules_state_the_teacher_and_not_the_labels(table):
    frame, labels = table
    model = EntropyClassifier(teacher=Rule(), set_aside=0.25).fit(frame, labels)
    said = np.where((frame["c"] == 1) & (frame["d"] == 0), "ill", "well")
    np.testing.assert_array_equal(model.predict(frame), said)
    assert model.teacher_fidelity_ == {"train": 1.0, "set_aside": 1.0}
    assert "the rules explain Rule: they decide as it does on 100.0% of the held-out rows." in model.explain().notes


class Ranked:
    """A black box with three answers: c before d, whatever the labels say."""

    classes_ = np.array(["x", "y", "z"])

    def predict(self, rows):
        return np.select([rows["c"] == 1, rows["d"] == 1], ["x", "y"], "z")


@pytest.mark.parametrize("exact", [None, False])
def test_the_order_of_more_classes_is_that_of_the_teacher(table, exact):
    frame, _ = table
    # The labels put d before c.
    labels = np.select([frame["d"] == 1, frame["c"] == 1], ["y", "x"], "z")
    model = EntropyClassifier(teacher=Ranked(), exact=exact, max_literals=1).fit(frame, labels)
    np.testing.assert_array_equal(model.rules_.predict(frame), Ranked().predict(frame))
    assert model.teacher_fidelity_ == {"train": 1.0}
    # The rules decide: the teacher is the model that they explain, and no network is trained.
    np.testing.assert_array_equal(model.predict(frame), Ranked().predict(frame))
    assert not hasattr(model, "train_result_")
    # Confidence is about the labels.
    assert model.rules_.rules[0].confidence[0] < 0.6


def test_a_model_of_scikit_learn_teaches_and_stays_fitted(table):
    frame, labels = table
    forest = RandomForestClassifier(20, random_state=0).fit(frame, labels)
    model = EntropyClassifier(teacher=FrozenEstimator(forest))
    copied = clone(clone(model)).fit(frame, labels)
    agree = np.mean(copied.rules_.predict(frame) == forest.predict(frame))
    assert copied.teacher_fidelity_["train"] == pytest.approx(agree)
    bare = clone(EntropyClassifier(teacher=forest)).fit(frame, labels)
    assert bare.rules_ == copied.rules_


def test_a_teacher_that_only_predicts(table):
    frame, labels = table

    class Labels:
        def predict(self, rows):
            return np.where(rows["e"] == 1, "ill", "well")

    model = EntropyClassifier(teacher=Labels()).fit(frame, labels)
    np.testing.assert_array_equal(model.rules_.predict(frame), np.where(frame["e"] == 1, "ill", "well"))


def test_recorded_answers_are_a_teacher(table):
    frame, labels = table
    chance = np.where(frame["f"] == 1, 0.9, 0.1)
    recorded = RecordedAnswers(chance, np.array(["ill", "well"]), "ill", "column p")
    model = EntropyClassifier(teacher=recorded).fit(frame, labels)
    np.testing.assert_array_equal(model.rules_.predict(frame), np.where(frame["f"] == 1, "ill", "well"))


def test_the_folder_names_the_teacher_and_keeps_no_object(table, tmp_path):
    frame, labels = table
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, labels)
    model = EntropyClassifier(teacher=tree).fit(frame, labels)
    model.save(tmp_path / "model")
    content = json.loads((tmp_path / "model" / "model.json").read_text())
    assert content["metrics"]["teacher"] == "DecisionTreeClassifier"
    assert content["metrics"]["fidelity_to_the_teacher"] == model.teacher_fidelity_
    assert content["settings"]["teacher"] is None
    loaded = EntropyClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


@pytest.fixture(scope="module")
def csv(table, tmp_path_factory):
    frame, labels = table
    ill = (frame["c"] == 1) & (frame["d"] == 0)
    place = tmp_path_factory.mktemp("teacher") / "rows.csv"
    more = {"p": np.where(ill, 0.85, 0.1), "said": np.where(ill, "ill", "well"), "state": labels}
    frame.assign(**more).to_csv(place, index=False)
    return place


@pytest.mark.parametrize("words", [
    ["--teacher-column", "p", "--teacher-class", "ill", "--drop", "said"],
    ["--teacher-column", "said", "--drop", "p"],
])  # fmt: skip
def test_a_column_teaches_on_the_command_line(csv, words):
    told = logiclens("explain", csv, "--target", "state", *words)
    assert told.returncode == 0, told.stderr
    told = told.stdout + told.stderr
    assert f"the rules explain column '{words[1]}': they decide as it does on 100.0% of the held-out rows" in told
    assert '∀x: ill(x) ↔ "c is 1"(x) ∧ ¬"d is 1"(x)' in told, told


@pytest.mark.parametrize(("words", "message"), [
    (["--teacher-column", "p"], "the teacher column 'p' holds numbers: say --teacher-class"),
    (["--teacher-class", "ill"], "--teacher-class says what the numbers of a column are: say --teacher-column COLUMN"),
    (["--teacher-column", "q"], "rows.csv has no column 'q'"),
    (["--teacher-column", "p", "--teacher-class", "dead"], "--teacher-class 'dead' is not among the classes"),
    (["--teacher-column", "state"], "'state' is the target: it cannot be left out, weigh, teach or group as well"),
    (["--teacher-column", "p", "--teacher-class", "ill", "--folds", "3"], "cross-validation has no answers of a teach"),
])  # fmt: skip
def test_a_teacher_column_that_cannot_be_is_refused(csv, words, message):
    assert message in refused("explain", csv, "--target", "state", *words)


class Answers:
    def __init__(self, probability, classes=("ill", "well")):
        self.probability, self.classes_ = probability, np.array(classes)

    def predict_proba(self, rows):
        return np.full((len(rows), len(self.classes_)), self.probability)


@pytest.mark.parametrize(("teacher", "message"), [
    (Answers(0.5, ("ill", "dead")), "the teacher Answers answers 'dead', which is not among the classes 'ill', 'well'"),
    (Answers(1.5), "the teacher Answers must give probabilities from 0 to 1, got 1.5 in row 0"),
    (Answers(np.nan), "the teacher Answers must give probabilities from 0 to 1, got nan in row 0"),
    (object(), "teacher must be a fitted model with predict_proba or predict, or None, got <object"),
    (RecordedAnswers(np.ones(3), np.array(["ill", "well"]), "ill"), "there are 3 recorded answers for 400 rows"),
])  # fmt: skip
def test_a_teacher_that_cannot_be_is_refused(table, teacher, message):
    with pytest.raises(LogicLensError, match=message):
        EntropyClassifier(teacher=teacher).fit(*table)


@pytest.mark.parametrize(("settings", "message"), [
    ({"exact": True}, "rules that explain a teacher match its answers, not labels: leave out exact"),
    ({"method": "paper"}, "exact and teacher need method='search'"),
])  # fmt: skip
def test_settings_that_a_teacher_excludes_are_refused(table, settings, message):
    with pytest.raises(LogicLensError, match=message):
        EntropyClassifier(teacher=Rule(), **settings).fit(*table)
