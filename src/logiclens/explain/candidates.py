"""Candidate cubes for the formula of one class: the rows that are searched, and a beam search over all literals.

All counts are matrix products of 0/1 columns with weights. Where all weights are multiples of one power of two, a
float32 sum is exact up to 2^24 of these steps, in any order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.metrics.scores import macro_f1_of_counts

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = tuple[int, ...]
"""A cube as sorted literal codes: 2 j for concept j, 2 j + 1 for its negation."""
BEAM = 24
"""Cubes that each criterion keeps at each length in the first beam."""
NARROW_BEAM = 8
"""The same on rows that are not covered yet."""
WIDE = 4e8
"""Multiplications that a beam may spend on one length where no short cube tells the class from chance."""
SIGNAL = 5.0
"""Standard deviations from chance that count as a signal, whichever of thousands of cubes has them."""
DEPTH = 6
"""The most literals of a candidate cube; literal by literal it may grow further."""
PRIOR_ROWS = 4.0
"""m of the m-estimate: precision is shrunk as if so many rows of average precision had been seen."""
Z95 = 1.959963984540054
TINY = 1e-12
"""What a sum that could be 0 is divided by at least."""


@dataclass(frozen=True)
class Support:
    """What a cube must show on labelled rows: a weight on which it alone is right, and precision above chance."""

    unique: float
    share: float

    @classmethod
    def of(
        cls, labels: NDArray[np.float64], weight: NDArray[np.float64], at_least: float | None = None, part: float = 1.0
    ) -> Support:
        """The default: max(5, 0.5% of the class), never more than a quarter of the class.

        The rows may be a `part` of those that the formula is for, as in an inner fold. Then that part of it is asked
        for, but of the 5 no less than 3: what five rows support must have a chance in the fold.
        """
        positive, total = float(labels.sum()), float(weight.sum())
        if positive <= 0:
            # No cube can be right on a class that no row has.
            return cls(float("inf"), 1.0)
        asked = max(3.0, 5.0 * part, 0.005 * positive) if at_least is None else part * at_least
        return cls(min(asked, positive / 4), positive / total if total else 0.0)


@dataclass(frozen=True, eq=False)
class SearchRows:
    """Distinct rows for the search of one class.

    Attributes:
        columns: the concepts as 0/1 `[rows, concepts]`.
        yes: the weight of each row times its target.
        no: the weight times one minus the target.
        right: the weight of rows that are labelled with the class.
        weight: the weight of all.
        names: the concepts.
    """

    columns: Floats
    yes: Floats
    no: Floats
    right: Floats
    weight: Floats
    names: tuple[str, ...]

    @cached_property
    def totals(self) -> tuple[float, float]:
        """The weight of yes and of no."""
        return float(self.yes.sum(dtype=np.float64)), float(self.no.sum(dtype=np.float64))

    @cached_property
    def by_concept(self) -> Floats:
        """The concepts as `[concepts, rows]`."""
        return np.ascontiguousarray(self.columns.T)

    @cached_property
    def targets(self) -> Floats:
        """The weights of yes and of no, as two rows."""
        return np.stack([self.yes, self.no])

    def scores(self, yes: NDArray[np.floating], no: NDArray[np.floating]) -> NDArray[np.float64]:
        """Macro-F1 of formulas that cover so much of yes and of no."""
        all_yes, all_no = self.totals
        hit, wrong = yes.astype(np.float64), no.astype(np.float64)
        # `macro_f1_of_counts`, written out for speed: 2 hits over the sum of what is so and what is said to be so.
        said = hit + wrong
        refused = all_yes + all_no - said
        hit /= np.maximum((said + all_yes) / 2, TINY)
        wrong -= all_no
        wrong /= np.maximum((refused + all_no) / 2, TINY)
        hit -= wrong
        hit /= 2
        return hit

    def fires(self, cube: Iterable[int]) -> NDArray[np.bool_]:
        """On which rows all literals of a cube hold."""
        held = np.ones(len(self.yes), dtype=np.bool_)
        for code in cube:
            held &= self.columns[:, code >> 1] == (1 - (code & 1))
        return held

    def formula(self, cubes: Sequence[Codes]) -> DNF:
        """Codes as a formula."""
        return formula_of(cubes, self.names)


def formula_of(cubes: Sequence[Codes], names: Sequence[str]) -> DNF:
    """Codes of concepts as a formula; cubes stand by length, then by the order of concepts."""
    ordered = sorted(cubes, key=plainness)
    return DNF(Cube(Literal(names[code >> 1], not code & 1) for code in cube) for cube in ordered)


def wilson_lower(hits: NDArray[np.floating], total: NDArray[np.floating]) -> NDArray[np.float64]:
    """The lower end of the 95% Wilson interval of a share, for arrays."""
    n = np.maximum(total.astype(np.float64), 1e-12)
    share = np.clip(hits / n, 0, 1)
    spread = Z95 * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    return np.asarray((share + Z95**2 / (2 * n) - spread) / (1 + Z95**2 / n))


def best_literal(table: ConceptTable, target: int) -> Literal:
    """The single concept or negation with the highest macro-F1 for a class, on labelled rows.

    Ties go to the plain concepts before the negated ones, then to the first.

    >>> table = ConceptTable([[1, 0], [1, 1], [0, 1]], names=["tall", "dark"], labels=[0, 0, 1])
    >>> best_literal(table, target=1)
    Literal(concept='tall', positive=False)
    """
    yes = table.targets()[:, target] * table.weight
    no, bits = table.weight - yes, table.boolean().astype(np.float64)
    fires = np.concatenate([bits, 1 - bits], axis=1)
    both, wrong = yes @ fires, no @ fires
    # Scores that differ only by the order of summation are equal: then the first wins.
    best = int(np.argmax(np.round(macro_f1_of_counts(both, yes.sum() - both, wrong, no.sum() - wrong), 12)))
    return Literal(table.names[best % table.n_concepts], positive=best < table.n_concepts)


@dataclass(eq=False)
class _Level:
    """Cubes of one length with the rows they fire on."""

    codes: list[Codes]
    fires: Floats


def beam_cubes(
    rows: SearchRows, support: Support, uncovered: NDArray[np.bool_] | None = None, max_depth: int = DEPTH
) -> dict[Codes, NDArray[np.bool_]]:
    """Cubes that three criteria rank highest at each length; with `uncovered`, on the rows that are not covered yet.

    The criteria: m-estimate of precision, weighted relative accuracy, and true minus false positives. Each prefers
    other cubes: pure ones, large ones, and those that pay at once. Returns the cubes with the rows they fire on.
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
        # Anti-monotone: a cube that is right on too little weight cannot be mended by more literals.
        allowed = (right or [hit])[0] >= support.unique - 1e-6
        allowed &= ~_redundant(level, hit + wrong)
        criteria = (
            (hit + PRIOR_ROWS * prior) / (hit + wrong + PRIOR_ROWS),
            hit - prior * (hit + wrong),
            hit - wrong,
        )
        best = _best_of(criteria, allowed, keep)
        unique = {with_literal(level.codes[base], literal): (base, literal) for base, literal in best}
        fires = _fires_with(level, unique.values(), rows.by_concept)
        precise = wilson_lower(fires @ rows.right, fires @ rows.weight) >= support.share
        found.update((cube, fired > 0) for cube, fired, good in zip(unique, fires, precise, strict=True) if good)
        if depth == max_depth or not unique:
            break
        # Where nothing short tells the class from chance, as in a parity, every short cube may lead to one that does.
        if depth <= 2 and uncovered is None and not _has_signal(hit, wrong, prior):
            width = max(keep, int(WIDE / (n_rows * n_concepts * len(weights)) / 3))
            best = _best_of(criteria, allowed, width)
            unique = {with_literal(level.codes[base], literal): (base, literal) for base, literal in best}
            fires = _fires_with(level, unique.values(), rows.by_concept)
        level = _Level(list(unique), fires)
    return found


