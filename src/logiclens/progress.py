"""Progress bar on one line of a terminal; nothing is drawn in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TextIO

_silent = ContextVar("silent", default=False)


@contextmanager
def silence(silent: bool = True) -> Iterator[None]:
    """Draw no bar in this block, unless it has `shown=True`; other threads are not affected."""
    token = _silent.set(silent)
    try:
        yield
    finally:
        _silent.reset(token)


class Progress:
    """Show the progress of a loop, at most ten times per second.

    Use it as a context manager: it clears the line also after an error.
    """

    def __init__(
        self,
        total: int,
        label: str,
        *,
        shown: bool | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Draw on `stream` (standard error) where it is a terminal, or as `shown` says."""
        self.stream = sys.stderr if stream is None else stream
        self.shown = (self.stream.isatty() and not _silent.get()) if shown is None else shown
        self.total, self.label, self.clock, self._next = total, label, clock, 0.0

    def update(self, done: int, note: str = "") -> None:
        """Show that `done` steps are finished; `note` follows the count."""
        if not self.shown:
            return
        now = self.clock()
        if now < self._next and done < self.total:
            return
        self._next = now + 0.1
        filled = 24 * done // self.total
        self.stream.write(f"\r\x1b[2K{self.label} [{'#' * filled}{'.' * (24 - filled)}] {done}/{self.total} {note}")
        self.stream.flush()

    def __enter__(self) -> Progress:
        """Return the bar itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        if self.shown:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()
