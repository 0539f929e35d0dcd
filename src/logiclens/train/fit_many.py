"""Training of many networks in one pass: folds, seeds and settings as extra heads of one stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.adamw import adamw

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.counted_rows import CountedRows, distinct
from logiclens.nn.layers import EntropyNet
from logiclens.nn.stacked import Stack, StackedRows, stackable
from logiclens.progress import Progress, working
from logiclens.train.config import STEP, History, TrainConfig, TrainResult, checked_config, checked_data
from logiclens.train.loss import Batch, ClassWeight, Task, as_tensor, class_weights, task_of
from logiclens.train.threads import threads_for

LARGE = 1 << 20
"""Number of cells above which counts are built on the training device; smaller ones are copied there at the end."""
WORTH_SHARING = 1.5
"""Tables share one matrix of rows if together they have at most this many times the rows of the largest."""


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The data of one model: training rows, validation rows, and class weights."""

    train: Batch
    held: Batch | None
    class_weight: ClassWeight | None = None
    is_boolean: bool = False

    def placed(self) -> tuple[NDArray[np.intp], int]:
        """Return the column of each validation row, and the number of columns; equal Boolean rows share a column."""
        n_train, n_held = len(self.train), len(self.held or ())
        if self.held is None or not self.is_boolean:
            return np.arange(n_train, n_train + n_held), n_train + n_held
        rows = torch.cat([self.train.concepts, self.held.concepts]).numpy() > 0
        first, group = distinct(rows)
        # A validation row that equals a training row takes its column; other validation rows follow in order.
        new = np.flatnonzero(first >= n_train)
        column = first.copy()
        column[new] = n_train + np.arange(len(new))
        return column[group[n_train:]], n_train + len(new)

    def to(self, device: torch.device) -> ModelRows:
        """Return a copy on a device."""
        held = None if self.held is None else self.held.to(device)
        weight = None if self.class_weight is None else self.class_weight.to(device)
        return ModelRows(self.train.to(device), held, weight, self.is_boolean)


def stack_rows(groups: Sequence[Sequence[ModelRows]], task: Task, device: torch.device) -> StackedRows:
    """Lay out the rows of `[group][model]` on a device; the models of a group have the same rows.

    Args:
        groups: the data of each model.
        task: `"multiclass"` or `"multilabel"`.
        device: where to train.
    """
    placed = [group[0].placed() for group in groups]
    # Models with the same data are laid out once.
    kinds: dict[tuple[int, ...], tuple[int, int, ModelRows]] = {}
    kind_of = []
    for g, group in enumerate(groups):
        for model in group:
            key = (g, id(model.train), id(model.held), id(model.class_weight))
            kind_of.append(kinds.setdefault(key, (len(kinds), g, model))[0])
    like = groups[0][0].train
    here = device if like.counts.numel() > LARGE else like.counts.device
    n_train = max(len(group[0].train) for group in groups)
    n_columns = max(n_train + n - len(group[0].train) for group, (_, n) in zip(groups, placed, strict=True))
    concepts = like.concepts.new_zeros(len(groups), n_columns, like.concepts.shape[1], device=here)
    whole = like.counts.new_ones(len(kinds), 2, device=here)
    # Yes in the loss, yes in the accuracy, no in the loss, no in the accuracy.
    shape = (len(kinds), 2, like.counts.shape[1], n_columns)
    parts = [like.counts.new_zeros(shape, device=here) for _ in range(2 if task == "multiclass" else 4)]
    for kind, g, model in kinds.values():
        model = model.to(here)
        n_own, (held_at, _) = len(model.train), placed[g]
        # Columns after the training rows of a group start after those of the longest group.
        held_at = held_at + (held_at >= n_own) * (n_train - n_own)
        for side, batch, at in ((0, model.train, np.arange(n_own)), (1, model.held, held_at)):
            if batch is None:
                continue
            columns = torch.from_numpy(at).to(here)
            concepts[g, columns] = batch.concepts
            whole[kind, side], *shares = _shares(batch, model.class_weight, task, learned=side == 0)
            for part, counts in zip(parts, shares, strict=True):
                part[kind, side, :, columns] = counts.t()
    spread = torch.tensor(kind_of, device=device)
    models = (len(groups), len(groups[0]))
    whole, *parts = (
        (part if len(kinds) == len(kind_of) else part[spread]).view(*models, *part.shape[1:])
        for part in (part.to(device) for part in (whole, *parts))
    )
    return StackedRows(concepts.to(device), n_train, whole, *parts)


