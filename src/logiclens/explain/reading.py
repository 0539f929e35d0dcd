"""Read a network on rows: one forward pass gives the answers, relevances and truth tables of all classes.

Reading never changes a network, so that many threads can read one network at the same time. All other modules of
`explain`, the classifier and the reports use `read` and `Reading`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, Dataset

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.packed_rows import places
from logiclens.formula.truth_table import TruthTable
from logiclens.nn.committee import Committee
from logiclens.nn.functional import THRESHOLD, entropy_layers, first_entropy_layer
from logiclens.nn.layers import EntropyLogicLayer, EntropyNet, LinearIndependent
from logiclens.nn.outputs import (
    CUTS,
    Output,
    OutputKind,
    Select,
    as_heads,
    check_output,
    private_copy,
    resolved,
    selected,
    traced_kind,
)
from logiclens.train.threads import threads_for

Answer = Literal["argmax", "threshold"]

BATCH = 65_536
"""Number of rows in one forward pass."""

STATELESS = {
    EntropyNet, Committee, EntropyLogicLayer, LinearIndependent, nn.Linear, nn.Flatten, nn.Sequential, nn.ModuleList,
    nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh,
}  # fmt: skip
"""Modules whose outputs depend on their weights and inputs alone, and that no forward pass changes."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Rows as the network sees them. Equal rows get equal answers and are one row, with their total weight.

    `labels[r, i]` is the weight of class i on row r; None if there are no labels.
    """

    bits: NDArray[np.bool_]
    yes: NDArray[np.bool_]
    logits: NDArray[np.float64]
    weight: NDArray[np.float64]
    labels: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Reading:
    """The outputs and answers of a network on the rows of a table.

    Attributes:
        table: the rows.
        outputs: outputs for the rows that were sent: every row, or each distinct row if the concepts are Boolean.
        answer: rule that turns outputs into answers; see `read`.
        output: what the outputs are: logits, probabilities, their logarithms, or labels.
        select: the function that takes the outputs from what the network returns; None if it returns them.
        relevance: α̃ of each concept in each head, `[heads, concepts]`.
        uses: `uses[i, j]` is whether concept j is relevant to head i: μ, or what the head keeps if it was made exact.
        class_names: name of the class of each head.
        network: the network.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> from logiclens.explain import read
    >>> reading = read(network, rows)
    >>> reading.yes[:4].tolist()
    [[True, False], [True, False], [True, False], [False, True]]
    """

    table: ConceptTable
    outputs: NDArray[np.float64]
    answer: Answer
    output: OutputKind
    select: Select | None
    relevance: NDArray[np.float64]
    uses: NDArray[np.bool_]
    class_names: tuple[str, ...]
    network: nn.Module

    @cached_property
    def bits(self) -> NDArray[np.bool_]:
        """The Boolean values of all concepts."""
        return self.table.boolean()

    @cached_property
    def logits(self) -> NDArray[np.float64]:
        """The outputs `[rows, heads]`: logits, unless `output` says otherwise."""
        return self.outputs[self.table.distinct[1]] if self.table.is_boolean else self.outputs

    @cached_property
    def yes(self) -> NDArray[np.bool_]:
        """f̄^i on row r: the largest of the outputs (`argmax`), or a probability of at least 0.5 (`threshold`)."""
        return self.seen.yes[self.table.distinct[1]] if self.table.is_boolean else self.seen.yes

    @cached_property
    def seen(self) -> Seen:
        """The rows as they were sent."""
        table, outputs = self.table, self.outputs
        yes = _argmax(outputs) if self.answer == "argmax" else outputs >= CUTS[self.output]
        if not table.is_boolean:
            labels = None if table.labels is None else self.targets() * table.weight[:, None]
            return Seen(self.bits, yes, outputs, table.weight, labels)
        counted = table.counted()
        labels = None if table.labels is None else self._of_heads(counted.counts)
        return Seen(counted.bits(), yes, outputs, counted.total, labels)

    @property
    def n_heads(self) -> int:
        """Number of heads."""
        return len(self.class_names)

    @property
    def probability(self) -> NDArray[np.float64]:
        """The network's probability of each class; of logits the softmax over heads, or a sigmoid for each."""
        if self.output != "logits":
            return np.exp(self.logits) if self.output == "log-probabilities" else self.logits
        logits = torch.tensor(self.logits)
        scores = torch.softmax(logits, dim=1) if self.answer == "argmax" else torch.sigmoid(logits)
        return scores.numpy()

    def targets(self) -> NDArray[np.float64]:
        """Return the labels as 0/1 `[rows, heads]`; a single head for two classes has the target class 1."""
        return self._of_heads(self.table.targets())

    def _of_heads(self, of_classes: NDArray[np.float64]) -> NDArray[np.float64]:
        return of_classes[:, 1:] if self.n_heads == 1 and of_classes.shape[1] == 2 else of_classes

    def head(self, target: int | str) -> int:
        """Return the head of a class.

        Args:
            target: the class, by number or by name.

        Raises:
            LogicLensError: if there is no such class.
        """
        if isinstance(target, str):
            if target not in self.class_names:
                known = ", ".join(repr(name) for name in self.class_names[:8])
                raise LogicLensError(f"there is no class {quoted(target)}; the classes are {known}.")
            return self.class_names.index(target)
        if not isinstance(target, Integral) or not 0 <= target < self.n_heads:
            raise LogicLensError(f"target must be 0 to {self.n_heads - 1}, got {target}.")
        return int(target)

    def of_rows(self, table: ConceptTable, network: nn.Module | None = None) -> Reading:
        """Return the reading of other rows, or of another network, with outputs that mean the same.

        Args:
            table: the rows.
            network: the network. Default: the network of this reading.
        """
        return read(network or self.network, table, self.answer, output=self.output, select=self.select)

    def relevant(self, head: int) -> NDArray[np.intp]:
        """Return μ: the columns of a head's relevant concepts, in table order.

        Args:
            head: index of the head.
        """
        return np.flatnonzero(self.uses[head])

    def truth_table(self, head: int, more: Sequence[str] = ()) -> TruthTable:
        """Return T^i, eq. (truth-table): all rows on the head's relevant concepts, with the network's answer.

        Args:
            head: index of the head.
            more: names of further concepts of the table. Default: none.
        """
        columns = np.union1d(self.relevant(head), places(more, self.table.names)).astype(np.intp)
        names = [self.table.names[c] for c in columns]
        groups = self.table.groups
        return TruthTable.of(
            self.seen.bits[:, columns],
            names,
            self.seen.yes[:, head],
            weight=self.seen.weight,
            exclusive=groups.exclusive,
            implied=groups.implied,
        )


