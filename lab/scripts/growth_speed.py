"""Measure how the cost of one model grows with rows, distinct rows, concepts and classes, against lower bounds.

    python -m lab.scripts.growth_speed.py [--quick] [--json FILE]

One `EntropyNet` with a hidden layer of 10 is trained for 50 epochs on the full batch of counted rows, with a quarter
as many validation rows, and explained by `explain_all`. Rows are synthetic: Boolean, drawn from a pool of distinct
rows, and labelled by a planted rule that is wrong on 5% of them. One axis grows at a time. Times are CPU seconds of
one thread, median (min-max) of three repeats, each on a new table:

- checking: building the `ConceptTable`;
- counting: `table.counted()`, on the training rows;
- set-up: what `fit` does before and after its epochs, including counting the validation rows;
- an epoch: `fit` with many epochs minus `fit` with few, divided;
- extraction: `explain_all` on all rows, with the validation rows;
- together: the sum of these, with 50 epochs.

The lower bound of checking and counting is reading one byte per concept and row at the speed of `np.copyto`. That of
an epoch is the operations of its matrix products (4 per weight and row in the first layer, whose inputs need no
gradient, 6 in the others, 2 for validation rows) at the speed of a float32 product of 1000 x 1000, without the cost
of memory. That of extraction is one forward pass. Both speeds are measured in the same run. The exponent is the slope
of log seconds over log size, on the upper half of the sizes and on the last step.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import platform
import statistics
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from lab.scripts.measure import cpu_seconds
from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.classwise import explain_all
from logiclens.nn.layers import EntropyNet
from logiclens.train.config import TrainConfig, threads_for
from logiclens.train.loop import fit

PARTS = ("checking", "counting", "set-up", "epoch", "extraction", "together")
HIDDEN, EPOCHS, REPEATS, NOISE = 10, 50, 3, 0.05
MANY = 100_000
"""Of more distinct rows fewer epochs are timed. Wherever other epochs are timed than those of one fit, the network that
is explained has learned for all epochs, from so many rows."""
MOST_BYTES, MOST_SECONDS = 6e9, 120.0
"""Seconds and bytes that a point may take in all its repeats; larger points are left out with a note."""


@dataclass(frozen=True)
class Shape:
    """The sizes of one point."""

    rows: int
    distinct: int
    concepts: int
    classes: int

    @property
    def held(self) -> int:
        """The number of validation rows."""
        return max(100, self.rows // 4)

    @property
    def epochs(self) -> tuple[int, int]:
        """The two numbers of epochs whose difference is timed."""
        if self.distinct > MANY:
            return 1, 11
        return (5, 1005) if self.rows >= 10 * MANY else (5, EPOCHS)

    @property
    def bytes(self) -> float:
        """Approximate memory of a point: Booleans, two float32 copies, labels, targets, buffers, literals."""
        of_rows = (self.rows + self.held) * (10 * self.concepts + 24 * self.classes + 60)
        heads = self.classes * (4 * HIDDEN + 16)
        buffers = 4 * (self.distinct + min(self.held, self.distinct)) * (heads + 4 * self.concepts)
        return of_rows + buffers + 26 * self.concepts**2


AXES = {
    "rows": (Shape(0, 500, 20, 2), (10**3, 10**4, 10**5, 10**6, 10**7)),
    "distinct": (Shape(0, 0, 30, 2), (10**2, 10**3, 10**4, 10**5, 10**6)),
    "concepts": (Shape(2_000, 2_000, 0, 2), (10, 30, 100, 300, 1_000, 3_000, 10_000)),
    "classes": (Shape(10_000, 2_000, 30, 0), (2, 4, 10, 30, 100, 300, 1_000)),
}
QUICK = {"rows": 10**6, "distinct": 10**5, "concepts": 1_000, "classes": 30}
"""The largest size of each axis in a quick run."""
FIXED = {
    "rows": "500 distinct rows, 20 concepts, 2 classes",
    "distinct": "100,000 rows or as many as are distinct, 30 concepts, 2 classes",
    "concepts": "2,000 rows, as many distinct as there can be, 2 classes",
    "classes": "10,000 rows, 2,000 distinct, 30 concepts",
}


def shape_at(axis: str, size: int) -> Shape:
    shape = replace(AXES[axis][0], **{axis: size})
    if axis == "distinct":
        shape = replace(shape, rows=max(size, 100_000))
    return replace(shape, distinct=min(shape.distinct, 2 ** min(shape.concepts, 62)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Boolean rows and their classes."""

    bits: NDArray[np.bool_]
    labels: NDArray[np.int64]
    n_classes: int

    def table(self) -> ConceptTable:
        return ConceptTable(self.bits, None, self.labels, [str(i) for i in range(self.n_classes)])


