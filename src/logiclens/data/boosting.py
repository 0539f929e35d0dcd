"""Shallow boosted trees on raw columns, grown to learn where columns are worth cutting.

A cut that matters only together with other columns cannot be seen in one column alone. The thresholds of a small
reference ensemble show such cuts (McTavish et al. 2022, "Fast sparse decision tree optimization via reference
ensembles"). The trees are used for nothing else. Everything is computed in the order of the rows that are given, so
that the same rows in the same order give the same thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BINS = 128
"""Bins of a column while splits are compared; the best one is then placed exactly."""
DEPTH = 3
"""Splits on each path of a tree."""
N_TREES = 40
"""Trees for two classes; with more classes they share these."""
FEWEST_TREES = 8
"""Trees for each class, however many classes there are."""
MOST_OUTPUTS = 20
"""Classes that trees are grown for; where there are more, the most frequent."""
LEARNING_RATE = 0.3
SMOOTHING = 1.0
"""Weight of the prior in the value of a leaf."""
LEARNED = 1e-3
"""No more trees are grown once the mean error in probability is below this."""
FEWEST_ROWS = 5.0
"""Weight of the rows on each side of a split."""


@dataclass(frozen=True)
class Threshold:
    """A split of a tree: values up to `low` go one way, values from `high` on the other.

    Attributes:
        column: the place of the column.
        low: the largest value below the split among the rows that were split; −inf where only gaps are below.
        high: the smallest value above it.
        gain: what the split is worth, as the statistic of a score test: about χ² with one degree of freedom by chance.
    """

    column: int
    low: float
    high: float
    gain: float


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Boosted trees for one or more targets, and every split that they make.

    Attributes:
        thresholds: all splits.
        targets: what trees are grown for, `[outputs, rows]`, 0 or 1.
        priors: the score of each output before any tree.
        columns: the column of each inner node, `[outputs, trees, nodes]`; nodes are numbered as in a heap.
        bounds: from which value on a row goes to the second child of a node.
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
            columns: numbers, NaN where missing; a missing value lies below every other, as it does for a cut.
            classes: class numbers `[rows, tasks]`.
            n_classes: the number of classes of a task.
            weight: how many rows each row counts for.
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
        """The log-odds of each output on some rows, `[outputs, rows]`; `columns` is `[columns, rows]`."""
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
    """What trees are grown for, 0 or 1 on each row: a class against the others, or each label of several."""
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
    """Columns in bins, all in one run of numbers.

    Attributes:
        values: the columns, −inf where missing.
        codes: `[columns, rows]`, the bin of each value, the bins of each column after those of the one before.
        first: the first bin of each column.
        sizes: the number of bins of each column.
        n_bins: of all columns.
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
                # About as many rows in each bin; a value is never parted.
                rows = np.cumsum(np.bincount(place))
                bins = np.unique((rows - 1) * MOST_BINS // len(column), return_inverse=True)[1]
                place = bins[place]
            codes.append(place)
            sizes.append(int(place.max()) + 1)
            exact.append(sizes[-1] == len(distinct))
        first = np.cumsum([0, *sizes[:-1]])
        return cls(values, np.stack(codes) + first[:, None], first, np.array(sizes), sum(sizes), np.array(exact))


class _Tree:
    """A tree of logistic boosting by Newton steps, grown level by level."""

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
        """Split from the root down; the column and the bound of each inner node, numbered as in a heap."""
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
        """The Newton step of each leaf."""
        total, curved = (np.bincount(self.node, part, minlength=2**DEPTH) for part in (self.gradient, self.curvature))
        return total / (curved + SMOOTHING)

    def _best_splits(self, n_nodes: int) -> NDArray[np.intp]:
        """For each node the last bin below its best split; −1 where no split has rows enough on both sides."""
        binned, n_bins = self.binned, self.binned.n_bins
        cells = (binned.codes + (self.node * n_bins)[None]).ravel()
        n_columns = len(binned.first)
        below = np.empty((3, n_nodes, n_bins))
        for part, values in enumerate((self.gradient, self.curvature, self.weight)):
            whole = np.bincount(cells, np.tile(values, n_columns), minlength=n_nodes * n_bins).reshape(n_nodes, n_bins)
            running = np.cumsum(whole, axis=1)
            before = running[:, binned.first] - whole[:, binned.first]
            below[part] = running - np.repeat(before, binned.sizes, axis=1)
        # The last bin of the first column has all rows of a node below it.
        total = below[:, :, binned.sizes[0] - 1][:, :, None]
        gain = _gain(below[0], below[1], total[0], total[1])
        allowed = (below[2] >= FEWEST_ROWS) & (total[2] - below[2] >= FEWEST_ROWS)
        gain = np.where(allowed, np.round(gain, 9), -1.0)
        best = gain.argmax(axis=1)
        return np.where(gain[np.arange(n_nodes), best] > 0, best, -1)

    def _placed(self, rows: NDArray[np.intp], place: int) -> Threshold:
        """The split behind a bin, moved to the best place between values of the two bins beside it."""
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
        apart &= (weight >= FEWEST_ROWS) & (total - weight >= FEWEST_ROWS)
        at = int(np.where(apart, np.round(gain, 9), -1.0).argmax())
        return Threshold(column, float(sorted_values[at]), float(sorted_values[at + 1]), float(gain[at]))


def _gain(gradient: Any, curvature: Any, total_gradient: Any, total_curvature: Any) -> Any:
    """What a split is worth: how much better two Newton steps are than one."""
    rest, curved = total_gradient - gradient, np.maximum(total_curvature - curvature, 0.0)
    both = gradient**2 / (np.maximum(curvature, 0.0) + SMOOTHING) + rest**2 / (curved + SMOOTHING)
    return both - total_gradient**2 / (total_curvature + SMOOTHING)
