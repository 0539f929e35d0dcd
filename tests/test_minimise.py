"""Minimisation: never wrong on a cared row, as short as sympy's, proved minimal against an exhaustive search."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.logic import SOPform

from logiclens.formula import DNF, Cube, Literal, TruthTable, minimise
from logiclens.formula.minimise import cheapest_cover, simplify
from logiclens.formula.primes import CubeArray, all_primes, expanded_primes, prime_cubes, short_cubes
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


# Never wrong


@given(truth_tables(max_concepts=6))
def test_minimised_agrees_on_every_cared_row(table):
    assert right_on_every_cared_row(minimise(table).formula, table)


@pytest.mark.parametrize("n_concepts", [11, 12, 13, 20, 64, 70])
@pytest.mark.parametrize("flip", [0.0, 0.1, 0.5])
def test_large_tables_are_right_on_every_cared_row(n_concepts, flip):
    for seed, n_rows in ((0, 40), (1, 120)):
        table = random_table(seed, n_concepts, n_rows, flip)
        found = minimise(table)
        assert right_on_every_cared_row(found.formula, table)
        # Beyond 12 concepts not every prime cube is known, so nothing may be called proved.
        assert not (found.proved and n_concepts > 12)


@settings(max_examples=30)
@given(st.sampled_from([13, 16, 61, 65]), st.data())
def test_wide_tables_are_right_on_every_cared_row(width, data):
    # Rows that differ in a few places only: the hardest to tell apart.
    base = data.draw(st.integers(0, 2**width - 1))
    flips = data.draw(st.lists(st.sets(st.integers(0, width - 1), max_size=2), min_size=1, max_size=40))
    rows = [bits_of(base ^ sum(1 << j for j in flip), width) for flip in flips]
    decided = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    table = Answered(tuple(f"c{j}" for j in range(width)), rows, decided, [1] * len(rows)).table()
    assert right_on_every_cared_row(minimise(table).formula, table)


def test_more_rows_than_are_expanded_one_by_one_are_all_covered():
    # 15 concepts at random: far more yes-rows than the 400 that are each given cubes of their own.
    table = random_table(3, n_concepts=15, n_rows=3000, flip=0.3)
    assert len(table.on) > 1000
    assert right_on_every_cared_row(minimise(table).formula, table)


# Shortest


@settings(max_examples=60)
@given(truth_tables(max_concepts=5))
def test_no_longer_than_sympy(table):
    found = minimise(table)
    assert found.formula.n_literals <= sympy_literals(table.names, rows_of(table.on), rows_of(table.off))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share_known", [0.3, 0.7, 1.0])
def test_no_longer_than_sympy_on_six_concepts(seed, share_known):
    rng = np.random.default_rng(seed)
    rows = np.array(every_row(6))[rng.random(64) < share_known]
    table = TruthTable.of(rows, list("uvwxyz"), rng.random(len(rows)) < 0.5)
    found = minimise(table)
    assert right_on_every_cared_row(found.formula, table)
    assert found.formula.n_literals <= sympy_literals(table.names, rows_of(table.on), rows_of(table.off))


@given(truth_tables(max_concepts=4))
def test_proved_means_that_no_shorter_formula_exists(table):
    found = minimise(table)
    assert found.proved
    best = cheapest(rows_of(table.on), rows_of(table.off), len(table.names))
    assert (found.formula.n_literals, len(found.formula)) == best


def test_proved_on_full_tables_of_four_concepts():
    # Every row is cared for here, which random tables with repetitions rarely reach.
    for seed in range(40):
        decided = np.random.default_rng(seed).random(16) < 0.5
        table = TruthTable.of(every_row(4), list("abcd"), decided)
        found = minimise(table)
        assert found.proved
        assert meaning(found.formula, list("abcd")) == decided.tolist()
        assert (found.formula.n_literals, len(found.formula)) == cheapest(rows_of(table.on), rows_of(table.off), 4)


def test_partly_known_tables_of_four_concepts_are_solved():
    # With don't-cares there are often several covers with the fewest literals: the one with fewer cubes is due.
    solved = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        known = rng.random(16) < 0.6
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


def test_positive_reads_as_a_list_where_a_list_of_negations_is_as_long():
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


def test_planted_formula_is_found_among_many_concepts():
    hidden = DNF([Cube([Literal("c7"), Literal("c41", False)]), Cube([Literal("c63")])])
    rng = np.random.default_rng(0)
    rows, names = rng.random((1500, 70)) < 0.5, [f"c{j}" for j in range(70)]
    table = TruthTable.of(rows, names, answers(hidden, names, rows))
    assert minimise(table).formula == hidden


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
    assert prime_cubes(table.on, table.off, np.ones(len(table.on)))[1]


@pytest.mark.parametrize("n_concepts", [5, 14, 66])
def test_expanded_primes_cover_all_and_cannot_lose_a_literal(n_concepts):
    table = random_table(1, n_concepts, n_rows=150, flip=0.3)
    on, off = rows_of(table.on), rows_of(table.off)
    found = expanded_primes(table.on, table.off, np.ones(len(on)))
    formula = DNF(found.cubes(table.names))
    assert len(formula) == len(found)
    assert all(answers(formula, table.names, on))
    assert not any(answers(formula, table.names, off))
    for cube in formula:
        for literal in cube:
            assert any(answers(DNF([cube.without(literal)]), table.names, off))


def test_rows_beyond_the_effort_are_still_covered():
    table = random_table(2, n_concepts=14, n_rows=200, flip=0.3)
    few = expanded_primes(table.on, table.off, np.ones(len(table.on)), effort=1)
    assert all(answers(DNF(few.cubes(table.names)), table.names, rows_of(table.on)))
    assert len(few) < len(expanded_primes(table.on, table.off, np.ones(len(table.on))))


@given(dnfs(max_cubes=6))
def test_cube_arrays_hold_the_formula(formula):
    names = list("abcde")
    array = CubeArray.of(formula, names)
    rows = np.array(every_row(5))
    named = [dict(zip(names, row, strict=True)) for row in every_row(5)]
    assert array.cubes(names) == list(formula)
    assert array.lengths.tolist() == [len(cube) for cube in formula]
    assert array.covers(rows).tolist() == [[cube_holds(cube, row) for cube in formula] for row in named]
    assert array.any_covers(rows).tolist() == meaning(formula, names)


@given(dnfs(max_cubes=4), dnfs(max_cubes=4))
def test_joined_cube_arrays_do_not_repeat(left, right):
    names = list("abcde")
    joined = CubeArray.of(left, names).join(CubeArray.of(right, names)).cubes(names)
    assert len(joined) == len(set(joined))
    assert set(joined) == {*left, *right}
    appended = CubeArray.of(left, names).append(CubeArray.of(right, names)).cubes(names)
    assert appended == [*left, *right]


def test_short_cubes_are_all_of_one_or_two_literals_that_hold_somewhere():
    on = np.array([[True, False, True], [True, True, True]])
    found = short_cubes(on).cubes(["a", "b", "c"])
    expected = set()
    for row in rows_of(on):
        literals = [Literal(name, bit) for name, bit in zip("abc", row, strict=True)]
        expected |= {Cube([x, y]) for x in literals for y in literals}
    assert set(found) == expected
    assert len(found) == len(expected)


def test_short_cubes_of_many_concepts_are_single_literals():
    on = np.random.default_rng(0).random((50, 41)) < 0.5
    assert {len(cube) for cube in short_cubes(on).cubes([f"c{j}" for j in range(41)])} == {1}


def test_cover_too_large_to_prove_is_not_called_proved(monkeypatch):
    # The package gives the name of the module to the function, so the module is asked for by its path.
    monkeypatch.setattr(import_module("logiclens.formula.minimise"), "PROVABLE_CELLS", 0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        covers = rng.random((12, 9)) < 0.3
        covers[~covers.any(axis=1), 0] = True
        used = rng.random((9, 6)) < 0.5
        chosen, proved = cheapest_cover(CubeArray(used, used), covers)
        assert not proved
        assert covers[:, chosen].any(axis=1).all()
        for cube in chosen:
            rest = [other for other in chosen if other != cube]
            assert not covers[:, rest].any(axis=1).all()


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


@settings(max_examples=40)
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


def test_simplify_beyond_the_exact_size_drops_a_cube_the_others_cover():
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
