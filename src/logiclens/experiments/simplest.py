"""The simplest rule there is: one literal. What a longer formula must be measured against."""

from __future__ import annotations

import numpy as np

from logiclens.data.concepts import ConceptTable
from logiclens.formula.dnf import Literal
from logiclens.metrics.scores import macro_f1_of_counts


def best_literal(table: ConceptTable, target: int) -> Literal:
    """The single concept or negation with the highest macro-F1 for a class, on labelled rows.

    >>> table = ConceptTable([[1, 0], [1, 1], [0, 1]], names=["tall", "dark"], labels=[0, 0, 1])
    >>> best_literal(table, target=1)
    Literal(concept='tall', positive=False)
    """
    yes = table.targets()[:, target] * table.weight
    no, bits = table.weight - yes, table.boolean().astype(np.float64)
    fires = np.concatenate([bits, 1 - bits], axis=1)
    both, wrong = yes @ fires, no @ fires
    best = int(np.argmax(macro_f1_of_counts(both, yes.sum() - both, wrong, no.sum() - wrong)))
    return Literal(table.names[best % table.n_concepts], positive=best < table.n_concepts)
