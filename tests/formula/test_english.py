"""English: the text of formulas, negations and missing values."""

from __future__ import annotations

import pytest

from logiclens.formula import DNF, Cube, Literal, parse
from logiclens.formula.english import english
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
