"""Compile formulas into the heads of a network without training, and certify that each head equals its formula.

The weights are arrays; the network itself is built from them only where somebody asks for it.

There is one hidden unit for each cube. A unit is positive where its cube holds and 0 elsewhere, and the output counts
the units: with T cubes true the logit is 2T − 1, negated for a complement. All numbers are small multiples of a power
of two, so that float32 computes them without rounding. The certificate states a bound that does not rely on this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import FormulaTooLarge, LogicLensError, quoted
from logiclens.explain.certificate import Certificate, HeadCertificate
from logiclens.explain.choice import Choice
from logiclens.explain.learned import explain_learned
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.explain.weights import NetworkWeights
from logiclens.formula.dnf import DNF, Complement, written
from logiclens.formula.minimisation import minimise_complete, row_bits
from logiclens.formula.model_record import NetworkRecord
from logiclens.formula.packed_rows import unknown_concept

if TYPE_CHECKING:
    from logiclens.nn.layers import EntropyNet


def explain_exact(
    certificate: Certificate, rows: ConceptTable, *, choices: Sequence[Choice] = (), is_bound: bool = False
) -> Explanation:
    """Return the explanation of an exact model from its certified formulas.

    Args:
        certificate: the claims for its heads.
        rows: rows that fill the truth tables shown with the formulas.
        choices: how formulas were chosen, if known. Default: unknown.
        is_bound: whether knowledge bound the choice. Default: False.

    >>> from logiclens import EntropyClassifier
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"])
    >>> model = EntropyClassifier(booleanise=None, exact=True).fit(rows, [0, 0, 0, 1] * 10)
    >>> len(explain_exact(model.certificate_, rows).classes)
    2
    """
    explained = explain_learned(certificate.reading(rows), certificate.formulas, choices)
    classes = tuple(
        _certified(klass, head, is_bound=is_bound) for klass, head in zip(explained, certificate.heads, strict=True)
    )
    return Explanation(classes, rows=rows)


def _certified(explained: ClassExplanation, head: HeadCertificate, *, is_bound: bool) -> ClassExplanation:
    reason = remedy = None
    if head.formula.is_constant:
        # The formula is constant, so any row gives its answer.
        answer = "true" if head.formula.evaluate(np.zeros((1, 0), dtype=np.bool_), ())[0] else "false"
        allowed = " that the knowledge allows" * is_bound
        reason = (
            f"its formula is {answer} on every possible row: no rule{allowed} decides enough rows and beats chance."
        )
        remedy = (
            "Gather more rows of the class, ask for less support (min_support, --min-support), or give the class more "
            "weight."
        )
    return replace(
        explained,
        method="exact",
        proved_minimal=head.proved_minimal,
        reason=reason,
        remedy=remedy,
        certificate=head,
    )


UNIT = 2.0**-24
"""Maximum relative error of one float32 operation."""
EXP_ULPS = 4
"""Maximum error of the exponential, in units in the last place (two unit roundoffs each)."""
TINY = 2.0**-149
"""Smallest step of float32: the most that one operation can lose near 0."""


def gamma(n: int) -> float:
    """Return γ_n, the relative error of n consecutive operations."""
    return n * UNIT / (1 - n * UNIT)


def compiled_bound(weights: NetworkWeights, head: int) -> float:
    """Return how much float32 can reduce the smallest distance of a compiled head's logit from 0.

    If no cube is true, all units are 0, and the logit is the bias without rounding. If one is true, only the error of
    its own unit counts: any other unit is exactly 0, or adds to the same side. So errors do not add up over units. The
    bound is infinite if the error of a unit could change its sign.

    Args:
        weights: the weights of the compiled network.
        head: index of the head.
    """
    own = {name: array[head].astype(np.float64) for name, array in weights.arrays.items()}
    weight, bias = own["entropy.weight"][:, weights.arrays["entropy.keep"][head]], own["entropy.bias"]
    out, offset = own["tail.1.weight"], own["tail.1.bias"]
    _, error = _hidden_error(np.abs(weight), np.abs(bias), weights.sizes.temperature)
    height, gain = bias + weight.clip(min=0).sum(axis=1), np.abs(out[0])
    if (error >= height)[gain > 0].any():
        return float("inf")
    n = len(bias)
    total = gain * error + gamma(n + 1) * (gain * (height + error) + abs(offset[0])) + (2 * n + 1) * TINY
    return float(total.max()) * (1 + 1e-9)


def _hidden_error(
    weight: NDArray[np.float64], bias: NDArray[np.float64], temperature: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest value of each unit of the entropy layer and its largest error, from absolute weights."""
    relevance, relative = _relevance(weight, temperature)
    # One rounding for weight × relevance, then the sum over concepts and the bias.
    folded = weight * relevance
    largest = folded.sum(axis=1) + bias
    error = folded @ (relative + (1 + relative) * gamma(1)) + gamma(weight.shape[1] + 1) * (
        folded @ (1 + relative) * (1 + gamma(1)) + bias
    )
    return largest, error + (2 * weight.shape[1] + 1) * TINY


