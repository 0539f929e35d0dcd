"""Conditions, classes and queries as expression trees of sqlglot. No SQL text is concatenated."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

import numpy as np
from sqlglot import exp

from logiclens.errors import LogicLensError, quoted, unknown
from logiclens.formula.column_kinds import Scalar
from logiclens.formula.date_parts import DatePart
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.english import category_unions
from logiclens.formula.predicate import Predicate, labels_of_one_kind
from logiclens.formula.rule_set import RuleSet
from logiclens.words import enumeration


@dataclass(frozen=True)
class Engine:
    """A database that SQL is written for.

    Attributes:
        title: its name in a sentence.
        function: a function that it alone has, so that any other engine stops with an error. It never returns NULL.
        arguments: what the function is called with.
        is_executed: whether the tests execute its SQL.
    """

    title: str
    function: str
    arguments: tuple[str | int, ...] = ()
    is_executed: bool = False


_MYSQL, _PRESTO = ("CONNECTION_ID",), ("CODEPOINT", ("a",))
ENGINES = {
    "duckdb": Engine("DuckDB", "CURRENT_SETTING", ("duckdb_api",), is_executed=True),
    "sqlite": Engine("SQLite", "SQLITE_VERSION", is_executed=True),
    "postgres": Engine("PostgreSQL", "CURRENT_SETTING", ("server_version_num",), is_executed=True),
    "athena": Engine("Athena", *_PRESTO),
    "bigquery": Engine("BigQuery", "FARM_FINGERPRINT", ("a",)),
    "clickhouse": Engine("ClickHouse", "cityHash64", (0,)),
    "databricks": Engine("Databricks", "SPARK_PARTITION_ID"),
    "doris": Engine("Doris", *_MYSQL),
    "fabric": Engine("Fabric", "DATALENGTH", ("a",)),
    "mysql": Engine("MySQL", *_MYSQL),
    "oracle": Engine("Oracle", "ORA_HASH", (0,)),
    "presto": Engine("Presto", *_PRESTO),
    "redshift": Engine("Redshift", "STRTOL", ("1", 10)),
    "singlestore": Engine("SingleStore", *_MYSQL),
    "snowflake": Engine("Snowflake", "CURRENT_VERSION"),
    "spark": Engine("Spark", "SPARK_PARTITION_ID"),
    "starrocks": Engine("StarRocks", *_MYSQL),
    "teradata": Engine("Teradata", "HASHROW", (0,)),
    "trino": Engine("Trino", *_PRESTO),
    "tsql": Engine("T-SQL", "DATALENGTH", ("a",)),
}
"""The dialects of sqlglot that SQL is written in. Engines of one family may share a function."""

NAN_IS_LARGEST = {"postgres", "duckdb", "redshift", "snowflake", "spark", "databricks"}
"""Where NaN is above every number instead of making comparisons false."""

LARGE_INTEGERS = {"duckdb", "postgres"}
"""Where an integer may have more than 64 bits; SQLite makes a float of it."""

NO_BOOLEANS = {"tsql", "fabric", "oracle", "teradata"}
"""Where a condition is no value: it stands after WHEN and WHERE only, and truth values are 1 and 0."""
DATE_PART_DIALECTS = {"duckdb", "postgres", "sqlite", "spark", "tsql"}
"""Where parts of dates are exported: the dialects whose answers are compared with those of the rules."""

_FLOATS = {
    "postgres": ("PG_TYPEOF", ("double precision", "real", "numeric"), "NaN"),
    "duckdb": ("TYPEOF", ("DOUBLE", "FLOAT"), "nan"),
}
"""How an engine names the type of a column, which of its types have NaN, and NaN as a text."""

_COMPARISONS: dict[str, type[exp.Binary]] = {
    ">=": exp.GTE, ">": exp.GT, "<=": exp.LTE, "<": exp.LT, "==": exp.EQ,
}  # fmt: skip


def dialect_named(dialect: str) -> str:
    """Return sqlglot's name of a dialect."""
    name = str(dialect).lower()
    if name not in ENGINES:
        raise LogicLensError(unknown("SQL dialect", str(dialect), list(ENGINES)))
    return name


