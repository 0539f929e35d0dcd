"""Time fit, explanation and measurement against torch_explain, trees and rule learners, in CPU seconds.

The rows are those of the four task shapes of `shapes.py` and, if `LOGICLENS_DATA` is set, the first clean fold of the
paper's tables. Each side fits, states its formulas, and is measured on the test rows. Our method and `torch_explain`
train the same network for as many epochs. A second part trains 5 folds x 12 settings on V-Dem, in one pass and one
after another. The order is reversed in every repeat. Start it with OMP_NUM_THREADS=1, as `make bench-speed` does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.peers.learner import Learned
from lab.peers.torch_explain import TorchExplain
from lab.runs import ours as networks
from lab.runs.fold_data import FoldData, Source, all_folds, fold_data
from lab.runs.methods import METHODS
from lab.runs.ours import with_settings
from lab.runs.plan import PENALTIES, TEMPERATURES, measured
from lab.runs.tasks import TASKS, Protocol
from lab.scripts.layout import aligned
from lab.scripts.shapes import SHAPES, generate
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, MissingPackage
from logiclens.nn.layers import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit

CLEAN: Protocol = "clean"
REAL = ("mimic2", "vdem", "mnist", "cub")
PEERS = ("tree", "ripper", "figs", "rule-list")
AGAINST = {"mimic2": 10.0, "vdem": 10.0, "mnist": 100.0, "cub": 5.0}
"""Least ratio of the CPU time of torch_explain to ours."""
TREES = {"mimic2": 40.0, "vdem": 60.0, "mnist": 8.0}
"""Largest ratio of our CPU time to that of a tree."""
SWEEP = 8.0
"""Least gain of one pass over one after another."""
MANY = 50
"""With more classes, methods that learn one class against the rest are left out."""
LONG = 60.0
"""Methods that take longer are run once."""
LIMIT = 120.0
"""Seconds after which torch_explain is ended, where no limit is the run's own wish (`--slow`)."""


@dataclass
class Timed:
    """The CPU seconds of one method on one task, with its scores."""

    task: str
    method: str
    seconds: list[float] = field(default_factory=list)
    metrics: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def shaped(name: str) -> FoldData:
    """Return the generated rows of a shape as a fold: a fifth validates, a fifth tests."""
    shape = SHAPES[name]
    rows = generate(shape)
    rng = np.random.default_rng(1)
    table = ConceptTable(rows.concepts, None, rows.labels, [str(i) for i in range(shape.classes)])
    place = rng.permutation(len(table))
    parts = np.split(place, [int(0.6 * len(place)), int(0.8 * len(place))])
    like = {"mimic": "mimic2", "species": "cub"}.get(name, name)
    task = replace(TASKS[like], network=replace(TASKS[like].network, hidden=shape.hidden))
    dummy: Any = None
    train, validation, test = (table.take(part) for part in parts)
    return FoldData(task, CLEAN, 0, dummy, dummy, train, validation, test, dummy, 42)


def cpu_of(fold: FoldData, method: str) -> tuple[float, dict[str, str]]:
    """Return the CPU seconds to learn, state and measure; a peer in another interpreter reports its own time."""
    networks.forget()
    begun = time.process_time()
    learned: Learned = limited(fold) if method == "torch_explain" else METHODS[method].learn(fold)
    learning = time.process_time() - begun if learned.cpu_seconds is None else learned.cpu_seconds
    begun = time.process_time()
    found = dict(measured(learned, fold.test))
    return learning + time.process_time() - begun, found


def limited(fold: FoldData) -> Learned:
    """Return torch_explain with the network of the task and a time limit."""
    network = fold.task.network
    learner = TorchExplain(
        hidden=network.hidden, temperature=network.temperature, penalty_weight=network.penalty_weight,
        epochs=network.epochs, timeout=None if len(fold.train.class_names) > MANY else LIMIT,
    )  # fmt: skip
    return learner(fold.train.hard(), fold.validation.hard(), seed=fold.seed)


def fits(folds: dict[str, FoldData], repeats: int, *, slow: bool) -> list[Timed]:
    """Time every method on every task."""
    found = []
    for name, fold in folds.items():
        large = len(fold.train.class_names) > MANY
        # One class against the rest, for 200 classes, takes RIPPER an hour; torch_explain's CUB half of one.
        methods = ["minimal", "tree", *(() if large and not slow else ("torch_explain",))]
        methods += [] if large else [peer for peer in PEERS if peer != "tree"]
        lines = {method: Timed(name, method) for method in methods}
        for repeat in range(repeats):
            for method in methods if repeat % 2 == 0 else methods[::-1]:
                line = lines[method]
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
                    # Its simplification has no time limit of its own, so this is a lower bound.
                    line.seconds, line.note = [LIMIT], "not done"
        found += lines.values()
    return found


class ByAutograd(EntropyNet):
    """A network that `fit` does not know, so that it trains by autograd."""


