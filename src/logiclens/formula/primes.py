"""Prime cubes: true on some row answered yes, on no row answered no, and no literal can be dropped.

All other rows are don't-cares. Rows are Boolean matrices, and cubes a `CubeArray`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.cube_array import CubeArray
from logiclens.formula.packed_rows import PackedRows, pack_columns, popcount

EXPANSION_WORDS = 4_000_000_000
"""Packed words that expanding may read, about ten seconds. A count, so that every machine stops at the same cube."""
MINIMISATION_STEPS = 1_000_000_000
"""Steps that one minimisation may spend on prime cubes in all its phases, about three seconds."""
CALL_STEPS = 10_000
"""Steps that choosing one literal takes beside the packed words that it reads, which are a step each."""


class Effort:
    """The steps that are left for one minimisation. A count, not seconds, so that every machine finds the same."""

    def __init__(self, steps: int | None = None) -> None:
        """Take a number of steps; default: `MINIMISATION_STEPS`."""
        self.left = MINIMISATION_STEPS if steps is None else steps

    @property
    def exhausted(self) -> bool:
        """Whether the steps are used up."""
        return self.left <= 0


class Expander:
    """Find prime cubes by dropping literals while no row of `off` satisfies the others, within a limit of effort."""

    def __init__(
        self, on: PackedRows, off: PackedRows, words: int = EXPANSION_WORDS, effort: Effort | None = None
    ) -> None:
        """Take the rows answered yes and no, the number of words that may be read, and the minimisation's effort."""
        self.on, self.off, self.words, self.effort = on, off, words, effort or Effort()

    @property
    def exhausted(self) -> bool:
        """Whether the words or the effort are used up; use `split` for the other rows."""
        return self.words <= 0 or self.effort.exhausted

    def _spend(self, words: int) -> None:
        self.words -= words
        self.effort.left -= words + CALL_STEPS

    def expand(
        self, row: NDArray[np.bool_], choices: Iterable[bool], allowed: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.uint64]]]:
        """Yield, for each choice, the literals of the row to keep and the rows of `on` that satisfy them.

        The choice True also judges a literal by the rows of `on` that it keeps covered, False by the rows of `off` that
        it excludes. With `allowed`, only these concepts are used; they must suffice.
        """
        places = np.arange(len(row)) if allowed is None else np.flatnonzero(allowed)
        flip = np.where(row[places], ~np.uint64(0), np.uint64(0))[:, None]
        differs = (self.off.words[places] ^ flip) & self.off.valid
        agrees = ~(self.on.words[places] ^ flip) & self.on.valid
        for greedy_for_rows in choices:
            chosen = self._hitting_set(differs, agrees, greedy_for_rows)
            chosen = self._needed(differs, chosen)
            kept = np.zeros(len(row), dtype=np.bool_)
            kept[places[chosen]] = True
            yield kept, np.bitwise_and.reduce(agrees[chosen], axis=0) if chosen else self.on.valid

    def grow(self, wanted: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.uint64]]:
        """Return a prime cube for many of the `wanted` rows of `on`: its concepts, their polarity, and its rows.

        The cube starts empty. Each step adds the literal that excludes the most rows of `off` and keeps the most wanted
        rows. It does not start from a row, which could satisfy parts of many other cubes and mislead the search.
        """
        n = len(self.on.words)
        chosen: list[int] = []
        in_off, open_off = self.off.words, self.off.valid
        in_on, still_on = self.on.words, wanted
        while open_off.any():
            off_true = _counts(in_off & open_off) / popcount(open_off)
            on_true = _counts(in_on & still_on) / popcount(still_on)
            self._spend(in_off.size + in_on.size)
            hits, stays = np.concatenate([1 - off_true, off_true]), np.concatenate([on_true, 1 - on_true])
            _check_some(hits * stays)
            best = int(np.argmax(np.where(hits > 0, hits * stays, -1.0)))
            chosen.append(best)
            # The negations follow the n concepts.
            flip = np.uint64(0) if best < n else ~np.uint64(0)
            in_off, open_off = _busy(in_off, open_off & (in_off[best % n] ^ flip))
            in_on, still_on = _busy(in_on, still_on & (in_on[best % n] ^ flip))
        row = np.zeros(n, dtype=np.bool_)
        row[[literal for literal in chosen if literal < n]] = True
        kept, satisfied = self.prime(row, [literal % n for literal in chosen])
        return kept, row & kept, satisfied

    def prime(self, row: NDArray[np.bool_], literals: list[int]) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Drop redundant literals of the row, given by their concepts. Return the same as `expand`."""
        flip = np.where(row[literals], ~np.uint64(0), np.uint64(0))[:, None]
        differs = (self.off.words[literals] ^ flip) & self.off.valid
        chosen = self._needed(differs, list(range(len(literals))))
        kept = np.zeros(len(row), dtype=np.bool_)
        kept[[literals[i] for i in chosen]] = True
        agrees = ~(self.on.words[kept] ^ np.where(row[kept], ~np.uint64(0), np.uint64(0))[:, None])
        return kept, np.bitwise_and.reduce(agrees, axis=0) & self.on.valid if chosen else self.on.valid

    def _hitting_set(self, differs: NDArray[np.uint64], agrees: NDArray[np.uint64], greedy_for_rows: bool) -> list[int]:
        """Choose literals greedily so that each row of `off` differs from the row on one of them: a hitting set."""
        chosen: list[int] = []
        open_off, still_on = self.off.valid, self.on.valid
        while open_off.any():
            hits = _counts(differs & open_off) / popcount(open_off)
            stays = _counts(agrees & still_on) / popcount(still_on)
            self._spend(differs.size + agrees.size)
            _check_some(hits)
            score = hits * stays if greedy_for_rows else hits + 1e-3 * stays
            best = int(np.argmax(np.where(hits > 0, score, -1.0)))
            chosen.append(best)
            differs, open_off = _busy(differs, open_off & ~differs[best])
            agrees, still_on = _busy(agrees, still_on & agrees[best])
        return chosen

    def _needed(self, differs: NDArray[np.uint64], chosen: list[int]) -> list[int]:
        """Return the literals of a hitting set without redundant ones; earlier literals are dropped first."""
        hit = differs[chosen]
        # later[i]: the rows that literal i and those after it exclude.
        later = np.bitwise_or.accumulate(hit[::-1], axis=0)[::-1]
        kept_out = np.zeros_like(self.off.valid)
        needed: list[int] = []
        for i, literal in enumerate(chosen):
            others = kept_out | later[i + 1] if i + 1 < len(chosen) else kept_out
            if not np.array_equal(others, self.off.valid):
                needed.append(literal)
                kept_out = kept_out | hit[i]
        return needed


def split(on: NDArray[np.bool_], off: NDArray[np.bool_], expander: Expander, covered: NDArray[np.bool_]) -> CubeArray:
    """Return prime cubes for the rows of `on` that are not `covered`, from the leaves of a decision tree.

    Each node is split on the concept with the lowest Gini impurity. A leaf without rows of `off` becomes a cube without
    redundant literals. This takes about rows × concepts × depth steps for any rows.
    """
    covered = covered.copy()
    used, value = [], []
    pending = [(np.flatnonzero(~covered), np.arange(len(off)), list[int]())]
    while pending:
        mine, theirs, path = pending.pop()
        # The cube of an earlier leaf may cover all rows of this one.
        mine = mine[~covered[mine]]
        if len(mine) == 0:
            continue
        if len(theirs) == 0:
            row = on[mine[0]]
            kept, satisfied = expander.prime(row, path)
            covered |= expander.on.unpack(satisfied)
            used.append(kept)
            value.append(row & kept)
            continue
        here, there = on[mine], off[theirs]
        concept = _purest_split(here, there)
        true_on, true_off = here[:, concept], there[:, concept]
        pending += [
            (mine[~true_on], theirs[~true_off], [*path, concept]),
            (mine[true_on], theirs[true_off], [*path, concept]),
        ]
    return CubeArray(np.array(used), np.array(value)) if used else CubeArray.none(on.shape[1])


def _purest_split(on: NDArray[np.bool_], off: NDArray[np.bool_]) -> int:
    """Return the concept that splits the rows with the lowest Gini impurity; distinct rows always have one."""
    true_on, true_off = np.count_nonzero(on, axis=0), np.count_nonzero(off, axis=0)
    false_on, false_off = len(on) - true_on, len(off) - true_off
    n_true, n_false = true_on + true_off, false_on + false_off
    mixture = true_on * true_off / np.maximum(n_true, 1) + false_on * false_off / np.maximum(n_false, 1)
    return int(np.argmin(np.where((n_true > 0) & (n_false > 0), mixture, np.inf)))


def _counts(packed: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the number of bits that are set in each row of words."""
    counts: NDArray[np.uint32] = np.bitwise_count(packed).sum(axis=1, dtype=np.uint32)
    return counts


