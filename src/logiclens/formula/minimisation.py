"""Two-level minimisation with don't-cares: fewest literals, then fewest cubes (or fewest negations).

Up to 12 concepts, every prime cube is found and an integer program proves the cheapest cover, within limits. With more
concepts, a complete table is minimised from irredundant sums of products, and observed rows are expanded to prime
cubes. In both cases the formula is right on every cared row, and no literal or cube can be dropped.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import FormulaTooLarge, LogicLensError
from logiclens.formula.counted_rows import distinct
from logiclens.formula.cover import Budget, Covering, Masks, OutOfSteps
from logiclens.formula.cube_array import CubeArray
from logiclens.formula.dnf import DNF, MAX_CUBES, Cube, Literal, as_masks, undecided
from logiclens.formula.packed_rows import PackedRows, check_names, popcount
from logiclens.formula.primes import (
    EXACT_CONCEPTS,
    EXPANSION_WORDS,
    Effort,
    Expander,
    all_primes,
    expanded_primes,
    packed,
    split,
)
from logiclens.formula.truth_table import TruthTable

Part = tuple[tuple[Masks, ...], int]
"""Cubes, and the rows that they cover."""


def isop(lower: int, upper: int, n_concepts: int, limit: int = MAX_CUBES) -> list[Masks]:
    """Return prime cubes of `upper` that cover `lower`, none redundant; bit k of a mask is bit k of the row number.

    >>> isop(0b1110, 0b1110, 2)  # true on the rows 01, 10 and 11
    [(2, 0), (1, 0)]
    """
    cubes, _ = _Recursion(n_concepts, limit).part(lower, upper, n_concepts)
    return list(cubes)


class _Recursion:
    """One run of `isop`. Structured functions have many equal parts, so each part is computed once."""

    def __init__(self, n_concepts: int, limit: int) -> None:
        self.limit = limit
        self.everything = [(1 << (1 << k)) - 1 for k in range(n_concepts + 1)]
        self.known: dict[tuple[int, int, int], Part] = {}

    def part(self, lower: int, upper: int, k: int) -> Part:
        """Return cubes over the lowest k concepts between two functions of them, and the rows that they cover."""
        if not lower:
            return (), 0
        if upper == self.everything[k]:
            return ((0, 0),), upper
        key = (k, lower, upper)
        if key not in self.known:
            self.known[key] = self._split(lower, upper, k - 1)
        return self.known[key]

    def _split(self, lower: int, upper: int, k: int) -> Part:
        """Split on concept k: rows that only one half allows need the literal, the others do not."""
        half, everything, bit = 1 << k, self.everything[k], 1 << k
        low, low_upper = lower & everything, upper & everything
        high, high_upper = lower >> half, upper >> half
        negative, in_low = self.part(low & ~high_upper, low_upper, k)
        positive, in_high = self.part(high & ~low_upper, high_upper, k)
        rest = (low & ~in_low) | (high & ~in_high)
        free, in_both = self.part(rest, low_upper & high_upper, k)
        # The whole has all cubes of its parts, so if a part is too large, so is the whole.
        if len(negative) + len(positive) + len(free) > self.limit:
            raise FormulaTooLarge(f"the sum of products has more than {self.limit:,} cubes.")
        cubes = (*((p | bit, n) for p, n in positive), *((p, n | bit) for p, n in negative), *free)
        return cubes, (in_low | in_both) | ((in_high | in_both) << half)


def sums_of_products(yes: NDArray[np.bool_], free: NDArray[np.bool_], limit: int = MAX_CUBES) -> list[CubeArray]:
    """Return an irredundant sum of products for several orders of the concepts, unless it exceeds the limit.

    `yes` and `free` (don't-care) have one entry per row of the 2^n rows; concept 0 is the most significant bit.
    """
    n = len(yes).bit_length() - 1
    found = []
    for order in _orders(yes, free, n):
        try:
            cubes = isop(_table(yes, order), _table(yes | free, order), n, limit)
        except FormulaTooLarge:
            continue
        found.append(_cube_array(cubes, order))
    return found


def essential(yes: NDArray[np.bool_]) -> list[int]:
    """Return the concepts that the answers depend on: changing one changes the answer of some row."""
    n = len(yes).bit_length() - 1
    return [j for j in range(n) if _flips(yes, j).any()]


def _flips(yes: NDArray[np.bool_], concept: int) -> NDArray[np.bool_]:
    """Return where the answer changes if the concept changes from false to true."""
    halves = yes.reshape(1 << concept, 2, -1)
    changes: NDArray[np.bool_] = halves[:, 0] ^ halves[:, 1]
    return changes


def _orders(yes: NDArray[np.bool_], free: NDArray[np.bool_], n: int) -> Iterator[tuple[int, ...]]:
    """Yield orders to split in: by how often a concept changes the answer, as given, and both reversed."""
    changes = [np.count_nonzero(_flips(yes, j) & ~_any_of_pair(free, j)) for j in range(n)]
    by_influence = tuple(sorted(range(n), key=lambda j: -changes[j]))
    given = tuple(range(n))
    yield from dict.fromkeys((by_influence, by_influence[::-1], given, given[::-1]))


def _any_of_pair(free: NDArray[np.bool_], concept: int) -> NDArray[np.bool_]:
    halves = free.reshape(1 << concept, 2, -1)
    either: NDArray[np.bool_] = halves[:, 0] | halves[:, 1]
    return either


def _table(values: NDArray[np.bool_], order: tuple[int, ...]) -> int:
    """Return the values as one integer; the first concept of the order is the most significant bit of a row."""
    turned = values.reshape((2,) * len(order)).transpose(order).reshape(-1)
    return int.from_bytes(np.packbits(turned, bitorder="little").tobytes(), "little")


def _cube_array(cubes: list[Masks], order: tuple[int, ...]) -> CubeArray:
    n = len(order)
    positive, negative = np.array(cubes, dtype=np.int64).reshape(-1, 2, 1).transpose(1, 0, 2)
    # Bit k of a mask is the concept k places before the end of the order.
    shifts = np.empty(n, dtype=np.int64)
    shifts[list(order)] = np.arange(n)[::-1]
    value = (positive >> shifts & 1).astype(np.bool_)
    return CubeArray(value | (negative >> shifts & 1).astype(np.bool_), value)


PROVABLE_CELLS = 400_000
"""A cover is solved exactly if its matrix of distinct rows × cubes has at most this many cells, ..."""
PROVABLE_MARKS = 50_000
"""... or at most this many marks. A mark is a cube that is true on a row; a branch costs as much as there are marks."""
NODE_LIMIT = 1_000
"""Branches the solver may explore. A count, not seconds, so that every machine finds the same formula."""
NODE_MARKS = 250_000
"""Above `PROVABLE_CELLS`, the limit of branches × marks: 20 branches for 4,096 random rows, about 15 seconds."""
POLISH_MARKS = 30_000
"""Up to this many marks the solver also runs without a proof, for what it finds before it branches."""
POLISH_CELLS = 20_000_000
"""Largest number of rows × cubes for a run without a proof."""
TIME_LIMIT = 60.0
"""Seconds after which the solver stops in any case; the limits above should stop it sooner."""


def cheapest_cover(
    cubes: CubeArray,
    rows: PackedRows,
    *,
    provable: bool = True,
    positive: bool = False,
    polish: bool = False,
) -> tuple[NDArray[np.intp], bool]:
    """Return cubes that cover all `rows` with the fewest literals, and whether that is proved.

    Ties go to fewer cubes, with `positive` to fewer negations. `provable` allows a proof; `polish` runs the solver
    without one.
    """
    lengths, covers = cubes.lengths, cubes.covers_packed(rows)
    rough = greedy_cover(covers, lengths + 1, rows)
    # A best cover has no more literals than this one, and so no more negations or cubes (True has one). A weight above
    # this bound cannot be outweighed by what only breaks ties.
    bound = int(lengths[rough].sum()) + 2
    cost = lengths * bound**2 + cubes.negations * bound + 1 if positive else lengths * bound + 1
    greedy = min(rough, greedy_cover(covers, cost, rows), key=lambda cover: int(cost[cover].sum()))
    polish = polish and rows.n_rows * len(cubes) <= POLISH_CELLS
    if not (provable or polish):
        return greedy, False
    distinct = np.unique(np.stack([rows.unpack(cover) for cover in covers], axis=1), axis=0)
    marks = int(np.count_nonzero(distinct))
    nodes = _branches(distinct.size, marks) if provable else int(marks <= POLISH_MARKS)
    if nodes == 0:
        return greedy, False
    if _is_least(int(cost[greedy].sum()), distinct, cost):
        return greedy, provable
    solved, proved = _solve_cover(distinct, cost, nodes)
    if solved is None or cost[solved].sum() > cost[greedy].sum():
        return greedy, False
    return solved, proved and provable


def _branches(cells: int, marks: int) -> int:
    """Return how many branches the solver may explore for a proof; 0 for no proof."""
    if cells <= PROVABLE_CELLS:
        return NODE_LIMIT
    return min(NODE_LIMIT, NODE_MARKS // marks) if marks <= PROVABLE_MARKS else 0


def _is_least(paid: int, covers: NDArray[np.bool_], cost: NDArray[np.intp]) -> bool:
    """Return whether a lower bound shows that no cover costs less than `paid`, a whole number.

    The cost of each cube is shared among its rows. If each row pays the smallest share of a cube that is true on it,
    all rows together pay at most what any cover costs.
    """
    share = cost / np.maximum(covers.sum(axis=0), 1)
    together = float(np.where(covers, share, np.inf).min(axis=1, initial=np.inf).sum())
    return paid - 1 < together * (1 - 1e-9)


def price(cubes: CubeArray, positive: bool) -> tuple[int, int, int]:
    """Return the sort key of a formula: literals, then cubes; with `positive`, negations before cubes."""
    negations = int(cubes.negations.sum()) if positive else 0
    return int(cubes.lengths.sum()), negations, len(cubes)


def greedy_cover(covers: NDArray[np.uint64], cost: NDArray[np.intp], rows: PackedRows) -> NDArray[np.intp]:
    """Take the cube with the most uncovered rows per cost until all are covered; then drop redundant cubes."""
    open_rows = rows.valid.copy()
    chosen: list[int] = []
    gains = np.bitwise_count(covers).sum(axis=1, dtype=np.int64)
    # Gains only fall, so an old gain is an upper bound: a cube is counted again only when it is first.
    queue = [
        (-gain / price, cube) for cube, (gain, price) in enumerate(zip(gains.tolist(), cost.tolist(), strict=True))
    ]
    heapq.heapify(queue)
    while open_rows.any():
        if not queue or queue[0][0] >= 0:
            raise RuntimeError(
                "a row of the table is covered by none of its prime cubes; this is a defect of logiclens."
            )
        _, best = heapq.heappop(queue)
        now = (-popcount(covers[best] & open_rows) / int(cost[best]), best)
        if queue and now > queue[0]:
            heapq.heappush(queue, now)
            continue
        open_rows &= ~covers[best]
        chosen.append(best)
    times = np.zeros(rows.n_rows, dtype=np.int32)
    for cube in chosen:
        times += rows.unpack(covers[cube])
    for cube in sorted(chosen, key=lambda c: -cost[c]):
        fires = rows.unpack(covers[cube])
        if (times[fires] > 1).all():
            times -= fires
            chosen.remove(cube)
    return np.array(chosen, dtype=np.intp)


def _solve_cover(covers: NDArray[np.bool_], cost: NDArray[np.intp], nodes: int) -> tuple[NDArray[np.intp] | None, bool]:
    """Return the cheapest cover that the integer program finds within its limits, if any, and whether it is proved."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    result = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(csr_array(covers.astype(np.float64)), lb=1),
        options={"mip_rel_gap": 0.0, "node_limit": nodes, "time_limit": TIME_LIMIT},
    )
    if result.x is None:
        return None, False
    chosen = np.flatnonzero(result.x > 0.5)
    if not covers[:, chosen].any(axis=1).all():
        return None, False
    # Status 0 is the only one that means proved optimal.
    return chosen, result.status == 0


