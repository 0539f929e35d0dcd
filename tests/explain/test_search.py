"""The search for formulas: compared with brute force and planted truths; support and limits."""

from __future__ import annotations

import threading
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import ThreadpoolController

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.candidates import SearchRows, Support, beam_cubes, one_blas_thread, wilson_lower
from logiclens.explain.search import FormulaSearch, Limits, Point
from logiclens.explain.search_table import LearningRows
from logiclens.formula import DNF, parse
from logiclens.metrics.rule_statistics import wilson_interval
from tests.examples import examples

PRICES = [0.04 / 2**k for k in range(8)]
NO_SUPPORT = Support(0.0, 0.0)


def rows_of(bits: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None) -> SearchRows:
    weight = np.ones(len(bits)) if weight is None else weight
    names = tuple(f"x{j}" for j in range(bits.shape[1]))
    yes, no = (np.asarray(part * weight, dtype=np.float32) for part in (labels, 1 - labels.astype(float)))
    return SearchRows(np.ascontiguousarray(bits, np.float32), yes, no, yes, weight.astype(np.float32), names)


def all_rows(n_concepts: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n_concepts)))


def search_of(rows: SearchRows, limits: Limits | None = None, support: Support = NO_SUPPORT) -> FormulaSearch:
    return FormulaSearch(rows, support, limits or Limits())


def short_formulas(most: int) -> np.ndarray:
    """Where each formula of at most `most` literals on three concepts holds, `[formulas, rows]`."""
    bits = all_rows(3)
    cubes = [c for size in (1, 2, 3) for c in combinations(range(6), size) if len({x >> 1 for x in c}) == len(c)]
    holds = {cube: np.all([bits[:, x >> 1] != (x & 1) for x in cube], axis=0) for cube in cubes}
    formulas = [formula for size in (1, 2, 3) for formula in combinations(cubes, size)]
    short = [formula for formula in formulas if sum(map(len, formula)) <= most]
    return np.unique([np.any([holds[cube] for cube in formula], axis=0) for formula in short], axis=0)


@pytest.mark.parametrize("most", [2, 3])
def test_hardly_any_short_formula_beats_what_is_found(most):
    """Brute force for a third of all functions of three concepts; a search by single moves may miss one of them."""
    bits, formulas, n_missed = all_rows(3), short_formulas(most), 0
    for labels in all_rows(8)[1:-1:3].astype(int):
        both, either = formulas @ labels, formulas.sum(axis=1) + labels.sum()
        refused = 2 * 8 - either
        best = np.max(both / either + (8 - either + both) / refused)
        found = search_of(rows_of(bits, labels.astype(bool)), Limits(most)).path([*PRICES, 1e-6])[-1]
        assert found.n_literals <= most
        assert found.score <= best + 1e-6
        n_missed += found.score < best - 1e-6
    assert n_missed <= 1


@examples(40)
@given(arrays(np.bool_, 16))
def test_the_lowest_price_finds_the_function_itself(labels):
    if labels.all() or not labels.any():
        return
    bits = all_rows(4)
    rows = rows_of(bits, labels)
    point = search_of(rows).path([*PRICES, 1e-5])[-1]
    np.testing.assert_array_equal(rows.formula(point.cubes).evaluate(bits, rows.names), labels)


@pytest.mark.parametrize("text", [
    "(x0 & x1) | (~x0 & ~x1)",
    "(x0 & ~x1 & x2) | (x3 & x4 & ~x5) | (~x0 & x5 & x6)",
    "(x0 & x1 & x2) | (x0 & ~x1 & ~x2) | (~x0 & x1 & ~x2) | (~x0 & ~x1 & x2)",
    " | ".join(f"(x{a} & x{b} & x{c})" for a, b, c in combinations(range(5), 3)),
])  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_planted_formulas_are_found_among_correlated_distractors(text, seed):
    truth, rng = parse(text), np.random.default_rng(seed)
    bits = rng.random((1500, 15)) < 0.5
    for j in range(10, 15):
        bits[:, j] = bits[:, j - 10] ^ (rng.random(1500) < 0.25)
    rows = rows_of(bits, truth.evaluate(bits, [f"x{j}" for j in range(15)]))
    support = Support.of(rows.right.astype(float), rows.weight.astype(float))
    point = search_of(rows, support=support).path(PRICES)[-1]
    assert rows.formula(point.cubes).equivalent(truth)


def test_every_cube_has_support():
    rng = np.random.default_rng(0)
    bits = rng.random((400, 12)) < 0.5
    labels = (bits[:, 0] & bits[:, 1]) ^ (rng.random(400) < 0.15)
    rows = rows_of(bits, labels)
    support = Support.of(rows.right.astype(float), rows.weight.astype(float), at_least=12)
    for point in search_of(rows, support=support).path(PRICES):
        fires = np.array([rows.fires(cube) for cube in point.cubes]).reshape(len(point.cubes), 400)
        for k, held in enumerate(fires):
            alone = held & (fires.sum(axis=0) == 1)
            assert labels[alone].sum() >= 12
            assert wilson_interval(float(labels[held].sum()), float(held.sum()))[0] >= labels.mean(), k


