"""Exact mode: heads that are their formulas on every possible row, within a budget, safe from rounding."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.estimators import EntropyClassifier
from logiclens.explain.certified import certify, explain_exact
from logiclens.explain.complete import CompleteTable, grid
from logiclens.explain.distil import refit
from logiclens.explain.exact import ExactConfig, ExactNetwork, make_exact
from logiclens.explain.pruning import prune
from logiclens.explain.rounding import rounding_bound
from logiclens.formula import parse
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
