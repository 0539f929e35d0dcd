"""Explanations of single rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain import FormulaLimits, explain_all, explain_local
from logiclens.explain.local import shortest_reason
from logiclens.formula import DNF, Cube, Literal
from logiclens.formula.dnf import implied_by
from tests.rigged import GRID, NAMES, Rigged, boolean, xor_net


def test_a_local_explanation_is_the_rows_shortest_reduced_cube():
    network = Rigged(4, [range(3), range(3)], boolean(lambda a, b, c, d: a | (b & c)))
    explanation = explain_all(network, ConceptTable(GRID, NAMES))
    local = explain_local(network, [1, 0, 1, 1], explanation=explain_all(network, GRID))
    assert str(local.cube) == "x0 & ~x1 & x2"
    assert str(local.reduced) == "x0"
    assert local.agrees
    assert str(explain_local(network, [1, 0, 1, 1], explanation=explanation).cube) == "a & ~b & c"
    for row in GRID:
        found = explain_local(network, ConceptTable(row[None], NAMES), explanation=explanation)
        formula = explanation[found.name].formula
        assert implied_by(DNF([found.reduced]), formula)
        assert set(found.reduced.literals) <= set(found.cube.literals)


def test_local_explanation_without_formulas_is_the_cube_alone():
    local = explain_local(xor_net(), torch.tensor([0.9, 0.2, 0.0, 0.0]))
    assert str(local.cube) == "x0 & ~x1"
    assert local.reduced is None
    assert local.agrees is None
    assert local.probability == pytest.approx(1 / (1 + np.exp(-10)))


def test_local_explanation_says_where_formula_and_network_disagree():
    network = Rigged(4, [range(4), range(4)], boolean(lambda a, b, c, d: a | (b & c & d)))
    table = ConceptTable(np.repeat(GRID, 5, axis=0), NAMES)
    explanation = explain_all(network, table, limits=FormulaLimits(max_literals=1))
    local = explain_local(network, ConceptTable([[0, 1, 1, 1]], NAMES), target=1, explanation=explanation)
    assert local.agrees is False
    assert str(local).startswith("class 1 (over 99.99%): no reason found, the class formula says otherwise here")


def test_a_row_without_the_class_says_so_and_why():
    single = Rigged(4, [[0, 1]], lambda x: 5 * (x[:, :1] + x[:, 1:2]) - 7.5)
    table = ConceptTable(GRID, NAMES, GRID[:, 0] & GRID[:, 1], ["no", "yes"])
    explanation = explain_all(single, table)
    local = explain_local(single, GRID[0], explanation=explanation)
    assert (local.name, local.holds, local.agrees) == ("yes", False, True)
    assert local.probability > 0.99
    assert len(local.reduced) == 1
    assert str(local).startswith("not yes (99.9%): ¬")


def test_local_explanations_answer_as_the_explanation_they_are_given():
    def logits(x):
        return torch.stack([x[:, 0] - 0.5, x[:, 1] - 0.5], dim=-1) * 20

    network = Rigged(4, [[0], [1]], logits)
    explanation = explain_all(network, ConceptTable(GRID, NAMES, GRID[:, :2], ["left", "right"]), multilabel=True)
    local = explain_local(network, [1, 1, 0, 0], target="right", explanation=explanation)
    assert (local.name, local.holds, str(local.reduced)) == ("right", True, "b")
    assert local.probability > 0.99
    with pytest.raises(LogicLensError, match="2 classes, the network 1 heads"):
        explain_local(Rigged(4, [[0]], lambda x: x[:, :1]), ConceptTable(GRID[:1], NAMES), explanation=explanation)


@given(st.data())
def test_shortest_reason_is_shortest(data):
    concepts = "abcd"
    cubes = data.draw(st.lists(st.dictionaries(st.sampled_from(concepts), st.booleans(), max_size=3), max_size=4))
    formula = DNF(Cube(Literal(c, p) for c, p in cube.items()) for cube in cubes)
    bits = data.draw(st.lists(st.booleans(), min_size=4, max_size=4))
    row = Cube(Literal(c, bit) for c, bit in zip(concepts, bits, strict=True))
    found = shortest_reason(formula, row)

    def implies(literals):
        # By brute force: every row that agrees with the literals satisfies the formula.
        rows = [
            r
            for r in itertools.product([0, 1], repeat=4)
            if all(r[concepts.index(x.concept)] == x.positive for x in literals)
        ]
        return formula.evaluate(np.array(rows), list(concepts)).all()

    lengths = [n for n in range(5) if any(implies(part) for part in itertools.combinations(row.literals, n))]
    if found is None:
        assert not lengths
    else:
        assert implies(found.literals)
        assert len(found) == lengths[0]
