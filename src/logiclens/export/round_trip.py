"""Rules that left as a sheet or a decision table and come back: each difference becomes an edit with its reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from logiclens.errors import LogicLensError, quoted
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
        number: its number among the rules of its class that were written, from 1; None for a new rule.
    """

    label: int
    conditions: tuple[Condition, ...]
    where: str
    comment: str | None = None
    is_on: bool = True
    number: int | None = None

    @property
    def cube(self) -> Cube:
        """The conjunction of the conditions."""
        return Cube(dict.fromkeys(one.literal for one in self.conditions))


Measure: TypeAlias = Callable[[RuleSet], RuleSet]
"""What returns rules with their figures on a table, so that every line of the history has them."""


def changed(
    rules: RuleSet, lines: Sequence[Line], note: Note, *, measure: Measure | None = None, keep_order: bool = False
) -> RuleSet:
    """Return the rules that a file states, as edits of those that were written to it.

    Args:
        rules: the rules that were written.
        lines: the rules of the file.
        note: by whom and when the file was edited; the reason of an edit is the comment of its line.
        measure: measures the rules after each edit. Default: None, not measured.
        keep_order: whether the order of the lines means something else than the order of the rules of a class.

    Raises:
        LogicLensError: with the place of the line, if two are the same or a rule cannot be.
    """
    edited = rules
    for place in range(len(rules.rules)):
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
        for made in _edits(rules, place, wanted, off, note):
            now = made(edited)
            edited = now if measure is None else measure(now)
        if not keep_order:
            edited = _in_order(edited, place, list(wanted), note)
    return edited


def comment_of(rules: RuleSet, place: int, cube: Cube) -> str:
    """Return the comment that a file has beside a rule: why it is as it is, or that it is pinned."""
    rule = rules.rules[place]
    return rule.reasons.get(cube) or ("pinned" if cube in rule.pinned else "")


def _edits(
    rules: RuleSet, place: int, wanted: Mapping[Cube, Line], off: Mapping[Cube, Line], note: Note
) -> Iterator[Measure]:
    """Yield the edits of one class: rules that change in their place, those that go, the last first, and new ones."""
    rule = rules.rules[place]
    gone = {at: cube for at, cube in enumerate(rule.cubes) if cube not in wanted}
    new = {cube: line for cube, line in wanted.items() if cube not in rule.cubes}

    def noted(line: Line | None) -> Note:
        return Note(None if line is None else line.comment, note.who, note.when)

    def at_line(line: Line | None, edit: Measure) -> Measure:
        def made(edited: RuleSet) -> RuleSet:
            with _place("a rule that is left out" if line is None else line.where):
                return edit(edited)

        return made

    for cube, line in wanted.items():
        name = RuleId(rule.label, line.number or 0)
        if cube in new and line.number is not None and line.number - 1 in gone:
            del gone[line.number - 1], new[cube]
            conditions, reason = line.conditions, noted(line)
            yield at_line(line, partial(edits.with_other_conditions, rule=name, read=conditions, note=reason))
        elif cube not in new and line.comment and line.comment != comment_of(rules, place, cube):
            name = RuleId(rule.label, rule.cubes.index(cube) + 1)
            yield at_line(line, partial(edits.commented, rule=name, note=noted(line)))
    for at, cube in reversed(gone.items()):
        line_off = off.get(cube)
        yield at_line(line_off, partial(edits.without, rule=RuleId(rule.label, at + 1), note=noted(line_off)))
    for line in new.values():
        yield at_line(line, partial(edits.with_conditions, place=place, read=line.conditions, note=noted(line)))


def written_number(text: str, rules: RuleSet, place: int, taken: Collection[tuple[int, int]]) -> int | None:
    """Return the number of a rule that a file names, such as 2 of `died#2`; None where it names none.

    Args:
        text: what the file names.
        rules: the rules that were written to it.
        place: the class that the file gives the rule.
        taken: the classes and numbers that other lines have.

    Raises:
        LogicLensError: if there was no such rule, or it is named before.
    """
    if not text:
        return None
    named, at = edits.found(rules, text)
    if (named, at + 1) in taken:
        raise LogicLensError(f"{quoted(text)} is named before: leave the name of a new rule empty.")
    # A rule of another class is a new one there.
    return at + 1 if named == place else None


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
