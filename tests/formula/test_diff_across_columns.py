"""What columns rule out, and concepts of two rule sets side by side: judged by raw values tried one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from logiclens.formula import DNF, Cube, Literal, Rule, RuleSet, parse
from logiclens.formula.diff import impossible, in_one_language
from logiclens.formula.predicate import Predicate

PREDICATES = (
    Predicate("age", ">=", 40), Predicate("age", ">=", 60), Predicate("age", ">", 60), Predicate("age", "<", 50),
    Predicate("age", "<=", 30), Predicate("age", "==", 60), Predicate("age", "missing"), Predicate("unit", "==", "A"),
    Predicate("unit", "==", "B"), Predicate("unit", "missing"), Predicate("seen", ">=", "2021-03-01"),
    Predicate("seen", "<", "2020-01-01"), Predicate("flag", "==", True), Predicate("flag", "missing"),
)  # fmt: skip
VALUES = {
    "age": [None, 10, 30, 35, 40, 45, 50, 55, 60, 61, 99], "unit": [None, "A", "B", "other"],
    "seen": [None, "2019-05-05", "2020-01-01", "2020-06-01", "2021-03-01", "2022-01-01"], "flag": [None, 0, 1],
}  # fmt: skip


def named(predicates) -> RuleSet:
    return RuleSet((Rule("x", DNF.true, (0.5,)),), {str(predicate): predicate for predicate in predicates})


def can_be(cube: Cube, predicates) -> bool:
    """Whether some value of each column makes the literals about it true, tried one by one."""
    for column, values in VALUES.items():
        asked = [literal for literal in cube if predicates[literal.concept].column == column]
        cells = [
            all(bool(predicates[literal.concept].holds([value])[0]) == literal.positive for literal in asked)
            for value in values
        ]
        if not any(cells):
            return False
    return True


@given(st.dictionaries(st.sampled_from(PREDICATES), st.booleans(), max_size=6), st.integers(0, 2**14 - 1))
def test_a_cube_is_impossible_where_no_value_makes_it_true(signs, split):
    cube = Cube(Literal(str(predicate), positive) for predicate, positive in signs.items())
    halves = [[p for i, p in enumerate(PREDICATES) if (split >> i & 1) == side] for side in (0, 1)]
    never = impossible(in_one_language(named(halves[0]), named(halves[1])))
    assert never(cube) == (not can_be(cube, {str(predicate): predicate for predicate in PREDICATES}))


def test_declared_groups_count_too():
    rules = RuleSet((Rule("x", parse("a & b"), (0.5,)),))
    grouped = replace(rules, groups=type(rules.groups)([["a", "b"]]))
    cube = Cube([Literal("a"), Literal("b")])
    assert not impossible([rules])(cube)
    assert impossible([rules, grouped])(cube)


def test_a_column_of_dates_and_of_numbers_excludes_nothing():
    never = impossible([named([Predicate("when", ">=", "2021-01-01")]), named([Predicate("when", ">=", 3)])])
    for signs in product([True, False], repeat=2):
        names = ("when >= 2021-01-01", "when >= 3")
        assert not never(Cube(Literal(name, sign) for name, sign in zip(names, signs, strict=True)))


@given(st.permutations(["a", "b", "c", "d"]), st.lists(st.sampled_from(PREDICATES[:6]), min_size=4, max_size=4))
def test_a_common_language_keeps_meanings_and_makes_names_unique(names, meant):
    first = RuleSet((Rule("x", parse("a | (b & ~c)"), (0.5, 0.6)),), dict(zip("abc", PREDICATES[:3], strict=True)))
    second = RuleSet((Rule("x", parse("(a & ~b) | c | d"), (0.5, 0.6, 0.7)),), dict(zip(names, meant, strict=True)))
    old, new = in_one_language(first, second)
    table = {"age": VALUES["age"]}
    assert old.fires(table).tolist() == first.fires(table).tolist()
    assert new.fires(table).tolist() == second.fires(table).tolist()
    for concept in set(old.concepts) & set(new.concepts):
        assert old.predicate(concept) == new.predicate(concept)
    shared = {old.predicate(c) for c in old.concepts} & {new.predicate(c) for c in new.concepts}
    for predicate in shared:
        assert {c for c in old.concepts if old.predicate(c) == predicate} & set(new.concepts)


def test_a_name_with_another_meaning_is_replaced_by_its_meaning():
    first, second = (
        RuleSet((Rule("x", parse("old"), (0.5,)),), {"old": Predicate("age", ">=", cut)}) for cut in (60, 70)
    )
    assert str(in_one_language(first, second)[1].formulas[0]) == '"age >= 70"'
