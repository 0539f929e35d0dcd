"""How often each rule is found again: counted when fitting, saved, in every output, and marked below half."""

from __future__ import annotations

import ast
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from logiclens.cli.models import compared
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.explain.choice import LearnedRules, learn_rules
from logiclens.explain.stability import known_recurrence
from logiclens.export import from_json, rules_schema, to_dict, to_english, to_json, to_latex, to_pmml, to_python, to_sql
from logiclens.export.registry import format_named
from logiclens.formula import DNF, Complement, Cube, Literal, Rule, RuleSet, parse
from logiclens.formula.english import recurrence_words
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import CutRange, FoundAgain
from logiclens.verify import verify
from tests.cli_runs import exact as exact_run
from tests.cli_runs import logiclens

FORMULA = parse("(old & ~smoker) | in | flag")


def counts_of(formula: DNF, *counts: int) -> dict[Cube, FoundAgain]:
    return dict(zip(formula, map(FoundAgain, counts), strict=True))


MEANING = {"old": Predicate("age", ">=", 72.5), "in": Predicate("unit", "==", "MICU")}
COUNTED = Rule("ill", FORMULA, (0.9, 0.7, 0.6), counts_of(FORMULA, 4, 5, 10), 10)
RULES = RuleSet((COUNTED, Rule("well", Complement(FORMULA), (0.8,))), MEANING, resolve="order", otherwise=1)
SELDOM, HALF, ALWAYS = (
    "found again in only 4 of 10 bags, less than half", "found again in 5 of 10 bags", "found again in 10 of 10 bags",
)  # fmt: skip
LABELLED = RuleSet((COUNTED,), MEANING, multilabel=True)


def without_counts(rules: RuleSet) -> RuleSet:
    return RuleSet(
        tuple(Rule(rule.label, rule.formula, rule.confidence) for rule in rules.rules),
        rules.predicates,
        rules.groups,
        rules.resolve,
        rules.otherwise,
        rules.multilabel,
        rules.order,
    )


# Reasons and differences ------------------------------------------------------------------------------------------


def test_the_reasons_of_a_row_show_how_often_cubes_recur():
    why = RULES.why({"age": 80, "smoker": 0, "unit": "SICU", "flag": 0})
    assert why.because == f"ill, because: age is at least 72.5 and smoker is not true (trust 90%, {SELDOM})"
    assert [cube.recurrence for cube in why["ill"].cubes] == [SELDOM, HALF, ALWAYS]
    assert f"fails: flag is true ({ALWAYS}), for lack of: flag is true (it is 0)" in str(why)
    assert [cube.recurrence for cube in why["well"].unless] == [SELDOM, HALF, ALWAYS]
    assert "found again" not in str(without_counts(RULES).why({"age": 80, "smoker": 0, "unit": "SICU", "flag": 0}))


def test_a_difference_says_how_often_what_came_recurs():
    was = parse("(old & smoker) | in")
    before = RuleSet((Rule("ill", was, (0.9, 0.7)), Rule("well", Complement(was), (0.8,))), MEANING, otherwise=1)
    (ill, _) = compared(before, RULES)["classes"]
    assert ill["changes"] == [
        f"changed: age is at least 72.5 and smoker is true: without smoker is true, with smoker is not true ({SELDOM})",
        f"new: flag is true ({ALWAYS})",
    ]
    (back, _) = compared(RULES, before)["classes"]
    assert not any("found again" in line for line in back["changes"])


def test_counts_follow_concepts_that_get_another_name():
    aged = parse("(aged & ~smoker) | in")
    rules = RuleSet(
        (Rule("ill", aged, (0.9, 0.7), counts_of(aged, 4, 5), 10), Rule("well", Complement(aged), (0.8,))),
        {"aged": MEANING["old"], "in": MEANING["in"]},
        otherwise=1,
    )
    before = RuleSet(
        (Rule("ill", parse("old"), (0.7,)), Rule("well", Complement(parse("old")), (0.8,))), MEANING, otherwise=1
    )
    (ill, _) = compared(before, rules)["classes"]
    assert ill["changes"] == [
        f"changed: age is at least 72.5: with smoker is not true ({SELDOM})",
        f"new: unit is MICU ({HALF})",
    ]


# Words and values -------------------------------------------------------------------------------------------------


