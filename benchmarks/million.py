"""A head of 20 concepts, 2^20 rows: enumerated, minimised, certified, saved and verified, each timed.

    .venv/bin/python benchmarks/million.py

The head is written, not trained: each cube of a planted formula is one hidden unit, and a last unit that never fires
makes all concepts equally relevant. What is timed does not depend on how the weights came about.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from logiclens import __version__
from logiclens.estimators.prepare import Schema
from logiclens.estimators.store import StoredModel, save
from logiclens.explain.certificate import Certificate, HeadCertificate
from logiclens.explain.complete import CompleteTable
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.groups import NO_GROUPS
from logiclens.formula.ruleset import Rule, RuleSet
from logiclens.nn import EntropyNet
from logiclens.verify import verify

Result = TypeVar("Result")


def planted(n_concepts: int, n_cubes: int, rng: np.random.Generator) -> DNF:
    """Cubes of three or four literals that between them use every concept."""
    order = np.concatenate([rng.permutation(n_concepts) for _ in range(4)])
    cubes, used = [], 0
    for i in range(n_cubes):
        wanted = 3 + (i % 2)
        places = list(dict.fromkeys(order[used:].tolist()))[:wanted]
        used += wanted
        cubes.append(Cube(Literal(f"c{j:02d}", bool(rng.integers(2))) for j in places))
    return DNF(cubes)


def written(formula: DNF, names: tuple[str, ...], width: int) -> EntropyNet:
    """A head that fires by at least 0.5 where the formula holds and stays 0.5 below where it does not."""
    network = EntropyNet(len(names), 1, (width,), generator=torch.Generator().manual_seed(0))
    place = {name: j for j, name in enumerate(names)}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        weight, bias = network.entropy.weight[0], network.entropy.bias[0]
        for unit, cube in enumerate(formula):
            for literal in cube:
                weight[unit, place[literal.concept]] = 1.0 if literal.positive else -1.0
            bias[unit] = 1.0 - sum(literal.positive for literal in cube)
        strength = weight.abs().sum(dim=0)
        weight[width - 1] = strength.max() - strength
        bias[width - 1] = -(weight[width - 1].sum() + 1)
        top_weight, top_bias = list(network.parameters())[2:]
        top_weight[0, 0, : len(formula)] = 1.0
        top_bias.fill_(-0.5)
    return network


def timed(action: Callable[[], Result]) -> tuple[Result, float]:
    begun = time.process_time()
    result = action()
    return result, time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concepts", type=int, default=20)
    parser.add_argument("--cubes", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = tuple(f"c{j:02d}" for j in range(arguments.concepts))
    seconds: dict[str, list[float]] = {}
    literals = []
    for repeat in range(arguments.repeats):
        formula = planted(arguments.concepts, arguments.cubes, np.random.default_rng(repeat))
        network = written(formula, names, width=20)
        table, enumerated = timed(lambda: CompleteTable.of(network, names))  # noqa: B023
        minimum, minimised = timed(table.minimised)
        if not minimum.formula.equivalent(formula):
            sys.exit("the minimised formula is not the planted one: a defect.")
        with tempfile.TemporaryDirectory() as folder:
            claim = HeadCertificate(
                "yes", 0, names, minimum.formula, NO_GROUPS, len(table), table.margin, table.bound, minimum.proved, None
            )
            rules = RuleSet((Rule("yes", minimum.formula, (0.5,) * len(minimum.formula)),), multilabel=True)
            stored = StoredModel(
                network, Schema(names, ("yes",), NO_GROUPS, True, {}, False), ("yes",), {}, rules,
                Certificate((claim,)), {}, "",
            )  # fmt: skip
            _, saved = timed(lambda: save(stored, Path(folder) / "model", version=__version__))  # noqa: B023
            report, verified = timed(lambda: verify(Path(folder) / "model"))
        if report.classes[0].rows != 1 << arguments.concepts:
            sys.exit("not every row was verified: a defect.")
        literals.append((formula.n_literals, minimum.formula.n_literals))
        for name, value in zip(
            ("enumerate", "minimise", "save", "verify"), (enumerated, minimised, saved, verified), strict=True
        ):
            seconds.setdefault(name, []).append(value)
    seconds["all four"] = [sum(values) for values in zip(*seconds.values(), strict=True)]
    rows = f"2^{arguments.concepts} = {1 << arguments.concepts:,} rows"
    print(f"{rows}, one thread, CPU seconds over {arguments.repeats} functions")
    print("literals planted and found: " + ", ".join(f"{a} → {b}" for a, b in literals) + "\n")
    print("| step | median | min-max |\n| --- | --- | --- |")
    for name, values in seconds.items():
        print(f"| {name} | {statistics.median(values):.2f} | {min(values):.2f}-{max(values):.2f} |")


if __name__ == "__main__":
    main()
