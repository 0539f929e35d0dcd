"""Rules that left as a sheet and come back: each difference becomes an edit with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
PINNED = "pinned"
"""What a file has beside a pinned rule without a reason; it is never the reason of an edit."""


@dataclass(frozen=True)
class Line:
    """A rule as a file states it.

    Attributes:
        label: the place of its class.
        conditions: its conditions.
        where: its place in the file, for messages.
        comment: what a person wrote beside it.
        is_on: whether it is used.
        written: the rule that it was written from, as the places of the class and of the cube; None for a new rule.
    """

    label: int
    conditions: tuple[Condition, ...]
    where: str
    comment: str | None = None
    is_on: bool = True
    written: tuple[int, int] | None = None

    @property
    def place(self) -> int | None:
        """The place of its cube among those of its class that were written; None for a new rule of the class."""
        return None if self.written is None or self.written[0] != self.label else self.written[1]

    @property
    def cube(self) -> Cube:
        """The conjunction of the conditions."""
        return Cube(dict.fromkeys(one.literal for one in self.conditions))


Measure: TypeAlias = Callable[[RuleSet], RuleSet]
"""What returns rules with their figures on a table, so that every line of the history has them."""


def changed(rules: RuleSet, lines: Sequence[Line], note: Note, *, measure: Measure | None = None) -> RuleSet:
    """Return the rules that a file states, as edits of those that were written to it.

    Args:
        rules: the rules that were written.
        lines: the rules of the file.
        note: by whom and when the file was edited; the reason of an edit is the comment of its line, if that is new.
        measure: measures the rules after each edit. Default: None, not measured.

    Raises:
        LogicLensError: with the place of the line, if two are the same or a rule cannot be.
    """
    edited, lines = rules, _with_new_comments(rules, lines)
    for place in range(len(rules.rules)):
        wanted: dict[Cube, Line] = {}
        off: dict[Cube, Line] = {}
        for line in lines:
            if line.label != place:
                continue
            cube = line.cube
            if line.is_on and cube in wanted:
                raise LogicLensError(f"{line.where}: this rule is there twice, see {wanted[cube].where}.")
            (wanted if line.is_on else off)[cube] = line
        for made in _edits(rules, place, wanted, off, note):
            now = made(edited)
            edited = now if measure is None else measure(now)
        edited = _in_order(edited, place, list(wanted), note)
    return edited


def comment_of(rules: RuleSet, place: int, cube: Cube) -> str:
    """Return the comment that a file has beside a rule: why it is as it is, or that it is pinned."""
    rule = rules.rules[place]
    return rule.reasons.get(cube) or (PINNED if cube in rule.pinned else "")


def _with_new_comments(rules: RuleSet, lines: Sequence[Line]) -> list[Line]:
    """Return lines without the comments that were written to the file, which say why of earlier edits."""
    stated = set()
    for line in lines:
        with _place(line.where):
            stated.add((line.label, line.cube))
    named = {line.written for line in lines}
    # A line without a name may have been written from any rule that no line names or states.
    left = [
        (place, cube)
        for place, rule in enumerate(rules.rules)
        for at, cube in enumerate(rule.cubes)
        if (place, at) not in named and (place, cube) not in stated
    ]
    made = []
    for line in lines:
        if line.written is not None:
            place, at = line.written
            sources = [(place, rules.rules[place].cubes[at])]
        elif line.cube in rules.rules[line.label].cubes:
            sources = [(line.label, line.cube)]
        else:
            sources = left
        old = {PINNED, *(_words(comment_of(rules, place, cube)) for place, cube in sources)}
        made.append(replace(line, comment=None) if _words(line.comment or "") in old else line)
    return made


def _words(text: str) -> str:
    """Return a text without what files change in it: the spaces around it, and the ends of its lines."""
    return " ".join(text.split())


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
        if cube in new and line.place is not None and line.place in gone:
            del gone[line.place], new[cube]
            name, conditions, reason = RuleId(rule.label, line.place + 1), line.conditions, noted(line)
            yield at_line(line, partial(edits.with_other_conditions, rule=name, read=conditions, note=reason))
        elif cube not in new and line.comment:
            name = RuleId(rule.label, rule.cubes.index(cube) + 1)
            yield at_line(line, partial(edits.commented, rule=name, note=noted(line)))
    for at, cube in reversed(gone.items()):
        line_off = off.get(cube)
        yield at_line(line_off, partial(edits.without, rule=RuleId(rule.label, at + 1), note=noted(line_off)))
    for line in new.values():
        yield at_line(line, partial(edits.with_conditions, place=place, read=line.conditions, note=noted(line)))


def written_rule(text: str, rules: RuleSet, lines: Sequence[Line]) -> tuple[int, int] | None:
    """Return the places of the class and of the cube that a file names, such as `died#2`; None where it names none.

    Args:
        text: what the file names, with its spaces, which a class may end or begin with.
        rules: the rules that were written to it.
        lines: the lines above.

    Raises:
        LogicLensError: if there was no such rule, or it is named before.
    """
    if not text.strip():
        return None
    written = edits.found(rules, text)
    if any(line.written == written for line in lines):
        raise LogicLensError(f"{quoted(text.strip())} is named before: leave the name of a new rule empty.")
    return written


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
