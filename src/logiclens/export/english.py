"""Rules as English sentences."""

from __future__ import annotations

from typing import Any

from logiclens.export.registry import rules_of
from logiclens.formula.dnf import Cube
from logiclens.formula.english import english, literal_words
from logiclens.formula.rule_set import RuleSet


def to_english(rules: Any) -> str:
    """Return one sentence per class, how the classes are decided, and how often each cube recurs where that is known.

    >>> from logiclens.formula import Predicate, Rule, parse
    >>> old = {"old": Predicate("age", ">=", 60)}
    >>> print(to_english(RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), old, resolve="order")))
    A row is ill if age is at least 60 and smoker is not true.
    Where none applies, nothing is decided.
    """
    rules = rules_of(rules)
    # A complement refers to another class, which is said first.
    stated = sorted(rules.rules, key=lambda rule: rule.is_complement)
    if rules.resolve == "order" and len(rules.order) > 1:
        stated = [rules.rules[place] for place in rules.order]
    sentences = [english(rule.formula, rules.predicates, head=rule.name) for rule in stated]
    return "\n".join([*sentences, *_who_decides(rules), *_recurrences(rules)])


def _who_decides(rules: RuleSet) -> list[str]:
    """Return the sentence that says which class decides."""
    if rules.multilabel:
        return ["Each sentence stands for itself."]
    if any(rule.is_complement for rule in rules.rules):
        return []
    return [_resolution(rules)]


def _resolution(rules: RuleSet) -> str:
    if rules.resolve == "none":
        return "Where not exactly one of these applies, nothing is decided."
    if rules.resolve == "order" and any(rule.cubes for rule in rules.rules):
        otherwise = "nothing is decided" if rules.otherwise is None else f"a row is {rules.names[rules.otherwise]}"
        names = ", ".join(rules.names[place] for place in rules.order)
        first = f"The first that applies decides, in this order: {names}. " if len(rules.order) > 1 else ""
        return f"{first}Where none applies, {otherwise}."
    order = "; ".join(f"{rules.rules[line.rule].name} if {_condition(line.cube, rules)}" for line in rules.decisions)
    otherwise = "nothing is decided" if rules.otherwise is None else f"a row is {rules.names[rules.otherwise]}"
    if not order:
        return f"As none ever applies, {otherwise}."
    return f"Where several apply, the first of these decides: {order}. Where none does, {otherwise}."


def _recurrences(rules: RuleSet) -> list[str]:
    """Return one sentence per cube with its recurrence, where that is known."""
    return [
        f"{rule.name} if {_condition(cube, rules)}: {words}."
        for rule in rules.rules
        for cube, words in zip(rule.cubes, rule.recurrence, strict=True)
        if words
    ]


def _condition(cube: Cube, rules: RuleSet) -> str:
    return " and ".join(literal_words(literal, rules.predicates) for literal in cube) or "anything holds"
