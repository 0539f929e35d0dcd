"""RRL, the Rule-based Representation Learner (Wang, Zhang, Liu and Wang, NeurIPS 2021), written from the paper.

Numbers are compared with random bounds (the binarisation layer), logical layers join inputs to conjunctions and
disjunctions, and a linear layer weighs these rules. A logical weight w in [0, 1] is the degree to which an input
belongs to a node. The model that predicts is discrete: it uses the weights above one half. Its continuous twin only
provides the gradient. With an input u:

    conjunction   P(∏ (1 − w (1 − u) + ε))          disjunction   1 − P(∏ (1 − w u + ε))          P(v) = 1 / (1 − log v)

P keeps the gradient of long products from vanishing. Gradient grafting takes the gradient of the loss at the output of
the discrete model and passes it through the continuous model: θ ← θ − η · ∂L(Ȳ)/∂Ȳ · ∂Ŷ/∂θ.

RRL has weighted rules, not one formula per class. So its answer is read as a formula like that of a psi network: from
all rows of the concepts it uses if these are few, else from the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from lab.peers.learner import Learned, class_numbers, unlearned
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF
from logiclens.formula.minimisation import COMPLETE_CONCEPTS, minimise, minimise_complete, row_bits
from logiclens.formula.truth_table import TruthTable
from logiclens.train.config import threads_for

EPSILON = 1e-10
"""ε: the value of a factor of 0, so that its logarithm exists."""
MEMBER = 0.5
"""An input belongs to a node of the discrete model if its weight is above this."""


@dataclass(frozen=True)
class RRL:
    """RRL on concepts: 0/1 concepts with their negations, others compared with random bounds.

    One model is trained per penalty. The epoch and penalty with the highest validation accuracy of the discrete model
    are kept; ties go to the larger penalty, then to the lower validation loss.

    Args:
        nodes: nodes of each logical layer, half conjunctions and half disjunctions. A layer after the first reads the
            layer before it and the inputs of that layer; the linear layer reads all of them.
        bounds: number of lower and of upper bounds per number, drawn from its range.
        penalties: weights of the squared logical weights in the loss, descending; the paper tunes this, too.
        epochs: number of epochs; the learning rate falls to three quarters after each quarter of them.
        learning_rate: learning rate of Adam.
        batch_size: rows per step.
        table_concepts: up to this many concepts a formula is read from the complete truth table.
    """

    nodes: tuple[int, ...] = (64,)
    bounds: int = 10
    penalties: tuple[float, ...] = (1e-3, 1e-4, 1e-5)
    epochs: int = 200
    learning_rate: float = 5e-3
    batch_size: int = 64
    table_concepts: int = 12

    def __post_init__(self) -> None:
        """Raise for settings that cannot be trained or read."""
        for name in ("bounds", "epochs", "batch_size", "table_concepts"):
            if getattr(self, name) < 1:
                raise LogicLensError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.table_concepts > COMPLETE_CONCEPTS:
            raise LogicLensError(f"table_concepts must be at most {COMPLETE_CONCEPTS}, got {self.table_concepts}.")
        if not self.nodes or min(self.nodes) < 2 or any(size % 2 for size in self.nodes):
            raise LogicLensError(f"nodes must hold an even number of nodes for each logical layer, got {self.nodes}.")
        if not self.penalties or min(self.penalties) < 0 or any(a <= b for a, b in pairwise(self.penalties)):
            raise LogicLensError(f"penalties must fall from large to small and not below 0, got {self.penalties}.")

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Train on the training rows, choose epoch and penalty on the validation rows, and read the formulas."""
        class_numbers(train)
        class_numbers(validation)
        inputs = Binarisation.of(train, self.bounds, seed=seed)
        model = trained(inputs, train, validation, self, seed=seed).without_constants(inputs(train.values))
        model = model.never(train.targets().T @ train.weight == 0)

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            return model.classes(inputs(table.with_columns(train.names).values))

        notes = [*unlearned(train), model.summary]
        formulas = None
        if inputs.is_boolean:
            formulas, exact = _formulas(inputs, model, train, self.table_concepts)
            if not exact:
                notes.append(
                    f"it reads {len(used_concepts(inputs, model))} concepts, too many for a complete table; the "
                    "formulas say what it answers on the training rows, and may differ elsewhere."
                )
        else:
            notes.append("it compares concepts that are numbers with bounds of its own, so there are no formulas.")
        return Learned(predict, formulas, tuple(notes))