def _check_some(scores: NDArray[np.float64]) -> None:
    """Raise `RuntimeError` if there is no literal to take: the search would never end."""
    if not scores.any():
        raise RuntimeError("no literal tells a row answered yes from one answered no; this is a defect of logiclens.")


def _busy(columns: NDArray[np.uint64], rows: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Drop the words without rows if at least half of the words have none."""
    busy = rows != 0
    if 2 * np.count_nonzero(busy) > len(rows):
        return columns, rows
    return columns[:, busy], rows[busy]


EXACT_CONCEPTS = 12
"""Up to this many concepts, all 3^n cubes are checked, so every prime cube is found."""

MAX_PRIMES = 4_000
"""With more concepts, the largest number of prime cubes that rows are expanded to, heaviest rows first."""


def all_primes(on: NDArray[np.bool_], off: NDArray[np.bool_]) -> CubeArray:
    """Return every prime cube, from a table of all 3^n cubes (each concept false, true or absent)."""
    n = on.shape[1]
    implicant = ~_cubes_touching(off)
    prime = implicant & _cubes_touching(on)
    for axis in range(n):
        # A literal can be dropped if the cube without it is an implicant.
        cut = (3**axis, 3, 3 ** (n - axis - 1))
        prime.reshape(cut)[:, :2] &= ~implicant.reshape(cut)[:, 2:]
    found = np.flatnonzero(prime)
    index = np.stack(np.unravel_index(found, (3,) * n), axis=1) if n else np.zeros((len(found), 0), dtype=np.intp)
    return CubeArray(used=index < 2, value=index == 1)


def expanded_primes(
    on: NDArray[np.bool_],
    off: NDArray[np.bool_],
    weight: NDArray[np.float64],
    heaviest: int = 20,
    *,
    at_most: int = MAX_PRIMES,
    words: int = EXPANSION_WORDS,
    effort: Effort | None = None,
) -> CubeArray:
    """Return two prime cubes per row that no earlier cube covers, and one per covered row of the `heaviest`.

    Stops after `at_most` cubes, `words` packed words, or the `effort` of the minimisation, so that on random rows some
    light ones stay uncovered.
    """
    expander = Expander(packed(on), packed(off), words, effort)
    covered = np.zeros(len(on), dtype=np.bool_)
    used: list[NDArray[np.bool_]] = []
    value: list[NDArray[np.bool_]] = []
    for step, r in enumerate(np.argsort(-weight, kind="stable")):
        if covered[r] and step >= heaviest:
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
    """Pack the rows of a matrix by column; the names of the concepts are their positions."""
    return PackedRows(pack_columns(rows.T), len(rows), tuple(map(str, range(rows.shape[1]))))


def _cubes_touching(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each of the 3^n cubes, digits 0 (false), 1 (true) and 2 (absent), whether it is true on a row."""
    n = rows.shape[1]
    touched = np.zeros(2**n, dtype=np.bool_)
    touched[rows.astype(np.intp) @ (1 << np.arange(n)[::-1])] = True
    for axis in reversed(range(n)):
        # The axes after this one have their three digits already.
        halves = touched.reshape(2**axis, 2, -1)
        touched = np.empty((2**axis, 3, halves.shape[2]), dtype=np.bool_)
        touched[:, :2] = halves
        np.logical_or(halves[:, 0], halves[:, 1], out=touched[:, 2])
    return touched.reshape(-1)
