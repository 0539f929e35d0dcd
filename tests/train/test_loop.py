"""The training loop: losses and gradients compared with torch's own, epochs with a scripted network."""

from __future__ import annotations

import dataclasses
import io
import math
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor, nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning, NoEntropyLayer
from logiclens.nn import EntropyNet
from logiclens.train import History, TrainConfig, TrainResult, fit
from tests.examples import examples
from tests.oracles import paper_layer

ONE_STEP = TrainConfig(epochs=1, penalty=None)
XOR = [[0, 0], [0, 1], [1, 0], [1, 1]]
CLEAR = "\r\x1b[2K"


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def net_of(n_concepts: int, n_heads: int, seed: int = 0, hidden: Sequence[int] = (4,)) -> EntropyNet:
    return EntropyNet(n_concepts, n_heads, hidden, generator=seeded(seed)).double()


def one_evaluation(net: nn.Module, table: ConceptTable, config: TrainConfig = ONE_STEP) -> tuple[float, list[Tensor]]:
    """The loss and the gradients of the first step of `fit`, caught on their way to the optimiser."""
    caught: dict[str, Tensor] = {}
    hooks = [p.register_hook(lambda g, name=name: caught.update({name: g})) for name, p in net.named_parameters()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        result = fit(net, table, config)
    for hook in hooks:
        hook.remove()
    return float(result.history.loss[0]), [caught[name] for name, _ in net.named_parameters()]


def assert_same_evaluation(ours: tuple[float, list[Tensor]], theirs: Tensor, net: nn.Module) -> None:
    """Equal to a relative 1e-10; for gradients relative to the largest entry, since single ones may cancel to 0."""
    loss, grads = ours
    assert loss == pytest.approx(theirs.item(), rel=1e-10)
    expected = torch.autograd.grad(theirs, list(net.parameters()))
    scale = max(g.abs().max().item() for g in expected)
    for mine, judge in zip(grads, expected, strict=True):
        torch.testing.assert_close(mine, judge, rtol=1e-10, atol=1e-10 * scale)


@dataclasses.dataclass(frozen=True)
class Plain:
    """Random plain rows with repeats, whole-number weights, and labels of one kind."""

    rows: np.ndarray
    labels: np.ndarray
    repeats: np.ndarray
    class_weight: list[float]

    @property
    def table(self) -> ConceptTable:
        names = [str(i) for i in range(len(self.class_weight))]
        return ConceptTable(self.rows, labels=self.labels, class_names=names, weight=self.repeats)

    @property
    def x(self) -> Tensor:
        """The rows, each as often as it weighs: a weight of 2 is a row that is there twice."""
        return torch.tensor(np.repeat(self.rows, self.repeats, axis=0), dtype=torch.float64)

    @property
    def y(self) -> Tensor:
        return torch.tensor(np.repeat(self.labels, self.repeats, axis=0))


@st.composite
def plain_rows(draw: st.DrawFn, kind: str, soft: bool = False) -> Plain:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_classes = draw(st.integers(2, 40)), 2 if kind == "binary" else draw(st.integers(2, 4))
    # 70 concepts need more than one machine word to count; few distinct rows so that they do repeat.
    n_concepts = draw(st.sampled_from([1, 3, 70]))
    distinct = rng.random((6, n_concepts)) if soft else rng.integers(0, 2, (6, n_concepts))
    rows = distinct[rng.integers(0, 6, n_rows)]
    labels = rng.integers(0, 2, (n_rows, n_classes)) if kind == "multilabel" else rng.integers(0, n_classes, n_rows)
    if kind != "multilabel":
        labels[:2] = [0, 1]
    repeats = rng.integers(0, 4, n_rows)
    repeats[:2] = 1
    return Plain(rows, labels, repeats, rng.uniform(0.2, 3, n_classes).tolist())


# ------------------------------------------------------------------------------------ one evaluation, counted or not


@examples(40)
@given(plain_rows("multiclass"), st.booleans())
def test_counted_rows_have_the_cross_entropy_of_plain_rows(plain, weighted):
    judge = net_of(plain.rows.shape[1], len(plain.class_weight))
    weight = torch.tensor(plain.class_weight, dtype=torch.float64) if weighted else None
    config = dataclasses.replace(ONE_STEP, class_weight=plain.class_weight if weighted else None)
    ours = one_evaluation(net_of(plain.rows.shape[1], len(plain.class_weight)), plain.table, config)
    assert_same_evaluation(ours, nn.CrossEntropyLoss(weight)(judge(plain.x), plain.y), judge)


@examples(40)
@given(plain_rows("multilabel"), st.booleans())
def test_counted_rows_have_the_binary_cross_entropy_of_plain_rows(plain, weighted):
    judge = net_of(plain.rows.shape[1], len(plain.class_weight))
    weight = torch.tensor(plain.class_weight, dtype=torch.float64) if weighted else None
    config = dataclasses.replace(ONE_STEP, class_weight=plain.class_weight if weighted else None)
    ours = one_evaluation(net_of(plain.rows.shape[1], len(plain.class_weight)), plain.table, config)
    assert_same_evaluation(ours, nn.BCEWithLogitsLoss(weight)(judge(plain.x), plain.y.double()), judge)


@examples(40)
@given(plain_rows("binary"))
def test_one_head_has_the_binary_cross_entropy_of_class_one(plain):
    judge = net_of(plain.rows.shape[1], 1)
    ours = one_evaluation(net_of(plain.rows.shape[1], 1), plain.table)
    assert_same_evaluation(ours, nn.BCEWithLogitsLoss()(judge(plain.x)[:, 0], plain.y.double()), judge)


@examples(20)
@given(plain_rows("multiclass", soft=True))
def test_soft_concepts_train_on_their_values(plain):
    judge = net_of(plain.rows.shape[1], len(plain.class_weight))
    ours = one_evaluation(net_of(plain.rows.shape[1], len(plain.class_weight)), plain.table)
    assert_same_evaluation(ours, nn.CrossEntropyLoss()(judge(plain.x), plain.y), judge)


def test_weights_need_not_be_whole_numbers():
    weight = np.array([0.25, 1.5, 0.0, 3.125, 1.0])
    rows, labels = np.array([[0, 1], [1, 1], [0, 0], [0, 1], [1, 1]]), np.array([0, 1, 1, 1, 0])
    judge = net_of(2, 2)
    each = nn.CrossEntropyLoss(reduction="none")(judge(torch.tensor(rows).double()), torch.tensor(labels))
    theirs = (each * torch.tensor(weight)).sum() / weight.sum()
    assert_same_evaluation(
        one_evaluation(net_of(2, 2), ConceptTable(rows, labels=labels, weight=weight)), theirs, judge
    )


def test_a_weight_of_two_equals_a_repeated_row():
    heavy = ConceptTable([[0, 0.3], [1, 0.2], [1, 0.9]], labels=[0, 1, 1], weight=[1, 2, 1])
    twice = ConceptTable([[0, 0.3], [1, 0.2], [1, 0.2], [1, 0.9]], labels=[0, 1, 1, 1])
    (loss, grads), (other, others) = (one_evaluation(net_of(2, 2), table) for table in (heavy, twice))
    assert loss == pytest.approx(other, rel=1e-12)
    for mine, theirs in zip(grads, others, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("n_heads", [1, 3])
@pytest.mark.parametrize("soft", [False, True])
def test_balanced_weights_are_those_of_scikit_learn(n_heads, soft):
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2] if n_heads == 3 else [0, 0, 1], [9, 4, 2])
    rows = rng.random((15, 3)) if soft else rng.integers(0, 2, (15, 3))
    present = np.unique(labels)
    factors = torch.tensor(compute_class_weight("balanced", classes=present, y=labels))
    judge, y = net_of(3, n_heads), torch.tensor(labels)
    logits = judge(torch.tensor(rows).double())
    if n_heads == 3:
        theirs = nn.CrossEntropyLoss(factors)(logits, y)
    else:
        # One head asks one question about two classes: the factor goes with the class of the row.
        theirs = nn.BCEWithLogitsLoss(factors[y])(logits[:, 0], y.double())
    config = dataclasses.replace(ONE_STEP, class_weight="balanced")
    assert_same_evaluation(one_evaluation(net_of(3, n_heads), ConceptTable(rows, labels=labels), config), theirs, judge)


