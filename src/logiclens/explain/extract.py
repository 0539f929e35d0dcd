"""From a network and rows to truth tables: one forward pass for all classes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.counted import distinct
from logiclens.formula.table import TruthTable
from logiclens.nn.functional import THRESHOLD, entropy_layers, first_entropy_layer
from logiclens.nn.layers import EntropyLogicLayer

Answer = Literal["argmax", "threshold"]

BATCH = 65_536
"""Rows sent through the network at a time."""
MAX_TAKEN_IN = 8
"""The most concepts of other heads that are taken in for a class."""
MIN_GAIN = 0.01
"""What taking in a concept must bring, in Gini impurity: this share of the rows of the class, or of the others."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What a network says about the rows of a table.

    `yes[r, i]` is f̄^i on row r: the largest of the outputs (`argmax`), or a probability of at least ε (`threshold`).
    `uses[i, j]` says whether concept j is relevant to head i: μ, or what the head keeps where it was made exact.
    """

    table: ConceptTable
    logits: NDArray[np.float64]
    yes: NDArray[np.bool_]
    answer: Answer
    relevance: NDArray[np.float64]
    uses: NDArray[np.bool_]
    class_names: tuple[str, ...]
    network: nn.Module

    @cached_property
    def bits(self) -> NDArray[np.bool_]:
        """The Boolean reading of all concepts."""
        return self.table.boolean()

    @property
    def n_heads(self) -> int:
        """The number of heads."""
        return len(self.class_names)

    @property
    def probability(self) -> NDArray[np.float64]:
        """The network's probability of each class: softmax over heads, or a sigmoid for each."""
        logits = torch.tensor(self.logits)
        scores = torch.softmax(logits, dim=1) if self.answer == "argmax" else torch.sigmoid(logits)
        return scores.numpy()

    def targets(self) -> NDArray[np.float64]:
        """The labels as 0/1 `[rows, heads]`; one head for two classes asks for class 1."""
        targets = self.table.targets()
        return targets[:, 1:] if self.n_heads == 1 and targets.shape[1] == 2 else targets

    def head(self, target: int | str) -> int:
        """The head of a class, by number or by name."""
        if isinstance(target, str):
            if target not in self.class_names:
                known = ", ".join(repr(name) for name in self.class_names[:8])
                raise LogicLensError(f"there is no class {target!r}; the classes are {known}.")
            return self.class_names.index(target)
        if not isinstance(target, Integral) or not 0 <= target < self.n_heads:
            raise LogicLensError(f"target must be 0 to {self.n_heads - 1}, got {target}.")
        return int(target)

    def relevant(self, head: int) -> NDArray[np.intp]:
        """μ: the columns of a head's relevant concepts, in table order."""
        return np.flatnonzero(self.uses[head])

    def taken_in(self, head: int) -> NDArray[np.intp]:
        """Concepts of other heads that the answer of a class depends on, the most telling first.

        With `argmax` a class is answered by all heads together. Where a head's own concepts leave contradictions, those
        of the others are taken in one by one, each time the one that makes the rows purest (Gini), while it helps.
        """
        own, yes, weight = self.relevant(head), self.yes[:, head], self.table.weight
        if self.answer != "argmax":
            return own[:0]
        others = np.setdiff1d(np.flatnonzero(self.uses.any(axis=0)), own)
        _, group = distinct(self.bits[:, own])
        taken: list[int] = []
        impurity = _gini(group, yes, weight)
        worth = MIN_GAIN * min(weight[yes].sum(), weight[~yes].sum())
        # No concept can bring more than the impurity there is.
        while impurity > worth and len(others) and len(taken) < MAX_TAKEN_IN:
            splits = [_gini(2 * group + self.bits[:, column], yes, weight) for column in others]
            best = int(np.argmin(splits))
            if splits[best] > impurity - worth:
                break
            taken.append(int(others[best]))
            _, group = distinct(self.bits[:, [*own, *taken]])
            impurity, others = splits[best], np.delete(others, best)
        return np.array(taken, dtype=np.intp)

    def truth_table(self, head: int, taken_in: NDArray[np.intp] | None = None) -> TruthTable:
        """T^i, eq. (truth-table): all rows seen through the head's relevant concepts, with the network's answer."""
        columns = self.relevant(head) if taken_in is None else np.sort(np.concatenate([self.relevant(head), taken_in]))
        names = [self.table.names[c] for c in columns]
        groups = self.table.groups
        return TruthTable.of(
            self.bits[:, columns],
            names,
            self.yes[:, head],
            weight=self.table.weight,
            exclusive=groups.exclusive,
            implied=groups.implied,
        )


