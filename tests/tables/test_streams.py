"""Tables that are read in chunks are the tables that are read as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.tables.files import open_table, read_table
from logiclens.tables.streams import CELLS, FEWEST_ROWS, MOST_ROWS, chunk_rows
from tests.examples import examples

CELLS_OF = {
    "integer": st.integers(-5, 99).map(str),
    "number": st.floats(-1e9, 1e9).map(str),
    "text": st.sampled_from(["a", "b", "x y"]),
    "flag": st.sampled_from(["True", "False"]),
    "day": st.dates().map(str),
    "time": st.datetimes().map(str),
    "zoned": st.sampled_from(["2021-01-01T00:00:00+01:00", "2021-06-01T00:00:00.5Z"]),
    "german": st.builds("{}.{}.2020".format, st.integers(1, 28), st.integers(1, 12)),
    "slashes": st.builds("{}/{}/2020".format, st.integers(1, 28), st.integers(1, 12)),
    "american": st.builds("{}/{}/2020 10:30".format, st.integers(1, 12), st.integers(1, 28)),
    "comma": st.builds("{},{}".format, st.integers(0, 99), st.integers(0, 99)),
    "code": st.sampled_from(["007", "12"]),
    "large": st.sampled_from([str(2**63 + 1), str(10**25), "-" + "7" * 30]),
    "huge": st.sampled_from(["7" * 400, "-" + "7" * 5000]),
}


@st.composite
def columns(draw: st.DrawFn, n_rows: int) -> list[str]:
    """Cells of one or two kinds, some of them missing."""
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS_OF)), min_size=1, max_size=2))
    cell = st.one_of(*(CELLS_OF[kind] for kind in kinds), *([st.just("")] if draw(st.booleans()) else []))
    return draw(st.lists(cell, min_size=n_rows, max_size=n_rows))


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """A table of texts."""
    n_rows, n_columns = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    return pd.DataFrame({f"c{place}": draw(columns(n_rows)) for place in range(n_columns)})


def outcome(read) -> tuple[pd.DataFrame | None, str]:
    """The table, or what is wrong with it."""
    try:
        return read(), ""
    except LogicLensError as error:
        return None, str(error)


def check(path: Path, size: int, **options) -> None:
    """Compare both ways to read a file."""

    def chunked() -> pd.DataFrame:
        with open_table(path, rows=size, **options) as stream:
            parts = list(stream.chunks(stream.columns))
            assert len(stream) == sum(map(len, parts))
            assert all(part.dtypes.equals(parts[0].dtypes) for part in parts)
            return pd.concat(parts)

    whole, error = outcome(lambda: read_table(path, **options).frame)
    found, told = outcome(chunked)
    assert told == error
    if whole is not None:
        assert found.index.equals(pd.RangeIndex(len(whole)))
        pd.testing.assert_frame_equal(found, whole, check_index_type=False)


@examples(200)
@given(tables(), st.integers(1, 4), st.sampled_from([",", ";"]), st.booleans())
def test_chunks_of_delimited_text_are_the_whole(tmp_path_factory, table, size, delimiter, index):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    table.to_csv(path, sep=delimiter, index=index)
    check(path, size, delimiter=delimiter, missing=["b"])


def plain(cell: str) -> object:
    """A cell as a JSON value."""
    try:
        return json.loads(cell.lower()) if len(cell) < 4000 else cell
    except ValueError:
        return cell or None


@examples(100)
@given(tables(), st.integers(1, 4), st.booleans(), st.booleans())
def test_chunks_of_json_are_the_whole(tmp_path_factory, table, size, array, sparse):
    path = tmp_path_factory.mktemp("t") / "t.json"
    records = [
        {key: plain(cell) for key, cell in row.items() if cell or not sparse} for row in table.to_dict("records")
    ]
    path.write_text(json.dumps(records) if array else "\n".join(map(json.dumps, records)))
    check(path, size, missing=["b"])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chunks_of_parquet_are_the_whole(tmp_path, size):
    frame = pd.DataFrame(
        {
            "whole": [1, 2, 3, 4, 5],
            "gaps": pd.array([1, None, 3, None, 2**60], dtype="Int64"),
            "flags": pd.array([True, None, None, False, True], dtype="boolean"),
            "sure": [True, False, True, True, False],
            "text": ["a", None, "b", "?", "c"],
            "day": ["13/1/2020", "1/2/2020", None, "3/4/2020", "5/6/2020"],
            "date": pd.to_datetime(
                ["2020-01-01", None, "2020-01-02 10:00", "2021-01-01", "2022-01-01"], format="ISO8601"
            ),
            "none": [None] * 5,
            "kind": pd.Categorical(["x", "y", "x", None, "x"]),
            "wait": pd.to_timedelta([1, 2, 3, None, 5], unit="h"),
        },
        index=[3, 1, 2, 0, 7],
    )
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=2)
    check(tmp_path / "t.parquet", size, missing=["?"])


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n", 'a,b\n1,"2\n', "a,b\n", ",b\n5,2\n7,3\n", ",b\n1,2\n2,3\n"]
)
def test_chunks_refuse_what_the_whole_refuses(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    check(tmp_path / "t.csv", 1)


def test_a_wide_table_has_chunks_of_fewer_rows():
    assert chunk_rows(1) == MOST_ROWS
    assert chunk_rows(CELLS // 1000) == 1000
    assert chunk_rows(10**6) == FEWEST_ROWS


def test_rows_are_counted_if_no_column_is_asked_for(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    with open_table(tmp_path / "t.csv", rows=2) as stream:
        parts = list(stream.chunks([]))
    assert [part.shape for part in parts] == [(2, 0), (1, 0)]
    assert np.concatenate([part.index for part in parts]).tolist() == [0, 1, 2]
