"""Command line of the checker: `python -m logiclens.verify DIR`.

The exit code is 0 if the certificate holds, 1 if it is refuted, and 2 if the files could not be checked.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn, TextIO

from . import VerificationError, verify


def main(argv: Sequence[str] | None = None) -> int:
    """Verify the folder named on the command line and print the result.

    Args:
        argv: command-line arguments; those of the process if omitted.

    Returns:
        The exit code.
    """
    parser = _Parser(
        prog="python -m logiclens.verify", description="Check that the printed rules of a saved model are the model."
    )
    parser.add_argument("folder", help="holds model.json, weights.safetensors and certificate.json")
    try:
        folder = parser.parse_args(argv).folder
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        report = verify(folder)
    except VerificationError as error:
        _say(_escaped(f"{'not verified' if error.exit_code == 2 else 'refuted'}: {error}"), sys.stderr)
        return error.exit_code
    for line in str(report).split("\n"):
        _say(_escaped(line), sys.stdout)
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser that escapes what it repeats of the command line."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit."""
        super().error(_escaped(message))


def _escaped(line: str) -> str:
    """Return a line of text with every control or invisible character escaped, so that it cannot steer a terminal."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def _say(text: str, stream: TextIO | None) -> None:
    if stream is None:
        # The caller closed it; the exit code is the verdict.
        return
    # Escape characters that the terminal cannot encode: a verdict must not become a traceback.
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        # End silently, as other tools do, if the reader of a pipe closes it.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
