"""HTML fragments for notebooks, of rules, explanations and models; they contain no scripts and load nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Protocol

from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.english import (
    NO_FACTS,
    TableFacts,
    category_unions,
    english,
    gap_words,
    union_words,
)
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import DecisionRules, Rule
from logiclens.formula.text import format_formula
from logiclens.metrics.rule_statistics import ClassStatistics, RuleStatistics
from logiclens.words import count_text, percent, readable, times

MOST_BARS = 15
"""So many concepts of a class are shown, the most relevant ones."""
MOST_OPEN = 6
"""With more classes than this, each is folded up under its sentence."""
MOST_SETTING = 200
"""Letters of a setting that are shown."""

_BAR = 12.0  # em, for a relevance of 1

# Text keeps the colour of the page, light or dark: what is less important is only made fainter.
_BLOCK = "max-width:64em;overflow-x:auto;text-align:left;line-height:1.45"
_FAINT = "opacity:0.75;font-size:0.87em"
_LINE = "1px solid rgba(128,128,128,0.4)"
_CELL = f"text-align:left;vertical-align:top;padding:0.35em 1.2em 0.35em 0;border:none;border-top:{_LINE}"
_FOLLOWING = "text-align:left;vertical-align:top;padding:0 1.2em 0.35em 0;border:none"
_WRAP = "white-space:normal;overflow-wrap:anywhere;min-width:9em"
_NAME = "white-space:normal;overflow-wrap:break-word;max-width:18em"
_CODE = "background:none;color:inherit;padding:0;white-space:pre-wrap;overflow-wrap:anywhere"


def _text(text: str) -> str:
    """Return a text for HTML, with control characters and lone surrogates escaped."""
    return escape(readable(text))


class ClassLike(Protocol):
    """The parts of a class explanation that are shown."""

    @property
    def name(self) -> str:
        """The class."""

    @property
    def formula(self) -> DNF | Complement:
        """Its formula."""

    @property
    def first_order(self) -> str:
        """The formula as a first-order sentence."""

    def leanings(self, predicates: Mapping[str, Predicate] | None = None) -> Sequence[Any]:
        """What the network leans on, the concepts of the formula first."""

    @property
    def fidelity(self) -> float:
        """How often formula and network agree."""

    @property
    def better_constant(self) -> str | None:
        """A note on a constant answer with a higher fidelity."""

    @property
    def equals_network(self) -> bool:
        """Whether formula and network agree on all rows."""

    @property
    def proved_minimal(self) -> bool:
        """Whether it is proved that no shorter formula is equal."""

    @property
    def reason(self) -> str | None:
        """Why the formula is constant."""

    @property
    def remedy(self) -> str | None:
        """What to do about it."""

    @property
    def certificate(self) -> Any:
        """The certificate that head and formula are equal; None without one."""


class ExplanationLike(Protocol):
    """The parts of an explanation that are shown."""

    @property
    def classes(self) -> Sequence[ClassLike]:
        """One for each class."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the reader."""

    @property
    def predicates(self) -> Mapping[str, Predicate]:
        """What the concepts mean on the raw table."""

    @property
    def facts(self) -> TableFacts:
        """What is known of the training table."""

    @property
    def stability(self) -> Any:
        """How often rules are found again in the bags; None if unknown."""


def explanation_html(explanation: ExplanationLike) -> str:
    """Return one section per class, then the notes."""
    parts = []
    for explained in explanation.classes:
        lines = [] if explanation.stability is None else explanation.stability.lines(explained.name)
        folded = len(explanation.classes) > MOST_OPEN
        parts.append(
            class_html(
                explained, explanation.predicates, explanation.facts, folded=folded, more="".join(map(_faint, lines))
            )
        )
    parts += map(_faint, gap_words([explained.formula for explained in explanation.classes], explanation.predicates))
    parts += [_faint(f"note: {note}") for note in explanation.notes]
    return f'<div style="{_BLOCK}">{"".join(parts)}</div>'


def class_html(
    explained: ClassLike,
    predicates: Mapping[str, Predicate],
    facts: TableFacts = NO_FACTS,
    *,
    folded: bool = False,
    more: str = "",
) -> str:
    """Return the formula of one class in words and symbols, its fidelity, and the relevance of concepts.

    `more` is HTML to append.
    """
    words = english(explained.formula, predicates, head=explained.name, facts=facts)
    told = [_faint(sentence) for sentence in _facts(explained)]
    if explained.reason is not None:
        why = _text(" ".join(part for part in (explained.reason, explained.remedy) if part))
        told.insert(0, f'<p style="margin:0.4em 0 0 0">{why}</p>')
    return (
        f'<details{"" if folded else " open"} style="margin:0 0 1em 0;overflow-wrap:anywhere">'
        f'<summary style="cursor:pointer"><strong>{_text(explained.name)}</strong>: {_text(words)}</summary>'
        f'<div style="margin:0.3em 0 0 1.1em"><code style="{_CODE}">{_text(explained.first_order)}</code>'
        f"{''.join(told)}{_bars(explained.leanings(predicates))}{more}</div></details>"
    )