@dataclass(frozen=True)
class Writer:
    """Build expression trees for rules on one table in one dialect."""

    rules: RuleSet
    dialect: str
    table: Sequence[str]
    boolean: Collection[str] | None
    nan: bool
    answers: Collection[str] = ()

    def query(self, tree: exp.Expr) -> str:
        """Return the text of a SELECT, whose first line names the engine."""
        return f"-- {self.heading}\n{tree.sql(dialect=self.dialect, pretty=True)}"

    def condition(self, tree: exp.Expr) -> str:
        """Return the text of a condition in one line, which begins with the name of the engine."""
        whole = exp.and_(self.guard(), tree, copy=False)
        return f"/* {self.heading} */ ({whole.sql(dialect=self.dialect)})"

    @property
    def heading(self) -> str:
        """What the text says of itself."""
        engine = ENGINES[self.dialect]
        warning = "" if engine.is_executed else " (not executed by the tests of logiclens)"
        own = "; integer overflow: a cell is no number or no date" * (self.dialect == "sqlite")
        return f"logiclens rules for {engine.title}{warning}; other engines stop with an error{own}"

    def guard(self) -> exp.Expr:
        """Return a condition that is TRUE in the engine of the dialect and an error in any other.

        The same text would have another meaning there: of NaN, of a number, of a date or of a missing column.
        """
        engine = ENGINES[self.dialect]
        arguments = [
            exp.Literal.number(value) if isinstance(value, int) else exp.Literal.string(value)
            for value in engine.arguments
        ]
        call = exp.Anonymous(this=engine.function, expressions=arguments)
        own = exp.Not(this=exp.Is(this=call, expression=exp.null()))
        faults = self.faults() if self.dialect == "sqlite" else []
        if not faults:
            return own
        # The one error that every version of SQLite can be made to raise.
        smallest = exp.Sub(this=exp.Neg(this=exp.Literal.number(2**63 - 1)), expression=exp.Literal.number(1))
        error = exp.Anonymous(this="ABS", expressions=[smallest])
        checked = _case([(exp.or_(*faults, copy=False), error)], exp.Literal.number(1))
        return exp.and_(own, checked, copy=False)

    def faults(self) -> list[exp.Expr]:
        """Return for SQLite, whose columns hold values of any type, whether a cell is not of the kind that is compared.

        A text, also an empty one, is larger than every number there, and no date but a text.
        """
        tests: dict[str, exp.Expr] = {}
        for predicate in map(self.rules.predicate, self.rules.concepts):
            if predicate.operator == "missing" or self.is_text(predicate):
                continue
            is_date = predicate.has_text_form or predicate.origin is not None
            for name in predicate.sources:
                tests[name] = _is_no_date(self.column(name)) if is_date else _is_no_number(self.column(name))
        return list(tests.values())

    def selected(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Return a SELECT of all columns of the table and some more."""
        *above, name = map(_identifier, self.table)
        places = dict(zip(("db", "catalog"), reversed(above), strict=False))
        every: exp.Expr = exp.Star()
        if self.dialect == "oracle":
            # Oracle takes no bare * beside other columns.
            whole = dict(zip(("table", "db", "catalog"), [name.copy(), *reversed(above)], strict=False))
            every = exp.Column(this=exp.Star(), **whole)
        rows = exp.Table(this=name, **places)
        return exp.Select(expressions=[every, *columns]).from_(rows).where(self.guard(), copy=False)

    def named(self, tree: exp.Expr, name: str, recurrence: str = "") -> exp.Expr:
        """Return a named column of the result, with a comment on the recurrence of its cubes."""
        return _commented(exp.Alias(this=tree, alias=_identifier(name)), recurrence)

    def decided(self) -> exp.Expr:
        """Return the class of a row, resolved as the rules do; NULL if no rule decides."""
        labels = [self.label(label) for label in labels_of_one_kind([rule.label for rule in self.rules.rules])]
        if self.rules.resolve == "none":
            return self._only_one(labels)
        otherwise = exp.null() if self.rules.otherwise is None else labels[self.rules.otherwise]
        cases: list[tuple[exp.Expr, exp.Expr]] = []
        # Cubes of one class that follow each other may be asked in any order, so their categories can be joined.
        for place, run in groupby(self.rules.decisions, key=lambda decision: decision.rule):
            recurrence = {decision.cube: decision.recurrence for decision in run}
            for union in self.unions(list(recurrence)):
                counted = [recurrence[cube] or "not counted" for cube in union if any(map(recurrence.get, union))]
                told = self.rules.rules[place].recurrence_of(union) or "; ".join(dict.fromkeys(counted))
                label = _commented(labels[place].copy(), told)
                if not len(union[0]):
                    # An empty cube always fires, so nothing after it is reached.
                    return _case(cases, label)
                cases.append((self.union(union), label))
        return _case(cases, otherwise)

    def unions(self, cubes: Sequence[Cube]) -> list[tuple[Cube, ...]]:
        """Return the cubes in groups that differ in one text only, which IN can list."""
        texts = {concept: meant for concept, meant in self.rules.predicates.items() if self.is_text(meant)}
        return category_unions(cubes, texts)

    def is_text(self, predicate: Predicate) -> bool:
        """Return whether a predicate asks for a text in a column of texts."""
        is_text = predicate.operator == "==" and isinstance(predicate.value, str)
        return is_text and predicate.column not in (self.boolean or ())

    def union(self, union: Sequence[Cube]) -> exp.Expr:
        """Return a group of cubes; TRUE where one of them holds and FALSE or NULL elsewhere."""
        common = set.intersection(*(set(cube) for cube in union))
        texts = [self.rules.predicate(lit.concept) for cube in union for lit in cube if lit not in common]
        return self.cube(union[0], texts if len(union) > 1 else ())

    def _only_one(self, labels: Sequence[exp.Expr]) -> exp.Expr:
        fired = [self.any_cube(formula) for formula in self.rules.formulas]
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        count: exp.Expr = _case([(fired[0], one)], zero)
        for condition in fired[1:]:
            count = exp.Add(this=count, expression=_case([(condition, one.copy())], zero.copy()))
        told = [_commented(label, rule.recurrence_line) for label, rule in zip(labels, self.rules.rules, strict=True)]
        first = _case([(condition.copy(), label) for condition, label in zip(fired, told, strict=True)], exp.null())
        return _case([(exp.EQ(this=count, expression=one.copy()), first)], exp.null())

    def value(self, formula: DNF | Complement) -> exp.Expr:
        """Return a formula as a value of a column, never NULL: TRUE or FALSE, or 1 or 0 where there are no Booleans."""
        if self.dialect not in NO_BOOLEANS:
            return self.formula(formula)
        turned = isinstance(formula, Complement)
        condition = self.any_cube(formula.of if isinstance(formula, Complement) else formula)
        return _case([(condition, self.truth(not turned))], self.truth(turned))

    def formula(self, formula: DNF | Complement) -> exp.Expr:
        """Return a formula as a condition that is TRUE or FALSE, never NULL."""
        if isinstance(formula, Complement):
            return exp.not_(self.formula(formula.of), copy=False)
        condition = self.any_cube(formula)
        literals = [literal for cube in formula for literal in cube]
        # Negated literals are never NULL, nor is IS NULL, and TRUE or FALSE beside them is not either.
        unsure = any(lit.positive and self.rules.predicate(lit.concept).operator != "missing" for lit in literals)
        return self.or_false(condition) if unsure else condition

    def any_cube(self, formula: DNF | Complement) -> exp.Expr:
        """Return a formula that is TRUE where it holds and FALSE or NULL elsewhere, as WHEN requires."""
        if isinstance(formula, Complement):
            return self.formula(formula)
        if any(not len(cube) for cube in formula):
            return self.constant(True)
        unions = self.unions(formula.cubes)
        return exp.or_(*map(self.union, unions), copy=False) if unions else self.constant(False)

    def cube(self, cube: Cube, one_of: Sequence[Predicate] = ()) -> exp.Expr:
        """Return a cube with at least one literal, TRUE where it holds and FALSE or NULL elsewhere.

        `one_of` are texts of a column; the one that the cube asks for is replaced by any of them.
        """
        conditions: list[exp.Expr] = []
        denied: dict[str, list[Predicate]] = {}
        for literal in cube:
            predicate = self.rules.predicate(literal.concept)
            if self.is_text(predicate) and not literal.positive:
                denied.setdefault(predicate.column, []).append(predicate)
        for literal in cube:
            predicate = self.rules.predicate(literal.concept)
            if literal.positive and predicate in one_of:
                conditions.append(self.among(one_of))
                continue
            if not literal.positive and len(texts := denied.get(predicate.column, [])) > 1 and predicate in texts:
                if predicate is texts[0]:
                    # A missing value satisfies the negation.
                    is_null = exp.Is(this=self.column(predicate.column), expression=exp.null())
                    conditions.append(exp.or_(is_null, exp.Not(this=self.among(texts)), copy=False))
                continue
            if predicate.operator == "missing":
                missing = self.missing(predicate.column)
                conditions.append(missing if literal.positive else exp.not_(missing, copy=False))
                continue
            held = self.comparisons(predicate)
            conditions += held if literal.positive else [self.fails(exp.and_(*held, copy=False))]
        return exp.and_(*conditions, copy=False)

    def among(self, texts: Sequence[Predicate]) -> exp.Expr:
        """Return whether a column holds one of some texts."""
        values = [self.bound(predicate.value) for predicate in texts]
        return exp.In(this=self.column(texts[0].column), expressions=values)

    def missing(self, name: str) -> exp.Expr:
        """Return whether a column is NULL or NaN; the answer is never NULL."""
        column = self.column(name)
        is_null = exp.Is(this=column, expression=exp.null())
        if not self.nan or self.dialect not in NAN_IS_LARGEST or name in (self.boolean or ()):
            return is_null
        known = map(self.rules.predicate, dict.fromkeys((*self.rules.predicates, *self.rules.concepts)))
        values = [p.value for p in known if p.column == name and p.operator != "missing"]
        if any(isinstance(value, str) for value in values):
            return is_null
        if any(not isinstance(value, bool) or self.boolean is not None for value in values):
            return exp.or_(is_null, exp.EQ(this=column.copy(), expression=_nan()), copy=False)
        if self.dialect not in _FLOATS:
            return is_null
        # The type of the column is unknown, and only numbers can be compared with NaN.
        type_of, types, nan = _FLOATS[self.dialect]
        kind = _as_text(exp.Anonymous(this=type_of, expressions=[column.copy()]))
        is_float = exp.In(this=kind, expressions=[exp.Literal.string(name) for name in types])
        is_nan = exp.EQ(this=_as_text(column.copy()), expression=exp.Literal.string(nan))
        return exp.or_(is_null, exp.and_(is_float, is_nan, copy=False), copy=False)

    def comparisons(self, predicate: Predicate) -> list[exp.Expr]:
        """Return comparisons that are all TRUE exactly where a predicate holds."""
        if predicate.origin is not None:
            number = self.date_part(predicate.origin)
            return [_COMPARISONS[predicate.operator](this=number, expression=self.bound(predicate.value))]
        column = self.column(predicate.column)
        if self.boolean is not None and predicate.column in self.boolean:
            return [self.on_boolean(predicate, column)]
        if predicate.has_text_form:
            return [self.on_text_form(predicate, column)]
        value = predicate.value
        if self.boolean is not None and isinstance(value, bool):
            value = int(value)
        compared = _COMPARISONS[predicate.operator](this=column, expression=self.bound(value))
        if self.nan and self.dialect in NAN_IS_LARGEST and predicate.operator in (">=", ">"):
            return [compared, exp.LT(this=column.copy(), expression=_nan())]
        return [compared]

    def on_text_form(self, predicate: Predicate, column: exp.Expr) -> exp.Expr:
        """Return a comparison with a value that is written as text, such as a date."""
        bound = predicate.kind.sql_bound(predicate.value, predicate.operator, self.dialect)
        value: exp.Expr = exp.Literal.string(bound.text)
        sides = [_in_full(column) if bound.padded else column, exp.cast(value, bound.type) if bound.type else value]
        if bound.function is not None:
            sides = [exp.Anonymous(this=bound.function, expressions=[side]) for side in sides]
        return _COMPARISONS[predicate.operator](this=sides[0], expression=sides[1])

    def date_part(self, part: DatePart) -> exp.Expr:
        """Return a number taken from dates; it is NULL where a date is."""
        if self.dialect not in DATE_PART_DIALECTS:
            raise LogicLensError(
                f"{quoted(part.name)} has no tested form in the SQL of {self.dialect}: export the rules for "
                f"{enumeration(sorted(DATE_PART_DIALECTS), last='or')}, or as Python (--to python), or learn them "
                "without parts of dates, Booleaniser(date_parts=False)."
            )
        columns = [self.column(name) for name in part.columns]
        if self.dialect == "sqlite":
            return _part_in_sqlite(part.kind, columns)
        if self.dialect == "tsql":
            return _part_in_tsql(part.kind, columns)
        if part.kind == "days":
            start, end = (exp.cast(column, exp.DataType.Type.DATE) for column in columns)
            if self.dialect == "spark":
                return exp.Anonymous(this="DATEDIFF", expressions=[end, start])
            return exp.Paren(this=exp.Sub(this=end, expression=start))
        moment = exp.cast(columns[0], exp.DataType.Type.TIMESTAMP)
        if part.kind == "weekday" and self.dialect == "spark":
            # 0 is a Monday.
            number = exp.Anonymous(this="WEEKDAY", expressions=[moment])
            return exp.Paren(this=exp.Add(this=number, expression=exp.Literal.number(1)))
        field = {"month": "MONTH", "weekday": "ISODOW", "hour": "HOUR"}[part.kind]
        return exp.Extract(this=exp.Var(this=field), expression=moment)

    def on_boolean(self, predicate: Predicate, column: exp.Expr) -> exp.Expr:
        """Return a predicate on a BOOLEAN column as a comparison with TRUE or FALSE."""
        on_false, on_true = predicate.holds([False, True]).tolist()
        if on_true and on_false:
            return exp.Not(this=exp.Is(this=column, expression=exp.null()))
        if not on_true and not on_false:
            return self.constant(False)
        return exp.EQ(this=column, expression=self.truth(on_true))

    def column(self, name: str) -> exp.Expr:
        """Return a column of the table."""
        # SQLite takes "age" for a text where the table has no such column, and others for an answer of that name;
        # "rows"."age" they refuse.
        is_mistakable = self.dialect == "sqlite" or name.casefold() in map(str.casefold, self.answers)
        table = _identifier(self.table[-1]) if self.table and is_mistakable else None
        return exp.Column(this=_identifier(name), table=table)

    def truth(self, value: bool) -> exp.Expr:
        """Return a truth value; 1 or 0 in SQLite too, where a table may have a column named TRUE."""
        if self.dialect == "sqlite" or self.dialect in NO_BOOLEANS:
            return exp.Literal.number(int(value))
        return exp.true() if value else exp.false()

    def constant(self, value: bool) -> exp.Expr:
        """Return a condition that always or never holds."""
        if self.dialect in NO_BOOLEANS:
            return exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(int(value)))
        return self.truth(value)

    def fails(self, condition: exp.Expr) -> exp.Expr:
        """Return whether a condition is FALSE or NULL."""
        if self.dialect in NO_BOOLEANS:
            return self._compared(condition, False)
        return exp.Not(this=self.or_false(condition))

    def _compared(self, condition: exp.Expr, value: bool) -> exp.Expr:
        """Return a condition as 1 or 0, compared with a truth value."""
        as_number = _case([(condition, self.truth(True))], self.truth(False))
        return exp.EQ(this=as_number, expression=self.truth(value))

    def or_false(self, condition: exp.Expr) -> exp.Expr:
        """Return a condition with FALSE in place of NULL."""
        if self.dialect in NO_BOOLEANS:
            return self._compared(condition, True)
        return exp.Coalesce(this=condition, expressions=[self.truth(False)])

    def bound(self, value: Scalar) -> exp.Expr:
        """Return the value of a predicate so that it is compared as float64."""
        if isinstance(value, bool):
            return self.truth(value)
        if isinstance(value, str):
            return _string(value)
        # DuckDB rounds whole and decimal numbers to the precision of a FLOAT column; 0.7e0 is a DOUBLE and stays so.
        if isinstance(value, int) and abs(value) <= (2**24 if self.dialect == "duckdb" else 2**53):
            return exp.Literal.number(value)
        value = float(value)
        if self.dialect == "sqlite":
            return _sqlite_number(value)
        as_double = self.dialect == "duckdb" and not _is_short(value)
        return _number(value, exponent=as_double)

    def label(self, label: Scalar) -> exp.Expr:
        """Return the label of a class in its own type."""
        if isinstance(label, float):
            # A number with a point would come out as a decimal number in some engines.
            number = _sqlite_number(label) if self.dialect == "sqlite" else None
            return exp.cast(number or _number(label, exponent=self.dialect == "duckdb"), exp.DataType.Type.DOUBLE)
        if type(label) is not int:
            return self.bound(label)
        if self.dialect not in LARGE_INTEGERS and not -(2**63) <= label < 2**63:
            raise LogicLensError(
                f"the label {quoted(label)} has more than 64 bits, too many for integers of {self.dialect}: rename "
                "the class, or export for duckdb or postgres."
            )
        return exp.Literal.number(label)


def _commented(tree: exp.Expr, recurrence: str) -> exp.Expr:
    """Return a tree with a comment on the recurrence of a rule's cubes, where that is known."""
    if recurrence:
        tree.add_comments([recurrence])
    return tree


def _case(cases: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr) -> exp.Expr:
    if not cases:
        return otherwise.copy()
    return exp.Case(ifs=[exp.If(this=when, true=then.copy()) for when, then in cases], default=otherwise.copy())


def _nan() -> exp.Expr:
    return exp.cast(exp.Literal.string("NaN"), exp.DataType.Type.DOUBLE)


def _as_text(tree: exp.Expr) -> exp.Expr:
    return exp.cast(tree, exp.DataType.Type.TEXT)


def _in_full(column: exp.Expr) -> exp.Expr:
    """Return a SQLite date padded to '2021-03-01 00:00:00.000000', with a blank between date and time."""
    spaced = exp.Anonymous(this="REPLACE", expressions=[column, exp.Literal.string("T"), exp.Literal.string(" ")])
    length = exp.Anonymous(this="LENGTH", expressions=[column.copy()])
    # The day has ten characters. Midnight is appended without the characters that the text already has.
    beyond = exp.Sub(this=length, expression=exp.Literal.number(9))
    rest = exp.Anonymous(this="SUBSTR", expressions=[exp.Literal.string(" 00:00:00.000000"), beyond])
    return exp.DPipe(this=spaced, expression=rest, safe=False)


def _is_no_number(column: exp.Expr) -> exp.Expr:
    """Return whether a cell of SQLite is neither a number nor NULL."""
    kinds = [exp.Literal.string(kind) for kind in ("integer", "real", "null")]
    return exp.Not(this=exp.In(this=exp.Anonymous(this="TYPEOF", expressions=[column]), expressions=kinds))


def _is_no_date(column: exp.Expr) -> exp.Expr:
    """Return whether a cell of SQLite is neither NULL nor a date as `Date.text_form` has it."""

    def part(*place: int) -> exp.Expr:
        numbers = [exp.Literal.number(number) for number in place]
        return exp.Anonymous(this="SUBSTR", expressions=[column.copy(), *numbers])

    form = "YYYY-YY-YY YY:MY:MY.YYYYYY".replace("Y", "[0-9]").replace("M", "[0-5]")
    # A text of these lengths ends within the time.
    cut = [exp.Literal.number(length) for length in (11, 12, 13, 14, 15, 17, 18, 20)]
    length, no_days = exp.Anonymous(this="LENGTH", expressions=[column.copy()]), exp.Literal.string("+0 days")
    is_date = exp.and_(
        exp.GTE(this=part(1, 4), expression=exp.Literal.string("0001")),
        exp.Glob(this=_in_full(column.copy()), expression=exp.Literal.string(form)),
        exp.Not(this=exp.In(this=length, expressions=cut)),
        # Once it counts, SQLite takes February 30 for March 2.
        exp.EQ(this=exp.Anonymous(this="DATE", expressions=[part(1, 10), no_days]), expression=part(1, 10)),
        exp.LT(this=part(12), expression=exp.Literal.string("24")),
        copy=False,
    )
    given = exp.Not(this=exp.Is(this=column, expression=exp.null()))
    is_no_date = exp.Not(this=exp.Coalesce(this=is_date, expressions=[exp.Literal.number(0)]))
    return exp.and_(given, is_no_date, copy=False)


def _part_in_tsql(kind: str, columns: Sequence[exp.Expr]) -> exp.Expr:
    """Return a number taken from dates in T-SQL."""
    moments = [exp.cast(column, exp.DataType.Type.TIMESTAMP) for column in columns]
    if kind in ("month", "hour"):
        return exp.Extract(this=exp.Var(this=kind.upper()), expression=moments[0])
    if kind == "days":
        return _days_in_tsql(*moments)
    # DATEPART(weekday, …) depends on DATEFIRST and the language of the session. 1900-01-01 was a Monday; the rest of a
    # negative number of days is negative, so that 7 is added before the second rest.
    days = _days_in_tsql(exp.cast(exp.Literal.string("1900-01-01"), exp.DataType.Type.DATE), moments[0])
    one, seven = exp.Literal.number(1), exp.Literal.number(7)
    rest = exp.Paren(this=exp.Add(this=exp.Mod(this=days, expression=seven), expression=seven.copy()))
    return exp.Paren(this=exp.Add(this=exp.Mod(this=rest, expression=seven.copy()), expression=one))


def _days_in_tsql(start: exp.Expr, end: exp.Expr) -> exp.Expr:
    """Return the days from one date to another: DATEDIFF counts midnights, whatever the time of day."""
    return exp.DateDiff(this=end, expression=start, unit=exp.Var(this="DAY"))


def _part_in_sqlite(kind: str, columns: Sequence[exp.Expr]) -> exp.Expr:
    """Return a number taken from dates, which are texts in SQLite."""

    def part_of(column: exp.Expr, start: int, length: int) -> exp.Expr:
        numbers = [exp.Literal.number(start), exp.Literal.number(length)]
        return exp.Anonymous(this="SUBSTR", expressions=[column, *numbers])

    if kind == "month":
        return exp.cast(part_of(columns[0], 6, 2), exp.DataType.Type.INT)
    if kind == "hour":
        # A date without a time has an empty text there, which is 0.
        return exp.cast(part_of(columns[0], 12, 2), exp.DataType.Type.INT)
    # Only the day: SQLite rounds the last microsecond of a day up to the next one.
    days = [part_of(column, 1, 10) for column in columns]
    if kind == "days":
        start, end = (exp.Anonymous(this="JULIANDAY", expressions=[day]) for day in days)
        return exp.Paren(this=exp.Sub(this=end, expression=start))
    from_sunday = exp.Anonymous(this="STRFTIME", expressions=[exp.Literal.string("%w"), days[0]])
    shifted = exp.Add(this=exp.cast(from_sunday, exp.DataType.Type.INT), expression=exp.Literal.number(6))
    rest = exp.Mod(this=exp.Paren(this=shifted), expression=exp.Literal.number(7))
    return exp.Paren(this=exp.Add(this=rest, expression=exp.Literal.number(1)))


def _is_short(value: float) -> bool:
    """Return whether decimal text states a number exactly, also as float32: 72.5 does, 0.7 does not."""
    text = repr(value)
    return (
        "e" not in text
        and len(text.partition(".")[2]) <= 6
        and Fraction(text) == Fraction(value)
        and float(np.float32(value)) == value
    )


def _number(value: float, exponent: bool) -> exp.Expr:
    # The shortest text that reads back as the same float64.
    text = repr(abs(float(value)))
    number = exp.Literal.number(text + "e0" if exponent and "e" not in text else text)
    return exp.Neg(this=number) if value < 0 else number


def _sqlite_number(value: float) -> exp.Expr:
    """Return a number that every version of SQLite reads exactly.

    SQLite reads decimal text with an error in the last digit where its arithmetic has to round: with many digits, and
    with large exponents. Such a number is written as a whole number times or divided by powers of two, which is exact.
    """
    if _sqlite_reads(repr(abs(value)), abs(value)):
        return _number(value, exponent=False)
    over, under = abs(value).as_integer_ratio()
    # Without the factor of two, the significand has at most 53 bits.
    shift = (over & -over).bit_length() - 1 - (under.bit_length() - 1)
    whole = int(Fraction(over, under) / Fraction(2) ** shift)
    number: exp.Expr = exp.cast(exp.Literal.number(whole), exp.DataType.Type.DOUBLE)
    left = abs(shift)
    while left:
        factor = exp.Literal.number(2 ** min(left, 62))
        # Every step is exact: it has the significand of the result, and an exponent between both ends.
        number = (
            exp.Mul(this=number, expression=factor)
            if shift > 0
            else exp.Div(this=number, expression=factor, typed=True)
        )
        left -= min(left, 62)
    number = exp.Paren(this=number)
    return exp.Neg(this=number) if value < 0 else number


def _sqlite_reads(text: str, value: float) -> bool:
    """Return whether one rounded operation on two exact floats reads a decimal text, also in extended precision."""
    _, digits, exponent = Decimal(text).as_tuple()
    whole = int("".join(map(str, digits)))
    if not isinstance(exponent, int) or whole > 2**53 or abs(exponent) > 22:
        return False
    # Rounded to 64 bits and then to 53, a number is misread if it lies close to the middle of two floats.
    ends = [Fraction(math.nextafter(value, end)) for end in (0.0, math.inf)]
    middles = [(Fraction(value) + end) / 2 for end in ends]
    return all(abs(Fraction(text) - middle) > Fraction(value) / 2**60 for middle in middles) or value == 0


def _string(text: str) -> exp.Expr:
    return exp.Literal.string(_sayable(text))


def _identifier(name: str) -> exp.Identifier:
    if not name:
        raise LogicLensError("a table or column of SQL needs a name, got an empty text.")
    return exp.Identifier(this=_sayable(name), quoted=True)


def _sayable(text: str) -> str:
    """Return a text that SQL can contain; raise an error otherwise."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise LogicLensError(f"SQL cannot hold {quoted(text)}: it has a NUL or half a character. Rename it first.")
    return str(text)
