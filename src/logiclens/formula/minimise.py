"""Two-level minimisation with don't-cares: fewest literals, then fewest cubes (or fewest negations).

Up to 12 concepts every prime cube is found and the cheapest cover is proved by an integer program, within limits.
Beyond, a complete table is minimised from irredundant sums of products, and observed rows by expanding them. Either way
the formula is right on every cared row, and nothing in it can be dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.formula.complete import COMPLETE_CONCEPTS, complete_cover, complete_table, row_bits, row_numbers
from logiclens.formula.counted import distinct
from logiclens.formula.covering import cheapest_cover
from logiclens.formula.cubes import CubeArray
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.espresso import covering_primes, observed_cover
from logiclens.formula.primes import EXACT_CONCEPTS, all_primes, packed
from logiclens.formula.table import TruthTable


@dataclass(frozen=True)
class Minimum:
    """A minimised formula, and whether it is proved that none on the cared rows has fewer literals, then fewer cubes.

    Where negations break the ties, the proof speaks of the literals.
    """

    formula: DNF
    proved: bool


def minimise(table: TruthTable, *, positive: bool = False, exclusive: bool = True) -> Minimum:
    """The shortest formula found that answers as the table on every cared row.

    Among formulas with the fewest literals the one with the fewest cubes is taken; with `positive` the one with the
    fewest negations, which reads better: `one | three | five` rather than `~two & ~four & ~six`. Rows that exclusive
    groups rule out are don't-cares; with `exclusive=False` the groups are spelled out in the formula, which then is
    longer than it need be and never called proved.

    A table of more than 12 concepts that holds at least half of all rows is minimised as `minimise_complete` does, and
    refused like there where the formula has too many cubes. Any other table gets a formula, whatever its rows are.

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
    """The shortest formula found for answers on all 2^n rows, up to 20 concepts; rows not `cared` for are free.

    Row r has concept 0 as its most significant bit: the order in which rows are counted. Up to 12 concepts the search
    is that of `minimise`. Beyond, a function that depends on no more than 12 of its concepts everywhere is still solved
    exactly; others get the best of several irredundant sums of products, improved. Where none of at most 10,000 cubes
    is found, the table is refused.

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
    """The shortest disjunction of the prime cubes that is true on every row answered yes.

    `complete` says whether these are all prime cubes there are: only then can a minimum be proved, and is looked for.
    Where they leave rows open, further prime cubes are found for these.
    """
    on, weight = table.on, table.support[table.outcome & table.cared]
    if not complete:
        primes = covering_primes(on, table.off, primes)
    chosen, proved = cheapest_cover(primes, packed(on), provable=complete, positive=positive)
    return Minimum(_read_first(primes.take(chosen), on, weight, table.names), proved)


def simplify(formula: DNF) -> Minimum:
    """A formula of the same meaning with no literal and no cube to spare (the paper's Quine-McCluskey step).

    Up to `EXACT_CONCEPTS` concepts the whole truth table is minimised; beyond, literals and cubes are dropped one
    after another while the meaning stays.

    >>> from logiclens.formula import Literal
    >>> simplify((Literal("person") & Literal("nose")) | (~Literal("person") & Literal("nose")))
    Minimum(formula=DNF('nose'), proved=True)
    """
    concepts = formula.concepts
    if len(concepts) <= EXACT_CONCEPTS:
        grid = row_bits(np.arange(1 << len(concepts)), len(concepts))
        return minimise_complete(formula.evaluate(grid, concepts), concepts)
    cubes = list(formula.cubes)
    for i, cube in enumerate(cubes):
        for literal in cube:
            shorter = cubes[i].without(literal)
            if DNF([shorter]).implies(formula):
                cubes[i] = shorter
    for cube in sorted(dict.fromkeys(cubes), key=len, reverse=True):
        rest = DNF(other for other in cubes if other != cube)
        if DNF([cube]).implies(rest):
            cubes = list(rest.cubes)
    return Minimum(DNF(cubes), proved=False)


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
    """The cubes as a formula: the one that explains the most samples is read first."""
    rows = packed(on)
    explained = [float(weight @ rows.unpack(cubes.take([p]).covers_packed(rows)[0])) for p in range(len(cubes))]
    return DNF(cubes.take(np.argsort(-np.array(explained), kind="stable")).cubes(names))


def spelled_out(formula: DNF, table: TruthTable) -> DNF:
    """The formula together with what its exclusive groups leave possible: the patterns seen on cared rows."""
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
    # In the order of the table, so that all cubes read alike.
    return DNF(CubeArray.of(formula, table.names).cubes(table.names))
