"""The report of the comparison as Markdown with figures: every table and figure of the paper, from the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lab.pages.charts import heat_map, pareto_chart, save, time_chart
from lab.pages.markdown import NOTHING, Estimate, code, table, write
from lab.pages.names import (
    CLEAN,
    FAMILIES,
    METRICS,
    OURS,
    PROTOCOLS,
    STUDIES,
    WORDS,
    columns_of_paper,
    family,
    method_title,
    task_title,
)
from lab.pages.summary import (
    Bench,
    Entry,
    comparisons,
    fold_words,
    front_words,
    outcomes,
    paper_figures,
    points,
    published,
    published_setting,
)
from lab.runs.paper import SWEEP, TOY
from lab.runs.results import OK
from lab.runs.toy import CONCEPTS
from logiclens.formula.dnf import DNF
from logiclens.formula.text import format_formula
from logiclens.metrics.scores import METRICS as ALL_METRICS
from logiclens.metrics.scores import Metric, metric_named
from logiclens.words import shortened

MOST_LITERALS, MOST_LITERALS_IN_RULES = 12, 60
"""Longer formulas are cut at the end of a cube: in the comparison of methods, and among our rules."""
FAR = 2.0
"""Differences of more combined standard errors than this are marked."""
SWEPT = ("model_accuracy", "explanation_accuracy", "complexity")
VALIDATION = ("validation_accuracy", "validation_explanation_accuracy")
TOY_MODELS = {"A": "A: plain layer, L1: weights", "B": "B: entropy layer, L1: relevance",
              "C": "C: entropy layer and loss: relevance"}  # fmt: skip


def write_report(bench: Bench, folder: Path) -> None:
    parts = [
        "# Benchmark of rule learners",
        "Every method was run on the same folds and measured by the six metrics of the paper. Figures that the paper "
        f"prints are shown beside ours. The paper: {paper_figures()['source']}",
        _header(bench),
    ]
    for protocol in bench.protocols:
        if bench.tasks(protocol):
            parts += [f"## Results under '{protocol}'", f"Protocol '{protocol}': {PROTOCOLS.get(protocol, '')}."]
            parts += [*_six_tables(bench, protocol), *_charts(bench, protocol, folder)]
    parts += [*_reproduction(bench), *_sweeps(bench), *_toy(bench, folder), *_studies(bench)]
    for protocol in bench.protocols:
        if bench.tasks(protocol):
            parts += [f"## Formulas under '{protocol}'", *_formulas(bench, protocol)]
    parts += [*_unfinished(bench), *_notes(bench), *_remarks(bench)]
    write(folder / "report.md", "\n\n".join(parts) + "\n")


def figure_text(estimate: Estimate | None, metric: Metric) -> str:
    """Format a figure as the paper does; short times get more decimals.

    >>> figure_text(Estimate(79.0512, 1.35), metric_named("fidelity"))
    '79.05 ± 1.35'
    >>> figure_text(Estimate(0.00123, None), metric_named("seconds")), figure_text(None, metric_named("seconds"))
    ('0.0012', '–')
    """
    if estimate is None:
        return NOTHING
    is_short = metric.unit == "s" and 0 < estimate.mean < 0.1
    return estimate.text(min(1 - math.floor(math.log10(estimate.mean)), 6) if is_short else 2)


def formula_text(formula: DNF, most: int) -> str:
    """Return the first cubes that have at most so many literals together, but always the first, as code."""
    cubes = list(formula.cubes)
    while len(cubes) > 1 and sum(len(cube) for cube in cubes) > most:
        cubes.pop()
    text = format_formula(DNF(cubes), "unicode")
    return code(text if len(cubes) == len(formula.cubes) else f"{text} ∨ …")


def _header(bench: Bench) -> str:
    runs = [run for runs in bench.entries.values() for run in runs]
    lines = [f"- **finished runs**: {len(runs):,}, of which {sum(run['status'] == OK for run in runs):,} succeeded"]
    return "\n".join([*lines, *(f"- **{name}**: {_words(value)}" for name, value in bench.about.items())])


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_words(inner)}" for name, inner in value.items())
    return str(value)


def _six_tables(bench: Bench, protocol: str) -> Iterator[str]:
    methods = bench.methods(protocol, bench.tasks(protocol))
    for metric in METRICS:
        yield f"### {metric.title}"
        for title, _ in FAMILIES:
            members = [method for method in methods if family(method) == title]
            yield from _table(bench, protocol, metric, title, members)


def _table(bench: Bench, protocol: str, metric: Metric, title: str, members: Sequence[str]) -> Iterator[str]:
    members = [method for method in members if bench.has_rules(method) or not metric.of_rules]
    rows = []
    for task in bench.tasks(protocol):
        if any(bench.runs((task, protocol, method)) for method in members):
            best, paper = (
                _best(bench, task, protocol, metric),
                _published(metric, task, bench.methods(protocol, [task])),
            )
            cells = [_cell(bench, (task, protocol, m), metric, best, paper.get(m)) for m in members]
            rows.append([task_title(task), *cells])
    if not rows or not members:
        return
    direction = "lowest" if metric.lower_is_better else "highest"
    best_words = f"The {direction} figure of all methods is bold"
    if not metric.of_rules:
        best_words = f"The {direction} figures of rule learners and of black boxes are bold; the best of all has a star"
    spread = "" if metric.key == "consistency" else " Figures are mean ± standard error over folds."
    yield (
        f"{metric.title} ({metric.unit}) under '{protocol}', {title}: {metric.definition}.{spread} {best_words}. The "
        "paper's figures are in italics."
    )
    heads = [f"{method_title(m)}{'' if bench.has_rules(m) else ' (black box)'}" for m in members]
    yield table([["task", *heads], *rows])


def _best(bench: Bench, task: str, protocol: str, metric: Metric) -> dict[str, str]:
    figures: dict[str, tuple[bool, float]] = {}
    entries = {method: (task, protocol, method) for method in bench.methods(protocol, [task])}
    most = max((len(bench.good(entry)) for entry in entries.values()), default=0)
    for method, entry in entries.items():
        estimate, has_rules = bench.estimate(entry, metric), bench.has_rules(method)
        if estimate and estimate.n == most and not bench.is_sample(entry) and (has_rules or not metric.of_rules):
            sign = 1 if metric.lower_is_better else -1
            figures[method] = has_rules, sign * float(figure_text(Estimate(estimate.mean, None), metric))
    if not figures:
        return {}
    overall = min(value for _, value in figures.values())
    group = {kind: min((v for of, v in figures.values() if of == kind), default=0.0) for kind in (True, False)}
    return {
        method: "**★" if value == overall and not metric.of_rules else "**"
        for method, (has_rules, value) in figures.items()
        if value == group[has_rules]
    }


def _published(metric: Metric, task: str, methods: Sequence[str]) -> dict[str, Estimate]:
    figures = {}
    for column, method in columns_of_paper(task).items():
        # The first of these methods that was run shows the paper's figures of the entropy network.
        shown = [m for m in ("authors", "paper", "minimal") if m in methods] if column == "entropy_net" else [method]
        if shown and (figure := published(metric.key, task, column)):
            figures[shown[0]] = figure
    return figures


def _cell(bench: Bench, entry: Entry, metric: Metric, best: dict[str, str], paper: Estimate | None) -> str:
    estimate, mark = bench.estimate(entry, metric), best.get(entry[2], "")
    lines = [] if paper is None else [f"*paper {figure_text(paper, metric)}*"]
    if estimate is None:
        status = "; ".join(shortened(words, 60) for words in outcomes(bench.runs(entry)))
        return "<br>".join([NOTHING if bench.good(entry) else status or "not run", *lines])
    text = figure_text(estimate, metric)
    # What stands below a figure, so that nobody is misled by it.
    for companion in ALL_METRICS:
        if metric.key in companion.below and (below := bench.estimate(entry, companion)):
            lines.append(f"{companion.label} {below.mean:.{companion.decimals}f}")
    agreed = bench.consistency(entry) if metric.key == "consistency" else None
    if agreed and agreed.left_out:
        lines.append(f"left out {agreed.left_out} without concepts")
    if estimate.n < bench.planned:
        words = [f"{n} {shortened(status, 60)}" for status, n in outcomes(bench.runs(entry)).items()]
        lines.append("; ".join([f"folds {estimate.n} of {bench.planned}", *words]))
    return "<br>".join([f"**{text}**{mark[2:]}" if mark else text, *lines])


def _charts(bench: Bench, protocol: str, folder: Path) -> Iterator[str]:
    yield "### Length against error"
    yield (
        "Down and to the left is better. Bars are standard errors over folds. The dotted line joins the methods that "
        "no other dominates. Hollow markers are the paper's own figures."
    )
    for task in bench.tasks(protocol):
        if listed := points(bench, task, protocol):
            name = f"pareto-{protocol}-{task}.svg"
            save(pareto_chart(task, listed), folder / name)
            yield f"![Literals against explanation error on {task_title(task)}]({name})"
            yield f"{task_title(task)} under '{protocol}'. {front_words(listed)}"
    times: dict[str, dict[str, Estimate]] = {}
    for method in bench.methods(protocol, bench.tasks(protocol)):
        for task in bench.tasks(protocol):
            if estimate := bench.estimate((task, protocol, method), "seconds"):
                times.setdefault(method, {})[task] = estimate
    save(time_chart(times), folder / f"time-{protocol}.svg")
    yield "### Time"
    yield f"![Seconds of every method on every task](time-{protocol}.svg)"
    yield f"Seconds to train and to extract under '{protocol}'. Hollow markers are the paper's, on another machine."


def _reproduction(bench: Bench) -> Iterator[str]:
    compared = {metric: pairs for metric in METRICS if (pairs := comparisons(bench, metric))}
    apart = [ours.apart(theirs) for pairs in compared.values() for *_, ours, theirs in pairs]
    judged = [value for value in apart if value is not None]
    if not compared:
        return
    yield "## Reproduction"
    yield (
        f"Of {len(judged)} figures with a standard error on both sides, {sum(abs(v) <= FAR for v in judged)} lie "
        f"within {FAR:g} combined standard errors of the paper's. Times were measured on other machines, so their "
        "differences say little."
    )
    for metric, pairs in compared.items():
        rows = [["task", "method", "ours", "the paper", "difference", "in standard errors"]]
        for task, method, ours, theirs in pairs:
            value = ours.apart(theirs)
            far = "" if value is None else f"{value:+.1f}{' ◀' if abs(value) > FAR else ''}".replace("inf", "∞")
            figures = [figure_text(one, metric) for one in (ours, theirs)]
            rows.append([task_title(task), method_title(method), *figures, f"{ours.mean - theirs.mean:+.2f}", far])
        yield (
            f"{metric.title} ({metric.unit}) under 'paper' compared with the paper "
            f"({paper_figures()['tables'][metric.key]['source']}). ◀ marks differences above {FAR:g} standard errors."
        )
        yield table(rows)


def chosen_setting(bench: Bench, task: str, protocol: str) -> str | None:
    sums = {}
    for method in _settings(bench, task, protocol):
        means = [Estimate.of(bench.values((task, protocol, method), name)) for name in VALIDATION]
        if all(means):
            sums[method] = sum(mean.mean for mean in means if mean)
    return max(sums, key=lambda method: sums[method]) if sums else None


def _settings(bench: Bench, task: str, protocol: str) -> list[str]:
    methods = {method for of, under, method in bench.entries if (of, under) == (task, protocol)}
    return sorted(methods, key=lambda method: [float(part.split("=")[1]) for part in method.split()])


def _sweeps(bench: Bench) -> Iterator[str]:
    grids = sorted({(task, protocol) for task, protocol, _ in bench.entries if task.startswith(SWEEP)})
    if grids:
        yield "## Sweep of settings"
    for task, protocol in grids:
        chosen, base = chosen_setting(bench, task, protocol), task.removeprefix(SWEEP)
        heads = [f"{metric_named(name).name} ({metric_named(name).unit})" for name in (*SWEPT, *VALIDATION)]
        rows = [["setting", *heads]]
        for method in _settings(bench, task, protocol):
            entry, theirs = (task, protocol, method), published_setting(base, method)
            cells = []
            for name in (*SWEPT, *VALIDATION):
                metric = metric_named(name)
                paper = f"<br>*paper {figure_text(theirs[name], metric)}*" if name in theirs else ""
                cells.append(figure_text(bench.estimate(entry, metric), metric) + paper)
            rows.append([f"{method} ← chosen" if method == chosen else method, *cells])
        yield (
            f"Settings on {task_title(base)} under '{protocol}', mean ± standard error over folds. The chosen setting "
            "has the largest sum of model and explanation accuracy on the validation rows. The paper's figures are in "
            f"italics ({paper_figures()['sweep']['source']})."
        )
        yield table(rows)


def _toy(bench: Bench, folder: Path) -> Iterator[str]:
    runs = {model: bench.good((TOY, "paper", model)) for model in TOY_MODELS}
    if not runs["C"]:
        return
    yield "## Toy comparison of entropy and L1"
    for model, title in TOY_MODELS.items():
        for run in runs[model][:1]:
            save(heat_map(run["matrix"], run["rows"], CONCEPTS, title), folder / f"toy-{model}.svg")
            yield f"![{title}](toy-{model}.svg)"
    ways = list(runs["C"][0]["recovered"])
    rows = [[f"seed {run['fold']}", *(f"{run['recovered'][way]} of 4" for way in ways)] for run in runs["C"]]
    whole = [f"**{sum(run['recovered'][way] == 4 for run in runs['C'])} of {len(rows)}**" for way in ways]
    heads = [method_title(way) for way in ways]
    yield "Correct formulas of C, of 4, by seed and extraction method."
    yield table([["seed", *heads], *rows, ["seeds with all four", *whole]])
    formulas = runs["C"][0]["formulas"]
    rows = [[klass, *(code(formulas[way][klass]) for way in ways)] for klass in formulas[ways[0]]]
    yield f"Formulas of C, seed {runs['C'][0]['fold']}."
    yield table([["class", *heads], *rows])


def _stated(bench: Bench, entry: Entry) -> list[dict[str, Any]]:
    return [line for line in bench.good(entry) if line.get("formulas")]


def _studies(bench: Bench) -> Iterator[str]:
    yield "## Case studies"
    for task in STUDIES:
        entries = [(task, protocol, OURS) for protocol in sorted(bench.protocols, key=lambda p: p != CLEAN)]
        for entry in [entry for entry in entries if _stated(bench, entry)][:1]:
            run = _stated(bench, entry)[0]
            exact = run.get("fidelity") == 1.0
            rows = [["class", "rule", "literals"]]
            for klass, text in list(run["formulas"].items())[:4]:
                formula = bench.formula(text)
                shown = formula_text(formula, MOST_LITERALS_IN_RULES).strip("`")
                rows.append([klass, code(f"∀x: {klass}(x) {'↔' if exact else '≈'} {shown}"), str(formula.n_literals)])
            yield f"### {task_title(task)}"
            yield (
                f"{method_title(OURS)}, under '{entry[1]}', fold {run['fold']}; over all classes, formulas and network "
                f"agree on {100 * run.get('fidelity', math.nan):.1f}% of unseen rows."
            )
            yield table(rows)


def _formulas(bench: Bench, protocol: str) -> Iterator[str]:
    for task in bench.tasks(protocol):
        entries = [(task, protocol, method) for method in bench.methods(protocol, [task])]
        texts = {entry: stated[0]["formulas"] for entry in entries if (stated := _stated(bench, entry))}
        if not texts:
            continue
        klass = next(iter(next(iter(texts.values()))))
        rows = [["method", "formula", "literals"]]
        for entry in (entry for entry in texts if klass in texts[entry]):
            formula = bench.formula(texts[entry][klass])
            rows.append([method_title(entry[2]), formula_text(formula, MOST_LITERALS), str(formula.n_literals)])
        yield f"{task_title(task)} under '{protocol}': the formula of '{klass}' on the first fold of each method."
        yield table(rows)


def _grouped(stated: Iterable[tuple[Entry, int, str]]) -> list[list[str]]:
    groups: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    for (task, protocol, method), fold, text in stated:
        title = f"{task_title(task)}{', sweep' if task.startswith(SWEEP) else ''}"
        groups.setdefault((method_title(method), protocol, text), {}).setdefault(title, []).append(fold)
    return [
        [*key, "; ".join(f"{task} {fold_words(folds)}" for task, folds in places.items())]
        for key, places in groups.items()
    ]


def _unfinished(bench: Bench) -> Iterator[str]:
    failed = ((e, run["fold"], run["status"]) for e, runs in bench.entries.items() for run in runs)
    if rows := _grouped(run for run in failed if run[2] != OK):
        yield "## Runs that failed, were stopped or skipped"
        yield table([["method", "protocol", "status", "tasks and folds"], *rows])


def _notes(bench: Bench) -> Iterator[str]:
    notes = ((e, run["fold"], run["note"]) for e, runs in bench.entries.items() for run in runs if run.get("note"))
    if rows := _grouped(notes):
        yield "## Notes of the methods on their own runs"
        yield table([["method", "protocol", "note", "tasks and folds"], *rows])


def _remarks(bench: Bench) -> Iterator[str]:
    ran = {(task, protocol) for protocol in bench.protocols for task in bench.tasks(protocol)}
    remarks = [
        f"- {task_title(task)}{'' if protocol is None else f' under {protocol!r}'}: {text}"
        for task, protocol, text in WORDS["remarks"]
        if any(task == t and protocol in (None, p) for t, p in ran)
    ]
    yield "## Remarks"
    yield "\n".join(remarks)
    yield "The protocol 'paper' and the method 'Entropy net, the authors' scripts' follow the choices of the scripts:"
    yield table([["", *map(task_title, WORDS["script_columns"])], *WORDS["script_table"]])
    yield "\n".join(f"- {text}" for text in WORDS["script_remarks"])
