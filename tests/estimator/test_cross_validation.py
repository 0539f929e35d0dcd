"""Cross-validation on unseen rows, and the paper's toy problem."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lab.runs import toy
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.splits import folds
from logiclens.errors import LogicLensWarning
from logiclens.estimator import EntropyClassifier
from logiclens.estimator.cross_validation import cross_validate, summarise
from logiclens.formula import DNF


def test_toy_table_is_the_papers():
    table = toy.table()
    rows, labels = table.values, table.labels
    assert rows.shape == (8, 4)
    assert (labels[:, 0] == (rows[:, 0] != rows[:, 1])).all()
    assert (labels[:, 2] == (rows[:, 2] + rows[:, 3] > 0)).all()
    assert (labels[:, 1] == 1 - labels[:, 0]).all()
    assert (labels[:, 3] == 1 - labels[:, 2]).all()
    for truth, column in zip(toy.TRUTH, labels.T, strict=True):
        assert (truth.evaluate(table.boolean(), table.names) == column).all()


def test_recovered_counts_formulas_by_meaning():
    with pytest.warns(LogicLensWarning, match="(never|always) predicts"):
        run = toy.train_c(0, epochs=1)
    assert run.recovered("search") < 4


@pytest.mark.slow
def test_toy_model_c_recovers_the_formulas_by_the_search():
    runs = [toy.train_c(seed) for seed in (0, 1)]
    assert all(run.recovered("search") == 4 for run in runs)


def test_folds_report_the_metrics_of_unseen_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 3)), columns=["u", "v", "w"])
    labels = np.where(frame["u"] > 0.5, "high", "low").astype(object)
    results = list(
        cross_validate(
            frame, labels, estimator=EntropyClassifier(epochs=150), n_folds=3,
            clock=iter(range(100)).__next__,
        )
    )  # fmt: skip
    validated = summarise(results)
    metrics = {metric.name: metric for metric in validated.metrics()}
    for fold in results:
        # The clock is the test's: a third of one tick for training all, and one for extracting.
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
    assert validated.consistency.value == 1.0
    for fold, parts in zip(results, folds(labels, 3), strict=True):
        # Cuts know neither the rows of the test nor those that choose the epoch.
        alone = Booleaniser().fit(frame.iloc[parts.train], labels[parts.train])
        assert fold.model.concept_names_ == tuple(alone.predicates_)


def test_consistency_compares_columns_where_cuts_differ():
    from logiclens.formula import Literal
    from logiclens.metrics import consistency

    runs = [[Literal("age >= 70") | DNF.false], [Literal("age >= 71") | DNF.false]]
    assert consistency(runs).value == 0.5
    assert consistency(runs, {"age >= 70": "age", "age >= 71": "age"}).value == 1.0
