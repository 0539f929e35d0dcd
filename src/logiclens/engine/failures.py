"""Turn failures of an engine into one sentence that names the broken file, if there is one.

Engines report some failures over many lines, and do not always name the broken file. In that case the files are read
one by one, and the message names the first that cannot be read.
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
"""Maximum number of characters of an engine's message that are shown."""
_NAMES_FILE = (
    r'[Ff]ile:? "([^"\n]+)"',
    r"Current file: ([^\n]+)",
    r"reading file (\S+?)\.?\s",
)
_NO_ROOM = ("max_temp_directory_size", "duckdb_temp_storage", "duckdb_temp_block")
_NO_FILE = ("out of memory", "outofmemory", "no space left", "cannot open file", "permission denied", "binder error")


@dataclass(frozen=True, eq=False)
class Files:
    """The files of a table, and a function that reads one of them completely through a connection."""

    names: tuple[str, ...]
    read: Callable[[Any, str], object]


def remember(table: ir.Table, files: Sequence[str], read: Callable[[Any, str], object]) -> ir.Table:
    """Store the files of a table on its connection, so that `failed` can name a broken one; return the table."""
    _known(table)[table.get_name()] = Files(tuple(files), read)
    return table


def _known(table: ir.Table) -> dict[str, Files]:
    """Return the files of all tables of a connection, by table name."""
    known: dict[str, Files] = vars(table.get_backend()).setdefault("logiclens_files", {})
    return known


def in_a_line(error: BaseException) -> str:
    """Return the message of an engine as one line."""
    said = _cause(str(error)) or type(error).__name__
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in said).split())[:LONGEST]
    return line if line.endswith(".") else line + "."


def failed(table: ir.Table, error: Exception, what: str) -> LogicLensError:
    """Return the error for a query that failed: it names the broken file, or says what failed and why.

    If Ctrl-C or a request to exit stopped the query, raise that instead.
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
    if "unterminated quoted string" in str(error):
        return LogicLensError(f"{what}: a text holds a zero byte, which no query can name: leave it out.")
    return LogicLensError(f"{what}: {in_a_line(error)}")


def cannot_read(engine: str, files: Sequence[str], error: Exception, read: Callable[[str], object]) -> LogicLensError:
    """Return the error for files that cannot be opened."""
    stop(error)
    file = _told(files, error) or next((file for file in files if _fails(read, file)), files[0])
    return LogicLensError(f"{engine} cannot read {file}: {in_a_line(error)}")


def stop(error: BaseException) -> None:
    """Raise the KeyboardInterrupt or SystemExit that an engine wrapped in an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt | SystemExit):
            raise cause
        cause = cause.__cause__ or cause.__context__


def _cause(said: str) -> str:
    """Return the root cause of a failure; an engine in Java prints a chain of exceptions with their stack traces."""
    if causes := re.findall(r"^Caused by: (.+)$", said, flags=re.MULTILINE):
        return _message(causes[-1])
    lines = [line for line in said.strip().split("\n") if not line.startswith("\tat ")]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return _message(lines[1].removeprefix(": "))
    # The text after this is the query, which names all files, and advice.
    return re.split(r"\n\s*(?:LINE \d+:|The search space|Possible|Potential|JVM stacktrace:)", "\n".join(lines))[0]


def _message(exception: str) -> str:
    """Return the message of a Java exception without the class name, unless there is nothing else."""
    return re.sub(r"^[\w.$]+: (?=.)", "", exception)


def _of(table: ir.Table) -> Iterator[Files]:
    import ibis.expr.operations as ops

    known = _known(table)
    for node in table.op().find(ops.DatabaseTable):
        if node.name in known:
            yield known[node.name]


def _broken(files: Files, error: Exception, table: ir.Table) -> str | None:
    """Return the file that an error is about: the one the engine names, or else the first that it cannot read alone."""
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
    """Test whether the engine still answers; if it does not, no file is the cause."""
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
