"""What recurs when the rows are drawn again: how often each concept and each cube is chosen, and formulas of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.explain.selection import Judge, Limits, select_minimal
from logiclens.formula.bits import places
from logiclens.formula.cubes import CubeArray
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.table import TruthTable
from logiclens.formula.text import format_formula

Chosen = TypeVar("Chosen", str, Cube)

RECURS = 0.5
"""What is chosen in at least this share of the resamples recurs."""
MOST_TOGETHER = 12
"""Of more recurring cubes than this, the most frequent are tried together."""


@dataclass(frozen=True)
class ClassStability:
    """How often the formula of one class used each concept and held each cube, the most frequent first."""

    name: str
    concepts: dict[str, float]
    cubes: dict[Cube, float]

    @property
    def recurring(self) -> tuple[Cube, ...]:
        """The cubes that recur."""
        return tuple(cube for cube, share in self.cubes.items() if share >= RECURS)


@dataclass(frozen=True)
class Stability:
    """Selection frequencies over resamples of the explained rows.

    Cuts are not found again, so that cubes can be compared; how far the cuts themselves would move is not told.
    """

    n_resamples: int
    classes: tuple[ClassStability, ...]

    def __str__(self) -> str:
        """The concepts and cubes of each class that were chosen most often."""
        lines = [f"chosen in how many of {self.n_resamples} resamples"]
        for counted in self.classes:
            lines.append(counted.name)
            told = [(concept, share) for concept, share in counted.concepts.items()][:8]
            lines += [f"  {share:>5.0%}  {concept}" for concept, share in told]
            cubes = [(format_formula(DNF([cube]), "unicode"), share) for cube, share in counted.cubes.items()][:5]
            lines += [f"  {share:>5.0%}  the cube {text}" for text, share in cubes]
        return "\n".join(lines)


def selection_frequencies(names: Sequence[str], runs: Sequence[Sequence[DNF | Complement]]) -> Stability:
    """How often each concept and cube is in the formula of each class; `runs` holds the formulas of every resample."""
    classes = []
    for place, name in enumerate(names):
        formulas = [run[place] for run in runs]
        concepts = Counter(concept for formula in formulas for concept in formula.concepts)
        cubes = Counter(cube for formula in formulas for cube in (formula if isinstance(formula, DNF) else ()))
        classes.append(
            ClassStability(
                name,
                {concept: count / len(runs) for concept, count in _ranked(concepts)},
                {cube: count / len(runs) for cube, count in _ranked(cubes)},
            )
        )
    return Stability(len(runs), tuple(classes))


def stable_explanation(explanation: Explanation, stability: Stability, limits: Limits) -> Explanation:
    """The explanation with formulas made of what recurs: cubes where any do, else the concepts that do."""
    classes = tuple(
        _stable_class(explained, counted, limits)
        for explained, counted in zip(explanation.classes, stability.classes, strict=True)
    )
    return replace(explanation, classes=classes, stability=stability)


def _stable_class(explained: ClassExplanation, counted: ClassStability, limits: Limits) -> ClassExplanation:
    reading, head = explained.reading, explained.head
    concepts = [concept for concept, share in counted.concepts.items() if share >= RECURS]
    recurring = counted.recurring[:MOST_TOGETHER]
    names = tuple(dict.fromkeys([*(c for cube in recurring for c in cube.concepts), *concepts]))
    bits = reading.bits[:, places(names, reading.table.names)]
    truth = reading.yes if explained.scored_against == "network" else reading.targets() > 0
    judge = Judge(TruthTable.of(bits, names, truth[:, head], weight=reading.table.weight).rows)
    reason = remedy = None
    formula = _best_together(recurring, judge, limits)
    if not recurring and concepts:
        groups = reading.table.groups
        table = TruthTable.of(
            bits, names, reading.yes[:, head], weight=reading.table.weight,
            exclusive=groups.exclusive, implied=groups.implied,
        )  # fmt: skip
        if len(table.on) and len(table.off):
            formula = select_minimal(table, judge, limits).formula
    if formula == DNF.false:
        most = max(counted.concepts.items(), key=lambda item: item[1], default=None)
        often = "" if most is None else f"; the most frequent concept, {most[0]!r}, was in {most[1]:.0%}"
        reason = f"nothing recurs in at least {RECURS:.0%} of the resamples{often}."
        remedy = "Read the formula without stable=True as one of many, or gather more rows."
    fires = formula.evaluate(reading.bits, reading.table.names)
    agrees, weight = fires == reading.yes[:, head], reading.table.weight
    return replace(
        explained,
        formula=formula,
        fidelity=float(weight[agrees].sum() / weight.sum()),
        equals_network=bool(agrees.all()),
        score=judge.score(formula) if names else 0.0,
        method="stable",
        trace=(),
        proved_minimal=False,
        reason=reason,
        remedy=remedy,
    )


def _best_together(cubes: Sequence[Cube], judge: Judge, limits: Limits) -> DNF:
    """The set of cubes with the best score minus the price of its literals; all sets are tried."""
    fires = dict(zip(cubes, CubeArray.of(DNF(cubes), judge.rows.names).covers_packed(judge.rows), strict=True))
    best, best_value = DNF.false, -np.inf
    for size in range(1, min(len(cubes), limits.max_cubes) + 1):
        for chosen in combinations(cubes, size):
            n_literals = sum(len(cube) for cube in chosen)
            fired: NDArray[np.uint64] = np.bitwise_or.reduce([fires[cube] for cube in chosen])
            value = judge.score_packed(fired) - limits.price * n_literals
            if n_literals <= limits.max_literals and value > best_value:
                best, best_value = DNF(chosen), value
    return best


def _ranked(counts: Counter[Chosen]) -> list[tuple[Chosen, int]]:
    """The most frequent first, then by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
