"""scikit-learn's own checks of both estimators, and their use with its other tools."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.impute import SimpleImputer
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from logiclens import ClassKnowledge, EntropyClassifier, Knowledge
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensWarning


@parametrize_with_checks([EntropyClassifier(), Booleaniser(), Booleaniser("quantile")])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([EntropyClassifier(exact=False, epochs=50)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks_of_a_network(estimator, check):
    check(estimator)


def patients(n_rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Raw columns of every kind with gaps, and a class that a short rule decides."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 95, n_rows).astype(float),
            "unit": rng.choice(["CCU", "MICU", "SICU"], n_rows),
            "smoker": rng.random(n_rows) < 0.5,
            "crp": rng.lognormal(size=n_rows),
        }
    )
    ill = (frame["age"] >= 60) & (frame["unit"] == "MICU")
    frame.loc[rng.random(n_rows) < 0.1, "crp"] = np.nan
    return frame, np.where(ill, "ill", "well")


# Put together --------------------------------------------------------------------------------------------------------


def test_settings_are_searched():
    frame, label = patients()
    # Without gaps: in some folds no row would have one, and the classifier would warn.
    frame["crp"] = frame["crp"].fillna(0.0)
    grid = [{"booleanise": ["round", "quantile", Booleaniser(n_cuts=1)]}, {"temperature": [0.6]}]
    search = GridSearchCV(EntropyClassifier(), grid, cv=2).fit(frame, label)
    assert len(search.cv_results_["params"]) == 4
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_score_ > 0.9
    assert search.predict(frame[:3]).tolist() == search.best_estimator_.predict(frame[:3]).tolist()
    nested = GridSearchCV(EntropyClassifier(Booleaniser("quantile")), {"booleanise__n_cuts": [1, 2]}, cv=2)
    assert nested.fit(frame, label).best_params_["booleanise__n_cuts"] in (1, 2)


def test_cross_validation_scores_unseen_rows():
    bunch = load_breast_cancer(as_frame=True)
    result = cross_validate(
        EntropyClassifier(),
        bunch.data.filter(like="worst"),
        bunch.target,
        cv=3,
        scoring=["accuracy", "roc_auc", "neg_log_loss"],
    )
    # One cut of one column classes 91 of 100 right here.
    assert result["test_accuracy"].mean() > 0.91
    # The trust in a rule is one number for all of its rows, so few thresholds are there.
    assert result["test_roc_auc"].mean() > 0.91


def test_a_pipeline_before_it_keeps_the_names_of_columns():
    frame, label = patients()
    fill = ColumnTransformer(
        [("fill", SimpleImputer(), ["crp"])], remainder="passthrough", verbose_feature_names_out=False
    )
    pipeline = make_pipeline(fill.set_output(transform="pandas"), EntropyClassifier()).fit(frame, label)
    assert pipeline.score(frame, label) > 0.95
    assert not any("missing" in name for name in pipeline[-1].concept_names_)
    assert "unit is MICU" in pipeline[-1].concept_names_
    concepts = make_pipeline(Booleaniser().set_output(transform="pandas"), EntropyClassifier(None))
    np.testing.assert_array_equal(concepts.fit(frame, label).predict(frame), label)


def test_clones_and_pickles_are_the_same_estimator():
    frame, label = patients()
    model = EntropyClassifier(Booleaniser("quantile", n_cuts=2), class_weight={"ill": 2.0})
    fitted = clone(model).fit(frame, label)
    assert not hasattr(model, "network_")
    assert clone(fitted).get_params()["booleanise__n_cuts"] == 2
    # The booleaniser given is a setting, which fitting leaves as it was.
    assert not hasattr(fitted.booleanise, "cutting_")
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))


# Labels and classes --------------------------------------------------------------------------------------------------


def test_several_classes():
    bunch = load_iris(as_frame=True)
    names = bunch.target_names[bunch.target]
    model = EntropyClassifier().fit(bunch.data, names)
    assert model.score(bunch.data, names) > 0.93
    assert set(model.predict(bunch.data)) == {"setosa", "versicolor", "virginica"}
    probability = model.predict_proba(bunch.data)
    assert probability.shape == (150, 3)
    np.testing.assert_allclose(probability.sum(axis=1), 1)


@pytest.mark.parametrize("exact", [False, True])
def test_several_labels_a_row_from_a_raw_frame(exact):
    frame, _ = patients()
    labels = pd.DataFrame({"old": frame["age"] >= 60, "coronary": frame["unit"] == "CCU"}).astype(int)
    model = EntropyClassifier(exact=exact, epochs=100).fit(frame, labels)
    assert (model.predict(frame) == labels.to_numpy()).mean() > 0.98
    assert model.schema_.class_names == ("old", "coronary")
    assert str(model.rules_.rule("coronary").formula) == '"unit is CCU"'


@pytest.mark.parametrize("exact", [False, True])
def test_balanced_classes_raise_the_recall_of_a_rare_one(exact):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"v": rng.normal(size=600), "w": rng.normal(size=600)})
    # One row in eight is rare. Rare ones outnumber the others where v is high, and half of them are elsewhere.
    rare = rng.random(600) < np.select([frame["v"] > 1.2, frame["v"] > 0.2], [0.55, 0.18], 0.0)
    recall = {
        weight: recall_score(
            rare,
            EntropyClassifier(exact=exact, epochs=60, class_weight=weight).fit(frame, rare).predict(frame),
        )
        for weight in (None, "balanced")
    }
    assert recall["balanced"] > 0.8
    assert recall["balanced"] > recall[None] + 0.3


RARE = {"epochs": 60, "set_aside": 0.25}


@pytest.mark.parametrize("exact", [False, True])
def test_a_missed_rare_class_is_warned_of_once(exact):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"v": rng.normal(size=600)})
    ill = np.where(rng.random(600) < np.where(frame["v"] > 1.5, 0.7, 0.03), "ill", "well")
    with pytest.warns(LogicLensWarning, match="'ill' is rare") as caught:
        model = EntropyClassifier(exact=exact, **RARE).fit(frame, ill)
    [note] = [str(one.message) for one in caught if "is rare" in str(one.message)]
    assert 'with class_weight="balanced"' in note
    # Equal values are one row, and none is here: the held-out rows are told by their values.
    held = frame["v"].isin(model.set_aside_.columns[0].values).to_numpy()
    answers, truth = model.predict(frame[held]), ill[held]
    right, found = (answers == truth).mean(), (answers == "ill")[truth == "ill"].mean()
    assert f"is right on {100 * right:.0f}% of the held-out rows and finds {100 * found:.0f}% of 'ill'" in note
    assert f"always answering 'well' is right on {100 * (truth == 'well').mean():.0f}% and finds none" in note
    assert note in model.explain().notes


@pytest.mark.parametrize("why", ["all found", "weighted", "weighted, all right", "costs"])
def test_a_rare_class_is_not_always_warned_of(why):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"v": rng.normal(size=600)})
    ill = (frame["v"] > 1.5) & ((rng.random(600) < 0.7) | ("all" in why))
    given = {
        "all found": {},
        "weighted": {"class_weight": "balanced"},
        "weighted, all right": {"class_weight": "balanced"},
        "costs": {"knowledge": Knowledge(classes={"true": ClassKnowledge(miss=5.0)})},
    }
    # A warning would be an error here.
    model = EntropyClassifier(**RARE, **given[why]).fit(frame, np.where(ill, "true", "false"))
    said = [note for note in model.explain().notes if "is rare" in note]
    assert len(said) == (why == "weighted")
    assert all("without class_weight" in note for note in said)


# Other frames --------------------------------------------------------------------------------------------------------


def test_polars_is_as_good_as_pandas():
    frame, label = patients()
    other = pl.from_pandas(frame)
    model, twin = (EntropyClassifier().fit(table, label) for table in (frame, other))
    assert model.concept_names_ == twin.concept_names_
    np.testing.assert_array_equal(twin.predict_proba(other), model.predict_proba(frame))
    np.testing.assert_array_equal(twin.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(twin.predict(other), model.predict(frame))


def test_columns_are_strict_as_those_of_scikit_learn():
    frame, label = patients()
    model = EntropyClassifier().fit(frame, label)
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"Feature names seen at fit time, yet now missing:\n- crp"):
        model.predict(frame.drop(columns="crp"))
    with pytest.raises(ValueError, match=r"Feature names unseen at fit time:\n- more"):
        model.predict(frame.assign(more=1))
    # Concepts are told from raw columns by their type, never by their values.
    concepts = model.concepts(frame)
    table = ConceptTable(concepts)
    np.testing.assert_array_equal(model.predict(table), model.predict(frame))


# Weights -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("booleanise", ["round", "quantile", "soft", None])
def test_a_weight_of_two_equals_a_repeated_row(booleanise, exact):
    frame, label = patients(120)
    rng = np.random.default_rng(1)
    if booleanise is None:
        frame = pd.DataFrame((rng.random((120, 5)) < 0.5).astype(float), columns=list("abcde"))
        label = np.where(frame["a"] + frame["b"] + rng.random(120) > 1.4, "ill", "well")
    weight = rng.integers(0, 4, len(frame))
    rows = rng.permutation(np.repeat(np.arange(len(frame)), weight))
    settings = {"exact": exact, "epochs": 30, "set_aside": 0.1}
    weighed = EntropyClassifier(booleanise, **settings).fit(frame, label, sample_weight=weight)
    repeated = EntropyClassifier(booleanise, **settings).fit(frame.iloc[rows], label[rows])
    assert weighed.concept_names_ == repeated.concept_names_
    # Bit for bit.
    np.testing.assert_array_equal(weighed.predict_proba(frame), repeated.predict_proba(frame))
    assert weighed.rules_ == repeated.rules_
    np.testing.assert_array_equal(weighed.table_.values, repeated.table_.values)
    np.testing.assert_array_equal(weighed.table_.weight, repeated.table_.weight)
    assert weighed.table_.n_counted + weighed.set_aside_.table.n_counted == weight.sum()


def test_rows_set_aside_neither_train_nor_choose_nor_cut():
    frame, label = patients()
    model = EntropyClassifier(set_aside=0.25).fit(frame, label)
    aside = model.set_aside_.places
    assert len(aside) == pytest.approx(60, abs=1)
    assert model.set_aside_.table.n_counted + model.table_.n_counted == len(frame)
    rest = np.setdiff1d(np.arange(len(frame)), aside)
    # Fitted on the other rows alone it is the same model.
    alone = EntropyClassifier(exact=False, epochs=10, validation=0).fit(frame.iloc[rest], label[rest])
    again = EntropyClassifier(exact=False, epochs=10, validation=0, set_aside=0.25).fit(frame, label)
    assert again.concept_names_ == alone.concept_names_
    np.testing.assert_array_equal(again.predict_proba(frame), alone.predict_proba(frame))
