"""Python: the source needs Python alone, and answers and refuses what the rules answer and refuse on every row."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from logiclens.errors import LogicLensError
from logiclens.export import to_python
from logiclens.formula import DNF, parse
from logiclens.formula.column_kinds import ORDERS
from logiclens.formula.date_parts import DatePart
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from tests.export_cases import (
    DATE_TEXTS,
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
    namespace: dict[str, Any] = {}
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
def test_it_is_one_function_that_imports_nothing_but_dates(rules: RuleSet) -> None:
    (function,) = ast.parse(to_python(rules)).body
    assert isinstance(function, ast.FunctionDef)
    imports = [node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    has_dates = any(rules.predicate(concept).has_text_form for concept in rules.concepts)
    assert modules == ({"datetime", "re"} if has_dates else set())


def test_names_and_texts_of_every_kind() -> None:
    for name in (*AWKWARD_NAMES, NASTY, NASTY_TEXT, "\ud800", "'''", '"""', "__import__('os')"):
        rules = RuleSet((Rule(name, parse("c"), (0.9,)),), {"c": Predicate(name, "==", name)})
        predict = run(to_python(rules))
        assert (predict({name: name}), predict({name: None}), predict({name: math.nan})) == (name, None, None)
        column = RuleSet((Rule("yes", DNF([next(iter(parse("c")))]), (0.9,)),), {"c": Predicate(name, ">", 0.1)})
        assert run(to_python(column))({name: 0.2}) == "yes"


def ahead(hours: int) -> timezone:
    return timezone(timedelta(hours=hours))


DURATION_TEXTS = [
    "2 days", "1 day", "2 days 06:00:00", "-1 days +18:00:00", " 2 days ", "2 days 06:00:00.5", "99999999 days",
    "2 days 06:00:00.1234567", "2 days 06:00:00.1234567890", "2 days 6:0:0", "2 days 25:00:00", "2 days 06:00",
    "2 dayss", "2days", "123456789 days", "2 days 06:60:00", "2 days 06:00:61", "x days", "1.5 days", "06:00:00",
    "+2 days", "２ days", "2 days  06:00:00", "2 days 06:00:00.",
]  # fmt: skip
CELLS: list[Any] = [
    *DATE_TEXTS, *DURATION_TEXTS,
    # Missing values of every kind, and texts that look like one.
    None, math.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), np.float32("nan"), np.ma.masked,
    Decimal("NaN"), Decimal("sNaN"), "", "nan", "None", "missing",
    # Numbers, and texts that are some.
    0, 1, True, False, np.True_, np.int8(80), np.uint64(2**64 - 1), 72.5, np.float32(72.5), np.float16(72.5), 10**400,
    np.longdouble(80), Decimal("72.5"), Decimal("1e400"), Fraction(145, 2), -(10**400), math.inf, -math.inf, 1e308,
    80j, complex("nan"), np.complex128(80), np.float32(0.7), 0.7, "80", " 72.5 ", "1_000", "1e400", "0x10", "1,5",
    "８０", "8 0", "inf", b"80", bytearray(b"80"), np.str_("80"), np.array(80.0), np.array([80]), np.array([1, 2]),
    [80], (80,), {}, {80}, object(),
    # Texts.
    "MICU", np.str_("MICU"), "micu", b"MICU", np.array("MICU"), np.array(["MICU"]), ["MICU"],
    # Dates, with and without a time zone.
    date(2021, 3, 1), date(2021, 2, 28), datetime(2021, 3, 1, 12, 30), datetime.min, datetime.max, time(12, 30),
    datetime(2021, 3, 1, tzinfo=UTC), datetime(2021, 3, 1, 0, 30, tzinfo=ahead(1)),
    datetime(2021, 2, 28, 23, 30, tzinfo=ahead(-5)), datetime.min.replace(tzinfo=ahead(1)), time(12, 30, tzinfo=UTC),
    datetime(2021, 10, 31, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Rome")), pd.Timestamp("2021-03-01"),
    pd.Timestamp("2021-03-01T12:30:00.000000001"), pd.Timestamp("2021-03-01T00:59:59.999999999", tz="Europe/Rome"),
    pd.Timestamp("2021-03-01T01:00", tz="Europe/Rome"), pd.Timestamp("2021-10-31T02:30+01:00", tz="Europe/Rome"),
    pd.Timestamp("2021-10-31T02:30+02:00", tz="Europe/Rome"), pd.Period("2021-03"), np.datetime64("2021-03-01"),
    np.datetime64("2021"), np.datetime64("2021-03-01T12"), np.datetime64("2021-03-01T12:30:00.123456789"),
    # Durations.
    timedelta(days=3), timedelta(hours=54), timedelta.max, timedelta.min, pd.Timedelta("2 days 06:00:00.000000001"),
    pd.Timedelta(-1, "ns"), np.timedelta64(54, "h"), np.timedelta64(-1, "ns"), np.timedelta64(3),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "predicate",
    [
        Predicate("x", ">=", 72.5), Predicate("x", "<", 0.7), Predicate("x", ">=", 0.7), Predicate("x", "==", 80),
        Predicate("x", "==", True), Predicate("x", "==", "MICU"), Predicate("x", "==", "80"), Predicate("x", "missing"),
        *(
            Predicate("x", operator, value)
            for value in ("2021-03-01", "2021-03-01T12:30", "2021-10-31 01:30:00", "2 days 06:00:00")
            for operator in ORDERS
        ),
        *(
            Predicate(f"{kind} of x", ">=", value, DatePart(kind, ("x",)))
            for kind, value in (("month", 3), ("weekday", 2), ("hour", 12))
        ),
    ],
    ids=str,
)  # fmt: skip
def test_hostile_cells_are_answered_or_refused_as_by_rules(predicate: Predicate) -> None:
    rules = one_predicate(predicate)
    predict = run(to_python(rules))

    def outcome(answer: Callable[[], Any]) -> str:
        try:
            return str(answer())
        except (LogicLensError, ValueError):
            return "refused"

    for cell in CELLS:
        column = np.empty(1, dtype=object)
        column[0] = cell
        # The rules tell a list from an array of objects for a few cells, such as a list; then either will do.
        expected = {outcome(lambda column=column: rules.predict({"x": column})[0]) for column in ([cell], column)}
        assert outcome(lambda cell=cell: predict({"x": cell})) in expected, cell


def test_an_invalid_date_is_refused_beside_a_missing_one() -> None:
    part = DatePart("days", ("begun", "ended"))
    rules = one_predicate(Predicate(part.name, ">=", 3, part))
    for row in ({"begun": "2021-02-30", "ended": None}, {"begun": pd.NA, "ended": "soon"}):
        with pytest.raises(LogicLensError, match="where a date such as '2021-03-01' is needed"):
            rules.predict({column: [cell] for column, cell in row.items()})
        with pytest.raises(ValueError, match="where a date such as 2021-03-01 is needed"):
            run(to_python(rules))(row)


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
        'new': not missing('admitted') and moment('admitted') >= datetime(2021, 3, 1, 0, 0),
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
        'in': text('unit') == 'MICU',
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
        predict = run(to_python(rules))
        got = [predict(row) for row in rows_of(DATES)]
        assert got == rules.predict(DATES).tolist(), str(predicate)
