"""Differences between two versions of a formula, compared with the whole truth table."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError, UnknownConcept
from logiclens.formula import DNF, CountedRows, Cube, Literal, PackedRows, parse
from logiclens.formula.diff import MAX_DIFF_CUBES, Diff
from tests.oracles.brute_force import answers
from tests.strategies import CONCEPTS, boolean_rows, dnfs


@given(dnfs(), dnfs())
def test_nothing_in_gained_is_to_spare(before: DNF, after: DNF) -> None:
    gained = before.diff(after).gained
    assert gained is not None
    for cube in gained:
        assert not DNF(other for other in gained if other != cube).equivalent(gained)
        for literal in cube:
            shorter = DNF([*(other for other in gained if other != cube), cube.without(literal)])
            assert not shorter.equivalent(gained)


@given(dnfs(), dnfs())
def test_every_cube_that_differs_is_listed_once(before: DNF, after: DNF) -> None:
    diff = before.diff(after)
    lost = [change.before for change in diff.changes if change.before is not None]
    new = [change.after for change in diff.changes if change.after is not None]
    assert len(set(lost)) == len(lost)
    assert len(set(new)) == len(new)
    assert set(lost) == set(before) - set(after)
    assert set(new) == set(after) - set(before)
    for change in diff.changes:
        if change.before is not None and change.after is not None:
            assert set(change.dropped) == set(change.before) - set(change.after)
            assert set(change.added) == set(change.after) - set(change.before)
            assert set(change.before) & set(change.after)


@given(dnfs(), dnfs(), boolean_rows(len(CONCEPTS)))
def test_rows_that_differ_are_numbered(before: DNF, after: DNF, rows: list[tuple[bool, ...]]) -> None:
    then, now = answers(before, CONCEPTS, rows), answers(after, CONCEPTS, rows)
    frame = pd.DataFrame(rows, columns=list(CONCEPTS))
    for diff in (
        before.diff(after, rows, CONCEPTS),
        before.diff(after, frame),
        before.diff(after, PackedRows.of(rows, CONCEPTS)),
    ):
        assert diff.rows is not None
        assert diff.rows.total == len(rows)
        assert diff.rows.gained.tolist() == [i for i in range(len(rows)) if now[i] and not then[i]]
        assert diff.rows.lost.tolist() == [i for i in range(len(rows)) if then[i] and not now[i]]
        assert diff.rows.differing.tolist() == [i for i in range(len(rows)) if now[i] != then[i]]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("a & b", "b & a", "both versions have the same cubes"),
        ("a", "(a & b) | (a & ~b)", "changed: a to a & b, with b\nnew: a & ~b\nboth mean the same"),
        ("a & b", "a & c",
         "changed: a & b to a & c, without b and with c\nnow also: a & ~b & c\nno longer: a & b & ~c"),
        ("a | b", "a", "gone: b\nno longer: ~a & b"),
        ("a", "False", "gone: a\nno longer: a"),
        ("False", "True", "new: True\nnow also: True"),
        # Those most alike stand beside each other, not those first in the list.
        ("(a & b & c) | d", "d & ~e | (a & b & c & e)",
         "changed: a & b & c to a & b & c & e, with e\nchanged: d to d & ~e, with ~e\n"),
        ("(a & d) | (a & b & c)", "a & b & c & e", "gone: a & d\nchanged: a & b & c to a & b & c & e, with e\n"),
    ],
)  # fmt: skip
def test_the_difference_reads_like_this(before: str, after: str, told: str) -> None:
    text = str(parse(before).diff(parse(after)))
    assert text.startswith(told) if told.endswith("\n") else text == told


def test_concepts_that_are_sentences_are_told_in_quotes() -> None:
    told = str(parse('"bmi is missing"').diff(parse('"bmi is missing" & "on >= 2021-03-01T12:30"')))
    assert told == (
        'changed: "bmi is missing" to "bmi is missing" & "on >= 2021-03-01T12:30", with "on >= 2021-03-01T12:30"\n'
        'no longer: "bmi is missing" & ~"on >= 2021-03-01T12:30"'
    )


def test_rows_are_told_last() -> None:
    rows = pd.DataFrame({"a": [1, 1, 0], "b": [0, 1, 1]})
    assert str(parse("a").diff(parse("b"), rows)).endswith("2 of 3 rows differ: 1 turn to yes and 1 to no")
    assert str(parse("a").diff(parse("a"), rows)).endswith("0 of 3 rows differ: 0 turn to yes and 0 to no")


def test_counted_rows_are_numbered_as_they_are_held() -> None:
    rows = CountedRows.of([[1, 0], [0, 1], [1, 0]], names=["a", "b"])
    diff = parse("a").diff(parse("b"), rows)
    assert diff.rows is not None
    assert (diff.rows.total, diff.rows.gained.tolist(), diff.rows.lost.tolist()) == (2, [0], [1])


def test_a_difference_too_large_to_say_is_said_to_be() -> None:
    # What is not in this formula takes 2^12 cubes.
    pairs = DNF(Cube([Literal(f"x{j}"), Literal(f"y{j}")]) for j in range(12))
    diff = pairs.diff(DNF.true)
    assert diff.gained is None
    assert diff.lost == DNF.false
    assert not diff.equivalent
    assert diff.remark == f"what is gained takes more than {MAX_DIFF_CUBES} cubes to say"
    assert str(diff).endswith(diff.remark)
    assert DNF.true.diff(pairs).remark.startswith("what is lost takes")
    assert str(pairs.diff(pairs)) == "both versions have the same cubes"


def test_a_long_formula_is_compared_by_what_changed() -> None:
    long = DNF(Cube([Literal(f"x{j}"), Literal(f"y{j}")]) for j in range(40))
    diff = long.diff(long | Literal("z"))
    assert isinstance(diff, Diff)
    assert diff.lost == DNF.false
    assert [str(change) for change in diff.changes] == ["new: z"]
    assert diff.gained is None


@given(dnfs(), st.sampled_from([None, "a", 3]))
def test_only_formulas_are_compared(formula: DNF, other: object) -> None:
    with pytest.raises(LogicLensError, match=r"expected another DNF, got .*: read text by parse\(\) first"):
        formula.diff(other)  # type: ignore[arg-type]


def test_rows_must_have_the_concepts_of_both() -> None:
    with pytest.raises(UnknownConcept, match="there is no concept 'b'"):
        parse("a").diff(parse("b"), {"a": [1, 0]})
