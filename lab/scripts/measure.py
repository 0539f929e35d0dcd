"""Clock, memory, arguments and JSON output of both workers (`ours.py`, `reference.py`)."""

from __future__ import annotations

import argparse
import json
import resource
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENTROPY_WEIGHT = 1e-4
LEARNING_RATE = 1e-2


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("measurement", choices=("train", "epoch", "extract", "formula"))
    parser.add_argument("--shape", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--shared-tail", action="store_true")
    parser.add_argument("--limit", type=float, default=150.0)
    return parser.parse_args()


def report(**values: Any) -> None:
    json.dump(values, sys.stdout)
    print()


def epoch_cost(epoch: Callable[[], None], repeats: int) -> dict[str, float]:
    """Return the median CPU seconds of an epoch, after two unmeasured ones, and the memory of training in MB."""
    before = _resident_mb()
    for _ in range(2):
        epoch()
    seconds = [cpu_seconds(epoch) for _ in range(repeats)]
    peak = _peak_mb()
    return {"seconds": statistics.median(seconds), "peak_mb": peak, "grown_mb": max(peak - before, 0.0)}


def repeated_cost(action: Callable[[], object], budget: float = 0.5) -> float:
    """Return the median CPU seconds of a short action, over at least five batches of calls within the budget."""
    action()
    once = max(cpu_seconds(action), 1e-7)
    calls = max(1, round(budget / 10 / once))
    batches = max(5, round(budget / (calls * once)))
    return statistics.median(cpu_seconds(lambda: [action() for _ in range(calls)]) / calls for _ in range(batches))


def cpu_seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


class OverLimit(Exception):
    """The action has used up its CPU time."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `OverLimit` inside the block after this many CPU seconds."""

    def stop(*_: object) -> None:
        raise OverLimit

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