def swept(source: Source, repeats: int) -> dict[str, Any]:
    """Train 5 folds x 12 settings on V-Dem in one pass and one after another.

    One after another calls `fit` for each; by autograd, once, is the loop without the hand-written passes.
    """
    folds = [
        with_settings(fold, temperature=tau, penalty_weight=penalty)
        for fold in all_folds(source, "vdem", CLEAN)
        for tau in TEMPERATURES
        for penalty in PENALTIES
    ]
    together, apart = [], []
    for _ in range(repeats):
        networks.forget()
        begun = time.process_time()
        networks.trained(replace(folds[0], family=lambda: folds))
        together.append(time.process_time() - begun)
        networks.forget()
        begun = time.process_time()
        for fold in folds:
            networks.trained(fold)
        apart.append(time.process_time() - begun)
    begun = time.process_time()
    for fold in folds:
        one = fold.task.network
        network = ByAutograd(
            fold.train.n_concepts, len(fold.train.class_names), one.hidden, temperature=one.temperature
        )
        config = TrainConfig(epochs=one.epochs, penalty_weight=one.penalty_weight, progress=False)
        fit(network, fold.train.hard(), config, validation=fold.validation.hard())
    autograd = time.process_time() - begun
    ratio = statistics.median(apart) / statistics.median(together)
    return {
        "models": len(folds), "together_s": together, "apart_s": apart, "autograd_s": autograd, "ratio": ratio,
        "asked": SWEEP,
    }  # fmt: skip


def compared(lines: Iterable[Timed]) -> list[list[str]]:
    """Return one row per peer, with the ratio of medians and the spread of repeats."""
    lines = list(lines)
    ours = {line.task: line for line in lines if line.method == "minimal"}
    rows = [["task", "method", "CPU s", "against ours", "min-max", "asked", "verdict", "F1 %", "literals"]]
    for line in lines:
        mine = ours[line.task]
        f1, literals = (line.metrics.get(key) for key in ("explanation_accuracy", "complexity"))
        told = [f"{100 * float(f1):.1f}" if f1 else "", f"{float(literals):.1f}" if literals else ""]
        if not line.seconds:
            rows.append([line.task, line.method, line.note or "not run", "", "", "", "", *told])
            continue
        ratio = line.median / mine.median
        pairs = [theirs / own for theirs in line.seconds for own in mine.seconds]
        asked, verdict = "", ""
        if line.method == "torch_explain" and line.task in AGAINST:
            asked = f"at least {AGAINST[line.task]:g}x"
            verdict = "holds" if ratio >= AGAINST[line.task] else "does not hold"
        if line.method == "tree" and line.task in TREES:
            asked = f"at least 1/{TREES[line.task]:g}"
            verdict = "holds" if 1 / ratio <= TREES[line.task] else "does not hold"
        shown = f"{ratio:.1f}x" if ratio >= 1 else f"1/{1 / ratio:.1f}"
        spread = "" if line is mine else f"{min(pairs):.3g}-{max(pairs):.3g}"
        bound = ">" if line.note else ""
        rows.append(
            [
                line.task,
                line.method,
                f"{bound}{line.median:.3f}",
                "" if line is mine else bound + shown,
                spread,
                asked,
                verdict,
                *told,
            ]
        )
    return rows


def markdown(found: dict[str, Any]) -> str:
    """Return both tables."""
    parts = [aligned(compared(Timed(**line) for line in found["fits"]))]
    if found.get("sweep"):
        sweep = found["sweep"]
        together, apart = sweep["together_s"], sweep["apart_s"]
        verdict = "holds" if sweep["ratio"] >= sweep["asked"] else "does not hold"
        parts.append(
            f"{sweep['models']} models on V-Dem (5 folds x 12 settings): {statistics.median(together):.2f} CPU s in "
            f"one pass, {statistics.median(apart):.2f} one after another: {sweep['ratio']:.1f}x "
            f"({min(apart) / max(together):.1f}-{max(apart) / min(together):.1f}; asked: {sweep['asked']:g}x, "
            f"{verdict}). One after another by autograd: {sweep['autograd_s']:.1f} CPU s, "
            f"{sweep['autograd_s'] / statistics.median(together):.0f}x."
        )
    return "\n\n".join(parts)


def measure(repeats: int, data: Path | None, concepts: Path, *, quick: bool, slow: bool) -> dict[str, Any]:
    """Measure everything; return plain values."""
    torch.set_num_threads(1)
    folds: dict[str, FoldData] = {} if quick else {f"{name} shape": shaped(name) for name in ("mimic", "vdem", "mnist")}
    sweep = None
    if data is not None:
        source = Source(data, concepts)
        cached = any(concepts.glob("mnist-concepts-*")) if concepts.exists() else False
        for name in REAL if cached else REAL[:2]:
            folds[name] = replace(fold_data(source, name, CLEAN, 0), family=None)
        sweep = swept(source, 1 if quick else repeats)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = fits(folds, repeats, slow=slow)
    return {"fits": [vars(line) for line in lines], "sweep": sweep}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--concepts", type=Path, help="where predicted concepts are kept; a temporary folder if not said"
    )
    parser.add_argument("--quick", action="store_true", help="one repeat, real tables without shapes")
    parser.add_argument("--slow", action="store_true", help="torch_explain on CUB too, which takes it half an hour")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    named = os.environ.get("LOGICLENS_DATA")
    with tempfile.TemporaryDirectory() as folder:
        found = measure(
            1 if given.quick else given.repeats, Path(named) if named else None, given.concepts or Path(folder),
            quick=given.quick, slow=given.slow,
        )  # fmt: skip
    print(markdown(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
