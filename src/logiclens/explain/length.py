"""Choose the length of a formula and the share of the teacher in its target, by cross-validation.

Every price and share is tried in folds of the training rows. `eligible` keeps the trials that are not measurably worse
than the best; `choice` takes the shortest of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.constraints import Constraint, check_all, flag, is_finite, number, optional, whole_number
from logiclens.explain.bounds import FREE, TINY, Bound, RuleBounds, savings, savings_by_row
from logiclens.explain.candidates import DEPTH, Fold, SearchTable
from logiclens.explain.search import FormulaSearch, Limits, Point
from logiclens.formula.dnf import DNF
from logiclens.formula.knowledge import Costs
from logiclens.metrics.scores import macro_f1_of_counts

SHARES = (1.0, 0.5, 0.0)
"""Shares of the teacher in the target that are tried; the labels have the rest."""
HIGHEST_PRICE = 0.04
"""First price of a path, in macro-F1 per literal; each further price is half of the one before."""
N_PRICES = 12
COVERED_PRICES = (2, 4, 6)
"""Places of the prices in a path at which a cover by pure cubes is also tried."""
FAR_ROWS = 500
"""Maximum number of rows far from a class in the search of many classes.

A row is far from a class if neither its label nor the teacher assigns it to the class. Each searched row stands for
several.
"""
SHORT_DEPTH = 4
"""Maximum number of literals of a candidate cube in the search of many classes."""
SAME = 1e-9
"""Scores that differ by less are equal."""
ERRORS = (1.5, 2.0)
"""Standard errors by which the best trial must be better before a longer formula is taken.

