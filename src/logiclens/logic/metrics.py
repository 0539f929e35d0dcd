"""`test_explanation`, which scores one formula under the name that the paper's library uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Complement, Cube, Literal, as_formula
from logiclens.formula.text import parse
from logiclens.metrics.scores import accuracy
from logiclens.nn.functional import THRESHOLD


class TestedExplanation(NamedTuple):
    """Result of `test_explanation`: the share of rows on which the formula is right, and the rows on which it fires."""

    accuracy: float
    predictions: Bool[Tensor, " batch"]


def test_explanation(
    formula: DNF | Complement | Cube | Literal | str,
    x: Any,
    y: Any,
    target_class: int,
    mask: Any = None,
    threshold: float = THRESHOLD,
    *,
    concept_names: Sequence[str] | None = None,
) -> TestedExplanation:
    """Return how often a formula fires exactly on the rows of a class, and where it fires.

    Args:
        formula: a formula, or its text.
        x: concepts in [0, 1], `[rows, concepts]`.
        y: class numbers, or one 0/1 column per class.
        target_class: number of the class.
        mask: rows on which the accuracy is computed, as numbers or as true or false for each row. Default: all rows.
        threshold: a concept is true if its value is at least this.
        concept_names: one per concept. Default: the column names of `x` if it has any, otherwise `x0`, `x1`, ….

    Returns:
        The accuracy on the rows of `mask`, and for every row whether the formula fires.

    Raises:
        LogicLensError: the class or the mask does not exist in the data.

    >>> x = torch.tensor([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> test_explanation("x0 & ~x1", x, torch.tensor([0, 0, 1]), target_class=1)
    TestedExplanation(accuracy=1.0, predictions=tensor([False, False,  True]))
    """
    table = ConceptTable(x, concept_names, y)
    targets = table.targets()
    if not 0 <= target_class < targets.shape[1]:
        raise LogicLensError(f"target_class must be 0 to {targets.shape[1] - 1}, got {target_class}.")
    parsed = parse(formula, table.names) if isinstance(formula, str) else as_formula(formula)
    fires = parsed.evaluate(table.boolean(threshold), table.names)
    rows = np.arange(len(table)) if mask is None else torch.as_tensor(mask).cpu().numpy()
    if (rows.dtype == np.bool_ and len(rows) != len(table)) or (rows.size and rows.max() >= len(table)):
        raise LogicLensError(f"mask must name some of the {len(table)} rows, or be true or false for each.")
    return TestedExplanation(accuracy(targets[rows, target_class] == 1, fires[rows]), torch.from_numpy(fires.copy()))


# pytest must not collect these names as tests in a file that imports them.
test_explanation.__test__ = False  # type: ignore[attr-defined]
TestedExplanation.__test__ = False  # type: ignore[attr-defined]
