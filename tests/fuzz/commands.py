"""Door of the command line: options in every combination, on good and bad tables and folders, in this process."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from logiclens.cli import main
from logiclens.export.registry import FORMATS
from logiclens.tables.files import write_table
from tests.fuzz import folders, hostile, table_files
from tests.fuzz.judge import LONGEST, Failure, Outcome, Place, check_sentence, check_shown
from tests.fuzz.samples import SAMPLES, sample

Document = dict[str, Any]

CODES = {"verify": {0, 1, 2, 3}, "diff": {0, 1, 2}, "check": {0, 1, 2}}
"""Exit codes of the commands; those of the others are 0 and 2."""
DATA = ("csv", "csv", "tsv", "jsonl", "parquet", "xlsx", "csv.gz", "-", "nowhere", "folder", "pattern", "long")
OPTIONS: dict[str, list[list[str]]] = {
    "predict": [
        ["--why"], ["--rules"], ["--keep", "unit"], ["--keep", "nothing"], ["-o", "{out}/answers.csv"],
        ["-o", "{out}/answers.jsonl.gz"], ["-o", "{out}/answers.parquet"], ["-o", "{out}/answers.xlsx"], ["-o", "-"],
        ["-o", "{out}/no/folder.csv"], ["--json", "-"], ["--json", "{out}/answers.json"], ["--engine", "duckdb"],
    ],
    "score": [
        ["--target", "died"], ["--target", "nothing"], ["--by", "unit"], ["--by", "admitted"], ["--by", "\x1b[31m"],
        ["--json", "-"], ["--json", "{out}/score.json"], ["--per-file"], ["--engine", "duckdb"],
    ],
    "why": [
        ["--row", "age=70,unit=MICU"], ["--row", "age=,unit="], ["--row", "age=1e999,unit=\u202e"], ["--row", "=,="],
        ["--row", '"age=1'], ["{data}"], ["--rows", "1,3-4"], ["--rows", "0"], ["--rows", "9" * 20], ["--json", "-"],
        ["--json", "{out}/why.json"],
    ],
    "flip": [
        ["--row", "age=70,unit=MICU"], ["--row", "age=\x1b[31m,unit=MICU"], ["{data}"], ["--rows", "2"],
        ["--to", "ill"], ["--to", "nothing"], ["--of", "ill"], ["--freeze", "age"], ["--freeze", "nothing"],
        ["--json", "{out}/flip.json"],
    ],
    "check": [
        ["never uses 'age'"], ["never uses nothing"], ["increasing in age"], ["decreasing in 'unit'"], ["never both"],
        ["never both 'ill' and 'well'"], ["implies \"age >= 60\""], ["implies ("], ["is \u202e fair"], ["--of", "ill"],
        ["--json", "-"],
    ],
    "verify": [["--json", "-"], ["--json", "{out}/verdict.json"]],
    "export": [
        *(["--to", entry.name] for entry in FORMATS), ["--to", "nothing"], ["--dialect", "sqlite"],
        ["--dialect", "nothing"], ["--table", '"; DROP'], ["-o", "{out}/rules.txt"], ["--json", "-"],
    ],
    "edit": [
        ["{data}"], ["-o", "{out}/new"], ["--data", "{data}"], ["--target", "nothing"], ["--who", "\x1b[31m"],
        ["--json", "-"],
    ],
    "import": [
        ["{data}"], ["nothing.xlsx"], ["--model", "{out}"], ["-o", "{out}/new"], ["--data", "{data}"], ["--json", "-"],
    ],
    "diff": [["--json", "-"], ["--data", "{data}"]],
    "report": [["-o", "{out}/page.html"], ["-o", "-"], ["-o", "{out}/page.csv"], ["--json", "{out}/page.json"]],
    "explain": [
        ["--target", "died"], ["--target", "nothing"], ["--positive", "ill"], ["--positive", "\u202e"], ["--exact"],
        ["--method", "paper"], ["--cuts", "quantile"], ["--cuts", "nothing"], ["--drop", "age"], ["--drop", "nothing"],
        ["--weight", "dose"], ["--weight", "unit"], ["--balanced"], ["--max-literals", "2"], ["--max-literals", "0"],
        ["--set-aside", "0.9"], ["--set-aside", "nan"], ["--folds", "2"], ["--folds", "21"], ["--by", "unit"],
        ["--seed", "-1"], ["--seed", "99999999999999999999"], ["--save", "{out}/model"], ["--json", "-"],
        ["--report", "{out}/page.html"], ["--teacher-column", "dose"], ["--teacher-class", "ill"], ["--memory", "1XB"],
        ["--jobs", "0"], ["--backend", "moon"], ["--above", "1"], ["--above", "nan"], ["--quantiles", "3"],
        ["--quantiles", "1"], ["--target", "age"], ["--min-support", "8"], ["--min-support", "nan"],
        ["--score-against", "labels"], ["--score-against", "nothing"], ["--min-support", "99999"],
        ["--split-by-time", "admitted"],
        ["--split-by-time", "unit"], ["--split-by-time", "nothing"], ["--split-by-time", "died"], ["--no-date-parts"],
    ],
}  # fmt: skip
SHARED = (["--delimiter", ";"], ["--delimiter", ""], ["--missing", "CCU"], ["-q"], ["--nothing"], ["--memory", "4GB"],
          ["--encoding", "cp1252"], ["--encoding", "klingon"], ["--encoding", "utf-8"], ["--encoding", "rot13"],
          ["--encoding", "utf-16"],
          ["--sheet", "rows"], ["--sheet", "\x1b[31m"], ["--sheet", "x" * 300])  # fmt: skip

# Cases ---------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw a command with its model, its table and its options; explain is rare, because it fits a model."""
    command = draw(
        st.sampled_from(
            [
                *["predict"] * 4,
                *["score"] * 3,
                *["verify", "export", "diff", "report", "why", "flip", "check"] * 2,
                "edit",
                "import",
                "explain",
            ]
        )
    )
    name = draw(st.sampled_from(SAMPLES))
    options = draw(st.lists(st.sampled_from(OPTIONS[command]), max_size=3, unique_by=tuple))
    if draw(st.integers(0, 5)) == 0:
        options.append(
            draw(st.sampled_from(SHARED) | hostile.texts().map(lambda text: [text.replace("\x00", "\udcff")]))
        )
    if command == "report" and not any("-o" in option for option in options):
        options.append(["-o", "-"])
    if command == "explain":
        options = [["--target", "died"], ["--method", "paper"], *options] if draw(st.integers(0, 3)) else options
    return {
        "command": command,
        "sample": name,
        "edits": draw(st.lists(folders.edits(name) | folders.damages(), max_size=1)) if draw(st.booleans()) else [],
        "data": draw(st.sampled_from(DATA) | (table_files.cases() if draw(st.booleans()) else st.nothing())),
        "options": options,
    }  # fmt: skip


