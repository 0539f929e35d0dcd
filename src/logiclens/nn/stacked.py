"""Many networks of one build as one: forward pass, loss and gradient for all of them at once.

`Stack` calls the equations of `nn.functional`, as `EntropyNet` does, and their hand-written derivatives, which stand
below them there. A pass is some thirty operations on buffers that exist already, where autograd would take several
times as long.

Axis words beside those of `logiclens.nn.functional`: `group` (models that see the same rows), `model`, and `column`: a
row of concepts, because rows lie side by side here, so that each head works on one matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from logiclens.nn import functional
from logiclens.nn.layers import EntropyLogicLayer, EntropyNet, LinearIndependent

SLOPES: dict[type[nn.Module], float] = {nn.ReLU: 0.0, nn.LeakyReLU: 0.01}
"""Activations whose derivative can be computed from their output, with their slope below 0."""
NARROW = 16
"""Number of columns below which a CPU computes a matrix product twice as fast if it is transposed."""


def stackable(network: nn.Module) -> TypeGuard[EntropyNet]:
    """Return whether `Stack` can train a network: untied heads, a known activation, no hooks, nothing frozen."""
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


@dataclass(frozen=True, eq=False)
class StackedRows:
    """The rows of all groups, side by side, and their weights for each model.

    The axis of length 2 has training rows first and validation rows second.

    Attributes:
        concepts: one column per distinct row. Models learn from the first `n_train` columns; any column may hold a
            validation row.
        n_train: number of columns that models learn from.
        whole: the sum of `count` (and `count_no`) over classes and columns, by which accuracies are divided.
        weight: weight of each class on each column in the loss, as a share of the total.
        count: weight of each class on each column in the accuracy.
        weight_no: for several labels per row, the weight of the answer no in the loss; else None.
        count_no: for several labels per row, the weight of the answer no in the accuracy; else None.
    """

    concepts: Float[Tensor, "group column concept"]
    n_train: int
    whole: Float[Tensor, "group model 2"]
    weight: Float[Tensor, "group model 2 klass column"]
    count: Float[Tensor, "group model 2 klass column"]
    weight_no: Float[Tensor, "group model 2 klass column"] | None = None
    count_no: Float[Tensor, "group model 2 klass column"] | None = None


class Stack:
    """The weights of `[group][model]` networks in one vector, their gradient in another, and the passes over them.

    Call `forward`, then `judge`, then `backward`; the gradient of all models is then in `gradient`.

    Args:
        networks: networks with the same concepts, classes, widths, activation, precision and device.
        rows: the rows that they learn from.
        penalty: second term of the loss: `"entropy"`, `"l1"` or None.
        penalty_weight: λ of each model, `[group][model]`.
    """

    def __init__(
        self,
        networks: Sequence[Sequence[EntropyNet]],
        rows: StackedRows,
        penalty: str | None,
        penalty_weight: Sequence[Sequence[float]],
    ) -> None:
        """Copy the weights to the device of the rows; the networks stay unchanged until `store`."""
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
        self.keep = None if bool(keep.all()) else keep.to(self.flat.device)
        self.temperature = self.flat.new_tensor([layer.temperature for layer in layers]).view(*self.shape, 1, 1)
        self.penalty_weight = self.flat.new_tensor(penalty_weight).view(*self.shape, 1, 1)
        self.penalised = (self.penalty_weight[..., 0, 0] > 0).to(self.flat).mul_(penalty is not None)
        self._prepare()

    def _parameters(self) -> list[Tensor]:
        """Return the parameters of all networks, in the order of the vector."""
        of_models = [network.parameters() for group in self.networks for network in group]
        return [parameter for of_a_kind in zip(*of_models, strict=True) for parameter in of_a_kind]

    def split(self, flat: Tensor) -> list[Tensor]:
        """Split a vector into one tensor `[group, model, …]` for each parameter of a network."""
        lengths = [self.shape[0] * self.shape[1] * size.numel() for size in self._sizes]
        parts = torch.split(flat, lengths)
        return [part.view(*self.shape, *size) for part, size in zip(parts, self._sizes, strict=True)]

    def _prepare(self) -> None:
        """Create the buffers and views that every pass uses."""
        concepts, n_train = self.rows.concepts, self.rows.n_train
        n_groups, n_columns, n_concepts = concepts.shape
        n_models, n_classes = self.shape[1], self.views[0].shape[2]
        heads = n_groups * n_models * n_classes
        self.columns = concepts.transpose(1, 2).contiguous()
        self.learned = concepts[:, :n_train].contiguous()
        like = self.flat
        self.folded = torch.empty_like(self.views[0])
        self.folded_gradient = torch.empty_like(self.views[0])
        self.outputs = [like.new_empty(heads, width, n_columns) for width in self.hidden]
        self.slopes = [like.new_empty(heads, width, n_train) for width in self.hidden]
        self.logits = like.new_empty(heads, 1, n_columns)
        self.all_logits = self.logits.view(*self.shape, n_classes, n_columns)
        self.trained_outputs = [output[..., :n_train] for output in self.outputs]
        self.tails = [
            (w.view(heads, *w.shape[-2:]), b.view(heads, -1, 1))
            for w, b in zip(self.views[2::2], self.views[3::2], strict=True)
        ]
        # Weights, input and output of each layer after the first.
        self.passes = list(zip(self.tails, self.outputs, [*self.outputs[1:], self.logits], strict=True))
        self.turned_tails = [weights.transpose(1, 2) for weights, _ in self.tails]
        self.tail_gradients = [
            (w.view(heads, *w.shape[-2:]), b.view(heads, -1))
            for w, b in zip(self.gradients[2::2], self.gradients[3::2], strict=True)
        ]
        self.first = self.folded.view(n_groups, -1, n_concepts)
        self.first_output = self.outputs[0].view(n_groups, -1, n_columns)
        self.first_bias = self.views[1].view(n_groups, -1, 1)
        self.first_gradient = self.folded_gradient.view(n_groups, -1, n_concepts)
        self.first_bias_gradient = self.gradients[1].view(n_groups, -1)
        self.turned: Tensor | None = None
        if n_concepts < NARROW and not like.is_cuda:
            self.turned = like.new_empty(n_groups, n_concepts, self.first.shape[1])
        rows = self.rows
        wanted = rows.weight[:, :, 0, :, :n_train]
        self.minus_weight = -wanted
        if rows.weight_no is None:
            self.total = wanted.sum(dim=2, keepdim=True)
        else:
            self.total = wanted + rows.weight_no[:, :, 0, :, :n_train]

    def judge(self, logits: Float[Tensor, "group model klass column"]) -> tuple[Tensor, Tensor, Tensor]:
        """Return loss and correct weight `[group, model, 2]` on training and validation rows, and the loss gradient.

        The gradient is that of the training loss with respect to the logits.
        """
        rows, n_train = self.rows, self.rows.n_train
        if rows.weight_no is None or rows.count_no is None:
            log_p = torch.log_softmax(logits, dim=2)
            loss = functional.cross_entropy(log_p, rows.weight)
            right = _chosen(rows.count, logits).sum(dim=-1)
            wrong = functional.cross_entropy_gradient(log_p[..., :n_train], self.minus_weight, self.total)
            return loss, right, wrong
        loss = functional.binary_cross_entropy(logits, rows.weight, rows.weight_no)
        right = torch.where((logits >= 0).unsqueeze(2), rows.count, rows.count_no).sum(dim=(-1, -2))
        wrong = functional.binary_cross_entropy_gradient(logits[..., :n_train], self.minus_weight, self.total)
        return loss, right, wrong

    def forward(self) -> Float[Tensor, "group model klass column"]:
        """Return the logits on every column; keep in buffers what `backward` needs."""
        weight = self.views[0]
        layer = functional.strength(weight), self.temperature, self.keep
        self.log_tilde = functional.log_relevance(*layer)
        self.relevance = functional.relevance(*layer, log_tilde=self.log_tilde)
        if self.penalty == "entropy":
            self.log_alpha = functional.log_attention(*layer, log_tilde=self.log_tilde)
            self.entropy = functional.entropy(*layer, log_alpha=self.log_alpha)
        functional.fold(weight, self.relevance, out=self.folded)
        functional.affine(self.first, self.columns, self.first_bias, out=self.first_output)
        self._activate(self.outputs[0])
        for (weights, bias), given, out in self.passes:
            functional.affine(weights, given, bias, out=out)
            if out is not self.logits:
                self._activate(out)
        return self.all_logits

    def backward(self, wrong: Float[Tensor, "group model klass trained"]) -> None:
        """Compute the gradient of loss plus penalty, given the gradient of the loss with respect to the logits."""
        n_train = self.rows.n_train
        flow = wrong.reshape(-1, 1, n_train)
        for layer in reversed(range(len(self.tails))):
            given, (weight_out, bias_out) = self.trained_outputs[layer], self.tail_gradients[layer]
            functional.affine_gradient(flow, given.transpose(1, 2), weight_out=weight_out, bias_out=bias_out)
            flow = functional.affine_flow(flow, self.turned_tails[layer], out=self.slopes[layer])
            self._slope(flow, given)
        flow = flow.view(len(self.first), -1, n_train)
        functional.affine_gradient(
            flow,
            self.learned,
            weight_out=self.first_gradient,
            bias_out=self.first_bias_gradient,
            turned=self.turned,
        )
        self._entropy_layer_gradient()

    def _entropy_layer_gradient(self) -> None:
        """Compute the gradient of the first weights: each changes its own product and the relevance of its concept."""
        weight, gradient = self.views[0], self.gradients[0]
        flow = functional.fold_gradient(self.folded_gradient, self.folded, self.relevance, out=gradient)
        flow = functional.log_relevance_gradient(flow, self.log_tilde, self.temperature)
        if self.penalty == "entropy":
            functional.entropy_gradient(
                self.penalty_weight, self.log_alpha, self.entropy, self.temperature, self.keep, into=flow
            )
        functional.strength_gradient(flow, weight, into=gradient)
        if self.penalty == "l1":
            for view, into in zip(self.views[::2], self.gradients[::2], strict=True):
                functional.l1_norm_gradient(self.penalty_weight.unsqueeze(-1), view, into=into)

    def penalties(self) -> Float[Tensor, "group model"]:
        """Return the penalty of each model at the weights of the last `forward`, before multiplying by `penalised`."""
        if self.penalty is None:
            return self.penalised
        if self.penalty == "entropy":
            return self.entropy.sum(dim=-1)
        return torch.stack([functional.l1_norm(view, (-1, -2, -3)) for view in self.views[::2]]).sum(dim=0)

    def _activate(self, values: Tensor) -> None:
        if self.slope:
            nn.functional.leaky_relu_(values, self.slope)
        else:
            values.relu_()

    def _slope(self, flow: Tensor, activated: Tensor) -> None:
        """Multiply `flow` by the derivative of the activation, computed from its output."""
        if self.slope:
            torch.ops.aten.leaky_relu_backward.grad_input(flow, activated, self.slope, True, grad_input=flow)
        else:
            torch.ops.aten.threshold_backward.grad_input(flow, activated, 0, grad_input=flow)

    def store(self, flat: Tensor) -> None:
        """Write a vector of weights into the networks."""
        weights = self._parameters()
        pieces = [piece for view in self.split(flat.to(weights[0].device)) for piece in view.flatten(0, 1)]
        with torch.no_grad():
            torch._foreach_copy_(weights, pieces)


def _chosen(
    count: Float[Tensor, "group model 2 klass column"], logits: Float[Tensor, "group model klass column"]
) -> Float[Tensor, "group model 2 column"]:
    """Return the weight of the class with the largest logit; the first of equal ones."""
    if logits.shape[2] == 2:
        # The same as below, but many times faster.
        first = (logits[:, :, 0] >= logits[:, :, 1]).unsqueeze(2)
        return torch.where(first, count[..., 0, :], count[..., 1, :])
    place = logits.argmax(dim=2, keepdim=True).unsqueeze(2).expand(-1, -1, 2, -1, -1)
    return count.gather(3, place).squeeze(3)


def _plain(parameter: nn.Parameter, like: nn.Parameter) -> bool:
    """Return whether a parameter is trainable, has no hooks, and has a supported device and precision."""
    return (
        parameter.requires_grad
        and not parameter._backward_hooks
        and not getattr(parameter, "_post_accumulate_grad_hooks", None)
        and parameter.dtype == like.dtype in (torch.float32, torch.float64)
        and parameter.device == like.device
        and parameter.device.type in ("cpu", "cuda")
    )


def _hooked(module: nn.Module) -> bool:
    """Return whether a module has hooks, parametrisations or a replaced `forward`."""
    hooks = (
        module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks,
        vars(module).get("parametrizations"),
    )  # fmt: skip
    return any(hooks) or "forward" in vars(module)
