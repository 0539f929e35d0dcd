"""Psi networks (Ciravegna et al. 2020): small sigmoid networks, pruned until each neuron can be read as a truth table.

There is one network per class, from n concepts over 10 and 5 neurons to 1, with sigmoids throughout and an L1 penalty
on all weights. After half of the training each neuron is pruned to its strongest inputs; then training continues. Read
as Boolean functions (inputs 0 or 1, true if the output is above one half), the neurons compose to a formula. The
formula equals these Boolean functions; the network computes with numbers between 0 and 1, and may answer otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from lab.peers.learner import Learned, answer_formulas, class_numbers, unlearned
from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.minimisation import row_bits
from logiclens.train.threads import threads_for

Layers = tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...]
"""Weights `[out, in]` and biases `[out]` of each layer of one network."""


@dataclass(frozen=True)
class Psi:
    """One psi network per class; the class with the largest output is predicted.

    All networks are trained side by side, full batch, on concepts cut at 0.5, and share nothing. Of the epochs after
    pruning, each network keeps the one with its highest validation accuracy, then the lowest loss.
    """

    fan_in: int = 3
    hidden: tuple[int, ...] = (10, 5)
    epochs: int = 200
    learning_rate: float = 1e-2
    l1: float = 1e-4
    table_concepts: int = 14

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        class_numbers(validation)
        networks = trained(train, validation, self, seed=seed)
        formulas, notes = [], [*unlearned(train)]
        for k, name in enumerate(train.class_names):
            layers = networks.layers(k)
            used = used_concepts(layers)
            (formula,), exact = answer_formulas(partial(_answer_column, layers), train, used, self.table_concepts)
            formulas.append(formula)
            if not exact:
                notes.append(
                    f"{name}: the network reads {len(used)} concepts, too many for a complete table; the formula says "
                    "what its Boolean functions say on the training rows, and may differ elsewhere."
                )

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            logits = networks(_inputs(table.with_columns(train.names)))
            return logits.argmax(dim=1).numpy().astype(np.intp)

        return Learned(predict, tuple(formulas), tuple(notes))


@dataclass(frozen=True, eq=False)
class PsiNetworks:
    """The weights `[classes, out, in]` and biases `[classes, 1, out]` of one small network per class."""

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]

    def __call__(self, rows: Tensor) -> Tensor:
        signal = rows.expand(len(self.weights[0]), *rows.shape)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            logits = torch.baddbmm(bias, signal, weight.transpose(1, 2))
            signal = torch.sigmoid(logits)
        return logits[..., 0].T

    def layers(self, klass: int) -> Layers:
        return tuple(
            (weight[klass].detach().double().numpy(), bias[klass, 0].detach().double().numpy())
            for weight, bias in zip(self.weights, self.biases, strict=True)
        )


def trained(train: ConceptTable, validation: ConceptTable, settings: Psi, *, seed: int) -> PsiNetworks:
    generator = torch.Generator().manual_seed(seed)
    sizes = (train.n_concepts, *settings.hidden, 1)
    weights = [
        _uniform((len(train.class_names), sizes[i + 1], sizes[i]), sizes[i], generator) for i in range(len(sizes) - 1)
    ]
    biases = [_uniform((len(train.class_names), 1, sizes[i + 1]), sizes[i], generator) for i in range(len(sizes) - 1)]
    networks = PsiNetworks(tuple(weights), tuple(biases))
    optimizer = torch.optim.AdamW([*weights, *biases], lr=settings.learning_rate)
    masks = [torch.ones_like(weight) for weight in weights]
    best = _Best.of([*weights, *biases])
    rows, answers, share = _inputs(train), _answers(train), _shares(train)
    seen, seen_answers, seen_share = _inputs(validation), _answers(validation), _shares(validation)
    with threads_for(len(rows) * sum(weight.numel() for weight in weights)):
        for epoch in range(settings.epochs):
            if epoch == settings.epochs // 2:
                masks = [strongest(weight.detach(), settings.fan_in) for weight in weights]
            optimizer.zero_grad()
            loss = _losses(networks(rows), answers, share).sum() + settings.l1 * sum(w.abs().sum() for w in weights)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            with torch.no_grad():
                for weight, mask in zip(weights, masks, strict=True):
                    weight *= mask
                if epoch >= settings.epochs // 2:
                    logits = networks(seen)
                    right = seen_share @ ((logits > 0) == (seen_answers > 0.5)).to(seen_share.dtype)
                    best.remember(right, _losses(logits, seen_answers, seen_share))
    return PsiNetworks(tuple(best.best[: len(weights)]), tuple(best.best[len(weights) :]))


def strongest(weight: Tensor, fan_in: int) -> Tensor:
    order = weight.abs().argsort(dim=-1, descending=True, stable=True)
    return torch.zeros_like(weight).scatter(-1, order[..., :fan_in], 1.0)


def used_concepts(layers: Layers) -> list[int]:
    needed = [0]
    for weight, bias in reversed(layers):
        needed = sorted({int(j) for neuron in needed for j in _depends_on(weight[neuron], float(bias[neuron]))})
    return needed


def boolean_answers(layers: Layers, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Evaluate the composed Boolean functions on rows of all concepts: a neuron is true if its output is above 0.5."""
    for weight, bias in layers:
        # Summed input by input, so that equal inputs give equal answers in tables of any size.
        rows = np.stack([_neuron(weight[neuron], float(bias[neuron]), rows) for neuron in range(len(weight))], axis=1)
    return rows[:, 0]


