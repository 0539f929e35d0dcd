"""`explain_class` with the arguments and the three values of the paper's listing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from logiclens.data.concepts import ConceptTable
from logiclens.explain.classwise import Method, ScoreAgainst, explain_all
from logiclens.explain.result import Explanation
from logiclens.formula.dnf import DNF


class ExplainedClasses(NamedTuple):
    """The formulas as text, the explanations of all classes, and the formulas as values."""

    texts: tuple[str, ...]
    explanations: Explanation
    formulas: tuple[DNF, ...]


def explain_class(
    model: torch.nn.Module,
    x: Any,
    y: Any,
    x_val: Any,
    y_val: Any,
    *,
    concept_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    method: Method = "minimal",
    score_against: ScoreAgainst = "labels",
) -> ExplainedClasses:
    """Explain every class of a model; labels are class numbers or one column per class."""
    rows = ConceptTable(x, concept_names, _classes(y), class_names or _numbered(y))
    held = ConceptTable(x_val, concept_names, _classes(y_val), rows.class_names)
    explanation = explain_all(model, rows, held, method=method, score_against=score_against)
    formulas = explanation.formulas
    return ExplainedClasses(tuple(str(formula) for formula in formulas), explanation, formulas)


def _classes(y: Any) -> Any:
    """One-hot rows as class numbers; rows with several labels, or none, stay a matrix."""
    labels = torch.as_tensor(y)
    if labels.ndim == 2 and bool(((labels == 0) | (labels == 1)).all()) and bool((labels.sum(dim=1) == 1).all()):
        return labels.argmax(dim=1)
    return labels


def _numbered(y: Any) -> list[str]:
    labels = torch.as_tensor(y)
    n_classes = labels.shape[1] if labels.ndim == 2 else int(labels.max()) + 1
    return [str(i) for i in range(n_classes)]