def test_one_head_takes_a_weight_for_both_classes():
    rows, y = torch.tensor(XOR).double(), torch.tensor([0, 0, 0, 1])
    judge = net_of(2, 1)
    each = nn.BCEWithLogitsLoss(reduction="none")(judge(rows)[:, 0], y.double())
    factors = torch.tensor([0.5, 1.5], dtype=torch.float64)[y]
    _, grads = one_evaluation(
        net_of(2, 1), ConceptTable(XOR, labels=y), dataclasses.replace(ONE_STEP, class_weight=[0.5, 1.5])
    )
    expected = torch.autograd.grad((each * factors).sum(), list(judge.parameters()))
    # Up to a common factor: whether the mean is taken over rows or over weights is the library's choice.
    ours, theirs = (torch.cat([g.flatten() for g in gs]) for gs in (grads, expected))
    torch.testing.assert_close(ours / ours.norm(), theirs / theirs.norm(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("penalty", ["entropy", "l1", None])
def test_the_penalty_is_added_with_its_weight(penalty):
    labels = [0, 1, 1, 0]
    judge = net_of(2, 2)
    task = nn.CrossEntropyLoss()(judge(torch.tensor(XOR).double()), torch.tensor(labels))
    added = {
        "entropy": lambda: sum(paper_layer.entropies(judge.entropy.weight, 0.6)),
        "l1": lambda: judge.entropy.weight.abs().sum() + judge.tail[1].weight.abs().sum(),
        None: lambda: torch.zeros((), dtype=torch.float64),
    }[penalty]()
    net = net_of(2, 2)
    config = TrainConfig(epochs=1, penalty=penalty, penalty_weight=0.7)
    loss, grads = one_evaluation(net, ConceptTable(XOR, labels=labels), config)
    assert loss == pytest.approx(task.item(), rel=1e-12)  # the curve of the loss is the task's own
    expected = torch.autograd.grad(task + 0.7 * added, list(judge.parameters()))
    for mine, theirs in zip(grads, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)
    history = fit(net_of(2, 2), ConceptTable(XOR, labels=labels), config).history
    assert history.penalty[0] == pytest.approx(added.item(), rel=1e-12)


def test_the_step_is_one_of_adamw():
    labels = [0, 1, 1, 0]
    net, judge = net_of(2, 2), net_of(2, 2)
    optimizer = torch.optim.AdamW(judge.parameters(), lr=0.03, weight_decay=0.2)
    for _ in range(3):
        optimizer.zero_grad()
        nn.CrossEntropyLoss()(judge(torch.tensor(XOR).double()), torch.tensor(labels)).backward()
        optimizer.step()
    config = TrainConfig(epochs=3, penalty=None, learning_rate=0.03, weight_decay=0.2)
    fit(net, ConceptTable(XOR, labels=labels), config)
    for mine, theirs in zip(net.parameters(), judge.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


# --------------------------------------------------------------------------------------------------- what is learned


@pytest.mark.parametrize("kind", ["multiclass", "binary", "multilabel"])
@pytest.mark.parametrize("penalty", ["entropy", "l1", None])
def test_xor_is_learned(kind, penalty):
    y = np.array([0, 1, 1, 0])
    labels = np.stack([1 - y, y, y], axis=1) if kind == "multilabel" else y
    n_heads = {"multiclass": 2, "binary": 1, "multilabel": 3}[kind]
    net = EntropyNet(2, n_heads, (20,), generator=seeded())
    config = TrainConfig(epochs=400, penalty=penalty, penalty_weight=1e-4)
    result = fit(net, ConceptTable(np.repeat(XOR, 5, axis=0), labels=np.repeat(labels, 5, axis=0)), config)
    logits = net(torch.tensor(XOR, dtype=torch.float32))
    said = logits.argmax(1) if kind == "multiclass" else (logits >= 0).long().squeeze(1)
    assert said.tolist() == labels.tolist()
    assert result.history.train_accuracy[-1] == 1
    assert result.history.loss[-1] < 0.1 < result.history.loss[0]


def test_the_result_says_that_rows_were_counted():
    table = ConceptTable(np.repeat(XOR, 5, axis=0), labels=np.repeat([0, 1, 1, 0], 5))
    result = fit(net_of(2, 2), table, TrainConfig(epochs=2))
    assert isinstance(result, TrainResult)
    assert (result.counted, result.batch_size, result.n_rows, result.n_trained_rows) == (True, None, 20, 4)
    assert result.notes == ()


def test_the_result_says_that_soft_rows_were_not_counted():
    rows = np.repeat(XOR, 5, axis=0) * 0.9
    result = fit(net_of(2, 2), ConceptTable(rows, labels=np.repeat([0, 1, 1, 0], 5)), TrainConfig(epochs=2))
    assert (result.counted, result.n_rows, result.n_trained_rows) == (False, 20, 20)


def test_only_distinct_rows_go_through_the_network():
    seen: list[Tensor] = []
    net = net_of(2, 2)
    net.register_forward_pre_hook(lambda module, args: seen.append(args[0]) if module.training else None)
    fit(net, ConceptTable(np.repeat(XOR, 5, axis=0), labels=np.repeat([0, 1, 1, 0], 5)), TrainConfig(epochs=2))
    assert [sorted(rows.tolist()) for rows in seen] == [XOR, XOR]


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_the_precision_of_the_network_is_used(precision):
    net = EntropyNet(2, 2).to(precision)
    seen: list[torch.dtype] = []
    net.register_forward_pre_hook(lambda _, args: seen.append(args[0].dtype))
    fit(net, ConceptTable(XOR, labels=[0, 1, 1, 0]), ONE_STEP)
    assert set(seen) == {precision}
    assert {p.dtype for p in net.parameters()} == {precision}


def test_frozen_parameters_stay():
    net = net_of(2, 2, hidden=(4, 3))
    net.tail.requires_grad_(False)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    fit(net, ConceptTable(XOR, labels=[0, 1, 1, 0]), TrainConfig(epochs=3))
    changed = {name for name, value in net.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"entropy.weight", "entropy.bias"}


@pytest.mark.parametrize("mode", [False, True])
def test_the_mode_of_the_network_is_put_back(mode):
    modes: list[bool] = []
    net = net_of(2, 2).train(mode)
    net.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    table = ConceptTable(XOR, labels=[0, 1, 1, 0])
    fit(net, table, TrainConfig(epochs=2), validation=table)
    assert net.training is mode
    # One look at the number of heads, then a training and a validation pass for each epoch.
    assert modes == [False, True, False, True, False]


def test_networks_without_entropy_layer_train_without_the_penalty():
    table = ConceptTable(XOR, labels=[0, 1, 1, 0])
    with pytest.raises(NoEntropyLayer, match="no entropy layer"):
        fit(nn.Linear(2, 2), table, TrainConfig(epochs=1))
    assert len(fit(nn.Linear(2, 2), table, TrainConfig(epochs=1, penalty="l1")).history) == 1


# ------------------------------------------------------------------------------------------------------ mini-batches


def test_mini_batches_visit_every_plain_row_once_an_epoch():
    # Boolean rows that repeat: only the full batch may count them.
    rows = np.repeat(XOR, 5, axis=0)
    net = net_of(2, 2)
    seen: list[Tensor] = []
    net.register_forward_pre_hook(lambda module, args: seen.append(args[0]) if module.training else None)
    table = ConceptTable(rows, labels=np.repeat([0, 1, 1, 0], 5))
    result = fit(net, table, TrainConfig(epochs=3, batch_size=7), seeded())
    assert (result.counted, result.batch_size, result.n_trained_rows) == (False, 7, 20)
    assert [len(part) for part in seen] == [7, 7, 6] * 3
    epochs = [torch.cat(seen[i : i + 3]).tolist() for i in (0, 3, 6)]
    assert all(sorted(epoch) == rows.tolist() for epoch in epochs)
    assert epochs[0] != epochs[1]  # shuffled anew


def test_the_generator_alone_shuffles():
    table = ConceptTable(np.random.default_rng(0).random((20, 3)), labels=np.arange(20) % 2)

    def trained(seed: int, global_seed: int) -> Tensor:
        torch.manual_seed(global_seed)
        net = net_of(3, 2)
        fit(net, table, TrainConfig(epochs=3, batch_size=6), seeded(seed))
        return net.entropy.weight.detach()

    assert torch.equal(trained(0, 1), trained(0, 2))
    assert not torch.equal(trained(0, 1), trained(1, 1))


@pytest.mark.parametrize("soft", [False, True])
def test_the_same_seed_gives_the_same_bits(soft):
    rng = np.random.default_rng(0)
    rows = rng.random((30, 4)) if soft else rng.integers(0, 2, (30, 4))
    table = ConceptTable(rows, labels=np.arange(30) % 3)

    def run() -> tuple[dict[str, Tensor], History]:
        net = EntropyNet(4, 3, generator=seeded(5))
        return net.state_dict(), fit(net, table, TrainConfig(epochs=20), validation=table).history

    (state, history), (again, history_again) = run(), run()
    assert all(torch.equal(state[name], again[name]) for name in state)
    for name, column in history.columns().items():
        np.testing.assert_array_equal(column, history_again.columns()[name])


def test_curves_of_mini_batches_speak_of_the_whole_epoch():
    # With a vanishing step the network stays as it is, so the loss of an epoch is that of all rows, however cut.
    rows, labels = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2
    still = TrainConfig(epochs=1, learning_rate=1e-30, weight_decay=0, penalty=None)
    whole, parts = (
        fit(net_of(3, 2), ConceptTable(rows, labels=labels), config, seeded()).history
        for config in (still, dataclasses.replace(still, batch_size=6))
    )
    assert parts.loss[0] == pytest.approx(whole.loss[0], rel=1e-9)
    assert parts.train_accuracy[0] == pytest.approx(whole.train_accuracy[0], rel=1e-9)


def test_a_mini_batch_without_weight_does_no_harm():
    table = ConceptTable([[0.1], [0.4], [0.6], [0.9]], labels=[0, 0, 1, 1], weight=[0, 1, 1, 1])
    net = net_of(1, 2)
    fit(net, table, TrainConfig(epochs=2, batch_size=1), seeded())
    assert all(p.isfinite().all() for p in net.parameters())


# ------------------------------------------------------------------------------------------ the best epoch, history


class Scripted(nn.Module):
    """Says on the four validation rows what a script tells it to say in each epoch; the state knows the epoch."""

    def __init__(self, script: Sequence[tuple[int, float]], labels: Sequence[int]) -> None:
        super().__init__()
        self.script, self.labels = script, torch.tensor(labels)
        self.unused = nn.Parameter(torch.zeros(()))
        self.register_buffer("epoch", torch.tensor(-1))

    def forward(self, concepts: Tensor) -> Tensor:
        if self.training:
            self.epoch += 1
        n_right, margin = self.script[int(self.epoch)]
        row = concepts[:, 0].mul(len(self.labels) - 1).round().long()
        said = torch.where(row < n_right, self.labels[row], 1 - self.labels[row])
        return nn.functional.one_hot(said, 2) * margin + self.unused * 0


ROWS, LABELS = [[0.0], [1 / 3], [2 / 3], [1.0]], [0, 1, 1, 0]


def scripted_run(script: Sequence[tuple[int, float]], **settings: object) -> tuple[Scripted, History]:
    net = Scripted(script, LABELS)
    table = ConceptTable(np.array(ROWS), labels=LABELS)
    config = TrainConfig(epochs=len(script), penalty=None, **settings)
    return net, fit(net, table, config, validation=table).history


@pytest.mark.parametrize(
    ("script", "best"),
    [
        ([(1, 1.0), (3, 1.0), (2, 1.0)], 1),  # accuracy decides
        ([(3, 0.1), (4, 5.0), (3, 9.0)], 1),
        ([(4, 1.0), (4, 3.0), (4, 2.0)], 1),  # then the lower loss
        ([(3, 9.0), (2, 0.1), (3, 0.5)], 2),  # where one confident mistake weighs more than three right answers
        ([(3, 1.0), (3, 1.0), (3, 1.0)], 0),  # then the earlier epoch
        ([(2, 1.0), (4, 1.0), (4, 1.0)], 1),
    ],
)
def test_the_best_epoch_is_restored(script, best):
    net, history = scripted_run(script)
    assert history.best_epoch == best
    assert int(net.epoch) == best
    assert len(history) == len(script)
    # The restored network, asked again, is as good as the history says.
    logits = net.eval()(torch.tensor(ROWS))
    assert accuracy_score(LABELS, logits.argmax(1)) == history.validation_accuracy[best]


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=8))
def test_no_epoch_beats_the_restored_one(script):
    net, history = scripted_run(script)
    judge = Scripted(script, LABELS).eval()
    scores = []
    for epoch in range(len(script)):
        judge.epoch.fill_(epoch)
        probability = judge(torch.tensor(ROWS)).detach().double().softmax(1).numpy()
        scores.append((accuracy_score(LABELS, probability.argmax(1)), log_loss(LABELS, probability)))
        assert history.validation_accuracy[epoch] == pytest.approx(scores[-1][0])
        assert history.validation_loss[epoch] == pytest.approx(scores[-1][1], rel=1e-5)
    # min() takes the first of equals, which is the earlier epoch.
    best = min(range(len(script)), key=lambda epoch: (-scores[epoch][0], round(scores[epoch][1], 5)))
    assert history.best_epoch == int(net.epoch) == best


@pytest.mark.parametrize(("patience", "epochs"), [(1, 4), (2, 5), (3, 9), (4, 9), (None, 9)])
def test_patience_stops_so_many_epochs_behind_the_best(patience, epochs):
    # Best at epoch 2, better at 5, where a patience of 3 would have ended it.
    script = [(0, 1.0), (1, 1.0), (2, 1.0), (1, 1.0), (1, 1.0), (3, 1.0), (1, 1.0), (1, 1.0), (1, 1.0)]
    net, history = scripted_run(script, patience=patience)
    assert len(history) == epochs
    assert int(net.epoch) == history.best_epoch == (2 if epochs < 6 else 5)


def test_a_real_network_is_as_good_as_its_best_epoch():
    rng = np.random.default_rng(0)
    rows, labels = rng.random((60, 4)), rng.integers(0, 2, 60)  # nothing to learn: epochs differ by luck
    train, held = (ConceptTable(rows[part], labels=labels[part]) for part in (slice(0, 30), slice(30, 60)))
    net = net_of(4, 2, hidden=(10,))
    history = fit(net, train, TrainConfig(epochs=60, learning_rate=0.05), validation=held).history
    logits = net(torch.tensor(held.values)).detach()
    assert history.best_epoch < 59
    assert history.validation_accuracy.max() == accuracy_score(held.labels, logits.argmax(1))
    loss = nn.CrossEntropyLoss()(logits, torch.tensor(held.labels)).item()
    assert history.validation_loss[history.best_epoch] == pytest.approx(loss, rel=1e-12)


def test_without_validation_the_last_epoch_stays():
    net, twin = net_of(2, 2), net_of(2, 2)
    table = ConceptTable(XOR, labels=[0, 1, 1, 0])
    history = fit(net, table, TrainConfig(epochs=5)).history
    fit(twin, table, TrainConfig(epochs=6))
    assert history.best_epoch == 4
    assert np.isnan(history.validation_loss).all()
    assert np.isnan(history.validation_accuracy).all()
    # The curves of a longer run begin with those of the shorter.
    logits = net(torch.tensor(XOR).double())
    longer = fit(net_of(2, 2), table, TrainConfig(epochs=6)).history
    assert longer.loss[5] == pytest.approx(nn.CrossEntropyLoss()(logits, torch.tensor([0, 1, 1, 0])).item(), rel=1e-12)


@pytest.mark.parametrize("with_validation", [False, True])
def test_the_history_is_a_frame_of_curves(with_validation):
    table = ConceptTable(XOR, labels=[0, 1, 1, 0])
    history = fit(net_of(2, 2), table, TrainConfig(epochs=7), validation=table if with_validation else None).history
    frame = pd.DataFrame(history.columns())
    assert list(frame) == ["epoch", "loss", "penalty", "train_accuracy", "validation_loss", "validation_accuracy"]
    assert frame["epoch"].tolist() == list(range(7))
    for name in list(frame)[1:]:
        np.testing.assert_array_equal(frame[name], getattr(history, name))
    assert (frame.dtypes == np.float64).all()
    assert frame[["loss", "penalty", "train_accuracy"]].notna().all(axis=None)
    assert frame["validation_loss"].notna().all() == with_validation
    assert len(history) == len(frame) == 7


@pytest.mark.parametrize("kind", ["multiclass", "binary", "multilabel"])
def test_accuracy_is_that_of_scikit_learn(kind):
    rng = np.random.default_rng(2)
    rows, weight = rng.integers(0, 2, (40, 3)), rng.random(40)
    labels = rng.integers(0, 2, (40, 3)) if kind == "multilabel" else rng.integers(0, 2, 40)
    table = ConceptTable(rows, labels=labels, weight=weight)
    net = net_of(3, {"multiclass": 2, "binary": 1, "multilabel": 3}[kind])
    history = fit(net, table, TrainConfig(epochs=1), validation=table).history
    logits = net(torch.tensor(rows).double()).detach().numpy()
    said = logits.argmax(1) if kind == "multiclass" else (logits >= 0).astype(int).reshape(labels.shape)
    if kind == "multilabel":  # the share of labels that are right
        labels, said, weight = labels.ravel(), said.ravel(), weight.repeat(3)
    assert history.validation_accuracy[0] == pytest.approx(accuracy_score(labels, said, sample_weight=weight))


# --------------------------------------------------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "drawn"),
    [
        (Terminal, None, True),
        (io.StringIO, None, False),
        (Terminal, False, False),
        (io.StringIO, True, False),
    ],
)
def test_the_bar_is_drawn_on_a_terminal_only(monkeypatch, stream, progress, drawn):
    out = stream()
    monkeypatch.setattr("sys.stderr", out)
    fit(net_of(2, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), TrainConfig(epochs=4, progress=progress))
    if drawn:
        assert "] training networks 0/4" in out.getvalue()
        assert "] training networks 4/4, loss " in out.getvalue()
        assert out.getvalue().endswith(CLEAR)
        assert "\n" not in out.getvalue()
    else:
        assert out.getvalue() == ""


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_the_line_is_cleared_when_training_breaks_off(monkeypatch, error):
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    net = net_of(2, 2)

    def stop(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        if module.training and "0/9" in out.getvalue():
            raise error

    net.register_forward_pre_hook(stop)
    with pytest.raises(error):
        fit(net, ConceptTable(XOR, labels=[0, 1, 1, 0]), TrainConfig(epochs=9))
    assert "training networks 0/9" in out.getvalue()
    assert out.getvalue().endswith(CLEAR)


# -------------------------------------------------------------------------------------------- warnings and refusals


def test_a_constant_concept_is_noted():
    table = ConceptTable([[0, 1], [1, 1], [0, 1]], names=["a", "flat"], labels=[0, 1, 0])
    with pytest.warns(LogicLensWarning, match="'flat' is constant on the training rows"):
        result = fit(net_of(2, 2), table, ONE_STEP)
    assert len(result.notes) == 1
    assert "'flat'" in result.notes[0]
    assert "'a'" not in result.notes[0]


def test_a_class_without_rows_is_noted():
    table = ConceptTable([[0], [1]], labels=[0, 2], class_names=["low", "rare", "high", "none"])
    with pytest.warns(LogicLensWarning, match="'rare', 'none' are without training rows"):
        result = fit(net_of(1, 4), table, ONE_STEP)
    assert len(result.notes) == 1


def test_many_constant_concepts_are_counted_not_listed():
    table = ConceptTable(np.hstack([np.eye(2), np.ones((2, 9))]), labels=[0, 1])
    with pytest.warns(LogicLensWarning, match=r"'x2', 'x3', 'x4', 'x5', 'x6' and 4 more are constant"):
        fit(net_of(11, 2), table, ONE_STEP)


def test_clean_data_train_without_a_warning():
    assert fit(net_of(2, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), ONE_STEP).notes == ()


def test_training_needs_labels():
    with pytest.raises(LogicLensError, match="training needs labels"):
        fit(net_of(2, 2), ConceptTable(XOR), ONE_STEP)


def test_validation_needs_labels():
    table = ConceptTable(XOR, labels=[0, 1, 1, 0])
    with pytest.raises(LogicLensError, match="labels"):
        fit(net_of(2, 2), table, ONE_STEP, validation=ConceptTable(XOR, class_names=["0", "1"]))


@pytest.mark.parametrize(
    ("labels", "class_names", "n_heads"),
    [([1, 1], None, 2), ([0, 0], ["a", "b"], 2), ([0, 0], ["a", "b"], 1), ([0, 0], None, 1), ([0, 0], None, 2)],
)
def test_one_class_cannot_be_learned(labels, class_names, n_heads):
    table = ConceptTable([[0], [1]], labels=labels, class_names=class_names)
    with pytest.raises(LogicLensError, match="all training rows have one class: at least two are needed"):
        fit(net_of(1, n_heads), table, ONE_STEP)


def test_a_class_that_weighs_nothing_is_no_class():
    table = ConceptTable([[0], [1]], labels=[0, 1], weight=[1, 0])
    with pytest.raises(LogicLensError, match="all training rows have one class"):
        fit(net_of(1, 2), table, ONE_STEP)


@pytest.mark.parametrize(("n_heads", "n_classes"), [(2, 3), (1, 3), (3, 2)])
def test_heads_must_fit_the_labels(n_heads, n_classes):
    table = ConceptTable(XOR, labels=np.arange(4) % n_classes)
    wanted = f"the network has {n_heads} head.*the labels have {n_classes} class.*n_classes={n_classes}"
    with pytest.raises(LogicLensError, match=wanted):
        fit(net_of(2, n_heads), table, ONE_STEP)


def test_heads_must_fit_several_labels():
    with pytest.raises(LogicLensError, match=r"the network has 1 head.*the labels have 2 class"):
        fit(net_of(2, 1), ConceptTable(XOR, labels=XOR), ONE_STEP)


def test_the_table_must_have_the_width_of_the_network():
    with pytest.raises(LogicLensError, match="takes 3 concepts, got 2"):
        fit(net_of(3, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), ONE_STEP)


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (ConceptTable(XOR, names=["x1", "x0"], labels=[0, 1, 1, 0]), "same concepts"),
        (ConceptTable([[0], [1]], labels=[0, 1]), "same concepts"),
        (ConceptTable(XOR, labels=[0, 1, 2, 0]), "same classes"),
        (ConceptTable(XOR, labels=[0, 1, 1, 0], class_names=["no", "yes"]), "same classes"),
    ],
)
def test_validation_rows_must_be_of_the_same_kind(validation, message):
    with pytest.raises(LogicLensError, match=f"the validation rows must have the {message}"):
        fit(net_of(2, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), ONE_STEP, validation=validation)


