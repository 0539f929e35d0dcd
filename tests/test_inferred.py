"""Names and types of the columns of a file; the judges are pandas, datetime and known values."""

from __future__ import annotations

import io
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from logiclens.data.files import mixed_columns, read_table
from tests.table_files import cells, refusal, writer_into


@pytest.fixture
def put(tmp_path):
    return writer_into(tmp_path)


def test_names_must_be_there_and_differ(put):
    assert refusal(put("a,b, a\n1,2,3\n")) == "columns 1 and 3 of t.csv are both named 'a': rename one."
    assert refusal(put(",b\n0,1\n")).startswith("column 1 of t.csv has no name:")
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
