"""English: the text of formulas, negations and missing values."""

from __future__ import annotations

import re

import pytest

from logiclens.formula import DNF, Complement, Cube, Literal, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.english import TableFacts, cube_words, english, gap_words, region_words
from logiclens.formula.predicate import Predicate

PREDICATES = {
    "old": Predicate("age", ">=", 72.5),
    "older": Predicate("age", ">", 80),
    "young": Predicate("age", "<=", 40.0),
    "child": Predicate("age", "<", 18),
    "sixty": Predicate("age", "==", 60),
    "flag": Predicate("mal flag", "==", True),
    "off": Predicate("mal flag", "==", False),
    "in": Predicate("unit", "==", "MICU"),
    "blank": Predicate("unit", "==", ""),
    "told": Predicate("answer", "==", "true"),
    "spaced": Predicate("unit", "==", "MICU 2"),
    "bare": Predicate("bmi", "missing"),
    "called missing": Predicate("unit", "==", "missing"),
    "new": Predicate("admitted", ">=", "2021-03-01"),
    "newer": Predicate("admitted", ">", "2021-03-01T12:30"),
    "old date": Predicate("admitted", "<", "2021-03-01"),
    "older date": Predicate("admitted", "<=", "2021-03-01"),
    "day as a text": Predicate("admitted", "==", "2021-03-01"),
}


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("old & ~smoker", "A row is ill if age is at least 72.5 and smoker is not true."),
        (
            "(old & ~smoker) | sepsis",
            "A row is ill if age is at least 72.5 and smoker is not true, or if sepsis is true.",
        ),
        ("a | b | c", "A row is ill if a is true, or if b is true, or if c is true."),
        ("~old", "A row is ill if age is below 72.5 (or missing)."),
        ("older", "A row is ill if age is above 80."),
        ("~older", "A row is ill if age is at most 80 (or missing)."),
        ("young", "A row is ill if age is at most 40."),
        ("~young", "A row is ill if age is above 40 (or missing)."),
        ("child", "A row is ill if age is below 18."),
        ("~child", "A row is ill if age is at least 18 (or missing)."),
        ("sixty & ~in", "A row is ill if age is 60 and unit is not MICU."),
        ("~sixty & in", "A row is ill if age is not 60 and unit is MICU."),
        ("flag", "A row is ill if mal flag is true."),
        ("~flag", "A row is ill if mal flag is not true."),
        ("off", "A row is ill if mal flag is false."),
        ("~off", "A row is ill if mal flag is not false."),
        ("blank", 'A row is ill if unit is "".'),
        ("told & ~spaced", 'A row is ill if answer is "true" and unit is not "MICU 2".'),
        ("bare", "A row is ill if bmi is missing."),
        ("~bare & old", "A row is ill if bmi is not missing and age is at least 72.5."),
        ('"called missing"', 'A row is ill if unit is "missing".'),
        ("new", "A row is ill if admitted is 2021-03-01 or later."),
        ("~new", "A row is ill if admitted is before 2021-03-01 (or missing)."),
        ("newer", "A row is ill if admitted is after 2021-03-01T12:30."),
        ("~newer", "A row is ill if admitted is 2021-03-01T12:30 or earlier (or missing)."),
        ('"old date"', "A row is ill if admitted is before 2021-03-01."),
        ('~"old date"', "A row is ill if admitted is 2021-03-01 or later (or missing)."),
        ('"older date"', "A row is ill if admitted is 2021-03-01 or earlier."),
        ('~"older date"', "A row is ill if admitted is after 2021-03-01 (or missing)."),
        ('"day as a text"', 'A row is ill if admitted is "2021-03-01".'),
        ("True", "Every row is ill."),
        ("old | True", "Every row is ill."),
        ("False", "No row is ill."),
    ],
)
def test_how_a_formula_reads(formula: str, sentence: str) -> None:
    assert english(parse(formula), PREDICATES, head="ill") == sentence


def test_without_predicates_and_a_head() -> None:
    assert english(parse("old & ~b")) == "A row is a match if old is true and b is not true."
    assert english(Literal("a", False), head="well") == "A row is well if a is not true."
    assert english(Cube()) == "Every row is a match."
    assert english(DNF.false) == "No row is a match."


JOBS = {job: Predicate("job", "==", job) for job in ("nurse", "cook", "clerk")}
AGES = {f"age{cut}": Predicate("age", ">=", cut) for cut in (40, 60, 60.5)}
DAYS = {f"from{day}": Predicate("admitted", ">=", f"2021-{day}") for day in ("03-01", "06-01")}
MEANT = {**PREDICATES, **JOBS, **AGES, **DAYS, "no age": Predicate("age", "missing")}
WHOLE = TableFacts("died", whole=("age", "admitted"), complete=("unit",))


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("age40 & ~age60", "age from 40 to 59"),
        ('age40 & ~"age60.5"', "age from 40 to 60"),
        ("~nurse & ~cook & ~clerk", "job is neither nurse, cook nor clerk"),
        ("~nurse & age40 & ~cook", "job is neither nurse nor cook and age is at least 40"),
        ('"from03-01" & ~"from06-01"', "admitted from 2021-03-01 to 2021-05-31"),
        ("~age60", "age is below 60 (or missing)"),
        ('~age60 & ~"no age"', "age is below 60 and not missing"),
        ("~nurse & in", "job is not nurse and unit is MICU"),
        ("sixty & ~age40", "age is 60 and age is below 40"),
        ("age60 & ~age40", "age is at least 60 and age is below 40"),
    ],
)
def test_literals_of_one_column_are_one_condition(formula, words):
    assert cube_words(parse(formula).cubes[0], MEANT, WHOLE) == words


