"""The campaign: draws cases for every door until the time is over, and reports what it found.

    python -m tests.fuzz.campaign --minutes 30

Saved cases are replayed first. Each batch of cases runs in a process of its own, with a limit of memory, so that a
crash ends the batch and not the campaign. A failing case is shrunk and saved; the counts of several runs on the same
source are added up.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

import logiclens
from tests.fuzz import case_files, samples
from tests.fuzz.doors import DOORS, Door
from tests.fuzz.judge import Failure, Hang, Outcome, judged, signature

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "lab" / "results" / "fuzz.json"
FAILING = ROOT / ".fuzz"
"""The folder for new failing cases; git ignores it. Move a case to `tests/fuzz/cases` with the change that mends it."""
BATCH_SECONDS = 15.0
SHRINK_SECONDS = 20.0
REPLAYS = 3
"""How often a failing case must pass before it is dropped."""
MEMORY = 3 << 30
"""Bytes that a batch may use beyond what the campaign has loaded."""


@dataclass
class Found:
    """What a batch found: its cases by outcome, and the smallest case for each reason of a failure."""

    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failing: dict[str, tuple[Any, str]] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def fail(self, reason: str, case: Any, detail: str, size: Callable[[Any], int]) -> None:
        """Keep a failing case if it is the smallest of its reason. Of equal ones the last is the most shrunk."""
        known = self.failing.get(reason)
        if known is None or size(case) <= size(known[0]):
            self.failing[reason] = (case, detail)


@functools.cache
def _class_of(reason: str) -> type[Failure]:
    """Return a class for each reason, because hypothesis tells failures apart by their class."""
    return type("New", (Failure,), {"__qualname__": reason})


# One batch, in a process of its own ----------------------------------------------------------------------------------


def run_cases(door: Door, number: int, n_cases: int, known: Sequence[str], status: Path, root: Path) -> Found:
    """Draw and judge cases. A failure with a new reason ends the batch after it is shrunk; a known one is counted."""
    found, steps = Found(), Counter[str]()
    first_new: list[float] = []

    def size(case: Any) -> int:
        return len(case_files.to_text(door.name, case))

    @seed(number)
    @settings(
        max_examples=n_cases, deadline=None, database=None, derandomize=False,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink], print_blob=False,
    )  # fmt: skip
    @given(door.cases)
    def draw(case: Any) -> None:
        if first_new and time.monotonic() - first_new[0] > SHRINK_SECONDS:
            return
        steps["all"] += 1
        is_shrinking = bool(first_new)
        found.cases += not is_shrinking
        status.write_text(case_files.to_text(door.name, case), encoding="utf-8")
        try:
            outcome = judged(door.check, case, root / str(steps["all"]), door.seconds)
        except (Exception, Hang) as error:
            reason = signature(error)
            found.fail(reason, case, "".join(traceback.format_exception(error))[-1500:], size)
            if not is_shrinking:
                found.times[reason] += 1
            if reason in known:
                return
            first_new.append(time.monotonic())
            raise _class_of(reason)(reason) from None
        if not is_shrinking:
            found.outcomes[outcome] += 1

    # The failures are in `found`; hypothesis also raises if a case fails now and then only.
    try:
        draw()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if not found.failing:
            found.fail(f"the generator fails: {signature(error)}", None, traceback.format_exc()[-1500:], size)
    # A reason that only came up while another was shrunk counts too.
    found.times.update(dict.fromkeys(found.failing.keys() - found.times.keys(), 1))
    return found


def start(work: Callable[[], Found], status: Path) -> int:
    """Run a batch in a forked process. Return its id."""
    status.with_suffix(".found").unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        _limit_memory()
        faulthandler.disable()
        with status.with_suffix(".log").open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            found = work()
        status.with_suffix(".found").write_text(_found_text(found), encoding="utf-8")
        code = 0
    finally:
        os._exit(code)


def finish(status: Path, ended: int) -> Found:
    """Return what a process found that has ended. If it died, its last case is the failing one."""
    out, log = status.with_suffix(".found"), status.with_suffix(".log")
    if out.exists():
        return _found_of(out.read_text(encoding="utf-8"))
    _, case = case_files.from_text(status.read_text(encoding="utf-8"))
    what = signal.Signals(os.WTERMSIG(ended)).name if os.WIFSIGNALED(ended) else f"exit {os.WEXITSTATUS(ended)}"
    reason = f"the process ends ({what})"
    detail = log.read_text(errors="replace")[-1500:] if log.exists() else ""
    return Found(cases=1, failing={reason: (case, detail)}, times=Counter({reason: 1}))


def in_child(work: Callable[[], Found], status: Path) -> Found:
    """Run a batch in a process of its own, and wait for it."""
    _, ended = os.waitpid(start(work, status), 0)
    return finish(status, ended)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def _found_text(found: Found) -> str:
    failing = {reason: [case_files.to_text("", case), detail] for reason, (case, detail) in found.failing.items()}
    return json.dumps({**vars(found), "failing": failing})


def _found_of(text: str) -> Found:
    content = json.loads(text)
    content["outcomes"], content["times"] = Counter(content["outcomes"]), Counter(content["times"])
    content["failing"] = {
        reason: (case_files.from_text(case)[1], detail) for reason, (case, detail) in content["failing"].items()
    }
    return Found(**content)


# The report ----------------------------------------------------------------------------------------------------------


def source_sha256() -> str:
    """Return the hash of the product's source, which tells whether counts may be added up."""
    digest = hashlib.sha256()
    folder = Path(logiclens.__file__).parent
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Report:
    """The counts of all runs on one source, written after every batch."""

    def __init__(self, path: Path) -> None:
        """Continue the report at a path if it is of the same source."""
        self.path = path
        self.content: dict[str, Any] = {
            "version": logiclens.__version__, "source_sha256": source_sha256(), "cases": 0, "failures": 0,
            "seconds": 0.0, "categories": {}, "failing": [],
        }  # fmt: skip
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            if before.get("source_sha256") == self.content["source_sha256"]:
                self.content = before

    def add(self, door: str, found: Found, files: dict[str, str]) -> None:
        """Add a batch, with the file of a case of each reason, and write the report."""
        entry = self.content["categories"].setdefault(
            door, {"cases": 0, "agreed": 0, "refused": 0, "failures": 0, "seconds": 0.0}
        )
        entry["cases"] += found.cases
        entry["seconds"] = round(entry["seconds"] + found.seconds, 1)
        entry["failures"] += sum(found.times.values())
        for outcome in Outcome:
            entry[outcome] += found.outcomes[outcome]
        listed = {(item["category"], item["reason"]): item for item in self.content["failing"]}
        for reason, times in found.times.items():
            item = listed.setdefault((door, reason), {"category": door, "reason": reason, "times": 0, "case": ""})
            item["times"] += times
            item["case"] = files.get(reason, item["case"])
        self.content["failing"] = sorted(listed.values(), key=lambda item: (item["category"], item["reason"]))
        entries = self.content["categories"].values()
        self.content["cases"] = sum(entry["cases"] for entry in entries)
        self.content["failures"] = sum(entry["failures"] for entry in entries)
        self.content["seconds"] = round(sum(entry["seconds"] for entry in entries), 1)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.content, indent=1) + "\n", encoding="utf-8")