The first value applies if its formulas are the same in all folds, the second if they have nothing in common.
"""
PATIENCE = 2
"""A path ends if the cross-validated score has not improved at this many prices."""

LIMITS: Mapping[str, Constraint] = {
    "max_literals": optional(whole_number(1)),
    "min_support": optional(number("a weight from 0 on", lambda value: value >= 0)),
}
"""What each limit may be."""


@dataclass(frozen=True)
class FormulaLimits:
    """Limits on the formulas of an explanation; None leaves the choice to cross-validation.

    Args:
        max_literals: maximum number of literals of a formula. Default: None.
        min_support: minimum weight of rows on which each cube alone is right. Default: None.

    Raises:
        LogicLensError: if a value is outside its range.

    >>> FormulaLimits(max_literals=5).max_literals
    5
    """

    max_literals: int | None = None
    min_support: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_all(LIMITS, vars(self))

    def allow(self, formula: DNF) -> bool:
        """Return whether a formula that was not searched may be taken.

        It must be within the limits. A minimum support always requires a search.

        Args:
            formula: the formula.
        """
        if self.min_support is not None:
            return False
        return self.max_literals is None or formula.n_literals <= self.max_literals


def _are_shares(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(is_finite(share) and 0 <= share <= 1 for share in value)


def _are_names(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(name, str) for name in value)


SEARCH: Mapping[str, Constraint] = {
    **LIMITS,
    "price": optional(number("a price from 0 to below 1", lambda value: 0 <= value < 1)),
    "shares": Constraint("a tuple of shares from 0 to 1", _are_shares),
    "one_se": flag(),
    "only": optional(Constraint("a tuple of names of concepts", _are_names)),
    "consensus": flag(),
    "stated": optional(whole_number(0)),
    "bounds": optional(Constraint("RuleBounds", lambda value: isinstance(value, RuleBounds))),
}
"""What each setting of the search may be."""


@dataclass(frozen=True)
class SearchConfig(FormulaLimits):
    """Limits on the formulas, and settings of the search and the choice.

    Args:
        max_literals, min_support: see `FormulaLimits`.
        price: minimum gain in score per literal. Default: None, cross-validation chooses.
        shares: shares of the teacher that are tried. Default: `SHARES`.
        one_se: whether to take the shortest formula within the standard error of the best, instead of the best.
            Default: True.
        only: concepts that formulas may use. Default: all concepts that rules may use.
        consensus: whether to take, among equally good formulas, the one that at least half of the bags give. Default:
            True.
        bounds: what knowledge asks of the rules. Default: None, nothing.
        stated: of two classes the one that gets the formula. Default: None, cross-validation chooses.
    """

    price: float | None = None
    shares: tuple[float, ...] = SHARES
    one_se: bool = True
    only: tuple[str, ...] | None = None
    consensus: bool = True
    bounds: RuleBounds | None = None
    stated: int | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_all(SEARCH, vars(self))

    @property
    def costs(self) -> tuple[Costs, ...] | None:
        """What false alarms and misses of each class cost; None if macro-F1 is the score."""
        return None if self.bounds is None else self.bounds.bound.costs

    def bound(self, klass: int, table: SearchTable) -> Bound:
        """Return what knowledge asks of the formula of a class on a table."""
        if self.bounds is None:
            return FREE
        bound = self.bounds.of_class(klass, table.names)
        return replace(bound, fixed=table.plain(bound.fixed))

    @property
    def limits(self) -> Limits:
        """The limits of the search."""
        return Limits(self.max_literals)

    def prices(self, weight: float) -> list[float]:
        """Return the path of prices, down to the value of half a row.

        At the lowest price, a cube of some literals pays with a few rows. With `price` set, the path ends there.

        Args:
            weight: total weight of the rows.
        """
        lowest = 0.5 / max(weight, 1.0)
        path = [HIGHEST_PRICE / 2**k for k in range(N_PRICES)]
        path = [price for price in path if price >= lowest] or path[:1]
        if self.price is None:
            return path
        return [price for price in path if price > self.price] + [self.price]


@dataclass(frozen=True, eq=False)
class Judge:
    """The test rows of all folds together, and the comparison of formulas that were learned without them.

    Attributes:
        yes: weight of the class on each row, `[classes, rows]`.
        weight: weight of each row.
        copies: number of rows that each row stands for.
        fold: fold of each row.
        costs: what false alarms and misses of each class cost. Default: None, macro-F1 is the score.
    """

    yes: NDArray[np.float64]
    weight: NDArray[np.float64]
    copies: NDArray[np.float64]
    fold: NDArray[np.intp]
    costs: tuple[Costs, ...] | None = None

    @classmethod
    def of(cls, folds: Sequence[Fold], costs: tuple[Costs, ...] | None = None) -> Judge:
        """Concatenate the test rows of all folds."""
        yes = np.concatenate([fold.test.scored for fold in folds]).T
        weight = np.concatenate([fold.test.scored_weight for fold in folds])
        copies = np.concatenate([fold.test.weight for fold in folds])
        fold = np.repeat(np.arange(len(folds)), [len(one.test.bits) for one in folds])
        return cls(yes, weight, copies, fold, costs)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    def score(self, classes: Sequence[int], fires: NDArray[np.bool_], among: NDArray[np.bool_] | None = None) -> float:
        """Return the score against the labels, the mean over the classes: macro-F1, or with costs what is saved.

        Args:
            classes: the classes.
            fires: on which rows the formula of each class holds, `[classes, rows]`.
            among: rows that count. Default: all rows.
        """
        counts = self._counts(classes, fires, among)
        if self.costs is not None:
            saved = [
                savings(hit, wrong, float(hit + missed), float(wrong + rejected), self.costs[klass])
                for klass, hit, missed, wrong, rejected in zip(classes, *counts, strict=True)
            ]
            return float(np.mean(saved))
        return float(np.mean(macro_f1_of_counts(*counts)))

    def honest_best(self, trials: Sequence[Trial]) -> Trial:
        """Return the best of many trials, without the bias of choosing and scoring on the same rows.

        For each fold, take the trial that is best on the other folds (after Tibshirani and Tibshirani 2009). If several
        are equally good there, take the answers in the fold that most of them give. The answers are those for the
        classes of the first trial; with two classes, the answers for one are the negated answers for the other. A trial
        that is right on every row of every fold is returned as it is, because chance hardly produces one.
        """
        first = max(trials, key=lambda trial: trial.score)
        if first.score >= 1 - SAME:
            return first
        classes = trials[0].classes
        fires = np.zeros(trials[0].fires.shape, dtype=np.bool_)
        for fold in range(self.n_folds):
            here = self.fold == fold
            scores = np.array([self.score(trial.classes, trial.fires, ~here) for trial in trials])
            best = [trial for trial, score in zip(trials, scores, strict=True) if score >= scores.max() - SAME]
            answers = [one.fires[:, here] if one.classes == classes else ~one.fires[:, here] for one in best]
            usual = Counter(answer.tobytes() for answer in answers).most_common(1)[0][0]
            fires[:, here] = next(answer for answer in answers if answer.tobytes() == usual)
        return Trial(classes, 0.0, 0.0, fires, self.score(classes, fires), 0.0)

    def _counts(
        self, classes: Sequence[int], fires: NDArray[np.bool_], among: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float64], ...]:
        """Return, for each class, the true positives, false negatives, false positives and true negatives."""
        yes = self.yes[list(classes)]
        no = self.weight - yes
        if among is not None:
            yes, no, fires = yes[:, among], no[:, among], fires[:, among]
        hit, wrong = np.where(fires, yes, 0.0).sum(axis=1), np.where(fires, no, 0.0).sum(axis=1)
        return hit, yes.sum(axis=1) - hit, wrong, no.sum(axis=1) - wrong

    def influence(
        self, classes: Sequence[int], fires: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the first-order change of each class score with the weight of each row, as a yes and as a no.

        Both are `[classes, rows]`.
        """
        hit, missed, wrong, rejected = (counts[:, None] for counts in self._counts(classes, fires))
        if self.costs is not None:
            costs = [self.costs[klass] for klass in classes]
            return savings_by_row(fires, (hit + missed)[:, 0], (wrong + rejected)[:, 0], costs)
        yes_size, no_size = np.maximum(2 * hit + missed + wrong, TINY), np.maximum(2 * rejected + missed + wrong, TINY)
        # F1 = 2 hit / (2 hit + missed + wrong). These are its derivatives by a hit and by an error, for both classes.
        by_hit, by_error = (missed + wrong) / yes_size**2, -hit / yes_size**2
        by_rejected, by_error_no = (missed + wrong) / no_size**2, -rejected / no_size**2
        as_yes = np.where(fires, by_hit, by_error + by_error_no)
        as_no = np.where(fires, by_error + by_error_no, by_rejected)
        return as_yes, as_no

    def error(self, first: Trial, second: Trial, correction: float | None = None) -> float:
        """Return the standard error of the difference of two scores, paired by rows.

        The error is corrected for training sets that overlap (Nadeau and Bengio 2003): over k folds the variance of a
        mean is 1/k + 1/(k - 1) of the variance of a fold, instead of 1/k.

        Args:
            first: one trial.
            second: the other trial.
            correction: factor of the variance. Default: 1 + k/(k - 1).
        """
        correction = 1 + self.n_folds / (self.n_folds - 1) if correction is None else correction
        # A row is a yes for its own class and a no for all others.
        moved = np.zeros((len(self.yes), len(self.weight)))
        by_others = np.zeros(len(self.weight))
        for trial, sign in ((first, 1.0), (second, -1.0)):
            as_yes, as_no = self.influence(trial.classes, trial.fires)
            by_others += sign * as_no.mean(axis=0)
            moved[list(trial.classes)] += sign * (as_yes - as_no) / len(trial.classes)
        asked = sorted({*first.classes, *second.classes})
        share = self.yes[asked] / np.maximum(self.weight, TINY)
        squared = (share * (moved[asked] + by_others) ** 2).sum(axis=0) + (1 - share.sum(axis=0)) * by_others**2
        factor = self.weight / np.maximum(self.copies, TINY)
        return float(np.sqrt(max((self.copies * factor**2 * squared).sum() * correction, 0.0)))


