"""Which cubes make the formula of a class: two methods, each with a trace of what it did and why.

Both look at a truth table (what the network answers) and at judge rows (what the formula is scored on).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.counted import CountedRows
from logiclens.formula.cubes import CubeArray
from logiclens.formula.dnf import DNF, Cube
from logiclens.formula.minimise import minimum_cover, simplify
from logiclens.formula.primes import packed, prime_cubes, short_cubes
from logiclens.formula.table import TruthTable
from logiclens.formula.weighing import PackedWeights
from logiclens.metrics.scores import macro_f1_of_counts

TRACE_LENGTH = 100
"""How many of the cubes that were not taken a trace lists, the best supported first."""
LIFT = 1.5
"""How much better than chance a short cube must find a class that no row has the majority of."""
MAX_CANDIDATES = 3_000
"""How many cubes compete; the best supported stay."""


@dataclass(frozen=True)
class Limits:
    """What a class formula may cost: at most so many cubes and literals, and a price in score for each literal."""

    max_cubes: int = 10
    max_literals: int = 40
    price: float = 0.005

    def __post_init__(self) -> None:
        """Refuse limits that no formula can meet."""
        if self.max_cubes < 1 or self.max_literals < 1:
            raise LogicLensError("max_cubes and max_literals must be at least 1.")
        if not 0 <= self.price < 1:
            raise LogicLensError(f"the price of a literal must be between 0 and 1, got {self.price}.")


@dataclass(frozen=True)
class TraceStep:
    """One candidate cube: how many rows answered yes it covers, what it gains, and why it was kept or dropped."""

    cube: Cube
    support: float
    gain: float
    kept: bool
    why: str

    def __str__(self) -> str:
        """One line of a trace."""
        mark = "+" if self.kept else "-"
        return f"{mark} {self.cube}   (support {self.support:g}, gain {self.gain:+.4f}): {self.why}"


@dataclass(frozen=True)
class Selection:
    """The formula, its score on the judge rows, how it came about, and whether it is proved minimal."""

    formula: DNF
    score: float
    trace: tuple[TraceStep, ...]
    proved_minimal: bool


class Judge:
    """Scores formulas by macro-F1 on counted rows; `counts[:, 1]` is the weight that should be yes."""

    def __init__(self, rows: CountedRows) -> None:
        """Keep the packed rows and the weights of yes and no."""
        self.rows = rows.packed
        no, yes = rows.counts.T
        self.no, self.yes = PackedWeights.of(no), PackedWeights.of(yes)
        self.all_no, self.all_yes = self.no.total, self.yes.total

    def covered(self, fires: NDArray[np.uint64], among: NDArray[np.uint64] | None = None) -> NDArray[np.float64]:
        """The weight of yes and of no that each packed row of `fires` covers: `[2, formulas]`."""
        return np.stack([self.yes.sums(fires, among), self.no.sums(fires, among)])

    def scores(self, covered: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of formulas that cover so much of yes and of no."""
        both, wrong = covered
        return macro_f1_of_counts(both, self.all_yes - both, wrong, self.all_no - wrong)

    def score_packed(self, fires: NDArray[np.uint64]) -> float:
        """The score of a formula that holds on the packed rows."""
        return float(self.scores(self.covered(fires[None]))[0])

    def score(self, formula: DNF) -> float:
        """The score of a formula."""
        return self.score_packed(formula.evaluate_packed(self.rows))


def select_paper(table: TruthTable, judge: Judge) -> Selection:
    """The paper: distinct positive rows by support; OR each in if that improves the score; then simplify."""
    positive = np.flatnonzero(table.outcome & table.cared)
    order = positive[np.argsort(-table.support[positive], kind="stable")]
    bits = table.rows.bits()[order]
    minterms = CubeArray(np.ones_like(bits), bits)
    fires = minterms.covers_packed(judge.rows)
    fired = np.zeros_like(judge.rows.valid)
    best = judge.score_packed(fired)
    kept: list[Cube] = []
    trace: list[TraceStep] = []
    cubes = minterms.cubes(table.names)
    for step, cube in enumerate(cubes):
        score = judge.score_packed(fired | fires[step])
        gain = score - best
        improves = gain > 0
        if improves:
            fired, best = fired | fires[step], score
            kept.append(cube)
        why = "improves the score" if improves else "does not improve the score"
        trace.append(TraceStep(cube, float(table.support[order[step]]), float(gain), improves, why))
    if not kept:
        # No row improves the score: the best supported one is still the best there is to say.
        kept, best = cubes[:1], judge.score_packed(fires[0])
        trace[0] = replace(trace[0], kept=True, why="kept: the class needs a formula")
    return Selection(simplify(DNF(kept)).formula, best, tuple(trace), proved_minimal=False)


