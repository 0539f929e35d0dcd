"""The independent checker's network: its logits, and whether its bound on rounding holds."""

from __future__ import annotations

import copy
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import logiclens.verify
from logiclens.nn import EntropyNet
from logiclens.verify.claim import formula_table
from logiclens.verify.network import (
    LARGEST,
    UNIT,
    Head,
    Layer,
    Linear,
    gamma,
    logits,
    relevance,
)
from tests.examples import examples
from tests.oracles.certified import all_rows, float64_logits, random_net
from tests.oracles.rounding import PlainHead, exact_layers, worst_logit


def head_of(net: EntropyNet, head: int = 0) -> Head:
    state = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
    layers = ["entropy", *sorted({name.rpartition(".")[0] for name in state} - {"entropy"})]
    first, *tail = (
        Linear(state[f"{name}.weight"][head].astype(np.float64), state[f"{name}.bias"][head].astype(np.float64))
        for name in layers
    )
    return Head(first, state["entropy.keep"][head], tuple(tail), net.entropy.temperature)


def plain(head: Head) -> PlainHead:
    return PlainHead(
        head.entropy.weight.tolist(), head.entropy.bias.tolist(), head.keep.tolist(),
        [(layer.weight.tolist(), layer.bias.tolist()) for layer in head.tail], head.temperature,
    )  # fmt: skip


def permuted(net: EntropyNet, generator: torch.Generator) -> EntropyNet:
    """The same function with hidden units, and so all sums over them, in another order."""
    other = copy.deepcopy(net)
    with torch.no_grad():
        layers = [other.entropy, *list(other.tail)[1::2]]
        for layer, following in itertools.pairwise(layers):
            order = torch.randperm(layer.out_features, generator=generator)
            layer.weight.copy_(layer.weight[:, order])
            layer.bias.copy_(layer.bias[:, order])
            following.weight.copy_(following.weight[:, :, order])
    return other


def one_by_one(head: Head, rows: np.ndarray) -> np.ndarray:
    """A float32 run that adds one term after the other, from the last to the first: the order that errs most."""
    weight = head.entropy.weight.astype(np.float32)
    strength = np.cumsum(abs(weight[::-1]), axis=0, dtype=np.float32)[-1]
    scaled = (strength - strength[head.keep].max()) * (np.float32(1) / np.float32(head.temperature))
    relevance = np.exp(np.where(head.keep, scaled, -np.inf).astype(np.float32))
    value = rows.astype(np.float32)
    layers = [(weight * relevance, head.entropy.bias), *((layer.weight, layer.bias) for layer in head.tail)]
    for depth, (matrix, bias) in enumerate(layers):
        value = np.maximum(value, 0) if depth else value
        terms = value[:, None, ::-1] * matrix.astype(np.float32)[None, :, ::-1]
        terms = np.concatenate(
            [terms, np.broadcast_to(bias.astype(np.float32)[:, None], (*terms.shape[:2], 1))], axis=2
        )
        value = np.cumsum(terms, axis=2, dtype=np.float32)[:, :, -1]
    return value[:, 0]


shapes = st.fixed_dictionaries({
    "seed": st.integers(0, 10**6), "m": st.integers(1, 9), "extra": st.integers(0, 4),
    "hidden": st.sampled_from([(5,), (20,), (20, 10)]), "temperature": st.floats(-1, 1), "scale": st.floats(-3, 2),
})  # fmt: skip


def net_of(shape: dict[str, Any]) -> EntropyNet:
    """Temperatures from 0.1 to 10, weights from 0.001 to 100; some concepts are not kept."""
    n_concepts = shape["m"] + shape["extra"]
    kept = sorted(np.random.default_rng(shape["seed"]).permutation(n_concepts)[: shape["m"]].tolist())
    return random_net(
        shape["seed"], [kept], n_concepts, shape["hidden"], 10.0 ** shape["temperature"], 10.0 ** shape["scale"]
    )


