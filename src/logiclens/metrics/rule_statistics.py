"""Rule statistics: how the rules decide for each class and where each cube fires, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.codec import to_plain
from logiclens.errors import LogicLensError, quoted, quoted_names
from logiclens.formula.column_kinds import TEXT_FORMS, Scalar, is_missing, kind_of_dtype
from logiclens.formula.counted_rows import counting_weight, row_weights
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.english import NO_FACTS, TableFacts, category_unions, cube_words, english, union_words
from logiclens.formula.knowledge import Costs
from logiclens.formula.packed_rows import PackedRows, RowsLike, as_array, boolean_matrix
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet, no_class
from logiclens.formula.text import format_formula
from logiclens.words import count_text, for_reading, percent, share_words, times

if TYPE_CHECKING:
    import pandas as pd

Z = 1.959963984540054
"""The normal quantile of a two-sided interval of 95%."""


def wilson_interval(hits: float, total: float, z: float = Z) -> tuple[float, float]:
    """Return Wilson's interval of a share, which holds for few rows and near 0 or 1; (0, 1) for no rows.

    >>> low, high = wilson_interval(9, 10)
    >>> f"{low:.3f} {high:.3f}"
    '0.596 0.982'
    >>> wilson_interval(0, 0)
    (0.0, 1.0)
    """
    if total <= 0:
        return 0.0, 1.0
    share, spread = hits / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    # If all rows are hits, or none, the share is an end of the interval; rounding must not exclude it.
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


@dataclass(frozen=True)
class Share:
    """A share of rows, with its 95% Wilson interval. Weights count as rows.

    `worth` is how many independent rows a row is worth: less than 1 where rows are copies of others.

    >>> share = Share(64, 77)
    >>> print(share)
    83.1% (73.2–89.9%), 64 of 77
    >>> print(Share(0, 0))
    unknown, 0 of 0
    """

    hits: float
    total: float
    worth: float = 1.0

    @property
    def value(self) -> float:
        """The share; NaN of no rows."""
        return self.hits / self.total if self.total > 0 else math.nan

    @property
    def low(self) -> float:
        """The lower end of the interval; 0 of no rows."""
        return wilson_interval(self.hits * self.worth, self.total * self.worth)[0]

    @property
    def high(self) -> float:
        """The upper end of the interval; 1 of no rows."""
        return wilson_interval(self.hits * self.worth, self.total * self.worth)[1]

    @property
    def percent(self) -> str:
        """The share and its interval in per cent."""
        return share_words(self, digits=1)

    def __str__(self) -> str:
        """The share, its interval, and what it was counted from."""
        return f"{self.percent}, {count_text(self.hits)} of {count_text(self.total)}"

    @staticmethod
    def from_dict(numbers: Mapping[str, Any]) -> Share:
        """The share that `to_dict` wrote."""
        return Share(numbers["hits"], numbers["total"])

    def record(self) -> ShareRecord:
        """The share as JSON has it."""
        return ShareRecord(self.hits, self.total, known(self.value), self.low, self.high)

    def to_dict(self) -> dict[str, float | None]:
        """The numbers by name, None for a share of no rows."""
        return dict(to_plain(self.record()))


@dataclass(frozen=True)
class ShareRecord:
    """A share as it is written: `value` is None for a share of no rows."""

    hits: float
    total: float
    value: float | None
    low: float
    high: float


@dataclass(frozen=True)
class TwoByTwo:
    """Numbers of rows by whether a rule fires and whether they have the class; for `worth` see `Share`."""

    fires_in_class: float
    fires_elsewhere: float
    silent_in_class: float
    silent_elsewhere: float
    worth: float = 1.0


@dataclass(frozen=True)
class CubeStatistics:
    """Statistics of one cube, or of a whole formula if `cube` is None.

    `alone_in_class` is the weight of the rows of the class on which only this cube of its formula fires; for a whole
    formula, of those on which no other class's formula fires. All shares are computed from it and the table, but for
    `decided`: the share that has the class, of the rows that the cube decides. It decides a row if the class is the
    answer and no cube of the class before it fires.

    >>> counted = CubeStatistics(None, TwoByTwo(3, 1, 3, 5), alone_in_class=2, decided=Share(3, 4))
    >>> print(counted.confidence)
    75.0% (30.1–95.4%), 3 of 4
    >>> counted.coverage.value, counted.unique_coverage.hits, counted.lift
    (0.5, 2, 1.5)
    """

    cube: Cube | None
    table: TwoByTwo
    alone_in_class: float
    decided: Share

    @property
    def support(self) -> Share:
        """Rows it fires on, of all rows."""
        fires, silent = self._fires, self.table.silent_in_class + self.table.silent_elsewhere
        return self._share(fires, fires + silent)

    @property
    def decides(self) -> Share:
        """Rows it decides, of all rows."""
        return self._share(self.decided.total, self.support.total)

    @property
    def coverage(self) -> Share:
        """Rows of the class it fires on, of the rows of the class (recall)."""
        return self._share(self.table.fires_in_class, self._in_class)

    @property
    def unique_coverage(self) -> Share:
        """Rows of the class that would be lost without it, of the rows of the class."""
        return self._share(self.alone_in_class, self._in_class)

    @property
    def confidence(self) -> Share:
        """Rows of the class it fires on, of the rows it fires on (precision)."""
        return self._share(self.table.fires_in_class, self._fires)

    @property
    def prevalence(self) -> Share:
        """Rows of the class, of all rows."""
        elsewhere = self.table.fires_elsewhere + self.table.silent_elsewhere
        return self._share(self._in_class, self._in_class + elsewhere)

    @property
    def lift(self) -> float:
        """How many times more frequent the class is where it fires: confidence / prevalence; NaN if either is none."""
        return self._lifted(self.confidence.value)

    @property
    def lift_low(self) -> float:
        """The lower end of the confidence divided by the prevalence, which is taken as known exactly."""
        return self._lifted(self.confidence.low)

    @property
    def lift_high(self) -> float:
        """The upper end of the confidence divided by the prevalence, which is taken as known exactly."""
        return self._lifted(self.confidence.high)

    def _share(self, hits: float, total: float) -> Share:
        return Share(hits, total, self.table.worth)

    @property
    def _fires(self) -> float:
        return self.table.fires_in_class + self.table.fires_elsewhere

    @property
    def _in_class(self) -> float:
        return self.table.fires_in_class + self.table.silent_in_class

    def _lifted(self, confidence: float) -> float:
        prevalence = self.prevalence.value
        return confidence / prevalence if prevalence > 0 else math.nan

    @property
    def shares(self) -> dict[str, Share]:
        """The four shares that are asked for, by name."""
        return {
            "support": self.support, "coverage": self.coverage,
            "unique_coverage": self.unique_coverage, "confidence": self.confidence,
        }  # fmt: skip

    def record(self, formula: DNF | Complement) -> CubeRecord:
        """The statistics as JSON has them; `formula` is what the whole is called by."""
        return CubeRecord(
            None if self.cube is None else tuple(LiteralRecord(lit.concept, lit.positive) for lit in self.cube),
            format_formula(formula if self.cube is None else self.cube, "unicode"),
            self.support.record(),
            self.coverage.record(),
            self.unique_coverage.record(),
            self.confidence.record(),
            known(self.lift),
            known(self.lift_low),
            known(self.lift_high),
            self.table,
            self.decided.record(),
        )


@dataclass(frozen=True)
class LiteralRecord:
    """A literal as it is written."""

    concept: str
    positive: bool


@dataclass(frozen=True)
class CubeRecord:
    """The statistics of a cube, or of a whole formula (`literals` is None), as they are written."""

    literals: tuple[LiteralRecord, ...] | None
    text: str
    support: ShareRecord
    coverage: ShareRecord
    unique_coverage: ShareRecord
    confidence: ShareRecord
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    table: TwoByTwo
    decided: ShareRecord


@dataclass(frozen=True)
class DecisionStatistics:
    """Numbers of rows by whether the rules decide for a class and whether the rows have it.

    Precision, recall and F1 measure the decision, as `RuleSet.predict` and every export make it. A row on which the
    formula fires but another class decides does not count for the class. For `worth` see `Share`.

    >>> decided = DecisionStatistics(right=3, wrong=1, missed=2, rest=4)
    >>> print(decided)
    decided for 4 of 10 rows: precision 75.0% (30.1–95.4%), recall 60.0% (23.1–88.2%), F1 66.7%
    """

    right: float
    wrong: float
    missed: float
    rest: float
    worth: float = 1.0

    @property
    def decided(self) -> Share:
        """Rows that get the class, of all rows."""
        return Share(self.right + self.wrong, self.right + self.wrong + self.missed + self.rest, self.worth)

    @property
    def precision(self) -> Share:
        """Rows that have the class, of those that get it."""
        return Share(self.right, self.right + self.wrong, self.worth)

    @property
    def recall(self) -> Share:
        """Rows that get the class, of those that have it."""
        return Share(self.right, self.right + self.missed, self.worth)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; NaN where no row has the class or gets it."""
        both = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / both if both > 0 else math.nan

    def record(self) -> DecisionRecord:
        """The decision as JSON has it."""
        return DecisionRecord(
            self.decided.record(), self.precision.record(), self.recall.record(), known(self.f1), self
        )

    def __str__(self) -> str:
        """One line."""
        hits, total = count_text(self.decided.hits), count_text(self.decided.total)
        return (
            f"decided for {hits} of {total} rows: precision {self.precision.percent}, recall {self.recall.percent}, "
            f"F1 {percent(self.f1, 1)}"
        )


