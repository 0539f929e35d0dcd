"""CountedRows: the distinct Boolean rows of a table with their weight per class.

All steps after the encoder work on this structure: two rows with the same concepts are one row with a count. Counting
is associative, so parts of a table can be counted apart and merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.packed_rows import PackedRows, as_array, boolean_matrix, check_names, pack_columns, places

DENSE_CONCEPTS = 24
"""Up to this many concepts, rows may be counted in a table with one cell per possible row."""
SAMPLE = 1_000
"""Size of the sample that shows whether most rows are distinct."""
LEAST_WEIGHT = 1e-15
"""The largest weight of a table must be at least this: squares of weights must not vanish."""
MOST_WEIGHT = 1e15
"""Maximum sum of weights: a float holds whole numbers up to about this exactly."""
DENSE_CELLS = 16
"""Largest number of cells of such a table per row."""


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct rows in lexicographic order, packed, each with its weight and its weight per class.

    `keys[r]` holds row r, most significant bit first, so that integer order is the order of the tuples. `counts[r, i]`
    is the weight of class i on row r, and `total[r]` the weight of the row. With several labels per row, the
    counts need not sum to the total.

    Args:
        names: names of the concepts, one per column.
        keys: the distinct rows, packed into bytes.
        counts: the number of rows, or their weight, for each distinct row and outcome.
        total: the number of rows before weights.

    >>> rows = CountedRows.of([[1, 0], [0, 1], [1, 0]], names=["a", "b"], counts=np.eye(2)[[0, 1, 1]])
    >>> rows.bits().astype(int).tolist(), rows.counts.tolist()
    ([[0, 1], [1, 0]], [[0.0, 1.0], [1.0, 1.0]])
    """

    names: tuple[str, ...]
    keys: NDArray[np.uint64]
    counts: NDArray[np.float64]
    total: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rows: ArrayLike,
        names: Sequence[str],
        counts: ArrayLike | None = None,
        total: ArrayLike | None = None,
    ) -> CountedRows:
        """Return plain Boolean rows, counted.

        Args:
            rows: a Boolean matrix `[rows, concepts]`.
            names: names of the concepts.
            counts: the weight per row and class. Default: None, `total` as that of a single class.
            total: the weight per row. Default: None, 1 for each.
        """
        matrix = boolean_matrix(rows)
        check_names(names, matrix.shape[1])
        weight = np.ones(len(matrix)) if total is None else np.asarray(total, dtype=np.float64)
        per_class = weight[:, None] if counts is None else np.asarray(counts, dtype=np.float64)
        if weight.shape != (len(matrix),) or per_class.ndim != 2 or len(per_class) != len(matrix):
            raise LogicLensError(
                f"counts and weights must have one entry for each of the {len(matrix)} rows, "
                f"got shapes {per_class.shape} and {weight.shape}."
            )
        return _grouped(tuple(names), _pack_rows(matrix), per_class, weight)

    @classmethod
    def of_distinct(
        cls, rows: NDArray[np.bool_], names: Sequence[str], counts: NDArray[np.float64], total: NDArray[np.float64]
    ) -> CountedRows:
        """Return counted rows, made of rows that are already distinct and in lexicographic order; see `distinct`.

        Args:
            rows: a Boolean matrix `[rows, concepts]`.
            names: names of the concepts.
            counts: the weight per row and class.
            total: the weight per row.
        """
        return cls(tuple(names), _pack_rows(rows), counts, total)

    def __len__(self) -> int:
        """The number of distinct rows."""
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        """Compare names, rows and counts."""
        return isinstance(other, CountedRows) and (
            self.names == other.names
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.total, other.total)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_concepts(self) -> int:
        """The number of concepts."""
        return len(self.names)

    def bits(self) -> NDArray[np.bool_]:
        """Return the distinct rows as a Boolean matrix `[distinct, concepts]`."""
        return _unpack_rows(self.keys, self.n_concepts)

    @cached_property
    def packed(self) -> PackedRows:
        """The distinct rows packed by column, to evaluate formulas on."""
        return PackedRows(pack_columns(np.ascontiguousarray(self.bits().T)), len(self), self.names)

    def merge(self, other: CountedRows) -> CountedRows:
        """Return the sum of the counts of two tables.

        Args:
            other: counted rows over the same concepts and classes.
        """
        if self.names != other.names or self.counts.shape[1] != other.counts.shape[1]:
            raise LogicLensError("only counted rows over the same concepts and classes can be merged.")
        return _grouped(
            self.names,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.total, other.total]),
        )

    def project(self, names: Sequence[str]) -> CountedRows:
        """Return the rows on some of the concepts only; counts of rows that become equal are added.

        Args:
            names: the names of these concepts.
        """
        columns = self.bits()[:, places(names, self.names)]
        return _grouped(tuple(names), _pack_rows(columns), self.counts, self.total)


