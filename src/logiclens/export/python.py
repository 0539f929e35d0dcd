"""Rules as the source of one Python function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from logiclens.export.registry import rules_of
from logiclens.formula.column_kinds import CATEGORY, KINDS
from logiclens.formula.date_parts import DATE
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.predicate import Predicate, plain_label
from logiclens.formula.rule_set import RuleSet

_HEAD = """\
def predict(row):
    # row: a dictionary of the raw columns, in which None and NaN are missing values.
"""
_MISSING = """\
    def missing(column):
        # Types of pandas and NumPy are known by their names, so that neither is imported.
        cell = row[column]
        name = type(cell).__name__
        if cell is None or name in ("NAType", "NaTType", "MaskedConstant"):
            return True
        if name == "Decimal":
            return cell.is_nan()
        # Nothing but NaN and NaT is unequal to itself.
        return not name.startswith("complex") and bool(cell != cell)

"""
_DAYS = """\
    def days(start, end):
        # Days of the calendar, whatever the times of day; NaN where a date is missing.
        dates = [None if missing(column) else moment(column).date() for column in (start, end)]
        return float("nan") if None in dates else (dates[1] - dates[0]).days

"""
_PART_OF_DATE = {"month": "month", "weekday": "isoweekday()", "hour": "hour"}


def to_python(rules: Any) -> str:
    """Return the source of a function `predict(row)` that needs Python alone and predicts as the rules do.

    `row` is a dictionary of the raw columns; None, NaN and pandas' NA and NaT are missing values. A date or a duration
    may be an object of Python, NumPy or pandas, or a text. A cell that the rules refuse raises a ValueError, and so
    does a date of NumPy outside the years 1 to 9999. The function returns the class, or None if no rule decides; with
    several labels per row, a dictionary with one Boolean per class. Comments give the recurrence of cubes, where it is
    known.

    Args:
        rules: a rule set, an explanation, or an exact model.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.rule_set import Rule
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 60)}, otherwise=1)
    >>> print("holds = {" + to_python(rules).partition("holds = {")[2])
    holds = {
            'old': number('age') >= 60,
            'smoker': number('smoker') >= 0.5,
        }
        if holds['old'] and not holds['smoker']:
            return 'ill'
        if not holds['old']:
            return 'well'
        return 'well'
    <BLANKLINE>
    """
    rules = rules_of(rules)
    predicates = {concept: rules.predicate(concept) for concept in rules.concepts}
    lines = []
    if predicates:
        compared = (f"        {_text(concept)}: {_comparison(predicate)}," for concept, predicate in predicates.items())
        lines += ["    holds = {", *compared, "    }"]
    lines += [f"    {line}" for line in _answer(rules)]
    used = predicates.values()
    kinds = [p.kind if p.origin is None else DATE for p in used if p.operator != "missing"]
    # The helper of texts is the only one that does not ask whether a cell is missing.
    head = _HEAD + _MISSING * any(p.operator == "missing" or p.kind is not CATEGORY for p in used)
    head += "".join(dict.fromkeys(kind.python_helper for kind in KINDS.values() if kind in kinds))
    head += _DAYS * any(p.origin is not None and p.origin.kind == "days" for p in used)
    return head + "\n".join(lines) + "\n"


def _answer(rules: RuleSet) -> Iterable[str]:
    """Return the statements after `holds` that return the class."""
    labels = [repr(plain_label(rule.label)) for rule in rules.rules]
    if rules.multilabel:
        each = [
            f"    {_text(rule.name)}: {_formula(rule.formula)}," + _comment(rule.recurrence_line)
            for rule in rules.rules
        ]
        return ["return {", *each, "}"]
    if rules.resolve == "none":
        lines = ["fired = []"]
        for label, rule in zip(labels, rules.rules, strict=True):
            lines += [f"if {_formula(rule.formula)}:{_comment(rule.recurrence_line)}", f"    fired.append({label})"]
        return [*lines, "return fired[0] if len(fired) == 1 else None"]
    lines = []
    for decision in rules.decisions:
        comment = _comment(decision.recurrence)
        if not len(decision.cube):
            # An empty cube always fires, so nothing after it is reached.
            return [*lines, f"return {labels[decision.rule]}{comment}"]
        lines += [f"if {_conjunction(decision.cube)}:{comment}", f"    return {labels[decision.rule]}"]
    return [*lines, f"return {None if rules.otherwise is None else labels[rules.otherwise]}"]


def _comment(recurrence: str) -> str:
    """Return a comment with the recurrence of a line's cubes; empty where it is unknown."""
    return f"  # {recurrence}" if recurrence else ""


def _comparison(predicate: Predicate) -> str:
    """Return the comparison of a concept. Cells become numbers as in the rules, so that float32 and bool agree."""
    column = _text(predicate.column)
    if predicate.operator == "missing":
        return f"missing({column})"
    if predicate.origin is not None:
        columns = [_text(name) for name in predicate.sources]
        if predicate.origin.kind == "days":
            return f"days({', '.join(columns)}) {predicate.operator} {predicate.value!r}"
        part = f"moment({columns[0]}).{_PART_OF_DATE[predicate.origin.kind]}"
        return f"not missing({columns[0]}) and {part} {predicate.operator} {predicate.value!r}"
    return predicate.kind.python_condition(column, predicate.operator, predicate.value)


def _formula(formula: DNF | Complement) -> str:
    return f"not ({_disjunction(formula.of)})" if isinstance(formula, Complement) else _disjunction(formula)


def _disjunction(cubes: Iterable[Cube]) -> str:
    texts = [f"({_conjunction(cube)})" if len(cube) > 1 else _conjunction(cube) for cube in cubes]
    return " or ".join(texts) or "False"


def _conjunction(cube: Cube) -> str:
    return " and ".join("not " * (not lit.positive) + f"holds[{_text(lit.concept)}]" for lit in cube) or "True"


def _text(text: str) -> str:
    """Return a Python string literal. `str` comes first because the repr of a NumPy string includes its type."""
    return repr(str(text))
