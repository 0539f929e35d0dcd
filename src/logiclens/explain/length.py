"""Choose the length of a formula: a literal must earn one point of macro-F1, and a longer formula a clear gain.

Each price of a literal gives a formula in every bag, which is tested on the rows that the bag leaves out. The path
starts at one point; a lower price is taken only for a clear gain, see `chosen`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logiclens.constraints import Constraint, check_all, number, optional, whole_number
from logiclens.explain.bounds import FREE, Bound, RuleBounds
from logiclens.explain.candidates import DEPTH, Codes
from logiclens.explain.search import FormulaSearch, Limits, Point
from logiclens.explain.search_table import LEFT_OUT, N_BAGS, Bag, SearchTable
from logiclens.formula.dnf import DNF
from logiclens.formula.knowledge import Costs

PRICE = 0.01
"""What a literal must earn: one point of macro-F1."""
LOWEST_PRICE = 0.0003
"""The lowest price that is tried; each price is half of the one before."""
FIRST_PRICES = (0.04, 0.02)
"""Higher prices, which come first because long formulas grow from short ones. `chosen` never takes them."""
GAIN = 0.01
"""What a longer formula must gain in macro-F1, on the rows that the bags leave out."""
LACK = 0.1
"""Near a perfect score less is enough: this share of what the shorter formula lacks to it."""
ERRORS = 1.0
"""The gain must also exceed this many standard errors, which are corrected for bags that overlap."""
PATIENCE = 1
"""A path ends if the score has not improved at this many prices at which formulas grew."""
COVERED_PRICES = (4, 6)
"""Places of the prices in a path at which a cover by pure cubes is also tried in a bag."""
FAR_ROWS = 500
"""Maximum number of rows of other classes in the search of many classes. Each searched row stands for several."""
SHORT_DEPTH = 4
"""Maximum number of literals of a candidate cube in the search of many classes."""

LIMITS: Mapping[str, Constraint] = {
    "max_literals": optional(whole_number(1)),
    "min_support": optional(number("a weight from 0 on", lambda value: value >= 0)),
}
"""What each limit may be."""


@dataclass(frozen=True)
class FormulaLimits:
    """Limits on the formulas of an explanation; None is no limit.

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
        return self.min_support is None and (self.max_literals is None or formula.n_literals <= self.max_literals)


SEARCH: Mapping[str, Constraint] = {
    **LIMITS,
    "stated": optional(whole_number(0)),
    "bounds": optional(Constraint("RuleBounds", lambda value: isinstance(value, RuleBounds))),
    "price": optional(number("a price from 0 to below 1", lambda value: 0 <= value < 1)),
}
"""What each setting of the search may be."""


@dataclass(frozen=True)
class SearchConfig(FormulaLimits):
    """Limits on the formulas, and settings of the search and the choice.

    Args:
        max_literals, min_support: see `FormulaLimits`.
        bounds: what knowledge asks of the rules. Default: None, nothing.
        stated: of two classes the one that gets the formula. Default: None, it is chosen.
        price: the only price that is tried. Default: None, the length is chosen.
    """

    bounds: RuleBounds | None = None
    stated: int | None = None
    price: float | None = None

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
        """Return the path of prices, at most down to the value of half a row.

        At the lowest price, a cube of some literals pays with a few rows.

        Args:
            weight: total weight of the rows.
        """
        if self.price is not None:
            return [self.price]
        n_prices = 1 + math.floor(math.log2(PRICE / LOWEST_PRICE))
        path = [PRICE / 2**place for place in range(n_prices)]
        return [price for price in path if price >= 0.5 / max(weight, 1.0)] or path[:1]


@dataclass(frozen=True, eq=False)
class Trial:
    """One price in all bags, for one class or for several that are judged together.

    Attributes:
        price: price of a literal.
        scores: score in each bag on the rows that the bag leaves out, the mean over the classes.
        formulas: for each class, the formula that each bag gives.
    """

    price: float
    scores: np.ndarray[Any, np.dtype[np.float64]]
    formulas: tuple[tuple[tuple[Codes, ...], ...], ...]

    @property
    def score(self) -> float:
        """Mean score over the bags."""
        return float(self.scores.mean())

    @property
    def n_literals(self) -> float:
        """Mean number of literals of a formula."""
        return float(np.mean([sum(map(len, cubes)) for bags in self.formulas for cubes in bags]))


