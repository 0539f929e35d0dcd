"""How long a formula should be, and how far to trust the teacher: chosen by cross-validation inside the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.explain.search import Codes, FormulaSearch, Limits, Point, SearchRows, Support
from logiclens.formula.counted import distinct
from logiclens.metrics.scores import macro_f1_of_counts
from logiclens.train.committee import Taught, Teacher

SHARES = (1.0, 0.5, 0.0)
"""Shares of the teacher in the target that are tried; the labels have the rest."""
HIGHEST_PRICE = 0.08
"""The first price of a path, in macro-F1 for each literal; each next one is half of it."""
N_PRICES = 12
COVERED_PRICES = (3, 5, 7)
"""The prices of a path at which a cover by pure cubes is tried as well, by their place."""
PATIENCE = 2
"""A path ends when the cross-validated score has not improved at so many prices."""


@dataclass(frozen=True)
class SearchConfig:
    """What is asked of formulas; None leaves the choice to cross-validation.

    Args:
        max_literals: the most literals of a formula.
        max_cubes: the most cubes of a formula.
        price: the score that a literal must earn.
        min_support: the weight of rows that each cube must be right on alone.
        shares: shares of the teacher that are tried.
        one_se: whether the shortest formula within one standard error of the best is taken, instead of the best.
    """

    max_literals: int | None = None
    max_cubes: int | None = None
    price: float | None = None
    min_support: float | None = None
    shares: tuple[float, ...] = SHARES
    one_se: bool = True

    @property
    def limits(self) -> Limits:
        """The limits of the search."""
        return Limits(self.max_literals, self.max_cubes)

    def prices(self, weight: float) -> list[float]:
        """The path of prices, down to what half a row is worth."""
        lowest = 0.5 / max(weight, 1.0)
        path = [HIGHEST_PRICE / 2**k for k in range(N_PRICES)]
        path = [price for price in path if price >= lowest] or path[:1]
        if self.price is None:
            return path
        return [price for price in path if price > self.price] + [self.price]


@dataclass(frozen=True, eq=False)
class Lesson:
    """The rows of a search, counted: equal Boolean rows are one.

    Attributes:
        bits: the concepts that rules may use.
        weight: of each row, as it is.
        labels: the weight of each class on each row.
        scored: the weight of each class on each row as it counts for the score, with class weights.
        taught: the same, with the teacher's probabilities in place of labels.
    """

    names: tuple[str, ...]
    bits: NDArray[np.bool_]
    weight: NDArray[np.float64]
    labels: NDArray[np.float64]
    scored_weight: NDArray[np.float64]
    scored: NDArray[np.float64]
    taught: NDArray[np.float64]
    float_bits: list[NDArray[np.float32]] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, taught: Taught, names: Sequence[str], factors: NDArray[np.float64] | None = None) -> Lesson:
        """Count rows on the concepts `names`; `factors` are weights of the classes."""
        used = np.flatnonzero(taught.weight > 0)
        table = taught.table
        columns = [table.names.index(name) for name in names]
        bits = table.boolean()[used][:, columns]
        weight, probability = taught.weight[used], taught.probability[used]
        labels = table.targets()[used] * weight[:, None]
        factor = np.ones(len(used))
        if factors is not None and not table.is_multilabel and table.labels is not None:
            factor = factors[table.labels[used]]
        first, group = distinct(bits)

        def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
            if values.ndim == 1:
                return np.bincount(group, values, minlength=len(first)).astype(np.float64)
            return np.stack([summed(column) for column in values.T], axis=1)

        return cls(
            tuple(names),
            bits[first],
            summed(weight),
            summed(labels),
            summed(weight * factor),
            summed(labels * factor[:, None]),
            summed(probability * factor[:, None]),
        )

    def rows(self, klass: int, share: float) -> SearchRows:
        """The rows for the formula of a class, with a share of the teacher in the target."""
        if not self.float_bits:
            self.float_bits.append(np.ascontiguousarray(self.bits, dtype=np.float32))
        target = share * self.taught[:, klass] + (1 - share) * self.scored[:, klass]
        yes, no = target.astype(np.float32), (self.scored_weight - target).astype(np.float32)
        right, weight = self.labels[:, klass].astype(np.float32), self.weight.astype(np.float32)
        return SearchRows(
            self.float_bits[0], yes, no, yes if np.array_equal(right, yes) else right, weight, self.names
        )

    def support(self, klass: int, at_least: float | None) -> Support:
        """What a cube of the class must show."""
        return Support.of(self.labels[:, klass], self.weight, at_least)

    def score(self, klass: int, cubes: Sequence[Codes]) -> float:
        """Macro-F1 of a formula against the labels."""
        fires = np.zeros(len(self.bits), dtype=np.bool_)
        for cube in cubes:
            held = np.ones(len(self.bits), dtype=np.bool_)
            for code in cube:
                held &= self.bits[:, code >> 1] == (1 - (code & 1))
            fires |= held
        yes = self.scored[:, klass]
        no = self.scored_weight - yes
        hit, wrong = yes[fires].sum(), no[fires].sum()
        return float(macro_f1_of_counts(hit, yes.sum() - hit, wrong, no.sum() - wrong))


@dataclass(frozen=True, eq=False)
class Fold:
    """What is learned from and what is tested on in one inner fold."""

    train: Lesson
    test: Lesson


@dataclass(frozen=True, eq=False)
class Trial:
    """One class, share and price in cross-validation: the score and the literals in each fold."""

    klass: int
    share: float
    price: float
    scores: NDArray[np.float64]
    literals: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean score."""
        return float(self.scores.mean())


