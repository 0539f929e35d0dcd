"""Check whether a simple peer dominates our exact rules on any table.

    LOGICLENS_DATA=... python -m lab.scripts.domination.py [--tables NAME ...] [--methods NAME ...] [--limit 600]
                                                       [--partitions 1] [--json FILE] [--again METHOD ...]

The tables are those of `make bench-table`, and as concepts those of `logiclens bench` that need no encoder. Each has
five stratified folds, the same for all methods (MONK's problems: folds over their 432 possible rows). Macro-F1 is
that of the predicted classes on unseen rows. For two classes, of which one is the complement, the literals of the
formula count once, for our method and for peers. With more classes, literals are the mean over classes.

A peer dominates if it has no more literals and its macro-F1 is higher by more than one standard error of the paired
difference over folds. Peers: one literal, trees of 2 to 8 leaves (plain and balanced), RIPPER, FIGS and column
generation; RIPPER and FIGS also on the raw columns of two-class tables. A run that takes more than `--limit` CPU
seconds is stopped, and its method is left out of the verdict. With `--json` a stopped run continues where it was.

Where two methods differ in a single fold, that fold alone decides the verdict: its difference is as large as the error.
`--partitions 4` draws the five folds four times. Their tests overlap, so the error is then somewhat too small.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from lab.runs.fold_data import Source, fold_data
from lab.scripts.defaults import tasks as raw_tasks
from lab.scripts.measure import OverLimit, cpu_limit
from lab.scripts.peers import METHODS, RAW, Lines, Split
from lab.scripts.tables import data_folder
from logiclens.metrics.scores import standard_error

N_FOLDS = 5
SEED = 42
CONCEPT_TASKS = ("mimic2", "mimic2-early", "vdem-given", "breast-cancer", "wine", "iris", "digits-parity")
"""The tasks of `logiclens bench` whose concepts need no encoder."""
PLANTED_TASKS = ("xor", "parity", "random-dnf")
PEERS = tuple(name for name in METHODS if name not in ("ours", "boosting"))


@dataclass(frozen=True, eq=False)
class Table:
    """A named table; the folds of a partition are made on demand."""

    name: str
    splits: Callable[[int], list[Split]]


def tables() -> Iterator[Table]:
    """Return the tables of `make bench-table`, then those of `logiclens bench`, named after their task."""
    for task in raw_tasks():
        labels, rows = task.labels, np.arange(len(task.labels))
        if len(task.splits) == 1:
            # The published test part holds every possible row once.
            rows = task.splits[0][1]
        yield Table(task.name, partial(folded, task.frame.iloc[rows], labels[rows]))
    for name in (*CONCEPT_TASKS, *PLANTED_TASKS):
        yield Table(f"bench: {name}", partial(concept_splits, name))


def folded(frame: pd.DataFrame, labels: np.ndarray, partition: int) -> list[Split]:
    """Return five stratified folds of a raw table."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED + partition).split(frame, labels)
    return [
        Split(frame.iloc[train], labels[train], frame.iloc[test], labels[test], N_FOLDS * partition + fold)
        for fold, (train, test) in enumerate(folds)
    ]


def concept_splits(name: str, partition: int) -> list[Split]:
    """Return the folds of a task of `logiclens bench`, with concepts fitted on the training part of each."""
    source = Source(data_folder(), Path(gettempdir()), n_folds=N_FOLDS, seed=SEED + partition)
    splits = []
    for number in range(N_FOLDS):
        fold = fold_data(source, name, "clean", number)
        train, test = fold.both, fold.test
        classes = np.array(train.class_names)
        frames = [pd.DataFrame(part.boolean().astype(int), columns=list(part.names)) for part in (train, test)]
        splits.append(
            Split(frames[0], classes[train.labels], frames[1], classes[test.labels], N_FOLDS * partition + number)
        )
    return splits


def measured(table: str, split: Split, method: str, limit: float) -> dict[str, Any]:
    """Measure one method on one fold; `macro_f1` is None if it was stopped or failed, and `status` says why."""
    line: dict[str, Any] = {"table": table, "fold": split.seed, "method": method}
    try:
        with warnings.catch_warnings(), cpu_limit(limit):
            warnings.simplefilter("ignore")
            answer = METHODS[method](split)
    except OverLimit:
        return {**line, "macro_f1": None, "literals": None, "seconds": limit, "status": f"stopped after {limit:g} s"}
    except Exception as error:  # A peer that cannot learn from a table must not end the benchmark.
        failed = f"failed: {type(error).__name__}: {error}"
        return {**line, "macro_f1": None, "literals": None, "seconds": None, "status": failed}
    scored = {"macro_f1": answer.macro_f1(split), "literals": answer.literals, "seconds": answer.seconds}
    return {**line, **scored, "status": "ok"}