def tried(
    bags: Sequence[Bag],
    classes: Sequence[int],
    config: SearchConfig,
    prices: Sequence[float],
    tell: Callable[[], None] = lambda: None,
) -> list[Trial]:
    """Score the path of prices in every bag; it ends where lower prices no longer help.

    Args:
        bags: the bags.
        classes: one class, or several that are judged together.
        config: limits on the formulas and settings of the search.
        prices: the prices from one point of macro-F1 on, falling; higher ones come before them.
        tell: a function that is called after each price.
    """
    far = FAR_ROWS if len(classes) > 1 else None
    runs = [(klass, bag) for klass in classes for bag in bags]
    searches = [formula_search(bag.train, klass, config, far=far, thorough=False) for klass, bag in runs]
    points: list[Point | None] = [None] * len(runs)
    trials: list[Trial] = []
    since = 0
    for place, price in enumerate([*FIRST_PRICES, *prices]):
        points = [
            search.step(price, point.cubes if point else (), cover=place in COVERED_PRICES)
            for search, point in zip(searches, points, strict=True)
        ]
        trial = _trial(price, [point.cubes for point in points if point], runs, classes, config)
        tell()
        best = max((one.score for one in trials), default=-math.inf)
        # A price at which formulas do not grow says nothing about longer formulas.
        grown = bool(trials) and trial.n_literals > trials[-1].n_literals
        since = 0 if trial.score > best + 1e-6 else since + grown
        trials.append(trial)
        if place >= len(FIRST_PRICES) and (since >= PATIENCE or trial.score >= 1 - 1e-9):
            break
    return trials


def _trial(
    price: float,
    formulas: Sequence[tuple[Codes, ...]],
    runs: Sequence[tuple[int, Bag]],
    classes: Sequence[int],
    config: SearchConfig,
) -> Trial:
    plain = [bag.train.plain(cubes) for (_, bag), cubes in zip(runs, formulas, strict=True)]
    scores = [bag.test.fit(klass, cubes, config.costs) for (klass, bag), cubes in zip(runs, plain, strict=True)]
    n_bags = len(runs) // len(classes)
    by_class = tuple(tuple(plain[start : start + n_bags]) for start in range(0, len(plain), n_bags))
    return Trial(price, np.array(scores).reshape(len(classes), n_bags).mean(axis=0), by_class)


def chosen(trials: Sequence[Trial]) -> Trial:
    """Return the trial at one point per literal, or a longer one that is clearly better than all before it."""
    best = trials[len(FIRST_PRICES)]
    for longer in trials[len(FIRST_PRICES) + 1 :]:
        least = min(GAIN, LACK * (1 - best.score))
        if (longer.scores - best.scores).mean() > max(least, ERRORS * error_of_gain(longer, best)):
            best = longer
    return best


def error_of_gain(first: Trial, second: Trial) -> float:
    """Return the standard error of the mean difference of two trials over the bags.

    It is corrected for bags that overlap (Nadeau and Bengio 2003): the variance of a bag counts 1/n for n bags, plus
    the ratio of the rows that a bag leaves out to those that it has.
    """
    difference = first.scores - second.scores
    if len(difference) < 2:
        return math.inf
    overlap = LEFT_OUT / (N_BAGS - LEFT_OUT)
    return float(difference.std(ddof=1) * math.sqrt(1 / len(difference) + overlap))


def formula_search(
    table: SearchTable, klass: int, config: SearchConfig, *, far: int | None = None, thorough: bool = True
) -> FormulaSearch:
    """Return the search for the formula of a class.

    Args:
        table: the rows.
        klass: the class.
        config: limits on the formulas.
        far: maximum number of rows of other classes, for one of many classes, whose search must be short. Default:
            None, all rows.
        thorough: see `FormulaSearch`. Default: True.
    """
    bound = config.bound(klass, table)
    rows, support = table.rows(klass, far).within(bound), table.support(klass, config.min_support)
    depth = DEPTH if far is None else SHORT_DEPTH
    return FormulaSearch(rows, support, config.limits.beside(bound), thorough=thorough, depth=depth, bound=bound)
