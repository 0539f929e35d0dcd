"""What can be asked of a formula: that it never uses a column, that it is monotone in one, that it implies another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF
from logiclens.formula.text import parse


@dataclass(frozen=True)
class NeverUses:
    """No cube mentions the column, or the concept."""

    column: str

    def __str__(self) -> str:
        """As it can be written."""
        return f"never uses {self.column!r}"


@dataclass(frozen=True)
class Monotone:
    """Raising the column never turns a yes into a no; or lowering it, where not `increasing`."""

    column: str
    increasing: bool = True

    def __str__(self) -> str:
        """As it can be written."""
        return f"{'increasing' if self.increasing else 'decreasing'} in {self.column!r}"


@dataclass(frozen=True)
class Implies:
    """Where the formula holds, another one holds."""

    formula: DNF

    def __str__(self) -> str:
        """As it can be written."""
        return f"implies {self.formula}"


Property: TypeAlias = NeverUses | Monotone | Implies


def never_uses(column: str) -> NeverUses:
    """The property that no cube mentions a column, or a concept."""
    return NeverUses(column)


def monotone_in(column: str, increasing: bool = True) -> Monotone:
    """The property that a higher (or lower) value of a column never turns a yes into a no; missing values aside.

    A later date is the higher one.
    """
    return Monotone(column, increasing)


def implies(formula: DNF | str) -> Implies:
    """The property that another formula holds wherever this one does."""
    return Implies(parse(formula) if isinstance(formula, str) else formula)


_NAMED = re.compile(r"\s*(never uses|monotone in|increasing in|decreasing in)\s+(?:(['\"])(.+)\2|(\w+))\s*")
_IMPLIES = re.compile(r"\s*implies\s+(.+)", re.DOTALL)


def parse_property(text: str) -> Property:
    """The property that a text states.

    >>> parse_property("monotone in 'income'")
    Monotone(column='income', increasing=True)
    """
    if match := _NAMED.fullmatch(text):
        name = match[3] or match[4]
        return NeverUses(name) if match[1] == "never uses" else Monotone(name, match[1] != "decreasing in")
    if match := _IMPLIES.fullmatch(text):
        return implies(match[1])
    raise LogicLensError(
        f"cannot read the property {text!r}: write \"never uses 'x'\", \"monotone in 'x'\", \"increasing in 'x'\", "
        '"decreasing in \'x\'" or "implies a & ~b".'
    )
