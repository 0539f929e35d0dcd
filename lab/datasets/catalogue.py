"""The data sets by name: the four of the paper, read from a folder, and small ones that need no files."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from lab.datasets.dataset import BinnedConcepts, Dataset, GivenConcepts, checked, identifier, sources
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, quoted, require_extra, unknown
from logiclens.formula.dnf import DNF, Cube, Literal


def names() -> tuple[str, ...]:
    return (*_FROM_FOLDER, *_AT_HAND)


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Load a data set by name; `folder` holds the files of those that need some, which are checked by their hash.

    >>> iris = load("iris")
    >>> len(iris), iris.class_names
    (150, ('setosa', 'versicolor', 'virginica'))
    >>> iris.concepts(iris.all_rows).names[:3]
    ('sepal_length_cm_LOW', 'sepal_length_cm_NORMAL', 'sepal_length_cm_HIGH')
    """
    place = _place(name, folder)
    return _AT_HAND[name]() if place is None else _FROM_FOLDER[name](place)


def check(name: str, folder: str | Path | None = None) -> None:
    place = _place(name, folder)
    for file in () if place is None else sources()[name.removesuffix("-early")]["files"]:
        checked(Path(str(place)), file)


def _place(name: str, folder: str | Path | None) -> Path | None:
    if name in _AT_HAND:
        return None
    if name not in _FROM_FOLDER:
        raise LogicLensError(unknown("data set", name, names()))
    if folder is None or not Path(folder).is_dir():
        raise LogicLensError(
            f"the data set {quoted(name)} is read from files: let $LOGICLENS_DATA name the folder that holds them."
        )
    return Path(folder)


# The paper's tables --------------------------------------------------------------------------------------------------

COLUMNS: dict[str, Any] = json.loads(Path(__file__).with_name("columns.json").read_text(encoding="utf-8"))
"""Of MIMIC-II flags, numbers (`service_num` is binary and binned all the same, as in the paper's experiments), columns
that may be known only after admission, and deaths; of V-Dem the concepts and the mid-level index that each cuts."""


def mimic2(folder: Path, *, name: str = "mimic2", late: bool = True) -> Dataset:
    """Load 1,776 patients: 12 flags, and 26 numbers as LOW, NORMAL and HIGH; three less without late columns."""
    table = pd.read_csv(checked(folder, "mimic2/full_cohort_data.csv.gz"))
    # censor_flg is 0 if a death is on record, however long after the stay.
    died = (table[COLUMNS["deaths"]] == 1).any(axis=1) | (table["censor_flg"] == 0)
    labels = died.to_numpy().astype(np.int64)
    numbers = (number for number in COLUMNS["numbers"] if late or number not in COLUMNS["late"])
    inputs = table[[*COLUMNS["flags"], *numbers]]
    class_names = ("lives", "dies")
    return Dataset(
        name, inputs, labels, class_names, BinnedConcepts(inputs, labels, class_names, tuple(COLUMNS["flags"]))
    )


TARGET, CUT = "v2x_polyarchy", 0.5
MISSING = 0.05
"""The largest share of missing values of an indicator."""


def vdem(folder: Path) -> Dataset:
    """Load 3,260 country-years from 2001 to 2021: 14 indices cut at 0.5; inputs are low-level indicators with gaps."""
    indices = pd.read_csv(checked(folder, "vdem/vdem_concepts_2001_2021.csv.gz"))
    indices = indices.dropna(subset=[*COLUMNS["concepts"].values(), TARGET])
    labels = (indices[TARGET] > CUT).to_numpy().astype(np.int64)
    class_names = ("non_electoral_democracy", "electoral_democracy")
    values = indices[list(COLUMNS["concepts"].values())].to_numpy() > CUT
    key = ["country_text_id", "year"]
    everything = pd.read_csv(checked(folder, "vdem/vdem_v12_1970_2021.csv.gz"))
    rows = indices[key].merge(everything, on=key, how="left", validate="one_to_one")
    # Every index starts with v2x, every indicator with v2; the other columns identify rows or were added later.
    columns = [column for column in rows.columns if column.startswith("v2") and not column.startswith("v2x")]
    numbers = rows[columns].select_dtypes("number")
    inputs = numbers.loc[:, numbers.isna().mean() <= MISSING]
    concepts = GivenConcepts(ConceptTable(values, tuple(COLUMNS["concepts"]), labels, class_names))
    groups = indices["country_text_id"].to_numpy(dtype=object)
    return Dataset("vdem", inputs, labels, class_names, concepts, annotated=True, groups=groups)


