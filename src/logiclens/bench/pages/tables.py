"""The six tables of metrics: one row per task, one column per method, with the paper's figures beside ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from logiclens.bench.pages.document import Cell, Row, Section, Table
from logiclens.bench.pages.names import FAMILIES, columns_of_paper, family, method_title, task_title
from logiclens.bench.pages.names import METRICS as MAIN_METRICS
from logiclens.bench.pages.summary import Bench, Entry, Estimate, outcomes
from logiclens.bench.runs.published import PublishedFigure, paper_figures
from logiclens.metrics.scores import METRICS, Metric
from logiclens.words import shortened

NOT_RUN, NOTHING = "not run", "–"
_LONGEST_REASON = 60
"""Characters of a reason in a cell; the table of unsuccessful runs has the whole reason."""
_STANDS_FOR_PAPER = ("authors", "paper", "minimal")
"""The first of these methods that was run shows the paper's figures of the entropy network."""


@dataclass(frozen=True)
class Best:
    """The best methods of one row, in their group (rule learners or black boxes) and overall."""

    in_group: frozenset[str] = frozenset()
    overall: frozenset[str] = frozenset()


def six_tables(bench: Bench, protocol: str) -> tuple[Section, ...]:
    """Return one section per metric, with one table per family of methods."""
    methods = bench.methods(protocol, bench.tasks(protocol))
    families = [(title, [method for method in methods if family(method) == title]) for title, _ in FAMILIES]
    return tuple(
        Section(
            f"{protocol}-{metric.key}",
            metric.title,
            tuple(
                _table(bench, protocol, metric, (number, title), members)
                for number, (title, members) in enumerate(families, start=1)
            ),
        )
        for metric in MAIN_METRICS
    )


def figure_text(mean: float, error: float | None, metric: Metric) -> str:
    """Format a figure as the paper does; short times get more decimals.

    >>> from logiclens.metrics.scores import metric_named
    >>> figure_text(79.0512, 1.35, metric_named("fidelity")), figure_text(0.00123, None, metric_named("seconds"))
    ('79.05 ± 1.35', '0.0012')
    """
    digits = 2
    if metric.unit == "s" and 0 < mean < 0.1:
        digits = min(1 - math.floor(math.log10(mean)), 6)
    return f"{mean:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def estimate_text(estimate: Estimate | None, metric: Metric) -> str:
    """Format our figure, or return a dash."""
    return NOTHING if estimate is None else figure_text(estimate.mean, estimate.standard_error, metric)


def published_text(figure: PublishedFigure | None, metric: Metric) -> str:
    """Format the paper's figure, or return a dash."""
    return NOTHING if figure is None else figure_text(figure.mean, figure.standard_error, metric)


def best_of(bench: Bench, task: str, protocol: str, metric: Metric) -> Best:
    """Return the best methods by printed figure, with ties; methods that lack folds do not compete."""
    groups: dict[bool, dict[str, float]] = {False: {}, True: {}}
    for method in bench.methods(protocol, [task]):
        entry = Entry(task, protocol, method)
        estimate, black = bench.estimate(entry, metric), bench.is_black_box(protocol, method)
        whole = estimate and estimate.n_folds == bench.most_folds(entry) and not bench.is_sample(entry)
        if estimate and whole and not (black and metric.of_rules):
            groups[black][method] = float(figure_text(estimate.mean, None, metric))
    alike = [_leaders(group, metric) for group in groups.values()]
    return Best(alike[0] | alike[1], _leaders({**groups[False], **groups[True]}, metric))


def _leaders(figures: dict[str, float], metric: Metric) -> frozenset[str]:
    if not figures:
        return frozenset()
    best = min(figures.values()) if metric.lower_is_better else max(figures.values())
    return frozenset(method for method, value in figures.items() if value == best)


