"""Conditions and formulas in English, and how often a cube recurs in words: the only place that says a condition.

Prose and lists say "age is at least 70". Formulas and names of concepts are written `age >= 70`, by `Predicate`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.predicate import Predicate
from logiclens.words import enumeration

RECURS = 0.5
"""What is chosen in at least this share of the bags, or of the resamples, recurs."""

_WORD = re.compile(r"[^\W\d][\w-]*")
_TAKEN = ("true", "false", "missing", "not", "and", "or", "if", "is")


def english(
    formula: DNF | Complement | Cube | Literal,
    predicates: Mapping[str, Predicate] | None = None,
    *,
    head: str = "a match",
    subject: str | None = None,
    gaps: Collection[str] | None = None,
) -> str:
    """The formula as a sentence about rows, with what its concepts mean on the raw table.

    `head` is what a row is where the formula holds; with a `subject`, the name of the target, what that is. A missing
    value makes a comparison false; the sentence says so where one would not expect it: of every column, or of those in
    `gaps`.

    >>> formula = (Literal("old") & ~Literal("smoker")) | Literal("sepsis")
    >>> print(english(formula, {"old": Predicate("age", ">=", 72.5)}, head="ill"))
    A row is ill if age is at least 72.5 and smoker is not true, or if sepsis is true.
    >>> print(english(~Literal("old"), {"old": Predicate("age", ">=", 72.5)}, head="well"))
    A row is well if age is below 72.5 (or missing).
    >>> print(english(~Literal("new") | Literal("bare"),
    ...               {"new": Predicate("admitted", ">=", "2021-03-01"), "bare": Predicate("bmi", "missing")}))
    A row is a match if admitted is before 2021-03-01 (or missing), or if bmi is missing.
    >>> print(english(DNF.true, head="ill"), english(DNF.false, head="well"))
    Every row is ill. No row is well.
    >>> print(english(Literal("sepsis"), head="yes", subject="died"))
    died is yes if sepsis is true.
    >>> print(english(Complement(formula), {"old": Predicate("age", ">=", 72.5)}, head="well"))
    A row is well otherwise, that is unless age is at least 72.5 and smoker is not true, or unless sepsis is true.
    """
    is_complement = isinstance(formula, Complement)
    cubes = formula.of.cubes if isinstance(formula, Complement) else (formula | DNF.false).cubes
    if any(len(cube) == 0 for cube in cubes) or not cubes:
        if bool(cubes) != is_complement:
            return f"Every row is {head}." if subject is None else f"{subject} is always {head}."
        return f"No row is {head}." if subject is None else f"{subject} is never {head}."
    meant = predicates or {}
    conditions = [" and ".join(literal_words(literal, meant, gaps) for literal in cube) for cube in cubes]
    if is_complement:
        return f"{subject or 'A row'} is {head} otherwise, that is unless " + ", or unless ".join(conditions) + "."
    return f"{subject or 'A row'} is {head} if " + ", or if ".join(conditions) + "."


def literal_words(literal: Literal, predicates: Mapping[str, Predicate], gaps: Collection[str] | None = None) -> str:
    """One literal as one would say it; that a missing value counts too is said of the columns in `gaps`, or of all."""
    predicate = predicates.get(literal.concept)
    if predicate is None:
        return f"{literal.concept} is {'true' if literal.positive else 'not true'}"
    # A negated comparison holds of a missing value too, which one would not expect; of "is not" one would.
    unexpected = not literal.positive and predicate.operator not in ("==", "missing")
    unexpected = unexpected and (gaps is None or predicate.column in gaps)
    return f"{predicate.column} is {comparison_words(predicate, literal.positive)}" + " (or missing)" * unexpected


def comparison_words(predicate: Predicate, positive: bool = True) -> str:
    """Return what a predicate, or its negation, says of its column, without the name of the column.

    >>> comparison_words(Predicate("age", ">=", 72.5)), comparison_words(Predicate("unit", "==", "MICU"), False)
    ('at least 72.5', 'not MICU')
    """
    if predicate.operator == "missing":
        return "missing" if positive else "not missing"
    if predicate.operator == "==":
        return f"{'' if positive else 'not '}{_value(predicate)}"
    return predicate.kind.sentences[predicate.operator][not positive].format(predicate.shown_value)


def none_of(values: Sequence[str]) -> str:
    """Return that a column has none of some values, without its name.

    >>> none_of(["MICU"]), none_of(["MICU", "CCU"])
    ('not MICU', 'neither MICU nor CCU')
    """
    return f"not {values[0]}" if len(values) == 1 else f"neither {enumeration(values, last='nor')}"


def recurs(count: int, total: int) -> bool:
    """Whether something was found again in at least half of the bags or resamples."""
    return count >= RECURS * total


def recurrence_words(count: int, total: int, drawn: str = "") -> str:
    """In how many bags or resamples something was found again, with a mark where that is less than half of them.

    Args:
        count: in how many it was found.
        total: how many there are.
        drawn: what they are, such as `"bags"`; left out by default.

    >>> recurrence_words(7, 10), recurrence_words(3, 10, "bags")
    ('recurs in 7 of 10', 'recurs in only 3 of 10 bags, less than half')
    """
    times = f"{count} of {total} {drawn}".rstrip()
    return f"recurs in {times}" if recurs(count, total) else f"recurs in only {times}, less than half"


def _value(predicate: Predicate) -> str:
    """The value as one would write it; a text that would be lost or misread stands in quotes."""
    if isinstance(predicate.value, bool):
        return str(predicate.value).lower()
    if isinstance(predicate.value, str) and (not _WORD.fullmatch(predicate.value) or predicate.value in _TAKEN):
        return f'"{predicate.value}"'
    return predicate.shown_value
