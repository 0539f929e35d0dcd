"""Tables from files, checked with hashlib, the csv and gzip modules, and pandas."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import sys
import zipfile

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from logiclens.errors import LogicLensError
from logiclens.tables.files import open_table, read_table
from logiclens.tables.formats import unpacked
from tests.table_files import PLAIN, cells, refusal, writer_into


@pytest.fixture
def put(tmp_path):
    return writer_into(tmp_path)


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.txt", "t.data", "t.csv.gz", "t.Csv.GZ"])
def test_the_table_has_its_name_and_its_files_hash(put, name):
    content = gzip.compress(PLAIN.encode()) if name.lower().endswith(".gz") else PLAIN.encode()
    table = read_table(put(content, name))
    assert (table.name, table.n_bytes) == (name, len(content))
    assert table.sha256 == hashlib.sha256(content).hexdigest()
    pd.testing.assert_frame_equal(table.frame, pd.read_csv(io.StringIO(PLAIN)))


def test_two_tables_are_not_compared_cell_by_cell(put):
    table = read_table(str(put(PLAIN)))
    assert table == table
    assert table != read_table(put(PLAIN))


@pytest.mark.parametrize(
    ("content", "kind"),
    [(PLAIN, "csv"), (PLAIN.replace(",", ";"), "csv"), ('\n {"name": "Ann", "age": 31}\n', "json"),
     ('[\n  {"name": "Ann", "age": 31}]', "json")],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_looked_at(content, kind, packed):
    data = gzip.compress(content.encode()) if packed else content.encode()
    table = read_table("-", stream=io.BytesIO(data))
    assert (table.name, table.n_bytes) == ("standard input", len(data))
    assert table.sha256 == hashlib.sha256(data).hexdigest()
    assert list(table.frame.columns)[:2] == ["name", "age"]
    assert table.frame["age"].tolist() == ([31, 45] if kind == "csv" else [31])


def test_standard_input_is_the_default_stream_and_may_be_parquet(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "t.parquet").read_bytes())))
    pd.testing.assert_frame_equal(read_table("-").frame, frame)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_and_line_ends(put, encoding, end, packed):
    text = "größe ,b\né,1\nö,2\n\n\n".replace("\n", end)
    data = text.encode(encoding)
    if encoding[-2:] in ("le", "be"):
        data = "\ufeff".encode(encoding) + data
    frame = read_table(put(gzip.compress(data) if packed else data)).frame
    assert list(frame.columns) == ["größe", "b"]
    assert cells(frame) == [["é", 1], ["ö", 2]]


# What is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b'"', b'""\n', b'"", ""\n'])
def test_a_text_of_nothing_but_quotes(put, content):
    assert refusal(put(content, "t.csv")) == "t.csv is empty."


@pytest.mark.parametrize("content", [b"", b"\n\r\n  \n", b"\xef\xbb\xbf", b"\xff\xfe", gzip.compress(b"", mtime=0)])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.txt.gz"])
def test_an_empty_file(put, content, name):
    assert refusal(put(content, name)) == f"{name} is empty."


def test_a_text_of_windows_is_read_with_a_note(put):
    text = "ort,preis\nKöln,5 €\n" + "Bonn,6 €\n" * 200_000
    for data, name in ((text.encode("cp1252"), "t.csv"), (gzip.compress(text.encode("cp1252")), "t.csv.gz")):
        file = read_table(put(data, name))
        assert file.frame.equals(pd.read_csv(io.StringIO(text)))
        assert file.notes == (f"{name} is not UTF-8: it is read as Windows-1252.",)
        with open_table(put(data, name)) as stream:
            assert stream.notes == file.notes
            assert next(stream.chunks(["ort"]))["ort"].iloc[0] == "Köln"
    assert read_table("-", stream=io.BytesIO("ort,n\nKöln,1\n".encode("cp1252"))).frame["ort"].tolist() == ["Köln"]
    assert read_table(put("ort,n\nKöln,1\n".encode())).notes == ()


def test_what_is_no_text_is_named_by_the_byte(put):
    # What Windows-1252 does not know, or would have no use for; nor are JSON lines ever of it.
    for data in (b"a,b\n\xf6\x81,2\n", b"a,b\n\xf6\x02,2\n"):
        assert refusal(put(data)) == "t.csv is not UTF-8: byte 0xf6 at position 4; save it as UTF-8."
    assert "position 3000004;" in refusal(put(b"a,b\n" + b"1,2\n" * 750_000 + b"\xf6\x02,2\n"))
    assert "position 7;" in refusal(put(b'{"a": "\xf6"}\n', "t.jsonl"))
    assert refusal(put(b"a\0,\0b\0\n\0")) == "t.csv is not text, as it holds zero bytes: save it as UTF-8."
    assert refusal(put(b"\xff\xfea\0,")) == "t.csv starts as UTF-16 but cannot be decoded: save it as UTF-8."


def test_a_file_that_is_not_there(put, tmp_path):
    put(PLAIN, "patients.csv")
    path = tmp_path / "pateints.csv"
    assert refusal(path) == f"there is no file {path}; did you mean patients.csv?"
    # Alike in its ending, but not close.
    assert refusal(tmp_path / "adults.csv") == f"there is no file {tmp_path / 'adults.csv'}."
    assert refusal(tmp_path / "zzz.parquet") == f"there is no file {tmp_path / 'zzz.parquet'}."
    assert refusal(tmp_path / "no" / "t.csv").endswith(f"and no folder {tmp_path / 'no'} either.")
    assert refusal(tmp_path) == f"{tmp_path} is a folder: name a file in it."
    assert refusal(put(PLAIN, "t.ods")).startswith("t.ods is of no known format: its name must end in one of .csv")
    assert refusal(put(PLAIN, "t")).startswith("t is of no known format")


def test_a_file_that_may_not_be_read(put, monkeypatch):
    path = put(PLAIN)

    def denied(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", denied)
    assert refusal(path) == f"cannot read {path}: Permission denied."


def workbook(*members) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        for member in members:
            book.writestr(member, "<xml/>" * 50)
    return packed.getvalue()


def test_an_excel_workbook_of_another_name_is_refused(put):
    new = workbook("[Content_Types].xml", "_rels/.rels", "docProps/app.xml", "xl/workbook.xml", "xl/worksheets/s1.xml")
    old = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512)
    for name in ("t.xls", "t.csv", "t.txt", "t.json", "t.parquet"):
        for data in (new, new[: len(new) // 2]):
            assert refusal(put(data, name)).startswith(
                f"{name} is an Excel workbook: give it a name that ends in .xlsx"
            )
        assert refusal(put(old, name)).startswith(f"{name} is an Excel workbook that is older than .xlsx")
    assert refusal(put(old, "t.xlsx")).startswith("t.xlsx is an Excel workbook that is older than .xlsx")
    assert refusal(put(PLAIN, "t.xlsx")).startswith("t.xlsx is not an Excel workbook")
    for data in (new, new[: len(new) // 2]):
        assert refusal(put(data, "t.xlsx")).startswith("t.xlsx is not a whole Excel workbook: ")
    assert "is an Excel workbook" in refusal(put(gzip.compress(new), "t.csv.gz"))
    with pytest.raises(LogicLensError, match=r"^standard input is not a whole Excel workbook"):
        read_table("-", stream=io.BytesIO(new))
    # Other zips, and a table that starts with these letters.
    assert refusal(put(workbook("word/document.xml", "word/xl/x.xml"), "t.docx")).startswith("t.docx is of no known")
    assert "Excel" not in refusal(put(workbook("data.csv"), "t.csv"))
    assert list(read_table(put("PK,xl/\n1,2\n")).frame.columns) == ["PK", "xl/"]


def test_a_damaged_gz(put):
    whole = gzip.compress(PLAIN.encode() * 1000)
    for cut in (12, len(whole) // 2, len(whole) - 4):
        assert refusal(put(whole[:cut], "t.csv.gz")) == "t.csv.gz is a damaged or cut-off gz file: copy it again."
    flipped = bytearray(whole)
    flipped[20:30] = b"\xff" * 10
    assert "damaged" in refusal(put(bytes(flipped), "t.csv.gz"))
    # A name alone does not compress.
    assert len(read_table(put(PLAIN, "t.csv.gz")).frame) == 2


# The real thing ------------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_the_mimic_file_has_the_line_ends_of_macs(data_folder):
    path = data_folder / "mimic2" / "full_cohort_data.csv.gz"
    data = gzip.decompress(path.read_bytes())
    assert b"\n" not in data
    table = read_table(path)
    assert table.frame.shape == (1776, 46)
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    rows = list(csv.reader(data.decode().split("\r")))
    assert list(table.frame.columns) == rows[0]
    assert table.frame["age"].tolist() == [float(row[3]) for row in rows[1:] if row]
    whole = pd.read_csv(path)
    whole["day_icu_intime"] = whole["day_icu_intime"].str.strip()
    pd.testing.assert_frame_equal(table.frame, whole)


@pytest.mark.data
def test_the_vdem_file_is_what_pandas_reads(data_folder):
    path = data_folder / "vdem" / "vdem_concepts_2001_2021.csv.gz"
    pd.testing.assert_frame_equal(read_table(path).frame, pd.read_csv(path))


TEXTS = [pa.string(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string()), pa.string_view(), pa.large_string()]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_a_repeated_text_of_parquet_counts_each_time(tmp_path, kind):
    column = pa.DictionaryArray.from_arrays(pa.array([0, None, 1] * 1_000, pa.int32()), ["x" * 2_000, "é"])
    column = column if pa.types.is_dictionary(kind) else column.cast(pa.string()).cast(kind)
    path, n_bytes = tmp_path / "t.parquet", 1_000 * 2_000 + 1_000 * 2
    parquet.write_table(pa.table({"n": range(3_000), "t": column}), path)
    assert path.stat().st_size < 50_000
    pd.testing.assert_frame_equal(read_table(path, most_bytes=n_bytes).frame, read_table(path).frame)
    with pytest.raises(LogicLensError, match=r"t.parquet unpacks to more than 2,001,999 bytes"):
        read_table(path, most_bytes=n_bytes - 1)


@pytest.mark.parametrize(
    ("encoding", "told"), [("DELTA_LENGTH_BYTE_ARRAY", None), ("DELTA_BYTE_ARRAY", "of which nobody knows how large")]
)
def test_texts_of_parquet_without_a_dictionary_are_read_or_refused(tmp_path, encoding, told):
    table = pa.table({"n": range(300), "t": [f"common {place}" for place in range(300)]})
    parquet.write_table(table, tmp_path / "t.parquet", use_dictionary=False, column_encoding={"t": encoding})
    expected = read_table(tmp_path / "t.parquet").frame
    if told is None:
        pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet", most_bytes=100_000).frame, expected)
        with pytest.raises(LogicLensError, match=r"unpacks to more than 2,000 bytes"):
            read_table(tmp_path / "t.parquet", most_bytes=2_000)
    else:
        with pytest.raises(LogicLensError, match=told):
            read_table(tmp_path / "t.parquet", most_bytes=100_000)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ([("n", pa.array([b"x" * 5_000] * 1_000, pa.binary(5_000)))], "unpacks to more than 1,000,000 bytes"),
        ([("n", pa.array(["x" * 5_000] * 1_000)), ("n", pa.array(range(1_000)))], "are both named 'n'"),
    ],
    ids=["fixed size", "two names"],
)
def test_columns_of_parquet_are_refused_before_they_are_read(tmp_path, monkeypatch, columns, told):
    names, arrays = zip(*columns, strict=True)
    parquet.write_table(pa.Table.from_arrays(list(arrays), names=list(names)), tmp_path / "t.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "read", None)
    with pytest.raises(LogicLensError, match=told):
        read_table(tmp_path / "t.parquet", most_bytes=1_000_000)


def test_a_list_of_parquet_is_refused_before_it_is_read(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"n": [1, 2], "t": [[1], [2, 3]]}), tmp_path / "t.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "read", None)
    with pytest.raises(LogicLensError, match=r"the column 't' of t.parquet holds list<.*>: a cell must be one value"):
        read_table(tmp_path / "t.parquet")


def test_no_more_is_unpacked_than_is_allowed(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 3_000_000))
    (tmp_path / "scratch").mkdir()
    with pytest.raises(LogicLensError, match=r"t unpacks to more than 3,000,000 bytes"):
        unpacked(tmp_path / "t.csv.gz", tmp_path / "scratch", "t", 3_000_000)
    assert (tmp_path / "scratch" / "plain").stat().st_size <= 3_000_000
