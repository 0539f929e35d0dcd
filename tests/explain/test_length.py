"""The choice of length: cross-validated scores, the honest best, standard errors, one formula for two classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from logiclens import EntropyClassifier
from logiclens.errors import LogicLensWarning
from logiclens.explain import choice as choice_module
from logiclens.explain.candidates import SearchTable
from logiclens.explain.choice import Choice, _is_better, _most_frequent
from logiclens.explain.length import ERRORS, Judge, SearchConfig, Trial, eligible
from logiclens.formula import Complement
from logiclens.formula.groups import Groups


def judge_of(labels: np.ndarray, n_folds: int = 5) -> Judge:
    yes = labels.astype(float)
    n = len(labels)
    return Judge(np.stack([1 - yes, yes]), np.ones(n), np.ones(n), np.arange(n) % n_folds)


def trial(judge: Judge, fires: np.ndarray, literals: float, *, share: float = 1.0, stability: float = 1.0) -> Trial:
    return Trial((1,), share, 1 / (1 + literals), fires[None], judge.score([1], fires[None]), literals, 0.0, stability)


@pytest.fixture
def labels() -> np.ndarray:
    return np.random.default_rng(0).random(600) < 0.4


def flipped(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    return labels ^ (np.random.default_rng(seed).random(len(labels)) < share)


def test_the_score_is_scikit_learns_macro_f1(labels):
    judge, fires = judge_of(labels), flipped(labels, 0.2, 1)
    assert judge.score([1], fires[None]) == pytest.approx(f1_score(labels, fires, average="macro"))
    assert judge.score([0], ~fires[None]) == pytest.approx(judge.score([1], fires[None]))


def test_the_error_is_that_of_a_bootstrap(labels):
    judge = judge_of(labels)
    first, second = trial(judge, flipped(labels, 0.1, 1), 3), trial(judge, flipped(labels, 0.15, 2), 1)
    rng, differences = np.random.default_rng(3), []
    for _ in range(400):
        rows = rng.integers(0, len(labels), len(labels))
        scores = [f1_score(labels[rows], one.fires[0, rows], average="macro") for one in (first, second)]
        differences.append(scores[0] - scores[1])
    assert judge.error(first, second, correction=1.0) == pytest.approx(np.std(differences), rel=0.15)
    # Nadeau and Bengio: 1/5 + 1/4 in place of 1/5.
    assert judge.error(first, second) == pytest.approx(1.5 * judge.error(first, second, correction=1.0))


def test_the_error_does_not_depend_on_which_class_is_stated(labels):
    judge = judge_of(labels)
    first, second = trial(judge, flipped(labels, 0.1, 1), 3), trial(judge, flipped(labels, 0.15, 2), 1)
    other = Trial((0,), 1.0, 0.1, ~second.fires, judge.score([0], ~second.fires), 1)
    assert judge.error(first, other) == pytest.approx(judge.error(first, second))


def test_what_is_within_one_error_of_the_best_is_eligible(labels):
    judge = judge_of(labels)
    best, far = trial(judge, flipped(labels, 0.10, 5), 9), trial(judge, flipped(labels, 0.3, 6), 1)
    # As many rows are answered otherwise to the better as to the worse, and one more.
    fires, right = best.fires[0].copy(), best.fires[0] == labels
    changed = np.r_[np.flatnonzero(right)[:11], np.flatnonzero(~right)[:10]]
    fires[changed] ^= True
    close = trial(judge, fires, 2)
    kept = eligible([best, close, far], judge)
    assert close in kept
    assert far not in kept
    assert eligible([best, close, far], judge, one_se=False) == [best]


def test_an_unstable_best_must_be_better_by_more(labels):
    judge = judge_of(labels)
    short = trial(judge, flipped(labels, 0.16, 7), 1)
    for n_wrong in range(60):
        fires = labels.copy()
        fires[np.flatnonzero(short.fires[0] != labels)[:n_wrong]] ^= True
        for stability, errors in ((1.0, ERRORS[0]), (0.5, sum(ERRORS) / 2), (0.0, ERRORS[1])):
            best = trial(judge, fires, 9, stability=stability)
            within = best.score - short.score <= errors * judge.error(best, short)
            assert (short in eligible([best, short], judge)) is within


def test_ties_between_trials_for_a_fold_use_the_usual_answers(labels):
    """Two of three trials that are perfect elsewhere are perfect in the last fold too."""
    judge = judge_of(labels)
    here = judge.fold == 4
    odd = labels ^ (here & (np.arange(len(labels)) % 3 == 0))
    trials = [trial(judge, fires, 1) for fires in (odd, labels, labels)]
    assert judge.honest_best(trials).score == 1.0


def test_a_trial_without_errors_on_unseen_rows_is_best(labels):
    """Others are as good on all folds but one, and most of them are wrong there."""
    judge = judge_of(labels)
    wrong = [labels ^ ((judge.fold == fold) & (np.arange(len(labels)) % 20 == fold)) for fold in range(5)]
    trials = [*(trial(judge, fires, 2) for fires in wrong * 2), trial(judge, labels, 9)]
    assert judge.honest_best(trials) is trials[-1]
    assert judge.honest_best(trials[:-1]).score < 1.0


def test_the_best_of_many_chance_trials_is_not_flattered(labels):
    judge = judge_of(labels)
    trials = [trial(judge, flipped(labels, 0.4, seed), 5) for seed in range(40)]
    assert judge.honest_best(trials).score < max(one.score for one in trials)


def planted(n_rows: int = 300, noise: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.random((n_rows, 8)) < 0.5, columns=list("abcdefgh")).astype(int)
    yes = (frame["a"] & frame["b"] | frame["c"] & ~frame["d"].astype(bool)).to_numpy().astype(bool)
    return frame, np.where(yes ^ (rng.random(n_rows) < noise), "yes", "no")


def test_two_classes_have_one_formula_and_its_complement():
    frame, labels = planted()
    model = EntropyClassifier(epochs=40, exact=True).fit(frame, labels)
    first, second = model.learned_.formulas
    stated, other = (first, second) if isinstance(second, Complement) else (second, first)
    assert other == Complement(stated)
    assert len(model.learned_.choices) == 1
    np.testing.assert_array_equal(model.predict(frame), labels)


def test_more_classes_are_decided_in_the_printed_order():
    frame, labels = planted()
    three = np.where(frame["e"] == 1, "third", labels)
    model = EntropyClassifier(epochs=40).fit(frame, three)
    rules, fires = model.rules_, model.rules_.fires(frame)
    expected = [
        next((rules.rules[k].label for k in rules.order if row[k]), rules.rules[rules.otherwise].label) for row in fires
    ]
    np.testing.assert_array_equal(rules.predict(frame), expected)
    assert "the first that applies decides" in str(model.explain())


def test_the_path_has_cross_validated_scores():
    frame, labels = planted(noise=0.05)
    model = EntropyClassifier(epochs=40).fit(frame, labels)
    points = [point for point in model.explain().pareto() if point.cross_validated is not None]
    assert points
    assert all(0 <= point.cross_validated <= 1 for point in points)


def test_a_limit_on_literals_is_kept():
    frame, labels = planted()
    model = EntropyClassifier(epochs=20, max_literals=2).fit(frame, labels)
    assert model.learned_.choices[0].n_literals <= 2


def test_pure_noise_gets_a_short_formula_or_none():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.random((300, 8)) < 0.5, columns=list("abcdefgh")).astype(int)
    model = EntropyClassifier(epochs=20).fit(frame, rng.random(300) < 0.5)
    assert model.learned_.choices[0].n_literals <= 3


def test_the_joint_error_of_classes_is_that_of_a_bootstrap():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 800)
    yes = (labels == np.arange(4)[:, None]).astype(float)
    judge = Judge(yes, np.ones(800), np.ones(800), np.arange(800) % 5)
    classes = (0, 2, 3)

    def answered(share: float) -> Trial:
        fires = (yes[list(classes)] > 0) ^ (rng.random((3, 800)) < share)
        return Trial(classes, 1.0, 0.1, fires, judge.score(classes, fires), 1.0)

    first, second = answered(0.05), answered(0.1)
    differences = []
    for _ in range(400):
        rows = rng.integers(0, 800, 800)
        drawn = replace(judge, yes=yes[:, rows])
        scores = [drawn.score(classes, one.fires[:, rows]) for one in (first, second)]
        differences.append(scores[0] - scores[1])
    assert judge.error(first, second, correction=1.0) == pytest.approx(np.std(differences), rel=0.15)


def many_classes(n_classes: int = 30, n_each: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    """Each class has its own pair of columns; three further columns are noise."""
    rng = np.random.default_rng(1)
    pairs = [(a, b) for a in range(9) for b in range(a)][:n_classes]
    labels = np.repeat(np.arange(n_classes), n_each)
    bits = np.zeros((len(labels), 12), dtype=int)
    for klass, pair in enumerate(pairs):
        bits[np.ix_(labels == klass, pair)] = 1
    bits[:, 9:] = rng.random((len(labels), 3)) < 0.5
    return pd.DataFrame(bits, columns=[f"c{j}" for j in range(12)]), labels


def test_many_classes_share_one_price_and_teacher_share():
    rows, labels = many_classes()
    model = EntropyClassifier(exact=True, epochs=60, random_state=0).fit(rows, labels)
    choices = model.learned_.choices
    assert len(choices) == 30
    assert len({(choice.price, choice.share) for choice in choices}) == 1
    assert all(len(choice.bags) == 5 for choice in choices)
    assert model.score(rows, labels) == 1.0
    assert [str(model.rules_.formulas[k]) for k in (0, 29)] == ['"c0 is 1" & "c1 is 1"', '"c1 is 1" & "c8 is 1"']


def test_a_class_of_one_row_does_not_set_the_folds():
    rows, labels = many_classes(13, 20)
    labels = np.array([f"class {label}" for label in labels])
    labels[0] = "class 99"
    with pytest.warns(LogicLensWarning, match="'class 99' is rare"):
        model = EntropyClassifier(epochs=20, random_state=0).fit(rows, labels)
    assert all(len(choice.bags) == 5 and choice.note is None for choice in model.learned_.choices)


def test_thinned_distant_rows_keep_their_total_weight():
    rng = np.random.default_rng(2)
    bits = np.unique(rng.random((3000, 14)) < 0.5, axis=0)
    labels = np.eye(2)[(bits[:, 0] & bits[:, 1] & bits[:, 2]).astype(int)]
    weight = np.where(np.arange(len(bits)) % 50 == 0, 40.0, 1.0)
    labels = labels * weight[:, None]
    names = tuple(f"c{j}" for j in range(14))
    table = SearchTable(names, names, Groups(), bits, weight, labels, weight, labels, labels)
    whole, thin = table.rows(1, 1.0), table.rows(1, 1.0, far=200)
    near = int((labels[:, 1] > 0).sum())
    assert near + 100 < len(thin.yes) <= near + 200 < len(whole.yes)
    assert thin.totals == pytest.approx(whole.totals)
    assert thin.weight.sum() == pytest.approx(whole.weight.sum())
    # What a cube covers is estimated without bias: heavy rows neither vanish nor grow.
    for code in range(6, 28):
        covered = [rows.no[rows.fires((code,))].sum() for rows in (whole, thin)]
        assert covered[1] == pytest.approx(covered[0], rel=0.25)
    assert np.array_equal(table.rows(1, 1.0, far=10**6).columns, whole.columns)


def search_table(bits: np.ndarray, labels: np.ndarray) -> SearchTable:
    names, weight = tuple(f"c{j}" for j in range(bits.shape[1])), np.ones(len(bits))
    targets = np.stack([~labels, labels], axis=1).astype(float)
    return SearchTable(names, names, Groups(), bits, weight, targets, weight, targets, targets)


def test_a_formula_is_better_only_beyond_its_error():
    rng = np.random.default_rng(3)
    bits = rng.random((300, 3)) < 0.5
    labels = bits[:, 0].copy()
    bits[:, 2] = labels ^ (np.arange(300) < 2)
    table = search_table(bits, labels)
    good, other = (1, ((0,),)), (1, ((2,),))
    # Two rows of 300 are within the error.
    assert not _is_better(table, good, (1, ((4,),)))
    assert _is_better(table, good, other)
    assert not _is_better(table, other, good)
    assert not _is_better(table, good, good)
    # The other class with the complement says the same.
    assert not _is_better(table, good, (0, ((1,),)))


def test_the_recurring_formula_replaces_one_that_is_no_better():
    bits = np.random.default_rng(4).random((400, 3)) < 0.5
    bits[:, 1] = bits[:, 0]
    table = search_table(bits, bits[:, 0].copy())
    choice = Choice(1, 0.0, 0.01, ((0,),), table.names, (), ())
    usual, bad = ((2,),), ((4,),)
    for bags, cubes in (
        ([usual] * 5 + [((0,),)] * 4 + [bad], usual),
        ([usual] * 4 + [((0,),)] * 3 + [bad] * 3, ((0,),)),
        ([usual] * 5 + [((0,),)] * 5, ((0,),)),
        ([bad] * 9 + [((0,),)], ((0,),)),
        ([usual], ((0,),)),
    ):
        assert _most_frequent(choice, bags, table, SearchConfig()) == cubes


def test_trials_that_stand_for_more_classes_have_a_smaller_error(labels):
    judge = judge_of(labels)
    best, short = trial(judge, flipped(labels, 0.10, 8), 9), trial(judge, flipped(labels, 0.14, 7), 1)
    assert 0.3 < (best.score - short.score) / judge.error(best, short) < ERRORS[0]
    assert short in eligible([best, short], judge, n_classes=1)
    assert short not in eligible([best, short], judge, n_classes=100)
    # Eight answers otherwise to the better, and eleven to the worse.
    fires, right = best.fires[0].copy(), best.fires[0] == labels
    fires[np.r_[np.flatnonzero(~right)[:8], np.flatnonzero(right)[:11]]] ^= True
    near = trial(judge, fires, 1)
    ratio = (best.score - near.score) / judge.error(best, near)
    assert 0.3 < ratio < 0.6
    kept = [near in eligible([best, near], judge, n_classes=n_classes) for n_classes in (2, 3, 5, 9, 12)]
    assert kept == [ratio <= n_classes**-0.5 for n_classes in (2, 3, 5, 9, 12)]
    assert len(set(kept)) == 2


def test_prices_go_down_to_half_a_row():
    assert SearchConfig().prices(288)[-1] == 0.0025
    assert SearchConfig(price=0.003).prices(288)[-1] == 0.003


def test_a_class_missed_on_all_rows_does_not_state_another(monkeypatch):
    """The folds find a formula of either class; on all rows the search for the first one stops at a literal."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(rng.random((600, 6)) < 0.5, columns=list("abcdef")).astype(float)
    labels = np.asarray(((rows["a"] > 0) & (rows["b"] > 0)) | ((rows["c"] > 0) & (rows["d"] > 0)))
    search = choice_module.formula_search

    def stopped(table, klass, share, config, *, thorough=True, **more):
        is_missed = thorough and klass == 0
        config = replace(config, max_literals=1) if is_missed else config
        return search(table, klass, share, config, thorough=thorough, **more)

    monkeypatch.setattr(choice_module, "formula_search", stopped)
    model = EntropyClassifier(None, epochs=20, committee=3).fit(rows, labels ^ (rng.random(600) < 0.02))
    assert model.learned_.choices[0].klass == 1
    assert (model.rules_.predict(rows) == labels).all()
