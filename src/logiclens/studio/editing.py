"""Editing: the versions of the rules of a work, measured on the training rows, and on the held-out rows on request.

`versions.json` in the folder of the work holds every version and which one is shown, so that edits can be undone,
redone and compared, also after a restart.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import CATEGORY
from logiclens.formula.condition import ZERO_ONE, known_columns, read_conditions
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.edits import RuleId
from logiclens.formula.english import cube_words, literal_words
from logiclens.formula.knowledge import Costs, Knowledge, Proof
from logiclens.formula.model_record import read_record
from logiclens.formula.notation import quoted_name
from logiclens.formula.record import to_dict
from logiclens.formula.rule_set import Edit, Firing, Rule, RuleSet
from logiclens.formula.text import format_formula
from logiclens.metrics.measured_table import Measured, MeasuredTable
from logiclens.metrics.rule_statistics import AnswerCost, answer_costs, known
from logiclens.report.panel import Choice, Field
from logiclens.report.result import ConceptWords, Constraint, Editing, FiringCounts, ProtectedColumn, Result
from logiclens.storage import open_folder, read_json, write_whole
from logiclens.studio.choices import sent_text
from logiclens.studio.told import edit_words
from logiclens.studio.work import Work
from logiclens.tables.frames import label_array
from logiclens.words import count_text, count_with_noun, percent, readable, shortened

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier

VERSIONS = "versions.json"
MOST_VERSIONS = 500
"""The most versions that are kept; the first stays."""
ORDERS = (">=", ">", "<=", "<")
SIGNS = {
    "at_least": ">=",
    "below": "<",
    "is": "==",
    "is_not": "!=",
    "missing": "is missing",
    "known": "is not missing",
}
"""The comparisons that the page offers, and how a condition writes them."""
LONGEST_COMMENT = 500
MOST_TEXTS = 100
"""The most texts of a column that are offered to try."""


@dataclass(frozen=True)
class ConditionView:
    """A condition of a rule: in words, and its threshold if it can be moved."""

    words: str
    column: str
    threshold: str


@dataclass(frozen=True)
class RuleView:
    """What can be changed in a rule; `text` tells it from the others of all versions."""

    key: str
    text: str
    conditions: tuple[ConditionView, ...]
    is_pinned: bool


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
    """Two versions: their figures side by side, the rules that only one has, how many answers differ, on which rows."""

    names: tuple[str, str]
    figures: tuple[tuple[str, str, str], ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    differ: str
    rows: str

    @property
    def only_named(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The rules that only one version has, with the name of that version."""
        return tuple(zip(self.names, self.only, strict=True))


def _kept(folder: Path) -> dict[str, Any]:
    """Return what `versions.json` holds; no versions if there is none."""
    path = folder / VERSIONS
    content = read_json(path) if path.exists() else {"versions": [], "at": 0, "looks": 0}
    return dict(content)


def version_to_dict(rules: RuleSet, before: RuleSet | None) -> dict[str, Any]:
    """Return a version as dictionaries and lists, without the lines of its history that the one before has too."""
    lines, earlier = rules.history, () if before is None else before.history
    shared = len([*takewhile(lambda pair: pair[0] == pair[1], zip(lines, earlier, strict=False))])
    return {**to_dict(replace(rules, history=lines[shared:])), "shared": shared}


def read_versions(entries: Sequence[Mapping[str, Any]]) -> list[RuleSet]:
    """Return the versions that `version_to_dict` wrote."""
    versions: list[RuleSet] = []
    for entry in entries:
        own = RuleSet.from_dict({name: value for name, value in entry.items() if name != "shared"})
        earlier = versions[-1].history[: int(entry["shared"])] if versions else ()
        versions.append(replace(own, history=(*earlier, *own.history)))
    return versions


def kept_edits(folder: Path) -> int:
    """Return how many edits the folder of a work holds."""
    return max(0, len(_kept(folder)["versions"]) - 1)


