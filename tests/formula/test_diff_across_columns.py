"""What columns rule out, and concepts of two rule sets side by side: judged by raw values tried one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from logiclens.formula import DNF, Cube, Literal, Rule, RuleSet, parse
from logiclens.formula.diff import impossible, in_one_language, regions
from logiclens.formula.predicate import Predicate
from tests.examples import examples
from tests.oracles.brute_force import holds
from tests.rulesets import concepts_of, every_raw_row, rule_sets

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


@examples(60)
@given(rule_sets(with_groups=False), rule_sets(with_groups=False), st.randoms(use_true_random=False))
def test_regions_hold_exactly_where_rules_fire_differently(first, second, choice):
    old, new = in_one_language(first, second)
    sides = list(zip(old.rules, new.rules, strict=False))
    found = [rule.formula.diff(other.formula) for rule, other in sides]
    told = [[regions(one, [old, new]) for one in (diff.gained, diff.lost)] for diff in found]
    both = replace(old, predicates={**new.predicates, **old.predicates})
    for raw in choice.sample(list(every_raw_row(("dose", "admitted", "unit", "flag", "a"))), 300):
        row = concepts_of(both, raw)
        for (rule, other), (gained, lost) in zip(sides, told, strict=True):
            then, now = holds(rule.formula, row), holds(other.formula, row)
            assert (holds(gained, row), holds(lost, row)) == (now and not then, then and not now)


@examples(60)
@given(rule_sets(with_groups=False), rule_sets(with_groups=False))
def test_no_region_lies_within_the_others(first, second):
    old, new = in_one_language(first, second)
    within = impossible([old, new])
    found = old.rules[0].formula.diff(new.rules[0].formula)
    for told in (regions(one, [old, new]) for one in (found.gained, found.lost)):
        for cube in told:
            for other in told:
                outside = [Cube([*cube.without(literal), literal.negated]) for literal in other]
                assert cube == other or not all(
                    literal.negated not in cube and within(one) for literal, one in zip(other, outside, strict=True)
                )
