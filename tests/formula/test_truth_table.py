"""Truth tables: support, majority, contradictions and don't-cares, compared with plain counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula import Cube, Literal, TruthTable
from tests.oracles.brute_force import cube_holds
from tests.strategies import Answered, answered_rows


def tally(drawn: Answered) -> tuple[Counter, Counter]:
    yes, no = Counter(), Counter()
    for row, answer, weight in zip(drawn.rows, drawn.answers, drawn.weight, strict=True):
        (yes if answer else no)[row] += weight
    return yes, no


def rows_of(matrix: np.ndarray) -> list[tuple[bool, ...]]:
    return [tuple(row) for row in matrix.tolist()]


@given(answered_rows())
def test_support_and_outcome_are_sums_and_majorities(drawn):
    table, (yes, no) = drawn.table(), tally(drawn)
    found = rows_of(table.rows.bits())
    assert found == sorted(set(drawn.rows))
    assert table.support.tolist() == [yes[row] + no[row] for row in found]
    # A tie is a no.
    assert table.outcome.tolist() == [yes[row] > no[row] for row in found]


@given(answered_rows())
def test_on_and_off_share_out_the_rows(drawn):
    table, (yes, no) = drawn.table(), tally(drawn)
    assert rows_of(table.on) == sorted(row for row in set(drawn.rows) if yes[row] > no[row])
    assert rows_of(table.off) == sorted(row for row in set(drawn.rows) if yes[row] <= no[row])


@given(answered_rows(max_concepts=3))
def test_contradictions_are_the_rows_answered_both_ways(drawn):
    table, (yes, no) = drawn.table(), tally(drawn)
    both = {row for row in yes if row in no}
    found = {}
    for contradiction in table.contradictions:
        (row,) = {r for r in drawn.rows if cube_holds(contradiction.row, dict(zip(drawn.names, r, strict=True)))}
        found[row] = (contradiction.yes, contradiction.no)
    assert found == {row: (yes[row], no[row]) for row in both}
    assert len(table.contradictions) == len(both) == table.contradictory.sum()
    supports = [contradiction.yes + contradiction.no for contradiction in table.contradictions]
    assert supports == sorted(supports, reverse=True)


@given(answered_rows(max_concepts=4, min_concepts=2), st.data())
def test_rows_that_break_a_group_are_not_cared_for(drawn, data):
    group = data.draw(st.lists(st.sampled_from(drawn.names), min_size=1, unique=True))
    # A group may speak of concepts that the head does not use.
    table = drawn.table(exclusive=[[*group, "elsewhere"]])
    where = [drawn.names.index(name) for name in group]
    expected = [sum(row[j] for j in where) <= 1 for row in rows_of(table.rows.bits())]
    assert table.cared.tolist() == expected
    kept = {row for row, cared in zip(rows_of(table.rows.bits()), expected, strict=True) if cared}
    assert set(rows_of(table.on)) | set(rows_of(table.off)) == kept


def test_every_group_counts():
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 1]]
    table = TruthTable.of(rows, list("abcd"), [True] * 4, exclusive=[["a", "b"], ["c", "d"]])
    assert rows_of(table.on) == [(True, False, False, True), (True, False, True, False)]


@given(answered_rows())
def test_a_row_as_a_cube_holds_on_that_row_alone(drawn):
    table = drawn.table()
    for r, row in enumerate(rows_of(table.rows.bits())):
        cube = table.cube(r)
        assert cube == Cube(Literal(name, bit) for name, bit in zip(drawn.names, row, strict=True))
        assert cube.concepts == drawn.names


def test_weights_decide_the_majority():
    rows, answers = [[1], [1], [1]], [True, False, False]
    assert TruthTable.of(rows, ["a"], answers).outcome.tolist() == [False]
    assert TruthTable.of(rows, ["a"], answers, weight=[2.5, 1, 1]).outcome.tolist() == [True]


def test_a_table_without_rows_has_nothing_to_contradict():
    table = TruthTable.of(np.zeros((0, 2)), ["a", "b"], [])
    assert table.contradictions == ()
    assert table.on.shape == table.off.shape == (0, 2)


def test_every_row_needs_one_answer():
    with pytest.raises(LogicLensError, match="answer"):
        TruthTable.of([[0], [1]], ["a"], answers=[True])


def test_a_row_that_weighs_nothing_is_a_dont_care():
    # Leaving a sample out and giving it weight 0 are the same thing.
    table = TruthTable.of([[0, 1], [1, 1]], ["a", "b"], answers=[True, False], weight=[1, 0])
    assert rows_of(table.on) == [(False, True)]
    assert rows_of(table.off) == []
