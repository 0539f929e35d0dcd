"""Minimisation: right on every cared row, irredundant, as short as the results of sympy and espresso.

All minimisers are tested for the same properties, checked row by row and with an exhaustive search.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import milp
from sympy.logic import SOPform

from logiclens.formula import DNF, Cube, Literal, TruthTable, minimisation, minimise, primes
from logiclens.formula.cube_array import CubeArray
from logiclens.formula.minimisation import (
    Minimum,
    cheapest_cover,
    minimise_complete,
    minimum_cover,
    observed_cover,
    simplify,
    sum_cover,
)
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.primes import Expander, all_primes, expanded_primes, packed
from tests.examples import examples
from tests.oracles.brute_force import answers, cheapest, cube_holds, every_row, meaning
from tests.strategies import Answered, answered_rows, bits_of, dnfs, truth_tables


def rows_of(matrix: np.ndarray) -> list[tuple[bool, ...]]:
    return [tuple(row) for row in matrix.tolist()]


def right_on_every_cared_row(formula: DNF, table: TruthTable) -> bool:
    return all(answers(formula, table.names, rows_of(table.on))) and not any(
        answers(formula, table.names, rows_of(table.off))
    )


def random_table(seed: int, n_concepts: int, n_rows: int, flip: float = 0.0) -> TruthTable:
    """Random rows that a hidden formula of three cubes answers, some of them flipped at random."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, n_concepts)) < 0.5
    answered = DNF(planted(seed, n_concepts)).evaluate(rows, [f"c{j}" for j in range(n_concepts)])
    return TruthTable.of(rows, [f"c{j}" for j in range(n_concepts)], answered ^ (rng.random(n_rows) < flip))


def planted(seed: int, n_concepts: int, n_cubes: int = 3, length: int = 3) -> list[Cube]:
    rng = np.random.default_rng(seed + 10_000)
    return [
        Cube(Literal(f"c{j}", bool(rng.integers(2))) for j in rng.choice(n_concepts, length, replace=False).tolist())
        for _ in range(n_cubes)
    ]


def sympy_literals(names: tuple[str, ...], on: list[tuple[bool, ...]], off: list[tuple[bool, ...]]) -> int:
    """How many literals sympy needs; every row that is neither on nor off is a don't-care."""
    known = {*on, *off}
    free = [row for row in every_row(len(names)) if row not in known]
    as_lists = [[list(map(int, row)) for row in rows] for rows in (on, free)]
    formula = SOPform([sympy.Symbol(name) for name in names], *as_lists)
    # Each leaf of the expression is one occurrence of a symbol.
    return sum(node.is_Symbol for node in sympy.preorder_traversal(formula))


# What every minimiser keeps, whichever way it goes


def whole(table: TruthTable) -> tuple[np.ndarray, np.ndarray]:
    """The answers on all 2^n rows, in their order, and which of them are cared for."""
    seen = dict.fromkeys(rows_of(table.on), True) | dict.fromkeys(rows_of(table.off), False)
    every = every_row(len(table.names))
    return np.array([seen.get(row, False) for row in every]), np.array([row in seen for row in every])


def by_complete_table(table: TruthTable, positive: bool) -> Minimum:
    yes, known = whole(table)
    return minimise_complete(yes, table.names, known, positive=positive)


def by_sums_of_products(table: TruthTable, positive: bool) -> Minimum:
    return Minimum(DNF(sum_cover(*whole(table), positive=positive).cubes(table.names)), proved=False)


def by_observed_rows(table: TruthTable, positive: bool) -> Minimum:
    cover = observed_cover(table.on, table.off, np.ones(len(table.on)), positive=positive)
    return Minimum(DNF(cover.cubes(table.names)), proved=False)


def by_expanded_rows(table: TruthTable, positive: bool) -> Minimum:
    primes = expanded_primes(table.on, table.off, np.ones(len(table.on)))
    return minimum_cover(table, primes, complete=False, positive=positive)


def by_splitting(table: TruthTable, positive: bool) -> Minimum:
    return minimum_cover(table, CubeArray.none(len(table.names)), complete=False, positive=positive)