def _answer_column(layers: Layers, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return boolean_answers(layers, rows)[:, None]


def _depends_on(weight: NDArray[np.float64], bias: float) -> list[int]:
    inputs = np.flatnonzero(weight)
    table = np.zeros((1 << len(inputs), len(weight)), dtype=np.bool_)
    table[:, inputs] = row_bits(np.arange(1 << len(inputs)), len(inputs))
    answers = _neuron(weight, bias, table).reshape((2,) * len(inputs))
    return [int(j) for axis, j in enumerate(inputs) if (answers.take(0, axis) != answers.take(1, axis)).any()]


def _neuron(weight: NDArray[np.float64], bias: float, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    total = np.full(len(rows), bias)
    for j in np.flatnonzero(weight):
        total += weight[j] * rows[:, j]
    # A sigmoid is above one half if its argument is above 0.
    return total > 0


@dataclass(eq=False)
class _Best:
    """The parameters of each network at its best epoch so far."""

    live: Sequence[Tensor]
    best: list[Tensor]
    right: Tensor
    loss: Tensor

    @classmethod
    def of(cls, live: Sequence[Tensor]) -> _Best:
        none = torch.full((len(live[0]),), -1.0)
        return cls(live, [each.detach().clone() for each in live], none, torch.full_like(none, torch.inf))

    def remember(self, right: Tensor, loss: Tensor) -> None:
        better = (right > self.right) | ((right == self.right) & (loss < self.loss))
        self.right, self.loss = torch.where(better, right, self.right), torch.where(better, loss, self.loss)
        for best, live in zip(self.best, self.live, strict=True):
            best[better] = live.detach()[better]


def _uniform(shape: tuple[int, int, int], n_inputs: int, generator: torch.Generator) -> Tensor:
    reach = n_inputs**-0.5
    return torch.empty(shape).uniform_(-reach, reach, generator=generator).requires_grad_()


def _losses(logits: Tensor, answers: Tensor, share: Tensor) -> Tensor:
    return share @ F.binary_cross_entropy_with_logits(logits, answers, reduction="none")


def _inputs(table: ConceptTable) -> Tensor:
    return torch.from_numpy(table.boolean().astype(np.float32))


def _answers(table: ConceptTable) -> Tensor:
    return torch.from_numpy(table.targets().astype(np.float32))


def _shares(table: ConceptTable) -> Tensor:
    return torch.from_numpy((table.weight / table.weight.sum()).astype(np.float32))
