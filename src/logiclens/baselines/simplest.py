"""The simplest rules there are: one concept, one literal a class, trees of a few leaves.

What a longer formula must be measured against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.baselines.deciding import class_numbers, class_weights_of_rows, firing, together, unlearned
from logiclens.baselines.learner import Learned
from logiclens.baselines.tree import Tree
from logiclens.data.concepts import ConceptTable
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.metrics.scores import macro_f1_of_counts

SMALL_TREES = tuple(Tree(None, leaves, "balanced") for leaves in range(2, 9))
"""Trees of at most 2 to 8 leaves, of any depth, in which every class weighs the same."""


@dataclass(frozen=True)
class OneR:
    """One concept: each of its two values predicts the class that most rows with this value have.

    The concept is the one that is right most often on the rows learned from: training and validation rows together,
    as there is nothing to choose on the latter. Ties go to the first concept and to the first class. The formulas say
    what is predicted: the concept for one class and its negation for another, or True for the only class predicted.
    """

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Count; nothing is drawn."""
        rows = together(train, validation)
        of_class, bits = class_weights_of_rows(rows), rows.boolean()
        true = bits.T @ of_class
        false = of_class.sum(axis=0) - true
        concept = int(np.argmax(_rounded((true.max(axis=1) + false.max(axis=1)) / rows.weight.sum())))
        most = np.argmax(of_class.sum(axis=0))
        column = bits[:, concept]
        # A value that no row has predicts what most rows are.
        when_true = int(true[concept].argmax() if column.any() else most)
        when_false = int(false[concept].argmax() if not column.all() else most)
        name, n_classes = rows.names[concept], len(rows.class_names)

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            return np.where(firing([_single(name, True)], table)[:, 0], when_true, when_false).astype(np.intp)

        formulas = [DNF.false] * n_classes
        formulas[when_true] = _single(name, True)
        formulas[when_false] = _single(name, False) if when_false != when_true else DNF.true
        said = len({when_true, when_false})
        notes = (f"one concept predicts {said} of the {n_classes} classes: the others' formula is False.",)
        return Learned(predict, tuple(formulas), (*unlearned(rows), *(notes if said < n_classes else ())))


@dataclass(frozen=True)
class Stump:
    """For each class the single literal with the highest macro-F1 on the training and validation rows together.

    `predict` is not made from these literals: it is a decision tree with one split, fitted on the same rows, so that
    the accuracy is that of the best single question and the formulas are the best single answers for each class.
    """

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Look at every literal for every class, and grow the tree of one split with `seed`."""
        rows = together(train, validation)
        weights = np.bincount(class_numbers(rows), rows.weight, minlength=len(rows.class_names))
        formulas = tuple(
            DNF([Cube([best_literal(rows, target)])]) if weight > 0 else DNF.false
            for target, weight in enumerate(weights)
        )
        note = "classes are predicted by a tree of one split, not by the formulas."
        return Learned(Tree(max_depth=1)(train, validation, seed=seed).predict, formulas, (*unlearned(rows), note))


def best_literal(table: ConceptTable, target: int) -> Literal:
    """The single concept or negation with the highest macro-F1 for a class, on labelled rows.

    Ties go to the plain concepts before the negated ones, then to the first.

    >>> table = ConceptTable([[1, 0], [1, 1], [0, 1]], names=["tall", "dark"], labels=[0, 0, 1])
    >>> best_literal(table, target=1)
    Literal(concept='tall', positive=False)
    """
    yes = table.targets()[:, target] * table.weight
    no, bits = table.weight - yes, table.boolean().astype(np.float64)
    fires = np.concatenate([bits, 1 - bits], axis=1)
    both, wrong = yes @ fires, no @ fires
    best = int(np.argmax(_rounded(macro_f1_of_counts(both, yes.sum() - both, wrong, no.sum() - wrong))))
    return Literal(table.names[best % table.n_concepts], positive=best < table.n_concepts)


def _single(concept: str, positive: bool) -> DNF:
    return DNF([Cube([Literal(concept, positive)])])


def _rounded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    # Equal but for the order of summation is equal: the first must win then.
    return np.round(scores, 12)
