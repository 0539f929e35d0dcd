"""How many threads a training run should use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL_WORK = 100_000_000
"""Multiplications per pass below which a second thread costs more (waking, spinning) than it brings."""


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """One thread inside for small work, the caller's number of threads for large work and again afterwards."""
    before = torch.get_num_threads()
    if work < SMALL_WORK:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
