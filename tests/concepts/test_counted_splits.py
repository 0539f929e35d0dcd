"""Counted splits: distinct rows in a reproducible order, and stratified held-out parts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedShuffleSplit

from logiclens.concepts.splits import distinct_rows, row_hashes, set_apart
from logiclens.errors import LogicLensError
from logiclens.tables.frames import columns_of

seeds = st.integers(0, 2**32 - 1)


def random_frame(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Few values in columns of every kind, so that rows repeat."""
    return pd.DataFrame(
        {
            "number": rng.choice([0.0, -0.0, 1.5, np.nan], n_rows),
            "flag": rng.choice([True, False], n_rows),
            "text": rng.choice(np.array(["a", "b", None], dtype=object), n_rows),
            "day": rng.choice(np.array(["2021-01-01", "NaT"], dtype="datetime64[us]"), n_rows),
        }
    )


def keys_of(frame: pd.DataFrame, classes: np.ndarray) -> list[tuple]:
    """Rows as Python sees them equal: gaps are one value, and −0.0 is 0.0."""
    cells = [[None if pd.isna(cell) else cell for cell in row] for row in frame.itertuples(index=False)]
    return [(*row, int(klass)) for row, klass in zip(cells, classes, strict=True)]


# Distinct rows -------------------------------------------------------------------------------------------------------


@given(seeds)
def test_distinct_rows_and_their_weights_equal_a_dictionary(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 80))
    frame, classes = random_frame(rng, n_rows), rng.integers(0, 2, n_rows)
    weight = rng.integers(0, 3, n_rows).astype(float)
    weight[rng.integers(n_rows)] = 1.0
    keys = keys_of(frame, classes)
    expected: Counter = Counter()
    for key, w in zip(keys, weight, strict=True):
        expected[key] += w
    found = distinct_rows(columns_of(frame), classes[:, None], weight, seed=3)
    assert len(found) == sum(w > 0 for w in expected.values())
    assert {keys[place]: w for place, w in zip(found.first, found.weight, strict=True)} == {
        key: w for key, w in expected.items() if w > 0
    }


@given(seeds)
def test_neither_order_nor_repetition_changes_the_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 40))
    frame, classes = random_frame(rng, n_rows), rng.integers(0, 2, n_rows)
    weight = rng.integers(1, 4, n_rows)
    rows = rng.permutation(np.repeat(np.arange(n_rows), weight))
    keys = keys_of(frame, classes)
    weighed = distinct_rows(columns_of(frame), classes[:, None], weight.astype(float), seed=7)
    repeated = distinct_rows(columns_of(frame.iloc[rows]), classes[rows][:, None], np.ones(len(rows)), seed=7)
    # The same rows, in the same order, with the same weights.
    assert [keys[place] for place in weighed.first] == [keys[rows[place]] for place in repeated.first]
    np.testing.assert_array_equal(weighed.weight, repeated.weight)


def test_the_seed_shuffles_away_the_order_of_values():
    frame = pd.DataFrame({"v": np.arange(2000.0)})
    classes = np.zeros((2000, 1), dtype=int)
    first, again, other = (distinct_rows(columns_of(frame), classes, np.ones(2000), seed=s).first for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.99
    assert abs(np.corrcoef(np.arange(2000), first)[0, 1]) < 0.1
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.1


def test_a_hash_depends_on_columns_and_not_on_other_rows():
    one = row_hashes(columns_of(pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0], "t": ["x", "y"]})))
    assert len(set(one.tolist())) == 2
    alone = row_hashes(columns_of(pd.DataFrame({"a": [2.0], "b": [1.0], "t": ["y"]})))
    assert alone[0] == one[1]
    # The same numbers, held as another type.
    as_integers = row_hashes(columns_of(pd.DataFrame({"a": [2], "b": [1], "t": pd.Categorical(["y"])})))
    assert as_integers[0] == one[1]
    many = row_hashes(columns_of(np.random.default_rng(0).integers(0, 40, (20_000, 3))))
    distinct = np.unique(np.random.default_rng(0).integers(0, 40, (20_000, 3)), axis=0)
    assert len(np.unique(many)) == len(distinct)


# Shares --------------------------------------------------------------------------------------------------------------

weights = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), min_size=1, max_size=40)
shares = st.floats(0, 0.99)


@given(weights, shares)
def test_a_part_has_its_share_of_every_class(rows, share):
    classes, weight = (np.array(part) for part in zip(*rows, strict=True))
    taken = set_apart(classes, weight.astype(float), share)
    assert ((taken >= 0) & (taken <= weight)).all()
    assert (taken == np.round(taken)).all()
    for klass in np.unique(classes):
        total, part = weight[classes == klass].sum(), taken[classes == klass].sum()
        if total:
            assert part <= total - 1
        assert abs(part - share * total) <= 0.5 or part == max(total - 1, 0)


@given(weights, shares)
def test_weights_are_copies(rows, share):
    classes, weight = (np.array(part) for part in zip(*rows, strict=True))
    taken = set_apart(classes, weight.astype(float), share)
    copies = np.repeat(np.arange(len(weight)), weight)
    one_by_one = set_apart(classes[copies], np.ones(len(copies)), share)
    np.testing.assert_array_equal(taken, np.bincount(copies, one_by_one, minlength=len(weight)))


@given(st.lists(st.integers(0, 1), min_size=2, max_size=40), shares)
def test_fractional_weights_keep_rows_whole(classes, share):
    array = np.array(classes)
    weight = np.linspace(0.1, 2.3, len(array))
    taken = set_apart(array, weight, share)
    assert set(np.unique(taken / weight).round(12)) <= {0.0, 1.0}
    for klass in np.unique(array):
        rows = array == klass
        # Rows are counted, whatever they weigh.
        assert abs((taken[rows] > 0).sum() - share * rows.sum()) <= 0.5 or (taken[rows] > 0).sum() == rows.sum() - 1
    np.testing.assert_array_equal(taken > 0, set_apart(array, np.ones(len(array)), share) > 0)


def test_shares_of_classes_are_those_of_scikit_learns_split():
    classes = np.random.default_rng(0).choice(4, 1000, p=[0.5, 0.3, 0.15, 0.05])
    taken = set_apart(classes, np.ones(1000), 0.2)
    _, test = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=0).split(classes, classes))
    np.testing.assert_allclose(np.bincount(classes, taken), np.bincount(classes[test]), atol=1)


def test_without_classes_all_rows_are_one_stratum():
    taken = set_apart(None, np.ones(10), 0.3)
    assert taken.sum() == 3
    # Evenly spaced, not the first three.
    assert np.flatnonzero(taken).tolist() == [1, 5, 8]


def test_rows_that_stand_for_billions_are_counted_and_not_listed():
    taken = set_apart(np.array([0, 0, 1]), np.array([3e12, 1e12, 5.0]), 0.2)
    assert taken.tolist() == [6e11, 2e11, 1.0]


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, float("nan")])
def test_a_share_is_below_one(share):
    with pytest.raises(LogicLensError, match=f"a part must be a share from 0 to below 1, got {share}"):
        set_apart(None, np.ones(3), share)
