"""Exact mode: heads that are their formulas on every possible row, within a budget, safe from rounding."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from logiclens.data.booleanise import Booleaniser
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimators import EntropyClassifier
from logiclens.estimators.classifier import NotFittedError
from logiclens.estimators.prepare import weighed_by_class
from logiclens.explain.certified import certify, explain_exact
from logiclens.explain.complete import CompleteTable, grid
from logiclens.explain.distil import refit
from logiclens.explain.exact import ExactConfig, ExactNetwork, make_exact
from logiclens.explain.pruning import prune
from logiclens.explain.rounding import rounding_bound
from logiclens.formula import DNF, RuleSet, parse
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.nn import EntropyNet
from logiclens.train import TrainConfig, fit

NAMES = ("a", "b", "c", "d", "e")


def planted(n_rows: int = 300, noise: float = 0.0, seed: int = 0) -> ConceptTable:
    """Random rows whose class is a & b | c, with some labels turned."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, len(NAMES))) < 0.5
    labels = parse("(a & b) | c").evaluate(rows, NAMES) ^ (rng.random(n_rows) < noise)
    return ConceptTable(rows, NAMES, labels.astype(int), ["no", "yes"])


def trained(table: ConceptTable, *, hidden=(10,), shared_tail=False, epochs=150) -> EntropyNet:
    network = EntropyNet(
        table.n_concepts, len(table.class_names), hidden, shared_tail, generator=torch.Generator().manual_seed(0)
    )
    fit(network, table, TrainConfig(epochs=epochs))
    return network


@pytest.fixture(scope="module")
def exact() -> ExactNetwork:
    return make_exact(trained(planted()), planted(), planted(seed=1), ExactConfig(epochs=60))


def answers_in_float32(network: EntropyNet, head: int) -> np.ndarray:
    """What the whole network says of one class on all rows of all concepts."""
    with torch.no_grad():
        return (network(torch.from_numpy(grid(network.n_concepts)).float())[:, head] >= 0).numpy()


def test_every_head_is_its_formula_on_every_row_of_all_concepts(exact):
    for head in exact.heads:
        fires = head.formula.evaluate(grid(len(NAMES)), NAMES)
        np.testing.assert_array_equal(fires, answers_in_float32(exact.network, head.head))


def test_a_planted_formula_comes_back(exact):
    assert exact.heads[1].formula.equivalent(parse("(a & b) | c"))
    assert exact.heads[0].formula.equivalent(~parse("(a & b) | c"))


def test_a_head_keeps_what_its_table_names_and_no_other_concept_can_matter(exact):
    for head in exact.heads:
        kept = [NAMES[j] for j in torch.nonzero(exact.network.entropy.keep[head.head])[:, 0]]
        assert tuple(kept) == head.table.names
        assert set(head.formula.concepts) <= set(kept)


def test_the_network_that_was_trained_is_left_as_it_was():
    table = planted(100)
    network = trained(table, epochs=20)
    before = copy.deepcopy(network.state_dict())
    make_exact(network, table, config=ExactConfig(epochs=5))
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_budget_of_literals_is_kept_by_refitting_the_head(budget):
    table = planted(200, noise=0.1)
    made = make_exact(trained(table), table, planted(200, noise=0.1, seed=1), ExactConfig(5, budget, epochs=60))
    for head in made.heads:
        assert head.formula.n_literals <= budget
        assert head.note is None
        fires = head.formula.evaluate(grid(len(NAMES)), NAMES)
        np.testing.assert_array_equal(fires, answers_in_float32(made.network, head.head))


def test_a_refit_records_what_the_head_did_before_and_does_after(monkeypatch):
    # Heads that are not pruned as far as one literal, so that one must be refitted.
    monkeypatch.setattr("logiclens.explain.pruning.SIZES", (5, 4, 3))
    table = planted(300)
    made = make_exact(trained(table), table, planted(300, seed=1), ExactConfig(5, 1, epochs=60))
    certificate = certify(made, table.class_names)
    yes = certificate.heads[1]
    assert yes.formula == parse("c")
    assert yes.refit is not None
    # The pruned head was right on all rows; one literal cannot be: a & b without c is 1/8 of all rows.
    assert yes.refit.accuracy_before == pytest.approx(1.0)
    rows = table.append(planted(300, seed=1))
    right = (parse("c").evaluate(rows.boolean(), NAMES) == rows.labels).mean()
    assert yes.refit.accuracy_after == pytest.approx(right)
    assert yes.as_dict()["refit_to_formula"]["accuracy_after"] == pytest.approx(right)


