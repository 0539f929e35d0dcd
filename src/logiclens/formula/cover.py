"""Sets of cubes as pairs of integers: tautology, implication, conjunction and complement.

A cube is `(positive, negative)`: bit j of `positive` is set when concept j must be true, bit j of `negative` when it
must be false. Integers have no fixed width, so any number of concepts fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from logiclens.errors import FormulaTooLarge

Masks: TypeAlias = tuple[int, int]

TABLE_CONCEPTS = 8
"""Up to this many concepts, a tautology is checked on the whole truth table, held in one integer of 2^8 bits."""


def implies(cubes: Sequence[Masks], other: Sequence[Masks]) -> bool:
    """Return whether every row covered by `cubes` is covered by `other`."""
    return all(tautology(cofactor(other, cube)) for cube in cubes)


def cofactor(cubes: Iterable[Masks], given: Masks) -> list[Masks]:
    """Return what remains of the cubes on the rows where the cube `given` holds."""
    positive, negative = given
    return [(p & ~positive, n & ~negative) for p, n in cubes if not (p & negative or n & positive)]


def tautology(cubes: Sequence[Masks]) -> bool:
    """Return whether the cubes together cover every row.

    Recursive. Cubes with a concept of one polarity are removed. After a cube of one literal, only the rows against that
    literal matter. Groups of cubes that share no concept are checked apart. Otherwise the rows are split on the concept
    that occurs most often in both polarities.
    """
    cubes = list(cubes)
    while True:
        cubes = _without_unate(cubes)
        if any(not (p | n) for p, n in cubes):
            return True
        single = _single_literal(cubes)
        if single is None:
            break
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
    parts = _components(cubes)
    if len(parts) > 1:
        return any(tautology(part) for part in parts)
    split = _most_binate(cubes)
    return tautology(cofactor(cubes, (split, 0))) and tautology(cofactor(cubes, (0, split)))


def conjunction(left: Sequence[Masks], right: Sequence[Masks], limit: int) -> list[Masks]:
    """Return the pairwise conjunctions without contradictions and absorbed cubes."""
    result: dict[Masks, None] = {}
    for p1, n1 in left:
        for p2, n2 in right:
            positive, negative = p1 | p2, n1 | n2
            if not positive & negative:
                result[positive, negative] = None
        if len(result) > limit:
            result = dict.fromkeys(absorb(result))
            if len(result) > limit:
                raise FormulaTooLarge(f"the conjunction has more than {limit:,} cubes.")
    return absorb(result)


def complement(cubes: Sequence[Masks], limit: int) -> list[Masks]:
    """Return cubes that cover exactly the rows that `cubes` do not cover."""
    result = _complement(cubes, limit)
    return absorb(result)


def absorb(cubes: Iterable[Masks]) -> list[Masks]:
    """Drop every cube that another cube contains. Keep the order of the others."""
    unique = list(dict.fromkeys(cubes))
    smaller: list[Masks] = []
    for _, same_size in groupby(sorted(unique, key=_size), key=_size):
        # Distinct cubes of one size cannot contain each other.
        smaller += [(p, n) for p, n in same_size if not any(kp & p == kp and kn & n == kn for kp, kn in smaller)]
    survivors = set(smaller)
    return [cube for cube in unique if cube in survivors]


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


def _components(cubes: Sequence[Masks]) -> list[list[Masks]]:
    """Group cubes that are linked by shared concepts."""
    groups: list[tuple[int, list[Masks]]] = []
    for cube in cubes:
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
    """Return, as a bit, the concept that occurs in both polarities in the most cubes."""
    positive, negative = _polarity(cubes)
    candidates = positive & negative or positive | negative
    best, best_count = 0, -1
    while candidates:
        bit = candidates & -candidates
        candidates ^= bit
        in_positive = sum(1 for p, _ in cubes if p & bit)
        in_negative = sum(1 for _, n in cubes if n & bit)
        count = min(in_positive, in_negative) * len(cubes) + in_positive + in_negative
        if count > best_count:
            best, best_count = bit, count
    return best


def _complement(cubes: Sequence[Masks], limit: int) -> list[Masks]:
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
        return [(p | against[0], n | against[1]) for p, n in _complement(cubes, limit)]
    common = cubes[0]
    for p, n in cubes:
        common = (common[0] & p, common[1] & n)
    if common != (0, 0):
        # ~(L & G) = ~L | ~G.
        return _complement_of_cube(common) + _complement([(p & ~common[0], n & ~common[1]) for p, n in cubes], limit)
    split = _most_binate(cubes)
    low = _complement(cofactor(cubes, (0, split)), limit)
    high = _complement(cofactor(cubes, (split, 0)), limit)
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
