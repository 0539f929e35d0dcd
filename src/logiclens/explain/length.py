"""The length of a formula and the share of the teacher in it: chosen by cross-validation inside the training rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.explain.search import DEPTH, TINY, Codes, FormulaSearch, Limits, Point, SearchRows, Support, formula_of
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.metrics.scores import macro_f1_of_counts
from logiclens.train.committee import MANY_CLASSES, N_GROUPS, CutRows, Taught, Teacher

Stated: TypeAlias = tuple[int, tuple[Codes, ...]]
"""A class and the cubes of its formula."""

SHARES = (1.0, 0.5, 0.0)
"""Shares of the teacher in the target that are tried; the labels have the rest."""
HIGHEST_PRICE = 0.04
"""The first price of a path, in macro-F1 for each literal; each next one is half of it."""
N_PRICES = 12
COVERED_PRICES = (2, 4, 6)
"""The prices of a path at which a cover by pure cubes is tried as well, by their place."""
MOST_ROWS = 5_000
"""Of more rows a share is searched in each inner fold and bag: prices and shares need no more to be told apart."""
MOST_OF_ALL = 15_000
"""Of more rows a share is searched for the formula itself."""
FAR_ROWS = 500
"""Rows far from a class that are searched, of many classes: those that neither their label nor the teacher gives to
it. Each stands for several."""
FAR_OF_ALL = 2_000
"""The same, for the formula itself."""
SHORT_DEPTH = 4
"""The most literals of a candidate cube, of many classes."""
FIT = 0.005
"""How much worse than in the folds a formula may fit all rows before a lower price is tried."""
SAME = 1e-9
"""Scores that differ by less are equal."""
ERRORS = (1.5, 2.0)
"""Standard errors that the best must be better by before a longer formula is taken: where its formulas are the same in
all folds, and where they have nothing in common."""
PATIENCE = 2
"""A path ends when the cross-validated score has not improved at so many prices."""


@dataclass(frozen=True)
class FormulaLimits:
    """What is asked of formulas; None leaves the choice to cross-validation.

    Args:
        max_literals: the most literals of a formula.
        max_cubes: the most cubes of a formula.
        price: the score that a literal must earn.
        min_support: the weight of rows that each cube must be right on alone.
    """

    max_literals: int | None = None
    max_cubes: int | None = None
    price: float | None = None
    min_support: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no formula can meet."""
        for name in ("max_literals", "max_cubes"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or value < 1):
                raise LogicLensError(f"{name} must be a whole number from 1 on, or None, got {value!r}.")
        for name, most in (("price", 1.0), ("min_support", math.inf)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Real) or not 0 <= float(value) < most):
                kind = "a price from 0 to below 1" if name == "price" else "a weight from 0 on"
                raise LogicLensError(f"{name} must be {kind}, or None, got {value!r}.")

    def allow(self, formula: DNF) -> bool:
        """Whether a formula that was not searched may be taken."""
        if self.price is not None or self.min_support is not None:
            return False
        few_cubes = self.max_cubes is None or len(formula) <= self.max_cubes
        return few_cubes and (self.max_literals is None or formula.n_literals <= self.max_literals)