# Checks --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def _streams(arguments: list[str], stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Give the command its arguments and streams; put back what `main` changes of the process."""
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
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
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
        warnings.showwarning = shown
        for number, handler in handlers.items():
            signal.signal(number, handler)


def run(arguments: list[str], stdin: bytes = b"") -> Run:
    """Run a command in this process."""
    with _streams(arguments, stdin) as (out, err), warnings.catch_warnings():
        # The filters of a Python that is just started.
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    return Run(code, out.getvalue().decode(), err.getvalue().decode())


def _table(case: Document, place: Place) -> tuple[str, bytes]:
    """Write the table of a case; return its name for the command, and what comes from standard input."""
    data = case["data"]
    if isinstance(data, dict):
        path = place.write(data["name"], data["content"])
        return ("-", data["content"]) if data["options"]["stdin"] else (str(path), b"")
    frame, labels = sample(case["sample"]).frame, _labels(case["sample"])
    frame = pd.concat([frame, labels], axis=1).head(40)
    text = frame.to_csv(index=False)
    if data in ("csv", "tsv", "jsonl", "parquet", "csv.gz", "xlsx"):
        path = place.inputs / f"rows.{data}"
        if data == "parquet":
            frame.to_parquet(path)
        elif data == "xlsx":
            write_table(frame, path)
        elif data == "jsonl":
            frame.to_json(path, orient="records", lines=True, date_format="iso")
        else:
            frame.to_csv(path, index=False, sep="\t" if data == "tsv" else ",")
        return str(path), b""
    if data == "-":
        return "-", text.encode("utf-8", "surrogatepass")
    if data in ("folder", "pattern"):
        (place.inputs / "lake").mkdir()
        frame.to_parquet(place.inputs / "lake" / "part.parquet")
        return str(place.inputs / "lake") + ("/*.parquet" if data == "pattern" else ""), b""
    return {"nowhere": str(place.inputs / "nowhere.csv"), "long": "x" * 300 + ".csv"}[data], b""


