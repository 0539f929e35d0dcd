"""The rule sheet on a terminal: the same `Result` that the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from logiclens.cli.output import Printer, in_options
from logiclens.formula.english import gap_words
from logiclens.formula.rule_set import RuleSet, who_decides
from logiclens.metrics.rule_statistics import (
    ClassRecord,
    Confusion,
    DecisionRecord,
    SubgroupRecord,
    shown_confusions,
)
from logiclens.report.page import defined_measures, no_better, no_better_than_chance, nothing_learned
from logiclens.report.result import ClassResult, FiringCounts, Relevance, Result
from logiclens.report.rules import ReadRule, all_rules, read_rules, unsteady, uses
from logiclens.words import as_sentence, count_text, figure, interval, percent, readable, share_words, times

if TYPE_CHECKING:
    from logiclens.estimator.cross_validation import MetricOverFolds


def bar(share: float, width: int = 20) -> str:
    """Return a share in [0, 1] as a bar of blocks and eighths of blocks.

    >>> bar(0.53, 10)
    '█████▎    '
    """
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest] * (rest > 0)).ljust(width)


READ_RULES = """
A rule fires on a row when all of its conditions hold, and decides it when no rule before it fires. "Right when it
fires" is the share of the rows on which it fires that have the class, "finds" the share of the rows of the class that
it fires on, whichever rule decides there; each with an interval of 95% (Wilson). Precision, recall and F1 of a class
are those of what the rules decide: precision is the share of the rows decided for the class that have it, recall the
share of the rows of the class that are decided for it, and F1 their harmonic mean."""
READ_FORMULA = """
In the formula ∧ is and, ∨ is or (⊕ where no two can hold at once), ¬ is not; ↔ means that formula and network agree on
every row they were made from, ≈ that they agree on the share given, which is the fidelity. What the network leans on
most has 1.00; what a condition beside the rule would gain is measured on the rows that the rules were made from."""
READ_EXACT = """
Exact: the rules are the model. In the formula ∧ is and, ∨ is or (⊕ where no two can hold at once), ¬ is not; ↔ means
equal on every row that the concepts of a class can have."""
READ_PRICE = """
To be in a rule, a condition must earn one point of macro-F1."""
MOST_CONFUSED = 12
"""The most classes for which the confusion matrix is printed; the page shows it always."""
READ_RECURRENCE = """
The search was repeated on bags, which are parts of the rows. A rule is found again where one of the same columns and
directions was found; where it cuts elsewhere, the range of its cuts is given. One that is found again in only a few
bags may be an accident of these rows."""


def print_sheet(printer: Printer, result: Result) -> None:
    """Print everything a reader needs to judge the rules."""
    data, parts = result.data, result.parts
    if warning := unsteady(result):
        printer.say(warning, hang=0)
    printer.say(f"{data.name}: {data.rows:,} rows, {data.columns:,} columns; target {data.target!r}")
    printer.say(
        f"{parts.train:,} rows train, {parts.set_aside:,} are held out: the numbers below are measured on these.",
        hang=0,
    )
    for note in result.notes:
        printer.say(in_options(f"note: {note}"))
    printer.say()
    width = max(38, *(len(metric.name) + 2 for metric in result.metrics)) if result.metrics else 38
    for metric in result.metrics:
        ends = ""
        if metric.low is not None and metric.high is not None:
            ends = f" ({interval(metric.low / 100, metric.high / 100, 1)})"
        printer.say(f"  {metric.name:<{width}}{figure(metric.value, metric.unit, width=6)}{ends}")
    if warning := no_better(result):
        printer.say(f"  {warning}", hang=0)
    if nothing_learned(result):
        return
    counted = {entry.name: entry for entry in result.statistics.classes}
    for told in rules_first(result.classes, result.rules):
        _print_class(printer, told, counted[told.name], result)
    for group in result.statistics.subgroups:
        print_subgroup(printer, group, str(result.statistics.by), result.rules)
    print_knowledge(printer, result)
    print_confusions(printer, result.confusion, result.confusion_of_rules, result.data.target)
    printer.say(f"\n{who_decides(result.rules)}", hang=0)
    for sentence in gap_words(result.rules.formulas, result.rules.predicates):
        printer.say(sentence, hang=0)
    if not any(rule.is_complement for rule in result.rules.rules):
        printer.say(_firing(result.firing), hang=0)
    printer.say()
    recurrence = READ_RECURRENCE if any(rule.is_counted for rule in result.rules.rules) else ""
    shown = [metric.name for metric in result.metrics]
    form = READ_EXACT if result.exact else READ_FORMULA
    printer.prose(f"How to read this. {READ_RULES} {read_measures(shown)} {form}{READ_PRICE}{recurrence}")


def read_measures(shown: Sequence[str]) -> str:
    """Return a sentence for each of the measures that are shown, by name, that says what it measures.

    >>> read_measures(["model accuracy", "fidelity, by firing"])[:43]
    'Fidelity is the share of the answers, one f'
    """
    return " ".join(as_sentence(f"{name} is {words}") for name, words in defined_measures(shown).items())


Named = TypeVar("Named", ClassResult, ClassRecord)


def rules_first(classes: Sequence[Named], rules: RuleSet) -> list[Named]:
    """Return the classes in the order in which their rules are printed."""
    by_name = {told.name: told for told in classes}
    return [by_name[rules.rules[place].name] for place in rules.printed]


def print_knowledge(printer: Printer, result: Result) -> None:
    """Print the constraints of the knowledge, its costs, what it costs, and the rules by protected columns."""
    if result.knowledge:
        printer.say("\nwhat the rules keep to, proved on all possible rows")
        for one in result.knowledge:
            printer.say(f"  {'✓' if one.holds else '✗'} {one.constraint}: {one.reason}")
    if result.costs:
        printer.say("\nwhat errors cost on the held-out rows, in all and a row")
        for cost in result.costs:
            who = "the rules" if cost.answer is None else f"always {cost.answer}"
            printer.say(f"  {who:<38}{cost.total:>10,.6g}  {cost.mean:>8.3g}")
    for column in result.protected:
        marked = "; ".join(rule.words for _, rule in all_rules(result) if uses(rule, column))
        printer.say(f"\nprotected column {column.column}: {f'used by {marked}' if marked else 'no rule uses it'}")
        for group in column.groups:
            printer.say(f"  where {column.column} is {group.name}")
            for counted in group.classes:
                printer.say(f"    {result.rules.class_words(counted.name)}: {decision_line(counted.decision)}")
                for rule in read_rules(result.rules, counted):
                    mark = " [uses it]" if uses(rule, column) else ""
                    selects, right = share_words(rule.counted.support), share_words(rule.counted.confidence)
                    finds = share_words(rule.counted.coverage)
                    decides = f"; decides {count_text(rule.decided.total)}"
                    printer.say(
                        f"      {rule.words}{mark}: fires on {selects}{decides}; right when it fires {right}; "
                        f"finds {finds}"
                    )


def print_confusions(printer: Printer, network: Confusion | None, rules: Confusion | None, target: str) -> None:
    """Print the confusion matrices of network and rules; one that holds for both only once."""
    for table in shown_confusions(network, rules):
        if len(table.labels) <= MOST_CONFUSED:
            print_confusion(printer, table, target)


def print_confusion(printer: Printer, table: Confusion, target: str) -> None:
    """Print a confusion matrix."""
    printer.say(f"\nwhat {target} truly is, and what {table.of} said")
    head = ["truly", *(f"said {name}" for name in table.predicted)]
    lines = [[name, *map(count_text, row)] for name, row in zip(table.labels, table.counts, strict=True)]
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    for first, *cells in (head, *lines):
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        # Not wrapped, which would break the columns.
        printer.out.print(f"  {first.ljust(widths[0])}  {numbers}", markup=False, highlight=False)


def print_metrics(printer: Printer, metrics: Sequence[MetricOverFolds], n_folds: int) -> None:
    """Print mean and standard error of each metric over folds."""
    printer.say(f"Over {n_folds} folds, on rows from which nothing was learned:\n", hang=0)
    for metric in metrics:
        value = figure(metric.mean, metric.unit, digits=2, error=metric.standard_error, width=6)
        printer.say(f"  {metric.name:<38}{value}")
    printer.say()


def print_rules(printer: Printer, rules: Sequence[ReadRule]) -> None:
    """Print each rule of a class in words, with its statistics and, if known, how often it is found again."""
    for rule in rules:
        printer.say(f"  • {rule.words}")
        again = "" if rule.recurs is None else f"; {rule.recurs}"
        printer.say(f"      {_numbers(rule)}{again}", hang=0)
        for count in rule.gaps:
            printer.say(f"      of these rows, {count}", hang=0)
        if rule.doubt:
            printer.say(f"      {rule.doubt}", hang=0)


def print_subgroup(printer: Printer, group: SubgroupRecord, by: str, rules: RuleSet) -> None:
    """Print how the rules decide for each class in one subgroup."""
    printer.say(f"\nwhere {by} is {group.name}")
    for counted in group.classes:
        printer.say(f"  {rules.class_words(counted.name)}: {decision_line(counted.decision)}")


def decision_line(decision: DecisionRecord) -> str:
    """Return in one line how often the rules decide for a class and how often they are right."""
    decided, total = count_text(decision.decided.hits), count_text(decision.decided.total)
    f1 = percent(decision.f1, 1)
    precision, recall = share_words(decision.precision), share_words(decision.recall)
    return f"decided on {decided} of {total} rows; precision {precision}, recall {recall}, F1 {f1}"


def _print_class(printer: Printer, told: ClassResult, counted: ClassRecord, result: Result) -> None:
    # A class named 1 means nothing without the name of the target.
    asked = "" if result.multilabel else f"{result.data.target} is "
    printer.say(f"\n{asked}{told.name}", style="bold")
    rule = result.rules.rule(told.name)
    by_truth = result.teacher is None and not result.costs
    if rule.cubes and by_truth and (warning := no_better_than_chance(counted)):
        printer.say(f"  {warning}", hang=0)
        return
    printer.say(f"  {told.english}", hang=0)
    if told.reason is not None:
        printer.say(f"  {told.reason} {told.remedy}", hang=0)
    print_rules(printer, read_rules(result.rules, counted, told, rows="held-out row"))
    printer.say(f"  {told.formula}")
    if counted.whole.coverage.total == 0:
        printer.say("  no held-out row has this class: nothing is known of how well it is found")
    else:
        printer.say(f"  {decision_line(counted.decision)}", hang=0)
        if told.simplest is not None:
            simplest = told.simplest
            printer.say(f"  the best single condition, {simplest.text}, has F1 {percent(simplest.f1, 1)}")
    if told.certified is not None:
        certified = told.certified
        printer.say(
            f"  the formula is the network on {certified.domain}: smallest |logit| {certified.smallest_logit:.2g}"
            f", rounding at most {certified.rounding_bound:.1g}; the network is {certified.origin}"
        )
    if not result.exact:
        _print_relevance(printer, told.relevance)


def _print_relevance(printer: Printer, relevance: Sequence[Relevance], most: int = 5) -> None:
    """Print all concepts that the formula uses, then the most relevant others with why they are not in it."""
    n_used = sum(entry.used for entry in relevance)
    shown = [entry for place, entry in enumerate(relevance) if entry.used or place < n_used + most]
    words = {entry.concept: readable(entry.words or entry.concept) for entry in shown}
    width = max(map(len, words.values()), default=0)
    inside, outside = ([entry for entry in shown if entry.used is used] for used in (True, False))
    for title, entries in (("what the network leans on, in the rule", inside), ("and beside the rule", outside)):
        if not entries:
            continue
        printer.say(f"  {title if inside else 'what the network leans on, beside the rule'}")
        for entry in entries:
            # Not wrapped, which would break the bars.
            printer.out.print(
                f"    {words[entry.concept]:<{width}}  {bar(entry.relevance)} {entry.relevance:.2f}",
                markup=False,
                highlight=False,
            )
            if entry.reason:
                printer.say(f"      {entry.reason}", hang=0)
            elif not entry.used:
                printer.say("      not in the rule", hang=0)
    if len(relevance) > len(shown):
        printer.say(f"    and {len(relevance) - len(shown)} more")


def _numbers(rule: ReadRule) -> str:
    """Return the statistics of a rule in one line."""
    cube = rule.counted
    fires, total = count_text(cube.support.hits), count_text(cube.support.total)
    decides = f", decides {count_text(rule.decided.total)}"
    lift = "" if cube.lift is None else f", {times(cube.lift)[0]} the average"
    right, finds = share_words(cube.confidence), share_words(cube.coverage)
    doubt = "" if cube.lift is None or cube.lift > 1 else " (no better than chance here)"
    return f"fires on {fires} of {total} rows{decides}; right when it fires {right}{lift}{doubt}; finds {finds}"


def _firing(firing: FiringCounts) -> str:
    counts = {"one": firing.one, "none": firing.none, "several": firing.several}
    total = max(sum(counts.values()), 1)
    parts = ", ".join(f"{name} on {percent(rows / total, 1)}" for name, rows in counts.items())
    return f"How many formulas fire on the held-out rows: {parts}."
