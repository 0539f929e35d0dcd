"""How near we come to the paper's own figures, and its grid of settings beside ours."""

from __future__ import annotations

import math
from dataclasses import dataclass

from logiclens.experiments.published import PublishedFigure, PublishedSetting, paper_figures
from logiclens.report.bench_blocks import Block, Cell, Paragraph, Row, Section, Table
from logiclens.report.bench_names import (
    METRICS,
    PAPER,
    STUDIES,
    SWEEP,
    Metric,
    columns_of_paper,
    method_title,
    task_title,
)
from logiclens.report.bench_summary import Bench, Entry, Estimate, mean_of, outcomes, setting_of
from logiclens.report.bench_tables import NOTHING, estimate_text, published_text

FAR = 2.0
"""A difference of more combined standard errors than this is marked."""
_SWEPT = tuple(m for m in METRICS if m.name in ("model_accuracy", "explanation_accuracy", "complexity"))
_VALIDATION = ("validation_accuracy", "validation_explanation_accuracy")


@dataclass(frozen=True)
class Comparison:
    """One figure of the paper beside ours."""

    task: str
    method: str
    ours: Estimate
    theirs: PublishedFigure

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours.mean - self.theirs.mean

    @property
    def in_errors(self) -> float | None:
        """The difference in combined standard errors; None where one of the two has none."""
        if self.ours.standard_error is None or self.theirs.standard_error is None:
            return None
        spread = math.hypot(self.ours.standard_error, self.theirs.standard_error)
        if spread == 0:
            return 0.0 if self.difference == 0 else math.copysign(math.inf, self.difference)
        return self.difference / spread

    @property
    def is_far(self) -> bool:
        """Whether chance alone does not explain the difference well."""
        return self.in_errors is not None and abs(self.in_errors) > FAR


def comparisons(bench: Bench, metric: Metric) -> tuple[Comparison, ...]:
    """Every figure of a metric that both the paper and our runs under its protocol have."""
    found = []
    for task in STUDIES:
        for column, method in columns_of_paper(task).items():
            theirs = paper_figures().figure(metric.name, task, column)
            entry = Entry(task, PAPER, method)
            ours = bench.estimate(entry, metric)
            if theirs and ours and not bench.is_sample(entry):
                found.append(Comparison(task, method, ours, theirs))
    return tuple(found)


def reproduction(bench: Bench) -> Section:
    """Ours, theirs and how far apart they are, a table for each metric."""
    compared = {metric: comparisons(bench, metric) for metric in METRICS}
    judged = [one for found in compared.values() for one in found if one.in_errors is not None]
    if not any(compared.values()):
        return Section("reproduction", "Reproduction")
    near = sum(not one.is_far for one in judged)
    told = Paragraph(
        f"Of {len(judged)} figures with a standard error on both sides, {near} lie within {FAR:g} combined standard "
        "errors of the paper's. Times were taken on other machines, so that their differences say little."
    )
    tables = [_table(metric, found) for metric, found in compared.items() if found]
    return Section("reproduction", "Reproduction", (told, *tables))


def sweeps(bench: Bench) -> Section:
    """The grids of temperature and entropy weight, with the setting that the validation rows choose."""
    named = sorted({(e.task, e.protocol) for e in bench.entries if e.task.startswith(SWEEP)})
    return Section("sweep", "Sweep of settings", tuple(block for key in named for block in _sweep(bench, *key)))


def chosen_setting(bench: Bench, task: str, protocol: str) -> str | None:
    """The setting with the largest sum of both accuracies on the validation rows; of equals the first."""
    sums = {}
    for method in _settings(bench, task, protocol):
        parts = [mean_of(bench.values(Entry(task, protocol, method), metric)) for metric in _VALIDATION]
        if all(parts):
            sums[method] = sum(part.mean for part in parts if part)
    return max(sums, key=lambda method: sums[method]) if sums else None


def _table(metric: Metric, found: tuple[Comparison, ...]) -> Table:
    rows = []
    for one in found:
        errors = one.in_errors
        apart = NOTHING if errors is None else _signed(errors, 1)
        cells = (
            Cell(method_title(one.method)),
            Cell(estimate_text(one.ours, metric)),
            Cell(published_text(one.theirs, metric)),
            Cell(_signed(one.difference, 2)),
            Cell(f"{apart} ◀" if one.is_far else apart, best=one.is_far),
        )
        rows.append(Row(task_title(one.task), cells, marked=one.is_far))
    source = paper_figures().tables[metric.name].source
    caption = (
        f"{metric.title} ({metric.unit}) under 'paper' beside the paper ({source}). "
        f"The last column gives the difference in combined standard errors; ◀ marks those above {FAR:g}."
    )
    columns = ("task", "method", "ours", "the paper", "difference", "in standard errors")
    return Table(f"reproduction-{metric.name}", caption, columns, tuple(rows))


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("inf", "∞").replace("-", "−")


def _power(value: float) -> str:
    """A small number as 1e-4."""
    mantissa, _, exponent = f"{value:e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def _settings(bench: Bench, task: str, protocol: str) -> list[str]:
    """The settings of a grid, by temperature, then by weight; ids of another form after them."""
    methods = {e.method for e in bench.entries if (e.task, e.protocol) == (task, protocol)}
    return sorted(methods, key=lambda m: (setting_of(m) is None, setting_of(m) or (0.0, 0.0), m))


def _sweep(bench: Bench, task: str, protocol: str) -> list[Block]:
    chosen, on = chosen_setting(bench, task, protocol), task.removeprefix(SWEEP)
    rows, any_paper = [], False
    for method in _settings(bench, task, protocol):
        entry, setting = Entry(task, protocol, method), setting_of(method)
        published = paper_figures().setting(on, *setting) if setting else None
        any_paper |= published is not None
        cells = [_swept(bench, entry, metric, published) for metric in _SWEPT]
        cells += [_validated(bench, entry, metric) for metric in _VALIDATION]
        name = f"τ = {setting[0]:g}, λ = {_power(setting[1])}" if setting else method
        rows.append(Row(f"{name} ← chosen" if method == chosen else name, tuple(cells), marked=method == chosen))
    figures = f" The paper's figures in italics ({paper_figures().sweep_source})." if any_paper else ""
    caption = (
        f"Settings on {task_title(on)} under '{protocol}', mean ± standard error over folds. Chosen is the largest sum "
        f"of model and explanation accuracy on the validation rows.{figures}"
    )
    columns = (
        "setting", "model accuracy (%)", "explanation accuracy (%)", "complexity (literals)",
        "validation: model accuracy (%)", "validation: explanation accuracy (%)",
    )  # fmt: skip
    return [Table(f"sweep-{on}-{protocol}", caption, columns, tuple(rows))]


def _swept(bench: Bench, entry: Entry, metric: Metric, published: PublishedSetting | None) -> Cell:
    estimate = bench.estimate(entry, metric)
    lines = [] if published is None else [("paper", published_text(getattr(published, metric.name), metric))]
    if estimate is None:
        return Cell("; ".join(words for words, _ in outcomes(bench.runs(entry))) or NOTHING, tuple(lines), faint=True)
    planned = bench.planned(entry)
    if estimate.n_folds < planned:
        lines.append(("folds", f"{estimate.n_folds} of {planned}"))
    return Cell(estimate_text(estimate, metric), tuple(lines))


def _validated(bench: Bench, entry: Entry, name: str) -> Cell:
    return Cell(estimate_text(bench.estimate(entry, Metric(name, "", "%", 100.0)), _SWEPT[0]))
