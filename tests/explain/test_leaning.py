"""What a network leans on, beside the rule: the order, and reasons that can be recomputed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from logiclens.concepts.concept_table import ConceptTable
from logiclens.estimator import EntropyClassifier
from logiclens.explain.leaning import leanings
from logiclens.formula import Complement, Predicate, parse

NAMES = ["old", "job is cook", "job is clerk", "noise"]
BITS = np.array([[i >> j & 1 for j in range(4)] for i in range(16) if not (i >> 1 & 1 and i >> 2 & 1)])
PREDICATES = {
    "old": Predicate("age", ">=", 60),
    "job is cook": Predicate("job", "==", "cook"),
    "job is clerk": Predicate("job", "==", "clerk"),
}
RELEVANCE = {"noise": 1.0, "job is cook": 0.9, "old": 0.3, "job is clerk": 0.6}


def rows(truth: np.ndarray) -> ConceptTable:
    return ConceptTable(BITS, NAMES, truth.astype(int), ["no", "yes"])


def test_concepts_of_the_rule_come_first():
    found = leanings(parse("old & ~noise"), RELEVANCE, rows(BITS[:, 0] > 0), 1, predicates=PREDICATES)
    assert [(lean.concept, lean.used) for lean in found] == [
        ("noise", True), ("old", True), ("job is cook", False), ("job is clerk", False),
    ]  # fmt: skip
    assert found[0].reason == ""
    assert "less than half" in found[1].reason
    assert all(lean.reason for lean in found if not lean.used)


@pytest.mark.parametrize("head", [0, 1])
def test_the_gain_is_that_of_the_best_added_condition(head):
    truth = (BITS[:, 0] > 0) & (BITS[:, 1] == 0)
    formula = parse("old") if head == 1 else Complement(parse("old"))
    found = {lean.concept: lean.reason for lean in leanings(
        formula, RELEVANCE, rows(truth), head, predicates=PREDICATES, price=0.01
    )}  # fmt: skip
    before, after = (f1_score(truth, said, average="macro") for said in (BITS[:, 0] > 0, truth))
    assert found["job is cook"] == (
        f"adding it would gain {100 * (after - before):.1f} points of F1 by the labels; the search has other aims and "
        "limits too"
    )
    assert found["noise"] == "adding it would gain nothing"


def test_a_gain_below_the_price_is_said_with_the_price():
    truth = (BITS[:, 0] > 0) & (BITS[:, 1] == 0)
    found = leanings(parse("old"), RELEVANCE, rows(truth), 1, predicates=PREDICATES, price=0.9)
    reason = next(lean.reason for lean in found if lean.concept == "job is cook")
    assert reason.endswith("and a condition must earn 90.0 points")


@pytest.mark.parametrize("text", ["False", "True"])
def test_a_class_without_a_rule_has_its_own_reason(text):
    truth = (BITS[:, 0] > 0) & (BITS[:, 1] == 0)
    for given, first in (("no rule beats chance.", "no rule beats chance"), (None, "the class has no rule")):
        found = leanings(
            parse(text), RELEVANCE, rows(truth), 1, predicates=PREDICATES, price=0.01, constant=given
        )  # fmt: skip
        assert [lean.reason for lean in found] == [first, *["for the same reason"] * 3]


def test_other_conditions_on_the_column_are_named():
    truth = (BITS[:, 0] > 0) & (BITS[:, 2] == 0)
    found = leanings(parse('old & ~"job is clerk"'), RELEVANCE, rows(truth), 1, predicates=PREDICATES)
    reason = next(lean.reason for lean in found if lean.concept == "job is cook")
    assert reason == "other conditions of the rule are on job; adding it would gain nothing"


@pytest.mark.parametrize("exact", [False, True])
def test_the_other_class_has_the_same_price(exact):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.integers(0, 2, size=(300, 3)), columns=["a", "b", "c"])
    labels = (table.a & table.b) ^ (rng.random(300) < 0.1)
    model = EntropyClassifier(epochs=30, exact=exact).fit(table, labels)
    classes = model.explain().classes
    assert any(isinstance(one.formula, Complement) for one in classes)
    assert len({one.price for one in classes}) == 1
    assert classes[0].price is not None
