"""The doors of the product: for each, the strategy of its cases and the check of one case.

A later door (a new format, command or page) adds one module with both and one entry to `DOORS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy

from tests.fuzz import (
    commands,
    edits,
    exports,
    fits,
    folders,
    formulas,
    frames,
    knowledge,
    networks,
    reports,
    studio,
    table_files,
    workbooks,
)
from tests.fuzz.judge import SECONDS, Outcome, Place


@dataclass(frozen=True)
class Door:
    """A way into the product.

    Attributes:
        name: the category in the report.
        cases: the strategy of its cases, which are plain data: see `case_files`.
        check: runs one case; returns its outcome, or raises what makes it a failure.
        examples: the number of cases in the deterministic run of `make test`.
        seconds: the time limit of a case.
    """

    name: str
    cases: SearchStrategy[Any]
    check: Callable[[Any, Place], Outcome]
    examples: int
    seconds: float = SECONDS


DOORS = {
    door.name: door
    for door in (
        Door("formulas", formulas.cases(), formulas.check, 100),
        Door("exports", exports.cases(), exports.check, 30),
        Door("files", table_files.cases(), table_files.check, 100),
        Door("workbooks", workbooks.cases(), workbooks.check, 60),
        Door("frames", frames.cases(), frames.check, 60),
        Door("fits", fits.cases(), fits.check, 12, seconds=30),
        Door("settings", fits.settings_cases(), fits.check_settings, 15, seconds=30),
        Door("knowledge", knowledge.cases(), knowledge.check, 100),
        Door("folders", folders.cases(), folders.check, 50),
        Door("certificates", folders.certificate_cases(), folders.check_certificate, 50),
        Door("commands", commands.cases(), commands.check, 12, seconds=60),
        Door("reports", reports.cases(), reports.check, 5, seconds=30),
        Door("networks", networks.cases(), networks.check, 30),
        Door("plots", networks.plot_cases(), networks.check_plot, 10),
        Door("edit scripts", edits.script_cases(), edits.check_script, 40),
        Door("edited sheets", edits.sheet_cases(), edits.check_sheet, 20),
        Door("studio", studio.cases(), studio.check, 12, seconds=30),
        Door("notebooks", reports.notebook_cases(), reports.check_notebook, 30),
    )
}
