"""How far a rule can be trusted: what is counted of a cube and of a class, as shares with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.bits import PackedRows
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.predicate import Scalar
from logiclens.formula.text import format_formula

Z = 1.959963984540054
"""The normal quantile of a two-sided interval of 95%."""


def wilson_interval(hits: float, total: float, z: float = Z) -> tuple[float, float]:
    """The interval of a share, after Wilson: honest for few rows and near 0 or 1. Nothing is known of no rows.

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
    # Where all rows are hits, or none, the share is an end itself, which rounding must not leave outside.
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


@dataclass(frozen=True)
class Share:
    """So many of so many rows, with the Wilson interval of 95%. Weights are counted as rows.

    >>> share = Share(64, 77)
    >>> print(share)
    83.1% (73.2-89.9), 64 of 77
    >>> print(Share(0, 0))
    unknown, 0 of 0
    """

    hits: float
    total: float

    @property
    def value(self) -> float:
        """The share; NaN of no rows."""
        return self.hits / self.total if self.total > 0 else math.nan

    @property
    def low(self) -> float:
        """The lower end of the interval; 0 of no rows."""
        return wilson_interval(self.hits, self.total)[0]

    @property
    def high(self) -> float:
        """The upper end of the interval; 1 of no rows."""
        return wilson_interval(self.hits, self.total)[1]

    @property
    def percent(self) -> str:
        """The share and its interval in per cent."""
        if not self.total > 0:
            return "unknown"
        return f"{100 * self.value:.1f}% ({100 * self.low:.1f}-{100 * self.high:.1f})"

    def __str__(self) -> str:
        """The share, its interval, and what it was counted from."""
        return f"{self.percent}, {shown_count(self.hits)} of {shown_count(self.total)}"

    def to_dict(self) -> dict[str, float | None]:
        """The numbers by name, None for a share of no rows."""
        interval = {"low": self.low, "high": self.high}
        return {"hits": self.hits, "total": self.total, "value": known(self.value), **interval}


@dataclass(frozen=True)
class TwoByTwo:
    """All rows by whether a rule fires on them and whether they have the class."""

    fires_in_class: float
    fires_elsewhere: float
    silent_in_class: float
    silent_elsewhere: float


@dataclass(frozen=True)
class CubeStatistics:
    """What was counted of one cube, or of a whole formula (`cube` is None).

    `alone_in_class` is the weight of the rows of the class on which the cube fires and no other cube of its formula
    does; of a whole formula, of those on which no other class's formula fires. Every share comes from it and from the
    table, so that they always fit together.

    >>> counted = CubeStatistics(None, TwoByTwo(3, 1, 3, 5), alone_in_class=2)
    >>> print(counted.confidence)
    75.0% (30.1-95.4), 3 of 4
    >>> counted.coverage.value, counted.unique_coverage.hits, counted.lift
    (0.5, 2, 1.5)
    """

    cube: Cube | None
    table: TwoByTwo
    alone_in_class: float

    @property
    def support(self) -> Share:
        """Rows it fires on, of all rows."""
        fires, silent = self._fires, self.table.silent_in_class + self.table.silent_elsewhere
        return Share(fires, fires + silent)

    @property
    def coverage(self) -> Share:
        """Rows of the class it fires on, of the rows of the class (recall)."""
        return Share(self.table.fires_in_class, self._in_class)

    @property
    def unique_coverage(self) -> Share:
        """Rows of the class that would be lost without it, of the rows of the class."""
        return Share(self.alone_in_class, self._in_class)

    @property
    def confidence(self) -> Share:
        """Rows of the class it fires on, of the rows it fires on (precision)."""
        return Share(self.table.fires_in_class, self._fires)

    @property
    def prevalence(self) -> Share:
        """Rows of the class, of all rows."""
        elsewhere = self.table.fires_elsewhere + self.table.silent_elsewhere
        return Share(self._in_class, self._in_class + elsewhere)

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

    def to_dict(self, formula: DNF | Complement) -> dict[str, Any]:
        """Everything as JSON has it; `formula` is what the whole is called by."""
        literals = None if self.cube is None else [asdict(literal) for literal in self.cube]
        return {
            "literals": literals,
            "text": format_formula(formula if self.cube is None else self.cube, "unicode"),
            **{name: share.to_dict() for name, share in self.shares.items()},
            **{name: known(getattr(self, name)) for name in ("lift", "lift_low", "lift_high")},
            "table": asdict(self.table),
        }


