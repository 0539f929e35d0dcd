"""Sections of the benchmark report: formulas, remarks, reproduction of the paper, and the toy comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logiclens.bench.pages.blocks import Block, Cell, Facts, Paragraph, Picture, Points, Row, Section, Shown, Table
from logiclens.bench.pages.figures import heat_map_picture
from logiclens.bench.pages.names import (
    CLEAN,
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
    in_order,
    method_title,
    task_title,
)
from logiclens.bench.pages.summary import Bench, Entry, Estimate, FoldRun, fold_words, mean_of, outcomes, setting_of
from logiclens.bench.pages.tables import NOTHING, estimate_text, published_text
from logiclens.bench.runs.published import PublishedFigure, PublishedSetting, paper_figures
from logiclens.bench.runs.results import FORMULA, OK, SWEEP, TOY
from logiclens.formula.dnf import DNF
from logiclens.metrics.scores import Metric, metric_named
from logiclens.words import percent

MOST_LITERALS = 12
"""A formula with more is cut in the comparison, at the end of a cube."""
MOST_IN_RULES = 60
"""A rule of ours is cut only far beyond what anyone reads."""
MOST_STUDIED = 4
"""So many classes of a task are shown as a case study."""
MOST_OPEN = 20
"""A table with more classes is folded on the page."""


def shown(formula: DNF, most: int) -> Shown:
    """A formula, cut after the last whole cube within so many literals; the first cube is always shown."""
    kept = list(formula.cubes)
    while len(kept) > 1 and sum(len(cube) for cube in kept) > most:
        kept.pop()
    return Shown(DNF(kept), formula.n_literals)


def case_studies(bench: Bench) -> Section:
    """The four tasks of the paper: our formulas of the first fold, as sentences about every object."""
    parts = []
    for task in STUDIES:
        found = [Entry(task, protocol, OURS) for protocol in bench.protocols]
        entries = sorted((e for e in found if _stated(bench, e)), key=lambda entry: entry.protocol != CLEAN)
        if entries:
            parts.append(Section(f"study-{task}", task_title(task), _study(bench, entries[0])))
    return Section("studies", "Case studies", sections=tuple(parts))


def comparison(bench: Bench, protocol: str) -> Section:
    """For each task the formula of its first class, by every method."""
    tables = []
    for task in bench.tasks(protocol):
        entries = [Entry(task, protocol, method) for method in bench.methods(protocol, [task])]
        stated = [(entry, run) for entry in entries if (run := _stated(bench, entry))]
        if stated:
            tables.append(_compared(bench, task, protocol, stated))
    return Section(f"{protocol}-formulas", "Formulas of all methods", tuple(tables))


def rule_tables(bench: Bench, protocol: str) -> Section:
    """For each task every rule of our method."""
    entries = [Entry(task, protocol, OURS) for task in bench.tasks(protocol)]
    tables = [_rules(bench, entry) for entry in entries if _stated(bench, entry)]
    return Section(f"{protocol}-rules", f"All rules of {method_title(OURS)}", tuple(tables))


def _stated(bench: Bench, entry: Entry) -> FoldRun | None:
    """The first fold that ended well and states formulas."""
    return next((run for run in bench.good(entry) if bench.formula_texts(run)), None)


def _study(bench: Bench, entry: Entry) -> tuple[Block, ...]:
    run = _stated(bench, entry)
    if run is None:
        return ()
    texts = bench.formula_texts(run)
    fidelity = float(run.metrics.get("fidelity", "nan"))
    rows = []
    for klass, text in list(texts.items())[:MOST_STUDIED]:
        cut = shown(bench.formula(entry, text), MOST_IN_RULES)
        sentence = replace(cut, head=klass, equal=fidelity == 1.0)
        rows.append(Row(klass, (Cell(formula=sentence), Cell(str(cut.n_literals)))))
    told = f"{method_title(OURS)}, under '{entry.protocol}', fold {run.fold}"
    # A share that is not a number is not equal to itself.
    known = f"; over all classes, formulas and network agree on {percent(fidelity, 1)} of unseen rows"
    caption = f"{told}{known if fidelity == fidelity else ''}."
    table = Table(f"study-{entry.task}-rules", caption, ("class", "rule", "literals"), tuple(rows), wide=True)
    left = len(texts) - len(rows)
    more = (Paragraph(f"{left} more in the table of all rules."),) if left else ()
    return (table, *more)


def _compared(bench: Bench, task: str, protocol: str, stated: list[tuple[Entry, FoldRun]]) -> Table:
    first = next(iter(bench.formula_texts(stated[0][1])))
    rows = []
    for entry, run in stated:
        text = bench.formula_texts(run).get(first)
        if text is not None:
            cut = shown(bench.formula(entry, text), MOST_LITERALS)
            rows.append(Row(method_title(entry.method), (Cell(formula=cut), Cell(str(cut.n_literals)))))
    caption = f"{task_title(task)} under '{protocol}': the formula of '{first}' on each method's first fold."
    return Table(f"{protocol}-formulas-{task}", caption, ("method", "formula", "literals"), tuple(rows), wide=True)


def _rules(bench: Bench, entry: Entry) -> Table:
    runs = [run for run in bench.good(entry) if bench.formula_texts(run)]
    rows = []
    for klass, text in bench.formula_texts(runs[0]).items():
        formula = bench.formula(entry, text)
        others = [texts[klass] for run in runs if klass in (texts := bench.formula_texts(run))]
        same = sum(bench.formula(entry, other) == formula for other in others)
        cut = shown(formula, MOST_IN_RULES)
        cells = (Cell(formula=cut), Cell(str(cut.n_literals)), Cell(f"{same} of {len(others)}"))
        rows.append(Row(klass, cells))
    caption = (
        f"{task_title(entry.task)} under '{entry.protocol}': the rule of each class on fold {runs[0].fold}, and how "
        "many folds found the same one."
    )
    columns = ("class", "rule", "literals", "folds that agree")
    key = f"{entry.protocol}-rules-{entry.task}"
    return Table(key, caption, columns, tuple(rows), wide=True, folded=len(rows) > MOST_OPEN)


_SHOWN_APART = ("schema",)


def header_facts(bench: Bench) -> Facts:
    """What the header of the benchmark says, whatever that is."""
    pairs = [(name, _said(value)) for name, value in bench.header.items() if name not in _SHOWN_APART]
    n_runs = [run for runs in bench.entries.values() for run in runs]
    good = sum(run.status == OK for run in n_runs)
    return Facts((("finished runs", f"{len(n_runs):,}, of which {good:,} ended well"), *pairs))


def unfinished(bench: Bench) -> Section:
    """Every run that failed, was stopped or was skipped, with its reason; runs with one reason together."""
    said = [(entry, run.fold, run.status) for entry in _in_order(bench) for run in bench.runs(entry)]
    rows = []
    for method, protocol, status, places in _together([one for one in said if one[2] != OK]):
        kind, _, reason = status.partition(":")
        cells = (protocol, kind, reason.strip() or NOTHING, places)
        rows.append(Row(method_title(method), tuple(Cell(text) for text in cells)))
    caption = "Runs that did not end well. They have no figures in any table."
    columns = ("method", "protocol", "what", "reason or limit", "tasks and folds")
    return Section("unfinished", "What failed, was stopped or skipped", _if(rows, "unfinished-runs", caption, columns))


def notes(bench: Bench) -> Section:
    """What methods said of their own runs; the same note of several runs once."""
    said = [(e, run.fold, note) for e in _in_order(bench) for run in bench.runs(e) for note in run.notes]
    rows = [
        Row(method_title(method), tuple(Cell(text) for text in (protocol, note, places)))
        for method, protocol, note, places in _together(said)
    ]
    columns = ("method", "protocol", "note", "tasks and folds")
    told = _if(rows, "notes-table", "What methods said of their own runs.", columns)
    return Section("notes", "Notes on single runs", told)


def remarks(bench: Bench) -> Section:
    """What must be said of the data, and of what the authors' scripts do beside the paper's text."""
    ran = {(task, protocol) for protocol in bench.protocols for task in bench.tasks(protocol)}
    said = tuple(
        f"{task_title(task)}{'' if protocol is None else f' under {protocol!r}'}: {text}"
        for task, protocol, text in REMARKS
        if any(task == t and protocol in (None, p) for t, p in ran)
    )
    parts = [Section("remarks-data", "The data", (Points(said),) if said else ())]
    if any(protocol == PAPER for _, protocol in ran):
        parts.append(Section("remarks-scripts", "What the authors' scripts do", _scripts()))
    return Section("remarks", "Remarks", sections=tuple(part for part in parts if not part.is_empty))


def _scripts() -> tuple[Block, ...]:
    rows = tuple(Row(topic, tuple(Cell(text) for text in texts)) for topic, texts in SCRIPT_TABLE)
    columns = ("", *(task_title(task) for task in SCRIPT_COLUMNS))
    caption = "Choices of the authors' published scripts that differ between tasks, or from the paper's text."
    return (
        Paragraph("The protocol 'paper' and the method 'Entropy net, the authors' scripts' follow these choices."),
        Table("scripts", caption, columns, rows, wide=True),
        Points(SCRIPT_REMARKS),
    )


def _if(rows: list[Row], key: str, caption: str, columns: tuple[str, ...]) -> tuple[Block, ...]:
    return (Table(key, caption, columns, tuple(rows), wide=True),) if rows else ()


def _together(said: Sequence[tuple[Entry, int, str]]) -> list[tuple[str, str, str, str]]:
    """Method, protocol, what was said, and on which tasks and folds."""
    found: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    for entry, fold, text in said:
        found.setdefault((entry.method, entry.protocol, text), {}).setdefault(_task(entry), []).append(fold)
    return [
        (*key, "; ".join(f"{task} {fold_words(folds)}" for task, folds in where.items()))
        for key, where in found.items()
    ]


def _in_order(bench: Bench) -> list[Entry]:
    tasks = in_order((entry.task for entry in bench.entries), TASKS)
    methods = in_order((entry.method for entry in bench.entries), METHODS)
    return sorted(bench.entries, key=lambda e: (tasks.index(e.task), e.protocol, methods.index(e.method)))


def _task(entry: Entry) -> str:
    swept = entry.task.startswith(SWEEP)
    return f"{task_title(entry.task)}, sweep" if swept else task_title(entry.task)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_said(held)}" for name, held in value.items())
    if isinstance(value, list):
        return ", ".join(_said(held) for held in value)
    return str(value)


FAR = 2.0
"""A difference of more combined standard errors than this is marked."""
_SWEPT = tuple(m for m in METRICS if m.key in ("model_accuracy", "explanation_accuracy", "complexity"))
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
            theirs = paper_figures().figure(metric.key, task, column)
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
    source = paper_figures().tables[metric.key].source
    caption = (
        f"{metric.title} ({metric.unit}) under 'paper' beside the paper ({source}). "
        f"The last column gives the difference in combined standard errors; ◀ marks those above {FAR:g}."
    )
    columns = ("task", "method", "ours", "the paper", "difference", "in standard errors")
    return Table(f"reproduction-{metric.key}", caption, columns, tuple(rows))


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
    lines = [] if published is None else [("paper", published_text(getattr(published, metric.key), metric))]
    if estimate is None:
        return Cell("; ".join(words for words, _ in outcomes(bench.runs(entry))) or NOTHING, tuple(lines), faint=True)
    planned = bench.planned(entry)
    if estimate.n_folds < planned:
        lines.append(("folds", f"{estimate.n_folds} of {planned}"))
    return Cell(estimate_text(estimate, metric), tuple(lines))


def _validated(bench: Bench, entry: Entry, name: str) -> Cell:
    return Cell(estimate_text(bench.estimate(entry, metric_named(name)), _SWEPT[0]))


MODELS = {
    "A": ("weight:", "A: plain layer, L1", "Weights of the first layer of A, a plain layer trained with L1."),
    "B": ("relevance:", "B: entropy layer, L1", "Relevance in B, the entropy layer trained with L1."),
    "C": (
        "relevance:",
        "C: entropy layer and loss",
        "Relevance in C, the entropy layer with the entropy loss.",
    ),
}
RECOVERED = "recovered:"
N_FORMULAS = 4


def toy(bench: Bench) -> Section:
    """What there is of the toy comparison, under every protocol."""
    protocols = [protocol for protocol in bench.protocols if any(bench.good(Entry(TOY, protocol, m)) for m in MODELS)]
    blocks = tuple(block for protocol in protocols for block in _blocks(bench, protocol))
    return Section("toy", "Toy comparison of entropy and L1", blocks)


def _blocks(bench: Bench, protocol: str) -> list[Block]:
    blocks: list[Block] = []
    for model in MODELS:
        runs = bench.good(Entry(TOY, protocol, model))
        blocks += _heat_map(runs[0], model, protocol) if runs else []
    entry = Entry(TOY, protocol, "C")
    blocks += [table for table in (_recovered(bench, entry), _formulas(bench, entry)) if table.rows]
    return blocks


def _heat_map(run: FoldRun, model: str, protocol: str) -> list[Picture]:
    begins, title, caption = MODELS[model]
    named = {name: text for name, text in run.metrics.items() if name.startswith(begins)}
    places = {tuple(name.split(":", 2)[1:]): float(text) for name, text in named.items()}
    rows, columns = (list(dict.fromkeys(place[axis] for place in places)) for axis in (0, 1))
    if not places:
        return []
    matrix = np.array([[places.get((row, column), np.nan) for column in columns] for row in rows])
    told = f"{caption} Seed {run.fold}."
    return [heat_map_picture(matrix, rows, columns, key=f"toy-{protocol}-{model}", title=title, caption=told)]


def _recovered(bench: Bench, entry: Entry) -> Table:
    """How many of the four formulas each way of extracting finds, seed by seed."""
    runs = bench.good(entry)
    ways = list(dict.fromkeys(name for run in runs for name in run.metrics if name.startswith(RECOVERED)))
    rows = [
        Row(f"seed {run.fold}", tuple(Cell(_of_four(run.metrics.get(way))) for way in ways)) for run in runs if ways
    ]
    if rows:
        whole = [sum(_of_four(run.metrics.get(way)) == f"{N_FORMULAS} of {N_FORMULAS}" for run in runs) for way in ways]
        rows.append(Row("seeds with all four", tuple(Cell(f"{count} of {len(runs)}", best=True) for count in whole)))
    caption = f"Formulas of C that mean what they should, of {N_FORMULAS}, by seed and by how they are extracted."
    heads = [method_title(way.removeprefix(RECOVERED)) for way in ways]
    return Table(f"toy-{entry.protocol}-recovered", caption, ("seed", *heads), tuple(rows))


def _of_four(text: str | None) -> str:
    return NOTHING if text is None else f"{float(text):g} of {N_FORMULAS}"


def _formulas(bench: Bench, entry: Entry) -> Table:
    """The formulas of the first seed, class by class."""
    run = next(iter(bench.good(entry)), None)
    texts = {} if run is None else {n: t for n, t in run.metrics.items() if n.startswith(FORMULA) and n.count(":") > 1}
    ways, classes = (list(dict.fromkeys(name.split(":", 2)[axis] for name in texts)) for axis in (1, 2))
    rows = []
    for klass in classes:
        held = [texts.get(f"{FORMULA}{way}:{klass}") for way in ways]
        found = [None if text is None else bench.formula(entry, text) for text in held]
        cells = [Cell(NOTHING) if f is None else Cell(formula=Shown(f, f.n_literals)) for f in found]
        rows.append(Row(klass, tuple(cells)))
    caption = f"Formulas of C, seed {run.fold if run else 0}."
    heads = [method_title(way) for way in ways]
    return Table(f"toy-{entry.protocol}-formulas", caption, ("class", *heads), tuple(rows), wide=True)
