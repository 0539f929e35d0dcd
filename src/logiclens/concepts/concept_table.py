"""ConceptTable: named concepts in [0, 1] with optional labels, validated once and then read-only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import is_missing
from logiclens.formula.counted_rows import CountedRows, distinct, row_weights
from logiclens.formula.groups import Groups
from logiclens.formula.packed_rows import as_array, check_names, places

THRESHOLD = 0.5
"""ε: a concept is true if its value is at least this."""


@dataclass(frozen=True, eq=False, init=False)
class ConceptTable:
    """Rows of concepts in [0, 1].

    Args:
        values: `[rows, concepts]`, numbers in [0, 1].
        names: one per concept. Default: `x0`, `x1`, ….
        labels: class numbers `[rows]`, or 0/1 `[rows, classes]` if a row may have several labels.
        class_names: one per class; needed if some class has no rows.
        exclusive: groups of concepts of which at most one is true on any row.
        weight: how much each row counts. Default: 1.
        implied: chains of concepts in which each implies the one before it.

    >>> table = ConceptTable([[0.1, 1.0], [0.7, 0.0]], names=["tall", "dark"], labels=[0, 1])
    >>> table.boolean().tolist(), table.class_names
    ([[False, True], [True, False]], ('0', '1'))
    """

    values: NDArray[np.floating[Any]]
    names: tuple[str, ...]
    labels: NDArray[np.int64] | None
    class_names: tuple[str, ...]
    groups: Groups
    weight: NDArray[np.float64]

    def __init__(
        self,
        values: Any,
        names: Sequence[str] | None = None,
        labels: ArrayLike | None = None,
        class_names: Sequence[str] | None = None,
        exclusive: Sequence[Sequence[str]] = (),
        weight: ArrayLike | None = None,
        implied: Sequence[Sequence[str]] = (),
    ) -> None:
        """Validate everything; errors say what is wrong, where, and what to do."""
        for what, given in (("names", names), ("class_names", class_names)):
            if isinstance(given, str) or not (given is None or isinstance(given, Iterable)):
                raise LogicLensError(f"{what} must be a list of names, got {quoted(given)}.")
        names = None if names is None else list(names)
        if names is None and hasattr(values, "columns"):
            names = [str(column) for column in values.columns]
        array = _checked_values(values, names)
        names = tuple(names) if names is not None else tuple(f"x{i}" for i in range(array.shape[1]))
        check_names(names, len(names))
        label_array, classes = _checked_labels(labels, len(array), class_names)
        store = object.__setattr__
        store(self, "values", _frozen(array))
        store(self, "names", names)
        store(self, "labels", None if label_array is None else _frozen(label_array))
        store(self, "class_names", classes)
        store(self, "groups", Groups(exclusive, implied).check(names))
        store(self, "weight", _frozen(checked_weight(weight, len(array))))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    @property
    def exclusive(self) -> tuple[tuple[str, ...], ...]:
        """Groups of concepts of which at most one is true on any row."""
        return self.groups.exclusive

    @property
    def n_concepts(self) -> int:
        """The number of concepts."""
        return len(self.names)

    @cached_property
    def is_boolean(self) -> bool:
        """Whether every concept is exactly 0 or 1, so that counted rows train the same network."""
        return self.values.dtype == np.bool_ or bool(((self.values == 0) | (self.values == 1)).all())

    @cached_property
    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First place of each distinct Boolean row, and for every row the index of its distinct row."""
        first, group = distinct(self.boolean())
        return _held(first), _held(group)

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have several labels."""
        return self.labels is not None and self.labels.ndim == 2

    def boolean(self, threshold: float = THRESHOLD) -> NDArray[np.bool_]:
        """Return each concept as a Boolean, eq. (sparse).

        Args:
            threshold: the least value that is true. Default: 0.5.
        """
        return self.values >= threshold

    def targets(self) -> NDArray[np.float64]:
        """Return the labels as 0/1 `[rows, classes]`."""
        if self.labels is None:
            raise LogicLensError("this table has no labels: pass labels=... when building it.")
        if self.labels.ndim == 2:
            return self.labels.astype(np.float64)
        return np.eye(len(self.class_names))[self.labels]

    def append(self, other: ConceptTable) -> ConceptTable:
        """Return the rows of both tables.

        Args:
            other: a table with the same concepts and classes.
        """
        same = self.names == other.names and self.class_names == other.class_names
        if not same or self.groups != other.groups:
            raise LogicLensError("only tables with the same concepts and classes, in one order, can be put together.")
        labels = None
        if self.labels is not None and other.labels is not None:
            labels = np.concatenate([self.labels, other.labels])
        return ConceptTable(
            np.concatenate([self.values, other.values]),
            self.names,
            labels,
            self.class_names or None,
            self.exclusive,
            np.concatenate([self.weight, other.weight]),
            self.groups.implied,
        )

    def take(self, rows: ArrayLike) -> ConceptTable:
        """Return some of the rows, with the same concepts and classes.

        Args:
            rows: the numbers of the rows, or a mask.
        """
        index = np.asarray(rows)
        index = index if index.size else index.astype(np.intp)
        return ConceptTable(
            self.values[index],
            self.names,
            None if self.labels is None else self.labels[index],
            self.class_names or None,
            self.exclusive,
            self.weight[index],
            self.groups.implied,
        )

    def weighing(self, weight: ArrayLike) -> ConceptTable:
        """Return the same rows with other weights, without rows of weight 0.

        Args:
            weight: what each row counts for.
        """
        given = np.asarray(weight, dtype=np.float64)
        table = self.take(np.flatnonzero(given > 0))
        # The rows are validated already.
        object.__setattr__(table, "weight", _frozen(given[given > 0]))
        return table

    @property
    def copies(self) -> NDArray[np.float64]:
        """How many rows each row stands for: its weight if all weights are whole numbers, else 1."""
        return self.weight if (self.weight == np.round(self.weight)).all() else np.ones(len(self))

    @property
    def n_counted(self) -> int:
        """How many rows the table stands for."""
        return int(self.copies.sum())

    def with_columns(self, names: Sequence[str]) -> ConceptTable:
        """Return the same rows with some of the concepts.

        Args:
            names: the names of the concepts, in their new order.
        """
        if tuple(names) == self.names:
            return self
        values = self.values[:, places(names, self.names)]
        groups = self.groups.among(names)
        return ConceptTable(
            values,
            names,
            self.labels,
            self.class_names or None,
            groups.exclusive,
            self.weight,
            groups.implied,
        )

    def hard(self) -> ConceptTable:
        """Return the same rows with every concept rounded to 0 or 1 by the threshold."""
        return self._with(self.boolean(), self.labels)

    def with_values(self, values: Any) -> ConceptTable:
        """Return the same rows, names and labels with other concept values.

        Args:
            values: the values `[rows, concepts]`, such as those of an encoder.
        """
        return self._with(values, self.labels)

    def with_labels(self, labels: ArrayLike) -> ConceptTable:
        """Return the same rows with other labels of the same classes.

        Args:
            labels: class numbers `[rows]`, or 0/1 `[rows, classes]`.
        """
        return self._with(self.values, labels)

    def per_class(self) -> ConceptTable:
        """Return the same rows with one yes/no label per class instead of a single label."""
        return self._with(self.values, self.targets().astype(np.int64))

    def _with(self, values: Any, labels: ArrayLike | None) -> ConceptTable:
        return ConceptTable(
            values,
            self.names,
            labels,
            self.class_names or None,
            self.groups.exclusive,
            self.weight,
            self.groups.implied,
        )

    def counted(self, threshold: float = THRESHOLD) -> CountedRows:
        """Return the distinct Boolean rows with the weight of each class on them.

        Args:
            threshold: the least value of a concept that is true. Default: 0.5.
        """
        if threshold == THRESHOLD:
            return self._counted
        return self._counted_at(threshold, distinct(self.boolean(threshold)))

    @cached_property
    def _counted(self) -> CountedRows:
        found = self._counted_at(THRESHOLD, self.distinct)
        # Cached: every caller gets the same object.
        for array in (found.keys, found.counts, found.total):
            _held(array)
        return found

    def _counted_at(self, threshold: float, groups: tuple[NDArray[np.intp], NDArray[np.intp]]) -> CountedRows:
        first, group = groups
        n, n_classes = len(first), len(self.class_names)
        total = np.bincount(group, self.weight, minlength=n).astype(np.float64)
        counts: NDArray[np.float64]
        if self.labels is None:
            counts = total[:, None]
        elif self.labels.ndim == 2:
            columns = (self.targets() * self.weight[:, None]).T
            counts = np.stack([np.bincount(group, column, minlength=n) for column in columns], axis=1).astype(float)
        else:
            cells = np.bincount(group * n_classes + self.labels, self.weight, minlength=n * n_classes)
            counts = cells.astype(np.float64).reshape(n, n_classes)
        return CountedRows.of_distinct(self.values[first] >= threshold, self.names, counts, total)

    def broken_groups(self) -> dict[tuple[str, ...], int]:
        """Return the exclusive groups and implied chains that some rows violate, with the number of these rows."""
        bits, copies = self.boolean(), self.copies
        each = {group: Groups([group]) for group in self.groups.exclusive}
        each |= {chain: Groups(implied=[chain]) for chain in self.groups.implied}
        counts = {names: int(copies[~group.allows(bits, self.names)].sum()) for names, group in each.items()}
        return {names: n_rows for names, n_rows in counts.items() if n_rows}

    def group_warnings(self) -> tuple[str, ...]:
        """Return one sentence per violated group."""
        said = []
        for group, n_rows in self.broken_groups().items():
            shown = ", ".join(repr(name) for name in group[:4]) + (", …" if len(group) > 4 else "")
            if group in self.groups.exclusive:
                said.append(f"{n_rows} rows break the exclusive group {shown}: more than one is true.")
            else:
                said.append(f"{n_rows} rows break the chain {shown}: one is true without the one before it.")
        return tuple(said)

    def kept_groups(self) -> Groups:
        """Return the groups that no row violates."""
        broken = self.broken_groups()
        return Groups(
            [group for group in self.groups.exclusive if group not in broken],
            [chain for chain in self.groups.implied if chain not in broken],
        )

    def constant_concepts(self) -> tuple[str, ...]:
        """Return the concepts that have the same value on all rows."""
        # Distinct rows suffice if the table is Boolean.
        rows = self.values[self.distinct[0]] if self.is_boolean else self.values
        same = (rows == rows[:1]).all(axis=0)
        return tuple(name for name, constant in zip(self.names, same, strict=True) if constant)

    def class_weights(self) -> NDArray[np.float64]:
        """Return the total weight of each class."""
        if self.labels is None or self.labels.ndim == 2:
            weights: NDArray[np.float64] = self.weight @ self.targets()
            return weights
        return np.bincount(self.labels, self.weight, minlength=len(self.class_names)).astype(np.float64)

    def empty_classes(self) -> tuple[str, ...]:
        """Return the classes that no row has."""
        seen = self.class_weights() > 0
        return tuple(name for name, has_rows in zip(self.class_names, seen, strict=True) if not has_rows)


def as_table(rows: Any, like: Sequence[str] | None = None) -> ConceptTable:
    """Return a concept table from a table, a frame with named columns, an array or a tensor.

    Args:
        rows: the rows.
        like: names that the columns must have, in any order. Default: any names.

    >>> as_table([[0, 1], [1, 1]], like=["a", "b"]).names
    ('a', 'b')
    """
    if isinstance(rows, ConceptTable):
        return rows
    return ConceptTable(rows, None if hasattr(rows, "columns") else like)


def _held(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    # Copied, because the caller may change the array after the validation.
    array = array.copy()
    array.setflags(write=False)
    return array


def _checked_values(values: Any, names: Sequence[str] | None) -> NDArray[np.floating[Any]]:
    if hasattr(values, "toarray"):
        raise LogicLensError("sparse tables are not taken: pass table.toarray().")
    try:
        array = as_array(values)
        if array.dtype.kind in "cmM":
            # NumPy would take a date for the count of its days, and drop the imaginary part of a complex number.
            raise TypeError
        # float64 stays; every other type becomes float32, which holds 0 and 1 exactly.
        array = array if array.dtype == np.float64 else array.astype(np.float32)
    except (TypeError, ValueError, OverflowError):
        raise LogicLensError(_not_a_number(values, names)) from None
    if array.ndim != 2:
        raise LogicLensError(f"concepts must be a matrix [rows, concepts], got {array.ndim} dimension(s).")
    if array.shape[0] == 0:
        raise LogicLensError("there are no rows: concepts must have at least one.")
    if array.shape[1] == 0:
        raise LogicLensError("there are no concepts: the table must have at least one column.")
    if names is not None and len(names) != array.shape[1]:
        raise LogicLensError(f"{len(names)} names were given for {array.shape[1]} concepts.")
    if not (array.min() >= 0 and array.max() <= 1):
        raise LogicLensError(_out_of_range(array, names))
    return array


def _not_a_number(values: Any, names: Sequence[str] | None) -> str:
    """Return the error that names the first cell that is not a number, and the remedy."""
    try:
        cells = np.asarray(values, dtype=object)
    except ValueError:
        return "concepts must be rows of one length."
    except NotImplementedError:
        # pandas cannot convert some types of Arrow.
        cells = as_array(values).astype(object)
    for (row, column), cell in np.ndenumerate(cells) if cells.ndim == 2 else ():
        name = quoted(str(names[column])) if names is not None else f"column {column}"
        if is_missing(cell):
            return f"concepts must lie in [0, 1]; {name} is missing in row {row}. Fill or drop such rows first."
        if not isinstance(cell, int | float | np.number | np.bool_):
            told = f"{name} holds {quoted(cell)} in row {row}"
            return f"concepts must be numbers in [0, 1]; {told}. Make it 0/1 columns first."
        if not 0 <= cell <= 1:
            return f"concepts must be numbers in [0, 1]; {name} holds {quoted(cell)} in row {row}."
    return "concepts must be numbers in [0, 1]; this table holds something else."


def _out_of_range(array: NDArray[np.floating[Any]], names: Sequence[str] | None) -> str:
    bad_row, bad_column = (int(i) for i in np.argwhere(~((array >= 0) & (array <= 1)))[0])
    name = quoted(str(names[bad_column])) if names is not None else f"column {bad_column}"
    if np.isnan(array[bad_row, bad_column]):
        return f"concepts must lie in [0, 1]; {name} is missing (NaN) in row {bad_row}. Fill or drop such rows first."
    column = array[:, bad_column]
    if np.isinf(column).any():
        return f"concepts must lie in [0, 1]; {name} is infinite in row {int(np.flatnonzero(np.isinf(column))[0])}."
    extreme = np.nanmax(column) if np.nanmax(column) > 1 else np.nanmin(column)
    return (
        f"concepts must lie in [0, 1]; {name} reaches {extreme:g}. "
        "Cut raw columns into concepts first, for example with logiclens.Booleaniser."
    )


def _checked_labels(
    labels: Any, n_rows: int, class_names: Sequence[str] | None
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    names = None if class_names is None else tuple(str(name) for name in class_names)
    if names is not None:
        check_names(names, len(names), "class")
    if labels is None:
        return None, names or ()
    try:
        array = as_array(labels)
    except ValueError:
        raise LogicLensError("labels must be one entry for each row, or rows of one length.") from None
    if array.ndim not in (1, 2) or len(array) != n_rows:
        raise LogicLensError(f"labels must have one entry for each of the {n_rows} rows, got shape {array.shape}.")
    if array.ndim == 2 and array.shape[1] == 0:
        raise LogicLensError("several labels per row must be a matrix of 0 and 1, one column for each class.")
    if array.dtype.kind not in "biu" and not (
        array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all()
    ):
        raise LogicLensError("labels must be class numbers 0, 1, 2, … (EntropyClassifier takes any labels).")
    array = array.astype(np.int64)
    if array.ndim == 2:
        if not np.isin(array, (0, 1)).all():
            raise LogicLensError("several labels per row must be a matrix of 0 and 1, one column for each class.")
        n_classes = array.shape[1]
        if names is not None and len(names) != n_classes:
            raise LogicLensError(f"{len(names)} class names were given for {n_classes} columns of labels.")
    else:
        n_classes = int(array.max()) + 1 if names is None else len(names)
        if array.min() < 0 or array.max() >= n_classes:
            bad = int(array.min()) if array.min() < 0 else int(array.max())
            raise LogicLensError(f"labels must be 0 to {n_classes - 1} for {n_classes} classes, got {bad}.")
    return array, names if names is not None else tuple(str(i) for i in range(n_classes))


def checked_weight(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return the weight of each row; 1 if none is given."""
    weights = row_weights(weight, n_rows)
    return np.ones(n_rows) if weights is None else weights