PASSES = 8
"""Largest number of passes that reduce and expand a cover."""
SMALL_WORDS = 100_000_000
"""Least effort to expand rows, about a tenth of a second; more if growing cubes took more."""
MAX_POOL = 20_000
"""Largest number of prime cubes that rows are expanded to; the other rows are split."""
POOL_WORDS = 1 << 25
"""Packed words that the candidate cubes may take (256 MB); a cover with more candidates is not improved."""


def observed_cover(
    on: NDArray[np.bool_], off: NDArray[np.bool_], weight: NDArray[np.float64], *, positive: bool = False
) -> CubeArray:
    """Return a short cover of the rows `on`, but not `off`, by prime cubes, none redundant."""
    rows, against, effort = packed(on), packed(off), Effort()
    expander = Expander(rows, against, EXPANSION_WORDS, effort)
    grown = _grown(expander)
    spent = EXPANSION_WORDS - expander.words
    expanded = expanded_primes(on, off, weight, at_most=MAX_POOL, words=max(SMALL_WORDS, spent), effort=effort)
    further = _expanded(on, Expander(rows, against, SMALL_WORDS, effort))
    pool = covering_primes(on, off, grown.join(expanded).join(further))
    chosen, _ = cheapest_cover(pool, rows, provable=False, positive=positive)
    return improved(pool.take(chosen), pool, Expander(rows, against, EXPANSION_WORDS, effort), positive=positive)


