"""What a network answers, whatever its outputs are: formulas and `↔` beside argmax or threshold computed here."""

from __future__ import annotations

from collections.abc import Callable

import jaxtyping
import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from logiclens import ConceptTable, explain_all, explain_class, explain_local
from logiclens.errors import LogicLensError
from logiclens.explain import explain_bottleneck
from logiclens.logic import nn as logic_nn
from logiclens.nn import ConceptBottleneck, EntropyLogicLayer, EntropyNet, LinearIndependent
from logiclens.train import fit
from tests.rigged import GRID, NAMES, Rigged

pytestmark = pytest.mark.filterwarnings("ignore::logiclens.errors.LogicLensWarning")

X = torch.tensor(GRID, dtype=torch.float32)


class Head(nn.Module):
    """Random heads on four concepts; `end` turns their logits into what the network returns."""

    def __init__(self, n_heads: int, seed: int, end: Callable[[Tensor], object]) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(
            EntropyLogicLayer(4, 10, n_heads, temperature=20.0), nn.ReLU(), LinearIndependent(10, 1, n_heads, top=True)
        )
        with torch.no_grad():
            for parameter in self.body.parameters():
                parameter.mul_(3)
            # Each head says yes on some rows and no on others.
            self.body[2].bias.sub_(self.body(X).mean(dim=0)[:, None])
        self.end = end

    def forward(self, concepts: Tensor) -> object:
        return self.end(self.body(concepts))


SIGMOID = {
    "sigmoid": torch.sigmoid,
    "sigmoid, reshaped": lambda z: torch.stack([torch.sigmoid(head) for head in z.unbind(dim=1)], dim=1).double(),
    "sigmoid, a vector": lambda z: torch.sigmoid(z).squeeze(-1) if z.shape[1] == 1 else torch.sigmoid(z),
}
ONE_BY_ONE = {
    "logits": lambda z: z,
    "log-sigmoid": nn.functional.logsigmoid,
    **SIGMOID,
    "0 and 1": lambda z: (z >= 0).long(),
    "0.0 and 1.0": lambda z: (z >= 0).float(),
    "Booleans": lambda z: z >= 0,
    "logits of an unknown operation": lambda z: z * z.abs().clamp(min=10),
}
TOGETHER = {
    "logits": lambda z: z,
    "log-softmax": lambda z: torch.log_softmax(z, dim=1),
    "softmax": lambda z: torch.softmax(z, dim=1),
    "sigmoid": torch.sigmoid,
    "log-sigmoid": nn.functional.logsigmoid,
    "class numbers": lambda z: z.argmax(dim=1),
    "a column of class numbers": lambda z: z.argmax(dim=1, keepdim=True).float(),
}


def check(explanation, answers: np.ndarray) -> None:
    """Every formula fires as often with the answers as it says, and `↔` is written where it always does."""
    for explained, answer in zip(explanation, answers.T, strict=True):
        fires = explained.formula.evaluate(GRID, NAMES)
        assert explained.fidelity == pytest.approx((fires == answer).mean())
        assert ("↔" in str(explained)) == bool((fires == answer).all())
        # All rows are there, so the answers have a formula.
        assert (fires == answer).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("end", ONE_BY_ONE)
def test_heads_that_answer_alone_are_cut_by_their_outputs(end, seed):
    for n_heads, how in ((1, {}), (3, {"multilabel": True})):
        network = Head(n_heads, seed, ONE_BY_ONE[end])
        with torch.no_grad():
            answers = (network.body(X) >= 0).numpy()
        check(explain_all(network, X, names=NAMES, **how), answers)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("end", TOGETHER)
@pytest.mark.parametrize("returned", ["tensor", "tuple", "dictionary"])
def test_the_largest_output_answers_for_exclusive_classes(end, seed, returned):
    wrapped = {
        "tensor": (TOGETHER[end], None),
        "tuple": (lambda z: (z.sum(), TOGETHER[end](z)), lambda out: out[1]),
        "dictionary": (lambda z: {"concepts": X, "y": TOGETHER[end](z)}, lambda out: out["y"]),
    }
    end_of, select = wrapped[returned]
    network = Head(3, seed, end_of)
    with torch.no_grad():
        answers = np.eye(3, dtype=bool)[network.body(X).argmax(dim=1).numpy()]
    check(explain_all(network, X, names=NAMES, select=select), answers)
    for row in (0, 7):
        local = explain_local(network, GRID[row], select=select)
        assert (local.name, local.holds) == (f"class {answers[row].argmax()}", True)


