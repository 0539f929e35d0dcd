"""Cuts of columns: numbers that a person would choose, found without labels, and nearly the same on other rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.cuts import FEW_VALUES, MOST_BINS, Histogram, quantile_cuts, uniform_cuts
from logiclens.concepts.near_copies import near_copies
from logiclens.tables.frames import columns_of


def cuts_of(values, **settings) -> list:
    fitted = Booleaniser(**settings).fit(pd.DataFrame({"x": values}))
    return [meant.value for meant in fitted.predicates_.values() if meant.operator == ">="]


# The round grid ------------------------------------------------------------------------------------------------------


@given(
    st.integers(0, 2**32 - 1), st.floats(1e-3, 1e6), st.floats(-10, 10), st.sampled_from(["normal", "uniform", "beta"])
)
def test_cuts_are_multiples_of_one_round_step(seed, scale, shift, shape):
    rng = np.random.default_rng(seed)
    drawn = {"normal": rng.normal(size=300), "uniform": rng.random(300), "beta": rng.beta(2, 5, 300)}[shape]
    values = (drawn + shift) * scale
    cuts = np.array(cuts_of(values))
    low, high = np.quantile(values, [0.05, 0.95])
    if low > 0 and high > 50 * low:
        return
    steps = np.diff(cuts)
    # The step is 1, 2 or 5 times a power of ten, and every cut a multiple of it.
    step = steps.min() if len(steps) else cuts[0]
    mantissa = step / 10.0 ** np.floor(np.log10(abs(step)) + 1e-9)
    assert len(steps) == 0 or min(abs(mantissa - nice) for nice in (1, 2, 5)) < 1e-6
    np.testing.assert_allclose(cuts / step, np.round(cuts / step), atol=1e-6)
    assert cuts.min() >= np.quantile(values, 0.05, method="lower")
    assert cuts.max() <= np.quantile(values, 0.95, method="higher")
    # A step is between an eighth of the reach and two and a half times that.
    assert 3 <= len(cuts) <= 9


def test_another_sample_of_the_rows_has_nearly_the_same_cuts():
    rng = np.random.default_rng(0)
    shared = []
    # The step itself may differ where a fifth of a column is near 1, 2 or 5: the promise is for the mean over scales.
    for scale in np.geomspace(1, 10, 15, endpoint=False):
        for values in (rng.gamma(3, scale, 400), rng.normal(3 * scale, scale, 400), scale * rng.random(400)):
            sets = [set(cuts_of(rng.choice(values, 300, replace=False))) for _ in range(4)]
            shared += [2 * len(a & b) / (len(a) + len(b)) for a, b in combinations(sets, 2)]
    assert np.mean(shared) > 0.9


def test_labels_do_not_move_a_cut():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=200), "y": rng.integers(0, 40, 200)})
    labels = frame["x"] > 0.321
    assert Booleaniser().fit(frame, labels).cutting_.names == Booleaniser().fit(frame).cutting_.names


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=FEW_VALUES - 1, unique=True), st.integers(1, 4))
def test_a_column_of_few_values_is_cut_between_all(values, times):
    cuts = cuts_of([*values, min(values) - 1] * times)
    assert np.digitize(sorted(values), cuts).tolist() == list(range(1, len(values) + 1))


def test_a_heap_is_told_from_the_other_values():
    gains = np.concatenate([np.zeros(300), np.random.default_rng(2).uniform(100, 10_000, 60)])
    cuts = cuts_of(gains)
    assert 0 < cuts[0] <= gains[gains > 0].min()
    assert len(cuts) > 2


def test_skewed_amounts_are_cut_at_one_two_five():
    cuts = cuts_of(np.exp(np.linspace(-2, 6, 200)))
    assert set(cuts) <= {0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0}
    assert len(cuts) >= 7


def test_dates_and_durations_are_cut_at_round_moments():
    days = pd.date_range("2015-02-03", periods=400, freq="7D")
    assert all(str(cut).endswith("-01") for cut in cuts_of(days, date_parts=False))
    minutes = pd.to_timedelta(np.arange(400) * 3, unit="min")
    assert cuts_of(minutes) == [f"0 days {hour:02}:00:00" for hour in range(3, 19, 3)]


@given(st.integers(0, 2**32 - 1))
def test_weights_are_repetitions_and_order_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=60).round(1)
    times = rng.integers(1, 4, 60)
    repeated = rng.permutation(np.repeat(values, times))
    weighed = Booleaniser().fit(pd.DataFrame({"x": values}), sample_weight=times)
    assert weighed.cutting_.names == Booleaniser().fit(pd.DataFrame({"x": repeated})).cutting_.names


# Other cuts ----------------------------------------------------------------------------------------------------------


def histogram(values, weight=None) -> Histogram:
    values = np.asarray(values, dtype=float)
    return Histogram.of(values, np.ones(len(values)) if weight is None else weight)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=40), st.integers(1, 5))
def test_quantile_cuts_are_nearest_to_equal_shares(values, n_cuts):
    counted = histogram(values)
    if len(counted) < 2:
        assert quantile_cuts(counted, n_cuts) == ()
        return
    below = [np.mean(np.array(values) < low) for low in counted.low[1:]]
    best = {min(range(len(below)), key=lambda k: (abs(below[k] - share), k)) for share in
            np.arange(1, n_cuts + 1) / (n_cuts + 1)}  # fmt: skip
    assert {place - 1 for place in quantile_cuts(counted, n_cuts)} == best


@given(st.lists(st.integers(0, 30), min_size=2, max_size=40), st.integers(1, 5))
def test_uniform_cuts_are_at_equal_steps(values, n_cuts):
    counted = histogram(values)
    if len(counted) < 2:
        assert uniform_cuts(counted, n_cuts) == ()
        return
    steps = np.linspace(min(values), max(values), n_cuts + 2)[1:-1]
    nearest = {min(max(sum(low < step for low in counted.low), 1), len(counted) - 1) for step in steps}
    assert set(uniform_cuts(counted, n_cuts)) == nearest


def test_a_heavy_value_among_many_has_its_own_bin():
    values = np.concatenate([np.arange(5_000), np.full(5_000, 2_500)])
    counted = histogram(values)
    (place,) = np.flatnonzero((counted.low <= 2_500) & (counted.high >= 2_500))
    assert len(counted) <= MOST_BINS
    assert counted.weight[place] >= 5_000
    assert counted.weight.sum() == len(values)


# Near-copies ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def sizes() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    radius = rng.normal(10, 2, 300)
    return pd.DataFrame(
        {
            "area": radius**2 + rng.normal(0, 0.5, 300),
            "radius": radius,
            "minus": -radius + rng.normal(0, 0.1, 300),
            "other": rng.normal(size=300),
            "half": radius + rng.normal(0, 4, 300),
        }
    )


def test_one_column_stands_for_those_that_say_nearly_the_same(sizes):
    groups = near_copies(columns_of(sizes), np.ones(len(sizes)))
    ((centre, others),) = groups.items()
    assert {centre, *others} == {"area", "radius", "minus"}


def test_a_preferred_column_stands_for_the_others(sizes):
    groups = near_copies(columns_of(sizes), np.ones(len(sizes)), ["minus"])
    assert groups == {"minus": ("area", "radius")}
    assert near_copies(columns_of(sizes), np.ones(len(sizes)), ["minus", "area", "radius"]) == {}
