"""The rows that formulas are learned from: counted for one search, and in bags that each leave out a part of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import Parcels, set_apart, split_groups
from logiclens.explain.bounds import savings
from logiclens.explain.candidates import Codes, SearchRows, Support
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.knowledge import Costs
from logiclens.metrics.scores import macro_f1_of_counts

N_BAGS = 10
"""Number of bags, and of groups that the rows are dealt into."""
LEFT_OUT = 5
"""Number of groups that each bag leaves out."""
MOST_ROWS = 5_000
"""Maximum number of rows searched in a bag; of more a sample is searched, which is enough to compare lengths."""
MOST_OF_ALL = 15_000
"""Maximum number of rows of the final search; of more rows a sample is searched."""


@dataclass(frozen=True, eq=False)
class SearchTable:
    """The counted rows of a search: equal Boolean rows are one row.

    Attributes:
        names: concepts that formulas may use.
        groups: which concepts exclude or imply each other.
        bits: values of these concepts.
        weight: weight of each row, without class weights.
        labels: weight of each class on each row, without class weights.
        scored_weight: weight of each row in the score, with class weights.
        scored: weight of each class on each row in the score, with class weights.
        part: share of these rows in all rows that formulas are learned from.
        float_bits: cache of `bits` as float32.
    """

    names: tuple[str, ...]
    groups: Groups
    bits: NDArray[np.bool_]
    weight: NDArray[np.float64]
    labels: NDArray[np.float64]
    scored_weight: NDArray[np.float64]
    scored: NDArray[np.float64]
    part: float = 1.0
    float_bits: list[NDArray[np.float32]] = field(default_factory=list, repr=False)

    def rows(self, klass: int, far: int | None = None) -> SearchRows:
        """Return the rows for the formula of a class.

        Args:
            klass: the class.
            far: maximum number of rows of other classes. A sample of them is taken, evenly spaced by weight in the
                order of the rows, with the weight of all of them. Default: no maximum.
        """
        if not self.float_bits:
            self.float_bits.append(np.ascontiguousarray(self.bits, dtype=np.float32))
        columns = self.float_bits[0]
        target, right, weight = self.scored[:, klass], self.labels[:, klass], self.weight
        no = self.scored_weight - target
        is_far = right <= 0
        if far is not None and is_far.sum() > far:
            places = np.flatnonzero(is_far)
            # Evenly spaced by weight: a row with the weight of several is taken that many times.
            end = np.cumsum(weight[places])
            times = np.bincount(np.searchsorted(end, (np.arange(far) + 0.5) * end[-1] / far), minlength=len(places))
            sample = places[times > 0]
            used = np.sort(np.concatenate([np.flatnonzero(~is_far), sample]))
            factor = np.ones(len(no))
            factor[sample] = times[times > 0] * end[-1] / far / weight[sample]
            columns, target, right = columns[used], target[used], right[used]
            no, weight = (no * factor)[used], (weight * factor)[used]
        yes_, no_, right_, weight_ = (part.astype(np.float32) for part in (target, no, right, weight))
        return SearchRows(columns, yes_, no_, yes_ if np.array_equal(right_, yes_) else right_, weight_, self.names)

    def support(self, klass: int, at_least: float | None) -> Support:
        """Return the requirements for a cube of the class."""
        return Support.of(self.labels[:, klass], self.weight, at_least, self.part)

    def plain(self, cubes: Sequence[Codes]) -> tuple[Codes, ...]:
        """Return the formula without literals that the other literals of their cube imply by the groups.

        It holds on the same possible rows. At a price of 0 the search has no reason to drop such literals.
        """
        return tuple(dict.fromkeys(self._plain_cube(cube) for cube in cubes))

    def _plain_cube(self, cube: Codes) -> Codes:
        literals = {code: Literal(self.names[code >> 1], not code & 1) for code in cube}
        for code in () if self.groups.is_empty else cube:
            others = Cube(literal for other, literal in literals.items() if other != code)
            if self.groups.apart(others, Cube([literals[code].negated])):
                del literals[code]
        return tuple(literals)

    def fires(self, cubes: Sequence[Codes]) -> NDArray[np.bool_]:
        """Return on which rows a formula holds."""
        fired = np.zeros(len(self.bits), dtype=np.bool_)
        for cube in cubes:
            held = np.ones(len(self.bits), dtype=np.bool_)
            for code in cube:
                held &= self.bits[:, code >> 1] == (1 - (code & 1))
            fired |= held
        return fired

    def fit(self, klass: int, cubes: Sequence[Codes], costs: Sequence[Costs] | None = None) -> float:
        """Return the score of a formula against the labels: macro-F1, or with costs what it saves."""
        fires, yes = self.fires(cubes), self.scored[:, klass]
        no = self.scored_weight - yes
        hit, wrong = float(yes[fires].sum()), float(no[fires].sum())
        if costs is not None:
            return float(savings(hit, wrong, float(yes.sum()), float(no.sum()), costs[klass]))
        return float(macro_f1_of_counts(hit, float(yes.sum()) - hit, wrong, float(no.sum()) - wrong))


@dataclass(frozen=True, eq=False)
class Bag:
    """A part of the rows that formulas are searched on, and the rows that it leaves out, which they are tested on."""

    train: SearchTable
    test: SearchTable


@dataclass(frozen=True, eq=False)
class LearningRows:
    """What formulas are learned from.

    Attributes:
        table: the rows as concepts. Its labels are those that `targets` come from; None if these are answers.
        targets: the share of each class in each row that formulas match: labels, or the answers of a model.
        factors: weight of each class in the score. Default: None, equal weights.
        unit: unit of each row, which no bag divides; see `DistinctRows`. Default: None, no units.
        only: concepts that formulas may use. Default: None, all.
        about: what concepts are about, such as the column of a threshold. Default: each stands alone.
    """

    table: ConceptTable
    targets: NDArray[np.float64]
    factors: NDArray[np.float64] | None = None
    unit: NDArray[np.intp] | None = None
    only: tuple[str, ...] | None = None
    about: Mapping[str, Hashable] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The concepts that formulas may use."""
        names = self.table.names
        return names if self.only is None else tuple(name for name in names if name in set(self.only))

    @property
    def abouts(self) -> tuple[Hashable, ...]:
        """What each of these concepts is about."""
        return tuple(self.about.get(name, name) for name in self.names)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.targets.shape[1])

    @property
    def is_multilabel(self) -> bool:
        """Whether each class is a yes/no question of its own."""
        return self.table.is_multilabel

    @cached_property
    def _bits(self) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """The distinct rows on these concepts, and the place of each row among them."""
        columns = np.array([self.table.names.index(name) for name in self.names], dtype=np.intp)
        bits = self.table.boolean()[:, columns]
        first, group = distinct(bits)
        return bits[first], group

    @cached_property
    def _strata(self) -> NDArray[np.intp] | None:
        return None if self.is_multilabel else self.targets.argmax(axis=1)

    @cached_property
    def everything(self) -> SearchTable:
        """All rows, or a sample if there are very many."""
        return self.counted(self.table.weight, MOST_OF_ALL)

    @cached_property
    def bags(self) -> tuple[Bag, ...]:
        """The bags; none if there are too few rows.

        Each leaves out some of the groups that rows are dealt into, so that every row is left out equally often.
        """
        weight = self.table.weight
        n_groups = min(N_BAGS, int(self._rarest()))
        if n_groups < 2:
            return ()
        groups = split_groups(self._strata, weight, n_groups, self.unit)
        n_out = max(1, round(n_groups * LEFT_OUT / N_BAGS))
        bags = []
        for place in range(n_groups):
            out = groups[[(place + step) % n_groups for step in range(n_out)]].sum(axis=0)
            bags.append(Bag(self.counted(weight - out, MOST_ROWS), self.counted(out)))
        return tuple(bags)

    def uncounted(self, klass: int) -> SearchRows:
        """Return all rows as they are, without their concepts, for the score of a class."""
        weight = self.table.weight * (1.0 if self.factors is None else self.factors[self.targets.argmax(axis=1)])
        share = self.targets[:, klass]
        yes, no = (part.astype(np.float32) for part in (share * weight, (1 - share) * weight))
        nothing = np.zeros((len(yes), 0), dtype=np.float32)
        return SearchRows(nothing, yes, no, yes, weight.astype(np.float32), ())

    def _rarest(self) -> float:
        """Return the number of rows, or of units, of the rarest class; with several labels, of the rarest answer."""
        parcels = Parcels.of(None, self.table.weight, self.unit)
        sizes = [parcels.count(self.targets[:, klass] > 0) for klass in range(self.n_classes)]
        if self.is_multilabel:
            sizes += [parcels.count(self.targets[:, klass] <= 0) for klass in range(self.n_classes)]
        return min((size for size in sizes if size > 0), default=0.0)

    def counted(self, weight: NDArray[np.float64], most: int | None = None) -> SearchTable:
        """Return some of the rows counted.

        Args:
            weight: weight of each row.
            most: maximum number of rows; of more, a sample is taken, evenly spread over the classes. Default: None, no
                maximum.
        """
        whole = float(self.table.weight.sum())
        n_rows = int((weight > 0).sum())
        if most is not None and n_rows > most:
            weight = weight - set_apart(self._strata, weight, 1 - most / n_rows)
        part = float(weight.sum()) / whole if whole else 1.0
        bits, group = self._bits
        factor = np.ones(len(weight))
        if self.factors is not None and not self.is_multilabel:
            factor = self.factors[self.targets.argmax(axis=1)]

        def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
            if values.ndim == 1:
                return np.bincount(group, values, minlength=len(bits)).astype(np.float64)
            return np.stack([summed(column) for column in values.T], axis=1)

        counts = summed(weight)
        there = counts > 0
        labels, scored = summed(self.targets * weight[:, None]), summed(self.targets * (weight * factor)[:, None])
        return SearchTable(
            self.names, self.table.groups, bits[there], counts[there], labels[there], summed(weight * factor)[there],
            scored[there], part,
        )  # fmt: skip