def test_a_refit_that_fails_leaves_the_longer_formula_and_says_so(monkeypatch):
    table = planted(200)
    network = trained(table)
    monkeypatch.setattr("logiclens.explain.exact.refit", lambda *_, **__: None)
    # A head with one or two concepts has a formula within the budget by itself; such heads are not looked at here.
    monkeypatch.setattr("logiclens.explain.pruning.SIZES", (5, 4, 3))
    made = make_exact(network, table, config=ExactConfig(5, 2, epochs=60))
    yes = made.heads[1]
    assert yes.formula.equivalent(parse("(a & b) | c"))
    assert yes.note == (
        "no head could be made to equal a formula of at most 2 literals in 10 cubes; this one has 3 in 2."
    )
    explanation = explain_exact(made.network, certify(made, table.class_names), table)
    assert explanation[1].certificate.note == yes.note


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 2])
def test_max_concepts_bounds_what_a_head_keeps(most, seed):
    table = planted(200, seed=seed)
    made = make_exact(trained(table, epochs=60), table, config=ExactConfig(most, 9, epochs=15))
    assert all(len(head.table.names) <= most for head in made.heads)


def test_of_equally_good_heads_the_one_with_the_fewest_concepts_is_taken(exact):
    assert exact.heads[1].table.names == ("a", "b", "c")


def test_a_shared_tail_is_untied_first():
    table = planted(200)
    made = make_exact(trained(table, hidden=(10, 6), shared_tail=True), table, config=ExactConfig(epochs=60))
    assert made.heads[1].formula.equivalent(parse("(a & b) | c"))


def test_pruning_drops_the_concepts_that_matter_least():
    table = planted(400).per_class()
    network = trained(planted(400))
    kept = []
    for _ in prune(network, table, table, TrainConfig(epochs=60), 5):
        kept.append({NAMES[j] for j in torch.nonzero(network.entropy.keep[1])[:, 0]})
    assert kept[0] == set(NAMES)
    assert {"a", "b", "c"} in kept
    assert kept[-1] == {"c"}


def test_a_head_learns_to_answer_alone_before_its_most_relevant_concepts_are_kept():
    table = planted(400)
    network = trained(table)
    with torch.no_grad():
        # As if another head had done the work: d looks most relevant, though nothing depends on it.
        network.entropy.weight[1, :, 3] = 0.8
    assert network.entropy.relevance()[1].argmax() == 3
    for size in prune(network, table.per_class(), table.per_class(), TrainConfig(epochs=200), 3):
        if size == 3:
            kept = {NAMES[j] for j in torch.nonzero(network.entropy.keep[1])[:, 0]}
    assert kept == {"a", "b", "c"}


def test_heads_learn_again_on_hard_concepts(monkeypatch):
    seen = []

    def look(hard, rows, held, *rest):
        seen.extend([rows, held])
        return prune(hard, rows, held, *rest)

    monkeypatch.setattr("logiclens.explain.exact.prune", look)
    soft = np.random.default_rng(0).random((60, 3))
    table = ConceptTable(soft, NAMES[:3], (soft[:, 0] >= 0.5).astype(int), ["no", "yes"])
    make_exact(trained(table, epochs=5), table, table, ExactConfig(epochs=2))
    assert all(part.is_boolean and part.is_multilabel for part in seen)


def test_soft_concepts_are_cut_before_the_heads_learn_again():
    rng = np.random.default_rng(0)
    soft = rng.random((300, 3))
    table = ConceptTable(soft, NAMES[:3], (soft[:, 0] >= 0.5).astype(int), ["no", "yes"])
    made = make_exact(trained(table), table, config=ExactConfig(epochs=60))
    assert made.heads[1].formula == parse("a")


