"""Rules as JSON text with a published schema. What is written is read back equal; anything else is refused."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from typing import Any, NoReturn

from logiclens.errors import LogicLensError, quoted
from logiclens.export.registry import rules_of
from logiclens.formula import record
from logiclens.formula.column_kinds import TEXT_FORMS
from logiclens.formula.rule_set import RuleSet


def to_json(rules: Any, *, indent: int | None = 2) -> str:
    """Return the rules as JSON text that follows `rules_schema()`; `from_json` reads them back equal.

    Args:
        rules: a rule set, an explanation, or an exact model.
        indent: spaces per level; None writes one line. Default: 2.

    >>> from logiclens.formula import Rule, parse
    >>> from logiclens.formula.predicate import Predicate
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), {"old": Predicate("age", ">=", 60.0)})
    >>> from_json(to_json(rules)) == rules
    True
    """
    return json.dumps(to_dict(rules), indent=indent, ensure_ascii=False, allow_nan=False)


def to_dict(rules: Any) -> dict[str, Any]:
    """Return the rules of a rule set, explanation or exact model as plain dictionaries and lists.

    Args:
        rules: a rule set, an explanation, or an exact model.

    >>> from logiclens.formula import Predicate, Rule, parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), {"old": Predicate("age", ">=", 60.0)})
    >>> to_dict(rules)["kind"]
    'logiclens rules'
    """
    return record.to_dict(rules_of(rules))


def from_dict(data: Any) -> RuleSet:
    """Make rules of what `to_dict` gives; anything else is refused in one sentence that says where it went wrong.

    Args:
        data: dictionaries and lists, as `to_dict` returns them.

    >>> from logiclens.formula import Predicate, Rule, parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), {"old": Predicate("age", ">=", 60.0)})
    >>> from_dict(to_dict(rules)) == rules
    True
    """
    return RuleSet.from_dict(data)


def from_json(text: str) -> RuleSet:
    """Read rules from JSON text; raise `LogicLensError` if the text is not a rule set.

    Args:
        text: the JSON text.

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
    """Return the JSON schema (draft 2020-12) of the text that `to_json` writes.

    >>> rules_schema()["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    schema: dict[str, Any] = json.loads(resources.files(__package__).joinpath("ruleset.schema.json").read_text("utf-8"))
    compared = schema["$defs"]["predicate"]["allOf"][1]["then"]["properties"]["value"]["anyOf"]
    forms = ", or ".join(kind.json_words for kind in TEXT_FORMS)
    schema["$defs"]["predicate"]["properties"]["value"]["description"] = f"A text that is compared by order is {forms}."
    for kind in TEXT_FORMS:
        schema["$defs"][kind.name] = {"type": "string", "pattern": kind.json_form}
        compared.append({"$ref": f"#/$defs/{kind.name}"})
    return schema


def _refuse_constant(name: str) -> NoReturn:
    raise LogicLensError(f"the text is not JSON that can be read: {name} is not a number of JSON.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise LogicLensError(f"the text is not JSON that can be read: the key {quoted(twice)} is there twice.")
    return data
