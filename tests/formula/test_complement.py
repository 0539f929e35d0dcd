"""Complements and ordered classes: every question and export, compared with brute force."""

from __future__ import annotations

import operator
import pickle
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.cli.models import compared
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import FormulaTooLarge, LogicLensError
from logiclens.explain import explain_all
from logiclens.explain.local import explain_rows, shortest_reason, shortest_refusal
from logiclens.export import (
    from_json,
    sql_condition,
    to_english,
    to_json,
    to_latex,
    to_python,
    to_sympy,
    to_sympy_source,
)
from logiclens.formula import DNF, Complement, Cube, Literal, english, format_first_order, format_formula, parse
from logiclens.formula.check import implies
from logiclens.formula.diff import always
from logiclens.formula.dnf import implied_by
from logiclens.formula.minimisation import simplify
from logiclens.formula.packed_rows import pack
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.logic import test_explanation as score_explanation
from logiclens.render.html import rules_html
from tests.oracles.brute_force import every_row, holds, meaning
from tests.rigged import GRID, NAMES, Rigged
from tests.strategies import CONCEPTS, cubes, dnfs, literals

FORMULA = parse("(old & ~smoker) | sepsis")
AGE = {"old": Predicate("age", ">=", 72.5)}
RULES = RuleSet(
    (Rule("well", Complement(FORMULA), (0.8,)), Rule("ill", FORMULA, (0.9, 0.7))), AGE, otherwise=0, resolve="order"
)
ORDERED = RuleSet(
    (Rule("a", parse("x"), (0.5,)), Rule("b", parse("y"), (0.6,)), Rule("c", parse("x & y"), (0.9,))),
    resolve="order",
    order=(2, 0, 1),
    otherwise=1,
)


ROWS = np.array(every_row(len(CONCEPTS)))
LONG = DNF(Cube([Literal(f"a{i}"), Literal(f"b{i}")]) for i in range(14))
"""Its negation has 2^14 cubes, more than a formula may have."""


def formulas() -> st.SearchStrategy[DNF | Complement]:
    return dnfs() | dnfs().map(Complement)


def truth(formula: DNF | Complement | Cube | Literal) -> list[bool]:
    """The answers on all rows by brute force."""
    if isinstance(formula, Literal):
        formula = Cube([formula])
    return meaning(DNF([formula]) if isinstance(formula, Cube) else formula, CONCEPTS)


def python_answers(formula: DNF | Complement) -> list[bool]:
    names: dict[str, Any] = {}
    exec(to_python(formula), names)
    return [names["predict"](dict(zip(CONCEPTS, map(float, row), strict=True))) for row in ROWS]


def sql_answers(formula: DNF | Complement) -> list[bool]:
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE t ({', '.join(CONCEPTS)})")
        base.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", ROWS.astype(int).tolist())
        answered = base.execute(f"SELECT {sql_condition(formula, dialect='sqlite', nan=False)} FROM t ORDER BY rowid")
        return [bool(answer) for (answer,) in answered]


def narrowed(formula: DNF | Complement) -> list[bool]:
    """The answers, each asked of what remains of the formula on the rows that have the row's `a` and `b`."""
    cells = [dict(zip(CONCEPTS, map(bool, row), strict=True)) for row in ROWS]
    return [holds(formula.given({"a": row["a"], "b": row["b"]}), row) for row in cells]


ANSWERS: dict[str, Callable[[DNF | Complement], Any]] = {
    "evaluate": lambda formula: formula.evaluate(ROWS, CONCEPTS),
    "evaluate packed rows": lambda formula: formula.evaluate(pack(ROWS, CONCEPTS)),
    "fired": lambda formula: formula.fired(ROWS, CONCEPTS).any(axis=1),
    "cubes": lambda formula: truth(DNF(formula.cubes)),
    "iteration": lambda formula: truth(DNF(formula)),
    "given": narrowed,
    "pickle": lambda formula: truth(pickle.loads(pickle.dumps(formula))),
    "str": lambda formula: truth(parse(str(formula))),
    "unicode": lambda formula: truth(parse(format_formula(formula, "unicode"), CONCEPTS)),
    "latex": lambda formula: truth(parse(format_formula(formula, "latex"))),
    "simplify": lambda formula: truth(simplify(formula).formula),
    "test_explanation": lambda formula: score_explanation(
        formula, ROWS.astype(float), ROWS[:, 0].astype(int), 1, concept_names=CONCEPTS
    ).predictions.numpy(),
    "to_json": lambda formula: from_json(to_json(formula)).predict(ROWS, CONCEPTS),
    "to_python": python_answers,
    "sql": sql_answers,
}


