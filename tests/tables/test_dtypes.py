"""Names and types of a file's columns, checked with pandas, datetime and decimal."""

from __future__ import annotations

import io
from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from logiclens.tables.dtypes import are_iso_dates
from logiclens.tables.files import doubtful_columns, mixed_columns, read_table
from tests.examples import examples
from tests.table_files import cells, refusal, writer_into


@pytest.fixture
def put(tmp_path):
    return writer_into(tmp_path)


def test_names_must_be_there_and_differ(put):
    assert refusal(put("a,b, a\n1,2,3\n")) == "columns 1 and 3 of t.csv are both named 'a': rename one."
    assert refusal(put(",b\nx,1\n")).startswith("column 1 of t.csv has no name:")
    assert refusal(put(",b,\n0,1,2\n")).startswith("column 3 of t.csv has no name:")
    assert refusal(put("a,  ,b\n0,1,2\n")).startswith("column 2 of t.csv has no name:")


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


def test_a_long_column_ending_in_text_is_text_throughout(put):
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


def test_mixed_columns_know_the_decimal_comma(put):
    text = "kg;t;codes;half;none\n88,2;1;007;1,5;1,5\n71,4;x;1,5;x;2\nunbekannt;,5;x;2;3,25\n;1e3;2,5;y;\n90;2,;3;;\n"
    frame = read_table(put(text)).frame
    assert frame["none"].dtype.kind == "f"
    assert mixed_columns(frame) == {"kg": ("unbekannt", 3), "t": ("x", 2)}
    # With the text named as missing, the rest are numbers.
    kg = read_table(put(text), missing=["unbekannt"]).frame["kg"]
    assert kg.tolist()[:2] == [float(Decimal("88.2")), float(Decimal("71.4"))]
    assert mixed_columns(pd.DataFrame({"a": [1, "2,5", "x"], "b": [[1], "2,5", "3"]})) == {
        "a": ("x", 3),
        "b": ("[1]", 1),
    }


def test_a_column_of_text_may_be_missing_throughout(tmp_path):
    frame = pd.DataFrame({"a": pd.Series([None, None], dtype="string"), "b": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet").frame
    assert read["a"].isna().all()
    assert mixed_columns(read) == doubtful_columns(read) == {}


# Dates that are not ISO ----------------------------------------------------------------------------------------------

MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2029, 12, 31)).map(lambda moment: moment.replace(microsecond=0))
FORMS = ["%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%m-%d-%Y"]


@examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(MOMENTS, min_size=1, max_size=6),
    st.sampled_from(FORMS),
    st.sampled_from(["", " %H:%M", " %H:%M:%S"]),
    st.booleans(),
    st.sampled_from(",;"),
)
def test_dates_are_those_that_datetime_reads(tmp_path, moments, form, time, gap, delimiter):
    texts = [moment.strftime(form + time) for moment in moments]
    path = tmp_path / "t.csv"
    path.write_text(f"n{delimiter}when\n" + "".join(f"1{delimiter}{text}\n" for text in texts + [""] * gap))
    frame = read_table(path).frame
    if "." not in form and all(moment.day <= 12 for moment in moments):
        assert frame["when"].dropna().tolist() == texts
        reason = "could be day/month or month/day: write dates as 2022-09-20"
        assert doubtful_columns(frame) == {"when": (texts[0], reason)}
        return
    assert frame["when"].dtype.kind == "M"
    judged = [datetime.strptime(text, form + time) for text in texts]
    assert frame["when"].tolist()[: len(texts)] == judged
    assert frame["when"].isna().tolist() == [False] * len(texts) + [True] * gap
    assert doubtful_columns(frame) == {}


def test_dates_as_people_write_them(put):
    frame = read_table(
        put("a,b,c,d\n1.2.2022,9/20/22,1.2.99,03/04/2022\n,1/2/22 9:05,31.12.00 23:59,3/31/2022\n")
    ).frame
    assert [column.dtype.kind for _, column in frame.items()] == ["M"] * 4
    assert frame["a"].iloc[0] == datetime(2022, 2, 1)
    assert frame["b"].tolist() == [datetime(2022, 9, 20), datetime(2022, 1, 2, 9, 5)]
    assert frame["c"].tolist() == [datetime(1999, 2, 1), datetime(2000, 12, 31, 23, 59)]
    assert frame["d"].tolist() == [datetime(2022, 3, 4), datetime(2022, 3, 31)]
    lines = read_table(put('{"a": "20.09.2022"}\n{"a": null}\n', "t.jsonl")).frame
    assert lines["a"].iloc[0] == datetime(2022, 9, 20)