@dataclass(frozen=True)
class DecisionStatistics:
    """How the rules decide on rows of one class and of others: all rows by whether they get the class and have it.

    Precision, recall and F1 are those of the decision: of `RuleSet.predict`, SQL and every other export. Where the
    formula of the class fires but another class decides, the row is not counted for the class.

    >>> decided = DecisionStatistics(right=3, wrong=1, missed=2, rest=4)
    >>> print(decided)
    decided for 4 of 10 rows: precision 75.0% (30.1-95.4), recall 60.0% (23.1-88.2), F1 66.7%
    """

    right: float
    wrong: float
    missed: float
    rest: float

    @property
    def decided(self) -> Share:
        """Rows that get the class, of all rows."""
        return Share(self.right + self.wrong, self.right + self.wrong + self.missed + self.rest)

    @property
    def precision(self) -> Share:
        """Rows that have the class, of those that get it."""
        return Share(self.right, self.right + self.wrong)

    @property
    def recall(self) -> Share:
        """Rows that get the class, of those that have it."""
        return Share(self.right, self.right + self.missed)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; NaN where no row has the class or gets it."""
        both = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / both if both > 0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        shares = {"decided": self.decided, "precision": self.precision, "recall": self.recall}
        return {
            **{name: share.to_dict() for name, share in shares.items()},
            "f1": known(self.f1),
            "table": asdict(self),
        }

    def __str__(self) -> str:
        """One line."""
        hits, total = shown_count(self.decided.hits), shown_count(self.decided.total)
        f1 = "unknown" if math.isnan(self.f1) else f"{100 * self.f1:.1f}%"
        return (
            f"decided for {hits} of {total} rows: precision {self.precision.percent}, recall {self.recall.percent}, "
            f"F1 {f1}"
        )


@dataclass(frozen=True)
class ClassStatistics:
    """What was counted of one class: how the rules decide for it, and where its formula and each cube fire."""

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

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {
            "name": self.name,
            # NumPy's numbers and texts become Python's.
            "label": self.label.item() if hasattr(self.label, "item") else self.label,
            "formula": str(self.formula),
            "prevalence": self.prevalence.to_dict(),
            "decision": self.decision.to_dict(),
            "whole": self.whole.to_dict(self.formula),
            "cubes": [cube.to_dict(self.formula) for cube in self.cubes],
        }


def count_fired(
    fired: Sequence[NDArray[np.uint64]],
    which: int,
    rows: PackedRows,
    member: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
    group: NDArray[np.intp] | int = 0,
    n_groups: int = 1,
) -> NDArray[np.float64]:
    """The weight of rows in six cells, for all rows and then for each group: `[1 + groups, 6]`.

    Cells 0 to 2 are rows outside the class, 3 to 5 those in it: silent, fired together with another, fired alone.
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
) -> list[DecisionStatistics]:
    """How often a class is decided for, rightly and wrongly: on all rows, then on those of each group."""
    cell = 2 * member.astype(np.intp) + said + 4 * group
    counted = np.bincount(cell, weight, 4 * n_groups).astype(np.float64).reshape(n_groups, 4)
    return [
        DecisionStatistics(right, wrong, missed, rest)
        for rest, wrong, missed, right in [counted.sum(axis=0).tolist(), *counted.tolist()]
    ]


def confusion(
    names: Sequence[str], truth: NDArray[np.intp], said: NDArray[np.intp], weight: NDArray[np.float64], of: str
) -> dict[str, Any]:
    """Which class was given to rows of which class, as plain data; both by place, −1 where nobody decides.

    >>> found = confusion(["no", "yes"], np.array([0, 1, 1]), np.array([0, 0, -1]), np.ones(3), "the rules")
    >>> found["predicted"], found["counts"]
    (['no', 'yes', 'undecided'], [[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    """
    counts = np.zeros((len(names), len(names) + 1))
    np.add.at(counts, (truth, said), weight)
    undecided = bool(counts[:, -1].any())
    return {
        "labels": list(names),
        "predicted": [*names, "undecided"] if undecided else list(names),
        "counts": counts.tolist() if undecided else counts[:, :-1].tolist(),
        "of": of,
    }


def cube_statistics(cube: Cube | None, cells: NDArray[np.float64]) -> CubeStatistics:
    """What the six cells of `count_fired` say of a cube, or of a whole formula."""
    silent, shared, alone, silent_in_class, shared_in_class, alone_in_class = cells.tolist()
    table = TwoByTwo(shared_in_class + alone_in_class, shared + alone, silent_in_class, silent)
    return CubeStatistics(cube, table, alone_in_class)


def known(value: float) -> float | None:
    """The number, or None in place of NaN, which JSON does not have."""
    return None if math.isnan(value) else value


def shown_count(count: float) -> str:
    """A number of rows as it is printed, with one digit behind the point where weights made it a fraction.

    >>> shown_count(1776.0), shown_count(12.25)
    ('1,776', '12.2')
    """
    return f"{count:,.0f}" if float(count).is_integer() else f"{count:,.1f}"