MINIMISERS = {
    "exact": lambda table, positive: minimise(table, positive=positive),
    "complete table": by_complete_table,
    "sums of products": by_sums_of_products,
    "observed rows": by_observed_rows,
    "expanded rows": by_expanded_rows,
    "splitting": by_splitting,
}
EVERY_MINIMISER = pytest.mark.parametrize("minimiser", MINIMISERS.values(), ids=MINIMISERS.keys())
PROVING = ("exact", "complete table")


def mixed_tables(max_concepts: int) -> st.SearchStrategy[TruthTable]:
    """Tables with rows answered yes and rows answered no."""
    return truth_tables(max_concepts).filter(lambda table: len(table.on) > 0 and len(table.off) > 0)


@EVERY_MINIMISER
@given(table=mixed_tables(max_concepts=6), positive=st.booleans())
def test_every_minimiser_is_right_on_every_cared_row(minimiser, table, positive):
    assert right_on_every_cared_row(minimiser(table, positive).formula, table)


@EVERY_MINIMISER
@given(table=mixed_tables(max_concepts=6), positive=st.booleans())
def test_every_minimiser_leaves_no_literal_to_spare(minimiser, table, positive):
    off = rows_of(table.off)
    for cube in minimiser(table, positive).formula:
        for literal in cube:
            assert any(answers(DNF([cube.without(literal)]), table.names, off)), f"{literal} is not needed in {cube}"


@EVERY_MINIMISER
@given(table=mixed_tables(max_concepts=6), positive=st.booleans())
def test_every_minimiser_leaves_no_cube_to_spare(minimiser, table, positive):
    formula, on = minimiser(table, positive).formula, rows_of(table.on)
    for cube in formula:
        rest = DNF(other for other in formula if other != cube)
        assert not all(answers(rest, table.names, on)), f"{cube} is not needed in {formula}"


@pytest.mark.parametrize("name", MINIMISERS)
@examples(60)
@given(table=mixed_tables(max_concepts=4))
def test_no_minimiser_beats_exhaustive_search_and_proving_ones_reach_it(name, table):
    found = MINIMISERS[name](table, False)
    best = cheapest(rows_of(table.on), rows_of(table.off), len(table.names))
    assert (found.formula.n_literals, len(found.formula)) >= best
    assert found.proved == (name in PROVING)
    if found.proved:
        assert (found.formula.n_literals, len(found.formula)) == best


def espresso_literals(on: np.ndarray, off: np.ndarray) -> int:
    """How many literals espresso, as pyeda ships it, needs; rows that are neither are don't-cares."""
    cext = pytest.importorskip("pyeda.boolalg.espresso", reason="pyeda, which brings espresso, is not installed")
    minimization = pytest.importorskip("pyeda.boolalg.minimization")
    cext.set_config(**minimization.CONFIG)
    # Its codes: 1 is false, 2 is true, 3 is absent.
    listed = {(tuple(row), (1,)) for row in (on + 1).tolist()} | {(tuple(row), (0,)) for row in (off + 1).tolist()}
    cover = cext.espresso(on.shape[1], 1, listed, intype=cext.FTYPE | cext.RTYPE)
    return sum(value != 3 for cube, out in cover if out[0] for value in cube)


@pytest.mark.parametrize("n_concepts", [6, 7, 8])
@pytest.mark.parametrize("share_known", [0.4, 0.7, 1.0])
def test_no_longer_than_espresso_on_random_functions(n_concepts, share_known):
    for seed in range(4):
        table = random_function(seed, n_concepts, share_known)
        found = minimise(table)
        assert found.proved
        assert found.formula.n_literals <= espresso_literals(table.on, table.off)


@pytest.mark.parametrize("n_concepts", [13, pytest.param(14, marks=pytest.mark.slow)])
def test_without_proof_it_is_no_longer_than_espresso(n_concepts):
    # A single table may go either way: measured from 15 per cent shorter to 4 per cent longer.
    tables = [random_function(seed, n_concepts, 0.02) for seed in range(3)]
    lengths = [minimise(table).formula.n_literals for table in tables]
    assert sum(lengths) <= sum(espresso_literals(table.on, table.off) for table in tables)


def random_function(seed: int, n_concepts: int, share_known: float) -> TruthTable:
    rng = np.random.default_rng(seed)
    rows = np.array(every_row(n_concepts))[rng.random(2**n_concepts) < share_known]
    return TruthTable.of(rows, [f"c{j}" for j in range(n_concepts)], rng.random(len(rows)) < 0.5)


