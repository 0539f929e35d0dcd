"""Rule sets: predictions from formulas, checked row by row in plain Python."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, UnknownConcept
from logiclens.export import to_english
from logiclens.formula import DNF, Complement, CountedRows, Cube, Literal, PackedRows, parse
from logiclens.formula.english import TableFacts, english
from logiclens.formula.groups import NO_GROUPS
from logiclens.formula.predicate import Predicate
from logiclens.formula.record import to_dict
from logiclens.formula.rule_set import Decision, Firing, Rule, RuleSet, who_decides
from logiclens.words import readable
from tests.oracles.brute_force import holds
from tests.rulesets import VALUES, Row, answer, concepts_of, raw_rows, rule_sets

tables = st.lists(raw_rows(), min_size=1, max_size=8)
AGE = {"old": Predicate("age", ">=", 60)}


def columns_of(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in VALUES}


def a_and_b(**how: Any) -> RuleSet:
    return RuleSet((Rule("first", parse("a"), (0.5,)), Rule("second", parse("b"), (0.5,))), **how)


@given(rule_sets(), tables)
def test_the_class_of_each_row_is_what_the_definition_says(rules: RuleSet, rows: list[Row]) -> None:
    expected = [answer(rules, concepts_of(rules, row)) for row in rows]
    assert rules.predict(columns_of(rows)).tolist() == expected
    places = [rules.names.index(label) if label is not None else -1 for label in expected]
    assert rules.predict_places(columns_of(rows)).tolist() == places


@given(rule_sets(), tables)
def test_raw_columns_and_their_concepts_are_answered_alike(rules: RuleSet, rows: list[Row]) -> None:
    made = [concepts_of(rules, row) for row in rows]
    raw = rules.predict(columns_of(rows)).tolist()
    # Object columns, since a DataFrame of its own choosing would hold flags with a hole as it likes.
    frame = pd.DataFrame(rows, dtype=object)
    concepts = pd.DataFrame(made, columns=list(made[0]), dtype=bool)
    matrix, names = concepts.to_numpy(), list(concepts.columns)
    assert rules.predict(frame).tolist() == raw
    assert rules.predict(concepts).tolist() == raw
    assert rules.predict(concepts.astype(float) * 0.6).tolist() == raw
    assert rules.predict(matrix, names).tolist() == raw
    assert rules.predict(PackedRows.of(matrix, names)).tolist() == raw


@given(rule_sets(), tables)
def test_formulas_fire_where_they_hold(rules: RuleSet, rows: list[Row]) -> None:
    expected = [[holds(formula, concepts_of(rules, row)) for formula in rules.formulas] for row in rows]
    table = columns_of(rows)
    assert rules.fires(table).tolist() == expected
    counts = [sum(row) for row in expected]
    firing = rules.firing(table)
    assert firing == Firing(counts.count(0), counts.count(1), sum(n > 1 for n in counts))
    assert firing.total == len(rows)


@given(rule_sets(multilabel=True), tables)
def test_with_several_labels_the_answer_is_a_matrix(rules: RuleSet, rows: list[Row]) -> None:
    predicted = rules.predict(columns_of(rows))
    assert predicted.dtype == np.int64
    assert (predicted == rules.fires(columns_of(rows))).all()


@given(rule_sets(), tables)
def test_the_first_line_that_fires_decides(rules: RuleSet, rows: list[Row]) -> None:
    trusting = replace(rules, resolve="confidence")
    assert trusting.resolve == "confidence"
    trust = [line.confidence for line in trusting.decisions]
    assert trust == sorted(trust, reverse=True)
    for deciding in (trusting, replace(rules, resolve="order")):
        assert len(deciding.decisions) == sum(len(rule.cubes) for rule in rules.rules)
        for row, place in zip(rows, deciding.predict_places(columns_of(rows)).tolist(), strict=True):
            made = concepts_of(rules, row)
            first = next((line.rule for line in deciding.decisions if holds(DNF([line.cube]), made)), rules.otherwise)
            assert place == (-1 if first is None else first)


def test_of_two_classes_one_may_be_what_the_other_leaves() -> None:
    formula = parse("(a & b) | c")
    rules = RuleSet((Rule("no", Complement(formula), (0.8,)), Rule("yes", formula, (0.7, 0.6))), otherwise=0)
    table = {"a": [1, 1, 0, 0], "b": [1, 0, 1, 0], "c": [0, 0, 0, 1]}
    for resolve in ("order", "confidence", "none"):
        assert replace(rules, resolve=resolve).predict(table).tolist() == ["yes", "no", "no", "yes"]
    assert rules.fires(table).tolist() == [[False, True], [True, False], [True, False], [False, True]]
    assert rules.firing(table) == Firing(0, 4, 0)
    assert rules.confidence(table).round(9).tolist() == [[0.3, 0.7], [0.8, 0.2], [0.8, 0.2], [0.4, 0.6]]
    assert [rule.formula.n_literals for rule in rules.rules] == [3, 3]
    assert rules.rules[0].formula.equivalent(~formula)
    assert not rules.rules[0].formula.equivalent(formula)
    with pytest.raises(LogicLensError, match="neither true nor false by itself"):
        bool(rules.rules[0].formula)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"otherwise": 1}, "the complement 'no' must be the class of rows on which nothing fires"),
        ({"otherwise": None}, "the complement 'no' must be the class of rows on which nothing fires"),
        ({"otherwise": 0, "multilabel": True}, "'no' must be the complement of the only other class's formula"),
        ({"otherwise": 0, "order": (0, 1)}, "order must name each class with a formula once"),
    ],
)
def test_a_complement_that_could_not_decide_is_refused(how: Any, reason: str) -> None:
    formula = parse("a")
    with pytest.raises(LogicLensError, match=reason):
        RuleSet((Rule("no", Complement(formula), (0.8,)), Rule("yes", formula, (0.7,))), **how)


def test_several_labels_have_no_order() -> None:
    with pytest.raises(LogicLensError, match="each formula answers for itself: leave out order"):
        a_and_b(multilabel=True, order=(0, 1))
    assert a_and_b(multilabel=True, resolve="order").order == ()


def test_the_earlier_class_wins_a_tie() -> None:
    table = {"a": [1, 1, 0, 0], "b": [1, 0, 1, 0]}
    assert a_and_b().predict(table).tolist() == ["first", "first", "second", None]
    assert a_and_b(otherwise=1).predict(table).tolist() == ["first", "first", "second", "second"]
    assert a_and_b(otherwise=1, resolve="none").predict(table).tolist() == [None, "first", "second", None]
    turned = RuleSet(tuple(reversed(a_and_b().rules)))
    assert turned.predict(table).tolist() == ["second", "first", "second", None]
    assert turned.decisions == (
        Decision(Cube([Literal("b")]), 0, 0.5),
        Decision(Cube([Literal("a")]), 1, 0.5),
    )


def test_within_a_class_the_cube_trusted_most_speaks() -> None:
    rules = RuleSet((Rule("x", parse("a | b"), (0.2, 0.9)), Rule("y", parse("c"), (0.5,))))
    assert rules.predict({"a": [1, 0], "b": [0, 1], "c": [1, 1]}).tolist() == ["y", "x"]


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ((0, 1), "i"),
        ((0.5, 1.5), "f"),
        ((False, True), "b"),
        (("no", "yes"), "U"),
        (("no", 1), "O"),
        (("no", True), "O"),
    ],
)
def test_labels_keep_their_kind(labels: tuple[Any, Any], dtype: str) -> None:
    rules = RuleSet((Rule(labels[0], parse("a"), (0.5,)), Rule(labels[1], parse("~a"), (0.5,))))
    predicted = rules.predict({"a": [1, 0]})
    assert predicted.dtype.kind == dtype
    assert predicted.tolist() == list(labels)
    assert [type(label) for label in predicted.tolist()] == [type(label) for label in labels]


def test_a_concept_without_predicate_is_a_column_above_half() -> None:
    rules = RuleSet((Rule("yes", parse("a"), (0.5,)),))
    values = [0, 0.49999, 0.5, 1, None, float("nan")]
    assert rules.fires({"a": values})[:, 0].tolist() == [False, False, True, True, False, False]
    nullable = pd.DataFrame({"a": pd.array([True, False, None], dtype="boolean")})
    assert rules.fires(nullable)[:, 0].tolist() == [True, False, False]
    assert rules.predicate("a") == Predicate("a", ">=", 0.5)


def test_a_raw_column_is_taken_before_a_concept() -> None:
    rules = RuleSet((Rule("yes", parse("old"), (0.5,)),), AGE)
    assert rules.predict({"age": [70, 50], "old": [0, 1]}).tolist() == ["yes", None]
    assert rules.predict({"old": [0, 1]}).tolist() == [None, "yes"]
    assert rules.predict({"old": [0.49, 0.5]}).tolist() == [None, "yes"]


def test_tables_of_every_kind_are_read() -> None:
    rules = RuleSet((Rule("yes", parse("old & smoker"), (0.5,)),), AGE)
    concepts = ConceptTable(np.array([[1.0, 1.0], [1.0, 0.4]]), names=("old", "smoker"))
    counted = CountedRows.of([[1, 1], [1, 0]], names=["old", "smoker"])
    assert rules.predict(concepts).tolist() == ["yes", None]
    # Counted rows stand in the order of their tuples.
    assert rules.predict(counted).tolist() == [None, "yes"]
    frame = pd.DataFrame({"age": pd.array([70, None], dtype="Int64"), "smoker": [True, True], "other": ["x", "y"]})
    assert rules.predict(frame).tolist() == ["yes", None]
    assert rules.predict(np.array([[70, 1], [50, 1]]), names=["age", "smoker"]).tolist() == ["yes", None]
    packed = rules.pack(frame)
    assert packed.names == ("old", "smoker")
    assert packed.matrix().tolist() == [[True, True], [False, True]]
    assert rules.pack(packed) is packed


def test_tables_of_polars_are_read() -> None:
    polars = pytest.importorskip("polars")
    rules = RuleSet((Rule("yes", parse("old & smoker"), (0.5,)),), AGE)
    assert rules.predict(polars.DataFrame({"age": [70, None], "smoker": [True, True]})).tolist() == ["yes", None]


def test_rules_that_look_at_nothing_answer_every_row() -> None:
    rules = RuleSet((Rule("all", DNF.true, (0.5,)), Rule("none", DNF.false, ())))
    assert rules.predict({"x": [1, 2, 3]}).tolist() == ["all"] * 3
    assert rules.predict(pd.DataFrame(index=range(2))).tolist() == ["all"] * 2
    assert rules.concepts == ()
    assert rules.columns == ()


def test_what_a_rule_set_looks_at() -> None:
    rules = RuleSet((Rule("x", parse("old & a"), (0.5,)), Rule("y", parse("b & ~old"), (0.5,))), AGE)
    assert rules.names == ("x", "y")
    assert rules.concepts == ("old", "a", "b")
    assert rules.columns == ("age", "a", "b")
    assert rules.groups == NO_GROUPS
    assert rules.rule("y") is rules.rules[1]
    numbered = RuleSet((Rule(7, parse("a"), (0.5,)),))
    assert numbered.rule(7) is numbered.rule("7")


def test_firing_reads_as_a_sentence() -> None:
    assert str(Firing(1, 2, 1)) == (
        "of 4 rows, 2 (50.0%) fire exactly one formula, 1 (25.0%) none and 1 (25.0%) several"
    )
    assert str(Firing(0, 0, 0)).startswith("of 0 rows, 0 (0.0%) fire")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Rule("x", parse("a | b"), (0.5,)), "the rule of 'x' has 2 cubes and 1 confidences"),
        (lambda: RuleSet(()), "a rule set needs at least one rule"),
        (lambda: a_and_b(resolve="vote"), "resolve must be 'order', 'confidence' or 'none', got 'vote'"),
        (lambda: a_and_b(otherwise=2), "otherwise must be the place of a class, 0 to 1"),
        (lambda: a_and_b(otherwise=-1), "otherwise must be the place of a class, 0 to 1"),
        (lambda: RuleSet((a_and_b().rules[0],) * 2), "every class can have one rule only"),
        (
            lambda: RuleSet((Rule(1, parse("a"), (0.5,)), Rule("1", parse("b"), (0.5,)))),
            "every class can have one rule only",
        ),
        (lambda: a_and_b().rule("third"), "there is no class 'third'; the classes are 'first', 'second'"),
        (lambda: a_and_b().predict({"a": 1, "b": 0}), "each column of a dictionary needs a list of values, all of one"),
        (lambda: a_and_b().predict({"a": [1], "b": [0, 1]}), "each column of a dictionary needs a list of values, all"),
        (lambda: a_and_b().predict([[1, 0]]), r"a matrix does not name its columns: pass names=\[\.\.\.\]"),
        (lambda: a_and_b().predict([[1, 0]], names=["a"]), r"1 names were given for a table of shape \(1, 2\)"),
        (
            lambda: a_and_b().predict([[1, 0]], names=["a", "a"]),
            "concept names must differ; 'a' is there more than once",
        ),
        (lambda: a_and_b().predict({"a": ["x"], "b": [1]}), "the column 'a' is not numeric"),
        (
            lambda: RuleSet((Rule("x", parse("old"), (0.5,)),), AGE).predict({"years": [3]}),
            "the table lacks the column 'age' that 'old' is about",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(build: Any, message: str) -> None:
    with pytest.raises(LogicLensError, match=message):
        build()


def test_an_unknown_concept_is_an_error_with_the_nearest() -> None:
    rules = RuleSet((Rule("x", parse("smoker"), (0.5,)),))
    with pytest.raises(UnknownConcept, match=r"there is no concept 'smoker'\. Did you mean 'smokr'\?"):
        rules.predict({"smokr": [1]})
    with pytest.raises(UnknownConcept, match="there is no concept 'smoker'"):
        rules.predict(PackedRows.of([[1]], ["a"]))


def test_confidence_is_the_deciding_cubes_and_sums_to_1():
    lines = (Rule("x", parse("a | b"), (0.9, 0.6)), Rule("y", parse("c"), (0.7,)), Rule("z", parse("d"), (0.0,)))
    rules = RuleSet(lines, otherwise=1)
    rows = [[1, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    third = 1 / 3
    expected = [[0.9, 0.05, 0.05], [0.15, 0.7, 0.15], [0.6, 0.2, 0.2], [third] * 3, [third] * 3]
    shares = rules.confidence(rows, list("abcd"))
    np.testing.assert_allclose(shares, expected, atol=1e-8)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), rules.predict_places(rows, list("abcd")))
    undecided = RuleSet(rules.rules, otherwise=None)
    np.testing.assert_allclose(undecided.confidence(rows[4:], list("abcd")), [[third] * 3])


def test_the_most_trusted_cube_gives_the_confidence():
    lines = (Rule("x", parse("a | b"), (0.6, 0.9)), Rule("y", parse("c"), (0.95,)))
    rules = RuleSet(lines, resolve="order", order=(0, 1), otherwise=1)
    assert [(str(line.cube), line.confidence) for line in rules.decisions] == [("b", 0.9), ("a", 0.6), ("c", 0.95)]
    shares = rules.confidence([[1, 1, 1], [1, 0, 1], [0, 0, 1]], list("abc"))
    np.testing.assert_allclose(shares, [[0.9, 0.1], [0.6, 0.4], [0.05, 0.95]])


def test_texts_that_end_in_nul_stay_whole():
    rules = RuleSet(
        (Rule("a\0", parse("is_it"), (0.9,)), Rule("a", parse("~is_it"), (0.9,))),
        {"is_it": Predicate("text", "==", "x\0")},
        otherwise=1,
    )
    for cells in (["x\0", "x", "x\0\0"], pd.Series(["x\0", "x", "x\0\0"], dtype=object)):
        assert rules.predict({"text": cells}).tolist() == ["a\0", "a", "a"]


def test_rules_keep_what_is_known_of_the_table() -> None:
    facts = TableFacts("died", whole=("age",), complete=("age", "sex"))
    rules = RuleSet((Rule("yes", parse("old"), (0.9,)), Rule("no", parse("~old"), (0.8,))), facts=facts, otherwise=1)
    again = RuleSet.from_dict(json.loads(json.dumps(to_dict(rules))))
    assert again.facts == facts
    assert "table" not in to_dict(replace(rules, facts=TableFacts()))
    assert who_decides(again).endswith("Where none fires, the answer is died is no.")
    assert str(again.why({"old": 1})).startswith("died is yes, because")
    assert str(again.flip({"old": 1})).startswith("died: yes -> no, if")


@pytest.mark.parametrize(
    "table",
    [[], "died", {"target": "died"}, {"target": 1, "whole": [], "complete": []},
     {"target": None, "whole": [1], "complete": []}, {"target": None, "whole": "age", "complete": []}],
)  # fmt: skip
def test_a_malformed_table_of_rules_is_refused(table) -> None:
    content = to_dict(RuleSet((Rule("yes", parse("old"), (0.9,)),)))
    with pytest.raises(LogicLensError, match=r"'table'|'target'"):
        RuleSet.from_dict({**content, "table": table})


@given(rule_sets())
def test_printed_rules_are_one_sentence_per_class(rules):
    def told(rule):
        if rules.is_rest(rule):
            others = [other.name for other in rules.rules if other.cubes]
            rest = f"A row is {rule.name} otherwise, where no rule for {' or '.join(others)} fires."
            return rest if others else f"Every row is {rule.name}."
        return english(rule.formula, rules.predicates, head=rule.name, facts=rules.facts)

    assert sorted(str(rules).splitlines()) == sorted(readable(told(rule)) for rule in rules.rules)
    assert to_english(rules).startswith("\n".join(rules.sentences))


def test_printed_rules_name_the_target_and_repr_stays():
    rules = RuleSet((Rule("yes", parse("old"), (0.9,)), Rule("no", Complement(parse("old")), (0.8,))), AGE, otherwise=1)
    rules = replace(rules, facts=TableFacts("died"))
    assert str(rules) == "died is yes if age is at least 60.\ndied is no otherwise, that is unless age is at least 60."
    assert repr(rules).startswith("RuleSet(rules=(Rule(")


def test_a_class_without_rules_may_be_the_rest():
    lines = (Rule("low", parse("a"), (0.9,)), Rule("mid", parse("b"), (0.8,)), Rule("high", parse("False"), ()))
    rules = RuleSet(lines, resolve="order", order=(2, 0, 1), otherwise=2, facts=TableFacts(target="grade"))
    assert rules.sentence(rules.rules[2]) == "grade is high otherwise, where no rule for low or mid fires."
    assert who_decides(rules) == "The first that applies decides: grade is low, then mid; otherwise grade is high."
    never = replace(rules, otherwise=0)
    assert never.sentence(never.rules[2]) == "grade is never high."
    assert list(rules.predict([[0, 0], [1, 0], [1, 1]], ["a", "b"])) == ["high", "low", "low"]
