"""Run the real command line. Models that several test modules need are made once."""

from __future__ import annotations

import atexit
import json
import os
import pty
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

COMMAND = Path(sys.executable).with_name("logiclens")
# One thread: the tests share the machine, and the networks are tiny.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80"}
USUAL = dict(ENVIRONMENT)


@cache
def server() -> socket.socket:
    """A process with everything loaded, which forks for each command; see `tests/cli_server.py`."""
    ours, theirs = socket.socketpair()
    script = Path(__file__).with_name("cli_server.py")
    process = subprocess.Popen(
        [sys.executable, str(script), str(theirs.fileno()), str(COMMAND)], pass_fds=[theirs.fileno()], env=ENVIRONMENT
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(30)

    atexit.register(end)
    return ours


def logiclens(
    *arguments: object, cwd: Path | None = None, stdin: bytes = b"", without: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does, in a process of its own, whose streams are files.

    The process does not have the variables that `without` names.
    """
    words = [str(argument) for argument in arguments]
    changed = {
        name: ENVIRONMENT.get(name) for name in {*ENVIRONMENT, *USUAL} if ENVIRONMENT.get(name) != USUAL.get(name)
    }
    if any(name.startswith("PYTHON") for name in changed):
        # The interpreter reads these when it starts.
        run = subprocess.run([str(COMMAND), *words], input=stdin, capture_output=True, cwd=cwd, env=ENVIRONMENT)
        return subprocess.CompletedProcess(run.args, run.returncode, run.stdout.decode(), run.stderr.decode())
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        request = {
            "arguments": words,
            "cwd": None if cwd is None else str(cwd),
            "environment": changed | dict.fromkeys(without),
        }
        socket.send_fds(server(), [json.dumps(request).encode()], [file.fileno() for file in (given, out, err)])
        code = server().makefile().readline()
        assert code, "the process that runs commands has ended"
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([str(COMMAND), *words], int(code), out.read().decode(), err.read().decode())


def refused(*arguments: object, cwd: Path | None = None, stdin: bytes = b"") -> str:
    """What a command says when it refuses: one line on standard error, nothing else, exit code 2."""
    run = logiclens(*arguments, cwd=cwd, stdin=stdin)
    assert run.returncode == 2, (run.returncode, run.stdout, run.stderr)
    assert run.stdout == ""
    assert run.stderr.startswith("logiclens: ")
    assert run.stderr.endswith(("\n",))
    assert run.stderr.count("\n") == 1, run.stderr
    return run.stderr.removeprefix("logiclens: ").rstrip("\n")


class Terminal:
    """A command on a pseudo-terminal of 80 columns; what it shows is read as it comes."""

    def __init__(self, *arguments: object, cwd: Path) -> None:
        """Start it."""
        self.master, slave = pty.openpty()
        self.shown = b""
        self.process = subprocess.Popen(
            [str(COMMAND), *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=ENVIRONMENT,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def read(self, until: bytes | None = None, seconds: float = 120) -> str:
        """Everything up to some bytes, or to the end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and (until is None or until not in self.shown):
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                part = os.read(self.master, 4096)
            except OSError:
                break
            if not part:
                break
            self.shown += part
        return self.shown.decode(errors="replace")

    def close(self) -> int:
        """The exit code, when it has ended."""
        self.read()
        os.close(self.master)
        return self.process.wait(30)


@cache
def place() -> Path:
    """A folder that is gone when the tests are over."""
    folder = Path(tempfile.mkdtemp(prefix="logiclens-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def patients(n_rows: int = 160, seed: int = 0) -> pd.DataFrame:
    """Who dies follows from age and unit, and a little from chance; there are gaps, a key, a date and an odd name."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 95, n_rows).astype(float)
    unit = rng.choice(["CCU", "MICU", "SICU"], n_rows)
    frame = pd.DataFrame(
        {
            "id": [f"p{i:04d}" for i in range(n_rows)],
            "age": age,
            "unit": unit,
            'crp, "mg"': rng.normal(10, 4, n_rows).round(2),
            "sex": rng.choice(["f", "m"], n_rows),
            "admitted": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 500, n_rows), unit="D"),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    noise = rng.random(n_rows) < 0.04
    frame["died"] = np.where(((frame["age"] >= 60) & (unit == "MICU")) ^ noise, "yes", "no")
    return frame


def with_states(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows with a target of three classes."""
    state = np.select([frame["died"] == "yes", frame["age"] < 40], ["dead", "well"], "ill")
    return frame.drop(columns=["id", "admitted", "died"]).assign(state=state)


@dataclass(frozen=True)
class Explained:
    """What one `logiclens explain` left behind."""

    run: subprocess.CompletedProcess[str]
    data: Path
    folder: Path

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder.with_suffix(".html")

    @property
    def json(self) -> Path:
        """The result."""
        return self.folder.with_suffix(".json")


def explain(frame: pd.DataFrame, name: str, *options: object, terminal: bool = False) -> Explained:
    """Explain a table, and keep the model and the result beside it; on a terminal, or else in a pipe."""
    folder = place() / name
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "data.csv", index=False)
    arguments = ("explain", "data.csv", *options, "--save", "model", "--json", "model.json")
    if terminal:
        started = Terminal(*arguments, cwd=folder)
        shown = started.read()
        run = subprocess.CompletedProcess(arguments, started.close(), shown, "")
    else:
        run = logiclens(*arguments, cwd=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return Explained(run, folder / "data.csv", folder / "model")


@cache
def exact() -> Explained:
    """An exact model of two classes."""
    return explain(patients(), "exact", "--target", "died")


@cache
def soft() -> Explained:
    """A model that is not exact, of a target that is 0 and 1 with gaps, with subgroups and a page."""
    frame = patients().drop(columns="id")
    frame["died"] = (frame["died"] == "yes").astype(float)
    frame.loc[5:8, "died"] = np.nan
    return explain(frame, "soft", "--target", "died", "--soft", "--by", "sex", "--report", "model.html")


@cache
def three() -> Explained:
    """A model of three classes that is not exact."""
    return explain(with_states(patients()), "three", "--target", "state", "--soft", "--max-literals", "2")


@cache
def positive() -> Explained:
    """A model that states the rules of one value, on other rows, explained on a terminal."""
    return explain(patients(160, seed=5), "positive", "--target", "died", "--positive", "yes", terminal=True)
