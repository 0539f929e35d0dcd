"""The benchmark report as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from html import escape
from importlib import resources
from typing import Any

from logiclens.report.bench_blocks import Document, Picture, slug
from logiclens.report.bench_figures import INK, LINE, MUTED
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
    style = raw(_file("page.css") + _file("bench_page.css"))
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


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")