# The campaign --------------------------------------------------------------------------------------------------------


def replay(folder: Path, scratch: Path, *, mended: Callable[[Path], None] | None = None) -> Iterator[tuple[str, str]]:
    """Replay the saved cases of a folder; give the file and the reason of each that still fails.

    One that passes is replayed twice more before it counts as mended, because some cases fail only now and then.
    """
    for path, name, case in case_files.saved(folder):
        if name not in DOORS:
            continue
        door, status = DOORS[name], scratch / "replay"
        status.write_text(case_files.to_text(name, case), encoding="utf-8")
        for _ in range(1 if mended is None else REPLAYS):
            found = in_child(lambda door=door, case=case: _judged_once(door, case, scratch / "replayed"), status)
            if found.failing:
                break
        if found.failing:
            yield path.name, next(iter(found.failing))
        elif mended is not None:
            mended(path)


def _judged_once(door: Door, case: Any, root: Path) -> Found:
    found = Found(cases=1)
    try:
        found.outcomes[judged(door.check, case, root, door.seconds)] += 1
    except (Exception, Hang) as error:
        found.failing[signature(error)] = (case, traceback.format_exc()[-1500:])
        found.times[signature(error)] = 1
    return found


@dataclass(frozen=True)
class Batch:
    """A batch that runs: its door, the reasons that were known when it began, and where it works."""

    door: Door
    known: Sequence[str]
    folder: Path
    begun: float

    @property
    def status(self) -> Path:
        """The file that always holds the case that runs."""
        return self.folder / "case"


