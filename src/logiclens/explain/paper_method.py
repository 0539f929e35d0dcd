"""The paper's choice of cubes for the formula of a class, with a trace of each decision.

`classwise` uses it for `method="paper"`. It takes a truth table (the answers of the network) and judge rows (the rows
that score the formula).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import FormulaTooLarge
from logiclens.formula.counted_rows import CountedRows
from logiclens.formula.cube_array import CubeArray
from logiclens.formula.dnf import DNF, Cube
from logiclens.formula.minimisation import simplify
from logiclens.formula.packed_rows import PackedWeights
from logiclens.formula.truth_table import TruthTable
from logiclens.metrics.scores import macro_f1_of_counts
from logiclens.words import for_reading


@dataclass(frozen=True)
class TraceStep:
    """One candidate cube: the number of yes rows it covers, its gain, and why it was kept or dropped.

    >>> from logiclens.formula import Cube, Literal
    >>> print(TraceStep(Cube([Literal("a")]), support=12, gain=0.25, kept=True, why="it improves the score"))
    + a   (support 12, gain +0.2500): it improves the score
    """

    cube: Cube
    support: float
    gain: float
    kept: bool
    why: str

    @for_reading
    def __str__(self) -> str:
        """Return one line of a trace."""
        mark = "+" if self.kept else "-"
        return f"{mark} {self.cube}   (support {self.support:g}, gain {self.gain:+.4f}): {self.why}"


@dataclass(frozen=True)
class Selection:
    """The formula, its score on the judge rows, its trace, and whether it is proved minimal."""

    formula: DNF
    score: float
    trace: tuple[TraceStep, ...]
    proved_minimal: bool


class Judge:
    """Score formulas by macro-F1 on counted rows; `counts[:, 1]` is the weight that should be yes."""

    def __init__(self, rows: CountedRows) -> None:
        """Store the packed rows and the weights of yes and no."""
        self.rows = rows.packed
        no, yes = rows.counts.T
        self.no, self.yes = PackedWeights.of(no), PackedWeights.of(yes)
        self.all_no, self.all_yes = self.no.total, self.yes.total

    def score_packed(self, fires: NDArray[np.uint64]) -> float:
        """Return the score of a formula that holds on the packed rows `fires`."""
        both, wrong = self.yes.sum(fires), self.no.sum(fires)
        return float(macro_f1_of_counts(both, self.all_yes - both, wrong, self.all_no - wrong))

    def score(self, formula: DNF) -> float:
        """Return the score of a formula."""
        return self.score_packed(formula.evaluate_packed(self.rows))


def select_paper(table: TruthTable, judge: Judge) -> Selection:
    """Select cubes as the paper does: OR distinct positive rows by support while the score improves, then simplify.

    Args:
        table: answers of the network.
        judge: score of a formula on the judge rows.

    Returns:
        The formula with a step of the trace for each positive row.
    """
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
        # If no row improves the score, the row with the most support is the best formula available.
        kept, best = cubes[:1], judge.score_packed(fires[0])
        trace[0] = replace(trace[0], kept=True, why="kept: the class needs a formula")
    formula = DNF(kept)
    # A formula that is too large to simplify is stated as it is: it means the same.
    with suppress(FormulaTooLarge):
        formula = simplify(formula).formula
    return Selection(formula, best, tuple(trace), proved_minimal=False)
