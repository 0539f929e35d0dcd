"""JSON: documents are read back equal and fit the published schema; others are refused in one sentence."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.export import from_dict, from_json, rules_schema, to_dict, to_json
from logiclens.formula import DNF, Complement, parse
from logiclens.formula.column_kinds import text_forms_called
from logiclens.formula.date_parts import DatePart
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.rules import FoundAgain
from tests.examples import examples
from tests.export_cases import PART_PREDICATES, Typed, one_predicate
from tests.strategies import dnfs, names

jsonschema = pytest.importorskip("jsonschema")

VALIDATOR = jsonschema.Draft202012Validator(rules_schema())

finite = st.floats(allow_nan=False, allow_infinity=False)
labels = names() | st.integers() | finite | st.booleans() | st.just("")
ordered = st.sampled_from([">=", ">", "<=", "<"])
dates = st.dates().map(str) | st.datetimes().map(lambda time: time.isoformat()) | st.datetimes().map(str)
predicates = (
    st.builds(Predicate, names(), ordered | st.just("=="), st.integers(-(2**70), 2**70) | finite)
    | st.builds(Predicate, names(), st.just("=="), names() | st.booleans() | st.just("") | dates)
    | st.builds(Predicate, names(), ordered, dates)
    | st.builds(Predicate, names(), st.just("missing"))
)


@st.composite
def any_rule_sets(draw: st.DrawFn) -> RuleSet:
    concepts = draw(st.lists(names(), min_size=1, max_size=4, unique=True))
    rules, bags = [], draw(st.integers(0, 10))
    for label in draw(st.lists(labels, min_size=1, max_size=3, unique_by=str)):
        formula = draw(dnfs(concepts, max_cubes=3))
        confidence = draw(st.lists(st.floats(0, 1), min_size=len(formula), max_size=len(formula)))
        counts = draw(st.lists(st.integers(0, bags), min_size=len(formula), max_size=len(formula))) if bags else []
        again = dict(zip(formula, map(FoundAgain, counts), strict=False))
        rules.append(Rule(label, formula, tuple(confidence), again, bags))
    groups = st.lists(st.lists(st.sampled_from(concepts), unique=True, max_size=3), max_size=2)
    meant = draw(st.dictionaries(st.sampled_from(concepts) | names(), predicates, max_size=3))
    tied, resolve = Groups(draw(groups), draw(groups)), draw(st.sampled_from(["order", "confidence", "none"]))
    if len(rules) == 2 and draw(st.booleans()):
        place = draw(st.integers(0, 1))
        rules[place] = Rule(rules[place].label, Complement(rules[1 - place].formula), (draw(st.floats(0, 1)),))
        return RuleSet(tuple(rules), meant, tied, resolve, place)
    several = draw(st.booleans())
    return RuleSet(
        tuple(rules),
        meant,
        tied,
        resolve,
        draw(st.none() | st.integers(0, len(rules) - 1)),
        several,
        () if several else tuple(draw(st.permutations(range(len(rules))))),
    )


def every_detail(rules: RuleSet) -> Any:
    """What equality does not see: the order of cubes and literals, and whether 1 is an int, a float or a bool."""
    return (
        [
            (
                Typed.of(rule.label),
                rule.is_complement,
                [[(literal.concept, literal.positive) for literal in cube] for cube in rule.cubes],
                [(math.copysign(1, confidence), confidence) for confidence in rule.confidence],
                [(Typed.of(count), rule.bags) for count in rule.counts],
            )
            for rule in rules.rules
        ],
        [(name, p.column, p.operator, Typed.of(p.value)) for name, p in rules.predicates.items()],
        rules.groups,
        (rules.resolve, rules.otherwise, rules.multilabel, rules.order),
    )


@given(any_rule_sets())
def test_rules_are_read_back_equal(rules: RuleSet) -> None:
    again = from_json(to_json(rules))
    assert again == rules
    assert every_detail(again) == every_detail(rules)
    assert every_detail(from_dict(to_dict(rules))) == every_detail(rules)


@given(any_rule_sets())
def test_what_is_written_fits_the_schema(rules: RuleSet) -> None:
    VALIDATOR.validate(json.loads(to_json(rules)))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(rules_schema())


RULES = RuleSet(
    (Rule("ill", parse('"age >= 60" & ~smoker'), (0.91,)), Rule("well", DNF.true, (0.5,)), Rule("dead", DNF.false, ())),
    {"age >= 60": Predicate("age", ">=", 60.0), "in": Predicate("unit", "==", "MICU")},
    Groups([["smoker", "in"]], [["age >= 50", "age >= 60"]]),
    otherwise=1,
)


def test_the_form_is_the_published_one() -> None:
    assert to_dict(RULES) == {
        "kind": "logiclens rules",
        "schema": 2,
        "classes": [
            {"class": "ill", "cubes": [{"if": {"age >= 60": True, "smoker": False}, "confidence": 0.91}]},
            {"class": "well", "cubes": [{"if": {}, "confidence": 0.5}]},
            {"class": "dead", "cubes": []},
        ],
        "predicates": {
            "age >= 60": {"column": "age", "operator": ">=", "value": 60.0},
            "in": {"column": "unit", "operator": "==", "value": "MICU"},
        },
        "exclusive": [["smoker", "in"]],
        "implied": [["age >= 50", "age >= 60"]],
        "resolve": "confidence",
        "otherwise": 1,
        "multilabel": False,
        "order": [],
    }


def test_a_complement_is_a_reference_and_the_order_is_kept() -> None:
    ill = RULES.rules[0].formula
    rules = RuleSet(
        (Rule("well", Complement(ill), (0.8,)), RULES.rules[0]), RULES.predicates, otherwise=0, resolve="order"
    )
    written = to_dict(rules)
    assert written["classes"][0] == {"class": "well", "complement_of": 1, "confidence": 0.8}
    assert (written["resolve"], written["order"], written["otherwise"]) == ("order", [1], 0)
    VALIDATOR.validate(written)
    assert from_dict(written) == rules


@pytest.mark.parametrize("other", [0, 2, -1, True, None, 1.0])
def test_a_complement_must_refer_to_a_class_with_cubes(other: Any) -> None:
    classes = [{"class": "a", "complement_of": other, "confidence": 0.5}, {"class": "b", "cubes": []}]
    document = {**to_dict(RULES), "classes": classes, "otherwise": 0, "predicates": {}}
    with pytest.raises(LogicLensError, match="'complement_of' of class number 0 must be the place of a class with"):
        from_dict(document)


def test_dates_and_missing_values_are_an_addition_to_the_form() -> None:
    meaning = {"bmi is missing": Predicate("bmi", "missing"), "new": Predicate("admitted", ">=", "2021-03-01T12:30")}
    rules = RuleSet((Rule("ill", parse('"bmi is missing" & ~new'), (0.9,)),), meaning)
    written = to_dict(rules)
    assert written["schema"] == 2
    assert written["predicates"] == {
        "bmi is missing": {"column": "bmi", "operator": "missing", "value": True},
        "new": {"column": "admitted", "operator": ">=", "value": "2021-03-01T12:30"},
    }
    table = {"bmi": [None, 20.0, float("nan")], "admitted": ["2021-03-01", None, "2021-03-02"]}
    assert list(from_json(to_json(rules)).predict(table)) == ["ill", None, None]


@pytest.mark.parametrize(
    ("operator", "value", "fits"),
    [
        ("missing", True, True), ("missing", False, False), ("missing", 1, False), ("missing", "x", False),
        (">=", "2021-03-01", True), ("<", "2021-03-01 12:30:00.25", True), (">=", "2021-3-1", False), ("<", "a", False),
        (">", True, False), ("==", True, True), ("==", "2021-03-01", True), (">=", 3, True), ("is", 3, False),
    ],
)  # fmt: skip
def test_the_schema_knows_dates_and_missing_values(operator: str, value: Any, fits: bool) -> None:
    document = a_predicate(operator=operator, value=value)
    assert VALIDATOR.is_valid(document) == fits
    if fits:
        assert from_dict(document).predicates["old"].value == value
    else:
        with pytest.raises(LogicLensError, match="the JSON is not a rule set"):
            from_dict(document)


def test_numpys_values_become_plain() -> None:
    rules = RuleSet((Rule(np.int64(3), parse("c"), (np.float64(0.5),)),), otherwise=np.int64(0))  # type: ignore[arg-type]
    assert every_detail(from_json(to_json(rules))) == every_detail(RuleSet((Rule(3, parse("c"), (0.5,)),), otherwise=0))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([10**400, 1, "=="]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys, so that any part of a document can be changed."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else []
    return [(data, key) for key in keys] + [place for key in keys for place in places(data[key])]


@examples(300)
@given(st.data())
def test_a_changed_document_is_refused_or_fits_the_schema(data: st.DataObject) -> None:
    document = copy.deepcopy(to_dict(RULES))
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(places(document)))
        match data.draw(st.sampled_from(["replace", "delete", "add"])):
            case "replace":
                container[key] = data.draw(json_values)
            case "delete":
                del container[key]
            case "add" if isinstance(container, dict):
                container[data.draw(st.text(max_size=5))] = data.draw(json_values)
            case _:
                container.append(data.draw(json_values))
        if not places(document):
            break
    try:
        rules = from_json(json.dumps(document))
    except LogicLensError:
        return
    VALIDATOR.validate(document)
    assert every_detail(from_json(to_json(rules))) == every_detail(rules)


@given(json_values)
def test_any_json_is_refused_in_a_sentence(value: Any) -> None:
    for read, given_value in ((from_dict, value), (from_json, json.dumps(value))):
        with pytest.raises(LogicLensError):
            read(given_value)


@given(st.text())
def test_any_text_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(LogicLensError):
        from_json(text)


def test_every_truncation_is_refused() -> None:
    text = to_json(RULES)
    for length in range(len(text)):
        with pytest.raises(LogicLensError, match=r"not JSON that can be read: .* Was the file cut off\?"):
            from_json(text[:length])


def changed(**fields: Any) -> dict[str, Any]:
    return {**to_dict(RULES), **fields}


def a_class(**fields: Any) -> dict[str, Any]:
    return changed(classes=[{"class": "ill", "cubes": [], **fields}], otherwise=None)


def a_cube(**fields: Any) -> dict[str, Any]:
    return a_class(cubes=[{"if": {"a": True}, "confidence": 0.5, **fields}])


def counted(**fields: Any) -> dict[str, Any]:
    return a_class(cubes=[{"if": {"a": True}, "confidence": 0.5, **fields}], bags=10)


def a_predicate(**fields: Any) -> dict[str, Any]:
    return changed(predicates={"old": {"column": "age", "operator": ">=", "value": 60.0, **fields}})


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "expected an object, got []."),
        ({}, "'kind' must be 'logiclens rules', got None."),
        (changed(kind="model"), "'kind' must be 'logiclens rules', got 'model'."),
        (changed(schema=3), "this version reads schema 2, got 3."),
        (changed(schema=True), "this version reads schema 2, got True."),
        (changed(extra=1), "the top level has an unknown field 'extra'."),
        ({k: v for k, v in to_dict(RULES).items() if k != "resolve"}, "the top level lacks 'resolve'."),
        (changed(classes={}), "'classes' must be a list, got {}."),
        (changed(classes=[], otherwise=None), "a rule set needs at least one rule."),
        (changed(classes=["ill"]), "class number 0 must be an object, got 'ill'."),
        (a_class(**{"class": None}), "class number 0 must be a text, a finite number or a Boolean, got None."),
        (a_class(cubes=[{"if": {}}]), "a cube of class number 0 lacks 'confidence'."),
        (a_cube(**{"if": {"a": 1}}), "'if' of class number 0 must give true or false for each concept, got {'a': 1}."),
        (a_cube(**{"if": {"": True}}), "a literal needs the name of a concept, got ''."),
        (a_cube(confidence=True), "'confidence' of class number 0 must be a number from 0 to 1, got True."),
        (a_cube(recurs=3), "a cube of class number 0 has an unknown field 'recurs'."),
        (a_class(bags=0), "'bags' of class number 0 must be a whole number, 1 or more, got 0."),
        (counted(recurs=True), "'recurs' of class number 0 must be a whole number, 0 or more, got True."),
        (counted(recurs=11), "a cube of 'ill' must be found again in 0 to 10 bags, got 11."),
        (a_class(cubes=to_dict(RULES)["classes"][0]["cubes"] * 2), "class number 0 has the same cube twice."),
        (changed(classes=to_dict(RULES)["classes"] * 2), "every class can have one rule only."),
        (changed(predicates=[]), "'predicates' must be an object, got []."),
        (a_predicate(operator="~"), "the operator must be one of >= > <= < == missing, got '~'."),
        (a_predicate(operator="missing"), "whether 'age' is missing takes no value, got 60.0."),
        (a_predicate(operator="missing", value=1), "whether 'age' is missing takes no value, got 1."),
        (a_predicate(operator=1), "'operator' of the predicate 'old' needs a text, got 1."),
        (a_predicate(column=""), "a predicate needs the name of a column, got ''."),
        (a_predicate(value="60"), f"'60' can only be compared by '==' ({text_forms_called()} also by order), "
         "got '>='."),
        (a_predicate(value="2021-02-30"), f"'2021-02-30' can only be compared by '==' ({text_forms_called()} also "
         "by order), got '>='."),
        (a_predicate(value=None), "the predicate on 'age' needs a number or a text, got None."),
        (changed(exclusive=[["a", 1]]), "'exclusive' needs a text, got 1."),
        (changed(implied=["ab"]), "'implied' must be a list, got 'ab'."),
        (changed(resolve="vote"), "'resolve' must be 'order', 'confidence' or 'none', got 'vote'."),
        (changed(order=["ill"]), "'order' must list places of classes, got ['ill']."),
        (changed(order=[0, 1]), "order must name each class with a formula once, got (0, 1)."),
        (changed(otherwise=3), "otherwise must be the place of a class, 0 to 2."),
        (changed(otherwise=1.0), "'otherwise' must be the place of a class or null, got 1.0."),
        (changed(otherwise="x" * 99), "'otherwise' must be the place of a class or null, got '" + "x" * 77 + "…'."),
        (changed(multilabel=0), "'multilabel' must be true or false, got 0."),
    ],
)  # fmt: skip
def test_what_is_not_a_rule_set_is_refused(document: Any, reason: str) -> None:
    with pytest.raises(LogicLensError) as error:
        from_json(json.dumps(document))
    assert str(error.value) == f"the JSON is not a rule set: {reason}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": NaN}', "NaN is not a number of JSON."),
        ('{"a": -Infinity}', "-Infinity is not a number of JSON."),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice."),
        ("[" * 100_000, "it nests too deeply. Was the file cut off?"),
    ],
)
def test_what_is_not_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(LogicLensError) as error:
        from_json(text)
    assert str(error.value) == f"the text is not JSON that can be read: {reason}"


def test_numbers_beyond_float64_are_refused() -> None:
    for value in ("1e999", "9" * 400):
        text = json.dumps(a_predicate(value=12345)).replace("12345", value)
        with pytest.raises(LogicLensError, match="the predicate on 'age' needs a finite value"):
            from_json(text)
        text = json.dumps(a_cube(confidence=12345)).replace("12345", value)
        with pytest.raises(LogicLensError, match="'confidence' of class number 0 must be a number from 0 to 1"):
            from_json(text)
    with pytest.raises(LogicLensError, match="class number 0 must be a text, a finite number or a Boolean, got inf"):
        from_json(json.dumps(a_class(**{"class": 12345})).replace("12345", "1e999"))


def test_bytes_are_no_text() -> None:
    with pytest.raises(LogicLensError, match="rules are read from JSON text, got bytes"):
        from_json(b"{}")  # type: ignore[arg-type]


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(LogicLensError, match="the rule of 'a' has a confidence that is not a number"):
        to_json(RuleSet((Rule("a", DNF.true, (math.nan,)),)))
    with pytest.raises(LogicLensError, match="a class that is exported must be a text, a finite number or a Boolean"):
        to_json(RuleSet((Rule(math.inf, DNF.true, (0.5,)),)))
    with pytest.raises(LogicLensError, match="a class that is exported must be a text, a finite number or a Boolean"):
        to_json(RuleSet((Rule(("a", 1), DNF.true, (0.5,)),)))  # type: ignore[arg-type]


def test_parts_of_dates_are_read_back_equal():
    for predicate in PART_PREDICATES:
        rules = one_predicate(predicate)
        text = to_json(rules)
        jsonschema.validate(json.loads(text), rules_schema())
        assert from_json(text) == rules


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ({"part": "year", "columns": ["begun"]}, "a part of a date is one of month, weekday, hour, days, got 'year'"),
        ({"part": "weekday", "columns": ["ended"]}, "has that column, got 'weekday of begun'"),
        ({"part": "weekday", "columns": "begun"}, "must be a list"),
        ({"part": "weekday"}, "lacks 'columns'"),
        (None, "must be an object"),
    ],
)
def test_an_edited_origin_is_refused(origin, message):
    part = DatePart("weekday", ("begun",))
    content = to_dict(one_predicate(Predicate(part.name, ">=", 6, part)))
    content["predicates"]["c"]["origin"] = origin
    with pytest.raises(LogicLensError, match=message):
        from_dict(content)
