"""Rules as the source of one Python function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from logiclens.export.registry import rules_of
from logiclens.formula.column_kinds import NUMBER, TEXT_FORMS
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
        # Nothing but NaN and its kin is unequal to itself; pandas' NA does not say whether it is.
        cell = row[column]
        return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)

"""


_DAY = """\
    def day(column):
        # A number that grows by one from each day of the calendar to the next.
        text = moment(column)
        year, month = int(text[:4]), int(text[5:7])
        if month < 3:
            year, month = year - 1, month + 12
        leap_days = year // 4 - year // 100 + year // 400
        return 365 * year + leap_days + (153 * month - 457) // 5 + int(text[8:10])

"""
_DATE_PARTS = {
    "month": """\
    def month(column):
        return int(moment(column)[5:7])

""",
    "weekday": """\
    def weekday(column):
        # 1 is a Monday, 7 a Sunday.
        return (day(column) + 1) % 7 + 1

""",
    "hour": """\
    def hour(column):
        return int(moment(column)[11:13])

""",
    "days": """\
    def days(start, end):
        # Days of the calendar, whatever the times of day.
        return day(end) - day(start)

""",
}


def to_python(rules: Any) -> str:
    """Return the source of a function `predict(row)` that imports nothing and predicts as the rules do.

    `row` is a dictionary of the raw columns; None and NaN are missing values. A date may be an object of Python, NumPy
    or pandas, or ISO text. The function returns the class, or None if no rule decides; with several labels per row, a
    dictionary with one Boolean per class. Comments give the recurrence of cubes, where it is known.

    Args:
        rules: a rule set, an explanation, or an exact model.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.rule_set import Rule
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 60)}, otherwise=1)
    >>> print(to_python(rules))
    def predict(row):
        # row: a dictionary of the raw columns, in which None and NaN are missing values.
        def number(column):
            # A missing value becomes NaN, with which every comparison is false.
            return float("nan") if row[column] is None else float(row[column])
    <BLANKLINE>
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
    asked = predicates.values()
    head = _HEAD
    parts = {p.origin.kind for p in asked if p.origin is not None}
    helpers = [p.kind.python_helper for p in asked if p.operator != "missing" and p.origin is None]
    helpers += [DATE.python_helper] * bool(parts)
    if NUMBER.python_helper in helpers:
        head += NUMBER.python_helper
    if parts or any(predicate.operator == "missing" or predicate.has_text_form for predicate in asked):
        head += _MISSING
    head += "".join(kind.python_helper for kind in TEXT_FORMS if kind.python_helper in helpers)
    head += _DAY if parts & {"weekday", "days"} else ""
    head += "".join(helper for part, helper in _DATE_PARTS.items() if part in parts)
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
        known = " and ".join(f"not missing({name})" for name in columns)
        return f"{known} and {predicate.origin.kind}({', '.join(columns)}) {predicate.operator} {predicate.value!r}"
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
