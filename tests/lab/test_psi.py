"""Psi networks: formulas compared with direct simulation, joint training with training alone."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from torch import nn

from lab.peers.psi import Psi, boolean_answers, network_formula, strongest, trained, used_concepts
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError


def layers_of(seed: int, sizes: tuple[int, ...], fan_in: int):
    """Random weights of which each neuron keeps a few."""
    rng = np.random.default_rng(seed)
    layers = []
    for n_in, n_out in pairwise(sizes):
        weight = rng.normal(size=(n_out, n_in))
        for neuron in weight:
            neuron[rng.permutation(n_in)[fan_in:]] = 0
        # Around the middle of what the inputs can sum to, so that few neurons are constant.
        layers.append((weight, rng.normal(scale=0.3, size=n_out) - weight.sum(axis=1) / 2))
    return tuple(layers)


def simulated(layers, row) -> bool:
    """Neuron by neuron: each gets 0 or 1, and says whether its sigmoid is above one half."""
    signal = [float(bit) for bit in row]
    for weight, bias in layers:
        sums = [
            sum(w * s for w, s in zip(neuron, signal, strict=True)) + b for neuron, b in zip(weight, bias, strict=True)
        ]
        signal = [float(1 / (1 + math.exp(-total)) > 0.5) for total in sums]
    return signal[0] == 1.0


def table(n_rows: int, n_concepts: int, n_classes: int, seed: int) -> ConceptTable:
    rng = np.random.default_rng(seed)
    bits = rng.random((n_rows, n_concepts)) < 0.5
    labels = (bits[:, 0].astype(int) + (bits[:, 1] & bits[:, 2])) % n_classes
    return ConceptTable(bits, labels=labels, class_names=[f"k{i}" for i in range(n_classes)])


@pytest.mark.parametrize("seed", range(12))
def test_formula_is_the_boolean_composition_on_every_assignment(seed):
    n = 7
    layers = layers_of(seed, (n, 6, 4, 1), fan_in=3)
    rows = np.array(list(product([0, 1], repeat=n)), dtype=bool)
    observed = ConceptTable(rows[:1], names=[f"c{i}" for i in range(n)])
    formula = network_formula(layers, observed, table_concepts=n)
    expected = [simulated(layers, row) for row in rows]
    assert formula.evaluate(rows, observed.names).tolist() == expected
    assert boolean_answers(layers, rows).tolist() == expected


def test_the_cases_hold_formulas_that_are_not_constant():
    formulas = [
        network_formula(layers_of(seed, (7, 6, 4, 1), 3), ConceptTable([[0] * 7]), table_concepts=7)
        for seed in range(12)
    ]
    assert sum(not formula.is_constant for formula in formulas) >= 6


@pytest.mark.parametrize("seed", range(4))
def test_beyond_the_table_the_formula_holds_on_the_observed_rows(seed):
    n = 9
    layers = layers_of(seed, (n, 6, 4, 1), fan_in=3)
    rows = np.random.default_rng(seed).random((60, n)) < 0.5
    observed = ConceptTable(rows)
    formula = network_formula(layers, observed, table_concepts=1)
    assert formula.evaluate(rows, observed.names).tolist() == [simulated(layers, row) for row in rows]


def test_concepts_that_change_nothing_are_not_read():
    # The first neuron is always true, whatever concept 0 is; the second is concept 2.
    first = (np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 4.0]]), np.array([1.0, -2.0]))
    second = (np.array([[1.0, 1.0]]), np.array([-1.5]))
    assert used_concepts((first, second)) == [2]
    assert str(network_formula((first, second), ConceptTable([[0, 0, 0]]), table_concepts=3)) == "x2"


def test_an_output_of_exactly_one_half_is_a_no():
    layer = (np.array([[1.0, -1.0]]), np.array([0.0]))
    assert str(network_formula((layer,), ConceptTable([[0, 0]]), table_concepts=2)) == "x0 & ~x1"


def test_strongest_inputs_stay():
    weight = torch.tensor([[[0.1, -3.0, 2.0, 0.5], [1.0, 1.0, 1.0, 1.0]]])
    assert strongest(weight, 2).tolist() == [[[0, 1, 1, 0], [1, 1, 0, 0]]]


def alone(train: ConceptTable, validation: ConceptTable, settings: Psi, klass: int, seed: int) -> list[torch.Tensor]:
    """One class's network, trained by itself with torch's own layers."""
    generator, n_classes = torch.Generator().manual_seed(seed), len(train.class_names)
    sizes = (train.n_concepts, *settings.hidden, 1)
    pairs = list(pairwise(sizes))

    def draw(shape, n_in):
        return torch.empty(shape).uniform_(-(n_in**-0.5), n_in**-0.5, generator=generator)

    weights = [draw((n_classes, n_out, n_in), n_in)[klass] for n_in, n_out in pairs]
    biases = [draw((n_classes, 1, n_out), n_in)[klass, 0] for n_in, n_out in pairs]
    linears = [nn.Linear(n_in, n_out) for n_in, n_out in pairs]
    for linear, weight, bias in zip(linears, weights, biases, strict=True):
        linear.weight.data, linear.bias.data = weight.clone(), bias.clone()
    net = nn.Sequential(linears[0], nn.Sigmoid(), linears[1], nn.Sigmoid(), linears[2], nn.Sigmoid())
    optimizer = torch.optim.AdamW(net.parameters(), lr=settings.learning_rate)
    rows, held = (torch.tensor(part.boolean(), dtype=torch.float32) for part in (train, validation))
    truth, held_truth = (
        torch.tensor(part.labels == klass, dtype=torch.float32)[:, None] for part in (train, validation)
    )
    best, state, masks = (-1.0, -math.inf), None, None
    for epoch in range(settings.epochs):
        if epoch == settings.epochs // 2:
            masks = []
            for linear in linears:
                cut = (
                    linear.weight.abs()
                    .sort(dim=1, descending=True)
                    .values[:, min(settings.fan_in, linear.in_features) - 1]
                )
                masks.append((linear.weight.abs() >= cut[:, None]).float())
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy(net(rows), truth)
        (loss + settings.l1 * sum(linear.weight.abs().sum() for linear in linears)).backward()
        optimizer.step()
        if masks is None:
            continue
        with torch.no_grad():
            for linear, mask in zip(linears, masks, strict=True):
                linear.weight.mul_(mask)
            output = net(held)
            right = ((output > 0.5) == (held_truth > 0.5)).float().mean().item()
            key = (round(right, 6), -nn.functional.binary_cross_entropy(output, held_truth).item())
        if key > best:
            best, state = key, [linear.weight.detach().clone() for linear in linears]
    return state


def test_networks_that_train_together_train_alone():
    train, validation = table(80, 5, 3, seed=0), table(40, 5, 3, seed=1)
    settings = Psi(fan_in=2, hidden=(4, 3), epochs=40, l1=1e-2)
    networks = trained(train, validation, settings, seed=3)
    for klass in range(3):
        for (weight, _), expected in zip(
            networks.layers(klass), alone(train, validation, settings, klass, 3), strict=True
        ):
            np.testing.assert_allclose(weight, expected.numpy(), atol=1e-4)
            assert (np.count_nonzero(weight, axis=1) <= 2).all()


def test_learns_a_planted_formula_and_predicts_by_the_largest_output():
    rng = np.random.default_rng(0)
    bits = rng.random((400, 6)) < 0.5
    data = ConceptTable(bits, labels=(bits[:, 0] & ~bits[:, 3]).astype(int), class_names=["no", "yes"])
    state = torch.get_rng_state()
    learned = Psi(epochs=400)(data, data, seed=0)
    assert torch.equal(state, torch.get_rng_state())
    assert (learned.predict(data) == data.labels).all()
    expected = bits[:, 0] & ~bits[:, 3]
    assert (learned.formulas[1].evaluate(bits, data.names) == expected).all()
    assert (learned.formulas[0].evaluate(bits, data.names) == ~expected).all()
    networks = trained(data, data, Psi(epochs=400), seed=0)
    outputs = networks(torch.tensor(bits, dtype=torch.float32))
    assert (outputs.argmax(dim=1).numpy() == learned.predict(data)).all()


def test_values_are_cut_and_columns_found_by_name():
    data = table(120, 5, 2, seed=2)
    soft = ConceptTable(np.where(data.boolean(), 0.6, 0.4), data.names, data.labels, data.class_names)
    learned, again = Psi(epochs=60)(data, data, seed=1), Psi(epochs=60)(soft, soft, seed=1)
    assert learned.formulas == again.formulas
    assert (learned.predict(data.with_columns(data.names[::-1])) == again.predict(soft)).all()


def test_a_seed_gives_one_result_and_weights_repeat_rows():
    data = table(60, 4, 2, seed=4)
    twice = data.append(data.take(np.arange(20)))
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    weighed = ConceptTable(data.values, data.names, data.labels, data.class_names, weight=weight)
    settings = Psi(epochs=40)
    once, again, repeated = (trained(rows, rows, settings, seed=5).layers(1) for rows in (twice, twice, weighed))
    for (a, _), (b, _), (c, _) in zip(once, again, repeated, strict=True):
        assert (a == b).all()
        np.testing.assert_allclose(a, c, atol=1e-3)
    different = trained(data, data, settings, seed=6).layers(1)[0][0]
    assert not np.allclose(different, trained(data, data, settings, seed=5).layers(1)[0][0])


def test_notes_say_that_a_formula_holds_on_training_rows_only():
    data = table(100, 6, 2, seed=0)
    assert Psi(epochs=60, table_concepts=6)(data, data, seed=0).notes == ()
    notes = Psi(epochs=60, table_concepts=1)(data, data, seed=0).notes
    assert notes
    assert all("training rows" in note for note in notes)


@pytest.mark.parametrize("bad", [{"fan_in": 0}, {"epochs": 1}, {"table_concepts": 30}, {"hidden": ()}])
def test_refuses_what_cannot_be_trained(bad):
    with pytest.raises(LogicLensError, match=next(iter(bad))):
        Psi(**bad)
