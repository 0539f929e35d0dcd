"""A data set: its rows, how its columns become concepts, and the files it is read from, with their terms of use.

Nothing is downloaded: files are read from the folder that the user names.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

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
        title: one line that states the question.
        inputs: the measurements: a table, or images `[rows, channels, height, width]` of bytes.
        labels: the class number of each row.
        class_names: the classes.
        concepts: returns the concepts of all rows, with labels; means, ranges and cuts are fitted on the given rows.
        annotated: whether `concepts` are annotations that an encoder has to predict from `inputs`, such as images.
        groups: the group of each row that folds keep together (a country, a patient); None if rows are independent.
        truth: the true formula of each class, if the data were made from one.
        final: rows that no fold may use, for a final test.
        remarks: notes to show with every figure on these rows.
    """

    name: str
    title: str
    inputs: pd.DataFrame | NDArray[np.uint8]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    concepts: Callable[[Rows], ConceptTable]
    annotated: bool = False
    groups: NDArray[np.object_] | None = None
    truth: tuple[DNF, ...] | None = None
    final: Dataset | None = None
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.labels)

    @property
    def all_rows(self) -> Rows:
        """Return every row number: the paper's own experiments fitted their preprocessing on all rows."""
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
        """Fit the cuts on these rows: three bins of equal width, or of equal size with `"quantile"`."""
        values = _numbers(frame, tuple(frame.columns))
        return cls(
            tuple(frame.columns),
            tuple(_mean(column) for column in values.T),
            tuple(_cuts(column[~np.isnan(column)], edges) for column in values.T),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the concepts, three per column."""
        return tuple(name for group in self.exclusive for name in group)

    @property
    def exclusive(self) -> tuple[tuple[str, ...], ...]:
        """Return the groups of the three concepts of each column."""
        return tuple(tuple(f"{column}_{level}" for level in LEVELS) for column in self.columns)

    def transform(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Return the concepts of rows, `[rows, 3 * columns]`, by the fitted cuts."""
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
        """Return the concepts of all rows: the flags, then LOW, NORMAL and HIGH of each number."""
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
        """Return the concepts of all rows, whichever rows are given."""
        return self.table


def _mean(column: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not missing, or NaN if there are none."""
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
    """Return the columns as numbers, with NaN for missing values."""
    arrays = [frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in columns]
    return np.stack(arrays, axis=1) if arrays else np.empty((len(frame), 0))


@dataclass(frozen=True)
class DataFile:
    """A file that a data set is read from.

    Args:
        path: its path in the folder that the user names.
        sha256: the hash of the file, in hex.
        unpacked: the hash of its content, if the source publishes it uncompressed: compressors differ.
    """

    path: str
    sha256: str
    unpacked: str | None = None


@dataclass(frozen=True)
class Origin:
    """Where files come from and their terms of use, in words."""

    where: str
    terms: str
    files: tuple[DataFile, ...]


SOURCES: dict[str, Origin] = {
    "mimic2": Origin(
        "PhysioNet, mimic2-iaccd 1.0 (https://physionet.org/content/mimic2-iaccd/1.0/, open access): "
        "full_cohort_data.csv, packed with gzip",
        "ODC-By 1.0: use it freely and name the source",
        (
            DataFile(
                "mimic2/full_cohort_data.csv.gz",
                "af8d4edbaf6a03c86ddb6aa1a45f42c759d6201ba74a899bd2e936e1ac39b7d8",
                unpacked="c8c5ee99cb2e00a5e3c5e65a21024fd324c2966d4746e5a058f5d1dde988a770",
            ),
        ),
    ),
    "vdem": Origin(
        "the V-Dem Institute (https://www.v-dem.net), version 12, as in its GitHub repository vdeminstitute/demspaces "
        "(2022-update/outcome-v2/data/states-v12-mod.rds), with api and mpi computed by V-Dem's formulas",
        "CC BY-SA 4.0; cite Coppedge et al., V-Dem Dataset v12, and Pemstein et al., The V-Dem Measurement Model",
        (
            DataFile(
                "vdem/vdem_concepts_2001_2021.csv.gz",
                "10c531ae61ae6f4e6190e0f57499b14d9a52d9c59ae992bb2dc93a39ea2a6160",
            ),
            DataFile(
                "vdem/vdem_v12_1970_2021.csv.gz",
                "7f3cc706cd5697dc0ba1dd7acfdfff91332100e4e90591d5bdfc5ce98d199c44",
            ),
        ),
    ),
    "mnist": Origin(
        "MNIST by LeCun, Cortes and Burges (http://yann.lecun.com/exdb/mnist/): the four well-known idx files, packed",
        "no formal licence, commonly given as CC BY-SA 3.0; name LeCun, Cortes and Burges",
        (
            DataFile(
                "mnist/train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
            ),
            DataFile(
                "mnist/train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
            ),
            DataFile(
                "mnist/t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
            ),
            DataFile(
                "mnist/t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
            ),
        ),
    ),
    "cub": Origin(
        "Caltech-UCSD Birds-200-2011 (https://www.vision.caltech.edu/datasets/cub_200_2011/): its annotation texts, "
        "and its images squashed to 128 x 128 as WebP of quality 50",
        "for research and education only, the photographs belong to their owners; cite Wah et al. 2011, "
        "CNS-TR-2011-001",
        (
            DataFile("cub/attributes.txt", "d5b158c197a8548071114150b2384c55cbd8881b32e57816c6ccc1437e946a1a"),
            DataFile(
                "cub/class_attribute_labels_continuous.txt.gz",
                "a67e90290be08980e5a28ee46aea820063b97bc189e407b64f9be47438fb5c7c",
            ),
            DataFile("cub/classes.txt", "66a884364a73edde6c71eeb7fd5d8bb791e80979b64759bd6a5d5d209bdc02ba"),
            DataFile("cub/cub_images_128.zip", "1a2d54c7b515938af75fb97baa8a98c02de05bfae5789afd40af548533ed97a0"),
            DataFile(
                "cub/image_class_labels.txt.gz", "7ce9aa53567e2187dc6b346ee92664d0775876ba3efa9e717142059687267309"
            ),
        ),
    ),
}
"""The origins by folder. Only files that are read are listed."""


def checked(folder: Path, path: str) -> Path:
    """Return the path of a file in a folder if it is there and unaltered; raise otherwise."""
    source = SOURCES[path.split("/")[0]]
    expected = next(file for file in source.files if file.path == path)
    here = folder / path
    get = f"from {source.where} (terms: {source.terms}); nothing is downloaded for you."
    if not here.is_file():
        raise LogicLensError(
            f"the file {path} is not in the folder {folder}: expected one with sha256 {expected.sha256}, found none. "
            f"Get it {get}"
        )
    with here.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != expected.sha256 and (expected.unpacked is None or _sha256_unpacked(here) != expected.unpacked):
        raise LogicLensError(
            f"the file {path} in the folder {folder} has been altered: expected sha256 {expected.sha256}, found "
            f"{digest}. Get it anew {get}"
        )
    return here


def _sha256_unpacked(path: Path) -> str | None:
    """Return the sha256 of the content of a gzip file, or None if it is not one, or truncated."""
    with gzip.open(path, "rb") as file:
        try:
            return hashlib.sha256(file.read()).hexdigest()
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return None
