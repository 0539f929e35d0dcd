"""Knowledge: how it is read, what contradicts itself, and what one condition says about another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens import ClassKnowledge, Knowledge, read_knowledge
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import Complement
from logiclens.formula.knowledge import TableColumns, implies_condition, prove, words_of
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.text import parse
from tests.examples import examples

KINDS = {"age": "number", "unit": "text", "sepsis": "boolean", "admitted": "date", "flag": "number"}
TWO = TableColumns(KINDS, frozenset(), frozenset({"flag"}), ("died", "lived"))
THREE = TableColumns(KINDS, frozenset(), frozenset({"flag"}), ("a", "b", "c"))
GRID = {"age": [None, 1, 2, 3, 4, 5, 6, 7], "unit": [None, "A", "B", "C"], "flag": [None, -1, 0, 1, 2]}


def of(**known):
    return Knowledge(classes={"died": ClassKnowledge(**known)})


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        (lambda: Knowledge(forbidden_columns=["agee"]), "has no column 'agee'.*did you mean 'age'"),
        (lambda: of(increasing=["unit"]), "'unit' holds categories, which have no order"),
        (lambda: of(forbidden_columns=["age"]), "forbids for one of two classes"),
        (lambda: of(forbidden=["age >= 70"]), "forbids for one of two classes"),
        (lambda: Knowledge(forbidden_columns=["age"], preferred_columns=["age"]), "leave it out of one"),
        (lambda: Knowledge(late_columns=["age"], forbidden=["age >= 3"]), "leave it out of one"),
        (lambda: of(required_conditions=["age >= 70"], decreasing=["age"]), "contradicts the direction of 'age'"),
        (lambda: of(increasing=["age"], decreasing=["age"]), "leave it out of one, or forbid it"),
        (lambda: of(required_rules=["sepsis"], required_conditions=["age >= 9"]), "lacks the required condition"),
        (lambda: of(required_rules=["age >= 9 & age < 3"]), "can never hold"),
        (lambda: of(required_conditions=["age > 9"]), "compares by '>'"),
        (lambda: of(required_conditions=["age >= old"]), "'old' is none"),
        (lambda: of(required_conditions=["age is 7"]), "which holds numbers: write age >= 70"),
        (lambda: of(required_conditions=["sepsis & age >= 3"]), "write its conditions as two entries"),
        (lambda: of(required_conditions=["sepsis >= 3"]), "write sepsis or not sepsis"),
        (lambda: of(required_conditions=["unit >= 3"]), "write unit is 3"),
        (lambda: of(miss=-1), "miss must be a cost above 0"),
        (lambda: Knowledge(forbidden="age >= 3"), "forbidden must be a list of texts"),
        (lambda: Knowledge(classes={"dead": ClassKnowledge(miss=2)}), "is no class of the target"),
        (
            lambda: Knowledge(forbidden=["age >= 60"], classes={"died": ClassKnowledge(required_rules=["age >= 70"])}),
            "implies 'age >= 60', which is forbidden",
        ),
        (
            lambda: Knowledge(classes={n: ClassKnowledge(increasing=["age"]) for n in ("died", "lived")}),
            "what one gains the other loses",
        ),
        (
            lambda: Knowledge(classes={n: ClassKnowledge(required_rules=["sepsis"]) for n in ("died", "lived")}),
            "rules are required of both",
        ),
        (lambda: Knowledge(classes={n: ClassKnowledge(miss=2) for n in ("died", "lived")}), "both of two classes have"),
    ],
)
def test_contradictions_get_one_sentence(known, sentence):
    with pytest.raises(LogicLensError, match=sentence) as caught:
        known().bound_to(TWO)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        (Knowledge(forbidden=["unit is Micu"]), r"k.toml: forbidden=\['unit is Micu'\]: .*'MICU', 'SICU' and 'CCU'"),
        (of(required_conditions=["unit is not MICCU"]), r"k.toml: classes.died.required_conditions=.*are 'MICU'"),
        (of(required_rules=["age >= 3 & unit is CC"]), r"classes.died.required_rules=.* are 'CCU'"),
        (Knowledge(forbidden=["flag"]), r"k.toml: forbidden=\['flag'\]: .*such as flag is 1\."),
        (
            of(required_conditions=["age >= x"]),
            r"k.toml: classes.died.required_conditions=\['age >= x'\]: .*'x' is none",
        ),
        (of(increasing=["agee"]), "classes.died.increasing of k.toml names; did you mean 'age'"),
        (of(increasing=["unit"]), "k.toml: 'unit' holds categories"),
        (of(required_rules=["age >= 9 & age < 3"]), "k.toml: the rule 'age >= 9 & age < 3' can never hold"),
        (Knowledge(classes={n: ClassKnowledge(miss=2) for n in ("died", "lived")}), "k.toml: both of two classes"),
    ],
)
def test_a_condition_that_does_not_fit_names_its_place(known, sentence):
    table = replace(TWO, categories={"unit": ("CCU", "MICU", "SICU")})
    with pytest.raises(LogicLensError, match=sentence):
        replace(known, source="k.toml").bound_to(table)


def test_a_category_is_found_whatever_its_spaces():
    table = replace(TWO, categories={"unit": ("MICU  ", "A  B")})
    assert table.meant("unit is MICU & unit is not A B") == (
        (Predicate("unit", "==", "MICU  "), True),
        (Predicate("unit", "==", "A  B"), False),
    )


def test_a_file_of_knowledge_names_class_and_entry(tmp_path):
    file = tmp_path / "k.toml"
    file.write_text("[classes.died]\nforbidden = ['age > 3']")
    with pytest.raises(LogicLensError, match=r"k\.toml'?: classes\.died\.forbidden=\['age > 3'\]: .*compares by"):
        read_knowledge(file)
    file.write_text("source = 'x'")
    with pytest.raises(LogicLensError, match="unknown key 'source'"):
        read_knowledge(file)
    file.write_text("forbidden = ['age >= 3']")
    assert read_knowledge(file) == Knowledge(forbidden=["age >= 3"])
    assert "source" not in read_knowledge(file).to_dict()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("forbiden = ['a']", "unknown key 'forbiden'; did you mean 'forbidden'"),
        ("[classes.died]\nincresing = ['age']", "'classes.died.incresing'; did you mean 'increasing'"),
        ("forbidden = 3", "'forbidden' of .* must be a list"),
        ("[classes.died]\nmiss = 'much'", "'classes.died.miss' of .* must be a finite number"),
        ("classes = 3", "must be an object"),
        ("forbidden = [", "is no TOML file"),
        ("forbidden = ['age > 3']", "compares by '>'"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path, text, sentence):
    file = tmp_path / "known.toml"
    file.write_text(text)
    with pytest.raises(LogicLensError, match=sentence) as caught:
        read_knowledge(file)
    assert "known.toml" in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(LogicLensError, match="cannot be read"):
        read_knowledge(tmp_path / "none.toml")


def test_knowledge_survives_its_dictionary():
    known = Knowledge(("a",), ("b",), ("c",), ("d",), ("e >= 3",), {"x": ClassKnowledge(increasing=("f",), miss=2)})
    assert Knowledge.from_dict(known.to_dict()) == known


values = st.sampled_from([Predicate("age", ">=", t) for t in (2, 4, 6)] + [Predicate("age", "missing")]
                         + [Predicate("unit", "==", c) for c in "AB"] + [Predicate("unit", "missing")]
                         + [Predicate("flag", "==", 1), Predicate("flag", "==", 0), Predicate("flag", ">=", 1)]
                         )  # fmt: skip


@examples(300)
@given(values, st.booleans(), values, st.booleans())
def test_implication_is_that_of_all_values(one, holds, other, must):
    """The judge evaluates both conditions on a grid of raw values, with a gap and a category that nobody named."""
    claimed = implies_condition((one, holds), (other, must))
    if one.column != other.column:
        assert not claimed
        return
    cells = GRID[one.column]
    first, second = (p.holds(cells) for p in (one, other))
    assert claimed == all(b == must for a, b in zip(first, second, strict=True) if a == holds)


def test_conditions_are_written_as_they_are_read():
    for text in ("age >= 70", "age < 70", "unit is MICU", "unit is not MICU", "unit is missing", "not sepsis"):
        assert words_of(TWO.meant(text)) == text


def test_proofs_fail_for_rules_that_break_knowledge():
    meant = {"old": Predicate("age", ">=", 75), "young": Predicate("age", ">=", 20)}
    rules = RuleSet(
        tuple(Rule(n, parse(f), (0.9,)) for n, f in (("a", "old & sepsis"), ("b", "~young"), ("c", "old"))),
        {**meant, "sepsis": Predicate("sepsis", "==", True)},
    )
    required = ClassKnowledge(
        increasing=("age",), required_conditions=("age >= 80",), required_rules=("age >= 90 & flag is 1",)
    )
    broken = prove(rules, Knowledge(classes={"a": required}).bound_to(THREE))
    assert [proof.holds for proof in broken] == [False, False, False]
    assert str(broken[0]) == (
        "every rule of a implies age >= 80: no, the rule age >= 75 & sepsis does not: "
        "it fires where age from 75 to below 80 and sepsis is true, and age >= 80 does not hold there"
    )
    forbidden = Knowledge(forbidden=("age >= 70",), classes={"c": ClassKnowledge(forbidden_columns=("age",))})
    assert [proof.holds for proof in prove(rules, forbidden.bound_to(THREE))] == [False, False]
    kept = Knowledge(forbidden=("age >= 80",), classes={"b": ClassKnowledge(decreasing=("age",))})
    assert [proof.holds for proof in prove(rules, kept.bound_to(THREE))] == [True, True]


def test_a_direction_counts_each_rule_where_trust_decides():
    """The formula of a keeps its rows, but its trusted rule is lost above lactate 2, and b's rule is trusted more."""
    rules = RuleSet(
        (
            Rule("a", parse("(high) | (~higher & old)"), (0.33, 0.8)),
            Rule("b", parse("older"), (0.5,)),
            Rule("c", parse("False"), ()),
        ),
        {
            "high": Predicate("lactate", ">=", 1),
            "higher": Predicate("lactate", ">=", 2),
            "old": Predicate("age", ">=", 80),
            "older": Predicate("age", ">=", 60),
        },
        resolve="confidence",
        otherwise=2,
    )
    rows = {"lactate": [1.5, 3.0], "age": [85, 85]}
    assert list(rules.predict(rows)) == ["a", "b"]
    kinds = {"age": "number", "lactate": "number"}
    table = TableColumns(kinds, frozenset(), frozenset(), ("a", "b", "c"))
    known = Knowledge(classes={"a": ClassKnowledge(increasing=["lactate"])}).bound_to(table)
    (proof,) = prove(rules, known)
    assert not proof.holds
    assert "the rule of a, lactate < 2 & age >= 80, loses rows" in proof.reason
    (kept,) = prove(replace(rules, resolve="order", order=(0, 1, 2)), known)
    assert kept.holds


