"""Training on a CUDA device: the first call and later ones. Needs only torch, NumPy and jaxtyping."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from logiclens.concepts.concept_table import ConceptTable
from logiclens.nn.layers import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.fit_many import fit_many

REPEATS = 15


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
    """Return the seconds of one call."""
    torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begun


def measure(path: Path) -> None:
    """Time three jobs and write the results."""
    short, long = (TrainConfig(epochs=epochs, progress=False) for epochs in (200, 500))
    rows, held = table(1136, 90, 2, 0), table(284, 90, 2, 1)
    plain, plain_held = table(7544, 108, 200, 2), table(1886, 108, 200, 3)
    folds, chosen = ([graded(n, 14, first + k // 12) for k in range(60)] for n, first in ((2086, 10), (521, 20)))
    jobs: dict[str, tuple[Callable[[], object], float]] = {
        "MIMIC-II shape, 200 epochs": (
            lambda: fit_many(networks(1, 90, 2, (20,)), rows, short, validation=held, device="cuda"), 0.030,
        ),
        "60 V-Dem models, 200 epochs": (
            lambda: fit_many(networks(60, 14, 2, (20, 20)), folds, short, validation=chosen, device="cuda"), 0.100,
        ),
        "CUB shape, plain rows, 500 epochs": (
            lambda: fit_many(networks(1, 108, 200, (10,)), plain, long, validation=plain_held, device="cuda"), 0.500,
        ),
    }  # fmt: skip
    results: list[dict[str, Any]] = []
    for name, (work, target) in jobs.items():
        cold, warm = timed(work), [timed(work) for _ in range(REPEATS)]
        results.append({
            "what": name, "cold_s": cold, "warm_s": statistics.median(warm), "warm_spread_s": [min(warm), max(warm)],
            "target_s": target,
        })  # fmt: skip
        print(results[-1], flush=True)
    content = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "jobs": results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
