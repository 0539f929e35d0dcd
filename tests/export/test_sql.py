"""SQL: SQLite, DuckDB and PostgreSQL run every query and predict what the rules predict."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest
import sqlglot
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from sqlglot import exp

from logiclens.errors import LogicLensError
from logiclens.export import sql_condition, to_json, to_sql
from logiclens.formula import DNF, Complement, Cube, Literal, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from tests import postgres
from tests.examples import examples
from tests.export_cases import (
    CUTS,
    DATE_TEXTS,
    DATES,
    NASTY,
    NASTY_TEXT,
    PART_PREDICATES,
    PREDICATES,
    around,
    expected_classes,
    one_predicate,
    rule_sets,
    table,
)
from tests.strategies import AWKWARD_NAMES

ENGINES = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL"}
TABLE = table(300)
TYPES = {
    "count": "INTEGER", "flag": "BOOLEAN", "unit": "TEXT", "admitted": "TIMESTAMP", "born": "DATE", "note": "TEXT",
}  # fmt: skip
once_for_all_examples = examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass
class Engine:
    """A database that is spoken to in one dialect."""

    dialect: str
    connection: Any
    mark: str = "?"
    loaded: set[str] = field(default_factory=set)

    def execute(self, query: str) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(query)
        return cursor

    def load(self, name: str, columns: dict[str, list[Any]], types: dict[str, str]) -> None:
        """A table whose first column counts the rows."""
        if name in self.loaded:
            return
        self.loaded.add(name)
        quoted = [self.quote(column) for column in columns]
        kinds = [types.get(column, "DOUBLE PRECISION") for column in columns]
        fields = ", ".join(f"{column} {kind}" for column, kind in zip(quoted, kinds, strict=True))
        self.execute(f"CREATE TABLE {self.quote(name)} (id INTEGER, {fields})")
        cells = [*zip(range(len(next(iter(columns.values())))), *columns.values(), strict=True)]
        # The driver of PostgreSQL reads % where values come with the query, and only there.
        into = self.quote(name).replace("%", "%%") if self.mark == "%s" else self.quote(name)
        insert = f"INSERT INTO {into} VALUES ({', '.join([self.mark] * (len(columns) + 1))})"
        self.connection.cursor().executemany(insert, cells)

    @staticmethod
    def quote(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def answers(self, query: str, n_columns: int = 1) -> list[Any]:
        """The last columns of the result, in the order of the rows."""
        rows = sorted(self.execute(query).fetchall())  # the first column is the number of the row
        last = [row[-n_columns:] for row in rows]
        return [row[0] for row in last] if n_columns == 1 else last


@pytest.fixture(scope="module")
def postgres_connection() -> Iterator[Any]:
    with postgres.server(postgres.binaries()) as address, psycopg.connect(address, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "sqlite":
        return Engine("sqlite", sqlite3.connect(":memory:"))
    if request.param == "duckdb":
        return Engine("duckdb", duckdb.connect())
    return Engine("postgres", request.getfixturevalue("postgres_connection"), mark="%s")


@pytest.fixture(scope="module")
def rows(engine: Engine) -> Engine:
    """The engine with the table of boundaries in it."""
    engine.load("rows", TABLE, TYPES)
    return engine


def same_type(engine: Engine, got: Any, wanted: Any) -> bool:
    # SQLite has no Booleans: it answers with 1 and 0.
    return type(got) is type(wanted) or (engine.dialect == "sqlite" and isinstance(wanted, bool) and type(got) is int)


def bare(condition: str) -> str:
    """A condition behind its heading, the function that only its engine has, and what SQLite checks of its cells."""
    guarded = condition.partition(" IS NULL AND ")[2].removesuffix(")")
    return guarded.partition(" ELSE 1 END) AND ")[2] or guarded


def without_guard(query: str, dialect: str) -> str:
    """A query that DuckDB answers for another engine, without the function that only that engine has."""
    tree = sqlglot.parse_one(query, read=dialect)
    tree.set("where", None)
    return tree.sql("duckdb")


LARGEST, SMALLEST = 1.7976931348623157e308, 5e-324
CROSSED = [
    *PREDICATES.values(),
    *(Predicate("dose", operator, bound) for operator in (">=", "<") for bound in (LARGEST, SMALLEST, -LARGEST)),
    *(Predicate(column, "==", 0) for column in ("count", "lab")),
]


@cache
def texts_of(dialect: str) -> list[tuple[str, list[Any]]]:
    """The SQL of many rules in one dialect, with what the rules predict; nothing if the dialect is refused."""
    cases = [one_predicate(predicate) for predicate in CROSSED]
    yes, no = cases[0].rules
    for labels in ((0.1, 1 / 3), (True, False), (7, 2**40), (" a", "it's")):
        cases.append(replace(cases[0], rules=(replace(yes, label=labels[0]), replace(no, label=labels[1]))))
    made = []
    for rules in cases:
        try:
            made.append((to_sql(rules, dialect=dialect), expected_classes(rules, TABLE)))
        except LogicLensError:
            continue
    return made


@pytest.mark.parametrize("dialect", sorted(name.lower() for name in sqlglot.Dialects.__members__ if name != "DIALECT"))
def test_a_text_answers_equally_or_stops_with_an_error(rows: Engine, dialect: str) -> None:
    texts = texts_of(dialect)
    assert texts or dialect not in ENGINES
    for query, expected in texts:
        first_line = query.partition("\n")[0]
        assert first_line.startswith("-- logiclens rules for ")
        assert ("not executed" in first_line) == (dialect not in ENGINES)
        try:
            got = rows.answers(query)
        except Exception:  # each engine has its own errors
            assert dialect != rows.dialect, query
            continue
        assert got == expected, query
    if dialect in ENGINES:
        assert ENGINES[dialect] in texts[0][0].partition("\n")[0]


@pytest.mark.parametrize("kind", ["TEXT", "NUMERIC"])
@pytest.mark.parametrize(
    "predicate",
    [
        Predicate("x", ">=", 72.5), Predicate("x", "<", 72.5), Predicate("x", "==", True),
        Predicate("x", ">=", "2021-03-01"), Predicate("x", "<=", "2021-03-01T12:30"),
        Predicate("weekday of x", ">=", 2, DatePart("weekday", ("x",))),
    ],
    ids=str,
)  # fmt: skip
def test_sqlite_stops_at_cells_that_the_rules_refuse(predicate: Predicate, kind: str) -> None:
    """A column of SQLite holds cells of any type: gaps of a CSV file are empty texts, which are above all numbers."""
    rules, lite = one_predicate(predicate), Engine("sqlite", sqlite3.connect(":memory:"))
    lite.load("rows", {"x": []}, {"x": kind})
    query, n_answered = to_sql(rules, dialect="sqlite"), 0
    for cell in (*DATE_TEXTS, "", "abc", "9", "80", b"80", 80, 72.25, 20210301, None):
        lite.execute('DELETE FROM "rows"')
        lite.connection.execute('INSERT INTO "rows" VALUES (0, ?)', (cell,))
        try:
            got = lite.answers(query)
        except sqlite3.OperationalError:
            continue
        assert got == rules.predict({"x": np.array([cell], dtype=object)}).tolist(), cell
        n_answered += 1
    assert n_answered


def test_a_condition_of_another_dialect_is_an_error(rows: Engine) -> None:
    for dialect in ENGINES:
        condition = sql_condition(Literal("old"), PREDICATES, dialect=dialect)
        assert condition.startswith(f"/* logiclens rules for {ENGINES[dialect]};")
        if dialect != rows.dialect:
            with pytest.raises(Exception, match=r"(?i)function|parameter|type"):
                rows.execute(f'SELECT id, {condition} FROM "rows"').fetchall()


@pytest.mark.parametrize("dialect", ENGINES)
def test_columns_that_differ_in_case_alone_are_refused(dialect: str, tmp_path: Path) -> None:
    """DuckDB reads the columns of such a file as "unit" and "UNIT_1", so that "UNIT" would be the first one."""
    rules = RuleSet((Rule("yes", parse('"UNIT >= 5"'), (0.9,)), Rule("no", parse('~"UNIT >= 5"'), (0.9,))),
                    {"UNIT >= 5": Predicate("UNIT", ">=", 5)})  # fmt: skip
    table = {"unit": [1, 9, 1, 9], "UNIT": [9, 9, 1, 1], "dose": [1, 2, 3, 4]}
    message = "the columns 'UNIT' and 'unit' differ in case alone, which SQL takes for one: rename one"
    rules_that_read_one = rules.knowing(table)
    (tmp_path / "rules.json").write_text(to_json(rules_that_read_one), encoding="utf-8")
    for refused in (rules_that_read_one, RuleSet.load(tmp_path / "rules.json")):
        with pytest.raises(LogicLensError, match=message):
            to_sql(refused, dialect=dialect)
        with pytest.raises(LogicLensError, match=message):
            sql_condition(refused.formulas[0], refused, dialect=dialect)
    with pytest.raises(LogicLensError, match="'A' and 'a' differ in case alone"):
        to_sql(RuleSet((Rule("yes", parse("A & ~a"), (0.9,)),)), dialect=dialect)
    # Columns that the rules do not read may be called as they like.
    to_sql(RuleSet((Rule("yes", parse("dose"), (0.9,)),)).knowing(table), dialect=dialect)


@once_for_all_examples
@given(rule_sets(multilabel=False))
def test_the_class_of_every_row(rows: Engine, rules: RuleSet) -> None:
    got, wanted = rows.answers(to_sql(rules, dialect=rows.dialect)), expected_classes(rules, TABLE)
    assert got == wanted
    assert all(same_type(rows, a, b) for a, b in zip(got, wanted, strict=True))


def test_parts_of_dates_on_every_row(engine: Engine) -> None:
    engine.load("dates", DATES, {"begun": "TIMESTAMP", "ended": "DATE"})
    for predicate in PART_PREDICATES:
        rules = one_predicate(predicate)
        got = engine.answers(to_sql(rules, table="dates", dialect=engine.dialect))
        assert got == rules.predict(DATES).tolist(), str(predicate)


def test_a_dialect_without_parts_of_dates_says_so() -> None:
    with pytest.raises(LogicLensError, match="'weekday of begun' has no tested form in the SQL of oracle: ") as error:
        to_sql(one_predicate(Predicate("weekday of begun", ">=", 6, DatePart("weekday", ("begun",)))), dialect="oracle")
    assert "learn them without parts of dates, Booleaniser(date_parts=False)" in str(error.value)


def test_parts_of_dates_in_tsql() -> None:
    """sqlglot reads the query as T-SQL, and DuckDB answers it; dates before 1900 count back from a Monday."""
    engine, old = Engine("duckdb", duckdb.connect()), "1899-12-{:02}T23:59:59"
    dates = {name: [*cells, *(old.format(day) for day in range(20, 32))] for name, cells in DATES.items()}
    dates["ended"] = [None if cell is None else cell[:10] for cell in dates["ended"]]
    engine.load("dates", dates, {"begun": "TIMESTAMP", "ended": "DATE"})
    for predicate in PART_PREDICATES:
        rules = one_predicate(predicate)
        query = to_sql(rules, table="dates", dialect="tsql")
        # What these answer depends on the session.
        assert not re.search("weekday|isodow", query.lower())
        got = engine.answers(without_guard(query, "tsql"))
        assert got == rules.predict(dates).tolist(), str(predicate)


@once_for_all_examples
@given(rule_sets())
def test_the_formulas_on_every_row(rows: Engine, rules: RuleSet) -> None:
    n_classes = len(rules.rules)
    query = to_sql(rules, dialect=rows.dialect, what="class" if rules.multilabel else "formulas")
    fires = rules.fires(TABLE).tolist()
    got = rows.answers(query, n_classes)
    assert [list(row) for row in got] == fires if n_classes > 1 else got == [row[0] for row in fires]


@once_for_all_examples
@given(rule_sets(multilabel=False))
def test_both_at_once(rows: Engine, rules: RuleSet) -> None:
    got = rows.answers(to_sql(rules, dialect=rows.dialect, what="both"), 1 + len(rules.rules))
    wanted = zip(expected_classes(rules, TABLE), rules.fires(TABLE).tolist(), strict=True)
    assert got == [(label, *fires) for label, fires in wanted]


@once_for_all_examples
@given(st.data())
def test_a_condition_is_never_null_and_can_be_negated(rows: Engine, data: st.DataObject) -> None:
    rules = data.draw(rule_sets())
    formula = data.draw(st.sampled_from(rules.formulas))
    constant = formula in (DNF.true, Complement(DNF.false))
    wanted = formula.evaluate(rules.pack(TABLE)).tolist() if formula.concepts else [constant] * 300
    condition = sql_condition(formula, rules, dialect=rows.dialect)
    assert rows.answers(f'SELECT id, {condition} FROM "rows"') == wanted
    assert rows.answers(f'SELECT id, NOT {condition} FROM "rows"') == [not held for held in wanted]


@pytest.mark.parametrize("concept", PREDICATES)
@pytest.mark.parametrize("positive", [True, False])
def test_each_predicate_alone(rows: Engine, concept: str, positive: bool) -> None:
    held = PREDICATES[concept].holds(TABLE[PREDICATES[concept].column])
    condition = sql_condition(Literal(concept, positive), PREDICATES, dialect=rows.dialect)
    assert rows.answers(f'SELECT id, {condition} FROM "rows"') == (held == positive).tolist()


def test_without_nan_the_text_is_plainer_and_means_the_same(rows: Engine) -> None:
    formula = parse('old & ~dosed | many | "no age" & "no lab" | ~"no count" & "no smoker" & smoker')
    rules = RuleSet((Rule("ill", formula, (0.9, 0.8, 0.7, 0.6)),), PREDICATES)
    plain, careful = (to_sql(rules, dialect=rows.dialect, nan=nan) for nan in (False, True))
    assert "nan" not in plain.lower()
    assert ("NaN" in careful) == (rows.dialect != "sqlite")
    rows.load("no nan", {c: [None if v != v else v for v in vs] for c, vs in TABLE.items()}, TYPES)
    query = to_sql(rules, dialect=rows.dialect, nan=False, table="no nan")
    assert rows.answers(query) == expected_classes(rules, TABLE)


def columns_at_the_cuts() -> dict[str, list[Any]]:
    doubles = [*around(*CUTS), None, math.nan]
    singles = [None if value is None else float(np.float32(value)) for value in doubles]
    return {"double": doubles, "single": singles}


@pytest.mark.parametrize("operator", [">=", ">", "<=", "<", "=="])
@pytest.mark.parametrize("column", ["double", "single"])
def test_numbers_arrive_exactly(engine: Engine, operator: Any, column: str) -> None:
    """Also in a column of float32: its values are compared as the float64 they are, as by the rules."""
    columns = columns_at_the_cuts()
    # SQLite has no float32: its REAL holds the same numbers in float64.
    engine.load("cuts", columns, {"single": "REAL"})
    for cut in (*CUTS, 16777217, 60):
        predicate = Predicate(column, operator, cut)
        condition = sql_condition(Literal("c"), {"c": predicate}, dialect=engine.dialect)
        assert engine.answers(f'SELECT id, {condition} FROM "cuts"') == predicate.holds(columns[column]).tolist(), cut


def test_decimal_and_whole_columns_are_compared_exactly(engine: Engine) -> None:
    texts = ["0.1", "0.7", "72.5", "72.4", "-1.25", "0.3", None]
    decimals = [None if text is None else Decimal(text) for text in texts]
    whole = [0, 1, 73, 2**62, -(2**62), 7, None]
    values = [None if text is None else float(text) for text in texts] if engine.dialect == "sqlite" else decimals
    engine.load("exact", {"decimal": values, "whole": whole}, {"decimal": "DECIMAL(12, 4)", "whole": "BIGINT"})
    for cut in (*CUTS, 0.00012345678901234567, 73, 0):
        for column, cells in (("decimal", decimals), ("whole", whole)):
            for operator in (">=", ">", "<=", "<", "=="):
                predicate = Predicate(column, operator, cut)  # type: ignore[arg-type]
                condition = sql_condition(Literal("c"), {"c": predicate}, dialect=engine.dialect)
                got = engine.answers(f'SELECT id, {condition} FROM "exact"')
                assert got == predicate.holds(np.array(cells, dtype=object)).tolist(), (cut, column, operator)


SPELLINGS = ("2021-03-01", "2021-03-01 00:00", "2021-03-01T00:00:00", "2021-03-01 00:00:00.000")
STAMPS = [
    *SPELLINGS, "2021-02-28", "2021-02-28T23:59:59.999999", "2021-03-01T00:00:00.000001", "2021-03-01 12:30",
    "2021-03-01T12:30:00.25", "2021-03-02", "0001-01-01", "9999-12-31T23:59:59", None,
]  # fmt: skip


@pytest.mark.parametrize("operator", [">=", ">", "<=", "<"])
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
def test_dates_are_compared_as_the_rules_compare_them(engine: Engine, operator: Any, kind: str) -> None:
    """In SQLite all of these are texts, whichever of their parts are written."""
    if kind.endswith("ZONE") and engine.dialect != "sqlite":
        engine.execute("SET TimeZone = 'UTC'")
    cells = [cell and cell[:10] if kind == "DATE" else cell for cell in STAMPS]
    engine.load(f"a {kind}", {"on": cells}, {"on": kind})
    for value in (*SPELLINGS[:3], "2021-03-01T12:30", "2021-03-01 12:30:00.250001", "0001-01-01", "9999-12-31"):
        predicate = Predicate("on", operator, value)
        for positive in (True, False):
            condition = sql_condition(Literal("c", positive), {"c": predicate}, dialect=engine.dialect)
            wanted = (predicate.holds(cells) == positive).tolist()
            assert engine.answers(f'SELECT id, {condition} FROM "a {kind}"') == wanted, (value, condition)


@pytest.mark.parametrize("operator", [">=", ">", "<=", "<"])
def test_durations_are_compared_as_the_rules_compare_them(engine: Engine, operator: Any) -> None:
    if engine.dialect == "sqlite":
        pytest.skip("SQLite has no intervals, and to_sql says so")
    hours = (0, 6, 24, 53.999, 54, 240, -6, -24, -54, -54.001)
    cells = [*(timedelta(hours=count) for count in hours), timedelta(microseconds=1), None]
    engine.load("stays", {"stay": cells}, {"stay": "INTERVAL"})
    texts = ("0 days", "1 day", "2 days 06:00:00", "10 days", "-1 days +18:00:00", "-3 days +18:00:00", "-1 days")
    for value in (*texts, "0 days 00:00:00.000001"):
        predicate = Predicate("stay", operator, value)
        for positive in (True, False):
            condition = sql_condition(Literal("c", positive), {"c": predicate}, dialect=engine.dialect)
            wanted = (predicate.holds(cells) == positive).tolist()
            assert engine.answers(f'SELECT id, {condition} FROM "stays"') == wanted, (value, condition)


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("TEXT", ["NaN", "nan", "", "NULL", "x", None]),
        ("REAL", [math.nan, 0.0, math.inf, None]),
        ("DOUBLE PRECISION", [math.nan, -math.inf, 1e300, None]),
        ("DECIMAL(12, 4)", [Decimal("0.5"), None]),
        ("BIGINT", [2**60, 0, None]),
        ("BOOLEAN", [True, False, None]),
        ("DATE", ["2021-03-01", None]),
        ("TIMESTAMP", ["2021-03-01 12:30:00", None]),
    ],
)
def test_missing_values_are_found_in_columns_of_any_type(engine: Engine, kind: str, cells: list[Any]) -> None:
    """Nothing but `missing` is asked of it, so that no other predicate tells what it holds."""
    given = [float(cell) if isinstance(cell, Decimal) and engine.dialect == "sqlite" else cell for cell in cells]
    engine.load(f"any {kind}", {"x": given}, {"x": kind})
    for positive in (True, False):
        literal, meaning = Literal("c", positive), {"c": Predicate("x", "missing")}
        wanted = [(cell is None or cell != cell) == positive for cell in cells]
        for boolean in (None, ["x"] if kind == "BOOLEAN" else []):
            condition = sql_condition(literal, meaning, dialect=engine.dialect, boolean=boolean)
            assert engine.answers(f'SELECT id, {condition} FROM "any {kind}"') == wanted
        if math.nan not in cells:
            condition = sql_condition(literal, meaning, dialect=engine.dialect, nan=False)
            assert bare(condition) == ("" if positive else "NOT ") + '"x" IS NULL'
            assert engine.answers(f'SELECT id, {condition} FROM "any {kind}"') == wanted


def test_decimal_nan_is_missing_where_there_is_one(engine: Engine) -> None:
    if engine.dialect != "postgres":
        pytest.skip("only PostgreSQL has NaN among its decimal numbers")
    engine.load("decimal nan", {"x": [Decimal("NaN"), Decimal(1), None]}, {"x": "NUMERIC"})
    for meaning in ({}, {"d": Predicate("x", ">", 0)}):
        condition = sql_condition(Literal("c"), {"c": Predicate("x", "missing"), **meaning}, dialect="postgres")
        assert engine.answers(f'SELECT id, {condition} FROM "decimal nan"') == [True, False, True]


def test_a_text_is_compared_exactly(engine: Engine) -> None:
    texts = ["MICU", "micu", "MICU ", " MICU", "MİCU", "2021-03-01", "1", "", None]
    engine.load("texts", {"unit": texts}, {"unit": "TEXT"})
    for text in texts[:-1]:
        predicate = Predicate("unit", "==", text)
        condition = sql_condition(Literal("c"), {"c": predicate}, dialect=engine.dialect)
        assert engine.answers(f'SELECT id, {condition} FROM "texts"') == predicate.holds(texts).tolist()


BOOLEAN = {"told": [True, False, None], "number": [1, 0, None]}


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        (">=", 0.5), ("<", 0.5), ("<=", 1), (">", 1), ("==", 1), ("==", 0), ("==", True), ("==", False), ("==", "x"),
        ("missing", True),
    ],
)  # fmt: skip
def test_boolean_columns(engine: Engine, operator: Any, value: Any) -> None:
    engine.load("told", BOOLEAN, {"told": "BOOLEAN", "number": "INTEGER"})
    for column in ("told", "number"):
        if column == "number" and isinstance(value, str):
            continue
        predicate = Predicate(column, operator, value)
        for positive in (True, False):
            formula = Literal("c", positive)
            condition = sql_condition(formula, {"c": predicate}, dialect=engine.dialect, boolean=["told"])
            wanted = [held == positive for held in predicate.holds(BOOLEAN[column]).tolist()]
            assert engine.answers(f'SELECT id, {condition} FROM "told"') == wanted


def test_comparisons_with_true_accept_0_and_1_where_possible(engine: Engine) -> None:
    engine.load("told", BOOLEAN, {"told": "BOOLEAN", "number": "INTEGER"})
    columns = ("told",) if engine.dialect == "postgres" else ("told", "number")
    for column in columns:
        condition = sql_condition(Literal("c"), {"c": Predicate(column, "==", True)}, dialect=engine.dialect)
        assert engine.answers(f'SELECT id, {condition} FROM "told"') == [True, False, False]


AWKWARD = [name for name in AWKWARD_NAMES if "\0" not in name]


def test_names_and_labels_of_every_kind(engine: Engine) -> None:
    """Each as a table, a column, a text to compare with, a class and the column of the class."""
    engine.execute("CREATE TABLE t (id INTEGER)")
    for number, name in enumerate([*AWKWARD, NASTY, "'; DROP TABLE t; --", "x' OR '1'='1"]):
        columns = {name: [name, name + "x", None]}
        engine.load(f"{number} {name}", columns, {name: "TEXT"})
        rules = RuleSet(
            (Rule(name, parse("c"), (0.9,)), Rule("else", DNF.false, ())), {"c": Predicate(name, "==", name)}
        )
        query = to_sql(rules, table=f"{number} {name}", dialect=engine.dialect, what="both", name=f"class {name}")
        cursor = engine.execute(query)
        assert [column[0] for column in cursor.description] == ["id", name, f"class {name}", name, "else"]
        assert sorted(cursor.fetchall())[0][2:] == (name, True, False)
        assert engine.answers(query, 3)[1:] == [(None, False, False)] * 2
    assert engine.answers("SELECT * FROM t") == []


def test_a_table_in_a_schema(engine: Engine) -> None:
    if engine.dialect != "sqlite":
        engine.execute('CREATE SCHEMA "clinic"')
    schema = "main" if engine.dialect == "sqlite" else "clinic"
    engine.execute(f'CREATE TABLE {schema}."stays" (id INTEGER, a REAL)')
    engine.execute(f'INSERT INTO {schema}."stays" VALUES (0, 1)')
    rules = RuleSet((Rule("yes", parse("a"), (0.9,)),))
    assert engine.answers(to_sql(rules, table=(schema, "stays"), dialect=engine.dialect)) == ["yes"]


def test_a_table_of_three_parts() -> None:
    rules = RuleSet((Rule("yes", parse("a"), (0.9,)),))
    assert 'FROM "warehouse"."clinic"."stays"\n' in to_sql(rules, table=["warehouse", "clinic", "stays"])


def test_a_column_that_is_not_there_is_an_error(rows: Engine) -> None:
    """SQLite would take "absent" for a text, which is above every number, and DuckDB for the answer of that name."""
    for label, predicate in (("yes", Predicate("absent", ">=", 0.5)), ("absent", Predicate("absent", "==", True))):
        meaning = {**PREDICATES, "c": predicate}
        rules = RuleSet((Rule(label, parse("old"), (0.9,)), Rule("no", parse("c"), (0.9,))), meaning)
        with pytest.raises(Exception, match="absent"):
            rows.execute(to_sql(rules, dialect=rows.dialect, what="formulas")).fetchall()


def test_labels_of_several_kinds_come_out_as_texts(rows: Engine) -> None:
    rules = RuleSet(
        (Rule(1, parse("old"), (0.9,)), Rule("b", parse("~old"), (0.9,)), Rule(True, DNF.false, ())), PREDICATES
    )
    assert rows.answers(to_sql(rules, dialect=rows.dialect)) == [str(label) for label in rules.predict(TABLE)]


def test_labels_of_numpy(rows: Engine) -> None:
    for labels in (np.array([1, 2]), np.array([0.5, 1.5]), np.array(["a", "b"]), np.array([True, False])):
        rules = RuleSet(
            tuple(Rule(label, parse(f), (0.9,)) for label, f in zip(labels, ("old", "~old"), strict=True)), PREDICATES
        )
        assert rows.answers(to_sql(rules, dialect=rows.dialect)) == rules.predict(TABLE).tolist()


RULES = RuleSet(
    (
        Rule("ill", parse("(old & ~smoker) | flag"), (0.9, 0.7)),
        Rule("well", parse("~old & in"), (0.8,)),
    ),
    {
        "old": Predicate("age", ">=", 72.5),
        "flag": Predicate("mal_flg", "==", 1),
        "in": Predicate("unit", "==", "MICU"),
    },
    otherwise=1,
)


POSTGRES = """\
-- logiclens rules for PostgreSQL; other engines stop with an error
SELECT
  *,
  CASE
    WHEN "age" >= 72.5
    AND "age" < CAST('NaN' AS DOUBLE PRECISION)
    AND NOT COALESCE("smoker" >= 0.5 AND "smoker" < CAST('NaN' AS DOUBLE PRECISION), FALSE)
    THEN 'ill'
    WHEN NOT COALESCE("age" >= 72.5 AND "age" < CAST('NaN' AS DOUBLE PRECISION), FALSE)
    AND "unit" = 'MICU'
    THEN 'well'
    WHEN "mal_flg" = 1
    THEN 'ill'
    ELSE 'well'
  END AS "prediction"
