"""How the cost of one model grows with the size of a table, of many models in one pass, and of training on a GPU.

One `EntropyNet` with a hidden layer of 10 is trained for 50 epochs on the full batch of counted rows, with a quarter as
many validation rows, and explained by `explain_all`. Rows are Boolean, drawn from a pool of distinct rows. One axis
grows at a time. Times are CPU seconds of one thread, median (min-max) of three repeats, each on a new table: building
and counting the `ConceptTable`; an epoch, as `fit` with many epochs minus `fit` with few; `explain_all`. The
exponent is the slope of log seconds over log size, on the upper half of the sizes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lab.pages.markdown import table
from lab.peers.torch_explain_peer import cpu_seconds
from lab.runs.fold_data import FoldData, Source, fold_data
from lab.runs.ours import untrained, with_settings
from lab.runs.paper import PENALTIES, TEMPERATURES
from logiclens import explain_all
from logiclens.concepts.concept_table import ConceptTable
from logiclens.nn import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.fit_many import fit_many
from logiclens.train.loop import fit

PARTS = ("counting", "epoch", "extraction")
EPOCHS, REPEATS, NOISE = 50, 3, 0.05
START = {"rows": 10_000, "distinct": 500, "concepts": 20, "classes": 2}
AXES: dict[str, tuple[str, dict[str, int], tuple[int, ...]]] = {
    "rows": ("500 distinct rows, 20 concepts, 2 classes", {}, (10**3, 10**4, 10**5, 10**6, 10**7)),
    "distinct": (
        "100,000 rows or as many as are distinct, 30 concepts, 2 classes",
        {"concepts": 30},
        (10**2, 10**4, 10**5, 10**6),
    ),
    "concepts": ("2,000 distinct rows, 2 classes", {"rows": 2_000, "distinct": 2_000}, (30, 100, 300, 1_000, 3_000)),
    "classes": ("10,000 rows, 2,000 distinct, 30 concepts", {"distinct": 2_000, "concepts": 30}, (2, 10, 30, 100, 300)),
}
"""The other sizes in words and as they differ from `START`, and the sizes of each axis."""


def made_up(rows: int, distinct: int, concepts: int, classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Return bits and labels: the class is the number of the first eight concepts, wrong on 5% of the rows."""
    rng = np.random.default_rng(seed)
    pool: NDArray[np.bool_] = rng.integers(0, 2, (distinct, concepts), dtype=np.int8).view(np.bool_)
    bits = pool[rng.integers(0, distinct, rows)]
    labels = bits[:, :8] @ (1 << np.arange(8)) + (rng.random(rows) < NOISE)
    return bits, labels % classes


