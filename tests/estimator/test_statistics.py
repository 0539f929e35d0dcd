"""Statistics of a fitted classifier on rows that neither trained it nor chose a rule, checked with pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.formula.dnf import DNF, Complement

RNG = np.random.default_rng(5)
N = 500
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(60, 15, N).round(2),
        "bmi": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(27, 4, N).round(2)),
        "gender": RNG.choice(["f", "m", None], N, p=[0.45, 0.45, 0.1]),
    }
)
LABELS = np.where((FRAME["age"] >= 65) ^ (RNG.random(N) < 0.1), "ill", "well")


@pytest.fixture(scope="module", params=[False, True], ids=["soft", "exact"])
def model(request) -> EntropyClassifier:
    return EntropyClassifier(exact=request.param, epochs=30, set_aside=0.25).fit(FRAME, LABELS)


def test_a_stratified_share_is_held_out_from_training_and_choice(model):
    aside = model.set_aside_
    counts = pd.Series(LABELS[aside.places]).value_counts()
    for label, count in pd.Series(LABELS).value_counts().items():
        assert counts[label] == round(0.25 * count)
    assert model.table_.n_counted == N - len(aside.places)


def test_statistics_are_those_of_the_rows_set_aside(model):
    counted = model.statistics()
    assert "held out before training" in counted.source
    places = model.set_aside_.places
    rows, labels = FRAME.iloc[places], LABELS[places]
    fires = model.rules_.fires(rows)
    for place, rule in enumerate(model.rules_.rules):
        told, is_class = counted[rule.label], labels == rule.label
        assert told.whole.confidence.hits == (fires[:, place] & is_class).sum()
        assert told.whole.confidence.total == fires[:, place].sum()
        assert told.whole.coverage.total == is_class.sum()
        if isinstance(rule.formula, Complement):
            assert not told.cubes
            continue
        for cube, line in zip(rule.formula, told.cubes, strict=True):
            alone = DNF([cube]).evaluate(model.concepts(rows))
            assert line.support.hits == alone.sum()


def test_subgroups_by_a_raw_column(model):
    counted = model.statistics(by="gender")
    places = model.set_aside_.places
    rows = FRAME.iloc[places].assign(label=LABELS[places])
    sizes = rows["gender"].fillna("missing").value_counts()
    assert set(counted.subgroups) == {"f", "m", "missing"}
    for name, classes in counted.subgroups.items():
        assert classes[0].prevalence.total == sizes[name]
        assert classes[0].prevalence.hits == (rows["label"][rows["gender"].fillna("missing") == name] == "ill").sum()


def test_statistics_of_other_rows(model):
    fresh = FRAME.assign(age=FRAME["age"] + 1)
    counted = model.statistics(fresh, LABELS, by="gender")
    assert "500 rows given" in counted.source
    assert counted["ill"].prevalence.hits == (LABELS == "ill").sum()
    by_array = model.statistics(fresh, LABELS, by=fresh["gender"].to_numpy())
    assert by_array.subgroups == counted.subgroups


def test_without_rows_set_aside_the_reason_is_told(model):
    plain = EntropyClassifier(epochs=2).fit(FRAME, LABELS)
    with pytest.raises(LogicLensError, match=r"no rows were held out: fit with set_aside=0.25"):
        plain.statistics()
    with pytest.raises(LogicLensError, match="need their labels"):
        plain.statistics(FRAME)
    with pytest.raises(LogicLensError, match="no column 'sex'"):
        model.statistics(by="sex")
    with pytest.raises(LogicLensError, match="no column 'sex' to compare"):
        model.statistics(FRAME, LABELS, by="sex")


@pytest.mark.parametrize("share", [-0.1, 1.0, "half", None])
def test_the_share_is_checked(share):
    with pytest.raises(LogicLensError, match="set_aside must be a share from 0 to below 1"):
        EntropyClassifier(set_aside=share).fit(FRAME, LABELS)


def test_relevance_is_a_frame_of_classes_and_concepts(model):
    relevance = model.relevance_
    assert list(relevance.index) == ["ill", "well"]
    assert list(relevance.columns) == list(model.concept_names_)
    assert relevance.max(axis=1).to_numpy() == pytest.approx([1, 1])
    if model.exact:
        # What a compiled network computes, it computes of the concepts of its formulas alone.
        used = {name for name in relevance.columns if (relevance[name] > 0).any()}
        assert used == set(model.rules_.concepts)


def test_every_model_has_rules_that_predict_from_the_raw_table(model):
    rules = model.rules_
    if model.exact:
        assert (rules.predict(FRAME) == model.predict(FRAME)).all()
    else:
        assert (rules.predict(FRAME) == model.predict(FRAME)).mean() > 0.9
    assert set(rules.columns) <= set(FRAME.columns)


def test_a_loaded_model_keeps_no_held_out_rows(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 200)})
    labels = np.where(table.age >= 50, "ill", "well")
    for set_aside, sentence in (
        (0.25, "a model keeps its held-out rows only where it was fitted"),
        (0.0, "no rows were held out"),
    ):
        model = EntropyClassifier(set_aside=set_aside, epochs=20, verbose=False).fit(table, labels)
        loaded = EntropyClassifier.load(model.save(tmp_path / str(set_aside)))
        with pytest.raises(LogicLensError, match=f"^{sentence}"):
            loaded.statistics()
        assert loaded.statistics(table, labels).n_rows == 200
