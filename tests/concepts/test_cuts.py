"""Cuts of columns: the few thresholds that matter for the target, in readable numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.cuts import (
    FEW_VALUES,
    MOST_BINS,
    Histogram,
    Tally,
    quantile_cuts,
    supervised_cuts,
    telling_cuts,
    told_by_each,
    uniform_cuts,
)
from logiclens.formula.counted_rows import counting_weight
from logiclens.tables.frames import Column, columns_of

# Supervised cuts -----------------------------------------------------------------------------------------------------


def entropy(counts: list[float]) -> float:
    total = sum(counts)
    return -sum(c / total * math.log2(c / total) for c in counts if c)


def worth_of(left: list[list[float]], right: list[list[float]]) -> float:
    """What a cut tells minus what it costs by Fayyad and Irani, in bits; the best over tasks."""
    worths = []
    for one, other in zip(left, right, strict=True):
        both = [a + b for a, b in zip(one, other, strict=True)]
        n, n1, n2 = sum(both), sum(one), sum(other)
        k, k1, k2 = (sum(c > 0 for c in part) for part in (both, one, other))
        gain = entropy(both) - n1 / n * entropy(one) - n2 / n * entropy(other)
        delta = math.log2(3**k - 2) - (k * entropy(both) - k1 * entropy(one) - k2 * entropy(other))
        worths.append(n * gain - math.log2(max(n - 1, 1)) - delta)
    return max(worths)


def by_brute_force(counts: list[list[list[float]]], most: int) -> list[int]:
    """Again and again the cut that is worth most in its part, the parts being what earlier cuts left."""

    def sums(start: int, stop: int) -> list[list[float]]:
        part = counts[start:stop]
        return [[sum(c[t][k] for c in part) for k in range(len(by_class))] for t, by_class in enumerate(counts[0])]

    cuts: list[int] = []
    while len(cuts) < most:
        best = None
        for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(counts)], strict=True):
            for place in range(start + 1, stop):
                left, right = sums(start, place), sums(place, stop)
                worth = round(worth_of(left, right), 9)
                off = abs(sum(map(sum, left)) - sum(map(sum, right)))
                if worth > 0 and (best is None or (-worth, off, place) < best):
                    best = (-worth, off, place)
        if best is None:
            break
        cuts.append(best[2])
    return sorted(cuts)


def histogram_of(counts) -> Histogram:
    values = np.arange(len(counts), dtype=float)
    return Histogram(values, values, np.asarray(counts, dtype=float))


small = st.integers(2, 7).flatmap(
    lambda bins: st.tuples(st.integers(1, 2), st.integers(2, 3)).flatmap(
        lambda shape: st.lists(
            st.lists(
                st.lists(st.sampled_from([0, 0, 1, 2, 9, 30]), min_size=shape[1], max_size=shape[1]),
                min_size=shape[0],
                max_size=shape[0],
            ),
            min_size=bins,
            max_size=bins,
        )
    )
)


def balanced(counts):
    """Every task counts the same rows: what one lacks is put on its first class; no value without rows."""
    made = []
    for tasks in counts:
        most = max(1, *(sum(task) for task in tasks))
        made.append([[task[0] + most - sum(task), *task[1:]] for task in tasks])
    return made


@given(small.map(balanced), st.integers(1, 4))
def test_supervised_cuts_are_those_of_the_description_length(counts, most):
    expected = by_brute_force(counts, most)
    found = supervised_cuts(histogram_of(counts), most)
    if len(counts) <= min(FEW_VALUES, most + 1):
        # What tells nothing on its own may tell with others: few values are all told apart.
        assert found == tuple(range(1, len(counts)))
    elif expected:
        assert list(found) == expected
    else:
        assert found == quantile_cuts(histogram_of(counts), 1)


def test_the_brute_force_judge_both_cuts_and_refuses():
    clear = [[[10, 0]], [[10, 0]], [[0, 10]], [[0, 10]]]
    assert by_brute_force(clear, 3) == [2]
    assert by_brute_force([[[5, 5]], [[5, 5]], [[5, 5]]], 3) == []
    assert by_brute_force([[[30, 0]], [[0, 30]], [[30, 0]]], 3) == [1, 2]


@given(st.integers(0, 2**32 - 1))
def test_weights_are_repetitions_and_order_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(5, 60))
    values = rng.choice([np.nan, *rng.normal(size=8)], n_rows)
    classes = rng.integers(0, 3, (n_rows, 1))
    weight = rng.integers(0, 4, n_rows)
    shuffled = rng.permutation(np.repeat(np.arange(n_rows), weight))
    weighs = weight > 0
    once = Histogram.of(values[weighs], weight[weighs].astype(float), classes[weighs], 3)
    often = Histogram.of(values[shuffled], np.ones(len(shuffled)), classes[shuffled], 3)
    np.testing.assert_array_equal(once.low, often.low)
    np.testing.assert_array_equal(once.counts, often.counts)
    if len(once) > 1:
        assert supervised_cuts(once, 3) == supervised_cuts(often, 3)
        assert quantile_cuts(once, 3) == quantile_cuts(often, 3)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["supervised", "quantile", "uniform"]), st.booleans())
def test_rounding_a_cut_moves_no_row_across_it(seed, how, dates):
    rng = np.random.default_rng(seed)
    n_rows = 60
    values = np.round(rng.normal(20, rng.choice([0.01, 1, 1e4]), n_rows), int(rng.integers(0, 8)))
    target = (values + rng.normal(0, 0.5, n_rows) > 20).astype(int)
    table = {"v": values}
    if dates:
        table = {"v": np.datetime64("2021-03-01", "us") + (values * 1e6).astype("timedelta64[us]")}
        values = table["v"].astype(np.int64) / 1e6
    histogram = Histogram.of(values, np.ones(n_rows), target[:, None], 2)
    if len(histogram) < 2:
        return
    finder = {"supervised": supervised_cuts, "quantile": quantile_cuts, "uniform": uniform_cuts}[how]
    places = finder(histogram, 3)
    # Found in the column alone, as an engine counts it.
    columns = columns_of(table)
    tally = Tally.of(columns[0], target[:, None], 2, np.ones(n_rows))
    concepts = Booleaniser(how).fit_tallies([tally]).cutting_.values(columns)
    if histogram.low.tolist() == [0.0, 1.0]:
        return
    assert concepts.shape[1] == len(places)
    for column, place in zip(concepts.T, places, strict=True):
        np.testing.assert_array_equal(column, values >= histogram.low[place])


# Many values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planted", [0.1, 0.5, 0.9])
def test_many_values_are_merged_and_planted_cuts_still_found(planted):
    rng = np.random.default_rng(1)
    values = rng.random(50_000)
    target = ((values >= planted) ^ (rng.random(50_000) < 0.1)).astype(int)
    histogram = Histogram.of(values, np.ones(len(values)), target[:, None], 2)
    assert len(histogram) == MOST_BINS
    assert histogram.counts.sum() == 50_000
    # Parts of about equal weight, which neither overlap nor leave a value out.
    per_bin = histogram.counts.sum(axis=(1, 2))
    assert per_bin.max() <= 2 * per_bin.min()
    assert (histogram.low <= histogram.high).all()
    assert (histogram.high[:-1] < histogram.low[1:]).all()
    assert {histogram.low[0], histogram.high[-1]} == {values.min(), values.max()}
    low, high = histogram.gap(supervised_cuts(histogram, 1)[0])
    inside = np.sort(values)
    # The gap is one between neighbours, and no further from the truth than a bin and the noise.
    assert inside[np.searchsorted(inside, low) + 1] == high
    assert abs(low - planted) < 2 / MOST_BINS


def test_a_heavy_value_among_many_has_its_own_bin():
    values = np.concatenate([np.arange(3000.0), np.full(3000, 1500.0)])
    histogram = Histogram.of(values, np.ones(len(values)), np.zeros((len(values), 1), dtype=int), 1)
    assert len(histogram) <= MOST_BINS
    heavy = np.flatnonzero((histogram.low <= 1500) & (histogram.high >= 1500))
    assert len(heavy) == 1
    assert histogram.high[heavy[0]] - histogram.low[heavy[0]] <= 6
    assert histogram.counts.sum() == 6000


# Quantiles and equal steps -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), st.integers(1, 4))
def test_quantile_cuts_are_nearest_to_equal_shares(values, n_cuts):
    array = np.array(values, dtype=float)
    histogram = Histogram.of(array, np.ones(len(array)), np.zeros((len(array), 1), dtype=int), 1)
    places = quantile_cuts(histogram, n_cuts)
    if len(histogram) == 1:
        assert places == ()
        return
    shares = {place: (array < histogram.low[place]).mean() for place in range(1, len(histogram))}
    for k in range(1, n_cuts + 1):
        nearest = min(abs(share - k / (n_cuts + 1)) for share in shares.values())
        assert any(abs(abs(shares[place] - k / (n_cuts + 1)) - nearest) < 1e-12 for place in places)
    assert len(places) <= n_cuts
    assert all(0 < shares[place] < 1 for place in places)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.integers(1, 4))
def test_uniform_cuts_are_at_equal_steps(values, n_cuts):
    array = np.array(values, dtype=float)
    histogram = Histogram.of(array, np.ones(len(array)), np.zeros((len(array), 1), dtype=int), 1)
    places = uniform_cuts(histogram, n_cuts)
    low, high = array.min(), array.max()
    sides = {tuple(array >= histogram.low[place]) for place in places}
    steps = [low + (high - low) * k / (n_cuts + 1) for k in range(1, n_cuts + 1)]
    # A step between two values has the rows on the sides that the step itself has.
    assert sides == ({tuple(array >= step - 1e-9) for step in steps} if low < high else set())


# What a category tells, and weights that count -----------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=5))
def test_what_a_category_tells_is_its_mutual_information(counts):
    array = np.array(counts, dtype=float)
    told = told_by_each(array[:, None, :])
    category, klass = np.indices(array.shape)
    repeated = [np.repeat(part.ravel(), array.astype(int).ravel()) for part in (category, klass)]
    for place in range(len(array)):
        nats = mutual_info_score(repeated[0] == place, repeated[1]) if len(repeated[0]) else 0.0
        assert told[place] == pytest.approx(len(repeated[0]) * nats / math.log(2), abs=1e-6)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20))
def test_fractional_weights_are_worth_kishs_number_of_rows(weights):
    array = np.array([*weights, 0.5])
    scaled = counting_weight(array)
    assert scaled.sum() == pytest.approx(array.sum() ** 2 / (array**2).sum())
    np.testing.assert_allclose(scaled / scaled.sum(), array / array.sum())
    # Their unit does not matter.
    np.testing.assert_allclose(counting_weight(array * 0.37), scaled)
    counts = np.round(array) + 1
    assert counting_weight(counts) is counts


def test_a_thousand_classes_are_cut_without_overflow():
    values = np.arange(2000) % 1000
    column = Column("a", "number", values.astype(float), whole=True)
    tally = Tally.of(column, values[:, None], 1000, np.ones(2000))
    # A warning fails the test. Each cut tells half of the classes from the others.
    assert telling_cuts(tally.histogram, 3)
