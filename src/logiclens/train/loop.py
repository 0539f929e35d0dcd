"""Training of one network: AdamW on eq. (loss), with the best validation epoch restored."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.nn.functional import entropy_logic_loss, l1_loss
from logiclens.nn.outputs import checked_logits
from logiclens.nn.stacked import stackable
from logiclens.progress import Progress, working
from logiclens.train.config import STEP, History, TrainConfig, TrainResult, checked_config, checked_data
from logiclens.train.fit_many import fit_many
from logiclens.train.loss import Batch, ClassWeight, Task, accuracy, class_weights, task_loss, task_of
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
    multi-label, and one head for two classes is binary (binary cross-entropy for each head). Boolean concepts train on
    counted rows. With validation rows, the epoch with the best validation accuracy is restored; ties go to the lower
    validation loss, then to the earlier epoch. Without validation rows, the weights of the last epoch remain.

    Args:
        network: a module from concepts to logits `[batch, classes]`; it is trained on its own device and precision.
        data: the training rows, with labels.
        config: settings; `TrainConfig()` by default.
        generator: random generator that shuffles mini-batches; unused on the full batch.
        validation: rows that choose the epoch; none by default.

    Returns:
        The history of the run.

    Raises:
        LogicLensError: if the rows cannot be learned from or do not fit the network, or if the loss becomes infinite.

    >>> import torch
    >>> from logiclens.concepts import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, ["a", "b"], labels=[0, 1, 1, 1] * 5)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> trained.history.train_accuracy[-1].item()
    1.0
    """
    config = checked_config(config)
    if config.batch_size is None and stackable(network):
        return fit_many([network], [data], config, validation=[validation])[0]
    like = next(network.parameters(), None)
    if like is None:
        raise LogicLensError(f"{type(network).__name__} has no parameters to train.")
    notes = checked_data(data, validation)
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
    """One training run: its inputs, the best weights so far, and the curves."""

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
            with working(config.progress), Progress(config.epochs, STEP) as progress:
                for epoch in range(config.epochs):
                    self.curves.append((*self.epoch(optimizer), *self.validate()))
                    loss = self.curves[-1][0]
                    if not math.isfinite(loss):
                        raise LogicLensError(f"the loss became {loss} in epoch {epoch}: lower the learning_rate.")
                    self.remember(epoch)
                    progress.update(epoch + 1, f"loss {loss:.4f}" if progress.shown else "")
                    if config.patience is not None and epoch - self.best_epoch >= config.patience:
                        break
        finally:
            self.network.train(was_training)
        # The loss is computed before a step: only the weights show the effect of the last step.
        if not all(bool(parameter.isfinite().all()) for parameter in parameters):
            raise LogicLensError("the weights became infinite or NaN: lower the learning_rate.")
        if self.best_state is not None:
            self.network.load_state_dict(self.best_state)
        curves = np.array(self.curves, dtype=np.float64).T
        return History(curves[0], curves[1], curves[2], curves[3], curves[4], self.best_epoch)

    def epoch(self, optimizer: torch.optim.Optimizer) -> tuple[float, float, float]:
        """Train for one pass over the data; return the means of loss, penalty and training accuracy."""
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
        """Yield the full batch, or shuffled mini-batches."""
        if self.config.batch_size is None:
            yield self.batch
            return
        order = torch.randperm(len(self.batch), generator=self.generator).to(self.batch.total.device)
        for rows in torch.split(order, self.config.batch_size):
            part = self.batch.take(rows)
            # Skip a batch of total weight 0: its mean would be 0/0.
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
            # Class weights apply to the choice of the epoch too.
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


def _fusable(parameters: list[nn.Parameter]) -> bool:
    return all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters)


def _checked_heads(network: nn.Module, data: ConceptTable, like: Tensor) -> int:
    """Return the number of heads, found by sending one row through the network."""
    was_training = network.training
    network.eval()
    try:
        row = torch.tensor(np.array(data.values[:1]), dtype=like.dtype, device=like.device)
        logits = checked_logits(network, row, exclusive=not data.is_multilabel)
    finally:
        network.train(was_training)
    if logits.ndim != 2:
        raise LogicLensError(f"the network must return logits [batch, classes], got {logits.ndim} dimension(s).")
    return int(logits.shape[1])
