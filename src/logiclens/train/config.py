"""How to train, as one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

from logiclens.errors import LogicLensError


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