@pytest.mark.parametrize("seed", range(10))
def test_labels_never_choose_how_a_network_is_read(seed):
    network = Head(3, seed, lambda z: z)
    with torch.no_grad():
        largest = network.body(X).argmax(dim=1).numpy()
        positive = (network.body(X) >= 0).numpy()
    numbers = np.random.default_rng(seed).permutation(np.arange(16) % 3)
    class_names = ["red", "green", "blue"]
    one_hot = np.eye(3)[numbers]
    for labels in (numbers, numbers[:, None], np.array(class_names)[numbers], one_hot, torch.tensor(one_hot), None):
        check(explain_all(network, X, labels, NAMES, class_names), np.eye(3, dtype=bool)[largest])
        explained = explain_class(network, X, labels, NAMES, class_names, target="green", validation=(X, labels))
        assert (explained.formula.evaluate(GRID, NAMES) == (largest == 1)).all()
    table = ConceptTable(GRID, NAMES, one_hot, class_names)
    check(explain_all(network, table, validation=table), np.eye(3, dtype=bool)[largest])
    listed = logic_nn.explain_class(
        network, X, one_hot, X, one_hot, concept_names=NAMES, class_names=class_names, score_against="network"
    )
    check(listed.explanations, np.eye(3, dtype=bool)[largest])
    frame = pd.DataFrame(one_hot[:, [2, 0, 1]], columns=["blue", "red", "green"])
    for how in ({"class_names": class_names}, {"class_names": class_names, "multilabel": True}):
        reading = explain_all(network, X, frame, NAMES, **how).reading
        assert (reading.targets() == one_hot).all()
    assert [explained.name for explained in explain_all(network, X, frame[class_names], NAMES)] == class_names
    with pytest.raises(LogicLensError, match=r"columns of the labels are 'blue', 'red', 'green', the classes 'a', "):
        explain_all(network, X, frame, NAMES, ["a", "b", "c"])
    several = positive.astype(int)
    several[0] = [1, 1, 0]
    check(explain_all(network, X, several, NAMES, class_names, multilabel=True), positive)
    check(explain_all(network, X, one_hot, NAMES, class_names, multilabel=True), positive)
    with pytest.raises(LogicLensError, match=r"some rows have no 1, or several: .* pass multilabel=True"):
        explain_all(network, X, several, NAMES, class_names)


def test_a_single_head_says_yes_of_class_1():
    network = Head(1, 0, lambda z: z)
    for labels in (np.zeros(16, dtype=int), GRID[:, 0], GRID[:, :1], np.array(GRID[:, 0], dtype=object)):
        (explained,) = explain_all(network, X, labels, NAMES)
        assert explained.name == "1"
        (explained,) = explain_all(network, X, labels, NAMES, ["alarm"])
        assert explained.name == "alarm"
        assert (explained.reading.targets()[:, 0] == np.ravel(labels).astype(int)).all()


def test_heads_that_answer_alone_give_rules_with_several_labels():
    network = Head(3, 1, lambda z: z)
    with torch.no_grad():
        answers = (network.body(X) >= 0).numpy()
    for how in ({"answer": "threshold"}, {"multilabel": True}):
        rules = explain_all(network, X, names=NAMES, **how).rules
        assert (rules.predict(pd.DataFrame(GRID, columns=NAMES)) == answers).all()


def test_labels_of_the_wrong_form_get_one_sentence():
    network = Head(3, 0, lambda z: z)
    with pytest.raises(LogicLensError, match=r"of texts the network does not know the order: pass class_names"):
        explain_all(network, X, ["red"] * 16)
    with pytest.raises(LogicLensError, match=r"no class 'pink'; class_names has 'red', 'green', 'blue'"):
        explain_all(network, X, ["pink"] * 16, class_names=["red", "green", "blue"])
    with pytest.raises(LogicLensError, match=r"labels must be a matrix of 0 and 1.* got shape \(16,\)"):
        explain_all(network, X, [0] * 16, multilabel=True)


