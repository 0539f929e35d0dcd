"""Logical relations between concepts of the same column, also across two rule sets.

The command line uses them to compare saved models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from logiclens.errors import LogicLensError
from logiclens.formula.column_states import linked, units_of
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.flip import PossibleRows
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet


def in_one_language(before: RuleSet, after: RuleSet) -> tuple[RuleSet, RuleSet]:
    """Rename the concepts of the second rule set so that equal names and equal meanings agree with the first.

    Args:
        before: the first rule set, which keeps its names.
        after: the second rule set.

    Returns:
        The first rule set and the renamed second one.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(name), (0.9,)),), {name: Predicate("age", ">=", cut)})
    ...             for name, cut in (("old", 60), ("aged", 60)))
    >>> print(in_one_language(old, new)[1].rules[0].formula)
    old
    """
    meant = {before.predicate(concept): concept for concept in reversed(_concepts(before))}
    taken = set(_concepts(before))
    names: dict[str, str] = {}
    for concept in _concepts(after):
        predicate = after.predicate(concept)
        # Use each name once: two names with one meaning in the second rule set stay distinct.
        name = meant.pop(predicate, None)
        if name is None:
            # If the name has another meaning in the first rule set, name the concept after its predicate.
            name = concept if concept not in taken else str(predicate)
            while name in taken:
                name += "'"
        taken.add(name)
        names[concept] = name
    return before, _renamed(after, names)


def impossible(rules: Iterable[RuleSet]) -> Callable[[Cube], bool]:
    """Return a function that tests whether no row can satisfy a cube, by the groups and the values of each column.

    Args:
        rules: rule sets that use the same names; see `in_one_language`.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(f'"age >= {cut}"'), (0.9,)),),
    ...                     {f"age >= {cut}": Predicate("age", ">=", cut)}) for cut in (60, 72))
    >>> never = impossible([old, new])
    >>> never(Cube([Literal("age >= 72"), Literal("age >= 60", False)]))
    True
    >>> never(Cube([Literal("age >= 60"), Literal("age >= 72", False)]))
    False
    """
    every = _meant_by_all(rules)
    known: dict[tuple[str, ...], set[tuple[bool, ...]] | None] = {}

    def never(cube: Cube) -> bool:
        if every.groups.apart(cube, Cube([])):
            return True
        columns: dict[str, list[Literal]] = {}
        for literal in cube:
            columns.setdefault(every.predicate(literal.concept).column, []).append(literal)
        for literals in columns.values():
            concepts = tuple(literal.concept for literal in literals)
            if concepts not in known:
                known[concepts] = _patterns(every, concepts)
            patterns = known[concepts]
            if patterns is not None and tuple(literal.positive for literal in literals) not in patterns:
                return True
        return False

    return never


def always(rules: Iterable[RuleSet]) -> Callable[[DNF], bool]:
    """Return a function that tests whether a formula is true on every possible row, also with missing values.

    Args:
        rules: rule sets that use the same names; see `in_one_language`.

    >>> from logiclens.formula import Rule, parse
    >>> old, new = (RuleSet((Rule("ill", parse(f'"age >= {cut}"'), (0.9,)),),
    ...                     {f"age >= {cut}": Predicate("age", ">=", cut)}) for cut in (60, 72))
    >>> holds = always([old, new])
    >>> holds(parse('"age >= 60" | ~"age >= 72"')), holds(parse('"age >= 72" | ~"age >= 60"'))
    (True, False)
    """
    every = _meant_by_all(rules)

    def test(formula: DNF) -> bool:
        concepts = linked(every, formula.concepts)
        try:
            units = units_of(every, concepts)
        except LogicLensError:
            # The rule sets disagree on the kind of the column: dates in one, numbers in the other.
            return DNF.true.implies(formula)
        missing = {concept: every.predicate(concept).operator == "missing" for concept in concepts}
        program = PossibleRows(units, concepts, also=missing)
        program.respect(every.groups)
        for cube in formula:
            program.forbid(cube)
        return program.solve(dict.fromkeys(program.place.values(), 1.0)) is None

    return test


def _meant_by_all(rules: Iterable[RuleSet]) -> RuleSet:
    """Return the first rule set with the predicates and groups of all rule sets."""
    given = list(rules)
    return replace(
        given[0],
        predicates={concept: one.predicate(concept) for one in given for concept in _concepts(one)},
        groups=Groups(
            [group for one in given for group in one.groups.exclusive],
            [chain for one in given for chain in one.groups.implied],
        ),
    )


def _patterns(rules: RuleSet, concepts: tuple[str, ...]) -> set[tuple[bool, ...]] | None:
    """Return the patterns that the values of a column and a missing value produce; None if they are unknown."""
    try:
        (unit,) = units_of(rules, concepts)
    except LogicLensError:
        # The rule sets disagree on the kind of the column: dates in one, numbers in the other.
        return None
    missing = tuple(rules.predicate(concept).operator == "missing" for concept in concepts)
    return {state.pattern for state in unit.states} | {missing}


def _concepts(rules: RuleSet) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*rules.predicates, *rules.concepts, *rules.groups.concepts]))


def _renamed(rules: RuleSet, names: dict[str, str]) -> RuleSet:
    """Return the rules with renamed concepts."""
    predicates: dict[str, Predicate] = {names[concept]: meant for concept, meant in rules.predicates.items()}
    groups = Groups(
        *(
            [[names[concept] for concept in group] for group in kind]
            for kind in (rules.groups.exclusive, rules.groups.implied)
        )
    )

    def formula(given: DNF | Complement) -> DNF | Complement:
        if isinstance(given, Complement):
            return Complement(DNF(cube(part) for part in given.of))
        return DNF(map(cube, given))

    def cube(given: Cube) -> Cube:
        return Cube(Literal(names[x.concept], x.positive) for x in given)

    renamed = [
        replace(
            rule,
            formula=formula(rule.formula),
            recurs={cube(counted): count for counted, count in rule.recurs.items() if counted in rule.cubes},
        )
        for rule in rules.rules
    ]
    return replace(rules, rules=tuple(renamed), predicates=predicates, groups=groups)
