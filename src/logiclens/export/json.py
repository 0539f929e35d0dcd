"""Rules as JSON: written in a published form, read back equal, and refused in one sentence where they are not rules."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any, NoReturn, TypeVar

from logiclens.errors import LogicLensError
from logiclens.export.labels import plain_label
from logiclens.export.source import rules_of
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.ruleset import Rule, RuleSet

Made = TypeVar("Made")

KIND = "logiclens rules"
SCHEMA = 1

_FIELDS = (
    "kind", "schema", "classes", "predicates", "exclusive", "implied", "resolve", "otherwise", "multilabel",
)  # fmt: skip


def to_json(rules: Any, *, indent: int | None = 2) -> str:
    """The rules as JSON text, in the form that `rules_schema()` describes; `from_json` reads them back equal.

    >>> from logiclens.formula import parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), {"old": Predicate("age", ">=", 60.0)})
    >>> from_json(to_json(rules)) == rules
    True
    """
    return json.dumps(to_dict(rules), indent=indent, ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> RuleSet:
    """The rules that a JSON text holds.

    >>> from_json('{"kind": "recipe"}')
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: the JSON is not a rule set: 'kind' must be 'logiclens rules', got 'recipe'.
    """
    if not isinstance(text, str):
        raise LogicLensError(f"rules are read from JSON text, got {type(text).__name__}.")
    try:
        data = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except LogicLensError:
        raise
    # ValueError covers a syntax error as well as a number with too many digits.
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it nests too deeply"
        raise LogicLensError(f"the text is not JSON that can be read: {reason}. Was the file cut off?") from None
    return from_dict(data)


def rules_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of what `to_json` writes."""
    schema: dict[str, Any] = json.loads(resources.files(__package__).joinpath("ruleset.schema.json").read_text("utf-8"))
    return schema


def to_dict(rules: Any) -> dict[str, Any]:
    """The rules as dictionaries, lists, texts, numbers and Booleans only.

    >>> from logiclens.formula import parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), {"old": Predicate("age", ">=", 60.0)})
    >>> to_dict(rules)["classes"]
    [{'class': 'ill', 'cubes': [{'if': {'old': True, 'smoker': False}, 'confidence': 0.9}]}]
    >>> to_dict(rules)["predicates"]
    {'old': {'column': 'age', 'operator': '>=', 'value': 60.0}}
    """
    rules = rules_of(rules)
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "classes": [_rule_to_dict(rule) for rule in rules.rules],
        "predicates": {
            str(concept): {
                "column": str(predicate.column),
                "operator": str(predicate.operator),
                "value": plain_label(predicate.value),
            }
            for concept, predicate in rules.predicates.items()
        },
        "exclusive": [list(map(str, group)) for group in rules.groups.exclusive],
        "implied": [list(map(str, chain)) for chain in rules.groups.implied],
        "resolve": rules.resolve,
        "otherwise": None if rules.otherwise is None else int(rules.otherwise),
        "multilabel": bool(rules.multilabel),
    }


def _rule_to_dict(rule: Rule) -> dict[str, Any]:
    if not all(math.isfinite(confidence) for confidence in rule.confidence):
        raise LogicLensError(f"the rule of {rule.label!r} has a confidence that is not finite, which JSON cannot say.")
    return {
        "class": plain_label(rule.label),
        "cubes": [
            {"if": {str(lit.concept): bool(lit.positive) for lit in cube}, "confidence": float(confidence)}
            for cube, confidence in zip(rule.formula, rule.confidence, strict=True)
        ],
    }


