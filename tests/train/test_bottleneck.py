"""Bottlenecks on images of four quadrants, whose class is a known rule on their brightness."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import warnings

import jaxtyping
import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss
from torch import Tensor, nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.explain.classwise import bottleneck_table, explain_bottleneck
from logiclens.nn import EntropyNet, entropy_logic_loss
from logiclens.nn.bottleneck import ConceptBottleneck
from logiclens.nn.encoders import ImageScale
from logiclens.train import TrainConfig, fit
from logiclens.train.bottleneck import BottleneckConfig, fit_bottleneck, predict_concepts
from logiclens.train.encoder import EncoderConfig, fit_encoder

NAMES = ("top_left", "top_right", "bottom_left", "bottom_right")
CLASSES = ("same", "different")
CONFIG = BottleneckConfig(
    EncoderConfig(epochs=30, batch_size=40, learning_rate=2e-2, task="multilabel", device="cpu"),
    TrainConfig(epochs=150, learning_rate=2e-2, penalty_weight=1e-3),
)
QUICK = BottleneckConfig(dataclasses.replace(CONFIG.encoder, epochs=4), dataclasses.replace(CONFIG.network, epochs=12))
MODES = ("joint", "sequential", "independent")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rule(bits: np.ndarray) -> np.ndarray:
    """`different` where exactly one of the first and the last quadrant is bright."""
    return bits[:, 0] != bits[:, 3]


def bright(bits: np.ndarray, seed: int = 0) -> np.ndarray:
    """8x8 images, bright where a quadrant's bit is set."""
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 80, (len(bits), 1, 8, 8))
    images += 120 * np.kron(bits.reshape(-1, 1, 2, 2), np.ones((4, 4), dtype=np.int64)).astype(np.int64)
    return images.astype(np.uint8)


