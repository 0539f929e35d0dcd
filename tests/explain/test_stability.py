"""Recurrence over bags: frequencies counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens.estimator import EntropyClassifier
from logiclens.explain.candidates import formula_of
from logiclens.explain.stability import alike, selection_frequencies
from logiclens.formula import DNF, Complement, parse
from logiclens.formula.english import RECURS

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


def test_frequencies_are_counted_over_the_runs():
    runs = [[parse("a | b & c")], [parse("a")], [parse("c & ~a")], [DNF.false]]
    counted = selection_frequencies(["ill"], runs).classes[0]
    # a is in runs 1, 2, 3; c in 1, 3; b in 1. The cube a is in 1 and 2.
    assert counted.concepts == {"a": 0.75, "c": 0.5, "b": 0.25}
    assert {str(cube): share for cube, share in counted.cubes.items()} == {"a": 0.5, "b & c": 0.25, "c & ~a": 0.25}
    assert list(counted.concepts) == ["a", "c", "b"]
    assert [str(cube) for cube in counted.recurring] == ["a"]


def test_cubes_match_where_columns_and_directions_are_the_same():
    about = dict.fromkeys(["age >= 40", "age >= 60"], "age") | {"bmi >= 25": "bmi"}

    def match(first: str, second: str) -> bool:
        (one,), (other,) = (parse(text) for text in (first, second))
        assert alike(one, other, about) == alike(other, one, about)
        return alike(one, other, about)

    assert match('"age >= 40" & "unit is A"', '"unit is A" & "age >= 60"')
    # Another direction, another column, another category, a literal more.
    assert not match('"age >= 40"', '~"age >= 60"')
    assert not match('"bmi >= 25"', '"age >= 40"')
    assert not match('"bmi >= 25"', '"bmi is missing"')
    assert not match('"unit is A"', '"unit is B"')
    assert not match('"age >= 40"', '"age >= 60" & "unit is A"')
    runs = [[parse('"age >= 40"')], [parse('"bmi >= 25"')], [Complement(parse('"age >= 40"'))], [DNF.false]]
    counted = selection_frequencies(["ill"], runs, chosen=[parse('"age >= 60"')], about=about).classes[0]
    assert {str(cube): share for cube, share in counted.cubes.items()} == {
        '"age >= 40"': 0.25, '"age >= 60"': 0.25, '"bmi >= 25"': 0.25
    }  # fmt: skip


def test_what_recurs_is_marked_in_words():
    stability = selection_frequencies(["ill"], [[parse("a")], [parse("a")], [parse("b & c")]])
    assert str(stability).splitlines() == [
        "chosen in how many of 3 bags", "ill", "    67%  a", "    33%  b", "    33%  c",
        "  the cube a recurs in 2 of 3", "  the cube b ∧ c recurs in only 1 of 3, less than half",
    ]  # fmt: skip


def test_planted_rules_recur_on_bags_and_noise_does_not(model):
    stability = model.explain().stability
    assert stability.n_bags == 10
    assert [counted.name for counted in stability.classes] == ["ill", "well"]
    (choice,) = model.learned_.choices
    stated = stability.classes[choice.klass]
    age = next(concept for concept in stated.concepts if concept.startswith("age"))
    assert stated.concepts[age] >= RECURS
    assert stated.concepts["unit is MICU"] >= RECURS
    assert not any(concept.startswith(("noise", "bmi")) for concept in stated.concepts)
    # The judge: the formula of each bag, compared with the concepts on the rows themselves.
    bags = [formula_of(cubes, choice.names) for cubes in choice.bags]
    assert stated.concepts == {
        concept: pytest.approx(np.mean([concept in bag.concepts for bag in bags])) for concept in stated.concepts
    }
    assert all(stated.cubes[cube] >= RECURS for cube in model.learned_.formulas[choice.klass])
    # The other class has no cubes of its own.
    assert stability.classes[1 - choice.klass].cubes == {}


@pytest.mark.parametrize("turned", [0.0, 0.05])
def test_planted_noise_columns_do_not_recur(turned):
    rng = np.random.default_rng(1)
    rows = rng.random((400, 16)) < 0.5
    names = ["a", "b", "c", *(f"noise {j}" for j in range(10)), "echo a", "echo b", "echo c"]
    # Half-hearted copies of the true columns tell nothing that these do not.
    rows[:, 13:] = rows[:, :3] ^ (rng.random((400, 3)) < 0.35)
    labels = ((rows[:, 0] & rows[:, 1]) | ~rows[:, 2]) ^ (rng.random(400) < turned)
    model = EntropyClassifier(None).fit(pd.DataFrame(rows.astype(float), columns=names), labels)
    explanation = model.explain()
    assert explanation[1].formula.equivalent(parse("(a & b) | ~c"))
    for counted in explanation.stability.classes:
        shares = {name: share for name, share in counted.concepts.items() if name not in "abc"}
        assert all(counted.concepts[name] >= RECURS for name in "abc")
        assert max(shares.values(), default=0.0) < RECURS, shares


def test_too_few_rows_to_choose_a_length_are_told_of():
    explanation = EntropyClassifier(None).fit([[0, 1]] + [[1, 0]] * 9, ["rare"] + ["common"] * 9).explain()
    start = "the class is rare: too few rows of this class to choose a length"
    assert any(note.startswith(start) for note in explanation.notes)
