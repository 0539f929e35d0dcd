"""A data set: its rows, how its columns become concepts, and the files it is read from, with their terms of use.

Nothing is downloaded: files are read from the folder that the user names.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.concepts.concept_table import THRESHOLD, ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with one class each, and concepts for all of them.

    Args:
        name: the name it is loaded by.
        inputs: the measurements: a table, or images `[rows, channels, height, width]` of bytes.
        labels: the class number of each row.
        class_names: the classes.
        concepts: returns the concepts of all rows, with labels; means, ranges and cuts are fitted on the given rows.
        annotated: whether `concepts` are annotations that an encoder has to predict from `inputs`, such as images.
        groups: the group of each row that folds keep together (a country, a patient); None if rows are independent.
        truth: the true formula of each class, if the data were made from one.
        final: rows that no fold may use, for a final test.
    """

    name: str
    inputs: pd.DataFrame | NDArray[np.uint8]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    concepts: Callable[[Rows], ConceptTable]
    annotated: bool = False
    groups: NDArray[np.object_] | None = None
    truth: tuple[DNF, ...] | None = None
    final: Dataset | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def all_rows(self) -> Rows:
        return np.arange(len(self))


Edges: TypeAlias = Literal["uniform", "quantile"]
LEVELS = ("LOW", "NORMAL", "HIGH")


def identifier(text: str) -> str:
    """Return a name that a formula shows without quotes: letters, digits and single underscores.

    >>> identifier("bill_shape::curved_(up_or_down)")
    'bill_shape_curved_up_or_down'
    """
    return re.sub(r"[\W_]+", "_", text).strip("_")


@dataclass(frozen=True)
class Bins:
    """Where each column is cut in three, and what a missing value is taken for.

    Args:
        columns: the columns.
        means: of each column; stands for what is missing.
        cuts: of each column, from where on a value is NORMAL, and from where on HIGH. A column with one value, or none,
            has no cuts: what is known of it is LOW.

    >>> bins = Bins.fit(pd.DataFrame({"age": [20.0, 50.0, None, 80.0]}))
    >>> bins.cuts
    ((40.0, 60.0),)
    >>> bins.transform(pd.DataFrame({"age": [7.0, 40.0, None, 99.0]})).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    """

    columns: tuple[str, ...]
    means: tuple[float, ...]
    cuts: tuple[tuple[float, ...], ...]

    @classmethod
    def fit(cls, frame: pd.DataFrame, *, edges: Edges = "uniform") -> Bins:
        values = _numbers(frame, tuple(frame.columns))
        return cls(
            tuple(frame.columns),
            tuple(_mean(column) for column in values.T),
            tuple(_cuts(column[~np.isnan(column)], edges) for column in values.T),
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.exclusive for name in group)

    @property
    def exclusive(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(f"{column}_{level}" for level in LEVELS) for column in self.columns)

    def transform(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        made = np.zeros((len(frame), len(self.columns), len(LEVELS)), dtype=np.bool_)
        for place, column in enumerate(_numbers(frame, self.columns).T):
            filled = np.where(np.isnan(column), self.means[place], column)
            # A cut belongs to the bin above it. A value that is still missing (the column has none) is in no bin.
            level = np.searchsorted(np.asarray(self.cuts[place], dtype=np.float64), filled, side="right")
            rows = np.flatnonzero(~np.isnan(filled))
            made[rows, place, level[rows]] = True
        return made.reshape(len(frame), -1)


@dataclass(frozen=True, eq=False)
class BinnedConcepts:
    """Returns the concepts of a table of flags and numbers, with bins fitted on the given rows.

    This is a class and not a closure, so that data sets can be pickled.
    """

    frame: pd.DataFrame
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    flags: tuple[str, ...] = ()
    edges: Edges = "uniform"

    def __call__(self, rows: Rows) -> ConceptTable:
        numbers = self.frame.drop(columns=list(self.flags))
        bins = Bins.fit(numbers.iloc[rows], edges=self.edges)
        flags = _numbers(self.frame, self.flags)
        # A missing flag is replaced by the mean, too, which is then cut: it becomes what most rows have.
        means = np.array([_mean(column) for column in flags[rows].T])
        values = np.hstack([np.where(np.isnan(flags), means, flags) >= THRESHOLD, bins.transform(numbers)])
        return ConceptTable(values, (*self.flags, *bins.names), self.labels, self.class_names, bins.exclusive)


@dataclass(frozen=True, eq=False)
class GivenConcepts:
    """Returns concepts that are known for every row: there is nothing to fit."""

    table: ConceptTable

    def __call__(self, rows: Rows) -> ConceptTable:
        return self.table


def _mean(column: NDArray[np.float64]) -> float:
    present = column[~np.isnan(column)]
    return float(present.mean()) if len(present) else float("nan")


def _cuts(present: NDArray[np.float64], edges: Edges) -> tuple[float, ...]:
    """Return the inner edges of three bins over the values of a column.

    The edges are computed on the values themselves: on values rescaled to [0, 1], rounding moves those on an edge.
    """
    if len(present) == 0 or present.min() == present.max():
        return ()
    if edges == "uniform":
        inner = np.linspace(present.min(), present.max(), len(LEVELS) + 1)[1:-1]
    else:
        inner = np.quantile(present, np.linspace(0, 1, len(LEVELS) + 1)[1:-1])
    return tuple(float(cut) for cut in inner)


def _numbers(frame: pd.DataFrame, columns: tuple[str, ...]) -> NDArray[np.float64]:
    arrays = [frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in columns]
    return np.stack(arrays, axis=1) if arrays else np.empty((len(frame), 0))


@cache
def sources() -> dict[str, Any]:
    """Return where the files of each folder come from, the terms of their use, and the sha256 of each file.

    A second hash is that of the unpacked content: compressors differ.
    """
    content: dict[str, Any] = json.loads(Path(__file__).with_name("sources.json").read_text(encoding="utf-8"))
    return content


def checked(folder: Path, path: str) -> Path:
    source, here = sources()[path.split("/")[0]], folder / path
    expected, *unpacked = source["files"][path]
    get = f"from {source['where']} (terms: {source['terms']}); nothing is downloaded for you."
    if not here.is_file():
        raise LogicLensError(
            f"the file {path} is not in the folder {folder}: expected one with sha256 {expected}, found none. Get it "
            f"{get}"
        )
    content = here.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected and unpacked != [_unpacked_sha256(content)]:
        raise LogicLensError(
            f"the file {path} in the folder {folder} has been altered: expected sha256 {expected}, found {digest}. Get "
            f"it anew {get}"
        )
    return here


def _unpacked_sha256(content: bytes) -> str | None:
    try:
        return hashlib.sha256(gzip.decompress(content)).hexdigest()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return None
