"""The formulas themselves: the case studies, one formula of every method, and every rule of ours."""

from __future__ import annotations

from dataclasses import replace

from logiclens.formula.dnf import DNF
from logiclens.report.bench_blocks import Block, Cell, Paragraph, Row, Section, Shown, Table
from logiclens.report.bench_names import CLEAN, OURS, STUDIES, method_title, task_title
from logiclens.report.bench_summary import Bench, Entry, FoldRun

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
    known = f"; over all classes, formulas and network agree on {100 * fidelity:.1f}% of unseen rows"
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