@dataclass(frozen=True)
class DecisionRecord:
    """How the rules decide for one class, as it is written."""

    decided: ShareRecord
    precision: ShareRecord
    recall: ShareRecord
    f1: float | None
    table: DecisionStatistics


@dataclass(frozen=True)
class ClassStatistics:
    """Statistics of one class: how the rules decide for it, and where its formula and each cube fire."""

    label: Scalar
    formula: DNF | Complement
    whole: CubeStatistics
    cubes: tuple[CubeStatistics, ...]
    decision: DecisionStatistics

    @property
    def name(self) -> str:
        """The class as it is printed."""
        return str(self.label)

    @property
    def prevalence(self) -> Share:
        """Rows of the class, of all rows."""
        return self.whole.prevalence

    def record(self) -> ClassRecord:
        """The statistics as JSON has them."""
        return ClassRecord(
            self.name,
            # NumPy's numbers and texts become Python's.
            self.label.item() if hasattr(self.label, "item") else self.label,
            str(self.formula),
            self.prevalence.record(),
            self.decision.record(),
            self.whole.record(self.formula),
            tuple(cube.record(self.formula) for cube in self.cubes),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return dict(to_plain(self.record()))


@dataclass(frozen=True)
class ClassRecord:
    """The statistics of one class as they are written."""

    name: str
    label: Scalar
    formula: str
    prevalence: ShareRecord
    decision: DecisionRecord
    whole: CubeRecord
    cubes: tuple[CubeRecord, ...]


def count_fired(
    fired: Sequence[NDArray[np.uint64]],
    which: int,
    rows: PackedRows,
    member: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    group: NDArray[np.intp] | int,
    n_groups: int,
) -> NDArray[np.float64]:
    """Return the weight of rows in six cells, for all rows and for each group: `[1 + groups, 6]`.

    Cells 0 to 2 are rows outside the class, 3 to 5 rows in it: silent, fired with another, fired alone.
    """
    others = np.zeros_like(fired[which])
    for place, words in enumerate(fired):
        if place != which:
            others |= words
    # One number for each row, so that a single pass over the rows counts every cell of every group.
    cell = rows.unpack(fired[which]).astype(np.intp) + rows.unpack(fired[which] & ~others) + 3 * member + 6 * group
    counted = np.bincount(cell, weight, 6 * n_groups).astype(np.float64).reshape(n_groups, 6)
    return np.concatenate([counted.sum(axis=0, keepdims=True), counted])


def count_decided(
    said: NDArray[np.bool_],
    member: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
    group: NDArray[np.intp] | int = 0,
    n_groups: int = 1,
    worth: float = 1.0,
) -> list[DecisionStatistics]:
    """Return how often the rules decide for a class, rightly and wrongly, on all rows and on each group."""
    cell = 2 * member.astype(np.intp) + said + 4 * group
    counted = np.bincount(cell, weight, 4 * n_groups).astype(np.float64).reshape(n_groups, 4)
    return [
        DecisionStatistics(right, wrong, missed, rest, worth)
        for rest, wrong, missed, right in [counted.sum(axis=0).tolist(), *counted.tolist()]
    ]


@dataclass(frozen=True)
class Confusion:
    """How many rows of which class got which answer: a row for each of `labels`, a column for each of `predicted`."""

    labels: tuple[str, ...]
    predicted: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]
    of: str


