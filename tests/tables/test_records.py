"""Tables from JSON and Parquet, checked with the json module, pandas and polars."""

from __future__ import annotations

import gzip
import io
import json
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

from logiclens.tables.files import mixed_columns, read_table
from tests.table_files import cells, refusal, writer_into


@pytest.fixture
def put(tmp_path):
    return writer_into(tmp_path)


def test_bytes_that_are_not_utf8_are_refused(tmp_path):
    raw = pyarrow.array([b"a", b"\xff\xfe", None], pyarrow.binary())
    texts = pyarrow.Array.from_buffers(pyarrow.string(), 3, raw.buffers())
    parquet.write_table(pyarrow.table({"a": texts}), tmp_path / "t.parquet")
    told = "the column 'a' of t.parquet holds bytes that are not UTF-8: write the text again as UTF-8."
    assert refusal(tmp_path / "t.parquet") == told


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


# Parquet -------------------------------------------------------------------------------------------------------------


def test_parquet_is_what_pandas_reads(tmp_path):
    frame = pd.DataFrame(
        {"i": [1, 2], "f": [0.1, None], "t": ["x", None], "b": [True, False], "d": pd.to_datetime(["2020-01-01", None])}
    )
    frame.to_parquet(tmp_path / "t.PARQUET")
    frame.to_parquet(tmp_path / "t.pq")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.PARQUET").frame, pd.read_parquet(tmp_path / "t.pq"))
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.pq").frame, frame)


def test_a_named_index_of_parquet_is_a_column(tmp_path):
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
