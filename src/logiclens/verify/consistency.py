"""Consistency of `model.json`: what predictions use agrees with what is printed and with the certificate.

Someone who changes a file can also make its hashes right again. Therefore every field that a prediction depends on must
either follow from others, which is checked here, or be printed (see `report`). `claim` calls `check_model`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from .files import Label, Refuted, shown
from .predicates import (
    column_kind,
    excludes,
    has_one_reading,
    has_quoted_name,
    implies,
    is_own_column,
    looks,
    predicate_name,
    reads_as_condition,
    surely_meet,
    threshold_number,
)
from .records import Certificate, Cutting, Model, Predicate
from .report import column_text, meaning_text

DISTRUST = "Do not take the printed rules for the model; save it again to have a certificate made from its weights."


def check_model(model: Model, certificate: Certificate) -> None:
    """Check that the fields of `model.json` agree with each other and with the certificate.

    Args:
        model: the contents of `model.json`.
        certificate: the contents of `certificate.json`.

    Raises:
        Refuted: two fields contradict each other.
    """
    _check_labels(model)
    _check_decision(model, certificate)
    _check_groups(model)
    _check_cutting(model)
    _check_names(model)
    _check_copies(model)


def contradiction(what: str) -> Refuted:
    """Return the error for two fields that contradict each other."""
    return Refuted(f"model.json contradicts itself: {what}. Save the model again to have it made from one source.")


# Classes -------------------------------------------------------------------------------------------------------------


def _check_labels(model: Model) -> None:
    """Check that labels, class names and rules name the same classes in the same order."""
    stored, names = [rule.label for rule in model.rules.classes], list(model.class_names)
    if model.multilabel != model.rules.multilabel:
        raise contradiction("model and rules differ in whether a row may have several labels")
    printed = list(map(str, stored))
    if absent := [name for name in names if name not in printed]:
        raise Refuted(f"class {shown(absent[0])}: model.json prints no rules for it. {DISTRUST}")
    if printed != names:
        unknown = [name for name in printed if name not in names]
        what = f"for a class {shown(unknown[0])}, which it does not have" if unknown else "in another order"
        raise Refuted(f"model.json prints rules {what}. {DISTRUST}")
    if model.multilabel:
        if not _same(stored, names) or not _same(list(model.labels), list(range(len(names)))):
            raise contradiction(f"its labels {shown(list(model.labels))} must count its class names from 0")
        return
    if len({type(label) for label in model.labels}) > 1:
        raise contradiction(f"its labels {shown(list(model.labels))} are of several types")
    if [str(label) for label in model.labels] != names:
        raise contradiction(f"its labels {shown(list(model.labels))} are not its class names {shown(names)}")
    if not _same(stored, list(model.labels)):
        raise contradiction(f"its labels {shown(list(model.labels))} are not those of its rules {shown(stored)}")


def _same(some: Sequence[Label], others: Sequence[Label]) -> bool:
    """Return whether labels are equal in value and type; in Python, True equals 1."""
    return list(some) == list(others) and list(map(type, some)) == list(map(type, others))


def _check_decision(model: Model, certificate: Certificate) -> None:
    """Check who decides between classes: the certificate says the same, and no part is missing."""
    rules, names = model.rules, model.class_names
    resolve, order, otherwise = certificate.decision
    for what, said, is_so in (
        ("resolve", resolve, rules.resolve),
        ("order", [names[place] for place in order], [names[place] for place in rules.order]),
        ("otherwise", _class(otherwise, names), _class(rules.otherwise, names)),
    ):
        if said != is_so:
            raise _contradicted(
                f"certificate.json has {what} {shown(said)}, the rules in model.json have {shown(is_so)}"
            )
    if certificate.history != rules.history:
        raise _contradicted("certificate.json tells another history of the rules than model.json")
    _check_order(model)
    if rules.multilabel and rules.otherwise is not None:
        raise _contradicted(
            f"the rules give rows on which nothing fires the class {shown(names[rules.otherwise])}, and a row can have "
            "several labels"
        )
    for claim in certificate.claims:
        stored = rules.classes[claim.head].complement_of
        if stored != claim.complement_of:
            raise _contradicted(
                f"certificate.json has class {shown(claim.name)} as {_complement(claim.complement_of, names)}, the "
                f"rules in model.json as {_complement(stored, names)}"
            )
    _check_complements(model)


def _check_order(model: Model) -> None:
    rules, names = model.rules, model.class_names
    order = [names[place] for place in rules.order]
    if rules.multilabel:
        if order:
            raise _contradicted("a row can have several labels, and yet the rules have an order of classes")
        return
    stated = list(model.formulas)
    if (rules.resolve == "order" or order) and sorted(order) != sorted(stated):
        raise _contradicted(f"the order {shown(order)} must name each class with a formula once: {shown(stated)}")


def _check_complements(model: Model) -> None:
    """Check that a complement is one of two classes, and that it is the class of rows on which no formula fires."""
    for place, (name, rule) in enumerate(zip(model.class_names, model.rules.classes, strict=True)):
        if rule.complement_of is None:
            continue
        if model.rules.multilabel or len(model.class_names) != 2:
            raise _contradicted(f"class {shown(name)} is a complement, which only one of two classes can be")
        if model.rules.otherwise != place:
            otherwise = _class(model.rules.otherwise, model.class_names)
            raise _contradicted(
                f"class {shown(name)} is a complement, and yet rows on which nothing fires get {shown(otherwise)}"
            )


def _class(place: int | None, names: Sequence[str]) -> str | None:
    return None if place is None else names[place]


def _complement(other: int | None, names: Sequence[str]) -> str:
    return "a class with a formula" if other is None else f"the complement of {shown(names[other])}"


def _contradicted(what: str) -> Refuted:
    return Refuted(f"{what}. Do not take the printed rules for the model; save it again.")


# Columns and cuts ----------------------------------------------------------------------------------------------------


def _check_cutting(model: Model) -> None:
    """Check that the concepts are made of the table as their predicates say."""
    cutting = model.cutting
    if cutting is None:
        for name, predicate in model.predicates.items():
            if not is_own_column(name, predicate):
                raise contradiction(
                    f"the columns of its table are the concepts, and yet {shown(name)} means "
                    f"{shown(predicate_name(predicate))}"
                )
        return
    if set(model.predicates) != set(model.concepts):
        raise contradiction("each concept of a table that is cut needs one predicate")
    if cutting.positional and cutting.columns != tuple(f"x{place}" for place in range(len(cutting.columns))):
        raise contradiction("columns that are taken by position must be called x0, x1 and so on")
    _check_kinds(model, cutting)
    for name, (middle, _) in cutting.scales.items():
        if name not in model.predicates or threshold_number(model.predicates[name]) != middle:
            raise contradiction(f"the column of {shown(name)} is rescaled around another value, {middle!r}")


def _check_kinds(model: Model, cutting: Cutting) -> None:
    about = {
        *(predicate.column for predicate in model.predicates.values()),
        *(column for predicate in model.predicates.values() for column in predicate.sources),
    }
    parts = {one.column: one.part for one in model.predicates.values() if one.part is not None}
    for name, part in parts.items():
        if name in cutting.columns or any(one.column == name and one.part != part for one in model.predicates.values()):
            raise contradiction(f"{shown(name)} is both a column and a number taken from dates, or two such numbers")
        if wrong := [column for column in part.columns if cutting.kinds.get(column) != "date"]:
            raise contradiction(f"{shown(name)} is taken from {shown(wrong[0])}, which is no column of dates")
    for column in sorted(about ^ cutting.kinds.keys()):
        raise contradiction(f"the column {shown(column)} must have a kind, and concepts that are about it")
    if beyond := sorted(about - set(cutting.columns) - parts.keys()):
        raise contradiction(f"{shown(beyond[0])} is not among its columns")
    for name, predicate in model.predicates.items():
        if column_kind(predicate) not in (None, cutting.kinds[predicate.column]):
            kind = cutting.kinds[predicate.column]
            raise contradiction(f"{shown(name)} cannot be asked of {shown(predicate.column)}, a column of kind {kind}")


# Names ---------------------------------------------------------------------------------------------------------------


def meanings(model: Model) -> tuple[str, ...]:
    """Return what concepts mean, in words, where their names do not say it: those of formulas, and all chosen names."""
    chosen = {name for name, predicate in model.predicates.items() if not _is_derived(name, predicate)}
    named = [name for name in model.concepts if name in chosen or name in model.used]
    return tuple(words for name in named if (words := _meaning(name, model.predicates.get(name))) is not None)


def _is_derived(name: str, predicate: Predicate) -> bool:
    named = name == predicate_name(predicate) or has_quoted_name(name, predicate)
    return named or is_own_column(name, predicate)


def _meaning(name: str, predicate: Predicate | None) -> str | None:
    if predicate is None or is_own_column(name, predicate):
        # A column as it is. The report says so anyway; where the name reads as a condition, it says so again.
        return f"{column_text(name)} means: the column of that name" if reads_as_condition(name) else None
    if name == predicate_name(predicate) and has_one_reading(name) and predicate.part is None:
        return None
    return f"{column_text(name)} means: {meaning_text(predicate)}"


def _check_names(model: Model) -> None:
    """Check that a name is made from its predicate, or else cannot be taken for a condition or another concept."""
    columns = {looks(predicate.column) for predicate in model.predicates.values()}
    columns |= {looks(column) for column in _columns(model)}
    everybody = [looks(name) for name in model.concepts]
    for name, predicate in model.predicates.items():
        if _is_derived(name, predicate):
            continue
        if reads_as_condition(name) or looks(name) in columns or everybody.count(looks(name)) > 1:
            raise contradiction(f"the concept {shown(name)} means {shown(predicate_name(predicate))} on the table")


def _columns(model: Model) -> tuple[str, ...]:
    return () if model.cutting is None else model.cutting.columns


# Groups and copies ---------------------------------------------------------------------------------------------------


def _check_groups(model: Model) -> None:
    """Check that the groups follow from the predicates; without cuts they are what the user declared."""
    known = [[name for name in chain if name in model.predicates] for chain in model.implied]
    for before, after in _steps(known):
        if not implies(model.predicates[after], model.predicates[before]):
            raise Refuted(
                f"model.json declares that {shown(after)} implies {shown(before)}, and by their predicates it does "
                f"not: a chain needs one column, and each condition within the one before it. {DISTRUST}"
            )
    if model.cutting is not None:
        _check_made_groups(model)
    for group in model.exclusive:
        for pair in combinations(group, 2):
            meant = [model.predicates[name] for name in pair if name in model.predicates]
            if len(meant) == 2 and surely_meet(*meant):
                raise Refuted(
                    f"model.json declares {shown(pair[0])} and {shown(pair[1])} exclusive, and by their predicates "
                    f"both are true of some values of {shown(meant[0].column)}. {DISTRUST}"
                )
            if model.cutting is not None and (len(meant) < 2 or not excludes(*meant)):
                raise contradiction(
                    f"{shown(list(pair))} cannot exclude each other: these are not values of one column, of which it "
                    "has one at a time"
                )


def _check_made_groups(model: Model) -> None:
    """Check the form of groups that were made from cuts: several concepts, in the order of the network's inputs."""
    place = {name: number for number, name in enumerate(model.concepts)}
    for group in (*model.exclusive, *model.implied):
        places = [place[name] for name in group]
        if len(group) < 2 or places != sorted(places):
            raise contradiction(f"the group {shown(list(group))} must be several concepts in the order of `concepts`")
    for name in (name for chain in model.implied for name in chain):
        if name not in model.predicates or model.predicates[name].operator != ">=":
            raise contradiction(f"a chain holds {shown(name)}, which is no lower limit of a column")


