"""The tidy table of results: one measurement a line, appended as it comes, whole runs only."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from logiclens.errors import LogicLensError

FILE = "results.csv"
OK, FORMULA, NOTE = "ok", "formula:", "note"
"""The status of a run that ended well; what the metric of a formula begins with, before its class; and of a remark."""
TOY, SWEEP = "toy", "sweep:"
"""Tasks that are none: the toy comparison, and what a grid of settings on a task begins with."""
STATUS = "status"
"""The metric that closes a run: 'ok', or what came instead. Lines without it were cut off and do not count."""


@dataclass(frozen=True)
class Measurement:
    """One line. `fold` is the fold or seed; `value` is a number as text, or a formula, or a sentence."""

    task: str
    protocol: str
    method: str
    fold: int
    metric: str
    value: str

    @property
    def run(self) -> Run:
        """The run it belongs to."""
        return Run(self.task, self.protocol, self.method, self.fold)


@dataclass(frozen=True, order=True)
class Run:
    """One method on one fold of a task: what is done whole or not at all."""

    task: str
    protocol: str
    method: str
    fold: int


COLUMNS = tuple(field.name for field in fields(Measurement))


@dataclass(frozen=True)
class Results:
    """Measurements of finished runs, in the order they came."""

    lines: tuple[Measurement, ...]

    @property
    def runs(self) -> dict[Run, dict[str, str]]:
        """For each run its metrics."""
        found: dict[Run, dict[str, str]] = {}
        for line in self.lines:
            found.setdefault(line.run, {})[line.metric] = line.value
        return found

    def only(self, keeps: Callable[[Run, str], bool]) -> Results:
        """The runs that are to be kept, judged by their status."""
        kept = {line.run for line in self.lines if line.metric == STATUS and keeps(line.run, line.value)}
        return Results(tuple(line for line in self.lines if line.run in kept))

    def __iter__(self) -> Iterator[Measurement]:
        """The lines, in order."""
        return iter(self.lines)


def read_results(folder: Path) -> Results:
    """The finished runs of a folder; none where there is no table yet."""
    path = folder / FILE
    if not path.exists():
        return Results(())
    text = path.read_bytes().decode("utf-8", errors="replace")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise LogicLensError(f"{path} is not a table of results: its first line must be {','.join(COLUMNS)}.")
    # A kill may have cut off the last line; a run without its last line, the status, does not count.
    whole = rows[1:] if text.endswith("\n") else rows[1:-1]
    for number, row in enumerate(whole[:-1], start=2):
        if not _is_whole(row):
            raise LogicLensError(f"line {number} of {path} cannot be read: {','.join(row)[:80]!r} is no measurement.")
    lines = [_measurement(row) for row in whole if _is_whole(row)]
    finished = {line.run for line in lines if line.metric == STATUS}
    return Results(tuple(line for line in lines if line.run in finished))


def write_results(folder: Path, results: Results) -> None:
    """Write a table anew, by a temporary name."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{FILE}.tmp"
    temporary.write_text(_text([COLUMNS, *(astuple(line) for line in results)]), encoding="utf-8")
    os.replace(temporary, folder / FILE)


def append_run(folder: Path, run: Run, metrics: Iterable[tuple[str, str]], status: str) -> None:
    """Add one run: its measurements and its status, in one write that reaches the disk before this returns."""
    lines = [(*astuple(run), metric, value) for metric, value in metrics]
    with (folder / FILE).open("a", encoding="utf-8", newline="") as file:
        file.write(_text([*lines, (*astuple(run), STATUS, status)]))
        file.flush()
        os.fsync(file.fileno())


def _is_whole(row: list[str]) -> bool:
    return len(row) == len(COLUMNS) and row[3].isdigit()


def _measurement(row: list[str]) -> Measurement:
    return Measurement(row[0], row[1], row[2], int(row[3]), row[4], row[5])


def _text(rows: Iterable[Iterable[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
