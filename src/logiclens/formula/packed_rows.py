"""Boolean columns packed 64 rows to a word, and row weights packed as bit planes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError, UnknownConcept, nearest, quoted, quoted_names

WORD = 64
BLOCK = 8192
"""Words of a column per block, so that a block fits in the cache."""
FEW_WORDS = 128
"""Up to this many words, one call for all cubes is faster than one call per literal."""


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Boolean rows stored by column: `words[j]` holds concept j; bit r of word w is row 64 w + r.

    Args:
        words: 64 rows to a word, one line per concept.
        n_rows: number of rows.
        names: names of the concepts.

    >>> rows = PackedRows.of([[True, False], [True, True]], names=["a", "b"])
    >>> rows.n_rows, rows.column("a")
    (2, array([3], dtype=uint64))
    """

    words: NDArray[np.uint64]
    n_rows: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: ArrayLike, names: Sequence[str]) -> PackedRows:
        """Return the packed rows of a Boolean matrix.

        Args:
            rows: the matrix `[rows, concepts]`.
            names: names of the concepts.
        """
        matrix = boolean_matrix(rows)
        check_names(names, matrix.shape[1])
        return cls(pack_columns(matrix.T), matrix.shape[0], tuple(names))

    @cached_property
    def index(self) -> dict[str, int]:
        """The position of each concept."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def valid(self) -> NDArray[np.uint64]:
        """The words of a column that is true on every row; bits after the last row are 0."""
        valid = np.full(self.words.shape[1], ~np.uint64(0), dtype=np.uint64)
        if self.n_rows % WORD:
            valid[-1] = (1 << self.n_rows % WORD) - 1
        return valid

    def places(self, concepts: Iterable[str]) -> list[int]:
        """Return the positions of concepts. Raise `UnknownConcept` with the nearest name if one is not there.

        Args:
            concepts: names of the concepts.
        """
        index = self.index
        try:
            return [index[concept] for concept in concepts]
        except KeyError as missing:
            raise unknown_concept(missing.args[0], self.names) from None

    def column(self, concept: str) -> NDArray[np.uint64]:
        """Return the packed column of a concept.

        Args:
            concept: the name of the concept.
        """
        words: NDArray[np.uint64] = self.words[self.places([concept])[0]]
        return words

    def any_of(self, concepts: Sequence[str], positive: Sequence[bool], lengths: Sequence[int]) -> NDArray[np.uint64]:
        """Return, packed, the rows on which all literals of at least one cube hold.

        Args:
            concepts: the concepts of the literals of all cubes, in order.
            positive: for each of these literals, False for a negation.
            lengths: the number of literals per cube, at least one.
        """
        n_words, columns = self.words.shape[1], self.places(concepts)
        if not lengths:
            return np.zeros(n_words, dtype=np.uint64)
        if n_words <= FEW_WORDS:
            flip = np.array(positive, dtype=np.uint64)[:, None] - np.uint64(1)
            starts = [0, *accumulate(lengths[:-1])]
            held = np.bitwise_and.reduceat(self.words[columns] ^ flip, starts, axis=0)
            few: NDArray[np.uint64] = np.bitwise_or.reduce(held, axis=0) & self.valid
            return few
        ends = list(accumulate(lengths))
        cubes = [
            ([columns[k] for k in places if positive[k]], [columns[k] for k in places if not positive[k]])
            for places in (range(end - length, end) for end, length in zip(ends, lengths, strict=True))
        ]
        result = np.zeros(n_words, dtype=np.uint64)
        for first in range(0, n_words, BLOCK):
            _fire(self.words[:, first : first + BLOCK], cubes, result[first : first + BLOCK])
        result &= self.valid
        return result

    def unpack(self, packed: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return a packed column as one Boolean per row.

        Args:
            packed: the words of the column.
        """
        return np.unpackbits(packed.view(np.uint8), bitorder="little", count=self.n_rows).view(np.bool_)

    def matrix(self) -> NDArray[np.bool_]:
        """Return all rows as a Boolean matrix `[rows, concepts]`."""
        return np.unpackbits(self.words.view(np.uint8), axis=1, bitorder="little", count=self.n_rows).T.astype(np.bool_)


def _fire(words: NDArray[np.uint64], cubes: Sequence[tuple[list[int], list[int]]], fires: NDArray[np.uint64]) -> None:
    """Set the bits of the rows on which a cube holds. A cube is a pair: columns that must be true, and false."""
    held, veto = np.empty_like(fires), np.empty_like(fires)
    for wanted, unwanted in cubes:
        # One operation per literal: negated columns are joined first and inverted once.
        if wanted:
            held[:] = words[wanted[0]]
            for column in wanted[1:]:
                np.bitwise_and(held, words[column], out=held)
        if unwanted:
            veto[:] = words[unwanted[0]]
            for column in unwanted[1:]:
                np.bitwise_or(veto, words[column], out=veto)
            np.invert(veto, out=veto)
        both = np.bitwise_and(held, veto, out=held) if wanted and unwanted else held if wanted else veto
        np.bitwise_or(fires, both, out=fires)


