"""Groups: which rows are possible, compared with a check of all rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError, UnknownConcept
from logiclens.formula import Cube, Literal
from logiclens.formula.groups import NO_GROUPS, Groups
from tests.oracles.brute_force import cube_holds, every_row
from tests.strategies import CONCEPTS, cubes

ROWS = [dict(zip(CONCEPTS, row, strict=True)) for row in every_row(len(CONCEPTS))]
MATRIX = np.array([list(row.values()) for row in ROWS])


def allowed(groups: Groups, row: dict[str, bool]) -> bool:
    at_most_one = all(sum(row[name] for name in group) <= 1 for group in groups.exclusive)
    return at_most_one and all(
        row[before] or not row[after] for chain in groups.implied for before, after in pairwise(chain)
    )


def some_groups(max_groups: int = 3) -> st.SearchStrategy[Groups]:
    lists = st.lists(st.lists(st.sampled_from(CONCEPTS), max_size=4, unique=True), max_size=max_groups)
    return st.builds(Groups, lists, lists)


@given(some_groups())
def test_a_row_is_possible_when_no_group_speaks_against_it(groups: Groups) -> None:
    assert groups.allows(MATRIX, CONCEPTS).tolist() == [allowed(groups, row) for row in ROWS]


@given(some_groups(), st.permutations(CONCEPTS))
def test_the_order_of_columns_does_not_matter(groups: Groups, order: list[str]) -> None:
    shuffled = MATRIX[:, [CONCEPTS.index(name) for name in order]]
    assert (groups.allows(shuffled, order) == groups.allows(MATRIX, CONCEPTS)).all()


@given(st.lists(st.sampled_from(CONCEPTS), max_size=5, unique=True), st.booleans(), st.sets(st.sampled_from(CONCEPTS)))
def test_a_single_group_says_all_it_can_of_some_concepts(group: list[str], chain: bool, some: set[str]) -> None:
    """A row of some concepts is possible when some row of all of them is."""
    groups = Groups(implied=[group]) if chain else Groups([group])
    kept = [name for name in CONCEPTS if name in some]
    possible = {tuple(row[name] for name in kept) for row in ROWS if allowed(groups, row)}
    grid = every_row(len(kept))
    matrix = np.array(grid, dtype=np.bool_).reshape(len(grid), len(kept))
    for restricted in (groups, groups.among(kept)):
        assert restricted.allows(matrix, kept).tolist() == [row in possible for row in grid]
    assert set(groups.among(kept).concepts) <= some


@given(some_groups(), st.sets(st.sampled_from(CONCEPTS)))
def test_no_possible_row_is_lost_among_some_concepts(groups: Groups, some: set[str]) -> None:
    restricted = groups.among(sorted(some))
    assert all(allowed(restricted, row) for row in ROWS if allowed(groups, row))


@given(some_groups(), cubes(), cubes())
def test_cubes_are_apart_when_no_possible_row_satisfies_both(groups: Groups, left: Cube, right: Cube) -> None:
    both = any(allowed(groups, row) and cube_holds(left, row) and cube_holds(right, row) for row in ROWS)
    assert groups.apart(left, right) == (not both)
    assert groups.apart(right, left) == groups.apart(left, right)


def test_cubes_can_be_apart_through_a_third_concept() -> None:
    groups = Groups(exclusive=[["young", "old"]], implied=[["old", "very old"]])
    assert groups.apart(Cube([Literal("very old")]), Cube([Literal("young")]))
    longer = Groups(exclusive=[["young", "old"]], implied=[["old", "older"], ["older", "oldest"]])
    assert longer.apart(Cube([Literal("oldest")]), Cube([Literal("young")]))
    assert longer.apart(Cube([Literal("oldest")]), Cube([Literal("old", False)]))
    assert not longer.apart(Cube([Literal("old")]), Cube([Literal("oldest", False)]))


def test_groups_are_values() -> None:
    groups = Groups([["a", "b"]], implied=[("c", "d")])
    assert groups == Groups((("a", "b"),), [["c", "d"]])
    assert hash(groups) == hash(Groups([["a", "b"]], [["c", "d"]]))
    assert groups.exclusive == (("a", "b"),)
    assert groups.implied == (("c", "d"),)
    assert groups.concepts == ("a", "b", "c", "d")
    assert not groups.is_empty
    assert not Groups(implied=[["a", "b"]]).is_empty
    assert NO_GROUPS.is_empty
    assert Groups() == NO_GROUPS
    assert groups.among(["a", "c", "d"]) == Groups(implied=[["c", "d"]])


def test_known_groups_pass_the_check() -> None:
    groups = Groups([["a", "b"]], [["b", "c"]])
    assert groups.check(["c", "b", "a"]) is groups


def test_unknown_and_repeated_concepts_are_refused() -> None:
    with pytest.raises(UnknownConcept, match=r"there is no concept 'smokr'\. Did you mean 'smoker'\?"):
        Groups([["age", "smokr"]]).check(["age", "smoker"])
    with pytest.raises(UnknownConcept, match="there is no concept 'z'"):
        Groups(implied=[["a", "z"]]).check(["a", "b"])
    for groups in (Groups([["a", "b", "a"]]), Groups(implied=[["a", "b", "a"]])):
        with pytest.raises(LogicLensError, match="a group cannot hold 'a' twice"):
            groups.check(["a", "b"])


def test_a_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(LogicLensError, match="an exclusive group is a list of concepts, got the text 'ab'"):
        Groups(["ab"])
    with pytest.raises(LogicLensError, match="an implied group is a list of concepts, got the text 'ab'"):
        Groups(implied=["ab"])
