"""Many models in one pass: folds, seeds, settings and resamples stacked as extra heads over the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.optim.adamw import adamw

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.nn.networks import EntropyNet
from logiclens.train.checks import checked_data
from logiclens.train.config import TrainConfig
from logiclens.train.history import History, TrainResult
from logiclens.train.objective import Batch, Task, class_weights, task_of
from logiclens.train.progress import Progress
from logiclens.train.stacked import Stack, stackable
from logiclens.train.stacked_rows import StackedRows, Told, batches
from logiclens.train.threads import threads_for

T = TypeVar("T")

WARM_UP = 1
"""Epochs on a GPU that are run operation by operation, before one is recorded."""
ASKED_EVERY = 25
"""Epochs between two looks at whether all models have stopped, on a GPU."""
TOGETHER = 1 << 24
"""The most outputs of first layers that are held at a time: more models than that go one stack after another."""


def fit_many(
    networks: Sequence[EntropyNet],
    data: ConceptTable | Sequence[ConceptTable],
    config: TrainConfig | Sequence[TrainConfig] | None = None,
    *,
    validation: ConceptTable | Sequence[ConceptTable | None] | None = None,
) -> tuple[TrainResult, ...]:
    """Train networks in place, each as `fit` would alone, on the full batch, with early stopping for each.

    Args:
        networks: untied heads; those of one build are trained in one pass, whatever their temperature.
        data: the training rows of all, or of each. Models that are given the same table share its rows.
        config: how to train all, or each.
        validation: the rows that choose the epoch, of all or of each.
    """
    n = len(networks)
    tables, configs = _spread(data, n, "data"), _spread(config or TrainConfig(), n, "config")
    held = _spread(validation, n, "validation")
    for network, one in zip(networks, configs, strict=True):
        if not stackable(network) or one.batch_size is not None:
            raise LogicLensError(
                "many networks train together on the full batch, each an EntropyNet with heads of its own and ReLU "
                "or LeakyReLU: train this one with fit()."
            )
    if len({id(network) for network in networks}) < n:
        raise LogicLensError("a network is there twice: each can be trained once in a pass.")
    for network, table in zip(networks, tables, strict=True):
        if network.n_concepts != table.n_concepts:
            raise LogicLensError(f"this network takes {network.n_concepts} concepts, got {table.n_concepts}.")
    # Models that share their rows are told once what is to be known of them.
    pairs = {(id(table), id(rows)): (table, rows) for table, rows in zip(tables, held, strict=True)}
    notes = {key: checked_data(*pair) for key, pair in pairs.items()}
    models = [_Model(*one) for one in zip(networks, tables, held, configs, strict=True)]
    results: dict[int, TrainResult] = {}
    for alike in _alike(models):
        results.update(_train(alike))
    return tuple(replace(results[id(model)], notes=notes[id(model.data), id(model.validation)]) for model in models)


@dataclass(frozen=True, eq=False)
class _Model:
    """One network with what it is trained on."""

    network: EntropyNet
    data: ConceptTable
    validation: ConceptTable | None
    config: TrainConfig

    @property
    def task(self) -> Task:
        """What is asked of the heads."""
        return task_of(self.network.n_classes, self.data)

    @property
    def build(self) -> tuple[object, ...]:
        """What models of one stack have in common."""
        network, config, weight = self.network, self.config, self.network.entropy.weight
        fixed = (network.n_concepts, network.n_classes, network.hidden, network.activation, weight.dtype, weight.device)
        how = (config.epochs, config.learning_rate, config.weight_decay, config.penalty, config.patience)
        return (*fixed, *how, self.task, self.single, self.validation is None)

    @property
    def single(self) -> bool:
        """Whether one head answers for two classes."""
        return self.network.n_classes == 1 and not self.data.is_multilabel


def _spread(given: T | Sequence[T], n: int, what: str) -> list[T]:
    """One for each network."""
    if not isinstance(given, (list, tuple)):
        return [given] * n  # type: ignore[list-item]
    if len(given) != n:
        raise LogicLensError(f"{what} must be one for all {n} networks or one for each, got {len(given)}.")
    return list(given)


def _alike(models: Sequence[_Model]) -> Iterator[list[_Model]]:
    """The models that can be stacked, build by build."""
    builds: dict[tuple[object, ...], list[_Model]] = {}
    for model in models:
        builds.setdefault(model.build, []).append(model)
    yield from builds.values()


def _train(models: Sequence[_Model]) -> dict[int, TrainResult]:
    """Train models of one build, in as many stacks as their size asks for."""
    first = models[0]
    like, config = first.network.entropy.weight, first.config
    # Rows are put together where they are, and sent to the network's device in one piece.
    here = torch.empty(0, dtype=like.dtype)
    trains = batches([model.data for model in models], here, single_head=first.single)
    helds: Sequence[Batch | None] = [None] * len(models)
    if first.validation is not None:
        helds = batches([model.validation or model.data for model in models], here, single_head=first.single)
    told = [
        Told(
            train,
            held,
            class_weights(model.config.class_weight, model.data, here, single_head=model.single),
            is_boolean=model.data.is_boolean and (model.validation is None or model.validation.is_boolean),
        )
        for train, held, model in zip(trains, helds, models, strict=True)
    ]
    results: dict[int, TrainResult] = {}
    for places in _stacks(told, sum(first.network.hidden) * first.network.n_classes):
        rows = StackedRows.of([[told[place] for place in group] for group in places], first.task, like.device)
        weight = like.new_tensor([[models[place].config.penalty_weight for place in group] for group in places])
        stack = Stack([[models[place].network for place in group] for group in places], rows, config.penalty, weight)
        with threads_for(rows.concepts.shape[1] * stack.flat.numel() // len(places)):
            run = StackedRun(stack, config, chooses=first.validation is not None)
            run.train()
        stack.store(run.best)
        for g, group in enumerate(places):
            for k, place in enumerate(group):
                data = models[place].data
                results[id(models[place])] = TrainResult(
                    run.history(g, k), data.is_boolean, None, len(data), int((told[place].train.total > 0).sum()), ()
                )
    return results


def _stacks(told: Sequence[Told], width: int) -> Iterator[list[list[int]]]:
    """Places of models as `[group][model]`: a group sees the same rows, and a stack is not too large."""
    groups: dict[tuple[int, int], list[int]] = {}
    for place, one in enumerate(told):
        groups.setdefault((id(one.train.concepts), 0 if one.held is None else id(one.held.concepts)), []).append(place)
    even = len({len(group) for group in groups.values()}) == 1
    # Groups of different sizes cannot be one block: each goes by itself.
    for blocks in [list(groups.values())] if even else [[group] for group in groups.values()]:
        columns = max(len(told[group[0]].train) + len(told[group[0]].held or ()) for group in blocks)
        most = max(1, TOGETHER // (columns * width))
        for start in range(0, len(blocks), most):
            some = blocks[start : start + most]
            at_once = max(1, most // len(some))
            for begin in range(0, len(some[0]), at_once):
                yield [group[begin : begin + at_once] for group in some]


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
        self.best_rank = torch.full(stack.shape, -torch.inf, dtype=torch.float64, device=like.device)
        # The steps after which a model was at its best.
        self.best_epoch = torch.zeros(stack.shape, dtype=torch.long, device=like.device)
        # Counts of rows divide to equal shares, class weights do not quite: what differs by rounding is a tie. Shares
        # of rows such as 1/2 or 3/128 lie away from where this rounds.
        self.per_row = 1e6 / stack.rows.whole[..., 1].double()
        self.between = torch.full(stack.shape, 0.137, dtype=torch.float64, device=like.device)
        self.tenth = torch.full(stack.shape, 0.1, dtype=torch.float64, device=like.device)
        self.one = torch.ones(stack.shape, dtype=torch.float64, device=like.device)
        self.running = torch.ones(stack.shape, dtype=torch.bool, device=like.device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.begun = False

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
                # To ask the GPU is to wait for it.
                asked = not on_gpu or epoch % ASKED_EVERY == 0
                if config.patience is not None and asked and not bool(self.running.any()):
                    break
                if progress.shown and asked:
                    progress.update(epoch + 1, f"loss {float(self.curves[epoch, 0].mean()):.4f}")
            else:
                self.look()
        # Where nothing could be chosen, because nothing that counts was there to choose by, the last epoch stays.
        for best, now in zip(self.best_views, self.stack.views, strict=True):
            unchosen = (self.best_rank == -torch.inf).view(*self.best_rank.shape, *[1] * (now.ndim - 2))
            best.copy_(torch.where(unchosen, now, best))
        self.best_epoch[self.best_rank == -torch.inf] = config.epochs
        self.curves[:, 2:4] /= self.stack.rows.whole.movedim(-1, 0)
        # What is asked of each model from here on is asked of the CPU: a GPU would be waited for each time.
        self.curves, self.best_epoch, self.running = self.curves.cpu(), self.best_epoch.cpu() - 1, self.running.cpu()
        self._check()

    def one_epoch(self) -> None:
        """One epoch."""
        self.look()
        self.step()

    def _capture(self) -> None:
        """Record an epoch as a graph of GPU operations: it is then replayed without a launch for each of them."""
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.one_epoch()

    def look(self) -> None:
        """Forward, loss and accuracy on all rows; weights are kept where they are the best so far."""
        loss, right, self.wrong = self.stack.judge(self.stack.forward())
        # Before the first step there is no epoch to choose.
        if self.chooses and self.begun:
            self._remember(loss[..., 1], right[..., 1])
        told = torch.stack([loss[..., 0], loss[..., 1], right[..., 0], right[..., 1], self.stack.penalties()])
        self.curves.index_copy_(0, self.epoch, told.unsqueeze(0))

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
        self.epoch += 1
        self.begun = True

    def _remember(self, loss: Tensor, right: Tensor) -> None:
        """Keep the weights where this epoch is the best: higher accuracy, then lower loss, then earlier."""
        # The loss, brought below 1, decides behind the last digit that counts.
        rank = torch.addcmul(self.between, right, self.per_row).round_().addcdiv_(self.tenth, loss + self.one)
        better = rank > self.best_rank
        if self.config.patience is not None:
            better &= self.running
        if better.is_cuda:
            torch.where(better, rank, self.best_rank, out=self.best_rank)
            torch.where(better, self.epoch, self.best_epoch, out=self.best_epoch)
            torch.where(better.view(-1)[self.owner], self.stack.flat, self.best, out=self.best)
        elif len(places := better.view(-1).nonzero()[:, 0]):
            # To look which models are better costs nothing here, and copying these alone is less.
            self.best_rank.view(-1)[places] = rank.view(-1)[places]
            self.best_epoch.view(-1)[places] = self.epoch
            for best, now in zip(self.best_views, self.stack.views, strict=True):
                best.flatten(0, 1)[places] = now.flatten(0, 1)[places]
        if self.config.patience is not None:
            self.running &= self.epoch - self.best_epoch < self.config.patience

    def history(self, group: int, model: int) -> History:
        """The curves of one model, as far as it would have been trained alone."""
        curves = self.curves[:, :, group, model].double().numpy()
        best, n = int(self.best_epoch[group, model]), self._n_epochs(group, model)
        loss, _, right, _, penalty = curves[:n].T
        _, held_loss, _, held_right, _ = curves[1 : n + 1].T
        if not self.chooses:
            held_loss, held_right = np.full((2, n), np.nan)
        return History(loss, penalty, right, held_loss, held_right, best)

    def _check(self) -> None:
        """Refuse what came out of no training, for each model over the epochs that are its own."""
        loss = self.curves[: int(self.epoch), 0]
        now, best = (self.stack.split(weights.cpu()) for weights in (self.stack.flat, self.best))
        for g, k in product(*map(range, self.stack.shape)):
            own = loss[: self._n_epochs(g, k), g, k]
            wrong = (~own.isfinite()).nonzero()
            if len(wrong):
                first = int(wrong[0])
                raise LogicLensError(f"the loss became {float(own[first])} in epoch {first}: lower the learning_rate.")
            # The loss is taken before a step: only the weights say what the last step did.
            last = [view[g, k] for view in (now if self.running[g, k] else best)]
            if not all(bool(weights.isfinite().all()) for weights in last):
                raise LogicLensError("the weights became infinite or NaN: lower the learning_rate.")

    def _n_epochs(self, group: int, model: int) -> int:
        """How many epochs a model would have been trained alone."""
        epochs, patience = self.config.epochs, self.config.patience
        if patience is None or not self.chooses:
            return epochs
        return min(epochs, int(self.best_epoch[group, model]) + patience + 1)