def test_rows_that_groups_rule_out_are_not_in_the_domain_and_do_not_lengthen_the_formula():
    # c implies b implies a: of 8 rows 4 are possible, and 'b' alone is 'a & b'.
    rows = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]] * 30, dtype=bool)
    table = ConceptTable(rows, "abc", (rows[:, 1] & ~rows[:, 2]).astype(int), ["no", "yes"], implied=[["a", "b", "c"]])
    made = make_exact(trained(table, epochs=300), table, config=ExactConfig(epochs=150))
    head = made.heads[1]
    assert head.formula.equivalent(parse("b & ~c"))
    assert len(head.table) == head.table.groups.allows(grid(len(head.table.names)), head.table.names).sum()
    entry = certify(made, table.class_names).heads[1].as_dict()
    assert entry["domain"]["rows"] == "possible"
    assert entry["rows_checked"] < 2 ** len(entry["concepts"])


# The complete table -----------------------------------------------------------------------------------------------


def single(n_concepts: int, seed: int, scale: float = 1.0, hidden=(6,), temperature: float = 0.6) -> EntropyNet:
    network = EntropyNet(n_concepts, 1, hidden, temperature=temperature, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(scale)
    return network


def test_the_grid_counts_in_binary_from_the_first_concept_on():
    assert grid(3).astype(int).tolist() == [[r >> 2, r >> 1 & 1, r & 1] for r in range(8)]
    np.testing.assert_array_equal(grid(5, 7, 11), grid(5)[7:11])


def test_the_table_is_what_the_network_says_also_over_several_batches(monkeypatch):
    monkeypatch.setattr("logiclens.explain.complete.BATCH", 7)
    network = single(5, seed=3)
    table = CompleteTable.of(network, NAMES)
    with torch.no_grad():
        logits = network.double()(torch.from_numpy(grid(5)).double())[:, 0].numpy()
    np.testing.assert_allclose(table.logits, logits, rtol=1e-12)
    assert table.margin == pytest.approx(np.abs(logits).min())
    rows = grid(5)[[3, 30, 3]]
    np.testing.assert_array_equal(table.at(rows), logits[[3, 30, 3]] >= 0)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_the_middle_moves_no_answer_and_is_as_far_as_can_be(seed, n):
    table = CompleteTable.of(single(n, seed), NAMES[:n] if n <= 5 else (*NAMES, "f"))
    moved = replace(table, logits=table.logits + table.middle())
    np.testing.assert_array_equal(moved.answers, table.answers)
    assert moved.margin >= table.margin - 1e-12
    yes = table.answers
    if yes.any() and not yes.all():
        assert moved.logits[yes].min() == pytest.approx(-moved.logits[~yes].max())
    else:
        assert moved.margin >= min(1.0, table.margin)


def test_groups_narrow_the_domain():
    table = CompleteTable.of(single(3, 0), ("a", "b", "c"), Groups([["a", "b"]], [["b", "c"]]))
    assert len(table) == 4
    assert table.groups == Groups([["a", "b"]], [["b", "c"]])
    assert CompleteTable.of(single(2, 0), ("a", "c"), Groups([["a", "b"]])).groups == NO_GROUPS


# Rounding ---------------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 8),
    scale=st.sampled_from([0.01, 1.0, 10.0, 100.0]),
    temperature=st.sampled_from([0.1, 0.6, 5.0]),
    hidden=st.sampled_from([(4,), (20,), (20, 10)]),
)
@settings(max_examples=60, deadline=None)
def test_float32_is_never_further_off_than_the_bound(seed, n, scale, temperature, hidden):
    network = single(n, seed, scale, hidden, temperature)
    rows = torch.from_numpy(grid(n))
    with torch.no_grad():
        rough = network(rows.float())[:, 0].double()
        bound = rounding_bound(network)
        exact = copy.deepcopy(network).double()(rows.double())[:, 0]
    assert float((rough - exact).abs().max()) <= bound
    assert np.isfinite(bound)


