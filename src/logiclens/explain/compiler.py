"""Compiler: heads that are given formulas, written down instead of trained, with the certificate that says so.

One hidden unit for each cube. A unit is positive where its cube holds and 0 elsewhere, and the output counts the units:
with T cubes true the logit is 2T − 1, negated for a complement. All numbers are small multiples of a power of two, so
that float32 computes them without rounding; the certificate states a bound that does not rely on this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.bits import unknown_concept
from logiclens.formula.dnf import DNF, Complement
from logiclens.nn.networks import EntropyNet

FINENESS = 2**8
"""Parts of the smallest weight, at least: the weights of a concept differ by less than one part in 256."""
STEP = 2.0
"""What a true cube adds to the logit, which is −STEP/2 where none is true."""


@dataclass(frozen=True, eq=False)
class _Units:
    """The hidden units of a formula: row u reads cube u, and is `height[u]` where that holds."""

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    height: NDArray[np.float64]


def compile_formulas(
    formulas: Sequence[DNF | Complement], names: Sequence[str], *, temperature: float = 1.0
) -> EntropyNet:
    """A network whose head i answers as formula i on every Boolean row.

    Each concept that a formula uses has strength γ = 1 in its head, so that relevance is exactly 1 for all of them. All
    other concepts are not kept, and have relevance 0; the head of a constant formula keeps none.

    Args:
        formulas: one for each head; a complement becomes the negated head of its formula.
        names: the concepts that the network takes, in order.
        temperature: τ of the entropy layer; relevance does not depend on it. Default: 1.

    Returns:
        A network of float32 weights with untied heads and one hidden unit for each cube of the longest formula.

    Raises:
        LogicLensError: where a formula uses a concept that is not among `names`.

    >>> from logiclens.formula import parse
    >>> network = compile_formulas([parse("(a & ~b) | c")], ["a", "b", "c", "d"])
    >>> network(torch.tensor([[1.0, 0, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1]])).flatten().tolist()
    [1.0, -1.0, 3.0]
    >>> network.entropy.relevance().tolist()
    [[1.0, 1.0, 1.0, 0.0]]
    """
    if not formulas:
        raise LogicLensError("compile_formulas needs at least one formula, one for each head.")
    place = {name: j for j, name in enumerate(names)}
    width = max(1, max(len(stated_formula(formula)) for formula in formulas))
    # Its first weights do not matter; drawing them must not move torch's global generator.
    network = EntropyNet(len(names), len(formulas), (width,), temperature=temperature, generator=torch.Generator())
    entropy, output = network.entropy, network.tail[1]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        for head, formula in enumerate(formulas):
            units, n_units = _units(stated_formula(formula), place), len(stated_formula(formula))
            entropy.keep[head] = torch.from_numpy((units.weight != 0).any(axis=0))
            entropy.weight[head, :n_units] = torch.from_numpy(units.weight).float()
            entropy.bias[head, :n_units] = torch.from_numpy(units.bias).float()
            sign = -1.0 if isinstance(formula, Complement) else 1.0
            output.weight[head, 0, :n_units] = torch.from_numpy(sign * STEP / units.height).float()
            output.bias[head, 0] = -sign * STEP / 2
    return network


def stated_formula(formula: DNF | Complement) -> DNF:
    """The formula itself, or the one that a complement refers to."""
    return formula.of if isinstance(formula, Complement) else formula


def _units(formula: DNF, place: Mapping[str, int]) -> _Units:
    """The literal weights of concept j sum to 1 over the cubes: ±1/n_j, up to one part, where n_j cubes use it.

    Unit u is height − Σ (weights of its literals that are false) before the ReLU. The height is at most half of the
    smallest weight, so that one false literal makes it −height or less.
    """
    used = Counter(literal.concept for cube in formula for literal in cube)
    parts = FINENESS << max(0, max(used.values(), default=1) - 1).bit_length()
    shares = {concept: _even_shares(parts, n_cubes) for concept, n_cubes in used.items()}
    weight, bias, height = np.zeros((len(formula), len(place))), np.zeros(len(formula)), np.zeros(len(formula))
    for unit, cube in enumerate(formula):
        sizes = []
        for literal in cube:
            if literal.concept not in place:
                raise unknown_concept(literal.concept, tuple(place))
            size = next(shares[literal.concept])
            weight[unit, place[literal.concept]] = (1 if literal.positive else -1) * size / parts
            sizes.append(size)
        # The largest power of two that is at most the smallest weight.
        smallest = 1 << (min(sizes, default=parts).bit_length() - 1)
        height[unit] = smallest / parts / 2
        bias[unit] = height[unit] - weight[unit].clip(min=0).sum()
    return _Units(weight, bias, height)


def _even_shares(parts: int, n: int) -> Iterator[int]:
    """Divide `parts` into n whole numbers that differ by at most 1."""
    size, rest = divmod(parts, n)
    return iter([size + 1] * rest + [size] * (n - rest))
