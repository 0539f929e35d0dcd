"""How often rules are found again in bags, counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens.estimator import EntropyClassifier
from logiclens.explain.candidates import formula_of
from logiclens.explain.choice import Choice
from logiclens.explain.stability import stability_of
from logiclens.formula import parse
from logiclens.formula.english import RECURS
from logiclens.formula.predicate import Predicate

RNG = np.random.default_rng(3)
N = 400
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(60, 15, N).round(),
        "bmi": RNG.normal(27, 4, N).round(1),
        "unit": RNG.choice(["CCU", "MICU", "SICU"], N),
        "noise": RNG.normal(size=N),
    }
)
LABELS = np.where((FRAME["age"] >= 65) | (FRAME["unit"] == "MICU"), "ill", "well")


@pytest.fixture(scope="module")
def model() -> EntropyClassifier:
    return EntropyClassifier().fit(FRAME, LABELS)


def test_columns_and_directions_count_and_cuts_have_ranges():
    cuts = {f"age >= {cut}": Predicate("age", ">=", cut) for cut in (40, 50, 60, 100)}
    predicates = cuts | {"unit is A": Predicate("unit", "==", "A"), "bmi is missing": Predicate("bmi", "missing")}
    names = tuple(predicates)
    about = tuple(meant.column if meant.operator == ">=" else name for name, meant in predicates.items())

    def codes(text: str) -> tuple[tuple[int, ...], ...]:
        formula = parse(text)
        return tuple(tuple(2 * names.index(lit.concept) + (not lit.positive) for lit in cube) for cube in formula)

    bags = [
        '"age >= 40" & "unit is A"',
        # Of two rules of the same columns and directions the nearer one counts.
        '"age >= 60" & "unit is A" | "age >= 100" & "unit is A" | "bmi is missing"',
        # Another direction, a condition less, a condition more.
        '~"age >= 50" & "unit is A" | "age >= 50" | "age >= 50" & "unit is A" & "bmi is missing"',
        "False",
    ]
    own = '"age >= 50" & "unit is A" | "bmi is missing"'
    choice = Choice(1, 0.01, codes(own), names, about, bags=tuple(map(codes, bags)))
    stability = stability_of([choice], ["well", "ill"], predicates)
    assert str(stability).splitlines() == [
        "ill",
        '  "age >= 50" ∧ "unit is A" found again in 2 of 4; the cut ranges from 40 to 60',
        '  "bmi is missing" found again in only 1 of 4, less than half',
    ]
    assert stability_of([Choice(1, 0.01, codes(own), names, about)], ["well", "ill"], predicates) is None


def test_planted_rules_are_found_again_in_the_bags(model):
    (choice,) = model.learned_.choices
    rule = model.rules_.rules[choice.klass]
    assert set(model.rules_.columns) == {"age", "unit"}
    assert rule.bags == 10
    assert all(count >= RECURS * 10 for count in rule.counts)
    # The judge: the formulas of the bags as text, with the threshold left out.
    meant = model.schema_.predicates

    def directions(cube):
        return {(meant[x.concept].column if meant[x.concept].operator == ">=" else x.concept, x.positive) for x in cube}

    bags = [formula_of(cubes, choice.names) for cubes in choice.bags]
    by_hand = [sum(any(directions(own) == directions(cube) for own in bag) for bag in bags) for cube in rule.cubes]
    assert list(rule.counts) == by_hand
    assert model.rules_.rules[1 - choice.klass].counts == ()


def test_too_few_rows_to_choose_a_length_are_told_of():
    explanation = EntropyClassifier(None).fit([[0, 1]] + [[1, 0]] * 9, ["rare"] + ["common"] * 9).explain()
    start = "the class is rare: too few rows of this class to choose a length"
    assert any(note.startswith(start) for note in explanation.notes)
