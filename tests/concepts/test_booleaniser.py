"""Booleaniser: a raw table as named concepts, fitted on the training rows only."""

from __future__ import annotations

import itertools
import pickle
import re
import warnings
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from logiclens import EntropyClassifier
from logiclens.concepts.booleaniser import Booleaniser, Cutting
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.formula.dnf import written
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.tables.frames import columns_of

FRAME = pd.DataFrame({"age": [31.2, 45.9, 58.1, 77.7], "dose": [0, 1, 2, 3]}, index=[7, 3, 5, 1])


def named(table, target=None, **settings) -> pd.DataFrame:
    """The concepts of a table as a frame."""
    return Booleaniser(**settings).set_output(transform="pandas").fit(table, target).transform(table)


def random_frame(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """A table with columns of every kind, some with gaps, some of which tell nothing."""
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, n_rows)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n_rows).astype(float),
            "dose": rng.choice([0, 1, 2, 3], n_rows),
            "flag": rng.choice([0, 1], n_rows),
            "crp": rng.lognormal(size=n_rows).round(2),
            "smoker": rng.random(n_rows) < 0.4,
            "unit": rng.choice(["CCU", "MICU", "SICU"], n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "ward": pd.Categorical(rng.choice([2, 7, 9], n_rows)),
            "day": days.astype("datetime64[us]"),
            "flat": 1.0,
        }
    )
    for column in ("age", "unit", "day"):
        frame.loc[rng.random(n_rows) < 0.15, column] = None
    return frame


def random_target(rng: np.random.Generator, frame: pd.DataFrame) -> np.ndarray:
    ill = (frame["age"].fillna(0) >= 60) | (frame["unit"] == "MICU") & frame["smoker"]
    return np.where(ill ^ (rng.random(len(frame)) < 0.1), "ill", "well")


# Names and meanings --------------------------------------------------------------------------------------------------


def test_concepts_are_named_by_what_they_say():
    frame = pd.DataFrame(
        {
            "age": [31.2, 45.9, 58.1, 77.7],
            "unit": ["CCU", "MICU", None, "SICU"],
            "sex": ["f", "m", "m", "f"],
            "owner": [True, False, True, False],
            "flag": [0, 1, 1, 0],
            "day": pd.to_datetime(["2019-05-01", "2020-03-01", None, None]),
            "ward": pd.Categorical([3, 1, 3, 2]),
        }
    )
    concepts = named(frame, cuts="quantile", n_cuts=1)
    assert list(concepts) == [
        "age >= 50", "unit is CCU", "unit is MICU", "unit is SICU", "unit is missing", "sex is m", "owner", "flag is 1",
        "day >= 2020-01-01", "day is missing", "ward is 1", "ward is 2", "ward is 3",
    ]  # fmt: skip
    assert concepts.to_numpy().astype(int).tolist() == [
        [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1],
        [0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0],
        [1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1],
        [1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0],
    ]
    assert set(concepts.dtypes) == {np.dtype(bool)}


@given(st.integers(0, 2**32 - 1), st.sampled_from(["round", "quantile", "uniform"]))
def test_a_concept_says_what_its_predicate_says_to_pandas(seed, how):
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, 60)
    booleaniser = Booleaniser(how, n_cuts=2).fit(frame, random_target(rng, frame))
    concepts = booleaniser.transform(frame)
    for place, predicate in enumerate(booleaniser.predicates_.values()):
        column = frame[predicate.column]
        if predicate.operator == "missing":
            expected = column.isna()
        elif predicate.operator == "==":
            expected = column.astype(object) == predicate.value
        else:
            expected = column >= (pd.Timestamp(predicate.value) if predicate.has_text_form else predicate.value)
        np.testing.assert_array_equal(concepts[:, place], expected.fillna(False).to_numpy(dtype=bool))
    # Every concept tells training rows apart.
    assert (concepts.any(axis=0) & ~concepts.all(axis=0)).all()
    assert {predicate.column for predicate in booleaniser.predicates_.values()} == set(frame) - {"flat"}


