"""Learn the formula of each class: search all rows at the price that the bags chose, and take what recurs in them.

`learn_rules` is the entry point. `search_table` holds the rows and the bags, `length` compares prices, `search` finds
the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from logiclens.explain.candidates import Codes, formula_of, one_blas_thread
from logiclens.explain.length import (
    FIRST_PRICES,
    GAIN,
    LACK,
    SearchConfig,
    Trial,
    chosen,
    error_of_gain,
    formula_search,
    tried,
)
from logiclens.explain.search import FormulaSearch, Point
from logiclens.explain.search_table import LearningRows, SearchTable
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.progress import Progress

MANY_CLASSES = 12
"""Number of classes above which one price is used for all, chosen on this many classes."""
FAR_OF_ALL = 2_000
"""Maximum number of rows of other classes in the final search of many classes."""
SEARCHING = "searching rules"
"""What progress calls the search."""
ABOUT_AS_GOOD = 0.01
"""Formulas whose values on all rows differ by at most this are about as good, and the one that recurs most is taken.

Near a perfect score the difference is smaller, as with `LACK`.
"""
WORTH_STEADY = 0.02
"""What a formula may lose in the bags for steadier rules. Near a perfect score it may lose less, as with `LACK`."""
STEADY = 0.7
"""Share of the bags in which a rule must be found again to be steady."""
YES = ("yes", "true", "1", "1.0", "y", "positive", "pos")
"""Names of the class that people ask about, where the other is its opposite."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The formula of one class, and how it was chosen.

    Attributes:
        klass: the class.
        price: price of a literal.
        cubes: the formula, as codes of `names`.
        names: names of the concepts.
        about: what each concept is about: the same for thresholds of one column.
        path: for each price, the formula found on all rows.
        trials: the results in the bags for each price; empty if there were too few rows.
        bags: for each bag, the formula found on it at the same price.
        note: a remark on the choice for the reader.
    """

    klass: int
    price: float
    cubes: tuple[Codes, ...]
    names: tuple[str, ...]
    about: tuple[Hashable, ...]
    path: tuple[Point, ...] = ()
    trials: tuple[Trial, ...] = ()
    bags: tuple[tuple[Codes, ...], ...] = ()
    note: str | None = None

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
        """The formulas of the path, each with its score on rows that the bags left out."""
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

    @classmethod
    def of(cls, choices: Sequence[Choice], n_classes: int) -> LearnedRules:
        """Return the formulas of all classes; a class without a choice of its own is the complement of the other."""
        stated = {choice.klass: choice.formula for choice in choices}
        other = Complement(choices[0].formula)
        return cls(tuple(stated.get(klass, other) for klass in range(n_classes)), tuple(choices))

    def without(self, dropped: Collection[tuple[int, Cube]], config: SearchConfig) -> LearnedRules:
        """Return the formulas without some cubes, each given with its class; those that knowledge requires stay."""
        choices = []
        for choice in self.choices:
            required = required_cubes(choice, config)
            cubes = tuple(
                codes
                for codes in choice.cubes
                if codes in required or (choice.klass, formula_of([codes], choice.names).cubes[0]) not in dropped
            )
            choices.append(replace(choice, cubes=cubes))
        return self.of(choices, len(self.formulas))


def required_cubes(choice: Choice, config: SearchConfig) -> tuple[Codes, ...]:
    """Return the cubes that knowledge requires of a class."""
    return () if config.bounds is None else config.bounds.of_class(choice.klass, choice.names).fixed


@one_blas_thread()
def learn_rules(rows: LearningRows, config: SearchConfig) -> LearnedRules:
    """Learn the formulas of all classes. Of two classes, one formula states both.

    Args:
        rows: the rows, and what formulas match.
        config: limits on the formulas and settings of the search.
    """
    two_classes = not rows.is_multilabel and rows.n_classes == 2
    return LearnedRules.of(choose(rows, config, two_classes=two_classes), rows.n_classes)


@one_blas_thread()
def choose(rows: LearningRows, config: SearchConfig, *, two_classes: bool = False) -> list[Choice]:
    """Return the formula of each class; for two classes, the one formula that states both.

    Args:
        rows: the rows, and what formulas match.
        config: limits on the formulas and settings of the search.
        two_classes: whether one formula states both classes. Default: False.
    """
    together = rows.n_classes > MANY_CLASSES and bool(rows.bags) and not rows.is_multilabel
    prices = config.prices(float(rows.table.weight.sum())) if rows.bags else []
    options = [_options(rows, config)] if two_classes else [[klass] for klass in range(rows.n_classes)]
    n_prices = len(FIRST_PRICES) + len(prices)
    n_steps = n_prices + rows.n_classes if together else sum(n_prices * len(classes) + 1 for classes in options)
    with Progress(n_steps, SEARCHING) as progress:
        steps = iter(range(1, n_steps + 1))

        def tell() -> None:
            progress.update(next(steps, n_steps))

        search = partial(tried, rows.bags, config=config, tell=tell)
        if together:
            choices = _chosen_together(rows, search(_sample_of_classes(rows), prices=prices), config, tell)
        else:
            choices = []
            for classes in options:
                klass = classes[0]
                trials = search([klass], prices=prices) if rows.bags else []
                if trials and len(classes) > 1:
                    # One price tells which class has the better formula.
                    other = search(classes[1:], prices=prices[:1])
                    if _is_better(other, trials):
                        klass, trials = classes[1], search(classes[1:], prices=prices)
                choices.append(_chosen(rows, klass, trials, config))
                tell()
    # With several labels per row, each label is a question of its own: no other class and no order answers yes for it.
    return [_or_always(choice, rows.everything, config) for choice in choices] if rows.is_multilabel else choices


def _options(rows: LearningRows, config: SearchConfig) -> list[int]:
    """Return the classes of two that may be stated, the one that people ask about first."""
    if config.bounds is not None and config.bounds.stated is not None:
        return [config.bounds.stated]
    if config.stated is not None:
        return [config.stated]
    names = [str(name).strip().lower() for name in rows.table.class_names]
    named = [place for place, name in enumerate(names) if name in YES]
    sizes = rows.everything.labels.sum(axis=0)
    first = named[0] if len(named) == 1 else int(np.argmin(sizes))
    return [first, 1 - first]


def _is_better(other: Sequence[Trial], trials: Sequence[Trial]) -> bool:
    """Return whether the formulas of the other class are better by more than a point and more than an error."""
    first, second = trials[len(FIRST_PRICES)], other[len(FIRST_PRICES)]
    return second.score - first.score > max(GAIN, error_of_gain(second, first))


def _chosen(rows: LearningRows, klass: int, trials: Sequence[Trial], config: SearchConfig) -> Choice:
    """Return the formula of a class."""
    everything = rows.everything
    search = formula_search(everything, klass, config)
    if not trials:
        price = config.prices(float(rows.table.weight.sum()))[0]
        path = _plain(everything, search.path([*FIRST_PRICES, price]))
        note = "too few rows of this class to choose a length by cross-validation: the shortest formula is taken."
        return Choice(klass, price, path[-1].cubes, everything.names, rows.abouts, path, note=note)
    best = chosen(trials)
    if best.score <= float(np.mean([bag.test.fit(klass, (), config.costs) for bag in rows.bags])):
        # The rules are no better than none on the rows that the bags leave out.
        required = required_cubes(Choice(klass, best.price, (), everything.names, rows.abouts), config)
        return Choice(klass, best.price, required, everything.names, rows.abouts, trials=tuple(trials))
    longest = trials.index(best)
    path = _plain(everything, search.path([trial.price for trial in trials[: longest + 1]]))
    options: list[Choice] = []
    # A shorter formula is taken only if its rules are steadier and it loses little.
    for trial, point in zip(trials[longest::-1], path[::-1], strict=True):
        if trial.score < best.score - min(WORTH_STEADY, WORTH_STEADY / GAIN * LACK * (1 - best.score)):
            break
        (bags,) = trial.formulas
        cubes = everything.plain(search.plainest(point).cubes)
        choice = Choice(klass, trial.price, cubes, everything.names, rows.abouts, path, tuple(trials), bags)
        options.append(replace(choice, cubes=_most_recurrent(choice, everything, search, config)))
        if _steadiness(options[-1], config) >= STEADY:
            return options[-1]
    return max(options, key=lambda option: _steadiness(option, config))


def _plain(everything: SearchTable, points: Sequence[Point]) -> tuple[Point, ...]:
    """Remove literals that others imply from the formulas of a path."""
    return tuple(replace(point, cubes=everything.plain(point.cubes)) for point in points)


def _steadiness(choice: Choice, config: SearchConfig) -> float:
    """Return the share of the bags in which the least steady rule is found again; knowledge requires others anyway."""
    required = required_cubes(choice, config)
    shares = [found_again(cube, choice) for cube in choice.cubes if cube not in required]
    return min(shares, default=1.0 if required else 0.0)


def _most_recurrent(
    choice: Choice, everything: SearchTable, search: FormulaSearch, config: SearchConfig
) -> tuple[Codes, ...]:
    """Return the formula that recurs most in the bags, of those that are about as good on all rows."""
    fits: dict[tuple[Codes, ...], float] = {}
    for cubes in dict.fromkeys(tuple(sorted(cubes)) for cubes in (choice.cubes, *choice.bags)):
        if cubes == tuple(sorted(choice.cubes)) or (cubes and search.allows(cubes)):
            fits[cubes] = everything.fit(choice.klass, cubes, config.costs)
    values = {cubes: fit - choice.price * search.price(cubes) for cubes, fit in fits.items()}
    margin = min(ABOUT_AS_GOOD, LACK * (1 - max(fits.values())))
    as_good = [cubes for cubes in values if values[cubes] >= max(values.values()) - margin]
    return max(as_good, key=lambda cubes: (round(_recurrence(cubes, choice), 9), values[cubes]))


def found_again(cube: Codes, choice: Choice) -> float:
    """Return the share of the bags whose formula has a cube with the same columns and directions."""
    meant = [{_directions(other, choice.about) for other in cubes} for cubes in choice.bags]
    return float(np.mean([_directions(cube, choice.about) in cubes for cubes in meant])) if meant else 1.0


def _directions(cube: Codes, about: Sequence[Hashable]) -> frozenset[tuple[Hashable, bool]]:
    return frozenset((about[code >> 1], not code & 1) for code in cube)


def _recurrence(cubes: Sequence[Codes], choice: Choice) -> float:
    """Return the mean overlap of the conditions of a formula with those of the bags."""
    own = {code for cube in cubes for code in cube}
    shares = []
    for bag in choice.bags:
        other = {code for cube in bag for code in cube}
        shares.append(2 * len(own & other) / (len(own) + len(other)) if own or other else 1.0)
    return float(np.mean(shares))


def _sample_of_classes(rows: LearningRows) -> list[int]:
    """Return some classes, evenly spread from the rarest to the most frequent."""
    sizes = rows.everything.labels.sum(axis=0)
    by_size = np.argsort(sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    sample: NDArray[np.intp] = by_size[np.linspace(0, len(by_size) - 1, MANY_CLASSES).round().astype(np.intp)]
    return sorted(set(sample.tolist()))


def _chosen_together(
    rows: LearningRows, trials: Sequence[Trial], config: SearchConfig, tell: Callable[[], None]
) -> list[Choice]:
    """Return the formulas of many classes, at one price: a single class of many has too few rows to choose it."""
    price = chosen(trials).price
    everything, choices = rows.everything, []
    for klass in range(rows.n_classes):
        search = formula_search(everything, klass, config, far=FAR_OF_ALL)
        (point,) = search.path([price])
        point = replace(point, cubes=everything.plain(search.plainest(point).cubes))
        choices.append(Choice(klass, price, point.cubes, everything.names, rows.abouts, (point,)))
        tell()
    return choices


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
