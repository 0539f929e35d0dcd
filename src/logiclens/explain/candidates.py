"""Candidate cubes for the formula of one class: a beam search over all literals, and the counted rows of the search.

`search` starts from these cubes. `SearchTable` holds the rows of all classes, with labels and teacher probabilities,
for all rows, a fold or a bag. All counts are matrix products of 0/1 columns with weights. If all weights are multiples
of one power of two, a float32 sum is exact up to 2^24 of these steps, in any order.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.bounds import FREE, TINY, Bound, savings
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.knowledge import Costs
from logiclens.metrics.scores import macro_f1_of_counts
from logiclens.train.committee import CutRows, Taught, Teacher

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = tuple[int, ...]
"""A cube as sorted literal codes: 2 j for concept j, 2 j + 1 for its negation."""
BEAM = 24
"""Number of cubes that each criterion keeps at each length in the first beam."""
NARROW_BEAM = 8
"""Number of cubes that each criterion keeps at each length in a beam on uncovered rows."""
WIDE = 4e8
"""Maximum number of multiplications for one length of a wide beam, used if no short cube has a signal."""
SIGNAL = 5.0
"""Standard deviations above chance that count as a signal, even for the best of thousands of cubes."""
DEPTH = 6
"""Maximum number of literals of a candidate cube. Moves of single literals can make a cube longer."""
PRIOR_ROWS = 4.0
"""m of the m-estimate: precision is shrunk as if this many rows of average precision had been seen."""
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Support:
    """Requirements for a cube on labelled rows: the weight on which it alone is right, and a precision above chance.

    Attributes:
        unique: minimum weight of the class on rows that no other cube covers.
        share: share of the class in all rows. The lower end of the Wilson interval of the precision must reach it.
    """

    unique: float
    share: float

    @classmethod
    def of(
        cls, labels: NDArray[np.float64], weight: NDArray[np.float64], at_least: float | None = None, part: float = 1.0
    ) -> Support:
        """Return the requirements for a class. Default: max(5, 0.5% of the class), at most a quarter of the class.

        Args:
            labels: weight of the class on each row.
            weight: weight of each row.
            at_least: minimum weight instead of max(5, 0.5% of the class). Default: None.
            part: share of these rows in all rows that the formula is for, as in an inner fold. The 5 is multiplied by
                it but never drops below 3: a cube that five rows support must have a chance in the fold. `at_least` is
                multiplied by it without a lower bound. Default: 1.

        Returns:
            The requirements. No cube can meet them if no row has the class.
        """
        positive, total = float(labels.sum()), float(weight.sum())
        if positive <= 0:
            # No cube can be right on a class without rows.
            return cls(float("inf"), 1.0)
        asked = max(3.0, 5.0 * part, 0.005 * positive) if at_least is None else part * at_least
        return cls(min(asked, positive / 4), positive / total if total else 0.0)


@dataclass(frozen=True, eq=False)
class SearchRows:
    """Distinct rows for the search of one class.

    Attributes:
        columns: the concepts as 0/1 `[rows, concepts]`.
        yes: weight of each row times its target.
        no: weight of each row times one minus the target.
        right: weight of the rows that are labelled with the class.
        weight: weight of each row.
        names: names of the concepts.
        covered: weight of yes and of no on further rows, which required cubes cover.
        outside: weight of yes and of no on further rows, which no cube may cover.
        costs: what false alarms and misses cost. Default: None, macro-F1 is the score.
    """

    columns: Floats
    yes: Floats
    no: Floats
    right: Floats
    weight: Floats
    names: tuple[str, ...]
    covered: tuple[float, float] = (0.0, 0.0)
    outside: tuple[float, float] = (0.0, 0.0)
    costs: Costs | None = None

    def within(self, bound: Bound) -> SearchRows:
        """Return the rows on which knowledge leaves the answer open, and the score that it asks for.

        Required cubes fire on other rows whatever the search finds, and where a required literal fails no cube may
        fire.
        """
        if not bound.adds_cubes:
            return self if bound.costs is None else replace(self, costs=bound.costs)
        fired = np.zeros(len(self.yes), dtype=np.bool_)
        for cube in bound.fixed:
            fired |= self.fires(cube)
        possible = self.fires(bound.base) & bound.stateable
        taken = np.flatnonzero(possible & ~fired)
        (covered, outside) = (
            tuple(float(part[rows].sum(dtype=np.float64)) for part in (self.yes, self.no))
            for rows in (fired, ~possible & ~fired)
        )
        right = self.yes[taken] if self.right is self.yes else self.right[taken]
        yes = right if self.right is self.yes else self.yes[taken]
        return SearchRows(
            self.columns[taken], yes, self.no[taken], right, self.weight[taken], self.names,
            (covered[0], covered[1]), (outside[0], outside[1]), bound.costs,
        )  # fmt: skip

    @cached_property
    def totals(self) -> tuple[float, float]:
        """Total weight of yes and of no, also on rows that are not searched."""
        yes, no = (float(part.sum(dtype=np.float64)) for part in (self.yes, self.no))
        return yes + self.covered[0] + self.outside[0], no + self.covered[1] + self.outside[1]

    @cached_property
    def by_concept(self) -> Floats:
        """The concepts as `[concepts, rows]`."""
        return np.ascontiguousarray(self.columns.T)

    @cached_property
    def targets(self) -> Floats:
        """The weights of yes and of no, as two rows."""
        return np.stack([self.yes, self.no])

    def scores(self, yes: NDArray[np.floating], no: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the score of formulas that cover the given weights of yes and of no: macro-F1, or saved costs."""
        all_yes, all_no = self.totals
        hit, wrong = yes.astype(np.float64), no.astype(np.float64)
        if self.covered != (0.0, 0.0):
            hit, wrong = hit + self.covered[0], wrong + self.covered[1]
        if self.costs is not None:
            return savings(hit, wrong, all_yes, all_no, self.costs)
        # `macro_f1_of_counts`, written out for speed: F1 is 2 hits over the sum of the actual and the predicted weight.
        said = hit + wrong
        refused = all_yes + all_no - said
        hit /= np.maximum((said + all_yes) / 2, TINY)
        wrong -= all_no
        wrong /= np.maximum((refused + all_no) / 2, TINY)
        hit -= wrong
        hit /= 2
        return hit

    def fires(self, cube: Iterable[int]) -> NDArray[np.bool_]:
        """Return on which rows all literals of a cube hold."""
        held = np.ones(len(self.yes), dtype=np.bool_)
        for code in cube:
            held &= self.columns[:, code >> 1] == (1 - (code & 1))
        return held

    def formula(self, cubes: Sequence[Codes]) -> DNF:
        """Return the formula of some cubes, given as codes."""
        return formula_of(cubes, self.names)


