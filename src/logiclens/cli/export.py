"""`logiclens export`: the rules of a saved model in another language."""

from __future__ import annotations

from pathlib import Path

import typer

from logiclens.cli.output import STANDARD, check_writable, write_json, write_text
from logiclens.export import to_json, to_latex, to_pmml, to_python, to_sql, to_sympy
from logiclens.formula.dnf import DNF
from logiclens.formula.english import english
from logiclens.formula.folder import open_model
from logiclens.formula.record import from_dict
from logiclens.formula.ruleset import RuleSet


def export_rules(folder: Path, form: str, *, dialect: str, table: str, out: str | None, json: str | None) -> None:
    """Write the rules of a saved model in another language, to a file or to standard output."""
    check_writable(out)
    check_writable(json)
    content = open_model(folder)
    rules = from_dict(content["rules"])
    if not content["exact"]:
        typer.echo("note: these rules are about the model, they are not the model: it was not made exact.", err=True)
    text = translated(rules, form, dialect=dialect, table=table)
    if json is None or out is not None:
        write_text(text if text.endswith("\n") else f"{text}\n", out or STANDARD)
    write_json({"model": str(folder), "to": form, "exact": bool(content["exact"]), "text": text}, json)


def translated(rules: RuleSet, form: str, *, dialect: str, table: str) -> str:
    """The rules as text in another language."""
    if form == "sql":
        return to_sql(rules, table=table, dialect=dialect)
    if form == "english":
        sentences = [english(rule.formula, rules.predicates, head=rule.name) for rule in rules.rules]
        return "\n".join([*sentences, _who_decides(rules)])
    if form == "sympy":
        return "\n".join(f"{rule.name}: {to_sympy(rule.formula)}" for rule in rules.rules)
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