# Never wrong


@pytest.mark.parametrize("n_concepts", [11, 12, 13, 20, 64, 70])
@pytest.mark.parametrize("flip", [0.0, 0.1, 0.5])
def test_large_tables_are_right_on_every_cared_row(n_concepts, flip):
    for seed, n_rows in ((0, 40), (1, 120)):
        table = random_table(seed, n_concepts, n_rows, flip)
        found = minimise(table)
        assert right_on_every_cared_row(found.formula, table)
        # Beyond 12 concepts not every prime cube is known, so nothing may be called proved.
        assert not (found.proved and n_concepts > 12)


@examples(30)
@given(st.sampled_from([13, 16, 61, 65]), st.data())
def test_wide_tables_are_right_on_every_cared_row(width, data):
    # Rows that differ in a few places only: the hardest to tell apart.
    base = data.draw(st.integers(0, 2**width - 1))
    flips = data.draw(st.lists(st.sets(st.integers(0, width - 1), max_size=2), min_size=1, max_size=40))
    rows = [bits_of(base ^ sum(1 << j for j in flip), width) for flip in flips]
    decided = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    table = Answered(tuple(f"c{j}" for j in range(width)), rows, decided, [1] * len(rows)).table()
    assert right_on_every_cared_row(minimise(table).formula, table)


def test_many_rows_at_random_are_all_covered(monkeypatch):
    # The solver would take a while to shorten what is as long as noise makes it.
    monkeypatch.setattr(minimisation, "POLISH_MARKS", 0)
    table = random_table(3, n_concepts=15, n_rows=3000, flip=0.3)
    assert len(table.on) > 1000
    assert right_on_every_cared_row(minimise(table).formula, table)


# Shortest


@examples(60)
@given(truth_tables(max_concepts=5))
def test_no_longer_than_sympy(table):
    found = minimise(table)
    assert found.formula.n_literals <= sympy_literals(table.names, rows_of(table.on), rows_of(table.off))


def test_partly_known_tables_of_four_concepts_are_solved():
    # With don't-cares there are often several covers with the fewest literals: the one with fewer cubes is due.
    solved = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        # On each fifth table every row is cared for.
        known = rng.random(16) < (0.6 if seed % 5 else 1)
        table = TruthTable.of(np.array(every_row(4))[known], list("abcd"), rng.random(known.sum()) < 0.5)
        if len(table.on) == 0 or len(table.off) == 0:
            continue
        best = cheapest(rows_of(table.on), rows_of(table.off), 4)
        found = minimise(table).formula
        assert (found.n_literals, len(found)) == best
        solved += best[1] > 1
    assert solved > 50


def test_fewer_literals_come_before_fewer_cubes():
    # Exactly one of eight holds. Three cubes of one literal are shorter than one cube that denies the other five.
    names = [f"c{j}" for j in range(8)]
    found = minimise(TruthTable.of(np.eye(8, dtype=bool), names, [True] * 3 + [False] * 5)).formula
    assert found == DNF(Cube([Literal(name)]) for name in names[:3])


@given(truth_tables(max_concepts=4))
def test_positive_means_the_fewest_negations_among_the_shortest(table):
    found = minimise(table, positive=True)
    assert found.proved
    assert right_on_every_cared_row(found.formula, table)
    negations = sum(not literal.positive for cube in found.formula for literal in cube)
    best = cheapest(rows_of(table.on), rows_of(table.off), len(table.names), count_negations=True)
    assert (found.formula.n_literals, negations, len(found.formula)) == best


def test_positive_lists_win_ties_against_lists_of_negations():
    names = ["one", "two", "three", "four", "five", "six"]
    digits = np.eye(6, dtype=bool)
    odd = [True, False] * 3
    found = minimise(TruthTable.of(digits, names, odd), positive=True).formula
    assert found == DNF(Cube([Literal(name)]) for name in ("one", "three", "five"))
    # Three negations in one cube are as short, and one cube is fewer than three.
    assert len(minimise(TruthTable.of(digits, names, odd)).formula) == 1


