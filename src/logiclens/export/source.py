"""The input of exports: rules, or an object that has rules."""

from __future__ import annotations

from typing import Any

from logiclens.errors import LogicLensError
from logiclens.formula.rule_set import RuleSet


def rules_of(given: Any) -> RuleSet:
    """Return the rules of a rule set, an explanation or an exact model; raise an error for anything else."""
    if isinstance(given, RuleSet):
        return given
    for name in ("rules_", "rules"):
        rules = getattr(given, name, None)
        if isinstance(rules, RuleSet):
            return rules
    raise LogicLensError(
        f"rules are exported from a RuleSet, an explanation or an exact model, got {type(given).__name__}: "
        "pass model.explain() or its rules."
    )