def _has_signal(hit: NDArray[np.float32], wrong: NDArray[np.float32], prior: float) -> bool:
    """Whether some cube finds yes far more often than chance: by five standard deviations."""
    total = hit + wrong
    spread = np.sqrt(np.maximum(total * prior * (1 - prior), 1e-12))
    return bool(((hit - prior * total) > SIGNAL * spread).any())


def _fires_with(level: _Level, chosen: Collection[tuple[int, int]], by_concept: Floats) -> Floats:
    """The rows on which cubes fire that have one more literal."""
    if not chosen:
        return np.zeros((0, by_concept.shape[1]), dtype=np.float32)
    bases, literals = np.array(list(chosen)).T
    held: Floats = by_concept[literals >> 1]
    held -= (literals & 1)[:, None].astype(np.float32)
    np.abs(held, out=held)
    held *= level.fires[bases]
    return held


def extended_weights(fires: Floats, weights: Sequence[Floats] | Floats, columns: Floats) -> list[NDArray[np.float32]]:
    """For each kind of weight what each cube covers with each literal added: `[cubes, literals]`."""
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
    """The weight of rows on which at least one of two literals holds, for all pairs of literals."""
    both = (columns.T * weight) @ columns
    single, total = np.diagonal(both), weight.sum()
    either = np.empty((2 * len(both), 2 * len(both)), dtype=np.float32)
    either[0::2, 0::2] = single[:, None] + single[None] - both
    either[0::2, 1::2] = total - single[None] + both
    either[1::2, 0::2] = total - single[:, None] + both
    either[1::2, 1::2] = total - both
    return either


def _redundant(level: _Level, sums: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Literals of concepts that a cube has already, and literals that rule out no row of the cube."""
    taken = np.zeros(sums.shape, dtype=np.bool_)
    if level.codes[0]:
        codes = np.array(level.codes) & ~1
        places = np.arange(len(codes))[:, None]
        taken[places, codes] = taken[places, codes + 1] = True
    whole = sums[:, :1] + sums[:, 1:2]
    return taken | (sums >= whole - 1e-6)


def _best_of(criteria: Sequence[NDArray[np.floating]], allowed: NDArray[np.bool_], n: int) -> list[tuple[int, int]]:
    """The places of the n best extensions by each criterion, each once, in a fixed order."""
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
    """Short cubes first, then those with few negations, then by the order of columns."""
    return len(cube), sum(code & 1 for code in cube), cube
