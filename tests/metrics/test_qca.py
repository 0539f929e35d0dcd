"""Rules in the terms of qualitative comparative analysis: worked by hand, brute force and pandas."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import LogicLensError
from logiclens.formula import Cube, Groups, Literal, Rule, RuleSet, parse
from logiclens.metrics.qca import MAX_LISTED, qca
from logiclens.metrics.rule_statistics import Share
from tests.oracles.brute_force import cube_holds, holds
from tests.strategies import dnfs

NAMES = ("a", "b", "c", "d")


def rule_set(formula, groups=None):
    """A class with a formula, and another that says nothing."""
    formula = parse(formula) if isinstance(formula, str) else formula
    rules = (Rule("yes", formula, (0.0,) * len(formula)), Rule("no", parse("False"), ()))
    return RuleSet(rules, groups=groups or Groups())


# Worked by hand ---------------------------------------------------------------------------------------------------

# The solution is (strong ∧ rich) ∨ ¬free, the outcome Y. Eleven cases in five configurations:
#
#   strong rich free   n   with Y   consistency  code   strong∧rich  ¬free   solution
#     0     0    0     2     1         1/2        C          0         1        1
#     0     0    1     3     0          0         0          0         0        0
#     0     1    1     1     1          1         1          0         0        0
#     1     1    0     1     1          1         1          1         1        1
#     1     1    1     4     3         3/4        C          1         0        1
#   remainders: 010, 100, 101                                                        |Y| = 1+1+1+3 = 6
#
# strong∧rich: fires on 1+4 = 5 cases, 1+3 = 4 with Y: consistency 4/5, raw coverage 4/6. Alone on the 4 of 111, of
# which 3 have Y: unique coverage 3/6.
# ¬free: fires on 2+1 = 3, 1+1 = 2 with Y: consistency 2/3, raw coverage 2/6. Alone on 000, 1 with Y: unique 1/6.
# Solution: fires on 2+1+4 = 7, 1+1+3 = 5 with Y: consistency 5/7, coverage 5/6.
# rich as necessary: present in 1+1+4 = 6 cases, of which 1+1+3 = 5 have Y: consistency 5/6, coverage 5/6; absent in 5
# cases, and 11 − 5 = 6 cases are not rich with Y: relevance 5/6.
# ¬strong as necessary: in 2+3+1 = 6 cases, 1+0+1 = 2 with Y: consistency 2/6, coverage 2/6, relevance 5/(11−2) = 5/9.
TABLE = {(0, 0, 0): (2, 1), (0, 0, 1): (3, 0), (0, 1, 1): (1, 1), (1, 1, 0): (1, 1), (1, 1, 1): (4, 3)}
CASES = [(*values, i < hits) for values, (n, hits) in TABLE.items() for i in range(n)]
STATES = pd.DataFrame(CASES, columns=["strong", "rich", "free", "outcome"])
RULES = rule_set("(strong & rich) | ~free")


def analysed(**more):
    return qca(RULES, STATES, np.where(STATES["outcome"], "yes", "no"), of="yes", **more)


def test_the_states():
    found = analysed()
    assert found.outcome == Share(6, 11)
    assert found.conditions == ("strong", "rich", "free")
    assert {row.values: (row.n, row.with_outcome) for row in found.configurations} == TABLE
    assert "".join(row.code for row in found.configurations) == "C011C"
    assert [row.values for row in found.contradictions] == [(0, 0, 0), (1, 1, 1)]
    assert [row.consistency for row in found.contradictions] == [Share(1, 2), Share(3, 4)]
    assert (found.n_remainders, found.remark) == (3, "")
    assert found.remainders == ((0, 1, 0), (1, 0, 0), (1, 0, 1))
    first, second = found.paths
    assert (first.cube, second.cube) == (Cube([Literal("strong"), Literal("rich")]), Cube([Literal("free", False)]))
    assert (first.consistency, first.raw_coverage, first.unique_coverage) == (Share(4, 5), Share(4, 6), Share(3, 6))
    assert (second.consistency, second.raw_coverage, second.unique_coverage) == (Share(2, 3), Share(2, 6), Share(1, 6))
    assert (found.solution.consistency, found.solution.raw_coverage) == (Share(5, 7), Share(5, 6))
    assert found.solution.unique_coverage is None
    necessity = {str(row.literal): row for row in found.necessity}
    assert list(necessity) == ["strong", "~strong", "rich", "~rich", "free", "~free"]
    rich, weak = necessity["rich"], necessity["~strong"]
    assert (rich.consistency, rich.coverage, rich.relevance) == (Share(5, 6), Share(5, 6), Share(5, 6))
    assert (weak.consistency, weak.coverage, weak.relevance) == (Share(2, 6), Share(2, 6), Share(5, 9))


def test_the_states_as_they_are_printed():
    assert str(analysed()).splitlines() == [
        "crisp-set analysis of the outcome 'yes', which 6 of 11 cases have",
        "",
        "truth table",
        "  strong  rich  free  n  outcome  consistency  code",
        "  0       0     0     2  1        0.500        C",
        "  0       0     1     3  0        0.000        0",
        "  0       1     1     1  1        1.000        1",
        "  1       1     0     1  1        1.000        1",
        "  1       1     1     4  3        0.750        C",
        "",
        "remainders: 3",
        "  strong  rich  free",
        "  0       1     0",
        "  1       0     0",
        "  1       0     1",
        "",
        "sufficiency, by where it fires: (strong ∧ rich) ∨ ¬free → yes",
        "  consistency  raw coverage  unique coverage  path",
        "  0.800        0.667         0.500            strong ∧ rich",
        "  0.667        0.333         0.167            ¬free",
        "  0.714        0.833                          solution",
        "",
        "necessity",
        "  consistency  coverage  relevance  condition",
        "  0.667        0.800     0.857      strong",
        "  0.333        0.333     0.556      ¬strong",
        "  0.833        0.833     0.833      rich",
        "  0.167        0.200     0.600      ¬rich",
        "  0.667        0.500     0.429      free",
        "  0.333        0.667     0.889      ¬free",
    ]


def test_the_states_as_json():
    told = json.loads(json.dumps(analysed().to_dict(), allow_nan=False))
    assert list(told) == [
        "outcome", "conditions", "cases", "truth_table", "n_remainders", "remainders", "remark", "paths", "solution",
        "necessity",
    ]  # fmt: skip
    assert (told["outcome"], told["conditions"]) == ("yes", ["strong", "rich", "free"])
    row = told["truth_table"][0]
    assert (row["values"], row["n"], row["with_outcome"], row["code"]) == ([False, False, False], 2, 1, "C")
    assert row["consistency"]["value"] == 0.5
    assert told["paths"][0]["literals"] == [
        {"concept": "strong", "positive": True}, {"concept": "rich", "positive": True}
    ]  # fmt: skip
    assert (told["solution"]["literals"], told["solution"]["unique_coverage"]) == (None, None)
    assert told["solution"]["text"] == "(strong ∧ rich) ∨ ¬free"
    assert (told["necessity"][1]["concept"], told["necessity"][1]["positive"]) == ("strong", False)
    assert told["n_remainders"] == len(told["remainders"]) == 3


# Against plain Python and pandas ----------------------------------------------------------------------------------


@st.composite
def analyses(draw):
    formula = draw(dnfs(NAMES, max_cubes=3))
    line = st.tuples(*[st.booleans()] * 4, st.booleans(), st.sampled_from([0.0, 0.25, 1.0, 3.0]))
    lines = draw(st.lists(line, min_size=1, max_size=25).filter(lambda drawn: any(row[-1] for row in drawn)))
    return formula, pd.DataFrame(lines, columns=[*NAMES, "outcome", "weight"])


def weigh(frame, *asked):
    """The weight of the rows that satisfy every question, counted one by one."""
    rows = frame.to_dict("records")
    return sum(row["weight"] for row in rows if all(question(row) for question in asked))


@given(analyses())
def test_paths_solution_and_necessity_by_their_definitions(case):
    formula, frame = case
    found = qca(
        rule_set(formula), frame[list(NAMES)], np.where(frame["outcome"], "yes", "no"), of="yes", weight=frame["weight"]
    )

    def outcome(row):
        return row["outcome"]

    of_outcome = weigh(frame, outcome)
    assert (found.outcome.hits, found.outcome.total) == (of_outcome, frame["weight"].sum())
    for path in found.paths:
        others = [cube for cube in formula if cube != path.cube]

        def fires(row, cube=path.cube):
            return cube_holds(cube, row)

        def alone(row, others=others):
            return not any(cube_holds(cube, row) for cube in others)

        assert path.consistency == Share(weigh(frame, fires, outcome), weigh(frame, fires))
        assert path.raw_coverage == Share(weigh(frame, fires, outcome), of_outcome)
        assert path.unique_coverage == Share(weigh(frame, fires, outcome, alone), of_outcome)

    def solved(row):
        return holds(formula, row)

    assert found.solution.consistency == Share(weigh(frame, solved, outcome), weigh(frame, solved))
    assert found.solution.raw_coverage == Share(weigh(frame, solved, outcome), of_outcome)
    for row in found.necessity:

        def has(case, literal=row.literal):
            return case[literal.concept] == literal.positive

        assert row.consistency == Share(weigh(frame, has, outcome), of_outcome)
        assert row.coverage == Share(weigh(frame, has, outcome), weigh(frame, has))
        lacks = frame["weight"].sum() - weigh(frame, has)
        assert row.relevance == Share(lacks, frame["weight"].sum() - weigh(frame, has, outcome))
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found)


@given(analyses())
def test_the_truth_table_is_the_group_by_of_pandas(case):
    formula, frame = case
    found = qca(
        rule_set(formula), frame[list(NAMES)], np.where(frame["outcome"], "yes", "no"), of="yes", weight=frame["weight"]
    )
    conditions = list(formula.concepts)
    seen = {row.values: (row.n, row.with_outcome, row.code) for row in found.configurations}
    assert list(seen) == sorted(seen)
    if not conditions:
        assert list(seen) == [()]
        return
    cases = frame[frame["weight"] > 0].assign(hits=frame["weight"] * frame["outcome"])
    grouped = cases.groupby(conditions).agg(n=("weight", "sum"), hits=("hits", "sum"), kinds=("outcome", "nunique"))
    for key, row in grouped.iterrows():
        values = key if isinstance(key, tuple) else (key,)
        code = "C" if row["kinds"] == 2 else "1" if row["hits"] else "0"
        assert seen.pop(values) == (row["n"], row["hits"], code)
    assert not seen


@st.composite
def groups_over(draw, names):
    parts = st.lists(st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=True), max_size=2)
    return Groups(draw(parts), draw(parts))


@given(dnfs(NAMES, max_cubes=3), groups_over((*NAMES, "e", "f")), st.lists(st.tuples(*[st.booleans()] * 4), min_size=1))
def test_remainders_are_the_possible_configurations_without_cases(formula, groups, rows):
    found = qca(rule_set(formula, groups), rows, ["yes"] * len(rows), of="yes", names=NAMES)
    # What is possible of the conditions is seen from all possible rows: groups may link them through other concepts.
    every = (*NAMES, "e", "f")
    allowed = [
        row
        for row in (dict(zip(every, bits, strict=True)) for bits in product((False, True), repeat=6))
        if all(sum(row[name] for name in group) <= 1 for group in groups.exclusive)
        and all(row[chain[i]] or not row[chain[i + 1]] for chain in groups.implied for i in range(len(chain) - 1))
    ]
    possible = {tuple(row[name] for name in formula.concepts) for row in allowed}
    seen = {tuple(row[NAMES.index(name)] for name in formula.concepts) for row in rows}
    assert found.remainders == tuple(sorted(possible - seen))
    assert found.n_remainders == len(possible - seen)


# Many conditions --------------------------------------------------------------------------------------------------


def many(n, groups=None, row=None):
    names = [f"c{i}" for i in range(n)]
    formula = Cube(map(Literal, names)) | parse("False")
    rows = [[False] * n, row or [True] * n]
    return qca(rule_set(formula, groups), rows, ["yes", "no"], of="yes", names=names)


def test_remainders_are_listed_up_to_4096_configurations_and_counted_beyond():
    assert MAX_LISTED == 4096
    listed = many(12)
    assert (listed.n_remainders, len(listed.remainders), listed.remark) == (4094, 4094, "")
    # A terminal sees the first 20 of them.
    printed = str(listed).split("\n\n")[2].splitlines()
    assert (printed[0], len(printed), printed[-1]) == ("remainders: 4,094", 1 + 1 + 20 + 1, "  and 4,074 more")
    counted = many(13)
    assert (counted.n_remainders, counted.remainders) == (8190, None)
    assert counted.remark == "they are not listed: 8,192 configurations are possible"
    assert "remainders: 8,190\n  they are not listed: 8,192 configurations are possible" in str(counted)
    assert many(70).n_remainders == 2**70 - 2


def test_groups_shorten_the_list():
    # Of 20 concepts that exclude each other at most one is true: 21 configurations, one of which has a case; the other
    # case, with all of them true, is impossible and no remainder is less for it.
    exclusive = many(20, Groups([[f"c{i}" for i in range(20)]]))
    assert (exclusive.n_remainders, len(exclusive.remainders)) == (20, 20)
    assert all(sum(values) == 1 for values in exclusive.remainders)
    # A chain of 10 has 11 patterns; with 10 free concepts there are 11 · 1024 configurations, and both cases are two.
    chain = many(20, Groups(implied=[[f"c{i}" for i in range(10)]]))
    assert (chain.n_remainders, chain.remainders) == (11 * 1024 - 2, None)
    # A case that breaks the chain is not possible, so one configuration more has no case.
    broken = many(20, Groups(implied=[[f"c{i}" for i in range(10)]]), [False, True, *[False] * 18])
    assert broken.n_remainders == 11 * 1024 - 1


def test_remainders_that_cannot_be_counted_are_said_to_be_so():
    # Every concept but the first excludes the first only, so that 2^19 + 1 patterns are linked.
    linked = many(20, Groups([["c0", f"c{i}"] for i in range(1, 20)]))
    assert (linked.n_remainders, linked.remainders) == (None, None)
    assert linked.remark.startswith("groups link so many conditions that more than 4,096 configurations")
    assert "remainders: unknown" in str(linked)


# What may be given ------------------------------------------------------------------------------------------------


def test_formulas_without_conditions():
    never = qca(rule_set("False"), [[1], [0]], ["yes", "no"], of="yes", names=["a"])
    assert (never.conditions, never.paths, never.necessity, never.remainders) == ((), (), (), ())
    assert never.solution.consistency == Share(0, 0)
    assert never.to_dict()["solution"]["consistency"]["value"] is None
    always = qca(rule_set("True"), [[1], [0]], ["yes", "no"], of="yes", names=["a"])
    assert always.paths[0].consistency == always.solution.consistency == Share(1, 2)
    assert [row.code for row in always.configurations] == ["C"]
    assert "-" in str(never)


def test_several_labels_a_row_and_the_other_class():
    both = RuleSet((Rule(0, parse("a"), (0.0,)), Rule(1, parse("~a"), (0.0,))), multilabel=True)
    found = qca(both, [[0], [0], [1]], [[1, 1], [0, 1], [1, 0]], of=1, names=["a"])
    assert (found.name, found.outcome, found.solution.consistency) == ("1", Share(2, 3), Share(2, 2))
    assert qca(both, [[0]], [[1, 1]], of="1", names=["a"]).label == 1


@pytest.mark.parametrize(
    ("labels", "more", "message"),
    [
        (["yes", "no"], {"of": "maybe"}, "there is no class 'maybe'; the classes are 'yes', 'no'"),
        (["yes"], {"of": "yes"}, "one label is needed for each of the 2 rows"),
        (["yes", "maybe"], {"of": "yes"}, "there is no class 'maybe'"),
        (["yes", "no"], {"of": "yes", "weight": [-1, 2]}, "none negative"),
    ],
)
def test_what_cannot_be_analysed_is_refused_in_a_sentence(labels, more, message):
    with pytest.raises(LogicLensError, match=message):
        qca(rule_set("a"), {"a": [0, 1]}, labels, **more)
