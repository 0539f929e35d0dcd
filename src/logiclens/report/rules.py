"""Rules as people read them: cubes that differ in one category only are one rule. Page, panel and sheet use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from logiclens.formula.dnf import Cube
from logiclens.formula.english import (
    FOUND_LEAST,
    category_unions,
    common_and_chosen,
    literal_words,
    recurrence_words,
    recurs,
    union_conditions,
)
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula
from logiclens.metrics.rule_statistics import ClassRecord, CubeRecord, Share, ShareRecord, union_record
from logiclens.report.result import ClassResult, GapCount, ProtectedColumn, Result
from logiclens.words import count_with_noun, enumeration

SELDOM = 0.1
"""A rule that at most this share of bags found again is not to be relied on."""
FEWEST_BAGS = 5
"""The fewest bags that are enough to say so: a rule that recurs half of the time is found in none of 5, or
in at most 1 of 10, with a probability below 5%."""


@dataclass(frozen=True)
class Recurs:
    """In how many bags a rule was found again; with `is_least`, the one of its categories found least.

    `cuts` says where its conditions cut then, if that differs.
    """

    count: int
    total: int
    cuts: str = ""
    is_least: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether at least half of the bags found the rule again."""
        return recurs(self.count, self.total)

    @property
    def words(self) -> str:
        """What is said behind the numbers."""
        rarely = "" if self.is_steady else ", less than half"
        cuts = f"; {self.cuts}" if self.cuts else ""
        return f"bags found it again{FOUND_LEAST * self.is_least}{rarely}{cuts}"

    def __str__(self) -> str:
        """Return the count and the range of cuts in one line."""
        words = recurrence_words(self.count, self.total) + FOUND_LEAST * self.is_least
        return "; ".join(filter(None, (words, self.cuts)))


Condition = tuple[str, tuple[tuple[tuple[str, bool], ...], ...]]
"""A condition in words, and the literals of each of its alternatives: one of several categories, all of an interval."""


@dataclass(frozen=True)
class ReadRule:
    """A rule as it is read: one cube, or cubes that differ in one category only, which are one condition in words.

    `decided` is the share that has the class of the rows that it decides. `gaps` are its conditions that a
    missing value satisfies too, as far as they were counted.
    """

    cubes: tuple[Cube, ...]
    conditions: tuple[Condition, ...]
    counted: CubeRecord
    decided: ShareRecord
    recurs: Recurs | None
    doubt: str
    is_edited: bool
    gaps: tuple[GapCount, ...] = ()

    @property
    def words(self) -> str:
        """The conditions in one line."""
        return " and ".join(words for words, _ in self.conditions) or "always"


def read_rules(
    rules: RuleSet,
    measured: ClassRecord,
    entry: ClassResult | None = None,
    *,
    rows: str = "row",
    apart: bool = False,
) -> tuple[ReadRule, ...]:
    """Return the rules of a class as they are read, each with its figures and what speaks against it.

    A rule is doubted if hardly any bag found it again, or if it is right on no row that was measured. Of
    several categories, the warning names the one that it is about, and the recurrence is the lowest.

    Args:
        rules: all rules.
        measured: the statistics of the class.
        entry: the class in the result, which says how often its rules are right where they decide. Default: None,
            which is not known, and no rule is warned of.
        rows: noun for one of the rows that were measured.
        apart: whether each cube is a rule of its own.
    """
    rule = rules.rule(measured.name)
    at = {cube: place for place, cube in enumerate(rule.cubes)}
    gaps = (entry.gaps if entry is not None else ()) or ((),) * len(at)
    again = [None if one is None else Recurs(one.count, rule.bags, one.cut_words) for one in map(rule.recurs.get, at)]
    unions = [(cube,) for cube in rule.cubes] if apart else category_unions(rule.cubes, rules.predicates)
    read = []
    for union in unions:
        places = [at[cube] for cube in union]
        own = [measured.cubes[place] for place in places]
        rights, recurrences = [cube.decided for cube in own], [again[place] for place in places]
        named = [""] if len(union) == 1 else [f" where {category}" for category in _categories(union, rules)]
        doubts = [
            _doubt(recurrence, right, rows, name)
            for recurrence, right, name in zip(recurrences, rights, named, strict=True)
        ]
        read.append(
            ReadRule(
                cubes=union,
                conditions=tuple(
                    (words, tuple(tuple((lit.concept, lit.positive) for lit in one) for one in alternatives))
                    for words, alternatives in union_conditions(union, rules.predicates, rules.facts)
                ),
                counted=own[0] if len(own) == 1 else union_record(own, " ∨ ".join(cube.text for cube in own)),
                decided=_added(rights, own[0].table.worth),
                recurs=_least(recurrences),
                doubt="" if entry is None else " ".join(filter(None, doubts)),
                is_edited=any(cube in rule.edited for cube in union),
                gaps=_gaps([count for place in places for count in gaps[place]]),
            )
        )
    return tuple(read)