def read(network: nn.Module, table: ConceptTable, answer: Answer | None = None, *, exact: bool = False) -> Reading:
    """Send the rows through the network once and note its answers for every class.

    Without `answer`, one class per row is read by the largest output, and a single head or several labels per row by
    threshold. With `exact` the relevant concepts of a head are those that it keeps, whatever their relevance. The
    network is read in evaluation mode and left as it was.
    """
    if answer not in ("argmax", "threshold", None):
        raise LogicLensError(f"answer must be 'argmax' or 'threshold', got {answer!r}.")
    layer = _concept_layer(network, table)
    weight = layer.weight
    with evaluating(network), torch.no_grad():
        parts = []
        for start in range(0, len(table), BATCH):
            rows = torch.tensor(np.array(table.values[start : start + BATCH]), dtype=weight.dtype, device=weight.device)
            parts.append(network(rows).cpu().double())
        logits = torch.cat(parts)
        relevance = layer.relevance().cpu().double().numpy()
        uses = layer.keep.cpu().numpy().copy() if exact else relevance >= THRESHOLD
    if logits.ndim == 3 and logits.shape[-1] == 1:
        logits = logits.squeeze(-1)
    if logits.ndim != 2 or logits.shape[1] != layer.n_classes:
        raise LogicLensError(
            f"the network must give one output for each of its {layer.n_classes} heads, got shape {list(logits.shape)}."
        )
    if not bool(torch.isfinite(logits).all()):
        raise LogicLensError("the network gives NaN or infinite outputs on these rows: it cannot be explained.")
    if answer is None:
        answer = "threshold" if logits.shape[1] == 1 or table.is_multilabel else "argmax"
    yes = _argmax(logits) if answer == "argmax" else logits >= 0
    names = _class_names(table, logits.shape[1])
    return Reading(table, logits.numpy(), yes.numpy(), answer, relevance, uses, names, network)


@contextmanager
def keeping(reading: Reading) -> Iterator[None]:
    """Inside, every head of the network that was read sees its relevant concepts only."""
    layer = _concept_layer(reading.network, reading.table)
    kept = layer.keep.clone()
    layer.keep.copy_(torch.from_numpy(reading.uses))
    try:
        yield
    finally:
        layer.keep.copy_(kept)


def _concept_layer(network: nn.Module, table: ConceptTable) -> EntropyLogicLayer:
    """The entropy layer that the rows themselves enter, seen by sending one row through."""
    if not isinstance(network, nn.Module):
        raise LogicLensError(f"expected a torch network to explain, got {type(network).__name__}.")
    first = first_entropy_layer(network)
    if all(layer.in_features != table.n_concepts for layer in entropy_layers(network)):
        raise LogicLensError(f"the network takes {first.in_features} concepts, the rows have {table.n_concepts}.")
    row = torch.tensor(np.array(table.values[:1]), dtype=first.weight.dtype, device=first.weight.device)
    seen: dict[EntropyLogicLayer, bool] = {}

    def look(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        if isinstance(module, EntropyLogicLayer):
            seen[module] = inputs[0].shape == row.shape and torch.equal(inputs[0], row)

    hooks = [layer.register_forward_pre_hook(look) for layer in entropy_layers(network)]
    try:
        with evaluating(network), torch.no_grad():
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


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluation mode inside, every module's own mode again afterwards."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def _gini(group: NDArray[np.intp], yes: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    """The weight of rows that share a group with rows of the other answer: Σ yes · no / (yes + no)."""
    for_yes, total = np.bincount(group, weight * yes), np.bincount(group, weight)
    shares = np.divide(for_yes * (total - for_yes), total, out=np.zeros_like(total), where=total > 0)
    return float(shares.sum())


def _argmax(logits: torch.Tensor) -> torch.Tensor:
    # Exactly one head answers yes, also where two outputs are equal.
    return torch.zeros_like(logits, dtype=torch.bool).scatter_(1, logits.argmax(dim=1, keepdim=True), True)


def _class_names(table: ConceptTable, n_heads: int) -> tuple[str, ...]:
    names = table.class_names
    if n_heads == 1 and len(names) == 2 and not table.is_multilabel:
        return names[1:]
    if names and len(names) != n_heads:
        raise LogicLensError(f"the network has {n_heads} head(s), the rows name {len(names)} classes.")
    return names or tuple(f"class {i}" for i in range(n_heads))
