"""Many networks of one build as one: the forward pass, the loss and its gradient written out for all of them at once.

Axis words beside those of `logiclens.nn`: `group` (models that see the same rows), `model`, and `column` for a row of
concepts: rows lie side by side here, so that each head works on one matrix. What autograd would find is computed
directly; a pass is some thirty operations on buffers that are there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from logiclens.nn.layers import EntropyLogicLayer, EntropyNet, LinearIndependent
from logiclens.train.stacked_rows import StackedRows

SLOPES: dict[type[nn.Module], float] = {nn.ReLU: 0.0, nn.LeakyReLU: 0.01}
"""Activations whose gradient can be read from their output, with their slope below 0."""
NARROW = 16
"""A product with fewer columns than that takes a CPU twice as long as the same product turned round."""


def stackable(network: nn.Module) -> TypeGuard[EntropyNet]:
    """Whether the passes written out here are those of a network: heads of their own, nothing hooked in or frozen."""
    if type(network) is not EntropyNet or network.shared_tail or network.activation not in SLOPES:
        return False
    kinds = [network.activation, LinearIndependent] * len(network.hidden)
    parameters = list(network.parameters())
    return (
        type(network.entropy) is EntropyLogicLayer
        and [type(module) for module in network.tail] == kinds
        and all(getattr(module, "negative_slope", 0.01) == 0.01 for module in network.tail)
        and len(parameters) == 2 + 2 * len(network.hidden)
        and all(_plain(parameter, parameters[0]) for parameter in parameters)
        and not any(_hooked(module) for module in network.modules())
    )


class Stack:
    """The weights of `[group][model]` networks in one vector, their gradient in another, and one pass over them.

    Args:
        networks: of one build: concepts, classes, widths, activation, precision and device are the same.
        rows: what they learn from.
        penalty: what is added to the loss of each.
        penalty_weight: λ of each model, `[group][model]`.
    """

    def __init__(
        self,
        networks: Sequence[Sequence[EntropyNet]],
        rows: StackedRows,
        penalty: str | None,
        penalty_weight: Sequence[Sequence[float]],
    ) -> None:
        """Take the weights over, to where the rows are; the networks themselves are left alone."""
        self.networks, self.rows = networks, rows
        first = networks[0][0]
        self.shape = (len(networks), len(networks[0]))
        self.hidden, self.slope = first.hidden, SLOPES[first.activation]
        self.penalty = penalty
        sizes = [parameter.shape for parameter in first.parameters()]
        with torch.no_grad():
            self.flat = torch.cat([weights.flatten() for weights in self._parameters()]).to(rows.concepts.device)
        self.gradient = torch.zeros_like(self.flat)
        self._sizes = sizes
        self.views, self.gradients = self.split(self.flat), self.split(self.gradient)
        layers = [network.entropy for group in networks for network in group]
        keep = torch.stack([layer.keep for layer in layers]).view(*self.shape, *first.entropy.keep.shape)
        self.whole, self.keep = bool(keep.all()), keep.to(self.flat.device)
        self.temperature = self.flat.new_tensor([layer.temperature for layer in layers]).view(*self.shape, 1, 1)
        self.penalty_weight = self.flat.new_tensor(penalty_weight).view(*self.shape, 1, 1)
        sign = {"entropy": -1, "l1": 1, None: 0}[penalty]
        self.penalised = (self.penalty_weight[..., 0, 0] > 0).to(self.flat).mul_(sign)
        self.penalty_pull = self.penalty_weight / self.temperature
        self._prepare()

    def _parameters(self) -> list[Tensor]:
        """Those of all networks, in the order in which they stand in the vector."""
        of_models = [network.parameters() for group in self.networks for network in group]
        return [parameter for of_a_kind in zip(*of_models, strict=True) for parameter in of_a_kind]

    def split(self, flat: Tensor) -> list[Tensor]:
        """A vector as one tensor `[group, model, …]` for each parameter of a network."""
        lengths = [self.shape[0] * self.shape[1] * size.numel() for size in self._sizes]
        parts = torch.split(flat, lengths)
        return [part.view(*self.shape, *size) for part, size in zip(parts, self._sizes, strict=True)]

    def _prepare(self) -> None:
        """Buffers and views that every pass uses."""
        concepts, n_train = self.rows.concepts, self.rows.n_train
        n_groups, n_columns, n_concepts = concepts.shape
        n_models, n_classes = self.shape[1], self.views[0].shape[2]
        heads = n_groups * n_models * n_classes
        self.columns = concepts.transpose(1, 2).contiguous()
        self.learned = concepts[:, :n_train].contiguous()
        like = self.flat
        self.folded = torch.empty_like(self.views[0])
        self.folded_gradient = torch.empty_like(self.views[0])
        self.is_top = torch.empty_like(self.views[0][..., 0, :])
        self.outputs = [like.new_empty(heads, width, n_columns) for width in self.hidden]
        self.slopes = [like.new_empty(heads, width, n_train) for width in self.hidden]
        self.logits = like.new_empty(heads, 1, n_columns)
        self.tails = [
            (w.view(heads, *w.shape[-2:]), b.view(heads, -1, 1))
            for w, b in zip(self.views[2::2], self.views[3::2], strict=True)
        ]
        self.tail_gradients = [
            (w.view(heads, *w.shape[-2:]), b.view(heads, -1))
            for w, b in zip(self.gradients[2::2], self.gradients[3::2], strict=True)
        ]
        self.first = self.folded.view(n_groups, -1, n_concepts)
        self.first_bias = self.views[1].view(n_groups, -1, 1)
        self.first_gradient = self.folded_gradient.view(n_groups, -1, n_concepts)
        self.first_bias_gradient = self.gradients[1].view(n_groups, -1)
        self.turned: Tensor | None = None
        if n_concepts < NARROW and not like.is_cuda:
            self.turned = like.new_empty(n_groups, n_concepts, self.first.shape[1])
        rows = self.rows
        wanted = rows.weight[:, :, 0, :, :n_train]
        self.unwanted = -wanted
        if rows.weight_no is None:
            self.asked = wanted.sum(dim=2, keepdim=True)
        else:
            self.asked = wanted + rows.weight_no[:, :, 0, :, :n_train]
        self.against = -rows.weight

    def judge(self, logits: Float[Tensor, "group model klass column"]) -> tuple[Tensor, Tensor, Tensor]:
        """Loss and what is right `[group, model, 2]`, for learning and for choosing; and what is wrong with outputs."""
        rows, n_train = self.rows, self.rows.n_train
        if rows.weight_no is None or rows.count_no is None:
            said = torch.log_softmax(logits, dim=2)
            loss = _summed(self.against, said)
            right = _chosen(rows.count, logits).sum(dim=-1)
            return loss, right, torch.addcmul(self.unwanted, said[..., :n_train].exp(), self.asked)
        loss = _summed(rows.weight, nn.functional.softplus(-logits))
        loss += _summed(rows.weight_no, nn.functional.softplus(logits))
        right = torch.where((logits >= 0).unsqueeze(2), rows.count, rows.count_no).sum(dim=(-1, -2))
        return loss, right, torch.addcmul(self.unwanted, torch.sigmoid(logits[..., :n_train]), self.asked)

    def forward(self) -> Float[Tensor, "group model klass column"]:
        """The outputs on every column; what the gradient needs stays in the buffers."""
        weight = self.views[0]
        strength = weight.abs().sum(dim=-2)
        if not self.whole:
            strength = strength.masked_fill(~self.keep & self.keep.any(dim=-1, keepdim=True), -torch.inf)
        top = strength.amax(dim=-1, keepdim=True)
        torch.eq(strength, top, out=self.is_top)
        self.scaled = (strength - top).div_(self.temperature)
        self.relevance = self.scaled.exp()
        if not self.whole:
            self.relevance = self.relevance.mul_(self.keep)
        if self.penalty == "entropy":
            self._take_entropy()
        torch.mul(weight, self.relevance.unsqueeze(-2), out=self.folded)
        hidden = self.outputs[0]
        torch.baddbmm(self.first_bias, self.first, self.columns, out=hidden.view(len(self.first), -1, hidden.shape[-1]))
        self._activate(hidden)
        for (weights, bias), given, out in zip(self.tails, self.outputs, [*self.outputs[1:], self.logits], strict=True):
            torch.baddbmm(bias, weights, given, out=out)
            if out is not self.logits:
                self._activate(out)
        return self.logits.view(*self.shape, -1, self.logits.shape[-1])

    def _take_entropy(self) -> None:
        self.log_attention = torch.log_softmax(self.scaled, dim=-1)
        self.attention = self.log_attention.exp()
        if not self.whole:
            self.log_attention = self.log_attention.masked_fill(~self.keep, 0.0)
            self.attention.mul_(self.keep)
        self.attention_log = self.attention * self.log_attention
        self.negentropy = self.attention_log.sum(dim=-1, keepdim=True)

    def backward(self, wrong: Float[Tensor, "group model klass trained"]) -> None:
        """The gradient of loss and penalty, from what the loss says of each output on the training columns."""
        n_train = self.rows.n_train
        flowing = wrong.reshape(-1, 1, n_train)
        for layer in reversed(range(len(self.tails))):
            given = self.outputs[layer][..., :n_train]
            (weights, _), (weights_gradient, bias_gradient) = self.tails[layer], self.tail_gradients[layer]
            torch.bmm(flowing, given.transpose(1, 2), out=weights_gradient)
            torch.sum(flowing, dim=-1, out=bias_gradient)
            down = self.slopes[layer]
            if flowing.shape[1] == 1:
                torch.mul(weights.transpose(1, 2), flowing, out=down)
            else:
                torch.bmm(weights.transpose(1, 2), flowing, out=down)
            flowing = self._slope(down, given)
        flowing = flowing.view(len(self.first), -1, n_train)
        if self.turned is None:
            torch.bmm(flowing, self.learned, out=self.first_gradient)
        else:
            torch.bmm(self.learned.transpose(1, 2), flowing.transpose(1, 2), out=self.turned)
            self.first_gradient.copy_(self.turned.transpose(1, 2))
        torch.sum(flowing, dim=-1, out=self.first_bias_gradient)
        self._through_relevance()

    def _through_relevance(self) -> None:
        """From the folded weights to the weights: each moves its own product, and the relevance of its concept."""
        weight, gradient = self.views[0], self.gradients[0]
        moved = (self.folded_gradient * self.folded).sum(dim=-2).div_(self.temperature)
        # The largest strength of a head scales all others down; several that are equal share that.
        pulled = moved.sum(dim=-1, keepdim=True).div_(self.is_top.sum(dim=-1, keepdim=True))
        moved.addcmul_(self.is_top, pulled, value=-1)
        if self.penalty == "entropy":
            # H falls by α (log α + H) / τ where γ grows.
            pulled = torch.addcmul(self.attention_log, self.attention, self.negentropy, value=-1)
            moved.addcmul_(pulled, self.penalty_pull, value=-1)
        if not self.whole:
            moved = moved * self.keep
        signs = weight.sign()
        torch.mul(self.folded_gradient, self.relevance.unsqueeze(-2), out=gradient)
        gradient.addcmul_(moved.unsqueeze(-2), signs)
        if self.penalty == "l1":
            gradient.addcmul_(signs, self.penalty_weight.unsqueeze(-1))
            for view, into in zip(self.views[2::2], self.gradients[2::2], strict=True):
                into.addcmul_(view.sign(), self.penalty_weight.unsqueeze(-1))

    def penalties(self) -> Float[Tensor, "group model"]:
        """The penalty of each model at the weights of the last pass; times `penalised`, as it is told."""
        if self.penalty is None:
            return self.penalised
        if self.penalty == "entropy":
            return self.negentropy.sum(dim=(-1, -2))
        return torch.stack([view.abs().sum(dim=(-1, -2, -3)) for view in self.views[::2]]).sum(dim=0)

    def _activate(self, values: Tensor) -> None:
        if self.slope:
            nn.functional.leaky_relu_(values, self.slope)
        else:
            values.relu_()

    def _slope(self, flowing: Tensor, activated: Tensor) -> Tensor:
        """What flows back through an activation, told from its output."""
        if self.slope:
            torch.ops.aten.leaky_relu_backward.grad_input(flowing, activated, self.slope, True, grad_input=flowing)
        else:
            torch.ops.aten.threshold_backward.grad_input(flowing, activated, 0, grad_input=flowing)
        return flowing

    def store(self, flat: Tensor) -> None:
        """Write weights, as one vector, into the networks."""
        weights = self._parameters()
        pieces = [piece for view in self.split(flat.to(weights[0].device)) for piece in view.flatten(0, 1)]
        with torch.no_grad():
            torch._foreach_copy_(weights, pieces)


def _summed(
    weight: Float[Tensor, "group model 2 klass column"], values: Float[Tensor, "group model klass column"]
) -> Float[Tensor, "group model 2"]:
    """Σ weight · values over classes and columns."""
    if values.is_cuda:
        # A long product with a single column would keep one core of many busy.
        return (weight * values.unsqueeze(2)).sum(dim=(-1, -2))
    heads = weight.shape[0] * weight.shape[1]
    return torch.bmm(weight.view(heads, 2, -1), values.reshape(heads, -1, 1)).view(weight.shape[:3])


def _chosen(
    count: Float[Tensor, "group model 2 klass column"], logits: Float[Tensor, "group model klass column"]
) -> Float[Tensor, "group model 2 column"]:
    """What the class with the largest output counts; of equal ones the first."""
    if logits.shape[2] == 2:
        # The same as below, and many times faster.
        first = (logits[:, :, 0] >= logits[:, :, 1]).unsqueeze(2)
        return torch.where(first, count[..., 0, :], count[..., 1, :])
    place = logits.argmax(dim=2, keepdim=True).unsqueeze(2).expand(-1, -1, 2, -1, -1)
    return count.gather(3, place).squeeze(3)


def _plain(parameter: nn.Parameter, like: nn.Parameter) -> bool:
    """Whether a parameter is one that is trained as it is, where and in the precision that passes are written for."""
    return (
        parameter.requires_grad
        and not parameter._backward_hooks
        and not getattr(parameter, "_post_accumulate_grad_hooks", None)
        and parameter.dtype == like.dtype in (torch.float32, torch.float64)
        and parameter.device == like.device
        and parameter.device.type in ("cpu", "cuda")
    )


def _hooked(module: nn.Module) -> bool:
    """Whether something is to happen around a module, or in place of it."""
    hooks = (
        module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks,
        vars(module).get("parametrizations"),
    )  # fmt: skip
    return any(hooks) or "forward" in vars(module)
