"""Explain formulas that exist already: measure them on rows, beside the answers of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logiclens.errors import quoted
from logiclens.explain.choice import Choice
from logiclens.explain.own_teacher import FoundFormula, ScoreAgainst
from logiclens.explain.reading import Reading
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.formula.dnf import DNF, Complement, written
from logiclens.formula.minimisation import spelled_out
from logiclens.metrics.scores import macro_f1_of_counts


@dataclass(frozen=True)
class Constant:
    """A head with a constant formula: the formula, the reason, and the remedy."""

    formula: DNF
    reason: str
    remedy: str


def explain_learned(
    reading: Reading,
    formulas: Sequence[DNF | Complement],
    choices: Sequence[Choice] = (),
    *,
    exclusive: bool = True,
) -> Explanation:
    """Return an explanation for formulas that were searched already, measured on some rows beside the network.

    Args:
        reading: answers of the model on the rows. If the rows have labels, formulas are
            scored against the labels.
        formulas: one formula for each class.
        choices: how formulas were chosen, if known. Default: unknown.
        exclusive: whether a formula may rely on the exclusive groups, or spells them out. Default: True.
    """
    by_class = {choice.klass: choice for choice in choices}
    classes = []
    for head, formula in enumerate(formulas):
        other = choices[0] if choices and isinstance(formula, Complement) else None
        found = FoundFormula(formula, by_class.get(head), choice_of_other=other)
        classes.append(learned_class(reading, head, found, exclusive))
    return Explanation(tuple(classes))


def learned_class(
    reading: Reading,
    head: int,
    found: FoundFormula,
    exclusive: bool,
    score_against: ScoreAgainst | None = None,
    constant: Constant | None = None,
) -> ClassExplanation:
    """Measure a formula on rows; without `score_against`, against their labels if there are any."""
    formula, name, seen = found.formula, reading.class_names[head], reading.seen
    table = reading.truth_table(head, formula.concepts)
    if not exclusive:
        stated = spelled_out(written(formula), table)
        formula = Complement(stated) if isinstance(formula, Complement) else stated
    fires = formula.evaluate(seen.bits, reading.table.names)
    agrees = fires == seen.yes[:, head]
    by_labels = seen.labels is not None if score_against is None else score_against == "labels"
    truth = seen.weight[:, None] * seen.yes
    if by_labels:
        # `targets()` raises the error for missing labels.
        truth = reading.targets() if seen.labels is None else seen.labels
    hit, wrong = float(truth[fires, head].sum()), float((seen.weight - truth[:, head])[fires].sum())
    yes, no = float(truth[:, head].sum()), float((seen.weight - truth[:, head]).sum())
    reason = remedy = None
    if constant is not None:
        reason, remedy = constant.reason, constant.remedy
    elif formula.is_constant and isinstance(formula, DNF):
        reason = f"no rule for {quoted(name)} decides enough rows and is right more often than chance."
        remedy = "Gather more rows of the class, or ask for less support (min_support, --min-support)."
    relevant = sorted(reading.relevant(head), key=lambda j: -reading.relevance[head, j])
    priced = found.choice or found.choice_of_other
    return ClassExplanation(
        name=name,
        head=head,
        formula=formula,
        relevance={reading.table.names[j]: float(reading.relevance[head, j]) for j in relevant},
        table=table,
        fidelity=float(seen.weight[agrees].sum() / seen.weight.sum()),
        equals_network=bool(agrees.all()),
        score=float(macro_f1_of_counts(hit, yes - hit, wrong, no - wrong)),
        scored_against="labels" if by_labels else "network",
        method="search",
        trace=(),
        proved_minimal=found.proved_minimal and exclusive and bool(agrees.all()),
        reason=reason,
        remedy=remedy,
        reading=reading,
        path=() if found.choice is None else found.choice.points,
        price=None if priced is None else priced.price,
    )
