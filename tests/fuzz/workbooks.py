"""Door of Excel workbooks: the same table gives the same cells as CSV; what is damaged or absurd is refused."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from datetime import datetime
from typing import Any

import pandas as pd
import xlsxwriter
from hypothesis import strategies as st

from logiclens.tables.files import TableFile, read_table, write_table
from tests.fuzz import hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt

Document = dict[str, Any]

SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LAUGHS = (
    '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>',
    "<!DOCTYPE a>",
    '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
)
ROWS = (
    '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    '<row r="2000000000"><c><v>1</v></c></row>', '<row r="-1"><c><v>1</v></c></row>', '<row r="x"/>', "<row/>" * 50,
    '<row r="2"><c><v>1</v></c></row><row r="1"><c><v>1</v></c></row>', '<row><c r="ZZZZ1"><v>1</v></c></row>',
    '<row><c r="1"><v>1</v></c></row>', '<row><c r=""><v>1</v></c></row>', '<row><c t="s"><v>999999</v></c></row>',
    '<row><c t="s"><v>-1</v></c></row>', '<row><c t="b"><v>7</v></c></row>', '<row><c t="d"><v>soon</v></c></row>',
    '<row><c t="e"><v>#NAME?</v></c></row>', '<row><c t="e"><v>#N/A</v></c></row>', "<row><c><f>1+1</f></c></row>",
    '<row><c s="99999"><v>1</v></c></row>', '<row><c s="-1"><v>1</v></c></row>', "<row><c><v>1e999</v></c></row>",
    f"<row><c><v>{'9' * 5000}</v></c></row>", "<row><c><v>x</v></c></row>", '<row><c t="odd"><v>x</v></c></row>',
    "<row><c><is><t>x</t></is></c></row>", "<row><c><v></v></c></row>", '<row><c t="inlineStr"><is/></c></row>',
    "<x>" * 3000 + "</x>" * 3000, '</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells><sheetData>',
    '</sheetData><mergeCells><mergeCell ref="nowhere"/></mergeCells><sheetData>', "<row><c t='str'><v>a</v></c></row>",
)  # fmt: skip
"""What stands between the tags of the rows of a sheet."""
SHEETS = (None, None, None, "s", "nothing", "", "\x1b[31m", "x" * 300)

# Cases ---------------------------------------------------------------------------------------------------------------


def cells() -> st.SearchStrategy[Any]:
    """Numbers, Booleans, dates (as ISO texts behind `$date`), gaps and texts."""
    days = st.datetimes(datetime(1901, 1, 1), datetime(2199, 12, 31)).map(
        lambda moment: {"$date": moment.replace(microsecond=0).isoformat()}
    )
    numbers = st.integers(-(10**6), 10**6) | st.floats(-1e9, 1e9).map(lambda number: float(f"{number:.12g}"))
    return numbers | st.booleans() | st.none() | days | hostile.texts()


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw a table and where it stands in its sheet, and often damage to a part, to the zip, or to the bytes."""
    header = draw(st.lists(hostile.names() | st.sampled_from(["a", "b"]), min_size=1, max_size=3))
    column = st.sampled_from([cells(), st.integers(0, 9), hostile.texts()])
    kinds = [draw(column) for _ in header]
    n_rows = draw(st.integers(1, 5))
    damage = draw(st.sampled_from([None, None, None, "flip", "cut", "drop", "laughs", "rows", "text", "repeat"]))
    return {
        "grid": [header, *([draw(kind) for kind in kinds] for _ in range(n_rows))],
        "at": draw(st.sampled_from([[0, 0], [0, 0], [2, 1], [0, 5]])),
        "title": draw(st.sampled_from(["s", "s", "年", "a b", "x" * 31])),
        "sheet": draw(st.sampled_from(SHEETS)),
        "damage": damage,
        "place": draw(st.integers(0, 20_000)),
        "with": draw(
            {"flip": st.integers(1, 255), "laughs": st.sampled_from(LAUGHS), "rows": st.sampled_from(ROWS),
             "text": hostile.texts() | st.sampled_from(["x" * 300, "<", "&#0;", "&b;"])}.get(str(damage), st.none())
        ),
    }  # fmt: skip


# Checks --------------------------------------------------------------------------------------------------------------


def _value(cell: Any) -> Any:
    return datetime.fromisoformat(cell["$date"]) if isinstance(cell, dict) else cell