@examples(300)
@given(shape=shapes, seed=st.integers(0, 1000))
def test_float32_never_leaves_the_bound(shape, seed):
    net = net_of(shape)
    generator = torch.Generator().manual_seed(seed)
    head = head_of(net)
    kept = np.flatnonzero(head.keep)
    # The concepts that are not kept are 0 in one run and 1 in the other: neither may matter.
    rows = np.zeros((2 ** len(kept), net.n_concepts))
    rows[:, kept] = all_rows(len(kept))
    run = logits(head, np.arange(len(rows)))
    for other, fill in [(net, 0.0), (permuted(net, generator), 1.0), (permuted(net, generator), 0.0)]:
        inputs = rows.copy()
        inputs[:, ~head.keep] = fill
        with torch.no_grad():
            single = other(torch.tensor(inputs, dtype=torch.float32))[:, 0].double().numpy()
        assert abs(single - run.values).max() <= run.bound
    assert abs(one_by_one(head, rows) - run.values).max() <= run.bound
    assert run.values == pytest.approx(float64_logits(net, 0, kept.tolist()), rel=1e-9, abs=1e-3 * run.bound)


@examples(300)
@given(shape=shapes, seed=st.integers(0, 1000))
def test_the_worst_roundings_stay_within_the_bound_and_near(shape, seed):
    net = net_of(shape)
    head = head_of(net)
    kept = np.flatnonzero(head.keep)
    numbers = np.random.default_rng(seed).integers(0, 2 ** len(kept), 4)
    errors = []
    for number in [*numbers.tolist(), 2 ** len(kept) - 1]:
        run = logits(head, np.array([number]))
        row = np.zeros(len(head.keep), dtype=int)
        row[kept] = all_rows(len(kept))[number]
        exact = exact_layers(plain(head), row.tolist())[-1][0]
        assert abs(exact - run.values[0]) <= run.bound * 1e-6
        worst = max(abs(worst_logit(plain(head), row.tolist(), side) - exact) for side in (1, -1))
        assert worst <= run.bound
        errors.append((worst, run.bound))
    worst, bound = max(errors, key=lambda pair: pair[0] / pair[1])
    assert bound < 200 * worst


def test_the_bound_is_not_absurdly_loose():
    """Within 1000 times of what torch shows, on networks of the usual sizes."""
    for hidden, temperature, seed in itertools.product([(5,), (20,), (20, 10)], [0.1, 1.0, 10.0], range(3)):
        net = random_net(seed, [list(range(10))], 10, hidden, temperature, scale=0.5)
        run = logits(head_of(net), np.arange(1024))
        with torch.no_grad():
            seen = abs(net(torch.tensor(all_rows(10), dtype=torch.float32))[:, 0].double().numpy() - run.values).max()
        assert seen <= run.bound < 1000 * seen


def test_two_equally_strong_concepts_are_within_the_bound():
    """Which of them is the strongest is decided by rounding, and the other then has less than 1."""
    for seed in range(50):
        net = random_net(seed, [[0, 1, 2]], 3, (20,), temperature=0.1, scale=30.0)
        with torch.no_grad():
            order = torch.randperm(20, generator=torch.Generator().manual_seed(seed))
            net.entropy.weight[0, :, 1] = net.entropy.weight[0, order, 0]
            net.entropy.weight[0, :, 2] = -net.entropy.weight[0, order.flip(0), 0]
        head = head_of(net)
        run = logits(head, np.arange(8))
        single = net(torch.tensor(all_rows(3), dtype=torch.float32))[:, 0].detach().double().numpy()
        assert abs(single - run.values).max() <= run.bound
        assert abs(one_by_one(head, all_rows(3)) - run.values).max() <= run.bound


def test_a_long_first_sum_is_within_the_bound():
    """One unit that adds twenty equal concepts: here the first sum errs more than all the rest."""
    head = Head(
        Linear(np.ones((1, 20)), np.zeros(1)), np.ones(20, dtype=bool), (Linear(np.ones((1, 1)), np.zeros(1)),), 10.0
    )
    run = logits(head, np.array([2**20 - 1]))
    assert run.values == pytest.approx([20.0], abs=1e-12)
    assert 0.5 * run.bound < abs(worst_logit(plain(head), [1] * 20, 1) - 20) <= run.bound


