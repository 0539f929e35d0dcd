"""Rules that leave as a sheet come back equal, and what people change in it becomes edits."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import openpyxl
import pytest
from hypothesis import given

from logiclens.errors import LogicLensError
from logiclens.export import from_xlsx, to_xlsx
from logiclens.formula import Complement, Predicate, Rule, RuleSet, parse
from logiclens.formula.edits import Note
from logiclens.formula.english import TableFacts
from tests.examples import examples
from tests.export_cases import CONCEPTS, rule_sets


@given(rule_sets(CONCEPTS))
@examples(100)
def test_a_sheet_gives_equal_rules(rules: RuleSet) -> None:
    again = from_xlsx(to_xlsx(rules), rules)
    assert again == rules
    assert again.history == ()


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


def test_comments_survive_a_round_trip() -> None:
    known = rules().with_threshold("age >= 60", 70, why="guideline").with_rule("died", "age >= 90", why="old")
    known = known.with_condition("died#2", "not sepsis", why="told apart").pin("died#1")
    page = openpyxl.load_workbook(io.BytesIO(to_xlsx(known)))["rules"]
    assert [page[f"D{row}"].value for row in (2, 3, 4)] == ["guideline", "told apart", "old"]
    again = from_xlsx(to_xlsx(known), known)
    assert again.history == known.history


def test_rules_stay_in_their_order_whatever_their_trust() -> None:
    known = replace(
        rules(), rules=(replace(rules().rules[0], confidence=(0.2, 0.8)), rules().rules[1]), resolve="order"
    )
    again = from_xlsx(to_xlsx(known), known)
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


def test_classes_that_differ_in_spaces_come_back() -> None:
    labels = {"died": "a", "died ": "b", " died": "c"}
    made = tuple(Rule(label, parse(f"{at} | x{at}"), (0.9, 0.8)) for label, at in labels.items())
    for known in (RuleSet(made, resolve="order", otherwise=0), RuleSet(made, resolve="none")):
        assert from_xlsx(to_xlsx(known), known).history == ()


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


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "no/where", "."])
def test_a_file_that_cannot_be_read_is_one_sentence(name):
    with pytest.raises(LogicLensError) as caught:
        from_xlsx(name, RuleSet((Rule("ill", parse("old"), (0.9,)),)))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