def test_the_bound_is_not_so_large_that_nothing_could_be_certified():
    bounds, seen = [], []
    for seed in range(10):
        network = single(8, seed, scale=3.0, hidden=(20,))
        rows = torch.from_numpy(grid(8))
        with torch.no_grad():
            rough = network(rows.float())[:, 0].double()
            bounds.append(rounding_bound(network))
            seen.append(float((rough - network.double()(rows.double())[:, 0]).abs().max()))
    assert max(bounds) < 1e-3
    assert max(bounds) < 2_000 * max(seen)


# Refitting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a", "~a & b", "(a & b) | (~a & ~b)", "(a & b & c) | (~c & d) | ~e", "False", "True"])
def test_a_head_can_be_refitted_to_a_formula_on_every_row(text):
    formula = parse(text)
    names = tuple(name for name in NAMES if name in formula.concepts) or ("a",)
    made = refit(single(len(names), 0, hidden=(20,)), formula, names, NO_GROUPS, generator=torch.Generator())
    assert made is not None
    head, table = made
    np.testing.assert_array_equal(table.answers, formula.evaluate(grid(len(names)), names))
    assert table.is_safe
    with torch.no_grad():
        said = head(torch.from_numpy(grid(len(names))).float())[:, 0] >= 0
    np.testing.assert_array_equal(said.numpy(), table.answers)


def test_a_refit_that_cannot_succeed_is_none(monkeypatch):
    monkeypatch.setattr("logiclens.explain.distil.STEPS", 100)
    # One hidden unit cannot be an exclusive or.
    made = refit(
        single(2, 0, hidden=(1,)), parse("(a & ~b) | (~a & b)"), ("a", "b"), NO_GROUPS, generator=torch.Generator()
    )
    assert made is None


# Bad input --------------------------------------------------------------------------------------------------------


def test_more_than_twenty_concepts_are_refused_with_the_cost_in_words():
    with pytest.raises(LogicLensError, match=r"2\^21 = 2,097,152 rows.*doubles the time.*Choose max_concepts up to 20"):
        ExactConfig(max_concepts=21)
    with pytest.raises(LogicLensError, match="Choose max_concepts up to 20"):
        EntropyClassifier(exact=True, max_concepts=25).fit([[0, 1], [1, 0]] * 4, [0, 1] * 4)


@pytest.mark.parametrize("field", ["max_concepts", "max_literals", "max_cubes"])
@pytest.mark.parametrize("bad", [None, "9", 2.5, True])
def test_budgets_that_are_no_whole_numbers_are_refused(field, bad):
    with pytest.raises(LogicLensError, match=f"{field} must be a whole number, got {bad!r}"):
        ExactConfig(**{field: bad})


@pytest.mark.parametrize("field", ["max_concepts", "max_literals", "max_cubes"])
def test_budgets_below_one_are_refused(field):
    with pytest.raises(LogicLensError, match=f"{field} must be at least 1, got 0"):
        ExactConfig(**{field: 0})


def test_exact_mode_needs_an_entropy_net_with_a_head_for_each_class():
    with pytest.raises(LogicLensError, match="needs an EntropyNet, got Linear"):
        make_exact(torch.nn.Linear(2, 2), planted())
    with pytest.raises(LogicLensError, match="one head for each of 2 classes, the network has 1"):
        make_exact(EntropyNet(5, 1), planted())


# The estimator ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patients() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 95, 400), "crp": rng.normal(10, 4, 400), "sex": rng.integers(0, 2, 400)}
    )
    risk = np.where((frame["age"] >= 60) & (frame["crp"] >= 10), "high", "low")
    return frame, risk


@pytest.fixture(scope="module")
def model(patients) -> EntropyClassifier:
    return EntropyClassifier(Booleaniser(3), exact=True, epochs=150).fit(*patients)


def test_an_exact_classifier_predicts_by_its_rules(model, patients):
    frame, risk = patients
    predicted = model.predict(frame)
    np.testing.assert_array_equal(predicted, model.rules_.predict(frame))
    assert (predicted == risk).mean() > 0.9
    proba = model.predict_proba(frame)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], predicted)


