"""Packed rows, 64 to a word, compared with Python's integers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import UnknownConcept
from logiclens.formula.packed_rows import BLOCK, PackedRows, pack, popcount
from tests.strategies import boolean_rows

EDGES = [0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 200]


def random_matrix(n_rows: int, n_concepts: int) -> np.ndarray:
    return np.random.default_rng(n_rows).random((n_rows, n_concepts)) < 0.5


def as_words(column: list[bool]) -> list[int]:
    """Bit r of word w is row 64 w + r, in plain integers."""
    number = sum(1 << r for r, bit in enumerate(column) if bit)
    return [number >> start & (2**64 - 1) for start in range(0, len(column), 64)]


@pytest.mark.parametrize("n_rows", EDGES)
def test_row_r_is_bit_r(n_rows):
    matrix = random_matrix(n_rows, 3)
    packed = PackedRows.of(matrix, ["a", "b", "c"])
    for j, name in enumerate(packed.names):
        assert packed.column(name).tolist() == as_words(matrix[:, j].tolist())


@pytest.mark.parametrize("n_rows", EDGES)
def test_matrix_and_unpack_give_back_what_was_packed(n_rows):
    matrix = random_matrix(n_rows, 3)
    packed = PackedRows.of(matrix, ["a", "b", "c"])
    assert np.array_equal(packed.matrix(), matrix)
    for j, name in enumerate(packed.names):
        assert packed.unpack(packed.column(name)).tolist() == matrix[:, j].tolist()


@pytest.mark.parametrize("n_rows", EDGES)
def test_nothing_is_set_behind_the_last_row(n_rows):
    packed = PackedRows.of(np.zeros((n_rows, 2)), ["a", "b"])
    assert packed.valid.tolist() == as_words([True] * n_rows)
    # Negated columns are where stray bits would come from.
    assert popcount(packed.any_of(["a", "b"], [False, False], [2])) == n_rows
    assert popcount(packed.any_of([], [], [])) == 0


@given(
    boolean_rows(width=4, max_rows=130),
    st.lists(st.dictionaries(st.sampled_from("abcd"), st.booleans(), min_size=1), max_size=4),
)
def test_any_of_holds_where_all_literals_of_a_cube_do(rows, cubes):
    packed = PackedRows.of(rows, list("abcd"))
    expected = [
        any(all(row["abcd".index(name)] == value for name, value in cube.items()) for cube in cubes) for row in rows
    ]
    names, polarities = [n for cube in cubes for n in cube], [v for cube in cubes for v in cube.values()]
    # Few rows are evaluated in one go, many literal by literal and in blocks.
    for few_words, block in ((128, 8192), (0, 1), (0, 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("logiclens.formula.packed_rows.FEW_WORDS", few_words)
            patch.setattr("logiclens.formula.packed_rows.BLOCK", block)
            found = packed.any_of(names, polarities, [len(cube) for cube in cubes])
        assert packed.unpack(found).tolist() == expected
        assert popcount(found) == sum(expected)


def test_columns_longer_than_a_block_are_evaluated_whole():
    n_rows = 64 * (BLOCK + 1) + 5
    column = np.arange(n_rows) % 3 == 0
    packed = PackedRows.of(column[:, None], ["a"])
    assert (packed.unpack(packed.any_of(["a"], [True], [1])) == column).all()
    assert (packed.unpack(packed.any_of(["a"], [False], [1])) == ~column).all()


def test_rows_without_concepts_are_still_counted():
    packed = PackedRows.of(np.zeros((70, 0)), [])
    assert packed.matrix().shape == (70, 0)
    assert popcount(packed.valid) == 70


def test_only_the_columns_asked_for_are_packed():
    frame = pd.DataFrame({"a": [1, 0], "b": [0.3, 7], "c": [0, 1]})
    packed = pack(frame, only=["c", "a"])
    assert packed.names == ("c", "a")
    assert packed.matrix().tolist() == [[False, True], [True, False]]
    assert pack(frame.to_numpy(), ["a", "b", "c"], only=["c"]).matrix().tolist() == [[False], [True]]


def test_columns_with_numbers_for_names_are_found_by_their_text():
    assert pack(pd.DataFrame([[1, 0]])).names == ("0", "1")


def test_unknown_columns_are_named():
    with pytest.raises(UnknownConcept, match=r"no concept 'x'\. Known concepts: 'a'\."):
        pack({"a": [True]}, only=["x"])
    with pytest.raises(UnknownConcept, match=r"no concept 'x'\. Known concepts: 'a'\."):
        PackedRows.of([[True]], ["a"]).column("x")
