"""Output of commands: to a terminal, to files that are written atomically, and as JSON."""

from __future__ import annotations

import codecs
import json
import os
import re
import signal
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console

from logiclens.errors import LogicLensError, named
from logiclens.storage import open_whole, write_whole
from logiclens.words import readable

STANDARD = "-"
"""The name that stands for standard output."""
TABLES = (".csv", ".tsv", ".data", ".parquet", ".pq", ".jsonl", ".ndjson", ".xlsx")
"""The file name suffixes of tables."""
WIDTH = 80
"""The width of prose in a pipe; a terminal has its own."""


LONGEST_MESSAGE = 2000
"""Maximum number of characters of an error message."""


class _Console(Console):
    """A console that escapes what names and cells could do to a terminal. All that commands print goes through it."""

    def __init__(self, *, quiet: bool, stderr: bool = False) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, soft_wrap=True, quiet=quiet, stderr=stderr)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts with their control characters escaped."""
        super().print(*(readable(text) if isinstance(text, str) else text for text in objects), **options)


_SETTING = re.compile(r"""[a-z_]+=(?:'[^']*'|"[^"]*"|[^\s'"()]+) \((--(?:[^()']|'[^']*')+)\)""")


def in_options(text: str) -> str:
    """Return a note or an error in which settings of Python have become the options that stand beside them.

    >>> in_options("leave out exact=False (--soft), so that the rules decide.")
    'leave out --soft, so that the rules decide.'
    """
    return _SETTING.sub(r"\1", text)


def print_error(message: str) -> None:
    """Print an error on standard error: on one line, of a sensible length, with control characters escaped."""
    line = readable(in_options(message).strip().replace("\n", " "))
    if len(line) > LONGEST_MESSAGE:
        line = f"{line[: LONGEST_MESSAGE // 2]} … {line[-LONGEST_MESSAGE // 2 :]}"
    print(line, file=sys.stderr)


class Printer:
    """Prints results to standard output and notes to standard error, or nothing if quiet.

    Lines are wrapped on a terminal only; a pipe gets whole lines, since a program may read them.
    """

    def __init__(self, *, quiet: bool = False, notes: bool | None = None) -> None:
        """Print no result if `quiet`; print notes unless `quiet`, or as `notes` says."""
        self.out = _Console(quiet=quiet)
        told = not quiet if notes is None else notes
        self._notes = _Console(quiet=not told, stderr=True)

    def say(self, text: str = "", *, style: str | None = None, hang: int = 2) -> None:
        """Print a line of the result; if it is wrapped, indent what follows by `hang` more."""
        self.out.print(_broken(text, self.out, hang), style=style)

    def prose(self, text: str) -> None:
        """Print a paragraph, wrapped in a pipe too."""
        width = min(self.out.width, 100) if self.out.is_terminal else WIDTH
        self.out.print(
            textwrap.fill(" ".join(readable(text).split()), width, break_on_hyphens=False, break_long_words=False)
        )

    def note(self, text: str) -> None:
        """Print a note."""
        self._notes.print(_broken(in_options(text), self._notes, 2))


def print_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Print notes about a table on standard error, unless `quiet`."""
    for note in notes:
        Printer(quiet=quiet).note(f"note: {note}")


def _broken(text: str, console: Console, hang: int) -> str:
    # Before the text is wrapped: an escaped character is wider.
    text = readable(text)
    if not console.is_terminal:
        return text
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + hang)
        lines += textwrap.wrap(
            line, console.width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        ) or [""]
    return "\n".join(lines)


def check_page_name(path: str | None) -> None:
    """Refuse the name of a page that does not end in .html."""
    if path not in (None, STANDARD) and Path(str(path)).suffix.lower() not in (".html", ".htm", ""):
        raise LogicLensError(f"cannot write {named(path)}: a report is a page, whose name ends in .html.")


def check_outputs(*paths: str | None, data: str | None = None, table: str | None = None) -> None:
    """Refuse, before any long work, files that cannot be written and tables that would be overwritten.

    `data` is the table that is read: nothing may replace it. Only `table`, a table to write, may replace another.
    """
    every = [path for path in (*paths, table) if path is not None]
    if every.count(STANDARD) > 1:
        raise LogicLensError("standard output can take one result only: name a file for the other.")
    for path in every:
        _check_writable(path)
    files = [os.path.realpath(path) for path in every if path != STANDARD]
    if data not in (None, STANDARD) and os.path.realpath(str(data)) in files:
        raise LogicLensError(f"cannot write {named(data)}: that is the table to read; name another file.")
    if len(set(files)) < len(files):
        raise LogicLensError(f"two results cannot be written to one file, {files[0]}.")
    for path in every:
        is_table = Path(path).name.lower().removesuffix(".gz").endswith(TABLES)
        if path != table and is_table and Path(path).exists():
            raise LogicLensError(f"cannot write {named(path)}: there is a table of that name; name another file.")


def _check_writable(path: str) -> None:
    if path == STANDARD:
        return
    target = Path(path)
    if not path:
        raise LogicLensError("the name of a file to write is empty.")
    if target.is_dir():
        raise LogicLensError(f"cannot write {named(path)}: it is a folder; name a file in it.")
    if not target.absolute().parent.is_dir():
        raise LogicLensError(f"cannot write {named(path)}: there is no folder {named(target.absolute().parent)}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise LogicLensError(f"cannot write {named(path)}: the file that is there may not be changed.")
    if not os.access(target.absolute().parent, os.W_OK):
        raise LogicLensError(
            f"cannot write {named(path)}: nothing may be written into {named(target.absolute().parent)}."
        )


def write_text(text: str, path: str) -> None:
    """Write a text to standard output, or to a file that is whole or not there.

    A terminal gets it with control characters escaped, a pipe and a file as it is.
    """
    if path == STANDARD:
        sys.stdout.write(readable(text) if sys.stdout.isatty() else text)
    else:
        write_whole(path, text)


@contextmanager
def text_sink(path: str) -> Iterator[BinaryIO]:
    """Give a binary file for text in UTF-8 that is kept when the block ends: a file, or standard output.

    Standard output gets the text in the end, so that nothing of it is printed before an error.
    """
    if path != STANDARD:
        with open_whole(path) as file:
            yield file
        return
    with tempfile.TemporaryFile() as spool:
        yield spool
        spool.seek(0)
        text = codecs.getreader("utf-8")(spool)
        while part := text.read(1 << 20, 1 << 20):
            write_text(part, STANDARD)


def write_json(content: Mapping[str, Any], path: str | None) -> None:
    """Write the result of a command as JSON; "-" is standard output, None writes nothing."""
    if path is not None:
        # Escaped on standard output, whose encoding may not be UTF-8.
        text = json.dumps(content, indent=1, ensure_ascii=path == STANDARD, allow_nan=False)
        write_text(text + "\n", path)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the `with` block ends, for the moment in which one folder replaces another."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
