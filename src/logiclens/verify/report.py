"""What a verification found, as values and as text: names, formulas, rows and domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from itertools import pairwise

from .records import Domain, Formula

SYMBOLS = frozenset('&|~()"=,;:\\')
"""A name with one of these in it is quoted, unless they are part of a comparison."""
COMPARISONS = (">=", "<=", "==", "!=")


def printable(text: str) -> str:
    """The text with everything that is not a visible character escaped."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def name_text(name: str) -> str:
    r"""The name of a concept or a class; quoted where it could be read as something else.

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
    """A disjunction of conjunctions.

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
    """What another class's formula leaves.

    >>> complement_text(((("a", True),),))
    'otherwise (not: a)'
    """
    return f"otherwise (not: {formula_text(formula)})"


def _term(name: str) -> str:
    """A name inside a formula: quoted unless it is one word, so that it is clear what a negation turns."""
    text = name_text(name)
    return text if text.startswith('"') or name.isidentifier() else f'"{name}"'


def row_text(concepts: Sequence[str], row: int) -> str:
    """The row with this number: the first concept is the highest bit.

    >>> row_text(["age >= 60", "smoker"], 2)
    'age >= 60 = 1, smoker = 0'
    """
    last = len(concepts) - 1
    return ", ".join(f"{name_text(name)} = {row >> (last - k) & 1}" for k, name in enumerate(concepts))


def domain_text(domain: Domain, rows: int, concepts: Sequence[str]) -> str:
    """Which rows, in words.

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
    """All rows of so many concepts that nobody goes through them."""
    return f"all 2^{len(concepts)} rows of its {len(concepts)} concepts, proved unit by unit"


@dataclass(frozen=True)
class ClassReport:
    """A head that was found equal to its formula."""

    name: str
    formula: str
    domain: str
    rows: int
    smallest_logit: float
    bound: float
    agreement: float | None = None
    """Set where the head was compiled from the formula: how often the rules decide as the committee, as stated."""

    def __str__(self) -> str:
        """Two lines, and a third for a compiled head."""
        # Rounded to the safe side: nothing that is printed is better than what was found.
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
    """All heads of a model, each equal to its formula, and what the certificate leaves open."""

    classes: tuple[ClassReport, ...]
    does_not_cover: tuple[str, ...]
    decides: str = ""
    """Who decides between classes, in words, where the certificate says so and the stored rules agree."""

    def __str__(self) -> str:
        """A paragraph for each class and a verdict."""
        verdict = "The printed rules are the model, on hard 0/1 concepts."
        if self.does_not_cover:
            verdict += "\nNot covered:" + "".join(f"\n- {printable(sentence)}" for sentence in self.does_not_cover)
        return "\n".join([*(str(entry) for entry in self.classes), *filter(None, [self.decides]), verdict])
