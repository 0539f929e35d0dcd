"""Data made from a known formula, to test whether a method finds it."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.bench.datasets.dataset import Dataset, GivenConcepts
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Cube, Literal

CLASSES = ("no", "yes")


def xor() -> Dataset:
    """Make 2,000 rows with 6 concepts; the class is whether exactly one of the first two is true."""
    return _made(
        "xor", "Exclusive or: is just one of x1 and x2 true?", _odd(2), _rows(np.random.default_rng(0), 2000, 6)
    )


def parity() -> Dataset:
    """Make 2,000 rows with 10 concepts; the class is whether an odd number of the first four is true."""
    return _made(
        "parity",
        "Parity: is an odd number of x1, x2, x3 and x4 true?",
        _odd(4),
        _rows(np.random.default_rng(0), 2000, 10),
    )


def random_dnf(
    *, n_rows: int = 2000, n_concepts: int = 30, n_cubes: int = 4, width: int = 3, noise: float = 0.05, seed: int = 0
) -> Dataset:
    """Make rows labelled by a random formula, with a share of the labels flipped.

    Args:
        n_rows: number of rows; each concept is true on half of them, independent of the others.
        n_concepts: number of concepts; those that the formula does not name are distractors.
        n_cubes: number of cubes in the formula of `yes`. The formula of `no` is its negation, which is refused if
            it has more than 10,000 cubes.
        width: number of literals per cube.
        noise: probability that a label is flipped; `truth` refers to the labels before.
        seed: random seed.

    >>> made = random_dnf(n_cubes=2, width=2, seed=1)
    >>> made.truth[1]
    DNF('(x14 & ~x16) | (~x5 & ~x25)')
    """
    for name, value in (("n_rows", n_rows), ("n_concepts", n_concepts), ("n_cubes", n_cubes), ("width", width)):
        if value < 1:
            raise LogicLensError(f"{name} must be at least 1, got {value}.")
    if not 0 <= noise < 0.5:
        raise LogicLensError(f"noise must be at least 0 and less than 0.5, got {noise}.")
    if width > n_concepts:
        raise LogicLensError(f"width must be at most the number of concepts, {n_concepts}, got {width}.")
    if n_cubes > comb(n_concepts, width):
        raise LogicLensError(
            f"n_cubes must be at most {comb(n_concepts, width)}, the ways to choose {width} of {n_concepts} concepts; "
            f"got {n_cubes}."
        )
    random = np.random.default_rng(seed)
    # No two cubes over the same concepts: a & b | a & ~b would be a.
    cubes: dict[frozenset[str], Cube] = {}
    while len(cubes) < n_cubes:
        chosen = random.choice(n_concepts, width, replace=False)
        literals = [Literal(f"x{place + 1}", bool(random.integers(2))) for place in chosen]
        cubes.setdefault(frozenset(literal.concept for literal in literals), Cube(literals))
    title = f"A random formula of {n_cubes} cubes over {n_concepts} concepts: is it true?"
    bits = _rows(random, n_rows, n_concepts)
    return _made("random-dnf", title, DNF(cubes.values()), bits, random.random(n_rows) < noise)


def _odd(n: int) -> DNF:
    """Return the formula that an odd number of the first concepts is true."""
    signs = [sign for sign in product((True, False), repeat=n) if sum(sign) % 2]
    return DNF(Cube(Literal(f"x{place + 1}", positive) for place, positive in enumerate(sign)) for sign in signs)


def _rows(random: np.random.Generator, n_rows: int, n_concepts: int) -> NDArray[np.bool_]:
    """Draw concepts that are true on half of the rows, independent of each other."""
    return random.integers(2, size=(n_rows, n_concepts)).astype(np.bool_)


def _made(
    name: str, title: str, yes: DNF, bits: NDArray[np.bool_], flipped: NDArray[np.bool_] | None = None
) -> Dataset:
    """Label the rows by a formula and flip some of the labels."""
    n_rows, n_concepts = bits.shape
    names = tuple(f"x{place + 1}" for place in range(n_concepts))
    labels = yes.evaluate(bits, names).astype(np.int64)
    unused = n_concepts - len(yes.concepts)
    remarks = [f"The rows were made from a known formula; {unused} of {n_concepts} concepts have no part in it."]
    if flipped is not None and flipped.any():
        labels ^= flipped
        remarks.append(f"Of the labels {flipped.sum()} of {n_rows} are flipped, which no formula can foresee.")
    return Dataset(
        name,
        title,
        pd.DataFrame(bits, columns=list(names)),
        labels,
        CLASSES,
        GivenConcepts(ConceptTable(bits, names, labels, CLASSES)),
        truth=(~yes, yes),
        remarks=tuple(remarks),
    )
