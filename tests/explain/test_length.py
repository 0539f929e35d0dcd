"""The length of a formula: one point of macro-F1 for each literal, and a longer formula for clear evidence only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.choice import STEADY, Choice, choose, found_again, learn_rules
from logiclens.explain.length import FIRST_PRICES, GAIN, PRICE, SearchConfig, Trial, chosen
from logiclens.explain.search_table import LEFT_OUT, LearningRows
from logiclens.formula.dnf import Complement


def trials(*scores) -> list[Trial]:
    """A path: the prices before the first that may be chosen, then one for each list of scores."""
    before = [Trial(price, np.zeros(10), ()) for price in FIRST_PRICES]
    return [*before, *(Trial(PRICE / 2**place, np.array(one), ()) for place, one in enumerate(scores))]


def rows_of(bits, labels, n_classes=2, **more) -> LearningRows:
    table = ConceptTable(
        bits, [f"x{place}" for place in range(bits.shape[1])], labels, [f"c{k}" for k in range(n_classes)]
    )
    return LearningRows(table, table.targets(), **more)


def test_a_longer_formula_needs_more_than_one_point():
    short = np.linspace(0.6, 0.7, 10)
    assert chosen(trials(short, short + GAIN * 0.99)).price == PRICE
    assert chosen(trials(short, short + GAIN * 1.01)).price == PRICE / 2


@given(st.integers(0, 2**32 - 1))
def test_a_gain_that_chance_explains_is_not_taken(seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.1, 10)
    # The mean gain is one error of ten independent bags, and those overlap.
    noise += noise.std(ddof=1) / np.sqrt(10) - noise.mean()
    assert chosen(trials(np.full(10, 0.7), 0.7 + noise)).price == PRICE


def test_rules_of_pure_noise_are_not_found_again():
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(5):
        rows = rows_of(rng.random((150, 12)) < 0.5, rng.integers(0, 2, 150))
        (choice,) = choose(rows, SearchConfig(), two_classes=True)
        assert choice.price >= PRICE
        shares += [found_again(cube, choice) for cube in choice.cubes]
    assert np.mean(np.array(shares) >= STEADY) < 0.25


def test_a_long_truth_is_found_for_a_clear_gain():
    rng = np.random.default_rng(2)
    bits = rng.random((1_500, 12)) < 0.5
    # Eight cubes of five literals: no literal of them earns one point.
    truth = np.zeros(len(bits), dtype=bool)
    while truth.mean() < 0.2:
        columns, signs = rng.choice(12, 5, replace=False), rng.integers(0, 2, 5)
        truth |= (bits[:, columns] == signs).all(axis=1)
    learned = learn_rules(rows_of(bits, truth.astype(int)), SearchConfig())
    assert (learned.formulas[1].evaluate(bits, [f"x{j}" for j in range(12)]) == truth).mean() > 0.99


def test_a_literal_must_earn_one_point():
    rng = np.random.default_rng(3)
    bits = rng.random((2_000, 4)) < 0.5
    labels = bits[:, 0] ^ (rng.random(2_000) < 0.1)
    # The second concept turns every hundredth answer.
    labels[bits[:, 1]] ^= rng.random(bits[:, 1].sum()) < 0.004
    (choice,) = choose(rows_of(bits, labels.astype(int)), SearchConfig(), two_classes=True)
    assert choice.formula.concepts == ("x0",)


@pytest.mark.parametrize(("names", "stated"), [(("no", "yes"), 1), (("1", "0"), 0), (("big", "rare"), 1)])
def test_the_class_that_people_ask_about_is_stated(names, stated):
    rng = np.random.default_rng(4)
    bits = rng.random((300, 5)) < 0.5
    labels = (bits[:, 0] & bits[:, 1]).astype(int)
    table = ConceptTable(bits, list("abcde"), labels, names)
    learned = learn_rules(LearningRows(table, table.targets()), SearchConfig())
    assert not isinstance(learned.formulas[stated], Complement)
    assert isinstance(learned.formulas[1 - stated], Complement)


def test_a_limit_on_literals_is_kept():
    rng = np.random.default_rng(5)
    bits = rng.random((400, 6)) < 0.5
    labels = ((bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3])).astype(int)
    (choice,) = choose(rows_of(bits, labels), SearchConfig(max_literals=2), two_classes=True)
    assert choice.n_literals <= 2


def test_rules_are_found_again_by_columns_and_directions():
    about = ("age", "age", "unit")
    bags = (((0,),), ((2,),), ((1,),), ((0, 4),), ())
    choice = Choice(1, 0.01, ((0,),), ("age >= 20", "age >= 40", "unit is A"), about, bags=bags)
    # Another cut counts; the negation, a further condition and an empty formula do not.
    assert found_again((0,), choice) == 2 / 5


def test_bags_leave_out_every_unit_equally_often():
    rng = np.random.default_rng(6)
    bits, unit = rng.random((90, 7)) < 0.5, np.repeat(np.arange(30), 3)
    rows = rows_of(bits, np.repeat(rng.integers(0, 2, 30), 3), unit=unit)
    groups = [bag.test.weight.sum() for bag in rows.bags]
    assert len({(bag.test.bits.tobytes(), bag.test.weight.tobytes()) for bag in rows.bags}) == len(rows.bags)
    assert sum(groups) == LEFT_OUT * 90
    assert all(size % 3 == 0 for size in groups)


@pytest.mark.parametrize("steady", [STEADY, 1.1])
def test_a_rule_that_is_not_found_again_gives_way(monkeypatch, steady):
    # From 1 on no formula is steady, and the steadiest is taken.
    monkeypatch.setattr("logiclens.explain.choice.STEADY", steady)
    rng = np.random.default_rng(7)
    formulas = []
    for _ in range(8):
        bits = rng.random((150, 12)) < 0.5
        (choice,) = choose(
            rows_of(bits, (bits[:, 0] ^ (rng.random(150) < 0.25)).astype(int)), SearchConfig(), two_classes=True
        )
        formulas.append(choice.formula.concepts)
    # Eleven columns are noise, and on 150 rows some of them seem to earn a point.
    assert sum(concepts == ("x0",) for concepts in formulas) >= 6


def test_no_rule_is_printed_that_is_worse_than_none():
    lengths = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        # Noise, of which a single false alarm costs more than all rows of class 1 are worth.
        rows = rows_of(rng.random((50, 8)) < 0.5, rng.integers(0, 2, 50), factors=np.array([1000.0, 0.0001]))
        (choice,) = choose(rows, SearchConfig(stated=1), two_classes=True)
        lengths.append(choice.n_literals)
    assert lengths.count(0) >= 8
