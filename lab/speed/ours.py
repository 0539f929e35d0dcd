"""Measure our side once, in a process of its own: `python -m lab.speed.ours FILE`; prints one line of JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from lab.peers.torch_explain import TorchExplain
from lab.peers.torch_explain_peer import cpu_seconds, epoch_cost, repeated_cost
from lab.speed.rows import SHAPES, Shape, generate, planted_formula
from logiclens import DNF, ConceptTable, Cube, Literal, explain_all
from logiclens.formula.dnf import Complement
from logiclens.formula.packed_rows import PackedRows
from logiclens.logic import test_explanation
from logiclens.nn import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit


def epoch(shape: Shape, shared_tail: bool) -> dict[str, float]:
    """Return the cost of an epoch of `fit`, the difference between a long and a short training, and its memory."""
    table = generate(shape)[0].append(generate(shape)[1])

    def train(epochs: int) -> None:
        network = EntropyNet(shape.concepts, shape.classes, shape.hidden, shared_tail, activation=torch.nn.LeakyReLU)
        fit(network, table, TrainConfig(epochs=epochs, progress=False))

    memory = epoch_cost(lambda: train(1), 1)
    short = min(cpu_seconds(lambda: train(1)) for _ in range(2))
    whole = cpu_seconds(lambda: train(1 + shape.timed_epochs))
    return {**memory, "seconds": max(whole - short, 1e-9) / shape.timed_epochs}


def extract(shape: Shape, weights: dict[str, Any]) -> dict[str, Any]:
    train, held = generate(shape)
    network = TorchExplain(hidden=shape.hidden).rebuilt(weights, train)
    begun = time.process_time()
    explained = explain_all(network, train, validation=held, answer="threshold", score_against="labels")
    seconds = time.process_time() - begun
    return {"seconds": seconds, "over_limit": False, **described([one.formula for one in explained], held)}


def described(formulas: Sequence[DNF | Complement], held: ConceptTable) -> dict[str, Any]:
    bits, targets = held.boolean(), held.targets()
    stated = [(i, formula) for i, formula in enumerate(formulas) if not formula.is_constant]
    right = [float((formula.evaluate(bits, held.names) == targets[:, i]).mean()) for i, formula in stated]
    literals = [formula.n_literals for _, formula in stated]
    return {
        "formulas": len(stated), "asked": len(formulas), "accuracy": statistics.mean(right) if right else None,
        "literals": statistics.mean(literals) if literals else None,
    }  # fmt: skip


def formula(shape: Shape) -> dict[str, float]:
    table = generate(shape)[0].append(generate(shape)[1])
    bits, names = table.boolean(), [f"feature{j:010}" for j in range(shape.concepts)]
    cubes = planted_formula(shape.concepts, cubes=5, literals=4)
    planted = DNF(Cube(Literal(names[j], positive) for j, positive in cube) for cube in cubes)
    packed, text, labels = PackedRows.of(bits, names), str(planted), torch.tensor(np.array(table.labels))
    concepts = torch.tensor(np.array(table.values))
    return {
        "fired": int(planted.evaluate(packed).sum()),
        "seconds": repeated_cost(lambda: planted.evaluate(bits, names)),
        "packed_seconds": repeated_cost(lambda: planted.evaluate(packed)),
        "text_seconds": repeated_cost(lambda: test_explanation(text, concepts, labels, 1, concept_names=names)),
    }


def main(file: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with np.load(file, allow_pickle=False) as arrays:
        given = dict(arrays)
    shape = SHAPES[str(given["shape"])]
    match str(given["mode"]):
        case "epoch":
            result: dict[str, Any] = epoch(shape, bool(given["shared_tail"]))
        case "extract":
            result = extract(shape, given)
        case _:
            result = formula(shape)
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
