"""Cuts off the round grid: a planted threshold is found, and noise moves none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens import Booleaniser, EntropyClassifier


def thresholds(model) -> list[tuple[str, float]]:
    used = model.rules_.concepts
    return [(meant.column, meant.value) for name, meant in model.rules_.predicates.items() if name in used]


@pytest.mark.parametrize("cut", [0.137, 0.502, 0.871])
def test_a_planted_threshold_is_found_between_two_values(cut):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((600, 4)), columns=list("abcd"))
    model = EntropyClassifier().fit(frame, (frame["b"] >= cut).map({True: "yes", False: "no"}))
    ((column, value),) = thresholds(model)
    assert column == "b"
    assert frame["b"][frame["b"] < cut].max() < value <= frame["b"][frame["b"] >= cut].min()


def test_a_planted_box_is_found_on_floats():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.random((1_500, 5)), columns=list("abcde"))
    truth = frame["a"].between(0.23, 0.81) & (frame["c"] >= 0.437)
    model = EntropyClassifier().fit(frame, truth)
    assert model.score(frame, truth) == 1


def test_a_noisy_threshold_stays_on_the_grid():
    rng = np.random.default_rng(2)
    on_grid = 0
    for _ in range(10):
        frame = pd.DataFrame(rng.normal(50, 15, (250, 3)), columns=list("abc"))
        chance = 1 / (1 + np.exp(-(frame["a"] - 50) / 10))
        model = EntropyClassifier().fit(frame, rng.random(250) < chance)
        grid = {(meant.column, meant.value) for meant in Booleaniser().fit(frame).predicates_.values()}
        on_grid += grid.issuperset(thresholds(model))
    assert on_grid >= 9


def test_a_threshold_beyond_the_ends_of_the_grid_is_found():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((1_500, 4)), columns=list("abcd"))
    truth = (frame["a"] >= 0.4) & (frame["b"] < 0.93)
    model = EntropyClassifier().fit(frame, truth)
    assert model.score(frame, truth) == 1
