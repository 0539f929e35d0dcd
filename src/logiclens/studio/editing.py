"""Editing: the versions of the rules of a work, measured on the training rows, and on the held-out rows on request.

`versions.json` in the folder of the work holds every version and which one is shown, so that edits can be undone,
redone and compared, also after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.edits import RuleId
from logiclens.formula.english import cube_words, english, literal_words
from logiclens.formula.model_record import read_record
from logiclens.formula.notation import quoted_name
from logiclens.formula.record import to_dict
from logiclens.formula.rule_set import Edit, RuleSet
from logiclens.formula.text import format_formula
from logiclens.metrics.measured_table import Measured, MeasuredTable
from logiclens.metrics.rule_statistics import known
from logiclens.report.result import ConceptWords, FiringCounts, Result
from logiclens.storage import open_folder, read_json, write_whole
from logiclens.studio.work import Work
from logiclens.tables.frames import label_array
from logiclens.words import count_text, count_with_noun, percent, shortened

VERSIONS = "versions.json"
MOST_VERSIONS = 500
"""The most versions that are kept; the first stays."""
ORDERS = (">=", ">", "<=", "<")
SIGNS = {
    "at_least": ">=",
    "below": "<",
    "is": "is",
    "is_not": "is not",
    "missing": "is missing",
    "known": "is not missing",
}
"""The comparisons that the page offers, and how a condition writes them."""
LONGEST_COMMENT = 500


@dataclass(frozen=True)
class ConditionView:
    """A condition of a rule: in words, and its threshold if it can be moved."""

    words: str
    column: str
    threshold: str


@dataclass(frozen=True)
class RuleView:
    """What can be changed in a rule."""

    key: str
    conditions: tuple[ConditionView, ...]
    is_pinned: bool
    is_edited: bool


@dataclass(frozen=True)
class VersionView:
    """One version in the history: its number, what made it, why, when, and how often it is right."""

    number: int
    what: str
    why: str
    when: str
    right: str
    is_shown: bool


@dataclass(frozen=True)
class Comparison:
    """Two versions: their figures side by side, the rules that only one has, and how many answers differ."""

    names: tuple[str, str]
    figures: tuple[tuple[str, str, str], ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    differ: str

    @property
    def only_named(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The rules that only one version has, with the name of that version."""
        return tuple(zip(self.names, self.only, strict=True))


