"""Delimited text: delimiters, lines, quotes and codes, checked with the csv module and pandas."""

from __future__ import annotations

import csv
import io
import warnings
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logiclens.tables import delimited
from logiclens.tables.files import read_table
from tests.examples import examples
from tests.table_files import PLAIN, cells, refusal, writer_into


@pytest.fixture
def put(tmp_path):
    return writer_into(tmp_path)


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
    # A number is judged by its value and a missing cell by its emptiness; spaces at the ends are no part of a cell.
    for mine, written in zip(chain(*read), chain(*rows), strict=True):
        cell = written.strip(" \t\xa0")
        assert mine == cell or float(mine) == float(cell)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_quotes_are_honoured(put, delimiter):
    text = 'a@"b,;|\tc"@d\n1@"x,;|\t,;|\ty"@2\n3@"y"@4\n'.replace("@", delimiter)
    frame = read_table(put(text)).frame
    judged = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    assert list(frame.columns) == judged[0]
    assert cells(frame) == [[1, "x,;|\t,;|\ty", 2], [3, "y", 4]]


def test_the_delimiter_that_splits_all_lines_alike_wins(put):
    frame = read_table(put("last, first and middle|born, maybe|x\nA|1,5|2\nB, C, D|2|3\n")).frame
    assert list(frame.columns) == ["last, first and middle", "born, maybe", "x"]


def test_a_row_truncated_by_the_first_block_does_not_count(put):
    # Long rows: few fit into the 2**20 characters that are looked at, and the last of those lacks its delimiters.
    text = "a;b, c, d, e;f\n" + ("x" * 20_000 + ";1;2\n") * 60
    assert len(text) > 1 << 20
    frame = read_table(put(text)).frame
    assert list(frame.columns) == ["a", "b, c, d, e", "f"]
    assert frame.shape == (60, 3)


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


def test_a_comma_delimiter_is_no_decimal_comma(put):
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


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_first_cell_of_the_first_row_may_be_missing(put, end):
    # pandas shifts such a row if the header is skipped and its line ends in a bare CR.
    assert cells(read_table(put(end.join(["a,b", ",0", "1,2", ""]))).frame) == [[None, 0], [1, 2]]


def test_lines_inside_quotes_blank_lines_and_spaces(put):
    text = '\n  \na ,"b\nb", c\n1,"x\r\ny", z\n\n 2,"w""w",  v\n   \n\n'
    frame = read_table(put(text)).frame
    assert list(frame.columns) == ["a", "b\nb", "c"]
    assert cells(frame) == [[1, "x\r\ny", "z"], [2, 'w"w', "v"]]


def test_spaces_before_quotes_are_dropped_unlike_in_pyarrow(put):
    path = put('a,b\n1, "x, y"\n')
    assert cells(read_table(path).frame) == [[1, "x, y"]]
    # The reason why pyarrow.csv does not parse our tables; once it can, let it.
    with pytest.raises(pa.ArrowInvalid, match="Expected 2 columns, got 3"):
        pa_csv.read_csv(path)


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


# Rows that are refused -----------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n", "\n\na,b\n\n", '"a\nb",c\n'])
def test_a_header_without_rows(put, content):
    assert refusal(put(content)) == "t.csv has no rows."


# Headers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("n", [1, 3, 150])
@pytest.mark.parametrize(("delimiter", "name"), [(",", ""), (";", '""'), ("\t", " ")])
def test_an_index_written_by_pandas_is_dropped_with_a_note(put, start, n, delimiter, name):
    frame = pd.DataFrame({"age": range(30, 30 + n), "unit": "A"}, index=range(start, start + n))
    text = name + frame.to_csv(sep=delimiter)
    # 99 and 1 mean a missing value in the columns that have a name, and rows are still counted.
    for missing in ((), ("1", "99")):
        table = read_table(put(text), missing=missing)
        assert table.notes == ("the first column has no name and counts the rows: it is left out.",)
        judged = pd.read_csv(io.StringIO(text), sep=delimiter, index_col=0, na_values=list(missing))
        pd.testing.assert_frame_equal(table.frame, judged.reset_index(drop=True))
    assert read_table(put(frame.to_csv(sep=delimiter, index=False))).notes == ()


