"""The entry point: runs a command and prints an error as one sentence with an exit code."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn, TextIO

from logiclens.errors import LogicLensError, LogicLensWarning, named, nearest, out_of_memory, quoted
from logiclens.words import readable

LONGEST_TEXT = 300
"""Maximum number of characters of a message of the option parser, which quotes arguments whole."""
REFUSED, INTERRUPTED, TERMINATED = 2, 130, 143
"""Exit codes besides 0 and 1: an error the user can fix, Ctrl-C, and SIGTERM."""


def main() -> NoReturn:
    """Run the command that was given and exit."""
    _open_closed_streams()
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


def _open_closed_streams() -> None:
    """Open the standard streams that the caller closed (`>&-`): input is empty, and output is discarded.

    Otherwise the first file that a command opens would get their number, and everything that is printed.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # In this order each gets its own number, which is the lowest that is free.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _run(arguments: Sequence[str]) -> int:
    # Imported here, so that Ctrl-C during the import is handled too.
    import typer

    try:
        from logiclens.cli.commands import app

        code = typer.main.get_command(app).main(list(arguments), prog_name="logiclens", standalone_mode=False)
    except LogicLensError as error:
        return _refuse(str(error))
    except typer.Abort:
        return INTERRUPTED
    except OSError as error:
        if (too_large := out_of_memory(error)) is not None:
            return _refuse(str(too_large))
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
            raise
        return _refuse(_system_sentence(error))
    except Exception as error:
        if (too_large := out_of_memory(error)) is not None:
            return _refuse(str(too_large))
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
        return f"{command} has no option {_short(error.option_name)}{_near(error.option_name, known, command)}"
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
    text = _short(" ".join(text.split()).rstrip("."))
    return text[:1].lower() + text[1:]


def _short(text: str) -> str:
    """Return the start and the end of a long text, as it is printed."""
    text, half = readable(text), LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[: half - 1]}…{text[-half:]}"