def _shares(batch: Batch, weighed: ClassWeight | None, task: Task, *, learned: bool) -> list[Tensor]:
    """Return the total weight in the accuracy of one model, and the weights of each class and row.

    `learned` says whether the rows are training rows. The order of the weights is that of `StackedRows`.
    """
    yes, no = batch.counts, batch.total.unsqueeze(-1) - batch.counts
    yes_loss, no_loss = (yes, no) if weighed is None else (yes * weighed.yes, no * weighed.no)
    # Class weights apply to the choice of the epoch, but not to the reported training accuracy.
    yes_right, no_right = (yes, no) if learned else (yes_loss, no_loss)
    if task == "multiclass":
        return [yes_right.sum(), yes_loss / yes_loss.sum(), yes_right]
    n_labels = batch.total.sum() * yes.shape[1]
    return [(yes_right + no_right).sum(), yes_loss / n_labels, yes_right, no_loss / n_labels, no_right]


def batches(tables: Sequence[ConceptTable], like: Tensor, *, single_head: bool) -> list[Batch]:
    """Return a batch for each table; Boolean tables with most rows in common share one matrix of rows.

    Two batches have the same rows if their `concepts` are the same object.
    """
    unique = list({id(table): table for table in tables}.values())
    made: dict[int, Batch] = {}
    if len(unique) > 1 and all(table.is_boolean for table in unique):
        made = _laid_over(unique, like, single_head)
    for table in unique:
        if id(table) not in made:
            made[id(table)] = Batch.of(table, like, counted=table.is_boolean, single_head=single_head)
    return [made[id(table)] for table in tables]


def _laid_over(tables: Sequence[ConceptTable], like: Tensor, single_head: bool) -> dict[int, Batch]:
    """Return batches over the union of all rows; none if the union is much larger than the largest table."""
    counted = [table.counted() for table in tables]
    bits = np.concatenate([rows.bits() for rows in counted])
    first, place = distinct(bits)
    if len(first) > WORTH_SHARING * max(map(len, counted)):
        return {}
    concepts = as_tensor(bits[first], like)
    ends = np.cumsum([len(rows) for rows in counted])
    return {
        id(table): _placed(concepts, rows, place[end - len(rows) : end], like, single_head)
        for table, rows, end in zip(tables, counted, ends, strict=True)
    }


def _placed(concepts: Tensor, rows: CountedRows, place: np.ndarray, like: Tensor, single_head: bool) -> Batch:
    counts, total = np.zeros((len(concepts), rows.counts.shape[1])), np.zeros(len(concepts))
    counts[place], total[place] = rows.counts, rows.total
    yes, whole = as_tensor(counts, like), as_tensor(total, like)
    return Batch(concepts, yes[:, 1:2] if single_head else yes, whole)


class BestEpochs:
    """The best epoch of every model so far: higher accuracy, then lower loss, then earlier.

    Args:
        whole: total weight of the validation rows of each model, by which `right` is divided.
        patience: number of epochs without improvement after which a model stops; None for never.
    """

    def __init__(self, whole: Float[NDArray[np.floating], "group model"], patience: int | None) -> None:
        """Start without a best epoch."""
        # Class weights give shares with rounding errors: shares that differ only by rounding are a tie.
        with np.errstate(divide="ignore"):
            self._per_row = 1e6 / whole.astype(np.float64)
        self.patience = patience
        self.rank = np.full(whole.shape, -np.inf)
        self.steps = np.ones(whole.shape, dtype=np.int64)
        """Number of steps after which each model was at its best."""
        self.running = np.ones(whole.shape, dtype=np.bool_)

    @property
    def is_chosen(self) -> Bool[NDArray[np.bool_], "group model"]:
        """Whether each model has a best epoch; it has none if its validation rows have no weight."""
        chosen: NDArray[np.bool_] = self.rank > -np.inf
        return chosen

    def update(
        self,
        first: int,
        loss: Float[NDArray[np.floating], "epoch group model"],
        right: Float[NDArray[np.floating], "epoch group model"],
    ) -> tuple[Bool[NDArray[np.bool_], "group model"], Int[NDArray[np.intp], "group model"]]:
        """Take some epochs into account; return which models improved, and at which of these epochs.

        A model that stops in between ignores the epochs after that.

        Args:
            first: number of steps before the first of these epochs.
            loss: validation loss of each epoch.
            right: correct weight of each epoch on the validation rows.
        """
        # The offset keeps common shares such as 1/2 or 3/128 away from rounding boundaries. The loss, mapped to less
        # than 1, decides between equal shares.
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