def forget_versions(folder: Path) -> None:
    """Forget the versions of rules that were learned again; how often held-out rows were looked at stays."""
    kept = _kept(folder)
    if not kept["looks"] and not kept.get("other_looks"):
        (folder / VERSIONS).unlink(missing_ok=True)
        return
    write_whole(folder / VERSIONS, json.dumps(kept | {"versions": [], "dropped": [], "at": 0, "looked": []}))


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
        problem, record = work.problem(), read_record(open_folder(work.model))
        target_cuts, self._is_bound = record.cuts_of_target, record.settings.get("knowledge") is not None
        labels = label_array(problem.labels)
        self._labels = labels if target_cuts is None else target_cuts.labels(labels)
        held = np.zeros(len(problem.frame), dtype=np.bool_)
        held[work.held_out()] = True
        self._measured = np.zeros(len(problem.frame), dtype=np.bool_)
        self._measured[work.held_out(measured=True)] = True
        self._held, self._problem = held, problem
        self.frame = problem.frame[~held]
        self.rows = self._measured_table(~held, self._source(int((~held).sum())))
        kept = _kept(work.folder)
        self.versions = read_versions(kept["versions"])
        # What the first version that is kept after the learned one was made of, without its history.
        self._dropped = next(iter(read_versions(kept.get("dropped", ()))), None)
        # What was written of each version, with the one before, so that an edit writes one more and not all again.
        self._written: dict[tuple[int, int], tuple[RuleSet | None, RuleSet, dict[str, Any]]] = {}
        self.at, self.looks = int(kept["at"]), int(kept["looks"])
        # What was seen of held-out rows, by the version: how often it is right, and of how many rows.
        self._looked = {int(at): (float(right), int(rows)) for at, right, rows in kept.get("looked", ())}
        # Another target may hold out other rows, whose looks are counted apart.
        self._other_looks = {str(rows): int(looks) for rows, looks in kept.get("other_looks", {}).items()}
        self._aside_sha256 = hashlib.sha256(problem.frame.index.to_numpy(np.int64)[held].tobytes()).hexdigest()
        if (before := str(kept.get("held_out", self._aside_sha256))) != self._aside_sha256:
            self._other_looks[before] = self.looks
            self.looks, self._looked = self._other_looks.pop(self._aside_sha256, 0), {}
        self._seen: dict[int, Measured] = {}
        self._texts_of: dict[str, set[str]] = {}
        self._grouped: dict[bool, dict[str, MeasuredTable]] = {}
        if not self.versions:
            rules = learned.rules.knowing(self.frame)
            first = self.rows.measure(rules)
            # As they were learned, with their own confidences.
            self.versions = [replace(rules, measured=first.figures)]
            self._seen[id(self.versions[0])] = first
        if not 0 <= self.at < len(self.versions):
            raise LogicLensError("the versions of the rules cannot be read: close the work and learn again.")
        # While somebody reads the rules, so that the first edit of each column is as fast as the next ones.
        threading.Thread(target=self._prepare, daemon=True).start()
        self._proved: tuple[RuleSet, tuple[Proof, ...]] | None = None
        self._aside_seen: tuple[RuleSet, Measured] | None = None

    def _prepare(self) -> None:
        # A column that cannot be read is told when an edit asks for it.
        with suppress(LogicLensError, TypeError, ValueError):
            self.rows.prepare()

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
        return self._measured_table(self._measured, f"{int(self._measured.sum()):,} rows held out before training")

    def _source(self, n_rows: int) -> str:
        """Say which rows figures come from while the rules are edited."""
        made = "that the rules were made from" if self._held.any() else f"of {self._work.table_name}"
        return f"{count_with_noun(n_rows, 'row')} {made}"

    @property
    def rows_words(self) -> str:
        """What the page calls these rows."""
        return "the training rows" if self.has_held_out else f"the rows of {self._work.table_name}"

    @property
    def counted_rows(self) -> str:
        """How many they are."""
        n_rows = len(self.frame)
        return count_with_noun(n_rows, "training row") if self.has_held_out else self._source(n_rows)

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

    def constraints(self) -> tuple[Constraint, ...]:
        """Return the constraints of the model's knowledge, each with its proof for the version that is shown."""
        if not self.at and self.learned.knowledge:
            return self.learned.knowledge
        return tuple(Constraint(one.constraint, one.holds, one.reason) for one in self._proofs(self.rules))

    def _proofs(self, rules: RuleSet) -> tuple[Proof, ...]:
        if not self._is_bound:
            return ()
        if self._proved is None or self._proved[0] is not rules:
            from logiclens.estimator.adoption import proofs_of_edited

            self._proved = rules, proofs_of_edited(self._model, rules)
        return self._proved[1]

    @cached_property
    def _model(self) -> EntropyClassifier:
        # Loads torch, which only knowledge needs here.
        from logiclens.estimator.classifier import EntropyClassifier

        return EntropyClassifier.load(self._work.model)

    @cached_property
    def _costs(self) -> tuple[Costs, ...] | None:
        """The costs that the knowledge of the model gives errors of each class; None if it gives none."""
        if not self._is_bound:
            return None
        from logiclens.estimator.knowledge import stored_bound

        bound = stored_bound(self._model)
        return None if bound is None else bound.costs

    @cached_property
    def _protected_values(self) -> dict[str, NDArray[np.object_]]:
        """The group of each row by each protected column of the model that the table has and that has groups."""
        columns = [one.column for one in self.learned.protected]
        # Columns that the rules do not need may be left out of the rows, but not of the table.
        table = self._work.table.frame.loc[self._problem.frame.index]
        known = [column for column in columns if column in table.columns]
        if not known:
            return {}
        from logiclens.estimator.knowledge import protected_values

        found: dict[str, NDArray[np.object_]] = {}
        for column in known:
            # An infinite number, for example, belongs to no group.
            with suppress(LogicLensError):
                found |= protected_values(Knowledge(protected_columns=(column,)), table[[column]])
        return found

    def _by_protected(self, *, is_held_out: bool) -> dict[str, MeasuredTable]:
        """Return the rows by the groups of each protected column that can be measured."""
        if is_held_out not in self._grouped:
            rows, places = (self.aside, self._measured) if is_held_out else (self.rows, ~self._held)
            found = {}
            for column, groups in self._protected_values.items():
                # A column of too many values has no groups.
                with suppress(LogicLensError):
                    found[column] = rows.grouped(groups[places], column)
            self._grouped[is_held_out] = found
        return self._grouped[is_held_out]

    def _protected(self, rules: RuleSet, *, is_held_out: bool) -> tuple[ProtectedColumn, ...]:
        """Measure rules in each group of the protected columns of the model."""
        told = []
        for one in self.learned.protected:
            rows = self._by_protected(is_held_out=is_held_out).get(one.column)
            statistics = None if rows is None else rows.measure(rules).statistics
            told.append(ProtectedColumn.of(one.column, rules, statistics))
        return tuple(told)

    # Changes ---------------------------------------------------------------------------------------------------------

    def edit(self, sent: Mapping[str, Any]) -> str:
        """Make a new version by one of the moves; return what was done. If the move is refused, nothing changes."""
        move = sent_text(sent, "move")
        if move not in MOVES:
            raise LogicLensError(f"there is no move {quoted(move)}.")
        why = shortened(sent_text(sent, "why", LONGEST_COMMENT), LONGEST_COMMENT) or None
        when = self._clock().isoformat(sep=" ", timespec="seconds")
        made = MOVES[move](self.rules, sent, {"why": why, "when": when})
        # Measured and proved before anything is kept: what cannot be measured, or is forbidden, is refused.
        measured = self.rows.measure(made)
        for proof in self._proofs(measured.rules):
            if not proof.holds:
                raise LogicLensError(
                    f"the knowledge of the model says that {proof.constraint}, but {proof.reason}; the rules stay as "
                    "they were."
                )
        with self._saved():
            del self.versions[self.at + 1 :]
            self._looked = {at: seen for at, seen in self._looked.items() if at <= self.at}
            self.versions.append(measured.rules)
            if len(self.versions) > MOST_VERSIONS:
                self._dropped = replace(self.versions.pop(1), history=())
                self._looked = {at - (at > 1): seen for at, seen in self._looked.items() if at != 1}
            self.at = len(self.versions) - 1
            self._seen[id(measured.rules)] = measured
        return made.history[-1].what if made.history else ""

    def undo(self) -> None:
        """Show the version before."""
        if self.at == 0:
            raise LogicLensError("there is nothing to undo: these are the rules as they were learned.")
        with self._saved():
            self.at -= 1

    def redo(self) -> None:
        """Show the version after."""
        if self.at == len(self.versions) - 1:
            raise LogicLensError("there is nothing to redo: this is the latest version.")
        with self._saved():
            self.at += 1

    def show(self, number: int) -> None:
        """Show a version by its number."""
        self._check(number)
        with self._saved():
            self.at = number

    def comment(self, number: int, text: str) -> None:
        """Say why a version was made; later versions keep it in their history."""
        self._check(number)
        if number == 0:
            raise LogicLensError("the first version was learned: comment on an edit.")
        with self._saved():
            self._explain(number, shortened(text, LONGEST_COMMENT) or None)

    def _explain(self, number: int, why: str | None) -> None:
        made = len(self.versions[number].history)
        for at in range(number, len(self.versions)):
            before, rules = self._rules_before(at), self.versions[at]
            history = list(rules.history)
            history[made - 1] = replace(history[made - 1], why=why)
            explained = [
                replace(now, reasons=_reasons(was, now, history[-1].why))
                for was, now in zip(before.rules, rules.rules, strict=True)
            ]
            seen = self._seen.pop(id(rules), None)
            self.versions[at] = replace(rules, rules=tuple(explained), history=tuple(history))
            if seen is not None:
                self._seen[id(self.versions[at])] = replace(seen, rules=self.versions[at])

    def _rules_before(self, at: int) -> RuleSet:
        """Return the rules that the edit of a version changed, also where they were dropped since."""
        before, rules = self.versions[at - 1], self.versions[at]
        if len(rules.history) == len(before.history) + 1:
            return before
        return rules if self._dropped is None else self._dropped

    def held_out_right(self) -> tuple[float, int] | None:
        """Return the share of the held-out rows on which the version that is shown is right, and how many they are.

        Of the learned rules it is known from learning; of an edited version it is None until somebody looks.
        """
        head = self.learned.headline
        if not self.at and self.has_held_out and head is not None and head.right.value is not None:
            return head.right.value, int(head.right.total)
        return self._looked.get(self.at)

    def look(self) -> None:
        """Measure the version that is shown on the held-out rows, and count it: looking often uses them up."""
        if self.held_out_right() is None:
            found = self.measured_aside()
            with self._saved():
                self._looked[self.at] = found.accuracy, found.statistics.n_rows
                self.looks += 1

    def measured_aside(self) -> Measured:
        """Return what the version that is shown is worth on the held-out rows, once it was looked at."""
        if self._aside_seen is None or self._aside_seen[0] is not self.rules:
            self._aside_seen = self.rules, self.aside.measure(self.rules)
        return self._aside_seen[1]

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self.versions):
            raise LogicLensError(f"there is no version {number + 1}.")

    @contextmanager
    def _saved(self) -> Iterator[None]:
        """Write what a change leaves; where the disk is full, for example, everything stays as it was written last."""
        versions, at, dropped = list(self.versions), self.at, self._dropped
        before = self.looks, dict(self._looked), dict(self._seen), dict(self._written)
        try:
            yield
            self._save()
        except BaseException:
            self.versions, self.at, self._dropped = versions, at, dropped
            self.looks, self._looked, self._seen, self._written = before
            raise

    def _save(self) -> None:
        # Numbers of objects are given again, so that those of versions that are gone must go too.
        self._seen = {id(one): self._seen[id(one)] for one in self.versions if id(one) in self._seen}
        pairs = list(zip((None, *self.versions), self.versions, strict=False))
        self._written = {
            (id(before), id(rules)): self._written.get((id(before), id(rules)))
            or (before, rules, version_to_dict(rules, before))
            for before, rules in pairs
        }
        kept = {
            "versions": [entry for _, _, entry in self._written.values()],
            "dropped": [] if self._dropped is None else [version_to_dict(self._dropped, None)],
            "at": self.at,
            "looks": self.looks,
            "looked": [[at, *seen] for at, seen in self._looked.items()],
            "held_out": self._aside_sha256,
            "other_looks": self._other_looks,
        }
        write_whole(self._work.folder / VERSIONS, json.dumps(kept, ensure_ascii=False))

    def signed(self) -> RuleSet:
        """Return the rules of the version that is shown; the last line of their history counts the looks."""
        rules = self.rules
        if not self.looks or not self.at:
            return rules
        what = f"looked {count_with_noun(self.looks, 'time')} at the held-out rows while editing"
        return replace(rules, history=(*rules.history, Edit(what)))

    # Trying rows -----------------------------------------------------------------------------------------------------

    def field(self, field: Field) -> Field:
        """Return the field of a column to try, with the values that the table holds: its texts, or 0 and 1."""
        missing, kind = Choice("missing", None), self.rules.facts.kinds.get(field.column)
        if kind == ZERO_ONE and field.input == "number":
            return replace(field, input="choice", choices=(Choice("0", 0), Choice("1", 1), missing), hint="")
        if not any(choice.is_other for choice in field.choices):
            return field
        listed = [choice for choice in field.choices if choice.value is not None]
        known = {str(choice.value) for choice in listed}
        more = [Choice(readable(text) or "(an empty text)", text) for text in self._texts(field.column) - known]
        shown = sorted([*listed, *more], key=lambda choice: str(choice.value))
        return replace(field, choices=(*shown, Choice("another value", None, True), missing))

    def _texts(self, column: str) -> set[str]:
        """Return the texts of a column, if they are few enough for a list."""
        if column not in self._texts_of:
            found = {cell for cell in self.frame[column].unique().tolist() if isinstance(cell, str)}
            self._texts_of[column] = found if len(found) <= MOST_TEXTS else set()
        return self._texts_of[column]

    # Views -----------------------------------------------------------------------------------------------------------

    def rule_views(self) -> dict[int, tuple[RuleView, ...]]:
        """Return what can be changed in each rule, by the place of its class."""
        rules = self.rules
        return {
            place: tuple(
                RuleView(
                    f"{place}-{number}",
                    f"{rule.name}: {format_formula(cube)}",
                    tuple(self._condition(literal) for literal in cube),
                    cube in rule.pinned,
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
        return tuple(self._view(number) for number in reversed(range(len(self.versions))))

    def _view(self, number: int) -> VersionView:
        rules, right = self.versions[number], percent(self.measured(number).accuracy, 1)
        if not number:
            return VersionView(number, "As it was learned", "", "", right, number == self.at)
        last = rules.history[-1]
        what = edit_words(self.versions[number - 1], rules, last.what)
        return VersionView(number, what, last.why or "", last.when or "", right, number == self.at)

    def _editing(self, is_held_out: bool) -> Editing:
        """Say what was edited until the version that is shown."""
        earlier = [str(entry) for entry in self.versions[0].history]
        lines = [self._line(number) for number in range(1, self.at + 1)]
        return Editing((*earlier, *lines), self.looks, is_held_out)

    def _line(self, number: int) -> str:
        """Return one edit with its reason and what was measured of it."""
        view = self._view(number)
        why = f", because: {view.why}" if view.why else ""
        return f"{view.what}{why} ({f'{view.when}; ' if view.when else ''}right on {view.right} of {self.rows_words})"

    def result(self, measured: Measured, *, is_held_out: bool = False, for_report: bool = False) -> Result:
        """Return the result of the version that is shown, in the form that the report shows."""
        frame = self._problem.frame[self._measured] if is_held_out else self.frame
        # Only the report counts them.
        found = measured.rules.firing(frame) if for_report else Firing(0, 0, 0)
        firing, editing = FiringCounts(found.none, found.one, found.several), self._editing(is_held_out)
        costs = self._answer_costs(measured)
        edited = edited_result(self.learned, measured, firing, self.constraints(), editing)
        return replace(edited, costs=costs, protected=self._protected(measured.rules, is_held_out=is_held_out))

    def _answer_costs(self, measured: Measured) -> tuple[AnswerCost, ...]:
        """Return what the answers cost, that of the rules first; nothing without costs."""
        return answer_costs(self._costs, measured.confusion) if self._costs and measured.confusion else ()

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
        if all(costs := [self._answer_costs(m) for m in both]):
            lines.append(("What errors cost", *(f"{found[0].total:,.6g}" for found in costs)))
        lines.append(("Rules", *(str(sum(len(rule.cubes) for rule in r.rules)) for r in rules)))
        texts = [_rule_texts(r) for r in rules]
        answers = [r.predict_places(self.frame) for r in rules]
        differ = int((answers[0] != answers[1]).sum())
        return Comparison(
            (f"version {one + 1}", f"version {two + 1}"),
            tuple((a, b, c) for a, b, c in lines),
            (_beyond(texts[0], texts[1]), _beyond(texts[1], texts[0])),
            f"They answer differently on {count_text(differ)} of {self.counted_rows}.",
            self.rows_words,
        )


def _reasons(was: Rule, now: Rule, why: str | None) -> dict[Cube, str]:
    """Return why each rule of a class is as it is: as an edit says of the rules that it changed, else as before it."""
    gone = [cube for cube in was.cubes if cube not in now.cubes]
    # A changed rule stands where the one that it was made of stood.
    source = dict(zip((cube for cube in now.cubes if cube not in was.cubes), gone, strict=False))
    reasons = {}
    for cube in now.cubes:
        is_changed = cube not in was.cubes or (cube in now.pinned) != (cube in was.pinned)
        if reason := (why if is_changed else None) or was.reasons.get(source.get(cube, cube)):
            reasons[cube] = reason
    return reasons


def _beyond(own: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in own if text not in other)


def _rule_texts(rules: RuleSet) -> tuple[str, ...]:
    return tuple(
        f"{rules.class_heading(rule.label)} if {cube_words(cube, rules.predicates, rules.facts)}"
        for rule in rules.rules
        for cube in rule.cubes
    )


# Moves ---------------------------------------------------------------------------------------------------------------


def _place(sent: Mapping[str, Any], name: str, most: int) -> int:
    value = sent_text(sent, name, 9)
    if not value.isdecimal() or int(value) >= most:
        raise LogicLensError(f"{quoted(name)} is none of those that the page shows: reload it.")
    return int(value)


def _rule(rules: RuleSet, sent: Mapping[str, Any]) -> tuple[RuleId, Cube]:
    """Return the rule that the page names by the place of its class and its number."""
    place, _, number = sent_text(sent, "rule", 20).partition("-")
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
    if written := sent_text(sent, "text"):
        return written
    column, sign, value = sent_text(sent, "column"), SIGNS.get(sent_text(sent, "sign")), sent_text(sent, "value")
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
    is_text = known_columns(rules).get(column) == CATEGORY.name
    written = f"{name} {sign} {json.dumps(value, ensure_ascii=False) if is_text else value}"
    first, *others = read_conditions(written, rules)
    meant = first.predicate
    about = first.literal.concept if meant is None else meant.column
    if others or about != column or (meant is not None and meant.operator == "missing"):
        raise LogicLensError(
            f"{quoted(column)} is compared with one value, got {quoted(value)}: add other conditions one by one."
        )
    return written


def _remove(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    return rules.without(_rule(rules, sent)[0], **note)


def _drop(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    rule, literal = _literal(rules, sent)
    return rules.without_condition(rule, format_formula(literal), **note)


def _add(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    return rules.with_condition(_rule(rules, sent)[0], _condition_text(rules, sent), **note)


def _threshold(rules: RuleSet, sent: Mapping[str, Any], note: dict[str, Any]) -> RuleSet:
    rule, literal = _literal(rules, sent)
    value = sent_text(sent, "value")
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


def edited_result(
    learned: Result, measured: Measured, firing: FiringCounts, constraints: tuple[Constraint, ...], editing: Editing
) -> Result:
    """Return the result of the learned rules with those of a version in their place, and only what holds of these."""
    rules, counted = measured.rules, measured.statistics
    told = replace(rules, facts=replace(rules.facts, target=learned.data.target))
    before = {entry.name: entry for entry in learned.classes}
    classes = []
    for rule, own in zip(rules.rules, counted.classes, strict=True):
        decision = own.decision
        classes.append(
            replace(
                before[rule.name],
                formula=format_formula(rule.formula, "unicode"),
                english=told.sentence(rule),
                fidelity=None,
                equals_network=False,
                certified=None,
                reason=None,
                remedy=None,
                precision=decision.precision.record(),
                recall=decision.recall.record(),
                f1=known(decision.f1),
                simplest=None,
                relevance=(),
                gaps=(),
            )
        )
    dropped = tuple(entry for entry in learned.data.dropped if entry.column not in rules.columns)
    return replace(
        learned,
        command=None,
        data=replace(learned.data, dropped=dropped),
        rules=rules,
        resolve=rules.resolve,
        model_sha256=None,
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
        history=None,
        rows=(),
        rows_shown=0,
        notes=(),
        headline=None,
        knowledge=constraints,
        protected=(),
        costs=(),
        editing=editing,
    )


def _concept(name: str, rules: RuleSet) -> ConceptWords:
    words, words_not = (literal_words(Literal(name, sign), rules.predicates, rules.facts) for sign in (True, False))
    return ConceptWords(name, rules.predicate(name).column, words, words_not)
