"""Python: the source uses builtins only and predicts what the rules predict on every row."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from logiclens.errors import LogicLensError
from logiclens.export import to_python
from logiclens.formula import DNF, parse
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from tests.export_cases import (
    DATES,
    NASTY,
    NASTY_TEXT,
    PART_PREDICATES,
    Typed,
    expected_classes,
    one_predicate,
    rows_of,
    rule_sets,
    table,
)
from tests.strategies import AWKWARD_NAMES

TABLE = table(200)
ROWS = rows_of(TABLE)


def run(source: str) -> Callable[[dict[str, Any]], Any]:
    allowed = (float, len, str, bool, type, getattr, ValueError)
    namespace: dict[str, Any] = {"__builtins__": {function.__name__: function for function in allowed}}
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


TIMES = [
    date(2021, 3, 1), date(2021, 2, 28), datetime(2021, 3, 1), datetime(2021, 3, 1, 12, 30), "2021-03-01",
    " 2021-03-01T12:30 ", "2021-03-01 12:30:00.000001", datetime(2021, 3, 1, 12, 30, 0, 1), pd.Timestamp("2021-03-01"),
    pd.Timestamp("2021-03-01T12:30:00.000000001"), pd.Timestamp("2021-03-01T01:00", tz="Europe/Rome"),
    pd.Timestamp("2021-03-28T03:30", tz="Europe/Rome"), datetime(2021, 3, 1, tzinfo=UTC),
    datetime(2021, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), np.datetime64("2021-03-01"),
    np.datetime64("2021-03-01T12:30", "ns"), np.datetime64("2021-02-28T23:59:59.999999"), np.str_("2021-03-02"),
]  # fmt: skip
NO_TIMES = [None, math.nan, pd.NaT, pd.NA, np.datetime64("NaT"), np.float64("nan")]


@pytest.mark.parametrize("operator", [">=", ">", "<=", "<"])
@pytest.mark.parametrize("value", ["2021-03-01", "2021-03-01T12:30", "2021-03-28 01:30:00"])
def test_dates_of_every_kind_compare_as_in_the_rules(operator: Any, value: str) -> None:
    for formula in ("c", "~c"):
        rules = RuleSet((Rule("yes", parse(formula), (0.9,)),), {"c": Predicate("on", operator, value)})
        predict = run(to_python(rules))
        for cell in (*TIMES, *NO_TIMES):
            assert predict({"on": cell}) == rules.predict({"on": np.array([cell], dtype=object)})[0], cell


@pytest.mark.parametrize("cell", [*TIMES, *NO_TIMES, "", "missing", "nan", 0, False, np.int64(3), 1.5, math.inf])
def test_a_missing_value_is_found_among_cells_of_every_kind(cell: Any) -> None:
    rules = RuleSet(
        (Rule("yes", parse("c"), (0.9,)), Rule("no", parse("~c"), (0.8,))), {"c": Predicate("x", "missing")}
    )
    answer = run(to_python(rules))({"x": cell})
    assert answer == rules.predict({"x": np.array([cell], dtype=object)})[0]
    assert answer == ("yes" if pd.isna(cell) else "no")


@pytest.mark.parametrize("cell", ["yesterday", "01/03/2021", "2021-03-1", 20210301, True])
def test_values_that_are_no_dates_are_errors_as_in_rules(cell: Any) -> None:
    rules = RuleSet((Rule("yes", parse("c"), (0.9,)),), {"c": Predicate("on", "<", "2021-03-01")})
    with pytest.raises(LogicLensError, match=r"the column 'on' holds .* where a date such as '2021-03-01'"):
        rules.predict({"on": [cell]})
    with pytest.raises(ValueError, match=f"on holds {cell} where a date such as 2021-03-01 is needed"):
        run(to_python(rules))({"on": cell})


def test_how_dates_and_missing_values_read() -> None:
    rules = RuleSet(
        (Rule("ill", parse("new & ~bare"), (0.9,)),),
        {"new": Predicate("admitted", ">=", "2021-03-01"), "bare": Predicate("bmi", "missing")},
    )
    source = to_python(rules)
    assert "def number" not in source
    assert source.partition("    holds = {\n")[2].startswith("""\
        'new': not missing('admitted') and moment('admitted') >= '2021-03-01 00:00:00.000000',
        'bare': missing('bmi'),
""")


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
    assert to_python(replace(rules, resolve="none")).endswith("""\
    fired = []
    if (holds['old'] and not holds['smoker']) or holds['in']:
        fired.append('ill')
    if not holds['old']:
        fired.append('well')
    return fired[0] if len(fired) == 1 else None
""")


def test_parts_of_dates_on_every_row() -> None:
    for predicate in PART_PREDICATES:
        rules = one_predicate(predicate)
        scope: dict[str, Any] = {}
        exec(to_python(rules), scope)  # the exported function, made from our own rules
        got = [scope["predict"](row) for row in rows_of(DATES)]
        assert got == rules.predict(DATES).tolist(), str(predicate)
