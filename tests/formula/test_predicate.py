"""Predicates on raw columns, compared value by value with Python's comparisons."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula.column_kinds import KINDS, is_missing, missing_of, numbers_of
from logiclens.formula.english import comparison_words
from logiclens.formula.predicate import OPERATORS, Operator, Predicate, is_name_of
from tests.rulesets import COMPARE

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6)
COMPARISONS = [operator for operator in OPERATORS if operator != "missing"]
NEGATION = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


@given(st.sampled_from(COMPARISONS), numbers, st.lists(st.none() | numbers | st.just(math.nan) | st.just(math.inf)))
def test_a_comparison_is_pythons_and_missing_is_false(sign: Operator, bound: float, values: list[Any]) -> None:
    near = [math.nextafter(bound, -math.inf), bound, math.nextafter(bound, math.inf)]
    column = [*values, *near]
    expected = [v is not None and COMPARE[sign](float(v), float(bound)) for v in column]
    assert Predicate("x", sign, bound).holds(column).tolist() == expected


@given(st.sampled_from([*NEGATION]), numbers, st.lists(numbers, min_size=1))
def test_the_words_of_the_negation_say_the_opposite(sign: Operator, bound: float, values: list[Any]) -> None:
    predicate = Predicate("x", sign, bound)
    opposite = Predicate("x", NEGATION[sign], bound)  # type: ignore[arg-type]
    assert comparison_words(predicate, positive=False) == comparison_words(opposite)
    assert (predicate.holds(values) != opposite.holds(values)).all()


@given(numbers)
def test_the_printed_value_reads_back(bound: float) -> None:
    predicate = Predicate("x", ">=", bound)
    assert float(predicate.shown_value) == float(bound)
    assert str(predicate) == f"x >= {predicate.shown_value}"
    assert len(predicate.shown_value) <= len(repr(bound))


@pytest.mark.parametrize(
    ("predicate", "written", "yes", "no"),
    [
        (Predicate("age", ">=", 72.5), "age >= 72.5", "at least 72.5", "below 72.5"),
        (Predicate("age", ">", 72.0), "age > 72", "above 72", "at most 72"),
        (Predicate("age", "<=", 7), "age <= 7", "at most 7", "above 7"),
        (Predicate("age", "<", 0.1 + 0.2), "age < 0.30000000000000004", "below 0.30000000000000004",
         "at least 0.30000000000000004"),
        (Predicate("dose", "==", 5), "dose is 5", "5", "not 5"),
        (Predicate("unit", "==", "MICU"), "unit is MICU", "MICU", "not MICU"),
        (Predicate("smoker", "==", True), "smoker is True", "true", "not true"),
        (Predicate("smoker", "==", False), "smoker is False", "false", "not false"),
        (Predicate("n", "==", 2.50), "n is 2.5", "2.5", "not 2.5"),
        (Predicate("bmi", "missing"), "bmi is missing", "missing", "not missing"),
        (Predicate("on", ">=", "2021-03-01"), "on >= 2021-03-01", "2021-03-01 or later", "before 2021-03-01"),
        (Predicate("on", ">", "2021-03-01"), "on > 2021-03-01", "after 2021-03-01", "2021-03-01 or earlier"),
        (Predicate("on", "<=", "2021-03-01T12:30"), "on <= 2021-03-01T12:30", "2021-03-01T12:30 or earlier",
         "after 2021-03-01T12:30"),
        (Predicate("on", "<", "2021-03-01"), "on < 2021-03-01", "before 2021-03-01", "2021-03-01 or later"),
        (Predicate("on", "==", "2021-03-01"), "on is 2021-03-01", '"2021-03-01"', 'not "2021-03-01"'),
    ],
)  # fmt: skip
def test_every_operator_can_be_written_and_said(predicate: Predicate, written: str, yes: str, no: str) -> None:
    said = comparison_words(predicate), comparison_words(predicate, positive=False)
    assert (str(predicate), *said) == (written, yes, no)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("MICU", "MICU"), ("MICU 2", "MICU 2"), ("it's", "it's"), ("2021-03-01", "2021-03-01"), ("true", "true"),
        ("missing", "'missing'"), ("True", "'True'"), ("False", "'False'"), ("1", "'1'"), ("-2.5e3", "'-2.5e3'"),
        ("nan", "'nan'"), ("inf", "'inf'"), ("", "''"), (" ", "' '"), ("MICU ", "'MICU '"), ("a\nb", "'a\\nb'"),
        ("'missing'", '"\'missing\'"'), ('"x"', "'\"x\"'"),
    ],
)  # fmt: skip
def test_a_text_that_could_be_misread_is_quoted(text: str, written: str) -> None:
    assert str(Predicate("unit", "==", text)) == f"unit is {written}"


anything = st.one_of(
    st.builds(Predicate, st.just("x"), st.sampled_from(COMPARISONS), numbers),
    st.builds(Predicate, st.just("x"), st.just("=="), st.booleans() | st.text(max_size=3)),
    st.builds(
        Predicate, st.just("x"), st.just("=="), st.sampled_from(["missing", "'missing'", "True", "1", "1.0", ""])
    ),
    st.builds(Predicate, st.just("x"), st.sampled_from([">=", "<"]), st.dates().map(str)),
    st.just(Predicate("x", "missing")),
)


@given(anything, anything)
def test_predicates_print_alike_only_if_they_are_equal(one: Predicate, other: Predicate) -> None:
    """A concept is called as its predicate is printed."""
    if str(one) == str(other):
        assert (one.operator, one.value) == (other.operator, other.value)


MISSING = [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]


@pytest.mark.parametrize("missing", MISSING)
def test_every_marker_for_missing_makes_every_comparison_false(missing: Any) -> None:
    assert is_missing(missing)
    for column in (
        [missing, 3],
        np.array([missing, 3], dtype=object),
        pd.Series([missing, 3], dtype=object),
        (missing, 3),
    ):
        for sign in COMPARISONS:
            held = Predicate("x", sign, 3).holds(column)
            assert held.dtype == np.bool_
            assert not held[0]
            assert held[1] == (sign in (">=", "<=", "=="))
        assert np.isnan(numbers_of(column, "x")).tolist() == [True, False]
    assert Predicate("x", "==", "a").holds([missing, "a"]).tolist() == [False, True]
    assert Predicate("x", "==", True).holds([missing, True]).tolist() == [False, True]
    for sign in NEGATION:
        dates = np.array([missing, "2021-03-01"], dtype=object)
        held = Predicate("x", sign, "2021-03-01").holds(dates)  # type: ignore[arg-type]
        assert held.tolist() == [False, "=" in sign]
    for other in (3, "a", True, datetime.date(2021, 3, 1)):
        assert Predicate("x", "missing").holds(np.array([missing, other], dtype=object)).tolist() == [True, False]


@pytest.mark.parametrize(
    "value",
    [0, 0.0, "", "nan", False, np.float64(0), np.int8(0), [], np.bool_(False), np.str_("x"), datetime.date(1, 1, 1),
     np.datetime64("2021-03-01"), pd.Timestamp("2021-03-01"), np.timedelta64(3, "D"), math.inf],
)  # fmt: skip
def test_other_values_are_not_missing(value: Any) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([60, None, 80], dtype="Int64"), [False, False, True]),
        (pd.Series([60, None, 80], dtype="Float64"), [False, False, True]),
        (pd.Series([60, None, 80]), [False, False, True]),
        (pd.Series([60, None, 80], dtype=object), [False, False, True]),
        (pd.Series([60, 72, 80], dtype="int8"), [False, False, True]),
        (pd.Series([60, 80]).astype("category"), [False, True]),
        (pd.array([60, None, 80], dtype="Int64"), [False, False, True]),
        (np.array([60, 80], dtype=np.float16), [False, True]),
        (np.array([60, 80], dtype=np.uint8), [False, True]),
        ([np.int64(60), np.float32(80)], [False, True]),
        (range(71, 75), [False, False, True, True]),
        ([], []),
    ],
)
def test_numbers_of_every_kind_are_compared(column: Any, expected: list[bool]) -> None:
    assert Predicate("age", ">=", 72.5).holds(column).tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([True, None, False], dtype=object),
        [True, None, False],
        [1, None, 0],
        np.array([1.0, np.nan, 0.0]),
    ],
)
def test_flags_are_compared_with_true_and_false(column: Any) -> None:
    assert Predicate("flag", "==", True).holds(column).tolist() == [True, False, False]
    assert Predicate("flag", "==", False).holds(column).tolist() == [False, False, True]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["MICU", None, "CCU"], dtype="string"),
        pd.Series(["MICU", None, "CCU"], dtype=object),
        pd.Series(["MICU", None, "CCU"]),
        pd.Series(["MICU", None, "CCU"]).astype("category"),
        np.array(["MICU", "nan", "CCU"]),
        ["MICU", math.nan, "CCU"],
        ["MICU", 5, np.str_("CCU")],
    ],
)
def test_texts_of_every_kind_are_compared(column: Any) -> None:
    assert Predicate("unit", "==", "MICU").holds(column).tolist() == [True, False, False]
    assert Predicate("unit", "==", "CCU").holds(column).tolist() == [False, False, True]
    assert Predicate("unit", "==", "5").holds(column).tolist() == [False, False, False]


@pytest.mark.parametrize(
    "column",
    [
        [1.5, None], [1.5, math.nan], np.array([1.5, np.nan], dtype=np.float32), ["a", None], ["a", math.nan],
        ["nan", math.nan], ("", None), [True, None], [datetime.date(2021, 3, 1), None],
        [datetime.datetime(2021, 3, 1), pd.NaT],
        np.array(["2021-03-01", "NaT"], dtype="datetime64[D]"), np.array([3, "NaT"], dtype="timedelta64[h]"),
        np.array([np.datetime64("2021-03-01"), np.datetime64("NaT")], dtype=object),
        pd.Series([1, None], dtype="Int64"), pd.Series([1, None], dtype="Float64"), pd.Series([1.0, None]),
        pd.Series([True, None], dtype="boolean"), pd.Series([True, None], dtype=object), pd.Series(["a", None]),
        pd.Series(["a", None], dtype="string"), pd.Series(["a", None], dtype=object),
        pd.Series(["a", None]).astype("category"), pd.Series([5, None]).astype("category"), pd.array([1, None]),
        pd.Series(pd.to_datetime(["2021-03-01", None])), pd.Series(pd.to_datetime(["2021-03-01T00:00Z", None])),
        pd.Series(pd.to_timedelta(["3h", None])), pd.Series(pd.PeriodIndex(["2021-03", None], freq="M")),
    ],
)  # fmt: skip
def test_missing_values_are_found_in_columns_of_every_kind(column: Any) -> None:
    held = Predicate("x", "missing").holds(column)
    assert held.dtype == np.bool_
    assert held.tolist() == [False, True]
    assert pd.isna(pd.Series(list(column), dtype=object)).tolist() == [False, True]


@pytest.mark.parametrize("column", [[1, 2], np.array([True]), np.array(["", "nan"]), range(3), [], np.array([b"x"])])
def test_a_column_may_have_no_missing_value(column: Any) -> None:
    assert missing_of(column, "x").tolist() == [False] * len(column)


ROME = "Europe/Rome"
DAYS = [
    ["2021-02-28", None, "2021-03-01", "2021-03-02"],
    ("2021-02-28", math.nan, "2021-03-01 00:00", "2021-03-01T12:30:00.000001"),
    np.array(["2021-02-28", "NaT", "2021-03-01", "2021-03-02"], dtype="datetime64[D]"),
    np.array(["2021-02-28T23:59:59.999999999", "NaT", "2021-03-01", "2021-03-02"], dtype="datetime64[ns]"),
    [datetime.date(2021, 2, 28), None, datetime.date(2021, 3, 1), datetime.date(2021, 3, 2)],
    [datetime.datetime(2021, 2, 28, 23), pd.NaT, datetime.datetime(2021, 3, 1), datetime.datetime(2021, 3, 1, 0, 0, 1)],
    [np.datetime64("2021-02-28"), np.datetime64("NaT"), np.datetime64("2021-03-01", "ns"), np.datetime64("2021-04")],
    [" 2021-02-28 ", pd.NA, datetime.date(2021, 3, 1), pd.Timestamp("2021-03-02")],
    pd.Series(pd.to_datetime(["2021-02-28", None, "2021-03-01", "2021-03-02"])),
    pd.Series(["2021-02-28", None, "2021-03-01", "2021-03-02"], dtype="string"),
    pd.Series(["2021-02-28", None, "2021-03-01", "2021-03-02"]).astype("category"),
    pd.Series(pd.to_datetime(["2021-02-28", None, "2021-03-01", "2021-03-02"])).astype("category"),
    # In Rome the day begins an hour before it does in universal time.
    pd.Series(pd.to_datetime(["2021-03-01 00:59", None, "2021-03-01 01:00", "2021-03-01 01:01"])).dt.tz_localize(ROME),
    pd.Series(pd.to_datetime(["2021-03-01 00:59", None, "2021-03-01 01:00", "2021-03-01 01:01"])).dt.tz_localize(ROME)
    .astype(object),
    pd.DatetimeIndex(["2021-03-01 00:59", None, "2021-03-01 01:00", "2021-03-01 01:01"], tz=ROME),
    [datetime.datetime(2021, 2, 28, 23, 59, tzinfo=datetime.UTC), None, pd.Timestamp("2021-03-01 01:00", tz=ROME),
     datetime.datetime(2021, 3, 1, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))],
]  # fmt: skip


@pytest.mark.parametrize("column", DAYS, ids=range(len(DAYS)))
def test_dates_of_every_kind_are_compared(column: Any) -> None:
    """Each column has a date before the cut, none, the cut itself and a date behind it."""
    for sign, expected in ((">=", [0, 0, 1, 1]), (">", [0, 0, 0, 1]), ("<=", [1, 0, 1, 0]), ("<", [1, 0, 0, 0])):
        for value in ("2021-03-01", "2021-03-01T00:00", "2021-03-01 00:00:00.000000"):
            predicate = Predicate("on", sign, value)  # type: ignore[arg-type]
            assert predicate.has_text_form
            held = predicate.holds(column)
            assert held.dtype == np.bool_
            assert held.tolist() == [bool(bit) for bit in expected]
    assert Predicate("on", "missing").holds(column).tolist() == [False, True, False, False]
    assert np.isnat(KINDS["date"].array(column, "on")).tolist() == [False, True, False, False]


FIRST, LAST = datetime.datetime(1, 1, 1, 0, 0, 1), datetime.datetime(9999, 12, 31)
times = st.datetimes(FIRST, LAST)
FORMS = (
    lambda time: time,
    pd.Timestamp,
    lambda time: time.isoformat(),
    lambda time: time.isoformat(" ", timespec="microseconds"),
    lambda time: np.datetime64(time),
    lambda time: time.replace(tzinfo=datetime.UTC),
)


@given(st.sampled_from([*NEGATION]), times, st.lists(st.none() | times), st.data())
def test_a_comparison_of_dates_is_pythons(
    sign: Operator, bound: datetime.datetime, cells: list[Any], data: st.DataObject
) -> None:
    near = [bound, bound + datetime.timedelta(microseconds=1), bound - datetime.timedelta(microseconds=1)]
    column = np.empty(len(cells) + 3, dtype=object)
    for place, cell in enumerate([*cells, *near]):
        column[place] = cell and data.draw(st.sampled_from(FORMS))(cell)
    expected = [cell is not None and COMPARE[sign](cell, bound) for cell in [*cells, *near]]
    assert Predicate("on", sign, bound.isoformat()).holds(column).tolist() == expected
    assert Predicate("on", sign, str(bound)).holds(list(column)).tolist() == expected


def test_a_column_of_nothing_has_no_dates() -> None:
    for column in ([None, None], [math.nan, math.nan], np.array([np.nan, np.nan]), pd.Series([pd.NA, pd.NA])):
        assert Predicate("on", "<", "2021-03-01").holds(column).tolist() == [False, False]
    assert Predicate("on", "<", "2021-03-01").holds([]).tolist() == []


def test_a_day_compared_by_equality_is_a_text() -> None:
    predicate = Predicate("on", "==", "2021-03-01")
    assert not predicate.has_text_form
    assert predicate.holds(["2021-03-01", "2021-03-01T00:00", datetime.date(2021, 3, 1)]).tolist() == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (["2021-03-01", "yesterday"], "'yesterday'"),
        (["2021-02-30"], "'2021-02-30'"),
        (["2021-3-1"], "'2021-3-1'"),
        (["2021-03-01T12"], "'2021-03-01T12'"),
        (["2021-03-01T12:30Z"], "'2021-03-01T12:30Z'"),
        ([""], "''"),
        ([20210301], "20210301"),
        ([True], "True"),
        (np.array([1.5]), "1.5"),
        (np.array([3], dtype="timedelta64[D]"), r"datetime.timedelta\(days=3\)"),
        ([datetime.time(12, 30)], r"datetime.time\(12, 30\)"),
    ],
)
def test_a_column_that_holds_no_dates_is_refused(column: Any, shown: str) -> None:
    message = f"the column 'on' holds {shown} where a date such as '2021-03-01' is needed"
    with pytest.raises(LogicLensError, match=message):
        Predicate("on", ">=", "2021-03-01").holds(column)


def test_dates_and_missing_values_of_polars_are_known() -> None:
    polars = pytest.importorskip("polars")
    day, time = datetime.date(2021, 3, 1), datetime.datetime(2021, 3, 1)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    for values in (
        polars.Series([day, None]),
        polars.Series([time, None]),
        polars.Series([time, None]).cast(polars.Datetime("ns")),
        polars.Series([datetime.datetime(2021, 3, 1, 2, tzinfo=zone), None]),
        polars.Series(["2021-03-01", None]),
    ):
        assert Predicate("on", "<=", "2021-03-01").holds(values).tolist() == [True, False]
        assert Predicate("on", ">", "2021-02-28T23:59").holds(values).tolist() == [True, False]
        assert Predicate("on", "missing").holds(values).tolist() == [False, True]
    for cells in ([1, None], [1.5, None], [1.5, math.nan], [True, None], ["a", None]):
        assert Predicate("x", "missing").holds(polars.Series(cells)).tolist() == [False, True]
    frame = polars.DataFrame({"on": [day, None]})
    assert Predicate("on", ">=", "2021-03-01").holds(frame["on"]).tolist() == [True, False]


def test_columns_of_arrow_are_known() -> None:
    pytest.importorskip("pyarrow")
    day = datetime.date(2021, 3, 1)
    for kind, cell in (
        ("timestamp[us][pyarrow]", datetime.datetime(2021, 3, 1)),
        ("date32[pyarrow]", day),
        ("timestamp[us, tz=UTC][pyarrow]", datetime.datetime(2021, 3, 1, tzinfo=datetime.UTC)),
    ):
        column = pd.Series([cell, None], dtype=kind)
        assert Predicate("on", ">=", "2021-03-01").holds(column).tolist() == [True, False]
        assert Predicate("on", "missing").holds(column).tolist() == [False, True]
    assert Predicate("x", "missing").holds(pd.Series([1, None], dtype="int64[pyarrow]")).tolist() == [False, True]


def test_columns_of_polars_are_compared() -> None:
    polars = pytest.importorskip("polars")
    assert Predicate("age", ">=", 72.5).holds(polars.Series([60, None, 80])).tolist() == [False, False, True]
    assert Predicate("flag", "==", True).holds(polars.Series([True, None, False])).tolist() == [True, False, False]
    assert Predicate("unit", "==", "a").holds(polars.Series(["a", None, "b"])).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (Fraction(1, 4), 0.25),
        (True, True),
        (2**70, 2**70),
    ],
)
def test_values_become_pythons_own(given: Any, kept: Any) -> None:
    predicate = Predicate("x", "==", given)
    assert predicate.value == kept
    assert type(predicate.value) is type(kept)
    assert predicate == Predicate("x", "==", kept)
    assert hash(predicate) == hash(Predicate("x", "==", kept))


def test_a_number_beyond_every_column_is_never_reached() -> None:
    assert Predicate("x", ">=", 2**70).holds([1.0, 2.0**71]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", ">=", 1), "a predicate needs the name of a column, got ''"),
        ((3, ">=", 1), "a predicate needs the name of a column, got 3"),
        (("x", "!=", 1), "the operator must be one of >= > <= < == missing, got '!='"),
        (("x", ">=", math.nan), "the predicate on 'x' needs a finite value, got nan"),
        (("x", ">=", math.inf), "the predicate on 'x' needs a finite value, got inf"),
        (("x", ">=", 10**400), "the predicate on 'x' needs a finite value, got 1000"),
        (("x", "==", None), "the predicate on 'x' needs a number or a text, got None"),
        (("x", "==", [1]), r"the predicate on 'x' needs a number or a text, got \[1\]"),
        (("x", "==", 1j), "the predicate on 'x' needs a number or a text, got 1j"),
        (("x", ">=", "a"), r"'a' can only be compared by '==' \(a date .* or a duration .* also by order\), got '>='"),
        (("x", ">", True), r"True can only be compared by '==' \(a date .* or a duration .* also by order\), got '>'"),
        (("x", ">=", "2021-02-30"), "'2021-02-30' can only be compared by '=='"),
        (("x", ">=", "2021-03-01T25:00"), "'2021-03-01T25:00' can only be compared by '=='"),
        (("x", ">=", "2021-03-01T12:30+01:00"), r"'2021-03-01T12:30\+01:00' can only be compared by '=='"),
        (("x", ">=", "0000-01-01"), "'0000-01-01' can only be compared by '=='"),
        (("x", ">=", "٢٠٢١-٠٣-٠١"), "'٢٠٢١-٠٣-٠١' can only be compared by '=='"),
        (("x", ">=", "2021-03-01\n"), r"'2021-03-01\\n' can only be compared by '=='"),
        (("x", ">=", datetime.date(2021, 3, 1)), r"the predicate on 'x' needs a number or a text, got datetime.date"),
        (("x", ">="), "True can only be compared by '=='"),
        (("x", "missing", False), "whether 'x' is missing takes no value, got False"),
        (("x", "missing", 1), "whether 'x' is missing takes no value, got 1"),
        (("x", "missing", "2021-03-01"), "whether 'x' is missing takes no value, got '2021-03-01'"),
        (("", "missing"), "a predicate needs the name of a column, got ''"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LogicLensError, match=message):
        Predicate(*arguments)


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b"],
        [1, "b"],
        [{}, 1],
        [1 + 2j],
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([3], dtype="timedelta64[D]"),
        pd.Series(pd.to_datetime(["2020-01-01", None])),
        [datetime.date(2020, 1, 1)],
    ],
)
def test_a_column_that_is_not_numeric_is_refused(column: Any) -> None:
    with pytest.raises(LogicLensError, match="the column 'x' is not numeric"):
        Predicate("x", ">=", 1).holds(column)


@pytest.mark.parametrize(("operator", "value"), [("==", 1), ("==", "a"), (">=", "2021-03-01"), ("missing", True)])
@pytest.mark.parametrize(("column", "n"), [([["a"], ["b"]], 2), ("a", 0), (np.array(3), 0)])
def test_what_is_not_a_column_is_refused(operator: Any, value: Any, column: Any, n: int) -> None:
    with pytest.raises(LogicLensError, match=rf"the column 'x' needs a list of values, got {n} dimension\(s\)"):
        Predicate("x", operator, value).holds(column)


@pytest.mark.parametrize("text", ["\U0001fa77", "\u0378", "\U0001e4f1", "größe", "日本", "☃"])
def test_names_do_not_depend_on_the_version_of_unicode(text: str) -> None:
    # The second character is in no version yet, the first is new in 15, and so is the third, a digit.
    assert str(Predicate("unit", "==", text)) == f"unit is {text}"


@pytest.mark.parametrize(
    "text", ["a\u200bb", "a\u2028b", "\ufeffa", "a\U000e0041", "\ue000", "１２", "\U0001d7ce", "\ufffe"]
)
def test_texts_that_hide_or_are_numbers_stay_quoted(text: str) -> None:
    assert str(Predicate("unit", "==", text)) == f"unit is {text!r}"


def test_a_name_may_be_quoted_where_it_need_not_be() -> None:
    meant = Predicate("unit", "==", "ä")
    assert all(is_name_of(name, meant) for name in ("unit is ä", "unit is 'ä'", r"unit is '\xe4'"))
    assert not any(is_name_of(name, meant) for name in ("unit is a", 'unit is "ä"', "unit is 'ä' ", "Unit is 'ä'"))
    assert not is_name_of("unit is 2", Predicate("unit", "==", "2"))
    assert not is_name_of("age >= '60'", Predicate("age", ">=", 60))
