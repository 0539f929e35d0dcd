"""Weights as bit planes, counting without comparing rows, and prime cubes, compared with plain code."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain import read
from logiclens.formula import counted_rows as counted_module
from logiclens.formula.counted_rows import CountedRows, distinct
from logiclens.formula.packed_rows import MAX_PLANES, PackedWeights, pack_columns
from logiclens.formula.primes import all_primes
from tests.examples import examples
from tests.rigged import GRID, NAMES, xor_net

weights = st.one_of(
    st.integers(0, 5).map(float), st.integers(0, 2**MAX_PLANES + 3).map(float), st.floats(0, 1e6, allow_nan=False)
)


@examples(80)
@given(st.lists(weights, min_size=1, max_size=200), st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_sums_are_those_of_a_matrix_product(weight, seed, n_formulas):
    rng = np.random.default_rng(seed)
    fires = rng.random((n_formulas, len(weight))) < 0.4
    found = PackedWeights.of(np.array(weight)).sums(pack_columns(fires))
    expected = fires @ np.array(weight)
    assert np.allclose(found, expected, rtol=1e-12)
    if all(w == round(w) for w in weight) and max(weight) < 2**MAX_PLANES:
        assert (found == expected).all()


def test_nothing_is_weighed_as_nothing():
    assert PackedWeights.of(np.ones(3)).sums(np.zeros((0, 1), dtype=np.uint64)).tolist() == []
    assert PackedWeights.of(np.zeros(0)).sums(np.zeros((2, 0), dtype=np.uint64)).tolist() == [0, 0]


def plainly_distinct(matrix):
    """Where each distinct row first stands, in lexicographic order, and each row's group."""
    rows = [tuple(row) for row in matrix.tolist()]
    ordered = sorted(set(rows))
    return [rows.index(row) for row in ordered], [ordered.index(row) for row in rows]


@examples(120)
@given(st.integers(0, 130), st.integers(1, 60), st.integers(0, 2**32 - 1), st.sampled_from([0, 24]))
def test_rows_are_grouped_as_tuples_are(n_concepts, n_rows, seed, dense):
    rng = np.random.default_rng(seed)
    matrix = (rng.random((max(1, n_rows // 3), n_concepts)) < 0.5)[rng.integers(0, max(1, n_rows // 3), n_rows)]
    before, counted_module.DENSE_CONCEPTS = counted_module.DENSE_CONCEPTS, dense
    try:
        first, group = distinct(matrix)
    finally:
        counted_module.DENSE_CONCEPTS = before
    assert (first.tolist(), group.tolist()) == plainly_distinct(matrix)


def test_two_rows_with_one_hash_are_told_apart(monkeypatch):
    matrix = np.random.default_rng(0).random((50, 100)) < 0.5
    matrix = np.concatenate([matrix, matrix[::2]])
    monkeypatch.setattr(counted_module, "_hashed", lambda keys: np.zeros(len(keys), dtype=np.uint64))
    first, group = distinct(matrix)
    assert (first.tolist(), group.tolist()) == plainly_distinct(matrix)


def test_many_classes_are_counted_cell_by_cell():
    rng = np.random.default_rng(1)
    bits, labels, weight = rng.integers(0, 2, (300, 4)), rng.integers(0, 40, 300), rng.random(300)
    table = ConceptTable(bits, None, labels, [str(i) for i in range(40)], weight=weight)
    plain = CountedRows.of(bits, table.names, np.eye(40)[labels] * weight[:, None], weight)
    assert (table.counted().keys == plain.keys).all()
    assert np.allclose(table.counted().counts, plain.counts)
    assert np.allclose(table.counted().total, plain.total)
    assert table.counted() is table.counted()


def test_equal_rows_are_sent_once_and_answered_alike():
    rows = np.concatenate([GRID, GRID[:5], GRID[3:9]])
    sent: list[int] = []
    network = xor_net()
    network.register_forward_pre_hook(lambda _module, inputs: sent.append(len(inputs[0])))
    weight = np.arange(1, len(rows) + 1)
    reading = read(network, ConceptTable(rows, NAMES, rows[:, 0] ^ rows[:, 1], weight=weight))
    assert max(sent) == len(GRID)
    assert reading.logits.shape == (len(rows), 2)
    assert (reading.yes[:, 1] == (rows[:, 0] ^ rows[:, 1])).all()
    assert (reading.seen.bits == GRID.astype(bool)).all()
    assert reading.seen.weight.sum() == weight.sum()
    assert (reading.seen.labels.sum(axis=1) == reading.seen.weight).all()


def test_no_concepts_have_one_prime_cube_or_none():
    row, none = np.zeros((1, 0), dtype=bool), np.zeros((0, 0), dtype=bool)
    assert [len(all_primes(row, none)), len(all_primes(none, row)), len(all_primes(row, row))] == [1, 0, 0]
