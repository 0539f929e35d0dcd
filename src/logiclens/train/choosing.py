"""Which epoch of each model is its best, and when a model has stopped: told from curves, several epochs at a time."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray


class Choice:
    """The best epoch of every model so far: higher accuracy, then lower loss, then earlier.

    Args:
        whole: what counts fully in the accuracy of each model, out of which `right` is told.
        patience: the steps without a better epoch after which a model stops; None for never.
    """

    def __init__(self, whole: Float[NDArray[np.floating], "group model"], patience: int | None) -> None:
        """Begin with nothing chosen."""
        # Counts of rows divide to equal shares, class weights do not quite: what differs by rounding is a tie.
        with np.errstate(divide="ignore"):
            self._per_row = 1e6 / whole.astype(np.float64)
        self.patience = patience
        self.rank = np.full(whole.shape, -np.inf)
        self.steps = np.ones(whole.shape, dtype=np.int64)
        """The steps after which a model was at its best; told from the first on."""
        self.running = np.ones(whole.shape, dtype=np.bool_)

    @property
    def is_chosen(self) -> Bool[NDArray[np.bool_], "group model"]:
        """Whether any epoch could be chosen: not where nothing that counts was there to choose by."""
        chosen: NDArray[np.bool_] = self.rank > -np.inf
        return chosen

    def see(
        self,
        first: int,
        loss: Float[NDArray[np.floating], "epoch group model"],
        right: Float[NDArray[np.floating], "epoch group model"],
    ) -> tuple[Bool[NDArray[np.bool_], "group model"], Int[NDArray[np.intp], "group model"]]:
        """Look at some epochs, the first of them after `first` steps: which models are better, and at which of these.

        A model that stops in between is not better for what comes after.
        """
        # Shares of rows such as 1/2 or 3/128 lie away from where this rounds; the loss, brought below 1, decides
        # behind the last digit that counts.
        with np.errstate(invalid="ignore"):
            rank = np.round(right.astype(np.float64) * self._per_row + 0.137) + 0.1 / (loss.astype(np.float64) + 1)
        rank = np.where(np.isnan(rank), -np.inf, rank)
        best = np.maximum.accumulate(np.concatenate([self.rank[None], rank]))
        better = best[1:] > best[:-1]
        if self.patience is not None:
            steps = np.arange(first, first + len(rank))[:, None, None]
            at_best = np.maximum.accumulate(np.where(better, steps, self.steps))
            waited = np.logical_or.accumulate(steps - at_best >= self.patience)
            better[1:] &= ~waited[:-1]
            better &= self.running
            self.running = np.logical_and(self.running, ~waited[-1])
        improved = np.logical_or.reduce(better, axis=0)
        at = len(better) - 1 - better[::-1].argmax(axis=0)
        self.rank = np.where(improved, np.take_along_axis(rank, at[None], axis=0)[0], self.rank)
        self.steps = np.where(improved, first + at, self.steps)
        return improved, at
