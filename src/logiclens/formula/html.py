"""Rules as a table for a notebook: plain words first, the formulas in small print."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from logiclens.formula.dnf import Cube
from logiclens.formula.english import literal_words
from logiclens.formula.text import format_formula
from logiclens.words import percent

if TYPE_CHECKING:
    from logiclens.formula.rule_set import Rule, RuleSet

# Text keeps the colour of the page, light or dark: what is less important is only made fainter.
BLOCK = "max-width:64em;overflow-x:auto;text-align:left;line-height:1.45"
FAINT = "opacity:0.75;font-size:0.87em"
_LINE = "1px solid rgba(128,128,128,0.4)"
_CELL = f"text-align:left;vertical-align:top;padding:0.35em 1.2em 0.35em 0;border:none;border-top:{_LINE}"
_FOLLOWING = "text-align:left;vertical-align:top;padding:0 1.2em 0.35em 0;border:none"
_WRAP = "white-space:normal;overflow-wrap:anywhere"
_NAME = "white-space:normal;overflow-wrap:break-word;max-width:18em"
CODE = "background:none;color:inherit;padding:0;white-space:pre-wrap;overflow-wrap:anywhere"


def rules_html(rules: RuleSet) -> str:
    """A row for each cube, the class it speaks for and how far it can be trusted; then who decides in doubt.

    A column says in how many bags each cube recurs, where that is known.

    >>> from logiclens.formula import Rule, RuleSet, parse
    >>> print(rules_html(RuleSet((Rule("ill", parse("old & ~fit"), (0.9,)),))))
    <div ...<th ...>ill</th><td ...>old is true and fit is not true</td><td ...>90.0%</td>...
    """
    counted = any(rule.is_counted for rule in rules.rules)
    words = ("class", "if", "confidence", *(("recurs",) if counted else ()))
    head = "".join(f'<th scope="col" style="{_CELL};border-top:none">{word}</th>' for word in words)
    rows = "".join(_rows(rule, rules, counted=counted) for rule in rules.rules)
    return (
        f'<div style="{BLOCK}"><table style="border-collapse:collapse;margin:0">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"{faint(' '.join([*_in_doubt(rules), _CONFIDENCE]))}</div>"
    )


def faint(text: str) -> str:
    """A paragraph of small print."""
    return f'<p style="margin:0.4em 0 0 0;{FAINT}">{escape(text)}</p>'


_CONFIDENCE = (
    "Confidence is the lower end of the 95% interval of how often the class is right where the condition holds."
)


def _rows(rule: Rule, rules: RuleSet, *, counted: bool) -> str:
    """The cubes of one class, one under the other, and the formula that they make."""
    lines = [
        (_cube_words(cube, rules), percent(confidence, 1), recurrence)
        for cube, confidence, recurrence in zip(rule.cubes, rule.confidence, rule.recurrence, strict=False)
    ] or [("otherwise", percent(rule.confidence[0], 1), "") if rule.is_complement else ("never", "", "")]
    name = f'<th scope="rowgroup" rowspan="{len(lines) + 1}" style="{_CELL};{_NAME}">{escape(rule.name)}</th>'
    rows = []
    for place, (words, confidence, recurrence) in enumerate(lines):
        cell = _CELL if place == 0 else _FOLLOWING
        told = words if place == 0 else f"or if {words}"
        recurs = f'<td style="{cell};{FAINT}">{recurrence}</td>' if counted else ""
        rows.append(
            f'<tr>{name if place == 0 else ""}<td style="{cell};{_WRAP}">{escape(told)}</td>'
            f'<td style="{cell}">{confidence}</td>{recurs}</tr>'
        )
    formula = escape(format_formula(rule.formula, "unicode"))
    span = f'<td colspan="{2 + counted}" style="{_FOLLOWING};{FAINT}">'
    rows.append(f'<tr>{span}<code style="{CODE}">{formula}</code></td></tr>')
    return "".join(rows)


def _cube_words(cube: Cube, rules: RuleSet) -> str:
    return " and ".join(literal_words(literal, rules.predicates) for literal in cube) or "always"


def _in_doubt(rules: RuleSet) -> list[str]:
    """Who decides where not exactly one formula fires."""
    if rules.multilabel:
        return ["Each class is answered by its own formula: a row may have several, or none."]
    if rules.resolve == "none":
        return ["Where not exactly one class fires, nobody decides."]
    if any(rule.is_complement for rule in rules.rules):
        return []
    told = []
    if sum(len(rule.cubes) > 0 for rule in rules.rules) > 1:
        told.append(
            f"The first that applies decides: {', then '.join(rules.names[place] for place in rules.order)}."
            if rules.resolve == "order"
            else "Where several classes fire, the condition with the highest confidence decides; the upper of equals."
        )
    otherwise = "nobody decides" if rules.otherwise is None else f"the class is {rules.names[rules.otherwise]}"
    return [*told, f"Where no class fires, {otherwise}."]