FROM "rows"
WHERE
  NOT CURRENT_SETTING('server_version_num') IS NULL
"""
SQLITE = """\
-- logiclens rules for SQLite; other engines stop with an error; integer overflow: a cell is no number or no date
SELECT
  *,
  CASE
    WHEN CASE
      WHEN (
        "t"."age" >= 72.5 AND NOT COALESCE("t"."smoker" >= 0.5, 0)
      )
      OR "t"."mal_flg" = 1
      THEN 1
      ELSE 0
    END + CASE
      WHEN NOT COALESCE("t"."age" >= 72.5, 0) AND "t"."unit" = 'MICU'
      THEN 1
      ELSE 0
    END = 1
    THEN CASE
      WHEN (
        "t"."age" >= 72.5 AND NOT COALESCE("t"."smoker" >= 0.5, 0)
      )
      OR "t"."mal_flg" = 1
      THEN 'ill'
      WHEN NOT COALESCE("t"."age" >= 72.5, 0) AND "t"."unit" = 'MICU'
      THEN 'well'
      ELSE NULL
    END
    ELSE NULL
  END AS "prediction"
FROM "t"
WHERE
  NOT SQLITE_VERSION() IS NULL
  AND CASE
    WHEN NOT TYPEOF("t"."age") IN ('integer', 'real', 'null')
    OR NOT TYPEOF("t"."smoker") IN ('integer', 'real', 'null')
    OR NOT TYPEOF("t"."mal_flg") IN ('integer', 'real', 'null')
    THEN ABS(-9223372036854775807 - 1)
    ELSE 1
  END