def test_less_than_half_is_marked_and_half_is_not():
    assert [recurrence_words(count, 10, "bags") for count in (4, 5, 10)] == [SELDOM, HALF, ALWAYS]
    assert recurrence_words(4, 9) == "found again in only 4 of 9, less than half"
    assert recurrence_words(5, 9) == "found again in 5 of 9"
    assert RULES.rules[0].recurrence == (SELDOM, HALF, ALWAYS)
    assert [line.recurrence for line in RULES.decisions] == [SELDOM, HALF, ALWAYS]
    # A complement has no cubes of its own, and rules made elsewhere know nothing.
    assert RULES.rules[1].recurrence == ()
    assert without_counts(RULES).rules[0].recurrence == ("", "", "")


def test_counts_say_nothing_of_what_rules_answer():
    assert without_counts(RULES) == RULES
    assert len({RULES.rules[0], without_counts(RULES).rules[0]}) == 1


def test_counts_that_cannot_be_are_refused():
    a, b = parse("a"), parse("b")
    with pytest.raises(LogicLensError, match="a cube of 'ill' must be found again in 0 to 3 bags, got 4"):
        Rule("ill", a, (0.9,), counts_of(a, 4), 3)
    with pytest.raises(LogicLensError, match="a cube of 'ill' must be found again in 0 to 0 bags, got 0"):
        Rule("ill", a, (0.9,), counts_of(a, 0))
    with pytest.raises(LogicLensError, match="counted on the same bags"):
        RuleSet((Rule("a", a, (0.9,), counts_of(a, 1), 3), Rule("b", b, (0.9,), counts_of(b, 1), 4)))


def test_an_edited_rule_is_silent_on_uncounted_cubes():
    edited = replace(RULES.rules[0], formula=parse("(old & smoker) | in | flag"))
    assert (edited.counts, edited.recurrence) == ((None, 5, 10), ("", HALF, ALWAYS))
    assert edited.recurrence_line == f"not counted; {HALF}; {ALWAYS}"
    written = to_dict(RuleSet((edited,)))
    assert [cube.get("recurs") for cube in written["classes"][0]["cubes"]] == [None, 5, 10]
    assert from_json(json.dumps(written)).rules[0].counts == (None, 5, 10)
    assert str(known_recurrence(RuleSet((edited,)))).count("found again") == 2
    assert known_recurrence(without_counts(RULES)) is None
    assert replace(RULES.rules[0], formula=DNF.false, confidence=()).recurrence == ()


def test_a_range_of_cuts_follows_the_count():
    formula = parse('"glucose >= 127" & ~"age >= 30" | "glucose >= 127"')
    wide, narrow = CutRange("glucose", 124, 144), CutRange("age", 30, 30)
    both, alone = FoundAgain(9, (wide, narrow)), FoundAgain(8, (wide,))
    again = dict(zip(formula, (both, alone), strict=True))
    meant = {"glucose >= 127": Predicate("glucose", ">=", 127), "age >= 30": Predicate("age", ">=", 30)}
    rule = Rule("ill", formula, (0.9, 0.8), again, 10)
    rules = RuleSet((rule, Rule("well", Complement(formula), (0.7,))), meant, otherwise=1)
    # The column is named where the rule has another threshold; cuts that are all the same have no range.
    told = (
        "found again in 9 of 10 bags; the cut of glucose ranges from 124 to 144",
        "found again in 8 of 10 bags; the cut ranges from 124 to 144",
    )
    assert rules.rules[0].recurrence == told
    again = from_json(to_json(rules))
    assert again.rules[0].recurs == rule.recurs
    assert to_sql(again).count(f"/* {told[0]} */") == 1


# Exports ----------------------------------------------------------------------------------------------------------


def test_json_holds_a_count_for_each_cube():
    jsonschema = pytest.importorskip("jsonschema")
    ill, well = to_dict(RULES)["classes"]
    assert ([cube["recurs"] for cube in ill["cubes"]], ill["bags"]) == ([4, 5, 10], 10)
    assert set(well) == {"class", "complement_of", "confidence"}
    validator = jsonschema.Draft202012Validator(rules_schema())
    validator.validate(to_dict(RULES))
    again = from_json(to_json(RULES))
    assert [(rule.counts, rule.bags) for rule in again.rules] == [((4, 5, 10), 10), ((), 0)]
    # Files without counts are as they were, and are read as before.
    plain = to_dict(without_counts(RULES))
    assert "bags" not in json.dumps(plain)
    assert "recurs" not in json.dumps(plain)
    assert from_json(json.dumps(plain)).rules[0].recurs == {}
    assert not validator.is_valid({**plain, "classes": [{**ill, "bags": 0}, well]})
    assert not validator.is_valid({**plain, "classes": [{"class": "ill", "cubes": ill["cubes"]}, well]})


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "bigquery", "tsql"])
def test_sql_has_a_comment_at_each_cube(dialect):
    lines = [line.strip() for line in to_sql(RULES, dialect=dialect).splitlines()]
    assert [line.partition(" /*")[2] for line in lines if "/*" in line] == [
        f" {words} */" for words in (SELDOM, HALF, ALWAYS)
    ]
    each = to_sql(RULES, dialect=dialect, what="formulas")
    assert each.count(f"/* {SELDOM}; {HALF}; {ALWAYS} */") == 1
    undecided = to_sql(replace(RULES, resolve="none"), dialect=dialect)
    assert undecided.count(f"/* {SELDOM}; {HALF}; {ALWAYS} */") == 1
    assert "/*" not in to_sql(without_counts(RULES), dialect=dialect, what="both")


