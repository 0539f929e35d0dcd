"""logiclens beside five other ways to explain a table, on three real tables: what each prints, and how good it is.

The tables are one that is easy for short rules (breast cancer), one that is hard for them (German credit) and one with
gaps (MIMIC-II). Each has five stratified folds, the same for all methods. Every method runs with its defaults, except
that the tree has depth 3, that the EBM has no pairs of columns (90 of them by default on breast cancer, which take 20
minutes on one fold and are harder to read), and that all use one process. The text of the first fold is stored as it
was printed. What is measured on the unseen rows of each fold, or on what was printed:
accuracy and macro-F1; length, that is how many things there are to read; the columns that the text names (for EBM and
SHAP, which name all, the five most important); the conditions that it states; CPU seconds, explaining included.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import version
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.tree import DecisionTreeClassifier, export_text

from lab.datasets.raw import RawTable, side_tables
from lab.peers.learner import global_seed, require
from lab.peers.raw import Split, figs_splits, folded, one_column_per_category
from lab.runs.results import Job, Line
from logiclens import EntropyClassifier
from logiclens.export import to_english

KEYS = ("table", "method", "fold")
N_IMPORTANT, N_PRINTED = 5, 10
"""Of a method that gives every column a number: how many count as named, and how many the page prints."""


@dataclass(frozen=True)
class Printed:
    """What a method answers and prints on one fold; `conditions` is None if it states none."""

    predicted: NDArray[Any] = field(repr=False)
    text: str
    length: int
    columns: Iterable[str]
    conditions: Iterable[str] | None = None


def run_logiclens(split: Split, table: RawTable) -> Printed:
    """Run exact mode with its defaults and print its rules in words."""
    labels = pd.Series(split.train_labels, index=split.train.index, name=table.target)
    rules = EntropyClassifier(exact=True).fit(split.train, labels).rules_
    stated = {concept for formula in rules.formulas for concept in formula.concepts}
    columns = {rules.predicates[name].column for name in stated}
    length = min(formula.n_literals for formula in rules.formulas)
    return Printed(rules.predict(split.test), to_english(rules), length, columns, stated)


def run_tree(split: Split, table: RawTable) -> Printed:
    """Run scikit-learn's tree of depth 3, categories as 0/1 columns."""
    train, test = (one_column_per_category(part, split.train) for part in (split.train, split.test))
    tree = DecisionTreeClassifier(max_depth=3, random_state=split.seed).fit(train, split.train_labels)
    nodes, names = tree.tree_, [str(name) for name in train.columns]
    splits = [(names[j], cut) for j, cut in zip(nodes.feature, nodes.threshold, strict=True) if j >= 0]
    return _of_splits(split, tree.predict(test), export_text(tree, feature_names=names), splits)


def run_ripper(split: Split, table: RawTable) -> Printed:
    """Run wittgenstein's RIPPER for the positive class; the median stands for a gap, since it takes none."""
    train, test = (part.fillna(split.train.median(numeric_only=True)) for part in (split.train, split.test))
    with global_seed(split.seed):
        model = require("wittgenstein").RIPPER(random_state=split.seed)
        model.fit(train, y=split.train_labels.tolist(), pos_class=table.positive)
        fired = np.asarray(model.predict(test), dtype=np.bool_)
    conditions = [condition for rule in model.ruleset_.rules for condition in rule.conds]
    with redirect_stdout(StringIO()) as written:
        model.out_model()
    stated = {f"{condition.feature}={condition.val}" for condition in conditions}
    columns = {str(condition.feature) for condition in conditions}
    return Printed(_labels(fired, split, table), written.getvalue(), len(conditions), columns, stated)


def run_figs(split: Split, table: RawTable) -> Printed:
    """Run imodels' FIGS, categories as 0/1 columns; the median stands for a gap, since it takes none."""
    middle = split.train.median(numeric_only=True)
    train, test = (one_column_per_category(part.fillna(middle), split.train) for part in (split.train, split.test))
    names = [str(name) for name in train.columns]
    with global_seed(split.seed):
        model = require("imodels").FIGSClassifier(random_state=split.seed)
        model.fit(train.to_numpy(dtype=float), split.train_labels == table.positive, feature_names=names)
    fired = np.asarray(model.predict(test.to_numpy(dtype=float)), dtype=np.bool_)
    splits = [(names[column], cut) for tree in model.trees_ for column, cut in figs_splits(tree)]
    return _of_splits(split, _labels(fired, split, table), str(model), splits)