@dataclass(frozen=True, eq=False)
class Binarisation:
    """The first layer: for 0/1 columns the column and its negation, for others `c > bound` and `c < bound`.

    Args:
        columns: the column of each input.
        thresholds: the bound of each input; one half for a 0/1 column.
        above: whether the input is `c > bound`.
        is_boolean: whether every column is 0/1.
    """

    columns: NDArray[np.intp]
    thresholds: NDArray[np.float64]
    above: NDArray[np.bool_]
    is_boolean: bool

    @classmethod
    def of(cls, table: ConceptTable, n_bounds: int, *, seed: int) -> Binarisation:
        """Make the inputs for a table's columns; bounds are uniform in the range of a column."""
        random = np.random.default_rng(seed)
        columns, thresholds, above, boolean = [], list[float](), list[bool](), True
        for column, values in enumerate(table.values.T.astype(np.float64)):
            is_bit = bool(np.isin(values, (0.0, 1.0)).all())
            boolean &= is_bit
            lower, upper = (
                ([0.5], [0.5]) if is_bit else random.uniform(values.min(), values.max(), (2, n_bounds)).tolist()
            )
            columns += [column] * (len(lower) + len(upper))
            thresholds += [*lower, *upper]
            above += [True] * len(lower) + [False] * len(upper)
        return cls(np.array(columns, np.intp), np.array(thresholds), np.array(above, np.bool_), boolean)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the inputs of each row `[rows, inputs]`."""
        asked = values[:, self.columns].astype(np.float64)
        held: NDArray[np.bool_] = np.where(self.above, asked > self.thresholds, asked < self.thresholds)
        return held


def conjunctions(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return the continuous conjunctions `[rows, nodes]` of inputs `[rows, inputs]` by weights `[nodes, inputs]`."""
    factors = 1 - weight * (1 - inputs[:, None, :])
    return projected(torch.log(factors + EPSILON).sum(-1))