@pytest.mark.parametrize(
    ("texts", "example", "reason"),
    [
        (["01/02/2022", "11/12/2022"], "01/02/2022", "could be day/month or month/day: write dates as 2022-09-20"),
        (["1-2-2022"], "1-2-2022", "could be day/month or month/day: write dates as 2022-09-20"),
        (["20/09/2022", "21/09/2022", "09/20/2022"], "09/20/2022", "mixes day/month and month/day: write dates as"),
        (["09/20/2022", "09/21/2022", "20/09/2022"], "20/09/2022", "mixes day/month and month/day: write dates as"),
        (["01.01.2022", "31.02.2022", "02.01.2022"], "31.02.2022", "holds dates, but this is not a date: write"),
        (["01/31/2022", "02/28/2022", "02/29/2022"], "02/29/2022", "holds dates, but this is not a date: write"),
        (["01.01.2022", "02.13.2022", "03.01.2022"], "02.13.2022", "holds dates, but this is not a date: write"),
        (["2022-01-31", "2022-02-28", "2022-02-29"], "2022-02-29", "holds dates, but this is not a date: write"),
        (["01.01.80", "02.01.45", "02.01.20"], "02.01.45", "has years that could be 1945 or 2045: write dates as"),
        (["01.01.2022", "unbekannt", "02.01.2022"], "unbekannt", "holds dates and other text: write dates as"),
        (["01.01.2022", "01.01.2022", "1/2/2022"], "1/2/2022", "holds dates and other text: write dates as"),
        (["2022-01-01", "unknown", "2022-01-01"], "unknown", "holds dates and other text: write dates as"),
        (["01.01.2022 10:00", "02.01.2022", "1.1.2022 24:00"], "1.1.2022 24:00", "holds dates and other text:"),
        (["2020-01-01T00:00Z", "2020-01-01"], "2020-01-01", "mixes times with and without a zone: write them all"),
    ],
)  # fmt: skip
def test_dates_in_doubt_stay_text_and_are_named(put, texts, example, reason):
    frame = read_table(put("".join(f"{text},1\n" for text in ["when", *texts]))).frame
    assert frame["when"].tolist() == texts
    doubtful = doubtful_columns(frame)
    assert list(doubtful) == ["when"]
    assert doubtful["when"][0] == example
    assert doubtful["when"][1].startswith(reason)


@pytest.mark.parametrize(
    "texts",
    [
        ["30-00-15", "12-05-10"],
        ["12-05-10", "13-06-11"],
        ["12.40.99", "13.45.20", "01.01.20"],
        ["01.01.2022", "x"],
        ["1.2.3", "1.2.10"],
        ["120/80", "130/90"],
        ["Ann", "Bo"],
        ["2020-01", "2020-02"],
    ],
)
def test_what_only_resembles_dates_is_text_and_not_named(put, texts):
    frame = read_table(put("".join(f"{text},1\n" for text in ["a", *texts]))).frame
    assert frame["a"].tolist() == texts
    assert doubtful_columns(frame) == mixed_columns(frame) == {}


def test_clear_dates_as_text_in_a_frame_are_not_doubted():
    clear = {"a": ["20.09.2022", None], "b": ["2020-01-01", "2020-01-02"], "c": ["2020-01-01T00:00Z"] * 2, "d": [1, 2]}
    assert doubtful_columns(pd.DataFrame(clear)) == {}


# Numbers with marks and units ----------------------------------------------------------------------------------------

EUROPEAN, SWISS, FRENCH = (str.maketrans(",.", marks) for marks in (".,", "'.", "\u202f,"))


