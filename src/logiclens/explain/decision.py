"""Turn the formulas of an explanation into rules that predict.

`rule_set` measures the confidence of each cube and fixes how the classes are decided. `Explanation.rules` uses it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.english import printed_order
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.knowledge import Costs
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.predicate import Predicate, Scalar
from logiclens.formula.rule_set import Resolve, Rule, RuleSet
from logiclens.metrics.rule_statistics import wilson_interval

MOST_TRIED = 5
"""Maximum number of classes for which every order is tried."""
LEAST_GAIN = 1e-12
"""Smaller differences between two scores count as rounding errors."""


def rule_set(
    formulas: Sequence[DNF | Complement],
    labels: Sequence[Scalar],
    rows: PackedRows,
    truth: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    predicates: Mapping[str, Predicate] | None = None,
    groups: Groups = NO_GROUPS,
    resolve: Resolve = "order",
    order: Sequence[int] = (),
    otherwise: int | None = None,
    multilabel: bool = False,
    answers: NDArray[np.float64] | None = None,
    costs: Sequence[Costs] | None = None,
    factors: NDArray[np.float64] | None = None,
    without_rest: Collection[int] = (),
    first: int | None = None,
) -> RuleSet:
    """Return the rules of some formulas, with the confidence of each cube and the decision between classes.

    The decision applies to rows on which not exactly one formula fires. A complement is always `otherwise`; its
    confidence is measured on the rows on which the other formula does not fire. Without a complement, a missing
    `otherwise` is chosen as follows. With `resolve="order"` and no `order`, `best_order` finds both. With
    `resolve="order"` and an `order`, it is the class with the best score after this order. With any other `resolve`, it
    is the most frequent class of the rows on which nothing fires, or of all rows if some formula fires on every row.

    Args:
        formulas: one formula for each class.
        labels: label of each class.
        rows: rows that the confidences are measured on.
        truth: 0/1 `[rows, classes]`.
        weight: weight of each row.
        predicates: meaning of the concepts on the raw table. Default: unknown.
        groups: groups of the concepts. Default: no groups.
        resolve: how to decide if not exactly one formula fires; see `RuleSet`. Default: `"order"`.
        order: places of the classes in the order in which they decide. Default: empty, found by `best_order`.
        otherwise: place of the class of rows on which no formula fires. Default: chosen as above.
        multilabel: whether a row may have several classes; there is then no order and no `otherwise`. Default: False.
        answers: answers of a teacher, in the form of `truth`. Order and `otherwise` then follow these; confidences
            still follow `truth`. Default: None.
        costs: what false alarms and misses of each class cost; order and `otherwise` then cost the least. Default:
            None, they have the largest macro-F1.
        without_rest: classes that cannot be `otherwise` unless they are a complement, because their rules must ask for
            something. Default: none.
        factors: weight of each class in the score of an order. Default: None, equal weights.
        first: the class that comes first in the order that is found. Default: any.
    """
    wanted = truth if answers is None else answers
    scored = weight if factors is None else weight * (wanted @ factors)
    fires = np.stack([formula.evaluate(rows) for formula in formulas], axis=1)
    deciding = np.zeros(fires.shape, dtype=np.intp)
    rules = []
    for place, (formula, label) in enumerate(zip(formulas, labels, strict=True)):
        if isinstance(formula, Complement):
            holds = [fires[:, place]]
        else:
            holds = [DNF([cube]).evaluate(rows) for cube in formula]
            printed = printed_order(formula.cubes, predicates or {})
            for number in reversed(range(len(printed))):
                deciding[holds[formula.cubes.index(printed[number])], place] = number
        in_class = weight * truth[:, place]
        shares = [wilson_interval(float(in_class[held].sum()), float(weight[held].sum()))[0] for held in holds]
        rules.append(Rule(label, formula, tuple(shares)))
    complement = next((place for place, rule in enumerate(rules) if rule.is_complement), None)
    decided: tuple[int, ...] = tuple(order)
    if multilabel:
        decided, otherwise = (), None
    elif complement is not None:
        otherwise = complement
    elif resolve == "order" and not decided:
        decided, best = best_order(fires, wanted, scored, costs, without_rest, first=first, deciding=deciding)
        otherwise = best if otherwise is None else otherwise
    elif otherwise is None:
        counted = _Counted.of(fires, wanted, scored, costs, without_rest)
        by_score = resolve == "order" or costs is not None
        otherwise = counted.best_otherwise(decided)[1] if by_score else counted.otherwise_choices[0]
    used = tuple(dict.fromkeys(concept for formula in formulas for concept in formula.concepts))
    meant = {concept: predicates[concept] for concept in used if predicates and concept in predicates}
    return RuleSet(tuple(rules), meant, groups.among(used), resolve, otherwise, multilabel, decided)


def idle_cubes(rules: RuleSet, rows: PackedRows, weight: NDArray[np.float64]) -> frozenset[tuple[int, Cube]]:
    """Return the cubes that decide on no row, each with the place of its class: cubes before them fire there.

    Args:
        rules: the rules. Where several labels per row, or `resolve="none"`, let each formula count, no cube is idle.
        rows: the rows.
        weight: weight of each row.
    """
    if rules.multilabel or rules.resolve == "none":
        return frozenset()
    idle, left = [], weight > 0
    for place, cube in rules.turns:
        fires = DNF([cube]).evaluate(rows)
        if not (left & fires).any():
            idle.append((place, cube))
        left = left & ~fires
    return frozenset(idle)


def best_order(
    fires: NDArray[np.bool_],
    truth: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    costs: Sequence[Costs] | None = None,
    without_rest: Collection[int] = (),
    *,
    first: int | None = None,
    deciding: NDArray[np.intp] | None = None,
) -> tuple[tuple[int, ...], int]:
    """Return the order of the classes, and the class `otherwise`, with the largest macro-F1 of the decision.

    With costs, return those that cost the least.

    The first class in the order whose formula fires decides; if none fires, `otherwise` does. Up to five classes, every
    order is tried. With more, each class is inserted at its best place, then single classes are moved and pairs are
    swapped until the score no longer improves. Of equally good orders the one that needs fewer rules is taken, then the
    one in which the earlier class stands first.

    Args:
        fires: which formula fires on which row, `[rows, classes]`.
        truth: membership of each row in each class, 0 to 1, `[rows, classes]`.
        weight: weight of each row. Default: 1 for each row.
        costs: what false alarms and misses of each class cost. Default: None.
        without_rest: classes that cannot be `otherwise`. Default: none.
        first: the class that comes first. Default: any.
        deciding: the number of the rule that decides if its class does, `[rows, classes]`. Default: each class has one.

    >>> fires = np.array([[1, 1], [1, 1], [1, 0], [0, 0]], dtype=bool)
    >>> truth = np.array([[0, 1], [0, 1], [1, 0], [1, 0]], dtype=float)
    >>> best_order(fires, truth)
    ((1, 0), 0)
    """
    weights = np.ones(len(fires)) if weight is None else np.asarray(weight, dtype=np.float64)
    fired, member = np.array(fires, dtype=np.bool_), np.asarray(truth, dtype=np.float64)
    if first is not None:
        # No other class decides where the first one fires.
        fired[fired[:, first]] = np.arange(fired.shape[1]) == first
    counted = _Counted.of(fired, member, weights, costs, without_rest)
    rules = np.zeros(fired.shape, dtype=np.intp) if deciding is None else deciding
    needed = _Needed.of(fired[weights > 0], rules[weights > 0])
    order, otherwise = (_searched if counted.n_classes > MOST_TRIED else _tried)(counted, needed)
    if first is not None:
        order = (first, *(klass for klass in order if klass != first))
    return order, otherwise


def _tried(counted: _Counted, needed: _Needed) -> tuple[tuple[int, ...], int]:
    """Try every order."""
    best, fewest, chosen = -np.inf, 0, (tuple(range(counted.n_classes)), counted.otherwise_choices[0])
    for order in permutations(range(counted.n_classes)):
        score, otherwise = counted.best_otherwise(order)
        if score <= best - LEAST_GAIN:
            continue
        n_rules = needed.rules(order)
        if score > best + LEAST_GAIN or n_rules < fewest:
            best, fewest, chosen = score, n_rules, (order, otherwise)
    return chosen


def _searched(counted: _Counted, needed: _Needed) -> tuple[tuple[int, ...], int]:
    """Insert greedily, then move single classes and swap pairs until the score no longer improves."""
    otherwise = counted.otherwise_choices[0]
    order: list[int] = []
    # Start with the most precise classes: they lose most behind another class.
    for klass in counted.by_precision:
        place, _ = counted.best_place(order, klass, otherwise)
        order.insert(place, klass)
    best, otherwise = counted.best_otherwise(order)
    while True:
        before = best
        for klass in range(counted.n_classes):
            rest = [other for other in order if other != klass]
            place, score = counted.best_place(rest, klass, otherwise)
            if score > best + LEAST_GAIN:
                order, best = [*rest[:place], klass, *rest[place:]], score
        score, changed = counted.best_otherwise(order)
        if score > best + LEAST_GAIN:
            best, otherwise = score, changed
        if best > before + LEAST_GAIN:
            continue
        best = counted.swap(order, otherwise, best)
        if best > before + LEAST_GAIN:
            continue
        shorter = _with_fewer_rules(counted, needed, order, otherwise)
        if shorter == order:
            return tuple(order), otherwise
        order = shorter


def _with_fewer_rules(counted: _Counted, needed: _Needed, order: list[int], otherwise: int) -> list[int]:
    """Move single classes if the score stays as good and fewer rules are needed."""
    fewest = needed.rules(order)
    for klass in range(counted.n_classes):
        rest = [other for other in order if other != klass]
        scores = counted.place_scores(rest, klass, otherwise)
        # Between two places nothing changes if no class in between fires on a row of this one.
        passed = np.append(0, np.cumsum(needed.overlaps[klass, rest]))
        for place in np.unique(passed, return_index=True)[1].tolist():
            tried = [*rest[:place], klass, *rest[place:]]
            if scores[place] >= scores[order.index(klass)] - LEAST_GAIN and needed.rules(tried) < fewest:
                order, fewest = tried, needed.rules(tried)
    return order


@dataclass(frozen=True, eq=False)
class _Needed:
    """The rules that each order needs: those that decide on a row.

    Attributes:
        fires: the classes that fire on each pattern, `[patterns, classes]`.
        rule: the number of the rule that decides if its class does, `[patterns, classes]`.
    """

    fires: NDArray[np.bool_]
    rule: NDArray[np.intp]

    @classmethod
    def of(cls, fires: NDArray[np.bool_], deciding: NDArray[np.intp]) -> _Needed:
        """Count the patterns of rules once."""
        numbers = np.where(fires, deciding + 1, 0)
        patterns = np.unique(numbers, axis=0)
        patterns = patterns[patterns.any(axis=1)]
        return cls(patterns > 0, patterns)

    @cached_property
    def overlaps(self) -> NDArray[np.bool_]:
        """Whether two classes fire on the same row, `[classes, classes]`."""
        fires = self.fires.astype(np.float32)
        together: NDArray[np.bool_] = fires.T @ fires > 0
        return together

    def rules(self, order: Sequence[int]) -> int:
        """Return the number of rules that decide on some row."""
        klass = np.asarray(order, dtype=np.intp)[self.fires[:, list(order)].argmax(axis=1)]
        rule = self.rule[np.arange(len(klass)), klass]
        return len(set(zip(klass.tolist(), rule.tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class _Counted:
    """Rows counted by pattern: rows on which the same formulas fire form one pattern.

    Attributes:
        lists: the classes that fire on each pattern, padded with `n_classes`, `[patterns, most that fire]`.
        truth: weight of each class on the rows of a pattern, `[patterns, classes]`.
        weight: weight of the rows of each pattern.
        costs: what a false alarm and a miss of each class cost, `[classes, 2]`; None if macro-F1 is the score.
        without_rest: classes that cannot be `otherwise`.
    """

    lists: NDArray[np.intp]
    truth: NDArray[np.float64]
    weight: NDArray[np.float64]
    costs: NDArray[np.float64] | None = None
    without_rest: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        fires: NDArray[np.bool_],
        truth: NDArray[np.float64],
        weight: NDArray[np.float64],
        costs: Sequence[Costs] | None = None,
        without_rest: Collection[int] = (),
    ) -> _Counted:
        """Count the rows."""
        first, group = distinct(fires)
        weighed = np.stack(
            [np.bincount(group, weight * column, minlength=len(first)) for column in truth.T], axis=1
        ).astype(np.float64)
        patterns = fires[first]
        # The classes that fire come first, in their order.
        most = max(int(patterns.sum(axis=1).max(initial=0)), 1)
        lists = np.argsort(~patterns, axis=1, kind="stable")[:, :most]
        lists = np.where(np.take_along_axis(patterns, lists, axis=1), lists, fires.shape[1])
        paid = None if costs is None else np.array([(one.false_alarm, one.miss) for one in costs])
        weights = np.bincount(group, weight, minlength=len(first)).astype(np.float64)
        return cls(lists, weighed, weights, paid, frozenset(without_rest))

    def worth(
        self, said: NDArray[np.float64], right: NDArray[np.float64], classes: slice | Sequence[int] | NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the score of each class from the decided and the correct weight: F1, or minus the cost of a row."""
        total = self.total[classes]
        if self.costs is None:
            return _f1(said, right, total)
        alarm, miss = self.costs[classes].T
        spent: NDArray[np.float64] = alarm * (said - right) + miss * (total - right)
        return -spent / max(float(self.total.sum()), LEAST_GAIN)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.truth.shape[1])

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """Weight of each class on all rows."""
        summed: NDArray[np.float64] = self.truth.sum(axis=0)
        return summed

    @cached_property
    def where(self) -> list[NDArray[np.intp]]:
        """For each class, the patterns on which it fires."""
        pattern, _ = np.nonzero(self.lists < self.n_classes)
        klass = self.lists[self.lists < self.n_classes]
        by_class = np.argsort(klass, kind="stable")
        ends = np.cumsum(np.bincount(klass, minlength=self.n_classes))[:-1]
        return list(np.split(pattern[by_class], ends))

    @cached_property
    def otherwise_choices(self) -> list[int]:
        """The classes by frequency on the rows on which nothing fires, or on all rows if there are no such rows."""
        silent = self.lists[:, 0] == self.n_classes
        here = self.truth[silent].sum(axis=0) if self.weight[silent].sum() > 0 else self.total
        return [int(klass) for klass in np.argsort(-here, kind="stable") if int(klass) not in self.without_rest]

    @property
    def by_precision(self) -> list[int]:
        """The classes by the precision of their formula, the most precise first."""
        fired = np.array([self.weight[rows].sum() for rows in self.where])
        right = np.array([self.truth[rows, klass].sum() for klass, rows in enumerate(self.where)])
        share = np.divide(right, fired, out=np.zeros_like(fired), where=fired > 0)
        return [int(klass) for klass in np.argsort(-share, kind="stable")]

    def ranks(self, order: Sequence[int]) -> NDArray[np.intp]:
        """Return the place of each class in an order; for classes that are not in it, its length."""
        ranks = np.full(self.n_classes + 1, len(order), dtype=np.intp)
        ranks[list(order)] = np.arange(len(order))
        return ranks

    def places(self, order: Sequence[int]) -> NDArray[np.intp]:
        """Return, for each pattern, the place of the class that decides; the length of the order if none does."""
        places: NDArray[np.intp] = self.ranks(order)[self.lists].min(axis=1)
        return places

    def decided(self, order: Sequence[int], otherwise: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, for each place in the order and for `otherwise` after it, the decided and the correct weight."""
        places = self.places(order)
        klass = np.array([*order, otherwise], dtype=np.intp)[places]
        return self._summed(places, klass, slice(None), len(order) + 1)

    def _summed(
        self, places: NDArray[np.intp], klass: NDArray[np.intp], rows: slice | NDArray[np.intp], n: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, for each place, the weight of some patterns and the weight of the class assigned to each of them."""
        right = self.truth[np.arange(len(places)) if isinstance(rows, slice) else rows, klass]
        said = np.bincount(places, self.weight[rows], minlength=n).astype(np.float64)
        return said, np.bincount(places, right, minlength=n).astype(np.float64)

    def by_class(self, order: Sequence[int], said: NDArray[np.float64], otherwise: int) -> NDArray[np.float64]:
        """Convert sums by place to sums by class."""
        names = np.array([*order, otherwise], dtype=np.intp)
        return np.bincount(names, said, minlength=self.n_classes).astype(np.float64)

    def score(self, order: Sequence[int], otherwise: int) -> float:
        """Return the macro-F1 of the decision."""
        said, right = (self.by_class(order, sums, otherwise) for sums in self.decided(order, otherwise))
        return float(self.worth(said, right, slice(None)).mean())

    def best_otherwise(self, order: Sequence[int]) -> tuple[float, int]:
        """Return the best macro-F1 with an order, and the class `otherwise` that gives it."""
        places = self.places(order)
        left = places == len(order)
        klass = np.asarray(order, dtype=np.intp)[places[~left]]
        said = np.bincount(klass, self.weight[~left], minlength=self.n_classes).astype(np.float64)
        right = np.bincount(klass, self.truth[~left, klass], minlength=self.n_classes).astype(np.float64)
        alone = self.worth(said, right, slice(None))
        also = self.worth(said + self.weight[left].sum(), right + self.truth[left].sum(axis=0), slice(None))
        scores = (alone.sum() + also - alone) / self.n_classes
        best = self.otherwise_choices[0]
        for other in self.otherwise_choices[1:]:
            if scores[other] > scores[best] + LEAST_GAIN:
                best = other
        return float(scores[best]), best

    def best_place(self, order: Sequence[int], klass: int, otherwise: int) -> tuple[int, float]:
        """Return the best place for one more class in an order, and the macro-F1 with it."""
        scores = self.place_scores(order, klass, otherwise)
        best = int(np.flatnonzero(scores >= scores.max() - LEAST_GAIN)[0])
        return best, float(scores[best])

    def place_scores(self, order: Sequence[int], klass: int, otherwise: int) -> NDArray[np.float64]:
        """Return the macro-F1 for each place of one more class in an order, in one pass.

        The class takes the rows on which it fires from every class after it, and from `otherwise`.
        """
        n = len(order)
        names, rows = np.array([*order, otherwise], dtype=np.intp), self.where[klass]
        places = self.places(order)
        said, right = self._summed(places, names[places], slice(None), n + 1)
        taken = places[rows]
        lost, lost_right = self._summed(taken, names[taken], rows, n + 1)
        _, gained_right = self._summed(taken, np.full(len(taken), klass), rows, n + 1)
        # The rows left to `otherwise` count for that class, wherever it stands in the order.
        left, left_right = said[n] - lost[n], right[n] - lost_right[n]
        here = names[:n] == otherwise
        said, right = said[:n] + left * here, right[:n] + left_right * here
        # For each place of the class, 0 to n: classes before it keep their rows.
        before = np.cumsum(self.worth(said, right, names[:n]))
        behind = np.cumsum(self.worth(said - lost[:n], right - lost_right[:n], names[:n])[::-1])[::-1]
        own, own_right = (np.cumsum(sums[::-1])[::-1] for sums in (lost, gained_right))
        if klass == otherwise:
            own, own_right = own + left, own_right + left_right
        scores = np.append(0.0, before) + np.append(behind, 0.0) + self.worth(own, own_right, [klass])
        if klass != otherwise and not here.any():
            scores = scores + self.worth(np.array([left]), np.array([left_right]), [otherwise])
        return np.asarray(scores / self.n_classes, dtype=np.float64)

    def swap(self, order: list[int], otherwise: int, best: float) -> float:
        """Swap pairs of classes in an order if that improves the score, in one pass over all pairs. Return the score.

        Only pairs that fire together are tried, and only rows on which one of the two fires are decided again.
        """
        n = len(order)
        ranks, places = self.ranks(order), self.places(order)
        names = np.array([*order, otherwise], dtype=np.intp)
        said, right = (self.by_class(order, sums, otherwise) for sums in self.decided(order, otherwise))
        for i, j in combinations(range(n), 2):
            one, two = names[i], names[j]
            both = np.intersect1d(self.where[one], self.where[two], assume_unique=True)
            if not len(both):
                continue
            rows = np.union1d(self.where[one], self.where[two])
            rows = rows[places[rows] >= i]
            ranks[one], ranks[two] = j, i
            names[i], names[j] = two, one
            decided = ranks[self.lists[rows]].min(axis=1)
            now = names[decided]
            names[i], names[j] = one, two
            was = names[places[rows]]
            moved = was != now
            less = self._summed(was[moved], was[moved], rows[moved], self.n_classes)
            more = self._summed(now[moved], now[moved], rows[moved], self.n_classes)
            tried = said - less[0] + more[0], right - less[1] + more[1]
            score = float(self.worth(*tried, slice(None)).mean())
            if score > best + LEAST_GAIN:
                best, (said, right) = score, tried
                names[i], names[j] = two, one
                places[rows] = decided
            else:
                ranks[one], ranks[two] = i, j
        order[:] = [int(klass) for klass in names[:n]]
        # Sums after many additions and subtractions have rounding errors.
        return self.score(order, otherwise)


def _f1(said: NDArray[np.float64], right: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F1 from the predicted, the correct and the actual weight of each class; 0 if there is none."""
    both = said + total
    return np.divide(2 * right, both, out=np.zeros_like(both), where=both > 0)