@dataclass(frozen=True, eq=False)
class Trial:
    """One share and price in cross-validation, for one class or for several together.

    Attributes:
        classes: the classes.
        share: share of the teacher in the target.
        price: price of a literal.
        fires: for each class, the rows of the test folds on which the formula holds that was learned without that fold.
        score: macro-F1 on these rows, the mean over the classes.
        literals: mean number of literals.
        fit: mean macro-F1 of the formulas against the labels of their training rows.
        stability: similarity of the formulas of the folds, from 0 to 1: the mean overlap of literals over pairs of
            folds.
    """

    classes: tuple[int, ...]
    share: float
    price: float
    fires: NDArray[np.bool_]
    score: float
    literals: float
    fit: float = 0.0
    stability: float = 1.0


class _Race:
    """The paths of some classes with one share in all folds, price by price."""

    def __init__(
        self, folds: Sequence[Fold], judge: Judge, classes: tuple[int, ...], share: float, config: SearchConfig
    ) -> None:
        self.folds, self.judge, self.classes, self.share = folds, judge, classes, share
        self.costs = config.costs
        far = FAR_ROWS if len(classes) > 1 else None
        # One search for each class and fold.
        self.runs = [(klass, fold) for klass in classes for fold in folds]
        self.searches = [
            formula_search(fold.train, klass, share, config, far=far, thorough=False) for klass, fold in self.runs
        ]
        self.paths: list[list[Point]] = [[] for _ in self.runs]
        self.trials: list[Trial] = []
        self.since = 0

    def step(self, price: float) -> Trial:
        """Continue with the next price."""
        cover = len(self.trials) in COVERED_PRICES
        for search, points in zip(self.searches, self.paths, strict=True):
            points.append(search.step(price, points[-1].cubes if points else (), cover=cover))
        trial = self._trial(price, len(self.trials))
        best = max((one.score for one in self.trials), default=-np.inf)
        if trial.score > best + 1e-6:
            self.since = 0
        elif self.trials and trial.literals > self.trials[-1].literals:
            # A price at which formulas do not grow says nothing about longer formulas.
            self.since += 1
        self.trials.append(trial)
        return trial

    def _trial(self, price: float, place: int) -> Trial:
        found = [points[place] for points in self.paths]
        fires = [fold.test.fires(point.cubes) for (_, fold), point in zip(self.runs, found, strict=True)]
        n, n_folds = len(self.classes), len(self.folds)
        by_class = [np.concatenate(fires[k * n_folds : (k + 1) * n_folds]) for k in range(n)]
        literals = float(np.mean([point.n_literals for point in found]))
        fits = [
            fold.train.fit(klass, point.cubes, self.costs)
            for (klass, fold), point in zip(self.runs, found, strict=True)
        ]
        keys = [fold.train.keys(point.cubes) for (_, fold), point in zip(self.runs, found, strict=True)]
        alike = [_overlap(a, b) for k in range(n) for a, b in combinations(keys[k * n_folds : (k + 1) * n_folds], 2)]
        said = np.stack(by_class)
        score = self.judge.score(self.classes, said)
        return Trial(
            self.classes, self.share, price, said, score, literals, float(np.mean(fits)), float(np.mean(alike))
        )

    def is_behind(self, leader: Trial) -> bool:
        """Return whether the formulas are measurably worse than the leader's and not shorter.

        They must be longer than the leader's, or as long and no longer growing.
        """
        best = max(self.trials, key=lambda trial: trial.score)
        length = self.trials[-1].literals
        is_stuck = len(self.trials) > PATIENCE and self.trials[-1 - PATIENCE].literals == length
        longer = length > leader.literals or (is_stuck and length == leader.literals)
        return bool(longer and leader.score - best.score > self.judge.error(leader, best))

    def finished(self) -> list[Trial]:
        """Return the trials. Formulas of lower prices may be pruned to better formulas of higher prices."""
        self.paths = [search.pruned(points) for search, points in zip(self.searches, self.paths, strict=True)]
        return [self._trial(trial.price, place) for place, trial in enumerate(self.trials)]


