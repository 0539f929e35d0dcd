"""Many models in one pass: each equals its training alone and training with torch's autograd."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.nn.functional import entropy_logic_loss, l1_loss
from logiclens.nn.layers import EntropyNet
from logiclens.nn.stacked import stackable
from logiclens.train import fit_many as batched_module
from logiclens.train.config import TrainConfig, TrainResult
from logiclens.train.fit_many import fit_many
from logiclens.train.loop import fit

RNG = np.random.default_rng(0)
EPOCHS = 50


def rows(n: int = 90, n_classes: int = 3, n_concepts: int = 6, *, soft: bool = False, several: bool = False):
    """Rows whose class depends on two concepts, with noise and weights."""
    bits = RNG.integers(0, 2, (n, n_concepts))
    labels = (bits[:, 0] + bits[:, 1] + (RNG.random(n) < 0.2)) % n_classes
    values = np.clip(bits * 0.8 + RNG.uniform(0, 0.2, bits.shape), 0, 1) if soft else bits
    answers = np.stack([bits[:, 0] | bits[:, 1], bits[:, 2]], axis=1) if several else labels
    names = None if several else [str(i) for i in range(n_classes)]
    return ConceptTable(values, None, answers, names, weight=RNG.integers(1, 4, n))


def nets(n: int, hidden: Sequence[int] = (5,), n_classes: int = 3, activation: type[nn.Module] = nn.ReLU):
    """Networks that differ in their seed and temperature; one head of the second may not look at a concept."""
    made = [
        EntropyNet(6, n_classes, hidden, temperature=0.5 + 0.2 * i, activation=activation,
                   generator=torch.Generator().manual_seed(i)).double()
        for i in range(n)
    ]  # fmt: skip
    if n > 1:
        made[1].entropy.keep[0, 2] = False
    return made


def by_autograd(network: EntropyNet, table: ConceptTable, config: TrainConfig) -> list[float]:
    """Plain rows, torch's own losses, autograd and its own AdamW; the curve of the loss."""
    values, weight = torch.tensor(table.values).double(), torch.tensor(table.weight)
    labels = torch.tensor(table.labels)
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    curve = []
    for _ in range(config.epochs):
        logits = network(values)
        if labels.ndim == 2:
            each = F.binary_cross_entropy_with_logits(logits, labels.double(), reduction="none").mean(dim=1)
            loss = (each * weight).sum() / weight.sum()
        else:
            factors = None if config.class_weight is None else torch.tensor(config.class_weight).double()
            each = F.cross_entropy(logits, labels, weight=factors, reduction="none")
            of_rows = weight if factors is None else weight * factors[labels]
            loss = (each * weight).sum() / of_rows.sum()
        penalty = {"entropy": entropy_logic_loss, "l1": l1_loss}.get(str(config.penalty), lambda _: 0.0)(network)
        optimizer.zero_grad()
        (loss + config.penalty_weight * penalty).backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


def gap(first: Sequence[nn.Module], second: Sequence[nn.Module]) -> float:
    """The largest difference of weights."""
    mine, others = ([p.detach() for network in networks for p in network.parameters()] for networks in (first, second))
    return max(float((a - b).abs().max()) for a, b in zip(mine, others, strict=True))


def as_autograd_does(networks: Sequence[EntropyNet], table: ConceptTable, config: TrainConfig):
    """Train in one pass; weights and curves must be those that autograd gives each network."""
    twins = copy.deepcopy(networks)
    curves = [by_autograd(twin, table, config) for twin in twins]
    results = fit_many(networks, table, config)
    assert gap(networks, twins) < 1e-9
    for result, curve in zip(results, curves, strict=True):
        assert np.allclose(result.history.loss, curve, atol=1e-10)
    return results


def same_curves(one: TrainResult, other: TrainResult, tolerance: float) -> None:
    assert one.history.best_epoch == other.history.best_epoch
    for name, curve in one.history.columns().items():
        assert np.allclose(curve, other.history.columns()[name], atol=tolerance, equal_nan=True), name


@pytest.mark.parametrize("activation", [nn.ReLU, nn.LeakyReLU])
@pytest.mark.parametrize("hidden", [(5,), (6, 4), (5, 4, 3)])
@pytest.mark.parametrize("penalty", ["entropy", "l1", None])
def test_a_stack_learns_what_autograd_learns_on_plain_rows(hidden, penalty, activation):
    table = rows()
    config = TrainConfig(
        epochs=EPOCHS, penalty=penalty, penalty_weight=0.02, class_weight=[1.0, 2.0, 0.5], progress=False
    )
    as_autograd_does(nets(3, hidden, activation=activation), table, config)


