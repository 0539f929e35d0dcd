"""Python: the source runs with nothing but `float` and `len`, and answers as the rules do on every row."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given

from logiclens.export import to_python
from logiclens.formula import DNF, parse
from logiclens.formula.predicate import Predicate
from logiclens.formula.ruleset import Rule, RuleSet
from tests.export_cases import NASTY, NASTY_TEXT, Typed, expected_classes, rows_of, rule_sets, table
from tests.strategies import AWKWARD_NAMES

TABLE = table(200)
ROWS = rows_of(TABLE)


def run(source: str) -> Callable[[dict[str, Any]], Any]:
    namespace: dict[str, Any] = {"__builtins__": {"float": float, "len": len}}
    exec(source, namespace)
    return namespace["predict"]


@given(rule_sets(multilabel=False))
def test_the_class_of_every_row(rules: RuleSet) -> None:
    predict = run(to_python(rules))
    assert [Typed.of(predict(row)) for row in ROWS] == [Typed.of(label) for label in expected_classes(rules, TABLE)]


@given(rule_sets(multilabel=True))
def test_every_label_of_every_row(rules: RuleSet) -> None:
    predict = run(to_python(rules))
    wanted = [dict(zip(rules.names, fires, strict=True)) for fires in rules.fires(TABLE).tolist()]
    assert [predict(row) for row in ROWS] == wanted


@given(rule_sets())
def test_it_is_one_function_without_imports(rules: RuleSet) -> None:
    (function,) = ast.parse(to_python(rules)).body
    assert isinstance(function, ast.FunctionDef)
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))


def test_names_and_texts_of_every_kind() -> None:
    for name in (*AWKWARD_NAMES, NASTY, NASTY_TEXT, "\ud800", "'''", '"""', "__import__('os')"):
        rules = RuleSet((Rule(name, parse("c"), (0.9,)),), {"c": Predicate(name, "==", name)})
        predict = run(to_python(rules))
        assert (predict({name: name}), predict({name: None}), predict({name: math.nan})) == (name, None, None)
        column = RuleSet((Rule("yes", DNF([next(iter(parse("c")))]), (0.9,)),), {"c": Predicate(name, ">", 0.1)})
        assert run(to_python(column))({name: 0.2}) == "yes"


def test_cells_of_numpy_are_compared_as_the_rules_compare_them() -> None:
    """A float32 beside a Python float would be compared in float32, where 0.7 is equal to 0.7."""
    rules = RuleSet((Rule("yes", parse("c"), (0.9,)),), {"c": Predicate("x", ">=", 0.7)})
    predict = run(to_python(rules))
    for cell in (np.float32(0.7), np.float64(0.7), np.int64(1), np.bool_(True), True, 1):
        assert predict({"x": cell}) == rules.predict({"x": [cell]})[0]
    assert predict({"x": np.float32(0.7)}) is None


def test_labels_of_numpy_become_pythons() -> None:
    for label in (np.int64(3), np.float64(0.5), np.str_("ill"), np.bool_(True)):
        rules = RuleSet((Rule(label, DNF.true, (0.9,)),))
        assert Typed.of(run(to_python(rules))({})) == Typed.of(label.item())


def test_how_it_reads() -> None:
    rules = RuleSet(
        (Rule("ill", parse("(old & ~smoker) | in"), (0.9, 0.7)), Rule("well", parse("~old"), (0.8,))),
        {"old": Predicate("age", ">=", 72.5), "in": Predicate("unit", "==", "MICU")},
    )
    body = to_python(rules).partition("    holds = {\n")[2]
    assert (
        body
        == """\
        'old': number('age') >= 72.5,
        'smoker': number('smoker') >= 0.5,
        'in': row['unit'] == 'MICU',
    }
    if holds['old'] and not holds['smoker']:
        return 'ill'
    if not holds['old']:
        return 'well'
    if holds['in']:
        return 'ill'
    return None
"""
    )
    assert to_python(rules.resolved_by("none")).endswith("""\
    fired = []
    if (holds['old'] and not holds['smoker']) or holds['in']:
        fired.append('ill')
    if not holds['old']:
        fired.append('well')
    return fired[0] if len(fired) == 1 else None
""")
