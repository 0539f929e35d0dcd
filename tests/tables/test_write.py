"""Writing tables to files, checked with the csv and json modules, pandas and the file system."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os

import numpy as np
import pandas as pd
import pytest

from logiclens.errors import LogicLensError
from logiclens.tables.files import read_table, write_table

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
@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("t.csv", "pandas.DataFrame.to_csv"),
        ("t.tsv.gz", "pandas.DataFrame.to_csv"),
        ("t.parquet", "pyarrow.parquet.ParquetWriter"),
    ],
)
def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch, name, method, error, older):
    path, seen = tmp_path / name, []
    if older:
        path.write_bytes(older)

    def halfway(*arguments, **options):
        out = next(argument for argument in arguments if hasattr(argument, "flush"))
        out.write(b"half a ")
        out.flush()
        seen.extend(os.listdir(tmp_path))
        raise error

    monkeypatch.setattr(method, halfway)
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


def test_what_cannot_be_written_is_said_in_one_sentence(tmp_path, monkeypatch):
    def said(frame, path) -> str:
        with pytest.raises(LogicLensError) as caught:
            write_table(frame, path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    (tmp_path / "folder.csv").mkdir()
    assert said(FRAME, tmp_path / "folder.csv").endswith("it is a folder; name a file in it.")
    assert said(FRAME, tmp_path / "no" / "t.csv").endswith(f"there is no folder {tmp_path / 'no'}.")
    for name in ("t.xlsx.gz", "t", "t.parquet.gz", "t.json", "t.txt"):
        assert said(FRAME, tmp_path / name).startswith(f"cannot write {tmp_path / name}: its name must end in .csv,")
    assert "are both named 'a'" in said(pd.DataFrame([[1, 2]], columns=["a", "a"]), tmp_path / "t.csv")
    assert "not JSON compliant" in said(pd.DataFrame({"a": [np.inf]}), tmp_path / "t.jsonl")
    assert said(pd.DataFrame({"a": [1, "x"]}), tmp_path / "t.parquet").startswith("cannot write")
    (tmp_path / "t.csv").write_text("older")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert said(FRAME, tmp_path / "t.csv").endswith("the file that is there may not be changed.")
    monkeypatch.undo()

    def fails(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    assert said(FRAME, tmp_path / "t.csv") == f"cannot write {tmp_path / 't.csv'}: No space left on device."
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "t.csv"]
    assert (tmp_path / "t.csv").read_text() == "older"


def test_only_the_first_line_of_a_librarys_message_is_shown(tmp_path, monkeypatch):
    def fails(*args, **options):
        raise ValueError("too odd.\nAnd here is why.")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter", fails)
    with pytest.raises(LogicLensError) as caught:
        write_table(FRAME, tmp_path / "t.parquet")
    assert str(caught.value) == f"cannot write {tmp_path / 't.parquet'}: too odd."