def distinct(matrix: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first position of each distinct row, in lexicographic order, and the group of each row."""
    return _group(_pack_rows(matrix), matrix.shape[1])


def _pack_rows(matrix: NDArray[np.bool_]) -> NDArray[np.uint64]:
    n_words = max(1, -(-matrix.shape[1] // 64))
    padded = np.zeros((matrix.shape[0], n_words * 8), dtype=np.uint8)
    packed = np.packbits(matrix, axis=1)
    padded[:, : packed.shape[1]] = packed
    # Big-endian words: the order of the integers is the order of the rows from the first concept on.
    return padded.view(">u8").astype(np.uint64)


def _unpack_rows(keys: NDArray[np.uint64], n_concepts: int) -> NDArray[np.bool_]:
    bytes_ = np.ascontiguousarray(keys.astype(">u8")).view(np.uint8)
    return np.unpackbits(bytes_, axis=1, count=n_concepts).view(np.bool_)


def _group(keys: NDArray[np.uint64], n_concepts: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first position of each distinct key, in order, and the group of each key."""
    if n_concepts <= DENSE_CONCEPTS and 1 << n_concepts <= DENSE_CELLS * (len(keys) + 1):
        return _group_dense((keys[:, 0] >> np.uint64(64 - n_concepts)).astype(np.intp) if n_concepts else None, keys)
    if keys.shape[1] == 1:
        return _group_sorted(keys[:, 0])
    first, group = _group_sorted(_hashed(keys))
    if not np.array_equal(keys[first][group], keys):
        # Two different rows have the same hash, which happens about once in 2^64.
        return _group_exact(keys)
    order = np.lexsort(keys[first].T[::-1])
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return first[order], rank[group]


def _group_dense(
    numbers: NDArray[np.intp] | None, keys: NDArray[np.uint64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Group by a table with one cell per possible row."""
    if numbers is None:
        return np.zeros(min(1, len(keys)), dtype=np.intp), np.zeros(len(keys), dtype=np.intp)
    seen = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.bool_)
    seen[numbers] = True
    place = np.cumsum(seen) - 1
    group: NDArray[np.intp] = place[numbers]
    return _first(group, int(place[-1]) + 1 if len(keys) else 0), group


def _group_sorted(values: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Group by sorting the distinct numbers and looking each number up."""
    sample = values[:: max(1, len(values) // SAMPLE)]
    if 2 * len(np.unique(sample)) < len(sample):
        ordered = np.unique(values)
    else:
        # NumPy finds few distinct numbers faster by hashing and many faster by sorting.
        ordered = np.sort(values)
        ordered = ordered[np.r_[True, ordered[1:] != ordered[:-1]]] if len(ordered) else ordered
    group: NDArray[np.intp] = np.searchsorted(ordered, values)
    return _first(group, len(ordered)), group


def _group_exact(keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    is_new = np.ones(len(keys), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.empty(len(keys), dtype=np.intp)
    group[order] = np.cumsum(is_new) - 1
    return order[is_new], group


def _first(group: NDArray[np.intp], n_groups: int) -> NDArray[np.intp]:
    """Return the first position of each group. Written backwards, because the last write to a cell stays."""
    first = np.zeros(n_groups, dtype=np.intp)
    first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    return first


def _hashed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash each key of several words to one number (multiply and fold, as splitmix64 does)."""
    mixed = np.zeros(len(keys), dtype=np.uint64)
    for word in keys.T:
        mixed ^= word
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed


def _grouped(
    names: tuple[str, ...],
    keys: NDArray[np.uint64],
    counts: NDArray[np.float64],
    total: NDArray[np.float64],
) -> CountedRows:
    first, group = _group(keys, len(names))
    n = len(first)
    sums = [np.bincount(group, column, minlength=n).astype(np.float64) for column in (*counts.T, total)]
    return CountedRows(names, keys[first], np.stack(sums[:-1], axis=1), sums[-1])


def row_weights(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Check the weights: one per row, finite, none negative, not all 0. Return None if none are given."""
    if weight is None:
        return None
    try:
        given = as_array(weight)
        if given.dtype.kind not in "biufO" or (given.dtype.kind == "O" and any(isinstance(w, str) for w in given.flat)):
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise LogicLensError("weights must be numbers, one for each row.") from None
    if array.shape != (n_rows,):
        raise LogicLensError(f"weights must have one entry for each of the {n_rows} rows, got shape {array.shape}.")
    if not (np.isfinite(array).all() and (array >= 0).all() and (array > 0).any()):
        raise LogicLensError("weights must be finite, none negative, and not all zero.")
    largest = float(array.max())
    if largest < LEAST_WEIGHT or largest > MOST_WEIGHT or array.sum() > MOST_WEIGHT:
        raise LogicLensError(
            f"weights count rows: the largest must be at least {LEAST_WEIGHT:g} and the sum at most {MOST_WEIGHT:g}, "
            f"got {largest:g} as the largest; divide them all by their mean."
        )
    return array


def counting_weight(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights that count rows: whole numbers as they are, others scaled to the effective number of rows (Kish).

    >>> counting_weight(np.array([0.5, 0.5, 0.5, 0.5])).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    if (weight == np.round(weight)).all():
        return weight
    scaled: NDArray[np.float64] = weight * (weight.sum() / (weight**2).sum())
    return scaled