def _labels(name: str) -> Any:
    answers = sample(name).answers
    if isinstance(answers[0], list):
        return pd.DataFrame(answers, columns=["ill", "late"])
    return pd.Series(answers, name="state" if name in ("three", "confident") else "died")


def check(case: Document, place: Place) -> Outcome:
    """Run the command, and check its exit code, what it printed and what it wrote."""
    origin = sample(case["sample"])
    folder = folders.Folder(origin)
    for edit in case["edits"]:
        folder.apply(edit)
    try:
        folder.write(place.inputs / "model", sealed=True)
    except (TypeError, ValueError, RecursionError):
        return Outcome.agreed
    source, stdin = _table(case, place)
    place.seal()
    model, command = str(place.inputs / "model"), case["command"]
    first = {
        "explain": [source],
        "predict": [model, source],
        "score": [model, source],
        "diff": [model, str(origin.folder)],
    }
    options = [
        word.replace("{out}", str(place.outputs)).replace("{data}", source)
        for option in case["options"]
        for word in option
    ]
    ended = run([command, *first.get(command, [model]), *options], stdin)
    _check_streams(command, ended, options)
    written = {path.name for path in place.outputs.iterdir()}
    allowed = {Path(word).name for word in options if word.startswith(str(place.outputs))}
    # A verdict is written whatever it says.
    if written - allowed or (ended.code == 2 and written and command != "verify"):
        raise Failure("a file is left that nobody named", str(sorted(written)))
    if ended.code == 2:
        return Outcome.refused
    if (
        ended.code == 0
        and command == "predict"
        and case["edits"] == []
        and origin.exact
        and not isinstance(case["data"], dict)
    ):
        _check_predictions(case, place, ended, options)
    return Outcome.agreed


def _check_streams(command: str, ended: Run, options: list[str]) -> None:
    if ended.code not in CODES.get(command, {0, 2}):
        raise Failure(f"{command} ends with the exit code {ended.code}")
    check_shown(ended.err, "what is printed for reading")
    if ended.code == 2 and command != "verify":
        # Without a target, explain lists the columns and asks for one.
        lists = command == "explain" and "--target" not in options
        if (ended.out and not lists) or not ended.err.startswith("logiclens: ") or ended.err.count("\n") != 1:
            raise Failure("a refusal is not one line", repr(ended.err[:200]))
        check_sentence(ended.err.rstrip("\n"), LONGEST + len("logiclens: "))
    is_data = "-" in options or command in ("predict", "export", "report")
    if not is_data:
        check_shown(ended.out, "what is printed for reading")
    for text in (ended.out, ended.err):
        if "Warning: " in text and command != "report":
            raise Failure("a warning is printed", text[:200])
        if "Traceback (most recent call last)" in text:
            raise Failure("a traceback is printed", text[-200:])


def _check_predictions(case: Document, place: Place, ended: Run, options: list[str]) -> None:
    """Fail unless the predicted column is what the sample answers."""
    origin = sample(case["sample"])
    outs = [Path(word) for word in options if word.startswith(str(place.outputs))]
    if "--json" in options and "-" in options and not outs:
        rows = json.loads(ended.out)["rows"]
    elif not outs:
        rows = list(csv.DictReader(io.StringIO(ended.out)))
    elif len(outs) == 1 and outs[0].name.endswith(".xlsx"):
        # Read by another library than the product's.
        rows = pd.read_excel(outs[0], dtype=str, keep_default_na=False, engine="openpyxl").to_dict("records")
    elif len(outs) == 1 and outs[0].name.endswith(".csv"):
        rows = list(csv.DictReader(io.StringIO(outs[0].read_text("utf-8"), newline="")))
    else:
        return
    names = [name for name in (rows[0] if rows else ()) if name.startswith("predicted ")]
    got = [[str(row[name]).lstrip("'") for name in names] for row in rows]
    wanted = [[str(answer) for answer in np.atleast_1d(answers).tolist()] for answers in origin.answers[:40]]
    if case["sample"] != "hostile" and got != wanted:
        raise Failure("predict writes other answers")
