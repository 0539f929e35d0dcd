"""The rules of a classifier, learned from labels or from the answers of a model, on the round grid and where it pays
off it. No network is trained here; see `logiclens.estimator.training`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable, class_factors
from logiclens.estimator.inputs import Prepared, listed_class_weight
from logiclens.estimator.knowledge import bounds_of
from logiclens.estimator.settings import search_config
from logiclens.explain.choice import LearnedRules, learn_rules
from logiclens.explain.length import SearchConfig
from logiclens.explain.search_table import LearningRows
from logiclens.explain.thresholds import sharper_cuts
from logiclens.formula.column_kinds import ORDERS, Scalar
from logiclens.formula.knowledge import BoundKnowledge

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier


ROUNDS = 3
"""Maximum number of times that rules are learned again with cuts off the grid."""


@dataclass(frozen=True, eq=False)
class Learned:
    """The rows with all cuts that the rules need, and the rules.

    Attributes:
        ready: the rows as concepts.
        rules: the formulas, and how each was chosen.
        config: limits on the formulas and settings of the search.
    """

    ready: Prepared
    rules: LearnedRules
    config: SearchConfig


def learned(
    model: EntropyClassifier,
    ready: Prepared,
    bound: BoundKnowledge | None,
    targets: NDArray[np.float64] | None = None,
) -> Learned:
    """Learn the rules of prepared rows.

    Args:
        model: the classifier, whose settings are used.
        ready: the rows.
        bound: what is known before learning. Default: None, nothing.
        targets: the share of each class in each row that rules match. Default: None, the labels.
    """
    config = _config(model, ready, bound)
    rows = learning_rows(model, ready, targets)
    rules = learn_rules(rows, config)
    cuts: dict[str, list[Scalar]] = {}
    for _ in range(ROUNDS):
        sharper = _sharper(ready, rules, rows, config)
        added = {name: [*cuts.get(name, []), *new] for name, new in sharper.items()}
        if all(set(added[name]) == set(cuts.get(name, [])) for name in added):
            break
        cuts |= added
        ready = ready.with_cuts(cuts)
        config, rows = _config(model, ready, bound), learning_rows(model, ready, targets)
        rules = learn_rules(rows, config)
    return Learned(ready, rules, config)


def _sharper(ready: Prepared, rules: LearnedRules, rows: LearningRows, config: SearchConfig) -> dict[str, list[Scalar]]:
    """Return the thresholds off the grid that rules need; none for columns that are not cut at round numbers."""
    if ready.recut is None or ready.booleaniser is None or ready.schema.cutting is None:
        return {}
    cut = {meant.column for meant in ready.schema.predicates.values() if meant.operator in ORDERS}
    every = ready.booleaniser.with_parts(ready.columns)
    columns = [column for column in every if column.name in cut and ready.booleaniser.is_round(column)]
    return sharper_cuts(rules, rows, config, ready.schema.cutting, columns)


def _config(model: EntropyClassifier, ready: Prepared, bound: BoundKnowledge | None) -> SearchConfig:
    bounds = None if bound is None else bounds_of(bound, ready.schema)
    return replace(search_config(model, ready.schema.class_names), bounds=bounds)


def learning_rows(
    model: EntropyClassifier, ready: Prepared, targets: NDArray[np.float64] | None = None
) -> LearningRows:
    """Return what the rules are learned from.

    Args:
        model: the classifier, whose class weights are used.
        ready: the rows.
        targets: the share of each class in each row that rules match. Default: None, the labels.
    """
    table, predicates, factors = ready.table, ready.schema.predicates, factors_of(model, ready)
    about = {name: (meant.column if meant.operator in ORDERS else name) for name, meant in predicates.items()}
    return LearningRows(table, table.targets() if targets is None else targets, factors, ready.unit, about=about)


def factors_of(model: EntropyClassifier, ready: Prepared) -> NDArray[np.float64] | None:
    """Return the weight of each class; None if all are equal."""
    weights = listed_class_weight(model.class_weight, ready.classes)
    return None if weights is None or ready.table.is_multilabel else class_factors(weights, ready.table)


def concept_frequencies(model: EntropyClassifier, table: ConceptTable) -> dict[str, float]:
    """Return for each concept the share of the bags in which the formula of any class uses it."""
    rows = LearningRows(table, table.targets())
    choices = learn_rules(rows, search_config(model, table.class_names)).choices
    n_bags = max((len(choice.bags) for choice in choices), default=0)
    if n_bags == 0:
        return {concept: 1.0 for choice in choices for concept in choice.formula.concepts}
    used: Counter[str] = Counter()
    for bag in range(n_bags):
        used.update({choice.names[code >> 1] for choice in choices for cube in choice.bags[bag] for code in cube})
    return {concept: n / n_bags for concept, n in used.items()}
