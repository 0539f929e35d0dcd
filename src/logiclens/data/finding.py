"""Finding: which concepts the columns of a table become."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from logiclens.data.columns import Kind
from logiclens.data.cuts import (
    Histogram,
    has_few_values,
    quantile_cuts,
    short_date,
    short_number,
    supervised_cuts,
    telling_cuts,
    told_by_each,
    uniform_cuts,
)
from logiclens.data.cutting import Cutting, Membership
from logiclens.data.reference import NEAR, NO_REFERENCE, Reference, ReferenceCut
from logiclens.data.tally import Tally
from logiclens.errors import LogicLensError
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate, Scalar

How: TypeAlias = Literal["supervised", "quantile", "uniform", "soft"]

N_CUTS = 3
"""Cuts of a column where no number is asked for; with "supervised" the most that are found in the column alone."""
MOST_CUTS = 8
"""The most cuts of a column with "supervised" where no number is asked for."""
GROWTH = 0.5
"""The share by which reference cuts may add to the number of cuts that are found in each column alone."""
FEW_NEW_CUTS = 12
"""So many cuts may be added to any table."""
MOST_GROUPS = 12
"""The most groups of the categories of a column."""
CONSTANT = "it has one value only"
FEW_ROWS = 20
"""With fewer rows a column of distinct values is no sign of an identifier."""
CLOSE = 5
"""Whole numbers that name rows lie on average closer than this; only a part of the rows may be here."""
_NAMED = re.compile(r"(?i:(?:^|[\W_])(?:id|nr|no|num|number|key|uid|uuid))$|[a-z](?:ID|Id|Nr|No)$")


@dataclass
class Finding:
    """The concepts found so far, column by column.

    Args:
        n_cuts: of a column, or the most of them; None: `N_CUTS`, and with a reference up to `MOST_CUTS`.
        max_categories: the most concepts for the categories of a column.
        reference: what an ensemble of trees says about supervised columns.
    """

    n_cuts: int | None
    max_categories: int
    reference: Reference = NO_REFERENCE
    kinds: dict[str, Kind] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    exclusive: list[list[str]] = field(default_factory=list)
    implied: list[list[str]] = field(default_factory=list)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    memberships: dict[str, Membership] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def cutting(self) -> Cutting:
        """All of them, as a value."""
        groups = Groups(self.exclusive, self.implied)
        return Cutting(self.kinds, self.predicates, groups, self.scales, self.memberships)

    def look_at(self, column: Tally, how: How | Sequence[Scalar]) -> None:
        """Add the concepts of a column; where there are none, say why."""
        reason = self._add(column, how)
        if reason is None:
            self.kinds[column.name] = column.kind
        else:
            self.dropped[column.name] = reason

    def _add(self, column: Tally, how: How | Sequence[Scalar]) -> str | None:
        has_missing = column.has_missing
        if column.n_rows == 0:
            return CONSTANT
        given = None if isinstance(how, str) else list(dict.fromkeys(how))
        if given == []:
            return "no cuts are given for it"
        if given is None and is_identifier(column):
            return "every row has another value, as an identifier has"
        if column.is_nominal:
            exclusive = self._categories(column, given, has_missing)
        elif column.kind == "boolean":
            varies = column.n_values > 1 or has_missing
            exclusive = [self._name(Predicate(column.name, "==", True), column.name)] if varies else []
        else:
            exclusive = self._cuts(column, how if given is None else given)
        if not exclusive and not has_missing:
            return CONSTANT
        if has_missing:
            exclusive = [*exclusive, self._name(Predicate(column.name, "missing"))]
        if len(exclusive) > 1:
            self.exclusive.append(exclusive)
        return None

    def _name(self, predicate: Predicate, name: str | None = None) -> str:
        taken = self.predicates.keys() | self.memberships.keys()
        name = str(predicate) if name is None or name in taken else name
        if name in taken:
            raise LogicLensError(f"two concepts would be called {name!r}: rename the column of that name.")
        self.predicates[name] = predicate
        return name

    def _cuts(self, column: Tally, how: How | Sequence[Scalar]) -> list[str]:
        """Add the cuts of numbers or dates; the name of the lowest, which all others imply."""
        histogram = column.histogram
        if not isinstance(how, str):
            asked = sorted((_at(column, cut) for cut in how), key=lambda predicate: _seconds(predicate.value))
            names = [self._name(predicate) for predicate in asked]
        elif histogram is None or len(histogram) < 2:
            return []
        elif how == "soft":
            names = [self._rescaled(column, histogram)]
        elif column.kind == "number" and histogram.low.tolist() == [0.0, 1.0]:
            # A flag written as a number.
            return [self._name(Predicate(column.name, "==", 1))]
        else:
            found = {_between(column, low, high) for low, high in self._gaps(column, histogram, how)}
            # Gaps may overlap: what is written puts cuts in order, and gaps for which the same is written are one cut.
            ordered = sorted(found, key=lambda predicate: _seconds(predicate.value))
            names = [self._name(predicate) for predicate in ordered]
            self._tell_loose(column, names)
        if len(names) > 1:
            self.implied.append(names)
        return names[:1]

    def keep_within(self, columns: Sequence[Tally]) -> None:
        """Leave out reference cuts that are worth least, where they would add too many concepts.

        A cut that stands for one found in the column alone adds none.
        """
        n_alone = 0
        new: list[tuple[float, str, ReferenceCut]] = []
        kept: dict[str, list[ReferenceCut]] = {}
        for column in columns:
            histogram, cuts = column.histogram, self.reference.cuts.get(column.name, ())
            if histogram is None or len(histogram) < 2:
                continue
            n_alone += len(supervised_cuts(histogram, N_CUTS))
            alone = [histogram.share_below(histogram.gap(place)[1]) for place in telling_cuts(histogram, N_CUTS)]
            for cut in cuts:
                if any(abs(histogram.share_below(cut.high) - share) < NEAR for share in alone):
                    kept.setdefault(column.name, []).append(cut)
                else:
                    new.append((cut.gain, column.name, cut))
        new.sort(key=lambda one: -round(one[0], 6))
        for _, name, cut in new[: max(FEW_NEW_CUTS, int(GROWTH * n_alone))]:
            kept.setdefault(name, []).append(cut)
        by_gain = {name: tuple(sorted(cuts, key=lambda cut: (-cut.gain, cut.low))) for name, cuts in kept.items()}
        self.reference = replace(self.reference, cuts=by_gain)

    def _gaps(self, column: Tally, histogram: Histogram, how: str) -> list[tuple[float, float]]:
        """Between which values a column is cut, in any order."""
        n_cuts = N_CUTS if self.n_cuts is None else self.n_cuts
        reference = self.reference.cuts.get(column.name, ()) if how == "supervised" else ()
        if not reference or has_few_values(histogram, n_cuts):
            finder = {"supervised": supervised_cuts, "quantile": quantile_cuts, "uniform": uniform_cuts}[how]
            return [histogram.gap(place) for place in finder(histogram, n_cuts)]
        most = MOST_CUTS if self.n_cuts is None else self.n_cuts
        gaps = [(cut.low, cut.high) for cut in reference[:most]]
        taken = [histogram.share_below(high) for _, high in gaps]
        for place in telling_cuts(histogram, n_cuts):
            low, high = histogram.gap(place)
            if len(gaps) < most and all(abs(histogram.share_below(high) - share) >= NEAR for share in taken):
                gaps.append((low, high))
        return gaps

    def _tell_loose(self, column: Tally, names: Sequence[str]) -> None:
        """Say of cuts among bins that could not be told apart how far they may be from where they would be."""
        if column.loose is not None and names:
            share = column.loose.max() / column.n_rows
            self.notes.append(
                f"the column {column.name!r} has values too close together to be told apart: {share:.2%} of the rows "
                f"are in one bin, by which its cuts ({', '.join(names)}) may be off."
            )

    def _rescaled(self, column: Tally, histogram: Histogram) -> str:
        """A concept that is the column itself, from its smallest to its largest value."""
        gap, half = histogram.gap(uniform_cuts(histogram, 1)[0]), (histogram.low[0] + histogram.high[-1]) / 2
        cut = short_date(*gap) if column.kind == "date" else short_number(*gap, near=float(half))
        name, middle = self._name(Predicate(column.name, ">=", cut)), _seconds(cut)
        reach = max(middle - float(histogram.low[0]), float(histogram.high[-1]) - middle)
        self.scales[name] = (middle, reach)
        return name

    def _categories(self, column: Tally, given: list[Any] | None, has_missing: bool) -> list[str]:
        """Add the categories of a column, in order."""
        if given is not None:
            if wrong := [cut for cut in given if isinstance(cut, str) != (column.kind == "text")]:
                kind = "text" if column.kind == "text" else "numbers"
                raise LogicLensError(f"the categories of {column.name!r} must be {kind}, got {wrong[0]!r}.")
            chosen = given
        else:
            counts = np.zeros((0, 1, 1)) if column.counts is None else column.counts
            size = counts[:, 0].sum(axis=1)
            present = np.flatnonzero(size)
            if len(present) < 2 and not has_missing:
                return []
            if len(present) > self.max_categories:
                n_categories = max(len(present), column.n_values)
                n_groups = self._add_groups(column)
                others = f"a network also sees {n_groups} groups of them, which no rule names"
                self.notes.append(
                    f"the column {column.name!r} has {n_categories:,} categories: the {self.max_categories} that tell "
                    f"most become concepts, {others if n_groups else 'the others are in none of them'}."
                )
                told = told_by_each(counts) if counts.shape[2] > 1 else np.zeros(len(size))
                # What tells most, then what is most frequent, then by name.
                order = np.lexsort((np.arange(len(size)), -size, -np.round(told, 9)))
                present = np.sort(order[: self.max_categories])
            elif len(present) == 2 and not has_missing:
                # The one is the negation of the other.
                present = present[-1:]
            chosen = [column.categories[i] for i in present]
        return [self._name(Predicate(column.name, "==", category)) for category in chosen]

    def _add_groups(self, column: Tally) -> int:
        """Add groups of categories as concepts for the network alone; how many."""
        groups = self.reference.groups.get(column.name, ())[:MOST_GROUPS]
        for number, group in enumerate(groups, start=1):
            name = f"{column.name} in group {number} ({len(group)} of {len(column.categories)} values)"
            if name in self.predicates or name in self.memberships:
                raise LogicLensError(f"two concepts would be called {name!r}: rename the column of that name.")
            self.memberships[name] = Membership(column.name, tuple(column.categories[place] for place in group))
        return len(groups)


def _between(column: Tally, low: float, high: float) -> Predicate:
    """The cut between two values, as a person would write it."""
    return Predicate(column.name, ">=", short_date(low, high) if column.kind == "date" else short_number(low, high))


def _seconds(value: Scalar) -> float:
    """A cut as the number that it is compared with."""
    if isinstance(value, str):
        return float(np.datetime64(value, "us").astype(np.int64)) / 1e6
    return float(value)


def _at(column: Tally, cut: Any) -> Predicate:
    """The cut that a user asked for."""
    if column.kind == "date":
        if not isinstance(cut, str | date | np.datetime64):
            raise LogicLensError(f"the cuts of {column.name!r} must be dates, got {cut!r}.")
        return Predicate(column.name, ">=", cut.isoformat() if isinstance(cut, date) else str(cut))
    if not isinstance(cut, Real) or isinstance(cut, bool):
        raise LogicLensError(f"the cuts of {column.name!r} must be numbers, got {cut!r}.")
    return Predicate(column.name, ">=", float(cut))


def is_identifier(column: Tally) -> bool:
    """Whether a column names rows: text or whole numbers, close together or called so, no two of them equal."""
    # Of rows that differ, a column that decides all others differs too: only copies tell it from a name.
    if column.copied or column.n_rows < FEW_ROWS or column.n_values < column.n_rows:
        return False
    if column.is_nominal:
        return True
    if not column.whole or column.histogram is None:
        return False
    reach = float(column.histogram.high[-1] - column.histogram.low[0])
    return reach < CLOSE * column.n_rows or bool(_NAMED.search(column.name))
