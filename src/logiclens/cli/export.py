"""`logiclens export`: the rules of a saved model in another language."""

from __future__ import annotations

from pathlib import Path

from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json, write_text
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Cube
from logiclens.formula.english import english, literal_words
from logiclens.formula.folder import open_model
from logiclens.formula.predicate import plain_label
from logiclens.formula.record import from_dict
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula


def export_rules(
    folder: Path, form: str, *, dialect: str, table: str, out: str | None, json: str | None, quiet: bool
) -> None:
    """Write the rules of a saved model in another language, to a file or to standard output."""
    check_outputs(out, json)
    content = open_model(folder)
    if content.get("rules") is None:
        raise LogicLensError(f"{folder} holds no rules.")
    printer = Printer(quiet=quiet)
    text = translated(from_dict(content["rules"]), form, dialect=dialect, table=table)
    if not content["exact"]:
        printer.note("note: these rules are about the model, they are not the model: it was not made exact.")
    if json is None or out is not None:
        write_text(text if text.endswith("\n") else f"{text}\n", out or STANDARD)
    write_json({"model": str(folder), "to": form, "exact": bool(content["exact"]), "text": text}, json)
    if out not in (None, STANDARD):
        printer.note(f"The rules are in {out}.")


def translated(rules: RuleSet, form: str, *, dialect: str, table: str) -> str:
    """The rules as text in another language."""
    from logiclens.export import to_json, to_latex, to_pmml, to_python, to_sql

    if form == "sql":
        return to_sql(rules, table=table, dialect=dialect)
    if form == "english":
        # What is left is said last.
        told = sorted(rules.rules, key=lambda rule: rule.is_complement)
        if rules.resolve == "order" and len(rules.order) > 1:
            told = [rules.rules[place] for place in rules.order]
        sentences = [english(rule.formula, rules.predicates, head=rule.name) for rule in told]
        return "\n".join([*sentences, *_who_decides(rules), *_recurrences(rules)])
    if form == "sympy":
        return _sympy(rules)
    return {"python": to_python, "json": to_json, "pmml": to_pmml, "latex": to_latex}[form](rules)


def _sympy(rules: RuleSet) -> str:
    """A dictionary of expressions as Python writes it, since concepts have names that sympy could not read back."""
    from logiclens.export import to_sympy

    made = [(rule, to_sympy(rule.formula)) for rule in rules.rules]
    # After to_sympy, which says plainly where sympy is not installed.
    from sympy import srepr

    lines = []
    for rule, expression in made:
        # The text of a cube as Python writes it: a name may hold the end of a line, which would end the comment.
        told = zip(rule.cubes, rule.recurrence, strict=True)
        lines += [f"    # {format_formula(DNF([cube]))!r} {words}" for cube, words in told if words]
        lines.append(f"    {rule.label!r}: {srepr(expression)},")
    if not rules.multilabel and rules.resolve == "order":
        order = [plain_label(rules.rules[place].label) for place in rules.order]
        otherwise = None if rules.otherwise is None else plain_label(rules.rules[rules.otherwise].label)
        ending = [f"order = {order!r}  # the first that applies decides", f"otherwise = {otherwise!r}"]
    else:
        ending = []
    head = ["from sympy import And, Not, Or, Symbol, false, true", "", "rules = {"]
    return "\n".join([*head, *lines, "}", *ending])


def _who_decides(rules: RuleSet) -> list[str]:
    """What a person must know to apply the sentences together."""
    if rules.multilabel:
        return ["Each sentence stands for itself."]
    if any(rule.is_complement for rule in rules.rules):
        return []
    return [_resolution(rules)]


def _resolution(rules: RuleSet) -> str:
    if rules.resolve == "none":
        return "Where not exactly one of these applies, nothing is decided."
    if rules.resolve == "order" and any(rule.cubes for rule in rules.rules):
        otherwise = "nothing is decided" if rules.otherwise is None else f"a row is {rules.names[rules.otherwise]}"
        names = ", ".join(rules.names[place] for place in rules.order)
        first = f"The first that applies decides, in this order: {names}. " if len(rules.order) > 1 else ""
        return f"{first}Where none applies, {otherwise}."
    order = "; ".join(f"{rules.rules[line.rule].name} if {_condition(line.cube, rules)}" for line in rules.decisions)
    otherwise = "nothing is decided" if rules.otherwise is None else f"a row is {rules.names[rules.otherwise]}"
    if not order:
        return f"As none ever applies, {otherwise}."
    return f"Where several apply, the first of these decides: {order}. Where none does, {otherwise}."


def _recurrences(rules: RuleSet) -> list[str]:
    """A sentence for each cube that says how often it recurs, where that is known."""
    return [
        f"{rule.name} if {_condition(cube, rules)}: {words}."
        for rule in rules.rules
        for cube, words in zip(rule.cubes, rule.recurrence, strict=True)
        if words
    ]


def _condition(cube: Cube, rules: RuleSet) -> str:
    return " and ".join(literal_words(literal, rules.predicates) for literal in cube) or "anything holds"
