"""Pruning: heads learn to answer alone on hard concepts, and lose the concepts they miss least, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch.nn import functional as F

from logiclens.data.concepts import ConceptTable
from logiclens.nn.networks import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit
from logiclens.train.objective import as_tensor
from logiclens.train.threads import threads_for

SIZES = (20, 16, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1)
"""How many concepts a head is left with, step by step."""


def prune(
    hard: EntropyNet, rows: ConceptTable, held: ConceptTable, training: TrainConfig, max_concepts: int
) -> Iterator[int]:
    """Fine-tune the heads on ever fewer concepts, in place; each size is yielded when its heads are trained.

    `rows` train and `held` choose the epoch; both have hard concepts and a yes or no for each class. At first a head
    keeps its `max_concepts` most relevant concepts; from then on it loses the one without which its loss grows least.
    """
    # Once with all concepts: a head that shared the work with others must learn to answer alone before it is pruned.
    fit(hard, rows, training, validation=held)
    relevance = hard.entropy.relevance().detach()
    most = min(max_concepts, rows.n_concepts)
    kept = [sorted(torch.argsort(-relevance[h], stable=True)[:most].tolist()) for h in range(hard.n_classes)]
    for size in sorted({min(size, most) for size in (*SIZES, max_concepts)}, reverse=True):
        for head in range(hard.n_classes):
            while len(kept[head]) > size:
                kept[head].remove(_least_missed(hard, head, kept[head], rows))
            _keep(hard, head, kept[head])
        fit(hard, rows, training, validation=held)
        yield size


def _keep(hard: EntropyNet, head: int, kept: Sequence[int]) -> None:
    hard.entropy.keep[head] = False
    hard.entropy.keep[head, list(kept)] = True


@torch.no_grad()
def _least_missed(hard: EntropyNet, head: int, kept: Sequence[int], rows: ConceptTable) -> int:
    """The concept without which the head's loss grows least."""
    single, counted = hard.head(head, kept), rows.counted()
    # One head for each concept that could go, all with the same weights: one pass for all of them.
    without = single.like(len(kept), len(kept))
    for mine, theirs in zip(single.parameters(), without.parameters(), strict=True):
        theirs.copy_(mine.expand_as(theirs))
    without.entropy.keep.copy_(~torch.eye(len(kept), dtype=torch.bool))
    like = single.entropy.weight
    inputs, yes = as_tensor(counted.bits()[:, list(kept)], like), as_tensor(counted.counts[:, [head]], like)
    no = as_tensor(counted.total[:, None], like) - yes
    with threads_for(len(inputs) * sum(parameter.numel() for parameter in without.parameters())):
        logits = without(inputs)
        losses = (yes * F.softplus(-logits) + no * F.softplus(logits)).sum(dim=0)
    return kept[int(losses.argmin())]
