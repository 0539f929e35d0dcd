"""Cuts off the round grid: where a formula needs one, and shows that it does. The estimator uses `sharper_cuts`.

The grid is chosen without labels. When the formulas are learned, each of their thresholds is moved on the raw column to
where the formula scores best with all else fixed, and cubes get the threshold that they lack. A threshold becomes a cut
if it earns what a literal must earn, or a tenth of what the formula lacks, and if the errors that it spares would cost
more to write down than the threshold; see `SURE`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.booleaniser import Cutting
from logiclens.explain.candidates import SearchRows
from logiclens.explain.choice import Choice, LearnedRules
from logiclens.explain.length import LACK, PRICE, SearchConfig, formula_search
from logiclens.explain.search_table import LearningRows
from logiclens.formula.column_kinds import KINDS, Scalar
from logiclens.tables.frames import Column

LOWER_PRICE = 0.25
"""The formulas whose thresholds are moved are searched at this share of the price, so that no literal is missed."""
SURE = 2.0
"""The spared errors must cost this many times what the threshold costs, since the best of many thresholds is taken."""
ROUNDS = 4
"""Maximum number of passes over all thresholds of a formula."""


def sharper_cuts(
    learned: LearnedRules, rows: LearningRows, config: SearchConfig, cutting: Cutting, columns: Sequence[Column]
) -> dict[str, list[Scalar]]:
    """Return, by column, the thresholds off the grid that the formulas need.

    Args:
        learned: the formulas found on the grid.
        rows: the rows that they were learned from.
        config: limits on the formulas and settings of the search.
        cutting: what the concepts mean.
        columns: the raw columns of these rows.
    """
    by_name = {column.name: column for column in columns}
    cuts: dict[str, list[Scalar]] = {}
    for choice in learned.choices:
        search = formula_search(rows.everything, choice.klass, config)
        longer = search.step(choice.price * LOWER_PRICE, choice.cubes)
        formula = _Formula.of(replace(choice, cubes=longer.cubes), rows, cutting, by_name)
        for column, threshold in formula.sharpened():
            cuts.setdefault(column, []).append(threshold)
    return {column: list(dict.fromkeys(thresholds)) for column, thresholds in cuts.items()}


@dataclass(eq=False)
class _Condition:
    """A literal on the raw rows: its column if its threshold can move, and where it holds, now and on the grid."""

    column: Column | None
    negated: bool
    holds: NDArray[np.bool_]
    on_grid: NDArray[np.bool_]
    gap: tuple[float, float] | None = None

    def move(self, gap: tuple[float, float], numbers: NDArray[np.float64]) -> None:
        """Put the threshold between two values."""
        self.gap, self.holds = gap, (numbers >= gap[1]) ^ self.negated


@dataclass(eq=False)
class _Formula:
    """A formula on the raw rows, and the columns that it may have thresholds on."""

    rows: SearchRows
    cubes: list[list[_Condition]]
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, choice: Choice, rows: LearningRows, cutting: Cutting, columns: Mapping[str, Column]) -> _Formula:
        table = rows.table
        bits, places = table.boolean(), {name: place for place, name in enumerate(table.names)}

        def condition(code: int) -> _Condition:
            name, negated = choice.names[code >> 1], bool(code & 1)
            predicate, holds = cutting.predicates.get(name), bits[:, places[name]] ^ negated
            column = None
            if predicate is not None and predicate.operator == ">=":
                column = columns.get(predicate.column)
            return _Condition(column, negated, holds, holds)

        return cls(rows.uncounted(choice.klass), [[condition(code) for code in cube] for cube in choice.cubes], columns)

    def sharpened(self) -> list[tuple[str, Scalar]]:
        """Return the columns and thresholds of conditions that are better off the grid."""
        for _ in range(ROUNDS):
            if not (self._moved() or self._grown()):
                break
        every = [condition for cube in self.cubes for condition in cube]
        return [
            (condition.column.name, KINDS[condition.column.kind].threshold(*condition.gap))
            for condition in every
            if condition.column is not None and condition.gap is not None
        ]

    def _moved(self) -> bool:
        """Move each threshold once; return whether one has moved."""
        has_moved = False
        for cube in self.cubes:
            for condition in cube:
                gap = None if condition.column is None else self._better(cube, condition, condition.column)
                if gap is not None and gap != condition.gap and condition.column is not None:
                    condition.move(gap, condition.column.numbers)
                    has_moved = True
        return has_moved

    def _grown(self) -> bool:
        """Give each cube the condition that it lacks most, if one pays; return whether one did."""
        has_grown = False
        for cube in self.cubes:
            for column in self.columns.values():
                for negated in (False, True):
                    if any(one.column is column and one.negated == negated for one in cube):
                        continue
                    nothing = np.ones(len(column.numbers), dtype=np.bool_)
                    condition = _Condition(column, negated, nothing, nothing)
                    gap = self._better(cube, condition, column)
                    if gap is not None:
                        condition.move(gap, column.numbers)
                        cube.append(condition)
                        has_grown = True
        return has_grown

    def _better(self, cube: list[_Condition], moving: _Condition, column: Column) -> tuple[float, float] | None:
        """Return the values between which one threshold is best with all else fixed; None if the grid is as good."""
        others = np.zeros(len(moving.holds), dtype=np.bool_)
        for other in self.cubes:
            if other is not cube:
                others |= np.logical_and.reduce([one.holds for one in other])
        where = ~others
        for one in cube:
            if one is not moving:
                where &= one.holds
        numbers, negated = column.numbers, moving.negated
        inside = np.flatnonzero(where & ~np.isnan(numbers))
        order = inside[np.argsort(numbers[inside], kind="stable")]
        values = numbers[order]
        apart = np.flatnonzero(values[:-1] < values[1:]) + 1
        if not len(apart):
            return None
        yes, no = self.rows.yes.astype(np.float64), self.rows.no.astype(np.float64)
        base = (where & np.isnan(numbers) & negated) | others
        hits, wrongs = (_on_one_side(part[order], apart, below=negated) + part[base].sum() for part in (yes, no))
        scores = self.rows.scores(hits, wrongs)
        best = int(np.argmax(scores))
        gridded = others | (where & moving.on_grid)
        score = float(self.rows.scores(np.array([yes[gridded].sum()]), np.array([no[gridded].sum()]))[0])
        if scores[best] - score < min(PRICE, LACK * (1 - score)) - 1e-9:
            return None
        moved = others | (where & ((numbers >= values[apart[best]]) ^ negated))
        before, after = (float(no[fires].sum() + yes[~fires].sum()) for fires in (gridded, moved))
        total = float(yes.sum() + no.sum())
        spared = _cost_of_errors(before, total) - _cost_of_errors(after, total)
        if spared <= SURE * math.log(len(np.unique(numbers))):
            return None
        return float(values[apart[best] - 1]), float(values[apart[best]])


def _cost_of_errors(errors: float, total: float) -> float:
    """Return the cost of naming the wrong rows, in natural units: the entropy of the errors."""
    return sum(part * math.log(total / part) for part in (errors, total - errors) if part > 0)


def _on_one_side(weight: NDArray[np.float64], apart: NDArray[np.intp], *, below: bool) -> NDArray[np.float64]:
    """Return the weight of sorted rows on one side of each place where they may be parted."""
    total = np.append(0.0, np.cumsum(weight))
    return total[apart] if below else total[-1] - total[apart]
