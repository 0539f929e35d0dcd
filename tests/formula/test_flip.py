"""The smallest change of a prediction, compared with trying every value of every column."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError, UnknownConcept
from logiclens.formula import Literal, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.english import TableFacts
from logiclens.formula.flip import Flip
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.record import to_dict
from logiclens.formula.rule_set import Rule, RuleSet
from tests.examples import examples
from tests.oracles.brute_force import holds
from tests.rulesets import BARE, VALUES, Asked, Row, answer, asked, broken, concepts_of, every_raw_row, rule_sets

AGE = {"old": Predicate("age", ">=", 60), "very_old": Predicate("age", ">=", 72.5)}


def rules_of(*formulas: str, predicates: Any = AGE, **how: Any) -> RuleSet:
    parsed = [parse(text) for text in formulas]
    trust = [tuple(0.9 - 0.1 * i for _ in f) for i, f in enumerate(parsed)]
    rules = tuple(Rule(f"c{i}", f, t) for i, (f, t) in enumerate(zip(parsed, trust, strict=True)))
    return RuleSet(rules, predicates, **how)


def missing_in(row: Row) -> list[str]:
    """What is missing may stay so; nothing else may become so."""
    return [name for name in VALUES if row[name] is None]


def fewest_columns(case: Asked, frozen: list[str], wanted: Any) -> int | None:
    """The fewest columns to change for a row that is wanted, stays as frozen and breaks no group more: all tried."""
    rules, row = case.rules, case.row
    before = concepts_of(rules, row)
    worst = broken(rules.groups, before)
    part = {column: column for column in VALUES}
    for group in rules.groups.exclusive:
        joined = {part[concept] for concept in group if concept in BARE}
        part = {column: min(joined) if name in joined else name for column, name in part.items()}
    found: list[int] = []
    for other in every_raw_row(missing_in(row)):
        after = concepts_of(rules, other)
        if any(other[name] != row[name] if name in VALUES else after[name] != before[name] for name in frozen):
            continue
        if any(now > then for now, then in zip(broken(rules.groups, after), worst, strict=True)):
            continue
        if wanted(after):
            found.append(len({part[column] for column in VALUES if other[column] != row[column]}))
    return min(found, default=None)


def check_against(flip: Flip, case: Asked, frozen: list[str], wanted: Any) -> None:
    fewest = fewest_columns(case, frozen, wanted)
    assert flip.possible == (fewest is not None)
    before = concepts_of(case.rules, case.row)
    if not flip.possible:
        assert flip.changes == ()
        assert flip.after == flip.before
        assert flip.reason
        assert dict(flip.row_after) == {name: before[name] for name in flip.row_after}
        return
    assert len(flip.changes) == fewest
    changed = [concept for change in flip.changes for concept in change.concepts]
    assert sorted(changed) == sorted(name for name in flip.row_after if flip.row_after[name] != before[name])
    after = {**before, **flip.row_after}
    assert wanted(after)


def names_to_freeze(rules: RuleSet) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from([*VALUES, *rules.predicates]), max_size=2, unique=True)


@examples(60)
@given(asked(), st.data())
def test_no_smaller_change_of_columns_changes_the_answer(case: Asked, data: st.DataObject) -> None:
    frozen = data.draw(names_to_freeze(case.rules))
    now = answer(case.rules, concepts_of(case.rules, case.row))
    flip = case.rules.flip(case.row, frozen=frozen)
    assert flip.before == now
    check_against(flip, case, frozen, lambda after: answer(case.rules, after) != now)
    if flip.possible:
        assert flip.after == answer(case.rules, {**concepts_of(case.rules, case.row), **flip.row_after})


@examples(40)
@given(asked(), st.data())
def test_no_smaller_change_of_columns_gives_the_class_asked_for(case: Asked, data: st.DataObject) -> None:
    to = data.draw(st.sampled_from(case.rules.names))
    if to == answer(case.rules, concepts_of(case.rules, case.row)):
        with pytest.raises(LogicLensError, match=f"the answer is '{to}' already: ask for another class"):
            case.rules.flip(case.row, to=to)
        return
    flip = case.rules.flip(case.row, to=to)
    assert not flip.possible or flip.after == to
    check_against(flip, case, [], lambda after: answer(case.rules, after) == to)


@examples(40)
@given(rule_sets(multilabel=True), st.data())
def test_no_smaller_change_of_columns_turns_one_formula(rules: RuleSet, data: st.DataObject) -> None:
    case = data.draw(asked().map(lambda other: Asked(rules, other.row)))
    rule = data.draw(st.sampled_from(rules.rules))
    now = holds(rule.formula, concepts_of(rules, case.row))
    flip = rules.flip(case.row, of=rule.label)
    assert flip.before is now
    check_against(flip, case, [], lambda after: holds(rule.formula, after) != now)


@examples(30)
@given(asked(with_groups=False))
def test_the_fewest_concepts_change_among_the_fewest_columns(case: Asked) -> None:
    rules, before = case.rules, concepts_of(case.rules, case.row)
    flip = rules.flip(case.row)
    if not flip.possible:
        return
    counts = []
    for other in every_raw_row(missing_in(case.row)):
        after = concepts_of(rules, other)
        columns = [column for column in VALUES if other[column] != case.row[column]]
        if len(columns) == len(flip.changes) and answer(rules, after) != answer(rules, before):
            counts.append(sum(after[name] != before[name] for name in rules.concepts))
    assert sum(len(change.concepts) for change in flip.changes) == min(counts)


@examples(30)
@given(asked())
def test_the_same_question_gets_the_same_answer(case: Asked) -> None:
    assert case.rules.flip(case.row) == case.rules.flip(dict(reversed(case.row.items())))


def test_a_change_is_told_on_the_raw_column() -> None:
    rules = rules_of("very_old & smoker", "~old")
    flip = rules.flip({"age": 80, "smoker": 1}, frozen=["smoker"])
    assert str(flip) == "c0 -> None, if age from 60 to below 72.5 (it is 80)"
    assert flip.row_after == {"very_old": False, "smoker": True, "old": True}
    assert str(rules.flip({"age": 80, "smoker": 1}, frozen="age")) == "c0 -> None, if smoker is not true (it is 1)"
    assert str(rules.flip({"age": 80, "smoker": 1}, to="c1")) == "c0 -> c1, if age is below 60 (it is 80)"


def test_a_cut_that_no_formula_looks_at_is_not_told() -> None:
    rules = rules_of("very_old", predicates=AGE, groups=Groups(implied=[["old", "very_old"]]))
    assert str(rules.flip({"age": 80}).changes[0]) == "age is below 72.5 (it is 80)"


@pytest.mark.parametrize(
    ("formula", "dose", "told"),
    [
        ("exact", 4, "dose is 5 (it is 4)"),
        ("exact", 5, "dose is not 5 (it is 5)"),
        ("above & ~exact", 5, "dose is above 5 (it is 5)"),
        ("from & ~above", 7.25, "dose is 5 (it is 7.25)"),
        ("from & ~exact", 5, "dose is above 5 (it is 5)"),
        ("under & ~seven", 10, "dose is below 9 and not 7 (it is 10)"),
        ("upto & ~seven", 7, "dose is at most 7.5 and not 7 (it is 7)"),
    ],
)
def test_the_ends_of_an_interval_are_told_exactly(formula: str, dose: float, told: str) -> None:
    meaning = {
        "exact": Predicate("dose", "==", 5),
        "above": Predicate("dose", ">", 5),
        "from": Predicate("dose", ">=", 5),
        "under": Predicate("dose", "<", 9),
        "upto": Predicate("dose", "<=", 7.5),
        "seven": Predicate("dose", "==", 7),
    }
    assert str(rules_of(formula, predicates=meaning).flip({"dose": dose}).changes[0]) == told


def test_texts_and_flags_are_told_as_such() -> None:
    meaning = {"in MICU": Predicate("unit", "==", "MICU"), "in CCU": Predicate("unit", "==", "CCU"),
               "on": Predicate("flag", "==", True)}  # fmt: skip
    rules = rules_of('"in MICU"', '"in CCU" & on', predicates=meaning)
    assert (
        str(rules.flip({"unit": "MICU", "flag": False})) == "c0 -> None, if unit is neither MICU nor CCU (it is MICU)"
    )
    assert str(rules.flip({"unit": "CCU", "flag": False}, to="c1").changes[0]) == "flag is true (it is false)"
    assert str(rules.flip({"unit": "CCU", "flag": True}, frozen=["unit"]).changes[0]) == "flag is not true (it is true)"


def test_concepts_that_exclude_each_other_are_one_change() -> None:
    rules = rules_of("one & ~two", "two & smoker", predicates={}, groups=Groups([["one", "two", "three"]]))
    flip = rules.flip({"one": 1, "two": 0, "three": 0, "smoker": 1}, to="c1")
    assert len(flip.changes) == 1
    assert str(flip.changes[0]) == "one is not true and two is true (one is 1, two is 0)"
    assert flip.changes[0].columns == ("one", "two")
    assert flip.row_after == {"one": False, "two": True, "three": False, "smoker": True}


def test_one_column_outweighs_any_number_of_its_concepts() -> None:
    cuts = {f"from {cut}": Predicate("age", ">=", cut) for cut in (20, 30, 40, 50, 60, 70)}
    every_cut = " & ".join(f'"{name}"' for name in cuts)
    rules = rules_of('~"from 20" | (a & b)', f"never & {every_cut}", predicates=cuts)
    # Six concepts of one column, or one concept of each of two.
    flip = rules.flip({"age": 80, "a": 0, "b": 0, "never": 0}, to="c0")
    assert str(flip) == "None -> c0, if age is below 20 (it is 80)"
    assert len(flip.changes[0].concepts) == 6


def test_a_frozen_concept_keeps_the_column_on_its_side() -> None:
    rules = rules_of("~old & ~middle", predicates={**AGE, "middle": Predicate("age", ">=", 40)})
    assert str(rules.flip({"age": 65}).changes[0]) == "age is below 40 (it is 65)"
    stuck = rules.flip({"age": 65}, frozen=["old"])
    assert str(stuck) == "None stays: no change of the columns that are not frozen changes the answer."


def test_a_missing_value_can_be_filled_but_is_never_proposed() -> None:
    meaning = {"high": Predicate("dose", ">=", 5), "low": Predicate("dose", "<", 5)}
    rules = rules_of("high | low", predicates=meaning)
    for missing in (None, float("nan"), pd.NA):
        (change,) = rules.flip({"dose": missing}).changes
        assert str(change) in ("dose is below 5 (it is missing)", "dose is at least 5 (it is missing)")
    assert not rules.flip({"dose": 3}).possible


BMI = {
    "bare": Predicate("bmi", "missing"),
    "heavy": Predicate("bmi", ">=", 30),
    "none": Predicate("unit", "missing"),
    "new": Predicate("on", ">=", "2021-03-01"),
    "newer": Predicate("on", ">", "2021-06-15T12:30"),
    "undated": Predicate("on", "missing"),
}


def test_that_a_value_goes_missing_is_never_advised() -> None:
    """Not even where nothing else would change the answer."""
    rules = rules_of("bare", "undated | none", predicates=BMI)
    for row in ({"bmi": 25, "on": "2021-03-01", "unit": "A"}, {"bmi": 35.5, "on": "2020-01-01", "unit": "B"}):
        assert str(rules.flip(row)) == "None stays: no change of any column changes the answer."
        assert not rules.flip(row, to="c0").possible
        assert not rules.flip(row, of="c1").possible
    concepts = {"bare": False, "undated": False, "none": False}
    assert not rules.flip(concepts, to="c0").possible


def test_a_value_that_is_missing_may_be_found() -> None:
    rules = rules_of("bare", "~bare & ~heavy", "undated & heavy", predicates=BMI)
    row = {"bmi": None, "on": "2021-03-01", "unit": "A"}
    flip = rules.flip(row)
    assert flip.before == "c0"
    assert [change.columns for change in flip.changes] == [("bmi",)]
    assert str(rules.flip(row, to="c1")) == "c0 -> c1, if bmi is below 30 (it is missing)"
    assert rules.flip(row, to="c1").row_after == {"bare": False, "heavy": False, "undated": False}
    # A date that is there cannot be lost, so that the third class is out of reach.
    assert not rules.flip(row, to="c2").possible
    undated = {**row, "on": float("nan")}
    assert str(rules.flip(undated, to="c2")) == "c0 -> c2, if bmi is at least 30 (it is missing)"
    assert not rules.flip(undated, to="c2", frozen=["bmi"]).possible
    assert not rules.flip(undated, to="c2", frozen=["bare"]).possible
    only = rules_of("none", predicates=BMI)
    assert str(only.flip({"unit": pd.NA})) == "c0 -> None, if unit is not missing (it is missing)"
    assert str(only.flip({"none": True})) == "c0 -> None, if unit is not missing (it is missing)"


def test_a_change_of_a_date_is_told_by_dates() -> None:
    rules = rules_of("new & ~newer", "newer", predicates=BMI)
    for cell, shown in (
        ("2021-09-01", "2021-09-01"),
        (pd.Timestamp("2021-09-01"), "2021-09-01"),
        (np.datetime64("2021-09-01T08:05"), "2021-09-01 08:05"),
        (pd.Timestamp("2021-09-01T08:05:07.5"), "2021-09-01 08:05:07.500000"),
        (date(2021, 9, 1), "2021-09-01"),
    ):
        assert str(rules.flip({"on": cell}, to="c0")) == (
            f"c1 -> c0, if on from 2021-03-01 to 2021-06-15 12:30 (it is {shown})"
        )
    assert (
        str(rules.flip({"on": "2021-04-01"}, to="c1")) == "c0 -> c1, if on is after 2021-06-15 12:30 (it is 2021-04-01)"
    )
    frame = pd.DataFrame({"on": pd.to_datetime(["2021-04-01", None])})
    assert str(rules.flip(frame.iloc[0], to="c1").changes[0]) == "on is after 2021-06-15 12:30 (it is 2021-04-01)"
    assert str(rules.flip(frame.iloc[[1]], to="c0").changes[0]).endswith("(it is missing)")


def test_a_moment_between_neighbours_is_none() -> None:
    meaning = {"from": Predicate("on", ">", "2021-03-01T00:00:00.000001"),
               "to": Predicate("on", "<", "2021-03-01T00:00:00.000002")}  # fmt: skip
    assert not rules_of("from & to", predicates=meaning).flip({"on": "2021-03-01"}).possible
    early = rules_of("to & ~from", predicates=meaning).flip({"on": "2021-04-01"})
    assert str(early.changes[0]) == "on is 2021-03-01 00:00:00.000001 or earlier (it is 2021-04-01)"
    ends = {"first": Predicate("on", "<", "0001-01-01"), "last": Predicate("on", ">", "9999-12-31T23:59:59.999999")}
    assert not rules_of("first | last", predicates=ends).flip({"on": "2021-03-01"}).possible
    near = {"first": Predicate("on", "<", "0001-01-01T08:00"), "last": Predicate("on", ">", "9999-12-31T08:00")}
    assert rules_of("first", predicates=near).flip({"on": "2021-03-01"}).possible
    assert rules_of("last", predicates=near).flip({"on": "2021-03-01"}).possible


def test_a_date_may_also_be_asked_for_as_a_text() -> None:
    meaning = {"new": Predicate("on", ">=", "2021-03-01"), "text": Predicate("on", "==", "2021-03-01"),
               "word": Predicate("on", "==", "unknown")}  # fmt: skip
    rules = rules_of("new & text", "new & ~text", "word & ~new", predicates=meaning)
    assert str(rules.flip({"on": "2021-04-01"}, to="c0").changes[0]) == "on is 2021-03-01 (it is 2021-04-01)"
    assert str(rules.flip({"on": "2021-03-01"}, to="c1").changes[0]) == "on is 2021-03-01 or later (it is 2021-03-01)"
    # A word is no date, and the comparison with one refuses it.
    assert not rules.flip({"on": "2021-04-01"}, to="c2").possible


def test_a_column_of_dates_and_of_numbers_is_none() -> None:
    rules = rules_of("a & b", predicates={"a": Predicate("on", ">=", "2021-03-01"), "b": Predicate("on", ">=", 3)})
    with pytest.raises(
        LogicLensError, match="the column 'on' is compared with dates and with numbers: no value is both"
    ):
        rules.flip({"on": None})


def test_exclusive_concepts_are_one_change_where_one_is_required() -> None:
    rules = rules_of("one & ~unknown", "two", predicates={"unknown": Predicate("one", "missing")},
                     groups=Groups([["one", "two"]]))  # fmt: skip
    flip = rules.flip({"one": 1, "two": 0}, to="c1")
    assert [str(change) for change in flip.changes] == ["one is not true and two is true (one is 1, two is 0)"]


def test_a_row_of_concepts_can_be_asked_about() -> None:
    rules = rules_of("very_old & smoker", "~old")
    flip = rules.flip({"old": True, "very_old": True, "smoker": True}, to="c1")
    assert str(flip) == "c0 -> c1, if age is below 60 (it is not)"
    # No age makes this row; it may stay so.
    odd = rules.flip({"old": False, "very_old": True, "smoker": False}, to="c0")
    assert str(odd) == "c1 -> c0, if smoker is true (it is false)"


def test_a_concept_named_like_a_raw_column_is_told_apart() -> None:
    rules = rules_of("old & age", predicates=AGE)
    assert str(rules.flip({"age": 70}).changes[0]) == "age from 0.5 to below 60 (it is 70)"


def test_rows_of_a_table_can_be_asked_about() -> None:
    rules = rules_of("very_old & smoker", "~old")
    frame = pd.DataFrame({"age": pd.array([80, None], dtype="Int64"), "smoker": [True, True]})
    expected = "c0 -> None, if age from 60 to below 72.5 (it is 80)"
    assert str(rules.flip(frame.iloc[0], frozen=["smoker"])) == expected
    assert str(rules.flip(frame.iloc[[0]], frozen=["smoker"])) == expected
    assert rules.flip(frame.iloc[1]).before == "c1"


def test_constant_formulas_cannot_be_flipped() -> None:
    rules = RuleSet((Rule("all", parse("True"), (0.5,)),))
    assert str(rules.flip({})) == "all stays: no change of any column changes the answer."
    assert (
        str(rules.flip({}, of="all"))
        == "the class is all: holds, and this stays: no change of any column keeps the formula from firing."
    )
    never = RuleSet((Rule("none", parse("False"), ()), Rule("a", parse("a"), (0.5,))), resolve="none")
    assert str(never.flip({"a": 1}, to="none")) == "a stays: no change of any column makes the answer 'none'."
    assert "makes the formula fire" in never.flip({"a": 1}, of="none").reason


def test_several_labels_must_be_asked_one_by_one() -> None:
    rules = rules_of("a", "b", predicates={}, multilabel=True)
    with pytest.raises(LogicLensError, match=r"each formula answers for itself: pass of=\.\.\., one of them"):
        rules.flip({"a": 1, "b": 0})
    assert str(rules.flip({"a": 1, "b": 0}, of="c1")) == "c1: does not hold -> holds, if b is true (it is 0)"
    with pytest.raises(LogicLensError, match=r"either to=\.\.\., the class wanted, or of="):
        rules.flip({"a": 1, "b": 0}, of="c1", to="c0")


def test_an_unknown_name_is_an_error_with_the_nearest() -> None:
    rules = rules_of("very_old & smoker", "~old")
    row = {"age": 80, "smoker": 1, "gender": "f"}
    assert rules.flip(row, frozen=["gender"]).possible
    with pytest.raises(UnknownConcept, match=r"there is no concept 'smokr'\. Did you mean 'smoker'\?"):
        rules.flip(row, frozen=["smokr"])
    with pytest.raises(LogicLensError, match="there is no class 'c9'; the classes are 'c0', 'c1'"):
        rules.flip(row, to="c9")
    with pytest.raises(LogicLensError, match="the table lacks the column 'age' that 'very_old' is about"):
        rules.flip({"smoker": 1})


def test_a_large_rule_set_is_flipped_at_once() -> None:
    rng = np.random.default_rng(0)
    meaning = {f"x{j} >= {cut}": Predicate(f"x{j}", ">=", cut) for j in range(60) for cut in (1, 2)}
    names = list(meaning)
    rules = []
    for label in range(10):
        cubes = [
            [Literal(str(name), bool(rng.integers(2))) for name in rng.choice(names, 3, replace=False)]
            for _ in range(3)
        ]
        formula = parse(" | ".join("(" + " & ".join(map(str, cube)) + ")" for cube in cubes))
        rules.append(Rule(label, formula, tuple(rng.random(len(formula)))))
    rule_set = RuleSet(tuple(rules), meaning, otherwise=0)
    for _ in range(3):
        row = {f"x{j}": float(rng.random() * 3) for j in range(60)}
        flip = rule_set.flip(row)
        assert flip.possible
        assert flip.before == rule_set.predict({name: [value] for name, value in row.items()})[0]


def test_of_two_values_a_change_asks_for_the_other() -> None:
    meant = {"m": Predicate("sex", "==", "man")}
    facts = TableFacts("died", complete=("sex",), categories={"sex": ("man", "woman")})
    rules = RuleSet((Rule("yes", parse("m"), (0.9,)), Rule("no", parse("~m"), (0.9,))), meant, facts=facts)
    assert str(rules.flip({"sex": "man"})) == "died: yes -> no, if sex is woman (it is man)"
    assert str(rules.flip({"sex": "man"}, of="yes")) == (
        "died is yes: holds -> does not hold, if sex is woman (it is man)"
    )
    found = rules.check("never uses 'sex'")
    assert "it holds if sex is man, and fails if sex is woman" in str(found)
    assert RuleSet.from_dict(to_dict(rules)).facts == facts


def test_a_time_of_day_is_told_as_it_is_given() -> None:
    evening = Predicate("hour of admitted", ">=", 20, DatePart("hour", ("admitted",)))
    rules = RuleSet((Rule("bad", parse("late"), (0.9,)), Rule("good", parse("~late"), (0.9,))), {"late": evening})
    for cell in ("2024-06-03 10:30", "2024-06-03T10:30", pd.Timestamp("2024-06-03 10:30")):
        assert str(rules.flip({"admitted": cell})).endswith("at 20:00 or later (it is 10:30)")
