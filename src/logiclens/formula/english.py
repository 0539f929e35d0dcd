"""Conditions, formulas and recurrence counts in English; reports, exports and the command line use it.

This is the only module that puts a condition into words, such as "age is at least 70" in prose and lists. `Predicate`
writes the form `age >= 70` of formulas and concept names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.predicate import Predicate
from logiclens.words import enumeration

RECURS = 0.5
"""Smallest share of the bags or resamples in which a choice must be found to count as recurring."""

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
    """Return a formula as a sentence about rows of the raw table.

    A missing value makes a comparison false. The sentence adds "(or missing)" to a negated comparison because readers
    would not expect that a missing value satisfies it.

    Args:
        formula: the formula.
        predicates: meanings of its concepts; a concept without one is a Boolean column.
        head: description of a row on which the formula is true, or of `subject` on such a row.
        subject: name of the target; the sentence is about "a row" if omitted.
        gaps: columns for which "(or missing)" is added. Default: all.

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
    """Return a literal in words.

    Args:
        literal: the literal.
        predicates: meanings of concepts; a concept without one is a Boolean column.
        gaps: columns for which "(or missing)" is added to a negated comparison. Default: all.
    """
    predicate = predicates.get(literal.concept)
    if predicate is None:
        return f"{literal.concept} is {'true' if literal.positive else 'not true'}"
    # A missing value satisfies a negated comparison. Readers expect this of "is not", but not of an order.
    unexpected = not literal.positive and predicate.operator not in ("==", "missing")
    unexpected = unexpected and (gaps is None or predicate.column in gaps)
    return f"{predicate.column} is {comparison_words(predicate, literal.positive)}" + " (or missing)" * unexpected


def comparison_words(predicate: Predicate, positive: bool = True) -> str:
    """Return a predicate or its negation in words, without the name of the column.

    Args:
        predicate: the predicate.
        positive: False for the negation. Default: True.

    >>> comparison_words(Predicate("age", ">=", 72.5)), comparison_words(Predicate("unit", "==", "MICU"), False)
    ('at least 72.5', 'not MICU')
    """
    if predicate.operator == "missing":
        return "missing" if positive else "not missing"
    if predicate.operator == "==":
        return f"{'' if positive else 'not '}{_value(predicate)}"
    return predicate.kind.sentences[predicate.operator][not positive].format(predicate.shown_value)


def none_of(values: Sequence[str]) -> str:
    """Return the words for a column that has none of the values, without the name of the column.

    Args:
        values: at least one value, as text.

    >>> none_of(["MICU"]), none_of(["MICU", "CCU"])
    ('not MICU', 'neither MICU nor CCU')
    """
    return f"not {values[0]}" if len(values) == 1 else f"neither {enumeration(values, last='nor')}"


def recurs(count: int, total: int) -> bool:
    """Return whether a choice was found in at least half of the bags or resamples.

    Args:
        count: number of bags or resamples in which it was found.
        total: number of bags or resamples.
    """
    return count >= RECURS * total


def recurrence_words(count: int, total: int, drawn: str = "") -> str:
    """Return in words how many bags or resamples found a choice again, and whether that is less than half of them.

    Args:
        count: number of bags or resamples in which it was found.
        total: number of bags or resamples.
        drawn: plural noun for them, such as `"bags"`. Default: no noun.

    >>> recurrence_words(7, 10), recurrence_words(3, 10, "bags")
    ('recurs in 7 of 10', 'recurs in only 3 of 10 bags, less than half')
    """
    times = f"{count} of {total} {drawn}".rstrip()
    return f"recurs in {times}" if recurs(count, total) else f"recurs in only {times}, less than half"


def _value(predicate: Predicate) -> str:
    """Return the value as text; quoted if it is a text that could be overlooked or misread."""
    if isinstance(predicate.value, bool):
        return str(predicate.value).lower()
    if isinstance(predicate.value, str) and (not _WORD.fullmatch(predicate.value) or predicate.value in _TAKEN):
        return f'"{predicate.value}"'
    return predicate.shown_value