"""


def test_how_it_reads() -> None:
    assert to_sql(RULES, dialect="postgres") + "\n" == POSTGRES
    assert to_sql(replace(RULES, resolve="none"), dialect="sqlite", table="t") + "\n" == SQLITE
    assert sql_condition(RULES.formulas[0], RULES, nan=False) == (
        "/* logiclens rules for DuckDB; other engines stop with an error */ "
        "(NOT CURRENT_SETTING('duckdb_api') IS NULL AND "
        'COALESCE(("age" >= 72.5 AND NOT COALESCE("smoker" >= 0.5, FALSE)) OR "mal_flg" = 1, FALSE))'
    )


def test_how_dates_and_missing_values_read() -> None:
    meaning = {
        "new": Predicate("admitted", ">=", "2021-03-01T00:00"),
        "late": Predicate("admitted", ">", "2021-03-01T12:30"),
        "bare": Predicate("bmi", "missing"),
        "heavy": Predicate("bmi", ">=", 30),
        "none": Predicate("unit", "missing"),
        "micu": Predicate("unit", "==", "MICU"),
    }

    def written(formula: str, dialect: str = "duckdb", **how: Any) -> str:
        return bare(sql_condition(parse(formula), meaning, dialect=dialect, **how))

    assert written("new") == """COALESCE("admitted" >= CAST('2021-03-01' AS DATE), FALSE)"""
    assert written("~late") == """NOT COALESCE("admitted" > CAST('2021-03-01 12:30:00' AS TIMESTAMP), FALSE)"""
    assert written("bare & heavy", nan=False) == 'COALESCE("bmi" IS NULL AND "bmi" >= 30, FALSE)'
    assert written("bare") == """("bmi" IS NULL OR "bmi" = CAST('NaN' AS DOUBLE))"""
    assert written("~bare & ~none", "postgres") == (
        """(NOT ("bmi" IS NULL OR "bmi" = CAST('NaN' AS DOUBLE PRECISION)) AND NOT "unit" IS NULL)"""
    )
    assert written("new", "sqlite") == """COALESCE("admitted" >= '2021-03-01', 0)"""
    assert written("late", "sqlite") == (
        """COALESCE(REPLACE("admitted", 'T', ' ') || SUBSTR(' 00:00:00.000000', LENGTH("admitted") - 9) """
        """> '2021-03-01 12:30:00.000000', 0)"""
    )
    assert written("bare | none", "sqlite") == '("bmi" IS NULL OR "unit" IS NULL)'


def test_a_date_is_never_a_boolean() -> None:
    with pytest.raises(LogicLensError, match="the column 'on' holds False where a date such as '2021-03-01' is needed"):
        sql_condition(Literal("c"), {"c": Predicate("on", ">=", "2021-03-01")}, boolean=["on"])


def test_constants() -> None:
    assert bare(sql_condition(DNF.true)) == "TRUE"
    assert bare(sql_condition(DNF.false)) == "FALSE"
    assert bare(sql_condition(~Literal("a"))) == """NOT COALESCE("a" >= 0.5 AND "a" < CAST('NaN' AS DOUBLE), FALSE)"""
    always = RuleSet((Rule("a", DNF.true, (0.5,)), Rule("b", parse("c"), (0.4,))))
    assert "CASE" not in to_sql(always)
    never = RuleSet((Rule("a", DNF.false, ()),))
    assert 'NULL AS "prediction"' in to_sql(never)


def test_a_number_is_plain_where_that_is_exact() -> None:
    def written(cut: float, dialect: str) -> str:
        condition = bare(sql_condition(Literal("c"), {"c": Predicate("x", "<", cut)}, dialect=dialect))
        return condition.removeprefix('COALESCE("x" < ')

    assert [written(cut, "duckdb") for cut in (72.5, -1.25, 0.7, 1e22, 60)] == [
        "72.5, FALSE)", "-1.25, FALSE)", "0.7e0, FALSE)", "1e+22, FALSE)", "60, FALSE)",
    ]  # fmt: skip
    assert (written(0.7, "postgres"), written(0.7, "sqlite")) == ("0.7, FALSE)", "0.7, 0)")
    assert written(2**53 + 2, "duckdb") == "9007199254740994.0e0, FALSE)"


@pytest.mark.parametrize("dialect", ["mysql", "bigquery", "spark", "snowflake", "trino", "clickhouse", "redshift"])
def test_other_dialects_read_back_what_was_meant(dialect: str) -> None:
    rules = RuleSet((Rule(NASTY_TEXT, parse("c"), (0.9,)),), {"c": Predicate(NASTY, "==", NASTY_TEXT)})
    tree = sqlglot.parse_one(to_sql(rules, dialect=dialect, table="t"), dialect=dialect)
    tree.set("where", None)
    assert {literal.this for literal in tree.find_all(sqlglot.exp.Literal)} == {NASTY_TEXT}
    assert {name.this for name in tree.find_all(sqlglot.exp.Identifier)} == {NASTY, "t", "prediction"}


# Dialects without Boolean values ------------------------------------------------------------------------------------

WITHOUT_BOOLEANS = ("tsql", "fabric", "oracle", "teradata")


def misplaced(query: str, dialect: str) -> list[str]:
    """The parts of a query that need Boolean values: conditions outside WHEN, TRUE and FALSE, and NaN."""
    conditions = (exp.Predicate, exp.Connector, exp.Not, exp.In)
    around = (exp.Connector, exp.Not, exp.Paren, exp.Where)
    found = []
    for node in sqlglot.parse_one(query, read=dialect).walk():
        if isinstance(node, conditions) and not isinstance(node, exp.Case):
            asked = isinstance(node.parent, exp.If) and node.arg_key == "this"
            if not asked and not isinstance(node.parent, around):
                found.append(node.sql(dialect))
        is_nan = isinstance(node, exp.Cast) and node.this.name.lower() == "nan"
        if isinstance(node, exp.Boolean | exp.Coalesce) or is_nan:
            found.append(node.sql(dialect))
    return found


@examples(100)
@given(rule_sets(), st.sampled_from(WITHOUT_BOOLEANS), st.sampled_from(["class", "formulas", "both"]))
def test_conditions_are_no_values_where_there_are_no_booleans(rules: RuleSet, dialect: str, what: Any) -> None:
    query = to_sql(rules, dialect=dialect, what=what, boolean=["flag"])
    assert misplaced(query, dialect) == []
    assert not re.search(r"\b(TRUE|FALSE)\b", re.sub(r"'[^']*'|\[[^]]*\]|\"[^\"]*\"", "", query))
    for formula in rules.formulas:
        condition = sql_condition(formula, rules, dialect=dialect)
        assert misplaced(f"SELECT 1 AS x FROM t WHERE {condition}", dialect) == []


def test_the_walk_finds_boolean_values() -> None:
    postgres = to_sql(RuleSet((Rule("a", parse("~x"), (0.9,)),)), dialect="postgres", what="both")
    assert misplaced(postgres, "postgres")
    assert misplaced("SELECT COALESCE(x, 1) AS y FROM t", "tsql")
    assert misplaced("SELECT x = 1 AS y FROM t", "oracle")


@once_for_all_examples
@given(rule_sets(multilabel=False), st.sampled_from(["tsql", "oracle"]))
def test_without_booleans_the_answers_stay(rules: RuleSet, dialect: str) -> None:
    """sqlglot reads the query as one of its dialect, and DuckDB answers it; flags are 0 and 1 there."""
    engine = Engine("duckdb", duckdb_without_nan())
    query = without_guard(to_sql(rules, dialect=dialect, what="both"), dialect)
    # FLOAT has 53 bits in T-SQL; sqlglot takes it for one of 24.
    query = query.replace(" AS REAL)", " AS DOUBLE)")
    got = engine.answers(query, 1 + len(rules.rules))
    wanted = zip(expected_classes(rules, WITHOUT_NAN), rules.fires(WITHOUT_NAN).tolist(), strict=True)
    # 1 == True
    assert got == [(label, *fires) for label, fires in wanted]


WITHOUT_NAN = {
    column: [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
    for column, cells in TABLE.items()
}


@cache
def duckdb_without_nan() -> Any:
    engine = Engine("duckdb", duckdb.connect())
    flags = [None if cell is None else int(cell) for cell in WITHOUT_NAN["flag"]]
    engine.load("rows", {**WITHOUT_NAN, "flag": flags}, {**TYPES, "flag": "INTEGER"})
    return engine.connection


def test_oracle_names_the_table_before_the_star() -> None:
    rules = RuleSet((Rule("a", parse("x"), (0.9,)),))
    assert '"clinic"."rows".*,' in to_sql(rules, dialect="oracle", table=("clinic", "rows"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"what": "all"}, "what must be 'class', 'formulas' or 'both', got 'all'."),
        ({"table": ()}, "a table has a name of one to three parts, got []."),
        ({"table": ""}, "a table or column of SQL needs a name, got an empty text."),
        ({"name": "a\0b"}, "SQL cannot hold 'a\\x00b': it has a NUL or half a character. Rename it first."),
        ({"name": "\ud800"}, "SQL cannot hold '\\ud800': it has a NUL or half a character. Rename it first."),
    ],
)
def test_what_cannot_be_said_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LogicLensError) as error:
        to_sql(RULES, **options)
    assert str(error.value) == message


def test_an_unknown_dialect_is_refused_with_the_nearest() -> None:
    with pytest.raises(LogicLensError, match="there is no SQL dialect 'postgresql', did you mean 'postgres'"):
        to_sql(RULES, dialect="postgresql")


def test_a_label_that_is_not_finite_is_refused() -> None:
    with pytest.raises(LogicLensError, match="a class that is exported must be a text, a finite number or a Boolean"):
        to_sql(RuleSet((Rule(math.nan, DNF.true, (0.9,)),)))


def test_labels_beyond_64_bits_are_refused_where_they_change():
    rules = RuleSet((Rule(2**64 + 1, DNF.true, (0.5,)), Rule(-(2**63), DNF.false, ())))
    assert str(2**64 + 1) in to_sql(rules, dialect="duckdb")
    with pytest.raises(LogicLensError, match="the label 18446744073709551617 has more than 64 bits"):
        to_sql(rules, dialect="sqlite")


@examples(400)
@example(4.046063336358121e-304)
@example(8.655083414646838e-297)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(1e-307, 1e-290) | st.decimals(-999, 999, places=5))
def test_sqlite_reads_every_threshold_exactly(number):
    value = float(number)
    condition = sql_condition(parse("high"), {"high": Predicate("x", "==", value)}, dialect="sqlite")
    cells = [value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
    with sqlite3.connect(":memory:") as connection:
        held = [connection.execute(f"SELECT {condition} FROM (SELECT ? AS x)", (x,)).fetchone()[0] for x in cells]
    assert held == [1, 0, 0]


@pytest.mark.parametrize("label", [1.373816949591532e-302, 1 / 3, -5e-324, 1.7976931348623157e308])
def test_sqlite_returns_the_exact_label(label):
    rules = RuleSet((Rule(label, parse("a"), (0.9,)), Rule(1.0, parse("~a"), (0.9,))), otherwise=0)
    with sqlite3.connect(":memory:") as connection:
        connection.execute('CREATE TABLE "rows" (a REAL)')
        connection.execute('INSERT INTO "rows" VALUES (1)')
        assert connection.execute(to_sql(rules, dialect="sqlite")).fetchone()[-1] == label


def test_categories_of_a_column_are_listed_by_in():
    jobs = {job: Predicate("job", "==", job) for job in ("nurse", "cook", "clerk", "it's")}
    rules = RuleSet(
        (
            Rule("a", parse("(old & nurse) | (old & cook)"), (0.9, 0.9)),
            Rule("b", DNF([Cube([Literal("clerk", False), Literal("it's", False)])]), (0.8,)),
            Rule("c", DNF.false, ()),
        ),
        {**jobs, "old": Predicate("age", ">=", 60)},
        otherwise=2,
        resolve="order",
    )
    text = to_sql(rules, nan=False)
    assert "\"job\" IN ('nurse', 'cook')" in text
    assert "\"job\" IS NULL OR NOT \"job\" IN ('clerk', 'it''s')" in text
    cells = [(age, job) for age in (None, 30, 70) for job in (None, "nurse", "cook", "clerk", "it's", "pilot")]
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows (age DOUBLE, job TEXT)")
        database.executemany("INSERT INTO rows VALUES (?, ?)", cells)
        said = database.execute(text).fetchall()
    columns = {"age": [row[0] for row in said], "job": [row[1] for row in said]}
    assert [row[2] for row in said] == rules.predict(columns).tolist()
    assert {row[2] for row in said} == {"a", "b", "c"}
