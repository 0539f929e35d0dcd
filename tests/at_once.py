"""Call functions from many threads that all start at the same moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

N_THREADS = 16


def at_once(calls: Sequence[Callable[[], Result]], repeats: int = 1, n_threads: int = N_THREADS) -> list[list[Result]]:
    """Return what each call returns, `repeats` times in each thread; thread t starts with call t.

    Python switches threads as often as it can meanwhile.
    """
    start = threading.Barrier(n_threads, timeout=60)

    def work(thread: int) -> list[tuple[int, Result]]:
        start.wait()
        turns = ((thread + turn) % len(calls) for turn in range(repeats * len(calls)))
        return [(place, calls[place]()) for place in turns]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            found = [pair for future in [pool.submit(work, t) for t in range(n_threads)] for pair in future.result()]
    finally:
        sys.setswitchinterval(interval)
    return [[result for place, result in found if place == wanted] for wanted in range(len(calls))]