def test_without_facts_an_interval_ends_below_its_threshold():
    assert cube_words(parse("age40 & ~age60").cubes[0], MEANT) == "age from 40 to below 60"
    dates = parse('"from03-01" & ~"from06-01"').cubes[0]
    assert cube_words(dates, MEANT) == "admitted from 2021-03-01 to before 2021-06-01"
    assert cube_words(parse("~young & ~old").cubes[0], MEANT) == "age is above 40 and below 72.5 (or missing)"


@pytest.mark.parametrize("low", [">=", ">"])
@pytest.mark.parametrize("high", ["<=", "<"])
@pytest.mark.parametrize("ends", [(2, 5), (1.5, 4.5), (3, 3.5)])
def test_whole_numbers_of_an_interval_are_those_it_holds_for(low, high, ends):
    meant = {"low": Predicate("n", low, ends[0]), "high": Predicate("n", high, ends[1])}
    words = cube_words(parse("low & high").cubes[0], meant, TableFacts(whole=("n",)))
    held = [n for n in range(10) if meant["low"].holds([n])[0] and meant["high"].holds([n])[0]]
    if not held:
        assert words.count("n is") == 2
    else:
        named = [int(number) for number in re.findall(r"\d+", words)]
        assert (min(named), max(named)) == (min(held), max(held))


def test_cubes_that_differ_in_a_category_are_one_condition():
    formula = parse("(age40 & nurse) | in | (age40 & cook) | (age40 & clerk)")
    assert english(formula, MEANT, head="yes", facts=WHOLE) == (
        "died is yes if age is at least 40 and job is nurse, cook or clerk, or if unit is MICU."
    )
    apart = parse("(age40 & nurse) | (age60 & cook)")
    assert english(apart, MEANT, head="yes", facts=WHOLE).count("job is") == 2
    assert formula.n_literals == 7


def test_missing_is_named_only_where_the_column_had_gaps():
    known = TableFacts(complete=("age",))
    assert cube_words(parse("~age60").cubes[0], MEANT, known) == "age is below 60"
    assert cube_words(parse("~age60").cubes[0], MEANT) == "age is below 60 (or missing)"


@pytest.mark.parametrize("text", ["~age60", "age40 & ~age60", "~nurse", "~nurse & ~cook", "nurse", '"no age"', "in"])
def test_the_sentence_on_gaps_is_what_is_decided(text):
    cube = parse(text).cubes[0]
    (sentence,) = gap_words([DNF([cube])], MEANT)
    row = {"age": [None], "job": [None], "unit": [None]}
    holds = all(
        MEANT[literal.concept].holds(row[MEANT[literal.concept].column])[0] == literal.positive for literal in cube
    )
    assert ("satisfies none" in sentence) != holds
    unseen = {**row, "job": ["pilot"]}
    fits = _holds(cube, unseen)
    if all(MEANT[literal.concept].column == "job" for literal in cube):
        assert ("a category not seen in training" in sentence and "none of these" not in sentence) == fits


def _holds(cube, row):
    meant = [(MEANT[literal.concept], literal.positive) for literal in cube]
    return all(predicate.holds(row[predicate.column])[0] == positive for predicate, positive in meant)


def test_gaps_and_unseen_categories_are_told_apart():
    jobs = {"cook": Predicate("job", "==", "cook"), "gap": Predicate("job", "missing")}
    assert gap_words([parse("~cook & ~gap")], jobs) == [
        'A missing value satisfies none of these conditions; a category not seen in training satisfies "is not" only.'
    ]
    assert gap_words([parse("~cook")], jobs) == [
        'A missing value or a category not seen in training satisfies "is not" only.'
    ]
    assert gap_words([parse("cook")], jobs) == [
        "A missing value or a category not seen in training satisfies none of these conditions."
    ]


def test_a_known_date_has_known_parts():
    month = DatePart("month", ("seen",))
    meant = {
        "late": Predicate(month.name, ">=", 6, month),
        "gap": Predicate("seen", "missing"),
        "new": Predicate("seen", ">=", "2022-01-01"),
    }
    assert cube_words(next(iter(parse("~late & ~gap"))), meant) == "seen is from January to May and seen is not missing"
    assert "(or missing)" not in cube_words(next(iter(parse("~late & new"))), meant)
    assert cube_words(next(iter(parse("~late"))), meant) == "seen is from January to May (or missing)"
    assert gap_words([parse("~late")], meant) == ['A missing value satisfies "from January to May" only.']


def test_otherwise_of_none_of_some_is_one_of_them() -> None:
    meant = {job: Predicate("job", "==", job) for job in ("clerk", "driver")}
    rest = Complement(parse("~clerk & ~driver"))
    assert english(rest, meant, head="0", subject="flag") == "flag is 0 if job is clerk or driver."
    rest = Complement(parse("~clerk & driver"))
    told = english(rest, meant, head="0", subject="flag")
    assert told.startswith("flag is 0 otherwise, that is unless job is ")


def test_a_region_of_neither_of_two_values_says_so() -> None:
    facts = TableFacts(complete=("sex",), categories={"sex": ("man", "woman")})
    meant = {"m": Predicate("sex", "==", "man"), "w": Predicate("sex", "==", "woman")}
    neither = Cube([Literal("m", False), Literal("w", False), Literal("old")])
    assert region_words([neither], meant, facts) == ["sex is neither man nor woman and old is true"]
    assert region_words([Cube([Literal("m", False)])], meant, facts) == ["sex is woman"]
