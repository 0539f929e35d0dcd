"""What goes wrong in an engine, told in a sentence: by the name of the file where one is broken.

An engine tells some failures in pages, and not of every broken file which one it is. Files are then read one by one,
and the first that cannot be read is named.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from logiclens.errors import LogicLensError

if TYPE_CHECKING:
    import ibis.expr.types as ir

LONGEST = 400
"""Letters of what an engine says that are told."""
_NAMES_FILE = (
    r'[Ff]ile:? "([^"\n]+)"',
    r"Current file: ([^\n]+)",
    r"reading file (\S+?)\.?\s",
)
_NO_ROOM = ("max_temp_directory_size", "duckdb_temp_storage", "duckdb_temp_block")
_NO_FILE = ("out of memory", "outofmemory", "no space left", "cannot open file", "permission denied", "binder error")


@dataclass(frozen=True, eq=False)
class Files:
    """The files of a table, and how a connection reads all of one."""

    names: tuple[str, ...]
    read: Callable[[Any, str], object]


def remember(table: ir.Table, files: Sequence[str], read: Callable[[Any, str], object]) -> ir.Table:
    """Note the files of a table on its connection, so that `failed` can name a broken one, and return the table."""
    _known(table)[table.get_name()] = Files(tuple(files), read)
    return table


def _known(table: ir.Table) -> dict[str, Files]:
    """The files of the tables of a connection, by the name of the table."""
    known: dict[str, Files] = vars(table.get_backend()).setdefault("logiclens_files", {})
    return known


def in_a_line(error: BaseException) -> str:
    """What an engine says of a failure, which may be pages."""
    said = _cause(str(error)) or type(error).__name__
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in said).split())[:LONGEST]
    return line if line.endswith(".") else line + "."


def failed(table: ir.Table, error: Exception, what: str) -> LogicLensError:
    """The sentence for a query that failed: which file cannot be read, or else what could not be done and why.

    A query that was stopped by Ctrl-C or by a request to end raises what stopped it.
    """
    stop(error)
    for files in _of(table):
        if file := _broken(files, error, table):
            return LogicLensError(f"{file} cannot be read: {in_a_line(error)}")
    if any(words in str(error) for words in _NO_ROOM):
        return LogicLensError(
            f"{what}: what does not fit into memory goes into {tempfile.gettempdir()}, and there is no more room; let "
            "TMPDIR name a larger folder, or allow more memory."
        )
    return LogicLensError(f"{what}: {in_a_line(error)}")


def cannot_read(engine: str, files: Sequence[str], error: Exception, read: Callable[[str], object]) -> LogicLensError:
    """The sentence for files that cannot be opened."""
    stop(error)
    file = _told(files, error) or next((file for file in files if _fails(read, file)), files[0])
    return LogicLensError(f"{engine} cannot read {file}: {in_a_line(error)}")


def stop(error: BaseException) -> None:
    """Raise the Ctrl-C, or the request to end, that an engine took for an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt | SystemExit):
            raise cause
        cause = cause.__cause__ or cause.__context__


def _cause(said: str) -> str:
    """What lies behind a failure; an engine written in Java tells one exception after another, with their stacks."""
    if causes := re.findall(r"^Caused by: (.+)$", said, flags=re.MULTILINE):
        return _message(causes[-1])
    lines = [line for line in said.strip().split("\n") if not line.startswith("\tat ")]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return _message(lines[1].removeprefix(": "))
    # What follows is the query, which names all files, and advice.
    return re.split(r"\n\s*(?:LINE \d+:|The search space|Possible|Potential|JVM stacktrace:)", "\n".join(lines))[0]


def _message(exception: str) -> str:
    """An exception of Java without its class, if it says anything else."""
    return re.sub(r"^[\w.$]+: (?=.)", "", exception)


def _of(table: ir.Table) -> Iterator[Files]:
    import ibis.expr.operations as ops

    known = _known(table)
    for node in table.op().find(ops.DatabaseTable):
        if node.name in known:
            yield known[node.name]


def _broken(files: Files, error: Exception, table: ir.Table) -> str | None:
    """The file that an error is about: as the engine tells, or else the first that it cannot read by itself."""
    if file := _told(files.names, error):
        return file
    if any(words in str(error).lower() for words in _NO_FILE) or not _answers(table):
        return None
    read = partial(files.read, table.get_backend())
    return next((file for file in files.names if _fails(read, file)), None)


def _told(files: Sequence[str], error: Exception) -> str | None:
    for pattern in _NAMES_FILE:
        for found in re.findall(pattern, str(error)):
            plain = unquote(found).removeprefix("file://") if found.startswith("file:") else found.strip()
            if plain in files:
                return plain
            if same := [file for file in files if plain.endswith(file)]:
                return same[0]
    return None


def _answers(table: ir.Table) -> bool:
    """Whether the engine still answers: where it does not, no file is to blame."""
    try:
        table.get_backend().sql("SELECT 1 AS one").to_pyarrow()
    except Exception as error:
        stop(error)
        return False
    return True


def _fails(read: Callable[[str], object], file: str) -> bool:
    try:
        read(file)
    except Exception as error:
        stop(error)
        return True
    return False
