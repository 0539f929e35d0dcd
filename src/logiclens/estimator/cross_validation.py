"""Cross-validation with the paper's six metrics; cuts and rules are fitted on the training part of each fold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from logiclens.concepts.splits import folds
from logiclens.estimator.classifier import EntropyClassifier
from logiclens.estimator.training import train_all
from logiclens.explain.reading import Reading
from logiclens.explain.result import Explanation
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.packed_rows import PackedRows
from logiclens.metrics.scores import (
    Consistency,
    Fidelity,
    accuracy,
    complexity,
    consistency,
    explanation_accuracy,
    fidelity,
    standard_error,
)


@dataclass(frozen=True)
class Scores:
    """Explanation accuracy, fidelity and complexity of one explanation on some rows."""

    explanation_accuracy: float
    fidelity: Fidelity
    complexity: float


def fires(formulas: Sequence[DNF | Complement], rows: PackedRows) -> NDArray[np.bool_]:
    """Return on which row which formula holds, `[rows, formulas]`."""
    columns = [formula.evaluate(rows) for formula in formulas]
    return np.stack(columns, axis=1)


def score_formulas(formulas: Sequence[DNF | Complement], reading: Reading) -> Scores:
    """Score formulas on the rows of a reading, against the labels and against the network."""
    fired = fires(formulas, PackedRows.of(reading.bits, reading.table.names))
    targets = reading.targets()
    return Scores(
        explanation_accuracy(fired, targets, reading.table.weight),
        fidelity(formulas, fired, reading.yes, reading.table.weight),
        complexity(formulas),
    )


def fit_together(
    models: Sequence[EntropyClassifier], tables: Sequence[tuple[Any, Any]], held_out: Sequence[tuple[Any, Any] | None]
) -> None:
    """Fit each model to its own rows and labels, with its own validation rows; see `EntropyClassifier.fit`.

    The models do not influence each other, so folds, seeds and settings can be fitted in one call.
    """
    begun = [
        model._begin(rows, labels, None, held)
        for model, (rows, labels), held in zip(models, tables, held_out, strict=True)
    ]
    for model, one, trained in zip(models, begun, train_all([one.training for one in begun]), strict=True):
        model._settle(one, trained)


@dataclass(frozen=True, eq=False)
class FoldResult:
    """One fold: the fitted model, its explanation, the raw test rows, and the metrics on them."""

    model: EntropyClassifier
    explanation: Explanation
    test: pd.DataFrame
    test_labels: NDArray[np.object_]
    model_accuracy: float
    scores: Scores
    seconds: float
    column_of: dict[str, str]

    @property
    def soft_agreement(self) -> float:
        """For an exact model, the share of test rows that it classifies as the soft network did; otherwise NaN."""
        agreement = self.model.soft_agreement(self.test) if self.model.exact else None
        return float("nan") if agreement is None else agreement


@dataclass(frozen=True)
class Metric:
    """Mean and standard error of a metric over folds, in its unit."""

    name: str
    mean: float
    standard_error: float
    unit: str


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """All folds, and the consistency between them."""

    folds: tuple[FoldResult, ...]
    consistency: Consistency

    def metrics(self) -> tuple[Metric, ...]:
        """Return the six metrics; fidelity is followed by its companions."""
        scores = [fold.scores for fold in self.folds]
        columns: list[tuple[str, list[float], str]] = [
            ("model accuracy", [100 * fold.model_accuracy for fold in self.folds], "%"),
            ("explanation accuracy", [100 * s.explanation_accuracy for s in scores], "%"),
            ("complexity", [s.complexity for s in scores], "literals"),
            ("fidelity", [100 * s.fidelity.accuracy for s in scores], "%"),
            ("fidelity, macro-F1", [100 * s.fidelity.macro_f1 for s in scores], "%"),
            ("fidelity of constant False", [100 * s.fidelity.constant_false for s in scores], "%"),
            ("constant formulas", [float(s.fidelity.constant_formulas) for s in scores], "a fold"),
            ("extraction time, with training", [fold.seconds for fold in self.folds], "s"),
        ]
        if all(fold.explanation.soft_agreement is not None for fold in self.folds):
            columns.append(("agreement with the soft network", [100 * fold.soft_agreement for fold in self.folds], "%"))
        found = [Metric(name, float(np.mean(v)), standard_error(v), unit) for name, v, unit in columns]
        return (*found, Metric("consistency, of columns", 100 * self.consistency.value, float("nan"), "%"))


def cross_validate(
    frame: pd.DataFrame,
    labels: NDArray[np.object_],
    *,
    estimator: EntropyClassifier,
    n_folds: int = 5,
    seed: int = 42,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[FoldResult]:
    """Yield one result per fold. Neither cuts nor weights depend on validation and test rows.

    The networks of all folds are trained in one pass. The time of a fold is its share of the time for cutting and
    training, plus the time for extracting its formulas.
    """
    parts = list(folds(labels, n_folds, seed=seed))
    models: list[EntropyClassifier] = [clone(estimator) for _ in parts]
    begun = clock()
    fit_together(
        models,
        [(frame.iloc[fold.train], labels[fold.train]) for fold in parts],
        [(frame.iloc[fold.validation], labels[fold.validation]) for fold in parts],
    )
    share = (clock() - begun) / len(parts)
    for fold, model in zip(parts, models, strict=True):
        test = frame.iloc[fold.test]
        begun = clock()
        explanation = model.explain()
        seconds = share + clock() - begun
        reading = model.read(test, labels[fold.test])
        yield FoldResult(
            model,
            explanation,
            test,
            labels[fold.test],
            accuracy(labels[fold.test], model.predict(test) if model.exact else model._answers_of(reading)),
            score_formulas(explanation.formulas, reading),
            seconds,
            {concept: predicate.column for concept, predicate in model.schema_.predicates.items()},
        )


def summarise(results: list[FoldResult]) -> CrossValidation:
    """Summarise all folds. Cuts differ between folds, so consistency compares the raw columns that formulas use."""
    column_of = {concept: column for fold in results for concept, column in fold.column_of.items()}
    runs = [fold.explanation.formulas for fold in results]
    return CrossValidation(tuple(results), consistency(runs, column_of))
