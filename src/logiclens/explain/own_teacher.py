"""Search the formulas of a given network, which is the teacher of its own search. `classwise` uses it.

Nothing is trained. Formulas match the answers of the network, or the labels, and their length is chosen as for any
rules; see `logiclens.explain.length`. Of a small truth table the shortest formula is taken. A table is small if it has
few distinct rows, or if every possible row is present.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.choice import MANY_CLASSES, Choice, choose, learn_rules
from logiclens.explain.length import FormulaLimits, SearchConfig
from logiclens.explain.reading import Reading
from logiclens.explain.search_table import LearningRows
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import DNF, Complement, written
from logiclens.formula.minimisation import minimise, row_bits
from logiclens.formula.packed_rows import places
from logiclens.formula.primes import EXACT_CONCEPTS
from logiclens.formula.truth_table import TruthTable

ScoreAgainst = Literal["labels", "network"]

FEW_ROWS = 25
"""Minimum number of distinct rows for a search. With fewer, a fold is smaller than a cube's support must be."""
TOO_FEW = "too few rows to choose a length by cross-validation: the shortest formula with the same answers is taken."


@dataclass(frozen=True, eq=False)
class FoundFormula:
    """The formula of one head, how it was chosen, whether it is proved to be the shortest, and a note.

    `choice_of_other` is how the formula was chosen that a complement refers to.
    """

    formula: DNF | Complement
    choice: Choice | None = None
    proved_minimal: bool = False
    note: str | None = None
    choice_of_other: Choice | None = None