@pytest.mark.parametrize("n_concepts", [8, 12, 13, 20, 30])
def test_planted_formulas_are_recovered(n_concepts):
    for seed in range(3):
        hidden = DNF(planted(seed, n_concepts))
        table = random_table(seed, n_concepts, n_rows=2000)
        found = minimise(table).formula
        assert found.equivalent(hidden)
        assert found.n_literals <= hidden.n_literals


def test_constants_need_no_literal():
    rows = [[0, 0], [0, 1]]
    assert minimise(TruthTable.of(rows, ["a", "b"], [False, False])).formula == DNF.false
    assert minimise(TruthTable.of(rows, ["a", "b"], [True, True])).formula == DNF.true
    assert minimise(TruthTable.of(np.zeros((0, 2)), ["a", "b"], [])).formula == DNF.false


def test_the_cube_with_the_most_samples_is_read_first():
    rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    for weight, order in (([1, 3, 2, 5], ["b", "c", "a"]), ([9, 3, 2, 5], ["a", "b", "c"])):
        table = TruthTable.of(rows, ["a", "b", "c"], [True, True, True, False], weight=weight)
        assert [cube.concepts for cube in minimise(table).formula] == [(name,) for name in order]


def test_the_same_table_gives_the_same_text():
    tables = [random_table(5, n_concepts=14, n_rows=200, flip=0.2) for _ in range(2)]
    texts = {str(minimise(table).formula) for table in tables}
    assert len(texts) == 1


# Don't-cares


def test_unobserved_rows_are_free():
    # Only two of four rows were seen: one literal tells them apart.
    table = TruthTable.of([[0, 0], [1, 1]], ["a", "b"], [False, True])
    assert minimise(table).formula.n_literals == 1


def test_rows_that_break_an_exclusive_group_are_free():
    # 'one' and 'three' at once cannot be: what was answered there must not lengthen the formula.
    rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0]]
    decided, names = [True, False, True, False, False], ["one", "two", "three"]
    short = minimise(TruthTable.of(rows, names, decided, exclusive=[names])).formula
    assert short == DNF([Cube([Literal("one")]), Cube([Literal("three")])])
    assert minimise(TruthTable.of(rows, names, decided)).formula.n_literals > 2


def test_contradictions_follow_the_majority():
    rows, decided = [[1], [1], [1], [0]], [True, True, False, False]
    assert minimise(TruthTable.of(rows, ["a"], decided)).formula == DNF([Cube([Literal("a")])])
    outvoted = TruthTable.of(rows, ["a"], decided, weight=[1, 1, 3, 1])
    assert minimise(outvoted).formula == DNF.false


# Prime cubes


@given(answered_rows(max_concepts=4))
def test_all_primes_are_the_shortest_cubes_of_the_table(drawn):
    table = drawn.table()
    on, off = rows_of(table.on), rows_of(table.off)

    def implicant(cube: Cube) -> bool:
        return not any(cube_holds(cube, dict(zip(drawn.names, row, strict=True))) for row in off)

    every_cube = [
        Cube(Literal(name, v) for name, v in zip(drawn.names, values, strict=True) if v is not None)
        for values in np.array(np.meshgrid(*[[False, True, None]] * len(drawn.names))).T.reshape(-1, len(drawn.names))
    ]
    expected = {
        cube
        for cube in every_cube
        if implicant(cube)
        and not any(implicant(cube.without(literal)) for literal in cube)
        and any(cube_holds(cube, dict(zip(drawn.names, row, strict=True))) for row in on)
    }
    assert set(all_primes(table.on, table.off).cubes(drawn.names)) == expected


@given(dnfs(max_cubes=6))
def test_cube_arrays_hold_the_formula(formula):
    names = list("abcde")
    array = CubeArray.of(formula, names)
    rows = np.array(every_row(5))
    named = [dict(zip(names, row, strict=True)) for row in every_row(5)]
    assert array.cubes(names) == list(formula)
    assert array.lengths.tolist() == [len(cube) for cube in formula]
    assert array.covers(rows).tolist() == [[cube_holds(cube, row) for cube in formula] for row in named]
    assert array.covers(rows).any(axis=1).tolist() == meaning(formula, names)


