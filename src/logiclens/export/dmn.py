"""Rules as a decision table of DMN 1.3 (OMG): one row per rule, one column per column of the table, cells in FEEL.

The hit policy is that of the rules: FIRST where the first rule that applies decides, ANY where rules of several classes
decide nothing, COLLECT where a row can have several labels.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from logiclens.errors import LogicLensError, quoted
from logiclens.export.registry import rules_of
from logiclens.export.round_trip import comment_of
from logiclens.formula.column_kinds import CATEGORY, NUMBER, Scalar
from logiclens.formula.condition import CONCEPT, Subject, known_subject
from logiclens.formula.date_parts import DatePart
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet, who_decides

NAMESPACE = "https://www.omg.org/spec/DMN/20191111/MODEL/"
TYPES = {
    "number": "number", "boolean": "boolean", "text": "string", "date": "date and time",
    "timedelta": "days and time duration",
}  # fmt: skip
"""The FEEL type of each kind of column."""
OTHERWISE = "otherwise"
"""What stands for the name of a rule beside the answer where no rule fires."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = {"and", "or", "not", "if", "then", "else", "for", "in", "return", "some", "every", "satisfies", "null", "true",
          "false", "function", "between", "instance", "of", "external", "date", "time", "duration"}  # fmt: skip
_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


def to_dmn(rules: Any) -> str:
    """Return the rules as a decision table of DMN 1.3.

    Args:
        rules: a rule set, an explanation, or an exact model.

    Raises:
        LogicLensError: if a name or a text holds a character that XML does not have.

    >>> from logiclens.formula import Rule, parse
    >>> rules = RuleSet((Rule("ill", parse("old & sepsis"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 60.0)}, resolve="order", otherwise=1)
    >>> [line.strip() for line in to_dmn(rules).splitlines() if "&gt;=" in line]
    ['<text>&gt;= 60</text>', '<text>&gt;= 0.5</text>']
    """
    known = rules_of(rules)
    root = ET.Element("definitions", {"xmlns": NAMESPACE, "id": "rules", "name": "rules", "namespace": "urn:logiclens"})
    subjects = _subjects(known)
    names = _variables(known.columns)
    decision = ET.Element("decision", {"id": "decision", "name": known.facts.target or "class"})
    ET.SubElement(decision, "description").text = who_decides(known)
    for column, variable in names.items():
        data = ET.SubElement(root, "inputData", {"id": f"data_{variable}", "name": variable})
        ET.SubElement(data, "description").text = column
        ET.SubElement(data, "variable", {"name": variable, "typeRef": _type(column, known)})
    ET.SubElement(decision, "variable", {"name": known.facts.target or "class", "typeRef": _label_type(known)})
    for variable in names.values():
        needed = ET.SubElement(decision, "informationRequirement", {"id": f"needs_{variable}"})
        ET.SubElement(needed, "requiredInput", {"href": f"#data_{variable}"})
    decision.append(_decision_table(known, subjects, names))
    root.append(decision)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=False)
    _check_characters(text)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def policy_of(rules: RuleSet) -> str:
    """Return the hit policy by which a decision table decides as the rules do."""
    if rules.multilabel:
        return "COLLECT"
    # Of a formula and all the rest exactly one applies, however several would be resolved.
    is_list = rules.resolve != "none" or any(rule.is_complement for rule in rules.rules)
    return "FIRST" if is_list else "ANY"


