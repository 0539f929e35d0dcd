"""Results: a file with one line of JSON per run, and the one way to run what such a file lacks.

A run has a key (task, method, fold …), a status ("ok", "skipped: …", "stopped: …" or "failed: …") and its figures.
Lines are only appended, so a killed experiment loses the runs in progress; the same command goes on with the rest.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from logiclens import __version__
from logiclens.errors import LogicLensError, MissingPackage

Line = dict[str, Any]
Job = tuple[Line, Callable[..., Line], tuple[Any, ...]]
"""The key of a run, the function that measures it, and its arguments; processes must be able to import the function."""
OK = "ok"
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "lab" / "results"
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "imodels", "wittgenstein", "mlxtend", "interpret-core")


@dataclass
class Results:
    """The runs of one experiment, by key.

    Args:
        path: the file; it is made with the first run.
        keys: the fields that identify a run.
        settings: what all runs share. A file that was made with other settings is refused.
    """

    path: Path
    keys: tuple[str, ...]
    settings: Line = field(default_factory=dict)
    about: Line = field(default_factory=dict, init=False)
    runs: dict[tuple[Any, ...], Line] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        if not lines:
            return
        self.about, *lines = lines
        for name, value in self.settings.items():
            if self.about.get(name) != value:
                raise LogicLensError(
                    f"{self.path} holds results with {name} {self.about.get(name)}, this run has {value}: name another "
                    "file, or use the same settings."
                )
        self.runs = {self.key(line): line for line in lines}
        if text and not text.endswith("\n"):
            self.rewrite()

    def __iter__(self) -> Iterator[Line]:
        return iter(self.runs.values())

    def key(self, line: Line) -> tuple[Any, ...]:
        return tuple(line[name] for name in self.keys)

    def lacks(self, line: Line) -> bool:
        """Test whether a run has no result yet; a run that was skipped, for want of a package, is tried again."""
        known = self.runs.get(self.key(line))
        return known is None or known["status"].startswith("skipped")

    def drop(self, names: Sequence[str]) -> None:
        if names:
            self.runs = {
                key: line for key, line in self.runs.items()
                if not {*map(str, key), line["status"].partition(":")[0]} & set(names)
            }  # fmt: skip
            self.rewrite()

    def add(self, line: Line) -> None:
        if not self.about:
            self.about = {**self.settings, **about()}
            self.rewrite()
        self.runs[self.key(line)] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def rewrite(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(line, ensure_ascii=False) for line in (self.about, *self.runs.values()))
        part = self.path.with_suffix(".part")
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
        part.replace(self.path)


def carry_out(results: Results, jobs: Iterable[Job], *, limit: float | None = None, n_jobs: int = 1) -> None:
    missing = (job for job in jobs if results.lacks(job[0]))
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
    for line in pool(delayed(attempt)(*job, limit) for job in missing):
        results.add(line)
        print(", ".join(map(str, results.key(line))), line["status"], sep=": ", file=sys.stderr, flush=True)


def attempt(key: Line, work: Callable[..., Line], arguments: Sequence[Any], limit: float | None = None) -> Line:
    import torch

    # Runs side by side share the cores; small networks gain nothing from more threads.
    torch.set_num_threads(1)
    try:
        with time_limit(limit), warnings.catch_warnings():
            # What matters of them is in the figures, such as constant formulas.
            warnings.simplefilter("ignore")
            return {**key, "status": OK, **work(*arguments)}
    except MissingPackage as error:
        status = f"skipped: {error}"
    except OverLimit:
        status = f"stopped: {limit:g} s"
    except Exception as error:
        status = f"failed: {type(error).__name__}: {error}"
    return {**key, "status": " ".join(status.split())}


class OverLimit(BaseException):
    """A run has used up its time; no handler of ordinary errors catches it."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OverLimit` in this block after so many seconds; None is no limit."""

    def stop(*_: object) -> None:
        raise OverLimit

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def about() -> Line:
    import torch

    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "version": __version__,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processor": _processor(), "cores": os.cpu_count(), "system": platform.system(),
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        },
        "versions": versions,
    }  # fmt: skip


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def data_folder() -> Path:
    folder = Path(os.environ.get("LOGICLENS_DATA", "nowhere")).expanduser()
    if not folder.is_dir():
        raise LogicLensError(f"the data files are read from the folder that $LOGICLENS_DATA names; {folder} is none.")
    return folder