# Operations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ANSWERS)
@given(formula=formulas())
def test_every_operation_answers_as_the_formula(operation: str, formula: DNF | Complement) -> None:
    assert list(ANSWERS[operation](formula)) == truth(formula)


@given(formulas() | literals() | cubes(), formulas())
def test_operators_mix_all_formulas(left: Any, right: DNF | Complement) -> None:
    for joined in (operator.and_, operator.or_):
        expected = [joined(x, y) for x, y in zip(truth(left), truth(right), strict=True)]
        assert truth(joined(left, right)) == expected
        assert truth(joined(right, left)) == expected
    assert truth(~right) == [not x for x in truth(right)]


@given(formulas(), formulas())
def test_checks_of_all_formulas_are_what_every_row_says(premise: DNF | Complement, other: DNF | Complement) -> None:
    first, second = np.array(truth(premise)), np.array(truth(other))
    # A name that a formula does not have is refused.
    if set(other.concepts) <= set(premise.concepts):
        assert premise.check(implies(other)).holds == bool((~first | second).all())
    # Row i + 16 is row i with a instead of ~a.
    assert premise.check("increasing in 'a'").holds == bool((~first[:16] | first[16:]).all())
    assert premise.check("never uses 'a'").holds == ("a" not in premise.concepts)


def test_the_complement_of_a_long_formula_is_never_expanded() -> None:
    names = (*LONG.concepts, "x")
    rows = np.random.default_rng(0).random((500, len(names))) < 0.2
    x, otherwise = rows[:, -1], ~(rows[:, :-1:2] & rows[:, 1:-1:2]).any(axis=1)
    assert 100 < otherwise.sum() < 400
    complement, literal = Complement(LONG), Literal("x")
    expected = {
        complement: otherwise,
        parse(str(complement)): otherwise,
        ~complement: ~otherwise,
        complement & literal: otherwise & x,
        literal | complement: otherwise | x,
        complement & Complement(literal): otherwise & ~x,
        Complement(literal) | LONG: ~otherwise | ~x,
    }
    for formula, answers in expected.items():
        assert formula.evaluate(rows, names).tolist() == answers.tolist()
    assert parse(str(complement)) == complement
    assert (LONG & complement).equivalent(DNF.false)
    assert (complement | LONG).equivalent(DNF.true)
    assert complement.check("decreasing in 'a0'").holds
    with pytest.raises(FormulaTooLarge, match=r"14 cubes.*more than 10,000 cubes.*evaluate\(\)"):
        len(complement)


def test_operators_refuse_what_is_not_a_formula() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        Complement(FORMULA) & "a"
    with pytest.raises(TypeError, match="unsupported operand"):
        1 | Complement(FORMULA)
    with pytest.raises(LogicLensError, match="expected a Literal, a Cube or a DNF, got Complement"):
        Complement(Complement(FORMULA))


def test_a_rule_needs_cubes_or_the_other_class() -> None:
    negated = parse("~(a | b)")
    with pytest.raises(LogicLensError, match=r"0 cubes and 2 confidences. DNF\(formula\) writes"):
        Rule("x", negated, (0.5, 0.5))
    with pytest.raises(LogicLensError, match=r"'x' must be the complement of the only other .* DNF\(formula\) writes"):
        RuleSet((Rule("x", negated, (0.5,)),))
    assert RuleSet((Rule("x", DNF(negated), (0.5,)),)).formulas == (parse("~a & ~b"),)