def _grown(expander: Expander) -> CubeArray:
    """Return prime cubes grown one after another, each for rows that the earlier ones do not cover."""
    wanted = expander.on.valid
    used, value = [], []
    while wanted.any() and not expander.exhausted:
        mask, polarity, satisfied = expander.grow(wanted)
        used.append(mask)
        value.append(polarity)
        wanted = wanted & ~satisfied
    return CubeArray(np.array(used), np.array(value))


def _expanded(on: NDArray[np.bool_], expander: Expander) -> CubeArray:
    """Return two prime cubes for each row until the effort is used up: more candidates for small tables."""
    used, value = [], []
    for row in on:
        if expander.exhausted:
            break
        for mask, _ in expander.expand(row, (True, False)):
            used.append(mask)
            value.append(row & mask)
    return CubeArray(np.array(used), np.array(value)) if used else CubeArray.none(on.shape[1])


def covering_primes(on: NDArray[np.bool_], off: NDArray[np.bool_], primes: CubeArray) -> CubeArray:
    """Return the prime cubes, plus the leaves of a decision tree for rows of `on` that they do not cover."""
    rows = packed(on)
    covered = np.zeros_like(rows.valid)
    for cube in range(len(primes)):
        covered |= primes.take([cube]).covers_packed(rows)[0]
    if np.array_equal(covered, rows.valid):
        return primes
    return primes.join(split(on, off, Expander(rows, packed(off)), rows.unpack(covered)))