RowsLike: TypeAlias = Any
"""Packed or counted rows, a table with named Boolean columns, or a Boolean matrix."""


def pack(rows: RowsLike, names: Sequence[str] | None = None, *, only: Sequence[str] | None = None) -> PackedRows:
    """Pack rows of any kind: packed rows, a table with named columns, or a matrix with `names`.

    With `only`, other columns are neither read nor checked.
    """
    if isinstance(rows, PackedRows):
        return rows
    if isinstance(rows, np.ndarray):
        return _pack_matrix(rows, names, only)
    packed = getattr(rows, "packed", None)
    if isinstance(packed, PackedRows):
        return packed
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        return _pack_named(rows, only)
    return _pack_matrix(as_array(rows), names, only)


def _pack_matrix(matrix: NDArray[Any], names: Sequence[str] | None, only: Sequence[str] | None) -> PackedRows:
    if names is None:
        raise LogicLensError("a matrix does not name its concepts: pass names=[...], one for each column.")
    if only is None or matrix.ndim != 2 or matrix.shape[1] != len(names):
        return PackedRows.of(matrix, names)
    return PackedRows.of(matrix[:, places(only, names)], only)


def _pack_named(rows: Any, only: Sequence[str] | None) -> PackedRows:
    # A table of Arrow lists its names apart from its columns.
    labels = list(getattr(rows, "column_names", None) or getattr(rows, "columns", rows))
    known = [str(label) for label in labels]
    wanted = known if only is None else list(only)
    if not hasattr(rows, "columns") and any(np.ndim(column) != 1 for column in rows.values()):
        raise LogicLensError("each concept of a dictionary needs a list of values, one for each row.")
    n_rows = len(rows) if hasattr(rows, "columns") else len(next(iter(rows.values()), ()))
    parts = [as_array(rows[labels[place]]) for place in places(wanted, known)]
    if any(len(part) != n_rows for part in parts):
        raise LogicLensError("the columns of a table must all have one length.")
    return PackedRows.of(np.column_stack(parts) if parts else np.zeros((n_rows, 0), dtype=np.bool_), wanted)


def places(concepts: Iterable[str], names: Sequence[str]) -> list[int]:
    """Return the positions of concepts among names. Raise `UnknownConcept` with the nearest name if one is missing."""
    index = dict(zip(names, range(len(names)), strict=True))
    if len(index) < len(names):
        check_names(names, len(names))
    try:
        return [index[concept] for concept in concepts]
    except KeyError as missing:
        raise unknown_concept(missing.args[0], names) from None


def as_array(values: Any) -> NDArray[Any]:
    """Convert an array, a list, a column or a tensor of any device and precision to a NumPy array.

    >>> as_array(np.ma.array([1.0, 2.0], mask=[True, False])).tolist()
    [nan, 2.0]
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # NumPy has no bfloat16. Other types need no conversion.
        values = values.float() if "bfloat16" in str(values.dtype) else values
    try:
        return _with_whole_texts(np.asarray(unmasked(values)), values)
    except (ValueError, TypeError):
        raise
    except Exception:
        # Each library has its own errors for types that NumPy lacks, such as Arrow's string_view and 128-bit integers.
        arrow = getattr(getattr(values, "array", values), "__arrow_array__", None)
        listed = getattr(values if arrow is None else arrow(), "to_pylist", None) or getattr(values, "to_list", None)
        if listed is None and hasattr(values, "items"):
            return np.column_stack([as_array(column) for _, column in values.items()])
        if listed is None:
            raise
        return np.array(listed(), dtype=object)


def _with_whole_texts(array: NDArray[Any], values: Any) -> NDArray[Any]:
    """Return an array made of a list, of objects if it holds texts that end in NUL, which NumPy's texts drop."""
    if array.dtype.kind not in "US" or not isinstance(values, list | tuple):
        return array
    cells = np.array(values, dtype=object)
    return cells if any(isinstance(cell, str) and cell.endswith("\0") for cell in cells.flat) else array


def equals(array: NDArray[Any], value: Any) -> NDArray[np.bool_]:
    """Return which cells equal one value. NumPy would compare with a text without the NULs at its end.

    >>> equals(np.array(["a\\0", "a"], dtype=object), "a\\0").tolist()
    [True, False]
    """
    if isinstance(value, str) and value.endswith("\0"):
        return np.fromiter((cell == value for cell in array.tolist()), np.bool_, len(array))
    return np.asarray(array == value, dtype=np.bool_)


