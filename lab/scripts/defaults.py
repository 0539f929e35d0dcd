"""Compare the defaults with trees on small tables: accuracy on unseen rows and literals per class.

    python -m lab.scripts.defaults.py [--only NAME ...] [--json FILE]

Each table has five folds (the MONK's problems have their own split), the same for all methods. Trees get categories
as 0/1 columns, and numbers and gaps as they are. The formula of a class joins the paths to the leaves of the class,
with the conditions on one column merged. Our method has four lines: the network and its rules, soft and exact.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from lab.scripts.tables import data_folder
from logiclens import EntropyClassifier


@dataclass(frozen=True, eq=False)
class Task:
    """A raw table with labels, and which rows train and test."""

    name: str
    frame: pd.DataFrame
    labels: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Line:
    """One method on one fold."""

    task: str
    method: str
    fold: int
    accuracy: float
    literals: float
    seconds: float


def tasks() -> Iterator[Task]:
    """Return the small tables of the data folder and those of scikit-learn."""
    folder = data_folder() / "tabular"
    for name, file in (("breast cancer, Ljubljana", "breast_cancer_ljubljana"), ("German credit", "german_credit")):
        frame = pd.read_csv(folder / f"{file}.csv.gz")
        yield _folded(name, frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy())
    monks = pd.read_csv(folder / "monks.csv.gz")
    for problem, rows in monks.groupby("problem"):
        split = np.flatnonzero(rows["split"] == "train"), np.flatnonzero(rows["split"] == "test")
        frame = rows.drop(columns=["problem", "split", "class"])
        yield Task(f"MONK's {problem}", frame, rows["class"].to_numpy(), [split])
    frame = pd.read_csv(folder / "mushroom_agaricus-lepiota.data.gz")
    yield _folded("mushroom", frame.drop(columns="edibility"), frame["edibility"].to_numpy())
    frame = pd.read_csv(folder / "tic-tac-toe.data.gz", header=None)
    places = [f"{row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]
    frame.columns = [*places, "won"]
    yield _folded("tic-tac-toe", frame[places], frame["won"].to_numpy())
    own = {"iris": load_iris, "wine": load_wine, "breast cancer, Wisconsin": load_breast_cancer, "digits": load_digits}
    for name, load in own.items():
        bunch = load(as_frame=True)
        yield _folded(name, bunch.data, bunch.target.to_numpy())


def _folded(name: str, frame: pd.DataFrame, labels: np.ndarray) -> Task:
    splits = StratifiedKFold(5, shuffle=True, random_state=42).split(frame, labels)
    return Task(name, frame, np.asarray(labels), list(splits))


def tree_literals(tree: DecisionTreeClassifier, columns: list[str], n_classes: int) -> float:
    """Return the mean literals per class of a tree: each path to a leaf, with the bounds of one column merged."""
    nodes, total = tree.tree_, 0

    def walk(node: int, bounds: frozenset[tuple[int, bool]]) -> None:
        nonlocal total
        left, right = nodes.children_left[node], nodes.children_right[node]
        if left == right:
            total += len(bounds)
            return
        feature = int(nodes.feature[node])
        # A 0/1 column has one bound; another may have one from below and one from above.
        walk(left, bounds | {(feature, False)})
        walk(right, bounds | {(feature, True)})

    walk(0, frozenset())
    return total / n_classes


def run_ours(model: EntropyClassifier, task: Task, train: np.ndarray, test: np.ndarray) -> Iterator[tuple]:
    begun = time.process_time()
    model = clone(model).fit(task.frame.iloc[train], task.labels[train])
    rules = model.rules_
    seconds = time.process_time() - begun
    literals = float(np.mean([formula.n_literals for formula in rules.formulas]))
    unseen = task.frame.iloc[test]
    yield "network", float(np.mean(model.predict(unseen) == task.labels[test])), literals, seconds
    yield "rules", float(np.mean(rules.predict(unseen) == task.labels[test])), literals, seconds


def run_tree(tree: DecisionTreeClassifier, task: Task, train: np.ndarray, test: np.ndarray) -> Iterator[tuple]:
    text = [name for name, kind in task.frame.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    wide = pd.get_dummies(task.frame, columns=text)
    begun = time.process_time()
    tree = clone(tree).fit(wide.iloc[train], task.labels[train])
    seconds = time.process_time() - begun
    literals = tree_literals(tree, list(wide.columns), len(np.unique(task.labels)))
    yield "", float(np.mean(tree.predict(wide.iloc[test]) == task.labels[test])), literals, seconds


METHODS: dict[str, tuple[Callable, object]] = {
    "soft": (run_ours, EntropyClassifier()),
    "exact": (run_ours, EntropyClassifier(exact=True)),
    "tree, depth 5": (run_tree, DecisionTreeClassifier(max_depth=5, random_state=0)),
    "tree, 4 leaves": (run_tree, DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)),
    "one literal": (run_tree, DecisionTreeClassifier(max_depth=1, random_state=0)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="tasks whose name starts with one of these")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--json", help="keep every line")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for task in tasks():
        if asked.only and not task.name.startswith(tuple(asked.only)):
            continue
        for name in asked.methods:
            run, model = METHODS[name]
            for fold, (train, test) in enumerate(task.splits):
                for part, *values in run(model, task, train, test):
                    lines.append(Line(task.name, f"{name}: {part}" if part else name, fold, *values))
        report(pd.DataFrame([asdict(line) for line in lines if line.task == task.name]), task.name)
    table = pd.DataFrame([asdict(line) for line in lines])
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump([asdict(line) for line in lines], file, indent=1)
    verdict(table)


def report(table: pd.DataFrame, name: str) -> None:
    """Return accuracy with its standard error over folds, literals per class, CPU seconds of fit and explanation."""
    print(f"\n{name}")
    for method, rows in table.groupby("method", sort=False):
        error = rows.accuracy.std(ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else float("nan")
        print(
            f"  {method:<16}{100 * rows.accuracy.mean():6.1f} ± {100 * error:4.1f} %"
            f"{rows.literals.mean():8.1f} literals{rows.seconds.mean():7.2f} s"
        )


def verdict(table: pd.DataFrame) -> None:
    """Return means over tables, and the tables on which a simpler rule is better in accuracy and length."""
    means = table.groupby(["task", "method"], sort=False)[["accuracy", "literals"]].mean()
    overall = means.groupby("method", sort=False).mean()
    print("\nmean over tables")
    for method, row in overall.iterrows():
        print(f"  {method:<16}{100 * row.accuracy:6.1f} %{row.literals:8.1f} literals")
    if "tree, depth 5" not in overall.index:
        return
    tree = overall.loc["tree, depth 5"]
    for method in [method for method in overall.index if ":" in method]:
        ours = overall.loc[method]
        print(
            f"{method}: {100 * (ours.accuracy - tree.accuracy):+.1f} points of accuracy, "
            f"{ours.literals / tree.literals:.2f} of the literals of the tree of depth 5"
        )
        for simple in ("one literal", "tree, 4 leaves"):
            beaten = []
            for task in means.index.get_level_values("task").unique():
                mine, other = means.loc[(task, method)], means.loc[(task, simple)]
                no_worse = other.accuracy >= mine.accuracy and other.literals <= mine.literals
                if no_worse and (other.accuracy > mine.accuracy or other.literals < mine.literals):
                    beaten.append(f"{task} ({100 * (other.accuracy - mine.accuracy):+.1f})")
            print(f"  dominated by {simple}: {', '.join(beaten) or 'nowhere'}")


if __name__ == "__main__":
    main()