def improved(cover: CubeArray, pool: CubeArray, expander: Expander, *, positive: bool = False) -> CubeArray:
    """Shorten a cover in at most `PASSES` passes; `pool` holds more prime cubes to choose from.

    A pass reduces each cube to the rows that only it covers, expands it in another direction, and chooses again among
    all prime cubes seen.
    """
    for _ in range(PASSES):
        if expander.effort.exhausted or (len(pool) + 2 * len(cover)) * len(expander.on.valid) > POOL_WORDS:
            break
        pool = pool.join(_turned(cover, expander))
        chosen, _ = cheapest_cover(pool, expander.on, provable=False, positive=positive)
        if price(pool.take(chosen), positive) >= price(cover, positive):
            break
        cover = pool.take(chosen)
    if expander.effort.exhausted:
        return cover
    chosen, _ = cheapest_cover(pool, expander.on, provable=False, positive=positive, polish=True)
    return min(cover, pool.take(chosen), key=lambda cubes: price(cubes, positive))


def _turned(cover: CubeArray, expander: Expander) -> CubeArray:
    """Reduce each cube to the rows that only it covers, then expand it for few literals and for many rows."""
    rows, covers = expander.on, cover.covers_packed(expander.on)
    used, value = [], []
    for alone in covered_alone(covers):
        if expander.exhausted:
            break
        row, constant = _smallest_cube(rows, alone)
        for mask, _ in expander.expand(row, (True, False), constant):
            used.append(mask)
            value.append(row & mask)
    return CubeArray(np.array(used), np.array(value)) if used else CubeArray.none(cover.used.shape[1])


