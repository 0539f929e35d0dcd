"""Choose the formula of each class: search all rows at the price and teacher share that cross-validation chose.

`learn_rules` is the entry point. `length` compares prices and shares, `candidates` holds the rows, `search` finds the
formulas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from logiclens.explain.candidates import (
    MOST_ROWS,
    Codes,
    Fold,
    SearchTable,
    folds_of,
    formula_of,
    literals_of,
    one_blas_thread,
)
from logiclens.explain.length import FAR_ROWS, Judge, SearchConfig, Trial, cross_validate, eligible, formula_search
from logiclens.explain.search import FormulaSearch, Point
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.knowledge import Costs
from logiclens.progress import Progress
from logiclens.train.committee import MANY_CLASSES, N_GROUPS, Teacher

Stated: TypeAlias = tuple[int, tuple[Codes, ...]]
"""A class and the cubes of its formula."""
MOST_OF_ALL = 15_000
"""Maximum number of rows of the final search; of more rows a sample is searched."""
FAR_OF_ALL = 2_000
"""Maximum number of rows far from a class in the final search of many classes; see `FAR_ROWS`."""
SEARCHING = "searching rules"
"""What progress calls the search."""
FIT = 0.005
"""Loss of fit on all rows, compared with the folds, above which a lower price is tried."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The formula of one class, the reason for its length, and the whole path.

    Attributes:
        klass: the class.
        share: share of the teacher in the target.
        price: price of a literal.
        cubes: the formula, as codes of `names`.
        names: names of the concepts.
        path: for each price, the formula found on all training rows.
        trials: cross-validation results for each price of the path; empty if there were too few rows.
        bags: for each member of the committee, the formula found on its bag at the same price and share.
        note: a remark on the choice for the reader.
        is_price_chosen: whether cross-validation chose the price, which else was given.
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
    is_price_chosen: bool = False

    @property
    def n_literals(self) -> int:
        """Number of literals in all cubes."""
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


@dataclass(frozen=True, eq=False)
class LearnedRules:
    """The formulas of all classes as the search found them.

    Attributes:
        formulas: one formula for each class; if there are two classes, one is the complement of the other.
        choices: how each stated formula was chosen.
    """

    formulas: tuple[DNF | Complement, ...]
    choices: tuple[Choice, ...]


def learn_rules(teacher: Teacher, config: SearchConfig, factors: NDArray[np.float64] | None = None) -> LearnedRules:
    """Search the formulas of all classes.

    Args:
        teacher: the rows with the predictions of the networks.
        config: limits on the formulas and settings of the search.
        factors: weight of each class in the score. Default: equal weights.

    Returns:
        The formulas and how they were chosen.
    """
    table = teacher.grouped.cut.table
    two_classes = not table.is_multilabel and len(table.class_names) == 2
    choices = choose(teacher, config, factors, two_classes=two_classes)
    stated = {choice.klass: choice.formula for choice in choices}
    other = Complement(choices[0].formula)
    formulas = tuple(stated.get(klass, other) for klass in range(len(table.class_names)))
    return LearnedRules(formulas, tuple(choices))


def without_cubes(learned: LearnedRules, dropped: Collection[tuple[int, Cube]], config: SearchConfig) -> LearnedRules:
    """Return the formulas without some cubes; those that knowledge requires stay.

    Args:
        learned: the formulas.
        dropped: the cubes, each with its class.
        config: what the formulas were searched with.
    """
    choices = []
    for choice in learned.choices:
        required = required_cubes(choice, config)
        cubes = tuple(
            codes
            for codes in choice.cubes
            if codes in required or (choice.klass, formula_of([codes], choice.names).cubes[0]) not in dropped
        )
        choices.append(replace(choice, cubes=cubes))
    stated = {choice.klass: choice.formula for choice in choices}
    other = Complement(choices[0].formula)
    return LearnedRules(tuple(stated.get(klass, other) for klass in range(len(learned.formulas))), tuple(choices))


def required_cubes(choice: Choice, config: SearchConfig) -> tuple[Codes, ...]:
    """Return the cubes that knowledge requires of a class."""
    return () if config.bounds is None else config.bounds.of_class(choice.klass, choice.names).fixed


