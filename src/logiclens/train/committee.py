"""A committee of networks trained on bags of the rows, and their predictions for rows that they have not seen.

The rows are split into groups. For every pair of groups one member is trained without it: five groups give ten members.
The members that have not seen a row give its out-of-bag probability. Cross-validation uses the same groups as folds: if
one group is the test group, the label of a row in another group comes from the network that has seen neither. That
network is the member without this pair. If concepts are found again without the test group, a further network is
trained on these concepts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import set_apart

if TYPE_CHECKING:
    from torch import nn

    from logiclens.concepts.booleaniser import Cutting
    from logiclens.nn.layers import EntropyNet

    Probabilities = Callable[[nn.Module, ConceptTable], NDArray[np.float64]]

MANY_CLASSES = 12
"""Number of classes above which one price and one share are used for all, chosen on this many classes."""
N_GROUPS = 5
"""Default number of groups of rows; there is one member for each pair of groups."""
BAG = 3_000
"""Largest number of distinct rows in a bag; a larger bag is sampled."""
INNER_BAG = 2_000
"""The same for a network that is used in one inner fold only."""
BAG_CELLS = 32_000_000
"""Largest rows × concepts × classes of a bag, so that a bag is also sampled if there are many classes."""
PROBABILITY_STEPS = 32
"""Probabilities are rounded to multiples of 1 / PROBABILITY_STEPS, so that their sums are exact."""


@dataclass(frozen=True, eq=False)
class CutRows:
    """Training rows as concepts.

    Attributes:
        table: the training rows.
        validation: rows that choose the epoch, if given.
        about: the subject of each concept, such as its column, if concepts of two tables are compared.
        cutting: how the concepts were cut, if they were.
    """

    table: ConceptTable
    validation: ConceptTable | None = None
    about: Mapping[str, Hashable] | None = None
    cutting: Cutting | None = None


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Training rows in groups.

    Attributes:
        cut: the rows as concepts that were found on all rows.
        groups: weight of each row in each group, `[groups, rows]`; the sum over groups is the weight of the row.
        without: for each group, the rows as concepts that were found without this group; empty if concepts do not
            depend on the rows.
        alone: whether one network is trained on all rows, instead of a committee. Default: False.
        unit: the unit of each row, which no split divides; see `DistinctRows`. Default: None, no units.
    """

    cut: CutRows
    groups: NDArray[np.float64]
    without: tuple[CutRows, ...] = ()
    alone: bool = False
    unit: NDArray[np.intp] | None = None

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.groups)

    @property
    def weight(self) -> NDArray[np.float64]:
        """The weight of each row."""
        weight: NDArray[np.float64] = self.groups.sum(axis=0)
        return weight

    def fold(self, group: int) -> CutRows:
        """Return the rows as concepts for the fold in which `group` is the test group."""
        return self.without[group] if self.without else self.cut

    def jobs(self) -> list[Job]:
        """Return the networks to train: the members, and those that only cross-validation needs."""
        members = [Job(self.cut, pair, None) for pair in self.pairs]
        inner = [
            Job(self.without[group], tuple(sorted((group, other))), group)
            for group in range(self.n_groups if self.without and self.n_groups > 2 and not self.alone else 0)
            for other in range(self.n_groups)
            if other != group
        ]
        return members + inner

    @property
    def pairs(self) -> list[tuple[int, ...]]:
        """The groups that each member leaves out: pairs; single groups if there are two; none if there is one."""
        if self.alone:
            return [()]
        if self.n_groups > 2:
            return list(combinations(range(self.n_groups), 2))
        return [(group,) for group in range(self.n_groups)] if self.n_groups == 2 else [()]


