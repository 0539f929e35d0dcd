"""The class that is named is the one that is stated, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier, LogicLensError
from logiclens.formula import Complement, RuleSet
from logiclens.verify import verify
from tests.cli_runs import logiclens


def loans(rare: str, common: str, n: int = 400) -> tuple[pd.DataFrame, pd.Series]:
    """Two classes: the rare one is where age and debt are high."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"age": rng.integers(20, 80, n), "debt": rng.integers(0, 60, n), "job": rng.choice(list("xyz"), n)}
    )
    rows = (table.age >= 60) & (table.debt >= 30)
    rows ^= rng.random(n) < 0.05
    return table, pd.Series(np.where(rows, rare, common), name="state")


def fitted(table: pd.DataFrame, labels: pd.Series, **settings) -> EntropyClassifier:
    return EntropyClassifier(verbose=False, **settings).fit(table, labels)


def stated(rules: RuleSet) -> list[str]:
    return [rule.name for rule in rules.rules if not rule.is_complement]


@pytest.mark.parametrize("names", [("yes", "no"), ("no", "yes")])
def test_of_two_classes_the_named_one_is_stated(names, tmp_path):
    rare, common = names
    table, labels = loans(rare, common)
    free = fitted(table, labels)
    # People ask about yes, however common it is.
    assert stated(free.rules_) == ["yes"]
    same, other = (fitted(table, labels, positive=name) for name in (rare, common))
    assert stated(same.rules_) == [rare]
    # The class that would be stated anyway gets the very same rules.
    assert free.rules_ in (same.rules_, other.rules_)
    assert stated(other.rules_) == [common]
    assert sorted(other.rules_.names) == sorted(names)
    assert str(other.rules_).splitlines()[1].startswith(f"state is {rare} otherwise")
    loaded = EntropyClassifier.load(other.save(tmp_path / "model"))
    assert loaded.positive == common
    assert {one.name for one in verify(tmp_path / "model").classes} == set(names)


def test_without_yes_the_rarer_class_is_stated_unless_clearly_worse():
    table, labels = loans("bad", "good")
    assert stated(fitted(table, labels).rules_) == ["bad"]
    # Four literals state the frequent class, and the rarer one would need eight.
    bits = pd.DataFrame(np.random.default_rng(0).random((600, 4)) < 0.7, columns=list("abcd")).astype(int)
    frequent = (bits.a & bits.b) | (bits.c & bits.d)
    assert frequent.mean() > 0.6
    model = fitted(bits, pd.Series(np.where(frequent == 1, "x", "y")), max_literals=4)
    assert stated(model.rules_) == ["x"]


def three() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"age": rng.integers(20, 80, 450), "debt": rng.integers(0, 60, 450)})
    level = np.digitize(table.age + rng.normal(size=450) * 8, [40, 60])
    return table, pd.Series(np.array(["low", "middle", "high"])[level], name="risk")


@pytest.mark.parametrize("name", ["low", "middle", "high"])
def test_with_more_classes_its_rules_decide_first(name):
    table, labels = three()
    model = fitted(table, labels, positive=name)
    assert sorted(model.rules_.names) == ["high", "low", "middle"]
    assert str(model.rules_).startswith(f"risk is {name} if ")
    fires = np.zeros(len(table), dtype=bool)
    for cube in model.rules_.rule(name).cubes:
        holds = np.ones(len(table), dtype=bool)
        for literal in cube:
            column, value = literal.concept.split(" >= ")
            holds &= (table[column] >= float(value)) == literal.positive
        fires |= holds
    assert fires.any()
    assert set(model.predict(table[fires])) == {name}


def test_the_sheet_states_the_named_value_first(tmp_path):
    table, labels = three()
    table.assign(risk=labels).to_csv(tmp_path / "risks.csv", index=False)
    for name in ("low", "middle"):
        run = logiclens("explain", "risks.csv", "--target", "risk", "--positive", name, cwd=tmp_path)
        headings = [
            line for line in run.stdout.splitlines() if line in ("risk is low", "risk is middle", "risk is high")
        ]
        assert headings[0] == f"risk is {name}"
        assert f"not {name}" not in run.stdout
        assert f"The first that applies decides: risk is {name}, then" in run.stdout


def test_a_class_that_cannot_be_stated_is_refused():
    table, labels = loans("yes", "no")
    with pytest.raises(LogicLensError, match="the target 'state' is never 'Yes'; did you mean 'yes'"):
        fitted(table, labels, positive="Yes")
    with pytest.raises(LogicLensError, match="every label has rules of its own: leave out positive"):
        fitted(table, np.eye(2, dtype=int)[(labels == "yes").astype(int)], positive="yes")


def test_a_number_names_a_class_however_it_is_written():
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20, dtype=float)
    labels = rows[:, 0] * rows[:, 1]
    for value in (0, 0.0, "0.0"):
        model = EntropyClassifier(positive=value, booleanise=None, verbose=False).fit(rows, labels)
        assert not isinstance(model.rules_.rule(0.0).formula, Complement)
