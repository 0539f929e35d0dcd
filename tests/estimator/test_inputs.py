"""Labels, weights, tables and held-out rows: each is read, or refused in one sentence."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch

from logiclens import Booleaniser, EntropyClassifier
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimator.cross_validation import cross_validate
from logiclens.metrics.scores import accuracy

N = 40
FRAME = pd.DataFrame({"a": np.arange(N) % 9 * 1.0, "b": np.random.default_rng(0).random(N)})
LABELS = np.where(FRAME["a"] > 4, "yes", "no")
CONCEPTS = pd.DataFrame({"high": FRAME["a"] > 4, "big": FRAME["b"] > 0.5})
NAN, INF = float("nan"), float("inf")


def fast(**settings):
    return EntropyClassifier(**{"epochs": 2, **settings})


@pytest.fixture(scope="module")
def fitted() -> EntropyClassifier:
    return fast(set_aside=0.3).fit(FRAME, LABELS)


def refused(call, message: str) -> None:
    with pytest.raises(LogicLensError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 420


# Weights -------------------------------------------------------------------------------------------------------------

WEIGHTS = {
    "negative": (np.r_[-1, np.ones(N - 1)], "finite, none negative"),
    "NaN": (np.r_[NAN, np.ones(N - 1)], "finite, none negative"),
    "infinite": (np.r_[INF, np.ones(N - 1)], "finite, none negative"),
    "zero": (np.zeros(N), "not all zero"),
    "masked": (np.ma.array(np.ones(N), mask=[True] + [False] * (N - 1)), "finite, none negative"),
    "short": (np.ones(N - 1), r"one entry for each of the 40 rows, got shape \(39,\)"),
    "two-dimensional": (np.ones((N, 1)), r"got shape \(40, 1\)"),
    "a number": (3.0, r"got shape \(\)"),
    "dates": (np.full(N, np.datetime64("2020-01-01")), "must be numbers"),
    "durations": (np.full(N, np.timedelta64(1, "s")), "must be numbers"),
    "complex": (np.ones(N) + 0j, "must be numbers"),
    "text": (["1"] * N, "must be numbers"),
    "too long": ([10**400] * N, "must be numbers"),
    "signalling": ([Decimal("sNaN")] * N, "must be numbers"),
    "vanishing": (np.full(N, 1e-300), "divide them all by their mean"),
    "huge": (np.full(N, 1e300), "divide them all by their mean"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_every_door_refuses_the_same_weights(fitted, name):
    weight, message = WEIGHTS[name]
    refused(lambda: fast().fit(FRAME, LABELS, weight), message)
    refused(lambda: fitted.score(FRAME, LABELS, weight), message)
    refused(lambda: fitted.statistics(FRAME, LABELS, sample_weight=weight), message)
    refused(lambda: Booleaniser().fit(FRAME, LABELS, weight), message)
    refused(lambda: accuracy(LABELS, LABELS, weight), message)


def test_weights_of_any_kind_of_number_count(fitted):
    answers = fitted.predict(FRAME) == LABELS
    plain = np.arange(N) % 3
    for weight in (plain, plain.tolist(), pd.Series(plain), pl.Series(plain), pa.array(plain), torch.tensor(plain)):
        assert fitted.score(FRAME, LABELS, weight) == pytest.approx(np.average(answers, weights=plain))


def test_a_common_factor_of_shares_changes_no_rule():
    rng = np.random.default_rng(1)
    frame, fraction = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)}), rng.random(60) + 0.1
    labels = np.where(frame["a"] + 0.5 * frame["b"] + 0.5 * rng.normal(size=60) > 0, "yes", "no")
    once, more = (fast().fit(frame, labels, factor * fraction) for factor in (1, 4))
    assert once.rules_ == more.rules_


# Labels --------------------------------------------------------------------------------------------------------------

ZERO_ONE = "must be a matrix of 0 and 1, with one column for each label"
BAD_LABELS = {
    "0, 1 and 2": (np.arange(2 * N).reshape(N, 2) % 3, ZERO_ONE),
    "two texts": (pd.DataFrame({"p": LABELS, "q": LABELS}), ZERO_ONE),
    "no column": (np.zeros((N, 0)), "matrix of 0 and 1"),
    "dictionaries": ([{"a": 1}] * N, "row 0 holds {'a': 1}"),
    "sets": ([{1}, {2}] * (N // 2), r"row 0 holds {1}"),
    "objects": ([object() for _ in range(N)], "of one kind that can be sorted"),
    "nested": ([[1, [2]]] * N, "one entry for each row"),
    "a scalar": (3, r"got shape \(\)"),
    "complex": (np.ones(N) + 1j, "text, numbers or truth values"),
    "records": (np.zeros(N, dtype=[("a", int)]), "text, numbers or truth values"),
    "infinite": ([INF, 1.0] * (N // 2), "the label of row 0 is infinite"),
    "beyond floats": ([1, 10**400] * (N // 2), "row 1 holds 1000"),
    "signalling": ([Decimal("1"), Decimal("sNaN")] * (N // 2), "the label of row 1 is missing"),
    "masked": (np.ma.array([0, 1] * (N // 2), mask=[False, True] * (N // 2)), "the label of row 1 is missing"),
    "masked texts": (
        np.ma.array(["x", "y"] * (N // 2), mask=[False, True] * (N // 2)),
        "the label of row 1 is missing",
    ),
    "missing": (pd.array(["x", None] * (N // 2), dtype="string"), "the label of row 1 is missing"),
    "surrogates": (np.array(["x", "\ud800"] * (N // 2), dtype=object), "the label of row 1 is not valid text"),
    "sparse": (sp.csr_matrix(np.eye(N)), r"pass labels\.toarray\(\)"),
    "mixed": ([1, "x"] * (N // 2), "partly text and partly not"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_labels_that_are_no_classes_are_refused(fitted, name):
    labels, message = BAD_LABELS[name]
    refused(lambda: fast().fit(FRAME, labels), message)
    refused(lambda: fast(cuts_on="all").fit(FRAME, labels), message)
    refused(lambda: fitted.read(FRAME, labels), message)
    refused(lambda: fast().fit(FRAME, LABELS, held_out=(FRAME, labels)), message)
    # What scores and measures needs one label per row of the model's own classes.
    refused(lambda: fitted.score(FRAME, labels), ".")
    refused(lambda: fitted.statistics(FRAME, labels), ".")


LARGE, DAYS = [2**63 + 1, 2**64 - 1], [date(2020, 1, 1), date(2021, 1, 1)]
GOOD_LABELS = {
    "uint64": (np.array(LARGE * 20, dtype=np.uint64), LARGE),
    "string view": (pd.Series(["x", "y"] * 20, dtype=pd.ArrowDtype(pa.string_view())), ["x", "y"]),
    "Arrow": (pa.chunked_array([["x", "y"] * 20]), ["x", "y"]),
    "polars": (pl.Series(["x", "y"] * 20), ["x", "y"]),
    "nullable": (pd.array([1, 2] * 20, dtype="Int64"), [1, 2]),
    "unmasked": (np.ma.array([3, 5] * 20), [3, 5]),
    "tensor": (torch.tensor([0, 1] * 20, dtype=torch.bfloat16), [0, 1]),
    "dates": (DAYS * 20, DAYS),
}


@pytest.mark.parametrize("name", GOOD_LABELS)
def test_labels_come_back_from_predict(name):
    labels, classes = GOOD_LABELS[name]
    rows = pd.DataFrame({"a": [0, 1] * 20})
    model = fast(epochs=30).fit(rows, labels)
    assert model.classes_.tolist() == classes
    assert model.predict(rows).tolist() == classes * 20
    assert model.score(rows, labels) == 1.0


def test_a_matrix_of_float_zeros_and_ones_is_taken():
    both = np.column_stack([FRAME["a"] > 4, FRAME["b"] > 0.5])
    model = fast().fit(FRAME, both.astype(float))
    np.testing.assert_array_equal(model.predict(FRAME), fast().fit(FRAME, both.astype(int)).predict(FRAME))
    named = fast().fit(FRAME, pa.table({"p": both[:, 0].astype(int), "q": both[:, 1].astype(int)}))
    assert named.schema_.class_names == ("p", "q")


# Tables --------------------------------------------------------------------------------------------------------------


def test_a_masked_value_is_missing():
    hidden = np.arange(N) % 4 == 0
    cells = np.where(np.column_stack([hidden, np.zeros(N, bool)]), 99.0, FRAME.to_numpy())
    masked = np.ma.array(cells, mask=cells == 99.0)
    gaps = FRAME.assign(a=FRAME["a"].where(~hidden)).to_numpy()
    model, judge = fast().fit(masked, LABELS), fast().fit(gaps, LABELS)
    assert "x0 is missing" in model.concept_names_
    assert model.concept_names_ == judge.concept_names_
    np.testing.assert_array_equal(model.predict_proba(masked), judge.predict_proba(gaps))
    as_columns = {"x0": masked[:, 0], "x1": masked[:, 1]}
    np.testing.assert_array_equal(
        model.rules_.predict(as_columns), judge.rules_.predict({"x0": gaps[:, 0], "x1": gaps[:, 1]})
    )


@pytest.mark.parametrize("kind", [pa.Table, pa.RecordBatch, pl.DataFrame, pl.LazyFrame, dict])
def test_concepts_have_the_names_of_columns(kind):
    made = {
        pa.Table: pa.Table.from_pandas,
        pa.RecordBatch: pa.RecordBatch.from_pandas,
        dict: lambda frame: {name: frame[name].tolist() for name in frame},
    }.get(kind, kind)(CONCEPTS)
    judge = fast(booleanise=None).fit(CONCEPTS, LABELS)
    model = fast(booleanise=None).fit(made, LABELS)
    assert model.concept_names_ == ("high", "big")
    assert model.feature_names_in_.tolist() == ["high", "big"]
    np.testing.assert_array_equal(model.predict(made), judge.predict(CONCEPTS))
    np.testing.assert_array_equal(judge.predict(made), judge.predict(CONCEPTS))
    np.testing.assert_array_equal(judge.rules_.predict(made), judge.rules_.predict(CONCEPTS))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_tables_are_refused(fitted, form, kind):
    table = getattr(sp, f"{form}_{kind}")(FRAME.to_numpy())
    for call in (
        lambda: fast().fit(table, LABELS),
        lambda: fitted.predict(table),
        lambda: Booleaniser().fit(table, LABELS),
        lambda: fast(booleanise=None).fit(table, LABELS),
    ):
        refused(call, r"pass table\.toarray\(\)")


BAD_TABLES = {
    "one dimension": (np.zeros(N), "Expected 2D array, got 1D array instead. Reshape your data"),
    "three dimensions": (np.zeros((N, 2, 2)), "dim 3"),
    "a scalar": (3, "got scalar array"),
    "complex": (FRAME.to_numpy() + 1j, "Complex data not supported"),
    "dictionaries": ([{"a": 1}] * N, "Expected 2D array"),
    "no columns": (np.zeros((N, 0)), r"0 feature\(s\)"),
    "beyond floats": (pd.DataFrame({"a": [10**400] + [1] * (N - 1)}), "too large"),
    "surrogate cell": ({"a": ["x", "\ud800"] * (N // 2)}, "is not valid text"),
    "surrogate name": ({"\ud800": [0, 1] * (N // 2)}, "is not valid text"),
    "one name twice": (pd.DataFrame(FRAME.to_numpy(), columns=["a", "a"]), "'a' is there more than once"),
    "a name missing": (pd.DataFrame(FRAME.to_numpy(), columns=["a", NAN]), "string names"),
    "lists": ({"a": np.zeros((N, 2))}, "the column 'a' holds a list in row 0"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_tables_that_cannot_be_read_are_refused(name):
    table, message = BAD_TABLES[name]
    refused(lambda: fast().fit(table, LABELS), message)
    refused(lambda: Booleaniser().fit(table, LABELS), message)


def test_predict_refuses_one_name_twice(fitted):
    twice = pd.DataFrame(FRAME.to_numpy(), columns=["a", "a"])
    refused(lambda: fitted.predict(twice), "'a' is there more than once")
    refused(lambda: fitted.rules_.predict(twice), "'a' is there more than once")


# Held-out rows and folds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held_out", [FRAME, (FRAME,), (FRAME, LABELS, LABELS), "x", 3, (FRAME, None), {"a": 1}])
def test_held_out_must_be_a_pair(held_out):
    refused(lambda: fast().fit(FRAME, LABELS, held_out=held_out), "held_out must be a pair of rows and labels")


def test_held_out_labels_may_be_a_column():
    table = FRAME.assign(label=LABELS)
    named, pair = (fast().fit(FRAME, LABELS, held_out=held) for held in ((table, "label"), (FRAME, LABELS)))
    np.testing.assert_array_equal(named.predict_proba(FRAME), pair.predict_proba(FRAME))


def test_too_large_a_part_set_aside_is_told():
    with pytest.warns(LogicLensWarning, match="set_aside=0.99 .* leaves 1 row of class 'no' to train on"):
        model = fast(set_aside=0.99).fit(FRAME, LABELS)
    assert any("leaves 1 row of class 'no'" in note for note in model.explain().notes)
    with pytest.warns(LogicLensWarning, match="set_aside=0.001 .* holds out no row"):
        fast(set_aside=0.001).fit(FRAME, LABELS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_folds": "two"}, "n_folds must be between 2 and the number of rows, 40; got 'two'"),
        ({"n_folds": 10**400}, "n_folds must be between 2"),
        ({"seed": -1}, "seed must be a whole number from 0 to 4,294,967,295, or None, got -1"),
        ({"estimator": None}, "estimator must be an EntropyClassifier, got None"),
        ({"frame": FRAME.to_numpy()}, "a table with named columns"),
        ({"labels": LABELS[:3]}, "one entry for each of the 40 rows"),
    ],
)
def test_cross_validation_checks_what_it_is_given(given, message):
    known = {"frame": FRAME, "labels": LABELS, "estimator": fast(), **given}
    refused(lambda: list(cross_validate(known.pop("frame"), known.pop("labels"), **known)), message)


# Fidelity ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("set_aside", "rows"), [(0.0, "training rows"), (0.4, "held-out rows")])
def test_rules_that_hardly_match_the_network_are_told(set_aside, rows):
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.normal(size=(150, 40)), columns=[f"x{i}" for i in range(40)])
    labels = np.where(rng.random(150) < 0.5, "a", "b")
    with pytest.warns(LogicLensWarning, match=f"the rules decide as the network does on only [0-9]+% of .* {rows}"):
        model = EntropyClassifier(exact=False, epochs=20, set_aside=set_aside, max_literals=1).fit(noise, labels)
    assert any("so they hardly explain it" in note for note in model.explain().notes)


def test_rules_that_a_constant_answer_beats_are_told():
    # The network hardly ever answers "ill", where a sum is high. A rule of one condition finds some of these rows, and
    # agrees with it less often than a constant.
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 4))).add_prefix("v")
    ill = np.where(rng.random(600) < np.where(frame.sum(axis=1) / 2 > 1.2, 0.6, 0.04), "ill", "well")
    with pytest.warns(LogicLensWarning, match="as the network does") as caught:
        model = EntropyClassifier(exact=False, epochs=100, max_literals=1).fit(frame, ill)
    note = str(caught[0].message)
    network, rules = model.predict(frame), model.rules_.predict(frame)
    assert f"as the network does on only {100 * (network == rules).mean():.1f}% of the 600 training rows" in note
    assert f"always answering 'well' would on {100 * (network == 'well').mean():.1f}%" in note


def test_a_classifier_checks_its_rules():
    model = EntropyClassifier(exact=True, epochs=20).fit(
        pd.DataFrame({"v": np.linspace(0, 1, 60)}), ["a"] * 30 + ["b"] * 30
    )
    for asked in ("never uses 'v'", "increasing in 'v'"):
        assert model.check(asked, of="b") == model.rules_.check(asked, of="b")
    assert model.check("increasing in 'v'", of="b").holds


def test_dates_as_text_are_named_in_one_warning():
    days = pd.date_range("2024-01-01", periods=20)
    frame = pd.DataFrame({"age": [30, 70] * 40, "admission": days.strftime("%Y-%m-%d").tolist() * 4})
    labels = [0, 1] * 40
    note = "the column 'admission' holds dates as text: convert it (in Python, pd.to_datetime) to use them."
    with pytest.warns(LogicLensWarning, match=re.escape(note)) as caught:
        EntropyClassifier(epochs=2).fit(frame, labels)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    EntropyClassifier(epochs=2).fit(frame.assign(admission=pd.to_datetime(frame["admission"])), labels)


def test_a_support_above_a_quarter_of_the_class_is_noted():
    frame = pd.DataFrame({"age": [30, 70] * 40})
    labels = ["no", "yes"] * 40
    note = r"min_support=99999 \(--min-support 99999\) .* lowered to 10 for '"
    with pytest.warns(LogicLensWarning, match=note) as caught:
        model = fast(min_support=99_999, epochs=50).fit(frame, labels)
    [said] = [warning for warning in caught if "min_support" in str(warning.message)]
    assert said.filename == __file__
    assert str(said.message) in model.explain().notes
    # Ten is the quarter itself: nothing is lowered.
    assert not any("min_support" in note for note in fast(min_support=10, epochs=50).fit(frame, labels).explain().notes)