@dataclass(frozen=True, eq=False)
class Job:
    """One network to train: its rows, the groups it leaves out, and the only test group it is for, if any."""

    cut: CutRows
    left_out: tuple[int, ...]
    test: int | None

    def bag(self, grouped: GroupedRows, validation: float) -> tuple[ConceptTable, ConceptTable | None]:
        """Return the training and the validation rows of this network.

        Args:
            grouped: all rows.
            validation: share of the bag that becomes validation rows if none were given.
        """
        weight = grouped.weight - grouped.groups[list(self.left_out)].sum(axis=0)
        table = self.cut.table
        most = bag_size(table)
        weight = _at_most(table, weight, most if self.test is None else min(most, INNER_BAG))
        if self.cut.validation is not None:
            held = self.cut.validation
            if most < BAG:
                # Validation rows are evaluated in every epoch, which is expensive if bags must be small.
                held = held.weighing(_at_most(held, held.weight, max(most // 3, 1)))
            return table.weighing(weight), held
        strata = None if table.is_multilabel else np.asarray(table.labels)
        held_weight = set_apart(strata, weight, validation, grouped.unit)
        return table.weighing(weight - held_weight), table.weighing(held_weight) if held_weight.any() else None


def bag_size(table: ConceptTable) -> int:
    """Return the largest number of distinct rows in a bag."""
    return min(BAG, max(4 * len(table.class_names), BAG_CELLS // (table.n_concepts * len(table.class_names) or 1)))


def _at_most(table: ConceptTable, weight: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
    """Return weights that keep about `n_rows` rows, stratified by class so that no class loses all of its rows."""
    there = int((weight > 0).sum())
    if there <= n_rows:
        return weight
    return weight - set_apart(None if table.is_multilabel else np.asarray(table.labels), weight, 1 - n_rows / there)


@dataclass(frozen=True, eq=False)
class Taught:
    """Rows with the probabilities of a teacher, for a search to learn from or to be tested on.

    Attributes:
        table: the rows.
        weight: weight of each row.
        probability: weight of each row times the probability of each class, by networks that have not seen the row.
        about: the subject of each concept; see `CutRows`.
        answers: answers of another teacher, which then replace the labels.
    """

    table: ConceptTable
    weight: NDArray[np.float64]
    probability: NDArray[np.float64]
    about: Mapping[str, Hashable] | None = None
    answers: NDArray[np.float64] | None = None

    def at_most(self, n_rows: int) -> Taught:
        """Return about `n_rows` of the rows, stratified by class; all rows if there are no more."""
        weight = _at_most(self.table, self.weight, n_rows)
        if weight is self.weight:
            return self
        share = np.divide(weight, self.weight, out=np.zeros_like(weight), where=self.weight > 0)
        return replace(self, weight=weight, probability=self.probability * share[:, None])

    def targets(self) -> NDArray[np.float64]:
        """Return the labels, or the answers of another teacher, as 0/1 `[rows, classes]`; rules are scored on these."""
        return self.table.targets() if self.answers is None else self.answers


@dataclass(frozen=True, eq=False)
class Teacher:
    """Trained networks of grouped rows.

    Attributes:
        grouped: the rows.
        jobs: the networks that were trained.
        answers: for each job, the rounded probabilities of all rows, `[rows, classes]`.
        other: probabilities and answers of another teacher, `[2, rows, classes]`, which then replace those of the
            networks and the labels.
    """

    grouped: GroupedRows
    jobs: Sequence[Job]
    answers: Sequence[NDArray[np.float64]]
    other: NDArray[np.float64] | None = None

    @property
    def in_bag(self) -> bool:
        """Whether every network has seen all rows."""
        return self.grouped.alone or self.grouped.n_groups < 2

    def all_rows(self) -> Taught:
        """Return all rows, each with the mean probability of the members that have not seen it."""
        grouped = self.grouped
        if self.other is not None:
            return self._by_other(grouped.cut, grouped.weight)
        mass = np.zeros_like(self.answers[0])
        for group, weight in enumerate(grouped.groups):
            members = [place for place, job in enumerate(self.jobs) if job.test is None and group in job.left_out]
            # A single network has seen all rows, so its probabilities are used.
            members = members or [place for place, job in enumerate(self.jobs) if job.test is None]
            mass += weight[:, None] * np.mean([self.answers[place] for place in members], axis=0)
        return Taught(grouped.cut.table, grouped.weight, mass, grouped.cut.about)

    def without(self, test: int) -> Taught | None:
        """Return the rows of the other groups, with probabilities of the network that saw neither them nor the test.

        Return None if there are too few groups for that.
        """
        grouped = self.grouped
        if self.other is not None:
            return self._by_other(grouped.fold(test), grouped.weight - grouped.groups[test])
        if grouped.alone or grouped.n_groups < 3:
            return None
        mass = np.zeros_like(self.answers[0])
        for group, weight in enumerate(grouped.groups):
            if group == test:
                continue
            pair = tuple(sorted((group, test)))
            wanted = test if grouped.without else None
            place = next(place for place, job in enumerate(self.jobs) if job.left_out == pair and job.test == wanted)
            mass += weight[:, None] * self.answers[place]
        cut = grouped.fold(test)
        return Taught(cut.table, grouped.weight - grouped.groups[test], mass, cut.about)

    def bag(self, member: int) -> Taught:
        """Return the rows of one member with its own probabilities."""
        job = self.jobs[member]
        weight = self.grouped.weight - self.grouped.groups[list(job.left_out)].sum(axis=0)
        if self.other is not None:
            return self._by_other(self.grouped.cut, weight)
        return Taught(self.grouped.cut.table, weight, weight[:, None] * self.answers[member])

    def tested(self, test: int) -> Taught:
        """Return the rows of a test group with their labels as probabilities."""
        cut, weight = self.grouped.fold(test), self.grouped.groups[test]
        if self.other is not None:
            return self._by_other(cut, weight)
        return Taught(cut.table, weight, weight[:, None] * cut.table.targets(), cut.about)

    def _by_other(self, cut: CutRows, weight: NDArray[np.float64]) -> Taught:
        probability, said = self.other if self.other is not None else np.stack([cut.table.targets()] * 2)
        steps = np.round(probability * PROBABILITY_STEPS) / PROBABILITY_STEPS
        return Taught(cut.table, weight, weight[:, None] * steps, cut.about, said)

    @property
    def n_members(self) -> int:
        """The number of members of the committee."""
        return sum(job.test is None for job in self.jobs)


def teacher_of(
    grouped: GroupedRows,
    jobs: Sequence[Job],
    networks: Sequence[EntropyNet],
    probabilities: Probabilities,
    other: NDArray[np.float64] | None = None,
) -> Teacher:
    """Compute the probabilities of every network on all rows.

    Args:
        grouped: the rows.
        jobs: the networks that were trained.
        networks: the trained networks, one for each job.
        probabilities: function that returns the probabilities of a network on a table.
        other: probabilities of another teacher, which replace those of the networks; none by default.
    """
    answers = [
        np.round(probabilities(network, job.cut.table) * PROBABILITY_STEPS) / PROBABILITY_STEPS
        for network, job in zip(networks, jobs, strict=True)
    ]
    return Teacher(grouped, jobs, answers, other)


def n_groups_for(committee: int | None, rarest: float, n_classes: int = 2) -> int:
    """Return the number of groups that gives at most `committee` members.

    Args:
        committee: largest number of members; None for the default. A single network is not a committee: its rows are
            grouped for cross-validation only.
        rarest: number of rows of the rarest class, which limits the number of groups.
        n_classes: number of classes; with more than `MANY_CLASSES`, the rarest class is ignored. Default: 2.
    """
    wanted = N_GROUPS
    if committee is not None and committee > 1:
        wanted = 2
        while (wanted + 1) * wanted // 2 <= committee:
            wanted += 1
    return wanted if n_classes > MANY_CLASSES else max(1, min(wanted, int(rarest)))
