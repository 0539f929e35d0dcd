"""Compare a committee of networks with scikit-learn's HistGradientBoosting.

    python -m lab.scripts.sight.py [--only NAME ...] [--members 10] [--json FILE]

Both get the same five folds of the tables of `defaults.py` and of two generated tables whose categories have 200
values. Cuts are found on the training rows of a fold. Each member of the committee is trained on a bag of 60% of these
rows, a fifth of which chooses its epoch; the committee answers with the mean of its members' probabilities. For each
table: accuracy of both, and the mean of the paired difference with its standard error over folds, in points.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from lab.scripts.defaults import Task, _folded, tasks
from logiclens import EntropyClassifier
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import set_apart
from logiclens.estimator.training import Begun, train_all

BAG = 0.6
"""Share of the training rows that each member of the committee sees."""


@dataclass(frozen=True)
class Line:
    """The scores of both methods on one fold."""

    task: str
    fold: int
    concepts: int
    committee: float
    boosting: float
    cut_seconds: float
    seconds: float


def generated() -> Iterator[Task]:
    """Make two tables whose classes depend on a category of 200 values."""
    rng = np.random.default_rng(0)
    yield _folded("job titles, 200 values", *_job_titles(rng, 6_000))
    yield _folded("shops and goods, 200 values each", *_shops(rng, 8_000))


def _job_titles(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The title sets a level of pay, and the class is whether level, years and region together reach a bound."""
    level = rng.normal(size=200)
    share = rng.dirichlet(np.full(200, 2.0))
    title = rng.choice(200, n_rows, p=share)
    years, hours = rng.gamma(4, 3, n_rows).round(1), rng.normal(38, 6, n_rows).round(0)
    region = rng.choice(["north", "south", "east", "west"], n_rows)
    score = 2 * level[title] + 0.1 * (years - 12) + 0.5 * (region == "north") + 0.05 * (hours - 38)
    noise = rng.normal(scale=0.3, size=n_rows)
    frame = pd.DataFrame({"title": [f"title {i:03}" for i in title], "years": years, "hours": hours, "region": region})
    return frame, np.where(score + noise > 0.3, "high", "low")


def _shops(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes that depend on a group of shops, a group of goods, and a price; noise in 3% of the rows."""
    shop, good = rng.integers(0, 200, n_rows), rng.integers(0, 200, n_rows)
    of_shop, of_good = rng.random(200) < 0.4, rng.integers(0, 3, 200)
    price, stock = rng.lognormal(3, 0.6, n_rows).round(2), rng.integers(0, 50, n_rows)
    label = np.where(of_shop[shop] & (price > 22), 0, np.where(of_good[good] == 2, 2, 1))
    flipped = rng.random(n_rows) < 0.03
    label = np.where(flipped, rng.integers(0, 3, n_rows), label)
    names = {"shop": [f"shop {i}" for i in shop], "good": [f"good {i}" for i in good], "price": price, "stock": stock}
    return pd.DataFrame(names), np.array(["return", "keep", "swap"])[label]


def committee_probability(train: ConceptTable, unseen: ConceptTable, *, members: int, seed: int = 0) -> np.ndarray:
    """Return the mean probability of networks trained on bags of the rows, `[rows, classes]`."""
    model = EntropyClassifier()
    labels = np.asarray(train.labels)
    rng = np.random.default_rng(seed)
    begun = []
    for member in range(members):
        order = rng.permutation(len(train))
        bag = train.take(order[set_apart(labels[order], np.ones(len(order)), BAG) > 0])
        held = set_apart(np.asarray(bag.labels), bag.weight, model.validation)
        validation = bag.weighing(held) if held.any() else None
        classes = np.arange(len(train.class_names))
        begun.append(Begun(model, classes, bag.weighing(bag.weight - held), validation, seed + member))
    rows = torch.as_tensor(unseen.values, dtype=torch.float64)
    with torch.no_grad():
        found = [torch.softmax(one.network(rows), dim=-1).numpy() for one in train_all(begun, progress=False)]
    return np.mean(found, axis=0)


def boosted_answers(task: Task, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the answers of boosted trees on the rows of a fold; text is a category."""
    frame = task.frame.copy()
    for name, kind in frame.dtypes.items():
        if not pd.api.types.is_numeric_dtype(kind):
            known = sorted(frame[name].iloc[train].dropna().unique())
            frame[name] = pd.Categorical(frame[name], categories=known)
    trees = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return np.asarray(trees.fit(frame.iloc[train], task.labels[train]).predict(frame.iloc[test]))


def run(task: Task, fold: int, members: int) -> Line:
    """Both methods on one fold."""
    train, test = task.splits[fold]
    classes, codes = np.unique(task.labels, return_inverse=True)
    begun = time.process_time()
    cuts = Booleaniser().fit(task.frame.iloc[train], task.labels[train])
    cut_seconds = time.process_time() - begun
    names = [str(name) for name in cuts.get_feature_names_out()]
    tables = [
        ConceptTable(cuts.transform(task.frame.iloc[rows]), names, codes[rows], [str(c) for c in classes])
        for rows in (train, test)
    ]
    probability = committee_probability(*tables, members=members)
    ours = float(np.mean(probability.argmax(axis=1) == codes[test]))
    seconds = time.process_time() - begun
    theirs = float(np.mean(boosted_answers(task, train, test) == task.labels[test]))
    return Line(task.name, fold, len(names), ours, theirs, cut_seconds, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="tables whose name starts with one of these")
    parser.add_argument("--members", type=int, default=10, help="networks in the committee")
    parser.add_argument("--json", help="keep every line")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[Line] = []
    print(f"{'table':<34}{'concepts':>8}{'committee':>11}{'boosting':>10}{'difference':>16}{'cuts s':>8}{'all s':>8}")
    for task in (*tasks(), *generated()):
        if asked.only and not task.name.startswith(tuple(asked.only)):
            continue
        rows = [run(task, fold, asked.members) for fold in range(len(task.splits))]
        lines += rows
        report(rows)
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump([asdict(line) for line in lines], file, indent=1)


def report(rows: list[Line]) -> None:
    """Return means over folds, and the paired difference with its standard error."""
    ours, theirs = (100 * np.array([getattr(row, name) for row in rows]) for name in ("committee", "boosting"))
    apart = ours - theirs
    error = apart.std(ddof=1) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")
    means = [np.mean([getattr(row, name) for row in rows]) for name in ("concepts", "cut_seconds", "seconds")]
    print(
        f"{rows[0].task:<34}{means[0]:8.0f}{ours.mean():11.1f}{theirs.mean():10.1f}"
        f"{apart.mean():+9.1f} ± {error:4.1f}{means[1]:8.2f}{means[2]:8.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
