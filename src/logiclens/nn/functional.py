"""The equations of the entropy-based layer, one function each, with the paper's label in the docstring.

Axis words: `batch`, `klass` (one head per class), `concept`, `hidden`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from logiclens.errors import LogicLensError, NoEntropyLayer

if TYPE_CHECKING:
    from logiclens.nn.layers import EntropyLogicLayer

THRESHOLD = 0.5
"""ε of eq. (sparse): the unbiased cut for concepts, relevance and probabilities."""


def strength(weight: Float[Tensor, "klass hidden concept"]) -> Float[Tensor, "klass concept"]:
    """γ, eq. (gamma): the L1 norm of the weights leaving each concept.

    >>> strength(torch.tensor([[[1.0, 0.0], [-2.0, 0.5]]]))
    tensor([[3.0000, 0.5000]])
    """
    return weight.abs().sum(dim=-2)


def log_attention(
    strength: Float[Tensor, "klass concept"],
    temperature: float,
    keep: Bool[Tensor, "klass concept"] | None = None,
) -> Float[Tensor, "klass concept"]:
    """Log α, eq. (alpha). In logarithms, because γ/τ may be 10⁴ and exp(89) is infinite in float32."""
    return torch.log_softmax(_scaled(strength, temperature, keep), dim=-1)


def attention(
    strength: Float[Tensor, "klass concept"],
    temperature: float,
    keep: Bool[Tensor, "klass concept"] | None = None,
) -> Float[Tensor, "klass concept"]:
    """α, eq. (alpha): the softmax of γ/τ over concepts; a concept not kept takes no part.

    >>> attention(torch.tensor([[1.0, 1.0, 5.0]]), 0.6, torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    alpha = log_attention(strength, temperature, keep).exp()
    return alpha if keep is None else alpha * keep


def relevance(
    strength: Float[Tensor, "klass concept"],
    temperature: float,
    keep: Bool[Tensor, "klass concept"] | None = None,
) -> Float[Tensor, "klass concept"]:
    """α̃, eq. (drop): attention divided by its largest value, so the most relevant concept has 1.

    α_j / max α = exp((γ_j − max γ)/τ): the normaliser of the softmax cancels, and nothing overflows.

    >>> relevance(torch.tensor([[3.0, 3.0, 0.0]]), 0.6)
    tensor([[1.0000, 1.0000, 0.0067]])
    """
    ratio = _scaled(strength, temperature, keep).exp()
    return ratio if keep is None else ratio * keep


def relevant(relevance: Float[Tensor, "klass concept"], threshold: float = THRESHOLD) -> Bool[Tensor, "klass concept"]:
    """μ, eq. (sparse): which concepts a head uses.

    >>> relevant(torch.tensor([[1.0, 0.5, 0.49]]))
    tensor([[ True,  True, False]])
    """
    # >= : eq. (sparse) keeps a concept exactly at the threshold.
    return relevance >= threshold


def boolean(concepts: Float[Tensor, "*batch concept"], threshold: float = THRESHOLD) -> Bool[Tensor, "*batch concept"]:
    """c̄, eq. (sparse): the Boolean reading of concepts in [0, 1].

    >>> boolean(torch.tensor([0.1, 0.5, 0.9]))
    tensor([False,  True,  True])
    """
    return concepts >= threshold


def entropy(
    strength: Float[Tensor, "klass concept"],
    temperature: float,
    keep: Bool[Tensor, "klass concept"] | None = None,
) -> Float[Tensor, " klass"]:
    """H(α), eq. (ent): 0 when one concept has all the attention, log k when k concepts share it equally.

    >>> entropy(torch.zeros(1, 4), 0.6)
    tensor([1.3863])
    """
    log_alpha = log_attention(strength, temperature, keep)
    alpha = log_alpha.exp()
    if keep is not None:
        # A concept not kept has log α = −inf; 0 · −inf is NaN, so it leaves before the product.
        log_alpha, alpha = log_alpha.masked_fill(~keep, 0.0), alpha * keep
    return -(alpha * log_alpha).sum(dim=-1)


def entropy_linear(
    concepts: Float[Tensor, "*batch concept"],
    weight: Float[Tensor, "klass hidden concept"],
    bias: Float[Tensor, "klass hidden"] | None,
    relevance: Float[Tensor, "klass concept"],
) -> Float[Tensor, "*batch klass hidden"]:
    """h, eq. (forward): W(c ⊙ α̃) + b, computed as c (W ⊙ α̃)ᵀ + b.

    Folding α̃ into the weights gives one matrix product and never builds [klass, batch, concept].
    """
    folded = (weight * relevance.unsqueeze(-2)).flatten(0, 1)
    rows = concepts.reshape(-1, concepts.shape[-1]).t()
    out = folded @ rows if bias is None else torch.addmm(bias.reshape(-1, 1), folded, rows)
    # In memory [klass, hidden, batch]: the layers of each head then work on whole matrices, and nothing is copied.
    heads = out.reshape(*weight.shape[:2], rows.shape[1]).permute(2, 0, 1)
    return heads.reshape(*concepts.shape[:-1], *weight.shape[:2])


def independent_linear(
    hidden: Float[Tensor, "*batch klass width"],
    weight: Float[Tensor, "klass out width"],
    bias: Float[Tensor, "klass out"] | None,
) -> Float[Tensor, "*batch klass out"]:
    """A linear map of its own for each head: W^i x^i + b^i, as one batched matrix product."""
    rows = hidden.reshape(-1, *hidden.shape[-2:]).permute(1, 2, 0)
    out = torch.bmm(weight, rows) if bias is None else torch.baddbmm(bias.unsqueeze(-1), weight, rows)
    return out.permute(2, 0, 1).reshape(*hidden.shape[:-1], weight.shape[1])


def entropy_layers(model: torch.nn.Module) -> Iterator[EntropyLogicLayer]:
    """Every entropy layer of a model, at any depth, in the order of registration."""
    from logiclens.nn.layers import EntropyLogicLayer

    return (module for module in model.modules() if isinstance(module, EntropyLogicLayer))


def first_entropy_layer(model: torch.nn.Module) -> EntropyLogicLayer:
    """The entropy layer that the concepts enter; raises where a model has none."""
    for layer in entropy_layers(model):
        return layer
    raise NoEntropyLayer(
        f"{type(model).__name__} has no entropy layer, so it has no relevant concepts to explain with. "
        "Put logiclens.nn.EntropyLogicLayer first, or use logiclens.nn.EntropyNet."
    )


def entropy_logic_loss(model: torch.nn.Module) -> Float[Tensor, ""]:
    """Σ_i H(α^i), the second term of eq. (loss), over every entropy layer of a model at any depth."""
    first_entropy_layer(model)
    return torch.stack([layer.entropy().sum() for layer in entropy_layers(model)]).sum()


def l1_loss(model: torch.nn.Module) -> Float[Tensor, ""]:
    """The sum of |w| over all weight matrices of a model; biases are left out.

    >>> l1_loss(torch.nn.Linear(2, 1)).ndim
    0
    """
    norms = [
        parameter.abs().sum()
        for name, parameter in model.named_parameters()
        # A bias of a layer with heads is a matrix too, [klass, hidden]: its name tells it from a weight.
        if parameter.ndim >= 2 and parameter.requires_grad and name.rpartition(".")[2] != "bias"
    ]
    if not norms:
        raise LogicLensError(f"{type(model).__name__} has no weight matrix to take an L1 norm of.")
    return torch.stack(norms).sum()


def _scaled(
    strength: Float[Tensor, "klass concept"],
    temperature: float,
    keep: Bool[Tensor, "klass concept"] | None,
) -> Float[Tensor, "klass concept"]:
    """(γ − max γ)/τ over the kept concepts: at most 0, so that no temperature makes it overflow."""
    if keep is not None:
        # A head that keeps nothing would be a softmax over −inf only, which is NaN: leave it finite here;
        # the callers multiply by `keep`.
        strength = strength.masked_fill(~keep & keep.any(dim=-1, keepdim=True), -torch.inf)
    return (strength - strength.amax(dim=-1, keepdim=True)) / temperature
