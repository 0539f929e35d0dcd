"""Boolean columns packed 64 rows to a word, and how rows of any shape become them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError, UnknownConcept

WORD = 64


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Boolean rows stored by column: `words[j]` holds the bits of concept j, bit r of word w being row 64 w + r.

    >>> rows = PackedRows.of([[True, False], [True, True]], names=["a", "b"])
    >>> rows.n_rows, rows.column("a")
    (2, array([3], dtype=uint64))
    """

    words: NDArray[np.uint64]
    n_rows: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: ArrayLike, names: Sequence[str]) -> PackedRows:
        """Pack a Boolean matrix `[rows, concepts]`."""
        matrix = boolean_matrix(rows)
        check_names(names, matrix.shape[1])
        return cls(pack_columns(matrix.T), matrix.shape[0], tuple(names))

    @cached_property
    def index(self) -> dict[str, int]:
        """Where each concept stands."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def valid(self) -> NDArray[np.uint64]:
        """The words of a column that is true on every row: 0 behind the last row."""
        valid = np.full(self.words.shape[1], ~np.uint64(0), dtype=np.uint64)
        if self.n_rows % WORD:
            valid[-1] = (1 << self.n_rows % WORD) - 1
        return valid

    def column(self, concept: str) -> NDArray[np.uint64]:
        """The packed column of a concept."""
        if concept not in self.index:
            raise unknown_concept(concept, self.names)
        words: NDArray[np.uint64] = self.words[self.index[concept]]
        return words

    def zeros(self) -> NDArray[np.uint64]:
        """A column that is false on every row."""
        return np.zeros(self.words.shape[1], dtype=np.uint64)

    def satisfying(self, concepts: Iterable[str], positive: Iterable[bool]) -> NDArray[np.uint64]:
        """The rows on which every concept has the polarity given, packed."""
        result = self.valid.copy()
        for concept, polarity in zip(concepts, positive, strict=True):
            if polarity:
                result &= self.column(concept)
            else:
                result &= ~self.column(concept)
        return result

    def unpack(self, packed: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """A packed column as one Boolean per row."""
        return np.unpackbits(packed.view(np.uint8), bitorder="little", count=self.n_rows).view(np.bool_)

    def matrix(self) -> NDArray[np.bool_]:
        """All rows as a Boolean matrix `[rows, concepts]`."""
        return np.unpackbits(self.words.view(np.uint8), axis=1, bitorder="little", count=self.n_rows).T.astype(np.bool_)


RowsLike: TypeAlias = Any
"""Packed or counted rows, a table with named Boolean columns, or a Boolean matrix."""


def pack(rows: RowsLike, names: Sequence[str] | None = None, *, only: Sequence[str] | None = None) -> PackedRows:
    """Packed rows from whatever a caller holds: packed rows, a table with named columns, or a matrix with `names`.

    With `only`, columns that are not asked for are not touched.
    """
    if isinstance(rows, PackedRows):
        return rows
    packed = getattr(rows, "packed", None)
    if isinstance(packed, PackedRows):
        return packed
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        labels = list(rows.columns) if hasattr(rows, "columns") else list(rows)
        known = [str(label) for label in labels]
        wanted = known if only is None else list(only)
        columns = dict(zip(known, labels, strict=True))
        n_rows = len(rows) if hasattr(rows, "columns") else len(next(iter(rows.values()), ()))
        parts = [np.asarray(rows[columns[_known(name, known)]]) for name in wanted]
        if any(len(part) != n_rows for part in parts):
            raise LogicLensError("the columns of a table must all have one length.")
        matrix = np.column_stack(parts) if parts else np.zeros((n_rows, 0), dtype=np.bool_)
        return PackedRows.of(matrix, wanted)
    if names is None:
        raise LogicLensError("a matrix does not name its concepts: pass names=[...], one for each column.")
    matrix = np.asarray(rows)
    if matrix.ndim == 2 and matrix.shape[1] == len(names) and only is not None:
        index = {name: i for i, name in enumerate(names)}
        return PackedRows.of(matrix[:, [index[_known(name, index)] for name in only]], only)
    return PackedRows.of(matrix, names)


def _known(concept: str, names: Iterable[str]) -> str:
    if concept not in names:
        raise unknown_concept(concept, list(names))
    return concept


def pack_columns(columns: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack `[columns, rows]` into `[columns, words]`, little end first."""
    packed = np.packbits(columns, axis=1, bitorder="little")
    n_words = -(-columns.shape[1] // WORD)
    padded = np.zeros((columns.shape[0], n_words * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def popcount(packed: NDArray[np.uint64]) -> int:
    """How many bits are set."""
    return int(np.bitwise_count(packed).sum())


def unknown_concept(concept: str, known: Sequence[str]) -> UnknownConcept:
    """The error for a name that the rows do not have, with the nearest one they do."""
    near = difflib.get_close_matches(concept, known, n=1)
    hint = (
        f" Did you mean {near[0]!r}?"
        if near
        else f" Known concepts: {', '.join(map(repr, known[:8]))}"
        + (f" and {len(known) - 8} more." if len(known) > 8 else ".")
    )
    return UnknownConcept(f"there is no concept {concept!r}.{hint}")


def check_names(names: Sequence[str], n_columns: int) -> None:
    """One name for each column, no two alike."""
    if len(names) != n_columns:
        raise LogicLensError(f"{len(names)} names were given for {n_columns} columns.")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise LogicLensError(f"concept names must differ; {twice!r} is there more than once.")


def boolean_matrix(rows: ArrayLike) -> NDArray[np.bool_]:
    """Rows as a Boolean matrix; anything but True/False and 0/1 is refused, not rounded."""
    matrix = np.asarray(rows)
    if matrix.ndim != 2:
        raise LogicLensError(f"rows must be a matrix [rows, concepts], got {matrix.ndim} dimension(s).")
    if matrix.dtype != np.bool_:
        try:
            is_boolean = bool(((matrix == 0) | (matrix == 1)).all())
        except TypeError:
            is_boolean = False
        if not is_boolean:
            raise LogicLensError(
                "rows must be Boolean (True/False or 0/1) to evaluate a formula. "
                "Cut concepts in [0, 1] at 0.5 first: rows >= 0.5."
            )
        matrix = matrix.astype(np.bool_)
    return matrix