def confusion(
    names: Sequence[str], truth: NDArray[np.intp], said: NDArray[np.intp], weight: NDArray[np.float64], of: str
) -> Confusion:
    """Return a confusion matrix. Classes are given by place, −1 for undecided.

    >>> found = confusion(["no", "yes"], np.array([0, 1, 1]), np.array([0, 0, -1]), np.ones(3), "the rules")
    >>> found.predicted, found.counts
    (('no', 'yes', 'undecided'), ((1.0, 0.0, 0.0), (1.0, 0.0, 1.0)))
    """
    counts = np.zeros((len(names), len(names) + 1))
    np.add.at(counts, (truth, said), weight)
    answers = (*names, "undecided") if counts[:, -1].any() else tuple(names)
    return Confusion(tuple(names), answers, tuple(tuple(row) for row in counts[:, : len(answers)].tolist()), of)


def shown_confusions(network: Confusion | None, rules: Confusion | None) -> list[Confusion]:
    """Return the confusion matrices to show of network and rules, which share one where theirs are equal.

    >>> ours = Confusion(("no", "yes"), ("no", "yes"), ((3.0, 0.0), (1.0, 2.0)), "the network")
    >>> [one.of for one in shown_confusions(ours, replace(ours, of="the rules"))]
    ['the network and the rules']
    """
    if network is None or rules is None or network.of == rules.of:
        return [one for one in (network or rules,) if one is not None]
    together = replace(network, of=f"{network.of} and {rules.of}")
    return [together] if replace(rules, of=together.of) == together else [network, rules]


