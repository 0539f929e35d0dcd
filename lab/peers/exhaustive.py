"""The best of all formulas with at most three literals, which is the limit of what so few literals can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lab.peers.learner import Learned, class_numbers, decide, unlearned
from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.metrics.scores import macro_f1_of_counts

Floats = NDArray[np.float64]
Form = tuple[tuple[tuple[int, bool], ...], ...]
"""A formula without names: cubes of (position among the chosen concepts, positive)."""

# With three literals, a concept that occurs twice makes the formula equal to a shorter one, so each occurs once.
PARTITIONS: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    0: ((), ((),)),
    1: (((0,),),),
    2: (((0, 1),), ((0,), (1,))),
    3: (((0, 1, 2),), ((0, 1), (2,)), ((0, 2), (1,)), ((1, 2), (0,)), ((0,), (1,), (2,))),
}
"""All ways to arrange this many literals in cubes."""


@dataclass(frozen=True)
class BestShortDNF:
    """For each class, the formula of at most three literals with the highest macro-F1 on the training rows.

    All are tried: True and False, single literals, a & b, a | b, a & b & c, a & b | c and a | b | c over concepts and
    negations. Ties go to fewer literals, then to the higher macro-F1 on the validation rows, then to the first: by
    concepts in the order of the table, then in the order above, positive before negative. Scores that differ only from
    the 12th digit on are ties. Classes are predicted by `decide` on the training rows.
    """

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        rows = train.weighing(train.weight)
        formulas = best_short(rows, validation.with_columns(train.names))
        return Learned(decide(formulas, rows), formulas, unlearned(rows))


def best_short(train: ConceptTable, validation: ConceptTable) -> tuple[DNF, ...]:
    counts, checked = TripleCounts.of(train), TripleCounts.of(validation)
    ranks = [(-1.0, 0, -1.0)] * len(train.class_names)
    best = [DNF.false] * len(train.class_names)
    for first, others in _choices(train.n_concepts):
        cells, checked_cells = counts.cells(first, others), None
        size = len(first) + len(others)
        for target in range(len(best)):
            scores = counts.scores(cells, target)
            if (scores.max(), -size) < ranks[target][:2]:
                continue
            # Few choices come this far, so validation rows are only counted for these.
            checked_cells = checked.cells(first, others) if checked_cells is None else checked_cells
            validation_scores = checked.scores(checked_cells, target)
            tied = np.flatnonzero(scores == scores.max())
            place = int(tied[validation_scores.ravel()[tied].argmax()])
            rank = (float(scores.flat[place]), -size, float(validation_scores.flat[place]))
            # Not >=: the first of equals stays.
            if rank > ranks[target]:
                choice, form = np.unravel_index(place, scores.shape)
                concepts = (*first, *others[:, choice].tolist())
                ranks[target], best[target] = rank, _named(forms(size)[form], concepts, train.names)
    return tuple(best)


def _named(form: Form, concepts: Sequence[int], names: Sequence[str]) -> DNF:
    return DNF(Cube(Literal(names[concepts[place]], positive) for place, positive in cube) for cube in form)


def _choices(n_concepts: int) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp]]]:
    alone = np.zeros((0, 1), dtype=np.intp)
    yield (), alone
    yield from (((first,), alone) for first in range(n_concepts))
    yield from (((first,), np.arange(first + 1, n_concepts)[None]) for first in range(n_concepts - 1))
    for first in range(n_concepts - 2):
        yield (first,), np.stack(np.triu_indices(n_concepts - first - 1, k=1)) + first + 1


@cache
def forms(size: int) -> tuple[Form, ...]:
    """Return all formulas with this many literals on this many concepts, each used once.

    >>> [len(forms(size)) for size in (0, 1, 2, 3)]
    [2, 2, 8, 40]
    """
    return tuple(
        tuple(tuple((place, signs[place]) for place in block) for block in partition)
        for partition in PARTITIONS[size]
        for signs in product((True, False), repeat=size)
    )


@cache
def _truth(size: int) -> Floats:
    return np.array(
        [
            [any(all(cell[place] == positive for place, positive in cube) for cube in form) for form in forms(size)]
            for cell in product((False, True), repeat=size)
        ],
        dtype=np.float64,
    )


@dataclass(frozen=True, eq=False)
class TripleCounts:
    """The weight of each class for given values of up to three concepts.

    Only rows on which concepts are all true are counted, by matrix products; other signs follow by inclusion and
    exclusion. Column 0 of `rows` is always true, so that singles and pairs are triples too.
    """

    rows: tuple[Floats, ...]
    weights: tuple[Floats, ...]
    pairs: Floats

    @classmethod
    def of(cls, table: ConceptTable) -> TripleCounts:
        labels = class_numbers(table)
        bits = np.concatenate([np.ones((len(table), 1)), table.boolean()], axis=1)
        places = [np.flatnonzero(labels == target) for target in range(len(table.class_names))]
        rows, weights = tuple(bits[place] for place in places), tuple(table.weight[place] for place in places)
        return cls(rows, weights, _both_true(rows, weights))

    def cells(self, first: tuple[int, ...], others: NDArray[np.intp]) -> Floats:
        """Return the weight of each class in each of the 2^size cells of the chosen concepts: `[class, choice, cell]`.

        The last entry of the class axis is the weight of all classes.
        """
        required = [self.pairs]
        for concept in first:
            inside = [of[:, concept + 1] > 0 for of in self.rows]
            parts = ([part[i] for part, i in zip(each, inside, strict=True)] for each in (self.rows, self.weights))
            required.append(_both_true(*parts))
        n_classes, n_choices, size = len(self.rows), others.shape[1], len(first) + len(others)
        counted = []
        for matrix, signs in product(required, product((0, 1), repeat=len(others))):
            # Column 0, which is always true, stands for a concept without a condition.
            columns = np.zeros((2, n_choices), dtype=np.intp)
            columns[: len(signs)] = (others + 1) * np.array(signs, dtype=np.intp)[:, None]
            counted.append(matrix[:, columns[0], columns[1]])
        cells = np.stack(counted).reshape((2,) * size + (n_classes, n_choices))
        for axis in range(size):
            # The weight without a condition minus the weight where it is true is the weight where it is false.
            free, true = np.moveaxis(cells, axis, 0)
            free -= true
        # Differences of fractional weights leave rounding errors in empty cells.
        cells[cells < 1e-12 * self.pairs[:, 0, 0].sum()] = 0
        of_class = cells.reshape(-1, n_classes, n_choices).transpose(1, 2, 0)
        return np.concatenate([of_class, of_class.sum(axis=0, keepdims=True)])

    def scores(self, cells: Floats, target: int) -> Floats:
        truth = _truth(int(cells.shape[2]).bit_length() - 1)
        of_class = self.pairs[:, 0, 0]
        yes, everyone = of_class[target], of_class.sum()
        right, wrong = cells[target] @ truth, (cells[-1] - cells[target]) @ truth
        return np.round(macro_f1_of_counts(right, yes - right, wrong, everyone - yes - wrong), 12)


def _both_true(rows: Sequence[Floats], weights: Sequence[Floats]) -> Floats:
    return np.stack([(of * weight[:, None]).T @ of for of, weight in zip(rows, weights, strict=True)])
