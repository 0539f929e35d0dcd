"""Formulas of a model that gives none: read off its answers, as the shortest formulas of a truth table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.dnf import DNF
from logiclens.formula.minimisation import minimise, minimise_complete, row_bits
from logiclens.formula.truth_table import TruthTable


def answer_formulas(
    answers: Callable[[NDArray[np.bool_]], NDArray[np.bool_]],
    observed: ConceptTable,
    used: Sequence[int] | NDArray[np.intp],
    table_concepts: int,
) -> tuple[tuple[DNF, ...], bool]:
    """Return for each class when a model says yes, and whether that is exact or holds on the observed rows only.

    Args:
        answers: returns on which of the given rows the model says yes to which class, `[rows, classes]`.
        observed: rows that have been seen, which are asked about if the model uses many concepts.
        used: the concepts on which the answer depends.
        table_concepts: up to this many concepts every possible row is asked about.
    """
    names = [observed.names[j] for j in used]
    if len(used) > table_concepts:
        seen = observed.boolean()
        tables = (TruthTable.of(seen[:, list(used)], names, yes) for yes in answers(seen).T)
        return tuple(minimise(table).formula for table in tables), False
    rows = np.zeros((1 << len(used), observed.n_concepts), dtype=np.bool_)
    rows[:, list(used)] = row_bits(np.arange(1 << len(used)), len(used))
    return tuple(minimise_complete(yes, names).formula for yes in answers(rows).T), True
