"""A committee of networks trained on bags of the rows, and what each says of rows that it has not seen.

The rows are split in groups. For every pair of groups one member is trained without it: with five groups, ten members.
The members that have not seen a row give it an out-of-bag probability. Cross-validation uses the same groups as folds:
where one group is the test, a row of another group is taught by the network that has seen neither. That network is the
member without this pair or, where concepts are found again without the test group, a further one trained on these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import set_apart
from logiclens.errors import LogicLensError
from logiclens.nn.layers import EntropyNet

MANY_CLASSES = 12
"""With more classes one price and one share serve all of them, chosen on so many classes."""
N_GROUPS = 5
"""Groups of rows by default; there is a member for each pair of them."""
BAG = 3_000
"""The most distinct rows of a bag: of a larger one a share is taken."""
INNER_BAG = 2_000
"""The same for a network that teaches one inner fold only."""
BAG_CELLS = 32_000_000
"""The most rows × concepts × classes of a bag: with many classes a share of it is taken too."""
PROBABILITY_STEPS = 32
"""Probabilities are rounded to multiples of one over this, so that sums of them are exact."""


class Committee(nn.Module):
    """Networks that answer together: the probability of a class is the mean of theirs.

    The outputs are logarithms of mean probabilities, so that a softmax gives these back; with several labels per row,
    or one head, they are the log-odds.

    Args:
        members: networks over the same concepts with the same heads.
        single: whether each head is a question of its own.
    """

    def __init__(self, members: Sequence[EntropyNet], *, single: bool = False) -> None:
        """Take the members as they are."""
        super().__init__()
        if not members:
            raise LogicLensError("a committee needs at least one member.")
        self.networks = tuple(members)
        self.members = nn.ModuleList(members)
        self.single = single
        self.n_concepts, self.n_classes = members[0].n_concepts, members[0].n_classes

    def forward(self, concepts: Float[Tensor, "*batch concept"]) -> Float[Tensor, "*batch klass"]:
        """The logarithm of the mean probability, or of its odds."""
        logits = torch.stack([member(concepts) for member in self.networks])
        if self.single:
            mean = torch.sigmoid(logits).mean(dim=0).clamp(1e-12, 1 - 1e-12)
            return torch.logit(mean)
        count = torch.log(torch.tensor(float(len(self.members)), dtype=logits.dtype, device=logits.device))
        return torch.logsumexp(torch.log_softmax(logits, dim=-1), dim=0) - count

    def relevance(self) -> Float[Tensor, "klass concept"]:
        """The mean of the members' relevance, rescaled to a largest value of 1 for each class."""
        relevance: Tensor = torch.stack([member.entropy.relevance() for member in self.networks]).mean(dim=0)
        return relevance / relevance.amax(dim=-1, keepdim=True).clamp_min(torch.finfo(relevance.dtype).tiny)