@one_blas_thread()
def choose(
    teacher: Teacher,
    config: SearchConfig,
    factors: NDArray[np.float64] | None = None,
    *,
    two_classes: bool = False,
) -> list[Choice]:
    """Return the formula of each class; for two classes, the one formula that states both.

    Args:
        teacher: the rows with the predictions of the networks.
        config: limits on the formulas and settings of the search.
        factors: weight of each class in the score. Default: equal weights.
        two_classes: whether one formula states both classes. Default: False.
    """
    table = teacher.grouped.cut.table
    names = literals_of(teacher.grouped.cut, config.only)
    folds = folds_of(teacher, factors, config.only)
    everything = SearchTable.of(teacher.all_rows(), names, factors, most=MOST_OF_ALL)
    n_classes = everything.labels.shape[1]
    # Without rows that a network has not seen, its answers say too little about other rows.
    if teacher.other is None and (teacher.in_bag or len(folds) < 3):
        config = replace(config, shares=(0.0,))
    together = n_classes > MANY_CLASSES and bool(folds) and not table.is_multilabel
    groups = [range(n_classes)] if two_classes else [[klass] for klass in range(n_classes)]
    if two_classes and config.bounds is not None and config.bounds.stated is not None:
        groups = [[config.bounds.stated]]
    # Lengths are compared price by price, then all rows are searched for each formula, then its bags.
    n_prices = len(config.prices(float(everything.weight.sum()))) if folds else 0
    n_formulas = n_classes if together else len(groups)
    n_searched = (n_prices if together else n_prices * len(groups)) + n_formulas
    with Progress(n_searched + (0 if teacher.in_bag else n_formulas), SEARCHING) as progress:
        if together:
            choices = _chosen_together(everything, folds, config, partial(_tell, progress, 0))
        else:
            choices = []
            for place, classes in enumerate(groups):
                tell = partial(_tell, progress, place * (n_prices + 1))
                choices.append(_chosen(everything, folds, classes, config, tell))
                tell(n_prices + 1)
        progress.update(n_searched)
        choices = _settled(choices, everything, teacher, config, factors, partial(_tell, progress, n_searched))
    # With several labels per row, each label is a question of its own: no other class and no order answers yes for it.
    return [_or_always(choice, everything, config) for choice in choices] if table.is_multilabel else choices


def _tell(progress: Progress, before: int, done: int) -> None:
    progress.update(before + done)


def _or_always(choice: Choice, everything: SearchTable, config: SearchConfig) -> Choice:
    """Return the choice, or `True` if that is right more often on the label, or costs less."""
    yes, weight = everything.labels[:, choice.klass], everything.weight
    fires = everything.fires(choice.cubes)
    if config.bound(choice.klass, everything).adds_cubes:
        return choice
    if config.costs is not None:
        score = everything.fit(choice.klass, choice.cubes, config.costs)
        return replace(choice, cubes=((),)) if everything.fit(choice.klass, ((),), config.costs) > score else choice
    right = yes[fires].sum() + (weight - yes)[~fires].sum()
    return replace(choice, cubes=((),)) if yes.sum() > right else choice


def _settled(
    choices: Sequence[Choice],
    everything: SearchTable,
    teacher: Teacher,
    config: SearchConfig,
    factors: NDArray[np.float64] | None,
    tell: Callable[[int], None],
) -> list[Choice]:
    """Search again on each bag. Among formulas that are equally good on all rows, take the one that recurs most."""
    if teacher.in_bag:
        return list(choices)
    many = len(choices) > MANY_CLASSES
    members = list(range(teacher.n_members))
    if many and teacher.grouped.n_groups >= N_GROUPS:
        # As many bags as groups are enough. Take bags that leave out two neighbouring groups: each group is left out
        # twice.
        apart = (1, teacher.grouped.n_groups - 1)
        members = [m for m in members if teacher.jobs[m].left_out[1] - teacher.jobs[m].left_out[0] in apart]
    whole = float(teacher.grouped.weight.sum())
    tables = [
        SearchTable.of(teacher.bag(member), everything.names, factors, most=MOST_ROWS, whole=whole)
        for member in members
    ]
    settled: list[Choice] = []
    for choice in choices:
        bags = [bag_cubes(choice, table, config, FAR_ROWS if many else None) for table in tables]
        cubes = _most_frequent(choice, bags, everything, config) if config.consensus else choice.cubes
        settled.append(replace(choice, bags=tuple(bags), cubes=cubes))
        tell(len(settled))
    return settled


