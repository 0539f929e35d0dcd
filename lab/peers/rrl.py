"""RRL, the Rule-based Representation Learner (Wang, Zhang, Liu and Wang, NeurIPS 2021), written from the paper.

A logical layer joins 0/1 concepts and their negations to conjunctions and disjunctions, and a linear layer weighs these
rules. A logical weight w in [0, 1] is the degree to which an input belongs to a node. The model that predicts is
discrete: it uses the weights above one half. Its continuous twin only provides the gradient. With an input u:

    conjunction   P(∏ (1 − w (1 − u) + ε))          disjunction   1 − P(∏ (1 − w u + ε))          P(v) = 1 / (1 − log v)

P keeps the gradient of long products from vanishing. Gradient grafting takes the gradient of the loss at the output of
the discrete model and passes it through the continuous model: θ ← θ − η · ∂L(Ȳ)/∂Ȳ · ∂Ŷ/∂θ.

RRL has weighted rules, not one formula per class. So its answer is read as a formula like that of a psi network: from
all rows of the concepts it uses if these are few, else from the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from lab.peers.learner import Learned, answer_formulas, class_numbers, unlearned
from logiclens.concepts.concept_table import ConceptTable
from logiclens.train.threads import threads_for

EPSILON = 1e-10
"""ε: the value of a factor of 0, so that its logarithm exists."""
MEMBER = 0.5
"""An input belongs to a node of the discrete model if its weight is above this."""


@dataclass(frozen=True)
class RRL:
    """RRL on concepts cut at 0.5, with one logical layer.

    One model is trained per penalty. The epoch and penalty with the highest validation accuracy of the discrete model
    are kept; ties go to the larger penalty, then to the lower validation loss.
    """

    nodes: int = 64
    penalties: tuple[float, ...] = (1e-3, 1e-4, 1e-5)
    epochs: int = 200
    learning_rate: float = 5e-3
    batch_size: int = 64
    table_concepts: int = 12

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        model = trained(train, validation, self, seed=seed).without_constants(_inputs(train))
        model = model.never(train.targets().T @ train.weight == 0)

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            return model.classes(_inputs(table.with_columns(train.names)))

        def answers(bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
            predicted = model.classes(np.concatenate([bits, ~bits], axis=1))
            return predicted[:, None] == np.arange(len(train.class_names))

        used = model.used_concepts()
        formulas, exact = answer_formulas(answers, train, used, self.table_concepts)
        notes = [*unlearned(train), model.summary]
        if not exact:
            notes.append(
                f"it reads {len(used)} concepts, too many for a complete table; the formulas say what it answers on "
                "the training rows, and may differ elsewhere."
            )
        return Learned(predict, formulas, tuple(notes))


def _inputs(table: ConceptTable) -> NDArray[np.bool_]:
    bits = table.boolean()
    return np.concatenate([bits, ~bits], axis=1)


def conjunctions(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return the continuous conjunctions `[rows, nodes]` of 0/1 inputs by weights `[nodes, inputs]`.

    An input of 1 leaves a factor of 1, so the logarithm of the product is one matrix product.
    """
    return 1 / (1 - (1 - inputs) @ torch.log(1 - weight + EPSILON).T)


