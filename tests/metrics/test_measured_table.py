"""A measured table counts as `rule_statistics` does, whatever was measured on it before."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula import Complement, Predicate, Rule, RuleSet, parse
from logiclens.metrics import MeasuredTable
from logiclens.metrics.rule_statistics import rule_statistics
from tests.examples import examples
from tests.export_cases import rule_sets, table

ROWS = table(300)


@given(rule_sets(), st.integers(0, 2**32), st.booleans(), st.booleans())
@examples(100)
def test_it_counts_as_rule_statistics_does(rules: RuleSet, seed: int, weighed: bool, grouped: bool) -> None:
    draw, n_rows = random.Random(seed), 300
    labels: Any = [draw.choice(rules.rules).label for _ in range(n_rows)]
    if rules.multilabel:
        labels = [[draw.randint(0, 1) for _ in rules.rules] for _ in range(n_rows)]
    weight = [draw.randint(0, 5) for _ in range(n_rows - 1)] + [2] if weighed else None
    by = [draw.choice("abc") for _ in range(n_rows)] if grouped else None
    rows = MeasuredTable(ROWS, labels, weight=weight, by=by)
    if draw.random() < 0.5:
        # Columns that were read ahead say the same.
        rows.prepare()
    for _ in range(2):
        measured = rows.measure(rules)
        expected = rule_statistics(rules, ROWS, labels, weight=weight, by=by)
        assert measured.statistics == expected
        assert measured.statistics.subgroups == expected.subgroups
    counted = np.asarray(weight if weighed else np.ones(n_rows))
    if rules.multilabel:
        right = (rules.predict(ROWS) == np.asarray(labels)).mean(axis=1)
    else:
        right = np.array([str(a) == str(b) for a, b in zip(rules.predict(ROWS), labels, strict=True)])
    assert measured.accuracy == pytest.approx(np.average(right, weights=counted))


def old() -> RuleSet:
    ill = parse('"age >= 50"')
    rules = (Rule("ill", ill, (0.0,)), Rule("well", Complement(ill), (0.0,)))
    return RuleSet(rules, {"age >= 50": Predicate("age", ">=", 50.0)}, otherwise=1)


TABLE = pd.DataFrame({"age": [80, 60, 30, 20], "state": ["ill", "ill", "ill", "well"]})


def test_the_history_tells_what_was_measured_before_and_after() -> None:
    rows = MeasuredTable(TABLE, "state", source="4 rows")
    edited = rows.measure(old()).rules.with_threshold("age >= 50", 25)
    assert edited.measured is None
    (line,) = rows.measure(edited).rules.history
    assert line.before is not None
    assert line.after is not None
    assert (line.before.accuracy, line.after.accuracy, line.after.source, line.after.rows) == (0.75, 1.0, "4 rows", 4)
    unmeasured = rows.measure(edited).rules.with_threshold("age >= 25", 40).with_threshold("age >= 40", 50)
    assert [(one.before is None, one.after is None) for one in unmeasured.history] == [
        (False, False), (False, True), (True, True)
    ]  # fmt: skip


def test_edits_that_nobody_measured_are_measured_later() -> None:
    steps = [old(), old().with_threshold("age >= 50", 70)]
    steps.append(steps[-1].with_threshold("age >= 70", 25))
    edited = steps[-1].measure(TABLE, "state").rules
    known = [step.measure(TABLE, "state").accuracy for step in steps]
    assert known == [0.75, 0.5, 1.0]
    told = [(line.before.accuracy, line.after.accuracy) for line in edited.history if line.before and line.after]
    assert told == [(known[0], known[1]), (known[1], known[2])]
    assert edited.previous is None
    first = edited.with_threshold("age >= 25", 50).measure(TABLE, "state").rules.history[-1]
    assert first.before == edited.measured


def test_confidences_are_the_lower_ends_that_were_measured() -> None:
    measured = old().measure(TABLE, "state")
    ill, well = measured.statistics.classes
    assert [rule.confidence for rule in measured.rules.rules] == [
        (ill.cubes[0].confidence.low,), (well.whole.confidence.low,)
    ]  # fmt: skip
    assert ill.cubes[0].confidence.low > 0
    assert measured.confusion is not None
    assert measured.confusion.counts == ((2.0, 1.0), (0.0, 1.0))


def test_true_and_1_are_different_conditions() -> None:
    table = {"flag": np.array([1.0, 2.0]), "state": ["a", "b"]}
    predicates = [Predicate("flag", "==", True), Predicate("flag", "==", 2)]
    rows = MeasuredTable(table, "state")
    for predicate in (*predicates, *reversed(predicates)):
        rules = RuleSet((Rule("a", parse("x"), (0.5,)), Rule("b", parse("~x"), (0.5,))), {"x": predicate})
        assert rows.measure(rules).statistics == rule_statistics(rules, table, ["a", "b"])


@pytest.mark.parametrize(
    ("table", "target", "sentence"),
    [
        (TABLE, "stat", "the table has no column 'stat', the target; did you mean 'state'?"),
        (TABLE, None, "measuring needs the classes: the name of their column, or one class for each row."),
        (TABLE.iloc[:0], "state", "there are no rows to measure on."),
        (TABLE[["state"]], "state", "the table lacks the column 'age' that 'age >= 50' is about."),
        (TABLE, ["ill"], "one label is needed for each of the 4 rows, got shape (1,)."),
    ],
)
def test_what_cannot_be_measured_is_refused(table: Any, target: Any, sentence: str) -> None:
    with pytest.raises(LogicLensError) as error:
        old().measure(table, target)
    assert str(error.value) == sentence


def test_a_measured_table_knows_its_target() -> None:
    with pytest.raises(LogicLensError, match="a MeasuredTable knows its target"):
        old().measure(MeasuredTable(TABLE, "state"), "state")