@pytest.mark.parametrize("flush", [False, True])
def test_numbers_near_the_smallest_are_within_the_bound(flush):
    """Weights so small that products vanish, with and without a processor that takes subnormal numbers for 0."""
    for seed, exponent in itertools.product(range(5), [-43, -38, -36, -30, -24, -20, -16, -13]):
        net = random_net(seed, [[0, 1, 2, 3]], 4, (20, 10), temperature=1.0, scale=10.0**exponent)
        # Weights of usual size behind vanishing ones: what is lost early is carried on.
        with torch.no_grad():
            net.tail[3].weight.copy_(torch.randn(1, 1, 10, generator=torch.Generator().manual_seed(seed)) * 1e3)
        run = logits(head_of(net), np.arange(16))
        try:
            assert torch.set_flush_denormal(flush) or not flush
            with torch.no_grad():
                single = net(torch.tensor(all_rows(4), dtype=torch.float32))[:, 0]
        finally:
            torch.set_flush_denormal(False)
        assert abs(single.double().numpy() - run.values).max() <= run.bound


def test_batches_do_not_matter(monkeypatch):
    head = head_of(random_net(1, [list(range(8))], 8, (20, 10)))
    whole = logits(head, np.arange(256))
    monkeypatch.setattr(logiclens.verify.network, "BATCH_NUMBERS", 60)
    parts = logits(head, np.arange(256))
    assert parts.values == pytest.approx(whole.values, rel=1e-12)
    assert parts.bound == pytest.approx(whole.bound, rel=1e-12)
    assert logits(head, np.arange(255, -1, -1)).bound == pytest.approx(whole.bound, rel=1e-12)


@given(data=st.data(), m=st.integers(0, 6))
def test_a_table_says_what_a_formula_means(data, m):
    names = [f"c{j}" for j in range(m)]
    cubes = data.draw(
        st.lists(st.dictionaries(st.sampled_from(names), st.booleans()) if m else st.just({}), max_size=4)
    )
    rows = [dict(zip(names, row, strict=True)) for row in all_rows(m).astype(int).tolist()]
    table = formula_table(tuple(tuple(cube.items()) for cube in cubes), names)
    assert table.tolist() == [any(all(row[n] == v for n, v in items.items()) for items in cubes) for row in rows]


def stated_bound(head: Head) -> float:
    """The bound of the module's six steps for the row of ones, number by number instead of matrix by matrix."""
    u, eta = 2.0**-24, 2.0**-126
    kept, tau, width = np.flatnonzero(head.keep).tolist(), head.temperature, len(head.entropy.weight)

    def g(k: int) -> float:
        return k * u / (1 - k * u)

    strength = [sum(abs(head.entropy.weight[:, j])) for j in kept]
    spread = [g(width) * value + 4 * width * eta for value in strength]
    relevance, rho = [], []
    for j, (own, error) in enumerate(zip(strength, spread, strict=True)):
        others = [(value, e) for k, (value, e) in enumerate(zip(strength, spread, strict=True)) if k != j]
        low = min(0.0, own - error - max((value + e for value, e in others), default=-np.inf)) / tau * (1 + g(4))
        high = min(0.0, own + error - max((value - e for value, e in others), default=-np.inf)) / tau * (1 - g(4))
        rounding = eta * (1 + 2 / tau)
        relevance.append(np.exp((own - max(strength)) / tau))
        above = np.exp(min(0.0, high + rounding)) * (1 + 8 * u) - relevance[-1]
        rho.append(max(above, relevance[-1] - np.exp(low - rounding) * (1 - 8 * u)) + eta)
    values, errors = [], []
    relative = g(len(kept) + 1)
    for weights, bias in zip(head.entropy.weight, head.entropy.bias, strict=True):
        folded = [weights[j] * alpha for j, alpha in zip(kept, relevance, strict=True)]
        phi = [(1 + u) * abs(weights[j]) * r + u * abs(f) + 2 * eta for j, r, f in zip(kept, rho, folded, strict=True)]
        error = sum((1 + relative) * p + relative * abs(f) for p, f in zip(phi, folded, strict=True))
        values.append(bias + sum(folded))
        errors.append(error + relative * abs(bias) + 4 * (len(kept) + 2) * eta)
    for layer in head.tail:
        values, before, errors = [max(value, 0.0) for value in values], errors, []
        n, relative = len(values), g(len(values) + 1)
        for weights, bias in zip(layer.weight, layer.bias, strict=True):
            carried = sum(((1 + relative) * abs(w) + 2 * eta) * e for w, e in zip(weights, before, strict=True))
            made = sum((relative * abs(w) + 2 * eta) * a for w, a in zip(weights, values, strict=True))
            errors.append(carried + made + relative * abs(bias) + 4 * (n + 2) * eta)
        values = [float(w @ values + b) for w, b in zip(layer.weight, layer.bias, strict=True)]
    return float(errors[0]) * (1 + 2.0**-20)


