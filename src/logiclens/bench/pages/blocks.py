"""What a report is made of, before it is written as HTML or LaTeX: sections of tables, figures and paragraphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from logiclens.formula.dnf import DNF
from logiclens.formula.text import format_first_order, format_formula


@dataclass(frozen=True)
class Shown:
    """A formula as it is shown: perhaps only its first cubes, with the number of literals it really has.

    With a `head`, it is written as a sentence about every object; `equal` says that it is the network on all its rows.
    """

    formula: DNF
    n_literals: int
    head: str | None = None
    equal: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether cubes were left out."""
        return self.formula.n_literals < self.n_literals

    @property
    def text(self) -> str:
        """The formula in the symbols of logic."""
        if self.head is None:
            text = format_formula(self.formula, "unicode")
        else:
            # A fidelity gives the sign for what is not equal; the figure itself is that of a whole run, said elsewhere.
            told = format_first_order(self.formula, self.head, fidelity=None if self.equal else 0.0)
            text = told if self.equal else told.rpartition("   [")[0]
        return f"{text} ∨ …" if self.is_cut else text


@dataclass(frozen=True)
class Cell:
    """A cell: a text or a formula, and lines of small print below it, each with its label."""

    text: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    best: bool = False
    star: bool = False
    faint: bool = False
    formula: Shown | None = None


@dataclass(frozen=True)
class Row:
    """A line of a table: what it is about, and a cell for each further column."""

    head: str
    cells: tuple[Cell, ...]
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first column names the rows. `wide` says that one column holds formulas or sentences."""

    key: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    wide: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Picture:
    """A drawn figure: the text of its SVG, the bytes of its PNG, and what it shows for those who cannot see it."""

    key: str
    caption: str
    label: str
    svg: str = field(repr=False)
    png: bytes = field(repr=False)

    @property
    def file(self) -> str:
        """The name of its files, without the ending."""
        return slug(self.key)


@dataclass(frozen=True)
class Paragraph:
    """A text of its own."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Names and what they are."""

    pairs: tuple[tuple[str, str], ...]


Block: TypeAlias = Table | Picture | Paragraph | Points | Facts


@dataclass(frozen=True)
class Section:
    """A part with a title; sections may hold sections."""

    key: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.blocks and all(section.is_empty for section in self.sections)


@dataclass(frozen=True)
class Document:
    """The whole report."""

    title: str
    lead: str
    facts: Facts
    sections: tuple[Section, ...]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Every figure, in order."""
        return tuple(picture for section in self.sections for picture in _pictures(section))


def slug(key: str) -> str:
    """A key as the name of a file, an id on a page and a label in LaTeX: names of tasks may hold anything.

    >>> slug("pareto-clean-a/b")
    'pareto-clean-a.2f.b'
    """
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else f".{ord(c):x}." for c in key)


def _pictures(section: Section) -> list[Picture]:
    here = [block for block in section.blocks if isinstance(block, Picture)]
    return here + [picture for inner in section.sections for picture in _pictures(inner)]
