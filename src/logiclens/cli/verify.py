"""`logiclens verify`: the stand-alone checker, with its verdict for programs too."""

from __future__ import annotations

from pathlib import Path

from logiclens.cli.output import check_writable, write_json
from logiclens.verify import VerificationError, verify
from logiclens.verify.__main__ import main as check


def verify_model(folder: Path, *, json: str | None, quiet: bool) -> int:
    """Check a folder and say what was found; the exit code is the checker's."""
    check_writable(json)
    if json is not None:
        try:
            report = verify(folder)
            classes = [str(entry) for entry in report.classes]
            content = {"verified": True, "classes": classes, "does_not_cover": list(report.does_not_cover)}
        except VerificationError as error:
            content = {"verified": False, "refuted": error.exit_code == 1, "reason": str(error)}
            write_json({"model": str(folder), **content}, json)
            return error.exit_code if quiet else check([str(folder)])
        write_json({"model": str(folder), **content}, json)
    return 0 if quiet and json is not None else check([str(folder)])
