"""The fields of "Try it" for parts of dates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from logiclens.formula import Predicate, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.report.panel import panel_data, panel_fields


def _asked(kind: str, columns: tuple[str, ...], value: float) -> Predicate:
    part = DatePart(kind, columns)
    return Predicate(part.name, ">=", value, part)


def test_a_part_of_a_date_has_its_own_field():
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
    weekdays = [(choice.words, choice.value) for choice in fields["weekday of admitted"].choices]
    assert weekdays[0] == ("Monday", 1)
    assert weekdays[6:] == [("Sunday", 7), ("missing", None)]
    assert [c.value for c in fields["month of admitted"].choices] == [*range(1, 13), None]
    assert fields["hour of admitted"].choices[18].words == "18:00"
    assert (fields["days from admitted to left"].input, fields["days from admitted to left"].kind) == (
        "number",
        "number",
    )
    data = panel_data(result, [[] for rule in rules.rules for _ in rule.cubes])
    asked = [(data["columns"][column]["name"], operator, bound) for column, operator, bound in data["tests"]]
    assert asked == [(p.column, ">=", p.value) for p in predicates.values()]
    # Whatever the script fills in is a value that the field offers.
    for column in data["columns"]:
        offered = [value for _, value in column["choices"]]
        assert all(isinstance(value, int) for _, _, value in column["states"])
        assert not offered or all(value in offered for _, _, value in column["states"])