def made_up(shape: Shape) -> tuple[Rows, Rows]:
    """Make training rows that contain every row of the pool, and validation rows."""
    rng = np.random.default_rng(0)
    if shape.concepts <= 30:
        numbers = rng.choice(1 << shape.concepts, shape.distinct, replace=False)
        pool = (numbers[:, None] >> np.arange(shape.concepts) & 1).astype(np.bool_)
    else:
        pool = rng.integers(0, 2, (shape.distinct, shape.concepts), dtype=np.int8).view(np.bool_)
    classes = planted(pool, shape.classes)
    parts = []
    for n_rows, first in ((shape.rows, np.arange(shape.distinct)), (shape.held, np.arange(0))):
        drawn = np.concatenate([first, rng.integers(0, len(pool), n_rows - len(first))])
        wrong = (rng.random(n_rows) < NOISE) * rng.integers(1, shape.classes, n_rows)
        parts.append(Rows(pool[drawn], (classes[drawn] + wrong) % shape.classes, shape.classes))
    return parts[0], parts[1]


def planted(bits: NDArray[np.bool_], n_classes: int) -> NDArray[np.int64]:
    """Label rows by two cubes; with more than two classes, by the binary number of the first concepts."""
    if n_classes == 2:
        return ((bits[:, 0] & bits[:, 1]) | (~bits[:, 2] & bits[:, 3])).astype(np.int64)
    n_bits = math.ceil(math.log2(n_classes))
    return (bits[:, :n_bits] @ (1 << np.arange(n_bits))) % n_classes


def trained(shape: Shape, table: ConceptTable, held: ConceptTable, epochs: int) -> EntropyNet:
    network = EntropyNet(shape.concepts, shape.classes, (HIDDEN,), generator=torch.Generator().manual_seed(0))
    fit(network, table, TrainConfig(epochs=epochs, progress=False), validation=held)
    return network


def timed(shape: Shape, rows: Rows, held_rows: Rows) -> dict[str, float]:
    """Time each part once."""
    made: list[Any] = []
    seconds = {"checking": cpu_seconds(lambda: made.append(rows.table()))}
    table, held = made.pop(), held_rows.table()
    seconds["counting"] = cpu_seconds(table.counted)
    few, many = shape.epochs
    first, again = (cpu_seconds(lambda: trained(shape, table, held, few)) for _ in range(2))
    whole = cpu_seconds(lambda: made.append(trained(shape, table, held, many)))
    seconds["epoch"] = max(whole - again, 0.0) / (many - few)
    seconds["set-up"] = max(first - few * seconds["epoch"], 0.0)
    network = made.pop()
    if many != EPOCHS:
        network = trained(shape, table.take(np.arange(MANY)), held, EPOCHS)
    seconds["extraction"] = cpu_seconds(lambda: made.append(explain_all(network, table, validation=held)))
    seconds["together"] = together(seconds)
    seconds["literals"] = statistics.mean(formula.n_literals for formula in made.pop().formulas)
    return seconds


def together(seconds: dict[str, float]) -> float:
    """Return the total time of one model from its parts."""
    return EPOCHS * seconds["epoch"] + sum(seconds.get(part, 0.0) for part in PARTS[:-1] if part != "epoch")


def floors(shape: Shape, n_held: int, machine: dict[str, float]) -> dict[str, float]:
    """Return the lower bounds of the parts; `n_held` is the number of distinct validation rows."""
    layers = list(itertools.pairwise((shape.concepts, HIDDEN, 1)))
    forward = 2 * shape.classes * sum(a * b for a, b in layers)
    both = shape.classes * sum((4 if place == 0 else 6) * a * b for place, (a, b) in enumerate(layers))
    reading = shape.rows * shape.concepts / machine["copied_bytes_a_second"]
    speed = machine["operations_a_second"]
    least = {
        "checking": reading,
        "counting": reading,
        "epoch": (both * shape.distinct + forward * n_held) / speed,
        "extraction": forward * (shape.distinct + n_held) / speed,
    }
    # Checking and counting could share one reading of the rows.
    return {**least, "together": together(least) - reading}


def machine_speed() -> dict[str, float]:
    """Return bytes copied and matrix product operations per second on one thread, the best of several tries."""
    source, target = np.ones(1 << 25), np.empty(1 << 25)
    left, right = torch.rand(1000, 1000), torch.rand(1000, 1000)
    copied = min(cpu_seconds(lambda: np.copyto(target, source)) for _ in range(5))
    multiplied = min(cpu_seconds(lambda: left @ right) for _ in range(10))
    return {"copied_bytes_a_second": source.nbytes / copied, "operations_a_second": 2e9 / multiplied}


def point(axis: str, size: int, machine: dict[str, float]) -> dict[str, Any]:
    """Measure all repeats of one point: median, least and most seconds of each part, and the lower bound."""
    shape = shape_at(axis, size)
    rows, held = made_up(shape)
    runs = [timed(shape, rows, held) for _ in range(REPEATS)]
    least = floors(shape, len(held.table().counted()), machine)
    parts = {}
    for part in PARTS:
        values = [run[part] for run in runs]
        parts[part] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
        parts[part]["floor"] = least.get(part)
    literals = statistics.median(run["literals"] for run in runs)
    return {"size": size, **vars(shape), "epochs": list(shape.epochs), "literals": literals, "parts": parts}


