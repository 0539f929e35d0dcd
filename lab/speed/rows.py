"""Generated rows with the sizes of the paper's four tasks, drawn from a seed and learnable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable

Array = NDArray[np.float32]
Planted = list[list[tuple[int, bool]]]


@dataclass(frozen=True)
class Shape:
    """One task: sizes, hidden widths, and the training of its network."""

    name: str
    rows: int
    concepts: int
    classes: int
    hidden: tuple[int, ...]
    epochs: int = 200
    batch: int = 0
    timed_epochs: int = 20
    extracted: int = 0
    """Classes that the reference extracts; its time is scaled to all. 0: all of them."""
    max_literals: int = 0
    """The reference's `max_minterm_complexity`; 0: none."""
    counted: bool = False
    """Whether our side counts equal rows together; the reference has no such thing."""


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("mimic", 1_776, 90, 2, (20,)),
        Shape("vdem", 3_743, 82, 2, (20, 20)),
        Shape("mnist", 60_000, 10, 2, (10,), timed_epochs=10),
        Shape("cub", 11_788, 108, 200, (10,), epochs=12, batch=1_024, timed_epochs=4, extracted=4, max_literals=5),
        Shape("species", 11_788, 108, 200, (10,), timed_epochs=4, counted=True),
    )
}


def generate(shape: Shape) -> tuple[ConceptTable, ConceptTable]:
    """Return the rows of a shape to learn from, and the fifth that is held out to choose among candidate rules."""
    rng = np.random.default_rng([0, *shape.name.encode()])
    concepts, labels = _GENERATORS[shape.name](shape, rng)
    # Concepts are 0.001 and 0.999 where equal rows must not be counted together.
    values = concepts.astype(np.float32) if shape.counted else (0.001 + 0.998 * concepts).astype(np.float32)
    table = ConceptTable(values, None, labels.astype(np.int64), [str(i) for i in range(shape.classes)])
    is_out = rng.random(shape.rows) < 0.2
    return table.take(np.flatnonzero(~is_out)), table.take(np.flatnonzero(is_out))


def planted_formula(n_concepts: int, cubes: int, literals: int, seed: int = 0) -> Planted:
    """A formula of `cubes` × `literals` different concepts with random polarities: (concept, positive) pairs."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(n_concepts)[: cubes * literals].reshape(cubes, literals)
    return [[(int(j), bool(rng.random() < 0.5)) for j in cube] for cube in chosen]


def _mimic(shape: Shape, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    flags = rng.random((shape.rows, 12)) < rng.uniform(0.05, 0.5, 12)
    bins = [rng.choice(3, shape.rows, p=rng.dirichlet((3, 3, 3))) for _ in range(26)]
    concepts = np.hstack([flags, *(np.eye(3, dtype=bool)[column] for column in bins)])
    return concepts.astype(np.float32), _planted_labels(concepts, rng)


def _vdem(shape: Shape, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    countries = rng.random((163, shape.concepts)) < 0.5
    concepts = countries[rng.integers(163, size=shape.rows)] ^ (rng.random((shape.rows, shape.concepts)) < 0.05)
    return concepts.astype(np.float32), _planted_labels(concepts, rng)


def _mnist(shape: Shape, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    digit = rng.integers(10, size=shape.rows)
    named = np.where(rng.random(shape.rows) < 0.01, rng.integers(10, size=shape.rows), digit)
    return np.eye(10, dtype=np.float32)[named], digit % 2


def _cub(shape: Shape, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    species = rng.random((shape.classes, shape.concepts)) < 0.25
    labels = rng.permutation(np.arange(shape.rows) % shape.classes)
    truth = species[labels] ^ (rng.random((shape.rows, shape.concepts)) < 0.03)
    doubt = rng.uniform(0, 0.4, truth.shape)
    return np.where(truth, 1 - doubt, doubt).astype(np.float32), labels


def _species(shape: Shape, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    species = rng.random((shape.classes, shape.concepts)) < 0.25
    labels = rng.permutation(np.arange(shape.rows) % shape.classes)
    return species[labels].astype(np.float32), labels


def _planted_labels(concepts: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    cubes = rng.permutation(concepts.shape[1])[:12].reshape(3, 4)
    usual = concepts.mean(axis=0) >= 0.5
    holds = np.logical_or.reduce([(concepts[:, cube] == usual[cube]).all(axis=1) for cube in cubes])
    return (holds ^ (rng.random(len(concepts)) < 0.05)).astype(np.int64)


_GENERATORS = {"mimic": _mimic, "vdem": _vdem, "mnist": _mnist, "cub": _cub, "species": _species}
