"""The six metrics of the paper as functions on arrays, their companions, and the one list of metrics.

`fires[r, i]` says whether the formula of class i holds on row r, `labels[r, i]` whether row r has class i, and
`answers[r, i]` whether the network answers class i. `weight` counts rows. Shares lie in [0, 1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.counted_rows import row_weights
from logiclens.formula.dnf import DNF, Complement, Cube, Literal, as_formula
from logiclens.formula.packed_rows import as_array
from logiclens.formula.text import parse

Stated: TypeAlias = DNF | Complement | Cube | Literal | str
"""A formula or its text."""


def accuracy(truth: ArrayLike, prediction: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return the weighted share of rows on which two answers agree; with several labels per row, all must agree.

    Args:
        truth: the true answers.
        prediction: the given answers.
        weight: weight of each row. Default: 1.

    >>> accuracy([0, 1, 1], [0, 1, 0])
    0.6666666666666666
    """
    true, said = as_array(truth), as_array(prediction)
    w = _checked_weight(true, said, weight)
    agree = true == said
    if agree.ndim == 2:
        agree = agree.all(axis=1)
    return float(np.average(agree, weights=w))


def macro_f1(truth: ArrayLike, prediction: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return the mean of the F1 scores of yes and no, for one yes/no question.

    The mean leaves out an answer that neither side gives.

    Args:
        truth: the true answers, as Booleans.
        prediction: the given answers, as Booleans.
        weight: weight of each row. Default: 1.

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
    """Return `macro_f1` from the four cells of the 2 × 2 table; arrays give one score per entry."""
    tp, fn, fp, tn = (np.asarray(cell, dtype=np.float64) for cell in (both, only_truth, only_prediction, neither))
    wrong = fn + fp
    yes_seen, no_seen = 2 * tp + wrong > 0, 2 * tn + wrong > 0
    f1_yes = np.divide(2 * tp, 2 * tp + wrong, out=np.zeros_like(tp), where=yes_seen)
    f1_no = np.divide(2 * tn, 2 * tn + wrong, out=np.zeros_like(tn), where=no_seen)
    score: NDArray[np.float64] = (f1_yes + f1_no) / np.maximum(yes_seen.astype(int) + no_seen, 1)
    return score


def explanation_accuracy(fires: ArrayLike, labels: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return the macro-F1 of (formula fires) against (label is the class), averaged over classes.

    Args:
        fires: for each row and class, whether its formula fires.
        labels: for each row and class, whether the row has it.
        weight: weight of each row. Default: 1.

    >>> explanation_accuracy([[1, 0], [0, 1], [0, 1]], [[1, 0], [0, 1], [0, 1]])
    1.0
    """
    return _mean_over_classes(macro_f1, labels, fires, weight)


def complexity(formulas: Iterable[Stated] | Stated) -> float:
    """Return the literals of a formula, summed over its cubes and averaged over classes. `True` and `False` count 0.

    A complement counts the literals of the formula it refers to.

    Args:
        formulas: one formula per class, or its text.

    >>> complexity(["a & ~b", "a | b | c"])
    2.5
    """
    lengths = [formula.n_literals for formula in _read(formulas)]
    if not lengths:
        raise LogicLensError("there are no formulas to score.")
    return float(np.mean(lengths))


@dataclass(frozen=True)
class Fidelity:
    """How often formulas and network agree, with the numbers needed to judge it.

    With many classes, formulas that never fire already agree with the network on most rows: `constant_false`.

    >>> from logiclens.formula import parse
    >>> from logiclens.metrics import fidelity
    >>> fidelity([parse("a")], [[1], [0], [0], [0]], [[1], [1], [0], [0]])
    Fidelity(accuracy=0.75, macro_f1=0.7333333333333334, constant_false=0.5, constant_formulas=0)
    """

    accuracy: float
    macro_f1: float
    constant_false: float
    constant_formulas: int


def fidelity(
    formulas: Iterable[Stated] | Stated, fires: ArrayLike, answers: ArrayLike, weight: ArrayLike | None = None
) -> Fidelity:
    """Return the accuracy of (formula fires) against (network answers the class), averaged over classes.

    Args:
        formulas: one formula per class, or its text.
        fires: for each row and class, whether its formula fires.
        answers: the same for the answers of the network.
        weight: weight of each row. Default: 1.

    >>> from logiclens.formula import parse
    >>> fidelity([parse("a")], [[1], [0], [0], [0]], [[1], [1], [0], [0]]).accuracy
    0.75
    """
    listed, never = _read(formulas), np.zeros_like(np.asarray(answers, dtype=np.bool_))
    agreement = _mean_over_classes(accuracy, answers, fires, weight)
    if never.shape[1] != len(listed):
        raise LogicLensError(f"{len(listed)} formulas were given for {never.shape[1]} classes.")
    return Fidelity(
        accuracy=agreement,
        macro_f1=_mean_over_classes(macro_f1, answers, fires, weight),
        constant_false=_mean_over_classes(accuracy, answers, never, weight),
        constant_formulas=sum(formula.is_constant for formula in listed),
    )


def _read(formulas: Iterable[Stated] | Stated) -> list[DNF | Complement]:
    """Return the formulas, of which some may be given as text. A formula alone is that of the only class."""
    if isinstance(formulas, DNF | Complement | Cube | Literal | str):
        formulas = [formulas]
    return [parse(one) if isinstance(one, str) else as_formula(one) for one in formulas]


def standard_error(values: ArrayLike) -> float:
    """Return the standard error of the mean over folds (n − 1 in the variance); 0 for a single value.

    Args:
        values: one value per fold.

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
    """Return one weight per row; raise an error if the two answers differ in shape."""
    if truth.shape != prediction.shape or truth.ndim not in (1, 2):
        raise LogicLensError(
            f"two answers must have one shape to be compared, got {truth.shape} and {prediction.shape}."
        )
    if len(truth) == 0:
        raise LogicLensError("there are no rows to score.")
    weights = row_weights(weight, len(truth))
    return np.ones(len(truth)) if weights is None else weights


@dataclass(frozen=True)
class Consistency:
    """The mean over classes, and the number of classes left out because their formulas use no concept.

    >>> from logiclens.formula import parse
    >>> from logiclens.metrics import consistency
    >>> consistency([[parse("a | b")], [parse("a")]])
    Consistency(value=0.75, left_out=0)
    """

    value: float
    left_out: int


def class_consistency(formulas: Iterable[Stated] | Stated, column_of: Mapping[str, str] | None = None) -> float | None:
    """Return the mean share of a class's formulas that use a concept, over the concepts that any of them uses.

    Return None if no formula uses a concept. If each run fits its own cuts, names of concepts differ between runs; pass
    `column_of`, the raw column of each concept, to compare columns instead.

    Args:
        formulas: the formulas of one class, one per run, or their texts.
        column_of: the raw column of each concept. Default: compare concepts.

    >>> from logiclens.formula import Literal
    >>> class_consistency([Literal("a") | Literal("b"), Literal("a") | DNF.false])
    0.75
    """
    named, listed = column_of or {}, _read(formulas)
    used = Counter(column for f in listed for column in {named.get(concept, concept) for concept in f.concepts})
    # Integers until the last step, so that the arbitrary order of the set does not change the last digit.
    return used.total() / (len(used) * len(listed)) if used else None


def consistency(runs: Iterable[Iterable[Stated] | Stated], column_of: Mapping[str, str] | None = None) -> Consistency:
    """Return the paper's consistency, NaN if no class uses a concept; `runs[k][i]` is class i's formula in run k.

    Args:
        runs: for each run, the formulas of all classes, or their texts.
        column_of: the raw column of each concept. Default: compare concepts.

    >>> from logiclens.formula import parse
    >>> consistency([[parse("a | b")], [parse("a")]]).value
    0.75
    """
    listed = [_read(run) for run in runs]
    if len({len(run) for run in listed}) != 1:
        raise LogicLensError("every run must have one formula for each of the same classes, and there must be a run.")
    shares = [class_consistency(formulas, column_of) for formulas in zip(*listed, strict=True)]
    known = [share for share in shares if share is not None]
    return Consistency(fmean(known) if known else float("nan"), left_out=len(shares) - len(known))


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Formulas and the rows they are scored on; `fires`, `labels` and `answers` are matrices [rows, classes]."""

    formulas: Sequence[DNF | Complement]
    fires: NDArray[np.bool_]
    labels: ArrayLike
    answers: ArrayLike
    weight: ArrayLike | None = None

    @cached_property
    def fidelity(self) -> Fidelity:
        """How often formulas and network agree."""
        return fidelity(self.formulas, self.fires, self.answers, self.weight)


@dataclass(frozen=True)
class Metric:
    """A metric: what it is called, how it is read, and how it is computed.

    Attributes:
        key: its name in code and in tables of results.
        name: its name in print.
        unit: what it is read in; a metric in `%` is a share in [0, 1] until it is printed.
        definition: what it measures, in one sentence.
        main: whether it has tables of its own; the paper's six have.
        lower_is_better: whether a lower value is better.
        decimals: how many are printed.
        of_rules: whether only methods that state rules have it.
        of_samples: whether a method that explains a sample of the classes has it.
        below: keys of the metrics that it is printed below, so that these are not misread.
        label: its name there.
        score: computes it from scored rows; None where it is measured elsewhere.

    >>> from logiclens.metrics.scores import metric_named
    >>> metric = metric_named("fidelity")
    >>> print(metric.name, metric.unit)
    fidelity %
    """

    key: str
    name: str
    unit: str
    definition: str
    main: bool = False
    lower_is_better: bool = False
    decimals: int = 2
    of_rules: bool = True
    of_samples: bool = True
    below: tuple[str, ...] = ()
    label: str = ""
    score: Callable[[ScoredRows], float] | None = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The name with a capital letter."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def scale(self) -> float:
        """What a value is multiplied by to be read in the unit."""
        return 100.0 if self.unit == "%" else 1.0


METRICS: tuple[Metric, ...] = (
    Metric(
        "model_accuracy", "model accuracy", "%", "on rows not seen in training", main=True, of_rules=False,
        of_samples=False,
    ),
    Metric(
        "final_model_accuracy", "model accuracy, last test", "%", "model accuracy on rows that no fold used",
        below=("model_accuracy",), label="last test",
    ),
    Metric(
        "explanation_accuracy", "explanation accuracy", "%",
        "macro-F1 of where the formula fires against the label, mean over classes (as in the paper, by where formulas "
        "fire, not which class the rules decide); for predicted concepts, the share of correct ones is given below, "
        "because training may bend concepts away from their names; a method with a number of classes was run on a "
        "sample of these",
        main=True, score=lambda rows: explanation_accuracy(rows.fires, rows.labels, rows.weight),
    ),
    Metric(
        "classes", "classes", "", "how many classes a method explained, where these are a sample", decimals=0,
        below=("explanation_accuracy", "complexity", "seconds"), label="classes",
    ),
    Metric(
        "concept_accuracy", "concepts right", "%", "share of the predicted concepts that are right", decimals=1,
        below=("explanation_accuracy",), label="concepts right",
    ),
    Metric(
        "final_explanation_accuracy", "explanation accuracy, last test", "%",
        "explanation accuracy on rows that no fold used", below=("explanation_accuracy",), label="last test",
    ),
    Metric(
        "recovered", "true formulas found", "", "classes whose formula is the one the rows were drawn from",
        decimals=1, below=("explanation_accuracy",), label="true formulas found",
    ),
    Metric(
        "complexity", "complexity", "literals",
        "literals of the formula as the method states it, mean over classes; a shorter formula with the same meaning "
        "may exist",
        main=True, lower_is_better=True, score=lambda rows: complexity(rows.formulas),
    ),
    Metric(
        "fidelity", "fidelity", "%",
        "share of rows on which the formula fires exactly if the model answers its class, mean over classes; a formula "
        "that never fires may agree often, so the macro-F1, the score of constant False and the number of constant "
        "formulas are given below",
        main=True, of_samples=False, score=lambda rows: rows.fidelity.accuracy,
    ),
    Metric(
        "fidelity_macro_f1", "fidelity, macro-F1", "%",
        "macro-F1 of where the formula fires against the model's answer",
        of_samples=False, below=("fidelity",), label="macro-F1", score=lambda rows: rows.fidelity.macro_f1,
    ),
    Metric(
        "fidelity_constant_false", "fidelity of constant False", "%", "fidelity of formulas that never fire",
        of_samples=False, below=("fidelity",), label="constant False", score=lambda rows: rows.fidelity.constant_false,
    ),
    Metric(
        "constant_formulas", "constant formulas", "a fold", "classes whose formula is True or False", decimals=1,
        lower_is_better=True, below=("fidelity",), label="constant formulas",
        score=lambda rows: rows.fidelity.constant_formulas,
    ),
    Metric(
        "consistency", "consistency", "%",
        "over the concepts in any fold's formula, the mean share of folds that use them",
        main=True,
    ),
    Metric(
        "seconds", "extraction time", "s",
        "wall-clock time of training and extraction, with CPU time below; encoders are not counted",
        main=True, lower_is_better=True,
    ),
    Metric(
        "cpu_seconds", "CPU time", "s", "training and extraction together, in seconds of a processor",
        lower_is_better=True, below=("seconds",), label="CPU",
    ),
    Metric("validation_accuracy", "model accuracy, validation", "%", "model accuracy on the validation rows"),
    Metric(
        "validation_explanation_accuracy", "explanation accuracy, validation", "%",
        "explanation accuracy on the validation rows",
    ),
)  # fmt: skip
"""Every metric in the order of the tables; cross-validation, the sheet and the bench read this list."""


def metric_named(key: str) -> Metric:
    """Return the metric of a key."""
    return next(metric for metric in METRICS if metric.key == key)
