"""PMML: another engine reads the document and predicts what the rules predict."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given

from logiclens.errors import LogicLensError
from logiclens.export import to_pmml
from logiclens.formula import DNF, Literal, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from tests.examples import examples
from tests.export_cases import (
    CUTS,
    NASTY,
    PREDICATES,
    around,
    expected_classes,
    one_predicate,
    rows_of,
    rule_sets,
    table,
)
from tests.strategies import AWKWARD_NAMES

TABLE = table(40)
ROWS = rows_of(TABLE)


@pytest.fixture(scope="module")
def load() -> Iterator[Callable[[str], Callable[[dict[str, Any]], Any]]]:
    """Reads a document; gives the function from a row to the class."""
    pypmml = pytest.importorskip("pypmml", reason="needs pypmml: pip install pypmml")
    if shutil.which("java") is None:
        pytest.skip("pypmml needs Java, and there is no java on PATH")

    def read(document: str) -> Callable[[dict[str, Any]], Any]:
        model = pypmml.Model.fromString(document)
        return lambda row: next(iter(model.predict(row).values()))

    yield read
    pypmml.Model.close()


def undecided(rules: RuleSet) -> bool:
    return rules.otherwise is None or rules.resolve == "none"


def written(label: Any, rules: RuleSet) -> Any:
    """Where a row may stay undecided, labels come as texts."""
    if label is None or not undecided(rules):
        return label
    return str(label).lower() if isinstance(label, bool) else str(label)


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rule_sets(multilabel=False))
def test_the_class_of_every_row(load: Any, rules: RuleSet) -> None:
    predict = load(to_pmml(rules))
    wanted = [written(label, rules) for label in expected_classes(rules, TABLE)]
    got = [predict(row) for row in ROWS]
    assert got == wanted
    assert [type(label) for label in got] == [type(label) for label in wanted]


@pytest.mark.parametrize("concept", PREDICATES)
def test_each_predicate_alone(load: Any, concept: str) -> None:
    for positive in (True, False):
        formula = DNF([next(iter(Literal(concept, positive) | DNF.false))])
        for resolve in ("confidence", "none"):
            # Where nobody resolves, a class also asks that the others' formulas fail.
            rules = RuleSet((Rule("yes", formula, (0.9,)), Rule("no", ~formula, (0.8,))), PREDICATES, resolve=resolve)
            predict = load(to_pmml(rules))
            assert [predict(row) for row in ROWS] == list(rules.predict(TABLE))


def test_a_column_of_dates_may_have_any_name(load: Any) -> None:
    cells = ["2021-02-28", "2021-03-01", "2021-03-01T12:30", "2021-03-01 12:30:00.5", None]
    for name in (*(name for name in AWKWARD_NAMES if "\0" not in name), NASTY, "<a>&amp;"):
        for operator in (">=", ">"):
            rules = RuleSet((Rule("yes", parse("c"), (0.9,)),), {"c": Predicate(name, operator, "2021-03-01")})  # type: ignore[arg-type]
            predict = load(to_pmml(rules))
            assert [predict({name: cell}) for cell in cells] == list(rules.predict({name: cells}))


def test_a_derived_field_takes_no_name_from_a_column(load: Any) -> None:
    names = ("on", "on (day)", "on (day)'", "on (time)")
    rules = RuleSet(
        (Rule("yes", parse("a & ~b & (c | d)"), (0.9, 0.9)),),
        {c: Predicate(name, ">", "2021-03-01 12:30") for c, name in zip("abcd", names, strict=True)},
    )
    predict = load(to_pmml(rules))
    for cells in itertools.product(["2021-03-01", "2021-03-01T12:30:01", None], repeat=4):
        row = dict(zip(names, cells, strict=True))
        assert predict(row) == rules.predict({name: [cell] for name, cell in row.items()})[0]
    with pytest.raises(LogicLensError, match=r"the table has a column 'on \(in full\)' already: pass another target="):
        to_pmml(rules, target="on (in full)")


def test_a_column_may_be_compared_with_dates_and_with_texts(load: Any) -> None:
    cells = ["2021-02-28", "2021-03-01", "2021-03-01T00:00", None]
    meaning = {"new": Predicate("on", ">=", "2021-03-01"), "text": Predicate("on", "==", "2021-03-01")}
    for formula in ("new & ~text", "text", "~new & ~text"):
        rules = RuleSet((Rule("yes", parse(formula), (0.9,)),), meaning)
        predict = load(to_pmml(rules))
        assert [predict({"on": cell}) for cell in cells] == list(rules.predict({"on": cells}))


@pytest.mark.parametrize("operator", [">=", ">", "<=", "<", "=="])
def test_numbers_arrive_exactly(load: Any, operator: Any) -> None:
    values = [*around(*CUTS), None, math.nan]
    for cut in CUTS:
        for positive in (True, False):
            formula = DNF([next(iter(Literal("c", positive) | DNF.false))])
            rules = RuleSet((Rule("yes", formula, (0.9,)),), {"c": Predicate("x", operator, cut)})
            predict = load(to_pmml(rules))
            assert [predict({"x": value}) for value in values] == list(rules.predict({"x": values}))


def test_names_and_texts_of_every_kind(load: Any) -> None:
    for name in [*(name for name in AWKWARD_NAMES if "\0" not in name), NASTY, "<a>&amp;", "]]>"]:
        rules = RuleSet((Rule(name, parse("~c"), (0.9,)),), {"c": Predicate(name, "==", name)})
        predict = load(to_pmml(rules))
        assert [predict({name: cell}) for cell in (name, name + "x", None)] == [None, name, name]


@pytest.mark.parametrize("cells", [["", "x", None], ["NaN", "nan", None], ["1", "1.0", None], ["true", "True", None]])
def test_texts_that_look_like_something_else(load: Any, cells: list[Any]) -> None:
    for formula in ("c", "~c"):
        rules = RuleSet((Rule("yes", parse(formula), (0.9,)),), {"c": Predicate("unit", "==", cells[0])})
        predict = load(to_pmml(rules))
        assert [predict({"unit": cell}) for cell in cells] == list(rules.predict({"unit": cells}))


def test_a_column_that_is_compared_with_true_and_with_numbers(load: Any) -> None:
    cells = [1.0, 0.0, 0.5, None, math.nan]
    for formula in (
        "told & half",
        "~told & half",
        "~told & ~half",
        "told | half",
        "none | told & half",
        "~none & ~half",
    ):
        parsed = parse(formula)
        rules = RuleSet(
            (Rule("yes", parsed, (0.9,) * len(parsed)),),
            {
                "told": Predicate("flag", "==", True),
                "half": Predicate("flag", ">=", 0.5),
                "none": Predicate("flag", "missing"),
            },
        )
        predict = load(to_pmml(rules))
        assert [predict({"flag": cell}) for cell in cells] == list(rules.predict({"flag": cells}))


def test_the_target_can_have_another_name(load: Any) -> None:
    rules = RuleSet((Rule("yes", parse("prediction"), (0.9,)),))
    with pytest.raises(LogicLensError, match="the table has a column 'prediction' already: pass another target="):
        to_pmml(rules)
    assert load(to_pmml(rules, target="class"))({"prediction": 1}) == "yes"


def test_how_it_reads() -> None:
    rules = RuleSet(
        (Rule(1, parse("old & ~in"), (0.9,)), Rule(0, parse("flag"), (0.8,))),
        {
            "old": Predicate("age", ">=", 72.5),
            "in": Predicate("unit", "==", "<MICU>"),
            "flag": Predicate("mal_flg", "==", True),
        },
        otherwise=1,
    )
    assert (
        to_pmml(rules)
        == """\
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header />
  <DataDictionary>
    <DataField name="age" optype="continuous" dataType="double" />
    <DataField name="unit" optype="categorical" dataType="string" />
    <DataField name="mal_flg" optype="categorical" dataType="boolean" />
    <DataField name="prediction" optype="categorical" dataType="integer">
      <Value value="1" />
      <Value value="0" />
    </DataField>
  </DataDictionary>
  <RuleSetModel modelName="logiclens" functionName="classification">
    <MiningSchema>
      <MiningField name="age" invalidValueTreatment="asIs" />
      <MiningField name="unit" invalidValueTreatment="asIs" />
      <MiningField name="mal_flg" invalidValueTreatment="asIs" />
      <MiningField name="prediction" usageType="target" />
    </MiningSchema>
    <RuleSet defaultScore="0">
      <RuleSelectionMethod criterion="firstHit" />
      <SimpleRule id="1" score="1" confidence="0.9">
        <CompoundPredicate booleanOperator="and">
          <SimplePredicate field="age" operator="greaterOrEqual" value="72.5" />
          <CompoundPredicate booleanOperator="or">
            <SimplePredicate field="unit" operator="notEqual" value="&lt;MICU&gt;" />
            <SimplePredicate field="unit" operator="isMissing" />
          </CompoundPredicate>
        </CompoundPredicate>
      </SimpleRule>
      <SimpleRule id="2" score="0" confidence="0.8">
        <SimplePredicate field="mal_flg" operator="equal" value="true" />
      </SimpleRule>
    </RuleSet>
  </RuleSetModel>