def check_rows(rows: Any) -> None:
    """Raise an error if rows are a loader or a data set of torch."""
    if isinstance(rows, DataLoader | Dataset):
        raise LogicLensError(
            f"rows must be an array, a tensor, a frame or a ConceptTable, got a {type(rows).__name__}: put its batches "
            "together first, such as torch.cat([x for x, y in loader])."
        )


def read(
    network: nn.Module,
    table: ConceptTable,
    answer: Answer | None = None,
    *,
    output: Output = "auto",
    select: Select | None = None,
    exact: bool = False,
) -> Reading:
    """Send the rows through the network once and record its answers for every class.

    The network is read in evaluation mode and never changed. A network of another type than `EntropyNet` and
    `Committee` is copied for that, because its modules may behave differently in training.

    Args:
        network: a trained network with an entropy layer.
        table: the rows. Their labels do not matter.
        answer: `"argmax"` (the largest output answers yes) or `"threshold"` (each head answers alone). Default:
            `"threshold"` for a single head, else `"argmax"`.
        output: what the outputs are: `"logits"` (a head that answers alone says yes from 0 on), `"probabilities"` (from
            0.5 on), `"log-probabilities"` (from log 0.5 on), or `"labels"` (class numbers, or 0 and 1 for each head).
            Default: `"auto"`: by the last operation of the network, such as a sigmoid or a linear layer; else by the
            values, if these leave no doubt. With `"argmax"` only the probabilities that are shown depend on it.
        select: a function that takes the outputs from what the network returns, such as `lambda out: out["y"]`.
            Default: None, the network returns its outputs.
        exact: whether the relevant concepts of a head are those that it keeps, whatever their relevance. Default:
            False.

    Raises:
        LogicLensError: if an option is not valid, the network does not fit the rows or their classes, an output is not
            finite, nothing says what the outputs are, or the network cannot be copied.

    >>> import torch
    >>> from logiclens.concepts import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 1, 1, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> read(network, rows).yes.shape
    (40, 2)
    """
    if answer not in ("argmax", "threshold", None):
        raise LogicLensError(f"answer must be 'argmax' or 'threshold', got {quoted(answer)}.")
    check_output(output)
    evaluated = _evaluated(network)
    layer = _concept_layer(evaluated, table)
    weight = layer.weight
    with torch.no_grad():
        parts = []
        # Equal rows get equal answers, so each distinct row is sent once.
        values = table.values[table.distinct[0]] if table.is_boolean else table.values
        with threads_for(len(values) * sum(parameter.numel() for parameter in evaluated.parameters())):
            for start in range(0, len(values), BATCH):
                rows = torch.tensor(values[start : start + BATCH], dtype=weight.dtype, device=weight.device)
                parts.append(selected(evaluated(rows), select).cpu())
        leans = evaluated.relevance() if isinstance(evaluated, Committee) else layer.relevance()
        relevance = leans.cpu().double().numpy()
        # Rules use literals only, whatever other concepts the network uses.
        uses = layer.keep.cpu().numpy().copy() if exact else (relevance >= THRESHOLD) & table.is_literal
    raw = torch.cat(parts)
    outputs, output = as_heads((raw.double() if raw.is_floating_point() else raw).numpy(), layer.n_classes, output)
    if answer is None:
        answer = "threshold" if layer.n_classes == 1 else "argmax"
    if answer == "argmax" and layer.n_classes == 1:
        raise LogicLensError('a single head has nothing to be larger than: leave out answer="argmax".')
    traced: OutputKind | None = "logits"
    if not _is_own(network):
        traced = traced_kind(evaluated, rows[:1], select) if output == "auto" else None
    kind = resolved(outputs, output, traced, exclusive=answer == "argmax")
    names = _class_names(table, layer.n_classes)
    return Reading(table, outputs, answer, kind, select, relevance, uses, names, network)