def test_formula_and_network_agree_on_unseen_rows_too(model):
    rng = np.random.default_rng(1)
    fresh = pd.DataFrame({"age": rng.integers(0, 200, 500), "crp": rng.normal(10, 30, 500), "sex": 0})
    explanation = model.explain(fresh)
    np.testing.assert_array_equal(explanation.fires(fresh), model.read(fresh).yes)
    # Whatever rows are explained, the rules are those that the model predicts with.
    assert explanation.rules == model.rules_
    assert all(explained.fidelity == 1.0 and explained.equals_network for explained in explanation)
    assert "↔" in str(explanation)
    assert "≈" not in str(explanation)


def test_the_relevant_concepts_of_an_exact_head_are_those_it_keeps_whatever_their_relevance(model):
    with torch.no_grad():
        # One concept far weaker than the others, still kept.
        weak = copy.deepcopy(model)
        place = int(torch.nonzero(weak.network_.entropy.keep[0])[0])
        weak.network_.entropy.weight[0, :, place] *= 1e-3
    explained = weak.explain()[0]
    assert min(explained.relevance.values()) < 0.5
    assert explained.table.names == explained.certificate.concepts
    assert set(explained.relevance) == set(explained.certificate.concepts)


def test_agreement_with_the_soft_network_is_reported_apart(model, patients):
    frame, _ = patients
    explanation = model.explain()
    soft = model.soft_network_
    concepts = torch.tensor(np.array(model.concepts(frame))).float()
    with torch.no_grad():
        answers = model.classes_[soft(concepts).argmax(dim=1).numpy()]
    assert explanation.soft_agreement == pytest.approx((answers == model.predict(frame)).mean())


def test_a_column_that_is_missing_lies_above_no_cut(model, patients):
    frame, _ = patients
    blank = frame.iloc[:20].copy()
    blank["age"] = np.nan
    low = frame.iloc[:20].copy()
    low["age"] = -1e9
    np.testing.assert_array_equal(model.predict(blank), model.predict(low))


def test_cuts_come_from_the_rows_that_train_alone(patients):
    frame, risk = patients
    held = frame.copy()
    held["age"] += 1_000
    model = EntropyClassifier(Booleaniser(3), epochs=5).fit(frame, risk, held_out=(held, risk))
    assert {c for c in model.concept_names_ if c.startswith("age")} == {
        c for c in Booleaniser(3).fit(frame).predicates() if c.startswith("age")
    }
    inner = EntropyClassifier(Booleaniser(3), epochs=5, validation=0.5).fit(frame, risk)
    assert inner.concept_names_ != model.concept_names_


def test_a_boolean_column_means_that_it_is_true():
    frame = pd.DataFrame({"flag": [True, False] * 20, "score": [0.0, 1.0] * 20})
    model = EntropyClassifier(epochs=5).fit(frame, ["y", "n"] * 20)
    assert str(model.schema_.predicates["flag"]) == "flag == True"
    assert "score" not in model.schema_.predicates


def test_three_classes_and_several_labels_are_exact_too():
    rng = np.random.default_rng(0)
    rows = rng.random((300, 4)) < 0.5
    three = np.where(rows[:, 0], "x", np.where(rows[:, 1], "y", "z"))
    model = EntropyClassifier(exact=True, epochs=100).fit(rows.astype(float), three)
    assert (model.predict(rows.astype(float)) == three).mean() == 1.0
    several = np.column_stack([rows[:, 0] & rows[:, 1], rows[:, 2]]).astype(int)
    model = EntropyClassifier(exact=True, epochs=100).fit(rows.astype(float), several)
    np.testing.assert_array_equal(model.predict(rows.astype(float)), several)
    assert model.explain().soft_agreement is not None


def test_the_weight_of_a_class_reaches_the_exact_heads():
    rng = np.random.default_rng(0)
    rows = rng.random((400, 3)) < 0.5
    rare = rows[:, 0] & (rng.random(400) < 0.3)
    settings = {"exact": True, "epochs": 60, "price": 0.0}
    plain = EntropyClassifier(**settings).fit(rows.astype(float), rare)
    heavy = EntropyClassifier(**settings, class_weight={False: 1.0, True: 10.0}).fit(rows.astype(float), rare)
    assert heavy.predict(rows.astype(float)).sum() > plain.predict(rows.astype(float)).sum()
    assert heavy.rules_.rule(True).formula == parse("x0")