class Editor:
    """The versions of the rules of a work.

    Args:
        work: a work with a model and a table.
        learned: the result of the learned rules.
        clock: returns the moment of an edit, for the history.
    """

    def __init__(self, work: Work, learned: Result, clock: Callable[[], datetime] = datetime.now) -> None:
        """Read the rows, and the versions if there are any."""
        self._work, self.learned, self._clock = work, learned, clock
        problem, target_cuts = work.problem(), read_record(open_folder(work.model)).cuts_of_target
        labels = label_array(problem.labels)
        self._labels = labels if target_cuts is None else target_cuts.labels(labels)
        held = np.zeros(len(problem.frame), dtype=np.bool_)
        held[work.held_out()] = True
        self._held, self._problem = held, problem
        self.frame = problem.frame[~held]
        self.rows = self._measured_table(~held, f"{int((~held).sum()):,} rows that the rules were made from")
        path = work.folder / VERSIONS
        if path.exists():
            kept = read_json(path)
            self.versions = [RuleSet.from_dict(one) for one in kept["versions"]]
            self.at, self.looks = int(kept["at"]), int(kept["looks"])
        else:
            self.versions, self.at, self.looks = [learned.rules.knowing(self.frame)], 0, 0
        if not (self.versions and 0 <= self.at < len(self.versions)):
            raise LogicLensError("the versions of the rules cannot be read: close the work and learn again.")
        self._seen: dict[int, Measured] = {}
        self.looked: tuple[int, Measured] | None = None

    def _measured_table(self, rows: Any, source: str) -> MeasuredTable:
        problem, groups = self._problem, self._problem.groups
        by = None if groups is None else groups[rows]
        name = None if groups is None else str(groups.name)
        return MeasuredTable(problem.frame[rows], self._labels[rows], by=by, by_name=name, source=source)

    @cached_property
    def aside(self) -> MeasuredTable:
        """The held-out rows."""
        if not self._held.any():
            raise LogicLensError("no rows were held out: there is nothing to measure on but the rows shown here.")
        return self._measured_table(self._held, f"{int(self._held.sum()):,} rows held out before training")

    @property
    def has_held_out(self) -> bool:
        """Whether there are held-out rows."""
        return bool(self._held.any())

    @property
    def rules(self) -> RuleSet:
        """The rules of the version that is shown."""
        return self.versions[self.at]

    def measured(self, number: int | None = None) -> Measured:
        """Return what a version is worth on the training rows; default: the version that is shown."""
        at = self.at if number is None else number
        rules = self.versions[at]
        if id(rules) not in self._seen:
            self._seen[id(rules)] = self.rows.measure(rules)
        return self._seen[id(rules)]

    # Changes ---------------------------------------------------------------------------------------------------------

    def edit(self, sent: Mapping[str, Any]) -> str:
        """Make a new version by one of the moves; return what was done. If the move is refused, nothing changes."""
        move = sent.get("move")
        if move not in MOVES:
            raise LogicLensError(f"there is no move {quoted(move)}.")
        why = _text(sent, "why", LONGEST_COMMENT) or None
        when = self._clock().isoformat(sep=" ", timespec="seconds")
        made = MOVES[str(move)](self.rules, sent, {"why": why, "when": when})
        # Measured before anything is kept: what cannot be measured is refused.
        measured = self.rows.measure(made)
        del self.versions[self.at + 1 :]
        self.looked = None
        self.versions.append(measured.rules)
        if len(self.versions) > MOST_VERSIONS:
            del self.versions[1]
        self.at = len(self.versions) - 1
        self._seen[id(measured.rules)] = measured
        self._save()
        return made.history[-1].what if made.history else ""

    def undo(self) -> None:
        """Show the version before."""
        if self.at == 0:
            raise LogicLensError("there is nothing to undo: these are the rules as they were learned.")
        self.at -= 1
        self._save()

    def redo(self) -> None:
        """Show the version after."""
        if self.at == len(self.versions) - 1:
            raise LogicLensError("there is nothing to redo: this is the latest version.")
        self.at += 1
        self._save()

    def show(self, number: int) -> None:
        """Show a version by its number."""
        self._check(number)
        self.at = number
        self._save()

    def comment(self, number: int, text: str) -> None:
        """Say why a version was made; later versions keep it in their history."""
        self._check(number)
        if number == 0:
            raise LogicLensError("the first version was learned: comment on an edit.")
        made = len(self.versions[number].history)
        for at in range(number, len(self.versions)):
            rules = self.versions[at]
            history = list(rules.history)
            history[made - 1] = replace(history[made - 1], why=shortened(text, LONGEST_COMMENT) or None)
            seen = self._seen.pop(id(rules), None)
            self.versions[at] = replace(rules, history=tuple(history))
            if seen is not None:
                self._seen[id(self.versions[at])] = replace(seen, rules=self.versions[at])
        self._save()

    def look(self) -> Measured:
        """Measure the version that is shown on the held-out rows, and count it: looking often uses them up."""
        found = self.aside.measure(self.rules)
        self.looks += 1
        self.looked = self.at, found
        self._save()
        return found

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self.versions):
            raise LogicLensError(f"there is no version {number + 1}.")

    def _save(self) -> None:
        # Numbers of objects are given again, so that those of versions that are gone must go too.
        self._seen = {id(one): self._seen[id(one)] for one in self.versions if id(one) in self._seen}
        kept = {"versions": [to_dict(rules) for rules in self.versions], "at": self.at, "looks": self.looks}
        write_whole(self._work.folder / VERSIONS, json.dumps(kept, ensure_ascii=False))

    def signed(self) -> RuleSet:
        """Return the rules of the version that is shown; the last line of their history counts the looks."""
        rules = self.rules
        if not self.looks or not rules.history:
            return rules
        what = f"looked {count_with_noun(self.looks, 'time')} at the held-out rows while editing"
        return replace(rules, history=(*rules.history, Edit(what)))

    # Views -----------------------------------------------------------------------------------------------------------

    def rule_views(self) -> dict[int, tuple[RuleView, ...]]:
        """Return what can be changed in each rule, by the place of its class."""
        rules = self.rules
        return {
            place: tuple(
                RuleView(
                    f"{place}-{number}",
                    tuple(self._condition(literal) for literal in cube),
                    cube in rule.pinned,
                    cube in rule.edited,
                )
                for number, cube in enumerate(rule.cubes, 1)
            )
            for place, rule in enumerate(rules.rules)
        }

    def _condition(self, literal: Literal) -> ConditionView:
        meant = self.rules.predicate(literal.concept)
        movable = meant.operator in ORDERS and literal.concept in self.rules.predicates
        return ConditionView(
            literal_words(literal, self.rules.predicates, self.rules.facts),
            meant.column,
            str(meant.shown_value) if movable else "",
        )

    def history(self) -> tuple[VersionView, ...]:
        """Return the versions, the latest first."""
        views = []
        for number, rules in enumerate(self.versions):
            last = rules.history[-1] if number and rules.history else Edit("as it was learned")
            right = percent(self.measured(number).accuracy, 1)
            views.append(VersionView(number, last.what, last.why or "", last.when or "", right, number == self.at))
        return tuple(reversed(views))

    def result(self, measured: Measured, *, is_held_out: bool = False) -> Result:
        """Return the result of a version in the form that the report shows."""
        return edited_result(self.learned, measured, self._firing(measured.rules, is_held_out), is_held_out=is_held_out)

    def _firing(self, rules: RuleSet, is_held_out: bool) -> FiringCounts:
        if not is_held_out:
            # Only the report counts them.
            return FiringCounts(0, 0, 0)
        found = rules.firing(self._problem.frame[self._held])
        return FiringCounts(found.none, found.one, found.several)

    def compare(self, one: int, two: int) -> Comparison:
        """Compare two versions on the training rows."""
        self._check(one)
        self._check(two)
        both = (self.measured(one), self.measured(two))
        rules = (self.versions[one], self.versions[two])
        lines = [("Right", *(percent(m.accuracy, 1) for m in both))]
        for place, name in enumerate(rules[0].names):
            for words, share in (("precision", "precision"), ("recall", "recall")):
                shares = [getattr(m.statistics.classes[place].decision, share).value for m in both]
                lines.append((f"{name}: {words}", *(percent(known(value), 1) for value in shares)))
        lines.append(("Rules", *(str(sum(len(rule.cubes) for rule in r.rules)) for r in rules)))
        texts = [_rule_texts(r) for r in rules]
        answers = [r.predict_places(self.frame) for r in rules]
        differ = int((answers[0] != answers[1]).sum())
        return Comparison(
            (f"version {one + 1}", f"version {two + 1}"),
            tuple((a, b, c) for a, b, c in lines),
            (_beyond(texts[0], texts[1]), _beyond(texts[1], texts[0])),
            f"They answer differently on {count_text(differ)} of {count_with_noun(len(self.frame), 'training row')}.",
        )


