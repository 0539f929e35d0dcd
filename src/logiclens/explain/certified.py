"""The explanation of a network that was made exact: formulas that are its heads, with the certificate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from logiclens.data.concepts import ConceptTable
from logiclens.explain.certificate import Certificate, HeadCertificate, Refit
from logiclens.explain.exact import ExactHead, ExactNetwork
from logiclens.explain.extract import Reading, read
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.formula.dnf import DNF
from logiclens.metrics.scores import macro_f1
from logiclens.nn.networks import EntropyNet


def explain_exact(
    network: EntropyNet,
    certificate: Certificate,
    rows: ConceptTable,
    *,
    alternatives: Sequence[tuple[DNF, ...]] | None = None,
) -> Explanation:
    """The certified formulas of an exact network; `rows` fill the truth tables that are shown beside them.

    `alternatives` are, for each head, the other formulas that were there to choose from.
    """
    reading = read(network, rows.hard(), "threshold", exact=True)
    others = [()] * len(certificate.heads) if alternatives is None else alternatives
    classes = tuple(_explained(reading, *pair) for pair in zip(certificate.heads, others, strict=True))
    return Explanation(classes, rows=rows)


def certify(exact: ExactNetwork, class_names: Sequence[str]) -> Certificate:
    """The claim that every head is its formula."""
    return Certificate(tuple(_claim(head, class_names[head.head]) for head in exact.heads))


def _claim(exact: ExactHead, name: str) -> HeadCertificate:
    refit, table = None, exact.table
    if exact.refit_from is not None:
        before, after = exact.refit_from, exact.standing
        refit = Refit(before.accuracy, after.accuracy, before.f1, after.f1)
    return HeadCertificate(
        name,
        exact.head,
        table.names,
        exact.formula,
        table.groups,
        len(table),
        table.margin,
        table.bound,
        exact.proved_minimal,
        refit,
        exact.note,
    )


def _explained(reading: Reading, certified: HeadCertificate, alternatives: tuple[DNF, ...]) -> ClassExplanation:
    head, formula = certified.head, certified.formula
    fires = formula.evaluate(reading.bits, reading.table.names)
    answers, weight = reading.yes[:, head], reading.table.weight
    labelled = reading.table.labels is not None
    reason = remedy = None
    if formula.is_constant:
        # Constant on every row, so also on the first.
        answer = "yes" if formula.evaluate(np.zeros((1, 0), dtype=np.bool_), ())[0] else "no"
        reason = f"this head answers {answer} on every possible row: no formula in the budget was worth its literals."
        remedy = "Allow more literals (max_literals), ask less of each (price), or give the class more weight."
    relevant = sorted(reading.relevant(head), key=lambda j: -reading.relevance[head, j])
    return ClassExplanation(
        name=certified.name,
        head=head,
        formula=formula,  # type: ignore[arg-type]  # A complement is one of these soon.
        relevance={reading.table.names[j]: float(reading.relevance[head, j]) for j in relevant},
        taken_in=(),
        table=reading.truth_table(head),
        fidelity=float(weight[fires == answers].sum() / weight.sum()),
        equals_network=bool((fires == answers).all()),
        score=macro_f1(reading.targets()[:, head] > 0 if labelled else answers, fires, weight),
        scored_against="labels" if labelled else "network",
        method="exact",
        trace=(),
        proved_minimal=certified.proved_minimal,
        idle=False,
        reason=reason,
        remedy=remedy,
        reading=reading,
        certificate=certified,
        alternatives=alternatives,
    )
