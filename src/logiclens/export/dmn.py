"""Rules as a decision table of DMN 1.3 (OMG): one row per rule, one column per column of the table, cells in FEEL.

The hit policy is that of the rules: FIRST where the first rule that applies decides, ANY where rules of several classes
decide nothing, COLLECT where a row can have several labels. XML is read without entities and document types.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from xml.parsers import expat

from logiclens.errors import LogicLensError, quoted, quoted_names
from logiclens.export.registry import rules_of
from logiclens.export.round_trip import Line, Measure, changed, comment_of, written_rule
from logiclens.formula import edits
from logiclens.formula.column_kinds import CATEGORY, KINDS, NUMBER, TRUTH_VALUE, Scalar
from logiclens.formula.condition import (
    CONCEPT,
    Condition,
    Subject,
    check_value,
    known_subject,
    named,
)
from logiclens.formula.date_parts import DatePart
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.edits import NO_NOTE, Note
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet, who_decides
from logiclens.formula.rules import THRESHOLD
from logiclens.storage import checked_path

NAMESPACE = "https://www.omg.org/spec/DMN/20191111/MODEL/"
TYPES = {
    "number": "number", "boolean": "boolean", "text": "string", "date": "date and time",
    "timedelta": "days and time duration",
}  # fmt: skip
"""The FEEL type of each kind of column."""
OTHERWISE = "otherwise"
"""What stands for the name of a rule beside the answer where no rule fires."""
MOST_BYTES = 64 * 2**20
"""The most bytes of a file that is read."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = {"and", "or", "not", "if", "then", "else", "for", "in", "return", "some", "every", "satisfies", "null", "true",
          "false", "function", "between", "instance", "of", "external", "date", "time", "duration"}  # fmt: skip
_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


# Writing -------------------------------------------------------------------------------------------------------------


