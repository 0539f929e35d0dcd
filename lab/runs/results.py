"""The results of a folder: one measurement per line, and a header with the settings that all of them share."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from logiclens import __version__
from logiclens.errors import LogicLensError, quoted
from logiclens.storage import clear_leftovers, write_whole

RESULTS_FILE = "results.csv"
OK, FORMULA, NOTE = "ok", "formula:", "note"
"""The status of a successful run; the prefix of a formula's metric, before its class; and the metric of a remark."""
TOY, SWEEP = "toy", "sweep:"
"""Names instead of a task: the toy comparison, and the prefix of a sweep."""
STATUS = "status"
"""The metric that ends a run: 'ok' or the reason for its failure. Lines without it were cut off and are ignored."""


@dataclass(frozen=True)
class Measurement:
    """One line. `fold` is the fold or seed; `value` is a number as text, a formula, or a sentence."""

    task: str
    protocol: str
    method: str
    fold: int
    metric: str
    value: str

    @property
    def run(self) -> Run:
        """Return the run that this line belongs to."""
        return Run(self.task, self.protocol, self.method, self.fold)


@dataclass(frozen=True, order=True)
class Run:
    """One method on one fold of a task, which is done completely or not at all."""

    task: str
    protocol: str
    method: str
    fold: int


COLUMNS = tuple(field.name for field in fields(Measurement))


@dataclass(frozen=True)
class Results:
    """Measurements of finished runs, in the order of recording."""

    lines: tuple[Measurement, ...]

    @property
    def runs(self) -> dict[Run, dict[str, str]]:
        """Return the metrics of each run."""
        found: dict[Run, dict[str, str]] = {}
        for line in self.lines:
            found.setdefault(line.run, {})[line.metric] = line.value
        return found

    def only(self, keeps: Callable[[Run, str], bool]) -> Results:
        """Return the runs that the predicate keeps, by their status."""
        kept = {line.run for line in self.lines if line.metric == STATUS and keeps(line.run, line.value)}
        return Results(tuple(line for line in self.lines if line.run in kept))

    def __iter__(self) -> Iterator[Measurement]:
        """Return the lines, in order."""
        return iter(self.lines)


def read_results(folder: Path) -> Results:
    """Read the finished runs of a folder; there are none if there is no table yet."""
    path = folder / RESULTS_FILE
    if not path.exists():
        return Results(())
    text = path.read_bytes().decode("utf-8", errors="replace")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise LogicLensError(f"{path} is not a table of results: its first line must be {','.join(COLUMNS)}.")
    # A killed process may have left a partial last line; a run without its status does not count.
    whole = rows[1:] if text.endswith("\n") else rows[1:-1]
    for number, row in enumerate(whole[:-1], start=2):
        if not _is_whole(row):
            raise LogicLensError(
                f"line {number} of {path} cannot be read: {quoted(','.join(row)[:80])} is no measurement."
            )
    lines = [_measurement(row) for row in whole if _is_whole(row)]
    finished = {line.run for line in lines if line.metric == STATUS}
    return Results(tuple(line for line in lines if line.run in finished))


def write_results(folder: Path, results: Results) -> None:
    """Write the table of results anew."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / RESULTS_FILE, _text([COLUMNS, *(astuple(line) for line in results)]))


def append_run(folder: Path, run: Run, metrics: Iterable[tuple[str, str]], status: str) -> None:
    """Append one run, its measurements and status. They are on disk before this returns, or the file is as it was."""
    lines = [(*astuple(run), metric, value) for metric, value in metrics]
    text = memoryview(_text([*lines, (*astuple(run), STATUS, status)]).encode())
    # Without a buffer, because closing the file would write the buffer again after a failed write.
    with (folder / RESULTS_FILE).open("ab", buffering=0) as file:
        end, written = file.seek(0, os.SEEK_END), 0
        try:
            while written < len(text):
                written += file.write(text[written:])
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(end)
            raise


def _is_whole(row: list[str]) -> bool:
    return len(row) == len(COLUMNS) and row[3].isdigit()


def _measurement(row: list[str]) -> Measurement:
    return Measurement(row[0], row[1], row[2], int(row[3]), row[4], row[5])


def _text(rows: Iterable[Iterable[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


HEADER_FILE = "bench.json"
LOCK = ".lock"
STUDY = "search.db"
"""Return the default database of a search in a folder."""
SCHEMA = 1
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "imodels", "wittgenstein", "mlxtend", "interpret-core")


@dataclass(frozen=True)
class Header:
    """The settings that all runs of a folder share."""

    protocols: tuple[str, ...]
    folds: int
    seed: int
    encoder_epochs: int | None


def begun(folder: Path) -> bool:
    """Test whether a folder has results."""
    return (folder / HEADER_FILE).exists()


def open_results(folder: Path, header: Header) -> None:
    """Create a folder of results, or check that it was created with the same settings."""
    path = folder / HEADER_FILE
    if folder.exists() and not folder.is_dir():
        raise LogicLensError(f"{folder} is a file: name a folder for the results with --out.")
    if not path.exists():
        # A bench that was killed at its start left nothing that counts.
        clear_leftovers(folder)
        # It may already hold predicted concepts, or a search.
        if folder.exists() and any(entry.name not in ("concepts", STUDY) for entry in folder.iterdir()):
            raise LogicLensError(f"{folder} is not empty and holds no {HEADER_FILE} of a bench: name another folder.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LogicLensError(f"cannot write into {folder}: {error.strerror or error}.") from None
        write_whole(path, json.dumps(_content(header), indent=1) + "\n")
        return
    _check(folder, read_header(folder), header)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Allow one bench at a time in a folder: two would overwrite each other's runs."""
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LogicLensError(
                f"another bench is writing into {folder}: wait for it, or name another --out."
            ) from None
        try:
            yield
        finally:
            (folder / LOCK).unlink(missing_ok=True)


def read_header(folder: Path) -> dict[str, Any]:
    """Read the header of a folder, which may be missing."""
    path = folder / HEADER_FILE
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise LogicLensError(f"{path} is not JSON: put the header of the benchmark there, or take it away.") from None
    if not isinstance(content, dict) or content.get("schema", SCHEMA) != SCHEMA:
        raise LogicLensError(f"{path} must hold an object with schema {SCHEMA}: it was written by another version.")
    return content


def _check(folder: Path, there: dict[str, Any], header: Header) -> None:
    if there.get("version") != __version__:
        raise LogicLensError(
            f"{folder} holds results of logiclens {there.get('version')}, this is {__version__}: "
            "name another folder with --out."
        )
    for name, mine in (("folds", header.folds), ("seed", header.seed), ("encoder_epochs", header.encoder_epochs)):
        if there.get(name) != mine:
            raise LogicLensError(
                f"{folder} holds results with {name} {there.get(name)}, asked for was {mine}: "
                "name another folder with --out, or ask for the same."
            )
    others = [protocol for protocol in header.protocols if protocol not in there.get("protocols", ())]
    if others:
        raise LogicLensError(
            f"{folder} holds results under the protocol {_listed(there.get('protocols', ()))}, asked for was "
            f"{_listed(header.protocols)}: name another folder with --out."
        )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(repr(name) for name in names)


def _content(header: Header) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": __version__,
        "protocols": list(header.protocols),
        "folds": header.folds,
        "seed": header.seed,
        "encoder_epochs": header.encoder_epochs,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def machine() -> dict[str, Any]:
    """Return a description of the machine on which times were measured, without its name."""
    import torch

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
