"""The explanation report: one self-contained HTML file, rendered from a `Result` alone.

The views hold the words and numbers that the page shows, so that the template computes nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING, Any

from logiclens.formula.english import gap_words
from logiclens.formula.rule_set import Rule, RuleSet, who_decides
from logiclens.metrics.rule_statistics import (
    ClassRecord,
    Confusion,
    CubeRecord,
    DecisionRecord,
    Share,
    ShareRecord,
    TwoByTwo,
    Z,
    shown_confusions,
)
from logiclens.report.charts import accuracy_chart, icon_array, icon_count, loss_chart
from logiclens.report.panel import panel_data, panel_fields
from logiclens.report.result import ClassResult, Editing, Headline, Metric, ProtectedColumn, Relevance, Result
from logiclens.report.rules import ReadRule, Recurs, all_rules, read_rules, unsteady, uses
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

if TYPE_CHECKING:
    import jinja2

MOST_ROWS = 200
"""The most row numbers listed for a cube; the page says how many more there are."""
MOST_SENTENCES = 6
"""The most rules in the summary, which must fit on one printed page; the rules themselves follow below it."""
MOST_LEANINGS = 12
"""The most conditions outside the rules that are shown with their relevance; the others are folded away."""
N_COLORS = 8
"""The number of class colours in `page.css`; further classes begin again with the first."""

MEASURES = {
    "macro-F1": "the mean of the F1 of the classes by what the rules decide, so that a rare "
    "class counts as much as a frequent one",
    "explanation accuracy": "how well the rules of each class find it by where they fire, whichever class decides "
    "there: the mean of the F1 of the class and the F1 of the other rows, over the classes",
    "fidelity": "the share of the answers, one for each row and class, on which rules and network agree, by whether "
    "the rules of the class fire",
    "complexity": "the number of literals in the formula of a class, on average; a literal is a condition or its "
    "negation",
}
"""What a measure says, by how its name begins. The page and the sheet define those that they show."""

Figure = tuple[str, str]
"""A number as printed, and its interval; the interval is empty if there is none."""


@dataclass(frozen=True)
class Tile:
    """A number of the summary: its label, the number, what it is of, and the bar of a share."""

    label: str
    value: str
    note: str
    bar: Bar | None = None
    is_text: bool = False


@dataclass(frozen=True)
class Bar:
    """A share on a scale from 0 to 100, its interval, and the share among all rows for comparison."""

    value: float
    low: float
    width: float
    base: float | None
    base_words: str
    words: str


@dataclass(frozen=True)
class RuleLine:
    """A rule, or the whole formula, with its numbers.

    `right` is measured where the class is the answer; where that was not counted, wherever the cube fires.
    """

    words: str
    conditions: tuple[str, ...]
    sentence: str
    is_decided: bool
    right: Figure
    right_bar: Bar | None
    icons: str
    icon_words: str
    fires_right: Figure
    coverage: Figure
    coverage_bar: Bar | None
    unique: Figure
    lift: Figure
    table: TwoByTwo
    recurs: Recurs | None = None
    doubt: str = ""
    gaps: tuple[str, ...] = ()
    is_edited: bool = False


@dataclass(frozen=True)
class CoveredRows:
    """The rows on which a cube fires: the numbers to list, each with whether its class differs, and how many more."""

    words: str
    total: int
    rows: tuple[tuple[str, bool], ...]
    more: int


@dataclass(frozen=True)
class ClassView:
    """One class: its rules in words, their statistics, and how they relate to the network.

    `inside` are the conditions of the rules that the network leans on, `outside` further ones, each by relevance.
    """

    place: int
    key: str
    color: int
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
    inside: tuple[Relevance, ...]
    outside: tuple[Relevance, ...]


def class_views(result: Result, *, apart: bool = False) -> tuple[ClassView, ...]:
    """Return the view of each class, in order; the one that the other class leaves comes last.

    Args:
        result: the result that is shown.
        apart: whether each cube has a card of its own, so that it can be edited. Default: False, cubes that differ in
            one category are one rule.
    """
    return tuple(_class_view(place, result, apart) for place in result.rules.printed)


def _class_view(place: int, result: Result, apart: bool) -> ClassView:
    entry, rule, measured = result.classes[place], result.rules.rules[place], result.statistics.classes[place]
    name = entry.name
    base = measured.prevalence.value
    is_held_out = result.editing is None or result.editing.is_held_out
    rows = "held-out row" if is_held_out else "row"
    read = read_rules(result.rules, measured, entry, rows=rows)
    shown = read_rules(result.rules, measured, entry, rows=rows, apart=apart)
    rest = result.rules.rest_of(rule)
    constant = "" if rest else _constant(rule, result.rules)
    whole = "otherwise" if rule.is_complement else f"any rule for {name} fires"
    leans = sorted(entry.relevance, key=lambda lean: -lean.relevance)
    return ClassView(
        place=place,
        key=f"class-{place}",
        color=place % N_COLORS,
        name=name,
        otherwise=rest,
        conditions=() if constant else tuple(one.words for one in read),
        constant=constant,
        formula=entry.formula,
        status=_status(entry) if result.editing is None else _EDITED_STATUS,
        certified=entry.certified is not None or result.editing is not None,
        prevalence=share_words(measured.prevalence),
        lines=tuple(
            replace(
                _line(one.words, one.counted, name, base, one.decided),
                conditions=tuple(words for words, _ in one.conditions),
                recurs=one.recurs,
                doubt=one.doubt,
                gaps=tuple(map(str, one.gaps)),
                is_edited=one.is_edited,
            )
            for one in shown
        ),
        whole=_line(whole, measured.whole, name, base),
        decision=decision_words(measured.decision, name),
        reason=" ".join(as_sentence(part) for part in (entry.reason, entry.remedy) if part),
        comparison=_comparison(entry),
        covered=tuple(_covered(one, name, result) for one in read),
        inside=tuple(lean for lean in leans if lean.used),
        outside=tuple(lean for lean in leans if not lean.used),
    )


def _constant(rule: Rule, rules: RuleSet) -> str:
    """Return `never` or `always` for a class that no or every row gets by its rules, an empty text for any other."""
    if rule.is_complement or (rule.cubes and all(len(cube) for cube in rule.cubes)):
        return ""
    return "always" if rule.cubes or rules.is_rest(rule) else "never"


def nothing_learned(result: Result) -> str:
    """Return the sentence that neither rules nor network are measurably better than chance, for any class; or nothing.

    Rules that explain a teacher, or that are chosen by costs, are not judged by how often they are right.
    """
    both = [table for table in (result.confusion, result.confusion_of_rules) if table is not None]
    tables = [table for table in both if _right(table).total]
    worth = result.statistics.classes[0].whole.table.worth
    if not tables or result.teacher is not None or result.costs:
        return ""
    classes = result.statistics.classes
    if any(_beats_constants(table, worth) for table in tables) or any(_finds(one, len(classes)) for one in classes):
        return ""
    right = _right(tables[-1], worth)
    chance, _ = _chance(tables[-1])
    return (
        f"Nothing was learned: on {counted_rows(result)} the rules are right on {share_words(right, digits=1)}, "
        f"which is not measurably more often than chance ({percent(chance, 1)}). With more rows that may change."
    )


def _finds(one: ClassRecord, n_classes: int) -> bool:
    """Return whether rows that get a class have it measurably more often than all rows.

    The level of 5% is divided by the number of classes: of many classes some beat chance by luck.
    """
    # Imported here: `predict` and `score` load this module, and never ask.
    from scipy.stats import binom

    decision = one.decision
    if not decision.precision.total:
        return False
    n_rows, hits = decision.precision.total * one.whole.table.worth, decision.precision.hits * one.whole.table.worth
    by_chance = binom.sf(math.ceil(hits) - 1, math.floor(n_rows), one.prevalence.value or 0.0)
    return bool(by_chance < 0.05 / n_classes)


def _right(table: Confusion, worth: float = 1.0) -> Share:
    """Return how often the answers of a confusion matrix are right; its columns are the labels, then "undecided"."""
    return Share(sum(row[place] for place, row in enumerate(table.counts)), sum(map(sum, table.counts)), worth)


def _chance(table: Confusion) -> tuple[float, float]:
    """Return how often the answers of a confusion matrix would be right by chance, and the variance of that share.

    By chance they are right on p = Σ p_k q_k of n rows, if p_k of the rows have class k and q_k get it. The variance is
    [p + p² − Σ p_k q_k (p_k + q_k)] / n (Fleiss, Cohen and Everitt 1969).
    """
    n_rows = sum(map(sum, table.counts))
    shares = [
        (sum(row) / n_rows, sum(other[place] for other in table.counts) / n_rows)
        for place, row in enumerate(table.counts)
    ]
    chance = sum(has * gets for has, gets in shares)
    variance = chance + chance**2 - sum(has * gets * (has + gets) for has, gets in shares)
    return chance, max(variance, 0.0) / n_rows


def _beats_constants(table: Confusion, worth: float) -> bool:
    """Return whether answers are right measurably more often than by chance, or than the most frequent class."""
    right, (chance, variance) = _right(table), _chance(table)
    always = Share(max(map(sum, table.counts)), right.total, worth)
    return right.value > min(always.high, chance + Z * math.sqrt(variance / worth))


def no_better(result: Result) -> str:
    """Return the warning that one constant answer is as often right, or where costs are known as cheap; or nothing.

    Rules that find rows of a rarer class may be worth more errors, so they are not warned of as others are.
    """
    if result.costs:
        rules, best = result.costs[0], min(result.costs[1:], key=lambda one: one.total)
        if rules.total < best.total:
            return ""
        return (
            f"Do not rely on these rules: on {counted_rows(result)} they cost {rules.total:,.6g} by the costs given, "
            f"and always saying “{best.answer}” costs {best.total:,.6g}."
        )
    head = _headline(result)
    if nothing := nothing_learned(result):
        return nothing
    if head is None or (head.right.value or 0) > (head.always_right.value or 0):
        return ""
    rows, always = counted_rows(result), f"always saying “{head.always}”"
    found = [
        f"{percent(entry.decision.recall.value)} of the rows where {result.data.target} is {entry.name} (precision "
        f"{percent(entry.decision.precision.value)})"
        for entry in result.statistics.classes
        if entry.name != head.always and _beats_chance(entry.decision, entry.prevalence)
    ]
    if not found:
        return f"Do not rely on these rules: on {rows} they are not better than {always}."
    if math.isclose(head.right.value or 0, head.always_right.value or 0):
        return f"On {rows}, these rules are right as often as {always}, and they find {enumeration(found)}."
    return (
        f"On {rows}, these rules are right less often than {always}, but they find {enumeration(found)}: use them only "
        "where that is worth more errors."
    )


def no_better_than_chance(measured: ClassRecord) -> str:
    """Return the sentence that the rules of a class are measurably no better than chance; or nothing."""
    decision, prevalence = measured.decision, measured.prevalence
    if not decision.precision.total or _beats_chance(decision, prevalence):
        return ""
    if (decision.precision.value or 0) > prevalence.high:
        return ""
    return (
        f"its rules are no better than chance and are not shown: {share_words(decision.precision)} of the "
        f"{count_with_noun(decision.precision.total, 'row')} that they decide have the class, and "
        f"{percent(prevalence.value, 1)} of all."
    )


def _beats_chance(decision: DecisionRecord, prevalence: ShareRecord) -> bool:
    """Return whether rows that get a class have it measurably more often than all rows."""
    return bool(decision.precision.total) and decision.precision.low > (prevalence.value or 0)


def counted_rows(result: Result) -> str:
    """Say which rows the figures of the rules come from."""
    return result.statistics.source if result.editing and not result.editing.is_held_out else "the held-out rows"


def line_words(cube: CubeRecord, name: str) -> str:
    """Say on how many rows a cube fires and how many of them have the class."""
    support, confidence = cube.support, cube.confidence
    if not confidence.total:
        return f"fires on none of {count_with_noun(support.total, 'row')}, so nothing is known of how often it is right"
    return (
        f"fires on {count_text(support.hits)} of {count_with_noun(support.total, 'row')}; "
        f"{share_and_interval(confidence)[0]} of them are {name}"
    )


def _deciding_words(fires: float, decides: float) -> str:
    """Say how many of the rows on which a rule fires it decides."""
    many = "all" if math.isclose(fires, decides) else count_text(decides) if decides else "none"
    return f"It decides {many} of these {count_text(fires)} rows."


def decision_words(decision: DecisionRecord, name: str) -> str:
    """Say how often the rules decide for a class and how often they are right."""
    decided, precision, recall = decision.decided, decision.precision, decision.recall
    on = f"The rules decide for {name} on {count_text(decided.hits)} of {count_with_noun(decided.total, 'row')}"
    if not precision.total:
        return f"{on}, so nothing is known of how often that is right."
    right, found = share_words(precision), share_words(recall)
    return (
        f"{on}: {right} of these are {name} (precision), and {found} of all {name} are found (recall); "
        f"F1 {percent(decision.f1, 1)}."
    )


def _line(words: str, cube: CubeRecord, name: str, base: float | None, decided: ShareRecord | None = None) -> RuleLine:
    right = cube.confidence if decided is None else decided
    fires = cube.support.hits
    # Weights are added up in another order.
    less = not math.isclose(right.total, fires)
    sentence = as_sentence(line_words(cube, name))
    rows = "rows that it decides" if less else "such rows"
    icon_words = "" if right.value is None else _icon_words(right, name, rows)
    return RuleLine(
        words=words,
        conditions=(),
        sentence=sentence if decided is None or not fires else f"{sentence} {_deciding_words(fires, right.total)}",
        is_decided=decided is not None,
        right=share_and_interval(right),
        right_bar=bar(right, base),
        icons="" if right.value is None else icon_array(*_icons(right), label=icon_words),
        icon_words=icon_words,
        fires_right=share_and_interval(cube.confidence),
        coverage=share_and_interval(cube.coverage),
        coverage_bar=bar(cube.coverage, None),
        unique=share_and_interval(cube.unique_coverage),
        lift=times(cube.lift, cube.lift_low, cube.lift_high),
        table=cube.table,
    )


def _icons(share: ShareRecord) -> tuple[int, int]:
    """Return how many dots are full, of how many: of all rows where these are few, else of a hundred."""
    if share.total < 100 and share.total % 1 == 0 and share.hits % 1 == 0:
        return int(share.hits), int(share.total)
    return icon_count(share.value or 0.0), 100


def _icon_words(share: ShareRecord, name: str, rows: str) -> str:
    """Say of how many rows a share is, and which rows these are."""
    full, total = _icons(share)
    about = "" if share.hits * total == full * share.total else "about "
    return f"{about}{full} of {total} {rows} are {name}"


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
        base_words="" if base is None else percent(base),
        words=f"{value}, interval {around}{beside}",
    )


_EDITED_STATUS = "Edited by hand: the exported model is compiled from this formula, and its certificate says so."


def _status(entry: ClassResult) -> str:
    """Say whether rules and network of a class are equal, or how often they agree."""
    certified, fidelity = entry.certified, entry.fidelity
    if certified is not None:
        return (
            f"Certified: rules and network give the same answer on {certified.domain}. The closest call is "
            f"{certified.smallest_logit:.2g}, rounding is off by {certified.rounding_bound:.1g} at most. "
            f"The network is {certified.origin}."
        )
    if entry.equals_network:
        return "Rules and network answer alike on every row they were made from; for other rows nothing is proved."
    if fidelity is None:
        return "How well these rules follow the network was not measured."
    return f"Approximation: rules and network agree on {percent(fidelity, 1)} of the rows they were made from."


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


@dataclass(frozen=True)
class ProtectedLine:
    """What the rules decide for a class in one group of a protected column, or where one rule fires."""

    group: str
    rule: str
    uses_it: bool
    rows: float
    selected: ShareRecord
    precision: ShareRecord
    recall: ShareRecord


@dataclass(frozen=True)
class ProtectedView:
    """A protected column: the rules that use it in words, and a line for each class and rule in each group."""

    column: str
    used_by: tuple[str, ...]
    lines: tuple[ProtectedLine, ...]


def protected_views(result: Result) -> tuple[ProtectedView, ...]:
    """Return what is shown of each protected column."""
    return tuple(_protected_view(column, result) for column in result.protected)


def _protected_view(column: ProtectedColumn, result: Result) -> ProtectedView:
    asked, lines = "" if result.multilabel else f"{result.data.target} is ", []
    for group in column.groups:
        for counted in group.classes:
            rows, decided = counted.prevalence.total, counted.decision
            shares = (decided.decided, decided.precision, decided.recall)
            lines.append(ProtectedLine(group.name, f"decided for {asked}{counted.name}", False, rows, *shares))
            for rule in read_rules(result.rules, counted):
                shares = (rule.counted.support, rule.counted.confidence, rule.counted.coverage)
                lines.append(ProtectedLine(group.name, rule.words, uses(rule, column), rows, *shares))
    used_by = [rule.words for _, rule in all_rules(result) if uses(rule, column)]
    return ProtectedView(column.column, tuple(used_by), tuple(lines))


def _covered(rule: ReadRule, name: str, result: Result) -> CoveredRows:
    place = {concept.name: i for i, concept in enumerate(result.concepts)}
    signs = [[(place[literal.concept], "1" if literal.positive else "0") for literal in cube] for cube in rule.cubes]
    fired = [row for row in result.rows if any(all(row.bits[i] == sign for i, sign in cube) for cube in signs)]
    # A row with several labels names them all, so it cannot be compared with one class.
    rows = [(str(row.row), not result.multilabel and row.label != name) for row in fired[:MOST_ROWS]]
    return CoveredRows(rule.words, len(fired), tuple(rows), len(fired) - len(rows))


def lead(result: Result) -> str:
    """Return the page in one sentence: how often the rules are right, and how often the most frequent class is."""
    head, target = _headline(result), result.data.target
    if head is None:
        return f"{count_with_noun(len(all_rules(result)), 'rule')} for {target}, learned from {result.data.name}."
    right, always = head.right, head.always_right
    said = f"The rules are right on {percent(right.value, 1)} of {_measured_rows(result, right)}"
    if result.costs:
        best = min(result.costs[1:], key=lambda one: one.total)
        return (
            f"{said}; by the costs given they cost {result.costs[0].mean:.3g} a row, and always saying “{best.answer}” "
            f"costs {best.mean:.3g}."
        )
    alone = percent(always.value, 1)
    if (right.value or 0) > (always.value or 0):
        return f"{said}; always saying “{head.always}” is right on {alone}."
    than = "worse" if (right.value or 0) < (always.value or 0) else "no better"
    return f"{said}, which is {than} than always saying “{head.always}” ({alone})."


def _measured_rows(result: Result, right: ShareRecord) -> str:
    """Say on how many rows of which kind the rules were measured."""
    if result.editing is None:
        return f"{count_with_noun(right.total, 'row')} not used to make them"
    return count_with_noun(right.total, "held-out row") if result.editing.is_held_out else result.statistics.source


def looks_words(editing: Editing) -> str:
    """Say how often held-out rows were looked at while the rules were edited."""
    if not editing.is_held_out:
        return ""
    looked = "once" if editing.looks == 1 else count_with_noun(editing.looks, "time")
    return (
        f"The held-out rows were looked at {looked} meanwhile; the more often, the less their figures can be trusted."
    )


def _headline(result: Result) -> Headline | None:
    """Return the headline; None if there is none, or no row that it counts."""
    return result.headline if result.headline is not None and result.headline.right.total else None


def tiles(result: Result) -> tuple[Tile, ...]:
    """Return the numbers of the summary."""
    head, made, statistics = _headline(result), [], result.statistics
    if head is not None:
        is_held_out = result.editing is None or result.editing.is_held_out
        rows = count_with_noun(head.right.total, "held-out row") if is_held_out else result.statistics.source
        for label, share, of in (
            ("The rules are right on", head.right, f"of {rows}"),
            (f"Always “{head.always}” is right on", head.always_right, "of the same rows"),
        ):
            value, around = share_and_interval(share, 1)
            made.append(Tile(label, value, f"{of} ({around})", bar(share, None)))
    elif statistics.macro_f1 is not None:
        is_held_out = result.editing is None or result.editing.is_held_out
        rows = f"{count_text(statistics.n_rows)} held-out rows" if is_held_out else statistics.source
        label = "Mean F1 of the labels" if result.multilabel else "Macro-F1 of the rules"
        made.append(Tile(label, percent(statistics.macro_f1, 1), f"on {rows}"))
    rules = all_rules(result)
    conditions = count_with_noun(sum(len(rule.conditions) for _, rule in rules), "condition")
    columns = count_with_noun(len(result.rules.columns), "column")
    made.append(Tile("To read", count_with_noun(len(rules), "rule"), f"with {conditions} on {columns}"))
    made.append(_equality(result))
    return tuple(made)


def _equality(result: Result) -> Tile:
    """Return whether the rules are the model, or how well they follow it."""
    label, classes = "Rules and network", result.classes
    if result.editing is not None:
        edits = count_with_noun(len(result.editing.history), "edit")
        return Tile("Edited by hand", edits, "the exported model is compiled from these rules", is_text=True)
    if all(entry.certified is not None for entry in classes):
        return Tile("Rules and model", "Equal", "proved for every combination of the conditions", is_text=True)
    if all(entry.equals_network for entry in classes):
        return Tile(label, "Same answers", "on every row they were made from", is_text=True)
    known = [entry.fidelity for entry in classes if entry.fidelity is not None]
    if not known:
        return Tile(label, "Not measured", "how often they give the same answer", is_text=True)
    least = "the same answer on the rows they were made from"
    least += "" if len(known) == 1 else ", in the class where they differ most"
    return Tile(label, percent(min(known)), least)


def standing(result: Result) -> str:
    """Say for which classes the rules are the model, and how well they approximate it otherwise."""
    classes = result.classes
    if result.editing is not None:
        edits = count_with_noun(len(result.editing.history), "edit")
        return (
            f"The rules were edited by hand ({edits}, listed below). The exported model is compiled from them, so that "
            "it answers as they do on every combination of the conditions; its certificate says so."
        )
    proved = [entry.name for entry in classes if entry.certified is not None]
    if len(proved) == len(classes):
        return (
            "The rules are the model: for every class it is proved that the network compiled from them answers as they "
            "do, on every combination of the conditions. That does not make them right; the numbers below say how "
            "often they are."
        )
    if proved:
        rest = [entry.name for entry in classes if entry.certified is None]
        certain, near = enumeration(proved), enumeration(rest)
        return f"The rules are the model for {certain} (proved); for {near} they only approximate it."
    if all(entry.equals_network for entry in classes):
        return (
            "On every row they were made from, the rules answer as the network does; for other rows nothing is proved."
        )
    if all(entry.fidelity is None for entry in classes):
        return "The rules only approximate the network; how well was not measured."
    return "The rules only approximate the network: the share above says how often the two give the same answer."


def differing(result: Result) -> str:
    """Say where network and rules differ."""
    classes = result.classes
    if result.editing is not None:
        return "Nowhere: the exported model is compiled from these rules."
    if all(entry.certified is not None for entry in classes):
        return "Nowhere: it is proved that they answer alike."
    if all(entry.equals_network for entry in classes):
        return "On none of the rows the rules were made from; on other rows they may."
    if all(entry.fidelity is None for entry in classes) and result.gap is None:
        return "The rows on which they differ were not looked into."
    return "The summary says how often they give the same answer."


def defined_measures(shown: Sequence[str]) -> dict[str, str]:
    """Return what the measures say that are shown, by name; accuracy says it itself."""
    return {name: words for name, words in MEASURES.items() if any(one.startswith(name) for one in shown)}


@dataclass(frozen=True)
class Agreement:
    """A share of answers on which rules and network agree, and which answers it counts."""

    share: str
    counts: str


def agreements(result: Result) -> tuple[Agreement, ...]:
    """Return the agreements of rules and network, each with what it counts; none where they are proved to be equal."""
    if all(entry.certified is not None for entry in result.classes):
        return ()
    together: dict[str, list[str]] = {}
    for entry in result.classes:
        if entry.fidelity is not None:
            together.setdefault(percent(entry.fidelity, 1), []).append(entry.name)
    on = "of the rows that the rules were made from: whether the rules for"
    made = [
        Agreement(share, f"{on} {enumeration(names, 'or')} fire, beside what the network says.")
        for share, names in together.items()
    ]
    held_out = (
        "of the answers to held-out rows, one for each row and class: whether its rules fire, beside the network."
    )
    measured = [figure(metric.value, metric.unit) for metric in result.metrics if _is_agreement(metric)]
    if result.gap is not None and not measured:
        measured = [percent(result.gap.agree, 1)]
    made += [Agreement(share, held_out) for share in measured]
    return tuple(made)


def _is_agreement(metric: Metric) -> bool:
    return metric.name.startswith("fidelity")


def deciding(result: Result) -> str:
    """Say which class decides if not exactly one class fires, and how often that happens."""
    firing = result.firing
    how = " ".join([who_decides(result.rules), *gap_words(result.rules.formulas, result.rules.predicates)])
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

    Args:
        result: what `result_of` measured, or what `read_result` reads from a model folder.

    >>> from sklearn.datasets import load_iris
    >>> from logiclens import EntropyClassifier
    >>> from logiclens.report import Source, result_of
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = EntropyClassifier(set_aside=0.25).fit(X, y)
    >>> source = Source("iris", rows=150, columns=4, target="species")
    >>> render(result_of(model, model.explain(), source))[:15].lower()
    '<!doctype html>'
    """
    from markupsafe import Markup

    pages = environment()
    raw = Markup
    measures = [metric for metric in result.metrics if not _is_agreement(metric)]
    classes = class_views(result, apart=result.editing is not None)
    script = _file("page.js")
    text: str = pages.get_template("page.html").render(
        result=result,
        classes=classes,
        colors={entry.name: place % N_COLORS for place, entry in enumerate(result.classes)},
        confusions=shown_confusions(result.confusion, result.confusion_of_rules),
        lead=lead(result),
        no_better=no_better(result),
        unsteady=unsteady(result),
        tiles=tiles(result),
        most_sentences=MOST_SENTENCES,
        standing=standing(result),
        deciding=deciding(result),
        differing=differing(result),
        measured_rows=counted_rows(result),
        looks="" if result.editing is None else looks_words(result.editing),
        agreements=() if result.editing is not None else agreements(result),
        measures=measures,
        defined_measures=defined_measures([metric.name for metric in measures]),
        has_stability=any(line.recurs for view in classes for line in view.lines),
        protected_columns=protected_views(result),
        fields=panel_fields(result),
        most_leanings=MOST_LEANINGS,
        history=[raw(chart) for chart in _history(result)],
        policy=_policy(script),
        style=raw(_file("page.css")),
        script=raw(script),
        data=raw(_embedded(panel_data(result, all_rules(result)))),
    )
    return text


def environment(more: Mapping[str, str] | None = None) -> jinja2.Environment:
    """Return the environment of the report's templates, and of further ones that use its parts, by name."""
    import jinja2
    from markupsafe import Markup

    files = {name: _file(name) for name in ("page.html", "parts.html")} | dict(more or {})
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
    pages.filters["raw"] = Markup
    pages.globals.update(figure=figure, interval=interval, bar=bar, shade=shade, n_colors=N_COLORS)
    return pages


def page_style() -> str:
    """Return the style sheet of the report."""
    return _file("page.css")


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


def _history(result: Result) -> list[str]:
    history = result.history
    if history is None or not history.loss:
        return []
    said = f"over {count_with_noun(len(history.loss), 'epoch')}; epoch {history.best_epoch} was kept"
    return [
        loss_chart(history, key="loss", label=f"Loss in training and validation {said}"),
        accuracy_chart(history, key="accuracy", label=f"Accuracy in training and validation {said}"),
    ]
