"""Send rows through a network: one forward pass gives the answers, relevances and truth tables of all classes.

Reading never changes a network, so that many threads can read one network at the same time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, Dataset

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, quoted
from logiclens.explain.reading import Answer, Reading
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
from logiclens.nn.rule_net import RuleNet
from logiclens.train.threads import threads_for

BATCH = 65_536
"""Number of rows in one forward pass."""

STATELESS = {
    EntropyNet, RuleNet, EntropyLogicLayer, LinearIndependent, nn.Linear, nn.Flatten, nn.Sequential, nn.ModuleList,
    nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh,
}  # fmt: skip
"""Modules whose outputs depend on their weights and inputs alone, and that no forward pass changes."""


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
) -> Reading:
    """Send the rows through the network once and record its answers for every class.

    The network is read in evaluation mode and never changed. A network of another type than `EntropyNet` and
    `RuleNet` is copied for that, because its modules may behave differently in training.

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
        relevance = _relevance(evaluated, layer)
        uses = relevance >= THRESHOLD
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
    return Reading(table, outputs, answer, kind, select, relevance, uses, names, CUTS[kind], network)


def relevance_of(network: EntropyNet | RuleNet) -> NDArray[np.float64]:
    """Return α̃ of each concept in each head, its own or through a rule."""
    return _relevance(network, first_entropy_layer(network))


def _relevance(network: nn.Module, layer: EntropyLogicLayer) -> NDArray[np.float64]:
    with torch.no_grad():
        leans = network.relevance() if isinstance(network, RuleNet) else layer.relevance()
        relevance: NDArray[np.float64] = leans.cpu().double().numpy()
    return relevance


def restricted(network: nn.Module, reading: Reading) -> nn.Module:
    """Return a copy of the network that was read in which every head sees its relevant concepts only."""
    network = private_copy(network)
    keep = torch.from_numpy(reading.uses)
    if isinstance(network, RuleNet):
        # A head sees a rule only if it sees all of its concepts.
        keep = torch.cat([keep, ((network.cubes != 0) <= keep[:, None]).all(dim=2)], dim=1)
    _concept_layer(network, reading.table).keep.copy_(keep)
    return network


def _evaluated(network: nn.Module) -> nn.Module:
    """Return the network if a forward pass cannot change it, else a private copy in evaluation mode."""
    if not isinstance(network, nn.Module):
        raise LogicLensError(f"expected a torch network to explain, got {type(network).__name__}.")
    return network if _is_own(network) else private_copy(network)


def _is_own(network: nn.Module) -> bool:
    """Return whether this is a network of this package whose forward pass changes nothing."""
    own = type(network) in (EntropyNet, RuleNet)
    return own and all(type(module) in STATELESS for module in network.modules())


def _concept_layer(network: nn.Module, table: ConceptTable) -> EntropyLogicLayer:
    """Return the entropy layer that the rows enter.

    For a network of another type, send one row to find it: the network must be a private copy, because hooks are added
    to it.
    """
    first = first_entropy_layer(network)
    n_rules = len(network.cubes) if isinstance(network, RuleNet) else 0
    if _is_own(network) and first.in_features - n_rules == table.n_concepts:
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
