"""Rules as LaTeX formulas."""

from __future__ import annotations

from typing import Any

from logiclens.export.registry import rules_of
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.english import recurs
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.text import format_formula

_RELATIONS = {">=": r"\geq", ">": ">", "<=": r"\leq", "<": "<", "==": "="}


def to_latex(rules: Any) -> str:
    r"""Return the formulas of all classes on the raw columns, as an `align*` block (needs amsmath and textcomp).

    A dagger marks cubes that recur in fewer than half of the bags, where recurrence is known.

    Args:
        rules: a rule set, an explanation, or an exact model.

    >>> from logiclens.formula import parse
    >>> from logiclens.formula.rule_set import Rule
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)), Rule("well", parse("False"), ())),
    ...                 {"old": Predicate("age", ">=", 72.5)}, otherwise=1)
    >>> print(to_latex(rules))
    \begin{align*}
      \text{ill} &\leftarrow \text{age} \geq 72.5 \land \lnot \text{smoker} \\
      \text{well} &\leftarrow \bot \\
      \text{well} &\phantom{{}\leftarrow{}} \text{otherwise}
    \end{align*}
    """
    rules = rules_of(rules)
    in_order = rules.resolve == "order" and len(rules.order) > 1
    stated = [rules.rules[place] for place in rules.order] if in_order else rules.rules
    # A complement has no formula of its own; it is printed as "otherwise".
    lines = [
        rf"{_text(rule.name)} &\leftarrow {_disjunction(rule, rules)}" for rule in stated if not rule.is_complement
    ]
    if in_order:
        lines.insert(0, r"&\phantom{{}\leftarrow{}} \text{the first that applies decides:}")
    complement = any(rule.is_complement for rule in rules.rules)
    decided = (rules.resolve != "none" or complement) and not rules.multilabel
    if rules.otherwise is not None and decided:
        lines.append(rf"{_text(rules.names[rules.otherwise])} &\phantom{{{{}}\leftarrow{{}}}} \text{{otherwise}}")
    if any(_mark(rule, place) for rule in stated for place in range(len(rule.cubes))):
        lines.append(r"&\phantom{{}\leftarrow{}} \text{\dag\ found again in less than half of the bags}")
    body = " \\\\\n".join(f"  {line}" for line in lines)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _disjunction(rule: Rule, rules: RuleSet) -> str:
    # One cube per line, so that a long formula fits on the page.
    cubes = [_conjunction(cube, rules, len(rule.cubes)) + _mark(rule, place) for place, cube in enumerate(rule.cubes)]
    return " \\\\\n  &\\phantom{{}\\leftarrow{}} \\lor ".join(cubes) or r"\bot"


def _mark(rule: Rule, place: int) -> str:
    """Return a dagger and the number of bags for a cube that recurs in fewer than half of them."""
    count = rule.counts[place]
    return "" if count is None or recurs(count, rule.bags) else rf" \quad \text{{\dag\ {count} of {rule.bags}}}"


def _conjunction(cube: Cube, rules: RuleSet, n_cubes: int) -> str:
    text = r" \land ".join(_literal(literal, rules) for literal in cube) or r"\top"
    return f"({text})" if len(cube) > 1 and n_cubes > 1 else text


def _literal(literal: Literal, rules: RuleSet) -> str:
    if literal.concept not in rules.predicates:
        return r"\lnot " * (not literal.positive) + _text(literal.concept)
    comparison = _comparison(rules.predicates[literal.concept])
    # Not the opposite comparison: a missing value satisfies neither.
    return comparison if literal.positive else rf"\lnot ({comparison})"


def _comparison(predicate: Predicate) -> str:
    if predicate.operator == "missing":
        return _text(f"{predicate.column} is missing")
    is_number = not isinstance(predicate.value, str | bool)
    value = _number(predicate.shown_value) if is_number else _text(predicate.shown_value)
    return f"{_text(predicate.column)} {_RELATIONS[predicate.operator]} {value}"


def _number(text: str) -> str:
    mantissa, e, exponent = text.partition("e")
    return rf"{mantissa} \times 10^{{{int(exponent)}}}" if e else text


def _text(name: str) -> str:
    """Return a name in `\\text`, escaped as in formulas."""
    return format_formula(Literal(name), "latex") if name else r"\text{}"
