"""Decision trees on Boolean concepts, read as formulas: one cube for each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from logiclens.baselines.deciding import class_numbers, together, unlearned
from logiclens.baselines.learner import Learned
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.train.objective import class_factors


@dataclass(frozen=True)
class Tree:
    """scikit-learn's decision tree on concepts cut at 0.5.

    It is fitted on the training and the validation rows together, as the paper's trees are: it chooses nothing on
    validation rows. The formula of a class has one cube for each leaf that predicts it, as the tree has them: nothing
    is minimised, because that is how the complexity of a tree is counted. So the formulas say what the tree predicts,
    on every row.

    Args:
        max_depth: the most concepts on a path; None for no limit.
        max_leaf_nodes: the most leaves, grown best first; None for no limit.
        class_weight: one factor for each class, or `"balanced"` for factors against the weight of the classes.
    """

    max_depth: int | None = 5
    max_leaf_nodes: int | None = None
    class_weight: Sequence[float] | OneOf["balanced"] | None = None

    def __post_init__(self) -> None:
        """Refuse a tree that cannot split."""
        for name, least in {"max_depth": 1, "max_leaf_nodes": 2}.items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Integral) or value < least):
                raise LogicLensError(f"{name} must be None or a whole number from {least}, got {value!r}.")

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Grow the tree; `seed` orders the concepts that split equally well."""
        rows = together(train, validation)
        labels = class_numbers(rows)
        # Not scikit-learn's own balance: it counts rows, whatever the rows weigh.
        factor = np.ones(len(rows)) if self.class_weight is None else class_factors(self.class_weight, rows)[labels]
        tree = DecisionTreeClassifier(
            max_depth=self.max_depth, max_leaf_nodes=self.max_leaf_nodes, random_state=seed
        ).fit(rows.boolean(), labels, sample_weight=summable_weight(rows.weight, factor))

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            answers: NDArray[np.intp] = tree.predict(table.with_columns(rows.names).boolean()).astype(np.intp)
            return answers

        formulas = leaf_formulas(tree, rows.names, len(rows.class_names))
        return Learned(predict, formulas, (*unlearned(rows), *_leafless(formulas, rows)))


def summable_weight(weight: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """The products, rounded so that their sums and differences are exact in any order; a part in 10^14 is lost.

    Else scikit-learn splits pure nodes on traces of rounding, and a tree has more leaves than it needs.

    >>> 0.1 + 0.2 + 0.3 == 0.3 + 0.2 + 0.1
    False
    >>> a, b, c = summable_weight(np.ones(3), np.array([0.1, 0.2, 0.3])).tolist()
    >>> a + b + c == c + b + a
    True
    """
    unit = 2.0 ** (np.ceil(np.log2(weight.sum() * factor.max())) - 50)
    # Factors first: then a row that weighs 3 is exactly three rows.
    rounded: NDArray[np.float64] = np.round(weight * (np.round(factor / unit) * unit) / unit) * unit
    return rounded


def leaf_formulas(tree: Any, names: Sequence[str], n_classes: int) -> tuple[DNF, ...]:
    """For each class number the leaves that predict it, a cube each, of a fitted scikit-learn tree on 0/1 columns.

    >>> tree = DecisionTreeClassifier().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> [formula.n_literals for formula in leaf_formulas(tree, ["a", "b"], 2)]
    [3, 2]
    """
    nodes = tree.tree_
    false, true, feature = nodes.children_left, nodes.children_right, nodes.feature
    # The first of the largest, as scikit-learn's predict takes it.
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
    """A sentence on classes with rows that no leaf predicts."""
    weights = np.bincount(class_numbers(rows), rows.weight, minlength=len(formulas))
    count = sum(formula == DNF.false and weight > 0 for formula, weight in zip(formulas, weights, strict=True))
    return (f"no leaf predicts {count} of the {len(formulas)} classes: their formula is False.",) if count else ()
