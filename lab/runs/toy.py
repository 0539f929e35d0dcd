"""The paper's toy comparison of the entropy loss with L1 (appendix), alone and as runs of the bench.

Eight rows of four features; the classes are x1 xor x2, x3 or x4, and their complements. Three networks of one shape:
A, a plain first layer with L1; B, the entropy layer with L1; C, the entropy layer with the entropy loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lab.runs.results import Run
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.classwise import Method, explain_all
from logiclens.explain.result import Explanation
from logiclens.formula.text import parse
from logiclens.nn.layers import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit

CONCEPTS = ("x1", "x2", "x3", "x4")
CLASSES = ("y", "not_y", "z", "not_z")
HIDDEN = (20, 10)
TEMPERATURE = 0.3
CONFIG = TrainConfig(epochs=18_000, learning_rate=1e-4, penalty_weight=1e-4)
TRUTH = tuple(parse(text) for text in ("(x1 & ~x2) | (~x1 & x2)", "(x1 & x2) | (~x1 & ~x2)", "x3 | x4", "~x3 & ~x4"))
METHODS: tuple[Method, ...] = ("search", "paper")


@dataclass(frozen=True, eq=False)
class ToyRun:
    """Network C of one seed, and the formulas that each method reads from it."""

    seed: int
    network: EntropyNet
    explanations: dict[Method, Explanation]

    def recovered(self, method: Method) -> int:
        """Return how many of the four formulas have the right meaning."""
        formulas = self.explanations[method].formulas
        return sum(found.equivalent(truth) for found, truth in zip(formulas, TRUTH, strict=True))


@dataclass(frozen=True, eq=False)
class Weights:
    """The matrices of the heat maps: W of A's first layer `[hidden, concept]`, and α̃ of B and C `[klass, concept]`."""

    plain: NDArray[np.float64]
    l1: NDArray[np.float64]
    entropy: NDArray[np.float64]


def table() -> ConceptTable:
    """Return the eight rows of the paper's table."""
    rows = np.array(
        [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1]]
    )
    y, z = rows[:, 0] ^ rows[:, 1], rows[:, 2] | rows[:, 3]
    return ConceptTable(rows, CONCEPTS, np.stack([y, 1 - y, z, 1 - z], axis=1), CLASSES)


def train_c(seed: int, epochs: int = CONFIG.epochs) -> ToyRun:
    """Train C and read its formulas by each method."""
    network = _entropy_net(seed)
    fit(network, table(), _config(epochs))
    return ToyRun(
        seed, network, {method: explain_all(network, table(), method=method, multilabel=True) for method in METHODS}
    )


def train_b(seed: int, epochs: int = CONFIG.epochs) -> EntropyNet:
    """Train B: the entropy layer with L1."""
    network = _entropy_net(seed)
    fit(network, table(), replace(_config(epochs), penalty="l1"))
    return network


def train_a(seed: int, epochs: int = CONFIG.epochs) -> nn.Sequential:
    """Train A: no entropy layer, with L1."""
    torch_state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    sizes = (len(CONCEPTS), *HIDDEN, len(CLASSES))
    layers: list[nn.Module] = []
    for size_in, size_out in pairwise(sizes):
        layers += [nn.Linear(size_in, size_out), nn.ReLU()]
    torch.random.set_rng_state(torch_state)
    network = nn.Sequential(*layers[:-1])
    fit(network, table(), replace(_config(epochs), penalty="l1"))
    return network


def weights(a: nn.Sequential, b: EntropyNet, c: EntropyNet) -> Weights:
    """Return the three matrices that the paper draws."""
    return Weights(first_weights(a), relevance(b), relevance(c))


def first_weights(a: nn.Sequential) -> NDArray[np.float64]:
    """Return W of the first layer of A, `[hidden, concept]`."""
    first = a[0].weight
    if not isinstance(first, torch.Tensor):
        raise LogicLensError("model A must begin with a linear layer.")
    return first.detach().double().numpy()


def relevance(network: EntropyNet) -> NDArray[np.float64]:
    """Return α̃ of B or C, `[klass, concept]`."""
    return network.entropy.relevance().detach().double().numpy()


def _config(epochs: int) -> TrainConfig:
    return replace(CONFIG, epochs=epochs)


def _entropy_net(seed: int) -> EntropyNet:
    generator = torch.Generator().manual_seed(seed)
    return EntropyNet(len(CONCEPTS), len(CLASSES), HIDDEN, temperature=TEMPERATURE, generator=generator)


TOY_MODELS = ("A", "B", "C")
N_SEEDS = 5
BENCH_NAMES: dict[Method, str] = {"search": "minimal", "paper": "paper"}
"""The methods of the bench that choose formulas in each way."""


def toy_run(run: Run) -> Iterator[tuple[str, str]]:
    """Train one of the three models with one seed."""
    if run.method == "A":
        layer = first_weights(train_a(run.fold))
        yield from _matrix("weight", layer, [f"h{i + 1}" for i in range(len(layer))])
        return
    if run.method == "B":
        yield from _matrix("relevance", relevance(train_b(run.fold)), CLASSES)
        return
    trained = train_c(run.fold)
    yield from _matrix("relevance", relevance(trained.network), CLASSES)
    for method in METHODS:
        called = BENCH_NAMES[method]
        yield f"recovered:{called}", str(trained.recovered(method))
        for name, formula in zip(CLASSES, trained.explanations[method].formulas, strict=True):
            yield f"formula:{called}:{name}", str(formula)


def _matrix(kind: str, values: NDArray[np.float64], rows: tuple[str, ...] | list[str]) -> Iterator[tuple[str, str]]:
    for row, name in enumerate(rows):
        for column, concept in enumerate(CONCEPTS):
            yield f"{kind}:{name}:{concept}", f"{values[row, column]:.6f}"
