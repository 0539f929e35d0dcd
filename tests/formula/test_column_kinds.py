"""Kinds of columns: how thresholds are rounded and written, and what each entry of the registry promises."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula import Rule, parse
from logiclens.formula.column_kinds import KINDS, kind_of_cell, short_date, short_number
from logiclens.formula.column_states import units_of
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet
from logiclens.tables.frames import columns_of

# short_number --------------------------------------------------------------------------------------------------------


def digits_of(number: float) -> int:
    """How many significant digits a number has when written out; 0 has none."""
    return 0 if number == 0 else len(Decimal(repr(number)).normalize().as_tuple().digits)


def fewest_digits(low: float, high: float) -> int:
    """In exact decimals: the fewest significant digits of any number in (low, high]."""
    if low < 0 <= high:
        return 0
    # (low, high] of negative numbers is [−high, −low) of positive ones.
    mirrored = high < 0
    # repr: the decimal that is meant, not the binary number next to it.
    ends = (-high, -low) if mirrored else (low, high)
    first, last = (Fraction(repr(end)) for end in ends)
    step = Fraction(10) ** (math.floor(math.log10(last)) + 1)
    while True:
        # The coarsest step of ten with a multiple inside has at most nine there; the shortest is one of them.
        start = math.ceil(first / step) if mirrored else math.floor(first / step) + 1
        inside = [m for m in range(start, start + 10) if (m * step < last if mirrored else m * step <= last)]
        if inside:
            return min(len(str(m).rstrip("0")) for m in inside)
        step /= 10


numbers = st.one_of(
    st.integers(-1000, 1000).map(float),
    st.integers(-10_000, 10_000).map(lambda n: n / 100),
    st.floats(-1e6, 1e6, allow_subnormal=False),
)


@given(numbers, numbers, st.none() | numbers)
@example(2.0, 3.0, None)
@example(1.0, np.nextafter(1.0, 2), None)
@example(np.nextafter(1.0, 0), 1.0, None)
@example(-1.0, 0.9, None)
@example(-5e-324, 5e-324, None)
@example(0.0, 5e-324, None)
@example(1e300, 1.1e300, None)
@example(-1.7e308, 1.7e308, None)
@example(0.1, 0.3, np.nextafter(0.1, 1))
def test_a_short_number_lies_between(a, b, near):
    low, high = min(a, b), max(a, b)
    if low == high:
        with pytest.raises(LogicLensError, match="there is no number above"):
            short_number(low, high, near)
        return
    number = short_number(low, high, near)
    assert isinstance(number, float)
    assert low < number <= high


@given(
    st.one_of(st.integers(-200, 200).map(float), st.integers(-3000, 3000).map(lambda n: n / 100)),
    st.one_of(st.integers(1, 50).map(float), st.integers(1, 500).map(lambda n: n / 100)),
)
@example(2.0, 1.0)
@example(9.0, 2.0)
def test_no_number_between_is_shorter(low, width):
    high = round(low + width, 2)
    number = short_number(low, high)
    assert digits_of(number) == fewest_digits(low, high)


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [
        (13.0425, 13.1083, 13.1),
        (45.9, 58.1, 50),
        (99.5, 100.4, 100),
        (0.0012, 0.0019, 0.0015),
        (-58.1, -45.9, -50),
        (1_234_567, 1_234_569, 1_234_568),
    ],
)
def test_a_short_number_is_what_a_person_would_write(low, high, number):
    assert short_number(low, high) == number


def test_nought_is_written_without_a_sign():
    assert f"{short_number(-1.0, 0.9):g}" == "0"


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0)])
def test_an_empty_interval_is_refused(low, high):
    with pytest.raises(LogicLensError, match=f"no number above {low} and up to {high}"):
        short_number(low, high)


# short_date ----------------------------------------------------------------------------------------------------------

EPOCH = datetime(1970, 1, 1)
moments = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))
gaps = st.one_of(
    st.integers(1, 10**6), st.integers(10**6, 10**11), st.integers(10**11, 10**16)
).map(lambda us: timedelta(microseconds=us))  # fmt: skip


def grain(when: datetime) -> int:
    """How coarse a moment is: the start of a year 0, of a month 1, of a day 2, … of a microsecond 6."""
    starts = (
        when.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0),
        when.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
        when.replace(hour=0, minute=0, second=0, microsecond=0),
        when.replace(minute=0, second=0, microsecond=0),
        when.replace(second=0, microsecond=0),
        when.replace(microsecond=0),
        when,
    )
    return next(i for i, start in enumerate(starts) if start == when)


def coarsest(low: datetime, high: datetime) -> int:
    """By looking back from the upper end: the coarsest grain with a start in (low, high]."""
    starts = (
        high.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0),
        high.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
        high.replace(hour=0, minute=0, second=0, microsecond=0),
        high.replace(minute=0, second=0, microsecond=0),
        high.replace(second=0, microsecond=0),
        high.replace(microsecond=0),
        high,
    )
    return min(grain(start) for start in starts if start > low)


def seconds(when: datetime) -> float:
    return (when - EPOCH) / timedelta(seconds=1)


@given(moments, gaps)
@example(datetime(2020, 12, 31, 23, 59, 59), timedelta(seconds=1))
@example(datetime(1969, 12, 31, 12), timedelta(hours=13))
@example(datetime(2021, 3, 1), timedelta(microseconds=1))
def test_a_short_date_lies_between_and_none_is_coarser(low, gap):
    high = low + gap
    made = datetime.fromisoformat(short_date(seconds(low), seconds(high)))
    assert low < made <= high
    assert grain(made) == coarsest(low, high)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (datetime(2019, 5, 3), datetime(2021, 7, 9), "2021-01-01"),
        (datetime(2021, 1, 3), datetime(2021, 7, 9), "2021-07-01"),
        (datetime(2021, 7, 3), datetime(2021, 7, 9, 5), "2021-07-09"),
        (datetime(2021, 7, 9, 1), datetime(2021, 7, 9, 5, 30), "2021-07-09T05:00"),
        (datetime(2021, 7, 9, 5, 1), datetime(2021, 7, 9, 5, 30, 20), "2021-07-09T05:30"),
        (datetime(2021, 7, 9, 5, 30, 1), datetime(2021, 7, 9, 5, 30, 20), "2021-07-09T05:30:20"),
    ],
)
def test_a_short_date_is_what_a_person_would_write(low, high, text):
    assert short_date(seconds(low), seconds(high)) == text


# The registry --------------------------------------------------------------------------------------------------------

KIND_NAMES = ("boolean", "text", "date", "timedelta", "number")
SAMPLES = {
    "boolean": [True, False],
    "number": [3, 2.5, np.float32(1.5), Decimal("2.5")],
    "text": ["A", ""],
    "date": [date(2021, 3, 1), datetime(2021, 3, 1, 12), pd.Timestamp("2021-03-01", tz="UTC")],
    "timedelta": [timedelta(hours=54), pd.Timedelta(days=2), np.timedelta64(5, "h")],
}


def test_names_stay_what_model_folders_store():
    assert tuple(KINDS) == KIND_NAMES


@pytest.mark.parametrize("name", KIND_NAMES)
def test_each_cell_is_of_one_kind(name):
    for cell in SAMPLES[name]:
        assert kind_of_cell(cell) is KINDS[name]


@pytest.mark.parametrize("name", KIND_NAMES)
def test_pandas_polars_and_numpy_recognise_a_kind_alike(name):
    cells = SAMPLES[name][:1] * 2
    for table in (pd.DataFrame({"x": cells}), pl.DataFrame({"x": cells})):
        assert columns_of(table)[0].kind == name
    assert columns_of({"x": np.array(cells)})[0].kind == name
    assert columns_of({"x": [*cells, None]})[0].missing.tolist() == [False, False, True]


@pytest.mark.parametrize("name", KIND_NAMES)
def test_an_array_of_nothing_is_missing(name):
    assert KINDS[name].missing(KINDS[name].nothing(3)).tolist() == [True] * 3


@pytest.mark.parametrize("name", ["date", "timedelta"])
@given(count=st.integers(-(10**15), 10**15), width=st.integers(1, 10**14))
def test_texts_read_back_and_thresholds_lie_between(name, count, width):
    kind = KINDS[name]
    point = np.array(count, kind.unit)[()]
    text = kind.shown_cell(point)
    assert kind.is_text_form(text)
    assert kind.bound(text) == point
    assert re.fullmatch(kind.json_form, text)
    low, high = count / 1e6, (count + width) / 1e6
    assert low < kind.number(kind.threshold(low, high)) <= high


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (47 * 3600, 49 * 3600, "2 days"),
        (30 * 3600, 80 * 3600, "2 days"),
        (53.2 * 3600, 54.9 * 3600, "2 days 06:00:00"),
        (-5.0, 5.0, "0 days"),
        (61.0, 63.0, "0 days 00:01:02"),
        (0.0001, 0.0004, "0 days 00:00:00.000200"),
        (-90_000.0, -80_000.0, "-1 days"),
    ],
)
def test_a_short_duration_is_what_a_person_would_write(low, high, text):
    assert KINDS["timedelta"].threshold(low, high) == text


@pytest.mark.parametrize("text", ["2", "2 days 6:00:00", "06:00:00", "2 days 24:00:00", "2.5 days", "two days"])
def test_other_texts_are_no_durations(text):
    assert not KINDS["timedelta"].is_text_form(text)
    with pytest.raises(LogicLensError, match="can only be compared by '=='"):
        Predicate("stay", ">=", text)


@pytest.mark.parametrize("hours", [54, -54, -6, 24, 0])
def test_duckdb_reads_durations_of_sql_alike(hours):
    kind = KINDS["timedelta"]
    bound = kind.sql_bound(kind.shown_cell(timedelta(hours=hours)), ">=", "duckdb")
    [(found,)] = duckdb.sql(f"SELECT CAST('{bound.text}' AS {bound.type})").fetchall()
    assert found == timedelta(hours=hours)


def test_a_column_cannot_hold_two_text_forms():
    meant = {"a": Predicate("x", ">=", "1 day"), "b": Predicate("x", ">=", "2021-03-01")}
    rules = RuleSet((Rule("ill", parse("a & b"), (0.9,)),), meant)
    with pytest.raises(LogicLensError, match="compared with durations and with dates: no value is both"):
        units_of(rules, ["a", "b"])


def test_states_of_durations_have_words_and_examples():
    rules = RuleSet((Rule("ill", parse("a"), (0.9,)),), {"a": Predicate("stay", ">=", "2 days 06:00:00")})
    short, long = units_of(rules, ["a"])[0].states
    assert (short.words, long.words) == ("stay is below 2 days 06:00:00", "stay is at least 2 days 06:00:00")
    assert (short.value, long.value) == ("1 day 06:00:00", "3 days 06:00:00")
