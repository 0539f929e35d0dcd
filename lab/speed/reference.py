"""Beside torch_explain 1.5.1: epochs, memory, extraction and evaluation, in CPU seconds of one thread.

Each measurement has its own process. Both sides read the same rows and take turns. Extraction starts from one and the
same network: the reference trains it, both sides load its weights.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lab.peers.torch_explain import TorchExplain, read_formula
from lab.runs.results import ROOT
from lab.speed.ours import described
from lab.speed.rows import SHAPES, Shape, generate, planted_formula

EPOCH, MEMORY = {"cub": 5, "species": 40}, {"cub": 3}
EXTRACT, AT_MOST = {"mimic": 200, "mnist": 200}, {"vdem": 0.5}
"""The least ratios to reach by shape, and the most seconds where the reference does not end."""
EXTRACT_REPEATS = 3
"""Extraction takes the reference minutes: it is repeated at most this often, and once where it meets the limit."""


@dataclass
class Line:
    """One quantity on both sides, one value per repeat."""

    what: str
    unit: str
    floor: float | None = None
    most: float | None = None
    bounded: bool = False
    ours: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(self.reference) / statistics.median(self.ours)

    @property
    def spread(self) -> tuple[float, float]:
        theirs = self.reference * (len(self.ours) if self.bounded else 1)
        ratios = [their / our for our, their in zip(self.ours, theirs, strict=False)]
        return min(ratios), max(ratios)

    @property
    def goal(self) -> str:
        if self.most is not None:
            return f"at most {_quantity(self.most, self.unit)}"
        return "" if self.floor is None else f"{self.floor:g}x"

    @property
    def verdict(self) -> str:
        if self.most is not None:
            return "holds" if statistics.median(self.ours) <= self.most else "does not hold"
        if self.floor is None:
            return ""
        is_open = self.bounded and self.ratio < self.floor
        return "holds" if self.ratio >= self.floor else "not known: limit reached" if is_open else "does not hold"

    def cells(self) -> list[str]:
        low, high = self.spread
        bound = ">" if self.bounded else ""
        ours, theirs = (_quantity(statistics.median(values), self.unit) for values in (self.ours, self.reference))
        return [self.what, ours, bound + theirs, f"{bound}{self.ratio:.1f}x", f"{low:.1f}-{high:.1f}", self.goal,
                self.verdict]  # fmt: skip


def measure(repeats: int, limit: float, shapes: Iterable[str]) -> dict[str, Any]:
    chosen = [SHAPES[name] for name in shapes]
    lines: list[Line] = [line for shape in chosen for line in epochs(shape, repeats)]
    notes: dict[str, Any] = {}
    for shape in chosen:
        if not shape.counted:
            line, notes[shape.name] = extraction(shape, repeats, limit)
            lines.append(line)
    lines += evaluation(SHAPES["mimic"], repeats)
    return {"repeats": repeats, "lines": [asdict(line) for line in lines], "formulas": notes}


def in_turns(tasks: dict[str, Callable[[], dict[str, Any]]], repeat: int) -> dict[str, dict[str, Any]]:
    return {name: tasks[name]() for name in (list(tasks) if repeat % 2 == 0 else list(tasks)[::-1])}


def ours(mode: str, shape: Shape, **arrays: Any) -> dict[str, Any]:
    print(f"  ours {mode} {shape.name}", file=sys.stderr, flush=True)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "given.npz")
        np.savez(file, mode=mode, shape=shape.name, **arrays)
        command = [sys.executable, "-W", "ignore", "-m", "lab.speed.ours", str(file)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}, cwd=ROOT, check=True
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def reference(mode: str, shape: Shape, limit: float = 0, **arrays: Any) -> dict[str, Any]:
    print(f"  reference {mode} {shape.name}", file=sys.stderr, flush=True)
    train, held = generate(shape)
    peer = TorchExplain(
        hidden=shape.hidden, epochs=shape.timed_epochs if mode == "epoch" else shape.epochs, balanced=mode == "learn",
        batch_size=shape.batch if mode == "learn" else 0, loss="binary" if mode == "learn" else "cross_entropy",
        max_minterm=shape.max_literals, extracted=shape.extracted, cpu_limit=limit,
    )  # fmt: skip
    return peer.run(mode, train.append(held), n_train=len(train), threads=1, **arrays)


def epochs(shape: Shape, repeats: int) -> list[Line]:
    tails = {False: "own heads", True: "shared tail"} if shape.name == "cub" else {False: "own heads"}
    lines = {
        (tail, key): Line(f"{name} {shape.name}, {words}", unit, bounds.get(shape.name))
        for tail, words in tails.items()
        for name, key, unit, bounds in (
            ("epoch", "seconds", "s", EPOCH), ("peak memory", "peak_mb", "MB", MEMORY),
            ("memory grown", "grown_mb", "MB", MEMORY),
        )
    }  # fmt: skip
    for repeat in range(repeats):
        tasks: dict[str, Any] = {str(tail): lambda tail=tail: ours("epoch", shape, shared_tail=tail) for tail in tails}
        results = in_turns({**tasks, "reference": lambda: reference("epoch", shape)}, repeat)
        for (tail, key), line in lines.items():
            line.ours.append(float(results[str(tail)][key]))
            line.reference.append(float(results["reference"][key]))
    return list(lines.values())


def extraction(shape: Shape, repeats: int, limit: float) -> tuple[Line, dict[str, Any]]:
    learned = reference("learn", shape, 1e-6)
    weights = {name: value for name, value in learned.items() if name.startswith("weight")}
    line = Line(f"extract {shape.name}, all classes", "s", EXTRACT.get(shape.name), AT_MOST.get(shape.name))
    train, held = generate(shape)
    notes: dict[str, Any] = {}
    for repeat in range(min(repeats, EXTRACT_REPEATS)):
        tasks = {"ours": lambda: ours("extract", shape, **weights)}
        if not line.bounded:
            tasks["reference"] = lambda: reference("learn", shape, limit, **weights)
        for side, result in in_turns(tasks, repeat).items():
            if side == "reference":
                texts, stopped = result["texts"].tolist(), bool(result["stopped"])
                part = 1.0 if stopped else shape.classes / max(len(texts), 1)
                said = described([read_formula(text, train.names) for text in texts], held)
                result = {"seconds": part * float(result["seconds_extracting"][1]), "over_limit": stopped, **said}
            getattr(line, side).append(result["seconds"])
            notes[side] = result
            line.bounded = line.bounded or result["over_limit"]
    network = TorchExplain(hidden=shape.hidden).rebuilt(weights, train)
    relevant = float(network.entropy.relevant().sum(dim=1).float().median())
    return line, {"network": {"relevant_concepts": relevant}, **notes}


def evaluation(shape: Shape, repeats: int) -> list[Line]:
    lines = {
        "seconds": Line("formula, on a Boolean matrix", "s", 100),
        "packed_seconds": Line("formula, on packed rows", "s", 100),
        "text_seconds": Line("formula, from text to accuracy", "s"),
    }
    cubes = planted_formula(shape.concepts, cubes=5, literals=4)
    text = " | ".join(
        "(" + " & ".join(f"{'' if positive else '~'}feature{j:010}" for j, positive in cube) + ")" for cube in cubes
    )
    for repeat in range(repeats):
        tasks = {"ours": lambda: ours("formula", shape), "reference": lambda: reference("formula", shape, text=text)}
        results = in_turns(tasks, repeat)
        if int(results["ours"]["fired"]) != int(results["reference"]["fired"]):
            raise SystemExit("the two sides disagree on the rows on which the formula holds.")
        for key, line in lines.items():
            line.ours.append(results["ours"][key])
            line.reference.append(float(results["reference"]["seconds"]))
    return list(lines.values())


def _quantity(value: float, unit: str) -> str:
    if unit == "s" and value < 1e-3:
        return f"{value * 1e6:.1f} us"
    return f"{value * 1e3:.1f} ms" if unit == "s" and value < 1 else f"{value:.4g} {unit}"
