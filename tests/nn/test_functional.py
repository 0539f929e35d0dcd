"""The equations, compared with a slow paper-exact twin, finite differences and limits."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from logiclens.errors import LogicLensError, NoEntropyLayer
from logiclens.nn import EntropyLogicLayer, EntropyNet, LinearIndependent, functional
from tests.oracles import paper_layer

TAU = 0.6
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
SHAPES = [(1, 1, 1), (1, 1, 5), (3, 1, 4), (2, 4, 6)]
GPU = [torch.device("cpu"), pytest.param(torch.device("cuda"), marks=pytest.mark.gpu)]


def weights(shape: tuple[int, int, int], dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def some_kept(shape: tuple[int, int, int]) -> Tensor:
    """At least one concept of each head, not the same in every head."""
    keep = torch.ones(shape[0], shape[2], dtype=torch.bool)
    for i in range(shape[0]):
        keep[i, i % shape[2]] = shape[2] == 1
    return keep


def close(ours: Tensor, theirs: Tensor, dtype: torch.dtype) -> None:
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(ours.double(), theirs.double(), rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------------------------------- against the twin


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tau", [0.3, 0.6, 5.0])
@pytest.mark.parametrize("masked", [False, True])
def test_every_equation_agrees_with_the_twin(dtype, shape, tau, masked):
    weight = weights(shape, dtype)
    exact = weight.double()
    keep = some_kept(shape) if masked else None
    kept = None if keep is None else keep.tolist()
    gamma = functional.strength(weight)
    close(gamma, paper_layer.stacked(paper_layer.gamma(exact)), dtype)
    alpha = paper_layer.stacked(paper_layer.alpha(exact, tau, kept))
    close(functional.attention(gamma, tau, keep), alpha, dtype)
    close(functional.log_attention(gamma, tau, keep).exp(), alpha, dtype)
    tilde = functional.relevance(gamma, tau, keep)
    close(tilde, paper_layer.stacked(paper_layer.alpha_tilde(exact, tau, kept)), dtype)
    assert functional.relevant(tilde).tolist() == paper_layer.mu(exact, tau, keep=kept)
    close(functional.entropy(gamma, tau, keep), torch.stack(paper_layer.entropies(exact, tau, kept)), dtype)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_forward_pass_and_its_gradient_agree_with_the_twin(dtype, shape, biased, masked):
    def prepared(as_type: torch.dtype) -> tuple[Tensor, Tensor, Tensor | None]:
        leaves = (torch.rand(5, shape[2], generator=torch.Generator().manual_seed(1), dtype=torch.float64),)
        leaves += (weights(shape), weights(shape, seed=2)[:, :, 0])
        concepts, weight, bias = (leaf.to(dtype).to(as_type).requires_grad_() for leaf in leaves)
        return concepts, weight, bias if biased else None

    keep = some_kept(shape) if masked else None
    concepts, weight, bias = prepared(dtype)
    tilde = functional.relevance(functional.strength(weight), TAU, keep)
    ours = functional.entropy_linear(concepts, weight, bias, tilde)
    entropy = functional.entropy(functional.strength(weight), TAU, keep).sum()
    exact = prepared(torch.float64)
    theirs = paper_layer.h(*exact, TAU, None if keep is None else keep.tolist())
    their_entropy = sum(paper_layer.entropies(exact[1], TAU, None if keep is None else keep.tolist()))
    close(ours, theirs, dtype)
    # A weighted sum that treats every output differently, so that a transposed gradient cannot pass.
    factors = torch.arange(1.0, theirs.numel() + 1, dtype=torch.float64).reshape(theirs.shape).cos()
    ((ours * factors.to(dtype)).sum() + entropy).backward()
    ((theirs * factors).sum() + their_entropy).backward()
    for mine, twin in zip((concepts, weight, bias), exact, strict=True):
        if mine is not None:
            close(mine.grad, twin.grad, dtype)


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_agree_with_finite_differences(masked):
    shape = (2, 3, 4)
    keep = some_kept(shape) if masked else None
    concepts = torch.rand(3, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)

    def everything(weight: Tensor, c: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        gamma = functional.strength(weight)
        tilde = functional.relevance(gamma, TAU, keep)
        out = functional.entropy_linear(c, weight, bias, tilde)
        return functional.attention(gamma, TAU, keep), tilde, functional.entropy(gamma, TAU, keep), out

    inputs = [leaf.requires_grad_() for leaf in (weights(shape), concepts, weights(shape, seed=4)[:, :, 0])]
    assert torch.autograd.gradcheck(everything, inputs, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_any_number_of_batch_axes_passes_through(batch):
    weight, bias = weights((3, 2, 4)), weights((3, 2, 4), seed=1)[:, :, 0]
    concepts = torch.rand(*batch, 4, dtype=torch.float64)
    tilde = functional.relevance(functional.strength(weight), TAU)
    out = functional.entropy_linear(concepts, weight, bias, tilde)
    assert out.shape == (*batch, 3, 2)
    close(out.reshape(-1, 3, 2), paper_layer.h(concepts.reshape(-1, 4), weight, bias, TAU), torch.float64)


# --------------------------------------------------------------------------------------------------- finite, limits


@pytest.mark.parametrize("device", GPU)
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("ratio", [0.0, 1.0, 88.0, 89.0, 710.0, 1e4])
@pytest.mark.parametrize("pattern", ["one concept", "identical", "one stands out", "spread"])
@pytest.mark.parametrize("masked", [False, True])
def test_values_and_gradients_stay_finite_up_to_large_ratios(device, dtype, ratio, pattern, masked):
    # exp(89) is infinite in float32, exp(710) in float64: where the plain softmax gives NaN.
    rows = {
        "one concept": [[1.0]],
        "identical": [[1.0, 1.0, 1.0]],
        "one stands out": [[0.0, 1.0, 0.0]],
        "spread": [[0.1, 0.5, 1.0]],
    }[pattern]
    gamma = (torch.tensor(rows, dtype=dtype, device=device) * ratio * TAU).requires_grad_()
    keep = torch.ones_like(gamma, dtype=torch.bool)
    if masked:
        keep[0, -1] = False  # with one concept: a head that keeps nothing
    tilde = functional.relevance(gamma, TAU, keep if masked else None)
    alpha = functional.attention(gamma, TAU, keep if masked else None)
    entropy = functional.entropy(gamma, TAU, keep if masked else None)
    for value in (tilde, alpha, entropy):
        assert value.isfinite().all()
        (grad,) = torch.autograd.grad(value.sum(), gamma, retain_graph=True)
        assert grad.isfinite().all()
    assert (entropy >= -1e-5).all()
    assert (entropy <= math.log(gamma.shape[1]) + 1e-5).all()


def test_a_low_temperature_leaves_the_strongest_concept_only():
    gamma = torch.tensor([[0.30, 0.31, 0.29], [2.0, 1.0, 0.0]], dtype=torch.float64)
    alpha = functional.attention(gamma, 1e-5)
    assert torch.equal(alpha, torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64))
    assert torch.equal(functional.relevance(gamma, 1e-5), alpha)
    assert functional.entropy(gamma, 1e-5).abs().max() == 0


def test_a_high_temperature_makes_all_concepts_alike():
    gamma = torch.tensor([[0.0, 5.0, 1.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(functional.attention(gamma, 1e9), torch.full_like(gamma, 0.25))
    torch.testing.assert_close(functional.relevance(gamma, 1e9), torch.ones_like(gamma))
    torch.testing.assert_close(functional.entropy(gamma, 1e9), torch.tensor([math.log(4)], dtype=torch.float64))


@given(
    st.lists(st.floats(0, 50), min_size=1, max_size=8),
    st.floats(0.05, 20),
)
def test_attention_is_a_distribution_and_the_largest_relevance_is_one(gamma, tau):
    strength = torch.tensor([gamma], dtype=torch.float64)
    alpha, tilde = functional.attention(strength, tau), functional.relevance(strength, tau)
    assert alpha.sum().item() == pytest.approx(1)
    assert tilde.max().item() == 1
    # Relevance keeps the order of the strengths.
    order = strength[0].argsort()
    assert (tilde[0, order].diff() >= 0).all()
    assert 0 <= functional.entropy(strength, tau).item() + 1e-12 <= math.log(len(gamma)) + 1e-9


@pytest.mark.parametrize(
    ("values", "mask"), [([1.0, 0.5, 0.4999], [True, True, False]), ([0.5], [True]), ([0.0], [False])]
)
def test_the_threshold_itself_counts(values, mask):
    assert functional.relevant(torch.tensor([values])).tolist() == [mask]
    assert functional.boolean(torch.tensor(values)).tolist() == mask


def test_other_thresholds_move_the_cut():
    values = torch.tensor([[1.0, 0.7, 0.3]])
    assert functional.relevant(values, 0.8).tolist() == [[True, False, False]]
    assert functional.boolean(values, 0.3).tolist() == [[True, True, True]]


# ------------------------------------------------------------------------------------------------------------- keep


def test_a_concept_not_kept_takes_no_part():
    gamma = torch.tensor([[1.0, 50.0, 2.0]], dtype=torch.float64)
    keep = torch.tensor([[True, False, True]])
    # The judge never saw the dropped concept, though it is by far the strongest.
    rest = gamma[:, [0, 2]]
    for of in (functional.attention, functional.relevance):
        masked = of(gamma, TAU, keep)
        assert masked[0, 1] == 0
        torch.testing.assert_close(masked[:, [0, 2]], of(rest, TAU), rtol=1e-14, atol=0)
    torch.testing.assert_close(
        functional.entropy(gamma, TAU, keep), functional.entropy(rest, TAU), rtol=1e-14, atol=1e-14
    )


def test_a_concept_not_kept_has_no_gradient():
    gamma = torch.tensor([[1.0, 50.0, 2.0]], requires_grad=True)
    keep = torch.tensor([[True, False, True]])
    for of in (functional.attention, functional.relevance, functional.entropy):
        value = of(gamma, TAU, keep)
        (grad,) = torch.autograd.grad(value.flatten()[0], gamma)
        assert grad.isfinite().all()
        assert grad[0, 1] == 0


def test_a_head_without_concepts_has_neither_relevance_nor_entropy():
    gamma = torch.tensor([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
    keep = torch.tensor([[False, False], [True, True]])
    alpha, tilde = functional.attention(gamma, TAU, keep), functional.relevance(gamma, TAU, keep)
    entropy = functional.entropy(gamma, TAU, keep)
    assert alpha[0].tolist() == [0, 0]
    assert tilde[0].tolist() == [0, 0]
    assert entropy[0] == 0
    # The other head does not notice.
    assert tilde[1].max() == 1
    assert entropy[1] > 0
    (alpha.sum() + tilde.sum() + entropy.sum()).backward()
    assert gamma.grad.isfinite().all()
    assert gamma.grad[0].tolist() == [0, 0]


def test_keeping_everything_changes_nothing():
    gamma = weights((2, 3, 4)).abs().sum(1)
    everything = torch.ones_like(gamma, dtype=torch.bool)
    for of in (functional.attention, functional.relevance, functional.entropy):
        assert torch.equal(of(gamma, TAU, everything), of(gamma, TAU))


# ----------------------------------------------------------------------------------------------------------- losses


class Wrapped(nn.Module):
    """A model that hides its layers inside containers, as users' models do."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"parts": nn.ModuleList([nn.Sequential(nn.Identity(), layer) for layer in layers])})