@dataclass(frozen=True)
class AnswerCost:
    """What the errors of the rules cost on some rows, in all and a row; or, with `answer`, of always saying it."""

    answer: str | None
    total: float
    mean: float


def answer_costs(costs: Sequence[Costs], said: Confusion) -> tuple[AnswerCost, ...]:
    """Return what the answers of a confusion matrix cost, and what giving every row one class costs.

    An error is a miss of the true class and a false alarm of the one decided; with two classes these are one thing.

    Args:
        costs: the costs of each class.
        said: the confusion matrix of the rules.

    >>> said = confusion(["well", "ill"], np.array([0, 1, 1]), np.array([1, 1, 0]), np.ones(3), "the rules")
    >>> for one in answer_costs([Costs(5, 1), Costs(1, 5)], said):
    ...     print(one.answer, one.total, one.mean)
    None 6.0 2.0
    well 10.0 3.3333333333333335
    ill 1.0 0.3333333333333333
    """
    counts = np.zeros((len(costs), len(costs) + 1))
    counts[:, : len(said.predicted)] = said.counts
    alarm = np.array([one.false_alarm for one in costs] if len(costs) > 2 else [0.0] * len(costs))
    # An undecided row is a miss alone.
    each = np.array([one.miss for one in costs])[:, None] + np.append(alarm, 0.0)
    np.fill_diagonal(each, 0.0)
    rows = counts.sum()

    def of(answer: str | None, total: float) -> AnswerCost:
        return AnswerCost(answer, total, total / float(rows))

    always = counts.sum(axis=1) @ each
    return (of(None, float((counts * each).sum())), *map(of, said.labels, always.tolist()))


def cube_statistics(
    cube: Cube | None,
    cells: NDArray[np.float64],
    decided: DecisionStatistics,
    worth: float = 1.0,
) -> CubeStatistics:
    """Return the statistics of a cube, or of a whole formula, from the cells of `count_fired` and what it decides."""
    silent, shared, alone, silent_in_class, shared_in_class, alone_in_class = cells.tolist()
    table = TwoByTwo(shared_in_class + alone_in_class, shared + alone, silent_in_class, silent, worth)
    return CubeStatistics(cube, table, alone_in_class, decided.precision)


def union_record(cubes: Sequence[CubeRecord], text: str) -> CubeRecord:
    """Return the statistics of several cubes of a class as one rule, of which no two fire on the same row.

    Args:
        cubes: the cubes; they ask for different categories of one column.
        text: what the rule is called.

    >>> one = CubeStatistics(None, TwoByTwo(3, 1, 3, 5), 2, Share(3, 4)).record(DNF.true)
    >>> two = CubeStatistics(None, TwoByTwo(2, 2, 4, 4), 2, Share(2, 4)).record(DNF.true)
    >>> union_record([one, two], "both").table
    TwoByTwo(fires_in_class=5, fires_elsewhere=3, silent_in_class=1, silent_elsewhere=3, worth=1.0)
    """
    counted = _union(
        [
            CubeStatistics(
                None,
                cube.table,
                cube.unique_coverage.hits,
                Share(cube.decided.hits, cube.decided.total, cube.table.worth),
            )
            for cube in cubes
        ]
    )
    return replace(counted.record(DNF.true), text=text)


def _union(cubes: Sequence[CubeStatistics]) -> CubeStatistics:
    """Return the statistics of several cubes of a class as one rule, of which no two fire on the same row."""
    if len(cubes) == 1:
        return cubes[0]
    fires_in_class = sum(cube.table.fires_in_class for cube in cubes)
    fires_elsewhere = sum(cube.table.fires_elsewhere for cube in cubes)
    first = cubes[0].table
    table = TwoByTwo(
        fires_in_class,
        fires_elsewhere,
        first.fires_in_class + first.silent_in_class - fires_in_class,
        first.fires_elsewhere + first.silent_elsewhere - fires_elsewhere,
        first.worth,
    )
    hits, total = sum(cube.decided.hits for cube in cubes), sum(cube.decided.total for cube in cubes)
    decided = Share(hits, total, first.worth)
    return CubeStatistics(None, table, sum(cube.alone_in_class for cube in cubes), decided)


def known(value: float) -> float | None:
    """Return the number, or None for NaN, which JSON does not have."""
    return None if math.isnan(value) else value


