"""Every command that writes, with a fault at each of its calls: old or new and whole, and nothing is left behind."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from logiclens import storage
from logiclens.estimator import EntropyClassifier
from logiclens.export import to_xlsx
from logiclens.formula import RuleSet
from logiclens.storage import open_folder, write_whole
from logiclens.tables.files import write_table
from tests import cli_runs
from tests.faults.injection import KINDS, VARIABLE, Fault, Kind, cannot_exchange, install

TERMINATED = 143
State = dict[str, bytes | None]


def state(root: Path) -> State:
    """Everything below a folder: the bytes of files, None for folders."""
    found = sorted(root.rglob("*"))
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in found}


@dataclass(frozen=True)
class Writer:
    """A program that writes below `root`, which holds `before` when it starts.

    `run` runs it with a fault and returns its exit code and what it said.
    """

    root: Path
    before: Path
    run: Callable[[Fault | None], tuple[int, str]]

    def start(self) -> None:
        """Put everything back to what it was before."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.before, self.root)

    def calls(self, log: Path) -> list[str]:
        """The calls of a run in which nothing goes wrong."""
        self.start()
        log.unlink(missing_ok=True)
        code, said = self.run(Fault("count", self.root, log=log))
        assert code == 0, said
        return log.read_text().splitlines()


def check_every_fault(writer: Writer, log: Path, *, every_kind: bool, most: int | None = None) -> int:
    """Let each call go wrong, or `most` of them spread over the run, in every way or in one of them in turn.

    Return how many things went wrong. What the program writes must be the same in every run.
    """
    calls = writer.calls(log)
    old, new = state(writer.before), state(writer.root)
    assert old != new
    assert len(calls) > 2, calls
    places = sorted(set(np.linspace(0, len(calls) - 1, most or len(calls)).round().astype(int).tolist()))
    kinds = [KINDS if every_kind else [KINDS[turn % len(KINDS)]] for turn in range(len(places))]
    faults = [(kind, at) for at, tried in zip(places, kinds, strict=True) for kind in tried]
    for kind, at in faults:
        writer.start()
        code, said = writer.run(Fault(kind, writer.root, at))
        where = f"{kind} at call {at}, {calls[at]}: {said}"
        check_said(kind, code, said, where)
        after = state(writer.root)
        check_old_or_new(old, new, after, where)
        if kind != "kill" and not calls[at].startswith(("unlink", "rmdir")):
            # What lives to the end cleans up after itself, unless that is what fails.
            assert set(after) <= set(old) | set(new), where
        if kind == "kill" or set(after) - set(old) - set(new):
            code, said = writer.run(None)
            assert (code, state(writer.root)) == (0, new), where
    return len(faults)


EVERY_KIND = [False, pytest.param(True, marks=pytest.mark.slow)]
"""In a usual run each call goes wrong once; in a slow one it is killed, told to stop, and refused."""
SOME = 6
"""At how many calls of a command something goes wrong in a usual run; in a slow one, at each."""


def check_said(kind: Kind, code: int, said: str, where: str) -> None:
    """A fault ends in the right exit code and at most one sentence."""
    expected = {"kill": (-signal.SIGKILL,), "stop": (TERMINATED, 0), "fail": (2, 0)}[kind]
    assert code in expected, where
    assert "Traceback" not in said, where


def check_old_or_new(old: State, new: State, after: State, where: str) -> None:
    """Every file is as it was or as it should be; those of one folder are all old or all new."""
    visible = {name: content for name, content in after.items() if not any(part[0] == "." for part in Path(name).parts)}
    for folder in {os.path.dirname(name) for name in (*old, *new)} - {""}:
        versions = [{n: c for n, c in one.items() if os.path.dirname(n) == folder} for one in (old, new, visible)]
        assert versions[2] in versions[:2], where
    for name in {*old, *new, *visible}:
        assert name in visible or name not in old or name not in new, where
        assert visible.get(name) in (old.get(name), new.get(name)), where


