"""The hand-written derivatives of a stack, judged by autograd on the plain equations; and the judge, by mutants."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from logiclens import EntropyClassifier
from logiclens.concepts.concept_table import ConceptTable
from logiclens.nn import EntropyNet, entropy_logic_loss, functional, l1_loss
from logiclens.nn.stacked import NARROW, Stack
from logiclens.train.fit_many import ModelRows, stack_rows
from logiclens.train.loss import Batch, ClassWeight, accuracy, task_loss

PENALTY_WEIGHT = 0.3


@dataclass(frozen=True)
class Case:
    """One kind of training: what is learned, and what may go wrong in its derivative."""

    labels: str = "one"
    penalty: str | None = "entropy"
    hidden: tuple[int, ...] = (5,)
    activation: type[nn.Module] = nn.ReLU
    masked: bool = False
    tied: bool = False
    weighed: bool = False
    n_concepts: int = 6

    @property
    def task(self) -> str:
        return "multilabel" if self.labels == "several" else "multiclass"

    def networks(self) -> list[EntropyNet]:
        """Three networks of different temperature; a mask leaves a head of the third without any concept."""
        n_classes = 2 if self.labels == "several" else 3
        made = [
            EntropyNet(self.n_concepts, n_classes, self.hidden, temperature=0.4 + 0.3 * i, activation=self.activation,
                       generator=torch.Generator().manual_seed(i)).double()
            for i in range(3)
        ]  # fmt: skip
        with torch.no_grad():
            for network in made if self.tied else []:
                # Two strongest concepts of each head, equal to the last bit.
                network.entropy.weight[:, :, :2] = network.entropy.weight[:, :, 2:3].abs() + 1
        if self.masked:
            made[1].entropy.keep[0, :2] = False
            made[2].entropy.keep[1] = False
        return made

    def rows(self) -> tuple[Batch, ClassWeight | None]:
        rng = np.random.default_rng(0)
        bits = rng.integers(0, 2, (40, self.n_concepts))
        labels = bits[:, :2] if self.labels == "several" else bits[:, 0] + bits[:, 1]
        table = ConceptTable(bits, None, labels, weight=rng.integers(1, 4, 40))
        batch = Batch.of(table, torch.empty(0, dtype=torch.float64), counted=True)
        factors = torch.arange(1.0, batch.counts.shape[1] + 1, dtype=torch.float64)
        return batch, ClassWeight(factors, factors.flip(0)) if self.weighed else None


CASES = [
    Case(labels=labels, penalty=penalty, masked=masked, tied=tied)
    for labels in ("one", "several")
    for penalty in ("entropy", "l1", None)
    for masked in (False, True)
    for tied in (False, True)
] + [
    Case(hidden=(6, 4), masked=True, weighed=True),
    Case(hidden=(6, 5, 4), activation=nn.LeakyReLU, penalty="l1"),
    Case(labels="several", activation=nn.LeakyReLU, weighed=True),
    Case(n_concepts=NARROW + 1),
]


def by_autograd(network: EntropyNet, case: Case) -> tuple[Tensor, ...]:
    """The task loss, the penalty, the accuracy and the gradient of each parameter, from the plain equations."""
    batch, class_weight = case.rows()
    logits = network(batch.concepts)
    loss = task_loss(logits, batch, case.task, class_weight)
    penalty = {"entropy": entropy_logic_loss, "l1": l1_loss, None: lambda _: torch.zeros(())}[case.penalty](network)
    gradients = torch.autograd.grad(loss + PENALTY_WEIGHT * penalty, list(network.parameters()))
    return (loss.detach(), penalty.detach(), accuracy(logits.detach(), batch, case.task), *gradients)


def by_hand(networks: list[EntropyNet], case: Case) -> list[tuple[Tensor, ...]]:
    """The same for each network, from one pass of a stack."""
    batch, class_weight = case.rows()
    rows = stack_rows([[ModelRows(batch, None, class_weight)] * len(networks)], case.task, torch.device("cpu"))
    with torch.no_grad():
        stack = Stack([networks], rows, case.penalty, [[PENALTY_WEIGHT] * len(networks)])
        loss, right, wrong = stack.judge(stack.forward())
        stack.backward(wrong)
        penalties = stack.penalties() * stack.penalised
        share = right / rows.whole
    return [
        (loss[0, k, 0], penalties[0, k], share[0, k, 0], *(gradient[0, k] for gradient in stack.gradients))
        for k in range(len(networks))
    ]


def gap(case: Case) -> float:
    """The largest difference between what autograd finds and what is written by hand; infinite if that is NaN."""
    networks = case.networks()
    pairs = zip(networks, by_hand(networks, case), strict=True)
    gaps = [
        float((mine - other).abs().max())
        for network, hand in pairs
        for mine, other in zip(hand, by_autograd(network, case), strict=True)
    ]
    return max(gaps) if np.isfinite(gaps).all() else float("inf")


TOLERANCE = 1e-12


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hand_written_derivatives_are_those_of_autograd(case):
    assert gap(case) < TOLERANCE


def test_tied_strengths_are_tied_to_the_last_bit():
    """Otherwise the cases above would not look at ties at all."""
    for network in Case(tied=True).networks():
        strength = network.entropy.strength()
        assert ((strength == strength.amax(dim=-1, keepdim=True)).sum(dim=-1) == 2).all()


# ---------------------------------------------------------------------------------- does the comparison notice it?

Mutation = Callable[[Callable[..., Tensor]], Callable[..., Tensor | None]]


def bent(equation: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """x·|x| in place of x, which has another slope."""

    def mutant(*args: object, out: Tensor | None = None, **options: object) -> Tensor:
        value = equation(*args, **options) if out is None else equation(*args, out=out, **options)
        return value * value.abs() if out is None else value.mul_(value.abs())

    return mutant


def negated(equation: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *args, **options: -equation(*args, **options)


def cooled(equation: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Half the temperature."""
    return lambda strength, temperature, *args: equation(strength, temperature / 2, *args)


