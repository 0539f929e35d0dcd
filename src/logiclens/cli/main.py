"""The entry point: runs a command and prints an error as one sentence with an exit code."""

from __future__ import annotations

import errno
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn, TextIO

from logiclens.errors import LogicLensError, LogicLensWarning, named, nearest, quoted

REFUSED, INTERRUPTED, TERMINATED = 2, 130, 143
"""Exit codes besides 0 and 1: an error the user can fix, Ctrl-C, and SIGTERM."""
_NO_MEMORY = (
    r"(?i)not enough memory|can't allocate memory|cannot allocate memory|out of memory|bad allocation|bad_alloc"
)


def main() -> NoReturn:
    """Run the command that was given and exit."""
    # Commands print these warnings as notes of their results.
    warnings.simplefilter("ignore", LogicLensWarning)
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    if hasattr(signal, "SIGPIPE"):
        # End silently, as other tools do, if the reader of a pipe closes it.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, _terminated)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show the symbols of logic must not cause a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        print("logiclens: stopped; nothing is half-written.", file=sys.stderr)
    sys.exit(code)


def _run(arguments: Sequence[str]) -> int:
    # Imported here, so that Ctrl-C during the import is handled too.
    import typer

    from logiclens.cli.commands import app

    try:
        code = typer.main.get_command(app).main(list(arguments), prog_name="logiclens", standalone_mode=False)
    except LogicLensError as error:
        return _refuse(str(error))
    except typer.Abort:
        return INTERRUPTED
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
            raise
        return _refuse(_system_sentence(error))
    except Exception as error:
        if (sentence_of_memory := out_of_memory(error)) is not None:
            return _refuse(sentence_of_memory)
        # The module of typer's errors differs between versions, so recognise them by their method.
        if not hasattr(error, "format_message"):
            raise
        return _refuse(sentence(error))
    return code if isinstance(code, int) else 0


def _refuse(message: str) -> int:
    from logiclens.cli.output import print_error

    print_error(f"logiclens: {message}")
    return REFUSED


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    _filename: str,
    _lineno: int,
    _file: TextIO | None = None,
    _line: str | None = None,
) -> None:
    """Print a warning of a library without the line of code that raised it."""
    from logiclens.cli.output import print_error

    print_error(f"logiclens: {category.__name__}: {message}")


def _system_sentence(error: OSError) -> str:
    """Return what the operating system refused, and for which file."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" for {named(error.filename)}" if error.filename else ""
        return f"there is no space left on the disk{where}."
    return f"cannot open or write {named(error.filename)}: {error.strerror or error}."


def out_of_memory(error: BaseException) -> str | None:
    """Return what an allocation that failed needed and what to do instead; None for any other error.

    NumPy and Arrow raise kinds of MemoryError; torch a RuntimeError, pandas a ParserError and DuckDB an error of its
    own, which are known by their words.
    """
    said = str(error)
    if not isinstance(error, MemoryError) and not re.search(_NO_MEMORY, said):
        return None
    found = re.search(r"(?:allocate|size) ([0-9][0-9.,]* ?[KMGTPE]?i?B\b|[0-9]+(?= bytes|\b))", said)
    needed = f": {_size(found[1])} were needed at once" if found else ""
    return (
        f"there is not enough memory{needed}; take fewer columns or rows, or let an engine count the rows where they "
        "are (--engine duckdb, with --memory for its limit)."
    )


def _size(text: str) -> str:
    """Return a number of bytes in the unit that it is read in; other sizes as they are."""
    if not text.isdigit():
        return text
    size, units = float(text), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:,.0f} {units[0]}" if units[0] == "bytes" else f"{size:,.1f} {units[0]}"


def _terminated(_number: int, _frame: FrameType | None) -> NoReturn:
    """Exit by an exception, so that half-written files are removed."""
    sys.exit(TERMINATED)


def sentence(error: Any) -> str:
    """Return one sentence that says what is wrong with the command and what to write instead."""
    context: Any = getattr(error, "ctx", None)
    kind = type(error).__name__
    if context is None:
        return f"{_lower(error.format_message())}; see logiclens --help."
    command = context.command_path
    if kind == "MissingParameter" and error.param is not None:
        form = " ".join(context.get_usage().split()).removeprefix("Usage: ")
        return f"{_name(error.param)} is missing; the form is: {form}"
    if kind == "NoSuchOption":
        known = [option for param in context.command.params for option in getattr(param, "opts", ())]
        return f"{command} has no option {error.option_name}{_near(error.option_name, known, command)}"
    unknown = re.match(r"No such command '(.*?)'", error.format_message())
    if unknown:
        known = sorted(getattr(context.command, "commands", ()))
        return f"there is no command {quoted(unknown[1])}{_near(unknown[1], known, command)}"
    if kind == "BadParameter" and error.param is not None:
        return f"{_name(error.param)}: {_lower(error.message.removeprefix('Value error, '))}; see {command} --help."
    return f"{_lower(error.format_message())}; see {command} --help."


def _name(param: Any) -> str:
    """Return an option as it is written, or an argument as the help names it."""
    options = [option for option in param.opts if option.startswith("-")]
    return max(options, key=len) if options else str(param.metavar or param.name).strip("[]")


def _near(name: str, known: list[str], command: str) -> str:
    """Suggest the nearest known name."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else f"; {command} --help shows what there is."


def _lower(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text[:1].lower() + text[1:]
