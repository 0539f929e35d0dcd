"""How far float32 can be from exact arithmetic in one head, for any order of summation.

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


def rounding_bound(single: EntropyNet) -> float:
    """The largest difference between a logit in float32 and the exact one, on any row of 0 and 1."""
    layers = [parameter.detach().double().cpu().numpy()[0] for parameter in single.parameters()]
    weight, bias, tail = np.abs(layers[0]), np.abs(layers[1]), [np.abs(layer) for layer in layers[2:]]
    relevance, relative = _relevance(weight, single.entropy.temperature)
    # One rounding for weight × relevance, then the sum over concepts and the bias.
    folded = weight * relevance
    largest = folded.sum(axis=1) + bias
    error = folded @ (relative + (1 + relative) * gamma(1)) + gamma(weight.shape[1] + 1) * (
        folded @ (1 + relative) * (1 + gamma(1)) + bias
    )
    error = error + (2 * weight.shape[1] + 1) * TINY
    for matrix, offset in zip(tail[::2], tail[1::2], strict=True):
        n = matrix.shape[1]
        error = matrix @ error + gamma(n + 1) * (matrix @ (largest + error) + offset) + (2 * n + 1) * TINY
        largest = matrix @ largest + offset
    # The bound itself is computed with rounding, in float64.
    return float(error[0]) * (1 + 1e-9)


def _relevance(weight: NDArray[np.float64], temperature: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Relevance α̃ of each concept and the largest relative error of it in float32.

    α̃ = exp((γ − max γ)/τ): a sum over the width, a division and a difference make an absolute error in the exponent,
    which is a relative error of the exponential.
    """
    scaled = weight.sum(axis=0) / temperature
    exponent_error = 2 * gamma(weight.shape[0] + 3) * scaled.max() + TINY
    relevance = np.exp(scaled - scaled.max())
    return relevance, np.expm1(np.full_like(relevance, exponent_error)) + 2 * EXP_ULPS * UNIT * (1 + exponent_error)
