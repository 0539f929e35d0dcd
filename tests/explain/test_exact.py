"""Compiled heads equal their formulas on every Boolean row, without rounding and with relevance exactly 1."""

from __future__ import annotations

import itertools
import json
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.certificate import Certificate
from logiclens.explain.exact import compile_formulas, compiled_bound, compiled_network, explain_exact
from logiclens.explain.weights import NetworkWeights
from logiclens.formula import DNF, parse
from logiclens.formula.dnf import Complement, Cube, Literal
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.nn import EntropyNet
from tests.examples import examples
from tests.oracles.rounding import PlainHead, worst_logit


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


@examples(60)
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
def test_wide_heads_equal_their_formulas_on_random_and_near_rows(m, n_cubes, longest):
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


def test_one_concept_shared_by_all_cubes_is_compiled_exactly():
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


def test_weights_of_a_concept_are_even_and_sum_to_one():
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


# ---- rounding


def uneven(network: EntropyNet) -> EntropyNet:
    """The same function with weights that are no round numbers, so that float32 does round."""
    with torch.no_grad():
        for layer, factor in ((network.entropy, 0.9), (network.tail[1], 1.1)):
            layer.weight.mul_(factor)
            layer.bias.mul_(factor if layer is network.entropy else 0.9 * factor)
    return network


def plain(network: EntropyNet, head: int) -> PlainHead:
    weight, bias, out, offset = (parameter.detach().double()[head].tolist() for parameter in network.parameters())
    return PlainHead(weight, bias, network.entropy.keep[head].tolist(), [(out, offset)], network.entropy.temperature)


@pytest.mark.parametrize(("m", "n_cubes", "longest"), [(5, 3, 3), (20, 40, 8), (60, 40, 8), (60, 40, 60)])
def test_roundings_that_all_go_wrong_stay_within_the_bound(m, n_cubes, longest):
    rng = np.random.default_rng(m)
    names = [f"c{j}" for j in range(m)]
    # Short cubes hold on most rows, and the more cubes hold, the surer the answer.
    formula = DNF(cube for cube in random_formula(rng, names, 2 * n_cubes, longest) if len(cube) >= 3)
    network = uneven(compile_formulas([formula, Complement(formula)], names))
    rows = np.concatenate([rng.random((5, m)) < 0.5, *(near(cube, names, rng)[-1:] for cube in formula.cubes[:5])])
    smallest = 0.9 * 1.1
    for head in (0, 1):
        bound = compiled_bound(NetworkWeights.of(network), head)
        assert 0 < bound < 0.1
        worst = min(
            abs(worst_logit(plain(network, head), row.astype(int).tolist(), side)) for row in rows for side in (1, -1)
        )
        assert smallest - bound <= worst < smallest
    fires = formula.evaluate(rows, names)
    np.testing.assert_array_equal(logits(network, rows) >= 0, np.column_stack([fires, ~fires]))


def test_a_compiled_heads_bound_does_not_grow_with_its_cubes():
    names = [f"c{j}" for j in range(20)]
    rng = np.random.default_rng(0)
    few, many = (
        compile_formulas([DNF(Cube(Literal(name, bool(rng.integers(2))) for name in names) for _ in range(n))], names)
        for n in (10, 1_000)
    )
    assert compiled_bound(NetworkWeights.of(many), 0) < 0.1
    assert compiled_bound(NetworkWeights.of(few), 0) > compiled_bound(NetworkWeights.of(many), 0) / 100


def test_the_bound_is_infinite_where_a_unit_could_turn():
    network = compile_formulas([parse("a & b")], ["a", "b"])
    with torch.no_grad():
        network.entropy.bias.sub_(0.25 - 1e-9)
    assert compiled_bound(NetworkWeights.of(network), 0) < float("inf")
    with torch.no_grad():
        network.entropy.bias.sub_(0.25)
    assert compiled_bound(NetworkWeights.of(network), 0) == float("inf")


# ---- the certificate


def table_of(names, class_names=("no", "yes"), n_rows: int = 400, seed: int = 0, **groups) -> ConceptTable:
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, len(names))) < 0.5
    return ConceptTable(rows, list(names), rng.integers(0, len(class_names), n_rows), list(class_names), **groups)


