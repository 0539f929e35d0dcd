"""The check of a certificate: every head gives the answer of its formula on every row, also in float32.

It provides `verify`, which `python -m logiclens.verify` and the command line call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .consistency import DISTRUST, check_model, meanings
from .files import Refuted, Unusable, VerificationError, read_folder, shown
from .network import Head, logits, read_heads, relevance
from .reader import read_certificate, read_model
from .records import MOST_CONCEPTS, Certificate, Claim, Formula, Model
from .report import (
    NOT_COVERED,
    NOT_WATCHED,
    ClassReport,
    Report,
    columns_text,
    complement_text,
    decision_text,
    domain_text,
    formula_text,
    history_text,
    row_text,
)
from .units import Proof, Unproved, prove

Booleans = NDArray[np.bool_]


def formula_table(formula: Formula, concepts: Sequence[str]) -> Booleans:
    """Return the truth value of the formula on every row of the concepts.

    Args:
        formula: cubes over these concepts.
        concepts: concepts of a row; the first is the highest bit of the row number.

    >>> formula_table(((("a", True), ("b", False)),), ["a", "b"]).tolist()
    [False, False, True, False]
    """
    table, axes = np.zeros((2,) * len(concepts), dtype=np.bool_), {name: axis for axis, name in enumerate(concepts)}
    for cube in formula:
        index: list[int | slice] = [slice(None)] * len(concepts)
        for name, wanted in cube:
            index[axes[name]] = int(wanted)
        table[tuple(index)] = True
    return table.reshape(-1)


RELEVANT = 0.5
"""ε: the smallest relevance at which a concept counts as relevant."""


def verify(folder: str | Path) -> Report:
    """Recompute the claims of a certificate from the weights.

    Args:
        folder: a saved model with `model.json`, `weights.safetensors` and `certificate.json`.

    Returns:
        The verified claim of each class, what the rules rest on, and what a certificate does not cover.

    Raises:
        Unusable: the folder could not be checked: a file is missing, malformed, special, too large, of an unknown
            version, or not the certified one, or the checker failed.
        Refuted: the files belong together, and a claim is false or they contradict each other.

    >>> import tempfile
    >>> from logiclens import EntropyClassifier
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> model = EntropyClassifier(booleanise=None, exact=True).fit(rows, [0, 0, 0, 1] * 10)
    >>> folder = model.save(tempfile.mkdtemp() + "/model")
    >>> len(verify(folder).classes)
    2
    """
    try:
        return _verify(Path(folder))
    except VerificationError:
        raise
    except MemoryError:
        raise Unusable("there is not enough memory to check these files. Check them on a larger machine.") from None
    except Exception as error:
        # A failure of the checker must not look like a refutation.
        what = f"{type(error).__name__}: {shown(str(error))}"
        raise Unusable(f"the checker failed on these files ({what}), so nothing is known about them.") from error


def _verify(folder: Path) -> Report:
    files = read_folder(folder)
    model = read_model(files.model)
    certificate = read_certificate(files.certificate, model)
    heads = read_heads(files.weights, model)
    _check_classes(certificate, model)
    check_model(model, certificate)
    reports = tuple(_check_claim(claim, heads[claim.head], model) for claim in certificate.claims)
    return Report(
        reports,
        (*NOT_COVERED, NOT_WATCHED) if certificate.history else NOT_COVERED,
        decision_text(model),
        columns_text(model),
        meanings(model),
        model.target,
        tuple(map(history_text, certificate.history)),
    )


def _check_claim(claim: Claim, head: Head, model: Model) -> ClassReport:
    _check_statement(claim, head, model)
    _check_relevance(claim, head)
    formula = (complement_text if claim.is_complement else formula_text)(claim.formula)
    rows = 2 ** len(claim.concepts)
    proof = (_proved if len(claim.concepts) > MOST_CONCEPTS else _enumerated)(claim, head)
    _check_figures(claim, rows, proof)
    rule = model.rules.classes[claim.head]
    return ClassReport(
        claim.name,
        formula,
        domain_text(claim.concepts),
        rows,
        proof.smallest,
        proof.bound,
        rule.confidence,
        None if model.multilabel else rule.label,
        claim.is_edited,
    )


def _proved(claim: Claim, head: Head) -> Proof:
    """Prove the claim by units."""
    try:
        return prove(head, claim.formula, claim.concepts, is_complement=claim.is_complement)
    except Unproved as error:
        raise _refuted(claim, str(error)) from None


def _enumerated(claim: Claim, head: Head) -> Proof:
    """Prove the claim by running the head on every row."""
    run = logits(head, np.arange(2 ** len(claim.concepts)))
    smallest = float(abs(run.values).min())
    if not run.bound < np.inf:
        raise _refuted(claim, "the weights are so large that float32 may overflow or lose the relevance of a concept")
    expected = formula_table(claim.formula, claim.concepts) != claim.is_complement
    wrong = np.flatnonzero((run.values >= 0) != expected)
    if len(wrong):
        logit = float(run.values[wrong[0]])
        says, answers = ("no", "yes") if logit >= 0 else ("yes", "no")
        others = f", and so on {len(wrong) - 1} other rows" if len(wrong) > 1 else ""
        stated = "complement" if claim.is_complement else "formula"
        raise _refuted(
            claim,
            f"on the row {row_text(claim.concepts, int(wrong[0])) or 'of no concepts'} "
            f"the {stated} says {says}, the head {answers} (logit {logit:.3g}){others}",
        )
    if smallest > run.bound:
        return Proof(smallest, run.bound)
    # With hundreds of cubes the bound over all rows accumulates; the bound of the proof by units does not.
    return _proved(claim, head)


def _check_relevance(claim: Claim, head: Head) -> None:
    """Check that a head keeps exactly the concepts of its formula, and that all of them are relevant."""
    used = {name for cube in claim.formula for name, _ in cube}
    for name in claim.concepts:
        if name not in used:
            raise _refuted(claim, f"it keeps {shown(name)}, which its formula does not use")
    with np.errstate(all="ignore"):
        values = relevance(head)[0].tolist()
    for name, value in zip(claim.concepts, values, strict=True):
        if not value >= RELEVANT:
            raise _refuted(claim, f"{shown(name)} has relevance {value:.3g} in it, below {RELEVANT}")


def _check_statement(claim: Claim, head: Head, model: Model) -> None:
    """Check that concepts and formula of the claim agree with the head and with `model.json`."""
    kept = tuple(name for name, keep in zip(model.concepts, head.keep, strict=True) if keep)
    if claim.concepts != kept:
        raise _refuted(claim, f"the head keeps the concepts {shown(list(kept))}, not {shown(list(claim.concepts))}")
    # A complement uses the rules of the class that it refers to; `consistency` checks the reference.
    printed = claim.head if claim.complement_of is None else claim.complement_of
    if _cubes(claim.formula) != _cubes(model.rules.classes[printed].formula):
        raise _refuted(claim, "the formula in certificate.json is not the one that model.json prints")
    for name, _ in (literal for cube in claim.formula for literal in cube):
        if name not in claim.concepts:
            raise _refuted(claim, f"the formula speaks of {shown(name)}, a concept that the head does not keep")


def _check_figures(claim: Claim, rows: int, proof: Proof) -> None:
    """Check the numbers that the certificate states; its smallest logit is a lower bound."""
    if claim.rows is not None and claim.rows != rows:
        raise _refuted(claim, f"its concepts have {rows} rows, and certificate.json says {claim.rows} were checked")
    if not claim.smallest_logit - proof.smallest <= proof.bound:
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


def _cubes(formula: Formula) -> set[frozenset[tuple[str, bool]]]:
    return {frozenset(cube) for cube in formula}


def _refuted(claim: Claim, what: str) -> Refuted:
    return Refuted(f"class {shown(claim.name)}: {what}. {DISTRUST}")
