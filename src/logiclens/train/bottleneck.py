"""Training of concept bottlenecks: encoder and network jointly, in sequence, or independently."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.packed_rows import as_array
from logiclens.nn.bottleneck import ConceptBottleneck
from logiclens.nn.encoders import device_of, forward_all, placed, set_scale, training
from logiclens.nn.functional import entropy_logic_loss, l1_loss
from logiclens.nn.outputs import checked_logits
from logiclens.progress import Progress, working
from logiclens.train.config import History, TrainConfig
from logiclens.train.encoder import (
    EncoderConfig,
    Feed,
    as_inputs,
    check_finite,
    concept_accuracy,
    concept_loss,
    fit_encoder,
    parameter_groups,
    set_rate,
    work_of,
)
from logiclens.train.loop import fit
from logiclens.train.loss import Batch, ClassWeight, Task, accuracy, class_weights, task_loss, task_of
from logiclens.train.threads import threads_for

Mode = Literal["joint", "sequential", "independent"]
AT_A_TIME = 1024
"""Number of rows per forward pass outside training."""


@dataclass(frozen=True)
class BottleneckConfig:
    """Settings for the training of a bottleneck.

    In joint mode, epochs, batch size, augmentation, device and precision come from `encoder`; learning rate, weight
    decay, penalty and class weights of the network come from `network`, whose patience is not used. The `task` of the
    encoder follows from the model.

    Args:
        encoder: settings of the encoder; `EncoderConfig()` by default.
        network: settings of the network; `TrainConfig()` by default.

    >>> BottleneckConfig(EncoderConfig(epochs=10), TrainConfig(epochs=100)).network.epochs
    100
    """

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    network: TrainConfig = field(default_factory=TrainConfig)


@dataclass(frozen=True, eq=False)
class BottleneckResult:
    """The outcome of the training of a bottleneck.

    Attributes:
        mode: `"joint"`, `"sequential"` or `"independent"`.
        history: curves of the task loss, one entry per epoch of the network.
        concept_loss: concept loss of each epoch of the encoder.
        concept_accuracy: concept accuracy of each epoch of the encoder, on the training rows.
        notes: what the user should know, such as constant concepts.
    """

    mode: Mode
    history: History
    concept_loss: NDArray[np.float64]
    concept_accuracy: NDArray[np.float64]
    notes: tuple[str, ...] = ()


def fit_bottleneck(
    model: ConceptBottleneck,
    inputs: Any,
    concepts: Any,
    labels: Any,
    config: BottleneckConfig | None = None,
    *,
    mode: Mode = "joint",
    concept_weight: float = 1.0,
    seed: int,
    validation: tuple[Any, Any, Any] | None = None,
) -> BottleneckResult:
    """Train a bottleneck in place; it returns to the device it was on.

    The penalty applies to the entropy layers of the network only. In every mode, entropy layers inside the encoder (a
    cascade) are trained by the concept loss alone: to make them sparse, train the encoder with `fit` first.

    Args:
        model: the bottleneck; training starts from its current weights.
        inputs: images `[rows, channels, height, width]` of uint8, or a matrix `[rows, features]` of floats.
        concepts: annotations in [0, 1] `[rows, concepts]`; for exclusive concepts also concept numbers `[rows]`.
        labels: class numbers `[rows]`, or 0/1 `[rows, classes]`.
        config: settings of both parts; `BottleneckConfig()` by default.
        mode: `"joint"` (the default: task loss + `concept_weight` · concept loss), `"sequential"` (first the encoder,
            then the network on the predicted concepts) or `"independent"` (the network on the annotations).
        concept_weight: weight of the concept loss in joint mode. Default: 1.
        seed: random seed for the order of rows and the augmentation.
        validation: inputs, concepts and labels that choose the epoch with the best task accuracy, of the whole model in
            joint mode, else of the network. None by default.

    >>> import numpy as np
    >>> from logiclens.nn import ConceptBottleneck, EntropyNet
    >>> inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=np.float32)
    >>> model = ConceptBottleneck(torch.nn.Linear(2, 2), EntropyNet(2, 2))
    >>> config = BottleneckConfig(EncoderConfig(epochs=2, device="cpu"), TrainConfig(epochs=2))
    >>> fit_bottleneck(model, inputs, inputs, inputs[:, 0].astype(int), config, mode="sequential", seed=0).mode
    'sequential'
    """
    config = BottleneckConfig() if config is None else config
    if mode not in ("joint", "sequential", "independent"):
        raise LogicLensError(f"mode must be 'joint', 'sequential' or 'independent', got {quoted(mode)}.")
    if not isinstance(concept_weight, int | float) or not 0 <= concept_weight < math.inf:
        raise LogicLensError(
            f"concept_weight must be a finite number that is not negative, got {quoted(concept_weight)}."
        )
    config = replace(config, encoder=replace(config.encoder, task="multiclass" if model.exclusive else "multilabel"))
    for part in (model.encoder, model.network):
        if not any(parameter.requires_grad for parameter in part.parameters()):
            raise LogicLensError(f"{type(part).__name__} has no parameters to train.")
    set_scale(model.encoder, as_inputs(inputs))
    parts = _Parts.of(model, (inputs, concepts, labels))
    held = None if validation is None else _Parts.of(model, validation)
    if mode == "joint":
        return _fit_jointly(model, parts, held, config, concept_weight=concept_weight, seed=seed)
    return _fit_apart(model, parts, held, config, mode=mode, seed=seed)


def predict_concepts(model: ConceptBottleneck, inputs: Any, *, device: str | None = None) -> NDArray[np.float32]:
    """Return g(x) on all rows as the network sees it, in evaluation mode; 0 and 1 if concepts are hard.

    Args:
        model: a trained bottleneck.
        inputs: images or a matrix, as in `fit_bottleneck`.
        device: where to run; by default a CUDA device if there is one, else the CPU.
    """
    rows, where = as_inputs(inputs), device_of(device)
    with placed(model, where):
        return forward_all(model, model.concepts, rows, batch_size=AT_A_TIME, device=where).numpy()


@dataclass(frozen=True, eq=False)
class _Parts:
    """Raw inputs, and their annotated concepts with the labels."""

    rows: Tensor
    table: ConceptTable

    @classmethod
    def of(cls, model: ConceptBottleneck, given: tuple[Any, Any, Any]) -> _Parts:
        rows, annotated = as_inputs(given[0]), as_array(given[1])
        device = next(model.network.parameters()).device
        n_concepts = forward_all(model, model.concepts, rows[:1], batch_size=1, device=device).shape[1]
        n_heads = forward_all(model, model, rows[:1], batch_size=1, device=device).shape[1]
        if annotated.ndim == 1 and model.exclusive and annotated.dtype.kind in "iu":
            if len(annotated) and not 0 <= annotated.min() <= annotated.max() < n_concepts:
                raise LogicLensError(f"concepts must be concept numbers from 0 to {n_concepts - 1}.")
            annotated = np.eye(n_concepts, dtype=np.float32)[annotated]
        if annotated.shape != (len(rows), n_concepts):
            raise LogicLensError(
                f"concepts must be a matrix of {len(rows)} rows and {n_concepts} concepts, as the encoder returns "
                f"them, got shape {annotated.shape}."
            )
        if model.exclusive and not (np.isin(annotated, (0, 1)).all() and (annotated.sum(axis=1) == 1).all()):
            raise LogicLensError(
                "these concepts exclude each other: each row must have exactly one 1, and 0 elsewhere."
            )
        labels = as_array(given[2])
        n_classes = 2 if n_heads == 1 and labels.ndim == 1 else n_heads
        return cls(rows, ConceptTable(annotated, model.names, labels, [str(i) for i in range(n_classes)]))

    def seen(self, model: ConceptBottleneck, device: str | None) -> ConceptTable:
        """Return the labels with the concepts that the encoder predicts."""
        values = predict_concepts(model, self.rows, device=device)
        return ConceptTable(values, model.names, self.table.labels, self.table.class_names)


class _ConceptLogits(nn.Module):
    """The encoder of a bottleneck as a module that returns logits, whatever the encoder itself returns."""

    def __init__(self, model: ConceptBottleneck) -> None:
        super().__init__()
        self.encoder, self.logits = model.encoder, model.concept_logits

    def forward(self, x: Tensor) -> Tensor:
        return self.logits(x)


def _fit_apart(
    model: ConceptBottleneck, parts: _Parts, held: _Parts | None, config: BottleneckConfig, *, mode: Mode, seed: int
) -> BottleneckResult:
    values = np.array(parts.table.values)
    targets = values.argmax(axis=1) if model.exclusive else values
    encoded = fit_encoder(
        _ConceptLogits(model), parts.rows, targets, config.encoder, seed=seed, progress=config.network.progress
    )
    device = config.encoder.device
    if mode == "sequential":
        table, chooses = parts.seen(model, device), None if held is None else held.seen(model, device)
    else:
        table, chooses = parts.table, None if held is None else held.table
        if model.hard:
            # The network must learn on bits, which it will see later, even if annotations are probabilities.
            table, chooses = table.hard(), None if chooses is None else chooses.hard()
    generator = torch.Generator().manual_seed(seed)
    with placed(model.network, device_of(device)):
        trained = fit(model.network, table, config.network, generator, validation=chooses)
    return BottleneckResult(mode, trained.history, encoded.loss, encoded.accuracy, trained.notes)


def _fit_jointly(
    model: ConceptBottleneck,
    parts: _Parts,
    held: _Parts | None,
    config: BottleneckConfig,
    *,
    concept_weight: float,
    seed: int,
) -> BottleneckResult:
    device = device_of(config.encoder.device)
    with placed(model, device), threads_for(work_of(model, parts.rows, config.encoder.batch_size)):
        like = next(model.network.parameters())

        def call(row: Tensor) -> Tensor:
            return checked_logits(model.network, model.concepts(row), exclusive=not parts.table.is_multilabel)

        n_heads = forward_all(model, call, parts.rows[:1], batch_size=1, device=device).shape[1]
        single = n_heads == 1 and not parts.table.is_multilabel
        run = _Joint(
            model,
            Feed.of(parts.rows, config.encoder, device, seed),
            Batch.of(parts.table, like, counted=False, single_head=single),
            task_of(n_heads, parts.table),
            config,
            concept_weight,
            class_weights(config.network.class_weight, parts.table, like, single_head=single),
        )
        if held is not None:
            run.held = (
                held.rows,
                Batch.of(held.table, torch.empty((), dtype=like.dtype), counted=False, single_head=single),
            )
        history = run.train()
    curves = np.array(run.curves, dtype=np.float64).T
    return BottleneckResult("joint", history, curves[3], curves[4])


@dataclass
class _Joint:
    """One run that trains both parts at once: its inputs, the best weights so far, and the curves."""

    model: ConceptBottleneck
    feed: Feed
    batch: Batch
    task: Task
    config: BottleneckConfig
    concept_weight: float
    class_weight: ClassWeight | None
    held: tuple[Tensor, Batch] | None = None
    curves: list[tuple[float, ...]] = field(default_factory=list)
    judged: list[tuple[float, float]] = field(default_factory=list)
    best_epoch: int = 0
    best_state: dict[str, Tensor] | None = None

    def train(self) -> History:
        config = self.config
        network = [p for p in self.model.network.parameters() if p.requires_grad]
        rate = {"lr": config.network.learning_rate, "peak": config.network.learning_rate}
        groups = parameter_groups(self.model.encoder, config.encoder)
        groups.append({"params": network, "weight_decay": config.network.weight_decay, **rate})
        optimizer = torch.optim.AdamW(groups, fused=True)
        n_epochs = config.encoder.epochs
        with (
            training(self.model),
            working(config.network.progress),
            Progress(n_epochs, "training bottleneck") as progress,
        ):
            for epoch in range(n_epochs):
                self.curves.append(self.epoch(epoch, optimizer))
                loss = self.curves[-1][0]
                if not math.isfinite(sum(self.curves[-1])):
                    raise LogicLensError(f"the loss became {loss} in epoch {epoch}: lower the learning_rate.")
                self.remember(epoch)
                progress.update(epoch + 1, f"loss {loss:.4f}")
        check_finite(self.model)
        if self.best_state is not None:
            self.model.load_state_dict(self.best_state)
        curves, judged = np.array(self.curves).T, np.array(self.judged).T
        return History(curves[0], curves[1], curves[2], judged[0], judged[1], self.best_epoch)

    def epoch(self, epoch: int, optimizer: torch.optim.Optimizer) -> tuple[float, ...]:
        """Train for one epoch; return the means of task loss, penalty, task accuracy, concept loss and accuracy."""
        settings, n_steps, device = self.config.encoder, self.feed.n_steps, self.feed.rows.device
        sums = torch.zeros(5, device=device)
        for step, (index, inputs) in enumerate(self.feed.batches()):
            set_rate(optimizer, (epoch * n_steps + step) / (settings.epochs * n_steps))
            optimizer.zero_grad(set_to_none=True)
            part = self.batch.take(index)
            annotated = part.concepts.argmax(dim=1) if self.model.exclusive else part.concepts
            with torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
                seen = self.model.concept_logits(inputs)
            seen = seen.to(part.concepts.dtype)
            logits = self.model.network(self.model.activate(seen))
            task, penalty = task_loss(logits, part, self.task, self.class_weight), self.penalty()
            concept = concept_loss(seen, annotated, settings.task)
            loss = task + self.concept_weight * concept + self.config.network.penalty_weight * penalty
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            right = accuracy(logits.detach(), part, self.task)
            known = concept_accuracy(seen.detach(), annotated, settings.task)
            values = (task.detach(), penalty.detach(), right, concept.detach(), known)
            sums += len(index) * torch.stack(values)
        return tuple((sums / len(self.batch)).tolist())

    def penalty(self) -> Tensor:
        """Return the penalty of the network alone; the concept loss trains the encoder."""
        settings = self.config.network
        if settings.penalty is None or settings.penalty_weight == 0:
            return self.batch.total.new_zeros(())
        return (entropy_logic_loss if settings.penalty == "entropy" else l1_loss)(self.model.network)

    def remember(self, epoch: int) -> None:
        """Keep the weights if this epoch is the best: higher task accuracy, then lower loss, then earlier."""
        if self.held is None:
            self.judged.append((math.nan, math.nan))
            self.best_epoch = epoch
            return
        rows, batch = self.held
        device = self.feed.rows.device
        logits = forward_all(self.model, self.model, rows, batch_size=AT_A_TIME, device=device).to(batch.counts.dtype)
        weight = self.class_weight
        if weight is not None:
            weight = ClassWeight(weight.yes.cpu(), weight.no.cpu())
        loss = float(task_loss(logits, batch, self.task, weight))
        right = float(accuracy(logits, batch, self.task, weight))
        best = self.judged[self.best_epoch] if self.judged else (math.inf, -math.inf)
        self.judged.append((loss, right))
        if (-right, loss) < (-best[1], best[0]):
            self.best_epoch = epoch
            self.best_state = {name: value.clone() for name, value in self.model.state_dict().items()}
