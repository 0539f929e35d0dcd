"""Edits of rules as values: each returns new rules and a line in their history, and leaves the old rules as they were.

A rule is one cube of one class. It is named by the class and its number, `died#2`, or by the class and its conditions,
`died: age >= 80 & sepsis`. Numbers count the cubes of a class from 1 and move up when one is removed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import numpy as np

from logiclens.errors import LogicLensError, quoted, quoted_names
from logiclens.formula.column_kinds import (
    CATEGORY,
    KINDS,
    NUMBER,
    ColumnKind,
    Scalar,
    cells_array,
    is_missing,
    kind_of_cell,
    kind_of_dtype,
)
from logiclens.formula.condition import (
    FEW_OF_A_TEXT,
    ZERO_ONE,
    Condition,
    all_categories,
    check_value,
    named,
    read_condition,
    read_conditions,
    subject_of,
    value_of,
)
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import DecisionRules, Edit, Figures, Rule, no_class, table_columns
from logiclens.formula.text import format_formula

Rules = TypeVar("Rules", bound=DecisionRules)


@dataclass(frozen=True)
class RuleId:
    """The name of a rule: its class, and its number among the cubes of the class, counted from 1.

    Args:
        label: the class.
        number: the number of the cube.

    >>> print(RuleId("died", 2))
    died#2
    """

    label: Scalar
    number: int

    def __str__(self) -> str:
        """The class and the number."""
        return f"{self.label}#{self.number}"


RuleName: TypeAlias = RuleId | str
"""How a rule is named: `RuleId("died", 2)`, `"died#2"` or `"died: age >= 80 & sepsis"`."""


@dataclass(frozen=True)
class Note:
    """Why, by whom and when an edit was made, as its history tells it.

    Args:
        why: the reason. Default: None.
        who: the person. Default: None.
        when: a moment, or a text. Default: None; nothing reads a clock.
    """

    why: str | None = None
    who: str | None = None
    when: datetime | str | None = None

    def entry(self, what: str, before: Figures | None) -> Edit:
        """Return the line of the history; refuse what is no text."""
        for name, value in (("why", self.why), ("who", self.who)):
            if value is not None and not isinstance(value, str):
                raise LogicLensError(f"{name} must be a text, got {quoted(value)}.")
        when = self.when.isoformat() if isinstance(self.when, datetime) else self.when
        if when is not None and not isinstance(when, str):
            raise LogicLensError(f"when must be a moment or a text, got {quoted(self.when)}.")
        return Edit(what, self.why, self.who, when, before)


NO_NOTE = Note()


# Names of rules ------------------------------------------------------------------------------------------------------


def rule_ids(rules: DecisionRules) -> tuple[RuleId, ...]:
    """Return the names of all rules, class by class."""
    return tuple(RuleId(rule.label, number) for rule in rules.rules for number in range(1, len(rule.cubes) + 1))


def place_of(rules: DecisionRules, label: Any) -> int:
    """Return the place of a class, given its label or its name."""
    for place, rule in enumerate(rules.rules):
        if rule.label == label or rule.name == label:
            return place
    raise no_class(label, rules.names)


def found(rules: DecisionRules, rule: RuleName) -> tuple[int, int]:
    """Return the place of the class and of the cube that a name means.

    Raises:
        LogicLensError: in one sentence, if there is no such rule.
    """
    if isinstance(rule, RuleId):
        place, number = place_of(rules, rule.label), rule.number
        return place, _numbered(rules, place, number)
    if not isinstance(rule, str):
        raise LogicLensError(f"a rule is named by its class and its number, such as 'died#2', got {quoted(rule)}.")
    by_number = re.fullmatch(r"(.*)#\s*([0-9]{1,9})\s*", rule, re.DOTALL)
    if by_number is not None:
        # Names of classes may differ in spaces only: the exact one counts first.
        for name in (by_number[1], by_number[1].strip()):
            if name in rules.names:
                place = rules.names.index(name)
                return place, _numbered(rules, place, int(by_number[2]))
    for place, name in enumerate(rules.names):
        if rule.startswith(f"{name}:"):
            cube = Cube(one.literal for one in read_conditions(rule[len(name) + 1 :], rules))
            if cube in rules.rules[place].cubes:
                return place, rules.rules[place].cubes.index(cube)
            raise LogicLensError(f"{quoted(name)} has no rule {quoted(str(cube))}; {_listed(rules, place)}.")
    known = [str(one) for one in rule_ids(rules)]
    raise LogicLensError(f"there is no rule {quoted(rule)}; the rules are {quoted_names(known) or 'none'}.")


def _numbered(rules: DecisionRules, place: int, number: int) -> int:
    if type(number) is int and 1 <= number <= len(rules.rules[place].cubes):
        return number - 1
    name = rules.names[place]
    raise LogicLensError(f"{quoted(name)} has no rule number {number}; {_listed(rules, place)}.")


def _listed(rules: DecisionRules, place: int) -> str:
    rule = rules.rules[place]
    if rule.is_complement:
        return f"it is every row on which no rule of {quoted(rules.names[1 - place])} fires"
    count = len(rule.cubes)
    return "it has no rules" if not count else f"its rules are {rule.name}#1 to {rule.name}#{count}"


def shown(cube: Cube) -> str:
    """Return a rule as `read_conditions` reads it."""
    return format_formula(cube) if cube.literals else "True"


# Edits ---------------------------------------------------------------------------------------------------------------


def without(rules: Rules, rule: RuleName, note: Note = NO_NOTE) -> Rules:
    """Return the rules without one of them; see `RuleSet.without`."""
    place, at = found(rules, rule)
    cube = rules.rules[place].cubes[at]
    _check_not_pinned(rules, place, cube, "removed")
    changed = {place: _replaced(rules.rules[place], {cube: None}, note)}
    return _edited(rules, changed, (), note, f"removed {_told(rules, place, cube)}")


def with_rule(rules: Rules, label: Any, conditions: str, note: Note = NO_NOTE) -> Rules:
    """Return the rules with one more; see `RuleSet.with_rule`."""
    return with_conditions(rules, place_of(rules, label), read_conditions(conditions, rules), note)


def with_conditions(rules: Rules, place: int, read: Sequence[Condition], note: Note = NO_NOTE) -> Rules:
    """Return the rules with one more rule of the class at a place, whose conditions are read already."""
    cube = _cube(rules, [one.literal for one in read], read)
    rule = rules.rules[place]
    _check_new(rules, place, cube)
    cubes, confidence, reasons = (*rule.cubes, cube), (*_confidences(rule), 0.0), _reasons(rule, cube, note)
    added = _with_cubes(rule, cubes, confidence, edited={*rule.edited, cube}, reasons=reasons)
    return _edited(rules, {place: added}, read, note, f"added {rule.name}: {shown(cube)}")


def with_other_conditions(rules: Rules, rule: RuleId, read: Sequence[Condition], note: Note = NO_NOTE) -> Rules:
    """Return the rules with other conditions in one of them, in its place; they are read already.

    Args:
        rules: the rules.
        rule: the one that is changed.
        read: its new conditions.
        note: why, by whom and when. Default: unknown.
    """
    place, at = found(rules, rule)
    old, new = rules.rules[place].cubes[at], _cube(rules, [one.literal for one in read], read)
    _check_not_pinned(rules, place, old, "changed")
    _check_new(rules, place, new)
    what = f"changed {rule}: {shown(old)} became {shown(new)}"
    return _edited(rules, {place: _replaced(rules.rules[place], {old: new}, note)}, read, note, what)


def commented(rules: Rules, rule: RuleId, note: Note) -> Rules:
    """Return the same rules with a line in their history that says something of one of them."""
    place, at = found(rules, rule)
    cube, owner = rules.rules[place].cubes[at], rules.rules[place]
    changed = {place: replace(owner, reasons=_reasons(owner, cube, note))}
    return _noted(
        replace(rules, rules=_complemented(rules, changed)), rules, note, f"commented on {_told(rules, place, cube)}"
    )


def with_condition(rules: Rules, rule: RuleName, condition: str, note: Note = NO_NOTE) -> Rules:
    """Return the rules with one more condition, or several, in one of them; see `RuleSet.with_condition`."""
    (place, at), read = found(rules, rule), read_conditions(condition, rules)
    cube = rules.rules[place].cubes[at]
    _check_not_pinned(rules, place, cube, "changed")
    longer = _cube(rules, [*cube, *(one.literal for one in read)], read)
    if longer == cube:
        raise LogicLensError(f"{_told(rules, place, cube)} has the condition {quoted(condition)} already.")
    _check_new(rules, place, longer)
    return _edited(
        rules, {place: _replaced(rules.rules[place], {cube: longer}, note)}, read, note,
        f"added {_joined(one.literal for one in read)} to {_told(rules, place, cube)}",
    )  # fmt: skip


def without_condition(rules: Rules, rule: RuleName, condition: str, note: Note = NO_NOTE) -> Rules:
    """Return the rules without one condition of one of them; see `RuleSet.without_condition`."""
    place, at = found(rules, rule)
    cube, literal = rules.rules[place].cubes[at], read_condition(condition, rules).literal
    _check_not_pinned(rules, place, cube, "changed")
    if literal not in cube.literals:
        raise LogicLensError(f"{_told(rules, place, cube)} has no condition {quoted(condition)}.")
    shorter = Cube(one for one in cube if one != literal)
    if not shorter.literals:
        raise LogicLensError(
            f"without {quoted(condition)} the rule {_named(rules, place, cube)} would fire on every row: remove the "
            "rule instead."
        )
    _check_new(rules, place, shorter)
    return _edited(
        rules, {place: _replaced(rules.rules[place], {cube: shorter}, note)}, (), note,
        f"removed {_joined([literal])} from {_told(rules, place, cube)}",
    )  # fmt: skip


def with_threshold(
    rules: Rules, condition: str, value: Any, rule: RuleName | None = None, note: Note = NO_NOTE
) -> Rules:
    """Return the rules with another threshold of a condition; see `RuleSet.with_threshold`."""
    old = read_condition(condition, rules)
    meant = old.predicate
    if meant is None or meant.operator == "missing" or isinstance(meant.value, bool):
        raise LogicLensError(f"{quoted(condition)} has no threshold to change.")
    changed_to = replace(meant, value=value_of(subject_of(meant, rules), value, meant.operator))
    check_value(changed_to, rules)
    new = named(changed_to, rules)
    places = range(len(rules.rules)) if rule is None else [found(rules, rule)[0]]
    only = None if rule is None else rules.rules[places[0]].cubes[found(rules, rule)[1]]
    changed: dict[int, Rule] = {}
    for place in places:
        moved = {
            cube: _cube(rules, [_moved(one, old.literal.concept, new.literal.concept) for one in cube], [new])
            for cube in rules.rules[place].cubes
            if old.literal.concept in cube.concepts and only in (None, cube)
        }
        for cube in moved:
            _check_not_pinned(rules, place, cube, "changed")
        if moved:
            changed[place] = _replaced(rules.rules[place], moved, note)
    if not changed:
        where = "no rule" if rule is None else f"{quoted(str(rule))} does not"
        raise LogicLensError(f"{where} {'uses' if rule is None else 'use'} the condition {quoted(condition)}.")
    if new.literal.concept == old.literal.concept:
        raise LogicLensError(f"{quoted(old.literal.concept)} has the threshold {quoted(value)} already.")
    everywhere = "everywhere" if only is None else f"in {_told(rules, places[0], only)}"
    return _edited(rules, changed, [new], note, f"{old.literal.concept} became {new.literal.concept} {everywhere}")


def reorder(rules: Rules, order: Sequence[Any], note: Note = NO_NOTE) -> Rules:
    """Return the rules in another order; see `RuleSet.reorder`."""
    if not order:
        raise LogicLensError("reorder needs the classes in the order in which they decide, or the rules of one class.")
    if all(isinstance(one, RuleId) or (isinstance(one, str) and one not in rules.names) for one in order):
        return _reorder_cubes(rules, order, note)
    places = [place_of(rules, label) for label in order]
    stated = [place for place, rule in enumerate(rules.rules) if not rule.is_complement]
    if rules.multilabel or len(stated) < 2:
        raise LogicLensError("there is no order to change: each row is decided by one formula.")
    if sorted(places) != stated:
        names = quoted_names([rules.names[place] for place in stated])
        raise LogicLensError(f"the order must name each class with rules once: {names}.")
    told = f"the classes decide in the order {', '.join(rules.names[place] for place in places)}"
    return _noted(replace(rules, resolve="order", order=tuple(places)), rules, note, told)


def _reorder_cubes(rules: Rules, order: Sequence[RuleName], note: Note) -> Rules:
    named_ = [found(rules, one) for one in order]
    place = named_[0][0]
    rule = rules.rules[place]
    if {one for one, _ in named_} != {place} or sorted(at for _, at in named_) != list(range(len(rule.cubes))):
        raise LogicLensError(f"the order must name each rule of one class once; {_listed(rules, place)}.")
    cubes = [rule.cubes[at] for _, at in named_]
    confidence = [rule.confidence[at] for _, at in named_]
    told = f"the rules of {rule.name} are in the order {', '.join(f'{rule.name}#{at + 1}' for _, at in named_)}"
    changed = {place: replace(rule, formula=DNF(cubes), confidence=tuple(confidence))}
    return _noted(replace(rules, rules=_complemented(rules, changed)), rules, note, told)


def pin(rules: Rules, rule: RuleName, pinned: bool, note: Note = NO_NOTE) -> Rules:
    """Return the rules with one of them pinned, or not pinned any more; see `RuleSet.pin`."""
    place, at = found(rules, rule)
    cube, owner = rules.rules[place].cubes[at], rules.rules[place]
    if (cube in owner.pinned) == pinned:
        raise LogicLensError(f"{_told(rules, place, cube)} is {'already' if pinned else 'not'} pinned.")
    held = owner.pinned | {cube} if pinned else owner.pinned - {cube}
    changed = {place: replace(owner, pinned=held, reasons=_reasons(owner, cube, note))}
    told = f"{'pinned' if pinned else 'unpinned'} {_told(rules, place, cube)}"
    return _noted(replace(rules, rules=_complemented(rules, changed)), rules, note, told)


def knowing(rules: Rules, table: Any, names: Sequence[str] | None = None) -> Rules:
    """Return the rules with the kinds of the columns of a table; see `RuleSet.knowing`."""
    kinds, categories = dict[str, str](), dict(rules.facts.categories)
    for column, values in table_columns(table, names).items():
        if column == rules.facts.target:
            continue
        array = cells_array(values)
        kind, texts = kind_of_dtype(array.dtype.kind), dict[str, int]()
        if kind is None:
            kind, texts = _cells(array.tolist())
        if kind is NUMBER and len(numbers := array[array == array]) and np.isin(numbers, (0, 1)).all():
            kinds[column] = ZERO_ONE
        elif kind is not None:
            kinds[column] = kind.name
        if column in categories:
            # What the model never saw may be asked for too, unless it could name a row.
            more = (text for text, count in texts.items() if count >= FEW_OF_A_TEXT)
            categories[column] = tuple(dict.fromkeys((*categories[column], *more)))
        elif column not in rules.facts.kinds and (all_texts := all_categories(texts)) is not None:
            categories[column] = all_texts
    facts = rules.facts
    return replace(rules, facts=replace(facts, kinds={**kinds, **facts.kinds}, categories=categories))


def _cells(cells: Sequence[Any]) -> tuple[ColumnKind | None, dict[str, int]]:
    """Return the kind of Python values, None if all are missing; and of texts, in order, how often each is there."""
    try:
        counts = Counter(zip(map(type, cells), cells, strict=True))
    except TypeError:
        # What cannot be looked up is no value of a kind.
        return CATEGORY, {}
    known = [(cell, count) for (_, cell), count in counts.items() if not is_missing(cell)]
    made = {one.name for one in (kind_of_cell(cell) for cell, _ in known) if one is not None}
    if not known:
        return None, {}
    kind = KINDS[made.pop()] if len(made) == 1 else CATEGORY
    return kind, dict(sorted(known)) if all(isinstance(cell, str) for cell, _ in known) else {}


# Parts of edits ------------------------------------------------------------------------------------------------------


def _moved(literal: Literal, old: str, new: str) -> Literal:
    return replace(literal, concept=new) if literal.concept == old else literal


def _joined(literals: Iterable[Literal]) -> str:
    return " & ".join(shown(Cube([literal])) for literal in literals)


def _named(rules: DecisionRules, place: int, cube: Cube) -> str:
    return str(RuleId(rules.rules[place].label, rules.rules[place].cubes.index(cube) + 1))


def _told(rules: DecisionRules, place: int, cube: Cube) -> str:
    return f"{_named(rules, place, cube)} ({shown(cube)})"


def _check_new(rules: DecisionRules, place: int, cube: Cube) -> None:
    if cube in rules.rules[place].cubes:
        raise LogicLensError(f"that would be {_told(rules, place, cube)}, which is there already.")


def _check_not_pinned(rules: DecisionRules, place: int, cube: Cube, what: str) -> None:
    if cube in rules.rules[place].pinned:
        raise LogicLensError(f"{_told(rules, place, cube)} is pinned and cannot be {what}: unpin it first.")


def _cube(rules: DecisionRules, literals: Sequence[Literal], new: Iterable[Condition]) -> Cube:
    """Return the conjunction of literals; refuse one that no row can satisfy."""
    unique = list(dict.fromkeys(literals))
    if not unique:
        raise LogicLensError("a rule needs at least one condition.")
    clash = next((one for one in unique if one.negated in unique), None)
    meant = {**rules.predicates, **_predicates(new)}
    concepts = {literal.concept for literal in unique}
    groups = groups_of({name: one for name, one in meant.items() if name in concepts})
    if clash is not None or groups.apart(Cube.of_checked(tuple(unique)), Cube([])):
        raise LogicLensError(f"no row can satisfy all of {quoted(_joined(unique))}.")
    return Cube(unique)


def _predicates(conditions: Iterable[Condition]) -> dict[str, Predicate]:
    return {one.literal.concept: one.predicate for one in conditions if one.predicate is not None}


def _confidences(rule: Rule) -> tuple[float, ...]:
    return () if rule.is_complement else rule.confidence


def _with_cubes(
    rule: Rule,
    cubes: Sequence[Cube],
    confidence: Sequence[float],
    *,
    edited: Iterable[Cube],
    reasons: Mapping[Cube, str],
    pinned: Iterable[Cube] = (),
) -> Rule:
    kept = set(cubes)
    return replace(
        rule,
        formula=DNF(cubes),
        confidence=tuple(confidence),
        recurs={cube: count for cube, count in rule.recurs.items() if cube in kept and cube not in set(edited)},
        edited=frozenset(edited) & kept,
        pinned=(frozenset(pinned) | rule.pinned) & kept,
        reasons={cube: reason for cube, reason in reasons.items() if cube in kept},
    )


def _reasons(rule: Rule, cube: Cube, note: Note, of: Cube | None = None) -> dict[Cube, str]:
    """Return the reasons of a rule with that of a cube: the one of a note, else that of the cube it was made of."""
    reason = note.why or rule.reasons.get(cube if of is None else of)
    return {**rule.reasons, **({cube: reason} if reason else {})}


def _replaced(rule: Rule, changes: Mapping[Cube, Cube | None], note: Note) -> Rule:
    """Return a rule with cubes replaced or removed. A new cube has confidence 0 until it is measured."""
    made: dict[Cube, float] = {}
    edited, reasons = set(rule.edited), dict(rule.reasons)
    for cube, confidence in zip(rule.cubes, rule.confidence, strict=True):
        new = changes.get(cube, cube)
        if new is None:
            continue
        if new != cube:
            edited.add(new)
            reasons.update(_reasons(rule, new, note, of=cube))
        # Two cubes may become one.
        made.setdefault(new, confidence if new == cube else 0.0)
    return _with_cubes(rule, tuple(made), tuple(made.values()), edited=edited, reasons=reasons)


def _complemented(rules: DecisionRules, changed: Mapping[int, Rule]) -> tuple[Rule, ...]:
    """Return all rules with some of them changed; a complement follows the formula that it refers to."""
    made = [changed.get(place, rule) for place, rule in enumerate(rules.rules)]
    for place, rule in enumerate(made):
        if isinstance(rule.formula, Complement):
            other = made[1 - place].formula
            if isinstance(other, DNF) and other != rule.formula.of:
                made[place] = replace(rule, formula=Complement(other), confidence=(0.0,))
            elif isinstance(other, DNF):
                made[place] = replace(rule, formula=Complement(other))
    return tuple(made)


def _edited(rules: Rules, changed: Mapping[int, Rule], new: Iterable[Condition], note: Note, what: str) -> Rules:
    """Return rules with some classes changed, and a line in their history."""
    made = list(_complemented(rules, changed))
    order, resolve = rules.order, rules.resolve
    for place in changed:
        was, now = rules.rules[place], made[place]
        if was.is_complement and not now.is_complement:
            # A rule of its own for the class that was all the rest: it decides first, and the rest stays.
            order, resolve = (place, 1 - place), "order"
        elif not was.is_complement and not now.cubes and _is_rest(rules, made, place):
            # Without rules, the class of all the rest is the complement of the other one again.
            other = made[1 - place].formula
            if isinstance(other, DNF):
                made[place] = replace(now, formula=Complement(other), confidence=(0.0,))
                order = (1 - place,) if rules.order else ()
    meant = {**rules.predicates, **_predicates(new)}
    used = {concept for rule in made for concept in rule.formula.concepts}
    predicates = {name: one for name, one in meant.items() if name in used}
    groups = _groups(rules, predicates, used)
    changed_rules = replace(
        rules, rules=tuple(made), predicates=predicates, groups=groups, order=order, resolve=resolve
    )
    return _noted(changed_rules, rules, note, what)


def _is_rest(rules: DecisionRules, made: Sequence[Rule], place: int) -> bool:
    return len(made) == 2 and not rules.multilabel and rules.otherwise == place and not made[1 - place].is_complement


def _noted(new: Rules, old: DecisionRules, note: Note, what: str) -> Rules:
    before = old.measured if old.measured is not None else old.history[-1].after if old.history else None
    # Rules that were not measured yet are measured later, together with those that were made of them.
    previous = None if old.measured is not None else old
    return replace(new, history=(*old.history, note.entry(what, before)), measured=None, previous=previous)


# Groups --------------------------------------------------------------------------------------------------------------


def _groups(rules: DecisionRules, predicates: Mapping[str, Predicate], used: Iterable[str]) -> Groups:
    """Return what is known of the concepts: what was known of those that stay, and what predicates say of all."""
    kept = rules.groups.among([name for name in rules.groups.concepts if name in set(used)])
    made = groups_of(predicates)
    declared = [group for group in kept.exclusive if not all(name in predicates for name in group)]
    chains = [chain for chain in kept.implied if not all(name in predicates for name in chain)]
    return Groups([*declared, *made.exclusive], [*chains, *made.implied])


def groups_of(predicates: Mapping[str, Predicate]) -> Groups:
    """Return which concepts exclude or imply each other by what they mean, column by column.

    >>> cuts = {name: Predicate("age", ">=", cut) for name, cut in (("age >= 70", 70), ("age >= 40", 40))}
    >>> groups_of({**cuts, "age is missing": Predicate("age", "missing")})
    Groups(exclusive=(('age >= 40', 'age is missing'),), implied=(('age >= 40', 'age >= 70'),))
    """
    columns: dict[str, list[str]] = {}
    for name, one in predicates.items():
        columns.setdefault(one.column, []).append(name)
    exclusive, implied = [], []
    for names in columns.values():
        lower = sorted(
            (name for name in names if predicates[name].operator == ">="),
            key=lambda name: predicates[name].kind.number(predicates[name].value),
        )
        same = [name for name in names if predicates[name].operator == "=="]
        gaps = [name for name in names if predicates[name].operator == "missing"]
        if len(lower) > 1:
            implied.append(lower)
        group = [*same, *gaps] if same else [*lower[:1], *gaps]
        if len(group) > 1:
            exclusive.append(group)
    return Groups(exclusive, implied)
