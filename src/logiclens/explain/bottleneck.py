"""Explain a concept bottleneck on raw inputs: the encoder predicts the concepts that the formulas use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.classwise import Method, explain_all
from logiclens.explain.length import FormulaLimits
from logiclens.explain.own_teacher import ScoreAgainst
from logiclens.explain.reading import Answer
from logiclens.explain.result import Explanation
from logiclens.nn.bottleneck import ConceptBottleneck
from logiclens.train.bottleneck import predict_concepts


def bottleneck_table(
    model: ConceptBottleneck,
    inputs: Any,
    labels: Any = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    *,
    device: str | None = None,
) -> ConceptTable:
    """Return the concepts g(x) of raw inputs as the network sees them (0 and 1 where they are hard), with the labels.

    Args:
        model: a trained bottleneck.
        inputs: images of uint8 or a matrix of floats, in the same form as for training.
        labels: class numbers, or 0/1 for each class. Default: None, no labels.
        names: names of the concepts. Default: the names of the model, or `x0`, `x1`, … if it has none.
        class_names: names of the classes.
        device: device of the encoder. Default: a CUDA device if there is one.

    Returns:
        The concepts as a table. If the concepts of the model are exclusive, they form one exclusive group.

    Raises:
        LogicLensError: if `model` is not a `ConceptBottleneck`.
    """
    if not isinstance(model, ConceptBottleneck):
        raise LogicLensError(f"expected a ConceptBottleneck, got {type(model).__name__}: pass others to explain_all.")
    values = predict_concepts(model, inputs, device=device)
    named = names or model.names or [f"x{i}" for i in range(values.shape[1])]
    return ConceptTable(values, named, labels, class_names, [tuple(named)] if model.exclusive else ())


def explain_bottleneck(
    model: ConceptBottleneck,
    inputs: Any,
    labels: Any = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    *,
    validation: tuple[Any, Any] | None = None,
    method: Method = "search",
    score_against: ScoreAgainst = "network",
    limits: FormulaLimits | None = None,
    answer: Answer | None = None,
    device: str | None = None,
) -> Explanation:
    """Return the formulas of all classes on raw inputs, ∀x: φ(g(x)) ↔ f(g(x)), the last equation of the paper's method.

    Args:
        model: a trained bottleneck.
        inputs: the raw inputs whose answers are explained.
        labels: labels of the inputs; required for `score_against="labels"`.
        names: names of the concepts. Default: the names of the model.
        class_names: names of the classes.
        validation: further raw inputs and their labels. `logiclens.explain.explain_class` describes this parameter and
            the next four.
        method: method that chooses the formulas. Default: `"search"`.
        score_against: what the formulas are compared with. Default: the answers of the network.
        limits: limits on the formulas. Default: no limits.
        answer: rule that turns the outputs of the network into answers.
        device: device of the encoder. Default: a CUDA device if there is one.

    Returns:
        The explanation of all classes.

    Raises:
        LogicLensError: if `model` is not a `ConceptBottleneck`, or an option is not valid.
    """
    table = bottleneck_table(model, inputs, labels, names, class_names, device=device)
    held = None
    if validation is not None:
        held = bottleneck_table(model, *validation, table.names, table.class_names or None, device=device)
    return explain_all(
        model.network, table, held, method=method, score_against=score_against, limits=limits, answer=answer
    )
