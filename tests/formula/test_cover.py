"""Questions about cubes: the answers of brute force, with and without a SAT solver, within a limit of steps."""

from __future__ import annotations

import itertools
import random
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import FormulaTooLarge
from logiclens.formula import DNF, Cube, Literal, cover
from logiclens.formula.cover import Budget, Covering, OutOfSteps
from logiclens.formula.dnf import Complement
from logiclens.formula.minimisation import simplify
from tests.examples import examples

N = 5
GRID = np.array(list(itertools.product([False, True], repeat=N)))
NAMES = [f"x{j}" for j in range(N)]
WAYS = ["search", "table", "solver", "search to the end"]
"""How a question is decided once the quick search has given up."""

formulas = st.lists(st.lists(st.sampled_from([None, False, True]), min_size=N, max_size=N), max_size=10).map(
    lambda cubes: DNF(
        Cube(Literal(name, sign) for name, sign in zip(NAMES, signs, strict=True) if sign is not None)
        for signs in cubes
    )
)


def decided(monkeypatch, way):
    """Decide every question in one way."""
    if way != "search":
        monkeypatch.setattr(cover, "QUICK_STEPS", 0)
    if way in ("solver", "search to the end"):
        monkeypatch.setattr(cover, "ROWS_CONCEPTS", -1)
    if way == "search to the end":
        without_solver(monkeypatch)
    monkeypatch.setattr(cover, "TABLE_CONCEPTS", 2)


def without_solver(monkeypatch):
    """Act as if python-sat was not installed."""
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    assert not cover.is_installed()


def rows_of(formula):
    return formula.evaluate(GRID, NAMES)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_decide_agrees_with_brute_force(way):
    @given(left=formulas, right=formulas)
    @examples(60)
    def agree(left, right):
        with pytest.MonkeyPatch.context() as patch:
            decided(patch, way)
            mine, theirs = rows_of(left), rows_of(right)
            assert left.implies(right) == bool((~mine | theirs).all())
            assert left.equivalent(right) == bool((mine == theirs).all())
            assert Complement(left).implies(right) == bool((mine | theirs).all())
            assert left.implies(Complement(right)) == bool((~mine | ~theirs).all())
            assert left.equivalent(Complement(right)) == bool((mine != theirs).all())
            assert Complement(right).equivalent(left) == bool((mine != theirs).all())
            assert (rows_of(~left) == ~mine).all()
            assert (rows_of(left & right) == (mine & theirs)).all()

    agree()


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_simplify_finds_the_same_formula(way, monkeypatch):
    monkeypatch.setattr("logiclens.formula.minimisation.EXACT_CONCEPTS", 0)

    @given(formula=formulas)
    @examples(40)
    def same(formula):
        short = simplify(formula).formula
        with pytest.MonkeyPatch.context() as patch:
            decided(patch, way)
            again = simplify(formula).formula
        assert again.cubes == short.cubes
        assert (rows_of(short) == rows_of(formula)).all()
        for cube in short:
            rest = DNF(other for other in short if other != cube)
            assert not (rows_of(rest) == rows_of(formula)).all()
            for literal in cube:
                assert not (~rows_of(DNF([cube.without(literal)])) | rows_of(formula)).all()

    same()


@given(cubes=st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)), max_size=100))
@examples(60)
def test_absorbing_with_an_index_equals_comparing_all_pairs(cubes):
    consistent = [(p, n & ~p) for p, n in cubes]
    unique = list(dict.fromkeys(consistent))
    expected = [(p, n) for p, n in unique if not any((q, m) != (p, n) and q & p == q and m & n == m for q, m in unique)]
    with pytest.MonkeyPatch.context() as patch:
        for few in (0, 1_000):
            patch.setattr(cover, "FEW_CUBES", few)
            assert cover.absorb(consistent) == expected


def random_formula(n_concepts, n_cubes, seed=0):
    draw = random.Random(seed)
    return DNF(
        Cube(Literal(f"x{j:03}", draw.random() < 0.5) for j in draw.sample(range(n_concepts), 3))
        for _ in range(n_cubes)
    )