def test_logits_must_be_a_matrix():
    net = nn.Sequential(nn.Linear(2, 2), nn.Unflatten(1, (2, 1)))
    with pytest.raises(LogicLensError, match=r"must return logits \[batch, classes\], got 3 dimension"):
        fit(net, ConceptTable(XOR, labels=[0, 1, 1, 0]), ONE_STEP)


def test_a_network_without_parameters_is_refused():
    with pytest.raises(LogicLensError, match="Identity has no parameters"):
        fit(nn.Identity(), ConceptTable(XOR, labels=[0, 1, 1, 0]), ONE_STEP)


@pytest.mark.parametrize("batch_size", [None, 2])
def test_a_loss_that_is_no_number_stops_with_a_remedy(batch_size):
    config = TrainConfig(epochs=5, learning_rate=1e38, batch_size=batch_size)
    with pytest.raises(LogicLensError, match=r"the loss became (nan|inf) in epoch \d: lower the learning_rate"):
        fit(EntropyNet(2, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), config, seeded())


def test_a_network_broken_by_its_last_step_is_reported():
    # The loss is taken before the step, so the loss of the last epoch says nothing of what the step left behind.
    config = TrainConfig(epochs=1, learning_rate=1e38)
    with pytest.raises(LogicLensError, match="lower the learning_rate"):
        fit(EntropyNet(2, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), config)


