"""The check of a certificate: every head gives the answer of its formula on every row of its domain, also in float32.

It provides `verify`, which `python -m logiclens.verify` and the command line call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .files import Fields, Refuted, read_folder, shown
from .network import Head, logits, read_heads, relevance
from .predicates import excludes, implies, misleads, surely_meet
from .records import (
    MOST_CONCEPTS,
    Certificate,
    Claim,
    Cube,
    Domain,
    Formula,
    Model,
    Resolution,
    read_certificate,
    read_model,
    read_resolution,
)
from .report import (
    ClassReport,
    Report,
    complement_text,
    domain_text,
    formula_text,
    name_text,
    row_text,
    wide_domain_text,
)
from .units import Proof, Unproved, prove


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
            raise _contradicted(
                f"certificate.json has {what} {shown(said)}, the rules in model.json have {shown(is_so)}"
            )
    _check_order(stored, model)
    _check_otherwise(stored, model)
    for claim in claims:
        other = None if claim.complement_of is None else model.class_names[claim.complement_of]
        if model.complements.get(claim.name) != other:
            printed = model.complements.get(claim.name)
            raise _contradicted(
                f"certificate.json has class {shown(claim.name)} as {_complement(other)}, the rules in model.json as "
                f"{_complement(printed)}"
            )
    _check_complements(stored, model)
    return _words(stored)


def _check_order(stored: Resolution, model: Model) -> None:
    if stored.multilabel:
        if stored.order:
            raise _contradicted("a row can have several labels, and yet the rules have an order of classes")
        return
    stated = [name for name in model.class_names if name in model.rules]
    needed = stored.resolve == "order" or stored.order
    if needed and sorted(stored.order) != sorted(stated):
        raise _contradicted(
            f"the order {shown(list(stored.order))} must name each class with a formula once: {shown(stated)}"
        )


def _check_otherwise(stored: Resolution, model: Model) -> None:
    if stored.otherwise is not None and (stored.multilabel or stored.otherwise not in model.class_names):
        why = "a row can have several labels" if stored.multilabel else "the model has no such class"
        raise _contradicted(
            f"the rules give rows on which nothing fires the class {shown(stored.otherwise)}, and {why}"
        )


def _check_complements(stored: Resolution, model: Model) -> None:
    """Check that a complement is one of two classes, and that it is the class of rows on which no formula fires."""
    for name in model.complements:
        if stored.multilabel or len(model.class_names) != 2:
            raise _contradicted(f"class {shown(name)} is a complement, which only one of two classes can be")
        if stored.otherwise != name:
            raise _contradicted(
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


def _contradicted(what: str) -> Refuted:
    return Refuted(f"{what}. Do not take the printed rules for the model; save it again.")


def check_agreement(fields: Fields, model: Model) -> None:
    """Check that the fields of `model.json` agree with each other; omitted fields are not compared.

    Args:
        fields: `model.json` as parsed.
        model: the same file as read by `read_model`.

    Raises:
        Refuted: two fields contradict each other.
    """
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
    # Schema 1 stores whether columns are cut, schema 2 stores how.
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
    """Check that the concepts of an exclusive group are values of one column that exclude each other.

    On raw columns any other group is an assumption.
    """
    for group in model.exclusive:
        for pair in combinations(group, 2):
            meant = [model.predicates[name] for name in pair if name in model.predicates]
            if len(meant) < 2 or not excludes(*meant):
                raise _contradiction(
                    f"{shown(list(pair))} cannot exclude each other: these are not values of one column, of which it "
                    "has one at a time"
                )


def _check_names(model: Model) -> None:
    """Check that no name of a concept misleads: on raw columns, names are made from the cuts, and users read them."""
    columns = {predicate.column for predicate in model.predicates.values()}
    for name, predicate in model.predicates.items():
        if misleads(name, predicate, columns):
            meant = f"{predicate.column} {predicate.operator} {predicate.value}"
            raise _contradiction(f"the concept {shown(name)} means {shown(meant)} on the table")


def _contradiction(what: str) -> Refuted:
    return Refuted(f"model.json contradicts itself: {what}. Save the model again to have it made from one source.")


Booleans = NDArray[np.bool_]


def formula_table(formula: Formula, concepts: Sequence[str]) -> Booleans:
    """Return the truth value of the formula on every row of the concepts.

    Args:
        formula: cubes over these concepts.
        concepts: concepts of a row; the first is the highest bit of the row number.

    >>> formula_table(((("a", True), ("b", False)),), ["a", "b"]).tolist()
    [False, False, True, False]
    """
    return _painted(np.zeros((2,) * len(concepts), dtype=np.bool_), formula, concepts, True)


def domain_table(domain: Domain, concepts: Sequence[str]) -> Booleans:
    """Return for every row of the concepts whether the domain allows it.

    A group also restricts a subset of its concepts: at most one of a, b and c means at most one of a and c. If c
    implies b and b implies a, then c implies a.

    Args:
        domain: exclusive and implied groups; concepts that are not in `concepts` are ignored.
        concepts: concepts of a row; the first is the highest bit of the row number.

    >>> domain_table(Domain(exclusive=(("a", "b"),)), ["a", "b"]).tolist()
    [True, True, True, False]
    >>> domain_table(Domain(implied=(("a", "b"),)), ["a", "b"]).tolist()
    [True, False, True, True]
    """
    known = frozenset(concepts)
    impossible: list[Cube] = []
    for group in domain.exclusive:
        impossible += [((a, True), (b, True)) for a, b in combinations([name for name in group if name in known], 2)]
    for chain in domain.implied:
        kept = [name for name in chain if name in known]
        impossible += [((before, False), (after, True)) for before, after in pairwise(kept)]
    return _painted(np.ones((2,) * len(concepts), dtype=np.bool_), impossible, concepts, False)


def _painted(table: Booleans, cubes: Iterable[Cube], concepts: Sequence[str], value: bool) -> Booleans:
    axes = {name: axis for axis, name in enumerate(concepts)}
    for cube in cubes:
        index: list[int | slice] = [slice(None)] * len(concepts)
        for name, wanted in cube:
            index[axes[name]] = int(wanted)
        table[tuple(index)] = value
    return table.reshape(-1)


RELEVANT = 0.5
"""ε: the smallest relevance at which a concept counts as relevant."""
DISTRUST = "Do not take the printed rules for the model; save it again to have a certificate made from its weights."


def verify(folder: str | Path) -> Report:
    """Recompute the claims of a certificate from the weights.

    Args:
        folder: a saved model with `model.json`, `weights.safetensors` and `certificate.json`.

    Returns:
        The verified claim of each class, and what the certificate does not cover.

    Raises:
        Unusable: a file is missing, malformed, of an unknown version, or not the certified one.
        Refuted: the files belong together, and a claim is false.
    """
    files = read_folder(Path(folder))
    model = read_model(files.model)
    certificate = read_certificate(files.certificate, model)
    heads = read_heads(files.weights, model)
    check_agreement(files.model, model)
    _check_implied(model)
    _check_exclusive(model)
    _check_classes(certificate, model)
    decides = ""
    if certificate.resolution is not None:
        stored = read_resolution(files.model)
        decides = check_resolution(certificate.resolution, stored, certificate.claims, model)
    reports = tuple(_check_claim(claim, heads[claim.head], model) for claim in certificate.claims)
    return Report(reports, certificate.does_not_cover, decides)


def _check_claim(claim: Claim, head: Head, model: Model) -> ClassReport:
    _check_statement(claim, head, model)
    if claim.is_compiled:
        _check_relevance(claim, head)
    formula = (complement_text if claim.is_complement else formula_text)(claim.formula)
    if len(claim.concepts) > MOST_CONCEPTS:
        proof, rows = _proved(claim, head), 2 ** len(claim.concepts)
        domain = wide_domain_text(claim.concepts)
    else:
        possible = np.flatnonzero(domain_table(claim.domain, claim.concepts))
        proof, rows = _enumerated(claim, head, possible), len(possible)
        domain = domain_text(claim.domain, rows, claim.concepts)
    _check_figures(claim, rows, proof)
    return ClassReport(claim.name, formula, domain, rows, proof.smallest, proof.bound, claim.agreement)


def _proved(claim: Claim, head: Head) -> Proof:
    """Prove the claim by units; the proof holds on all rows and so does not depend on the domain."""
    try:
        return prove(head, claim.formula, claim.concepts, is_complement=claim.is_complement)
    except Unproved as error:
        raise _refuted(claim, str(error)) from None


def _enumerated(claim: Claim, head: Head, possible: NDArray[np.intp]) -> Proof:
    """Prove the claim by running the head on every row of the domain."""
    run = logits(head, possible)
    smallest = float(abs(run.values).min())
    if not run.bound < np.inf:
        raise _refuted(claim, "the weights are so large that float32 may overflow or lose the relevance of a concept")
    expected = formula_table(claim.formula, claim.concepts)[possible] != claim.is_complement
    wrong = np.flatnonzero((run.values >= 0) != expected)
    if len(wrong):
        logit = float(run.values[wrong[0]])
        says, answers = ("no", "yes") if logit >= 0 else ("yes", "no")
        others = f", and so on {len(wrong) - 1} other rows" if len(wrong) > 1 else ""
        stated = "complement" if claim.is_complement else "formula"
        raise _refuted(
            claim,
            f"on the row {row_text(claim.concepts, int(possible[wrong[0]])) or 'of no concepts'} "
            f"the {stated} says {says}, the head {answers} (logit {logit:.3g}){others}",
        )
    if smallest > run.bound:
        return Proof(smallest, run.bound)
    if claim.is_compiled:
        # With hundreds of cubes the bound over all rows accumulates; the bound of the proof by units does not.
        return _proved(claim, head)
    raise _refuted(
        claim, f"the smallest |logit| is {smallest:.3g}, and float32 rounding may be as large as {run.bound:.3g}"
    )


def _check_relevance(claim: Claim, head: Head) -> None:
    """Check that a compiled head keeps exactly the concepts of its formula, and that all of them are relevant."""
    used = {name for cube in claim.formula for name, _ in cube}
    for name in claim.concepts:
        if name not in used:
            raise _refuted(claim, f"it is said to be compiled, and keeps {shown(name)}, which its formula does not use")
    with np.errstate(all="ignore"):
        values = relevance(head)[0].tolist()
    for name, value in zip(claim.concepts, values, strict=True):
        if not value >= RELEVANT:
            raise _refuted(
                claim, f"it is said to be compiled, and {shown(name)} has relevance {value:.3g}, below {RELEVANT}"
            )


def _check_statement(claim: Claim, head: Head, model: Model) -> None:
    """Check that concepts, formula and domain of the claim agree with the head and with `model.json`."""
    kept = tuple(name for name, keep in zip(model.concepts, head.keep, strict=True) if keep)
    if claim.concepts != kept:
        raise _refuted(claim, f"the head keeps the concepts {shown(list(kept))}, not {shown(list(claim.concepts))}")
    # A complement uses the rules of the class that it refers to; `check_resolution` checks the reference.
    printed = claim.name if claim.complement_of is None else model.class_names[claim.complement_of]
    if printed not in model.rules:
        raise _refuted(claim, "model.json prints no rules for it")
    if _cubes(claim.formula) != _cubes(model.rules[printed]):
        raise _refuted(claim, "the formula in certificate.json is not the one that model.json prints")
    for name, _ in (literal for cube in claim.formula for literal in cube):
        if name not in claim.concepts:
            raise _refuted(claim, f"the formula speaks of {shown(name)}, a concept that the head does not keep")
    for group in claim.domain.exclusive:
        if not any(set(group) <= set(declared) for declared in model.exclusive):
            raise _refuted(claim, f"its domain takes {shown(list(group))} as exclusive, which model.json does not")
    for chain in claim.domain.implied:
        if not any(_is_part(chain, declared) for declared in model.implied):
            raise _refuted(claim, f"its domain takes {shown(list(chain))} as implied, which model.json does not")


def _check_figures(claim: Claim, rows: int, proof: Proof) -> None:
    """Check the numbers that the certificate states; for a compiled head, the smallest logit is a lower bound."""
    if claim.rows is not None and claim.rows != rows:
        raise _refuted(claim, f"its domain has {rows} rows, and certificate.json says that {claim.rows} were checked")
    above = claim.smallest_logit - proof.smallest
    if not (above if claim.is_compiled else abs(above)) <= proof.bound:
        raise _refuted(
            claim, f"the smallest |logit| is {proof.smallest:.9g}, and certificate.json says {claim.smallest_logit:.9g}"
        )
    if not 0 < claim.bound < claim.smallest_logit:
        raise _refuted(
            claim,
            f"its rounding_bound must be above 0 and below its smallest_logit, got {claim.bound:.3g} "
            f"and {claim.smallest_logit:.3g}",
        )


def _check_classes(certificate: Certificate, model: Model) -> None:
    certified = {claim.head for claim in certificate.claims}
    for head, name in enumerate(model.class_names):
        if head not in certified:
            raise Refuted(f"class {shown(name)}: certificate.json says nothing of it. {DISTRUST}")
    for claim in certificate.claims:
        if claim.name != model.class_names[claim.head]:
            raise _refuted(claim, f"head {claim.head} is the head of class {shown(model.class_names[claim.head])}")
    if unknown := sorted(set(model.rules) - set(model.class_names)):
        raise Refuted(f"model.json prints rules for a class {shown(unknown[0])}, which it does not have. {DISTRUST}")


def _check_implied(model: Model) -> None:
    """Check that each concept of a chain implies the one before it, if the predicates of both are known."""
    for chain in model.implied:
        # Neighbours suffice because implication is transitive.
        for before, after in pairwise(name for name in chain if name in model.predicates):
            if not implies(model.predicates[after], model.predicates[before]):
                raise Refuted(
                    f"model.json declares that {shown(after)} implies {shown(before)}, and by their predicates it does "
                    f"not: a chain needs one column, and each condition within the one before it. {DISTRUST}"
                )


def _check_exclusive(model: Model) -> None:
    """Check that no two concepts of an exclusive group are certainly true together.

    For example, two lower limits on one column are both true of a large value.
    """
    for group in model.exclusive:
        for first, second in combinations((name for name in group if name in model.predicates), 2):
            if surely_meet(model.predicates[first], model.predicates[second]):
                raise Refuted(
                    f"model.json declares {shown(first)} and {shown(second)} exclusive, and by their predicates both "
                    f"are true of some values of {shown(model.predicates[first].column)}. {DISTRUST}"
                )


def _is_part(chain: Sequence[str], declared: Sequence[str]) -> bool:
    """Return whether the names occur in the declared chain in the same order."""
    rest = iter(declared)
    return all(name in rest for name in chain)


def _cubes(formula: Formula) -> set[frozenset[tuple[str, bool]]]:
    return {frozenset(cube) for cube in formula}


def _refuted(claim: Claim, what: str) -> Refuted:
    return Refuted(f"class {shown(claim.name)}: {what}. {DISTRUST}")
