"""Errors and the parts of their messages: which package to install, which name was probably meant."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LONGEST_QUOTE = 80
"""Maximum number of characters of a cell, name or label that a message quotes."""
LONGEST_LIST = 3 * LONGEST_QUOTE
"""Maximum number of characters of several names in a message."""
LONGEST_PATH = 200
"""Maximum number of characters of a path in a message; file systems allow 255 in a name."""


class LogicLensError(ValueError):
    """An error that the caller can fix. The message says what was expected, what came, and what to do.

    >>> from logiclens import parse
    >>> try:
    ...     parse("old &")
    ... except LogicLensError as error:
    ...     print(error)
    column 6: expected a concept, '~' or '(', but the text ends.
    """


class FormulaSyntaxError(LogicLensError):
    """A text that is not a formula; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        """Take the message and the column of the error."""
        super().__init__(message)
        self.column = column


class FormulaTooLarge(LogicLensError):
    """The result of an operation on formulas would have more cubes than its limit."""


class UnknownConcept(LogicLensError):
    """A formula or a call names a concept that does not exist."""


class NoConcepts(LogicLensError):
    """No column of the table distinguishes rows."""


class NoEntropyLayer(LogicLensError):
    """The model has no entropy layer, so that no relevance can be computed."""


class MissingPackage(LogicLensError):
    """An optional package is not installed, or is installed and cannot be imported."""


class OutOfMemory(LogicLensError, MemoryError):
    """An allocation failed. The message says how much was needed, if known, and what to do instead."""


class LogicLensWarning(UserWarning):
    """A warning of logiclens: the work continues."""


_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def warn(message: str, *, stacklevel: int) -> None:
    """Issue a `LogicLensWarning`, or add its sentence to the list of the surrounding `collected_warnings` block.

    Args:
        message: the sentence.
        stacklevel: the line that is blamed, as in `warnings.warn`: 1 is the caller of this function.
    """
    sentences = _collected.get()
    if sentences is None:
        warnings.warn(message, LogicLensWarning, stacklevel=stacklevel + 1)
    else:
        sentences.append(message)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the sentences of `warn` in this block instead of issuing them; other threads are not affected.

    `warnings.catch_warnings` would change the filters of all threads.
    """
    sentences: list[str] = []
    token = _collected.set(sentences)
    try:
        yield sentences
    finally:
        _collected.reset(token)


@contextmanager
def require_extra(extra: str, purpose: str) -> Iterator[None]:
    """Turn an import that fails inside the block into a sentence that says what to install.

    Args:
        extra: the group of optional dependencies in `pip install 'logiclens[extra]'`.
        purpose: what needs the package, as the subject of the sentence.

    >>> with require_extra("sat", "a SAT solver"):
    ...     import no_such_package
    Traceback (most recent call last):
    logiclens.errors.MissingPackage: a SAT solver needs no_such_package: pip install 'logiclens[sat]'.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # The same command repairs a package that lacks one of its own dependencies.
        package = (error.name or str(error)).partition(".")[0]
        raise MissingPackage(f"{purpose} needs {package}: pip install 'logiclens[{extra}]'.") from error
    except ImportError as error:
        if (too_large := out_of_memory(error)) is not None:
            raise too_large from error
        package = (error.name or "a package").partition(".")[0]
        broken = f"{package}, which is installed but cannot be imported ({error})"
        raise MissingPackage(f"{purpose} needs {broken}: pip install -U 'logiclens[{extra}]'.") from error


_NO_MEMORY = (
    r"(?i)not enough memory|can't allocate memory|cannot allocate memory|out of memory|bad allocation|bad_alloc"
    r"|failed to map segment"
)


def out_of_memory(error: BaseException) -> OutOfMemory | None:
    """Return the error for an allocation that failed; None for any other error.

    NumPy and Arrow raise kinds of MemoryError; torch a RuntimeError, pandas a ParserError, DuckDB an error of its own
    and a library that is loaded an ImportError, which are known by their words.

    >>> print(out_of_memory(MemoryError("Unable to allocate 7.28 TiB for an array")))
    there is not enough memory: 7.28 TiB were needed at once; take fewer columns or rows, or let an engine count the
    rows where they are (--engine duckdb; in Python, fit a table of an engine).
    """
    if isinstance(error, OutOfMemory):
        return error
    said = str(error)
    if not isinstance(error, MemoryError) and (isinstance(error, LogicLensError) or not re.search(_NO_MEMORY, said)):
        return None
    found = re.search(r"(?:allocate|size) ([0-9][0-9.,]* ?[KMGTPE]?i?B\b|[0-9]+(?= bytes|\b))", said)
    needed = f": {_size(found[1])} were needed at once" if found else ""
    return OutOfMemory(
        f"there is not enough memory{needed}; take fewer columns or rows, or let an engine count the rows where they "
        "are (--engine duckdb; in Python, fit a table of an engine)."
    )


