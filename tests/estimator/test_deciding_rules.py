"""Every printed rule decides: judged by asking the printed conditions of the raw training rows, line by line."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.formula import RuleSet
from logiclens.verify import verify


def votes(seed: int, n: int = 450) -> tuple[pd.DataFrame, pd.Series]:
    """A number with noise that is cut into four classes, and a region that says nothing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"quo": rng.normal(size=n).round(2), "region": rng.choice(list("ABCD"), n)})
    table["wealth"] = rng.normal(size=n).round(2)
    cut = np.digitize(table.quo + rng.normal(size=n) * 0.7, [-0.8, 0, 0.8])
    said = np.array(list("NAUY"))[cut]
    return table, pd.Series(np.where(rng.random(n) < 0.15, rng.choice(list("NAUY"), n), said), name="vote")


def holds(condition: str, positive: bool, table: pd.DataFrame) -> np.ndarray:
    """Ask one condition, such as `quo >= 0.38` or `region is C`, of raw rows without gaps."""
    column, operator, value = re.fullmatch(r"(\w+) (>=|is|==) (.+)", condition).groups()
    yes = table[column] >= float(value) if operator == ">=" else table[column].astype(str) == value.strip("'\"")
    return yes.to_numpy() == positive


def lines(rules: RuleSet, table: pd.DataFrame) -> list[tuple[str, str, np.ndarray]]:
    """Return each rule in the order of print: its class, its text, and the rows that it decides."""
    left, decided = np.ones(len(table), dtype=bool), []
    for place in rules.order:
        for cube in rules.rules[place].cubes:
            fires = np.all([holds(lit.concept, lit.positive, table) for lit in cube], axis=0)
            decided.append((rules.rules[place].name, str(cube), fires & left))
            left &= ~fires
    return decided


@pytest.fixture(scope="module", params=[(8, True), (10, True), (13, False)], ids=str)
def fitted(request):
    seed, exact = request.param
    table, labels = votes(seed)
    model = EntropyClassifier(exact=exact, epochs=100, verbose=False)
    return model.fit(table, labels), table, labels


def test_each_printed_rule_decides_on_a_training_row(fitted):
    model, table, _ = fitted
    decided = lines(model.rules_, table)
    assert len(decided) > 1
    assert [(name, cube) for name, cube, rows in decided if not rows.any()] == []
    answers = np.full(len(table), model.rules_.names[model.rules_.otherwise])
    for name, _, rows in decided:
        answers[rows] = name
    assert (model.rules_.predict(table) == answers).all()
    # What is explained and what is compiled are these rules.
    assert model.explain().formulas == model.rules_.formulas == model.learned_.formulas


def test_statistics_count_the_rows_that_each_rule_decides(fitted):
    model, table, labels = fitted
    counted = {
        (one.name, str(cube.cube)): cube for one in model.statistics(table, labels).classes for cube in one.cubes
    }
    by_measure = model.rules_.measure(table, labels).statistics
    for name, cube, rows in lines(model.rules_, table):
        right = int((rows & (labels == name)).sum())
        for one in (counted[name, cube], next(c for c in by_measure[name].cubes if str(c.cube) == cube)):
            assert (one.decided.hits, one.decided.total, one.decides.hits) == (right, rows.sum(), rows.sum())


def test_why_names_the_rule_that_decides(fitted):
    model, table, _ = fitted
    decided = lines(model.rules_, table)
    for row in range(0, len(table), 9):
        by = [cube for _, cube, rows in decided if rows[row]]
        why = model.why(table.iloc[row])
        assert ([] if why.decided is None else [str(why.decided.cube)]) == by


def test_a_model_without_idle_rules_is_proved(fitted, tmp_path):
    model, _, _ = fitted
    if model.exact:
        assert {one.name for one in verify(model.save(tmp_path / "model")).classes} == set(model.rules_.names)
