"""Names of columns, tasks and the like: which was probably meant, and what to say where one is not there."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Mapping, Sequence

from logiclens.errors import LogicLensError

PLURAL: Mapping[str, str] = {"number": "numbers", "boolean": "truth values", "text": "text", "date": "dates"}
"""What the kinds of columns are called."""
DATABASES = (".sqlite", ".sqlite3", ".db")
"""How databases of SQLite are called."""


def names_several(path: str) -> bool:
    """Whether a path is a folder or a pattern such as `2026/*.parquet`, and not a single file."""
    return not os.path.isfile(path) and (os.path.isdir(path) or glob.has_magic(path))


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that was probably meant, in whatever case it was written.

    >>> nearest("AGEE", ["sex", "Age"])
    'Age'
    """
    folded = {text.casefold(): text for text in reversed(known)}
    near = difflib.get_close_matches(name.casefold(), list(folded), 1, 0.6)
    return folded[near[0]] if near else None


def listed(names: Sequence[str], most: int = 8) -> str:
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
    hint = f"its columns are {listed(known)}." if near is None else f"did you mean {near!r}?"
    return LogicLensError(f"{where} has no column {name!r}{why}; {hint}")
