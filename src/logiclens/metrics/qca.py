"""Rules in the words of qualitative comparative analysis: the truth table, consistency and coverage of one class.

The class is the outcome Y, the concepts of its formula are the conditions, a cube is a path and the formula the
solution. X holds where a path or the solution fires, whichever class the rules decide for in the end: all of these are
shares by firing, not by decision. A class that is the complement of the other has no path of its own: its solution
holds where that formula does not. All sets are crisp, and |·| counts cases:

    consistency of X for Y (sufficiency)    |X ∧ Y| / |X|
    raw coverage of Y by X                  |X ∧ Y| / |Y|
    unique coverage                         |X ∧ Y and no other path| / |Y|
    consistency of X as necessary for Y     |X ∧ Y| / |Y|
    coverage of X as necessary for Y        |X ∧ Y| / |X|
    relevance of X as necessary for Y       |¬X| / |¬(X ∧ Y)|

Of crisp sets the proportional reduction in inconsistency (PRI) is the consistency, so it is not given again.

References: C. C. Ragin, "Set Relations in Social Research: Evaluating Their Consistency and Coverage", Political
Analysis 14(3), 2006 (consistency, coverage); C. C. Ragin, Redesigning Social Inquiry, 2008 (truth tables,
contradictions, remainders); C. Q. Schneider and C. Wagemann, Set-Theoretic Methods for the Social Sciences, 2012
(relevance of necessity).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.formula.counted_rows import distinct, row_weights
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.packed_rows import RowsLike
from logiclens.formula.predicate import Scalar
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula
from logiclens.metrics.rule_statistics import (
    CubeStatistics,
    Share,
    aligned,
    count_fired,
    cube_statistics,
    members,
)
from logiclens.words import count_text, for_reading

MAX_LISTED = 2**12
"""The most configurations that are written out one by one."""

MAX_PRINTED = 20
"""The most remainders that are printed."""

Values = tuple[bool, ...]


@dataclass(frozen=True)
class Configuration:
    """A row of the truth table: the value of each condition, and its cases with and without the outcome."""

    values: Values
    with_outcome: float
    without_outcome: float

    @property
    def n(self) -> float:
        """The number of cases."""
        return self.with_outcome + self.without_outcome

    @property
    def consistency(self) -> Share:
        """Cases with the outcome, of all its cases."""
        return Share(self.with_outcome, self.n)

    @property
    def code(self) -> OneOf["1", "0", "C"]:
        """1 where every case has the outcome, 0 where none has, C for a contradiction."""
        if self.with_outcome and self.without_outcome:
            return "C"
        return "1" if self.with_outcome else "0"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        counts = {"n": self.n, "with_outcome": self.with_outcome}
        return {"values": list(self.values), **counts, "consistency": self.consistency.to_dict(), "code": self.code}


@dataclass(frozen=True)
class Path:
    """How far a cube, or the whole solution (`cube` is None), is sufficient for the outcome.

    The solution has no unique coverage.
    """

    cube: Cube | None
    consistency: Share
    raw_coverage: Share
    unique_coverage: Share | None

    def to_dict(self, formula: DNF | Complement) -> dict[str, Any]:
        """Everything as JSON has it; `formula` is what the solution is called by."""
        return {
            "literals": None if self.cube is None else [asdict(literal) for literal in self.cube],
            "text": _text(formula if self.cube is None else self.cube),
            "consistency": self.consistency.to_dict(),
            "raw_coverage": self.raw_coverage.to_dict(),
            "unique_coverage": None if self.unique_coverage is None else self.unique_coverage.to_dict(),
        }


@dataclass(frozen=True)
class Necessity:
    """How far a single condition, present or absent, is necessary for the outcome.

    A low `relevance` says that it is only so because nearly all cases have it.
    """

    literal: Literal
    consistency: Share
    coverage: Share
    relevance: Share

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        shares = {"consistency": self.consistency, "coverage": self.coverage, "relevance": self.relevance}
        return {**asdict(self.literal), **{name: share.to_dict() for name, share in shares.items()}}


@dataclass(frozen=True)
class QCA:
    """The crisp-set analysis of one class.

    `configurations` are those with cases. A remainder is a configuration that the groups of the rules allow and that
    no case has; what raw columns rule out beyond the groups is not looked at. `remainders` lists them while at most
    4,096 configurations are possible, `n_remainders` counts them; each is None where it cannot be said, and `remark`
    then says why.
    """

    label: Scalar
    formula: DNF | Complement
    outcome: Share
    configurations: tuple[Configuration, ...]
    paths: tuple[Path, ...]
    solution: Path
    necessity: tuple[Necessity, ...]
    n_remainders: int | None
    remainders: tuple[Values, ...] | None
    remark: str = ""

    @property
    def name(self) -> str:
        """The outcome as it is printed."""
        return str(self.label)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The concepts of the formula."""
        return self.formula.concepts

    @property
    def contradictions(self) -> tuple[Configuration, ...]:
        """The configurations of which some cases have the outcome and some have not."""
        return tuple(row for row in self.configurations if row.code == "C")

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it: shares as `Share.to_dict` gives them, None where nothing is known."""
        return {
            "outcome": self.name,
            "conditions": list(self.conditions),
            "cases": self.outcome.to_dict(),
            "truth_table": [row.to_dict() for row in self.configurations],
            "n_remainders": self.n_remainders,
            "remainders": None if self.remainders is None else [list(values) for values in self.remainders],
            "remark": self.remark,
            "paths": [path.to_dict(self.formula) for path in self.paths],
            "solution": self.solution.to_dict(self.formula),
            "necessity": [row.to_dict() for row in self.necessity],
        }

    @for_reading
    def __str__(self) -> str:
        """The truth table, the remainders, the paths and the necessary conditions, as is customary."""
        cases = f"{count_text(self.outcome.hits)} of {count_text(self.outcome.total)} cases"
        table = [[*self.conditions, "n", "outcome", "consistency", "code"]]
        table += [
            [*_ones(row.values), count_text(row.n), count_text(row.with_outcome), _share(row.consistency), row.code]
            for row in self.configurations
        ]
        remainders = [f"remainders: {'unknown' if self.n_remainders is None else f'{self.n_remainders:,}'}"]
        if self.remainders:
            remainders.append(aligned([self.conditions, *map(_ones, self.remainders[:MAX_PRINTED])]))
        if len(self.remainders or ()) > MAX_PRINTED:
            remainders.append(f"  and {len(self.remainders or ()) - MAX_PRINTED:,} more")
        sufficient = [["consistency", "raw coverage", "unique coverage", "path"]]
        sufficient += [
            [_share(row.consistency), _share(row.raw_coverage),
             "" if row.unique_coverage is None else _share(row.unique_coverage),
             "solution" if row.cube is None else _text(row.cube)]
            for row in (*self.paths, self.solution)
        ]  # fmt: skip
        necessary = [["consistency", "coverage", "relevance", "condition"]]
        necessary += [
            [_share(row.consistency), _share(row.coverage), _share(row.relevance), _text(row.literal)]
            for row in self.necessity
        ]
        blocks = [
            f"crisp-set analysis of the outcome {self.name!r}, which {cases} have",
            f"truth table\n{aligned(table)}",
            "\n".join([*remainders, *([f"  {self.remark}"] if self.remark else [])]),
            f"sufficiency, by where it fires: {_text(self.formula)} → {self.name}\n{aligned(sufficient)}",
            f"necessity\n{aligned(necessary)}",
        ]
        return "\n\n".join(blocks)


def qca(
    rules: RuleSet,
    rows: RowsLike,
    labels: ArrayLike,
    *,
    of: Scalar,
    weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> QCA:
    """Analyse the formula of the class `of` on some rows as a solution of a crisp-set QCA.

    `rows`, `labels`, `weight` and `names` are those of `rule_statistics`. As there, the numbers speak of new cases only
    where these rows chose nothing.

    >>> from logiclens.formula import Rule, parse
    >>> rules = RuleSet((Rule("war", parse("poor & ~free"), (0.9,)), Rule("peace", parse("free"), (0.9,))))
    >>> rows = {"poor": [1, 1, 1, 0, 0], "free": [0, 0, 0, 1, 1]}
    >>> print(qca(rules, rows, ["war", "war", "peace", "peace", "peace"], of="war"))
    crisp-set analysis of the outcome 'war', which 2 of 5 cases have
    <BLANKLINE>
    truth table
      poor  free  n  outcome  consistency  code
      0     1     2  0        0.000        0
      1     0     3  2        0.667        C
    <BLANKLINE>
    remainders: 2
      poor  free
      0     0
      1     1
    <BLANKLINE>
    sufficiency, by where it fires: poor ∧ ¬free → war
      consistency  raw coverage  unique coverage  path
      0.667        1.000         1.000            poor ∧ ¬free
      0.667        1.000                          solution
    <BLANKLINE>
    necessity
      consistency  coverage  relevance  condition
      1.000        0.667     0.667      poor
      0.000        0.000     0.600      ¬poor
      0.000        0.000     0.600      free
      1.000        0.667     0.667      ¬free
    """
    rule = rules.rule(of)
    formula, conditions = rule.formula, rule.formula.concepts
    packed = rules.pack(rows, names)
    member = members(rules, labels, packed.n_rows)[:, rules.names.index(rule.name)]
    weights = row_weights(weight, packed.n_rows)

    def counted(cubes: Sequence[Cube]) -> list[CubeStatistics]:
        fired = [DNF([cube]).evaluate_packed(packed) for cube in cubes]
        cells = (count_fired(fired, which, packed, member, weights)[0] for which in range(len(fired)))
        return [cube_statistics(cube, cell) for cube, cell in zip(cubes, cells, strict=True)]

    whole = cube_statistics(None, count_fired([formula.evaluate_packed(packed)], 0, packed, member, weights)[0])
    singles = [Literal(concept, positive) for concept in conditions for positive in (True, False)]
    bits = [packed.unpack(packed.column(concept)) for concept in conditions]
    matrix = np.stack(bits, axis=1) if bits else np.zeros((packed.n_rows, 0), dtype=np.bool_)
    configurations = _truth_table(matrix, member, weights)
    return QCA(
        rule.label, formula, whole.prevalence, configurations,
        tuple(Path(row.cube, row.confidence, row.coverage, row.unique_coverage) for row in counted(rule.cubes)),
        Path(None, whole.confidence, whole.coverage, None),
        tuple(_necessity(literal, counted([Cube([literal])])[0]) for literal in singles),
        *_remainders(conditions, rules.groups, [row.values for row in configurations]),
    )  # fmt: skip


def _truth_table(
    bits: NDArray[np.bool_], member: NDArray[np.bool_], weight: NDArray[np.float64] | None
) -> tuple[Configuration, ...]:
    first, group = distinct(bits)
    counts = np.bincount(2 * group + member, weight, 2 * len(first)).astype(np.float64).reshape(-1, 2)
    return tuple(
        Configuration(tuple(values), with_outcome, without_outcome)
        for values, (without_outcome, with_outcome) in zip(bits[first].tolist(), counts.tolist(), strict=True)
        # Rows of weight 0 are no cases.
        if with_outcome + without_outcome > 0
    )


def _necessity(literal: Literal, counted: CubeStatistics) -> Necessity:
    absent = counted.table.silent_in_class + counted.table.silent_elsewhere
    relevance = Share(absent, absent + counted.table.fires_elsewhere)
    return Necessity(literal, counted.coverage, counted.confidence, relevance)


def _remainders(
    conditions: Sequence[str], groups: Groups, seen: Sequence[Values]
) -> tuple[int | None, tuple[Values, ...] | None, str]:
    """How many possible configurations have no case, which they are, and why that cannot be said."""
    # Conditions that no group links vary freely, so that possible configurations are counted part by part.
    parts = _linked(conditions, groups)
    patterns = [_patterns([conditions[at] for at in part], groups) for part in parts]
    if any(len(found) > MAX_LISTED for found in patterns):
        return None, None, f"groups link so many conditions that more than {MAX_LISTED:,} configurations need counting"
    n_possible = math.prod(map(len, patterns))
    if n_possible > MAX_LISTED:
        taken = sum(
            all(tuple(values[at] for at in part) in found for part, found in zip(parts, patterns, strict=True))
            for values in seen
        )
        return n_possible - taken, None, f"they are not listed: {n_possible:,} configurations are possible"
    order = np.argsort([at for part in parts for at in part])
    possible = {tuple(np.array(sum(chosen, ()), dtype=np.bool_)[order].tolist()) for chosen in product(*patterns)}
    remainders = tuple(sorted(possible.difference(seen)))
    return len(remainders), remainders, ""


def _linked(conditions: Sequence[str], groups: Groups) -> list[list[int]]:
    """The places of conditions, in parts such that no group reaches from one part to another."""
    parts: list[set[str]] = [{concept} for concept in conditions]
    for group in (*groups.exclusive, *groups.implied):
        touched = [part for part in parts if part.intersection(group)]
        parts = [part for part in parts if part not in touched] + [set(group).union(*touched)]
    places = ([at for at, concept in enumerate(conditions) if concept in part] for part in parts)
    return [part for part in places if part]


def _patterns(concepts: Sequence[str], groups: Groups) -> set[Values]:
    """The possible values of some concepts; it stops behind `MAX_LISTED` of them."""
    found: list[Values] = [()]
    for at in range(len(concepts)):
        longer = [(*values, value) for values in found for value in (False, True)]
        # Every possible pattern stays possible for at least one value of the next concept, so no branch is wasted.
        found = [v for v in longer if not groups.apart(Cube(map(Literal, concepts[: at + 1], v)), Cube())]
        if len(found) > MAX_LISTED:
            break
    return set(found)


def _text(formula: DNF | Complement | Cube | Literal) -> str:
    return format_formula(formula, "unicode")


def _ones(values: Values) -> list[str]:
    return ["1" if value else "0" for value in values]


def _share(share: Share) -> str:
    return "-" if math.isnan(share.value) else f"{share.value:.3f}"
