"""Tables with dates and texts, from end to end: parts of dates, splits by time, and what is ignored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens import Booleaniser, EntropyClassifier
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimator.cross_validation import cross_validate
from logiclens.verify import verify

QUICK = {"epochs": 60}


def stays(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Hospital stays; those that begin on a weekend or take a week end badly."""
    rng = np.random.default_rng(seed)
    admitted = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365 * 24 * 60, n_rows), "min")
    frame = pd.DataFrame({"age": rng.integers(20, 90, n_rows), "admitted": admitted})
    frame["left"] = admitted + pd.to_timedelta(rng.integers(0, 10 * 24 * 60, n_rows), "min")
    days = (frame["left"].dt.normalize() - frame["admitted"].dt.normalize()).dt.days
    return frame, np.where((frame["admitted"].dt.day_of_week >= 5) | (days >= 7), "bad", "good")


@pytest.fixture(scope="module")
def model() -> EntropyClassifier:
    return EntropyClassifier(exact=True, **QUICK).fit(*stays(600))


def test_rules_find_weekends_and_days_between_dates(model):
    assert set(model.rules_.concepts) == {"weekday of admitted >= 6", "days from admitted to left >= 7"}
    assert set(model.rules_.columns) == {"admitted", "left"}
    frame, labels = stays(500, seed=1)
    assert (model.predict(frame) == labels).all()
    assert (model.rules_.predict(frame) == labels).all()
    as_text = frame.astype({"admitted": str, "left": str})
    assert (model.predict(as_text) == labels).all()


def test_a_saved_model_keeps_its_parts_and_is_verified(model, tmp_path):
    folder = model.save(tmp_path / "model")
    frame, labels = stays(200, seed=2)
    assert (EntropyClassifier.load(folder).predict(frame) == labels).all()
    report = str(verify(folder))
    assert '"weekday of admitted >= 6" means: weekday of admitted (1, a Monday, to 7) >= 6' in report


def test_without_date_parts_there_are_none():
    frame, labels = stays(300)
    cuts = Booleaniser(date_parts=False).fit(frame, labels)
    assert {predicate.origin for predicate in cuts.predicates_.values()} == {None}


def test_small_tables_and_given_cuts_have_no_parts():
    frame, labels = stays(90)
    assert not any(predicate.origin for predicate in Booleaniser().fit(frame, labels).predicates_.values())
    frame, labels = stays(300)
    given = Booleaniser({"admitted": ["2020-01-01"], "left": ["2020-01-01"]}).fit(frame, labels)
    assert not any(predicate.origin for predicate in given.predicates_.values())
    named = Booleaniser({"weekday of admitted": [3]}).fit(frame, labels)
    assert "weekday of admitted >= 3" in named.predicates_


def test_a_column_with_the_name_of_a_part_stays_itself():
    frame, labels = stays(300)
    frame["weekday of admitted"] = np.arange(300) % 5
    meant = Booleaniser().fit(frame, labels).predicates_
    assert all(one.origin is None for one in meant.values() if one.column == "weekday of admitted")


def test_an_engine_counts_parts_as_frames_have_them(model, tmp_path):
    ibis = pytest.importorskip("ibis")
    frame, labels = stays(800, seed=3)
    frame.loc[::7, "left"] = pd.NaT
    expected = model.predict(frame)
    table = ibis.duckdb.connect().create_table("stays", frame.assign(end=labels, at=np.arange(800)))
    assert model.score(table, "end") == pytest.approx((expected == labels).mean())
    model.predict_into(table, tmp_path / "out.parquet")
    got = pd.read_parquet(tmp_path / "out.parquet").sort_values("at")["prediction"]
    assert (got.to_numpy() == expected).all()
    table = ibis.duckdb.connect().create_table("stays", stays(600)[0].assign(end=stays(600)[1]))
    counted = EntropyClassifier(exact=True, **QUICK).fit(table, target="end")
    assert "weekday of admitted >= 6" in counted.rules_.concepts


# Splits by time ------------------------------------------------------------------------------------------------------


