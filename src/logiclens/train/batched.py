"""Many models in one pass: folds, seeds, settings and resamples stacked as extra heads over the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.nn.networks import EntropyNet
from logiclens.train.checks import checked_data
from logiclens.train.config import TrainConfig
from logiclens.train.history import TrainResult
from logiclens.train.objective import Batch, Task, class_weights, task_of
from logiclens.train.stacked import Stack, stackable
from logiclens.train.stacked_rows import StackedRows, Told, batches
from logiclens.train.stacked_run import StackedRun
from logiclens.train.threads import threads_for

T = TypeVar("T")

TOGETHER = 1 << 24
"""The most outputs of first layers that are held at a time: more models than that go one stack after another."""


def fit_many(
    networks: Sequence[EntropyNet],
    data: ConceptTable | Sequence[ConceptTable],
    config: TrainConfig | Sequence[TrainConfig] | None = None,
    *,
    validation: ConceptTable | Sequence[ConceptTable | None] | None = None,
    device: torch.device | str | None = None,
) -> tuple[TrainResult, ...]:
    """Train networks in place, each as `fit` would alone, on the full batch, with early stopping for each.

    Args:
        networks: untied heads; those of one build are trained in one pass, whatever their temperature.
        data: the training rows of all, or of each. Models that are given the same table share its rows.
        config: how to train all, or each.
        validation: the rows that choose the epoch, of all or of each.
        device: where to train, by default where the networks are; they stay there in any case.
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
        results.update(_train(alike, torch.device(device or alike[0].network.entropy.weight.device)))
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


def _train(models: Sequence[_Model], device: torch.device) -> dict[int, TrainResult]:
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
        heads = [[models[place].network for place in group] for group in places]
        n_rows = max(len(one.train) + len(one.held or ()) for one in (told[group[0]] for group in places))
        n_weights = sum(parameter.numel() for parameter in first.network.parameters()) * len(places[0])
        with threads_for(n_rows * n_weights):
            rows = StackedRows.of([[told[place] for place in group] for group in places], first.task, device)
            weight = [[models[place].config.penalty_weight for place in group] for group in places]
            run = StackedRun(Stack(heads, rows, config.penalty, weight), config, chooses=first.validation is not None)
            run.train()
        run.stack.store(run.best)
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
