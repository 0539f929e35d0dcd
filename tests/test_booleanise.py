"""Booleaniser: cuts from the training rows only, named by numbers as short as those rows allow."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logiclens.data.booleanise import Booleaniser, short_number
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError

FRAME = pd.DataFrame({"age": [31.2, 45.9, 58.1, 77.7], "dose": [0, 1, 2, 3]}, index=[7, 3, 5, 1])

# ----------------------------------------------------------------------------------------------------- short_number


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


@given(numbers, numbers)
@example(2.0, 3.0)
@example(1.0, np.nextafter(1.0, 2))
@example(np.nextafter(1.0, 0), 1.0)
@example(-1.0, 0.9)
@example(-5e-324, 5e-324)
@example(0.0, 5e-324)
@example(1e300, 1.1e300)
@example(-1.7e308, 1.7e308)
def test_a_short_number_lies_between(a, b):
    low, high = min(a, b), max(a, b)
    if low == high:
        with pytest.raises(LogicLensError, match="there is no number above"):
            short_number(low, high)
        return
    number = short_number(low, high)
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


# ------------------------------------------------------------------------------------------------------ Booleaniser


def test_concepts_are_named_by_their_cuts():
    concepts = Booleaniser(n_cuts=1).fit(FRAME).transform(FRAME)
    assert list(concepts) == ["age >= 50", "dose >= 2"]
    assert concepts.index.tolist() == [7, 3, 5, 1]
    assert set(concepts.dtypes) == {np.dtype(bool)}
    assert concepts.to_numpy().tolist() == [[False, False], [False, False], [True, True], [True, True]]


@given(
    st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=40),
    st.integers(1, 4),
)
def test_a_concept_says_what_its_name_says(column, n_cuts):
    frame = pd.DataFrame({"v": column})
    if len(set(column)) == 1:
        with pytest.raises(LogicLensError, match="nothing to cut"):
            Booleaniser(n_cuts).fit(frame)
        return
    concepts = Booleaniser(n_cuts).fit(frame).transform(frame)
    assert 1 <= concepts.shape[1] <= n_cuts
    for name in concepts:
        cut = float(name.removeprefix("v >= "))
        assert concepts[name].tolist() == [value >= cut for value in column]
        assert concepts[name].nunique() == 2  # every cut tells training rows apart


@given(st.integers(4, 200), st.integers(1, 3))
def test_cuts_part_distinct_values_into_equal_shares(n_rows, n_cuts):
    values = np.random.default_rng(n_rows).permutation(n_rows).astype(float)
    concepts = Booleaniser(n_cuts).fit(pd.DataFrame({"v": values})).transform(pd.DataFrame({"v": values}))
    shares = concepts.mean().to_numpy()
    expected = 1 - np.arange(1, n_cuts + 1) / (n_cuts + 1)
    np.testing.assert_allclose(shares, expected, atol=1 / n_rows + 1e-9)


def test_cuts_come_from_the_fitted_rows_only():
    train, other = pd.DataFrame({"v": [1.0, 2.0, 3.0, 4.0]}), pd.DataFrame({"v": [100.0, 200.0, 300.0]})
    booleaniser = Booleaniser(n_cuts=1).fit(train)
    cuts = dict(booleaniser.cuts_)
    concepts = booleaniser.transform(other)
    assert booleaniser.cuts_ == cuts
    assert list(concepts) == list(booleaniser.transform(train))
    assert concepts.to_numpy().all()


def test_a_new_fit_forgets_the_old_one():
    booleaniser = Booleaniser(1).fit(pd.DataFrame({"a": [1, 2]}))
    assert list(booleaniser.fit(pd.DataFrame({"b": [10, 20]})).cuts_) == ["b"]


def test_a_column_with_one_value_has_no_cut():
    frame = pd.DataFrame({"flat": [4, 4, 4, 4], "v": [1, 2.4, 3.7, 5]})
    booleaniser = Booleaniser(1).fit(frame)
    assert booleaniser.cuts_["flat"] == ()
    assert list(booleaniser.transform(frame)) == ["v >= 3"]


@pytest.mark.parametrize("n_cuts", [1, 2, 3])
@pytest.mark.parametrize("n_ones", [1, 5, 9])
def test_a_column_with_two_values_is_cut_between_them(n_cuts, n_ones):
    frame = pd.DataFrame({"ill": [0] * (10 - n_ones) + [1] * n_ones})
    concepts = Booleaniser(n_cuts).fit(frame).transform(frame)
    assert concepts.shape[1] == 1
    assert concepts.iloc[:, 0].tolist() == [value == 1 for value in frame["ill"]]


def test_names_tell_close_cuts_of_large_numbers_apart():
    frame = pd.DataFrame({"year": np.arange(1_000_000, 1_000_009)})
    booleaniser = Booleaniser(2).fit(frame)
    concepts = booleaniser.transform(frame)
    assert concepts.shape[1] == len(booleaniser.cuts_["year"]) == 2
    for name, cut in zip(concepts, booleaniser.cuts_["year"], strict=True):
        assert float(name.removeprefix("year >= ")) == cut


def test_columns_need_not_be_named_by_text():
    frame = pd.DataFrame(np.arange(8).reshape(4, 2))
    assert list(Booleaniser(1).fit(frame).transform(frame)) == ["0 >= 3", "1 >= 4"]


def test_every_concept_knows_its_column():
    booleaniser = Booleaniser(1).fit(FRAME)
    assert booleaniser.column_of() == {"age >= 50": "age", "dose >= 2": "dose"}


def test_the_concepts_make_a_table():
    concepts = Booleaniser(2).fit(FRAME).transform(FRAME)
    table = ConceptTable(concepts, list(concepts))
    assert table.is_boolean
    assert table.constant_concepts() == ()


# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("n_cuts", [0, -1])
def test_at_least_one_cut_is_needed(n_cuts):
    with pytest.raises(LogicLensError, match=f"n_cuts must be at least 1, got {n_cuts}"):
        Booleaniser(n_cuts).fit(FRAME)


def test_transforming_before_fitting_is_refused():
    with pytest.raises(LogicLensError, match=r"not fitted: call fit\(frame\) on the training rows first"):
        Booleaniser().transform(FRAME)


def test_a_missing_column_is_named():
    with pytest.raises(LogicLensError, match="lacks the column 'dose'"):
        Booleaniser().fit(FRAME).transform(FRAME[["age"]])


def test_more_columns_do_no_harm():
    booleaniser = Booleaniser(1).fit(FRAME[["age"]])
    assert list(booleaniser.transform(FRAME)) == ["age >= 50"]


@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_missing_value_moves_no_cut_and_lies_above_none(missing):
    frame = pd.DataFrame({"v": [1.0, 2.0, missing, 4.0, 5.0]})
    booleaniser = Booleaniser().fit(frame)
    assert booleaniser.cuts_ == Booleaniser().fit(frame.dropna()).cuts_
    assert not booleaniser.transform(frame).iloc[2].any()


def test_an_infinite_value_is_named():
    frame = pd.DataFrame({"v": [1.0, 2.0, np.inf, 4.0]})
    with pytest.raises(LogicLensError, match="the column 'v' is infinite in row 2"):
        Booleaniser().fit(frame)


def test_predicates_say_what_concepts_mean_and_which_imply_which():
    booleaniser = Booleaniser(2).fit(FRAME[["age"]])
    concepts = booleaniser.transform(FRAME)
    predicates = booleaniser.predicates()
    assert list(predicates) == list(concepts)
    for name, predicate in predicates.items():
        assert (predicate.column, predicate.operator, str(predicate)) == ("age", ">=", name)
        np.testing.assert_array_equal(concepts[name], FRAME["age"] >= predicate.value)
    (chain,) = booleaniser.implied()
    assert [predicates[name].value for name in chain] == sorted(booleaniser.cuts_["age"])
    assert Booleaniser(1).fit(FRAME[["age"]]).implied() == ()


def test_a_column_of_text_is_named():
    with pytest.raises(LogicLensError, match="the column 'v' is not numeric"):
        Booleaniser().fit(pd.DataFrame({"v": ["low", "high"]}))


def test_a_frame_of_constants_is_refused():
    with pytest.raises(LogicLensError, match="every column has one value only"):
        Booleaniser().fit(pd.DataFrame({"v": [1, 1]}))


def test_a_frame_without_rows_is_refused():
    with pytest.raises(LogicLensError, match="rows"):
        Booleaniser().fit(pd.DataFrame({"v": np.array([])}))


@pytest.mark.parametrize("columns", [["v", "v"], ["1", 1]])
def test_columns_whose_names_clash_are_refused(columns):
    # One of the two would be lost without a word.
    with pytest.raises(LogicLensError, match=f"{columns[0]!r}"):
        Booleaniser().fit(pd.DataFrame([[1, 2], [3, 4]], columns=columns))


def test_a_boolean_column_is_a_concept_as_it_is():
    frame = pd.DataFrame({"owner": [True, False, True, False], "age": [20, 40, 60, 80], "always": [True] * 4})
    booleaniser = Booleaniser(1).fit(frame)
    assert list(booleaniser.predicates()) == ["owner", "age >= 50"]
    assert str(booleaniser.predicates()["owner"]) == "owner == True"
    np.testing.assert_array_equal(booleaniser.transform(frame)["owner"], frame["owner"])
