"""HTML fragments for notebooks, of explanations and models; they contain no scripts and load nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Protocol

from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.english import english, recurrence_words
from logiclens.formula.html import BLOCK, CODE, FAINT, faint, rules_html
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula
from logiclens.words import percent

MOST_BARS = 15
"""So many concepts of a class are shown, the most relevant ones."""
MOST_OPEN = 6
"""With more classes than this, each is folded up under its sentence."""
MOST_SETTING = 200
"""Letters of a setting that are shown."""

_BAR = 12.0  # em, for a relevance of 1


class ExplainedClass(Protocol):
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

    @property
    def relevance(self) -> Mapping[str, float]:
        """The relevance of each relevant concept."""

    @property
    def fidelity(self) -> float:
        """How often formula and network agree."""

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


class Explained(Protocol):
    """The parts of an explanation that are shown."""

    @property
    def classes(self) -> Sequence[ExplainedClass]:
        """One for each class."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the reader."""

    @property
    def predicates(self) -> Mapping[str, Predicate]:
        """What the concepts mean on the raw table."""

    @property
    def soft_agreement(self) -> float | None:
        """How often rules and soft network agree; None unless the network was made exact."""

    @property
    def stability(self) -> Any:
        """The recurrence of concepts and cubes over resamples; None if unknown."""


def explanation_html(explanation: Explained) -> str:
    """Return one section per class, then the notes."""
    chosen = {} if explanation.stability is None else {entry.name: entry for entry in explanation.stability.classes}
    parts = []
    for explained in explanation.classes:
        counted = chosen.get(explained.name)
        recurs = "" if counted is None else _recurring(counted, explained.formula, explanation.stability)
        folded = len(explanation.classes) > MOST_OPEN
        parts.append(class_html(explained, explanation.predicates, folded=folded, more=recurs))
    if explanation.soft_agreement is not None:
        agree = percent(explanation.soft_agreement, 1)
        parts.append(faint(f"The rules predict what the soft network did on {agree} of the explained rows."))
    parts += [faint(f"note: {note}") for note in explanation.notes]
    return f'<div style="{BLOCK}">{"".join(parts)}</div>'


def class_html(
    explained: ExplainedClass, predicates: Mapping[str, Predicate], *, folded: bool = False, more: str = ""
) -> str:
    """Return the formula of one class in words and symbols, its fidelity, and the relevance of concepts.

    `more` is HTML to append.
    """
    words = english(explained.formula, predicates, head=explained.name)
    told = [faint(sentence) for sentence in _facts(explained)]
    if explained.reason is not None:
        why = escape(" ".join(part for part in (explained.reason, explained.remedy) if part))
        told.insert(0, f'<p style="margin:0.4em 0 0 0">{why}</p>')
    return (
        f'<details{"" if folded else " open"} style="margin:0 0 1em 0;overflow-wrap:anywhere">'
        f'<summary style="cursor:pointer"><strong>{escape(explained.name)}</strong>: {escape(words)}</summary>'
        f'<div style="margin:0.3em 0 0 1.1em"><code style="{CODE}">{escape(explained.first_order)}</code>'
        f"{''.join(told)}{_bars(explained.relevance, explained.formula.concepts)}{more}</div></details>"
    )


def model_html(name: str, settings: Mapping[str, object], rules: RuleSet | None, facts: Sequence[str]) -> str:
    """Return a fitted model: its non-default settings, its rules, and facts about them."""
    changed = ", ".join(f"{setting}={_cut(repr(value))}" for setting, value in settings.items())
    table = "" if rules is None else rules_html(rules)
    return (
        f'<div style="{BLOCK}"><p style="margin:0 0 0.6em 0"><strong>{escape(name)}</strong>'
        f'<code style="{CODE}">({escape(changed)})</code>, fitted</p>{table}{"".join(map(faint, facts))}</div>'
    )


def _facts(explained: ExplainedClass) -> list[str]:
    """Return the fidelity of the formula and what is proved about it, as sentences."""
    if explained.equals_network:
        facts = ["Formula and network agree on all explained rows."]
    else:
        facts = [f"Fidelity: formula and network agree on {percent(explained.fidelity, 1)} of the explained rows."]
    if explained.certificate is not None:
        facts.append(f"Certified: network and formula are equal on {explained.certificate.domain}.")
    if explained.proved_minimal:
        facts.append("Proved: no formula with fewer literals is equal to it there.")
    return facts


def _bars(relevance: Mapping[str, float], used: Sequence[str]) -> str:
    """Return the relevance of concepts as bars, full if the formula uses the concept and hollow if not."""
    ranked = sorted(relevance.items(), key=lambda item: -item[1])
    cell = "text-align:left;border:none;padding:0 0.8em 0 0"
    rows = []
    for concept, share in ranked[:MOST_BARS]:
        fill = "background:currentColor;" if concept in used else ""
        rows.append(
            f'<tr><td style="{cell};white-space:normal;overflow-wrap:anywhere">{escape(concept)}</td>'
            f'<td style="{cell}"><div style="{fill}border:1px solid currentColor;opacity:0.6;box-sizing:border-box;'
            f'height:0.7em;width:{_BAR * min(max(share, 0.0), 1.0):.2f}em"></div></td>'
            f'<td style="{cell}">{share:.2f}{", in the formula" if concept in used else ""}</td></tr>'
        )
    if not rows:
        return ""
    left = len(ranked) - MOST_BARS
    table = f'<table style="border-collapse:collapse;margin:0.5em 0 0 0;{FAINT}"><tbody>{"".join(rows)}</tbody></table>'
    return table + (faint(f"and {left} less relevant") if left > 0 else "")


def _recurring(counted: Any, formula: Any, stability: Any) -> str:
    """Return how often the concepts of a class were chosen, and how often its cubes recur, over the resamples or bags.

    Cubes of the formula come first, marked if they recur less than half of the time.
    """
    total, drawn = stability.n_resamples, stability.drawn
    own = set(formula) if isinstance(formula, DNF) else set()
    inside = [cube for cube in counted.cubes if cube in own]
    cubes = [
        f"{format_formula(DNF([cube]), 'unicode')} {recurrence_words(round(counted.cubes[cube] * total), total)}"
        for cube in [*inside, *(cube for cube in counted.cubes if cube not in own)][: max(5, len(inside))]
    ]
    chosen = [f"{concept} {percent(share)}" for concept, share in list(counted.concepts.items())[:8]]
    if chosen:
        cubes.insert(0, f"Chosen in {total} {drawn}: {', '.join(chosen)}.")
    # A loaded model only knows the cubes.
    return "".join(map(faint, cubes or [f"In {total} {drawn} no concept was chosen."]))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SETTING else f"{text[: MOST_SETTING - 1]}…"
