"""Run logiclens beside five other ways to explain a table, on three real tables: what each prints, and how good it is.

    LOGICLENS_DATA=... OMP_NUM_THREADS=1 python -m lab.scripts.side_by_side.py [--tables NAME ...] [--methods NAME ...]
                                                                           [--json lab/results/side_by_side.json]

The tables are one that is easy for short rules (breast cancer), one that is hard for them (German credit) and one with
gaps (MIMIC-II). Each has five stratified folds, the same for all methods. Every method runs with its defaults, except
that the tree has depth 3, that the EBM has no pairs of columns (90 of them by default on breast cancer, which take 20
minutes on one fold and are harder to read), and that all use one process. The text of the first fold is kept as it was
printed. `why_page.py` writes docs/why.md from the file. A stopped run continues where it was.

What is measured on the unseen rows of each fold, or on what was printed:

- accuracy and macro-F1 of the predicted classes;
- length: how many things there are to read. Literals of our formula, conditions of RIPPER, splits of a tree and of
  FIGS, terms of an EBM, columns with a SHAP value;
- columns: the columns that the text names; for EBM and SHAP, which name all, the five most important;
- conditions: what the text states, thresholds included, where it states conditions;
- CPU seconds of learning, explaining included.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.tree import DecisionTreeClassifier, export_text

from lab.datasets.catalogue import load
from lab.peers.learner import global_seed, require
from lab.scripts.domination import folded
from lab.scripts.peers import Lines, Split, one_column_per_category
from lab.scripts.tables import data_folder
from logiclens import EntropyClassifier
from logiclens.export import to_english

RESULTS = Path(__file__).parents[1] / "results" / "side_by_side.json"
N_IMPORTANT = 5
"""How many columns count as named by a method that gives every column a number."""
N_PRINTED = 10
"""How many lines of such a list the page prints."""

CREDIT = {
    "checking_status": ("below 0", "0 to 200", "200 and more", "none"),
    "credit_history": ("no credits", "all paid", "existing paid", "delayed", "critical"),
    "purpose": ("new car", "used car", "furniture", "radio or tv", "appliance", "repairs", "education", "vacation",
                "retraining", "business", "other"),
    "savings_status": ("below 100", "100 to 500", "500 to 1000", "1000 and more", "unknown"),
    "employment": ("unemployed", "below 1 year", "1 to 4 years", "4 to 7 years", "7 years and more"),
    "personal_status": ("male divorced", "female", "male single", "male married"),
    "other_parties": ("none", "co-applicant", "guarantor"),
    "property_magnitude": ("real estate", "life insurance", "car", "none"),
    "other_payment_plans": ("bank", "stores", "none"),
    "housing": ("rent", "own", "free"),
    "job": ("unskilled non-resident", "unskilled resident", "skilled", "management"),
    "num_dependents": ("", "1", "2"),
}  # fmt: skip
"""The categories of German credit in the order of their codes, by the documentation of UCI (DM for amounts)."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table with labels, and the class that rules are asked for."""

    name: str
    frame: pd.DataFrame
    labels: NDArray[Any]
    target: str
    positive: str


@dataclass(frozen=True)
class Printed:
    """What a method answers and prints on one fold.

    Args:
        predicted: the class of each unseen row.
        text: what it prints, as it prints it.
        length: how many things there are to read.
        columns: the columns that it names.
        conditions: the conditions that it states; None if it states none.
    """

    predicted: NDArray[Any] = field(repr=False)
    text: str
    length: int
    columns: frozenset[str]
    conditions: frozenset[str] | None = None


def tables() -> Iterator[Table]:
    """Return the three tables."""
    cancer = load_breast_cancer(as_frame=True)
    labels = np.where(cancer.target == 0, "malignant", "benign")
    yield Table("breast cancer", cancer.data, labels, "diagnosis", "malignant")
    credit = pd.read_csv(data_folder() / "tabular" / "german_credit.csv.gz")
    labels = np.where(credit.pop("good") == 1, "good", "bad")
    yield Table("German credit", joined_categories(credit), labels, "risk", "bad")
    early = load("mimic2-early", data_folder())
    labels = np.where(early.labels == 1, "yes", "no")
    yield Table("MIMIC-II", early.inputs, labels, "died", "yes")


