"""Prime cubes: as few literals as possible, true on some row answered yes and on no row answered no.

Every row that is neither is a don't-care. Rows are Boolean matrices; cubes travel as a `CubeArray` and become
formulas at the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.bits import PackedRows, pack_columns
from logiclens.formula.cubes import CubeArray
from logiclens.formula.expand import EXPANSION_WORDS, Expander

EXACT_CONCEPTS = 12
"""Up to this many concepts all 3^n cubes are looked at, so every prime cube is found."""

MAX_PRIMES = 4_000
"""Beyond that size, the most prime cubes that rows are expanded to; the heaviest rows have theirs first."""


def all_primes(on: NDArray[np.bool_], off: NDArray[np.bool_]) -> CubeArray:
    """Every prime cube, from a table of all 3^n cubes (each concept false, true or absent)."""
    n = on.shape[1]
    implicant = ~_cubes_touching(off)
    prime = implicant & _cubes_touching(on)
    for axis in range(n):
        # A literal may go where the cube without it is an implicant too.
        cut = (3**axis, 3, 3 ** (n - axis - 1))
        prime.reshape(cut)[:, :2] &= ~implicant.reshape(cut)[:, 2:]
    found = np.flatnonzero(prime)
    index = np.stack(np.unravel_index(found, (3,) * n), axis=1) if n else np.zeros((len(found), 0), dtype=np.intp)
    return CubeArray(used=index < 2, value=index == 1)


def expanded_primes(
    on: NDArray[np.bool_],
    off: NDArray[np.bool_],
    weight: NDArray[np.float64],
    effort: int = 20,
    *,
    at_most: int = MAX_PRIMES,
    words: int = EXPANSION_WORDS,
) -> CubeArray:
    """Two good prime cubes for each row that no earlier one covers, one more for the `effort` heaviest that are.

    It ends after `at_most` cubes, or when expanding has read so many packed `words`: on rows without structure some of
    the light ones then stay uncovered.
    """
    expander = Expander(packed(on), packed(off), words)
    covered = np.zeros(len(on), dtype=np.bool_)
    used: list[NDArray[np.bool_]] = []
    value: list[NDArray[np.bool_]] = []
    for step, r in enumerate(np.argsort(-weight, kind="stable")):
        if covered[r] and step >= effort:
            continue
        if len(used) >= at_most or expander.exhausted:
            break
        choices = (False,) if covered[r] else (True, False)
        for mask, satisfied in expander.expand(on[r], choices):
            used.append(mask)
            value.append(on[r] & mask)
            covered |= expander.on.unpack(satisfied)
    nothing = CubeArray.none(on.shape[1])
    return nothing.join(CubeArray(np.array(used), np.array(value))) if used else nothing


def packed(rows: NDArray[np.bool_]) -> PackedRows:
    """Rows of a matrix by column; the concepts go by their place."""
    return PackedRows(pack_columns(rows.T), len(rows), tuple(map(str, range(rows.shape[1]))))


def _cubes_touching(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each of the 3^n cubes, in digits of 0 (false), 1 (true), 2 (absent): is it true on one of the rows?"""
    n = rows.shape[1]
    touched = np.zeros(2**n, dtype=np.bool_)
    touched[rows.astype(np.intp) @ (1 << np.arange(n)[::-1])] = True
    for axis in reversed(range(n)):
        # Of the axes behind this one each has its three digits already.
        halves = touched.reshape(2**axis, 2, -1)
        touched = np.empty((2**axis, 3, halves.shape[2]), dtype=np.bool_)
        touched[:, :2] = halves
        np.logical_or(halves[:, 0], halves[:, 1], out=touched[:, 2])
    return touched.reshape(-1)
