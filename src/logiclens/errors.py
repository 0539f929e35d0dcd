"""What can go wrong, as few named errors whose messages say what to do."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


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


class LogicLensWarning(UserWarning):
    """Something the caller should know of, though the work goes on."""


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that was probably meant, in whatever case it was written.

    >>> nearest("AGEE", ["sex", "Age"])
    'Age'
    """
    folded = {text.casefold(): text for text in reversed(known)}
    near = difflib.get_close_matches(name.casefold(), list(folded), 1, 0.6)
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
