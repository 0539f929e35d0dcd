"""Rules as SQL, built as an expression tree and written by sqlglot for the dialect at hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias
from typing import Literal as OneOf

from logiclens.errors import LogicLensError, require_extra
from logiclens.export.source import rules_of
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
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
    """A SELECT of all columns of a table with what the rules say of each row.

    `"duckdb"`, `"sqlite"` and `"postgres"` are executed by our tests; any other dialect of sqlglot can be asked for. A
    missing value, NULL or NaN, makes a comparison false and its negation true, as everywhere. Where texts, numbers and
    Booleans mix among the labels, all come out as texts.

    Numbers are compared as the rules compare them, a column of float32 included: its 0.7 is below the cut 0.7. Only a
    whole or decimal column with more digits than a float64 has is compared by all of them, where the rules round.

    A date is compared with a DATE or TIMESTAMP column; one WITH TIME ZONE is taken in the time zone of the session,
    which must be UTC to agree with the rules. In SQLite dates are texts in ISO form, to the day, the minute or any part
    of a second (`2021-03-01`, `2021-03-01 12:30`, `2021-03-01T12:30:00.5`), in universal time.

    A comment says in how many bags a cube recurs, where that is known.

    Args:
        rules: the rules.
        table: the name of the table, or its parts: `("clinic", "rows")`.
        dialect: the engine that is to run it.
        what: `"class"`: a column `name` with the class, NULL where nobody decides. `"formulas"`: a Boolean column for
            each class, named as it is printed. `"both"`. With several labels a row it is always the formulas.
        name: the column of the class.
        boolean: the columns whose SQL type is BOOLEAN, which PostgreSQL and DuckDB do not compare with a number; all
            others are numbers or texts. None: those that a predicate compares with True or False. DuckDB and SQLite
            take numbers for these too, PostgreSQL does not.
        nan: whether columns may hold NaN. PostgreSQL, DuckDB and their kin sort it above every number, so that
            `>=` needs a second comparison, as does whether a value is missing; pass False where there is no NaN, and
            the text is plainer.

    >>> from logiclens.formula import parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 72.5)}, otherwise=1)
    >>> print(to_sql(rules, nan=False))
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
    """
    rules = rules_of(rules)
    tree = _tree("to_sql")
    if what not in ("class", "formulas", "both"):
        raise LogicLensError(f"what must be 'class', 'formulas' or 'both', got {what!r}.")
    parts = [table] if isinstance(table, str) else list(table)
    if not 1 <= len(parts) <= 3:
        raise LogicLensError(f"a table has a name of one to three parts, got {parts!r}.")
    writer = tree.Writer(rules, tree.dialect_named(dialect), parts, boolean, nan)
    columns = []
    if what != "formulas" and not rules.multilabel:
        columns.append(writer.named(writer.decided(), name))
    if what != "class" or rules.multilabel:
        columns += [writer.named(writer.formula(rule.formula), rule.name, rule.recurrence_line) for rule in rules.rules]
    return str(writer.written(writer.selected(columns), pretty=True))


def sql_condition(
    formula: DNF | Complement | Cube | Literal,
    meaning: RuleSet | Mapping[str, Predicate] | None = None,
    *,
    dialect: str = "duckdb",
    boolean: Collection[str] | None = None,
    nan: bool = True,
) -> str:
    """One formula as a condition that is TRUE or FALSE and never NULL, so that it may stand under NOT as well.

    `meaning` are rules, or the predicates of the concepts; `boolean` and `nan` as for `to_sql`.

    >>> formula = Literal("old") & ~Literal("smoker")
    >>> print(sql_condition(formula, {"old": Predicate("age", ">=", 72.5)}, nan=False))
    COALESCE("age" >= 72.5 AND NOT COALESCE("smoker" >= 0.5, FALSE), FALSE)
    """
    tree = _tree("sql_condition")
    predicates = meaning.predicates if isinstance(meaning, RuleSet) else dict(meaning or {})
    written = formula.of if isinstance(formula, Complement) else formula | DNF.false
    rules = RuleSet((Rule("", written, (0.0,) * len(written)),), predicates)
    writer = tree.Writer(rules, tree.dialect_named(dialect), [], boolean, nan)
    condition = writer.formula(formula if isinstance(formula, Complement) else written)
    return str(writer.written(condition, pretty=False))


def _tree(function: str) -> ModuleType:
    """The module that needs sqlglot, loaded when it is needed."""
    with require_extra("sql", function):
        from logiclens.export import sql_tree
    return sql_tree
