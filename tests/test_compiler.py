"""Compiled heads: they are their formulas on every Boolean row, without rounding and with relevance exactly 1."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.explain.compiler import compile_formulas
from logiclens.formula import DNF, parse
from logiclens.formula.dnf import Complement, Cube, Literal
from logiclens.nn import EntropyNet


def all_rows(m: int) -> np.ndarray:
    return np.array(list(itertools.product([False, True], repeat=m)), dtype=bool).reshape(2**m, m)


def random_formula(rng: np.random.Generator, names: list[str], n_cubes: int, longest: int) -> DNF:
    cubes = []
    for _ in range(n_cubes):
        size = int(rng.integers(1, min(longest, len(names)) + 1))
        chosen = sorted(rng.choice(len(names), size, replace=False).tolist())
        cubes.append(Cube(Literal(names[j], bool(rng.integers(2))) for j in chosen))
    return DNF(cubes)


def logits(network: EntropyNet, rows: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return network(torch.from_numpy(rows).float()).numpy()


def truth(formula: DNF | Complement, rows: np.ndarray, names: list[str]) -> np.ndarray:
    """Row by row and literal by literal, with nothing of the library's evaluation."""
    stated = formula.of if isinstance(formula, Complement) else formula
    column = {name: rows[:, j] for j, name in enumerate(names)}
    fires = np.zeros(len(rows), dtype=int)
    for cube in stated:
        holds = np.ones(len(rows), dtype=bool)
        for literal in cube:
            holds &= column[literal.concept] == literal.positive
        fires += holds
    return -fires if isinstance(formula, Complement) else fires


def assert_is_formula(network: EntropyNet, head: int, formula: DNF | Complement, rows: np.ndarray, names: list[str]):
    """The logit counts true cubes, to the last bit."""
    expected = 2 * truth(formula, rows, names) + (1 if isinstance(formula, Complement) else -1)
    np.testing.assert_array_equal(logits(network, rows)[:, head], expected)


def assert_relevance(network: EntropyNet, head: int, formula: DNF | Complement, names: list[str]) -> None:
    expected = [float(name in formula.concepts) for name in names]
    assert network.entropy.relevance()[head].tolist() == expected
    assert network.entropy.keep[head].tolist() == [bool(value) for value in expected]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 16), st.integers(1, 12), st.sampled_from([0.05, 0.6, 1.0, 20.0]))
def test_heads_are_their_formulas_on_every_row(seed, m, n_cubes, temperature):
    rng = np.random.default_rng(seed)
    names = [f"c{j}" for j in range(m)]
    first, second = random_formula(rng, names, n_cubes, 6), random_formula(rng, names, 1 + n_cubes // 2, m)
    formulas = [first, second, Complement(first), Complement(second)]
    network = compile_formulas(formulas, names, temperature=temperature)
    assert network.hidden == (max(len(first), len(second)),)
    rows = all_rows(m)
    for head, formula in enumerate(formulas):
        assert_is_formula(network, head, formula, rows, names)
        assert_relevance(network, head, formula, names)


@pytest.mark.parametrize(("m", "n_cubes", "longest"), [(60, 40, 8), (60, 40, 60), (100, 40, 100), (100, 200, 5)])
def test_wide_heads_are_their_formulas_on_random_rows_and_near_every_cube(m, n_cubes, longest):
    rng = np.random.default_rng(m + n_cubes)
    names = [f"c{j}" for j in range(m)]
    formula = random_formula(rng, names, n_cubes, longest)
    network = compile_formulas([formula, Complement(formula)], names)
    rows = np.concatenate([rng.random((2_000, m)) < 0.5, *(near(cube, names, rng) for cube in formula)])
    assert_is_formula(network, 0, formula, rows, names)
    assert_is_formula(network, 1, Complement(formula), rows, names)
    assert_relevance(network, 0, formula, names)


def near(cube: Cube, names: list[str], rng: np.random.Generator) -> np.ndarray:
    """A row on which the cube holds, and for each literal one on which only that fails."""
    rows = np.repeat(rng.random((1, len(names))) < 0.5, len(cube) + 1, axis=0)
    for literal in cube:
        rows[:, names.index(literal.concept)] = literal.positive
    for r, literal in enumerate(cube):
        rows[r, names.index(literal.concept)] = not literal.positive
    return rows


def test_one_concept_in_all_cubes_and_the_others_in_one_each():
    """The most uneven weights: 1/40 beside 1."""
    names = ["often", *(f"c{j}" for j in range(80))]
    formula = DNF(Cube([Literal("often"), Literal(f"c{2 * k}"), Literal(f"c{2 * k + 1}", False)]) for k in range(40))
    network = compile_formulas([formula], names)
    assert network.entropy.strength()[0].tolist() == [1.0] * 81
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.random((2_000, 81)) < 0.5, *(near(cube, names, rng) for cube in formula)])
    assert_is_formula(network, 0, formula, rows, names)


@pytest.mark.parametrize("formula", [DNF.true, DNF.false, Complement(DNF.true), Complement(DNF.false)])
def test_a_constant_head_keeps_no_concept(formula):
    network = compile_formulas([formula, parse("a | b")], ["a", "b"])
    assert_is_formula(network, 0, formula, all_rows(2), ["a", "b"])
    assert_relevance(network, 0, formula, ["a", "b"])
    assert network.entropy.entropy()[0].item() == 0.0
    alone = compile_formulas([formula], ["a", "b"])
    assert alone.hidden == (1,)
    assert_is_formula(alone, 0, formula, all_rows(2), ["a", "b"])


def test_an_empty_cube_beside_others_is_always_true():
    formula = DNF([Cube(), *parse("a & ~b").cubes])
    network = compile_formulas([formula], ["a", "b"])
    assert_is_formula(network, 0, formula, all_rows(2), ["a", "b"])
    assert_relevance(network, 0, formula, ["a", "b"])


def test_weights_of_a_concept_are_even_and_sum_to_1_exactly():
    formula = parse("(a & b) | (a & c) | (a & ~d) | b & ~c")
    weight = compile_formulas([formula], list("abcd")).entropy.weight[0].detach().double().numpy()
    assert np.abs(weight).sum(axis=0).tolist() == [1.0] * 4
    assert np.abs(weight[:, 0][weight[:, 0] != 0] - 1 / 3).max() < 1 / 256
    assert weight[2, 3] == -1.0


def test_compiling_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    compile_formulas([parse("a")], ["a"])
    assert torch.equal(before, torch.get_rng_state())


def test_formulas_that_cannot_be_compiled_are_refused():
    with pytest.raises(LogicLensError, match="'d'"):
        compile_formulas([parse("a & d")], ["a", "b"])
    with pytest.raises(LogicLensError, match="at least one formula"):
        compile_formulas([], ["a"])
