"""The benchmark report as Markdown, with tables as GitHub reads them."""

from __future__ import annotations

import re

from logiclens.report.bench_blocks import Block, Cell, Document, Facts, Paragraph, Picture, Points, Section, Table

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
