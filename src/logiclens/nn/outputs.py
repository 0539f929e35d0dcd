"""What the outputs of a network are: logits, probabilities, their logarithms, or labels.

`explain.read` and `ConceptBottleneck` use it. The last operation of a network is read off the graph that autograd
records on one row. Unlike a symbolic trace, this follows any Python code in `forward`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from logiclens.errors import LogicLensError, quoted, quoted_names

OutputKind = Literal["logits", "probabilities", "log-probabilities", "labels"]
Output = Literal["auto", OutputKind]
Select: TypeAlias = Callable[[Any], Tensor]
"""A function that takes the outputs from what a network returns, such as `lambda out: out["y"]`."""

CUTS: Mapping[OutputKind, float] = {
    "logits": 0.0,
    "probabilities": 0.5,
    # Rounded to float32, as the outputs of most networks are, so that a probability of exactly 0.5 says yes.
    "log-probabilities": float(np.float32(math.log(0.5))),
    "labels": 0.5,
}
"""The least output of a head that says yes."""

_KINDS: Mapping[str, OutputKind] = {
    "Sigmoid": "probabilities",
    "Hardsigmoid": "probabilities",
    "Softmax": "probabilities",
    "LogSigmoid": "log-probabilities",
    "LogSoftmax": "log-probabilities",
}
_PRODUCTS = {"Addmm", "Addmv", "Baddbmm", "Bmm", "Convolution", "Linear", "Mm", "Mv"}
_SCALING = {"Add", "Div", "Mul", "Neg", "Sub"}
_RESHAPING = {
    "Alias", "Clone", "Expand", "Permute", "ReshapeAlias", "Select", "Slice", "Split", "Squeeze", "T", "ToCopy",
    "Transpose", "Unbind", "UnsafeView", "Unsqueeze", "View",
}  # fmt: skip


def check_output(output: str, allowed: tuple[str, ...] = ("auto", *get_args(OutputKind))) -> None:
    """Raise an error unless `output` is one of the allowed words."""
    if output not in allowed:
        raise LogicLensError(f"output must be one of {quoted_names(allowed)}, got {quoted(output)}.")


def selected(returned: Any, select: Select | None = None) -> Tensor:
    """Return the outputs of a network from what it returns, or raise an error that says how to select them.

    Args:
        returned: what the network returned.
        select: the function that takes the outputs from it. Default: None, it is the outputs.

    >>> selected({"y": torch.zeros(2), "c": torch.ones(3)}, select=lambda out: out["y"])
    tensor([0., 0.])
    """
    if select is not None:
        try:
            outputs = select(returned)
        except (LookupError, TypeError, AttributeError) as error:
            raise LogicLensError(
                f"select does not fit what the network returns, {_described(returned)}: "
                f"{type(error).__name__}: {error}."
            ) from error
        if not isinstance(outputs, Tensor):
            raise LogicLensError(f"select must return a tensor of outputs, got {_described(outputs)}.")
        return outputs
    if not isinstance(returned, Tensor):
        key = repr(next(iter(returned), 0)) if isinstance(returned, Mapping) else "0"
        raise LogicLensError(
            f"the network returns {_described(returned)}: say where its outputs are, such as "
            f"select=lambda out: out[{key}]."
        )
    return returned


def _described(returned: Any) -> str:
    if isinstance(returned, Mapping):
        return f"a dictionary with {quoted_names([str(key) for key in returned])}"
    return f"a {type(returned).__name__}" + (f" of {len(returned)}" if isinstance(returned, tuple | list) else "")


def private_copy(network: nn.Module) -> nn.Module:
    """Return a copy in evaluation mode. Tensors that the network computed from its parameters are shared."""
    # torch refuses to copy computed tensors, such as the weight of `weight_norm`; a forward pass computes them again.
    values = (value for module in network.modules() for value in vars(module).values())
    computed = {id(value): value for value in values if isinstance(value, Tensor) and not value.is_leaf}
    try:
        return copy.deepcopy(network, computed).eval()
    except Exception as error:
        raise LogicLensError(
            f"this network cannot be copied ({type(error).__name__}: {error}). It is read on a copy, so that it stays "
            "unchanged: remove the attribute that copy.deepcopy refuses, or give its class a __deepcopy__ method."
        ) from error


def traced_kind(network: nn.Module, row: Tensor, select: Select | None = None) -> OutputKind | None:
    """Return what the outputs of a network are by its last operation; None if that operation says nothing.

    Args:
        network: a private copy of the network: its parameters are marked as trainable.
        row: one row of its inputs, or several.
        select: see `selected`. Default: None.

    >>> traced_kind(nn.Sequential(nn.Linear(3, 1), nn.Sigmoid()), torch.rand(1, 3))
    'probabilities'
    """
    try:
        for parameter in network.parameters():
            parameter.requires_grad_(parameter.is_floating_point() or parameter.requires_grad)
        with torch.enable_grad():
            outputs = selected(network(row.detach().clone().requires_grad_(row.is_floating_point())), select)
    except RuntimeError:
        # Some forward passes, such as those that change their input in place, refuse gradients.
        return None
    return last_operation(outputs)


def checked_logits(network: nn.Module, rows: Tensor, *, exclusive: bool) -> Tensor:
    """Return the outputs of a network that is to be trained on logits, or raise an error if they are probabilities.

    Args:
        network: the network, in evaluation mode.
        rows: its inputs.
        exclusive: whether the loss takes a softmax of several outputs: logarithms of probabilities are logits then.
    """
    with torch.enable_grad():
        outputs = selected(network(rows))
    kind = last_operation(outputs)
    takes_logarithms = exclusive and outputs.ndim == 2 and outputs.shape[1] > 1
    if kind == "probabilities" or (kind == "log-probabilities" and not takes_logarithms):
        raise LogicLensError(
            f"training takes logits, but the last operation of the {type(network).__name__} gives {kind}: leave it out."
        )
    return outputs.detach()


def last_operation(outputs: Tensor) -> OutputKind | None:
    """Return what outputs are by the operation that computed them; None if it says nothing, or none was recorded.

    Operations that change shape or precision only are looked through. A matrix product with a parameter gives logits,
    also scaled and added to others. Another product does not: it may be a mixture of probabilities.

    >>> logits = nn.Linear(3, 2)(torch.rand(4, 3))
    >>> last_operation(logits), last_operation(torch.sigmoid(logits)[:, 0]), last_operation(logits.exp())
    ('logits', 'probabilities', None)
    """
    return None if outputs.grad_fn is None else _kind_of_node(outputs.grad_fn)


def _kind_of_node(node: Any) -> OutputKind | None:
    name = type(node).__name__.rstrip("0123456789").removesuffix("Backward")
    inputs = [parent for parent, _ in node.next_functions if parent is not None]
    if name in _KINDS:
        return _KINDS[name]
    if name in _PRODUCTS:
        return "logits" if any(map(_is_parameter, inputs)) else None
    if name in _RESHAPING and inputs:
        return _kind_of_node(inputs[0])
    if name in _SCALING:
        kinds = {_kind_of_node(parent) for parent in inputs if not _is_parameter(parent)}
        return "logits" if kinds == {"logits"} else None
    if name in ("Cat", "Stack"):
        kinds = {_kind_of_node(parent) for parent in inputs}
        return kinds.pop() if len(kinds) == 1 else None
    return None


def _is_parameter(node: Any) -> bool:
    """Return whether a node is a parameter, perhaps in another shape or precision."""
    while type(node).__name__.rstrip("0123456789").removesuffix("Backward") in _RESHAPING and node.next_functions:
        node = node.next_functions[0][0]
    return isinstance(getattr(node, "variable", None), nn.Parameter)


def as_heads(outputs: NDArray[Any], n_heads: int, output: Output) -> tuple[NDArray[np.float64], Output]:
    """Return outputs as `[rows, heads]`, and what they are as far as their shape and type say.

    A column or vector for several heads must be class numbers.

    Args:
        outputs: the outputs of a network.
        n_heads: the number of its heads.
        output: what the caller says that they are.
    """
    if outputs.ndim == 3 and outputs.shape[-1] == 1:
        outputs = outputs[..., 0]
    if outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.dtype.kind in "biu" and output == "auto":
        output = "labels"
    outputs = outputs.astype(np.float64)
    if outputs.ndim != 2 or outputs.shape[1] not in (1, n_heads):
        raise LogicLensError(
            f"the network must give one output for each of its {n_heads} heads, got shape {list(outputs.shape)}."
        )
    if not np.isfinite(outputs).all():
        raise LogicLensError("the network gives NaN or infinite outputs on these rows: it cannot be explained.")
    if outputs.shape[1] == n_heads:
        return outputs, output
    if output not in ("auto", "labels") or not _are_whole(outputs, n_heads):
        raise LogicLensError(
            f"the network has {n_heads} heads and gives a single column, which must be class numbers 0 to "
            f"{n_heads - 1}."
        )
    return np.eye(n_heads)[outputs[:, 0].astype(np.intp)], "labels"


def resolved(outputs: NDArray[np.float64], output: Output, kind: OutputKind | None, *, exclusive: bool) -> OutputKind:
    """Return what outputs `[rows, heads]` are, from what the caller says, the last operation, and the values.

    Args:
        outputs: the outputs.
        output: what the caller says that they are.
        kind: what the last operation says; None if it says nothing.
        exclusive: whether the largest output answers. It answers alike whatever the outputs are, so that nothing needs
            to be asked.

    Raises:
        LogicLensError: if the values contradict the caller, or nothing says what they are.
    """
    low, high = float(outputs.min()), float(outputs.max())
    if output != "auto":
        ranges = {"probabilities": (0.0, 1.0), "log-probabilities": (-math.inf, 0.0), "labels": (0.0, 1.0)}
        least, most = ranges.get(output, (-math.inf, math.inf))
        if low < least or high > most or (output == "labels" and not _are_whole(outputs, 2)):
            raise LogicLensError(
                f"the outputs are no {output}: they reach from {low:.3g} to {high:.3g}. Pass another output=..."
            )
        if output == "labels" and exclusive and not (outputs.sum(axis=1) == 1).all():
            raise LogicLensError(
                "the network gives some rows no label or several: if a row may have several, pass multilabel=True or "
                'answer="threshold".'
            )
        return output
    if kind is not None:
        return kind
    if exclusive:
        is_distribution = low >= 0 and bool(np.allclose(outputs.sum(axis=1), 1, atol=1e-4))
        return "probabilities" if is_distribution else "logits"
    if _are_whole(outputs, 2):
        return "labels"
    if low < 0 < high:
        return "logits"
    raise LogicLensError(
        f"the outputs reach from {low:.3g} to {high:.3g}, and the last operation of the network does not say what they "
        'are: pass output="logits" (yes from 0 on), output="probabilities" (yes from 0.5 on) or '
        'output="log-probabilities".'
    )


def _are_whole(outputs: NDArray[np.float64], n: int) -> bool:
    """Return whether all values are whole numbers from 0 to below n."""
    return bool(((outputs == np.round(outputs)) & (outputs >= 0) & (outputs < n)).all())
