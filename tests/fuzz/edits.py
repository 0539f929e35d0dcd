"""Doors of edited rules: scripts of edits and edited sheets, with hostile texts in every place.

Whatever they hold, the answer is rules that predict as their JSON says, also after a round trip, or one sentence.
"""

from __future__ import annotations

import io
from typing import Any

import openpyxl
from hypothesis import strategies as st
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from logiclens.cli.edit import MOVES, apply, read_script
from logiclens.export import from_xlsx, to_xlsx
from logiclens.formula.record import to_dict
from logiclens.formula.rule_set import RuleSet
from tests.fuzz import hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.fuzz.samples import SAMPLES, decided, fitted, rows_of, sample

Document = dict[str, Any]
CONDITIONS = (
    "age >= 60", "age < 60 & flag", "not age >= 33.5", "unit is MICU", "unit != CCU", "age is missing", "flag",
    "dose > 4", "admitted >= 2021-06-01", "weekday of admitted >= 6", "age >= x", "age >= 60 or flag", "agee > 1",
    "age >= 60 & ", "(((age >= 60)))", "~~flag", "unit is 'A & B'", "age >= 1e400", "month of age >= 2",
    '"age >= 60" & "x',
)  # fmt: skip
RULES = ("ill#1", "7#1", "-2#2", "ill#0", "ill#99", "nothing#1", "ill: age >= 60", "#", "ill#", "ill#1#1")
CLASSES = ("ill", "well", "7", "late", "nothing")


def _texts(*usual: str) -> st.SearchStrategy[str]:
    return st.sampled_from(usual) | hostile.texts()


# Scripts -------------------------------------------------------------------------------------------------------------


@st.composite
def script_cases(draw: st.DrawFn) -> Document:
    """Draw a sample and a script: entries as plain data, or any text."""
    values = _texts(*CONDITIONS) | st.integers() | st.floats(allow_nan=False) | st.booleans()
    parts: dict[str, st.SearchStrategy[Any]] = {
        "rule": _texts(*RULES), "class": _texts(*CLASSES), "condition": _texts(*CONDITIONS),
        "conditions": _texts(*CONDITIONS), "value": values, "order": st.lists(_texts(*CLASSES, *RULES), max_size=3),
    }  # fmt: skip
    entries = []
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(sorted(MOVES)))
        entry: Document = {"do": name if draw(st.integers(0, 9)) else draw(hostile.texts())}
        entry |= {key: draw(parts[key]) for key in MOVES[name].needs}
        if draw(st.integers(0, 2)) == 0:
            entry[draw(st.sampled_from(["why", "who", "when", "rule", "other"]))] = draw(values)
        entries.append(entry)
    text = draw(hostile.texts()) if draw(st.integers(0, 9)) == 0 else None
    return {"sample": draw(st.sampled_from(SAMPLES)), "entries": entries, "text": text}


def check_script(case: Document, place: Place) -> Outcome:
    """Apply a script, entry by entry; each leaves the rules before it as they were."""
    if case["text"] is not None:
        path = place.write("script.toml", case["text"].encode("utf-8", "surrogatepass"))
        place.seal()
        if isinstance(found := attempt(read_script, path), Refused):
            return Outcome.refused
        entries = found
    else:
        entries = case["entries"]
    rules, outcome = fitted(case["sample"]).rules_, Outcome.agreed
    for entry in entries:
        before = to_dict(rules)
        edited = attempt(apply, entry, rules)
        if to_dict(rules) != before:
            raise Failure("an edit changed the rules that it was given")
        if isinstance(edited, Refused):
            outcome = Outcome.refused
            continue
        if len(edited.history) != len(rules.history) + 1:
            raise Failure("an edit is not in the history")
        rules = edited
    _check_rules(rules, case["sample"])
    return outcome


def _check_rules(rules: RuleSet, name: str) -> None:
    """Fail unless rules answer as their JSON says, and are adopted by the model or refused in a sentence."""
    record, frame = to_dict(rules), sample(name).frame
    if RuleSet.from_dict(record) != rules:
        raise Failure("edited rules are not read back as they were")
    if rules.predict(frame).tolist() != [decided(record, row) for row in rows_of(frame)]:
        raise Failure("edited rules do not answer as they say")
    adopted = attempt(fitted(name).adopt, rules)
    if not isinstance(adopted, Refused) and adopted.predict(frame).tolist() != rules.predict(frame).tolist():
        raise Failure("an adopted model does not answer as its rules")


# Sheets --------------------------------------------------------------------------------------------------------------


@st.composite
def sheet_cases(draw: st.DrawFn) -> Document:
    """Draw a sample and the cells that someone changes in its sheet."""
    texts = _texts(*CONDITIONS, *CLASSES, "yes", "no", "condition 9", "comment")
    cell = st.tuples(st.integers(1, 6), st.integers(1, 12), st.none() | texts | st.integers() | st.booleans())
    changes = draw(st.lists(cell, min_size=1, max_size=5))
    return {"sample": draw(st.sampled_from(SAMPLES)), "cells": [list(change) for change in changes]}


def check_sheet(case: Document, place: Place) -> Outcome:
    """Change cells of a sheet and read it back."""
    rules = fitted(case["sample"]).rules_
    content = to_xlsx(rules)
    if from_xlsx(content, rules) != rules:
        raise Failure("rules are not read back from their sheet as they were")
    book = openpyxl.load_workbook(io.BytesIO(content))
    for row, column, value in case["cells"]:
        if not isinstance(value, str) or not ILLEGAL_CHARACTERS_RE.search(value):
            book["rules"].cell(row, column).value = value
    out = io.BytesIO()
    book.save(out)
    path = place.write("rules.xlsx", out.getvalue())
    place.seal()
    edited = attempt(from_xlsx, path, rules)
    if isinstance(edited, Refused):
        return Outcome.refused
    _check_rules(edited, case["sample"])
    return Outcome.agreed