def cross_validate(
    folds: Sequence[Fold],
    options: Sequence[tuple[int, ...]],
    shares: Sequence[float],
    config: SearchConfig,
    weight: float,
    tell: Callable[[int], None] = lambda _: None,
) -> list[Trial]:
    """Score the paths of some options and shares in every fold; all paths reach one price before the next.

    A path ends if lower prices no longer help, or if its formulas are longer than the best and measurably worse.

    Args:
        folds: the folds.
        options: each option is one class, or several classes that are judged together.
        shares: shares of the teacher that are tried.
        config: limits on the formulas and settings of the search.
        weight: total weight of the training rows.
        tell: a function that is called with the number of finished prices; all are when it has ended.

    Returns:
        The trials of all paths.
    """
    judge = Judge.of(folds, config.costs)
    running = [_Race(folds, judge, classes, share, config) for classes in options for share in shares]
    ended: list[_Race] = []
    leader: Trial | None = None
    prices = config.prices(weight)
    for place, price in enumerate(prices):
        for race in running:
            trial = race.step(price)
            leader = trial if leader is None or trial.score > leader.score else leader
        if leader is None or not running:
            break
        if config.price is None:
            out = [race for race in running if race.since >= PATIENCE or race.is_behind(leader)]
            if leader.score >= 1 - 1e-9:
                # No score can be better, and possibly shorter formulas were found at higher prices.
                out = running
            ended += out
            running = [race for race in running if race not in out]
        tell(place + 1 if running else len(prices))
    return [trial for race in (*ended, *running) for trial in race.finished()]