def unmasked(values: Any) -> Any:
    """Return a masked array of NumPy as a plain one, in which masked values are missing; other values unchanged."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.getmaskarray(values).any():
        return values.data
    if values.dtype.kind in "fc":
        return values.filled(np.nan)
    plain = values.data.copy() if values.dtype.kind in "mM" else values.data.astype(object)
    plain[np.ma.getmaskarray(values)] = "NaT" if values.dtype.kind in "mM" else None
    return plain


def pack_columns(columns: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack `[columns, rows]` into `[columns, words]`, little end first."""
    packed = np.packbits(columns, axis=1, bitorder="little")
    n_words = -(-columns.shape[1] // WORD)
    padded = np.zeros((columns.shape[0], n_words * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def popcount(packed: NDArray[np.uint64]) -> int:
    """Return the number of bits that are set."""
    return int(np.bitwise_count(packed).sum())


def unknown_concept(concept: str, known: Sequence[str]) -> UnknownConcept:
    """Return the error for an unknown concept, with the nearest known name."""
    near = nearest(concept, known)
    hint = f"Did you mean {quoted(near)}?" if near else f"Known concepts: {quoted_names(known)}."
    return UnknownConcept(f"there is no concept {quoted(concept)}. {hint}")


def check_names(names: Sequence[str], n_columns: int, what: str = "concept", *, empty: bool = False) -> None:
    """Raise `LogicLensError` unless each column has a name, all differ and, unless `empty`, none is empty."""
    if len(names) != n_columns:
        raise LogicLensError(f"{len(names)} names were given for {n_columns} columns.")
    for i, name in enumerate(names):
        if not isinstance(name, str) or not (empty or name.strip()):
            raise LogicLensError(f"every {what} needs a name; number {i} has {quoted(name)}.")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise LogicLensError(f"{what} names must differ; {quoted(twice)} is there more than once.")


def boolean_matrix(rows: ArrayLike) -> NDArray[np.bool_]:
    """Return rows as a Boolean matrix. Raise `LogicLensError` for values other than True/False and 0/1."""
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


PLANE_WORDS = 1 << 18
"""Words per block, so that a block fits in the cache."""
MAX_PLANES = 24
"""Weights with more binary digits than this are multiplied instead of packed."""


@dataclass(frozen=True, eq=False)
class PackedWeights:
    """The weights of rows: packed as bit planes if they are whole numbers, plain numbers otherwise.

    >>> weights = PackedWeights.of(np.array([3.0, 1.0, 2.0]))
    >>> weights.sums(np.array([[0b111], [0b101], [0b000]], dtype=np.uint64)).tolist()
    [6.0, 5.0, 0.0]
    """

    weight: NDArray[np.float64]
    planes: NDArray[np.uint64] | None

    @classmethod
    def of(cls, weight: NDArray[np.float64]) -> PackedWeights:
        """Split the weights into bit planes if they are whole numbers and not too large."""
        weight = np.asarray(weight, dtype=np.float64)
        largest = float(weight.max(initial=0))
        if largest >= 2**MAX_PLANES or not (weight == np.round(weight)).all() or not (weight >= 0).all():
            return cls(weight, None)
        whole, n_planes = weight.astype(np.uint32), max(1, int(largest).bit_length())
        digits = (whole >> np.arange(n_planes, dtype=np.uint32)[:, None]) & np.uint32(1)
        return cls(weight, pack_columns(digits.astype(np.bool_)))

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.weight.sum())

    def sums(self, fires: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the weight of the rows that are set in each packed column of `fires`."""
        sums = np.zeros(len(fires))
        if len(fires) == 0 or fires.shape[1] == 0:
            return sums
        at_a_time = max(1, PLANE_WORDS // fires.shape[1])
        for first in range(0, len(fires), at_a_time):
            sums[first : first + at_a_time] = self._block(fires[first : first + at_a_time])
        return sums

    def sum(self, fires: NDArray[np.uint64]) -> float:
        """Return the weight of the rows that are set in one packed column."""
        return float(self.sums(fires[None])[0])

    def _block(self, fires: NDArray[np.uint64]) -> NDArray[np.float64]:
        if self.planes is None:
            bits = np.unpackbits(fires.view(np.uint8), axis=1, bitorder="little", count=len(self.weight))
            return np.asarray(bits @ self.weight, dtype=np.float64)
        found = np.zeros(len(fires))
        for digit, (busy, plane) in enumerate(self._busy):
            some = fires if busy is None else fires[:, busy]
            found += float(1 << digit) * np.bitwise_count(some & plane).sum(axis=1, dtype=np.int64)
        return found

    @cached_property
    def _busy(self) -> list[tuple[NDArray[np.intp] | None, NDArray[np.uint64]]]:
        """For each plane, its words that are not 0 and their positions; all words if most are not 0."""
        found: list[tuple[NDArray[np.intp] | None, NDArray[np.uint64]]] = []
        for plane in () if self.planes is None else self.planes:
            busy = np.flatnonzero(plane)
            found.append((busy, plane[busy]) if 2 * len(busy) < len(plane) else (None, plane))
        return found