@dataclass(frozen=True, eq=False)
class CutRows:
    """The training rows as concepts, and rows that choose the epoch, where these were given.

    `about` says what a concept is about, such as its column, where concepts of two tables are to be compared.
    """

    table: ConceptTable
    validation: ConceptTable | None = None
    about: Mapping[str, Hashable] | None = None


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Training rows in groups.

    Attributes:
        cut: the rows as concepts that were found on all of them.
        groups: how much of each row is in each group, `[groups, rows]`; they add up to the weight of the rows.
        without: for each group the same rows as concepts that were found without it; empty where concepts do not
            depend on the rows.
        alone: whether one network is trained on all rows, instead of a committee.
    """

    cut: CutRows
    groups: NDArray[np.float64]
    without: tuple[CutRows, ...] = ()
    alone: bool = False

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
        """The rows as they are cut where a group is the test."""
        return self.without[group] if self.without else self.cut

    def jobs(self) -> list[Job]:
        """The networks to train: the members, and those that cross-validation needs besides."""
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
        """What each member leaves out: pairs of groups, of two groups one, of one group nothing."""
        if self.alone:
            return [()]
        if self.n_groups > 2:
            return list(combinations(range(self.n_groups), 2))
        return [(group,) for group in range(self.n_groups)] if self.n_groups == 2 else [()]


@dataclass(frozen=True, eq=False)
class Job:
    """One network to train: on which rows, without which groups, and for which test group only."""

    cut: CutRows
    left_out: tuple[int, ...]
    test: int | None

    def bag(self, grouped: GroupedRows, validation: float) -> tuple[ConceptTable, ConceptTable | None]:
        """The rows that it learns from, and those that choose its epoch: a share of its own where none were given."""
        weight = grouped.weight - grouped.groups[list(self.left_out)].sum(axis=0)
        table = self.cut.table
        most = bag_size(table)
        weight = _at_most(table, weight, most if self.test is None else min(most, INNER_BAG))
        if self.cut.validation is not None:
            held = self.cut.validation
            if most < BAG:
                # Rows that choose the epoch are asked in every epoch, which is dear where a bag must be small.
                held = held.weighing(_at_most(held, held.weight, max(most // 3, 1)))
            return table.weighing(weight), held
        strata = None if table.is_multilabel else np.asarray(table.labels)
        held_weight = set_apart(strata, weight, validation)
        return table.weighing(weight - held_weight), table.weighing(held_weight) if held_weight.any() else None


def bag_size(table: ConceptTable) -> int:
    """The most distinct rows of a bag."""
    return min(BAG, max(4 * len(table.class_names), BAG_CELLS // (table.n_concepts * len(table.class_names) or 1)))


def _at_most(table: ConceptTable, weight: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
    """Weights of about so many of the rows, evenly spread over the classes, of which none loses all; or all rows."""
    there = int((weight > 0).sum())
    if there <= n_rows:
        return weight
    return weight - set_apart(None if table.is_multilabel else np.asarray(table.labels), weight, 1 - n_rows / there)


@dataclass(frozen=True, eq=False)
class Taught:
    """Rows with what the teacher says of them: what a search learns from, or what it is tested on.

    `probability[r, i]` is the weight of row r times the probability of class i by networks that have not seen the row.
    `answers` are those of another teacher, which then take the place of labels.
    """

    table: ConceptTable
    weight: NDArray[np.float64]
    probability: NDArray[np.float64]
    about: Mapping[str, Hashable] | None = None
    answers: NDArray[np.float64] | None = None

    def at_most(self, n_rows: int) -> Taught:
        """About so many of the rows, evenly spread over the classes; all where there are no more."""
        weight = _at_most(self.table, self.weight, n_rows)
        if weight is self.weight:
            return self
        share = np.divide(weight, self.weight, out=np.zeros_like(weight), where=self.weight > 0)
        return replace(self, weight=weight, probability=self.probability * share[:, None])

    def targets(self) -> NDArray[np.float64]:
        """What rules are scored against, 0/1 `[rows, classes]`: the labels, or the answers of another teacher."""
        return self.table.targets() if self.answers is None else self.answers


@dataclass(frozen=True, eq=False)
class Teacher:
    """Trained networks of grouped rows.

    Attributes:
        grouped: the rows.
        jobs: what was trained.
        answers: for each job the probabilities of all rows, rounded, `[rows, classes]`.
        other: the probabilities and the answers of another teacher, `[2, rows, classes]`, which then take the place of
            those of the networks and of the labels.
    """

    grouped: GroupedRows
    jobs: Sequence[Job]
    answers: Sequence[NDArray[np.float64]]
    other: NDArray[np.float64] | None = None

    @property
    def in_bag(self) -> bool:
        """Whether no network has left any row out."""
        return self.grouped.alone or self.grouped.n_groups < 2

    def all_rows(self) -> Taught:
        """All rows, each with the mean of the members that have not seen it."""
        grouped = self.grouped
        if self.other is not None:
            return self._by_other(grouped.cut, grouped.weight)
        mass = np.zeros_like(self.answers[0])
        for group, weight in enumerate(grouped.groups):
            members = [place for place, job in enumerate(self.jobs) if job.test is None and group in job.left_out]
            # One network has seen everything and has to do.
            members = members or [place for place, job in enumerate(self.jobs) if job.test is None]
            mass += weight[:, None] * np.mean([self.answers[place] for place in members], axis=0)
        return Taught(grouped.cut.table, grouped.weight, mass, grouped.cut.about)

    def without(self, test: int) -> Taught | None:
        """The rows of the other groups, each taught by the network that has seen neither it nor the test group.

        None where there are too few groups for that.
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
        """The rows of one member with what it says of them itself."""
        job = self.jobs[member]
        weight = self.grouped.weight - self.grouped.groups[list(job.left_out)].sum(axis=0)
        if self.other is not None:
            return self._by_other(self.grouped.cut, weight)
        return Taught(self.grouped.cut.table, weight, weight[:, None] * self.answers[member])

    def tested(self, test: int) -> Taught:
        """The rows of a test group, with what they are compared with."""
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
        """The members of the committee."""
        return sum(job.test is None for job in self.jobs)


Probabilities = Callable[[nn.Module, ConceptTable], NDArray[np.float64]]


def teacher_of(
    grouped: GroupedRows,
    jobs: Sequence[Job],
    networks: Sequence[EntropyNet],
    probabilities: Probabilities,
    other: NDArray[np.float64] | None = None,
) -> Teacher:
    """Ask every network about all rows; `other` are the probabilities of another teacher."""
    answers = [
        np.round(probabilities(network, job.cut.table) * PROBABILITY_STEPS) / PROBABILITY_STEPS
        for network, job in zip(networks, jobs, strict=True)
    ]
    return Teacher(grouped, jobs, answers, other)


def n_groups_for(committee: int | None, rarest: float, n_classes: int = 2) -> int:
    """The groups that give at most so many members, no more than the rarest class has rows.

    Of many classes a few are chosen by: one with hardly a row must not decide. One network is no committee: its rows
    are in groups for cross-validation only.
    """
    wanted = N_GROUPS
    if committee is not None and committee > 1:
        wanted = 2
        while (wanted + 1) * wanted // 2 <= committee:
            wanted += 1
    return wanted if n_classes > MANY_CLASSES else max(1, min(wanted, int(rarest)))
