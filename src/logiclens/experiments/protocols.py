"""The two protocols: which rows train, choose and test; `paper` as the authors' scripts have it, `clean` without leaks.

Under `clean` nothing is fitted on test rows, and on validation rows nothing but the encoders that predict concepts.
Under `paper` preprocessing sees all rows, the inner split is not stratified, and the image tasks have one split with
every image in it twice (MNIST), repeated with five seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from logiclens.data.dataset import Dataset
from logiclens.data.splits import Fold, folds
from logiclens.errors import LogicLensError
from logiclens.experiments.tasks import Task

Protocol = Literal["paper", "clean"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
HELD = 0.2
"""The share of the training part that validates."""
SPLIT = 0.9
"""The share that trains where the scripts have one split; the rest validates and tests, half each."""


def has_protocol(task: Task, protocol: Protocol) -> bool:
    """Whether a task can be run under a protocol: `paper` has the paper's own tasks only."""
    return protocol == "clean" or task.scripts is not None


def folds_of(task: Task, dataset: Dataset, protocol: Protocol, n_folds: int, seed: int) -> tuple[Fold, ...]:
    """The folds of a task; under `paper` with one split, the same rows for every seed."""
    if protocol == "clean":
        return tuple(folds(dataset.labels, n_folds, seed=seed, groups=dataset.groups if task.grouped else None))
    if task.scripts is None:
        raise LogicLensError(f"the paper has no experiment {task.name!r}: it is run under the protocol 'clean' only.")
    if task.scripts.one_split:
        return (_one_split(len(dataset), task.scripts.copies, seed),) * n_folds
    return tuple(_script_folds(dataset, n_folds, seed))


def _script_folds(dataset: Dataset, n_folds: int, seed: int) -> Iterator[Fold]:
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for rest, test in splitter.split(np.zeros(len(dataset)), dataset.labels):
        train, held = train_test_split(rest, test_size=HELD, random_state=seed)
        yield Fold(train, held, test)


def _one_split(n_rows: int, copies: int, seed: int) -> Fold:
    """Copies of one row may stand on both sides: that is how the scripts have it."""
    rows = np.random.default_rng(seed).permutation(np.tile(np.arange(n_rows), copies))
    n_train = int(SPLIT * len(rows))
    n_held = (len(rows) - n_train) // 2
    return Fold(rows[:n_train], rows[n_train : n_train + n_held], rows[n_train + n_held :])