def select_minimal(table: TruthTable, judge: Judge, limits: Limits) -> Selection:
    """Prime cubes against the rows answered no, and short cubes, chosen by score minus the price of their literals.

    A local search; the exact minimum of the whole table competes with what it finds, where it keeps the limits.
    """
    on, weight = table.on, table.support[table.outcome & table.cared]
    primes, complete = prime_cubes(on, table.off, weight)
    search = Search(_candidates(primes, on, weight, judge), judge, limits)
    chosen = search.best()
    minimum = minimum_cover(table, primes, complete=complete, positive=True, at_most=limits.max_literals)
    exact = CubeArray.of(minimum.formula, table.names)
    if search.allowed(exact) and search.value(exact) >= search.value(chosen) - 1e-12:
        chosen = exact
    # The cube that explains the most rows is read first.
    chosen = chosen.take(np.argsort(-_supports(chosen, on, weight), kind="stable"))
    formula = DNF(chosen.cubes(table.names))
    equals_table = bool((formula.evaluate(table.rows) == table.outcome)[table.cared].all())
    proved = minimum.proved and equals_table and formula.n_literals == minimum.formula.n_literals
    trace = _trace(search, chosen, on, weight, table.names)
    return Selection(formula, judge.score_packed(chosen.any_covers_packed(judge.rows)), trace, proved)


def select_short(table: TruthTable, judge: Judge, limits: Limits, constant: DNF) -> Selection | None:
    """Short cubes where the majority of every row says the same; None where the constant is no worse."""
    answered, weight = (
        table.rows.bits()[table.rows.counts[:, 1] > 0],
        table.rows.counts[:, 1][table.rows.counts[:, 1] > 0],
    )
    candidates = short_cubes(answered)
    right, wrong = judge.covered(candidates.covers_packed(judge.rows))
    # Macro-F1 alone would prefer a cube that fires by chance to a constant: ask for more than chance.
    candidates = candidates.take(np.flatnonzero(right * judge.all_no >= LIFT * wrong * judge.all_yes))
    if len(candidates) == 0 or judge.all_yes == 0:
        return None
    search = Search(candidates, judge, limits)
    chosen = search.best()
    if search.value(chosen) <= judge.score(constant) + 1e-9:
        return None
    trace = _trace(search, chosen, answered, weight, table.names)
    score = judge.score_packed(chosen.any_covers_packed(judge.rows))
    return Selection(DNF(chosen.cubes(table.names)), score, trace, False)


def candidate_cubes(table: TruthTable, judge: Judge) -> CubeArray:
    """The cubes that compete for the formula of a table."""
    on, weight = table.on, table.support[table.outcome & table.cared]
    return _candidates(prime_cubes(on, table.off, weight)[0], on, weight, judge)


def _candidates(primes: CubeArray, on: NDArray[np.bool_], weight: NDArray[np.float64], judge: Judge) -> CubeArray:
    """The cubes that compete: the best supported, of equally good ones those with the fewest negations first."""
    short = short_cubes(on)
    # A cube that finds the class no more often than chance is not worth looking at; prime cubes stay in any case.
    right, wrong = judge.covered(short.covers_packed(judge.rows))
    candidates = primes.join(short.take(np.flatnonzero(right * judge.all_no >= wrong * judge.all_yes)))
    if len(candidates) > MAX_CANDIDATES:
        support = _supports(candidates, on, weight)
        candidates = candidates.take(np.sort(np.argsort(-support, kind="stable")[:MAX_CANDIDATES]))
    # Of equally good moves the search takes the first.
    return candidates.take(np.argsort((candidates.used & ~candidates.value).sum(axis=1), kind="stable"))


