"""Feature importances: the relevance of concepts summed per input column, as scikit-learn expects it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from logiclens import Booleaniser, ConceptTable, EntropyClassifier


def mixed(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "noise": rng.normal(size=n),
            "age": rng.integers(20, 90, size=n).astype(float),
            "unit": rng.choice(["CCU", "MICU", "SICU"], size=n),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, size=n), unit="D"),
            "flat": 1.0,
        }
    )
    rows.loc[rng.random(n) < 0.2, "age"] = np.nan
    return rows, np.where((rows.age > 50) | (rows.unit == "CCU"), "ill", "well")


def test_importances_are_the_relevance_of_each_column(tmp_path):
    rows, labels = mixed()
    model = EntropyClassifier("quantile", epochs=40).fit(rows, labels)
    found = model.feature_importances_
    assert found.shape == (model.n_features_in_,) == (5,)
    assert found.sum() == pytest.approx(1)
    # An independent sum: the column of a concept is the one that its predicate names, that of a month its date.
    column_of = {name: name.split(" >=")[0].split(" is ")[0].split(" of ")[-1] for name in model.schema_.predicates}
    summed = dict.fromkeys(rows.columns, 0.0)
    for name, share in model.relevance_.mean().items():
        summed[column_of[name]] += share
    wanted = np.array(list(summed.values()))
    assert found == pytest.approx(wanted / wanted.sum())
    assert found[4] == 0
    assert found[1:3].min() > found[0]
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert loaded.feature_importances_ == pytest.approx(found)


@pytest.mark.parametrize("settings", [{"exact": True}, {"method": "paper"}, {"booleanise": Booleaniser("soft")}])
def test_every_kind_of_model_has_importances(settings, tmp_path):
    rows, labels = mixed()
    rows = rows[["noise", "age"]]
    model = EntropyClassifier(epochs=20, **settings).fit(rows, labels)
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    for one in (model, loaded):
        assert one.feature_importances_.shape == (2,)
        assert one.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", [pd.DataFrame, np.asarray, lambda rows: ConceptTable(rows)])
def test_concepts_are_their_own_columns(kind):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, size=(80, 3)), columns=["age >= 50", "b", "c"])
    model = EntropyClassifier(None, epochs=20).fit(kind(rows), rows["b"])
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.argmax() == 1
    mean = model.relevance_.to_numpy().mean(axis=0)
    assert model.feature_importances_ == pytest.approx(mean / mean.sum())


def test_several_labels_have_one_importance_per_column():
    rows, _ = mixed()
    labels = pd.DataFrame({"old": rows.age > 50, "ccu": rows.unit == "CCU"}).astype(int)
    model = EntropyClassifier("quantile", epochs=20).fit(rows[["noise", "age", "unit"]], labels)
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.argmin() == 0


def test_an_unfitted_model_has_no_importances():
    with pytest.raises(NotFittedError):
        _ = EntropyClassifier().feature_importances_
    assert not hasattr(EntropyClassifier(), "feature_importances_")


def test_scikit_learn_selects_columns_by_importance():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    labels = (rows.c > 0).astype(int)
    select = SelectFromModel(EntropyClassifier("quantile", epochs=20), max_features=1, threshold=-np.inf)
    chain = make_pipeline(select.set_output(transform="pandas"), DecisionTreeClassifier(random_state=0)).fit(
        rows, labels
    )
    assert chain[0].get_feature_names_out().tolist() == ["c"]
    fitted = SelectFromModel(EntropyClassifier("quantile", epochs=20).fit(rows, labels), prefit=True)
    assert "c" in rows.columns[fitted.get_support()]
