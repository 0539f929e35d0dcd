"""Time training on a CUDA device: cold, warm, launch by launch, and as a share of the roofline.

Needs only torch, NumPy and jaxtyping. From a checkout: PYTHONPATH=src python3 lab/scripts/gpu_speed.py [results.json]
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from logiclens.concepts.concept_table import ConceptTable
from logiclens.nn.layers import EntropyNet
from logiclens.train import fit_many as stacked_run
from logiclens.train.config import TrainConfig
from logiclens.train.fit_many import fit_many

REPEATS = 15
BYTES_A_SECOND, OPERATIONS_A_SECOND = 4.8e12, 67e12
"""Memory and float32 speed (without tensor cores) of an H200, from its data sheet."""


def table(n_rows: int, n_concepts: int, n_classes: int, seed: int) -> ConceptTable:
    """Make random rows, all distinct if there are enough concepts, with classes that depend on some of them."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_rows, n_concepts))
    labels = (bits[:, :8] @ (1 << np.arange(8)) + (rng.random(n_rows) < 0.1)) % n_classes
    return ConceptTable(bits, None, labels, [str(i) for i in range(n_classes)])


def graded(n_rows: int, n_concepts: int, seed: int) -> ConceptTable:
    """Make rows of one scale with many cuts and a little noise: few are distinct, as in V-Dem."""
    rng = np.random.default_rng(seed)
    scale = rng.random((n_rows, 1))
    bits = (scale > np.linspace(0.1, 0.9, n_concepts)) ^ (rng.random((n_rows, n_concepts)) < 0.02)
    return ConceptTable(bits, None, (scale[:, 0] > 0.5).astype(int), ["0", "1"])


def networks(n: int, n_concepts: int, n_classes: int, hidden: tuple[int, ...]) -> list[EntropyNet]:
    """Make new networks on the CPU; they are sent to the device together."""
    return [
        EntropyNet(n_concepts, n_classes, hidden, temperature=0.7 + k % 12, generator=torch.Generator().manual_seed(k))
        for k in range(n)
    ]


def timed(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begun


def floor(n_models: int, n_rows: int, n_concepts: int, n_classes: int, hidden: tuple[int, ...], epochs: int) -> float:
    """Return a lower bound of the seconds of all epochs, from their bytes and operations.

    Operations: two for each product, forward and twice back (once for the first layer, whose inputs need no gradient).
    Bytes: each layer's outputs are written, read, and once more for the gradient; the weights seven times (AdamW).
    """
    widths = (n_concepts, *hidden, 1)
    heads = n_models * n_classes
    layers = list(itertools.pairwise(widths))
    operations = sum((4 if place == 0 else 6) * a * b for place, (a, b) in enumerate(layers)) * heads * n_rows
    outputs = sum(b for _, b in layers) * heads * n_rows
    weights = sum(a * b + b for a, b in layers) * heads
    moved = 4 * (4 * outputs + 7 * weights + n_rows * n_concepts)
    return epochs * max(operations / OPERATIONS_A_SECOND, moved / BYTES_A_SECOND)


def measure(name: str, work: Callable[[], object], least: float, target: float) -> dict[str, Any]:
    """Time one job: the first call, later calls, and later calls without a recorded graph."""
    cold = timed(work)
    warm = [timed(work) for _ in range(REPEATS)]
    captured = stacked_run.WARM_UP
    stacked_run.WARM_UP = 10**9
    try:
        launched = [timed(work) for _ in range(3)]
    finally:
        stacked_run.WARM_UP = captured
    found = {
        "what": name,
        "cold_s": cold,
        "warm_s": statistics.median(warm),
        "warm_spread_s": [min(warm), max(warm)],
        "launch_by_launch_s": statistics.median(launched),
        "floor_s": least,
        "share_of_roofline": least / statistics.median(warm),
        "target_s": target,
    }
    print(
        f"{name}: cold {cold:.3f} s, warm {found['warm_s'] * 1e3:.1f} ms ({min(warm) * 1e3:.1f} to "
        f"{max(warm) * 1e3:.1f}), launch by launch {found['launch_by_launch_s'] * 1e3:.0f} ms, "
        f"floor {least * 1e3:.2f} ms ({found['share_of_roofline']:.0%}), target {target * 1e3:.0f} ms: "
        f"{'holds' if found['warm_s'] <= target else 'does not hold'}",
        flush=True,
    )
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    quiet = {"progress": False}
    results = []
    rows, held = table(1136, 90, 2, 0), table(284, 90, 2, 1)
    config = TrainConfig(epochs=200, **quiet)
    results.append(measure(
        "MIMIC-II shape, 200 epochs",
        lambda: fit_many(networks(1, 90, 2, (20,)), rows, config, validation=held, device="cuda"),
        floor(1, 1420, 90, 2, (20,), 200), 0.030,
    ))  # fmt: skip
    folds = [graded(2086, 14, 10 + k) for k in range(5)]
    choosing = [graded(521, 14, 20 + k) for k in range(5)]
    # Rows in both the training and the validation part are evaluated once.
    n_rows = statistics.mean(len(one.append(other).counted()) for one, other in zip(folds, choosing, strict=True))
    results.append(measure(
        f"60 V-Dem models ({n_rows:.0f} distinct rows each), 200 epochs",
        lambda: fit_many(
            networks(60, 14, 2, (20, 20)), [folds[k // 12] for k in range(60)], config,
            validation=[choosing[k // 12] for k in range(60)], device="cuda",
        ),
        floor(60, int(n_rows), 14, 2, (20, 20), 200), 0.100,
    ))  # fmt: skip
    plain, plain_held = table(7544, 108, 200, 2), table(1886, 108, 200, 3)
    long = TrainConfig(epochs=500, **quiet)
    results.append(measure(
        "CUB shape, plain rows, 500 epochs",
        lambda: fit_many(networks(1, 108, 200, (10,)), plain, long, validation=plain_held, device="cuda"),
        floor(1, 9430, 108, 200, (10,), 500), 0.500,
    ))  # fmt: skip
    told = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "jobs": results}
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
