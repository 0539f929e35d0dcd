"""The one list of metrics: what computes and prints metrics reads it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from logiclens.estimator.cross_validation import MetricOverFolds
from logiclens.metrics.scores import METRICS, metric_named

SIX = ["model_accuracy", "explanation_accuracy", "complexity", "fidelity", "consistency", "seconds"]
WITH_TOY = """
import sys
from pathlib import Path
from logiclens.metrics import scores
scores.METRICS += (scores.Metric(
    "cubes", "number of cubes", "cubes", "cubes of a formula, mean over classes", main=True, lower_is_better=True,
    score=lambda rows: sum(len(formula) for formula in rows.formulas) / len(rows.formulas)),)

import numpy as np
import pandas as pd
from lab.peers.learner import Learned
from lab.pages.report import _six_tables
from lab.pages.summary import Bench
from lab.runs.paper import measured
from logiclens.cli.output import Printer
from logiclens.cli.sheet import print_metrics
from logiclens.concepts import ConceptTable
from logiclens.estimator import EntropyClassifier
from logiclens.estimator.cross_validation import cross_validate, summarise
from logiclens.formula import parse

frame = pd.DataFrame({"u": np.linspace(0, 1, 60)})
labels = np.where(frame["u"] > 0.5, "high", "low").astype(object)
model = EntropyClassifier(epochs=5, method="paper", resolve="confidence")
print_metrics(Printer(), summarise(list(cross_validate(frame, labels, estimator=model, n_folds=2))).metrics(), 2)

table = ConceptTable([[0, 1], [1, 0]], ["a", "b"], labels=[0, 1], class_names=["x", "y"])
learned = Learned(lambda rows: np.array([0, 1]), (parse("a | b"), parse("a")))
line = {"fold": 0, "status": "ok", **measured(learned, table)}
parts = list(_six_tables(Bench({}, {("iris", "clean", "stump"): [line]}), "clean"))
place = parts.index("### Number of cubes")
print(parts[place + 1])
print(parts[place + 2].splitlines()[-1].split("|")[2].strip().strip("*").split("*")[0])
"""


def test_the_six_metrics_of_the_paper_have_tables():
    assert [metric.key for metric in METRICS if metric.main] == SIX


def test_every_metric_is_defined_and_stands_somewhere():
    assert len({metric.key for metric in METRICS}) == len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.definition
        assert metric.title.lower() == metric.name.lower()
        assert set(metric.below) <= set(SIX)
        assert bool(metric.below) == bool(metric.label)


def test_a_note_follows_the_name():
    assert MetricOverFolds(metric_named("seconds"), 1.0, 0.0, "with training").name == "extraction time, with training"
    with pytest.raises(StopIteration):
        metric_named("beauty")


def test_one_entry_makes_a_metric(tmp_path):
    run = subprocess.run([sys.executable, "-c", WITH_TOY, str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    (line,) = (line for line in lines if line.startswith("  number of cubes "))
    assert line.endswith(" cubes")
    assert lines[-2].startswith("Number of cubes (cubes) under 'clean', ")
    assert lines[-1] == "1.50"