@pytest.mark.parametrize("soft", [False, True])
def test_several_labels_and_soft_rows_learn_as_autograd_does(soft):
    table = rows(soft=soft, several=True)
    config = TrainConfig(epochs=EPOCHS, progress=False)
    for result in as_autograd_does(nets(2, n_classes=2), table, config):
        assert result.counted is not soft


def test_folds_seeds_settings_and_resamples_are_each_as_if_alone():
    """Different rows, weights, temperatures and λ in one call: in double precision nothing tells them from models
    that were trained one after another."""
    table = rows(120)
    folds = [table.take(np.flatnonzero(np.arange(120) % 4 != k)) for k in range(4)]
    resamples = [table.weighing(RNG.integers(0, 3, 120) + 1e-9) for _ in range(3)]
    tables = [*folds, *resamples, table]
    held = [rows(40) for _ in tables]
    configs = [TrainConfig(epochs=EPOCHS, penalty_weight=10.0**-k, progress=False) for k in range(1, len(tables) + 1)]
    networks = nets(len(tables))
    alone = copy.deepcopy(networks)
    together = fit_many(networks, tables, configs, validation=held)
    apart = [fit(*one, validation=v) for *one, v in zip(alone, tables, configs, held, strict=True)]
    assert gap(networks, alone) < 1e-9
    for one, other in zip(together, apart, strict=True):
        same_curves(one, other, 1e-9)
        assert (one.n_rows, one.n_trained_rows) == (other.n_rows, other.n_trained_rows)


def test_in_single_precision_curves_agree_and_so_do_the_models():
    table, held = rows(300), rows(100)
    networks = [network.float() for network in nets(4)]
    alone = copy.deepcopy(networks)
    config = TrainConfig(epochs=100, progress=False)
    together = fit_many(networks, table, config, validation=held)
    apart = [fit(network, table, config, validation=held) for network in alone]
    for one, other in zip(together, apart, strict=True):
        assert np.allclose(one.history.loss, other.history.loss, atol=1e-3)
        assert abs(one.history.validation_accuracy.max() - other.history.validation_accuracy.max()) < 0.02


def test_the_best_epoch_is_each_models_own():
    networks, table, held = nets(3), rows(), rows(40)
    alone = copy.deepcopy(networks)
    together = fit_many(networks, table, TrainConfig(epochs=60, progress=False), validation=held)
    epochs = [result.history.best_epoch for result in together]
    assert len(set(epochs)) > 1
    for network, epoch in zip(alone, epochs, strict=True):
        fit(network, table, TrainConfig(epochs=epoch + 1, progress=False))
    assert gap(networks, alone) < 1e-9


def test_models_stop_when_they_would_have_stopped_alone():
    networks, table, held = nets(4), rows(), rows(40)
    alone = copy.deepcopy(networks)
    config = TrainConfig(epochs=200, patience=6, progress=False)
    together = fit_many(networks, table, config, validation=held)
    apart = [fit(network, table, config, validation=held) for network in alone]
    lengths = [len(result.history) for result in together]
    assert len(set(lengths)) > 1
    assert max(lengths) < 200
    assert lengths == [len(result.history) for result in apart]
    for one, other in zip(together, apart, strict=True):
        same_curves(one, other, 1e-9)
    assert gap(networks, alone) < 1e-9


def test_different_builds_are_stacked_apart_and_return_in_order():
    table = rows()
    networks = [*nets(2), *nets(2, (6, 4)), *nets(1, activation=nn.LeakyReLU)]
    configs = [TrainConfig(epochs=epochs, progress=False) for epochs in (5, 9, 5, 5, 7)]
    alone = copy.deepcopy(networks)
    results = fit_many(networks, table, configs)
    for network, config in zip(alone, configs, strict=True):
        fit(network, table, config)
    assert [len(result.history) for result in results] == [5, 9, 5, 5, 7]
    assert gap(networks, alone) < 1e-9


def test_stacks_are_cut_where_they_would_be_too_large(monkeypatch):
    table, networks = rows(), nets(5)
    other = rows(70)
    twins = copy.deepcopy(networks)
    tables = [table, table, other, other, other]
    fit_many(networks, tables, TrainConfig(epochs=10, progress=False))
    monkeypatch.setattr(batched_module, "TOGETHER", 1)
    fit_many(twins, tables, TrainConfig(epochs=10, progress=False))
    assert gap(networks, twins) < 1e-9


