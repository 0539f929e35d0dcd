"""Layout of training and validation rows for models that are trained in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.counted_rows import CountedRows, distinct
from logiclens.nn.stacked import StackedRows
from logiclens.train.loss import Batch, ClassWeight, Task, as_tensor

LARGE = 1 << 20
"""Number of cells above which counts are built on the training device; smaller ones are copied there at the end."""
WORTH_SHARING = 1.5
"""Tables share one matrix of rows if together they have at most this many times the rows of the largest."""


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The data of one model: training rows, validation rows, and class weights."""

    train: Batch
    held: Batch | None
    class_weight: ClassWeight | None = None
    is_boolean: bool = False

    def placed(self) -> tuple[NDArray[np.intp], int]:
        """Return the column of each validation row, and the number of columns; equal Boolean rows share a column."""
        n_train, n_held = len(self.train), len(self.held or ())
        if self.held is None or not self.is_boolean:
            return np.arange(n_train, n_train + n_held), n_train + n_held
        rows = torch.cat([self.train.concepts, self.held.concepts]).numpy() > 0
        first, group = distinct(rows)
        # A validation row that equals a training row takes its column; other validation rows follow in order.
        new = np.flatnonzero(first >= n_train)
        column = first.copy()
        column[new] = n_train + np.arange(len(new))
        return column[group[n_train:]], n_train + len(new)

    def to(self, device: torch.device) -> ModelRows:
        """Return a copy on a device."""
        held = None if self.held is None else self.held.to(device)
        weight = None if self.class_weight is None else self.class_weight.to(device)
        return ModelRows(self.train.to(device), held, weight, self.is_boolean)


def stack_rows(groups: Sequence[Sequence[ModelRows]], task: Task, device: torch.device) -> StackedRows:
    """Lay out the rows of `[group][model]` on a device; the models of a group have the same rows.

    Args:
        groups: the data of each model.
        task: `"multiclass"` or `"multilabel"`.
        device: where to train.
    """
    placed = [group[0].placed() for group in groups]
    # Models with the same data are laid out once.
    kinds: dict[tuple[int, ...], tuple[int, int, ModelRows]] = {}
    kind_of = []
    for g, group in enumerate(groups):
        for model in group:
            key = (g, id(model.train), id(model.held), id(model.class_weight))
            kind_of.append(kinds.setdefault(key, (len(kinds), g, model))[0])
    like = groups[0][0].train
    here = device if like.counts.numel() > LARGE else like.counts.device
    n_train = max(len(group[0].train) for group in groups)
    n_columns = max(n_train + n - len(group[0].train) for group, (_, n) in zip(groups, placed, strict=True))
    concepts = like.concepts.new_zeros(len(groups), n_columns, like.concepts.shape[1], device=here)
    whole = like.counts.new_ones(len(kinds), 2, device=here)
    # Yes in the loss, yes in the accuracy, no in the loss, no in the accuracy.
    shape = (len(kinds), 2, like.counts.shape[1], n_columns)
    parts = [like.counts.new_zeros(shape, device=here) for _ in range(2 if task == "multiclass" else 4)]
    for kind, g, model in kinds.values():
        model = model.to(here)
        n_own, (held_at, _) = len(model.train), placed[g]
        # Columns after the training rows of a group start after those of the longest group.
        held_at = held_at + (held_at >= n_own) * (n_train - n_own)
        for side, batch, at in ((0, model.train, np.arange(n_own)), (1, model.held, held_at)):
            if batch is None:
                continue
            columns = torch.from_numpy(at).to(here)
            concepts[g, columns] = batch.concepts
            whole[kind, side], *shares = _shares(batch, model.class_weight, task, learned=side == 0)
            for part, counts in zip(parts, shares, strict=True):
                part[kind, side, :, columns] = counts.t()
    spread = torch.tensor(kind_of, device=device)
    models = (len(groups), len(groups[0]))
    whole, *parts = (
        (part if len(kinds) == len(kind_of) else part[spread]).view(*models, *part.shape[1:])
        for part in (part.to(device) for part in (whole, *parts))
    )
    return StackedRows(concepts.to(device), n_train, whole, *parts)


def _shares(batch: Batch, weighed: ClassWeight | None, task: Task, *, learned: bool) -> list[Tensor]:
    """Return the total weight in the accuracy of one model, and the weights of each class and row.

    `learned` says whether the rows are training rows. The order of the weights is that of `StackedRows`.
    """
    yes, no = batch.counts, batch.total.unsqueeze(-1) - batch.counts
    yes_loss, no_loss = (yes, no) if weighed is None else (yes * weighed.yes, no * weighed.no)
    # Class weights apply to the choice of the epoch, but not to the reported training accuracy.
    yes_right, no_right = (yes, no) if learned else (yes_loss, no_loss)
    if task == "multiclass":
        return [yes_right.sum(), yes_loss / yes_loss.sum(), yes_right]
    n_labels = batch.total.sum() * yes.shape[1]
    return [(yes_right + no_right).sum(), yes_loss / n_labels, yes_right, no_loss / n_labels, no_right]


def batches(tables: Sequence[ConceptTable], like: Tensor, *, single_head: bool) -> list[Batch]:
    """Return a batch for each table; Boolean tables with most rows in common share one matrix of rows.

    Two batches have the same rows if their `concepts` are the same object.
    """
    unique = list({id(table): table for table in tables}.values())
    made: dict[int, Batch] = {}
    if len(unique) > 1 and all(table.is_boolean for table in unique):
        made = _laid_over(unique, like, single_head)
    for table in unique:
        if id(table) not in made:
            made[id(table)] = Batch.of(table, like, counted=table.is_boolean, single_head=single_head)
    return [made[id(table)] for table in tables]


def _laid_over(tables: Sequence[ConceptTable], like: Tensor, single_head: bool) -> dict[int, Batch]:
    """Return batches over the union of all rows; none if the union is much larger than the largest table."""
    counted = [table.counted() for table in tables]
    bits = np.concatenate([rows.bits() for rows in counted])
    first, place = distinct(bits)
    if len(first) > WORTH_SHARING * max(map(len, counted)):
        return {}
    concepts = as_tensor(bits[first], like)
    ends = np.cumsum([len(rows) for rows in counted])
    return {
        id(table): _placed(concepts, rows, place[end - len(rows) : end], like, single_head)
        for table, rows, end in zip(tables, counted, ends, strict=True)
    }


def _placed(concepts: Tensor, rows: CountedRows, place: np.ndarray, like: Tensor, single_head: bool) -> Batch:
    counts, total = np.zeros((len(concepts), rows.counts.shape[1])), np.zeros(len(concepts))
    counts[place], total[place] = rows.counts, rows.total
    yes, whole = as_tensor(counts, like), as_tensor(total, like)
    return Batch(concepts, yes[:, 1:2] if single_head else yes, whole)
