"""Progress bar on one line of a terminal; nothing is drawn in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

_silent = False


def silence() -> None:
    """Draw no bars for the rest of this process, unless one is asked for."""
    global _silent
    _silent = True


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
        self.shown = (self.stream.isatty() and not _silent) if shown is None else shown
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
