"""Reference cuts: where a reference ensemble of boosted trees cuts each column, and how it groups categories.

Trees find the cuts of a column together with all other columns; each cut is then moved to where the ensemble gives the
rows around it the highest likelihood. Categories are ordered by how often they occur with a class and cut like numbers:
the categories above a cut form a group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.splits import row_hashes
from logiclens.formula.column_kinds import TRUTH_VALUE, short_number
from logiclens.tables.frames import Column

MOST_BINS = 128
"""Bins per column while splits are compared; the best split is then placed exactly."""
DEPTH = 3
"""Depth of each tree."""
N_TREES = 40
"""Number of trees for two classes; more classes share this number."""
FEWEST_TREES = 8
"""Minimum number of trees per class."""
MOST_OUTPUTS = 20
"""The most classes that trees are grown for; the most frequent ones are taken."""
LEARNING_RATE = 0.3
SMOOTHING = 1.0
"""Weight of the prior in the value of a leaf."""
LEARNED = 1e-3
"""Boosting stops when the mean error in probability is below this."""
FEWEST_IN_LEAF = 5.0
"""Minimum weight of the rows on each side of a split."""


@dataclass(frozen=True)
class Threshold:
    """A split of a tree: values up to `low` go one way, values from `high` on the other.

    Attributes:
        column: the index of the column.
        low: the largest value below the split among the split rows; −inf if only missing values are below.
        high: the smallest value above it.
        gain: the gain as a score test statistic: about χ² with one degree of freedom under chance.
    """

    column: int
    low: float
    high: float
    gain: float


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Boosted trees for one or more targets, and all of their splits.

    Attributes:
        thresholds: all splits.
        targets: the 0/1 targets that trees are grown for, `[outputs, rows]`.
        priors: the score of each output before any tree.
        columns: the column of each inner node, `[outputs, trees, nodes]`; nodes are numbered as in a heap.
        bounds: the smallest value that goes to the second child of a node.
        leaves: what each leaf adds to the score, `[outputs, trees, leaves]`.
    """

    thresholds: tuple[Threshold, ...]
    targets: NDArray[np.float64]
    priors: NDArray[np.float64]
    columns: NDArray[np.intp]
    bounds: NDArray[np.float64]
    leaves: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        columns: Sequence[NDArray[np.float64]],
        classes: NDArray[np.intp],
        n_classes: int,
        weight: NDArray[np.float64],
    ) -> Ensemble:
        """Grow trees on some columns.

        Args:
            columns: numbers, NaN if missing; a missing value is below every number, as for a cut.
            classes: class numbers `[rows, tasks]`.
            n_classes: the number of classes of a task.
            weight: the weight of each row.
        """
        binned = _Binned.of(columns)
        targets = list(_outputs(classes, n_classes, weight))
        n_trees = max(FEWEST_TREES, N_TREES // max(1, len(targets)))
        found: list[Threshold] = []
        priors = np.zeros(len(targets))
        splits = np.zeros((len(targets), n_trees, 2**DEPTH - 1), dtype=np.intp)
        bounds = np.full((len(targets), n_trees, 2**DEPTH - 1), np.inf)
        leaves = np.zeros((len(targets), n_trees, 2**DEPTH))
        for output, target in enumerate(targets):
            share = (weight @ target) / weight.sum()
            priors[output] = np.log(share / (1 - share))
            score = np.full(len(target), priors[output])
            for place in range(n_trees):
                probability = 1 / (1 + np.exp(-score))
                gradient = weight * (target - probability)
                if np.abs(gradient).sum() < LEARNED * weight.sum():
                    break
                tree = _Tree(binned, gradient, weight * probability * (1 - probability), weight)
                splits[output, place], bounds[output, place] = tree.grow()
                found += tree.thresholds
                leaves[output, place] = LEARNING_RATE * tree.answers()
                score += leaves[output, place][tree.node]
        return cls(tuple(found), np.array(targets).reshape(-1, len(weight)), priors, splits, bounds, leaves)

    def scores(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of each output on some rows, `[outputs, rows]`; `columns` is `[columns, rows]`."""
        values = np.where(np.isnan(columns), -np.inf, columns)
        n_outputs, n_trees, _ = self.columns.shape
        node = np.zeros((n_outputs, n_trees, columns.shape[1]), dtype=np.intp)
        rows = np.arange(columns.shape[1])
        for _ in range(DEPTH):
            column = np.take_along_axis(self.columns, node, axis=2)
            node = 2 * node + 1 + (values[column, rows] >= np.take_along_axis(self.bounds, node, axis=2))
        added: NDArray[np.float64] = np.take_along_axis(self.leaves, node - (2**DEPTH - 1), axis=2).sum(axis=1)
        return self.priors[:, None] + added


def _outputs(classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Return the 0/1 targets of the trees: each class against the others, or each label of several."""
    each = []
    for task in range(classes.shape[1]):
        for klass in range(n_classes) if n_classes > 2 else (1,):
            target = (classes[:, task] == klass).astype(np.float64)
            size = float(weight @ target)
            if 0 < size < weight.sum():
                each.append((size, target))
    order = sorted(range(len(each)), key=lambda place: -min(each[place][0], weight.sum() - each[place][0]))
    yield from (each[place][1] for place in sorted(order[:MOST_OUTPUTS]))


@dataclass(frozen=True, eq=False)
class _Binned:
    """Columns in bins that are numbered across all columns.

    Attributes:
        values: the columns, −inf where missing.
        codes: `[columns, rows]`, the bin of each value; bins of a column follow those of the previous column.
        first: the first bin of each column.
        sizes: the number of bins of each column.
        n_bins: the number of bins of all columns.
        exact: whether each bin of a column is a single value.
    """

    values: Sequence[NDArray[np.float64]]
    codes: NDArray[np.intp]
    first: NDArray[np.intp]
    sizes: NDArray[np.intp]
    n_bins: int
    exact: NDArray[np.bool_]

    @classmethod
    def of(cls, columns: Sequence[NDArray[np.float64]]) -> _Binned:
        values = [np.where(np.isnan(column), -np.inf, column) for column in columns]
        codes, sizes, exact = [], [], []
        for column in values:
            distinct, place = np.unique(column, return_inverse=True)
            if len(distinct) > MOST_BINS:
                # Bins of about equal size; equal values share a bin.
                rows = np.cumsum(np.bincount(place))
                bins = np.unique((rows - 1) * MOST_BINS // len(column), return_inverse=True)[1]
                place = bins[place]
            codes.append(place)
            sizes.append(int(place.max()) + 1)
            exact.append(sizes[-1] == len(distinct))
        first = np.cumsum([0, *sizes[:-1]])
        return cls(values, np.stack(codes) + first[:, None], first, np.array(sizes), sum(sizes), np.array(exact))


class _Tree:
    """A tree of logistic boosting with Newton steps, grown level by level."""

    def __init__(
        self,
        binned: _Binned,
        gradient: NDArray[np.float64],
        curvature: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> None:
        self.binned, self.gradient, self.curvature, self.weight = binned, gradient, curvature, weight
        self.node = np.zeros(len(gradient), dtype=np.intp)
        self.thresholds: list[Threshold] = []

    def grow(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Grow the tree; return the column and the bound of each inner node, numbered as in a heap."""
        columns, bounds = np.zeros(2**DEPTH - 1, dtype=np.intp), np.full(2**DEPTH - 1, np.inf)
        for level in range(DEPTH):
            above = np.zeros(len(self.node), dtype=np.bool_)
            for node, place in enumerate(self._best_splits(2**level)):
                if place < 0:
                    continue
                rows = np.flatnonzero(self.node == node)
                threshold = self._placed(rows, int(place))
                self.thresholds.append(threshold)
                at = 2**level - 1 + node
                columns[at], bounds[at] = threshold.column, threshold.high
                above[rows] = self.binned.values[threshold.column][rows] >= threshold.high
            self.node = 2 * self.node + above
        return columns, bounds

    def answers(self) -> NDArray[np.float64]:
        """Return the Newton step of each leaf."""
        total, curved = (np.bincount(self.node, part, minlength=2**DEPTH) for part in (self.gradient, self.curvature))
        return total / (curved + SMOOTHING)

    def _best_splits(self, n_nodes: int) -> NDArray[np.intp]:
        """Return for each node the last bin below its best split; −1 if no split has enough rows on both sides."""
        binned, n_bins = self.binned, self.binned.n_bins
        cells = (binned.codes + (self.node * n_bins)[None]).ravel()
        n_columns = len(binned.first)
        below = np.empty((3, n_nodes, n_bins))
        for part, values in enumerate((self.gradient, self.curvature, self.weight)):
            whole = np.bincount(cells, np.tile(values, n_columns), minlength=n_nodes * n_bins).reshape(n_nodes, n_bins)
            running = np.cumsum(whole, axis=1)
            before = running[:, binned.first] - whole[:, binned.first]
            below[part] = running - np.repeat(before, binned.sizes, axis=1)
        # All rows of a node are below the end of the last bin of the first column.
        total = below[:, :, binned.sizes[0] - 1][:, :, None]
        gain = _gain(below[0], below[1], total[0], total[1])
        allowed = (below[2] >= FEWEST_IN_LEAF) & (total[2] - below[2] >= FEWEST_IN_LEAF)
        gain = np.where(allowed, np.round(gain, 9), -1.0)
        best = gain.argmax(axis=1)
        return np.where(gain[np.arange(n_nodes), best] > 0, best, -1)

    def _placed(self, rows: NDArray[np.intp], place: int) -> Threshold:
        """Return the split after a bin, moved to the best place among the values of the two adjacent bins."""
        binned = self.binned
        column = int(np.searchsorted(binned.first, place, side="right")) - 1
        codes, values = binned.codes[column, rows], binned.values[column][rows]
        above = codes > place
        total_gradient, total_curvature = self.gradient[rows].sum(), self.curvature[rows].sum()
        if binned.exact[column]:
            low, high = float(values[~above].max()), float(values[above].min())
            sums = self.gradient[rows[~above]].sum(), self.curvature[rows[~above]].sum()
            return Threshold(column, low, high, float(_gain(*sums, total_gradient, total_curvature)))
        near = (codes == codes[~above].max()) | (codes == codes[above].min())
        lower = ~above & ~near
        order = np.argsort(values[near], kind="stable")
        window, sorted_values = rows[near][order], values[near][order]
        gradient = np.cumsum(self.gradient[window]) + self.gradient[rows[lower]].sum()
        curvature = np.cumsum(self.curvature[window]) + self.curvature[rows[lower]].sum()
        weight = np.cumsum(self.weight[window]) + self.weight[rows[lower]].sum()
        gain = _gain(gradient, curvature, total_gradient, total_curvature)
        total = self.weight[rows].sum()
        apart = np.append(sorted_values[:-1] < sorted_values[1:], False)
        apart &= (weight >= FEWEST_IN_LEAF) & (total - weight >= FEWEST_IN_LEAF)
        at = int(np.where(apart, np.round(gain, 9), -1.0).argmax())
        return Threshold(column, float(sorted_values[at]), float(sorted_values[at + 1]), float(gain[at]))


def _gain(gradient: Any, curvature: Any, total_gradient: Any, total_curvature: Any) -> Any:
    """Return the gain of a split: how much better two Newton steps are than one."""
    rest, curved = total_gradient - gradient, np.maximum(total_curvature - curvature, 0.0)
    both = gradient**2 / (np.maximum(curvature, 0.0) + SMOOTHING) + rest**2 / (curved + SMOOTHING)
    return both - total_gradient**2 / (total_curvature + SMOOTHING)


MOST_ROWS = 20_000
"""The most distinct rows that trees are grown on, chosen by their hashes."""
MOST_CELLS = 2_000_000
"""The most cells that trees are grown on: wide tables use fewer rows."""
FEWEST_ROWS = 2_000
"""The fewest rows that trees are grown on, however wide the table."""
NEAR = 0.015
"""Two cuts with a smaller share of the rows between them are treated as one cut."""
FEWEST_NEAR = 10
"""The fewest rows on each side that are searched when a cut is placed."""
EQUALLY_LIKELY = 0.5
"""Places of a cut whose log-likelihoods differ by less than this are equally good."""
MOST_STEPS = 4
"""How often the window of rows around a cut is moved after the cut."""
FEW_GAPS = 4
"""If more gaps between values than this are equally good, the number with the fewest digits is taken."""
NICE = 3.0
"""A short number is preferred if the unit of its last digit is at least this many times the range of the cut."""
CHANCE = 1.5
"""A cut is kept if its best split gains this many times the logarithm of the number of cells of the table; by chance
the best of all splits rarely gains as much."""
CHANCE_GROUP = 1.0
"""The same for groups of categories; smaller, because only networks see these."""
N_FOLDS = 5
"""Number of parts of the rows; categories of a row are ordered by the rates of the other parts."""
MOST_CLASSES = 10
"""With more classes than this, categories are ordered by the class about which they are most informative."""


@dataclass(frozen=True)
class ReferenceCut:
    """A cut of a column, somewhere in (low, high]."""

    low: float
    high: float
    gain: float


@dataclass(frozen=True)
class Reference:
    """The cuts and groups that the ensemble found, by column name.

    Attributes:
        cuts: the cuts of ordered columns, by descending gain.
        groups: the groups of categories, each as indices of categories, by descending gain.
        errors: the training error of the ensemble; 1 if there is none.
    """

    cuts: Mapping[str, tuple[ReferenceCut, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    errors: float = 1.0


NO_REFERENCE = Reference()


@dataclass(frozen=True, eq=False)
class _Feature:
    """A column as trees see it; for categories also the rates that order them, and whether groups are wanted."""

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
    """Grow the ensemble on distinct rows and return its cuts and groups; the order of the rows does not matter.

    Groups are formed for columns with more than `max_categories` categories; elsewhere each category is a concept.
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
    """Return whether a column can be cut in more than one place."""
    return feature.rates is None and feature.column.kind != TRUTH_VALUE.name and len(np.unique(feature.values)) > 2


def _distinct_groups(found: Sequence[tuple[float, tuple[int, ...]]]) -> tuple[tuple[int, ...], ...]:
    """Return the groups without duplicates, by descending gain."""
    gains: dict[tuple[int, ...], float] = {}
    for gain, group in found:
        gains[group] = gains.get(group, 0.0) + gain
    return tuple(sorted((group for group in gains if group), key=lambda group: (-round(gains[group], 6), group)))


def _features(
    column: Column, classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64], max_categories: int
) -> Iterator[_Feature]:
    """Yield a column as numbers: a category becomes the share of a class among rows of this category."""
    if not column.is_nominal:
        yield _Feature(column, column.numbers)
        return
    places = column.places
    known = places >= 0
    if not known.any():
        return
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
            # Rates come from the other parts of the rows, so that a row does not see its own class.
            others = (k.sum(axis=1, keepdims=True) - k + strength * prior) / (
                n.sum(axis=1, keepdims=True) - n + strength
            )
            each.append((spread, np.where(known, others[places, fold], np.nan), rates))
    if not grouped or len(each) > MOST_CLASSES:
        each = sorted(each, key=lambda one: -one[0])[:1]
    for _, values, rates in each:
        yield _Feature(column, values, rates, grouped)


def _prior(n: NDArray[np.float64], k: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the share of a class over all categories, the prior weight in rows, and the spread of the categories.

    Method of moments: the variance of the shares of categories beyond what chance explains.
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
    """Turn the splits of an ensemble into cuts."""

    ensemble: Ensemble
    matrix: NDArray[np.float64]
    weight: NDArray[np.float64]

    def clusters(self, place: int, chance: float) -> list[Threshold]:
        """Return the splits of a column, merged if they are near each other, by descending gain."""
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
        """Return the cuts of a column by descending gain, none near a cut of higher gain."""
        values, total = self.matrix[place], self.weight.sum()
        kept: dict[float, ReferenceCut] = {}
        for cluster in self.clusters(place, CHANCE):
            cut = self.placed(place, cluster)
            share = float(self.weight[values < cut.high].sum() / total)
            if all(abs(share - other) >= NEAR / 2 for other in kept):
                kept[share] = cut
        return tuple(kept.values())

    def placed(self, place: int, split: Threshold) -> ReferenceCut:
        """Return the most likely place of a cut given all other columns: rows around it are scored on either side."""
        values = self.matrix[place]
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(values[known], kind="stable")]
        at = int(np.searchsorted(values[order], split.high))
        reach = max(FEWEST_NEAR, int(NEAR * len(values)))
        for _ in range(MOST_STEPS):
            rows = order[max(0, at - reach) : at + reach]
            low, high = self._likeliest(place, rows)
            # Search again if the best place is near the edge of the window.
            # Halves first: the sum of two large numbers may be infinite.
            centre = int(np.searchsorted(values[order], low / 2 + high / 2))
            if abs(centre - at) <= reach // 2:
                break
            at = centre
        ends = np.unique(values[rows][(values[rows] >= low) & (values[rows] <= high)])
        gap = int(np.argmax(np.diff(ends / 2)))
        if _is_nice(low, high) or len(ends) > FEW_GAPS + 1:
            gap = int(np.searchsorted(ends, short_number(low, high))) - 1
        return ReferenceCut(float(ends[gap]), float(ends[gap + 1]), split.gain)

    def _likeliest(self, place: int, rows: NDArray[np.intp]) -> tuple[float, float]:
        """Return the two values between which a cut is most likely, among rows sorted by a column."""
        near, around = self.matrix[place, rows], self.matrix[:, rows].copy()
        likelihood = []
        for side in (near[0], near[-1]):
            around[place] = side
            score, truth = self.ensemble.scores(around), self.ensemble.targets[:, rows]
            likelihood.append((truth * score - np.logaddexp(0, score)).sum(axis=0) * self.weight[rows])
        # Place i is between the values i and i + 1.
        places = np.flatnonzero(near[:-1] < near[1:])
        total = np.cumsum(likelihood[0] - likelihood[1])[places]
        best = int(np.argmax(np.round(total, 9)))
        good = total >= total[best] - EQUALLY_LIKELY
        first = best - int(np.argmin(np.append(good[best::-1], False))) + 1
        last = best + int(np.argmin(np.append(good[best:], False))) - 1
        return float(near[places[first]]), float(near[places[last] + 1])


def _is_nice(low: float, high: float) -> bool:
    """Return whether (low, high] contains a number with fewer digits than expected by chance.

    >>> _is_nice(0.2991, 0.3012), _is_nice(0.3142, 0.3168)
    (True, False)
    """
    number = short_number(low, high)
    digits = next((d for d in range(-12, 13) if round(number, d) == number), 12)
    return 10.0**-digits >= NICE * (high - low)
