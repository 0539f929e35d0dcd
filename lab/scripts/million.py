"""Time a head of 20 concepts (2^20 rows): compile it from a formula, certify, save and verify it.

.venv/bin/python -m lab.scripts.million.py
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
from logiclens.concepts.concept_table import ConceptTable
from logiclens.estimator.persistence import StoredModel, save
from logiclens.estimator.prepare import Schema
from logiclens.explain.exact import compiled_network
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.groups import NO_GROUPS
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.verify import verify

Result = TypeVar("Result")


def planted(n_concepts: int, n_cubes: int, rng: np.random.Generator) -> DNF:
    """Return cubes of three or four literals that together use every concept."""
    order = np.concatenate([rng.permutation(n_concepts) for _ in range(4)])
    cubes, used = [], 0
    for i in range(n_cubes):
        wanted = 3 + (i % 2)
        places = list(dict.fromkeys(order[used:].tolist()))[:wanted]
        used += wanted
        cubes.append(Cube(Literal(f"c{j:02d}", bool(rng.integers(2))) for j in places))
    return DNF(cubes)


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
    for repeat in range(arguments.repeats):
        formula = planted(arguments.concepts, arguments.cubes, np.random.default_rng(repeat))
        row = ConceptTable(np.zeros((1, len(names)), dtype=bool), names, [[0]], ["yes"])
        made, compiled = timed(lambda: compiled_network([formula], row, agreement=1.0))  # noqa: B023
        with tempfile.TemporaryDirectory() as folder:
            rules = RuleSet((Rule("yes", formula, (0.5,) * len(formula)),), multilabel=True)
            stored = StoredModel(
                made.network, Schema(names, ("yes",), NO_GROUPS, True, {}), ("yes",), {}, rules,
                made.certificate, {}, "",
            )  # fmt: skip
            _, saved = timed(lambda: save(stored, Path(folder) / "model", version=__version__))  # noqa: B023
            report, verified = timed(lambda: verify(Path(folder) / "model"))
        if report.classes[0].rows != 1 << arguments.concepts:
            sys.exit("not every row was verified: a defect.")
        for name, value in zip(("compile", "save", "verify"), (compiled, saved, verified), strict=True):
            seconds.setdefault(name, []).append(value)
    seconds["all three"] = [sum(values) for values in zip(*seconds.values(), strict=True)]
    rows = f"2^{arguments.concepts} = {1 << arguments.concepts:,} rows"
    print(f"{rows}, one thread, CPU seconds over {arguments.repeats} functions\n")
    print("| step | median | min-max |\n| --- | --- | --- |")
    for name, values in seconds.items():
        print(f"| {name} | {statistics.median(values):.2f} | {min(values):.2f}-{max(values):.2f} |")


if __name__ == "__main__":
    main()