def joined_categories(wide: pd.DataFrame) -> pd.DataFrame:
    """Return German credit with one text column per group of 0/1 columns, as it was published."""
    frame = wide.copy()
    for column, words in CREDIT.items():
        parts = [name for name in wide if name.startswith(f"{column}_")]
        codes = wide[parts].to_numpy().argmax(axis=1)
        numbers = [int(float(name.removeprefix(f"{column}_"))) for name in parts]
        frame = frame.drop(columns=parts).assign(**{column: [words[numbers[code]] for code in codes]})
    return frame


def run_logiclens(split: Split, table: Table) -> Printed:
    """Run exact mode with its defaults and print its rules in words."""
    labels = pd.Series(split.train_labels, index=split.train.index, name=table.target)
    model = EntropyClassifier(exact=True).fit(split.train, labels)
    rules = model.rules_
    stated = {concept for formula in rules.formulas for concept in formula.concepts}
    columns = frozenset(rules.predicates[name].column for name in stated)
    length = min(formula.n_literals for formula in rules.formulas)
    return Printed(rules.predict(split.test), to_english(rules), length, columns, frozenset(stated))


def run_tree(split: Split, table: Table) -> Printed:
    """Run scikit-learn's tree of depth 3, categories as 0/1 columns."""
    train, test = one_column_per_category(split.train, split.train), one_column_per_category(split.test, split.train)
    tree = DecisionTreeClassifier(max_depth=3, random_state=split.seed).fit(train, split.train_labels)
    nodes = tree.tree_
    splits = [node for node in range(nodes.node_count) if nodes.children_left[node] != nodes.children_right[node]]
    names = [str(train.columns[nodes.feature[node]]) for node in splits]
    conditions = frozenset(f"{name} <= {nodes.threshold[node]:.4g}" for name, node in zip(names, splits, strict=True))
    text = export_text(tree, feature_names=[str(name) for name in train.columns])
    return Printed(tree.predict(test), text, len(splits), whole_columns(names, split), conditions)