def test_support_is_never_more_than_a_quarter_of_the_class():
    labels, weight = np.array([1.0, 1, 1, 1, 1, 1, 1, 1, 0, 0]), np.ones(10)
    assert Support.of(labels, weight).unique == 2
    assert Support.of(np.ones(4000), np.ones(4000)).unique == 20
    assert Support.of(np.ones(400), np.ones(400)).unique == 5
    assert Support.of(np.ones(400), np.ones(400), at_least=30).unique == 30
    # An inner fold is asked for as much as it has of the rows, but of the 5 no less than 3.
    assert Support.of(np.ones(320), np.ones(320), part=0.8).unique == 4
    assert Support.of(np.ones(400), np.ones(400), part=0.1).unique == 3
    assert Support.of(np.ones(400), np.ones(400), at_least=30, part=0.5).unique == 15


def test_a_limit_on_literals_is_kept():
    rng = np.random.default_rng(1)
    bits = rng.random((500, 8)) < 0.5
    labels = (bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3]) | (bits[:, 4] & ~bits[:, 5])
    for point in search_of(rows_of(bits, labels), Limits(3)).path(PRICES):
        assert point.n_literals <= 3


def test_weights_are_copies():
    rng = np.random.default_rng(3)
    bits = rng.random((60, 6)) < 0.5
    labels = (bits[:, 0] & ~bits[:, 1]) ^ (rng.random(60) < 0.1)
    weight = rng.integers(1, 5, 60)
    once = search_of(rows_of(bits, labels, weight.astype(float))).path(PRICES)
    copies = np.repeat(np.arange(60), weight)
    many = search_of(rows_of(bits[copies], labels[copies])).path(PRICES)
    assert [point.score for point in once] == pytest.approx([point.score for point in many], abs=1e-6)


def test_of_equally_good_cubes_the_one_without_negations_is_taken():
    bits = np.array([[True, False]] * 20 + [[False, True]] * 20)
    labels = bits[:, 0]
    point = search_of(rows_of(bits, labels)).path(PRICES)[-1]
    assert point.cubes == ((0,),)


def test_a_plainer_cube_of_equal_quality_replaces_a_negation():
    """On these rows the last two columns are the first two negated."""
    rng = np.random.default_rng(5)
    x = rng.random((200, 2)) < 0.5
    bits = np.column_stack([x, ~x])
    rows = rows_of(bits, x[:, 0] & x[:, 1])
    search = search_of(rows)
    negated = ((5, 7),)
    found = search.plainest(Point(0.01, negated, search.score(negated)))
    assert found.cubes == ((0, 2),)
    assert found.score == search.score(negated)


def test_beam_cubes_fire_where_they_say():
    rng = np.random.default_rng(4)
    bits = rng.random((200, 7)) < 0.5
    rows = rows_of(bits, bits[:, 0] & bits[:, 3])
    found = beam_cubes(rows, NO_SUPPORT)
    assert found
    for cube, fires in found.items():
        np.testing.assert_array_equal(DNF(rows.formula([cube])).evaluate(bits, rows.names), fires)


def test_the_vectorised_wilson_bound_is_that_of_the_metrics():
    hits, total = np.array([0.0, 3, 10, 50]), np.array([4.0, 7, 10, 200])
    expected = [wilson_interval(h, n)[0] for h, n in zip(hits, total, strict=True)]
    np.testing.assert_allclose(wilson_lower(hits, total), expected, atol=1e-12)


@examples(150)
@given(st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=5), min_size=1, max_size=3))
def test_implied_literals_are_dropped_and_the_meaning_stays(drawn):
    """Judged by every possible row of two chains, an exclusive group, and a concept in both."""
    cubes = [tuple(sorted({code >> 1: code for code in cube}.values())) for cube in drawn]
    names = ["a >= 1", "a >= 2", "a >= 3", "a is missing", "u is x", "u is y"]
    exclusive, implied = [["a >= 1", "a is missing"], ["u is x", "u is y"]], [["a >= 1", "a >= 2", "a >= 3"]]
    bits = all_rows(6)
    table = ConceptTable(bits, names, np.arange(64) % 2, exclusive=exclusive, implied=implied)
    table = LearningRows(table, table.targets()).everything
    possible = bits[table.groups.allows(bits, names)]

    def fires(cube: tuple[int, ...]) -> np.ndarray:
        return np.all([possible[:, code >> 1] != code & 1 for code in cube], axis=0)

    plain = [table.plain([cube])[0] for cube in cubes]
    assert set(table.plain(cubes)) == set(plain)
    for cube, left in zip(cubes, plain, strict=True):
        assert set(left) <= set(cube)
        np.testing.assert_array_equal(fires(left), fires(cube))
        if fires(cube).any():
            for code in left if len(left) > 1 else ():
                assert (fires(tuple(other for other in left if other != code)) != fires(left)).any()


def test_a_search_multiplies_with_one_thread():
    """Also where the block of another thread begins inside the block and ends after it."""
    blas = ThreadpoolController().select(user_api="blas")

    def numbers() -> set[int]:
        return {library["num_threads"] for library in blas.info()}

    second_inside, first_left = threading.Event(), threading.Event()
    seen = []

    def second():
        with one_blas_thread():
            second_inside.set()
            first_left.wait(30)

    with blas.limit(limits=2):
        outside = numbers()
        other = threading.Thread(target=second)
        with one_blas_thread():
            other.start()
            second_inside.wait(30)
            seen.append(numbers())
        first_left.set()
        other.join()
        assert seen == [{1}]
        assert numbers() == outside == {2}