def drawn(n: int = 320, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images, their concepts, their classes."""
    bits = np.random.default_rng(seed).integers(0, 2, (n, 4))
    return bright(bits, seed), bits.astype(np.float32), rule(bits).astype(np.int64)


def encoder_of(seed: int = 0, n_outputs: int = 4) -> nn.Module:
    linear = nn.utils.skip_init(nn.Linear, 64, n_outputs)
    with torch.no_grad():
        linear.weight.uniform_(-0.1, 0.1, generator=seeded(seed))
        linear.bias.zero_()
    return nn.Sequential(ImageScale(1), nn.Flatten(), linear)


def model_of(seed: int = 0, **settings: object) -> ConceptBottleneck:
    network = EntropyNet(4, 2, (16,), generator=seeded(seed))
    return ConceptBottleneck(encoder_of(seed), network, names=NAMES, **settings)


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.fixture(scope="module")
def trained() -> dict[tuple[str, bool], ConceptBottleneck]:
    """One model for each mode, with soft and with hard concepts."""
    models = {}
    for mode, hard in itertools.product(MODES, (False, True)):
        model = model_of(hard=hard)
        fit_bottleneck(model, *drawn(), CONFIG, mode=mode, seed=0, validation=drawn(100, 1))
        models[mode, hard] = model
    return models


# --- the model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exclusive", [False, True])
def test_concepts_are_the_sigmoid_or_softmax_of_the_encoder(exclusive):
    model = model_of(exclusive=exclusive).eval()
    images = torch.from_numpy(drawn(7)[0])
    logits = model.encoder(images).detach().numpy().astype(float)
    powers = np.exp(logits)
    expected = powers / powers.sum(axis=1, keepdims=True) if exclusive else powers / (1 + powers)
    np.testing.assert_allclose(model.concepts(images).detach().numpy(), expected, rtol=1e-5)
    torch.testing.assert_close(model(images), model.network(model.concepts(images)))


def test_hard_concepts_are_cut_at_half_and_pass_gradients():
    network = nn.Linear(3, 1, bias=False)
    hard = ConceptBottleneck(nn.Identity(), network, hard=True, output="logits")
    x = torch.tensor([[0.0, -1e-3, 2.0]], requires_grad=True)
    assert hard.concepts(x).tolist() == [[1.0, 0.0, 1.0]]
    hard(x).sum().backward()
    soft_x = x.detach().clone().requires_grad_()
    slopes = torch.sigmoid(soft_x) * (1 - torch.sigmoid(soft_x))
    torch.testing.assert_close(x.grad, network.weight.detach() * slopes.detach())


def test_a_hard_network_sees_bits_only():
    generator = seeded()
    logits = torch.randn(50, 4, generator=generator)
    stretched = logits * (0.1 + 5 * torch.rand(50, 4, generator=generator))
    network = EntropyNet(4, 2, generator=generator)
    hard, soft = (ConceptBottleneck(nn.Identity(), network, hard=h, output="logits") for h in (True, False))
    assert torch.equal(hard(logits), hard(stretched))
    assert torch.equal(hard(logits), network((logits >= 0).float()))
    assert not torch.allclose(soft(logits), soft(stretched))


def test_interventions_set_the_named_concepts_and_no_others():
    model = model_of().eval()
    images = torch.from_numpy(drawn(6)[0])
    per_row = torch.linspace(0, 1, 6)
    result = model.intervene(images, {"top_right": 0.25, 3: per_row})
    before = model.concepts(images)
    torch.testing.assert_close(result.concepts_before, before)
    expected = before.detach().clone()
    expected[:, 1], expected[:, 3] = 0.25, per_row
    torch.testing.assert_close(result.concepts_after, expected)
    torch.testing.assert_close(result.logits_before, model(images))
    torch.testing.assert_close(result.logits_after, model.network(expected))
    torch.testing.assert_close(model(images, {"top_right": 0.25, 3: per_row}), model.network(expected))
    assert not result.logits_after.requires_grad
    hard = model_of(hard=True).eval().intervene(images, {"top_right": 0.25, 3: per_row})
    assert hard.concepts_after[:, [1, 3]].tolist() == [[0.0, float(value >= 0.5)] for value in per_row]


def test_exclusive_interventions_leave_a_distribution():
    model = ConceptBottleneck(nn.Identity(), nn.Linear(3, 2), exclusive=True, names=["a", "b", "c"], output="logits")
    # So sure of `a` that the others underflow to 0: what they leave each other is known from the logits alone.
    logits = torch.tensor([[300.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    shares = float(1 / (1 + np.exp(-1)))
    for value in (0.0, 0.4):
        after = model.intervene(logits, {"a": value}).concepts_after
        left = 1 - value
        expected = [[value, left * shares, left * (1 - shares)], [value, left / 2, left / 2]]
        torch.testing.assert_close(after, torch.tensor(expected))
    assert model.intervene(logits, {"b": 1}).concepts_after.tolist() == [[0, 1, 0], [0, 1, 0]]
    every = model.intervene(logits, {"a": 0.1, "b": 0.1, "c": 0.2}).concepts_after
    torch.testing.assert_close(every, torch.tensor([[0.1, 0.1, 0.2]] * 2))


def test_predictions_are_read_as_asked():
    network = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[1.0, 0.0], [2.0, -4.0]]))
    model = ConceptBottleneck(nn.Identity(), network, hard=True, output="logits")
    x = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    largest = model.intervene(x, {1: 1.0})
    assert largest.predictions_before.tolist() == [1, 0]
    assert largest.predictions_after.tolist() == [0, 0]
    assert largest.changed.tolist() == [True, False]
    each = model.intervene(x, {1: 1.0}, answer="threshold")
    assert each.predictions_before.tolist() == [[1, 1], [1, 0]]
    assert each.changed.tolist() == [True, False]
    one = ConceptBottleneck(nn.Identity(), nn.Linear(2, 1), hard=True, output="logits").intervene(x, {0: 0})
    assert one.predictions_before.shape == (2, 1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m, x: m(x, {"middle": 1}), "there is no concept 'middle'; the concepts are 'top_left', 'top_right'"),
        (lambda m, x: m(x, {4: 1}), "a concept must be 0 to 3, or a name, got 4"),
        (lambda m, x: m(x, {0: 1.5}), r"concept 0 must be set to a number in \[0, 1\]"),
        (lambda m, x: m(x, {0: torch.zeros(3)}), "or to one for each of 2 rows"),
        (lambda m, x: m(x, {0: 1, "top_left": 0}), "concept 'top_left' is set twice"),
        (lambda m, x: m.intervene(x, {0: 1}, answer="both"), "answer must be 'argmax' or 'threshold', got 'both'"),
        (lambda m, x: model_of(exclusive=True)(x, {0: 1, 1: 0.5}), "must not sum to more than 1"),
        (lambda m, x: ConceptBottleneck(m.encoder, m.network, names=["a", "a"]), "distinct strings"),
        (lambda m, x: ConceptBottleneck(m.encoder, m.network, names=["a"]), "takes 4 concepts, but names has 1"),
        (lambda m, x: ConceptBottleneck(m.encoder, "network"), "network must be a torch module, got str"),
        (lambda m, x: ConceptBottleneck(nn.Identity(), m.network)(x), r"must return logits \[batch, concepts\]"),
        (
            lambda m, x: ConceptBottleneck(encoder_of(n_outputs=3), m.network, names=NAMES)(x),
            "the encoder returns 3 concepts, but names has 4",
        ),
    ],
)
def test_model_messages(call, sentence, monkeypatch):
    # What a user without run-time checks of types would see.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(LogicLensError, match=sentence):
        call(model_of(), torch.from_numpy(drawn(2)[0]))


# --- training ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_learns_concepts_and_rule(trained, mode, hard):
    images, bits, classes = drawn(200, 5)
    model = trained[mode, hard]
    assert ((predict_concepts(model, images, device="cpu") >= 0.5) == bits).mean() > 0.99
    with torch.no_grad():
        assert (model(torch.from_numpy(images)).argmax(dim=1).numpy() == classes).mean() > 0.98


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_the_explanation_on_raw_images_is_the_rule(trained, mode, hard):
    images, _, classes = drawn()
    held = drawn(100, 1)
    explanation = explain_bottleneck(
        trained[mode, hard], images, classes, NAMES, CLASSES, validation=(held[0], held[2]), device="cpu"
    )
    every = np.array(list(itertools.product([False, True], repeat=4)))
    assert [explained.name for explained in explanation] == list(CLASSES)
    assert (explanation["different"].formula.evaluate(every, NAMES) == rule(every)).all()
    assert (explanation["same"].formula.evaluate(every, NAMES) == ~rule(every)).all()


@pytest.mark.parametrize("mode", MODES)
def test_interventions_flip_predictions_as_the_rule_says(trained, mode):
    images, bits, _ = drawn(120, 7)
    model = trained[mode, False].eval()
    for concept, value in itertools.product(range(4), (0, 1)):
        result = model.intervene(torch.from_numpy(images), {NAMES[concept]: value})
        after = bits.copy()
        after[:, concept] = value
        assert (result.predictions_after.numpy() == rule(after)).mean() > 0.98
        assert (result.changed.numpy() == (rule(after) != rule(bits))).mean() > 0.98


def test_sequential_trains_the_encoder_and_then_the_network():
    data, held = drawn(200), drawn(80, 1)
    model, encoder, network = model_of(), encoder_of(), EntropyNet(4, 2, (16,), generator=seeded())
    result = fit_bottleneck(model, *data, QUICK, mode="sequential", seed=3, validation=held)
    encoded = fit_encoder(encoder, data[0], data[1], QUICK.encoder, seed=3)
    assert same_weights(model.encoder, encoder)
    tables = []
    with torch.no_grad():
        for images, _, classes in (data, held):
            seen = torch.sigmoid(encoder.eval()(torch.from_numpy(images))).numpy()
            tables.append(ConceptTable(seen, NAMES, classes))
    expected = fit(network, tables[0], QUICK.network, validation=tables[1])
    assert same_weights(model.network, network)
    assert result.history.loss.tolist() == expected.history.loss.tolist()
    assert result.history.validation_loss.tolist() == expected.history.validation_loss.tolist()
    assert result.history.best_epoch == expected.history.best_epoch
    assert result.concept_loss.tolist() == encoded.loss.tolist()
    assert result.concept_accuracy.tolist() == encoded.accuracy.tolist()


def test_independent_is_each_part_alone_on_the_annotations():
    data, held = drawn(200), drawn(80, 1)
    model, encoder, network = model_of(), encoder_of(), EntropyNet(4, 2, (16,), generator=seeded())
    result = fit_bottleneck(model, *data, QUICK, mode="independent", seed=3, validation=held)
    fit_encoder(encoder, data[0], data[1], QUICK.encoder, seed=3)
    tables = [ConceptTable(bits, NAMES, classes) for _, bits, classes in (data, held)]
    fit(network, tables[0], QUICK.network, validation=tables[1])
    assert same_weights(model.encoder, encoder)
    assert same_weights(model.network, network)
    assert result.mode == "independent"


def test_hard_independent_networks_learn_on_bits_of_annotated_shares():
    images, bits, classes = drawn(100)
    shares = np.where(bits > 0, 0.8, 0.3)
    config = dataclasses.replace(CONFIG, network=TrainConfig(epochs=3))
    hard, network = model_of(hard=True), EntropyNet(4, 2, (16,), generator=seeded())
    fit_bottleneck(hard, images, shares, classes, config, mode="independent", seed=0)
    fit(network, ConceptTable(bits, NAMES, classes), config.network)
    assert same_weights(hard.network, network)


def test_joint_differs_from_sequential_and_the_task_reaches_the_encoder(trained):
    assert not same_weights(trained["joint", False].encoder, trained["sequential", False].encoder)
    short = dataclasses.replace(CONFIG, encoder=dataclasses.replace(CONFIG.encoder, epochs=10))
    # Without a weight the annotations teach nothing; the labels still do, through the network.
    model, before = model_of(), model_of()
    weights = before.encoder[2].weight
    result = fit_bottleneck(model, *drawn(), short, concept_weight=0.0, seed=0)
    assert not torch.allclose(model.encoder[2].weight, weights)
    taught = fit_bottleneck(model_of(), *drawn(), short, concept_weight=1.0, seed=0)
    assert taught.concept_accuracy[-1] > 0.99 > result.concept_accuracy[-1]


def test_joint_first_step_is_the_gradient_of_the_three_terms():
    images, bits, classes = drawn(40)
    config = BottleneckConfig(
        dataclasses.replace(CONFIG.encoder, epochs=1, weight_decay=0.0),
        TrainConfig(learning_rate=1e-3, weight_decay=0.0, penalty_weight=0.3),
    )
    model, twin = model_of(), model_of()
    caught: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        parameter.register_hook(lambda g, name=name: caught.update({name: g.clone()}))
    result = fit_bottleneck(model, images, bits, classes, config, concept_weight=0.7, seed=0)
    twin.encoder[0].measure(torch.from_numpy(images))
    concept_logits = twin.encoder(torch.from_numpy(images))
    task = nn.CrossEntropyLoss()(twin.network(torch.sigmoid(concept_logits)), torch.from_numpy(classes))
    concept = nn.BCEWithLogitsLoss()(concept_logits, torch.from_numpy(bits))
    penalty = entropy_logic_loss(twin.network)
    (task + 0.7 * concept + 0.3 * penalty).backward()
    for name, parameter in twin.named_parameters():
        torch.testing.assert_close(caught[name], parameter.grad, rtol=1e-4, atol=1e-6)
    measured = [result.history.loss[0], result.concept_loss[0], result.history.penalty[0]]
    np.testing.assert_allclose(measured, [float(t.detach()) for t in (task, concept, penalty)], rtol=1e-4)


def test_joint_restores_the_epoch_with_the_best_validation_accuracy():
    held = drawn(90, 1)
    config = BottleneckConfig(
        # A rate so high that the accuracy jumps about.
        dataclasses.replace(CONFIG.encoder, epochs=12, learning_rate=0.3, batch_size=16),
        TrainConfig(learning_rate=0.3),
    )
    model = model_of()
    result = fit_bottleneck(model, *drawn(120), config, seed=2, validation=held)
    history = result.history
    ranked = sorted(range(12), key=lambda e: (-history.validation_accuracy[e], history.validation_loss[e], e))
    assert history.best_epoch == ranked[0]
    assert history.best_epoch < 11
    with torch.no_grad():
        logits = model.eval()(torch.from_numpy(held[0]))
    assert accuracy_score(held[2], logits.argmax(dim=1)) == pytest.approx(history.validation_accuracy.max())
    loss = log_loss(held[2], torch.softmax(logits.double(), dim=1))
    assert loss == pytest.approx(history.validation_loss[history.best_epoch], rel=1e-4)
    # Without rows to choose by, the last epoch stays.
    assert fit_bottleneck(model_of(), *drawn(60), config, seed=2).history.best_epoch == 11


def test_same_seed_same_bottleneck_and_its_own_modes_again():
    models = []
    for seed in (1, 1, 2):
        model = model_of()
        model.network.eval()
        fit_bottleneck(model, *drawn(64), QUICK, seed=seed)
        assert model.training
        assert not model.network.training
        models.append(model)
    assert same_weights(models[0], models[1])
    assert not same_weights(models[0], models[2])


@pytest.mark.parametrize("mode", MODES)
def test_exclusive_concepts_by_number_or_by_mark(mode):
    draw = np.random.default_rng(0)
    which = draw.integers(0, 4, 240)
    marks = np.eye(4)[which]
    images, odd = bright(marks.astype(np.int64)), which % 2
    models = [model_of(exclusive=True) for _ in range(2)]
    for model, annotated in zip(models, (which, marks), strict=True):
        fit_bottleneck(model, images, annotated, odd, QUICK, mode=mode, seed=0)
    assert same_weights(*models)
    model = model_of(exclusive=True)
    fit_bottleneck(model, images, which, odd, CONFIG, mode=mode, seed=0)
    table = bottleneck_table(model, images, odd, class_names=("even", "odd"), device="cpu")
    assert table.exclusive == (NAMES,)
    np.testing.assert_allclose(table.values.sum(axis=1), 1, rtol=1e-5)
    explanation = explain_bottleneck(model, images, odd, class_names=("even", "odd"), device="cpu")
    assert (explanation["odd"].formula.evaluate(np.eye(4, dtype=bool), NAMES) == [False, True, False, True]).all()


def test_a_cascade_learns_and_its_first_part_is_not_penalised():
    draw = np.random.default_rng(0)
    low = draw.standard_normal((400, 6))
    middle = (low[:, :3] > 0).astype(np.float32)
    top = ((middle[:, 0] > 0) & (middle[:, 1] == 0)).astype(np.int64)

    def cascade() -> ConceptBottleneck:
        first = EntropyNet(6, 3, (10,), temperature=5.0, generator=seeded(1))
        # One head for the yes/no question of the target.
        second = EntropyNet(3, 1, (20,), temperature=2.0, generator=seeded(2))
        return ConceptBottleneck(first, second, hard=True, names=("a", "b", "c"))

    config = BottleneckConfig(
        EncoderConfig(epochs=40, batch_size=50, learning_rate=2e-2, device="cpu"),
        TrainConfig(epochs=150, learning_rate=2e-2, penalty_weight=1e-4),
    )
    for mode in ("joint", "sequential"):
        model = cascade()
        fit_bottleneck(model, low, middle, top, config, mode=mode, seed=0)
        with torch.no_grad():
            says_yes = model(torch.tensor(low).float())[:, 0] >= 0
        assert (says_yes.numpy() == top).mean() > 0.93
        explanation = explain_bottleneck(model, low, top, class_names=("no", "yes"), device="cpu")
        every = np.array(list(itertools.product([False, True], repeat=3)))
        formula = explanation["yes"].formula
        assert (formula.evaluate(every, ("a", "b", "c")) == (every[:, 0] & ~every[:, 1])).all()
    penalised, free = cascade(), cascade()
    frozen = dataclasses.replace(config, encoder=dataclasses.replace(config.encoder, epochs=2))
    heavy = dataclasses.replace(frozen, network=dataclasses.replace(frozen.network, penalty_weight=100.0))
    # With a huge concept weight only a penalty could tell the two encoders apart.
    fit_bottleneck(penalised, low, middle, top, heavy, concept_weight=1e6, seed=0)
    fit_bottleneck(free, low, middle, top, frozen, concept_weight=1e6, seed=0)
    torch.testing.assert_close(penalised.encoder.entropy.weight, free.encoder.entropy.weight, atol=1e-3, rtol=1e-3)
    assert not torch.allclose(penalised.network.entropy.weight, free.network.entropy.weight, atol=1e-3)


def test_several_labels_per_row_train_jointly():
    images, bits, _ = drawn(320)
    labels = np.stack([bits[:, 0], bits[:, 1] * bits[:, 2]], axis=1).astype(np.int64)
    model = model_of()
    result = fit_bottleneck(model, images, bits, labels, CONFIG, seed=0)
    with torch.no_grad():
        answers = model.eval()(torch.from_numpy(images)) >= 0
    assert (answers.numpy() == labels).mean() > 0.98
    assert result.history.train_accuracy[-1] > 0.95


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mode": "both"}, "mode must be 'joint', 'sequential' or 'independent', got 'both'"),
        ({"concept_weight": -1.0}, "concept_weight must be a finite number that is not negative, got -1.0"),
        ({"concepts": np.zeros((20, 3))}, "a matrix of 20 rows and 4 concepts, as the encoder returns them"),
        ({"concepts": np.full((20, 4), 3.0)}, r"concepts must lie in \[0, 1\]"),
        ({"labels": np.full(20, 2)}, "labels must be 0 to 1 for 2 classes, got 2"),
        ({"inputs": np.zeros((20, 1, 8, 8))}, "inputs must be images"),
        ({"model": model_of(exclusive=True)}, "each row must have exactly one"),
        ({"model": model_of(exclusive=True), "concepts": np.full(20, 4)}, "concept numbers from 0 to 3"),
        ({"model": ConceptBottleneck(nn.Flatten(), EntropyNet(4, 2))}, "Flatten has no parameters to train"),
        ({"model": ConceptBottleneck(nn.Linear(8, 4), EntropyNet(4, 2))}, "Linear does not scale images"),
    ],
)
def test_training_messages(change, sentence):
    images, bits, classes = drawn(20)
    given = {"model": model_of(), "inputs": images, "concepts": bits, "labels": classes, "config": CONFIG} | change
    with pytest.raises(LogicLensError, match=sentence):
        fit_bottleneck(**given, seed=0)


def test_a_loss_that_runs_away_is_named():
    config = dataclasses.replace(CONFIG, encoder=dataclasses.replace(CONFIG.encoder, learning_rate=1e30))
    with pytest.raises(LogicLensError, match="lower the learning_rate"):
        fit_bottleneck(model_of(), *drawn(), config, seed=0)


def test_only_bottlenecks_are_explained_here():
    with pytest.raises(
        LogicLensError, match="expected a ConceptBottleneck, got EntropyNet: pass others to explain_all"
    ):
        explain_bottleneck(EntropyNet(4, 2), drawn(4)[0])


def test_tables_hold_what_the_network_sees(trained):
    images = drawn(30)[0]
    soft, hard = (bottleneck_table(trained["joint", h], images, device="cpu") for h in (False, True))
    assert soft.names == NAMES
    assert not soft.is_boolean
    assert hard.is_boolean
    renamed = bottleneck_table(trained["joint", True], images, names=("a", "b", "c", "d"), device="cpu")
    assert renamed.names == ("a", "b", "c", "d")
    unnamed = copy.copy(trained["joint", True])
    unnamed.names = None
    assert bottleneck_table(unnamed, images, device="cpu").names == ("x0", "x1", "x2", "x3")


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_bottlenecks_learn_on_cuda(mode):
    encoder = dataclasses.replace(CONFIG.encoder, device=None, precision="bfloat16")
    config = dataclasses.replace(CONFIG, encoder=encoder)
    model = model_of()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LogicLensWarning)
        fit_bottleneck(model, *drawn(), config, mode=mode, seed=0, validation=drawn(100, 1))
    assert {p.device.type for p in model.parameters()} == {"cpu"}
    images, _, classes = drawn(200, 5)
    explanation = explain_bottleneck(model, images, classes, class_names=CLASSES)
    every = np.array(list(itertools.product([False, True], repeat=4)))
    assert (explanation["different"].formula.evaluate(every, NAMES) == rule(every)).all()


@pytest.mark.parametrize("mode", ["joint", "sequential", "independent"])
def test_an_encoder_with_a_sigmoid_is_trained_as_its_logits(mode):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4)).astype(np.float32)
    bits = (rows[:, :3] > 0).astype(np.float32)
    classes = (bits[:, 0] * bits[:, 1]).astype(int)
    config = BottleneckConfig(EncoderConfig(epochs=5, batch_size=30, device="cpu"), TrainConfig(epochs=5))
    losses = []
    for end in (nn.Identity(), nn.Sigmoid()):
        torch.manual_seed(0)
        model = ConceptBottleneck(nn.Sequential(nn.Linear(4, 3), end), EntropyNet(3, 2))
        losses.append(fit_bottleneck(model, rows, bits, classes, config, mode=mode, seed=0).concept_loss)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)


def test_probabilities_are_not_trained_as_logits():
    table = ConceptTable([[0, 0], [1, 1]] * 5, labels=[0, 1] * 5)
    network = nn.Sequential(EntropyNet(2, 1), nn.Sigmoid())
    with pytest.raises(LogicLensError, match="the last operation of the Sequential gives probabilities"):
        fit(network, table)
    with pytest.raises(LogicLensError, match="training takes logits, but"):
        fit_encoder(network, table.values, [0, 1] * 5, EncoderConfig(device="cpu"), seed=0)