@contextmanager
def within_memory() -> Iterator[None]:
    """Turn an allocation that fails inside the block, in whichever library, into `OutOfMemory`.

    It is also a decorator, for functions through which tables enter.

    >>> with within_memory():
    ...     raise RuntimeError("can't allocate memory: you tried to allocate 4096 bytes.")
    Traceback (most recent call last):
    logiclens.errors.OutOfMemory: there is not enough memory: 4.0 KiB were needed at once; take fewer columns ...
    """
    try:
        yield
    except Exception as error:
        too_large = out_of_memory(error)
        if too_large is None or too_large is error:
            raise
        raise too_large from error


def _size(text: str) -> str:
    """Return a number of bytes in the unit that it is read in; other sizes as they are."""
    if not text.isdigit():
        return text
    size, units = float(text), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:,.0f} {units[0]}" if units[0] == "bytes" else f"{size:,.1f} {units[0]}"


NEAR = 0.65
"""Minimum similarity of a suggested name: two swapped letters of three have 0.67, DELINQ and DEBTINC have 0.62."""


def nearest(name: str, known: Sequence[str], *, cutoff: float = NEAR) -> str | None:
    """Return the known name that was probably meant, whatever its case; None if none is similar enough.

    `cutoff` is the least similarity, from 0 to 1, as `difflib` measures it.

    >>> nearest("AGEE", ["sex", "Age"])
    'Age'
    """
    return next(iter(nearest_names(name, known, most=1, cutoff=cutoff)), None)


def nearest_names(name: str, known: Sequence[str], *, most: int = 3, cutoff: float = NEAR) -> list[str]:
    """Like `nearest`, but return several names, the most similar first."""
    folded = {text.casefold(): text for text in reversed(known)}
    return [folded[text] for text in difflib.get_close_matches(name.casefold(), list(folded), n=most, cutoff=cutoff)]


def quoted(value: Any) -> str:
    """Return a cell, name, label or setting for a message: on one line, and of a long one only the start.

    >>> quoted("age"), quoted(7), quoted(10**5000)
    ("'age'", '7', 'a number of more than 4,300 digits')
    >>> len(quoted("a" * 1_000_000))
    80
    """
    if getattr(getattr(value, "dtype", None), "kind", None) in tuple("biuf") and value.ndim == 0:
        # A number of NumPy reads like one of Python.
        value = value.item()
    try:
        # A message needs no more than the start, so a text of 200 MB is not escaped whole.
        text = repr(value[:LONGEST_QUOTE] if isinstance(value, str | bytes) else value)
    except ValueError:
        return "a number of more than 4,300 digits"
    if isinstance(value, str | bytes):
        cut = len(text) > LONGEST_QUOTE or len(value) > LONGEST_QUOTE
        return f"{text[: LONGEST_QUOTE - 2].rstrip(text[-1])}…{text[-1]}" if cut else text
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…"


def named(path: Any) -> str:
    """Return a path for a message; of a long one the start and the end.

    >>> named("table.csv"), len(named("a" * 300))
    ('table.csv', 200)
    """
    text, half = str(path), LONGEST_PATH // 2
    return text if len(text) <= LONGEST_PATH else f"{text[:half]}…{text[1 - half :]}"


def quoted_names(names: Sequence[Any], most: int = 8) -> str:
    """Return the first names, quoted, with an ellipsis if there are more; of long names fewer."""
    told = [quoted(name) for name in names[:most]]
    while len(told) > 1 and sum(map(len, told)) > LONGEST_LIST:
        told.pop()
    return ", ".join(told) + (", …" if len(names) > len(told) else "")


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """Return the sentence for an unknown name; it lists all known names, so use it for few.

    >>> unknown("task", "mnits", ("mnist", "cub"))
    "there is no task 'mnits', did you mean 'mnist'? There are mnist, cub."
    """
    near = nearest(name, known)
    hint = "." if near is None else f", did you mean {quoted(near)}?"
    return f"there is no {kind} {quoted(name)}{hint} There are {', '.join(known)}."


def no_column(
    name: str, known: Sequence[str], where: str, why: str = "", *, needed: Sequence[str] = ()
) -> LogicLensError:
    """Return the error for an unknown column, with the nearest known name; `why` says who needs the column.

    A column that is `needed` itself is not the one that was meant, and is not suggested.
    """
    near = nearest(name, [column for column in known if column not in needed])
    hint = f"its columns are {quoted_names(known)}." if near is None else f"did you mean {quoted(near)}?"
    return LogicLensError(f"{where} has no column {quoted(name)}{why}; {hint}")