def enlarged(derivative: Callable[..., Tensor | None]) -> Callable[..., Tensor | None]:
    """Half as much again of all that a derivative returns or writes."""

    def mutant(*args: object, **options: object) -> Tensor | None:
        value = derivative(*args, **options)
        for name in ("into", "out", "weight_out", "bias_out"):
            if name in options:
                options[name].mul_(1.5)
        return None if value is None else value * 1.5

    return mutant


EQUATIONS = (
    "strength", "log_relevance", "relevance", "log_attention", "entropy", "fold", "affine", "cross_entropy",
    "binary_cross_entropy", "weighted_sum", "l1_norm",
)  # fmt: skip
DERIVATIVES = [name for name in vars(functional) if name.endswith(("_gradient", "_flow"))]
MUTANTS: list[tuple[str, Mutation]] = [
    *((name, bent) for name in EQUATIONS),
    *((name, enlarged) for name in DERIVATIVES),
    ("entropy", negated),
    ("cross_entropy", negated),
    ("log_relevance", cooled),
]


@pytest.mark.parametrize(("name", "mutation"), MUTANTS)
def test_a_change_in_one_place_is_noticed(monkeypatch, name, mutation):
    monkeypatch.setattr(functional, name, mutation(getattr(functional, name)))
    assert any(gap(case) > 1e-6 for case in CASES)


def test_every_derivative_stands_below_its_equation():
    lines = {name: inspect.getsourcelines(getattr(functional, name))[1] for name in (*EQUATIONS, *DERIVATIVES)}
    for name in DERIVATIVES:
        equation = name.rpartition("_")[0]
        assert f"`{equation}`" in getattr(functional, name).__doc__
        assert not [other for other in EQUATIONS if lines[equation] < lines[other] < lines[name]]
    for name in (name for name in DERIVATIVES if name.endswith("_gradient")):
        assert f"`{name}`" in getattr(functional, name.removesuffix("_gradient")).__doc__


class CalledError(Exception):
    """Raised in place of an equation."""


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in EQUATIONS if name not in ("binary_cross_entropy", "l1_norm")),
        *(name for name in DERIVATIVES if not name.startswith(("binary_cross_entropy", "l1_norm"))),
    ],
)
def test_the_classifier_trains_by_the_one_equation(monkeypatch, name):
    def called(*_: object, **__: object) -> None:
        raise CalledError

    concepts = np.random.default_rng(0).integers(0, 2, (40, 4)).astype(np.bool_)
    monkeypatch.setattr(functional, name, called)
    with pytest.raises(CalledError):
        EntropyClassifier(epochs=5, exact=False).fit(concepts, concepts[:, 0] & concepts[:, 1])