def covered_alone(covers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return for each cube the rows that only it covers; without redundant cubes, each has some."""
    once = np.zeros_like(covers[0])
    more = np.zeros_like(once)
    for cover in covers:
        more |= once & cover
        once |= cover
    alone: NDArray[np.uint64] = covers & ~more
    return alone


def _smallest_cube(rows: PackedRows, some: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return one of some packed rows, and the concepts on which all agree: their smallest common cube."""
    busy = np.flatnonzero(some)
    columns, some = rows.words[:, busy], some[busy]
    everywhere, nowhere = ((columns & some) == some).all(axis=1), ((columns & some) == 0).all(axis=1)
    lowest = some[0] & (~some[0] + np.uint64(1))
    row: NDArray[np.bool_] = (columns[:, 0] & lowest) != 0
    return row, everywhere | nowhere


COMPLETE_CONCEPTS = 20
"""Up to this many concepts, a table of all 2^n rows is minimised as a whole."""


def complete_table(
    answers: ArrayLike, names: Sequence[str], cared: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Check and return the answers and which of them count, one per row of the 2^n rows."""
    n = len(names)
    check_names(names, n)
    if n > COMPLETE_CONCEPTS:
        raise LogicLensError(
            f"a complete table can have at most {COMPLETE_CONCEPTS} concepts, got {n}. "
            "Pass the rows that were observed to minimise() instead."
        )
    yes = np.asarray(answers, dtype=np.bool_)
    known = np.ones_like(yes) if cared is None else np.asarray(cared, dtype=np.bool_)
    if yes.shape != (1 << n,) or known.shape != (1 << n,):
        raise LogicLensError(
            f"a complete table of {n} concepts has one answer for each of its {1 << n:,} rows; "
            f"got {yes.shape} answers and {known.shape} rows cared for."
        )
    return yes, known


def complete_cover(
    yes: NDArray[np.bool_], known: NDArray[np.bool_], *, positive: bool = False
) -> tuple[CubeArray, bool]:
    """Return a short cover of the `known` rows answered `yes`, and whether it is proved the shortest."""
    # Without don't-cares, prime cubes mention only concepts that the answers depend on.
    concepts = essential(yes) if known.all() else list(range(_n_concepts(yes)))
    if len(concepts) <= EXACT_CONCEPTS:
        return _exact_cover(yes, known, concepts, positive)
    return sum_cover(yes, known, positive=positive), False


def sum_cover(yes: NDArray[np.bool_], known: NDArray[np.bool_], *, positive: bool = False) -> CubeArray:
    """Like `complete_cover` for any number of concepts, from irredundant sums of products, without a proof."""
    n = _n_concepts(yes)
    sums = sums_of_products(yes & known, ~known)
    if not sums:
        raise FormulaTooLarge(
            f"no formula of at most {MAX_CUBES:,} cubes was found for this table of {n} concepts. "
            "Keep fewer concepts, or train with a stronger penalty."
        )
    shortest = min(sums, key=lambda cubes: price(cubes, positive))
    pool = reduce(CubeArray.join, sums)
    on, off = packed(row_bits(np.flatnonzero(yes & known), n)), packed(row_bits(np.flatnonzero(known & ~yes), n))
    if len(pool) * len(on.valid) > POOL_WORDS:
        return shortest
    chosen, _ = cheapest_cover(pool, on, provable=False, positive=positive)
    cover = min(shortest, pool.take(chosen), key=lambda cubes: price(cubes, positive))
    return improved(cover, pool, Expander(on, off), positive=positive)


def _exact_cover(
    yes: NDArray[np.bool_], known: NDArray[np.bool_], concepts: list[int], positive: bool
) -> tuple[CubeArray, bool]:
    """Return the cheapest cover by all prime cubes over the `concepts` that matter."""
    n = _n_concepts(yes)
    # The other concepts do not matter, so they are set to 0.
    seen = tuple(slice(None) if j in concepts else 0 for j in range(n))
    on, off = ((known & side).reshape((2,) * n)[seen].reshape(-1) for side in (yes, ~yes))
    rows = row_bits(np.flatnonzero(on), len(concepts))
    primes = all_primes(rows, row_bits(np.flatnonzero(off), len(concepts)))
    chosen, proved = cheapest_cover(primes, packed(rows), positive=positive)
    cover = CubeArray(*np.zeros((2, len(chosen), n), dtype=np.bool_))
    cover.used[:, concepts], cover.value[:, concepts] = primes.used[chosen], primes.value[chosen]
    return cover, proved


def _n_concepts(table: NDArray[np.bool_]) -> int:
    return len(table).bit_length() - 1


def row_bits(numbers: NDArray[np.intp], n_concepts: int) -> NDArray[np.bool_]:
    """Return numbered rows as a Boolean matrix: concept 0 is the most significant bit."""
    bits = np.unpackbits(numbers.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)
    return bits[:, 32 - n_concepts :].view(np.bool_)


def row_numbers(rows: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the numbers of rows; the inverse of `row_bits`."""
    weights = 1 << np.arange(rows.shape[1], dtype=np.intp)[::-1]
    numbers: NDArray[np.intp] = rows @ weights
    return numbers


@dataclass(frozen=True)
class Minimum:
    """A minimised formula, and whether it is proved that no other has fewer literals, then fewer cubes.

    If negations break the ties, the proof is about the literals.

    >>> from logiclens.formula import minimise_complete
    >>> minimum = minimise_complete([False, True, True, True], ["a", "b"])
    >>> print(minimum.formula, minimum.proved)
    a | b True
    """

    formula: DNF
    proved: bool


def minimise(table: TruthTable, *, positive: bool = False, exclusive: bool = True) -> Minimum:
    """Return the shortest formula found that agrees with the table on every cared row.

    Ties go to the fewest cubes; with `positive`, to the fewest negations, which reads better: `one | three | five`
    instead of `~two & ~four & ~six`. Rows that exclusive groups make impossible are don't-cares. With
    `exclusive=False`, the formula spells the groups out; it is then longer than necessary and never called proved.

    A table of more than 12 concepts with at least half of all rows is minimised like `minimise_complete`, which raises
    `FormulaTooLarge` for too many cubes. Any other table gets a formula. With more than 12 concepts, the search for
    shorter cubes ends after a fixed number of steps; the formula is then right but may be longer than necessary.

    Args:
        table: the truth table.
        positive: whether ties go to the fewest negations. Default: False.
        exclusive: whether the formula may rely on the exclusive groups. Default: True.

    >>> table = TruthTable.of([[0, 0], [0, 1], [1, 0]], ["a", "b"], answers=[False, True, True])
    >>> minimise(table)
    Minimum(formula=DNF('a | b'), proved=True)
    >>> table = TruthTable.of([[0, 1], [1, 0]], ["a", "b"], answers=[False, True], exclusive=[["a", "b"]])
    >>> minimise(table, positive=True).formula, minimise(table, positive=True, exclusive=False).formula
    (DNF('a'), DNF('a & ~b'))
    """
    found = _minimise(table, positive)
    return found if exclusive else Minimum(spelled_out(found.formula, table), proved=False)


def minimise_complete(
    answers: ArrayLike, names: Sequence[str], cared: ArrayLike | None = None, *, positive: bool = False
) -> Minimum:
    """Return the shortest formula found for answers on all 2^n rows, up to 20 concepts.

    Rows that are not `cared` for are don't-cares. Concept 0 is the most significant bit of a row number. Up to 12
    concepts, the search is that of `minimise`. A function that depends on at most 12 of its concepts is solved exactly;
    any other gets the best of several irredundant sums of products, improved. Raises `FormulaTooLarge` if no formula of
    at most 10,000 cubes is found.

    Args:
        answers: the answer on each of the 2^n rows.
        names: names of the n concepts.
        cared: which rows count. Default: all.
        positive: whether ties go to the fewest negations. Default: False.

    >>> minimise_complete([False, True, True, True], ["a", "b"])
    Minimum(formula=DNF('a | b'), proved=True)
    """
    yes, known = complete_table(answers, names, cared)
    on = row_bits(np.flatnonzero(yes & known), len(names))
    if len(on) == 0:
        return Minimum(DNF.false, proved=True)
    if yes[known].all():
        return Minimum(DNF.true, proved=True)
    cubes, proved = complete_cover(yes, known, positive=positive)
    return Minimum(_read_first(cubes, on, np.ones(len(on)), names), proved)


def minimum_cover(table: TruthTable, primes: CubeArray, *, complete: bool, positive: bool = False) -> Minimum:
    """Return the shortest disjunction of the prime cubes that is true on every row answered yes.

    `complete` says whether these are all prime cubes; only then can a minimum be proved. If they do not cover all rows,
    more prime cubes are found.
    """
    on, weight = table.on, table.support[table.outcome & table.cared]
    if not complete:
        primes = covering_primes(on, table.off, primes)
    chosen, proved = cheapest_cover(primes, packed(on), provable=complete, positive=positive)
    return Minimum(_read_first(primes.take(chosen), on, weight, table.names), proved)


def simplify(formula: DNF) -> Minimum:
    """Return an equivalent formula without redundant literals and cubes (the paper's Quine-McCluskey step).

    Up to `EXACT_CONCEPTS` concepts the whole truth table is minimised. With more concepts, literals and cubes are
    dropped one by one as long as the meaning stays. Raises `FormulaTooLarge` if that takes too many steps.

    >>> from logiclens.formula import Literal
    >>> simplify((Literal("person") & Literal("nose")) | (~Literal("person") & Literal("nose")))
    Minimum(formula=DNF('nose'), proved=True)
    """
    concepts = formula.concepts
    if len(concepts) <= EXACT_CONCEPTS:
        grid = row_bits(np.arange(1 << len(concepts)), len(concepts))
        return minimise_complete(formula.evaluate(grid, concepts), concepts)
    place = {concept: bit for bit, concept in enumerate(concepts)}
    try:
        return Minimum(_irredundant(formula, place), proved=False)
    except OutOfSteps:
        raise undecided("which literals and cubes of this formula are redundant", formula) from None


def _irredundant(formula: DNF, place: Mapping[str, int]) -> DNF:
    """Drop literals, then whole cubes, as long as the meaning stays."""
    budget = Budget()
    everything = Covering([as_masks(cube, place) for cube in formula], budget)
    cubes = []
    for cube in formula:
        for literal in cube:
            shorter = cube.without(literal)
            if everything.covers(as_masks(shorter, place)):
                cube = shorter
        cubes.append(cube)
    masks = {cube: as_masks(cube, place) for cube in cubes}
    needed = Covering(masks.values(), budget)
    dropped = {cube for cube in sorted(masks, key=len, reverse=True) if needed.drop(masks[cube])}
    return DNF(cube for cube in cubes if cube not in dropped)


def _minimise(table: TruthTable, positive: bool) -> Minimum:
    on, off = table.on, table.off
    if len(on) == 0:
        return Minimum(DNF.false, proved=True)
    if len(off) == 0:
        return Minimum(DNF.true, proved=True)
    n, weight = len(table.names), table.support[table.outcome & table.cared]
    if n <= EXACT_CONCEPTS:
        return minimum_cover(table, all_primes(on, off), complete=True, positive=positive)
    if n <= COMPLETE_CONCEPTS and 2 * (len(on) + len(off)) >= 1 << n:
        yes, known = np.zeros(1 << n, dtype=np.bool_), np.zeros(1 << n, dtype=np.bool_)
        yes[row_numbers(on)] = known[row_numbers(on)] = known[row_numbers(off)] = True
        cubes, proved = complete_cover(yes, known, positive=positive)
    else:
        cubes, proved = observed_cover(on, off, weight, positive=positive), False
    return Minimum(_read_first(cubes, on, weight, table.names), proved)


def _read_first(cubes: CubeArray, on: NDArray[np.bool_], weight: NDArray[np.float64], names: Sequence[str]) -> DNF:
    """Return the cubes as a formula, the one that covers the most samples first."""
    rows = packed(on)
    explained = [float(weight @ rows.unpack(cubes.take([p]).covers_packed(rows)[0])) for p in range(len(cubes))]
    return DNF(cubes.take(np.argsort(-np.array(explained), kind="stable")).cubes(names))


def spelled_out(formula: DNF, table: TruthTable) -> DNF:
    """Return the formula joined with the patterns of its exclusive groups that occur on cared rows."""
    bits, mentioned = table.rows.bits()[table.cared], set(formula.concepts)
    for group in table.exclusive:
        columns = [j for j, name in enumerate(table.names) if name in group]
        # One concept alone excludes nothing.
        if len(columns) < 2 or not mentioned & set(group):
            continue
        patterns = bits[:, columns]
        patterns = patterns[np.sort(distinct(patterns)[0])]
        names = [table.names[j] for j in columns]
        formula = formula & DNF(Cube(map(Literal, names, pattern)) for pattern in patterns.tolist())
    # Literals in the order of the table in every cube.
    return DNF(CubeArray.of(formula, table.names).cubes(table.names))
