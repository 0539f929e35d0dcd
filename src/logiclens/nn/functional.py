"""The equations of the entropy-based layer and of its loss, with the paper's label in each docstring.

Each equation that training needs stands once, and its hand-written derivative stands right below it. `EntropyNet` calls
the equations and leaves the derivatives to autograd. `nn.stacked.Stack`, which trains many networks in one pass, calls
the same equations and the derivatives. `tests/nn/test_stacked.py` compares the two: change an equation and its
derivative together.

The derivatives take `flow`, the gradient of the loss with respect to the result of the equation. They write into
buffers (`out`) or add to them (`into`), because a training step takes less time than the memory it would allocate.

Axis words: `batch`, `klass` (one head per class), `concept`, `hidden`, `model` (any number of leading axes; none for a
single network), `row` (a row of concepts where rows lie side by side, in the last axis).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from logiclens.errors import LogicLensError, NoEntropyLayer

if TYPE_CHECKING:
    from logiclens.nn.layers import EntropyLogicLayer

THRESHOLD = 0.5
"""ε of eq. (sparse): the unbiased cut for concepts, relevance and probabilities."""


def strength(weight: Float[Tensor, "*model klass hidden concept"]) -> Float[Tensor, "*model klass concept"]:
    """Return γ, eq. (gamma): the L1 norm of the weights leaving each concept. Derivative: `strength_gradient`.

    >>> strength(torch.tensor([[[1.0, 0.0], [-2.0, 0.5]]]))
    tensor([[3.0000, 0.5000]])
    """
    return weight.abs().sum(dim=-2)


def strength_gradient(
    flow: Float[Tensor, "*model klass concept"],
    weight: Float[Tensor, "*model klass hidden concept"],
    *,
    into: Float[Tensor, "*model klass hidden concept"],
) -> None:
    """Add the derivative of `strength` to `into`: ∂γ_j/∂w_hj = sign w_hj."""
    into.addcmul_(flow.unsqueeze(-2), weight.sign())


def log_relevance(
    strength: Float[Tensor, "*model klass concept"],
    temperature: float | Tensor,
    keep: Bool[Tensor, "*model klass concept"] | None = None,
) -> Float[Tensor, "*model klass concept"]:
    """Return log α̃, eq. (drop): (γ − max γ)/τ over the kept concepts. Derivative: `log_relevance_gradient`.

    The result is at most 0, so that no temperature makes its exponential overflow.
    """
    if keep is not None:
        # A head that keeps nothing would be a softmax over −inf only, which is NaN: leave it finite here;
        # the callers multiply by `keep`.
        strength = strength.masked_fill(~keep & keep.any(dim=-1, keepdim=True), -torch.inf)
    return (strength - strength.amax(dim=-1, keepdim=True)) / temperature


def log_relevance_gradient(
    flow: Float[Tensor, "*model klass concept"],
    log_tilde: Float[Tensor, "*model klass concept"],
    temperature: float | Tensor,
) -> Float[Tensor, "*model klass concept"]:
    """Return the derivative of `log_relevance` with respect to γ.

    Each concept pulls its own γ up and max γ down by 1/τ. Where several γ are the largest they share that evenly. A
    concept that is not kept must have a flow of 0.
    """
    own = flow / temperature
    is_top = torch.eq(log_tilde, 0, out=torch.empty_like(log_tilde))
    share = own.sum(dim=-1, keepdim=True).div_(is_top.sum(dim=-1, keepdim=True))
    return own.addcmul_(is_top, share, value=-1)


def relevance(
    strength: Float[Tensor, "*model klass concept"],
    temperature: float | Tensor,
    keep: Bool[Tensor, "*model klass concept"] | None = None,
    *,
    log_tilde: Float[Tensor, "*model klass concept"] | None = None,
) -> Float[Tensor, "*model klass concept"]:
    """Return α̃, eq. (drop): attention divided by its largest value, so that the most relevant concept has 1.

    α_j / max α = exp((γ_j − max γ)/τ): the normaliser of the softmax cancels, and nothing overflows. Derivative: α̃
    itself with respect to log α̃, which `fold_gradient` uses, and then `log_relevance_gradient`.

    Args:
        strength: γ.
        temperature: τ.
        keep: the concepts that take part; all by default. The others have relevance 0.
        log_tilde: the result of `log_relevance`, if the caller has it already.

    >>> relevance(torch.tensor([[3.0, 3.0, 0.0]]), 0.6)
    tensor([[1.0000, 1.0000, 0.0067]])
    """
    ratio = (log_relevance(strength, temperature, keep) if log_tilde is None else log_tilde).exp()
    return ratio if keep is None else ratio * keep


def relevant(relevance: Float[Tensor, "klass concept"], threshold: float = THRESHOLD) -> Bool[Tensor, "klass concept"]:
    """Return μ, eq. (sparse): which concepts each head uses.

    >>> relevant(torch.tensor([[1.0, 0.5, 0.49]]))
    tensor([[ True,  True, False]])
    """
    # >= : eq. (sparse) keeps a concept exactly at the threshold.
    return relevance >= threshold


def boolean(concepts: Float[Tensor, "*batch concept"], threshold: float = THRESHOLD) -> Bool[Tensor, "*batch concept"]:
    """Return c̄, eq. (sparse): concepts in [0, 1] as Boolean values.

    >>> boolean(torch.tensor([0.1, 0.5, 0.9]))
    tensor([False,  True,  True])
    """
    return concepts >= threshold


def log_attention(
    strength: Float[Tensor, "*model klass concept"],
    temperature: float | Tensor,
    keep: Bool[Tensor, "*model klass concept"] | None = None,
    *,
    log_tilde: Float[Tensor, "*model klass concept"] | None = None,
) -> Float[Tensor, "*model klass concept"]:
    """Return log α, eq. (alpha).

    The result is a logarithm because γ/τ may be 10⁴, and exp(89) is infinite in float32.

    Args:
        strength: γ.
        temperature: τ.
        keep: the concepts that take part; all by default.
        log_tilde: the result of `log_relevance`, if the caller has it already.
    """
    return torch.log_softmax(log_relevance(strength, temperature, keep) if log_tilde is None else log_tilde, dim=-1)


def attention(
    strength: Float[Tensor, "*model klass concept"],
    temperature: float | Tensor,
    keep: Bool[Tensor, "*model klass concept"] | None = None,
) -> Float[Tensor, "*model klass concept"]:
    """Return α, eq. (alpha): the softmax of γ/τ over the kept concepts, and 0 for the others.

    >>> attention(torch.tensor([[1.0, 1.0, 5.0]]), 0.6, torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    alpha = log_attention(strength, temperature, keep).exp()
    return alpha if keep is None else alpha * keep


def entropy(
    strength: Float[Tensor, "*model klass concept"],
    temperature: float | Tensor,
    keep: Bool[Tensor, "*model klass concept"] | None = None,
    *,
    log_alpha: Float[Tensor, "*model klass concept"] | None = None,
) -> Float[Tensor, "*model klass"]:
    """Return H(α), eq. (ent): 0 when one concept has all the attention, log k when k concepts share it equally.

    Derivative: `entropy_gradient`.

    Args:
        strength: γ.
        temperature: τ.
        keep: the concepts that take part; all by default.
        log_alpha: the result of `log_attention`, if the caller has it already.

    >>> entropy(torch.zeros(1, 4), 0.6)
    tensor([1.3863])
    """
    log_alpha = log_attention(strength, temperature, keep) if log_alpha is None else log_alpha
    return -_weighted_log(log_alpha, keep)[1].sum(dim=-1)


def entropy_gradient(
    flow: Tensor,
    log_alpha: Float[Tensor, "*model klass concept"],
    entropy: Float[Tensor, "*model klass"],
    temperature: float | Tensor,
    keep: Bool[Tensor, "*model klass concept"] | None = None,
    *,
    into: Float[Tensor, "*model klass concept"],
) -> None:
    """Add the derivative of `entropy` with respect to γ to `into`: ∂H/∂γ_j = −α_j (log α_j + H)/τ."""
    alpha, weighted = _weighted_log(log_alpha, keep)
    into.addcmul_(torch.addcmul(weighted, alpha, entropy.unsqueeze(-1)), flow / temperature, value=-1)


def _weighted_log(log_alpha: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return α and α log α, both 0 for a concept that is not kept."""
    alpha = log_alpha.exp()
    if keep is not None:
        # A concept not kept has log α = −inf; 0 · −inf is NaN, so it leaves before the product.
        log_alpha, alpha = log_alpha.masked_fill(~keep, 0.0), alpha * keep
    return alpha, alpha * log_alpha


def fold(
    weight: Float[Tensor, "*model klass hidden concept"],
    relevance: Float[Tensor, "*model klass concept"],
    *,
    out: Float[Tensor, "*model klass hidden concept"] | None = None,
) -> Float[Tensor, "*model klass hidden concept"]:
    """Return W ⊙ α̃, the weights of eq. (forward) scaled by relevance. Derivative: `fold_gradient`."""
    return torch.mul(weight, relevance.unsqueeze(-2), out=out)


def fold_gradient(
    flow: Float[Tensor, "*model klass hidden concept"],
    folded: Float[Tensor, "*model klass hidden concept"],
    relevance: Float[Tensor, "*model klass concept"],
    *,
    out: Float[Tensor, "*model klass hidden concept"],
) -> Float[Tensor, "*model klass concept"]:
    """Write the derivative of `fold` with respect to W to `out`; return its derivative with respect to log α̃.

    The second derivative is taken at the logarithm because ∂α̃/∂log α̃ = α̃ makes it Σ_h flow ⊙ `folded`.
    """
    torch.mul(flow, relevance.unsqueeze(-2), out=out)
    return (flow * folded).sum(dim=-2)


def affine(
    weight: Float[Tensor, "*head out width"],
    rows: Float[Tensor, "*head width row"],
    bias: Float[Tensor, "*head out 1"] | None,
    *,
    out: Float[Tensor, "*head out row"] | None = None,
) -> Float[Tensor, "*head out row"]:
    """Return W x + b for rows that lie side by side, with one matrix or one matrix per head.

    Derivatives: `affine_gradient` with respect to W and b, `affine_flow` with respect to x.
    """
    if bias is None:
        return torch.matmul(weight, rows, out=out)
    return (torch.addmm if weight.ndim == 2 else torch.baddbmm)(bias, weight, rows, out=out)


def affine_gradient(
    flow: Float[Tensor, "head out row"],
    rows: Float[Tensor, "head row width"],
    *,
    weight_out: Float[Tensor, "head out width"],
    bias_out: Float[Tensor, "head out"],
    turned: Float[Tensor, "head width out"] | None = None,
) -> None:
    """Write the derivatives of `affine` with respect to W and b: flow xᵀ and Σ_row flow.

    With the buffer `turned` the product is computed as (x flowᵀ)ᵀ, which is faster if x is narrow.
    """
    if turned is None:
        torch.bmm(flow, rows, out=weight_out)
    else:
        torch.bmm(rows.transpose(1, 2), flow.transpose(1, 2), out=turned)
        weight_out.copy_(turned.transpose(1, 2))
    torch.sum(flow, dim=-1, out=bias_out)


def affine_flow(
    flow: Float[Tensor, "head out row"],
    turned_weight: Float[Tensor, "head width out"],
    *,
    out: Float[Tensor, "head width row"],
) -> Float[Tensor, "head width row"]:
    """Write the derivative of `affine` with respect to x to `out`: Wᵀ flow."""
    # The same product, without a matrix multiplication where W is a single row.
    return (torch.mul if flow.shape[1] == 1 else torch.bmm)(turned_weight, flow, out=out)


def entropy_linear(
    concepts: Float[Tensor, "*batch concept"],
    weight: Float[Tensor, "klass hidden concept"],
    bias: Float[Tensor, "klass hidden"] | None,
    relevance: Float[Tensor, "klass concept"],
) -> Float[Tensor, "*batch klass hidden"]:
    """Return h, eq. (forward): W(c ⊙ α̃) + b, computed as c (W ⊙ α̃)ᵀ + b.

    Multiplying α̃ into the weights needs one matrix product and never builds [klass, batch, concept].
    """
    folded = fold(weight, relevance).flatten(0, 1)
    rows = concepts.reshape(-1, concepts.shape[-1]).t()
    out = affine(folded, rows, None if bias is None else bias.reshape(-1, 1))
    # The memory layout is [klass, hidden, batch], so that the next layers work on whole matrices without a copy.
    heads = out.reshape(*weight.shape[:2], rows.shape[1]).permute(2, 0, 1)
    return heads.reshape(*concepts.shape[:-1], *weight.shape[:2])


def independent_linear(
    hidden: Float[Tensor, "*batch klass width"],
    weight: Float[Tensor, "klass out width"],
    bias: Float[Tensor, "klass out"] | None,
) -> Float[Tensor, "*batch klass out"]:
    """Apply a separate linear map to each head: W^i x^i + b^i, as one batched matrix product."""
    rows = hidden.reshape(-1, *hidden.shape[-2:]).permute(1, 2, 0)
    out = affine(weight, rows, None if bias is None else bias.unsqueeze(-1))
    return out.permute(2, 0, 1).reshape(*hidden.shape[:-1], weight.shape[1])


def cross_entropy(log_p: Float[Tensor, "*axes"], weight: Float[Tensor, "*axes_and_side"]) -> Float[Tensor, "*side"]:
    """Return −Σ w log p, the first term of eq. (loss) for one class per row. Derivative: `cross_entropy_gradient`.

    Args:
        log_p: the log softmax of the logits over classes.
        weight: w of each class on each row; with a `side` axis as described at `weighted_sum`.
    """
    return -weighted_sum((weight, log_p))


def cross_entropy_gradient(
    log_p: Float[Tensor, "*axes"], minus_weight: Float[Tensor, "*axes"], total: Float[Tensor, "..."]
) -> Float[Tensor, "*axes"]:
    """Return the derivative of `cross_entropy` with respect to the logits: p Σ_klass w − w.

    Args:
        log_p: the log softmax of the logits over classes.
        minus_weight: −w; it does not change during training, so the caller computes it once.
        total: Σ_klass w, which does not change either.
    """
    return torch.addcmul(minus_weight, log_p.exp(), total)


def binary_cross_entropy(
    logits: Float[Tensor, "*axes"], yes: Float[Tensor, "*axes_and_side"], no: Float[Tensor, "*axes_and_side"]
) -> Float[Tensor, "*side"]:
    """Return −Σ (yes log σ(z) + no log σ(−z)), the first term of eq. (loss) for several labels per row.

    Derivative: `binary_cross_entropy_gradient`.

    Args:
        logits: z of each head on each row.
        yes: the weight of the answer yes of each head on each row; its axes as described at `weighted_sum`.
        no: the weight of the answer no.
    """
    return weighted_sum((yes, F.softplus(-logits)), (no, F.softplus(logits)))


def binary_cross_entropy_gradient(
    logits: Float[Tensor, "*axes"], minus_yes: Float[Tensor, "*axes"], total: Float[Tensor, "*axes"]
) -> Float[Tensor, "*axes"]:
    """Return the derivative of `binary_cross_entropy` with respect to the logits: σ(z) (yes + no) − yes.

    Args:
        logits: z of each head on each row.
        minus_yes: −yes; it does not change during training, so the caller computes it once.
        total: yes + no, which does not change either.
    """
    return torch.addcmul(minus_yes, torch.sigmoid(logits), total)


def weighted_sum(*terms: tuple[Tensor, Tensor]) -> Float[Tensor, "*side"]:
    """Return Σ weight · value over all axes and all terms (weight, value).

    If weights have one axis more than values, `[group, model, side, klass, row]` for `[group, model, klass, row]`, sum
    over classes and rows only, and return one number for each group, model and side.
    """
    if terms[0][0].ndim == terms[0][1].ndim:
        return sum((weight * value for weight, value in terms[1:]), terms[0][0] * terms[0][1]).sum()
    sums = [_sum_by_side(weight, value) for weight, value in terms]
    return sum(sums[1:], sums[0])


def _sum_by_side(
    weight: Float[Tensor, "group model side klass row"], values: Float[Tensor, "group model klass row"]
) -> Float[Tensor, "group model side"]:
    if values.is_cuda:
        # A matrix product with a single column would use one multiprocessor of many.
        return (weight * values.unsqueeze(2)).sum(dim=(-1, -2))
    n_models = weight.shape[0] * weight.shape[1]
    product = torch.bmm(weight.view(n_models, weight.shape[2], -1), values.reshape(n_models, -1, 1))
    return product.view(weight.shape[:3])


def l1_norm(weight: Tensor, dim: tuple[int, ...] | None = None) -> Tensor:
    """Return Σ `|w|` over some axes, by default over all. Derivative: `l1_norm_gradient`."""
    return weight.abs().sum(dim=dim)


def l1_norm_gradient(flow: Tensor, weight: Tensor, *, into: Tensor) -> None:
    """Add the derivative of `l1_norm` to `into`: sign w."""
    into.addcmul_(weight.sign(), flow)


def entropy_layers(model: torch.nn.Module) -> Iterator[EntropyLogicLayer]:
    """Return every entropy layer of a model, at any depth, in the order of registration."""
    from logiclens.nn.layers import EntropyLogicLayer

    return (module for module in model.modules() if isinstance(module, EntropyLogicLayer))


def first_entropy_layer(model: torch.nn.Module) -> EntropyLogicLayer:
    """Return the entropy layer that the concepts enter.

    Raises:
        NoEntropyLayer: if the model has none.
    """
    for layer in entropy_layers(model):
        return layer
    raise NoEntropyLayer(
        f"{type(model).__name__} has no entropy layer, so it has no relevant concepts to explain with. "
        "Put logiclens.nn.EntropyLogicLayer first, or use logiclens.nn.EntropyNet."
    )


def entropy_logic_loss(model: torch.nn.Module) -> Float[Tensor, ""]:
    """Return Σ_i H(α^i), the second term of eq. (loss), over every entropy layer of a model at any depth.

    Args:
        model: a module with entropy layers at any depth.

    >>> from logiclens.nn.layers import EntropyNet
    >>> entropy_logic_loss(EntropyNet(3, 2)).ndim
    0
    """
    first_entropy_layer(model)
    return torch.stack([layer.entropy().sum() for layer in entropy_layers(model)]).sum()


def l1_loss(model: torch.nn.Module) -> Float[Tensor, ""]:
    """Return the sum of `|w|` over all weight matrices of a model, without biases.

    Args:
        model: a module.

    >>> l1_loss(torch.nn.Linear(2, 1)).ndim
    0
    """
    norms = [
        l1_norm(parameter)
        for name, parameter in model.named_parameters()
        # The bias of a layer with heads is a matrix too, [klass, hidden]; only its name differs from a weight.
        if parameter.ndim >= 2 and parameter.requires_grad and name.rpartition(".")[2] != "bias"
    ]
    if not norms:
        raise LogicLensError(f"{type(model).__name__} has no weight matrix, so it has no L1 norm.")
    return torch.stack(norms).sum()
