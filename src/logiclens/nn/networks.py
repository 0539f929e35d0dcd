"""Networks with an entropy layer in front."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from logiclens.errors import LogicLensError
from logiclens.nn.layers import EntropyLogicLayer, LinearIndependent, seeded_linear


class EntropyNet(nn.Module):
    """An entropy layer followed by a small network for each class; gives logits `[batch, classes]`.

    Args:
        n_concepts: number of concepts.
        n_classes: number of heads; 1 for a single yes/no question.
        hidden: widths of the hidden layers; the first is the entropy layer's.
        shared_tail: whether all heads share the weights behind the entropy layer.
        temperature: τ of the entropy layer.
        activation: makes the activation between layers (the paper's text says ReLU).
        generator: where the initial weights come from.

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
        """Build the layers in order, drawing their weights from `generator`."""
        super().__init__()
        if not isinstance(hidden, Sequence) or len(hidden) == 0:
            raise LogicLensError("hidden needs at least one width: the entropy layer's own, such as hidden=(20,).")
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
        """One logit per class."""
        logits: Tensor = self.tail(self.entropy(concepts))
        return logits