@pytest.mark.parametrize("class_weight", [[1.0, 10.0], "balanced", None])
def test_a_row_weighs_as_much_as_its_class_where_heads_are_trained_one_by_one(class_weight):
    table = ConceptTable([[0], [1], [1], [0]], ["a"], [0, 1, 0, 0], ["no", "yes"], weight=[1.0, 2.0, 3.0, 4.0])
    factors = {"balanced": [10 / (2 * 8), 10 / (2 * 2)]}.get(str(class_weight), class_weight or [1.0, 1.0])
    np.testing.assert_allclose(
        weighed_by_class(table, class_weight).weight, table.weight * np.take(factors, [0, 1, 0, 0])
    )
    several = table.per_class()
    assert weighed_by_class(several, class_weight) is several


def test_an_exact_model_reads_soft_concepts_as_hard_ones():
    rng = np.random.default_rng(0)
    soft = rng.random((100, 2))
    model = EntropyClassifier(exact=True, epochs=30).fit(soft, soft[:, 0] >= 0.5)
    np.testing.assert_array_equal(model.read(soft).logits, model.read((soft >= 0.5).astype(float)).logits)
    np.testing.assert_array_equal(model.explain(soft).fires(soft, model.concept_names_), model.read(soft).yes)


def test_nobody_decides_where_resolve_is_none(patients):
    frame, risk = patients
    model = EntropyClassifier(Booleaniser(3), exact=True, epochs=40, resolve="none", max_literals=1).fit(frame, risk)
    predicted, fires = model.predict(frame), model.rules_.fires(frame).sum(axis=1)
    assert all((label is None) == (n != 1) for label, n in zip(predicted, fires, strict=True))
    with pytest.raises(LogicLensError, match="resolve must be 'confidence' or 'none', got 'best'"):
        EntropyClassifier(resolve="best").fit([[0], [1]], [0, 1])


# Where head, rules and explanation must say the same -------------------------------------------------------------


def test_rules_and_head_read_scores_in_a_boolean_column_alike():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 3)) < 0.5, columns=list("abc"))
    model = EntropyClassifier(exact=True, epochs=40).fit(frame, frame["a"])
    scores = pd.DataFrame(np.where(frame, 0.7, 0.3), columns=list("abc"))
    np.testing.assert_array_equal(model.predict(scores), model.predict(frame))
    np.testing.assert_array_equal(model.explain(scores).fires(scores), model.read(scores).yes)


def test_a_raw_column_with_the_name_of_a_concept_is_not_taken_for_it():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": np.tile([50.0, 70.0], 100), "age >= 60": rng.integers(0, 2, 200).astype(float)})
    labels = np.where(frame["age"] >= 60, "old", "young")
    model = EntropyClassifier(Booleaniser(1), exact=True, epochs=40).fit(frame, labels)
    assert "age >= 60" in model.concept_names_
    np.testing.assert_array_equal(model.predict(frame), labels)
    np.testing.assert_array_equal(model.rules_.predict(frame), labels)


def test_the_gap_of_an_exact_model_starts_from_the_soft_network_on_soft_rows():
    rng = np.random.default_rng(0)
    soft = rng.random((200, 3))
    labels = (soft[:, 0] + soft[:, 1] >= 1).astype(int)
    model = EntropyClassifier(exact=True, epochs=60).fit(soft, labels)
    explanation = model.explain()
    with torch.no_grad():
        said = model.soft_network_(torch.tensor(soft, dtype=torch.float32)).argmax(dim=1).numpy()
    fires = explanation.fires(soft, model.concept_names_)
    expected = [int((fires[:, head] != (said == head)).sum()) for head in range(2)]
    assert [found.disagree for found in explanation.gap().classes] == expected
    assert [found.disagree for found in explanation.gap(soft).classes] == expected
    assert sum(expected) > 0
    turned = ConceptTable(soft[:, ::-1], list(model.concept_names_[::-1]))
    assert [found.disagree for found in explanation.gap(turned).classes] == expected