def test_a_sigmoid_at_the_end_changes_no_explanation():
    torch.manual_seed(0)
    rows = torch.tensor(GRID[:, :3], dtype=torch.float32)
    y = (rows[:, 0] * rows[:, 1])[:, None]
    body = [EntropyLogicLayer(3, 10, 1), nn.ReLU(), LinearIndependent(10, 1, 1, top=True)]
    network = nn.Sequential(*body, nn.Sigmoid())
    optimiser = torch.optim.AdamW(network.parameters(), lr=0.01)
    for _ in range(500):
        optimiser.zero_grad()
        nn.functional.binary_cross_entropy(network(rows), y).backward()
        optimiser.step()
    for model in (network, nn.Sequential(*body)):
        (explained,) = explain_all(model, rows, y, ["a", "b", "c"])
        assert str(explained) == '∀x: "1"(x) ↔ a(x) ∧ b(x)'


@pytest.mark.parametrize(
    "mixed",
    [
        lambda p, weight: (weight.softmax(dim=1)[:, None] @ torch.stack([p, p], dim=1)).squeeze(1),
        lambda p, weight: p @ torch.eye(1),
        lambda p, weight: nn.functional.linear(p, torch.ones(1, 1)),
        lambda p, weight: 100 * p,
        lambda p, weight: p.exp(),
    ],
)
def test_mixtures_of_probabilities_are_never_taken_for_logits(mixed):
    class Mixed(Head):
        def forward(self, concepts: Tensor) -> Tensor:
            return mixed(torch.sigmoid(self.body(concepts)), self.gate(concepts))

    network = Mixed(1, 0, lambda z: z)
    network.gate = nn.Linear(4, 2)
    with pytest.raises(LogicLensError, match='pass output="logits"'):
        explain_all(network, X, names=NAMES)


def test_outputs_that_say_nothing_get_one_sentence():
    def mean_probability(x: Tensor) -> Tensor:
        return (torch.sigmoid(x[:, :1] * 9 - 4) + torch.sigmoid(x[:, 1:2] * 9 - 4)) / 2

    table, network = ConceptTable(GRID, NAMES), Rigged(4, [[0, 1]], mean_probability)
    with pytest.raises(LogicLensError, match=r'pass output="logits" .* output="probabilities"'):
        explain_all(network, table)
    (explained,) = explain_all(network, table, output="probabilities")
    assert (explained.formula.evaluate(GRID, NAMES) == (mean_probability(X)[:, 0] >= 0.5).numpy()).all()
    (explained,) = explain_all(network, table, output="logits")
    assert explained.reason is not None
    with pytest.raises(LogicLensError, match=r"the outputs are no log-probabilities: they reach from 0\.018"):
        explain_all(network, table, output="log-probabilities")
    with pytest.raises(LogicLensError, match=r"output must be one of 'auto', 'logits', .*, got 'scores'"):
        explain_all(network, table, output="scores")


def test_what_is_no_tensor_gets_one_sentence():
    table = ConceptTable(GRID, NAMES)
    with pytest.raises(LogicLensError, match=r"returns a tuple of 2: .* such as select=lambda out: out\[0\]"):
        explain_all(Head(3, 0, lambda z: (z, z)), table)
    with pytest.raises(LogicLensError, match=r"a dictionary with 'y', 'z': .* select=lambda out: out\['y'\]"):
        explain_all(Head(3, 0, lambda z: {"y": z, "z": z}), table)
    with pytest.raises(LogicLensError, match=r"select does not fit what the network returns, a dictionary with 'y'"):
        explain_all(Head(3, 0, lambda z: {"y": z}), table, select=lambda out: out["x"])
    with pytest.raises(LogicLensError, match=r"has 3 heads and gives a single column, which must be class numbers"):
        explain_all(Head(3, 0, lambda z: z[:, 0]), table)
    with pytest.raises(LogicLensError, match=r"some rows no label or several: .* pass multilabel=True"):
        explain_all(Head(3, 0, lambda z: z >= 0), table)
    with pytest.raises(LogicLensError, match=r'leave out answer="argmax"'):
        explain_all(Head(1, 0, lambda z: z), table, answer="argmax")