def test_one_head_for_two_classes_is_stacked_too():
    table = rows(n_classes=2)
    networks = nets(2, n_classes=1)
    alone = copy.deepcopy(networks)
    fit_many(networks, table, TrainConfig(epochs=20, class_weight=[1.0, 3.0], progress=False))
    for network in alone:
        fit(network, table, TrainConfig(epochs=20, class_weight=[1.0, 3.0], progress=False))
    assert gap(networks, alone) < 1e-9


def test_what_cannot_be_stacked_is_refused():
    table = rows()
    config = TrainConfig(epochs=2, progress=False)
    with pytest.raises(LogicLensError, match="untied heads"):
        fit_many([EntropyNet(6, 3, shared_tail=True)], table, config)
    with pytest.raises(LogicLensError, match="full batch"):
        fit_many(nets(1), table, TrainConfig(batch_size=3))
    with pytest.raises(LogicLensError, match="one for each, got 2"):
        fit_many(nets(3), [table, table], config)
    with pytest.raises(LogicLensError, match="takes 6 concepts, got 4"):
        fit_many(nets(1), rows(n_concepts=4), config)
    with pytest.raises(LogicLensError, match="lower the learning_rate"):
        fit_many(nets(2), table, TrainConfig(epochs=30, learning_rate=1e200, progress=False))


