"""Rules as they are read: the figures of several categories are those of the rows that any of them covers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.rules import FoundAgain
from logiclens.report import read_result
from logiclens.report.rules import read_rules
from tests.examples import examples
from tests.report_cases import Case, result_of

JOBS = ("cook", "nurse", "clerk")
MEANT = {f"job is {job}": Predicate("job", "==", job) for job in JOBS} | {"age >= 66": Predicate("age", ">=", 66)}
OTHERS = [Literal(name, positive) for name in ("age >= 66", "sepsis") for positive in (True, False)]


@st.composite
def cubes(draw: Any) -> list[Cube]:
    """Cubes with a job, without one, or with one that is excluded."""
    job = st.sampled_from([None, *(Literal(f"job is {job}", asked) for job in JOBS for asked in (True, True, False))])
    rest = st.sets(st.sampled_from(OTHERS), max_size=2).filter(
        lambda made: len({lit.concept for lit in made}) == len(made)
    )
    drawn = draw(st.lists(st.tuples(job, rest), min_size=1, max_size=6))
    return list(
        dict.fromkeys(Cube([*([one] if one is not None else []), *sorted(more, key=str)]) for one, more in drawn)
    )


@st.composite
def cases(draw: Any) -> Case:
    """Three classes, of which several may fire on a row, and rows with slips."""
    rules = []
    for name in ("low", "middle", "high"):
        formula = DNF(draw(cubes()))
        trust = draw(st.lists(st.sampled_from([0.2, 0.5, 0.8]), min_size=len(formula), max_size=len(formula)))
        counts = draw(st.lists(st.integers(0, 10), min_size=len(formula), max_size=len(formula)))
        rules.append(
            Rule(name, formula, tuple(trust), dict(zip(formula.cubes, map(FoundAgain, counts), strict=True)), 10)
        )
    resolve = draw(st.sampled_from(["order", "confidence", "none"]))
    order = tuple(draw(st.permutations(range(3)))) if resolve == "order" else ()
    made = RuleSet(
        tuple(rules), MEANT, Groups(exclusive=[[f"job is {job}" for job in JOBS]]), resolve,
        otherwise=None if resolve == "none" else 1, order=order,
    )  # fmt: skip
    random = np.random.default_rng(draw(st.integers(0, 9)))
    table = {
        "job": random.choice([*JOBS, "driver"], 40),
        "age": random.integers(50, 80, 40),
        "sepsis": random.integers(0, 2, 40),
    }
    labels = random.choice(made.names, 40).tolist()
    return Case(made, table, labels, labels)


def fires(cube: Cube, table: dict[str, Any]) -> Any:
    """Read off the columns."""
    held = np.ones(len(table["job"]), dtype=bool)
    for literal in cube:
        known = {"age >= 66": table["age"] >= 66, "sepsis": table["sepsis"] == 1}
        own = known[literal.concept] if literal.concept in known else table["job"] == literal.concept.split()[-1]
        held &= own == literal.positive
    return held


@examples(100)
@given(cases())
def test_figures_of_categories_are_counted_on_their_rows(case):
    result = read_result(json.loads(json.dumps(result_of(case))))
    labels, answers = np.array(case.labels), case.rules.predict(case.table)
    for rule, measured, entry in zip(case.rules.rules, result.statistics.classes, result.classes, strict=True):
        read = read_rules(case.rules, measured, entry)
        assert sorted(str(cube) for one in read for cube in one.cubes) == sorted(map(str, rule.cubes))
        here, given = labels == rule.name, np.array([answer == rule.name for answer in answers])
        for one in read:
            held = np.any([fires(cube, case.table) for cube in one.cubes], axis=0)
            beside = [fires(cube, case.table) for cube in rule.cubes if cube not in one.cubes]
            alone = held & ~np.any(beside, axis=0) if beside else held
            counted, decided = one.counted, held & given
            assert counted.table.fires_in_class == (held & here).sum()
            assert counted.table.fires_elsewhere == (held & ~here).sum()
            assert counted.support.hits == held.sum()
            assert counted.coverage.hits == (held & here).sum()
            assert counted.coverage.total == here.sum()
            assert counted.unique_coverage.hits == (alone & here).sum()
            assert (counted.confidence.hits, counted.confidence.total) == ((held & here).sum(), held.sum())
            if held.any() and here.any():
                assert counted.lift == pytest.approx(here[held].mean() / here.mean())
            assert one.decided is not None
            assert (one.decided.hits, one.decided.total) == ((decided & here).sum(), decided.sum())
            assert one.recurs is not None
            assert one.recurs.count == min(rule.recurs[cube].count for cube in one.cubes)
            columns = [sorted(lit.concept.split()[0] for lit in cube) for cube in one.cubes]
            assert all(named == columns[0] for named in columns)


def test_categories_are_one_rule_only_beside_equal_conditions():
    cook, nurse, old = Literal("job is cook"), Literal("job is nurse"), Literal("age >= 66")
    formula = DNF([Cube([cook, old]), Cube([nurse, old]), Cube([nurse, old.negated])])
    rules = RuleSet((Rule("ill", formula, (0.5,) * 3),), MEANT)
    case = Case(rules, {"job": ["cook", "nurse"], "age": [70, 60]}, ["ill", "ill"], ["ill", "ill"])
    [measured] = read_result(json.loads(json.dumps(result_of(case)))).statistics.classes
    assert [one.words for one in read_rules(rules, measured)] == [
        "job is cook or nurse and age is at least 66", "job is nurse and age is below 66 (or missing)"
    ]  # fmt: skip