@dataclass(frozen=True, eq=False)
class Choice:
    """The formula of one class, why it has its length, and the whole path.

    Attributes:
        klass: the class.
        share: the share of the teacher in the target.
        price: the price of a literal.
        cubes: the formula, as codes of `names`.
        names: the concepts.
        path: for each price the formula found on all training rows.
        trials: what cross-validation said about each price of the path; empty where there were too few rows for it.
        note: what a reader should know of the choice.
    """

    klass: int
    share: float
    price: float
    cubes: tuple[Codes, ...]
    names: tuple[str, ...]
    path: tuple[Point, ...]
    trials: tuple[Trial, ...]
    note: str | None = None

    @property
    def n_literals(self) -> int:
        """Literals in all cubes."""
        return sum(map(len, self.cubes))


def corrected_error(differences: NDArray[np.float64], test_share: float) -> float:
    """The standard error of a mean over folds whose training sets overlap (Nadeau and Bengio 2003).

    `test_share` is the size of a test set over that of its training set.
    """
    n = len(differences)
    if n < 2:
        return float("inf")
    return float(np.sqrt((1 / n + test_share) * differences.var(ddof=1)))


class _Race:
    """The path of one class and share in all folds, price by price."""

    def __init__(self, folds: Sequence[Fold], klass: int, share: float, config: SearchConfig) -> None:
        self.folds, self.klass, self.share = folds, klass, share
        self.searches = [
            FormulaSearch(
                fold.train.rows(klass, share),
                fold.train.support(klass, config.min_support),
                config.limits,
                thorough=False,
            )
            for fold in folds
        ]
        self.paths: list[list[Point]] = [[] for _ in folds]
        self.trials: list[Trial] = []
        self.since = 0

    def step(self, price: float) -> Trial:
        """Go on to the next price."""
        cover = len(self.trials) in COVERED_PRICES
        for search, points in zip(self.searches, self.paths, strict=True):
            points.append(search.step(price, points[-1].cubes if points else (), cover=cover))
        trial = self._trial(price, len(self.trials))
        best = max((one.mean for one in self.trials), default=-np.inf)
        if trial.mean > best + 1e-6:
            self.since = 0
        elif self.trials and trial.literals.mean() > self.trials[-1].literals.mean():
            # A price at which formulas do not grow says nothing about longer ones.
            self.since += 1
        self.trials.append(trial)
        return trial

    def _trial(self, price: float, place: int) -> Trial:
        scores = [f.test.score(self.klass, points[place].cubes) for f, points in zip(self.folds, self.paths, strict=True)]
        literals = [float(points[place].n_literals) for points in self.paths]
        return Trial(self.klass, self.share, price, np.array(scores), np.array(literals))

    def is_behind(self, leader: Trial, test_share: float) -> bool:
        """Whether the formulas are longer than the leader's already, and measurably worse."""
        loss = leader.scores - max(self.trials, key=lambda trial: trial.mean).scores
        longer = self.trials[-1].literals.mean() >= leader.literals.mean()
        return bool(longer and loss.mean() > corrected_error(loss, test_share))

    def finished(self) -> list[Trial]:
        """The trials, where formulas of lower prices may be pruned to better ones of higher prices."""
        self.paths = [search.pruned(points) for search, points in zip(self.searches, self.paths, strict=True)]
        return [self._trial(trial.price, place) for place, trial in enumerate(self.trials)]


