"""The committee: bags, out-of-bag probabilities, no leak into inner folds, mean answers and relevance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logiclens import EntropyClassifier
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.splits import split_groups
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimator.inputs import known_labels
from logiclens.estimator.prepare import Cutter, _Raw
from logiclens.estimator.training import Begun, probabilities, train_networks
from logiclens.explain.candidates import folds_of
from logiclens.nn import EntropyNet
from logiclens.nn.committee import Committee
from logiclens.train.committee import n_groups_for, teacher_of


def table(n_rows: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n_rows), "z": rng.normal(size=n_rows), "u": rng.integers(0, 3, n_rows)})
    labels = ((frame["x"] > 0.3) ^ (rng.random(n_rows) < 0.1)).to_numpy().astype(int)
    return frame, labels


def cutter(frame: pd.DataFrame, labels: np.ndarray) -> Cutter:
    weight = np.ones(len(frame))
    known = known_labels(labels, weight)
    return Cutter(_Raw.of(frame, True), known, np.arange(len(frame)), known.codes, weight, Booleaniser())


def taught(made: Cutter, groups: np.ndarray):
    """The teacher of grouped rows, as `fit` trains it."""
    grouped = made.grouped(groups)
    model = EntropyClassifier(epochs=25)
    begun = Begun(model, made.known.classes, grouped.cut.table, None, 0, grouped)
    networks = begun.networks()
    train_networks(networks)
    return teacher_of(grouped, grouped.jobs(), [one.network.double() for one in networks], probabilities)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=40),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
def test_groups_share_every_class_out_evenly(weights, n_groups, random):
    weight = np.array(weights, dtype=np.float64)
    classes = np.array([random.randrange(3) for _ in weights])
    groups = split_groups(classes, weight, n_groups)
    np.testing.assert_array_equal(groups.sum(axis=0), weight)
    assert (groups >= 0).all()
    for klass in range(3):
        sizes = groups[:, classes == klass].sum(axis=1)
        assert sizes.max() - sizes.min() <= 1


def test_rows_with_other_weights_stay_whole():
    weight = np.array([0.5, 1.5, 0.7, 2.2])
    groups = split_groups(np.zeros(4, dtype=int), weight, 2)
    assert ((groups > 0).sum(axis=0) == 1).all()
    np.testing.assert_allclose(groups.sum(axis=0), weight)


@pytest.mark.parametrize(("committee", "rarest", "groups"), [
    (None, 100, 5), (None, 3, 3), (None, 1, 1), (1, 100, 5), (2, 100, 2), (3, 100, 3), (8, 100, 4), (10, 100, 5),
    (15, 100, 6),
])  # fmt: skip
def test_the_groups_of_a_committee(committee, rarest, groups):
    assert n_groups_for(committee, rarest) == groups


def test_labels_of_a_fold_leave_its_training_targets_alone():
    frame, labels = table()
    first = cutter(frame, labels)
    groups = split_groups(first.codes, first.weight, 5)
    test = 2
    held = groups[test] > 0
    changed = np.where(held, 1 - first.codes, first.codes)
    second = replace(first, codes=changed)
    before, after = taught(first, groups), taught(second, groups)
    one, two = before.without(test), after.without(test)
    assert one.table.names == two.table.names
    np.testing.assert_array_equal(one.table.values, two.table.values)
    np.testing.assert_array_equal(one.probability, two.probability)
    np.testing.assert_array_equal(one.weight, two.weight)
    # The check can fail: other folds have learned from these rows.
    assert not np.array_equal(before.without(0).probability, after.without(0).probability)


def test_no_row_is_taught_by_a_network_that_saw_it():
    frame, labels = table()
    made = cutter(frame, labels)
    groups = split_groups(made.codes, made.weight, 5)
    grouped = made.grouped(groups)
    for job in grouped.jobs():
        rows, held = job.bag(grouped, 0.2)
        n_seen = rows.n_counted + held.n_counted
        assert n_seen == int(grouped.weight.sum() - groups[list(job.left_out)].sum())
    teacher = taught(made, groups)
    for test, fold in enumerate(folds_of(teacher)):
        assert fold.train.weight.sum() == made.weight.sum() - groups[test].sum()
        assert fold.test.weight.sum() == groups[test].sum()
    # Out of bag: the rows of a group get the mean of the members that left it out.
    everything = teacher.all_rows()
    members = [answers for answers, job in zip(teacher.answers, teacher.jobs, strict=True) if job.test is None]
    for row in range(0, len(frame), 17):
        group = int(np.argmax(groups[:, row]))
        left = [a for a, job in zip(members, teacher.jobs, strict=False) if group in job.left_out]
        assert len(left) == 4
        np.testing.assert_allclose(everything.probability[row], np.mean([a[row] for a in left], axis=0))


def test_a_committee_answers_with_the_mean_probability():
    generator = torch.Generator().manual_seed(0)
    members = [EntropyNet(4, 3, (5,), generator=generator).double() for _ in range(3)]
    rows = torch.rand(7, 4, dtype=torch.float64)
    mean = torch.stack([torch.softmax(member(rows), dim=-1) for member in members]).mean(dim=0)
    torch.testing.assert_close(torch.softmax(Committee(members)(rows), dim=-1), mean)
    single = torch.stack([torch.sigmoid(member(rows)) for member in members]).mean(dim=0)
    torch.testing.assert_close(torch.sigmoid(Committee(members, single=True)(rows)), single)


def test_relevance_of_a_committee_is_the_mean_rescaled():
    generator = torch.Generator().manual_seed(1)
    members = [EntropyNet(4, 2, (5,), generator=generator).double() for _ in range(3)]
    mean = torch.stack([member.entropy.relevance() for member in members]).mean(dim=0)
    relevance = Committee(members).relevance()
    torch.testing.assert_close(relevance, mean / mean.amax(dim=-1, keepdim=True))
    assert (relevance.amax(dim=-1) == 1).all()


def test_rows_repeated_and_rows_weighed_give_the_same_rules():
    frame, labels = table(60)
    times = np.random.default_rng(3).integers(1, 4, len(frame))
    weighed = EntropyClassifier(epochs=30).fit(frame, labels, sample_weight=times)
    order = np.random.default_rng(4).permutation(np.repeat(np.arange(len(frame)), times))
    repeated = EntropyClassifier(epochs=30).fit(frame.iloc[order], labels[order])
    assert weighed.rules_ == repeated.rules_
    np.testing.assert_array_equal(weighed.predict_proba(frame), repeated.predict_proba(frame))


@pytest.mark.parametrize(("settings", "message"), [
    ({"committee": 0}, "committee must be a whole number from 1 to 4,950, or None, got 0"),
    ({"committee": 2.5}, "committee must be a whole number from 1 to 4,950, or None, got 2.5"),
    ({"committee": 3, "method": "paper"}, "method='paper' explains one network: leave out committee=3"),
    ({"committee": 4}, "committee must be 1, 2, 3, 6, 10, 15 …, one for each pair of groups, got 4"),
    ({"committee": 1, "stable": True}, "stable and score_against='network' need bags: leave out committee=1"),
    ({"min_support": -1}, "min_support must be a weight from 0 on, or None, got -1"),
    ({"price": 2}, "price must be a price from 0 to below 1, or None, got 2"),
    ({"max_literals": 0}, "max_literals must be a whole number of at least 1, or None, got 0"),
    ({"score_against": "both"}, "score_against must be 'network' or 'labels', or None"),
    ({"method": "minimal"}, "method must be 'search' or 'paper', got 'minimal'"),
    ({"exact": True, "method": "paper"}, "exact, stable and teacher need method='search'"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(settings, message):
    frame, labels = table(30)
    with pytest.raises(LogicLensError, match=message.replace("(", r"\(")):
        EntropyClassifier(**settings).fit(frame, labels)


def test_a_class_with_two_rows_gets_the_shortest_formula():
    frame, _ = table(40)
    labels = np.array([1] + [0] * 39)
    with pytest.warns(LogicLensWarning, match="'1' is rare"):
        model = EntropyClassifier(epochs=10).fit(frame, labels)
    (choice,) = model.learned_.choices
    assert "too few rows" in choice.note
    assert not choice.bags