def run_ripper(split: Split, table: Table) -> Printed:
    """Run wittgenstein's RIPPER for the positive class; the median stands for a gap, since it takes none."""
    train, test = filled(split.train, split.train), filled(split.test, split.train)
    with global_seed(split.seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls pandas in a way that is deprecated
        model = require("wittgenstein").RIPPER(random_state=split.seed)
        model.fit(train, y=split.train_labels.tolist(), pos_class=table.positive)
        fired = np.asarray(model.predict(test), dtype=np.bool_)
    (other,) = set(split.train_labels) - {table.positive}
    conditions = [condition for rule in model.ruleset_.rules for condition in rule.conds]
    with redirect_stdout(StringIO()) as written:
        model.out_model()
    stated = frozenset(f"{condition.feature}={condition.val}" for condition in conditions)
    columns = frozenset(str(condition.feature) for condition in conditions)
    predicted = np.where(fired, table.positive, other)
    return Printed(predicted, written.getvalue(), len(conditions), columns, stated)


def run_figs(split: Split, table: Table) -> Printed:
    """Run imodels' FIGS, categories as 0/1 columns; the median stands for a gap, since it takes none."""
    train, test = (
        one_column_per_category(filled(part, split.train), split.train) for part in (split.train, split.test)
    )
    with global_seed(split.seed):
        model = require("imodels").FIGSClassifier(random_state=split.seed)
        names = [str(name) for name in train.columns]
        model.fit(train.to_numpy(dtype=float), split.train_labels == table.positive, feature_names=names)
    said = np.asarray(model.predict(test.to_numpy(dtype=float)), dtype=np.bool_)
    (other,) = set(split.train_labels) - {table.positive}
    splits = [test for tree in model.trees_ for test in splits_of(tree)]
    conditions = frozenset(f"{names[column]} <= {threshold:.4g}" for column, threshold in splits)
    columns = whole_columns([names[column] for column, _ in splits], split)
    return Printed(np.where(said, table.positive, other), str(model), len(splits), columns, conditions)


def run_ebm(split: Split, table: Table) -> Printed:
    """Run interpret's explainable boosting machine in one process, without pairs of columns."""
    boosting = require("interpret.glassbox").ExplainableBoostingClassifier
    model = boosting(random_state=split.seed, n_jobs=1, interactions=0)
    model.fit(split.train, split.train_labels)
    weights = dict(zip(model.term_names_, model.term_importances(), strict=True))
    text, first = ranked(weights, "term", "mean absolute contribution to the log-odds")
    columns = frozenset(column for term in first for column in term.split(" & "))
    return Printed(model.predict(split.test), text, len(weights), columns)


def run_shap(split: Split, table: Table) -> Printed:
    """Run scikit-learn's random forest and average the SHAP values of the unseen rows, categories as 0/1 columns."""
    train, test = one_column_per_category(split.train, split.train), one_column_per_category(split.test, split.train)
    forest = RandomForestClassifier(random_state=split.seed).fit(train, split.train_labels)
    values = require("shap").TreeExplainer(forest).shap_values(test.astype(float))
    positive = values[..., list(forest.classes_).index(table.positive)]
    # The values of the categories of a column add up to the value of the column.
    of_column = pd.DataFrame(positive, columns=[origin(str(name), split) for name in train.columns])
    weights = of_column.T.groupby(level=0, sort=False).sum().T.abs().mean().to_dict()
    text, first = ranked(weights, "column", f"mean absolute SHAP value for {table.positive!r}")
    return Printed(forest.predict(test), text, sum(value > 0 for value in weights.values()), first)


METHODS: dict[str, Callable[[Split, Table], Printed]] = {
    "logiclens": run_logiclens,
    "tree": run_tree,
    "ripper": run_ripper,
    "figs": run_figs,
    "ebm": run_ebm,
    "shap": run_shap,
}
PACKAGES = {"tree": "scikit-learn", "ripper": "wittgenstein", "figs": "imodels", "ebm": "interpret-core",
            "shap": "shap"}  # fmt: skip


def ranked(weights: dict[str, float], what: str, measure: str) -> tuple[str, frozenset[str]]:
    """Return a list of the largest weights as text, and the names that count as named."""
    ordered = sorted(weights, key=lambda name: -weights[name])
    width = max(len(name) for name in ordered[:N_PRINTED])
    lines = [f"{what.ljust(width)}  {measure}"]
    lines += [f"{name.ljust(width)}  {weights[name]:.4f}" for name in ordered[:N_PRINTED]]
    if len(ordered) > N_PRINTED:
        lines.append(f"… and {len(ordered) - N_PRINTED} more {what}s")
    return "\n".join(lines), frozenset(ordered[:N_IMPORTANT])


def filled(frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the median of the training rows in place of each gap."""
    return frame.fillna(train.median(numeric_only=True))


def origin(name: str, split: Split) -> str:
    """Return the column that a 0/1 column was made from, or the column itself."""
    if name in split.train:
        return name
    return max((column for column in split.train if name.startswith(f"{column}_")), key=len)


def whole_columns(names: list[str], split: Split) -> frozenset[str]:
    return frozenset(origin(name, split) for name in names)


def splits_of(node: Any) -> Iterator[tuple[int, float]]:
    """Return the columns and thresholds on which a tree of FIGS splits."""
    if node.left is not None:
        yield int(node.feature), float(node.threshold)
        yield from splits_of(node.left)
        yield from splits_of(node.right)


def line_of(printed: Printed, seconds: float, split: Split) -> dict[str, Any]:
    """Return a run as it is kept."""
    stated = None if printed.conditions is None else sorted(printed.conditions)
    return {
        "accuracy": float(accuracy_score(split.test_labels, printed.predicted)),
        "macro_f1": float(f1_score(split.test_labels, printed.predicted, average="macro")),
        "length": printed.length,
        "seconds": round(seconds, 3),
        "columns": sorted(printed.columns),
        "conditions": stated,
        "text": printed.text.strip("\n") if split.seed == 0 else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", help="names of tables")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--json", default=str(RESULTS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = Lines(asked.json, ("table", "method", "fold"))
    for table in tables():
        if asked.tables and table.name not in asked.tables:
            continue
        majority = float(pd.Series(table.labels).value_counts(normalize=True).max())
        for split in folded(table.frame, table.labels, 0):
            for method in asked.methods:
                if lines.get(table.name, method, split.seed):
                    continue
                begun = time.process_time()
                printed = METHODS[method](split, table)
                seconds = time.process_time() - begun
                of_table = {"rows": len(table.frame), "n_columns": table.frame.shape[1], "majority": majority}
                packages = {"package": version(PACKAGES.get(method, "logiclens")), "python": platform.python_version()}
                line = {"table": table.name, "method": method, "fold": split.seed} | of_table | packages
                lines.add(line | line_of(printed, seconds, split))
                print(f"{table.name:14} {method:10} {split.seed} {line_of(printed, seconds, split)}"[:150], flush=True)


if __name__ == "__main__":
    main()
