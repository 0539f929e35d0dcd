"""Scoring one formula the way the paper's own library names it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.text import parse
from logiclens.metrics.scores import accuracy
from logiclens.nn.functional import THRESHOLD


class TestedExplanation(NamedTuple):
    """The share of rows on which a formula is right, and where it fires."""

    accuracy: float
    predictions: Bool[Tensor, " batch"]


def test_explanation(
    formula: DNF | Cube | Literal | str,
    x: Any,
    y: Any,
    target_class: int,
    mask: Any = None,
    threshold: float = THRESHOLD,
    *,
    concept_names: Sequence[str] | None = None,
) -> TestedExplanation:
    """How often (formula fires) equals (label is the class), on the rows of `mask` or on all.

    >>> x = torch.tensor([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> test_explanation("x0 & ~x1", x, torch.tensor([0, 0, 1]), target_class=1)
    TestedExplanation(accuracy=1.0, predictions=tensor([False, False,  True]))
    """
    table = ConceptTable(x, concept_names, y)
    targets = table.targets()
    if not 0 <= target_class < targets.shape[1]:
        raise LogicLensError(f"target_class must be 0 to {targets.shape[1] - 1}, got {target_class}.")
    parsed = parse(formula, table.names) if isinstance(formula, str) else formula | DNF.false
    fires = parsed.evaluate(table.boolean(threshold), table.names)
    rows = np.arange(len(table)) if mask is None else torch.as_tensor(mask).cpu().numpy()
    if (rows.dtype == np.bool_ and len(rows) != len(table)) or (rows.size and rows.max() >= len(table)):
        raise LogicLensError(f"mask must name some of the {len(table)} rows, or be true or false for each.")
    return TestedExplanation(accuracy(targets[rows, target_class] == 1, fires[rows]), torch.from_numpy(fires.copy()))


# A user's `from logiclens.logic import test_explanation` must not become a test of theirs.
test_explanation.__test__ = False  # type: ignore[attr-defined]
TestedExplanation.__test__ = False  # type: ignore[attr-defined]
