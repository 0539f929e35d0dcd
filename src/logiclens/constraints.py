"""Constraints: what a setting may be, declared once per class, and the one sentence that refuses any other value.

`EntropyClassifier`, `Booleaniser`, `TrainConfig` and `FormulaLimits` declare their settings with these; a test throws
every kind of bad value at every declared setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from logiclens.errors import LogicLensError, quoted

MOST = 1_000_000_000
"""Largest whole number that a setting may be, unless its constraint says otherwise."""


@dataclass(frozen=True)
class Constraint:
    """What a setting may be.

    Attributes:
        words: what is expected, for the sentence "NAME must be WORDS, got VALUE."
        accepts: whether a value is allowed; it must answer for every value, of any type.
    """

    words: str
    accepts: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> None:
        """Raise one sentence if the value is not allowed."""
        if not self.accepts(value):
            raise LogicLensError(f"{name} must be {self.words}, got {quoted(value)}.")


def check_all(constraints: Mapping[str, Constraint], values: Mapping[str, Any]) -> None:
    """Check every declared setting; `values` holds them by name.

    >>> check_all({"epochs": whole_number(1)}, {"epochs": "ten"})
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: epochs must be a whole number of at least 1, got 'ten'.
    """
    for name, constraint in constraints.items():
        constraint.check(name, values[name])


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of Python or NumPy; truth values are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Return whether a value is a number of Python or NumPy that a float can hold; truth values are not."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def whole_number(least: int, most: int = MOST) -> Constraint:
    """Return the constraint of a whole number.

    >>> whole_number(2).words, whole_number(1, 8).words
    ('a whole number of at least 2', 'a whole number from 1 to 8')
    """
    words = f"a whole number of at least {least}" if most == MOST else f"a whole number from {least} to {most:,}"
    return Constraint(words, lambda value: is_whole(value) and least <= value <= most)


def number(words: str, allowed: Callable[[float], bool]) -> Constraint:
    """Return the constraint of a finite number that passes a test."""
    return Constraint(words, lambda value: is_finite(value) and bool(allowed(float(value))))


def share() -> Constraint:
    """Return the constraint of a share of rows, some of which must remain."""
    return number("a share from 0 to below 1", lambda value: 0 <= value < 1)


def flag() -> Constraint:
    """Return the constraint of a truth value."""
    return Constraint("True or False", lambda value: isinstance(value, bool | np.bool_))


def one_of(choices: Collection[str]) -> Constraint:
    """Return the constraint of one of several words.

    >>> one_of(("train", "all")).words
    "'train' or 'all'"
    """
    *first, last = (repr(choice) for choice in choices)
    return Constraint(f"{', '.join(first)} or {last}", lambda value: isinstance(value, str) and value in choices)


def optional(constraint: Constraint, none: str = "None") -> Constraint:
    """Return a constraint that also allows None; `none` says what None means."""
    return Constraint(f"{constraint.words}, or {none}", lambda value: value is None or constraint.accepts(value))
