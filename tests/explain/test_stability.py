"""Recurrence over bags and resamples: frequencies counted by hand, and formulas of recurring concepts."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pandas as pd
import pytest

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.estimator.training import _drawn
from logiclens.explain.candidates import formula_of
from logiclens.explain.choice import bag_cubes
from logiclens.explain.stability import alike, cuts_of, selection_frequencies
from logiclens.formula import DNF, Complement, parse
from logiclens.formula.english import RECURS
from logiclens.formula.predicate import Predicate
from tests.cli_runs import logiclens, refused

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
    return EntropyClassifier(epochs=100).fit(FRAME, LABELS)


def test_frequencies_are_counted_over_the_runs():
    runs = [[parse("a | b & c")], [parse("a")], [parse("c & ~a")], [DNF.false]]
    counted = selection_frequencies(["ill"], runs).classes[0]
    # a is in runs 1, 2, 3; c in 1, 3; b in 1. The cube a is in 1 and 2.
    assert counted.concepts == {"a": 0.75, "c": 0.5, "b": 0.25}
    assert {str(cube): share for cube, share in counted.cubes.items()} == {"a": 0.5, "b & c": 0.25, "c & ~a": 0.25}
    assert list(counted.concepts) == ["a", "c", "b"]
    assert [str(cube) for cube in counted.recurring] == ["a"]


def test_cubes_match_where_thresholds_are_at_most_one_cut_apart():
    names = [
        "age >= 40",
        "age >= 50",
        "age >= 60",
        "age >= 100",
        "bmi >= 25",
        "bmi is missing",
        "unit is A",
        "unit is B",
    ]
    predicates = {
        **{f"age >= {cut}": Predicate("age", ">=", float(cut)) for cut in (40, 50, 60, 100)},
        "bmi >= 25": Predicate("bmi", ">=", 25.0),
        "bmi is missing": Predicate("bmi", "missing"),
        "unit is A": Predicate("unit", "==", "A"),
        "unit is B": Predicate("unit", "==", "B"),
    }
    cuts = cuts_of(names, predicates)

    def match(first: str, second: str) -> bool:
        (one,), (other,) = (parse(text) for text in (first, second))
        assert alike(one, other, cuts) == alike(other, one, cuts)
        return alike(one, other, cuts)

    assert match('"age >= 40" & "unit is A"', '"unit is A" & "age >= 50"')
    # By the order of the cuts as numbers: 100 comes after 60.
    assert match('"age >= 60"', '"age >= 100"')
    assert match('"age >= 40" & ~"age >= 60"', '"age >= 50" & ~"age >= 100"')
    # Two cuts apart, another direction, another column, another category, a literal more.
    assert not match('"age >= 40"', '"age >= 60"')
    assert not match('"age >= 40"', '~"age >= 50"')
    assert not match('"bmi >= 25"', '"age >= 40"')
    assert not match('"bmi >= 25"', '"bmi is missing"')
    assert not match('"unit is A"', '"unit is B"')
    assert not match('"age >= 40"', '"age >= 50" & "unit is A"')
    # A cut that rules may not use lies between no two.
    assert alike(
        *parse('"age >= 40"'), *parse('"age >= 60"'), cuts_of([n for n in names if n != "age >= 50"], predicates)
    )
    runs = [[parse('"age >= 40"')], [parse('"age >= 50"')], [parse('"age >= 100"')], [Complement(parse('"age >= 50"'))]]
    counted = selection_frequencies(["ill"], runs, chosen=[parse('"age >= 60"')], cuts=cuts).classes[0]
    assert {str(cube): share for cube, share in counted.cubes.items()} == {
        '"age >= 40"': 0.5, '"age >= 50"': 0.5, '"age >= 60"': 0.5, '"age >= 100"': 0.25
    }  # fmt: skip


def test_what_recurs_is_marked_in_words():
    stability = selection_frequencies(["ill"], [[parse("a")], [parse("a")], [parse("b & c")]], drawn="bags")
    assert str(stability).splitlines() == [
        "chosen in how many of 3 bags", "ill", "    67%  a", "    33%  b", "    33%  c",
        "  the cube a recurs in 2 of 3", "  the cube b ∧ c recurs in only 1 of 3, less than half",
    ]  # fmt: skip


def test_planted_rules_recur_on_bags_and_noise_does_not(model):
    stability = model.explain().stability
    assert (stability.n_resamples, stability.drawn) == (10, "bags")
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
    model = EntropyClassifier(None, epochs=40).fit(pd.DataFrame(rows.astype(float), columns=names), labels)
    explanation = model.explain()
    assert explanation[1].formula.equivalent(parse("(a & b) | ~c"))
    for counted in explanation.stability.classes:
        shares = {name: share for name, share in counted.concepts.items() if name not in "abc"}
        assert all(counted.concepts[name] >= RECURS for name in "abc")
        assert max(shares.values(), default=0.0) < RECURS, shares


def noisy(seed: int, n_rows: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    """Flags that hardly tell the class."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.random((n_rows, 8)) < 0.5, columns=list("abcdefgh")).astype(float)
    return rows, ((rows["a"] > 0) ^ (rng.random(n_rows) < 0.3)).to_numpy()


def used_in_bags(model: EntropyClassifier, names: pd.Index) -> list[set[str]]:
    (choice,) = model.learned_.choices
    return [{names[code >> 1] for cube in bag for code in cube} for bag in choice.bags]