@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.parametrize(("width", "rate"), [(3, 0.01), (2, 1e38)])
def test_the_networks_mode_is_restored_after_a_refusal(mode, width, rate):
    net = EntropyNet(width, 2).train(mode)
    with pytest.raises(LogicLensError):
        fit(net, ConceptTable(XOR, labels=[0, 1, 1, 0]), TrainConfig(epochs=9, learning_rate=rate))
    assert net.training is mode


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0),
        ("learning_rate", -1e-3),
        ("learning_rate", math.inf),
        ("learning_rate", math.nan),
        ("weight_decay", -1),
        ("weight_decay", math.nan),
        ("penalty_weight", -1e-9),
        ("penalty_weight", math.inf),
    ],
)
def test_rates_must_be_sound_numbers(name, value):
    expected = (
        "a finite number above 0" if name == "learning_rate" else f"a finite number that is not negative, got {value}"
    )
    with pytest.raises(LogicLensError, match=f"{name} must be {expected}"):
        TrainConfig(**{name: value})


def test_a_rate_of_nothing_is_allowed_where_it_means_something():
    config = TrainConfig(weight_decay=0, penalty_weight=0)
    history = fit(net_of(2, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), dataclasses.replace(config, epochs=1)).history
    assert history.penalty.tolist() == [0]


