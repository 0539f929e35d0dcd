"""Candidate cubes for the formula of one class: a beam search over all literals, and the counted rows of the search.

`search` starts from these cubes. All counts are matrix products of 0/1 columns with weights. If all weights are
multiples of one power of two, a float32 sum is exact up to 2^24 of these steps, in any order.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.bounds import FREE, TINY, Bound, savings
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.knowledge import Costs
from logiclens.metrics.scores import macro_f1_of_counts

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
