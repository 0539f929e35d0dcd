"""Training of concept encoders: one-cycle AdamW, with all data on the device and optional checkpoints."""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.packed_rows import as_array
from logiclens.nn.encoders import cropped, device_of, forward_all, on_device, placed, set_scale, shifted, training
from logiclens.nn.outputs import checked_logits
from logiclens.progress import Progress, working
from logiclens.storage import open_whole
from logiclens.train.loss import Task
from logiclens.train.threads import threads_for


def save_checkpoint(path: Path, state: Mapping[str, Any], belongs: Mapping[str, str]) -> None:
    """Write tensors and plain values to a file, with what they belong to: whoever is killed here leaves the old file.

    Args:
        path: the file, in a folder that exists.
        state: tensors, numbers, texts, and lists and dictionaries of them.
        belongs: what the run was made of, a fingerprint for each part; see `load_checkpoint`.
    """
    # Without `sync` the new name may reach the disk before the bytes do.
    with open_whole(path, sync=True) as file:
        torch.save({"belongs": dict(belongs), "state": dict(state)}, file)


def load_checkpoint(path: Path, belongs: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the state saved in a file, on the CPU; None if there is no file.

    Raises:
        LogicLensError: if the file is not a checkpoint, or belongs to another run.
    """
    if not path.exists():
        return None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        saved, state = content["belongs"], dict(content["state"])
    except (RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise LogicLensError(f"{path} is not a readable checkpoint: remove it to train from the start.") from error
    others = [name for name in belongs if saved.get(name) != belongs[name]]
    if others:
        raise LogicLensError(
            f"the checkpoint {path} belongs to another run: its {' and '.join(others)} differ from this run's. "
            "Remove it, or name another file."
        )
    return state


def fingerprint(*parts: Tensor | NDArray[Any] | str) -> str:
    """Return the SHA-256 of arrays (their types, shapes and bytes) and strings, in order."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(f"text {len(part)} {part}".encode())
            continue
        array = np.ascontiguousarray(part.detach().cpu().numpy() if isinstance(part, Tensor) else part)
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(array.data)
    return digest.hexdigest()


Augment = Literal["shift", "crop_flip"]

WARM_UP = 0.2
"""Share of all steps in which the learning rate rises; after that it falls to 0 along a cosine."""


@dataclass(frozen=True)
class EncoderConfig:
    """Settings of one training run of an encoder.

    Args:
        epochs: number of passes over the data. Default: 5.
        batch_size: number of rows per step. Default: 256.
        learning_rate: largest learning rate of AdamW, which rises to it and then falls to 0. Default: 0.005.
        weight_decay: weight decay of AdamW, on weight matrices and kernels only. Default: 0.01.
        task: `"multiclass"` (the default: one concept per row, cross-entropy) or `"multilabel"` (binary cross-entropy
            for each concept).
        augment: None (the default), `"shift"` (by up to two pixels) or `"crop_flip"` (a random part at full size,
            mirrored or not).
        device: where to train; by default a CUDA device if there is one, else the CPU.
        precision: `"float32"` (the default), or `"bfloat16"` for matrix products (autocast); weights stay float32.

    >>> EncoderConfig(epochs=10, device="cpu").epochs
    10
    """

    epochs: int = 5
    batch_size: int = 256
    learning_rate: float = 5e-3
    weight_decay: float = 1e-2
    task: Task = "multiclass"
    augment: Augment | None = None
    device: str | None = None
    precision: Literal["float32", "bfloat16"] = "float32"

    def __post_init__(self) -> None:
        """Raise an error if a setting is out of range."""
        for name in ("epochs", "batch_size"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise LogicLensError(f"{name} must be a whole number of at least 1, got {quoted(value)}.")
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise LogicLensError(f"{name} must be a finite number that is not negative, got {quoted(value)}.")
        if self.learning_rate == 0:
            raise LogicLensError("learning_rate must be above 0.")
        allowed = {
            "task": ("multiclass", "multilabel"),
            "augment": ("shift", "crop_flip", None),
            "precision": ("float32", "bfloat16"),
        }
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                known = " or ".join(map(repr, values))
                raise LogicLensError(f"{name} must be {known}, got {quoted(getattr(self, name))}.")


@dataclass(frozen=True, eq=False)
class EncoderResult:
    """The outcome of the training of an encoder.

    Attributes:
        loss: mean loss of each epoch on the augmented training rows.
        accuracy: mean accuracy of each epoch; for several concepts per row, the share of concepts that are right.
        device: where the encoder was trained.
        n_rows: number of training rows.
        resumed_from: number of epochs that came from a checkpoint.
    """

    loss: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    device: str
    n_rows: int
    resumed_from: int


def fit_encoder(
    encoder: nn.Module,
    inputs: Any,
    targets: Any,
    config: EncoderConfig | None = None,
    *,
    seed: int,
    checkpoint: Path | None = None,
    progress: bool | None = None,
) -> EncoderResult:
    """Train an encoder in place; it returns to the device it was on.

    Args:
        encoder: a module from inputs to logits `[rows, concepts]`; for images it must contain an `ImageScale`, as
            `ResNet10` does.
        inputs: images `[rows, channels, height, width]` of uint8, or a matrix `[rows, features]` of floats.
        targets: class numbers `[rows]` (multi-class), or numbers in [0, 1] `[rows, concepts]` (multi-label).
        config: settings; `EncoderConfig()` by default.
        seed: random seed for the order of rows and the augmentation. Training starts from the encoder's weights.
        checkpoint: file to write after each epoch; if it exists already, training resumes from it. None by default.
        progress: whether to show a progress bar in a terminal or a notebook. Default: None, which is True.

    >>> import numpy as np
    >>> inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=np.float32)
    >>> config = EncoderConfig(epochs=2, device="cpu")
    >>> len(fit_encoder(torch.nn.Linear(2, 2), inputs, inputs[:, 0].astype(int), config, seed=0).loss)
    2
    """
    config = EncoderConfig() if config is None else config
    rows, device = as_inputs(inputs), device_of(config.device)
    wanted = as_targets(targets, config.task, len(rows))
    belongs = {} if checkpoint is None else _belongs(encoder, rows, wanted, config, seed)
    set_scale(encoder, rows)
    with placed(encoder, device), threads_for(work_of(encoder, rows, config.batch_size)):
        _check_outputs(encoder, rows, wanted, config.task, device)
        run = _Run(encoder, Feed.of(rows, config, device, seed), wanted.to(device), config)
        resumed = run.resume(checkpoint, belongs)
        with training(encoder), working(progress), Progress(config.epochs, "training encoder") as bar:
            for epoch in range(resumed, config.epochs):
                run.epoch(epoch)
                run.save(checkpoint, belongs)
                bar.update(epoch + 1, f"loss {run.curves[-1][0]:.4f}")
        check_finite(encoder)
    curves = np.array(run.curves, dtype=np.float64).T
    return EncoderResult(curves[0], curves[1], str(device), len(rows), resumed)


def encode(
    encoder: nn.Module, inputs: Any, *, task: Task = "multiclass", batch_size: int = 1024, device: str | None = None
) -> NDArray[np.float32]:
    """Return the probability of each concept on each row, in evaluation mode.

    Args:
        encoder: a trained encoder.
        inputs: images or a matrix, as in `fit_encoder`.
        task: `"multiclass"` (the default) takes a softmax over concepts, `"multilabel"` a sigmoid for each.
        batch_size: number of rows per forward pass. Default: 1024.
        device: where to run; by default a CUDA device if there is one, else the CPU.

    >>> import numpy as np
    >>> encode(torch.nn.Linear(2, 3), np.zeros((5, 2), dtype=np.float32), device="cpu").shape
    (5, 3)
    """
    if task not in ("multiclass", "multilabel"):
        raise LogicLensError(f"task must be 'multiclass' or 'multilabel', got {quoted(task)}.")
    rows, where = as_inputs(inputs), device_of(device)
    with placed(encoder, where):
        logits = forward_all(encoder, encoder, rows, batch_size=batch_size, device=where)
    return (torch.softmax(logits, dim=1) if task == "multiclass" else torch.sigmoid(logits)).numpy()


@dataclass
class Feed:
    """The rows of a training run on the device, and the random generator for their order and augmentation."""

    rows: Tensor
    batch_size: int
    augment: Augment | None
    generator: torch.Generator

    @classmethod
    def of(cls, rows: Tensor, config: EncoderConfig, device: torch.device, seed: int) -> Feed:
        """Copy the rows to a device and seed a generator there."""
        if config.augment is not None and rows.ndim != 4:
            raise LogicLensError(
                f"augment={quoted(config.augment)} is for images, but the inputs are a matrix: pass None."
            )
        generator = torch.Generator(device=device).manual_seed(seed)
        return cls(on_device(rows, device), config.batch_size, config.augment, generator)

    @property
    def n_steps(self) -> int:
        """Number of steps per epoch."""
        return math.ceil(len(self.rows) / self.batch_size)

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the row numbers and augmented inputs of each batch of one epoch, in a new random order."""
        order = torch.randperm(len(self.rows), generator=self.generator, device=self.rows.device)
        # Split into batches of nearly equal size: batch norm cannot learn from a last batch of a single row.
        for index in torch.tensor_split(order, self.n_steps):
            yield index, on_device(self.augmented(self.rows[index]), self.rows.device)

    def augmented(self, batch: Tensor) -> Tensor:
        """Shift, or crop and mirror, each image at random."""
        if self.augment is None:
            return batch
        return shifted(batch, self.generator) if self.augment == "shift" else cropped(batch, self.generator)


@dataclass
class _Run:
    """One training run: the encoder and the data on a device, the optimiser, and the curves."""

    encoder: nn.Module
    feed: Feed
    targets: Tensor
    config: EncoderConfig
    curves: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.optimizer = torch.optim.AdamW(parameter_groups(self.encoder, self.config), fused=True)

    def epoch(self, epoch: int) -> None:
        """Train for one pass over the data; sums stay on the device until its end, to avoid synchronisation."""
        device, config = self.feed.rows.device, self.config
        sums = torch.zeros(2, device=device)
        for step, (index, batch) in enumerate(self.feed.batches()):
            set_rate(self.optimizer, (epoch * self.feed.n_steps + step) / (config.epochs * self.feed.n_steps))
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bfloat16"):
                logits = self.encoder(batch)
            loss = concept_loss(logits.float(), self.targets[index], config.task)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            right = concept_accuracy(logits.detach(), self.targets[index], config.task)
            sums += len(index) * torch.stack([loss.detach(), right])
        self.curves.append((float(sums[0]) / len(self.targets), float(sums[1]) / len(self.targets)))
        if not math.isfinite(self.curves[-1][0]):
            raise LogicLensError(f"the loss became {self.curves[-1][0]} in epoch {epoch}: lower the learning_rate.")

    def save(self, path: Path | None, belongs: dict[str, str]) -> None:
        """Save the state that the next epoch depends on; the learning rate is a function of the epoch."""
        if path is None:
            return
        state = {
            "encoder": self.encoder.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.feed.generator.get_state(),
            "curves": self.curves,
        }
        save_checkpoint(path, state, belongs)

    def resume(self, path: Path | None, belongs: dict[str, str]) -> int:
        """Take over a checkpoint where there is one; the number of epochs that are behind us."""
        state = None if path is None else load_checkpoint(path, belongs)
        if state is None:
            return 0
        self.encoder.load_state_dict(state["encoder"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.feed.generator.set_state(state["generator"])
        self.curves = [(float(loss), float(right)) for loss, right in state["curves"]]
        return len(self.curves)


def concept_loss(logits: Tensor, targets: Tensor, task: Task) -> Tensor:
    """Return the cross-entropy over concepts, or the mean binary cross-entropy of each concept."""
    if task == "multiclass":
        return F.cross_entropy(logits, targets)
    return F.binary_cross_entropy_with_logits(logits, targets)


def concept_accuracy(logits: Tensor, targets: Tensor, task: Task) -> Tensor:
    """Return the share of rows whose largest logit is their concept, or the share of concepts that are right."""
    right = logits.argmax(dim=1) == targets if task == "multiclass" else (logits >= 0) == (targets >= 0.5)
    return right.float().mean()


def parameter_groups(module: nn.Module, config: Any) -> list[dict[str, Any]]:
    """Return the parameter groups for AdamW: weight decay on matrices and kernels, none on biases and norms."""
    trained = [p for p in module.parameters() if p.requires_grad]
    if not trained:
        raise LogicLensError(f"{type(module).__name__} has no parameters to train.")
    rate, decay = config.learning_rate, config.weight_decay
    groups = [([p for p in trained if p.ndim > 1], decay), ([p for p in trained if p.ndim <= 1], 0.0)]
    return [{"params": ps, "lr": rate, "peak": rate, "weight_decay": wd} for ps, wd in groups if ps]


def set_rate(optimizer: torch.optim.Optimizer, share: float) -> None:
    """Set the learning rates for a step, given the share of steps before it: a linear rise, then a cosine fall."""
    if share < WARM_UP:
        factor = 0.04 + 0.96 * share / WARM_UP
    else:
        factor = 0.5 * (1 + math.cos(math.pi * (share - WARM_UP) / (1 - WARM_UP)))
    for group in optimizer.param_groups:
        group["lr"] = factor * group["peak"]


def check_finite(module: nn.Module) -> None:
    """Raise an error if the last step made weights infinite or NaN; its loss was computed before it."""
    if not all(bool(parameter.isfinite().all()) for parameter in module.parameters()):
        raise LogicLensError("the weights became infinite or NaN: lower the learning_rate.")


def as_inputs(inputs: Any) -> Tensor:
    """Return images of uint8, or a matrix of finite float32 numbers, as a tensor; raise an error for other inputs."""
    rows = inputs.detach() if isinstance(inputs, Tensor) else torch.tensor(np.array(as_array(inputs)))
    images = rows.ndim == 4 and rows.dtype == torch.uint8
    if not images and not (rows.ndim == 2 and rows.is_floating_point()):
        raise LogicLensError(
            "inputs must be images [rows, channels, height, width] of uint8 or a matrix [rows, features] of floats, "
            f"got {rows.dtype} of shape {list(rows.shape)}."
        )
    if len(rows) == 0:
        raise LogicLensError("there are no rows: inputs must have at least one.")
    if not images and not bool(rows.isfinite().all()):
        raise LogicLensError("inputs must be finite numbers, got NaN or infinity: fill or drop such rows first.")
    return rows if images else rows.float()


def as_targets(targets: Any, task: Task, n_rows: int) -> Tensor:
    """Return class numbers, or numbers in [0, 1] for each concept, as a tensor; raise an error for other targets."""
    values = torch.tensor(np.array(as_array(targets)))
    if task == "multiclass":
        if values.shape != (n_rows,) or values.is_floating_point() or int(values.min()) < 0:
            raise LogicLensError(
                f"targets must be {n_rows} class numbers 0, 1, 2, …, one for each row, "
                f"got {values.dtype} of shape {list(values.shape)}."
            )
        return values.long()
    if values.ndim != 2 or len(values) != n_rows or not bool(((values >= 0) & (values <= 1)).all()):
        raise LogicLensError(
            f"targets must be numbers in [0, 1] for each of {n_rows} rows and each concept, "
            f"got {values.dtype} of shape {list(values.shape)}."
        )
    return values.float()


def work_of(module: nn.Module, rows: Tensor, batch_size: int) -> int:
    """Return a lower bound of the multiplications of one pass: each kernel is used once for each pixel."""
    pixels = rows[0, 0].numel() if rows.ndim == 4 else 1
    return min(batch_size, len(rows)) * pixels * sum(parameter.numel() for parameter in module.parameters())


def _check_outputs(encoder: nn.Module, rows: Tensor, targets: Tensor, task: Task, device: torch.device) -> None:
    n_targets = int(targets.max()) + 1 if task == "multiclass" else targets.shape[1]

    def call(row: Tensor) -> Tensor:
        return checked_logits(encoder, row, exclusive=task == "multiclass")

    logits = forward_all(encoder, call, rows[:1], batch_size=1, device=device)
    if logits.ndim != 2 or (logits.shape[1] < n_targets if task == "multiclass" else logits.shape[1] != n_targets):
        raise LogicLensError(
            f"the targets have {n_targets} concepts, but the encoder returns shape {list(logits.shape)} for one row: "
            f"build it with {n_targets} outputs."
        )


def _belongs(encoder: nn.Module, rows: Tensor, targets: Tensor, config: EncoderConfig, seed: int) -> dict[str, str]:
    """Return fingerprints of everything that a checkpoint must share with the run that resumes from it."""
    weights = [part for name, value in encoder.state_dict().items() for part in (name, value)]
    settings = asdict(config) | {"device": device_of(config.device).type}
    return {
        "data": fingerprint(rows, targets),
        "settings": fingerprint(repr(sorted(settings.items()))),
        "seed": str(seed),
        "initial weights": fingerprint(*weights),
    }