@pytest.mark.parametrize("exact", [True, False])
def test_stable_rules_use_only_what_recurs(exact):
    rows, labels = noisy(2)
    settings = {"epochs": 20, "committee": 3, "price": 0.002, "exact": exact}
    loose = EntropyClassifier(None, **settings).fit(rows, labels)
    stable = EntropyClassifier(None, **settings, stable=True).fit(rows, labels)
    bags = used_in_bags(loose, rows.columns)
    recurring = {name for name in rows.columns if 2 * sum(name in bag for bag in bags) >= len(bags)}
    assert recurring
    assert set(stable.rules_.concepts) <= recurring
    assert not set(loose.rules_.concepts) <= recurring
    # A certificate is about the stable rules.
    assert not exact or [head.formula for head in stable.certificate_.heads] == list(stable.explain().formulas)


def test_without_recurrence_there_is_no_stable_formula_but_a_note():
    rows, labels = noisy(1)
    settings = {"epochs": 20, "committee": 3, "price": 0.002}
    loose = EntropyClassifier(None, **settings).fit(rows, labels)
    bags = used_in_bags(loose, rows.columns)
    assert all(2 * sum(name in bag for bag in bags) < len(bags) for name in rows.columns)
    assert loose.rules_.concepts
    explanation = EntropyClassifier(None, **settings, stable=True).fit(rows, labels).explain()
    assert all(formula.is_constant for formula in explanation.formulas)
    assert any("no concept recurs on at least half of the bags" in note for note in explanation.notes)


def test_too_few_rows_to_choose_a_length_are_told_of():
    explanation = EntropyClassifier(None, epochs=5).fit([[0, 1]] + [[1, 0]] * 9, ["rare"] + ["common"] * 9).explain()
    start = "the class is rare: too few rows of this class to choose a length"
    assert any(note.startswith(start) for note in explanation.notes)


def test_equal_seeds_give_equal_frequencies_and_change_no_model(model):
    before = model.predict_proba(FRAME)
    first, second = model.explain(stability=2), model.explain(stability=2)
    assert first.stability == second.stability
    assert first.stability.drawn == "resamples"
    assert first.formulas == model.explain().formulas
    assert (model.predict_proba(FRAME) == before).all()
    assert "chosen in how many of 2 resamples" in str(first)


def test_class_weights_count_in_resamples_too(monkeypatch):
    seen = []

    def search(choice, table, config, far):
        seen.append(table.scored.sum(axis=0) / table.labels.sum(axis=0))
        return bag_cubes(choice, table, config, far)

    rows, labels = noisy(0)
    model = EntropyClassifier(None, epochs=5, committee=3, class_weight={False: 1.0, True: 3.0}).fit(rows, labels)
    monkeypatch.setattr("logiclens.estimator.training.bag_cubes", search)
    model.explain(stability=2)
    assert [factors.tolist() for factors in seen] == [[1.0, 3.0]] * 2


def test_an_exact_model_tells_frequencies_but_keeps_its_certified_formulas():
    model = EntropyClassifier(exact=True, epochs=30, committee=3).fit(FRAME, LABELS)
    explanation = model.explain(stability=2)
    assert explanation.formulas == model.explain().formulas
    assert explanation.stability.n_resamples == 2
    assert model.explain().stability.drawn == "bags"


@pytest.mark.parametrize("wrong", [1, 0, -3, 2.5, True, "many"])
def test_the_number_of_resamples_is_checked(model, wrong):
    with pytest.raises(LogicLensError, match="stability must be a whole number of at least 2"):
        model.explain(stability=wrong)


def test_a_loaded_model_has_no_rows_to_draw(model, tmp_path):
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    with pytest.raises(LogicLensError, match="keeps no rows to draw again"):
        loaded.explain(FRAME, stability=2)


def test_resamples_have_as_many_rows_and_every_class():
    rng = np.random.default_rng(0)
    table = ConceptTable([[0], [1], [1]], labels=[0, 1, 2], weight=[50, 40, 1])
    for _ in range(50):
        drawn = table.weighing(_drawn(table, rng))
        # One row more where the class with a single row was not drawn.
        assert drawn.weight.sum() in (91, 92)
        assert set(drawn.labels.tolist()) == {0, 1, 2}
        assert drawn.class_names == table.class_names


def test_weights_that_are_no_counts_are_kept_in_resamples():
    rng = np.random.default_rng(0)
    table = ConceptTable([[0], [1], [1], [0]], labels=[0, 1, 0, 1], weight=[0.5, 1.5, 2.5, 0.25])
    drawn = [table.weighing(_drawn(table, rng)) for _ in range(300)]
    mean = np.mean([part.weight.sum() for part in drawn])
    assert mean == pytest.approx(table.weight.sum(), rel=0.15)
    for part in drawn:
        for value, label, weight in zip(part.values[:, 0], part.labels, part.weight, strict=True):
            [own] = table.weight[(table.values[:, 0] == value) & (table.labels == label)]
            assert (weight / own) == round(weight / own)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_resamples_explained_side_by_side_are_the_same(model, n_jobs):
    """Parts of another size are sent, and come back in order."""
    alone = model.explain(stability=7).stability
    with joblib.parallel_config("threading", n_jobs=n_jobs):
        together = model.explain(stability=7).stability
    assert together == alone
    assert together.n_resamples == 7


@pytest.mark.slow
def test_the_command_line_has_resamples_done_by_processes(tmp_path):
    frame = FRAME.assign(state=LABELS)
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = ("explain", "data.csv", "--target", "state", "--stability", "4", "--json")
    for name, options in (("alone", ()), ("together", ("--jobs", "2"))):
        run = logiclens(*arguments, name, *options, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    alone, together = (json.loads((tmp_path / name).read_text())["stability"] for name in ("alone", "together"))
    assert together == alone
    assert together["resamples"] == 4
    assert refused("explain", "data.csv", "--target", "state", "--jobs", "2", cwd=tmp_path) == (
        "--jobs is for resamples: say how many, for example --stability 20."
    )