@dataclass(frozen=True)
class SearchConfig(FormulaLimits):
    """What is asked of formulas, and how they are searched and chosen.

    Args:
        shares: shares of the teacher that are tried.
        one_se: whether the shortest formula within the standard error of the best is taken, instead of the best.
        only: the concepts that formulas may use; all that are for rules where not given.
        consensus: whether of equally good formulas the one that at least half of the bags give is taken.
    """

    shares: tuple[float, ...] = SHARES
    one_se: bool = True
    only: tuple[str, ...] | None = None
    consensus: bool = True

    @property
    def limits(self) -> Limits:
        """The limits of the search."""
        return Limits(self.max_literals, self.max_cubes)

    def prices(self, weight: float) -> list[float]:
        """The path of prices, down to what half a row is worth: then a cube of some literals pays with a few rows."""
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
        names: the concepts that rules may use.
        about: what each is about: equal for thresholds of one column.
        groups: which concepts exclude or imply each other.
        bits: these concepts.
        weight: of each row, as it is.
        labels: the weight of each class on each row.
        scored: the weight of each class on each row as it counts for the score, with class weights.
        taught: the same, with the teacher's probabilities in place of labels.
        part: the share of all training rows that these are.
    """

    names: tuple[str, ...]
    about: tuple[Hashable, ...]
    groups: Groups
    bits: NDArray[np.bool_]
    weight: NDArray[np.float64]
    labels: NDArray[np.float64]
    scored_weight: NDArray[np.float64]
    scored: NDArray[np.float64]
    taught: NDArray[np.float64]
    part: float = 1.0
    float_bits: list[NDArray[np.float32]] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls,
        taught: Taught,
        names: Sequence[str],
        factors: NDArray[np.float64] | None = None,
        *,
        most: int | None = None,
        whole: float | None = None,
    ) -> Lesson:
        """Count rows on the concepts `names`; `factors` are weights of the classes.

        Of more than `most` rows a share is taken, evenly spread over the classes. `whole` is the weight of the rows
        that these are a part of, as in a fold.
        """
        taught = taught if most is None else taught.at_most(most)
        used = np.flatnonzero(taught.weight > 0)
        table = taught.table
        columns = np.array([table.names.index(name) for name in names], dtype=np.intp)
        bits = table.boolean()[used][:, columns]
        weight, probability = taught.weight[used], taught.probability[used]
        targets = taught.targets()[used]
        labels = targets * weight[:, None]
        factor = np.ones(len(used))
        if factors is not None and not table.is_multilabel and table.labels is not None:
            factor = factors[targets.argmax(axis=1)]
        first, group = distinct(bits)

        def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
            if values.ndim == 1:
                return np.bincount(group, values, minlength=len(first)).astype(np.float64)
            return np.stack([summed(column) for column in values.T], axis=1)

        return cls(
            tuple(names),
            tuple(names if taught.about is None else (taught.about.get(name, name) for name in names)),
            table.groups,
            bits[first],
            summed(weight),
            summed(labels),
            summed(weight * factor),
            summed(labels * factor[:, None]),
            summed(probability * factor[:, None]),
            part=float(weight.sum()) / whole if whole else 1.0,
        )

    def rows(self, klass: int, share: float, far: int | None = None) -> SearchRows:
        """The rows for the formula of a class, with a share of the teacher in the target.

        Of the rows that neither their label nor the teacher gives to the class at most `far` are kept, evenly spaced by
        weight in the order of the rows; they weigh as much as all of them.
        """
        if not self.float_bits:
            self.float_bits.append(np.ascontiguousarray(self.bits, dtype=np.float32))
        columns = self.float_bits[0]
        target = share * self.taught[:, klass] + (1 - share) * self.scored[:, klass]
        no, right, weight = self.scored_weight - target, self.labels[:, klass], self.weight
        is_far = (self.taught[:, klass] <= 0) & (right <= 0)
        if far is not None and is_far.sum() > far:
            places = np.flatnonzero(is_far)
            # Evenly spaced by weight: a row that weighs as much as several is taken as often.
            end = np.cumsum(weight[places])
            times = np.bincount(np.searchsorted(end, (np.arange(far) + 0.5) * end[-1] / far), minlength=len(places))
            taken = places[times > 0]
            kept = np.sort(np.concatenate([np.flatnonzero(~is_far), taken]))
            factor = np.ones(len(no))
            factor[taken] = times[times > 0] * end[-1] / far / weight[taken]
            columns, target, right = columns[kept], target[kept], right[kept]
            no, weight = (no * factor)[kept], (weight * factor)[kept]
        yes_, no_, right_, weight_ = (part.astype(np.float32) for part in (target, no, right, weight))
        return SearchRows(columns, yes_, no_, yes_ if np.array_equal(right_, yes_) else right_, weight_, self.names)

    def support(self, klass: int, at_least: float | None) -> Support:
        """What a cube of the class must show."""
        return Support.of(self.labels[:, klass], self.weight, at_least, self.part)

    def keys(self, cubes: Sequence[Codes]) -> frozenset[tuple[Hashable, bool]]:
        """The literals of a formula, told apart by what they are about."""
        return frozenset((self.about[code >> 1], not code & 1) for cube in cubes for code in cube)

    def plain(self, cubes: Sequence[Codes]) -> tuple[Codes, ...]:
        """The same formula without literals that the others of their cube imply by the groups.

        It holds on the same possible rows. At a price of 0 the search has no reason to drop them.
        """
        return tuple(dict.fromkeys(self._plain_cube(cube) for cube in cubes))

    def _plain_cube(self, cube: Codes) -> Codes:
        literals = {code: Literal(self.names[code >> 1], not code & 1) for code in cube}
        for code in () if self.groups.is_empty else cube:
            others = Cube(literal for other, literal in literals.items() if other != code)
            if self.groups.apart(others, Cube([literals[code].negated])):
                del literals[code]
        return tuple(literals)

    def fires(self, cubes: Sequence[Codes]) -> NDArray[np.bool_]:
        """On which rows a formula holds."""
        fired = np.zeros(len(self.bits), dtype=np.bool_)
        for cube in cubes:
            held = np.ones(len(self.bits), dtype=np.bool_)
            for code in cube:
                held &= self.bits[:, code >> 1] == (1 - (code & 1))
            fired |= held
        return fired

    def fit(self, klass: int, cubes: Sequence[Codes]) -> float:
        """The macro-F1 of a formula against the labels."""
        fires, yes = self.fires(cubes), self.scored[:, klass]
        no = self.scored_weight - yes
        hit, wrong = float(yes[fires].sum()), float(no[fires].sum())
        return float(macro_f1_of_counts(hit, float(yes.sum()) - hit, wrong, float(no.sum()) - wrong))


@dataclass(frozen=True, eq=False)
class Fold:
    """What is learned from and what is tested on in one inner fold."""

    train: Lesson
    test: Lesson


@dataclass(frozen=True, eq=False)
class Judge:
    """The rows of all test folds together, and how formulas that were learned without them compare on them.

    Attributes:
        yes: the weight of the class on each row, `[classes, rows]`.
        weight: of each row.
        copies: how many rows each one stands for.
        fold: the fold of each row.
    """

    yes: NDArray[np.float64]
    weight: NDArray[np.float64]
    copies: NDArray[np.float64]
    fold: NDArray[np.intp]

    @classmethod
    def of(cls, folds: Sequence[Fold]) -> Judge:
        """Put the test rows of all folds one after the other."""
        yes = np.concatenate([fold.test.scored for fold in folds]).T
        weight = np.concatenate([fold.test.scored_weight for fold in folds])
        copies = np.concatenate([fold.test.weight for fold in folds])
        fold = np.repeat(np.arange(len(folds)), [len(one.test.bits) for one in folds])
        return cls(yes, weight, copies, fold)

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.fold.max()) + 1

    def score(self, classes: Sequence[int], fires: NDArray[np.bool_], among: NDArray[np.bool_] | None = None) -> float:
        """Macro-F1 against the labels, of all rows or of some; the mean over the classes."""
        return float(np.mean(macro_f1_of_counts(*self._counts(classes, fires, among))))

    def honest_best(self, trials: Sequence[Trial]) -> Trial:
        """The best of many trials without the flattery of having been chosen on the same rows.

        For each fold the trial answers that is best on the other folds (after Tibshirani and Tibshirani 2009); of
        several that are equally good there, one whose answers in the fold most of them give. The answers are those for
        the classes of the first trial; of two classes one is the other turned round. A trial that is right on every
        row of every fold is taken as it is: luck alone hardly makes one.
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
        """Of each class what was hit, missed, wrong and rightly rejected."""
        yes = self.yes[list(classes)]
        no = self.weight - yes
        if among is not None:
            yes, no, fires = yes[:, among], no[:, among], fires[:, among]
        hit, wrong = np.where(fires, yes, 0.0).sum(axis=1), np.where(fires, no, 0.0).sum(axis=1)
        return hit, yes.sum(axis=1) - hit, wrong, no.sum(axis=1) - wrong

    def influence(
        self, classes: Sequence[int], fires: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How the score of each class moves with the weight of each row, were it a yes and were it a no (first order).

        Both are `[classes, rows]`.
        """
        hit, missed, wrong, rejected = (counts[:, None] for counts in self._counts(classes, fires))
        yes_size, no_size = np.maximum(2 * hit + missed + wrong, TINY), np.maximum(2 * rejected + missed + wrong, TINY)
        # F1 = 2 hit / (2 hit + missed + wrong); its derivatives by a hit and by an error, for both classes.
        by_hit, by_error = (missed + wrong) / yes_size**2, -hit / yes_size**2
        by_rejected, by_error_no = (missed + wrong) / no_size**2, -rejected / no_size**2
        as_yes = np.where(fires, by_hit, by_error + by_error_no)
        as_no = np.where(fires, by_error + by_error_no, by_rejected)
        return as_yes, as_no

    def error(self, first: Trial, second: Trial, correction: float | None = None) -> float:
        """The standard error of the difference of two scores, paired by rows.

        Corrected for training sets that overlap (Nadeau and Bengio 2003): over k folds the variance of a mean is
        1/k + 1/(k - 1) instead of 1/k of that of a fold.
        """
        correction = 1 + self.n_folds / (self.n_folds - 1) if correction is None else correction
        # A row is a yes of its own class and a no of all others.
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
        fires: for each class on which rows of the test folds the formula holds that was learned without that fold.
        score: macro-F1 on these rows, the mean over the classes.
        literals: the mean number of literals.
        fit: the mean macro-F1 of the formulas against the labels of the rows that they were learned from.
        stability: how alike the formulas of the folds are, from 0 to 1: the mean over pairs of the literals in common.
    """

    classes: tuple[int, ...]
    share: float
    price: float
    fires: NDArray[np.bool_]
    score: float
    literals: float
    fit: float = 0.0
    stability: float = 1.0


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
        bags: the formula that the same price and share give on the rows of each member of the committee.
        note: what a reader should know of the choice.
    """

    klass: int
    share: float
    price: float
    cubes: tuple[Codes, ...]
    names: tuple[str, ...]
    path: tuple[Point, ...]
    trials: tuple[Trial, ...]
    bags: tuple[tuple[Codes, ...], ...] = ()
    note: str | None = None

    @property
    def n_literals(self) -> int:
        """Literals in all cubes."""
        return sum(map(len, self.cubes))

    @property
    def formula(self) -> DNF:
        """The formula as a value."""
        return formula_of(self.cubes, self.names)

    @property
    def points(self) -> tuple[tuple[DNF, float | None], ...]:
        """The formulas of the path, each with its cross-validated score."""
        scores = {trial.price: trial.score for trial in self.trials}
        return tuple((formula_of(point.cubes, self.names), scores.get(point.price)) for point in self.path)


class _Race:
    """The paths of some classes with one share in all folds, price by price."""

    def __init__(
        self, folds: Sequence[Fold], judge: Judge, classes: tuple[int, ...], share: float, config: SearchConfig
    ) -> None:
        self.folds, self.judge, self.classes, self.share = folds, judge, classes, share
        far = FAR_ROWS if len(classes) > 1 else None
        # One search after another for each class and fold.
        self.runs = [(klass, fold) for klass in classes for fold in folds]
        self.searches = [
            _search(fold.train, klass, share, config, far=far, thorough=False) for klass, fold in self.runs
        ]
        self.paths: list[list[Point]] = [[] for _ in self.runs]
        self.trials: list[Trial] = []
        self.since = 0

    def step(self, price: float) -> Trial:
        """Go on to the next price."""
        cover = len(self.trials) in COVERED_PRICES
        for search, points in zip(self.searches, self.paths, strict=True):
            points.append(search.step(price, points[-1].cubes if points else (), cover=cover))
        trial = self._trial(price, len(self.trials))
        best = max((one.score for one in self.trials), default=-np.inf)
        if trial.score > best + 1e-6:
            self.since = 0
        elif self.trials and trial.literals > self.trials[-1].literals:
            # A price at which formulas do not grow says nothing about longer ones.
            self.since += 1
        self.trials.append(trial)
        return trial

    def _trial(self, price: float, place: int) -> Trial:
        found = [points[place] for points in self.paths]
        fires = [fold.test.fires(point.cubes) for (_, fold), point in zip(self.runs, found, strict=True)]
        n, n_folds = len(self.classes), len(self.folds)
        by_class = [np.concatenate(fires[k * n_folds : (k + 1) * n_folds]) for k in range(n)]
        literals = float(np.mean([point.n_literals for point in found]))
        fits = [fold.train.fit(klass, point.cubes) for (klass, fold), point in zip(self.runs, found, strict=True)]
        keys = [fold.train.keys(point.cubes) for (_, fold), point in zip(self.runs, found, strict=True)]
        alike = [_overlap(a, b) for k in range(n) for a, b in combinations(keys[k * n_folds : (k + 1) * n_folds], 2)]
        said = np.stack(by_class)
        score = self.judge.score(self.classes, said)
        return Trial(
            self.classes, self.share, price, said, score, literals, float(np.mean(fits)), float(np.mean(alike))
        )

    def is_behind(self, leader: Trial) -> bool:
        """Whether the formulas are longer than the leader's, or as long and growing no more, and measurably worse."""
        best = max(self.trials, key=lambda trial: trial.score)
        length = self.trials[-1].literals
        is_stuck = len(self.trials) > PATIENCE and self.trials[-1 - PATIENCE].literals == length
        longer = length > leader.literals or (is_stuck and length == leader.literals)
        return bool(longer and leader.score - best.score > self.judge.error(leader, best))

    def finished(self) -> list[Trial]:
        """The trials, where formulas of lower prices may be pruned to better ones of higher prices."""
        self.paths = [search.pruned(points) for search, points in zip(self.searches, self.paths, strict=True)]
        return [self._trial(trial.price, place) for place, trial in enumerate(self.trials)]


def cross_validate(
    folds: Sequence[Fold],
    options: Sequence[tuple[int, ...]],
    shares: Sequence[float],
    config: SearchConfig,
    weight: float,
) -> list[Trial]:
    """Score the paths of some options and shares in every fold, all at one price before the next.

    An option is one class, or several that are judged together. A path ends where lower prices no longer help, or where
    it is longer than the best and measurably worse.
    """
    judge = Judge.of(folds)
    running = [_Race(folds, judge, classes, share, config) for classes in options for share in shares]
    ended: list[_Race] = []
    leader: Trial | None = None
    for price in config.prices(weight):
        for race in running:
            trial = race.step(price)
            leader = trial if leader is None or trial.score > leader.score else leader
        if leader is None or not running:
            break
        if config.price is None:
            out = [race for race in running if race.since >= PATIENCE or race.is_behind(leader)]
            if leader.score >= 1 - 1e-9:
                # Nothing can be better, and formulas that may be shorter were found at higher prices.
                out = running
            ended += out
            running = [race for race in running if race not in out]
    return [trial for race in (*ended, *running) for trial in race.finished()]


def eligible(trials: Sequence[Trial], judge: Judge, *, one_se: bool = True, n_classes: int = 1) -> list[Trial]:
    """The trials whose loss to the best is within some standard errors of the paired difference; else the best alone.

    A best whose formulas differ from fold to fold has less of a claim: it must be better by more. Trials may stand for
    more classes than they were made on: the mean over all `n_classes` has a smaller error. One error is asked of them,
    since the formula of one class says little about those of the others.
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
    """The share of what either has that both have."""
    return len(first & second) / len(first | second) if first or second else 1.0


@dataclass(frozen=True, eq=False)
class LearnedRules:
    """The formulas of all classes as the search found them.

    Attributes:
        formulas: one for each class; of two classes one is the complement of the other.
        choices: how each stated formula was chosen.
    """

    formulas: tuple[DNF | Complement, ...]
    choices: tuple[Choice, ...]


def learn_rules(
    teacher: Teacher, config: SearchConfig, factors: NDArray[np.float64] | None = None, *, stable: bool = False
) -> LearnedRules:
    """Search the formulas of all classes.

    Args:
        teacher: the rows with what the networks say of them.
        config: what is asked of formulas.
        factors: how much each class counts for the score; all alike where not given.
        stable: whether only concepts are used that recur in the formulas of at least half of the bags.
    """
    table = teacher.grouped.cut.table
    two_classes = not table.is_multilabel and len(table.class_names) == 2
    choices = choose(teacher, config, factors, two_classes=two_classes)
    if stable and not teacher.in_bag:
        only = recurring(choices, teacher.grouped.cut.about)
        if only:
            choices = choose(teacher, replace(config, only=only), factors, two_classes=two_classes)
        else:
            note = "no concept recurs on at least half of the bags, so there is no stable formula."
            choices = [replace(choice, cubes=(), path=(), trials=(), note=note) for choice in choices]
    stated = {choice.klass: choice.formula for choice in choices}
    other = Complement(choices[0].formula)
    formulas = tuple(stated.get(klass, other) for klass in range(len(table.class_names)))
    return LearnedRules(formulas, tuple(choices))


def recurring(choices: Sequence[Choice], about: Mapping[str, Hashable] | None = None) -> tuple[str, ...]:
    """The concepts that the formulas of at least half of the bags use, of any class.

    A threshold counts as used where the next one of its column is: concepts that are `about` the same, in the order of
    the table. A concept that no bag uses is left out.
    """
    names, n_bags = choices[0].names, max(len(choice.bags) for choice in choices)
    alike: dict[Hashable, list[str]] = {}
    for name in names:
        alike.setdefault(name if about is None else about.get(name, name), []).append(name)
    near = {name: set(group[max(at - 1, 0) : at + 2]) for group in alike.values() for at, name in enumerate(group)}
    bags = [
        {choice.names[code >> 1] for choice in choices for cube in choice.bags[bag] for code in cube}
        for bag in range(n_bags)
    ]
    used = set().union(*bags)
    return tuple(name for name in names if name in used and 2 * sum(bool(near[name] & bag) for bag in bags) >= n_bags)


def choose(
    teacher: Teacher,
    config: SearchConfig,
    factors: NDArray[np.float64] | None = None,
    *,
    two_classes: bool = False,
) -> list[Choice]:
    """The formula of each class; of two classes the one formula that states both."""
    table = teacher.grouped.cut.table
    names = literals_of(teacher.grouped.cut, config.only)
    folds = folds_of(teacher, factors, config.only)
    everything = Lesson.of(teacher.all_rows(), names, factors, most=MOST_OF_ALL)
    n_classes = everything.labels.shape[1]
    # Without a row that a network has not seen, its answers say too little about other rows.
    if teacher.other is None and (teacher.in_bag or len(folds) < 3):
        config = replace(config, shares=(0.0,))
    if n_classes > MANY_CLASSES and folds and not table.is_multilabel:
        choices = _chosen_together(everything, folds, config)
    else:
        groups = [range(n_classes)] if two_classes else [[klass] for klass in range(n_classes)]
        choices = [_chosen(everything, folds, classes, config) for classes in groups]
    choices = _settled(choices, everything, teacher, config, factors)
    # Of several labels each is a question of its own: no other class or order answers yes for it.
    return [_or_always(choice, everything) for choice in choices] if table.is_multilabel else choices


def _or_always(choice: Choice, everything: Lesson) -> Choice:
    """The choice, or `True` where that is right more often on the label."""
    yes, weight = everything.labels[:, choice.klass], everything.weight
    fires = everything.fires(choice.cubes)
    right = yes[fires].sum() + (weight - yes)[~fires].sum()
    return replace(choice, cubes=((),)) if yes.sum() > right else choice


def _settled(
    choices: Sequence[Choice],
    everything: Lesson,
    teacher: Teacher,
    config: SearchConfig,
    factors: NDArray[np.float64] | None,
) -> list[Choice]:
    """Search again on each bag; of formulas that are equally good on all rows, the one that recurs most."""
    if teacher.in_bag:
        return list(choices)
    many = len(choices) > MANY_CLASSES
    members = list(range(teacher.n_members))
    if many and teacher.grouped.n_groups >= N_GROUPS:
        # As many bags as groups tell enough: those without two neighbours, so that each group is left out twice.
        apart = (1, teacher.grouped.n_groups - 1)
        members = [m for m in members if teacher.jobs[m].left_out[1] - teacher.jobs[m].left_out[0] in apart]
    whole = float(teacher.grouped.weight.sum())
    lessons = [
        Lesson.of(teacher.bag(member), everything.names, factors, most=MOST_ROWS, whole=whole) for member in members
    ]
    settled = []
    for choice in choices:
        bags = [bag_cubes(choice, lesson, config, FAR_ROWS if many else None) for lesson in lessons]
        cubes = _most_frequent(choice, bags, everything, config) if config.consensus else choice.cubes
        settled.append(replace(choice, bags=tuple(bags), cubes=cubes))
    return settled


def bag_cubes(choice: Choice, lesson: Lesson, config: SearchConfig, far: int | None = None) -> tuple[Codes, ...]:
    """The formula that other rows give at the price and share of a choice."""
    search = _search(lesson, choice.klass, choice.share, config, far=far, thorough=False)
    points = search.path([point.price for point in choice.path if point.price >= choice.price])
    if not points:
        return ()
    return lesson.plain(search.plainest(points[-1]).cubes)


def _most_frequent(
    choice: Choice, bags: Sequence[tuple[Codes, ...]], everything: Lesson, config: SearchConfig
) -> tuple[Codes, ...]:
    """The formula that at least half of the bags give, if it is no longer and as good as the one found."""
    times = Counter(frozenset(cubes) for cubes in bags)
    cubes, n_times = times.most_common(1)[0]
    usual = tuple(sorted(cubes))
    is_usual = n_times >= max(2, len(bags) / 2) and n_times > times[frozenset(choice.cubes)]
    if not usual or not is_usual:
        return choice.cubes
    rows, support = everything.rows(choice.klass, choice.share), everything.support(choice.klass, config.min_support)
    is_longer = sum(map(len, usual)) > choice.n_literals
    if is_longer or not FormulaSearch(rows, support, config.limits).allows(usual):
        return choice.cubes
    is_better = _is_better(everything, (choice.klass, choice.cubes), (choice.klass, usual))
    return choice.cubes if is_better else usual


def _is_better(everything: Lesson, first: Stated, second: Stated) -> bool:
    """Whether a formula fits all rows better than another, by more than one standard error.

    Both were searched on these rows, so the error is that of cross-validation.
    """
    judge = Judge.of([Fold(everything, everything)])
    trials = []
    for klass, cubes in (first, second):
        fires = everything.fires(cubes)[None]
        trials.append(Trial((klass,), 0.0, 0.0, fires, judge.score((klass,), fires), 0.0))
    error = judge.error(trials[0], trials[1], correction=1 + N_GROUPS / (N_GROUPS - 1))
    return trials[0].score - trials[1].score > error


def folds_of(
    teacher: Teacher, factors: NDArray[np.float64] | None = None, only: Sequence[str] | None = None
) -> list[Fold]:
    """The inner folds; none where there are too few rows."""
    grouped = teacher.grouped
    folds = []
    if grouped.n_groups < 2:
        return []
    for test in range(grouped.n_groups):
        taught = teacher.without(test)
        cut = grouped.fold(test)
        table, marked = cut.table, literals_of(cut, only, grouped.cut.about)
        if taught is None:
            weight = grouped.weight - grouped.groups[test]
            taught = Taught(table, weight, table.targets() * weight[:, None], cut.about)
        whole = float(grouped.weight.sum())
        train = Lesson.of(taught, marked, factors, most=MOST_ROWS, whole=whole)
        folds.append(Fold(train, Lesson.of(teacher.tested(test), marked, factors)))
    return folds


def literals_of(
    cut: CutRows, only: Sequence[str] | None = None, about: Mapping[str, Hashable] | None = None
) -> tuple[str, ...]:
    """The concepts that rules may use; with `only`, those of them that are about the same as these are.

    `about` says what the concepts of `only` are about, where they were found on other rows.
    """
    marked = getattr(cut.table, "literals", None)
    names = tuple(cut.table.names if marked is None else marked)
    if only is None:
        return names
    wanted = {name if about is None else about.get(name, name) for name in only}
    kept = tuple(name for name in names if (name if cut.about is None else cut.about.get(name, name)) in wanted)
    return (kept if about is not None else tuple(name for name in names if name in set(only))) or names


def _search(
    lesson: Lesson, klass: int, share: float, config: SearchConfig, *, far: int | None = None, thorough: bool = True
) -> FormulaSearch:
    """The search for the formula of a class; with `far`, one of many classes, whose search must be short."""
    rows, support = lesson.rows(klass, share, far), lesson.support(klass, config.min_support)
    depth = DEPTH if far is None else SHORT_DEPTH
    return FormulaSearch(rows, support, config.limits, thorough=thorough, depth=depth)


def _plain(everything: Lesson, points: Sequence[Point]) -> list[Point]:
    """The points without literals that others imply."""
    return [replace(point, cubes=everything.plain(point.cubes)) for point in points]


def _lower(search: FormulaSearch, path: Sequence[Point], taken: Trial, everything: Lesson) -> tuple[list[Point], Point]:
    """Go on to lower prices where the formula fits worse than those of the folds did.

    At a price that is nearly too high for a formula, the folds may have found it and all rows something shorter.
    """
    (klass,) = taken.classes
    points = list(path)
    while True:
        for place, point in enumerate(points):
            if point.price <= taken.price and everything.fit(klass, point.cubes) >= taken.fit - FIT:
                return points[: place + 1], point
        if len(points) == len(path) + 2:
            return list(path), next(point for point in path if point.price == taken.price)
        points = search.pruned([*points, search.step(points[-1].price / 2, points[-1].cubes)])


def _tried(
    folds: Sequence[Fold],
    options: Sequence[tuple[int, ...]],
    config: SearchConfig,
    weight: float,
    n_classes: int = 1,
) -> tuple[list[Trial], list[Trial]]:
    """The cross-validated trials of some options, and those of them that are good enough."""
    trials = cross_validate(folds, options, config.shares, config, weight)
    if config.price is not None:
        trials = [trial for trial in trials if trial.price == config.price]
    return trials, eligible(trials, Judge.of(folds), one_se=config.one_se, n_classes=n_classes)


def _shortest(trials: Sequence[Trial]) -> Trial:
    """The trial with the fewest literals; of equal ones that with the largest share of the teacher."""
    return min(trials, key=lambda trial: (round(trial.literals, 6), -trial.share, -trial.price))


def _chosen_together(everything: Lesson, folds: Sequence[Fold], config: SearchConfig) -> list[Choice]:
    """The formulas of many classes, at one price and with one share of the teacher.

    Both are chosen by the mean score of some classes, evenly spread from the rarest to the most frequent. One class of
    many has too few rows to choose by.
    """
    sizes = everything.labels.sum(axis=0)
    by_size = np.argsort(sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    sample = by_size[np.linspace(0, len(by_size) - 1, MANY_CLASSES).round().astype(np.intp)]
    option = tuple(sorted(set(sample.tolist())))
    _, kept = _tried(folds, [option], config, float(everything.weight.sum()), len(by_size))
    taken = _shortest(kept)
    choices = []
    for klass in range(len(sizes)):
        search = _search(everything, klass, taken.share, config, far=FAR_OF_ALL)
        (point,) = search.path([taken.price])
        point = replace(point, cubes=everything.plain(search.plainest(point).cubes))
        choices.append(Choice(klass, taken.share, taken.price, point.cubes, everything.names, (point,), ()))
    return choices


def _chosen(everything: Lesson, folds: Sequence[Fold], classes: Sequence[int], config: SearchConfig) -> Choice:
    """The best formula of a class; of several classes, the one that states the others best."""
    weight = float(everything.weight.sum())
    shares = config.shares
    sizes = everything.labels.sum(axis=0)
    if not folds:
        klass = min(classes, key=lambda place: float(sizes[place]))
        prices = config.prices(weight)[:1] if config.price is None else [config.price]
        path = _plain(everything, _search(everything, klass, shares[-1], config).path(prices))
        note = "too few rows of this class to choose a length by cross-validation: the shortest formula is taken."
        return Choice(klass, shares[-1], prices[0], path[-1].cubes, everything.names, tuple(path), (), note=note)
    trials, kept = _tried(folds, [(klass,) for klass in classes], config, weight)
    options: list[tuple[bool, int, float, Choice]] = []
    for klass in classes:
        own = [trial for trial in kept if trial.classes == (klass,)]
        if not own:
            continue
        taken = _shortest(own)
        share = taken.share
        tried = tuple(trial for trial in trials if trial.classes == (klass,) and trial.share == share)
        prices = [trial.price for trial in tried] if config.price is None else config.prices(weight)
        search = _search(everything, klass, share, config)
        path = search.path(prices)
        point = next(point for point in path if point.price == taken.price)
        if config.price is None and everything.fit(klass, point.cubes) < taken.fit - FIT:
            path, point = _lower(search, path, taken, everything)
        cubes = everything.plain(search.plainest(point).cubes)
        points = tuple(_plain(everything, path))
        choice = Choice(klass, share, point.price, cubes, everything.names, points, tried)
        # The search on all rows may have missed what was found in the folds.
        is_found = config.price is not None or everything.fit(klass, cubes) >= taken.fit - FIT
        options.append((not is_found or not cubes, choice.n_literals, float(sizes[klass]), choice))
    # Within one standard error the shorter formula, then the one that fits better, then the rarer class, or the first.
    options.sort(key=lambda option: option[:3])
    is_worse, n_literals, _, first = options[0]
    for *of_other, _, other in options[1:]:
        alike = of_other == [is_worse, n_literals]
        if alike and _is_better(everything, (other.klass, other.cubes), (first.klass, first.cubes)):
            return other
    return first
