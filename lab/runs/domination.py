"""Does a simple peer dominate our exact rules on any table?

The tables are the small raw ones, and as concepts those of the paper's comparison that need no encoder. Each has five
stratified folds, the same for all methods (MONK's problems: folds over their 432 possible rows). For two classes, of
which one is the complement, the literals of the formula count once, for our method and for peers. With more classes,
literals are the mean over classes.

A peer dominates if it has no more literals and its macro-F1 is higher by more than one standard error of the paired
difference over folds. Where two methods differ in a single fold, that fold alone decides the verdict: its difference is
as large as the error. More partitions draw the five folds again; their tests overlap, so the error is then too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import gettempdir

import numpy as np
import pandas as pd

from lab.datasets.raw import raw_tables
from lab.peers.raw import METHODS, N_FOLDS, SEED, Split, folded, suited
from lab.runs.fold_data import Source, fold_data
from lab.runs.results import Job, Line, data_folder
from logiclens.metrics.scores import standard_error

KEYS = ("table", "fold", "method")
TASKS = ("mimic2", "mimic2-early", "vdem-given", "breast-cancer", "wine", "iris", "digits-parity", "xor", "parity",
         "random-dnf")  # fmt: skip
"""The tasks of the paper's comparison whose concepts need no encoder."""
SIMPLE = tuple(name for name in METHODS if name not in ("ours", "network", "boosting", "tree, depth 5"))
"""The peers that may dominate."""


def tables() -> Iterator[tuple[str, Callable[[int], list[Split]]]]:
    for table in raw_tables():
        yield table.name, partial(folded, table.frame, table.labels)
    for name in TASKS:
        yield f"bench: {name}", partial(concept_splits, name)


def concept_splits(name: str, partition: int) -> list[Split]:
    source = Source(data_folder(), Path(gettempdir()), n_folds=N_FOLDS, seed=SEED + partition)
    splits = []
    for number in range(N_FOLDS):
        fold = fold_data(source, name, "clean", number)
        train, test = fold.train.append(fold.validation), fold.test
        classes = np.array(train.class_names)
        frames = [pd.DataFrame(part.boolean().astype(int), columns=list(part.names)) for part in (train, test)]
        labels = [classes[np.asarray(part.labels)] for part in (train, test)]
        splits.append(Split(frames[0], labels[0], frames[1], labels[1], N_FOLDS * partition + number))
    return splits


def domination_jobs(names: Sequence[str], methods: Sequence[str], partitions: int) -> Iterator[Job]:
    for table, splits in tables():
        if table.startswith(tuple(names) or ""):
            for split in (split for partition in range(partitions) for split in splits(partition)):
                for method in suited(methods, split):
                    yield {"table": table, "fold": split.seed, "method": method}, raw_run, (split, method)


def raw_run(split: Split, method: str) -> Line:
    return METHODS[method](split).scores(split)


@dataclass(frozen=True)
class Comparison:
    """A peer on the same folds: the mean of its macro-F1 minus ours, and the standard error of that mean."""

    peer: str
    gain: float
    error: float
    literals: float

    def dominates(self, our_literals: float) -> bool:
        return self.literals <= our_literals + 1e-9 and self.gain > self.error + 1e-12


def comparisons(table: pd.DataFrame) -> list[Comparison]:
    scores = table.pivot(index="fold", columns="method", values="macro_f1")
    ours = scores["ours"].dropna()
    listed = []
    for peer in [name for name in SIMPLE if name in scores.columns]:
        theirs = scores.loc[ours.index, peer]
        if len(ours) and not theirs.isna().any():
            literals = table.loc[table["method"] == peer, "literals"].mean()
            difference = theirs - ours
            listed.append(Comparison(peer, difference.mean(), standard_error(difference), float(literals)))
    return listed
