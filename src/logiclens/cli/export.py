"""Printing of `logiclens export`."""

from __future__ import annotations

from pathlib import Path

import typer

from logiclens.errors import LogicLensError
from logiclens.estimators.store import load
from logiclens.export import to_json, to_latex, to_pmml, to_python, to_sql
from logiclens.formula.dnf import DNF
from logiclens.formula.english import english
from logiclens.formula.ruleset import RuleSet


def export_rules(folder: Path, form: str, *, dialect: str, table: str) -> str:
    """The rules of a saved model in another language."""
    stored = load(folder)
    rules = stored.rules
    if rules is None:
        raise LogicLensError(f"{folder} holds no rules.")
    if stored.certificate is None:
        typer.echo("note: these rules are about the model, they are not the model: it was not made exact.", err=True)
    if form == "sql":
        return to_sql(rules, table=table, dialect=dialect)
    if form == "english":
        sentences = [english(rule.formula, rules.predicates, head=rule.name) for rule in rules.rules]
        return "\n".join([*sentences, _who_decides(rules)])
    return {"python": to_python, "json": to_json, "pmml": to_pmml, "latex": to_latex}[form](rules)


def _who_decides(rules: RuleSet) -> str:
    """What a person must know to apply the sentences together."""
    if rules.multilabel:
        return "Each sentence stands for itself."
    if rules.resolve == "none":
        return "Where not exactly one of these applies, nothing is decided."
    order = "; ".join(
        f"{rules.rules[line.rule].name} if {english(DNF([line.cube]), rules.predicates).split(' if ')[-1].rstrip('.')}"
        for line in rules.decisions
    )
    otherwise = "nothing is decided" if rules.otherwise is None else f"a row is {rules.names[rules.otherwise]}"
    return f"Where several apply, the first of these decides: {order}. Where none does, {otherwise}."
