"""Tables from files and back; the judges are the csv and json modules, pandas, polars and known values."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import stat
import sys
import warnings
from datetime import date, datetime
from decimal import Decimal
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logiclens.data import files
from logiclens.data.files import mixed_columns, read_table, write_table
from logiclens.errors import LogicLensError

PLAIN = "name,age,bmi\nAnn,31,22.5\nBo,45,\n"


@pytest.fixture
def put(tmp_path):
    """Write bytes or text to a file of this name."""

    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(source, **options) -> str:
    with pytest.raises(LogicLensError) as caught:
        read_table(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message[-1] in ".?"
    return message


def cells(frame: pd.DataFrame) -> list[list[object]]:
    return [[None if pd.isna(cell) else cell for cell in row] for row in frame.itertuples(index=False, name=None)]


# What was read -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.txt", "t.data", "t.csv.gz", "t.Csv.GZ"])
def test_the_table_comes_with_its_name_and_the_hash_of_its_bytes(put, name):
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


# Delimited text ----------------------------------------------------------------------------------------------------

FIELD = st.text(st.sampled_from('ab,;|\t"\n\r .é0'), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(FIELD, min_size=n, max_size=n), min_size=1, max_size=6)),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_every_quoted_field_is_the_one_that_was_written(tmp_path, rows, delimiter, end, bom):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([[f"n{i}" for i in range(len(rows[0]))], *rows])
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" * bom + out.getvalue().encode())
    frame = read_table(path, delimiter=delimiter).frame
    assert list(frame.columns) == [f"n{i}" for i in range(len(rows[0]))]
    read = frame.astype(object).where(frame.notna(), "").astype(str).to_numpy().tolist()
    # A number is judged by its value and a missing cell by its emptiness.
    for mine, written in zip(chain(*read), chain(*rows), strict=True):
        assert mine == written or float(mine) == float(written)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_quotes_are_honoured(put, delimiter):
    text = 'a@"b,;|\tc"@d\n1@"x,;|\t,;|\t"@2\n3@"y"@4\n'.replace("@", delimiter)
    frame = read_table(put(text)).frame
    judged = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    assert list(frame.columns) == judged[0]
    assert cells(frame) == [[1, "x,;|\t,;|\t", 2], [3, "y", 4]]


def test_the_delimiter_that_splits_all_lines_alike_wins(put):
    frame = read_table(put("last, first and middle|born, maybe|x\nA|1,5|2\nB, C, D|2|3\n")).frame
    assert list(frame.columns) == ["last, first and middle", "born, maybe", "x"]


def test_a_tsv_file_is_split_at_tabs(put):
    frame = read_table(put("a,b\tc\n1,2\t3\n", "t.tsv")).frame
    assert cells(frame) == [["1,2", 3]]
    assert "',' splits it into 2: use that" in refusal(put("a,b\n1,2\n", "t.tsv"))
    assert cells(read_table(put("a,b\n1,2\n", "t.tsv"), delimiter=",").frame) == [[1, 2]]


def test_european_files_just_work(put):
    text = "Größe;Preis;Ort;Zahl;Rest\n3,14;1;Köln, Süd;,5;1,5\n-2;2;Bonn;1,5e3;x\n;3;Ulm;inf;2,5\n"
    frame = read_table(put(text)).frame
    assert frame["Größe"].tolist()[:2] == [3.14, -2.0]
    assert np.isnan(frame["Größe"].iloc[2])
    assert frame["Zahl"].tolist() == [0.5, 1500.0, np.inf]
    assert frame["Preis"].dtype.kind == "i"
    # One cell of another form, and the column is text.
    assert frame["Rest"].tolist() == ["1,5", "x", "2,5"]
    assert frame["Ort"].iloc[0] == "Köln, Süd"


def test_a_decimal_comma_is_no_decimal_comma_where_the_comma_is_the_delimiter(put):
    assert read_table(put('a,b\n"3,14",1\n')).frame["a"].tolist() == ["3,14"]


def test_a_given_delimiter_that_does_not_split_is_refused(put):
    message = refusal(put("a;b;c\n1;2;3\n"), delimiter=",")
    assert message == "with the delimiter ',' t.csv has one column, but ';' splits it into 3: use that."
    assert "but tab splits" in refusal(put("a\tb\n1\t2\n"), delimiter="|")
    # One that splits nothing either is no better.
    assert read_table(put("a\n1\n"), delimiter=";").frame["a"].tolist() == [1]
    assert cells(read_table(put("a:b\n1:2\n"), delimiter=":").frame) == [[1, 2]]
    assert cells(read_table(put("a b\n1 2\n"), delimiter=" ").frame) == [[1, 2]]
    for tab in ("\t", "\\t", "tab"):
        assert cells(read_table(put("a\tb\n1\t2\n"), delimiter=tab).frame) == [[1, 2]]


@pytest.mark.parametrize("delimiter", ["", ",,", "x", '"', "\n", "§"])
def test_a_delimiter_is_one_character(put, delimiter):
    assert refusal(put(PLAIN), delimiter=delimiter).startswith("the delimiter must be one character")


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


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_first_cell_of_the_first_row_may_be_missing(put, end):
    # pandas shifts such a row if the header is skipped and its line ends in a bare CR.
    assert cells(read_table(put(end.join(["a,b", ",0", "1,2", ""]))).frame) == [[None, 0], [1, 2]]


def test_lines_inside_quotes_blank_lines_and_spaces(put):
    text = '\n  \na ,"b\nb", c\n1,"x\r\ny", z\n\n 2,"w""w",  v\n   \n\n'
    frame = read_table(put(text)).frame
    assert list(frame.columns) == ["a", "b\nb", "c"]
    assert cells(frame) == [[1, "x\r\ny", "z"], [2, 'w"w', "v"]]


def test_a_header_with_a_stray_quote_is_a_header(put):
    frame = read_table(put('size 5",b\n1,2\n3,4\n')).frame
    assert list(frame.columns) == ['size 5"', "b"]
    assert cells(frame) == [[1, 2], [3, 4]]


def test_a_header_of_two_lines_above_a_long_table(put):
    # Long enough for pandas to split it among threads.
    rows = "".join(f"{i},{i + 1}\n" for i in range(500_000))
    assert len(rows) > 5 << 20
    for header in ('"a\nb",c\n', 'size 5",c\n', '"a",c\n', "\na,c\n"):
        frame = read_table(put(header + rows)).frame
        assert list(frame.columns) == next(row for row in csv.reader(io.StringIO(header)) if row)
        assert frame.iloc[:, 0].tolist() == list(range(500_000))
        assert frame.iloc[:, 1].dtype.kind == "i"


def test_a_cell_may_hold_a_long_text(put):
    note = "it, is\n" * 50_000
    frame = read_table(put(f'code,note,last\n007,"{note}",\n008,x,1\n')).frame
    assert cells(frame) == [["007", note, None], ["008", "x", 1]]
    assert csv.field_size_limit() == 131_072


def test_a_very_wide_table_is_read(put):
    names = [f"{i}_{'long' * 60}" for i in range(5_000)]
    text = ",".join(names) + "\n" + ",".join(map(str, range(5_000))) + "\n"
    assert len(",".join(names)) > 1 << 20
    frame = read_table(put(text)).frame
    assert list(frame.columns) == names
    assert frame.iloc[0].tolist() == list(range(5_000))


# What is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("at", [2, 3, 150])
@pytest.mark.parametrize(("row", "n"), [("1,2", 2), ("1", 1), ("1,2,3,4", 4), ("1,2,3,", 4)])
def test_a_row_of_another_length_is_named_by_its_line(put, quote, at, row, n):
    lines = ["a,b,c", *([f"1,{quote}x{quote},3"] * 200)]
    lines[at - 1] = row
    message = refusal(put("\n".join(lines)))
    assert message.startswith(
        f"line {at} of t.csv has {n} field{'s' * (n > 1)}, but the header has 3{':' if n > 3 else '.'}"
    )


def test_what_pandas_only_warns_of_is_refused(put, monkeypatch):
    # So it treats a row that is too long where one of its threads begins.
    path, read_csv = put("a,b\n" + '1,"x"\n' * 168 + "1,2,3\n" + '1,"x"\n' * 9), pd.read_csv

    def lenient(*args, **options):
        warnings.warn("This leads to a loss of data", pd.errors.ParserWarning, stacklevel=1)
        return read_csv(*args, **options, on_bad_lines="skip")

    monkeypatch.setattr(pd, "read_csv", lenient)
    assert refusal(path).startswith("line 170 of t.csv has 3 fields")


def test_lines_are_counted_as_an_editor_counts_them(put):
    text = '\na,b\n1,"x\ny\nz"\n\n2,3\n4\n'
    assert text.split("\n")[7] == "4"
    assert refusal(put(text)).startswith("line 8 of t.csv has 1 field,")
    # Missing cells in the last column are no short row, quoted or not.
    assert cells(read_table(put('a,b\n1,\n"2",\n3,4\n')).frame) == [[1, None], [2, None], [3, 4]]
    assert cells(read_table(put("a,b\n1,\n2,\n")).frame) == [[1, None], [2, None]]


def test_a_short_row_far_down_a_long_file_is_found(put):
    lines = ["a,b,c", *["1,2,3"] * 1_500_000]
    lines[1_400_000] = "1,2"
    assert refusal(put("\n".join(lines))).startswith("line 1400001 of t.csv has 2 fields")
    lines[1_400_000] = "1,2,3,"
    assert refusal(put("\n".join(lines))).startswith("line 1400001 of t.csv has 4 fields")


def test_an_open_quote_is_named_by_its_line(put):
    assert refusal(put('a,b\n1,2\n3,"4\n5,6\n')) == "line 3 of t.csv opens a quote that is never closed."
    assert refusal(put('a,"b\n1,2\n3,4\n')) == "line 1 of t.csv opens a quote that is never closed."
    long = 'a,b\n1,2\n3,"4\n' + "5,6\n" * 100_000
    assert refusal(put(long)) == "line 3 of t.csv opens a quote that is never closed."


@pytest.mark.parametrize("content", [b"", b"\n\r\n  \n", b"\xef\xbb\xbf", b"\xff\xfe", gzip.compress(b"")])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.txt.gz"])
def test_an_empty_file(put, content, name):
    assert refusal(put(content, name)) == f"{name} is empty."


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n", "\n\na,b\n\n", '"a\nb",c\n'])
def test_a_header_without_rows(put, content):
    assert refusal(put(content)) == "t.csv has no rows."


def test_names_must_be_there_and_differ(put):
    assert refusal(put("a,b, a\n1,2,3\n")) == "columns 1 and 3 of t.csv are both named 'a': rename one."
    assert refusal(put(",b\n0,1\n")).startswith("column 1 of t.csv has no name:")
    assert refusal(put("a,  ,b\n0,1,2\n")).startswith("column 2 of t.csv has no name:")


def test_other_encodings_are_named_by_the_byte(put):
    data = "name,ort\nx,y\nz,Köln\n".encode("latin-1")
    with pytest.raises(UnicodeDecodeError) as judge:
        data.decode()
    expected = f"byte 0xf6 at position {judge.value.start}; save it as UTF-8."
    assert refusal(put(data)) == f"t.csv is not UTF-8: {expected}"
    assert refusal(put(gzip.compress(data), "t.csv.gz")) == f"t.csv.gz is not UTF-8: {expected}"
    # In the header, beyond the first block, after a mark of UTF-8, and in a column of numbers.
    assert "position 1;" in refusal(put(b"K\xf6ln,b\n1,2\n"))
    assert "position 3000004;" in refusal(put(b"a,b\n" + b"1,2\n" * 750_000 + b"\xf6,2\n"))
    assert "position 7;" in refusal(put(b"\xef\xbb\xbfa,b\n\xf6,2\n"))
    assert "position 7;" in refusal(put(b'{"a": "\xf6"}\n', "t.jsonl"))
    assert refusal(put(b"a\0,\0b\0\n\0")) == "t.csv is not text, as it holds zero bytes: save it as UTF-8."
    assert refusal(put(b"\xff\xfea\0,")) == "t.csv starts as UTF-16 but cannot be decoded: save it as UTF-8."


def test_a_file_that_is_not_there(put, tmp_path):
    put(PLAIN, "patients.csv")
    path = tmp_path / "pateints.csv"
    assert refusal(path) == f"there is no file {path}; did you mean patients.csv?"
    assert refusal(tmp_path / "zzz.parquet") == f"there is no file {tmp_path / 'zzz.parquet'}."
    assert refusal(tmp_path / "no" / "t.csv").endswith(f"and no folder {tmp_path / 'no'} either.")
    assert refusal(tmp_path) == f"{tmp_path} is a folder: name a file in it."
    assert refusal(put(PLAIN, "t.xlsx")).startswith("t.xlsx is of no known format: its name must end in one of .csv")
    assert refusal(put(PLAIN, "t")).startswith("t is of no known format")


def test_a_file_that_may_not_be_read(put, monkeypatch):
    path = put(PLAIN)

    def denied(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", denied)
    assert refusal(path) == f"cannot read {path}: Permission denied."


def test_a_damaged_gz(put):
    whole = gzip.compress(PLAIN.encode() * 1000)
    for cut in (12, len(whole) // 2, len(whole) - 4):
        assert refusal(put(whole[:cut], "t.csv.gz")) == "t.csv.gz is a damaged or cut-off gz file: copy it again."
    flipped = bytearray(whole)
    flipped[20:30] = b"\xff" * 10
    assert "damaged" in refusal(put(bytes(flipped), "t.csv.gz"))
    # A name alone does not compress.
    assert len(read_table(put(PLAIN, "t.csv.gz")).frame) == 2


# Types -------------------------------------------------------------------------------------------------------------


def test_types_are_those_of_pandas(put):
    text = "i,f,b,t,m,g\n1,1.5,True,x,NA,True\n2,inf,False,y,3,\n-3,1e-3,True,,n/a,False\n"
    frame = read_table(put(text)).frame
    pd.testing.assert_frame_equal(frame, pd.read_csv(io.StringIO(text)))
    assert [frame[c].dtype.kind for c in "ifb"] == ["i", "f", "b"]
    assert np.isinf(frame["f"].iloc[1])
    assert frame["g"].dropna().tolist() == [True, False]


def test_text_that_means_missing(put):
    path = put("a,b\n1,?\n-99,x\n3,unknown\n")
    assert cells(read_table(path).frame) == [[1, "?"], [-99, "x"], [3, "unknown"]]
    assert cells(read_table(path, missing=["?", "-99", "unknown"]).frame) == [[1, None], [None, "x"], [3, None]]
    assert cells(read_table(path, missing="unknown").frame)[2] == [3, None]
    lines = put('{"a": "?", "b": 1}\n{"a": 2, "b": "x"}\n', "t.jsonl")
    assert cells(read_table(lines, missing=["?"]).frame) == [[None, "1"], [2, "x"]]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("other", ["12", "1.5", "", "-3"])
def test_codes_keep_their_zeros(put, quote, other):
    rows = "".join(f"{quote}{code}{quote},{quote}{code[1:]}{quote},5\n" for code in [other, "00123", other])
    frame = read_table(put("code,shorter,n\n" + rows)).frame
    assert frame["code"].iloc[1] == "00123"
    assert frame["shorter"].iloc[1] == "0123"
    assert frame["code"].fillna("").tolist() == [other, "00123", other]
    assert frame["n"].tolist() == [5, 5, 5]


def test_a_zero_is_not_always_a_code(put):
    text = "a,b,c,d,e\n0,0.5,-0,00.5,x 007\n1,0,0.0,1,01:30\n"
    frame = read_table(put(text)).frame
    pd.testing.assert_frame_equal(frame, pd.read_csv(io.StringIO(text)))
    assert [column.dtype.kind for _, column in frame.items()] == ["i", "f", "f", "f", "O"]
    # Codes that stand at the very end, after spaces, and in a European file.
    assert read_table(put("a,b\n1, 07")).frame["b"].tolist() == ["07"]
    assert read_table(put("a;b\n1,5;07\n")).frame.iloc[0].tolist() == [1.5, "07"]


CELL = st.sampled_from(["0", "00", "0123", " 07", "07 ", "1.5", "00.5", "", "12", "-01", "100", "0.0", "3e05"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=8)),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from([16, 24, 40, 1 << 20]),
)
def test_a_column_is_text_if_the_csv_module_finds_a_code_in_it(tmp_path, rows, delimiter, end, odd, block):
    bom, open_end, quoted = odd
    # A missing cell alone on its line would be a blank line.
    rows = [row if len(row) > 1 else [row[0] or "5"] for row in rows]
    quote = '"' if quoted else ""
    names = ["007", "b", "01", "d"][: len(rows[0])]
    lines = [delimiter.join(names), *(delimiter.join(quote + cell + quote for cell in row) for row in rows)]
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" * bom + (end.join(lines) + end * (not open_end)).encode())
    with pytest.MonkeyPatch.context() as patch:
        # So small that cells and lines lie across the ends of blocks.
        patch.setattr(files, "_BLOCK", block)
        frame = read_table(path, delimiter=delimiter).frame
    judged = list(csv.reader(path.read_text("utf-8-sig").splitlines(), delimiter=delimiter, skipinitialspace=True))
    for name, *column in zip(*filter(None, judged), strict=True):
        code = any(cell.strip().isdigit() and cell.strip()[0] == "0" and len(cell.strip()) > 1 for cell in column)
        if code:
            assert frame[name].fillna("").tolist() == column
        else:
            np.testing.assert_array_equal(frame[name].to_numpy(float), [float(cell or "nan") for cell in column])


@pytest.mark.parametrize("shift", range(8))
def test_a_code_is_found_wherever_it_stands_in_a_long_file(put, shift):
    # The file is looked at in blocks of 2**20 bytes; the code lies around the end of the first.
    head = "a,b\n" + "1" * shift + ",2\n"
    text = head + "3,4\n" * (((1 << 20) - len(head)) // 4 - 1) + "5,0123\n" + "3,4\n" * 1000
    assert abs(text.index("0123") - (1 << 20)) < 12
    assert "0123" in read_table(put(text)).frame["b"].tolist()


def test_a_long_column_with_text_at_its_end_is_text_throughout(put):
    frame = read_table(put("a,b,c\n" + "1,2.5,True\n" * 600_000 + "x,3,9\n")).frame
    assert set(frame["a"]) == {"1", "x"}
    assert set(frame["c"]) == {"True", "9"}
    assert frame["b"].dtype.kind == "f"
    assert mixed_columns(frame) == {"a": ("x", 600_001)}


def test_numbers_beyond_64_bits_are_numbers(put):
    assert read_table(put("a\n123456789012345678901234567890\n1\n")).frame["a"].tolist() == [1.2345678901234568e29, 1]


def test_iso_dates_become_dates(put):
    text = (
        "day,time,utc,zones,half,never,month,word\n"
        "2020-02-29,2020-01-01 10:30,2020-01-01T00:00:00Z,2020-01-01T00:00:00+02:00,"
        "2020-01-01,2020-02-30,2020-01,2020-01-01\n"
        ",2020-01-01T10:30:00.25,2020-01-01T00:00:01Z,2020-07-01T00:00:00+01:00,"
        "2020-01-01T00:00Z,2020-01-01,2020-02,soon\n"
    )
    frame = read_table(put(text)).frame
    assert [frame[c].dtype.kind for c in frame.columns] == ["M", "M", "M", "M", "O", "O", "O", "O"]
    assert frame["day"].iloc[0] == datetime(2020, 2, 29)
    assert pd.isna(frame["day"].iloc[1])
    assert frame["time"].tolist() == [datetime(2020, 1, 1, 10, 30), datetime(2020, 1, 1, 10, 30, 0, 250_000)]
    judged = [datetime.fromisoformat("2020-01-01T00:00:00+02:00"), datetime.fromisoformat("2020-07-01T00:00:00+01:00")]
    assert frame["zones"].tolist() == judged
    assert frame["never"].tolist() == ["2020-02-30", "2020-01-01"]


def test_mixed_columns_name_the_first_cell_that_is_no_number(put):
    text = "a,b,c,d,e\n1,x,1,007,1\nn.k.,y,2,5,x\n3,1,3,x,2\n,2,z,6,y\n5,3,w,7,\n"
    frame = read_table(put(text)).frame
    # b: numbers are the majority; d: codes are text on purpose; e: just half.
    assert mixed_columns(frame) == {"a": ("n.k.", 2), "b": ("x", 1), "c": ("z", 4)}
    assert mixed_columns(pd.DataFrame({"a": [1, 2, "x"], "b": [True, None, False], "c": [1, 2, 3]})) == {"a": ("x", 3)}
    assert mixed_columns(pd.DataFrame({"a": ["1", "inf", "x"], "b": ["1", "2", None]})) == {"a": ("x", 3)}


# JSON --------------------------------------------------------------------------------------------------------------

RECORDS = [
    {"id": 1, "who": "Ann", "x": 0.1, "ok": True, "day": "2020-01-02", "code": "007"},
    {"id": 2, "who": None, "x": 3, "ok": None, "day": "2020-01-03", "late": 5},
    {"id": 3, "who": "", "x": None, "ok": False, "day": None, "code": "12"},
]


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.json", "t.JSONL.gz", "array.json", "array.json.gz"])
def test_json(put, name):
    text = json.dumps(RECORDS, indent=1) if "array" in name else "\n\n".join(json.dumps(r) for r in RECORDS) + "\n"
    frame = read_table(put(gzip.compress(text.encode()) if name.endswith("gz") else text, name)).frame
    assert list(frame.columns) == ["id", "who", "x", "ok", "day", "code", "late"]
    assert [frame[c].dtype.kind for c in frame.columns] == ["i", "O", "f", "O", "M", "O", "f"]
    for mine, judge in zip(frame.to_dict("records"), RECORDS, strict=True):
        for key, cell in mine.items():
            expected = judge.get(key)
            assert pd.isna(cell) if expected is None else (str(cell.date()) if key == "day" else cell) == expected


def test_json_numbers_among_texts_become_texts(put):
    frame = read_table(put('{"a": 1, "b": true}\n{"a": "x", "b": 2}\n{"a": 2.5, "b": null}\n', "t.jsonl")).frame
    assert frame["a"].tolist() == ["1", "x", "2.5"]
    assert frame["b"].tolist()[:2] == ["True", "2"]
    assert mixed_columns(frame)["a"] == ("x", 2)
    big = read_table(put('{"a": 100000000000000000000000}\n{"a": Infinity}\n', "t.jsonl")).frame
    assert big["a"].tolist() == [1e23, np.inf]


def test_broken_json_is_named_by_its_line(put):
    assert refusal(put('{"a": 1}\n\n{"a": 2\n', "t.jsonl")).startswith("line 3 of t.jsonl is not JSON (")
    assert refusal(put('[{"a": 1},\n{"a": }]', "t.json")).startswith("line 2 of t.json is not JSON (")
    assert refusal(put('{\n "a": 1\n}\n', "t.json")).endswith("expected one object on each line, or an array of them.")
    assert refusal(put('{"a": 1}\n5\n', "t.jsonl")) == 'line 2 of t.jsonl is not an object such as {"age": 31}.'
    assert refusal(put('[{"a": 1}, [2]]', "t.json")).startswith("object 2 of t.json is not an object")
    assert "nested too deeply" in refusal(put('{"a": ' + "[" * 200_000, "t.jsonl"))


@pytest.mark.parametrize("value", ['{"b": 1}', "[1, 2]", "[]", "{}"])
def test_nested_json_names_the_field(put, value):
    message = refusal(put(f'{{"a": 1, "x": 1}}\n{{"a": 1, "x": {value}}}\n', "t.jsonl"))
    assert message == "the field 'x' in line 2 of t.jsonl holds a list or an object: a cell must be one value."


def test_json_names_and_rows(put):
    assert refusal(put('{"a": 1, "a": 2}\n', "t.jsonl")).startswith(
        "columns 1 and 2 of line 1 of t.jsonl are both named"
    )
    assert refusal(put('{"": 1}\n', "t.jsonl")).startswith("column 1 of t.jsonl has no name")
    assert refusal(put("[]", "t.json")) == "t.json has no rows."
    assert refusal(put("{}\n{}\n", "t.jsonl")) == "the objects of t.jsonl have no fields."


# Parquet -----------------------------------------------------------------------------------------------------------


def test_parquet_is_what_pandas_reads(tmp_path):
    frame = pd.DataFrame(
        {"i": [1, 2], "f": [0.1, None], "t": ["x", None], "b": [True, False], "d": pd.to_datetime(["2020-01-01", None])}
    )
    frame.to_parquet(tmp_path / "t.PARQUET")
    frame.to_parquet(tmp_path / "t.pq")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.PARQUET").frame, pd.read_parquet(tmp_path / "t.pq"))
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.pq").frame, frame)


def test_an_index_of_parquet_is_a_column_if_it_has_a_name(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]}, index=[5, 7])
    frame.to_parquet(tmp_path / "t.parquet")
    assert cells(read_table(tmp_path / "t.parquet").frame) == [[1], [2]]
    frame.rename_axis("id").to_parquet(tmp_path / "t.parquet")
    named = read_table(tmp_path / "t.parquet").frame
    assert sorted(named.columns) == ["a", "id"]
    assert named["id"].tolist() == [5, 7]
    assert named.index.tolist() == [0, 1]


def test_parquet_of_polars(tmp_path):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(
        {
            "i": [1, None, 3],
            "t": ["x", "?", None],
            "day": [date(2020, 1, 2), None, date(2021, 1, 1)],
            "b": [True, None, False],
            "money": [Decimal("1.25"), None, Decimal("3")],
            "bytes": [b"x", b"y", None],
            "none": [None] * 3,
        },
        schema_overrides={"none": polars.Null},
    ).with_columns(polars.col("t").cast(polars.Categorical).alias("c"))
    table.write_parquet(tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet", missing=["?"]).frame
    assert list(frame.columns) == table.columns
    assert cells(frame[["i", "t", "b", "money", "bytes", "none", "c"]]) == [
        [1, "x", True, 1.25, "x", None, "x"],
        [None, None, None, None, "y", None, None],
        [3, None, False, 3, None, None, None],
    ]
    assert [frame[c].dtype.kind for c in frame.columns] == ["f", "O", "M", "O", "f", "O", "f", "O"]
    assert frame["day"].iloc[0] == datetime(2020, 1, 2)


def test_parquet_that_cannot_be_a_table(tmp_path, put):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"a": [1], "x": [[1, 2]]}), path)
    assert refusal(path).startswith("the column 'x' of t.parquet holds list<")
    parquet.write_table(pyarrow.table({"a": [1], "x": [{"b": 1}]}), path)
    assert refusal(path).startswith("the column 'x' of t.parquet holds struct<")
    parquet.write_table(pyarrow.table([[1], [2]], names=["a", "a"]), path)
    assert refusal(path).startswith("columns 1 and 2 of t.parquet are both named 'a'")
    parquet.write_table(pyarrow.table({"a": pyarrow.array([], pyarrow.int64())}), path)
    assert refusal(path) == "t.parquet has no rows."
    parquet.write_table(pyarrow.table({"a": list(range(1000))}), path)
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:-9] + b"x" + whole[-8:], b"no parquet at all", b"PAR1"):
        assert refusal(put(broken, "u.parquet")).startswith("u.parquet is not a whole Parquet file: ")
    assert refusal("-", stream=io.BytesIO(b"PAR1 and more")).startswith("standard input is not a whole Parquet file")


def test_without_pyarrow_parquet_is_refused_plainly(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(path) == "Parquet needs pyarrow: pip install 'logiclens[parquet]'."
    with pytest.raises(LogicLensError, match=r"pip install 'logiclens\[parquet\]'"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "u.parquet")
    assert os.listdir(tmp_path) == ["t.parquet"]


# Writing -----------------------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {
        "i": [1, 2, 3],
        "f": [0.1 + 0.2, np.nan, 1e-300],
        "t": ['a,"b"\nc', None, "é;\t|"],
        "b": [True, False, True],
        "d": pd.to_datetime(["2020-01-01 10:00:00.5", None, "2021-01-01"], format="ISO8601"),
        "code": ["007", "12", "3"],
    }
)


def written(path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.lower().endswith(".gz") else data


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.CSV.gz", "t.tsv.gz", "t.jsonl", "t.ndjson.gz", "t.parquet", "t.pq"]
)
def test_what_is_written_is_read_back(tmp_path, name):
    write_table(FRAME, tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    frame = read_table(str(tmp_path / name)).frame
    pd.testing.assert_frame_equal(frame.assign(d=frame["d"].astype(FRAME["d"].dtype)), FRAME, rtol=0, atol=0)


def test_others_read_what_is_written(tmp_path):
    for name, sep in (("t.csv", ","), ("t.tsv.gz", "\t")):
        write_table(FRAME, tmp_path / name)
        rows = list(csv.reader(io.StringIO(written(tmp_path / name).decode(), newline=""), delimiter=sep))
        assert rows[0] == list(FRAME.columns)
        assert [row[2] for row in rows[1:]] == ['a,"b"\nc', "", "é;\t|"]
        assert [float(row[1] or "nan") for row in rows[1:]] == pytest.approx(FRAME["f"].tolist(), rel=0, nan_ok=True)
    write_table(FRAME, tmp_path / "t.jsonl")
    records = [json.loads(line) for line in written(tmp_path / "t.jsonl").decode().splitlines()]
    assert records[0] == {
        "i": 1, "f": 0.1 + 0.2, "t": 'a,"b"\nc', "b": True, "d": "2020-01-01T10:00:00.500000", "code": "007"
    }  # fmt: skip
    assert records[1]["f"] is None
    assert records[1]["d"] is None
    write_table(FRAME, tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), FRAME)


def test_the_same_table_gives_the_same_bytes(tmp_path, monkeypatch):
    write_table(FRAME, tmp_path / "a.csv.gz")
    monkeypatch.setattr("time.time", lambda: 1e9)
    write_table(FRAME, tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("older", [None, b"older"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
@pytest.mark.parametrize(("name", "method"), [("t.csv", "to_csv"), ("t.tsv.gz", "to_csv"), ("t.parquet", "to_parquet")])
def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch, name, method, error, older):
    path, seen = tmp_path / name, []
    if older:
        path.write_bytes(older)

    def halfway(frame, out, **options):
        out.write(b"half a ")
        out.flush()
        seen.extend(os.listdir(tmp_path))
        raise error

    monkeypatch.setattr(pd.DataFrame, method, halfway)
    with pytest.raises(error):
        write_table(FRAME, path)
    # The half was there, in the same folder and under another name.
    assert len(seen) == 1 + (older is not None)
    assert os.listdir(tmp_path) == ([name] if older else [])
    assert not older or path.read_bytes() == older


def test_json_lines_interrupted_halfway(tmp_path, monkeypatch):
    write_table(FRAME, tmp_path / "t.jsonl")
    before, dumps, calls = (tmp_path / "t.jsonl").read_bytes(), json.dumps, []

    def halfway(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return dumps(*args, **options)

    monkeypatch.setattr(json, "dumps", halfway)
    with pytest.raises(KeyboardInterrupt):
        write_table(FRAME, tmp_path / "t.jsonl")
    assert os.listdir(tmp_path) == ["t.jsonl"]
    assert (tmp_path / "t.jsonl").read_bytes() == before


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        (tmp_path / "judge").write_text("x")
        write_table(FRAME, tmp_path / "t.csv")
    finally:
        os.umask(before)
    mode = stat.S_IMODE((tmp_path / "judge").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == mode == 0o666 & ~mask


def test_a_file_that_is_there_keeps_its_permissions_and_a_link_its_target(tmp_path):
    (tmp_path / "real.csv").write_text("x")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(FRAME, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert stat.S_IMODE((tmp_path / "real.csv").stat().st_mode) == 0o600
    assert len(read_table(tmp_path / "real.csv").frame) == 3


def test_what_cannot_be_written_is_said_in_one_sentence(tmp_path, monkeypatch):
    def said(frame, path) -> str:
        with pytest.raises(LogicLensError) as caught:
            write_table(frame, path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    (tmp_path / "folder.csv").mkdir()
    assert said(FRAME, tmp_path / "folder.csv").endswith("it is a folder; name a file in it.")
    assert said(FRAME, tmp_path / "no" / "t.csv").endswith(f"there is no folder {tmp_path / 'no'}.")
    for name in ("t.xlsx", "t", "t.parquet.gz", "t.json", "t.txt"):
        assert said(FRAME, tmp_path / name).startswith(f"cannot write {tmp_path / name}: its name must end in .csv,")
    assert "are both named 'a'" in said(pd.DataFrame([[1, 2]], columns=["a", "a"]), tmp_path / "t.csv")
    assert "not JSON compliant" in said(pd.DataFrame({"a": [np.inf]}), tmp_path / "t.jsonl")
    assert said(pd.DataFrame({"a": [1, "x"]}), tmp_path / "t.parquet").startswith("cannot write")
    (tmp_path / "t.csv").write_text("older")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert said(FRAME, tmp_path / "t.csv").endswith("the file that is there may not be changed.")
    monkeypatch.undo()
    for number, text in ((13, "Permission denied"), (28, "No space left on device")):

        def fails(*args, number=number, text=text, **options):
            raise OSError(number, text)

        monkeypatch.setattr(os, "replace", fails)
        assert said(FRAME, tmp_path / "t.csv") == f"cannot write {tmp_path / 't.csv'}: {text}."
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "t.csv"]
    assert (tmp_path / "t.csv").read_text() == "older"


# The real thing ----------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_the_mimic_file_has_the_line_ends_of_an_old_mac(data_folder):
    path = data_folder / "mimic2" / "full_cohort_data.csv.gz"
    data = gzip.decompress(path.read_bytes())
    assert b"\n" not in data
    table = read_table(path)
    assert table.frame.shape == (1776, 46)
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    rows = list(csv.reader(data.decode().split("\r")))
    assert list(table.frame.columns) == rows[0]
    assert table.frame["age"].tolist() == [float(row[3]) for row in rows[1:] if row]
    pd.testing.assert_frame_equal(table.frame, pd.read_csv(path))


@pytest.mark.data
def test_the_vdem_file_is_what_pandas_reads(data_folder):
    path = data_folder / "vdem" / "vdem_concepts_2001_2021.csv.gz"
    pd.testing.assert_frame_equal(read_table(path).frame, pd.read_csv(path))
