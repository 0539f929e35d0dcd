"""A target of numbers cut into classes: at a value, or at quantiles of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted

ROWS_PER_VALUE = 10
"""Values that have fewer rows each than this on average, and are many, are no classes; numbers are measurements."""
MOST_CLASSES = 50
"""The most classes of a target on the command line; more different numbers than this may be measurements."""
MANY_NUMBERS = 10
"""From so many different numbers on, a note asks whether a target is a measurement."""


@dataclass(frozen=True)
class TargetCuts:
    """Rising thresholds that cut a target of numbers into classes, which are named in words.

    >>> TargetCuts((150.0,)).names
    ('below 150', 'at least 150')
    >>> TargetCuts((3.0, 7.5)).labels([1, 3, 9]).tolist()
    ['below 3', 'from 3 to below 7.5', 'at least 7.5']
    """

    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse thresholds that do not rise."""
        rising = all(low < high for low, high in pairwise(self.thresholds))
        if not self.thresholds or not rising or not np.isfinite(self.thresholds).all():
            raise LogicLensError(f"the cuts of a target must rise and be finite, got {quoted(list(self.thresholds))}")

    @property
    def names(self) -> tuple[str, ...]:
        """The classes, from low to high."""
        texts = [number_text(value) for value in self.thresholds]
        between = [f"from {low} to below {high}" for low, high in pairwise(texts)]
        return (f"below {texts[0]}", *between, f"at least {texts[-1]}")

    def labels(self, values: Any) -> NDArray[Any]:
        """Return the class of each number; labels that are classes already stay as they are."""
        given = np.asarray(values)
        if given.dtype.kind in "OU" and all(isinstance(value, str) for value in given.ravel().tolist()):
            return given
        numbers = checked_numbers(given)
        return np.array(self.names)[np.searchsorted(self.thresholds, numbers, side="right")]


def number_text(value: float) -> str:
    """Return a number as a person would write it.

    >>> number_text(150.0), number_text(0.1)
    ('150', '0.1')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def checked_numbers(values: Any) -> NDArray[np.float64]:
    """Return a target as numbers; refuse texts, truth values, several labels per row and infinite numbers."""
    given = np.asarray(values)
    cells = given.ravel().tolist()
    odd = [cell for cell in cells if isinstance(cell, bool) or not isinstance(cell, int | float)]
    if given.ndim != 1 or odd:
        told = "several labels per row" if given.ndim != 1 else quoted(odd[0])
        raise LogicLensError(f"above and quantiles cut a target of numbers, this one holds {told}: leave them out.")
    numbers = given.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise LogicLensError(f"the label of row {int(np.flatnonzero(~np.isfinite(numbers))[0])} is not finite.")
    return numbers


def above_words(cut: float) -> str:
    """Return how a cut is asked for, in Python and on the command line."""
    return f"above={number_text(cut)} (--above {number_text(cut)})"


def cut_at(above: float, numbers: NDArray[np.float64]) -> TargetCuts:
    """Return the cut at one value, which must have rows on both sides."""
    low, high = float(numbers.min()), float(numbers.max())
    if not low < above <= high:
        raise LogicLensError(
            f"{above_words(above)} leaves all rows on one side, the target goes from {number_text(low)} to "
            f"{number_text(high)}: try {above_words(suggested_cut(numbers))}."
        )
    return TargetCuts((float(above),))


def cut_at_quantiles(n_classes: int, numbers: NDArray[np.float64], weight: NDArray[np.float64]) -> TargetCuts:
    """Return the cuts into classes of about equal weight."""
    values, places = np.unique(numbers, return_inverse=True)
    below = np.cumsum(np.bincount(places, weight).astype(np.float64))
    shares = np.arange(1, n_classes) / n_classes * below[-1]
    # The first value with this share of the rows below or at it begins the next class if that is nearer.
    at = np.searchsorted(below, shares * (1 - 1e-12))
    starts = [_nearer(place, share, below) for place, share in zip(at.tolist(), shares.tolist(), strict=True)]
    if len(set(starts)) < n_classes - 1 or min(starts) < 1 or max(starts) >= len(values):
        raise LogicLensError(
            f"the target cannot be cut into {n_classes} classes of about equal size, because some values are too "
            f"frequent: ask for fewer quantiles, or say {above_words(suggested_cut(numbers))}."
        )
    return TargetCuts(tuple(float(values[start]) for start in starts))


def _nearer(place: int, share: float, below: NDArray[np.float64]) -> int:
    """Return the place of the value that begins the next class: the one that brings the class nearer to its share."""
    without = float(below[place - 1]) if place else 0.0
    return place if place and share - without < float(below[place]) - share else place + 1


def suggested_cut(numbers: Any) -> float:
    """Return the median, rounded to two digits if rows are left on both sides.

    >>> suggested_cut([25, 140.5, 346])
    140.0
    """
    known = np.sort(np.asarray(numbers, dtype=np.float64))
    middle = float(np.median(known))
    for digits in range(2, 16):
        rounded = float(f"{middle:.{digits - 1}e}")
        if known[0] < rounded <= known[-1] and np.mean(known < rounded).round(1) == np.mean(known < middle).round(1):
            return rounded
    return float(next((value for value in known if value > known[0] and value >= middle), known[-1]))


def many_numbers_note(target: str | None, values: NDArray[Any], weights: NDArray[np.float64]) -> str | None:
    """Return a sentence if a target has so many different numbers as classes that it may be a measurement.

    Args:
        target: the name of the target; None if it has none.
        values: the classes.
        weights: the weight of the rows of each class.

    >>> print(many_numbers_note("length_of_stay", np.arange(1, 24), np.ones(23)))
    'length_of_stay' has 23 different numbers: if it is a measurement, cut it with above=12 (--above 12) or quantiles=3
    (--quantiles 3).
    """
    if values.dtype.kind not in "iuf" or len(values) < MANY_NUMBERS:
        return None
    # Classes that are numbered from 0 on, as by an encoder of labels.
    if np.array_equal(np.sort(values), np.arange(len(values))):
        return None
    # Counts in proportion suffice for a round number near the median.
    copies = np.ceil(weights * min(1.0, 100_000 / max(float(weights.sum()), 1.0))).astype(np.int64)
    cut = number_text(suggested_cut(np.repeat(values, np.maximum(copies, 1))))
    named = "the target" if target is None else quoted(target)
    return (
        f"{named} has {len(values)} different numbers: if it is a measurement, cut it with above={cut} (--above {cut}) "
        "or quantiles=3 (--quantiles 3)."
    )


def is_measurement(numbers: NDArray[Any]) -> bool:
    """Whether numbers are measurements instead of classes: some have decimals, or they are many with few rows each."""
    if (numbers != np.round(numbers)).any():
        return True
    n_values = len(np.unique(numbers))
    return n_values > MOST_CLASSES and len(numbers) < ROWS_PER_VALUE * n_values
