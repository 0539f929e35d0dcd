"""Models that learn within knowledge: their rules keep to it on every row, judged by evaluating all of them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens import ClassKnowledge, EntropyClassifier, Knowledge
from logiclens.errors import LogicLensError
from logiclens.estimator.cross_validation import cross_validate
from logiclens.estimator.knowledge import protected_values
from logiclens.formula import Rule, RuleSet, parse
from logiclens.report import result_of
from logiclens.report.measurement import Source
from tests.examples import examples

FAST = {"epochs": 20, "verbose": False}
VALUES = {"age": [0, 1, 2, 3, 4, 5, 6, 7], "unit": ["A", "B", "C", "D"], "sepsis": [False, True], "dose": [0, 1]}
EVERY = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))
TESTS = {
    "age >= 3": lambda t: t.age >= 3,
    "age < 5": lambda t: ~(t.age >= 5),
    "unit is A": lambda t: t.unit == "A",
    "unit is not B": lambda t: t.unit != "B",
    "sepsis": lambda t: t.sepsis,
    "not sepsis": lambda t: ~t.sepsis,
    "dose is 1": lambda t: t.dose == 1,
}
"""Conditions with an evaluation of their own, in pandas."""


def table(n=120, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    rows = EVERY[EVERY.unit != "D"].sample(n, replace=True, random_state=seed).reset_index(drop=True)
    score = (rows.age >= 4) * 1 + (rows.sepsis & (rows.unit == "A")) + (rows.dose == 1) * (seed % 2)
    score = np.where(rng.random(n) < 0.15, rng.integers(0, 3, n), score)
    return rows, np.array(["low", "mid", "high"])[np.minimum(score, n_classes - 1)]


def cubes(model, name):
    """On which of all rows each rule of a class fires."""
    rules = model.rules_
    return [_fires(rules, cube) for cube in rules.rule(name).cubes]


def _fires(rules, cube):
    held = np.ones(len(EVERY), dtype=bool)
    for literal in cube:
        held &= rules.predicate(literal.concept).held_by(EVERY) == literal.positive
    return held


def conjunction(rule):
    return np.logical_and.reduce([TESTS[text](EVERY).to_numpy() for text in rule.split(" & ")])


def judge(model, known):
    """Evaluate every constraint on every row of the grid."""
    rules = model.rules_
    decided = rules.fires(EVERY) if rules.multilabel else rules.predict(EVERY)
    for rule in rules.rules:
        own = known.classes.get(rule.name, ClassKnowledge())
        assert not set(known.removed).union(own.forbidden_columns) & {
            rules.predicate(c).column for cube in rule.cubes for c in cube.concepts
        }
        fired = cubes(model, rule.label)
        for text in (*known.forbidden, *own.forbidden):
            assert all((f & ~conjunction(text)).any() or not f.any() for f in fired), text
        for text in own.required_conditions:
            assert all(not (f & ~conjunction(text)).any() for f in fired), text
        for text in own.required_rules:
            whole = np.logical_or.reduce(fired) if fired else np.zeros(len(EVERY), dtype=bool)
            assert not (conjunction(text) & ~whole).any(), text
        for columns, sign in ((own.increasing, 1), (own.decreasing, -1)):
            for column in columns:
                others = [name for name in VALUES if name != column]
                order = EVERY.assign(here=decided == rule.label, at=sign * EVERY[column].astype(int))
                for _, rows in order.sort_values("at").groupby(others):
                    assert rows.here.is_monotonic_increasing, (rule.name, column)


@st.composite
def knowledge(draw, classes):
    conditions = st.sampled_from(list(TESTS))
    pairs = st.tuples(conditions, conditions).map(" & ".join) | conditions
    columns = st.sampled_from(list(VALUES))
    per_class = {}
    for name in draw(st.lists(st.sampled_from(classes), unique=True, max_size=2)):
        per_class[name] = ClassKnowledge(
            required_conditions=draw(st.lists(conditions, max_size=1)),
            required_rules=draw(st.lists(pairs, max_size=1)),
            increasing=draw(st.lists(st.sampled_from(["age", "dose", "sepsis"]), unique=True, max_size=1)),
            decreasing=draw(st.lists(st.sampled_from(["age", "dose"]), unique=True, max_size=1)),
            forbidden=draw(st.lists(pairs, max_size=1)) if len(classes) > 2 else (),
            miss=draw(st.none() | st.sampled_from([0.5, 5])),
        )
    return {
        "forbidden_columns": draw(st.lists(columns, unique=True, max_size=1)),
        "preferred_columns": draw(st.lists(columns, unique=True, max_size=1)),
        "forbidden": draw(st.lists(pairs, max_size=2)),
        "classes": per_class,
    }


@pytest.mark.parametrize("classes", [("low", "mid"), ("high", "low", "mid")], ids=["two", "three"])
@examples(30)
@given(data=st.data(), seed=st.integers(0, 3))
def test_rules_keep_to_any_knowledge_on_every_row(classes, data, seed):
    rows, labels = table(seed=seed, n_classes=len(classes))
    parts = data.draw(knowledge(classes))
    refusal = None
    try:
        known = Knowledge(**parts)
        model = EntropyClassifier(knowledge=known, exact=seed % 2 == 0, **FAST)
        model.fit(rows, labels)
    except LogicLensError as error:
        refusal = str(error)
    if refusal is not None:
        assert "defect" not in refusal
        return
    judge(model, known)
    assert all(proof.holds for proof in model.knowledge_proofs())


@pytest.mark.parametrize("place", ["forbidden_columns", "late_columns"])
def test_a_removed_column_changes_nothing(place, tmp_path):
    rows, labels = table()
    rows["leak"] = labels
    known = Knowledge(**{place: ["leak"]})
    folders = []
    for seed in (0, 1):
        moved = rows.assign(leak=rows.leak.sample(frac=1, random_state=seed).to_numpy())
        model = EntropyClassifier(knowledge=known, **FAST).fit(moved, labels)
        folders.append(model.save(tmp_path / str(seed)))
    for file in ("model.json", "weights.safetensors"):
        assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes()
    assert "leak" not in model.schema_.columns
    assert (model.predict(rows) == model.predict(rows.drop(columns="leak"))).all()


@pytest.mark.parametrize("exact", [False, True])
def test_a_column_forbidden_for_a_class_leaves_its_head(exact):
    rows, labels = table(n_classes=3)
    known = Knowledge(classes={"mid": ClassKnowledge(forbidden_columns=["unit"])})
    model = EntropyClassifier(knowledge=known, exact=exact, **FAST).fit(rows, labels)
    about = [name.startswith("unit") for name in model.relevance_.columns]
    assert any(about)
    assert (model.relevance_.loc["mid", about] == 0).all()
    assert (model.relevance_.loc["high", about] > 0).any()
    moved = rows.assign(unit=rows.unit.sample(frac=1, random_state=3).to_numpy())
    place = list(model.relevance_.index).index("mid")
    before, after = (model.read(one).logits for one in (rows, moved))
    np.testing.assert_allclose(before[:, place], after[:, place], rtol=0, atol=1e-12)
    assert abs(before - after).max() > 0.01


def test_protected_columns_only_are_no_change(tmp_path):
    rows, labels = table()
    plain = EntropyClassifier(**FAST).fit(rows, labels)
    watched = EntropyClassifier(knowledge=Knowledge(protected_columns=["unit"]), **FAST).fit(rows, labels)
    assert watched.rules_ == plain.rules_
    weights = [model.save(tmp_path / name) / "weights.safetensors" for model, name in ((plain, "a"), (watched, "b"))]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert "knowledge" not in (tmp_path / "a" / "model.json").read_text()


def test_a_dearer_miss_finds_more_of_the_class():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.integers(0, 10, 600), "z": rng.integers(0, 10, 600)})
    labels = np.where(rng.random(600) < rows.x / 12, "ill", "well")
    recall = []
    for miss in (0.2, 5):
        known = Knowledge(classes={"ill": ClassKnowledge(miss=miss)})
        said = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels).predict(rows)
        recall.append((said[labels == "ill"] == "ill").mean())
    assert recall[0] < recall[1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_costs_are_those_of_counting_errors(n_classes):
    rows, labels = table(n=240, n_classes=n_classes)
    known = Knowledge(classes={"low": ClassKnowledge(miss=7, false_alarm=2)})
    model = EntropyClassifier(knowledge=known, exact=True, set_aside=0.25, **FAST).fit(rows, labels)
    result = result_of(model, model.explain(), Source("t", 240, 4, "risk"))
    held = model.set_aside_.places
    truth = labels[held]
    other = 1 if n_classes == 3 else 0
    for one, said in zip(result.costs, [model.predict(rows)[held], *np.unique(labels)[:, None]], strict=True):
        missed, alarmed = (truth == "low") & (said != "low"), (truth != "low") & (said == "low")
        # With three classes each error is a miss of one class and a false alarm of another, at a cost of 1 where no
        # cost is given; a miss of "low" also raises a false alarm of another, and so on.
        plain = (truth != "low") & (said != "low") & (truth != said)
        assert one.total == 7 * missed.sum() + 2 * alarmed.sum() + other * (missed + alarmed + 2 * plain).sum()
        assert one.mean == one.total / len(held)


def test_a_folder_keeps_the_knowledge(tmp_path):
    rows, labels = table()
    known = Knowledge(classes={"mid": ClassKnowledge(required_conditions=["unit is not B"], increasing=["age"])})
    model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert loaded.knowledge == known
    assert loaded.knowledge_proofs() == model.knowledge_proofs() != ()


def test_the_soft_model_says_that_it_is_not_bound():
    rows, labels = table()
    known = Knowledge(classes={"mid": ClassKnowledge(increasing=["age"])})
    notes = EntropyClassifier(knowledge=known, exact=False, **FAST).fit(rows, labels).explain().notes
    assert any("the network is not bound" in note for note in notes)


def test_protected_groups_are_measured_as_pandas_does():
    rows, labels = table(400)
    known = Knowledge(protected_columns=["unit"], forbidden_columns=["unit"])
    model = EntropyClassifier(knowledge=known, set_aside=0.3, **FAST).fit(rows, labels)
    source = Source("t", len(rows), 4, "y")
    result = result_of(model, model.explain(), source)
    (column,) = result.protected
    held = rows.iloc[model.set_aside_.places]
    said, truth = model.rules_.predict(held), labels[model.set_aside_.places]
    for group in column.groups:
        here = (held.unit == group.name).to_numpy()
        for counted in group.classes:
            chosen = here & (said == counted.name)
            assert counted.decision.decided.hits == chosen.sum()
            assert counted.decision.precision.hits == (chosen & (truth == counted.name)).sum()
            assert counted.decision.recall.total == (here & (truth == counted.name)).sum()
    assert column.used_by == ()


DAYS = pd.Series(pd.date_range("1940-01-01", periods=300, freq="90D"))
GROUPED = {
    "days of one year": (DAYS[:4], {"1940-01", "1940-03", "1940-06", "1940-09"}),
    "days of some years": (DAYS[:30], {str(year) for year in range(1940, 1948)}),
    "days of many years": (DAYS, {"below 1958", "from 1958 to below 1977", "from 1977 to below 1995", "at least 1995"}),
    "numbers": (pd.Series(range(13)), {"below 3", "from 3 to below 7", "from 7 to below 10", "at least 10"}),
    "few numbers": (pd.Series(range(12)), set(range(12))),
    "a frequent number": (pd.Series([0] * 70 + list(range(1, 31))), {"below 1", "at least 1"}),
    "the largest number is frequent": (pd.Series([40] * 95 + list(range(20))), {"below 40", "at least 40"}),
    "durations": (
        pd.Series(pd.to_timedelta(range(20), "D")),
        {"below 5 days", "at least 15 days", "from 5 to below 10 days", "from 10 to below 15 days"},
    ),
    "texts": (
        pd.Series([f"t{n}" for n in range(40) for _ in range(n + 1)]),
        {*(f"t{n}" for n in range(28, 40)), "another value (one of 28)"},
    ),
    "codes": (
        pd.Series([n % 20 for n in range(70)], dtype="category"),
        {*map(str, (*range(10), 10, 11)), "another value (one of 8)"},
    ),
}


@pytest.mark.parametrize("name", GROUPED)
def test_a_protected_column_makes_few_groups(name):
    cells, groups = GROUPED[name]
    with_gap = cells.reindex(range(len(cells) + 1))
    found = protected_values(Knowledge(protected_columns=["a"]), pd.DataFrame({"a": with_gap}))["a"]
    assert found[-1] is None
    assert set(found[:-1].tolist()) == groups


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"method": "paper"}, "needs method='search'"),
        ({"class_weight": "balanced"}, "both weigh classes"),
        ({"knowledge": 3}, "knowledge must be a logiclens.Knowledge"),
    ],
)
def test_settings_that_exclude_knowledge_are_refused(settings, sentence):
    rows, labels = table()
    known = {"knowledge": Knowledge(classes={"mid": ClassKnowledge(miss=2)}), "verbose": False}
    with pytest.raises(LogicLensError, match=sentence):
        EntropyClassifier(**(known | settings)).fit(rows, labels)


def test_a_category_that_no_row_has_is_refused():
    rows, labels = table(n_classes=3)
    known = Knowledge(classes={"mid": ClassKnowledge(required_conditions=["unit is AA"])})
    with pytest.raises(LogicLensError, match="no row of the table has that value; the nearest are 'A'"):
        EntropyClassifier(knowledge=known, **FAST).fit(rows, labels)


def test_a_missing_protected_column_says_how_to_keep_it():
    rows, labels = table()
    known = Knowledge(protected_columns=["zip"])
    with pytest.raises(
        LogicLensError,
        match=r"which --protected or protected_columns of the knowledge names \(one that must not be used stays in the "
        "table, and is in forbidden_columns",
    ):
        EntropyClassifier(knowledge=known, **FAST).fit(rows, labels)


def test_knowledge_that_removes_every_column_is_refused():
    rows, labels = table()
    known = Knowledge(forbidden_columns=["age", "unit"], late_columns=["sepsis", "dose"])
    with pytest.raises(LogicLensError, match="removes every column of the table"):
        EntropyClassifier(knowledge=known, **FAST).fit(rows, labels)


def test_an_equality_on_an_ordered_column_keeps_its_direction(tmp_path):
    rows, labels = table()
    known = Knowledge(classes={"mid": ClassKnowledge(increasing=["age"])})
    model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
    with pytest.raises(LogicLensError, match=r"a higher 'age' never takes mid from a row, but .*it holds if age is"):
        model.adopt(model.rules_.with_rule("mid", "age == 1"))


def test_a_loaded_model_knows_categories_with_spaces(tmp_path):
    rows, labels = table()
    rows["unit"] = rows.unit + "  "
    known = Knowledge(forbidden=["unit is A"], classes={"mid": ClassKnowledge(required_conditions=["unit is not B"])})
    model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert loaded.knowledge_proofs() == model.knowledge_proofs()
    with pytest.raises(LogicLensError, match="no rule implies unit is A, but"):
        loaded.adopt(loaded.rules_.with_rule("mid", "unit is 'A  ' & unit is not 'B  '"))


def test_a_required_rule_that_others_cover_may_go():
    rows, labels = table()
    known = Knowledge(classes={"mid": ClassKnowledge(required_rules=["age >= 6 & sepsis"])})
    model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
    name = next(str(one) for one in model.rules_.rule_ids if len(model.rules_.cube(one)) == 2)
    without = model.rules_.without(name)
    with pytest.raises(
        LogicLensError, match="mid has the rule age >= 6 & sepsis, or others that cover it, but it fires"
    ):
        model.adopt(RuleSet((Rule("low", parse("True"), (0.5,)), Rule("mid", parse("False"), ())), facts=without.facts))
    covered = model.rules_.with_rule("mid", "age >= 5").without(name)
    assert all(proof.holds for proof in model.adopt(covered).knowledge_proofs())


def test_adopted_rules_keep_to_the_knowledge_or_are_refused(tmp_path):
    rows, labels = table(seed=1)
    known = Knowledge(forbidden=["dose >= 1"], classes={"low": ClassKnowledge(required_conditions=["age >= 1"])})
    model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
    model.save(tmp_path / "model")
    for one in (model, EntropyClassifier.load(tmp_path / "model")):
        rules = one.rules_.with_rule("low", "age >= 1 & dose >= 1")
        with pytest.raises(LogicLensError, match="no rule implies dose >= 1, but the rule of low, age >= 1 & dose"):
            one.adopt(rules)
        rules = one.rules_.with_rule("low", "unit is A")
        with pytest.raises(LogicLensError, match="every rule of low implies age >= 1, but the rule unit is A does not"):
            one.adopt(rules)
        free = one.adopt(rules, with_knowledge=False)
        assert (free.knowledge, free.knowledge_proofs()) == (None, ())
        kept = one.adopt(one.rules_.with_rule("low", "age >= 1 & unit is A"))
        assert kept.knowledge == known
        assert all(proof.holds for proof in kept.knowledge_proofs())


def test_a_pinned_rule_that_knowledge_forbids_is_told_before_learning(monkeypatch):
    rows, labels = table(seed=1)
    known = Knowledge(forbidden=["dose >= 1"], classes={"low": ClassKnowledge(required_rules=["age >= 1 & unit is A"])})
    model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
    allowed = model.rules_.with_rule("low", "age >= 5 & unit is A").pin("low: age >= 5 & unit is A")
    again = model.refit(rows, labels, pinned=allowed)
    assert all(proof.holds for proof in again.knowledge_proofs())
    barred = model.rules_.with_rule("low", "dose >= 1").pin("low: dose >= 1")
    monkeypatch.setattr(EntropyClassifier, "fit", None)
    with pytest.raises(LogicLensError, match="no rule implies dose >= 1, but the rule of low, dose >= 1, implies it"):
        model.refit(rows, labels, pinned=barred)


def test_a_fold_may_lack_a_category_that_knowledge_names():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"unit": ["A"] * 60 + ["B"] * 59 + ["Z"], "age": rng.integers(20, 90, 120)})
    labels = np.where(frame["age"] >= 55, "ill", "well")
    model = EntropyClassifier(epochs=5, knowledge=Knowledge(forbidden=("unit is Z",)))
    assert len(list(cross_validate(frame, labels, estimator=model, n_folds=3))) == 3


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("forbidden", [["age >= 3"], ["age < 6"], ["age >= 3 & sepsis", "unit is A & age >= 4"]])
def test_no_class_that_is_the_rest_has_a_forbidden_rule(forbidden, exact):
    rows, labels = table(seed=1)
    known = Knowledge(forbidden=forbidden)
    model = EntropyClassifier(knowledge=known, exact=exact, **FAST).fit(rows, labels)
    assert all(proof.holds for proof in model.knowledge_proofs())
    (rest,) = (rule for rule in model.rules_.rules if rule.is_complement)
    asked = [dict(one.split(" ", 1) for one in text.replace("sepsis", "sepsis is").split(" & ")) for text in forbidden]
    for cube in shortest_cubes(rest.formula.of):
        used = {model.rules_.predicate(concept): sign for concept, sign in cube.items()}
        for conditions in asked:
            said = {
                column
                for column in conditions
                if any(_says(meant, sign, column, conditions[column]) for meant, sign in used.items())
            }
            assert said != set(conditions), (str(rest.formula), cube)


def _says(meant, sign, column, wanted):
    """Whether a literal leaves no value of a column that fails a condition, by trying the values that there are."""
    if meant.column != column:
        return False
    values = [value for value in (*VALUES[column], None) if bool(meant.holds([value])[0]) == sign]
    holds = {
        ">=": lambda value: value is not None and value >= int(wanted.split()[1]),
        "<": lambda value: value is None or value < int(wanted.split()[1]),
        "is": lambda value: value is True or value == wanted.removeprefix("is "),
    }[wanted.split()[0]]
    return bool(values) and all(map(holds, values))


def shortest_cubes(formula):
    """The smallest sets of literals, each the negation of one in every cube, found by trying all sets."""
    literals = {(literal.concept, not literal.positive) for cube in formula for literal in cube}
    found = []
    for size in range(len(literals) + 1):
        for chosen in combinations(sorted(literals), size):
            hits = all(any((one.concept, not one.positive) in chosen for one in cube) for cube in formula)
            if hits and len(dict(chosen)) == size and not any(known <= set(chosen) for known in found):
                found.append(set(chosen))
    return [dict(one) for one in found]


def test_a_class_without_a_rule_says_that_knowledge_allows_none():
    rows, labels = table(seed=1)
    known = Knowledge(forbidden_columns=["unit", "sepsis", "dose"], forbidden=["age >= 1", "age < 7"])
    explanation = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels).explain()
    for explained in explanation.classes:
        assert explained.formula.is_constant
        assert "no rule that the knowledge allows decides enough rows" in explained.reason


def test_a_class_with_required_conditions_is_not_the_rest():
    rows, labels = table(n=240, n_classes=3)
    for name in np.unique(labels):
        known = Knowledge(classes={name: ClassKnowledge(required_conditions=["age >= 3"])})
        model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
        assert all(proof.holds for proof in model.knowledge_proofs())
        assert not ((model.predict(rows) == name) & (rows["age"] < 3)).any()
    every = Knowledge(classes={name: ClassKnowledge(required_conditions=["age >= 3"]) for name in np.unique(labels)})
    with pytest.raises(LogicLensError, match="leave out required_conditions of one class"):
        EntropyClassifier(knowledge=every, **FAST).fit(rows, labels)


def test_the_probability_of_two_classes_follows_a_direction():
    rows, labels = table(seed=1, n=400)
    known = Knowledge(classes={"mid": ClassKnowledge(increasing=["age", "dose"])})
    model = EntropyClassifier(knowledge=known, exact=True, **FAST).fit(rows, labels)
    grid = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))
    place = list(model.classes_).index("mid")
    for column in ("age", "dose"):
        share = model.predict_proba(grid)[:, place]
        for _, group in grid.assign(share=share).groupby([name for name in VALUES if name != column]):
            assert group.sort_values(column)["share"].is_monotonic_increasing


@pytest.mark.parametrize("place", ["forbidden_columns", "protected_columns"])
def test_the_target_is_no_column_of_knowledge(place):
    rows, labels = table()
    known = Knowledge(**{place: ["risk"]}, source="known.toml")
    told = f"{place} of known.toml names 'risk', which is the target: knowledge is about the other columns."
    with pytest.raises(LogicLensError) as caught:
        EntropyClassifier(**FAST, knowledge=known).fit(rows.assign(risk=labels), target="risk")
    assert str(caught.value) == told
