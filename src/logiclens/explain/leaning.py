"""What a network leans on, beside the rule of a class: the concepts of the rule first, then why others are not in it.

The terminal sheet, the page and notebooks show it. Every reason is computed from the rule and the explained rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import THRESHOLD, ConceptTable
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.predicate import Predicate
from logiclens.metrics.scores import macro_f1
from logiclens.words import figure

MOST_REASONS = 12
"""The most concepts outside the rule for which it is computed what adding them gains; the most relevant ones."""
LEAST_GAIN = 0.0005
"""A smaller gain of macro-F1 would be printed as 0.0 points."""


@dataclass(frozen=True)
class Leaning:
    """A concept: its relevance to the network, whether the rule uses it, and a sentence where the two differ."""

    concept: str
    relevance: float
    used: bool
    reason: str = ""


def leanings(
    formula: DNF | Complement,
    relevance: Mapping[str, float],
    rows: ConceptTable,
    head: int,
    *,
    predicates: Mapping[str, Predicate],
    price: float | None = None,
    constant: str | None = None,
) -> tuple[Leaning, ...]:
    """Return the concepts of a rule, then the other relevant ones, each by relevance.

    Args:
        formula: the formula of the class.
        relevance: the relevance of the concepts of the formula and of others that are relevant.
        rows: the explained rows; with labels, it is measured what a concept would add to the formula.
        head: the place of the class.
        predicates: meanings of the concepts.
        price: the macro-F1 that a literal had to earn in the search. Default: None, unknown.
        constant: why the formula is constant, which is then the reason why no condition is in a rule. Default: None,
            not known.
    """
    ranked, used = sorted(relevance.items(), key=lambda item: -item[1]), set(formula.concepts)
    inside = [Leaning(name, share, used=True, reason=_little(share)) for name, share in ranked if name in used]
    outside = [name for name, _ in ranked if name not in used]
    if formula.is_constant:
        own = (constant or "the class has no rule").rstrip(".")
        reasons = {name: "for the same reason" if place else own for place, name in enumerate(outside)}
    else:
        measured, earn = _Measured.of(formula, rows, head), _earn(price)
        reasons = {
            name: _reason(rows, name, formula, predicates, measured if place < MOST_REASONS else None, price, earn)
            for place, name in enumerate(outside)
        }
    return (*inside, *(Leaning(name, relevance[name], used=False, reason=reasons[name]) for name in outside))


def _earn(price: float | None) -> str:
    """Say what a condition must earn; nothing if it is not known."""
    if price is None:
        return ""
    return f", and a condition must earn {figure(100 * price, 'points')}"


def _little(relevance: float) -> str:
    return "" if relevance >= THRESHOLD else "the network leans on it less than half as much as on the first"


@dataclass(frozen=True, eq=False)
class _Measured:
    """A formula on labelled rows, to see what one more literal would change."""

    rows: PackedRows
    truth: NDArray[np.bool_]
    weight: NDArray[np.float64]
    cubes: tuple[NDArray[np.bool_], ...]
    score: float

    @classmethod
    def of(cls, formula: DNF | Complement, rows: ConceptTable, head: int) -> _Measured | None:
        if rows.labels is None:
            return None
        own = formula.of if isinstance(formula, Complement) else formula
        packed, truth = PackedRows.of(rows.boolean(), rows.names), rows.targets()[:, head] > 0
        # The complement of a formula is right where the formula is right for the other class.
        truth = ~truth if isinstance(formula, Complement) else truth
        cubes = tuple(DNF([cube]).evaluate(packed) for cube in own)
        fires = np.any(cubes, axis=0) if cubes else np.zeros(len(truth), dtype=np.bool_)
        return cls(packed, truth, rows.weight, cubes, macro_f1(truth, fires, rows.weight))

    def gain(self, concept: str) -> float:
        """Return by how much macro-F1 rises at most if one cube gets the concept or its negation, or it is a cube."""
        best = 0.0
        for positive in (True, False):
            holds = DNF([Cube([Literal(concept, positive)])]).evaluate(self.rows)
            changed = [[*self.cubes, holds]]
            changed += [[*self.cubes[:i], self.cubes[i] & holds, *self.cubes[i + 1 :]] for i in range(len(self.cubes))]
            scores = (macro_f1(self.truth, np.any(cubes, axis=0), self.weight) for cubes in changed)
            best = max(best, *(score - self.score for score in scores))
        return best


def _reason(
    rows: ConceptTable,
    concept: str,
    formula: DNF | Complement,
    predicates: Mapping[str, Predicate],
    measured: _Measured | None,
    price: float | None,
    earn: str,
) -> str:
    """Say why a concept that the network leans on is not in the rule."""
    column = predicates[concept].column if concept in predicates else concept
    same = [name for name in formula.concepts if name in predicates and predicates[name].column == column]
    parts = [f"other conditions of the rule are on {column}"] if same else []
    if measured is not None and concept in rows.names:
        gain = measured.gain(concept)
        if gain < LEAST_GAIN:
            parts.append("adding it would gain nothing")
        else:
            gains = f"adding it would gain {figure(100 * gain, 'points of F1')}"
            if price is None or gain > price:
                gains += " by the labels; the search has other aims and limits too"
            else:
                gains += earn
            parts.append(gains)
    return "; ".join(parts) or "the search left it out"
