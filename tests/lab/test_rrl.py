"""RRL: layers compared with the paper's equations, formulas with the network's predictions."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lab.peers.rrl import (
    EPSILON,
    RRL,
    Binarisation,
    DiscreteRRL,
    Weights,
    bit_conjunctions,
    bit_disjunctions,
    conjunctions,
    disjunctions,
    trained,
    used_concepts,
)
from lab.runs.methods import METHODS, named_methods
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError

QUICK = RRL(nodes=(8,), penalties=(1e-4,), epochs=40, learning_rate=2e-2, batch_size=32)


def planted(n_rows: int = 300, seed: int = 0, n: int = 6) -> ConceptTable:
    bits = np.random.default_rng(seed).random((n_rows, n)) < 0.5
    labels = ((bits[:, 0] & ~bits[:, 1]) | (bits[:, 2] & bits[:, 3])).astype(int)
    return ConceptTable(bits, labels=labels, class_names=["no", "yes"])


def drawn(nodes: tuple[int, ...], n_inputs: int = 5, n_classes: int = 3, seed: int = 0) -> Weights:
    """Weights on both sides of one half."""
    weights = Weights.drawn(n_inputs, nodes, n_classes, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for weight in weights.logical:
            weight.copy_(torch.rand(weight.shape, generator=torch.Generator().manual_seed(seed + 1)))
    return weights


# The equations


def slow_conjunction(inputs: list[float], weights: list[float]) -> float:
    product_of_all = 1.0
    for u, w in zip(inputs, weights, strict=True):
        product_of_all *= 1 - w * (1 - u) + EPSILON
    return -1 / (-1 + math.log(product_of_all))


def slow_disjunction(inputs: list[float], weights: list[float]) -> float:
    product_of_all = 1.0
    for u, w in zip(inputs, weights, strict=True):
        product_of_all *= 1 - w * u + EPSILON
    return 1 + 1 / (-1 + math.log(product_of_all))


@pytest.mark.parametrize("seed", range(3))
def test_nodes_equal_the_papers_one_factor_at_a_time(seed):
    generator = torch.Generator().manual_seed(seed)
    weight = torch.rand((4, 6), generator=generator, dtype=torch.float64)
    rows = torch.rand((5, 6), generator=generator, dtype=torch.float64)
    for fast, slow in ((conjunctions, slow_conjunction), (disjunctions, slow_disjunction)):
        expected = [[slow(row, node) for node in weight.tolist()] for row in rows.tolist()]
        np.testing.assert_allclose(fast(rows, weight).numpy(), expected, rtol=1e-9)


def test_the_matrix_product_for_bits_is_the_same():
    weight = torch.rand((4, 6), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weight[0, :3] = 1.0
    rows = torch.tensor(list(product([0.0, 1.0], repeat=6)), dtype=torch.float64)
    torch.testing.assert_close(bit_conjunctions(rows, weight), conjunctions(rows, weight))
    torch.testing.assert_close(bit_disjunctions(rows, weight), disjunctions(rows, weight))


def test_nodes_of_bits_are_logic():
    weight = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    rows = torch.tensor(list(product([0.0, 1.0], repeat=3)))
    both, either = (rows[:, 0] * rows[:, 1] > 0).tolist(), (rows[:, 0] + rows[:, 1] > 0).tolist()
    assert (conjunctions(rows, weight)[:, 0] > 0.5).tolist() == both
    assert (disjunctions(rows, weight)[:, 0] > 0.5).tolist() == either
    # A conjunction of nothing is true, a disjunction of nothing false.
    assert (conjunctions(rows, weight)[:, 1] > 0.99).all()
    assert (disjunctions(rows, weight)[:, 1] < 0.01).all()


def test_long_products_keep_a_gradient():
    weight = torch.full((1, 500), 0.5, requires_grad=True)
    rows = torch.zeros((1, 500))
    bit_conjunctions(rows, weight).sum().backward()
    assert weight.grad.abs().min() > 1e-6
    plain = torch.full((1, 500), 0.5, requires_grad=True)
    (1 - plain * (1 - rows)).prod().backward()
    assert plain.grad.abs().max() < 1e-100 or (plain.grad == 0).all()


def simulated(model: DiscreteRRL, row: tuple[bool, ...]) -> list[float]:
    """The discrete model, node by node."""
    before, layer, rules = [], list(row), []
    for both, either in zip(model.conjunction, model.disjunction, strict=True):
        read = before + layer
        nodes = [all(x for x, member in zip(read, node, strict=True) if member) for node in both]
        nodes += [any(x for x, member in zip(read, node, strict=True) if member) for node in either]
        before, layer, rules = layer, nodes, rules + nodes
    return [
        sum(w for w, rule in zip(weights, rules, strict=True) if rule) + b
        for weights, b in zip(model.linear, model.bias, strict=True)
    ]


@pytest.mark.parametrize("nodes", [(6,), (4, 6), (4, 2, 4)])
def test_the_discrete_model_is_its_nodes_one_by_one(nodes):
    model = drawn(nodes).discrete()
    rows = list(product([False, True], repeat=5))
    np.testing.assert_allclose(model.scores(np.array(rows)), [simulated(model, row) for row in rows])


@pytest.mark.parametrize("nodes", [(6,), (4, 6)])
def test_grafted_gradients_use_the_discrete_loss_through_the_continuous_model(nodes):
    weights = drawn(nodes)
    rows = (torch.rand((20, 5), generator=torch.Generator().manual_seed(3)) < 0.5).float()
    labels, share = torch.arange(20) % 3, torch.full((20,), 0.05)
    weights.grafted_step(rows, labels, share)
    scores = torch.tensor(weights.discrete().scores(rows.numpy() > 0.5))
    # By hand: softmax minus the label, times the Jacobian of the continuous scores.
    at_output = (scores.softmax(dim=1) - F.one_hot(labels, 3)) * share[:, None]
    parameters = [*weights.logical, weights.linear, weights.bias]
    for parameter in parameters:
        expected = torch.autograd.grad((weights.continuous(rows) * at_output).sum(), parameter)[0]
        torch.testing.assert_close(parameter.grad, expected, atol=1e-6, rtol=1e-4)
    assert any((parameter.grad != 0).any() for parameter in weights.logical)


# What is learned


def test_bits_pass_with_negations_and_numbers_become_bounds():
    values = np.array([[0.0, 0.2], [1.0, 0.9], [1.0, 0.4]])
    layer = Binarisation.of(ConceptTable(values), 50, seed=0)
    inputs = layer(values)
    assert inputs.shape == (3, 2 + 100)
    assert not layer.is_boolean
    assert (inputs[:, 0] == (values[:, 0] == 1)).all()
    assert (inputs[:, 1] == (values[:, 0] == 0)).all()
    bounds = layer.thresholds[2:]
    assert ((bounds >= 0.2) & (bounds <= 0.9)).all()
    assert (inputs[:, 2:52] == (values[:, [1]] > bounds[:50])).all()
    assert (inputs[:, 52:] == (values[:, [1]] < bounds[50:])).all()


def test_learns_a_planted_formula():
    train, held = planted(), planted(100, seed=1)
    learned = RRL(nodes=(16,), penalties=(1e-3, 1e-5), epochs=100)(train, held, seed=0)
    everything = np.array(list(product([False, True], repeat=6)))
    expected = (everything[:, 0] & ~everything[:, 1]) | (everything[:, 2] & everything[:, 3])
    table = ConceptTable(everything, train.names)
    assert (learned.predict(table) == expected).all()
    assert (learned.formulas[1].evaluate(everything, train.names) == expected).all()
    assert learned.formulas[1].n_literals == 4
    assert (learned.formulas[0].evaluate(everything, train.names) == ~expected).all()
    assert "weighted rules" in learned.notes[0]


def test_an_interval_of_a_number_is_learned_without_a_formula():
    rng = np.random.default_rng(0)
    train, held = (
        ConceptTable(values, labels=((values[:, 0] > 0.3) & (values[:, 0] < 0.7)).astype(int))
        for values in (rng.random((400, 2)), rng.random((200, 2)))
    )
    learned = RRL(nodes=(16,), bounds=20, penalties=(1e-5,), epochs=80)(train, held, seed=0)
    assert (learned.predict(held) == held.labels).mean() > 0.9
    assert learned.formulas is None
    assert any("bounds" in note for note in learned.notes)


@pytest.mark.parametrize("nodes", [(8,), (6, 4)])
def test_formulas_answer_as_the_model_on_every_row(nodes):
    train = planted(200, seed=2)
    settings = RRL(nodes=nodes, penalties=(1e-4,), epochs=10, learning_rate=5e-2, table_concepts=6)
    learned = settings(train, planted(60, seed=3), seed=1)
    everything = ConceptTable(np.array(list(product([0, 1], repeat=6))), train.names)
    fires = np.stack([formula.evaluate(everything.boolean(), train.names) for formula in learned.formulas], axis=1)
    assert (fires.sum(axis=1) == 1).all()
    assert (fires.argmax(axis=1) == learned.predict(everything)).all()


def test_a_note_limits_large_formulas_to_the_training_rows():
    train, held = planted(150), planted(50, seed=1)
    settings = RRL(nodes=(8,), penalties=(1e-5,), epochs=20, learning_rate=2e-2, table_concepts=1)
    learned = settings(train, held, seed=0)
    said = learned.predict(train)
    for k, formula in enumerate(learned.formulas):
        assert (formula.evaluate(train.boolean(), train.names) == (said == k)).all()
    assert any("training rows" in note for note in learned.notes)


def test_rules_that_split_no_training_row_move_into_the_bias():
    model = drawn((6, 4)).discrete()
    rows = np.array(list(product([False, True], repeat=5)))[:9]
    pruned = model.without_constants(rows)
    np.testing.assert_allclose(pruned.scores(rows), model.scores(rows))
    fired = model.rules(rows)
    constant = fired.all(axis=0) | ~fired.any(axis=0)
    assert constant.any()
    assert (pruned.linear[:, constant] == 0).all()


@pytest.mark.parametrize("nodes", [(4,), (4, 4), (2, 2, 2)])
@pytest.mark.parametrize("seed", range(10))
def test_inputs_that_are_not_used_change_nothing(nodes, seed):
    weights = drawn(nodes, seed=seed)
    with torch.no_grad():
        for weight in weights.logical:
            weight.mul_(0.65)
        # Only the last layer is weighed, so that inputs are reached through the others.
        weights.linear[:, : -nodes[-1]] = 0
    model = weights.discrete()
    used = set(model.used_inputs().tolist())
    rows = np.array(list(product([False, True], repeat=5)))
    for column in range(5):
        turned = rows.copy()
        turned[:, column] ^= True
        if column not in used:
            assert (model.scores(turned) == model.scores(rows)).all()
    layer = Binarisation(np.array([0, 0, 1, 1, 2]), np.full(5, 0.5), np.array([True, False, True, False, True]), True)
    assert set(used_concepts(layer, model)) == {layer.columns[place] for place in used}


def test_classes_without_rows_are_never_answered():
    bits = np.random.default_rng(0).random((120, 4)) < 0.5
    labels = np.where(bits[:, 0], 3, np.where(bits[:, 1], 2, 0))
    table = ConceptTable(bits, labels=labels, class_names=["a", "gone", "c", "d"])
    learned = QUICK(table, table, seed=0)
    everything = ConceptTable(np.array(list(product([0, 1], repeat=4))), table.names)
    assert 1 not in learned.predict(everything)
    assert str(learned.formulas[1]) == "False"
    assert any("'gone'" in note for note in learned.notes)


def test_it_is_reproducible_and_finds_columns_by_name():
    train, held = planted(120), planted(50, seed=1)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    first, second = (QUICK(train, held, seed=4) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert random.getstate() == before[2]
    test = planted(200, seed=2)
    assert first.formulas == second.formulas
    assert (first.predict(test) == second.predict(test)).all()
    assert (first.predict(test) == first.predict(test.with_columns(test.names[::-1]))).all()
    assert any((QUICK(train, held, seed=s).notes != first.notes) for s in (5, 6))


def test_validation_rows_choose_the_penalty_and_ties_take_the_larger():
    train, held = planted(200), planted(100, seed=1)
    inputs = Binarisation.of(train, 1, seed=0)

    def right(penalties: tuple[float, ...]) -> tuple[float, int]:
        settings = RRL(nodes=(8,), penalties=penalties, epochs=30, learning_rate=2e-2, batch_size=32)
        model = trained(inputs, train, held, settings, seed=0)
        return float((model.classes(inputs(held.values)) == held.labels).mean()), len(model.used_inputs())

    # A penalty of 10 leaves no rule at all.
    alone = {penalty: right((penalty,)) for penalty in (10.0, 1e-5)}
    assert alone[10.0][0] < alone[1e-5][0]
    assert right((10.0, 1e-5)) == alone[1e-5]
    constant = ConceptTable(train.values, train.names, np.zeros(len(train), dtype=int), ["no", "yes"])
    # Every model is right on every row of a single class.
    tied, large, small = (
        trained(inputs, constant, constant, RRL(nodes=(8,), penalties=penalties, epochs=3), seed=0)
        for penalties in ((1e-2, 1e-5), (1e-2,), (1e-5,))
    )
    assert (tied.linear == large.linear).all()
    assert (tied.linear != small.linear).any()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"nodes": ()}, "nodes"), ({"nodes": (3,)}, "nodes"), ({"epochs": 0}, "epochs"), ({"bounds": 0}, "bounds"),
        ({"table_concepts": 21}, "table_concepts"), ({"penalties": ()}, "penalties"),
        ({"penalties": (1e-5, 1e-3)}, "penalties"), ({"penalties": (-1.0,)}, "penalties"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_trained_are_refused(wrong, named):
    with pytest.raises(LogicLensError, match=named):
        RRL(**wrong)


def test_several_labels_a_row_are_refused():
    table = ConceptTable([[0, 1], [1, 0]], labels=[[0, 1], [1, 1]])
    with pytest.raises(LogicLensError, match="one class number a row, got several labels a row"):
        QUICK(table, table, seed=0)


def test_it_is_a_method_of_the_bench():
    assert METHODS["rrl"].kind == "rules"
    assert METHODS["ebm"].kind == "black box"
    assert [method.name for method in named_methods(["rrl", "ebm"])] == ["rrl", "ebm"]