MAX_SUBGROUPS = 1000
"""More values than this are a measurement or a key, not subgroups."""


@dataclass(frozen=True)
class RuleStatistics:
    """Statistics of each class on all rows and on each subgroup; `source` says which rows these are.

    Precision, recall and F1 of a class measure the decision of the rules. Support, coverage and confidence of a cube
    count the rows it fires on, whichever cube decides there; `decided` counts the rows that it decides.

    `by` names what defines the subgroups, None without subgroups; `weight` is the total weight of the `n_rows` rows.
    `headings` says each class with the name of the target, such as "died is yes", where that is known. `rules` are the
    ones that were counted, for their words.
    """

    classes: tuple[ClassStatistics, ...]
    n_rows: int
    weight: float
    source: str
    subgroups: Mapping[str, tuple[ClassStatistics, ...]]
    by: str | None = None
    headings: tuple[str, ...] = field(default=(), compare=False)
    rules: RuleSet | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Without headings, a class is its name."""
        if not self.headings:
            object.__setattr__(self, "headings", tuple(counted.name for counted in self.classes))

    def __getitem__(self, label: Scalar) -> ClassStatistics:
        """The statistics of one class on all rows, by its label or as it is printed."""
        for counted in self.classes:
            if counted.label == label or counted.name == label:
                return counted
        raise no_class(label, [counted.name for counted in self.classes])

    def records(self) -> list[dict[str, Any]]:
        """One flat record for each cube and each whole formula, ready for `pandas.DataFrame`; NaN where unknown.

        `decision_precision`, `decision_recall` and `decision_f1` are those of the class, the same in all its records.
        """
        words = [self._words(counted) for counted in self.classes]
        return [
            _record(subgroup, counted, rule, said)
            for subgroup, classes in (("all rows", self.classes), *self.subgroups.items())
            for counted, told in zip(classes, words, strict=True)
            for rule, said in zip((*counted.cubes, counted.whole), told, strict=True)
        ]

    def lines(self, counted: ClassStatistics) -> list[tuple[str, CubeStatistics]]:
        """Return the rules of a class in words, each with its statistics, and last its whole formula.

        Cubes that differ in one category only are one rule, as on the sheet.

        Args:
            counted: one of `classes`, or of those of a subgroup.
        """
        predicates, facts = self._meaning
        by_cube = {one.cube: one for one in counted.cubes if one.cube is not None}
        rules = [
            (union_words(union, predicates, facts), _union([by_cube[cube] for cube in union]))
            for union in category_unions(list(by_cube), predicates)
        ]
        return [*rules, ("whole formula", counted.whole)]

    @property
    def _meaning(self) -> tuple[Mapping[str, Predicate], TableFacts]:
        return ({}, NO_FACTS) if self.rules is None else (self.rules.predicates, self.rules.facts)

    def _words(self, counted: ClassStatistics) -> list[str]:
        """Return each cube of a class in words, then the sentence of its formula."""
        predicates, facts = self._meaning
        cubes = [cube_words(one.cube, predicates, facts) for one in counted.cubes if one.cube is not None]
        return [*cubes, english(counted.formula, predicates, head=counted.name, facts=facts)]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each cube and each whole formula, of all rows and each subgroup.

        Columns:
            subgroup: `"all rows"`, or a value of `by`.
            class: the class of the rule.
            cube: the condition, or `"whole formula"`.
            words: the condition in words; of the whole formula its sentence, in which cubes that differ in one category
                only are one condition.
            support, decides, coverage, unique_coverage, confidence, prevalence: the shares of `CubeStatistics`, from 0
                to 1, NaN of no rows; each with `_low` and `_high` (95% Wilson interval), `_hits` and `_total` (what was
                counted).
            decision_precision, decision_recall, decision_f1: how the rules decide for the class; the same in all its
                rows.
            lift, lift_low, lift_high: confidence / prevalence, and its interval.
            fires_in_class, fires_elsewhere, silent_in_class, silent_elsewhere: the rows counted.
            worth: how many independent rows a row is worth in intervals; less than 1 where rows are copies of others.

        >>> from logiclens.formula import Rule, parse
        >>> rules = RuleSet((Rule("ill", parse("old"), (0.9,)), Rule("well", parse("~old"), (0.9,))))
        >>> frame = rule_statistics(rules, {"old": [1, 1, 0, 0]}, ["ill", "well", "well", "well"]).to_frame()
        >>> frame[["class", "cube", "confidence", "coverage"]]
          class           cube  confidence  coverage
        0   ill            old         0.5  1.000000
        1   ill  whole formula         0.5  1.000000
        2  well           ~old         1.0  0.666667
        3  well  whole formula         1.0  0.666667
        """
        # The one import of pandas here: whoever asks for a frame has it.
        import pandas as pd

        return pd.DataFrame(self.records())

    def _repr_html_(self) -> str:
        # The one import from a higher layer, as for rule sets.
        from logiclens.render.html import statistics_html

        return statistics_html(self)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the decision over the classes that some row has or gets."""
        scores = [counted.decision.f1 for counted in self.classes]
        seen = [score for score in scores if not math.isnan(score)]
        return float(np.mean(seen)) if seen else math.nan

    def record(self) -> StatisticsRecord:
        """The statistics as JSON has them: None in place of NaN."""
        return StatisticsRecord(
            self.source,
            self.n_rows,
            self.weight,
            self.by,
            known(self.macro_f1),
            tuple(counted.record() for counted in self.classes),
            tuple(
                SubgroupRecord(name, tuple(counted.record() for counted in classes))
                for name, classes in self.subgroups.items()
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it: None in place of NaN."""
        return dict(to_plain(self.record()))

    @for_reading
    def __str__(self) -> str:
        """A table for each class, then the same for each subgroup."""
        weighed = "" if self.weight == self.n_rows else f", weight {count_text(self.weight)}"
        blocks = [
            f"rule statistics on {self.source} (n = {self.n_rows:,}{weighed}), with intervals of 95% after Wilson; "
            "a class by what the rules decide, a rule by where it fires and by what it decides"
        ]
        blocks += [
            _block(counted, self.lines(counted), heading)
            for counted, heading in zip(self.classes, self.headings, strict=True)
        ]
        blocks += [
            _block(counted, self.lines(counted), f"{self.by} = {subgroup}, {heading}")
            for subgroup, classes in self.subgroups.items()
            for counted, heading in zip(classes, self.headings, strict=True)
        ]
        return "\n\n".join(blocks)