@pytest.mark.parametrize("weights", [[1.0], [1.0, 2.0, 3.0], [1.0, -1.0], [1.0, math.nan], [1.0, math.inf]])
def test_class_weights_must_fit_the_classes(weights):
    with pytest.raises(LogicLensError, match=r"class_weight must be .* finite number"):
        fit(net_of(2, 2), ConceptTable(XOR, labels=[0, 1, 1, 0]), TrainConfig(epochs=1, class_weight=weights))


@pytest.mark.parametrize("n_heads", [1, 2])
def test_the_validation_curve_weighs_classes_as_the_loss_does(n_heads):
    rng = np.random.default_rng(4)
    rows, labels = rng.integers(0, 2, (60, 3)), np.repeat([0, 1], [50, 10])
    table = ConceptTable(rows, labels=labels)
    net = net_of(3, n_heads)
    config = TrainConfig(epochs=4, class_weight="balanced")
    history = fit(net, table, config, validation=table).history
    logits = net(torch.tensor(rows).double()).detach()
    answers = logits.argmax(dim=1) if n_heads == 2 else (logits[:, 0] >= 0).long()
    best = history.validation_accuracy[history.best_epoch]
    assert best == pytest.approx(balanced_accuracy_score(labels, answers.numpy()), abs=1e-9)