# Images --------------------------------------------------------------------------------------------------------------

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PRESENT, SPECIES = 50.0, 10
"""A species has an attribute if more than this percentage of people saw it; one is used if so many species have it."""
SIDE = 128


def mnist(folder: Path) -> Dataset:
    """Load 60,000 digits `[60000, 1, 28, 28]`, 10 concepts, odd or even; the official 10,000 test rows are `final`."""
    return _digits(folder, "train", "mnist", _digits(folder, "t10k", "mnist-final", None))


def _digits(folder: Path, part: str, name: str, final: Dataset | None) -> Dataset:
    images = read_idx(checked(folder, f"mnist/{part}-images-idx3-ubyte.gz"))
    digits = read_idx(checked(folder, f"mnist/{part}-labels-idx1-ubyte.gz")).astype(np.int64)
    labels, class_names = digits % 2, ("even", "odd")
    table = ConceptTable(np.eye(len(DIGITS), dtype=np.bool_)[digits], DIGITS, labels, class_names, [DIGITS])
    return Dataset(name, images[:, None], labels, class_names, GivenConcepts(table), annotated=True, final=final)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read the bytes of a compressed idx file: two zeros, the type, the number of axes, their lengths, the bytes."""
    with gzip.open(path, "rb") as file:
        content = file.read()
    start = 4 + 4 * content[3]
    return np.frombuffer(content, np.uint8, offset=start).reshape(struct.unpack(f">{content[3]}I", content[4:start]))


def cub(folder: Path) -> Dataset:
    """Load 11,788 photographs `[11788, 3, 128, 128]` of 200 bird species, with 108 concepts per species."""
    present = np.loadtxt(checked(folder, "cub/class_attribute_labels_continuous.txt.gz"), ndmin=2) > PRESENT
    used = np.flatnonzero(present.sum(axis=0) >= SPECIES)
    attributes, classes = (
        [line.split(" ", 1)[1] for line in checked(folder, f"cub/{file}.txt").read_text(encoding="utf-8").splitlines()]
        for file in ("attributes", "classes")
    )
    concepts = tuple(identifier(attributes[j].removeprefix("has_")) for j in used)
    class_names = tuple(line.split(".", 1)[1] for line in classes)
    numbers = np.loadtxt(checked(folder, "cub/image_class_labels.txt.gz"), dtype=np.int64, ndmin=2)
    labels = numbers[:, 1] - 1
    images = _unzipped(checked(folder, "cub/cub_images_128.zip"), numbers[:, 0])
    table = ConceptTable(present[:, used][labels], concepts, labels, class_names)
    return Dataset("cub", images, labels, class_names, GivenConcepts(table), annotated=True)


def _unzipped(path: Path, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    with require_extra("images", "reading the images of cub"):
        from PIL import Image

    images = np.empty((len(numbers), 3, SIDE, SIDE), dtype=np.uint8)

    def decode(place: int) -> None:
        content = io.BytesIO(archive.read(f"{numbers[place]:05d}.webp"))
        with Image.open(content, formats=["WEBP"]) as image:
            images[place] = np.moveaxis(np.asarray(image.convert("RGB")), 2, 0)

    # Pillow decodes without the interpreter lock, so threads share the work.
    with zipfile.ZipFile(path) as archive, ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(decode, range(len(numbers))):
            pass
    return images


# Small tables and made ones ------------------------------------------------------------------------------------------

INK = 8
"""A pixel, from 0 to 16, counts as inked from this value on."""
CLASSES = ("no", "yes")


def digits_parity() -> Dataset:
    bunch = load_digits(as_frame=True)
    labels, class_names = bunch.target.to_numpy().astype(np.int64) % 2, ("even", "odd")
    table = ConceptTable(bunch.data.to_numpy() >= INK, tuple(bunch.data.columns), labels, class_names)
    return Dataset("digits-parity", bunch.data, labels, class_names, GivenConcepts(table))


def binned(name: str, load_table: Callable[..., Any]) -> Dataset:
    bunch = load_table(as_frame=True)
    frame: pd.DataFrame = bunch.data.rename(columns=identifier)
    labels = bunch.target.to_numpy().astype(np.int64)
    class_names = tuple(str(klass) for klass in bunch.target_names)
    return Dataset(name, frame, labels, class_names, BinnedConcepts(frame, labels, class_names, edges="quantile"))


def parity(name: str, n_odd: int, n_concepts: int) -> Dataset:
    signs = [sign for sign in product((True, False), repeat=n_odd) if sum(sign) % 2]
    cubes = (Cube(Literal(f"x{place + 1}", positive) for place, positive in enumerate(sign)) for sign in signs)
    return _made(name, DNF(cubes), np.random.default_rng(0).integers(2, size=(2000, n_concepts)).astype(np.bool_))


def random_dnf(
    *, n_rows: int = 2000, n_concepts: int = 30, n_cubes: int = 4, width: int = 3, noise: float = 0.05, seed: int = 0
) -> Dataset:
    """Make rows labelled by a random formula, with a share of the labels flipped; `truth` refers to those before.

    >>> made = random_dnf(n_cubes=2, width=2, seed=1)
    >>> made.truth[1]
    DNF('(x14 & ~x16) | (~x5 & ~x25)')
    """
    random = np.random.default_rng(seed)
    # No two cubes over the same concepts: a & b | a & ~b would be a.
    cubes: dict[frozenset[str], Cube] = {}
    while len(cubes) < n_cubes:
        chosen = random.choice(n_concepts, width, replace=False)
        literals = [Literal(f"x{place + 1}", bool(random.integers(2))) for place in chosen]
        cubes.setdefault(frozenset(literal.concept for literal in literals), Cube(literals))
    bits = random.integers(2, size=(n_rows, n_concepts)).astype(np.bool_)
    return _made("random-dnf", DNF(cubes.values()), bits, random.random(n_rows) < noise)


def _made(name: str, yes: DNF, bits: NDArray[np.bool_], flipped: NDArray[np.bool_] | bool = False) -> Dataset:
    concepts = tuple(f"x{place + 1}" for place in range(bits.shape[1]))
    labels = yes.evaluate(bits, concepts).astype(np.int64) ^ flipped
    table = GivenConcepts(ConceptTable(bits, concepts, labels, CLASSES))
    return Dataset(name, pd.DataFrame(bits, columns=list(concepts)), labels, CLASSES, table, truth=(~yes, yes))


_FROM_FOLDER: dict[str, Callable[[Path], Dataset]] = {
    "mimic2": mimic2, "mimic2-early": partial(mimic2, name="mimic2-early", late=False), "vdem": vdem, "mnist": mnist,
    "cub": cub,
}  # fmt: skip
_AT_HAND: dict[str, Callable[[], Dataset]] = {
    "breast-cancer": partial(binned, "breast-cancer", load_breast_cancer), "wine": partial(binned, "wine", load_wine),
    "iris": partial(binned, "iris", load_iris), "digits-parity": digits_parity, "xor": partial(parity, "xor", 2, 6),
    "parity": partial(parity, "parity", 4, 10), "random-dnf": random_dnf,
}  # fmt: skip
