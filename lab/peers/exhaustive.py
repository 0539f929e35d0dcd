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
    """For each class, the formula of at most `max_literals` literals with the highest macro-F1 on the training rows.

    All are tried: True and False, single literals, a & b, a | b, a & b & c, a & b | c and a | b | c over concepts and
    negations. Ties go to fewer literals, then to the higher macro-F1 on the validation rows, then to the first: by
    concepts in the order of the table, then in the order above, positive before negative. Scores that differ only from
    the 12th digit on are ties. Classes are predicted by `decide` on the training rows.

    The cost grows with the third power of the number of concepts, and with the number of classes.
    """

    max_literals: int = 3

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Try all formulas; nothing is random."""
        rows, held = train.weighing(train.weight), validation.with_columns(train.names)
        formulas = tuple(found.formula(rows.names) for found in best_short(rows, held, max_literals=self.max_literals))
        return Learned(decide(formulas, rows), formulas, unlearned(rows))


@dataclass(frozen=True)
class Short:
    """A short formula and its scores: its form on these concepts, macro-F1 on training and on validation rows."""

    form: Form
    concepts: tuple[int, ...]
    score: float
    validation_score: float

    def formula(self, names: Sequence[str]) -> DNF:
        """Return the formula with the names of the concepts."""
        return DNF(
            Cube(Literal(names[self.concepts[place]], positive) for place, positive in cube) for cube in self.form
        )

    @property
    def rank(self) -> tuple[float, int, float]:
        """Return the sort key: what is compared first, second and third."""
        return self.score, -len(self.concepts), self.validation_score


def best_short(train: ConceptTable, validation: ConceptTable, *, max_literals: int = 3) -> tuple[Short, ...]:
    """Return the best formula of at most this many literals for each class."""
    counts, held = TripleCounts.of(train), TripleCounts.of(validation)
    # Any formula beats these: macro-F1 is not below 0.
    best = [Short((), (), score=-1.0, validation_score=-1.0) for _ in train.class_names]
    for choices in _all_choices(train.n_concepts, max_literals):
        cells, held_cells = counts.cells(choices), None
        for target, found in enumerate(best):
            scores = counts.scores(cells, target)
            if (scores.max(), -choices.size) < found.rank[:2]:
                continue
            # Few choices come this far, so validation rows are only counted for these.
            held_cells = held.cells(choices) if held_cells is None else held_cells
            candidate = _best_of(choices, scores, held.scores(held_cells, target))
            # Not >=: the first of equals stays.
            best[target] = candidate if candidate.rank > found.rank else found
    return tuple(best)


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices of concepts that share the first: none or one, and the others `[others, choices]`."""

    first: tuple[int, ...]
    others: NDArray[np.intp]

    @property
    def size(self) -> int:
        """Return the number of chosen concepts."""
        return len(self.first) + len(self.others)


def _all_choices(n_concepts: int, max_size: int) -> Iterator[Choices]:
    """Yield all choices of at most this many concepts: fewer first, then in the order of the concepts."""
    alone = np.zeros((0, 1), dtype=np.intp)
    yield Choices((), alone)
    yield from (Choices((first,), alone) for first in range(n_concepts))
    if max_size >= 2:
        yield from (Choices((first,), np.arange(first + 1, n_concepts)[None]) for first in range(n_concepts - 1))
    if max_size >= 3:
        for first in range(n_concepts - 2):
            pairs = np.stack(np.triu_indices(n_concepts - first - 1, k=1))
            yield Choices((first,), pairs + first + 1)


def _best_of(choices: Choices, scores: Floats, held_scores: Floats) -> Short:
    """Return the first of those with the highest score and then the highest score on the validation rows."""
    tied = np.flatnonzero(scores == scores.max())
    place = int(tied[held_scores.ravel()[tied].argmax()])
    choice, form = np.unravel_index(place, scores.shape)
    concepts = (*choices.first, *(int(concept) for concept in choices.others[:, choice]))
    return Short(forms(choices.size)[form], concepts, float(scores.flat[place]), float(held_scores.flat[place]))


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
    """Return on which of the 2^size cells each form holds: `[cells, forms]`, from all false to all true."""
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
        """Sort the rows by class, and count pairs."""
        labels = class_numbers(table)
        bits = np.concatenate([np.ones((len(table), 1)), table.boolean()], axis=1)
        places = [np.flatnonzero(labels == target) for target in range(len(table.class_names))]
        rows, weights = tuple(bits[place] for place in places), tuple(table.weight[place] for place in places)
        return cls(rows, weights, _both_true(rows, weights))

    def cells(self, choices: Choices) -> Floats:
        """Return the weight of each class in each of the 2^size cells of the chosen concepts: `[class, choice, cell]`.

        The last entry of the class axis is the weight of all classes.
        """
        required = [self.pairs]
        for first in choices.first:
            inside = [of[:, first + 1] > 0 for of in self.rows]
            rows, weights = (
                tuple(part[keep] for part, keep in zip(parts, inside, strict=True))
                for parts in (self.rows, self.weights)
            )
            required.append(_both_true(rows, weights))
        n_classes, n_choices = len(self.rows), choices.others.shape[1]
        counted = []
        for matrix in required:
            for signs in product((0, 1), repeat=len(choices.others)):
                # Column 0, which is always true, stands for a concept without a condition.
                columns = np.zeros((2, n_choices), dtype=np.intp)
                columns[: len(signs)] = (choices.others + 1) * np.array(signs, dtype=np.intp)[:, None]
                counted.append(matrix[:, columns[0], columns[1]])
        cells = np.stack(counted).reshape((2,) * choices.size + (n_classes, n_choices))
        for axis in range(choices.size):
            # The weight without a condition minus the weight where it is true is the weight where it is false.
            free, true = np.moveaxis(cells, axis, 0)
            free -= true
        # Differences of fractional weights leave rounding errors in empty cells.
        cells[cells < 1e-12 * self.pairs[:, 0, 0].sum()] = 0
        of_class = cells.reshape(-1, n_classes, n_choices).transpose(1, 2, 0)
        return np.concatenate([of_class, of_class.sum(axis=0, keepdims=True)])

    def scores(self, cells: Floats, target: int) -> Floats:
        """Return the macro-F1 of every form on every choice, `[choice, form]`, to 12 digits."""
        size = int(cells.shape[2]).bit_length() - 1
        of_class = self.pairs[:, 0, 0]
        yes, everyone = of_class[target], of_class.sum()
        right = cells[target] @ _truth(size)
        wrong = (cells[-1] - cells[target]) @ _truth(size)
        return np.round(macro_f1_of_counts(right, yes - right, wrong, everyone - yes - wrong), 12)


def _both_true(rows: Sequence[Floats], weights: Sequence[Floats]) -> Floats:
    """Return the weight of rows on which two columns are true, per class: `[class, column, column]`."""
    return np.stack([(of * weight[:, None]).T @ of for of, weight in zip(rows, weights, strict=True)])
