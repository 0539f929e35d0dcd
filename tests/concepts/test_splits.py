"""Splits: properties of row numbers, checked by counting."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.splits import Fold, folds, split
from logiclens.errors import LogicLensError
from tests.examples import examples


def assert_parts(n_rows: int, *parts: np.ndarray) -> None:
    """Disjoint, in order, and together everything."""
    assert sorted(np.concatenate(parts).tolist()) == list(range(n_rows))
    for part in parts:
        assert (np.diff(part) > 0).all()


label_lists = st.integers(2, 4).flatmap(lambda k: st.lists(st.integers(0, k - 1), min_size=12, max_size=60))


@examples(60)
@given(label_lists, st.integers(2, 5), st.integers(0, 100))
def test_folds_cover_every_row_once(labels, n_folds, seed):
    made = list(folds(labels, n_folds, seed=seed))
    assert len(made) == n_folds
    for fold in made:
        assert isinstance(fold, Fold)
        assert_parts(len(labels), fold.train, fold.validation, fold.test)
        assert len(fold.train) > 0
        assert len(fold.validation) > 0
    # Every row is tested exactly once.
    assert sorted(np.concatenate([fold.test for fold in made]).tolist()) == list(range(len(labels)))


def test_folds_keep_the_shares_of_the_classes():
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    for fold in folds(labels, 5):
        assert Counter(labels[fold.test].tolist()) == {0: 12, 1: 6, 2: 2}
        assert len(fold.validation) == 16
        held = Counter(labels[fold.validation].tolist())
        assert [held[c] for c in range(3)] == pytest.approx([9.6, 4.8, 1.6], abs=1)


def test_a_rare_class_keeps_the_shares_of_the_others(monkeypatch):
    # Two rows cannot stand in five folds; the other classes still can.
    labels = np.repeat([0, 1, 2], [60, 38, 2])
    with monkeypatch.context() as patch:
        # The filters of warnings are those of all threads, so they stay as they are.
        patch.setattr(warnings, "filterwarnings", None)
        made = list(folds(labels, 5))
    for fold in made:
        tested = Counter(labels[fold.test].tolist())
        assert tested[0] == pytest.approx(12, abs=1)
        assert tested[1] == pytest.approx(7.6, abs=1)
        assert tested[2] <= 1
        assert len(fold.test) == 20


def test_the_validation_share_is_of_the_training_part():
    for fold in folds(np.arange(100) % 2, 4, validation=0.4):
        assert (len(fold.test), len(fold.validation), len(fold.train)) == (25, 30, 45)


@pytest.mark.parametrize("several", [False, True])
def test_folds_follow_from_the_seed(several):
    labels = np.random.default_rng(0).integers(0, 2, (40, 3) if several else 40)

    def rows(seed: int) -> list[list[int]]:
        return [part.tolist() for f in folds(labels, 4, seed=seed) for part in (f.train, f.validation, f.test)]

    np.random.seed(1)  # noqa: NPY002 (the global state must not matter)
    first = rows(7)
    np.random.seed(2)  # noqa: NPY002
    assert rows(7) == first
    assert rows(8) != first


def test_rows_are_shuffled():
    tests = [fold.test.tolist() for fold in folds(np.arange(40) % 2, 4)]
    assert all(test != list(range(test[0], test[0] + 10)) for test in tests)


def test_rows_with_several_labels_are_split_too():
    labels = np.random.default_rng(0).integers(0, 2, (50, 3))
    for fold in folds(labels, 5):
        assert_parts(50, fold.train, fold.validation, fold.test)
        assert len(fold.test) == 10


# ----------------------------------------------------------------------------------------------------------- groups


@examples(40)
@given(st.integers(0, 1000), st.integers(2, 4))
def test_a_group_is_never_split(seed, n_folds):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(8), rng.integers(1, 9, 8)))
    labels = rng.integers(0, 2, len(groups))
    made = list(folds(labels, n_folds, seed=seed, groups=groups))
    for fold in made:
        assert_parts(len(groups), fold.train, fold.validation, fold.test)
        sides = [set(groups[part].tolist()) for part in (fold.train, fold.validation, fold.test)]
        assert sum(len(side) for side in sides) == 8  # each group on one side
        assert all(sides)
    assert sorted(np.concatenate([fold.test for fold in made]).tolist()) == list(range(len(groups)))


def test_groups_follow_from_the_seed():
    groups = np.repeat(np.arange(10), 3)

    def tests(seed: int) -> list[list[int]]:
        return [fold.test.tolist() for fold in folds(groups % 2, 3, seed=seed, groups=groups)]

    assert tests(1) == tests(1)
    assert tests(1) != tests(2)


def test_a_split_keeps_groups_whole():
    groups = np.array(list("aabbccddee"))
    made = split(np.zeros(10), 0.4, groups=groups)
    assert_parts(10, made.train, made.validation)
    assert not set(groups[made.train]) & set(groups[made.validation])
    assert len(set(groups[made.validation])) == 2


def test_fewer_groups_than_folds_are_refused():
    with pytest.raises(LogicLensError, match="3 folds need at least 3 groups, got 2"):
        list(folds(np.zeros(6), 3, groups=[0, 0, 0, 1, 1, 1]))


def test_too_few_groups_for_validation_are_refused_in_our_words():
    # Two folds of two groups leave one group to train on: nothing can be set aside from it.
    with pytest.raises(LogicLensError, match="group"):
        list(folds([0, 1, 0, 1], 2, groups=[0, 0, 1, 1]))


def test_groups_must_have_one_entry_for_each_row():
    with pytest.raises(LogicLensError, match="group"):
        list(folds([0, 1, 0, 1], 2, groups=[0, 1, 2]))
    with pytest.raises(LogicLensError, match="group"):
        split([0, 1, 0, 1], groups=[0, 1, 2])


# ------------------------------------------------------------------------------------------------------------ split


@examples(60)
@given(label_lists, st.floats(0.1, 0.5), st.integers(0, 100))
def test_a_split_has_two_parts(labels, validation, seed):
    made = split(labels, validation, seed=seed)
    assert_parts(len(labels), made.train, made.validation)
    again = split(labels, validation, seed=seed)
    assert made.train.tolist() == again.train.tolist()
    single = [label for label, n in Counter(labels).items() if n == 1]
    assert len(made.validation) == round(validation * (len(labels) - len(single)))
    # Every class can be learned: it stands in the training part.
    assert {labels[i] for i in made.train} == set(labels)


@pytest.mark.parametrize("seed", range(20))
def test_a_class_with_one_row_stays_in_the_training_part(seed):
    labels = np.array([0] * 5 + [1] * 5 + [2] + [3])
    made = split(labels, 0.4, seed=seed)
    assert {10, 11} <= set(made.train.tolist())
    assert Counter(labels[made.validation].tolist()) == {0: 2, 1: 2}


def test_nothing_is_set_aside_where_every_class_has_one_row():
    made = split([0, 1, 2], 0.3)
    assert made.train.tolist() == [0, 1, 2]
    assert made.validation.tolist() == []


def test_too_few_rows_for_strata_are_still_split():
    # Five classes, two rows to set aside: shares cannot be kept, the number of rows can.
    made = split(np.repeat(np.arange(5), 2), 0.2)
    assert_parts(10, made.train, made.validation)
    assert len(made.validation) == 2


@pytest.mark.parametrize(
    ("labels", "validation"), [([0, 0], 0.9), ([0, 0, 1, 1], 0.9), (np.repeat(np.arange(5), 2), 0.8)]
)
def test_a_large_validation_part_leaves_rows_to_train_on(labels, validation):
    made = split(labels, validation)
    assert_parts(len(labels), made.train, made.validation)
    assert len(made.train) > 0


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan")])
def test_the_validation_share_must_be_a_share(share):
    with pytest.raises(LogicLensError, match=f"must be a share between 0 and 1, got {share}"):
        split([0, 1, 0, 1], share)
    with pytest.raises(LogicLensError, match="must be a share between 0 and 1"):
        list(folds([0, 1, 0, 1], 2, validation=share))


@pytest.mark.parametrize("n_folds", [0, 1, 5])
def test_the_number_of_folds_must_fit_the_rows(n_folds):
    with pytest.raises(LogicLensError, match=f"n_folds must be between 2 and the number of rows, 4; got {n_folds}"):
        list(folds([0, 1, 0, 1], n_folds))
