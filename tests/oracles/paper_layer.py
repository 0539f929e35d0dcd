"""The entropy layer exactly as the paper writes it: a loop for every sum, float64, nothing folded, nothing shifted.

Slow on purpose. Takes and gives torch tensors so that autograd can judge gradients too; every number is made from
single elements, so no broadcasting, `softmax` or `linear` of torch stands between the equations and the result.
Only fit for moderate γ/τ: the plain exponentials of eq. (alpha) overflow where the library's must not.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Kept = Sequence[Sequence[bool]] | None


def gamma(weight: Tensor) -> list[list[Tensor]]:
    """Eq. (gamma): γ^i_j = ||W^i_j||_1, the L1 norm of the weights that leave concept j in head i."""
    n_classes, n_hidden, n_concepts = weight.shape
    return [
        [sum((weight[i, o, j].abs() for o in range(n_hidden)), start=_zero(weight)) for j in range(n_concepts)]
        for i in range(n_classes)
    ]


def alpha(weight: Tensor, tau: float, keep: Kept = None) -> list[list[Tensor]]:
    """Eq. (alpha): e^(γ_j/τ) over the sum of all e^(γ_l/τ); a concept not kept is in neither."""
    shares = []
    for i, strengths in enumerate(gamma(weight)):
        powers = [torch.exp(g / tau) if _kept(keep, i, j) else _zero(weight) for j, g in enumerate(strengths)]
        total = sum(powers, start=_zero(weight))
        shares.append([p / total if _kept(keep, i, j) else _zero(weight) for j, p in enumerate(powers)])
    return shares


def alpha_tilde(weight: Tensor, tau: float, keep: Kept = None) -> list[list[Tensor]]:
    """Eq. (drop): α_j divided by the largest α of the head."""
    normalised = []
    for shares in alpha(weight, tau, keep):
        largest = max(shares, key=Tensor.item)
        normalised.append([a / largest if largest.item() > 0 else a for a in shares])
    return normalised


def mu(weight: Tensor, tau: float, epsilon: float = 0.5, keep: Kept = None) -> list[list[bool]]:
    """Eq. (sparse): the indicator of α̃_j >= ε."""
    return [[a.item() >= epsilon for a in row] for row in alpha_tilde(weight, tau, keep)]


def h(concepts: Tensor, weight: Tensor, bias: Tensor | None, tau: float, keep: Kept = None) -> Tensor:
    """Eq. (forward) after eq. (drop): h^i = W^i (c ⊙ α̃^i) + b^i, row by row, class by class."""
    n_classes, n_hidden, n_concepts = weight.shape
    tilde = alpha_tilde(weight, tau, keep)
    rows = []
    for c in concepts:
        heads = []
        for i in range(n_classes):
            c_tilde = [c[j] * tilde[i][j] for j in range(n_concepts)]
            outs = []
            for o in range(n_hidden):
                value = sum((weight[i, o, j] * c_tilde[j] for j in range(n_concepts)), start=_zero(weight))
                outs.append(value if bias is None else value + bias[i, o])
            heads.append(torch.stack(outs))
        rows.append(torch.stack(heads))
    return torch.stack(rows)


def entropies(weight: Tensor, tau: float, keep: Kept = None) -> list[Tensor]:
    """Eq. (ent): H(α^i) = −Σ_j α_j log α_j, with 0 log 0 = 0."""
    return [
        sum((-a * torch.log(a) for a in shares if a.item() > 0), start=_zero(weight))
        for shares in alpha(weight, tau, keep)
    ]


def stacked(table: list[list[Tensor]]) -> Tensor:
    """A table of single numbers as one tensor."""
    return torch.stack([torch.stack(row) for row in table])


def _kept(keep: Kept, i: int, j: int) -> bool:
    return keep is None or bool(keep[i][j])


def _zero(like: Tensor) -> Tensor:
    return torch.zeros((), dtype=like.dtype)
