"""Expand, irredundant, reduce: a cover is shortened in passes, as in the program espresso.

R. Brayton et al., "Logic Minimization Algorithms for VLSI Synthesis", 1984. Here the rows answered no are listed, not
complemented, so hundreds of concepts are no matter; every row that is not listed is a don't-care.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.bits import PackedRows
from logiclens.formula.covering import cheapest_cover, price
from logiclens.formula.cubes import CubeArray
from logiclens.formula.expand import EXPANSION_WORDS, Expander, split
from logiclens.formula.primes import expanded_primes, packed

PASSES = 8
"""How often a cover is reduced and expanded again, while that makes it shorter."""
SMALL_WORDS = 100_000_000
"""Rows are expanded with as much effort as growing cubes took, but with no less than this (a tenth of a second)."""
MAX_POOL = 20_000
"""The most prime cubes that rows are expanded to before the rest of the rows is split."""
POOL_WORDS = 1 << 25
"""Packed words that the answers of all cubes under choice may take (256 MB); a longer list is not improved."""


def observed_cover(
    on: NDArray[np.bool_], off: NDArray[np.bool_], weight: NDArray[np.float64], *, positive: bool = False
) -> CubeArray:
    """A short cover of the rows `on` by prime cubes, none of them superfluous, against the rows `off`."""
    rows, against = packed(on), packed(off)
    expander = Expander(rows, against, EXPANSION_WORDS)
    grown = _grown(expander)
    spent = EXPANSION_WORDS - expander.effort
    expanded = expanded_primes(on, off, weight, at_most=MAX_POOL, words=max(SMALL_WORDS, spent))
    further = _expanded(on, Expander(rows, against, SMALL_WORDS))
    pool = covering_primes(on, off, grown.join(expanded).join(further))
    chosen, _ = cheapest_cover(pool, rows, provable=False, positive=positive)
    return improved(pool.take(chosen), pool, Expander(rows, against, EXPANSION_WORDS), positive=positive)


def _grown(expander: Expander) -> CubeArray:
    """Prime cubes grown one after another, each for the rows that the earlier ones leave open."""
    wanted = expander.on.valid
    used, value = [], []
    while wanted.any() and not expander.exhausted:
        mask, polarity, satisfied = expander.grow(wanted)
        used.append(mask)
        value.append(polarity)
        wanted = wanted & ~satisfied
    return CubeArray(np.array(used), np.array(value))


def _expanded(on: NDArray[np.bool_], expander: Expander) -> CubeArray:
    """Two prime cubes for each row, covered or not, as far as the effort goes: more to choose from for small tables."""
    used, value = [], []
    for row in on:
        if expander.exhausted:
            break
        for mask, _ in expander.expand(row, (True, False)):
            used.append(mask)
            value.append(row & mask)
    return CubeArray(np.array(used), np.array(value))


def covering_primes(on: NDArray[np.bool_], off: NDArray[np.bool_], primes: CubeArray) -> CubeArray:
    """The prime cubes, and where they leave rows of `on` open, the leaves of a decision tree on these."""
    rows = packed(on)
    covered = np.zeros_like(rows.valid)
    for cube in range(len(primes)):
        covered |= primes.take([cube]).covers_packed(rows)[0]
    if np.array_equal(covered, rows.valid):
        return primes
    return primes.join(split(on, off, Expander(rows, packed(off)), rows.unpack(covered)))


def improved(cover: CubeArray, pool: CubeArray, expander: Expander, *, positive: bool = False) -> CubeArray:
    """The cover after as many passes as shorten it, at most `PASSES`; `pool` holds further prime cubes to choose from.

    A pass reduces each cube to the rows that it alone covers, expands it again in another direction, and chooses anew
    among all prime cubes seen.
    """
    for _ in range(PASSES):
        if (len(pool) + 2 * len(cover)) * len(expander.on.valid) > POOL_WORDS:
            break
        pool = pool.join(_turned(cover, expander))
        chosen, _ = cheapest_cover(pool, expander.on, provable=False, positive=positive)
        if price(pool.take(chosen), positive) >= price(cover, positive):
            break
        cover = pool.take(chosen)
    chosen, _ = cheapest_cover(pool, expander.on, provable=False, positive=positive, polish=True)
    return min(cover, pool.take(chosen), key=lambda cubes: price(cubes, positive))


def _turned(cover: CubeArray, expander: Expander) -> CubeArray:
    """Each cube reduced to the rows that no other cube covers, then expanded for few literals and for many rows."""
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
    """For each cube the rows that no other covers; a cover without superfluous cubes has some for each."""
    once = np.zeros_like(covers[0])
    more = np.zeros_like(once)
    for cover in covers:
        more |= once & cover
        once |= cover
    alone: NDArray[np.uint64] = covers & ~more
    return alone


def _smallest_cube(rows: PackedRows, some: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """One of some packed rows, and on which concepts all of them agree: the smallest cube that holds them."""
    busy = np.flatnonzero(some)
    columns, some = rows.words[:, busy], some[busy]
    everywhere, nowhere = ((columns & some) == some).all(axis=1), ((columns & some) == 0).all(axis=1)
    lowest = some[0] & (~some[0] + np.uint64(1))
    row: NDArray[np.bool_] = (columns[:, 0] & lowest) != 0
    return row, everywhere | nowhere
