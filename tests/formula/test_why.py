"""Reasons of a prediction, compared with evaluating each literal of each cube in plain Python."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula import DNF, Complement, Cube, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.english import TableFacts, cube_words, literal_words
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.rules import FoundAgain
from logiclens.formula.why import Why
from tests.oracles.brute_force import cube_holds, holds
from tests.rulesets import Asked, answer, asked, concepts_of, raw_rows, rule_sets

RULES = RuleSet(
    (
        Rule("ill", parse("(old & smoker) | (micu & ~young)"), (0.9, 0.7)),
        Rule("well", parse("~old | young"), (0.8, 0.6)),
    ),
    {
        "old": Predicate("age", ">=", 72.5),
        "young": Predicate("age", "<", 18),
        "micu": Predicate("unit", "==", "MICU"),
    },
    otherwise=1,
)
ROW = {"age": 60, "smoker": True, "unit": "CCU"}


@given(asked())
def test_every_literal_is_accounted_for(case: Asked) -> None:
    rules, made = case.rules, concepts_of(case.rules, case.row)
    why = rules.why(case.row)
    assert why.answer == answer(rules, made)
    assert [reason.label for reason in why.classes] == [rule.label for rule in rules.rules]
    for rule, reason in zip(rules.rules, why.classes, strict=True):
        assert reason.fires == holds(rule.formula, made)
        assert [part.cube for part in reason.cubes] == list(rule.cubes)
        assert reason.is_complement == rule.is_complement
        if isinstance(rule.formula, Complement):
            assert reason.confidence == rule.confidence[0]
            assert [part.cube for part in reason.unless] == list(rule.formula.of)
        else:
            assert [part.confidence for part in reason.cubes] == list(rule.confidence)
        assert len(reason.fired) + len(reason.failed) == len(reason.cubes)
        for part in (*reason.cubes, *reason.unless):
            assert part.fires == cube_holds(part.cube, made)
            assert [lacking.literal for lacking in part.failed] == [
                literal for literal in part.cube if made[literal.concept] != literal.positive
            ]
            for lacking in part.failed:
                assert lacking.value == case.row[lacking.column]
                assert lacking.missing == (case.row[lacking.column] is None)
                now = "missing" if lacking.missing else shown(lacking.value)
                assert str(lacking) == f"{lacking.wanted} (it is {now})"
                # The literal alone, or the condition of all literals of the cube on its column, such as an interval.
                column = rules.predicate(lacking.literal.concept).column
                own = Cube(lit for lit in part.cube if rules.predicate(lit.concept).column == column)
                known = TableFacts(complete=rules.columns)
                assert lacking.wanted in (
                    literal_words(lacking.literal, rules.predicates, known),
                    cube_words(own, rules.predicates, known),
                )


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


@given(asked())
def test_the_cube_that_decided_is_one_that_could(case: Asked) -> None:
    why, rules = case.rules.why(case.row), case.rules
    fired = [(part, reason) for reason in why.classes for part in reason.fired]
    if why.decided is None:
        assert why.answer is None or not fired
        return
    assert why.decided in [part for part, reason in fired if reason.label == why.answer]
    if rules.resolve == "order":
        first = next(place for place in rules.order if rules.names[place] in [str(r.label) for _, r in fired])
        assert why.decided == why.classes[first].fired[0]
        return
    most = max(part.confidence for part, reason in fired if rules.resolve == "confidence" or reason.label == why.answer)
    assert why.decided.confidence == most


def test_the_most_trusted_cube_of_the_class_decided() -> None:
    rules = RuleSet((Rule("x", parse("a | b | c"), (0.2, 0.9, 0.9)), Rule("y", parse("a"), (0.5,))))
    why = rules.why({"a": 1, "b": 1, "c": 1})
    assert why.decided is why["x"].cubes[1]
    assert why.because == "x, because: b is true (trust 90%), which outweighs y"


@given(rule_sets(multilabel=True), raw_rows())
def test_with_several_labels_each_formula_answers(rules: RuleSet, row: dict[str, Any]) -> None:
    made = concepts_of(rules, row)
    why = rules.why(row)
    assert why.answer == tuple(rule.label for rule in rules.rules if holds(rule.formula, made))
    assert why.decided is None
    assert why.because == (
        f"{', '.join(why.answer)}: each formula answers for itself" if why.answer else "no formula fires"
    )


def test_the_whole_reads_like_this() -> None:
    assert str(RULES.why(ROW)) == (
        "well, because: age is below 72.5 (trust 80%)\n"
        "ill: does not hold\n"
        "  fails: age is at least 72.5 and smoker is true, for lack of: age is at least 72.5 (it is 60)\n"
        "  fails: unit is MICU and age is at least 18, for lack of: unit is MICU (it is CCU)\n"
        "well: holds\n"
        "  fires: age is below 72.5 (trust 80%)\n"
        "  fails: age is below 18, for lack of: age is below 18 (it is 60)"
    )


def test_a_complement_shows_what_each_other_rule_lacks() -> None:
    ill = RULES.rules[0].formula
    rules = RuleSet((RULES.rules[0], Rule("well", Complement(ill), (0.8,))), RULES.predicates, otherwise=1)
    lists = (
        "  fails: age is at least 72.5 and smoker is true, for lack of: age is at least 72.5 (it is 60)\n"
        "  fails: unit is MICU and age is at least 18, for lack of: unit is MICU (it is CCU)"
    )
    # The list of rules is printed once: both classes have the same.
    assert str(rules.why(ROW)) == (
        f"well, because no rule of the other class fires (trust 80%)\nill: does not hold\n{lists}"
    )
    assert str(rules.why(ROW)["well"]) == (
        f"well: holds, otherwise, since no rule of the other class fires (trust 80%)\n{lists}"
    )
    never = RuleSet((Rule("ill", DNF.false, ()), Rule("well", Complement(DNF.false), (0.8,))), otherwise=1)
    assert never.why({}).because == "well, because the other class has no rules"
    assert replace(rules, resolve="none").why(ROW).because == rules.why(ROW).because
    assert str(rules.why({**ROW, "age": 80})).startswith(
        "ill, because: age is at least 72.5 and smoker is true (trust 90%)\n"
    )
    assert str(rules.why({**ROW, "age": 80})["well"]).startswith("well: does not hold, otherwise\n")


def test_with_an_order_the_first_class_that_fires_decided() -> None:
    rules = RuleSet(
        (Rule("x", parse("a | b"), (0.2, 0.9)), Rule("y", parse("a"), (0.5,))), resolve="order", order=(0, 1)
    )
    why = rules.why({"a": 1, "b": 1})
    assert why.decided is why["x"].cubes[0]
    assert why.because == "x, because: a is true (trust 20%), which comes before y"


def test_a_missing_value_is_a_reason_of_its_own() -> None:
    why = RULES.why({**ROW, "age": None, "unit": float("nan")})
    assert [str(lacking) for part in why["ill"].failed for lacking in part.failed] == [
        "age is at least 72.5 (it is missing)",
        "unit is MICU (it is missing)",
    ]
    assert why["well"].failed[0].failed[0].missing
    # A negated comparison holds of a missing value, which is not to claim that the value is low.
    assert why.because == "well, because: age is missing (so not at least 72.5) (trust 80%)"
    bare = RuleSet((Rule("no", parse("~smoker"), (0.5,)),)).why({"smoker": None})
    assert bare.because == "no, because: smoker is missing (so not true) (trust 50%)"


def test_a_rule_that_fails_is_told_as_it_is() -> None:
    """Its words do not claim that a value is missing which the rule excludes or does not ask for."""
    meant = {
        "young": Predicate("age", ">=", 40), "bare": Predicate("age", "missing"), "old": Predicate("age", ">=", 60)
    }  # fmt: skip
    gone = {"age": None, "smoker": False}
    for formula, told in (
        (
            "~old & ~bare",
            "age is below 60 and not missing, for lack of: age is below 60 and not missing (it is missing)",
        ),
        ("young & ~old", "age from 40 to below 60, for lack of: age from 40 to below 60 (it is missing)"),
        ("~old & smoker", "age is below 60 (or missing) and smoker is true, for lack of: smoker is true (it is false)"),
    ):
        why = RuleSet((Rule("yes", parse(formula), (0.5,)),), meant).why(gone)
        assert str(why["yes"].cubes[0]) == f"fails: {told}"


def test_the_date_that_is_missing_is_named() -> None:
    days = DatePart("days", ("a", "b"))
    rules = RuleSet((Rule("yes", parse("long"), (0.5,)),), {"long": Predicate(days.name, ">=", 3, days)})
    for row, told in (({"a": None, "b": "2024-03-01"}, "a"), ({"a": "2024-03-01", "b": None}, "it")):
        (failed,) = rules.why(row)["yes"].cubes[0].failed
        assert str(failed) == f"b is at least 3 calendar days after a ({told} is missing)"


DATED = RuleSet(
    (
        Rule("ill", parse("bare & ~new"), (0.9,)),
        Rule("well", parse("~bare & new"), (0.8,)),
    ),
    {"bare": Predicate("bmi", "missing"), "new": Predicate("on", ">=", "2021-03-01")},
)


def test_a_missing_value_can_be_what_is_asked_for() -> None:
    why = DATED.why({"bmi": None, "on": "2021-02-28"})
    assert str(why) == (
        "ill, because: bmi is missing and on is before 2021-03-01 (trust 90%)\n"
        "ill: holds\n"
        "  fires: bmi is missing and on is before 2021-03-01 (trust 90%)\n"
        "well: does not hold\n"
        "  fails: bmi is not missing and on is 2021-03-01 or later, for lack of: "
        "bmi is not missing (it is missing); on is 2021-03-01 or later (it is 2021-02-28)"
    )
    assert [lacking.missing for lacking in why["well"].failed[0].failed] == [True, False]
    other = DATED.why({"bmi": 27.25, "on": pd.Timestamp("2021-03-01T12:30")})
    assert str(other["ill"].failed[0]) == (
        "fails: bmi is missing and on is before 2021-03-01, for lack of: "
        "bmi is missing (it is 27.25); on is before 2021-03-01 (it is 2021-03-01 12:30)"
    )
    undated = DATED.why({"bmi": float("nan"), "on": pd.NaT})
    assert undated.because == "ill, because: bmi is missing and on is missing (so not 2021-03-01 or later) (trust 90%)"


def test_a_row_of_concepts_says_whether_a_value_is_missing() -> None:
    assert (
        str(DATED.why({"bare": False, "new": True})["ill"].failed[0].failed[0]) == "bmi is missing (it is not missing)"
    )
    assert str(DATED.why({"bare": 1, "new": 1})["well"].failed[0].failed[0]) == "bmi is not missing (it is missing)"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (date(2021, 2, 28), "2021-02-28"),
        (datetime(2021, 2, 28), "2021-02-28"),
        (datetime(2021, 2, 28, 9, 5), "2021-02-28 09:05"),
        (datetime(2021, 2, 28, 9, 5, 7), "2021-02-28 09:05:07"),
        (datetime(2021, 2, 28, tzinfo=UTC), "2021-02-28 00:00+00:00"),
        (pd.Timestamp("2021-02-28"), "2021-02-28"),
        (np.datetime64("2021-02-28"), "2021-02-28"),
        (np.datetime64("2021-02-28T09:05", "ns"), "2021-02-28 09:05"),
        ("2021-02-28T09:05", "2021-02-28T09:05"),
    ],
)
def test_a_date_is_told_as_one_writes_it(cell: Any, shown: str) -> None:
    assert (
        str(DATED.why({"bmi": 27, "on": cell})["well"].failed[0].failed[0])
        == f"on is 2021-03-01 or later (it is {shown})"
    )


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "age": np.float64(60)},
        {**ROW, "age": np.array(60)},
        {name: [cell] for name, cell in ROW.items()},
        {name: np.array([cell]) for name, cell in ROW.items()},
        pd.Series(ROW),
        pd.DataFrame([ROW]),
        pd.DataFrame([ROW], index=["someone"]).astype({"age": "Int64", "smoker": "boolean", "unit": "string"}),
        pd.DataFrame([ROW, ROW]).iloc[1],
        next(pd.DataFrame([ROW]).itertuples()),
    ],
)
def test_a_row_comes_in_many_forms(row: Any) -> None:
    assert str(RULES.why(row)) == str(RULES.why(ROW))


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_every_marker_for_missing_is_known(missing: Any) -> None:
    for row in ({**ROW, "age": missing}, pd.Series({**ROW, "age": missing}, dtype=object)):
        assert str(RULES.why(row)["ill"].failed[0].failed[0]) == "age is at least 72.5 (it is missing)"


def test_a_missing_cell_of_a_nullable_table_is_missing() -> None:
    frame = pd.DataFrame([ROW]).astype({"age": "Int64", "smoker": "boolean", "unit": "string"})
    frame.loc[0, :] = pd.NA
    for row in (frame, frame.iloc[0]):
        told = [str(lacking) for part in RULES.why(row)["ill"].failed for lacking in part.failed]
        assert told == [
            "age is at least 72.5 (it is missing)", "smoker is true (it is missing)", "unit is MICU (it is missing)"
        ]  # fmt: skip


def test_a_row_of_polars_is_read() -> None:
    polars = pytest.importorskip("polars")
    assert str(RULES.why(polars.DataFrame([ROW]))) == str(RULES.why(ROW))
    assert (
        str(RULES.why(polars.DataFrame([{**ROW, "age": None}]))["ill"].failed[0].failed[0])
        == "age is at least 72.5 (it is missing)"
    )


def test_a_row_of_concepts_is_told_without_its_value() -> None:
    why = RULES.why({"old": False, "young": False, "micu": None, "smoker": 0.2})
    assert [str(lacking) for part in why["ill"].failed for lacking in part.failed] == [
        "age is at least 72.5 (it is not)",
        "smoker is true (it is 0.2)",
        "unit is MICU (it is missing)",
    ]
    assert str(why["well"].failed[0].failed[0]) == "age is below 18 (it is not)"


def test_a_concept_may_have_the_name_of_a_raw_column() -> None:
    rules = RuleSet((Rule("yes", parse("old & age"), (0.5,)),), {"old": Predicate("age", ">=", 60)})
    assert rules.why({"age": 70}).answer == "yes"


@pytest.mark.parametrize(
    ("how", "row", "because"),
    [
        ({}, {"a": 1, "b": 1}, "first, because: a is true (trust 90%), which outweighs second"),
        ({}, {"a": 0, "b": 0}, "nobody decides, because no formula fires"),
        ({"otherwise": 1}, {"a": 0, "b": 0}, "second, because no formula fires and this is the answer otherwise"),
        ({"resolve": "none"}, {"a": 1, "b": 0}, "first, because no other formula fires"),
        ({"resolve": "none"}, {"a": 1, "b": 1}, "nobody decides, because first and second fire"),
        ({"resolve": "none", "otherwise": 1}, {"a": 0, "b": 0}, "nobody decides, because no formula fires"),
    ],
)
def test_how_the_answer_came_about_is_said(how: Any, row: Any, because: str) -> None:
    rules = RuleSet((Rule("first", parse("a"), (0.9,)), Rule("second", parse("b"), (0.5,))), **how)
    assert rules.why(row).because == because


def test_constant_formulas_have_reasons_too() -> None:
    rules = RuleSet((Rule("all", parse("True"), (0.5,)), Rule("none", parse("False"), ())))
    why = rules.why({})
    assert str(why) == (
        "all, because: always (trust 50%)\nall: holds\n  fires: always (trust 50%)\n"
        "none: does not hold\n  its formula is False: it never fires"
    )


def test_reasons_are_found_by_class() -> None:
    why = RULES.why(ROW)
    assert isinstance(why, Why)
    assert why["ill"] is why.classes[0]
    numbered = RuleSet((Rule(3, parse("a"), (0.5,)),)).why({"a": 1})
    assert numbered[3] is numbered["3"]
    with pytest.raises(LogicLensError, match="there is no class 'dead'; the classes are 'ill', 'well'"):
        why["dead"]


@given(st.sampled_from([{}, {"age": 60}, {"age": 60, "unit": "CCU"}]))
def test_a_row_without_a_needed_column_is_an_error(row: dict[str, Any]) -> None:
    with pytest.raises(LogicLensError, match=r"the table lacks the column|there is no concept 'smoker'"):
        RULES.why(row)


def test_what_is_not_one_row_is_refused() -> None:
    frame = pd.DataFrame([ROW, ROW])
    with pytest.raises(LogicLensError, match=r"expected one row, got a table of 2: pass table\.iloc\[\[0\]\]"):
        RULES.why(frame)
    with pytest.raises(LogicLensError, match="expected one row, but 'age' has 2 values: pass a single one"):
        RULES.why({**ROW, "age": [60, 70]})
    with pytest.raises(LogicLensError, match=r"expected one row with named cells, such as .* got list"):
        RULES.why([60, True, "CCU"])
    with pytest.raises(LogicLensError, match="the column 'age' is not numeric"):
        RULES.why({**ROW, "age": "old"})


def test_a_long_number_is_shortened_without_crossing_the_cut():
    rules = RuleSet((Rule("ill", parse("old"), (0.9,)),), {"old": Predicate("age", ">=", 72.5)})
    assert "(it is 52.5146)" in str(rules.why({"age": 52.514604421867865}))
    assert "(it is 72.4999999)" in str(rules.why({"age": 72.4999999}))


def test_categories_of_one_column_are_one_reason():
    jobs = {job: Predicate("job", "==", job) for job in ("cook", "nurse", "clerk")}
    formula = parse("old & cook | old & nurse | sepsis | old & clerk")
    counts = dict(zip(formula.cubes, map(FoundAgain, (9, 3, 10, 8)), strict=True))
    rules = RuleSet(
        (Rule("ill", formula, (0.7, 0.6, 0.9, 0.8), counts, 10), Rule("well", Complement(formula), (0.8,))),
        {"old": Predicate("age", ">=", 60), **jobs},
        otherwise=1,
    )
    least = "found again in only 3 of 10 bags, less than half with the category found least"
    union = f"fails: age is at least 60 and job is cook, nurse or clerk ({least})"
    for row, said in (
        ({"age": 70, "job": "pilot"}, [f"{union}, for lack of: job is cook, nurse or clerk (it is pilot)"]),
        ({"age": 50, "job": "nurse"}, [f"{union}, for lack of: age is at least 60 (it is 50)"]),
        (
            {"age": 50, "job": None},
            [f"{union}, for lack of: age is at least 60 (it is 50); job is cook, nurse or clerk (it is missing)"],
        ),
        (
            {"age": 70, "job": "nurse"},
            [
                "fires: age is at least 60 and job is nurse (trust 60%, found again in only 3 of 10 bags, less than half)"
            ],
        ),
    ):
        lines = [line.strip() for line in str(rules.why({**row, "sepsis": False})["ill"]).splitlines()[1:]]
        sepsis = "fails: sepsis is true (found again in 10 of 10 bags), for lack of: sepsis is true (it is false)"
        assert lines == [*said, sepsis]


def test_an_interval_that_fails_is_named_whole_and_once():
    meant = {"grown": Predicate("age", ">=", 40), "old": Predicate("age", ">=", 60)}
    rules = RuleSet((Rule("ill", parse("grown & ~old"), (0.9,)),), meant, facts=TableFacts(whole=("age",)))
    for age, now in ((79, "79"), (20, "20"), (None, "missing")):
        told = f"fails: age from 40 to 59, for lack of: age from 40 to 59 (it is {now})"
        assert str(rules.why({"age": age})["ill"].cubes[0]) == told
