"""The explanation of a network that was made exact: formulas that are its heads, with the certificate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.certificate import Certificate, HeadCertificate
from logiclens.explain.extract import Reading, read
from logiclens.explain.length import Choice
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.formula.dnf import DNF
from logiclens.metrics.scores import macro_f1
from logiclens.nn.networks import EntropyNet


def explain_exact(
    network: EntropyNet,
    certificate: Certificate,
    rows: ConceptTable,
    *,
    choices: Sequence[Choice] = (),
) -> Explanation:
    """The certified formulas of an exact network; `rows` fill the truth tables that are shown beside them.

    `choices` say how formulas were chosen, where that is known.
    """
    reading = read(network, rows.hard(), "threshold", exact=True)
    paths = {choice.klass: choice.points for choice in choices}
    classes = tuple(_explained(reading, head, paths.get(head.head, ())) for head in certificate.heads)
    return Explanation(classes, rows=rows)


def _explained(
    reading: Reading, certified: HeadCertificate, path: tuple[tuple[DNF, float | None], ...]
) -> ClassExplanation:
    head, formula = certified.head, certified.formula
    fires = formula.evaluate(reading.bits, reading.table.names)
    answers, weight = reading.yes[:, head], reading.table.weight
    labelled = reading.table.labels is not None
    reason = remedy = None
    if formula.is_constant:
        # Constant on every row, so also on the first.
        answer = "yes" if formula.evaluate(np.zeros((1, 0), dtype=np.bool_), ())[0] else "no"
        reason = f"the rules answer {answer} on every possible row: no cube is right on enough rows and beats chance."
        remedy = "Gather more rows of the class, ask for less support (min_support), or give the class more weight."
    relevant = sorted(reading.relevant(head), key=lambda j: -reading.relevance[head, j])
    return ClassExplanation(
        name=certified.name,
        head=head,
        formula=formula,
        relevance={reading.table.names[j]: float(reading.relevance[head, j]) for j in relevant},
        table=reading.truth_table(head),
        fidelity=float(weight[fires == answers].sum() / weight.sum()),
        equals_network=bool((fires == answers).all()),
        score=macro_f1(reading.targets()[:, head] > 0 if labelled else answers, fires, weight),
        scored_against="labels" if labelled else "network",
        method="exact",
        trace=(),
        proved_minimal=certified.proved_minimal,
        reason=reason,
        remedy=remedy,
        reading=reading,
        certificate=certified,
        path=path,
    )
