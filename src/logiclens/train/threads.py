"""The number of threads that torch uses for some work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL_WORK = 100_000_000
"""Multiplications per pass below which a second thread costs more time than it saves."""


class _Blocks(threading.local):
    """The open `threads_for` blocks: `own` are those of this thread, `everywhere` those of all threads."""

    lock = threading.Lock()
    everywhere = 0
    outside = 1
    own = 0

    def enter(self) -> int:
        """Count a block. Return the number of torch's threads that this thread has after it."""
        number = torch.get_num_threads()
        with _Blocks.lock:
            if _Blocks.everywhere == 0:
                _Blocks.outside = number
            elif self.own == 0 and number == 1:
                number = _Blocks.outside
            _Blocks.everywhere += 1
        self.own += 1
        return number

    def leave(self) -> None:
        self.own -= 1
        with _Blocks.lock:
            _Blocks.everywhere -= 1


_blocks = _Blocks()


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """Use one thread of torch in the `with` block if the work is small, else leave the number of threads unchanged.

    Torch has a number for each thread of Python, and a new thread starts with the number that any thread set last. A
    thread that starts while another one is in such a block starts with one, and gets the number from outside the block
    when it leaves its own.
    """
    number = _blocks.enter()
    try:
        if work < SMALL_WORK:
            torch.set_num_threads(1)
        yield
    finally:
        _blocks.leave()
        torch.set_num_threads(number)
