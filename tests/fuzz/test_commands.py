"""A command with any options, on any table, ends in an answer that its rules give, or in one sentence."""

from __future__ import annotations

import contextlib
import csv
import io
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from logiclens.cli import main
from logiclens.export.registry import FORMATS
from logiclens.tables.files import write_table
from tests.fuzz import hostile
from tests.fuzz.judge import LONGEST, Place, check_sentence, check_shown, hostile_examples, judged
from tests.fuzz.models import NAMES, Model, decided, fit_all, model, record_of, rows_of

Document = dict[str, Any]

ROW = "age=70,unit=MICU,flag=True,dose=5,admitted=2021-08-02"
CODES = {"verify": {0, 1, 2, 3}, "diff": {0, 1, 2}, "check": {0, 1, 2}}
"""Exit codes of the commands; those of the others are 0 and 2."""
DATA = ("csv", "csv", "tsv", "jsonl", "parquet", "xlsx", "csv.gz", "-", "nowhere", "folder", "pattern", "long", "bytes")
OPTIONS: dict[str, list[list[str]]] = {
    "predict": [
        ["--why"], ["--rules"], ["--keep", "unit"], ["--keep", "nothing"], ["-o", "{out}/answers.csv"],
        ["-o", "{out}/answers.jsonl.gz"], ["-o", "{out}/answers.parquet"], ["-o", "{out}/answers.xlsx"], ["-o", "-"],
        ["-o", "{out}/no/folder.csv"], ["--json", "-"], ["--keep-formulas"], ["--engine", "duckdb"],
        ["--json", "{out}/answers.json"],
    ],
    "score": [
        ["--target", "died"], ["--target", "nothing"], ["--by", "unit"], ["--by", "admitted"], ["--by", "\x1b[31m"],
        ["--json", "-"], ["--json", "{out}/score.json"], ["--per-file"], ["--engine", "duckdb"],
    ],
    "why": [
        ["--row", "age=70,unit=MICU"], ["--row", "age=,unit="], ["--row", "age=1e999,unit=\u202e"], ["--row", "=,="],
        ["--row", '"age=1'], ["--row", ROW], ["{data}"], ["{data}", "--json", "-"],
        ["--rows", "1,3-4"], ["--rows", "0"], ["--rows", "9" * 20], ["--json", "-"],
        ["--json", "{out}/why.json"],
    ],
    "flip": [
        ["--row", "age=70,unit=MICU"], ["--row", "age=\x1b[31m,unit=MICU"], ["{data}"], ["--rows", "2"],
        ["--row", ROW, "--json", "-"], ["{data}", "--json", "-"], ["--to", "7"], ["--freeze", "unit"],
        ["--to", "ill"], ["--to", "nothing"], ["--of", "ill"], ["--freeze", "age"], ["--freeze", "nothing"],
        ["--json", "{out}/flip.json"],
    ],
    "check": [
        ["never uses 'age'"], ["never uses nothing"], ["increasing in age"], ["decreasing in 'unit'"], ["never both"],
        ["never both 'ill' and 'well'"], ["implies \"age >= 60\""], ["implies ("], ["is \u202e fair"], ["--of", "ill"],
        ["--json", "-"], ["increasing in 'dose'"], ["decreasing in 'admitted'"], ["never uses 'dose'"],
        ['implies "unit is MICU"'], ["implies ~flag"], ['implies ~"dose >= 5"'], ["increasing in 'age'", "--json", "-"],
    ],
    "verify": [["--json", "-"], ["--json", "{out}/verdict.json"]],
    "export": [
        *(["--to", entry.name] for entry in FORMATS), ["--to", "nothing"], ["--dialect", "sqlite"],
        ["--dialect", "nothing"], ["--table", '"; DROP'], ["-o", "{out}/rules.txt"], ["--json", "-"],
    ],
    "edit": [
        ["{data}"], ["--data", "{data}"], ["--target", "nothing"], ["--who", "\x1b[31m"], ["--without-knowledge"],
        ["--json", "-"],
    ],
    "import": [
        ["{data}"], ["nothing.xlsx"], ["--model", "{out}"], ["-o", "{out}/new"], ["--data", "{data}"], ["--json", "-"],
    ],
    "diff": [["--json", "-"], ["--data", "{data}"], ["--data", "{data}", "--json", "-"]],
    "report": [["-o", "{out}/page.html"], ["-o", "-"], ["-o", "{out}/page.csv"], ["--json", "{out}/page.json"]],
    "explain": [
        ["--target", "died"], ["--target", "nothing"], ["--positive", "ill"], ["--positive", "\u202e"], ["--soft"],
        ["--method", "paper"], ["--cuts", "quantile"], ["--cuts", "nothing"], ["--drop", "age"], ["--drop", "nothing"],
        ["--weight", "dose"], ["--weight", "unit"], ["--balanced"], ["--max-literals", "2"], ["--max-literals", "0"],
        ["--set-aside", "0.9"], ["--set-aside", "nan"], ["--folds", "2"], ["--folds", "21"], ["--by", "unit"],
        ["--seed", "-1"], ["--seed", "99999999999999999999"], ["--save", "{out}/model"], ["--json", "-"],
        ["--report", "{out}/page.html"], ["--teacher-column", "dose"], ["--teacher-class", "ill"],
        ["--jobs", "0"], ["--quantiles", "3"], ["--quantiles", "1"], ["--target", "age"], ["--min-support", "8"],
        ["--min-support", "nan"], ["--min-support", "99999"], ["--split-by-time", "admitted"],
        ["--split-by-time", "unit"], ["--split-by-time", "nothing"], ["--split-by-time", "died"],
    ],
}  # fmt: skip
SHARED = (["--delimiter", ";"], ["--delimiter", ""], ["--missing", "CCU"], ["-q"], ["--nothing"],
          ["--encoding", "cp1252"], ["--encoding", "klingon"], ["--encoding", "utf-8"], ["--encoding", "rot13"],
          ["--encoding", "utf-16"],
          ["--sheet", "rows"], ["--sheet", "\x1b[31m"], ["--sheet", "x" * 300])  # fmt: skip