def from_dict(data: Any) -> RuleSet:
    """The rules that `to_dict` wrote; anything else is refused in one sentence that says where it went wrong."""
    if not isinstance(data, Mapping):
        _refuse(f"expected an object, got {_shown(data)}.")
    # First what it is and of which version: only then do its fields mean anything.
    if data.get("kind") != KIND:
        _refuse(f"'kind' must be {KIND!r}, got {_shown(data.get('kind'))}.")
    if type(data.get("schema")) is not int or data["schema"] != SCHEMA:
        _refuse(
            f"this version reads schema {SCHEMA}, got {_shown(data.get('schema'))}; update logiclens to read newer."
        )
    _check_fields(data, _FIELDS, "the top level")
    classes = _list(data["classes"], "'classes'")
    groups: dict[str, list[list[str]]] = {}
    for kind in ("exclusive", "implied"):
        groups[kind] = [
            [_string(name, f"'{kind}'") for name in _list(group, f"'{kind}'")]
            for group in _list(data[kind], f"'{kind}'")
        ]
    otherwise = data["otherwise"]
    if otherwise is not None and type(otherwise) is not int:
        _refuse(f"'otherwise' must be the place of a class or null, got {_shown(otherwise)}.")
    if data["resolve"] not in ("confidence", "none"):
        _refuse(f"'resolve' must be 'confidence' or 'none', got {_shown(data['resolve'])}.")
    if not isinstance(data["multilabel"], bool):
        _refuse(f"'multilabel' must be true or false, got {_shown(data['multilabel'])}.")
    return _made(
        RuleSet,
        rules=tuple(_rule(entry, f"class number {place}") for place, entry in enumerate(classes)),
        predicates=_predicates(data["predicates"]),
        groups=Groups(**groups),
        resolve=data["resolve"],
        otherwise=otherwise,
        multilabel=data["multilabel"],
    )


def _rule(entry: Any, where: str) -> Rule:
    _check_fields(entry, ("class", "cubes"), where)
    label = entry["class"]
    if not isinstance(label, str | bool | int | float) or (isinstance(label, float) and not math.isfinite(label)):
        _refuse(f"{where} must be a text, a finite number or a Boolean, got {_shown(label)}.")
    cubes, confidence = [], []
    for entry_of_cube in _list(entry["cubes"], f"'cubes' of {where}"):
        _check_fields(entry_of_cube, ("if", "confidence"), f"a cube of {where}")
        literals = entry_of_cube["if"]
        if not isinstance(literals, Mapping) or not all(type(positive) is bool for positive in literals.values()):
            _refuse(f"'if' of {where} must give true or false for each concept, got {_shown(literals)}.")
        signs = [(_string(concept, where), positive) for concept, positive in literals.items()]
        cubes.append(Cube(_made(Literal, concept, positive) for concept, positive in signs))
        confidence.append(_number(entry_of_cube["confidence"], f"'confidence' of {where}"))
    if len(set(cubes)) < len(cubes):
        _refuse(f"{where} has the same cube twice.")
    return Rule(label, DNF(cubes), tuple(confidence))


def _predicates(entries: Any) -> dict[str, Predicate]:
    if not isinstance(entries, Mapping):
        _refuse(f"'predicates' must be an object, got {_shown(entries)}.")
    predicates = {}
    for concept, entry in entries.items():
        where = f"the predicate {_shown(concept)}"
        _check_fields(entry, ("column", "operator", "value"), where)
        operator = _string(entry["operator"], f"'operator' of {where}")
        predicates[_string(concept, where)] = _made(Predicate, entry["column"], operator, entry["value"])
    return predicates


def _made(kind: Callable[..., Made], *values: Any, **named: Any) -> Made:
    """A value of ours; what it refuses, such as an unknown operator, is refused as JSON."""
    try:
        return kind(*values, **named)
    except LogicLensError as error:
        _refuse(str(error))


def _check_fields(entry: Any, fields: Iterable[str], where: str) -> None:
    """Exactly these fields: a field that is not known is a slip or from another version."""
    if not isinstance(entry, Mapping):
        _refuse(f"{where} must be an object, got {_shown(entry)}.")
    for field in fields:
        if field not in entry:
            _refuse(f"{where} lacks {field!r}.")
    for field in entry:
        if field not in fields:
            _refuse(f"{where} has an unknown field {_shown(field)}.")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        _refuse(f"{where} must be a list, got {_shown(value)}.")
    return list(value)


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        _refuse(f"{where} needs a text, got {_shown(value)}.")
    return value


def _number(value: Any, where: str) -> float:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    _refuse(f"{where} must be a finite number, got {_shown(value)}.")


def _shown(value: Any) -> str:
    """A value, cut to what fits into a sentence."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse(reason: str) -> NoReturn:
    raise LogicLensError(f"the JSON is not a rule set: {reason}")


def _refuse_constant(name: str) -> NoReturn:
    raise LogicLensError(f"the text is not JSON that can be read: {name} is not a number of JSON.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise LogicLensError(f"the text is not JSON that can be read: the key {_shown(twice)} is there twice.")
    return data