def to_dmn(rules: Any) -> str:
    """Return the rules as a decision table of DMN 1.3; `from_dmn` reads what people changed in it.

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
        # Within a class any order decides alike, and its own comes back unchanged.
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
    """Return the conditions of a rule on one column in FEEL; `_conditions` reads them back."""
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


# Reading -------------------------------------------------------------------------------------------------------------


def from_dmn(
    source: bytes | str,
    rules: Any,
    *,
    note: Note = NO_NOTE,
    name: str = "the DMN file",
    measure: Measure | None = None,
) -> RuleSet:
    """Return the rules of a decision table that `to_dmn` wrote and people changed; each change is told in the history.

    Args:
        source: the XML, as text or as bytes.
        rules: the rules that were written to it.
        note: by whom and when it was edited. Default: unknown.
        name: what messages call the file. Default: `"the DMN file"`.
        measure: a function that measures rules, called after each edit. Default: None, not measured.

    Raises:
        LogicLensError: with the row and the column of the cell, if it cannot be read.

    >>> from logiclens.formula import Rule, parse
    >>> rules = RuleSet((Rule("ill", parse("old & sepsis"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 60.0)}, resolve="order", otherwise=1)
    >>> from_dmn(to_dmn(rules), rules) == rules
    True
    """
    known = rules_of(rules)
    root = read_xml(source, name)
    space = root.tag.partition("}")[0].strip("{") if root.tag.startswith("{") else ""
    if root.tag.rpartition("}")[2] != "definitions" or "/DMN/" not in space:
        raise LogicLensError(f"{name} is not a DMN file: its first element is {quoted(root.tag)}.")
    tables = root.findall(f".//{{{space}}}decisionTable")
    if len(tables) != 1:
        raise LogicLensError(f"{name} must hold one decision table, got {len(tables)}.")
    lines = _lines(tables[0], space, known, name)
    known = _in_row_order(known, lines, note)
    return changed(known, lines, note, measure=measure, keep_order=known.resolve != "order")


def _in_row_order(rules: RuleSet, lines: Sequence[Line], note: Note) -> RuleSet:
    """Return rules whose classes decide in the order of the rows; refuse an order that classes cannot have."""
    if policy_of(rules) != "FIRST":
        return rules
    blocks = [place for place, _ in groupby(line.label for line in lines)]
    for place, rule in enumerate(rules.rules):
        if not rule.is_complement:
            continue
        if place in blocks and blocks not in ([place], [place, 1 - place]):
            raise LogicLensError(
                f"a rule of {quoted(rule.name)}, which is all the rest, decides first: it must stand above those of "
                f"{quoted(rules.names[1 - place])}."
            )
        return rules
    if rules.resolve == "confidence":
        trusted = {(line.rule, line.cube): at for at, line in enumerate(rules.decisions)}
        places = [(trusted[line.label, line.cube], line) for line in lines if (line.label, line.cube) in trusted]
        for (before, _), (after, line) in pairwise(places):
            if after < before:
                raise LogicLensError(
                    f"{line.where} can be trusted more than the one above it, and so decides first: leave the rules in "
                    "their order."
                )
        return rules
    if len(set(blocks)) < len(blocks):
        again = next(place for at, place in enumerate(blocks) if place in blocks[:at])
        raise LogicLensError(
            f"the rules of {quoted(rules.names[again])} stand in several places: classes decide in an order, so the "
            "rules of each must stand together."
        )
    order = [*blocks, *(place for place in rules.order if place not in blocks)]
    if order == list(rules.order) or len(blocks) < 2 or [place for place in rules.order if place in blocks] == blocks:
        return rules
    return edits.reorder(rules, [rules.rules[place].label for place in order], Note(None, note.who, note.when))


def _lines(table: ET.Element, space: str, rules: RuleSet, name: str) -> list[Line]:
    policy = policy_of(rules)
    if table.get("hitPolicy", "UNIQUE") != policy:
        found = quoted(table.get("hitPolicy", "UNIQUE"))
        raise LogicLensError(f"the hit policy of {name} must be {policy}, as the rules decide, got {found}.")
    inputs = [
        column.get("label") or _inner(column.find(f"{{{space}}}inputExpression"), space)
        for column in table.findall(f"{{{space}}}input")
    ]
    titles = [entry.get("name") for entry in table.findall(f"{{{space}}}annotation")]
    known = [_known_subject(title, rules, name) for title in inputs]
    _check_expressions(table, space, inputs, known, rules, name)
    _check_default(table, space, rules, name)
    lines: list[Line] = []
    entries = table.findall(f"{{{space}}}rule")
    for number, entry in enumerate(entries, 1):
        where = f"rule {number} of {name}"
        given = entry.findall(f"{{{space}}}inputEntry")
        places = [f"{where}, column {quoted(title)}" for title in inputs]
        cells = [_one_text(cell, space, at) for cell, at in zip(given, places, strict=False)]
        answers = [_one_text(cell, space, f"{where}, its answer") for cell in entry.findall(f"{{{space}}}outputEntry")]
        notes = [_raw(cell, space) for cell in entry.findall(f"{{{space}}}annotationEntry")]
        if len(given) != len(inputs) or len(answers) != 1:
            raise LogicLensError(f"{where} must have {len(inputs)} input entries and one output entry.")
        conditions: list[Condition] = []
        for title, subject, cell in zip(inputs, known, cells, strict=True):
            try:
                conditions += _conditions(cell, subject, rules)
            except LogicLensError as error:
                raise LogicLensError(f"{where}, column {quoted(title)}: {error}") from None
        place = _class(answers[0], rules, where)
        if (
            not conditions
            and number == len(entries)
            and place == rules.otherwise
            and not rules.multilabel
            and policy == "FIRST"
        ):
            continue
        told = dict(zip(titles, notes, strict=False))
        try:
            named_ = told.get("rule") or ""
            rule = None if named_.strip() == OTHERWISE else written_rule(named_, rules, lines)
        except LogicLensError as error:
            raise LogicLensError(f"{where}, annotation 'rule': {error}") from None
        comment = (told.get("comment") or "").strip() or None
        lines.append(Line(place, tuple(dict.fromkeys(conditions)), where, comment, written=rule))
    return lines


def _check_expressions(
    table: ET.Element, space: str, inputs: Sequence[str], known: Sequence[Subject | None], rules: RuleSet, name: str
) -> None:
    """Refuse an input that asks for something else than its label says."""
    names = _variables(rules.columns)
    for column, title, subject in zip(table.findall(f"{{{space}}}input"), inputs, known, strict=True):
        found = _inner(column.find(f"{{{space}}}inputExpression"), space)
        if subject is None or not column.get("label"):
            continue
        wanted = {_expression(subject, names)}
        if subject.column not in names:
            # A column that the rules do not use has a name of its own.
            wanted = {_expression(subject, _variables([*rules.columns, *_columns_of(subject)])), subject.column}
        if found not in wanted:
            raise LogicLensError(
                f"the input {quoted(title)} of {name} has the expression {quoted(found)}, and its label means "
                f"{quoted(min(wanted))}: change label and expression together."
            )


def _check_default(table: ET.Element, space: str, rules: RuleSet, name: str) -> None:
    """Refuse an answer where no rule applies (`defaultOutputEntry`) that the rules do not give there."""
    place = rules.otherwise if policy_of(rules) == "FIRST" else None
    for entry in table.findall(f"{{{space}}}output/{{{space}}}defaultOutputEntry"):
        where = f"the default output entry of {name}"
        if (text := _inner(entry, space)) and _class(text, rules, where) != place:
            gives = "nothing" if place is None else quoted(rules.names[place])
            raise LogicLensError(
                f"{where} is {quoted(text)}, and where no rule applies these rules answer {gives}: change the rules "
                "instead, or remove the entry."
            )


def _columns_of(subject: Subject) -> tuple[str, ...]:
    return (subject.column,) if subject.origin is None else subject.origin.columns


def _one_text(element: ET.Element, space: str, where: str) -> str:
    """Return the text of a cell; refuse a cell without one, and with several."""
    texts = element.findall(f"{{{space}}}text")
    if len(texts) != 1:
        raise LogicLensError(f"{where}: a cell has one text, got {len(texts)}.")
    if not (found := (texts[0].text or "").strip()):
        raise LogicLensError(f"{where}: the cell is empty; - stands for no condition.")
    return found


def _raw(element: ET.Element | None, space: str) -> str:
    text = None if element is None else element.find(f"{{{space}}}text")
    return "" if text is None else text.text or ""


def _inner(element: ET.Element | None, space: str) -> str:
    return _raw(element, space).strip()


def _known_subject(title: str, rules: RuleSet, name: str) -> Subject | None:
    found = known_subject(title, rules)
    if found is None and title == "any":
        # What stands for no column, where rules have no conditions.
        return None
    if found is None:
        raise LogicLensError(f"an input of {name} is {quoted(title)}, which is no column of the rules.")
    return found


def _class(text: str, rules: RuleSet, where: str) -> int:
    for place, rule in enumerate(rules.rules):
        if text in (_label(rule.label), _text(rule.name)):
            return place
    raise LogicLensError(f"{where} must answer a class, {quoted_names(rules.names)}, got {quoted(text)}.")


_STRING = r'"(?:[^"\\]|\\.)*"'
_LITERAL = (
    rf"(?:date and time\({_STRING}\)|date\({_STRING}\)|duration\({_STRING}\)|{_STRING}"
    r"|[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|true|false)"
)
_TEST = re.compile(rf"(?P<operator>>=|<=|>|<|=|!=)?\s*(?P<value>{_LITERAL})(?P<gap>\s*,\s*null)?")
_NOT = re.compile(rf"not\(\s*(?P<value>null|{_LITERAL})\s*\)")
_RANGE = re.compile(rf"(?P<open>[\[(\]])\s*(?P<low>{_LITERAL})\s*\.\.\s*(?P<high>{_LITERAL})\s*(?P<close>[\])\[])")
_TERM = re.compile(
    rf"\(\s*\?\s*(?P<either>>=|<=|>|<)\s*(?P<bound>{_LITERAL})\s+or\s+\?\s*=\s*null\s*\)"
    rf"|not\(\s*\?\s*=\s*(?P<unlike>{_LITERAL})\s*\)"
    rf"|\?\s*(?P<operator>>=|<=|!=|>|<|=)\s*(?P<value>null|{_LITERAL})"
)


def _conditions(cell: str, subject: Subject | None, rules: RuleSet) -> list[Condition]:
    """Read the cell of a decision table: `-`, a test, an interval, or tests of `?` joined by "and"."""
    if cell in ("-", ""):
        return []
    if subject is None:
        raise LogicLensError(f"these rules have no conditions, got {quoted(cell)}.")
    if cell == "null":
        return [_gap(subject, rules, True)]
    if (found := _NOT.fullmatch(cell)) is not None:
        if found["value"] == "null":
            return [_gap(subject, rules, False)]
        return [_compared(subject, "==", found["value"], rules, positive=False)]
    if (found := _TEST.fullmatch(cell)) is not None:
        operator = found["operator"] or "="
        if found["gap"]:
            if operator not in _OPPOSITE:
                raise _unreadable(cell)
            return [_compared(subject, _OPPOSITE[operator], found["value"], rules, positive=False)]
        return [_plain(subject, operator, found["value"], rules)]
    if (found := _RANGE.fullmatch(cell)) is not None:
        low, high = (">=" if found["open"] == "[" else ">"), ("<=" if found["close"] == "]" else "<")
        return [_plain(subject, low, found["low"], rules), _plain(subject, high, found["high"], rules)]
    conditions, position = [], 0
    while (term := _TERM.match(cell, position)) is not None:
        if term["either"]:
            conditions.append(_compared(subject, _OPPOSITE[term["either"]], term["bound"], rules, positive=False))
        elif term["unlike"]:
            conditions.append(_compared(subject, "==", term["unlike"], rules, positive=False))
        elif term["value"] == "null":
            if term["operator"] not in ("=", "!="):
                raise _unreadable(cell)
            conditions.append(_gap(subject, rules, term["operator"] == "="))
        else:
            conditions.append(_plain(subject, term["operator"], term["value"], rules))
        position = term.end()
        joined = re.compile(r"\s+and\s+").match(cell, position)
        if joined is None:
            break
        position = joined.end()
    if not conditions or position != len(cell):
        raise _unreadable(cell)
    return conditions


def _unreadable(cell: str) -> LogicLensError:
    return LogicLensError(
        "expected one condition such as '>= 70', '< 70, null', '\"MICU\"', 'not(\"MICU\")', '[60..70)', 'null' or "
        f"'-', got {quoted(cell)}; several values are several rules."
    )


def _gap(subject: Subject, rules: RuleSet, positive: bool) -> Condition:
    if subject.origin is not None:
        raise LogicLensError(f"whether {quoted(subject.column)} is missing cannot be asked.")
    return _signed(named(Predicate(subject.column, "missing"), rules), positive)


def _plain(subject: Subject, operator: str, value: str, rules: RuleSet) -> Condition:
    if operator == "!=":
        return _compared(subject, "==", value, rules, positive=False)
    return _compared(subject, "==" if operator == "=" else operator, value, rules, positive=True)


def _compared(subject: Subject, operator: Any, text: str, rules: RuleSet, *, positive: bool) -> Condition:
    """Return a comparison under the name that it has in the rules, or gets."""
    value = _read_value(text)
    if subject.kind == CONCEPT:
        if operator == ">=" and value == THRESHOLD:
            return Condition(Literal(subject.column, positive), None)
        raise LogicLensError(f"{quoted(subject.column)} is true from 0.5 on: write '>= 0.5', or '< 0.5, null'.")
    if operator == "==" and subject.kind in (TRUTH_VALUE.name, "number", "0/1") and not isinstance(value, str):
        if isinstance(value, bool) != (subject.kind == TRUTH_VALUE.name):
            raise LogicLensError(f"{quoted(subject.column)} cannot be compared with {quoted(text)}.")
        equal = Predicate(subject.column, "==", value, subject.origin)
        check_value(equal, rules)
        return _signed(named(equal, rules), positive)
    kind = NUMBER if subject.kind in ("0/1", None) else KINDS[str(subject.kind)]
    fits = isinstance(value, str) if kind.text_form or kind is CATEGORY else not isinstance(value, str | bool)
    if operator not in kind.operators or not fits or (kind.text_form and not kind.is_text_form(str(value))):
        raise LogicLensError(f"{quoted(subject.column)} holds {kind.plural}, got {quoted(f'{operator} {text}')}.")
    meant = Predicate(subject.column, operator, value, subject.origin)
    check_value(meant, rules)
    return _signed(_known(meant, rules), positive)


def _known(predicate: Predicate, rules: RuleSet) -> Condition:
    """Return a predicate of the rules that compares the same point, however its text is written, or a new one."""
    for name, known in rules.predicates.items() if predicate.operator in _OPPOSITE else ():
        same = (known.column, known.operator, known.origin) == (predicate.column, predicate.operator, predicate.origin)
        if (
            same
            and known.kind is predicate.kind
            and known.kind.number(known.value) == predicate.kind.number(predicate.value)
        ):
            return Condition(Literal(name), known)
    return named(predicate, rules)


def _signed(condition: Condition, positive: bool) -> Condition:
    return condition if positive else Condition(condition.literal.negated, condition.predicate)


def _read_value(text: str) -> Scalar:
    if text in ("true", "false"):
        return text == "true"
    inner = re.search(_STRING, text)
    if inner is None:
        try:
            number = float(text)
        except ValueError:
            raise _unreadable(text) from None
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    value = _unescaped(inner[0][1:-1])
    if text.startswith("duration"):
        return _read_duration(value)
    if text.startswith("date"):
        return value.removesuffix("T00:00:00")
    return value


def _unescaped(text: str) -> str:
    letters = {"n": "\n", "r": "\r", "t": "\t"}

    def character(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else letters.get(found[2], found[2])

    made = re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", character, text, flags=re.DOTALL)
    return made.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_duration(text: str) -> str:
    found = re.fullmatch(
        r"(-)?P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,6}))?S)?)?", text, re.ASCII
    )
    if found is None:
        raise LogicLensError(f'a duration such as duration("P2DT6H") is needed, got {quoted(text)}.')
    days, hours, minutes, seconds = (int(found[at] or 0) for at in (2, 3, 4, 5))
    try:
        made = timedelta(days, seconds, int((found[6] or "0").ljust(6, "0")), 0, minutes, hours)
    except OverflowError:
        raise LogicLensError(f"the duration {quoted(text)} is too long.") from None
    return KINDS["timedelta"].shown_cell(-made if found[1] else made)


def read_xml(source: bytes | str | Path, name: str) -> ET.Element:
    """Return the first element of an XML text; refuse document types, and with them entities, and what is too large.

    Args:
        source: the XML.
        name: what messages call it.
    """
    if isinstance(source, str):
        # Half a character is no XML: the parser says where it stands.
        data = source.encode("utf-8", "surrogatepass")
    elif isinstance(source, bytes):
        data = source
    else:
        try:
            data = checked_path(source).read_bytes()
        except OSError as error:
            raise LogicLensError(f"{quoted(str(source))} cannot be read: {error.strerror or error}.") from None
    if len(data) > MOST_BYTES:
        raise LogicLensError(f"{name} has {len(data):,} bytes, and at most {MOST_BYTES:,} are read.")
    refused: list[bool] = []
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")

    def doctype(*_: Any) -> None:
        refused.append(True)
        raise ValueError

    def tag(text: str) -> str:
        return f"{{{text}" if "}" in text else text

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = lambda element, attributes: builder.start(
        tag(element), {tag(key): value for key, value in attributes.items()}
    )
    parser.EndElementHandler = lambda element: builder.end(tag(element))
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, ValueError, AssertionError, LookupError) as error:
        if refused:
            raise LogicLensError(
                f"{name} has a document type declaration, which no decision table needs: remove it."
            ) from None
        raise LogicLensError(f"{name} is not whole XML: {str(error) or 'it ends too early'}.") from None