@pytest.mark.parametrize(
    ("scale", "tau"), [(1.0, 1.0), (30.0, 0.1), (1e-3, 10.0), (0.0, 1.0), (1e-40, 1.0), (1e-36, 2.0), (1e-44, 1e-6)]
)
@pytest.mark.parametrize("kept", [[0], [0, 2, 3], [0, 1, 2, 3, 4]])
def test_the_bound_is_the_stated_one_to_twelve_digits(scale, tau, kept):
    for seed in range(3):
        head = head_of(random_net(seed, [kept], 5, (4, 3), tau))
        layers = [Linear(layer.weight * scale, layer.bias * scale) for layer in (head.entropy, *head.tail)]
        head = Head(layers[0], head.keep, tuple(layers[1:]), tau)
        run = logits(head, np.array([2 ** len(kept) - 1]))
        assert run.bound == pytest.approx(stated_bound(head), rel=1e-11, abs=0)


@pytest.mark.parametrize("large", [1, 3])
def test_large_values_behind_vanishing_weights_keep_the_bound(large):
    """Activations of 1e30 and weights of 0: the error is what products lose near the smallest number."""
    first = Linear(np.full((2, 3), 1e-40), np.full(2, 1e30))
    tail = [Linear(np.zeros((2, 2)), np.zeros(2)) for _ in range(large - 1)] + [Linear(np.zeros((1, 2)), np.zeros(1))]
    head = Head(first, np.ones(3, dtype=bool), tuple(tail), 1.0)
    assert logits(head, np.array([7])).bound == pytest.approx(stated_bound(head), rel=1e-11, abs=0)


@pytest.mark.parametrize("scale", [0.0, 1e-44, 1e-36, 1.0])
@pytest.mark.parametrize("are_equal", [False, True])
def test_what_a_vanishing_first_layer_loses_is_carried_on(scale, are_equal):
    """Strengths of the size of the temperature, so that relevance is decided near the smallest number."""
    for seed in range(3):
        head = head_of(random_net(seed, [[0, 1, 2]], 3, (4, 3)))
        weight = head.entropy.weight * scale
        if are_equal:
            weight[:, 1] = -weight[:, 0]
        head = Head(Linear(weight, head.entropy.bias * scale), head.keep, head.tail, max(scale, 2.0**-120))
        run = logits(head, np.array([7]))
        assert run.bound == pytest.approx(stated_bound(head), rel=1e-11, abs=0)


# Numbers that only extreme heads show, one function at a time ---------------------------------------------------------


def one_layer(weight: Any, keep: Any = None, *, bias: float = 0.0, temperature: float = 1.0) -> Head:
    """A head of one hidden layer whose output is its first unit."""
    matrix = np.array(weight, dtype=float)
    kept = np.ones(matrix.shape[1], dtype=bool) if keep is None else np.array(keep)
    last = Linear(np.eye(1, len(matrix)), np.zeros(1))
    return Head(Linear(matrix, np.full(len(matrix), bias)), kept, (last,), temperature)


def exact_gamma(k: int) -> Fraction:
    return k * Fraction(UNIT) / (1 - k * Fraction(UNIT))


