"""The tasks of the comparison with their settings, and the two protocols that split their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from lab.datasets.dataset import Dataset
from logiclens.concepts.splits import Fold, folds
from logiclens.errors import LogicLensError, quoted, unknown


@dataclass(frozen=True)
class NetworkSettings:
    """The entropy network of a task (table "Hyper parameters of entropy-based networks")."""

    penalty_weight: float = 1e-3
    temperature: float = 1.0
    epochs: int = 200
    hidden: tuple[int, ...] = (20,)


@dataclass(frozen=True)
class ScriptSettings:
    """What the authors' script of a task does in addition to, or instead of, the paper's text.

    Args:
        halved: whether a batch is half of all rows (two steps per epoch), unshuffled, or the full batch.
        top_k: number of local rules to aggregate.
        exact_only: whether a literal is dropped only if the rule is then perfect (`max_accuracy`).
        scored_on: the rows on which aggregation is scored; local rules come from the validation rows.
        one_split: whether there is one split and a seed per run, instead of folds.
        copies: how often every row is in the table.
    """

    halved: bool = False
    top_k: int = 10
    exact_only: bool = False
    scored_on: str = "train"
    one_split: bool = False
    copies: int = 1


@dataclass(frozen=True)
class Task:
    """A data set and how it is learned from."""

    name: str
    dataset: str
    network: NetworkSettings = field(default_factory=NetworkSettings)
    scripts: ScriptSettings | None = None
    encoded: bool = False
    grouped: bool = False
    tree_depth: int = 5
    fan_in: int = 3


MIMIC = NetworkSettings(penalty_weight=1e-3, temperature=0.7, epochs=200, hidden=(20,))
VDEM = NetworkSettings(penalty_weight=1e-5, temperature=5.0, epochs=200, hidden=(20, 20))
MNIST = NetworkSettings(penalty_weight=1e-7, temperature=5.0, epochs=200, hidden=(10,))
CUB = NetworkSettings(penalty_weight=1e-4, temperature=0.7, epochs=500, hidden=(10,))

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("mimic2", "mimic2", MIMIC, ScriptSettings(halved=True, top_k=10)),
        Task("mimic2-early", "mimic2-early", MIMIC),
        Task("vdem", "vdem", VDEM, ScriptSettings(halved=True, top_k=500), encoded=True),
        Task("vdem-given", "vdem", VDEM),
        Task("vdem-countries", "vdem", VDEM, encoded=True, grouped=True),
        Task(
            "mnist", "mnist", MNIST,
            # The script has 10 epochs, after which no logit is above 0.5 and no class gets a rule; the paper has 200.
            ScriptSettings(top_k=5, exact_only=True, scored_on="validation", one_split=True, copies=2),
            encoded=True, fan_in=4,
        ),
        Task(
            "cub", "cub", CUB, ScriptSettings(top_k=50, one_split=True),
            encoded=True, tree_depth=30, fan_in=4,
        ),
        *(Task(name, name) for name in ("breast-cancer", "wine", "iris", "digits-parity")),
        *(Task(name, name) for name in ("xor", "parity", "random-dnf")),
    )
}  # fmt: skip
"""The tasks by name. The first seven are the paper's four and their variants."""
USUAL = ("mimic2", "mimic2-early", "vdem", "vdem-given", "vdem-countries")
"""The default tasks: the tables of the paper. Image tasks must be named."""


def named_tasks(names: Iterable[str]) -> tuple[Task, ...]:
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        if name not in TASKS:
            raise LogicLensError(unknown("task", name, tuple(TASKS)))
    return tuple(TASKS[name] for name in unique)


Protocol = Literal["paper", "clean"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
HELD = 0.2
"""The share of the training part that is used for validation."""
SPLIT = 0.9
"""The training share if the scripts have one split; the rest is half validation, half test."""


def has_protocol(task: Task, protocol: Protocol) -> bool:
    return protocol == "clean" or task.scripts is not None


def folds_of(task: Task, dataset: Dataset, protocol: Protocol, n_folds: int, seed: int) -> tuple[Fold, ...]:
    if protocol == "clean":
        return tuple(folds(dataset.labels, n_folds, seed=seed, groups=dataset.groups if task.grouped else None))
    if task.scripts is None:
        raise LogicLensError(
            f"the paper has no experiment {quoted(task.name)}: it is run under the protocol 'clean' only."
        )
    if task.scripts.one_split:
        return (_one_split(len(dataset), task.scripts.copies, seed),) * n_folds
    return tuple(_script_folds(dataset, n_folds, seed))


def _script_folds(dataset: Dataset, n_folds: int, seed: int) -> Iterator[Fold]:
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for rest, test in splitter.split(np.zeros(len(dataset)), dataset.labels):
        train, held = train_test_split(rest, test_size=HELD, random_state=seed)
        yield Fold(train, held, test)


def _one_split(n_rows: int, copies: int, seed: int) -> Fold:
    rows = np.random.default_rng(seed).permutation(np.tile(np.arange(n_rows), copies))
    n_train = int(SPLIT * len(rows))
    n_held = (len(rows) - n_train) // 2
    return Fold(rows[:n_train], rows[n_train : n_train + n_held], rows[n_train + n_held :])
