"""A network with fixed answers and relevant concepts, so that the right explanation is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from logiclens.nn import EntropyLogicLayer

GRID = np.array(list(itertools.product([0, 1], repeat=4)))
NAMES = ("a", "b", "c", "d")


class Rigged(nn.Module):
    """Gives the logits of `answer(concepts)`; the entropy layer only says which concepts each head finds relevant."""

    def __init__(self, n_concepts: int, relevant: Sequence[Sequence[int]], answer: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.entropy = EntropyLogicLayer(n_concepts, 1, len(relevant))
        self.dropout = nn.Dropout(0.5)
        self.answer = answer
        with torch.no_grad():
            self.entropy.weight.zero_()
            for head, concepts in enumerate(relevant):
                self.entropy.weight[head, 0, list(concepts)] = 10.0

    def forward(self, concepts: Tensor) -> Tensor:
        logits = self.answer(concepts)
        # Dropout left on would scale or erase the logits.
        return self.dropout(logits)


def yes_no(answer: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Two heads from one Boolean answer: no, yes."""

    def logits(concepts: Tensor) -> Tensor:
        yes = answer(concepts).to(concepts.dtype)
        return torch.stack([1 - yes, yes], dim=-1) * 10

    return logits


def boolean(function):
    return yes_no(lambda x: function(*(x[:, j] >= 0.5 for j in range(x.shape[1]))))


def xor_net(relevant=((0, 1), (0, 1))):
    return Rigged(4, relevant, boolean(lambda a, b, c, d: a ^ b))