def _beyond(own: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in own if text not in other)


def _rule_texts(rules: RuleSet) -> tuple[str, ...]:
    return tuple(
        f"{rules.class_heading(rule.label)} if {cube_words(cube, rules.predicates, rules.facts)}"
        for rule in rules.rules
        for cube in rule.cubes
    )


# Moves ---------------------------------------------------------------------------------------------------------------


def _text(sent: Mapping[str, Any], name: str, most: int = 2_000) -> str:
    value = sent.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise LogicLensError(f"{quoted(name)} must be a text of at most {most:,} characters.")
    return value.strip()


def _place(sent: Mapping[str, Any], name: str, most: int) -> int:
    value = _text(sent, name, 9)
    if not value.isdecimal() or int(value) >= most:
        raise LogicLensError(f"{quoted(name)} is none of those that the page shows: reload it.")
    return int(value)


def _rule(rules: RuleSet, sent: Mapping[str, Any]) -> tuple[RuleId, Cube]:
    """Return the rule that the page names by the place of its class and its number."""
    place, _, number = _text(sent, "rule", 20).partition("-")
    at = (int(place), int(number)) if place.isdecimal() and number.isdecimal() else (-1, -1)
    if not (0 <= at[0] < len(rules.rules) and 1 <= at[1] <= len(rules.rules[at[0]].cubes)):
        raise LogicLensError("the rule is not there any more: reload the page.")
    return RuleId(rules.rules[at[0]].label, at[1]), rules.rules[at[0]].cubes[at[1] - 1]


def _literal(rules: RuleSet, sent: Mapping[str, Any]) -> tuple[RuleId, Literal]:
    rule, cube = _rule(rules, sent)
    literals = tuple(cube)
    return rule, literals[_place(sent, "condition", len(literals))]


