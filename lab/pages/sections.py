"""Sections of the benchmark report: six tables of metrics, formulas, reproduction, sweeps, toy task and remarks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lab.pages.charts import heat_map_chart
from lab.pages.document import (
    Block,
    Cell,
    Chart,
    Facts,
    Paragraph,
    Points,
    Row,
    Section,
    ShownFormula,
    Table,
)
from lab.pages.names import (
    CLEAN,
    FAMILIES,
    METHODS,
    METRICS,
    OURS,
    PAPER,
    REMARKS,
    SCRIPT_COLUMNS,
    SCRIPT_REMARKS,
    SCRIPT_TABLE,
    STUDIES,
    TASKS,
    columns_of_paper,
    family,
    in_order,
    method_title,
    task_title,
)
from lab.pages.summary import Bench, Entry, Estimate, FoldRun, fold_words, mean_of, outcomes, setting_of
from lab.runs.paper_figures import PublishedFigure, PublishedSetting, paper_figures
from lab.runs.results import FORMULA, OK, SWEEP, TOY
from logiclens.metrics.scores import METRICS as ALL_METRICS
from logiclens.metrics.scores import Metric, metric_named
from logiclens.words import percent, shortened

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
        for metric in METRICS
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
    for companion in ALL_METRICS:
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


MOST_LITERALS = 12
"""Longer formulas are cut in the comparison of methods, at the end of a cube."""
MOST_LITERALS_IN_RULES = 60
"""Longer rules of ours are cut."""
MOST_CLASSES_STUDIED = 4
"""Classes that a case study shows."""
MOST_ROWS_OPEN = 20
"""Tables with more rows are folded on the HTML page."""
FAR = 2.0
"""Differences of more combined standard errors than this are marked."""
_SWEPT = tuple(m for m in METRICS if m.key in ("model_accuracy", "explanation_accuracy", "complexity"))
_VALIDATION = ("validation_accuracy", "validation_explanation_accuracy")
_TOY_MODELS = {
    "A": ("weight:", "A: plain layer, L1", "Weights of the first layer of A, a plain layer trained with L1."),
    "B": ("relevance:", "B: entropy layer, L1", "Relevance in B, the entropy layer trained with L1."),
    "C": ("relevance:", "C: entropy layer and loss", "Relevance in C, the entropy layer with the entropy loss."),
}
_RECOVERED, _N_FORMULAS = "recovered:", 4


def case_studies(bench: Bench) -> Section:
    """Our formulas of the first fold on the paper's four tasks, as first-order sentences."""
    sections = []
    for task in STUDIES:
        entries = [Entry(task, protocol, OURS) for protocol in bench.protocols]
        stated = sorted((e for e in entries if _first_stated(bench, e)), key=lambda entry: entry.protocol != CLEAN)
        sections += [Section(f"study-{task}", task_title(task), _study(bench, entry)) for entry in stated[:1]]
    return Section("studies", "Case studies", sections=tuple(sections))


def comparison(bench: Bench, protocol: str) -> Section:
    """The formula that every method states for the first class of each task."""
    tables = []
    for task in bench.tasks(protocol):
        entries = [Entry(task, protocol, method) for method in bench.methods(protocol, [task])]
        texts = {entry: bench.formula_texts(run) for entry in entries if (run := _first_stated(bench, entry))}
        if not texts:
            continue
        klass = next(iter(next(iter(texts.values()))))
        rows = []
        for entry in (entry for entry in texts if klass in texts[entry]):
            formula = ShownFormula.cut(bench.formula(entry, texts[entry][klass]), MOST_LITERALS)
            rows.append(Row.of(method_title(entry.method), formula, str(formula.n_literals)))
        caption = f"{task_title(task)} under '{protocol}': the formula of '{klass}' on the first fold of each method."
        columns = ("method", "formula", "literals")
        tables.append(Table(f"{protocol}-formulas-{task}", caption, columns, tuple(rows), wide=True))
    return Section(f"{protocol}-formulas", "Formulas of all methods", tuple(tables))


