"""The paper's toy comparison of the entropy loss with L1 (appendix).

Eight rows of four features; the classes are x1 xor x2, x3 or x4, and their complements. Three networks of one shape:
A, a plain first layer with L1; B, the entropy layer with L1; C, the entropy layer with the entropy loss.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from lab.runs.results import Line
from logiclens import explain_all
from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.text import parse
from logiclens.nn.layers import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit

CONCEPTS = ("x1", "x2", "x3", "x4")
CLASSES = ("y", "not_y", "z", "not_z")
HIDDEN = (20, 10)
TEMPERATURE = 0.3
CONFIG = TrainConfig(epochs=18_000, learning_rate=1e-4, penalty_weight=1e-4, progress=False)
TRUTH = tuple(parse(text) for text in ("(x1 & ~x2) | (~x1 & x2)", "(x1 & x2) | (~x1 & ~x2)", "x3 | x4", "~x3 & ~x4"))
WAYS: dict[str, Any] = {"minimal": "search", "paper": "paper"}
"""How formulas are chosen, by the name of the method that does so in the comparison."""
MODELS = ("A", "B", "C")
N_SEEDS = 5


def table() -> ConceptTable:
    rows = np.array(
        [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1]]
    )
    y, z = rows[:, 0] ^ rows[:, 1], rows[:, 2] | rows[:, 3]
    return ConceptTable(rows, CONCEPTS, np.stack([y, 1 - y, z, 1 - z], axis=1), CLASSES)


def toy_run(model: str, seed: int, epochs: int = CONFIG.epochs) -> Line:
    """Train one of the three models and return its matrix: W of A's first layer, or α̃ of B and C; of C its formulas."""
    config = replace(CONFIG, epochs=epochs)
    if model == "A":
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            sizes = (len(CONCEPTS), *HIDDEN, len(CLASSES))
            layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
        plain = nn.Sequential(*layers[:-1])
        fit(plain, table(), replace(config, penalty="l1"))
        weight = next(plain.parameters()).detach().double().numpy()
        return {"rows": [f"h{i + 1}" for i in range(len(weight))], "matrix": weight.round(6).tolist()}
    network = EntropyNet(
        len(CONCEPTS), len(CLASSES), HIDDEN, temperature=TEMPERATURE, generator=torch.Generator().manual_seed(seed)
    )
    fit(network, table(), replace(config, penalty="l1") if model == "B" else config)
    relevance = network.entropy.relevance().detach().double().numpy()
    line: Line = {"rows": list(CLASSES), "matrix": relevance.round(6).tolist()}
    if model == "C":
        line |= {"recovered": {}, "formulas": {}}
        for name, method in WAYS.items():
            formulas = explain_all(network, table(), method=method, multilabel=True).formulas
            right = [formula.equivalent(truth) for formula, truth in zip(formulas, TRUTH, strict=True)]
            line["recovered"][name] = sum(right)
            line["formulas"][name] = {klass: str(f) for klass, f in zip(CLASSES, formulas, strict=True)}
    return line
