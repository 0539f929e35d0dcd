"""How much the formulas of repeated runs have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Complement


@dataclass(frozen=True)
class Consistency:
    """The mean over classes, and how many classes were left out because none of their formulas uses a concept."""

    value: float
    left_out: int


def class_consistency(formulas: Sequence[DNF | Complement], column_of: Mapping[str, str] | None = None) -> float | None:
    """Over the concepts used in any of one class's formulas, the mean share of formulas using them.

    None where no formula uses a concept. Where cuts are fitted anew in each run, concepts carry other numbers in their
    names and cannot recur: `column_of` then says which raw column each concept was cut from, and columns are compared.

    >>> from logiclens.formula import Literal
    >>> class_consistency([Literal("a") | Literal("b"), Literal("a") | DNF.false])
    0.75
    """
    named = column_of or {}
    used = Counter(column for f in formulas for column in {named.get(concept, concept) for concept in f.concepts})
    # Whole numbers until the last step: the order of the concepts, which is a set's, must not move the last digit.
    return used.total() / (len(used) * len(formulas)) if used else None


def consistency(runs: Sequence[Sequence[DNF | Complement]], column_of: Mapping[str, str] | None = None) -> Consistency:
    """The paper's consistency: `runs[k][i]` is the formula of class i in run k. NaN where no class uses a concept."""
    if len({len(run) for run in runs}) != 1:
        raise LogicLensError("every run must have one formula for each of the same classes, and there must be a run.")
    shares = [class_consistency(formulas, column_of) for formulas in zip(*runs, strict=True)]
    known = [share for share in shares if share is not None]
    return Consistency(fmean(known) if known else float("nan"), left_out=len(shares) - len(known))
