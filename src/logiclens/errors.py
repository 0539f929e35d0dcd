"""What can go wrong, as few named errors whose messages say what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class LogicLensError(ValueError):
    """Something the caller can put right: the message says what was expected, what came, and what to do."""


class FormulaSyntaxError(LogicLensError):
    """A formula text that cannot be read; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        """Keep the column beside the message."""
        super().__init__(message)
        self.column = column


class FormulaTooLarge(LogicLensError):
    """An operation on formulas whose result would have more cubes than the stated limit."""


class UnknownConcept(LogicLensError):
    """A formula or a call names a concept that the rows do not have."""


class NoConcepts(LogicLensError):
    """A table of which no column tells rows apart."""


class NoEntropyLayer(LogicLensError):
    """A model was given that has no entropy layer to read relevance from."""


class MissingPackage(LogicLensError):
    """An optional package is not installed, or is installed and cannot be imported."""


class LogicLensWarning(UserWarning):
    """Something the caller should know of, though the work goes on."""


@contextmanager
def require_extra(extra: str, purpose: str) -> Iterator[None]:
    """Turn an import that fails inside the block into a sentence that says what to install.

    Args:
        extra: the group of optional dependencies in `pip install 'logiclens[extra]'`.
        purpose: what needs the package, as the subject of the sentence.

    >>> with require_extra("sql", "to_sql"):
    ...     import no_such_package
    Traceback (most recent call last):
    logiclens.errors.MissingPackage: to_sql needs no_such_package: pip install 'logiclens[sql]'.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # A package that lacks one of its own is put right by the same command.
        package = (error.name or str(error)).partition(".")[0]
        raise MissingPackage(f"{purpose} needs {package}: pip install 'logiclens[{extra}]'.") from error
    except ImportError as error:
        package = (error.name or "a package").partition(".")[0]
        broken = f"{package}, which is installed but cannot be imported ({error})"
        raise MissingPackage(f"{purpose} needs {broken}: pip install -U 'logiclens[{extra}]'.") from error


def nearest(name: str, known: Sequence[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that was probably meant, whatever its case; None if none is similar enough.

    `cutoff` is the least similarity, from 0 to 1, as `difflib` measures it.

    >>> nearest("AGEE", ["sex", "Age"])
    'Age'
    """
    folded = {text.casefold(): text for text in reversed(known)}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=cutoff)
    return folded[near[0]] if near else None


def quoted_names(names: Sequence[str], most: int = 8) -> str:
    """Some names, and that there are more."""
    return ", ".join(repr(name) for name in names[:most]) + (", …" if len(names) > most else "")


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """The sentence for a name that is not among the few there are, all of which it lists.

    >>> unknown("task", "mnits", ("mnist", "cub"))
    "there is no task 'mnits', did you mean 'mnist'? There are mnist, cub."
    """
    near = nearest(name, known)
    hint = "." if near is None else f", did you mean {near!r}?"
    return f"there is no {kind} {name!r}{hint} There are {', '.join(known)}."


def no_column(name: str, known: Sequence[str], where: str, why: str = "") -> LogicLensError:
    """The error for a column that is not there, with the nearest name that is; `why` says who asks for it."""
    near = nearest(name, known)
    hint = f"its columns are {quoted_names(known)}." if near is None else f"did you mean {near!r}?"
    return LogicLensError(f"{where} has no column {name!r}{why}; {hint}")
