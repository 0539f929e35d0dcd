"""A committee of networks, whose mean probability is the prediction."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from logiclens.errors import LogicLensError
from logiclens.nn.layers import EntropyNet


class Committee(nn.Module):
    """Networks whose mean probability is the prediction.

    The outputs are logarithms of the mean probabilities, so that a softmax returns these. With several labels per row,
    or a single head, the outputs are log-odds.

    Args:
        members: networks with the same concepts and heads.
        single: whether each head answers a separate yes/no question. Default: False.
    """

    def __init__(self, members: Sequence[EntropyNet], *, single: bool = False) -> None:
        """Store the members unchanged."""
        super().__init__()
        if not members:
            raise LogicLensError("a committee needs at least one member.")
        self.networks = tuple(members)
        self.members = nn.ModuleList(members)
        self.single = single
        self.n_concepts, self.n_classes = members[0].n_concepts, members[0].n_classes

    def forward(self, concepts: Float[Tensor, "*batch concept"]) -> Float[Tensor, "*batch klass"]:
        """Return the logarithm of the mean probability, or of its odds."""
        logits = torch.stack([member(concepts) for member in self.networks])
        if self.single:
            mean = torch.sigmoid(logits).mean(dim=0).clamp(1e-12, 1 - 1e-12)
            return torch.logit(mean)
        count = torch.log(torch.tensor(float(len(self.members)), dtype=logits.dtype, device=logits.device))
        return torch.logsumexp(torch.log_softmax(logits, dim=-1), dim=0) - count

    def relevance(self) -> Float[Tensor, "klass concept"]:
        """Return the mean relevance of the members, rescaled to a largest value of 1 for each class."""
        relevance: Tensor = torch.stack([member.entropy.relevance() for member in self.networks]).mean(dim=0)
        return relevance / relevance.amax(dim=-1, keepdim=True).clamp_min(torch.finfo(relevance.dtype).tiny)
