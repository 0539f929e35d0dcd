"""`weights.safetensors` as the heads of a network: one small network each, in float64."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from .errors import Unusable
from .fields import AGAIN, shown
from .files import WEIGHTS
from .records import Model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Linear:
    """h ↦ W h + b, with W `[out, in]`."""

    weight: Floats
    bias: Floats


@dataclass(frozen=True)
class Head:
    """The network of one class: an entropy layer, of which `keep` removes concepts, then ReLU and linear in turn."""

    entropy: Linear
    keep: NDArray[np.bool_]
    tail: tuple[Linear, ...]
    temperature: float


def read_heads(content: bytes, model: Model) -> tuple[Head, ...]:
    """The heads in the order of the class names; raises where a tensor is missing, unexpected or of another shape."""
    tensors = _load(content)
    expected = dict(_expected(model))
    if set(tensors) != set(expected):
        missing, unexpected = sorted(set(expected) - set(tensors)), sorted(set(tensors) - set(expected))
        what = f"no {missing[0]}" if missing else f"an unexpected {shown(unexpected[0])}"
        raise Unusable(f"{WEIGHTS} has {what}: the tensors must be those of the network in model.json. {AGAIN}")
    for name, (dtype, shape) in expected.items():
        _check(name, tensors[name], dtype, shape)
    # Every float32 number is a float64 number: nothing is lost here.
    exact = {name: tensor.astype(np.float64) for name, tensor in tensors.items() if name != "entropy.keep"}
    tail = [f"tail.{2 * layer + 1}" for layer in range(len(model.hidden))]
    return tuple(
        Head(
            Linear(exact["entropy.weight"][head], exact["entropy.bias"][head]),
            tensors["entropy.keep"][head],
            tuple(Linear(exact[f"{name}.weight"][head], exact[f"{name}.bias"][head]) for name in tail),
            model.temperature,
        )
        for head in range(len(model.class_names))
    )


def _load(content: bytes) -> dict[str, NDArray[np.generic]]:
    try:
        return load(content)
    # KeyError: a dtype that NumPy does not have; the others: sizes that NumPy cannot hold.
    except (SafetensorError, KeyError, ValueError, OverflowError, TypeError) as error:
        raise Unusable(f"{WEIGHTS} cannot be read ({type(error).__name__}: {shown(str(error))}). {AGAIN}") from None


def _expected(model: Model) -> Iterator[tuple[str, tuple[type[np.generic], tuple[int, ...]]]]:
    heads, concepts = len(model.class_names), len(model.concepts)
    yield "entropy.weight", (np.float32, (heads, model.hidden[0], concepts))
    yield "entropy.bias", (np.float32, (heads, model.hidden[0]))
    yield "entropy.keep", (np.bool_, (heads, concepts))
    for layer, (width, out) in enumerate(zip(model.hidden, (*model.hidden[1:], 1), strict=True)):
        yield f"tail.{2 * layer + 1}.weight", (np.float32, (heads, out, width))
        yield f"tail.{2 * layer + 1}.bias", (np.float32, (heads, out))


def _check(name: str, tensor: NDArray[np.generic], dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    if tensor.dtype != dtype or tensor.shape != shape:
        raise Unusable(
            f"{name} in {WEIGHTS} must be {np.dtype(dtype)} of shape {list(shape)}, "
            f"got {tensor.dtype} of shape {list(tensor.shape)}. {AGAIN}"
        )
    if dtype is np.bool_:
        # A byte of 2 is true to some readers and odd to others.
        if tensor.view(np.uint8).max() > 1:
            raise Unusable(f"{name} in {WEIGHTS} must hold the bytes 0 and 1 only. {AGAIN}")
    elif not np.isfinite(tensor).all():
        raise Unusable(f"{name} in {WEIGHTS} must be finite, and holds NaN or infinity. {AGAIN}")
