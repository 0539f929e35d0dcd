"""Layers with one head per class, and `EntropyNet`, the network built from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from logiclens.errors import LogicLensError, quoted
from logiclens.nn import functional


class EntropyLogicLayer(nn.Module):
    """The entropy-based linear layer: h^i = W^i (c ⊙ α̃^i) + b^i for every class i.

    In each head, a softmax over the L1 norms of the weights decides which concepts are relevant. The strongest concept
    passes unchanged, the others are scaled towards 0. Relevance depends on the weights alone, so that it can be read
    from a loaded model without a forward pass.

    Args:
        in_features: number of concepts.
        out_features: width of each head.
        n_classes: number of heads.
        temperature: τ > 0; a low value leaves few concepts relevant. Default: 0.6.
        bias: whether heads have a bias. Default: True.
        generator: random generator of the initial weights; torch's global one by default.

    Example:
        >>> layer = EntropyLogicLayer(4, 10, n_classes=3)
        >>> layer(torch.rand(8, 4)).shape
        torch.Size([8, 3, 10])
        >>> layer.relevance().amax(dim=-1)
        tensor([1., 1., 1.], grad_fn=<AmaxBackward0>)

    Reference:
        Barbiero et al., "Entropy-based Logic Explanations of Neural Networks", AAAI 2022.
    """

    keep: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        n_classes: int,
        temperature: float = 0.6,
        bias: bool = True,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        """Draw the weights of each head as `torch.nn.Linear` draws its own."""
        super().__init__()
        check_sizes(in_features=in_features, out_features=out_features, n_classes=n_classes)
        if not (temperature > 0 and math.isfinite(temperature)):
            raise LogicLensError(f"temperature must be a number above 0, got {temperature}.")
        self.in_features, self.out_features, self.n_classes = in_features, out_features, n_classes
        self.temperature = float(temperature)
        self.weight, self.bias = _head_parameters(n_classes, out_features, in_features, bias, generator)
        self.register_buffer("keep", torch.ones(n_classes, in_features, dtype=torch.bool))

    def forward(self, concepts: Float[Tensor, "*batch concept"]) -> Float[Tensor, "*batch klass hidden"]:
        """Return h, eq. (forward).

        Args:
            concepts: concepts in [0, 1].
        """
        if concepts.shape[-1] != self.in_features:
            raise LogicLensError(f"this layer takes {self.in_features} concepts, got {concepts.shape[-1]}.")
        return functional.entropy_linear(concepts, self.weight, self.bias, self.relevance())

    def strength(self) -> Float[Tensor, "klass concept"]:
        """Return γ, eq. (gamma)."""
        return functional.strength(self.weight)

    def attention(self) -> Float[Tensor, "klass concept"]:
        """Return α, eq. (alpha)."""
        return functional.attention(self.strength(), self.temperature, self.keep)

    def relevance(self) -> Float[Tensor, "klass concept"]:
        """Return α̃, eq. (drop); it is exactly 0 for a concept that is not kept."""
        return functional.relevance(self.strength(), self.temperature, self.keep)

    def relevant(self, threshold: float = functional.THRESHOLD) -> Bool[Tensor, "klass concept"]:
        """Return μ, eq. (sparse): the relevant concepts of each head.

        Args:
            threshold: the least relevance of a relevant concept. Default: 0.5.
        """
        return functional.relevant(self.relevance(), threshold)

    def entropy(self) -> Float[Tensor, " klass"]:
        """Return H(α), eq. (ent), one number per head."""
        return functional.entropy(self.strength(), self.temperature, self.keep)

    def extra_repr(self) -> str:
        """Return the sizes, as other torch layers print them."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, n_classes={self.n_classes}, "
            f"temperature={self.temperature:g}, bias={self.bias is not None}"
        )


class LinearIndependent(nn.Module):
    """A separate linear layer for each head: h^i = W^i x^i + b^i.

    Args:
        in_features: input width of each head.
        out_features: output width of each head; must be 1 if `top`.
        n_classes: number of heads.
        top: whether this is the last layer, which returns `[batch, classes]`. Default: False.
        bias: whether heads have a bias. Default: True.
        generator: random generator of the initial weights; torch's global one by default.

    Example:
        >>> hidden = torch.rand(8, 3, 10)
        >>> LinearIndependent(10, 5, n_classes=3)(hidden).shape
        torch.Size([8, 3, 5])
        >>> LinearIndependent(10, 1, n_classes=3, top=True)(hidden).shape
        torch.Size([8, 3])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        n_classes: int,
        top: bool = False,
        bias: bool = True,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        """Draw the weights of each head as `torch.nn.Linear` draws its own."""
        super().__init__()
        check_sizes(in_features=in_features, out_features=out_features, n_classes=n_classes)
        if top and out_features != 1:
            raise LogicLensError(
                f"the top layer returns one number per class: out_features must be 1, got {out_features}."
            )
        self.in_features, self.out_features, self.n_classes, self.top = in_features, out_features, n_classes, top
        self.weight, self.bias = _head_parameters(n_classes, out_features, in_features, bias, generator)

    def forward(self, hidden: Float[Tensor, "*batch klass hidden"]) -> Float[Tensor, "*batch klass *out"]:
        """Return the output of each head on its own slice of the input.

        Args:
            hidden: the inputs of all heads.
        """
        if hidden.shape[-2:] != (self.n_classes, self.in_features):
            raise LogicLensError(
                f"this layer takes [batch, {self.n_classes}, {self.in_features}] "
                f"(classes, width), got {list(hidden.shape)}."
            )
        out = functional.independent_linear(hidden, self.weight, self.bias)
        return out.squeeze(-1) if self.top else out

    def extra_repr(self) -> str:
        """Return the sizes, as other torch layers print them."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"n_classes={self.n_classes}, top={self.top}, bias={self.bias is not None}"
        )