# Programs ---------------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], object], fault: Fault | None) -> tuple[int, str]:
    """Run a function in a process of its own, which ends as the command line does when it is told to stop."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
            if fault is not None:
                install(fault)
            work()
            code = 0
        except SystemExit as ended:
            code = int(str(ended.code))
        except storage.LogicLensError:
            code = 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), ""


def command(*arguments: object, cwd: Path) -> Callable[[Fault | None], tuple[int, str]]:
    """A command, with the temporary files of the system below the folder that is watched."""

    def run(fault: Fault | None) -> tuple[int, str]:
        changed = {"TMPDIR": str(cwd / "tmp"), **({} if fault is None else {VARIABLE: str(fault)})}
        cli_runs.ENVIRONMENT.update(changed)
        try:
            found = cli_runs.logiclens(*arguments, cwd=cwd)
        finally:
            for name in changed:
                del cli_runs.ENVIRONMENT[name]
        return found.returncode, found.stdout + found.stderr

    return run


ROWS = pd.DataFrame({"age": [20.0, 35, 50, 61, 72, 90] * 8, "unit": ["A", "B", "C"] * 16})
LABELS = np.where((ROWS["age"] >= 60) & (ROWS["unit"] != "A"), "ill", "well")


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> list[Any]:
    """Two exact models, and a folder with the first."""
    place = tmp_path_factory.mktemp("models")
    models = [EntropyClassifier(), EntropyClassifier(max_literals=1)]
    for number, model in enumerate(models):
        model.fit(ROWS, LABELS).save(place / str(number))
    return [{path.name: path.read_bytes() for path in (place / str(number)).iterdir()} for number in range(2)]


def writer_of_models(tmp_path: Path, models: list[Any], *, replaces: bool, exchanges: bool) -> Writer:
    from logiclens.estimator.persistence import ModelFiles

    root, before = tmp_path / "root", tmp_path / "before"
    before.mkdir()
    if replaces:
        ModelFiles(models[0]).write(before / "model")

    def save() -> None:
        if not exchanges:
            storage.exchange = cannot_exchange
        ModelFiles(models[1]).write(root / "model")

    return Writer(root, before, lambda fault: in_child(save, fault))


@pytest.mark.parametrize("every_kind", EVERY_KIND)
@pytest.mark.parametrize("replaces", [True, False])
def test_a_model_folder_is_old_or_new_whatever_happens(tmp_path, models, replaces, every_kind):
    writer = writer_of_models(tmp_path, models, replaces=replaces, exchanges=True)
    assert check_every_fault(writer, tmp_path / "log", every_kind=every_kind) > 14


@pytest.mark.parametrize("kind", KINDS)
def test_without_exchange_the_next_open_puts_the_model_back(tmp_path, models, kind):
    writer = writer_of_models(tmp_path, models, replaces=True, exchanges=False)
    calls, missing = writer.calls(tmp_path / "log"), 0
    new = state(writer.root)
    for at, call in enumerate(calls):
        writer.start()
        writer.run(Fault(kind, writer.root, at))
        missing += not (writer.root / "model").exists()
        files = open_folder(writer.root / "model").files
        assert files in models, (kind, call)
        writer.run(None)
        assert state(writer.root) == new, (kind, call)
    assert missing == (1 if kind == "kill" else 0)


@pytest.mark.parametrize("every_kind", EVERY_KIND)
def test_a_file_is_old_or_new_whatever_happens(tmp_path, every_kind):
    root, before = tmp_path / "root", tmp_path / "before"
    before.mkdir()
    (before / "file").write_bytes(b"older")

    def write() -> None:
        write_whole(root / "file", b"newer" * 10_000, sync=True)

    writer = Writer(root, before, lambda fault: in_child(write, fault))
    assert check_every_fault(writer, tmp_path / "log", every_kind=every_kind) > 4


@pytest.fixture
def place(tmp_path) -> Path:
    """A folder with a model, a table, an older page and an older table of answers."""
    before = tmp_path / "before"
    shutil.copytree(cli_runs.exact().folder, before / "model")
    shutil.copy(cli_runs.exact().data, before / "data.csv")
    (before / "packed.csv.gz").write_bytes(gzip.compress((before / "data.csv").read_bytes(), mtime=0))
    write_table(pd.read_csv(before / "data.csv"), before / "data.xlsx")
    rules = RuleSet.load(before / "model")
    (before / "edited.xlsx").write_bytes(to_xlsx(rules.without(rules.rule_ids[0])))
    (before / "script.toml").write_text(f'[[edit]]\ndo = "pin"\nrule = "{rules.rule_ids[0]}"\n', encoding="utf-8")
    (before / "tmp").mkdir()
    (before / "page.html").write_text("older")
    (before / "answers.csv").write_text("older")
    return before


COMMANDS = {
    "report": ("report", "model", "-o", "page.html"),
    "predict": ("predict", "model", "data.csv", "-o", "answers.csv"),
    "predict to Parquet": ("predict", "model", "data.csv", "-o", "answers.parquet"),
    "predict to a workbook": ("predict", "model", "data.csv", "-o", "answers.xlsx"),
    "read a workbook": ("predict", "model", "data.xlsx", "-o", "answers.csv"),
    "why": ("why", "model", "data.csv", "--rows", "1-2", "--json", "why.json"),
    "flip": ("flip", "model", "data.csv", "--rows", "1-2", "--json", "flip.json"),
    "check": ("check", "model", "never uses 'sex'", "--json", "check.json"),
    "predict in an engine": ("predict", "model", "data.csv", "--engine", "duckdb", "-o", "answers.parquet"),
    "read what is packed": ("predict", "model", "packed.csv.gz", "-o", "answers.csv"),
    "export": ("export", "model", "--to", "sql", "-o", "rules.sql"),
    "edit": ("edit", "model", "script.toml", "--data", "data.csv", "-o", "new"),
    "import": ("import", "edited.xlsx", "--model", "model", "--data", "data.csv", "-o", "new"),
}


@pytest.mark.parametrize("every_kind", EVERY_KIND)
@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_writes_is_old_or_new(tmp_path, place, name, every_kind):
    root = tmp_path / "root"
    writer = Writer(root, place, command(*COMMANDS[name], cwd=root))
    assert check_every_fault(writer, tmp_path / "log", every_kind=every_kind, most=None if every_kind else SOME) > 2
    assert RuleSet.load(root / "model").rules


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "most"), [((), None), (("--engine", "duckdb"), SOME)])
def test_what_an_explanation_writes_is_old_or_new(tmp_path, place, engine, most):
    # An engine reads the table in another way, but the calls are the same: some of them are enough.
    root = tmp_path / "root"
    arguments = ("explain", "data.csv", "--target", "died", *engine)
    # The JSON holds the time that it took, so that no two runs write the same.
    outputs = ("--save", "model", "--report", "page.html")
    writer = Writer(root, place, command(*arguments, *outputs, cwd=root))
    assert check_every_fault(writer, tmp_path / "log", every_kind=False, most=most) > (most or 20) - 2