@given(st.integers(4, 200), st.integers(1, 3))
def test_quantile_cuts_part_distinct_values_into_equal_shares(n_rows, n_cuts):
    values = np.random.default_rng(n_rows).permutation(n_rows).astype(float)
    shares = named({"v": values}, cuts="quantile", n_cuts=n_cuts).mean().to_numpy()
    np.testing.assert_allclose(shares, 1 - np.arange(1, n_cuts + 1) / (n_cuts + 1), atol=1 / n_rows + 1e-9)


def test_names_tell_close_cuts_of_large_numbers_apart():
    frame = pd.DataFrame({"year": np.arange(1_000_000.0, 1_000_009.0)})
    booleaniser = Booleaniser("quantile", n_cuts=2).fit(frame)
    assert len(booleaniser.predicates_) == 2
    for name, predicate in booleaniser.predicates_.items():
        assert float(name.removeprefix("year >= ")) == predicate.value


def test_columns_need_not_be_named_by_text():
    frame = pd.DataFrame(np.arange(8.0).reshape(4, 2))
    booleaniser = Booleaniser("quantile", n_cuts=1).fit(frame)
    assert list(booleaniser.predicates_) == ["0 >= 3", "1 >= 4"]
    np.testing.assert_array_equal(booleaniser.transform(frame.to_numpy()), booleaniser.transform(frame))


def test_the_concepts_make_a_table_without_constant_concepts():
    table = ConceptTable(named(FRAME, cuts="quantile", n_cuts=2))
    assert table.is_boolean
    assert table.constant_concepts() == ()


# Groups --------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from(["round", "quantile", "uniform", "soft"]))
def test_groups_hold_on_training_rows_and_on_new_ones(seed, how):
    rng = np.random.default_rng(seed)
    frame, other = random_frame(rng, 60), random_frame(rng, 60)
    booleaniser = Booleaniser(how).fit(frame, random_target(rng, frame))
    names = booleaniser.get_feature_names_out().tolist()
    for table in (frame, other):
        bits = booleaniser.transform(table) >= 0.5
        assert booleaniser.groups_.allows(bits, names).all()
    # What they say of one column is all there is to say: each pair that never meets, or always, is in a group.
    grouped = {frozenset((a, b)) for group in booleaniser.groups_.exclusive for a in group for b in group}
    grouped |= {frozenset((a, b)) for chain in booleaniser.groups_.implied for a in chain for b in chain}
    predicates = booleaniser.predicates_
    for a, b in itertools.combinations(names, 2):
        values = "missing" not in (predicates[a].operator, predicates[b].operator)
        if values and predicates[a].column == predicates[b].column:
            assert frozenset((a, b)) in grouped


def test_groups_of_one_table_are_known():
    frame = pd.DataFrame({"v": [1.0, 2.0, 3.0, None], "unit": ["a", "b", None, "c"], "sex": ["f", "m", "m", "f"]})
    groups = Booleaniser("quantile", n_cuts=2).fit(frame).groups_
    assert groups == Groups(
        [["v >= 2", "v is missing"], ["unit is a", "unit is b", "unit is c", "unit is missing"]],
        [["v >= 2", "v >= 3"]],
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("exact", [False, True])
def test_no_cube_names_two_nested_cuts_of_a_column(seed, exact):
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, 150)[["age", "crp", "day", "unit"]]
    between = (frame["age"] >= 40) & (frame["age"] < 70) | (frame["crp"] > 2) & (frame["crp"] < 4)
    settings = {"booleanise": Booleaniser("quantile", n_cuts=4), "exact": exact, "epochs": 40}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        model = EntropyClassifier(**settings).fit(frame, between)
        rules = model.rules_
    meant = model.schema_.predicates
    stated = [cube for formula in rules.formulas for cube in written(formula)]
    for cube in stated:
        signs = {literal.concept: literal.positive for literal in cube}
        for low, high in itertools.permutations(signs, 2):
            one, other = meant[low], meant[high]
            if one.column == other.column and one.operator == other.operator == ">=" and one.value < other.value:
                # Only `from the lower, below the higher` says something that neither says alone.
                assert (signs[low], signs[high]) == (True, False)
        for group in model.schema_.groups.exclusive:
            # One of them being true says that the others are not.
            named_here = [signs[name] for name in group if name in signs]
            assert True not in named_here or named_here == [True]
    assert stated