def timed(sizes: dict[str, int]) -> dict[str, float]:
    made: list[Any] = []
    names = [str(i) for i in range(sizes["classes"])]
    bits, labels = made_up(**sizes)
    checking = cpu_seconds(lambda: made.append(ConceptTable(bits, None, labels, names)))
    rows = made.pop()
    held_bits, held_labels = made_up(**{**sizes, "rows": max(100, sizes["rows"] // 4)}, seed=1)
    held = ConceptTable(held_bits, None, held_labels, names)

    def train(epochs: int) -> None:
        made.append(EntropyNet(sizes["concepts"], sizes["classes"], (10,)))
        fit(made[-1], rows, TrainConfig(epochs=epochs, progress=False), validation=held)

    counting = checking + cpu_seconds(rows.counted)
    few = min(cpu_seconds(lambda: train(5)) for _ in range(2))
    epoch = max(cpu_seconds(lambda: train(EPOCHS)) - few, 1e-9) / (EPOCHS - 5)
    extraction = cpu_seconds(lambda: explain_all(made[-1], rows, validation=held))
    return {"counting": counting, "epoch": epoch, "extraction": extraction}


def measure_growth(largest: float) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for axis, (fixed, changes, sizes) in AXES.items():
        points = []
        for size in (size for size in sizes if size <= largest):
            shape = {**START, **changes, axis: size}
            if axis == "distinct":
                shape["rows"] = max(size, 100_000)
            runs = [timed(shape) for _ in range(REPEATS)]
            points.append({"size": size, "parts": {part: sorted(run[part] for run in runs) for part in PARTS}})
        axes[axis] = {"fixed": fixed, "points": points}
    return {"axes": axes}


def growth_page(axes: dict[str, Any]) -> str:
    parts = [f"CPU milliseconds of one thread: median (min-max) of {REPEATS}."]
    for axis, along in axes.items():
        points, rows = along["points"], [[axis, *PARTS]]
        for point in points:
            times = [[f"{1e3 * seconds:,.3g}" for seconds in point["parts"][part]] for part in PARTS]
            rows.append([f"{point['size']:,}", *(f"{middle} ({low}-{high})" for low, middle, high in times)])
        upper = points[len(points) // 2 :]
        if len(upper) > 1:
            sizes = np.log([point["size"] for point in upper])
            medians = [np.log([point["parts"][part][1] for point in upper]) for part in PARTS]
            rows.append(["exponent", *(f"{np.polyfit(sizes, median, 1)[0]:.2f}" for median in medians)])
        parts.append(f"### {axis}: {along['fixed']}\n\n{table(rows)}")
    return "\n\n".join(parts)


class ByAutograd(EntropyNet):
    """A network that `fit` does not know, so that it trains by autograd."""


def measure_sweep(source: Source, repeats: int) -> dict[str, Any]:
    """Train 5 folds x 12 settings on V-Dem: in one pass, one after another, and one after another by autograd."""
    folds = [
        with_settings(fold_data(source, "vdem", "clean", number), temperature=tau, penalty_weight=penalty)
        for number, tau, penalty in product(range(source.n_folds), TEMPERATURES, PENALTIES)
    ]
    train, held = ([getattr(fold, part).hard() for fold in folds] for part in ("train", "validation"))
    settings = [fold.task.network for fold in folds]
    configs = [TrainConfig(epochs=s.epochs, penalty_weight=s.penalty_weight, progress=False) for s in settings]

    def by_autograd(fold: FoldData) -> EntropyNet:
        network = untrained(fold)
        network.__class__ = ByAutograd
        return network

    def one_by_one(make: Callable[[FoldData], EntropyNet]) -> None:
        for fold, rows, validation, config in zip(folds, train, held, configs, strict=True):
            fit(make(fold), rows, config, validation=validation)

    together, apart = [], []
    for _ in range(repeats):
        together.append(cpu_seconds(lambda: fit_many([*map(untrained, folds)], train, configs, validation=held)))
        apart.append(cpu_seconds(lambda: one_by_one(untrained)))
    autograd = cpu_seconds(lambda: one_by_one(by_autograd))
    ratio = statistics.median(apart) / statistics.median(together)
    return {
        "models": len(folds), "together_s": together, "apart_s": apart, "autograd_s": autograd, "ratio": ratio,
        "asked": 8.0,
    }  # fmt: skip


def measure_gpu(repeats: int = 15) -> dict[str, Any]:

    def job(n: int, sizes: tuple[int, int, int], hidden: tuple[int, ...], epochs: int) -> Callable[[], object]:
        n_rows, n_concepts, n_classes = sizes
        names = [str(i) for i in range(n_classes)]
        tables = [
            ConceptTable(bits, None, labels, names)
            for bits, labels in (made_up(rows, rows, n_concepts, n_classes, rows) for rows in (n_rows, n_rows // 4))
        ]
        config = TrainConfig(epochs=epochs, progress=False)

        def work() -> None:
            networks = [EntropyNet(n_concepts, n_classes, hidden, temperature=0.7 + k % 12) for k in range(n)]
            fit_many(networks, tables[0], config, validation=tables[1], device="cuda")

        return work

    def seconds(work: Callable[[], object]) -> float:
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        return time.perf_counter() - begun

    jobs = {
        "MIMIC-II shape, 200 epochs": (job(1, (1136, 90, 2), (20,), 200), 0.030),
        "60 V-Dem models, 200 epochs": (job(60, (200, 14, 2), (20, 20), 200), 0.100),
        "CUB shape, plain rows, 500 epochs": (job(1, (7544, 108, 200), (10,), 500), 0.500),
    }
    results = []
    for name, (work, goal) in jobs.items():
        cold, warm = seconds(work), [seconds(work) for _ in range(repeats)]
        spread = {"warm_s": statistics.median(warm), "warm_spread_s": [min(warm), max(warm)]}
        results.append({"what": name, "cold_s": cold, **spread, "target_s": goal})
    return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "jobs": results}
