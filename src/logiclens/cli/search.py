"""`logiclens bench sweep --search`: trials on a study, and the front of what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from logiclens.cli.bench import Asked, Shown
from logiclens.cli.output import Printer
from logiclens.errors import LogicLensError

if TYPE_CHECKING:
    from logiclens.bench.runs.study import Found, Setting

TRIALS = 30
"""In all, where nothing is said."""


@dataclass(frozen=True)
class Wanted:
    """How to search, as the command line has it; None and False where nothing was said."""

    search: str | None
    trials: int | None = None
    storage: str | None = None
    study: str | None = None
    grid: bool = False
    retry: bool = False

    def check(self) -> None:
        """Refuse options that have no meaning together."""
        if self.search is None:
            said = [name for name in ("trials", "storage", "study") if getattr(self, name) is not None]
            if said:
                raise LogicLensError(f"--{said[0]} is for a search: say --search optuna too.")
            return
        if self.search != "optuna":
            raise LogicLensError(f"--search must be optuna, got {self.search!r}.")
        if self.grid:
            raise LogicLensError("--taus and --lambdas are a grid, and --search draws its own: leave one of them out.")
        if self.retry:
            raise LogicLensError("--retry is for a grid; a search goes on with more --trials.")


def run_search(asked: Asked, task: str, wanted: Wanted, *, quiet: bool) -> None:
    """Carry out the trials that are missing, then print the front."""
    from logiclens.bench.datasets.catalogue import check
    from logiclens.bench.runs.results import STUDY
    from logiclens.bench.runs.study import Search, search
    from logiclens.bench.runs.tasks import has_protocol, named_tasks

    (chosen,) = named_tasks([task])
    if len(asked.protocols) != 1:
        raise LogicLensError("a search is under one protocol: --protocol clean, or --protocol paper.")
    (protocol,) = asked.protocols
    if not has_protocol(chosen, protocol):
        raise LogicLensError(f"the paper has no experiment {chosen.name!r}: search under --protocol clean.")
    source = asked.source
    check(chosen.dataset, source.data)
    if asked.out.exists() and not asked.out.is_dir():
        raise LogicLensError(f"{asked.out} is a file: name a folder with --out, or a database with --storage.")
    storage = wanted.storage or f"sqlite:///{asked.out / STUDY}"
    study = wanted.study or f"{chosen.name}, {protocol}"
    shown = Shown(quiet)
    with asked.cluster():
        if wanted.storage is None:
            asked.out.mkdir(parents=True, exist_ok=True)
        try:
            found = search(
                Search(
                    chosen, protocol, source, wanted.trials or TRIALS, storage, study,
                    n_workers=asked.jobs, limit=asked.limit,
                ),
                shown.tell,
            )  # fmt: skip
        finally:
            shown.clear()
    printer = Printer(quiet=quiet)
    for line in front_table(found, f"{chosen.name}, protocol {protocol}"):
        printer.say(line, hang=0)
    if found.n_failed:
        printer.note(f"{found.n_failed} of {found.n_tried + found.n_failed} trials did not end well.")
    if not found.front:
        raise typer.Exit(1)
    printer.note("No setting of the table is beaten by another in everything. Test rows were not looked at.")


def front_table(found: Found, title: str) -> Iterable[str]:
    """The front, the most accurate first, as lines of text."""
    from logiclens.bench.runs.study import Setting

    if not found.front:
        return
    yield f"\n{title}: the front of {found.n_tried} trials, on validation rows"
    settings = [_words(Setting.of(one.params)) for one in found.front]
    wide = max(18, *(len(setting) + 1 for setting in settings))
    yield f"  {'':<{wide}}" + "".join(f"{head:>12}" for head in ("accuracy %", "rules F1 %", "literals", "trial"))
    ranked = sorted(zip(settings, found.front, strict=True), key=lambda pair: (-pair[1].values[0], pair[1].number))
    for setting, one in ranked:
        accuracy, explanation, literals = one.values
        cells = f"{100 * accuracy:>12.2f}{100 * explanation:>12.2f}{literals:>12.2f}{one.number:>12}"
        yield f"  {setting:<{wide}}{cells}"


def _words(setting: Setting) -> str:
    hidden = ",".join(map(str, setting.hidden))
    cut = "" if setting.cuts == "task" else f" {setting.cuts}:{setting.n_cuts}"
    return f"tau={setting.temperature:.3g} lambda={setting.penalty_weight:.2g} hidden={hidden}{cut}"
