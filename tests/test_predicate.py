"""What a concept means on a raw column: judged value by value with Python's own comparisons."""

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
from logiclens.formula.predicate import OPERATORS, Operator, Predicate, is_missing, numbers_of
from tests.rulesets import COMPARE

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6)
NEGATION = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


@given(st.sampled_from(OPERATORS), numbers, st.lists(st.none() | numbers | st.just(math.nan) | st.just(math.inf)))
def test_a_comparison_is_pythons_and_missing_is_false(sign: Operator, bound: float, values: list[Any]) -> None:
    near = [math.nextafter(bound, -math.inf), bound, math.nextafter(bound, math.inf)]
    column = [*values, *near]
    expected = [v is not None and COMPARE[sign](float(v), float(bound)) for v in column]
    assert Predicate("x", sign, bound).holds(column).tolist() == expected


@given(st.sampled_from([*NEGATION]), numbers, st.lists(numbers, min_size=1))
def test_the_words_of_the_negation_say_the_opposite(sign: Operator, bound: float, values: list[Any]) -> None:
    predicate = Predicate("x", sign, bound)
    opposite = Predicate("x", NEGATION[sign], bound)  # type: ignore[arg-type]
    assert predicate.words(positive=False) == opposite.words()
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
        (Predicate("age", ">=", 72.5), "age >= 72.5", "age at least 72.5", "age below 72.5"),
        (Predicate("age", ">", 72.0), "age > 72", "age above 72", "age at most 72"),
        (Predicate("age", "<=", 7), "age <= 7", "age at most 7", "age above 7"),
        (Predicate("age", "<", 0.1 + 0.2), "age < 0.30000000000000004", "age below 0.30000000000000004",
         "age at least 0.30000000000000004"),
        (Predicate("dose", "==", 5), "dose == 5", "dose equal to 5", "dose other than 5"),
        (Predicate("unit", "==", "MICU"), "unit == MICU", "unit equal to MICU", "unit other than MICU"),
        (Predicate("smoker", "==", True), "smoker == True", "smoker true", "smoker not true"),
        (Predicate("smoker", "==", False), "smoker == False", "smoker equal to False", "smoker other than False"),
        (Predicate("n", "==", 1), "n == 1", "n equal to 1", "n other than 1"),
    ],
)  # fmt: skip
def test_every_operator_can_be_written_and_said(predicate: Predicate, written: str, yes: str, no: str) -> None:
    assert (str(predicate), predicate.words(), predicate.words(positive=False)) == (written, yes, no)


MISSING = [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("missing", MISSING)
def test_every_marker_for_missing_makes_every_comparison_false(missing: Any) -> None:
    assert is_missing(missing)
    for column in (
        [missing, 3],
        np.array([missing, 3], dtype=object),
        pd.Series([missing, 3], dtype=object),
        (missing, 3),
    ):
        for sign in OPERATORS:
            held = Predicate("x", sign, 3).holds(column)
            assert held.dtype == np.bool_
            assert not held[0]
            assert held[1] == (sign in (">=", "<=", "=="))
        assert np.isnan(numbers_of(column, "x")).tolist() == [True, False]
    assert Predicate("x", "==", "a").holds([missing, "a"]).tolist() == [False, True]
    assert Predicate("x", "==", True).holds([missing, True]).tolist() == [False, True]


@pytest.mark.parametrize(
    "value", [0, 0.0, "", "nan", False, np.float64(0), np.int8(0), [], np.bool_(False), np.str_("x")]
)
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
        (("x", "!=", 1), "the operator must be one of >= > <= < ==, got '!='"),
        (("x", ">=", math.nan), "the predicate on 'x' needs a finite value, got nan"),
        (("x", ">=", math.inf), "the predicate on 'x' needs a finite value, got inf"),
        (("x", ">=", 10**400), "the predicate on 'x' needs a finite value, got 1000"),
        (("x", "==", None), "the predicate on 'x' needs a number or a text, got None"),
        (("x", "==", [1]), r"the predicate on 'x' needs a number or a text, got \[1\]"),
        (("x", "==", 1j), "the predicate on 'x' needs a number or a text, got 1j"),
        (("x", ">=", "a"), "'a' can only be compared by '==', got '>='"),
        (("x", ">", True), "True can only be compared by '==', got '>'"),
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


@pytest.mark.parametrize("value", [1, "a"])
@pytest.mark.parametrize(("column", "n"), [([["a"], ["b"]], 2), ("a", 0), (np.array(3), 0)])
def test_what_is_not_a_column_is_refused(value: Any, column: Any, n: int) -> None:
    with pytest.raises(LogicLensError, match=rf"the column 'x' needs a list of values, got {n} dimension\(s\)"):
        Predicate("x", "==", value).holds(column)