def cross_validate(
    folds: Sequence[Fold], classes: Sequence[int], shares: Sequence[float], config: SearchConfig, weight: float
) -> list[Trial]:
    """Score the paths of some classes and shares in every fold, all at one price before the next.

    A path ends where lower prices no longer help, or where it is longer than the best and measurably worse.
    """
    running = [_Race(folds, klass, share, config) for klass in classes for share in shares]
    ended: list[_Race] = []
    test_share = 1 / (len(folds) - 1)
    leader: Trial | None = None
    for price in config.prices(weight):
        for race in running:
            trial = race.step(price)
            leader = trial if leader is None or trial.mean > leader.mean else leader
        if leader is None or not running:
            break
        if config.price is None:
            out = [race for race in running if race.since >= PATIENCE or race.is_behind(leader, test_share)]
            if leader.scores.min() >= 1 - 1e-9:
                # Nothing can be better, and formulas that may be shorter were found at higher prices.
                out = running
            ended += out
            running = [race for race in running if race not in out]
    return [trial for race in (*ended, *running) for trial in race.finished()]


def eligible(trials: Sequence[Trial], test_share: float, *, one_se: bool = True) -> list[Trial]:
    """The trials whose loss to the best is within one standard error of the paired difference; else the best alone."""
    best = max(trials, key=lambda trial: trial.mean)
    if not one_se:
        return [best]
    kept = []
    for trial in trials:
        loss = best.scores - trial.scores
        if trial is best or float(loss.mean()) <= corrected_error(loss, test_share):
            kept.append(trial)
    return kept


def choose(
    teacher: Teacher,
    config: SearchConfig,
    factors: NDArray[np.float64] | None = None,
    *,
    two_classes: bool = False,
) -> list[Choice]:
    """The formula of each class; of two classes the one formula that states both."""
    names = literals_of(teacher.grouped.cut.table)
    folds = folds_of(teacher, factors)
    everything = Lesson.of(teacher.all_rows(), names, factors)
    n_classes = everything.labels.shape[1]
    groups = [range(n_classes)] if two_classes else [[klass] for klass in range(n_classes)]
    return [_chosen(everything, folds, classes, config) for classes in groups]


def folds_of(teacher: Teacher, factors: NDArray[np.float64] | None = None) -> list[Fold]:
    """The inner folds; none where there are too few rows."""
    grouped = teacher.grouped
    folds = []
    if grouped.n_groups < 2:
        return []
    for test in range(grouped.n_groups):
        taught = teacher.without(test)
        table = grouped.fold(test).table
        marked = literals_of(table)
        if taught is None:
            weight = grouped.weight - grouped.groups[test]
            taught = Taught(table, weight, table.targets() * weight[:, None])
        held = grouped.groups[test]
        tested = Taught(table, held, table.targets() * held[:, None])
        folds.append(Fold(Lesson.of(taught, marked, factors), Lesson.of(tested, marked, factors)))
    return folds


def literals_of(table: ConceptTable) -> tuple[str, ...]:
    """The concepts that rules may use."""
    marked = getattr(table, "literals", None)
    return tuple(table.names if marked is None else marked)


def _path(everything: Lesson, klass: int, share: float, config: SearchConfig, prices: Sequence[float]) -> list[Point]:
    search = FormulaSearch(everything.rows(klass, share), everything.support(klass, config.min_support), config.limits)
    return search.path(prices)


def _chosen(everything: Lesson, folds: Sequence[Fold], classes: Sequence[int], config: SearchConfig) -> Choice:
    """The best formula of a class; of several classes, the one that states the others best."""
    weight = float(everything.weight.sum())
    shares = config.shares if len(folds) > 2 else (0.0,)
    sizes = everything.labels.sum(axis=0)
    if not folds:
        klass = min(classes, key=lambda place: float(sizes[place]))
        prices = config.prices(weight)[:1]
        path = _path(everything, klass, shares[-1], config, prices)
        note = "too few rows of this class to choose a length by cross-validation: the shortest formula is taken."
        return Choice(klass, shares[-1], prices[0], path[-1].cubes, everything.names, tuple(path), (), note)
    trials = cross_validate(folds, classes, shares, config, weight)
    if config.price is not None:
        trials = [trial for trial in trials if trial.price == config.price]
    kept = eligible(trials, 1 / (len(folds) - 1), one_se=config.one_se)
    options = []
    for klass in classes:
        own = [trial for trial in kept if trial.klass == klass]
        if not own:
            continue
        share = max(trial.share for trial in own)
        taken = max((trial for trial in own if trial.share == share), key=lambda trial: trial.price)
        tried = tuple(trial for trial in trials if trial.klass == klass and trial.share == share)
        prices = [trial.price for trial in tried] if config.price is None else config.prices(weight)
        path = _path(everything, klass, share, config, prices)
        point = next(point for point in path if point.price == taken.price)
        options.append(Choice(klass, share, taken.price, point.cubes, everything.names, tuple(path), tried))
    # Within one standard error the shorter formula, then the rarer class, then the first.
    return min(options, key=lambda choice: (not choice.cubes, choice.n_literals, float(sizes[choice.klass])))