# Meaning --------------------------------------------------------------------------------------------------------


@given(formulas(), formulas())
def test_implication_is_what_every_row_says(premise: DNF | Complement, conclusion: DNF | Complement) -> None:
    first, second = np.array(meaning(premise, CONCEPTS)), np.array(meaning(conclusion, CONCEPTS))
    assert implied_by(premise, conclusion) == bool((~first | second).all())
    assert premise.equivalent(conclusion) == bool((first == second).all())


@given(formulas(), formulas())
def test_what_is_gained_and_lost_are_the_rows_that_turn(before: DNF | Complement, after: DNF | Complement) -> None:
    diff = before.diff(after, every_row(len(CONCEPTS)), CONCEPTS)
    then, now = np.array(meaning(before, CONCEPTS)), np.array(meaning(after, CONCEPTS))
    assert diff.gained is not None
    assert diff.lost is not None
    assert meaning(diff.gained, CONCEPTS) == (now & ~then).tolist()
    assert meaning(diff.lost, CONCEPTS) == (then & ~now).tolist()
    assert diff.equivalent == (then == now).all()
    assert diff.same_kind == (isinstance(before, Complement) == isinstance(after, Complement))
    assert diff.rows is not None
    assert diff.rows.gained.tolist() == np.flatnonzero(now & ~then).tolist()
    assert str(diff)


def test_a_formula_that_became_otherwise_is_told() -> None:
    told = str(parse("a & b").diff(Complement(parse("a"))))
    assert told == (
        "before this formula: a & b, now otherwise, where this does not hold: a\nnow also: ~a\nno longer: a & b"
    )
    assert "both mean the same" in str(parse("~a").diff(Complement(parse("a"))))
    assert str(Complement(parse("a & b")).diff(Complement(parse("a")))) == (
        "changed: a & b to a, without b\nno longer: a & ~b"
    )


@given(dnfs(), st.data())
def test_a_shortest_refusal_is_shortest(formula: DNF, data: st.DataObject) -> None:
    bits = data.draw(st.lists(st.booleans(), min_size=len(CONCEPTS), max_size=len(CONCEPTS)))
    row = Cube(map(Literal, CONCEPTS, bits))
    rows = [dict(zip(CONCEPTS, other, strict=True)) for other in every_row(len(CONCEPTS))]

    def rules_out(literals: tuple[Literal, ...]) -> bool:
        alike = [other for other in rows if all(other[x.concept] == x.positive for x in literals)]
        return not any(holds(formula, other) for other in alike)

    lengths = [n for n in range(6) if any(rules_out(part) for part in combinations(row.literals, n))]
    found = shortest_reason(Complement(formula), row)
    assert found == shortest_refusal(formula, row)
    if found is None:
        assert not lengths
    else:
        assert rules_out(found.literals)
        assert len(found) == lengths[0]
    assert shortest_refusal(Complement(formula), row) == shortest_reason(formula, row)


def test_a_long_formula_is_refused_without_being_multiplied_out() -> None:
    formula = DNF(Cube([Literal(f"a{i}"), Literal(f"b{i}")]) for i in range(40))
    row = Cube(Literal(f"{name}{i}", False) for i in range(40) for name in "ab")
    found = shortest_reason(Complement(formula), row)
    assert found is not None
    assert len(found) == 40
    assert Complement(formula).n_literals == 80


def test_a_column_that_rules_both_out_makes_no_difference() -> None:
    cuts = {f"age >= {cut}": Predicate("age", ">=", cut) for cut in (60, 72)}
    rules = RuleSet((Rule("ill", parse('"age >= 60" | "age >= 72"'), (0.9, 0.9)),), cuts)
    holds_always = always([rules])
    assert holds_always(parse('"age >= 60" | ~"age >= 72"'))
    assert not holds_always(parse('"age >= 72" | ~"age >= 60"'))


# Printing -------------------------------------------------------------------------------------------------------


