"""Door of the command line: options in every combination, on good and bad tables and folders, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from logiclens.cli import main
from logiclens.export.registry import FORMATS
from logiclens.tables.files import write_table
from tests.fuzz import answers, folders, hostile, table_files
from tests.fuzz.judge import LONGEST, Failure, Outcome, Place, check_sentence, check_shown
from tests.fuzz.samples import HOSTILE_NAMES, HOSTILE_UNITS, SAMPLES, sample

Document = dict[str, Any]

CODES = {"verify": {0, 1, 2, 3}, "diff": {0, 1, 2}, "check": {0, 1, 2}}
"""Exit codes of the commands; those of the others are 0 and 2."""
DATA = ("csv", "csv", "tsv", "jsonl", "parquet", "xlsx", "csv.gz", "-", "nowhere", "folder", "pattern", "long")
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
        ["--row", '"age=1'], ["--row", answers.row_text()], ["{data}"], ["{data}", "--json", "-"],
        ["--rows", "1,3-4"], ["--rows", "0"], ["--rows", "9" * 20], ["--json", "-"],
        ["--json", "{out}/why.json"],
    ],
    "flip": [
        ["--row", "age=70,unit=MICU"], ["--row", "age=\x1b[31m,unit=MICU"], ["{data}"], ["--rows", "2"],
        ["--row", answers.row_text(), "--json", "-"], ["{data}", "--json", "-"], ["--to", "7"], ["--freeze", "unit"],
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
        ["--target", "died"], ["--target", "nothing"], ["--positive", "ill"], ["--positive", "\u202e"], ["--exact"],
        ["--cuts", "quantile"], ["--cuts", "nothing"], ["--drop", "age"], ["--drop", "nothing"],
        ["--weight", "dose"], ["--weight", "unit"], ["--balanced"], ["--max-literals", "2"], ["--max-literals", "0"],
        ["--set-aside", "0.9"], ["--set-aside", "nan"], ["--folds", "2"], ["--folds", "21"], ["--by", "unit"],
        ["--seed", "-1"], ["--seed", "99999999999999999999"], ["--save", "{out}/model"], ["--json", "-"],
        ["--report", "{out}/page.html"], ["--teacher-column", "dose"], ["--teacher-class", "ill"],
        ["--above", "1"], ["--above", "nan"], ["--quantiles", "3"],
        ["--quantiles", "1"], ["--target", "age"], ["--min-support", "8"], ["--min-support", "nan"],
        ["--min-support", "99999"],
        ["--split-by-time", "admitted"],
        ["--split-by-time", "unit"], ["--split-by-time", "nothing"], ["--split-by-time", "died"],
    ],
}  # fmt: skip
SHARED = (["--delimiter", ";"], ["--delimiter", ""], ["--missing", "CCU"], ["-q"], ["--nothing"],
          ["--sheet", "rows"], ["--sheet", "\x1b[31m"], ["--sheet", "x" * 300])  # fmt: skip

KNOWN = (
    'forbidden_columns = ["age"]', 'late_columns = ["dose", "flag"]', '[classes.ill]\nincreasing = ["age"]',
    'protected_columns = ["unit"]\n[classes.ill]\nincreasing = ["dose"]\nmiss = 3', "forbidden = ['age >= 1e999']",
    'forbidden_columns = ["\u202e"]', "=",
)  # fmt: skip
"""Files of knowledge."""

# Cases ---------------------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn, name: str) -> Document:
    """Draw rows of the columns that the sample reads, in any order, with gaps and categories that nobody has seen."""
    rows = st.fixed_dictionaries(
        {
            "unit": st.sampled_from(["CCU", "MICU", "SICU", "=1+1", "new", None]),
            "age": st.sampled_from([None, 55.5, 56.0, 59.75, 60.0, 1e300, -3.0]) | st.integers(20, 95).map(float),
            "flag": st.booleans(),
            "dose": st.integers(0, 9),
            "admitted": st.sampled_from(["2021-07-31", "2021-08-01", "2021-12-01", "2022-03-01"]),
            "label": st.sampled_from([0, 1, 2, None]),
        }
    )
    order = draw(st.permutations(["unit", "age", "flag", "dose", "admitted"]))
    form = draw(st.sampled_from(["csv", "tsv", "jsonl", "parquet", "xlsx"]))
    return {"rows": draw(st.lists(rows, min_size=1, max_size=8)), "order": order, "form": form, "sample": name}


def scripts(name: str) -> st.SearchStrategy[list[Document]]:
    """Draw edits of the rules of a sample that can be applied."""
    rules = sample(name).rules
    cubes = [
        f"{entry['class']}#{number}"
        for entry in rules["classes"]
        for number in range(1, len(entry.get("cubes", ())) + 1)
    ]
    limits = [name for name, meant in rules["predicates"].items() if isinstance(meant["value"], float)]
    one = st.sampled_from(cubes).map(lambda rule: {"do": "without", "rule": rule}) | st.builds(
        lambda condition, value: {"do": "with_threshold", "condition": condition, "value": value},
        st.sampled_from(limits), st.integers(2, 80).map(float),
    )  # fmt: skip
    return st.lists(one, min_size=1, max_size=1)


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
    if command in ("score", "why", "flip", "check", "diff") and not any("--json" in option for option in options):
        options.append(["--json", "-"])
    case: Document = {"command": command, "sample": name}
    if command == "explain":
        options = [["--target", "died"], *options] if draw(st.integers(0, 3)) else options
        if draw(st.booleans()):
            case["known"] = draw(st.sampled_from(KNOWN))
            options += [["--knowledge", "{known}"], ["--save", "{out}/model"]]
    if command == "edit":
        case["script"] = draw(scripts(name))
        options += [["-o", "{out}/new"]]
    drawn = tables(name) if draw(st.booleans()) else table_files.cases()
    return {
        **case,
        "edits": draw(st.lists(folders.edits(name) | folders.damages(), max_size=1)) if draw(st.booleans()) else [],
        "data": draw(st.sampled_from(DATA) | drawn if draw(st.booleans()) else st.sampled_from(DATA)),
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


def _frame(case: Document) -> pd.DataFrame:
    """The rows of a case: those of the sample, or those drawn, under the names of the sample."""
    data, name = case["data"], case["sample"]
    frame, labels = sample(name).frame, _labels(name)
    if not isinstance(data, dict):
        return pd.concat([frame, labels], axis=1).head(40)
    made = pd.DataFrame(data["rows"], columns=[*data["order"], "label"])
    made["age"] = made["age"].astype(float)
    made["admitted"] = pd.to_datetime(made["admitted"])
    chosen = [None if pd.isna(place) else int(place) for place in made.pop("label")]
    if name == "hostile":
        made["unit"] = made["unit"].map(lambda unit: HOSTILE_UNITS.get(unit, unit))
        made = made.rename(columns=HOSTILE_NAMES)
    if isinstance(labels, pd.Series):
        classes = sorted({*labels})
        told = [None if place is None else classes[place % len(classes)] for place in chosen]
        # A column of integers with gaps.
        made[labels.name] = pd.Series(told, dtype="object" if isinstance(classes[0], str) else "Int64")
    return made


def _table(case: Document, place: Place) -> tuple[str, bytes]:
    """Write the table of a case; return its name for the command, and what comes from standard input."""
    data = case["data"]
    if isinstance(data, dict) and "content" in data:
        path = place.write(data["name"], data["content"])
        return ("-", data["content"]) if data["options"]["stdin"] else (str(path), b"")
    frame, form = _frame(case), data["form"] if isinstance(data, dict) else data
    text = frame.to_csv(index=False)
    if form in ("csv", "tsv", "jsonl", "parquet", "csv.gz", "xlsx"):
        path = place.inputs / f"rows.{form}"
        if form == "parquet":
            frame.to_parquet(path)
        elif form == "xlsx":
            write_table(frame, path)
        elif form == "jsonl":
            frame.to_json(path, orient="records", lines=True, date_format="iso")
        else:
            frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
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
    """Run the command, and check its exit code, what it printed, what it wrote, and what it answered."""
    origin, command, data = sample(case["sample"]), case["command"], case["data"]
    folder = folders.Folder(origin)
    for edit in case["edits"]:
        folder.apply(edit)
    folder.write(place.inputs / "model", sealed=True)
    source, stdin = _table(case, place)
    if "known" in case:
        place.write("known.toml", case["known"].encode())
    if "script" in case:
        place.write("script.toml", "\n".join(map(_entry, case["script"])).encode())
    place.seal()
    model = str(place.inputs / "model")
    first = {
        "explain": [source],
        "predict": [model, source],
        "score": [model, source],
        "diff": [str(origin.folder), model],
        "edit": [model, str(place.inputs / "script.toml")] if "script" in case else [model],
    }
    options = [
        word.replace("{out}", str(place.outputs))
        .replace("{data}", source)
        .replace("{known}", str(place.inputs / "known.toml"))
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
    is_known = not (isinstance(data, dict) and "content" in data) and data not in ("nowhere", "long")
    asked = answers.Answered(
        command, origin, folder.documents["model.json"], bool(case["edits"]), options,
        _frame(case) if is_known else None, data in ("folder", "pattern"), ended.out, ended.code,
    )  # fmt: skip
    if {"-h", "--help"} & {*options}:
        return Outcome.agreed
    answers.check(asked)
    if "known" in case:
        answers.check_known(case["known"], place.outputs / "model")
    if "script" in case and not case["edits"]:
        answers.check_edited(origin.rules, case["script"], place.outputs / "new")
    return Outcome.agreed


def _entry(entry: Document) -> str:
    """An edit in TOML, whose basic strings escape as JSON does."""
    return "\n".join(["[[edit]]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())])


def _check_streams(command: str, ended: Run, options: list[str]) -> None:
    if ended.code not in CODES.get(command, {0, 2}):
        raise Failure(f"{command} ends with the exit code {ended.code}")
    check_shown(ended.err, "what is printed for reading")
    # It says in words of its own why a folder is not verified.
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