def suited(methods: list[str], split: Split) -> list[str]:
    """Return the methods that can run: raw variants need two classes and columns that are not Boolean."""
    two_classes = len(np.unique(split.train_labels)) == 2
    return [name for name in methods if name not in RAW.values() or (two_classes and not split.is_boolean)]


@dataclass(frozen=True)
class Comparison:
    """A peer on the same folds: the mean of its macro-F1 minus ours, and the standard error of that mean."""

    peer: str
    gain: float
    error: float
    literals: float

    def dominates(self, our_literals: float) -> bool:
        """Return whether the peer has no more literals and is better by more than one standard error."""
        return self.literals <= our_literals + 1e-9 and self.gain > self.error + 1e-12


def comparisons(table: pd.DataFrame) -> list[Comparison]:
    """Compare every peer that ran on all of our folds."""
    scores = table.pivot(index="fold", columns="method", values="macro_f1")
    ours = scores["ours"].dropna()
    found = []
    for peer in [name for name in scores.columns if name != "ours"]:
        theirs = scores.loc[ours.index, peer]
        if len(ours) and not theirs.isna().any():
            literals = table.loc[table["method"] == peer, "literals"].mean()
            difference = theirs - ours
            found.append(Comparison(peer, difference.mean(), standard_error(difference), float(literals)))
    return found


def report(name: str, table: pd.DataFrame) -> list[str]:
    """Print means over folds and the verdict; return the peers that dominate ours."""
    print(f"\n{name}: {table['fold'].nunique()} folds")
    print(f"  {'':<24}{'macro-F1':>14}{'literals':>12}{'CPU s':>9}")
    for method, rows in table.groupby("method", sort=False):
        scored = rows.dropna(subset=["macro_f1"])
        if scored.empty:
            print(f"  {method:<24} {rows['status'].iloc[0]}")
            continue
        shown = f"{100 * scored['macro_f1'].mean():.1f} ± {100 * standard_error(scored['macro_f1']):.1f}"
        left = "" if len(scored) == len(rows) else f"  {len(rows) - len(scored)} folds without a result"
        print(f"  {method:<24}{shown:>14}{scored['literals'].mean():>12.1f}{scored['seconds'].mean():>9.2f}{left}")
    if "ours" not in set(table["method"]):
        return []
    ours = table.loc[table["method"] == "ours", "literals"].mean()
    better = [each for each in comparisons(table) if each.dominates(ours)]
    for each in better:
        print(
            f"  DOMINATED by {each.peer}: {100 * each.gain:+.1f} ± {100 * each.error:.1f} points of macro-F1, "
            f"{each.literals:.1f} literals against {ours:.1f}"
        )
    if not better:
        print("  not dominated")
    return [each.peer for each in better]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", help="tables whose name starts with one of these")
    parser.add_argument("--methods", nargs="*", default=["ours", *PEERS], choices=["ours", *PEERS], metavar="NAME")
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds for one run")
    parser.add_argument("--partitions", type=int, default=1, help="how often the five folds are drawn")
    parser.add_argument("--json", help="keep every run here, and go on from what the file holds")
    parser.add_argument("--again", nargs="*", default=[], help="methods to run again, whatever the file holds")
    asked = parser.parse_args()
    lines = Lines(asked.json, ("table", "fold", "method"))
    lines.drop("method", asked.again)
    verdicts: dict[str, list[str]] = {}
    for table in tables():
        if asked.tables and not table.name.startswith(tuple(asked.tables)):
            continue
        of_table = []
        for split in (split for partition in range(asked.partitions) for split in table.splits(partition)):
            for method in suited(asked.methods, split):
                line = lines.get(table.name, split.seed, method)
                of_table.append(line or lines.add(measured(table.name, split, method, asked.limit)))
        verdicts[table.name] = report(table.name, pd.DataFrame(of_table))
    dominated = {name: peers for name, peers in verdicts.items() if peers}
    print(f"\nDominated on {len(dominated)} of {len(verdicts)} tables.")
    for name, peers in dominated.items():
        print(f"  {name}: {', '.join(peers)}")


if __name__ == "__main__":
    main()