def expected(points: list[dict[str, Any]], size: int) -> float:
    """Estimate the seconds of the next point from the growth of the last points, or in proportion."""
    if not points:
        return 0.0
    slope = 1.0
    if len(points) > 1:
        slope = max(1.0, math.log(points[-1]["spent"] / points[-2]["spent"], points[-1]["size"] / points[-2]["size"]))
    return points[-1]["spent"] * (size / points[-1]["size"]) ** slope


def along(axis: str, machine: dict[str, float], largest: float) -> dict[str, Any]:
    """Measure the affordable points of an axis, and say why the others are left out."""
    points: list[dict[str, Any]] = []
    left_out = []
    for size in AXES[axis][1]:
        memory, seconds = shape_at(axis, size).bytes, expected(points, size)
        if size > largest:
            left_out.append({"size": size, "why": "a quick run ends before it"})
        elif memory > MOST_BYTES:
            left_out.append({"size": size, "why": f"it would need about {memory / 1e9:.0f} GB"})
        elif seconds > MOST_SECONDS:
            left_out.append({"size": size, "why": f"it would take about {seconds:.0f} CPU seconds"})
        else:
            found: list[dict[str, Any]] = []
            spent = cpu_seconds(lambda s=size, f=found: f.append(point(axis, s, machine)))
            points.append({**found[0], "spent": spent})
            print(f"{axis} {size:,}: {spent:.1f} CPU seconds", file=sys.stderr, flush=True)
    slopes = {"exponents": exponents(points[len(points) // 2 :]), "last_step": exponents(points[-2:])}
    return {"fixed": FIXED[axis], "points": points, **slopes, "left_out": left_out}


def exponents(points: list[dict[str, Any]]) -> dict[str, float | None]:
    """Return the slope of log seconds over log size of each part; None if there is nothing to fit."""
    slopes: dict[str, float | None] = {}
    sizes = np.log([one["size"] for one in points])
    for part in PARTS:
        seconds = [one["parts"][part]["median"] for one in points]
        fits = len(points) > 1 and min(seconds) > 0
        slopes[part] = float(np.polyfit(sizes, np.log(seconds), 1)[0]) if fits else None
    return slopes


def measure(quick: bool = False) -> dict[str, Any]:
    """Measure every axis; return plain data."""
    with threadpool_limits(1), threads_for(0), warnings.catch_warnings():
        # Warnings on classes without rows do not matter here.
        warnings.simplefilter("ignore")
        machine = machine_speed()
        timed(Shape(1_000, 100, 20, 2), *made_up(Shape(1_000, 100, 20, 2)))
        axes = {axis: along(axis, machine, QUICK[axis] if quick else math.inf) for axis in AXES}
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    return {"quick": quick, "machine": machine, "versions": versions, "axes": axes}


def markdown(found: dict[str, Any]) -> str:
    """Return one table per axis, with exponents and the points left out."""
    machine = found["machine"]
    lines = [
        f"CPU milliseconds of one thread: median (min-max) of {REPEATS}; floor. Copying "
        f"{machine['copied_bytes_a_second'] / 1e9:.1f} GB/s, float32 products "
        f"{machine['operations_a_second'] / 1e9:.0f} Gflop/s. Literals: the mean of all classes.",
    ]
    for axis, along_it in found["axes"].items():
        lines += ["", f"### {axis}: {along_it['fixed']}", ""]
        lines += [f"| {axis} | literals | {' | '.join(PARTS)} |", "| --- " * (len(PARTS) + 2) + "|"]
        for one in along_it["points"]:
            cells = [_cell(one["parts"][part]) for part in PARTS]
            lines.append(f"| {one['size']:,} | {one['literals']:.1f} | {' | '.join(cells)} |")
        for name, slopes in (("exponent", along_it["exponents"]), ("last step", along_it["last_step"])):
            told = ["" if slopes[part] is None else f"{slopes[part]:.2f}" for part in PARTS]
            lines.append(f"| {name} | | {' | '.join(told)} |")
        notes = [_timed_epochs(one) for one in along_it["points"] if one["epochs"][1] != EPOCHS]
        notes += [f"Left out: {one['size']:,}, because {one['why']}." for one in along_it["left_out"]]
        lines += ["", *notes] if notes else []
    return "\n".join(lines)


def _timed_epochs(one: dict[str, Any]) -> str:
    few, many = one["epochs"]
    return (
        f"At {one['size']:,} an epoch is the difference of {few} and {many:,} epochs; the network that is explained "
        f"has learned for {EPOCHS} from {MANY:,} of the rows."
    )


def _cell(part: dict[str, float | None]) -> str:
    """Format seconds as milliseconds, so that the numbers of a table can be compared."""
    middle, least, most, floor = (part[name] for name in ("median", "min", "max", "floor"))
    told = f"{_ms(middle)} ({_ms(least)}-{_ms(most)})"
    return told if floor is None else f"{told}; {_ms(floor)}"


def _ms(seconds: float | None) -> str:
    value = 1e3 * (seconds or 0.0)
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only: within a minute")
    parser.add_argument("--json", type=Path, help="write what was found to this file as well")
    asked = parser.parse_args()
    found = measure(quick=asked.quick)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(markdown(found))


if __name__ == "__main__":
    main()