def test_the_certificate_states_compiled_heads():
    formula = parse("(a & ~b) | c")
    made = compiled_network([Complement(formula), formula], table_of("abcd"))
    no, yes = made.certificate.heads
    assert [head.name for head in made.certificate.heads] == ["no", "yes"]
    assert made.certificate.formulas == (Complement(formula), formula)
    assert yes.concepts == no.concepts == ("a", "b", "c")
    assert (no.complement_of, yes.complement_of) == (1, None)
    assert yes.origin == "compiled from the formula"
    assert yes.domain == "all 8 rows of its 3 concepts"
    assert yes.smallest_logit == 1.0
    assert 0 < yes.rounding_bound < 1e-4
    entry = yes.as_dict()
    assert entry["origin"] == "compiled from the formula"
    assert entry["formula"] == [{"a": True, "b": False}, {"c": True}]
    assert entry["rows_checked"] == 8
    assert no.as_dict()["formula"] is None
    assert no.as_dict()["complement_of"] == 1


def test_the_certificate_can_be_written_and_read():
    formula = parse("(a & ~b) | c")
    made = compiled_network([Complement(formula), formula], table_of("abcd"))
    pair = (Rule("no", Complement(formula), (0.5,)), Rule("yes", formula, (0.9, 0.8)))
    rules = RuleSet(pair, otherwise=0, resolve="order")
    content = made.certificate.as_dict(version="1", model_sha256="m", weights_sha256="w", rules=rules)
    assert (content["schema"], content["resolve"], content["order"], content["otherwise"]) == (2, "order", [1], 0)
    assert Certificate.from_dict(json.loads(json.dumps(content))) == made.certificate


def test_a_head_of_many_concepts_is_certified_without_rows():
    names = [f"c{j}" for j in range(60)]
    formula = random_formula(np.random.default_rng(0), names, 40, 8)
    start = time.process_time()
    made = compiled_network([Complement(formula), formula], table_of(names))
    explanation = explain_exact(made.certificate, table_of(names))
    assert time.process_time() - start < 5
    head = made.certificate.heads[1]
    assert head.rows_checked is None
    assert head.domain == f"all 2^{len(formula.concepts)} rows of its {len(formula.concepts)} concepts"
    assert not head.proved_minimal
    assert head.rounding_bound < 0.1
    for explained in explanation:
        assert explained.equals_network
        assert set(explained.relevance) == set(formula.concepts)
        assert set(explained.relevance.values()) == {1.0}
        assert explained.table.names == tuple(name for name in names if name in formula.concepts)


def test_shortness_is_proved_up_to_12_concepts_within_groups():
    def proved(text: str, table: ConceptTable) -> bool:
        formula = parse(text)
        made = compiled_network([Complement(formula), formula], table)
        assert made.certificate.heads[0].proved_minimal == made.certificate.heads[1].proved_minimal
        return made.certificate.heads[1].proved_minimal

    assert proved("(a & ~b) | c", table_of("abc"))
    assert not proved("(a & b) | (a & ~b)", table_of("abc"))
    # Where b implies a, 'a & b' is 'b'; the head equals the formula on all rows nevertheless.
    chained = ConceptTable(
        np.array([[0, 0], [1, 0], [1, 1]], dtype=bool), ["a", "b"], [0, 0, 1], ["no", "yes"], implied=[["a", "b"]]
    )
    assert not proved("a & b", chained)
    assert proved("b", chained)
    names = [f"c{j}" for j in range(13)]
    assert proved(" & ".join(names[:12]), table_of(names))
    assert not proved(" & ".join(names), table_of(names))


@pytest.mark.parametrize("constant", [DNF.true, DNF.false])
def test_constant_heads_are_certified_and_explained(constant):
    made = compiled_network([constant, Complement(constant)], table_of("ab"))
    assert [head.domain for head in made.certificate.heads] == ["every row, whatever its concepts"] * 2
    assert all(head.proved_minimal and head.rows_checked == 1 for head in made.certificate.heads)
    explanation = explain_exact(made.certificate, table_of("ab"))
    answers = ["true", "false"] if len(constant) else ["false", "true"]
    for explained, answer in zip(explanation, answers, strict=True):
        assert explained.equals_network
        assert explained.relevance == {}
        assert explained.reason.startswith(f"its formula is {answer} on every possible row")


def test_what_cannot_be_certified_is_refused():
    table = table_of("ab")
    with pytest.raises(LogicLensError, match="one formula for each of 2 classes, got 1"):
        compiled_network([parse("a")], table)
    with pytest.raises(LogicLensError, match="the complement of a needs a class with that formula"):
        compiled_network([parse("b"), Complement(parse("a"))], table)
    with pytest.raises(LogicLensError, match="the formula of 'no' cannot be compiled safely: with 1 cubes over 1"):
        compiled_network([parse("a"), parse("b")], table, temperature=1e-7)
