"""What happened during training, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