</PMML>"""
    )


def test_how_dates_and_missing_values_read() -> None:
    rules = RuleSet(
        (Rule("ill", parse("new & bare & ~none"), (0.9,)),),
        {
            "new": Predicate("on", ">=", "2021-03-01"),
            "bare": Predicate("bmi", "missing"),
            "none": Predicate("lab", "missing"),
        },
    )
    document = to_pmml(rules)
    assert '<DataField name="on" optype="categorical" dataType="string" />' in document
    assert (
        document.partition('score="ill" confidence="0.9">\n')[2].partition("      </SimpleRule>")[0]
        == """\
        <CompoundPredicate booleanOperator="and">
          <CompoundPredicate booleanOperator="and">
            <SimplePredicate field="on" operator="isNotMissing" />
            <SimplePredicate field="on (day)" operator="greaterOrEqual" value="20210301" />
          </CompoundPredicate>
          <CompoundPredicate booleanOperator="or">
            <SimplePredicate field="bmi" operator="isMissing" />
            <SimplePredicate field="bmi" operator="equal" value="NaN" />
          </CompoundPredicate>
          <CompoundPredicate booleanOperator="and">
            <SimplePredicate field="lab" operator="isNotMissing" />
            <SimplePredicate field="lab" operator="notEqual" value="NaN" />
          </CompoundPredicate>
        </CompoundPredicate>
