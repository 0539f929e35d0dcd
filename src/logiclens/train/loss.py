"""The task loss and the accuracy as weighted sums over rows, counted or plain.

Each row of concepts has a weight for each class. A plain row has weight 1 on its own class; a counted row has the sum
of the weights of all samples with these concepts. In exact arithmetic loss and gradient are the same for both. The
equations of the loss and their derivatives are in `nn.functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from logiclens.concepts.concept_table import ConceptTable, class_factors
from logiclens.errors import LogicLensError
from logiclens.nn import functional
from logiclens.train.config import CONSTRAINTS

Task = Literal["multiclass", "multilabel"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of concepts, the weight of each class on each row, and the total weight of each row."""

    concepts: Float[Tensor, "batch concept"]
    counts: Float[Tensor, "batch klass"]
    total: Float[Tensor, " batch"]

    def __len__(self) -> int:
        """Return the number of rows that go through the network."""
        return len(self.concepts)

    @classmethod
    def of(cls, table: ConceptTable, like: Tensor, *, counted: bool, single_head: bool = False) -> Batch:
        """Return the rows of a table on the device and in the precision of `like`.

        Args:
            table: rows with labels.
            like: a tensor on the device and in the precision to use.
            counted: whether to count equal rows; possible for Boolean concepts only.
            single_head: whether one head answers for two classes, so that only the weight of class 1 is kept. Default:
                False.
        """
        parts: tuple[NDArray[Any], ...]
        if counted and table.labels is not None:
            rows = table.counted()
            parts = (rows.bits(), rows.counts, rows.total)
        else:
            parts = (table.values, table.targets() * table.weight[:, None], table.weight)
        concepts, counts, total = (as_tensor(part, like) for part in parts)
        return cls(concepts, counts[:, 1:2] if single_head else counts, total)

    def to(self, device: torch.device) -> Batch:
        """Return a copy on a device."""
        return Batch(self.concepts.to(device), self.counts.to(device), self.total.to(device))

    def take(self, rows: Tensor) -> Batch:
        """Return some of the rows."""
        return Batch(self.concepts[rows], self.counts[rows], self.total[rows])


def as_tensor(array: NDArray[Any], like: Tensor) -> Tensor:
    """Copy an array to the device and the precision of `like`."""
    # NumPy converts many times faster than torch.tensor; copy because the array may be read-only.
    kind = np.float64 if like.dtype == torch.float64 else np.float32
    return torch.from_numpy(array.astype(kind)).to(like)


@dataclass(frozen=True, eq=False)
class ClassWeight:
    """The factor of the answers yes and no of each head; they differ if one head answers for two classes."""

    yes: Float[Tensor, " klass"]
    no: Float[Tensor, " klass"]

    def to(self, device: torch.device) -> ClassWeight:
        """Return a copy on a device."""
        return ClassWeight(self.yes.to(device), self.no.to(device))


def task_loss(
    logits: Float[Tensor, "batch klass"], batch: Batch, task: Task, class_weight: ClassWeight | None = None
) -> Float[Tensor, ""]:
    """Return L(f, y) of eq. (loss): cross-entropy over classes, or binary cross-entropy for each head.

    The loss is the weighted mean over rows, as in `torch.nn.CrossEntropyLoss` and `BCEWithLogitsLoss`.

    Args:
        logits: outputs of the network.
        batch: the rows with their weights.
        task: `"multiclass"` or `"multilabel"`.
        class_weight: factors of the classes; none by default.
    """
    if task == "multiclass":
        weight = batch.counts if class_weight is None else batch.counts * class_weight.yes
        return functional.cross_entropy(torch.log_softmax(logits, dim=-1), weight) / weight.sum()
    yes, no = batch.counts, batch.total.unsqueeze(-1) - batch.counts
    if class_weight is not None:
        yes, no = yes * class_weight.yes, no * class_weight.no
    return functional.binary_cross_entropy(logits, yes, no) / (batch.total.sum() * logits.shape[-1])


def accuracy(
    logits: Float[Tensor, "batch klass"], batch: Batch, task: Task, class_weight: ClassWeight | None = None
) -> Float[Tensor, ""]:
    """Return the share of rows whose largest logit is their class, or the share of labels that are right.

    With class weights, every row (or label) counts as much as its class. The arguments are those of `task_loss`.
    """
    yes, no = batch.counts, batch.total.unsqueeze(-1) - batch.counts
    if class_weight is not None:
        yes, no = yes * class_weight.yes, no * class_weight.no
    if task == "multiclass":
        return yes.gather(1, logits.argmax(dim=-1, keepdim=True)).sum() / yes.sum()
    return torch.where(logits >= 0, yes, no).sum() / (yes + no).sum()


def task_of(n_heads: int, table: ConceptTable) -> Task:
    """Return the task that fits the labels and the heads; raise an error if they do not fit each other."""
    n_classes = len(table.class_names)
    if n_heads == 1 and not table.is_multilabel and n_classes == 2:
        return "multilabel"
    if n_heads != n_classes:
        raise LogicLensError(
            f"the network has {n_heads} head(s), but the labels have {n_classes} class(es): build it with "
            f"n_classes={n_classes}."
        )
    return "multilabel" if table.is_multilabel else "multiclass"


def class_weights(
    class_weight: Sequence[float] | Literal["balanced"] | None, table: ConceptTable, like: Tensor, *, single_head: bool
) -> ClassWeight | None:
    """Return the factors of the answers yes and no of each head; None if there are no class weights."""
    if class_weight is None:
        return None
    CONSTRAINTS["class_weight"].check("class_weight", class_weight)
    factors = class_factors(class_weight, table)
    weights = torch.tensor(factors, dtype=like.dtype, device=like.device)
    return ClassWeight(weights[1:], weights[:1]) if single_head else ClassWeight(weights, weights)
