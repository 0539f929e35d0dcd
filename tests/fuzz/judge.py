"""What a hostile case may end in, and what it must leave behind.

A case ends in an answer that its test compares with an independent recomputation, or in one sentence. Everything else
fails: another exception, a warning of another library, a temporary file that is left, and an input that is changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from sklearn.exceptions import DataConversionWarning

from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.verify import VerificationError
from tests.examples import examples

LONGEST = 500
"""The most characters of a sentence that refuses."""
SKLEARN = "The feature names should match"
"""scikit-learn checks columns, and its tests expect its own words, of several lines, and its own classes of errors."""
BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text around them."""
ALLOWED = (LogicLensWarning, DataConversionWarning, ResourceWarning)
NOT_OURS = (
    "fetch_arrow_table() is deprecated",
    "The 'future.infer_string' option is deprecated",
    "X does not have valid feature names",
    "X has feature names, but",
)
"""Warnings that Ibis causes, and those that scikit-learn's tests expect."""

Value = TypeVar("Value")


def hostile_examples(count: int) -> settings:
    """The settings of a test of hostile cases, which may be large and slow to draw."""
    return examples(count, suppress_health_check=list(HealthCheck))


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
    assert message.strip(), "an empty message"
    assert len(message) <= longest, f"a message of {len(message)} characters: {message[:100]!r}…"
    assert "Traceback" not in message
    check_shown(message, lines=False)


def check_shown(text: str, *, lines: bool = True) -> None:
    """Fail if a text that people read holds control characters or turns the direction of what follows."""
    for character in text:
        if character == "\n" and lines:
            continue
        is_control = unicodedata.category(character) in ("Cc", "Cs") or character in BIDIRECTIONAL
        assert not is_control, f"{character!r} in {text[:200]!r}"


@dataclass
class Place:
    """The folders of one case: inputs, which nothing may change after `seal`, and outputs."""

    root: Path
    sealed: dict[str, str] | None = None

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
        path.write_bytes(content)
        return path

    def seal(self) -> None:
        """Remember what the inputs are."""
        self.sealed = listing(self.inputs)


def listing(folder: Path) -> dict[str, str]:
    """Return the hash of each regular file below a folder, and the kind of each other entry."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        regular = stat.S_ISREG(mode)
        entries[str(path.relative_to(folder))] = (
            hashlib.sha256(path.read_bytes()).hexdigest() if regular else str(stat.S_IFMT(mode))
        )
    return entries


@contextlib.contextmanager
def judged() -> Iterator[Place]:
    """Give the folders of a case. Fail if it warns, changes an input or leaves a temporary file."""
    here, before = os.getcwd(), tempfile.tempdir
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root))
        for folder in ("in", "out", "tmp"):
            (place.root / folder).mkdir()
        os.chdir(place.outputs)
        tempfile.tempdir = str(place.root / "tmp")
        try:
            with silent():
                yield place
        finally:
            os.chdir(here)
            tempfile.tempdir = before
        assert place.sealed is None or listing(place.inputs) == place.sealed, "an input was changed"
        # torch keeps one folder for its compiler as long as the machine runs.
        left = [name for name in os.listdir(place.root / "tmp") if not name.startswith("torchinductor_")]
        assert not left, "a temporary file was left"


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Fail if the block warns with anything but a warning of logiclens."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        is_allowed = issubclass(warning.category, ALLOWED) or str(warning.message).startswith(NOT_OURS)
        assert is_allowed, f"{warning.category.__name__} at {warning.filename}:{warning.lineno}: {warning.message}"