@pytest.mark.parametrize(
    "index", [[0, 2], [1, 0], [2, 3], ["a", "b"], [0.0, 1.0], ["00", "01"], [0, None], [0, "x"], [-1, 0], [0, 0]]
)
def test_another_column_without_a_name_is_refused(put, index):
    text = pd.DataFrame({"age": [30, 31]}, index=pd.Index(index, dtype=object)).to_csv()
    assert refusal(put(text)) == "column 1 of t.csv has no name: name it, or leave it out if it only counts rows."


def test_a_first_line_that_may_be_a_row_is_questioned(put):
    asked = "are both named {!r}: is the first line of the file a header?"
    assert refusal(put("x,o,o,won\no,x,o,lost\nx,x,o,won\n")) == "columns 2 and 3 of t.csv " + asked.format("o")
    assert refusal(put("5.1,3.5,x,3.5\n1,2,y,4\n")) == "columns 2 and 4 of t.csv " + asked.format("3.5")
    assert refusal(put(",o,o\n0,p,q\n1,o,x\n")) == "columns 2 and 3 of t.csv " + asked.format("o")
    # Names, even if they are cells of other columns or their columns hold no value.
    assert refusal(put("a,b,a\nb,1,2\nb,3,4\n")) == "columns 1 and 3 of t.csv are both named 'a': rename one."
    assert refusal(put(",a,a\n,1,2\n,3,4\n")) == "columns 2 and 3 of t.csv are both named 'a': rename one."


# Codes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("other", ["12", "1.5", "", "-3"])
def test_codes_keep_their_zeros(put, quote, other):
    rows = "".join(f"{quote}{code}{quote},{quote}{code[1:]}{quote},5\n" for code in [other, "00123", other])
    frame = read_table(put("code,shorter,n\n" + rows)).frame
    assert frame["code"].iloc[1] == "00123"
    assert frame["shorter"].iloc[1] == "0123"
    assert frame["code"].fillna("").tolist() == [other, "00123", other]
    assert frame["n"].tolist() == [5, 5, 5]


def test_a_code_in_the_header_is_no_code(put):
    assert read_table(put("\n \n007,a\n  \n1,x\n2,y\n")).frame["007"].tolist() == [1, 2]


def test_a_zero_is_not_always_a_code(put):
    text = "a,b,c,d,e\n0,0.5,-0,00.5,x 007\n1,0,0.0,1,01:30\n"
    frame = read_table(put(text)).frame
    pd.testing.assert_frame_equal(frame, pd.read_csv(io.StringIO(text)))
    assert [column.dtype.kind for _, column in frame.items()] == ["i", "f", "f", "f", "O"]
    # Codes that stand at the very end, after spaces, and in a European file.
    assert read_table(put("a,b\n1, 07")).frame["b"].tolist() == ["07"]
    assert read_table(put("a;b\n1,5;07\n")).frame.iloc[0].tolist() == [1.5, "07"]


CELL = st.sampled_from(["0", "00", "0123", " 07", "07 ", "1.5", "00.5", "", "12", "-01", "100", "0.0", "3e05"])


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=8)),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from([16, 24, 40, 1 << 20]),
)
def test_a_column_with_a_code_is_text_as_in_csv(tmp_path, rows, delimiter, end, odd, block):
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
        patch.setattr(delimited, "BLOCK", block)
        frame = read_table(path, delimiter=delimiter).frame
    judged = list(csv.reader(path.read_text("utf-8-sig").splitlines(), delimiter=delimiter, skipinitialspace=True))
    for name, *column in zip(*filter(None, judged), strict=True):
        code = any(cell.strip().isdigit() and cell.strip()[0] == "0" and len(cell.strip()) > 1 for cell in column)
        if code:
            assert frame[name].fillna("").tolist() == [cell.strip() for cell in column]
        else:
            np.testing.assert_array_equal(frame[name].to_numpy(float), [float(cell or "nan") for cell in column])


@pytest.mark.parametrize("offset", range(-6, 3))
def test_a_code_is_found_anywhere_in_a_long_file(put, offset):
    # The file is read in blocks of 2**20 bytes; the code starts around the end of the first.
    n_before = (1 << 20) + offset - len("a,b\n,2\n5,")
    text = "a,b\n" + "1" * (n_before % 4) + ",2\n" + "3,4\n" * (n_before // 4) + "5,0123\n" + "3,4\n" * 1000
    assert text.index("0123") == (1 << 20) + offset
    assert "0123" in read_table(put(text)).frame["b"].tolist()