def disjunctions(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return the continuous disjunctions: the negated conjunction of the negated inputs."""
    return 1 - conjunctions(1 - inputs, weight)


@dataclass(frozen=True, eq=False)
class Weights:
    """The parameters: the weights of conjunctions and disjunctions `[nodes, inputs]`, and of the linear layer."""

    conjunction: Tensor
    disjunction: Tensor
    linear: Tensor
    bias: Tensor

    @classmethod
    def drawn(cls, n_inputs: int, nodes: int, n_classes: int, generator: torch.Generator) -> Weights:
        both, either = (MEMBER * torch.rand((nodes // 2, n_inputs), generator=generator) for _ in range(2))
        linear = torch.empty((n_classes, nodes)).uniform_(-(nodes**-0.5), nodes**-0.5, generator=generator)
        return cls(*(each.requires_grad_() for each in (both, either, linear, torch.zeros(n_classes))))

    @property
    def parameters(self) -> list[Tensor]:
        return [self.conjunction, self.disjunction, self.linear, self.bias]

    def continuous(self, inputs: Tensor) -> Tensor:
        rules = [conjunctions(inputs, self.conjunction), disjunctions(inputs, self.disjunction)]
        return torch.cat(rules, dim=1) @ self.linear.T + self.bias

    def discrete(self) -> DiscreteRRL:
        both, either = ((weight.detach() > MEMBER).numpy() for weight in (self.conjunction, self.disjunction))
        linear, bias = (weight.detach().double().numpy() for weight in (self.linear, self.bias))
        return DiscreteRRL(both, either, linear, bias)

    def grafted_step(self, inputs: Tensor, labels: Tensor, weight: Tensor) -> None:
        discrete = torch.from_numpy(self.discrete().scores(inputs.numpy() > MEMBER).astype(np.float32)).requires_grad_()
        loss = weight @ F.cross_entropy(discrete, labels, reduction="none")
        (at_output,) = torch.autograd.grad(loss, discrete)
        self.continuous(inputs).backward(at_output)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class DiscreteRRL:
    """The discrete model: which inputs belong to which node, and the weights of the rules `[classes, rules]`."""

    conjunction: NDArray[np.bool_]
    disjunction: NDArray[np.bool_]
    linear: NDArray[np.float64]
    bias: NDArray[np.float64]

    def rules(self, inputs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        # Counts are exact in float32, and its products are fast.
        missing = (~inputs).astype(np.float32) @ self.conjunction.T
        present = inputs.astype(np.float32) @ self.disjunction.T
        return np.concatenate([missing == 0, present > 0], axis=1)

    def scores(self, inputs: NDArray[np.bool_]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = self.rules(inputs) @ self.linear.T + self.bias
        return scores

    def classes(self, inputs: NDArray[np.bool_]) -> NDArray[np.intp]:
        highest: NDArray[np.intp] = self.scores(inputs).argmax(axis=1)
        return highest

    def without_constants(self, inputs: NDArray[np.bool_]) -> DiscreteRRL:
        fired = self.rules(inputs)
        always, never = fired.all(axis=0), ~fired.any(axis=0)
        linear = np.where(always | never, 0.0, self.linear)
        return replace(self, linear=linear, bias=self.bias + self.linear[:, always].sum(axis=1))

    def never(self, classes: NDArray[np.bool_]) -> DiscreteRRL:
        return replace(self, bias=np.where(classes, -np.inf, self.bias))

    @property
    def used(self) -> NDArray[np.bool_]:
        return np.concatenate([self.conjunction, self.disjunction])[(self.linear != 0).any(axis=0)]

    def used_concepts(self) -> NDArray[np.intp]:
        return np.flatnonzero(np.logical_or(*np.split(self.used.any(axis=0), 2)))

    @property
    def summary(self) -> str:
        return f"{len(self.used)} weighted rules with {int(self.used.sum())} inputs in all decide."


def trained(train: ConceptTable, validation: ConceptTable, settings: RRL, *, seed: int) -> DiscreteRRL:
    inputs, labels = _inputs(validation), class_numbers(validation)
    share = validation.weight / validation.weight.sum()

    def rank(order: int, model: DiscreteRRL) -> tuple[float, int, float]:
        scores = torch.from_numpy(model.scores(inputs))
        loss = F.cross_entropy(scores, torch.from_numpy(np.array(labels)), reduction="none").numpy()
        right = float(share @ (scores.argmax(dim=1).numpy() == labels))
        return round(right, 12), -order, -float(share @ loss)

    candidates = (
        (order, model)
        for order, penalty in enumerate(settings.penalties)
        for model in _epochs(train, settings, penalty, seed)
    )
    return max(candidates, key=lambda candidate: rank(*candidate))[1]


def _epochs(train: ConceptTable, settings: RRL, penalty: float, seed: int) -> Iterator[DiscreteRRL]:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.from_numpy(_inputs(train).astype(np.float32))
    labels = torch.from_numpy(np.array(class_numbers(train), dtype=np.int64))
    weight = torch.from_numpy((train.weight / train.weight.mean()).astype(np.float32))
    model = Weights.drawn(rows.shape[1], settings.nodes, len(train.class_names), generator)
    logical = model.parameters[:2]
    optimizer = torch.optim.Adam(model.parameters, lr=settings.learning_rate)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, max(settings.epochs // 4, 1), gamma=0.75)
    with threads_for(settings.batch_size * sum(each.numel() for each in model.parameters)):
        for _ in range(settings.epochs):
            for batch in torch.split(torch.randperm(len(rows), generator=generator), settings.batch_size):
                optimizer.zero_grad()
                model.grafted_step(rows[batch], labels[batch], weight[batch] / len(batch))
                torch.autograd.backward(penalty * torch.stack([each.square().sum() for each in logical]).sum())
                optimizer.step()
                with torch.no_grad():
                    for each in logical:
                        each.clamp_(0, 1)
            scheduler.step()
            yield model.discrete()