def rule_tables(bench: Bench, protocol: str) -> Section:
    """Every rule of our method on each task, with the number of folds that found the same rule."""
    tables = []
    for entry in (Entry(task, protocol, OURS) for task in bench.tasks(protocol)):
        runs = [run for run in bench.good(entry) if bench.formula_texts(run)]
        rows = []
        for klass, text in (bench.formula_texts(runs[0]) if runs else {}).items():
            formula = bench.formula(entry, text)
            others = [texts[klass] for run in runs if klass in (texts := bench.formula_texts(run))]
            same = sum(bench.formula(entry, other) == formula for other in others)
            shown = ShownFormula.cut(formula, MOST_LITERALS_IN_RULES)
            rows.append(Row.of(klass, shown, str(shown.n_literals), f"{same} of {len(others)}"))
        caption = (
            f"{task_title(entry.task)} under '{protocol}': the rule of each class on fold "
            f"{runs[0].fold if runs else 0}, and the number of folds with the same rule."
        )
        columns = ("class", "rule", "literals", "folds that agree")
        key, folded = f"{protocol}-rules-{entry.task}", len(rows) > MOST_ROWS_OPEN
        tables.append(Table(key, caption, columns, tuple(rows), wide=True, folded=folded))
    return Section(f"{protocol}-rules", f"All rules of {method_title(OURS)}", tuple(tables))


def header_facts(bench: Bench) -> Facts:
    """The number of runs, and every entry of the benchmark's header."""
    runs = [run for runs in bench.entries.values() for run in runs]
    finished = f"{len(runs):,}, of which {sum(run.status == OK for run in runs):,} succeeded"
    pairs = ((name, _header_text(value)) for name, value in bench.header.items() if name != "schema")
    return Facts((("finished runs", finished), *pairs))


def unfinished(bench: Bench) -> Section:
    """Every run that failed, was stopped or was skipped, grouped by reason."""
    statuses = [(e, run.fold, run.status) for e in _in_order(bench) for run in bench.runs(e) if run.status != OK]
    rows = []
    for method, protocol, status, places in _grouped(statuses):
        kind, _, reason = status.partition(":")
        rows.append(Row.of(method_title(method), protocol, kind, reason.strip() or NOTHING, places))
    caption = "Runs that did not succeed. They have no figures in any table."
    columns = ("method", "protocol", "status", "reason or limit", "tasks and folds")
    table = Table("unfinished-runs", caption, columns, tuple(rows), wide=True)
    return Section("unfinished", "Runs that failed, were stopped or skipped", (table,))


def notes(bench: Bench) -> Section:
    """The notes that methods left on their own runs, each once."""
    said = [(e, run.fold, note) for e in _in_order(bench) for run in bench.runs(e) for note in run.notes]
    rows = tuple(Row.of(method_title(method), *texts) for method, *texts in _grouped(said))
    columns = ("method", "protocol", "note", "tasks and folds")
    table = Table("notes-table", "Notes of the methods on their own runs.", columns, rows, wide=True)
    return Section("notes", "Notes on single runs", (table,))


def remarks(bench: Bench) -> Section:
    """What a reader must know about the data and about the authors' scripts."""
    ran = {(task, protocol) for protocol in bench.protocols for task in bench.tasks(protocol)}
    said = tuple(
        f"{task_title(task)}{'' if protocol is None else f' under {protocol!r}'}: {text}"
        for task, protocol, text in REMARKS
        if any(task == t and protocol in (None, p) for t, p in ran)
    )
    data = Section("remarks-data", "The data", (Points(said),) if said else ())
    rows = tuple(Row.of(topic, *texts) for topic, texts in SCRIPT_TABLE)
    columns = ("", *(task_title(task) for task in SCRIPT_COLUMNS))
    caption = "Choices of the authors' published scripts that differ between tasks, or from the paper's text."
    intro = Paragraph("The protocol 'paper' and the method 'Entropy net, the authors' scripts' follow these choices.")
    blocks = (intro, Table("scripts", caption, columns, rows, wide=True), Points(SCRIPT_REMARKS))
    with_paper = any(protocol == PAPER for _, protocol in ran)
    scripts = Section("remarks-scripts", "What the authors' scripts do", blocks if with_paper else ())
    return Section("remarks", "Remarks", sections=(data, scripts))


