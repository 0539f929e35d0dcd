"""How far float32 can be from exact arithmetic in a compiled head, for any order of summation.

With unit roundoff u = 2^-24 a computed sum of n products is within γ_n Σ|a||b| of the exact one, γ_n = n u / (1 − n u),
in whatever order it is summed (Higham, Accuracy and Stability of Numerical Algorithms, §3.1). Inputs are 0 or 1, so no
layer's values exceed those of all concepts true with every weight positive; the bound is carried through on these, and
a ReLU never enlarges a difference. `exp` is taken to be within 4 units in the last place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logiclens.nn.networks import EntropyNet

UNIT = 2.0**-24
"""The largest relative error of one float32 operation."""
EXP_ULPS = 4
"""What the exponential is allowed to be off, in units in the last place (two unit roundoffs each)."""
TINY = 2.0**-149
"""The smallest step of float32: what one operation can lose near 0."""


def gamma(n: int) -> float:
    """γ_n: the relative error of n operations in a row."""
    return n * UNIT / (1 - n * UNIT)


def compiled_bound(network: EntropyNet, head: int) -> float:
    """How much nearer to 0 float32 can bring a logit of a compiled head that is as near to 0 as any can be.

    Where no cube is true all units are 0, and the logit is the bias without rounding. Where one is, its unit is off by
    its own error only: another unit is exactly 0, or adds to the same side. So errors do not add up over units.
    Infinite where a unit's error could turn its sign.
    """
    weight, bias, out, offset = (p.detach().double().cpu().numpy()[head] for p in network.parameters())
    weight = weight[:, network.entropy.keep[head].cpu().numpy()]
    _, error = _hidden_error(np.abs(weight), np.abs(bias), network.entropy.temperature)
    height, gain = bias + weight.clip(min=0).sum(axis=1), np.abs(out[0])
    if (error >= height)[gain > 0].any():
        return float("inf")
    n = len(bias)
    total = gain * error + gamma(n + 1) * (gain * (height + error) + abs(offset[0])) + (2 * n + 1) * TINY
    return float(total.max()) * (1 + 1e-9)


def _hidden_error(
    weight: NDArray[np.float64], bias: NDArray[np.float64], temperature: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest value of each unit of the entropy layer and the largest error of it, from absolute weights."""
    relevance, relative = _relevance(weight, temperature)
    # One rounding for weight × relevance, then the sum over concepts and the bias.
    folded = weight * relevance
    largest = folded.sum(axis=1) + bias
    error = folded @ (relative + (1 + relative) * gamma(1)) + gamma(weight.shape[1] + 1) * (
        folded @ (1 + relative) * (1 + gamma(1)) + bias
    )
    return largest, error + (2 * weight.shape[1] + 1) * TINY


def _relevance(weight: NDArray[np.float64], temperature: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Relevance α̃ of each concept and the largest relative error of it in float32.

    α̃ = exp((γ − max γ)/τ): a sum over the width, a division and a difference make an absolute error in the exponent,
    which is a relative error of the exponential.
    """
    scaled = weight.sum(axis=0) / temperature
    # A head may keep no concept.
    strongest = scaled.max(initial=0.0)
    exponent_error = 2 * gamma(weight.shape[0] + 3) * strongest + TINY
    relevance = np.exp(scaled - strongest)
    return relevance, np.expm1(np.full_like(relevance, exponent_error)) + 2 * EXP_ULPS * UNIT * (1 + exponent_error)
