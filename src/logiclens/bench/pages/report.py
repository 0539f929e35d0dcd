"""The benchmark report: everything it says and draws comes from the tidy table of results."""

from __future__ import annotations

import re
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from logiclens.bench.pages.blocks import Block, Cell, Document, Facts, Paragraph, Picture, Points, Section, Table, slug
from logiclens.bench.pages.figures import INK, LINE, MUTED, pareto_picture, time_picture
from logiclens.bench.pages.latex import latex
from logiclens.bench.pages.names import METRICS, PROTOCOLS, task_title
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
from logiclens.report.measurement import write_whole
from logiclens.report.page import require_report

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_OF_PAGE = {INK: "var(--ink)", MUTED: "var(--muted)", LINE: "var(--line)"}
_DROPPED = (
    # What only a file of its own needs. A style inside a drawing would hold for the whole page.
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
    re.compile(r"<style[^>]*>.*?</style>", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    # Groups are numbered anew in every drawing; what is referred to has no such name.
    re.compile(r' id="[A-Za-z0-9.]+_\d+"'),
)


def page(document: Document) -> str:
    """The page, as HTML text: it loads and runs nothing, and shows names as they are, markup included."""
    jinja2 = require_report()
    pages = jinja2.Environment(
        loader=jinja2.DictLoader({"bench_page.html": _file("bench_page.html")}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    raw = jinja2.utils.markupsafe.Markup
    pages.filters.update(slug=slug, kind=_kind, drawing=lambda picture: raw(drawing(picture)))
    style = raw(_file("page.css", "logiclens.report") + _file("bench_page.css"))
    text: str = pages.get_template("bench_page.html").render(document=document, policy=_POLICY, style=style)
    return text


def drawing(picture: Picture) -> str:
    """A figure as an SVG element in the colours and the font of the page, named for those who cannot see it."""
    text = picture.svg[picture.svg.index("<svg") :]
    for pattern in _DROPPED:
        text = pattern.sub("", text)
    for drawn, of_page in _OF_PAGE.items():
        text = text.replace(drawn, of_page)
    text = re.sub(r"font: ([^;\"]*?)(?:'DejaVu Sans'|DejaVu Sans)[^;\"]*", r"font: \1var(--sans)", text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    opening, closing, rest = text.partition(">")
    opening = re.sub(r'(width|height)="([\d.]+)pt"', _in_pixels, opening)
    return f'{opening} role="img" aria-label="{escape(picture.label)}"{closing}{rest.strip()}'


def _in_pixels(match: re.Match[str]) -> str:
    return f'{match[1]}="{float(match[2]) * 4 / 3:.0f}"'


def _kind(block: Any) -> str:
    return type(block).__name__


def _file(name: str, package: str | None = __package__) -> str:
    return resources.files(package or "").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&#])")


def markdown(document: Document) -> str:
    """The whole report; figures are the SVG files beside it."""
    parts = [f"# {escaped(document.title)}", escaped(document.lead), _block(document.facts)]
    parts += [text for section in document.sections for text in _section(section, 2)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    r"""A text that Markdown shows as it is, on one line.

    >>> print(escaped("a_b | <c>"))
    a\_b \| \<c\>
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _section(section: Section, level: int) -> list[str]:
    inner = [text for part in section.sections for text in _section(part, level + 1)]
    return [f"{'#' * level} {escaped(section.title)}", *(_block(block) for block in section.blocks), *inner]


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Picture):
        return f"![{escaped(block.label)}]({block.file}.svg)\n\n{escaped(block.caption)}"
    if isinstance(block, Paragraph):
        return escaped(block.text)
    if isinstance(block, Points):
        return "\n".join(f"- {escaped(item)}" for item in block.items)
    return _facts(block)


def _facts(facts: Facts) -> str:
    return "\n".join(f"- **{escaped(name)}**: {escaped(value)}" for name, value in facts.pairs)


def _table(table: Table) -> str:
    lines = [
        _line([escaped(column) for column in table.columns]),
        _line(["---"] * len(table.columns)),
        *(_line([escaped(row.head), *(_cell(cell) for cell in row.cells)]) for row in table.rows),
    ]
    return f"{escaped(table.caption)}\n\n" + "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = escaped(cell.text) if cell.formula is None else _code(cell.formula.text)
    if cell.best and text:
        text = f"**{text}**"
    if cell.star:
        text += " ★"
    small = [_small(label, told) for label, told in cell.lines]
    return "<br>".join([text, *small])


def _small(label: str, told: str) -> str:
    words = f"{escaped(label)} {escaped(told)}"
    return f"*{words}*" if label == "paper" else words


def _code(text: str) -> str:
    """A formula between as many backticks as it needs; a bar would end the cell even there."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}"


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
