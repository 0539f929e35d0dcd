"""Irredundant sums of products, and the minimiser of complete tables, checked row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import FormulaTooLarge, LogicLensError
from logiclens.formula import DNF, Cube, Literal, TruthTable, minimise
from logiclens.formula.minimisation import (
    essential,
    isop,
    minimise_complete,
    row_bits,
    row_numbers,
    sum_cover,
    sums_of_products,
)
from tests.examples import examples
from tests.oracles.brute_force import every_row, meaning

NAMES = [f"c{j}" for j in range(20)]


@st.composite
def intervals(draw: st.DrawFn, max_concepts: int = 4) -> tuple[int, int, int]:
    """A lower function, an upper one that contains it, and the number of concepts."""
    n = draw(st.integers(1, max_concepts))
    functions = st.integers(0, 2 ** (2**n) - 1)
    lower, more = draw(functions), draw(functions)
    return lower, lower | more, n


def rows_in(function: int, n: int) -> set[int]:
    return {r for r in range(2**n) if function >> r & 1}


def rows_of_cube(cube: tuple[int, int], n: int) -> set[int]:
    positive, negative = cube
    return {r for r in range(2**n) if r & positive == positive and not r & negative}


@given(intervals())
def test_a_sum_of_products_lies_between_both_functions(interval):
    lower, upper, n = interval
    covered = set().union(*(rows_of_cube(cube, n) for cube in isop(lower, upper, n)))
    assert rows_in(lower, n) <= covered <= rows_in(upper, n)


@given(intervals())
def test_cubes_of_a_sum_of_products_are_prime_and_needed(interval):
    lower, upper, n = interval
    cubes = isop(lower, upper, n)
    for positive, negative in cubes:
        for bit in (1 << k for k in range(n) if (positive | negative) >> k & 1):
            assert not rows_of_cube((positive & ~bit, negative & ~bit), n) <= rows_in(upper, n)
    for left_out in cubes:
        rest = set().union(*(rows_of_cube(cube, n) for cube in cubes if cube != left_out))
        assert not rows_in(lower, n) <= rest


def test_more_cubes_than_the_limit_are_refused():
    # Parity of four concepts has eight cubes, and none can be joined.
    parity = sum(1 << r for r in range(16) if r.bit_count() % 2)
    assert len(isop(parity, parity, 4, limit=8)) == 8
    with pytest.raises(FormulaTooLarge, match="more than 7 cubes"):
        isop(parity, parity, 4, limit=7)
    yes = np.array([r.bit_count() % 2 == 1 for r in range(16)])
    assert sums_of_products(yes, np.zeros(16, dtype=bool), limit=7) == []


@given(st.integers(1, 5), st.data())
def test_every_order_of_concepts_gives_a_sum_of_products(n, data):
    answer = st.sampled_from(["yes", "no", "free"])
    drawn = np.array(data.draw(st.lists(answer, min_size=2**n, max_size=2**n)))
    yes, free = drawn == "yes", drawn == "free"
    for cubes in sums_of_products(yes, free):
        formula = DNF(cubes.cubes(NAMES[:n]))
        assert (np.array(meaning(formula, NAMES[:n])) == yes)[~free].all()
        # Free rows may be covered, so only a row answered no can be in the way of dropping a literal.
        for cube in formula:
            for literal in cube:
                assert (np.array(meaning(DNF([cube.without(literal)]), NAMES[:n])) & ~yes & ~free).any()


@given(st.integers(1, 5), st.data())
def test_essential_concepts_are_those_whose_turn_changes_an_answer(n, data):
    yes = data.draw(st.lists(st.booleans(), min_size=2**n, max_size=2**n))
    answer = dict(zip(every_row(n), yes, strict=True))
    changing = [
        j for j in range(n) if any(answer[row] != answer[(*row[:j], not row[j], *row[j + 1 :])] for row in answer)
    ]
    assert essential(np.array(yes)) == changing


# Complete tables


@given(st.integers(1, 5), st.data())
def test_the_first_concept_is_the_most_significant_bit(n, data):
    formula = DNF([Cube([Literal(data.draw(st.sampled_from(NAMES[:n])), data.draw(st.booleans()))])])
    assert minimise_complete(meaning(formula, NAMES[:n]), NAMES[:n]).formula == formula
    assert row_bits(np.arange(2**n), n).tolist() == [list(row) for row in every_row(n)]
    assert row_numbers(row_bits(np.arange(2**n), n)).tolist() == list(range(2**n))


def hidden_formula(seed: int, n: int, n_cubes: int, length: int) -> DNF:
    rng = np.random.default_rng(seed)
    return DNF(
        Cube(Literal(NAMES[j], bool(rng.integers(2))) for j in rng.choice(n, length, replace=False).tolist())
        for _ in range(n_cubes)
    )


@pytest.mark.parametrize("n", [13, 16, 20])
def test_planted_formula_is_found_in_a_complete_table(n):
    hidden = hidden_formula(n, n, n_cubes=10, length=6)
    rows = row_bits(np.arange(2**n), n)
    found = minimise_complete(hidden.evaluate(rows, NAMES[:n]), NAMES[:n]).formula
    assert found == hidden


@examples(15)
@given(st.integers(0, 1000), st.integers(1, 12), st.integers(2, 9))
def test_large_complete_tables_with_free_rows_are_answered_right(seed, n_cubes, length):
    rng = np.random.default_rng(seed)
    rows = row_bits(np.arange(2**13), 13)
    yes = hidden_formula(seed, 13, n_cubes, length).evaluate(rows, NAMES[:13])
    cared = rng.random(2**13) < 0.8
    found = minimise_complete(yes, NAMES[:13], cared, positive=bool(seed % 2))
    said = found.formula.evaluate(rows, NAMES[:13])
    assert (said == yes)[cared].all()
    assert not found.proved or found.formula.n_literals == 0


def test_a_large_table_that_depends_on_few_concepts_is_proved():
    few = np.random.default_rng(0).random(2**5) < 0.5
    chosen = [1, 4, 9, 11, 14]
    rows = row_bits(np.arange(2**15), 15)
    found = minimise_complete(few[row_numbers(rows[:, chosen])], NAMES[:15])
    small = minimise_complete(few, [NAMES[j] for j in chosen])
    assert found.proved
    assert found.formula == small.formula
    # With rows that are free another concept might serve instead: nothing is proved then.
    cared = np.ones(2**15, dtype=bool)
    cared[0] = False
    assert not minimise_complete(few[row_numbers(rows[:, chosen])], NAMES[:15], cared).proved


@pytest.mark.parametrize("share_known", [0.6, 1.0])
def test_a_nearly_complete_table_is_minimised_as_a_whole(share_known):
    hidden = hidden_formula(3, 14, n_cubes=8, length=5)
    rows = row_bits(np.flatnonzero(np.random.default_rng(0).random(2**14) < share_known), 14)
    table = TruthTable.of(rows, NAMES[:14], hidden.evaluate(rows, NAMES[:14]))
    assert minimise(table).formula == hidden


@pytest.mark.parametrize("by", ["complete", "table"])
def test_a_complete_table_of_too_many_cubes_is_refused(by):
    # Majority of 16 has 11,440 prime cubes, and needs them all.
    rows = row_bits(np.arange(2**16), 16)
    yes = rows.sum(axis=1) > 8
    sentence = "no formula of at most 10,000 cubes was found for this table of 16 concepts. Keep fewer concepts"
    with pytest.raises(FormulaTooLarge, match=sentence):
        minimise_complete(yes, NAMES[:16]) if by == "complete" else minimise(TruthTable.of(rows, NAMES[:16], yes))


def test_majority_of_thirteen_needs_its_1716_cubes():
    rows = row_bits(np.arange(2**13), 13)
    found = sum_cover(rows.sum(axis=1) > 6, np.ones(2**13, dtype=bool))
    assert len(found) == 1716
    assert (found.lengths == 7).all()
    assert found.value[found.used].all()


def test_constant_tables_need_no_literal():
    assert minimise_complete(np.zeros(2**14), NAMES[:14]).formula == DNF.false
    assert minimise_complete(np.ones(2**14), NAMES[:14]).formula == DNF.true
    half = np.arange(2**14) < 2**13
    assert minimise_complete(half, NAMES[:14], half).formula == DNF.true
    assert minimise_complete([True], []).formula == DNF.true


def test_a_table_of_the_wrong_size_is_refused():
    with pytest.raises(LogicLensError, match="one answer for each of its 4 rows; got \\(3,\\) answers"):
        minimise_complete([True, False, True], ["a", "b"])
    with pytest.raises(LogicLensError, match="got \\(4,\\) answers and \\(2,\\) rows cared for"):
        minimise_complete([True, False, True, True], ["a", "b"], [True, True])
    with pytest.raises(LogicLensError, match="at most 20 concepts, got 21"):
        minimise_complete([True], [f"c{j}" for j in range(21)])
    with pytest.raises(LogicLensError, match="names must differ"):
        minimise_complete([True, False, True, True], ["a", "a"])
