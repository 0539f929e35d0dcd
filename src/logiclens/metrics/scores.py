"""The six metrics of the paper as functions on arrays, and the companions that keep fidelity honest.

`fires[r, i]` says whether the formula of class i holds on row r, `labels[r, i]` whether row r has class i, and
`answers[r, i]` whether the network answers class i. `weight` counts rows; all of them return shares in [0, 1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Complement


def accuracy(truth: ArrayLike, prediction: ArrayLike, weight: ArrayLike | None = None) -> float:
    """The weighted share of rows on which two answers agree; with several labels per row, all must agree.

    >>> accuracy([0, 1, 1], [0, 1, 0])
    0.6666666666666666
    """
    true, said = np.asarray(truth), np.asarray(prediction)
    w = _checked_weight(true, said, weight)
    agree = true == said
    if agree.ndim == 2:
        agree = agree.all(axis=1)
    return float(np.average(agree, weights=w))


def macro_f1(truth: ArrayLike, prediction: ArrayLike, weight: ArrayLike | None = None) -> float:
    """The mean of the F1 scores of yes and of no, for one yes/no question.

    An answer that neither side ever gives is left out of the mean.

    >>> macro_f1([True, True, False], [True, False, False])
    0.6666666666666666
    """
    yes, said = np.asarray(truth, dtype=np.bool_), np.asarray(prediction, dtype=np.bool_)
    w = _checked_weight(yes, said, weight)
    return float(
        macro_f1_of_counts(
            both=w[yes & said].sum(), only_truth=w[yes & ~said].sum(),
            only_prediction=w[~yes & said].sum(), neither=w[~yes & ~said].sum(),
        )
    )  # fmt: skip


def macro_f1_of_counts(
    both: ArrayLike, only_truth: ArrayLike, only_prediction: ArrayLike, neither: ArrayLike
) -> NDArray[np.float64]:
    """`macro_f1` from the four cells of the 2 × 2 table; arrays give one score for each entry."""
    tp, fn, fp, tn = (np.asarray(cell, dtype=np.float64) for cell in (both, only_truth, only_prediction, neither))
    wrong = fn + fp
    yes_seen, no_seen = 2 * tp + wrong > 0, 2 * tn + wrong > 0
    f1_yes = np.divide(2 * tp, 2 * tp + wrong, out=np.zeros_like(tp), where=yes_seen)
    f1_no = np.divide(2 * tn, 2 * tn + wrong, out=np.zeros_like(tn), where=no_seen)
    score: NDArray[np.float64] = (f1_yes + f1_no) / np.maximum(yes_seen.astype(int) + no_seen, 1)
    return score


def explanation_accuracy(fires: ArrayLike, labels: ArrayLike, weight: ArrayLike | None = None) -> float:
    """For each class the macro-F1 of (formula fires) against (label is the class); the mean over classes."""
    return _mean_over_classes(macro_f1, labels, fires, weight)


def complexity(formulas: Iterable[DNF | Complement]) -> float:
    """Literals of a formula summed over its cubes; the mean over classes. `True` and `False` count 0.

    A complement counts the literals of the formula that it refers to.
    """
    lengths = [formula.n_literals for formula in formulas]
    if not lengths:
        raise LogicLensError("there are no formulas to score.")
    return float(np.mean(lengths))


@dataclass(frozen=True)
class Fidelity:
    """How often formulas and network agree, and what must be known to judge it.

    With many classes a formula that never fires already agrees nearly always: `constant_false` says how nearly.
    """

    accuracy: float
    macro_f1: float
    constant_false: float
    constant_formulas: int


def fidelity(
    formulas: Iterable[DNF | Complement], fires: ArrayLike, answers: ArrayLike, weight: ArrayLike | None = None
) -> Fidelity:
    """Accuracy of (formula fires) against (network answers this class), mean over classes, with its companions."""
    listed, never = list(formulas), np.zeros_like(np.asarray(answers, dtype=np.bool_))
    agreement = _mean_over_classes(accuracy, answers, fires, weight)
    if never.shape[1] != len(listed):
        raise LogicLensError(f"{len(listed)} formulas were given for {never.shape[1]} classes.")
    return Fidelity(
        accuracy=agreement,
        macro_f1=_mean_over_classes(macro_f1, answers, fires, weight),
        constant_false=_mean_over_classes(accuracy, answers, never, weight),
        constant_formulas=sum(formula.is_constant for formula in listed),
    )


def standard_error(values: ArrayLike) -> float:
    """The standard error of the mean over folds (n − 1 in the variance); 0 for a single value.

    >>> round(standard_error([1.0, 2.0, 3.0]), 4)
    0.5774
    """
    array = np.asarray(values, dtype=np.float64)
    return float(array.std(ddof=1) / np.sqrt(len(array))) if len(array) > 1 else 0.0


def _mean_over_classes(
    score: Callable[[ArrayLike, ArrayLike, ArrayLike | None], float],
    truth: ArrayLike,
    prediction: ArrayLike,
    weight: ArrayLike | None,
) -> float:
    true, said = np.asarray(truth, dtype=np.bool_), np.asarray(prediction, dtype=np.bool_)
    if true.ndim != 2 or true.shape != said.shape or true.shape[1] == 0:
        raise LogicLensError(f"expected two matrices [rows, classes] of one shape, got {true.shape} and {said.shape}.")
    return float(np.mean([score(t, p, weight) for t, p in zip(true.T, said.T, strict=True)]))


def _checked_weight(truth: NDArray[Any], prediction: NDArray[Any], weight: ArrayLike | None) -> NDArray[np.float64]:
    """One weight for each row of two answers of one shape."""
    if truth.shape != prediction.shape or truth.ndim not in (1, 2):
        raise LogicLensError(
            f"two answers must have one shape to be compared, got {truth.shape} and {prediction.shape}."
        )
    if len(truth) == 0:
        raise LogicLensError("there are no rows to score.")
    array = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
    if array.shape != (len(truth),) or not array.sum() > 0:
        raise LogicLensError(f"weights must have one entry for each of the {len(truth)} rows and not all be 0.")
    return array


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
