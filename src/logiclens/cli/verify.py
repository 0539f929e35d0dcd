"""`logiclens verify`: the stand-alone checker, with its verdict for programs too."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json
from logiclens.verify import VerificationError, verify


def verify_model(folder: Path, *, json: str | None, quiet: bool) -> int:
    """Check a folder and say what was found; the exit code is the checker's."""
    check_outputs(json)
    try:
        report = verify(folder)
    except VerificationError as error:
        refuted = error.exit_code == 1
        write_json({"model": str(folder), "verified": False, "refuted": refuted, "reason": str(error)}, json)
        print(f"{'refuted' if refuted else 'not verified'}: {error}", file=sys.stderr)
        return error.exit_code
    classes = [asdict(entry) for entry in report.classes]
    content = {"model": str(folder), "verified": True, "classes": classes, "does_not_cover": report.does_not_cover}
    write_json(content, json)
    Printer(quiet=quiet or json == STANDARD).say(str(report))
    return 0
