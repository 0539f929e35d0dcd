"""Rules of hostile names, texts and numbers answer alike in SQL, Python and JSON, or are refused in one sentence."""

from __future__ import annotations

import json
import math
import sqlite3
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.export import from_json, to_dmn, to_english, to_json, to_latex, to_pmml, to_python, to_sql
from logiclens.formula.rule_set import RuleSet
from tests.export_cases import Typed
from tests.fuzz import hostile
from tests.fuzz.judge import Refused, attempt, hostile_examples, silent
from tests.fuzz.models import decided

Document = dict[str, Any]

CUTS = (
    0.1, 0.7, 1 / 3, 72.5, -0.0, -1.25, 1e-7, 1e22, 16777217.0, 0, 3, -2, 2**53, 5e-324, 4.1e-302,
    1.7976931348623157e308,
)  # fmt: skip
DATES = ("2021-03-01", "2021-06-15 12:30", "2021-06-15T12:30:00.5", "1969-07-20", "2000-02-29")
ORDERS = (">=", ">", "<=", "<")
TYPES = {"number": "DOUBLE PRECISION", "text": "TEXT", "flag": "BOOLEAN", "date": "TIMESTAMP"}

# Cases ---------------------------------------------------------------------------------------------------------------


def labels() -> st.SearchStrategy[list[Any]]:
    """Labels of one kind, as a target has them, or of mixed kinds."""
    kinds = [
        hostile.texts(lone=True),
        hostile.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
    ]
    return st.one_of(*(st.lists(kind, min_size=1, max_size=3, unique=True) for kind in kinds))


@st.composite
def columns(draw: st.DrawFn) -> Document:
    """Draw a column: its name, its kind, its cells and the predicates about it."""
    kind = draw(st.sampled_from(sorted(TYPES)))
    if kind == "number":
        finite = st.floats(allow_nan=False, allow_infinity=False)
        values = list(draw(st.lists(st.sampled_from(CUTS) | st.floats(-1e6, 1e6) | finite, min_size=1, max_size=3)))
        around = [
            v for value in values for v in (value, math.nextafter(value, math.inf), math.nextafter(value, -1e300))
        ]
        cells: list[Any] = [*map(float, around), math.inf, -math.inf, None]
        asked = st.tuples(st.sampled_from([*ORDERS, "=="]), st.sampled_from(values))
    elif kind == "text":
        values = draw(st.lists(hostile.texts(), min_size=1, max_size=3, unique=True))
        cells = [
            *values,
            *(value + " " for value in values[:1]),
            *(value.upper() for value in values[:1]),
            "other",
            None,
        ]
        asked = st.tuples(st.just("=="), st.sampled_from(values))
    elif kind == "flag":
        cells, asked = [True, False, None], st.tuples(st.just("=="), st.booleans())
    else:
        cells = [*DATES, "2021-03-01T00:00:00.000001", None]
        asked = st.tuples(st.sampled_from(ORDERS), st.sampled_from(DATES))
    asked |= st.just(("missing", True))
    predicates = draw(st.lists(asked, min_size=1, max_size=3, unique_by=repr))
    return {"name": draw(hostile.names()), "kind": kind, "cells": cells, "predicates": [list(p) for p in predicates]}