def uses(rule: ReadRule, column: ProtectedColumn) -> bool:
    """Return whether a rule uses a protected column."""
    return any(format_formula(cube, "unicode") in column.used_by for cube in rule.cubes)


def all_rules(result: Result) -> tuple[tuple[int, ReadRule], ...]:
    """Return the rules of all classes as they are read, each with the place of its class."""
    measured = enumerate(result.statistics.classes)
    return tuple((place, rule) for place, counted in measured for rule in read_rules(result.rules, counted))


def unsteady(result: Result) -> str:
    """Return the sentence that names the rules which fewer than half of the bags found again; empty if none is.

    Args:
        result: the result that is shown.
    """
    rules = [rule for _, rule in all_rules(result)]
    seldom = [rule for rule in rules if rule.recurs is not None and not rule.recurs.is_steady]
    if not seldom:
        return ""
    if len(seldom) == len(rules):
        return "No rule of this table is steady: each was found again in fewer than half of the bags."
    listed = enumeration([f"“{rule.words}” ({rule.recurs})" for rule in seldom])
    verb = "is" if len(seldom) == 1 else "are"
    return f"Not steady {verb} {listed}."


def _categories(union: Sequence[Cube], rules: RuleSet) -> list[str]:
    """Return the category that each cube of a group asks for, in words."""
    _, chosen = common_and_chosen(union)
    return [literal_words(literal, rules.predicates, rules.facts) for literal in chosen]


def _added(shares: Sequence[ShareRecord], worth: float) -> ShareRecord:
    """Return the share of several groups of rows together."""
    if len(shares) == 1:
        return shares[0]
    return Share(sum(one.hits for one in shares), sum(one.total for one in shares), worth).record()


def _gaps(counts: Sequence[GapCount]) -> tuple[GapCount, ...]:
    """Return the counts of several groups of rows together, one for each condition."""
    together: dict[tuple[str, str], GapCount] = {}
    for one in counts:
        sofar = together.get((one.column, one.words), GapCount(one.column, one.words, 0.0, 0.0))
        added = replace(sofar, missing=sofar.missing + one.missing, present=sofar.present + one.present)
        together[one.column, one.words] = added
    return tuple(together.values())


def _least(recurrences: Sequence[Recurs | None]) -> Recurs | None:
    """Return the lowest recurrence of several categories; None if that of one is unknown."""
    counted = [found for found in recurrences if found is not None]
    if len(counted) < len(recurrences):
        return None
    least = min(counted, key=lambda found: found.count)
    return replace(least, is_least=any(found.count > least.count for found in counted))


def _doubt(found: Recurs | None, right: ShareRecord, rows: str, named: str) -> str:
    """Return the sentence that warns of a rule, or of one of its categories; empty if nothing speaks against it."""
    reasons = []
    if found is not None and found.total >= FEWEST_BAGS and found.count <= SELDOM * found.total:
        how_often = "none" if found.count == 0 else f"only {found.count}"
        reasons.append(f"the search found it again in {how_often} of {found.total} samples of the rows")
    if not right.total:
        reasons.append(f"it decides no {rows}, so nothing is known of how often it is right")
    elif not right.hits:
        reasons.append(f"it is right on none of the {count_with_noun(right.total, rows)} that it decides")
    return f"Do not rely on this rule{named}: {', and '.join(reasons)}." if reasons else ""