def test_rows_that_break_a_group_are_told_of():
    rows = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 20, dtype=float)
    table = ConceptTable(rows, ["a", "b"], exclusive=[["a", "b"]])
    with pytest.warns(LogicLensWarning, match="20 rows break the exclusive group 'a', 'b'.*certificate does not speak"):
        model = EntropyClassifier(exact=True, epochs=10).fit(table, rows[:, 0])
    assert any("20 rows break the exclusive group" in note for note in model.explain().notes)
    content = model.certificate_.as_dict(version="", model_sha256="", weights_sha256="")
    named = any(head.groups.exclusive for head in model.certificate_.heads)
    assert ("Rows that the declared groups rule out" in " ".join(content["does_not_cover"])) == named


def test_the_curve_takes_the_labels_of_the_model(model, patients):
    frame, risk = patients
    explanation = model.explain()
    points = explanation.pareto(frame, risk)
    assert max(point.accuracy for point in points if point.name == "high") > 0.9
    with pytest.raises(LogicLensError, match="there is no class 'medium'; the classes are 'high', 'low'"):
        explanation.pareto(frame, np.full(len(frame), "medium"))
    numbers = EntropyClassifier(exact=True, epochs=40).fit([[0, 1], [1, 0]] * 20, [1, 2] * 20)
    best = {p.name: p.accuracy for p in numbers.explain().pareto([[0, 1], [1, 0]], [1, 2])}
    assert best == {"1": 1.0, "2": 1.0}


def test_flip_and_check_can_ask_for_one_class(model, patients):
    explanation = model.explain()
    row = patients[0].iloc[0]
    assert explanation.flip(row, of="high").possible
    assert explanation.check("never uses 'sex'", of="high").holds


def test_a_row_that_nobody_decides_is_not_right(patients):
    frame, risk = patients
    model = EntropyClassifier(Booleaniser(3), exact=True, epochs=30, resolve="none", max_literals=1).fit(frame, risk)
    predicted = model.predict(frame)
    assert model.score(frame, risk) == pytest.approx(np.mean([p == y for p, y in zip(predicted, risk, strict=True)]))


def test_a_class_by_default_is_told_as_such():
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20, dtype=float)
    labels = np.where(rows.sum(axis=1) == 2, "x", np.where(rows.sum(axis=1) == 0, "y", "z"))
    model = EntropyClassifier(exact=True, epochs=60).fit(rows, labels)
    x, y, z = model.rules_.rules
    model.rules_ = RuleSet((x, y, replace(z, formula=DNF.false, confidence=())), otherwise=2)
    (local,) = model.explain_local(np.array([[0.0, 1.0]]))
    assert local.by_default
    assert str(local).startswith("z: no formula fires, and most such rows are z")


def test_an_exact_model_that_is_not_fitted_says_so():
    for ask in ("predict", "predict_proba", "read"):
        with pytest.raises(NotFittedError, match="is not fitted"):
            getattr(EntropyClassifier(exact=True), ask)([[0, 1]])
    soft = EntropyClassifier(epochs=2).fit([[0, 1], [1, 0]] * 4, [0, 1] * 4).set_params(exact=True)
    with pytest.raises(NotFittedError, match="exact was changed after the model was fitted"):
        soft.predict([[0, 1]])
    with pytest.raises(LogicLensError, match="exact must be True or False, got 'no'"):
        EntropyClassifier(exact="no").fit([[0, 1], [1, 0]] * 4, [0, 1] * 4)


def test_a_model_of_raw_columns_takes_no_matrix(model):
    with pytest.raises(LogicLensError, match="cuts raw columns by name: pass a DataFrame, got ndarray"):
        model.predict(np.zeros((2, len(model.concept_names_))))
    with pytest.raises(LogicLensError, match="raw columns are cut by name: pass a DataFrame, got list"):
        EntropyClassifier(Booleaniser()).fit([[1.0], [2.0]], [0, 1])
