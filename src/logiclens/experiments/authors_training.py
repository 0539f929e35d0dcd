"""Training as the authors' scripts train, for comparison only: our own training is `logiclens.train`.

What differs: smaller first weights, LeakyReLU, layers behind the first that all classes share, batches in the order of
the rows, and the last epoch is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.nn.encoders import device_of
from logiclens.nn.functional import entropy_logic_loss
from logiclens.nn.networks import EntropyNet
from logiclens.train.threads import threads_for

LEARNING_RATE = 1e-2
WEIGHT_DECAY = 1e-2
ENCODER_HIDDEN, ENCODER_TEMPERATURE = (100, 50), 5_000.0
"""Of the first network of a cascade."""


def train_as_authors(
    train: ConceptTable,
    *,
    hidden: Sequence[int],
    temperature: float,
    penalty_weight: float,
    epochs: int,
    batch_size: int | None,
    seed: int,
) -> EntropyNet:
    """A network trained on rows with one class each, soft or Boolean, every row counting once.

    `batch_size` is None for the full batch; the last batch may be smaller.
    """
    labels = single_labels(train)
    if epochs < 1 or (batch_size is not None and batch_size < 1):
        raise LogicLensError(f"epochs and batch_size must be at least 1, got {epochs} and {batch_size}.")
    network = untrained(
        train.n_concepts, len(train.class_names), hidden, temperature=temperature, generator=_seeded(seed)
    )
    concepts = torch.tensor(np.array(train.values), dtype=torch.float32)
    answers = torch.tensor(np.array(labels))
    at_a_time = len(train) if batch_size is None else min(batch_size, len(train))
    batches = list(zip(torch.split(concepts, at_a_time), torch.split(answers, at_a_time), strict=True))
    with threads_for(at_a_time * sum(parameter.numel() for parameter in network.parameters())):
        _train(network, batches, penalty_weight, epochs)
    return network


def encoder_as_authors(
    inputs: NDArray[np.float32], concepts: NDArray[np.float32], *, epochs: int, seed: int
) -> EntropyNet:
    """Their first network of a cascade (V-Dem): from standardised inputs to concepts, two unshuffled batches a pass."""
    network = untrained(
        inputs.shape[1], concepts.shape[1], ENCODER_HIDDEN, temperature=ENCODER_TEMPERATURE, generator=_seeded(seed)
    )
    at_a_time = math.ceil(len(inputs) / 2)
    pieces = (torch.split(torch.tensor(array), at_a_time) for array in (inputs, concepts))
    batches = list(zip(*pieces, strict=True))
    with threads_for(at_a_time * sum(parameter.numel() for parameter in network.parameters())):
        _train(network, batches, 0.0, epochs)
    return network


def untrained(
    n_concepts: int,
    n_classes: int,
    hidden: Sequence[int],
    *,
    temperature: float,
    generator: torch.Generator | None = None,
) -> EntropyNet:
    """The authors' network before training.

    Their rule of drawing weights takes all of the entropy layer's last two axes for its fan-in, so that the bound is
    1/√(width · concepts), for the bias too; the layers behind it are drawn as usual.
    """
    network = EntropyNet(
        n_concepts,
        n_classes,
        hidden,
        shared_tail=True,
        temperature=temperature,
        activation=nn.LeakyReLU,
        generator=generator,
    )
    bound = 1 / math.sqrt(n_concepts * hidden[0])
    with torch.no_grad():
        for parameter in network.entropy.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return network


def single_labels(table: ConceptTable) -> NDArray[np.int64]:
    """The class number of each row; refuses rows without one, and rows that do not count once."""
    if table.labels is None or table.is_multilabel:
        raise LogicLensError("the authors' method needs one class number a row: pass labels=[...] of one dimension.")
    if not (table.weight == 1).all():
        raise LogicLensError("the authors' method counts every row once: pass rows without weights.")
    return table.labels


def _train(
    network: EntropyNet, batches: Sequence[tuple[torch.Tensor, torch.Tensor]], penalty_weight: float, epochs: int
) -> None:
    """On the GPU if there is one; the network comes back from it."""
    device = device_of(None)
    network.to(device)
    batches = [(concepts.to(device), answers.to(device)) for concepts, answers in batches]
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    for epoch in range(epochs):
        for concepts, answers in batches:
            optimizer.zero_grad(set_to_none=True)
            # A matrix of answers asks for several concepts at once, a row of them for one class.
            task_loss = F.binary_cross_entropy_with_logits if answers.ndim == 2 else F.cross_entropy
            loss = task_loss(network(concepts), answers) + penalty_weight * entropy_logic_loss(network)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        if not math.isfinite(float(loss.detach())):
            raise LogicLensError(f"the loss became {float(loss.detach())} in epoch {epoch}: raise the temperature.")
    network.cpu()


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
