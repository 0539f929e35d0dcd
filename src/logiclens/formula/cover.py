"""Sets of cubes as pairs of integers: tautology, implication, conjunction and complement.

A cube is `(positive, negative)`: bit j of `positive` is set when concept j must be true, bit j of `negative` when it
must be false. Integers have no fixed width, so any number of concepts fits.

These questions can take exponential time. Each has a limit of steps, which count work and not seconds, so that every
machine gives the same answer. Beyond it `OutOfSteps` is raised. Before that, the SAT solver of `python-sat` is asked if
it is installed: a negated disjunction of cubes is a conjunction of clauses, and the cubes cover a cube exactly if no
row satisfies the clauses and the cube together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from logiclens.errors import FormulaTooLarge

Masks: TypeAlias = tuple[int, int]

TABLE_CONCEPTS = 8
"""Up to this many concepts, a tautology is checked on the whole truth table, held in one integer of 2^8 bits."""
STEPS = 12_000_000
"""Steps of one question, a few seconds. A step is a literal or a pair of cubes that is looked at."""
QUICK_STEPS = 500_000
"""Steps after which a question is handed to the whole truth table or to the SAT solver, if it can be."""
ROWS_CONCEPTS = 20
"""Up to this many concepts, the truth table of the cubes is written out row by row."""
ROWS_WRITTEN = 1 << 30
"""Rows of the truth table that may be written for that, about three seconds."""
CONFLICTS = 200_000
"""Conflicts that the SAT solver may meet in one question, about four seconds."""
PROPAGATIONS = 20_000_000
"""Literals that the SAT solver may propagate in one question, about eight seconds."""


class OutOfSteps(FormulaTooLarge):
    """A question about formulas was not answered within its limit of steps."""


class Budget:
    """The steps that are left for a question, and the work that a SAT solver may do for it."""

    def __init__(self, steps: int | None = None) -> None:
        """Take a number of steps; default: `STEPS`."""
        self.left = STEPS if steps is None else steps
        self.quick = min(self.left, QUICK_STEPS)
        self.conflicts, self.propagations = CONFLICTS, PROPAGATIONS

    def spend(self, steps: int) -> None:
        """Count steps; raise `OutOfSteps` if none are left."""
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps("the limit of steps is reached.")

    def ask(self, solver: CoverSolver, cube: Masks) -> bool:
        """Return the solver's answer and count its work."""
        before = solver.spent()
        answer = solver.covers(cube, self.conflicts, self.propagations)
        after = solver.spent()
        self.conflicts -= after[0] - before[0]
        self.propagations -= after[1] - before[1]
        # A question without conflicts takes time too.
        self.spend(1)
        if answer is None:
            raise OutOfSteps("the limit of the SAT solver is reached.")
        return answer


