"""What `model.json` says twice must be said alike: a rule predicts by its own copy of the cuts."""

from __future__ import annotations

from .errors import Refuted
from .fields import Fields, shown
from .records import Model


def check_agreement(fields: Fields, model: Model) -> None:
    """Refuse a model that contradicts itself; fields that are left out contradict nothing."""
    record, rules = fields.record, fields.inner("rules")
    if record.get("exact", True) is not True:
        raise _contradiction("it says that the model is not exact, and there is a certificate")
    _check_predicates(record.get("predicates", {}), rules.record.get("predicates", {}))
    multilabel = record.get("multilabel", False)
    if rules.record.get("multilabel", multilabel) != multilabel:
        raise _contradiction("model and rules differ in whether a row may have several labels")
    labels = record.get("labels")
    if isinstance(labels, list) and not multilabel and [str(label) for label in labels] != list(model.class_names):
        raise _contradiction(f"its labels {shown(labels)} are not its class names {shown(list(model.class_names))}")
    if record.get("raw_columns") is True:
        _check_raw_groups(model, record.get("predicates", {}))


def _check_predicates(meant: object, copied: object) -> None:
    if not isinstance(meant, dict) or not isinstance(copied, dict):
        raise _contradiction("its predicates are not objects")
    for concept, predicate in copied.items():
        if meant.get(concept) != predicate:
            raise _contradiction(f"rules and model differ in what {shown(concept)} means on the table")


def _check_raw_groups(model: Model, predicates: object) -> None:
    """On raw columns only the values of one column exclude each other by themselves; anything else is an assumption."""
    for group in model.exclusive:
        entries = [predicates.get(name) for name in group] if isinstance(predicates, dict) else []
        meant = [entry for entry in entries if isinstance(entry, dict) and entry.get("operator") == "=="]
        columns = {str(entry.get("column")) for entry in meant}
        values = {str(entry.get("value")) for entry in meant}
        if len(meant) < len(group) or len(columns) > 1 or len(values) < len(group):
            raise _contradiction(f"{shown(list(group))} cannot exclude each other: these are not values of one column")


def _contradiction(what: str) -> Refuted:
    return Refuted(f"model.json contradicts itself: {what}. Save the model again to have it made from one source.")
