"""Cuts off the round grid: where a formula needs one, and shows that it does. The estimator uses `sharper_cuts`.

The grid is chosen without labels. When the formulas are learned, each of their thresholds is moved on the raw column to
where the formula scores best with all else fixed. A moved threshold becomes a cut if it earns what a literal must earn,
or a tenth of what the formula lacks, and if the errors that it spares cost more to write down than the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.booleaniser import Cutting
from logiclens.explain.candidates import Codes, SearchRows
from logiclens.explain.choice import Choice, LearnedRules
from logiclens.explain.length import LACK, PRICE, SearchConfig, formula_search
from logiclens.explain.search_table import LearningRows
from logiclens.formula.column_kinds import KINDS, Scalar
from logiclens.tables.frames import Column

LOWER_PRICE = 0.25
"""The formulas whose thresholds are moved are searched at this share of the price, so that no literal is missed."""
SURE = 2.0
"""How much more than the threshold the spared errors must cost to write down: the best of all thresholds is taken."""
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
class _Formula:
    """A formula on the raw rows; `fires[k][place]` says where a literal of a cube holds."""

    rows: SearchRows
    cubes: tuple[Codes, ...]
    fires: list[list[NDArray[np.bool_]]]
    columns: Mapping[int, Column]

    @classmethod
    def of(cls, choice: Choice, rows: LearningRows, cutting: Cutting, columns: Mapping[str, Column]) -> _Formula:
        table = rows.table
        used = sorted({code >> 1 for cube in choice.cubes for code in cube})
        bits = table.boolean()[:, [table.names.index(choice.names[place]) for place in used]]
        holds = dict(zip(used, bits.T, strict=True))
        fires = [[holds[code >> 1] ^ bool(code & 1) for code in cube] for cube in choice.cubes]
        movable = {}
        for place in used:
            predicate = cutting.predicates.get(choice.names[place])
            if predicate is not None and predicate.operator == ">=" and predicate.column in columns:
                movable[place] = columns[predicate.column]
        return cls(rows.uncounted(choice.klass), choice.cubes, fires, movable)

    def sharpened(self) -> list[tuple[str, Scalar]]:
        """Return the columns and thresholds of the literals that are better off the grid."""
        on_grid = [list(literals) for literals in self.fires]
        gaps: dict[tuple[int, int], tuple[float, float]] = {}
        for _ in range(ROUNDS):
            before = dict(gaps)
            for k, cube in enumerate(self.cubes):
                for place, code in enumerate(cube):
                    if code >> 1 not in self.columns:
                        continue
                    gap = self._better(k, place, on_grid[k][place])
                    if gap is None:
                        continue
                    numbers = self.columns[code >> 1].numbers
                    self.fires[k][place] = (numbers >= gap[1]) ^ bool(code & 1)
                    gaps[k, place] = gap
            if gaps == before:
                break
        sharper = []
        for (k, place), (low, high) in gaps.items():
            column = self.columns[self.cubes[k][place] >> 1]
            sharper.append((column.name, KINDS[column.kind].threshold(low, high)))
        return sharper

    def _better(self, k: int, place: int, on_grid: NDArray[np.bool_]) -> tuple[float, float] | None:
        """Return the values between which one threshold is best with all else fixed; None if the grid is as good."""
        others = np.zeros(len(on_grid), dtype=np.bool_)
        for at, literals in enumerate(self.fires):
            if at != k:
                others |= np.logical_and.reduce(literals)
        rest = [literal for at, literal in enumerate(self.fires[k]) if at != place]
        where = np.logical_and.reduce(rest) & ~others if rest else ~others
        negated = bool(self.cubes[k][place] & 1)
        numbers = self.columns[self.cubes[k][place] >> 1].numbers
        moving = np.flatnonzero(where & ~np.isnan(numbers))
        order = moving[np.argsort(numbers[moving], kind="stable")]
        values = numbers[order]
        apart = np.flatnonzero(values[:-1] < values[1:]) + 1
        if not len(apart):
            return None
        yes, no = self.rows.yes.astype(np.float64), self.rows.no.astype(np.float64)
        base = where & np.isnan(numbers) & negated | others
        hits, wrongs = (_on_one_side(part[order], apart, below=negated) + part[base].sum() for part in (yes, no))
        scores = self.rows.scores(hits, wrongs)
        best = int(np.argmax(scores))
        gridded = others | (where & on_grid)
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
