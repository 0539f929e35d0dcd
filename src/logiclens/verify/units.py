r"""Proof by units: a compiled head of any number of concepts equals its formula on every row, also in float32.

`claim` uses it for heads of more than 20 concepts, and for compiled heads if enumeration gives too large a bound.

The head has one hidden layer. With folded weights f = w α̃ (see `network`), unit u reads one literal per nonzero weight:
concept j if w_uj > 0, its negation if w_uj < 0. Its value h_u has the maximum h_u⁺ = b_u + Σ max(f_uj, 0), exactly on
the rows where all its literals hold. It is at most h_u⁺ − min_j |f_uj| where a literal fails. Let E_u be the bound on
the float32 error of h_u on any row (steps 1 to 5 of `network`). The proof checks:

1. h_u⁺ − E_u > 0: where all literals hold, the unit is positive, also in float32.
2. h_u⁺ − min_j |f_uj| + E_u ≤ 0: where a literal fails, the unit is 0 or less, and ReLU makes it exactly 0.
3. The units that can be positive and that have a nonzero outgoing weight read exactly the cubes of the formula.
4. All these units have outgoing weights a_u of one sign σ, and the last bias c has the other sign. Where no cube holds,
   the logit is c, without rounding. Where the cube of unit u holds, every other unit is exactly 0 or adds to the side
   of σ. A sum of n products and a bias in float32 is Σ t(1 + θ) with |θ| ≤ g(n + 1). So σ times the logit is at least
   (1 − g)|a_u|(h_u⁺ − E_u) − (1 + g)|c|, minus 4(n + 2)η and 2η(h_u⁺ + E_u) for numbers near 0. This must be above 0.

σ is 1 for a formula and −1 for a complement. The errors of the units do not add up, so the number of cubes has little
effect on the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .network import LARGEST, SPARE, TINY, Floats, Head, entropy_layer, gamma, strengths
from .records import Cube, Formula
from .report import formula_text

LONGEST = 200
"""Maximum number of characters of a cube that a message repeats."""


@dataclass(frozen=True)
class Proof:
    """A proof that a head equals its formula.

    Attributes:
        smallest: lower bound on |logit| over all rows.
        bound: the most by which float32 brings a logit of that size nearer to 0.
    """

    smallest: float
    bound: float


class Unproved(Exception):
    """The proof fails on these weights. The message says where; the caller completes it to a sentence."""


@dataclass(frozen=True)
class _Unit:
    """A hidden unit that can be positive.

    Attributes:
        number: index of the unit, from 0.
        cube: literals that it reads.
        top: its largest value.
        error: bound on the float32 error of its value.
        gain: its outgoing weight, times the sign σ.
    """

    number: int
    cube: Cube
    top: float
    error: float
    gain: float

    def __str__(self) -> str:
        """Return the start of a message about the unit; messages count units from 1."""
        return f"hidden unit {self.number + 1} reads {_cube_text(self.cube)}"


def prove(head: Head, formula: Formula, concepts: Sequence[str], *, is_complement: bool) -> Proof:
    """Prove that a head gives the answer of a formula, or of its complement, on every row.

    Args:
        head: a head with one hidden layer.
        formula: the stated formula.
        concepts: names of the concepts that the head keeps.
        is_complement: whether the head must answer yes exactly where the formula is false.

    Raises:
        Unproved: the proof fails.
    """
    if len(head.tail) != 1:
        raise Unproved(f"it has {len(head.tail)} hidden layers, and heads of so many concepts are proved with one")
    sign, output = (-1.0 if is_complement else 1.0), head.tail[0]
    # An overflow fails the comparisons below, so NumPy's warnings are not needed.
    with np.errstate(all="ignore"):
        units = _units(head, concepts, sign * output.weight[0])
        _check_cubes(units, formula)
        return _output(units, sign * float(output.bias[0]), len(output.weight[0]))


def _units(head: Head, concepts: Sequence[str], gains: Floats) -> list[_Unit]:
    """Return the units that can affect the output, each proved to be positive exactly where its cube holds."""
    layer = entropy_layer(head)
    folded, weight = layer.weight.T, head.entropy.weight[:, head.keep]
    tops = layer.bias + folded.clip(min=0).sum(axis=1)
    # The sum over all concepts bounds the error on any row. 4η: a number near 0 may be flushed before the output.
    errors = (layer.error_of_value.sum(axis=0) + layer.error) * SPARE + 4 * TINY
    sizes = np.append(strengths(head), errors / layer.relative)
    # Check units with outgoing weight 0 too: infinity times 0 is NaN.
    if not (2 * sizes < LARGEST).all():
        raise Unproved("the weights are so large that float32 may overflow or lose the relevance of a concept")
    units = []
    for number, (top, error, gain) in enumerate(zip(tops.tolist(), errors.tolist(), gains.tolist(), strict=True)):
        if gain == 0 or top + error <= 0:
            continue
        read = np.flatnonzero(weight[number])
        cube = tuple((concepts[j], bool(weight[number, j] > 0)) for j in read.tolist())
        unit = _Unit(number, cube, top, error, gain)
        if not top - error > 0:
            raise Unproved(f"{unit}, and may be 0 where that holds: its value is {top:.3g} ± {error:.3g}")
        fails = top - float(abs(folded[number, read]).min(initial=np.inf)) + error
        if not fails <= 0:
            raise Unproved(f"{unit}, and may be as large as {fails:.3g} where one of these literals fails")
        if not gain > 0:
            raise Unproved(f"{unit}, and its outgoing weight makes it count for the wrong answer")
        units.append(unit)
    return units


def _check_cubes(units: Sequence[_Unit], formula: Formula) -> None:
    stated, read = {frozenset(cube) for cube in formula}, {frozenset(unit.cube) for unit in units}
    for unit in units:
        if frozenset(unit.cube) not in stated:
            raise Unproved(f"{unit}, which is no cube of the formula")
    for cube in formula:
        if frozenset(cube) not in read:
            raise Unproved(f"no hidden unit reads the cube {_cube_text(cube)} of the formula")


def _output(units: Sequence[_Unit], offset: float, width: int) -> Proof:
    """Prove step 4; the signs of `offset` and of the gains are such that a true cube increases the output."""
    if not offset < -2 * TINY:
        raise Unproved(f"where no cube of its formula holds, the last bias alone gives the wrong answer ({offset:.3g})")
    if not sum(unit.gain * (unit.top + unit.error) for unit in units) - offset < LARGEST / 2:
        raise Unproved("the weights are so large that float32 may overflow")
    relative, smallest, certain = gamma(width + 1), -offset, -offset
    for unit in units:
        low = (1 - relative) * unit.gain * (unit.top - unit.error) - 2 * TINY * (unit.top + unit.error)
        low += (1 + relative) * offset - 4 * (width + 2) * TINY
        if not low > 0:
            raise Unproved(f"{unit}, and may not outweigh the last bias in float32 (by {-low:.3g})")
        smallest, certain = min(smallest, unit.gain * unit.top + offset), min(certain, low)
    # State a bound above 0 even if nothing is rounded, as for heads whose rows are enumerated.
    return Proof(smallest, max(smallest - certain, relative * -offset) * SPARE)


def _cube_text(cube: Cube) -> str:
    text = formula_text((cube,))
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
