"""Fit, explanation and measurement beside torch_explain, trees and rule learners, in CPU seconds.

The rows are those of the generated shapes and the first clean fold of the paper's tables. Each side fits, states its
formulas, and is measured on the test rows. Our method and `torch_explain` train the same network for as many epochs. A
second part trains 5 folds x 12 settings on V-Dem, in one pass and one after another. The order turns in every repeat.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from lab.peers.learner import Learned
from lab.peers.torch_explain import TorchExplain
from lab.runs.fold_data import FoldData, Source, fold_data
from lab.runs.methods import METHODS
from lab.runs.ours import untrained, with_settings
from lab.runs.paper import PENALTIES, TEMPERATURES, measured
from lab.runs.results import data_folder
from lab.runs.tasks import TASKS
from lab.speed.rows import SHAPES, generate
from logiclens.errors import LogicLensError, MissingPackage
from logiclens.nn import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.fit_many import fit_many
from logiclens.train.loop import fit

REAL = ("mimic2", "vdem", "mnist", "cub")
PEERS = ("tree", "torch_explain", "ripper", "figs", "rule-list")
AGAINST = {"mimic2": 10.0, "vdem": 10.0, "mnist": 100.0, "cub": 5.0}
"""Least ratio of the CPU time of torch_explain to ours."""
TREES = {"mimic2": 40.0, "vdem": 60.0, "mnist": 8.0}
"""Largest ratio of our CPU time to that of a tree."""
SWEEP = 8.0
"""Least gain of one pass over one after another."""
MANY, LONG, LIMIT = 50, 60.0, 120.0
"""With more classes only the tree is run; what takes longer is run once; after LIMIT seconds torch_explain is ended."""


@dataclass
class Timed:
    """The CPU seconds of one method on one task, with its scores."""

    task: str
    method: str
    seconds: list[float] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def median(self) -> float:
        """Return the median of the repeats."""
        return statistics.median(self.seconds)


def shaped(name: str) -> FoldData:
    """Return the generated rows of a shape as a fold: a fifth validates, a fifth tests."""
    rows, test = generate(SHAPES[name])
    place = np.random.default_rng(1).permutation(len(rows))
    task, nothing = TASKS[{"mimic": "mimic2"}.get(name, name)], None
    task = replace(task, network=replace(task.network, hidden=SHAPES[name].hidden))
    train, validation = rows.take(place[len(test) :]), rows.take(place[: len(test)])
    empty: Any = nothing
    return FoldData(task, "clean", 0, empty, empty, train, validation, test, empty, 42)


def cpu_of(fold: FoldData, method: str) -> tuple[float, dict[str, Any]]:
    """Return the CPU seconds to learn, state and measure; a peer in another interpreter reports its own time."""
    begun = time.process_time()
    learned: Learned
    if method == "torch_explain":
        network = fold.task.network
        learner = TorchExplain(
            hidden=network.hidden, temperature=network.temperature, penalty_weight=network.penalty_weight,
            epochs=network.epochs, cpu_limit=LIMIT,
        )  # fmt: skip
        learned = learner(fold.train.hard(), fold.validation.hard(), seed=fold.seed)
    else:
        learned = METHODS[method].learn(fold)
    learning = time.process_time() - begun if learned.cpu_seconds is None else learned.cpu_seconds
    begun = time.process_time()
    line = measured(learned, fold.test)
    return learning + time.process_time() - begun, line


def measure(repeats: int, concepts: Path, *, shapes: bool) -> dict[str, Any]:
    """Time every method on every task, and the grid."""
    source = Source(data_folder(), concepts)
    folds = {f"{name} shape": shaped(name) for name in ("mimic", "vdem", "mnist")} if shapes else {}
    real = REAL if concepts.exists() and any(concepts.glob("mnist-concepts-*")) else REAL[:2]
    folds |= {name: fold_data(source, name, "clean", 0) for name in real}
    lines = [line for name, fold in folds.items() for line in of_task(name, fold, repeats)]
    return {"fits": [vars(line) for line in lines], "sweep": swept(source, repeats)}


def of_task(name: str, fold: FoldData, repeats: int) -> list[Timed]:
    """Time every method on one task."""
    peers = PEERS if len(fold.train.class_names) <= MANY else PEERS[:1]
    lines = {method: Timed(name, method) for method in ("minimal", *peers)}
    for repeat in range(repeats):
        for method, line in list(lines.items())[:: 1 if repeat % 2 == 0 else -1]:
            if line.note or (line.seconds and line.seconds[0] > LONG):
                continue
            try:
                seconds, line.metrics = cpu_of(fold, method)
                line.seconds.append(seconds)
            except MissingPackage as error:
                line.note = str(error)
            except LogicLensError as error:
                if "not done after" not in str(error):
                    raise
                # A lower bound.
                line.seconds, line.note = [LIMIT], "not done"
    return list(lines.values())


class ByAutograd(EntropyNet):
    """A network that `fit` does not know, so that it trains by autograd."""


def swept(source: Source, repeats: int) -> dict[str, Any]:
    """Train 5 folds x 12 settings on V-Dem: in one pass, one after another, and one after another by autograd."""
    folds = [
        with_settings(fold_data(source, "vdem", "clean", number), temperature=tau, penalty_weight=penalty)
        for number, tau, penalty in product(range(source.n_folds), TEMPERATURES, PENALTIES)
    ]
    tables = [(fold.train.hard(), fold.validation.hard()) for fold in folds]
    settings = [fold.task.network for fold in folds]
    configs = [TrainConfig(epochs=s.epochs, penalty_weight=s.penalty_weight, progress=False) for s in settings]

    def by_autograd(fold: FoldData) -> EntropyNet:
        network = untrained(fold)
        network.__class__ = ByAutograd
        return network

    def one_pass() -> None:
        networks = [untrained(fold) for fold in folds]
        fit_many(networks, [train for train, _ in tables], configs, validation=[held for _, held in tables])

    def one_by_one(make: Any) -> None:
        for fold, (train, held), config in zip(folds, tables, configs, strict=True):
            fit(make(fold), train, config, validation=held)

    def cpu(work: Any, *arguments: Any) -> float:
        begun = time.process_time()
        work(*arguments)
        return time.process_time() - begun

    both = [(cpu(one_pass), cpu(one_by_one, untrained)) for _ in range(repeats)]
    together, apart = [first for first, _ in both], [second for _, second in both]
    return {
        "models": len(folds), "together_s": together, "apart_s": apart, "autograd_s": cpu(one_by_one, by_autograd),
        "ratio": statistics.median(apart) / statistics.median(together), "asked": SWEEP,
    }  # fmt: skip


def compared(lines: Iterable[Timed]) -> list[list[str]]:
    """Return one row per method, with the ratio of medians and the spread of repeats."""
    lines = list(lines)
    ours = {line.task: line for line in lines if line.method == "minimal"}
    rows = [["task", "method", "CPU s", "against ours", "min-max", "asked", "verdict", "F1 %", "literals"]]
    for line in lines:
        mine = ours[line.task]
        f1, literals = (line.metrics.get(key) for key in ("explanation_accuracy", "complexity"))
        scores = [f"{100 * float(f1):.1f}" if f1 else "", f"{float(literals):.1f}" if literals else ""]
        if not line.seconds or line is mine:
            cells = [line.note or "not run" if not line.seconds else f"{line.median:.3f}", "", "", "", ""]
            rows.append([line.task, line.method, *cells, *scores])
            continue
        ratio = line.median / mine.median
        pairs = [theirs / own for theirs in line.seconds for own in mine.seconds]
        goal, holds = "", None
        if line.method == "torch_explain" and line.task in AGAINST:
            goal, holds = f"at least {AGAINST[line.task]:g}x", ratio >= AGAINST[line.task]
        if line.method == "tree" and line.task in TREES:
            goal, holds = f"at least 1/{TREES[line.task]:g}", 1 / ratio <= TREES[line.task]
        shown, bound = f"{ratio:.1f}x" if ratio >= 1 else f"1/{1 / ratio:.1f}", ">" if line.note else ""
        verdict = "" if holds is None else "holds" if holds else "does not hold"
        spread = f"{min(pairs):.3g}-{max(pairs):.3g}"
        rows.append(
            [line.task, line.method, f"{bound}{line.median:.3f}", bound + shown, spread, goal, verdict, *scores]
        )
    return rows
