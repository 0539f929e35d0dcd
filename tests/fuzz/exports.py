"""Door of exports: hostile rule sets run in SQLite, DuckDB and Python, and are read back from JSON and XML."""

from __future__ import annotations

import json
import math
import sqlite3
from functools import cache
from typing import Any
from xml.etree import ElementTree

from hypothesis import strategies as st

from logiclens.export import from_json, to_dmn, to_english, to_json, to_latex, to_pmml, to_python, to_sql
from logiclens.formula.rule_set import RuleSet
from tests.export_cases import Typed
from tests.fuzz import hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.fuzz.samples import decided

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


def table_of(case: Document) -> dict[str, list[Any]]:
    """The columns of a case, of one length, with the cells of each turned against those of the others."""
    length = max(len(column["cells"]) for column in case["columns"]) + 2
    return {
        column["name"]: [column["cells"][(row + place * case["shift"]) % len(column["cells"])] for row in range(length)]
        for place, column in enumerate(case["columns"])
    }


def check(case: Document, place: Place) -> Outcome:
    """Compare the answers of every export with those of the record, read row by row in plain Python."""
    rules = attempt(RuleSet.from_dict, case["rules"])
    if isinstance(rules, Refused):
        return Outcome.refused
    table = table_of(case)
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    wanted = [decided(case["rules"], row) for row in rows]
    answers = attempt(rules.predict, table)
    if isinstance(answers, Refused):
        raise Failure("rules that are accepted do not predict", answers.message)
    if answers.tolist() != wanted:
        raise Failure("RuleSet.predict is wrong")
    outcomes = [_check_json(rules), _check_python(rules, rows, wanted), _check_texts(rules)]
    outcomes += [_check_sql(rules, case, table, wanted, dialect) for dialect in ("sqlite", "duckdb")]
    return Outcome.refused if Outcome.refused in outcomes else Outcome.agreed


def _check_json(rules: RuleSet) -> Outcome:
    text = attempt(to_json, rules)
    if isinstance(text, Refused):
        return Outcome.refused
    if from_json(text) != rules or from_json(json.dumps(json.loads(text), sort_keys=True)).rules != rules.rules:
        raise Failure("rules are not read back from JSON as they were")
    return Outcome.agreed


def _check_python(rules: RuleSet, rows: list[Document], wanted: list[Any]) -> Outcome:
    source = attempt(to_python, rules)
    if isinstance(source, Refused):
        return Outcome.refused
    namespace: Document = {}
    exec(source, namespace)
    got = [namespace["predict"](row) for row in rows]
    if rules.multilabel:
        right = [[int(fired) for fired in row.values()] for row in got] == wanted
    else:
        right = [Typed.of(label) for label in got] == [Typed.of(label) for label in wanted]
    if not right:
        raise Failure("the Python export answers differently")
    return Outcome.agreed


def _check_texts(rules: RuleSet) -> Outcome:
    documents = [attempt(to_pmml, rules), attempt(to_dmn, rules)]
    for document in documents:
        if not isinstance(document, Refused):
            ElementTree.fromstring(document)
    texts = [attempt(to_english, rules), attempt(to_latex, rules), *documents]
    return Outcome.refused if any(isinstance(text, Refused) for text in texts) else Outcome.agreed


@cache
def _connection(dialect: str) -> Any:
    if dialect == "sqlite":
        return sqlite3.connect(":memory:")
    import duckdb

    return duckdb.connect()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _check_sql(rules: RuleSet, case: Document, table: dict[str, list[Any]], wanted: list[Any], dialect: str) -> Outcome:
    query = attempt(to_sql, rules, dialect=dialect)
    # No SQL text can hold these, nor a column that shares the name of the row number.
    if isinstance(query, Refused) or any("\x00" in name or name.casefold() == "id" for name in table):
        return Outcome.refused
    connection = _connection(dialect)
    kinds = {column["name"]: TYPES[column["kind"]] for column in case["columns"]}
    fields = ", ".join(f"{_quoted(name)} {kinds[name]}" for name in table)
    run = connection.cursor()
    run.execute('DROP TABLE IF EXISTS "rows"')
    run.execute(f'CREATE TABLE "rows" ("id" INTEGER, {fields})')
    cells = list(zip(range(len(wanted)), *table.values(), strict=True))
    try:
        run.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * (len(table) + 1))})', cells)
    except (UnicodeError, RuntimeError):
        # An engine may refuse texts that it cannot store.
        return Outcome.refused
    run.execute(query)
    got = sorted(run.fetchall(), key=lambda row: row[0])
    if rules.multilabel:
        right = [[int(fired) for fired in row[-len(wanted[0]) :]] for row in got] == wanted
    else:
        right = [row[-1] for row in got] == wanted
    if not right:
        raise Failure(f"the SQL export answers differently ({dialect})")
    return Outcome.agreed
