"""Regressions: repeated rows, rows without a target, saved rules, groups through a left-out concept."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from logiclens import RuleSet
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import distinct_rows, set_apart
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimator import EntropyClassifier, training
from logiclens.formula import parse
from logiclens.formula.groups import Groups
from logiclens.formula.record import to_dict
from logiclens.formula.rule_set import Rule
from logiclens.metrics.rule_statistics import rule_statistics
from logiclens.report import Source, render, result_of
from logiclens.tables.frames import columns_of

RNG = np.random.default_rng(0)
FEW = pd.DataFrame({"c": RNG.integers(0, 3, 600), "d": RNG.choice(["u", "v"], 600)})
LABEL = pd.Series(np.where((FEW["c"] == 2) | (FEW["d"] == "u") & (RNG.random(600) < 0.9), "yes", "no"), name="y")


@pytest.fixture(scope="module")
def repeated() -> EntropyClassifier:
    return EntropyClassifier(set_aside=0.25).fit(FEW, LABEL)


def test_every_copy_set_aside_has_its_own_row_number(repeated):
    result = result_of(repeated, repeated.explain(), Source("few", 600, 2, "y"))
    aside = repeated.set_aside_
    numbers = [row.row for row in result.rows]
    assert len(numbers) == len(set(numbers)) == result.rows_total == result.parts.set_aside == 150
    names = [concept.name for concept in result.concepts]
    concepts = repeated.concepts(FEW)[names].astype(bool).to_numpy()
    for row in result.rows:
        assert row.label == LABEL[row.row - 1]
        assert [bit == "1" for bit in row.bits] == concepts[row.row - 1].tolist()
    # What the page lists for a rule is as much as what it says the rule fires on.
    for counted, entry in zip(result.statistics.classes, result.rules.rules, strict=True):
        for cube, told in zip(entry.cubes, counted.cubes, strict=True):
            wanted = [(names.index(literal.concept), "1" if literal.positive else "0") for literal in cube]
            fires = sum(all(row.bits[place] == bit for place, bit in wanted) for row in result.rows)
            assert fires == told.support.hits
    assert sorted(aside.places.tolist()) == sorted(number - 1 for number in numbers)


def test_copies_of_a_part_are_whole_rows_of_the_table():
    columns, classes = columns_of(FEW), (LABEL == "yes").to_numpy().astype(int)[:, None]
    distinct = distinct_rows(columns, classes, np.ones(600), seed=0)
    part = set_apart(classes[distinct.first, 0], distinct.weight, 0.3)
    copies = distinct.copies(part)
    assert len(copies.places) == part.sum()
    kept = distinct.first[part > 0]
    for place, row in zip(copies.places, copies.rows, strict=True):
        assert FEW.iloc[place].tolist() == FEW.iloc[kept[row]].tolist()
        assert classes[place] == classes[kept[row]]
    assert np.bincount(copies.rows).tolist() == part[part > 0].tolist()


def test_rules_are_saved_as_they_are_printed(tmp_path):
    model = EntropyClassifier(set_aside=0.25).fit(FEW, LABEL)
    explanation = model.explain()
    result = result_of(model, explanation, Source("few", 600, 2, "y"))
    folder = model.save(tmp_path / "m", result, rules=explanation.rules)
    assert (
        to_dict(RuleSet.load(folder))
        == to_dict(result.rules)
        == json.loads((folder / "model.json").read_text())["rules"]
    )
    other = EntropyClassifier(set_aside=0.25, max_literals=1).fit(FEW, LABEL)
    assert other.rules_ != explanation.rules
    with pytest.raises(LogicLensError, match="the result is of other rules than the model"):
        other.save(tmp_path / "n", result)
    assert not (tmp_path / "n").exists()


def test_a_chain_stands_for_the_concept_that_was_left_out():
    groups = Groups([["a >= 30", "a is missing"]], [["a >= 30", "a >= 80", "a >= 90"]])
    left = groups.among(["a >= 80", "a >= 90", "a is missing"])
    assert left == Groups([["a >= 80", "a is missing"]], [["a >= 80", "a >= 90"]])
    # As many rows are possible as of all concepts, looked at through these.
    names = ["a >= 30", "a >= 80", "a >= 90", "a is missing"]
    every = np.array(np.meshgrid(*[[False, True]] * 4)).T.reshape(-1, 4)
    possible = {tuple(row[1:]) for row in every[groups.allows(every, names)].tolist()}
    rest = np.unique(every[:, 1:], axis=0)
    assert {tuple(row) for row in rest[left.allows(rest, names[1:])].tolist()} == possible


def test_two_chains_through_one_concept_do_not_exclude_each_other():
    groups = Groups([["x", "y"]], [["x", "p"], ["x", "q"]])
    left = groups.among(["p", "q", "y"])
    every = np.array(np.meshgrid(*[[False, True]] * 4)).T.reshape(-1, 4)
    names = ["x", "y", "p", "q"]
    possible = {tuple(row[1:]) for row in every[groups.allows(every, names)].tolist()}
    rest = np.unique(every[:, 1:], axis=0)
    assert {tuple(row) for row in rest[left.allows(rest, names[1:])].tolist()} == possible


@pytest.mark.parametrize("name", ["amount_paid", "uric acid", "thyroid", "casino", "income"])
def test_a_name_that_only_ends_like_an_identifier_is_none(name):
    values = RNG.choice(10**6, 80, replace=False)
    fitted = Booleaniser().fit(pd.DataFrame({name: values, "z": RNG.normal(size=80)}), values > 500_000)
    assert any(predicate.column == name for predicate in fitted.predicates_.values())


@pytest.mark.parametrize("name", ["id", "patient_id", "Case No", "patientId", "MRN number"])
def test_sparse_numbers_that_are_called_identifiers_are_left_out(name):
    values = RNG.choice(10**6, 80, replace=False)
    with pytest.warns(LogicLensWarning, match="as an identifier has"):
        Booleaniser().fit(pd.DataFrame({name: values, "z": RNG.normal(size=80)}), values > 500_000)


@pytest.mark.parametrize("ids", [np.arange(1000, 1300), [f"P{i:05}" for i in range(300)]])
def test_one_copy_does_not_hide_an_identifier(ids):
    frame = pd.DataFrame({"id": ids, "z": RNG.normal(size=300)})
    frame = pd.concat([frame, frame.iloc[[7]]], ignore_index=True)
    with pytest.warns(LogicLensWarning, match="the column 'id' is left out"):
        Booleaniser().fit(frame, np.append(RNG.integers(0, 2, 300), [0]))


def test_a_gap_does_not_hide_an_identifier():
    frame = pd.DataFrame({"id": np.arange(300.0), "z": RNG.normal(size=300)})
    frame.loc[5, "id"] = np.nan
    with pytest.warns(LogicLensWarning, match="the column 'id' is left out"):
        Booleaniser().fit(frame, RNG.integers(0, 2, 300))


def test_a_table_of_one_identifier_says_so():
    with pytest.raises(LogicLensError, match="no column is left to tell rows apart: 'id' is left out, since every row"):
        Booleaniser().fit(pd.DataFrame({"id": [f"P{i}" for i in range(40)]}), [0, 1] * 20)


def test_a_column_vector_is_scored_as_its_labels(repeated):
    expected = repeated.score(FEW, LABEL)
    assert repeated.score(FEW, LABEL.to_frame()) == repeated.score(FEW, LABEL.to_numpy()[:, None]) == expected
    assert expected == (repeated.predict(FEW) == LABEL).mean()
    with pytest.raises(LogicLensError, match="labels must have the shape"):
        repeated.score(FEW, np.stack([LABEL, LABEL], axis=1))


def test_weights_that_are_no_counts_do_not_narrow_an_interval():
    rules = RuleSet((Rule("yes", parse("a"), (0.9,)), Rule("no", parse("~a"), (0.9,))), otherwise=1)
    rows, labels = {"a": [1, 1, 1, 0, 0, 0, 1, 0]}, ["yes", "yes", "no", "no", "no", "yes", "yes", "no"]
    plain = rule_statistics(rules, rows, labels)["yes"].whole.confidence
    for factor in (100.5, 0.004):
        scaled = rule_statistics(rules, rows, labels, weight=np.full(8, factor))["yes"].whole.confidence
        assert (scaled.value, scaled.low, scaled.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_a_subgroup_called_missing_does_not_swallow_the_gaps():
    rules = RuleSet((Rule("yes", parse("a"), (0.9,)), Rule("no", parse("~a"), (0.9,))), otherwise=1)
    counted = rule_statistics(rules, {"a": [1, 0, 1]}, ["yes", "no", "no"], by=["missing", None, "x"])
    assert {name: classes[0].prevalence.total for name, classes in counted.subgroups.items()} == {
        "missing": 1, "x": 1, "no value": 1
    }  # fmt: skip


def test_a_condition_with_a_gap_flag_is_told_without_it():
    rows = pd.DataFrame({"a": np.where(RNG.random(400) < 0.2, np.nan, RNG.normal(50, 20, 400))})
    labels = np.where(rows["a"].isna() | (rows["a"] >= 60), "p", "q")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EntropyClassifier(set_aside=0.25).fit(rows, labels)
        page = render(result_of(model, model.explain(), Source("t", 400, 1, "y")))
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    told = [words for cube in data["rules"] for words, _ in cube["conditions"]]
    told += [words for unit in data["units"] for _, words, _ in unit["states"]]
    assert [words for words in told if words.startswith("a is below")]
    assert not any("(or missing)" in words for words in told)


def test_subgroups_by_a_column_that_the_model_does_not_know(repeated):
    sex = RNG.choice(["f", "m"], 600)
    counted = repeated.statistics(by=pd.Series(sex, name="sex"))
    places = repeated.set_aside_.places
    fires = repeated.rules_.fires(FEW.iloc[places])
    assert counted.by == "sex"
    for name, classes in counted.subgroups.items():
        here = sex[places] == name
        for place, rule in enumerate(repeated.rules_.rules):
            whole = classes[place].whole
            assert whole.support.total == here.sum()
            assert whole.confidence.hits == (fires[here, place] & (LABEL.to_numpy()[places][here] == rule.label)).sum()
    with pytest.raises(LogicLensError, match="one value for each row that fit was given"):
        repeated.statistics(by=sex[:10])


def test_large_tables_train_in_mini_batches_and_weights_are_copies(monkeypatch):
    frame, label = pd.DataFrame(RNG.normal(size=(300, 8)).round(3)).add_prefix("v"), RNG.integers(0, 2, 300)
    settings = {"booleanise": "quantile", "exact": False, "epochs": 6}
    small = EntropyClassifier(**settings).fit(frame, label)
    assert (small.train_result_.batch_size, len(small.history_)) == (None, 6)
    monkeypatch.setattr(training, "LARGE", 60)
    monkeypatch.setattr(training, "BATCH", 32)
    weight = RNG.integers(1, 3, 300)
    weighed = EntropyClassifier(**settings).fit(frame, label, weight)
    copied = EntropyClassifier(**settings).fit(frame.loc[frame.index.repeat(weight)], label.repeat(weight))
    n_trained = weighed.train_result_.n_trained_rows
    assert weighed.train_result_.batch_size == 32
    assert len(weighed.history_) == max(2, -(-6 * 60 // n_trained)) < 6
    assert (weighed.predict_proba(frame) == copied.predict_proba(frame)).all()


def test_a_model_without_its_seal_is_refused(repeated, tmp_path):
    folder = repeated.save(tmp_path / "m")
    content = json.loads((folder / "model.json").read_text())
    del content["content_sha256"], content["cutting"]
    (folder / "model.json").write_text(json.dumps(content))
    with pytest.raises(LogicLensError, match="was changed after it was saved"):
        RuleSet.load(folder)


@pytest.mark.parametrize(
    ("flipped", "share", "leaks"),
    [(0, 0.5, True), (0.035, 0.5, True), (0.035, 0.2, True), (0.1, 0.5, False), (0.25, 0.5, False), (0.5, 0.15, False)],
)
def test_a_condition_that_tells_the_outcome_alone_is_doubted(flipped, share, leaks):
    truth = (np.arange(400) < 400 * share).astype(int)
    # The same share of the rows of each class is flipped.
    flips = np.concatenate([np.arange(n) < round(flipped * n) for n in np.bincount(truth)[::-1]])
    known = np.where(flips, 1 - truth, truth)
    frame = pd.DataFrame({"discharged": np.where(known == 1, "dead", "alive"), "z": RNG.normal(size=400)})
    model = EntropyClassifier(set_aside=0.25).fit(frame, truth)
    notes = result_of(model, model.explain(), Source("t", 400, 2, "died")).notes
    assert any("is it the outcome under another name?" in note for note in notes) == leaks


@pytest.mark.parametrize("as_list", [True, False])
def test_labels_that_end_in_nul_are_classes_of_their_own(tmp_path, as_list):
    labels = ["a\0" if cell == 2 else "a" for cell in FEW["c"]]
    given = labels if as_list else pd.Series(labels, dtype=object)
    model = EntropyClassifier().fit(FEW, given)
    assert model.classes_.tolist() == ["a", "a\0"]
    assert model.predict(FEW).tolist() == labels
    assert model.score(FEW, given) == 1
    model.save(tmp_path / "model")
    assert EntropyClassifier.load(tmp_path / "model").predict(FEW).tolist() == labels


@pytest.mark.parametrize("form", ["frame", "dictionary"])
def test_a_table_fitted_by_target_name_is_predicted_whole(tmp_path, form):
    whole = FEW.assign(y=LABEL)
    table = whole if form == "frame" else {name: whole[name].tolist() for name in whole}
    model = EntropyClassifier().fit(table, target="y")
    model.save(tmp_path / "model")
    expected = model.predict(FEW).tolist()
    assert model.predict(table).tolist() == expected
    assert EntropyClassifier.load(tmp_path / "model").predict(table).tolist() == expected
    cuts = Booleaniser().fit(table, "y")
    assert np.array_equal(cuts.transform(table), cuts.transform(FEW))


def test_a_concept_table_is_not_cut_again():
    concepts = ConceptTable([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(LogicLensError, match=r"set booleanise=None\.$"):
        EntropyClassifier().fit(concepts, ["a", "b"])
    with pytest.raises(LogicLensError, match=r"pass the raw columns\.$"):
        Booleaniser("quantile").fit(concepts)
