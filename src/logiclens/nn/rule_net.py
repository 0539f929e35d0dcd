"""`RuleNet`: a network that sees rules beside the concepts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from logiclens.nn.functional import boolean
from logiclens.nn.layers import EntropyNet


class RuleNet(nn.Module):
    """An entropy network whose further inputs say which cubes of concepts hold.

    A cube that was found on labels is hard to learn for a network, and easy to use.

    Args:
        network: a network with one input for each concept, then one for each cube.
        cubes: for each cube, 1 for a concept that must hold, −1 for one that must not, and 0 for others.
    """

    cubes: Int8[Tensor, "cube concept"]

    def __init__(self, network: EntropyNet, cubes: Int8[Tensor, "cube concept"]) -> None:
        """Store the network and the cubes."""
        super().__init__()
        self.network = network
        self.register_buffer("cubes", cubes)
        self.n_concepts, self.n_classes = network.n_concepts - len(cubes), network.n_classes

    @classmethod
    def cubes_of(cls, cubes: Sequence[Sequence[int]], places: Sequence[int], n_concepts: int) -> Tensor:
        """Return cubes as a tensor.

        Args:
            cubes: literal codes: 2 j for concept j of `places`, 2 j + 1 for its negation.
            places: place of each concept of the codes among all concepts.
            n_concepts: number of all concepts.
        """
        signs = torch.zeros((len(cubes), n_concepts), dtype=torch.int8)
        for row, cube in enumerate(cubes):
            for code in cube:
                signs[row, places[code >> 1]] = -1 if code & 1 else 1
        return signs

    def with_rules(self, concepts: Float[Tensor, "*batch concept"]) -> Float[Tensor, "*batch input"]:
        """Return concepts with the cubes that hold, as the inner network takes them."""
        holds, signs = boolean(concepts).to(concepts.dtype), self.cubes.to(concepts.dtype)
        # A literal that holds counts 1 and one that does not 0: the sum is the number of literals if all hold.
        true = holds @ signs.clamp(min=0).T + (1 - holds) @ (-signs).clamp(min=0).T
        return torch.cat([concepts, (true >= signs.abs().sum(dim=1)).to(concepts.dtype)], dim=-1)

    def forward(self, concepts: Float[Tensor, "*batch concept"]) -> Float[Tensor, "*batch klass"]:
        """Return the logits of the inner network."""
        logits: Tensor = self.network(self.with_rules(concepts))
        return logits

    def relevance(self) -> Float[Tensor, "klass concept"]:
        """Return the relevance of each concept: its own, or that of a cube that has it, whichever is larger."""
        relevance = self.network.entropy.relevance()
        own, of_cubes = relevance[:, : self.n_concepts], relevance[:, self.n_concepts :]
        if not len(self.cubes):
            return own
        through = (of_cubes[:, :, None] * (self.cubes != 0).to(relevance.dtype)).amax(dim=1)
        return torch.maximum(own, through)