def _decision_table(rules: RuleSet, subjects: Mapping[str, Subject], names: Mapping[str, str]) -> ET.Element:
    policy = policy_of(rules)
    table = ET.Element(
        "decisionTable", {"id": "table", "hitPolicy": policy, "outputLabel": rules.facts.target or "class"}
    )
    for number, subject in enumerate(subjects.values(), 1):
        column = ET.SubElement(table, "input", {"id": f"input_{number}", "label": subject.column})
        meant = ET.SubElement(
            column, "inputExpression", {"id": f"expression_{number}", "typeRef": _subject_type(subject)}
        )
        ET.SubElement(meant, "text").text = _expression(subject, names)
    ET.SubElement(
        table, "output", {"id": "output", "name": rules.facts.target or "class", "typeRef": _label_type(rules)}
    )
    for title in ("rule", "comment", "trust and stability"):
        ET.SubElement(table, "annotation", {"name": title})
    lines = [(line.rule, line.cube) for line in rules.decisions]
    if policy != "FIRST" or rules.resolve == "order":
        # Within a class any order decides alike.
        places = rules.order if policy == "FIRST" else range(len(rules.rules))
        lines = [(place, cube) for place in places for cube in rules.rules[place].cubes]
    for number, (place, cube) in enumerate(lines, 1):
        _add_rule(table, number, rules, place, cube, subjects)
    if policy == "FIRST" and rules.otherwise is not None:
        _add_otherwise(table, rules, len(subjects))
    return table


def _add_rule(
    table: ET.Element, number: int, rules: RuleSet, place: int, cube: Cube, subjects: Mapping[str, Subject]
) -> None:
    rule = rules.rules[place]
    entry = ET.SubElement(table, "rule", {"id": f"rule_{number}"})
    for at, name in enumerate(subjects, 1):
        mine = [literal for literal in cube if _subject_name(rules, literal.concept) == name]
        cell = ET.SubElement(entry, "inputEntry", {"id": f"rule_{number}_input_{at}"})
        ET.SubElement(cell, "text").text = _cell(mine, rules)
    answer = ET.SubElement(entry, "outputEntry", {"id": f"rule_{number}_output"})
    ET.SubElement(answer, "text").text = _label(rule.label)
    at = rule.cubes.index(cube)
    trust = f"{rule.confidence[at]:.3f}" + (f", {rule.recurrence[at]}" if rule.recurrence[at] else "")
    for text in (f"{rule.name}#{at + 1}", comment_of(rules, place, cube), trust):
        ET.SubElement(ET.SubElement(entry, "annotationEntry"), "text").text = text


def _add_otherwise(table: ET.Element, rules: RuleSet, n_inputs: int) -> None:
    entry = ET.SubElement(table, "rule", {"id": "otherwise"})
    for at in range(1, n_inputs + 1):
        ET.SubElement(ET.SubElement(entry, "inputEntry", {"id": f"otherwise_input_{at}"}), "text").text = "-"
    answer = ET.SubElement(entry, "outputEntry", {"id": "otherwise_output"})
    ET.SubElement(answer, "text").text = _label(rules.rules[rules.otherwise or 0].label)
    for text in (OTHERWISE, "", ""):
        ET.SubElement(ET.SubElement(entry, "annotationEntry"), "text").text = text


def _subjects(rules: RuleSet) -> dict[str, Subject]:
    """Return what the rules ask about, by name: a column, a part of a date, or a concept that is a column."""
    found: dict[str, Subject] = {}
    for concept in rules.concepts:
        name = _subject_name(rules, concept)
        found.setdefault(name, _subject(rules, name, concept))
    if not found:
        # A decision table needs an input, also where every rule is constant.
        found["any"] = Subject("any", NUMBER.name)
    return found


def _subject_name(rules: RuleSet, concept: str) -> str:
    return rules.predicates[concept].column if concept in rules.predicates else concept


def _subject(rules: RuleSet, name: str, concept: str) -> Subject:
    meant = rules.predicates.get(concept)
    if meant is None:
        return Subject(name, CONCEPT)
    if meant.origin is not None:
        return Subject(name, NUMBER.name, meant.origin)
    kinds = {one.kind.name for one in rules.predicates.values() if one.column == name and one.operator != "missing"}
    told = known_subject(name, rules)
    kind = kinds.pop() if len(kinds) == 1 else None if kinds or told is None else told.kind
    if kinds:
        raise LogicLensError(f"{quoted(name)} is compared with values of several kinds; a decision table takes one.")
    return Subject(name, kind)


