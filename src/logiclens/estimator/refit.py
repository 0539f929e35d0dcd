"""Refit: the search is repeated on the rows that pinned rules leave, and what it finds joins the pinned rules.

Pinned rules decide some rows already. The networks and the search see the others only, so that new rules are found for
what the pinned ones do not cover, and every pinned rule is in the formula of its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from logiclens.errors import LogicLensError, collected_warnings, quoted
from logiclens.estimator.knowledge import check_kept
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.edits import Note, shown
from logiclens.formula.groups import NO_GROUPS
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.tables.frames import label_array, parted
from logiclens.words import count_with_noun

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier


def refitted(
    model: EntropyClassifier, rows: Any, labels: Any, pinned: RuleSet, note: Note, groups: Any = None
) -> EntropyClassifier:
    """Return an exact model of pinned rules and of what the search finds beside them; see `EntropyClassifier.refit`.

    Args:
        model: the model, whose settings are used again.
        rows: the table.
        labels: the class of each row, or the name of its column.
        pinned: rules of which some are pinned.
        note: why, by whom and when, for the history.
        groups: the group of each row. Default: None.
    """
    if not isinstance(pinned, RuleSet) or not any(rule.pinned for rule in pinned.rules):
        raise LogicLensError("no rule is pinned: pass rules of which some are, such as model.rules_.pin('died#1').")
    if pinned.multilabel or model.quantiles is not None:
        raise LogicLensError("rules are searched again for one label per row, whose classes do not depend on the rows.")
    check_pins(model, pinned)
    rows, labels = parted(rows, labels)
    classes = np.asarray(model._in_classes(label_array(labels)))
    left = np.flatnonzero(~_covered(pinned, rows))
    lacking = [rule.name for rule in pinned.rules if rule.name not in set(map(str, classes[left].tolist()))]
    if lacking:
        raise LogicLensError(
            f"the pinned rules leave no row of {quoted(lacking[0])} to search: adopt(rules) takes them as they are."
        )
    fresh = clone(model).set_params(exact=False, set_aside=0.0, split_by_time=None, method="search", teacher=None)
    with collected_warnings():
        own = None if groups is None else _taken(groups, left)
        found: EntropyClassifier = fresh.fit(_taken(rows, left), _taken(labels, left), groups=own)
    made = around(pinned, found.rules_)
    told = [f"{rule.name}: {shown(cube)}" for rule in pinned.rules for cube in rule.cubes if cube in rule.pinned]
    what = f"searched again around {count_with_noun(len(told), 'pinned rule')}, {'; '.join(told)}"
    made = replace(made, history=(*pinned.history, note.entry(what, pinned.measured)))
    return found.adopt(made.measure(rows, classes).rules)


def check_pins(model: EntropyClassifier, pinned: RuleSet) -> None:
    """Refuse pinned rules that the knowledge of the model forbids, before anything is learned."""
    if model.knowledge is None:
        return
    rules = tuple(
        replace(rule, formula=DNF(cubes), confidence=(0.0,) * len(cubes))
        for rule, cubes in ((rule, [cube for cube in rule.cubes if cube in rule.pinned]) for rule in pinned.rules)
    )
    known = clone(model).set_params(knowledge=model.knowledge.of_each_rule)
    known.schema_ = model.schema_
    check_kept(known, replace(pinned, rules=rules, resolve="order", order=()))


def _covered(pinned: RuleSet, rows: Any) -> NDArray[np.bool_]:
    """Return on which rows a pinned rule fires."""
    packed = pinned.pack(
        rows, None if hasattr(rows, "columns") else [f"x{place}" for place in range(np.shape(rows)[1])]
    )
    return DNF(cube for rule in pinned.rules for cube in rule.cubes if cube in rule.pinned).evaluate(packed)


def _taken(values: Any, places: NDArray[np.intp]) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[places]
    return values[places] if hasattr(values, "columns") else np.asarray(values)[places]


def around(pinned: RuleSet, found: RuleSet) -> RuleSet:
    """Return the pinned rules of one rule set and all rules of another, class by class.

    The class that is all the rest in `found` and has pinned rules decides first, and stays all the rest.

    Args:
        pinned: rules of which some are pinned.
        found: rules of the same classes.
    """
    pins = [tuple(cube for cube in rule.cubes if cube in rule.pinned) for rule in pinned.rules]
    rest = next((place for place, rule in enumerate(found.rules) if rule.is_complement), None)
    rules = [_joined(old, new, cubes) for old, new, cubes in zip(pinned.rules, found.rules, pins, strict=True)]
    resolve, order = found.resolve, found.order
    if rest is not None and not pins[rest]:
        other = rules[1 - rest].formula
        if isinstance(other, DNF):
            rules[rest] = replace(found.rules[rest], formula=Complement(other), confidence=(0.0,))
    elif rest is not None:
        resolve, order = "order", (rest, 1 - rest)
    predicates = _predicates(pinned, found, pins)
    used = {concept for rule in rules for concept in rule.formula.concepts}
    return replace(
        found,
        rules=tuple(rules),
        predicates={name: meant for name, meant in predicates.items() if name in used},
        groups=NO_GROUPS,
        resolve=resolve,
        order=order,
    )


def _joined(old: Rule, new: Rule, pins: Sequence[Cube]) -> Rule:
    cubes = tuple(dict.fromkeys((*pins, *new.cubes)))
    return replace(
        new,
        formula=DNF(cubes),
        confidence=(0.0,) * len(cubes),
        edited=old.edited & frozenset(pins),
        pinned=frozenset(pins),
        reasons={cube: reason for cube, reason in old.reasons.items() if cube in pins},
    )


def _predicates(pinned: RuleSet, found: RuleSet, pins: Sequence[Sequence[Cube]]) -> Mapping[str, Predicate]:
    """Return what the concepts of both mean; a name has one meaning."""
    used = {concept for cubes in pins for cube in cubes for concept in cube.concepts}
    mine = {name: meant for name, meant in pinned.predicates.items() if name in used}
    if clash := [name for name, meant in mine.items() if found.predicates.get(name, meant) != meant]:
        raise LogicLensError(f"{quoted(clash[0])} means something else in the pinned rules than in the new ones.")
    return {**mine, **found.predicates}
