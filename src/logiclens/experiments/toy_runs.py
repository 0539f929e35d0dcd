"""The toy comparison as runs of a bench: heat maps, formulas and how many of them are recovered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from logiclens.experiments import toy
from logiclens.experiments.results import Run
from logiclens.explain.classwise import Method

TOY_MODELS = ("A", "B", "C")
N_SEEDS = 5
BENCH_NAMES: dict[Method, str] = {"search": "minimal", "paper": "paper"}
"""What the methods of a bench are called that choose formulas in each way."""


def toy_run(run: Run) -> Iterator[tuple[str, str]]:
    """Train one of the three models with one seed."""
    if run.method == "A":
        layer = toy.first_weights(toy.train_a(run.fold))
        yield from _matrix("weight", layer, [f"h{i + 1}" for i in range(len(layer))])
        return
    if run.method == "B":
        yield from _matrix("relevance", toy.relevance(toy.train_b(run.fold)), toy.CLASSES)
        return
    trained = toy.train_c(run.fold)
    yield from _matrix("relevance", toy.relevance(trained.network), toy.CLASSES)
    for method in toy.METHODS:
        called = BENCH_NAMES[method]
        yield f"recovered:{called}", str(trained.recovered(method))
        for name, formula in zip(toy.CLASSES, trained.explanations[method].formulas, strict=True):
            yield f"formula:{called}:{name}", str(formula)


def _matrix(kind: str, values: NDArray[np.float64], rows: tuple[str, ...] | list[str]) -> Iterator[tuple[str, str]]:
    for row, name in enumerate(rows):
        for column, concept in enumerate(toy.CONCEPTS):
            yield f"{kind}:{name}:{concept}", f"{values[row, column]:.6f}"