def _variables(columns: Iterable[str]) -> dict[str, str]:
    """Return a FEEL name for each column: its own, or a number where it is none."""
    names: dict[str, str] = {}
    columns = list(columns)
    taken = {column for column in columns if _NAME.fullmatch(column) and column.lower() not in _WORDS}
    for number, column in enumerate(columns, 1):
        name = column
        if column not in taken:
            name = f"column_{number}"
            while name in taken or name in names.values():
                name += "_"
        names[column] = name
    return names


def _type(column: str, rules: RuleSet) -> str:
    kinds = {
        "date" if one.origin is not None else one.kind.name
        for one in rules.predicates.values()
        if column in one.sources and one.operator != "missing"
    }
    return TYPES[kinds.pop()] if len(kinds) == 1 else "number" if column in rules.concepts else "Any"


def _subject_type(subject: Subject) -> str:
    kind = subject.kind
    return "number" if kind == CONCEPT else TYPES.get(str(kind), "number" if kind == "0/1" else "Any")


def _expression(subject: Subject, names: Mapping[str, str]) -> str:
    part: DatePart | None = subject.origin
    if part is None:
        return names.get(subject.column, "null")
    first = names[part.columns[0]]
    if part.kind == "days":
        return f'(date({names[part.columns[1]]}) - date({first})) / duration("P1D")'
    return f"{first}.{part.kind}"


def _label_type(rules: RuleSet) -> str:
    kinds = {type(getattr(rule.label, "item", lambda rule=rule: rule.label)()) for rule in rules.rules}
    return (
        "string" if kinds == {str} else "boolean" if kinds == {bool} else "number" if not kinds & {str, bool} else "Any"
    )


def _label(label: Scalar) -> str:
    value = label.item() if hasattr(label, "item") else label
    return _text(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else _number(value)


def _number(value: float) -> str:
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def _text(value: str) -> str:
    escaped = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    made = "".join(one if one.isprintable() else "".join(f"\\u{unit:04X}" for unit in _units(one)) for one in escaped)
    return f'"{made}"'


def _units(character: str) -> list[int]:
    """Return the UTF-16 code units of a character, as FEEL escapes it."""
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def _value(predicate: Predicate) -> str:
    value = predicate.value
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return _number(value)
    if predicate.kind is CATEGORY:
        return _text(value)
    point = predicate.kind.point(value)
    if isinstance(point, timedelta):
        return f'duration("{_duration(point)}")'
    return f'date and time("{point.isoformat()}")'


def _duration(point: timedelta) -> str:
    sign, point = ("-", -point) if point < timedelta(0) else ("", point)
    hours, rest = divmod(point.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    part = f"{seconds}.{point.microseconds:06}" if point.microseconds else str(seconds)
    return f"{sign}P{point.days}DT{hours}H{minutes}M{part}S"


def _cell(literals: Sequence[Literal], rules: RuleSet) -> str:
    """Return the conditions of a rule on one column in FEEL."""
    if not literals:
        return "-"
    if len(literals) == 1:
        return _test(literals[0], rules)
    return " and ".join(_term(literal, rules) for literal in literals)


def _test(literal: Literal, rules: RuleSet) -> str:
    meant = rules.predicate(literal.concept)
    if meant.operator == "missing":
        return "null" if literal.positive else "not(null)"
    value = _value(meant)
    if meant.operator == "==":
        return value if literal.positive else f"not({value})"
    if literal.positive:
        return f"{meant.operator} {value}"
    return f"{_OPPOSITE[meant.operator]} {value}, null"


def _term(literal: Literal, rules: RuleSet) -> str:
    meant = rules.predicate(literal.concept)
    if meant.operator == "missing":
        return "? = null" if literal.positive else "? != null"
    value = _value(meant)
    if meant.operator == "==":
        return f"? = {value}" if literal.positive else f"not(? = {value})"
    if literal.positive:
        return f"? {meant.operator} {value}"
    return f"(? {_OPPOSITE[meant.operator]} {value} or ? = null)"


_CHARACTERS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _check_characters(text: str) -> None:
    if (found := _CHARACTERS.search(text)) is not None:
        raise LogicLensError(
            f"XML does not have the character {found[0]!r}, which a name or a text of the rules holds."
        )
