"""The result of an explanation, checked with scikit-learn and pandas on the held-out rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from scipy.stats import binomtest

from logiclens.codec import to_plain
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.formula import DNF, Rule, RuleSet
from logiclens.report.measurement import MOST_ROWS, ModelMeasurement, Source, result_of
from logiclens.report.page import render
from logiclens.report.result import FiringCounts, Result, UnusedColumn, read_result

RNG = np.random.default_rng(3)
N = 400
FRAME = pd.DataFrame(
    {"age": RNG.integers(20, 95, N), "unit": RNG.choice(["A", "B", "C"], N), "flat": 1, "crp": RNG.normal(9, 3, N)}
)
STATE = pd.Series(
    np.select([FRAME["age"] >= 70, (FRAME["unit"] == "B") ^ (RNG.random(N) < 0.1)], ["dead", "ill"], "well"),
    name="state",
)
SOURCE = Source("rows.csv", N, 4, "state", "ab" * 32, "logiclens explain rows.csv --target state")


def made(exact: bool) -> tuple[EntropyClassifier, Result]:
    model = EntropyClassifier(Booleaniser("quantile"), exact=exact, set_aside=0.25, epochs=60).fit(FRAME, STATE)
    return model, result_of(model, model.explain(), SOURCE, by="unit")


@pytest.fixture(scope="module")
def soft():
    return made(False)


@pytest.fixture(scope="module")
def exact():
    return made(True)


@pytest.fixture(params=["soft", "exact"])
def either(request):
    return request.getfixturevalue(request.param)


def aside(result: Result) -> tuple[pd.DataFrame, np.ndarray]:
    """The raw rows that were held out, found by their numbers, and their classes."""
    places = [row.row - 1 for row in result.rows]
    return FRAME.iloc[places], STATE.iloc[places].to_numpy()


def test_it_is_whole_and_can_be_written(either):
    _, result = either
    assert read_result(json.loads(json.dumps(to_plain(result), allow_nan=False))) == result
    assert result.data.dropped == (UnusedColumn("flat", "it has one value only"),)
    assert result.command == SOURCE.command
    assert result.title == "state: rules from rows.csv"


def test_the_headline_is_the_accuracy_of_rules_and_baseline(either):
    model, result = either
    frame, truth = aside(result)
    said = model.explain().rules.predict(frame)
    assert result.headline.right.hits == (said == truth).sum()
    places = {row.row - 1 for row in result.rows}
    trained = STATE[[i for i in range(N) if i not in places]]
    assert result.headline.always == trained.mode()[0]
    assert result.headline.always_right.hits == (truth == result.headline.always).sum()
    assert result.headline.right.total == result.headline.always_right.total == len(truth)


def test_cubes_are_measured_where_no_cube_before_them_fires(either):
    model, result = either
    frame, truth = aside(result)
    rules = model.explain().rules
    left = np.ones(len(frame), dtype=bool)
    for place in rules.order:
        rule, counted = rules.rules[place], result.statistics.classes[place].cubes
        for cube, one in zip(rule.cubes, counted, strict=True):
            fires = np.all([rules.holds(lit.concept, frame) == lit.positive for lit in cube], axis=0)
            rows = fires & left
            left &= ~fires
            assert one.decided is not None
            assert (one.decided.hits, one.decided.total) == ((rows & (truth == rule.label)).sum(), rows.sum())


def test_columns_of_texts_keep_all_their_categories(either):
    _, result = either
    used = {concept.column for concept in result.concepts}
    assert [(entry.column, entry.categories) for entry in result.inputs] == [("unit", ("A", "B", "C"))] * (
        "unit" in used
    )


def test_the_parts_are_all_rows_once(either):
    _, result = either
    assert result.parts.train + result.parts.set_aside == N
    assert result.parts.set_aside == len(result.rows) == result.rows_total
    places = [row.row for row in result.rows]
    assert places == sorted(set(places))
    # Rows that trained are others: a quarter of each class is held out.
    counts = STATE.iloc[np.array(places) - 1].value_counts()
    assert ((counts / STATE.value_counts() - 0.25).abs() < 0.02).all()


def test_the_metrics_are_those_of_scikit_learn(either):
    model, result = either
    rows, truth = aside(result)
    told = {metric.name: metric for metric in result.metrics}
    answers = model.predict(rows)
    accuracy = told["model accuracy"]
    assert accuracy.value == pytest.approx(100 * sklearn.metrics.accuracy_score(truth, answers))
    interval = binomtest(int((answers == truth).sum()), len(truth)).proportion_ci(method="wilson")
    assert (accuracy.low, accuracy.high) == pytest.approx((100 * interval.low, 100 * interval.high))
    fires = model.rules_.fires(rows)
    f1 = [
        sklearn.metrics.f1_score(truth == name, fires[:, i], average="macro") for i, name in enumerate(model.classes_)
    ]
    # The paper's metric counts where a formula fires; precision, recall and F1 of a class what is decided.
    assert told["explanation accuracy, by firing"].value == pytest.approx(100 * np.mean(f1))
    said_by_rules = model.rules_.predict(rows)
    precision, recall, decided, _ = sklearn.metrics.precision_recall_fscore_support(
        truth, said_by_rules, labels=model.classes_, zero_division=0
    )
    assert [entry.f1 for entry in result.classes] == pytest.approx(decided)
    assert [entry.precision.value for entry in result.classes] == pytest.approx(precision)
    assert [entry.recall.value for entry in result.classes] == pytest.approx(recall)
    assert told["macro-F1 of the rules' decision"].value == pytest.approx(100 * decided.mean())
    literals = [formula.n_literals for formula in model.rules_.formulas]
    assert told["complexity"].value == np.mean(literals)
    if model.exact:
        assert "fidelity, by firing" not in told
    else:
        by_rules = model.rules_.predict(rows)
        assert told["accuracy of the rules"].value == pytest.approx(100 * (by_rules == truth).mean())
        said = answers[:, None] == model.classes_[None, :]
        assert told["fidelity, by firing"].value == pytest.approx(100 * (said == fires).mean())


def test_the_confusion_is_that_of_scikit_learn(either):
    model, result = either
    rows, truth = aside(result)
    told = result.confusion
    assert told.labels == ("dead", "ill", "well")
    assert told.of == ("the rules" if model.exact else "the network")
    assert told.predicted == told.labels
    expected = sklearn.metrics.confusion_matrix(truth, model.predict(rows), labels=told.labels)
    np.testing.assert_array_equal(told.counts, expected)
    by_rules = result.confusion_of_rules
    expected = sklearn.metrics.confusion_matrix(truth, model.rules_.predict(rows), labels=told.labels)
    assert by_rules.of == "the rules"
    np.testing.assert_array_equal(by_rules.counts, expected)


def test_how_many_formulas_fire(either):
    model, result = either
    fired = model.rules_.fires(aside(result)[0]).sum(axis=1)
    assert result.firing == FiringCounts(*(int(rows.sum()) for rows in (fired == 0, fired == 1, fired > 1)))


def test_each_row_says_its_label_its_answers_and_its_concepts(either):
    model, result = either
    rows, truth = aside(result)
    by_rules, answers = model.rules_.predict(rows), model.predict(rows)
    columns = {name: rows[name] for name in rows.columns}
    bits = [model.rules_.holds(concept.name, columns) for concept in result.concepts]
    for i, row in enumerate(result.rows):
        assert (row.label, row.rules) == (truth[i], by_rules[i])
        assert row.network == (None if model.exact else answers[i])
        assert row.bits == "".join("1" if bit[i] else "0" for bit in bits)


def test_a_class_names_its_best_single_condition_and_dependencies(either):
    model, result = either
    rows, truth = aside(result)
    concepts = model.concepts(rows)
    trained = model.table_
    for place, entry in enumerate(result.classes):
        # The condition is chosen on the rows that trained, and measured on those that did not.
        is_class = np.asarray(trained.labels) == place
        candidates = {}
        for j, name in enumerate(trained.names):
            for sign in (True, False):
                holds = trained.boolean()[:, j] == sign
                score = sklearn.metrics.f1_score(is_class, holds, average="macro", sample_weight=trained.weight)
                candidates[name, sign] = score
        (name, sign), _ = max(candidates.items(), key=lambda item: item[1])
        found = sklearn.metrics.f1_score(truth == entry.name, concepts[name].astype(bool) == sign)
        assert entry.simplest.f1 == pytest.approx(found)
        shares = {one.concept: one.relevance for one in entry.relevance}
        assert all(shares[c] == pytest.approx(model.relevance_.loc[entry.name, c], abs=1e-6) for c in shares)
        assert all(c.words for c in entry.relevance)
        assert all(c.used or c.reason for c in entry.relevance)
        assert {c.concept for c in entry.relevance if c.used} <= set(model.rules_.formulas[place].concepts)
        assert (entry.certified is not None) == model.exact


def test_a_class_without_a_rule_may_be_the_rest(soft):
    model, _ = soft
    explained = replace(model.explain().classes[0], formula=DNF.false, reason="no rule beats chance.", remedy="")
    rules = RuleSet(tuple(Rule(name, DNF.false, ()) for name in ("dead", "ill")), otherwise=0)
    told = [
        ModelMeasurement._told_of_the_rest(SimpleNamespace(rules=one), explained).reason
        for one in (rules, replace(rules, otherwise=1), replace(rules, resolve="none"))
    ]
    alone = "no rule beats chance."
    assert told == ["no rule beats chance; the class is dead where no rule fires.", alone, alone]


def test_subgroups_are_counted_on_the_same_rows(either):
    model, result = either
    rows, truth = aside(result)
    assert result.statistics.by == "unit"
    for group in result.statistics.subgroups:
        mine = (rows["unit"] == group.name).to_numpy()
        fires = model.rules_.fires(rows[mine])
        for place, counted in enumerate(group.classes):
            hits = (fires[:, place] & (truth[mine] == counted.name)).sum()
            assert counted.whole.confidence.hits == hits
            assert counted.whole.support.total == mine.sum()


def test_the_history_is_finite_and_names_the_epoch(soft):
    _, result = soft
    curves = {name: values for name, values in to_plain(result.history).items() if name != "best_epoch"}
    assert {len(values) for values in curves.values()} == {60}
    assert 0 <= result.history.best_epoch <= 60
    assert any(all(value is not None for value in values) for values in curves.values())


def test_what_network_and_formulas_part_on_adds_up(soft):
    model, result = soft
    rows, _ = aside(result)
    said = model.predict(rows)[:, None] == model.classes_[None, :]
    fires = model.rules_.fires(rows)
    assert result.gap.agree == pytest.approx((said == fires).mean())


def test_the_page_shows_how_often_rules_are_found_again(either):
    model, result = either
    page = re.sub(r"\s+", " ", render(result))
    counts = [count for rule in model.rules_.rules for count in rule.counts]
    assert counts
    for count in counts:
        assert f"<strong>{count} of 10</strong>" in page


def test_an_exact_model_has_nothing_beside_its_rules(exact):
    _, result = exact
    assert (result.history, result.gap) == (None, None)
    assert all(entry.relevance == () for entry in result.classes)


@pytest.mark.filterwarnings("ignore::logiclens.errors.LogicLensWarning")
def test_without_rows_set_aside_there_is_no_result():
    model = EntropyClassifier(Booleaniser("quantile"), epochs=2).fit(FRAME, STATE)
    with pytest.raises(LogicLensError, match="a report needs rows that chose nothing: fit with set_aside"):
        result_of(model, model.explain(), SOURCE)


def test_several_labels_a_row_have_no_confusion():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (240, 4))
    labels = np.stack([bits[:, 0] & bits[:, 1], bits[:, 2]], axis=1)
    table = ConceptTable(bits.astype(float), ["a", "b", "c", "d"])
    model = EntropyClassifier(None, set_aside=0.25, epochs=60).fit(table, labels)
    result = result_of(model, model.explain(), Source("bits.csv", 240, 4, "labels"))
    json.dumps(to_plain(result), allow_nan=False)
    assert (result.multilabel, result.confusion) == (True, None)
    names = [entry.name for entry in result.classes]
    for row in result.rows:
        own = labels[row.row - 1]
        assert row.label == (", ".join(name for name, flag in zip(names, own, strict=True) if flag) or "none")


@pytest.mark.filterwarnings("ignore::logiclens.errors.LogicLensWarning")
def test_rows_are_limited_to_a_page_and_duplicates_counted():
    n = 5 * MOST_ROWS
    frame = pd.DataFrame({"x": np.arange(n) / n, "y": np.arange(n) % 3})
    labels = np.where(frame["x"] > 0.5, "up", "down")
    model = EntropyClassifier(Booleaniser("quantile"), set_aside=0.5, epochs=2).fit(frame, labels)
    result = result_of(model, model.explain(), Source("many.csv", n, 2, "side"))
    assert (result.rows_shown, len(result.rows), result.rows_total) == (MOST_ROWS, MOST_ROWS, n // 2)
    places = [row.row for row in result.rows]
    assert places == sorted(places)
    twice = pd.DataFrame({"x": np.tile([0.0, 1.0, 2.0, 3.0], 50)})
    model = EntropyClassifier(Booleaniser("quantile"), set_aside=0.25, epochs=2).fit(twice, twice["x"] > 1.5)
    result = result_of(model, model.explain(), Source("twice.csv", 200, 1, "side"))
    counted = sum(to_plain(result.firing).values()), np.sum(result.confusion.counts), result.parts.set_aside
    assert counted == (50, 50, 50)
