"""Cross-validation with the paper's six metrics; cuts and rules are fitted on all rows but those of a fold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from logiclens.concepts.splits import folds
from logiclens.errors import LogicLensError, quoted
from logiclens.estimator.classifier import EntropyClassifier
from logiclens.estimator.inputs import group_numbers
from logiclens.estimator.knowledge import learnable
from logiclens.estimator.prepare import copy_numbers
from logiclens.estimator.settings import booleaniser_of
from logiclens.explain.choice import SEARCHING
from logiclens.explain.reading import Reading
from logiclens.explain.result import Explanation
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.packed_rows import PackedRows
from logiclens.metrics.scores import (
    METRICS,
    Consistency,
    Metric,
    ScoredRows,
    accuracy,
    consistency,
    metric_named,
    standard_error,
)
from logiclens.progress import Progress, Shown, working
from logiclens.tables.frames import label_array, named_frame


@dataclass(frozen=True)
class Scores:
    """One explanation on some rows: the value of each metric that is scored, by its key."""

    values: Mapping[str, float]

    def __getitem__(self, key: str) -> float:
        """The value of one metric."""
        return self.values[key]


def fires(formulas: Sequence[DNF | Complement], rows: PackedRows) -> NDArray[np.bool_]:
    """Return on which row which formula holds, `[rows, formulas]`."""
    columns = [formula.evaluate(rows) for formula in formulas]
    return np.stack(columns, axis=1)


def score_formulas(formulas: Sequence[DNF | Complement], reading: Reading) -> Scores:
    """Score formulas on the rows of a reading, against the labels and against the network."""
    fired = fires(formulas, PackedRows.of(reading.bits, reading.table.names))
    rows = ScoredRows(formulas, fired, reading.targets(), reading.yes, reading.table.weight)
    return Scores({metric.key: metric.score(rows) for metric in METRICS if metric.score is not None})


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


@dataclass(frozen=True)
class MetricOverFolds:
    """Mean and standard error of a metric over folds, in its unit; `note` says how it was measured here."""

    metric: Metric
    mean: float
    standard_error: float
    note: str = ""

    @property
    def name(self) -> str:
        """The name of the metric, with the note."""
        return ", ".join(filter(None, (self.metric.name, self.note)))

    @property
    def unit(self) -> str:
        """What the mean is read in."""
        return self.metric.unit


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """All folds, and the consistency between them."""

    folds: tuple[FoldResult, ...]
    consistency: Consistency

    def metrics(self) -> tuple[MetricOverFolds, ...]:
        """Return the metrics of the list that folds have, then the time and what only all folds together have."""
        found = [_over_folds("model_accuracy", [fold.model_accuracy for fold in self.folds])]
        for key in self.folds[0].scores.values:
            found.append(_over_folds(key, [fold.scores.values[key] for fold in self.folds]))
        found.append(_over_folds("seconds", [fold.seconds for fold in self.folds], "with training"))
        metric = metric_named("consistency")
        consistent = MetricOverFolds(metric, metric.scale * self.consistency.value, float("nan"), "of columns")
        return (*found, consistent)


def _over_folds(key: str, values: Sequence[float], note: str = "") -> MetricOverFolds:
    metric = metric_named(key)
    scaled = [metric.scale * value for value in values]
    return MetricOverFolds(metric, float(np.mean(scaled)), standard_error(scaled), note)


def cross_validate(
    frame: pd.DataFrame,
    labels: NDArray[np.object_],
    *,
    estimator: EntropyClassifier,
    n_folds: int = 5,
    seed: int = 42,
    groups: ArrayLike | None = None,
    clock: Callable[[], float] = time.perf_counter,
    progress: Shown = None,
) -> Iterator[FoldResult]:
    """Yield one result per fold. Neither cuts nor rules depend on its test rows.

    The time of a fold is its share of the time for fitting, plus the time for explaining.

    Args:
        frame: the rows, with named columns.
        labels: the label of each row.
        estimator: the classifier; each fold is fitted with a clone of it.
        n_folds: the number of folds. Default: 5.
        seed: random seed of the folds. Default: 42.
        groups: the group of each row; a fold has whole groups. Default: None, whole rows with their copies.
        clock: seconds of a clock.
        progress: a function that is called with a `logiclens.ProgressState` as the work proceeds. Default: None, a bar
            in a terminal or a notebook if the estimator is `verbose`.
    """
    frame = named_frame(frame)
    if not isinstance(frame, pd.DataFrame):
        raise LogicLensError(f"cross_validate needs a table with named columns, got {quoted(frame)}.")
    if not isinstance(estimator, EntropyClassifier):
        raise LogicLensError(f"estimator must be an EntropyClassifier, got {quoted(estimator)}.")
    if estimator.split_by_time is not None:
        raise LogicLensError("folds are drawn at random, whatever the time: leave out split_by_time.")
    labels = label_array(labels, len(frame))
    numbers = None if groups is None else group_numbers(groups, len(frame))
    together = units_of(estimator, frame, labels) if numbers is None else numbers
    parts = list(folds(labels, n_folds, seed=seed, groups=together))
    models: list[EntropyClassifier] = [clone(estimator) for _ in parts]
    begun = clock()
    with (
        working(bool(estimator.verbose) if progress is None else progress),
        Progress(len(parts), SEARCHING) as shown,
    ):
        for place, (model, fold) in enumerate(zip(models, parts, strict=True)):
            rows = np.sort(np.concatenate([fold.train, fold.validation]))
            own = None if numbers is None else numbers[rows]
            model._settle(model._begin(frame.iloc[rows], labels[rows], None, None, own, is_part=True))
            shown.update(place + 1)
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
            accuracy(labels[fold.test], model.predict(test) if model._is_exact else model._answers_of(reading)),
            score_formulas(explanation.formulas, reading),
            seconds,
            {concept: predicate.column for concept, predicate in model.schema_.predicates.items()},
        )


def units_of(estimator: EntropyClassifier, frame: pd.DataFrame, labels: NDArray[Any]) -> NDArray[np.intp] | None:
    """Return a number that a row shares with its copies only; None if no row is a copy."""
    rows = learnable(estimator, frame, None)
    return copy_numbers(rows, np.unique(labels, return_inverse=True)[1], booleaniser_of(estimator))


def summarise(results: list[FoldResult]) -> CrossValidation:
    """Summarise all folds. Cuts differ between folds, so consistency compares the raw columns that formulas use."""
    column_of = {concept: column for fold in results for concept, column in fold.column_of.items()}
    runs = [fold.explanation.formulas for fold in results]
    return CrossValidation(tuple(results), consistency(runs, column_of))