def formula_of(cubes: Sequence[Codes], names: Sequence[str]) -> DNF:
    """Return the formula of some cubes, given as codes. Cubes are sorted by `plainness`.

    Args:
        cubes: the cubes as codes.
        names: names of the concepts that the codes refer to.
    """
    ordered = sorted(cubes, key=plainness)
    return DNF(Cube(Literal(names[code >> 1], not code & 1) for code in cube) for cube in ordered)


def wilson_lower(hits: NDArray[np.floating], total: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the lower end of the 95% Wilson interval of a share, for arrays."""
    n = np.maximum(total.astype(np.float64), 1e-12)
    share = np.clip(hits / n, 0, 1)
    spread = Z95 * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    return np.asarray((share + Z95**2 / (2 * n) - spread) / (1 + Z95**2 / n))


def best_literal(table: ConceptTable, target: int) -> Literal:
    """Return the single concept or negation with the highest macro-F1 for a class, on labelled rows.

    On a tie, a concept wins over a negation, then the first column wins.

    Args:
        table: labelled rows.
        target: the class, by number.

    >>> table = ConceptTable([[1, 0], [1, 1], [0, 1]], names=["tall", "dark"], labels=[0, 0, 1])
    >>> best_literal(table, target=1)
    Literal(concept='tall', positive=False)
    """
    yes = table.targets()[:, target] * table.weight
    no, bits = table.weight - yes, table.boolean().astype(np.float64)
    fires = np.concatenate([bits, 1 - bits], axis=1)
    both, wrong = yes @ fires, no @ fires
    # Scores that differ only by the order of summation are equal, so that the first literal wins.
    best = int(np.argmax(np.round(macro_f1_of_counts(both, yes.sum() - both, wrong, no.sum() - wrong), 12)))
    return Literal(table.names[best % table.n_concepts], positive=best < table.n_concepts)


@dataclass(eq=False)
class _Level:
    """Cubes of one length with the rows on which they fire."""

    codes: list[Codes]
    fires: Floats


def beam_cubes(
    rows: SearchRows,
    support: Support,
    uncovered: NDArray[np.bool_] | None = None,
    max_depth: int = DEPTH,
    bound: Bound = FREE,
) -> dict[Codes, NDArray[np.bool_]]:
    """Return the cubes that three criteria rank highest at each length, with the rows on which they fire.

    The criteria are the m-estimate of precision, weighted relative accuracy, and true minus false positives. They
    prefer different cubes: pure ones, large ones, and those that improve the score at once.

    Args:
        rows: the rows of the search.
        support: requirements for each cube.
        uncovered: rows that the formula does not cover yet; the criteria count only these. Default: all rows.
        max_depth: maximum number of literals of a cube. Default: `DEPTH`.
        bound: literals and cubes that are not allowed. Default: all are.

    Returns:
        The cubes and, for each cube, the rows on which it fires. Empty if no counted row is a yes, or there are no
            concepts.
    """
    keep = BEAM if uncovered is None else NARROW_BEAM
    open_rows = np.ones(len(rows.yes), dtype=np.float32) if uncovered is None else uncovered.astype(np.float32)
    weights = [rows.yes * open_rows, rows.no * open_rows]
    if rows.right is not rows.yes:
        weights.append(rows.right * open_rows)
    total_yes, total_no = (float(weight.sum(dtype=np.float64)) for weight in weights[:2])
    if total_yes <= 0 or not rows.names:
        return {}
    prior = total_yes / (total_yes + total_no)
    n_rows, n_concepts = rows.columns.shape
    found: dict[Codes, NDArray[np.bool_]] = {}
    level = _Level([()], np.ones((1, n_rows), dtype=np.float32))
    for depth in range(1, max_depth + 1):
        hit, wrong, *right = extended_weights(level.fires, weights, rows.columns)
        # Support is anti-monotone: if a cube is right on too little weight, more literals cannot help.
        allowed = (right or [hit])[0] >= support.unique - 1e-6
        allowed &= ~_redundant(level, hit + wrong)
        if bound.barred is not None:
            allowed &= ~bound.barred
        criteria = (
            (hit + PRIOR_ROWS * prior) / (hit + wrong + PRIOR_ROWS),
            hit - prior * (hit + wrong),
            hit - wrong if rows.costs is None else rows.costs.miss * hit - rows.costs.false_alarm * wrong,
        )
        best = _best_of(criteria, allowed, keep)
        unique = _extended(level, best, bound)
        fires = _fires_with(level, unique.values(), rows.by_concept)
        precise = wilson_lower(fires @ rows.right, fires @ rows.weight) >= support.share
        found.update((cube, fired > 0) for cube, fired, good in zip(unique, fires, precise, strict=True) if good)
        if depth == max_depth or not unique:
            break
        # If no short cube has a signal, as in a parity, every short cube may be part of a longer one that has.
        if depth <= 2 and uncovered is None and not _has_signal(hit, wrong, prior):
            width = max(keep, int(WIDE / (n_rows * n_concepts * len(weights)) / 3))
            best = _best_of(criteria, allowed, width)
            unique = _extended(level, best, bound)
            fires = _fires_with(level, unique.values(), rows.by_concept)
        level = _Level(list(unique), fires)
    return found


def _extended(level: _Level, best: Sequence[tuple[int, int]], bound: Bound) -> dict[Codes, tuple[int, int]]:
    """Return cubes with one more literal, each with its base and the literal, without those that are forbidden."""
    made = {with_literal(level.codes[base], literal): (base, literal) for base, literal in best}
    # A longer cube of a forbidden one is forbidden too.
    return {cube: parts for cube, parts in made.items() if not bound.forbids(cube)} if bound.forbidden else made


def _has_signal(hit: NDArray[np.float32], wrong: NDArray[np.float32], prior: float) -> bool:
    """Return whether some cube finds yes more often than chance, by more than five standard deviations."""
    total = hit + wrong
    spread = np.sqrt(np.maximum(total * prior * (1 - prior), 1e-12))
    return bool(((hit - prior * total) > SIGNAL * spread).any())


def _fires_with(level: _Level, chosen: Collection[tuple[int, int]], by_concept: Floats) -> Floats:
    """Return the rows on which cubes with one more literal fire."""
    if not chosen:
        return np.zeros((0, by_concept.shape[1]), dtype=np.float32)
    bases, literals = np.array(list(chosen)).T
    held: Floats = by_concept[literals >> 1]
    held -= (literals & 1)[:, None].astype(np.float32)
    np.abs(held, out=held)
    held *= level.fires[bases]
    return held


_is_limited = threading.Lock()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let NumPy use one thread for matrix products in the block.

    A search makes thousands of small products. A second thread gains little on them, and waits for a core by spinning:
    on a busy machine a fit takes several times longer. The number belongs to the process, so of blocks that overlap
    only the first sets and restores it.
    """
    if not _is_limited.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _is_limited.release()


def extended_weights(fires: Floats, weights: Sequence[Floats] | Floats, columns: Floats) -> list[NDArray[np.float32]]:
    """Return, for each kind of weight, what each cube covers with each literal added: `[cubes, literals]`."""
    sums = []
    for weight in weights:
        weighed = fires * weight
        positive = weighed @ columns
        both = np.empty((len(fires), 2 * columns.shape[1]), dtype=np.float32)
        both[:, 0::2] = positive
        both[:, 1::2] = weighed.sum(axis=1, keepdims=True) - positive
        sums.append(both)
    return sums


def weight_of_either(weight: Floats, columns: Floats) -> NDArray[np.float32]:
    """Return the weight of rows on which at least one of two literals holds, for all pairs of literals."""
    both = (columns.T * weight) @ columns
    single, total = np.diagonal(both), weight.sum()
    either = np.empty((2 * len(both), 2 * len(both)), dtype=np.float32)
    either[0::2, 0::2] = single[:, None] + single[None] - both
    either[0::2, 1::2] = total - single[None] + both
    either[1::2, 0::2] = total - single[:, None] + both
    either[1::2, 1::2] = total - both
    return either


def _redundant(level: _Level, sums: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Mark literals of concepts that a cube already has, and literals that exclude no row of the cube."""
    taken = np.zeros(sums.shape, dtype=np.bool_)
    if level.codes[0]:
        codes = np.array(level.codes) & ~1
        places = np.arange(len(codes))[:, None]
        taken[places, codes] = taken[places, codes + 1] = True
    whole = sums[:, :1] + sums[:, 1:2]
    return taken | (sums >= whole - 1e-6)


def _best_of(criteria: Sequence[NDArray[np.floating]], allowed: NDArray[np.bool_], n: int) -> list[tuple[int, int]]:
    """Return the places of the n best extensions by each criterion, without duplicates, in a fixed order."""
    chosen: dict[tuple[int, int], None] = {}
    width = allowed.shape[1]
    places = np.flatnonzero(allowed)
    for values in criteria:
        flat = values.ravel()[places]
        if len(flat) > n:
            top = np.argpartition(-flat, n - 1)[:n]
            edge = flat[top].min()
            top = np.flatnonzero(flat >= edge)
            top = top[np.argsort(-flat[top], kind="stable")][: 2 * n]
        else:
            top = np.argsort(-flat, kind="stable")
        for place in places[top].tolist():
            chosen[divmod(place, width)] = None
    return list(chosen)


def with_literal(cube: Codes, literal: int) -> Codes:
    """Return the cube with one more literal, codes sorted."""
    return tuple(sorted((*cube, literal)))


def plainness(cube: Codes) -> tuple[int, int, Codes]:
    """Return the sort key of a cube: short cubes first, then few negations, then the order of columns."""
    return len(cube), sum(code & 1 for code in cube), cube


MOST_ROWS = 5_000
"""Maximum number of rows searched in an inner fold or bag.

Of more rows a sample is searched, which is enough to compare prices and shares.
"""


@dataclass(frozen=True, eq=False)
class SearchTable:
    """The counted rows of a search: equal Boolean rows are one row.

    Attributes:
        names: concepts that rules may use.
        about: what each concept is about: equal for thresholds of one column.
        groups: which concepts exclude or imply each other.
        bits: values of these concepts.
        weight: weight of each row, without class weights.
        labels: weight of each class on each row, without class weights.
        scored_weight: weight of each row in the score, with class weights.
        scored: weight of each class on each row in the score, with class weights.
        taught: the same as `scored`, with the teacher's probabilities instead of labels.
        part: share of these rows in all training rows.
        float_bits: cache of `bits` as float32.
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
    ) -> SearchTable:
        """Count rows on some concepts.

        Args:
            taught: the rows with labels and teacher probabilities.
            names: the concepts.
            factors: weights of the classes. Default: equal weights.
            most: maximum number of rows; of more, a sample is taken, evenly spread over the classes. Default: no
                maximum.
            whole: total weight of all rows that these are a part of, as in a fold. Default: these are all rows.
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
        """Return the rows for the formula of a class.

        Args:
            klass: the class.
            share: share of the teacher in the target.
            far: maximum number of rows that neither their label nor the teacher assigns to the class. A sample of them
                is taken, evenly spaced by weight in the order of the rows, with the weight of all of them. Default: no
                maximum.
        """
        if not self.float_bits:
            self.float_bits.append(np.ascontiguousarray(self.bits, dtype=np.float32))
        columns = self.float_bits[0]
        target = share * self.taught[:, klass] + (1 - share) * self.scored[:, klass]
        no, right, weight = self.scored_weight - target, self.labels[:, klass], self.weight
        is_far = (self.taught[:, klass] <= 0) & (right <= 0)
        if far is not None and is_far.sum() > far:
            places = np.flatnonzero(is_far)
            # Evenly spaced by weight: a row with the weight of several is taken that many times.
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
        """Return the requirements for a cube of the class."""
        return Support.of(self.labels[:, klass], self.weight, at_least, self.part)

    def keys(self, cubes: Sequence[Codes]) -> frozenset[tuple[Hashable, bool]]:
        """Return the literals of a formula, distinguished by what they are about."""
        return frozenset((self.about[code >> 1], not code & 1) for cube in cubes for code in cube)

    def plain(self, cubes: Sequence[Codes]) -> tuple[Codes, ...]:
        """Return the formula without literals that the other literals of their cube imply by the groups.

        It holds on the same possible rows. At a price of 0 the search has no reason to drop such literals.
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
        """Return on which rows a formula holds."""
        fired = np.zeros(len(self.bits), dtype=np.bool_)
        for cube in cubes:
            held = np.ones(len(self.bits), dtype=np.bool_)
            for code in cube:
                held &= self.bits[:, code >> 1] == (1 - (code & 1))
            fired |= held
        return fired

    def fit(self, klass: int, cubes: Sequence[Codes], costs: Sequence[Costs] | None = None) -> float:
        """Return the score of a formula against the labels: macro-F1, or with costs what it saves."""
        fires, yes = self.fires(cubes), self.scored[:, klass]
        no = self.scored_weight - yes
        hit, wrong = float(yes[fires].sum()), float(no[fires].sum())
        if costs is not None:
            return float(savings(hit, wrong, float(yes.sum()), float(no.sum()), costs[klass]))
        return float(macro_f1_of_counts(hit, float(yes.sum()) - hit, wrong, float(no.sum()) - wrong))


@dataclass(frozen=True, eq=False)
class Fold:
    """The training rows and the test rows of one inner fold."""

    train: SearchTable
    test: SearchTable


def folds_of(
    teacher: Teacher, factors: NDArray[np.float64] | None = None, only: Sequence[str] | None = None
) -> list[Fold]:
    """Return the inner folds; none if there are too few rows.

    Args:
        teacher: the rows with the predictions of the networks.
        factors: weights of the classes. Default: equal weights.
        only: concepts that formulas may use. Default: all concepts that rules may use.
    """
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
        train = SearchTable.of(taught, marked, factors, most=MOST_ROWS, whole=whole)
        folds.append(Fold(train, SearchTable.of(teacher.tested(test), marked, factors)))
    return folds


def literals_of(
    cut: CutRows, only: Sequence[str] | None = None, about: Mapping[str, Hashable] | None = None
) -> tuple[str, ...]:
    """Return the concepts that rules may use.

    Args:
        cut: the rows as concepts.
        only: names of the concepts to keep. If none of them is there, all are returned. Default: all concepts.
        about: what the concepts of `only` are about, if they were found on other rows. The concepts that are about the
            same are then kept, instead of those with the same names. Default: None.
    """
    marked = getattr(cut.table, "literals", None)
    names = tuple(cut.table.names if marked is None else marked)
    if only is None:
        return names
    wanted = {name if about is None else about.get(name, name) for name in only}
    kept = tuple(name for name in names if (name if cut.about is None else cut.about.get(name, name)) in wanted)
    return (kept if about is not None else tuple(name for name in names if name in set(only))) or names
