"""Settings, history and result of a training run; validation of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable, data_notes
from logiclens.constraints import Constraint, check_all, flag, is_finite, number, one_of, optional, whole_number
from logiclens.errors import LogicLensError, warn

_NOT_NEGATIVE = number("a finite number that is not negative", lambda value: value >= 0)


def _is_class_weight(value: Any) -> bool:
    """Return whether a value is one factor per class; the number of classes is not known here."""
    if isinstance(value, str):
        return value == "balanced"
    if isinstance(value, Mapping):
        value = list(value.values())
    elif isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        value = np.asarray(value).tolist()
    return isinstance(value, list | tuple) and all(is_finite(factor) and factor >= 0 for factor in value)


CONSTRAINTS: Mapping[str, Constraint] = {
    "epochs": whole_number(1),
    "learning_rate": number("a finite number above 0", lambda value: value > 0),
    "weight_decay": _NOT_NEGATIVE,
    "penalty": optional(one_of(("entropy", "l1"))),
    "penalty_weight": _NOT_NEGATIVE,
    "batch_size": optional(whole_number(1)),
    "class_weight": optional(
        Constraint("'balanced' or one finite number per class that is not negative", _is_class_weight)
    ),
    "patience": optional(whole_number(1)),
    "progress": optional(flag()),
}
"""What each setting of a training run may be."""


STEP = "training networks"
"""What progress calls the training of networks."""


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one training run; the defaults are those of the paper if it gives them.

    Args:
        epochs: number of passes over the data. Default: 200.
        learning_rate: learning rate of AdamW. Default: 0.01.
        weight_decay: weight decay of AdamW. Default: 0.01.
        penalty: second term of the loss: `"entropy"` (the default, as in the paper), `"l1"` (its comparison), or None.
        penalty_weight: λ of eq. (loss). Default: 0.001.
        batch_size: rows per step; None, the default, trains on the full batch, where equal Boolean rows are counted.
        class_weight: one factor per class, or `"balanced"` for factors inversely proportional to class frequency. No
            factors by default.
        patience: stop when the best epoch is this many epochs ago; None, the default, trains to the end. In both cases
            the best epoch is restored if there are validation rows.
        progress: whether to show a progress bar in a terminal or a notebook; inside other work, such as the fit of a
            classifier, that one decides. Default: None, which is True.

    >>> TrainConfig(epochs=50, class_weight="balanced").penalty
    'entropy'
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
        """Raise an error if a setting is out of range."""
        check_all(CONSTRAINTS, vars(self))


@dataclass(frozen=True, eq=False)
class History:
    """Curves of a training run, one entry per epoch. Validation curves are NaN if there are no validation rows.

    `columns()` returns all curves for a plot or a DataFrame.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> history = trained.history
    >>> print(len(history.loss), history.train_accuracy[-1].item())
    200 1.0
    """

    loss: NDArray[np.float64]
    penalty: NDArray[np.float64]
    train_accuracy: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    validation_accuracy: NDArray[np.float64]
    best_epoch: int

    def __len__(self) -> int:
        """Return the number of epochs."""
        return len(self.loss)

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the curves and the epoch by name, for example for `pandas.DataFrame(history.columns())`."""
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
    """The outcome of a training run.

    Attributes:
        history: the curves.
        counted: whether equal rows were counted instead of repeated.
        batch_size: rows per step; None for the full batch.
        n_rows: number of training rows.
        n_trained_rows: number of rows that went through the network in each epoch; fewer if rows were counted.
        notes: what the user should know, such as constant concepts.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> print(trained.n_rows, trained.n_trained_rows, trained.counted)
    40 4 True
    """

    history: History
    counted: bool
    batch_size: int | None
    n_rows: int
    n_trained_rows: int
    notes: tuple[str, ...]


def checked_config(config: TrainConfig | None) -> TrainConfig:
    """Return the settings, or the default ones; raise an error if they are something else, such as labels."""
    if not isinstance(config, TrainConfig | None):
        raise LogicLensError(
            f"config must be a TrainConfig, got a {type(config).__name__}: rows and labels are passed together, as "
            "fit(network, ConceptTable(concepts, labels=labels))."
        )
    return config or TrainConfig()


def checked_data(data: ConceptTable, validation: ConceptTable | None) -> tuple[str, ...]:
    """Raise an error if the rows cannot be learned from; warn about constant concepts and empty classes.

    Returns:
        The warnings as notes.
    """
    for what, table in (("the training rows", data), ("validation", validation)):
        if not isinstance(table, ConceptTable | None):
            raise LogicLensError(
                f"{what} must be a ConceptTable, got a {type(table).__name__}: pass ConceptTable(concepts, labels=...)."
            )
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
    notes = data_notes(data)
    for note in notes:
        warn(note, stacklevel=4)
    return notes
