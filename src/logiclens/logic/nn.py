"""`explain_class` with the arguments and the three return values of the paper's code listing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.classwise import Method, explain_all
from logiclens.explain.own_teacher import ScoreAgainst
from logiclens.explain.result import Explanation
from logiclens.formula.dnf import DNF, Complement


class ExplainedClasses(NamedTuple):
    """Result of `explain_class`: the formulas as text, the explanation of all classes, and the formulas as values."""

    texts: tuple[str, ...]
    explanations: Explanation
    formulas: tuple[DNF | Complement, ...]


def explain_class(
    model: torch.nn.Module,
    x: Any,
    y: Any,
    x_val: Any,
    y_val: Any,
    *,
    concept_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    method: Method = "search",
    score_against: ScoreAgainst = "labels",
) -> ExplainedClasses:
    """Explain every class of a model.

    Args:
        model: a trained network with an entropy layer.
        x: concepts of the rows whose answers are explained.
        y: labels of these rows, as class numbers or as one 0/1 column per class.
        x_val: concepts of the validation rows.
        y_val: labels of the validation rows.
        concept_names: names of the concepts.
        class_names: names of the classes. Default: their numbers.
        method: see `logiclens.explain.explain_class`.
        score_against: see `logiclens.explain.explain_class`.

    Raises:
        LogicLensError: the labels are not numbers.
    """
    y, y_val = (_numbers(labels) for labels in (y, y_val))
    rows = ConceptTable(x, concept_names, _classes(y), class_names or _numbered(y))
    held = ConceptTable(x_val, concept_names, _classes(y_val), rows.class_names)
    explanation = explain_all(model, rows, validation=held, method=method, score_against=score_against)
    formulas = explanation.formulas
    return ExplainedClasses(tuple(map(str, formulas)), explanation, formulas)


def _numbers(y: Any) -> torch.Tensor:
    try:
        return torch.as_tensor(y)
    except (TypeError, ValueError):
        raise LogicLensError("labels must be class numbers 0, 1, 2, …, or one 0/1 column for each class.") from None


def _classes(y: torch.Tensor) -> torch.Tensor:
    """Convert one-hot rows to class numbers; return any other matrix unchanged."""
    one_hot = y.ndim == 2 and bool(((y == 0) | (y == 1)).all()) and bool((y.sum(dim=1) == 1).all())
    return y.argmax(dim=1) if one_hot else y


def _numbered(y: torch.Tensor) -> list[str]:
    n_classes = y.shape[1] if y.ndim == 2 else int(y.max()) + 1
    return [str(i) for i in range(n_classes)]