def data_notes(table: ConceptTable) -> tuple[str, ...]:
    """Return a sentence on concepts that are constant on labelled rows, and one on classes without rows."""
    notes = []
    if constant := table.constant_concepts():
        notes.append(_listed("concept", constant, "constant on the training rows and cannot matter"))
    if empty := table.empty_classes():
        notes.append(_listed("class", empty, "without training rows and cannot be learned"))
    return tuple(notes)


def _listed(what: str, names: tuple[str, ...], rest: str) -> str:
    shown = ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    if len(names) == 1:
        return f"{what} {shown} is {rest}."
    return f"{what}{'es' if what.endswith('s') else 's'} {shown} are {rest}."


def class_factors(class_weight: Sequence[float] | str, table: ConceptTable) -> NDArray[np.float64]:
    """Return the factor of each class; `"balanced"` is n / (classes · rows of the class), as in scikit-learn."""
    n_classes = len(table.class_names)
    of_class = table.class_weights()
    if isinstance(class_weight, str):
        factors = np.divide(table.weight.sum(), n_classes * of_class, out=np.zeros(n_classes), where=of_class > 0)
    else:
        factors = np.asarray(class_weight, dtype=np.float64)
        if factors.shape != (n_classes,) or factors.max() == 0:
            raise LogicLensError(
                f"class_weight must be {n_classes} finite numbers that are not negative and not all 0."
            )
    if (factors * of_class).sum() == 0:
        raise LogicLensError("class_weight leaves no weight on the classes that have rows.")
    weighed: NDArray[np.float64] = factors
    return weighed
