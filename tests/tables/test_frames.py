"""Columns: every kind of table gives the same column kinds, values and gaps."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from logiclens import EntropyClassifier
from logiclens.errors import LogicLensError
from logiclens.formula.predicate import Predicate
from logiclens.tables.frames import Column, check_column_names, column_names, columns_of

GAP = None
DAY, NOON = datetime(2021, 3, 1), datetime(2021, 7, 9, 12, 30, 15, 250_000)
BERLIN = timezone(timedelta(hours=2))


def read(column: Column) -> list:
    """The values as Python writes them, None for gaps: what a person would say the column holds."""
    gone = column.missing
    if column.kind == "text":
        values = [None if code < 0 else column.categories[code] for code in column.values.tolist()]
    elif column.kind == "date":
        values = column.values.astype("datetime64[us]").tolist()
    else:
        values = [bool(v) if column.kind == "boolean" else v for v in column.values.tolist()]
    return [None if gone[row] else value for row, value in enumerate(values)]


# Every kind of table -------------------------------------------------------------------------------------------------

SERIES = [
    # What holds the values, the kind, the values as they should be read.
    (pd.Series([1.5, np.nan, -2.0]), "number", [1.5, GAP, -2.0]),
    (pd.Series([1, 2, 3], dtype="uint8"), "number", [1, 2, 3]),
    (pd.Series([1, None, 3], dtype="Int64"), "number", [1, GAP, 3]),
    (pd.Series([1.5, None, 3], dtype="Float64"), "number", [1.5, GAP, 3]),
    (pd.Series([True, False, True]), "boolean", [True, False, True]),
    (pd.Series([True, None, False], dtype="boolean"), "boolean", [True, GAP, False]),
    (pd.Series([True, None, False], dtype=object), "boolean", [True, GAP, False]),
    (pd.Series([True, 2, None], dtype=object), "number", [1, 2, GAP]),
    (pd.Series(["b", None, "a"], dtype="string"), "text", ["b", GAP, "a"]),
    (pd.Series(["b", np.nan, "a"], dtype=object), "text", ["b", GAP, "a"]),
    (pd.Series(["b", pd.NA, ""], dtype=object), "text", ["b", GAP, ""]),
    (pd.Series(["b", None, "a"], dtype="category"), "text", ["b", GAP, "a"]),
    (pd.Series(pd.Categorical(["b", None, "a"], ["b", "a", "never"], ordered=True)), "text", ["b", GAP, "a"]),
    (pd.Series([3, None, 1], dtype="category"), "number", [3, GAP, 1]),
    (pd.Series([True, None, False], dtype="category"), "boolean", [True, GAP, False]),
    (pd.Series([DAY, None, NOON]), "date", [DAY, GAP, NOON]),
    (pd.Series([DAY, None, NOON]).astype("datetime64[s]"), "date", [DAY, GAP, NOON.replace(microsecond=0)]),
    (pd.Series([DAY, None]).dt.tz_localize(BERLIN), "date", [datetime(2021, 2, 28, 22), GAP]),
    (pd.Series([DAY.date(), None, NOON], dtype=object), "date", [DAY, GAP, NOON]),
    (pd.Series([DAY.replace(tzinfo=UTC), None], dtype=object), "date", [DAY, GAP]),
    (pd.Series([Decimal("1.5"), None, Decimal(2)], dtype=object), "number", [1.5, GAP, 2]),
    (pd.Series([None, None], dtype=object), None, [GAP, GAP]),
    (pd.Series(pd.arrays.SparseArray([0.0, 0.0, 1.0])), "number", [0, 0, 1]),
    (pl.Series([1, None, 3]), "number", [1, GAP, 3]),
    (pl.Series([1.5, float("nan"), None]), "number", [1.5, GAP, GAP]),
    (pl.Series([True, None, False]), "boolean", [True, GAP, False]),
    (pl.Series(["b", None, "a"]), "text", ["b", GAP, "a"]),
    (pl.Series(["b", None, "a"], dtype=pl.Categorical), "text", ["b", GAP, "a"]),
    (pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a"])), "text", ["b", GAP, "a"]),
    (pl.Series([DAY.date(), None]), "date", [DAY, GAP]),
    (pl.Series([DAY, None, NOON]), "date", [DAY, GAP, NOON]),
    (pl.Series([DAY, None]).dt.replace_time_zone("Europe/Rome"), "date", [datetime(2021, 2, 28, 23), GAP]),
    (pl.Series([Decimal("1.5"), None]), "number", [1.5, GAP]),
    (pl.Series([None, None]), None, [GAP, GAP]),
    (pa.chunked_array([[1, None], [3]]), "number", [1, GAP, 3]),
    (pa.chunked_array([[True, None]]), "boolean", [True, GAP]),
    (pa.chunked_array([["b", None, "a"]]), "text", ["b", GAP, "a"]),
    (pa.chunked_array([pa.array(["b", None, "a"]).dictionary_encode()]), "text", ["b", GAP, "a"]),
    (pa.chunked_array([[DAY.date(), None]]), "date", [DAY, GAP]),
    (pa.chunked_array([pa.array([DAY, None], pa.timestamp("ns", "UTC"))]), "date", [DAY, GAP]),
    (pa.chunked_array([pa.array([Decimal("1.5"), None])]), "number", [1.5, GAP]),
    (np.array(["2021-03-01", "NaT"], dtype="datetime64[ns]"), "date", [DAY, GAP]),
    (np.array([1, 2], dtype=np.int8), "number", [1, 2]),
    (np.array([0.5, np.nan], dtype=np.float16), "number", [0.5, GAP]),
    (np.array([True, False]), "boolean", [True, False]),
    (np.array(["b", "a"]), "text", ["b", "a"]),
    (["b", None], "text", ["b", GAP]),
    ((1, None), "number", [1, GAP]),
    ([date(2021, 3, 1), None, np.datetime64("NaT")], "date", [DAY, GAP, GAP]),
]  # fmt: skip


def frames_of(values) -> list:
    """The ways in which a table may hold one column."""
    if isinstance(values, pd.Series):
        return [pd.DataFrame({"c": values}), {"c": values}]
    if isinstance(values, pl.Series):
        return [pl.DataFrame({"c": values}), pl.LazyFrame({"c": values}), {"c": values}]
    return [pa.table({"c": values})] if isinstance(values, pa.ChunkedArray) else [{"c": values}]


@pytest.mark.parametrize(("values", "kind", "meant"), SERIES, ids=lambda value: type(value).__name__)
def test_a_column_is_read_as_what_it_holds(values, kind, meant):
    for table in frames_of(values):
        (column,) = columns_of(table)
        assert column_names(table) == ["c"]
        assert column.name == "c"
        assert kind is None or column.kind == kind
        assert read(column) == meant
        assert len(column) == len(meant)


@pytest.mark.parametrize(
    ("matrix", "kinds", "first"),
    [
        (np.array([[1.5, np.nan], [2.5, 3.5]]), ["number", "number"], [1.5, GAP]),
        (np.array([[1, 2]]), ["number", "number"], [1, 2]),
        (np.array([[True, False]]), ["boolean", "boolean"], [True, False]),
        (np.array([[1, "a", None, True]], dtype=object), ["number", "text", None, "boolean"], [1, "a", GAP, True]),
        (np.array([["b", "1"]]), ["text", "text"], ["b", "1"]),
        (np.array([["2021-03-01"]], dtype="datetime64[D]"), ["date"], [DAY]),
        ([[1, "a"], [2, "b"]], ["number", "text"], [1, "a"]),
        ([(1.5, None), (2.5, "b")], ["number", "text"], [1.5, GAP]),
        ([[1, True], [2, False]], ["number", "boolean"], [1, True]),
    ],
)
def test_a_matrix_is_read_column_by_column(matrix, kinds, first):
    columns = columns_of(matrix)
    assert [column.name for column in columns] == [f"x{i}" for i in range(len(kinds))]
    assert all(kind is None or column.kind == kind for column, kind in zip(columns, kinds, strict=True))
    assert [read(column)[0] for column in columns] == first
    assert column_names(matrix) is None
    assert [column.name for column in columns_of(matrix, list("abcd")[: len(kinds)])] == list("abcd")[: len(kinds)]


def test_whole_numbers_are_known_by_their_type():
    frame = pd.DataFrame(
        {
            "int": [1, 2],
            "nullable": pd.array([1, None], dtype="Int64"),
            "object": np.array([np.int64(1), 2], dtype=object),
            "float": [1.0, 2.0],
        }
    )
    assert [column.whole for column in columns_of(frame)] == [True, True, True, False]


cells = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40)), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "é", "", "None", "nan"])), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))), min_size=1, max_size=12),
)


@given(cells)
def test_every_holder_of_the_same_values_gives_the_same_column(values):
    tables = [
        pd.DataFrame({"c": pd.Series(values, dtype=object)}),
        pl.DataFrame({"c": pl.Series(values, strict=False)}),
        pa.table({"c": pa.array(values)}),
        {"c": values},
        np.array([[value] for value in values], dtype=object),
        [[value] for value in values],
    ]
    for table in tables:
        (column,) = columns_of(table)
        assert read(column) == values


# What is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"c": ["a", 1]}, "the column 'c' mixes text and numbers: row 0 holds 'a', row 1 1"),
        ({"c": [None, True, "x"]}, "mixes truth values and text: row 1 holds True, row 2 'x'"),
        ({"c": [1.5, date(2021, 1, 1)]}, "mixes numbers and dates: row 0 holds 1.5"),
        (pd.DataFrame({"c": [1.0, np.inf]}), "the column 'c' is infinite \\(inf\\) in row 1: put the largest"),
        (pl.DataFrame({"c": [float("-inf"), 1.0]}), "'c' is infinite \\(inf\\) in row 0"),
        (np.array([[1.0, np.inf]]), "'x1' is infinite \\(inf\\) in row 0"),
        ({"c": [1.0, float("inf")]}, "'c' is infinite \\(inf\\) in row 1"),
        (pd.DataFrame({"c": [{"a": 1}, {"a": 2}]}), "the column 'c' holds a dict in row 0, which cannot be compared"),
        (pl.DataFrame({"c": [{"a": 1}]}), "the column 'c' holds a dict in row 0"),
        (pd.DataFrame({"c": [[1, 2], [3, 4]]}), "the column 'c' holds a list in row 0"),
        (pl.DataFrame({"c": [[1, 2], [3, 4]]}), "the column 'c' holds a list in row 0"),
        ({"c": np.zeros((2, 2))}, "the column 'c' holds a list in row 0"),
        (pd.DataFrame({"c": pd.PeriodIndex(["2021-03"], freq="M")}), "holds a Period in row 0"),
        ({"x0": np.array([1 + 2j])}, "the column 'x0' holds complex128, which cannot be compared"),
        (pd.DataFrame({"c": [b"a"]}), "holds a bytes in row 0"),
        (pd.DataFrame({"c": [1j]}), "holds a complex in row 0"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column names must differ; 'a' is there more than once"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "column names must differ; '1' is there more than once"),
        ({"1": [1], 1: [2]}, "column names must differ; '1' is there more than once"),
        ({"a": [1, 2], "b": [1]}, "each column of a dictionary needs a list of values, all of one length"),
        ({"a": 1}, "each column of a dictionary needs a list"),
        ({"a": "xy"}, "each column of a dictionary needs a list"),
        ({}, "each column of a dictionary needs a list"),
        ([[1], [2, 3]], "the rows of a table must be lists of one length"),
        (pd.DataFrame(index=[1, 2]), "Found array with 0 feature"),
    ],
)
def test_what_cannot_be_read_is_named(table, message):
    with pytest.raises(LogicLensError, match=message):
        columns_of(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        # scikit-learn's words, which its users know.
        (scipy.sparse.eye(3).tocsr(), "Sparse data was passed"),
        (scipy.sparse.eye(3).todok(), "Sparse data was passed"),
        (np.array([[1j]]), "Complex data not supported"),
        (np.arange(3.0), "Expected 2D array, got 1D array"),
        ([1, 2, 3], "Expected 2D array, got 1D array"),
        (pd.Series([1, 2]), "Expected a 2-dimensional container but got"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (None, "Expected 2D array, got scalar"),
        (np.zeros((0, 2)), "0 sample"),
    ],
)
def test_what_is_no_table_is_refused_as_scikit_learn_does(table, message):
    with pytest.raises(LogicLensError, match=message):
        columns_of(table)


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_large_arrow_numbers_with_a_gap_are_read(kind):
    cells = [2**60 + 1024, None, 5]
    frame = pd.DataFrame({"a": pd.array(cells, dtype=pd.ArrowDtype(getattr(pa, kind)()))})
    (column,) = columns_of(frame)
    np.testing.assert_array_equal(column.values, [2.0**60 + 1024, np.nan, 5.0])


def test_string_views_and_record_batches_are_read():
    for table in (
        pd.DataFrame({"a": pd.array(["x", None, "y"], dtype=pd.ArrowDtype(pa.string_view()))}),
        pa.table({"a": pa.array(["x", None, "y"], type=pa.string_view())}),
        pa.RecordBatch.from_pydict({"a": ["x", None, "y"]}),
    ):
        (column,) = columns_of(table)
        assert (column.categories, column.values.tolist()) == (("x", "y"), [0, -1, 1])


def test_a_signalling_decimal_is_missing():
    (column,) = columns_of({"a": [Decimal("1.5"), Decimal("sNaN"), Decimal("NaN")]})
    assert column.missing.tolist() == [False, True, True]


def test_names_that_differ_are_fine():
    check_column_names(["a", "b", "A"])
    with pytest.raises(LogicLensError, match="'b' is there more than once"):
        check_column_names(["a", "b", "b"])


# Kinds from training to prediction -----------------------------------------------------------------------------------


def column(values) -> Column:
    (made,) = columns_of({"c": values})
    return made


def test_gaps_alone_are_of_every_kind():
    for kind in ("number", "boolean", "text", "date"):
        empty = column([None, None]).as_kind(kind)
        assert empty.kind == kind or {empty.kind, kind} == {"number", "boolean"}
        assert empty.missing.all()


def test_dates_may_come_back_as_text():
    assert read(column(["2021-03-01", None, "2021-07-09 12:30:15.25"]).as_kind("date")) == [DAY, None, NOON]
    with pytest.raises(LogicLensError, match="the column 'c' holds 'soon' where a date such as '2021-03-01' is needed"):
        column(["soon"]).as_kind("date")


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([None, "x"], "number", r"held numbers in training and holds text now \('x' in row 1\)"),
        ([2], "text", r"held text in training and holds numbers now \(2 in row 0\)"),
        ([DAY], "text", r"held text in training and holds dates now \('2021-03-01T00:00:00' in row 0\)"),
        ([True], "date", r"held dates in training and holds truth values now \(True in row 0\)"),
    ],
)
def test_another_kind_than_in_training_is_refused(values, kind, message):
    with pytest.raises(LogicLensError, match=message):
        column(values).as_kind(kind)


@given(cells, st.data())
def test_a_predicate_holds_where_it_does_on_the_values_themselves(values, data):
    made = column(values)
    known = [value for value in values if value is not None] or [0.0]
    chosen = data.draw(st.sampled_from(known))
    if isinstance(chosen, datetime):
        asked, expected = Predicate("c", ">=", chosen.isoformat()), [v is not None and v >= chosen for v in values]
    elif isinstance(chosen, str | bool):
        asked, expected = Predicate("c", "==", chosen), [v is not None and v == chosen for v in values]
    else:
        asked, expected = Predicate("c", ">=", chosen), [v is not None and v >= chosen for v in values]
    assert made.holds(asked).tolist() == expected
    assert made.holds(Predicate("c", "missing")).tolist() == [v is None for v in values]
    rows = np.array([len(values) - 1, 0])
    assert read(made.take(rows)) == [values[-1], values[0]]


def test_a_text_that_is_not_there_holds_nowhere():
    made = column(["a", None, "b"])
    assert not made.holds(Predicate("c", "==", "z")).any()
    assert not made.holds(Predicate("c", "==", 1)).any()


# Numbers that only name something -----------------------------------------------------------------------------------


def test_numbers_declared_as_categories_have_no_order():
    frame = pd.DataFrame({"ward": pd.Categorical([1, 2, 3, None] * 10), "age": [30.0, 40.0, 50.0, 60.0] * 10})
    sick = np.where(frame["ward"].astype(float) == 2, "ill", "well")
    model = EntropyClassifier(epochs=150).fit(frame, sick)
    assert {"ward is 1", "ward is 2", "ward is 3", "ward is missing"} < set(model.concept_names_)
    assert model.booleaniser_.predicates_["ward is 2"] == Predicate("ward", "==", 2)
    assert not any(name.startswith("ward >=") for name in model.concept_names_)
    np.testing.assert_array_equal(model.predict(frame), sick)
    # The rules say the same of the frame, and of a column of plain numbers.
    np.testing.assert_array_equal(model.rules_.predict(frame), sick)
    np.testing.assert_array_equal(model.predict(frame.assign(ward=frame["ward"].astype(float))), sick)


def test_ordered_categories_of_numbers_are_numbers():
    grade = pd.Categorical([1, 2, 3, 2], ordered=True)
    (made,) = columns_of(pd.DataFrame({"grade": grade}))
    assert (made.kind, made.is_nominal) == ("number", False)
    (made,) = columns_of(pd.DataFrame({"ward": pd.Categorical([2.5, None, 1.0])}))
    assert made.is_nominal
    assert made.categories == (1.0, 2.5)
    assert made.places.tolist() == [1, -1, 0]
