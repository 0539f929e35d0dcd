"""A table file, well-formed, odd or malformed, is read cell by cell as plain readers do, or refused in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import zipfile
from datetime import datetime
from typing import Any

import pandas as pd
import pyarrow
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from logiclens.tables.files import TableFile, read_table
from tests.fuzz import hostile
from tests.fuzz.judge import Refused, attempt, hostile_examples, judged

Document = dict[str, Any]

ENCODINGS = (*["utf-8"] * 7, "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32")
DELIMITERS = (",", ",", ",", ";", "\t", "|", " ", ":", "\x1f", "a", '"', "¦", "\n", "", ",,")
RAW_JSON = (
    "null", "true", "1e400", "-0", "NaN", "Infinity", "[]", "{}", "[1]", '"\\ud800"', '"\\u0000"', "1" * 400,
    "9" * 5000,
    "1.5e-400", '{"a":{"b":1}}', "[" * 300 + "]" * 300, "[" * 100_000, '{"a":' * 3000, "1,", "'x'", '"\\x"', "01", "",
)  # fmt: skip
ARROW = (
    "int8", "uint64", "int64", "float16", "float32", "float64", "string", "large_string", "string_view", "binary",
    "bool", "date32", "date64", "timestamp", "timestamp_tz", "duration", "time", "decimal", "null", "dictionary",
    "list", "struct",
)  # fmt: skip

NO_OPTIONS: Document = {"delimiter": None, "missing": [], "stdin": False}

# Cases ---------------------------------------------------------------------------------------------------------------


def cells() -> st.SearchStrategy[str]:
    """The text of a cell: numbers and categories in most columns, anything in the others."""
    usual = st.sampled_from(["1", "2.5", "-3", "MICU", "CCU", "", "NA", "2021-03-01", "true", "false", "007"])
    return usual | usual | hostile.texts()


def grids() -> st.SearchStrategy[list[list[str]]]:
    """A header and rows of texts, of one width or ragged."""
    odd = st.lists(hostile.texts() | st.sampled_from(["age", "unit", "id", ""]), min_size=1, max_size=4)
    distinct = st.lists(hostile.names().map(str.strip).filter(bool), min_size=1, max_size=4, unique=True)
    names = distinct | distinct | distinct | odd

    @st.composite
    def drawn(draw: st.DrawFn) -> list[list[str]]:
        header, n_rows = draw(names), draw(st.integers(0, 6) | st.integers(2, 6))
        ragged = draw(st.integers(0, 9)) == 0
        widths = [draw(st.integers(0, len(header) + 1)) if ragged else len(header) for _ in range(n_rows)]
        return [header, *(draw(st.lists(cells(), min_size=width, max_size=width)) for width in widths)]

    return drawn()


@st.composite
def delimited(draw: st.DrawFn, *, clean: bool = False) -> Document:
    """Draw a text file: its bytes are written by Python's csv module, in some encoding, and then damaged or not."""
    grid = draw(grids())
    mark = draw(st.sampled_from([",", ",", ",", ";", "\t", "|"]))
    text = io.StringIO(newline="")
    end, quoting = (
        draw(st.sampled_from(["\n", "\r\n", "\r"])),
        draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    # Python's writer quotes only the line ends that it writes itself.
    writer = csv.writer(text, delimiter=mark, lineterminator=end, quoting=csv.QUOTE_ALL if end == "\r" else quoting)
    writer.writerows(grid)
    encoding = "utf-8" if clean else draw(st.sampled_from(ENCODINGS))
    content = text.getvalue().encode(encoding, "replace")
    plain = encoding in ("utf-8", "utf-8-sig")
    name = draw(st.sampled_from(["t.csv", "t.csv", "t.tsv" if mark == "\t" else "t.csv", "t.txt", "t.data", "T.CSV"]))
    case = {"name": name, "content": content, "grid": grid if plain else None, "mark": mark}
    return {**case, "options": NO_OPTIONS} if clean else _damaged(draw, case)


@st.composite
def json_lines(draw: st.DrawFn) -> Document:
    """Draw JSON lines or an array of objects; some values are raw texts that no JSON writer would write."""
    names = draw(st.lists(hostile.texts(lone=True), min_size=1, max_size=3, unique=True))
    value = st.none() | st.booleans() | hostile.integers() | st.floats(-1e9, 1e9) | hostile.texts(lone=True)
    records = [{name: draw(value) for name in names} for _ in range(draw(st.integers(0, 5)))]
    lines, grid = [json.dumps(record) for record in records], [names, *(list(record.values()) for record in records)]
    if records and draw(st.integers(0, 3)) == 0:
        lines.append(f"{{{json.dumps(names[0])}: {draw(st.sampled_from(RAW_JSON))}}}")
        grid = None
    text = "\n".join(lines) if draw(st.booleans()) else f"[{','.join(lines)}]"
    name = draw(st.sampled_from(["t.jsonl", "t.ndjson", "t.json"]))
    return _damaged(draw, {"name": name, "content": text.encode("utf-8", "surrogatepass"), "grid": grid})


@st.composite
def parquets(draw: st.DrawFn) -> Document:
    """Draw a Parquet file with columns of every type of Arrow."""
    n_rows = draw(st.integers(0, 5))
    kinds = draw(st.lists(st.sampled_from(ARROW), min_size=1, max_size=3))
    columns = [draw(st.lists(hostile.integers(), min_size=n_rows, max_size=n_rows)) for _ in kinds]
    names = draw(st.lists(hostile.texts(), min_size=len(kinds), max_size=len(kinds)))
    arrays = [arrow_array(kind, numbers) for kind, numbers in zip(kinds, columns, strict=True)]
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, names=names), out)
    return _damaged(
        draw, {"name": draw(st.sampled_from(["t.parquet", "t.pq"])), "content": out.getvalue(), "grid": None}
    )


