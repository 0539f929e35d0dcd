"""Move thresholds to where formulas need them. The estimator uses `sharper_cuts` when it prepares a table.

If a formula is right on nearly all rows, single rows locate its thresholds. The cuts of a column are found before any
formula is. Two cubes may need thresholds that are so close that one cut stands for both, and a cut may be off by a few
rows. So a formula is searched once on the labels, and each of its thresholds is moved on the raw column to where the
formula makes the fewest errors. If that gains more than the cost of writing a threshold down, it becomes a cut of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.booleaniser import Booleaniser, Cutting
from logiclens.concepts.reference_cuts import ReferenceCut
from logiclens.concepts.splits import row_hashes
from logiclens.explain.candidates import Codes, SearchRows, Support, one_blas_thread
from logiclens.explain.search import FormulaSearch
from logiclens.tables.frames import Column

MOST_ERRORS = 0.03
"""Maximum error rate of the reference trees; above it, no formula is searched."""
MOST_OF_CLASS = 0.05
"""Maximum errors of a formula, as a share of the smaller side; above it, single rows say nothing about a cut."""
MOST_CLASSES = 5
"""Maximum number of classes; with more, the search takes longer than the thresholds are worth."""
MOST_ROWS = 5_000
"""Maximum number of distinct rows that formulas are searched on. Rows are chosen by their content."""
PRICES = tuple(0.02 / 2**k for k in range(8))
"""Prices of a literal in the search."""
MOST_ROUNDS = 4
"""Maximum number of passes over all thresholds of a formula."""


@one_blas_thread()
def sharper_cuts(
    fitted: Booleaniser,
    columns: Sequence[Column],
    classes: NDArray[np.intp],
    n_classes: int,
    weight: NDArray[np.float64],
) -> dict[str, list[ReferenceCut]]:
    """Return, by column, the thresholds that formulas of the classes need instead of the existing cuts.

    Args:
        fitted: the booleaniser that found the cuts on these rows.
        columns: the raw columns.
        classes: class numbers `[rows, tasks]`.
        n_classes: number of classes of a task.
        weight: number of rows that each row counts for.

    Returns:
        The new thresholds; empty if formulas are not worth a search.
    """
    reference = fitted.reference_
    if reference.errors > MOST_ERRORS or not reference.cuts or n_classes > MOST_CLASSES or fitted.n_cuts is not None:
        return {}
    taken = np.argsort(row_hashes(columns, *classes.T, seed=0), kind="stable")[:MOST_ROWS]
    taken.sort()
    columns, classes, weight = [column.take(taken) for column in columns], classes[taken], weight[taken]
    table = _Table.of(fitted.cutting_, columns, set(reference.cuts), weight)
    found: dict[str, list[ReferenceCut]] = {}
    for task in range(classes.shape[1]):
        sizes = np.bincount(classes[:, task], weight, minlength=n_classes)
        # With two classes, one formula states both.
        stated = [int(np.argmin(sizes))] if n_classes == 2 else range(n_classes)
        for klass in stated:
            if 0 < sizes[klass] < weight.sum():
                for cut in table.sharpened(classes[:, task] == klass):
                    cuts = found.setdefault(cut[0], [])
                    if cut[1] not in cuts:
                        cuts.append(cut[1])
    return found


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows as concepts, with the raw values of the thresholds.

    Attributes:
        bits: the concepts `[rows, concepts]`.
        names: names of the concepts.
        about: column of each concept that is a threshold of a movable column.
        values: raw values by column, −inf if missing.
        weight: number of rows that each row counts for.
    """

    bits: NDArray[np.bool_]
    names: tuple[str, ...]
    about: Mapping[int, str]
    values: Mapping[str, NDArray[np.float64]]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, cutting: Cutting, columns: Sequence[Column], movable: set[str], weight: NDArray[np.float64]) -> _Table:
        names = tuple(cutting.predicates)
        everything = cutting.values(columns) >= 0.5
        bits = everything[:, [cutting.names.index(name) for name in names]]
        thresholds = {
            place: predicate.column
            for place, predicate in enumerate(cutting.predicates.values())
            if predicate.operator == ">=" and predicate.column in movable
        }
        values = {
            column.name: np.where(np.isnan(column.numbers), -np.inf, column.numbers)
            for column in columns
            if column.name in thresholds.values()
        }
        return cls(bits, names, thresholds, values, weight)

    def sharpened(self, yes: NDArray[np.bool_]) -> list[tuple[str, ReferenceCut]]:
        """Return the thresholds that the formula of a class needs instead of the existing ones."""
        cubes = self._formula(yes)
        smaller = min(float(self.weight[yes].sum()), float(self.weight[~yes].sum()))
        fires = [[self.bits[:, code >> 1] ^ bool(code & 1) for code in cube] for cube in cubes]
        if self._errors(fires, yes) > MOST_OF_CLASS * smaller:
            return []
        moved: dict[tuple[int, int], tuple[str, ReferenceCut]] = {}
        for _ in range(MOST_ROUNDS):
            before = dict(moved)
            for k, cube in enumerate(cubes):
                for place, code in enumerate(cube):
                    column = self.about.get(code >> 1)
                    cut = None if column is None else self._moved(fires, k, place, column, bool(code & 1), yes)
                    if column is not None and cut is not None:
                        fires[k][place] = (self.values[column] >= cut.high) ^ bool(code & 1)
                        moved[k, place] = column, cut
            if moved == before:
                break
        return list(moved.values())

    def _formula(self, yes: NDArray[np.bool_]) -> tuple[Codes, ...]:
        """Return the formula of a class, possibly empty, with the smallest cost of formula and errors."""
        weight = self.weight.astype(np.float32)
        target, right = np.where(yes, weight, 0).astype(np.float32), np.where(yes, self.weight, 0.0)
        rows = SearchRows(self.bits.astype(np.float32), target, weight - target, target, weight, self.names)
        search = FormulaSearch(rows, Support.of(right, self.weight, None), thorough=False)
        formulas: list[tuple[Codes, ...]] = [()]
        costs = [self._cost((), rows, yes)]
        for place, price in enumerate(PRICES):
            formulas.append(search.step(price, formulas[-1], cover=place % 2 == 1).cubes)
            costs.append(self._cost(formulas[-1], rows, yes))
            if len(costs) > 4 and min(costs) < min(costs[-2:]):
                break
        return formulas[int(np.argmin(costs))]

    def _errors(self, fires: Sequence[Sequence[NDArray[np.bool_]]], yes: NDArray[np.bool_]) -> float:
        """Return the weight of the rows on which a formula is wrong, from where each literal of each cube holds."""
        said = np.zeros(len(yes), dtype=np.bool_)
        for literals in fires:
            said |= np.logical_and.reduce(literals)
        return float(self.weight[said != yes].sum())

    def _cost(self, cubes: Sequence[Codes], rows: SearchRows, yes: NDArray[np.bool_]) -> float:
        """Return the cost of writing down a formula and the rows on which it is wrong."""
        errors = self._errors([[rows.fires(cube)] for cube in cubes], yes)
        literals = sum(map(len, cubes)) * math.log(2 * len(self.names))
        return _cost_of_errors(errors, float(self.weight.sum())) + literals

    def _moved(
        self, fires: Sequence[Sequence[NDArray[np.bool_]]], k: int, place: int, column: str, negated: bool,
        yes: NDArray[np.bool_],
    ) -> ReferenceCut | None:  # fmt: skip
        """Return the best threshold of one literal with all else fixed; None if it should stay."""
        others = np.zeros(len(yes), dtype=np.bool_)
        for place_of_cube, literals in enumerate(fires):
            if place_of_cube != k:
                others |= np.logical_and.reduce(literals)
        asked = ~others
        for at, literal in enumerate(fires[k]):
            if at != place:
                asked &= literal
        rows = np.flatnonzero(asked)
        if len(rows) < 2:
            return None
        values = self.values[column]
        order = rows[np.argsort(values[rows], kind="stable")]
        # Gain if the rows from a place on are above the threshold instead of below it.
        sign = np.where(yes[order] != negated, 1.0, -1.0) * self.weight[order]
        above = np.cumsum(sign[::-1])[::-1]
        apart = np.flatnonzero(values[order][:-1] < values[order][1:]) + 1
        apart = apart[np.isfinite(values[order][apart - 1])]
        if not len(apart):
            return None
        errors, total = self._errors(fires, yes), float(self.weight.sum())
        now = float(sign[(fires[k][place] ^ negated)[order]].sum())
        best = int(apart[np.argmax(above[apart])])
        spared = float(above[best]) - now
        gain = _cost_of_errors(errors, total) - _cost_of_errors(errors - spared, total)
        # The literal named one of the cuts of the column; now it must name one of its values.
        n_cuts = sum(other == column for other in self.about.values())
        if spared <= 0 or gain <= math.log(len(np.unique(values)) / n_cuts):
            return None
        return ReferenceCut(float(values[order[best - 1]]), float(values[order[best]]), math.inf)


def _cost_of_errors(errors: float, total: float) -> float:
    """Return the cost of naming the wrong rows, in natural units: the entropy of the errors."""
    errors = min(max(errors, 0.0), total)
    return sum(part * math.log(total / part) for part in (errors, total - errors) if part > 0)
