"""How the cost of one model grows with rows, distinct rows, concepts and classes.

One `EntropyNet` with a hidden layer of 10 is trained for 50 epochs on the full batch of counted rows, with a quarter as
many validation rows, and explained by `explain_all`. Rows are Boolean, drawn from a pool of distinct rows, and labelled
by a planted rule that is wrong on 5% of them. One axis grows at a time. Times are CPU seconds of one thread, median
(min-max) of three repeats, each on a new table:

- counting: building the `ConceptTable` and `table.counted()`;
- an epoch: `fit` with many epochs minus `fit` with few, divided;
- extraction: `explain_all` on all rows, with the validation rows.

The exponent is the slope of log seconds over log size, on the upper half of the sizes.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from lab.pages.markdown import table as markdown_table
from lab.peers.torch_explain_peer import cpu_seconds
from logiclens import explain_all
from logiclens.concepts.concept_table import ConceptTable
from logiclens.nn import EntropyNet
from logiclens.train.config import TrainConfig, threads_for
from logiclens.train.loop import fit

PARTS = ("counting", "epoch", "extraction")
HIDDEN, EPOCHS, REPEATS, NOISE = 10, 50, 3, 0.05


@dataclass(frozen=True)
class Shape:
    """The sizes of one point."""

    rows: int
    distinct: int
    concepts: int
    classes: int


AXES = {
    "rows": (Shape(0, 500, 20, 2), (10**3, 10**4, 10**5, 10**6, 10**7)),
    "distinct": (Shape(0, 0, 30, 2), (10**2, 10**3, 10**4, 10**5, 10**6)),
    "concepts": (Shape(2_000, 2_000, 0, 2), (10, 30, 100, 300, 1_000, 3_000)),
    "classes": (Shape(10_000, 2_000, 30, 0), (2, 4, 10, 30, 100, 300)),
}
FIXED = {
    "rows": "500 distinct rows, 20 concepts, 2 classes",
    "distinct": "100,000 rows or as many as are distinct, 30 concepts, 2 classes",
    "concepts": "2,000 rows, as many distinct as there can be, 2 classes",
    "classes": "10,000 rows, 2,000 distinct, 30 concepts",
}


def shape_at(axis: str, size: int) -> Shape:
    """Return the shape of one point of an axis."""
    shape = replace(AXES[axis][0], **{axis: size})
    if axis == "distinct":
        shape = replace(shape, rows=max(size, 100_000))
    return replace(shape, distinct=min(shape.distinct, 2 ** min(shape.concepts, 62)))


def made_up(shape: Shape) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """Make training rows that contain every row of the pool, and validation rows."""
    rng = np.random.default_rng(0)
    if shape.concepts <= 30:
        numbers = rng.choice(1 << shape.concepts, shape.distinct, replace=False)
        pool = (numbers[:, None] >> np.arange(shape.concepts) & 1).astype(np.bool_)
    else:
        pool = rng.integers(0, 2, (shape.distinct, shape.concepts), dtype=np.int8).view(np.bool_)
    if shape.classes == 2:
        classes = ((pool[:, 0] & pool[:, 1]) | (~pool[:, 2] & pool[:, 3])).astype(np.int64)
    else:
        n_bits = math.ceil(math.log2(shape.classes))
        classes = (pool[:, :n_bits] @ (1 << np.arange(n_bits))) % shape.classes
    parts = []
    for n_rows, first in ((shape.rows, np.arange(shape.distinct)), (max(100, shape.rows // 4), np.arange(0))):
        drawn = np.concatenate([first, rng.integers(0, len(pool), n_rows - len(first))])
        wrong = (rng.random(n_rows) < NOISE) * rng.integers(1, shape.classes, n_rows)
        parts.append((pool[drawn], (classes[drawn] + wrong) % shape.classes))
    return parts


def timed(shape: Shape) -> dict[str, float]:
    """Time each part once."""
    made: list[Any] = []
    names = [str(i) for i in range(shape.classes)]
    (bits, labels), (held_bits, held_labels) = made_up(shape)
    checking = cpu_seconds(lambda: made.append(ConceptTable(bits, None, labels, names)))
    table, held = made.pop(), ConceptTable(held_bits, None, held_labels, names)
    counting = checking + cpu_seconds(table.counted)

    def train(epochs: int) -> None:
        network = EntropyNet(shape.concepts, shape.classes, (HIDDEN,), generator=torch.Generator().manual_seed(0))
        fit(network, table, TrainConfig(epochs=epochs, progress=False), validation=held)
        made.append(network)

    few = min(cpu_seconds(lambda: train(5)) for _ in range(2))
    epoch = max(cpu_seconds(lambda: train(EPOCHS)) - few, 1e-9) / (EPOCHS - 5)
    extraction = cpu_seconds(lambda: explain_all(made[-1], table, validation=held))
    return {"counting": counting, "epoch": epoch, "extraction": extraction}


def measure(largest: float = math.inf) -> dict[str, Any]:
    """Measure every axis, up to sizes at which one unit more would cost too much."""
    axes = {}
    with threadpool_limits(1), threads_for(0):
        timed(Shape(1_000, 100, 20, 2))
        for axis, (_, sizes) in AXES.items():
            points = []
            for size in (size for size in sizes if size <= largest):
                runs = [timed(shape_at(axis, size)) for _ in range(REPEATS)]
                values = {part: sorted(run[part] for run in runs) for part in PARTS}
                parts = {p: {"median": statistics.median(v), "min": v[0], "max": v[-1]} for p, v in values.items()}
                points.append({"size": size, "parts": parts})
            axes[axis] = {"fixed": FIXED[axis], "points": points}
    return {"axes": axes}


def markdown(result: dict[str, Any]) -> str:
    """Return one table per axis, with exponents."""
    parts = [f"CPU milliseconds of one thread: median (min-max) of {REPEATS}."]
    for axis, along in result["axes"].items():
        points = along["points"]
        rows = [[axis, *PARTS]]
        for point in points:
            cells = ([_ms(point["parts"][part][key]) for key in ("median", "min", "max")] for part in PARTS)
            rows.append([f"{point['size']:,}", *(f"{middle} ({low}-{high})" for middle, low, high in cells)])
        upper = points[len(points) // 2 :]
        if len(upper) > 1:
            sizes = np.log([point["size"] for point in upper])
            medians = [np.log([point["parts"][part]["median"] for point in upper]) for part in PARTS]
            rows.append(["exponent", *(f"{np.polyfit(sizes, median, 1)[0]:.2f}" for median in medians)])
        parts.append(f"### {axis}: {along['fixed']}\n\n{markdown_table(rows)}")
    return "\n\n".join(parts)


def _ms(seconds: float) -> str:
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.3g}"
