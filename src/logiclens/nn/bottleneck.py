"""Concept bottlenecks: an encoder from raw inputs to concepts, and a network that sees only these concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from logiclens.errors import LogicLensError, quoted
from logiclens.nn.functional import boolean
from logiclens.nn.outputs import (
    CUTS,
    Output,
    OutputKind,
    Select,
    check_output,
    last_operation,
    private_copy,
    resolved,
    selected,
    traced_kind,
)

Interventions = Mapping[int | str, int | float | Tensor]


@dataclass(frozen=True, eq=False)
class Intervention:
    """The effect of changed concepts on the predictions of a bottleneck.

    Args:
        concepts_before: the concepts that the encoder predicts.
        concepts_after: the concepts after the intervention.
        logits_before: the logits of the network before the intervention.
        logits_after: its logits after the intervention.
        predictions_before: the class of each row, or 1 (yes) or 0 (no) for each row and head.
        predictions_after: the same after the intervention.
        changed: whether the prediction of each row changed.

    >>> import torch
    >>> from logiclens.explain import compile_formulas
    >>> from logiclens.formula import parse
    >>> from logiclens.nn import ConceptBottleneck
    >>> network = compile_formulas([parse("tall & ~dark")], ["tall", "dark"])
    >>> encoder = torch.nn.Identity()
    >>> model = ConceptBottleneck(encoder, network, hard=True, names=("tall", "dark"), output="logits")
    >>> changed = model.intervene(torch.tensor([[9.0, 9.0]]), {"dark": 0})
    >>> print(changed.predictions_before.tolist(), changed.predictions_after.tolist())
    [[0]] [[1]]
    """

    concepts_before: Float[Tensor, "batch concept"]
    concepts_after: Float[Tensor, "batch concept"]
    logits_before: Float[Tensor, "batch klass"]
    logits_after: Float[Tensor, "batch klass"]
    predictions_before: Int[Tensor, "batch *klass"]
    predictions_after: Int[Tensor, "batch *klass"]
    changed: Bool[Tensor, " batch"]


class ConceptBottleneck(nn.Module):
    """f(g(x)): the encoder g returns concepts in [0, 1], the network f returns class logits from these alone.

    Args:
        encoder: a module from raw inputs to concepts `[batch, concepts]`, as logits or probabilities: a `ResNet10`, an
            `EntropyNet` (a cascade), or any other.
        network: a module from concepts to class logits `[batch, classes]`, such as an `EntropyNet`.
        hard: whether the network sees concepts rounded to 0 and 1 (1 from 0.5 on). Gradients pass the rounding
            unchanged. Default: False.
        exclusive: whether exactly one concept holds on each row, which uses a softmax instead of a sigmoid per
            concept. Default: False.
        names: names of the concepts; `x0`, `x1`, … by default.
        output: what the encoder returns: `"logits"`, `"probabilities"` or `"log-probabilities"`. Default: `"auto"`, by
            its last operation; an error if that says nothing.
        select: a function that takes the concepts from what the encoder returns, such as `lambda out: out["concepts"]`.
            Default: None, it returns the concepts.

    Example:
        >>> from logiclens.nn import EntropyNet
        >>> model = ConceptBottleneck(nn.Linear(6, 3), EntropyNet(3, 2), names=["red", "round", "ripe"])
        >>> model(torch.rand(4, 6)).shape
        torch.Size([4, 2])
        >>> model.intervene(torch.rand(4, 6), {"ripe": 1.0}).concepts_after[:, 2]
        tensor([1., 1., 1., 1.])
    """

    def __init__(
        self,
        encoder: nn.Module,
        network: nn.Module,
        *,
        hard: bool = False,
        exclusive: bool = False,
        names: Sequence[str] | None = None,
        output: Output = "auto",
        select: Select | None = None,
    ) -> None:
        """Store both modules unchanged."""
        super().__init__()
        for role, part in (("encoder", encoder), ("network", network)):
            if not isinstance(part, nn.Module):
                raise LogicLensError(f"the {role} must be a torch module, got {type(part).__name__}.")
        check_output(output, ("auto", "logits", "probabilities", "log-probabilities"))
        self.output, self.select = output, select
        self._traced: dict[tuple[int, bool], OutputKind | None] = {}
        self.encoder, self.network = encoder, network
        self.hard, self.exclusive = hard, exclusive
        self.names = None if names is None else tuple(names)
        if self.names is not None:
            _check_names(self.names, getattr(network, "n_concepts", None))

    def forward(
        self, x: Shaped[Tensor, "batch *features"], interventions: Interventions | None = None
    ) -> Float[Tensor, "batch klass"]:
        """Return one logit per class.

        Args:
            x: raw inputs.
            interventions: the values of some concepts, as in `intervene`. Default: None.
        """
        logits: Tensor = self.network(self.activate(self.concept_logits(x), interventions))
        return logits

    def concept_logits(self, x: Shaped[Tensor, "batch *features"]) -> Float[Tensor, "batch concept"]:
        """Return the concepts of the encoder as logits, which the concept loss needs.

        Args:
            x: raw inputs.

        Raises:
            LogicLensError: if the encoder does not return one number for each concept, or nothing says whether it
                returns logits or probabilities.
        """
        logits = selected(self.encoder(x), self.select)
        if logits.ndim != 2:
            raise LogicLensError(f"the encoder must return logits [batch, concepts], got shape {list(logits.shape)}.")
        if self.names is not None and logits.shape[1] != len(self.names):
            raise LogicLensError(f"the encoder returns {logits.shape[1]} concepts, but names has {len(self.names)}.")
        kind = self._encoder_kind(x, logits)
        return logits if kind == "logits" else _logits_of(logits, kind, self.exclusive)

    def _encoder_kind(self, x: Tensor, outputs: Tensor) -> OutputKind:
        """Return what the encoder returns, as it was said, or else by its last operation, never by its values."""
        if self.output != "auto":
            return self.output
        if not outputs.is_floating_point():
            return "labels"
        place = (id(self.encoder), self.encoder.training)
        # A compiler cannot follow the graph of autograd: what an earlier call said holds.
        kind = None if torch.compiler.is_compiling() else last_operation(outputs)
        if kind is not None:
            self._traced[place] = kind
        elif place not in self._traced and not torch.compiler.is_compiling():
            # No gradients are recorded, or parameters are frozen: trace a copy once.
            encoder = private_copy(self.encoder).train(self.encoder.training)
            self._traced[place] = traced_kind(encoder, x[:2], self.select)
        kind = self._traced.get(place)
        if kind is None:
            raise LogicLensError(
                "the last operation of the encoder does not say whether it returns logits or probabilities: pass "
                'output="logits" or output="probabilities" to ConceptBottleneck.'
            )
        return kind

    def concepts(self, x: Shaped[Tensor, "batch *features"]) -> Float[Tensor, "batch concept"]:
        """Return g(x) as the network sees it: in [0, 1], and exactly 0 or 1 if `hard`.

        Args:
            x: raw inputs.
        """
        return self.activate(self.concept_logits(x))

    def activate(
        self, logits: Float[Tensor, "batch concept"], interventions: Interventions | None = None
    ) -> Float[Tensor, "batch concept"]:
        """Return the concepts that the network sees.

        Args:
            logits: the concept logits.
            interventions: the values of some concepts, as in `intervene`. Default: None.
        """
        if interventions:
            set_, values = self._set(logits, interventions)
            soft = self._with(logits, set_, values)
        else:
            soft = torch.softmax(logits, dim=-1) if self.exclusive else torch.sigmoid(logits)
        if not self.hard:
            return soft
        # Straight-through estimator: the value is the bit, the gradient is that of the soft concept.
        return boolean(soft).to(soft.dtype) + (soft - soft.detach())

    @torch.no_grad()
    def intervene(
        self,
        x: Shaped[Tensor, "batch *features"],
        interventions: Interventions,
        *,
        answer: Literal["argmax", "threshold"] | None = None,
        output: Output = "auto",
        select: Select | None = None,
    ) -> Intervention:
        """Set some concepts and return how concepts, logits and predictions change.

        If concepts are exclusive, the other concepts share the remaining probability in their old proportions: setting
        one concept to 1 sets all others to 0.

        Args:
            x: raw inputs.
            interventions: the new value in [0, 1] of each concept, given by name or number; one value for all rows or
                one for each row.
            answer: how to read predictions: `"argmax"` takes the largest logit (the default for several heads),
                `"threshold"` says yes for each head with a probability of at least 0.5 (the default for one head).
            output: what the outputs of the network are. Default: `"auto"`; see `logiclens.explain.read`.
            select: a function that takes the outputs from what the network returns. Default: None.
        """
        if answer not in ("argmax", "threshold", None):
            raise LogicLensError(f"answer must be 'argmax' or 'threshold', got {quoted(answer)}.")
        check_output(output)
        concept_logits = self.concept_logits(x)
        seen = self.activate(concept_logits), self.activate(concept_logits, interventions)
        before, after = (selected(self.network(concepts), select) for concepts in seen)
        if before.ndim == 1:
            before, after = before[:, None], after[:, None]
        by_threshold = answer == "threshold" or (answer is None and before.shape[1] == 1)
        if by_threshold:
            traced = traced_kind(private_copy(self.network), seen[0][:1], select) if output == "auto" else None
            values = torch.cat([before, after]).double().cpu().numpy()
            cut = CUTS[resolved(values, output, traced, exclusive=False)]
            was, is_ = (before >= cut).long(), (after >= cut).long()
        else:
            was, is_ = before.argmax(dim=1), after.argmax(dim=1)
        return Intervention(*seen, before, after, was, is_, (was != is_).reshape(len(was), -1).any(dim=1))

    def extra_repr(self) -> str:
        """Return how logits become concepts."""
        return f"hard={self.hard}, exclusive={self.exclusive}"

    def _set(self, logits: Tensor, interventions: Interventions) -> tuple[Tensor, Tensor]:
        """Return which concepts are set, and the value of each on each row."""
        n_rows, n_concepts = logits.shape
        set_ = torch.zeros(n_concepts, dtype=torch.bool, device=logits.device)
        values = torch.zeros_like(logits)
        for concept, value in interventions.items():
            column = self._column(concept, n_concepts)
            given = torch.as_tensor(value, dtype=logits.dtype, device=logits.device)
            if given.shape not in ((), (n_rows,)) or not bool(((given >= 0) & (given <= 1)).all()):
                raise LogicLensError(
                    f"concept {quoted(concept)} must be set to a number in [0, 1], or to one for each of {n_rows} rows."
                )
            if bool(set_[column]):
                raise LogicLensError(f"concept {quoted(concept)} is set twice: by its name and by its number.")
            set_[column] = True
            values[:, column] = given
        return set_, values

    def _with(self, logits: Tensor, set_: Tensor, values: Tensor) -> Tensor:
        """Return the soft concepts, with those in `set_` at their values."""
        if not self.exclusive:
            return torch.where(set_, values, torch.sigmoid(logits))
        left = 1 - values.sum(dim=1, keepdim=True)
        # Float sums of values such as 0.1 may exceed 1 by a rounding error.
        if bool((left < -1e-6).any()):
            raise LogicLensError("these concepts exclude each other: their new values must not sum to more than 1.")
        if bool(set_.all()):
            return values
        shares = torch.softmax(logits.masked_fill(set_, -torch.inf), dim=-1)
        return torch.where(set_, values, left.clamp(min=0) * shares)

    def _column(self, concept: int | str, n_concepts: int) -> int:
        names = self.names or tuple(f"x{i}" for i in range(n_concepts))
        if isinstance(concept, str):
            if concept not in names:
                known = ", ".join(repr(name) for name in names[:8])
                raise LogicLensError(f"there is no concept {quoted(concept)}; the concepts are {known}.")
            return names.index(concept)
        if not 0 <= concept < n_concepts:
            raise LogicLensError(f"a concept must be 0 to {n_concepts - 1}, or a name, got {concept}.")
        return concept


def _logits_of(outputs: Tensor, kind: OutputKind, exclusive: bool) -> Tensor:
    """Return logits whose softmax or sigmoid gives the concepts that an encoder returns as probabilities."""
    outputs = outputs if outputs.is_floating_point() else outputs.float()
    probabilities = outputs.exp() if kind == "log-probabilities" else outputs
    smallest = torch.finfo(probabilities.dtype).eps
    # A compiler cannot follow a check of values.
    if not torch.compiler.is_compiling() and bool((probabilities - 0.5).abs().gt(0.5 + smallest).any()):
        raise LogicLensError(f"the encoder returns no {kind}: some concepts are outside of [0, 1].")
    if exclusive:
        return probabilities.clamp(min=smallest).log()
    return probabilities.clamp(smallest, 1 - smallest).logit()


def _check_names(names: tuple[str, ...], n_concepts: int | None) -> None:
    if len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names):
        raise LogicLensError("names must be distinct strings, one for each concept.")
    if n_concepts is not None and len(names) != n_concepts:
        raise LogicLensError(f"the network takes {n_concepts} concepts, but names has {len(names)}.")