@dataclass(frozen=True)
class Comparison:
    """A figure of the paper beside ours."""

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
        """The difference in combined standard errors; None if either figure has no standard error."""
        if self.ours.standard_error is None or self.theirs.standard_error is None:
            return None
        spread = math.hypot(self.ours.standard_error, self.theirs.standard_error)
        if spread == 0:
            return 0.0 if self.difference == 0 else math.copysign(math.inf, self.difference)
        return self.difference / spread

    @property
    def is_far(self) -> bool:
        """Whether the difference exceeds `FAR` combined standard errors."""
        return self.in_errors is not None and abs(self.in_errors) > FAR


def comparisons(bench: Bench, metric: Metric) -> tuple[Comparison, ...]:
    """Return every figure of a metric that both the paper and our runs under its protocol have."""
    pairs = []
    for task in STUDIES:
        for column, method in columns_of_paper(task).items():
            theirs = paper_figures().figure(metric.key, task, column)
            entry = Entry(task, PAPER, method)
            ours = bench.estimate(entry, metric)
            if theirs and ours and not bench.is_sample(entry):
                pairs.append(Comparison(task, method, ours, theirs))
    return tuple(pairs)


def reproduction(bench: Bench) -> Section:
    """Our figures beside the paper's, one table per metric."""
    compared = {metric: found for metric in METRICS if (found := comparisons(bench, metric))}
    judged = [one for found in compared.values() for one in found if one.in_errors is not None]
    near = sum(not one.is_far for one in judged)
    intro = Paragraph(
        f"Of {len(judged)} figures with a standard error on both sides, {near} lie within {FAR:g} combined standard "
        "errors of the paper's. Times were measured on other machines, so their differences say little."
    )
    tables = [_reproduction_table(metric, found) for metric, found in compared.items()]
    return Section("reproduction", "Reproduction", (intro, *tables) if tables else ())


def sweeps(bench: Bench) -> Section:
    """The grids of temperature and entropy weight, with the setting that the validation rows choose."""
    grids = sorted({(e.task, e.protocol) for e in bench.entries if e.task.startswith(SWEEP)})
    return Section("sweep", "Sweep of settings", tuple(_sweep_table(bench, *grid) for grid in grids))


def chosen_setting(bench: Bench, task: str, protocol: str) -> str | None:
    """Return the setting with the largest sum of both validation accuracies, the first of equals."""
    sums = {}
    for method in _settings(bench, task, protocol):
        means = [mean_of(bench.values(Entry(task, protocol, method), metric)) for metric in _VALIDATION]
        if all(means):
            sums[method] = sum(mean.mean for mean in means if mean)
    return max(sums, key=lambda method: sums[method]) if sums else None


def toy(bench: Bench) -> Section:
    """The toy comparison of entropy and L1: heat maps, recovered formulas and the formulas of the first seed."""
    blocks: list[Block] = []
    for protocol in bench.protocols:
        for model in _TOY_MODELS:
            runs = bench.good(Entry(TOY, protocol, model))
            blocks += _heat_map(runs[0], model, protocol) if runs else []
        entry = Entry(TOY, protocol, "C")
        blocks += [_recovered(bench, entry), _toy_formulas(bench, entry)]
    return Section("toy", "Toy comparison of entropy and L1", tuple(blocks))


def _first_stated(bench: Bench, entry: Entry) -> FoldRun | None:
    """Return the first successful fold that states formulas."""
    return next((run for run in bench.good(entry) if bench.formula_texts(run)), None)


