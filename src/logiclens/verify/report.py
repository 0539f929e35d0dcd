"""Result of a verification, and the text of names, formulas, rows and domains in results and messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from itertools import pairwise

from .records import Domain, Formula

SYMBOLS = frozenset('&|~()"=,;:\\')
"""Characters that cause a name to be quoted, except as part of a comparison."""
COMPARISONS = (">=", "<=", "==", "!=")


def printable(text: str) -> str:
    """Return the text with every non-printable character escaped."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def name_text(name: str) -> str:
    r"""Return the name of a concept or a class; quoted if it could be misread.

    >>> print(name_text("age >= 60"), name_text("a | b"), name_text("a\nb"))
    age >= 60 "a | b" "a\nb"
    """
    bare = name
    for comparison in COMPARISONS:
        bare = bare.replace(f" {comparison} ", "  ")
    plain = bare.isprintable() and not SYMBOLS & set(bare) and bare == bare.strip()
    if plain and bare not in ("", "True", "False"):
        return name
    return '"' + printable(name.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def formula_text(formula: Formula) -> str:
    """Return a formula as text, a disjunction of conjunctions.

    >>> formula_text(((("a", True), ("b", False)), (("c", True),)))
    '(a & ~b) | c'
    >>> formula_text(()), formula_text(((),))
    ('False', 'True')
    """
    if not formula:
        return "False"
    cubes = [" & ".join(("" if value else "~") + _term(name) for name, value in cube) for cube in formula]
    if len(formula) > 1:
        cubes = [f"({text})" if len(cube) > 1 else text for cube, text in zip(formula, cubes, strict=True)]
    return " | ".join(text or "True" for text in cubes)


def complement_text(formula: Formula) -> str:
    """Return the text of a class that is the complement of another class's formula.

    Args:
        formula: the formula of the other class.

    >>> complement_text(((("a", True),),))
    'otherwise (not: a)'
    """
    return f"otherwise (not: {formula_text(formula)})"


def _term(name: str) -> str:
    """Return a name for use in a formula: quoted unless it is one word, to show the scope of a negation."""
    text = name_text(name)
    return text if text.startswith('"') or name.isidentifier() else f'"{name}"'


def row_text(concepts: Sequence[str], row: int) -> str:
    """Return a row as text.

    Args:
        concepts: names of the concepts; the first is the highest bit of the row number.
        row: row number.

    >>> row_text(["age >= 60", "smoker"], 2)
    'age >= 60 = 1, smoker = 0'
    """
    last = len(concepts) - 1
    return ", ".join(f"{name_text(name)} = {row >> (last - k) & 1}" for k, name in enumerate(concepts))


def domain_text(domain: Domain, rows: int, concepts: Sequence[str]) -> str:
    """Return the domain of a claim in words.

    Args:
        domain: groups that restrict the rows.
        rows: number of rows that the groups allow.
        concepts: concepts that the head keeps.

    >>> domain_text(Domain(), 4, ["a", "b"])
    'all 4 rows of its 2 concepts'
    >>> domain_text(Domain(implied=(("a", "b"),)), 3, ["a", "b"])
    'the 3 possible of all 4 rows of its 2 concepts (b only with a)'
    """
    if not concepts:
        return "the one row of no concepts"
    every = f"all {2 ** len(concepts)} rows of its {len(concepts)} concept{'s' * (len(concepts) > 1)}"
    conditions = [f"at most one of {', '.join(map(name_text, group))}" for group in domain.exclusive]
    for chain in domain.implied:
        conditions += [f"{name_text(after)} only with {name_text(before)}" for before, after in pairwise(chain)]
    return f"the {rows} possible of {every} ({'; '.join(conditions)})" if conditions else every


def wide_domain_text(concepts: Sequence[str]) -> str:
    """Return the domain, in words, of a head that has too many rows to enumerate."""
    return f"all 2^{len(concepts)} rows of its {len(concepts)} concepts, proved unit by unit"


@dataclass(frozen=True)
class ClassReport:
    """The verified claim of one class: the head equals its formula.

    Attributes:
        name: class of the head.
        formula: the formula as text.
        domain: the domain in words.
        rows: number of rows of the domain.
        smallest_logit: smallest |logit| on these rows, or a lower bound on it if the head was proved by units.
        bound: bound on float32 rounding.
    """

    name: str
    formula: str
    domain: str
    rows: int
    smallest_logit: float
    bound: float
    agreement: float | None = None
    """Stated share of training rows on which the rules decide as the committee; None unless the head is compiled."""

    def __str__(self) -> str:
        """Return two lines of text, and a third for a compiled head."""
        # Round to the safe side: no printed number may be better than the computed one.
        smallest = Context(prec=2, rounding=ROUND_FLOOR).create_decimal_from_float(self.smallest_logit)
        bound = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(self.bound)
        origin = ""
        if self.agreement is not None:
            share = Context(prec=4, rounding=ROUND_FLOOR).create_decimal_from_float(100 * self.agreement)
            origin = (
                "\n  compiled from the formula, so no reason of a trained network; the rules decide as the committee "
                f"on {float(share):g}% of the training rows (as stated, not checked)"
            )
        return (
            f"{name_text(self.name)}: equal on {self.domain}; "
            f"smallest |logit| {float(smallest):g}, float32 rounding at most {float(bound):.1e}\n"
            f"  {self.formula}{origin}"
        )


@dataclass(frozen=True)
class Report:
    """Result of `verify`: every head equals its formula.

    Attributes:
        classes: one report per class.
        does_not_cover: sentences of the certificate about what it does not cover.
    """

    classes: tuple[ClassReport, ...]
    does_not_cover: tuple[str, ...]
    decides: str = ""
    """How the rules decide between classes, in words; empty if the certificate does not state it."""

    def __str__(self) -> str:
        """Return a paragraph for each class and a verdict."""
        verdict = "The printed rules are the model, on hard 0/1 concepts."
        if self.does_not_cover:
            verdict += "\nNot covered:" + "".join(f"\n- {printable(sentence)}" for sentence in self.does_not_cover)
        return "\n".join([*(str(entry) for entry in self.classes), *filter(None, [self.decides]), verdict])