def test_a_complement_is_printed_as_otherwise() -> None:
    other = Complement(FORMULA)
    assert format_formula(other) == "~((old & ~smoker) | sepsis)"
    assert format_formula(other, "latex").startswith(r"\lnot (")
    assert parse(format_formula(other)).equivalent(~FORMULA)
    assert format_formula(Complement(parse("a"))) == "~a"
    assert format_formula(Complement(parse("~a"))) == "~(~a)"
    assert [format_formula(Complement(constant)) for constant in (DNF.false, DNF.true)] == ["True", "False"]
    assert format_first_order(other, "well", other="ill") == "∀x: well(x) ↔ ¬ill(x)"
    assert format_first_order(other, "well", other="ill", fidelity=0.9) == "∀x: well(x) ≈ ¬ill(x)   [fidelity 90.0%]"
    assert format_first_order(other, "well") == "∀x: well(x) ↔ ¬((old(x) ∧ ¬smoker(x)) ∨ sepsis(x))"
    assert english(other, AGE, head="well", subject="state") == (
        "state is well otherwise, that is unless one of these holds: "
        "age is at least 72.5 and smoker is not true; sepsis is true."
    )
    assert english(Complement(DNF.false), head="well") == "Every row is well."
    assert english(Complement(DNF.true), head="well") == "No row is well."


def test_every_text_names_what_is_left() -> None:
    assert to_english(RULES) == (
        "A row is ill if age is at least 72.5 and smoker is not true, or if sepsis is true.\n"
        "A row is well otherwise, that is unless one of these holds: "
        "age is at least 72.5 and smoker is not true; sepsis is true."
        '\nA missing value satisfies "is not" only.'
    )
    assert to_latex(RULES).splitlines() == [
        r"\begin{align*}",
        r"  \text{ill} &\leftarrow (\text{age} \geq 72.5 \land \lnot \text{smoker}) \\",
        r"  &\phantom{{}\leftarrow{}} \lor \text{sepsis} \\",
        r"  \text{well} &\phantom{{}\leftarrow{}} \text{otherwise}",
        r"\end{align*}",
    ]
    page = rules_html(RULES)
    assert ">otherwise</td>" in page
    assert ">80%</td>" in page
    assert "Where no class fires" not in page


def test_the_order_of_more_classes_is_printed() -> None:
    assert to_english(ORDERED).splitlines() == [
        "A row is c if x is true and y is true.",
        "A row is a if x is true.",
        "A row is b if y is true.",
        "The first that applies decides, in this order: c, a, b. Where none applies, a row is b.",
    ]
    assert to_latex(ORDERED).splitlines()[1:] == [
        r"  &\phantom{{}\leftarrow{}} \text{the first that applies decides:} \\",
        r"  \text{c} &\leftarrow \text{x} \land \text{y} \\",
        r"  \text{a} &\leftarrow \text{x} \\",
        r"  \text{b} &\leftarrow \text{y} \\",
        r"  \text{b} &\phantom{{}\leftarrow{}} \text{otherwise}",
        r"\end{align*}",
    ]
    assert "The first that applies decides: c, then a, then b. Where no class fires, the class is b." in rules_html(
        ORDERED
    )


@given(dnfs())
def test_sympy_says_what_the_complement_says(formula: DNF) -> None:
    sympy = pytest.importorskip("sympy")
    made = to_sympy(Complement(formula))
    for row in every_row(len(CONCEPTS)):
        cells = dict(zip(CONCEPTS, row, strict=True))
        said = made.subs({sympy.Symbol(name): sympy.true if bit else sympy.false for name, bit in cells.items()})
        assert bool(said) == (not holds(formula, cells))


def test_sympy_as_text_runs_and_tells_the_order() -> None:
    pytest.importorskip("sympy")
    for rules, order, otherwise in ((RULES, ["ill"], "well"), (ORDERED, ["c", "a", "b"], "b")):
        names: dict[str, Any] = {}
        exec(to_sympy_source(rules), names)
        assert names["rules"] == {rule.label: to_sympy(rule.formula) for rule in rules.rules}
        assert (names["order"], names["otherwise"]) == (order, otherwise)


