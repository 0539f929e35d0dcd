"""What an edit changed, in the words of the page: it compares two versions of the rules."""

from __future__ import annotations

from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.english import cube_words, literal_words
from logiclens.formula.rule_set import RuleSet


def edit_words(old: RuleSet, new: RuleSet, otherwise: str) -> str:
    """Return what tells two versions apart, as the page names rules and words conditions.

    Args:
        old: the version before.
        new: the version after one edit.
        otherwise: what the history of the rules says, for edits that change more than one rule.
    """
    changed = []
    for place, (was, now) in enumerate(zip(old.rules, new.rules, strict=True)):
        lost = [cube for cube in was.cubes if cube not in now.cubes]
        got = [cube for cube in now.cubes if cube not in was.cubes]
        if lost or got:
            changed.append((place, lost, got))
    if not changed:
        return _marks(old, new) or otherwise
    place, lost, got = changed[0]
    if len(changed) > 1 or len(lost) > 1 or len(got) > 1:
        return otherwise
    if not lost:
        return f"{_rule(new, place, got[0])} added: {_words(new, got[0])}"
    if not got:
        # Two rules may become one.
        is_removed = otherwise.startswith("removed ")
        return (
            f"{_rule(old, place, lost[0])} {'removed' if is_removed else 'became another one'}: {_words(old, lost[0])}"
        )
    return f"{_rule(old, place, lost[0])}: {_conditions(old, new, lost[0], got[0])}"


def _marks(old: RuleSet, new: RuleSet) -> str:
    """Say which rule was pinned or unpinned, or which class decides first."""
    for place, (was, now) in enumerate(zip(old.rules, new.rules, strict=True)):
        for cubes, what in ((now.pinned - was.pinned, "pinned"), (was.pinned - now.pinned, "unpinned")):
            for cube in cubes:
                return f"{_rule(new, place, cube)} {what}"
    return f"Order: {new.names[new.order[0]]} decides first" if new.order != old.order else ""


def _conditions(old: RuleSet, new: RuleSet, was: Cube, now: Cube) -> str:
    lost = [_condition(old, literal) for literal in was if literal not in now.literals]
    got = [_condition(new, literal) for literal in now if literal not in was.literals]
    if not got:
        return f"condition removed: {' and '.join(lost)}"
    if not lost:
        return f"condition added: {' and '.join(got)}"
    return f"“{' and '.join(lost)}” became “{' and '.join(got)}”"


def _condition(rules: RuleSet, literal: Literal) -> str:
    return literal_words(literal, rules.predicates, rules.facts)


def _words(rules: RuleSet, cube: Cube) -> str:
    return cube_words(cube, rules.predicates, rules.facts)


def _rule(rules: RuleSet, place: int, cube: Cube) -> str:
    return f"Rule {rules.rules[place].cubes.index(cube) + 1} for {rules.names[place]}"
