"""The explanation report: one self-contained HTML file, rendered from a `Result` alone.

The views hold the words and numbers that the page shows, so that the template computes nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from logiclens.errors import require_extra
from logiclens.formula.dnf import Cube
from logiclens.formula.english import recurrence_words
from logiclens.formula.rule_set import Rule, who_decides
from logiclens.metrics.rule_statistics import Confusion, CubeRecord, DecisionRecord, TwoByTwo
from logiclens.report.charts import MOST_BARS, accuracy_chart, loss_chart, relevance_chart
from logiclens.report.result import ClassResult, ConceptWords, Recurrence, Result
from logiclens.words import (
    ShareLike,
    as_sentence,
    count_text,
    count_with_noun,
    enumeration,
    figure,
    interval,
    percent,
    readable,
    share_and_interval,
    share_words,
    times,
)

MOST_ROWS = 200
"""The most row numbers listed for a cube; the page says how many more there are."""

Figure = tuple[str, str]
"""A number as printed, and its interval; the interval is empty if there is none."""


@dataclass(frozen=True)
class Bar:
    """A share on a scale from 0 to 100, its interval, and the share among all rows for comparison."""

    value: float
    low: float
    width: float
    base: float | None
    words: str


@dataclass(frozen=True)
class RuleLine:
    """A cube, or the whole formula, with its numbers."""

    words: str
    sentence: str
    interval: str
    bar: Bar | None
    confidence: str
    coverage: Figure
    unique: Figure
    lift: Figure
    table: TwoByTwo
    recurrence: str = ""


@dataclass(frozen=True)
class CoveredRows:
    """The rows on which a cube fires: the numbers to list, each with whether its class differs, and how many more."""

    words: str
    total: int
    rows: tuple[tuple[str, bool], ...]
    more: int


@dataclass(frozen=True)
class ClassView:
    """One class: its rules in words, their statistics, and how they relate to the network."""

    key: str
    name: str
    otherwise: str
    conditions: tuple[str, ...]
    constant: str
    formula: str
    status: str
    certified: bool
    prevalence: str
    lines: tuple[RuleLine, ...]
    whole: RuleLine
    decision: str
    reason: str
    comparison: str
    covered: tuple[CoveredRows, ...]


def class_views(result: Result) -> tuple[ClassView, ...]:
    """Return the view of each class, in order."""
    return tuple(_class_view(place, result) for place in range(len(result.classes)))


def _class_view(place: int, result: Result) -> ClassView:
    entry, rule, measured = result.classes[place], result.rules.rules[place], result.statistics.classes[place]
    name, words = entry.name, [cube_words(cube, _meanings(result)) for cube in rule.cubes]
    base = measured.prevalence.value
    recurs = recurrences(result.stability, name)
    constant = _constant(rule)
    return ClassView(
        key=f"class-{place}",
        name=name,
        otherwise=result.classes[1 - place].name if rule.is_complement else "",
        conditions=() if constant else tuple(words),
        constant=constant,
        formula=entry.formula,
        status=_status(entry),
        certified=entry.certified is not None,
        prevalence=share_words(measured.prevalence),
        lines=tuple(
            replace(_line(w, cube, name, base), recurrence=recurs.get(cube.text, ""))
            for w, cube in zip(words, measured.cubes, strict=True)
        ),
        whole=_line("otherwise" if rule.is_complement else f"any rule for {name} fires", measured.whole, name, base),
        decision=decision_words(measured.decision, name),
        reason=" ".join(as_sentence(part) for part in (entry.reason, entry.remedy) if part),
        comparison=_comparison(entry),
        covered=tuple(_covered(w, cube, name, result) for w, cube in zip(words, rule.cubes, strict=True)),
    )


def _meanings(result: Result) -> dict[str, ConceptWords]:
    return {concept.name: concept for concept in result.concepts}


def _constant(rule: Rule) -> str:
    """Return `never` or `always` for a constant formula, an empty text for any other."""
    if rule.is_complement or (rule.cubes and all(len(cube) for cube in rule.cubes)):
        return ""
    return "always" if rule.cubes else "never"


def recurrences(stability: Recurrence | None, name: str) -> dict[str, str]:
    """Return how often each cube of a class recurs, by its text; nothing if recurrence was not measured."""
    if stability is None:
        return {}
    own, total = (entry for entry in stability.cubes if entry.class_ == name), stability.resamples
    return {entry.text: recurrence_words(round(entry.frequency * total), total) for entry in own}


def cube_words(cube: Cube, meanings: Mapping[str, ConceptWords]) -> str:
    """Return a cube in words."""
    parts = ((meanings[literal.concept], literal.positive) for literal in cube)
    return " and ".join(meant.words if positive else meant.words_not for meant, positive in parts) or "always"


def line_words(cube: CubeRecord, name: str) -> str:
    """Say on how many rows a cube fires and how many of them have the class."""
    support, confidence = cube.support, cube.confidence
    if not confidence.total:
        return f"fires on none of {count_with_noun(support.total, 'row')}, so nothing is known of how often it is right"
    return (
        f"fires on {count_text(support.hits)} of {count_with_noun(support.total, 'row')}; "
        f"{share_and_interval(confidence)[0]} of them are {name}"
    )


def decision_words(decision: DecisionRecord | None, name: str) -> str:
    """Say how often the rules decide for a class and how often they are right; nothing for a result of schema 1."""
    if decision is None:
        return ""
    decided, precision, recall = decision.decided, decision.precision, decision.recall
    on = f"The rules decide for {name} on {count_text(decided.hits)} of {count_with_noun(decided.total, 'row')}"
    if not precision.total:
        return f"{on}, so nothing is known of how often that is right."
    right, found = share_words(precision), share_words(recall)
    return (
        f"{on}: {right} of these are {name} (precision), and {found} of all {name} are found (recall); "
        f"F1 {percent(decision.f1, 1)}."
    )


def confusions(result: Result) -> list[Confusion]:
    """Return the confusion matrices to show: that of the network, and that of the rules if it is another one."""
    network, rules = result.confusion, result.confusion_of_rules
    if network is None:
        return []
    return [network] if rules is None or network.of == rules.of else [network, rules]


def _line(words: str, cube: CubeRecord, name: str, base: float | None) -> RuleLine:
    confidence, around = share_and_interval(cube.confidence)
    return RuleLine(
        words=words,
        sentence=line_words(cube, name),
        interval=around,
        bar=bar(cube.confidence, base),
        confidence=confidence,
        coverage=share_and_interval(cube.coverage),
        unique=share_and_interval(cube.unique_coverage),
        lift=times(cube.lift, cube.lift_low, cube.lift_high),
        table=cube.table,
    )


def bar(share: ShareLike, base: float | None) -> Bar | None:
    """Return a share as a bar; None if nothing was counted."""
    if share.value is None:
        return None
    beside = "" if base is None else f"; among all rows {percent(base)}"
    value, around = share_and_interval(share)
    return Bar(
        value=round(100 * share.value, 2),
        low=round(100 * share.low, 2),
        width=round(100 * (share.high - share.low), 2),
        base=None if base is None else round(100 * base, 2),
        words=f"{value}, interval {around}{beside}",
    )


def _status(entry: ClassResult) -> str:
    """Say whether rules and network of a class are equal, or how often they agree."""
    certified, fidelity = entry.certified, entry.fidelity
    if certified is not None:
        made = " The network was trained anew to equal these rules." if certified.refit else ""
        if certified.agreement is not None:
            made = (
                f" The network is {certified.origin}; the rules decide as the committee that taught them on "
                f"{percent(certified.agreement)} of the training rows."
            )
        return (
            f"Certified: rules and network give the same answer on {certified.domain}. The closest call is "
            f"{certified.smallest_logit:.2g}, rounding is off by {certified.rounding_bound:.1g} at most.{made}"
        )
    if entry.equals_network:
        return "Rules and network answer alike on every row they were made from; for other rows nothing is proved."
    if fidelity is None:
        return "How well these rules follow the network was not measured."
    return f"Approximation: rules and network agree on {percent(fidelity)} of the rows they were made from."


def _comparison(entry: ClassResult) -> str:
    simplest, own = entry.simplest, entry.f1
    if simplest is None or own is None:
        return ""
    ahead = 100 * (own - simplest.f1)
    verdict = (
        "The rules do no better than this one condition."
        if ahead <= 0
        else f"The rules are ahead by {ahead:.1f} points."
        if ahead >= 0.05
        else "The rules are hardly ahead."
    )
    return (
        f"What the rules decide scores F1 {percent(own, 1)}. The best single condition alone, “{simplest.text}”, "
        f"scores {percent(simplest.f1, 1)}. {verdict}"
    )


def _covered(words: str, cube: Cube, name: str, result: Result) -> CoveredRows:
    place = {concept.name: i for i, concept in enumerate(result.concepts)}
    signs = [(place[literal.concept], "1" if literal.positive else "0") for literal in cube]
    fired = [row for row in result.rows if all(row.bits[i] == sign for i, sign in signs)]
    # A row with several labels names them all, so it cannot be compared with one class.
    rows = [(str(row.row), not result.multilabel and row.label != name) for row in fired[:MOST_ROWS]]
    return CoveredRows(words, len(fired), tuple(rows), len(fired) - len(rows))


def summary(result: Result) -> str:
    """Return the page in one sentence."""
    data, confusion = result.data, result.confusion
    n_cubes = sum(len(rule.cubes) for rule in result.rules.rules)
    found = f"{count_with_noun(n_cubes, 'rule')} for {data.target}, learned from {data.name}"
    if confusion is None:
        return f"{found}."
    # Answers are in the order of the labels, then "undecided": the diagonal holds the right answers.
    right = sum(row[i] for i, row in enumerate(confusion.counts) if i < len(confusion.predicted))
    total = sum(sum(row) for row in confusion.counts)
    if not total:
        return f"{found}."
    give = "give" if confusion.of.endswith("rules") else "gives"
    return (
        f"{found}: {confusion.of} {give} the right answer on {count_text(right)} of {count_with_noun(total, 'row')} "
        f"({percent(right / total)})."
    )


def standing(result: Result) -> str:
    """Say for which classes the rules are the model, and how well they approximate it otherwise."""
    classes = result.classes
    proved = [entry.name for entry in classes if entry.certified is not None]
    if len(proved) == len(classes):
        return (
            "The rules are the model: for every class it is proved that the network answers as its rules do, on every "
            "combination of the conditions it uses. That does not make them right; the numbers below say how often "
            "they are."
        )
    if proved:
        rest = [entry.name for entry in classes if entry.certified is None]
        certain, near = enumeration(proved), enumeration(rest)
        return f"The rules are the model for {certain} (proved); for {near} they only approximate it."
    if all(entry.equals_network for entry in classes):
        return (
            "On every row they were made from, the rules answer as the network does; for other rows nothing is proved."
        )
    known = sorted(entry.fidelity for entry in classes if entry.fidelity is not None)
    if not known:
        return "The rules only approximate the network; how well was not measured."
    ends = list(dict.fromkeys((percent(known[0]), percent(known[-1]))))
    return (
        "The rules only approximate the network: class by class they agree with it on "
        f"{' to '.join(ends)} of the rows they were made from."
    )


def differing(result: Result) -> str:
    """Say how often network and rules differ."""
    gap, classes = result.gap, result.classes
    if gap is None:
        if all(entry.certified is not None for entry in classes):
            return "Nowhere: it is proved that they answer alike."
        if all(entry.equals_network for entry in classes):
            return "On none of the rows the rules were made from."
        return "The rows on which they differ were not looked into."
    agree = f"Taking every class on its own, they agree on {percent(gap.agree)} of the answers."
    return f"{agree} Where the others were lost:" if any(step.rows for step in gap.steps) else agree


def deciding(result: Result) -> str:
    """Say which class decides if not exactly one class fires, and how often that happens."""
    firing = result.firing
    how = who_decides(result.rules)
    if any(rule.is_complement for rule in result.rules.rules):
        # Exactly one of the two classes fires on every row, so there is nothing to count.
        return how
    rows = firing.none + firing.one + firing.several
    return (
        f"{how} Of {count_with_noun(rows, 'row')}, {count_text(firing.one)} fire the rules of exactly one class, "
        f"{count_text(firing.none)} of none and {count_text(firing.several)} of several."
    )


def shade(row: Sequence[float], value: float) -> int:
    """Return how dark a cell of the confusion matrix is, from 0 to 4, by its share of the row."""
    total = sum(row)
    return 0 if total <= 0 or value <= 0 else min(4, 1 + int(4 * value / total))


# Text in the embedded JSON must neither end its script element nor be read as markup.
_HIDDEN = (*range(0x7F, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_ESCAPES = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&"), *_HIDDEN)}


def render(result: Result) -> str:
    """Return the page of a result as HTML text. The same result gives the same text.

    `result` is what `result_of` measured, or what `read_result` reads from a model folder. The page loads nothing and
    runs one script, whose hash its security policy names. Names and values that contain markup are shown as text.
    """
    jinja2 = require_report()
    files = {name: _file(name) for name in ("page.html", "parts.html")}
    pages = jinja2.Environment(
        loader=jinja2.DictLoader(files),
        autoescape=True,
        # Names must not reverse the order of a sentence; markup of our own is not a plain text.
        finalize=lambda value: readable(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters.update(
        as_sentence=as_sentence,
        count_text=count_text,
        count_with_noun=count_with_noun,
        percent=percent,
        share=share_words,
    )
    pages.globals.update(figure=figure, interval=interval, bar=bar, shade=shade, most_bars=MOST_BARS)
    raw = jinja2.utils.markupsafe.Markup
    script = _file("page.js")
    text: str = pages.get_template("page.html").render(
        result=result,
        classes=class_views(result),
        confusions=confusions(result),
        summary=summary(result),
        standing=standing(result),
        deciding=deciding(result),
        differing=differing(result),
        groups=_groups(result),
        relevance=[raw(chart) for chart in _relevance(result)],
        history=[raw(chart) for chart in _history(result)],
        policy=_policy(script),
        style=raw(_file("page.css")),
        script=raw(script),
        data=raw(_embedded(_for_script(result))),
    )
    return text


def require_report() -> Any:
    """Return jinja2. Raise if it or matplotlib is not installed; call this before long work."""
    with require_extra("report", "the report"):
        import jinja2
        import matplotlib  # noqa: F401
    return jinja2


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _policy(script: str) -> str:
    """Return the security policy of the page: use its own styles and run this one script."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def _for_script(result: Result) -> dict[str, Any]:
    """Return the data of the "Try it" panel. Concepts are referred to by position, so no name is ever a key."""
    place = {concept.name: i for i, concept in enumerate(result.concepts)}
    rules = result.rules
    # A column with a switch for missing values does not need "or missing" in its other conditions.
    switched = {predicate.column for predicate in rules.predicates.values() if predicate.operator == "missing"}
    return {
        "words": [
            [
                concept.words_not.removesuffix(" (or missing)" if concept.column in switched else "\0"),
                concept.words,
            ]
            for concept in result.concepts
        ],
        "exclusive": [[place[name] for name in group] for group in result.exclusive],
        "implied": [[place[name] for name in chain] for chain in result.implied],
        "classes": [entry.name for entry in result.classes],
        "cubes": [
            {
                "of": i,
                "if": [[place[lit.concept], int(lit.positive)] for lit in cube],
                "trust": trust,
                "trust_words": percent(trust),
            }
            for i, rule in enumerate(rules.rules)
            for cube, trust in zip(rule.cubes, rule.confidence if rule.cubes else (), strict=True)
        ],
        "order": rules.order,
        "resolve": rules.resolve,
        "otherwise": rules.otherwise,
        "complement": any(rule.is_complement for rule in rules.rules),
        "multilabel": rules.multilabel,
        "rows": [[row.row, row.label, row.network, row.rules, row.bits] for row in result.rows],
    }


def _groups(result: Result) -> list[tuple[str, list[tuple[int, str]]]]:
    """Return the concepts to switch, by column; concepts that are alone in their column form the last group."""
    columns: dict[str, list[tuple[int, str]]] = {}
    for i, concept in enumerate(result.concepts):
        columns.setdefault(concept.column, []).append((i, concept.words))
    several = [(column, held) for column, held in columns.items() if len(held) > 1]
    single = [held[0] for held in columns.values() if len(held) == 1]
    if not single:
        return several
    return [*several, ("Other conditions" if several else "Conditions", single)]


def _relevance(result: Result) -> list[str]:
    return [
        relevance_chart(entry.relevance, key=f"relevance-{i}", label=f"Relevance of the conditions for {entry.name}")
        for i, entry in enumerate(result.classes)
    ]


def _history(result: Result) -> list[str]:
    history = result.history
    if history is None or not history.loss:
        return []
    said = f"over {count_with_noun(len(history.loss), 'epoch')}; epoch {history.best_epoch} was kept"
    return [
        loss_chart(history, key="loss", label=f"Loss in training and validation {said}"),
        accuracy_chart(history, key="accuracy", label=f"Accuracy in training and validation {said}"),
    ]
