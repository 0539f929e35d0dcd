"""The metrics of one run: what a method learned, compared with rows it never saw."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from logiclens.bench.baselines.learner import Learned
from logiclens.bench.runs.results import (
    FORMULA,
    NOTE,
)
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.estimator.cross_validation import fires
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.text import format_formula
from logiclens.metrics.scores import METRICS, ScoredRows, accuracy


def measured(learned: Learned, test: ConceptTable) -> Iterator[tuple[str, str]]:
    """The metrics as name and text; shares lie in [0, 1].

    A method that explains a sample of the classes is scored on these alone, and as a model not at all.
    """
    if test.labels is None or test.labels.ndim != 1:
        raise LogicLensError("a method is measured on rows that have one class each.")
    said = learned.predict(test)
    if learned.classes is None:
        yield "model_accuracy", _number(accuracy(test.labels, said))
    if learned.formulas is None:
        return
    chosen = list(range(len(test.class_names))) if learned.classes is None else list(learned.classes)
    fired = fires(learned.formulas, PackedRows.of(test.boolean(), test.names))
    answers = said[:, None] == np.array(chosen) if learned.answers is None else learned.answers(test)
    rows = ScoredRows(learned.formulas, fired, test.targets()[:, chosen], answers, test.weight)
    for metric in METRICS:
        if metric.score is not None and (learned.classes is None or metric.of_samples):
            yield metric.key, _number(metric.score(rows))
    if learned.classes is not None:
        yield "classes", str(len(chosen))


def stated(learned: Learned, test: ConceptTable) -> Iterator[tuple[str, str]]:
    """The formulas and notes, as text."""
    names = test.class_names if learned.classes is None else [test.class_names[k] for k in learned.classes]
    for name, formula in zip(names, learned.formulas or (), strict=False):
        yield f"{FORMULA}{name}", format_formula(formula)
    if learned.notes:
        yield NOTE, " ".join(learned.notes)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6f}"
