"""ConceptTable: concepts and labels as one value, and the message of every refusal."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts import ConceptTable, as_table
from logiclens.errors import LogicLensError, UnknownConcept
from tests.examples import examples

GOOD = [[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]]

# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("values", "names", "message"),
    [
        ([[0.1, np.nan]], ["a", "age"], r"concepts must lie in \[0, 1\]; 'age' is missing \(NaN\) in row 0\. Fill or"),
        ([[0, 0], [np.nan, 0]], None, r"column 0 is missing \(NaN\) in row 1"),
        ([[0, np.inf]], ["a", "age"], r"'age' is infinite in row 0"),
        ([[0, 0], [-np.inf, 0]], None, r"column 0 is infinite in row 1"),
        ([[0, 2.0], [0, 93.0]], ["a", "age"], r"\[0, 1\]; 'age' reaches 93\. Cut raw columns into concepts first"),
        ([[0, 0.5], [0, -3.0]], ["a", "age"], r"'age' reaches -3\."),
        ([[0, 7]], None, r"column 1 reaches 7\. .*logiclens\.Booleaniser"),
        ([["yes", "no"]], None, r"concepts must be numbers in \[0, 1\]"),
        ([[0, None]], None, r"column 1 is missing|must be numbers"),
        ([[0, 1], [0]], None, r"concepts must be numbers in \[0, 1\]"),
        ([0, 1], None, r"must be a matrix \[rows, concepts\], got 1 dimension"),
        ([[[0, 1]]], None, r"must be a matrix \[rows, concepts\], got 3 dimension"),
        (0.5, None, r"must be a matrix \[rows, concepts\], got 0 dimension"),
        (np.zeros((0, 3)), None, "there are no rows"),
        (np.zeros((3, 0)), None, "there are no concepts"),
        (GOOD, ["a"], "1 names were given for 2 concepts"),
        (GOOD, ["a", "b", "c"], "3 names were given for 2 concepts"),
        (GOOD, ["a", ""], "every concept needs a name; number 1 has ''"),
        (GOOD, ["  ", "b"], "every concept needs a name; number 0 has '  '"),
        (GOOD, ["a", 7], "every concept needs a name; number 1 has 7"),
        (GOOD, ["a", "a"], "concept names must differ; 'a' is there more than once"),
    ],
)
def test_bad_concepts_are_refused(values, names, message):
    with pytest.raises(LogicLensError, match=message):
        ConceptTable(values, names)


def test_the_infinite_row_is_named_not_the_first_bad_one():
    with pytest.raises(LogicLensError, match=r"'a' (is infinite in row 1|reaches 2)"):
        ConceptTable([[2.0], [np.inf]], ["a"])


@pytest.mark.parametrize("edge", [np.nextafter(1, 2), -np.nextafter(0, 1)])
def test_the_range_is_exact(edge):
    assert len(ConceptTable([[0.0, 1.0]])) == 1
    with pytest.raises(LogicLensError, match=r"must lie in \[0, 1\]"):
        ConceptTable(np.array([[0.5, edge]]))


@pytest.mark.parametrize(
    ("labels", "class_names", "message"),
    [
        ([0, 1], None, r"labels must have one entry for each of the 3 rows, got shape \(2,\)"),
        (np.zeros((3, 1, 1)), None, r"one entry for each of the 3 rows, got shape \(3, 1, 1\)"),
        (["cat", "dog", "cat"], None, "labels must be class numbers"),
        ([0, 0.5, 1], None, "labels must be class numbers"),
        ([0, np.nan, 1], None, "labels must be class numbers"),
        ([0, -1, 1], None, "labels must be 0 to 1 for 2 classes, got -1"),
        ([0, 1, 2], ["a", "b"], "labels must be 0 to 1 for 2 classes, got 2"),
        ([[0, 2], [1, 0], [0, 1]], None, "several labels per row must be a matrix of 0 and 1"),
        ([[0, 1], [1, 0], [0, 1]], ["a", "b", "c"], "3 class names were given for 2 columns of labels"),
        ([0, 1, 1], ["a", "a"], "class names must differ; 'a' is there more than once"),
        ([0, 1, 1], ["a", ""], "every class needs a name; number 1 has ''"),
    ],
)
def test_bad_labels_are_refused(labels, class_names, message):
    with pytest.raises(LogicLensError, match=message):
        ConceptTable(GOOD, labels=labels, class_names=class_names)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], r"weights must have one entry for each of the 3 rows, got shape \(2,\)"),
        ([[1], [1], [1]], r"one entry for each of the 3 rows, got shape \(3, 1\)"),
        ([1, -1, 1], "weights must be finite, none negative, and not all zero"),
        ([1, np.nan, 1], "weights must be finite"),
        ([1, np.inf, 1], "weights must be finite"),
        ([0, 0, 0], "not all zero"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(LogicLensError, match=message):
        ConceptTable(GOOD, weight=weight)


def test_a_group_names_concepts_of_the_table():
    with pytest.raises(UnknownConcept, match="'blue'"):
        ConceptTable(GOOD, ["red", "green"], exclusive=[["red", "blue"]])


def test_targets_need_labels():
    with pytest.raises(LogicLensError, match=r"this table has no labels: pass labels="):
        ConceptTable(GOOD).targets()


# ----------------------------------------------------------------------------------------------------------- values


def test_what_was_given_can_be_read():
    table = ConceptTable(GOOD, ["a", "b"], [0, 2, 0], ["x", "y", "z"], [["a", "b"]], [1, 2, 0.5])
    np.testing.assert_array_equal(table.values, GOOD)
    assert (table.names, table.class_names, table.exclusive) == (("a", "b"), ("x", "y", "z"), (("a", "b"),))
    assert (len(table), table.n_concepts) == (3, 2)
    assert table.labels.tolist() == [0, 2, 0]
    assert table.weight.tolist() == [1, 2, 0.5]


def test_names_are_made_up_where_none_are_given():
    table = ConceptTable(GOOD, labels=[0, 2, 1])
    assert table.names == ("x0", "x1")
    assert table.class_names == ("0", "1", "2")
    assert table.weight.tolist() == [1, 1, 1]
    assert ConceptTable(GOOD).class_names == ()
    assert ConceptTable(GOOD, labels=[[0, 1, 1]] * 3).class_names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (np.array(GOOD), np.float64),
        (np.array(GOOD, dtype=np.float32), np.float32),
        (np.array(GOOD, dtype=np.float16), np.float32),
        (np.array([[True, False]]), np.float32),
        (np.array([[1, 0]]), np.float32),
        ([[1, 0]], np.float32),
        (torch.tensor(GOOD, requires_grad=True), np.float32),
        (torch.tensor(GOOD, dtype=torch.float64), np.float64),
        (torch.tensor(GOOD, dtype=torch.bfloat16), np.float32),
        (pd.DataFrame(GOOD), np.float64),
        (pd.DataFrame({"a": [True, False], "b": [0, 1]}), np.float32),
    ],
)
def test_every_kind_of_number_is_taken(values, kept):
    table = ConceptTable(values)
    assert table.values.dtype == kept
    numbers = values.detach().double() if isinstance(values, torch.Tensor) else values
    np.testing.assert_array_equal(table.values, np.asarray(numbers, dtype=np.float64))


@pytest.mark.parametrize("labels", [[0, 1, 1], [False, True, True], [0.0, 1.0, 1.0], torch.tensor([0, 1, 1])])
def test_every_kind_of_class_number_is_taken(labels):
    table = ConceptTable(GOOD, labels=labels)
    assert table.labels.dtype == np.int64
    assert table.labels.tolist() == [0, 1, 1]
    assert not table.is_multilabel


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_can_be_written(dtype):
    table = ConceptTable(np.array(GOOD, dtype=dtype), labels=np.array([0, 1, 1]), weight=np.ones(3))
    for array in (table.values, table.labels, table.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        table.names = ("c", "d")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_table_is_a_copy_of_its_array(dtype):
    # Otherwise 93 could come in behind the door that checks the range.
    values, labels, weight = np.array(GOOD, dtype=dtype), np.array([0, 1, 1]), np.ones(3)
    table = ConceptTable(values, labels=labels, weight=weight)
    values[:], labels[:], weight[:] = 93, 7, -1
    np.testing.assert_array_equal(table.values, GOOD)
    assert table.labels.tolist() == [0, 1, 1]
    assert table.weight.tolist() == [1, 1, 1]


def test_the_callers_array_stays_writable():
    values = np.array(GOOD)
    ConceptTable(values)
    values[0, 0] = 1
    assert values[0, 0] == 1


# ------------------------------------------------------------------------------------------------ what can be asked


def test_a_concept_at_the_threshold_is_true():
    assert ConceptTable([[0.5, 0.4999, 1.0, 0.0]]).boolean().tolist() == [[True, False, True, False]]
    assert ConceptTable([[0.5, 0.7]]).boolean(0.6).tolist() == [[False, True]]


@pytest.mark.parametrize(("values", "answer"), [([[0, 1]], True), ([[0.0, 1.0]], True), ([[0, 0.999999]], False)])
def test_only_zeros_and_ones_are_boolean(values, answer):
    assert ConceptTable(values).is_boolean is answer


def test_appended_tables_hold_the_rows_of_both():
    one = ConceptTable(GOOD, ["a", "b"], [0, 1, 1], ["x", "y"], [["a", "b"]], [1, 2, 3])
    both = one.append(one.take([0]))
    assert both.values.tolist() == [*one.values.tolist(), one.values[0].tolist()]
    assert both.labels.tolist() == [0, 1, 1, 0]
    assert both.weight.tolist() == [1, 2, 3, 1]
    with pytest.raises(LogicLensError, match="same concepts and classes"):
        one.append(ConceptTable(GOOD, ["b", "a"], [0, 1, 1], ["x", "y"]))


def test_groups_that_rows_break_are_counted():
    table = ConceptTable([[1, 1, 0], [1, 0, 0], [0.9, 0.5, 1]], ["a", "b", "c"], exclusive=[["a", "b"], ["b", "c"]])
    assert table.broken_groups() == {("a", "b"): 2, ("b", "c"): 1}
    assert ConceptTable([[1, 0]], ["a", "b"], exclusive=[["a", "b"]]).broken_groups() == {}


def test_the_columns_of_a_frame_name_the_concepts():
    assert ConceptTable(pd.DataFrame({"tall": [1.0], 7: [0.0]})).names == ("tall", "7")


def test_targets_are_ones_at_the_labels():
    assert ConceptTable(GOOD, labels=[2, 0, 2]).targets().tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1]]
    several = [[1, 1], [0, 0], [0, 1]]
    table = ConceptTable(GOOD, labels=several)
    assert table.is_multilabel
    assert table.targets().tolist() == several
    assert table.targets().dtype == np.float64


@pytest.mark.parametrize("rows", [[2, 0], [False, True, True], [1, 1, 1]])
@pytest.mark.parametrize("labels", [None, [0, 1, 1], [[1, 0], [0, 0], [1, 1]]])
def test_taken_rows_keep_their_labels_and_weights(rows, labels):
    table = ConceptTable(GOOD, ["a", "b"], labels, ["x", "y"], [["a", "b"]], [1, 2, 3])
    part = table.take(rows)
    np.testing.assert_array_equal(part.values, np.array(GOOD)[rows])
    np.testing.assert_array_equal(part.weight, np.array([1, 2, 3])[rows])
    if labels is not None:
        np.testing.assert_array_equal(part.labels, np.array(labels)[rows])
    assert (part.names, part.class_names, part.exclusive) == (table.names, table.class_names, table.exclusive)


def test_taking_no_rows_is_refused():
    with pytest.raises(LogicLensError, match="there are no rows"):
        ConceptTable(GOOD).take(np.array([], dtype=int))


def test_classes_without_rows_survive_taking():
    part = ConceptTable(GOOD, labels=[0, 1, 2]).take([0, 1])
    assert part.class_names == ("0", "1", "2")
    assert part.empty_classes() == ("2",)


def test_constant_concepts_are_found():
    table = ConceptTable([[0, 0.3, 1], [0, 0.3, 0]], ["never", "always 0.3", "varies"])
    assert table.constant_concepts() == ("never", "always 0.3")
    # One row can tell nothing apart.
    assert ConceptTable([[0, 1]]).constant_concepts() == ("x0", "x1")


def test_empty_classes_are_those_without_weight():
    table = ConceptTable(GOOD, labels=[0, 2, 3], class_names=list("abcd"), weight=[1, 1, 0])
    assert table.empty_classes() == ("b", "d")
    assert ConceptTable(GOOD, labels=[[1, 0], [0, 0], [1, 0]]).empty_classes() == ("1",)


@examples(50)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 70]), st.sampled_from(["none", "one", "several"]))
def test_counting_is_a_group_by(seed, n_concepts, kind):
    rng = np.random.default_rng(seed)
    rows = rng.random((5, n_concepts))[rng.integers(0, 5, 30)]
    labels = {"none": None, "one": rng.integers(0, 3, 30), "several": rng.integers(0, 2, (30, 3))}[kind]
    weight = rng.integers(0, 5, 30).astype(float)
    weight[0] = 1
    table = ConceptTable(rows, labels=labels, class_names=None if labels is None else list("abc"), weight=weight)
    counted = table.counted()
    total: Counter[tuple] = Counter()
    of_class: Counter[tuple] = Counter()
    for r in range(30):
        key = tuple(bool(v >= 0.5) for v in rows[r])
        total[key] += weight[r]
        for i in range(3):
            if kind != "none" and (labels[r] == i if kind == "one" else labels[r, i]):
                of_class[key, i] += weight[r]
    bits = [tuple(row) for row in counted.bits().tolist()]
    assert sorted(bits) == sorted(total)
    assert counted.total.tolist() == [total[key] for key in bits]
    if kind != "none":
        assert counted.counts.tolist() == [[of_class[key, i] for i in range(3)] for key in bits]


# --------------------------------------------------------------------------------------------------------- as_table


def test_a_table_is_its_own_table():
    table = ConceptTable(GOOD)
    assert as_table(table) is table


def test_a_frame_brings_its_names():
    assert as_table(pd.DataFrame(GOOD, columns=["tall", "dark"]), like=["p", "q"]).names == ("tall", "dark")
    assert as_table(pd.DataFrame(GOOD)).names == ("0", "1")


def test_an_array_takes_the_names_it_is_told():
    assert as_table(GOOD, like=["p", "q"]).names == ("p", "q")
    assert as_table(torch.tensor(GOOD)).names == ("x0", "x1")


@pytest.mark.gpu
def test_a_tensor_on_the_gpu_is_fetched():
    table = ConceptTable(torch.tensor(GOOD, device="cuda"), labels=torch.tensor([0, 1, 1], device="cuda"))
    np.testing.assert_array_equal(table.values, GOOD)
    assert table.labels.tolist() == [0, 1, 1]
