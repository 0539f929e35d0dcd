"""Rules as SQL: sqlglot writes an expression tree in the chosen dialect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias
from typing import Literal as OneOf

from logiclens.errors import LogicLensError, quoted
from logiclens.export.registry import rules_of
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.english import NO_FACTS
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet

What: TypeAlias = OneOf["class", "formulas", "both"]


def to_sql(
    rules: Any,
    *,
    table: str | Sequence[str] = "rows",
    dialect: str = "duckdb",
    what: What = "class",
    name: str = "prediction",
    boolean: Collection[str] | None = None,
    nan: bool = True,
) -> str:
    """Return a SELECT of all columns of a table with the prediction of the rules for each row.

    The first line names the engine. In any other engine the text stops with an error, because its WHERE calls a
    function that others lack: the same text would not have the same meaning there. The tests execute `"duckdb"`,
    `"sqlite"` and `"postgres"`; the first line of other dialects says that they are not executed. Columns whose names
    differ in case alone are refused, since SQL takes them for one.

    For T-SQL and Oracle, which know no Boolean values, conditions stand after WHEN only, and formulas are 1 or 0. A
    missing value, NULL or NaN, makes a comparison false and its negation true, as everywhere. If labels mix texts,
    numbers and Booleans, all become texts.

    Numbers are compared as the rules compare them, also in float32 columns, where 0.7 is below the cut 0.7. The one
    exception: integer and decimal columns with more digits than float64 are compared exactly, where the rules round.

    Dates are compared with DATE or TIMESTAMP columns. A column WITH TIME ZONE is read in the session's time zone, which
    must be UTC to agree with the rules. In SQLite dates are ISO text in universal time, such as `2021-03-01`,
    `2021-03-01 12:30` or `2021-03-01T12:30:00.5`. A column holds cells of any type there, so that the query stops with
    `integer overflow` where a compared cell is no number, or no date.

    Comments give the recurrence of cubes, where it is known.

    Args:
        rules: a rule set, an explanation or an exact model.
        table: name of the table, or its parts, such as `("clinic", "rows")`.
        dialect: SQL dialect. Default: `"duckdb"`.
        what: `"class"` adds a column `name` with the class, NULL if no rule decides. `"formulas"` adds a Boolean column
            per class, `"both"` adds all of these. With several labels per row, only formulas are written.
        name: name of the class column.
        boolean: columns of SQL type BOOLEAN, which PostgreSQL and DuckDB do not compare with numbers. Default: the
            columns that a predicate compares with True or False. DuckDB and SQLite also accept numbers there.
        nan: whether columns may contain NaN, which PostgreSQL and DuckDB sort above every number, so that `>=` and
            tests for missing values need a second comparison. Pass False for plainer SQL if there is no NaN.

    >>> from logiclens.formula import parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 72.5)}, otherwise=1)
    >>> print(to_sql(rules, nan=False))
    -- logiclens rules for DuckDB; other engines stop with an error
    SELECT
      *,
      CASE
        WHEN "age" >= 72.5 AND NOT COALESCE("smoker" >= 0.5, FALSE)
        THEN 'ill'
        WHEN NOT COALESCE("age" >= 72.5, FALSE)
        THEN 'well'
        ELSE 'well'
      END AS "prediction"
    FROM "rows"
    WHERE
      NOT CURRENT_SETTING('duckdb_api') IS NULL
    """
    rules = rules_of(rules)
    _check_case(rules)
    tree = _tree()
    if what not in ("class", "formulas", "both"):
        raise LogicLensError(f"what must be 'class', 'formulas' or 'both', got {quoted(what)}.")
    parts = [table] if isinstance(table, str) else list(table)
    if not 1 <= len(parts) <= 3:
        raise LogicLensError(f"a table has a name of one to three parts, got {quoted(parts)}.")
    has_class, has_formulas = what != "formulas" and not rules.multilabel, what != "class" or rules.multilabel
    answers = [name] * has_class + [*rules.names] * has_formulas
    writer = tree.Writer(rules, tree.dialect_named(dialect), parts, boolean, nan, answers)
    columns = []
    if has_class:
        columns.append(writer.named(writer.decided(), name))
    if has_formulas:
        columns += [writer.named(writer.value(rule.formula), rule.name, rule.recurrence_line) for rule in rules.rules]
    return str(writer.query(writer.selected(columns)))


def sql_condition(
    formula: DNF | Complement | Cube | Literal,
    meaning: RuleSet | Mapping[str, Predicate] | None = None,
    *,
    dialect: str = "duckdb",
    boolean: Collection[str] | None = None,
    nan: bool = True,
) -> str:
    """Return a formula as a condition that is TRUE or FALSE, never NULL, so that it can also be negated.

    Like the query of `to_sql`, it names its engine and stops with an error in any other.

    Args:
        formula: the formula.
        meaning: a rule set, or the predicates of the concepts. Default: concepts are columns.
        dialect: a dialect of sqlglot. Default: `"duckdb"`.
        boolean: columns that are BOOLEAN in the database; see `to_sql`. Default: those of training.
        nan: whether columns may hold NaN; see `to_sql`. Default: True.

    >>> formula = Literal("old") & ~Literal("smoker")
    >>> print(sql_condition(formula, {"old": Predicate("age", ">=", 72.5)}, nan=False))
    /* logiclens rules for DuckDB; other engines stop with an error */ (NOT CURRENT_SETTING('duckdb_api') IS NULL
    AND COALESCE("age" >= 72.5 AND NOT COALESCE("smoker" >= 0.5, FALSE), FALSE))
    """
    tree = _tree()
    predicates = meaning.predicates if isinstance(meaning, RuleSet) else dict(meaning or {})
    facts = meaning.facts if isinstance(meaning, RuleSet) else NO_FACTS
    written = formula.of if isinstance(formula, Complement) else formula | DNF.false
    rules = RuleSet((Rule("", written, (0.0,) * len(written)),), predicates, facts=facts)
    _check_case(rules)
    writer = tree.Writer(rules, tree.dialect_named(dialect), [], boolean, nan)
    condition = writer.formula(formula if isinstance(formula, Complement) else written)
    return str(writer.condition(condition))


def _check_case(rules: RuleSet) -> None:
    """Refuse columns that SQL takes for one."""
    # Also those that the rules do not use: DuckDB gives one of two such columns another name when it reads a file.
    names = dict.fromkeys((*rules.columns, *rules.facts.kinds, rules.facts.target or ""))
    for column in rules.columns:
        for name in names:
            if name != column and name.casefold() == column.casefold():
                raise LogicLensError(
                    f"the columns {quoted(column)} and {quoted(name)} differ in case alone, which SQL takes for one: "
                    "rename one and learn again, or export the rules as Python or JSON."
                )


def _tree() -> ModuleType:
    """Return the module that imports sqlglot, which is loaded when it is used."""
    from logiclens.export import sql_tree

    return sql_tree