def test_the_other_of_two_values_is_said_by_not_one():
    table = replace(TWO, kinds={**KINDS, "sex": "text"}, categories={"sex": ("f", "m")}, pairs={"sex": ("f", "m")})
    known = Knowledge(forbidden=["sex is m"])
    with pytest.raises(LogicLensError, match=r"'sex is not f'.* implies 'sex is m', which is forbidden"):
        replace(known, classes={"died": ClassKnowledge(required_conditions=["sex is not f"])}).bound_to(table)
    rules = RuleSet(
        (Rule("died", parse("~woman & old"), (0.9,)), Rule("lived", parse("False"), ())),
        {"woman": Predicate("sex", "==", "f"), "old": Predicate("age", ">=", 60)},
        otherwise=1,
    )
    assert [proof.holds for proof in prove(rules, known.bound_to(table))] == [False]
    several = replace(table, categories={"sex": ("d", "f", "m")}, pairs={})
    assert [proof.holds for proof in prove(rules, known.bound_to(several))] == [True]


def test_the_class_that_is_the_rest_has_rules_too():
    well = parse("~old | (~older & fit)")
    rules = RuleSet(
        (Rule("died", Complement(well), (0.9,)), Rule("lived", well, (0.9, 0.8))),
        {
            "old": Predicate("age", ">=", 60),
            "older": Predicate("age", ">=", 80),
            "fit": Predicate("sepsis", "==", False),
        },
        otherwise=0,
    )
    (proof,) = prove(rules, Knowledge(forbidden=["age >= 70"]).bound_to(TWO))
    assert (proof.holds, proof.reason) == (
        False,
        "died, which is all the rest, where age >= 60 & age >= 80, implies it, as where age is at least 80",
    )
    (kept,) = prove(rules, Knowledge(forbidden=["age >= 90"]).bound_to(TWO))
    assert kept.holds


def test_rules_of_each_class_cannot_all_require_conditions():
    known = {name: ClassKnowledge(required_conditions=["age >= 3"]) for name in "abc"}
    with pytest.raises(LogicLensError, match="a row on which no rule fires must get one too"):
        Knowledge(classes=known).bound_to(THREE)
