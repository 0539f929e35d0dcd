"""Rules as English sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from logiclens.export.registry import rules_of
from logiclens.formula.dnf import Cube
from logiclens.formula.english import category_unions, gap_words, union_words
from logiclens.formula.rule_set import RuleSet
from logiclens.words import for_reading


@for_reading
def to_english(rules: Any) -> str:
    """Return one sentence per class, how the classes are decided, and how often each rule recurs where that is known.

    Control characters of names and labels are escaped.

    Args:
        rules: a rule set, an explanation, or an exact model.

    >>> from logiclens.formula import Predicate, Rule, parse
    >>> old = {"old": Predicate("age", ">=", 60)}
    >>> print(to_english(RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),), old, resolve="order")))
    A row is ill if age is at least 60 and smoker is not true.
    Where none applies, nothing is decided.
    A missing value satisfies "is not" only.
    """
    rules = rules_of(rules)
    return "\n".join(
        [*rules.sentences, *_who_decides(rules), *gap_words(rules.formulas, rules.predicates), *_recurrences(rules)]
    )


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
        otherwise = _otherwise(rules)
        stated = [rules.names[place] for place in rules.order if rules.rules[place].cubes]
        first = f"The first that applies decides, in this order: {', '.join(stated)}. " if len(stated) > 1 else ""
        return f"{first}Where none applies, {otherwise}."
    # Cubes of one class that follow each other may be asked in any order, so those that are one rule are told as one.
    order = "; ".join(
        f"{rules.class_heading(rules.names[place])} if {_condition(union, rules)}"
        for place, run in groupby(rules.decisions, key=lambda line: line.rule)
        for union in category_unions([line.cube for line in run], rules.predicates)
    )
    otherwise = _otherwise(rules)
    if not order:
        return f"As none ever applies, {otherwise}."
    return f"Where several apply, the first of these decides: {order}. Where none does, {otherwise}."


def _recurrences(rules: RuleSet) -> list[str]:
    """Return one sentence per rule with its recurrence, where that is known."""
    return [
        f"{rules.class_heading(rule.name)} if {_condition(union, rules)}: {words}."
        for rule in rules.rules
        for union in category_unions(rule.cubes, rules.predicates)
        if (words := rule.recurrence_of(union))
    ]


def _condition(union: Sequence[Cube], rules: RuleSet) -> str:
    return union_words(union, rules.predicates, rules.facts) if len(union[0]) else "anything holds"


def _otherwise(rules: RuleSet) -> str:
    if rules.otherwise is None:
        return "nothing is decided"
    name = rules.names[rules.otherwise]
    return f"a row is {name}" if rules.facts.target is None else rules.class_words(name)