def _book(case: Document) -> bytes:
    """The table as xlsxwriter writes it."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(
        out, {"strings_to_urls": False, "strings_to_formulas": False, "default_date_format": "yyyy-mm-dd hh:mm:ss"}
    )
    sheet, (top, left) = book.add_worksheet(case["title"]), case["at"]
    for row, line in enumerate(case["grid"]):
        for column, cell in enumerate(line):
            if cell not in (None, ""):
                sheet.write(top + row, left + column, _value(cell))
    book.close()
    return out.getvalue()


def _damaged(content: bytes, case: Document) -> bytes:
    """Damage the bytes, or a part of the zip, which is then packed again."""
    damage, place = case["damage"], case["place"]
    if damage == "flip":
        at = place % len(content)
        return content[:at] + bytes([content[at] ^ case["with"]]) + content[at + 1 :]
    if damage == "cut":
        return content[: place % len(content)]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    names = sorted(parts)
    name = "xl/worksheets/sheet1.xml" if damage == "rows" else names[place % len(names)]
    if damage == "drop":
        del parts[name]
    elif damage == "rows":
        body = f'<worksheet xmlns="{SPACE}"><sheetData>{case["with"]}</sheetData></worksheet>'
        parts[name] = body.encode()
    elif damage == "laughs":
        parts[name] = re.sub(rb"(<\?xml[^>]*>)?", lambda found: found[0] + case["with"].encode(), parts[name], count=1)
    elif damage in ("text", "repeat"):
        # The value of an attribute, or the text of an element.
        values = list(re.finditer(rb'(?<=")[^"<>]*(?=")|(?<=>)[^<>]+(?=<)', parts[name]))
        found = values[place % len(values)]
        new = case["with"].encode() if damage == "text" else found[0] * 50
        parts[name] = parts[name][: found.start()] + new + parts[name][found.end() :]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def _as_csv(case: Document) -> bytes:
    """The same table as CSV, written by Python's csv module."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for line in case["grid"]:
        writer.writerow(["" if cell is None else _text(_value(cell)) for cell in line])
    return out.getvalue().encode()


def _text(cell: Any) -> str:
    if isinstance(cell, datetime):
        return str(cell.date()) if str(cell).endswith("00:00:00") else str(cell)
    if isinstance(cell, float) and cell == int(cell) and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell).replace("\0", "")


def check(case: Document, place: Place) -> Outcome:
    """Read the workbook, and compare it with the CSV of the same table; write it and read it again."""
    content = _book(case)
    if case["damage"]:
        content = _damaged(content, case)
    path, text = place.write("t.xlsx", content), place.write("t.csv", _as_csv(case))
    place.seal()
    table = attempt(read_table, path, sheet=case["sheet"])
    if isinstance(table, Refused):
        usual = case["damage"] is None and case["sheet"] in (None, case["title"]) and _is_plain(case)
        if usual and not isinstance(attempt(read_table, text, delimiter=","), Refused):
            raise Failure("a workbook is refused whose CSV is read", table.message)
        return Outcome.refused
    if not isinstance(table, TableFile) or not len(table.frame) or not len(table.frame.columns):
        raise Failure("a table without rows or columns is read")
    if case["damage"] == "laughs":
        raise Failure("a document type is accepted")
    if case["damage"] is None and _is_plain(case):
        _check_same(table.frame, attempt(read_table, text, delimiter=","), "a workbook is not its CSV")
    out = place.outputs / "again.xlsx"
    if not isinstance(attempt(write_table, table.frame, out), Refused):
        again = attempt(read_table, out)
        # A sheet ends with its last cell that has a value.
        whole = not table.frame.iloc[-1].isna().all()
        if whole and isinstance(again, TableFile) and again.frame.shape[0] != table.frame.shape[0]:
            raise Failure("a written workbook has other rows")
    return Outcome.agreed


def _is_plain(case: Document) -> bool:
    """Whether xlsxwriter writes the texts as they are, and an empty edge of the table leaves its size."""
    texts = [cell for line in case["grid"] for cell in line if isinstance(cell, str)]
    odd = any("_x" in text or "\r" in text or "\0" in text or "\ufffe" in text or "\uffff" in text for text in texts)
    edges = [case["grid"][-1], *zip(*case["grid"], strict=True)]
    return not odd and all(any(cell not in (None, "") for cell in edge) for edge in edges)


def _check_same(frame: pd.DataFrame, other: TableFile | Refused, kind: str) -> None:
    if isinstance(other, Refused):
        raise Failure(kind, other.message)
    if list(frame.columns) != list(other.frame.columns) or not frame.equals(other.frame):
        raise Failure(kind, f"{frame.to_dict('list')} instead of {other.frame.to_dict('list')}"[:1000])
