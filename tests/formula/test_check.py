"""Properties of formulas and their counterexamples, compared with a check of every possible row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from logiclens.errors import FormulaSyntaxError, LogicLensError
from logiclens.formula import DNF, Complement, Cube, Literal, parse
from logiclens.formula.check import (
    Implies,
    Monotone,
    NeverUses,
    implies,
    monotone_in,
    never_both,
    never_uses,
    parse_property,
)
from logiclens.formula.english import TableFacts
from logiclens.formula.groups import Groups
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from tests.examples import examples
from tests.oracles.brute_force import holds
from tests.rulesets import BARE, VALUES, Row, broken, concepts_of, every_raw_row, may_be_missing, rule_sets
from tests.strategies import CONCEPTS, cubes, dnfs

INCOME = {"rich": Predicate("income", ">=", 50), "poor": Predicate("income", "<", 20)}


Made = dict[str, bool]


def possible_rows(rules: RuleSet) -> list[tuple[Row, Made]]:
    """The raw rows that the groups allow, with their concepts; where the rules ask, a value may be missing."""
    rows = [(row, concepts_of(rules, row)) for row in every_raw_row(may_be_missing(rules))]
    return [(row, made) for row, made in rows if not any(broken(rules.groups, made))]


def pairs(rows: list[tuple[Row, Made]], column: str, *, missing: bool = False) -> Iterator[tuple[Made, Made]]:
    """The concepts of any two of the rows that differ in one column only, the lower first; with `missing` that too."""
    by_rest: dict[tuple[object, ...], list[tuple[Row, Made]]] = {}
    for row, made in rows:
        by_rest.setdefault(tuple(row[name] for name in VALUES if name != column), []).append((row, made))
    for alike in by_rest.values():
        order = [(None if row[column] is None else VALUES[column].index(row[column]), made) for row, made in alike]
        known = [(place, made) for place, made in order if place is not None]
        yield from ((low, high) for (i, low), (j, high) in product(known, known) if i < j)
        if missing:
            yield from ((none, some) for place, none in order if place is None for _, some in known)


@examples(50)
@given(rule_sets(), st.sampled_from(["dose", "admitted", "flag", *BARE]), st.booleans())
def test_monotone_is_what_every_pair_of_rows_says(rules: RuleSet, column: str, increasing: bool) -> None:
    rows = possible_rows(rules)
    assume(rows)
    result = rules.check(monotone_in(column, increasing=increasing))
    for rule, part in zip(rules.rules, result.classes, strict=True):
        answers = [(holds(rule.formula, low), holds(rule.formula, high)) for low, high in pairs(rows, column)]
        assert part.holds == (((True, False) if increasing else (False, True)) not in answers)
        assert part.label == rule.label
        if part.counterexample:
            assert part.counterexample.answers == (True, False)
            there = [pair if increasing else pair[::-1] for pair in pairs(rows, column)]
            assert_shown(rule.formula, part.counterexample.rows, there)
        else:
            assert part.holds
    assert result.holds == all(part.holds for part in result.classes)


def written(rule: Rule) -> DNF:
    """The cubes that are written for a class: of a complement those of the formula that it refers to."""
    return rule.formula.of if isinstance(rule.formula, Complement) else rule.formula


def assert_shown(formula: DNF | Complement, shown: tuple[Made, ...], pairs_there_are: list[tuple[Made, Made]]) -> None:
    """The counterexample is one of the pairs there are, as far as the formula looks."""
    seen = [tuple({name: made[name] for name in formula.concepts} for made in pair) for pair in pairs_there_are]
    assert shown in seen
    assert [holds(formula, row) for row in shown] == [True, False]


@examples(50)
@given(rule_sets(), st.sampled_from(list(VALUES)))
def test_a_column_is_used_where_a_cube_mentions_it(rules: RuleSet, column: str) -> None:
    rows = possible_rows(rules)
    assume(rows)
    result = rules.check(never_uses(column))
    for rule, part in zip(rules.rules, result.classes, strict=True):
        about = {name for name in rule.formula.concepts if rules.predicate(name).column == column}
        assert part.holds == (not about)
        if part.holds:
            assert part.reason.startswith(f"no rule mentions '{column}'")
            continue
        shown = part.counterexample
        assert shown is not None
        assert set(shown.cubes) == {cube for cube in written(rule) if about & set(cube.concepts)}
        there = [*pairs(rows, column, missing=True)]
        matters = any(holds(rule.formula, low) != holds(rule.formula, high) for low, high in there)
        assert bool(shown.rows) == matters
        assert ("never matters" in part.reason) == (not matters)
        if matters:
            assert_shown(rule.formula, shown.rows, there + [pair[::-1] for pair in there])


@examples(50)
@given(rule_sets(), st.data())
def test_implication_is_what_every_row_says(rules: RuleSet, data: st.DataObject) -> None:
    rows = possible_rows(rules)
    assume(rows)
    known = list(dict.fromkeys([*rules.predicates, *rules.concepts]))
    assume(known)
    other = data.draw(dnfs(known, max_cubes=3))
    for rule, part in zip(rules.rules, rules.check(implies(other)).classes, strict=True):
        against = [row for _, row in rows if holds(rule.formula, row) and not holds(other, row)]
        assert part.holds == (not against)
        if part.counterexample:
            (shown,) = part.counterexample.rows
            assert any(shown.items() <= row.items() for row in against)
            assert set(part.counterexample.cubes) == {cube for cube in rule.cubes if holds(DNF([cube]), shown)}


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ("age >= 50", True),
        ("age >= 60", True),
        ("age < 61", False),
        ("age >= 70", False),
        ('~"age < 50"', True),
        ('"age >= 70" | "age < 70"', True),
        ('"unit is A" | ~"unit is A"', True),
    ],
)
def test_what_rules_do_not_mention_is_read_as_a_condition(wanted, holds):
    rules = RuleSet(
        (Rule("yes", parse("old"), (0.9,)),),
        {"old": Predicate("age", ">=", 60)},
        facts=TableFacts(kinds={"age": "number", "unit": "text"}, categories={"unit": ("A", "B", "C")}),
    )
    found = rules.check(f'implies "{wanted}"' if '"' not in wanted else f"implies {wanted}")
    assert found.holds == holds
    for row in () if found.counterexample is None else found.counterexample.rows:
        # The row that is shown is one that there can be.
        assert not (row["old"] and row.get("age >= 50") is False)


def test_an_unknown_name_is_no_counterexample():
    rules = RuleSet((Rule("yes", parse("old"), (0.9,)),), {"old": Predicate("age", ">=", 60)})
    with pytest.raises(LogicLensError, match=r"the rules know no column 'agge'; did you mean 'age'\?"):
        rules.check('implies "agge >= 50"')
    with pytest.raises(LogicLensError, match="the rules know no column 'cancer'; the columns are 'age'"):
        rules.check("implies cancer")


def test_a_broken_formula_is_named_with_the_property():
    # "column 7" alone would be taken for a column of the table.
    with pytest.raises(
        LogicLensError, match=r"^cannot read the formula 'old & \(' after 'implies': column 8: expected"
    ):
        parse_property("implies old & (")


@examples(50)
@given(rule_sets(), st.data())
def test_a_single_concept_of_a_column_can_be_asked_about(rules: RuleSet, data: st.DataObject) -> None:
    rows = possible_rows(rules)
    assume(rows and rules.predicates)
    concept = data.draw(st.sampled_from(list(rules.predicates)))
    column = rules.predicates[concept].column
    rising = rules.check(monotone_in(concept))
    for rule, part in zip(rules.rules, rising.classes, strict=True):
        turned = False
        for pair in pairs(rows, column, missing=True):
            low, high = sorted(pair, key=lambda made: made[concept])
            if low[concept] != high[concept] and concept in rule.formula.concepts:
                turned = turned or (holds(rule.formula, low) and not holds(rule.formula, high))
        assert part.holds == (not turned)
    mentioned = [concept in rule.formula.concepts for rule in rules.rules]
    assert [part.holds for part in rules.check(never_uses(concept)).classes] == [not used for used in mentioned]


def test_rows_that_show_a_use_differ_in_that_concept() -> None:
    rules = RuleSet(
        (Rule("yes", parse("~five | nine"), (0.5, 0.5)),),
        {"five": Predicate("x", ">=", 5), "nine": Predicate("x", ">=", 9)},
    )
    for concept, told in (
        ("five", "it holds if x is below 5, and fails if x from 5 to below 9"),
        ("nine", "it holds if x is at least 9, and fails if x from 5 to below 9"),
    ):
        shown = rules.check(never_uses(concept)).counterexample
        assert shown is not None
        assert shown.told == told
        assert shown.rows[0][concept] != shown.rows[1][concept]


@given(dnfs(), st.sampled_from(CONCEPTS), st.booleans())
def test_a_formula_by_itself_is_checked_over_its_concepts(formula: DNF, concept: str, increasing: bool) -> None:
    low, high = formula.given({concept: False}), formula.given({concept: True})
    assert formula.check(monotone_in(concept, increasing)).holds == (low if increasing else high).implies(
        high if increasing else low
    )
    assert formula.check(never_uses(concept)).holds == (concept not in formula.concepts)


@given(dnfs(), st.dictionaries(st.sampled_from(CONCEPTS), st.booleans()))
def test_given_restricts_the_formula_to_the_given_rows(formula: DNF, known: dict[str, bool]) -> None:
    left = formula.given(known)
    assert not set(known) & set(left.concepts)
    for cells in product((False, True), repeat=len(CONCEPTS)):
        row = {**dict(zip(CONCEPTS, cells, strict=True)), **known}
        assert holds(left, row) == holds(formula, row)


def test_groups_take_rows_away_from_a_formula() -> None:
    formula = parse("a & ~b")
    assert not formula.check("increasing in 'b'").holds
    # Where a is true b cannot be, so that b never turns anything.
    assert formula.check("increasing in 'b'", groups=Groups([["a", "b"]])).holds
    result = formula.check("never uses 'b'", groups=Groups([["a", "b"]]))
    assert not result.holds
    assert "'b' is in (a & ~b), but never matters" in result.reason


def test_the_result_reads_as_sentences() -> None:
    rules = RuleSet((Rule("yes", parse("rich & ~old"), (0.9,)), Rule("no", parse("poor"), (0.9,))), INCOME)
    assert str(rules.check("monotone in 'income'")) == (
        "increasing in 'income': no, 1 of 2 classes fails\n"
        "  the class is no: it holds if income is below 20, and fails if income is at least 20"
    )
    assert str(rules.check("monotone in 'income'", of="yes")) == (
        "increasing in 'income': yes, where it holds, it still holds where 'income' is higher"
    )
    assert str(rules.check("never uses 'old'")) == (
        "never uses 'old': no, 1 of 2 classes fails\n"
        "  the class is yes: 'old' is in (rich & ~old): "
        "where income is at least 50, it holds if old is not true, and fails if old is true"
    )
    assert str(rules.check("implies rich | poor")) == "implies rich | poor: yes, it does on every possible row"
    assert rules.check("implies poor").classes[0].reason == (
        "it fires where income is at least 50 and old is not true, and poor does not hold there"
    )
    assert rules.check("decreasing in 'old'").reason == "all 2 classes have it"


def test_classes_called_yes_and_no_are_told_with_the_target() -> None:
    meant = {"a": Predicate("age", ">=", 40), "b": Predicate("age", ">=", 60), "m": Predicate("sex", "==", "man")}
    yes = parse("a & ~b & m")
    rules = RuleSet(
        (Rule("yes", yes, (0.9,)), Rule("no", Complement(yes), (0.9,))),
        meant, otherwise=1, facts=TableFacts("died", whole=("age",), complete=("age", "sex")),
    )  # fmt: skip
    assert str(rules.check("increasing in 'age'")) == (
        "increasing in 'age': no, 2 of 2 classes fail\n"
        "  died is yes: where sex is man, it holds if age from 40 to 59, and fails if age is at least 60\n"
        "  died is no: where sex is man, it holds if age is below 40, and fails if age from 40 to 59"
    )
    # Judged by the rules: every age that is named gets what is said of it.
    ages = range(100)
    told = ["yes" if 40 <= age <= 59 else "no" for age in ages]
    assert rules.predict({"age": list(ages), "sex": ["man"] * 100}).tolist() == told


def test_a_slip_in_a_name_is_pointed_out() -> None:
    rules = RuleSet((Rule("yes", parse("rich & gender"), (0.9,)),), INCOME)
    assert rules.check("never uses 'gendr'").reason == "no rule mentions 'gendr'; did you mean 'gender'?"
    assert rules.check("never uses 'zip'").reason == "no rule mentions 'zip'"
    assert rules.check("never uses 'poor'").reason == "no rule mentions 'poor'"


def test_texts_have_no_order() -> None:
    rules = RuleSet((Rule("yes", parse("micu"), (0.9,)),), {"micu": Predicate("unit", "==", "MICU")})
    with pytest.raises(LogicLensError) as error:
        rules.check("decreasing in 'unit'")
    said, _, example = str(error.value).partition("such as ")
    assert said == "'unit' is compared with texts, which have no order: name a condition of the rules, "
    assert example == "\"decreasing in 'micu'\"."
    assert not rules.check(example.strip('".')).holds
    assert rules.check("monotone in 'micu'").holds
    assert not rules.check("decreasing in 'micu'").holds
    assert rules.check("never uses 'unit'").classes[0].counterexample.told == (
        "it holds if unit is MICU, and fails if unit is not MICU"
    )


DATED = {
    "bare": Predicate("bmi", "missing"),
    "heavy": Predicate("bmi", ">=", 30),
    "light": Predicate("bmi", "<", 30),
    "new": Predicate("on", ">=", "2021-03-01"),
    "newer": Predicate("on", ">", "2021-06-15T12:30"),
}


def dated(formula: str, groups: Groups | None = None) -> RuleSet:
    parsed = parse(formula)
    return RuleSet((Rule("yes", parsed, (0.5,) * len(parsed)),), DATED, groups or Groups())


def test_a_column_of_dates_has_an_order() -> None:
    assert dated("new | newer").check("increasing in 'on'").holds
    assert dated("~new").check("decreasing in 'on'").holds
    assert dated("new & ~newer").check("increasing in 'on'").classes[0].reason == (
        "it holds if on from 2021-03-01 to 2021-06-15 12:30, and fails if on is after 2021-06-15 12:30"
    )
    assert dated("newer").check("implies new").holds
    assert dated("new").check("implies newer").classes[0].reason == (
        "it fires where on from 2021-03-01 to 2021-06-15 12:30, and newer does not hold there"
    )


def test_a_missing_value_shows_the_use_of_a_column() -> None:
    assert dated("bare").check("never uses 'bmi'").classes[0].counterexample.told == (
        "it holds if bmi is missing, and fails if bmi is not missing"
    )
    assert dated("heavy | light").check("never uses 'bmi'").classes[0].counterexample.told == (
        "it holds if bmi is below 30, and fails if bmi is missing"
    )
    assert dated("bare & new").check("never uses 'on'").classes[0].counterexample.told == (
        "where bmi is missing, it holds if on is 2021-03-01 or later, and fails if on is before 2021-03-01"
    )
    # A missing value is none that another could be raised from.
    assert dated("bare").check("increasing in 'bmi'").holds
    assert dated("bare | heavy").check("increasing in 'bmi'").holds
    assert not dated("bare & new").check("decreasing in 'bare'").holds
    assert dated("bare & new").check("increasing in 'bare'").holds


def test_a_missing_other_column_is_said_to_be_missing() -> None:
    """No value of it makes the row: the flag asks that there be none, though no formula looks at that."""
    rules = dated("new & ~heavy & flag", Groups(implied=[["bare", "flag"]]))
    assert rules.check("decreasing in 'new'").classes[0].reason == (
        "where bmi is missing and flag is true, "
        "it holds if on is 2021-03-01 or later, and fails if on is before 2021-03-01"
    )
    assert rules.check("implies heavy").classes[0].reason == (
        "it fires where on is 2021-03-01 or later and bmi is missing and flag is true, and heavy does not hold there"
    )


def test_texts_and_dates_of_one_column_have_no_order() -> None:
    meaning = {"new": Predicate("on", ">=", "2021-03-01"), "text": Predicate("on", "==", "2021-03-01")}
    rules = RuleSet((Rule("yes", parse("new & ~text"), (0.9,)),), meaning)
    with pytest.raises(LogicLensError, match="'on' is compared with texts, which have no order: name a condition"):
        rules.check("monotone in 'on'")
    assert RuleSet((Rule("yes", parse("text"), (0.9,)),), meaning).check("implies new").holds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("never uses 'gender'", NeverUses("gender")),
        ('never uses "the age >= 60"', NeverUses("the age >= 60")),
        ("never uses gender", NeverUses("gender")),
        ("never uses 'it's'", NeverUses("it's")),
        ("monotone in 'income'", Monotone("income")),
        ("  increasing in   'income' ", Monotone("income")),
        ("decreasing in 'income'", Monotone("income", increasing=False)),
        ("implies a & ~b", Implies(parse("a & ~b"))),
    ],
)
def test_properties_are_read_from_text(text: str, expected: object) -> None:
    assert parse_property(text) == expected
    assert parse_property(str(expected)) == expected


@pytest.mark.parametrize(
    "text", ["", "uses 'x'", "never uses", "never uses 'x", "monotone 'x'", "never uses a b", "implies"]
)
def test_a_text_that_is_no_property_gets_the_forms(text: str) -> None:
    with pytest.raises(
        LogicLensError, match=re.escape(f"cannot read the property {text!r}: write \"never uses 'x'\"")
    ) as e:
        DNF.true.check(text)
    for form in ("monotone in 'x'", "increasing in 'x'", "decreasing in 'x'", "implies a & ~b"):
        assert form in str(e.value)


def test_what_is_no_property_is_refused() -> None:
    with pytest.raises(LogicLensError, match=r"expected a property such as never_uses\('gender'\), got int"):
        DNF.true.check(3)  # type: ignore[arg-type]
    with pytest.raises(FormulaSyntaxError):
        DNF.true.check("implies a &")
    with pytest.raises(LogicLensError, match="there is no class 'maybe'"):
        RuleSet((Rule("yes", DNF.true, (0.5,)),)).check("never uses 'a'", of="maybe")


@given(st.lists(cubes([f"c{j}" for j in range(40)]).filter(len), min_size=30, max_size=30))
@examples(5)
def test_hundreds_of_literals_are_decided(drawn: list[Cube]) -> None:
    long = DNF([*drawn, *(Cube([Literal(f"c{j}"), Literal(f"c{j + 1}", False)]) for j in range(0, 40, 2))])
    result = long.check("increasing in 'c1'")
    low, high = long.given({"c1": False}), long.given({"c1": True})
    assert result.holds == low.implies(high)


def test_never_both_is_decided_over_all_possible_rows() -> None:
    def of(low: float, high: float) -> RuleSet:
        predicates = {"low": Predicate("age", ">=", low), "high": Predicate("age", ">=", high)}
        return RuleSet((Rule("old", parse("high"), (0.9,)), Rule("young", parse("~low"), (0.8,))), predicates)

    for low, high in ((50.0, 60.0), (60.0, 50.0), (60.0, 60.0)):
        rules = of(low, high)
        # Every place relative to the cuts, and a missing age, which is above no cut.
        ages = {"age": [40.0, 50.0, 55.0, 60.0, 70.0, math.nan]}
        both = rules.fires(ages).all(axis=1)
        result = rules.check("never both")
        assert result.holds == (not both.any())
        assert rules.check(never_both("old", "young")).holds == result.holds
        if not result.holds:
            assert re.fullmatch("the rules of old and of young fire where age from 50 to below 60", result.reason)
            assert result.counterexample is not None
            assert rules.fires(PackedRows.of(*_packed_row(result.counterexample.rows[0]))).all()


def _packed_row(row: Mapping[str, bool]) -> tuple[Any, tuple[str, ...]]:
    return np.array([list(row.values())]), tuple(row)


def test_never_both_names_two_classes_of_a_rule_set() -> None:
    rules = RuleSet((Rule("a", DNF.true, (0.9,)), Rule("b", parse("x"), (0.8,)), Rule("c", parse("~x"), (0.8,))))
    assert rules.check("never both 'b' and 'c'").holds
    assert rules.check("never both a and b").reason == "the rules of a and of b fire where x is true"
    for wanted, message in (
        (never_both("a"), "two different classes"),
        ("never both 'a' and 'd'", "there is no class 'd'"),
    ):
        with pytest.raises(LogicLensError, match=message):
            rules.check(wanted)
    with pytest.raises(LogicLensError, match=r"leave out of= \(--of\)"):
        rules.check("never both", of="a")
    with pytest.raises(LogicLensError, match="ask the rule set"):
        parse("x").check("never both")
