"""Rules that left as a sheet or a decision table and come back: each difference becomes an edit with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from logiclens.errors import LogicLensError
from logiclens.formula import edits
from logiclens.formula.condition import Condition
from logiclens.formula.dnf import Cube
from logiclens.formula.edits import Note, RuleId
from logiclens.formula.rule_set import RuleSet

ALWAYS = "True"
"""What stands in place of the conditions of a rule that has none."""


@dataclass(frozen=True)
class Line:
    """A rule as a file states it.

    Attributes:
        label: the place of its class.
        conditions: its conditions.
        where: its place in the file, for messages.
        comment: what a person wrote beside it.
        is_on: whether it is used.
    """

    label: int
    conditions: tuple[Condition, ...]
    where: str
    comment: str | None = None
    is_on: bool = True

    @property
    def cube(self) -> Cube:
        """The conjunction of the conditions."""
        return Cube(dict.fromkeys(one.literal for one in self.conditions))


def changed(rules: RuleSet, lines: Sequence[Line], note: Note, *, keep_order: bool = False) -> RuleSet:
    """Return the rules that a file states, as edits of those that were written to it.

    Args:
        rules: the rules that were written.
        lines: the rules of the file.
        note: by whom and when the file was edited; the reason of an edit is the comment of its line.
        keep_order: whether the order of the lines means something else than the order of the rules of a class.

    Raises:
        LogicLensError: with the place of the line, if two are the same or a rule cannot be.
    """
    edited = rules
    for place, rule in enumerate(rules.rules):
        wanted: dict[Cube, Line] = {}
        off: dict[Cube, Line] = {}
        for line in lines:
            if line.label != place:
                continue
            with _place(line.where):
                cube = line.cube
            if line.is_on and cube in wanted:
                raise LogicLensError(f"{line.where}: this rule is there twice, see {wanted[cube].where}.")
            (wanted if line.is_on else off)[cube] = line
        for cube in rule.cubes:
            if cube not in wanted:
                line_off = off.get(cube)
                reason = Note(None if line_off is None else line_off.comment, note.who, note.when)
                with _place("a rule that is left out" if line_off is None else line_off.where):
                    at = edited.rules[place].cubes.index(cube)
                    edited = edits.without(edited, RuleId(rule.label, at + 1), reason)
        for cube, line in wanted.items():
            if cube not in rule.cubes:
                with _place(line.where):
                    reason = Note(line.comment, note.who, note.when)
                    edited = edits.with_conditions(edited, place, line.conditions, reason)
        if not keep_order:
            edited = _in_order(edited, place, list(wanted), note)
    return edited


@contextmanager
def _place(where: str) -> Iterator[None]:
    """Put the place in the file before the message of an error."""
    try:
        yield
    except LogicLensError as error:
        raise LogicLensError(f"{where}: {error}") from None


def _in_order(rules: RuleSet, place: int, cubes: Sequence[Cube], note: Note) -> RuleSet:
    """Return the rules with those of one class in another order; no line of the history if it is the same."""
    now = list(rules.rules[place].cubes)
    if now == list(cubes) or set(now) != set(cubes):
        return rules
    label = rules.rules[place].label
    return edits.reorder(rules, [RuleId(label, now.index(cube) + 1) for cube in cubes], Note(None, note.who, note.when))
