"""The entry point: runs a command and prints an error as one sentence with an exit code."""

from __future__ import annotations

import errno
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

from logiclens.errors import LogicLensError, LogicLensWarning, nearest

REFUSED, INTERRUPTED, TERMINATED = 2, 130, 143
"""Exit codes besides 0 and 1: an error the user can fix, Ctrl-C, and SIGTERM."""


def main() -> NoReturn:
    """Run the command that was given and exit."""
    # Commands print these warnings as notes of their results.
    warnings.simplefilter("ignore", LogicLensWarning)
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
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = f" for {error.filename}" if error.filename else ""
        return _refuse(f"there is no space left on the disk{where}.")
    except Exception as error:
        # The module of typer's errors differs between versions, so recognise them by their method.
        if not hasattr(error, "format_message"):
            raise
        return _refuse(sentence(error))
    return code if isinstance(code, int) else 0


def _refuse(message: str) -> int:
    print(f"logiclens: {message}", file=sys.stderr)
    return REFUSED


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
        return f"there is no command {unknown[1]!r}{_near(unknown[1], known, command)}"
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
