"""Sharper cuts: thresholds move to where a formula errs least, if that is significant."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.reference_cuts import ReferenceCut
from logiclens.estimator.inputs import known_labels
from logiclens.estimator.prepare import Cutter, _Raw
from logiclens.explain.thresholds import _cost_of_errors, _Table, sharper_cuts
from logiclens.tables.frames import columns_of


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


def parts_as_asked(frame: pd.DataFrame, booleaniser: Booleaniser) -> list[bool]:
    """For each of the two cubes, whether some cut of the income parts its rows as the threshold does."""
    cuts = [meant.value for meant in booleaniser.predicates_.values() if meant.column == "income"]
    asked = {60: frame["plan"] == "a", 61.4: (frame["plan"] == "b") & (frame["score"] < 0.7)}
    incomes = {wanted: frame.loc[rows, "income"] for wanted, rows in asked.items()}
    return [any(((each >= cut) == (each >= wanted)).all() for cut in cuts) for wanted, each in incomes.items()]


@pytest.mark.parametrize(("n_rows", "seed"), [(2_000, 2), (2_000, 3), (8_000, 0)])
def test_two_thresholds_that_were_taken_for_one_are_told_apart(n_rows, seed):
    frame, labels = two_near_thresholds(n_rows, seed)
    booleaniser, arguments = fitted(frame, labels)
    before = parts_as_asked(frame, booleaniser)
    assert not all(before)
    known = set(booleaniser.predicates_)
    sharper = sharper_cuts(booleaniser, *arguments)
    assert list(sharper) == ["income"]
    again = booleaniser.sharpened(sharper, *arguments)
    assert parts_as_asked(frame, again) == [True, True]
    assert len(set(again.predicates_) - known) == before.count(False)


def several_cubes(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Cubes that ask for nearly the same thresholds of two columns, with whole and with rounded values."""
    rng = np.random.default_rng(seed)
    n_rows = 1_500
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 60, n_rows).astype(float),
            "income": rng.exponential(20, n_rows).round(1),
            "plan": rng.choice(list("abcd"), n_rows),
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    labels = np.zeros(n_rows, dtype=bool)
    for plan in "abc":
        column = rng.choice(["age", "income"])
        threshold = np.quantile(frame[column], 0.5 + rng.choice([0, 0.005, 0.01, -0.01]))
        labels |= np.asarray((frame[column] >= threshold) & (frame["plan"] == plan) & (frame["flag"] | (plan != "b")))
    return frame, labels ^ (rng.random(n_rows) < rng.choice([0, 0.005]))


def test_cuts_stay_in_order_and_no_two_are_written_alike():
    """Cubes see other rows: what they want may overlap, be one number, or stand in another order than its gaps."""
    n_moved = 0
    for seed in range(40):
        frame, labels = several_cubes(seed)
        booleaniser, arguments = fitted(frame, labels)
        sharper = sharper_cuts(booleaniser, *arguments)
        n_moved += bool(sharper)
        again = booleaniser.sharpened(sharper, *arguments)
        for column in ("age", "income"):
            cuts = [meant.value for meant in again.predicates_.values() if meant.column == column]
            assert cuts == sorted(set(cuts)), (seed, cuts)
    assert n_moved >= 5


def test_gaps_for_which_one_number_is_written_are_one_cut():
    booleaniser, arguments = fitted(*several_cubes(0))
    gaps = [(8.0, 10.0), (9.0, 11.0), (22.0, 29.0), (23.0, 24.0)]
    again = booleaniser.sharpened({"age": [ReferenceCut(*gap, math.inf) for gap in gaps]}, *arguments)
    cuts = [meant.value for meant in again.predicates_.values() if meant.column == "age"]
    assert cuts == sorted(set(cuts))
    assert {10, 24} < set(cuts)
    values = np.asarray(again.cutting_.values(columns_of(several_cubes(0)[0])))
    # Whoever is above a cut is above every lower one.
    places = [place for place, name in enumerate(again.cutting_.names) if name.startswith("age >=")]
    assert (np.diff(values[:, places].astype(int), axis=1) <= 0).all()


@pytest.mark.parametrize("share", [0.025, 0.3])
def test_a_class_of_pure_noise_moves_no_cut(share):
    """Errors on few rows are a small share of all: a rare class must be told by its own rows."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.random((1_000, 12)).round(3), columns=[f"v{j}" for j in range(12)])
        booleaniser, arguments = fitted(frame, rng.random(1_000) < share)
        assert sharper_cuts(booleaniser, *arguments) == {}, seed


def test_rescaled_columns_are_read_at_their_middle():
    frame, labels = two_near_thresholds()
    booleaniser, (columns, _, _, weight) = fitted(frame, labels, cuts={"score": "soft"})
    table = _Table.of(booleaniser.cutting_, columns, {"income"}, weight)
    (place,) = (place for place, name in enumerate(table.names) if name.startswith("score"))
    assert 0.4 < table.bits[:, place].mean() < 0.6
    assert place not in table.about


def test_with_many_classes_nothing_is_searched(monkeypatch):
    frame, _ = two_near_thresholds()
    labels = np.minimum(frame["income"] // 15, 5).astype(int).to_numpy()
    monkeypatch.setattr(_Table, "sharpened", lambda *_: pytest.fail("a formula was searched"))
    booleaniser, arguments = fitted(frame, labels)
    assert booleaniser.reference_.errors < 0.03
    assert sharper_cuts(booleaniser, *arguments) == {}


def test_labels_of_a_fold_move_none_of_its_cuts():
    frame, labels = two_near_thresholds(1_200, seed=3)
    codes, weight = labels.astype(int), np.ones(len(labels))
    groups = np.stack([(np.arange(len(labels)) % 3 == group).astype(float) for group in range(3)])

    def cuts(codes: np.ndarray) -> list[tuple[str, ...]]:
        raw = _Raw.of(frame, True)
        known = known_labels(codes, weight)
        cutter = Cutter(raw, known, np.arange(len(labels)), known.codes, weight, Booleaniser())
        return [tuple(cut.table.names) for cut in cutter.grouped(groups).without]

    turned = codes.copy()
    turned[groups[1] > 0] ^= 1
    before, after = cuts(codes), cuts(turned)
    assert before[1] == after[1]
    assert before[0] != after[0]


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


def test_a_weight_of_two_equals_a_repeated_row():
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
    assert _cost_of_errors(0, 100) == _cost_of_errors(100, 100) == 0
    assert _cost_of_errors(50, 100) == pytest.approx(100 * math.log(2))
    assert _cost_of_errors(1, 1_000) == pytest.approx(math.log(1_000) + 1, abs=1e-3)
