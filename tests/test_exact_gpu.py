"""Exact mode on a CUDA device; needs torch, NumPy and scipy alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from logiclens.data.concepts import ConceptTable
from logiclens.explain.complete import CompleteTable, grid
from logiclens.explain.exact import ExactConfig, make_exact
from logiclens.explain.rounding import rounding_bound
from logiclens.formula import parse
from logiclens.nn import EntropyNet
from logiclens.train import TrainConfig, fit

pytestmark = pytest.mark.gpu
NAMES = ("a", "b", "c", "d", "e")


def planted(seed: int) -> ConceptTable:
    rows = np.random.default_rng(seed).random((200, len(NAMES))) < 0.5
    return ConceptTable(rows, NAMES, parse("(a & b) | c").evaluate(rows, NAMES).astype(int), ["no", "yes"])


def test_a_network_on_the_gpu_is_made_exact_there():
    network = EntropyNet(5, 2, (10,), generator=torch.Generator().manual_seed(0)).to("cuda")
    fit(network, planted(0), TrainConfig(epochs=150))
    made = make_exact(network, planted(0), planted(1), ExactConfig(epochs=60))
    assert made.network.entropy.weight.is_cuda
    assert made.heads[1].formula.equivalent(parse("(a & b) | c"))
    with torch.no_grad():
        said = made.network(torch.from_numpy(grid(len(NAMES))).float().cuda()) >= 0
    for head in made.heads:
        np.testing.assert_array_equal(head.formula.evaluate(grid(len(NAMES)), NAMES), said[:, head.head].cpu().numpy())


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("hidden", [(20,), (20, 10)])
def test_float32_on_the_gpu_stays_within_the_bound(scale, hidden):
    for seed in range(20):
        network = EntropyNet(8, 1, hidden, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(scale)
            exact = CompleteTable.of(network, tuple("abcdefgh")).logits
            rough = network.cuda()(torch.from_numpy(grid(8)).float().cuda())[:, 0].cpu().double().numpy()
        assert np.abs(rough - exact).max() <= rounding_bound(network)
