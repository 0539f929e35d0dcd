"""Cutting: how raw columns become concepts, as a value that can be applied and saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.data.columns import Column, Kind
from logiclens.errors import LogicLensError
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.predicate import Predicate, Scalar


@dataclass(frozen=True)
class Membership:
    """Whether a column holds one of many categories: a concept that a network sees and no rule names.

    Attributes:
        column: the raw column.
        values: the categories, in order. A missing value is none of them.
    """

    column: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class Cutting:
    """How raw columns become concepts.

    Attributes:
        kinds: what the values of each column are that a concept is about.
        predicates: what each concept means.
        groups: which concepts exclude or imply each other.
        scales: for concepts that are rescaled columns, what becomes 0.5, and how far from it 0 and 1 lie.
        memberships: concepts for the network alone, which follow the others; rules are made of `predicates`.
    """

    kinds: Mapping[str, Kind]
    predicates: Mapping[str, Predicate]
    groups: Groups = NO_GROUPS
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    memberships: Mapping[str, Membership] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All concepts, in the order of `values`."""
        return (*self.predicates, *self.memberships)

    @property
    def literals(self) -> tuple[str, ...] | None:
        """The concepts that rules may name; None where these are all."""
        return tuple(self.predicates) if self.memberships else None

    def column_of(self, concept: str) -> str:
        """The raw column that a concept is about."""
        return (self.predicates.get(concept) or self.memberships[concept]).column

    def values(self, columns: Sequence[Column]) -> NDArray[Any]:
        """The concepts of some rows: Boolean, or in [0, 1] where columns are rescaled."""
        by_name = {column.name: column for column in columns}
        n_rows = len(columns[0]) if columns else 0
        held: NDArray[Any] = np.zeros((n_rows, len(self.names)), float if self.scales else np.bool_)
        for place, concept in enumerate(self.names):
            name = self.column_of(concept)
            if name not in by_name:
                raise LogicLensError(f"the table lacks the column {name!r} that {concept!r} is about.")
            column = by_name[name].as_kind(self.kinds[name])
            if concept in self.scales:
                held[:, place] = _rescaled(column.numbers, *self.scales[concept])
            elif concept in self.memberships:
                held[:, place] = column.is_among(self.memberships[concept].values)
            else:
                held[:, place] = column.holds(self.predicates[concept])
        return held


def _rescaled(numbers: NDArray[np.float64], middle: float, reach: float) -> NDArray[np.float64]:
    """Numbers as concepts in [0, 1], at least 0.5 exactly where they reach the middle."""
    scaled = np.clip(0.5 + (numbers - middle) / (2 * reach), 0, 1)
    # Rounding must not lift what lies just below the middle.
    scaled = np.where(numbers < middle, np.minimum(scaled, np.nextafter(0.5, 0)), scaled)
    # A missing value is below everything, as it is for a cut.
    return np.nan_to_num(scaled, nan=0.0)