"""
    )


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            RuleSet((Rule("a", DNF.true, (0.9,)),), multilabel=True),
            "a RuleSetModel of PMML answers with one class, but these rules give several labels to a row. "
            "Export them by to_sql or to_python.",
        ),
        (
            RuleSet(
                (Rule("a", parse("b & c"), (0.9,)),), {"b": Predicate("x", ">", 1), "c": Predicate("x", "==", "y")}
            ),
            "the column 'x' is compared with texts and with numbers; PMML wants one of them.",
        ),
        (
            RuleSet((Rule("a\x01", DNF.true, (0.9,)),)),
            "XML cannot hold 'a\\x01': it has a control character. Rename it first.",
        ),
        (
            RuleSet((Rule("a", parse("b"), (0.9,)),), {"b": Predicate("\0", ">", 1)}),
            "XML cannot hold '\\x00': it has a control character. Rename it first.",
        ),
    ],
)
def test_what_pmml_cannot_say_is_refused(rules: RuleSet, message: str) -> None:
    with pytest.raises(LogicLensError) as error:
        to_pmml(rules)
    assert str(error.value) == message


def test_parts_of_dates_are_refused_in_one_sentence():
    part = DatePart("weekday", ("begun",))
    with pytest.raises(LogicLensError, match="PMML cannot hold 'weekday of begun', which"):
        to_pmml(one_predicate(Predicate(part.name, ">=", 6, part)))