def _study(bench: Bench, entry: Entry) -> tuple[Block, ...]:
    run = _first_stated(bench, entry)
    texts = bench.formula_texts(run) if run else {}
    fidelity = float(run.metrics.get("fidelity", "nan")) if run else math.nan
    rows = []
    for klass, text in list(texts.items())[:MOST_CLASSES_STUDIED]:
        formula = ShownFormula.cut(bench.formula(entry, text), MOST_LITERALS_IN_RULES)
        rows.append(Row.of(klass, replace(formula, head=klass, equal=fidelity == 1.0), str(formula.n_literals)))
    caption = f"{method_title(OURS)}, under '{entry.protocol}', fold {run.fold if run else 0}"
    if not math.isnan(fidelity):
        caption += f"; over all classes, formulas and network agree on {percent(fidelity, 1)} of unseen rows"
    columns = ("class", "rule", "literals")
    table = Table(f"study-{entry.task}-rules", f"{caption}.", columns, tuple(rows), wide=True)
    left = len(texts) - len(rows)
    return (table, Paragraph(f"{left} more in the table of all rules.")) if left else (table,)


def _grouped(said: Iterable[tuple[Entry, int, str]]) -> list[tuple[str, str, str, str]]:
    """Return method, protocol, text, and the tasks and folds that share them."""
    groups: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    for entry, fold, text in said:
        task = f"{task_title(entry.task)}{', sweep' if entry.task.startswith(SWEEP) else ''}"
        groups.setdefault((entry.method, entry.protocol, text), {}).setdefault(task, []).append(fold)
    return [
        (*key, "; ".join(f"{task} {fold_words(folds)}" for task, folds in places.items()))
        for key, places in groups.items()
    ]


def _in_order(bench: Bench) -> list[Entry]:
    tasks = in_order((entry.task for entry in bench.entries), TASKS)
    methods = in_order((entry.method for entry in bench.entries), METHODS)
    return sorted(bench.entries, key=lambda e: (tasks.index(e.task), e.protocol, methods.index(e.method)))


def _header_text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_header_text(inner)}" for name, inner in value.items())
    return ", ".join(_header_text(inner) for inner in value) if isinstance(value, list) else str(value)


def _reproduction_table(metric: Metric, compared: Iterable[Comparison]) -> Table:
    rows = []
    for one in compared:
        apart = NOTHING if one.in_errors is None else _signed(one.in_errors, 1)
        figures = (estimate_text(one.ours, metric), published_text(one.theirs, metric), _signed(one.difference, 2))
        last = Cell(f"{apart} ◀" if one.is_far else apart, best=one.is_far)
        rows.append(Row.of(task_title(one.task), method_title(one.method), *figures, last, marked=one.is_far))
    source = paper_figures().tables[metric.key].source
    caption = (
        f"{metric.title} ({metric.unit}) under 'paper' compared with the paper ({source})."
        f" The last column gives the difference in combined standard errors; ◀ marks those above {FAR:g}."
    )
    columns = ("task", "method", "ours", "the paper", "difference", "in standard errors")
    return Table(f"reproduction-{metric.key}", caption, columns, tuple(rows))


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("inf", "∞").replace("-", "−")


def _settings(bench: Bench, task: str, protocol: str) -> list[str]:
    """Return the settings of a grid by temperature and weight, then all other ids."""
    methods = {e.method for e in bench.entries if (e.task, e.protocol) == (task, protocol)}
    return sorted(methods, key=lambda m: (setting_of(m) is None, setting_of(m) or (0.0, 0.0), m))


def _sweep_table(bench: Bench, task: str, protocol: str) -> Table:
    chosen, base_task = chosen_setting(bench, task, protocol), task.removeprefix(SWEEP)
    rows, any_paper = [], False
    for method in _settings(bench, task, protocol):
        entry, setting = Entry(task, protocol, method), setting_of(method)
        published = paper_figures().setting(base_task, *setting) if setting else None
        any_paper |= published is not None
        cells = [_swept_cell(bench, entry, metric, published) for metric in _SWEPT]
        estimates = [bench.estimate(entry, metric_named(name)) for name in _VALIDATION]
        cells += [Cell(estimate_text(estimate, _SWEPT[0])) for estimate in estimates]
        name = f"τ = {setting[0]:g}, λ = {_power(setting[1])}" if setting else method
        rows.append(Row.of(f"{name} ← chosen" if method == chosen else name, *cells, marked=method == chosen))
    figures = f" The paper's figures are in italics ({paper_figures().sweep_source})." if any_paper else ""
    caption = (
        f"Settings on {task_title(base_task)} under '{protocol}', mean ± standard error over folds. The chosen "
        f"setting has the largest sum of model and explanation accuracy on the validation rows.{figures}"
    )
    columns = (
        "setting", "model accuracy (%)", "explanation accuracy (%)", "complexity (literals)",
        "validation: model accuracy (%)", "validation: explanation accuracy (%)",
    )  # fmt: skip
    return Table(f"sweep-{base_task}-{protocol}", caption, columns, tuple(rows))


