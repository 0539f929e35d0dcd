"""Many classifiers in one pass: their networks are trained together, each as if alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logiclens.estimators.classifier import EntropyClassifier
from logiclens.estimators.training import train_all


def fit_together(
    models: Sequence[EntropyClassifier], tables: Sequence[tuple[Any, Any]], held_out: Sequence[tuple[Any, Any] | None]
) -> None:
    """Fit each model to its own rows and labels, with its own rows that choose the epoch; see `EntropyClassifier.fit`.

    What each becomes does not depend on the others, so folds, seeds and settings can be fitted in one call.
    """
    begun = [
        model._begin(rows, labels, None, held)
        for model, (rows, labels), held in zip(models, tables, held_out, strict=True)
    ]
    for model, one, trained in zip(models, begun, train_all([one.training for one in begun]), strict=True):
        model._settle(one, trained)