class Campaign:
    """Runs batches, always for the door that had least time, and keeps what they find."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        """Take the options of the command line and a folder to work in."""
        self.options, self.scratch, self.number = options, scratch, options.seed
        self.doors = [DOORS[name] for name in options.doors.split(",")] if options.doors else list(DOORS.values())
        self.report, self.known = Report(options.report), _Known()
        self.spent, self.rate = dict.fromkeys(DOORS, 0.0), dict.fromkeys(DOORS, 0.0)
        self.running: dict[int, Batch] = {}

    def replay(self) -> None:
        """Replay the saved cases; a new one that passes now is removed."""
        for folder, mended in ((case_files.SAVED, None), (self.options.failing, Path.unlink)):
            for file, reason in replay(folder, self.scratch, mended=mended):
                print(f"{file} still fails: {reason}", flush=True)
                door = case_files.from_text((folder / file).read_text("utf-8"))[0]
                self.known.add(door, reason, file)
                self.report.add(door, Found(cases=1, times=Counter({reason: 1})), self.known.of(door))

    def run(self) -> int:
        """Run batches until the time is over. Return the number of reasons of failures."""
        end = time.monotonic() + 60 * self.options.minutes
        while self.running or time.monotonic() < end:
            while len(self.running) < self.options.jobs and time.monotonic() < end:
                self._start()
            child, ended = os.wait()
            self._finish(self.running.pop(child), ended)
        return len(self.report.content["failing"])

    def _start(self) -> None:
        door = min(self.doors, key=lambda door: self.spent[door.name])
        # Booked now, so that a second process takes another door.
        self.spent[door.name] += BATCH_SECONDS
        n_cases = min(max(int(self.rate[door.name] * BATCH_SECONDS), 10), 3000)
        self.number += 1
        number, known = self.number, list(self.known.of(door.name))
        batch = Batch(door, known, Path(tempfile.mkdtemp(dir=self.scratch)), time.monotonic())
        batch.status.write_text(case_files.to_text(door.name, None), encoding="utf-8")
        work = functools.partial(run_cases, door, number, n_cases, known, batch.status, batch.folder / "cases")
        self.running[start(work, batch.status)] = batch

    def _finish(self, batch: Batch, ended: int) -> None:
        found, name = finish(batch.status, ended), batch.door.name
        found.seconds = time.monotonic() - batch.begun
        shutil.rmtree(batch.folder, ignore_errors=True)
        self.spent[name] += found.seconds - BATCH_SECONDS
        self.rate[name] = max(found.cases / max(found.seconds, 0.1), 0.5)
        for reason, (case, detail) in found.failing.items():
            if reason in self.known.of(name):
                continue
            self.known.add(name, reason, case_files.save(name, case, self.options.failing).name)
            print(f"{name}: {reason}\n  {self.known.of(name)[reason]}\n{detail}", flush=True)
        self.report.add(name, found, self.known.of(name))
        print(
            f"{name}: {found.cases} cases in {found.seconds:.0f} s, {self.report.content['cases']:,} in all", flush=True
        )


class _Known:
    """The reasons that have failed already, by door, and the file of a case of each."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, str]] = {}

    def of(self, door: str) -> dict[str, str]:
        return self.files.setdefault(door, {})

    def add(self, door: str, reason: str, file: str) -> None:
        self.of(door)[reason] = file


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign that the command line asks for. Return 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--doors", help=f"names separated by commas; default: all of {','.join(DOORS)}")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 2**32, help="the first seed; default: another each time"
    )
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes; default: one per core"
    )
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--failing", type=Path, default=FAILING, help="folder for failing cases")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    # In memory where the system has such a folder: most cases are many small files.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (a private folder is made in it)
    with tempfile.TemporaryDirectory(prefix="logiclens-campaign-", dir=memory) as scratch:
        for name in samples.SAMPLES:
            samples.sample(name)
        running = Campaign(options, Path(scratch))
        running.replay()
        failures = running.run()
    print(f"{failures} reasons of failures; see {options.report}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
