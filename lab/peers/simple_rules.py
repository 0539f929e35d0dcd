"""The simplest rules: decision trees, one concept, one literal per class. Longer formulas must beat them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from lab.peers.learner import Learned, class_numbers, class_weights_of_rows, firing, together, unlearned
from logiclens.concepts.concept_table import ConceptTable, class_factors
from logiclens.explain.candidates import best_literal
from logiclens.formula.dnf import DNF, Cube, Literal


@dataclass(frozen=True)
class Tree:
    """scikit-learn's decision tree on concepts cut at 0.5.

    It is fitted on training and validation rows together, as the paper's trees are, because it chooses nothing on
    validation rows. The formula of a class has one cube per leaf that predicts it. Nothing is minimised, because the
    complexity of a tree is counted in this way. So the formulas equal the tree on every row.
    """

    max_depth: int | None = 5
    max_leaf_nodes: int | None = None
    balanced: bool = False

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        rows = together(train, validation)
        labels = class_numbers(rows)
        # Not scikit-learn's "balanced", which counts rows and ignores their weight.
        factor = class_factors("balanced", rows)[labels] if self.balanced else np.ones(len(rows))
        tree = DecisionTreeClassifier(
            max_depth=self.max_depth, max_leaf_nodes=self.max_leaf_nodes, random_state=seed
        ).fit(rows.boolean(), labels, sample_weight=summable_weight(rows.weight, factor))

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            answers: NDArray[np.intp] = tree.predict(table.with_columns(rows.names).boolean()).astype(np.intp)
            return answers

        formulas = leaf_formulas(tree, rows.names, len(rows.class_names))
        return Learned(predict, formulas, (*unlearned(rows), *_leafless(formulas, rows)))


def summable_weight(weight: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the products, rounded so that their sums and differences are exact in any order; the error is 1 in 10^14.

    Otherwise scikit-learn splits pure nodes on rounding errors, and a tree has more leaves than it needs.
    """
    unit = 2.0 ** (np.ceil(np.log2(weight.sum() * factor.max())) - 50)
    # Factors first: then a row of weight 3 equals three rows exactly.
    rounded: NDArray[np.float64] = np.round(weight * (np.round(factor / unit) * unit) / unit) * unit
    return rounded


def leaf_formulas(tree: Any, names: Sequence[str], n_classes: int) -> tuple[DNF, ...]:
    """Return for each class the leaves that predict it, one cube each, of a fitted scikit-learn tree on 0/1 columns.

    >>> tree = DecisionTreeClassifier().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> [formula.n_literals for formula in leaf_formulas(tree, ["a", "b"], 2)]
    [3, 2]
    """
    nodes = tree.tree_
    false, true, feature = nodes.children_left, nodes.children_right, nodes.feature
    # The first of the largest, as in scikit-learn's predict.
    predicted = tree.classes_[nodes.value[:, 0, :].argmax(axis=1)]
    literals = [(Literal(name, positive=False), Literal(name)) for name in names]
    cubes: list[list[Cube]] = [[] for _ in range(n_classes)]
    waiting: list[tuple[int, tuple[Literal, ...]]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        if false[node] == true[node]:
            cubes[predicted[node]].append(Cube(path))
            continue
        negated, plain = literals[feature[node]]
        waiting += [(true[node], (*path, plain)), (false[node], (*path, negated))]
    return tuple(DNF(leaves) for leaves in cubes)


def _leafless(formulas: Sequence[DNF], rows: ConceptTable) -> tuple[str, ...]:
    weights = np.bincount(class_numbers(rows), rows.weight, minlength=len(formulas))
    count = sum(formula == DNF.false and weight > 0 for formula, weight in zip(formulas, weights, strict=True))
    return (f"no leaf predicts {count} of the {len(formulas)} classes: their formula is False.",) if count else ()


SMALL_TREES = tuple(Tree(None, leaves, balanced=True) for leaves in range(2, 9))
"""Trees of at most 2 to 8 leaves, of any depth, in which every class has the same weight."""


@dataclass(frozen=True)
class OneR:
    """One concept: each of its two values predicts the majority class of its rows.

    The concept is the one that is right most often on training and validation rows together, as there is nothing to
    choose on the latter. Ties go to the first concept and to the first class. The formulas equal the prediction: the
    concept for one class and its negation for another, or True for the only class predicted.
    """

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        rows = together(train, validation)
        of_class, bits = class_weights_of_rows(rows), rows.boolean()
        true = bits.T @ of_class
        false = of_class.sum(axis=0) - true
        # Scores that differ only by the order of summation are equal: then the first must win.
        concept = int(np.argmax(np.round((true.max(axis=1) + false.max(axis=1)) / rows.weight.sum(), 12)))
        most = np.argmax(of_class.sum(axis=0))
        column = bits[:, concept]
        # A value without rows predicts the majority class.
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
    """For each class the single literal with the highest macro-F1 on training and validation rows together.

    `predict` does not use these literals: it is a decision tree with one split, fitted on the same rows. So the
    accuracy is that of the best single question, and the formulas are the best single answers for each class.
    """

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        rows = together(train, validation)
        weights = np.bincount(class_numbers(rows), rows.weight, minlength=len(rows.class_names))
        formulas = tuple(
            DNF([Cube([best_literal(rows, target)])]) if weight > 0 else DNF.false
            for target, weight in enumerate(weights)
        )
        note = "classes are predicted by a tree of one split, not by the formulas."
        return Learned(Tree(max_depth=1)(train, validation, seed=seed).predict, formulas, (*unlearned(rows), note))


def _single(concept: str, positive: bool) -> DNF:
    return DNF([Cube([Literal(concept, positive)])])
