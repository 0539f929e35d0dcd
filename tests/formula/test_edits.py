"""Edits of rules are values, conditions are read by our own parser, and every refusal is one sentence."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from logiclens.errors import LogicLensError
from logiclens.formula import DNF, Complement, Cube, Literal, Predicate, Rule, RuleId, RuleSet, parse
from logiclens.formula.condition import read_conditions
from logiclens.formula.english import TableFacts
from logiclens.formula.record import to_dict
from logiclens.formula.rules import FoundAgain

TABLE = {
    "age": [80.0, 65.0, 30.0, np.nan],
    "sepsis": [True, False, True, False],
    "unit": ["MICU", "CCU", None, "MICU"],
    "admitted": ["2024-03-02", "2024-03-04", None, "2021-01-01"],
    "left": ["2024-03-05", "2024-03-04", None, "2021-01-11"],
    "stay": np.array([3, 0, "NaT", 10], "timedelta64[D]"),
    "drunk": [1, 0, 1, 0],
}
KINDS = {
    "age": "number", "sepsis": "boolean", "unit": "text", "admitted": "date", "left": "date", "stay": "timedelta",
    "drunk": "0/1", "salt & pepper": "number", "old and grey": "boolean",
}  # fmt: skip
OLD = Predicate("age", ">=", 60.0)


def two_classes() -> RuleSet:
    died = parse('("age >= 60" & sepsis) | "unit is MICU"')
    predicates = {
        "age >= 60": OLD,
        "sepsis": Predicate("sepsis", "==", True),
        "unit is MICU": Predicate("unit", "==", "MICU"),
    }
    recurs = dict(zip(died.cubes, map(FoundAgain, (7, 5)), strict=True))
    return RuleSet(
        (Rule("died", died, (0.9, 0.8), recurs, bags=10), Rule("lived", Complement(died), (0.7,))),
        predicates,
        otherwise=1,
        facts=TableFacts("outcome", kinds=KINDS, complete=("sepsis",)),
    )


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("age >= 65", [1, 1, 0, 0]),
        ("age ≥ 65", [1, 1, 0, 0]),
        ("age < 65", [0, 0, 1, 0]),
        ("age <= 65", [0, 1, 1, 0]),
        ("not age < 65", [1, 1, 0, 1]),
        ("~(age >= 65)", [0, 0, 1, 1]),
        ("age > 65", [1, 0, 0, 0]),
        ("age == 65", [0, 1, 0, 0]),
        ("age is missing", [0, 0, 0, 1]),
        ("age is not missing", [1, 1, 1, 0]),
        ("sepsis", [1, 0, 1, 0]),
        ("not sepsis", [0, 1, 0, 1]),
        ("sepsis = no", [0, 1, 0, 1]),
        ("sepsis is true", [1, 0, 1, 0]),
        ("unit is MICU", [1, 0, 0, 1]),
        ("unit = 'MICU'", [1, 0, 0, 1]),
        ("unit != MICU", [0, 1, 1, 0]),
        ("unit is not MICU", [0, 1, 1, 0]),
        ("admitted >= 2024-03-03", [0, 1, 0, 0]),
        ("admitted < '2024-03-03'", [1, 0, 0, 1]),
        ("weekday of admitted >= 6", [1, 0, 0, 0]),
        ("days from admitted to left >= 3", [1, 0, 0, 1]),
        ("stay >= 3 days", [1, 0, 0, 1]),
        ("drunk", [1, 0, 1, 0]),
        ("drunk is 0", [0, 1, 0, 1]),
        ("age >= 60 & sepsis", [1, 0, 0, 0]),
        ("age >= 60 and not sepsis", [0, 1, 0, 0]),
        ('"age >= 60" ∧ ¬sepsis', [0, 1, 0, 0]),
    ],
)
def test_conditions_hold_where_they_say(text: str, held: list[int]) -> None:
    rules = two_classes()
    read = read_conditions(text, rules)
    meant = {**rules.predicates, **{one.literal.concept: one.predicate for one in read if one.predicate is not None}}
    columns = {name: np.array(values, object) if name in ("unit", "admitted", "left") else np.array(values)
               for name, values in TABLE.items()}  # fmt: skip
    answer = np.ones(4, bool)
    for one in read:
        answer &= meant[one.literal.concept].held_by(columns) == one.literal.positive
    assert answer.astype(int).tolist() == held


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("agee >= 3", "the rules know no column 'agee'; did you mean 'age'?"),
        ("age >= old", "'age' is compared with a number, got 'old'."),
        ("age >= nan", "'age' is compared with a number, got 'nan'."),
        ("age", "'age' is a column of numbers: compare it, such as 'age >= 1'."),
        ("unit > MICU", "'unit' holds text, compared by 'is' only, such as 'unit is …'."),
        ("unit is", "'unit' is compared with a text, got ''."),
        ("admitted is 2021-01-01", "'admitted' holds dates, compared by order only, such as 'admitted >= 2021-03-01'."),
        ("admitted >= soon", "'admitted' is compared with a date such as '2021-03-01', got 'soon'."),
        ("sepsis >= 1", "'sepsis' is true or false: write 'sepsis' or 'not sepsis', got 'sepsis >= 1'."),
        ("age >= 60 or sepsis", "a rule joins its conditions by '&', and 'age >= 60 or sepsis' has an 'or'"),
        ("age >= 60 & ", "a condition such as 'age >= 70' is needed, got ''."),
        ("", "a condition such as 'age >= 70' is needed, got ''."),
        ("sepsis & ~sepsis", "no row can satisfy all of 'sepsis & ~sepsis'."),
        ("age >= 60 & not age >= 50", "no row can satisfy all of"),
        ("unit is A & unit is B", "no row can satisfy all of"),
        (">= 60", "a condition begins with its column, such as 'age >= 70', got '>= 60'."),
        ("drunk is 2", "every value of 'drunk' is 0 or 1, got 2."),
        ("weekday of admitted >= 9", "'weekday of admitted' is a number from 1 to 7, got 9."),
        ("age >= 60 & sepsis", "that would be died#1 (\"age >= 60\" & sepsis), which is there already."),
    ],
)  # fmt: skip
def test_a_bad_condition_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    rules = two_classes()
    with pytest.raises(LogicLensError) as error:
        rules.with_rule("died", text)
    assert str(error.value).startswith(sentence)
    assert rules == two_classes()
    assert rules.history == ()


def test_names_with_signs_and_words_are_read() -> None:
    rules = two_classes()
    found = read_conditions('"salt & pepper" >= 3 & old and grey & unit is "A and B"', rules)
    assert [str(one.literal.concept) for one in found] == ["salt & pepper >= 3", "old and grey", "unit is A and B"]


def test_a_new_rule_reads_edited_by_hand() -> None:
    rules = two_classes().with_rule("died", "age >= 80", why="as guideline 7 says", who="W", when=datetime(2026, 3, 1))
    rule = rules.rule("died")
    assert rule.confidence == (0.9, 0.8, 0.0)
    assert rule.recurrence[2] == "edited by hand"
    assert rule.counts == (7, 5, None)
    assert rules.predicates["age >= 80"] == Predicate("age", ">=", 80.0)
    assert rules.groups.implied == (("age >= 60", "age >= 80"),)
    assert rules.rule("lived").formula == Complement(rule.formula)
    assert str(rules.history[0]) == 'added died: "age >= 80", because: as guideline 7 says (W, 2026-03-01T00:00:00)'
    with pytest.raises(LogicLensError, match="why must be a text, got 3"):
        rules.with_rule("died", "age >= 90", why=3)  # type: ignore[arg-type]


def test_a_rule_is_named_by_number_or_by_conditions() -> None:
    rules = two_classes()
    assert rules.rule_ids == (RuleId("died", 1), RuleId("died", 2))
    for name in (RuleId("died", 2), "died#2", "died: unit is MICU"):
        assert rules.cube(name) == Cube([Literal("unit is MICU")])
    assert rules.cube("died: sepsis & age >= 60") == rules.cube("died#1")
    for name, sentence in {
        "died#3": "'died' has no rule number 3; its rules are died#1 to died#2.",
        "dead#1": "there is no rule 'dead#1'; the rules are 'died#1', 'died#2'.",
        "lived#1": "'lived' has no rule number 1; it is every row on which no rule of 'died' fires.",
        "died: age >= 70": "'died' has no rule '\"age >= 70\"'; its rules are died#1 to died#2.",
    }.items():
        with pytest.raises(LogicLensError) as error:
            rules.cube(name)
        assert str(error.value) == sentence


def test_names_of_classes_may_differ_in_spaces_only() -> None:
    made = [Rule(name, parse(concept), (0.9,)) for name, concept in (("died", "a"), ("died ", "b"), (" died", "c"))]
    rules = RuleSet(tuple(made))
    for number, name in enumerate(rules.names):
        assert str(rules.cube(f"{name}#1")) == "abc"[number]
        assert str(rules.cube(f"{name}: {'abc'[number]}")) == "abc"[number]
    assert rules.without("died #1").rules[0].cubes
    # Where only one class can be meant, spaces do not count.
    assert str(two_classes().cube(" died # 2 ")) == '"unit is MICU"'


def test_a_class_without_rules_never_fires() -> None:
    rules = two_classes().without("died#1").without("died#1")
    assert rules.rule("died").formula == DNF.false
    assert set(rules.predict({"age": [90], "sepsis": [True], "unit": ["MICU"]})) == {"lived"}


def test_the_rest_gets_a_formula_that_decides_first() -> None:
    rules = two_classes().with_rule("lived", "age < 40")
    row = {"age": [30.0, 70.0, 30.0], "sepsis": [True, True, False], "unit": ["MICU", "MICU", "CCU"]}
    assert rules.predict(row).tolist() == ["lived", "died", "lived"]
    assert (rules.resolve, rules.order, rules.otherwise) == ("order", (1, 0), 1)
    assert rules.reorder("died", "lived").predict(row).tolist() == ["died", "died", "lived"]
    again = rules.without("lived#1")
    assert again.rule("lived").is_complement
    assert again.predict(row).tolist() == two_classes().predict(row).tolist()


def test_conditions_are_added_and_removed_and_the_last_one_stays() -> None:
    rules = two_classes().with_condition("died#2", "not sepsis & age < 90")
    assert rules.cube("died#2") == Cube([Literal("unit is MICU"), Literal("sepsis", False), Literal("age < 90")])
    assert rules.without_condition("died#2", "not sepsis").without_condition("died#2", "age < 90").cube(
        "died#2"
    ) == two_classes().cube("died#2")
    for call, sentence in (
        (lambda: rules.without_condition("died#2", "sepsis"), "has no condition 'sepsis'."),
        (lambda: two_classes().without_condition("died#2", "unit is MICU"), "would fire on every row: remove the rule"),
        (lambda: rules.with_condition("died#2", "not sepsis"), "has the condition 'not sepsis' already."),
    ):
        with pytest.raises(LogicLensError) as error:
            call()
        assert sentence in str(error.value)


def test_a_threshold_moves_everywhere_or_in_one_rule() -> None:
    rules = two_classes().with_rule("died", "age >= 60 & drunk")
    everywhere = rules.with_threshold("age >= 60", 70)
    assert [str(cube) for cube in everywhere.rule("died").cubes] == [
        '"age >= 70" & sepsis', '"unit is MICU"', '"age >= 70" & "drunk is 1"'
    ]  # fmt: skip
    assert "age >= 60" not in everywhere.predicates
    for zero in (-0.0, "-0", "-0.0", np.float64(-0.0)):
        assert "age is at least 0 and" in two_classes().with_threshold("age >= 60", zero).sentences[0]
    assert two_classes().with_rule("died", "age >= -0").predicates["age >= 0"] == Predicate("age", ">=", 0.0)
    one = rules.with_threshold("age >= 60", "70", rule="died#3")
    assert [cube.concepts[0] for cube in one.rule("died").cubes] == ["age >= 60", "unit is MICU", "age >= 70"]
    merged = two_classes().with_rule("died", "age >= 61 & sepsis").with_threshold("age >= 61", 60)
    assert len(merged.rule("died").cubes) == 2
    for value, sentence in (
        ("seventy", "'age' is compared with a number, got 'seventy'."),
        (True, "'age' is compared with a number, got True."),
        (60, "'age >= 60' has the threshold 60 already."),
        (10**400, "'age' is compared with a number, got 1000000"),
    ):
        with pytest.raises(LogicLensError) as error:
            rules.with_threshold("age >= 60", value)
        assert str(error.value)[:40] == sentence[:40]
    with pytest.raises(LogicLensError, match=r"^'age >= 60' has the threshold '60' already"):
        rules.with_threshold('"age >= 60"', "60")
    with pytest.raises(LogicLensError, match="no rule uses the condition 'age >= 65'"):
        rules.with_threshold("age >= 65", 3)
    with pytest.raises(LogicLensError, match="'sepsis' has no threshold to change"):
        rules.with_threshold("sepsis", 3)


def test_a_pinned_rule_stays_until_it_is_unpinned() -> None:
    rules = two_classes().pin("died#1", why="agreed")
    for call in (
        lambda: rules.without("died#1"),
        lambda: rules.with_condition("died#1", "drunk"),
        lambda: rules.with_threshold("age >= 60", 70),
    ):
        with pytest.raises(LogicLensError, match=r"died#1 .* is pinned and cannot be"):
            call()
    assert rules.without("died#2").rule("died").pinned == {two_classes().cube("died#1")}
    assert rules.unpin("died#1").without("died#1").rule("died").pinned == frozenset()


def test_rules_of_a_class_are_reordered_without_changing_answers() -> None:
    rules = two_classes().reorder("died#2", "died#1")
    assert rules.rule("died").confidence == (0.8, 0.9)
    assert rules.cube("died#1") == two_classes().cube("died#2")
    with pytest.raises(LogicLensError, match="the order must name each rule of one class once"):
        two_classes().reorder("died#2")
    with pytest.raises(LogicLensError, match="there is no order to change"):
        two_classes().reorder("died", "lived")


def test_edited_rules_are_read_back_as_they_were_written() -> None:
    rules = two_classes().with_rule("died", "age >= 80 & drunk", why="x").pin("died#1")
    again = RuleSet.from_dict(to_dict(rules))
    assert again == rules
    assert again.history == rules.history
    assert again.facts == rules.facts
    assert [(rule.edited, rule.pinned, rule.recurrence) for rule in again.rules] == [
        (rule.edited, rule.pinned, rule.recurrence) for rule in rules.rules
    ]


def test_rules_know_the_columns_of_a_table() -> None:
    rules = RuleSet((Rule("ill", parse("smoker"), (0.9,)),)).knowing({**TABLE, "smoker": [1, 0, 1, 0]})
    for text in ("age >= 3", "sepsis", "unit is CCU", "stay >= 2 days", "drunk", "smoker"):
        assert len(read_conditions(text, rules)) == 1


def test_a_column_without_a_value_holds_no_zeros_and_ones() -> None:
    rules = RuleSet((Rule("ill", parse("smoker"), (0.9,)),)).knowing({"gaps": np.full(3, np.nan)})
    assert rules.with_rule("ill", "gaps is 5").cube("ill#2") == Cube([Literal("gaps is 5")])


def test_rules_know_the_categories_of_a_table() -> None:
    units, wards = ["CCU", "MICU"] * 10 + ["SICU"] * 5 + ["rare"], ["A"] * 13 + ["B", None] + ["C"] * 11
    facts = TableFacts(kinds={"unit": "text"}, categories={"unit": ("CCU", "MICU")})
    rules = RuleSet((Rule("ill", parse("smoker"), (0.9,)),), facts=facts).knowing({"unit": units, "ward": wards})
    assert rules.with_rule("ill", "unit is SICU").cube("ill#2") == Cube([Literal("unit is SICU")])
    # A text of one row could name it, so that it is not remembered, nor are those of a column with such a text.
    with pytest.raises(LogicLensError, match="has 'rare' in 'unit'; its values are 'CCU', 'MICU', 'SICU'"):
        rules.with_rule("ill", "unit is rare")
    assert rules.facts.categories == {"unit": ("CCU", "MICU", "SICU")}
    common = rules.knowing({"city": ["Rome", "Oslo", None] * 5})
    with pytest.raises(LogicLensError, match="has 'Room' in 'city'; did you mean 'Rome'"):
        common.with_rule("ill", "city is Room")
    assert rules.knowing({"mixed": [1, True, None]}).facts.kinds["mixed"] == "text"


def test_a_reason_belongs_to_the_rule_that_was_edited():
    rules = RuleSet((Rule("died", parse("(a & b) | (c & d) | (a & e)"), (0.9, 0.8, 0.7)),))
    edited = rules.with_condition("died#1", "d", why="asked by the ward")
    assert {str(cube): reason for cube, reason in edited.rules[0].reasons.items()} == {"a & b & d": "asked by the ward"}
    # It stays with the rule when that changes again without a word, and goes when the rule goes.
    shorter = edited.without_condition("died#1", "b").pin("died#2", why="the law")
    assert {str(cube): reason for cube, reason in shorter.rules[0].reasons.items()} == {
        "a & d": "asked by the ward",
        "c & d": "the law",
    }
    assert set(shorter.without("died#1").rules[0].reasons.values()) == {"the law"}
    assert RuleSet.from_dict(to_dict(shorter)).rules[0].reasons == shorter.rules[0].reasons


def test_a_category_that_no_row_has_is_refused():
    facts = TableFacts(kinds={"unit": "text", "ward": "text"}, categories={"unit": ("CCU", "MICU", "SICU")})
    rules = RuleSet((Rule("ill", parse("old"), (0.9,)),), {"old": Predicate("age", ">=", 60)}, facts=facts)
    with pytest.raises(LogicLensError) as caught:
        rules.with_rule("ill", "unit is MICUU")
    assert str(caught.value) == "no row that the rules were made from has 'MICUU' in 'unit'; did you mean 'MICU'?"
    with pytest.raises(LogicLensError, match="in 'unit'; its values are 'CCU', 'MICU', 'SICU'"):
        rules.with_rule("ill", "unit is not Zzzzz")
    # Another value in a condition is held to the same.
    micu = rules.with_rule("ill", "unit is MICU")
    assert str(micu.with_threshold("unit is MICU", "CCU").cube("ill#2")) == '"unit is CCU"'
    with pytest.raises(LogicLensError) as caught:
        micu.with_threshold("unit is MICU", "SICUU")
    assert str(caught.value) == "no row that the rules were made from has 'SICUU' in 'unit'; did you mean 'SICU'?"
    # Of a column whose categories are not known, none can be refused; nor one that the rules name already.
    assert len(rules.with_rule("ill", "ward is Zzzzz").rules[0].cubes) == 2
    named = replace(rules, predicates={**rules.predicates, "far": Predicate("unit", "==", "away")})
    assert len(named.with_rule("ill", "unit is away").rules[0].cubes) == 2