def model_html(name: str, settings: Mapping[str, object], rules: DecisionRules | None, facts: Sequence[str]) -> str:
    """Return a fitted model: its non-default settings, its rules, and facts about them."""
    changed = ", ".join(f"{setting}={_cut(repr(value))}" for setting, value in settings.items())
    table = "" if rules is None else rules_html(rules)
    return (
        f'<div style="{_BLOCK}"><p style="margin:0 0 0.6em 0"><strong>{_text(name)}</strong>'
        f'<code style="{_CODE}">({_text(changed)})</code>, fitted</p>{table}{"".join(map(_faint, facts))}</div>'
    )


def rules_html(rules: DecisionRules) -> str:
    """A row for each cube, the class it speaks for and how far it can be trusted; then who decides in doubt.

    A column says in how many bags each rule is found again, where that is known.

    >>> from logiclens.formula import Rule, RuleSet, parse
    >>> print(rules_html(RuleSet((Rule("ill", parse("old & ~fit"), (0.9,)),))))
    <div ...<th ...>ill</th><td ...>old is true and fit is not true</td><td ...>90%</td>...
    """
    counted = any(rule.is_counted for rule in rules.rules)
    words = ("class", "if", "trust", *(("found again",) if counted else ()))
    head = "".join(f'<th scope="col" style="{_CELL};border-top:none">{_text(word)}</th>' for word in words)
    rows = "".join(_rows(rule, rules, counted=counted) for rule in rules.rules)
    return (
        f'<div style="{_BLOCK}"><table style="border-collapse:collapse;margin:0">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"{_faint(' '.join([*_in_doubt(rules), *gap_words(rules.formulas, rules.predicates), _TRUST]))}</div>"
    )


def statistics_html(statistics: RuleStatistics) -> str:
    """Return a table for each class, with a row for each condition and one for the whole formula; then subgroups.

    Subgroups are folded up.
    """
    weighed = "" if statistics.weight == statistics.n_rows else f", weight {count_text(statistics.weight)}"
    source = f"Rule statistics on {statistics.source} (n = {statistics.n_rows:,}{weighed})."
    parts = [
        f'<p style="margin:0 0 0.6em 0">{_text(source)}</p>',
        _statistics_table(statistics, statistics.classes),
    ]
    for name, classes in statistics.subgroups.items():
        parts.append(
            f'<details style="margin:0.6em 0 0 0"><summary style="cursor:pointer">'
            f"{_text(f'{statistics.by} = {name}')}</summary>"
            f"{_statistics_table(statistics, classes)}</details>"
        )
    wilson = "Intervals are of 95%, after Wilson. A class by what the rules decide, a rule by where it fires"
    parts.append(_faint(f"{wilson} and by what it decides."))
    return f'<div style="{_BLOCK}">{"".join(parts)}</div>'