class Covering:
    """A set of cubes that is asked which other cubes it covers, and which of its own it does not need.

    A question is searched as in `tautology`. After `QUICK_STEPS` the truth table of the cubes is written out, or else
    a SAT solver gets them. If neither is possible, the search goes on until the budget is spent.
    """

    def __init__(self, cubes: Iterable[Masks], budget: Budget | None = None) -> None:
        """Take the cubes, and the budget of all questions together; default: a new one."""
        self.cubes, self.budget = dict.fromkeys(cubes), budget or Budget()
        self._rows: _WrittenRows | None = None
        self._solver: CoverSolver | None = None
        self._is_prepared = False

    def covers(self, cube: Masks) -> bool:
        """Return whether every row of the cube is covered."""
        return cube in self.cubes or self._covers(cube)

    def drop(self, cube: Masks) -> bool:
        """Remove one of the cubes if the others cover it; return whether it was removed."""
        if self.budget.quick <= 0 and not self._is_prepared:
            self._prepare()
        del self.cubes[cube]
        if self._rows is not None:
            self._rows.write(cube, -1)
            dropped = self._covers(cube)
            self._rows.write(cube, 0 if dropped else 1)
        else:
            # A solver cannot forget a clause.
            self.budget.spend(len(self.cubes))
            dropped = Covering(self.cubes, self.budget)._covers(cube)
        if not dropped:
            self.cubes[cube] = None
        return dropped

    def _covers(self, cube: Masks) -> bool:
        if self._rows is None and self.budget.quick > 0:
            quick = Budget(self.budget.quick)
            try:
                return self._search(cube, quick)
            except OutOfSteps:
                pass
            finally:
                self.budget.quick = quick.left
        if not self._is_prepared:
            self._prepare()
        if self._rows is not None:
            self.budget.spend(len(self._rows.concepts))
            return self._rows.cover(cube)
        if self._solver is not None:
            return self.budget.ask(self._solver, cube)
        return self._search(cube, self.budget)

    def _search(self, cube: Masks, budget: Budget) -> bool:
        budget.spend(len(self.cubes) // 4)
        return tautology(cofactor(self.cubes, cube), budget)

    def _prepare(self) -> None:
        """Write the truth table, or give the cubes to a solver, if one of them is possible."""
        self._is_prepared = True
        self._rows = _WrittenRows.of(self.cubes)
        if self._rows is None:
            self.budget.spend(sum(map(_size, self.cubes)) // 2)
            self._solver = cover_solver(self.cubes)


class _WrittenRows:
    """The truth table of cubes over few concepts, with an axis of length 2 for each: how many cubes cover each row."""

    def __init__(self, concepts: Sequence[int]) -> None:
        self.concepts = concepts
        self.counts = np.zeros((2,) * len(concepts), dtype=np.int32)

    @classmethod
    def of(cls, cubes: Collection[Masks]) -> _WrittenRows | None:
        """Write the table; return None if it would be too large."""
        positive, negative = _polarity(cubes)
        concepts = _places(positive | negative)
        n = len(concepts)
        if n > ROWS_CONCEPTS or sum(1 << (n - _size(cube)) for cube in cubes) > ROWS_WRITTEN:
            return None
        made = cls(concepts)
        for cube in cubes:
            made.write(cube, 1)
        return made

    def write(self, cube: Masks, times: int) -> None:
        self.counts[self._where(cube)] += times

    def cover(self, cube: Masks) -> bool:
        return bool(np.all(self.counts[self._where(cube)]))

    def _where(self, cube: Masks) -> tuple[int | slice | EllipsisType, ...]:
        """Return the index of the cube's rows; concepts that the table does not have do not matter."""
        positive, negative = cube
        free = slice(None)
        # The ellipsis makes an array of a single row too.
        return (*(1 if positive >> j & 1 else 0 if negative >> j & 1 else free for j in self.concepts), ...)


def implies(cubes: Sequence[Masks], other: Sequence[Masks], budget: Budget | None = None) -> bool:
    """Return whether every row covered by `cubes` is covered by `other`; raise `OutOfSteps` if that takes too long."""
    covering = Covering(other, budget)
    return all(covering.covers(cube) for cube in cubes)


def disjoint(cubes: Sequence[Masks], other: Sequence[Masks], budget: Budget | None = None) -> bool:
    """Return whether no row is covered by both; raise `OutOfSteps` if there are too many pairs of cubes."""
    budget = budget or Budget()
    for positive, negative in cubes:
        budget.spend(len(other) // 4)
        if any(not (p & negative or n & positive) for p, n in other):
            return False
    return True


def cofactor(cubes: Iterable[Masks], given: Masks) -> list[Masks]:
    """Return what remains of the cubes on the rows where the cube `given` holds."""
    positive, negative = given
    return [(p & ~positive, n & ~negative) for p, n in cubes if not (p & negative or n & positive)]


def tautology(cubes: Sequence[Masks], budget: Budget | None = None) -> bool:
    """Return whether the cubes together cover every row; raise `OutOfSteps` if that takes too long.

    Cubes with a concept of one polarity are removed. After a cube of one literal, only the rows against that literal
    matter. Groups of cubes that share no concept are checked apart. Otherwise the rows are split on the concept that
    occurs most often in both polarities.
    """
    budget = budget or Budget()
    # All of these must cover every row. A stack instead of a recursion: a split for each concept may be too deep.
    pending = [list(cubes)]
    while pending:
        reduced = _reduced(pending.pop(), budget)
        if isinstance(reduced, bool):
            if not reduced:
                return False
            continue
        # Every part but the largest has at most half of the cubes, so that this recursion is not deep.
        *smaller, largest = sorted(_components(reduced, budget), key=len)
        if any(tautology(part, budget) for part in smaller):
            continue
        split = _most_binate(largest)
        pending += [cofactor(largest, (0, split)), cofactor(largest, (split, 0))]
    return True


def _reduced(cubes: list[Masks], budget: Budget) -> list[Masks] | bool:
    """Return the answer of `tautology` if no split is needed for it, else fewer cubes that have the same answer."""
    budget.spend(1 + sum((p | n).bit_count() for p, n in cubes))
    while True:
        cubes = _without_unate(cubes)
        if any(not (p | n) for p, n in cubes):
            return True
        single = _single_literal(cubes)
        if single is None:
            break
        budget.spend(len(cubes))
        cubes = cofactor(cubes, (single[1], single[0]))
    # A cube of m literals covers 2^-m of all rows. If the sum is below 1, some row is not covered.
    longest = max(((p | n).bit_count() for p, n in cubes), default=0)
    if sum(1 << (longest - (p | n).bit_count()) for p, n in cubes) < 1 << longest:
        return False
    support = 0
    for p, n in cubes:
        support |= p | n
    if support.bit_count() <= TABLE_CONCEPTS:
        return _covers_table(cubes, support)
    return cubes


def conjunction(parts: Sequence[Sequence[Masks]], limit: int, budget: Budget | None = None) -> list[Masks]:
    """Return the conjunctions of one cube of each part, without contradictions and absorbed cubes."""
    budget = budget or Budget()
    result = dict.fromkeys(parts[0])
    for part in parts[1:]:
        left, result = result, {}
        for p1, n1 in left:
            budget.spend(len(part))
            for p2, n2 in part:
                positive, negative = p1 | p2, n1 | n2
                if not positive & negative:
                    result[positive, negative] = None
            if len(result) > 2 * limit:
                result = _within(result, limit, budget)
        result = _within(result, limit, budget)
    return list(result)


def _within(cubes: Iterable[Masks], limit: int, budget: Budget) -> dict[Masks, None]:
    absorbed = dict.fromkeys(absorb(cubes, budget))
    if len(absorbed) > limit:
        raise FormulaTooLarge(f"there are more than {limit:,} cubes.")
    return absorbed


def difference(cubes: Sequence[Masks], other: Sequence[Masks], limit: int, budget: Budget | None = None) -> list[Masks]:
    """Return cubes that cover exactly the rows of `cubes` that `other` does not cover."""
    budget = budget or Budget()
    result: dict[Masks, None] = {}
    for positive, negative in cubes:
        budget.spend(len(other) // 4)
        # What remains of `other` where the cube holds is shorter than `other`, and so is its negation.
        rest = _complement(cofactor(other, (positive, negative)), limit, budget)
        result |= dict.fromkeys((positive | p, negative | n) for p, n in rest)
        if len(result) > 2 * limit:
            result = _within(result, limit, budget)
    return list(_within(result, limit, budget))


def absorb(cubes: Iterable[Masks], budget: Budget | None = None) -> list[Masks]:
    """Drop every cube that another cube contains. Keep the order of the others."""
    budget = budget or Budget()
    unique = list(dict.fromkeys(cubes))
    budget.spend(len(unique))
    frequency = Counter(code for cube in unique for code in codes(cube)) if len(unique) > FEW_CUBES else Counter()
    survivors: set[Masks] = set()
    # Kept cubes by their rarest literal: only a cube with this literal can be contained in one of them.
    kept: defaultdict[int, list[Masks]] = defaultdict(list)
    for _, same_size in groupby(sorted(unique, key=_size), key=_size):
        # Distinct cubes of one size cannot contain each other.
        new = []
        for p, n in same_size:
            within = (0, *codes((p, n))) if frequency else (0,)
            candidates = [other for code in within if code in kept for other in kept[code]]
            budget.spend(len(candidates) // 4)
            if not any(kp & p == kp and kn & n == kn for kp, kn in candidates):
                new.append((p, n))
        for cube in new:
            survivors.add(cube)
            rarest = min(codes(cube), key=frequency.__getitem__, default=0) if frequency else 0
            kept[rarest].append(cube)
    return [cube for cube in unique if cube in survivors]


FEW_CUBES = 64
"""Up to this many cubes, comparing all pairs is faster than an index."""


def _size(cube: Masks) -> int:
    return (cube[0] | cube[1]).bit_count()


def _polarity(cubes: Iterable[Masks]) -> Masks:
    positive = negative = 0
    for p, n in cubes:
        positive |= p
        negative |= n
    return positive, negative


def _without_unate(cubes: Sequence[Masks]) -> list[Masks]:
    """Remove the cubes with a concept of one polarity: they never fire on the rows against it.

    If the rest covers all those rows, it covers all rows, because it does not mention the concept.
    """
    current = list(cubes)
    while True:
        positive, negative = _polarity(current)
        unate = positive ^ negative
        rest = [(p, n) for p, n in current if not (p | n) & unate]
        if len(rest) == len(current):
            return rest
        current = rest


def _covers_table(cubes: Sequence[Masks], support: int) -> bool:
    concepts = [i for i in range(support.bit_length()) if support >> i & 1]
    size = 1 << len(concepts)
    everything = (1 << size) - 1
    columns = {}
    for k, concept in enumerate(concepts):
        block = 1 << k
        # The truth-table column of variable k repeats 2^k zeros and 2^k ones.
        columns[concept] = everything // ((1 << block) + 1) << block if block < size else 0
    covered = 0
    for p, n in cubes:
        rows = everything
        for concept in concepts:
            if p >> concept & 1:
                rows &= columns[concept]
            elif n >> concept & 1:
                rows &= ~columns[concept]
        covered |= rows
        if covered == everything:
            return True
    return covered == everything


def _places(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    return [code - 1 for code in codes((mask, 0))]


def _components(cubes: Sequence[Masks], budget: Budget) -> list[list[Masks]]:
    """Group cubes that are linked by shared concepts."""
    groups: list[tuple[int, list[Masks]]] = []
    for cube in cubes:
        budget.spend(len(groups) // 4)
        used, members = cube[0] | cube[1], [cube]
        apart = []
        for group_used, group_members in groups:
            if group_used & used:
                used |= group_used
                members += group_members
            else:
                apart.append((group_used, group_members))
        groups = [*apart, (used, members)]
    return [members for _, members in groups]


def _most_binate(cubes: Sequence[Masks]) -> int:
    """Return, as a bit, the concept that occurs in both polarities in the most cubes; the lowest of equals."""
    count = Counter(code for cube in cubes for code in codes(cube))
    both = [code for code in count if code > 0 and -code in count] or list({abs(code) for code in count})

    def rank(code: int) -> tuple[int, int]:
        positive, negative = count[code], count[-code]
        return min(positive, negative) * len(cubes) + positive + negative, -code

    return 1 << (max(both, key=rank) - 1)


def _complement(cubes: Sequence[Masks], limit: int, budget: Budget) -> list[Masks]:
    # A literal takes longer here than in a tautology, where most cubes are removed before the split.
    budget.spend(1 + 4 * sum((p | n).bit_count() for p, n in cubes))
    if not cubes:
        return [(0, 0)]
    if any(not (p | n) for p, n in cubes):
        return []
    if len(cubes) == 1:
        return _complement_of_cube(cubes[0])
    single = _single_literal(cubes)
    if single is not None:
        # ~(x | F) = ~x & ~F where x is false. All such literals are taken at once to keep the recursion shallow.
        against = (0, 0)
        while single is not None:
            against = (against[0] | single[1], against[1] | single[0])
            cubes = cofactor(cubes, (single[1], single[0]))
            single = _single_literal(cubes)
        return [(p | against[0], n | against[1]) for p, n in _complement(cubes, limit, budget)]
    common = cubes[0]
    for p, n in cubes:
        common = (common[0] & p, common[1] & n)
    if common != (0, 0):
        # ~(L & G) = ~L | ~G.
        rest = [(p & ~common[0], n & ~common[1]) for p, n in cubes]
        return _complement_of_cube(common) + _complement(rest, limit, budget)
    split = _most_binate(cubes)
    low = _complement(cofactor(cubes, (0, split)), limit, budget)
    high = _complement(cofactor(cubes, (split, 0)), limit, budget)
    budget.spend(len(low) + len(high))
    # A cube in the complement of both halves does not depend on the concept.
    both = set(low) & set(high)
    result = [cube for cube in high if cube in both]
    result += [(p | split, n) for p, n in high if (p, n) not in both]
    result += [(p, n | split) for p, n in low if (p, n) not in both]
    if len(result) > limit:
        raise FormulaTooLarge(f"the complement has more than {limit:,} cubes.")
    return result


def _single_literal(cubes: Iterable[Masks]) -> Masks | None:
    return next(((p, n) for p, n in cubes if (p | n).bit_count() == 1), None)


def _complement_of_cube(cube: Masks) -> list[Masks]:
    positive, negative = cube
    result = []
    for bit_index in range((positive | negative).bit_length()):
        bit = 1 << bit_index
        if positive & bit:
            result.append((0, bit))
        elif negative & bit:
            result.append((bit, 0))
    return result


SOLVER = "minisat22"
"""The fastest solver of the package on formulas near the limit; it counts conflicts and propagations."""


def is_installed() -> bool:
    """Return whether `python-sat` can be imported."""
    try:
        import pysat.solvers  # noqa: F401
    except ImportError:
        return False
    return True


def cover_solver(cubes: Iterable[tuple[int, int]]) -> CoverSolver | None:
    """Return a solver for cubes given as pairs of integers, as in `cover`; None if `python-sat` is not installed."""
    if not is_installed():
        return None
    from pysat.solvers import Solver

    return CoverSolver(Solver(name=SOLVER, bootstrap_with=[[-code for code in codes(cube)] for cube in cubes]))


class CoverSolver:
    """Decides whether cubes cover another cube; keeps what it learned for the next question."""

    def __init__(self, solver: Any) -> None:
        """Take a solver of `python-sat` that holds the negated cubes as clauses."""
        self._solver = solver

    def covers(self, cube: tuple[int, int], conflicts: int, propagations: int) -> bool | None:
        """Return whether the cubes cover all rows of `cube`; None if that takes more than the given work."""
        self._solver.conf_budget(max(1, conflicts))
        self._solver.prop_budget(max(1, propagations))
        found = self._solver.solve_limited(assumptions=list(codes(cube)))
        return None if found is None else not found

    def spent(self) -> tuple[int, int]:
        """Return the conflicts and propagations of all questions so far."""
        work = self._solver.accum_stats()
        return int(work["conflicts"]), int(work["propagations"])


def codes(cube: tuple[int, int]) -> Iterator[int]:
    """Yield the literals of a cube as a SAT solver numbers them: concept j is j + 1, its negation −(j + 1)."""
    for sign, mask in zip((1, -1), cube, strict=True):
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            yield sign * lowest.bit_length()