def stated_relevance(strength: list[float], width: int, tau: float) -> list[float]:
    """Steps 1 to 3, with fractions up to the exponential."""
    u, eta, t = Fraction(1, 2**24), Fraction(1, 2**126), Fraction(tau)
    gammas = [Fraction(value) for value in strength]
    spread = [exact_gamma(width) * value + 4 * width * eta for value in gammas]
    errors = []
    for j, (own, e) in enumerate(zip(gammas, spread, strict=True)):
        others = [(gammas[k], spread[k]) for k in range(len(gammas)) if k != j]
        low = high = Fraction(0)
        if others:
            low = min(low, own - e - max(value + error for value, error in others))
            high = min(high, own + e - max(value - error for value, error in others))
        low = low / t * (1 + exact_gamma(4)) - eta * (1 + 2 / t)
        high = min(high / t * (1 - exact_gamma(4)) + eta * (1 + 2 / t), Fraction(0))
        alpha = math.exp((own - max(gammas)) / t)
        above = math.exp(high) * float(1 + 8 * u) - alpha
        errors.append(max(above, alpha - math.exp(low) * float(1 - 8 * u)) + float(eta))
    return errors


@pytest.mark.parametrize("exponent", [-125, -124, -123, -122, -120, -100, 0, 3])
@pytest.mark.parametrize("strength", [[0.0], [3.0, 1.0], [2.0, 2.0], [1.0, 2.0, 1.5, 2.0], [0.0, 0.5], [64.0, 0.0]])
def test_errors_of_relevance_are_the_stated_ones(strength, exponent):
    """Temperatures from 2^-125, where the roundings near 0 decide, to 8, with strengths of their size."""
    tau = 2.0**exponent
    for width in (1, 3):
        weight = np.zeros((width, len(strength)))
        weight[-1] = [value * tau for value in strength]
        values, errors = relevance(one_layer(weight, temperature=tau))
        assert values == pytest.approx([math.exp(value - max(strength)) for value in strength], rel=1e-14, abs=0)
        stated = stated_relevance(weight[-1].tolist(), width, tau)
        assert errors == pytest.approx(stated, rel=1e-12, abs=1e-15)


def test_an_exponent_that_errs_by_more_than_64_decides_nothing():
    # The exponent of the only concept errs by η(1 + 2/τ): by 64 exactly, or by half more than that.
    (error,) = relevance(one_layer([[0.0]], temperature=2.0**-131))[1]
    assert error == pytest.approx(1 - math.exp(-64), rel=1e-15)
    for temperature in (2.0**-131 * 64 / 64.5, 2.0**-131 * 64 / 1000):
        assert relevance(one_layer([[0.0]], temperature=temperature))[1] == np.inf
    # That of the weaker of two errs by its distance, times g(4), and by the errors of both strengths.
    for strength, is_determined in [(1e7, True), (1e9, False)]:
        assert (relevance(one_layer([[strength, 0.0]]))[1] < np.inf).tolist() == [True, is_determined]


def test_roundings_add_up_to_infinity_after_eight_million_terms():
    assert gamma(0) == 0
    assert gamma(1) == 2.0**-24 / (1 - 2.0**-24)
    assert gamma(2**23 - 1) == pytest.approx(1, abs=1e-6)
    assert gamma(2**23) == gamma(2**24) == gamma(2**25) == np.inf


@pytest.mark.parametrize(("share", "is_bounded"), [(0.4, True), (0.5, True), (0.5000001, False), (0.9, False)])
def test_a_strength_whose_double_overflows_bounds_nothing(share, is_bounded):
    """Also that of a concept that is not kept, and whose weight no row can show."""
    run = logits(one_layer([[1.0, share * LARGEST]], [True, False]), np.array([0, 1]))
    assert run.values.tolist() == [0.0, 1.0]
    assert (run.bound < np.inf) == is_bounded
    assert run.bound > 0


@pytest.mark.parametrize(("share", "is_bounded"), [(0.4, True), (0.4999999, True), (0.5, False), (np.nan, False)])
def test_an_intermediate_value_that_may_overflow_bounds_nothing(share, is_bounded):
    relative = 2.0**-23
    error = np.array([share * LARGEST * relative])
    layer = Layer(np.zeros((1, 1)), np.ones(1), np.zeros((0, 1)), np.zeros((1, 1)), error, relative)
    values, largest = logiclens.verify.network._forward([layer], np.zeros((2, 1)))
    assert values.tolist() == [1.0, 1.0]
    assert largest == (share * LARGEST * relative if is_bounded else np.inf)