def test_the_latest_rows_are_held_out_and_ties_stay_together():
    frame, labels = stays(300)
    frame["admitted"] = frame["admitted"].dt.normalize()
    frame.loc[:39, "admitted"] = pd.NaT
    model = EntropyClassifier(set_aside=0.25, split_by_time="admitted", **QUICK).fit(frame, labels)
    held = np.zeros(300, dtype=bool)
    held[model.set_aside_.places] = True
    assert frame["admitted"][~held].max() < frame["admitted"][held].min()
    assert 60 <= held.sum() <= 90
    assert not held[:40].any()
    notes = [note for note in model.explain().notes if "latest by 'admitted'" in note]
    assert len(notes) == 1
    assert "40 rows without a value there train too" in notes[0]


def test_a_random_split_over_time_is_noted():
    frame, labels = stays(200)
    with pytest.warns(LogicLensWarning, match="split_by_time='admitted'"):
        noted = EntropyClassifier(set_aside=0.25, **QUICK).fit(frame, labels).explain().notes
    assert any("held out at random although 'admitted' orders them in time" in note for note in noted)
    for settings in ({}, {"set_aside": 0.25, "split_by_time": "age"}):
        quiet = EntropyClassifier(**settings, **QUICK).fit(frame, labels).explain().notes
        assert not any("at random" in note for note in quiet)
    without = EntropyClassifier(set_aside=0.25, **QUICK).fit(frame[["age"]], labels).explain().notes
    assert not any("at random" in note for note in without)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split_by_time": "admitted"}, "say how many too, set_aside=0.25"),
        ({"split_by_time": "admited", "set_aside": 0.25}, "no column 'admited'.*did you mean 'admitted'"),
        ({"split_by_time": "unit", "set_aside": 0.25}, "'unit' holds text: name a column of dates"),
        ({"split_by_time": "same", "set_aside": 0.25}, "they all have the same time"),
        ({"split_by_time": "admitted", "set_aside": 0.25, "cuts_on": "all"}, "have no order in time"),
        ({"split_by_time": 3, "set_aside": 0.25}, "split_by_time must be the name of a column"),
        ({"split_by_time": "rank", "set_aside": 0.5}, "all rows of class 'good' are among the latest"),
    ],
)
def test_a_split_by_time_that_cannot_be_is_refused(settings, message):
    frame, labels = stays(200)
    frame = frame.assign(unit="a", same=1.0, rank=np.argsort(np.argsort(labels, kind="stable")))
    frame.loc[:50, "unit"] = "b"
    labels = np.where(frame["rank"] > 150, "good", "bad")
    with pytest.raises(LogicLensError, match=message):
        EntropyClassifier(**settings, **QUICK).fit(frame, labels)


def test_folds_by_time_are_refused():
    frame, labels = stays(200)
    model = EntropyClassifier(set_aside=0.25, split_by_time="admitted", **QUICK)
    with pytest.raises(LogicLensError, match="folds are drawn at random, whatever the time"):
        next(cross_validate(frame, labels, estimator=model))


# Texts ---------------------------------------------------------------------------------------------------------------


def test_texts_that_hardly_repeat_are_left_out_with_a_note():
    age = np.random.default_rng(0).integers(20, 90, 900)
    frame = pd.DataFrame({"age": age, "comment": [f"text {i // 2}" for i in range(900)]})
    with pytest.warns(LogicLensWarning, match="'comment' is left out: it has 450 different texts in [0-9]+ rows, each"):
        cuts = Booleaniser().fit(frame, frame["age"] > 50)
    assert {predicate.column for predicate in cuts.predicates_.values()} == {"age"}
    assert list(cuts.dropped_) == ["comment"]


def test_a_note_says_how_many_rows_hold_ignored_texts():
    values = ["a"] * 30 + ["b"] * 30 + ["c"] * 20 + ["d"] * 20
    with pytest.warns(LogicLensWarning, match="rules ignore the others, which 40% of the rows hold"):
        Booleaniser("quantile", max_categories=2).fit({"t": values})


def test_rows_are_not_split_by_time_along_the_target():
    frame, labels = stays(100)
    model = EntropyClassifier(set_aside=0.25, split_by_time="died", **QUICK)
    with pytest.raises(LogicLensError, match="'died' is the target, which new rows do not have yet: split by another"):
        model.fit(frame.assign(died=labels), target="died")
