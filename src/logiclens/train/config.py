"""TrainConfig and the history of a training run; checks of the rows; the number of threads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning


@dataclass(frozen=True)
class TrainConfig:
    """The settings of one training run; the defaults are the paper's where it gives them.

    Args:
        epochs: passes over the data.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        penalty: what is added to the task loss: `"entropy"` (the paper), `"l1"` (its comparison), or None.
        penalty_weight: λ of eq. (loss).
        batch_size: None trains on the full batch, on counted rows where concepts are Boolean.
        class_weight: one factor per class, or `"balanced"` for factors against the frequency of the classes.
        patience: stop when the best epoch is this many epochs back; None trains to the end. Either way the best
            epoch is restored when there are validation rows.
        progress: show a bar on the terminal; None shows one where standard error is a terminal.
    """

    epochs: int = 200
    learning_rate: float = 1e-2
    weight_decay: float = 1e-2
    penalty: Literal["entropy", "l1"] | None = "entropy"
    penalty_weight: float = 1e-3
    batch_size: int | None = None
    class_weight: Sequence[float] | Literal["balanced"] | None = None
    patience: int | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be trained with."""
        for name, least in {"epochs": 1, "batch_size": 1, "patience": 1}.items():
            value = getattr(self, name)
            if value is None and name != "epochs":
                continue
            if not isinstance(value, Integral):
                raise LogicLensError(f"{name} must be a whole number, got {value!r}.")
            if value < least:
                raise LogicLensError(f"{name} must be at least {least}, got {value}.")
        for name in ("learning_rate", "weight_decay", "penalty_weight"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise LogicLensError(f"{name} must be a finite number that is not negative, got {value!r}.")
        if self.learning_rate == 0:
            raise LogicLensError("learning_rate must be above 0.")
        if self.penalty not in ("entropy", "l1", None):
            raise LogicLensError(f"penalty must be 'entropy', 'l1' or None, got {self.penalty!r}.")


@dataclass(frozen=True, eq=False)
class History:
    """One entry per epoch. Validation columns are NaN where there are no validation rows.

    `columns()` gives everything a plot or a DataFrame needs.
    """

    loss: NDArray[np.float64]
    penalty: NDArray[np.float64]
    train_accuracy: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    validation_accuracy: NDArray[np.float64]
    best_epoch: int

    def __len__(self) -> int:
        """The number of epochs."""
        return len(self.loss)

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """The curves by name, with the epoch, for example for `pandas.DataFrame(history.columns())`."""
        return {
            "epoch": np.arange(len(self), dtype=np.float64),
            "loss": self.loss,
            "penalty": self.penalty,
            "train_accuracy": self.train_accuracy,
            "validation_loss": self.validation_loss,
            "validation_accuracy": self.validation_accuracy,
        }


@dataclass(frozen=True, eq=False)
class TrainResult:
    """How a network was trained: its history, on what kind of rows, and what the user should know."""

    history: History
    counted: bool
    batch_size: int | None
    n_rows: int
    n_trained_rows: int
    notes: tuple[str, ...]


def checked_heads(network: nn.Module, data: ConceptTable, like: Tensor) -> int:
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


def checked_data(data: ConceptTable, validation: ConceptTable | None) -> tuple[str, ...]:
    """Refuse what cannot be learned from; warn of what the user should know, and return it as notes."""
    if data.labels is None:
        raise LogicLensError("training needs labels: pass labels=... when building the table.")
    if validation is not None:
        if validation.labels is None:
            raise LogicLensError("the validation rows have no labels: pass labels=... when building the table.")
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
        warnings.warn(note, LogicLensWarning, stacklevel=4)
    return tuple(notes)


def _listed(what: str, names: tuple[str, ...], rest: str) -> str:
    shown = ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{what} {shown} {'is' if len(names) == 1 else 'are'} {rest}."


SMALL_WORK = 100_000_000
"""Multiplications per pass below which a second thread costs more (waking, spinning) than it brings."""


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """One thread inside for small work, the caller's number of threads for large work and again afterwards."""
    before = torch.get_num_threads()
    if work < SMALL_WORK:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