def check_sizes(**sizes: int) -> None:
    """Raise an error unless every size is a whole number of at least 1."""
    for name, size in sizes.items():
        if not isinstance(size, Integral):
            raise LogicLensError(f"{name} must be a whole number, got {quoted(size)}.")
        if size < 1:
            raise LogicLensError(f"{name} must be at least 1, got {size}.")


def seeded_linear(width_in: int, width_out: int, generator: torch.Generator | None) -> nn.Linear:
    """Return a linear layer with initial weights from `generator`, drawn as torch draws them."""
    check_sizes(in_features=width_in, out_features=width_out)
    # Skip the initialisation of nn.Linear, which would advance torch's global generator.
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, width_in, width_out)  # type: ignore[no-untyped-call]
    bound = width_in**-0.5
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


def _head_parameters(
    n_classes: int, out_features: int, in_features: int, bias: bool, generator: torch.Generator | None
) -> tuple[nn.Parameter, nn.Parameter | None]:
    """Draw weights uniformly in ±1/√in for each head, the initialisation of `torch.nn.Linear`.

    The bound must not shrink with the number or the width of heads, or all concepts start out equally relevant.
    """
    bound = 1 / math.sqrt(in_features)
    weight = torch.empty(n_classes, out_features, in_features).uniform_(-bound, bound, generator=generator)
    if not bias:
        return nn.Parameter(weight), None
    return nn.Parameter(weight), nn.Parameter(
        torch.empty(n_classes, out_features).uniform_(-bound, bound, generator=generator)
    )


class EntropyNet(nn.Module):
    """An entropy layer followed by a small network for each class; returns logits `[batch, classes]`.

    Args:
        n_concepts: number of concepts.
        n_classes: number of heads; 1 for a single yes/no question.
        hidden: widths of the hidden layers, the first of which is the entropy layer. Default: (20,).
        shared_tail: whether all heads share the weights after the entropy layer. Default: False.
        temperature: τ of the entropy layer. Default: 0.6.
        activation: class of the activation between layers. Default: `torch.nn.ReLU`, as in the paper.
        generator: random generator of the initial weights; torch's global one by default.

    Example:
        >>> network = EntropyNet(90, 2, hidden=(20, 10))
        >>> network(torch.rand(5, 90)).shape
        torch.Size([5, 2])
        >>> sum(p.numel() for p in network.parameters()) > sum(
        ...     p.numel() for p in EntropyNet(90, 2, hidden=(20, 10), shared_tail=True).parameters())
        True
    """

    def __init__(
        self,
        n_concepts: int,
        n_classes: int,
        hidden: Sequence[int] = (20,),
        shared_tail: bool = False,
        *,
        temperature: float = 0.6,
        activation: type[nn.Module] = nn.ReLU,
        generator: torch.Generator | None = None,
    ) -> None:
        """Build the layers in order and draw their weights from `generator`."""
        super().__init__()
        if not isinstance(hidden, Sequence) or len(hidden) == 0:
            raise LogicLensError("hidden needs at least one width, that of the entropy layer, such as hidden=(20,).")
        self.n_concepts, self.n_classes = n_concepts, n_classes
        self.hidden, self.shared_tail, self.activation = tuple(hidden), shared_tail, activation
        self.entropy = EntropyLogicLayer(n_concepts, hidden[0], n_classes, temperature, generator=generator)
        tail: list[nn.Module] = [activation()]
        for width_in, width_out in zip(hidden, [*hidden[1:], 1], strict=True):
            top = len(tail) == 2 * len(hidden) - 1
            if shared_tail:
                tail.append(seeded_linear(width_in, width_out, generator))
            else:
                tail.append(LinearIndependent(width_in, width_out, n_classes, top, generator=generator))
            if not top:
                tail.append(activation())
        if shared_tail:
            tail.append(nn.Flatten(-2))
        self.tail = nn.Sequential(*tail)

    def forward(self, concepts: Float[Tensor, "*batch concept"]) -> Float[Tensor, "*batch klass"]:
        """Return one logit per class.

        Args:
            concepts: concepts in [0, 1].
        """
        logits: Tensor = self.tail(self.entropy(concepts))
        return logits