def test_balanced_weights_leave_out_a_class_without_rows():
    table = ConceptTable(XOR, labels=[0, 1, 1, 0], class_names=["a", "b", "c"])
    judge, net = net_of(2, 3), net_of(2, 3)
    ours = one_evaluation(net, table, dataclasses.replace(ONE_STEP, class_weight="balanced"))
    weight = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    theirs = nn.CrossEntropyLoss(weight)(judge(torch.tensor(XOR).double()), torch.tensor([0, 1, 1, 0]))
    assert_same_evaluation(ours, theirs, judge)


# -------------------------------------------------------------------------------------------------------------- GPU


@pytest.mark.gpu
@pytest.mark.parametrize("batch_size", [None, 8])
def test_training_on_the_gpu_follows_the_cpu(batch_size):
    rng = np.random.default_rng(0)
    table = ConceptTable(rng.integers(0, 2, (30, 4)), labels=np.arange(30) % 3)
    config = TrainConfig(epochs=10, batch_size=batch_size)
    here, there = net_of(4, 3), net_of(4, 3).to("cuda")
    histories = [fit(net, table, config, seeded(), validation=table).history for net in (here, there)]
    np.testing.assert_allclose(histories[1].loss, histories[0].loss, rtol=1e-8)
    assert histories[0].best_epoch == histories[1].best_epoch
    for mine, theirs in zip(there.parameters(), here.parameters(), strict=True):
        assert mine.device.type == "cuda"
        torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=1e-7, atol=1e-9)
