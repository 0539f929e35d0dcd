"""Excel workbooks: read as the CSV of the same table, and written as sheets that openpyxl and Excel read as texts."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from logiclens.errors import LogicLensError
from logiclens.tables import workbooks
from logiclens.tables.files import open_table, read_table, write_table

openpyxl = pytest.importorskip("openpyxl")

FRAME = pd.DataFrame(
    {
        "id": ["p1", "p2", "p3", "p4"],
        "age": [31, 45, 60, 7],
        "bmi": [22.5, np.nan, 0.1, 1e22],
        "smoker": [True, False, True, False],
        "admitted": pd.to_datetime(["2021-03-01", "2022-01-31", "2020-02-29", "2021-12-24"]),
        "seen": pd.to_datetime(
            ["2021-03-01T12:30:00", "2022-01-31T00:00:00", "2020-02-29T23:59:59", "2021-12-24T00:00:00"]
        ),
        "note": ["a, b", 'say "x"', None, "two\nlines"],
    }
)


def book(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    """A workbook that openpyxl writes."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


@pytest.mark.parametrize("engine", ["openpyxl", "xlsxwriter"])
def test_a_workbook_is_the_table_of_its_csv(tmp_path, engine):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    FRAME.to_excel(tmp_path / "t.xlsx", index=False, engine=engine)
    as_text, as_book = read_table(tmp_path / "t.csv").frame, read_table(tmp_path / "t.xlsx").frame
    pd.testing.assert_frame_equal(as_book, as_text)
    assert as_book.dtypes.astype(str).tolist()[1:5] == ["int64", "float64", "bool", as_text["admitted"].dtype.name]
    with open_table(tmp_path / "t.xlsx", rows=2) as stream:
        chunks = pd.concat(list(stream.chunks(list(FRAME.columns))))
    pd.testing.assert_frame_equal(chunks, as_text)


def test_a_sheet_is_chosen_by_its_name(tmp_path):
    path = book(tmp_path / "t.xlsx", {"2025": [["x"], [1]], "2026": [["y"], [2]], "empty": []})
    assert list(read_table(path).frame.columns) == ["x"]
    assert list(read_table(path, sheet="2026").frame.columns) == ["y"]
    assert list(read_table("-", sheet="2026", stream=io.BytesIO(path.read_bytes())).frame.columns) == ["y"]
    with pytest.raises(LogicLensError, match=r"^t.xlsx has no sheet '2062'; did you mean '2026'\?$"):
        read_table(path, sheet="2062")
    with pytest.raises(LogicLensError, match=r"no cell of the sheet 'empty' of t.xlsx has a value"):
        read_table(path, sheet="empty")
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(LogicLensError, match="is no workbook: leave out the sheet"):
        read_table(tmp_path / "t.csv", sheet="2026")


def test_a_table_may_start_anywhere_on_the_sheet(tmp_path):
    rows = [[], [], [None, "x", "y"], [None, 1, "a"], [None, None, "b"], [None, 3, None], []]
    frame = read_table(book(tmp_path / "t.xlsx", {"s": rows})).frame
    assert frame["x"].tolist()[0::2] == [1.0, 3.0]
    assert np.isnan(frame["x"][1])
    assert frame["y"].tolist()[:2] == ["a", "b"]


