"""Explain one row: why it got its class, eq. (locexp)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable, as_table
from logiclens.errors import FormulaTooLarge, LogicLensError
from logiclens.explain.reading import Answer, Reading
from logiclens.explain.result import Explanation
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.packed_rows import as_array, places
from logiclens.formula.text import format_formula
from logiclens.words import for_reading, percent

if TYPE_CHECKING:
    from torch import nn

    from logiclens.nn.outputs import Output, Select

MAX_TRIES = 20_000
"""Maximum number of cubes of one length that the search for a shortest cube tries.

With more, the search stops and returns the shortest cube found so far.
"""


@dataclass(frozen=True)
class LocalExplanation:
    """Why one row got its class, or did not get it.

    Attributes:
        name: the explained class.
        holds: whether the network answers yes for it.
        probability: probability that the network gives to this answer.
        cube: φ_t, the row's relevant concepts with their values on the row.
        reduced: a shortest part of the row that implies the class formula, or its negation if the answer is no. For a
            class that is the complement of the other, a shortest part that excludes the other formula. None without a
            formula, or if formula and network disagree on the row.
        agrees: whether class formula and network agree on the row; None without a formula.
        by_default: whether the row has the class only because no formula fires on it.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> from logiclens import explain_all, explain_local
    >>> local = explain_local(network, [[1, 1]], explanation=explain_all(network, rows))
    >>> print(local.name, local.holds, local.reduced)
    1 True a & b
    """

    name: str
    holds: bool
    probability: float
    cube: Cube
    reduced: Cube | None = None
    agrees: bool | None = None
    by_default: bool = False

    @for_reading
    def __str__(self) -> str:
        """Return the class, its probability and the shortest reason available."""
        if self.by_default:
            row = format_formula(self.cube, "unicode")
            return f"{self.name}: no formula fires, and most such rows are {self.name}   [relevant: {row}]"
        head = f"{'' if self.holds else 'not '}{self.name} ({percent(self.probability, 1)})"
        row = format_formula(self.cube, "unicode")
        if self.agrees is False:
            return f"{head}: no reason found, the class formula says otherwise here   [relevant: {row}]"
        if self.reduced is not None and len(self.reduced) == 0:
            return f"{head}: no reason found, the class formula is constant   [relevant: {row}]"
        return f"{head}: {row if self.reduced is None else format_formula(self.reduced, 'unicode')}"


def explain_local(
    network: nn.Module,
    row: Any,
    *,
    target: int | str | None = None,
    explanation: Explanation | None = None,
    answer: Answer | None = None,
    output: Output = "auto",
    select: Select | None = None,
) -> LocalExplanation:
    """Return the cube of one row for the class that the network answers, or for the class `target`.

    Args:
        network: a trained network with an entropy layer.
        row: one row of concepts.
        target: the class, by number or by name. Default: the class that the network answers.
        explanation: explanation of the classes. It gives the names and the rule for answers, and the cube is also
            reduced to a shortest one that implies the class formula. Default: None.
        answer: `"argmax"` or `"threshold"`. Default: that of the explanation; see `logiclens.explain.read`.
        output: what the outputs of the network are. Default: as the explanation read them, else `"auto"`.
        select: a function that takes the outputs from what the network returns. Default: that of the explanation.

    Raises:
        LogicLensError: if there is not exactly one row, its concepts are not those of the explanation, or there is no
            such class.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 1, 1, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> from logiclens.explain.classwise import explain_all
    >>> print(explain_local(network, [[1, 1]], explanation=explain_all(network, rows)).reduced)
    a
    """
    from logiclens.explain.forward import check_rows, read

    check_rows(row)
    table = _one_row(row, explanation)
    if explanation is not None:
        before = explanation.reading
        answer, select = answer or before.answer, select or before.select
        output = before.output if output == "auto" else output
    reading = read(network, table, answer, output=output, select=select)
    return explain_rows(reading, target=target, explanation=explanation)[0]


def explain_rows(
    reading: Reading,
    *,
    target: int | str | None = None,
    explanation: Explanation | None = None,
    probability: NDArray[np.float64] | None = None,
) -> tuple[LocalExplanation, ...]:
    """Return the local explanation of every row of a reading.

    Args:
        reading: answers of the network on the rows.
        target: the class, by number or by name. Default: the most probable class of each row.
        explanation: explanation of the classes, one for each head. Default: None, cubes are not reduced.
        probability: probabilities `[rows, classes]` that replace those of the network, if rules decide instead of the
            largest output. Default: None.

    Raises:
        LogicLensError: if the explanation and the network differ in the number of classes, or there is no such class.
    """
    if explanation is not None and len(explanation) != reading.n_heads:
        raise LogicLensError(f"the explanation has {len(explanation)} classes, the network {reading.n_heads} heads.")
    likeliest = (reading.logits if probability is None else probability).argmax(axis=1)
    heads = likeliest if target is None else np.full(len(reading.table), reading.head(target))
    probability = reading.probability if probability is None else probability
    result = []
    for r, head in enumerate(heads.tolist()):
        literals = [Literal(reading.table.names[j], bool(reading.bits[r, j])) for j in reading.relevant(head).tolist()]
        holds, reduced, agrees = bool(reading.yes[r, head]), None, None
        if explanation is not None:
            formula = explanation[head].formula
            row = _row_cube(formula, reading, r)
            agrees = bool(formula.evaluate(np.array([[lit.positive for lit in row]]), row.concepts)[0]) == holds
            reduced = shortest_reason(formula, row) if holds else shortest_refusal(formula, row)
        share = float(probability[r, head])
        name = reading.class_names[head]
        result.append(LocalExplanation(name, holds, share if holds else 1 - share, Cube(literals), reduced, agrees))
    return tuple(result)


def shortest_reason(formula: DNF | Complement, row: Cube) -> Cube | None:
    """Return a shortest part of `row` that implies the formula; None if the row does not satisfy it.

    >>> a, b, c = Literal("a"), Literal("b"), Literal("c")
    >>> shortest_reason((a & b) | (a & ~b & c), Cube([a, b.negated, c]))
    Cube('a & c')
    >>> shortest_reason(Complement((a & b) | (b & c)), Cube([a, b.negated, c.negated]))
    Cube('~b')
    """
    if isinstance(formula, Complement):
        return shortest_refusal(formula.of, row)
    held = set(row.literals)
    fired = [cube for cube in formula if held.issuperset(cube.literals)]
    if not fired:
        return None
    best = min(fired, key=len)
    usable = [literal for literal in row if literal.concept in formula.concepts]
    for size in range(len(best)):
        if comb(len(usable), size) > MAX_TRIES:
            break
        for literals in combinations(usable, size):
            cube = Cube(literals)
            try:
                if DNF([cube]).implies(formula):
                    return cube
            except FormulaTooLarge:
                return best
    return best


def shortest_refusal(formula: DNF | Complement, row: Cube) -> Cube | None:
    """Return a shortest part of `row` that excludes the formula; None if the row satisfies it.

    A part excludes the formula exactly if it contradicts a literal of every cube, so the formula need not be negated.
    """
    if isinstance(formula, Complement):
        return shortest_reason(formula.of, row)
    held = set(row.literals)
    against = [frozenset(literal.negated for literal in cube if literal.negated in held) for cube in formula]
    if not all(against):
        return None
    # Drop a cube that is contradicted whenever another one is: it adds nothing.
    needed = [choice for choice in set(against) if not any(other < choice for other in against)]
    usable = [literal for literal in row if any(literal in choice for choice in needed)]
    greedy = _greedy_refusal(needed, usable)
    for size in range(len(greedy)):
        if comb(len(usable), size) > MAX_TRIES:
            break
        for literals in combinations(usable, size):
            if all(not choice.isdisjoint(literals) for choice in needed):
                return Cube(literals)
    return Cube(literal for literal in row if literal in greedy)


def _greedy_refusal(needed: list[frozenset[Literal]], usable: list[Literal]) -> set[Literal]:
    """Return literals that contradict every cube: repeatedly add the one that contradicts most remaining cubes."""
    taken: set[Literal] = set()
    while left := [choice for choice in needed if choice.isdisjoint(taken)]:
        taken.add(max(usable, key=lambda literal: sum(literal in choice for choice in left)))
    return taken


def _row_cube(formula: DNF | Complement, reading: Reading, row: int) -> Cube:
    """Return the row as a cube over the concepts of a formula."""
    columns = places(formula.concepts, reading.table.names)
    return Cube(Literal(reading.table.names[j], bool(reading.bits[row, j])) for j in columns)


def _one_row(row: Any, explanation: Explanation | None) -> ConceptTable:
    known = explanation[0].reading.table if explanation is not None else None
    if isinstance(row, ConceptTable) or hasattr(row, "columns"):
        table = as_table(row)
        if known is not None and table.names != known.names:
            raise LogicLensError("the row must have the concepts of the explanation, in one order.")
    else:
        values = np.atleast_2d(as_array(row))
        table = ConceptTable(values, None if known is None else known.names)
    if len(table) != 1:
        raise LogicLensError(f"expected one row, got {len(table)}.")
    if known is None or table.class_names:
        return table
    return ConceptTable(table.values, table.names, class_names=known.class_names or None)