# Differences of rule sets ---------------------------------------------------------------------------------------


def test_models_differ_in_order_in_otherwise_and_in_kind() -> None:
    assert not compared(RULES, RULES)["changed"]
    assert not compared(ORDERED, ORDERED)["changed"]
    turned = compared(ORDERED, replace(ORDERED, order=(0, 2, 1)))
    assert turned["changed"]
    assert turned["order"] == {"before": ["c", "a", "b"], "after": ["a", "c", "b"]}
    assert [pair["first"]["class"] for pair in turned["swapped"]] == ["a"]
    moved = compared(ORDERED, replace(ORDERED, otherwise=0))
    assert moved["changed"]
    assert moved["otherwise"] == {"before": "b", "after": "a"}
    spelled = RuleSet((Rule("well", ~FORMULA, (0.8,) * len(~FORMULA)), RULES.rules[1]), AGE, otherwise=0)
    same = compared(RULES, spelled)
    assert not same["changed"]
    assert same["classes"][0]["otherwise"] == {"before": True, "after": False}
    assert same["classes"][0]["equivalent"]
    short = replace(spelled, rules=(Rule("well", parse("~sepsis & ~old"), (0.8,)), RULES.rules[1]))
    other = compared(RULES, short)["classes"][0]
    assert (other["equivalent"], other["changes"]) == (False, [])
    # Nothing else than what neither says is gained, and what both say is lost.
    assert other["gained"] == "⊥" or parse(other["gained"]).implies(FORMULA)
    assert parse(compared(short, RULES)["classes"][0]["gained"]).equivalent(~FORMULA & ~parse("~sepsis & ~old"))


# Explanations ---------------------------------------------------------------------------------------------------


def test_an_explanation_with_a_complement_reads_and_decides() -> None:
    network = Rigged(4, [[0], [0]], lambda x: np_stack(x))
    table = ConceptTable(GRID, NAMES, GRID[:, 0].astype(int), class_names=["no", "yes"])
    plain = explain_all(network, table)
    formula = plain["yes"].formula
    classes = (replace(plain["no"], formula=Complement(formula)), plain["yes"])
    explanation = replace(plain, classes=classes)
    assert str(explanation["no"]) == "∀x: no(x) ↔ ¬yes(x)   (otherwise)"
    assert (explanation.rules.order, explanation.rules.otherwise) == ((1,), 0)
    assert explanation.rules.predict(GRID, NAMES).tolist() == np.where(GRID[:, 0], "yes", "no").tolist()
    assert "no otherwise, that is unless" in explanation._repr_html_()
    assert explanation.firing().one == 16
    assert [part.name for part in explanation.gap().classes] == ["no", "yes"]
    assert {point.name for point in explanation.pareto()} == {"no", "yes"}
    for local, row in zip(explain_rows(explanation.reading, explanation=explanation), GRID, strict=True):
        assert str(local.reduced) == ("a" if row[0] else "~a")
        assert local.agrees


def np_stack(x: Any) -> Any:
    import torch

    return torch.stack([10 - 20 * x[:, 0], 20 * x[:, 0] - 10], dim=-1)


def test_an_explanation_of_more_classes_tells_its_order() -> None:
    import torch

    network = Rigged(4, [[0], [1], [2]], lambda x: torch.stack([x[:, 0], x[:, 1] + 0.1, x[:, 2] + 0.2], dim=-1) * 9)
    explanation = explain_all(network, ConceptTable(GRID, NAMES, class_names=["u", "v", "w"]))
    names = [explanation.rules.names[place] for place in explanation.rules.order]
    otherwise = explanation.rules.names[explanation.rules.otherwise]
    assert f"the first that applies decides: {', '.join(names)}; otherwise {otherwise}" in str(explanation)
    given_order = replace(explanation, order=(1, 0, 2))
    assert given_order.rules.order == (1, 0, 2)
