"""Real tables in clean folds: preprocessing is fitted on the training part of each fold."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lab.datasets.catalogue import load
from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import folds


@dataclass(frozen=True, eq=False)
class Part:
    """Concepts and labels of some rows."""

    concepts: pd.DataFrame
    labels: np.ndarray

    @classmethod
    def of(cls, table: ConceptTable) -> Part:
        assert table.labels is not None
        return cls(pd.DataFrame(table.values, columns=list(table.names)), np.array(table.class_names)[table.labels])


@dataclass(frozen=True, eq=False)
class Fold:
    """Training, validation and test rows."""

    train: Part
    validation: Part
    test: Part


def data_folder() -> Path:
    """Return the folder that $LOGICLENS_DATA names."""
    folder = os.environ.get("LOGICLENS_DATA")
    if not folder or not Path(folder).is_dir():
        sys.exit("these tables are read from the folder that LOGICLENS_DATA names; it is not set, or not there.")
    return Path(folder)


def mimic() -> Iterator[Fold]:
    """1,776 patients, 90 concepts: 12 flags and 26 numbers in three equal bins of the training part's range."""
    yield from _folds("mimic2", data_folder())


def vdem() -> Iterator[Fold]:
    """3,260 country-years, 14 annotated indices above 0.5, which almost define democracy: polyarchy above 0.5."""
    yield from _folds("vdem", data_folder())


def breast_cancer() -> Iterator[Fold]:
    """569 tumours, 30 measurements cut at two quantiles of the training part."""
    from logiclens.concepts.booleaniser import Booleaniser
    from logiclens.tables.demo import breast_cancer as bundled

    raw = bundled()
    for fold in folds(raw.labels):
        cuts = Booleaniser("quantile", n_cuts=2).set_output(transform="pandas").fit(raw.frame.iloc[fold.train])
        parts = (
            Part(cuts.transform(raw.frame.iloc[rows]).astype(float), raw.labels[rows])
            for rows in (fold.train, fold.validation, fold.test)
        )
        yield Fold(*parts)


def _folds(name: str, folder: Path) -> Iterator[Fold]:
    dataset = load(name, folder)
    for fold in folds(dataset.labels):
        table = dataset.concepts(fold.train)
        yield Fold(*(Part.of(table.take(rows)) for rows in (fold.train, fold.validation, fold.test)))


TABLES = {"vdem": vdem, "mimic": mimic, "breast_cancer": breast_cancer}
