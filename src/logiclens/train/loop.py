"""Training: AdamW on eq. (loss), the best validation epoch restored."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.nn.functional import entropy_logic_loss, l1_loss
from logiclens.train.config import TrainConfig
from logiclens.train.history import History, TrainResult
from logiclens.train.objective import Batch, ClassWeight, Task, accuracy, class_weights, task_loss, task_of
from logiclens.train.progress import Progress
from logiclens.train.threads import threads_for


def fit(
    network: nn.Module,
    data: ConceptTable,
    config: TrainConfig | None = None,
    generator: torch.Generator | None = None,
    *,
    validation: ConceptTable | None = None,
) -> TrainResult:
    """Train a network in place.

    The task follows from the labels: one class per row is multi-class (cross-entropy), a matrix of labels is
    multi-label and one head for two classes is binary (binary cross-entropy for each head). Boolean concepts train on
    counted rows. With validation rows the epoch with the best validation accuracy is restored; ties go to the lower
    validation loss, then to the earlier epoch. Without, the last epoch stays.

    Args:
        network: anything from concepts to logits `[batch, classes]`; its own device and precision are used.
        data: the training rows, with labels.
        config: how to train.
        generator: shuffles mini-batches; unused on the full batch.
        validation: rows that choose the epoch.
    """
    config = TrainConfig() if config is None else config
    like = next(network.parameters(), None)
    if like is None:
        raise LogicLensError(f"{type(network).__name__} has no parameters to train.")
    notes = _checked_data(data, validation)
    n_heads = _checked_heads(network, data, like)
    task = task_of(n_heads, data)
    counted = config.batch_size is None and data.is_boolean
    single = n_heads == 1 and not data.is_multilabel
    batch = Batch.of(data, like, counted=counted, single_head=single)
    held = None
    if validation is not None:
        held = Batch.of(validation, like, counted=validation.is_boolean, single_head=single)
    at_a_time = len(batch) if config.batch_size is None else min(config.batch_size, len(batch))
    work = at_a_time * sum(parameter.numel() for parameter in network.parameters())
    with threads_for(work):
        weight = class_weights(config.class_weight, data, like, single_head=single)
        history = _Run(network, batch, held, task, config, generator, weight).train()
    return TrainResult(history, counted, config.batch_size, len(data), len(batch), notes)


@dataclass
class _Run:
    """One training run: what it needs, the best weights so far, and the curves."""

    network: nn.Module
    batch: Batch
    held: Batch | None
    task: Task
    config: TrainConfig
    generator: torch.Generator | None
    class_weight: ClassWeight | None
    curves: list[tuple[float, ...]] = field(default_factory=list)
    best_key: tuple[float, float] = (float("inf"), float("inf"))
    best_epoch: int = 0
    best_state: dict[str, Tensor] | None = None

    def train(self) -> History:
        config, parameters = self.config, [p for p in self.network.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(
            parameters, lr=config.learning_rate, weight_decay=config.weight_decay, fused=_fusable(parameters)
        )
        was_training = self.network.training
        try:
            with Progress(config.epochs, "training", shown=config.progress) as progress:
                for epoch in range(config.epochs):
                    self.curves.append((*self.epoch(optimizer), *self.validate()))
                    loss = self.curves[-1][0]
                    if not math.isfinite(loss):
                        raise LogicLensError(f"the loss became {loss} in epoch {epoch}: lower the learning_rate.")
                    self.remember(epoch)
                    progress.update(epoch + 1, f"loss {loss:.4f}")
                    if config.patience is not None and epoch - self.best_epoch >= config.patience:
                        break
        finally:
            self.network.train(was_training)
        # The loss is taken before a step: only the weights say what the last step did.
        if not all(bool(parameter.isfinite().all()) for parameter in parameters):
            raise LogicLensError("the weights became infinite or NaN: lower the learning_rate.")
        if self.best_state is not None:
            self.network.load_state_dict(self.best_state)
        curves = np.array(self.curves, dtype=np.float64).T
        return History(curves[0], curves[1], curves[2], curves[3], curves[4], self.best_epoch)

    def epoch(self, optimizer: torch.optim.Optimizer) -> tuple[float, float, float]:
        """One pass over the data: loss, penalty and training accuracy, as means over its rows."""
        self.network.train()
        sums = [0.0, 0.0, 0.0]
        for part in self.parts():
            optimizer.zero_grad(set_to_none=True)
            logits = self.network(part.concepts)
            loss, penalty = task_loss(logits, part, self.task, self.class_weight), self.penalty()
            (loss + self.config.penalty_weight * penalty).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            share = float(part.total.sum() / self.batch.total.sum())
            right = accuracy(logits.detach(), part, self.task)
            for i, value in enumerate((loss.detach(), penalty.detach(), right)):
                sums[i] += share * float(value)
        return sums[0], sums[1], sums[2]

    def parts(self) -> Iterator[Batch]:
        """The full batch, or shuffled mini-batches."""
        if self.config.batch_size is None:
            yield self.batch
            return
        order = torch.randperm(len(self.batch), generator=self.generator).to(self.batch.total.device)
        for rows in torch.split(order, self.config.batch_size):
            part = self.batch.take(rows)
            # Rows that weigh nothing teach nothing, and their mean would be 0/0.
            weighed = part.counts if self.class_weight is None else part.counts * self.class_weight.yes
            if float((weighed if self.task == "multiclass" else part.total).sum()) > 0:
                yield part

    def penalty(self) -> Tensor:
        if self.config.penalty is None or self.config.penalty_weight == 0:
            return self.batch.total.new_zeros(())
        return entropy_logic_loss(self.network) if self.config.penalty == "entropy" else l1_loss(self.network)

    def validate(self) -> tuple[float, float]:
        if self.held is None:
            return float("nan"), float("nan")
        self.network.eval()
        with torch.no_grad():
            logits = self.network(self.held.concepts)
            # What the classes weigh in training they weigh in the choice of the epoch.
            loss = task_loss(logits, self.held, self.task, self.class_weight)
            return float(loss), float(accuracy(logits, self.held, self.task, self.class_weight))

    def remember(self, epoch: int) -> None:
        """Keep the weights if this epoch is the best: higher accuracy, then lower loss, then earlier."""
        if self.held is None:
            self.best_epoch = epoch
            return
        loss, right = self.curves[-1][3:]
        if (-right, loss) < self.best_key:
            self.best_key, self.best_epoch = (-right, loss), epoch
            self.best_state = copy.deepcopy(self.network.state_dict())


def _checked_heads(network: nn.Module, data: ConceptTable, like: Tensor) -> int:
    """The number of heads, seen by sending one row through."""
    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            row = torch.tensor(np.array(data.values[:1]), dtype=like.dtype, device=like.device)
            logits = network(row)
    finally:
        network.train(was_training)
    if logits.ndim != 2:
        raise LogicLensError(f"the network must give logits [batch, classes], got {logits.ndim} dimension(s).")
    return int(logits.shape[1])


def _checked_data(data: ConceptTable, validation: ConceptTable | None) -> tuple[str, ...]:
    """Refuse what cannot be learned from; warn of what the user should know, and return it as notes."""
    if data.labels is None:
        raise LogicLensError("training needs labels: pass labels=... when building the table.")
    if validation is not None:
        if validation.names != data.names:
            raise LogicLensError("the validation rows must have the same concepts as the training rows, in one order.")
        if validation.class_names != data.class_names:
            raise LogicLensError("the validation rows must have the same classes as the training rows.")
    empty = data.empty_classes()
    if not data.is_multilabel and len(data.class_names) - len(empty) < 2:
        raise LogicLensError("all training rows have one class: at least two are needed to learn a difference.")
    notes = []
    if constant := data.constant_concepts():
        notes.append(_listed("of the concepts,", constant, "constant on the training rows and cannot matter"))
    if empty:
        notes.append(_listed("of the classes,", empty, "without training rows and cannot be learned"))
    for note in notes:
        warnings.warn(note, LogicLensWarning, stacklevel=3)
    return tuple(notes)


def _listed(what: str, names: tuple[str, ...], rest: str) -> str:
    shown = ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{what} {shown} {'is' if len(names) == 1 else 'are'} {rest}."


def _fusable(parameters: list[nn.Parameter]) -> bool:
    return all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters)
