"""Why one row got its class, eq. (locexp)."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from torch import nn

from logiclens.data.concepts import ConceptTable, as_table
from logiclens.errors import LogicLensError
from logiclens.explain.extract import Answer, Reading, read
from logiclens.explain.result import Explanation, LocalExplanation
from logiclens.formula.dnf import DNF, Cube, Literal

MAX_TRIES = 20_000
"""How many cubes the search for a shortest one looks at before it settles for the shortest that fired."""


def explain_local(
    network: nn.Module,
    row: Any,
    *,
    target: int | None = None,
    explanation: Explanation | None = None,
    answer: Answer | None = None,
) -> LocalExplanation:
    """The cube of one row for the class the network answers, or for the head `target`.

    With an `explanation` of the classes, the cube is also reduced to a shortest one that implies the class formula.
    """
    shaped = row if hasattr(row, "columns") or isinstance(row, ConceptTable) else np.atleast_2d(_array(row))
    table = as_table(shaped)
    if len(table) != 1:
        raise LogicLensError(f"expected one row, got {len(table)}.")
    return explain_rows(read(network, table, answer), target=target, explanation=explanation)[0]


def explain_rows(
    reading: Reading, *, target: int | None = None, explanation: Explanation | None = None
) -> tuple[LocalExplanation, ...]:
    """The local explanation of every row of a reading."""
    if target is not None and not 0 <= target < reading.n_heads:
        raise LogicLensError(f"target must be 0 to {reading.n_heads - 1}, got {target}.")
    probability = reading.probability
    heads = reading.logits.argmax(axis=1) if target is None else np.full(len(reading.table), target)
    result = []
    for r, head in enumerate(heads.tolist()):
        cube = Cube(Literal(reading.table.names[j], bool(reading.bits[r, j])) for j in reading.relevant(head))
        reduced = agrees = None
        if explanation is not None:
            formula = explanation[head].formula
            reduced = shortest_reason(formula, _row_cube(formula, reading, r))
            agrees = (reduced is not None) == bool(reading.yes[r, head])
        name = reading.class_names[head]
        result.append(LocalExplanation(name, float(probability[r, head]), cube, reduced, agrees))
    return tuple(result)


def shortest_reason(formula: DNF, row: Cube) -> Cube | None:
    """A shortest part of `row` that implies the formula; None where the row does not satisfy it.

    >>> a, b, c = Literal("a"), Literal("b"), Literal("c")
    >>> shortest_reason((a & b) | (a & ~b & c), Cube([a, b.negated, c]))
    Cube('a & c')
    """
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
            if DNF([cube]).implies(formula):
                return cube
    return best


def _row_cube(formula: DNF, reading: Reading, row: int) -> Cube:
    """The row as a cube over the concepts of a formula."""
    index = {name: j for j, name in enumerate(reading.table.names)}
    return Cube(Literal(concept, bool(reading.bits[row, index[concept]])) for concept in formula.concepts)


def _array(row: Any) -> Any:
    return row.detach().cpu().numpy() if hasattr(row, "detach") else np.asarray(row)
