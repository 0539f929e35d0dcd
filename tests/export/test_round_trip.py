"""Rules that leave as a sheet or as DMN come back equal, and what people change in them becomes edits."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from typing import Any

import openpyxl
import pytest
from hypothesis import given

from logiclens.errors import LogicLensError
from logiclens.export import from_dmn, from_xlsx, to_dmn, to_xlsx
from logiclens.formula import Complement, Predicate, Rule, RuleSet, parse
from logiclens.formula.edits import Note
from logiclens.formula.english import TableFacts
from tests.examples import examples
from tests.export_cases import CONCEPTS, DATES, PART_PREDICATES, expected_classes, rows_of, rule_sets, table
from tests.feel import decide

XML_CONCEPTS = CONCEPTS
ROWS = table(120)


@given(rule_sets(CONCEPTS))
@examples(100)
def test_a_sheet_gives_equal_rules(rules: RuleSet) -> None:
    again = from_xlsx(to_xlsx(rules), rules)
    assert again == rules
    assert again.history == ()


@given(rule_sets(XML_CONCEPTS))
@examples(100)
def test_dmn_gives_equal_rules(rules: RuleSet) -> None:
    again = from_dmn(to_dmn(rules), rules)
    assert again == rules
    assert again.history == ()


@given(rule_sets(XML_CONCEPTS))
@examples(60)
def test_dmn_decides_as_the_rules_do(rules: RuleSet) -> None:
    answers = [decide(to_dmn(rules), row) for row in rows_of(ROWS)]
    if rules.multilabel:
        fires = rules.fires(ROWS)
        assert [set(map(str, answer)) for answer in answers] == [
            {rule.name for rule, one in zip(rules.rules, row, strict=True) if one} for row in fires
        ]
    else:
        assert [None if answer is None else str(answer) for answer in answers] == [
            None if label is None else str(label) for label in expected_classes(rules, ROWS)
        ]


@pytest.mark.parametrize("predicate", PART_PREDICATES, ids=str)
def test_dmn_takes_parts_of_dates(predicate: Predicate) -> None:
    name = str(predicate)
    ill = parse(f'"{name}"')
    rules = RuleSet((Rule("a", ill, (0.5,)), Rule("b", Complement(ill), (0.5,))), {name: predicate}, otherwise=1)
    assert from_dmn(to_dmn(rules), rules) == rules
    assert [decide(to_dmn(rules), row) for row in rows_of(DATES)] == rules.predict(DATES).tolist()


def rules() -> RuleSet:
    died = parse('("age >= 60" & sepsis) | "unit is MICU"')
    predicates = {
        "age >= 60": Predicate("age", ">=", 60.0),
        "sepsis": Predicate("sepsis", "==", True),
        "unit is MICU": Predicate("unit", "==", "MICU"),
    }
    kinds = {"age": "number", "sepsis": "boolean", "unit": "text", "=cmd": "number"}
    return RuleSet(
        (Rule("died", died, (0.9, 0.8)), Rule("lived", Complement(died), (0.7,))),
        predicates, otherwise=1, facts=TableFacts("outcome", kinds=kinds, complete=("age",)),
    )  # fmt: skip


def sheet(change: Any, known: RuleSet | None = None) -> bytes:
    """The sheet of the rules after someone edited it in a spreadsheet."""
    book = openpyxl.load_workbook(io.BytesIO(to_xlsx(known or rules())))
    change(book["rules"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_what_an_expert_changes_in_a_sheet_becomes_edits() -> None:
    def change(page: Any) -> None:
        assert [cell.value for cell in page[1]][:8] == [
            "rule", "use", "class", "comment", "confidence", "stability", "condition 1", "condition 2"
        ]  # fmt: skip
        page["G2"], page["D2"] = "age >= 70", "rounded"
        page["B3"], page["D3"] = "no", "not known at admission"
        page["C4"], page["G4"], page["H4"] = "died", "age < 30", "unit is not CCU"

    edited = from_xlsx(sheet(change), rules(), note=Note(who="W"))
    assert [str(cube) for cube in edited.rule("died").cubes] == [
        '"age >= 70" & sepsis', '~"age >= 30" & ~"unit is CCU"'
    ]  # fmt: skip
    assert [(line.what.split()[0], line.why, line.who) for line in edited.history] == [
        ("removed", None, "W"), ("removed", "not known at admission", "W"),
        ("added", "rounded", "W"), ("added", None, "W"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "value", "sentence"),
    [
        ("G2", "agee >= 70", "cell G2 of edited.xlsx: the rules know no column 'agee'; did you mean 'age'?"),
        ("H2", "age >= old", "cell H2 of edited.xlsx: 'age' is compared with a number, got 'old'."),
        ("B3", "maybe", "cell B3 of edited.xlsx must be yes or no, got 'maybe'."),
        ("C2", "dead", "cell C2 of edited.xlsx must name a class, 'died', 'lived', got 'dead'."),
        ("C3", None, "cell C3 of edited.xlsx must name a class, 'died', 'lived', got ''."),
        ("G3", None, "cell G3 of edited.xlsx: a rule needs at least one condition; write no into 'use'"),
        ("G1", "conditoin 1", "cell G1 of edited.xlsx names no column of rules, 'conditoin 1'; did you mean"),
        ("Z2", "note", "cell Z2 of edited.xlsx holds 'note' below no title."),
        ("H3", "not unit is MICU", "row 3 of edited.xlsx: a cube cannot hold both 'unit is MICU' and its negation."),
        ("H2", "not age >= 50", "row 2 of edited.xlsx: no row can satisfy all of"),
    ],
)  # fmt: skip
def test_a_bad_cell_is_named_by_its_address(cell: str, value: str | None, sentence: str) -> None:
    def change(page: Any) -> None:
        page[cell] = value

    known = rules()
    with pytest.raises(LogicLensError) as error:
        from_xlsx(sheet(change), known, name="edited.xlsx")
    assert str(error.value).startswith(sentence)
    assert known == rules()


def test_texts_that_a_spreadsheet_would_compute_are_texts() -> None:
    known = rules().with_rule("died", "unit is '=1+1'").with_rule("died", "unit is '@SUM(A1)' & =cmd >= 3")
    book = openpyxl.load_workbook(io.BytesIO(to_xlsx(known)))
    cells = [cell for row in book["rules"].iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} == {"s", "n"}
    assert "=cmd >= 3" in [cell.value for cell in cells]
    assert from_xlsx(to_xlsx(known), known) == known


def test_statistics_stand_beside_the_rules() -> None:
    measured = rules().measure({"age": [70, 20], "sepsis": [True, False], "unit": ["A", "MICU"]}, ["died", "lived"])
    page = openpyxl.load_workbook(io.BytesIO(to_xlsx(measured.rules, statistics=measured.statistics)))["rules"]
    assert [cell.value for cell in page[1]][6:9] == ["fires on", "finds", "right"]
    assert [[page.cell(row, column).value for column in (7, 8, 9)] for row in (2, 3)] == [[0.5, 1, 1], [0.5, 0, 0]]
    assert from_xlsx(to_xlsx(measured.rules, statistics=measured.statistics), measured.rules) == measured.rules


SPACE = {"dmn": "https://www.omg.org/spec/DMN/20191111/MODEL/"}


def dmn(change: Any) -> bytes:
    """The decision table of the rules after someone edited it in a modeller."""
    root = ET.fromstring(to_dmn(rules()))
    table = root.find(".//dmn:decisionTable", SPACE)
    assert table is not None
    change(table)
    return ET.tostring(root)


def entries(page: ET.Element, row: int) -> list[ET.Element]:
    return page.findall("dmn:rule", SPACE)[row].findall("*/dmn:text", SPACE)


def test_what_an_expert_changes_in_dmn_becomes_edits() -> None:
    def change(page: ET.Element) -> None:
        assert [one.get("label") for one in page.findall("dmn:input", SPACE)] == ["age", "sepsis", "unit"]
        assert [cell.text for cell in entries(page, 0)][:4] == [">= 60", "true", "-", '"died"']
        entries(page, 0)[0].text, entries(page, 0)[5].text = "[70..90)", "rounded"
        page.remove(page.findall("dmn:rule", SPACE)[1])

    edited = from_dmn(dmn(change), rules())
    assert [str(cube) for cube in edited.rule("died").cubes] == ['"age >= 70" & "age < 90" & sepsis']
    assert [line.why for line in edited.history] == [None, None, "rounded"]


@pytest.mark.parametrize(
    ("at", "text", "sentence"),
    [
        (0, "> old", "rule 1 of edited.dmn, column 'age': expected one condition such as '>= 70'"),
        (0, '"old"', "rule 1 of edited.dmn, column 'age': 'age' holds numbers, got '== \"old\"'."),
        (1, "1", "rule 1 of edited.dmn, column 'sepsis': 'sepsis' cannot be compared with '1'."),
        (2, '"A", "B"', "rule 1 of edited.dmn, column 'unit': expected one condition"),
        (2, '> "A"', "rule 1 of edited.dmn, column 'unit': 'unit' holds text, got '> \"A\"'."),
        (3, '"dead"', "rule 1 of edited.dmn must answer a class, 'died', 'lived', got '\"dead\"'."),
    ],
)
def test_a_bad_entry_is_named_by_rule_and_column(at: int, text: str, sentence: str) -> None:
    def change(page: ET.Element) -> None:
        entries(page, 0)[at].text = text

    with pytest.raises(LogicLensError) as error:
        from_dmn(dmn(change), rules(), name="edited.dmn")
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><definitions/>', "it has a document type declaration, which no decision table"),
        ("<definitions", "it is not whole XML"),
        ("<html/>", "it is not a DMN file: its first element is 'html'."),
        (f'<definitions xmlns="{SPACE["dmn"]}"/>', "it must hold one decision table, got 0."),
        (to_dmn(rules()).replace("FIRST", "UNIQUE"), "the hit policy of it must be FIRST, as the rules decide"),
        (to_dmn(rules()).replace('label="age"', 'label="agee"'), "an input of it is 'agee', which is no column"),
    ],
)  # fmt: skip
def test_what_is_no_decision_table_of_the_rules_is_refused(source: str, sentence: str) -> None:
    with pytest.raises(LogicLensError) as error:
        from_dmn(source, rules(), name="it")
    assert str(error.value).startswith(sentence)


def three() -> RuleSet:
    made = [Rule(name, parse(f"{name} | x{name}"), (0.9, 0.8)) for name in "abc"]
    return RuleSet(tuple(made), resolve="order", otherwise=0)


def moved(first: int, then: int) -> str:
    root = ET.fromstring(to_dmn(three()))
    page = root.find(".//dmn:decisionTable", SPACE)
    assert page is not None
    listed = page.findall("dmn:rule", SPACE)
    place = list(page).index(listed[0])
    for one in listed:
        page.remove(one)
    order = list(range(len(listed)))
    order[first : first + 2], order[then : then + 2] = order[then : then + 2], order[first : first + 2]
    for at, row in enumerate(order):
        page.insert(place + at, listed[row])
    return ET.tostring(root, encoding="unicode")


def test_rows_of_classes_that_change_places_change_who_decides() -> None:
    assert from_dmn(moved(0, 4), three()).order == (2, 1, 0)
    with pytest.raises(LogicLensError, match="the rules of 'a' stand in several places: classes decide in an order"):
        from_dmn(moved(1, 4), three())