@st.composite
def date_parts(draw: st.DrawFn, dates: list[str]) -> Document:
    """Draw a predicate on a part of a date, or on the days between two."""
    part = draw(st.sampled_from(["month", "weekday", "hour", *(["days"] if len(dates) > 1 else [])]))
    columns = draw(st.permutations(dates))[: 2 if part == "days" else 1]
    name = f"days from {columns[0]} to {columns[-1]}" if part == "days" else f"{part} of {columns[0]}"
    sign, value = draw(st.sampled_from([*ORDERS, "=="])), draw(st.sampled_from([-1, 0, 1, 2, 2.5, 6, 7, 12]))
    return {"column": name, "operator": sign, "value": value, "origin": {"part": part, "columns": list(columns)}}


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw rules as their JSON record, and columns to ask them about."""
    drawn = draw(st.lists(columns(), min_size=1, max_size=3, unique_by=lambda column: column["name"].casefold()))
    predicates: Document = {}
    for column in drawn:
        for sign, value in column["predicates"]:
            name = draw(hostile.names(lone=True))
            if name not in predicates:
                predicates[name] = {"column": column["name"], "operator": sign, "value": value}
    dates = [column["name"] for column in drawn if column["kind"] == "date"]
    for name in draw(st.lists(hostile.names(lone=True), max_size=2)) if dates else []:
        if name not in predicates:
            predicates[name] = draw(date_parts(dates))
    concepts = sorted(predicates)
    named = draw(labels())
    classes = []
    for label in named:
        cubes = draw(
            st.lists(st.dictionaries(st.sampled_from(concepts), st.booleans(), max_size=3), max_size=3, unique_by=str)
        )
        trust = st.sampled_from([0.25, 0.5, 0.75])
        classes.append({"class": label, "cubes": [{"if": cube, "confidence": draw(trust)} for cube in cubes]})
    several, resolve = draw(st.booleans()), draw(st.sampled_from(["order", "confidence", "none"]))
    otherwise: int | None = draw(st.none() | st.integers(0, len(classes) - 1))
    order = draw(st.permutations(range(len(classes)))) if resolve == "order" and not several else []
    if len(classes) == 2 and not several and draw(st.booleans()):
        classes[1] = {"class": named[1], "complement_of": 0, "confidence": 0.5}
        otherwise, order = 1, [0] if resolve == "order" else []
    record = {
        "kind": "logiclens rules", "schema": 2, "classes": classes, "predicates": predicates, "exclusive": [],
        "implied": [], "resolve": resolve, "otherwise": None if several else otherwise, "multilabel": several,
        "order": list(order),
    }  # fmt: skip
    return {"rules": record, "columns": drawn, "shift": draw(st.integers(1, 5))}


# Checks --------------------------------------------------------------------------------------------------------------


@given(cases())
@hostile_examples(200)
def test_every_export_answers_as_the_rules_do(case: Document) -> None:
    rules = attempt(RuleSet.from_dict, case["rules"])
    if isinstance(rules, Refused):
        return
    table = table_of(case)
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    expected = [decided(case["rules"], row) for row in rows]
    with silent():
        assert rules.predict(table).tolist() == expected
        check_json(rules)
        check_python(rules, rows, expected)
        check_texts(rules)
        for dialect in ("sqlite", "duckdb"):
            check_sql(rules, case, table, expected, dialect)


def table_of(case: Document) -> dict[str, list[Any]]:
    """The columns of a case, of one length, with the cells of each turned against those of the others."""
    length = max(len(column["cells"]) for column in case["columns"]) + 2
    return {
        column["name"]: [column["cells"][(row + place * case["shift"]) % len(column["cells"])] for row in range(length)]
        for place, column in enumerate(case["columns"])
    }


def check_json(rules: RuleSet) -> None:
    text = attempt(to_json, rules)
    if not isinstance(text, Refused):
        assert from_json(text) == rules
        assert from_json(json.dumps(json.loads(text), sort_keys=True)).rules == rules.rules


def check_python(rules: RuleSet, rows: list[Document], expected: list[Any]) -> None:
    source = attempt(to_python, rules)
    if isinstance(source, Refused):
        return
    namespace: Document = {}
    exec(source, namespace)
    answers = [namespace["predict"](row) for row in rows]
    if rules.multilabel:
        assert [[int(fires) for fires in row.values()] for row in answers] == expected
    else:
        assert [Typed.of(label) for label in answers] == [Typed.of(label) for label in expected]


def check_texts(rules: RuleSet) -> None:
    for document in (attempt(to_pmml, rules), attempt(to_dmn, rules)):
        if not isinstance(document, Refused):
            ElementTree.fromstring(document)
    attempt(to_english, rules)
    attempt(to_latex, rules)


@cache
def connection(dialect: str) -> Any:
    if dialect == "sqlite":
        return sqlite3.connect(":memory:")
    return pytest.importorskip("duckdb").connect()


def check_sql(rules: RuleSet, case: Document, table: dict[str, list[Any]], expected: list[Any], dialect: str) -> None:
    query = attempt(to_sql, rules, dialect=dialect)
    # No SQL text can hold these, nor a column that shares the name of the row number.
    if isinstance(query, Refused) or any("\x00" in name or name.casefold() == "id" for name in table):
        return
    kinds = {column["name"]: TYPES[column["kind"]] for column in case["columns"]}
    fields = ", ".join('"' + name.replace('"', '""') + f'" {kinds[name]}' for name in table)
    run = connection(dialect).cursor()
    run.execute('DROP TABLE IF EXISTS "rows"')
    run.execute(f'CREATE TABLE "rows" ("id" INTEGER, {fields})')
    cells = list(zip(range(len(expected)), *table.values(), strict=True))
    try:
        run.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * (len(table) + 1))})', cells)
    except (UnicodeError, RuntimeError):
        # An engine may refuse texts that it cannot store.
        return
    run.execute(query)
    answers = sorted(run.fetchall(), key=lambda row: row[0])
    if rules.multilabel:
        assert [[int(fires) for fires in row[-len(expected[0]) :]] for row in answers] == expected
    else:
        assert [row[-1] for row in answers] == expected