def test_categories_of_one_rule_have_one_recurrence():
    meant = {job: Predicate("job", "==", job) for job in ("cook", "nurse")}
    formula = parse("(cook & old) | (nurse & old)")
    for counts, said in (
        ((9, 9), "found again in 9 of 10 bags"),
        ((10, 9), "found again in 9 of 10 bags with the category found least"),
    ):
        rule = Rule("ill", formula, (0.9, 0.9), counts_of(formula, *counts), 10)
        rules = RuleSet((rule, Rule("well", DNF.false, ())), meant, resolve="order", otherwise=1)
        assert [line for line in to_english(rules).splitlines() if "found again" in line] == [
            f"ill if job is cook or nurse and old is true: {said}."
        ]
        assert re.findall(r"/\* (.*?) \*/", to_sql(rules)) == [said]
        assert "if job is cook or nurse and old is true. Where" in to_english(replace(rules, resolve="confidence"))
    same = replace(rule, recurs=counts_of(formula, 9, 9))
    each = to_sql(replace(rules, rules=(same, rules.rules[1])), what="formulas")
    assert re.findall(r"/\* (.*?) \*/", each) == ["found again in 9 of 10 bags"]


def test_python_has_a_comment_at_each_cube():
    source = to_python(RULES)
    assert [line.partition("  # ")[2] for line in source.splitlines() if "found again" in line] == [
        SELDOM,
        HALF,
        ALWAYS,
    ]
    assert f"if holds['old'] and not holds['smoker']:  # {SELDOM}\n" in source
    for rules in (RULES, replace(RULES, resolve="none"), LABELLED):
        # Comments are all that differs.
        assert ast.dump(ast.parse(to_python(rules))) == ast.dump(ast.parse(to_python(without_counts(rules))))
        assert SELDOM in to_python(rules)
        assert "found again" not in to_python(without_counts(rules))


def test_pmml_has_an_extension_at_each_cube():
    space = {"p": "http://www.dmg.org/PMML-4_4"}
    rules = ET.fromstring(to_pmml(RULES)).findall(".//p:SimpleRule", space)
    told = [[(part.tag.rpartition("}")[2], part.get("value")) for part in rule] for rule in rules]
    # Before the condition, where the schema of PMML has it.
    assert [parts[0] for parts in told] == [("Extension", words) for words in (SELDOM, HALF, ALWAYS)]
    assert all(len(parts) == 2 for parts in told)
    (rule,) = ET.fromstring(to_pmml(replace(RULES, resolve="none"))).findall(".//p:SimpleRule[@score='ill']", space)
    assert [part.get("value") for part in rule.findall("p:Extension", space)] == [SELDOM, HALF, ALWAYS]
    assert "Extension" not in to_pmml(without_counts(RULES))


def test_latex_marks_what_recurs_in_less_than_half():
    assert to_latex(RULES).splitlines()[1:-1] == [
        r"  \text{ill} &\leftarrow (\text{age} \geq 72.5 \land \lnot \text{smoker}) \quad \text{\dag\ 4 of 10} \\",
        r"  &\phantom{{}\leftarrow{}} \lor \text{unit} = \text{MICU} \\",
        r"  &\phantom{{}\leftarrow{}} \lor \text{flag} \\",
        r"  \text{well} &\phantom{{}\leftarrow{}} \text{otherwise} \\",
        r"  &\phantom{{}\leftarrow{}} \text{\dag\ found again in less than half of the bags}",
    ]
    assert "dag" not in to_latex(without_counts(RULES))
    often = RuleSet((Rule("ill", parse("a"), (0.9,), counts_of(parse("a"), 5), 10),))
    assert "dag" not in to_latex(often)