def _power(value: float) -> str:
    """Return a small number in the form 1e-4."""
    mantissa, _, exponent = f"{value:e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def _swept_cell(bench: Bench, entry: Entry, metric: Metric, published: PublishedSetting | None) -> Cell:
    estimate = bench.estimate(entry, metric)
    lines = [] if published is None else [("paper", published_text(getattr(published, metric.key), metric))]
    if estimate is None:
        return Cell("; ".join(words for words, _ in outcomes(bench.runs(entry))) or NOTHING, tuple(lines), faint=True)
    if estimate.n_folds < bench.planned(entry):
        lines.append(("folds", f"{estimate.n_folds} of {bench.planned(entry)}"))
    return Cell(estimate_text(estimate, metric), tuple(lines))


def _heat_map(run: FoldRun, model: str, protocol: str) -> list[Chart]:
    prefix, title, caption = _TOY_MODELS[model]
    values = {tuple(name.split(":", 2)[1:]): float(v) for name, v in run.metrics.items() if name.startswith(prefix)}
    if not values:
        return []
    rows, columns = (list(dict.fromkeys(key[axis] for key in values)) for axis in (0, 1))
    matrix = np.array([[values.get((row, column), np.nan) for column in columns] for row in rows])
    key, caption = f"toy-{protocol}-{model}", f"{caption} Seed {run.fold}."
    return [heat_map_chart(matrix, rows, columns, key=key, title=title, caption=caption)]


def _recovered(bench: Bench, entry: Entry) -> Table:
    """Return how many of the four formulas each extraction method recovers, by seed."""
    runs = bench.good(entry)
    ways = list(dict.fromkeys(name for run in runs for name in run.metrics if name.startswith(_RECOVERED)))
    texts = [
        [f"{float(v):g} of {_N_FORMULAS}" if (v := run.metrics.get(way)) else NOTHING for way in ways] for run in runs
    ]
    rows = [Row.of(f"seed {run.fold}", *line) for run, line in zip(runs, texts, strict=True)]
    whole = [sum(text == f"{_N_FORMULAS} of {_N_FORMULAS}" for text in column) for column in zip(*texts, strict=True)]
    rows.append(Row.of("seeds with all four", *(Cell(f"{count} of {len(runs)}", best=True) for count in whole)))
    caption = f"Correct formulas of C, of {_N_FORMULAS}, by seed and extraction method."
    heads = [method_title(way.removeprefix(_RECOVERED)) for way in ways]
    return Table(f"toy-{entry.protocol}-recovered", caption, ("seed", *heads), tuple(rows) if ways else ())


def _toy_formulas(bench: Bench, entry: Entry) -> Table:
    """Return the formulas of the first seed, by class."""
    run = next(iter(bench.good(entry)), None)
    texts = {} if run is None else {n: t for n, t in run.metrics.items() if n.startswith(FORMULA) and n.count(":") > 1}
    ways, classes = (list(dict.fromkeys(name.split(":", 2)[axis] for name in texts)) for axis in (1, 2))
    rows = []
    for klass in classes:
        stated = [texts.get(f"{FORMULA}{way}:{klass}") for way in ways]
        formulas = [None if text is None else bench.formula(entry, text) for text in stated]
        rows.append(Row.of(klass, *(NOTHING if f is None else ShownFormula(f, f.n_literals) for f in formulas)))
    caption = f"Formulas of C, seed {run.fold if run else 0}."
    heads = [method_title(way) for way in ways]
    return Table(f"toy-{entry.protocol}-formulas", caption, ("class", *heads), tuple(rows), wide=True)
