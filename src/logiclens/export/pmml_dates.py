"""Dates in PMML: derived as numbers from texts, which every engine compares alike.

PMML has types for dates, but engines differ in what they make of them, and some read every date as missing. So a date
is a text in ISO form here, and from it come two numbers: its day, such as 20210301, and its time, such as 123000.5 for
half a second past 12:30. Only functions that PMML itself defines are used.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection

from logiclens.formula.predicate import Predicate, moment

MIDNIGHT = "0000-00-00 00:00:00.0000000"
"""What a text that ends early is filled up with."""

_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_STRICT = {">=": "greaterThan", ">": "greaterThan", "<=": "lessThan", "<": "lessThan"}
_WITHIN = {">=": "greaterOrEqual", ">": "greaterThan", "<=": "lessOrEqual", "<": "lessThan"}


def derived_name(column: str, part: str, columns: Collection[str]) -> str:
    """The name of a derived field, which no column has: `part` is `"in full"`, `"day"` or `"time"`."""
    name = f"{column} ({part})"
    while name in columns:
        name += "'"
    return name


def derived_fields(column: str, columns: Collection[str]) -> list[ET.Element]:
    """The fields that are derived from a column of dates."""
    in_full, day, time = (derived_name(column, part, columns) for part in ("in full", "day", "time"))
    length = _apply("stringLength", _field(column))
    rest = _apply(
        "substring",
        _constant(MIDNIGHT, "string"),
        _apply("+", length, _constant("1")),
        _apply("-", _constant(str(len(MIDNIGHT))), _apply("stringLength", _field(column))),
    )
    filled_up = _apply("concat", _field(column), rest)
    return [
        _derived(in_full, "string", filled_up),
        _derived(day, "double", _apply("concat", *(_part(in_full, *place) for place in ((1, 4), (6, 2), (9, 2))))),
        _derived(time, "double", _apply("concat", *(_part(in_full, *place) for place in ((12, 2), (15, 2), (18, 9))))),
    ]


def date_comparison(predicate: Predicate, positive: bool, columns: Collection[str]) -> ET.Element:
    """A comparison with a date, or its negation; a missing date fails the one and satisfies the other."""
    operator = predicate.operator if positive else _OPPOSITE[predicate.operator]
    day, time = (derived_name(predicate.column, part, columns) for part in ("day", "time"))
    point = moment(str(predicate.value))
    on_day, at_time = f"{point:%Y%m%d}".zfill(8), f"{point:%H%M%S.%f}"
    if at_time == "000000.000000" and operator in (">=", "<"):
        compared = _simple(day, _WITHIN[operator], on_day)
    else:
        same_day = _compound("and", _simple(day, "equal", on_day), _simple(time, _WITHIN[operator], at_time))
        compared = _compound("or", _simple(day, _STRICT[operator], on_day), same_day)
    # Some engines derive a day from a missing date too.
    if positive:
        return _compound("and", _simple(predicate.column, "isNotMissing"), compared)
    return _compound("or", _simple(predicate.column, "isMissing"), compared)


def _simple(field: str, operator: str, value: str | None = None) -> ET.Element:
    given = {} if value is None else {"value": value}
    return ET.Element("SimplePredicate", {"field": field, "operator": operator, **given})


def _compound(operator: str, *parts: ET.Element) -> ET.Element:
    compound = ET.Element("CompoundPredicate", {"booleanOperator": operator})
    compound.extend(parts)
    return compound


def _derived(name: str, kind: str, expression: ET.Element) -> ET.Element:
    optype = "continuous" if kind == "double" else "categorical"
    field = ET.Element("DerivedField", {"name": name, "optype": optype, "dataType": kind})
    field.append(expression)
    return field


def _part(field: str, start: int, length: int) -> ET.Element:
    return _apply("substring", _field(field), _constant(str(start)), _constant(str(length)))


def _apply(function: str, *arguments: ET.Element) -> ET.Element:
    apply = ET.Element("Apply", {"function": function})
    apply.extend(arguments)
    return apply


def _field(name: str) -> ET.Element:
    return ET.Element("FieldRef", {"field": name})


def _constant(value: str, kind: str = "integer") -> ET.Element:
    constant = ET.Element("Constant", {"dataType": kind})
    constant.text = value
    return constant
