"""From the formulas of an explanation to rules that predict: what each cube is worth, and who decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.bits import PackedRows
from logiclens.formula.dnf import DNF
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.predicate import Predicate, Scalar
from logiclens.formula.ruleset import Resolve, Rule, RuleSet
from logiclens.metrics.rules import wilson_interval


def rule_set(
    formulas: Sequence[DNF],
    labels: Sequence[Scalar],
    rows: PackedRows,
    truth: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    predicates: Mapping[str, Predicate] | None = None,
    groups: Groups = NO_GROUPS,
    resolve: Resolve = "confidence",
    multilabel: bool = False,
) -> RuleSet:
    """Formulas with the confidence of each cube on some rows, and the class of rows on which nothing fires.

    `truth` is 0/1 `[rows, classes]`. Where every row fires something, `otherwise` is the most frequent class of all.
    """
    rules, fired = [], np.zeros(rows.n_rows, dtype=np.bool_)
    for place, (formula, label) in enumerate(zip(formulas, labels, strict=True)):
        confidence = []
        for cube in formula:
            holds = DNF([cube]).evaluate(rows)
            fired |= holds
            hits, total = float((weight * truth[:, place])[holds].sum()), float(weight[holds].sum())
            confidence.append(wilson_interval(hits, total)[0])
        rules.append(Rule(label, formula, tuple(confidence)))
    silent = ~fired if weight[~fired].sum() > 0 else np.ones(rows.n_rows, dtype=np.bool_)
    otherwise = int(np.argmax((truth * weight[:, None])[silent].sum(axis=0)))
    used = tuple(dict.fromkeys(concept for formula in formulas for concept in formula.concepts))
    meant = {concept: predicates[concept] for concept in used if predicates and concept in predicates}
    return RuleSet(tuple(rules), meant, groups.among(used), resolve, None if multilabel else otherwise, multilabel)
