"""The benchmark report: a document computed from the table of results, written as Markdown, LaTeX and HTML.

Each language has a Jinja template that escapes every expression (`finalize`), so names may hold any character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from textwrap import wrap
from typing import Any

from lab.pages.charts import INK, LINE, MUTED, pareto_chart, time_chart
from lab.pages.document import Block, Chart, Document, Paragraph, Section, ShownFormula, Table, slug
from lab.pages.names import PROTOCOLS, task_title
from lab.pages.sections import (
    case_studies,
    comparison,
    header_facts,
    notes,
    remarks,
    reproduction,
    rule_tables,
    six_tables,
    sweeps,
    toy,
    unfinished,
)
from lab.pages.summary import Bench, Entry, Estimate, front_words, points, read_bench
from lab.runs.paper_figures import paper_figures
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import Literal
from logiclens.formula.text import format_formula
from logiclens.metrics.scores import metric_named
from logiclens.storage import write_whole

LANGUAGES = ("md", "tex", "html")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_LATEX_DELIMITERS = {
    "block_start_string": "<%", "block_end_string": "%>", "variable_start_string": "<<", "variable_end_string": ">>",
    "comment_start_string": "<#", "comment_end_string": "#>",
}  # fmt: skip
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&#])")
_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
}  # fmt: skip
_LATEX_SYMBOLS = {
    "±": r"\pm", "≥": r"\geq", "≤": r"\leq", "≠": r"\neq", "≈": r"\approx", "τ": r"\tau", "λ": r"\lambda", "ψ": r"\psi",
    "∞": r"\infty", "◀": r"\triangleleft", "←": r"\leftarrow", "→": r"\rightarrow", "★": r"\star", "…": r"\dots",
    "∧": r"\land", "∨": r"\lor", "¬": r"\lnot", "−": "-",
}  # fmt: skip
_PAGE_COLOURS = {INK: "var(--ink)", MUTED: "var(--muted)", LINE: "var(--line)"}
_DROPPED_FROM_SVG = (
    # Only a file of its own needs these. A style element in a chart would apply to the whole page.
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
    re.compile(r"<style[^>]*>.*?</style>", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    # These ids repeat in every chart, and nothing refers to them.
    re.compile(r' id="[A-Za-z0-9.]+_\d+"'),
)


def render(document: Document, language: str) -> str:
    """Return the report in one of `LANGUAGES`. The HTML page loads nothing and runs no script."""
    import jinja2
    from markupsafe import Markup

    # What is marked as safe here was escaped by the functions of each language, or is a file of this package.
    raw: Callable[[str], Any] = Markup

    escapes = {"md": markdown_text, "tex": latex_text}

    def marked_up(function: Callable[[Any], str]) -> Callable[[Any], Any]:
        return lambda value: value if isinstance(value, Markup) else raw(function(value))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lab.pages", "."),
        autoescape=True,
        finalize=marked_up(escapes[language]) if language in escapes else None,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **(_LATEX_DELIMITERS if language == "tex" else {}),  # type: ignore[arg-type]
    )
    filters: dict[str, Callable[[Any], str]] = {
        "slug": slug,
        "code": code_span,
        "formula": latex_formula,
        "svg": inline_svg,
        "raw": str,
    }
    environment.filters.update({name: marked_up(function) for name, function in filters.items()})
    environment.filters.update(kind=lambda block: type(block).__name__, wrapped=lambda text: wrap(text, 16))
    environment.filters["widths"] = column_widths
    style = raw(_file("page.css", "logiclens.report") + _file("report.css"))
    template = environment.get_template(f"report.{language}.jinja")
    text: str = template.render(document=document, policy=_POLICY, style=style)
    return text


def markdown_text(text: str) -> str:
    r"""Escape a text for Markdown and put it on one line.

    >>> print(markdown_text("a_b | <c>"))
    a\_b \| \<c\>
    """
    return _MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def code_span(text: str) -> str:
    """Put a text between as many backticks as it needs, and escape bars, which would end a table cell even there."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}"


def latex_text(text: str) -> str:
    r"""Escape a text for LaTeX and put it on one line.

    >>> print(latex_text("50% of a_b ± 2"))
    50\% of a\_b \ensuremath{\pm} 2
    """
    return _latex_symbols("".join(_LATEX_ESCAPES.get(letter, letter) for letter in " ".join(str(text).split())))


def latex_formula(shown: ShownFormula) -> str:
    """Return a formula in math mode."""
    body = _latex_symbols(format_formula(shown.formula, "latex"))
    if shown.is_cut:
        body += r" \lor \dots"
    if shown.head is not None:
        name = _latex_symbols(format_formula(Literal(shown.head or "class"), "latex"))
        body = rf"{name} {chr(92)}{'leftrightarrow' if shown.equal else 'approx'} {body}"
    return f"${body}$"


def column_widths(table: Table) -> list[str]:
    """Return the width of each column of a long LaTeX table as a share of the line, by its longest text."""
    texts: list[Sequence[str]] = [table.columns]
    texts += [[row.head, *(cell.plain for cell in row.cells)] for row in table.rows]
    longest = [min(max(max(len(text) for text in column), 7), 60) for column in zip(*texts, strict=True)]
    return [f"{0.86 * length / sum(longest):.3f}" for length in longest]


def inline_svg(chart: Chart) -> str:
    """Return a chart as an SVG element in the colours and the font of the page, with its label for screen readers."""
    text = chart.svg[chart.svg.index("<svg") :]
    for pattern in _DROPPED_FROM_SVG:
        text = pattern.sub("", text)
    for colour, variable in _PAGE_COLOURS.items():
        text = text.replace(colour, variable)
    text = re.sub(r"font: ([^;\"]*?)(?:'DejaVu Sans'|DejaVu Sans)[^;\"]*", r"font: \1var(--sans)", text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    opening, closing, rest = text.partition(">")
    opening = re.sub(r'(width|height)="([\d.]+)pt"', lambda m: f'{m[1]}="{float(m[2]) * 4 / 3:.0f}"', opening)
    return f'{opening} role="img" aria-label="{escape(chart.label)}"{closing}{rest.strip()}'


def _latex_symbols(text: str) -> str:
    return "".join(rf"\ensuremath{{{_LATEX_SYMBOLS[c]}}}" if c in _LATEX_SYMBOLS else c for c in text)


def _file(name: str, package: str = "lab.pages") -> str:
    return resources.files(package).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


FOLDER, NAME = "report", "report"


def write_bench_report(folder: Path) -> tuple[Path, ...]:
    """Write the report on a folder of results into its folder `report`; return the files written.

    The same table gives the same bytes. Only the table of results and its header are read.
    """
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