# Only the rows that train --------------------------------------------------------------------------------------------


def test_cuts_come_from_the_fitted_rows_only():
    booleaniser = Booleaniser("quantile", n_cuts=1).fit(pd.DataFrame({"v": [1.0, 2.0, 3.0, 4.0]}))
    before = dict(booleaniser.predicates_)
    assert booleaniser.transform(pd.DataFrame({"v": [100.0, 200.0, 300.0]})).all()
    assert booleaniser.predicates_ == before


def test_a_new_fit_forgets_the_old_one():
    booleaniser = Booleaniser("quantile").fit(pd.DataFrame({"a": [1.5, 2.5]}))
    assert list(booleaniser.fit(pd.DataFrame({"b": [10.0, 20.0]})).predicates_) == ["b >= 20"]
    assert booleaniser.feature_names_in_.tolist() == ["b"]


# Weights -------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from(["round", "quantile", "soft"]))
def test_weights_are_repetitions_and_row_order_is_irrelevant(seed, how):
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, 40)
    target, weight = random_target(rng, frame), rng.integers(0, 3, 40)
    weight[:2] = 1
    weighed = Booleaniser(how).fit(frame, target, sample_weight=weight)
    rows = rng.permutation(np.repeat(np.arange(40), weight))
    repeated = Booleaniser(how).fit(frame.iloc[rows], target[rows])
    assert list(weighed.predicates_.items()) == list(repeated.predicates_.items())
    assert weighed.groups_ == repeated.groups_
    assert weighed.dropped_ == repeated.dropped_
    np.testing.assert_array_equal(weighed.transform(frame), repeated.transform(frame))


def test_what_is_there_twice_names_no_row():
    frame = pd.DataFrame({"id": np.arange(30), "v": np.tile([1.5, 2.5], 15)})
    with pytest.warns(LogicLensWarning, match="'id' is left out"):
        assert list(Booleaniser("quantile").fit(frame).dropped_) == ["id"]
    for table, weight in ((pd.concat([frame, frame]), None), (frame, np.full(30, 2.0))):
        assert not Booleaniser("quantile").fit(table, sample_weight=weight).dropped_


def test_a_column_that_decides_everything_is_no_identifier():
    # Of rows that differ, all have another age; of all rows, most do not.
    age = np.tile(np.arange(20, 60), 5)
    model = EntropyClassifier().fit(pd.DataFrame({"age": age}), age >= 40)
    assert model.rules_.concepts == ("age >= 40",)
    np.testing.assert_array_equal(model.predict(pd.DataFrame({"age": age})), age >= 40)


# Own cuts ------------------------------------------------------------------------------------------------------------


def test_own_cuts_are_taken_as_they_are():
    frame = pd.DataFrame(
        {
            "age": [31.2, 45.9, 58.1, None],
            "day": pd.to_datetime(["2019-05-01", "2020-03-01", "2021-02-01", "2022-01-01"]),
            "unit": ["CCU", "MICU", "SICU", "CCU"],
            "dose": [1.0, 2.0, 3.0, 4.0],
        }
    )
    cuts = {
        "age": [50, 33.5, 50.0],
        "day": [datetime(2021, 1, 1), "2020-01-01", date(2020, 6, 1), np.datetime64("2021-12-31")],
        "unit": ["MICU", "other"],
        "dose": "quantile",
    }
    booleaniser = Booleaniser(cuts, n_cuts=1).fit(frame)
    assert list(booleaniser.predicates_) == [
        "age >= 33.5", "age >= 50", "age is missing",
        "day >= 2020-01-01", "day >= 2020-06-01", "day >= 2021-01-01T00:00:00", "day >= 2021-12-31",
        "unit is MICU", "unit is other", "dose >= 3",
    ]  # fmt: skip
    made = pd.DataFrame(booleaniser.transform(frame), columns=booleaniser.get_feature_names_out())
    assert made["age >= 33.5"].tolist() == [False, True, True, False]
    assert made["day >= 2020-06-01"].tolist() == [False, False, True, True]
    assert made["unit is MICU"].tolist() == [False, True, False, False]
    assert booleaniser.groups_.allows(made.to_numpy(), list(made)).all()
    assert len(booleaniser.groups_.implied) == 2


