"""SearchTable: the counted rows of a search, with labels and teacher probabilities, for all rows, a fold or a bag.

`choice` and `length` search and compare formulas on these tables.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from logiclens.explain.candidates import Codes, SearchRows, Support
from logiclens.formula.counted_rows import distinct
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.metrics.scores import macro_f1_of_counts
from logiclens.train.committee import CutRows, Taught, Teacher

MOST_ROWS = 5_000
"""Maximum number of rows searched in an inner fold or bag.

Of more rows a sample is searched, which is enough to compare prices and shares.
"""


@dataclass(frozen=True, eq=False)
class SearchTable:
    """The counted rows of a search: equal Boolean rows are one row.

    Attributes:
        names: concepts that rules may use.
        about: what each concept is about: equal for thresholds of one column.
        groups: which concepts exclude or imply each other.
        bits: values of these concepts.
        weight: weight of each row, without class weights.
        labels: weight of each class on each row, without class weights.
        scored_weight: weight of each row in the score, with class weights.
        scored: weight of each class on each row in the score, with class weights.
        taught: the same as `scored`, with the teacher's probabilities instead of labels.
        part: share of these rows in all training rows.
        float_bits: cache of `bits` as float32.
    """

    names: tuple[str, ...]
    about: tuple[Hashable, ...]
    groups: Groups
    bits: NDArray[np.bool_]
    weight: NDArray[np.float64]
    labels: NDArray[np.float64]
    scored_weight: NDArray[np.float64]
    scored: NDArray[np.float64]
    taught: NDArray[np.float64]
    part: float = 1.0
    float_bits: list[NDArray[np.float32]] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls,
        taught: Taught,
        names: Sequence[str],
        factors: NDArray[np.float64] | None = None,
        *,
        most: int | None = None,
        whole: float | None = None,
    ) -> SearchTable:
        """Count rows on some concepts.

        Args:
            taught: the rows with labels and teacher probabilities.
            names: the concepts.
            factors: weights of the classes. Default: equal weights.
            most: maximum number of rows; of more, a sample is taken, evenly spread over the classes. Default: no
                maximum.
            whole: total weight of all rows that these are a part of, as in a fold. Default: these are all rows.
        """
        taught = taught if most is None else taught.at_most(most)
        used = np.flatnonzero(taught.weight > 0)
        table = taught.table
        columns = np.array([table.names.index(name) for name in names], dtype=np.intp)
        bits = table.boolean()[used][:, columns]
        weight, probability = taught.weight[used], taught.probability[used]
        targets = taught.targets()[used]
        labels = targets * weight[:, None]
        factor = np.ones(len(used))
        if factors is not None and not table.is_multilabel and table.labels is not None:
            factor = factors[targets.argmax(axis=1)]
        first, group = distinct(bits)

        def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
            if values.ndim == 1:
                return np.bincount(group, values, minlength=len(first)).astype(np.float64)
            return np.stack([summed(column) for column in values.T], axis=1)

        return cls(
            tuple(names),
            tuple(names if taught.about is None else (taught.about.get(name, name) for name in names)),
            table.groups,
            bits[first],
            summed(weight),
            summed(labels),
            summed(weight * factor),
            summed(labels * factor[:, None]),
            summed(probability * factor[:, None]),
            part=float(weight.sum()) / whole if whole else 1.0,
        )

    def rows(self, klass: int, share: float, far: int | None = None) -> SearchRows:
        """Return the rows for the formula of a class.

        Args:
            klass: the class.
            share: share of the teacher in the target.
            far: maximum number of rows that neither their label nor the teacher assigns to the class. A sample of them
                is taken, evenly spaced by weight in the order of the rows, with the weight of all of them. Default: no
                maximum.
        """
        if not self.float_bits:
            self.float_bits.append(np.ascontiguousarray(self.bits, dtype=np.float32))
        columns = self.float_bits[0]
        target = share * self.taught[:, klass] + (1 - share) * self.scored[:, klass]
        no, right, weight = self.scored_weight - target, self.labels[:, klass], self.weight
        is_far = (self.taught[:, klass] <= 0) & (right <= 0)
        if far is not None and is_far.sum() > far:
            places = np.flatnonzero(is_far)
            # Evenly spaced by weight: a row with the weight of several is taken that many times.
            end = np.cumsum(weight[places])
            times = np.bincount(np.searchsorted(end, (np.arange(far) + 0.5) * end[-1] / far), minlength=len(places))
            taken = places[times > 0]
            kept = np.sort(np.concatenate([np.flatnonzero(~is_far), taken]))
            factor = np.ones(len(no))
            factor[taken] = times[times > 0] * end[-1] / far / weight[taken]
            columns, target, right = columns[kept], target[kept], right[kept]
            no, weight = (no * factor)[kept], (weight * factor)[kept]
        yes_, no_, right_, weight_ = (part.astype(np.float32) for part in (target, no, right, weight))
        return SearchRows(columns, yes_, no_, yes_ if np.array_equal(right_, yes_) else right_, weight_, self.names)

    def support(self, klass: int, at_least: float | None) -> Support:
        """Return the requirements for a cube of the class."""
        return Support.of(self.labels[:, klass], self.weight, at_least, self.part)

    def keys(self, cubes: Sequence[Codes]) -> frozenset[tuple[Hashable, bool]]:
        """Return the literals of a formula, distinguished by what they are about."""
        return frozenset((self.about[code >> 1], not code & 1) for cube in cubes for code in cube)

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

    def fit(self, klass: int, cubes: Sequence[Codes]) -> float:
        """Return the macro-F1 of a formula against the labels."""
        fires, yes = self.fires(cubes), self.scored[:, klass]
        no = self.scored_weight - yes
        hit, wrong = float(yes[fires].sum()), float(no[fires].sum())
        return float(macro_f1_of_counts(hit, float(yes.sum()) - hit, wrong, float(no.sum()) - wrong))


@dataclass(frozen=True, eq=False)
class Fold:
    """The training rows and the test rows of one inner fold."""

    train: SearchTable
    test: SearchTable


def folds_of(
    teacher: Teacher, factors: NDArray[np.float64] | None = None, only: Sequence[str] | None = None
) -> list[Fold]:
    """Return the inner folds; none if there are too few rows.

    Args:
        teacher: the rows with the predictions of the networks.
        factors: weights of the classes. Default: equal weights.
        only: concepts that formulas may use. Default: all concepts that rules may use.
    """
    grouped = teacher.grouped
    folds = []
    if grouped.n_groups < 2:
        return []
    for test in range(grouped.n_groups):
        taught = teacher.without(test)
        cut = grouped.fold(test)
        table, marked = cut.table, literals_of(cut, only, grouped.cut.about)
        if taught is None:
            weight = grouped.weight - grouped.groups[test]
            taught = Taught(table, weight, table.targets() * weight[:, None], cut.about)
        whole = float(grouped.weight.sum())
        train = SearchTable.of(taught, marked, factors, most=MOST_ROWS, whole=whole)
        folds.append(Fold(train, SearchTable.of(teacher.tested(test), marked, factors)))
    return folds


def literals_of(
    cut: CutRows, only: Sequence[str] | None = None, about: Mapping[str, Hashable] | None = None
) -> tuple[str, ...]:
    """Return the concepts that rules may use.

    Args:
        cut: the rows as concepts.
        only: names of the concepts to keep. If none of them is there, all are returned. Default: all concepts.
        about: what the concepts of `only` are about, if they were found on other rows. The concepts that are about the
            same are then kept, instead of those with the same names. Default: None.
    """
    marked = getattr(cut.table, "literals", None)
    names = tuple(cut.table.names if marked is None else marked)
    if only is None:
        return names
    wanted = {name if about is None else about.get(name, name) for name in only}
    kept = tuple(name for name in names if (name if cut.about is None else cut.about.get(name, name)) in wanted)
    return (kept if about is not None else tuple(name for name in names if name in set(only))) or names