def disjunctions(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return the continuous disjunctions: the negated conjunction of the negated inputs."""
    return 1 - conjunctions(1 - inputs, weight)


def bit_conjunctions(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return `conjunctions` of 0/1 inputs as one matrix product: an input of 1 leaves a factor of 1."""
    return projected((1 - inputs) @ torch.log(1 - weight + EPSILON).T)


def bit_disjunctions(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return `disjunctions` of 0/1 inputs."""
    return 1 - bit_conjunctions(1 - inputs, weight)


def projected(log_product: Tensor) -> Tensor:
    """Return P(v) = 1 / (1 − log v) from log v. It maps (0, 1] to (0, 1]."""
    return 1 / (1 - log_product)


@dataclass(frozen=True, eq=False)
class Weights:
    """The parameters: the weights of the conjunctions and disjunctions of each logical layer, and the linear layer."""

    conjunction: tuple[Tensor, ...]
    disjunction: tuple[Tensor, ...]
    linear: Tensor
    bias: Tensor

    @classmethod
    def drawn(cls, n_inputs: int, nodes: tuple[int, ...], n_classes: int, generator: torch.Generator) -> Weights:
        """Draw logical weights below one half, so that the discrete model starts with empty nodes."""
        layers: list[list[Tensor]] = [[], []]
        before, width = 0, n_inputs
        for size in nodes:
            for kind in layers:
                weight = MEMBER * torch.rand((size // 2, before + width), generator=generator)
                kind.append(weight.requires_grad_())
            before, width = width, size
        reach = sum(nodes) ** -0.5
        linear = torch.empty((n_classes, sum(nodes))).uniform_(-reach, reach, generator=generator).requires_grad_()
        return cls(tuple(layers[0]), tuple(layers[1]), linear, torch.zeros(n_classes, requires_grad=True))

    @property
    def logical(self) -> list[Tensor]:
        """Return the weights that lie in [0, 1]."""
        return [*self.conjunction, *self.disjunction]

    def continuous(self, inputs: Tensor) -> Tensor:
        """Return Ŷ: the scores `[rows, classes]` of the continuous model."""
        before, layer, rules = inputs[:, :0], inputs, []
        for depth, (both, either) in enumerate(zip(self.conjunction, self.disjunction, strict=True)):
            read = torch.cat([before, layer], dim=1)
            nodes = (conjunctions, disjunctions) if depth else (bit_conjunctions, bit_disjunctions)
            before, layer = layer, torch.cat([nodes[0](read, both), nodes[1](read, either)], dim=1)
            rules.append(layer)
        return torch.cat(rules, dim=1) @ self.linear.T + self.bias

    def discrete(self) -> DiscreteRRL:
        """Return the current discrete model."""
        conjunction, disjunction = (
            tuple((weight.detach() > MEMBER).numpy() for weight in kind)
            for kind in (self.conjunction, self.disjunction)
        )
        return DiscreteRRL(
            conjunction, disjunction, self.linear.detach().double().numpy(), self.bias.detach().double().numpy()
        )

    def grafted_step(self, inputs: Tensor, labels: Tensor, weight: Tensor) -> None:
        """Add the gradient of the loss at the discrete output, passed through the continuous model."""
        discrete = torch.from_numpy(self.discrete().scores(inputs.numpy() > MEMBER).astype(np.float32)).requires_grad_()
        loss = weight @ F.cross_entropy(discrete, labels, reduction="none")
        (at_output,) = torch.autograd.grad(loss, discrete)
        self.continuous(inputs).backward(at_output)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class DiscreteRRL:
    """The discrete model: which inputs belong to which node, and the weights of the rules `[classes, rules]`."""

    conjunction: tuple[NDArray[np.bool_], ...]
    disjunction: tuple[NDArray[np.bool_], ...]
    linear: NDArray[np.float64]
    bias: NDArray[np.float64]

    def rules(self, inputs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return on which row which node of any layer is true `[rows, rules]`; an empty conjunction is always true."""
        before, layer, rules = inputs[:, :0], inputs, []
        for both, either in zip(self.conjunction, self.disjunction, strict=True):
            read = np.concatenate([before, layer], axis=1)
            # Counts are exact in float32, and its products are fast.
            missing, present = (~read).astype(np.float32) @ both.T, read.astype(np.float32) @ either.T
            before, layer = layer, np.concatenate([missing == 0, present > 0], axis=1)
            rules.append(layer)
        return np.concatenate(rules, axis=1)

    def scores(self, inputs: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return Ȳ: the scores `[rows, classes]`."""
        scores: NDArray[np.float64] = self.rules(inputs) @ self.linear.T + self.bias
        return scores

    def classes(self, inputs: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the class with the highest score."""
        highest: NDArray[np.intp] = self.scores(inputs).argmax(axis=1)
        return highest

    def without_constants(self, inputs: NDArray[np.bool_]) -> DiscreteRRL:
        """Move rules that are constant on these rows into the bias: they separate nothing."""
        fired = self.rules(inputs)
        always, never = fired.all(axis=0), ~fired.any(axis=0)
        linear = np.where(always | never, 0.0, self.linear)
        return replace(self, linear=linear, bias=self.bias + self.linear[:, always].sum(axis=1))

    def never(self, classes: NDArray[np.bool_]) -> DiscreteRRL:
        """Return the same model without the possibility to predict these classes."""
        return replace(self, bias=np.where(classes, -np.inf, self.bias))

    def used_inputs(self) -> NDArray[np.intp]:
        """Return the inputs that reach a class through some rule."""
        needed = (self.linear != 0).any(axis=0)
        sizes = [len(both) + len(either) for both, either in zip(self.conjunction, self.disjunction, strict=True)]
        layers = np.split(needed, np.cumsum(sizes)[:-1])
        n_inputs = self.conjunction[0].shape[1]
        reached = [np.zeros(n_inputs, dtype=np.bool_), *(layer.copy() for layer in layers)]
        for depth in range(len(layers), 0, -1):
            members = np.concatenate([self.conjunction[depth - 1], self.disjunction[depth - 1]])
            read = members[reached[depth]].any(axis=0)
            reached[depth - 1] |= read[len(read) - len(reached[depth - 1]) :]
            if depth > 1:
                reached[depth - 2] |= read[: len(reached[depth - 2])]
        return np.flatnonzero(reached[0])

    @property
    def summary(self) -> str:
        """Return a sentence about the length that the paper counts: rules and their inputs."""
        pairs = zip(self.conjunction, self.disjunction, strict=True)
        members = np.concatenate([kind.sum(axis=1) for pair in pairs for kind in pair])
        used = (self.linear != 0).any(axis=0)
        edges = int(members[used].sum())
        return f"{int(used.sum())} weighted rules with {edges} inputs in all decide."


def trained(
    inputs: Binarisation, train: ConceptTable, validation: ConceptTable, settings: RRL, *, seed: int
) -> DiscreteRRL:
    """Return the best discrete model over penalties and epochs."""
    held, held_labels = inputs(validation.values), class_numbers(validation)
    share = validation.weight / validation.weight.sum()
    best, best_score = None, (-1.0, 0, 0.0)
    for order, penalty in enumerate(settings.penalties):
        for model in _epochs(inputs, train, settings, penalty, seed):
            scores = torch.from_numpy(model.scores(held))
            loss = F.cross_entropy(scores, torch.from_numpy(np.array(held_labels)), reduction="none").numpy()
            right = float(share @ (scores.argmax(dim=1).numpy() == held_labels))
            score = (round(right, 12), -order, -float(share @ loss))
            if best is None or score > best_score:
                best, best_score = model, score
    if best is None:
        raise LogicLensError("RRL needs at least one penalty and one epoch to choose from.")
    return best


def _epochs(
    inputs: Binarisation, train: ConceptTable, settings: RRL, penalty: float, seed: int
) -> Iterator[DiscreteRRL]:
    """Train with one penalty and yield the discrete model after each epoch."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.from_numpy(inputs(train.values).astype(np.float32))
    labels = torch.from_numpy(np.array(class_numbers(train), dtype=np.int64))
    weight = torch.from_numpy((train.weight / train.weight.mean()).astype(np.float32))
    model = Weights.drawn(rows.shape[1], settings.nodes, len(train.class_names), generator)
    parameters = [*model.logical, model.linear, model.bias]
    optimizer = torch.optim.Adam(parameters, lr=settings.learning_rate)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, max(settings.epochs // 4, 1), gamma=0.75)
    with threads_for(settings.batch_size * sum(each.numel() for each in parameters)):
        for _ in range(settings.epochs):
            for batch in torch.split(torch.randperm(len(rows), generator=generator), settings.batch_size):
                optimizer.zero_grad()
                model.grafted_step(rows[batch], labels[batch], weight[batch] / len(batch))
                squares = torch.stack([logical.square().sum() for logical in model.logical])
                torch.autograd.backward(penalty * squares.sum())
                optimizer.step()
                with torch.no_grad():
                    for logical in model.logical:
                        logical.clamp_(0, 1)
            scheduler.step()
            yield model.discrete()


def used_concepts(inputs: Binarisation, model: DiscreteRRL) -> NDArray[np.intp]:
    """Return the columns that reach a class through some rule."""
    return np.unique(inputs.columns[model.used_inputs()])


def _formulas(
    inputs: Binarisation, model: DiscreteRRL, train: ConceptTable, table_concepts: int
) -> tuple[tuple[DNF, ...], bool]:
    """Return for each class when the model predicts it, and whether that is exact or holds on training rows only."""
    used = used_concepts(inputs, model)
    names = [train.names[column] for column in used]
    if len(used) > table_concepts:
        seen = train.boolean()
        said = model.classes(inputs(seen))
        tables = (TruthTable.of(seen[:, used], names, said == k) for k in range(len(train.class_names)))
        return tuple(minimise(table).formula for table in tables), False
    rows = np.zeros((1 << len(used), train.n_concepts), dtype=np.bool_)
    rows[:, used] = row_bits(np.arange(1 << len(used)), len(used))
    said = model.classes(inputs(rows))
    return tuple(minimise_complete(said == k, names).formula for k in range(len(train.class_names))), True