@dataclass(frozen=True)
class SubgroupRecord:
    """The statistics of one subgroup as they are written."""

    name: str
    classes: tuple[ClassRecord, ...]


@dataclass(frozen=True)
class StatisticsRecord:
    """The statistics of all rules as they are written."""

    source: str
    n_rows: int
    weight: float
    by: str | None
    macro_f1: float | None
    classes: tuple[ClassRecord, ...]
    subgroups: tuple[SubgroupRecord, ...]


def rule_statistics(
    rules: RuleSet,
    rows: RowsLike,
    labels: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    by: str | ArrayLike | None = None,
    by_name: str | None = None,
    source: str = "the rows given",
    names: Sequence[str] | None = None,
    worth: float = 1.0,
) -> RuleStatistics:
    """Count how the rules decide on some rows, and where each cube and each formula fires.

    The numbers hold for new rows only if these rows neither trained the network nor chose the cubes; `source` says so.

    Args:
        rules: the formulas.
        rows: raw or concept rows, as `RuleSet.pack` takes them; a matrix needs `names`.
        labels: the class of each row, as the rules or as print have it; with several labels a row, a 0/1 matrix
            `[rows, classes]`.
        weight: what each row counts for, 1 if not given. Whole numbers are counts of rows; others are scaled to the
            number of rows they are worth (Kish), since intervals count rows.
        by: the value of each row, or the name of a column of `rows`, by which subgroups are told apart. Rows without
            one are the subgroup "missing", or "no value" where a value is called so.
        by_name: what the subgroups are called by; the name of the column if it has one.
        source: which rows these are, in words.
        names: the columns of a matrix.
        worth: how many independent rows a row is worth in intervals: less than 1 where rows are copies of others.

    >>> from logiclens.formula import Rule, parse
    >>> ill, well = parse("(old & smoker) | sepsis"), parse("~old")
    >>> rules = RuleSet((Rule("ill", ill, (0.9, 0.8)), Rule("well", well, (0.7,))))
    >>> rows = {"old": [1, 1, 1, 0, 0, 0], "smoker": [1, 1, 0, 1, 0, 0], "sepsis": [1, 0, 0, 1, 0, 0]}
    >>> counted = rule_statistics(rules, rows, ["ill", "ill", "ill", "well", "well", "well"], source="6 new rows")
    >>> print(counted)
    rule statistics on 6 new rows (n = 6), ...
    <BLANKLINE>
    ill: 3 of 6 rows (50.0%)
      decided for 3 of 6 rows: precision 66.7% (20.8–93.9%), recall 66.7% (20.8–93.9%), F1 66.7%
      fires on  decides  finds               unique  right when it fires   lift  rule
      33.3%     33.3%    66.7% (20.8–93.9%)  33.3%   100.0% (34.2–100.0%)  2.0×  old is true and smoker is true
      33.3%     16.7%    33.3% (6.1–79.2%)   0.0%    50.0% (9.5–90.5%)     1.0×  sepsis is true
      50.0%     50.0%    66.7% (20.8–93.9%)  66.7%   66.7% (20.8–93.9%)    1.3×  whole formula
    <BLANKLINE>
    well: 3 of 6 rows (50.0%)
      decided for 2 of 6 rows: precision 100.0% (34.2–100.0%), recall 66.7% (20.8–93.9%), F1 80.0%
      fires on  decides  finds                 unique  right when it fires   lift  rule
      50.0%     33.3%    100.0% (43.9–100.0%)  100.0%  100.0% (43.9–100.0%)  2.0×  old is not true
      50.0%     33.3%    100.0% (43.9–100.0%)  66.7%   100.0% (43.9–100.0%)  2.0×  whole formula
    >>> print(counted["ill"].cubes[1].coverage)
    33.3% (6.1–79.2%), 1 of 3
    """
    packed = rules.pack(rows, names)
    member = members(rules, labels, packed.n_rows)
    weights = row_weights(weight, packed.n_rows)
    if weights is not None:
        # Intervals count rows, so weights that are not counts are scaled to the rows they are worth.
        weights = counting_weight(weights)
    subgroups, group, called = subgroups_of(by, by_name, rows, packed.n_rows)

    def counts(fired: Sequence[NDArray[np.uint64]], column: NDArray[np.bool_], which: int) -> NDArray[np.float64]:
        return count_fired(fired, which, packed, column, weights, group, len(subgroups))

    said = _said(rules, packed)
    wholes = [formula.evaluate_packed(packed) for formula in rules.formulas]
    per_class = []
    for place, rule in enumerate(rules.rules):
        column = member[:, place]
        fired = [DNF([cube]).evaluate_packed(packed) for cube in rule.cubes]
        whole = counts(wholes, column, place)
        decided = count_decided(said[:, place], column, weights, group, len(subgroups), worth)
        by_cube, left = {}, said[:, place]
        for cube in rules.in_turn(rule):
            fires = packed.unpack(fired[rule.cubes.index(cube)])
            by_cube[cube] = count_decided(left & fires, column, weights, group, len(subgroups), worth)
            left = left & ~fires
        cubes = [(cube, counts(fired, column, which), by_cube[cube]) for which, cube in enumerate(rule.cubes)]
        # All rows first, then each subgroup.
        per_class.append(
            [
                ClassStatistics(
                    rule.label, rule.formula, cube_statistics(None, whole[at], decided[at], worth),
                    tuple(cube_statistics(cube, cells[at], own[at], worth) for cube, cells, own in cubes), decided[at],
                )
                for at in range(len(subgroups) + 1)
            ]
        )  # fmt: skip
    first, *rest = zip(*per_class, strict=True)
    total = float(packed.n_rows if weights is None else weights.sum())
    told = {} if called is None else dict(zip(subgroups, rest, strict=True))
    headings = tuple(rules.class_heading(rule.label) for rule in rules.rules)
    return RuleStatistics(first, packed.n_rows, total, source, told, called, headings, rules)


