"""MeasuredTable: a table that measures many versions of rules fast, because it keeps the bits of each condition.

Each condition is packed once, 64 rows to a word. A new version of the rules costs a few operations on words per rule
and a population count; a new threshold reads one column again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError, no_column
from logiclens.formula.column_kinds import CATEGORY, kind_of_dtype, numbers_of, one_dimensional
from logiclens.formula.counted_rows import counting_weight, row_weights
from logiclens.formula.date_parts import DATE, parts_of_dates
from logiclens.formula.dnf import Cube, written
from logiclens.formula.packed_rows import PackedRows, PackedWeights, RowsLike, pack_columns, unknown_concept
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Figures, RuleSet
from logiclens.formula.rules import THRESHOLD, Rule, table_columns
from logiclens.metrics.rule_statistics import (
    ClassStatistics,
    Confusion,
    DecisionStatistics,
    RuleStatistics,
    cube_statistics,
    known,
    members,
    subgroups_of,
)

Words = NDArray[np.uint64]
MOST_CONDITIONS = 1024
"""The most conditions whose bits are kept; the one that was made first is given up first."""


@dataclass(frozen=True)
class Measured:
    """What was measured of rules on a table.

    Attributes:
        rules: the same rules with the measured confidences; the last line of their history says what was measured.
        statistics: how the rules decide for each class, and where each rule fires.
        confusion: how many rows of which class got which answer; None if a row can have several labels.
        accuracy: share of the rows, by weight, that get their class; with several labels, of all labels.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.rule_set import Rule, RuleSet
    >>> rules = RuleSet((Rule("ill", parse("old"), (0.0,)), Rule("well", parse("~old"), (0.0,))))
    >>> measured = rules.measure({"old": [1, 1, 0, 0], "state": ["ill", "ill", "well", "ill"]}, "state")
    >>> print(measured.accuracy, measured.statistics["ill"].decision.recall)
    0.75 66.7% (20.8–93.9%), 2 of 3
    """

    rules: RuleSet
    statistics: RuleStatistics
    confusion: Confusion | None
    accuracy: float

    @property
    def figures(self) -> Figures:
        """What the history of the rules keeps."""
        counted = self.statistics
        return Figures(counted.source, counted.n_rows, self.accuracy, known(counted.macro_f1))

    def __str__(self) -> str:
        """The tables of the statistics."""
        return str(self.statistics)


@dataclass(frozen=True)
class Sides:
    """The rows that lack a class and those that have it, and the weight of both in all rows and in each subgroup."""

    words: tuple[Words, Words]
    sizes: NDArray[np.float64]


class MeasuredTable:
    """A table with classes, on which any rules can be measured.

    Args:
        table: a raw table (a DataFrame, a dictionary of columns), packed concepts, or a matrix with `names`.
        target: the name of the column with the classes, or the class of each row; with several labels per row, a 0/1
            matrix.
        weight: what each row counts for. Default: 1.
        by: a column, by name or by its values, by which subgroups are told apart. Default: None.
        by_name: what the subgroups are called by. Default: the name of the column.
        source: which rows these are, in words. Default: `"the rows given"`.
        names: the columns of a matrix. Default: None.

    Raises:
        LogicLensError: if the target is no column, or there is not one class for each row.

    >>> from logiclens.formula import Complement, Predicate, Rule, parse
    >>> rows = MeasuredTable({"age": [80, 60, 30, 20], "state": ["ill", "ill", "ill", "well"]}, "state")
    >>> ill = parse('"age >= 50"')
    >>> rules = RuleSet((Rule("ill", ill, (0.0,)), Rule("well", Complement(ill), (0.0,))),
    ...                 {"age >= 50": Predicate("age", ">=", 50)}, otherwise=1)
    >>> [rows.measure(version).accuracy for version in (rules, rules.with_threshold("age >= 50", 25))]
    [0.75, 1.0]
    """

    def __init__(
        self,
        table: RowsLike,
        target: Any,
        *,
        weight: ArrayLike | None = None,
        by: Any = None,
        by_name: str | None = None,
        source: str = "the rows given",
        names: Sequence[str] | None = None,
    ) -> None:
        """Read the columns; conditions are packed when rules ask for them."""
        packed = table if isinstance(table, PackedRows) else getattr(table, "packed", None)
        self._packed = packed if isinstance(packed, PackedRows) else None
        self._columns = {} if self._packed is not None else table_columns(table, names)
        if isinstance(target, str):
            if target not in self._columns:
                raise no_column(target, list(self._columns), "the table", ", the target")
            target = self._columns.pop(target)
        if target is None:
            raise LogicLensError("measuring needs the classes: the name of their column, or one class for each row.")
        self._labels = target
        self.n_rows = self._packed.n_rows if self._packed is not None else self._length(table)
        if self.n_rows == 0:
            raise LogicLensError("there are no rows to measure on.")
        self.source = source
        weights = row_weights(weight, self.n_rows)
        weights = None if weights is None else counting_weight(weights)
        self._weight = None if weights is None else PackedWeights.of(weights)
        self._frame = PackedRows(np.zeros((0, -(-self.n_rows // 64)), np.uint64), self.n_rows, ())
        self._split(by, by_name, table)
        self._bits: dict[Any, Words] = {}
        self._arrays: dict[tuple[str, str], NDArray[Any]] = {}
        self._codes: dict[str, tuple[dict[str, int], NDArray[np.int32]]] = {}
        self._members: dict[tuple[str, ...], list[Words]] = {}

    def _split(self, by: Any, by_name: str | None, table: Any) -> None:
        """Tell subgroups apart by a column."""
        subgroups, group, self._by = subgroups_of(by, by_name, table, self.n_rows)
        self._subgroups = subgroups if self._by is not None else []
        self._groups = [self._pack(np.asarray(group) == at) for at in range(len(self._subgroups))]

    def grouped(self, by: ArrayLike, by_name: str) -> MeasuredTable:
        """Return the same rows with other subgroups; both tables share the bits of the conditions.

        Args:
            by: the value of each row, by which subgroups are told apart.
            by_name: what the subgroups are called by.

        >>> from logiclens.formula import parse
        >>> rules = RuleSet((Rule("ill", parse("old"), (0.0,)), Rule("well", parse("~old"), (0.0,))))
        >>> rows = MeasuredTable({"old": [1, 1, 0], "state": ["ill", "ill", "well"]}, "state")
        >>> counted = rows.grouped(["f", "m", "m"], "sex").measure(rules).statistics
        >>> print(counted.by, {name: str(found[0].decision.decided) for name, found in counted.subgroups.items()})
        sex {'f': '100.0% (20.7–100.0%), 1 of 1', 'm': '50.0% (9.5–90.5%), 1 of 2'}
        """
        other = copy(self)
        other._split(by, by_name, None)
        return other

    @classmethod
    def of(
        cls, table: RowsLike | MeasuredTable, target: Any = None, *, weight: Any = None, by: Any = None
    ) -> MeasuredTable:
        """Return a measured table as it is, or make one.

        Args:
            table: a measured table, or any table.
            target: the target of any table; a measured one knows its own.
            weight: as for the class.
            by: as for the class.
        """
        if not isinstance(table, MeasuredTable):
            return cls(table, target, weight=weight, by=by)
        if target is not None or weight is not None or by is not None:
            raise LogicLensError("a MeasuredTable knows its target, weights and subgroups: leave them out.")
        return table

    def _length(self, table: Any) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else len(table)

    def _pack(self, held: NDArray[np.bool_]) -> Words:
        words: Words = pack_columns(held[None])[0]
        return words

    # Bits ------------------------------------------------------------------------------------------------------------

    def bits(self, rules: RuleSet, concept: str) -> Words:
        """Return on which rows a concept of the rules is true, 64 rows to a word.

        Args:
            rules: the rules, which know what the concept means.
            concept: its name.
        """
        if self._packed is not None:
            return self._packed.column(concept)
        predicate = rules.predicate(concept)
        # In Python, True equals 1.
        key = (concept, predicate, type(predicate.value))
        if key not in self._bits:
            if len(self._bits) >= MOST_CONDITIONS:
                del self._bits[next(iter(self._bits))]
            self._bits[key] = self._pack(self._holds(rules, concept, predicate))
        return self._bits[key]

    def _holds(self, rules: RuleSet, concept: str, predicate: Predicate) -> NDArray[np.bool_]:
        if any(name not in self._columns for name in predicate.sources):
            if concept in self._columns:
                return numbers_of(self._columns[concept], concept) >= THRESHOLD
            if concept not in rules.predicates:
                raise unknown_concept(concept, list(self._columns))
            # The message says which column is lacking.
            return rules.holds(concept, self._columns)
        if predicate.operator == "missing":
            return predicate.held_by(self._columns)
        if predicate.kind is CATEGORY:
            place, codes = self._coded(predicate.column)
            held: NDArray[np.bool_] = codes == place.get(str(predicate.value), -2)
            return held
        return predicate.compared(self._array(predicate))

    def _array(self, predicate: Predicate) -> NDArray[Any]:
        """Return a column, or a number taken from dates, as it is compared."""
        key = (predicate.column, "" if predicate.origin is not None else predicate.kind.name)
        if key not in self._arrays:
            origin = predicate.origin
            if origin is None:
                values = self._columns[predicate.column]
            else:
                values = origin.values({name: self._dates(name) for name in origin.columns})
            self._arrays[key] = predicate.kind.array(values, predicate.column)
        return self._arrays[key]

    def _dates(self, column: str) -> NDArray[Any]:
        key = (column, DATE.name)
        if key not in self._arrays:
            self._arrays[key] = DATE.array(self._columns[column], column)
        return self._arrays[key]

    def prepare(self) -> None:
        """Read each column once, ahead of the conditions that will ask for it; the results do not change.

        Texts get their codes, and dates the numbers that are taken from them. A first condition on a column is then as
        fast as later ones. It may run in another thread.
        """
        dates = []
        for column, values in self._columns.items():
            kind = kind_of_dtype(getattr(getattr(values, "dtype", None), "kind", "O"))
            if kind is None:
                self._coded(column)
            elif kind is DATE:
                dates.append(column)
                self._dates(column)
            else:
                self._arrays.setdefault((column, kind.name), kind.array(values, column))
        for part in parts_of_dates(dict.fromkeys(dates, np.inf), self._columns):
            self._array(Predicate(part.name, ">=", 0, part))

    def _coded(self, column: str) -> tuple[dict[str, int], NDArray[np.int32]]:
        """Return the place of each text of a column, and the place of each row's text; −1 if it has none."""
        if column not in self._codes:
            cells = one_dimensional(np.asarray(self._columns[column], dtype=object), column).tolist()
            try:
                found = dict.fromkeys(cells)
            except TypeError:
                # A cell that cannot be looked up is no text.
                cells = [cell if isinstance(cell, str) else None for cell in cells]
                found = dict.fromkeys(cells)
            texts = [cell for cell in found if isinstance(cell, str)]
            place = {text: at for at, text in enumerate(texts)}
            codes = {cell: place[cell] if isinstance(cell, str) else -1 for cell in found}
            self._codes[column] = place, np.fromiter(map(codes.__getitem__, cells), np.int32, self.n_rows)
        return self._codes[column]

    def _member(self, rules: RuleSet) -> list[Words]:
        """Return which rows have which class."""
        key = (str(rules.multilabel), *rules.names)
        if key not in self._members:
            matrix = members(rules, self._labels, self.n_rows)
            self._members[key] = [self._pack(matrix[:, place]) for place in range(len(rules.rules))]
        return self._members[key]

    def _cube(self, rules: RuleSet, cube: Cube) -> Words:
        held: Words = self._frame.valid.copy()
        for literal in cube:
            bits = self.bits(rules, literal.concept)
            held &= bits if literal.positive else ~bits
        return held

    # Measuring -------------------------------------------------------------------------------------------------------

    def measure(self, rules: RuleSet) -> Measured:
        """Return the statistics of rules on all rows and on each subgroup.

        Args:
            rules: the rules.

        Raises:
            LogicLensError: if the table lacks a column of the rules, or has a class that they do not know.
        """
        member = self._member(rules)
        fired = {
            place: [self._cube(rules, cube) for cube in written(rule.formula)] for place, rule in enumerate(rules.rules)
        }
        whole = [self._whole(rule, fired[place]) for place, rule in enumerate(rules.rules)]
        said = self._said(rules, fired, whole)
        per_class = []
        for place, rule in enumerate(rules.rules):
            sides = self._sides(member[place])
            wholes = self._cells(whole, place, sides)
            decided = self._decided(said[place], sides)
            by_cube, left = {}, said[place]
            for cube in rules.in_turn(rule):
                fires = fired[place][rule.cubes.index(cube)]
                by_cube[cube] = self._decided(left & fires, sides)
                left = left & ~fires
            cubes = [(cube, self._cells(fired[place], at, sides), by_cube[cube]) for at, cube in enumerate(rule.cubes)]
            per_class.append(
                [
                    ClassStatistics(
                        rule.label, rule.formula, cube_statistics(None, wholes[at], decided[at]),
                        tuple(cube_statistics(cube, cells[at], own[at]) for cube, cells, own in cubes), decided[at],
                    )
                    for at in range(len(self._groups) + 1)
                ]
            )  # fmt: skip
        first, *rest = zip(*per_class, strict=True)
        statistics = RuleStatistics(
            first,
            self.n_rows,
            self._total,
            self.source,
            {} if self._by is None else dict(zip(self._subgroups, rest, strict=True)),
            self._by,
            tuple(rules.class_heading(rule.label) for rule in rules.rules),
            rules,
        )
        confusion = None if rules.multilabel else self._confusion(rules, member, said)
        right = sum(float(self._sums([one & other])[0]) for one, other in zip(member, said, strict=True))
        if rules.multilabel:
            both = [self._frame.valid & ~(one ^ other) for one, other in zip(member, said, strict=True)]
            right = sum(float(self._sums([one])[0]) for one in both) / len(both)
        accuracy = right / self._total
        measured = Measured(_with_confidences(rules, statistics), statistics, confusion, accuracy)
        return replace(measured, rules=self._noted(measured.rules, measured.figures))

    def _noted(self, rules: RuleSet, figures: Figures) -> RuleSet:
        """Return rules that know what was measured, and tell it in every line of their history that lacks it."""
        history, after, before = list(rules.history), figures, rules.previous
        place = len(history) - 1
        if history:
            history[place] = replace(history[place], after=figures)
        while history and isinstance(before, RuleSet) and place >= 0:
            # The rules before an edit that was not measured.
            found = self.measure(replace(before, history=(), previous=None)).figures
            history[place] = replace(history[place], before=found, after=after)
            place, after, before = place - 1, found, before.previous
            if place >= 0:
                history[place] = replace(history[place], after=after)
        return replace(rules, history=tuple(history), measured=figures, previous=None)

    @property
    def _total(self) -> float:
        return float(self.n_rows) if self._weight is None else self._weight.total

    def _sums(self, columns: Sequence[Words]) -> NDArray[np.float64]:
        """Return the weight of the rows that are set in each column."""
        if self._weight is not None:
            return self._weight.sums(np.stack(columns))
        return np.array([np.bitwise_count(words).sum(dtype=np.int64) for words in columns], dtype=np.float64)

    def _whole(self, rule: Rule, fired: Sequence[Words]) -> Words:
        any_: Words = np.bitwise_or.reduce(fired, axis=0) if fired else np.zeros_like(self._frame.valid)
        return self._frame.valid & ~any_ if rule.is_complement else any_

    def _said(self, rules: RuleSet, fired: Mapping[int, Sequence[Words]], whole: Sequence[Words]) -> list[Words]:
        """Return which rows get which class, as `RuleSet.predict_places` decides."""
        if rules.multilabel:
            return list(whole)
        if rules.resolve == "none":
            several, once = np.zeros_like(self._frame.valid), np.zeros_like(self._frame.valid)
            for words in whole:
                several |= once & words
                once |= words
            return [words & ~several for words in whole]
        said = [np.zeros_like(self._frame.valid) for _ in rules.rules]
        left = self._frame.valid.copy()
        place_of = {place: {cube: at for at, cube in enumerate(rule.cubes)} for place, rule in enumerate(rules.rules)}
        for line in rules.decisions:
            words = fired[line.rule][place_of[line.rule][line.cube]]
            said[line.rule] |= left & words
            left &= ~words
        if rules.otherwise is not None:
            said[rules.otherwise] |= left
        return said

    def _sides(self, member: Words) -> Sides:
        """Return which rows have a class and which have not, and their weight in all rows and in each subgroup."""
        words = (self._frame.valid & ~member, member)
        return Sides(words, self._grouped_sums(words))

    def _grouped_sums(self, parts: Sequence[Words]) -> NDArray[np.float64]:
        """Return the weight of the rows in each part, for all rows and for each subgroup."""
        return np.stack(
            [
                self._sums([part & group for part in parts] if group is not None else parts)
                for group in (None, *self._groups)
            ]
        )

    def _counted(self, parts: Sequence[Words], sides: Sides) -> NDArray[np.float64]:
        """Return the weight of the rows by subgroup, side, and part; those in no part come first.

        Rows in no part are what is left of the side. Weights are added up instead, because a difference would round.
        """
        if self._weight is not None:
            parts = [self._frame.valid & ~np.bitwise_or.reduce(parts, axis=0), *parts]
        sums = self._grouped_sums([part & side for side in sides.words for part in parts])
        cells = sums.reshape(len(sums), 2, len(parts))
        if self._weight is not None:
            return cells
        return np.concatenate([(sides.sizes - cells.sum(axis=2))[:, :, None], cells], axis=2)

    def _cells(self, fired: Sequence[Words], which: int, sides: Sides) -> NDArray[np.float64]:
        """Return the six cells of `rule_statistics.count_fired`, for all rows and for each subgroup."""
        others = np.zeros_like(self._frame.valid)
        for place, words in enumerate(fired):
            if place != which:
                others |= words
        mine = fired[which]
        cells = self._counted([mine & others, mine & ~others], sides)
        return cells.reshape(len(cells), 6)

    def _decided(self, said: Words, sides: Sides) -> list[DecisionStatistics]:
        return [
            DecisionStatistics(right, wrong, missed, rejected)
            for (rejected, wrong), (missed, right) in self._counted([said], sides).tolist()
        ]

    def _confusion(self, rules: RuleSet, member: Sequence[Words], said: Sequence[Words]) -> Confusion:
        undecided = self._frame.valid & ~np.bitwise_or.reduce(said, axis=0)
        answers = [*said, undecided] if undecided.any() else list(said)
        counts = [self._sums([one & other for other in answers]).tolist() for one in member]
        told = (*rules.names, "undecided") if undecided.any() else rules.names
        return Confusion(rules.names, told, tuple(map(tuple, counts)), "the rules")


def _with_confidences(rules: RuleSet, statistics: RuleStatistics) -> RuleSet:
    """Return rules whose cubes have the measured confidence, the lower end of its interval."""
    made = []
    for rule, counted in zip(rules.rules, statistics.classes, strict=True):
        lows = [counted.whole.confidence.low] if rule.is_complement else [one.confidence.low for one in counted.cubes]
        made.append(replace(rule, confidence=tuple(lows)))
    return replace(rules, rules=tuple(made))