def eligible(trials: Sequence[Trial], judge: Judge, *, one_se: bool = True, n_classes: int = 1) -> list[Trial]:
    """Return the best trial and all trials within some standard errors of it, by the paired difference.

    A best trial whose formulas differ from fold to fold must be better by more. Trials may stand for more classes than
    they were made on; the mean over all `n_classes` has a smaller error. One standard error is then required, because
    the formula of one class says little about the others.

    Args:
        trials: the trials.
        judge: the test rows of the folds.
        one_se: whether to return these trials, instead of the best alone. Default: True.
        n_classes: number of classes that the trials stand for. Default: 1.
    """
    first = max(trials, key=lambda trial: trial.score)
    if not one_se:
        return [first]
    best, errors = judge.honest_best(trials), float(np.interp(first.stability, (0, 1), ERRORS[::-1]))
    if n_classes > 1:
        errors = min(1.0, len(first.classes) / n_classes) ** 0.5
    return [
        trial for trial in trials if trial is first or best.score - trial.score <= errors * judge.error(best, trial)
    ]


def _overlap(first: frozenset[Any], second: frozenset[Any]) -> float:
    """Return the size of the intersection over the size of the union."""
    return len(first & second) / len(first | second) if first or second else 1.0


def formula_search(
    table: SearchTable, klass: int, share: float, config: SearchConfig, *, far: int | None = None, thorough: bool = True
) -> FormulaSearch:
    """Return the search for the formula of a class.

    Args:
        table: the rows.
        klass: the class.
        share: share of the teacher in the target.
        config: limits on the formulas.
        far: maximum number of rows far from the class, for one of many classes, whose search must be short. Default:
            None, all rows.
        thorough: see `FormulaSearch`. Default: True.
    """
    bound = config.bound(klass, table)
    rows, support = table.rows(klass, share, far).within(bound), table.support(klass, config.min_support)
    depth = DEPTH if far is None else SHORT_DEPTH
    return FormulaSearch(rows, support, config.limits.beside(bound), thorough=thorough, depth=depth, bound=bound)