def _relevance(weight: NDArray[np.float64], temperature: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the relevance α̃ of each concept and its largest relative error in float32.

    α̃ = exp((γ − max γ)/τ): a sum over the width, a division and a difference make an absolute error in the exponent,
    which is a relative error of the exponential.
    """
    scaled = weight.sum(axis=0) / temperature
    # A head may keep no concept.
    strongest = scaled.max(initial=0.0)
    exponent_error = 2 * gamma(weight.shape[0] + 3) * strongest + TINY
    relevance = np.exp(scaled - strongest)
    return relevance, np.expm1(np.full_like(relevance, exponent_error)) + 2 * EXP_ULPS * UNIT * (1 + exponent_error)


FINENESS = 2**8
"""Minimum number of parts of the smallest weight: the weights of a concept differ by less than one part in 256."""
STEP = 2.0
"""Increase of the logit for each true cube. The logit is −STEP/2 if no cube is true."""
ROOM = 2.0
"""Minimum ratio of the smallest logit to the rounding bound, so that another way to compute the bound agrees."""
MOST_CONCEPTS = 20
"""Maximum number of concepts of a head that is enumerated; every concept doubles the rows.

Larger heads are proved unit by unit.
"""
MINIMISED_CONCEPTS = 12
"""Maximum number of concepts of a head that is minimised. Larger heads are never called proved minimal."""


@dataclass(frozen=True, eq=False)
class CompiledNetwork:
    """The weights of a network that was compiled from formulas, and the claim that every head equals its formula."""

    weights: NetworkWeights
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class _Units:
    """The hidden units of a formula: unit u reads cube u, and is `height[u]` where that cube holds."""

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    height: NDArray[np.float64]


def compile_formulas(
    formulas: Sequence[DNF | Complement], names: Sequence[str], *, temperature: float = 1.0
) -> EntropyNet:
    """Return a network whose head i answers as formula i on every Boolean row.

    Each concept that a formula uses has strength γ = 1 in its head, so that the relevance of all of them is exactly 1.
    All other concepts are not kept and have relevance 0. The head of a constant formula keeps no concept.

    Args:
        formulas: one formula for each head; a complement becomes the negated head of its formula.
        names: the concepts that the network takes, in order.
        temperature: τ of the entropy layer; relevance does not depend on it. Default: 1.

    Returns:
        A network of float32 weights with untied heads and one hidden unit for each cube of the longest formula.

    Raises:
        LogicLensError: if there are no formulas, or a formula uses a concept that is not in `names`.

    >>> import torch
    >>> from logiclens.formula import parse
    >>> network = compile_formulas([parse("(a & ~b) | c")], ["a", "b", "c", "d"])
    >>> network(torch.tensor([[1.0, 0, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1]])).flatten().tolist()
    [1.0, -1.0, 3.0]
    >>> network.entropy.relevance().tolist()
    [[1.0, 1.0, 1.0, 0.0]]
    """
    network: EntropyNet = compiled_weights(formulas, names, temperature=temperature).network()
    return network


def compiled_weights(
    formulas: Sequence[DNF | Complement], names: Sequence[str], *, temperature: float = 1.0
) -> NetworkWeights:
    """Return the weights of the network that `compile_formulas` returns; its arguments and errors are the same."""
    if not formulas:
        raise LogicLensError("compile_formulas needs at least one formula, one for each head.")
    place = {name: j for j, name in enumerate(names)}
    width = max(1, max(len(written(formula)) for formula in formulas))
    weight, bias = _zeros(len(formulas), width, len(names)), _zeros(len(formulas), width)
    out_weight, out_bias = _zeros(len(formulas), 1, width), _zeros(len(formulas), 1)
    for head, formula in enumerate(formulas):
        units, n_units = _units(written(formula), place), len(written(formula))
        weight[head, :n_units], bias[head, :n_units] = units.weight, units.bias
        sign = -1.0 if isinstance(formula, Complement) else 1.0
        out_weight[head, 0, :n_units] = sign * STEP / units.height
        out_bias[head, 0] = -sign * STEP / 2
    arrays = {
        "entropy.weight": weight,
        "entropy.bias": bias,
        "entropy.keep": (weight != 0).any(axis=1),
        "tail.1.weight": out_weight,
        "tail.1.bias": out_bias,
    }
    return NetworkWeights(NetworkRecord(len(names), len(formulas), (width,), float(temperature), "relu"), arrays)


def _zeros(*shape: int) -> NDArray[np.float32]:
    return np.zeros(shape, dtype=np.float32)


def compiled_network(
    formulas: Sequence[DNF | Complement], table: ConceptTable, *, is_edited: bool = False, temperature: float = 1.0
) -> CompiledNetwork:
    """Compile one formula for each class of a table, and certify the heads.

    Args:
        formulas: one formula for each class. A complement refers to the formula of another class.
        table: names of the concepts and the classes; its groups affect `proved_minimal` only.
        is_edited: whether a person edited the rules. Default: False.
        temperature: τ of the entropy layer. Default: 1.

    Returns:
        The weights of the network and its certificate.

    Raises:
        LogicLensError: if the number of formulas differs from the number of classes, a complement refers to no formula
            of another class, or float32 rounding may change an answer.
    """
    if len(formulas) != len(table.class_names):
        raise LogicLensError(
            f"there must be one formula for each of {len(table.class_names)} classes, got {len(formulas)}."
        )
    weights = compiled_weights(formulas, table.names, temperature=temperature)
    proved = {formula: _is_minimal(formula, table) for formula in dict.fromkeys(map(written, formulas))}
    heads = []
    for head, (formula, name) in enumerate(zip(formulas, table.class_names, strict=True)):
        concepts = tuple(concept for concept in table.names if concept in formula.concepts)
        bound = compiled_bound(weights, head)
        if not ROOM * bound < STEP / 2:
            raise LogicLensError(
                f"the formula of {quoted(name)} cannot be compiled safely: with {len(written(formula))} cubes over "
                f"{len(concepts)} concepts and temperature {temperature:g}, float32 rounding may turn an answer. "
                "Use fewer cubes or a higher temperature."
            )
        heads.append(
            HeadCertificate(
                name=name,
                head=head,
                concepts=concepts,
                formula=formula,
                rows_checked=2 ** len(concepts) if len(concepts) <= MOST_CONCEPTS else None,
                smallest_logit=STEP / 2,
                rounding_bound=bound,
                proved_minimal=proved[written(formula)],
                is_edited=is_edited,
                complement_of=_place(formula, formulas) if isinstance(formula, Complement) else None,
            )
        )
    return CompiledNetwork(weights, Certificate(tuple(heads)))


def _place(complement: Complement, formulas: Sequence[DNF | Complement]) -> int:
    """Return the head whose formula a complement refers to."""
    for place, formula in enumerate(formulas):
        if isinstance(formula, DNF) and formula == complement.of:
            return place
    raise LogicLensError(f"the complement of {complement.of} needs a class with that formula.")


def _is_minimal(formula: DNF, table: ConceptTable) -> bool:
    """Return whether it is proved that no shorter formula gives the same answers on the rows that the groups allow."""
    concepts = formula.concepts
    if formula.is_constant or len(concepts) > MINIMISED_CONCEPTS:
        return formula.is_constant
    rows = row_bits(np.arange(1 << len(concepts)), len(concepts))
    possible = table.groups.among(concepts).allows(rows, concepts)
    try:
        minimum = minimise_complete(formula.evaluate(rows, concepts), concepts, possible, positive=True)
    except FormulaTooLarge:
        return False
    return minimum.proved and minimum.formula.n_literals == formula.n_literals


def _units(formula: DNF, place: Mapping[str, int]) -> _Units:
    """Return the units of a formula, whose literal weights of each concept sum to 1 over the cubes.

    If n_j cubes use concept j, each weight is ±1/n_j, up to one part. Unit u is height − Σ (weights of its literals
    that are false) before the ReLU. The height is at most half of the smallest weight, so that one false literal makes
    it −height or less.
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
