"""Measure logiclens against torch_explain 1.5.1 in one run, and print the ratios with their floors.

Each measurement has its own process and environment. Both sides read the same rows, take turns, and use one thread.
Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.scripts.layout import aligned
from lab.scripts.shapes import SHAPES, Shape, generate

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
INTERPRETER = {"ours": ROOT / ".venv/bin/python", "reference": ROOT / ".venv-reference/bin/python"}
EPOCH, MEMORY = {"cub": 5, "species": 40}, {"cub": 3}
EXTRACT, AT_MOST = {"mimic": 200, "mnist": 200}, {"vdem": 0.5}
"""The least ratios to reach by shape, and the most seconds where the reference does not end."""
EXTRACT_REPEATS = 3
"""Extraction takes the reference minutes: it is repeated at most this often, and once where it hits the limit."""


@dataclass
class Line:
    """One quantity on both sides, one value per repeat.

    `floor` is the least ratio reference / ours; `most` is what ours may be at most, whatever the reference is.
    """

    what: str
    unit: str
    floor: float | None
    bounded: bool = False
    """Whether the reference ran into the time limit: its value, and the ratio, are then lower bounds."""
    most: float | None = None
    ours: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(self.reference) / statistics.median(self.ours)

    @property
    def spread(self) -> tuple[float, float]:
        pairs = zip(self.ours, self.reference * (len(self.ours) if self.bounded else 1), strict=False)
        ratios = [theirs / mine for mine, theirs in pairs]
        return min(ratios), max(ratios)

    @property
    def verdict(self) -> str:
        if self.most is not None:
            return "holds" if statistics.median(self.ours) <= self.most else "does not hold"
        if self.floor is None:
            return ""
        if self.ratio >= self.floor:
            return "holds"
        return "not known: limit reached" if self.bounded else "does not hold"

    @property
    def asked(self) -> str:
        if self.most is not None:
            return f"at most {_quantity(self.most, self.unit)}"
        return "" if self.floor is None else f"{self.floor:g}x"

    def cells(self) -> list[str]:
        low, high = self.spread
        bound = ">" if self.bounded else ""
        return [
            self.what,
            _quantity(statistics.median(self.ours), self.unit),
            bound + _quantity(statistics.median(self.reference), self.unit),
            f"{bound}{self.ratio:.1f}x",
            f"{low:.1f}-{high:.1f}",
            self.asked,
            self.verdict,
        ]


class Bench:
    """Workers in a folder of shared data."""

    def __init__(self, folder: Path, limit: float) -> None:
        self.folder, self.limit = folder, limit
        for shape in SHAPES.values():
            generate(shape).save(self.data(shape))

    def data(self, shape: Shape) -> Path:
        return self.folder / f"{shape.name}.npz"

    def run(self, side: str, measurement: str, shape: Shape, *options: str) -> dict[str, Any]:
        """Run one worker process and return its last line of output."""
        weights = self.folder / f"{shape.name}_weights.npz"
        command = [str(INTERPRETER[side]), str(HERE / f"{side}.py"), measurement, "--shape", shape.name]
        command += ["--data", str(self.data(shape)), "--weights", str(weights), "--limit", str(self.limit), *options]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        print(f"  {side:9} {measurement:7} {shape.name} {' '.join(options)}", file=sys.stderr, flush=True)
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **threads}, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{side} {measurement} {shape.name} failed:\n{done.stderr[-2000:]}")
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result

    def alternately(self, tasks: dict[str, Callable[[], dict[str, Any]]], repeat: int) -> dict[str, dict[str, Any]]:
        """Run every task once; reverse the order in every repeat."""
        names = list(tasks) if repeat % 2 == 0 else list(tasks)[::-1]
        return {name: tasks[name]() for name in names}


def epochs(bench: Bench, shape: Shape, repeats: int) -> list[Line]:
    tails = {"": "own heads", "--shared-tail": "shared tail"} if shape.name == "cub" else {"": "own heads"}
    seconds = {flag: Line(f"epoch {shape.name}, {tail}", "s", EPOCH.get(shape.name)) for flag, tail in tails.items()}
    memory = MEMORY.get(shape.name)
    peak = {flag: Line(f"peak memory {shape.name}, {tail}", "MB", memory) for flag, tail in tails.items()}
    grown = {flag: Line(f"memory grown {shape.name}, {tail}", "MB", memory) for flag, tail in tails.items()}
    for repeat in range(repeats):
        tasks = {flag: lambda flag=flag: bench.run("ours", "epoch", shape, *flag.split()) for flag in tails}
        tasks["reference"] = lambda: bench.run("reference", "epoch", shape)
        results = bench.alternately(tasks, repeat)
        for flag in tails:
            for lines, key in ((seconds, "seconds"), (peak, "peak_mb"), (grown, "grown_mb")):
                lines[flag].ours.append(results[flag][key])
                lines[flag].reference.append(results["reference"][key])
    return [lines[flag] for flag in tails for lines in (seconds, peak, grown)]


def extraction(bench: Bench, shape: Shape, repeats: int) -> tuple[Line, dict[str, Any]]:
    trained = bench.run("reference", "train", shape)
    line = Line(f"extract {shape.name}, all classes", "s", EXTRACT.get(shape.name), most=AT_MOST.get(shape.name))
    notes: dict[str, Any] = {"network": trained}
    for repeat in range(min(repeats, EXTRACT_REPEATS)):
        tasks = {"ours": lambda: bench.run("ours", "extract", shape)}
        if not line.bounded:
            tasks["reference"] = lambda: bench.run("reference", "extract", shape)
        for side, result in bench.alternately(tasks, repeat).items():
            getattr(line, side).append(result["seconds"])
            notes[side] = result
            line.bounded = line.bounded or result["over_limit"]
    return line, notes


def evaluation(bench: Bench, shape: Shape, repeats: int) -> list[Line]:
    lines = {
        "seconds": Line("formula, on a Boolean matrix", "s", 100),
        "packed_seconds": Line("formula, on packed rows", "s", 100),
        "text_seconds": Line("formula, from text to accuracy", "s", None),
    }
    for repeat in range(repeats):
        tasks = {side: lambda side=side: bench.run(side, "formula", shape) for side in INTERPRETER}
        results = bench.alternately(tasks, repeat)
        if results["ours"]["fired"] != results["reference"]["fired"]:
            raise SystemExit("the two sides disagree on the rows on which the formula holds.")
        for key, line in lines.items():
            line.ours.append(results["ours"][key])
            line.reference.append(results["reference"]["seconds"])
    return list(lines.values())


def table(lines: list[Line]) -> str:
    head = ["measured", "ours", "reference", "ratio", "min-max", "floor", "verdict"]
    return aligned([head, *(line.cells() for line in lines)])


def formulas_table(notes: dict[str, dict[str, Any]]) -> str:
    """Return relevant concepts, formulas, held-out accuracy and literals of each side."""
    rows = [["extracted", "relevant", "side", "formulas", "accuracy", "literals"]]
    for name, note in notes.items():
        for side in ("ours", "reference"):
            result = note[side]
            found = f"{result['formulas']} of {result['asked']}" + (" at the limit" if result["over_limit"] else "")
            numbers = ["-" if result[key] is None else f"{result[key]:.3g}" for key in ("accuracy", "literals")]
            rows.append([name, f"{note['network']['relevant_concepts']:.0f}", side, found, *numbers])
    return aligned(rows)


def _quantity(value: float, unit: str) -> str:
    if unit == "s" and value < 1e-3:
        return f"{value * 1e6:.1f} us"
    if unit == "s" and value < 1:
        return f"{value * 1e3:.1f} ms"
    return f"{value:.4g} {unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="processes per measurement and side")
    parser.add_argument("--limit", type=float, default=150.0, help="CPU seconds the reference may take to extract")
    parser.add_argument("--quick", action="store_true", help="two repeats, a limit of 20 s")
    parser.add_argument("--only", choices=("epoch", "extract", "formula"), help="one kind of measurement")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every value of every repeat")
    given = parser.parse_args()
    repeats, limit = (2, 20.0) if given.quick else (given.repeats, given.limit)
    if not INTERPRETER["reference"].exists():
        raise SystemExit(
            f"{INTERPRETER['reference']} is missing: run `make bench`, which installs torch_explain 1.5.1."
        )
    shapes = [SHAPES[name] for name in given.shapes]
    kinds = [given.only] if given.only else ["epoch", "extract", "formula"]
    lines: list[Line] = []
    notes: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), limit)
        for shape in shapes if "epoch" in kinds else []:
            lines += epochs(bench, shape, repeats)
        for shape in [shape for shape in shapes if not shape.counted] if "extract" in kinds else []:
            line, notes[shape.name] = extraction(bench, shape, repeats)
            lines.append(line)
        if "formula" in kinds:
            lines += evaluation(bench, SHAPES["mimic"], repeats)
    print(table(lines))
    if notes:
        print("\n" + formulas_table(notes))
    if given.json:
        values = [{**vars(line), "ratio": line.ratio, "spread": line.spread, "verdict": line.verdict} for line in lines]
        given.json.write_text(json.dumps({"repeats": repeats, "lines": values, "formulas": notes}, indent=2) + "\n")


if __name__ == "__main__":
    main()