def _said(rules: RuleSet, packed: PackedRows) -> NDArray[np.bool_]:
    """Return which row the rules give which class, `[rows, classes]`."""
    if rules.multilabel:
        return rules.fires(packed)
    one_hot: NDArray[np.bool_] = rules.predict_places(packed)[:, None] == np.arange(len(rules.rules))
    return one_hot


def members(rules: RuleSet, labels: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    """Return which row has which class, `[rows, classes]`, from labels or from a 0/1 matrix."""
    if n_rows == 0:
        raise LogicLensError("there are no rows to count.")
    if rules.multilabel:
        if hasattr(labels, "columns"):
            if absent := [name for name in rules.names if name not in set(map(str, labels.columns))]:
                raise LogicLensError(f"the labels have no column {quoted(absent[0])}; name one for each class.")
            at = {str(column): labels[column] for column in labels.columns}  # type: ignore[index]
            labels = np.column_stack([as_array(at[name]) for name in rules.names])
        matrix = as_array(labels)
        if matrix.shape != (n_rows, len(rules.rules)):
            raise LogicLensError(
                f"with several labels a row, labels must be a 0/1 matrix of shape ({n_rows}, {len(rules.rules)}), "
                f"got shape {matrix.shape}."
            )
        return boolean_matrix(matrix)
    distinct, codes = coded(labels, n_rows, "label")
    place = {name: at for at, name in enumerate(rules.names)} | {rule.label: at for at, rule in enumerate(rules.rules)}
    if any(map(is_missing, distinct)):
        raise LogicLensError("a label is missing; leave rows without one out.")
    for value in distinct:
        if value not in place and str(value) not in place:
            raise no_class(value, rules.names)
    places = np.array([place[value] if value in place else place[str(value)] for value in distinct], dtype=np.intp)
    one_hot: NDArray[np.bool_] = places[codes][:, None] == np.arange(len(rules.rules))
    return one_hot


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return an indented table; the last column is not padded."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def subgroups_of(
    by: str | ArrayLike | None, by_name: str | None, rows: RowsLike, n_rows: int
) -> tuple[list[str], NDArray[np.intp] | int, str | None]:
    """Return the names of the subgroups, the subgroup of each row, and what defines the subgroups."""
    if by is None:
        return ["all rows"], 0, None
    if isinstance(by, str):
        columns = list(rows.columns) if hasattr(rows, "columns") else list(rows) if isinstance(rows, Mapping) else []
        if not columns:
            raise LogicLensError(f"rows without named columns have no {quoted(by)}: pass its values as by=[...].")
        if by not in columns:
            raise LogicLensError(f"there is no column {quoted(by)}; the columns are {quoted_names(columns)}.")
        by_name, by = by_name or by, rows[by]
    called = by_name or str(getattr(by, "name", None) or "subgroup")
    distinct, codes = coded(by, n_rows, "subgroup")
    present = [value for value in distinct if not is_missing(value)]
    try:
        present.sort()
    except TypeError:
        present.sort(key=_shown)
    # A value with this name must stay apart from missing values.
    gaps = "missing" if "missing" not in map(_shown, present) else "no value"
    told = list(dict.fromkeys([*map(_shown, present), *([gaps] if len(present) < len(distinct) else [])]))
    if len(told) > MAX_SUBGROUPS:
        raise LogicLensError(
            f"{quoted(called)} has {len(told):,} values, more than {MAX_SUBGROUPS:,} subgroups: "
            "cut it into ranges first."
        )
    place = {name: at for at, name in enumerate(told)}
    places = np.array([place[gaps if is_missing(v) else _shown(v)] for v in distinct], dtype=np.intp)
    return told, places[codes], called