@given(
    st.lists(st.decimals(1_000, 10**10, places=2), min_size=1, max_size=5),
    st.sampled_from([{}, EUROPEAN, SWISS, FRENCH, {ord(","): " "}]),
    st.sampled_from(["{}", "${}", "{} €", "{}%", "-{}", "-${}", "€ {}", " {} kg "]),
)
def test_numbers_with_marks_and_units_show_their_decimal_value(values, marks, unit):
    texts = [unit.format(f"{value:,}".translate(marks)) for value in values]
    sign = "-" if "-" in unit else ""
    reason = f"looks like numbers with thousands marks or units: write {sign}{values[0]}"
    frame = pd.DataFrame({"pay": [*texts, None]})
    assert doubtful_columns(frame) == {"pay": (texts[0], reason)}
    assert frame["pay"].tolist()[:-1] == texts
    # One word each does not hide them, but as many words do.
    assert list(doubtful_columns(pd.DataFrame({"pay": [*texts, *texts, *["?"] * len(texts)]}))) == ["pay"]
    assert doubtful_columns(pd.DataFrame({"pay": [*texts, *["?"] * len(texts)]})) == {}


@pytest.mark.parametrize(
    ("texts", "example", "write"),
    [
        (["12.345,67", "1,5"], "12.345,67", "12345.67"),
        (["1,234.50"], "1,234.50", "1234.50"),
        (["$45,000"], "$45,000", "45000"),
        (["45\u00a0000 €"], "45\u00a0000 €", "45000"),
        (["12 %", "0.5 %"], "12 %", "12"),
        (["45.000 €"], "45.000 €", "45000"),
        (["45.5 €", "45.000 €"], "45.5 €", "45.5"),
        (["88,20", "99,00", "1.234,50"], "1.234,50", "1234.50"),
        (["12", "13", "14 kg"], "14 kg", "14"),
        (["1,234,567", "1,234"], "1,234,567", "1234567"),
    ],
)
def test_numbers_with_marks_and_units_by_example(put, texts, example, write):
    frame = read_table(put("".join(f"{text};1\n" for text in ["pay", *texts]))).frame
    assert frame["pay"].tolist() == texts
    reason = f"looks like numbers with thousands marks or units: write {write}"
    assert doubtful_columns(frame) == {"pay": (example, reason)}


def test_commas_in_numbers_where_the_comma_is_the_delimiter(put):
    frame = read_table(put('a,b,c,d\n"3,14","45,000","1,2,3","007"\n2,"1,200","1,2","1,5"\n')).frame
    assert doubtful_columns(frame) == {
        "a": ("3,14", "looks like numbers with a decimal comma: write 3.14"),
        "b": ("45,000", "could have decimal commas or thousands marks: write 45.000 or 45000"),
    }
    # A word among them makes a mixed column of it, and no other.
    mixed = pd.DataFrame({"a": ["3,14", "2", "x"], "b": ["45,000", "1,200", "x"]})
    assert doubtful_columns(mixed) == {}
    assert list(mixed_columns(mixed)) == ["a", "b"]


@pytest.mark.parametrize(
    "text", ["5A", "12 rooms", "65+", "10-20", "A 12", "1,2,3", "1,234,50", "0.123.456", "12 34", "$", "%", "1 2"]
)
def test_what_only_resembles_numbers_is_not_named(text):
    assert doubtful_columns(pd.DataFrame({"a": [text, text]})) == {}


@given(st.lists(st.text(st.sampled_from("0123456789.,/-: $%€x"), max_size=12), min_size=1, max_size=6))
def test_no_text_makes_the_search_for_doubts_fail(texts):
    assume(any(texts))
    frame = pd.DataFrame({"a": [text or None for text in texts]})
    for example, reason in doubtful_columns(frame).values():
        assert example in texts
        assert reason[-1] not in ". "
    mixed_columns(frame)


@pytest.mark.parametrize(
    "texts",
    [
        ["2022-09-20", "2022-10-01"],
        ["2022-09-20T08:30:00Z", "2022-09-21T08:30:00+02:00"],
        ["2022-09-20", "2022-10-01 08:30"],
        ["2022-09-20", "2022-02-30"],
        ["2022-09-20", "unknown"],
        ["2022-09-20 08:30", "2022-09-21 08:30Z"],
        ["old", "young"],
    ],
)
def test_iso_dates_are_those_that_the_reader_makes_dates(put, texts):
    read = read_table(put("\n".join(["day,x", *(f"{text},1" for text in texts)]) + "\n")).frame["day"]
    assert are_iso_dates(texts) == (read.dtype.kind == "M")
