r"""The logits of a head on hard 0/1 rows, in float64, and how far float32 can be from them.

**The head.** With kept concepts K, strength γ_j = Σ_h |w_hj| and relevance α̃_j = exp((γ_j − max_K γ)/τ) on K, exactly 0
elsewhere: h¹ = b¹ + Σ_{j∈K} c_j α̃_j w_j, then a = max(h, 0) and h = W a + b for each layer; the last h is the logit.

**The model of float32.** Every operation gives (x ∘ y)(1 + δ) + ε with |δ| ≤ u = 2⁻²⁴ and |ε| ≤ η = 2⁻¹²⁶; η also
covers processors that flush subnormal numbers to 0 in results or arguments. exp is assumed accurate to 4 units in the
last place, 8u relatively (math libraries promise 1 or 2). Sums may run in any order, with products fused into them.
Lower precision (TF32, bfloat16) is another arithmetic, and is not covered.

**The bound**, with g(k) = ku/(1 − ku), for which a sum of k + 1 terms in any order errs by at most g(k) Σ|terms|:

1. γ_j errs by e_j = g(n) γ_j + 4nη for width n.
2. s_j = (γ_j − max γ)/τ = min(0, γ_j − max_{k≠j} γ_k)/τ, which grows with γ_j and falls with the others. So before its
   own roundings it is at least min(0, γ_j − e_j − max_{k≠j}(γ_k + e_k))/τ and at most
   min(0, γ_j + e_j − max_{k≠j}(γ_k − e_k))/τ; both are 0 where j is the strongest beyond doubt. Its own roundings widen
   this by g(4) of each end (the difference, τ rounded to float32, and the division, which some devices do as
   reciprocal and product) and by η(1 + 2/τ). It is never above 0. Call the ends s⁻ and s⁺.
3. α̃_j = exp(s_j) errs by ρ_j = max(exp(s⁺)(1 + 8u) − α̃_j, α̃_j − exp(s⁻)(1 − 8u)) + η.
4. Folded weight f_hj = w_hj α̃_j: φ_hj = (1 + u)|w_hj| ρ_j + u|f_hj| + 2η.
5. h¹, a sum of b and those f_j whose c_j = 1 (c_j f_j and adding 0 are exact), m = |K|, g = g(m + 1):
   E¹ = Σ_j c_j ((1 + g) φ_hj + g|f_hj|) + g|b_h| + 4(m + 2)η.
6. ReLU enlarges no error. h = W a + b with n products, each rounded once and then in up to n additions, g = g(n + 1),
   where a errs by E: E' = Σ ((1 + g)|w| + 2η) E + Σ (g|w| + 2η) a + g|b| + 4(n + 2)η.

E is computed for every row; the bound is the largest of the last E, made larger by 2⁻²⁰ for the float64 used here: the
same analysis with u = 2⁻⁵³ shows that the float64 logits and E itself err by less than that share of it. The bound is
infinite where an intermediate, which is at most E/g, could pass the largest float32 number, and where s⁻ or s⁺ is more
than 64 from s_j, because then float32 does not determine relevance.
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


UNIT = 2.0**-24
TINY = 2.0**-126
LARGEST = float(np.finfo(np.float32).max)
EXP_ERROR = 8 * UNIT
FARTHEST = 64.0
SPARE = 1 + 2.0**-20
BATCH_NUMBERS = 2**19
"""Numbers in the widest matrix of a batch, 4 MB: wide heads go through in smaller batches."""


@dataclass(frozen=True)
class Logits:
    """The logit of each row, and the most by which a float32 run differs from any of them."""

    values: Floats
    bound: float


@dataclass(frozen=True)
class Layer:
    """A linear map as matrices to multiply from the right, and the same for its errors."""

    weight: Floats
    bias: Floats
    error_of_error: Floats
    error_of_value: Floats
    error: Floats
    relative: float


def logits(head: Head, rows: NDArray[np.intp]) -> Logits:
    """Run a head on rows given by number: the first kept concept is the highest bit."""
    # Sizes that overflow are found in the bound; NumPy need not warn of them too.
    with np.errstate(all="ignore"):
        layers = [entropy_layer(head), *(_linear_layer(linear) for linear in head.tail)]
        values, bound = np.empty(len(rows)), 0.0
        # All strengths count: where a head keeps none of its concepts, float32 still subtracts the largest.
        if 2 * strengths(head).max() > LARGEST:
            bound = np.inf
        kept = int(head.keep.sum())
        for batch in _batches(len(rows), max(kept, *(len(layer.bias) for layer in layers))):
            values[batch], error = _forward(layers, _bits(rows[batch], kept))
            bound = max(bound, error)
    return Logits(values, bound * SPARE)


def relevance(head: Head) -> tuple[Floats, Floats]:
    """α̃ of the kept concepts, and the most by which float32 errs on each; steps 1 to 3."""
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
    """For each number the largest of the others; −∞ where there are none."""
    *_, second, first = -np.inf, -np.inf, *np.sort(values)
    return np.where(values == first, second, first)


def gamma(count: int) -> float:
    """g(k): how far k roundings, one after the other, move a number, relatively."""
    return count * UNIT / (1 - count * UNIT) if count * UNIT < 0.5 else np.inf


def strengths(head: Head) -> Floats:
    """γ of all concepts, also of those that are not kept."""
    total: Floats = abs(head.entropy.weight).sum(axis=0)
    return total


def entropy_layer(head: Head) -> Layer:
    """Steps 4 and 5; the rows that come in are exact, so no error comes in with them."""
    exact, error = relevance(head)
    weight, bias = head.entropy.weight[:, head.keep], head.entropy.bias
    folded = weight * exact
    folded_error = (1 + UNIT) * abs(weight) * error + UNIT * abs(folded) + 2 * TINY
    relative = gamma(len(exact) + 1)
    per_concept = (1 + relative) * folded_error + relative * abs(folded)
    constant = relative * abs(bias) + 4 * (len(exact) + 2) * TINY
    return Layer(folded.T, bias, np.empty((0, len(bias))), per_concept.T, constant, relative)


def _linear_layer(linear: Linear) -> Layer:
    """Step 6."""
    weight, bias = linear.weight, linear.bias
    width = weight.shape[1]
    relative = gamma(width + 1)
    of_error = (1 + relative) * abs(weight) + 2 * TINY
    of_value = relative * abs(weight) + 2 * TINY
    constant = relative * abs(bias) + 4 * (width + 2) * TINY
    return Layer(weight.T, bias, of_error.T, of_value.T, constant, relative)


def _forward(layers: list[Layer], rows: Floats) -> tuple[Floats, float]:
    """The logits of some rows, and the largest error among them; infinite where float32 could overflow."""
    value, error, largest = rows, np.zeros((len(rows), 0)), 0.0
    for depth, layer in enumerate(layers):
        if depth:
            value = np.maximum(value, 0)
        # The error first: it needs the values that came in.
        error = error @ layer.error_of_error + value @ layer.error_of_value + layer.error
        value = value @ layer.weight + layer.bias
        largest = float(error.max())
        # Not `>=`: NaN must count as overflow too.
        if not 2 * largest / layer.relative < LARGEST:
            return value[:, 0], np.inf
    return value[:, 0], largest


def _bits(rows: NDArray[np.intp], width: int) -> Floats:
    shifts = np.arange(width - 1, -1, -1)
    return ((rows[:, None] >> shifts) & 1).astype(np.float64)


def _batches(count: int, widest: int) -> Iterator[slice]:
    size = max(1, BATCH_NUMBERS // max(widest, 1))
    return (slice(start, start + size) for start in range(0, count, size))