@given(dnfs(max_cubes=4), dnfs(max_cubes=4))
def test_joined_cube_arrays_do_not_repeat(left, right):
    names = list("abcde")
    joined = CubeArray.of(left, names).join(CubeArray.of(right, names)).cubes(names)
    assert len(joined) == len(set(joined))
    assert set(joined) == {*left, *right}
    appended = CubeArray.of(left, names).append(CubeArray.of(right, names)).cubes(names)
    assert appended == [*left, *right]


@pytest.mark.parametrize("limits", [{"PROVABLE_CELLS": 0, "PROVABLE_MARKS": 0}, {"NODE_LIMIT": 0}, {"TIME_LIMIT": 0.0}])
def test_an_unfinished_cover_is_not_called_proved(monkeypatch, limits):
    for name, value in limits.items():
        monkeypatch.setattr(minimisation, name, value)
    table = random_function(0, 8, 1.0)
    primes = all_primes(table.on, table.off)
    chosen, proved = cheapest_cover(primes, packed(table.on))
    covers = primes.covers(table.on)
    assert not proved
    assert covers[:, chosen].any(axis=1).all()
    for cube in chosen:
        rest = [other for other in chosen if other != cube]
        assert not covers[:, rest].any(axis=1).all()


@examples(200)
@given(st.data())
def test_what_rows_share_never_proves_too_much(data):
    n_rows, n_cubes = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 7))
    covers = np.array(data.draw(st.lists(st.booleans(), min_size=n_rows * n_cubes, max_size=n_rows * n_cubes)))
    covers = np.hstack([covers.reshape(n_rows, n_cubes), np.ones((n_rows, 1), dtype=bool)])
    cost = np.array([data.draw(st.integers(1, 12)) for _ in range(n_cubes)] + [20])
    least = min(
        sum(cost[list(some)])
        for n in range(1, n_cubes + 2)
        for some in combinations(range(n_cubes + 1), n)
        if covers[:, some].any(axis=1).all()
    )
    for paid in range(least + 1, least + 4):
        assert not minimisation._is_least(paid, covers, cost)


def test_a_cover_that_rows_prove_needs_no_solver(monkeypatch):
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: pytest.fail("the solver was asked"))
    digits = np.eye(10, dtype=bool)
    found = minimise(TruthTable.of(digits, [f"c{j}" for j in range(10)], np.arange(10) % 2 == 1))
    assert found.proved
    assert found.formula.n_literals == 5


@pytest.mark.parametrize(("status", "proved"), [(0, True), (1, False), (4, False)])
def test_only_a_solver_that_ended_proves(monkeypatch, status, proved):
    def solved(*arguments: object, **options: object) -> object:
        result = milp(*arguments, **options)
        result.status = status
        return result

    # 1 is the clock or the branches, 4 is anything else; the cover found so far comes with either.
    monkeypatch.setattr("scipy.optimize.milp", solved)
    table = random_function(0, 6, 0.8)
    assert minimise(table).proved == proved
    primes = all_primes(table.on, table.off)
    assert not cheapest_cover(primes, packed(table.on), provable=False, polish=True)[1]


@examples(60)
@given(dnfs(max_cubes=6), st.integers(1, 200), st.integers(0, 1000))
def test_packed_covers_are_the_covers(formula, n_rows, seed):
    names = list("abcde")
    matrix = np.random.default_rng(seed).random((n_rows, 5)) < 0.5
    rows, array = PackedRows.of(matrix, names), CubeArray.of(formula, names)
    found = array.covers_packed(rows)
    assert found.shape == (len(formula), len(rows.valid))
    assert not (found & ~rows.valid).any()
    for p, cube in enumerate(formula):
        assert rows.unpack(found[p]).tolist() == answers(DNF([cube]), names, matrix.tolist())


def test_many_rows_are_covered_in_blocks():
    matrix = np.random.default_rng(0).random((20_000, 5)) < 0.5
    array = CubeArray.of(DNF([Cube([Literal("a"), Literal("d", False)]), Cube([Literal("e")])]), list("abcde"))
    expected = np.stack([matrix[:, 0] & ~matrix[:, 3], matrix[:, 4]], axis=1)
    assert (array.covers(matrix) == expected).all()


# Effort


def test_a_cover_too_large_for_one_branch_is_unproved(monkeypatch):
    monkeypatch.setattr(minimisation, "NODE_MARKS", 1)
    table = random_function(0, 12, 0.1)
    found = minimise(table)
    assert not found.proved
    assert right_on_every_cared_row(found.formula, table)


