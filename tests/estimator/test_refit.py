"""Rules are searched again around pinned ones, which stay in the formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier, RuleSet
from logiclens.errors import LogicLensError
from logiclens.verify import verify
from tests.estimator.test_adoption import ROWS


@pytest.fixture(scope="module")
def model() -> EntropyClassifier:
    return EntropyClassifier(**SETTINGS).fit(ROWS, target="state")


SETTINGS: dict[str, Any] = {"epochs": 30}


def with_pin(rules: RuleSet, label: str, conditions: str) -> RuleSet:
    rules = rules.with_rule(label, conditions)
    (number,) = [
        one for one in rules.rule_ids if str(one.label) == label and one.number == len(rules.rule(label).cubes)
    ]
    return rules.pin(number)


@pytest.mark.parametrize(("label", "conditions"), [("ill", "age >= 77.5 & sepsis"), ("well", "age < 25")])
def test_pinned_rules_stay_and_the_model_is_verified(
    model: EntropyClassifier,
    tmp_path: Path,
    label: str,
    conditions: str,
) -> None:
    pinned = with_pin(model.rules_, label, conditions)
    cube = pinned.cube(f"{label}#{len(pinned.rule(label).cubes)}")
    again = model.refit(ROWS, target="state", pinned=pinned, why="agreed")
    rule = again.rules_.rule(label)
    assert cube in rule.cubes
    assert rule.pinned == {cube}
    assert again.rules_.history[-1].why == "agreed"
    assert again.rules_.history[-1].what.startswith("searched again around 1 pinned rule")
    folder = again.save(tmp_path / "model")
    assert verify(folder).classes
    assert (EntropyClassifier.load(folder).predict(ROWS) == again.rules_.predict(ROWS)).all()
    assert again.score(ROWS.drop(columns="state"), ROWS["state"]) >= 0.9


def test_new_rules_are_found_for_what_the_pinned_ones_leave() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.random(400) < 0.5, "b": rng.random(400) < 0.5, "c": rng.random(400) < 0.5})
    labels = np.where(table.a & table.b | table.c, "yes", "no")
    first = EntropyClassifier(**SETTINGS).fit(table, labels)
    rules = (
        with_pin(first.rules_, "yes", "c & not a") if "c & ~a" not in str(first.rules_.rule("yes").formula) else None
    )
    assert rules is not None
    again = first.refit(table, labels, pinned=rules)
    assert again.score(table, labels) == 1
    assert {str(cube) for cube in again.rules_.rule("yes").cubes} >= {"c & ~a"}


@pytest.mark.parametrize(
    ("pinned", "sentence"),
    [
        (lambda rules: rules, "no rule is pinned: pass rules of which some are"),
        (lambda rules: with_pin(rules, "ill", "age >= 0 & age < 1000"), "the pinned rules leave no row of"),
    ],
)
def test_what_cannot_be_searched_again_is_refused(model: EntropyClassifier, pinned: Any, sentence: str) -> None:
    with pytest.raises(LogicLensError, match=sentence):
        model.refit(ROWS, target="state", pinned=pinned(model.rules_))
