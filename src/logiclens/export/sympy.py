"""A formula as a sympy expression."""

from __future__ import annotations

from typing import Any

from logiclens.errors import require_extra
from logiclens.formula.dnf import DNF, Complement, Cube, Literal


def to_sympy(formula: DNF | Complement | Cube | Literal) -> Any:
    """The formula as a Boolean expression of sympy, with one `Symbol` for each concept, whatever its name.

    >>> to_sympy(Literal("age >= 72.5") & ~Literal("smoker"))
    age >= 72.5 & ~smoker
    """
    with require_extra("sympy", "to_sympy"):
        import sympy

    if isinstance(formula, Complement):
        return sympy.Not(to_sympy(formula.of))
    # Symbols are made, never parsed: a name such as "exit()" is a name.
    symbols = {concept: sympy.Symbol(concept) for concept in (formula | DNF.false).concepts}
    return sympy.Or(
        *(
            sympy.And(*(symbols[lit.concept] if lit.positive else sympy.Not(symbols[lit.concept]) for lit in cube))
            for cube in formula | DNF.false
        )
    )
