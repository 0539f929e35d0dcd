"""The benchmark report as LaTeX: tables with booktabs, to be put into a document of one's own."""

from __future__ import annotations

from textwrap import wrap

from logiclens.bench.pages.blocks import (
    Block,
    Cell,
    Document,
    Facts,
    Paragraph,
    Picture,
    Points,
    Row,
    Section,
    Shown,
    Table,
    slug,
)
from logiclens.formula.dnf import Literal
from logiclens.formula.text import format_formula

_PREAMBLE = r"""% Put this into a document with \input. Its preamble needs:
%   \usepackage[T1]{fontenc}
%   \usepackage{amsmath, array, booktabs, graphicx, longtable, textcomp}
% The figures are the PNG files beside this one; say \graphicspath where they are elsewhere."""
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
}  # fmt: skip
_SYMBOLS = {
    "±": r"\pm", "≥": r"\geq", "≤": r"\leq", "≠": r"\neq", "≈": r"\approx", "τ": r"\tau", "λ": r"\lambda", "ψ": r"\psi",
    "∞": r"\infty", "◀": r"\triangleleft", "←": r"\leftarrow", "→": r"\rightarrow", "★": r"\star", "…": r"\dots",
    "∧": r"\land", "∨": r"\lor", "¬": r"\lnot", "−": "-",
}  # fmt: skip
_MOST_FLOATS = 10
"""LaTeX gives up when too many floats wait for a page: after so many, they are all set."""
_HEAD_WIDTH = 16
"""Letters of a line in the head of a column."""
_COMMANDS = {1: "section", 2: "subsection", 3: "subsubsection"}


def latex(document: Document) -> str:
    """The whole report as a fragment."""
    parts = [_PREAMBLE, rf"\section*{{{tex(document.title)}}}", tex(document.lead), _facts(document.facts)]
    parts += [text for section in document.sections for text in _section(section, 1)]
    return "\n\n".join(parts) + "\n"


def tex(text: str) -> str:
    r"""A text that LaTeX sets as it is.

    >>> print(tex("50% of a_b ± 2"))
    50\% of a\_b \ensuremath{\pm} 2
    """
    return _symbols("".join(_ESCAPES.get(letter, letter) for letter in " ".join(text.split())))


def _symbols(text: str) -> str:
    return "".join(rf"\ensuremath{{{_SYMBOLS[letter]}}}" if letter in _SYMBOLS else letter for letter in text)


def _section(section: Section, level: int) -> list[str]:
    parts, floats = [rf"\{_COMMANDS[min(level, 3)]}*{{{tex(section.title)}}}"], 0
    for block in section.blocks:
        parts.append(_block(block))
        floats += isinstance(block, Picture) or (isinstance(block, Table) and not block.wide)
        if floats == _MOST_FLOATS:
            parts.append(r"\clearpage")
            floats = 0
    if floats:
        parts.append(r"\clearpage")
    return parts + [text for part in section.sections for text in _section(part, level + 1)]


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _long(block) if block.wide else _floating(block)
    if isinstance(block, Picture):
        return "\n".join([
            r"\begin{figure}[htbp]", r"\centering", rf"\includegraphics[width=0.8\linewidth]{{{block.file}.png}}",
            rf"\caption{{{tex(block.caption)}}}", rf"\label{{fig:{slug(block.key)}}}", r"\end{figure}",
        ])  # fmt: skip
    if isinstance(block, Paragraph):
        return tex(block.text)
    if isinstance(block, Points):
        return _list("itemize", [rf"\item {tex(item)}" for item in block.items])
    return _facts(block)


def _facts(facts: Facts) -> str:
    return _list("description", [rf"\item[{{{tex(name)}}}] {tex(value)}" for name, value in facts.pairs])


def _list(kind: str, items: list[str]) -> str:
    return "\n".join([rf"\begin{{{kind}}}", *items, rf"\end{{{kind}}}"])


def _floating(table: Table) -> str:
    heads = [_head(column) for column in table.columns]
    return "\n".join([
        r"\begin{table}[htbp]", r"\centering", rf"\caption{{{tex(table.caption)}}}",
        rf"\label{{tab:{slug(table.key)}}}",
        # Shrunk where it is wider than the page, and never blown up.
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}", r"\toprule", _line(heads), r"\midrule",
        *(line for row in table.rows for line in _lines(row)), r"\bottomrule", r"\end{tabular}}", r"\end{table}",
    ])  # fmt: skip


def _long(table: Table) -> str:
    """A table with formulas or sentences: it breaks over pages, and its columns wrap."""
    shares = _shares(table)
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{share:.3f}\linewidth}}" for share in shares)
    head = [r"\toprule", _line([tex(column) for column in table.columns]), r"\midrule"]
    return "\n".join([
        rf"\begin{{longtable}}{{{columns}}}", rf"\caption{{{tex(table.caption)}}}\label{{tab:{slug(table.key)}}}\\",
        *head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot",
        *(line for row in table.rows for line in _lines(row)), r"\end{longtable}",
    ])  # fmt: skip


def _shares(table: Table) -> list[float]:
    """How wide each column of a long table is, by its longest text."""
    texts = [table.columns, *([row.head, *(_plain(cell) for cell in row.cells)] for row in table.rows)]
    longest = [min(max(max(len(text) for text in column), 7), 60) for column in zip(*texts, strict=True)]
    return [0.86 * length / sum(longest) for length in longest]


def _plain(cell: Cell) -> str:
    return cell.text if cell.formula is None else cell.formula.text


def _head(column: str) -> str:
    return rf"\shortstack[l]{{{(chr(92) * 2).join(tex(line) for line in wrap(column, _HEAD_WIDTH))}}}"


def _lines(row: Row) -> list[str]:
    """The figures, then a line for each kind of small print that any cell of the row has."""
    lines = [_line([tex(row.head), *(_cell(cell) for cell in row.cells)])]
    for label in dict.fromkeys(label for cell in row.cells for label, _ in cell.lines):
        told = [" ".join(text for name, text in cell.lines if name == label) for cell in row.cells]
        lines.append(_line([rf"\quad\textit{{{tex(label)}}}", *(_small(text) for text in told)]))
    return lines


def _small(text: str) -> str:
    return rf"\textit{{{tex(text)}}}" if text else ""


def _cell(cell: Cell) -> str:
    if cell.formula is not None:
        return _formula(cell.formula)
    text = tex(cell.text)
    if cell.best:
        text = rf"\textbf{{{text}}}"
    if cell.faint and len(cell.text) > _HEAD_WIDTH:
        text = rf"\parbox[t]{{2.8cm}}{{\raggedright {text}}}"
    return text + (r"\ensuremath{^\star}" if cell.star else "")


def _formula(shown: Shown) -> str:
    body = _symbols(format_formula(shown.formula, "latex"))
    if shown.is_cut:
        body += r" \lor \dots"
    if shown.head is not None:
        name = _symbols(format_formula(Literal(shown.head or "class"), "latex"))
        body = rf"{name} {chr(92)}{'leftrightarrow' if shown.equal else 'approx'} {body}"
    return f"${body}$"


def _line(cells: list[str]) -> str:
    return f"{' & '.join(cells)} {chr(92) * 2}"
