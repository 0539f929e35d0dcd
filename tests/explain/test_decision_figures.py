"""Rules that predict: the confidence of each cube, and the class of rows without a rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning, UnknownConcept
from logiclens.explain import explain_all
from logiclens.explain.decision import rule_set
from logiclens.explain.result import pareto
from logiclens.formula import DNF, Complement, parse
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.predicate import Predicate
from logiclens.metrics.rule_statistics import wilson_interval
from logiclens.metrics.scores import macro_f1
from tests.rigged import GRID, NAMES, Rigged, boolean, xor_net

ROWS = PackedRows.of(GRID, NAMES)


@given(st.integers(0, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys_interval(counts):
    hits, total = counts
    low, high = wilson_interval(hits, total)
    if total == 0:
        assert (low, high) == (0.0, 1.0)
        return
    judged = binomtest(hits, total).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((judged.low, judged.high), abs=1e-12)


def test_a_cubes_confidence_is_the_lower_end_of_its_precision():
    weight = np.arange(1.0, 17.0)
    truth = np.column_stack([GRID[:, 0] & GRID[:, 1], 1 - (GRID[:, 0] & GRID[:, 1])]).astype(float)
    rules = rule_set([parse("a | b"), parse("~a")], ["x", "y"], ROWS, truth, weight)
    for rule, column in zip(rules.rules, truth.T, strict=True):
        for cube, confidence in zip(rule.formula, rule.confidence, strict=True):
            held = (cube | parse("False")).evaluate(GRID, NAMES)
            hits, total = (weight * column)[held].sum(), weight[held].sum()
            assert confidence == pytest.approx(wilson_interval(hits, total)[0])


def test_rows_on_which_nothing_fires_get_their_most_frequent_class():
    labels = np.where(GRID[:, 0] == 1, 0, np.where(GRID[:, 1] == 1, 1, 2))
    truth = np.eye(3)[labels]
    rules = rule_set([parse("a"), parse("False"), parse("False")], ["x", "y", "z"], ROWS, truth, np.ones(16))
    weighed = rule_set(
        [parse("a"), parse("False"), parse("False")], ["x", "y", "z"], ROWS, truth, np.where(labels == 2, 3.0, 1.0)
    )
    assert (rules.otherwise, weighed.otherwise) == (1, 2)
    # Where every row fires something it is the most frequent class of all.
    assert rule_set([parse("True"), parse("a")], ["x", "y"], ROWS, np.eye(2)[GRID[:, 0]], np.ones(16)).otherwise == 0


def test_only_what_the_formulas_use_travels_with_the_rules():
    predicates = {"a": Predicate("age", ">=", 60), "b": Predicate("bmi", ">=", 30)}
    rules = rule_set(
        [parse("a"), parse("~a")], ["x", "y"], ROWS, np.eye(2)[GRID[:, 0]], np.ones(16), predicates=predicates
    )
    assert rules.predicates == {"a": Predicate("age", ">=", 60)}
    assert rules.columns == ("age",)


# Through an explanation ------------------------------------------------------------------------------------------


def test_exact_formulas_predict_what_their_network_does():
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, class_names=["same", "other"]))
    np.testing.assert_array_equal(
        explanation.rules.predict(GRID, NAMES), np.where(GRID[:, 0] ^ GRID[:, 1], "other", "same")
    )
    assert explanation.firing().one == 16


def test_a_single_head_names_the_class_it_refuses():
    network = Rigged(4, [[0]], lambda x: x[:, :1] * 20 - 10)
    explanation = explain_all(network, ConceptTable(GRID, NAMES, class_names=["no", "yes"]))
    np.testing.assert_array_equal(explanation.rules.predict(GRID, NAMES), np.where(GRID[:, 0], "yes", "no"))
    assert explanation.fires(GRID, NAMES).shape == (16, 1)
    assert explanation.rules.rule("no").formula == Complement(parse("a"))
    assert (explanation.firing().none, explanation.firing().one) == (0, 16)
    unnamed = explain_all(network, ConceptTable(GRID, NAMES))
    assert set(unnamed.rules.predict(GRID, NAMES)) == {"class 0", "not class 0"}


def test_rows_that_fire_several_formulas_or_none_are_counted():
    network = Rigged(4, [[0], [1]], boolean(lambda a, b, c, d: a & b))
    with pytest.warns(LogicLensWarning, match="always predicts"):
        explanation = explain_all(network, ConceptTable(GRID, NAMES), answer="threshold", output="logits")
    fired = explanation.fires(GRID, NAMES).sum(axis=1)
    firing = explanation.firing()
    assert [firing.none, firing.one, firing.several] == [(fired == 0).sum(), (fired == 1).sum(), (fired > 1).sum()]
    assert firing.total == 16


def test_questions_reach_the_rules():
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, class_names=["same", "other"]))
    row = dict(zip(NAMES, [1, 0, 0, 0], strict=True))
    assert explanation.why(row).answer == "other"
    flip = explanation.flip(row, frozen=["a"])
    assert (flip.before, flip.after) == ("other", "same")
    assert [change.concepts for change in flip.changes] == [("b",)]
    assert explanation.check("never uses 'c'").holds
    with pytest.raises(UnknownConcept, match="there is no concept 'gender'"):
        explanation.check("never uses 'gender'")
    assert not explanation.check("monotone in 'a'").holds


# The curve -------------------------------------------------------------------------------------------------------


def test_the_curve_leaves_out_what_a_shorter_formula_beats():
    truth = parse("(a & b) | c").evaluate(GRID, NAMES)
    formulas = [parse(text) for text in ("(a & b) | c", "c", "d", "a & ~d", "(a & b) | (c & d) | c", "False")]
    points = pareto("yes", formulas, ROWS, truth, np.ones(16))
    assert [str(point.formula) for point in points] == ["False", "c", "(a & b) | c"]
    for point in points:
        fires = point.formula.evaluate(GRID, NAMES)
        assert (point.literals, point.accuracy) == (point.formula.n_literals, (fires == truth).mean())
        assert point.f1 == pytest.approx(macro_f1(truth, fires))


def test_the_curve_goes_from_one_literal_to_the_formula():
    # One of the 64 rows is not there: with all of them there is only the shortest formula.
    rows = np.repeat(np.array(list(itertools.product([0, 1], repeat=6)))[1:], 5, axis=0)
    network = Rigged(6, [range(6), range(6)], boolean(lambda a, b, c, d, e, f: a | (b & c & d)))
    names = [*NAMES, "e", "f"]
    labels = parse("a | (b & c & d)").evaluate(rows, names).astype(int)
    explanation = explain_all(network, ConceptTable(rows, names, labels, ["no", "yes"]))
    # Of two classes one is stated and has a path; the other is its complement.
    (stated,) = (explained.name for explained in explanation if isinstance(explained.formula, DNF))
    points = [point for point in explanation.pareto() if point.name == stated]
    assert all(point.cross_validated is not None for point in points)
    assert [point.literals for point in points] == sorted({point.literals for point in points})
    assert points[0].literals == 1
    assert points[-1].accuracy == 1.0
    assert [point.f1 for point in points] == sorted(point.f1 for point in points)


def test_the_curve_of_other_rows_needs_their_labels():
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, [0, 1] * 8, ["no", "yes"]))
    with pytest.raises(LogicLensError, match=r"needs their labels: pass labels=\.\.\."):
        explanation.pareto(GRID)
    right = (GRID[:, 0] ^ GRID[:, 1]).astype(int)
    best = max(point.accuracy for point in explanation.pareto(GRID, right) if point.name == "yes")
    assert best == 1.0
