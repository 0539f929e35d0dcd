"""Measure how often each concept and each cube is chosen when the rows are drawn again.

The classifier and the reports use it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.english import RECURS, recurrence_words
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula
from logiclens.words import for_reading, percent

Chosen = TypeVar("Chosen", str, Cube)
MOST_CUBES = 5
"""Number of cubes per class that are printed. The cubes of the model's formula are always printed."""


@dataclass(frozen=True)
class ClassStability:
    """How often the formula of one class used each concept and contained each cube, the most frequent first.

    `chosen` are the cubes of the model's own formula.
    """

    name: str
    concepts: dict[str, float]
    cubes: dict[Cube, float]
    chosen: tuple[Cube, ...] = ()

    @property
    def recurring(self) -> tuple[Cube, ...]:
        """The cubes that recur."""
        return tuple(cube for cube, share in self.cubes.items() if share >= RECURS)


@dataclass(frozen=True)
class Stability:
    """Selection frequencies over the bags of a committee.

    The thresholds are not fitted again, so that cubes can be compared. How far the thresholds themselves would move is
    not measured.
    """

    n_bags: int
    classes: tuple[ClassStability, ...]

    @for_reading
    def __str__(self) -> str:
        """Return the most frequent concepts and cubes of each class, and all cubes of the model's formula."""
        lines = [f"chosen in how many of {self.n_bags} bags"]
        for counted in self.classes:
            lines.append(counted.name)
            told = [(concept, share) for concept, share in counted.concepts.items()][:8]
            lines += [f"  {percent(share):>5}  {concept}" for concept, share in told]
            for place, (cube, share) in enumerate(counted.cubes.items()):
                if place < MOST_CUBES or cube in counted.chosen:
                    words = recurrence_words(round(share * self.n_bags), self.n_bags)
                    lines.append(f"  the cube {format_formula(DNF([cube]), 'unicode')} {words}")
        return "\n".join(lines)


def selection_frequencies(
    names: Sequence[str],
    runs: Sequence[Sequence[DNF | Complement]],
    *,
    chosen: Sequence[DNF | Complement] = (),
    about: Mapping[str, Hashable] | None = None,
) -> Stability:
    """Return how often each concept and cube is in the formula of each class.

    Args:
        names: the classes.
        runs: formulas of every bag. The cubes of a complement are counted with the other class.
        chosen: formulas of the model; their cubes are included even if no run has them. Default: none.
        about: what concepts are about, such as the column of a threshold. A cube then also counts if a run has one with
            the same columns and directions, wherever it cuts. Default: None, a cube counts only if a run has the cube
            itself.
    """
    classes = []
    for place, name in enumerate(names):
        formulas = [run[place] for run in runs]
        concepts = Counter(concept for formula in formulas for concept in formula.concepts)
        found = [_cubes(formula) for formula in formulas]
        own = tuple(cube for formula in chosen[place : place + 1] for cube in _cubes(formula))
        told = [cube for run in [*found, own] for cube in run]
        cubes = {cube: sum(any(alike(cube, own, about) for own in run) for run in found) for cube in set(told)}
        classes.append(
            ClassStability(
                name,
                {concept: count / len(runs) for concept, count in _ranked(concepts)},
                {cube: count / len(runs) for cube, count in _ranked(cubes)},
                own,
            )
        )
    return Stability(len(runs), tuple(classes))


def with_recurrence(rules: RuleSet, stability: Stability | None) -> RuleSet:
    """Return the rules with the number of bags in which each cube recurs.

    Cubes that are in no counted formula stay uncounted.
    """
    if stability is None:
        return rules
    by_name = {one.name: one.cubes for one in stability.classes}
    bags, made = stability.n_bags, []
    for rule in rules.rules:
        shares = by_name.get(rule.name, {})
        counts = {cube: round(shares[cube] * bags) for cube in rule.cubes if cube in shares}
        made.append(replace(rule, recurs=counts, bags=bags))
    return replace(rules, rules=tuple(made))


def known_recurrence(rules: RuleSet) -> Stability | None:
    """Return the recurrence counts that rules carry, for the cubes of their formulas; None if they have none."""
    counted = [rule for rule in rules.rules if rule.is_counted]
    if not counted:
        return None
    classes = []
    for rule in counted:
        counts = _ranked({cube: rule.recurs[cube] for cube in rule.cubes if cube in rule.recurs})
        shares = {cube: count / rule.bags for cube, count in counts}
        classes.append(ClassStability(rule.name, {}, shares, rule.cubes))
    return Stability(counted[0].bags, tuple(classes))


def alike(first: Cube, second: Cube, about: Mapping[str, Hashable] | None = None) -> bool:
    """Return whether two cubes have the same columns and directions, wherever they cut."""
    return first == second or (about is not None and _directions(first, about) == _directions(second, about))


def _cubes(formula: DNF | Complement) -> tuple[Cube, ...]:
    return tuple(formula) if isinstance(formula, DNF) else ()


def _directions(cube: Cube, about: Mapping[str, Hashable]) -> frozenset[tuple[Hashable, bool]]:
    return frozenset((about.get(literal.concept, literal.concept), literal.positive) for literal in cube)


def _ranked(counts: Mapping[Chosen, int]) -> list[tuple[Chosen, int]]:
    """Sort by count, the most frequent first, then by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
