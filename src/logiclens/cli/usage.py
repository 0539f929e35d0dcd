"""A command that was not written as it must be, told in one sentence."""

from __future__ import annotations

import difflib
import re
from typing import Any


def sentence(error: Any) -> str:
    """What is wrong with the command, and what to write instead, from an error of typer or click."""
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
    """An option as it is written, an argument as the help calls it."""
    options = [option for option in param.opts if option.startswith("-")]
    return max(options, key=len) if options else str(param.metavar or param.name).strip("[]")


def _near(name: str, known: list[str], command: str) -> str:
    """The known name that was probably meant."""
    near = difflib.get_close_matches(name, known, 1, 0.6)
    return f"; did you mean {near[0]}?" if near else f"; {command} --help shows what there is."


def _lower(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text[:1].lower() + text[1:]