def _table(bench: Bench, protocol: str, metric: Metric, family: tuple[int, str], members: Sequence[str]) -> Table:
    number, title = family
    tasks = [task for task in bench.tasks(protocol) if any(bench.runs(Entry(task, protocol, m)) for m in members)]
    methods = [method for method in members if _has_column(bench, protocol, metric, tasks, method)]
    rows = []
    for task in tasks:
        best = best_of(bench, task, protocol, metric)
        published = _published(metric, task, bench.methods(protocol, bench.tasks(protocol)))
        cells = tuple(_cell(bench, Entry(task, protocol, m), metric, best, published.get(m)) for m in methods)
        if any(cell.text != NOT_RUN for cell in cells):
            rows.append(Row(task_title(task), cells))
    black = [not metric.of_rules and bench.is_black_box(protocol, method) for method in methods]
    heads = [f"{method_title(m)}{' (black box)' * is_black}" for m, is_black in zip(methods, black, strict=True)]
    key = f"{protocol}-{metric.key}-{number}"
    return Table(key, _caption(protocol, metric, title), ("task", *heads), tuple(rows))


def _has_column(bench: Bench, protocol: str, metric: Metric, tasks: Sequence[str], method: str) -> bool:
    if metric.of_rules and bench.is_black_box(protocol, method):
        return False
    entries = [Entry(task, protocol, method) for task in tasks]
    return any(bench.estimate(entry, metric) or outcomes(bench.runs(entry)) for entry in entries)


def _published(metric: Metric, task: str, methods: Sequence[str]) -> dict[str, PublishedFigure]:
    """Return the figure of the paper for each method that shows one."""
    found = {}
    for column, method in columns_of_paper(task).items():
        stands = [m for m in _STANDS_FOR_PAPER if m in methods] if column == "entropy_net" else [method]
        figure = paper_figures().figure(metric.key, task, column)
        if stands and figure:
            found[stands[0]] = figure
    return found


def _cell(bench: Bench, entry: Entry, metric: Metric, best: Best, published: PublishedFigure | None) -> Cell:
    estimate = bench.estimate(entry, metric)
    lines = [] if published is None else [("paper", published_text(published, metric))]
    if estimate is None:
        return Cell(_why_nothing(bench, entry), tuple(lines), faint=True)
    lines += _companions(bench, entry, metric)
    left_out = bench.consistency(entry) if metric.key == "consistency" else None
    if left_out and left_out.left_out:
        lines.append(("left out", f"{left_out.left_out} without concepts"))
    planned = bench.planned(entry)
    if estimate.n_folds < planned:
        lines.append(("folds", "; ".join([f"{estimate.n_folds} of {planned}", *_short_outcomes(bench, entry)])))
    return Cell(
        estimate_text(estimate, metric),
        tuple(lines),
        best=entry.method in best.in_group,
        # Only this table has both groups, so that the best of a group may not be the best of all.
        star=not metric.of_rules and entry.method in best.overall,
    )


def _why_nothing(bench: Bench, entry: Entry) -> str:
    """Return the text of a cell without a figure: a dash if successful runs lack the figure."""
    if bench.good(entry):
        return NOTHING
    return "; ".join(shortened(words, _LONGEST_REASON) for words, _ in outcomes(bench.runs(entry))) or NOT_RUN


def _companions(bench: Bench, entry: Entry, metric: Metric) -> list[tuple[str, str]]:
    """What stands below a figure, so that nobody is misled by it."""
    found = []
    for companion in METRICS:
        estimate = bench.estimate(entry, companion) if metric.key in companion.below else None
        if estimate:
            found.append((companion.label, f"{estimate.mean:.{companion.decimals}f}"))
    return found


def _short_outcomes(bench: Bench, entry: Entry) -> list[str]:
    return [f"{count} {shortened(words, _LONGEST_REASON)}" for words, count in outcomes(bench.runs(entry))]


def _caption(protocol: str, metric: Metric, title: str) -> str:
    spread = "" if metric.key == "consistency" else " Figures are mean ± standard error over folds."
    direction = "lowest" if metric.lower_is_better else "highest"
    best = f"The {direction} figure of all methods under this protocol is bold"
    if not metric.of_rules:
        best = f"The {direction} figures of rule learners and of black boxes are bold; the best of all has a star"
    return (
        f"{metric.title} ({metric.unit}) under '{protocol}', {title}: {metric.definition}.{spread} {best}. The paper's "
        "figures are in italics."
    )
