"""Progress of long work: a bar in a terminal or a notebook, or calls of a function; nothing in a pipe.

Whatever starts long work (`fit`, `explain_all`, `cross_validate`, a command) opens it with `working`. Each of its loops
is a `Progress` with a name and a number of steps, and tells the work that surrounds it, wherever the loop is written.
"""

from __future__ import annotations

import html
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, TextIO, TypeAlias

from logiclens.errors import LogicLensError, quoted

EVERY = 0.1
"""Seconds between two drawings of a bar."""
LONG = 5.0
"""Work that is estimated to take this many seconds in all also shows the time left."""
TRIED = 0.5
"""Seconds of a loop before its own speed estimates the time left: first parts are slow."""
PATIENCE = 1.0
"""Seconds before a notebook shows a bar: unlike the line of a terminal, a drawing leaves an empty output behind."""


@dataclass(frozen=True)
class ProgressState:
    """How far long work is: what a `progress` function is called with.

    Attributes:
        step: what is being done, such as `"training networks"`.
        done: how many parts of this step are finished.
        total: the number of parts of this step.
        share: the finished share of this step, from 0 to 1, with that of the part at work.
        seconds: seconds since the work began.
        seconds_left: estimated seconds until the whole work is finished; None as long as nothing is known.

    >>> print(ProgressState("training networks", 120, 500, seconds=4.0, seconds_left=75.0))
    training networks 120/500, 1 min 15 s left
    >>> print(ProgressState("training networks", 120, 500, seconds=0.1, seconds_left=0.7))
    training networks 120/500
    """

    step: str
    done: int
    total: int
    seconds: float
    seconds_left: float | None = None
    share: float = 0.0

    def __str__(self) -> str:
        """One line, with the time left of long work."""
        told = f"{self.step} {self.done:,}/{self.total:,}"
        if self.seconds_left is None or self.seconds + self.seconds_left < LONG:
            return told
        return f"{told}, {duration(self.seconds_left)} left"


Callback: TypeAlias = Callable[[ProgressState], object]
Shown: TypeAlias = bool | Callback | None
"""A function to call; True or None: a bar where somebody watches; False: nothing."""


def duration(seconds: float) -> str:
    """Return a duration in words, rounded.

    >>> duration(0.2), duration(59.6), duration(3599), duration(9000)
    ('1 s', '1 min', '1 h', '2 h 30 min')
    """
    whole = max(1, round(seconds))
    # Nobody waits for the seconds of an hour.
    whole = whole if whole < 600 else 60 * round(whole / 60)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


