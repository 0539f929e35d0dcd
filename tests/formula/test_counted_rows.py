"""Counted rows, compared with plain dictionaries; counting in parts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError, UnknownConcept
from logiclens.formula import CountedRows
from tests.strategies import boolean_rows

# Around the edges of one and two words, and none at all.
WIDTHS = [0, 1, 3, 8, 63, 64, 65, 127, 128, 130, 200]


def concept_names(width: int) -> list[str]:
    return [f"c{j}" for j in range(width)]


@st.composite
def batches(draw: st.DrawFn, n_batches: int = 1) -> list[CountedRows]:
    """Counted rows of several batches over the same concepts and classes, with whole weights, which add exactly."""
    width, n_classes = draw(st.sampled_from(WIDTHS)), draw(st.integers(1, 3))
    # One pool for all batches, so that they share rows.
    pool = draw(boolean_rows(width))
    whole = st.integers(0, 1000)
    result = []
    for _ in range(n_batches):
        rows = draw(st.lists(st.sampled_from(pool), max_size=8))
        counts = [[draw(whole) for _ in range(n_classes)] for _ in rows]
        matrix = np.array(rows, dtype=bool).reshape(len(rows), width)
        result.append(
            CountedRows.of(
                matrix, concept_names(width), np.reshape(counts, (len(rows), n_classes)), [draw(whole) for _ in rows]
            )
        )
    return result


def as_dictionary(counted: CountedRows) -> dict[tuple[bool, ...], tuple[float, ...]]:
    rows = [tuple(row) for row in counted.bits().tolist()]
    assert len(set(rows)) == len(rows) == len(counted)
    return dict(zip(rows, map(tuple, np.column_stack([counted.counts, counted.total]).tolist()), strict=True))


@pytest.mark.parametrize("width", WIDTHS)
@given(data=st.data())
def test_counting_is_a_counter(width, data):
    rows = data.draw(boolean_rows(width))
    classes = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    weight = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    counts = np.eye(3)[classes] * np.array(weight)[:, None]
    counted = CountedRows.of(np.array(rows), concept_names(width), counts, weight)
    total, per_class = Counter(), Counter()
    for row, klass, w in zip(rows, classes, weight, strict=True):
        total[row] += w
        per_class[row, klass] += w
    assert as_dictionary(counted) == {
        row: (*(per_class[row, klass] for klass in range(3)), total[row]) for row in total
    }


@given(boolean_rows(width=3))
def test_without_weights_each_row_counts_one(rows):
    counted = CountedRows.of(rows, concept_names(3))
    assert as_dictionary(counted) == {row: (count, count) for row, count in Counter(rows).items()}


@given(batches(n_batches=2))
def test_merge_adds_what_both_hold(drawn):
    x, y = map(as_dictionary, drawn)
    merged = as_dictionary(drawn[0].merge(drawn[1]))
    assert merged.keys() == x.keys() | y.keys()
    for row, found in merged.items():
        nothing = (0.0,) * len(found)
        assert found == tuple(a + b for a, b in zip(x.get(row, nothing), y.get(row, nothing), strict=True))


@given(batches(), st.data())
def test_projection_adds_up_the_rows_that_become_equal(drawn, data):
    (counted,) = drawn
    kept = data.draw(st.lists(st.sampled_from(counted.names), unique=True)) if counted.names else []
    projected = counted.project(kept)
    where = [counted.names.index(name) for name in kept]
    expected: dict[tuple[bool, ...], tuple[float, ...]] = {}
    for row, held in as_dictionary(counted).items():
        seen = tuple(row[j] for j in where)
        expected[seen] = tuple(a + b for a, b in zip(expected.get(seen, (0.0,) * len(held)), held, strict=True))
    assert projected.names == tuple(kept)
    assert as_dictionary(projected) == expected
    assert projected.counts.sum(axis=0).tolist() == counted.counts.sum(axis=0).tolist()
    assert projected.total.sum() == counted.total.sum()


@given(batches())
def test_packed_columns_are_the_bits(drawn):
    (counted,) = drawn
    assert np.array_equal(counted.packed.matrix(), counted.bits())
    assert counted.packed.names == counted.names


def test_counts_may_sum_to_another_weight_than_the_total():
    # Two labels on the first row, none on the second.
    counted = CountedRows.of([[0], [1]], ["a"], counts=[[1, 1], [0, 0]])
    assert counted.total.tolist() == [1, 1]
    assert counted.counts.tolist() == [[1, 1], [0, 0]]


def test_equality_sees_names_rows_counts_and_totals():
    base = CountedRows.of([[0], [1]], ["a"], total=[2, 3])
    assert base == CountedRows.of([[1], [0]], ["a"], total=[3, 2])
    assert base != CountedRows.of([[0], [1]], ["b"], total=[2, 3])
    assert base != CountedRows.of([[0]], ["a"], total=[2])
    assert base != CountedRows.of([[0], [1]], ["a"], total=[2, 4])
    assert base != CountedRows.of([[0], [1]], ["a"], counts=[[2, 0], [3, 0]], total=[2, 3])
    assert base != "rows"


@pytest.mark.parametrize(
    ("rows", "message"),
    [([[0, 1]], "1 names were given for 2 columns"), ([0], "got 1 dimension"), ([[[0]]], "got 3 dimension")],
)
def test_rows_must_be_a_matrix_as_wide_as_the_names(rows, message):
    with pytest.raises(LogicLensError, match=message):
        CountedRows.of(rows, ["a"])


def test_only_the_same_concepts_and_classes_merge():
    one = CountedRows.of([[0, 1]], ["a", "b"])
    for other in (
        CountedRows.of([[0, 1]], ["b", "a"]),
        CountedRows.of([[0]], ["a"]),
        CountedRows.of([[0, 1]], ["a", "b"], counts=[[1, 0]]),
    ):
        with pytest.raises(LogicLensError, match="same concepts and classes"):
            one.merge(other)


def test_projection_on_an_unknown_concept_names_the_nearest():
    with pytest.raises(UnknownConcept, match=r"no concept 'smokr'\. Did you mean 'smoker'\?"):
        CountedRows.of([[0]], ["smoker"]).project(["smokr"])


@pytest.mark.parametrize("value", [0.2, 0.7, np.nan, 2])
def test_values_between_yes_and_no_are_refused(value):
    # A concept of 0.2 is false in this method (cut at 0.5); Python's idea of truth would call it true.
    with pytest.raises(LogicLensError, match="Boolean"):
        CountedRows.of([[value, 0.0]], ["a", "b"])


def test_names_that_clash_are_refused():
    with pytest.raises(LogicLensError, match="'a'"):
        CountedRows.of([[0, 1]], ["a", "a"])


def test_every_row_needs_its_counts_and_its_weight():
    with pytest.raises(LogicLensError, match="row"):
        CountedRows.of([[0], [1]], ["a"], counts=[[1.0]])
    with pytest.raises(LogicLensError, match="row"):
        CountedRows.of([[0], [1]], ["a"], total=[1.0])
