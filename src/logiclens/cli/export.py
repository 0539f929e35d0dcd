"""Printing of `logiclens export`."""

from __future__ import annotations

from pathlib import Path

from logiclens.errors import LogicLensError
from logiclens.estimators.store import load
from logiclens.export import to_json, to_latex, to_pmml, to_python, to_sql
from logiclens.formula.english import english


def export_rules(folder: Path, form: str, *, dialect: str, table: str) -> str:
    """The rules of a saved model in another language."""
    rules = load(folder).rules
    if rules is None:
        raise LogicLensError(f"{folder} holds no rules.")
    if form == "sql":
        return to_sql(rules, table=table, dialect=dialect)
    if form == "english":
        return "\n".join(english(rule.formula, rules.predicates, head=rule.name) for rule in rules.rules)
    return {"python": to_python, "json": to_json, "pmml": to_pmml, "latex": to_latex}[form](rules)
