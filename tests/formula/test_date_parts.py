"""Parts of dates: their numbers, their words, and which of them dates can have together."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula import Rule, parse
from logiclens.formula.check import NeverUses, monotone_in
from logiclens.formula.date_parts import DatePart, parts_of_dates
from logiclens.formula.dnf import Complement
from logiclens.formula.english import TableFacts, english
from logiclens.formula.possible_dates import dates_exist
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet
from tests.examples import examples

MONTH, WEEKDAY, HOUR = (DatePart(kind, ("a",)) for kind in ("month", "weekday", "hour"))
DAYS = DatePart("days", ("a", "b"))
MOMENTS = st.datetimes(datetime(1600, 1, 1), datetime(2399, 12, 31))


def asked(part: DatePart, operator: str, value: float) -> Predicate:
    return Predicate(part.name, operator, value, part)


@examples(100)
@given(st.lists(st.one_of(st.none(), MOMENTS), min_size=1), st.data())
def test_parts_are_those_of_the_calendar(moments, data):
    others = data.draw(st.lists(st.one_of(st.none(), MOMENTS), min_size=len(moments), max_size=len(moments)))
    columns = {"a": moments, "b": others}
    for part, expected in (
        (MONTH, [None if a is None else a.month for a in moments]),
        (WEEKDAY, [None if a is None else a.isoweekday() for a in moments]),
        (HOUR, [None if a is None else a.hour for a in moments]),
        (
            DAYS,
            [
                None if a is None or b is None else (b.date() - a.date()).days
                for a, b in zip(moments, others, strict=True)
            ],
        ),
    ):
        np.testing.assert_array_equal(part.values(columns), np.array(expected, dtype=float))


def test_texts_frames_and_time_zones_give_the_same_parts():
    east = timezone(timedelta(hours=5))
    moment = datetime(2024, 2, 29, 23, 30, tzinfo=east)
    assert HOUR.values({"a": [moment]}).tolist() == [moment.astimezone(UTC).hour]
    for column in (["2024-02-29 18:30"], pd.Series([moment]), np.array(["2024-02-29T18:30"], "datetime64[ns]")):
        assert [part.values({"a": column}).tolist() for part in (MONTH, WEEKDAY, HOUR)] == [[2.0], [4.0], [18.0]]
    assert WEEKDAY.values({"a": [date(1969, 12, 31)]}).tolist() == [3.0]


@pytest.mark.parametrize(
    ("predicate", "holds", "fails"),
    [
        (asked(MONTH, ">=", 12), "a is in December", "a is from January to November"),
        (asked(MONTH, "==", 3), "a is in March", "a is not in March"),
        (asked(WEEKDAY, ">=", 6), "a is on a Saturday or Sunday", "a is from Monday to Friday"),
        (asked(HOUR, ">=", 18), "a is at 18:00 or later", "a is before 18:00"),
        (asked(HOUR, "<=", 5), "a is before 6:00", "a is at 6:00 or later"),
        (asked(DAYS, ">=", 1), "b is on a later day than a", "b is on the day of a or earlier"),
        (asked(DAYS, ">=", 3), "b is at least 3 calendar days after a", "b is at most 2 calendar days after a"),
        (asked(DAYS, ">=", 2.5), "b is at least 3 calendar days after a", "b is at most 2 calendar days after a"),
        (asked(DAYS, ">=", 0), "b is on the day of a or later", "b is before the day of a"),
        (
            asked(DAYS, "<", -3),
            "b is at least 4 calendar days before a",
            "b is at most 3 calendar days before a, or later",
        ),
    ],
)
def test_a_condition_on_a_part_is_said_of_the_date(predicate, holds, fails):
    meant = {"c": predicate}
    assert english(parse("c"), meant, facts=TableFacts(complete=("a", "b"))) == f"A row is a match if {holds}."
    assert english(parse("~c"), meant, facts=TableFacts(complete=("a", "b"))) == f"A row is a match if {fails}."


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: DatePart("year", ("a",)), "a part of a date is one of month, weekday, hour, days, got 'year'"),
        (lambda: DatePart("days", ("a",)), "the part 'days' is taken from 2 columns"),
        (lambda: DatePart("days", ("a", "a")), "got 'a' twice"),
        (lambda: Predicate("a", ">=", 6, WEEKDAY), "a predicate on 'weekday of a' has that column, got 'a'"),
        (lambda: Predicate(WEEKDAY.name, "==", "Monday", WEEKDAY), "is a number and compared with one"),
        (lambda: Predicate(WEEKDAY.name, "missing", True, WEEKDAY), "is a number and compared with one"),
    ],
)
def test_impossible_parts_are_refused(made, message):
    with pytest.raises(LogicLensError, match=message):
        made()


def test_parts_are_offered_where_dates_span_enough():
    assert [part.name for part in parts_of_dates({"a": 400.0}, ["a"])] == ["month of a", "weekday of a", "hour of a"]
    assert [part.name for part in parts_of_dates({"a": 20.0}, ["a", "hour of a"])] == ["weekday of a"]
    assert [part.name for part in parts_of_dates({"a": 1.0, "b": 1.0, "c": 1.0}, [])] == [
        "days from a to b",
        "days from a to c",
        "days from b to c",
    ]
    assert len(parts_of_dates(dict.fromkeys("abcd", 1.0), [])) == 3


CUTS = st.sampled_from(
    [
        *(asked(MONTH, ">=", month) for month in (2, 3, 12)),
        *(asked(WEEKDAY, ">=", day) for day in (2, 6, 7)),
        *(asked(HOUR, operator, 12) for operator in (">=", "<=")),
        *(Predicate("a", operator, day) for operator in (">=", "<") for day in ("2021-02-27", "2021-03-01")),
        Predicate("a", ">", "2021-02-27T12:00"),
        Predicate("a", "missing"),
        *(asked(DAYS, ">=", days) for days in (-1, 0, 2)),
        *(Predicate("b", operator, "2021-03-01") for operator in (">=", "<")),
        asked(DatePart("weekday", ("b",)), ">=", 6),
    ]
)
ALL_A = pd.date_range("2021-02-20", "2021-03-10 23:00", freq="h").tolist()
ALL_B = pd.date_range("2021-02-20", "2021-03-10", freq="D").tolist()


@examples(100)
@given(st.dictionaries(CUTS, st.booleans(), max_size=6))
def test_dates_exist_where_an_enumeration_finds_them(conditions):
    """Within the cuts every kind of date occurs in these weeks but for the other months."""
    window = {Predicate("a", ">=", "2021-02-21"): True, Predicate("a", "<", "2021-03-10"): True}
    window |= {Predicate("b", ">=", "2021-02-21"): True, Predicate("b", "<", "2021-03-10"): True}
    both = [*conditions.items(), *window.items()]
    a, b = (np.array(side, dtype="datetime64[us]") for side in np.meshgrid(np.array(ALL_A), np.array(ALL_B)))
    columns = {"a": a.ravel(), "b": b.ravel()}
    held = np.logical_and.reduce([one.held_by(columns) == holds for one, holds in both])
    assert dates_exist(both) == bool(held.any())


def rules_of(formula: str, **predicates: Predicate) -> RuleSet:
    yes = parse(formula)
    return RuleSet((Rule("yes", yes, (0.9,)), Rule("no", Complement(yes), (0.9,))), predicates, otherwise=1)


def test_a_flip_never_asks_for_a_date_that_cannot_be():
    early = [Predicate("a", ">=", "2021-12-01"), asked(MONTH, ">=", 12), Predicate("a", ">=", "2021-01-01")]
    # December of a date in 2021 before its first of December: none. The flip must move the date itself as well.
    rules = RuleSet(
        (Rule("yes", parse("winter & this & ~late"), (0.9,)), Rule("no", parse("~winter"), (0.8,))),
        {"late": early[0], "winter": early[1], "this": early[2]},
        otherwise=1,
    )
    stays = rules.flip({"a": "2021-05-05"}, to="yes")
    assert not stays.possible
    weekend = rules_of("w & new", w=asked(WEEKDAY, ">=", 6), new=Predicate("a", ">=", "2021-01-01"))
    found = weekend.flip({"a": "2020-05-04"}, of="yes")
    assert [change.columns for change in found.changes] == [("a",)]
    assert "a is on a Saturday or Sunday" in str(found)


def test_a_date_that_is_found_is_told_with_its_parts():
    gap = Predicate("a", "missing")
    rules = rules_of("~late & ~gap", late=asked(MONTH, ">=", 6), gap=gap)
    found = rules.flip({"a": None})
    assert str(found) == "no -> yes, if a is from January to May (it is missing)"
    assert str(rules.flip({"late": False, "gap": True})) == str(found)
    # Judged by all months: those that are named change the answer, the others do not.
    dates = [f"2024-{month:02}-15" for month in range(1, 13)]
    assert rules.predict({"a": dates}).tolist() == ["yes"] * 5 + ["no"] * 7
    both = rules_of("late & ~weekend", late=asked(MONTH, ">=", 6), weekend=asked(WEEKDAY, ">=", 6))
    assert "a is from June to December and a is from Monday to Friday" in str(both.flip({"a": None}))
    # A part of a date that is there stays as it is, and so does one of a date that stays missing.
    assert str(both.flip({"a": "2024-03-01"}).changes[0]) == "a is from June to December (it is in March)"
    apart = rules_of("~late & ~gap & ~long", late=asked(MONTH, ">=", 6), gap=gap, long=asked(DAYS, ">=", 3))
    assert "days" not in str(apart.flip({"a": None, "b": None}))
    assert "b is at most 2 calendar days after a" in str(apart.flip({"a": None, "b": "2024-03-01"}))


def test_a_frozen_date_freezes_its_parts():
    rules = rules_of("w", w=asked(WEEKDAY, ">=", 6))
    assert not rules.flip({"a": "2020-05-04"}, of="yes", frozen=["a"]).possible
    assert rules.flip({"a": "2020-05-04"}, of="yes").possible


def test_reasons_tell_the_part_of_the_row():
    rules = rules_of("w & stay", w=asked(WEEKDAY, ">=", 6), stay=asked(DAYS, ">=", 3))
    told = str(rules.why({"a": "2024-03-01", "b": "2024-03-03"}))
    assert "a is on a Saturday or Sunday (it is on a Friday)" in told
    assert "b is at least 3 calendar days after a (it is 2 calendar days after a)" in told
    assert "b is at least 3 calendar days after a (it is missing)" in str(rules.why({"a": "2024-03-02", "b": None}))


def test_a_date_whose_weekday_is_used_is_used():
    rules = rules_of("w", w=asked(WEEKDAY, ">=", 6))
    assert not rules.check(NeverUses("a")).holds
    assert not rules.check(NeverUses("weekday of a")).holds
    assert rules.check(NeverUses("b")).holds
    assert rules.check(monotone_in("weekday of a"), of="yes").holds
    with pytest.raises(LogicLensError, match="'weekday of a', which does not rise with 'a'"):
        rules.check(monotone_in("a"), of="yes")


def test_a_missing_date_is_not_told_to_have_a_month():
    rules = rules_of("~late & ~gap", late=asked(MONTH, ">=", 6), gap=Predicate("a", "missing"))
    told = [part.counterexample.told for part in rules.check("never uses 'gap'").classes]
    assert told == [
        "it holds if a is not missing and a is from January to May, and fails if a is missing",
        "it holds if a is missing, and fails if a is not missing and a is from January to May",
    ]


def test_a_table_without_the_date_is_refused():
    rules = rules_of("w", w=asked(WEEKDAY, ">=", 6))
    with pytest.raises(LogicLensError, match="the table lacks the column 'a' that 'w' is about"):
        rules.predict({"weekday of a": [6]})
    # A column that happens to have the name of a part is not taken for it.
    assert rules.predict({"a": ["2024-03-02"], "weekday of a": [1]}).tolist() == ["yes"]
