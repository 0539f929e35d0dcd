"""Rules as PMML, the XML format of scoring engines. Dates become numbers, which all engines compare in the same way."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from logiclens.errors import LogicLensError, quoted
from logiclens.export.registry import rules_of
from logiclens.formula.column_kinds import Scalar
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.predicate import Predicate, labels_of_one_kind
from logiclens.formula.rule_set import RuleSet

MIDNIGHT = "0000-00-00 00:00:00.0000000"
"""What a text that ends early is filled up with."""

_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_STRICT = {">=": "greaterThan", ">": "greaterThan", "<=": "lessThan", "<": "lessThan"}
_WITHIN = {">=": "greaterOrEqual", ">": "greaterThan", "<=": "lessOrEqual", "<": "lessThan"}


def derived_name(column: str, part: str, columns: Collection[str]) -> str:
    """Return a name for a derived field that no column has; `part` is `"in full"`, `"day"` or `"time"`."""
    name = f"{column} ({part})"
    while name in columns:
        name += "'"
    return name


def derived_fields(column: str, columns: Collection[str]) -> list[ET.Element]:
    """Return the fields that are derived from a column of dates."""
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
    """Return a comparison with a date, or its negation; a missing date fails the first and satisfies the second."""
    operator = predicate.operator if positive else _OPPOSITE[predicate.operator]
    day, time = (derived_name(predicate.column, part, columns) for part in ("day", "time"))
    point = predicate.kind.point(predicate.value)
    on_day, at_time = f"{point:%Y%m%d}".zfill(8), f"{point:%H%M%S.%f}"
    if at_time == "000000.000000" and operator in (">=", "<"):
        compared = _simple(day, _WITHIN[operator], on_day)
    else:
        same_day = _both(_simple(day, "equal", on_day), _simple(time, _WITHIN[operator], at_time))
        compared = _either(_simple(day, _STRICT[operator], on_day), same_day)
    # Some engines derive a day from a missing date too.
    if positive:
        return _both(_simple(predicate.column, "isNotMissing"), compared)
    return _either(_simple(predicate.column, "isMissing"), compared)


def _simple(field: str, operator: str, value: str | None = None) -> ET.Element:
    given = {} if value is None else {"value": value}
    return ET.Element("SimplePredicate", {"field": field, "operator": operator, **given})


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


NAMESPACE = "http://www.dmg.org/PMML-4_4"

_OPERATORS = {
    ">=": ("greaterOrEqual", "lessThan"),
    ">": ("greaterThan", "lessOrEqual"),
    "<=": ("lessOrEqual", "greaterThan"),
    "<": ("lessThan", "greaterOrEqual"),
    "==": ("equal", "notEqual"),
}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_pmml(rules: Any, *, target: str = "prediction") -> str:
    """Return a PMML 4.4 document whose `RuleSetModel` predicts as the rules do: the first rule that fires decides.

    PMML has no missing integer or Boolean. So if a row may stay undecided (no `otherwise`, or `resolve="none"`), all
    labels are written as text.

    A date is ISO text in universal time, such as `2021-03-01` or `2021-03-01T12:30`, because engines disagree about
    PMML's own date types. A column that is only tested for missing values is read as text too; there `NaN` is missing.

    A rule has an `Extension` named `recurrence` where the recurrence of its cube is known.

    Args:
        rules: a rule set, an explanation, or an exact model.
        target: name of the predicted field. Default: `"prediction"`.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.predicate import Predicate
    >>> from logiclens.formula.rule_set import Rule
    >>> rules = RuleSet((Rule("ill", parse("old"), (0.9,)),), {"old": Predicate("age", ">=", 72.5)})
    >>> print(to_pmml(rules).split("<RuleSet>")[1])
    <BLANKLINE>
          <RuleSelectionMethod criterion="firstHit" />
          <SimpleRule id="1" score="ill" confidence="0.9">
            <SimplePredicate field="age" operator="greaterOrEqual" value="72.5" />
          </SimpleRule>
        </RuleSet>
      </RuleSetModel>
    </PMML>
    """
    rules = rules_of(rules)
    if rules.multilabel:
        raise LogicLensError(
            "a RuleSetModel of PMML answers with one class, but these rules give several labels to a row. "
            "Export them by to_sql or to_python."
        )
    asked = [rules.predicate(concept) for concept in rules.concepts]
    if refused := [p for p in asked if p.kind.pmml_form is None]:
        raise LogicLensError(
            f"PMML has no type for {refused[0].kind.plural}, which {quoted(refused[0].column)} holds. "
            "Export the rules by to_sql or to_python."
        )
    if parts := [p.origin for p in asked if p.origin is not None]:
        raise LogicLensError(
            f"PMML cannot hold {quoted(parts[0].name)}, which the rules are about, in a form that all readers know. "
            "Export them as SQL or Python, or learn them with Booleaniser(date_parts=False)."
        )
    dates = [p.column for p in asked if p.kind.pmml_form == "iso text"]
    derived = [field for column in dict.fromkeys(dates) for field in derived_fields(_sayable(column), rules.columns)]
    if target in (*rules.columns, *(field.get("name") for field in derived)):
        raise LogicLensError(f"the table has a column {quoted(target)} already: pass another target=.")
    rules = _with_one_kind_a_column(rules)
    labels = labels_of_one_kind([rule.label for rule in rules.rules])
    if rules.resolve == "none" or rules.otherwise is None:
        labels = [_score(label) for label in labels]
    root = ET.Element("PMML", {"xmlns": NAMESPACE, "version": "4.4"})
    ET.SubElement(root, "Header")
    _add_dictionary(root, rules, target, labels)
    if derived:
        ET.SubElement(root, "TransformationDictionary").extend(derived)
    model = ET.SubElement(root, "RuleSetModel", {"modelName": "logiclens", "functionName": "classification"})
    schema = ET.SubElement(model, "MiningSchema")
    for column in rules.columns:
        ET.SubElement(schema, "MiningField", {"name": _sayable(column), "invalidValueTreatment": "asIs"})
    ET.SubElement(schema, "MiningField", {"name": _sayable(target), "usageType": "target"})
    _add_rules(ET.SubElement(model, "RuleSet"), rules, labels)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def _with_one_kind_a_column(rules: RuleSet) -> RuleSet:
    """Return the rules with True and False as 1 and 0 in columns that are also compared with numbers."""
    kinds = {column: _column_kind(rules, column) for column in rules.columns}
    predicates = {concept: rules.predicate(concept) for concept in rules.concepts}
    for concept, predicate in predicates.items():
        is_flag = isinstance(predicate.value, bool) and predicate.operator != "missing"
        if is_flag and kinds[predicate.column] == "double":
            predicates[concept] = replace(predicate, value=int(predicate.value))
    return replace(rules, predicates=predicates)


def _compared_with(rules: RuleSet, column: str) -> list[Scalar]:
    asked = (p for p in map(rules.predicate, rules.concepts) if p.column == column)
    return [predicate.value for predicate in asked if predicate.operator != "missing"]


def _column_kind(rules: RuleSet, column: str) -> str:
    # A column that is compared with nothing may have any type; text can represent all of them.
    kind = _kind(_compared_with(rules, column) or [""])
    if kind is None:
        raise LogicLensError(
            f"the column {quoted(column)} is compared with texts and with numbers; PMML wants one of them."
        )
    return "double" if kind == "integer" else kind


def _add_dictionary(root: ET.Element, rules: RuleSet, target: str, labels: Sequence[Scalar]) -> None:
    dictionary = ET.SubElement(root, "DataDictionary")
    for column in rules.columns:
        _add_field(dictionary, column, _column_kind(rules, column))
    field = _add_field(dictionary, target, _kind(labels) or "string", categorical=True)
    for label in labels:
        ET.SubElement(field, "Value", {"value": _score(label)})


def _add_field(dictionary: ET.Element, name: str, kind: str, categorical: bool = False) -> ET.Element:
    optype = "continuous" if kind == "double" and not categorical else "categorical"
    return ET.SubElement(dictionary, "DataField", {"name": _sayable(name), "optype": optype, "dataType": kind})


def _kind(values: Iterable[Scalar]) -> str | None:
    """Return the PMML type of some values; None if they have several types."""
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "integer"
    return None if str in kinds else "double"


def _add_rules(parent: ET.Element, rules: RuleSet, labels: Sequence[Scalar]) -> None:
    if rules.resolve != "none" and rules.otherwise is not None:
        parent.set("defaultScore", _score(labels[rules.otherwise]))
        if rules.rules[rules.otherwise].is_complement:
            parent.set("defaultConfidence", repr(float(rules.rules[rules.otherwise].confidence[0])))
    ET.SubElement(parent, "RuleSelectionMethod", {"criterion": "firstHit"})
    if rules.resolve == "none":
        for place, formula in enumerate(rules.formulas):
            others = [other for i, other in enumerate(rules.formulas) if i != place]
            alone = _both(_formula(formula, rules), *(_negated(other, rules) for other in others))
            rule = {"id": str(place + 1), "score": _score(labels[place])}
            _add_rule(parent, rule, alone, rules.rules[place].recurrence)
        return
    for number, line in enumerate(rules.decisions, start=1):
        rule = {"id": str(number), "score": _score(labels[line.rule]), "confidence": repr(float(line.confidence))}
        _add_rule(parent, rule, _cube(line.cube, rules), [line.recurrence])


def _add_rule(parent: ET.Element, attributes: dict[str, str], condition: ET.Element, recurrence: Sequence[str]) -> None:
    """Add a rule, with one extension per cube for its recurrence, where that is known."""
    rule = ET.SubElement(parent, "SimpleRule", attributes)
    for words in filter(None, recurrence):
        ET.SubElement(rule, "Extension", {"extender": "logiclens", "name": "recurrence", "value": words})
    rule.append(condition)


def _formula(formula: DNF | Complement, rules: RuleSet) -> ET.Element:
    if isinstance(formula, Complement):
        return _negated(formula.of, rules)
    return _either(*(_cube(cube, rules) for cube in formula))


def _negated(formula: DNF | Complement, rules: RuleSet) -> ET.Element:
    """Return the negation of a formula: in each cube some literal fails. PMML has no NOT."""
    if isinstance(formula, Complement):
        return _formula(formula.of, rules)
    return _both(*(_either(*(_literal(lit.concept, not lit.positive, rules) for lit in cube)) for cube in formula))


def _cube(cube: Cube, rules: RuleSet) -> ET.Element:
    return _both(*(_literal(literal.concept, literal.positive, rules) for literal in cube))


def _literal(concept: str, positive: bool, rules: RuleSet) -> ET.Element:
    predicate = rules.predicate(concept)
    if predicate.operator == "missing":
        return _missing(predicate.column, positive, rules)
    if predicate.kind.pmml_form == "iso text":
        return date_comparison(predicate, positive, rules.columns)
    field, (holds, fails) = _sayable(predicate.column), _OPERATORS[predicate.operator]
    compared = {"field": field, "operator": holds if positive else fails, "value": _score(predicate.value)}
    comparison = ET.Element("SimplePredicate", compared)
    if positive:
        return comparison
    # On a missing value a comparison is unknown, and unknown OR true is true.
    return _either(comparison, ET.Element("SimplePredicate", {"field": field, "operator": "isMissing"}))


def _missing(column: str, positive: bool, rules: RuleSet) -> ET.Element:
    field = _sayable(column)
    asked = ET.Element("SimplePredicate", {"field": field, "operator": "isMissing" if positive else "isNotMissing"})
    if _compared_with(rules, column):
        return asked
    # A number that is read as text: NaN is recognised by its spelling.
    nan = {"field": field, "operator": "equal" if positive else "notEqual", "value": "NaN"}
    return (_either if positive else _both)(asked, ET.Element("SimplePredicate", nan))


def _both(*parts: ET.Element) -> ET.Element:
    return _compound("and", parts) if parts else ET.Element("True")


def _either(*parts: ET.Element) -> ET.Element:
    return _compound("or", parts) if parts else ET.Element("False")


def _compound(operator: str, parts: Sequence[ET.Element]) -> ET.Element:
    if len(parts) == 1:
        return parts[0]
    compound = ET.Element("CompoundPredicate", {"booleanOperator": operator})
    compound.extend(parts)
    return compound


def _score(label: Scalar) -> str:
    return str(label).lower() if isinstance(label, bool) else _sayable(str(label))


def _sayable(text: str) -> str:
    """Return a text that XML can contain; raise an error otherwise."""
    if _NOT_IN_XML.search(text):
        raise LogicLensError(f"XML cannot hold {quoted(text)}: it has a control character. Rename it first.")
    return str(text)
