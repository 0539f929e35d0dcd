"""What `model.json` says twice must be said alike: a rule predicts by its own copy of the cuts."""

from __future__ import annotations

from itertools import combinations

from .errors import Refuted
from .fields import Fields, shown
from .meaning import excludes
from .names import misleads
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
    # Schema 1 says whether columns are cut, schema 2 how.
    if record.get("raw_columns") is True or record.get("cutting") is not None:
        _check_raw_groups(model)
        _check_names(model)


def _check_predicates(meant: object, copied: object) -> None:
    if not isinstance(meant, dict) or not isinstance(copied, dict):
        raise _contradiction("its predicates are not objects")
    for concept, predicate in copied.items():
        if meant.get(concept) != predicate:
            raise _contradiction(f"rules and model differ in what {shown(concept)} means on the table")


def _check_raw_groups(model: Model) -> None:
    """On raw columns only what one column cannot be at once excludes itself; anything else is an assumption."""
    for group in model.exclusive:
        for pair in combinations(group, 2):
            meant = [model.predicates[name] for name in pair if name in model.predicates]
            if len(meant) < 2 or not excludes(*meant):
                raise _contradiction(
                    f"{shown(list(pair))} cannot exclude each other: these are not values of one column, of which it "
                    "has one at a time"
                )


def _check_names(model: Model) -> None:
    """On raw columns names are made from the cuts: a rule is read by them."""
    columns = {predicate.column for predicate in model.predicates.values()}
    for name, predicate in model.predicates.items():
        if misleads(name, predicate, columns):
            meant = f"{predicate.column} {predicate.operator} {predicate.value}"
            raise _contradiction(f"the concept {shown(name)} means {shown(meant)} on the table")


def _contradiction(what: str) -> Refuted:
    return Refuted(f"model.json contradicts itself: {what}. Save the model again to have it made from one source.")
