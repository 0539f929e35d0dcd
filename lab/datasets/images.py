"""MNIST and CUB: images with annotated concepts, which an encoder predicts."""

from __future__ import annotations

import gzip
import io
import os
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.datasets.dataset import Dataset, GivenConcepts, checked, identifier
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import require_extra

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PRESENT = 50.0
"""A species has an attribute if more than this percentage of people saw it."""
SPECIES = 10
"""An attribute is kept if at least this many species have it."""
SIDE = 128
MNIST_REMARKS = (
    "The digit decides the class, so formulas over the true digits are known beforehand: what is measured is how well "
    "the digits are seen.",
    "Folds are of the 60,000 training images; the official 10,000 are for one last test.",
)
CUB_REMARKS = (
    "Concepts are those of the species, not of the photograph: the 200 distinct rows are the classes, and on given "
    "concepts train equals test. Accuracy is on concepts that an encoder predicts.",
    "The images are squashed to 128 x 128 and compressed, so they show less than the originals.",
    "The photographs belong to their owners: for research and education, not to be published.",
)


def mnist(folder: Path) -> Dataset:
    """Load 60,000 digits `[60000, 1, 28, 28]`, 10 concepts, odd or even; the official 10,000 test rows are `final`."""
    final = _digits(folder, "t10k", "mnist-final", None)
    return _digits(folder, "train", "mnist", final)


def _digits(folder: Path, part: str, name: str, final: Dataset | None) -> Dataset:
    images = read_idx(checked(folder, f"mnist/{part}-images-idx3-ubyte.gz"))
    digits = read_idx(checked(folder, f"mnist/{part}-labels-idx1-ubyte.gz")).astype(np.int64)
    labels = digits % 2
    class_names = ("even", "odd")
    table = ConceptTable(np.eye(len(DIGITS), dtype=np.bool_)[digits], DIGITS, labels, class_names, [DIGITS])
    return Dataset(
        name,
        "MNIST: is a handwritten digit even or odd?",
        images[:, None],
        labels,
        class_names,
        GivenConcepts(table),
        annotated=True,
        final=final,
        remarks=MNIST_REMARKS,
    )


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read the bytes of a compressed idx file: two zeros, the type, the number of axes, their lengths, the bytes."""
    with gzip.open(path, "rb") as file:
        content = file.read()
    start = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:start])
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def cub(folder: Path) -> Dataset:
    """Load 11,788 photographs `[11788, 3, 128, 128]` of 200 bird species, with 108 concepts per species."""
    names, present = _attributes(folder)
    class_names = tuple(line.split(".", 1)[1] for line in _named_lines(checked(folder, "cub/classes.txt")))
    numbers = np.loadtxt(checked(folder, "cub/image_class_labels.txt.gz"), dtype=np.int64, ndmin=2)
    labels = numbers[:, 1] - 1
    return Dataset(
        "cub",
        "CUB-200-2011: of which species is a bird?",
        _unzipped(checked(folder, "cub/cub_images_128.zip"), numbers[:, 0]),
        labels,
        class_names,
        GivenConcepts(ConceptTable(present[labels], names, labels, class_names)),
        annotated=True,
        remarks=CUB_REMARKS,
    )


def _attributes(folder: Path) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Return the names of the kept attributes, and which species has which."""
    shares = np.loadtxt(checked(folder, "cub/class_attribute_labels_continuous.txt.gz"), ndmin=2)
    present = shares > PRESENT
    kept = present.sum(axis=0) >= SPECIES
    lines = _named_lines(checked(folder, "cub/attributes.txt"))
    names = [identifier(line.removeprefix("has_")) for line in lines]
    return tuple(name for name, keep in zip(names, kept, strict=True) if keep), present[:, kept]


def _named_lines(path: Path) -> list[str]:
    return [line.split(" ", 1)[1] for line in path.read_text(encoding="utf-8").splitlines()]


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
