"""TruthTable: the answers of a head on the distinct rows of its relevant concepts, eq. (truth-table)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.counted_rows import CountedRows
from logiclens.formula.dnf import Cube, Literal
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.words import for_reading


@dataclass(frozen=True)
class Contradiction:
    """A Boolean row with both answers of the network: the paper's colliding representations.

    >>> from logiclens.formula import TruthTable
    >>> table = TruthTable.of([[0, 1], [0, 1], [1, 1]], ["a", "b"], answers=[False, True, True])
    >>> print(table.contradictions[0])
    ~a & b: answered yes 1 times and no 1 times
    """

    row: Cube
    yes: float
    no: float

    @for_reading
    def __str__(self) -> str:
        """A sentence."""
        return f"{self.row}: answered yes {self.yes:g} times and no {self.no:g} times"


@dataclass(frozen=True, eq=False)
class TruthTable:
    """Distinct Boolean rows, each with its number of answers no (`counts[:, 0]`) and yes (`counts[:, 1]`).

    A row without samples is a don't-care; so is a row that the groups make impossible.

    Args:
        rows: the counted rows.
        groups: what is known about the concepts. Default: nothing.

    >>> table = TruthTable.of([[0, 1], [0, 1], [1, 1]], ["a", "b"], answers=[True, False, True])
    >>> table.support.tolist(), table.outcome.tolist()
    ([2.0, 1.0], [False, True])
    >>> table.contradictions
    (Contradiction(row=Cube('~a & b'), yes=1.0, no=1.0),)
    """

    rows: CountedRows
    groups: Groups = NO_GROUPS

    @classmethod
    def of(
        cls,
        rows: ArrayLike,
        names: Sequence[str],
        answers: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        exclusive: Sequence[Sequence[str]] = (),
        implied: Sequence[Sequence[str]] = (),
    ) -> TruthTable:
        """Return the table of plain Boolean rows with one answer each.

        Args:
            rows: a Boolean matrix `[rows, concepts]`.
            names: names of the concepts.
            answers: the answer on each row.
            weight: what each row counts for. Default: None, 1 for each.
            exclusive: groups of concepts of which at most one is true. Default: none.
            implied: chains of concepts in which each implies the one before it. Default: none.
        """
        yes = np.asarray(answers, dtype=np.bool_)
        total = np.ones(len(yes)) if weight is None else np.asarray(weight, dtype=np.float64)
        if yes.ndim != 1 or not len(yes) == len(total) == len(np.asarray(rows)):
            raise LogicLensError(f"there must be one answer for each row; got {yes.shape} for {len(np.asarray(rows))}.")
        counts = np.stack([total * ~yes, total * yes], axis=1)
        return cls(CountedRows.of(rows, names, counts, total), Groups(exclusive, implied))

    @property
    def names(self) -> tuple[str, ...]:
        """The relevant concepts."""
        return self.rows.names

    @property
    def exclusive(self) -> tuple[tuple[str, ...], ...]:
        """Groups of concepts of which at most one is true."""
        return self.groups.exclusive

    @property
    def support(self) -> NDArray[np.float64]:
        """The number of samples on each row."""
        return self.rows.total

    @cached_property
    def outcome(self) -> NDArray[np.bool_]:
        """The answer of each row: yes if more than half of its samples are yes, so a tie is a no."""
        return self.rows.counts[:, 1] > self.rows.counts[:, 0]

    @cached_property
    def cared(self) -> NDArray[np.bool_]:
        """Which rows count: those with weight that the groups allow."""
        return (self.support > 0) & self.groups.allows(self.rows.bits(), self.names)

    @property
    def on(self) -> NDArray[np.bool_]:
        """The rows answered yes, as a matrix."""
        return self.rows.bits()[self.outcome & self.cared]

    @property
    def off(self) -> NDArray[np.bool_]:
        """The rows answered no, as a matrix."""
        return self.rows.bits()[~self.outcome & self.cared]

    @cached_property
    def contradictory(self) -> NDArray[np.bool_]:
        """Which rows have both answers."""
        both: NDArray[np.bool_] = np.all(self.rows.counts > 0, axis=1)
        return both

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """The rows with both answers, the most frequent first."""
        where = np.flatnonzero(self.contradictory)
        where = where[np.argsort(-self.support[where], kind="stable")]
        return tuple(
            Contradiction(self.cube(int(r)), yes=float(self.rows.counts[r, 1]), no=float(self.rows.counts[r, 0]))
            for r in where
        )

    def cube(self, row: int) -> Cube:
        """Return one row as a cube, eq. (locexp).

        Args:
            row: its number.
        """
        bits = self.rows.bits()[row]
        return Cube(Literal(name, bool(bit)) for name, bit in zip(self.names, bits, strict=True))
