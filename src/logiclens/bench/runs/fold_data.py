"""What a method is given for one fold: three tables of concepts, and the rows and inputs behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from logiclens.bench.datasets.catalogue import load
from logiclens.bench.datasets.dataset import Dataset
from logiclens.bench.runs.encoding import Encoding, final_concepts, predicted_concepts
from logiclens.bench.runs.tasks import TASKS, Protocol, Task, folds_of
from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import Fold


@dataclass(frozen=True)
class Source:
    """Where the rows of a comparison come from, and how they are split: the same for every run of it.

    Args:
        data: the folder of the data files; None where no task needs one.
        cache: where predicted concepts are kept.
        n_folds: folds, or seeds where the protocol has one split.
        seed: of the folds; the networks of fold k start from `seed + k`.
        encoder_epochs: passes of image encoders over their images, where other than their own.
    """

    data: Path | None
    cache: Path
    n_folds: int = 5
    seed: int = 42
    encoder_epochs: int | None = None

    def absolute(self) -> Source:
        """The same folders for a worker that runs elsewhere."""
        return replace(self, data=None if self.data is None else self.data.absolute(), cache=self.cache.absolute())


@dataclass(frozen=True, eq=False)
class FoldData:
    """One fold of a task under a protocol.

    `final` are rows that no fold uses, seen by the encoder of the test rows. `family` gives the folds that belong with
    this one: their networks can be trained in one pass.
    """

    task: Task
    protocol: Protocol
    number: int
    rows: Fold
    dataset: Dataset
    train: ConceptTable
    validation: ConceptTable
    test: ConceptTable
    encoding: Encoding
    seed: int
    final: ConceptTable | None = None
    family: Callable[[], Sequence[FoldData]] | None = None

    def siblings(self) -> Sequence[FoldData]:
        """The folds that belong with this one, itself among them."""
        return [self] if self.family is None else self.family()

    @property
    def both(self) -> ConceptTable:
        """Training and validation rows: what rules are chosen on."""
        return self.train.append(self.validation)


@lru_cache(maxsize=20)
def fold_data(source: Source, task_name: str, protocol: Protocol, number: int) -> FoldData:
    """The tables of one fold; predicted concepts are made where the cache does not have them."""
    task = TASKS[task_name]
    dataset, rows, encoding = encoded_rows(source, task, protocol, number)
    if task.encoded:
        table = predicted_concepts(encoding, dataset, rows)
    else:
        table = dataset.concepts(rows.train if protocol == "clean" else dataset.all_rows)
    train, validation, test = (table.take(part) for part in (rows.train, rows.validation, rows.test))
    final = final_concepts(encoding, dataset, rows) if task.encoded and dataset.final is not None else None
    seed = source.seed + number
    family = partial(all_folds, source, task_name, protocol)
    return FoldData(task, protocol, number, rows, dataset, train, validation, test, encoding, seed, final, family)


@lru_cache(maxsize=2)
def dataset_of(name: str, folder: Path | None) -> Dataset:
    """A data set, kept for the next run on it."""
    return load(name, folder)


def encoded_rows(source: Source, task: Task, protocol: Protocol, number: int) -> tuple[Dataset, Fold, Encoding]:
    """The rows of one fold, before any concept is predicted."""
    dataset = dataset_of(task.dataset, source.data)
    rows = folds_of(task, dataset, protocol, source.n_folds, source.seed)[number]
    return dataset, rows, Encoding(task, protocol, source.cache, source.seed + number, source.encoder_epochs)


def all_folds(source: Source, task_name: str, protocol: Protocol) -> list[FoldData]:
    """Every fold of a task."""
    return [fold_data(source, task_name, protocol, number) for number in range(source.n_folds)]
