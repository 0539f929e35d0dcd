"""Hypothesis strategies: names of every kind, literals, cubes, formulas and labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from logiclens.formula import DNF, Cube, Literal, TruthTable

CONCEPTS = ("a", "b", "c", "d", "e")

AWKWARD_NAMES = (
    "age >= 72.5", "it's", 'so-called "smart"', "back\\slash", "\\", '"', '\\"', "\\n", "two\nlines", "\t", "\r\n",
    " ", "  padded  ", "a & b", "a|b", "~a", "!a", "¬a", "a ∧ b", "⊤", "⊥", "(a", "a)", "and", "or", "not", "True",
    "False", "true", "AND", "1", "0", "3rd", "_", "x_1", "ß", "naïve", "年齢", "👩‍🔬", "é", "²", "x²", "a{b}", "{",
    "}", "50%", "#1", "$x$", "a^b", "a~b", "<", ">", "`", "-", "{-}", "a\\text{b}", "\\text{", "\\land", "\\textbar{}",
    "\\_", "\\ ", "\x00", "\u2028", "∀x", "↔",
)  # fmt: skip


def names() -> st.SearchStrategy[str]:
    """Any name a user may give: not only identifiers."""
    return st.sampled_from(AWKWARD_NAMES) | st.text(min_size=1, max_size=8)


def literals(concepts: Sequence[str] = CONCEPTS) -> st.SearchStrategy[Literal]:
    return st.builds(Literal, st.sampled_from(concepts), st.booleans())


def cubes(concepts: Sequence[str] = CONCEPTS) -> st.SearchStrategy[Cube]:
    # A dictionary holds each concept in one polarity, which is what makes a cube.
    polarities = st.dictionaries(st.sampled_from(concepts), st.booleans(), max_size=len(concepts))
    return polarities.map(lambda drawn: Cube(Literal(concept, positive) for concept, positive in drawn.items()))


def dnfs(concepts: Sequence[str] = CONCEPTS, max_cubes: int = 5) -> st.SearchStrategy[DNF]:
    return st.lists(cubes(concepts), max_size=max_cubes).map(DNF)


@st.composite
def dnfs_with_any_names(draw: st.DrawFn) -> DNF:
    return draw(dnfs(draw(st.lists(names(), min_size=1, max_size=4, unique=True)), max_cubes=4))


def bits_of(number: int, width: int) -> tuple[bool, ...]:
    """The lowest `width` bits of a number, the highest first."""
    return tuple(bool(number >> (width - 1 - j) & 1) for j in range(width))


@dataclass(frozen=True)
class Answered:
    """Plain rows with an answer and a weight each, as a caller holds them before anything is counted."""

    names: tuple[str, ...]
    rows: list[tuple[bool, ...]]
    answers: list[bool]
    weight: list[int]

    def table(self, exclusive: Sequence[Sequence[str]] = ()) -> TruthTable:
        return TruthTable.of(self.rows, self.names, self.answers, weight=self.weight, exclusive=exclusive)


@st.composite
def boolean_rows(draw: st.DrawFn, width: int, max_rows: int = 12) -> list[tuple[bool, ...]]:
    """Rows that repeat: they are drawn from a pool of a few, whatever the width."""
    pool = draw(st.lists(st.integers(0, 2**width - 1), min_size=1, max_size=6))
    return [bits_of(number, width) for number in draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_rows))]


@st.composite
def answered_rows(draw: st.DrawFn, max_concepts: int = 5, min_concepts: int = 1) -> Answered:
    """Rows that may contradict each other and leave others out."""
    width = draw(st.integers(min_concepts, max_concepts))
    # Up to twice 2^n rows, so that some tables are nearly full and some rows are answered both ways.
    numbers = draw(st.lists(st.integers(0, 2**width - 1), min_size=1, max_size=2 ** min(width + 1, 6)))
    n = len(numbers)
    return Answered(
        names=tuple(f"c{j}" for j in range(width)),
        rows=[bits_of(number, width) for number in numbers],
        answers=draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        weight=draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)),
    )


def truth_tables(max_concepts: int = 5, min_concepts: int = 1) -> st.SearchStrategy[TruthTable]:
    return answered_rows(max_concepts, min_concepts).map(Answered.table)
