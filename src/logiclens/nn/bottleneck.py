"""Concept bottlenecks: an encoder from raw inputs to concepts, and a network that sees nothing but these concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from logiclens.errors import LogicLensError
from logiclens.nn.functional import boolean

Interventions = Mapping[int | str, int | float | Tensor]


@dataclass(frozen=True, eq=False)
class Intervention:
    """What a change of concepts does to the answers of a bottleneck.

    Attributes:
        concepts_before: what the network saw.
        concepts_after: what it sees with the concepts set.
        logits_before: the network's answer.
        logits_after: its answer with the concepts set.
        predictions_before: the class of each row, or a yes or no (1 or 0) for each head and row.
        predictions_after: the same with the concepts set.
        changed: the rows whose prediction changed.
    """

    concepts_before: Float[Tensor, "batch concept"]
    concepts_after: Float[Tensor, "batch concept"]
    logits_before: Float[Tensor, "batch klass"]
    logits_after: Float[Tensor, "batch klass"]
    predictions_before: Int[Tensor, "batch *klass"]
    predictions_after: Int[Tensor, "batch *klass"]
    changed: Bool[Tensor, " batch"]


class ConceptBottleneck(nn.Module):
    """f(g(x)): the encoder g gives concepts in [0, 1], the network f gives class logits from them alone.

    Args:
        encoder: from raw inputs to concept logits `[batch, concepts]`: a `ResNet10`, an `EntropyNet` (a cascade), or
            any other module.
        network: from concepts to class logits `[batch, classes]`, such as an `EntropyNet`.
        hard: whether the network sees concepts cut to 0 and 1 (at 0.5, `>=`). Gradients pass the cut unchanged.
        exclusive: whether exactly one concept holds on a row: softmax in place of a sigmoid for each.
        names: of the concepts; `x0`, `x1`, … where not given.

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
    ) -> None:
        """Keep both parts; neither is changed."""
        super().__init__()
        for role, part in (("encoder", encoder), ("network", network)):
            if not isinstance(part, nn.Module):
                raise LogicLensError(f"the {role} must be a torch module, got {type(part).__name__}.")
        *_, last = encoder.modules()
        if isinstance(last, nn.Sigmoid | nn.Softmax | nn.LogSoftmax):
            raise LogicLensError(
                f"the encoder must give logits, and this one ends in {type(last).__name__}: leave that out; "
                "the bottleneck turns logits into concepts itself."
            )
        self.encoder, self.network = encoder, network
        self.hard, self.exclusive = hard, exclusive
        self.names = None if names is None else tuple(names)
        if self.names is not None:
            _check_names(self.names, getattr(network, "n_concepts", None))

    def forward(
        self, x: Shaped[Tensor, "batch *features"], interventions: Interventions | None = None
    ) -> Float[Tensor, "batch klass"]:
        """One logit per class, with some concepts set where `interventions` says so; see `intervene`."""
        logits: Tensor = self.network(self.activate(self.concept_logits(x), interventions))
        return logits

    def concept_logits(self, x: Shaped[Tensor, "batch *features"]) -> Float[Tensor, "batch concept"]:
        """What the encoder gives, for the concept loss."""
        logits: Tensor = self.encoder(x)
        if logits.ndim != 2:
            raise LogicLensError(f"the encoder must give logits [batch, concepts], got shape {list(logits.shape)}.")
        if self.names is not None and logits.shape[1] != len(self.names):
            raise LogicLensError(f"the encoder gives {logits.shape[1]} concepts, {len(self.names)} were named.")
        return logits

    def concepts(self, x: Shaped[Tensor, "batch *features"]) -> Float[Tensor, "batch concept"]:
        """g(x) as the network sees it: in [0, 1]; exactly 0 or 1 where concepts are hard."""
        return self.activate(self.concept_logits(x))

    def activate(
        self, logits: Float[Tensor, "batch concept"], interventions: Interventions | None = None
    ) -> Float[Tensor, "batch concept"]:
        """From concept logits to what the network sees."""
        if interventions:
            set_, values = self._set(logits, interventions)
            soft = self._with(logits, set_, values)
        else:
            soft = torch.softmax(logits, dim=-1) if self.exclusive else torch.sigmoid(logits)
        if not self.hard:
            return soft
        # Straight through: the value is the bit, the gradient that of the soft concept. Their difference is exactly 0.
        return boolean(soft).to(soft.dtype) + (soft - soft.detach())

    @torch.no_grad()
    def intervene(
        self,
        x: Shaped[Tensor, "batch *features"],
        interventions: Interventions,
        *,
        answer: Literal["argmax", "threshold"] | None = None,
    ) -> Intervention:
        """What happens where concepts are set: their value, in [0, 1], for all rows or one for each row.

        Where concepts are exclusive, those not named share what the named ones leave, in their old proportions: to set
        one to 1 sets the others to 0.

        Args:
            x: raw inputs.
            interventions: the value of each concept that is set, by name or number.
            answer: how predictions are read: the largest logit (`"argmax"`; the default for several heads), or a yes
                for each head whose probability is at least 0.5 (`"threshold"`; the default for one head).
        """
        if answer not in ("argmax", "threshold", None):
            raise LogicLensError(f"answer must be 'argmax' or 'threshold', got {answer!r}.")
        concept_logits = self.concept_logits(x)
        seen = self.activate(concept_logits), self.activate(concept_logits, interventions)
        before, after = self.network(seen[0]), self.network(seen[1])
        by_threshold = answer == "threshold" or (answer is None and before.shape[1] == 1)
        was, is_ = ((out >= 0).long() if by_threshold else out.argmax(dim=1) for out in (before, after))
        return Intervention(*seen, before, after, was, is_, (was != is_).reshape(len(was), -1).any(dim=1))

    def extra_repr(self) -> str:
        """How concepts are made."""
        return f"hard={self.hard}, exclusive={self.exclusive}"

    def _set(self, logits: Tensor, interventions: Interventions) -> tuple[Tensor, Tensor]:
        """Which concepts are set, and the value of each on each row."""
        n_rows, n_concepts = logits.shape
        set_ = torch.zeros(n_concepts, dtype=torch.bool, device=logits.device)
        values = torch.zeros_like(logits)
        for concept, value in interventions.items():
            column = self._column(concept, n_concepts)
            given = torch.as_tensor(value, dtype=logits.dtype, device=logits.device)
            if given.shape not in ((), (n_rows,)) or not bool(((given >= 0) & (given <= 1)).all()):
                raise LogicLensError(
                    f"concept {concept!r} must be set to a number in [0, 1], or to one for each of {n_rows} rows."
                )
            if bool(set_[column]):
                raise LogicLensError(f"concept {concept!r} is set twice: by its name and by its number.")
            set_[column] = True
            values[:, column] = given
        return set_, values

    def _with(self, logits: Tensor, set_: Tensor, values: Tensor) -> Tensor:
        """The soft concepts, with those in `set_` at their values."""
        if not self.exclusive:
            return torch.where(set_, values, torch.sigmoid(logits))
        left = 1 - values.sum(dim=1, keepdim=True)
        # Float sums of values such as 0.1 may pass 1 by a rounding.
        if bool((left < -1e-6).any()):
            raise LogicLensError("these concepts exclude each other: the values they are set to must not sum above 1.")
        if bool(set_.all()):
            return values
        shares = torch.softmax(logits.masked_fill(set_, -torch.inf), dim=-1)
        return torch.where(set_, values, left.clamp(min=0) * shares)

    def _column(self, concept: int | str, n_concepts: int) -> int:
        names = self.names or tuple(f"x{i}" for i in range(n_concepts))
        if isinstance(concept, str):
            if concept not in names:
                known = ", ".join(repr(name) for name in names[:8])
                raise LogicLensError(f"there is no concept {concept!r}; the concepts are {known}.")
            return names.index(concept)
        if not 0 <= concept < n_concepts:
            raise LogicLensError(f"a concept must be 0 to {n_concepts - 1}, or a name, got {concept}.")
        return concept


def _check_names(names: tuple[str, ...], n_concepts: int | None) -> None:
    if len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names):
        raise LogicLensError("names must be texts, one for each concept and no two alike.")
    if n_concepts is not None and len(names) != n_concepts:
        raise LogicLensError(f"the network takes {n_concepts} concepts, {len(names)} were named.")
