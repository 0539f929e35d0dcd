"""`logiclens report`: the page of a saved model, made again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from logiclens.cli.output import STANDARD, Printer, check_outputs, check_page_name, write_json, write_text
from logiclens.formula.folder import open_model, open_result


def write_report(folder: Path, out: str, *, json: str | None, quiet: bool) -> None:
    """Write the page, and for a program where it is and which bytes it has."""
    check_outputs(out, json)
    check_page_name(out)
    open_model(folder)
    result = open_result(folder)
    # After the folder was found to be usable: this takes its time to load.
    from logiclens.report.page import render

    page = render(result)
    write_text(page, out)
    digest = hashlib.sha256(page.encode("utf-8")).hexdigest()
    write_json({"model": str(folder), "report": out, "sha256": digest}, json)
    if out != STANDARD:
        Printer(quiet=quiet).note(f"The report is in {out}.")
