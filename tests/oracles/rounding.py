"""A head whose every rounding goes the wrong way: as far off as float32 could be, one operation at a time.

Plain Python numbers stand for float32 ones: a result x becomes x ± u|x|, u = 2⁻²⁴, and exp is off by 4 units in the
last place. The side is the one that drives the logit in the wanted direction, judged by the slope of the exact head, so
real float32, whose errors mostly cancel, stays far inside. No bound is computed here: this is what a bound has to hold
for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

U = 2.0**-24
Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class PlainHead:
    """One head in lists of numbers: weights `[width][concept]`, then (weights, biases) of each layer behind."""

    weight: Matrix
    bias: Sequence[float]
    keep: Sequence[bool]
    tail: Sequence[tuple[Matrix, Sequence[float]]]
    temperature: float


def exact_layers(head: PlainHead, row: Sequence[int]) -> list[list[float]]:
    """The outputs of every linear layer before its ReLU; the last is the logit."""
    kept = [j for j, keep in enumerate(head.keep) if keep]
    gamma = {j: math.fsum(abs(weights[j]) for weights in head.weight) for j in kept}
    alpha = {j: math.exp((gamma[j] - max(gamma.values())) / head.temperature) for j in kept}
    outputs = [
        [b + math.fsum(row[j] * alpha[j] * weights[j] for j in kept)
         for weights, b in zip(head.weight, head.bias, strict=True)]
    ]  # fmt: skip
    for weight, bias in head.tail:
        active = [max(h, 0.0) for h in outputs[-1]]
        outputs.append(
            [b + math.fsum(w * a for w, a in zip(weights, active, strict=True))
             for weights, b in zip(weight, bias, strict=True)]
        )  # fmt: skip
    return outputs


def worst_logit(head: PlainHead, row: Sequence[int], direction: int) -> float:
    """The logit with every rounding taken so as to move it in this direction (+1 or -1)."""
    slopes = _slopes(head, exact_layers(head, row), direction)
    kept = [j for j, keep in enumerate(head.keep) if keep]
    first = slopes[0]
    # Where a concept's relevance should go: up where more of it moves the logit the wanted way.
    side = {j: math.fsum(s * weights[j] for s, weights in zip(first, head.weight, strict=True)) for j in kept}
    alpha = _relevance(head, kept, {j: side[j] * row[j] for j in kept})
    values = []
    for s, weights, b in zip(first, head.weight, head.bias, strict=True):
        values.append(_sum([b, *(_push(alpha[j] * weights[j], s) for j in kept if row[j])], s))
    for (weight, bias), slope in zip(head.tail, slopes[1:], strict=True):
        active = [max(h, 0.0) for h in values]
        values = [
            _sum([b, *(_push(w * a, s) for w, a in zip(weights, active, strict=True))], s)
            for s, weights, b in zip(slope, weight, bias, strict=True)
        ]
    return values[0]


def _relevance(head: PlainHead, kept: Sequence[int], side: dict[int, float]) -> dict[int, float]:
    exact = {j: math.fsum(abs(weights[j]) for weights in head.weight) for j in kept}
    strongest = max(kept, key=lambda j: exact[j])
    # The strongest concept is 1 in any case; pushing its strength down lifts all the others.
    down = -math.fsum(side.values())
    gamma = {j: _sum([abs(w[j]) for w in head.weight], down if j == strongest else side[j]) for j in kept}
    top = max(gamma.values())
    alpha = {}
    for j in kept:
        scaled = _push(_push(_push(gamma[j] - top, side[j]) / head.temperature, side[j]), side[j])
        alpha[j] = math.exp(scaled) * (1 + 8 * U * _sign(side[j]))
    return alpha


def _slopes(head: PlainHead, outputs: list[list[float]], direction: int) -> list[list[float]]:
    slopes = [[float(direction)]]
    for (weight, _), before in zip(reversed(head.tail), reversed(outputs[:-1]), strict=True):
        after = slopes[0]
        slopes.insert(
            0,
            [math.fsum(s * weights[k] for s, weights in zip(after, weight, strict=True)) * (before[k] > 0)
             for k in range(len(before))],
        )  # fmt: skip
    return slopes


def _sum(terms: Sequence[float], side: float) -> float:
    total = terms[0]
    for term in terms[1:]:
        total = _push(total + term, side)
    return total


def _push(value: float, side: float) -> float:
    return value + _sign(side) * U * abs(value)


def _sign(side: float) -> int:
    return (side > 0) - (side < 0)
