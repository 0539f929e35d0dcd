"""Reference cuts: where a reference ensemble of boosted trees cuts each column, and how it groups categories.

Cuts of numbers are found together with all other columns, and then placed by the likelihood that the ensemble gives
the rows around them. Categories are ordered by how often they go with a class, and cut like numbers: what lies above a
cut is a group of categories.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from logiclens.data.boosting import Ensemble, Threshold
from logiclens.data.columns import Column
from logiclens.data.cuts import short_number
from logiclens.data.parts import row_hashes

MOST_ROWS = 20_000
"""Trees are grown on at most so many distinct rows, chosen by what they hold."""
MOST_CELLS = 2_000_000
"""Trees on wide tables are grown on fewer rows, so that there are no more cells than this."""
FEWEST_ROWS = 2_000
"""So many rows are used however wide a table is."""
NEAR = 0.015
"""Cuts with a smaller share of the rows between them are one cut."""
FEWEST_NEAR = 10
"""Rows on each side that a cut is placed among, at least."""
EQUALLY_LIKELY = 0.5
"""Places whose log-likelihood differs by less than this are equally good for a cut."""
MOST_STEPS = 4
"""How often the rows around a cut are chosen again after it was moved."""
FEW_GAPS = 4
"""Where a cut may lie in more gaps between values than this, the number with the fewest digits is taken."""
NICE = 3.0
"""A number is worth taking for its few digits where its last digit is at least so many times the room for the cut."""
CHANCE = 1.5
"""A cut is kept where its best split gains so many times the logarithm of the number of cells of the table: by chance
the best of all splits rarely gains as much."""
CHANCE_GROUP = 1.0
"""The same for groups of categories, which no rule names: a network does not mind some too many."""
N_FOLDS = 5
"""Parts of the rows; the order of categories that a row is shown comes from the others."""
MOST_CLASSES = 10
"""With more classes categories are ordered by the one that they tell most about."""


@dataclass(frozen=True)
class ReferenceCut:
    """A cut of a column: it lies above `low`, and at most at `high`."""

    low: float
    high: float
    gain: float


@dataclass(frozen=True)
class Reference:
    """What the ensemble says about columns, by their names.

    Attributes:
        cuts: of numbers and dates, what is worth most first.
        groups: of columns of categories, each group as places among the categories, what is worth most first.
        errors: the share of its own rows on which the ensemble is wrong; 1 where there is none.
    """

    cuts: Mapping[str, tuple[ReferenceCut, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    errors: float = 1.0


NO_REFERENCE = Reference()


@dataclass(frozen=True, eq=False)
class _Feature:
    """A column as trees see it; for categories the rates that order them, and whether groups are wanted."""

    column: Column
    values: NDArray[np.float64]
    rates: NDArray[np.float64] | None = None
    grouped: bool = False


def find_reference(
    columns: Sequence[Column],
    classes: NDArray[np.intp],
    n_classes: int,
    weight: NDArray[np.float64],
    *,
    max_categories: int,
) -> Reference:
    """Grow the ensemble on rows that differ and read its cuts; the order of the rows does not matter.

    Groups are found for columns with more than `max_categories` categories: of others each category is a concept.
    """
    order = np.argsort(row_hashes(columns, *classes.T, seed=0), kind="stable")
    columns, classes, weight = [column.take(order) for column in columns], classes[order], weight[order]
    features = [one for column in columns for one in _features(column, classes, n_classes, weight, max_categories)]
    wanted = [one.grouped or _is_cut(one) for one in features]
    if not any(wanted):
        return NO_REFERENCE
    n_rows = min(MOST_ROWS, max(FEWEST_ROWS, MOST_CELLS // len(features)))
    matrix = np.stack([one.values[:n_rows] for one in features])
    classes, weight = classes[:n_rows], weight[:n_rows]
    ensemble = Ensemble.fit(list(matrix), classes, n_classes, weight)
    placing = _Placing(ensemble, matrix, weight)
    cuts: dict[str, tuple[ReferenceCut, ...]] = {}
    groups: dict[str, list[tuple[float, tuple[int, ...]]]] = {}
    for place, feature in enumerate(features):
        if not wanted[place]:
            continue
        name = feature.column.name
        if feature.rates is None:
            cuts[name] = placing.cuts(place)
            continue
        for cluster in placing.clusters(place, CHANCE_GROUP):
            above = np.flatnonzero(feature.rates >= (cluster.low + cluster.high) / 2)
            groups.setdefault(name, []).append((cluster.gain, tuple(above.tolist())))
    wrong = ((ensemble.scores(matrix) > 0) != (ensemble.targets > 0.5)).any(axis=0)
    errors = float(weight[wrong].sum() / weight.sum())
    return Reference(cuts, {name: _distinct_groups(found) for name, found in groups.items()}, errors)


def _is_cut(feature: _Feature) -> bool:
    """Whether a column can be cut in more than one place."""
    return feature.rates is None and feature.column.kind != "boolean" and len(np.unique(feature.values)) > 2


def _distinct_groups(found: Sequence[tuple[float, tuple[int, ...]]]) -> tuple[tuple[int, ...], ...]:
    """Groups without repetition, what is worth most first."""
    gains: dict[tuple[int, ...], float] = {}
    for gain, group in found:
        gains[group] = gains.get(group, 0.0) + gain
    return tuple(sorted((group for group in gains if group), key=lambda group: (-round(gains[group], 6), group)))


def _features(
    column: Column, classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64], max_categories: int
) -> Iterator[_Feature]:
    """A column as numbers: categories become the share of a class among rows with the same category."""
    if not column.is_nominal:
        yield _Feature(column, column.numbers)
        return
    places = column.places
    known = places >= 0
    n_categories = len(column.categories)
    grouped = int((np.bincount(places[known], minlength=n_categories) > 0).sum()) > max_categories
    fold = np.arange(len(places)) % N_FOLDS
    each: list[tuple[float, NDArray[np.float64], NDArray[np.float64]]] = []
    for task in range(classes.shape[1]):
        for klass in range(n_classes) if n_classes > 2 else (1,):
            hits = weight * (classes[:, task] == klass)
            cells = np.where(known, places, 0) * N_FOLDS + fold
            n, k = (
                np.bincount(cells, np.where(known, part, 0.0), minlength=n_categories * N_FOLDS).reshape(-1, N_FOLDS)
                for part in (weight, hits)
            )
            prior, strength, spread = _prior(n.sum(axis=1), k.sum(axis=1))
            if spread <= 0:
                continue
            rates = (k.sum(axis=1) + strength * prior) / (n.sum(axis=1) + strength)
            # What the other parts of the rows say: a row must not see its own class.
            others = (k.sum(axis=1, keepdims=True) - k + strength * prior) / (
                n.sum(axis=1, keepdims=True) - n + strength
            )
            each.append((spread, np.where(known, others[places, fold], np.nan), rates))
    if not grouped or len(each) > MOST_CLASSES:
        each = sorted(each, key=lambda one: -one[0])[:1]
    for _, values, rates in each:
        yield _Feature(column, values, rates, grouped)


def _prior(n: NDArray[np.float64], k: NDArray[np.float64]) -> tuple[float, float, float]:
    """The share of a class over all categories, how many rows that is worth, and how far categories spread around it.

    By moments: what the shares of categories vary more than chance alone makes them vary.
    """
    total = n.sum()
    if total == 0:
        return 0.0, 0.0, 0.0
    share = float(k.sum() / total)
    chance = share * (1 - share)
    known = n > 0
    varied = float((n[known] * (k[known] / n[known] - share) ** 2).sum()) - (int(known.sum()) - 1) * chance
    room = float(total - (n**2).sum() / total)
    spread = varied / room if room > 0 else 0.0
    if spread <= 0 or chance == 0:
        return share, 0.0, 0.0
    return share, max(chance / spread - 1, 0.1), spread


@dataclass(frozen=True, eq=False)
class _Placing:
    """Makes cuts of the splits of an ensemble."""

    ensemble: Ensemble
    matrix: NDArray[np.float64]
    weight: NDArray[np.float64]

    def clusters(self, place: int, chance: float) -> list[Threshold]:
        """The splits of a column, those that are near each other taken together; what is worth most first."""
        gains: dict[tuple[float, float], list[float]] = {}
        for split in self.ensemble.thresholds:
            if split.column == place and np.isfinite(split.low):
                gains.setdefault((split.low, split.high), []).append(split.gain)
        values = self.matrix[place]
        order = np.argsort(values, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(self.weight[order])])
        below = below / below[-1]
        made: list[tuple[float, float, float, float]] = []
        kept: list[list[float]] = []
        least = chance * math.log(self.matrix.size)
        for (low, high), each in sorted(gains.items(), key=lambda item: (-round(sum(item[1]), 6), item[0])):
            at = float(below[np.searchsorted(values[order], high)])
            near = next((i for i, one in enumerate(made) if abs(one[2] - at) < NEAR), None)
            if near is None:
                made.append((low, high, at, max(each)))
                kept.append(each.copy())
            else:
                kept[near] += each
        found = [
            Threshold(place, low, high, sum(each))
            for (low, high, _, _), each in zip(made, kept, strict=True)
            if max(each) >= least
        ]
        return sorted(found, key=lambda one: -round(one.gain, 6))

    def cuts(self, place: int) -> tuple[ReferenceCut, ...]:
        """The cuts of a column, what is worth most first, none of them near one that is worth more."""
        values, total = self.matrix[place], self.weight.sum()
        kept: dict[float, ReferenceCut] = {}
        for cluster in self.clusters(place, CHANCE):
            cut = self.placed(place, cluster)
            share = float(self.weight[values < cut.high].sum() / total)
            if all(abs(share - other) >= NEAR / 2 for other in kept):
                kept[share] = cut
        return tuple(kept.values())

    def placed(self, place: int, split: Threshold) -> ReferenceCut:
        """Where a cut is most likely, given all other columns: rows around it are scored on either side of it."""
        values = self.matrix[place]
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(values[known], kind="stable")]
        at = int(np.searchsorted(values[order], split.high))
        reach = max(FEWEST_NEAR, int(NEAR * len(values)))
        for _ in range(MOST_STEPS):
            rows = order[max(0, at - reach) : at + reach]
            low, high = self._likeliest(place, rows)
            # The best place may be near the end of what was looked at.
            centre = int(np.searchsorted(values[order], (low + high) / 2))
            if abs(centre - at) <= reach // 2:
                break
            at = centre
        ends = np.unique(values[rows][(values[rows] >= low) & (values[rows] <= high)])
        gap = int(np.argmax(np.diff(ends)))
        if _is_nice(low, high) or len(ends) > FEW_GAPS + 1:
            gap = int(np.searchsorted(ends, short_number(low, high))) - 1
        return ReferenceCut(float(ends[gap]), float(ends[gap + 1]), split.gain)

    def _likeliest(self, place: int, rows: NDArray[np.intp]) -> tuple[float, float]:
        """Between which values a cut is most likely, among rows in the order of a column."""
        near, around = self.matrix[place, rows], self.matrix[:, rows].copy()
        likelihood = []
        for side in (near[0], near[-1]):
            around[place] = side
            score, truth = self.ensemble.scores(around), self.ensemble.targets[:, rows]
            likelihood.append((truth * score - np.logaddexp(0, score)).sum(axis=0) * self.weight[rows])
        # The place i is between the values i and i + 1.
        places = np.flatnonzero(near[:-1] < near[1:])
        total = np.cumsum(likelihood[0] - likelihood[1])[places]
        best = int(np.argmax(np.round(total, 9)))
        good = total >= total[best] - EQUALLY_LIKELY
        first = best - int(np.argmin(np.append(good[best::-1], False))) + 1
        last = best + int(np.argmin(np.append(good[best:], False))) - 1
        return float(near[places[first]]), float(near[places[last] + 1])


def _is_nice(low: float, high: float) -> bool:
    """Whether a number with few digits lies in (low, high], fewer than chance would put there.

    >>> _is_nice(0.2991, 0.3012), _is_nice(0.3142, 0.3168)
    (True, False)
    """
    number = short_number(low, high)
    digits = next((d for d in range(-12, 13) if round(number, d) == number), 12)
    return 10.0**-digits >= NICE * (high - low)