def test_notes_are_those_of_each_table():
    """Models that share a table are warned once."""
    table = rows()
    constant = ConceptTable(np.c_[table.values[:, :5], np.ones(len(table))], None, table.labels, table.class_names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        plain, noted = fit_many(nets(2), [table, constant], TrainConfig(epochs=2, progress=False))
    assert plain.notes == ()
    assert "'x5' is constant" in noted.notes[0]
    with pytest.warns(LogicLensWarning) as told:
        both = fit_many(nets(3), constant, TrainConfig(epochs=2, progress=False))
    assert len(told) == 1
    assert all(result.notes == noted.notes for result in both)


@pytest.mark.gpu
@pytest.mark.parametrize("patience", [None, 8])
def test_a_recorded_epoch_on_the_gpu_equals_the_cpu(patience):
    table, held = rows(), rows(40)
    networks = nets(3)
    twins = [copy.deepcopy(network).cuda() for network in networks]
    config = TrainConfig(epochs=EPOCHS, patience=patience, progress=False)
    on_cpu = fit_many(networks, table, config, validation=held)
    on_gpu = fit_many(twins, table, config, validation=held)
    assert gap(networks, [twin.cpu() for twin in twins]) < 1e-9
    for one, other in zip(on_cpu, on_gpu, strict=True):
        same_curves(one, other, 1e-9)


@pytest.mark.gpu
def test_networks_are_trained_elsewhere_and_stay_where_they_are():
    table, held = rows(), rows(40)
    networks = nets(3)
    twins = copy.deepcopy(networks)
    config = TrainConfig(epochs=EPOCHS, progress=False)
    fit_many(networks, table, config, validation=held)
    fit_many(twins, table, config, validation=held, device="cuda")
    assert {p.device.type for twin in twins for p in twin.parameters()} == {"cpu"}
    assert gap(networks, twins) < 1e-9


def test_curves_are_told_as_they_are_in_double_precision_too():
    """What chooses the epoch rounds accuracies; what is reported is not rounded."""
    table, held = rows(90), rows(37)
    network = nets(1)[0]
    (result,) = fit_many([network], table, TrainConfig(epochs=12, progress=False), validation=held)
    right = result.history.validation_accuracy * held.weight.sum()
    assert np.allclose(right, np.round(right), atol=1e-9)


def test_where_nothing_can_choose_the_last_epoch_stays():
    """All validation rows are of a class that counts nothing: no epoch is better than another."""
    table = rows()
    held = rows(60)
    held = held.take(np.flatnonzero(held.labels == 1))
    config = TrainConfig(epochs=15, class_weight=[1.0, 0.0, 2.0], progress=False)
    network, twin = nets(1)[0], nets(1)[0]
    (result,) = fit_many([network], table, config, validation=held)
    fit_many([twin], table, config)
    assert gap([network], [twin]) < 1e-12
    assert result.history.best_epoch == 14


def test_equal_strengths_share_what_flows_to_the_largest():
    table, config = rows(), TrainConfig(epochs=EPOCHS, progress=False)
    network = nets(1)[0]
    with torch.no_grad():
        network.entropy.weight.fill_(0.3)
    twin = copy.deepcopy(network)
    by_autograd(twin, table, config)
    fit_many([network], table, config)
    assert gap([network], [twin]) < 1e-9


@pytest.mark.parametrize("change", ["sigmoid", "slope", "dropout", "forward", "hook", "half", "frozen"])
def test_a_changed_network_is_not_mistaken_for_its_past(change):
    network = nets(1, activation=nn.LeakyReLU)[0]
    assert stackable(network)
    if change == "sigmoid":
        network.tail[0] = nn.Sigmoid()
    elif change == "slope":
        network.tail[0].negative_slope = 0.5
    elif change == "dropout":
        network.tail.insert(1, nn.Dropout(0.5))
    elif change == "forward":
        network.entropy.forward = lambda x: x
    elif change == "hook":
        network.register_full_backward_pre_hook(lambda *_: None)
    elif change == "half":
        network.half()
    else:
        network.entropy.bias.requires_grad_(False)
    assert not stackable(network)


def test_validation_rows_without_labels_and_networks_given_twice_are_refused():
    table = rows()
    bare = [ConceptTable(rows(20).values, None, None, table.class_names) for _ in range(3)]
    with pytest.raises(LogicLensError, match="no labels"):
        fit_many(nets(3), table, TrainConfig(epochs=2, progress=False), validation=bare)
    network = nets(1)[0]
    with pytest.raises(LogicLensError, match="the same network twice"):
        fit_many([network, network], table, TrainConfig(epochs=2, progress=False))


def test_a_stopped_model_does_not_fail_for_later_epochs(monkeypatch):
    """Steps that a stopped model still takes, because others go on, are not its own."""
    networks, table, held = nets(4), rows(), rows(40)
    run_check = batched_module.StackedRun._check
    lengths: list[int] = []

    def spoil(run: batched_module.StackedRun) -> None:
        lengths.extend(run._n_epochs(0, k) for k in range(4))
        shortest = int(np.argmin(lengths))
        run.curves[lengths[shortest] :, 0, 0, shortest] = torch.nan
        run_check(run)

    monkeypatch.setattr(batched_module.StackedRun, "_check", spoil)
    results = fit_many(networks, table, TrainConfig(epochs=200, patience=6, progress=False), validation=held)
    assert [len(result.history) for result in results] == lengths
    assert min(lengths) < max(lengths)


def test_among_equally_accurate_epochs_the_lowest_loss_wins():
    n_tied = 0
    for result in fit_many(nets(6), rows(), TrainConfig(epochs=80, progress=False), validation=rows(25)):
        history = result.history
        right = history.validation_accuracy.round(6)
        best = min(zip(-right, history.validation_loss, range(80), strict=True))[2]
        assert history.best_epoch == best
        # Without the loss it would have been the first of several.
        n_tied += best != int(np.argmax(right))
    assert n_tied


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_equal_outputs_the_first_class_is_said(n_classes):
    table, network = rows(n_classes=n_classes), nets(1, n_classes=n_classes)[0]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    (result,) = fit_many([network], table, TrainConfig(epochs=1, progress=False))
    first = table.weight[table.labels == 0].sum() / table.weight.sum()
    assert result.history.train_accuracy[0] == pytest.approx(first)


@pytest.mark.parametrize("soft", [(False, False), (False, True), (True, False)])
def test_what_chooses_is_measured_on_the_rows_that_choose(soft):
    """Most of these rows are among those to learn from, in other numbers; some are not."""
    table, held = (rows(n, soft=kind) for n, kind in zip((40, 60), soft, strict=True))
    known = {tuple(row) for row in table.boolean()}
    both = np.array([tuple(row) in known for row in held.boolean()])
    assert 0 < both.sum() < len(both)
    networks = nets(3)
    config = TrainConfig(epochs=EPOCHS, learning_rate=0.05, class_weight=(1.0, 2.0, 0.5), progress=False)
    for network, result in zip(networks, fit_many(networks, table, config, validation=held), strict=True):
        with torch.no_grad():
            logits = network(torch.tensor(held.values).double())
        weight = torch.tensor(held.weight) * torch.tensor(config.class_weight).double()[torch.tensor(held.labels)]
        loss = (F.cross_entropy(logits, torch.tensor(held.labels), reduction="none") * weight).sum() / weight.sum()
        right = ((logits.argmax(dim=1) == torch.tensor(held.labels)) * weight).sum() / weight.sum()
        best = result.history.best_epoch
        assert np.isclose(result.history.validation_loss[best], float(loss), atol=1e-9)
        assert np.isclose(result.history.validation_accuracy[best], float(right), atol=1e-9)