def _steps(chains: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Return neighbours in chains, which suffice because implication is transitive."""
    return (step for chain in chains for step in pairwise(chain))


def _check_copies(model: Model) -> None:
    """Check that the rules use the predicates of the model, and groups that follow from the model's."""
    rules = model.rules
    for name in {*rules.predicates, *model.used}:
        meant, copied = model.predicates.get(name), rules.predicates.get(name)
        # In Python, True equals 1.
        if meant != copied or (meant and copied and type(meant.value) is not type(copied.value)):
            raise contradiction(f"rules and model differ in what {shown(name)} means on the table")
    # What a concept implies: itself, and those before it in a chain.
    implied = {name: {name} for name in model.concepts}
    for chain in model.implied:
        for place, name in enumerate(chain):
            implied[name] |= set(chain[:place])
    for before, after in _steps(rules.implied):
        if before not in implied[after]:
            raise contradiction(f"its rules take {shown([before, after])} as a chain, which the model does not")
    excluded = {frozenset(pair) for group in model.exclusive for pair in combinations(group, 2)}
    for one, other in (pair for group in rules.exclusive for pair in combinations(group, 2)):
        if not any(frozenset((a, b)) in excluded for a in implied[one] for b in implied[other]):
            raise contradiction(f"its rules take {shown([one, other])} as exclusive, which the model does not")