def test_noise_beyond_the_effort_gets_a_formula(monkeypatch):
    # With next to no effort for growing and expanding, most rows are split like a decision tree's.
    monkeypatch.setattr(minimisation, "EXPANSION_WORDS", 20_000)
    monkeypatch.setattr(minimisation, "SMALL_WORDS", 20_000)
    table = random_table(0, n_concepts=40, n_rows=1500, flip=0.5)
    assert right_on_every_cared_row(minimise(table).formula, table)


@pytest.mark.parametrize(("n_concepts", "n_rows"), [(40, 1500), (13, 50_000)])
def test_all_phases_of_a_minimisation_share_one_limit_of_steps(n_concepts, n_rows, monkeypatch):
    chosen = []
    monkeypatch.setattr(primes, "MINIMISATION_STEPS", 50 * primes.CALL_STEPS)
    spend = Expander._spend
    monkeypatch.setattr(Expander, "_spend", lambda self, words: chosen.append(words) or spend(self, words))
    rng = np.random.default_rng(0)
    # Rows of 13 concepts are nearly all there is, so that the table is taken as complete.
    table = TruthTable.of(
        rng.random((n_rows, n_concepts)) < 0.5, [f"c{j}" for j in range(n_concepts)], rng.random(n_rows) < 0.5
    )
    formula = minimise(table).formula
    # The last cube is completed for both of its choices.
    assert 0 < len(chosen) <= 50 + 2 * n_concepts
    assert (formula.evaluate(table.rows) == table.outcome).all()


@pytest.mark.slow
def test_noise_of_a_hundred_thousand_rows_ends():
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(200)]
    table = TruthTable.of(rng.random((100_000, 200)) < 0.5, names, rng.random(100_000) < 0.5)
    formula = minimise(table).formula
    assert (formula.evaluate(table.rows) == table.outcome).all()


@pytest.mark.parametrize(("n_concepts", "n_rows", "n_cubes", "length"), [(200, 10_000, 20, 5), (300, 60_000, 50, 7)])
def test_planted_cubes_are_found_among_hundreds_of_concepts(n_concepts, n_rows, n_cubes, length):
    hidden = DNF(planted(0, n_concepts, n_cubes, length))
    names = [f"c{j}" for j in range(n_concepts)]
    rows = np.random.default_rng(1).random((n_rows, n_concepts)) < 0.5
    assert minimise(TruthTable.of(rows, names, hidden.evaluate(rows, names))).formula == hidden


# Exclusive groups


DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@pytest.mark.parametrize("positive", [True, False])
def test_exclusive_groups_are_spelled_out_on_demand(positive):
    # The paper's five cubes of ten literals, whichever formula of five literals was the minimum.
    odd = [False, True] * 5
    table = TruthTable.of(np.eye(10, dtype=bool), DIGITS, odd, exclusive=[DIGITS])
    short = minimise(table, positive=positive)
    assert short.proved
    assert short.formula.n_literals == 5
    if positive:
        assert short.formula == DNF(Cube([Literal(name)]) for name in DIGITS[1::2])
    spelled = minimise(table, positive=positive, exclusive=False)
    expected = DNF(Cube(Literal(name, name == digit) for name in DIGITS) for digit in DIGITS[1::2])
    assert spelled.formula == expected
    assert spelled.formula.n_literals == 50
    assert not spelled.proved
    assert [literal.concept for literal in spelled.formula.cubes[0]] == list(DIGITS)


def test_only_groups_that_the_formula_mentions_are_spelled_out():
    names = ["red", "green", "round", "square", "heavy"]
    groups = [["red", "green"], ["round", "square", "not in the table"], ["heavy", "nor this one"]]
    rows = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [1, 0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]]
    table = TruthTable.of(rows, names, [True, False, True, False, False], exclusive=groups)
    assert minimise(table, positive=True).formula == DNF([Cube([Literal("red")])])
    spelled = minimise(table, positive=True, exclusive=False).formula
    assert spelled == DNF([Cube([Literal("red"), Literal("green", False)])])


