"""Formulas as values: algebra compared with brute force, equality by value and by meaning, evaluation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import FormulaTooLarge, LogicLensError, UnknownConcept
from logiclens.formula import DNF, CountedRows, Cube, Literal, PackedRows
from tests.examples import examples
from tests.oracles.brute_force import answers, cube_holds, every_row, meaning
from tests.strategies import CONCEPTS, boolean_rows, cubes, dnfs

A, B, C = Literal("a"), Literal("b"), Literal("c")
XOR = DNF([Cube([A, B.negated]), Cube([A.negated, B])])


def pairs_joined(n: int) -> DNF:
    """(a0 & b0) | (a1 & b1) | ...: short to write, and its negation has 2^n cubes, each of which is needed."""
    return DNF(Cube([Literal(f"a{i}"), Literal(f"b{i}")]) for i in range(n))


def ring(n: int, forward: bool) -> DNF:
    """Some neighbours on a ring differ, written as a step up or as a step down: two texts, one meaning."""
    return DNF(Cube([Literal(f"x{i}", forward), Literal(f"x{(i + 1) % n}", not forward)]) for i in range(n))


def random_dnf(seed: int, n_cubes: int, n_concepts: int, length: int) -> DNF:
    rng = np.random.default_rng(seed)
    return DNF(
        Cube(Literal(f"x{j}", bool(rng.integers(2))) for j in rng.choice(n_concepts, length, replace=False).tolist())
        for _ in range(n_cubes)
    )


# The algebra


@given(dnfs(), dnfs())
def test_and_and_not_leave_no_cube_inside_another(left, right):
    for formula in (left & right, ~left):
        sets = [set(cube.literals) for cube in formula]
        assert not any(x <= y or y <= x for x, y in combinations(sets, 2))


def test_constants_are_each_others_negation():
    assert ~DNF.false == DNF.true
    assert ~DNF.true == DNF.false
    assert DNF.false.cubes == ()
    assert DNF.true.cubes == (Cube(),)


@pytest.mark.parametrize("other", ["b", 1, None, True])
def test_operators_refuse_what_is_not_a_formula(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        A & other
    with pytest.raises(TypeError, match="unsupported operand"):
        A | other


# Sizes


def test_negation_that_would_explode_says_so():
    with pytest.raises(FormulaTooLarge, match=r"40 cubes over 80 concepts.*more than 10,000 cubes.*evaluate\(\)"):
        ~pairs_joined(40)


def test_negation_below_the_limit_is_built():
    assert len(~pairs_joined(9)) == 2**9


def test_conjunction_that_would_explode_says_so(monkeypatch):
    monkeypatch.setattr("logiclens.formula.dnf.MAX_CUBES", 1_000)
    # 32 × 32 cubes without a common concept: nothing can be absorbed.
    left = DNF(Cube([Literal(f"l{i}")]) for i in range(32))
    right = DNF(Cube([Literal(f"r{i}")]) for i in range(32))
    with pytest.raises(FormulaTooLarge, match="conjunction of 32 and 32 cubes has more than 1,000 cubes"):
        left & right
    assert len(left & DNF(right.cubes[:31])) == 32 * 31


def test_negation_of_a_long_disjunction_is_one_cube():
    # De Morgan: short however long the disjunction is.
    literals = [Literal(f"x{i}", i % 3 > 0) for i in range(200)]
    assert ~DNF(Cube([literal]) for literal in literals) == DNF([Cube(literal.negated for literal in literals)])


def test_negation_is_not_limited_by_the_recursion_depth():
    # ~((rest & a) | (rest & b)) = one literal of the rest fails, or both a and b do.
    rest = [Literal(f"x{i}") for i in range(1200)]
    negation = ~DNF([Cube([*rest, A]), Cube([*rest, B])])
    assert negation == DNF([*(Cube([literal.negated]) for literal in rest), Cube([A.negated, B.negated])])


# Values


@given(cubes(), st.randoms())
def test_cubes_are_equal_in_any_order(cube, random):
    shuffled = Cube(random.sample(cube.literals, len(cube.literals)))
    assert shuffled == cube
    assert hash(shuffled) == hash(cube)


@given(dnfs(), st.randoms())
def test_formulas_are_equal_in_any_order(formula, random):
    shuffled = DNF(random.sample(formula.cubes, len(formula.cubes)))
    assert shuffled == formula
    assert hash(shuffled) == hash(formula)


@given(dnfs(), dnfs())
def test_equal_formulas_have_the_same_cubes_and_meaning(left, right):
    same = {frozenset(cube.literals) for cube in left} == {frozenset(cube.literals) for cube in right}
    assert (left == right) == same
    if same:
        assert meaning(left, CONCEPTS) == meaning(right, CONCEPTS)


def test_equality_is_by_value_not_by_meaning():
    split = (A & B) | (A & ~B)
    assert split != DNF([Cube([A])])
    assert split.equivalent(A)


def test_a_formula_equals_no_other_kind():
    assert DNF([Cube([A])]) != Cube([A])
    assert Cube([A]) != A
    assert DNF.true != True  # noqa: E712
    assert len({A, Cube([A]), DNF([Cube([A])])}) == 3


def test_repetitions_are_dropped_and_order_is_kept():
    cube = Cube([B, A, B])
    assert cube.literals == (B, A)
    assert DNF([cube, Cube([C]), Cube([A, B])]).cubes == (cube, Cube([C]))
    assert DNF([cube, Cube([C, A])]).concepts == ("b", "a", "c")


def test_values_are_frozen():
    for value, field in ((A, "concept"), (Cube([A]), "literals"), (DNF([Cube([A])]), "cubes")):
        with pytest.raises(AttributeError, match=field):
            setattr(value, field, ())


@pytest.mark.parametrize("formula", [A, Cube([A]), XOR, DNF.true, DNF.false])
def test_truth_of_a_formula_cannot_be_asked(formula):
    with pytest.raises(LogicLensError, match="neither true nor false by itself"):
        bool(formula)


@given(dnfs())
def test_literals_are_counted_over_cubes(formula):
    assert formula.n_literals == sum(len(set(cube.literals)) for cube in formula.cubes)
    assert formula.is_constant == (formula in (DNF.true, DNF.false))


def test_a_cube_refuses_a_concept_with_its_negation():
    with pytest.raises(LogicLensError, match="cannot hold both 'b' and its negation"):
        Cube([A, B, C, B.negated])


@pytest.mark.parametrize("concept", ["", None, 3])
def test_a_literal_needs_a_name(concept):
    with pytest.raises(LogicLensError, match="needs the name of a concept"):
        Literal(concept)


def test_a_cube_without_a_literal_loses_only_that():
    cube = Cube([A, B.negated, C])
    assert cube.without(B.negated) == Cube([A, C])
    assert cube.without(B) == cube


@given(cubes(), cubes())
def test_cubes_exclude_each_other_when_no_row_satisfies_both(left, right):
    rows = [dict(zip(CONCEPTS, row, strict=True)) for row in every_row(len(CONCEPTS))]
    assert left.excludes(right) == (not any(cube_holds(left, row) and cube_holds(right, row) for row in rows))


# Meaning


def test_implication_on_eleven_concepts_agrees_with_brute_force():
    # More concepts than the table at the bottom of the recursion holds, dense enough to be covered now and then.
    names = [f"x{j}" for j in range(11)]
    seen = set()
    for seed in range(30):
        formula = random_dnf(seed, n_cubes=60 + 4 * seed, n_concepts=11, length=4)
        expected = all(meaning(formula, names))
        seen.add(expected)
        assert DNF.true.implies(formula) == expected
        some = random_dnf(1000 + seed, n_cubes=2, n_concepts=11, length=6)
        assert some.implies(formula) == all(
            y or not x for x, y in zip(meaning(some, names), meaning(formula, names), strict=True)
        )
    assert seen == {True, False}


@examples(10)
@given(st.integers(0, 1000), st.randoms())
def test_splitting_cubes_of_a_wide_formula_keeps_its_meaning(seed, random):
    # 50 cubes, each split on one more concept: 100 cubes over about 200 concepts, out of reach for 2^n rows.
    wide = random_dnf(seed, n_cubes=50, n_concepts=200, length=8)
    split = []
    for cube in wide:
        extra = Literal(random.choice([f"x{j}" for j in range(200) if f"x{j}" not in cube.concepts]))
        split += [Cube([*cube, extra]), Cube([*cube, extra.negated])]
    random.shuffle(split)
    assert wide.equivalent(DNF(split))
    # Half a split cube is missing: the other half's rows are lost.
    assert not wide.implies(DNF(split[1:]))
    assert DNF(split[1:]).implies(wide)


def test_hundred_cubes_over_two_hundred_concepts_are_compared():
    for length in (2, 3, 5, 10):
        left, right = (random_dnf(seed, n_cubes=100, n_concepts=200, length=length) for seed in (1, 2))
        assert left.equivalent(DNF(reversed(left.cubes)))
        assert not left.equivalent(right)
        assert left.implies(left | right)
        assert not (left | right).implies(right)


def test_one_part_that_always_holds_is_enough():
    # The parts share no concept, and neither can be struck out at sight.
    always = DNF(Cube([Literal("a", x), Literal("b", y)]) for x in (True, False) for y in (True, False))
    assert DNF.true.implies(ring(12, forward=True) | always)
    assert not DNF.true.implies(ring(12, forward=True) | DNF(always.cubes[:3]))


def test_two_rings_of_a_hundred_cubes_are_the_same():
    assert ring(100, forward=True).equivalent(ring(100, forward=False))


def test_a_ring_with_a_gap_is_not_the_ring():
    whole = ring(30, forward=True)
    assert not ring(30, forward=False).implies(DNF(whole.cubes[1:]))


def test_pigeons_always_collide():
    # Six pigeons in five holes: some pigeon has no hole, or two share one. True, and hard to see.
    seat = {(p, h): Literal(f"p{p}h{h}") for p in range(6) for h in range(5)}
    alone = [Cube(seat[p, h].negated for h in range(5)) for p in range(6)]
    shared = [Cube([seat[p, h], seat[q, h]]) for h in range(5) for p, q in combinations(range(6), 2)]
    assert DNF.true.implies(DNF(alone + shared))
    assert not DNF.true.implies(DNF(alone + shared[1:]))


def test_meaning_is_asked_of_formulas_only():
    with pytest.raises(LogicLensError, match="expected a Literal, a Cube or a DNF, got str"):
        XOR.equivalent("a")
    with pytest.raises(LogicLensError, match="expected a Literal, a Cube or a DNF, got str"):
        XOR.implies("a")


# Evaluation

ROWS_OF = {
    "packed": lambda m, names: (PackedRows.of(m, names), None),
    "matrix": lambda m, names: (m, names),
    "integers": lambda m, names: (m.astype(int), names),
    "floats": lambda m, names: (m.astype(float), names),
    "lists": lambda m, names: (m.tolist(), names),
    "frame": lambda m, names: (pd.DataFrame(m, columns=names), None),
    "dictionary": lambda m, names: ({name: m[:, j].tolist() for j, name in enumerate(names)}, None),
}


@pytest.mark.parametrize("kind", ROWS_OF)
@given(dnfs(), boolean_rows(width=7))
def test_evaluate_answers_as_brute_force_on_every_kind_of_rows(kind, formula, rows):
    # Two columns that no formula uses, and an order that is not the alphabet's.
    names = ["z", "e", "d", "c", "b", "a", "y"]
    given_rows, given_names = ROWS_OF[kind](np.array(rows), names)
    result = formula.evaluate(given_rows, given_names)
    assert result.dtype == np.bool_
    assert result.tolist() == answers(formula, names, rows)


@pytest.mark.parametrize("kind", ROWS_OF)
@given(dnfs(), boolean_rows(width=5))
def test_fired_names_the_cubes_that_hold(kind, formula, rows):
    given_rows, given_names = ROWS_OF[kind](np.array(rows), list(CONCEPTS))
    fired = formula.fired(given_rows, given_names)
    assert fired.shape == (len(rows), len(formula))
    named = [dict(zip(CONCEPTS, row, strict=True)) for row in rows]
    assert fired.tolist() == [[cube_holds(cube, row) for cube in formula] for row in named]


@pytest.mark.parametrize("kind", ROWS_OF)
def test_constants_answer_every_row(kind):
    rows, names = ROWS_OF[kind](np.array([[True, False], [False, False], [True, True]]), ["a", "b"])
    assert DNF.true.evaluate(rows, names).tolist() == [True, True, True]
    assert DNF.false.evaluate(rows, names).tolist() == [False, False, False]
    assert DNF.true.fired(rows, names).tolist() == [[True], [True], [True]]
    assert DNF.false.fired(rows, names).shape == (3, 0)


def test_counted_rows_are_evaluated_once_each():
    counted = CountedRows.of([[1, 0], [0, 0], [1, 0], [0, 1]], names=["a", "b"])
    assert XOR.evaluate(counted).tolist() == answers(XOR, ["a", "b"], counted.bits())


def test_columns_the_formula_does_not_use_may_hold_anything():
    frame = pd.DataFrame({"a": [True, False], "b": [False, False], "age": [93.0, np.nan], "who": ["x", "y"]})
    assert XOR.evaluate(frame).tolist() == [True, False]
    assert XOR.evaluate(np.array([[1, 0, 93.0]]), names=["a", "b", "age"]).tolist() == [True]


@pytest.mark.parametrize("kind", ROWS_OF)
def test_unknown_concept_is_named_with_the_nearest_known_one(kind):
    rows, names = ROWS_OF[kind](np.array([[True, False]]), ["smoker", "sepsis"])
    formula = DNF([Cube([Literal("smokr")])])
    for ask in (formula.evaluate, formula.fired):
        with pytest.raises(UnknownConcept, match=r"no concept 'smokr'\. Did you mean 'smoker'\?"):
            ask(rows, names)


def test_unknown_concept_like_no_other_lists_some_that_are_known():
    names = [f"x{j}" for j in range(10)]
    with pytest.raises(UnknownConcept, match=r"Known concepts: 'x0', 'x1', .*'x7', …"):
        DNF([Cube([Literal("weather")])]).evaluate(np.zeros((1, 10)), names)


def test_a_matrix_must_come_with_names():
    with pytest.raises(LogicLensError, match=r"does not name its concepts: pass names="):
        XOR.evaluate([[1, 0]])


def test_a_matrix_must_be_as_wide_as_its_names():
    with pytest.raises(LogicLensError, match="3 names were given for 2 columns"):
        XOR.evaluate([[1, 0]], names=["a", "b", "c"])


@pytest.mark.parametrize("value", [0.7, np.nan, np.inf, 2, -1])
def test_values_between_yes_and_no_are_refused(value):
    with pytest.raises(LogicLensError, match=r"must be Boolean.*rows >= 0.5"):
        XOR.evaluate([[1.0, value]], names=["a", "b"])
    with pytest.raises(LogicLensError, match=r"must be Boolean.*rows >= 0.5"):
        XOR.evaluate(pd.DataFrame({"a": [1.0], "b": [value]}))