class Encoder(nn.Module):
    """Concepts of raw inputs; `end` is called inside `forward`, where no module shows it."""

    def __init__(self, end: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.linear, self.end = nn.Linear(4, 4), end
        # A sigmoid that is no output.
        self.gate = nn.Sigmoid()
        with torch.no_grad():
            self.linear.weight.copy_(torch.eye(4) * 8)
            self.linear.bias.fill_(-4)

    def forward(self, x: Tensor) -> object:
        return self.end(self.linear(x) * self.gate(torch.tensor(30.0)) + 0 * self.linear(x))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(
    ("end", "select"),
    [
        (lambda z: z, None),
        (torch.sigmoid, None),
        (nn.functional.logsigmoid, None),
        (lambda z: {"c": torch.sigmoid(z)}, lambda out: out["c"]),
    ],
    ids=["logits", "sigmoid", "log-sigmoid", "dictionary"],
)
@pytest.mark.parametrize("top", [lambda z: z, torch.sigmoid], ids=["logits", "sigmoid on top"])
def test_a_bottleneck_sees_the_concepts_of_its_encoder(end, select, top, frozen):
    encoder, network = Encoder(end), Head(1, 3, top)
    encoder.requires_grad_(not frozen)
    model = ConceptBottleneck(encoder, network, names=NAMES, select=select)
    concepts = torch.sigmoid(X * 8 - 4)
    for gradients in (torch.enable_grad(), torch.no_grad()):
        with gradients:
            torch.testing.assert_close(model.concepts(X), concepts, atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        answers = (network.body(concepts) >= 0).numpy()
    check(explain_bottleneck(model, X, device="cpu"), answers)
    predicted = model.intervene(X, {}).predictions_before
    assert (predicted.numpy() == answers).all()


@pytest.mark.parametrize("end", [lambda z: z, torch.sigmoid], ids=["logits", "sigmoid"])
def test_a_bottleneck_is_compiled_whole_after_its_first_call(end, monkeypatch):
    # The compiler does not trace the type checks of the tests.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    torch._dynamo.reset()
    model = ConceptBottleneck(Encoder(end), EntropyNet(4, 2))
    expected = model(X)
    torch.testing.assert_close(torch.compile(model, backend="eager", fullgraph=True)(X), expected)


def test_an_encoder_that_says_nothing_gets_one_sentence():
    # Its values would say so on some batches only.
    model = ConceptBottleneck(nn.Identity(), Head(1, 0, lambda z: z), names=NAMES)
    with pytest.raises(LogicLensError, match=r'pass output="logits" or output="probabilities" to ConceptBottleneck'):
        model.concepts(X * 8 - 4)
    model = ConceptBottleneck(nn.Identity(), Head(1, 0, lambda z: z), names=NAMES, output="probabilities")
    torch.testing.assert_close(model.concepts(X * 0.5), X * 0.5, atol=1e-6, rtol=1e-4)
    with pytest.raises(LogicLensError, match="no probabilities: some concepts are outside of"):
        model.concepts(X * 100)


def test_rows_that_are_given_twice_change_nothing():
    network = Head(4, 1, lambda z: z)
    with torch.no_grad():
        answers = np.eye(4, dtype=bool)[network.body(X).argmax(dim=1).numpy()]
    labels = answers.argmax(axis=1)
    for rows, numbers in ((X, labels), (X.repeat(20, 1), np.tile(labels, 20))):
        once = explain_all(network, rows, numbers, NAMES)
        twice = explain_all(network, rows, numbers, NAMES, validation=(rows, numbers))
        assert once.formulas == twice.formulas
        check(twice, answers)


def test_the_line_of_a_formula_names_a_better_constant():
    # The network says yes on one row of 16; the labels, which the formula follows, on half of them.
    network = Rigged(4, [range(4)], lambda x: x.sum(dim=1, keepdim=True) - 3.5)
    (explained,) = explain_all(network, X, GRID[:, 0], NAMES, ["no", "yes"], score_against="labels")
    assert str(explained.formula) == "a"
    assert explained.fidelity == 9 / 16
    assert str(explained) == "∀x: yes(x) ≈ a(x)   [fidelity 56.2%]   [always no agrees on 93.8%]"
    assert "always no agrees on 93.8%" in explained._repr_html_()
    (explained,) = explain_all(network, X, names=NAMES)
    assert "agrees" not in str(explained)


def test_rows_in_the_form_of_other_libraries_get_one_sentence():
    loader = DataLoader(TensorDataset(X, X[:, 0]))
    network = EntropyNet(4, 2)
    with pytest.raises(LogicLensError, match=r"rows must be an array, .* got a DataLoader: .* torch\.cat"):
        explain_all(network, loader)
    with pytest.raises(LogicLensError, match=r"rows must be an array, .* got a TensorDataset"):
        explain_local(network, loader.dataset)
    with pytest.raises(LogicLensError, match=r"config must be a TrainConfig, got a Tensor"):
        fit(network, X, X[:, 0])
    for rows in (X, loader):
        with pytest.raises(LogicLensError, match="the training rows must be a ConceptTable, got a "):
            fit(network, rows)