class Progress:
    """One loop of long work, told to the work that surrounds it; without one it tells nobody.

    Use it as a context manager. Of a loop inside a loop the outer one is shown, and the inner one refines its
    estimate. A loop of a single part tells nothing itself.

    Args:
        total: the number of parts.
        step: the name of the loop.
    """

    def __init__(self, total: int, step: str) -> None:
        """Find the work that surrounds the loop."""
        work = _current.get()
        self._work = None if work is None or work.is_silent else work
        self.total, self.step, self.done = total, step, 0

    @property
    def shown(self) -> bool:
        """Whether anybody is told."""
        return self._work is not None

    def update(self, done: int, note: str | Callable[[], str] = "") -> None:
        """Tell that `done` parts are finished; `note`, or what it returns, follows the count on a bar."""
        if self._work is not None:
            self.done = done
            if self.total > 1:
                self._work.tell(note)

    def __enter__(self) -> Progress:
        """Begin the loop."""
        if self._work is not None:
            self._work.begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the loop. One that ended early is finished too, unless by an error."""
        if self._work is not None:
            if kind is None and self.done < self.total:
                self.update(self.total)
            self._work.end(self)


class Bar(Protocol):
    """A drawing of the progress."""

    def draw(self, share: float, told: str, seconds: float) -> None:
        """Draw a share from 0 to 1 and a line of text, so many seconds after the beginning."""

    def clear(self) -> None:
        """Remove the drawing."""


class Work:
    """Long work with one bar, or one function, for all of its loops.

    As a context manager it may be entered again, by work inside it.

    Args:
        bar: what draws. Default: None, nothing does.
        callback: the function to call. Default: None.
        plan: the names of the loops to come, each with its expected share of the time, in any unit. Default: unknown.
        clock: seconds of a clock.
    """

    def __init__(
        self,
        bar: Bar | None = None,
        callback: Callback | None = None,
        plan: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the clock."""
        self._bar, self._callback, self._plan, self._clock = bar, callback, dict(plan or {}), clock
        self._began = self._step_began = clock()
        self._next = 0.0
        self._loops: list[Progress] = []
        self._seen: set[str] = set()
        # Seconds of the planned loops that have ended, and their share of the plan.
        self._spent = self._share = 0.0
        self._tokens: list[Token[Work | None]] = []
        self._draws = False

    @property
    def is_silent(self) -> bool:
        """Whether nobody is told."""
        return self._bar is None and self._callback is None

    def __enter__(self) -> Work:
        """Make this the surrounding work. Only one bar at a time is drawn: other threads stay silent."""
        self._tokens.append(_current.set(self))
        if len(self._tokens) == 1 and self._bar is not None:
            self._draws = _drawing.acquire(blocking=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        _current.reset(self._tokens.pop())
        if not self._tokens and self._bar is not None and self._draws:
            self._bar.clear()
            self._draws = False
            _drawing.release()

    def begin(self, loop: Progress) -> None:
        """Begin a loop."""
        if not self._loops:
            self._step_began = self._clock()
            self._seen.add(loop.step)
        self._loops.append(loop)
        if loop.total > 1:
            self.tell()

    def end(self, loop: Progress) -> None:
        """End a loop, and whatever is left of the loops inside it."""
        if loop in self._loops:
            del self._loops[self._loops.index(loop) :]
        if not self._loops and loop.step in self._plan:
            self._spent += self._clock() - self._step_began
            self._share += self._plan[loop.step]

    def tell(self, note: str | Callable[[], str] = "") -> None:
        """Call the function, or draw the bar if it is time to."""
        now = self._clock()
        shown = next(loop for loop in self._loops if loop.total > 1)
        if self._callback is None and now < self._next and shown.done < shown.total:
            return
        share = _finished(self._loops[self._loops.index(shown) :])
        left = self._left(now, _finished(self._loops))
        state = ProgressState(shown.step, shown.done, shown.total, now - self._began, left, share)
        if self._callback is not None:
            # Work that the function does is not part of this one.
            token = _current.set(None)
            try:
                self._callback(state)
            finally:
                _current.reset(token)
        elif self._bar is not None and self._draws:
            self._next = now + EVERY
            text = note if isinstance(note, str) else note()
            self._bar.draw(share, _joined(state, text), state.seconds)

    def _left(self, now: float, finished: float) -> float | None:
        """Estimate the seconds left: of this loop by its own speed, of those to come by their share of the plan."""
        spent, share = now - self._step_began, self._plan.get(self._loops[0].step, 0.0)
        later = sum(part for step, part in self._plan.items() if step not in self._seen)
        if finished > 0 and (spent >= TRIED or finished == 1):
            whole = spent / finished
            planned = self._share + share
            return whole - spent + ((self._spent + whole) / planned * later if planned > 0 and share > 0 else 0.0)
        if self._share == 0:
            return None
        return max(0.0, self._spent / self._share * (share + later) - spent)


def _finished(loops: list[Progress]) -> float:
    """Return the finished share of the first loop; each further loop is part of a part of the one before it."""
    share = 0.0
    for loop in reversed(loops):
        share = min(1.0, (loop.done + share) / loop.total) if loop.total > 0 else 1.0
    return share


def _joined(state: ProgressState, note: str) -> str:
    return f"{state}, {note}" if note else str(state)


def working(progress: Shown = None, plan: Mapping[str, float] | None = None) -> Work:
    """Return the work that tells the loops in its block: `with working(progress): ...`.

    Inside other work it is that work, unless a function is given.

    Args:
        progress: a function to call with a `ProgressState`. True or None: a bar in a terminal or a notebook, and
            nothing elsewhere. False: nothing.
        plan: see `Work`.

    Raises:
        LogicLensError: if `progress` is something else.
    """
    if callable(progress):
        return Work(callback=progress, plan=plan)
    if progress is not None and not isinstance(progress, bool):
        raise LogicLensError(
            f"progress must be a function that takes one ProgressState, True, False or None, got {quoted(progress)}."
        )
    around = _current.get()
    if around is not None:
        return around
    return Work(None if progress is False else _bar(), plan=plan)


def silence(silent: bool = True) -> AbstractContextManager[object]:
    """Tell nobody of the loops in the block, unless `silent` is False; other threads are not affected."""
    return Work() if silent else nullcontext()


class TerminalBar:
    """A bar on one line of a terminal, standard error unless another stream is given."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Draw nothing yet."""
        self._stream = sys.stderr if stream is None else stream
        self._is_drawn = False

    def draw(self, share: float, told: str, seconds: float) -> None:
        """Draw over the line, without filling it: the next character would break it."""
        filled = int(24 * share)
        line = f"[{'#' * filled}{'.' * (24 - filled)}] {told}"
        # Before the line is there: Ctrl-C may come at once.
        self._is_drawn = True
        self._stream.write(f"\r\x1b[2K{line[: _width(self._stream) - 1]}")
        self._stream.flush()

    def clear(self) -> None:
        """Clear the line."""
        if self._is_drawn:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._is_drawn = False


class NotebookBar:
    """A bar in the output of a notebook cell, which is emptied at the end.

    The bar of `rich` needs ipywidgets there, which this package does not install.
    """

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._handle: Any = None

    def draw(self, share: float, told: str, seconds: float) -> None:
        """Draw, or replace the drawing."""
        if self._handle is None and seconds < PATIENCE:
            return
        bar = f'<progress value="{share:.3f}" max="1" style="vertical-align:middle"></progress>'
        self._show(f"{bar} {html.escape(told)}", told)

    def clear(self) -> None:
        """Empty the output; a handle cannot remove it."""
        if self._handle is not None:
            self._show("", "")
            self._handle = None

    def _show(self, rich: str, plain: str) -> None:
        from IPython import display as ipython

        content = {"text/html": rich, "text/plain": plain}
        if self._handle is None:
            self._handle = ipython.display(
                content,  # type: ignore[no-untyped-call]
                raw=True,
                display_id=True,
            )
        else:
            self._handle.update(content, raw=True)


def _bar() -> Bar | None:
    """Return the bar for whoever watches; None in a pipe and in the workers of other processes."""
    if multiprocessing.parent_process() is not None or multiprocessing.current_process().name != "MainProcess":
        return None
    if _is_notebook():
        return NotebookBar()
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return TerminalBar(stream)


def _is_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook; without importing IPython, which is loaded there."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else getattr(ipython, "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


_current: ContextVar[Work | None] = ContextVar("work", default=None)
_drawing = threading.Lock()
