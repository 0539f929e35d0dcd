"""Small rule sets over a raw table with every kind of column, and their meaning in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise, product
from typing import Any

from hypothesis import strategies as st

from logiclens.formula import DNF, Complement
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from tests.oracles.brute_force import holds
from tests.strategies import dnfs

Row = dict[str, Any]

# Halves lie between the cuts 1, 2 and 3, on them, and beyond them, and so do dates: every pattern comes up.
VALUES: dict[str, list[Any]] = {
    "dose": [half / 2 for half in range(1, 8)],
    "admitted": ["2021-02-28", "2021-03-01", "2021-04-01 08:00", "2021-06-15T12:30", "2021-06-15T12:30:00.5"],
    "unit": ["CCU", "MICU", "SICU"],
    "flag": [False, True],
    "a": [0, 1],
    "b": [0, 1],
    "c": [0, 1],
}
DATES = ("2021-03-01", "2021-06-15 12:30")
BARE = ("a", "b", "c")
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}
_BARE_PREDICATES = {concept: Predicate(concept, ">=", 0.5) for concept in BARE}
_read = cache(datetime.fromisoformat)


def concepts_of(rules: RuleSet, row: Mapping[str, Any]) -> dict[str, bool]:
    """Which concepts a raw row makes true; a missing value makes none but that it is missing."""
    return {
        concept: _holds(predicate, row[predicate.column])
        for concept, predicate in {**rules.predicates, **_BARE_PREDICATES}.items()
    }


def _holds(predicate: Predicate, cell: Any) -> bool:
    if predicate.operator == "missing" or cell is None:
        return predicate.operator == "missing" and cell is None
    if predicate.column == "admitted":
        return COMPARE[predicate.operator](_read(cell), _read(predicate.value))
    return bool(COMPARE[predicate.operator](cell, predicate.value))


def may_be_missing(rules: RuleSet) -> set[str]:
    """The columns of which the rules ask whether they are missing."""
    return {predicate.column for predicate in rules.predicates.values() if predicate.operator == "missing"}


def answer(rules: RuleSet, concepts: Mapping[str, bool]) -> Any:
    """The class that the rules give a row, or None: read off the definition, not off a decision list."""
    fired = [rule for rule in rules.rules if holds(rule.formula, concepts)]
    if rules.resolve == "none":
        return fired[0].label if len(fired) == 1 else None
    otherwise = None if rules.otherwise is None else rules.rules[rules.otherwise].label
    if rules.resolve == "order":
        for place in rules.order:
            if rules.rules[place] in fired:
                return rules.rules[place].label
        return otherwise
    best, trust = otherwise, float("-inf")
    for rule in fired:
        for cube, confidence in zip(rule.cubes, rule.confidence, strict=False):
            if holds(DNF([cube]), concepts) and confidence > trust:
                best, trust = rule.label, confidence
    return best


def broken(groups: Groups, concepts: Mapping[str, bool]) -> list[int]:
    """How badly each group is broken: true concepts beyond the first; 1 for each link of a chain that does not hold."""
    exclusive = [max(0, sum(concepts[name] for name in group) - 1) for group in groups.exclusive]
    links = [link for chain in groups.implied for link in pairwise(chain)]
    return exclusive + [int(concepts[after] and not concepts[before]) for before, after in links]


def every_raw_row(missing: Collection[str] = ()) -> Iterator[Row]:
    """Every combination of values; some columns may be missing too."""
    for cells in product(*(values + [None] * (name in missing) for name, values in VALUES.items())):
        yield dict(zip(VALUES, cells, strict=True))


@dataclass(frozen=True)
class Asked:
    """A rule set and a row to ask it about."""

    rules: RuleSet
    row: Row


def raw_rows() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries({name: st.sampled_from([*values, None]) for name, values in VALUES.items()})


def with_complement(rules: tuple[Rule, ...], place: int) -> tuple[Rule, ...]:
    """Two classes: the first rule at a place, and the complement of its formula at the other."""
    formula = rules[0].formula
    assert isinstance(formula, DNF)
    pair = [rules[0], Rule("the rest", Complement(formula), (0.5,))]
    return tuple(pair if place else reversed(pair))


@st.composite
def rule_sets(draw: st.DrawFn, *, with_groups: bool = True, multilabel: bool = False) -> RuleSet:
    cuts = draw(st.lists(st.tuples(st.sampled_from(list(COMPARE)), st.integers(1, 3)), max_size=3, unique=True))
    predicates = {f"dose {sign} {cut}": Predicate("dose", sign, cut) for sign, cut in cuts}  # type: ignore[arg-type]
    ordered = st.sampled_from([sign for sign in COMPARE if sign != "=="])
    days = draw(st.lists(st.tuples(ordered, st.sampled_from(DATES)), max_size=2, unique=True))
    predicates |= {f"admitted {sign} {day}": Predicate("admitted", sign, day) for sign, day in days}  # type: ignore[arg-type]
    asked_for = st.sets(st.sampled_from(["dose", "admitted", "unit", "a"]), max_size=2)
    predicates |= {f"{column} missing": Predicate(column, "missing") for column in draw(asked_for)}
    predicates |= {
        f"in {text}": Predicate("unit", "==", text) for text in draw(st.sets(st.sampled_from(["CCU", "MICU"])))
    }
    predicates |= {f"flag {value}": Predicate("flag", "==", value) for value in draw(st.sets(st.booleans()))}
    concepts = [*predicates, *draw(st.lists(st.sampled_from(BARE), min_size=1, unique=True))]
    formulas = draw(st.lists(dnfs(concepts, max_cubes=3), min_size=1, max_size=3))
    trust = [draw(st.lists(st.sampled_from([0.25, 0.5, 0.75]), min_size=len(f), max_size=len(f))) for f in formulas]
    rules = [Rule(f"class {i}", f, tuple(t)) for i, (f, t) in enumerate(zip(formulas, trust, strict=True))]
    names = st.lists(st.sampled_from([*predicates, *BARE]), min_size=2, max_size=3, unique=True)
    groups = Groups(draw(st.lists(names, max_size=2)), draw(st.lists(names, max_size=1))) if with_groups else Groups()
    resolve = draw(st.sampled_from(["order", "confidence", "none"]))
    if not multilabel and draw(st.sampled_from([False, False, True])):
        place = draw(st.integers(0, 1))
        return RuleSet(with_complement(tuple(rules), place), predicates, groups, resolve, place)
    return RuleSet(
        tuple(rules),
        predicates,
        groups,
        resolve,
        draw(st.none() | st.integers(0, len(rules) - 1)),
        multilabel,
        () if multilabel or resolve != "order" else tuple(draw(st.permutations(range(len(rules))))),
    )


def asked(*, with_groups: bool = True) -> st.SearchStrategy[Asked]:
    return st.builds(Asked, rule_sets(with_groups=with_groups), raw_rows())
