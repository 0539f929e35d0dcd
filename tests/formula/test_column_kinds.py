"""Kinds of columns: how thresholds are rounded and written, and what each entry of the registry promises."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula.column_kinds import short_date, short_number

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