def run_ebm(split: Split, table: RawTable) -> Printed:
    """Run interpret's explainable boosting machine in one process, without pairs of columns."""
    boosting = require("interpret.glassbox").ExplainableBoostingClassifier
    model = boosting(random_state=split.seed, n_jobs=1, interactions=0).fit(split.train, split.train_labels)
    weights = dict(zip(model.term_names_, model.term_importances(), strict=True))
    text, first = ranked(weights, "term", "mean absolute contribution to the log-odds")
    return Printed(model.predict(split.test), text, len(weights), first)


def run_shap(split: Split, table: RawTable) -> Printed:
    """Run scikit-learn's random forest and average the SHAP values of the unseen rows, categories as 0/1 columns."""
    train, test = (one_column_per_category(part, split.train) for part in (split.train, split.test))
    forest = RandomForestClassifier(random_state=split.seed).fit(train, split.train_labels)
    values = require("shap").TreeExplainer(forest).shap_values(test.astype(float))
    positive = values[..., list(forest.classes_).index(table.positive)]
    # The values of the categories of a column add up to the value of the column.
    of_column = pd.DataFrame(positive, columns=[origin(str(name), split) for name in train.columns])
    sums = of_column.T.groupby(level=0, sort=False).sum().T.abs().mean()
    weights = {str(name): float(value) for name, value in sums.items()}
    text, first = ranked(weights, "column", f"mean absolute SHAP value for {table.positive!r}")
    return Printed(forest.predict(test), text, sum(value > 0 for value in weights.values()), first)


METHODS: dict[str, tuple[Callable[[Split, RawTable], Printed], str]] = {
    "logiclens": (run_logiclens, "logiclens"), "tree": (run_tree, "scikit-learn"),
    "ripper": (run_ripper, "wittgenstein"), "figs": (run_figs, "imodels"), "ebm": (run_ebm, "interpret-core"),
    "shap": (run_shap, "shap"),
}  # fmt: skip
"""The function of each method, and the package that it runs."""


def side_jobs(names: Sequence[str], methods: Sequence[str]) -> Iterator[Job]:
    for table in side_tables():
        if table.name.startswith(tuple(names) or ""):
            for split in folded(table.frame, table.labels):
                for method in methods:
                    yield {"table": table.name, "method": method, "fold": split.seed}, side_run, (split, table, method)


def side_run(split: Split, table: RawTable, method: str) -> Line:
    run, package = METHODS[method]
    begun = time.process_time()
    printed = run(split, table)
    seconds = round(time.process_time() - begun, 3)
    return {
        "rows": len(table.frame), "n_columns": table.frame.shape[1],
        "majority": float(pd.Series(table.labels).value_counts(normalize=True).max()),
        "package": version(package), "python": platform.python_version(),
        "accuracy": float(accuracy_score(split.test_labels, printed.predicted)),
        "macro_f1": float(f1_score(split.test_labels, printed.predicted, average="macro")),
        "length": printed.length, "seconds": seconds, "columns": sorted(printed.columns),
        "conditions": None if printed.conditions is None else sorted(printed.conditions),
        "text": printed.text.strip("\n") if split.seed == 0 else None,
    }  # fmt: skip


def ranked(weights: dict[str, float], what: str, measure: str) -> tuple[str, list[str]]:
    ordered = sorted(weights, key=lambda name: -weights[name])
    width = max(len(name) for name in ordered[:N_PRINTED])
    lines = [f"{what.ljust(width)}  {measure}"]
    lines += [f"{name.ljust(width)}  {weights[name]:.4f}" for name in ordered[:N_PRINTED]]
    if len(ordered) > N_PRINTED:
        lines.append(f"… and {len(ordered) - N_PRINTED} more {what}s")
    return "\n".join(lines), ordered[:N_IMPORTANT]


def origin(name: str, split: Split) -> str:
    if name in split.train:
        return name
    return max((str(column) for column in split.train if name.startswith(f"{column}_")), key=len)


def _of_splits(split: Split, predicted: NDArray[Any], text: str, splits: Sequence[tuple[str, float]]) -> Printed:
    conditions = {f"{name} <= {cut:.4g}" for name, cut in splits}
    return Printed(predicted, text, len(splits), {origin(name, split) for name, _ in splits}, conditions)


def _labels(fired: NDArray[np.bool_], split: Split, table: RawTable) -> NDArray[Any]:
    (other,) = set(split.train_labels) - {table.positive}
    return np.where(fired, table.positive, other)