def test_formulas_have_their_kept_values(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    made = xlsxwriter.Workbook(tmp_path / "t.xlsx")
    sheet = made.add_worksheet()
    sheet.write_row(0, 0, ["x", "twice"])
    sheet.write_row(1, 0, [2])
    sheet.write_formula(1, 1, "=A2*2", value=4)
    made.close()
    assert read_table(tmp_path / "t.xlsx").frame["twice"].tolist() == [4]


def test_an_error_is_told_with_sheet_and_address(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    made = xlsxwriter.Workbook(tmp_path / "t.xlsx")
    sheet = made.add_worksheet("visits")
    sheet.write_row(0, 0, ["x", "rate"])
    sheet.write_row(1, 0, [2, 0.5])
    sheet.write_row(2, 0, [0])
    sheet.write_formula(2, 1, "=1/A3", value="#DIV/0!")
    made.close()
    with pytest.raises(LogicLensError) as caught:
        read_table(tmp_path / "t.xlsx")
    assert str(caught.value) == (
        "cell B3 of the sheet 'visits' of t.xlsx holds the error #DIV/0!: mend its formula, or leave the cell empty."
    )


def test_texts_that_look_like_formulas_are_written_as_texts(tmp_path):
    texts = ["=1+1", "+1", "-x", "@SUM(A1)", "plain"]
    frame = pd.DataFrame({"=name": texts, "n": [-1, 2, 3, 4, 5]})
    write_table(frame, tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert [cell.value for cell in sheet["A"]] == ["=name", *texts]
    assert {cell.data_type for cell in sheet["A"]} == {"s"}
    # As after an apostrophe that somebody types: the cell stays a text when it is edited. A number is no formula.
    assert [cell.quotePrefix for cell in sheet["A"]] == [True, True, False, True, True, False]
    write_table(frame, tmp_path / "f.xlsx", keep_formulas=True)
    kept = openpyxl.load_workbook(tmp_path / "f.xlsx").active
    assert [cell.data_type for cell in kept["A"]] == ["f", "f", "s", "s", "s", "s"]
    assert not any(cell.quotePrefix for cell in kept["A"])


def test_a_written_sheet_reads_back_and_has_the_same_bytes(tmp_path):
    write_table(FRAME, tmp_path / "t.xlsx")
    write_table(FRAME, tmp_path / "u.xlsx")
    assert (tmp_path / "t.xlsx").read_bytes() == (tmp_path / "u.xlsx").read_bytes()
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    back = read_table(tmp_path / "t.xlsx").frame
    pd.testing.assert_frame_equal(back, read_table(tmp_path / "t.csv").frame)
    cell = openpyxl.load_workbook(tmp_path / "t.xlsx").active["E2"]
    assert (cell.value, cell.is_date) == (datetime(2021, 3, 1), True)


def test_what_a_sheet_cannot_hold_leaves_no_file(tmp_path):
    with pytest.raises(LogicLensError, match=r"at most 32,767 characters, A2 needs 40,000"):
        write_table(pd.DataFrame({"x": ["y" * 40_000]}), tmp_path / "t.xlsx")
    assert list(tmp_path.iterdir()) == []


# Hostile workbooks ---------------------------------------------------------------------------------------------------


def edited(path: Path, **parts: bytes | None) -> Path:
    """Replace parts of a workbook, named by the last word of their paths; None removes one."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, old in content.items():
            new = parts.get(Path(name).stem, old)
            if new is not None:
                archive.writestr(name, new)
    return path


def sheet_xml(rows: str) -> bytes:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'.encode()


def refusal(path: Path) -> str:
    with pytest.raises(LogicLensError) as caught:
        read_table(path)
    return str(caught.value)


@pytest.fixture
def small(tmp_path) -> Path:
    frame, path = pd.DataFrame({"x": [1], "y": ["a"]}), tmp_path / "t.xlsx"
    frame.to_excel(path, sheet_name="s", index=False, header=True, engine="xlsxwriter")
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("part", ["sheet1", "sharedStrings", "workbook", "styles"])
def test_document_types_in_a_workbook_are_refused(small, part, encoding):
    prolog = '<?xml version="1.0"?><!-- ' + "x" * 2_000_000 + ' --><!DOCTYPE a [<!ENTITY b "ha">]><a>&b;</a>'
    assert re.fullmatch(
        rf"t.xlsx has a document type declaration in '[a-zA-Z/]+{part}.xml', which no workbook needs: .*",
        refusal(edited(small, **{part: prolog.encode(encoding)})),
    )


def test_a_workbook_that_unpacks_to_gigabytes_is_refused(small, monkeypatch):
    monkeypatch.setattr(workbooks, "MOST_BYTES", 2**20)
    edited(small, sheet1=sheet_xml("<row><c><v>1</v></c></row>" * 50_000))
    assert small.stat().st_size < 2**14
    assert re.fullmatch(r"t.xlsx unpacks to 1,\d+,\d+ bytes, and at most 1,048,576 are read: save .*", refusal(small))


def test_a_text_that_is_repeated_to_gigabytes_is_refused(small, monkeypatch):
    monkeypatch.setattr(workbooks, "MOST_BYTES", 2**20)
    with zipfile.ZipFile(small) as archive:
        strings = archive.read("xl/sharedStrings.xml").replace(b"<t>x<", b"<t>" + b"x" * 2**15 + b"<")
    edited(small, sharedStrings=strings, sheet1=sheet_xml('<row><c t="s"><v>0</v></c></row>' * 100))
    assert (
        refusal(small) == "the texts of the sheet 's' of t.xlsx need more than 1,048,576 bytes: leave out long texts."
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ('<row r="1"><c r="A1"><v>1</v></c></row><row r="1000000"><c r="XFD1000000"><v>1</v></c></row>', "far off"),
        ('<row r="2000000000"><c><v>1</v></c></row>', "row 2000000000 of the sheet 's' of t.xlsx follows row 0, but"),
        ('<row r="2"><c><v>1</v></c></row><row r="1"><c><v>2</v></c></row>', "row 1 of .* follows row 2, but rows"),
        ('<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>', "row 1 of .* has two cells in one place"),
        ('<row><c r="ZZZZ1"><v>1</v></c></row>', "is not a whole Excel workbook: "),
        ('<row><c t="s"><v>99</v></c></row>', "is not a whole Excel workbook: "),
        (f"<row><c><v>{'9' * 5000}</v></c></row>", "is not a whole Excel workbook: "),
        (f'<row><c t="e"><v>#{"x" * 5000}</v></c></row>', "cell A1 of .* holds the error #x+…: mend its formula"),
        ("<row><c><f>1+1</f></c></row>", "no cell of the sheet 's' of t.xlsx has a value"),
    ],
)
def test_impossible_sheets_are_refused_in_one_sentence(small, rows, words):
    message = refusal(edited(small, sheet1=sheet_xml(rows)))
    assert re.search(words, message)
    assert len(message) < 400


def test_missing_and_cut_off_parts_are_refused(small):
    whole = small.read_bytes()
    for cut in range(0, len(whole) - 1, 97):
        small.write_bytes(whole[:cut])
        assert len(refusal(small)) < 300
    small.write_bytes(whole)
    assert refusal(edited(small, sheet1=None)) == "t.xlsx has no sheet."
    small.write_bytes(whole)
    assert refusal(edited(small, workbook=None)).startswith("t.xlsx is not a whole Excel workbook: ")


def test_cells_out_of_order_keep_their_places(small):
    rows = (
        '<row><c r="A1" t="str"><v>x</v></c><c r="B1" t="str"><v>y</v></c></row>'
        '<row><c r="B2"><v>2</v></c><c r="A2"><v>1</v></c></row>'
    )
    frame = read_table(edited(small, sheet1=sheet_xml(rows))).frame
    assert frame.to_dict("list") == {"x": [1], "y": [2]}


def test_characters_that_xml_lacks_are_read_as_they_were_written(tmp_path):
    frame = pd.DataFrame({"_x0041_": ["a\x1bb", "_x0041_", "x005F_", "a\r\nb"], "n": range(1, 5)})
    write_table(frame, tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").frame.to_dict("list") == frame.to_dict("list")