# Cases ---------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw a command with its model, its table and its options."""
    command = draw(st.sampled_from(sorted(OPTIONS)))
    options = draw(st.lists(st.sampled_from(OPTIONS[command]), max_size=3, unique_by=tuple))
    if draw(st.integers(0, 5)) == 0:
        # No argument of a process holds a zero byte.
        words = hostile.texts().map(lambda text: [text.replace("\x00", "\udcff")])
        options.append(draw(st.sampled_from(SHARED) | words))
    if command == "report" and not any("-o" in option for option in options):
        options.append(["-o", "-"])
    if command == "explain" and draw(st.integers(0, 3)):
        options = [["--target", "died"], ["--method", "paper"], *options]
    return {
        "command": command,
        "model": draw(st.sampled_from(NAMES)),
        "data": draw(st.sampled_from(DATA)),
        "bytes": draw(st.binary(max_size=60)),
        "script": draw(hostile.texts()),
        "options": options,
    }


# Checks --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def streams(arguments: list[str], stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Give the command its arguments and streams; put back what `main` changes of the process."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    shown = warnings.showwarning
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGPIPE)}
    out, err = io.BytesIO(), io.BytesIO()
    sys.argv = ["logiclens", *arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout, sys.stderr = io.TextIOWrapper(out, encoding="utf-8"), io.TextIOWrapper(err, encoding="utf-8")
    try:
        yield out, err
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(ValueError):
                stream.flush()
                stream.detach()
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
        warnings.showwarning = shown
        for number, handler in handlers.items():
            signal.signal(number, handler)


def run(arguments: list[str], stdin: bytes = b"") -> Run:
    """Run a command in this process."""
    with streams(arguments, stdin) as (out, err), warnings.catch_warnings():
        # The filters of a Python that is just started.
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    return Run(code, out.getvalue().decode(), err.getvalue().decode())


def write_source(case: Document, frame: pd.DataFrame, place: Place) -> tuple[str, bytes]:
    """Write the table of a case; return its name for the command, and what comes from standard input."""
    form, path = case["data"], place.inputs / f"rows.{case['data']}"
    text = frame.to_csv(index=False)
    if form == "-":
        return "-", text.encode("utf-8", "surrogatepass")
    if form in ("nowhere", "long"):
        return str(place.inputs / "nowhere.csv") if form == "nowhere" else "x" * 300 + ".csv", b""
    if form in ("folder", "pattern"):
        (place.inputs / "lake").mkdir()
        frame.to_parquet(place.inputs / "lake" / "part.parquet")
        return str(place.inputs / "lake") + ("/*.parquet" if form == "pattern" else ""), b""
    if form == "bytes":
        path.write_bytes(case["bytes"])
    elif form == "parquet":
        frame.to_parquet(path)
    elif form == "xlsx":
        write_table(frame, path)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    else:
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    return str(path), b""


@given(cases())
@hostile_examples(200)
def test_a_command_answers_or_refuses_in_one_sentence(case: Document) -> None:
    fit_all()
    origin, command = model(case["model"]), case["command"]
    frame = pd.concat([origin.frame, origin.labels], axis=1).head(40)
    with judged() as place:
        folder = place.inputs / "model"
        folder.mkdir()
        for name, content in origin.files.items():
            (folder / name).write_bytes(content)
        source, stdin = write_source(case, frame, place)
        place.write("script.toml", case["script"].encode("utf-8", "surrogatepass"))
        place.seal()
        first = {
            "explain": [source], "predict": [str(folder), source], "score": [str(folder), source],
            "diff": [str(origin.folder), str(folder)], "edit": [str(folder), str(place.inputs / "script.toml")],
        }  # fmt: skip
        options = [
            word.replace("{out}", str(place.outputs)).replace("{data}", source)
            for option in case["options"]
            for word in option
        ]
        ended = run([command, *first.get(command, [str(folder)]), *options], stdin)
        check_streams(command, ended, options)
        written = {path.name for path in place.outputs.iterdir()}
        assert written <= {Path(word).name for word in options if word.startswith(str(place.outputs))}
        # A verdict is written whatever it says.
        assert ended.code != 2 or not written or command == "verify"
        if command == "predict" and ended.code == 0 and case["data"] not in ("bytes", "folder", "pattern"):
            check_answers(origin, frame, options, ended)


def check_streams(command: str, ended: Run, options: list[str]) -> None:
    assert ended.code in CODES.get(command, {0, 2})
    check_shown(ended.err)
    # It says in words of its own why a folder is not verified.
    if ended.code == 2 and command != "verify":
        # Without a target, explain lists the columns and asks for one.
        assert not ended.out or (command == "explain" and "--target" not in options)
        assert ended.err.startswith("logiclens: ")
        assert ended.err.count("\n") == 1
        check_sentence(ended.err.rstrip("\n"), LONGEST + len("logiclens: "))
    if "-" not in options and command not in ("predict", "export", "report"):
        check_shown(ended.out)
    for text in (ended.out, ended.err):
        assert "Warning: " not in text or command == "report"
        assert "Traceback (most recent call last)" not in text


def check_answers(origin: Model, frame: pd.DataFrame, options: list[str], ended: Run) -> None:
    """Compare printed answers with the rules, evaluated from their JSON."""
    reading = {"--delimiter", "--missing", "--encoding", "--sheet", "--json", "-o", "--engine", "-h", "--help"}
    if reading & {*options} or not origin.is_exact:
        return
    record = record_of(origin.folder)
    names = [f"predicted {label}" for label in ("ill", "late")] if record["multilabel"] else None
    printed = list(csv.DictReader(io.StringIO(ended.out, newline="")))
    for row, line in zip(rows_of(frame), printed, strict=True):
        answer = decided(record, row)
        texts = [line[name] for name in names or [name for name in line if name.startswith("predicted ")]]
        answers = answer if isinstance(answer, list) else [answer]
        # A text that a spreadsheet would compute has an apostrophe before it.
        assert [text.removeprefix("'") for text in texts] == ["" if one is None else str(one) for one in answers]
