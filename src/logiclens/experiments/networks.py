"""The entropy networks of a comparison: those of all folds, or of all settings of a grid, are trained in one pass.

Several methods explain the same network, so what was trained is kept for the next run. The time of a run counts its
share of the pass, whoever happened to begin it.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.experiments.folddata import FoldData
from logiclens.nn.encoders import device_of
from logiclens.nn.networks import EntropyNet
from logiclens.train.batched import fit_many
from logiclens.train.config import TrainConfig

SMALL = 1 << 24
"""Folds are trained together where all of them have at most so many outputs of first layers."""
KEPT = 64
"""Networks that are kept."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network, its share of the time that training took, and how much of that time was spent just now."""

    network: EntropyNet
    share: tuple[float, float]
    spent: tuple[float, float]

    @property
    def elsewhere(self) -> tuple[float, float]:
        """Seconds and CPU seconds to add to what a clock shows."""
        return self.share[0] - self.spent[0], self.share[1] - self.spent[1]


@dataclass(frozen=True, eq=False)
class _Kept:
    network: EntropyNet
    share: tuple[float, float]
    # Keeps the tables alive that the key names by their identity.
    fold: FoldData


_kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()


def trained(fold: FoldData, *, soft: bool = False) -> TrainedNetwork:
    """The network of a fold, trained as the paper's text says; on the GPU if there is one.

    With `soft` it sees the values that an encoder gave, instead of these cut at 0.5.
    """
    spent = (0.0, 0.0)
    if _key(fold, soft) not in _kept:
        together = _together(fold)
        try:
            spent = _train(together, soft)
        except LogicLensError:
            # One of them cannot be trained: if it is this one, it says so by itself.
            if len(together) == 1:
                raise
            spent = _train([fold], soft)
    found = _kept[_key(fold, soft)]
    return TrainedNetwork(copy.deepcopy(found.network), found.share, spent)


def forget() -> None:
    """Keep no network, so that the next run trains its own."""
    _kept.clear()


def _key(fold: FoldData, soft: bool) -> tuple[object, ...]:
    return id(fold.train), id(fold.validation), fold.task.network, fold.seed, soft


def _together(fold: FoldData) -> Sequence[FoldData]:
    """The folds to train in one pass with this one: all that belong with it, if they are small."""
    settings = fold.task.network
    folds = fold.siblings()
    width = sum(settings.hidden) * len(fold.train.class_names)
    if sum(len(one.train) + len(one.validation) for one in folds) * width > SMALL:
        return [fold]
    # A fold whose rows were changed does not belong with those it was made from.
    return folds if any(_key(one, False) == _key(fold, False) for one in folds) else [fold]


def _train(folds: Sequence[FoldData], soft: bool) -> tuple[float, float]:
    """Train and keep the networks of folds; returns the time that took."""
    wall, cpu = time.perf_counter(), time.process_time()
    cut: dict[int, ConceptTable] = {}

    def seen(table: ConceptTable) -> ConceptTable:
        return table if soft else cut.setdefault(id(table), table.hard())

    networks = [_fresh(fold) for fold in folds]
    configs = [
        TrainConfig(epochs=one.epochs, penalty_weight=one.penalty_weight, progress=False)
        for one in (fold.task.network for fold in folds)
    ]
    with warnings.catch_warnings():
        # A concept that is constant on the training part of a fold is nothing to act upon.
        warnings.simplefilter("ignore", LogicLensWarning)
        fit_many(
            networks,
            [seen(fold.train) for fold in folds],
            configs,
            validation=[seen(fold.validation) for fold in folds],
        )
    spent = time.perf_counter() - wall, time.process_time() - cpu
    share = spent[0] / len(folds), spent[1] / len(folds)
    for fold, network in zip(folds, networks, strict=True):
        _kept[_key(fold, soft)] = _Kept(network, share, fold)
    while len(_kept) > max(KEPT, len(folds)):
        _kept.popitem(last=False)
    return spent


def _fresh(fold: FoldData) -> EntropyNet:
    settings = fold.task.network
    return EntropyNet(
        fold.train.n_concepts,
        len(fold.train.class_names),
        settings.hidden,
        temperature=settings.temperature,
        generator=torch.Generator().manual_seed(fold.seed),
    ).to(device_of(None))