@dataclass(frozen=True, eq=False)
class OwnTeacher:
    """A network as the teacher of its own formulas.

    Args:
        reading: answers of the network on the rows that formulas are chosen on.
        score_against: what formulas match: the answers of the network, or the labels.
        limits: limits on the formulas.
    """

    reading: Reading
    score_against: ScoreAgainst
    limits: FormulaLimits

    @property
    def one_decides_both(self) -> bool:
        """Whether there are two heads and the larger output answers. One formula then states both classes."""
        labels_differ = self.score_against == "labels" and self.reading.table.is_multilabel
        return self.reading.n_heads == 2 and self.reading.answer == "argmax" and not labels_differ

    @cached_property
    def targets(self) -> NDArray[np.float64]:
        """What formulas match, 0/1 `[rows, heads]`."""
        return self.reading.yes.astype(np.float64) if self.score_against == "network" else self.reading.targets()

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """Weight of each row; rows that violate a group have weight 0."""
        table = self.reading.table
        return table.weight * table.groups.allows(self.reading.bits, table.names)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Order of the rows that depends on their content only, not on the input order; equal rows are adjacent."""
        _, group = self.reading.table.distinct
        place = np.random.default_rng(0).permutation(int(group.max()) + 1)
        return np.lexsort((*self.targets.T, place[group]))

    @cached_property
    def copies(self) -> NDArray[np.float64]:
        """Number of rows that each row stands for; see `ConceptTable.copies`."""
        counts = (self.weight == np.round(self.weight)).all()
        return self.weight if counts else (self.weight > 0).astype(np.float64)

    def both(self) -> tuple[FoundFormula, FoundFormula]:
        """Return the formulas of two heads: one is stated, the other is its complement."""
        shortest = [self._shortest(head) for head in (0, 1)]
        minima = [(found, head) for head, found in enumerate(shortest) if found is not None]
        if len(minima) == 2:
            sizes = self.weight @ self.targets
            found, head = min(minima, key=lambda one: (*_length(written(one[0].formula)), sizes[one[1]]))
            other = FoundFormula(Complement(written(found.formula)), None, found.proved_minimal)
            return (found, other) if head == 0 else (other, found)
        learned = learn_rules(self._rows(self.targets.argmax(axis=1), [0, 1]), self.limits_of_search)
        (choice,) = learned.choices
        formula = self._positive(choice.formula)
        searched, other = (
            FoundFormula(formula, choice, note=choice.note),
            FoundFormula(Complement(formula), choice_of_other=choice),
        )
        return (searched, other) if choice.klass == 0 else (other, searched)

    def one(self, head: int) -> FoundFormula:
        """Return the formula of one head, independent of the other heads."""
        shortest = self._shortest(head)
        if shortest is not None:
            return shortest
        (choice,) = choose(self._rows(self.targets[:, [head]].astype(np.int64), [head]), self.limits_of_search)
        return FoundFormula(self._positive(choice.formula), replace(choice, klass=head), note=choice.note)

    @property
    def chooses_together(self) -> bool:
        """Whether there are so many heads that one price is chosen for all of them; see `logiclens.explain.length`."""
        one_class_a_row = self.reading.answer == "argmax" and bool((self.targets.sum(axis=1) == 1).all())
        return one_class_a_row and self.reading.n_heads > MANY_CLASSES

    def many(self) -> list[FoundFormula]:
        """Return the formulas of many heads, at one price."""
        heads = list(range(self.reading.n_heads))
        shortest = [self._shortest(head) for head in heads]
        if any(found is not None for found in shortest):
            return [self.one(head) for head in heads]
        choices = choose(self._rows(self.targets.argmax(axis=1), heads), self.limits_of_search)
        return [FoundFormula(self._positive(choice.formula), choice, note=choice.note) for choice in choices]

    def _concepts(self, head: int) -> NDArray[np.intp]:
        """Return the concepts that an answer depends on: with `argmax`, those of all heads."""
        uses = self.reading.uses
        return np.flatnonzero(uses.any(axis=0) if self.reading.answer == "argmax" else uses[head])

    @property
    def limits_of_search(self) -> SearchConfig:
        """The limits on the formulas, as settings of the search."""
        return SearchConfig(**vars(self.limits))

    def _rows(self, labels: NDArray[np.int64], heads: list[int]) -> LearningRows:
        """Return the rows in an order that does not depend on the input, with what formulas match."""
        table, order = self.reading.table, self.order
        answered = ConceptTable(
            self.reading.bits[order],
            table.names,
            labels[order],
            [self.reading.class_names[head] for head in heads],
            table.exclusive,
            self.weight[order],
            implied=table.groups.implied,
        )
        only = tuple(table.names[column] for column in self._concepts(heads[0]).tolist())
        return LearningRows(answered, self.targets[order][:, heads], only=only or None)

    def _shortest(self, head: int) -> FoundFormula | None:
        """Return the shortest formula of a small truth table; None if the table is not small or limits forbid it.

        A table is small if it has few distinct rows, or every possible row: cross-validation would test on rows that
        can never be new.
        """
        bits = self.reading.bits[self.weight > 0]
        columns = self._concepts(head)
        columns = columns[np.ptp(bits[:, columns].astype(np.int8), axis=0) > 0]
        names = [self.reading.table.names[column] for column in columns]
        n_rows = len(distinct(bits[:, columns])[0])
        complete = self._n_possible(names) == n_rows
        if not complete and n_rows >= FEW_ROWS:
            return None
        table = self._truth_table(names, self.targets[:, head] > 0)
        found = minimise(table, positive=True)
        if found.formula.is_constant or not self.limits.allow(found.formula):
            return None
        many = complete or self.copies.sum() >= FEW_ROWS
        return FoundFormula(found.formula, None, found.proved, None if many else TOO_FEW)

    def _n_possible(self, names: Sequence[str]) -> int | None:
        """Return the number of rows that the groups allow; None of too many concepts."""
        if len(names) > EXACT_CONCEPTS:
            return None
        every = row_bits(np.arange(1 << len(names)), len(names))
        return int(self.reading.table.groups.allows(every, names).sum())

    def _positive(self, formula: DNF) -> DNF:
        """Return a formula with fewer negations if one that is not longer has the same answers on all rows.

        With exclusive groups the search may find `~two & ~four` where `one | three` says the same.
        """
        table = self.reading.table
        negated = {literal.concept for cube in formula for literal in cube if not literal.positive}
        touched = {name for group in table.exclusive if negated.intersection(group) for name in group}
        used = touched.union(formula.concepts)
        names = [name for name in table.names if name in used]
        if not touched or len(names) > EXACT_CONCEPTS:
            return formula
        answers = formula.evaluate(self.reading.bits, table.names)
        found = minimise(self._truth_table(names, answers), positive=True).formula
        return found if _length(found) < _length(formula) else formula

    def _truth_table(self, names: Sequence[str], answers: NDArray[np.bool_]) -> TruthTable:
        """Return the truth table of the rows on some concepts, with some answers."""
        table, there = self.reading.table, self.weight > 0
        groups = table.groups.among(names)
        bits = self.reading.bits[there][:, places(names, table.names)]
        return TruthTable.of(
            bits,
            names,
            answers[there],
            weight=self.weight[there],
            exclusive=groups.exclusive,
            implied=groups.implied,
        )


def _length(formula: DNF) -> tuple[int, int]:
    """Return the number of literals and the number of negations among them."""
    return formula.n_literals, sum(not literal.positive for cube in formula for literal in cube)


def notes_of(found: Mapping[int, FoundFormula], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the notes on the choices for the reader, each with the name of its class."""
    return tuple(f"{names[head]}: {one.note}" for head, one in found.items() if one.note)
