"""Complete tables: an answer, or a don't-care, for each of the 2^n rows, and short covers of them.

Row r has concept 0 as its most significant bit, the order in which rows are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import FormulaTooLarge, LogicLensError
from logiclens.formula.bits import check_names
from logiclens.formula.covering import cheapest_cover, price
from logiclens.formula.cubes import CubeArray
from logiclens.formula.dnf import MAX_CUBES
from logiclens.formula.espresso import POOL_WORDS, improved
from logiclens.formula.expand import Expander
from logiclens.formula.isop import essential, sums_of_products
from logiclens.formula.primes import EXACT_CONCEPTS, all_primes, packed

COMPLETE_CONCEPTS = 20
"""Up to this many concepts a table of all 2^n rows is minimised as a whole."""


def complete_table(
    answers: ArrayLike, names: Sequence[str], cared: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The answers and which of them count, one for each of the 2^n rows."""
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
    """A short cover of the rows answered `yes` among those `known`, and whether it is proved the shortest."""
    # Without don't-cares no prime cube mentions a concept on which nothing depends.
    concepts = essential(yes) if known.all() else list(range(_n_concepts(yes)))
    if len(concepts) <= EXACT_CONCEPTS:
        return _exact_cover(yes, known, concepts, positive)
    return sum_cover(yes, known, positive=positive), False


def sum_cover(yes: NDArray[np.bool_], known: NDArray[np.bool_], *, positive: bool = False) -> CubeArray:
    """The same for any number of concepts, from irredundant sums of products; no proof."""
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
    """The cheapest cover by all prime cubes of a table on which only some of the concepts matter."""
    n = _n_concepts(yes)
    # Any value will do for the other concepts: 0.
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
    """Numbered rows as a Boolean matrix: concept 0 is the most significant bit."""
    bits = np.unpackbits(numbers.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)
    return bits[:, 32 - n_concepts :].view(np.bool_)


def row_numbers(rows: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The inverse of `row_bits`."""
    weights = 1 << np.arange(rows.shape[1], dtype=np.intp)[::-1]
    numbers: NDArray[np.intp] = rows @ weights
    return numbers
