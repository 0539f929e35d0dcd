"""Refitting a head to a formula: the rule is distilled into the network, on every row of its concepts."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from logiclens.explain.complete import CompleteTable, check_enumerable, grid
from logiclens.formula.dnf import DNF
from logiclens.formula.groups import Groups
from logiclens.nn.networks import EntropyNet
from logiclens.train.threads import threads_for

STEPS = 1_500
"""Steps of AdamW for one try."""
FRESH_STARTS = 3
"""How often fresh weights are tried after the head's own."""
MARGIN = 0.5
"""The distance from 0 that every logit of the domain must reach."""


def refit(
    single: EntropyNet, formula: DNF, names: tuple[str, ...], groups: Groups, *, generator: torch.Generator
) -> tuple[EntropyNet, CompleteTable] | None:
    """A head that equals the formula on every row of `names` that the groups allow; None where training fails.

    Starts from the weights of `single`, which takes the concepts `names`, and where that fails from fresh ones.
    """
    check_enumerable(len(names))
    rows = grid(len(names))
    wanted = formula.evaluate(rows, names)
    possible = groups.among(names).allows(rows, names)
    for start in (single, *(_fresh(single, generator) for _ in range(FRESH_STARTS))):
        head = start.head(0, range(len(names)))
        _train(head, rows[possible], wanted[possible])
        table = CompleteTable.of(head, names, groups)
        if table.is_safe and bool((table.answers == wanted)[possible].all()):
            return head, table
    return None


def _fresh(single: EntropyNet, generator: torch.Generator) -> EntropyNet:
    return EntropyNet(
        single.n_concepts,
        1,
        single.hidden,
        temperature=single.entropy.temperature,
        activation=single.activation,
        generator=generator,
    ).to(single.entropy.weight)


def _train(single: EntropyNet, rows: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> None:
    """Train on the complete table until every row is right by the margin.

    The loss is log Σ exp(−2 z) over the rows' signed logits z: the rows that are least right weigh most, since one
    wrong row is as bad as many.
    """
    like = single.entropy.weight
    inputs = torch.from_numpy(rows).to(like)
    sign = torch.from_numpy(np.where(wanted, 1.0, -1.0)).to(like)
    optimizer = torch.optim.AdamW(single.parameters(), lr=1e-2, weight_decay=0.0)
    with threads_for(len(rows) * sum(parameter.numel() for parameter in single.parameters())):
        for _ in range(STEPS):
            signed = sign * single(inputs)[:, 0]
            if float(signed.detach().min()) >= MARGIN:
                return
            optimizer.zero_grad(set_to_none=True)
            torch.logsumexp(-2 * signed, dim=0).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
