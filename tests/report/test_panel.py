"""The fields of "Try it" for parts of dates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from logiclens.formula import Predicate, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.report.panel import panel_data, panel_fields
from logiclens.report.result import InputColumn


def _asked(kind: str, columns: tuple[str, ...], value: float) -> Predicate:
    part = DatePart(kind, columns)
    return Predicate(part.name, ">=", value, part)


def test_parts_of_a_date_share_the_field_of_the_date():
    predicates = {
        "weekend": _asked("weekday", ("admitted",), 6),
        "winter": _asked("month", ("admitted",), 12),
        "late": _asked("hour", ("admitted",), 18),
        "long": _asked("days", ("admitted", "left"), 3),
    }
    formula = parse("(weekend & late) | (winter & long)")
    rules = RuleSet((Rule("yes", formula, (0.9, 0.9)), Rule("no", parse("~weekend"), (0.9,))), predicates, otherwise=1)
    result: Any = SimpleNamespace(
        rules=rules, inputs=(), rows=(), exclusive=(), implied=(), multilabel=False,
        classes=[SimpleNamespace(name="yes"), SimpleNamespace(name="no")], data=SimpleNamespace(target="died"),
        concepts=[SimpleNamespace(name=name) for name in predicates],
    )  # fmt: skip
    fields = {field.column: field for field in panel_fields(result)}
    assert [*fields] == ["admitted", "left"]
    # Only a time of day tells the hour.
    assert [fields[name].input for name in fields] == ["datetime-local", "date"]
    assert fields["admitted"].hint == "The rules use its weekday, its hour, its month and the days from it to left."
    assert fields["left"].hint == "The rules use the days from admitted to it."
    data = panel_data(result, [])
    asked = [
        (
            data["units"][unit]["part"],
            [data["fields"][i]["name"] for i in data["units"][unit]["fields"]],
            operator,
            bound,
        )
        for unit, operator, bound in data["tests"]
    ]
    assert asked == [(p.origin.kind, list(p.sources), ">=", p.value) for p in predicates.values()]
    assert data["dates"] == [[0, 1, 2, 3]]


def test_a_state_without_named_category_has_a_listed_one():
    predicates = {
        "cook": Predicate("job", "==", "cook"), "nurse": Predicate("job", "==", "nurse"),
        "recent": Predicate("admitted", ">=", "2021-03-01"),
    }  # fmt: skip
    rules = RuleSet((Rule("yes", parse("cook & recent | nurse"), (0.9, 0.9)),), predicates)
    result: Any = SimpleNamespace(
        rules=rules, rows=(), exclusive=(), implied=(), multilabel=False,
        inputs=(InputColumn("job", ("clerk", "cook", "nurse")), InputColumn("admitted", (), "2023-06-01")),
        classes=[SimpleNamespace(name="yes")], data=SimpleNamespace(target="died"),
        concepts=[SimpleNamespace(name=name) for name in predicates],
    )  # fmt: skip
    job, admitted = panel_data(result, [])["units"]
    assert {pattern: value for pattern, _, value in job["states"]} == {"10": "cook", "01": "nurse", "00": "clerk"}
    # A day that the table has, where it fits; else one beside the cut.
    before, after = [value for _, _, value in admitted["states"]]
    assert before < "2021-03-01"
    assert after == "2023-06-01"
    result.inputs = (InputColumn("job", ("cook", "nurse")),)
    assert {value for *_, value in panel_data(result, [])["units"][0]["states"]} == {"cook", "nurse", None}
