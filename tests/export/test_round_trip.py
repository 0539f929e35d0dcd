"""Rules that leave as a sheet or as DMN come back equal, and what people change in them becomes edits."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given

from logiclens.errors import LogicLensError
from logiclens.export import from_dmn, from_xlsx, to_dmn, to_xlsx
from logiclens.formula import Complement, Predicate, Rule, RuleSet, parse
from logiclens.formula.date_parts import DatePart
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
        assert [cell.value for cell in page[1]][:11] == [
            "rule", "use", "class", "comment", "trust", "stability", "rows it fires on", "right when it fires",
            "finds", "condition 1", "condition 2",
        ]  # fmt: skip
        page["J2"], page["D2"] = "age >= 70", "rounded"
        page["B3"], page["D3"] = "no", "not known at admission"
        page["C4"], page["J4"], page["K4"] = "died", "age < 30", "unit is not CCU"

    edited = from_xlsx(sheet(change), rules(), note=Note(who="W"))
    assert [str(cube) for cube in edited.rule("died").cubes] == [
        '"age >= 70" & sepsis', '~"age >= 30" & ~"unit is CCU"'
    ]  # fmt: skip
    assert [(line.what.split()[0], line.why, line.who) for line in edited.history] == [
        ("changed", "rounded", "W"), ("removed", "not known at admission", "W"), ("added", None, "W"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "value", "sentence"),
    [
        ("J2", "agee >= 70", "cell J2 of edited.xlsx: the rules know no column 'agee'; did you mean 'age'?"),
        ("K2", "age >= old", "cell K2 of edited.xlsx: 'age' is compared with a number, got 'old'."),
        ("B3", "maybe", "cell B3 of edited.xlsx must be yes or no, got 'maybe'."),
        ("C2", "dead", "cell C2 of edited.xlsx must name a class, 'died', 'lived', got 'dead'."),
        ("C3", None, "cell C3 of edited.xlsx must name a class, 'died', 'lived', got ''."),
        ("J3", None, "cell J3 of edited.xlsx: a rule needs at least one condition; write no into 'use'"),
        ("J1", "conditoin 1", "cell J1 of edited.xlsx names no column of rules, 'conditoin 1'; did you mean"),
        ("Z2", "note", "cell Z2 of edited.xlsx holds 'note' below no title."),
        ("K3", "not unit is MICU", "row 3 of edited.xlsx: a cube cannot hold both 'unit is MICU' and its negation."),
        ("K2", "not age >= 50", "row 2 of edited.xlsx: no row can satisfy all of"),
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


@pytest.mark.parametrize("cell", ["J2", "D2", "A2", "B3", "Z9"])
def test_a_formula_in_a_sheet_is_refused(cell: str) -> None:
    def change(page: Any) -> None:
        page[cell] = "=A1"

    with pytest.raises(LogicLensError, match=f"cell {cell} of the sheet 'rules' of it holds a formula"):
        from_xlsx(sheet(change), rules(), name="it")


@pytest.mark.parametrize(
    ("cell", "value", "sentence"),
    [
        ("A2", "died#9", "cell A2 of it: 'died' has no rule number 9"),
        ("A3", "died#1", "cell A3 of it: 'died#1' is named before"),
        ("A2", "x", "cell A2 of it: there is no rule 'x'"),
        ("B2", None, "cell B2 of it must be yes or no, got ''"),
    ],
)
def test_names_of_rules_and_use_are_checked(cell: str, value: str | None, sentence: str) -> None:
    def change(page: Any) -> None:
        page[cell] = value

    with pytest.raises(LogicLensError) as error:
        from_xlsx(sheet(change), rules(), name="it")
    assert str(error.value).startswith(sentence)


def test_two_changed_rows_are_two_edits_with_figures() -> None:
    def change(page: Any) -> None:
        page["J2"], page["J3"] = "age >= 70", "unit is CCU"

    data = {"age": [75, 65, 20], "sepsis": [True, True, False], "unit": ["A", "A", "MICU"]}
    labels = ["died", "died", "lived"]
    edited = from_xlsx(sheet(change), rules(), measure=lambda now: now.measure(data, labels).rules)
    assert [line.what for line in edited.history] == [
        'changed died#1: "age >= 60" & sepsis became "age >= 70" & sepsis',
        'changed died#2: "unit is MICU" became "unit is CCU"',
    ]
    figures = [(line.before.accuracy, line.after.accuracy) for line in edited.history if line.before and line.after]
    assert figures == [(2 / 3, 1 / 3), (1 / 3, 2 / 3)]


@pytest.mark.parametrize("form", ["xlsx", "dmn"])
def test_comments_survive_a_round_trip(form: str) -> None:
    known = rules().with_threshold("age >= 60", 70, why="guideline").with_rule("died", "age >= 90", why="old")
    known = known.with_condition("died#2", "not sepsis", why="told apart").pin("died#1")
    if form == "dmn":
        again = from_dmn(to_dmn(known), known)
        texts = [one.text for one in ET.fromstring(to_dmn(known)).iter(f"{{{SPACE['dmn']}}}text")]
    else:
        again = from_xlsx(to_xlsx(known), known)
        page = openpyxl.load_workbook(io.BytesIO(to_xlsx(known)))["rules"]
        texts = [page[f"D{row}"].value for row in (2, 3, 4)]
        assert texts == ["guideline", "told apart", "old"]
    assert {"guideline", "told apart", "old"} <= set(texts)
    assert again.history == known.history


def test_rules_stay_in_their_order_whatever_their_trust() -> None:
    known = replace(
        rules(), rules=(replace(rules().rules[0], confidence=(0.2, 0.8)), rules().rules[1]), resolve="order"
    )
    for again in (from_dmn(to_dmn(known), known), from_xlsx(to_xlsx(known), known)):
        assert again.history == ()
        assert again.rules[0].cubes == known.rules[0].cubes


def test_a_comment_alone_becomes_a_line_that_stays() -> None:
    def change(page: Any) -> None:
        page["D3"] = "as the unit asked"

    edited = from_xlsx(sheet(change), rules())
    assert edited == rules()
    assert [str(line) for line in edited.history] == [
        'commented on died#2 ("unit is MICU"), because: as the unit asked'
    ]  # fmt: skip
    page = openpyxl.load_workbook(io.BytesIO(to_xlsx(edited)))["rules"]
    assert page["D3"].value == "as the unit asked"


def signed(rules: RuleSet) -> list[tuple[str, str | None, str | None]]:
    return [(line.what.split()[0], line.why, line.who) for line in rules.history]


def reasoned() -> RuleSet:
    known = rules().with_threshold("age >= 60", 61, why="=1+1 round,\r\n as agreed ", who="Weber")
    return known.pin("died#2", who="Weber")


@pytest.mark.parametrize("names", [True, False], ids=["named", "without names"])
def test_an_old_comment_is_no_reason_of_a_change(names: bool) -> None:
    known = reasoned()

    def change(page: Any) -> None:
        page["J2"] = "age >= 70"
        if not names:
            page["A2"], page["A3"] = None, None

    edited = from_xlsx(sheet(change, known), known, note=Note(who="Other"))
    new = signed(edited)[len(known.history) :]
    assert [line[0] for line in new] == (["changed"] if names else ["removed", "added", "the"])
    assert {line[1:] for line in new} == {(None, "Other")}
    # The rule keeps its reason as long as it stands.
    assert list(edited.rules[0].reasons.values()) == ["=1+1 round,\r\n as agreed "] * names


def test_an_old_comment_is_no_reason_to_leave_out() -> None:
    def off(page: Any) -> None:
        page["B2"] = "no"

    def moved(page: Any) -> None:
        page["C2"] = "lived"

    known = reasoned()
    assert signed(from_xlsx(sheet(off, known), known, note=Note(who="Other")))[2:] == [("removed", None, "Other")]
    assert [line[1] for line in signed(from_xlsx(sheet(moved, known), known))[2:]] == [None, None]


def test_pinned_is_never_a_reason() -> None:
    def copied(page: Any) -> None:
        page["C4"], page["D4"], page["J4"] = "died", page["D3"].value, "age >= 90"

    known = reasoned()
    page = openpyxl.load_workbook(io.BytesIO(to_xlsx(known)))["rules"]
    assert page["D3"].value == "pinned"
    edited = from_xlsx(sheet(copied, known), known, note=Note(who="Other"))
    assert signed(edited)[2:] == [("added", None, "Other")]


def test_an_old_comment_is_no_reason_in_dmn() -> None:
    known = reasoned()
    text = to_dmn(known).replace("&gt;= 61", "&gt;= 70")
    assert signed(from_dmn(text, known, note=Note(who="Other")))[2:] == [("changed", None, "Other")]
    said = text.replace("=1+1 round", "the law")
    [(_, why, who)] = signed(from_dmn(said, known, note=Note(who="Other")))[2:]
    assert (why.split(), who) == (["the", "law,", "as", "agreed"], "Other")


def test_classes_that_differ_in_spaces_come_back() -> None:
    labels = {"died": "a", "died ": "b", " died": "c"}
    made = tuple(Rule(label, parse(f"{at} | x{at}"), (0.9, 0.8)) for label, at in labels.items())
    for known in (RuleSet(made, resolve="order", otherwise=0), RuleSet(made, resolve="none")):
        assert from_xlsx(to_xlsx(known), known).history == ()
        assert from_dmn(to_dmn(known), known).history == ()


def test_what_was_not_measured_is_empty_in_a_sheet() -> None:
    page = openpyxl.load_workbook(io.BytesIO(to_xlsx(rules().with_rule("died", "age >= 90"))))["rules"]
    assert [page[f"{column}4"].value for column in "EFGHI"] == [None, "edited by hand", None, None, None]


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
    assert [cell.value for cell in page[1]][6:9] == ["rows it fires on", "right when it fires", "finds"]
    assert [[page.cell(row, column).value for column in (7, 8, 9)] for row in (2, 3)] == [[1, 1, 1], [1, 0, 0]]
    assert from_xlsx(to_xlsx(measured.rules, statistics=measured.statistics), measured.rules) == measured.rules


def test_a_sheet_with_the_titles_of_earlier_releases_is_read() -> None:
    def change(page: Any) -> None:
        titles = {"trust": "confidence", "right when it fires": "precision when it fires", "finds": "Recall"}
        for cell in page[1]:
            cell.value = titles.get(cell.value, cell.value)

    assert from_xlsx(sheet(change), rules()) == rules()


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
    assert [line.why for line in edited.history] == ["rounded", None]


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
    ("subject", "meant", "sentence"),
    [
        ("drunk", Predicate("drunk", "==", 1), "column 'drunk': every value of 'drunk' is 0 or 1, got 9."),
        (
            "weekday of day",
            Predicate("weekday of day", "==", 1, DatePart("weekday", "day")),
            "column 'weekday of day': 'weekday of day' is a number from 1 to 7, got 9.",
        ),
    ],
)
def test_numbers_that_no_row_can_have_are_refused_in_dmn(subject: str, meant: Predicate, sentence: str) -> None:
    known = RuleSet((Rule("ill", parse("asked"), (0.9,)),), {"asked": meant}).knowing({"drunk": [0, 1, 1]})
    with pytest.raises(LogicLensError) as error:
        from_dmn(to_dmn(known).replace("<text>1</text>", "<text>9</text>"), known, name="it")
    assert str(error.value) == f"rule 1 of it, {sentence}"


@pytest.mark.parametrize("text", ['"MICUU"', 'not("MICUU")', '? = "MICU" and ? = "MICUU"'])
def test_a_category_that_no_row_has_is_refused_in_dmn(text: str) -> None:
    def change(page: ET.Element) -> None:
        entries(page, 1)[2].text = text

    known = rules()
    known = replace(known, facts=replace(known.facts, categories={"unit": ("CCU", "MICU")}))
    with pytest.raises(LogicLensError) as error:
        from_dmn(dmn(change), known, name="it")
    assert str(error.value) == (
        "rule 2 of it, column 'unit': no row that the rules were made from has 'MICUU' in 'unit'; did you mean 'MICU'?"
    )


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


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("<text>age</text>", "<text>bun</text>", "the input 'age' of it has the expression 'bun', and its label means"),
        ("<text>&gt;= 60</text>", "<text></text>", "rule 1 of it, column 'age': the cell is empty"),
        ("<text>&gt;= 60</text>", "<text>1</text><text>2</text>", "rule 1 of it, column 'age': a cell has one text"),
        ("<text>died#2</text>", "<text>died#7</text>", "rule 2 of it, annotation 'rule': 'died' has no rule number 7"),
    ],
)
def test_what_a_modeller_breaks_in_dmn_is_refused(old: str, new: str, sentence: str) -> None:
    text = to_dmn(rules())
    assert old in text
    with pytest.raises(LogicLensError) as error:
        from_dmn(text.replace(old, new, 1), rules(), name="it")
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("known", "label", "sentence"),
    [
        (rules(), "lived", None),
        (rules(), "died", "is '\"died\"', and where no rule applies these rules answer 'lived': change the rules"),
        (rules(), "gone", "must answer a class, 'died', 'lived', got '\"gone\"'."),
        (
            replace(rules(), rules=(rules().rules[0],), otherwise=None),
            "died",
            "where no rule applies these rules answer nothing",
        ),
    ],
)
def test_another_answer_where_no_rule_applies_is_refused(known: RuleSet, label: str, sentence: str | None) -> None:
    default = f'<defaultOutputEntry><text>"{label}"</text></defaultOutputEntry>'
    text = re.sub("<output ([^>]*) />", rf"<output \1>{default}</output>", to_dmn(known))
    assert default in text
    if sentence is None:
        assert from_dmn(text, known) == known
        return
    with pytest.raises(LogicLensError) as error:
        from_dmn(text, known, name="it")
    assert str(error.value).startswith("the default output entry of it ")
    assert sentence in str(error.value)


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


@pytest.mark.parametrize("read", [from_xlsx, lambda name, rules: from_dmn(Path(name), rules)])
@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "no/where", "."])
def test_a_file_that_cannot_be_read_is_one_sentence(read, name):
    with pytest.raises(LogicLensError) as caught:
        read(name, RuleSet((Rule("ill", parse("old"), (0.9,)),)))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_half_a_character_in_dmn_is_refused():
    with pytest.raises(LogicLensError, match="the DMN file"):
        from_dmn("<definitions>\ud800</definitions>", RuleSet((Rule("ill", parse("old"), (0.9,)),)))