def pigeonhole(n):
    """True on every row: n pigeons do not fit into n − 1 holes."""
    homeless = [Cube(Literal(f"p{p} in {h}", False) for h in range(n - 1)) for p in range(n)]
    crowded = [
        Cube([Literal(f"p{p} in {h}"), Literal(f"p{q} in {h}")])
        for h in range(n - 1)
        for p, q in itertools.combinations(range(n), 2)
    ]
    return DNF(homeless + crowded)


HARD = {"random": lambda: random_formula(200, 880), "pigeonhole": lambda: pigeonhole(11)}
ASK = {
    "implies": lambda formula: DNF.true.implies(formula),
    "equivalent": lambda formula: DNF.true.equivalent(formula),
    "complement implies": lambda formula: Complement(formula).implies(DNF.false),
    "simplify": lambda formula: simplify(formula),
}


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("hard", HARD)
def test_hard_formulas_end_in_a_sentence_without_a_solver(monkeypatch, hard, ask):
    without_solver(monkeypatch)
    # Fewer steps, so that the test is fast.
    monkeypatch.setattr(cover, "STEPS", 200_000)
    with pytest.raises(
        FormulaTooLarge, match=r"cubes over \d+ concepts\) is not decided within 200,000 steps. .*extra .sat"
    ):
        ASK[ask](HARD[hard]())


def test_the_solver_decides_what_the_search_cannot():
    formula = random_formula(200, 880)
    assert DNF.true.implies(formula)
    assert Complement(formula).equivalent(DNF.false)
    assert not DNF.true.implies(random_formula(200, 820))


def test_the_solver_stops_at_its_limit_of_conflicts(monkeypatch):
    monkeypatch.setattr(cover, "CONFLICTS", 1_000)
    with pytest.raises(FormulaTooLarge, match=r"561 cubes over 110 concepts\) is not decided within 1,000 conflicts"):
        DNF.true.implies(pigeonhole(11))


@pytest.mark.parametrize("formula", [random_formula(200, 880), pigeonhole(11)], ids=["random", "pigeonhole"])
def test_a_negation_that_takes_too_long_says_so(monkeypatch, formula):
    monkeypatch.setattr(cover, "STEPS", 200_000)
    with pytest.raises(FormulaTooLarge, match=r"negation .* takes more than 200,000 steps. Negate the answers"):
        _ = ~formula


def test_parity_of_many_concepts_is_compared_by_its_rows():
    odd = [bits for bits in itertools.product((False, True), repeat=13) if sum(bits) % 2]
    names = [f"x{j}" for j in range(13)]
    parity = DNF(Cube(map(Literal, names, bits)) for bits in odd)
    # Each pair of rows that differ in one more concept becomes two cubes: the same meaning, other cubes.
    other = DNF(Cube([*cube, Literal("more", sign)]) for cube in parity for sign in (False, True))
    assert other.equivalent(parity)
    assert not other.implies(DNF(parity.cubes[1:]))


def test_a_chain_of_concepts_is_not_limited_by_the_recursion():
    # x0 or x1 or not both, and so on: thousands of splits below each other.
    chain = DNF(
        cube
        for j in range(1_200)
        for cube in (
            Cube([Literal(f"x{j}"), Literal(f"x{j + 1}", False), Literal(f"y{j}")]),
            Cube([Literal(f"x{j}", False), Literal(f"x{j + 1}"), Literal(f"y{j}", False)]),
        )
    )
    assert not DNF.true.implies(chain)


def test_a_budget_counts_steps_and_then_refuses():
    budget = Budget(10)
    budget.spend(10)
    with pytest.raises(OutOfSteps):
        budget.spend(1)


def test_the_same_question_takes_the_same_steps():
    cubes = [tuple(random.Random(seed).sample(range(64), 2)) for seed in range(20)]
    spent = []
    for _ in range(2):
        covering = Covering([(p, n & ~p) for p, n in cubes])
        covering.covers((1, 2))
        spent.append((covering.budget.left, covering.budget.quick))
    assert spent[0] == spent[1]


def test_too_many_cubes_and_concepts_are_refused():
    wide = DNF(Cube([Literal(f"x{j}")]) for j in range(60_000))
    with pytest.raises(FormulaTooLarge, match=r"60,001 cubes over 60,000 concepts are too many to compare"):
        DNF.true.implies(wide)
