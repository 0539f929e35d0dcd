"""Check of the decision between classes: the certificate and the rules in `model.json` must agree.

`claim` uses it for certificates of schema 2. It compares the order of the classes, complements and `otherwise`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .files import Refuted, shown
from .records import Claim, Model, Resolution
from .report import name_text


def check_resolution(stated: Resolution, stored: Resolution, claims: Sequence[Claim], model: Model) -> str:
    """Check that the certificate states the decision between classes that the stored rules make.

    Args:
        stated: the decision in `certificate.json`.
        stored: the decision in `model.json`.
        claims: the claims of the certificate.
        model: the model that the certificate is about.

    Returns:
        The decision in words.

    Raises:
        Refuted: the two differ, or the stored decision is inconsistent.
    """
    for what, said, is_so in (
        ("resolve", stated.resolve, stored.resolve),
        ("order", list(stated.order), list(stored.order)),
        ("otherwise", stated.otherwise, stored.otherwise),
    ):
        if said != is_so:
            raise _refuted(f"certificate.json has {what} {shown(said)}, the rules in model.json have {shown(is_so)}")
    _check_order(stored, model)
    _check_otherwise(stored, model)
    for claim in claims:
        other = None if claim.complement_of is None else model.class_names[claim.complement_of]
        if model.complements.get(claim.name) != other:
            printed = model.complements.get(claim.name)
            raise _refuted(
                f"certificate.json has class {shown(claim.name)} as {_complement(other)}, the rules in model.json as "
                f"{_complement(printed)}"
            )
    _check_complements(stored, model)
    return _words(stored)


def _check_order(stored: Resolution, model: Model) -> None:
    if stored.multilabel:
        if stored.order:
            raise _refuted("a row can have several labels, and yet the rules have an order of classes")
        return
    stated = [name for name in model.class_names if name in model.rules]
    needed = stored.resolve == "order" or stored.order
    if needed and sorted(stored.order) != sorted(stated):
        raise _refuted(
            f"the order {shown(list(stored.order))} must name each class with a formula once: {shown(stated)}"
        )


def _check_otherwise(stored: Resolution, model: Model) -> None:
    if stored.otherwise is not None and (stored.multilabel or stored.otherwise not in model.class_names):
        why = "a row can have several labels" if stored.multilabel else "the model has no such class"
        raise _refuted(f"the rules give rows on which nothing fires the class {shown(stored.otherwise)}, and {why}")


def _check_complements(stored: Resolution, model: Model) -> None:
    """Check that a complement is one of two classes, and that it is the class of rows on which no formula fires."""
    for name in model.complements:
        if stored.multilabel or len(model.class_names) != 2:
            raise _refuted(f"class {shown(name)} is a complement, which only one of two classes can be")
        if stored.otherwise != name:
            raise _refuted(
                f"class {shown(name)} is a complement, and yet rows on which nothing fires get "
                f"{shown(stored.otherwise)}"
            )


def _complement(other: str | None) -> str:
    return "a class with a formula" if other is None else f"the complement of {shown(other)}"


def _words(stored: Resolution) -> str:
    if stored.multilabel:
        return "Every label is decided by its own formula."
    otherwise = "nobody decides" if stored.otherwise is None else name_text(stored.otherwise)
    names = ", ".join(map(name_text, stored.order))
    if stored.resolve == "order":
        return f"The first that applies decides: {names}; otherwise {otherwise}."
    if stored.resolve == "confidence":
        return f"Where several formulas fire, the cube with the highest confidence decides; otherwise {otherwise}."
    return "Where not exactly one formula fires, nobody decides."


def _refuted(what: str) -> Refuted:
    return Refuted(f"{what}. Do not take the printed rules for the model; save it again.")