@st.composite
def workbooks(draw: st.DrawFn) -> Document:
    """Draw a workbook, of which a byte is changed, the end is cut off, or a value of its XML is another text."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out)
    sheet = book.add_worksheet()
    for row, line in enumerate(draw(grids())):
        for column, cell in enumerate(line):
            sheet.write_string(row, column, cell)
    book.close()
    content = out.getvalue()
    if draw(st.booleans()):
        return _damaged(draw, {"name": "t.xlsx", "content": content, "grid": None})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw(st.sampled_from(sorted(parts)))
    # The value of an attribute, or the text of an element.
    values = list(re.finditer(rb'(?<=")[^"<>]*(?=")|(?<=>)[^<>]+(?=<)', parts[name]))
    value, text = draw(st.sampled_from(values)), draw(hostile.texts() | st.sampled_from(["x" * 300, "<", "&#0;"]))
    parts[name] = parts[name][: value.start()] + text.encode() + parts[name][value.end() :]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    return {"name": "t.xlsx", "content": out.getvalue(), "grid": None, "options": NO_OPTIONS}


def arrow_array(kind: str, numbers: list[int]) -> Any:
    """Return an array of a type of Arrow whose values come from numbers; every third is missing."""
    gaps = [None if place % 3 == 2 else number for place, number in enumerate(numbers)]
    small = [None if number is None else number % 100 for number in gaps]
    if kind in ("string", "large_string", "string_view", "dictionary"):
        texts = [None if number is None else hostile.EVERY[number % len(hostile.EVERY)] for number in gaps]
        plain = pyarrow.array(texts, type=getattr(pyarrow, kind)() if kind != "dictionary" else pyarrow.string())
        return plain.dictionary_encode() if kind == "dictionary" else plain
    if kind == "binary":
        return pyarrow.array([None if number is None else bytes([number % 256]) for number in gaps])
    if kind in ("date32", "date64", "duration", "time", "timestamp", "timestamp_tz"):
        types = {
            "date32": pyarrow.date32(), "date64": pyarrow.date64(), "duration": pyarrow.duration("us"),
            "time": pyarrow.time64("us"), "timestamp": pyarrow.timestamp("us"),
            "timestamp_tz": pyarrow.timestamp("us", tz="Europe/Rome"),
        }  # fmt: skip
        base = pyarrow.array(small, pyarrow.int32() if kind == "date32" else pyarrow.int64())
        return base.cast(types[kind])
    if kind == "bool":
        return pyarrow.array([None if number is None else number % 2 == 0 for number in gaps])
    if kind == "list":
        return pyarrow.array([None if number is None else [number] for number in small])
    if kind == "struct":
        return pyarrow.array([None if number is None else {"a": number} for number in small])
    if kind == "null":
        return pyarrow.nulls(len(gaps))
    if kind == "decimal":
        return pyarrow.array(small, pyarrow.int64()).cast(pyarrow.decimal128(30, 2))
    if kind in ("uint64", "int64"):
        low, high = (0, 2**64 - 1) if kind == "uint64" else (-(2**63), 2**63 - 1)
        return pyarrow.array([None if n is None else min(max(n, low), high) for n in gaps], getattr(pyarrow, kind)())
    return pyarrow.array(small, pyarrow.int64()).cast(getattr(pyarrow, kind)())


def _damaged(draw: st.DrawFn, case: Document) -> Document:
    """Draw damage to a file (often none), its compression, and the options it is read with."""
    content = bytearray(case["content"])
    damage = draw(st.sampled_from([None, None, None, None, None, "flip", "cut", "insert", "repeat", "crlf"]))
    if damage is not None:
        case["grid"] = None
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        if damage == "flip" and content:
            content[at] ^= draw(st.integers(1, 255))
        elif damage == "cut":
            del content[at:]
        elif damage == "insert":
            content[at:at] = draw(st.binary(max_size=4) | st.sampled_from([b'"', b"\x00", b"\xff", b"\xed\xa0\x80"]))
        elif damage == "repeat":
            content *= draw(st.sampled_from([2, 3]))
        else:
            content = bytearray(bytes(content).replace(b"\n", b"\r"))
    case["content"] = bytes(content)
    packed = draw(st.sampled_from([False, False, False, True]))
    if packed:
        case["name"] += ".gz"
        case["content"] = gzip.compress(case["content"], mtime=0)
        if draw(st.integers(0, 3)) == 0:
            case["content"], case["grid"] = case["content"][: draw(st.integers(0, 40))], None
    options = dict(NO_OPTIONS)
    if draw(st.integers(0, 3)) == 0:
        options["delimiter"] = draw(st.sampled_from(DELIMITERS) | st.just(case.get("mark", ",")))
        options["missing"] = draw(st.lists(hostile.texts(lone=True), max_size=2))
        options["stdin"] = draw(st.booleans())
    return {**case, "options": options}


def raw_files() -> st.SearchStrategy[Document]:
    """Draw bytes under any name."""
    names = st.sampled_from(["t.csv", "t.jsonl", "t.parquet", "t.xlsx", "t", ".csv", "t.csv.gz", "t.json", "t.pq.gz"])
    contents = st.binary(max_size=60) | st.sampled_from(
        [b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"\xef\xbb\xbf", b"[", b"{"]
    )
    return st.fixed_dictionaries(
        {"name": names, "content": contents, "grid": st.none(), "options": st.just(NO_OPTIONS)}
    )


FILES = {
    "clean": delimited(clean=True),
    "delimited": delimited(),
    "json": json_lines(),
    "parquet": parquets(),
    "workbook": workbooks(),
    "raw": raw_files(),
}

# Checks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FILES)
@given(data=st.data())
@hostile_examples(200)
def test_a_file_is_read_cell_by_cell_or_refused(kind: str, data: st.DataObject) -> None:
    case = data.draw(FILES[kind])
    options = case["options"]
    with judged() as place:
        path = place.write(case["name"], case["content"])
        place.seal()
        source, stream = ("-", io.BytesIO(case["content"])) if options["stdin"] else (path, None)
        table = attempt(
            read_table, source, delimiter=options["delimiter"], missing=options["missing"], stream=stream
        )  # fmt: skip
    if isinstance(table, Refused):
        return
    assert isinstance(table, TableFile)
    names = list(table.frame.columns)
    assert len(table.frame)
    assert names
    assert all(isinstance(name, str) and name for name in names)
    assert len({*names}) == len(names)
    is_usual = options["delimiter"] in (None, case.get("mark")) and not options["missing"] and not options["stdin"]
    if case["grid"] is not None and is_usual:
        check_grid(case, table.frame)


def check_grid(case: Document, frame: pd.DataFrame) -> None:
    """Fail unless each cell has the value that its text has for a plain reader."""
    header, *rows = case["grid"]
    rows = [row for row in rows if row]
    texts = [text for row in [header, *rows] for text in row if isinstance(text, str)]
    if "mark" in case and any("\r" in text or text.startswith("\ufeff") for text in texts):
        # Outside quotes, a carriage return ends a line, and a mark of the encoding is no part of a name.
        return
    if any(len(row) == 1 and not str(row[0]).strip() for row in [header, *rows]) or any(
        len(row) != len(header) for row in rows
    ):
        # A blank line may be a row with a blank cell or no row, and a ragged table may have another delimiter.
        return
    is_text = "mark" in case
    names = [name.strip() for name in header] if is_text else header
    # Another delimiter may fit the text just as well, and a first column that counts the rows is left out.
    if list(frame.columns) not in (names, names[1:]):
        assert len(frame.columns) != len(names) or case.get("mark", ",") != ","
        return
    assert len(frame) == len(rows)
    for place, name in enumerate(frame.columns, len(names) - len(frame.columns)):
        for text, value in zip([row[place] for row in rows], frame[name].tolist(), strict=True):
            assert same(text, value) if is_text else same_json(text, value), f"{text!r} is read as {value!r}"


def same_json(cell: Any, value: Any) -> bool:
    """Whether a value is what a cell of JSON stands for; a column of several kinds is read as text."""
    if cell is None:
        return bool(pd.isna(value))
    return (
        value == cell or same(str(cell), value) or (isinstance(cell, str) and bool(pd.isna(value)) and same(cell, None))
    )


def same(text: str, value: Any) -> bool:
    """Whether a value is what a text stands for; a text may always stand for itself."""
    text = text.strip()
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return text.lower() in MISSING
    if isinstance(value, str):
        return value.strip() == text
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | float):
        try:
            return float(text.replace(",", ".")) == float(value)
        except ValueError:
            return False
    if isinstance(value, datetime):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=None) is not None
        except ValueError:
            return isinstance(value, pd.Timestamp)
    return isinstance(value, pd.Timedelta)


MISSING = {"", "na", "n/a", "nan", "-nan", "null", "none", "<na>", "#n/a", "#na", "-1.#ind", "-1.#qnan", "#n/a n/a",
            "1.#ind", "1.#qnan", "nat", "?"}  # fmt: skip