def _condition_text(rules: RuleSet, sent: Mapping[str, Any]) -> str:
    """Return the condition that the page describes by a column, a comparison and a value; or as a text."""
    if written := _text(sent, "text"):
        return written
    column, sign, value = _text(sent, "column"), SIGNS.get(_text(sent, "sign")), _text(sent, "value")
    if not column:
        raise LogicLensError("choose a column for the new condition.")
    if sign is None:
        raise LogicLensError("choose how the column is compared.")
    name = quoted_name(column)
    name = name if name.startswith('"') else f'"{name}"'
    if sign.endswith("missing"):
        return f"{name} {sign}"
    if not value:
        raise LogicLensError(f"the condition on {quoted(column)} needs a value.")
    if sign in ("is", "is not"):
        return f"{name} {sign} {json.dumps(value, ensure_ascii=False) if not _is_number(value) else value}"
    return f"{name} {sign} {value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("true", "false")
    return True


def _remove(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    return rules.without(_rule(rules, sent)[0], **note)


def _drop(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    rule, literal = _literal(rules, sent)
    return rules.without_condition(rule, format_formula(literal), **note)


def _add(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    return rules.with_condition(_rule(rules, sent)[0], _condition_text(rules, sent), **note)


def _threshold(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    rule, literal = _literal(rules, sent)
    value = _text(sent, "value")
    if not value:
        raise LogicLensError(f"the threshold of {quoted(rules.predicate(literal.concept).column)} needs a value.")
    return rules.with_threshold(format_formula(Literal(literal.concept)), value, rule=rule, **note)


def _new_rule(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    label = rules.rules[_place(sent, "class", len(rules.rules))].label
    return rules.with_rule(label, _condition_text(rules, sent), **note)


def _pin(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    return rules.pin(_rule(rules, sent)[0], **note)


def _unpin(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    return rules.unpin(_rule(rules, sent)[0], **note)


def _first(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    place = _place(sent, "class", len(rules.rules))
    stated = [at for at, rule in enumerate(rules.rules) if not rule.is_complement]
    if place not in stated or len(stated) < 2:
        raise LogicLensError("only one class has rules, so that there is no order to change.")
    order = [place, *(at for at in (rules.order or stated) if at != place)]
    return rules.reorder(*(rules.rules[at].label for at in order), **note)


MOVES: dict[str, Callable[[RuleSet, Mapping[str, Any], dict[str, Any]], RuleSet]] = {
    "remove": _remove,
    "drop": _drop,
    "add": _add,
    "threshold": _threshold,
    "rule": _new_rule,
    "pin": _pin,
    "unpin": _unpin,
    "first": _first,
}
"""The moves of the page, and what each does with the rules."""


# The result of edited rules ------------------------------------------------------------------------------------------


def edited_result(learned: Result, measured: Measured, firing: FiringCounts, *, is_held_out: bool) -> Result:
    """Return the result of the learned rules with edited ones in their place, and only what was measured of these."""
    rules, counted = measured.rules, measured.statistics
    before = {entry.name: entry for entry in learned.classes}
    classes = []
    for rule, own in zip(rules.rules, counted.classes, strict=True):
        decision = own.decision
        classes.append(
            replace(
                before[rule.name],
                formula=format_formula(rule.formula, "unicode"),
                english=english(
                    rule.formula, rules.predicates, head=rule.name, subject=learned.data.target, facts=rules.facts
                ),
                fidelity=None,
                equals_network=False,
                certified=None,
                reason=None,
                remedy=None,
                precision=decision.precision.record(),
                recall=decision.recall.record(),
                f1=known(decision.f1),
                simplest=None,
                decided=(),
            )
        )
    return replace(
        learned,
        rules=rules,
        resolve=rules.resolve,
        model_sha256=None,
        exact=True,
        concepts=tuple(_concept(name, rules) for name in rules.concepts),
        exclusive=tuple(tuple(group) for group in rules.groups.exclusive),
        implied=tuple(tuple(chain) for chain in rules.groups.implied),
        classes=tuple(classes),
        statistics=counted.record(),
        metrics=(),
        confusion=measured.confusion,
        confusion_of_rules=measured.confusion,
        firing=firing,
        gap=None,
        stability=None,
        rows=(),
        rows_shown=0,
        headline=None if is_held_out or learned.costs else learned.headline,
        costs=(),
        notes=(*(f"edited by hand: {entry}" for entry in rules.history), *learned.notes),
    )


def _concept(name: str, rules: RuleSet) -> ConceptWords:
    words, words_not = (literal_words(Literal(name, sign), rules.predicates, rules.facts) for sign in (True, False))
    return ConceptWords(name, rules.predicate(name).column, words, words_not)