WARM_UP = 1
"""Number of epochs on a GPU before one is recorded as a graph."""
CHECK_EVERY = 25
"""Number of epochs on a GPU between two checks whether all models have stopped."""
KEPT = 1 << 26
"""Largest number of weights, over models and epochs, that a GPU keeps before the best epochs are chosen."""


class StackedRun:
    """One training run of a stack: curves, best epoch and best weights of every model.

    One forward pass covers all rows: it gives the training loss before a step and the validation loss after the
    previous step.

    Args:
        stack: the models and their rows.
        config: settings that all models share.
        chooses: whether validation rows choose the epoch.
    """

    def __init__(self, stack: Stack, config: TrainConfig, *, chooses: bool) -> None:
        """Start from the current weights of the stack."""
        self.stack, self.config, self.chooses = stack, config, chooses
        like = stack.flat
        self.moments = torch.zeros_like(like), torch.zeros_like(like)
        self.steps = torch.zeros((), dtype=torch.float32, device=like.device)
        self.epoch = torch.zeros(1, dtype=torch.long, device=like.device)
        # Training and validation loss, training and validation accuracy, penalty: before each step and after the last.
        self.curves = like.new_full((config.epochs + 1, 5, *stack.shape), torch.nan)
        self.best = like.clone()
        self.best_views = stack.split(self.best)
        # The model of each weight.
        self.owner = torch.zeros(len(like), dtype=torch.int32, device=like.device)
        places = torch.arange(stack.shape[0] * stack.shape[1], dtype=torch.int32, device=like.device)
        for view in stack.split(self.owner):
            view.copy_(places.view(*stack.shape, *[1] * (view.ndim - 2)))
        self.best_epochs = BestEpochs(stack.rows.whole[..., 1].cpu().numpy(), config.patience)
        # Number of evaluated epochs, and how many of these `best_epochs` has seen.
        self.n_evaluated = self.n_chosen = 0
        # A GPU keeps the weights of several epochs and chooses between them at once, to avoid synchronisation.
        n_kept = min(config.epochs + 1, max(1, KEPT // len(like))) if like.is_cuda and chooses else 0
        self.kept = like.new_empty(n_kept if config.patience is None else min(n_kept, CHECK_EVERY), len(like))
        self.slot = torch.zeros(1, dtype=torch.long, device=like.device)
        self.graph: torch.cuda.CUDAGraph | None = None

    def train(self) -> None:
        """Train for all epochs, or until every model has stopped."""
        flat = self.stack.flat
        # CUDA records graphs on the current device.
        with torch.no_grad(), torch.cuda.device(flat.device) if flat.is_cuda else nullcontext():
            self._train()

    def _train(self) -> None:
        config = self.config
        on_gpu = self.stack.flat.is_cuda
        with Progress(config.epochs, STEP) as progress:
            for epoch in range(config.epochs):
                if on_gpu and epoch == WARM_UP < config.epochs - 1:
                    self._capture()
                self.graph.replay() if self.graph is not None else self.one_epoch()
                self.n_evaluated = epoch + 1
                if self.n_evaluated - self.n_chosen == len(self.kept):
                    self._choose()
                if not self.best_epochs.running.any():
                    break
                if progress.shown and (not on_gpu or epoch % CHECK_EVERY == 0):
                    if on_gpu:
                        # Otherwise the count would run ahead of the device.
                        torch.cuda.synchronize(self.stack.flat.device)
                    progress.update(epoch + 1, partial(self._loss, epoch))
            else:
                self.evaluate()
                self.n_evaluated += 1
                if len(self.kept):
                    self._choose()
        # Models without a best epoch, because their validation rows have no weight, keep the last epoch.
        unchosen = ~self.best_epochs.is_chosen
        if unchosen.any():
            self._take(unchosen, self.stack.flat)
            self.best_epochs.steps[unchosen] = config.epochs
        self.curves[:, 2:4] /= self.stack.rows.whole.movedim(-1, 0)
        self.curves[:, 4] *= self.stack.penalised
        # Copy all curves to the CPU at once: reading single values from a GPU would synchronise each time.
        self.curves = self.curves.cpu()
        self._check()

    def _loss(self, epoch: int) -> str:
        return f"loss {float(self.curves[epoch, 0].mean()):.4f}"

    def one_epoch(self) -> None:
        """Train for one epoch."""
        self.evaluate()
        self.step()

    def _capture(self) -> None:
        """Record an epoch as a CUDA graph, which replays without launching each operation."""
        self.graph = torch.cuda.CUDAGraph()
        # `torch.cuda.graph` would first release all cached memory, which the next run must allocate again.
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self.graph.capture_begin(capture_error_mode="thread_local")
            self.one_epoch()
            self.graph.capture_end()
        torch.cuda.current_stream().wait_stream(aside)

    def evaluate(self) -> None:
        """Evaluate all rows, record the curves, and keep the weights of models at their best so far."""
        loss, right, self.wrong = self.stack.judge(self.stack.forward())
        values = torch.stack([loss[..., 0], loss[..., 1], right[..., 0], right[..., 1], self.stack.penalties()])
        self.curves.index_copy_(0, self.epoch, values.unsqueeze(0))
        if len(self.kept):
            self.kept.index_copy_(0, self.slot, self.stack.flat.unsqueeze(0))
        elif self.chooses and not values.is_cuda:
            self._choose_now()

    def step(self) -> None:
        """Take one optimiser step from the weights that `evaluate` saw."""
        self.stack.backward(self.wrong)
        config, (first, second) = self.config, self.moments
        # Call the function behind torch.optim.AdamW, because the bookkeeping of the class costs more than the step.
        adamw(
            [self.stack.flat], [self.stack.gradient], [first], [second], [], [self.steps],
            fused=True, amsgrad=False, beta1=0.9, beta2=0.999, lr=config.learning_rate,
            weight_decay=config.weight_decay, eps=1e-8, maximize=False,
        )  # fmt: skip
        torch._foreach_add_([self.epoch, self.slot], 1)

    def _choose_now(self) -> None:
        """Update the best epochs with the current one."""
        steps = int(self.epoch)
        # There is no epoch before the first step.
        if steps > 0:
            values = self.curves[steps].numpy()
            improved, _ = self.best_epochs.update(steps, values[None, 1], values[None, 3])
            self._take(improved, self.stack.flat)

    def _choose(self) -> None:
        """Update the best epochs with all kept epochs."""
        first = max(self.n_chosen, 1)
        if first < self.n_evaluated:
            values = self.curves[first : self.n_evaluated].cpu().numpy()
            improved, at = self.best_epochs.update(first, values[:, 1], values[:, 3])
            slots = torch.from_numpy(at + first - self.n_chosen).to(self.slot.device).view(-1)
            self._take(improved, self.kept.gather(0, slots[self.owner].unsqueeze(0))[0])
        self.n_chosen = self.n_evaluated
        self.slot.zero_()

    def _take(self, which: NDArray[np.bool_], weights: Tensor) -> None:
        """Take weights as the best ones of some models."""
        if weights.is_cuda:
            mask = torch.from_numpy(which).to(weights.device).view(-1)
            torch.where(mask[self.owner], weights, self.best, out=self.best)
            return
        # Copy only the models that improved.
        places = torch.from_numpy(np.flatnonzero(which))
        if len(places):
            for best, now in zip(self.best_views, self.stack.split(weights), strict=True):
                best.flatten(0, 1)[places] = now.flatten(0, 1)[places]

    def history(self, group: int, model: int) -> History:
        """Return the curves of one model, up to the epoch at which it would have stopped alone."""
        curves = self.curves[:, :, group, model].double().numpy()
        best, n = int(self.best_epochs.steps[group, model]) - 1, self._n_epochs(group, model)
        loss, _, right, _, penalty = curves[:n].T
        _, held_loss, _, held_right, _ = curves[1 : n + 1].T
        if not self.chooses:
            held_loss, held_right = np.full((2, n), np.nan)
        return History(loss, penalty, right, held_loss, held_right, best)

    def _check(self) -> None:
        """Raise an error if the loss or the weights of a model are not finite before it stopped."""
        loss = self.curves[: int(self.epoch), 0]
        now, best = (self.stack.split(weights.cpu()) for weights in (self.stack.flat, self.best))
        for epoch, g, k in (~loss.isfinite()).nonzero().tolist():
            if epoch < self._n_epochs(g, k):
                what = float(loss[epoch, g, k])
                raise LogicLensError(f"the loss became {what} in epoch {epoch}: lower the learning_rate.")
        # The loss is computed before a step: only the weights show the effect of the last step.
        of_running, of_stopped = (
            torch.stack([view.isfinite().flatten(2).all(dim=2) for view in views]).all(dim=0) for views in (now, best)
        )
        if not torch.where(torch.from_numpy(self.best_epochs.running), of_running, of_stopped).all():
            raise LogicLensError("the weights became infinite or NaN: lower the learning_rate.")

    def _n_epochs(self, group: int, model: int) -> int:
        """Return the number of epochs for which a model would have been trained alone."""
        epochs, patience = self.config.epochs, self.config.patience
        if patience is None or not self.chooses:
            return epochs
        return min(epochs, int(self.best_epochs.steps[group, model]) + patience)


T = TypeVar("T")

TOGETHER = 1 << 24
"""Largest number of hidden outputs in one stack; more models are trained in several stacks."""


def fit_many(
    networks: Sequence[EntropyNet],
    data: ConceptTable | Sequence[ConceptTable],
    config: TrainConfig | Sequence[TrainConfig] | None = None,
    *,
    validation: ConceptTable | Sequence[ConceptTable | None] | None = None,
    device: torch.device | str | None = None,
) -> tuple[TrainResult, ...]:
    """Train networks in place in one pass, each with the result that `fit` would give, on the full batch.

    Args:
        networks: networks with untied heads (`shared_tail=False`). Networks of the same sizes are trained in one pass,
            also if their temperatures differ.
        data: the training rows, one table for all networks or one for each. Networks with the same table share its
            rows.
        config: settings for all networks or for each; `TrainConfig()` by default.
        validation: rows that choose the epoch, for all networks or for each; none by default.
        device: where to train; by default the device of the networks. The networks stay on their device.

    Returns:
        The result of each network, in order.

    Raises:
        LogicLensError: if a network cannot be trained in this way, or if its rows do not fit.
    """
    n = len(networks)
    tables, configs = _spread(data, n, "data"), [checked_config(one) for one in _spread(config, n, "config")]
    held = _spread(validation, n, "validation")
    for network, one in zip(networks, configs, strict=True):
        if not stackable(network) or one.batch_size is not None:
            raise LogicLensError(
                "fit_many trains EntropyNets with untied heads and ReLU or LeakyReLU on the full batch: train this "
                "network with fit() instead."
            )
    if len({id(network) for network in networks}) < n:
        raise LogicLensError("networks contains the same network twice: pass each network once.")
    # Check and warn once for models that share their rows.
    pairs = {(id(table), id(rows)): (table, rows) for table, rows in zip(tables, held, strict=True)}
    notes = {key: checked_data(*pair) for key, pair in pairs.items()}
    for network, table in zip(networks, tables, strict=True):
        if network.n_concepts != table.n_concepts:
            raise LogicLensError(f"this network takes {network.n_concepts} concepts, got {table.n_concepts}.")
    models = [_Model(*one) for one in zip(networks, tables, held, configs, strict=True)]
    results: dict[int, TrainResult] = {}
    groups = list(_alike(models))
    with working(configs[0].progress if configs else None), Progress(len(groups), STEP) as progress:
        for place, alike in enumerate(groups):
            results.update(_train(alike, torch.device(device or alike[0].network.entropy.weight.device)))
            progress.update(place + 1)
    return tuple(replace(results[id(model)], notes=notes[id(model.data), id(model.validation)]) for model in models)


@dataclass(frozen=True, eq=False)
class _Model:
    """One network with its data and settings."""

    network: EntropyNet
    data: ConceptTable
    validation: ConceptTable | None
    config: TrainConfig

    @property
    def task(self) -> Task:
        """Whether the heads share one answer per row or have one each."""
        return task_of(self.network.n_classes, self.data)

    @property
    def build(self) -> tuple[object, ...]:
        """The properties that models of one stack must share."""
        network, config, weight = self.network, self.config, self.network.entropy.weight
        fixed = (network.n_concepts, network.n_classes, network.hidden, network.activation, weight.dtype, weight.device)
        how = (config.epochs, config.learning_rate, config.weight_decay, config.penalty, config.patience)
        return (*fixed, *how, self.task, self.single, self.validation is None)

    @property
    def single(self) -> bool:
        """Whether one head answers for two classes."""
        return self.network.n_classes == 1 and not self.data.is_multilabel


def _spread(given: T | Sequence[T], n: int, what: str) -> list[T]:
    """Return a list with one entry for each network."""
    if not isinstance(given, (list, tuple)):
        return [given] * n  # type: ignore[list-item]
    if len(given) != n:
        raise LogicLensError(f"{what} must be one value for all {n} networks or one for each, got {len(given)}.")
    return list(given)


def _alike(models: Sequence[_Model]) -> Iterator[list[_Model]]:
    """Yield the models that can be trained in one stack."""
    builds: dict[tuple[object, ...], list[_Model]] = {}
    for model in models:
        builds.setdefault(model.build, []).append(model)
    yield from builds.values()


def _train(models: Sequence[_Model], device: torch.device) -> dict[int, TrainResult]:
    """Train models of one build, in as many stacks as their size requires."""
    first = models[0]
    like = first.network.entropy.weight
    # Lay out rows on the CPU and copy them to the training device at once.
    here = torch.empty(0, dtype=like.dtype)
    trains = batches([model.data for model in models], here, single_head=first.single)
    helds: Sequence[Batch | None] = [None] * len(models)
    if first.validation is not None:
        helds = batches([model.validation or model.data for model in models], here, single_head=first.single)
    model_rows = [
        ModelRows(
            train,
            held,
            class_weights(model.config.class_weight, model.data, here, single_head=model.single),
            is_boolean=model.data.is_boolean and (model.validation is None or model.validation.is_boolean),
        )
        for train, held, model in zip(trains, helds, models, strict=True)
    ]
    results: dict[int, TrainResult] = {}
    stacks = list(_stacks(model_rows, sum(first.network.hidden) * first.network.n_classes))
    with Progress(len(stacks), STEP) as progress:
        for place, places in enumerate(stacks):
            results.update(_train_stack(models, model_rows, places, device))
            progress.update(place + 1)
    return results


def _train_stack(
    models: Sequence[_Model], model_rows: Sequence[ModelRows], places: list[list[int]], device: torch.device
) -> dict[int, TrainResult]:
    """Train the models at some places, `[group][model]`, as one stack."""
    first, config = models[0], models[0].config
    results: dict[int, TrainResult] = {}
    heads = [[models[place].network for place in group] for group in places]
    n_rows = max(len(one.train) + len(one.held or ()) for one in (model_rows[group[0]] for group in places))
    n_weights = sum(parameter.numel() for parameter in first.network.parameters()) * len(places[0])
    with threads_for(n_rows * n_weights):
        rows = stack_rows([[model_rows[place] for place in group] for group in places], first.task, device)
        weight = [[float(models[place].config.penalty_weight) for place in group] for group in places]
        run = StackedRun(Stack(heads, rows, config.penalty, weight), config, chooses=first.validation is not None)
        run.train()
    run.stack.store(run.best)
    for g, group in enumerate(places):
        for k, place in enumerate(group):
            data = models[place].data
            results[id(models[place])] = TrainResult(
                run.history(g, k),
                data.is_boolean,
                None,
                len(data),
                int((model_rows[place].train.total > 0).sum()),
                (),
            )
    return results


def _stacks(model_rows: Sequence[ModelRows], width: int) -> Iterator[list[list[int]]]:
    """Yield the places of models as `[group][model]`: a group has the same rows, and no stack is too large."""
    groups: dict[tuple[int, int], list[int]] = {}
    for place, one in enumerate(model_rows):
        groups.setdefault((id(one.train.concepts), 0 if one.held is None else id(one.held.concepts)), []).append(place)
    even = len({len(group) for group in groups.values()}) == 1
    # Groups of different sizes cannot form one block: each is a stack of its own.
    for blocks in [list(groups.values())] if even else [[group] for group in groups.values()]:
        columns = max(len(model_rows[group[0]].train) + len(model_rows[group[0]].held or ()) for group in blocks)
        most = max(1, TOGETHER // (columns * width))
        for start in range(0, len(blocks), most):
            some = blocks[start : start + most]
            at_once = max(1, most // len(some))
            for begin in range(0, len(some[0]), at_once):
                yield [group[begin : begin + at_once] for group in some]
