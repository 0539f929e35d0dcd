"""A training run of many models as one: looking, stepping and choosing, on a GPU as a graph that is replayed."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.adamw import adamw

from logiclens.errors import LogicLensError
from logiclens.train.choosing import Choice
from logiclens.train.config import TrainConfig
from logiclens.train.history import History
from logiclens.train.progress import Progress
from logiclens.train.stacked import Stack

WARM_UP = 1
"""Epochs on a GPU that are run operation by operation, before one is recorded."""
ASKED_EVERY = 25
"""Epochs between two looks at whether all models have stopped, on a GPU."""
KEPT = 1 << 26
"""The most weights that a GPU keeps until epochs are chosen from, over all models and epochs."""


class StackedRun:
    """One training run of a stack: every model's curves, best epoch and best weights.

    One forward looks at all rows: it tells the loss before a step, and what the validation rows say of the step before.
    """

    def __init__(self, stack: Stack, config: TrainConfig, *, chooses: bool) -> None:
        """Begin with the weights as they are."""
        self.stack, self.config, self.chooses = stack, config, chooses
        like = stack.flat
        self.moments = torch.zeros_like(like), torch.zeros_like(like)
        self.steps = torch.zeros((), dtype=torch.float32, device=like.device)
        self.epoch = torch.zeros(1, dtype=torch.long, device=like.device)
        # Loss and accuracy, for learning and for choosing, and the penalty; before each step, and after the last.
        self.curves = like.new_full((config.epochs + 1, 5, *stack.shape), torch.nan)
        self.best = like.clone()
        self.best_views = stack.split(self.best)
        # Which model each weight belongs to.
        self.owner = torch.zeros(len(like), dtype=torch.int32, device=like.device)
        places = torch.arange(stack.shape[0] * stack.shape[1], dtype=torch.int32, device=like.device)
        for view in stack.split(self.owner):
            view.copy_(places.view(*stack.shape, *[1] * (view.ndim - 2)))
        self.choice = Choice(stack.rows.whole[..., 1].cpu().numpy(), config.patience)
        # How many times it was looked, and how many of these have been chosen from.
        self.looks = self.chosen = 0
        # A GPU keeps the weights of some epochs, and chooses from all of them at once: to ask it is to wait for it.
        n_kept = min(config.epochs + 1, max(1, KEPT // len(like))) if like.is_cuda and chooses else 0
        self.kept = like.new_empty(n_kept if config.patience is None else min(n_kept, ASKED_EVERY), len(like))
        self.slot = torch.zeros(1, dtype=torch.long, device=like.device)
        self.graph: torch.cuda.CUDAGraph | None = None

    def train(self) -> None:
        """All epochs, or until every model has stopped."""
        flat = self.stack.flat
        # A graph is recorded on the current device.
        with torch.no_grad(), torch.cuda.device(flat.device) if flat.is_cuda else nullcontext():
            self._train()

    def _train(self) -> None:
        config = self.config
        on_gpu = self.stack.flat.is_cuda
        with Progress(config.epochs, "training", shown=config.progress) as progress:
            for epoch in range(config.epochs):
                if on_gpu and epoch == WARM_UP < config.epochs - 1:
                    self._capture()
                self.graph.replay() if self.graph is not None else self.one_epoch()
                self.looks = epoch + 1
                if self.looks - self.chosen == len(self.kept):
                    self._choose()
                if not self.choice.running.any():
                    break
                if progress.shown and (not on_gpu or epoch % ASKED_EVERY == 0):
                    progress.update(epoch + 1, f"loss {float(self.curves[epoch, 0].mean()):.4f}")
            else:
                self.look()
                self.looks += 1
                if len(self.kept):
                    self._choose()
        # Where nothing could be chosen, because nothing that counts was there to choose by, the last epoch stays.
        unchosen = ~self.choice.is_chosen
        if unchosen.any():
            self._take(unchosen, self.stack.flat)
            self.choice.steps[unchosen] = config.epochs
        self.curves[:, 2:4] /= self.stack.rows.whole.movedim(-1, 0)
        self.curves[:, 4] *= self.stack.penalised
        # What is asked of each model from here on is asked of the CPU: a GPU would be waited for each time.
        self.curves = self.curves.cpu()
        self._check()

    def one_epoch(self) -> None:
        """One epoch."""
        self.look()
        self.step()

    def _capture(self) -> None:
        """Record an epoch as a graph of GPU operations: it is then replayed without a launch for each of them."""
        self.graph = torch.cuda.CUDAGraph()
        # `torch.cuda.graph` would give all free memory back first, which the next run has to ask for again.
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self.graph.capture_begin(capture_error_mode="thread_local")
            self.one_epoch()
            self.graph.capture_end()
        torch.cuda.current_stream().wait_stream(aside)

    def look(self) -> None:
        """Forward, loss and accuracy on all rows; weights are kept where they are the best so far."""
        loss, right, self.wrong = self.stack.judge(self.stack.forward())
        told = torch.stack([loss[..., 0], loss[..., 1], right[..., 0], right[..., 1], self.stack.penalties()])
        self.curves.index_copy_(0, self.epoch, told.unsqueeze(0))
        if len(self.kept):
            self.kept.index_copy_(0, self.slot, self.stack.flat.unsqueeze(0))
        elif self.chooses and not told.is_cuda:
            self._choose_now()

    def step(self) -> None:
        """One step along the gradient at what was looked at."""
        self.stack.backward(self.wrong)
        config, (first, second) = self.config, self.moments
        # The function behind torch.optim.AdamW, whose own bookkeeping would cost more than the step.
        adamw(
            [self.stack.flat], [self.stack.gradient], [first], [second], [], [self.steps],
            fused=True, amsgrad=False, beta1=0.9, beta2=0.999, lr=config.learning_rate,
            weight_decay=config.weight_decay, eps=1e-8, maximize=False,
        )  # fmt: skip
        torch._foreach_add_([self.epoch, self.slot], 1)

    def _choose_now(self) -> None:
        """Choose from what was just looked at."""
        steps = int(self.epoch)
        # Before the first step there is no epoch to choose.
        if steps > 0:
            told = self.curves[steps].numpy()
            improved, _ = self.choice.see(steps, told[None, 1], told[None, 3])
            self._take(improved, self.stack.flat)

    def _choose(self) -> None:
        """Choose from all epochs that are kept."""
        first = max(self.chosen, 1)
        if first < self.looks:
            told = self.curves[first : self.looks].cpu().numpy()
            improved, at = self.choice.see(first, told[:, 1], told[:, 3])
            slots = torch.from_numpy(at + first - self.chosen).to(self.slot.device).view(-1)
            self._take(improved, self.kept.gather(0, slots[self.owner].unsqueeze(0))[0])
        self.chosen = self.looks
        self.slot.zero_()

    def _take(self, which: NDArray[np.bool_], weights: Tensor) -> None:
        """Weights as the best ones of some models."""
        if weights.is_cuda:
            mask = torch.from_numpy(which).to(weights.device).view(-1)
            torch.where(mask[self.owner], weights, self.best, out=self.best)
            return
        # Copying a few models alone is less.
        places = torch.from_numpy(np.flatnonzero(which))
        if len(places):
            for best, now in zip(self.best_views, self.stack.split(weights), strict=True):
                best.flatten(0, 1)[places] = now.flatten(0, 1)[places]

    def history(self, group: int, model: int) -> History:
        """The curves of one model, as far as it would have been trained alone."""
        curves = self.curves[:, :, group, model].double().numpy()
        best, n = int(self.choice.steps[group, model]) - 1, self._n_epochs(group, model)
        loss, _, right, _, penalty = curves[:n].T
        _, held_loss, _, held_right, _ = curves[1 : n + 1].T
        if not self.chooses:
            held_loss, held_right = np.full((2, n), np.nan)
        return History(loss, penalty, right, held_loss, held_right, best)

    def _check(self) -> None:
        """Refuse what came out of no training, for each model over the epochs that are its own."""
        loss = self.curves[: int(self.epoch), 0]
        now, best = (self.stack.split(weights.cpu()) for weights in (self.stack.flat, self.best))
        for epoch, g, k in (~loss.isfinite()).nonzero().tolist():
            if epoch < self._n_epochs(g, k):
                what = float(loss[epoch, g, k])
                raise LogicLensError(f"the loss became {what} in epoch {epoch}: lower the learning_rate.")
        # The loss is taken before a step: only the weights say what the last step did.
        of_running, of_stopped = (
            torch.stack([view.isfinite().flatten(2).all(dim=2) for view in views]).all(dim=0) for views in (now, best)
        )
        if not torch.where(torch.from_numpy(self.choice.running), of_running, of_stopped).all():
            raise LogicLensError("the weights became infinite or NaN: lower the learning_rate.")

    def _n_epochs(self, group: int, model: int) -> int:
        """How many epochs a model would have been trained alone."""
        epochs, patience = self.config.epochs, self.config.patience
        if patience is None or not self.chooses:
            return epochs
        return min(epochs, int(self.choice.steps[group, model]) + patience)
