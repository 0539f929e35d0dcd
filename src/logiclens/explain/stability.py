"""Count how often each rule is found again when the rows are drawn again, and where it cuts then.

The classifier counts; explanations and reports show it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from logiclens.explain.candidates import Codes, formula_of
from logiclens.explain.choice import Choice
from logiclens.formula.column_kinds import ORDERS
from logiclens.formula.dnf import DNF, Cube
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.rules import CutRange, FoundAgain
from logiclens.formula.text import format_formula
from logiclens.words import for_reading


@dataclass(frozen=True)
class Stability:
    """In how many of the bags each rule of each class is found again."""

    n_bags: int
    classes: Mapping[str, Mapping[Cube, FoundAgain]] = field(default_factory=dict)

    @for_reading
    def __str__(self) -> str:
        """Return a line for each rule."""
        return "\n".join(line for name in self.classes for line in (name, *(f"  {one}" for one in self.lines(name))))

    def lines(self, name: str) -> list[str]:
        """Return a line for each rule of a class, with its formula.

        Args:
            name: the class.
        """
        return [
            f"{format_formula(DNF([cube]), 'unicode')} {again.words(self.n_bags)}"
            for cube, again in self.classes.get(name, {}).items()
        ]


def stability_of(
    choices: Sequence[Choice], class_names: Sequence[str], predicates: Mapping[str, Predicate]
) -> Stability | None:
    """Return how often each rule is found again in the bags that chose it; None if there were no bags.

    A rule is found again where the formula of a bag has one with the same columns and directions. Of several, the one
    with the nearest cuts counts.

    Args:
        choices: how the formulas were chosen.
        class_names: the classes.
        predicates: the meaning of concepts on the raw table.
    """
    n_bags = max((len(choice.bags) for choice in choices), default=0)
    if not n_bags:
        return None
    return Stability(n_bags, {class_names[choice.klass]: _found_again(choice, predicates) for choice in choices})


def _found_again(choice: Choice, predicates: Mapping[str, Predicate]) -> dict[Cube, FoundAgain]:
    found = {}
    for codes in choice.cubes:
        own = _by_direction(codes, choice)
        runs = [own]
        for bag in choice.bags:
            like = [other for other in (_by_direction(cube, choice) for cube in bag) if other.keys() == own.keys()]
            if like:
                runs.append(min(like, key=lambda other: sum(abs(other[key] - own[key]) for key in own)))
        cuts = []
        for key, code in own.items():
            # The thresholds of a column stand in rising order.
            low, high = (predicates.get(choice.names[end(run[key] for run in runs) >> 1]) for end in (min, max))
            if low is not None and high is not None and predicates[choice.names[code >> 1]].operator in ORDERS:
                cuts.append(CutRange(low.column, low.value, high.value))
        (cube,) = formula_of([codes], choice.names).cubes
        found[cube] = FoundAgain(len(runs) - 1, tuple(cuts))
    return found


def _by_direction(codes: Codes, choice: Choice) -> dict[tuple[Hashable, int], int]:
    """Return the literals of a cube by what they are about and their direction."""
    return {(choice.about[code >> 1], code & 1): code for code in codes}


def with_recurrence(rules: RuleSet, stability: Stability | None) -> RuleSet:
    """Return the rules with the number of bags in which each cube is found again.

    Cubes that were not counted stay uncounted.

    Args:
        rules: the rules.
        stability: what was counted.
    """
    if stability is None:
        return rules
    made = []
    for rule in rules.rules:
        counted = stability.classes.get(rule.name, {})
        again = {cube: counted[cube] for cube in rule.cubes if cube in counted}
        made.append(replace(rule, recurs=again, bags=stability.n_bags))
    return replace(rules, rules=tuple(made))


def known_recurrence(rules: RuleSet) -> Stability | None:
    """Return the counts that rules carry, for the cubes of their formulas; None if they have none.

    Args:
        rules: the rules.
    """
    counted = [rule for rule in rules.rules if rule.is_counted]
    if not counted:
        return None
    found = {rule.name: {cube: rule.recurs[cube] for cube in rule.cubes if cube in rule.recurs} for rule in counted}
    return Stability(counted[0].bags, found)