def test_sympy_and_english_say_it_for_each_cube():
    pytest.importorskip("sympy")
    sympy, english = (format_named(form).text(RULES) for form in ("sympy", "english"))
    assert f"    # 'old & ~smoker' {SELDOM}\n    # 'in' {HALF}\n    # 'flag' {ALWAYS}\n    'ill': Or(" in sympy
    assert english.splitlines()[-3:] == [
        f"ill if age is at least 72.5 and smoker is not true: {SELDOM}.",
        f"ill if unit is MICU: {HALF}.",
        f"ill if flag is true: {ALWAYS}.",
    ]
    for form in ("sympy", "english"):
        assert "found again" not in format_named(form).text(without_counts(RULES))
    # A name that ends a line ends no comment.
    odd = DNF([Cube([Literal("a\nb")])])
    odd = RuleSet((Rule("ill", odd, (0.9,), counts_of(odd, 1), 10),))
    assert ast.parse(format_named("sympy").text(odd))


def test_a_notebook_has_a_column_for_it():
    page = RULES._repr_html_()
    assert ">found again</th>" in page
    assert all(page.count(f">{words}</td>") == 1 for words in (SELDOM, HALF, ALWAYS))
    assert "found again" not in without_counts(RULES)._repr_html_()


# Fitted and loaded models -----------------------------------------------------------------------------------------

RNG = np.random.default_rng(2)
FRAME = pd.DataFrame(RNG.random((120, 6)) < 0.5, columns=list("abcdef")).astype(float)
FRAME["age"] = RNG.normal(60, 15, 120).round()
NOISY = np.where(((FRAME["a"] > 0) | (FRAME["age"] > 70)) ^ (RNG.random(120) < 0.25), "ill", "well")
SETTINGS = {"epochs": 20}


def found_once(*args, **kwargs) -> LearnedRules:
    """The rules that are learned anyway, as if one bag of three gave them and the others nothing."""
    learned = learn_rules(*args, **kwargs)
    choices = (replace(choice, bags=(choice.cubes, (), ())) for choice in learned.choices)
    return replace(learned, choices=tuple(choices))


@pytest.fixture(scope="module", params=[True, False], ids=["exact", "soft"])
def model(request) -> EntropyClassifier:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("logiclens.estimator.learning.learn_rules", found_once)
        return EntropyClassifier(exact=request.param, **SETTINGS).fit(FRAME, NOISY)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory) -> Path:
    return model.save(tmp_path_factory.mktemp("recurs") / "model")


def counts(rules: RuleSet) -> list[tuple[tuple[int, ...], int]]:
    return [(rule.counts, rule.bags if rule.is_counted else 0) for rule in rules.rules]


def test_a_folder_keeps_the_counts(model, folder):
    loaded = EntropyClassifier.load(folder)
    assert counts(loaded.rules_) == counts(RuleSet.load(folder)) == counts(model.rules_)
    assert counts(loaded.explain(FRAME).rules) == counts(model.rules_)
    if model.exact:
        assert len(verify(folder).classes) == 2


def test_a_loaded_model_says_what_a_fitted_one_says(model, folder):
    loaded = EntropyClassifier.load(folder)
    (choice,) = model.learned_.choices
    fitted_text, loaded_text = str(model.explain()), str(loaded.explain(FRAME))
    fitted_page, loaded_page = model.explain()._repr_html_(), loaded.explain(FRAME)._repr_html_()
    cubes = model.rules_.rules[choice.klass]
    words = [recurrence_words(count, cubes.bags) for count in cubes.counts]
    assert words == ["found again in only 1 of 3, less than half"] * len(cubes.cubes) != []
    assert [line for line in loaded_text.splitlines() if "found again" in line] == [
        line for line in fitted_text.splitlines() if "found again" in line
    ]
    assert all(text in loaded_text for text in words)
    for text in words:
        assert text in fitted_page
        assert text in loaded_page
    assert loaded.rules_._repr_html_() == model.rules_._repr_html_()
    assert "found again in" in loaded._repr_html_()


def test_the_certificate_does_not_depend_on_the_counts(tmp_path):
    model = EntropyClassifier(exact=True, **SETTINGS).fit(FRAME, NOISY)
    counted = verify(model.save(tmp_path / "counted"))
    model._rules = without_counts(model._rules)
    plain = verify(model.save(tmp_path / "plain"))
    assert [vars(found) for found in plain.classes] == [vars(found) for found in counted.classes]
    assert not any(rule.is_counted for rule in RuleSet.load(tmp_path / "plain").rules)


def test_score_says_it_beside_each_rule():
    run = exact_run()
    told = logiclens("score", run.folder, run.data).stdout
    rules = RuleSet.load(run.folder)
    words = [recurrence_words(count, rule.bags) for rule in rules.rules for count in rule.counts]
    assert words
    flat = " ".join(told.split())
    assert all(f"; {text}" in flat for text in words)
