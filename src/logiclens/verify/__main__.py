"""Command line of the checker: `python -m logiclens.verify DIR`.

The exit code is 0 if the certificate holds, 1 if it is refuted, and 2 if the files could not be checked. A signature is
not checked here, because that needs a cryptography library; `logiclens verify MODEL --key FILE` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TextIO

from . import VerificationError, verify
from .report import UNCHECKED_SIGNATURE


def main(argv: Sequence[str] | None = None) -> int:
    """Verify the folder named on the command line and print the result.

    Args:
        argv: command-line arguments; those of the process if omitted.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
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
        _say(f"{'not verified' if error.exit_code == 2 else 'refuted'}: {error}", sys.stderr)
        return error.exit_code
    _say(str(report), sys.stdout)
    if report.is_signed:
        _say(UNCHECKED_SIGNATURE, sys.stdout)
    return 0


def _say(text: str, stream: TextIO) -> None:
    # Escape characters that the terminal cannot encode: a verdict must not become a traceback.
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


if __name__ == "__main__":
    sys.exit(main())
