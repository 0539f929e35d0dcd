"""Sharper cuts: thresholds moved to where a formula makes the fewest errors, and only where that tells enough."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.data.booleanise import Booleaniser
from logiclens.data.columns import columns_of
from logiclens.data.reference import ReferenceCut
from logiclens.explain.sharpening import _Table, _told, sharper_cuts


def two_near_thresholds(n_rows: int = 2_000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two cubes that ask for incomes of 60 and of 61.4, with little more than one row in a hundred between them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.uniform(0, 100, n_rows).round(2),
            "score": rng.uniform(0, 1, n_rows).round(3),
            "plan": rng.choice(list("abc"), n_rows),
        }
    )
    first = (frame["income"] >= 60) & (frame["plan"] == "a")
    return frame, np.asarray(first | ((frame["income"] >= 61.4) & (frame["plan"] == "b") & (frame["score"] < 0.7)))


def fitted(frame: pd.DataFrame, labels: np.ndarray, weight: np.ndarray | None = None, **settings):
    """A fitted Booleaniser and what `sharper_cuts` needs beside it."""
    codes = np.unique(labels, return_inverse=True)[1][:, None]
    weight = np.ones(len(labels)) if weight is None else weight
    arguments = columns_of(frame), codes, len(np.unique(labels)), weight
    return Booleaniser(**settings).fit_columns(*arguments), arguments


def test_two_thresholds_that_were_taken_for_one_are_told_apart():
    frame, labels = two_near_thresholds()
    booleaniser, arguments = fitted(frame, labels)
    incomes = [float(meant.value) for meant in booleaniser.predicates_.values() if meant.column == "income"]
    assert sum(59 < income < 62 for income in incomes) == 1
    sharper = sharper_cuts(booleaniser, *arguments)
    again = booleaniser.sharpened(sharper, *arguments)
    cuts = [meant.value for meant in again.predicates_.values() if meant.column == "income"]
    asked = {60: frame["plan"] == "a", 61.4: (frame["plan"] == "b") & (frame["score"] < 0.7)}
    for wanted, rows in asked.items():
        # Some cut parts the rows of the cube as what is wanted does.
        incomes_asked = frame.loc[rows, "income"]
        assert any(((incomes_asked >= cut) == (incomes_asked >= wanted)).all() for cut in cuts), cuts
    # What was found before is still there.
    assert set(incomes) <= set(cuts)


@pytest.mark.parametrize("seed", [0, 2])
def test_the_rules_use_them(seed):
    """With the second seed the networks learn less than the labels say, and must not end the search on labels."""
    frame, labels = two_near_thresholds(4_000, seed)
    rules = EntropyClassifier(exact=True, epochs=30).fit(frame, labels).rules_
    np.testing.assert_array_equal(rules.predict(frame), labels)
    assert sum(len(cube) for rule in rules.rules for cube in rule.cubes) == 5


def test_noise_moves_no_cut():
    frame, labels = two_near_thresholds()
    turned = labels ^ (np.random.default_rng(1).random(len(labels)) < 0.1)
    booleaniser, arguments = fitted(frame, turned)
    assert booleaniser.reference_.errors > 0.05
    assert sharper_cuts(booleaniser, *arguments) == {}


@pytest.mark.parametrize("settings", [{"n_cuts": 3}, {"cuts": "quantile"}, {"cuts": {"income": [50], "score": [0.5]}}])
def test_cuts_that_were_asked_for_stay(settings):
    booleaniser, arguments = fitted(*two_near_thresholds(), **settings)
    assert sharper_cuts(booleaniser, *arguments) == {}
    assert booleaniser.sharpened({}, *arguments) is booleaniser


def test_a_row_that_weighs_two_is_a_row_that_is_there_twice():
    frame, labels = two_near_thresholds(800)
    times = np.random.default_rng(2).integers(1, 3, len(labels))
    weighed = sharper_cuts(*_flat(fitted(frame, labels, times.astype(float))))
    copies = frame.loc[frame.index.repeat(times)].reset_index(drop=True), labels.repeat(times)
    order = np.random.default_rng(3).permutation(len(copies[1]))
    model, arguments = fitted(copies[0].iloc[order].reset_index(drop=True), copies[1][order])
    assert weighed
    assert sharper_cuts(model, *arguments).keys() == weighed.keys()
    assert {name: set(cuts) for name, cuts in sharper_cuts(model, *arguments).items()} == {
        name: set(cuts) for name, cuts in weighed.items()
    }


def _flat(made):
    booleaniser, arguments = made
    return booleaniser, *arguments


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_threshold_is_moved_to_where_errors_are_fewest(negated, seed):
    """Against every place: one literal beside another cube, with gaps among the values."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 40, 400).astype(float)
    values[rng.random(400) < 0.1] = -math.inf
    other, weight = rng.random(400) < 0.3, rng.integers(1, 4, 400).astype(float)
    yes = ((values >= 23) ^ negated) | other
    yes ^= rng.random(400) < 0.01
    table = _Table((values >= 17)[:, None], ("v >= 17",), {0: "v"}, {"v": values}, weight)
    literal = (values >= 17) ^ negated
    cut = table._moved([[literal], [other]], 0, 0, "v", negated, yes)
    assert isinstance(cut, ReferenceCut)

    def errors(threshold: float) -> float:
        return float(weight[(((values >= threshold) ^ negated) | other) != yes].sum())

    fewest = min(errors(threshold) for threshold in np.unique(values[np.isfinite(values)])[1:])
    assert errors(cut.high) == fewest < errors(17)
    assert cut.low < cut.high


def test_a_threshold_stays_where_moving_it_tells_too_little():
    values = np.arange(1_000.0)
    yes = values >= 500
    table = _Table((values >= 497)[:, None], ("v >= 497",), {0: "v"}, {"v": values}, np.ones(1_000))
    assert table._moved([[values >= 500]], 0, 0, "v", False, yes) is None
    assert table._moved([[values >= 497]], 0, 0, "v", False, yes) == ReferenceCut(499.0, 500.0, math.inf)
    # Among ten wrong rows in a hundred, one more or less tells less than a place among so many values costs.
    noisy = yes.copy()
    noisy[::10] ^= True
    assert table._moved([[values >= 499]], 0, 0, "v", False, noisy) is None


def test_errors_cost_their_entropy():
    assert _told(0, 100) == _told(100, 100) == 0
    assert _told(50, 100) == pytest.approx(100 * math.log(2))
    assert _told(1, 1_000) == pytest.approx(math.log(1_000) + 1, abs=1e-3)
