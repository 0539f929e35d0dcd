"""The benchmark report: everything it says and draws comes from the tidy table of results."""

from __future__ import annotations

from pathlib import Path

from logiclens.errors import LogicLensError
from logiclens.experiments.published import paper_figures
from logiclens.report.bench_blocks import Block, Document, Paragraph, Picture, Section
from logiclens.report.bench_figures import pareto_picture, time_picture
from logiclens.report.bench_formulas import case_studies, comparison, rule_tables
from logiclens.report.bench_front import front_words, points
from logiclens.report.bench_latex import latex
from logiclens.report.bench_markdown import markdown
from logiclens.report.bench_names import METRICS, PROTOCOLS, task_title
from logiclens.report.bench_page import page
from logiclens.report.bench_remarks import header_facts, notes, remarks, unfinished
from logiclens.report.bench_reproduction import reproduction, sweeps
from logiclens.report.bench_summary import Bench, Entry, Estimate, read_bench
from logiclens.report.bench_tables import six_tables
from logiclens.report.bench_toy import toy
from logiclens.report.page import require_report
from logiclens.report.written import write_whole

FOLDER, NAME = "report", "report"


def write_bench_report(folder: Path) -> tuple[Path, ...]:
    """Write the report of a folder of results into its folder `report`, and say which files were written.

    The same table gives the same bytes. Nothing is measured here, and nothing but the table and its header is read.
    """
    require_report()
    document = bench_document(read_bench(folder))
    files: dict[str, str | bytes] = {
        f"{NAME}.md": markdown(document),
        f"{NAME}.tex": latex(document),
        f"{NAME}.html": page(document),
    }
    for drawn in document.pictures:
        files |= {f"{drawn.file}.svg": drawn.svg, f"{drawn.file}.png": drawn.png}
    return tuple(_written(folder / FOLDER, name, held) for name, held in files.items())


def bench_document(bench: Bench) -> Document:
    """The report before it is written in any language."""
    parts = [
        *(_protocol(bench, protocol) for protocol in bench.protocols),
        reproduction(bench),
        sweeps(bench),
        toy(bench),
        case_studies(bench),
        *(_formulas(bench, protocol) for protocol in bench.protocols),
        unfinished(bench),
        notes(bench),
        remarks(bench),
    ]
    lead = (
        "Every method on the same folds, with the six metrics of the paper; where the paper prints a figure, it stands "
        f"beside ours. The paper: {paper_figures().source}"
    )
    sections = tuple(part for part in parts if not part.is_empty)
    return Document("Benchmark of rule learners", lead, header_facts(bench), sections)


def _protocol(bench: Bench, protocol: str) -> Section:
    tasks = bench.tasks(protocol)
    title = f"Results under '{protocol}'"
    if not tasks:
        return Section(protocol, title)
    meaning = PROTOCOLS.get(protocol)
    told = (Paragraph(f"Protocol '{protocol}': {meaning}."),) if meaning else ()
    inner = (*six_tables(bench, protocol).sections, _pareto(bench, protocol), _times(bench, protocol))
    return Section(f"results-{protocol}", title, told, tuple(part for part in inner if not part.is_empty))


def _pareto(bench: Bench, protocol: str) -> Section:
    blocks: list[Block] = []
    for task in bench.tasks(protocol):
        found = points(bench, task, protocol)
        if found:
            caption = f"{task_title(task)} under '{protocol}'. {front_words(found)}"
            blocks.append(pareto_picture(task, protocol, found, caption))
    told = Paragraph(
        "Down and to the left is better. Bars are standard errors over folds; the dotted line joins the methods that "
        "no other beats in both, whose names are bold; hollow marks are the paper's own figures."
    )
    return Section(f"{protocol}-pareto", "Length against error", (told, *blocks) if blocks else ())


def _times(bench: Bench, protocol: str) -> Section:
    seconds = METRICS[-1]
    tasks = bench.tasks(protocol)
    times: dict[str, dict[str, Estimate]] = {}
    for method in bench.methods(protocol, tasks):
        for task in tasks:
            estimate = bench.estimate(Entry(task, protocol, method), seconds)
            if estimate:
                times.setdefault(method, {})[task] = estimate
    caption = f"Seconds to train and to extract, under '{protocol}'; hollow marks are the paper's, on another machine."
    drawn: tuple[Picture, ...] = (time_picture(protocol, times, caption),) if times else ()
    return Section(f"{protocol}-time", "Time", drawn)


def _formulas(bench: Bench, protocol: str) -> Section:
    inner = (comparison(bench, protocol), rule_tables(bench, protocol))
    kept = tuple(part for part in inner if not part.is_empty)
    return Section(f"rules-{protocol}", f"Formulas under '{protocol}'", sections=kept)


def _written(folder: Path, name: str, held: str | bytes) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogicLensError(f"cannot write {folder / name}: {error.strerror or error}.") from None
    return write_whole(folder / name, held if isinstance(held, bytes) else held.encode("utf-8"))
