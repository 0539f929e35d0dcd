"""CompleteTable: what a head answers on every row of its concepts, and how far each answer is from changing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.explain.rounding import rounding_bound
from logiclens.formula.complete import row_bits, row_numbers
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.minimise import Minimum, minimise_complete
from logiclens.nn.networks import EntropyNet

MOST_CONCEPTS = 20
"""A head with more concepts than this is not enumerated: every further concept doubles the rows."""
ROOM = 2.0
"""How many times the bound on rounding a margin must be."""
BATCH = 1 << 16
"""Rows sent through a head at a time."""


@dataclass(frozen=True, eq=False)
class CompleteTable:
    """The logits of one head on all 2^m rows of its concepts, in float64.

    Row r reads r in binary, the first concept being the most significant bit. `possible` are the rows that the groups
    allow: the domain on which formula and head must agree.
    """

    names: tuple[str, ...]
    logits: NDArray[np.float64]
    possible: NDArray[np.bool_]
    groups: Groups
    bound: float

    @classmethod
    def of(cls, single: EntropyNet, names: tuple[str, ...], groups: Groups = NO_GROUPS) -> CompleteTable:
        """Send every row through a network of one head."""
        check_enumerable(len(names))
        exact, here = single.like(len(names), 1).double(), groups.among(names)
        exact.load_state_dict(single.state_dict())
        logits, possible = np.empty(1 << len(names)), np.ones(1 << len(names), dtype=np.bool_)
        with torch.no_grad():
            for first in range(0, len(logits), BATCH):
                rows = grid(len(names), first, min(first + BATCH, len(logits)))
                inputs = torch.from_numpy(rows).to(exact.entropy.weight)
                logits[first : first + len(rows)] = exact(inputs)[:, 0].cpu().numpy()
                possible[first : first + len(rows)] = here.allows(rows, names)
        return cls(names, logits, possible, here, rounding_bound(single))

    def __len__(self) -> int:
        """The number of rows of the domain."""
        return int(self.possible.sum())

    @cached_property
    def answers(self) -> NDArray[np.bool_]:
        """Yes from logit 0 on."""
        return self.logits >= 0

    @property
    def margin(self) -> float:
        """The smallest distance of a logit from 0 on the domain."""
        return float(np.abs(self.logits[self.possible]).min())

    @property
    def is_safe(self) -> bool:
        """Whether no rounding in float32 can change an answer, with room to spare for another way to bound it."""
        return self.margin > ROOM * self.bound

    def at(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The answers on some rows, given as a matrix of the head's concepts."""
        return self.answers[row_numbers(rows)]

    def minimised(self) -> Minimum:
        """The shortest formula found that equals the head on the domain."""
        return minimise_complete(self.answers, self.names, self.possible, positive=True)

    def middle(self) -> float:
        """What to add to the output so that no answer changes and the nearest yes and no are equally far from 0."""
        logits, yes = self.logits[self.possible], self.answers[self.possible]
        if yes.all():
            return max(0.0, 1.0 - float(logits.min()))
        if not yes.any():
            return min(0.0, -1.0 - float(logits.max()))
        return -float(logits[yes].min() + logits[~yes].max()) / 2


def grid(n_concepts: int, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
    """Rows `first` to `last` of all 2^n rows: each row number in binary, most significant bit first."""
    return row_bits(np.arange(first, 1 << n_concepts if last is None else last), n_concepts)


def check_enumerable(n_concepts: int) -> None:
    """Refuse more concepts than can be enumerated, with the cost in words."""
    if n_concepts > MOST_CONCEPTS:
        raise LogicLensError(
            f"a head with {n_concepts} concepts has 2^{n_concepts} = {2**n_concepts:,} rows, and every one must go "
            f"through the network and be minimised: each further concept doubles the time and the memory. "
            f"Choose max_concepts up to {MOST_CONCEPTS} ({2**MOST_CONCEPTS:,} rows)."
        )