def test_columns_without_own_cuts_are_cut_at_round_numbers():
    frame = pd.DataFrame({"age": np.arange(40.0), "dose": np.tile([1.0, 2.0, 3.0, 4.0], 10)})
    # A column of few values is cut between all of them.
    assert list(Booleaniser({"age": [11]}).fit(frame).predicates_) == [
        "age >= 11",
        "dose >= 2",
        "dose >= 3",
        "dose >= 4",
    ]
    with pytest.warns(LogicLensWarning, match="'dose' is left out: no cuts are given for it"):
        assert list(Booleaniser({"age": [11], "dose": []}).fit(frame).predicates_) == ["age >= 11"]


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ({"height": [1]}, "cuts are given for 'height', which is not a column of the table"),
        ({"age": "tree"}, "the cuts of 'age' must be a list or one of round, quantile, uniform, soft, got 'tree'"),
        ({"age": ["old"]}, "the cuts of 'age' must be numbers, got 'old'"),
        ({"age": [True]}, "the cuts of 'age' must be numbers, got True"),
        ({"age": [1, "2"]}, "the cuts of 'age' must be numbers, got '2'"),
        ({"age": [float("nan")]}, "needs a finite value"),
        ({"day": [3]}, "the cuts of 'day' must be dates, got 3"),
        ({"day": ["soon"]}, "'soon' can only be compared by '=='"),
        ({"unit": [3]}, "the categories of 'unit' must be text, got 3"),
        ({"ward": ["x"]}, "the categories of 'ward' must be numbers, got 'x'"),
        ("tree", "cuts must be one of round, quantile, uniform, soft, or a dictionary, got 'tree'"),
    ],
)
def test_cuts_that_make_no_sense_are_refused(cuts, message):
    frame = random_frame(np.random.default_rng(0), 30)
    with pytest.raises(LogicLensError, match=message):
        Booleaniser(cuts).fit(frame, frame["smoker"])


