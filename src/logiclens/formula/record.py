"""Rules as dictionaries and lists, the form in which JSON files hold them; checked when they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from logiclens.codec import from_plain, to_plain
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.condition import COLUMN_KINDS
from logiclens.formula.date_parts import DatePart
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.english import NO_FACTS, TableFacts
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate, plain_label
from logiclens.formula.rules import CutRange, DecisionRules, Edit, FoundAgain, Rule

Made = TypeVar("Made")
Rules = TypeVar("Rules", bound=DecisionRules)

KIND = "logiclens rules"
SCHEMA = 2
_FIELDS = (
    "kind", "schema", "classes", "predicates", "exclusive", "implied", "resolve", "otherwise", "multilabel", "order",
)  # fmt: skip
MARKS = ("edited", "pinned")
"""What a person did to a cube: written as true, or not at all."""
_RESOLVE = ("order", "confidence", "none")


def to_dict(rules: DecisionRules) -> dict[str, Any]:
    """Return the rules as dictionaries, lists, texts, numbers and Booleans.

    >>> from logiclens.formula import RuleSet, parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), {"old": Predicate("age", ">=", 60.0)})
    >>> to_dict(rules)["classes"]
    [{'class': 'ill', 'cubes': [{'if': {'old': True, 'smoker': False}, 'confidence': 0.9}]}]
    >>> to_dict(rules)["predicates"]
    {'old': {'column': 'age', 'operator': '>=', 'value': 60.0}}

    The recurrence of cubes is written if it is known:

    >>> again = {parse("old").cubes[0]: FoundAgain(7)}
    >>> to_dict(RuleSet((Rule("ill", parse("old"), (0.9,), again, bags=10),)))["classes"]
    [{'class': 'ill', 'cubes': [{'if': {'old': True}, 'confidence': 0.9, 'recurs': 7}], 'bags': 10}]

    A complement is written as a reference to the place of the other class:

    >>> ill = parse("old")
    >>> rules = RuleSet((Rule("ill", ill, (0.9,)), Rule("well", Complement(ill), (0.8,))), otherwise=1)
    >>> to_dict(rules)["classes"][1]
    {'class': 'well', 'complement_of': 0, 'confidence': 0.8}
    """
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "classes": [_rule_to_dict(rule, place) for place, rule in enumerate(rules.rules)],
        "predicates": {str(concept): predicate_to_dict(predicate) for concept, predicate in rules.predicates.items()},
        "exclusive": [list(map(str, group)) for group in rules.groups.exclusive],
        "implied": [list(map(str, chain)) for chain in rules.groups.implied],
        "resolve": rules.resolve,
        "otherwise": None if rules.otherwise is None else int(rules.otherwise),
        "multilabel": bool(rules.multilabel),
        "order": [int(place) for place in rules.order],
        **_facts_to_dict(rules.facts),
        **({"history": to_plain(rules.history)} if rules.history else {}),
    }


def _facts_to_dict(facts: TableFacts) -> dict[str, Any]:
    """Return what is known of the table under its own field; nothing where nothing is known."""
    if facts == NO_FACTS:
        return {}
    kinds = {"kinds": {str(name): str(kind) for name, kind in facts.kinds.items()}} if facts.kinds else {}
    known = {str(name): list(values) for name, values in facts.categories.items()}
    categories = {"categories": known} if known else {}
    table = {"target": facts.target, "whole": list(facts.whole), "complete": list(facts.complete)}
    return {"table": {**table, **kinds, **categories}}


def predicate_to_dict(predicate: Predicate) -> dict[str, Any]:
    """Return a predicate as a dictionary; its origin only where it has one."""
    origin = predicate.origin
    from_dates = {} if origin is None else {"origin": {"part": origin.kind, "columns": list(origin.columns)}}
    return {
        "column": str(predicate.column),
        "operator": str(predicate.operator),
        "value": plain_label(predicate.value),
        **from_dates,
    }


def predicate_from_dict(entry: Any, where: str = "a predicate") -> Predicate:
    """Return the predicate of what `predicate_to_dict` wrote; its own checks refuse what does not fit."""
    has_origin = isinstance(entry, Mapping) and "origin" in entry
    _check_fields(entry, ("column", "operator", "value", *(("origin",) if has_origin else ())), where)
    operator = _string(entry["operator"], f"'operator' of {where}")
    origin = None
    if has_origin:
        _check_fields(entry["origin"], ("part", "columns"), f"'origin' of {where}")
        columns = tuple(_list(entry["origin"]["columns"], f"'columns' of {where}"))
        origin = _made(DatePart, entry["origin"]["part"], columns)
    return _made(Predicate, entry["column"], operator, entry["value"], origin)


def _rule_to_dict(rule: Rule, place: int) -> dict[str, Any]:
    if not all(0 <= confidence <= 1 for confidence in rule.confidence):
        raise LogicLensError(f"the rule of {quoted(rule.label)} has a confidence that is not a number from 0 to 1.")
    label = plain_label(rule.label)
    if rule.is_complement:
        # With two classes, the other one has the formula.
        return {"class": label, "complement_of": 1 - place, "confidence": float(rule.confidence[0])}
    cubes = [
        {
            "if": {str(lit.concept): bool(lit.positive) for lit in cube},
            "confidence": float(confidence),
            **(_again_to_dict(rule.recurs[cube]) if cube in rule.recurs else {}),
            **{mark: True for mark in MARKS if cube in getattr(rule, mark)},
            **({"reason": rule.reasons[cube]} if cube in rule.reasons else {}),
        }
        for cube, confidence in zip(rule.cubes, rule.confidence, strict=True)
    ]
    return {"class": label, "cubes": cubes, **({"bags": int(rule.bags)} if rule.is_counted else {})}


def _again_to_dict(again: FoundAgain) -> dict[str, Any]:
    cuts = [{"column": cut.column, "low": plain_label(cut.low), "high": plain_label(cut.high)} for cut in again.cuts]
    return {"recurs": int(again.count), **({"cuts": cuts} if cuts else {})}


def from_dict(data: Any, kind: type[Rules]) -> Rules:
    """Make rules of what `to_dict` wrote: a `RuleSet`, or another `kind` of rules.

    Raises `LogicLensError` with one sentence that says where the data is not a rule set.
    """
    if not isinstance(data, Mapping):
        _refuse(f"expected an object, got {quoted(data)}.")
    # Kind and schema first: they say what the other fields mean.
    if data.get("kind") != KIND:
        _refuse(f"'kind' must be {quoted(KIND)}, got {quoted(data.get('kind'))}.")
    schema = data.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        _refuse(f"this version reads schema {SCHEMA}, got {quoted(schema)}.")
    # Rules that were written by hand do not know the table.
    table, history = data.get("table"), data.get("history")
    optional = [name for name, value in (("table", table), ("history", history)) if value is not None]
    _check_fields(data, (*_FIELDS, *optional), "the top level")
    classes = _list(data["classes"], "'classes'")
    groups: dict[str, list[list[str]]] = {}
    for field in ("exclusive", "implied"):
        groups[field] = [
            [_string(name, f"'{field}'") for name in _list(group, f"'{field}'")]
            for group in _list(data[field], f"'{field}'")
        ]
    otherwise = data["otherwise"]
    if otherwise is not None and type(otherwise) is not int:
        _refuse(f"'otherwise' must be the place of a class or null, got {quoted(otherwise)}.")
    if data["resolve"] not in _RESOLVE:
        *most, last = map(repr, _RESOLVE)
        _refuse(f"'resolve' must be {', '.join(most)} or {last}, got {quoted(data['resolve'])}.")
    order = _list(data["order"], "'order'")
    if not all(type(place) is int for place in order):
        _refuse(f"'order' must list places of classes, got {quoted(order)}.")
    if not isinstance(data["multilabel"], bool):
        _refuse(f"'multilabel' must be true or false, got {quoted(data['multilabel'])}.")
    return _made(
        kind,
        rules=_rules(classes),
        predicates=_predicates(data["predicates"]),
        groups=Groups(**groups),
        resolve=data["resolve"],
        otherwise=otherwise,
        multilabel=data["multilabel"],
        order=tuple(order),
        facts=NO_FACTS if table is None else _facts(table),
        history=() if history is None else _history(history),
    )


def _history(entries: Any) -> tuple[Edit, ...]:
    listed = _list(entries, "'history'")
    return tuple(_made(from_plain, Edit, entry, f"edit {number}") for number, entry in enumerate(listed, 1))


def _facts(entry: Any) -> TableFacts:
    kinds = entry.get("kinds") if isinstance(entry, Mapping) and "kinds" in entry else None
    has_categories = isinstance(entry, Mapping) and "categories" in entry
    more = [*["kinds"] * (kinds is not None), *["categories"] * has_categories]
    _check_fields(entry, ("target", "whole", "complete", *more), "'table'")
    target = entry["target"]
    if target is not None and not isinstance(target, str):
        _refuse(f"'target' of 'table' must be a text or null, got {quoted(target)}.")
    whole, complete = (
        tuple(_string(name, f"{field!r} of 'table'") for name in _list(entry[field], f"{field!r} of 'table'"))
        for field in ("whole", "complete")
    )
    if kinds is not None and not isinstance(kinds, Mapping):
        _refuse(f"'kinds' of 'table' must be an object, got {quoted(kinds)}.")
    for column, kind in (kinds or {}).items():
        if kind not in COLUMN_KINDS:
            _refuse(f"'kinds' of 'table' says {quoted(kind)} of {quoted(column)}, which is no kind of a column.")
    categories = _categories(entry["categories"]) if has_categories else {}
    return TableFacts(target, whole, complete, dict(kinds or {}), categories)


def _categories(entry: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(entry, Mapping):
        _refuse(f"'categories' of 'table' must be an object, got {quoted(entry)}.")
    for column, values in entry.items():
        is_list = isinstance(values, list) and all(isinstance(value, str) for value in values)
        if not is_list or len(set(values)) < len(values) or not values:
            _refuse(
                f"'categories' of 'table' must give {quoted(column)} a list of different texts, got {quoted(values)}."
            )
    return {str(column): tuple(values) for column, values in entry.items()}


def _rules(entries: list[Any]) -> tuple[Rule, ...]:
    """Read the rule of each class; complements last, because they refer to other formulas."""
    complements = {
        place for place, entry in enumerate(entries) if isinstance(entry, Mapping) and "complement_of" in entry
    }
    made = {
        place: _rule(entry, f"class number {place}") for place, entry in enumerate(entries) if place not in complements
    }
    for place in complements:
        made[place] = _complement(entries[place], f"class number {place}", made)
    return tuple(made[place] for place in range(len(entries)))


def _complement(entry: Any, where: str, formulas: Mapping[int, Rule]) -> Rule:
    _check_fields(entry, ("class", "complement_of", "confidence"), where)
    other = entry["complement_of"]
    formula = formulas[other].formula if type(other) is int and other in formulas else None
    if not isinstance(formula, DNF):
        _refuse(f"'complement_of' of {where} must be the place of a class with cubes, got {quoted(other)}.")
    confidence = _share(entry["confidence"], f"'confidence' of {where}")
    return Rule(_label(entry["class"], where), Complement(formula), (confidence,))


def _label(label: Any, where: str) -> Any:
    if not isinstance(label, str | bool | int | float) or (isinstance(label, float) and not math.isfinite(label)):
        _refuse(f"{where} must be a text, a finite number or a Boolean, got {quoted(label)}.")
    return label


def _rule(entry: Any, where: str) -> Rule:
    has_counts = isinstance(entry, Mapping) and "bags" in entry
    _check_fields(entry, ("class", "cubes", *(("bags",) if has_counts else ())), where)
    label, bags = _label(entry["class"], where), 0
    if has_counts:
        bags = _whole(entry["bags"], f"'bags' of {where}", least=1)
    cubes, confidence, recurs, reasons = [], [], {}, {}
    marked: dict[str, set[Cube]] = {mark: set() for mark in MARKS}
    for entry_of_cube in _list(entry["cubes"], f"'cubes' of {where}"):
        # A cube that was edited by hand has no count.
        known = entry_of_cube if isinstance(entry_of_cube, Mapping) else {}
        is_counted, is_explained = has_counts and "recurs" in known, "reason" in known
        is_cut = is_counted and "cuts" in known
        marks = [mark for mark in MARKS if mark in known]
        fields = ("if", "confidence", *["recurs"] * is_counted, *["cuts"] * is_cut, *marks, *["reason"] * is_explained)
        _check_fields(entry_of_cube, fields, f"a cube of {where}")
        literals = entry_of_cube["if"]
        if not isinstance(literals, Mapping) or not all(type(positive) is bool for positive in literals.values()):
            _refuse(f"'if' of {where} must give true or false for each concept, got {quoted(literals)}.")
        signs = [(_string(concept, where), positive) for concept, positive in literals.items()]
        cubes.append(Cube(_made(Literal, concept, positive) for concept, positive in signs))
        confidence.append(_share(entry_of_cube["confidence"], f"'confidence' of {where}"))
        if is_counted:
            cuts = _cuts(entry_of_cube["cuts"], where) if is_cut else ()
            recurs[cubes[-1]] = FoundAgain(_whole(entry_of_cube["recurs"], f"'recurs' of {where}"), cuts)
        for mark in marks:
            if entry_of_cube[mark] is not True:
                _refuse(f"{quoted(mark)} of {where} must be true, got {quoted(entry_of_cube[mark])}.")
            marked[mark].add(cubes[-1])
        if is_explained:
            reasons[cubes[-1]] = _string(known["reason"], f"'reason' of {where}")
    if len(set(cubes)) < len(cubes):
        _refuse(f"{where} has the same cube twice.")
    edited, pinned = (frozenset(marked[mark]) for mark in MARKS)
    return _made(Rule, label, DNF(cubes), tuple(confidence), recurs, bags, edited, pinned, reasons)


def _cuts(entries: Any, where: str) -> tuple[CutRange, ...]:
    made = []
    for entry in _list(entries, f"'cuts' of {where}"):
        _check_fields(entry, ("column", "low", "high"), f"'cuts' of {where}")
        made.append(_made(CutRange, _string(entry["column"], f"'cuts' of {where}"), entry["low"], entry["high"]))
    return tuple(made)


def _predicates(entries: Any) -> dict[str, Predicate]:
    if not isinstance(entries, Mapping):
        _refuse(f"'predicates' must be an object, got {quoted(entries)}.")
    predicates = {}
    for concept, entry in entries.items():
        where = f"the predicate {quoted(concept)}"
        predicates[_string(concept, where)] = predicate_from_dict(entry, where)
    return predicates


def _made(kind: Callable[..., Made], *values: Any, **named: Any) -> Made:
    """Make a value; report what it refuses, such as an unknown operator, as an error in the JSON."""
    try:
        return kind(*values, **named)
    except LogicLensError as error:
        _refuse(str(error))


def _check_fields(entry: Any, fields: Iterable[str], where: str) -> None:
    """Check that an entry has exactly these fields: an unknown one is a typing error or from another version."""
    if not isinstance(entry, Mapping):
        _refuse(f"{where} must be an object, got {quoted(entry)}.")
    for field in fields:
        if field not in entry:
            _refuse(f"{where} lacks {quoted(field)}.")
    for field in entry:
        if field not in fields:
            _refuse(f"{where} has an unknown field {quoted(field)}.")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        _refuse(f"{where} must be a list, got {quoted(value)}.")
    return list(value)


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        _refuse(f"{where} needs a text, got {quoted(value)}.")
    return value


def _share(value: Any, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    _refuse(f"{where} must be a number from 0 to 1, got {quoted(value)}.")


def _whole(value: Any, where: str, least: int = 0) -> int:
    if type(value) is not int or value < least:
        _refuse(f"{where} must be a whole number, {least} or more, got {quoted(value)}.")
    return value


def _refuse(reason: str) -> NoReturn:
    raise LogicLensError(f"the JSON is not a rule set: {reason}")