def bag_cubes(choice: Choice, table: SearchTable, config: SearchConfig, far: int | None = None) -> tuple[Codes, ...]:
    """Return the formula that other rows give at the price and share of a choice.

    Args:
        choice: the choice.
        table: the rows of a bag.
        config: limits on the formulas and settings of the search.
        far: maximum number of rows far from the class. Default: no maximum.
    """
    search = formula_search(table, choice.klass, choice.share, config, far=far, thorough=False)
    points = search.path([point.price for point in choice.path if point.price >= choice.price])
    if not points:
        return ()
    return table.plain(search.plainest(points[-1]).cubes)


def _most_frequent(
    choice: Choice, bags: Sequence[tuple[Codes, ...]], everything: SearchTable, config: SearchConfig
) -> tuple[Codes, ...]:
    """Return the formula of at least half of the bags if it is not longer than the choice and as good."""
    times = Counter(frozenset(cubes) for cubes in bags)
    cubes, n_times = times.most_common(1)[0]
    usual = tuple(sorted(cubes))
    is_usual = n_times >= max(2, len(bags) / 2) and n_times > times[frozenset(choice.cubes)]
    if not usual or not is_usual:
        return choice.cubes
    is_longer = sum(map(len, usual)) > choice.n_literals
    if is_longer or not formula_search(everything, choice.klass, choice.share, config).allows(usual):
        return choice.cubes
    is_better = _is_better(everything, (choice.klass, choice.cubes), (choice.klass, usual), config.costs)
    return choice.cubes if is_better else usual


def _is_better(everything: SearchTable, first: Stated, second: Stated, costs: tuple[Costs, ...] | None = None) -> bool:
    """Return whether a formula fits all rows better than another, by more than one standard error.

    Both were searched on these rows, so the standard error is that of cross-validation.
    """
    judge = Judge.of([Fold(everything, everything)], costs)
    trials = []
    for klass, cubes in (first, second):
        fires = everything.fires(cubes)[None]
        trials.append(Trial((klass,), 0.0, 0.0, fires, judge.score((klass,), fires), 0.0))
    error = judge.error(trials[0], trials[1], correction=1 + N_GROUPS / (N_GROUPS - 1))
    return trials[0].score - trials[1].score > error


def _plain(everything: SearchTable, points: Sequence[Point]) -> list[Point]:
    """Remove literals that others imply from the formulas of a path."""
    return [replace(point, cubes=everything.plain(point.cubes)) for point in points]


def _lower(
    search: FormulaSearch, path: Sequence[Point], taken: Trial, everything: SearchTable, config: SearchConfig
) -> tuple[list[Point], Point]:
    """Continue with lower prices if the formula fits worse than the formulas of the folds did.

    At a price that is nearly too high for a formula, the folds may find it while the search on all rows finds a shorter
    one.
    """
    (klass,) = taken.classes
    points = list(path)
    while True:
        for place, point in enumerate(points):
            if point.price <= taken.price and everything.fit(klass, point.cubes, config.costs) >= taken.fit - FIT:
                return points[: place + 1], point
        if len(points) == len(path) + 2:
            return list(path), next(point for point in path if point.price == taken.price)
        points = search.pruned([*points, search.step(points[-1].price / 2, points[-1].cubes)])


def _tried(
    folds: Sequence[Fold],
    options: Sequence[tuple[int, ...]],
    config: SearchConfig,
    weight: float,
    tell: Callable[[int], None],
    n_classes: int = 1,
) -> tuple[list[Trial], list[Trial]]:
    """Return the cross-validated trials of some options, and the eligible trials among them."""
    trials = cross_validate(folds, options, config.shares, config, weight, tell)
    if config.price is not None:
        trials = [trial for trial in trials if trial.price == config.price]
    return trials, eligible(trials, Judge.of(folds, config.costs), one_se=config.one_se, n_classes=n_classes)