# Soft ----------------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=30),
    st.lists(st.floats(-1e15, 1e15), max_size=10),
)
@example([0.1, 0.2, 0.3], [])
@example([1.0, np.nextafter(1.0, 2)], [])
@example([-5e-324, 5e-324], [0.0])
def test_soft_concepts_are_above_half_where_their_predicates_hold(values, others):
    if len(set(values)) < 2:
        return
    booleaniser = Booleaniser("soft").fit({"v": values})
    ((_, predicate),) = booleaniser.predicates_.items()
    middle = float(predicate.value)
    neighbours = [middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
    rows = np.array([*values, *others, *neighbours, np.nan])
    soft = booleaniser.transform({"v": rows})[:, 0]
    assert ((soft >= 0) & (soft <= 1)).all()
    np.testing.assert_array_equal(soft >= 0.5, predicate.holds(rows))
    # More is never less.
    order = np.argsort(rows[:-1], kind="stable")
    assert (np.diff(soft[:-1][order]) >= 0).all()
    # The training rows reach one of the ends, and lie on both sides.
    trained = booleaniser.transform({"v": values})[:, 0]
    assert {trained.min(), trained.max()} & {0.0, 1.0}
    assert trained.min() < 0.5 <= trained.max()


def test_soft_numbers_keep_their_order_and_other_kinds_stay_boolean():
    frame = pd.DataFrame(
        {
            "age": [20.0, 40.0, 60.0, 100.0, None],
            "day": pd.to_datetime(["2020-01-01", "2020-02-01", "2021-01-01", None, "2021-06-01"]),
            "unit": ["a", "b", "c", "a", "b"],
        }
    )
    made = named(frame, cuts="soft")
    assert made["age >= 60"].tolist() == pytest.approx([0.0, 0.25, 0.5, 1.0, 0.0])
    assert made["age is missing"].tolist() == [0, 0, 0, 0, 1]
    (day,) = (name for name in made if name.startswith("day >="))
    np.testing.assert_array_equal(made[day] >= 0.5, frame["day"] >= pd.Timestamp(day.removeprefix("day >= ")))
    assert set(np.unique(made["unit is b"])) == {0.0, 1.0}


# What is left out ----------------------------------------------------------------------------------------------------


def test_constants_are_left_out_without_a_word():
    frame = pd.DataFrame({"flat": [4, 4, 4, 4], "gone": [None] * 4, "same": ["x"] * 4, "v": [1, 2.4, 3.7, 5]})
    booleaniser = Booleaniser("quantile", n_cuts=1).fit(frame)
    assert list(booleaniser.predicates_) == ["v >= 3"]
    assert list(booleaniser.dropped_) == ["flat", "gone", "same"]
    assert booleaniser.notes_[0] == "the column 'flat' is left out: it has one value only."


def test_a_constant_with_gaps_still_tells_where_it_is_missing():
    made = named(pd.DataFrame({"v": [4.0, 4.0, None], "t": ["x", None, "x"], "b": [True, True, None]}), cuts="quantile")
    assert list(made) == ["v is missing", "t is x", "t is missing", "b", "b is missing"]
    assert made["v is missing"].tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("values", "is_identifier"),
    [
        (np.arange(30), True),
        (np.arange(1000, 1030)[::-1], True),
        ([f"P{i}" for i in range(30)], True),
        (pd.Categorical(np.arange(30)), True),
        # Far apart, but called so.
        (np.arange(30) ** 3, True),
        # Measured, repeated or few: no names of rows.
        (np.arange(30) + 0.5, False),
        (np.append(np.arange(29), 0), False),
        ([f"P{i // 2}" for i in range(30)], False),
    ],
)
def test_identifiers_are_left_out_with_a_warning(values, is_identifier):
    frame = pd.DataFrame({"id": values, "v": np.tile([1.5, 2.5, 3.5], 10)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        booleaniser = Booleaniser("quantile").fit(frame)
    assert ("id" in booleaniser.dropped_) == is_identifier
    said = "the column 'id' is left out: every row has another value, as an identifier has."
    assert (said in booleaniser.notes_) == is_identifier
    assert any(said in str(warning.message) for warning in caught) == is_identifier
    if is_identifier:
        # At the caller's line.
        assert {warning.filename for warning in caught} == {__file__}


def test_few_rows_may_well_all_differ():
    frame = pd.DataFrame({"dose": np.arange(10), "v": np.tile([1.5, 2.5], 5)})
    assert "dose" not in Booleaniser("quantile").fit(frame).dropped_


def test_of_many_categories_the_most_frequent_become_concepts():
    values = ["a"] * 3 + ["b"] * 5 + ["c"] * 4 + ["d"] * 3
    with pytest.warns(LogicLensWarning, match="the 3 most frequent become concepts, .* which 20% of the rows hold"):
        booleaniser = Booleaniser(max_categories=3).fit({"t": values})
    # Of two that are equally frequent, the first by name.
    assert list(booleaniser.predicates_) == ["t is a", "t is b", "t is c"]


# What is new at prediction -------------------------------------------------------------------------------------------


def test_new_categories_and_new_gaps_are_in_no_concept():
    frame = pd.DataFrame({"unit": ["a", "b", "c"], "v": [1.0, 2.0, 3.0], "b": [True, False, True]})
    booleaniser = Booleaniser("quantile", n_cuts=1).fit(frame)
    new = pd.DataFrame({"unit": ["z", None], "v": [np.nan, np.nan], "b": pd.array([None, None], dtype="boolean")})
    assert not booleaniser.transform(new).any()


def test_a_column_that_became_another_kind_is_refused():
    booleaniser = Booleaniser("quantile").fit(pd.DataFrame({"unit": ["a", "b", "c"], "v": [1.0, 2.0, 3.0]}))
    with pytest.raises(LogicLensError, match=r"'v' held numbers in training and holds text now \('1' in row 0\)"):
        booleaniser.transform(pd.DataFrame({"unit": ["a"], "v": ["1"]}))
    with pytest.raises(LogicLensError, match="'unit' held text in training and holds numbers now"):
        booleaniser.transform(pd.DataFrame({"unit": [3], "v": [1.0]}))


def test_columns_are_matched_as_scikit_learn_does():
    booleaniser = Booleaniser("quantile").fit(FRAME)
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        booleaniser.transform(FRAME[["dose", "age"]])
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        booleaniser.transform(FRAME[["age"]])
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match="X has 1 features, but Booleaniser is expecting 2 features"),
    ):
        booleaniser.transform(FRAME[["age"]].to_numpy())
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        made = booleaniser.transform(FRAME.to_numpy())
    np.testing.assert_array_equal(made, booleaniser.transform(FRAME))


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_fitted_on_a_matrix_columns_go_by_their_place():
    booleaniser = Booleaniser("quantile").fit(FRAME.to_numpy())
    assert all(name.startswith(("x0", "x1")) for name in booleaniser.predicates_)
    np.testing.assert_array_equal(booleaniser.transform(FRAME), booleaniser.transform(FRAME.to_numpy()))


