"""Explanations on raw inputs: the formulas of a bottleneck's network, on the concepts that its encoder sees in them."""

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
    """The concepts g(x) of raw inputs as the network sees them (0 and 1 where they are hard), with the labels.

    Args:
        model: a trained bottleneck.
        inputs: images of uint8 or a matrix of floats, as in its training.
        labels: class numbers, or 0/1 for each class.
        names: of the concepts; the model's own where not given.
        class_names: of the classes.
        device: where the encoder runs; None takes a CUDA device where there is one.
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
    """The formulas of all classes on raw inputs, ∀x: φ(g(x)) ↔ f(g(x)), the last equation of the paper's method.

    Args:
        model: a trained bottleneck.
        inputs: the raw inputs whose answers are explained.
        labels: of the inputs; needed for `score_against="labels"`.
        names: of the concepts; the model's own where not given.
        class_names: of the classes.
        validation: further raw inputs and their labels; see `logiclens.explain.explain_class`, as for the next four.
        method: how formulas are chosen.
        score_against: what the rows that choose are compared with.
        limits: what is asked of formulas.
        answer: how the network's answer is read.
        device: where the encoder runs; None takes a CUDA device where there is one.
    """
    table = bottleneck_table(model, inputs, labels, names, class_names, device=device)
    held = None
    if validation is not None:
        held = bottleneck_table(model, *validation, table.names, table.class_names or None, device=device)
    return explain_all(
        model.network, table, held, method=method, score_against=score_against, limits=limits, answer=answer
    )