def coded(values: ArrayLike, n_rows: int, what: str) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct values of a column, and the place of each row's value among them."""
    lists = LogicLensError(f"one {what} is needed for each of the {n_rows} rows, got lists of values.")
    try:
        array = as_array(values)
    except ValueError:
        raise lists from None
    if array.shape != (n_rows,):
        raise LogicLensError(f"one {what} is needed for each of the {n_rows} rows, got shape {array.shape}.")
    kind = kind_of_dtype(array.dtype.kind)
    if kind is not None and kind in TEXT_FORMS:
        # Nanoseconds would come out as plain numbers.
        array = kind.array(array, what)
    if array.dtype.kind not in "OUST":
        distinct, codes = np.unique(array, return_inverse=True)
        return distinct.tolist(), codes
    place: dict[Any, int] = {}
    # Sorting texts takes ten times as long, and mixed values cannot be sorted.
    try:
        codes = np.fromiter((place.setdefault(value, len(place)) for value in array.tolist()), np.intp, n_rows)
    except TypeError:
        raise lists from None
    return list(place), codes


def _shown(value: Any) -> str:
    """Return the name of a subgroup. Integers that a missing value turned into floats are printed as integers."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _record(subgroup: str, counted: ClassStatistics, rule: CubeStatistics, words: str) -> dict[str, Any]:
    record: dict[str, Any] = {"subgroup": subgroup, "class": counted.name}
    record |= {"cube": "whole formula" if rule.cube is None else str(rule.cube), "words": words}
    for name, share in {**rule.shares, "prevalence": rule.prevalence, "decides": rule.decides}.items():
        record |= {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}
        record |= {f"{name}_hits": share.hits, f"{name}_total": share.total}
    decided = counted.decision
    record |= {
        "decision_precision": decided.precision.value,
        "decision_recall": decided.recall.value,
        "decision_f1": decided.f1,
    }
    return record | {"lift": rule.lift, "lift_low": rule.lift_low, "lift_high": rule.lift_high} | asdict(rule.table)


def _block(counted: ClassStatistics, rules: Sequence[tuple[str, CubeStatistics]], heading: str) -> str:
    lines = [["fires on", "decides", "finds", "unique", "right when it fires", "lift", "rule"]]
    for words, rule in rules:
        support, unique = (percent(share.value, 1) for share in (rule.support, rule.unique_coverage))
        # Its interval is that of the confidence, times the same number.
        lift, _ = times(rule.lift)
        decides = percent(rule.decides.value, 1)
        lines.append([support, decides, rule.coverage.percent, unique, rule.confidence.percent, lift, words])
    share = counted.prevalence
    head = f"{heading}: {count_text(share.hits)} of {count_text(share.total)} rows ({percent(share.value, 1)})"
    return f"{head}\n  {counted.decision}\n{aligned(lines)}"
