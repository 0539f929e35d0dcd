"""A formula as a sympy expression, and rules as Python source that makes such expressions."""

from __future__ import annotations

from typing import Any

from logiclens.export.registry import rules_of
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.predicate import plain_label
from logiclens.formula.text import format_formula


def to_sympy(formula: DNF | Complement | Cube | Literal) -> Any:
    """Return the formula as a Boolean expression of sympy, with one `Symbol` per concept.

    Args:
        formula: the formula.

    >>> to_sympy(Literal("age >= 72.5") & ~Literal("smoker"))
    age >= 72.5 & ~smoker
    """
    import sympy

    if isinstance(formula, Complement):
        return sympy.Not(to_sympy(formula.of))
    # Symbols are constructed, never parsed, so a name such as "exit()" stays a name.
    symbols = {concept: sympy.Symbol(concept) for concept in (formula | DNF.false).concepts}
    return sympy.Or(
        *(
            sympy.And(*(symbols[lit.concept] if lit.positive else sympy.Not(symbols[lit.concept]) for lit in cube))
            for cube in formula | DNF.false
        )
    )


def to_sympy_source(rules: Any) -> str:
    """Return Python source with a dictionary of expressions by class.

    Source is written instead of sympy's own text because concepts have names that sympy could not read back.

    Args:
        rules: a rule set, an explanation, or an exact model.

    >>> from logiclens.formula import Rule, RuleSet, parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),))
    >>> "Symbol('old')" in to_sympy_source(rules)
    True
    """
    rules = rules_of(rules)
    from sympy import srepr

    lines = []
    for rule in rules.rules:
        # The text of a cube as Python writes it: a name may hold the end of a line, which would end the comment.
        told = zip(rule.cubes, rule.recurrence, strict=True)
        lines += [f"    # {format_formula(DNF([cube]))!r} {words}" for cube, words in told if words]
        lines.append(f"    {rule.label!r}: {srepr(to_sympy(rule.formula))},")
    if not rules.multilabel and rules.resolve == "order":
        order = [plain_label(rules.rules[place].label) for place in rules.order]
        otherwise = None if rules.otherwise is None else plain_label(rules.rules[rules.otherwise].label)
        ending = [f"order = {order!r}  # the first that applies decides", f"otherwise = {otherwise!r}"]
    else:
        ending = []
    head = ["from sympy import And, Not, Or, Symbol, false, true", "", "rules = {"]
    return "\n".join([*head, *lines, "}", *ending])
