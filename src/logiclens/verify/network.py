r"""Logits of a head on hard 0/1 rows in float64, and a bound on the difference from a float32 run.

`claim` and `units` use this module.

**The head.** With kept concepts K, strength γ_j = Σ_h |w_hj| and relevance α̃_j = exp((γ_j − max_K γ)/τ) on K, exactly 0
elsewhere: h¹ = b¹ + Σ_{j∈K} c_j α̃_j w_j, then a = max(h, 0) and h = W a + b for each layer; the last h is the logit.

**The model of float32.** Every operation gives (x ∘ y)(1 + δ) + ε with |δ| ≤ u = 2⁻²⁴ and |ε| ≤ η = 2⁻¹²⁶. η also
covers processors that flush subnormal results or arguments to 0. The relative error of exp is assumed to be at most 8u,
which is 4 units in the last place; math libraries guarantee 1 or 2. Sums may run in any order, and products may be
fused into them. Lower precision (TF32, bfloat16) is a different arithmetic and is not covered.

**The bound**, with g(k) = ku/(1 − ku): the error of a sum of k + 1 terms in any order is at most g(k) Σ|terms|.

1. γ_j has the error e_j = g(n) γ_j + 4nη for width n.
2. s_j = (γ_j − max γ)/τ = min(0, γ_j − max_{k≠j} γ_k)/τ increases with γ_j and decreases with the others. Before its
   own roundings it is therefore at least min(0, γ_j − e_j − max_{k≠j}(γ_k + e_k))/τ and at most
   min(0, γ_j + e_j − max_{k≠j}(γ_k − e_k))/τ. Both are 0 if j is certainly the strongest. Its own roundings widen this
   interval by g(4) of each endpoint and by η(1 + 2/τ). The roundings are those of the difference, of τ to float32, and
   of the division, which some devices compute as reciprocal and product. s_j is never above 0. Call the endpoints s⁻
   and s⁺.
3. α̃_j = exp(s_j) has the error ρ_j = max(exp(s⁺)(1 + 8u) − α̃_j, α̃_j − exp(s⁻)(1 − 8u)) + η.
4. The folded weight f_hj = w_hj α̃_j has the error φ_hj = (1 + u)|w_hj| ρ_j + u|f_hj| + 2η.
5. h¹ is the sum of b and those f_j with c_j = 1; c_j f_j and adding 0 are exact. With m = |K| and g = g(m + 1):
   E¹ = Σ_j c_j ((1 + g) φ_hj + g|f_hj|) + g|b_h| + 4(m + 2)η.
6. ReLU increases no error. h = W a + b has n products, each rounded once and then in up to n additions. With
   g = g(n + 1) and E the error of a: E' = Σ ((1 + g)|w| + 2η) E + Σ (g|w| + 2η) a + g|b| + 4(n + 2)η.

E is computed for every row. The bound is the largest E of the last layer, increased by the factor 1 + 2⁻²⁰ because this
module computes in float64: the same analysis with u = 2⁻⁵³ shows that the errors of the float64 logits and of E itself
are below that share of it. The bound is infinite in two cases. First, an intermediate value, which is at most E/g,
could exceed the largest float32 number. Second, s⁻ or s⁺ differs from s_j by more than 64, because then float32 does
not determine the relevance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from .files import AGAIN, WEIGHTS, Unusable, shown
from .records import Model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Linear:
    """h ↦ W h + b, with W `[out, in]`."""

    weight: Floats
    bias: Floats


@dataclass(frozen=True)
class Head:
    """The network of one class: an entropy layer, then ReLU and linear layers in turn.

    Attributes:
        entropy: weights of the entropy layer, `[width, concepts]`.
        keep: which concepts the entropy layer keeps.
        tail: the linear layers; each follows a ReLU.
        temperature: τ of the entropy layer.
    """

    entropy: Linear
    keep: NDArray[np.bool_]
    tail: tuple[Linear, ...]
    temperature: float


def read_heads(content: bytes, model: Model) -> tuple[Head, ...]:
    """Read the heads from the weights file.

    Args:
        content: bytes of `weights.safetensors`.
        model: the contents of `model.json`, which determine names, dtypes and shapes of the tensors.

    Returns:
        The heads in the order of the class names.

    Raises:
        Unusable: a tensor is missing, unexpected, not finite, or of another dtype or shape.
    """
    tensors = _load(content)
    expected = dict(_expected(model))
    if set(tensors) != set(expected):
        missing, unexpected = sorted(set(expected) - set(tensors)), sorted(set(tensors) - set(expected))
        what = f"no {missing[0]}" if missing else f"an unexpected {shown(unexpected[0])}"
        raise Unusable(f"{WEIGHTS} has {what}: the tensors must be those of the network in model.json. {AGAIN}")
    for name, (dtype, shape) in expected.items():
        _check(name, tensors[name], dtype, shape)
    # The conversion is exact: every float32 number is a float64 number.
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
    # KeyError: NumPy does not have the dtype. The others: NumPy cannot hold the size.
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
        # Readers differ in how they interpret a byte such as 2.
        if tensor.view(np.uint8).max() > 1:
            raise Unusable(f"{name} in {WEIGHTS} must hold the bytes 0 and 1 only. {AGAIN}")
    elif not np.isfinite(tensor).all():
        raise Unusable(f"{name} in {WEIGHTS} must be finite, and holds NaN or infinity. {AGAIN}")


UNIT = 2.0**-24
TINY = 2.0**-126
LARGEST = float(np.finfo(np.float32).max)
EXP_ERROR = 8 * UNIT
FARTHEST = 64.0
SPARE = 1 + 2.0**-20
BATCH_NUMBERS = 2**19
"""Maximum number of elements, 4 MB, in the widest matrix of a batch; wide heads use smaller batches."""


@dataclass(frozen=True)
class Logits:
    """The logit of each row, and a bound on the difference of a float32 run from any of them."""

    values: Floats
    bound: float


@dataclass(frozen=True)
class Layer:
    """A linear map and the propagation of its error, as matrices to multiply from the right.

    Attributes:
        weight: maps the incoming values.
        bias: is added to the result.
        error_of_error: maps the incoming errors to errors of the result.
        error_of_value: maps the incoming values to errors of the result.
        error: constant part of the error.
        relative: g of the layer; the error divided by it bounds the intermediate values.
    """

    weight: Floats
    bias: Floats
    error_of_error: Floats
    error_of_value: Floats
    error: Floats
    relative: float


def logits(head: Head, rows: NDArray[np.intp]) -> Logits:
    """Run a head on rows.

    Args:
        head: the network of one class.
        rows: row numbers; the first kept concept is the highest bit.
    """
    # An overflow makes the bound infinite, so NumPy's warnings are not needed.
    with np.errstate(all="ignore"):
        layers = [entropy_layer(head), *(_linear_layer(linear) for linear in head.tail)]
        values, bound = np.empty(len(rows)), 0.0
        # Use all strengths: float32 subtracts the largest even if the head keeps no concept.
        if 2 * strengths(head).max() > LARGEST:
            bound = np.inf
        kept = int(head.keep.sum())
        for batch in _batches(len(rows), max(kept, *(len(layer.bias) for layer in layers))):
            values[batch], error = _forward(layers, _bits(rows[batch], kept))
            bound = max(bound, error)
    return Logits(values, bound * SPARE)


def relevance(head: Head) -> tuple[Floats, Floats]:
    """Return α̃ of the kept concepts, and a bound on the float32 error of each (steps 1 to 3)."""
    strength, width, tau = strengths(head)[head.keep], len(head.entropy.weight), head.temperature
    error, own = gamma(width) * strength + 4 * width * TINY, TINY * (1 + 2 / tau)
    scaled = (strength - strength.max(initial=0.0)) / tau
    low = np.minimum(strength - error - _largest_other(strength + error), 0) / tau * (1 + gamma(4)) - own
    high = np.minimum(strength + error - _largest_other(strength - error), 0) / tau * (1 - gamma(4)) + own
    exact = np.exp(scaled)
    above = np.exp(np.minimum(high, 0)) * (1 + EXP_ERROR) - exact
    below = exact - np.exp(low) * (1 - EXP_ERROR)
    determined = np.maximum(high - scaled, scaled - low) <= FARTHEST
    return exact, np.where(determined, np.maximum(above, below) + TINY, np.inf)


def _largest_other(values: Floats) -> Floats:
    """Return for each number the largest of the others; −∞ if there are none."""
    *_, second, first = -np.inf, -np.inf, *np.sort(values)
    return np.where(values == first, second, first)


def gamma(count: int) -> float:
    """Return g(k), the bound on the relative error of k successive roundings."""
    return count * UNIT / (1 - count * UNIT) if count * UNIT < 0.5 else np.inf


def strengths(head: Head) -> Floats:
    """Return γ of all concepts, including those that are not kept."""
    total: Floats = abs(head.entropy.weight).sum(axis=0)
    return total


def entropy_layer(head: Head) -> Layer:
    """Return the entropy layer with folded weights (steps 4 and 5); its input has no error because rows are exact."""
    exact, error = relevance(head)
    weight, bias = head.entropy.weight[:, head.keep], head.entropy.bias
    folded = weight * exact
    folded_error = (1 + UNIT) * abs(weight) * error + UNIT * abs(folded) + 2 * TINY
    relative = gamma(len(exact) + 1)
    per_concept = (1 + relative) * folded_error + relative * abs(folded)
    constant = relative * abs(bias) + 4 * (len(exact) + 2) * TINY
    return Layer(folded.T, bias, np.empty((0, len(bias))), per_concept.T, constant, relative)


def _linear_layer(linear: Linear) -> Layer:
    """Return a linear layer (step 6)."""
    weight, bias = linear.weight, linear.bias
    width = weight.shape[1]
    relative = gamma(width + 1)
    of_error = (1 + relative) * abs(weight) + 2 * TINY
    of_value = relative * abs(weight) + 2 * TINY
    constant = relative * abs(bias) + 4 * (width + 2) * TINY
    return Layer(weight.T, bias, of_error.T, of_value.T, constant, relative)


def _forward(layers: list[Layer], rows: Floats) -> tuple[Floats, float]:
    """Return the logits of the rows and their largest error, which is infinite if float32 could overflow."""
    value, error, largest = rows, np.zeros((len(rows), 0)), 0.0
    for depth, layer in enumerate(layers):
        if depth:
            value = np.maximum(value, 0)
        # Compute the error first because it needs the incoming values.
        error = error @ layer.error_of_error + value @ layer.error_of_value + layer.error
        value = value @ layer.weight + layer.bias
        largest = float(error.max())
        # `not <` instead of `>=`, so that NaN counts as overflow too.
        if not 2 * largest / layer.relative < LARGEST:
            return value[:, 0], np.inf
    return value[:, 0], largest


def _bits(rows: NDArray[np.intp], width: int) -> Floats:
    shifts = np.arange(width - 1, -1, -1)
    return ((rows[:, None] >> shifts) & 1).astype(np.float64)


def _batches(count: int, widest: int) -> Iterator[slice]:
    size = max(1, BATCH_NUMBERS // max(widest, 1))
    return (slice(start, start + size) for start in range(0, count, size))