def _shortest(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the fewest literals; on a tie, the one with the largest share of the teacher."""
    return min(trials, key=lambda trial: (round(trial.literals, 6), -trial.share, -trial.price))


def _chosen_together(
    everything: SearchTable, folds: Sequence[Fold], config: SearchConfig, tell: Callable[[int], None]
) -> list[Choice]:
    """Choose the formulas of many classes, at one price and with one share of the teacher.

    Both are chosen by the mean score of a sample of classes, evenly spread from the rarest to the most frequent. A
    single class of many has too few rows for this choice.
    """
    sizes = everything.labels.sum(axis=0)
    by_size = np.argsort(sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    sample = by_size[np.linspace(0, len(by_size) - 1, MANY_CLASSES).round().astype(np.intp)]
    option = tuple(sorted(set(sample.tolist())))
    weight = float(everything.weight.sum())
    n_prices = len(config.prices(weight))
    _, kept = _tried(folds, [option], config, weight, tell, len(by_size))
    taken = _shortest(kept)
    choices: list[Choice] = []
    for klass in range(len(sizes)):
        search = formula_search(everything, klass, taken.share, config, far=FAR_OF_ALL)
        (point,) = search.path([taken.price])
        point = replace(point, cubes=everything.plain(search.plainest(point).cubes))
        choices.append(
            Choice(
                klass, taken.share, taken.price, point.cubes, everything.names, (point,), (),
                is_price_chosen=config.price is None,
            )
        )  # fmt: skip
        tell(n_prices + len(choices))
    return choices


def _chosen(
    everything: SearchTable,
    folds: Sequence[Fold],
    classes: Sequence[int],
    config: SearchConfig,
    tell: Callable[[int], None],
) -> Choice:
    """Return the best formula of a class; for several classes, the formula that states the others best."""
    weight = float(everything.weight.sum())
    shares = config.shares
    sizes = everything.labels.sum(axis=0)
    if not folds:
        klass = min(classes, key=lambda place: (place != config.stated, float(sizes[place])))
        prices = config.prices(weight)[:1] if config.price is None else [config.price]
        path = _plain(everything, formula_search(everything, klass, shares[-1], config).path(prices))
        note = "too few rows of this class to choose a length by cross-validation: the shortest formula is taken."
        return Choice(klass, shares[-1], prices[0], path[-1].cubes, everything.names, tuple(path), (), note=note)
    trials, kept = _tried(folds, [(klass,) for klass in classes], config, weight, tell)
    if config.stated is not None and config.stated in classes:
        # The other class is tried too, so that the formula is the same where cross-validation would choose this class.
        classes = [config.stated]
        own = [trial for trial in trials if trial.classes == (config.stated,)]
        if not any(trial in own for trial in kept):
            kept = eligible(own, Judge.of(folds, config.costs), one_se=config.one_se)
    options: list[tuple[bool, int, float, Choice]] = []
    for klass in classes:
        own = [trial for trial in kept if trial.classes == (klass,)]
        if not own:
            continue
        taken = _shortest(own)
        share = taken.share
        tried = tuple(trial for trial in trials if trial.classes == (klass,) and trial.share == share)
        prices = [trial.price for trial in tried] if config.price is None else config.prices(weight)
        search = formula_search(everything, klass, share, config)
        path = search.path(prices)
        point = next(point for point in path if point.price == taken.price)
        if config.price is None and everything.fit(klass, point.cubes, config.costs) < taken.fit - FIT:
            path, point = _lower(search, path, taken, everything, config)
        cubes = everything.plain(search.plainest(point).cubes)
        points = tuple(_plain(everything, path))
        choice = Choice(
            klass, share, point.price, cubes, everything.names, points, tried, is_price_chosen=config.price is None
        )
        # The search on all rows may miss what the folds found.
        is_found = config.price is not None or everything.fit(klass, cubes, config.costs) >= taken.fit - FIT
        options.append((not is_found or not cubes, choice.n_literals, float(sizes[klass]), choice))
    # Within one standard error the shorter formula wins, then the one that fits better, then the rarer class, then the
    # first.
    options.sort(key=lambda option: option[:3])
    is_worse, n_literals, _, first = options[0]
    for *of_other, _, other in options[1:]:
        alike = of_other == [is_worse, n_literals]
        if alike and _is_better(everything, (other.klass, other.cubes), (first.klass, first.cubes), config.costs):
            return other
    return first