def _statistics_table(statistics: RuleStatistics, classes: Sequence[ClassStatistics]) -> str:
    words = ("class", "rule", "fires on", "decides", "finds", "unique", "right when it fires", "lift")
    head = "".join(f'<th scope="col" style="{_CELL};border-top:none">{word}</th>' for word in words)
    rows = []
    for counted, heading in zip(classes, statistics.headings, strict=True):
        lines = statistics.lines(counted)
        name = f'<th scope="rowgroup" rowspan="{len(lines) + 1}" style="{_CELL};{_NAME}">{_text(heading)}</th>'
        for place, (rule, line) in enumerate(lines):
            cell = _CELL if place == 0 else _FOLLOWING
            numbers = (
                percent(line.support.value, 1),
                percent(line.decides.value, 1),
                line.coverage.percent,
                percent(line.unique_coverage.value, 1),
                line.confidence.percent,
                times(line.lift)[0],
            )
            cells = "".join(f'<td style="{cell}">{_text(number)}</td>' for number in numbers)
            rows.append(f'<tr>{name if place == 0 else ""}<td style="{cell};{_WRAP}">{_text(rule)}</td>{cells}</tr>')
        share = counted.prevalence
        has = f"{count_text(share.hits)} of {count_text(share.total)} rows ({percent(share.value, 1)}) have the class"
        rows.append(
            f'<tr><td colspan="7" style="{_FOLLOWING};{_FAINT}">{_text(f"{has}; {counted.decision}")}</td></tr>'
        )
    return (
        f'<table style="border-collapse:collapse;margin:0"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _faint(text: str) -> str:
    """A paragraph of small print."""
    return f'<p style="margin:0.4em 0 0 0;{_FAINT}">{_text(text)}</p>'


_TRUST = "Trust is the lower end of the 95% interval of how often the class is right where the condition holds."


def _rows(rule: Rule, rules: DecisionRules, *, counted: bool) -> str:
    """The cubes of one class, one under the other, and the formula that they make."""
    lines = [_union_line(union, rule, rules) for union in category_unions(rule.cubes, rules.predicates)]
    if not lines:
        lines = [("otherwise", percent(rule.confidence[0]), "") if rule.is_complement else ("never", "", "")]
    heading = rules.class_heading(rule.name)
    name = f'<th scope="rowgroup" rowspan="{len(lines) + 1}" style="{_CELL};{_NAME}">{_text(heading)}</th>'
    rows = []
    for place, (words, confidence, recurrence) in enumerate(lines):
        cell = _CELL if place == 0 else _FOLLOWING
        told = words if place == 0 else f"or if {words}"
        again = f'<td style="{cell};{_FAINT}">{recurrence}</td>' if counted else ""
        rows.append(
            f'<tr>{name if place == 0 else ""}<td style="{cell};{_WRAP}">{_text(told)}</td>'
            f'<td style="{cell}">{confidence}</td>{again}</tr>'
        )
    formula = _text(format_formula(rule.formula, "unicode"))
    span = f'<td colspan="{2 + counted}" style="{_FOLLOWING};{_FAINT}">'
    rows.append(f'<tr>{span}<code style="{_CODE}">{formula}</code></td></tr>')
    return "".join(rows)


def _union_line(union: Sequence[Cube], rule: Rule, rules: DecisionRules) -> tuple[str, str, str]:
    """Return cubes that differ in one category only in words, with the lowest trust and recurrence of them."""
    trust = min(confidence for cube, confidence in zip(rule.cubes, rule.confidence, strict=True) if cube in union)
    return union_words(union, rules.predicates, rules.facts), percent(trust), rule.recurrence_of(union)


def _in_doubt(rules: DecisionRules) -> list[str]:
    """Who decides where not exactly one formula fires."""
    if rules.multilabel:
        return ["Each class is answered by its own formula: a row may have several, or none."]
    if rules.resolve == "none":
        return ["Where not exactly one class fires, nobody decides."]
    if any(rule.is_complement for rule in rules.rules):
        return []
    told, headings = [], [rules.class_heading(name) for name in rules.names]
    if sum(len(rule.cubes) > 0 for rule in rules.rules) > 1:
        told.append(
            f"The first that applies decides: {', then '.join(headings[place] for place in rules.order)}."
            if rules.resolve == "order"
            else "Where several classes fire, the condition with the highest trust decides; the upper of equals."
        )
    otherwise = "nobody decides" if rules.otherwise is None else rules.class_words(rules.names[rules.otherwise])
    return [*told, f"Where no class fires, {otherwise}."]


def _facts(explained: ClassLike) -> list[str]:
    """Return the fidelity of the formula and what is proved about it, as sentences."""
    if explained.equals_network:
        facts = ["Formula and network agree on all explained rows."]
    else:
        facts = [f"Fidelity: formula and network agree on {percent(explained.fidelity, 1)} of the explained rows."]
        if explained.better_constant is not None:
            facts.append(f"A constant answer is closer: {explained.better_constant}.")
    if explained.certificate is not None:
        facts.append(f"Certified: network and formula are equal on {explained.certificate.domain}.")
    if explained.proved_minimal:
        facts.append("Proved: no formula with fewer literals is equal to it there.")
    return facts


def _bars(leanings: Sequence[Any]) -> str:
    """Return the relevance of concepts as bars, those of the formula first: full if the formula uses it, else hollow.

    A sentence says why a concept that the network leans on is not in the formula.
    """
    shown = [lean for place, lean in enumerate(leanings) if lean.used or place < MOST_BARS]
    cell = "text-align:left;border:none;padding:0 0.8em 0 0"
    rows = []
    for lean in shown:
        fill = "background:currentColor;" if lean.used else ""
        told = ("in the formula" if lean.used else "not in the formula") + (f": {lean.reason}" if lean.reason else "")
        rows.append(
            f'<tr><td style="{cell};white-space:normal;overflow-wrap:anywhere">{_text(lean.concept)}</td>'
            f'<td style="{cell}"><div style="{fill}border:1px solid currentColor;opacity:0.6;box-sizing:border-box;'
            f'height:0.7em;width:{_BAR * min(max(lean.relevance, 0.0), 1.0):.2f}em"></div></td>'
            f'<td style="{cell};white-space:normal">{lean.relevance:.2f}, {_text(told)}</td></tr>'
        )
    if not rows:
        return ""
    left = len(leanings) - len(shown)
    table = (
        f'<table style="border-collapse:collapse;margin:0.5em 0 0 0;{_FAINT}"><tbody>{"".join(rows)}</tbody></table>'
    )
    return table + (_faint(f"and {left} less relevant") if left > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SETTING else f"{text[: MOST_SETTING - 1]}…"
