"""How cubes are written as text: the symbols of each style, and names that need quotes or escapes.

`dnf` prints formulas with it and `text` reads them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import Protocol

from logiclens.errors import LogicLensError, quoted
from logiclens.words import readable

Style = OneOf["ascii", "unicode", "latex"]


class LiteralLike(Protocol):
    """A literal, as far as it is printed."""

    @property
    def concept(self) -> str:
        """The name of its concept."""

    @property
    def positive(self) -> bool:
        """Whether it is the concept itself, not its negation."""


@dataclass(frozen=True)
class Symbols:
    """The symbols that one style writes formulas with."""

    conjunction: str
    disjunction: str
    negation: str
    true: str
    false: str


SYMBOLS: dict[str, Symbols] = {
    "ascii": Symbols(" & ", " | ", "~", "True", "False"),
    "unicode": Symbols(" ∧ ", " ∨ ", "¬", "⊤", "⊥"),
    "latex": Symbols(r" \land ", r" \lor ", r"\lnot ", r"\top", r"\bot"),
}

WORDS = {"and": "&", "or": "|", "not": "~", "True": "1", "False": "0"}
BARE_NAME = re.compile(r"[^\W\d]\w*")

LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "\n": r"\textvisiblespace{}", "-": r"{-}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", " ": r"\ ",
}  # fmt: skip
QUOTED_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def format_cubes(cubes: Sequence[Iterable[LiteralLike]], style: Style = "ascii") -> str:
    """Return the text of a disjunction of cubes; without cubes it is false."""
    symbols = symbols_of(style)
    name = latex_name if style == "latex" else quoted_name
    texts = [[symbols.negation * (not lit.positive) + name(lit.concept) for lit in cube] for cube in cubes]
    return symbols.disjunction.join(format_cube(text, symbols, len(texts)) for text in texts) or symbols.false


def format_negation(cubes: Sequence[Iterable[LiteralLike]], style: Style = "ascii") -> str:
    """Return the text of what is not a disjunction of cubes, as the negation of that text."""
    symbols, literals = symbols_of(style), [literal for cube in cubes for literal in cube]
    if not literals:
        return symbols.false if cubes else symbols.true
    text = format_cubes(cubes, style)
    alone = len(cubes) == len(literals) == 1 and literals[0].positive
    return symbols.negation + (text if alone else f"({text})")


def symbols_of(style: Style) -> Symbols:
    """Return the symbols of a style."""
    if style not in SYMBOLS:
        raise LogicLensError(f"unknown style {quoted(style)}: choose 'ascii', 'unicode' or 'latex'.")
    return SYMBOLS[style]


def format_cube(literals: list[str], symbols: Symbols, n_cubes: int) -> str:
    """Join the texts of literals, in parentheses where other cubes stand beside them."""
    text = symbols.conjunction.join(literals) or symbols.true
    return f"({text})" if len(literals) > 1 and n_cubes > 1 else text


def quoted_name(name: str) -> str:
    r"""Return a name as the parser reads it: in double quotes unless it is one plain word.

    >>> print(quoted_name("age"), quoted_name("age > 3"), quoted_name("a\x1b[31m"))
    age "age > 3" "a\x1b[31m"
    """
    if BARE_NAME.fullmatch(name) and name not in WORDS and readable(name) == name:
        return name
    return '"' + readable("".join(QUOTED_ESCAPES.get(character, character) for character in name)) + '"'


def latex_name(name: str) -> str:
    """Return a name as upright text of LaTeX, with special characters escaped."""
    return r"\text{" + "".join(LATEX_ESCAPES.get(character, character) for character in name) + "}"