def test_a_group_with_one_concept_in_the_table_stays_implicit():
    rows, decided = every_row(2), [False, True, True, True]
    table = TruthTable.of(rows, ["a", "b"], decided, exclusive=[["a", "not in the table"]])
    assert minimise(table, exclusive=False).formula == DNF([Cube([Literal("a")]), Cube([Literal("b")])])


@given(answered_rows(max_concepts=5, min_concepts=2), st.booleans())
def test_spelled_out_formulas_are_right_and_imply_the_group(drawn, positive):
    group = drawn.names[:3]
    table = drawn.table(exclusive=[group])
    formula = minimise(table, positive=positive, exclusive=False).formula
    assert right_on_every_cared_row(formula, table)
    if set(formula.concepts) & set(group):
        # What it newly allows was seen: no cube holds on two concepts of the group at once.
        for row in every_row(len(drawn.names)):
            if answers(formula, drawn.names, [row])[0]:
                assert sum(row[: len(group)]) <= 1


# Simplify


@given(dnfs(max_cubes=6))
def test_simplified_means_the_same_and_is_no_longer(formula):
    found = simplify(formula)
    assert meaning(found.formula, list("abcde")) == meaning(formula, list("abcde"))
    assert found.formula.n_literals <= formula.n_literals


@given(dnfs("abcd", max_cubes=6))
def test_simplified_is_the_shortest_of_its_meaning(formula):
    on = [row for row, yes in zip(every_row(4), meaning(formula, "abcd"), strict=True) if yes]
    off = [row for row in every_row(4) if row not in on]
    found = simplify(formula).formula
    assert (found.n_literals, len(found)) == cheapest(on, off, 4)


@examples(40)
@given(dnfs([f"c{j:02}" for j in range(14)], max_cubes=6), st.integers(0, 2**13))
def test_simplify_beyond_the_exact_size_keeps_the_meaning(formula, seed):
    # 14 and more concepts, on rows near the formula's own edges: each cube's rows with one concept turned.
    names = [f"c{j:02}" for j in range(14)]
    # One cube that holds all concepts puts the formula beyond the exact size.
    wide = formula | Cube(Literal(name, bool(seed >> j & 1)) for j, name in enumerate(names))
    found = simplify(wide)
    assert not found.proved
    rows = (np.random.default_rng(seed).random((400, 14)) < 0.5).tolist()
    for cube in wide:
        for turned in (None, *names):
            row = {name: bool(seed >> j & 1) for j, name in enumerate(names)}
            row |= {literal.concept: literal.positive for literal in cube}
            if turned:
                row[turned] = not row[turned]
            rows.append(list(row.values()))
    assert answers(found.formula, names, rows) == answers(wide, names, rows)
    assert found.formula.n_literals <= wide.n_literals


def test_simplify_beyond_the_exact_size_leaves_nothing_to_spare():
    # Over 16 concepts; 'x' is split on 'y' in each cube, and one cube lies inside another.
    x, y = Literal("x"), Literal("y")
    parts = [Literal(f"c{j}") for j in range(14)]
    spare = [Cube([part, x, y]) for part in parts] + [Cube([part, x, y.negated]) for part in parts]
    formula = DNF([*spare, Cube([parts[0], x, parts[1]])])
    assert len(formula.concepts) == 16
    assert simplify(formula).formula == DNF(Cube([part, x]) for part in parts)


def test_simplify_drops_covered_cubes_beyond_the_exact_size():
    # Where b and c hold, one of the first two cubes does, whatever a is: no literal is to spare, a cube is.
    a, b, c = Literal("a"), Literal("b"), Literal("c")
    needed = [Cube([a, b]), Cube([a.negated, c])]
    others = [Cube([Literal(f"p{j}"), Literal(f"q{j}")]) for j in range(6)]
    assert simplify(DNF([*needed, Cube([b, c]), *others])).formula == DNF([*needed, *others])


def test_simplify_sees_that_a_wide_formula_is_always_true():
    literals = [Literal(f"c{j}") for j in range(14)]
    formula = DNF([*(Cube([literal]) for literal in literals), Cube(literal.negated for literal in literals)])
    assert simplify(formula).formula == DNF.true


@pytest.mark.parametrize("formula", [DNF.true, DNF.false])
def test_constants_are_simple(formula):
    assert simplify(formula).formula == formula