def test_entropy_layers_are_found_at_any_depth():
    layers = [EntropyLogicLayer(4, 3, 2), EntropyLogicLayer(5, 2, 3, temperature=2.0)]
    expected = sum(
        sum(paper_layer.entropies(layer.weight.detach().double(), layer.temperature)) for layer in layers
    ).item()
    for model in (Wrapped(*layers), nn.Sequential(Wrapped(*layers), nn.ReLU()), Wrapped(nn.Sequential(*layers))):
        assert functional.entropy_logic_loss(model).item() == pytest.approx(expected, rel=1e-5)
        assert list(functional.entropy_layers(model)) == layers
        assert functional.first_entropy_layer(model) is layers[0]


def test_a_bare_layer_is_a_model_too():
    layer = EntropyLogicLayer(4, 3, 2)
    assert torch.equal(functional.entropy_logic_loss(layer), layer.entropy().sum())


def test_the_entropy_loss_reaches_the_weights():
    model = Wrapped(EntropyLogicLayer(4, 3, 2))
    loss = functional.entropy_logic_loss(model)
    assert loss.shape == ()
    loss.backward()
    (grad,) = [p.grad for name, p in model.named_parameters() if name.endswith("weight")]
    assert grad.abs().sum() > 0


@pytest.mark.parametrize("of", [functional.entropy_logic_loss, functional.first_entropy_layer])
def test_a_model_without_an_entropy_layer_is_refused(of):
    with pytest.raises(NoEntropyLayer, match=r"Sequential has no entropy layer.*EntropyLogicLayer first") as error:
        of(nn.Sequential(nn.Linear(3, 2)))
    assert isinstance(error.value, LogicLensError)


def test_l1_sums_every_weight_matrix_and_no_bias():
    model = nn.Sequential(EntropyLogicLayer(4, 3, 2), LinearIndependent(3, 5, 2), nn.Flatten(), nn.Linear(10, 2))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Biases are large, so that a single one in the sum would show.
            parameter.fill_(1e6 if name.endswith("bias") else -0.5)
    assert functional.l1_loss(model).item() == 0.5 * (2 * 3 * 4 + 2 * 5 * 3 + 2 * 10)


def test_l1_has_the_sign_as_gradient():
    net = EntropyNet(3, 2, hidden=(4, 3))
    functional.l1_loss(net).backward()
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):
            assert parameter.grad is None
        else:
            assert torch.equal(parameter.grad, parameter.detach().sign())


def test_l1_leaves_out_frozen_weights():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    net[0].requires_grad_(False)
    assert torch.equal(functional.l1_loss(net), net[1].weight.abs().sum())


def test_l1_of_a_model_without_weights_is_refused():
    with pytest.raises(LogicLensError, match="ReLU has no weight matrix"):
        functional.l1_loss(nn.ReLU())
