"""What `logiclens explain` is asked for beside the rules, and what of it cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from logiclens.cli.output import STANDARD, check_outputs, check_page_name
from logiclens.errors import LogicLensError


@dataclass(frozen=True)
class Wanted:
    """What was asked for beside the rules themselves."""

    folds: int = 0
    stability: int | None = None
    by: str | None = None
    save: Path | None = None
    report: str | None = None
    json: str | None = None
    jobs: int | None = None
    backend: str = "local"

    def check(self, *, data: str | None) -> None:
        """Refuse, before any work, what could not be made or written after it, and the table itself as a result."""
        if self.stability is None and (self.jobs is not None or self.backend != "local"):
            raise LogicLensError("--jobs and --backend are for resamples: say how many, for example --stability 20.")
        check_outputs(self.report, self.json, data=data)
        check_page_name(self.report)

    @property
    def takes_standard_output(self) -> bool:
        """Whether standard output is for a page or a program, and not for the rule sheet."""
        return STANDARD in (self.report, self.json)
