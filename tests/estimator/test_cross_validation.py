"""Cross-validation on unseen rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens.concepts.splits import folds
from logiclens.estimator import EntropyClassifier
from logiclens.estimator.cross_validation import cross_validate, summarise
from logiclens.formula import DNF


def test_folds_report_the_metrics_of_unseen_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 3)), columns=["u", "v", "w"])
    labels = np.where(frame["u"] > 0.5, "high", "low").astype(object)
    results = list(
        cross_validate(
            frame, labels, estimator=EntropyClassifier(), n_folds=3,
            clock=iter(range(100)).__next__,
        )
    )  # fmt: skip
    validated = summarise(results)
    metrics = {metric.name: metric for metric in validated.metrics()}
    for fold in results:
        # The clock is the test's: a third of one tick for fitting all, and one for explaining.
        assert fold.seconds == pytest.approx(4 / 3)
        answers = fold.model.predict(fold.test)
        assert fold.model_accuracy == np.mean(answers == fold.test_labels)
        fires = np.stack(
            [formula.evaluate(fold.model.concepts(fold.test)) for formula in fold.explanation.formulas], axis=1
        )
        agree = np.mean([fires[:, i] == (answers == name) for i, name in enumerate(("high", "low"))])
        assert fold.scores["fidelity"] == pytest.approx(agree)
    assert metrics["model accuracy"].mean == pytest.approx(100 * np.mean([fold.model_accuracy for fold in results]))
    assert metrics["explanation accuracy"].mean > 85
    # One column decides and every fold finds it, whatever its cuts are called there.
    for fold, parts in zip(results, folds(labels, 3), strict=True):
        assert "u" in {fold.column_of[name] for formula in fold.explanation.formulas for name in formula.concepts}
        # All other rows train, and cuts know no row of the test.
        rest = np.setdiff1d(np.arange(len(frame)), parts.test)
        alone = EntropyClassifier().fit(frame.iloc[rest], labels[rest])
        assert fold.model.rules_ == alone.rules_


def test_consistency_compares_columns_where_cuts_differ():
    from logiclens.formula import Literal
    from logiclens.metrics import consistency

    runs = [[Literal("age >= 70") | DNF.false], [Literal("age >= 71") | DNF.false]]
    assert consistency(runs).value == 0.5
    assert consistency(runs, {"age >= 70": "age", "age >= 71": "age"}).value == 1.0
