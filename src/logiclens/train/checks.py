"""What rows and a network must be to be trained on each other."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor, nn

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning


def checked_heads(network: nn.Module, data: ConceptTable, like: Tensor) -> int:
    """The number of heads, seen by sending one row through."""
    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            row = torch.tensor(np.array(data.values[:1]), dtype=like.dtype, device=like.device)
            logits = network(row)
    finally:
        network.train(was_training)
    if logits.ndim != 2:
        raise LogicLensError(f"the network must give logits [batch, classes], got {logits.ndim} dimension(s).")
    return int(logits.shape[1])


def checked_data(data: ConceptTable, validation: ConceptTable | None) -> tuple[str, ...]:
    """Refuse what cannot be learned from; warn of what the user should know, and return it as notes."""
    if data.labels is None:
        raise LogicLensError("training needs labels: pass labels=... when building the table.")
    if validation is not None:
        if validation.labels is None:
            raise LogicLensError("the validation rows have no labels: pass labels=... when building the table.")
        if validation.names != data.names:
            raise LogicLensError("the validation rows must have the same concepts as the training rows, in one order.")
        if validation.class_names != data.class_names:
            raise LogicLensError("the validation rows must have the same classes as the training rows.")
    empty = data.empty_classes()
    if not data.is_multilabel and len(data.class_names) - len(empty) < 2:
        raise LogicLensError("all training rows have one class: at least two are needed to learn a difference.")
    notes = []
    if constant := data.constant_concepts():
        notes.append(_listed("of the concepts,", constant, "constant on the training rows and cannot matter"))
    if empty:
        notes.append(_listed("of the classes,", empty, "without training rows and cannot be learned"))
    for note in notes:
        warnings.warn(note, LogicLensWarning, stacklevel=4)
    return tuple(notes)


def _listed(what: str, names: tuple[str, ...], rest: str) -> str:
    shown = ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{what} {shown} {'is' if len(names) == 1 else 'are'} {rest}."
