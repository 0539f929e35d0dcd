"""The content of the benchmark report as frozen dataclasses: sections of tables, charts and text, without markup."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from logiclens.formula.dnf import DNF
from logiclens.formula.text import format_first_order, format_formula


@dataclass(frozen=True)
class ShownFormula:
    """A formula as the report shows it: possibly only its first cubes, with the number of literals of the whole.

    With a `head`, it is printed as a first-order sentence; `equal` says that it agrees with the network on all rows.
    """

    formula: DNF
    n_literals: int
    head: str | None = None
    equal: bool = False

    @classmethod
    def cut(cls, formula: DNF, most: int) -> ShownFormula:
        """Keep the first cubes that have at most `most` literals together, but always the first cube."""
        cubes = list(formula.cubes)
        while len(cubes) > 1 and sum(len(cube) for cube in cubes) > most:
            cubes.pop()
        return cls(DNF(cubes), formula.n_literals)

    @property
    def is_cut(self) -> bool:
        """Whether cubes were left out."""
        return self.formula.n_literals < self.n_literals

    @property
    def text(self) -> str:
        """The formula in logical symbols."""
        if self.head is None:
            text = format_formula(self.formula, "unicode")
        else:
            # Any fidelity makes format_first_order print ≈; the caption states the fidelity, so it is cut off here.
            sentence = format_first_order(self.formula, self.head, fidelity=None if self.equal else 0.0)
            text = sentence if self.equal else sentence.rpartition("   [")[0]
        return f"{text} ∨ …" if self.is_cut else text


@dataclass(frozen=True)
class Cell:
    """A cell: a text or a formula, with lines of small print (label, text) below it."""

    text: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    best: bool = False
    star: bool = False
    faint: bool = False
    formula: ShownFormula | None = None

    @property
    def plain(self) -> str:
        """The text of the cell, also if it is a formula."""
        return self.text if self.formula is None else self.formula.text


@dataclass(frozen=True)
class Row:
    """A table row: its head and one cell per further column. Texts and formulas are accepted as cells."""

    head: str
    cells: tuple[Cell, ...]
    marked: bool = False

    @classmethod
    def of(cls, head: str, *cells: Cell | ShownFormula | str, marked: bool = False) -> Row:
        """Build a row from texts, formulas and cells."""
        return cls(head, tuple(_cell(cell) for cell in cells), marked)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of small print in any of the cells, each once."""
        return tuple(dict.fromkeys(label for cell in self.cells for label, _ in cell.lines))


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows. `wide` says that one column holds formulas or sentences."""

    key: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    wide: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart as SVG text and PNG bytes. `label` describes it to screen readers."""

    key: str
    caption: str
    label: str
    svg: str = field(repr=False)
    png: bytes = field(repr=False)

    @property
    def file(self) -> str:
        """The name of its files, without the suffix."""
        return slug(self.key)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    pairs: tuple[tuple[str, str], ...]


Block: TypeAlias = Table | Chart | Paragraph | Points | Facts


@dataclass(frozen=True)
class Section:
    """A titled part of the report, with blocks and then sections of its own."""

    key: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()

    def pruned(self) -> Section | None:
        """Return the section without empty tables and sections; None if nothing is left."""
        blocks = tuple(block for block in self.blocks if not (isinstance(block, Table) and not block.rows))
        sections = tuple(kept for section in self.sections if (kept := section.pruned()))
        return replace(self, blocks=blocks, sections=sections) if blocks or sections else None

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Every chart, in order."""
        own = tuple(block for block in self.blocks if isinstance(block, Chart))
        return own + tuple(chart for section in self.sections for chart in section.charts)


@dataclass(frozen=True)
class Document:
    """The whole report."""

    title: str
    lead: str
    facts: Facts
    sections: tuple[Section, ...]


def slug(key: str) -> str:
    """Return a key that serves as a file name, an HTML id and a LaTeX label, because task names may hold anything.

    >>> slug("pareto-clean-a/b")
    'pareto-clean-a.2f.b'
    """
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else f".{ord(c):x}." for c in key)


def _cell(value: Cell | ShownFormula | str) -> Cell:
    if isinstance(value, ShownFormula):
        return Cell(formula=value)
    return Cell(value) if isinstance(value, str) else value