def restricted(reading: Reading) -> nn.Module:
    """Return a copy of the network that was read in which every head sees its relevant concepts only."""
    network = private_copy(reading.network)
    for member in network.networks if isinstance(network, Committee) else (network,):
        _concept_layer(member, reading.table).keep.copy_(torch.from_numpy(reading.uses))
    return network


def _evaluated(network: nn.Module) -> nn.Module:
    """Return the network if a forward pass cannot change it, else a private copy in evaluation mode."""
    if not isinstance(network, nn.Module):
        raise LogicLensError(f"expected a torch network to explain, got {type(network).__name__}.")
    return network if _is_own(network) else private_copy(network)


def _is_own(network: nn.Module) -> bool:
    """Return whether this is a network of this package whose forward pass changes nothing."""
    own = type(network) in (EntropyNet, Committee)
    return own and all(type(module) in STATELESS for module in network.modules())


def _concept_layer(network: nn.Module, table: ConceptTable) -> EntropyLogicLayer:
    """Return the entropy layer that the rows enter.

    For a network of another type, send one row to find it: the network must be a private copy, because hooks are added
    to it.
    """
    first = first_entropy_layer(network)
    if _is_own(network) and first.in_features == table.n_concepts:
        # In the networks of this package, rows enter the first layer.
        return first
    if all(layer.in_features != table.n_concepts for layer in entropy_layers(network)):
        raise LogicLensError(f"the network takes {first.in_features} concepts, the rows have {table.n_concepts}.")
    row = torch.tensor(np.array(table.values[:1]), dtype=first.weight.dtype, device=first.weight.device)
    seen: dict[EntropyLogicLayer, bool] = {}

    def look(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        if isinstance(module, EntropyLogicLayer):
            seen[module] = inputs[0].shape == row.shape and torch.equal(inputs[0], row)

    hooks = [layer.register_forward_pre_hook(look) for layer in entropy_layers(network)]
    try:
        with torch.no_grad():
            network(row)
    finally:
        for hook in hooks:
            hook.remove()
    for layer, enters in seen.items():
        if enters:
            return layer
    if seen:
        raise LogicLensError(
            "the rows do not enter an entropy layer as they are: something in front of it changes them. "
            "Explain the part of the network behind that, with its inputs as rows."
        )
    # A compiled network runs without hooks.
    return first


def _argmax(outputs: NDArray[np.float64]) -> NDArray[np.bool_]:
    # Exactly one head answers yes, even if two outputs are equal.
    yes = np.zeros(outputs.shape, dtype=np.bool_)
    yes[np.arange(len(outputs)), outputs.argmax(axis=1)] = True
    return yes


def _class_names(table: ConceptTable, n_heads: int) -> tuple[str, ...]:
    names = table.class_names
    if n_heads == 1 and len(names) == 2 and not table.is_multilabel:
        return names[1:]
    if names and len(names) != n_heads:
        raise LogicLensError(
            f"the network has {n_heads} head(s), the rows name {len(names)} classes: pass class_names=..., one for "
            "each head."
        )
    return names or tuple(f"class {i}" for i in range(n_heads))
