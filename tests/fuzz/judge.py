"""The judge of the campaign: what a case may end in, and what it must leave behind.

A case ends in an answer that the door compares with an independent recomputation, or in one sentence. Everything else
is a failure: another exception, a warning of another library, a case that does not end, a file that is left behind,
and an input that is changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import stat
import tempfile
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

from sklearn.exceptions import DataConversionWarning

from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.verify import VerificationError

LONGEST = 500
"""The most characters of a sentence that refuses."""
SECONDS = 10.0
"""The time limit of a case, unless its door sets another."""
SKLEARN = "The feature names should match"
"""scikit-learn checks columns, and its tests expect its own words, of several lines, and its own classes of errors."""
BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text around them."""

Value = TypeVar("Value")


class Outcome(StrEnum):
    """The two ends that a case may have."""

    agreed = "agreed"
    refused = "refused"


class Failure(AssertionError):
    """A case that ended in something else. `kind` is the same for all cases that fail for one reason."""

    def __init__(self, kind: str, detail: str = "") -> None:
        """Take the kind, and what was seen in this case."""
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind


class Hang(BaseException):
    """The time limit of a case has passed. No `except Exception` of the product may catch it."""


@dataclass(frozen=True)
class Refused:
    """The sentence with which the product refused."""

    message: str


def attempt(function: Callable[..., Value], *arguments: Any, **named: Any) -> Value | Refused:
    """Return what a call returns, or the sentence with which it refuses. Other exceptions pass."""
    try:
        return function(*arguments, **named)
    except (LogicLensError, VerificationError) as error:
        if not str(error).startswith(SKLEARN):
            check_sentence(str(error))
        return Refused(str(error))
    except (ValueError, TypeError) as error:
        if traceback.extract_tb(error.__traceback__)[-1].filename.endswith("sklearn/utils/validation.py"):
            return Refused(str(error))
        raise


def check_sentence(message: str, longest: int = LONGEST) -> None:
    """Fail unless a message is one short line that a terminal can show."""
    if not message.strip():
        raise Failure("an empty message")
    if len(message) > longest:
        raise Failure("a message is too long", f"{len(message)} characters, {message[:100]!r}…")
    if "Traceback" in message:
        raise Failure("a message holds a traceback", repr(message[:200]))
    check_shown(message, "a message", lines=False)


def check_shown(text: str, what: str, *, lines: bool = True) -> None:
    """Fail if a text that people read holds control characters or turns the direction of what follows."""
    for character in text:
        if character == "\n" and lines:
            continue
        if unicodedata.category(character) in ("Cc", "Cs") or character in BIDIRECTIONAL:
            raise Failure(f"{what} holds a control character", f"{character!r} in {text[:200]!r}")


@dataclass
class Place:
    """The folders of one case: inputs, which nothing may change, and outputs."""

    root: Path
    seen: dict[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> Path:
        """The folder of the files that the case reads."""
        return self.root / "in"

    @property
    def outputs(self) -> Path:
        """The folder that the case may write to; it is also the working folder of commands."""
        return self.root / "out"

    def write(self, name: str, content: bytes) -> Path:
        """Write a file to read."""
        path = self.inputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def seal(self) -> None:
        """Remember what the inputs are; `check` fails if they are different at the end."""
        self.seen = listing(self.inputs)

    def check(self) -> None:
        """Fail if an input was changed or a temporary file was left."""
        now = listing(self.inputs)
        if self.seen and now != self.seen:
            changed = sorted({*now.items()} ^ {*self.seen.items()})
            raise Failure("an input was changed", str([name for name, _ in changed][:5]))
        # torch keeps one folder for its compiler as long as the machine runs.
        left = [name for name in os.listdir(self.root / "tmp") if not name.startswith("torchinductor_")]
        if left:
            raise Failure("a temporary file was left", str(left[:5]))


def listing(folder: Path) -> dict[str, str]:
    """Return the hash of each regular file below a folder, and the kind of each other entry."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        regular = stat.S_ISREG(mode)
        found[str(path.relative_to(folder))] = (
            hashlib.sha256(path.read_bytes()).hexdigest() if regular else str(stat.S_IFMT(mode))
        )
    return found


ALLOWED = (LogicLensWarning, DataConversionWarning, ResourceWarning)
NOT_OURS = (
    "fetch_arrow_table() is deprecated",
    "The 'future.infer_string' option is deprecated",
    "X does not have valid feature names",
    "X has feature names, but",
)
"""Warnings that Ibis causes, and those that scikit-learn's tests expect."""


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Fail if the block warns with anything but a warning of logiclens."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = str(warning.message)
        if not issubclass(warning.category, ALLOWED) and not text.startswith(NOT_OURS):
            where = f"{Path(warning.filename).name}:{warning.lineno}"
            raise Failure(f"a warning leaks ({warning.category.__name__} at {where})", text[:200])


@contextlib.contextmanager
def ending(seconds: float) -> Iterator[None]:
    """Raise `Hang` in the block when the time is over."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Hang(f"no end after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    # Repeated, because a library may catch the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def scratch(root: Path) -> Iterator[Place]:
    """Give the folders of a case; temporary files of the product go there too."""
    place = Place(root)
    for folder in (place.inputs, place.outputs, root / "tmp"):
        folder.mkdir(parents=True)
    before, tempfile.tempdir = tempfile.tempdir, str(root / "tmp")
    here = os.getcwd()
    os.chdir(place.outputs)
    try:
        yield place
    finally:
        os.chdir(here)
        tempfile.tempdir = before
        shutil.rmtree(root, ignore_errors=True)


def judged(check: Callable[[Any, Place], Outcome], case: Any, root: Path, seconds: float = SECONDS) -> Outcome:
    """Run one case. Return its outcome, or raise what makes it a failure."""
    with scratch(root) as place:
        with ending(seconds), silent():
            outcome = check(case, place)
        place.check()
        return outcome


def signature(error: BaseException) -> str:
    """Return the reason of a failure: its kind, or the exception and the innermost function of logiclens."""
    if isinstance(error, Failure):
        return error.kind
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    ours = [frame for frame in frames if f"{os.sep}logiclens{os.sep}" in frame.filename]
    last = (ours or frames)[-1]
    return f"{type(error).__name__} in {Path(last.filename).stem}.{last.name}"
