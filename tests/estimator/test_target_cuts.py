"""Targets of numbers: refused with the ways out, or cut at a value or at quantiles of the training rows."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.formula.target_cuts import TargetCuts, cut_at_quantiles, many_numbers_note, suggested_cut

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({"dose": RNG.normal(10, 4, 240).round(1), "unit": RNG.choice(["A", "B"], 240)})
GROWTH = pd.Series((ROWS["dose"] * 10 + RNG.normal(0, 5, 240)).round(1), name="growth")


def quick(**settings) -> EntropyClassifier:
    return EntropyClassifier(epochs=30, set_aside=0.25, **settings)


def test_measurements_are_refused_with_both_ways_out():
    with pytest.raises(LogicLensError, match="Unknown label type: continuous") as caught:
        quick().fit(ROWS, GROWTH)
    [value] = re.findall(r"above=([0-9.]+)\)", str(caught.value))
    assert "quantiles=3" in str(caught.value)
    below = float((float(value) > GROWTH).mean())
    assert 0.4 < below < 0.6
    assert len(value) <= 4
    # Whole numbers of which hardly any two are equal are no classes either.
    with pytest.raises(LogicLensError, match="Unknown label type: continuous"):
        quick().fit(ROWS, GROWTH.round().astype(int))


def test_what_holds_measurements_does_not_matter():
    with pytest.raises(LogicLensError, match=r"Unknown label type: continuous.*above="):
        quick().fit(ROWS, GROWTH.astype(object))
    assert quick(above=100).fit(ROWS, GROWTH.astype(object)).classes_.tolist() == ["at least 100", "below 100"]
    for labels in (GROWTH.map(str), pd.Timestamp("2020-01-01") + pd.to_timedelta(range(240), unit="D")):
        with pytest.raises(LogicLensError, match=r"labels must be classes: these are \d+ different values in 240 rows"):
            quick().fit(ROWS, labels)


def test_a_cut_names_the_classes_and_answers_raw_labels(tmp_path):
    model = quick(above=100).fit(ROWS, GROWTH)
    wanted = np.where(GROWTH >= 100, "at least 100", "below 100")
    assert model.classes_.tolist() == ["at least 100", "below 100"]
    answers = model.predict(ROWS)
    right = float((answers == wanted).mean())
    assert model.score(ROWS, GROWTH) == model.score(ROWS, wanted) == right > 0.8
    assert model.statistics(ROWS, GROWTH)["at least 100"] == model.statistics(ROWS, wanted)["at least 100"]
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert loaded.score(ROWS, GROWTH) == right
    assert loaded.target_cuts_ == TargetCuts((100.0,))


def test_quantiles_are_those_of_the_training_rows():
    model = quick(quantiles=3).fit(ROWS, GROWTH)
    held_out = set(model.set_aside_.places.tolist())
    train = np.array([row not in held_out for row in range(len(ROWS))])
    assert 40 < (~train).sum() < 80
    low, high = model.target_cuts_.thresholds
    own = GROWTH[train].to_numpy()
    sizes = [(own < low).sum(), ((own >= low) & (own < high)).sum(), (own >= high).sum()]
    assert max(sizes) - min(sizes) <= 3
    # Other values of the held-out rows change no cut.
    moved = GROWTH.where(train, GROWTH + np.where(GROWTH.median() < GROWTH, 7.7, -7.7))
    again = cut_at_quantiles(3, moved[train].to_numpy(), np.ones(int(train.sum())))
    assert again.thresholds == (low, high)


def test_held_out_rows_of_the_caller_are_cut_too():
    model = quick(above=100, method="search").fit(ROWS[:180], GROWTH[:180], held_out=(ROWS[180:], GROWTH[180:]))
    assert model.score(ROWS, GROWTH) > 0.8


@pytest.mark.parametrize(
    ("settings", "labels", "message"),
    [
        ({"above": 1000}, GROWTH, "leaves all rows on one side"),
        ({"above": 100, "quantiles": 3}, GROWTH, "leave out one of them"),
        ({"above": 100}, np.where(GROWTH > 100, "a", "b"), "this one holds 'a'"),
        ({"above": 0.5}, GROWTH > 100, "this one holds"),
        ({"quantiles": 3}, (GROWTH > 100).astype(int), "cannot be cut into 3 classes"),
        ({"quantiles": 1}, GROWTH, "quantiles must be"),
        ({"above": float("nan")}, GROWTH, "above must be"),
    ],
)
def test_what_cannot_be_cut_is_refused(settings, labels, message):
    with pytest.raises(LogicLensError, match=message):
        quick(**settings).fit(ROWS, labels)


def test_edited_cuts_are_refused_by_every_reader(tmp_path):
    from logiclens.storage import sealed
    from logiclens.verify import VerificationError, verify

    folder = quick(above=100, exact=True).fit(ROWS, GROWTH).save(tmp_path / "model")
    assert verify(folder).classes
    content = json.loads((folder / "model.json").read_text())
    for edit in ({"target_cuts": [90.0]}, {"target_cuts": None}, {"target_cuts": [100.0, 120.0]}):
        changed = {key: value for key, value in {**content, **edit}.items() if key != "content_sha256"}
        (folder / "model.json").write_text(json.dumps(sealed(changed)))
        with pytest.raises(LogicLensError):
            EntropyClassifier.load(folder)
        with pytest.raises(VerificationError):
            verify(folder)


@pytest.mark.parametrize("seed", range(20))
def test_a_suggested_cut_has_rows_on_both_sides(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(rng.normal(0, 100), 10.0 ** rng.integers(-6, 6), 50)
    assert numbers.min() < suggested_cut(numbers) <= numbers.max()
    assert 0.2 < np.mean(numbers < suggested_cut(numbers)) < 0.8


def test_many_whole_numbers_are_learned_with_a_note():
    days = pd.Series((ROWS["dose"].clip(1, 23).round()).astype(int), name="length_of_stay")
    n_values = days.nunique()
    assert n_values >= 10
    note = (
        rf"'length_of_stay' has {n_values} different numbers: if it is a measurement, cut it with above=(\d+) "
        r"\(--above \1\) or quantiles=3 \(--quantiles 3\)\."
    )
    with pytest.warns(LogicLensWarning, match=note) as caught:
        model = EntropyClassifier(epochs=2).fit(ROWS, days)
    assert len(model.classes_) == n_values
    [said] = [warning for warning in caught if "different numbers" in str(warning.message)]
    assert said.filename == __file__
    [value] = re.findall(r"--above (\d+)", str(said.message))
    assert 0.3 < (days < int(value)).mean() < 0.7
    assert str(said.message) in model.explain().notes
    # What the note advises works, and is not noted again; neither are texts or fewer numbers.
    quick(above=float(value)).fit(ROWS, days)
    assert many_numbers_note("grade", np.arange(9), np.ones(9)) is None
    assert many_numbers_note("digit", np.arange(10), np.ones(10)) is None
    assert many_numbers_note("days", np.arange(1, 11), np.ones(10)) is not None
    assert many_numbers_note("grade", np.array(list("abcdefghijklm")), np.ones(13)) is None