@pytest.mark.parametrize("holder", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_every_holder_of_a_table_is_cut_alike(holder):
    columns = {"v": [1.0, 2.0, None, 4.0], "t": ["a", None, "c", "a"], "day": [date(2020, 1, i) for i in (1, 2, 3, 4)]}
    expected = Booleaniser("quantile").fit(pd.DataFrame(columns))
    made = Booleaniser("quantile").fit(holder(columns))
    assert made.predicates_ == expected.predicates_
    assert made.n_features_in_ == 3
    assert made.feature_names_in_.tolist() == ["v", "t", "day"]
    np.testing.assert_array_equal(made.transform(holder(columns)), expected.transform(pd.DataFrame(columns)))


# A transformer of scikit-learn ---------------------------------------------------------------------------------------


def test_output_may_be_a_frame():
    values = Booleaniser("quantile").fit_transform(FRAME)
    assert isinstance(values, np.ndarray)
    for transform, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        made = Booleaniser("quantile").set_output(transform=transform).fit_transform(FRAME)
        assert isinstance(made, kind)
        assert list(made.columns) == Booleaniser("quantile").fit(FRAME).get_feature_names_out().tolist()
        np.testing.assert_array_equal(made.to_numpy(), values)
    assert named(FRAME, cuts="quantile").index.tolist() == [7, 3, 5, 1]


def test_settings_are_those_of_scikit_learn():
    booleaniser = Booleaniser({"age": [50]}, n_cuts=2, max_categories=7)
    assert booleaniser.get_params() == {"cuts": {"age": [50]}, "n_cuts": 2, "max_categories": 7, "date_parts": True}
    copied = clone(booleaniser.fit(FRAME, [0, 0, 1, 1]))
    assert copied.get_params() == booleaniser.get_params()
    assert not hasattr(copied, "cutting_")
    assert booleaniser.set_params(n_cuts=1).n_cuts == 1


def test_a_fitted_one_survives_pickling():
    frame = random_frame(np.random.default_rng(0), 50)
    booleaniser = Booleaniser("soft").fit(frame)
    again = pickle.loads(pickle.dumps(booleaniser))
    np.testing.assert_array_equal(again.transform(frame), booleaniser.transform(frame))
    assert again.predicates_ == booleaniser.predicates_
    assert isinstance(again.cutting_, Cutting)


def test_it_goes_before_any_classifier():
    rng = np.random.default_rng(0)
    frame = random_frame(rng, 300)
    target = (frame["age"] >= 60) ^ (rng.random(300) < 0.05)
    pipeline = make_pipeline(Booleaniser(), LogisticRegression()).fit(frame, target)
    assert pipeline.score(frame, target) > 0.9
    weights = dict(zip(pipeline[:-1].get_feature_names_out(), pipeline[-1].coef_[0], strict=True))
    strongest = max(weights, key=lambda name: abs(weights[name]))
    assert Booleaniser().fit(frame, target).predicates_[strongest].column == "age"


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_cuts": 0}, "n_cuts must be a whole number of at least 1, got 0"),
        ({"n_cuts": 1.5}, "n_cuts must be a whole number of at least 1, got 1.5"),
        ({"n_cuts": True}, "n_cuts must be a whole number of at least 1, got True"),
        ({"max_categories": -3}, "max_categories must be a whole number of at least 1, got -3"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(LogicLensError, match=message):
        Booleaniser("quantile", **settings).fit(FRAME)


@pytest.mark.parametrize(
    ("table", "target", "message"),
    [
        (FRAME, [0, 1], "labels must have one entry for each of the 4 rows, got shape"),
        (pd.DataFrame({"v": [1.0]}), [0], "cuts need several rows that differ, got 1 sample"),
        (pd.DataFrame({"v": [1.0, 1.0]}), [0, 1], "cuts need several rows that differ, got 1 sample"),
        (pd.DataFrame({"v": np.array([])}), [], "cuts need several rows that differ, got 0 samples"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["v", "v"]), [0, 1], "'v' is there more than once"),
        (
            pd.DataFrame({"age >= 60": [True, False, True, False], "age": [50.0, 70.0] * 2}),
            [0, 1, 0, 1],
            "two concepts would be called 'age >= 60': rename the column of that name",
        ),
    ],
)
def test_tables_that_cannot_be_cut_are_refused(table, target, message):
    with pytest.raises(LogicLensError, match=message):
        Booleaniser().fit(table, target)


def test_transforming_before_fitting_is_refused():
    with pytest.raises(ValueError, match="not fitted yet"):
        Booleaniser().transform(FRAME)


def test_a_cutting_misses_a_column_by_name():
    cutting = Cutting({"age": "number"}, {"old": Predicate("age", ">=", 60)})
    with pytest.raises(LogicLensError, match="the table lacks the column 'age' that 'old' is about"):
        cutting.values(columns_of({"height": [1.0]}))
    assert cutting.values(columns_of({"age": [59.9, 60, None]})).tolist() == [[False], [True], [False]]


def test_the_booleaniser_of_a_fitted_model_cuts_as_it_prints() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 300), "unit": rng.choice(["A", "B", "C"], 300)})
    labels = pd.Series(np.where((table.age >= 50) ^ (rng.random(300) < 0.1), "ill", "well"), name="state")
    model = EntropyClassifier(verbose=False).fit(table, labels)
    bits = model.booleaniser_.transform(table)
    names = model.booleaniser_.get_feature_names_out().tolist()
    assert names == list(model.concept_names_)
    printed = {name: column for name, column in zip(names, bits.T, strict=True) if re.match(r"\w+ (>=|is) \w+$", name)}
    assert any(name.startswith("age >= ") for name in printed)
    for name, column in printed.items():
        subject, sign, value = name.split(" ")
        expected = table[subject] >= float(value) if sign == ">=" else table[subject] == value
        assert (column == expected).all()
    np.testing.assert_array_equal(bits, model.concepts(table).to_numpy())
    # The table may hold its target, and a matrix is cut by position.
    np.testing.assert_array_equal(model.booleaniser_.transform(table.assign(state=labels)), bits)
    ages = table[["age"]].to_numpy(dtype=float)
    by_position = EntropyClassifier(verbose=False).fit(ages, labels)
    np.testing.assert_array_equal(by_position.booleaniser_.transform(ages), by_position.concepts(ages).to_numpy())
