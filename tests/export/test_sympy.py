"""sympy: the expression has the truth table of the formula, whatever the concepts are called."""

from __future__ import annotations

import pytest
from hypothesis import given

from logiclens.export import to_sympy
from logiclens.formula import DNF, Cube, Literal
from logiclens.formula.predicate import Predicate
from tests.oracles.brute_force import every_row, meaning
from tests.strategies import dnfs_with_any_names

sympy = pytest.importorskip("sympy")


@given(dnfs_with_any_names())
def test_the_truth_table_is_the_formulas(formula: DNF) -> None:
    expression, concepts = to_sympy(formula), formula.concepts
    symbols = [sympy.Symbol(concept) for concept in concepts]
    assert expression.free_symbols <= set(symbols)
    rows = [dict(zip(symbols, row, strict=True)) for row in every_row(len(concepts))]
    assert [bool(expression.subs(row)) for row in rows] == meaning(formula, concepts)


def test_constants_and_parts() -> None:
    assert (to_sympy(DNF.true), to_sympy(DNF.false)) == (sympy.true, sympy.false)
    assert to_sympy(Literal("a", False)) == ~sympy.Symbol("a")
    assert to_sympy(Cube([Literal("a"), Literal("b")])) == sympy.Symbol("a") & sympy.Symbol("b")


def test_a_name_is_never_read_as_code() -> None:
    name = "__import__('os').abort()"
    assert to_sympy(Literal(name)) == sympy.Symbol(name)


def test_a_predicate_printed_as_a_sentence_is_one_symbol() -> None:
    names = [str(p) for p in (Predicate("bmi", "missing"), Predicate("admitted", ">=", "2021-03-01T12:30"))]
    assert to_sympy(Literal(names[0]) & ~Literal(names[1])) == sympy.Symbol("bmi is missing") & ~sympy.Symbol(
        "admitted >= 2021-03-01T12:30"
    )
