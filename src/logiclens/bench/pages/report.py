"""The benchmark report: a document computed from the table of results, written as Markdown, LaTeX and HTML."""

from __future__ import annotations

from pathlib import Path

from logiclens.bench.pages.charts import pareto_chart, time_chart
from logiclens.bench.pages.document import Block, Document, Paragraph, Section
from logiclens.bench.pages.markup import LANGUAGES, render
from logiclens.bench.pages.names import PROTOCOLS, task_title
from logiclens.bench.pages.sections import (
    case_studies,
    comparison,
    header_facts,
    notes,
    remarks,
    reproduction,
    rule_tables,
    sweeps,
    toy,
    unfinished,
)
from logiclens.bench.pages.summary import Bench, Entry, Estimate, front_words, points, read_bench
from logiclens.bench.pages.tables import six_tables
from logiclens.bench.runs.published import paper_figures
from logiclens.errors import LogicLensError
from logiclens.metrics.scores import metric_named
from logiclens.report.page import require_report
from logiclens.storage import write_whole

FOLDER, NAME = "report", "report"


def write_bench_report(folder: Path) -> tuple[Path, ...]:
    """Write the report on a folder of results into its folder `report`; return the files written.

    The same table gives the same bytes. Only the table of results and its header are read.
    """
    require_report()
    document = bench_document(read_bench(folder))
    files = {f"{NAME}.{language}": render(document, language).encode("utf-8") for language in LANGUAGES}
    for chart in (chart for section in document.sections for chart in section.charts):
        files |= {f"{chart.file}.svg": chart.svg.encode("utf-8"), f"{chart.file}.png": chart.png}
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        first = folder / FOLDER / f"{NAME}.{LANGUAGES[0]}"
        raise LogicLensError(f"cannot write {first}: {error.strerror or error}.") from None
    return tuple(write_whole(folder / FOLDER / name, content) for name, content in files.items())


def bench_document(bench: Bench) -> Document:
    """Compute the content of the report."""
    sections = (
        *(_protocol(bench, protocol) for protocol in bench.protocols),
        reproduction(bench),
        sweeps(bench),
        toy(bench),
        case_studies(bench),
        *(_formulas(bench, protocol) for protocol in bench.protocols),
        unfinished(bench),
        notes(bench),
        remarks(bench),
    )
    lead = (
        "Every method was run on the same folds and measured by the six metrics of the paper. Figures that the paper "
        f"prints are shown beside ours. The paper: {paper_figures().source}"
    )
    kept = tuple(pruned for section in sections if (pruned := section.pruned()))
    return Document("Benchmark of rule learners", lead, header_facts(bench), kept)


def _protocol(bench: Bench, protocol: str) -> Section:
    title = f"Results under '{protocol}'"
    if not bench.tasks(protocol):
        return Section(protocol, title)
    meaning = PROTOCOLS.get(protocol)
    intro = (Paragraph(f"Protocol '{protocol}': {meaning}."),) if meaning else ()
    sections = (*six_tables(bench, protocol), _pareto(bench, protocol), _times(bench, protocol))
    return Section(f"results-{protocol}", title, intro, sections)


def _pareto(bench: Bench, protocol: str) -> Section:
    charts: list[Block] = []
    for task in bench.tasks(protocol):
        if found := points(bench, task, protocol):
            caption = f"{task_title(task)} under '{protocol}'. {front_words(found)}"
            charts.append(pareto_chart(task, protocol, found, caption))
    intro = Paragraph(
        "Down and to the left is better. Bars are standard errors over folds. The dotted line joins the methods that "
        "no other dominates; their names are bold. Hollow markers are the paper's own figures."
    )
    return Section(f"{protocol}-pareto", "Length against error", (intro, *charts) if charts else ())


def _times(bench: Bench, protocol: str) -> Section:
    tasks = bench.tasks(protocol)
    times: dict[str, dict[str, Estimate]] = {}
    for method in bench.methods(protocol, tasks):
        for task in tasks:
            if estimate := bench.estimate(Entry(task, protocol, method), metric_named("seconds")):
                times.setdefault(method, {})[task] = estimate
    caption = f"Seconds to train and to extract under '{protocol}'. Hollow markers are the paper's, on another machine."
    return Section(f"{protocol}-time", "Time", (time_chart(protocol, times, caption),) if times else ())


def _formulas(bench: Bench, protocol: str) -> Section:
    sections = (comparison(bench, protocol), rule_tables(bench, protocol))
    return Section(f"rules-{protocol}", f"Formulas under '{protocol}'", sections=sections)