class Search:
    """Steepest ascent over sets of cubes: add one, exchange one, drop one, or drop a literal, until nothing gains."""

    def __init__(self, candidates: CubeArray, judge: Judge, limits: Limits) -> None:
        """Evaluate every candidate on the judge rows once."""
        self.candidates, self.judge, self.limits = candidates, judge, limits
        self.fires = candidates.covers_packed(judge.rows)
        self.alone = judge.covered(self.fires)

    def value(self, cubes: CubeArray) -> float:
        """Score minus price."""
        fires = cubes.any_covers_packed(self.judge.rows)
        return self.judge.score_packed(fires) - self.limits.price * int(cubes.lengths.sum())

    def allowed(self, cubes: CubeArray) -> bool:
        """Whether a set of cubes keeps the limits."""
        return len(cubes) <= self.limits.max_cubes and int(cubes.lengths.sum()) <= self.limits.max_literals

    def best(self) -> CubeArray:
        """The set of cubes that no single move improves, from the best single cube on."""
        _, current = self.additions(self.candidates.take([]))
        value = self.value(current)
        while True:
            moves = (self.additions(current), self.exchanges(current), self.reductions(current))
            option = max(moves, key=lambda move: move[0])
            # Only a real gain counts, or rounding could send the search in circles.
            if option[0] <= value + 1e-9:
                return current
            value, current = option

    def added_by(self, cubes: CubeArray) -> NDArray[np.float64]:
        """The weight of yes and of no that each candidate covers and `cubes` do not: `[2, candidates]`."""
        if len(cubes) == 0:
            return self.alone
        return self.judge.covered(self.fires, ~cubes.any_covers_packed(self.judge.rows) & self.judge.rows.valid)

    def values_with(self, cubes: CubeArray) -> NDArray[np.float64]:
        """The value of `cubes` with each candidate added, whatever the limits."""
        covered = self.judge.covered(cubes.any_covers_packed(self.judge.rows)[None])
        scores = self.judge.scores(covered + self.added_by(cubes))
        return scores - self.limits.price * (int(cubes.lengths.sum()) + self.candidates.lengths)

    def fitting(self, cubes: CubeArray) -> NDArray[np.bool_]:
        """Which candidates can be added to `cubes` within the limits."""
        literals = int(cubes.lengths.sum()) + self.candidates.lengths
        return (literals <= self.limits.max_literals) & (len(cubes) < self.limits.max_cubes)

    def additions(self, current: CubeArray) -> tuple[float, CubeArray]:
        """The best candidate to add."""
        values = np.where(self.fitting(current), self.values_with(current), -np.inf)
        best = int(np.argmax(values))
        return float(values[best]), current.append(self.candidates.take([best]))

    def exchanges(self, current: CubeArray) -> tuple[float, CubeArray]:
        """The best candidate in place of one of the cubes."""
        rests = [current.take(np.arange(len(current)) != k) for k in range(len(current))]
        return max((self.additions(rest) for rest in rests), key=lambda option: option[0])

    def reductions(self, current: CubeArray) -> tuple[float, CubeArray]:
        """The best cube or literal to drop."""
        n, rows = len(current), self.judge.rows
        fires = current.covers_packed(rows)
        others = np.stack([np.bitwise_or.reduce(np.delete(fires, k, axis=0), axis=0, initial=0) for k in range(n)])
        # A cube keeps its last literal: without it the formula would be True.
        cube, concept = np.nonzero(current.used & (current.lengths > 1)[:, None])
        used = current.used[cube]
        used[np.arange(len(cube)), concept] = False
        shorter = CubeArray(used, current.value[cube] & used)
        # First the cubes that could go, then the literals.
        cubes = range(n) if n > 1 else range(0)
        left = np.concatenate([others[list(cubes)], shorter.covers_packed(rows) | others[cube]])
        if len(left) == 0:
            return -np.inf, current
        literals = int(current.lengths.sum()) - np.r_[current.lengths[list(cubes)], np.ones(len(cube), dtype=np.intp)]
        values = self.judge.scores(self.judge.covered(left)) - self.limits.price * literals
        best = int(np.argmax(values))
        if best < len(cubes):
            return float(values[best]), current.take(np.arange(n) != best)
        changed, place = current.used.copy(), best - len(cubes)
        changed[cube[place], concept[place]] = False
        return float(values[best]), CubeArray(changed, current.value & changed)


def _supports(cubes: CubeArray, on: NDArray[np.bool_], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of the rows answered yes that each cube covers."""
    return PackedWeights.of(weight).sums(cubes.covers_packed(packed(on)))


def _trace(
    search: Search,
    chosen: CubeArray,
    on: NDArray[np.bool_],
    weight: NDArray[np.float64],
    names: tuple[str, ...],
) -> tuple[TraceStep, ...]:
    """What each cube of the formula is worth to it, and what each candidate left out would have brought."""
    value, steps = search.value(chosen), []
    for k, (cube, support) in enumerate(zip(chosen.cubes(names), _supports(chosen, on, weight), strict=True)):
        gain = value - search.value(chosen.take(np.arange(len(chosen)) != k))
        why = "improves the score by more than its literals cost" if gain > 0 else "kept: the class needs a formula"
        steps.append(TraceStep(cube, float(support), gain, True, why))
    kept = {step.cube for step in steps}
    gains, fitting, added = search.values_with(chosen) - value, search.fitting(chosen), search.added_by(chosen)
    score_gains = gains + search.limits.price * search.candidates.lengths
    supports = _supports(search.candidates, on, weight)
    listed = np.argsort(-supports, kind="stable")[: TRACE_LENGTH + len(chosen)]
    for p, cube in zip(listed, search.candidates.take(listed).cubes(names), strict=True):
        if cube in kept:
            continue
        if gains[p] > 0 and not fitting[p]:
            why = "would improve the score, but the limits are reached"
        elif abs(added[:, p]).sum() < 1e-9:
            why = "covers no further row"
        elif score_gains[p] > 0:
            why = "improves the score by less than its literals cost"
        else:
            why = "does not improve the score"
        steps.append(TraceStep(cube, float(supports[p]), float(gains[p]), False, why))
    return tuple(steps)
