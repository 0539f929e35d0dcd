"""`explain_class` with the arguments and the three return values of the paper's code listing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from logiclens.explain.classwise import Method, explain_all
from logiclens.explain.own_teacher import ScoreAgainst
from logiclens.explain.result import Explanation
from logiclens.formula.dnf import DNF, Complement
from logiclens.nn.outputs import Output, Select


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
    output: Output = "auto",
    select: Select | None = None,
    multilabel: bool = False,
) -> ExplainedClasses:
    """Explain every class of a model.

    Args:
        model: a trained network with an entropy layer.
        x: concepts of the rows whose answers are explained.
        y: labels of these rows, as class numbers or one-hot rows; with `multilabel`, one 0/1 column per class.
        x_val: concepts of the validation rows.
        y_val: labels of the validation rows.
        concept_names: names of the concepts.
        class_names: names of the classes. Default: their numbers.
        method: see `logiclens.explain.explain_class`.
        score_against: see `logiclens.explain.explain_class`.
        output: see `logiclens.explain.explain_class`.
        select: see `logiclens.explain.explain_class`.
        multilabel: whether a row may have several classes. Default: False.
    """
    explanation = explain_all(
        model,
        x,
        y,
        concept_names,
        class_names,
        validation=(x_val, y_val),
        method=method,
        score_against=score_against,
        output=output,
        select=select,
        multilabel=multilabel,
    )
    formulas = explanation.formulas
    return ExplainedClasses(tuple(map(str, formulas)), explanation, formulas)
